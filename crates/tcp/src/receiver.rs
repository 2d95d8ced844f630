//! The receiver: cumulative and selective acknowledgements, delayed ACKs.
//!
//! Delayed ACKs follow RFC 5681 section 4.2: an in-order segment waits for the next one or the timer; a segment
//! that is out of order, a duplicate or fills a gap is acknowledged at once. SACK blocks follow RFC 2018 section
//! 4: first the block of the segment that caused the ACK, then the blocks most recently reported, as many as
//! fit. DSACK follows RFC 2883 section 4. Linux has its own rules for all of this (`linux.rs`).
//!
//! A simulated receiver gets segments of one size ([`Receiver::on_segment`]). The Linux receiver counts their
//! bytes, because the Linux sender may split a segment. A receiver for other stacks also counts bytes, because a
//! segment may have any size ([`Receiver::on_block`]).

mod as_linux;
mod gro;
mod linux;
mod memory;
mod quic;
mod request;
mod signal;
mod usual;

use educe::Educe;
use std::collections::VecDeque;

use midflight_control::signal::Advertised;
use midflight_units::{Instant, Ring, Seq};

use self::gro::Gro;
use self::linux::{Data, LinuxAcks};
pub use self::linux::{ReceiveSpace, ReceiverTally};
use self::quic::QuicAcks;
use self::signal::Reshaping;
use self::usual::{Usual, NOT_PREDICTED};
use crate::config::{AckRules, ReceiverConfig};
use crate::measurement::Measurement;
use crate::segment::{Ack, AckOption, Content, SackBlock, SackBlocks, Segment, SegmentOption};
use crate::sizes::{first_byte, segment_of};

/// How many reported blocks are remembered.
const REMEMBERED: usize = 3;

/// No block.
const EMPTY: SackBlock = SackBlock { left: 0, right: 0 };

/// The state of a receiver.
#[derive(Educe, Debug)]
#[educe(Clone)]
pub struct Receiver {
    config: ReceiverConfig,
    /// Units per full segment in the receiver's sequence space: 1, or the bytes of a segment.
    unit: u64,
    /// The size of a full segment on the wire, if units are bytes.
    full_bytes: u32,
    /// The receiver counts bytes, and a block may have any length ([`Self::on_block`]).
    is_of_bytes: bool,
    /// Next segment expected.
    next: Seq,
    /// One past the highest segment received.
    highest: Seq,
    /// Blocks received above `next`, ascending and disjoint.
    above: Ring<SackBlock>,
    /// Blocks reported most recently, newest first, up to the first empty one.
    reported: [SackBlock; REMEMBERED],
    delayed: Option<Delayed>,
    /// Timestamp to echo and the ACK number last sent (RFC 7323 section 4.3).
    ts_recent: Instant,
    last_ack_sent: Seq,
    /// When the segment that caused the last ACK was sent.
    last_cause: Instant,
    /// What a signal has advertised last.
    advertised: Advertised,
    /// Number of handoff marks sent.
    marks: u32,
    /// No duplicate ACK is sent before this time.
    quiet_until: Option<Instant>,
    /// Set if a signal decides when and in what form ACKs are sent.
    reshaping: Option<Box<Reshaping>>,
    /// The fast path that most segments take.
    usual: Usual,
    /// It is that of Linux, and this next segment is likely to be one of many alike (pred_flags); or [`NOT_PREDICTED`].
    predicted: Seq,
    /// The last segment has not changed the timer.
    keeps_timer: bool,
    measurement: Measurement,
    /// The response to the SYN's rate request, while the SYN's ACK is delayed.
    syn_answer: Option<AckOption>,
    /// Set if ACKs follow the Linux rules.
    linux: Option<Box<Linux>>,
    /// Set if segments are merged before the Linux receiver gets them.
    gro: Option<Box<Gro>>,
    /// Set if ACKs follow the QUIC rules.
    quic: Option<Box<QuicAcks>>,
}

