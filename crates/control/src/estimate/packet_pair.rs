//! Packet pairs (Keshav 1991; Daniel & Kojo, report on available bandwidth, section 3, "Bottleneck
//! capacity estimation"): back-to-back segments arrive with a gap of one segment's transmission time
//! at the bottleneck.
//!
//! The report does not specify the result of several pairs: here it is their median; for an even
//! number, the mean of the two middle values.

use midflight_units::{Duration, Rate};

use super::{rate_over, SegmentTimes};

/// The capacity from the median dispersion, rounded down to a bit/s; none for fewer than two
/// segments.
pub fn packet_pair(passages: &[SegmentTimes], bytes: u32) -> Option<Rate> {
    let apart = |pair: &[SegmentTimes]| pair[1].arrived.since(pair[0].arrived);
    at_median(passages.windows(2).map(apart).collect(), bytes)
}

/// The rate at which a segment takes the median of these times, rounded down to a bit/s; none without any.
pub(super) fn at_median(mut dispersions: Vec<Duration>, bytes: u32) -> Option<Rate> {
    dispersions.sort_unstable();
    let middle = dispersions.len() / 2;
    let upper = dispersions.get(middle)?.as_nanos();
    let median = if dispersions.len().is_multiple_of(2) {
        dispersions[middle - 1].as_nanos().midpoint(upper)
    } else {
        upper
    };
    Some(rate_over(bytes, Duration::from_nanos(median)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::passages;
    use super::*;

    fn bps(times_us: &[(u64, u64)]) -> Option<u64> {
        packet_pair(&passages(times_us), 1500).map(Rate::as_bps)
    }

    /// 1500 bytes, 12,000 bits, 240 us apart: 50 Mbit/s.
    #[test]
    fn a_pair_gives_the_rate_of_the_bottleneck() {
        assert_eq!(bps(&[(0, 15_240), (0, 15_480)]), Some(50_000_000));
        assert_eq!(bps(&[(0, 15_240)]), None);
        assert_eq!(bps(&[]), None);
    }

    /// Three pairs 240, 600 and 240 us apart: a packet of another flow in between has no effect. Two
    /// pairs 200 and 400 us apart: (200 + 400) / 2 = 300 us, 40 Mbit/s.
    #[test]
    fn the_median_of_several_pairs_counts() {
        let three = [(0, 1000), (0, 1240), (0, 1840), (0, 2080)];
        assert_eq!(bps(&three), Some(50_000_000));
        assert_eq!(bps(&[(0, 1000), (0, 1200), (0, 1600)]), Some(40_000_000));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_lies_between_the_rates_of_the_closest_and_the_farthest_pair(
            apart in prop::collection::vec(1u64..100_000, 1..20),
        ) {
            let mut times = vec![(0, 0)];
            for by in &apart {
                times.push((0, times.last().map_or(0, |t: &(u64, u64)| t.1) + by));
            }
            let estimate = bps(&times).unwrap_or(0);
            let of = |us: Option<&u64>| 12_000_000_000 / us.copied().unwrap_or(1);
            let (closest, farthest) = (of(apart.iter().min()), of(apart.iter().max()));
            prop_assert!(farthest <= estimate && estimate <= closest);
        }
    }
}
