//! When the Linux 6.12 receiver sends an ACK, and what window it advertises: quick ACKs, the adaptive delayed ACK,
//! compressed SACK, and autotuning of the receive buffer. The application reads at once.
//!
//! Sequence numbers count bytes, also in simulated flows.

pub(super) mod blocks;
mod space;
mod store;
mod timing;

use std::num::NonZeroU32;

use midflight_control::jiffies::Jiffies;
use midflight_units::{Duration, Instant, Seq};

pub(super) use self::store::of_tun;
pub use self::store::ReceiveSpace;
use self::store::Store;
use super::memory::{self, Kept, Merged, Unread, Waiting};
use super::request::Request;
use crate::answers::Answers;
use crate::config::ReceiveBuffer;
use crate::segment::{EcnCodepoint, SackBlock};

/// The largest window in a SYN-ACK (U16_MAX).
const FIRST_WINDOW: u64 = 65_535;
/// TCP_RMEM_TO_WIN_SCALE, and the ratio before the first data.
const RATIO_SHIFT: u32 = 8;
const FIRST_RATIO: u64 = 128;
/// TCP_INIT_CWND, TCP_MSS_DEFAULT, TCP_MAX_QUICKACKS.
const INITIAL_SEGMENTS: u64 = 10;
const MSS_GUESS: u64 = 536;
const MOST_QUICK: u64 = 16;
/// Quick ACKs after a CE mark.
const MOST_QUICK_BY_MARKS: u64 = 2;
/// SACK blocks that are remembered, and how many fit beside timestamps (TCP_NUM_SACKS, TCP_SACK_BLOCKS_EXPECTED).
const BLOCKS: usize = 4;
const BLOCKS_EXPECTED: usize = 2;
/// Duplicate ACKs that are not compressed, and the most that one ACK may stand for (tcp_comp_sack_nr).
const DUPLICATES: u32 = 3;
const MOST_COMPRESSED: u32 = 44;
/// tcp_comp_sack_delay_ns, in nanoseconds.
const COMPRESS_MOST: u64 = 1_000_000;
/// The initial timeout (TCP_TIMEOUT_INIT) and the minimum timeout (tcp_rto_min), in microseconds.
const FIRST_RTO: u64 = 1_000_000;
const LEAST_RTO: u64 = 200_000;

/// A segment with data that has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    pub(super) block: SackBlock,
    /// Bytes of data in the packet.
    pub(super) len: u64,
    pub(super) push: bool,
    pub(super) echo_ms: u32,
    pub(super) ecn: EcnCodepoint,
    pub(super) cwr: bool,
    /// It is several segments that GRO has merged.
    pub(super) merged: Option<Merged>,
}

impl Data {
    /// The memory that the kernel counts for it (skb->truesize).
    pub(super) fn size(&self) -> u64 {
        let merged = self.merged.map(|merged| merged.size());
        merged.unwrap_or_else(|| memory::truesize(self.len))
    }

    /// Bytes of data in a segment of it (gso_size, or skb->len).
    fn segment(&self) -> u64 {
        self.merged.map_or(self.len, |merged| merged.segment())
    }
}

/// The state of a receiver in the form of Linux's struct tcp_info.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverTally {
    /// The size of the other side's segments, in bytes, as far as it is known.
    pub segment: u64,
    /// How long an ACK is delayed.
    pub delay: Duration,
    /// Bytes that the application has read in the last round trip.
    pub space: u64,
    /// Bytes up to which the window may grow at present.
    pub threshold: u64,
    /// The RTT that it has measured.
    pub rtt: Duration,
}

/// The state of the sequence space at the time of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) next: Seq,
    /// Something waits above a gap.
    pub(super) has_gaps: bool,
}