/// State that only the Linux receiver has.
#[derive(Clone, Debug)]
struct Linux {
    acks: LinuxAcks,
    /// A segment has arrived that is not full, or that does not begin at a segment boundary.
    has_short: bool,
    /// ACKs to send now, after the one that was returned; the time of that ACK.
    more: VecDeque<Ack>,
    at: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Delayed {
    deadline: Instant,
    armed: Instant,
    block: SackBlock,
    sent: Instant,
}

/// The arrived data in the sequence space, and its timestamp.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    block: SackBlock,
    sent: Instant,
    /// It is a window probe without data.
    probe: bool,
}

#[inline(always)]
fn block(segment: &Segment) -> SackBlock {
    SackBlock {
        left: segment.seq,
        right: segment.seq + 1,
    }
}

#[inline(always)]
fn arrival(segment: &Segment) -> Arrival {
    Arrival {
        block: block(segment),
        sent: segment.sent,
        probe: segment.content == Content::WindowProbe,
    }
}

impl Receiver {
    /// A receiver that expects the SYN.
    pub fn new(config: ReceiverConfig) -> Self {
        Self::of(config, None)
    }

    /// The same, for a receiver that counts bytes ([`Self::on_block`]) and has room for this many unread bytes.
    pub fn of_bytes(config: ReceiverConfig, room: u64) -> Self {
        Self::of(config, Some(room))
    }

    fn of(config: ReceiverConfig, room: Option<u64>) -> Self {
        let unit = match (config.acks, room) {
            (AckRules::Linux { mss, .. }, None) => mss.max(1),
            _ => 1,
        };
        Self {
            config,
            unit: unit.into(),
            full_bytes: unit + config.bare_bytes(),
            is_of_bytes: room.is_some(),
            next: 0,
            highest: 0,
            above: Ring::default(),
            reported: [EMPTY; REMEMBERED],
            delayed: None,
            ts_recent: Instant::ZERO,
            last_ack_sent: 0,
            last_cause: Instant::ZERO,
            advertised: Advertised::Open,
            marks: 0,
            quiet_until: None,
            reshaping: None,
            usual: Usual::of(config.acks),
            predicted: NOT_PREDICTED,
            keeps_timer: false,
            measurement: Measurement::new(config.estimator),
            syn_answer: None,
            linux: match config.acks {
                AckRules::Rfc | AckRules::Quic { .. } => None,
                AckRules::Linux {
                    clock,
                    mss,
                    buffer,
                    slack,
                    ..
                } => Some(Box::new(Linux {
                    acks: LinuxAcks::new(
                        (clock, mss),
                        (buffer, slack),
                        room,
                        config.sack_blocks > 0,
                    ),
                    has_short: false,
                    more: VecDeque::new(),
                    at: Instant::ZERO,
                })),
            },
            gro: Gro::of(&config).filter(|_| room.is_none()),
            quic: match config.acks {
                AckRules::Quic { threshold } => Some(Box::new(QuicAcks::new(threshold))),
                _ => None,
            },
        }
    }

    /// Next segment expected: all before have arrived.
    pub fn next(&self) -> Seq {
        segment_of(self.next, self.unit).0
    }

    /// The timestamp that ACKs echo (RFC 7323 section 4.3).
    pub fn ts_recent(&self) -> Instant {
        self.ts_recent
    }

    /// Its state as Linux reports it; none with other rules.
    pub fn tally(&self) -> Option<ReceiverTally> {
        self.linux.as_deref().map(|linux| linux.acks.tally())
    }

    /// Whether it advertises a zero window or a notice to wait, independent of its free buffer.
    pub fn is_closed(&self) -> bool {
        self.advertised != Advertised::Open
    }

    /// One past the highest segment that has arrived.
    pub fn highest(&self) -> Seq {
        segment_of(self.highest, self.unit).0
    }

    /// Whether this segment has arrived.
    #[inline]
    pub fn has(&self, seq: Seq) -> bool {
        self.has_number(self.place(seq, 0))
    }

