//! Which ACK is sent now, and which one later: delayed and compressed ACKs, and their timers.

use midflight_units::{Duration, Instant};

use super::{Held, LinuxAcks, DUPLICATES};

impl LinuxAcks {
    /// __tcp_ack_snd_check(), in this tick of the clock: returns whether the ACK is sent now; otherwise sets a timer.
    #[inline(always)]
    pub(in crate::receiver) fn decide(&mut self, now: Instant, tick: u64, held: Held) -> bool {
        let unacked = held.next.saturating_sub(self.acked);
        let is_due = unacked > self.mss
            && (self.unread.size == 0
                || self.choose_window() >= self.window
                || self.lacks(held.next));
        if is_due || self.quick > 0 && !self.pingpong || self.must {
            return true;
        }
        if !held.has_gaps {
            return self.delay_ack(now, tick);
        }
        if !self.has_sack || self.compressed >= self.compression.0 {
            return true;
        }
        if self.duplicates_of != held.next {
            self.duplicates_of = held.next;
            self.duplicates = 0;
        }
        if self.duplicates < DUPLICATES {
            self.duplicates += 1;
            return true;
        }
        self.compressed += 1;
        if self.compressed_at.is_none() {
            let mut rtt_x8 = self.rtt_x8;
            if self.srtt_x8 > 0 {
                rtt_x8 = rtt_x8.min(self.srtt_x8);
            }
            // 5 % of the RTT.
            let delay = (rtt_x8 * 125 / 20).min(self.compression.1);
            let due = now + Duration::from_nanos(delay) + self.slack;
            self.compressed_at = Some((due, now));
        }
        false
    }

    /// tcp_send_delayed_ack(): returns whether the ACK is sent now after all.
    #[inline(always)]
    fn delay_ack(&mut self, now: Instant, tick: u64) -> bool {
        let mut delay = self.delay;
        if delay > self.least_delay() {
            let mut most = if self.pushed || self.pingpong {
                self.most_delay()
            } else {
                self.clock.per_second() / 2
            };
            if self.srtt_x8 > 0 {
                most = most.min(self.srtt_ticks.max(self.least_delay()));
            }
            delay = delay.min(most);
        }
        delay = delay.min(self.delay_limit);
        let mut due = tick + delay;
        if let Some(earlier) = self.due {
            if earlier <= tick + delay / 4 {
                return true;
            }
            due = due.min(earlier);
        }
        self.due = Some(due);
        self.set_timer(now, tick, due);
        false
    }

    /// sk_reset_timer() of the delayed ACK.
    pub(in crate::receiver) fn set_timer(&mut self, now: Instant, tick: u64, due: u64) {
        if self.timer.is_some_and(|(tick, ..)| tick == due) {
            return;
        }
        self.move_timer(now, tick, due);
    }

    #[cold]
    #[inline(never)]
    fn move_timer(&mut self, now: Instant, tick: u64, due: u64) {
        let rings = self.clock.rings_in(now, tick, due.saturating_sub(tick));
        self.timer = Some((due, rings, now));
        self.timer_moved = true;
    }

    /// Whether the timer is as it was before the current segment, which was predicted.
    #[inline(always)]
    pub(in crate::receiver) fn keeps_timer(&self) -> bool {
        !self.timer_moved && self.compressed_at.is_none()
    }

    /// When something must be sent, and when that deadline was set.
    #[inline]
    pub(in crate::receiver) fn poll_timer(&self) -> Option<(Instant, Instant)> {
        if let Some(request) = &self.request {
            return Some(request.timer());
        }
        let delayed = self.timer.map(|(_, due, set)| (due, set));
        match (delayed, self.compressed_at) {
            (Some(delayed), Some(compressed)) => Some(delayed.min(compressed)),
            (delayed, compressed) => delayed.or(compressed),
        }
    }

    /// Whether the next timer is a high-resolution timer (compressed_ack_timer) and not one of the timer wheel.
    pub(in crate::receiver) fn awaits_high_resolution(&self) -> bool {
        let compressed = self.compressed_at.map(|(due, _)| due);
        self.request.is_none()
            && compressed.is_some_and(|due| self.timer.is_none_or(|(_, rings, _)| due < rings))
    }

    /// Returns whether an ACK is sent because a timer has expired (reqsk_timer_handler(),
    /// tcp_delack_timer_handler(), tcp_compressed_ack_kick()).
    pub(in crate::receiver) fn on_timer(&mut self, now: Instant) -> bool {
        if let Some(request) = self.request.filter(|request| request.timer().0 <= now) {
            self.request = request.time_out(self.clock, now);
            self.syn_acks += u32::from(self.request.is_some());
            self.refresh(now);
            return self.request.is_some();
        }
        if self.compressed_at.is_some_and(|(due, _)| due <= now) {
            self.compressed_at = None;
            return self.compressed > 0;
        }
        if self.timer.is_none_or(|(_, due, _)| due > now) {
            return false;
        }
        self.timer = None;
        if self.compressed > 0 {
            self.refresh(now);
            return true;
        }
        let Some(due) = self.due else {
            return false;
        };
        let tick = self.clock.count(now);
        if due > tick {
            self.set_timer(now, tick, due);
            return false;
        }
        self.due = None;
        if !self.scheduled {
            return false;
        }
        if std::mem::take(&mut self.pingpong) {
            // There was no answer to send with the ACK.
            self.delay = self.least_delay();
        } else {
            let most = self.rto_ticks().min(self.most_delay());
            self.delay = (2 * self.delay).min(most);
        }
        self.refresh(now);
        true
    }
}