/// Where a segment lies in the sequence space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It was expected; it fills the last gap or it does not.
    InOrder { ends_gaps: bool },
    /// It has arrived before.
    Old,
    /// Above a gap. `flushed`: a compressed ACK for earlier segments was sent first.
    Above { kept: Kept, flushed: bool },
    /// Beyond the window, or the window is closed.
    Beyond,
}

/// What a SYN means to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syn {
    /// The first SYN of its connection: its timestamp is echoed.
    First,
    /// A repeated SYN, which gets the same response as the first.
    Again,
    /// A repeated SYN that came too soon after another.
    Ignored,
}

/// The state besides the sequence space.
#[derive(Clone, Debug)]
pub(super) struct LinuxAcks {
    clock: Jiffies,
    /// Minimum and maximum delay of an ACK, in ticks.
    least_delay: u64,
    most_delay: u64,
    /// tcp_delack_max(): less than the least timeout, too.
    delay_limit: u64,
    /// Bytes of data in a full segment, and the memory that it takes.
    advmss: u64,
    full_size: u64,
    /// The receiver itself responds to SYNs and repeats its SYN-ACK; in an endpoint the sender does that.
    has_requests: bool,
    // The window: rcv_wnd, rcv_wup, rcv_ssthresh, window_clamp.
    window: u64,
    acked: Seq,
    threshold: u64,
    clamp: u64,
    buffer: u64,
    most_buffer: u64,
    shift: u8,
    slack: Duration,
    ratio: u64,
    waiting: Waiting,
    /// Data that the application has not read; and packet by packet, if it does not read at once.
    unread: Unread,
    store: Option<Box<Store>>,
    /// The size of data that are treated as full segments (rcv_mss).
    mss: u64,
    // Delayed ACKs: icsk_ack.
    quick: u64,
    /// In ticks; 0 before the first data.
    delay: u64,
    last_data: u64,
    /// The tick that was counted last, and when the next one begins.
    ticks: (u64, Instant),
    scheduled: bool,
    must: bool,
    pushed: bool,
    pushed_twice: bool,
    /// Data flows in the other direction too, and an ACK may wait for it.
    pingpong: bool,
    last_size: u64,
    /// CE marks have been seen (TCP_ECN_SEEN), and the sender has not responded to one yet (TCP_ECN_DEMAND_CWR).
    knows_marks: bool,
    demands_cwr: bool,
    /// The tick of the delayed ACK, if one is due.
    due: Option<u64>,
    /// The kernel's timer: for which tick, when it expires, and when it was set. It keeps running after an ACK has
    /// been sent.
    timer: Option<(u64, Instant, Instant)>,
    /// The current segment has set it.
    timer_moved: bool,
    // Compressed SACK; without SACK nothing is compressed.
    has_sack: bool,
    /// The most ACKs that one stands for, and how long it waits, in nanoseconds.
    pub(super) compression: (u32, u64),
    compressed: u32,
    compressed_at: Option<(Instant, Instant)>,
    duplicates: u32,
    duplicates_of: Seq,
    // RTTs in microseconds times eight: from the handshake, and from data (rcv_rtt_est).
    srtt_x8: u64,
    /// The first in ticks, rounded up.
    srtt_ticks: u64,
    syn_acked: Option<Instant>,
    syn_acks: u32,
    request: Option<Request>,
    answers: Answers,
    established: bool,
    rtt_x8: u64,
    rtt_from: Option<(Instant, u64)>,
    last_echo: u32,
    /// The next data acknowledges the SYN-ACK, and its timestamp is no sample (tcp_rcv_state_process()).
    opens_with_data: bool,
    /// The clock for timestamps, which a compressed ACK does not update.
    stamped: Instant,
    // Autotuning (rcvq_space): bytes of the last RTT, and since when and where it counts.
    space: u64,
    space_from: (Instant, Seq),
    sacks: [SackBlock; BLOCKS],
    blocks: usize,
    pub(super) dsack: Option<SackBlock>,
}