    /// Whether this segment has arrived, and whether a segment beyond the next one has.
    #[inline]
    pub fn knows(&self, segment: &Segment) -> (bool, bool) {
        // The next one, and nothing is above a gap.
        if segment.seq == self.predicted {
            return (false, false);
        }
        let first = self.place(segment.seq, segment.offset);
        let beyond = first + self.unit;
        let known = (self.has_number(first), self.highest > beyond);
        match &self.gro {
            None => known,
            Some(gro) => gro.knows(first, beyond, known),
        }
    }

    /// The position of a segment in the receiver's sequence space.
    #[inline(always)]
    fn place(&self, seq: Seq, offset: u16) -> Seq {
        if self.unit == 1 {
            return seq;
        }
        first_byte(seq, self.unit) + u64::from(offset)
    }

    #[inline]
    fn has_number(&self, seq: Seq) -> bool {
        seq < self.next || (!self.above.is_empty() && self.block_of(seq).is_some())
    }

    /// Whether all of a block has arrived.
    #[inline]
    fn has_all(&self, block: SackBlock) -> bool {
        let within = |b: SackBlock| block.right <= b.right;
        block.right <= self.next
            || (!self.above.is_empty() && self.block_of(block.left).is_some_and(within))
    }

    fn block_of(&self, seq: Seq) -> Option<SackBlock> {
        let after = self.above.partition_point(|b| b.left <= seq);
        let block = after.checked_sub(1).and_then(|i| self.above.get(i));
        block.filter(|b| seq < b.right).copied()
    }

    /// Takes a segment; returns the ACK to send, if one is due now.
    #[inline(always)]
    pub fn on_segment(&mut self, now: Instant, segment: &Segment) -> Option<Ack> {
        if self.usual == Usual::Rfc && segment.option.is_none() {
            return self.take(now, arrival(segment), false);
        }
        if self.is_predicted(segment) {
            return self.take_predicted(now, segment.sent, segment.push, segment.echo_ms);
        }
        self.answer_otherwise(now, *segment)
    }

    /// The ACK of a segment with other ACK rules, a measurement or a signal.
    #[inline(never)]
    fn answer_otherwise(&mut self, now: Instant, segment: Segment) -> Option<Ack> {
        self.keeps_timer = false;
        if self.reshaping.is_some() {
            let received = self.received(now, &segment);
            return self.reshape(now, Some(received), |receiver| {
                receiver.answer_segment(now, &segment)
            });
        }
        if self.quiet_until.is_some() {
            let is_above = self.place(segment.seq, segment.offset) > self.next;
            return self.in_quiet(now, is_above, |receiver| {
                receiver.answer_segment(now, &segment)
            });
        }
        self.answer_segment(now, &segment)
    }

    fn answer_segment(&mut self, now: Instant, segment: &Segment) -> Option<Ack> {
        if self.linux.is_some() {
            return self.on_segment_of_linux(now, segment);
        }
        if self.quic.is_some() {
            return self.on_packet_of_quic(now, *segment);
        }
        if segment.option.is_some() {
            return self.measure(now, *segment);
        }
        self.take(now, arrival(segment), false)
    }

    /// Takes an ACK of the sender without data. Linux responds if its number is older than what has been
    /// acknowledged.
    pub fn on_empty_ack(&mut self, now: Instant, segment: &Segment) -> Option<Ack> {
        if self.linux.is_some() {
            return self.take_as_linux(now, segment);
        }
        if self.quic.is_some() {
            return self.on_packet_of_quic(now, *segment);
        }
        self.on_empty(segment.seq, segment.sent);
        None
    }

    /// Takes a block of data, all or part of which may have arrived before, with the timestamp `sent` and the
    /// PSH flag `push`. Returns the ACK to send now, if any; with `at_once` there is always one.
    pub fn on_block(
        &mut self,
        now: Instant,
        block: SackBlock,
        sent: Instant,
        push: bool,
        at_once: bool,
    ) -> Option<Ack> {
        let is_above = block.left > self.next;
        let answer = |receiver: &mut Self| {
            if receiver.linux.is_some() {
                return receiver.on_block_of_linux(now, block, sent, (push, at_once));
            }
            let probe = false;
            receiver.take(now, Arrival { block, sent, probe }, at_once)
        };
        if self.reshaping.is_some() {
            let received = self.received_block(now, block);
            return self.reshape(now, Some(received), answer);
        }
        self.in_quiet(now, is_above, answer)
    }

