//! The order of simultaneous events.
//!
//! Time is an integer count of nanoseconds, and that is too coarse for links: if a transmission does not take a
//! whole number of nanoseconds (54 Mbit/s), a departure and an arrival at the same time would be a nanosecond
//! apart. The order of two simultaneous events changes the run. So a world has a finer time, which rounds to
//! nanoseconds. Its kind, the [`Clock`], depends on the reference with which the world is compared.

use std::cmp::Ordering;

use midflight_units::{Duration, Instant, Rate};

/// The representation of time between nanoseconds.
///
/// ns-2 keeps time as an IEEE double in seconds, and there two events that are simultaneous in exact arithmetic
/// are ordered by rounding error. On a slow link such ties are common (a delayed ACK timer of 100 ms against
/// packets of 60 ms). So a world that is compared with ns-2 has ns-2's double, computed by the same operations
/// in the same order.
///
/// The links between the kernels of the lab count whole picoseconds, and a kernel acts at whole nanoseconds:
/// when a packet reaches it, the fraction is dropped. A double represents picoseconds exactly up to 9007 s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// Seconds in IEEE doubles, as in ns-2.
    #[default]
    Seconds,
    /// Whole picoseconds on links, whole nanoseconds at flow endpoints, as in the lab.
    Picoseconds,
}

const PICOS_PER_NANO: u64 = 1_000;
const PICOS_PER_SECOND: u64 = 1_000_000_000_000;

impl Clock {
    /// A duration given in nanoseconds.
    #[inline]
    pub(crate) fn span(self, of: Duration) -> f64 {
        match self {
            Self::Seconds => of.as_nanos() as f64 / 1e9,
            Self::Picoseconds => PICOS_PER_NANO as f64 * of.as_nanos() as f64,
        }
    }

    /// A number of seconds that was drawn or computed.
    pub(crate) fn of_seconds(self, seconds: f64) -> f64 {
        match self {
            Self::Seconds => seconds,
            Self::Picoseconds => (seconds * PICOS_PER_SECOND as f64).round(),
        }
    }

    /// Seconds from the start of the run.
    pub(crate) fn seconds(self, at: FineTime) -> f64 {
        match self {
            Self::Seconds => at.0,
            Self::Picoseconds => at.0 / PICOS_PER_SECOND as f64,
        }
    }

    /// The instant this many seconds after the start of the run.
    pub(crate) fn at_seconds(self, seconds: f64) -> FineTime {
        FineTime(self.of_seconds(seconds))
    }

    /// How long a transmission takes.
    pub(crate) fn transmission(self, bytes: u32, rate: Rate) -> f64 {
        match self {
            Self::Seconds => 8.0 * f64::from(bytes) / rate.as_bps() as f64,
            Self::Picoseconds => {
                let bits = 8 * u128::from(bytes) * u128::from(PICOS_PER_SECOND);
                let rate = rate.as_bps();
                ((bits + u128::from(rate / 2)) / u128::from(rate)) as f64
            }
        }
    }

    /// A moment given in nanoseconds.
    #[inline]
    pub(crate) fn written(self, at: Instant) -> Moment {
        let fine = match self {
            Self::Seconds => at.as_nanos() as f64 / 1e9,
            Self::Picoseconds => PICOS_PER_NANO as f64 * at.as_nanos() as f64,
        };
        Moment {
            at,
            fine: FineTime(fine),
        }
    }

    /// The moment of an event at a whole nanosecond. As a signed number, whose conversion takes one instruction.
    #[inline(always)]
    pub(crate) fn whole(self, at: Instant) -> Moment {
        match self {
            Self::Seconds => self.written(at),
            Self::Picoseconds => Moment {
                at,
                fine: FineTime(PICOS_PER_NANO as f64 * at.as_nanos() as i64 as f64),
            },
        }
    }

    /// Rounds a finer time to the nanosecond, so that both order events alike.
    #[inline(always)]
    pub(crate) fn moment(self, fine: FineTime) -> Moment {
        let nanos = match self {
            Self::Seconds => (fine.0 * 1e9 + 0.5) as i64 as u64,
            Self::Picoseconds => (fine.0 as i64 as u64 + PICOS_PER_NANO / 2) / PICOS_PER_NANO,
        };
        let at = Instant::from_nanos(nanos);
        Moment { at, fine }
    }

    /// When a timer that was armed at `armed` expires, and its position among simultaneous events. ns-2's timers
    /// count in hundredths of a second. In a kernel the timers of its wheel expire before it processes packets
    /// of the same nanosecond, and high-resolution timers after that (TIMER_SOFTIRQ, NET_RX_SOFTIRQ,
    /// HRTIMER_SOFTIRQ).
    pub(crate) fn timer(
        self,
        armed: Moment,
        deadline: Instant,
        high_resolution: bool,
    ) -> (Moment, Scheduled) {
        match self {
            Self::Seconds => {
                let due = Self::after_timer(armed, deadline);
                (due, Scheduled::alone(armed.fine))
            }
            Self::Picoseconds => {
                let Moment { at, fine } = self.written(deadline);
                if high_resolution {
                    let fine = fine.plus((PICOS_PER_NANO / 2 - 1) as f64);
                    (Moment { at, fine }, Scheduled::NEVER)
                } else {
                    (Moment { at, fine }, Scheduled::OF_WHEEL)
                }
            }
        }
    }

