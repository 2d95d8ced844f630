//! The timers of a sender: retransmission, persist, and the delay of the response to duplicate
//! ACKs. Each deadline is kept with the instant at which it was set.
//!
//! The retransmission timer is a slot. Other timers of a recovery (a tail loss probe, the reordering window
//! of RACK) share it: only one of them runs at a time. While the window is closed the slot is stopped and
//! the persist timer runs instead.

use midflight_control::jiffies::Jiffies;
use midflight_units::{Duration, Instant};

/// A deadline and when it was set.
pub(crate) type Deadline = (Instant, Instant);

/// The purpose of the timer in the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotKind {
    /// The retransmission timer.
    Retransmission,
    /// The tail loss probe (RFC 8985 section 7).
    LossProbe,
    /// The end of the reordering window (RFC 8985 section 6.3).
    Reordering,
    /// Nothing is in flight, and the window is open but holds less than a segment (tcp_check_probe_timer()).
    SmallWindow,
}

/// The sender waits for the window to open (persist mode, RFC 9293 section 3.8.6.1).
#[derive(Clone, Copy, Debug)]
struct Persist {
    /// The time to the next probe.
    wait: Duration,
    /// How often that has doubled.
    doublings: u32,
    /// A probe may be sent now.
    due: bool,
    /// The remaining time of the retransmission timer, if it was armed.
    frozen: Option<Duration>,
}

/// The timers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timers {
    /// The deadline of the slot; while the window is closed, of the persist timer.
    running: Option<Deadline>,
    /// The purpose of the slot, if the recovery has more than one timer.
    slot: Option<SlotKind>,
    /// The tick at which the slot was to expire, and when it actually expires because of the wheel's
    /// buckets.
    wheel: Option<(u64, Instant)>,
    /// The tick in which it last expired.
    rang: Option<u64>,
    persist: Option<Persist>,
    /// How often the time between probes doubles at most.
    most_doublings: Option<u32>,
    /// The deadline of the response to duplicate ACKs.
    delay: Option<Deadline>,
    /// That deadline or the end of expected reordering, whichever is first.
    wake: Option<Deadline>,
}

impl Timers {
    // ---- retransmission ---------------------------------------------------

    /// Whether the retransmission timer or its replacement is armed.
    #[inline(always)]
    pub(super) fn is_armed(&self) -> bool {
        self.running.is_some()
    }

    /// Whether it has expired.
    #[inline(always)]
    pub(crate) fn is_due(&self, now: Instant) -> bool {
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

    /// Arms the retransmission timer from now, or stops it if nothing is outstanding. It is stopped while
    /// the window is closed, and started when the window opens.
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

    /// Sets the timer in the slot to expire after this time; in a closed window sets the retransmission
    /// timer, after it opens.
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
        if clock.hz == 0 {
            self.slot = Some(kind);
            self.running = Some((now + after, now));
            return;
        }
        self.set_slot_in_ticks(kind, now, clock, clock.of_micros(after.as_nanos() / 1000));
    }

    /// The same after this many ticks of a clock, while the window is open.
    #[inline(always)]
    pub(super) fn set_slot_in_ticks(
        &mut self,
        kind: SlotKind,
        now: Instant,
        clock: Jiffies,
        ticks: u64,
    ) {
        self.slot = Some(kind);
        let begun = clock.count(now);
        let tick = begun + ticks;
        let due = match self.wheel {
            // It stays in its bucket.
            Some((same, due)) if same == tick && due > now => due,
            _ => self.bucket_ends(clock, begun, ticks),
        };
        self.wheel = Some((tick, due));
        self.running = Some((due, now));
    }

    /// When the bucket ends of a timer that is set in tick `begun` for this many ticks.
    #[inline(always)]
    fn bucket_ends(&self, clock: Jiffies, begun: u64, ticks: u64) -> Instant {
        clock.rings_at(begun, ticks, self.rang == Some(begun))
    }

    /// The next timer in the slot is put into the bucket of its own time.
    #[inline(always)]
    pub(super) fn leave_bucket(&mut self) {
        self.wheel = None;
    }

