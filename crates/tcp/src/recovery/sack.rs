//! SACK-based loss recovery (RFC 6675), with names as in its sections 2 to 5.
//! After a timeout the SACK information is dropped, as RFC 2018 section 8 asks,
//! and what later ACKs report is skipped while going back (RFC 6675 section
//! 5.1). While the sender goes back, what lies beyond SND.NXT is taken for not
//! sent: HighData is SND.NXT, so that a loss on the way back starts a recovery
//! of its own. Only what has gone again and is SACKed then speaks for that: segments
//! of before the timeout, which may be late over an old path, are skipped, but
//! say nothing of what was sent behind them.

use educe::Educe;
use midflight_units::Seq;

use super::LossRecovery;
use crate::event::{Log, SenderEvent};
use crate::segment::{Ack, SackBlock};
use crate::sender::{Core, Turn};

/// SACKed segments: blocks ascending, disjoint and not adjacent.
#[derive(Educe, Debug, Default)]
#[educe(Clone)]
struct Scoreboard(Vec<SackBlock>);

impl Scoreboard {
    /// Adds a block; whether any of it is new.
    fn add(&mut self, new: SackBlock) -> bool {
        let from = self.0.partition_point(|b| b.right < new.left);
        let to = self.0.partition_point(|b| b.left <= new.right);
        let touched = &self.0[from..to];
        if touched
            .iter()
            .any(|b| b.left <= new.left && new.right <= b.right)
        {
            return false;
        }
        let merged = touched.iter().fold(new, |m, b| SackBlock {
            left: m.left.min(b.left),
            right: m.right.max(b.right),
        });
        self.0.splice(from..to, [merged]);
        true
    }

    fn forget_below(&mut self, una: Seq) {
        let gone = self.0.partition_point(|b| b.right <= una);
        self.0.drain(..gone);
        if let Some(first) = self.0.first_mut() {
            first.left = first.left.max(una);
        }
    }

    /// Segments in `[from, to)`.
    fn count(&self, from: Seq, to: Seq) -> u64 {
        self.0
            .iter()
            .map(|b| b.right.min(to).saturating_sub(b.left.max(from)))
            .sum()
    }

    /// The edge below which every segment that is not here has so many of these
    /// between itself and `end`.
    fn edge_below(&self, end: Seq, threshold: u32) -> Option<Seq> {
        let mut wanted = u64::from(threshold);
        for block in self.0.iter().rev() {
            let right = block.right.min(end);
            let length = right.saturating_sub(block.left);
            if length >= wanted {
                return Some(right - wanted);
            }
            wanted -= length;
        }
        None
    }

    /// The first segment from `from` on that is not here.
    fn first_without(&self, from: Seq) -> Seq {
        let at = self.0.partition_point(|b| b.right <= from);
        self.0
            .get(at)
            .filter(|b| b.left <= from)
            .map_or(from, |b| b.right)
    }
}

/// State of an RFC 6675 sender beside the shared one. Sequence numbers are one
/// past the RFC's where the RFC names the last octet.
#[derive(Educe, Debug, Default)]
#[educe(Clone)]
pub(crate) struct Sack {
    /// What is SACKed above `una`.
    blocks: Scoreboard,
    /// The part of it that was SACKed when it had gone again after the last timeout.
    gone_again: Scoreboard,
    /// One past HighRxt.
    high_rxt: Seq,
    /// One past RecoveryPoint; fast recovery waits until it is acknowledged.
    recovery_point: Seq,
    /// RescueRxt: a rescue retransmission has been made up to here.
    rescue_rxt: Option<Seq>,
    /// The window that limited transmit may fill for the present ACK; what it
    /// is after a segment has gone is asked for.
    limited: Option<f64>,
}

impl Sack {
    /// Update(): takes the blocks of an ACK; whether any segment is newly SACKed that
    /// speaks for the loss of others.
    fn update(&mut self, core: &Core, ack: &Ack) -> bool {
        let mut news = false;
        for block in ack.sack.iter(ack.ack) {
            // Not above the cumulative ACK (DSACK) or beyond what was sent: says nothing.
            if block.left > core.una && block.right <= core.max && block.left < block.right {
                if core.is_going_back() {
                    news |= self.note_gone_again(core, block);
                    self.blocks.add(block);
                } else {
                    news |= self.blocks.add(block);
                }
            }
        }
        news
    }

