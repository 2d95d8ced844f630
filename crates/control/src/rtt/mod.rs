//! Round-trip time estimation and the retransmission timeout.
//!
//! [`Rto`] owns the bounds and the back-off, which every estimator shares; an `Estimator` turns samples
//! into the unbounded timeout.

mod linux;
mod rfc6298;
mod ticks;

use midflight_units::{Duration, Instant, Seq};

use crate::jiffies::Jiffies;

pub use linux::Linux;
pub use rfc6298::Rfc6298;
pub use ticks::Ticks;

/// The estimator and its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EstimatorKind {
    /// The BSD integer filter over clock ticks, as in ns-2.
    Ticks {
        /// Length of a tick.
        tick: Duration,
        /// Phase of the tick clock relative to simulated time.
        phase: Duration,
        /// How much later the phase of each further flow of a run is.
        step: Duration,
    },
    /// RFC 6298 section 2 with this clock granularity `G`.
    Rfc6298 {
        /// Clock granularity `G`.
        granularity: Duration,
    },
    /// The Linux estimator, in microseconds and the ticks of [`RtoConfig::clock`]. The lower bound
    /// applies to the term that is added to the mean, not to the sum.
    Linux,
}

/// The bounds of the retransmission timeout and when its back-off ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// The estimator.
    pub estimator: EstimatorKind,
    /// Timeout before the first sample (RFC 6298 (2.1): 1 s; RFC 2988: 3 s).
    pub initial: Duration,
    /// Lower bound, applied before the back-off (RFC 6298 (2.4): 1 s).
    pub min: Duration,
    /// Upper bound, applied after the back-off (RFC 6298 (2.5): at least 60 s).
    pub max: Duration,
    /// The clock by which timers expire.
    pub clock: Jiffies,
}

/// An RTT sample, and the sender's state at that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampled {
    /// The round-trip time.
    pub rtt: Duration,
    /// When the segment was sent.
    pub sent: Instant,
    /// How many samples a window gives (1 unless timestamps give a sample at every ACK).
    pub per_window: u32,
    /// SND.UNA after the ACK that gave the sample.
    pub una: Seq,
    /// One past the highest segment sent.
    pub nxt: Seq,
}

#[derive(Clone, Copy, Debug)]
enum Estimator {
    Ticks(Ticks),
    Rfc6298(Rfc6298),
    Linux(Linux),
}

/// The retransmission timeout of one sender: estimate, bounds and back-off.
#[derive(Clone, Copy, Debug)]
pub struct Rto {
    estimator: Estimator,
    config: RtoConfig,
    initial: Duration,
    min: Duration,
    backoff: u32,
    timeout: Duration,
}

impl Rto {
    /// A timeout without any sample.
    pub fn new(config: RtoConfig) -> Self {
        let estimator = match config.estimator {
            EstimatorKind::Ticks { tick, phase, .. } => Estimator::Ticks(Ticks::new(tick, phase)),
            EstimatorKind::Rfc6298 { granularity } => Estimator::Rfc6298(Rfc6298::new(granularity)),
            EstimatorKind::Linux => Estimator::Linux(Linux::new(config.clock, config.min)),
        };
        let mut rto = Self {
            estimator,
            config,
            initial: config.initial,
            min: config.min,
            backoff: 1,
            timeout: config.initial,
        };
        rto.update();
        rto
    }

    /// Takes a sample.
    #[inline(always)]
    pub fn sample(&mut self, sampled: &Sampled) {
        let &Sampled { rtt, sent, .. } = sampled;
        match &mut self.estimator {
            Estimator::Ticks(e) => e.sample(rtt, sent),
            Estimator::Rfc6298(e) => e.sample(rtt, sampled.per_window),
            Estimator::Linux(e) => {
                if !e.sample(rtt, sent, sampled.una, sampled.nxt) {
                    return;
                }
            }
        }
        self.update();
    }

