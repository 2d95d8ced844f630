//! One slot for the timers of a loss recovery: only one of them runs at a time. Those that have only
//! a retransmission timer know nothing of it.

use midflight_units::{Duration, Instant};

use super::Core;
use crate::config::{RecoveryKind, RestartAfterIdle};
use crate::event::{Author, Log, SenderEvent};
use crate::state::Trigger;

/// What the timer in the slot is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotKind {
    /// The retransmission timer.
    Retransmission,
    /// A probe of the tail (RFC 8985 section 7).
    LossProbe,
    /// What may be reordered has been waited for (RFC 8985 section 6.3).
    Reordering,
}

impl Core {
    /// What is in the slot, or was until it expired just now.
    pub(crate) fn slot(&self) -> Option<SlotKind> {
        self.slot
    }

    /// Sets the timer to expire after so long; in a closed window, once that is open.
    pub(crate) fn set_slot(&mut self, kind: SlotKind, after: Duration) {
        self.slot = Some(kind);
        if let Some(persist) = &mut self.closed {
            persist.frozen = Some(after);
            self.slot = Some(SlotKind::Retransmission);
            return;
        }
        let clock = self.config.rto.clock;
        let tick = clock.count(self.now) + clock.of_micros(after.as_nanos() / 1000);
        let due = match self.wheel {
            // It stays in its bucket.
            Some((same, due)) if same == tick && due > self.now && clock.hz > 0 => due,
            _ => clock.rings(self.now, after),
        };
        self.wheel = Some((tick, due));
        self.timer = Some((due, self.now));
    }

    /// The SYN has not been lost.
    pub(crate) fn forgive_syn_timeouts(&mut self) {
        self.syn_timeouts = 0;
    }

    /// The timer that has expired is looked at.
    pub(crate) fn keep_slot(&mut self, kind: SlotKind) {
        self.slot = Some(kind);
    }

    /// Stops the timer.
    pub(crate) fn clear_slot(&mut self) {
        self.slot = None;
        match &mut self.closed {
            Some(persist) => persist.frozen = None,
            None => self.timer = None,
        }
    }

    /// Takes the timer that is due out of the slot, if it is not the retransmission timer.
    #[inline]
    pub(crate) fn take_slot(&mut self, now: Instant) -> Option<SlotKind> {
        let is_other = |kind: &SlotKind| *kind != SlotKind::Retransmission;
        let kind = self.slot.filter(is_other)?;
        if self.closed.is_some() {
            return None;
        }
        self.now = now;
        self.rtt_sampled = false;
        self.timer = None;
        self.slot = None;
        Some(kind)
    }

    /// Takes a sample for the timeout, unless an order has ruled out what was sent then.
    pub(crate) fn take_rtt(&mut self, rtt: Duration, sent: Instant, log: &mut impl Log) -> bool {
        let is_wanted = sent >= self.rtt_epoch;
        if is_wanted {
            self.take_sample(rtt, sent, log);
        }
        is_wanted
    }

    /// Tells the controller of the round trip of what was sent last.
    pub(crate) fn tell_latest_rtt(&mut self, rtt: Duration, log: &mut impl Log) {
        if !self.reno {
            self.tell_rtt(rtt, log);
        }
    }

    /// When a segment last went.
    pub(crate) fn last_sent(&self) -> Instant {
        self.last_sent
    }

    /// Nothing was in flight, and a segment goes.
    pub(crate) fn tell_idle_end(&mut self) {
        if !self.reno {
            self.congestion.on_idle_end(self.now, self.last_sent);
        }
    }

    /// Sets the threshold by the window, whole segments of it, and not by what is in flight.
    pub(crate) fn reduce_from_window(&mut self, timeout: bool, by: Author, log: &mut impl Log) {
        let load = self.window.cwnd.trunc();
        let ssthresh = if timeout {
            self.congestion.ssthresh_after_timeout(self.now, load)
        } else {
            self.congestion.ssthresh_after_loss(self.now, load)
        };
        self.set_ssthresh(ssthresh, by, log);
    }

    /// The recovery has found out that it, or the timeout, was not needed.
    pub(crate) fn note_spurious(&mut self, timeout: bool, log: &mut impl Log) {
        self.noted = Some(Trigger::Spurious);
        self.stalled = false;
        if timeout {
            log.record(self.now, SenderEvent::SpuriousTimeout);
            let view = self.view();
            self.classifier.on_spurious_timeout(&view);
        } else {
            log.record(self.now, SenderEvent::SpuriousRetransmit);
        }
    }

    /// tcp_cwnd_restart() of Linux: half the window for each timeout of idle time, down to the
    /// initial window; the threshold remembers three quarters.
    #[cold]
    pub(super) fn restart_by_halves(&mut self, log: &mut impl Log) {
        let clock = self.config.rto.clock;
        let idle = clock.length(clock.count(self.now) - clock.count(self.last_sent));
        let rto = self.rto.timeout();
        if idle <= rto {
            return;
        }
        let mut cwnd = self.window.cwnd as u64;
        let least = cwnd.min(self.config.initial_window() as u64);
        let threshold = self.window.ssthresh.max((cwnd / 2 + cwnd / 4) as f64);
        let halvings = (idle.as_nanos() - 1) / rto.as_nanos().max(1);
        for _ in 0..halvings.min(64) {
            if cwnd > least {
                cwnd /= 2;
            }
        }
        self.set_ssthresh(threshold, Author::Idle, log);
        self.set_cwnd(cwnd.max(least) as f64, Author::Idle, log);
    }

    /// Whether the recovery tells the controller itself when an idle time ends.
    pub(super) fn recovery_tells_idle(&self) -> bool {
        self.config.recovery == RecoveryKind::Linux
    }

    pub(super) fn restarts_by_halves(&self) -> bool {
        self.config.restart_after_idle == RestartAfterIdle::Halving
    }
}
