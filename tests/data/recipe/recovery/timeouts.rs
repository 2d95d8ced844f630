//! No fast retransmit: what is lost goes again when the retransmission timer expires (RFC 6298
//! section 5), and everything after it too.

use midflight_units::Seq;

use super::{LossRecovery, RecoveryInfo, RecoveryPart};
use crate::event::Log;
use crate::segment::Ack;
use crate::sender::{Core, RecoveryRequest};

/// Keeps nothing beside the shared state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeouts;

impl RecoveryPart for Timeouts {
    const INFO: RecoveryInfo = RecoveryInfo {
        refuses_responses: Some("recovery timeouts does not count duplicate ACKs"),
        refuses_classifiers: Some("recovery timeouts suspects no loss before the timer expires"),
        ..RecoveryInfo::new("timeouts", "the retransmission timer alone", "RFC 6298")
    };
}

impl LossRecovery for Timeouts {
    fn on_ack(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log) {
        if ack.ack > core.books.una() {
            let segments = core.accept(ack, log);
            core.grow(segments, log);
        }
    }

    fn on_timeout(&mut self, core: &mut Core, log: &mut impl Log) {
        core.go_back(log);
    }

    fn next_segment(&mut self, core: &mut Core) -> Option<Seq> {
        let next = core.books.nxt();
        let edge = core.books.una() + core.usable_window();
        (next < edge.min(core.books.end())).then_some(next)
    }

    fn retransmit(&mut self, _core: &mut Core, _log: &mut impl Log) {}

    fn on_request(&mut self, _core: &Core, _request: RecoveryRequest) {}
}