    /// The position of a packet among packets that arrive at the same time over several links. In the lab the
    /// order is by the start of their transmissions, and then by the links' numbers.
    #[inline]
    pub(crate) fn arrival(self, start: Scheduled, link: u16) -> Scheduled {
        match self {
            Self::Seconds => start,
            Self::Picoseconds => Scheduled {
                at: start.at,
                by: FineTime(link.into()),
                before: FineTime::ZERO,
            },
        }
    }

    fn after_timer(armed: Moment, deadline: Instant) -> Moment {
        let wait = deadline.since(armed.at).as_nanos();
        let seconds = if wait.is_multiple_of(10_000_000) {
            (wait / 10_000_000) as f64 * 0.01
        } else {
            wait as f64 / 1e9
        };
        Moment {
            at: deadline,
            fine: armed.fine.plus(seconds),
        }
    }

    /// One nanosecond in the unit of this clock; rounding cannot remove it.
    pub(crate) fn nanosecond(self) -> f64 {
        match self {
            Self::Seconds => 1e-9,
            Self::Picoseconds => PICOS_PER_NANO as f64,
        }
    }
}

/// An instant in the unit of a clock, never negative and never NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FineTime(f64);

impl Eq for FineTime {}

impl PartialOrd for FineTime {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    // The comparisons on a packet's path, as the processor compares doubles.
    #[inline]
    fn gt(&self, other: &Self) -> bool {
        self.0 > other.0
    }

    #[inline]
    fn ge(&self, other: &Self) -> bool {
        self.0 >= other.0
    }
}

impl Ord for FineTime {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl FineTime {
    pub(crate) const ZERO: Self = Self(0.0);
    pub(crate) const NEVER: Self = Self(f64::INFINITY);

    /// The sum with a time in the unit of the same clock.
    #[inline]
    pub(crate) fn plus(self, span: f64) -> Self {
        Self(self.0 + span)
    }

    /// The time from another instant to this one; negative if the other is later.
    pub(crate) fn minus(self, other: Self) -> f64 {
        self.0 - other.0
    }
}

/// An instant in nanoseconds and in the finer time of its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    pub(crate) at: Instant,
    pub(crate) fine: FineTime,
}

impl Moment {
    pub(crate) const ZERO: Self = Self {
        at: Instant::ZERO,
        fine: FineTime::ZERO,
    };
    pub(crate) const NEVER: Self = Self {
        at: Instant::NEVER,
        fine: FineTime::NEVER,
    };
}

/// When an event was scheduled, when the event that scheduled it was scheduled, and the same once more.
///
/// ns-2 runs simultaneous events in the order in which they were put on its list. Two packets that reach the
/// receiver over both paths at one instant were put there at one instant too; then the earlier steps decide.
/// With access links of the same rate and delay both are needed: the transmissions begin together, one at the
/// end of another, one at an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Scheduled {
    pub(crate) at: FineTime,
    pub(crate) by: FineTime,
    pub(crate) before: FineTime,
}

impl Scheduled {
    pub(crate) const START: Self = Self::alone(FineTime::ZERO);
    pub(crate) const NEVER: Self = Self::alone(FineTime::NEVER);
    /// After [`Self::START`] and before anything that was scheduled during the run.
    const OF_WHEEL: Self = Self {
        before: FineTime(1.0),
        ..Self::START
    };

    pub(crate) const fn alone(at: FineTime) -> Self {
        Self {
            at,
            by: at,
            before: at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half a picosecond more or less than the exact time, in integers.
    #[test]
    fn picoseconds_are_the_nearest_and_round_to_nanoseconds_up_from_the_half() {
        let clock = Clock::Picoseconds;
        for bps in [200_000, 54_000_000, 178_000_000, 999_999_937] {
            for bytes in [40, 52, 1500] {
                let Some(rate) = Rate::from_bps(bps) else {
                    unreachable!()
                };
                let picos = clock.transmission(bytes, rate) as u128;
                let exact = 8 * u128::from(bytes) * u128::from(PICOS_PER_SECOND);
                let twice = 2 * picos * u128::from(bps);
                assert!(
                    twice.abs_diff(2 * exact) <= u128::from(bps),
                    "{bps} {bytes}"
                );
            }
        }
        let nanos = |picos: f64| clock.moment(FineTime(picos)).at.as_nanos();
        assert_eq!((nanos(499.0), nanos(500.0), nanos(1_499.0)), (0, 1, 1));
        // To the picosecond after two hours.
        let late = 7_200_000_000_000_500.0;
        assert_eq!(nanos(late), 7_200_000_000_001);
        assert_eq!(nanos(late - 1.0), 7_200_000_000_000);
        let written = clock.written(Instant::from_nanos(7_200_000_000_001));
        assert_eq!(written.fine, FineTime(7_200_000_000_001_000.0));
    }
}