    /// Notes what of a block has gone again and was not known of before.
    #[cold]
    fn note_gone_again(&mut self, core: &Core, block: SackBlock) -> bool {
        let mut news = false;
        let mut left = self.blocks.first_without(block.left);
        while left < block.right.min(core.nxt) {
            let known = self.blocks.0.iter().find(|b| b.left > left);
            let right = known.map_or(block.right, |b| b.left.min(block.right));
            let right = right.min(core.nxt);
            news |= self.gone_again.add(SackBlock { left, right });
            left = self.blocks.first_without(right);
        }
        news
    }

    /// The segments that speak for the loss of others.
    fn witnesses(&self, core: &Core) -> &Scoreboard {
        if core.is_going_back() {
            &self.gone_again
        } else {
            &self.blocks
        }
    }

    fn forget_below(&mut self, una: Seq) {
        self.blocks.forget_below(una);
        self.gone_again.forget_below(una);
    }

    fn forget_all(&mut self) {
        self.blocks.0.clear();
        self.gone_again.0.clear();
    }

    /// IsLost(): every un-SACKed segment below this edge has DupThresh SACKed
    /// segments above it (and so has what has DupThresh SACKed blocks above).
    fn lost_edge(&self, core: &Core) -> Seq {
        let edge = self
            .witnesses(core)
            .edge_below(Seq::MAX, core.dup_threshold);
        if core.in_order_below.is_some() {
            return edge.max(self.edge_among(core)).unwrap_or(core.una);
        }
        edge.unwrap_or(core.una)
    }

    /// The same where reordering is expected: the usual DupThresh holds for segments
    /// that keep their order, among themselves, and for those that are overdue.
    #[cold]
    fn edge_among(&self, core: &Core) -> Option<Seq> {
        let usual = core.config.dup_threshold;
        let (in_order, overdue) = core.reordering_edges();
        let witnesses = self.witnesses(core);
        let late = witnesses
            .edge_below(Seq::MAX, usual)
            .map(|e| e.min(overdue));
        witnesses.edge_below(in_order, usual).max(late)
    }

    /// SetPipe().
    fn set_pipe(&self, core: &mut Core) {
        let unsacked = |from: Seq, to: Seq| to.saturating_sub(from) - self.blocks.count(from, to);
        let lost = self.lost_edge(core).max(core.una);
        let resent = self.high_rxt.clamp(core.una, core.nxt);
        core.pipe = (unsacked(lost, core.nxt) + unsacked(core.una, resent)) as i64;
    }

    /// NextSeg().
    fn next_seg(&mut self, core: &Core) -> Option<Seq> {
        let highest_sacked = self
            .blocks
            .0
            .last()
            .map_or(core.una, |b| b.right.min(core.nxt));
        let hole = self.blocks.first_without(self.high_rxt.max(core.una));
        let is_hole = hole < highest_sacked;
        // (1)
        if is_hole && hole < self.lost_edge(core) {
            self.high_rxt = hole + 1;
            return Some(hole);
        }
        // (2)
        let next = self.blocks.first_without(core.nxt).min(core.max);
        if next < core.end && next < core.una + core.config.receiver_window {
            return Some(next);
        }
        // (3)
        if is_hole {
            self.high_rxt = hole + 1;
            return Some(hole);
        }
        // (4) One rescue retransmission of the highest segment in a recovery.
        if self.rescue_rxt.is_none_or(|r| core.una > r) && core.una < core.nxt {
            let top = self.blocks.0.last().filter(|b| b.right >= core.nxt);
            let highest = top.map_or(core.nxt, |b| b.left) - 1;
            if highest >= core.una {
                self.rescue_rxt = Some(self.recovery_point);
                return Some(highest);
            }
        }
        None
    }

