//! The common part of the recoveries without SACK: every duplicate ACK counts, and only the window
//! limits sending.

use midflight_units::Seq;

use crate::event::{Author, Log, SenderEvent};
use crate::segment::Ack;
use crate::sender::{Core, RecoveryRequest};

/// Counts duplicates and chooses segments by the cumulative ACK.
#[derive(Clone, Debug, Default)]
pub(super) struct Cumulative {
    /// The window that limited transmit may fill at this ACK, without the segments that have left
    /// the network.
    limited: Option<f64>,
    /// One past the highest segment sent at the last loss: duplicate ACKs below it are caused by
    /// its retransmissions (RFC 6582 section 3.2, `recover`). Reno leaves recovery with the first
    /// ACK of new data and sets this at timeouts only.
    pub(super) recover: Seq,
    /// The window before this fast recovery, if it must be kept.
    kept: Option<f64>,
}

impl Cumulative {
    /// Counts a duplicate ACK (RFC 5681 section 2); returns whether it is the one that indicates a
    /// loss. The earlier ones may send a new segment (RFC 3042).
    pub(super) fn duplicate(&mut self, core: &mut Core, log: &mut impl Log) -> bool {
        core.loss.count_duplicate();
        let news = self.is_news(core);
        let (retransmit, limited) = core.consult_duplicate(news, log);
        self.limited = limited;
        retransmit && news
    }

    /// Whether a loss of the first unacknowledged segment would start a new recovery.
    pub(super) fn is_news(&self, core: &Core) -> bool {
        core.books.una() > self.recover
    }

    /// Steps 2 and 3 of RFC 5681 section 3.2: halve, retransmit, inflate by the segments that have
    /// left the network according to the duplicate ACKs.
    pub(super) fn enter(&mut self, core: &mut Core, log: &mut impl Log) {
        self.begin();
        core.set_pipe_by_duplicates();
        core.loss.enter_fast_recovery();
        log.record(core.now, SenderEvent::FastRetransmit(core.books.una()));
        self.kept = core.consult_recovery(log).then(|| core.cwnd());
        let target = match self.kept {
            Some(cwnd) => cwnd,
            None => core.reduce_ssthresh(log).unwrap_or(core.ssthresh()),
        };
        core.set_cwnd(
            target + f64::from(core.loss.dupacks()),
            Author::Recovery,
            log,
        );
        core.loss.resend(core.books.una());
        core.cancel_timing();
        core.restart_timer();
    }

    /// The window at the end of fast recovery: the threshold, or a higher window if that was kept.
    pub(super) fn target(&self, core: &Core) -> f64 {
        self.kept.unwrap_or(core.recovery_target())
    }

    /// A duplicate ACK in fast recovery: inflates the window by the segment
    /// that has left the network (RFC 5681 section 3.2, step 4).
    pub(super) fn inflate(core: &mut Core, log: &mut impl Log) {
        core.loss.count_duplicate();
        core.loss.pipe_left(1);
        core.set_cwnd(core.cwnd() + 1.0, Author::Recovery, log);
    }

    /// The timer has expired: goes back to the first unacknowledged segment.
    pub(super) fn timeout(&mut self, core: &mut Core, log: &mut impl Log) {
        self.begin();
        self.recover = core.books.max();
        core.go_back_from(self.target(core).min(core.cwnd()), log);
    }

    /// Whether the ACK is a duplicate: nothing new, while something is outstanding.
    pub(super) fn is_duplicate(core: &Core, ack: &Ack) -> bool {
        ack.ack == core.books.una() && core.books.una() < core.books.max()
    }

    /// Clears the allowance of an earlier ACK.
    pub(super) fn begin(&mut self) {
        self.limited = None;
    }

    /// Orders have changed the window or the state of a recovery.
    pub(super) fn on_request(&mut self, core: &Core, request: RecoveryRequest) {
        self.limited = match self.limited {
            Some(_) if core.loss.dupacks() > 0 => core.limited_window(),
            _ => None,
        };
        match request {
            // Duplicate ACKs from before the end of the recovery may still arrive.
            RecoveryRequest::Again | RecoveryRequest::Rewind => {}
            RecoveryRequest::Forget | RecoveryRequest::Count => {
                self.recover = self.recover.min(core.books.una().saturating_sub(1));
            }
        }
    }

    /// The next segment within the window, or beyond it by limited transmit: only new data, so that
    /// FlightSize exceeds the window by at most two.
    pub(super) fn next_segment(&self, core: &Core) -> Option<Seq> {
        let window = match self.limited {
            Some(window) if core.books.nxt() == core.books.max() => {
                window as u64 + u64::from(core.loss.dupacks())
            }
            _ => core.usable_window(),
        };
        let edge = core.books.una() + window.min(core.receiver_window());
        (core.books.nxt() < edge && core.books.nxt() < core.books.end()).then_some(core.books.nxt())
    }
}