    /// Takes a sample whose round-trip time is this many whole microseconds.
    #[inline(always)]
    pub fn sample_micros(&mut self, micros: u64, sampled: &Sampled) {
        match &mut self.estimator {
            Estimator::Linux(e) => {
                if e.sample_micros(micros, sampled.una, sampled.nxt) {
                    self.update();
                }
            }
            _ => self.sample(sampled),
        }
    }

    /// Takes a sample as [`Self::sample`] would the first, with at least this
    /// mean and deviation (RFC 4015 section 3.1, step 11).
    pub fn sample_with_at_least(
        &mut self,
        rtt: Duration,
        sent: Instant,
        srtt: Duration,
        rttvar: Duration,
    ) {
        match &mut self.estimator {
            Estimator::Ticks(e) => e.sample_with_at_least(rtt, sent, srtt, rttvar),
            Estimator::Rfc6298(e) => e.sample_with_at_least(rtt, srtt, rttvar),
            Estimator::Linux(e) => e.sample_with_at_least(rtt, sent, srtt, rttvar),
        }
        self.update();
    }

    /// The timeout for arming the timer now: the estimate, raised to the minimum, times the back-off,
    /// limited to the maximum.
    #[inline]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Computes the timeout again, after any of its inputs has changed.
    #[inline]
    fn update(&mut self) {
        let base = match &self.estimator {
            Estimator::Ticks(e) => e.timeout(),
            Estimator::Rfc6298(e) => e.timeout(),
            Estimator::Linux(e) => e.timeout(),
        };
        let clamped = base.unwrap_or(self.initial).max(self.min);
        let floor = match self.estimator {
            // ns-2: never below two ticks.
            Estimator::Ticks(e) => e.tick() * 2,
            Estimator::Rfc6298(_) | Estimator::Linux(_) => Duration::ZERO,
        };
        self.timeout = (clamped * u64::from(self.backoff))
            .min(self.config.max)
            .max(floor);
    }

    /// Doubles the timeout (RFC 6298 (5.5)). The factor stops growing once the timeout is at its
    /// maximum. After more than three doublings the tick estimator distrusts its mean, as in BSD.
    pub fn back_off(&mut self) {
        if self.backoff < 64 || self.timeout() < self.config.max {
            self.backoff = self.backoff.saturating_mul(2);
        }
        if self.backoff > 8 {
            match &mut self.estimator {
                Estimator::Ticks(e) => e.distrust(),
                // RFC 6298 section 5: SRTT and RTTVAR MAY be cleared after several back-offs; kept here.
                Estimator::Rfc6298(_) | Estimator::Linux(_) => {}
            }
        }
        self.update();
    }

    /// Ends the back-off. Karn's algorithm requires an ACK with a valid sample; ns-2 does it on a
    /// partial ACK too, and a policy may order it.
    pub fn end_back_off(&mut self) {
        self.backoff = 1;
        self.update();
    }

    /// Takes back one doubling (RFC 6069, tcp_ld_RTO_revert()).
    pub fn revert_back_off(&mut self) {
        self.backoff = (self.backoff / 2).max(1);
        self.update();
    }

    /// Clears all samples; `initial` applies until the next one.
    pub fn restart(&mut self, initial: Duration) {
        match &mut self.estimator {
            Estimator::Ticks(e) => e.restart(),
            Estimator::Rfc6298(e) => e.restart(),
            Estimator::Linux(e) => e.restart(),
        }
        self.initial = initial;
        self.backoff = 1;
        self.update();
    }

    /// The back-off factor, a power of two.
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// The current lower bound.
    pub fn min(&self) -> Duration {
        self.min
    }

    /// Changes the lower bound.
    pub fn set_min(&mut self, min: Duration) {
        self.min = min;
        if let Estimator::Linux(e) = &mut self.estimator {
            e.set_min(min);
        }
        self.update();
    }

