//! Other readings of a rule (Daniel & Kojo, report on available bandwidth, section 3, "Available
//! bandwidth estimation cycles"), which "calculates the available bandwidth as in the PathChirp
//! algorithm": as soon as the queueing delay begins to rise, all segments at higher rates count with
//! the rate at which it did; the average over the chirp is reported. Unlike pathChirp, which is the
//! default, it does not check whether the delay falls again. Weighted by the gaps it reports a
//! twentieth of an idle path's rate, because the slow segments at the beginning have the largest
//! weight.
//!
//! These readings do not specify two points, which are settings here:
//!
//! - The weights of the rates in the average. "As in the pathChirp algorithm" means by the gaps,
//!   which gives the low rates the largest weights ([`abest`] with [`Averaging::ByGaps`]); "the
//!   average rate" may be the plain one. In pathChirp itself the segments before the only rise would
//!   count with its rate too, so that only that rate is left ([`first_rise`]).
//! - The result of a chirp without a rise. An average of its rates is below the highest, so a sender
//!   that continues only if the estimate reaches the highest rate, as the report's does, would never
//!   continue. pathChirp reports the highest rate then, and so does this by default
//!   ([`CleanChirp::Highest`]).

use midflight_units::{Duration, Rate};

use super::{gaps, rounded, SegmentTimes};

/// The weights of a chirp's rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Averaging {
    /// The gaps (Ribeiro et al. 2003, equation 4).
    ByGaps,
    /// All equal.
    Plain,
}

/// The result of a chirp during which the delay does not rise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CleanChirp {
    /// Its highest rate.
    Highest,
    /// The average of its rates.
    Average,
}

impl CleanChirp {
    /// Both, with their names in settings.
    pub const NAMED: &[(&str, Self)] = &[("highest", Self::Highest), ("average", Self::Average)];
}

/// The average rate, with rates above the first rise limited to its rate; rounded to the nearest
/// bit/s. None for fewer than two segments.
pub fn abest(
    passages: &[SegmentTimes],
    bytes: u32,
    averaging: Averaging,
    clean: CleanChirp,
    resolution: Duration,
) -> Option<Rate> {
    let gaps = gaps(passages, bytes, resolution);
    let last = gaps.last()?;
    let rise = gaps.iter().position(|gap| gap.rises);
    if rise.is_none() && clean == CleanChirp::Highest {
        return Some(rounded(last.rate));
    }
    let rise = rise.unwrap_or(gaps.len() - 1);
    let (mut sum, mut weights) = (0.0, 0.0);
    for (k, gap) in gaps.iter().enumerate() {
        let weight = match averaging {
            Averaging::ByGaps => gap.seconds,
            Averaging::Plain => 1.0,
        };
        sum += gaps[k.min(rise)].rate * weight;
        weights += weight;
    }
    Some(rounded(sum / weights))
}

/// The rate at which the delay first rises, or the highest if it does not.
/// None for fewer than two segments.
pub fn first_rise(passages: &[SegmentTimes], bytes: u32, resolution: Duration) -> Option<Rate> {
    let gaps = gaps(passages, bytes, resolution);
    let rise = gaps.iter().find(|gap| gap.rises);
    rise.or(gaps.last()).map(|gap| rounded(gap.rate))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::{doubling, through};
    use super::*;

    const US: Duration = Duration::from_micros(1);

    fn bps(delays_us: &[u64], averaging: Averaging, clean: CleanChirp) -> u64 {
        let rate = abest(&doubling(delays_us), 1000, averaging, clean, US);
        rate.map_or(0, Rate::as_bps)
    }

    /// Gaps of 8, 4, 2 and 1 ms at 1, 2, 4 and 8 Mbit/s; the delay rises across the third. By gaps:
    /// (1 x 8 + 2 x 4 + 4 x 2 + 4 x 1) / 15 = 28/15 Mbit/s = 1,866,666.7 bit/s. Plain:
    /// (1 + 2 + 4 + 4) / 4 = 2.75 Mbit/s.
    #[test]
    fn rates_above_the_first_rise_count_with_its_rate() {
        let delays = [500, 500, 500, 900, 1500];
        assert_eq!(
            bps(&delays, Averaging::ByGaps, CleanChirp::Highest),
            1_866_667
        );
        assert_eq!(
            bps(&delays, Averaging::Plain, CleanChirp::Highest),
            2_750_000
        );
        let rise = first_rise(&doubling(&delays), 1000, US);
        assert_eq!(rise, Some(Rate::from_mbps(4)));
        // A later fall makes no difference.
        let falls = [500, 500, 500, 900, 500];
        assert_eq!(
            bps(&falls, Averaging::ByGaps, CleanChirp::Highest),
            1_866_667
        );
    }

    /// Without a rise: 8 Mbit/s, or the averages (4 x 8) / 15 = 32/15 = 2.133 and 15/4 = 3.75 Mbit/s.
    #[test]
    fn a_chirp_without_a_rise_gives_its_highest_rate_by_default() {
        let delays = [700; 5];
        assert_eq!(
            bps(&delays, Averaging::ByGaps, CleanChirp::Highest),
            8_000_000
        );
        assert_eq!(
            bps(&delays, Averaging::ByGaps, CleanChirp::Average),
            2_133_333
        );
        assert_eq!(
            bps(&delays, Averaging::Plain, CleanChirp::Average),
            3_750_000
        );
        // A rise of a microsecond is below the resolution of a clock.
        let hardly = [700, 700, 701, 702, 703];
        assert_eq!(
            bps(&hardly, Averaging::ByGaps, CleanChirp::Highest),
            8_000_000
        );
        assert_eq!(
            abest(&[], 1000, Averaging::Plain, CleanChirp::Highest, US),
            None
        );
    }

    /// A rise across the first gap: nothing is available beyond the lowest rate.
    #[test]
    fn an_immediate_rise_gives_the_lowest_rate() {
        for averaging in [Averaging::ByGaps, Averaging::Plain] {
            assert_eq!(
                bps(&[500, 600, 700, 800, 900], averaging, CleanChirp::Highest),
                1_000_000
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Over a link with `spare` available: the result is within the chirp's rates, exceeds the
        /// available rate by at most a step of the chirp, and never decreases with more spare rate.
        #[test]
        fn it_lies_within_the_chirp_and_grows_with_what_is_to_spare(
            low in 100_000u64..10_000_000,
            factor in 2u64..50,
            segments in 4u16..64,
            share in 1u64..120,
        ) {
            let high = low * factor;
            let spare = high * share / 100;
            let of = |spare: u64| through(low, high, segments, spare);
            for averaging in [Averaging::ByGaps, Averaging::Plain] {
                let estimate = |spare| {
                    let rate = abest(&of(spare), 1500, averaging, CleanChirp::Highest, US);
                    rate.map_or(0, Rate::as_bps)
                };
                let found = estimate(spare);
                // A gap is whole nanoseconds, so its rate is slightly inexact.
                prop_assert!(found + low / 1000 >= low && found <= high + high / 1000 + 1);
                prop_assert!(found <= estimate(spare + high / 10));
                let rise = first_rise(&of(spare), 1500, US).map_or(0, Rate::as_bps);
                prop_assert!(found <= rise);
                let clean = share > 100;
                prop_assert!(!clean || found >= high);
            }
        }
    }
}
