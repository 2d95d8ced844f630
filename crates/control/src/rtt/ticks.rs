//! The BSD integer RTT filter over clock ticks (Jacobson 1988, appendix A), as in ns-2: the mean scaled by
//! 8, the mean deviation by 4, and a sample that counts how many tick boundaries passed.

use midflight_units::{Duration, Instant};

/// RTT estimate in clock ticks.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    tick: u64,
    phase: u64,
    srtt_x8: i64,
    rttvar_x4: i64,
    unclamped_rto: Option<i64>,
}

impl Ticks {
    /// No sample yet.
    pub fn new(tick: Duration, phase: Duration) -> Self {
        Self {
            tick: tick.as_nanos().max(1),
            phase: phase.as_nanos(),
            srtt_x8: 0,
            rttvar_x4: 0,
            unclamped_rto: None,
        }
    }

    /// Length of a tick.
    pub fn tick(&self) -> Duration {
        Duration::from_nanos(self.tick)
    }

    /// Takes a sample of a segment sent at `sent`.
    pub fn sample(&mut self, rtt: Duration, sent: Instant) {
        let into_tick = (sent.as_nanos() + self.phase) % self.tick;
        let m = (((rtt.as_nanos() + into_tick) / self.tick) as i64).max(1);
        if self.srtt_x8 == 0 {
            self.srtt_x8 = m << 3;
            self.rttvar_x4 = m << 1;
        } else {
            let delta = m - (self.srtt_x8 >> 3);
            self.srtt_x8 = (self.srtt_x8 + delta).max(1);
            self.rttvar_x4 = (self.rttvar_x4 + delta.abs() - (self.rttvar_x4 >> 2)).max(1);
        }
        self.unclamped_rto = Some(((self.rttvar_x4 << 3) + self.srtt_x8) >> 3);
    }

    /// Starts from this sample, with at least this mean and deviation; the stored mean is two ticks longer
    /// (RFC 4015 section 3.1, steps 0 and 11).
    pub fn sample_with_at_least(
        &mut self,
        rtt: Duration,
        sent: Instant,
        srtt: Duration,
        rttvar: Duration,
    ) {
        let scaled = |d: Duration, scale: u64| (d.as_nanos() * scale / self.tick) as i64;
        let (mean, deviation) = (scaled(srtt, 8) + 16, scaled(rttvar, 4));
        self.srtt_x8 = 0;
        self.sample(rtt, sent);
        self.srtt_x8 = self.srtt_x8.max(mean);
        self.rttvar_x4 = self.rttvar_x4.max(deviation);
        self.unclamped_rto = Some(((self.rttvar_x4 << 3) + self.srtt_x8) >> 3);
    }

    /// SRTT + 4 RTTVAR, before any bound.
    pub fn timeout(&self) -> Option<Duration> {
        self.unclamped_rto
            .map(|ticks| Duration::from_nanos(ticks as u64 * self.tick))
    }

    /// Moves the mean into the deviation, so that the next sample starts a new estimate while the current
    /// timeout stays.
    pub fn distrust(&mut self) {
        self.rttvar_x4 += self.srtt_x8 >> 3;
        self.srtt_x8 = 0;
    }

    /// Clears all state.
    pub fn restart(&mut self) {
        self.srtt_x8 = 0;
        self.rttvar_x4 = 0;
        self.unclamped_rto = None;
    }

    /// The mean deviation, if there has been a sample.
    pub fn rttvar(&self) -> Option<Duration> {
        let ticks_x4 = self.rttvar_x4 as u64 * self.tick;
        (self.srtt_x8 > 0).then(|| Duration::from_nanos(ticks_x4 >> 2))
    }

    /// The mean, if there is one.
    pub fn srtt(&self) -> Option<Duration> {
        (self.srtt_x8 > 0).then(|| Duration::from_nanos((self.srtt_x8 as u64 * self.tick) >> 3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_counts_tick_boundaries() {
        let mut e = Ticks::new(Duration::from_millis(10), Duration::ZERO);
        e.sample(Duration::from_millis(8), Instant::from_nanos(5_000_000));
        assert_eq!(
            e.srtt(),
            Some(Duration::from_millis(10)),
            "one boundary at 10 ms"
        );
        let mut e = Ticks::new(Duration::from_millis(10), Duration::ZERO);
        e.sample(Duration::from_millis(126), Instant::ZERO);
        // m = 12: srtt 12, rttvar 6, RTO = 12 + 4 x 6 = 36 ticks.
        assert_eq!(e.timeout(), Some(Duration::from_millis(360)));
    }
}