    /// A segment without data has arrived, with this timestamp (RFC 7323 section 4.3).
    #[inline]
    pub fn on_empty(&mut self, seq: Seq, sent: Instant) {
        if seq <= self.last_ack_sent && sent >= self.ts_recent {
            self.ts_recent = sent;
        }
    }

    /// As [`Self::on_empty`], for an endpoint of another stack; this segment establishes the connection if none
    /// has before.
    pub fn on_bare(&mut self, now: Instant, seq: Seq, sent: Instant) {
        if let Some(linux) = self.linux.as_deref_mut() {
            linux.at = now;
            linux.acks.refresh(now);
            linux.acks.establish(now, 0, false);
        }
        self.on_empty(seq, sent);
    }

    /// Takes data from byte `left` on, perhaps none, followed by the FIN, which occupies byte `end`. Returns the
    /// ACK to send, if one is due now.
    pub fn on_end(
        &mut self,
        now: Instant,
        (left, end): (Seq, Seq),
        sent: Instant,
        push: bool,
    ) -> Option<Ack> {
        let right = end + 1;
        let block = SackBlock { left, right };
        if self.linux.is_none() {
            return self.on_block(now, block, sent, push, true);
        }
        self.on_bare(now, left, sent);
        self.last_cause = sent;
        let len = end - left;
        if len == 0 && left == self.next && self.above.is_empty() {
            self.insert(block);
            let held = self.held();
            let is_due = self.linux.as_deref_mut()?.acks.end(now, held);
            return is_due.then(|| self.acknowledge_as_linux());
        }
        if left <= self.next {
            self.linux.as_deref_mut()?.acks.expect_answer();
        }
        let data = Data {
            block,
            len,
            push,
            echo_ms: 0,
            ecn: crate::segment::EcnCodepoint::NotCapable,
            cwr: false,
            merged: self.as_from_tun(len),
        };
        let mut ack = None;
        self.take_data_as_linux(now, &data, &mut ack);
        ack
    }

    /// The application has read the data that arrived in order; returns the ACK that Linux then sends, if any.
    pub fn on_read(&mut self, now: Instant) -> Option<Ack> {
        let held = self.held();
        let acks = &mut self.linux.as_deref_mut()?.acks;
        let is_due = acks.is_established() && acks.read(now, held);
        is_due.then(|| self.acknowledge_as_linux())
    }

    /// A data segment leaves and carries the ACK number: a delayed ACK is no longer needed.
    pub fn piggyback(&mut self, now: Instant) {
        let held = self.held();
        if let Some(linux) = self.linux.as_deref_mut() {
            linux.acks.answers(now);
            linux.acks.sent(held);
        }
        self.delayed = None;
        self.last_ack_sent = self.next;
    }

    /// Acknowledges what has arrived in order, at least the SYN, now.
    pub fn acknowledge_again(&mut self) -> Ack {
        if self.linux.is_some() {
            return self.acknowledge_as_linux();
        }
        let cause = self.delayed.take().map_or(self.last_cause, |d| d.sent);
        // Use the last in-order segment as cause: no block begins there.
        let left = self.next.saturating_sub(1);
        let right = self.next;
        self.acknowledge(SackBlock { left, right }, cause, false)
    }

    /// Takes a segment of a train, or one with a rate request. The ACK with the response is not delayed, except
    /// for the SYN's ACK if the configuration delays that. While the window is closed, the ACK reports the
    /// closed window instead.
    #[cold]
    fn measure(&mut self, now: Instant, segment: Segment) -> Option<Ack> {
        let report = self.measurement.on_segment(now, &segment);
        let option = match segment.option {
            Some(SegmentOption::Request(request)) => request.response().map(AckOption::Approved),
            _ => report.map(AckOption::from),
        };
        let waits = segment.seq == 0 && self.config.delay_syn_ack;
        let mut ack = self.take(now, arrival(&segment), option.is_some() && !waits);
        if ack.is_none() && option.is_some() {
            self.syn_answer = option;
        }
        if let (Some(ack), Some(option), false) = (&mut ack, option, self.is_closed()) {
            ack.option = option;
        }
        ack
    }