    /// The smoothed round-trip time, if there has been a sample.
    #[inline]
    pub fn srtt(&self) -> Option<Duration> {
        match &self.estimator {
            Estimator::Ticks(e) => e.srtt(),
            Estimator::Rfc6298(e) => e.srtt(),
            Estimator::Linux(e) => e.srtt(),
        }
    }

    /// The smoothed round-trip time in eighths of microseconds, as in the kernel (srtt_us), if there has been a sample.
    #[inline]
    pub fn srtt_x8(&self) -> Option<u64> {
        match &self.estimator {
            Estimator::Linux(e) => e.srtt_x8(),
            _ => self.srtt().map(|srtt| srtt.as_nanos() * 8 / 1000),
        }
    }

    /// The mean deviation of the round-trip time, if there has been a sample.
    pub fn rttvar(&self) -> Option<Duration> {
        match &self.estimator {
            Estimator::Ticks(e) => e.rttvar(),
            Estimator::Rfc6298(e) => e.rttvar(),
            Estimator::Linux(e) => e.rttvar(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns2() -> Rto {
        Rto::new(RtoConfig {
            estimator: EstimatorKind::Ticks {
                tick: Duration::from_millis(10),
                phase: Duration::from_nanos(3396),
                step: Duration::ZERO,
            },
            initial: Duration::from_secs(6),
            min: Duration::from_millis(200),
            max: Duration::from_secs(60),
            clock: Jiffies::EXACT,
        })
    }

    fn sample(rto: &mut Rto, ms: u64) {
        rto.sample(&Sampled {
            rtt: Duration::from_millis(ms),
            sent: Instant::ZERO,
            per_window: 1,
            una: 1,
            nxt: 2,
        });
    }

    #[test]
    fn the_minimum_is_applied_before_the_back_off_and_the_maximum_after() {
        let mut rto = ns2();
        assert_eq!(rto.timeout(), Duration::from_secs(6));
        sample(&mut rto, 20);
        assert_eq!(rto.timeout(), Duration::from_millis(200));
        rto.back_off();
        assert_eq!(rto.timeout(), Duration::from_millis(400));
        for _ in 0..12 {
            rto.back_off();
        }
        assert_eq!(rto.timeout(), Duration::from_secs(60));
    }

    /// The timeout is that of the estimate, although it is computed only when that reaches another tick.
    #[test]
    fn the_timeout_follows_the_estimate_of_linux() {
        let clock = Jiffies {
            hz: 250,
            phase: Duration::ZERO,
        };
        let mut rto = Rto::new(RtoConfig {
            estimator: EstimatorKind::Linux,
            min: Duration::from_millis(200),
            clock,
            ..ns2().config
        });
        let mut timeouts = std::collections::BTreeSet::new();
        for n in 0..400 {
            let ms = 20 + n * n % 97;
            match n % 90 {
                40 => rto.set_min(Duration::from_millis(100 + ms)),
                50 => rto.back_off(),
                60 => rto.end_back_off(),
                70 => {
                    let (srtt, rttvar) = (Duration::from_millis(300), Duration::from_millis(ms));
                    let rtt = Duration::from_millis(ms);
                    rto.sample_with_at_least(rtt, Instant::ZERO, srtt, rttvar);
                }
                80 => rto.restart(Duration::from_secs(3)),
                _ => sample(&mut rto, ms),
            }
            let mut again = rto;
            again.update();
            assert_eq!(rto.timeout(), again.timeout(), "{n}");
            timeouts.insert(rto.timeout());
        }
        assert!(timeouts.len() > 10);
    }

    #[test]
    fn a_restart_forgets_samples_and_back_off() {
        let mut rto = ns2();
        sample(&mut rto, 700);
        rto.back_off();
        rto.restart(Duration::from_secs(3));
        assert_eq!((rto.timeout(), rto.srtt()), (Duration::from_secs(3), None));
    }
}
