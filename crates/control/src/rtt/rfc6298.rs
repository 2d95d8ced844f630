//! RFC 6298 section 2: SRTT, RTTVAR and the timeout, in integer nanoseconds.
//! With timestamps every ACK gives a sample; the gains are then divided by the
//! expected number of samples in a window, as RFC 7323 appendix G suggests.

use midflight_units::Duration;

/// RTT estimate in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Rfc6298 {
    granularity: Duration,
    estimate: Option<(u64, u64)>,
}

impl Rfc6298 {
    /// No sample yet.
    pub fn new(granularity: Duration) -> Self {
        Self {
            granularity,
            estimate: None,
        }
    }

    /// Takes a sample (RFC 6298 (2.2), (2.3)).
    pub fn sample(&mut self, rtt: Duration, per_window: u32) {
        let r = rtt.as_nanos();
        let n = i128::from(per_window.max(1));
        self.estimate = Some(match self.estimate {
            None => (r, r / 2),
            Some((srtt, rttvar)) => {
                let err = i128::from(r) - i128::from(srtt);
                let var = i128::from(rttvar) + (err.abs() - i128::from(rttvar)) / (4 * n);
                let mean = i128::from(srtt) + err / (8 * n);
                (mean.max(0) as u64, var.max(0) as u64)
            }
        });
    }

    /// Starts from this sample, with at least this mean and deviation; the stored mean is two clock
    /// ticks longer (RFC 4015 section 3.1, steps 0 and 11).
    pub fn sample_with_at_least(&mut self, rtt: Duration, srtt: Duration, rttvar: Duration) {
        let kept = srtt + self.granularity * 2;
        let half = Duration::from_nanos(rtt.as_nanos() / 2);
        self.estimate = Some((rtt.max(kept).as_nanos(), half.max(rttvar).as_nanos()));
    }

    /// SRTT + max(G, 4 RTTVAR), before any bound.
    pub fn timeout(&self) -> Option<Duration> {
        self.estimate.map(|(srtt, rttvar)| {
            Duration::from_nanos(srtt) + self.granularity.max(Duration::from_nanos(rttvar) * 4)
        })
    }

    /// Clears all state.
    pub fn restart(&mut self) {
        self.estimate = None;
    }

    /// The smoothed round-trip time, if there has been a sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.estimate.map(|(srtt, _)| Duration::from_nanos(srtt))
    }

    /// The mean deviation, if there has been a sample.
    pub fn rttvar(&self) -> Option<Duration> {
        self.estimate
            .map(|(_, rttvar)| Duration::from_nanos(rttvar))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_and_later_samples_follow_section_2() {
        let mut e = Rfc6298::new(Duration::from_millis(1));
        e.sample(Duration::from_millis(100), 1);
        assert_eq!(e.timeout(), Some(Duration::from_millis(300)));
        e.sample(Duration::from_millis(180), 1);
        // RTTVAR = 3/4 x 50 + 1/4 x 80 = 57.5; SRTT = 7/8 x 100 + 1/8 x 180 = 110.
        assert_eq!(e.timeout(), Some(Duration::from_millis(340)));
    }
}
