//! Choice of the next segment: tcp_write_xmit(), tcp_xmit_retransmit_queue().

use midflight_units::Seq;

use super::board::Entry;
use super::queue::{self, Head, Push};
use super::timers::await_window;
use super::Linux;
use crate::recovery::joined::Joined;
use crate::recovery::SizeProbe;
use crate::sender::{Core, SlotKind};

/// The largest burst, in bytes: 64 KB less the largest header.
const BURST_BYTES: u64 = 65_215;
/// sk_pacing_shift.
const BURST_RATE_SHIFT: u32 = 10;
/// How much more may be in the queue below TCP for retransmissions, as a power of two.
const AGAIN_SHIFT: u32 = 1;

/// The segments that may be sent in the current turn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sending {
    /// Lost segments, as the window allows.
    pub(super) lost: bool,
    /// New data.
    pub(super) new: bool,
    /// New data before lost segments: the F-RTO probe.
    pub(super) new_first: bool,
    /// One segment independent of the window, and whether it is a probe.
    pub(super) once: Option<(Seq, bool)>,
    /// One new segment independent of the window: a probe.
    pub(super) probe_new: bool,
    /// Data that fits into the window, although the window is smaller than a segment.
    pub(super) small: bool,
    /// The retransmission timer is set after the lost segments have been sent.
    pub(super) rearm: bool,
    /// One past the last segment of the current burst of retransmissions.
    again_until: Seq,
    /// The head has been retransmitted.
    head_resent: bool,
    /// Only one burst, without tcp_tso_should_defer(), and whether it has been sent.
    pub(super) one: Option<bool>,
    /// Segments left of the current burst: those that follow without another decision, and others.
    follow: u64,
    pub(super) burst: u64,
    /// Bytes of the last of them, if it is short; otherwise 0.
    tail: u64,
    /// Memory in bytes of the data sent in this turn that is still in the queue below TCP; and whether it is too much
    /// to continue (TSQ_THROTTLED).
    charged: u64,
    throttled: bool,
    /// The application writes, and its data leaves the queue below TCP at once; and what may be sent of it.
    pub(super) by_program: bool,
    push: bool,
    /// This turn has made room in a full send buffer, so the application runs next; and lost segments wait until it has
    /// written.
    woken: bool,
    lost_later: bool,
    /// An ACK began this turn, and not a timer.
    by_ack: bool,
    /// The next new data is sent by a probe of the window, which is followed by no probe of the tail (tcp_write_wakeup()).
    pub(super) no_tail: bool,
    /// New segments sent in this turn, and whether nothing was in flight before.
    pub(super) sent: u64,
    was_empty: bool,
    /// The window is what stops the sender.
    pub(super) limited: bool,
    /// The controller has set the window while segments were sent: the next event reports it.
    pub(super) unreported: bool,
}

impl Sending {
    /// An event has occurred: an ACK has arrived, or a timer has expired.
    pub(super) fn begin_turn(&mut self, by_ack: bool) {
        self.end_burst();
        self.charged = 0;
        self.throttled = false;
        self.by_program = false;
        self.push = false;
        self.woken = false;
        self.lost_later = false;
        self.by_ack = by_ack;
    }

    /// What follows is another burst.
    pub(super) fn end_burst(&mut self) {
        self.burst = 0;
        self.follow = 0;
    }

    /// The full segments of the burst follow without another decision.
    fn follow_on(&mut self) {
        let others = self.burst.min(u64::from(self.tail > 0));
        self.follow = self.burst - others;
        self.burst = others;
    }

    pub(super) fn join(&mut self, joined: Joined) {
        if self.again_until > 0 {
            joined.update(&mut self.again_until);
        }
        if let Some((seq, _)) = &mut self.once {
            joined.update(seq);
        }
    }

    /// Something else may go before the rest of the burst.
    pub(super) fn interrupt_burst(&mut self) {
        self.burst += std::mem::take(&mut self.follow);
    }

    /// Something else than new data may be sent, or is done before it.
    #[inline(always)]
    pub(super) fn has_other(&self) -> bool {
        let other = self.lost | self.new_first | self.probe_new | self.small | self.rearm;
        other || self.once.is_some()
    }

    /// Nothing may be sent.
    #[inline(always)]
    pub(super) fn is_over(&self) -> bool {
        let waits = self.new | self.throttled | self.lost_later;
        !waits && !self.has_other()
    }

