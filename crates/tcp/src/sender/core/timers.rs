//! The timers of a sender: retransmission, persist, and the delay of the response to duplicate
//! ACKs. Each deadline is kept with the instant at which it was set.
//!
//! The retransmission timer is a slot. Where the recovery has other timers (a tail loss probe, the
//! reordering window of RACK) they share it: only one of them runs at a time. While the
//! window is closed the slot is frozen and the persist timer runs in its place.

use midflight_control::jiffies::Jiffies;
use midflight_units::{Duration, Instant};

/// A deadline and when it was set.
pub(crate) type Deadline = (Instant, Instant);

/// The purpose of the timer in the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotKind {
    /// The retransmission timer.
    Retransmission,
    /// A probe of the tail (RFC 8985 section 7).
    LossProbe,
    /// The wait for reordered segments is over (RFC 8985 section 6.3).
    Reordering,
    /// Nothing is in flight, and the window is open but holds less than a segment (tcp_check_probe_timer()).
    SmallWindow,
}

/// The receiver advertises a zero window (persist mode, RFC 9293 section 3.8.6.1).
#[derive(Clone, Copy, Debug)]
struct Persist {
    /// After how long the next probe goes.
    wait: Duration,
    /// A probe may be sent now.
    due: bool,
    /// The remaining time of the retransmission timer, if it was armed.
    frozen: Option<Duration>,
}

/// The timers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timers {
    /// Of the slot; while the window is closed, of the persist timer.
    running: Option<Deadline>,
    /// The purpose of the slot, where the kind of recovery has more than one timer.
    slot: Option<SlotKind>,
    /// The tick at which the slot was to expire, and when it does by the wheel's buckets.
    wheel: Option<(u64, Instant)>,
    /// The tick at which it rang last.
    rang: Option<u64>,
    persist: Option<Persist>,
    /// Of the response to duplicate ACKs.
    delay: Option<Deadline>,
    /// When that comes or expected reordering ends, whichever is first.
    wake: Option<Deadline>,
}

impl Timers {
    // ---- retransmission ---------------------------------------------------

    /// Whether the retransmission timer or what stands in its place is armed.
    #[inline(always)]
    pub(super) fn is_armed(&self) -> bool {
        self.running.is_some()
    }

