//! SACK recovery as in ns-2's Sack1 sender (Fall & Floyd 1996; ns-2.35 with the defaults of 2.29),
//! the "regular TCP" of Daniel & Kojo 2008.
//!
//! The numbers in the comments are those of `docs/ns2-behaviour.md`. Differs from RFC 6675 where
//! ns-2 does: any un-SACKed segment below a SACKed one is a hole at once (16), each hole is
//! retransmitted once (16), the window and not FlightSize is halved (14), there is no rescue
//! retransmission (16), and a third duplicate ACK below `recover` does nothing (13).

use educe::Educe;
use midflight_units::Seq;

use super::ns2_scoreboard::Ns2Scoreboard;
use super::{LossRecovery, RecoveryInfo, RecoveryPart};
use crate::event::{Author, Log, SenderEvent};
use crate::segment::Ack;
use crate::sender::{Core, RecoveryRequest};

/// State of a Sack1 sender in addition to the shared state.
#[derive(Educe, Debug, Default)]
#[educe(Clone)]
pub(crate) struct Sack1 {
    board: Ns2Scoreboard,
    /// Highest segment sent when recovery or the last timeout began, 0 after a
    /// completed fast recovery. In ns-2's numbers: an ACK of exactly this
    /// segment ends recovery.
    recover: i64,
    /// The window may be filled.
    open: bool,
    /// The window that one segment may fill for a duplicate ACK, without the segments that have
    /// left the network.
    limited: Option<f64>,
}

/// ns-2's number of the highest segment acknowledged: one below the next expected.
fn last(una: Seq) -> i64 {
    una as i64 - 1
}

impl Sack1 {
    /// (13) Only losses after the last recovery or timeout start a recovery; the
    /// first data segment after the SYN always counts.
    fn is_news(&self, core: &Core) -> bool {
        last(core.books.una()) > self.recover || core.books.una() == 1
    }

    fn enter(&mut self, core: &mut Core, log: &mut impl Log) {
        if !self.is_news(core) {
            return;
        }
        self.recover = last(core.books.max());
        // An allowance that a train has held back until now is dropped.
        self.limited = None;
        // (14) The retransmission is not added to the pipe.
        core.set_pipe_by_duplicates();
        core.cancel_timing();
        core.restart_timer();
        core.loss.enter_fast_recovery();
        self.board.mark_retransmitted(core.books.una() as i64);
        log.record(core.now, SenderEvent::FastRetransmit(core.books.una()));
        if !core.consult_recovery(log) {
            // (14) ssthresh has a floor of two segments, cwnd has none.
            let half = core.usable_window() / 2;
            let window = core.reduce_ssthresh(log);
            core.set_cwnd(window.unwrap_or(half as f64), Author::Recovery, log);
        }
        core.loss.resend(core.books.una());
    }

    /// (11), (12), (13): a duplicate ACK outside recovery.
    fn on_duplicate(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log) {
        // ns-2's receiver has no new information when nothing is outstanding. What another receiver
        // reports then, a DSACK or segments that were never sent, would leave holes below SND.UNA
        // and block sending.
        if core.books.una() >= core.books.max() {
            return;
        }
        let news = self
            .board
            .update(last(core.books.una()), core.books.max(), ack)
            || core.config.count_sackless_dupacks;
        if !news {
            return;
        }
        core.loss.count_duplicate();
        let (retransmit, limited) = core.consult_duplicate(self.is_news(core), log);
        if retransmit {
            self.enter(core, log);
        } else {
            self.limited = limited;
        }
    }

    /// (15), (18): an ACK during fast recovery.
    fn on_recovery_ack(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log) {
        core.loss.pipe_left(1);
        if last(ack.ack) >= self.recover {
            self.recover = 0;
            core.loss.leave_fast_recovery();
            core.accept(ack, log);
            self.board.clear();
            log.record(core.now, SenderEvent::RecoveryExit);
            if core.books.una() == core.books.max() && core.cwnd() < 1.0 {
                // Differs from ns-2, where the flow would stop: no ACK is due that could open the
                // window, and no timer runs.
                core.set_cwnd(1.0, Author::Recovery, log);
            }
        } else if ack.ack > core.books.una() {
            core.advance(ack.ack, log);
            self.board
                .update(last(core.books.una()), core.books.max(), ack);
            core.loss.pipe_left(1);
            core.restart_timer();
            core.end_back_off(log);
        } else if self
            .board
            .update(last(core.books.una()), core.books.max(), ack)
            && core.loss.dupacks() > 0
        {
            core.loss.count_duplicate();
        }
    }
}

