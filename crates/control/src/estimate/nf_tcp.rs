//! The measurement of NF-TCP (Arumaithurai, Fu & Ramakrishnan, "NF-TCP: a network friendly TCP variant for background
//! delay-insensitive applications", Networking 2011): a chirp, read by pathChirp, and ECN marks of routers that mark the
//! packets of such flows early.
//!
//! The text was not available. Its abstract makes measurement a part of the congestion control, so that a sender takes
//! what is spare and gives way under congestion; Daniel & Kojo (report on available bandwidth, section 2) say that it
//! uses the pathChirp algorithm, with ECN to avoid congestion, and additional probe packets. How a mark changes the
//! estimate is decided here: a router marks what meets a queue that is too long for such flows, so that no rate from
//! the first mark on is available. The chirp counts up to there, and the estimate is at most the rate of the last gap
//! before. A mark on the first two segments means that no rate above the lowest is available.
//!
//! Differs: the probes are the next segments of the flow, as those of other chirps here.

use midflight_units::{Duration, Rate};

use super::pathchirp::{pathchirp, PathChirp};
use super::{rate_over, SegmentTimes};

/// The available bandwidth; none for fewer than two segments.
pub fn nf_tcp(
    passages: &[SegmentTimes],
    bytes: u32,
    knobs: PathChirp,
    resolution: Duration,
) -> Option<Rate> {
    let marked = passages.iter().position(|passage| passage.marked);
    // Two segments at least: one gap has a rate.
    let before = marked.unwrap_or(passages.len()).max(2);
    let clean = passages.get(..before.min(passages.len()))?;
    let [.., first, second] = clean else {
        return None;
    };
    let last = rate_over(bytes, second.sent.since(first.sent));
    let found = pathchirp(clean, bytes, knobs, resolution)?;
    Some(if marked.is_some() {
        found.min(last)
    } else {
        found
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::{doubling, through};
    use super::*;

    const US: Duration = Duration::from_micros(1);
    const KNOBS: PathChirp = PathChirp {
        decrease: 1.5,
        busy: Some(2),
    };

    /// A chirp whose gaps have 1, 2, 4 ... 64 Mbit/s, with a mark from this segment on.
    fn bps(delays_us: &[u64], marked_from: usize) -> u64 {
        let mut chirp = doubling(delays_us);
        for passage in chirp.iter_mut().skip(marked_from) {
            passage.marked = true;
        }
        nf_tcp(&chirp, 1000, KNOBS, US).map_or(0, Rate::as_bps)
    }

    /// The delay rises across the fifth gap, at 16 Mbit/s. Without marks that is the estimate. The sixth segment ends
    /// that gap: marked from there, the gaps before have up to 8 Mbit/s.
    #[test]
    fn the_first_mark_bounds_what_is_available() {
        let rising = [500, 500, 500, 500, 500, 700, 900, 1200];
        assert_eq!(bps(&rising, 99), 16_000_000);
        assert_eq!(bps(&rising, 5), 8_000_000);
        // Marked although the delay does not rise: another's queue.
        assert_eq!(bps(&[500; 8], 4), 4_000_000);
        // A rise before the mark counts.
        assert_eq!(
            bps(&[500, 500, 900, 1300, 1800, 2400, 3000, 3700], 6),
            2_000_000
        );
    }

    #[test]
    fn a_mark_at_once_leaves_the_lowest_rate() {
        assert_eq!(bps(&[500; 8], 0), 1_000_000);
        assert_eq!(bps(&[500; 8], 1), 1_000_000);
        assert_eq!(bps(&[500], 0), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Without marks it is pathChirp; a mark never raises it.
        #[test]
        fn marks_only_lower_the_estimate(spare in 1u64..40, from in 0usize..20) {
            let mut chirp = through(1_000_000, 20_000_000, 20, spare * 1_000_000);
            let plain = nf_tcp(&chirp, 1500, KNOBS, US);
            prop_assert_eq!(plain, pathchirp(&chirp, 1500, KNOBS, US));
            for passage in chirp.iter_mut().skip(from) {
                passage.marked = true;
            }
            prop_assert!(nf_tcp(&chirp, 1500, KNOBS, US) <= plain);
        }
    }
}