impl LinuxAcks {
    /// For a simulated flow, or for an endpoint in which this many bytes may wait.
    pub(super) fn new(
        (clock, mss): (Jiffies, u32),
        (buffer, slack): (ReceiveBuffer, Duration),
        room: Option<u64>,
        has_sack: bool,
    ) -> Self {
        let mss = u64::from(mss.max(1));
        Self {
            clock,
            least_delay: clock.per_second() / 25,
            most_delay: clock.per_second() / 5,
            delay_limit: (clock.per_second() / 5).min(clock.of_micros(LEAST_RTO).max(2) - 1),
            advmss: mss,
            full_size: memory::truesize(mss),
            has_requests: room.is_none(),
            pingpong: false,
            window: 0,
            acked: 0,
            threshold: 0,
            clamp: 0,
            buffer: room.map_or(buffer.first.into(), |room| {
                (room << RATIO_SHIFT) / FIRST_RATIO
            }),
            most_buffer: buffer.most.into(),
            shift: buffer.window_shift(),
            slack,
            ratio: FIRST_RATIO,
            waiting: Waiting::default(),
            unread: Unread::default(),
            store: None,
            mss: MSS_GUESS,
            quick: 0,
            delay: 0,
            last_data: 0,
            ticks: (0, Instant::ZERO),
            scheduled: false,
            must: false,
            pushed: false,
            pushed_twice: false,
            last_size: 0,
            knows_marks: false,
            demands_cwr: false,
            due: None,
            timer: None,
            timer_moved: false,
            has_sack,
            compression: (MOST_COMPRESSED, COMPRESS_MOST),
            compressed: 0,
            compressed_at: None,
            duplicates: 0,
            duplicates_of: 0,
            srtt_x8: 0,
            srtt_ticks: 0,
            syn_acked: None,
            syn_acks: 0,
            request: None,
            answers: Answers::default(),
            established: false,
            rtt_x8: 0,
            rtt_from: None,
            last_echo: 0,
            opens_with_data: false,
            stamped: Instant::ZERO,
            space: 0,
            space_from: (Instant::ZERO, 0),
            sacks: [SackBlock { left: 0, right: 0 }; BLOCKS],
            blocks: 0,
            dsack: None,
        }
    }

    /// tcp_get_info().
    pub(super) fn tally(&self) -> ReceiverTally {
        ReceiverTally {
            segment: self.mss,
            delay: self.clock.length(self.delay),
            space: self.space,
            threshold: self.threshold,
            rtt: Duration::from_micros(self.rtt_x8 / 8),
        }
    }

    /// Updates the clock for timestamps (tcp_mstamp_refresh()).
    pub(super) fn refresh(&mut self, now: Instant) {
        self.stamped = now;
    }

    /// The timestamp of the next ACK.
    pub(super) fn stamp(&self) -> u32 {
        millis(self.clock, self.stamped) as u32
    }

    /// Whether a segment's timestamp is older than the one to be echoed, by more than TCP_PAWS_WINDOW
    /// (tcp_paws_discard()).
    pub(super) fn is_stale(&self, sent: Instant, recent: Instant) -> bool {
        sent < recent && millis(self.clock, sent) + 1 < millis(self.clock, recent)
    }

    // ---- handshake ------------------------------------------------------

    /// A SYN has arrived (tcp_select_initial_window(), tcp_check_req()).
    pub(super) fn on_syn(&mut self, now: Instant) -> Syn {
        if self.established {
            return Syn::Again;
        }
        let mut syn = Syn::First;
        if let Some(request) = &mut self.request {
            if !request.answers(self.clock, now) {
                return Syn::Ignored;
            }
            syn = Syn::Again;
        } else if self.has_requests {
            self.request = Some(Request::new(self.clock, now));
        }
        let mut space = self.to_window(self.buffer);
        if let Some(store) = &self.store {
            space = space.min(store.clamp).max(1);
        }
        self.window = space - space % self.advmss.min(space);
        self.acked = 1;
        self.syn_acks += 1;
        self.syn_acked = Some(now);
        syn
    }

