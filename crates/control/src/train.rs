//! Trains: segments that are sent at given gaps instead of in a burst. A packet pair (Keshav 1991)
//! is a train without gaps, a chirp (Ribeiro et al. 2003, pathChirp) has gaps that shrink
//! geometrically, and a window that is paced over a round trip (RFC 4782 section 4.4) has equal
//! gaps.

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
    /// The available bandwidth, from the position in a chirp where queueing delay rises, by this
    /// rule or the receiver's own.
    Available(Option<ChirpRule>),
}

impl Spacing {
    /// The receiver's measurement; none if the train only paces.
    pub fn measures(self) -> Option<Measure> {
        match self {
            Self::BackToBack => Some(Measure::Capacity),
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
        Gaps {
            spacing: self.spacing,
            bytes: u64::from(bytes),
            only: left == 1,
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
    left: u16,
    /// Rate of the next gap of a chirp, in bit/s.
    rate: f64,
    factor: f64,
}

impl Gaps {
    /// Removes and returns the next gap.
    pub fn take(&mut self) -> Option<Duration> {
        self.left = self.left.checked_sub(1)?;
        Some(match self.spacing {
            Spacing::BackToBack => Duration::ZERO,
            Spacing::Even(gap) => gap,
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
