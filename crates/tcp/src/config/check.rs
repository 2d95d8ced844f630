//! Which parts and settings work together.

use midflight_control::dupack::AnyDupackResponse;
use midflight_control::loss::AnyLossClassifier;
use midflight_control::signal::AnyHandoffSignal;
use midflight_control::spurious::AnySpuriousDetector;

use super::{AckRules, ConfigError, Profile, RecoveryKind};

impl Profile {
    /// Whether the parts work with these settings.
    ///
    /// # Errors
    /// [`ConfigError::Combination`] says what is missing.
    pub fn check(&self) -> Result<(), ConfigError> {
        let (parts, rx) = (&self.parts, &self.receiver);
        let recovery = self.sender.recovery.about();
        let sack = self.sender.sack && recovery.uses_sack;
        let refuse = |part, reason| Err(ConfigError::Combination { part, reason });
        let reports_handoffs = matches!(
            parts.spurious_detector,
            AnySpuriousDetector::Frto2003(_)
                | AnySpuriousDetector::Frto(_)
                | AnySpuriousDetector::FrtoNs2(_)
                | AnySpuriousDetector::Eifel(_)
        );
        match parts.dupack_response {
            AnyDupackResponse::NcrCareful(_) | AnyDupackResponse::NcrAggressive(_) if !sack => {
                return refuse(
                    parts.dupack_response.info().name,
                    "RFC 4653 needs SACK to count the segments that have left the network; choose recovery sack1 or sack",
                );
            }
            _ => {}
        }
        if parts.congestion.controls() && !recovery.asks_for_bursts {
            return refuse(
                parts.congestion.info().name,
                "it also sets the window during a recovery, from the delivered data; choose recovery linux or quic",
            );
        }
        let is_quic = matches!(rx.acks, AckRules::Quic { .. });
        if is_quic != (self.sender.recovery == RecoveryKind::Quic) {
            return refuse(
                self.sender.recovery.info().name,
                "only recovery quic reads ranges of packet numbers; choose recovery quic with acks quic, or neither",
            );
        }
        match rx.signal {
            AnyHandoffSignal::AckDelay(_)
            | AnyHandoffSignal::AckPacing(_)
            | AnyHandoffSignal::ReceiverBdp(_)
                if is_quic =>
            {
                return refuse(
                    rx.signal.info().name,
                    "it changes ACKs of TCP; choose acks rfc or linux",
                );
            }
            // The Linux sender splits a segment when the window ends within it.
            AnyHandoffSignal::ReceiverBdp(_)
                if self.sender.recovery == RecoveryKind::Linux && rx.acks == AckRules::Rfc =>
            {
                return refuse(
                    rx.signal.info().name,
                    "recovery linux sends parts of segments into a small window, which only the receiver of Linux counts; choose acks linux",
                );
            }
            _ => {}
        }
        if self.sender.ecn
            && (self.sender.recovery != RecoveryKind::Linux || rx.acks == AckRules::Rfc)
        {
            return refuse(
                "ecn",
                "only the sender and the receiver of Linux support it; choose recovery linux and acks linux, or the profile linux",
            );
        }
        match (parts.dupack_response, recovery.refuses_responses) {
            (AnyDupackResponse::Immediate(_), _) | (_, None) => {}
            (response, Some(reason)) => return refuse(response.info().name, reason),
        }
        match (parts.spurious_detector, recovery.refuses_detectors) {
            (AnySpuriousDetector::None(_), _) | (_, None) => {}
            (detector, Some(reason)) => return refuse(detector.info().name, reason),
        }
        match (parts.loss_classifier, recovery.refuses_classifiers) {
            (AnyLossClassifier::Congestion(_), _) | (_, None) => {}
            (classifier, Some(reason)) => return refuse(classifier.info().name, reason),
        }
        match parts.loss_classifier {
            AnyLossClassifier::LdHandover(_) if !reports_handoffs => {
                return refuse(
                    "ld-handover",
                    "it detects a handoff by a spurious timeout; add frto-2003, frto, frto-ns2 or eifel",
                );
            }
            _ => {}
        }
        match parts.spurious_detector {
            AnySpuriousDetector::Eifel(_) if !rx.timestamps => refuse(
                "eifel",
                "it distinguishes transmissions by their timestamps; set timestamps=on",
            ),
            AnySpuriousDetector::DsackUndo(_) if !sack => refuse(
                "dsack-undo",
                "duplicates are reported in SACK blocks; choose recovery sack1 or sack",
            ),
            AnySpuriousDetector::DsackUndo(_) if !rx.dsack => {
                refuse("dsack-undo", "it needs reports of duplicates; set dsack=on")
            }
            AnySpuriousDetector::Frto(frto) if frto.wants_sack() && !sack => refuse(
                "frto",
                "its SACK-enhanced version needs SACK; choose recovery sack1 or sack, or frto_version=auto",
            ),
            AnySpuriousDetector::FrtoNs2(frto) if frto.wants_sack() && !sack => refuse(
                "frto-ns2",
                "its SACK version needs SACK; choose recovery sack1 or sack, or frto_ns2_version=basic",
            ),
            _ => Ok(()),
        }
    }
}
