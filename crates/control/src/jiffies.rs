//! The clock of a Linux kernel's timers: ticks of 1/HZ s ("jiffies"), and the timer wheel, which
//! rounds distant expiries (kernel/time/timer.c).
//!
//! The wheel keeps timers in buckets. Up to 62 ticks ahead a bucket is a tick wide, up to 503 ticks
//! 8, up to 4031 ticks 64, and so on. A timer expires at the end of its bucket, so never early: one
//! set within a tick for n ticks expires n + 1 edges later (calc_index()).

use midflight_units::{Duration, Instant};

/// A kernel's tick clock; exact if HZ is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Jiffies {
    /// Ticks per second; 0 for timers that expire exactly when due.
    pub hz: u32,
    /// The clock's value at time zero, counted from tick zero.
    pub phase: Duration,
}

const NANOS: u64 = 1_000_000_000;
const MICROS: u64 = 1_000_000;
/// The clock of the profile `linux`.
const USUAL_HZ: u32 = 250;
const USUAL_TICK: u64 = NANOS / USUAL_HZ as u64;
/// Buckets per level minus one, and the ratio of the levels' granularities as a power of two.
const LEVEL: u64 = 63;
const COARSER: u32 = 3;
/// Levels of the wheel for HZ above 100.
const LEVELS: u32 = 9;

impl Jiffies {
    /// A clock without ticks.
    pub const EXACT: Self = Self {
        hz: 0,
        phase: Duration::ZERO,
    };

    /// Ticks per second. A clock without ticks counts microseconds.
    pub fn per_second(self) -> u64 {
        match self.hz {
            0 => MICROS,
            hz => u64::from(hz),
        }
    }

    #[inline]
    fn tick(self) -> u64 {
        match self.hz {
            USUAL_HZ => USUAL_TICK,
            _ => NANOS / self.per_second(),
        }
    }

    /// The number of the tick that has begun last.
    #[inline]
    pub fn count(self, now: Instant) -> u64 {
        let shown = now.as_nanos() + self.phase.as_nanos();
        match self.hz {
            // For a constant the compiler multiplies instead.
            USUAL_HZ => shown / USUAL_TICK,
            _ => self.unusual_count(shown),
        }
    }

    /// When a tick begins.
    pub fn begins(self, tick: u64) -> Instant {
        let at = self.length(tick).as_nanos();
        Instant::from_nanos(at.saturating_sub(self.phase.as_nanos()))
    }

    /// Apart from the other, because the compiler would merge both divisions into one by a variable.
    #[cold]
    fn unusual_count(self, shown: u64) -> u64 {
        shown / self.tick()
    }

