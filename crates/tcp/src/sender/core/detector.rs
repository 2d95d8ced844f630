//! Calls of the detector of spurious retransmissions, and of the tracker of retransmissions for
//! policies.

use midflight_control::spurious::{Unneeded, UnneededTracker};
use midflight_control::{AckNews, Interests, Orders, SenderView};
use midflight_units::Seq;

use super::Core;
use crate::event::Log;

/// The retransmissions tracked for policies that use reports of unneeded ones.
#[derive(Clone, Debug, Default)]
pub(super) struct UnneededWatch {
    pub(super) retransmissions: UnneededTracker,
    /// Its last finding, until a policy has responded.
    pub(super) found: Option<Unneeded>,
}

impl Core {
    /// Passes a processed ACK to the detector.
    pub(super) fn consult_detector(&mut self, ack: &AckNews, log: &mut impl Log) {
        let view = self.view();
        let orders = if self
            .detector
            .interests()
            .includes(Interests::RETRANSMISSIONS)
        {
            self.detector.on_ack(ack, &view)
        } else {
            Orders::none()
        };
        let watch = self.unneeded.as_mut();
        let unneeded = watch.and_then(|w| w.retransmissions.on_ack(ack, &view));
        self.apply(self.detector.info().name, &orders, log);
        self.note_detecting();
        if let (Some(watch), true) = (&mut self.unneeded, unneeded.is_some()) {
            watch.found = unneeded;
            self.consult_unneeded(log);
        }
    }

    /// Updates whether the detector or the tracker waits for ACKs.
    pub(super) fn note_detecting(&mut self) {
        let watch = self.unneeded.as_deref();
        let watching = watch.is_some_and(|w| w.retransmissions.is_waiting());
        self.interests = self.interests.without(Interests::RETRANSMISSIONS)
            | self.detector.interests()
            | Interests::RETRANSMISSIONS.when(watching);
    }

    /// Notifies the tracker, if a policy needs it, that a recovery begins.
    pub(super) fn begin_watch(&mut self, before: &SenderView, timeout: bool) {
        if let Some(watch) = &mut self.unneeded {
            watch.found = None;
            watch.retransmissions.begin(before, timeout);
        }
    }

    /// Notifies the policies of an unneeded recovery, until one responds.
    pub(super) fn consult_unneeded(&mut self, log: &mut impl Log) -> bool {
        let mut found = self.unneeded.as_ref().and_then(|w| w.found);
        let applied = self.ask(Some(Interests::UNNEEDED), log, |policy, view| {
            let orders = found.map_or_else(Orders::none, |what| policy.on_unneeded(&what, view));
            found = found.filter(|_| orders.is_empty());
            orders
        });
        if let Some(watch) = &mut self.unneeded {
            watch.found = watch.found.and(found);
        }
        applied.any
    }

    /// Notifies detector and tracker that a segment is retransmitted.
    #[cold]
    pub(super) fn note_retransmission(&mut self, seq: Seq) {
        self.detector.on_retransmission(seq);
        if let Some(watch) = &mut self.unneeded {
            watch.retransmissions.on_retransmission(seq);
        }
    }
}
