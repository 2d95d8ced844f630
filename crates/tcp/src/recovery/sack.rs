//! SACK-based loss recovery (RFC 6675), with names as in its sections 2 to 5. After a timeout the SACK
//! information is dropped, as RFC 2018 section 8 requires, and segments that later ACKs report are skipped
//! while going back (RFC 6675 section 5.1). While the sender goes back, segments beyond SND.NXT are treated
//! as not sent: HighData is SND.NXT, so a loss during that time starts another recovery. Only SACKs of
//! retransmitted segments indicate such a loss: segments sent before the timeout, which may be late on an
//! old path, are skipped, but say nothing about segments sent after them.

use educe::Educe;
use midflight_units::{Ring, Seq};

use super::{LossRecovery, RecoveryInfo, RecoveryPart};
use crate::event::{Author, Log, SenderEvent};
use crate::segment::{Ack, SackBlock};
use crate::sender::{Core, RecoveryRequest};

/// SACKed segments. The counts of RFC 6675 are updated with each change, so the time per ACK does not depend
/// on the number of segments.
#[derive(Educe, Debug, Default)]
#[educe(Clone)]
struct Scoreboard {
    /// Blocks ascending, disjoint and not adjacent.
    blocks: Ring<SackBlock>,
    /// Segments in all blocks.
    total: u64,
    marks: [Mark; 3],
}

/// A sequence number below which the SACKed segments are counted.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    at: Seq,
    below: u64,
}

/// Indices into [`Scoreboard::marks`]: the edge of the lost segments, HighRxt, SND.NXT.
const LOST: usize = 0;
const RESENT: usize = 1;
const NEXT: usize = 2;

/// [`Scoreboard::edge`] counts up to this many segments from the highest one down.
const FEW: u32 = 16;

impl Scoreboard {
    /// Adds a block; returns whether any of it is new.
    fn add(&mut self, new: SackBlock) -> bool {
        let from = self.blocks.partition_point(|b| b.right < new.left);
        let to = self.blocks.partition_point(|b| b.left <= new.right);
        let mut merged = new;
        let mut known = new.left;
        for i in from..to {
            let Some(&block) = self.blocks.get(i) else {
                break;
            };
            if block.left <= new.left && new.right <= block.right {
                return false;
            }
            self.count(known, block.left, u64::wrapping_add);
            known = known.max(block.right);
            merged.left = merged.left.min(block.left);
            merged.right = merged.right.max(block.right);
        }
        self.count(known, new.right, u64::wrapping_add);
        match self.blocks.get_mut(from) {
            Some(first) if from < to => {
                *first = merged;
                self.blocks.remove(from + 1, to);
            }
            _ => self.blocks.insert(from, merged),
        }
        true
    }

    /// Counts the segments in `[from, to)`, which are added or removed.
    fn count(&mut self, from: Seq, to: Seq, with: fn(u64, u64) -> u64) {
        if from >= to {
            return;
        }
        self.total = with(self.total, to - from);
        for mark in &mut self.marks {
            mark.below = with(mark.below, to.min(mark.at) - from.min(mark.at));
        }
    }

    #[inline]
    fn forget_below(&mut self, una: Seq) {
        while let Some(&first) = self.blocks.front() {
            if first.left >= una {
                break;
            }
            self.count(first.left, first.right.min(una), u64::wrapping_sub);
            if first.right > una {
                if let Some(first) = self.blocks.get_mut(0) {
                    first.left = una;
                }
                break;
            }
            self.blocks.pop();
        }
    }

    fn clear(&mut self) {
        self.blocks.clear();
        self.total = 0;
        self.marks = Default::default();
    }

    /// The number of segments below `at`. Moves the mark there from its last position.
    fn below(&mut self, mark: usize, at: Seq) -> u64 {
        let is_above_all = |last: &SackBlock| last.right <= at;
        if self.blocks.last().is_none_or(is_above_all) {
            return self.total;
        }
        let Mark { at: was, mut below } = self.marks[mark];
        if at > was {
            let passed = self.blocks.partition_point(|b| b.right <= was);
            for i in passed..self.blocks.len() {
                match self.blocks.get(i).filter(|b| b.left < at) {
                    Some(block) => below += block.right.min(at) - block.left.max(was),
                    None => break,
                }
            }
        } else if at < was {
            let reached = self.blocks.partition_point(|b| b.left < was);
            for i in (0..reached).rev() {
                match self.blocks.get(i).filter(|b| b.right > at) {
                    Some(block) => below -= block.right.min(was) - block.left.max(at),
                    None => break,
                }
            }
        }
        self.marks[mark] = Mark { at, below };
        below
    }

