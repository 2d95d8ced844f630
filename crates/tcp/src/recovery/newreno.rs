//! NewReno (RFC 6582): fast recovery lasts until everything that was
//! outstanding at its start is acknowledged; each partial ACK indicates
//! one more loss.

use midflight_units::Seq;

use super::cumulative::Cumulative;
use super::{LossRecovery, RecoveryInfo, RecoveryPart};
use crate::config::PartialAckTimer;
use crate::event::{Author, Log, SenderEvent};
use crate::segment::Ack;
use crate::sender::{Core, RecoveryRequest};

/// State of a NewReno sender in addition to the shared state.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewReno {
    cumulative: Cumulative,
    /// A partial ACK has restarted the timer in this recovery.
    timer_restarted: bool,
}

impl NewReno {
    fn enter(&mut self, core: &mut Core, log: &mut impl Log) {
        self.cumulative.recover = core.books.max();
        self.timer_restarted = false;
        self.cumulative.enter(core, log);
    }

    fn on_recovery_ack(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log) {
        if ack.ack >= self.cumulative.recover {
            // Section 3.2 step 3, full acknowledgement, option 1.
            core.accept(ack, log);
            core.loss.leave_fast_recovery();
            let flight = core.flight_size().max(1) as f64;
            let target = self.cumulative.target(core);
            core.set_cwnd(target.min(flight + 1.0), Author::Recovery, log);
            log.record(core.now, SenderEvent::RecoveryExit);
            return;
        }
        // Partial acknowledgement: retransmit, deflate by what was
        // acknowledged, add one back; only the first restarts the timer.
        let dupacks = core.loss.dupacks();
        let segments = core.accept_keeping_timer(ack, log);
        core.loss.set_dupacks(dupacks);
        let restarted = std::mem::replace(&mut self.timer_restarted, true);
        // If a closed window had stopped the timer, it is restarted in either case.
        let every = core.config.newreno_timer == PartialAckTimer::Every || core.is_closed();
        if every || !restarted {
            core.restart_timer();
        }
        core.loss.resend(core.books.una());
        core.cancel_timing();
        core.loss.pipe_left(segments);
        let window = if core.config.newreno_deflation {
            (core.cwnd() - segments as f64).max(0.0) + 1.0
        } else {
            self.cumulative.target(core)
        };
        core.set_cwnd(window, Author::Recovery, log);
    }
}

impl RecoveryPart for NewReno {
    const INFO: RecoveryInfo = RecoveryInfo::new(
        "newreno",
        "fast recovery until the recovery point; each partial ACK indicates one more loss",
        "RFC 6582",
    );
}

impl LossRecovery for NewReno {
    fn on_ack(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log) {
        self.cumulative.begin();
        if ack.ack > core.books.una() && core.loss.in_fast_recovery() {
            self.on_recovery_ack(core, ack, log);
        } else if ack.ack > core.books.una() {
            let segments = core.accept(ack, log);
            core.grow(segments, log);
        } else if !Cumulative::is_duplicate(core, ack) {
            // An old ACK.
        } else if core.loss.in_fast_recovery() {
            Cumulative::inflate(core, log);
        } else if self.cumulative.duplicate(core, log) {
            self.enter(core, log);
        }
    }

    fn on_timeout(&mut self, core: &mut Core, log: &mut impl Log) {
        // Section 3.2 step 4.
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
