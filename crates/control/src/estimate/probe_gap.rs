//! ProbeGap (Lakshminarayanan, Padmanabhan & Padhye, "Bandwidth estimation in broadband access networks", IMC 2004):
//! probes at random times, so that as many of them meet an idle link as the link is idle. Those are not delayed; in the
//! distribution of the one-way delays, least delay subtracted, the others lie behind a knee. The share before the knee times
//! the capacity, which has to be known, is the available bandwidth.
//!
//! The text was not available; this is what its abstract, the authors' patent (US 7675856) and Daniel & Kojo say.
//! They do not say where the knee is. Here it is the point of the distribution that is farthest above the line from its
//! lowest to its highest delay, or the delay that a knob sets: in a queue that is served in order each delay
//! above the least is a busy link.
//!
//! Differs: the probes are the next segments of a flow, not packets of 20 bytes of their own, unless its segments
//! are that small; and the clocks of the hosts do not drift, so that nothing is taken out of the delays.

use midflight_units::{Duration, Rate};

use super::{rounded, SegmentTimes, LEAST};

/// Where the knee is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knee {
    /// Where the distribution is farthest above its chord.
    Chord,
    /// At this delay.
    At(Duration),
}

/// Knobs of [`probe_gap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeGap {
    /// Where the knee is.
    pub knee: Knee,
    /// The capacity; none for what packet pairs have found before.
    pub capacity: Option<Rate>,
}

/// The share of probes that met an idle link; none without probes. Delays that differ by less than `resolution` are
/// the same.
pub fn idle_share(passages: &[SegmentTimes], knee: Knee, resolution: Duration) -> Option<f64> {
    let delay = |p: &SegmentTimes| i128::from(p.arrived.as_nanos()) - i128::from(p.sent.as_nanos());
    let mut delays: Vec<i128> = passages.iter().map(delay).collect();
    delays.sort_unstable();
    let (&least, &most) = (delays.first()?, delays.last()?);
    let resolution = i128::from(resolution.as_nanos());
    let spread = most - least;
    if spread <= resolution {
        return Some(1.0);
    }
    let below = |bound: i128| delays.partition_point(|&d| d - least <= bound);
    let count = match knee {
        Knee::At(delay) => below(i128::from(delay.as_nanos())),
        Knee::Chord => {
            let above = |count: usize| {
                let x = (delays[count - 1] - least) as f64 / spread as f64;
                count as f64 / delays.len() as f64 - x
            };
            // Of equal heights the lower delay.
            let higher = |best: usize, count: usize| {
                if above(count) > above(best) {
                    count
                } else {
                    best
                }
            };
            let steps = delays.iter().map(|&d| below(d - least + resolution));
            steps.fold(below(resolution), higher)
        }
    };
    Some(count as f64 / delays.len() as f64)
}

/// The available bandwidth of a link of this capacity, rounded to the nearest bit/s; none without probes.
pub fn probe_gap(
    passages: &[SegmentTimes],
    capacity: Rate,
    knee: Knee,
    resolution: Duration,
) -> Option<Rate> {
    let share = idle_share(passages, knee, resolution)?;
    Some(rounded(capacity.as_bps() as f64 * share).max(LEAST))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::passages;
    use super::*;

    const US: Duration = Duration::from_micros(1);

    fn share(delays_us: &[u64], knee: Knee) -> Option<f64> {
        let times: Vec<(u64, u64)> = (0..)
            .zip(delays_us)
            .map(|(n, d)| (9 * n, 9 * n + d))
            .collect();
        idle_share(&passages(&times), knee, US)
    }

    /// Seven of ten probes take 5 ms; the others wait for 0.2 to 1.2 ms.
    #[test]
    fn probes_before_the_knee_met_an_idle_link() {
        let delays = [5000, 5200, 5000, 5000, 6200, 5000, 5000, 5700, 5000, 5000];
        assert_eq!(share(&delays, Knee::At(US)), Some(0.7));
        // The points are (0, 0.7), (200, 0.8), (700, 0.9) and (1200, 1): above the chord by 0.7, 0.633, 0.317 and 0.
        assert_eq!(share(&delays, Knee::Chord), Some(0.7));
        let wide = Knee::At(Duration::from_micros(250));
        assert_eq!(share(&delays, wide), Some(0.8));
    }

    /// Delays of an idle link that are not quite the same: (0, 0.2), (20, 0.6), (500, 0.8), (1000, 1), above the
    /// chord by 0.2, 0.58, 0.3 and 0.
    #[test]
    fn the_knee_is_behind_what_an_idle_link_makes_of_delays() {
        let delays = [300, 320, 320, 800, 1300];
        assert_eq!(share(&delays, Knee::Chord), Some(0.6));
    }

    #[test]
    fn a_link_without_other_traffic_is_idle_and_no_probe_gives_nothing() {
        assert_eq!(share(&[700; 4], Knee::Chord), Some(1.0));
        assert_eq!(share(&[], Knee::Chord), None);
        let times = passages(&[(0, 10), (5, 15), (9, 29), (12, 32)]);
        let capacity = Rate::from_mbps(20);
        let found = probe_gap(&times, capacity, Knee::At(US), US);
        assert_eq!(found, Some(Rate::from_mbps(10)));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever the delays: not more than the capacity, and at least the share of the least delay.
        #[test]
        fn it_is_at_least_the_share_of_the_least_delay(
            delays in prop::collection::vec(0u64..100_000, 1..60),
            knee_us in 0u64..100_000,
        ) {
            let least = delays.iter().min().copied().unwrap_or(0);
            let met = delays.iter().filter(|&&d| d == least).count() as f64 / delays.len() as f64;
            for knee in [Knee::Chord, Knee::At(Duration::from_micros(knee_us))] {
                let found = share(&delays, knee).unwrap_or(0.0);
                prop_assert!((met..=1.0).contains(&found), "{found}");
            }
        }
    }
}