impl RecoveryPart for Sack1 {
    const INFO: RecoveryInfo = RecoveryInfo::with_sack(
        "sack1",
        "SACK as in ns-2's Sack1",
        "Fall & Floyd 1996; ns-2.35",
    );
}

impl LossRecovery for Sack1 {
    fn on_ack(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log) {
        if core.loss.in_fast_recovery() {
            self.on_recovery_ack(core, ack, log);
            self.open = true;
            return;
        }
        if ack.ack > core.books.una() {
            let segments = core.accept(ack, log);
            core.grow(segments, log);
            // (19)
            self.board.clear();
            self.limited = if core.loss.dupacks() > 0 {
                core.limited_window()
            } else {
                None
            };
        } else if ack.ack == core.books.una() && !core.loss.timed_out() {
            self.on_duplicate(core, ack, log);
        }
        // (12) While duplicates count, only they release segments.
        self.open = core.loss.dupacks() == 0;
    }

    fn on_timeout(&mut self, core: &mut Core, log: &mut impl Log) {
        // (20), (21)
        self.recover = last(core.books.max());
        self.board.clear();
        self.limited = None;
        core.go_back(log);
        self.open = true;
    }

    #[inline(always)]
    fn next_segment(&mut self, core: &mut Core) -> Option<Seq> {
        let window_end = core.books.una() + core.receiver_window();
        if let Some(window) = self.limited.take() {
            // (12) Compared as doubles.
            let edge = last(core.books.una()) as f64 + window + f64::from(core.loss.dupacks());
            if core.books.nxt() as f64 <= edge
                && core.books.nxt() < window_end
                && core.books.nxt() < core.books.end()
            {
                return Some(core.books.nxt());
            }
        }
        if !self.open {
            return None;
        }
        let usable = core.usable_window();
        let room = if core.loss.in_fast_recovery() {
            core.loss.pipe() < core.cwnd() as i64
        } else {
            core.books.nxt() < core.books.una() + usable
        };
        let next = if room && core.books.una() < core.books.end() {
            self.choose(core, window_end, usable)
        } else {
            None
        };
        match next {
            Some(_) => core.loss.pipe_sent(),
            None => self.open = false,
        }
        next
    }

    fn retransmit(&mut self, core: &mut Core, log: &mut impl Log) {
        self.enter(core, log);
        self.open |= core.loss.in_fast_recovery();
    }

    fn on_request(&mut self, core: &Core, request: RecoveryRequest) {
        self.open = core.loss.in_fast_recovery() || core.loss.dupacks() == 0;
        if core.loss.dupacks() == 0 {
            self.limited = None;
        }
        match request {
            RecoveryRequest::Again => {}
            RecoveryRequest::Forget | RecoveryRequest::Rewind => {
                self.recover = 0;
                self.board.clear();
            }
            RecoveryRequest::Count => {
                self.recover = 0;
                self.limited = None;
            }
        }
    }
}

impl Sack1 {
    /// (16), (22): the next hole, else new data.
    #[inline(always)]
    fn choose(&mut self, core: &Core, window_end: Seq, usable: u64) -> Option<Seq> {
        match self.board.next_hole() {
            None => {
                let edge = if core.loss.in_fast_recovery() {
                    window_end
                } else {
                    core.books.una() + usable
                };
                (core.books.nxt() < edge && core.books.nxt() < core.books.end())
                    .then_some(core.books.nxt())
            }
            Some(hole) if self.recover > 0 && (hole as Seq) < window_end => {
                self.board.mark_retransmitted(hole);
                Some(hole as Seq)
            }
            Some(_) => None,
        }
    }
}