    pub(super) fn is_established(&self) -> bool {
        self.established
    }

    /// The SYN-ACK is acknowledged, by an ACK or by data that echoes this timestamp, 0 for none
    /// (tcp_rcv_state_process(), tcp_init_buffer_space()).
    pub(super) fn establish(&mut self, now: Instant, echo_ms: u32, has_data: bool) {
        if std::mem::replace(&mut self.established, true) {
            self.opens_with_data = false;
            return;
        }
        self.opens_with_data = has_data;
        self.request = None;
        if let Some(rtt) = self.handshake_rtt(now, echo_ms) {
            self.srtt_x8 = (rtt * 8).max(1);
            self.srtt_ticks = self.clock.of_micros(self.srtt_x8 / 8);
        }
        let most = self.to_window(self.buffer);
        self.clamp = self
            .store
            .as_ref()
            .map_or(most, |store| most.min(store.clamp));
        if self.clamp > 2 * self.advmss && self.clamp + self.advmss > most {
            self.clamp = (2 * self.advmss).max(most - self.advmss);
        }
        self.threshold = self.window.min(self.clamp);
        self.space = self
            .threshold
            .min(self.window)
            .min(INITIAL_SEGMENTS * self.advmss);
        self.space_from = (now, 1);
        // tcp_create_openreq_child().
        self.last_data = self.clock.count(now);
        // tcp_initialize_rcv_mss().
        let of_sender = self.store.as_ref().map_or(MSS_GUESS, |store| store.segment);
        let most = self.advmss.min(of_sender).min(self.window / 2);
        self.mss = most.clamp(88, MSS_GUESS);
    }

    // ---- windows --------------------------------------------------------

    /// tcp_win_from_space() and back.
    fn to_window(&self, space: u64) -> u64 {
        (space * self.ratio) >> RATIO_SHIFT
    }

    fn to_space(&self, window: u64) -> u64 {
        (window << RATIO_SHIFT) / self.ratio.max(1)
    }

    /// tcp_space(), with this much data in the buffer.
    fn free(&self, taken: u64) -> u64 {
        self.to_window(self.buffer.saturating_sub(taken))
    }

    /// tcp_receive_window(): what is left of the window.
    pub(super) fn left(&self, next: Seq) -> u64 {
        self.window.saturating_sub(next.saturating_sub(self.acked))
    }

    /// Whether a segment that begins here is beyond the window.
    pub(super) fn is_beyond(&self, left: Seq, next: Seq) -> bool {
        left.saturating_sub(next) >= self.left(next)
    }

    /// The first sequence number that has not been acknowledged (rcv_wup).
    pub(super) fn acked(&self) -> Seq {
        self.acked
    }

    /// Whether a segment without data and with this number gets a response, because it is older than the last ACK
    /// (tcp_sequence()).
    pub(super) fn answers_old(&mut self, now: Instant, seq: Seq) -> bool {
        seq < self.acked && self.answers.allows(self.clock, now)
    }

    /// Rounds a window up to what its scaled form can say.
    #[inline]
    fn scaled(&self, window: u64) -> u64 {
        let rest = (1 << self.shift) - 1;
        (window + rest) & !rest
    }

    /// __tcp_select_window().
    fn choose_window(&mut self) -> u64 {
        let mut free = self.free(self.unread.size + self.waiting.size());
        let allowed = self.to_window(self.buffer);
        let full = self.clamp.min(allowed);
        let mss = self.mss.min(full);
        if free < full / 2 {
            self.quick = 0;
            free = free >> self.shift << self.shift;
            if free < allowed >> 4 || free < mss {
                return 0;
            }
        }
        let window = free.min(self.threshold);
        if self.shift == 0 {
            return self.whole_segments(window, mss, full);
        }
        self.scaled(window)
    }

