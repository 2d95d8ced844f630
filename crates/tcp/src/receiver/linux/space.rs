//! The measurements of the Linux receiver: the RTT, and how much the application reads per RTT, which determines the
//! growth of the buffer.

use midflight_units::{Instant, Seq};

use super::{micros, Data, LinuxAcks, MSS_GUESS, RATIO_SHIFT};

impl LinuxAcks {
    /// TCP_QUICKACK (__tcp_sock_set_quickack()): ACKs are not delayed until data is sent, or they are. Returns whether an
    /// ACK that is scheduled is sent now.
    pub(in crate::receiver) fn set_quick(&mut self, quick: bool) -> bool {
        self.pingpong = !quick;
        let is_due = quick && self.scheduled && self.established;
        self.pushed |= is_due;
        is_due
    }

    /// The RTT of the SYN-ACK in microseconds; of one that was sent again, by its timestamp (tcp_synack_rtt_meas(),
    /// tcp_rtt_tsopt_us()).
    pub(super) fn handshake_rtt(&self, now: Instant, echo_ms: u32) -> Option<u64> {
        match self.syn_acks {
            0 => None,
            1 => self.syn_acked.map(|sent| micros(sent, now)),
            _ if echo_ms == 0 => None,
            _ => Some(u64::from(self.stamp().wrapping_sub(echo_ms)).max(1) * 1000),
        }
    }

    /// tcp_measure_rcv_mss().
    pub(super) fn measure_mss(&mut self, data: &Data) {
        let last = std::mem::take(&mut self.last_size);
        let len = data.segment();
        if len >= self.mss {
            if len != self.mss {
                let ratio = ((data.len << RATIO_SHIFT) / data.size()).max(1);
                if ratio != self.ratio {
                    self.ratio = ratio;
                    let before = self.clamp;
                    self.clamp = self.to_window(self.buffer);
                    self.adjust_threshold(before);
                    self.space = self.space.min(self.clamp);
                }
            }
            self.mss = len.min(self.advmss);
            self.pushed |= data.push;
            return;
        }
        // Two equal small segments of at least TCP_MSS_DEFAULT make the estimate smaller.
        if len >= MSS_GUESS || (len >= 88 && !data.push) {
            self.last_size = len;
            if len == last {
                self.mss = len;
                return;
            }
        }
        self.pushed_twice |= self.pushed;
        self.pushed = true;
    }

    /// tcp_rcv_rtt_measure_ts().
    pub(super) fn measure_echo(&mut self, data: &Data) {
        if data.echo_ms == self.last_echo || std::mem::take(&mut self.opens_with_data) {
            return;
        }
        self.last_echo = data.echo_ms;
        let passed = u64::from(self.stamp().wrapping_sub(data.echo_ms));
        if data.echo_ms > 0 && data.len >= self.mss && passed > 0 {
            let sample = passed * 1000;
            self.rtt_x8 = match self.rtt_x8 {
                0 => 8 * sample,
                old if 8 * sample < old => 8 * sample,
                old => old - old / 8 + sample,
            };
        }
    }

    /// tcp_rcv_rtt_measure(): the time that a window takes, which is never less than an RTT.
    pub(super) fn measure_window(&mut self, now: Instant, next: Seq) {
        if let Some((since, edge)) = self.rtt_from {
            if next < edge {
                return;
            }
            let sample_x8 = 8 * micros(since, now).max(1);
            if self.rtt_x8 == 0 || sample_x8 < self.rtt_x8 {
                self.rtt_x8 = sample_x8;
            }
        }
        self.rtt_from = Some((now, next + self.window));
    }

    /// tcp_rcv_space_adjust(): the application has read up to `first`; data is available up to `next`. When it reads
    /// the packets that follow, no time has passed since.
    pub(super) fn adjust_space(&mut self, now: Instant, first: Seq, next: Seq) {
        let (since, from) = self.space_from;
        let rtt = self.rtt_x8 / 8;
        // The difference of whole microseconds is at most one more than that of nanoseconds.
        let is_soon = now.since(since).as_nanos() + 2000 <= 1000 * rtt;
        if self.rtt_x8 == 0 || is_soon || micros(since, now) < rtt {
            return;
        }
        self.space_from = (now, first);
        let unread = next.saturating_sub(first);
        let copied = first.saturating_sub(from).saturating_sub(unread);
        if copied <= self.space {
            return;
        }
        let mut window = 2 * copied + 16 * self.advmss;
        window += 2 * (window * (copied - self.space) / self.space.max(1));
        let buffer = self.to_space(window).min(self.most_buffer);
        if buffer > self.buffer {
            self.buffer = buffer;
            self.clamp = self.to_window(buffer);
        }
        self.space = copied;
    }
}
