//! Reno (RFC 5681 section 3.2): fast retransmit and fast recovery, which ends
//! with the first ACK of new data.

use midflight_units::Seq;

use super::cumulative::Cumulative;
use super::{LossRecovery, RecoveryInfo, RecoveryPart};
use crate::event::{Author, Log, SenderEvent};
use crate::segment::Ack;
use crate::sender::{Core, RecoveryRequest};

/// State of a Reno sender in addition to the shared state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reno {
    cumulative: Cumulative,
}

impl Reno {
    fn enter(&mut self, core: &mut Core, log: &mut impl Log) {
        self.cumulative.enter(core, log);
    }
}

impl RecoveryPart for Reno {
    const INFO: RecoveryInfo = RecoveryInfo::new(
        "reno",
        "fast recovery until the first ACK of new data",
        "RFC 5681, section 3.2",
    );
}

impl LossRecovery for Reno {
    fn on_ack(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log) {
        self.cumulative.begin();
        if ack.ack > core.books.una() {
            let segments = core.accept(ack, log);
            if core.loss.leave_fast_recovery() {
                // Step 6: deflate.
                let target = self.cumulative.target(core);
                core.set_cwnd(target.min(core.cwnd()), Author::Recovery, log);
                log.record(core.now, SenderEvent::RecoveryExit);
            } else {
                core.grow(segments, log);
            }
        } else if !Cumulative::is_duplicate(core, ack) {
            // An old ACK.
        } else if core.loss.in_fast_recovery() {
            Cumulative::inflate(core, log);
        } else if self.cumulative.duplicate(core, log) {
            self.enter(core, log);
        }
    }

    fn on_timeout(&mut self, core: &mut Core, log: &mut impl Log) {
        self.cumulative.timeout(core, log);
    }

    fn next_segment(&mut self, core: &mut Core) -> Option<Seq> {
        self.cumulative.next_segment(core)
    }

    fn retransmit(&mut self, core: &mut Core, log: &mut impl Log) {
        if self.cumulative.is_news(core) {
            self.enter(core, log);
        }
    }

    fn on_request(&mut self, core: &Core, request: RecoveryRequest) {
        self.cumulative.on_request(core, request);
    }
}