    /// The same of a window that is not scaled.
    #[cold]
    fn whole_segments(&self, free: u64, mss: u64, full: u64) -> u64 {
        let window = self.window;
        if window + mss <= free || window > free {
            free - free % mss.max(1)
        } else if mss == full && free > window + full / 2 {
            free
        } else {
            window
        }
    }

    /// tcp_grow_window(), with this much data in the buffer.
    #[inline]
    fn grow_window(&mut self, data: &Data, taken: u64) {
        if self.threshold >= self.clamp {
            return;
        }
        let room = self
            .clamp
            .min(self.free(taken))
            .saturating_sub(self.threshold);
        if room == 0 {
            return;
        }
        let growth = self.growth(data);
        if growth == 0 {
            return;
        }
        self.threshold += room.min(growth.max(2 * data.len));
        self.quick |= 1;
    }

    /// By how much a packet lets the window grow: less if it holds little data for the memory it takes
    /// (__tcp_grow_window()).
    fn growth(&self, data: &Data) -> u64 {
        let len = data.len;
        let mut size = self.to_window(data.size());
        if size <= len {
            return 2 * self.advmss;
        }
        let mut window = self.to_window(self.most_buffer);
        loop {
            (size, window) = (size / 2, window / 2);
            if self.threshold > window {
                return 0;
            }
            if size <= len {
                return 2 * self.mss;
            }
        }
    }

    /// Updates the state for an ACK that is sent (tcp_select_window(), tcp_event_ack_sent()); returns the window
    /// to advertise.
    #[inline(always)]
    pub(super) fn sent(&mut self, held: Held) -> Option<NonZeroU32> {
        // The window in a SYN-ACK is not shifted.
        let mut window = self.window.min(FIRST_WINDOW);
        if self.established {
            window = self.choose_window();
            let left = self.left(held.next);
            if window < left {
                window = self.scaled(left);
            }
            if self.store.is_some() {
                window = self.bounded(window);
            }
            self.window = window;
            self.acked = held.next;
        }
        self.compressed = 0;
        self.compressed_at = None;
        if self.quick > 0 {
            self.quick -= u64::from(self.scheduled).min(self.quick);
            if self.quick == 0 {
                self.delay = self.least_delay();
            }
        }
        self.scheduled = false;
        self.must = false;
        self.pushed = false;
        self.pushed_twice = false;
        self.due = None;
        NonZeroU32::new(window.min(u64::from(u32::MAX)) as u32)
    }

    // ---- data -----------------------------------------------------------

    /// Rejects a segment whose number or timestamp is old: it is acknowledged at once and dropped
    /// (tcp_send_dupack()).
    pub(super) fn refuse(&mut self, block: SackBlock, next: Seq) {
        if block.left < next {
            self.enter_quick(MOST_QUICK);
            self.dsack = Some(SackBlock {
                left: block.left,
                right: block.right.min(next),
            });
        }
    }

    /// Processes a queued segment with data; returns whether an ACK is sent before the application reads
    /// (tcp_data_queue(), __tcp_ack_snd_check()). If not, a timer is set.
    pub(super) fn take(&mut self, now: Instant, data: &Data, place: Place, held: Held) -> bool {
        self.measure_echo(data);
        self.scheduled = true;
        if data.cwr {
            // tcp_ecn_accept_cwr(): the sender's window may be very small now.
            self.demands_cwr = false;
            self.must = true;
        }
        match place {
            Place::InOrder { ends_gaps } => {
                // Unread data; an application that reads at once never leaves any.
                let earlier = std::mem::take(&mut self.unread).size;
                self.unread.size = earlier + data.size();
                // What it releases above it is not counted yet: tcp_event_data_recv() comes before tcp_ofo_queue().
                self.on_data(now, data, data.block.right);
                (self.unread, self.dsack) = self.store(data, held.next);
                self.unread.size += earlier;
                self.must |= ends_gaps;
                self.forget_blocks(held);
            }
            Place::Old => {
                self.dsack = Some(data.block);
                self.enter_quick(MOST_QUICK);
            }
            Place::Beyond => self.enter_quick(MOST_QUICK),
            Place::Above { kept, .. } => {
                self.note_block(data.block);
                if let Kept::Queued { size } = kept {
                    self.grow_window_above(data);
                    self.waiting.charge(size);
                }
            }
        }
        // The ACK sent by tcp_sack_compress_send_ack() also covers this segment: no ACK is scheduled any more.
        self.scheduled = !matches!(place, Place::Above { flushed: true, .. });
        self.scheduled && self.decide(now, self.clock.count(now), held)
    }