    /// The edge below which every missing segment has this many segments of the scoreboard between itself
    /// and `end`.
    fn edge_below(&self, end: Seq, threshold: u32) -> Option<Seq> {
        let mut wanted = u64::from(threshold);
        let reached = self.blocks.partition_point(|b| b.left < end);
        for i in (0..reached).rev() {
            let block = self.blocks.get(i)?;
            let right = block.right.min(end);
            let length = right - block.left;
            if length >= wanted {
                return Some(right - wanted);
            }
            wanted -= length;
        }
        None
    }

    /// The same without an end. Large counts start from the last position of the edge.
    fn edge(&mut self, threshold: u32) -> Option<Seq> {
        if threshold <= FEW {
            return self.edge_below(Seq::MAX, threshold);
        }
        let threshold = u64::from(threshold);
        if self.total < threshold {
            return None;
        }
        let Mark { at, below } = self.marks[LOST];
        let above = self.total - below;
        let edge = if above >= threshold {
            let mut left_out = above - threshold;
            let passed = self.blocks.partition_point(|b| b.right <= at);
            let mut later = (passed..self.blocks.len()).filter_map(|i| self.blocks.get(i));
            later.find_map(|block| {
                let left = block.left.max(at);
                let length = block.right - left;
                if left_out < length {
                    return Some(left + left_out);
                }
                left_out -= length;
                None
            })
        } else {
            let mut wanted = threshold - above;
            let reached = self.blocks.partition_point(|b| b.left < at);
            let mut earlier = (0..reached).rev().filter_map(|i| self.blocks.get(i));
            earlier.find_map(|block| {
                let right = block.right.min(at);
                let length = right - block.left;
                if wanted <= length {
                    return Some(right - wanted);
                }
                wanted -= length;
                None
            })
        }?;
        self.marks[LOST] = Mark {
            at: edge,
            below: self.total - threshold,
        };
        Some(edge)
    }

    /// The first segment from `from` on that is not on the scoreboard.
    fn first_without(&self, from: Seq) -> Seq {
        let at = self.blocks.partition_point(|b| b.right <= from);
        self.blocks
            .get(at)
            .filter(|b| b.left <= from)
            .map_or(from, |b| b.right)
    }

    /// The first block that begins above `seq`.
    fn first_above(&self, seq: Seq) -> Option<&SackBlock> {
        let at = self.blocks.partition_point(|b| b.left <= seq);
        self.blocks.get(at)
    }
}

/// State of an RFC 6675 sender in addition to the shared state. Sequence numbers are one
/// past the RFC's where the RFC names the last octet.
#[derive(Educe, Debug, Default)]
#[educe(Clone)]
pub(crate) struct Sack {
    /// The segments SACKed above `una`.
    blocks: Scoreboard,
    /// Segments that were SACKed after they had been retransmitted since the last timeout.
    gone_again: Scoreboard,
    /// One past HighRxt.
    high_rxt: Seq,
    /// One past RecoveryPoint; fast recovery lasts until it is acknowledged.
    recovery_point: Seq,
    /// RescueRxt: a rescue retransmission has been made up to here.
    rescue_rxt: Option<Seq>,
    /// The window that limited transmit may fill at this ACK; computed again after each segment sent.
    limited: Option<f64>,
}

