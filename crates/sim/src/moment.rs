//! The order of simultaneous events.
//!
//! Time is an integer count of nanoseconds. ns-2 keeps it as an IEEE double in
//! seconds, and there two events that are simultaneous in exact arithmetic are
//! ordered by rounding error. On a slow link such ties are common (a delayed
//! ACK timer of 100 ms against packets of 60 ms), and on a link whose packets
//! take no whole number of nanoseconds (54 Mbit/s) a departure and an arrival
//! that meet would come a nanosecond apart. Which side wins changes the run. So
//! a world carries ns-2's double beside the nanoseconds, computed by the same
//! operations in the same order, and the nanoseconds are what it rounds to.

use std::cmp::Ordering;

use midflight_units::Instant;

/// ns-2's idea of an instant: seconds, never negative and never NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ns2Time(f64);

impl Eq for Ns2Time {}

impl PartialOrd for Ns2Time {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    // The ones on a packet's way, as the processor compares doubles.
    #[inline]
    fn gt(&self, other: &Self) -> bool {
        self.0 > other.0
    }

    #[inline]
    fn ge(&self, other: &Self) -> bool {
        self.0 >= other.0
    }
}

impl Ord for Ns2Time {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Ns2Time {
    pub(crate) const ZERO: Self = Self(0.0);
    pub(crate) const NEVER: Self = Self(f64::INFINITY);

    /// ns-2's sum.
    #[inline]
    pub(crate) fn plus(self, seconds: f64) -> Self {
        Self(self.0 + seconds)
    }

    /// The instant so many seconds after the start.
    pub(crate) const fn of_seconds(seconds: f64) -> Self {
        Self(seconds)
    }

    /// Seconds from the start.
    pub(crate) const fn as_seconds(self) -> f64 {
        self.0
    }

    /// Seconds from another instant to this one; negative if that is later.
    pub(crate) fn seconds_after(self, other: Self) -> f64 {
        self.0 - other.0
    }

    /// The nanosecond that this rounds to, so that both order events alike.
    #[inline]
    pub(crate) fn moment(self) -> Moment {
        let at = Instant::from_nanos((self.0 * 1e9 + 0.5) as i64 as u64);
        Moment { at, shadow: self }
    }
}

/// An instant with ns-2's idea of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    pub(crate) at: Instant,
    pub(crate) shadow: Ns2Time,
}

impl Moment {
    pub(crate) const ZERO: Self = Self {
        at: Instant::ZERO,
        shadow: Ns2Time::ZERO,
    };
    pub(crate) const NEVER: Self = Self {
        at: Instant::NEVER,
        shadow: Ns2Time::NEVER,
    };

    /// A moment written down as a decimal number of seconds.
    pub(crate) fn written(at: Instant) -> Self {
        Self {
            at,
            shadow: Ns2Time(at.as_nanos() as f64 / 1e9),
        }
    }

    /// The moment after this one by a timer; ns-2's timers run in hundredths of a second.
    pub(crate) fn after_timer(self, deadline: Instant) -> Self {
        let wait = deadline.since(self.at).as_nanos();
        let seconds = if wait.is_multiple_of(10_000_000) {
            (wait / 10_000_000) as f64 * 0.01
        } else {
            wait as f64 / 1e9
        };
        Self {
            at: deadline,
            shadow: self.shadow.plus(seconds),
        }
    }
}

/// When an event was scheduled, when the event that did so was, and when the
/// one that did that was.
///
/// ns-2 runs simultaneous events in the order in which they were put on its
/// list. Two packets that reach the receiver over both paths at one instant
/// were put there at one instant too; then the steps before decide. Over
/// access links of the same rate and delay it takes both: the transmissions
/// begin together, one at the end of another, one at an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Scheduled {
    pub(crate) at: Ns2Time,
    pub(crate) by: Ns2Time,
    pub(crate) before: Ns2Time,
}

impl Scheduled {
    pub(crate) const START: Self = Self::alone(Ns2Time::ZERO);
    pub(crate) const NEVER: Self = Self::alone(Ns2Time::NEVER);

    pub(crate) const fn alone(at: Ns2Time) -> Self {
        Self {
            at,
            by: at,
            before: at,
        }
    }
}
