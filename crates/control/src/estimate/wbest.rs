//! WBest (Li, Claypool & Kinicki, "WBest: a bandwidth estimation tool for IEEE 802.11 wireless networks", LCN 2008):
//! first the effective capacity Ce, by the median dispersion of packet pairs; then a train at the rate Ce, from whose
//! rate R behind the bottleneck follows the available bandwidth, A = Ce (2 - Ce / R), or nothing if R is less than
//! half of Ce.
//!
//! The text was not available. The abstract has the two stages, and that nothing is searched for. The equation is that
//! of a train of the rate of its bottleneck in a fluid queue, served in order: beside cross traffic of the rate X it
//! gets R = Ce Ce / (Ce + X), and Ce - X is left. That is how WBest is cited, and the reason for the lower
//! bound: X is at most Ce. Ce is taken from the times at which the train was sent. Differs from the tool: a train that
//! lost a segment has no estimate here, as any other train; there it has a lower one.

use midflight_units::{Duration, Rate};

use super::packet_pair::at_median;
use super::{rounded, SegmentTimes, LEAST};

/// The effective capacity by the median dispersion of disjoint pairs, rounded down to a bit/s; none for
/// fewer than two segments. A last segment without a partner does not count.
pub fn paired_capacity(passages: &[SegmentTimes], bytes: u32) -> Option<Rate> {
    let (pairs, _) = passages.as_chunks::<2>();
    let apart = |[first, second]: &[SegmentTimes; 2]| second.arrived.since(first.arrived);
    at_median(pairs.iter().map(apart).collect(), bytes)
}

/// The available bandwidth by a train that was sent at the effective capacity, rounded to the nearest bit/s and at most
/// that capacity; none for fewer than two segments.
pub fn wbest(passages: &[SegmentTimes], bytes: u32) -> Option<Rate> {
    let (first, last) = (passages.first()?, passages.last()?);
    let gaps = passages.len().checked_sub(1).filter(|&gaps| gaps > 0)?;
    let rate = |time: Duration| {
        let bits = 8.0 * f64::from(bytes) * gaps as f64;
        bits / time.as_secs_f64().max(1e-9)
    };
    let capacity = rate(last.sent.since(first.sent));
    let arrived = rate(last.arrived.since(first.arrived));
    if arrived < capacity / 2.0 {
        return Some(LEAST);
    }
    let available = capacity * (2.0 - capacity / arrived);
    Some(rounded(available.min(capacity)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::passages;
    use super::*;

    fn bps(rate: Option<Rate>) -> Option<u64> {
        rate.map(Rate::as_bps)
    }

    /// Pairs of 1500 bytes that arrive 600, 1200 and 600 us apart: 12,000 bits in 600 us. The 5 ms between pairs do not
    /// count, nor does a segment alone.
    #[test]
    fn the_capacity_is_the_median_within_pairs() {
        let mut times = vec![
            (0, 0),
            (0, 600),
            (5000, 5000),
            (5000, 6200),
            (10_000, 10_000),
            (10_000, 10_600),
        ];
        assert_eq!(
            bps(paired_capacity(&passages(&times), 1500)),
            Some(20_000_000)
        );
        times.push((15_000, 15_000));
        assert_eq!(
            bps(paired_capacity(&passages(&times), 1500)),
            Some(20_000_000)
        );
        assert_eq!(paired_capacity(&passages(&times[..1]), 1500), None);
    }

    /// A train at Ce = 20 Mbit/s, a segment of 1500 bytes each 600 us. It arrives at R = 20, 16 and 12 Mbit/s, each 600,
    /// 750 and 1000 us: A = 20 (2 - 20 / R) = 20, 15 and 6.67 Mbit/s. At R = 8, less than half of Ce, nothing is
    /// left; at R = 40 not more than Ce.
    #[test]
    fn what_is_available_follows_from_the_rate_behind_the_bottleneck() {
        for (apart, available) in [
            (600, 20_000_000),
            (750, 15_000_000),
            (1000, 6_666_667),
            (1500, 1),
            (300, 20_000_000),
        ] {
            let times: Vec<(u64, u64)> = (0..30).map(|n| (600 * n, 7000 + apart * n)).collect();
            assert_eq!(bps(wbest(&passages(&times), 1500)), Some(available));
        }
        assert_eq!(wbest(&passages(&[(0, 10)]), 1500), None);
        assert_eq!(wbest(&[], 1500), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// A fluid queue of the train's rate that cross traffic of this share goes through, too.
        #[test]
        fn in_a_fluid_queue_it_is_what_cross_traffic_leaves(share in 0.0f64..0.95, segments in 2u64..60) {
            let apart = 600_000.0 * (1.0 + share);
            let times: Vec<(u64, u64)> = (0..segments)
                .map(|n| (600 * n, ((apart * n as f64) / 1000.0) as u64))
                .collect();
            let found = bps(wbest(&passages(&times), 1500)).unwrap_or(0) as f64;
            let truth = 20e6 * (1.0 - share);
            // Times are rounded down to a microsecond, of 600 a gap.
            prop_assert!((found - truth).abs() < 20e6 / 300.0, "{found} for {truth}");
        }
    }
}
