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

use midflight_units::Instant;

/// An instant with ns-2's idea of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    pub(crate) at: Instant,
    /// Bits of a double that is never negative: they compare as the double does.
    shadow: u64,
}

impl Moment {
    pub(crate) const ZERO: Self = Self {
        at: Instant::ZERO,
        shadow: 0,
    };
    pub(crate) const NEVER: Self = Self {
        at: Instant::NEVER,
        shadow: u64::MAX,
    };

    /// A moment written down as a decimal number of seconds.
    pub(crate) fn written(at: Instant) -> Self {
        Self {
            at,
            shadow: (at.as_nanos() as f64 / 1e9).to_bits(),
        }
    }

    /// ns-2's sum; the nanoseconds are what it rounds to, so that both order events alike.
    fn plus(self, seconds: f64) -> Self {
        let shadow = f64::from_bits(self.shadow) + seconds;
        Self {
            at: Instant::from_nanos((shadow * 1e9 + 0.5) as i64 as u64),
            shadow: shadow.to_bits(),
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
            shadow: self.plus(seconds).shadow,
        }
    }

    /// The end of a transmission that starts now and takes `seconds`.
    pub(crate) fn after_transmission(self, seconds: f64) -> Self {
        self.plus(seconds)
    }

    /// The arrival of the packet whose transmission of `seconds` starts now, over
    /// a link with this delay in seconds.
    pub(crate) fn arrival(self, seconds: f64, delay: f64) -> Self {
        self.plus(seconds + delay)
    }
}

/// When an event was scheduled, and when the event that did so was.
///
/// ns-2 runs simultaneous events in the order in which they were put on its
/// list. Two packets that reach the receiver over both paths at one instant
/// were put there at one instant too; then the step before decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Scheduled {
    pub(crate) at: Instant,
    pub(crate) by: Instant,
}

impl Scheduled {
    pub(crate) const START: Self = Self::alone(Instant::ZERO);
    pub(crate) const NEVER: Self = Self::alone(Instant::NEVER);

    pub(crate) const fn alone(at: Instant) -> Self {
        Self { at, by: at }
    }
}
