//! Tahoe, Reno and NewReno as in ns-2's agents (`Agent/TCP`, `Agent/TCP/Reno` and
//! `Agent/TCP/Newreno` of ns-2.35), derived from runs of ns-2. The numbers in the comments are
//! those of `docs/ns2-behaviour.md`.
//!
//! Differs from RFC 5681 and RFC 6582 where ns-2 does: the segments that have left the network are
//! added to `cwnd` and never halved (27), a duplicate may release old data after a timeout (29),
//! the window is neither cut nor kept from growing when recovery ends (32), NewReno sends at most
//! two segments for a duplicate (31), and each agent has its own rule for duplicates of what was
//! sent before the last reduction (30).

use midflight_units::Seq;

use super::{LossRecovery, RecoveryKind};
use crate::config::PartialAckTimer;
use crate::event::{Author, Log, SenderEvent};
use crate::segment::Ack;
use crate::sender::{Core, RecoveryRequest};

/// (31) Segments that NewReno sends for one ACK while duplicates count.
const NEWRENO_BURST: u32 = 2;

/// Which of the three agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Agent {
    Tahoe,
    Reno,
    NewReno,
}

/// The cause of the last reduction of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reduction {
    /// Nothing, a timeout, or a recovery that has been completed.
    Other,
    /// Duplicate ACKs.
    Duplicates,
}

/// State of one of these senders in addition to the shared state.
#[derive(Clone, Debug)]
pub(crate) struct Ns2Reno {
    agent: Agent,
    /// Highest segment sent at the last fast retransmit or timeout.
    recover: i64,
    /// (27) Segments that have left the network, added to the window.
    inflation: u64,
    last_reduction: Reduction,
    /// The window that one segment may fill for a duplicate ACK, without the segments that have
    /// left the network.
    limited: Option<f64>,
    /// The window may be filled, by at most this many segments.
    open: u32,
    /// A partial ACK has restarted the timer in this recovery.
    timer_restarted: bool,
    /// (29) Duplicates since the last advance: Tahoe continues counting after a timeout.
    counted: u32,
}

/// ns-2's number of the highest segment acknowledged: one below the next expected.
fn last(una: Seq) -> i64 {
    una as i64 - 1
}

impl Ns2Reno {
    /// The agent for this kind of recovery, if there is one.
    pub(super) fn of(kind: RecoveryKind) -> Option<Self> {
        let agent = match kind {
            RecoveryKind::Tahoe => Agent::Tahoe,
            RecoveryKind::Reno => Agent::Reno,
            RecoveryKind::NewReno => Agent::NewReno,
            _ => return None,
        };
        Some(Self {
            agent,
            recover: 0,
            inflation: 0,
            last_reduction: Reduction::Other,
            limited: None,
            open: 0,
            timer_restarted: false,
            counted: 0,
        })
    }

    /// (30) Whether a loss of the first unacknowledged segment would start a new recovery
    /// (`bugFix_`); a loss of the first data segment after the SYN always does.
    fn is_news(&self, core: &Core) -> bool {
        last(core.books.una()) > self.recover || core.books.una() == 1
    }

    /// How many segments may be sent besides the one of limited transmit.
    fn open(&mut self, core: &Core) {
        self.open = match self.agent {
            Agent::Tahoe => u32::MAX,
            _ if core.loss.dupacks() == 0 => u32::MAX,
            // (29) While the first duplicates count, only they release segments.
            _ if core.loss.dupacks() < core.config.dup_threshold => 0,
            Agent::Reno => u32::MAX,
            Agent::NewReno => NEWRENO_BURST,
        };
    }

    /// (28) Fast retransmit.
    fn enter(&mut self, core: &mut Core, log: &mut impl Log) {
        self.recover = last(core.books.max());
        self.limited = None;
        self.last_reduction = Reduction::Duplicates;
        core.set_pipe_by_duplicates();
        if self.agent != Agent::Tahoe {
            core.loss.enter_fast_recovery();
        }
        log.record(core.now, SenderEvent::FastRetransmit(core.books.una()));
        if !core.consult_recovery(log) {
            let half = core.usable_window() / 2;
            let window = core.reduce_ssthresh(log);
            let window = match self.agent {
                Agent::Tahoe => 1.0,
                _ => window.unwrap_or(half as f64),
            };
            core.set_cwnd(window, Author::Recovery, log);
        }
        core.cancel_timing();
        core.restart_timer();
        if self.agent == Agent::Tahoe {
            core.books.go_back();
        } else {
            // Duplicates may trigger a fast retransmit before new data is acknowledged (30).
            core.loss.end_timeout();
            core.loss.resend(core.books.una());
            self.inflation = u64::from(core.loss.dupacks());
        }
    }

