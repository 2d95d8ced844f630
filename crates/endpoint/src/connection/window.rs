//! The window of the other side: how it changes, and what is sent when it has little room. Comments name the functions of
//! Linux 6.12 whose behaviour this follows.

use midflight_tcp::{Ack, AckOption, Log, SackBlocks, Segment};
use midflight_units::{Instant, Seq};

use super::Connection;
use crate::segment::Arrival;

/// Most bytes of one buffer: 64 KB less the largest header (tcp_xmit_size_goal()).
const LARGEST: u64 = 65_215;
/// Buffers have at most half of a window that is larger than this (TCP_MSS_DEFAULT in tcp_bound_to_half_wnd()).
const LEAST_HALVED: u64 = 536;
/// The smallest packet that every path takes, less the header of IP (TCP_MIN_MSS and its like).
const LEAST_PACKET: u64 = 68;

impl Connection {
    /// Takes the window of a segment, unless it is older than the last (RFC 9293 section 3.10.7.4);
    /// returns whether it differs. In Linux a window of zero is always news, and so is that of a segment that follows the
    /// last one (FLAG_WIN_UPDATE, tcp_may_update_window()).
    pub(super) fn take_window(&mut self, arrival: &Arrival, ack: u64) -> bool {
        let of = (arrival.from, ack);
        if of < self.window_from {
            return false;
        }
        let shift = if arrival.syn { 0 } else { self.shift };
        let scaled = arrival.window << shift;
        let is_smaller = of == self.window_from && 0 < scaled && scaled < self.window;
        if is_smaller && self.is_of_linux() {
            // tcp_may_update_window().
            return false;
        }
        let follows = of.0 > self.window_from.0;
        self.window_from = of;
        self.edge = ack + scaled;
        self.note_largest_window(scaled);
        let before = std::mem::replace(&mut self.window, scaled);
        before != scaled || self.is_of_linux() && (scaled == 0 || follows)
    }

    /// The edge of the window has moved: what lies beyond it is not sent again (__tcp_retransmit_skb()).
    pub(super) fn follow_edge(&mut self) {
        let has_room = self.edge >= self.stream.end();
        // The timeouts of a connection that nobody uses count (SOCK_DEAD in tcp_retransmit_timer()).
        self.sender.set_zero_window(self.window == 0 && !self.deaf);
        self.sender.resend_below(if has_room {
            Seq::MAX
        } else {
            self.stream.covering(self.edge)
        });
    }

    /// The window has changed: a sender that has been idle for a timeout begins again with a small congestion window
    /// (tcp_ack_update_window()).
    pub(super) fn end_idle<L: Log>(&mut self, now: Instant, log: &mut L) {
        let view = self.sender.view();
        let is_idle = view.snd_una == view.snd_max && self.unsent_bytes() > 0;
        if is_idle && self.recovers_as_linux() && self.is_established() {
            self.sender.end_idle(now, log);
        }
    }

    /// A short segment that is sent again is joined with those that follow it (tcp_retrans_try_collapse()).
    pub(super) fn with_others(&mut self, segment: Segment) -> Segment {
        let is_again = segment.retransmission && segment.has_data() && segment.seq > 0;
        if !is_again || !self.recovers_as_linux() || !self.settings.joins_segments {
            return segment;
        }
        let from = self.stream.byte_of(segment.seq).max(self.una);
        let mss = self.stream.mss();
        let room = match self.edge.saturating_sub(from) {
            0 => mss,
            room => room.min(mss),
        };
        let below = self.sender.view().snd_max;
        if !self.sender.may_join(segment.seq) {
            return segment;
        }
        let others = self
            .stream
            .joinable((segment.seq, below), (from, room), self.edge, |seq| {
                self.sender.may_join(seq)
            });
        if others == 0 {
            return segment;
        }
        self.stream.join(segment.seq, others);
        self.sender.join(segment.seq, others);
        let seq = segment.seq + others;
        Segment { seq, ..segment }
    }

