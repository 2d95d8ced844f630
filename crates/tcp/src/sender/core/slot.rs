//! Methods of the shared state that only the Linux recovery uses: its timers, which share one slot,
//! and the windows that it sets itself.

use midflight_units::{Duration, Instant};

use super::{Core, SlotKind};
use crate::config::RestartAfterIdle;
use crate::event::{Author, Log, SenderEvent};
use crate::state::Trigger;

impl Core {
    /// Sets the timer to expire after this time; if the window is closed, after it opens.
    #[inline]
    pub(crate) fn set_slot(&mut self, kind: SlotKind, after: Duration) {
        let clock = self.config.rto.clock;
        self.timers.set_slot(kind, self.now, clock, after);
    }

    /// The same for a time in microseconds, rounded up to ticks, after which the pacer allows a burst.
    #[inline(always)]
    pub(crate) fn set_slot_in_micros(&mut self, kind: SlotKind, micros: u64) {
        let clock = self.config.rto.clock;
        if self.has_wheel() {
            let ticks = clock.of_micros(micros);
            self.timers.set_slot_in_ticks(kind, self.now, clock, ticks);
        } else {
            let after = clock.round_up_micros(micros) + self.pacing_delay();
            self.set_slot(kind, after);
        }
    }

    /// Whether timers of the slot expire with the buckets of a wheel, and at no other time.
    #[inline(always)]
    pub(crate) fn has_wheel(&self) -> bool {
        let is_exact = self.config.rto.clock.hz == 0;
        !is_exact && !self.is_paced() && !self.timers.in_persist()
    }

    /// As [`Self::set_slot_in_micros`] for the retransmission timer, and at once for another one in its place. The first
    /// matters only if both are for the same tick, which then is that of the first one's bucket. Only with a wheel.
    #[inline(always)]
    pub(crate) fn replace_timeout(&mut self, timeout: u64, kind: SlotKind, micros: u64) {
        let clock = self.config.rto.clock;
        let ticks = (clock.of_micros(timeout), clock.of_micros(micros));
        if ticks.0 == ticks.1 {
            self.set_slot_in_micros(SlotKind::Retransmission, timeout);
        } else {
            self.timers.leave_bucket();
        }
        self.timers
            .set_slot_in_ticks(kind, self.now, clock, ticks.1);
    }

    /// The SYN was not lost.
    pub(crate) fn forgive_syn_timeouts(&mut self) {
        self.syn_timeouts = 0;
    }

    /// Removes the timer that is due from the slot, if it is not the retransmission timer.
    #[inline]
    pub(crate) fn take_slot(&mut self, now: Instant) -> Option<SlotKind> {
        let kind = self.timers.take_slot()?;
        self.timers.ring(self.config.rto.clock.count(now));
        self.now = now;
        self.path.rtt_sampled = false;
        Some(kind)
    }

    /// Takes a sample for the timeout, unless an order has excluded segments of that time.
    #[inline(always)]
    pub(crate) fn take_rtt(&mut self, rtt: Duration, sent: Instant, log: &mut impl Log) -> bool {
        let is_wanted = sent >= self.path.rtt_epoch;
        if is_wanted {
            self.take_sample(rtt, None, sent, log);
        }
        is_wanted
    }

    /// The same of a sample in whole microseconds.
    #[inline(always)]
    pub(crate) fn take_micros(&mut self, rtt: u64, sent: Instant, log: &mut impl Log) -> bool {
        let is_wanted = sent >= self.path.rtt_epoch;
        if is_wanted {
            self.take_sample(Duration::from_micros(rtt), Some(rtt), sent, log);
        }
        is_wanted
    }

    /// Passes the RTT of the segment sent last to the controller.
    #[inline(always)]
    pub(crate) fn report_latest_rtt(&mut self, rtt: Duration, log: &mut impl Log) {
        if !self.path.reno {
            self.report_rtt_at_once(rtt, log);
        }
    }

    /// A segment is sent while nothing was in flight.
    pub(crate) fn report_idle_end(&mut self) {
        if !self.path.reno && !self.path.controls {
            self.path
                .congestion
                .on_idle_end(self.now, self.books.last_sent());
        }
    }

    /// Sets the threshold from the window in whole segments, and not from the data in flight.
    pub(crate) fn reduce_from_window(&mut self, timeout: bool, by: Author, log: &mut impl Log) {
        if self.path.controls && !self.has_foreign_controller() {
            self.path.congestion.on_reduction(self.path.window.both());
            return;
        }
        let load = self.cwnd().trunc();
        let ssthresh = self.threshold(timeout, load, log);
        self.set_ssthresh(ssthresh, by, log);
    }

    /// The recovery has detected that it, or the timeout, was unneeded.
    pub(crate) fn note_spurious(&mut self, timeout: bool, log: &mut impl Log) {
        self.noted = Some(Trigger::Spurious);
        self.loss.end_timeout();
        if timeout {
            log.record(self.now, SenderEvent::SpuriousTimeout);
            let view = self.view();
            self.classifier.on_spurious_timeout(&view);
        } else {
            log.record(self.now, SenderEvent::SpuriousRetransmit);
        }
    }

    /// tcp_cwnd_restart() of Linux: half the window for each timeout of idle time, down to the
    /// initial window; the threshold becomes at least three quarters of it.
    #[cold]
    pub(super) fn restart_by_halves(&mut self, log: &mut impl Log) {
        let clock = self.config.rto.clock;
        let idle = clock.length(clock.count(self.now) - clock.count(self.books.last_sent()));
        let rto = self.path.rto.timeout();
        if idle <= rto {
            return;
        }
        let mut cwnd = self.cwnd() as u64;
        let least = cwnd.min(self.config.initial_window() as u64);
        let threshold = self.ssthresh().max((cwnd / 2 + cwnd / 4) as f64);
        let halvings = (idle.as_nanos() - 1) / rto.as_nanos().max(1);
        for _ in 0..halvings.min(64) {
            if cwnd > least {
                cwnd /= 2;
            }
        }
        self.set_ssthresh(threshold, Author::Idle, log);
        self.set_cwnd(cwnd.max(least) as f64, Author::Idle, log);
    }

    /// Whether the recovery notifies the controller itself when an idle time ends.
    pub(super) fn recovery_reports_idle(&self) -> bool {
        self.config.recovery.about().reports_idle_end
    }

    pub(super) fn restarts_by_halves(&self) -> bool {
        self.config.restart_after_idle == RestartAfterIdle::Halving
    }
}
