//! Trains: segments that are sent at given gaps instead of in a burst. A packet pair (Keshav 1991)
//! is a train without gaps, a chirp (Ribeiro et al. 2003, pathChirp) has gaps that shrink
//! geometrically, and a window that is paced over a round trip (RFC 4782 section 4.4) has equal
//! gaps. Probes at random times (Lakshminarayanan et al. 2004, ProbeGap) have exponentially
//! distributed gaps.

use std::fmt;

use midflight_units::{Duration, Rate};

use crate::estimate::ChirpRule;

/// New segments that are sent at given gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Train {
    /// Number that identifies the report; the policy that orders trains counts them.
    pub number: u16,
    /// Number of segments; fewer if there is less to send, or if the window never has room for
    /// them.
    pub segments: u16,
    /// The gaps between them.
    pub spacing: Spacing,
    /// What follows its last segment.
    pub then: Then,
}

/// What happens after the last segment of a train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Normal sending continues. If the receiver measures the train, its report is still expected,
    /// but nothing is held back for it.
    GoOn,
    /// No new segment is sent until the receiver has reported, or everything is acknowledged.
    AwaitReport,
    /// No new segment is sent for this time, and then the policies are called for the next train.
    /// Only a recovery, a closed window or another train ends this earlier.
    NextAfter(Duration),
}

/// The gaps between the segments of a train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Without a gap.
    BackToBack,
    /// With this gap.
    Even(Duration),
    /// Two by two without a gap, with this one between a pair and the next.
    Pairs(Duration),
    /// With this gap, which is a segment's time at the capacity of the bottleneck.
    AtCapacity(Duration),
    /// With random gaps, exponentially distributed, as of a Poisson process.
    Poisson {
        /// Mean gap.
        mean: Duration,
        /// First state of the generator of the gaps.
        seed: u64,
    },
    /// With gaps by which the instantaneous rate, one segment per gap, rises from `low` to `high`
    /// by a constant factor. Two segments are at `low`.
    Chirp {
        /// Rate of the first gap.
        low: Rate,
        /// Rate of the last gap.
        high: Rate,
        /// The receiver's rule of evaluation; its own default if there is none.
        rule: Option<ChirpRule>,
    },
}

/// What a receiver estimates from a train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The capacity of the bottleneck, from the dispersion of packet pairs.
    Capacity,
    /// The same of pairs that do not follow each other.
    PairedCapacity,
    /// The available bandwidth, from the rate at which a train sent at the capacity arrives.
    AtCapacity,
    /// The available bandwidth, from the share of probes that meet an idle link.
    IdleShare,
    /// The available bandwidth, from the position in a chirp where queueing delay rises, by this
    /// rule or the receiver's own.
    Available(Option<ChirpRule>),
}

impl Spacing {
    /// The receiver's measurement; none if the train only paces.
    pub fn measures(self) -> Option<Measure> {
        match self {
            Self::BackToBack => Some(Measure::Capacity),
            Self::Pairs(_) => Some(Measure::PairedCapacity),
            Self::AtCapacity(_) => Some(Measure::AtCapacity),
            Self::Poisson { .. } => Some(Measure::IdleShare),
            Self::Even(_) => None,
            Self::Chirp { rule, .. } => Some(Measure::Available(rule)),
        }
    }
}

impl Train {
    /// The gaps between its segments, each with this many bytes. The rates of a chirp are rounded
    /// to the nearest bit/s, its first and last are exact; a gap is rounded down to a nanosecond.
    pub fn gaps(&self, bytes: u32) -> Gaps {
        let left = self.segments.saturating_sub(1);
        let (rate, factor) = match self.spacing {
            Spacing::Chirp { low, high, .. } => {
                let (low, high) = (low.as_bps() as f64, high.as_bps() as f64);
                let steps = left.saturating_sub(1).max(1);
                (low, libm::pow(high / low, 1.0 / f64::from(steps)))
            }
            _ => (0.0, 1.0),
        };
        let state = match self.spacing {
            Spacing::Poisson { seed, .. } => seed,
            _ => 0,
        };
        Gaps {
            spacing: self.spacing,
            state,
            bytes: u64::from(bytes),
            only: left == 1,
            segments: self.segments,
            left,
            rate,
            factor,
        }
    }
}