    /// One past the last segment that the window has room for. In Linux a FIN needs room too (tcp_snd_wnd_test()).
    pub(super) fn window_end(&self) -> Seq {
        self.stream.window_end(self.edge, self.recovers_as_linux())
    }

    /// A burst with a full segment, of which the window does not have room for all, ends with a part of a segment at the
    /// edge of the window, as far as Nagle's algorithm allows it (tcp_write_xmit(), tcp_mss_split_point()). `written` is the
    /// first byte of a write: its data is in buffers of at most half of the largest window, and a burst is of one buffer.
    pub(super) fn fill_window(&mut self, written: Option<u64>) {
        if !self.recovers_as_linux() || !self.is_established() || self.over.is_some() {
            return;
        }
        let view = self.sender.view();
        let next = view.snd_max.max(1);
        let last = self.window_end();
        let full = last.saturating_sub(next);
        let of_buffer = written.map_or(full, |written| {
            let mss = self.stream.mss();
            let most = self.most_of_buffer() / mss * mss;
            let from = self.stream.byte_of(next).max(written);
            self.edge.saturating_sub(from) % most.max(mss) / mss
        });
        if !self.sender.has_room_in_burst(full, of_buffer) {
            return;
        }
        if self
            .stream
            .may_end_with_part(view.snd_una.max(1), next, last)
        {
            self.stream.split(last, self.edge);
        }
    }

    /// The data of a segment, of which a window of the other side has room for two (tcp_bound_to_half_wnd()).
    pub(super) fn within_half(&self, size: u64) -> u64 {
        let is_halved = self.largest_window > LEAST_HALVED;
        let most = self.largest_window >> u32::from(is_halved);
        if !self.recovers_as_linux() || most == 0 {
            return size;
        }
        let options = if self.timestamps { 12 } else { 0 };
        size.min(most.max(LEAST_PACKET - 20 - options))
    }

    /// Most bytes of one buffer (tcp_bound_to_half_wnd()).
    fn most_of_buffer(&self) -> u64 {
        let is_halved = self.largest_window > LEAST_HALVED;
        LARGEST.min(self.largest_window >> u32::from(is_halved))
    }

    /// Whether the other side's window closes the sender's when `una` is acknowledged: there is an
    /// unacknowledged segment, and the window is smaller than that.
    pub(super) fn is_shut(&self, una: Seq) -> bool {
        let is_small = una < self.stream.segments_end() && self.window_end() <= una;
        // Linux goes on with what is in flight, whatever the window (tcp_retransmit_timer()).
        is_small && !(self.is_of_linux() && una < self.sender.view().snd_max)
    }

    /// A probe of the window is due, and the window has room for a part of a segment: Linux sends that
    /// (tcp_write_wakeup()).
    pub(super) fn send_part<L: Log>(&mut self, now: Instant, log: &mut L) {
        let view = self.sender.view();
        let is_idle = self.is_of_linux() && view.snd_max == view.snd_una;
        let is_due = self.sender.poll_timer().is_some_and(|(due, _)| due <= now);
        if !(is_idle && is_due && self.sender.is_window_closed()) {
            return;
        }
        if self.stream.split(view.snd_una, self.edge) {
            let open = Ack {
                option: AckOption::Nothing,
                ..self.window_ack(view.snd_una)
            };
            self.sender.on_ack(now, &open, log);
            self.sender.skip_tail_probe();
            self.limit(now, view.snd_una, log);
        }
    }

    /// An ACK that closes the sender's window.
    pub(super) fn window_ack(&self, una: Seq) -> Ack {
        Ack {
            ack: una,
            sack: SackBlocks::default(),
            echo: None,
            cause_sent: self.opened,
            offset: 0,
            option: AckOption::ZeroWindow,
            window: None,
            stamp_ms: 0,
            extra_bytes: 0,
        }
    }
}