    #[inline(always)]
    fn take(&mut self, now: Instant, arrival: Arrival, at_once: bool) -> Option<Ack> {
        let Arrival { block, sent, probe } = arrival;
        self.on_empty(block.left, sent);
        let duplicate = self.has_all(block);
        if !duplicate {
            self.insert(block);
        }
        // The segment is now the last in order and filled no gap.
        let may_wait = !at_once
            && self.next == block.right
            && self.above.is_empty()
            && (!duplicate || self.config.delay_last_duplicate);
        let delay = if block.left == 0 && !self.config.delay_syn_ack {
            None
        } else {
            self.config.delayed_ack
        };
        if let (true, None, Some(wait)) = (may_wait, &self.delayed, delay) {
            self.delayed = Some(Delayed {
                deadline: now + wait,
                armed: now,
                block,
                sent,
            });
            return None;
        }
        self.delayed = None;
        // A probe carries no data, so it is no duplicate.
        Some(self.acknowledge(block, sent, duplicate && !probe))
    }

    /// Sends the delayed ACK if its time has come; earlier calls do nothing.
    pub fn on_timer(&mut self, now: Instant) -> Option<Ack> {
        if self.reshaping.is_some() {
            let waiting = self.take_waiting(now);
            return waiting
                .or_else(|| self.reshape(now, None, |receiver| receiver.take_timer(now)));
        }
        self.take_timer(now)
    }

    fn take_timer(&mut self, now: Instant) -> Option<Ack> {
        if self.linux.is_some() {
            let has_gaps = !self.above.is_empty();
            return self.in_quiet(now, has_gaps, |receiver| receiver.on_timer_of_linux(now));
        }
        if self.quic.is_some() {
            return self.on_timer_of_quic(now);
        }
        let due = self.delayed.filter(|d| d.deadline <= now)?;
        self.delayed = None;
        let mut ack = self.acknowledge(due.block, due.sent, false);
        if due.block.left == 0 {
            if let (Some(option), false) = (self.syn_answer.take(), self.is_closed()) {
                ack.option = option;
            }
        }
        Some(ack)
    }

    /// When the delayed ACK is due and when its timer was set.
    #[inline]
    pub fn poll_timer(&self) -> Option<(Instant, Instant)> {
        match (self.usual, &self.linux) {
            (Usual::Rfc, _) => self.delayed.map(|d| (d.deadline, d.armed)),
            (Usual::Linux, Some(linux)) if linux.more.is_empty() => linux.acks.poll_timer(),
            _ => self.poll_timer_otherwise(),
        }
    }

    /// The same with other ACK rules or a signal.
    #[inline(never)]
    fn poll_timer_otherwise(&self) -> Option<(Instant, Instant)> {
        if self.reshaping.is_none() {
            return self.poll_own_timer();
        }
        let (own, waiting) = (self.poll_own_timer(), self.poll_waiting());
        match (own, waiting) {
            (Some(own), Some(waiting)) if waiting.0 > own.0 => Some(own),
            (own, waiting) => waiting.or(own),
        }
    }

    fn poll_own_timer(&self) -> Option<(Instant, Instant)> {
        if let Some(linux) = &self.linux {
            let now = (linux.at, linux.at);
            return (!linux.more.is_empty())
                .then_some(now)
                .or_else(|| self.gro_timer().or_else(|| linux.acks.poll_timer()));
        }
        if let Some(quic) = &self.quic {
            return quic.poll_timer();
        }
        self.delayed.map(|d| (d.deadline, d.armed))
    }

    #[inline]
    fn insert(&mut self, block: SackBlock) {
        self.highest = self.highest.max(block.right);
        if block.left <= self.next && self.above.is_empty() {
            self.next = block.right;
        } else {
            self.insert_beside_gaps(block);
        }
    }

