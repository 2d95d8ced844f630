//! Tahoe (Jacobson 1988): a third duplicate ACK has the same effect as a timeout: the threshold is
//! halved, the window is one segment, and everything from the first unacknowledged segment on is
//! retransmitted.

use midflight_units::Seq;

use super::cumulative::Cumulative;
use super::{LossRecovery, RecoveryInfo, RecoveryPart};
use crate::event::{Author, Log, SenderEvent};
use crate::segment::Ack;
use crate::sender::{Core, RecoveryRequest};

/// State of a Tahoe sender in addition to the shared state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tahoe {
    cumulative: Cumulative,
}

impl Tahoe {
    fn enter(&mut self, core: &mut Core, log: &mut impl Log) {
        self.cumulative.begin();
        self.cumulative.recover = core.books.max();
        log.record(core.now, SenderEvent::FastRetransmit(core.books.una()));
        if !core.consult_recovery(log) {
            core.reduce_ssthresh(log);
            core.set_cwnd(1.0, Author::Recovery, log);
        }
        core.cancel_timing();
        core.restart_timer();
        core.books.go_back();
    }
}

impl RecoveryPart for Tahoe {
    const INFO: RecoveryInfo = RecoveryInfo {
        refuses_classifiers: Some(
            "recovery tahoe retransmits the whole window after every loss and cannot keep the window; choose reno, newreno, sack1 or sack",
        ),
        ..RecoveryInfo::new("tahoe", "fast retransmit, then slow start", "Jacobson 1988")
    };
}

impl LossRecovery for Tahoe {
    fn on_ack(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log) {
        self.cumulative.begin();
        if ack.ack > core.books.una() {
            let segments = core.accept(ack, log);
            core.grow(segments, log);
        } else if Cumulative::is_duplicate(core, ack) && self.cumulative.duplicate(core, log) {
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