    /// It expires in this tick.
    pub(super) fn ring(&mut self, tick: u64) {
        self.rang = Some(tick);
    }

    /// Keeps the kind of the expired timer in the slot.
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

    /// Removes the timer that is due from the slot, if it is not the retransmission timer.
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

    /// Whether the sender waits for the window to open.
    #[inline(always)]
    pub(super) fn in_persist(&self) -> bool {
        self.persist.is_some()
    }

    /// The window has closed: its first probe is sent after `wait`.
    pub(super) fn begin_persist(&mut self, now: Instant, clock: Jiffies, wait: Duration) {
        self.persist = Some(Persist {
            wait,
            doublings: 0,
            due: false,
            frozen: self.running.map(|(due, _)| due.since(now)),
        });
        self.run_persist(now, clock, wait);
    }

    /// Sets the persist timer, which waits on the timer wheel like any other (tcp_reset_xmit_timer()).
    fn run_persist(&mut self, now: Instant, clock: Jiffies, wait: Duration) {
        let due = if clock.hz == 0 {
            now + wait
        } else {
            let ticks = clock.of_micros(wait.as_nanos() / 1000);
            self.bucket_ends(clock, clock.count(now), ticks)
        };
        self.running = Some((due, now));
    }

    /// The window is open. The retransmission timer continues with its remaining time: if it were restarted
    /// at each opening, a timer with a long back-off would never expire between two handoffs.
    pub(super) fn end_persist(&mut self, now: Instant) {
        if let Some(persist) = self.persist.take() {
            self.running = persist.frozen.map(|left| (now + left, now));
        }
    }

    /// The persist timer has expired: a probe may be sent, and the next one after twice the wait.
    pub(super) fn persist_expired(&mut self, now: Instant, clock: Jiffies, most: Duration) {
        if let Some(persist) = &mut self.persist {
            if self.most_doublings.is_none_or(|m| persist.doublings < m) {
                persist.wait = (persist.wait * 2).min(most);
                persist.doublings += 1;
            }
            persist.due = true;
            let wait = persist.wait;
            self.run_persist(now, clock, wait);
        }
    }

    pub(crate) fn limit_doublings(&mut self, most: u32) {
        self.most_doublings = Some(most);
    }

    /// The window is still closed, says an ACK: the next probe waits from now on (tcp_ack_probe()).
    pub(super) fn renew_persist(&mut self, now: Instant, clock: Jiffies) {
        if let Some(Persist { wait, .. }) = self.persist {
            self.run_persist(now, clock, wait);
        }
    }

    /// How often the wait for a probe of the closed window has doubled; none while the window is open.
    pub(crate) fn probe_doublings(&self) -> Option<u32> {
        self.persist.map(|persist| persist.doublings)
    }

    /// Whether a probe of the closed window may be sent now; true only once.
    pub(super) fn take_probe(&mut self) -> bool {
        let due = self.persist.as_mut().map(|persist| &mut persist.due);
        due.is_some_and(std::mem::take)
    }

    // ---- response to duplicate ACKs -----------------------------------------

    /// The deadline of the response.
    pub(super) fn delay(&self) -> Option<Deadline> {
        self.delay
    }

    /// Sets the deadline, and the end of expected reordering.
    pub(super) fn set_delay(&mut self, delay: Option<Deadline>, reordering_ends: Option<Deadline>) {
        self.delay = delay;
        self.wake = match (delay, reordering_ends) {
            (Some((due, _)), Some((end, _))) if end >= due => delay,
            (delay, None) => delay,
            (_, end) => end,
        };
    }

    /// The next wake-up besides the retransmission timer, and when it was set.
    pub(super) fn wake(&self) -> Option<Deadline> {
        self.wake
    }

    /// When to call again, and when that was set: the earlier of the two.
    #[inline(always)]
    pub(super) fn deadline(&self) -> Option<Deadline> {
        match (self.running, self.wake) {
            (timer, None) => timer,
            (Some(timer), Some(wake)) if timer.0 < wake.0 => Some(timer),
            (_, wake) => wake,
        }
    }
}
