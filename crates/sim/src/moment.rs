//! The order of simultaneous events.
//!
//! Time is an integer count of nanoseconds. ns-2 keeps it as an IEEE double in
//! seconds, and there two events that are simultaneous in exact arithmetic are
//! ordered by rounding error. On a slow link such ties are common (a delayed
//! ACK timer of 100 ms against packets of 60 ms), and which side wins changes
//! the run. So a world carries ns-2's double beside the exact time, computed by
//! the same operations in the same order, and uses it for nothing but the order
//! of events at equal nanoseconds.

use midflight_units::{Duration, Instant};

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

    fn plus(self, at: Instant, seconds: f64) -> Self {
        Self {
            at,
            shadow: (f64::from_bits(self.shadow) + seconds).to_bits(),
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
        self.plus(deadline, seconds)
    }

    /// The end of a transmission that starts now and takes `nanos`, in ns-2 `seconds`.
    pub(crate) fn after_transmission(self, nanos: u64, seconds: f64) -> Self {
        self.plus(self.at + Duration::from_nanos(nanos), seconds)
    }

    /// The arrival of the packet whose transmission of `seconds` started now and ends at `free`.
    pub(crate) fn arrival(self, free: Instant, seconds: f64, delay: Duration) -> Self {
        self.plus(free + delay, seconds + delay.as_nanos() as f64 / 1e9)
    }
}