    /// Queues a segment above a gap; its block is not noted yet (tcp_data_queue_ofo()).
    pub(super) fn queue_above(&mut self, data: &Data) -> Kept {
        self.measure_echo(data);
        self.scheduled = true;
        self.check_mark(data.ecn);
        self.measure_mss(data);
        let (kept, again) = self.waiting.keep(data);
        self.dsack = again;
        if kept == Kept::Merged {
            self.grow_window_above(data);
        }
        kept
    }

    /// For a segment above a gap. Without SACK the window stays, because an ACK with another window does not count as a
    /// duplicate (tcp_data_queue_ofo()).
    fn grow_window_above(&mut self, data: &Data) {
        if self.has_sack {
            self.grow_window(data, self.waiting.size());
        }
    }

    /// Whether a segment with this many bytes of data would be one of many alike: nothing waits to be read or above a gap,
    /// and no congestion has been reported.
    pub(super) fn predicts(&self, len: u64) -> bool {
        let nothing_waits = self.unread.size == 0 && self.waiting.is_empty() && self.blocks == 0;
        self.established && len == self.mss && nothing_waits && !self.knows_marks
    }

    /// As [`Self::take`], of a segment that was predicted.
    #[inline(always)]
    pub(super) fn take_predicted(&mut self, now: Instant, data: &Data, held: Held) -> bool {
        self.dsack = None;
        self.timer_moved = false;
        self.measure_echo(data);
        self.scheduled = true;
        self.unread = Unread {
            size: self.full_size,
            first: data.block.right,
        };
        // tcp_measure_rcv_mss() of such a segment.
        self.last_size = 0;
        self.pushed |= data.push;
        if now >= self.ticks.1 {
            self.count_ticks(now);
        }
        let tick = self.ticks.0;
        self.note_data(now, tick, data, held.next);
        self.decide(now, tick, held)
    }

    #[inline(never)]
    fn count_ticks(&mut self, now: Instant) {
        let tick = self.clock.count(now);
        self.ticks = (tick, self.clock.begins(tick + 1));
    }

    /// The application reads the in-order data, packet by packet; returns whether an ACK is sent then
    /// (tcp_cleanup_rbuf()).
    #[inline(always)]
    pub(super) fn read(&mut self, now: Instant, held: Held) -> bool {
        let unread = std::mem::take(&mut self.unread);
        self.adjust_space(now, unread.first, held.next);
        let unacked = held.next.saturating_sub(self.acked);
        let is_pushed = self.pushed && !self.pingpong || self.pushed_twice;
        let is_pushed = is_pushed && !held.has_gaps;
        if self.scheduled && (unacked > self.mss || is_pushed) {
            return true;
        }
        let left = self.left(held.next);
        if 2 * left > self.clamp {
            return false;
        }
        let window = self.choose_window();
        window > 0 && window >= 2 * left
    }

    /// tcp_event_data_recv().
    fn on_data(&mut self, now: Instant, data: &Data, next: Seq) {
        self.measure_mss(data);
        self.note_data(now, self.clock.count(now), data, next);
    }