/// The gaps of a train, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaps {
    spacing: Spacing,
    bytes: u64,
    /// There is only one gap.
    only: bool,
    /// Segments of the train.
    segments: u16,
    left: u16,
    /// Rate of the next gap of a chirp, in bit/s.
    rate: f64,
    factor: f64,
    /// Of the generator of random gaps.
    state: u64,
}

/// The next number in (0, 1] of SplitMix64 (Steele, Lea & Flood, "Fast splittable pseudorandom number generators",
/// OOPSLA 2014), a multiple of 2^-53.
fn split_mix(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^= mixed >> 31;
    ((mixed >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

impl Gaps {
    /// Removes and returns the next gap.
    pub fn take(&mut self) -> Option<Duration> {
        self.left = self.left.checked_sub(1)?;
        Some(match self.spacing {
            Spacing::BackToBack => Duration::ZERO,
            Spacing::Even(gap) | Spacing::AtCapacity(gap) => gap,
            Spacing::Pairs(gap) => {
                // Behind the second of a pair, the fourth and so on.
                let gone = self.segments - 1 - self.left;
                if gone.is_multiple_of(2) {
                    gap
                } else {
                    Duration::ZERO
                }
            }
            Spacing::Poisson { mean, .. } => {
                let gap = -libm::log(split_mix(&mut self.state)) * mean.as_nanos() as f64;
                Duration::from_nanos(gap as u64)
            }
            Spacing::Chirp { low, high, .. } => {
                let rate = if self.left == 0 && !self.only {
                    high
                } else {
                    Rate::from_bps((self.rate + 0.5) as u64).unwrap_or(low)
                };
                self.rate *= self.factor;
                rate.transmission_time(self.bytes)
            }
        })
    }
}

impl fmt::Display for Train {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            number, segments, ..
        } = self;
        match self.spacing {
            Spacing::BackToBack => write!(f, "{segments} segments back to back")?,
            Spacing::Even(gap) => write!(f, "{segments} segments with gaps of {gap}")?,
            Spacing::Pairs(gap) => write!(f, "{segments} segments in pairs {gap} apart")?,
            Spacing::AtCapacity(gap) => {
                write!(f, "{segments} segments at the capacity, {gap} apart")?;
            }
            Spacing::Poisson { mean, .. } => {
                write!(
                    f,
                    "{segments} probes at random times, {mean} apart in the mean"
                )?;
            }
            Spacing::Chirp { low, high, .. } => {
                write!(f, "a chirp of {segments} segments from {low} to {high}")?;
            }
        }
        write!(f, " (train {number})")?;
        match self.then {
            Then::GoOn => Ok(()),
            Then::AwaitReport => write!(f, " and wait for the report"),
            Then::NextAfter(gap) => write!(f, " and after {gap} the next"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rate(bps: u64) -> Rate {
        Rate::from_bps(bps).unwrap_or(Rate::from_mbps(1))
    }

    fn gaps(segments: u16, spacing: Spacing, bytes: u32) -> Vec<u64> {
        let train = Train {
            number: 1,
            segments,
            spacing,
            then: Then::GoOn,
        };
        let mut gaps = train.gaps(bytes);
        std::iter::from_fn(|| gaps.take().map(Duration::as_nanos)).collect()
    }

    #[test]
    fn gaps_of_pairs_are_zero_and_of_an_even_train_equal() {
        assert_eq!(gaps(4, Spacing::BackToBack, 1500), [0, 0, 0]);
        let even = Spacing::Even(Duration::from_millis(7));
        assert_eq!(gaps(3, even, 1500), [7_000_000; 2]);
        assert_eq!(gaps(1, even, 1500), []);
        assert_eq!(gaps(0, even, 1500), []);
    }

    /// Four gaps from 1 to 8 Mbit/s: the factor is 8^(1/3) = 2, and 1000 bytes, 8000 bits, take
    /// 8, 4, 2 and 1 ms.
    #[test]
    fn a_chirp_doubles_its_rate_where_the_factor_is_two() {
        let (low, high) = (Rate::from_mbps(1), Rate::from_mbps(8));
        let chirp = Spacing::Chirp {
            low,
            high,
            rule: None,
        };
        assert_eq!(
            gaps(5, chirp, 1000),
            [8_000_000, 4_000_000, 2_000_000, 1_000_000]
        );
        assert_eq!(gaps(2, chirp, 1000), [8_000_000]);
        assert_eq!(gaps(3, chirp, 1000), [8_000_000, 1_000_000]);
    }

    /// 12,000 bits at 54 Mbit/s take 222,222.2 ns, rounded down to 222,222.
    #[test]
    fn a_gap_is_rounded_down_to_a_nanosecond() {
        let high = Rate::from_mbps(54);
        let chirp = Spacing::Chirp {
            low: high,
            high,
            rule: None,
        };
        assert_eq!(gaps(4, chirp, 1500), [222_222; 3]);
    }

    #[test]
    fn pairs_have_a_gap_behind_every_second_segment() {
        let apart = Spacing::Pairs(Duration::from_millis(5));
        let gap = 5_000_000;
        assert_eq!(gaps(6, apart, 1500), [0, gap, 0, gap, 0]);
        assert_eq!(gaps(5, apart, 1500), [0, gap, 0, gap]);
        let steady = Spacing::AtCapacity(Duration::from_millis(5));
        assert_eq!(gaps(3, steady, 1500), [gap; 2]);
    }

    /// The first outputs of SplitMix64 from the state 0 are 0xE220A8397B1DCDAF and 0x6E789E6AA1B965F4: 0.8833108 and
    /// 0.4315280 of 2^64.
    #[test]
    fn random_gaps_are_those_of_the_generator() {
        let mut state = 0;
        let drawn = [split_mix(&mut state), split_mix(&mut state)];
        assert!((drawn[0] - 0.883_310_8).abs() < 1e-7, "{drawn:?}");
        assert!((drawn[1] - 0.431_528_0).abs() < 1e-7, "{drawn:?}");
        let mean = Duration::from_millis(10);
        let of = |seed| gaps(3000, Spacing::Poisson { mean, seed }, 1500);
        // -10 ms ln 0.8833108 = 1.240782 ms.
        assert!(of(0)[0].abs_diff(1_240_782) < 10, "{}", of(0)[0]);
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
        // Exponential: the mean, and e^-1 of them longer than that.
        let (all, ms) = (of(1), 10_000_000);
        let sum: u64 = all.iter().sum();
        assert!((sum / all.len() as u64).abs_diff(ms) < ms / 20);
        let longer = all.iter().filter(|&&gap| gap > ms).count();
        assert!(longer.abs_diff(1103) < 80, "{longer}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_chirp_begins_and_ends_with_its_rates_and_never_slows_down(
            low in 1_000u64..100_000_000,
            factor in 1u64..1000,
            segments in 3u16..200,
            bytes in 41u32..9000,
        ) {
            let high = low * factor;
            let spacing = Spacing::Chirp { low: rate(low), high: rate(high), rule: None };
            let chirp = gaps(segments, spacing, bytes);
            prop_assert_eq!(chirp.len(), usize::from(segments) - 1);
            let of = |bps: u64| rate(bps).transmission_time(bytes.into()).as_nanos();
            prop_assert_eq!(chirp.first(), Some(&of(low)));
            prop_assert_eq!(chirp.last(), Some(&of(high)));
            prop_assert!(chirp.windows(2).all(|w| w[0] >= w[1]));
        }
    }
}