    /// Whole ticks, rounded up (usecs_to_jiffies()).
    #[inline]
    #[allow(
        clippy::manual_div_ceil,
        reason = "half the instructions, and a time is far from the largest number"
    )]
    pub fn of_micros(self, micros: u64) -> u64 {
        match self.hz {
            USUAL_HZ => (micros + (USUAL_TICK / 1000 - 1)) / (USUAL_TICK / 1000),
            _ => (micros * self.per_second()).div_ceil(MICROS),
        }
    }

    /// The length of this many ticks.
    #[inline]
    pub fn length(self, ticks: u64) -> Duration {
        Duration::from_nanos(ticks * self.tick())
    }

    /// The time in whole microseconds, and then in whole ticks, rounded up; unchanged without ticks.
    #[inline]
    pub fn round_up(self, time: Duration) -> Duration {
        if self.hz == 0 {
            return time;
        }
        self.round_up_micros(time.as_nanos() / 1000)
    }

    /// As [`Self::round_up`], of a time in microseconds.
    #[inline]
    pub fn round_up_micros(self, micros: u64) -> Duration {
        if self.hz == 0 {
            return Duration::from_micros(micros);
        }
        self.length(self.of_micros(micros))
    }

    /// When a timer expires that is set now for this time.
    #[inline]
    pub fn rings(self, now: Instant, after: Duration) -> Instant {
        if self.hz == 0 {
            return now + after;
        }
        let ticks = self.of_micros(after.as_nanos() / 1000);
        self.edge(self.count(now), ticks, 0)
    }

    /// When a timer expires that is set in tick `begun` for this many ticks. In a tick in which a timer has expired
    /// (`turned`) the wheel has advanced to the next tick, which determines the width of the bucket (`clk` of
    /// `struct timer_base` while and after __run_timers()). Only for a clock with ticks.
    #[inline]
    pub fn rings_at(self, begun: u64, ticks: u64, turned: bool) -> Instant {
        self.edge(begun, ticks, turned.into())
    }

    /// When a timer that is set in tick `begun` for this many ticks expires, if the wheel has advanced by `turned`
    /// since.
    #[inline]
    fn edge(self, begun: u64, ticks: u64, turned: u64) -> Instant {
        let (due, ahead) = (begun + ticks, ticks.saturating_sub(turned));
        let level = if ahead < LEVEL {
            0
        } else {
            let reaches = |level: &u32| ahead >= LEVEL << (COARSER * level);
            (0..LEVELS - 1).take_while(reaches).count() as u32
        };
        let shift = COARSER * level;
        let edge = ((due >> shift) + 1) << shift;
        let at = edge * self.tick();
        Instant::from_nanos(at.saturating_sub(self.phase.as_nanos()))
    }

    /// As [`Self::rings`], for this many ticks from `begun`, the tick that contains `now`.
    #[inline]
    pub fn rings_in(self, now: Instant, begun: u64, ticks: u64) -> Instant {
        match self.hz {
            0 => now + self.length(ticks),
            _ => self.edge(begun, ticks, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HZ_250: Jiffies = Jiffies {
        hz: 250,
        phase: Duration::ZERO,
    };

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn micros_are_rounded_up_to_ticks() {
        assert_eq!(HZ_250.of_micros(0), 0);
        assert_eq!(HZ_250.of_micros(1), 1);
        assert_eq!(HZ_250.of_micros(4000), 1);
        assert_eq!(HZ_250.of_micros(4001), 2);
        // 40.096 ms + 200 ms are 61 ticks: the 244 ms that a kernel with HZ 250 reports.
        let rto = HZ_250.round_up(Duration::from_micros(240_096));
        assert_eq!(rto, ms(244));
        assert_eq!(
            Jiffies::EXACT.round_up(Duration::from_nanos(7)),
            Duration::from_nanos(7)
        );
    }

    /// Measured on a kernel with HZ 250: the RTO of 228 ms is 57 ticks and expires 232 ms, 58 edges, after a probe
    /// that was sent at an edge.
    #[test]
    fn a_near_timer_rings_at_the_edge_after_its_tick() {
        assert_eq!(HZ_250.rings(at(400), ms(228)), at(632));
        assert_eq!(HZ_250.rings(at(401), ms(228)), at(632));
        assert_eq!(HZ_250.rings(at(403), Duration::ZERO), at(404));
    }

    /// Measured on a kernel with HZ 250: after a probe at tick 39 the RTO of 252 ms, 63 ticks, expires at tick 103 and
    /// not at 104, the end of its bucket of 8.
    #[test]
    fn a_timer_that_is_set_by_another_is_a_tick_nearer() {
        assert_eq!(HZ_250.rings_at(39, 63, true), at(412));
        assert_eq!(HZ_250.rings_at(39, 63, false), at(416));
        assert_eq!(HZ_250.rings(at(156), ms(252)), at(416));
        assert_eq!(HZ_250.rings_at(39, 64, true), at(416));
    }

    /// 63 ticks ahead is the second level: by hand, tick 100 + 63 = 163 is in the bucket of ticks 160 to 167 and
    /// expires at 168; 100 + 504 = 604, third level, in 576 to 639, at 640.
    #[test]
    fn a_far_timer_rings_at_the_end_of_a_wider_bucket() {
        assert_eq!(HZ_250.rings(at(400), ms(62 * 4)), at(163 * 4));
        assert_eq!(HZ_250.rings(at(400), ms(63 * 4)), at(168 * 4));
        assert_eq!(HZ_250.rings(at(400), ms(504 * 4)), at(640 * 4));
    }

    #[test]
    fn the_phase_moves_the_edges() {
        let clock = Jiffies {
            hz: 100,
            phase: ms(3),
        };
        assert_eq!(clock.count(at(6)), 0);
        assert_eq!(clock.count(at(7)), 1);
        assert_eq!(clock.rings(at(0), ms(10)), at(17));
    }

    #[test]
    fn without_ticks_a_timer_rings_when_it_is_to() {
        let after = Duration::from_nanos(12_345);
        assert_eq!(Jiffies::EXACT.rings(at(1), after), at(1) + after);
    }
}