    fn insert_beside_gaps(&mut self, block: SackBlock) {
        if block.left <= self.next {
            self.next = block.right;
            while let Some(first) = self.above.front().filter(|b| b.left <= self.next) {
                self.next = self.next.max(first.right);
                self.above.pop();
            }
            return;
        }
        // The block is merged with the blocks that it touches.
        let last = self.above.partition_point(|b| b.left <= block.right);
        let (mut first, mut whole) = (last, block);
        while let Some(touched) = first.checked_sub(1).and_then(|at| self.above.get(at)) {
            if touched.right < block.left {
                break;
            }
            whole.left = whole.left.min(touched.left);
            whole.right = whole.right.max(touched.right);
            first -= 1;
        }
        match self.above.get_mut(first).filter(|_| first < last) {
            Some(touched) => *touched = whole,
            None => self.above.insert(first, whole),
        }
        if first + 1 < last {
            self.above.remove(first + 1, last);
        }
    }

    #[inline]
    fn acknowledge(&mut self, block: SackBlock, cause_sent: Instant, duplicate: bool) -> Ack {
        let mut sack = SackBlocks::default();
        let dsack = duplicate && self.config.dsack;
        if self.above.is_empty() && !dsack {
            self.reported[0] = EMPTY;
        } else if self.config.sack_blocks > 0 {
            self.fill_sack(&mut sack, block, dsack);
        }
        self.last_ack_sent = self.next;
        self.last_cause = cause_sent;
        Ack {
            ack: self.next,
            sack,
            echo: self.config.timestamps.then_some(self.ts_recent),
            cause_sent,
            offset: 0,
            option: self.window_option(),
            window: None,
            stamp_ms: 0,
            extra_bytes: 0,
        }
    }

    fn window_option(&self) -> AckOption {
        match self.advertised {
            Advertised::Open => AckOption::Nothing,
            Advertised::Closed => AckOption::ZeroWindow,
            Advertised::Standby => AckOption::Standby,
        }
    }

