//! pathChirp (Ribeiro, Riedi, Baraniuk, Navratil & Cottrell 2003, section 3), as in its author's receiver for ns-2:
//! if an excursion of the queueing delay ends, its rates were available where the delay rose; if one does not end,
//! the available bandwidth is its first rate.

use midflight_units::{Duration, Rate};

use super::{gaps, rounded, SegmentTimes};

/// Knobs of pathChirp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathChirp {
    /// F: an excursion is over when the delay above its start has fallen below
    /// its largest divided by this.
    pub decrease: f64,
    /// L: excursions across fewer gaps are ignored. None to choose it from the chirp: a quarter of its gaps, from 2
    /// to 5.
    pub busy: Option<u16>,
}

impl PathChirp {
    fn busy(&self, gaps: usize) -> usize {
        self.busy.map_or((gaps / 4).clamp(2, 5), usize::from)
    }
}

/// The available bandwidth, rounded to the nearest bit/s; none for fewer than two segments.
pub fn pathchirp(
    passages: &[SegmentTimes],
    bytes: u32,
    knobs: PathChirp,
    resolution: Duration,
) -> Option<Rate> {
    let gaps = gaps(passages, bytes, resolution);
    let end = gaps.len();
    let last = end.checked_sub(1)?;
    let busy = knobs.busy(end);
    let delay =
        |at: usize| passages[at].arrived.as_nanos() as f64 - passages[at].sent.as_nanos() as f64;
    let next_rise = |from: usize| (from..end).find(|&k| gaps[k].rises).unwrap_or(end);
    let mut marked: Vec<Option<f64>> = vec![None; end];
    let mut start = next_rise(0);
    let mut at = start + 1;
    let mut largest = 0.0_f64;
    while at <= end {
        let above = delay(at) - delay(start);
        largest = largest.max(above);
        if above < largest / knobs.decrease {
            if at - start >= busy {
                for k in (start..at).filter(|&k| gaps[k].rises) {
                    marked[k] = Some(gaps[k].rate);
                }
            }
            start = next_rise(at);
            at = start;
            largest = 0.0;
        }
        at += 1;
    }
    // The rate at which the last excursion began, the highest if there is none.
    let start = start.min(last);
    let unmarked = gaps[start].rate;
    let (mut sum, mut weights) = (0.0, 0.0);
    for (k, gap) in gaps.iter().enumerate() {
        let rate = marked[k].filter(|_| k < start).unwrap_or(unmarked);
        sum += rate * gap.seconds;
        weights += gap.seconds;
    }
    Some(rounded(sum / weights))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::first_rise;
    use super::super::testing::{doubling, through};
    use super::*;

    const US: Duration = Duration::from_micros(1);

    fn bps(delays_us: &[u64], decrease: f64, busy: u16) -> u64 {
        let busy = Some(busy);
        let knobs = PathChirp { decrease, busy };
        pathchirp(&doubling(delays_us), 1000, knobs, US).map_or(0, Rate::as_bps)
    }

    /// Seven gaps of 8 ms down to 125 us at 1 to 64 Mbit/s. The delay does not fall after the rise across the fifth,
    /// at 16 Mbit/s: every gap counts with that.
    #[test]
    fn an_excursion_that_does_not_end_gives_its_first_rate() {
        let delays = [500, 500, 500, 500, 500, 700, 900, 1200];
        assert_eq!(bps(&delays, 1.5, 2), 16_000_000);
    }

    /// No excursion: the highest rate.
    #[test]
    fn a_chirp_without_a_rise_gives_its_highest_rate() {
        assert_eq!(bps(&[500; 8], 1.5, 2), 64_000_000);
        assert_eq!(
            pathchirp(
                &[],
                1000,
                PathChirp {
                    decrease: 1.5,
                    busy: None
                },
                US
            ),
            None
        );
    }

    /// The delay rises across the first three gaps, to 900 us above its start, and is 100 us above it
    /// after the fourth: below 900 / 1.5 = 600. That excursion, of four gaps, marks the three rises
    /// with 1, 2 and 4 Mbit/s. From the sixth gap, at 32 Mbit/s, it rises and does not fall again, so that the others
    /// count with 32: (1 x 8 + 2 x 4 + 4 x 2 + 32 x (1 + 0.5 + 0.25 + 0.125)) / 15.875 = 84 / 15.875
    /// = 5.291339 Mbit/s.
    #[test]
    fn an_excursion_that_ends_counts_with_its_own_rates_where_the_delay_rose() {
        let delays = [500, 800, 1100, 1400, 600, 600, 800, 1100];
        assert_eq!(bps(&delays, 1.5, 4), 5_291_339);
        // L = 5: it was too short to count, and all count with 32 Mbit/s.
        assert_eq!(bps(&delays, 1.5, 5), 32_000_000);
    }

    /// The same excursion falls to 650 us above its start, not below 900 / 1.5 = 600 but below
    /// 900 / 1.2 = 750: with F = 1.5 it goes on to the end, and all count with its 1 Mbit/s.
    #[test]
    fn how_far_the_delay_must_fall_is_f() {
        let delays = [500, 800, 1100, 1400, 1150, 1150, 1150, 1150];
        assert_eq!(bps(&delays, 1.5, 2), 1_000_000);
        // With F = 1.2 it ends after the fourth gap; nothing rises afterwards, so that the others
        // count with 64: (8 + 8 + 8 + 64 x 1.875) / 15.875 = 144 / 15.875 = 9.070866 Mbit/s.
        assert_eq!(bps(&delays, 1.2, 2), 9_070_866);
    }

    #[test]
    fn the_least_length_of_an_excursion_follows_the_chirp() {
        let knobs = PathChirp {
            decrease: 1.5,
            busy: None,
        };
        assert_eq!(
            [3, 8, 12, 16, 20, 63].map(|n| knobs.busy(n)),
            [2, 2, 3, 4, 5, 5]
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// On a path where only the chirp itself builds a queue there is one excursion, from the first
        /// rise to the end.
        #[test]
        fn without_other_traffic_it_is_the_first_rise(
            low in 100_000u64..10_000_000,
            factor in 2u64..50,
            segments in 4u16..64,
            share in 1u64..120,
        ) {
            let chirp = through(low, low * factor, segments, low * factor * share / 100);
            let knobs = PathChirp { decrease: 1.5, busy: None };
            let found = pathchirp(&chirp, 1500, knobs, US);
            prop_assert_eq!(found, first_rise(&chirp, 1500, US));
        }

        #[test]
        fn it_lies_within_the_rates_of_the_chirp_whatever_the_delays(
            delays in prop::collection::vec(0u64..100_000, 2..9),
            decrease in 1.0f64..10.0,
            busy in 1u16..8,
        ) {
            let found = bps(&delays, decrease, busy);
            let highest = 1_000_000 << (delays.len() - 2);
            prop_assert!((1_000_000..=highest).contains(&found), "{found}");
        }
    }
}