    /// The same without tcp_measure_rcv_mss().
    #[inline(always)]
    fn note_data(&mut self, now: Instant, tick: u64, data: &Data, next: Seq) {
        self.measure_window(now, next);
        if self.delay == 0 {
            self.more_quick(MOST_QUICK);
            self.delay = self.least_delay();
        } else {
            let gap = tick.saturating_sub(self.last_data);
            let least = self.least_delay();
            if gap <= least / 2 {
                self.delay = self.delay / 2 + least / 2;
            } else if gap < self.delay {
                let most = self.rto_ticks().min(self.most_delay());
                self.delay = (self.delay / 2 + gap).min(most);
            } else if gap > self.rto_ticks() {
                self.more_quick(MOST_QUICK);
            }
        }
        self.last_data = tick;
        self.check_mark(data.ecn);
        if data.len >= 128 {
            self.grow_window(data, self.unread.size + self.waiting.size());
        }
    }

    fn more_quick(&mut self, most: u64) {
        let of_window = match self.window / (2 * self.mss.max(1)) {
            0 => 2,
            segments => segments,
        };
        self.quick = self.quick.max(of_window.min(most));
    }

    /// tcp_ecn_check_ce(). A segment without ECT on an ECT flow is probably a retransmission.
    fn check_mark(&mut self, ecn: EcnCodepoint) {
        let is_news = match ecn {
            EcnCodepoint::NotCapable => self.knows_marks,
            EcnCodepoint::Congestion => !std::mem::replace(&mut self.demands_cwr, true),
            EcnCodepoint::Capable | EcnCodepoint::LowLatency => false,
        };
        self.knows_marks |= ecn != EcnCodepoint::NotCapable;
        if is_news {
            self.enter_quick(MOST_QUICK_BY_MARKS);
        }
    }

    /// Whether ACKs carry ECE.
    pub(super) fn echoes(&self) -> bool {
        self.demands_cwr
    }

    /// tcp_enter_quickack_mode().
    fn enter_quick(&mut self, most: u64) {
        self.more_quick(most);
        self.pingpong = false;
        self.delay = self.least_delay();
    }

    /// TCP_ATO_MIN and TCP_DELACK_MIN, in ticks.
    fn least_delay(&self) -> u64 {
        self.least_delay
    }

    /// TCP_DELACK_MAX.
    fn most_delay(&self) -> u64 {
        self.most_delay
    }

    /// The timeout after the handshake (icsk_rto).
    fn rto_ticks(&self) -> u64 {
        let rto = match self.srtt_x8 {
            0 => FIRST_RTO,
            srtt_x8 => srtt_x8 / 8 + (srtt_x8 / 4).max(LEAST_RTO),
        };
        self.clock.of_micros(rto)
    }

    /// Data is sent, with an ACK. If data arrived shortly before, the connection counts as interactive
    /// (tcp_event_data_sent()).
    pub(super) fn answers(&mut self, now: Instant) {
        let since = self.clock.count(now).saturating_sub(self.last_data);
        self.pingpong |= self.established && since < self.delay;
    }

    /// A FIN has arrived in order, with data or without (tcp_fin()); returns whether the ACK is sent now.
    pub(super) fn end(&mut self, now: Instant, held: Held) -> bool {
        self.scheduled = true;
        self.expect_answer();
        self.decide(now, self.clock.count(now), held)
    }

    /// Data or a FIN will be sent in the other direction soon (inet_csk_enter_pingpong_mode()).
    pub(super) fn expect_answer(&mut self) {
        self.pingpong = true;
    }
}

fn micros(from: Instant, to: Instant) -> u64 {
    (to.as_nanos() / 1000).saturating_sub(from.as_nanos() / 1000)
}

/// The value of a clock of milliseconds.
pub(super) fn millis(clock: Jiffies, at: Instant) -> u64 {
    (at.as_nanos() + clock.phase.as_nanos()) / 1_000_000
}
