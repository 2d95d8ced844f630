//! Which parts and settings go together.

use midflight_control::dupack::AnyDupackResponse;
use midflight_control::loss::AnyLossClassifier;
use midflight_control::spurious::AnySpuriousDetector;

use super::{ConfigError, Profile, RecoveryKind};

impl Profile {
    /// Whether the parts can do what they are for with these settings.
    ///
    /// # Errors
    /// [`ConfigError::Combination`] says what is missing.
    pub fn check(&self) -> Result<(), ConfigError> {
        let (tx, rx) = (&self.sender, &self.receiver);
        let sack = tx.recovery.uses_sack();
        let refuse = |part, reason| Err(ConfigError::Combination { part, reason });
        let tells_handoffs = matches!(
            tx.spurious_detector,
            AnySpuriousDetector::Frto2003(_)
                | AnySpuriousDetector::Frto(_)
                | AnySpuriousDetector::FrtoNs2(_)
                | AnySpuriousDetector::Eifel(_)
        );
        match tx.dupack_response {
            AnyDupackResponse::NcrCareful(_) | AnyDupackResponse::NcrAggressive(_) if !sack => {
                return refuse(
                    tx.dupack_response.info().name,
                    "RFC 4653 needs SACK to know what has left the network; choose recovery sack1 or sack",
                );
            }
            _ => {}
        }
        if tx.recovery == RecoveryKind::Linux {
            if !matches!(tx.dupack_response, AnyDupackResponse::Immediate(_)) {
                return refuse(
                    tx.dupack_response.info().name,
                    "recovery linux tells losses by time (RACK) and does not count duplicates; choose another recovery",
                );
            }
            if !matches!(tx.spurious_detector, AnySpuriousDetector::None(_)) {
                return refuse(
                    tx.spurious_detector.info().name,
                    "recovery linux has F-RTO, Eifel and DSACK undo of its own; choose another recovery",
                );
            }
        }
        match tx.loss_classifier {
            AnyLossClassifier::Congestion(_) => {}
            _ if tx.recovery == RecoveryKind::Tahoe => {
                return refuse(
                    tx.loss_classifier.info().name,
                    "recovery tahoe answers every loss by sending the whole window again, and has no way to keep it; choose reno, newreno, sack1 or sack",
                );
            }
            AnyLossClassifier::LdHandover(_) if !tells_handoffs => {
                return refuse(
                    "ld-handover",
                    "it learns of a handoff from a timeout that proves spurious at once; add frto-2003, frto, frto-ns2 or eifel",
                );
            }
            _ => {}
        }
        match tx.spurious_detector {
            AnySpuriousDetector::Eifel(_) if !rx.timestamps => refuse(
                "eifel",
                "it tells transmissions apart by their timestamps; set timestamps=on",
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