    pub(super) fn drop_lost(&mut self) {
        self.lost = false;
        self.again_until = 0;
        self.new_first = false;
        self.once = None;
        self.probe_new = false;
        self.rearm = false;
    }
}

/// What the windows allow a burst. Windows in segments and bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// The first byte that has not been sent.
    pub(super) nxt: u64,
    /// The congestion window, and what is left of it.
    pub(super) cwnd: u64,
    pub(super) segments: u64,
    /// A whole burst, and what may be sent of one; 0 for nothing.
    pub(super) burst: u64,
    pub(super) quota: u64,
    /// Bytes that the receiver takes.
    pub(super) window: u64,
}

/// Segments of a burst, of which the congestion window has room for so many (tcp_cwnd_test()).
#[inline(always)]
pub(super) fn quota(cwnd: u64, segments: u64, burst: u64) -> u64 {
    (cwnd / 2).max(1).min(segments).min(burst)
}

impl Linux {
    /// The next segment of a burst of new data after its first one, with the bookkeeping for it. It is full, and only the
    /// last one has PSH.
    #[inline(always)]
    pub(super) fn continue_burst(&mut self, core: &mut Core) -> Option<Seq> {
        let left = self.sending.follow.checked_sub(1)?;
        debug_assert!(self.board.in_flight() < whole(core));
        debug_assert_eq!(core.loss.pipe(), self.board.in_flight() as i64);
        let (seq, is_last) = (self.board.nxt(), left + self.sending.burst == 0);
        self.sending.follow = left;
        self.sending.sent += 1;
        core.loss.pipe_sent();
        core.set_push(is_last);
        self.board.push(core.now, self.delivered);
        if is_last {
            self.check_space(core);
        }
        Some(seq)
    }

    /// The next segment, and the bookkeeping for it.
    pub(super) fn choose(&mut self, core: &mut Core) -> Option<Seq> {
        if let Some((seq, is_probe)) = self.sending.once.take() {
            self.queue.leaves_again(seq, 1);
            self.depart(core, seq, 1);
            if !is_probe {
                self.board.count_twice(seq);
            }
            self.resend(core, seq, is_probe);
            if is_probe {
                self.probe_sent(core, true);
            }
            return Some(seq);
        }
        if self.sending.probe_new {
            return self.choose_probe(core);
        }
        if std::mem::take(&mut self.sending.small) {
            return self.choose_small(core);
        }
        loop {
            if let Some(seq) = self.choose_by_window(core) {
                return Some(seq);
            }
            if std::mem::take(&mut self.sending.throttled) {
                self.check_space_after_ack(core);
                self.sending.charged = 0;
                if self.runs_program_first(core) {
                    continue;
                }
            } else if !std::mem::take(&mut self.sending.lost_later) {
                return None;
            }
            // The queue below TCP is emptied: tcp_tsq_write().
            self.sending.by_program = false;
            self.sending.lost = self.board.lost_out > self.board.retrans_out;
            self.sending.new = true;
        }
    }

    /// Whether the application, which the current turn has woken, writes before the queue below TCP is emptied. A process
    /// that waits for the processor ends the work of interrupts (handle_softirqs()). While it writes it owns the
    /// connection, and the lost segments wait until it waits for room again (tcp_tsq_handler(), tcp_release_cb()).
    fn runs_program_first(&mut self, core: &mut Core) -> bool {
        if !std::mem::take(&mut self.sending.woken) {
            return false;
        }
        self.sending.new = self.write(core);
        self.sending.by_program = self.sending.new;
        self.sending.lost_later = self.sending.new;
        self.sending.new
    }

    fn choose_by_window(&mut self, core: &mut Core) -> Option<Seq> {
        if self.sending.new_first {
            if let Some(seq) = self.choose_new_first(core) {
                return Some(seq);
            }
        }
        if self.sending.lost {
            if let Some(seq) = self.choose_lost(core) {
                return Some(seq);
            }
            self.end_retransmissions(core);
        }
        if self.sending.rearm {
            self.sending.rearm = false;
            core.timers.keep_slot(SlotKind::Reordering);
            self.rearm(core);
        }
        while self.sending.new {
            if let Some(seq) = self.choose_new(core) {
                if self.queue.is_in_order() {
                    self.sending.follow_on();
                }
                return Some(seq);
            }
            self.end_write(core);
            if self.sending.throttled {
                break;
            }
            self.sending.new = self.write(core);
            self.sending.by_program = true;
        }
        None
    }