impl Sack {
    /// Update(): takes the blocks of an ACK; returns whether a newly SACKed segment is evidence that others
    /// are lost.
    fn update(&mut self, core: &Core, ack: &Ack) -> bool {
        let mut news = false;
        for block in ack.sack.iter(ack.ack) {
            // A block that is not above the cumulative ACK (DSACK) or is beyond what was sent has no
            // information.
            if block.left > core.books.una()
                && block.right <= core.books.max()
                && block.left < block.right
            {
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

    /// Records which newly SACKed segments of a block have been retransmitted.
    #[cold]
    fn note_gone_again(&mut self, core: &Core, block: SackBlock) -> bool {
        let mut news = false;
        let mut left = self.blocks.first_without(block.left);
        while left < block.right.min(core.books.nxt()) {
            let known = self.blocks.first_above(left);
            let right = known.map_or(block.right, |b| b.left.min(block.right));
            let right = right.min(core.books.nxt());
            news |= self.gone_again.add(SackBlock { left, right });
            left = self.blocks.first_without(right);
        }
        news
    }

    /// The segments that are evidence for the loss of others.
    fn witnesses(&mut self, core: &Core) -> &mut Scoreboard {
        if core.is_going_back() {
            &mut self.gone_again
        } else {
            &mut self.blocks
        }
    }

    fn forget_below(&mut self, una: Seq) {
        self.blocks.forget_below(una);
        self.gone_again.forget_below(una);
    }

    fn forget_all(&mut self) {
        self.blocks.clear();
        self.gone_again.clear();
    }

    /// IsLost(): every un-SACKed segment below this edge has DupThresh SACKed segments above it (and
    /// therefore every one with DupThresh SACKed blocks above it).
    fn lost_edge(&mut self, core: &Core) -> Seq {
        let edge = self.witnesses(core).edge(core.dup_threshold);
        if core.in_order_below.is_some() {
            return edge.max(self.edge_among(core)).unwrap_or(core.books.una());
        }
        edge.unwrap_or(core.books.una())
    }

    /// The same edge while reordering is expected: the usual DupThresh applies among the segments that keep
    /// their order, and to segments that are overdue.
    #[cold]
    fn edge_among(&mut self, core: &Core) -> Option<Seq> {
        let usual = core.config.dup_threshold;
        let (in_order, overdue) = core.reordering_edges();
        let witnesses = self.witnesses(core);
        let late = witnesses
            .edge_below(Seq::MAX, usual)
            .map(|edge| edge.min(overdue));
        witnesses.edge_below(in_order, usual).max(late)
    }

    /// SetPipe().
    fn set_pipe(&mut self, core: &mut Core) {
        let lost = self
            .lost_edge(core)
            .clamp(core.books.una(), core.books.nxt());
        let resent = self.high_rxt.clamp(core.books.una(), core.books.nxt());
        let not_lost = core.books.nxt() - lost;
        let sacked = self.blocks.below(NEXT, core.books.nxt()) - self.blocks.below(LOST, lost);
        let sent_again = resent - core.books.una() - self.blocks.below(RESENT, resent);
        core.loss.set_pipe((not_lost - sacked + sent_again) as i64);
    }

    /// NextSeg().
    fn next_seg(&mut self, core: &Core) -> Option<Seq> {
        let last = self.blocks.blocks.last();
        let highest_sacked = last.map_or(core.books.una(), |b| b.right.min(core.books.nxt()));
        let hole = self
            .blocks
            .first_without(self.high_rxt.max(core.books.una()));
        let is_hole = hole < highest_sacked;
        // (1)
        if is_hole && hole < self.lost_edge(core) {
            self.high_rxt = hole + 1;
            return Some(hole);
        }
        // (2)
        let next = self
            .blocks
            .first_without(core.books.nxt())
            .min(core.books.max());
        if next < core.books.end() && next < core.books.una() + core.receiver_window() {
            return Some(next);
        }
        // (3)
        if is_hole {
            self.high_rxt = hole + 1;
            return Some(hole);
        }
        // (4) One rescue retransmission of the highest segment in a recovery.
        if self.rescue_rxt.is_none_or(|r| core.books.una() > r)
            && core.books.una() < core.books.nxt()
        {
            let top = self
                .blocks
                .blocks
                .last()
                .filter(|b| b.right >= core.books.nxt());
            let highest = top.map_or(core.books.nxt(), |b| b.left) - 1;
            if highest >= core.books.una() {
                self.rescue_rxt = Some(self.recovery_point);
                return Some(highest);
            }
        }
        None
    }

    /// Section 5, step 4.
    fn enter(&mut self, core: &mut Core, log: &mut impl Log) {
        let (una, nxt) = (core.books.una(), core.books.nxt());
        // While everything is retransmitted, HighData is the highest segment sent before; SND.NXT would be
        // reached already.
        self.recovery_point = if nxt > una { nxt } else { core.books.max() };
        // (4.3): the retransmission below counts as the rescue's predecessor.
        self.rescue_rxt = Some(core.books.una() + 1);
        self.high_rxt = core.books.una() + 1;
        self.set_pipe(core);
        core.loss.enter_fast_recovery();
        log.record(core.now, SenderEvent::FastRetransmit(core.books.una()));
        if !core.consult_recovery(log) {
            let window = core.reduce_ssthresh(log);
            core.set_cwnd(window.unwrap_or(core.ssthresh()), Author::Recovery, log);
        }
        // Uses the threshold that applies from now on.
        self.set_pipe(core);
        core.loss.resend(core.books.una());
        core.cancel_timing();
        core.restart_timer();
    }
}

impl RecoveryPart for Sack {
    const INFO: RecoveryInfo = RecoveryInfo {
        waits_for_overdue: true,
        ..RecoveryInfo::with_sack("sack", "SACK with the pipe algorithm", "RFC 6675")
    };
}

impl LossRecovery for Sack {
    fn on_ack(&mut self, core: &mut Core, ack: &Ack, log: &mut impl Log) {
        self.limited = None;
        let segments = if ack.ack > core.books.una() {
            core.accept(ack, log)
        } else {
            0
        };
        self.forget_below(core.books.una());
        let news = ack.ack >= core.books.una() && self.update(core, ack);
        if core.loss.in_fast_recovery() {
            if core.books.una() >= self.recovery_point {
                core.loss.leave_fast_recovery();
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
        // Section 2: a duplicate acknowledgement carries a block with new information. While F-RTO probes
        // whether a timeout was spurious, the scoreboard is kept and no recovery starts (RFC 5682 section
        // 3.1, step 2). An ACK of new data counts as a duplicate if the response continues.
        let again = segments > 0 && core.loss.dupacks() > 0;
        let sackless = core.config.count_sackless_dupacks
            && segments == 0
            && ack.ack == core.books.una()
            && core.books.una() < core.books.max();
        if !(news || again || sackless)
            || core.books.una() < self.recovery_point
            || core.probe.is_some()
        {
            return;
        }
        if !again {
            core.loss.count_duplicate();
        }
        let (retransmit, limited) = core.consult_duplicate(true, log);
        let lost = core.books.una() < self.lost_edge(core);
        if retransmit || lost {
            self.enter(core, log);
        } else {
            // Step 3.
            self.high_rxt = core.books.una();
            self.set_pipe(core);
            self.limited = limited;
        }
    }

    fn on_timeout(&mut self, core: &mut Core, log: &mut impl Log) {
        self.forget_all();
        self.limited = None;
        self.rescue_rxt = None;
        if core.loss.in_fast_recovery() {
            // Section 5.1: no new recovery before everything is acknowledged.
            self.recovery_point = core.books.max();
        }
        self.high_rxt = core.books.una();
        core.go_back(log);
    }

    fn next_segment(&mut self, core: &mut Core) -> Option<Seq> {
        let cwnd = core.usable_window() as i64;
        if core.loss.in_fast_recovery() {
            let next = if core.loss.pipe() < cwnd {
                self.next_seg(core)
            } else {
                None
            };
            if next.is_some() {
                core.loss.pipe_sent();
            }
            return next;
        }
        if core.books.nxt() < core.books.max() {
            // While going back, segments that the receiver has are skipped.
            core.books
                .skip_to(self.blocks.first_without(core.books.nxt()));
        }
        let room = match self.limited {
            // Recomputed: segments sent since may count (RFC 4653 (E.4)).
            Some(_) => {
                let window = core.limited_window().unwrap_or(0.0);
                core.loss.pipe() < window as i64
                    && core.books.nxt() < core.books.una() + core.receiver_window()
            }
            None => core.books.nxt() < core.books.una() + core.usable_window(),
        };
        if !room || core.books.nxt() >= core.books.end() {
            return None;
        }
        core.loss.pipe_sent();
        Some(core.books.nxt())
    }

    fn retransmit(&mut self, core: &mut Core, log: &mut impl Log) {
        if core.books.una() >= self.recovery_point {
            self.enter(core, log);
        }
    }

    fn on_patience_over(&mut self, core: &mut Core) {
        if core.loss.in_fast_recovery() {
            self.set_pipe(core);
        }
    }

    fn on_request(&mut self, core: &Core, request: RecoveryRequest) {
        self.limited = match self.limited {
            Some(_) if core.loss.dupacks() > 0 => core.limited_window(),
            _ => None,
        };
        if request == RecoveryRequest::Rewind {
            self.forget_all();
            self.high_rxt = core.books.una();
        }
        if request != RecoveryRequest::Again {
            // Retransmissions of an undone recovery are in flight and are not sent again (HighRxt is kept
            // after the undo).
            self.recovery_point = core.books.una().max(self.high_rxt);
            self.rescue_rxt = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use midflight_units::Instant;
    use proptest::prelude::*;

    use super::*;
    use crate::segment::{AckOption, SackBlocks};

    /// The rules of RFC 6675, with every count recomputed from the segments.
    #[derive(Default)]
    struct Reference(BTreeSet<Seq>);

    impl Reference {
        fn add(&mut self, block: SackBlock) -> bool {
            let before = self.0.len();
            self.0.extend(block.left..block.right);
            self.0.len() > before
        }

        fn edge_below(&self, end: Seq, threshold: u32) -> Option<Seq> {
            let mut below = self.0.range(..end).rev();
            below.nth(threshold as usize - 1).copied()
        }

        fn blocks(&self) -> Vec<(Seq, Seq)> {
            let mut blocks: Vec<(Seq, Seq)> = Vec::new();
            for &seq in &self.0 {
                match blocks.last_mut() {
                    Some(last) if last.1 == seq => last.1 += 1,
                    _ => blocks.push((seq, seq + 1)),
                }
            }
            blocks
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Add(Seq, Seq),
        Forget(Seq),
        Clear,
        Below(usize, Seq),
        Edge(u32),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (0_u64..300, 1_u64..20).prop_map(|(left, n)| Step::Add(left, left + n)),
            6 => (0_u64..300).prop_map(|seq| Step::Add(seq, seq + 1)),
            2 => (0_u64..10).prop_map(Step::Forget),
            1 => Just(Step::Clear),
            6 => (0_usize..3, 0_u64..330).prop_map(|(mark, at)| Step::Below(mark, at)),
            6 => (1_u32..120).prop_map(Step::Edge),
        ]
    }

    proptest! {
        /// After every step every result equals that of the reference, wherever the marks are.
        #[test]
        fn counts_that_are_kept_are_counts_made_anew(
            steps in prop::collection::vec(step(), 1..200)
        ) {
            let (mut board, mut reference) = (Scoreboard::default(), Reference::default());
            let mut una = 0;
            for step in steps {
                match step {
                    Step::Add(left, right) if left > una => {
                        let block = SackBlock { left, right };
                        prop_assert_eq!(board.add(block), reference.add(block));
                    }
                    Step::Add(..) => {}
                    Step::Forget(more) => {
                        una += more;
                        board.forget_below(una);
                        reference.0 = reference.0.split_off(&una);
                    }
                    Step::Clear => {
                        board.clear();
                        reference.0.clear();
                    }
                    Step::Below(mark, at) => {
                        let below = reference.0.range(..at).count() as u64;
                        prop_assert_eq!(board.below(mark, at), below);
                    }
                    Step::Edge(threshold) => {
                        let edge = reference.edge_below(Seq::MAX, threshold);
                        prop_assert_eq!(board.edge(threshold), edge);
                    }
                }
                let blocks: Vec<_> = board.blocks.iter().map(|b| (b.left, b.right)).collect();
                prop_assert_eq!(blocks, reference.blocks());
                prop_assert_eq!(board.total, reference.0.len() as u64);
                for mark in board.marks {
                    let below = reference.0.range(..mark.at).count() as u64;
                    prop_assert_eq!(mark.below, below);
                }
                for (end, threshold) in [(150, 3), (Seq::MAX, 1), (una + 40, 2)] {
                    let edge = reference.edge_below(end, threshold);
                    prop_assert_eq!(board.edge_below(end, threshold), edge);
                }
                for from in [una, una + 30, 200] {
                    let is_here = |seq: &Seq| reference.0.contains(seq);
                    let without = (from..=Seq::MAX).find(|seq| !is_here(seq));
                    prop_assert_eq!(Some(board.first_without(from)), without);
                    let above = reference.blocks().into_iter().find(|b| b.0 > from);
                    prop_assert_eq!(board.first_above(from).map(|b| (b.left, b.right)), above);
                }
            }
        }
    }

    /// SetPipe() as in the RFC: every segment in flight is checked.
    fn pipe_anew(sack: &Sack, core: &Core) -> i64 {
        let listed = |board: &Scoreboard| {
            let blocks = board.blocks.iter();
            Reference(blocks.flat_map(|b| b.left..b.right).collect())
        };
        let sacked = listed(&sack.blocks);
        let witnesses = if core.is_going_back() {
            listed(&sack.gone_again)
        } else {
            listed(&sack.blocks)
        };
        let lost = witnesses.edge_below(Seq::MAX, core.dup_threshold);
        let lost = lost.unwrap_or(core.books.una());
        let mut pipe = 0;
        for seq in (core.books.una()..core.books.nxt()).filter(|seq| !sacked.0.contains(seq)) {
            pipe += i64::from(seq >= lost) + i64::from(seq < sack.high_rxt);
        }
        pipe
    }

    /// The events at the sender.
    #[derive(Clone, Debug)]
    enum Turned {
        /// An ACK of some more segments, with blocks as distances above it and lengths.
        Ack(u64, Vec<(u64, u64)>),
        Timeout,
    }

    fn turned() -> impl Strategy<Value = Turned> {
        let blocks = || prop::collection::vec((0_u64..60, 1_u64..25), 0..4);
        prop_oneof![
            20 => blocks().prop_map(|blocks| Turned::Ack(0, blocks)),
            8 => (1_u64..12, blocks()).prop_map(|(more, blocks)| Turned::Ack(more, blocks)),
            1 => Just(Turned::Timeout),
        ]
    }

    proptest! {
        /// After every ACK in a recovery the maintained pipe equals the recounted one.
        #[test]
        fn the_pipe_that_is_kept_is_the_pipe_counted_anew(
            threshold in prop_oneof![Just(3_u32), 1_u32..60],
            all in prop::collection::vec(turned(), 1..120),
        ) {
            let Ok(mut profile) = crate::config::profile("rfc") else { unreachable!() };
            profile.sender.dup_threshold = threshold;
            let mut core = Core::new(&profile.sender, &profile.parts, []);
            let mut sack = Sack::default();
            core.set_cwnd(60.0, Author::Recovery, &mut ());
            let mut counted = 0;
            for one in all {
                let mut room = 200;
                while let Some(seq) = core.loss.take_resend().or_else(|| sack.next_segment(&mut core)) {
                    core.transmit(seq);
                    room -= 1;
                    if room == 0 {
                        break;
                    }
                }
                match one {
                    Turned::Ack(more, list) => {
                        let una = (core.books.una() + more).min(core.books.max());
                        let mut ack = Ack {
                            ack: una,
                            sack: SackBlocks::default(),
                            echo: None,
                            cause_sent: Instant::ZERO,
                            offset: 0,
                            option: AckOption::Nothing, window: None, stamp_ms: 0, extra_bytes: 0,
                        };
                        for (above, length) in list {
                            let left = una + above;
                            ack.sack.push(una, SackBlock { left, right: left + length });
                        }
                        sack.on_ack(&mut core, &ack, &mut ());
                    }
                    Turned::Timeout => {
                        core.timer_expired(Instant::ZERO, &mut ());
                        sack.on_timeout(&mut core, &mut ());
                    }
                }
                if core.loss.in_fast_recovery() {
                    prop_assert_eq!(core.loss.pipe(), pipe_anew(&sack, &core));
                    counted += 1;
                }
            }
            prop_assume!(counted > 0);
        }
    }
}