    /// Section 5, step 4.
    fn enter(&mut self, core: &mut Core, log: &mut impl Log) {
        self.recovery_point = core.nxt;
        // (4.3): the retransmission below counts as the rescue's predecessor.
        self.rescue_rxt = Some(core.una + 1);
        self.high_rxt = core.una + 1;
        self.set_pipe(core);
        core.in_fast_recovery = true;
        log.record(core.now, SenderEvent::FastRetransmit(core.una));
        if !core.consult_recovery(log) {
            let window = core.reduce_ssthresh(log);
            core.set_cwnd(window.unwrap_or(core.ssthresh()), log);
        }
        // With the threshold that is in force from here on.
        self.set_pipe(core);
        core.resend = Some(core.una);
        core.cancel_timing();
        core.restart_timer();
    }
}

impl LossRecovery for Sack {
    fn on_ack(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log) {
        self.limited = None;
        let segments = if ack.ack > core.una {
            core.accept(ack, log)
        } else {
            0
        };
        self.forget_below(core.una);
        let news = ack.ack >= core.una && self.update(core, ack);
        if core.in_fast_recovery {
            if core.una >= self.recovery_point {
                core.in_fast_recovery = false;
                self.rescue_rxt = None;
                log.record(core.now, SenderEvent::RecoveryExit);
            } else {
                self.set_pipe(core);
            }
            return;
        }
        if segments > 0 {
            core.grow(segments, log);
        }
        // Section 2: a duplicate acknowledgement carries a block with news.
        // While a probe asks whether a timeout was spurious, the scoreboard is
        // kept and no recovery starts (RFC 5682 section 3.1, step 2).
        // An ACK of new data counts as one where the response goes on.
        let again = segments > 0 && core.dupacks > 0;
        let sackless = core.config.count_sackless_dupacks
            && segments == 0
            && ack.ack == core.una
            && core.una < core.max;
        if !(news || again || sackless) || core.una < self.recovery_point || core.probe.is_some() {
            return;
        }
        core.dupacks += u32::from(!again);
        let (retransmit, limited) = core.consult_duplicate(true, log);
        let lost = core.una < self.lost_edge(core);
        if retransmit || lost {
            self.enter(core, log);
        } else {
            // Step 3.
            self.high_rxt = core.una;
            self.set_pipe(core);
            self.limited = limited;
        }
    }

    fn on_timeout(&mut self, core: &mut Core, log: &mut impl Log) {
        self.forget_all();
        self.limited = None;
        self.rescue_rxt = None;
        if core.in_fast_recovery {
            // Section 5.1: no new recovery before everything is acknowledged.
            self.recovery_point = core.max;
        }
        self.high_rxt = core.una;
        core.go_back(log);
    }

    fn next_segment(&mut self, core: &mut Core) -> Option<Seq> {
        let cwnd = core.usable_window() as i64;
        if core.in_fast_recovery {
            let next = if core.pipe < cwnd {
                self.next_seg(core)
            } else {
                None
            };
            core.pipe += i64::from(next.is_some());
            return next;
        }
        if core.nxt < core.max {
            // Going back: what the receiver has is skipped.
            core.nxt = self.blocks.first_without(core.nxt).min(core.max);
        }
        let room = match self.limited {
            // Asked again: what has been sent since may count (RFC 4653 (E.4)).
            Some(_) => {
                let window = core.limited_window().unwrap_or(0.0);
                core.pipe < window as i64 && core.nxt < core.una + core.config.receiver_window
            }
            None => core.nxt < core.una + core.usable_window(),
        };
        if !room || core.nxt >= core.end {
            return None;
        }
        core.pipe += 1;
        Some(core.nxt)
    }

    fn retransmit(&mut self, core: &mut Core, log: &mut impl Log) {
        if core.una >= self.recovery_point {
            self.enter(core, log);
        }
    }

    fn on_patience_over(&mut self, core: &mut Core) {
        if core.in_fast_recovery {
            self.set_pipe(core);
        }
    }

    fn on_turn(&mut self, core: &Core, turn: Turn) {
        self.limited = match self.limited {
            Some(_) if core.dupacks > 0 => core.limited_window(),
            _ => None,
        };
        if turn == Turn::Rewind {
            self.forget_all();
            self.high_rxt = core.una;
        }
        if turn != Turn::Again {
            // What a recovery that was taken back has sent again is under way, and
            // does not go once more (HighRxt outlives the undo).
            self.recovery_point = core.una.max(self.high_rxt);
            self.rescue_rxt = None;
        }
    }
}