    #[inline(never)]
    fn choose_new_first(&mut self, core: &mut Core) -> Option<Seq> {
        if let Some(seq) = self.choose_new(core) {
            return Some(seq);
        }
        self.end_write(core);
        self.sending.new_first = false;
        if self.board.nxt() <= self.high {
            self.frto = false;
            self.sending.lost = true;
        }
        None
    }

    /// The application writes if there is room; whether it has.
    pub(super) fn write(&mut self, core: &mut Core) -> bool {
        if self.board.una == 0 {
            return false;
        }
        self.check_space_after_ack(core);
        self.sending.woken = false;
        if self.queue.written() == 1 {
            // tcp_sendmsg_locked(): there was nothing to send before (tcp_rate_check_app_limited()).
            core.limit_by_application(self.board.in_flight());
            self.queue
                .open(whole(core), self.reordering, core.buffer_factor());
        }
        let most = (BURST_BYTES, core.config.bursts.gso_max_segs.into());
        let push = self.queue.write(core, self.nxt_byte(core), most);
        self.sending.one = (push == Push::One).then_some(false);
        self.sending.push = matches!(push, Push::One | Push::All);
        push != Push::Nothing
    }

    /// tcp_data_snd_check(): the end of the work on an ACK. Timers do not look at the room in the buffer.
    #[inline]
    fn check_space_after_ack(&mut self, core: &Core) {
        if self.sending.by_ack {
            self.check_space(core);
        }
    }

    #[inline]
    fn check_space(&mut self, core: &Core) {
        let in_flight = self.board.in_flight();
        let is_woken = self
            .queue
            .check_space(in_flight, whole(core), self.reordering);
        self.sending.woken |= is_woken && !self.sending.by_program;
    }

    /// tcp_send_loss_probe() with new data: a burst within the window, or one segment beyond it.
    fn choose_probe(&mut self, core: &mut Core) -> Option<Seq> {
        if self.sending.burst == 0 {
            self.sending.burst = self.probe_burst(core).unwrap_or(0);
        }
        if self.sending.burst == 0 {
            self.sending.probe_new = false;
            self.rearm(core);
            return None;
        }
        let seq = self.send_of_burst(core);
        if self.sending.burst == 0 {
            self.sending.probe_new = false;
            let sent = std::mem::take(&mut self.sending.sent);
            self.validate(core, self.board.in_flight() >= whole(core));
            if self.in_reduction() {
                self.prr.out += sent;
            }
            self.probe_sent(core, false);
        }
        Some(seq)
    }

    /// tcp_write_wakeup(): the part of a segment that fits into the window.
    fn choose_small(&mut self, core: &mut Core) -> Option<Seq> {
        let from = self.nxt_byte(core);
        let left = self.queue.piece_end(from)?.saturating_sub(from);
        let bytes = left
            .min(core.sizes.full())
            .min(self.window_left(core, from));
        if bytes == 0 || self.board.packets_out() > 0 {
            return None;
        }
        self.sending.burst = self.leave(core, bytes);
        self.queue.set_last(from);
        let seq = self.send_of_burst(core);
        self.sending.sent = 0;
        self.rearm(core);
        Some(seq)
    }

    fn probe_burst(&mut self, core: &mut Core) -> Option<u64> {
        if !self.may_send_new(core) || core.gate_is_closed() {
            return None;
        }
        let mut room = self.room(core);
        if room.segments == 0 {
            room.quota = 1;
        }
        let head = self.queue.head(room.nxt, room.quota * core.sizes.full())?;
        // tcp_send_loss_probe() does not ask Nagle (TCP_NAGLE_OFF).
        let bytes = self.split(core, &room, head, true)?;
        Some(self.leave(core, bytes))
    }

    /// The first unsent byte.
    #[inline(always)]
    pub(super) fn nxt_byte(&self, core: &Core) -> u64 {
        core.sizes.byte(self.board.nxt())
    }

    /// All that the application has written has been sent, up to this byte.
    #[inline(always)]
    pub(super) fn is_drained(&self, core: &Core, nxt: u64) -> bool {
        self.queue.written() <= nxt || core.end_byte().is_some_and(|end| end <= nxt)
    }