    fn fill_sack(&mut self, sack: &mut SackBlocks, arrived: SackBlock, dsack: bool) {
        let capacity = usize::from(self.config.sack_blocks);
        if dsack {
            sack.push(self.next, arrived);
        }
        if self.above.is_empty() {
            self.reported[0] = EMPTY;
            return;
        }
        let recent = self.block_of(arrived.left);
        // A segment at or below the cumulative ACK supersedes every block that ends there.
        let covers = recent.unwrap_or(SackBlock {
            left: 0,
            right: self.next,
        });
        if let Some(block) = recent {
            sack.push(self.next, block);
        }
        let mut kept = [EMPTY; REMEMBERED + 1];
        let mut count = 0;
        if let Some(block) = recent {
            kept[0] = block;
            count = 1;
        }
        for block in self.reported {
            if block == EMPTY {
                break;
            }
            let full = sack.len() >= capacity;
            // Blocks beyond what fits are not checked, and stay remembered.
            if !full && covers.left <= block.left && covers.right >= block.right {
                continue;
            }
            if !full {
                sack.push(self.next, block);
            }
            kept[count] = block;
            count += 1;
        }
        self.reported.copy_from_slice(&kept[..REMEMBERED]);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::config::profile;

    fn receiver(dsack: bool) -> Receiver {
        let mut config = profile("ns2").map_or_else(|_| unreachable!(), |p| p.receiver);
        config.delayed_ack = None;
        config.dsack = dsack;
        Receiver::new(config)
    }

    fn feed(r: &mut Receiver, seq: Seq) -> (Seq, Vec<(Seq, Seq)>) {
        let segment = Segment::plain(seq, 1500, Instant::ZERO);
        let ack = r
            .on_segment(Instant::ZERO, &segment)
            .unwrap_or_else(|| unreachable!());
        (
            ack.ack,
            ack.sack.iter(ack.ack).map(|b| (b.left, b.right)).collect(),
        )
    }

    #[test]
    fn the_most_recent_block_comes_first() {
        let mut r = receiver(false);
        for seq in [0, 1, 3, 5] {
            feed(&mut r, seq);
        }
        assert_eq!(feed(&mut r, 7), (2, vec![(7, 8), (5, 6), (3, 4)]));
        assert_eq!(feed(&mut r, 9), (2, vec![(9, 10), (7, 8), (5, 6)]));
        assert_eq!(feed(&mut r, 4), (2, vec![(3, 6), (9, 10), (7, 8)]));
        assert_eq!(feed(&mut r, 2), (6, vec![(9, 10), (7, 8)]));
    }

    /// RFC 2883 section 4.1.1: a full duplicate below the cumulative ACK.
    #[test]
    fn a_duplicate_is_reported_first_with_dsack() {
        let mut r = receiver(true);
        for seq in 0..6 {
            feed(&mut r, seq);
        }
        assert_eq!(feed(&mut r, 3), (6, vec![(3, 4)]));
        feed(&mut r, 8);
        // Section 4.1.3: the duplicate lies in a block above the cumulative ACK.
        assert_eq!(feed(&mut r, 8), (6, vec![(8, 9), (8, 9)]));
    }

    #[test]
    fn in_order_segments_are_acknowledged_in_pairs_and_others_at_once() {
        let config = profile("ns2").map_or_else(|_| unreachable!(), |p| p.receiver);
        let mut r = Receiver::new(config);
        let mut send = |ms: u64, seq| {
            let segment = Segment::plain(seq, 1500, Instant::ZERO);
            r.on_segment(Instant::from_nanos(ms * 1_000_000), &segment)
                .map(|a| a.ack)
        };
        assert_eq!(send(0, 0), None, "ns-2 delays the ACK of the SYN too");
        assert_eq!(send(1, 1), Some(2));
        assert_eq!(send(2, 2), None);
        assert_eq!(send(3, 4), Some(3), "out of order");
        assert_eq!(send(4, 3), Some(5), "fills a gap");
        assert_eq!(send(5, 2), Some(5), "duplicate");
        assert_eq!(send(6, 5), None);
        assert_eq!(
            r.on_timer(Instant::from_nanos(105_000_000)),
            None,
            "too early"
        );
        let due = r.on_timer(Instant::from_nanos(106_000_000));
        assert_eq!(due.map(|a| a.ack), Some(6));
    }

    proptest! {
        /// After every segment the receiver reports what has arrived, and its first block contains the segment.
        #[test]
        fn what_has_arrived_is_acknowledged(seqs in prop::collection::vec(0_u64..60, 1..200)) {
            let mut r = receiver(false);
            let mut arrived = BTreeSet::new();
            for seq in seqs {
                prop_assert_eq!(r.has(seq), arrived.contains(&seq));
                arrived.insert(seq);
                let (next, blocks) = feed(&mut r, seq);
                let has = |seq: &u64| arrived.contains(seq);
                prop_assert_eq!(Some(next), (0..=200).find(|seq| !has(seq)));
                if seq > next {
                    let left = (0..seq).rev().find(|seq| !has(seq)).map_or(0, |gap| gap + 1);
                    let right = (seq..=200).find(|seq| !has(seq)).unwrap_or(seq);
                    prop_assert_eq!(blocks[0], (left, right));
                }
                let above: u64 = r.above.iter().map(|b| b.right - b.left).sum();
                prop_assert_eq!(next + above, arrived.len() as u64);
            }
        }

        /// Blocks of any size, which may overlap, have the same result as their parts one by one.
        #[test]
        fn blocks_are_as_good_as_their_parts(blocks in prop::collection::vec((0_u64..60, 1_u64..9), 1..60)) {
            let (mut whole, mut parts) = (receiver(false), receiver(false));
            for (left, size) in blocks {
                let block = SackBlock { left, right: left + size };
                let ack = whole.on_block(Instant::ZERO, block, Instant::ZERO, false, true);
                for seq in left..left + size {
                    feed(&mut parts, seq);
                }
                prop_assert_eq!(ack.map(|ack| ack.ack), Some(parts.next()));
                let of = |r: &Receiver| r.above.iter().copied().collect::<Vec<_>>();
                prop_assert_eq!(of(&whole), of(&parts));
                prop_assert_eq!(whole.highest(), parts.highest());
            }
        }
    }
}