    fn on_duplicate(&mut self, core: &mut Core, log: &mut impl Log) {
        core.loss.count_duplicate();
        if core.loss.in_fast_recovery() {
            self.inflation += 1;
            core.loss.pipe_left(1);
            return;
        }
        let news = self.is_news(core);
        let (retransmit, limited) = core.consult_duplicate(news, log);
        if retransmit && news {
            self.enter(core, log);
            return;
        }
        self.limited = limited;
        // (30) A duplicate without a response inflates the window nevertheless if duplicates caused
        // the last reduction.
        if self.agent != Agent::Tahoe
            && self.last_reduction == Reduction::Duplicates
            && core.loss.dupacks() > core.config.dup_threshold
        {
            self.inflation += 1;
        }
    }

    /// (31) NewReno: an ACK of new data below the recovery point.
    fn on_partial_ack(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log) {
        let segments = core.advance(ack.ack, log);
        core.loss.pipe_left(segments);
        let restarted = std::mem::replace(&mut self.timer_restarted, true);
        if !restarted || core.config.newreno_timer == PartialAckTimer::Every {
            core.restart_timer();
            core.end_back_off(log);
        }
        core.forget_timed_below(ack.ack, log);
        if !core.config.newreno_deflation {
            self.inflation = 0;
        } else if self.inflation > segments {
            self.inflation -= segments - 1;
        } else {
            let deflated = core.cwnd() - (segments - self.inflation) as f64;
            self.inflation = 1;
            core.set_cwnd(deflated.max(1.0), Author::Recovery, log);
        }
        core.loss.resend(core.books.una());
    }

    /// (32) Any other ACK of new data ends a recovery, and the window grows as usual.
    fn on_advance(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log) {
        if self.inflation > 0 {
            self.last_reduction = Reduction::Other;
        }
        self.inflation = 0;
        self.timer_restarted = false;
        let recovered = core.loss.leave_fast_recovery();
        let segments = core.accept(ack, log);
        core.grow(segments, log);
        if recovered {
            log.record(core.now, SenderEvent::RecoveryExit);
        }
    }
}

impl LossRecovery for Ns2Reno {
    fn on_ack(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log) {
        self.limited = None;
        if ack.ack > core.books.una() {
            let partial = self.agent == Agent::NewReno && last(ack.ack) < self.recover;
            if partial && core.loss.in_fast_recovery() {
                self.on_partial_ack(core, ack, log);
            } else {
                self.on_advance(core, ack, log);
            }
        } else if ack.ack == core.books.una() && core.books.una() < core.books.max() {
            self.on_duplicate(core, log);
        }
        self.open(core);
        self.counted = core.loss.dupacks();
    }

    fn on_timeout(&mut self, core: &mut Core, log: &mut impl Log) {
        self.recover = last(core.books.max());
        self.inflation = 0;
        self.last_reduction = Reduction::Other;
        self.limited = None;
        core.go_back(log);
        if self.agent == Agent::Tahoe {
            core.loss.set_dupacks(self.counted);
        }
        self.open = u32::MAX;
    }

    fn next_segment(&mut self, core: &mut Core) -> Option<Seq> {
        if core.books.nxt() >= core.books.end() {
            return None;
        }
        let most = core.receiver_window();
        if let Some(window) = self.limited.take() {
            // (29) Compared as doubles; after a timeout the segment is old data.
            let edge = last(core.books.una()) as f64 + window + f64::from(core.loss.dupacks());
            if core.books.nxt() as f64 <= edge && core.books.nxt() < core.books.una() + most {
                return Some(core.books.nxt());
            }
        }
        let window = core.usable_window() + self.inflation;
        if self.open == 0 || core.books.nxt() >= core.books.una() + window.min(most) {
            return None;
        }
        self.open -= 1;
        Some(core.books.nxt())
    }

    fn retransmit(&mut self, core: &mut Core, log: &mut impl Log) {
        if self.is_news(core) {
            self.enter(core, log);
            self.open(core);
        }
    }

    fn on_request(&mut self, core: &Core, request: RecoveryRequest) {
        self.limited = match self.limited {
            Some(_) if core.loss.dupacks() > 0 => core.limited_window(),
            _ => None,
        };
        if !core.loss.in_fast_recovery() {
            self.inflation = 0;
        }
        match request {
            RecoveryRequest::Again => {}
            // Duplicate ACKs from before the end of the recovery may still arrive.
            RecoveryRequest::Rewind => self.last_reduction = Reduction::Other,
            RecoveryRequest::Forget | RecoveryRequest::Count => {
                self.last_reduction = Reduction::Other;
                self.recover = self.recover.min(last(core.books.una()) - 1);
            }
        }
        self.open(core);
        self.counted = core.loss.dupacks();
    }
}