    /// Whether there is something to send and a segment of it fits into the receiver's window (tcp_snd_wnd_test()).
    pub(super) fn may_send_new(&self, core: &Core) -> bool {
        let nxt = self.nxt_byte(core);
        if self.board.nxt() == 0 {
            return true;
        }
        let piece = self.queue.piece_end(nxt).map_or(0, |end| end - nxt);
        let window = self.window_left(core, nxt);
        !self.is_drained(core, nxt) && piece.min(core.sizes.full()) <= window
    }

    /// The receiver may have shrunk its window: segments beyond it are not retransmitted, except the first
    /// unacknowledged one (__tcp_retransmit_skb()).
    pub(super) fn may_resend(&self, core: &Core, seq: Seq) -> bool {
        let fits = core.sizes.byte(seq) < core.window_edge(self.board.una);
        seq == self.board.una || fits && self.resend_end.is_none_or(|end| seq < end)
    }

    /// tcp_xmit_retransmit_queue().
    fn choose_lost(&mut self, core: &mut Core) -> Option<Seq> {
        if self.board.packets_out() == 0 {
            return None;
        }
        let next = self.board.next_lost();
        let until = self.sending.again_until;
        // The kernel consults the pacer before it looks at a buffer, whether that is lost or not.
        let checks_pacer = next.is_none_or(|seq| seq >= until) && until != self.board.nxt();
        if checks_pacer && core.gate_is_closed() || whole(core) <= self.board.in_flight() {
            return None;
        }
        let seq = next?;
        if !self.may_resend(core, seq) {
            self.sending.head_resent = false;
            return None;
        }
        if seq >= self.sending.again_until {
            let part = self.queue.part_of(seq, &core.sizes);
            if self.is_throttled(core, part, AGAIN_SHIFT) {
                return None;
            }
            self.sending.again_until = self.begin_again(core, seq);
            let bytes = |seq| core.sizes.byte(seq);
            self.charge(
                self.sending.again_until - seq,
                bytes(self.sending.again_until) - bytes(seq),
            );
        }
        self.resend(core, seq, false);
        if self.in_reduction() {
            self.prr.out += 1;
        }
        let by_timer = self.sending.rearm || core.timers.slot() == Some(SlotKind::Reordering);
        if seq == self.board.una && !by_timer {
            self.sending.head_resent = true;
        }
        Some(seq)
    }

    /// Begins a burst of lost segments; returns one past its last segment (__tcp_retransmit_skb()).
    fn begin_again(&mut self, core: &mut Core, seq: Seq) -> Seq {
        let room = whole(core) - self.board.in_flight();
        let most = room.min(self.burst_segments(core));
        let lost = (seq..seq + most)
            .take_while(|&s| self.board.get(s).is_some_and(Entry::is_due))
            .count();
        let segments = self.queue.again(seq, lost as u64);
        self.queue.leaves_again(seq, segments);
        self.depart(core, seq, segments);
        seq + segments
    }

    fn end_retransmissions(&mut self, core: &mut Core) {
        self.sending.lost = false;
        self.sending.again_until = 0;
        if std::mem::take(&mut self.sending.head_resent) {
            let after = core.path.rto.timeout() + core.pacing_delay();
            core.set_slot(SlotKind::Retransmission, after);
        }
    }

    /// Updates the state for a retransmission (tcp_retransmit_skb()); less for a probe.
    pub(super) fn resend(&mut self, core: &Core, seq: Seq, is_probe: bool) {
        self.board
            .resend(seq, core.stamp(), self.delivered, is_probe);
        self.resent += 1;
        if matches!(self.size_probe, SizeProbe::Sent(_)) {
            // __tcp_retransmit_skb(): what the probe would say is not conclusive any more.
            self.size_probe = SizeProbe::None;
        }
        if !is_probe {
            self.undo.first_resent.get_or_insert(core.now);
            *self.undo.unanswered.get_or_insert(0) += 1;
        }
    }

    /// A burst of this many segments is retransmitted.
    pub(super) fn depart(&mut self, core: &mut Core, seq: Seq, segments: u64) {
        let bytes = core.sizes.byte(seq + segments) - core.sizes.byte(seq);
        self.send_off(core, segments, bytes);
    }