    /// Whether it has expired.
    #[inline(always)]
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.running.is_some_and(|(deadline, _)| deadline <= now)
    }

    /// When it was set.
    pub(crate) fn set_at(&self) -> Option<Instant> {
        self.running.map(|(_, set)| set)
    }

    /// Whether it does not expire before `due`.
    pub(super) fn is_before(&self, due: Instant) -> bool {
        self.running.is_none_or(|(timer, _)| due <= timer)
    }

    /// Arms the retransmission timer from now, or stops it where nothing is outstanding. It is
    /// frozen while the window is closed, and starts from there when that opens.
    #[inline(always)]
    pub(super) fn restart(
        &mut self,
        now: Instant,
        clock: Jiffies,
        timeout: Duration,
        outstanding: bool,
    ) {
        if let Some(persist) = &mut self.persist {
            persist.frozen = outstanding.then_some(timeout);
            return;
        }
        self.slot = None;
        let due = clock.rings(now, timeout);
        self.running = outstanding.then_some((due, now));
    }

    /// It has expired.
    #[inline(always)]
    pub(super) fn expire(&mut self) {
        self.running = None;
    }

    // ---- the slot -----------------------------------------------------------

    /// The timer in the slot, or the one that has just expired.
    pub(crate) fn slot(&self) -> Option<SlotKind> {
        self.slot
    }

    /// Sets the timer in the slot to expire after so long; in a closed window the retransmission
    /// timer, once that is open.
    pub(super) fn set_slot(
        &mut self,
        kind: SlotKind,
        now: Instant,
        clock: Jiffies,
        after: Duration,
    ) {
        if let Some(persist) = &mut self.persist {
            persist.frozen = Some(after);
            self.slot = Some(SlotKind::Retransmission);
            return;
        }
        self.slot = Some(kind);
        let tick = clock.count(now) + clock.of_micros(after.as_nanos() / 1000);
        let due = match self.wheel {
            // It stays in its bucket.
            Some((same, due)) if same == tick && due > now && clock.hz > 0 => due,
            _ if self.rang == Some(clock.count(now)) => clock.rings_after_another(now, after),
            _ => clock.rings(now, after),
        };
        self.wheel = Some((tick, due));
        self.running = Some((due, now));
    }

    /// It rings at this tick.
    pub(super) fn ring(&mut self, tick: u64) {
        self.rang = Some(tick);
    }

    /// The timer that has expired is looked at.
    pub(crate) fn keep_slot(&mut self, kind: SlotKind) {
        self.slot = Some(kind);
    }

    /// Stops the timer in the slot.
    pub(crate) fn clear_slot(&mut self) {
        self.slot = None;
        match &mut self.persist {
            Some(persist) => persist.frozen = None,
            None => self.running = None,
        }
    }

    /// Takes the timer that is due out of the slot, if it is not the retransmission timer.
    #[inline]
    pub(super) fn take_slot(&mut self) -> Option<SlotKind> {
        let is_other = |kind: &SlotKind| *kind != SlotKind::Retransmission;
        let kind = self.slot.filter(is_other)?;
        if self.persist.is_some() {
            return None;
        }
        self.running = None;
        self.slot = None;
        Some(kind)
    }

    // ---- persist ------------------------------------------------------------

    /// Whether the receiver advertises a zero window.
    #[inline(always)]
    pub(super) fn in_persist(&self) -> bool {
        self.persist.is_some()
    }

    /// The window has closed: the first probe of it goes after `wait`.
    pub(super) fn begin_persist(&mut self, now: Instant, wait: Duration) {
        self.persist = Some(Persist {
            wait,
            due: false,
            frozen: self.running.map(|(due, _)| due.since(now)),
        });
        self.running = Some((now + wait, now));
    }

    /// The window is open. The retransmission timer continues where it stood: restarted at each
    /// opening, a timer with a long back-off would never expire between two handoffs.
    pub(super) fn end_persist(&mut self, now: Instant) {
        if let Some(persist) = self.persist.take() {
            self.running = persist.frozen.map(|left| (now + left, now));
        }
    }

    /// The persist timer has expired: a probe may be sent, the next after twice the wait.
    pub(super) fn persist_expired(&mut self, now: Instant, most: Duration) {
        if let Some(persist) = &mut self.persist {
            persist.wait = (persist.wait * 2).min(most);
            persist.due = true;
            self.running = Some((now + persist.wait, now));
        }
    }

    /// Whether a probe of the closed window may go now; once.
    pub(super) fn take_probe(&mut self) -> bool {
        let due = self.persist.as_mut().map(|persist| &mut persist.due);
        due.is_some_and(std::mem::take)
    }

    // ---- response to duplicate ACKs -----------------------------------------

    /// The deadline of the response.
    pub(super) fn delay(&self) -> Option<Deadline> {
        self.delay
    }

    /// Sets it, and when expected reordering ends.
    pub(super) fn set_delay(&mut self, delay: Option<Deadline>, reordering_ends: Option<Deadline>) {
        self.delay = delay;
        self.wake = match (delay, reordering_ends) {
            (Some((due, _)), Some((end, _))) if end >= due => delay,
            (delay, None) => delay,
            (_, end) => end,
        };
    }

    /// Wake-ups of the sender besides the retransmission timer, and when they were decided.
    pub(super) fn wake(&self) -> Option<Deadline> {
        self.wake
    }

    /// Whichever is first: when to call again, and when that was decided.
    #[inline(always)]
    pub(super) fn deadline(&self) -> Option<Deadline> {
        match (self.running, self.wake) {
            (timer, None) => timer,
            (Some(timer), Some(wake)) if timer.0 < wake.0 => Some(timer),
            (_, wake) => wake,
        }
    }
}