    /// A burst of this many segments and bytes is sent (tcp_event_data_sent(),
    /// tcp_update_skb_after_send()).
    fn send_off(&mut self, core: &mut Core, segments: u64, bytes: u64) {
        if self.board.una == 0 {
            // A SYN.
            return;
        }
        if self.board.in_flight() == 0 {
            // CA_EVENT_TX_START, also of a retransmission.
            core.report_idle_end();
            if core.controls() {
                self.sending.unreported = core.restart_control(self.inside(), &mut ());
            }
        }
        core.leave(segments, bytes);
    }

    /// The next segment of the current burst.
    fn send_of_burst(&mut self, core: &mut Core) -> Seq {
        let seq = self.send_new(core);
        self.sending.burst -= 1;
        if self.sending.burst == 0 && self.sending.tail > 0 {
            core.cut(seq, std::mem::take(&mut self.sending.tail));
        }
        seq
    }

    /// Bookkeeping for a new segment (tcp_event_new_data_sent()).
    #[inline(always)]
    fn send_new(&mut self, core: &mut Core) -> Seq {
        let seq = self.board.nxt();
        if self.sending.sent == 0 {
            self.sending.was_empty = self.board.packets_out() == 0;
        }
        if seq == 0 {
            self.syn_sent = Some(core.now);
            self.reordering = core.config.dup_threshold.into();
        }
        self.board.push(core.now, self.delivered);
        self.sending.sent += 1;
        seq
    }

    /// tcp_write_xmit(): a burst at a time.
    #[inline(always)]
    fn choose_new(&mut self, core: &mut Core) -> Option<Seq> {
        let is_full = self.board.nxt() > 0 && self.board.in_flight() >= whole(core);
        if self.sending.burst == 0 || is_full {
            self.sending.burst = self.next_burst(core)?;
        }
        let seq = self.send_of_burst(core);
        if self.sending.burst == 0 {
            self.check_space(core);
        }
        Some(seq)
    }

    #[inline(always)]
    fn next_burst(&mut self, core: &mut Core) -> Option<u64> {
        let nxt = self.board.nxt();
        if nxt == 0 {
            // The SYN.
            return Some(1);
        }
        if self.board.una == 0 || self.is_drained(core, self.nxt_byte(core)) {
            return None;
        }
        if self.sending.one == Some(true) {
            return None;
        }
        if core.gate_is_closed() {
            return None;
        }
        if self.board.in_flight() >= whole(core) {
            return None;
        }
        let (room, full) = (self.room(core), core.sizes.full());
        let head = self.queue.head(room.nxt, room.quota * full)?;
        if head.left.min(full) > room.window {
            return None;
        }
        let waits = self.sending.one.is_none() && head.left > full;
        if waits && self.defers(core, &room, head) {
            return None;
        }
        let bytes = self.split(core, &room, head, self.sending.push)?;
        if self.is_throttled(core, bytes, 0) {
            // It has been divided before.
            self.queue.divide(room.nxt, bytes);
            return None;
        }
        self.charge(bytes.div_ceil(full), bytes);
        self.sending.one = self.sending.one.map(|_| true);
        Some(self.leave(core, bytes))
    }

    /// tcp_nagle_test(), tcp_mss_split_point(): how many bytes of a piece are sent; a short segment is not sent
    /// while another is unacknowledged, unless all must be pushed.
    fn split(&self, core: &Core, room: &Room, head: Head, push: bool) -> Option<u64> {
        let full = core.sizes.full();
        let una = self.board.una;
        let waits = || !push && core.sizes.last_short().is_some_and(|short| short >= una);
        if head.left <= full {
            let is_held = head.left < full && head.is_last && waits();
            return (!is_held).then_some(head.left);
        }
        let (most, window) = (room.quota * full, room.window);
        if most <= window && !head.is_last {
            return Some(most.min(head.left));
        }
        let needed = head.left.min(window);
        if most <= needed {
            return Some(most);
        }
        let partial = needed % full;
        Some(if partial > 0 && waits() {
            needed - partial
        } else {
            needed
        })
    }

    /// tcp_small_queue_check(): whether the memory of data sent in this turn exceeds two buffers of this many bytes,
    /// and a millisecond at the pacing rate; for retransmissions twice that. The queue below TCP is emptied right after
    /// the turn, and lost segments are sent first then.
    fn is_throttled(&mut self, core: &Core, bytes: u64, shift: u32) -> bool {
        if self.sending.by_program {
            return false;
        }
        let size = queue::memory(1, bytes);
        let limit = (2 * size).max(core.path.pacing_rate >> BURST_RATE_SHIFT);
        let most = if core.is_paced() {
            limit
        } else {
            core.config.bursts.output_bytes.into()
        };
        let limit = limit.min(most) << shift;
        self.sending.throttled = self.sending.charged >= limit && self.queue.has_left_twice();
        self.sending.throttled
    }

    /// A burst of this many segments and bytes is sent, each segment in its own buffer.
    fn charge(&mut self, segments: u64, bytes: u64) {
        self.sending.charged += queue::memory(segments, bytes);
    }

    /// What the windows allow a burst (tcp_cwnd_test(), tcp_snd_wnd_test()).
    #[inline(always)]
    pub(super) fn room(&self, core: &Core) -> Room {
        let (cwnd, in_flight) = (whole(core), self.board.in_flight());
        let segments = cwnd.saturating_sub(in_flight);
        let burst = self.burst_segments(core);
        let nxt = self.nxt_byte(core);
        Room {
            nxt,
            cwnd,
            segments,
            burst,
            quota: quota(cwnd, segments, burst),
            window: self.window_now(core, nxt),
        }
    }

    /// The bytes that the receiver takes, also if it has taken back some: then what may be sent ends before what was
    /// written.
    #[inline(always)]
    fn window_now(&self, core: &Core, nxt: u64) -> u64 {
        let window = self.window_left(core, nxt);
        match core.end_byte() {
            Some(end) if end < self.queue.written() => window.min(end.saturating_sub(nxt)),
            _ => window,
        }
    }

    /// Bytes that the receiver takes beyond what has been sent, up to this byte.
    #[inline(always)]
    fn window_left(&self, core: &Core, nxt: u64) -> u64 {
        core.window_edge(self.board.una).saturating_sub(nxt)
    }

    /// A burst of this many bytes is sent now; returns its number of segments, of which the last may be short.
    fn leave(&mut self, core: &mut Core, bytes: u64) -> u64 {
        let (first, from) = (self.board.nxt(), self.nxt_byte(core));
        let full = core.sizes.full();
        let segments = bytes.div_ceil(full);
        self.sending.tail = bytes % full;
        self.queue.leaves((from, bytes), (first, first + segments));
        self.send_off(core, segments, bytes);
        segments
    }

    /// tcp_tso_segs(), tcp_tso_autosize().
    #[inline(always)]
    pub(super) fn burst_segments(&self, core: &Core) -> u64 {
        let bursts = &core.config.bursts;
        let mut bytes = core.path.pacing_rate >> BURST_RATE_SHIFT;
        let halvings = self.min_rtt() >> bursts.rtt_log;
        if halvings < 32 {
            bytes += BURST_BYTES >> halvings;
        }
        // As 32 bits: a division of 64 takes much longer.
        let most = bytes.min(BURST_BYTES) as u32 / core.sizes.full() as u32;
        let full = u64::from(most).max(core.least_burst());
        full.min(bursts.gso_max_segs.into())
    }

    /// The actions when no more can be sent.
    #[inline(always)]
    fn end_write(&mut self, core: &mut Core) {
        self.sending.end_burst();
        let sent = std::mem::take(&mut self.sending.sent);
        let limited = std::mem::take(&mut self.sending.limited);
        if sent == 0 && self.board.nxt() > 0 && self.is_drained(core, self.nxt_byte(core)) {
            // There was nothing to send.
            return;
        }
        let limited = limited || self.board.in_flight() >= whole(core);
        if (sent > 0 || limited) && self.board.una > 0 {
            self.validate(core, limited);
        }
        if sent == 0 && self.board.packets_out() == 0 && self.board.una > 0 {
            await_window(core);
        }
        if sent > 0 {
            if self.in_reduction() {
                self.prr.out += sent;
            }
            if core.timers.slot() == Some(SlotKind::LossProbe) {
                self.renew_probe(core);
                return;
            }
            if self.sending.was_empty {
                self.rearm(core);
            }
            if !std::mem::take(&mut self.sending.no_tail) {
                self.schedule_probe(core, false);
            }
        }
    }
}

/// The window in whole segments.
#[inline(always)]
pub(super) fn whole(core: &Core) -> u64 {
    core.whole_cwnd()
}
