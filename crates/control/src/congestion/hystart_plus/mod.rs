//! HyStart++ (RFC 9406): slow start ends when the round-trip times of a round are longer than those of the previous
//! round.
//!
//! ```text
//! thresh = lastRoundMinRTT / 8, from 4 ms to 16 ms
//! to CSS         when 8 samples of a round are no less than lastRoundMinRTT + thresh
//! in CSS         the window grows by a quarter; for at most 5 rounds, of which the one it begins in counts
//! back           when the least of 8 samples of a round is below what it was when CSS began
//! to avoidance   when the five rounds are over: ssthresh = cwnd
//! ```
//!
//! CSS is conservative slow start. An ACK counts for at most 8 segments if the sender does not pace (section 4.3).
//! HyStart++ applies only to the first slow start of a connection: later ones are standard slow start (section 4.3).
//!
//! Unlike HyStart of Linux ([`super::linux::hystart`]) it compares a round with the previous one, so on a longer path
//! after a handoff the minimum round trip of the old path counts for one round.

use midflight_units::{Duration, Seq};

const MIN_THRESH: Duration = Duration::from_millis(4);
const MAX_THRESH: Duration = Duration::from_millis(16);
const DIVISOR: u64 = 8;
const SAMPLES: u32 = 8;
const CSS_GROWTH: u64 = 4;
const CSS_ROUNDS: u32 = 5;
/// L, in segments.
const MOST_OF_AN_ACK: u64 = 8;

/// Conservative slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Css {
    /// cssBaselineMinRtt.
    baseline: Duration,
    rounds: u32,
}

/// State of the current round and the previous one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HyStartPlus {
    /// windowEnd: SND.NXT when the round began.
    round_end: Seq,
    last: Option<Duration>,
    current: Option<Duration>,
    samples: u32,
    css: Option<Css>,
    /// Segments delivered in CSS that have not yet increased the window, fewer than four.
    left: u64,
}

impl HyStartPlus {
    /// An RTT sample arrived at this SND.UNA and SND.NXT; returns whether slow start is over.
    pub fn on_sample(&mut self, rtt: Duration, una: Seq, nxt: Seq) -> bool {
        if una >= self.round_end {
            self.round_end = nxt;
            self.last = self.current.take();
            self.samples = 0;
            if let Some(css) = &mut self.css {
                if css.rounds >= CSS_ROUNDS {
                    return true;
                }
                css.rounds += 1;
            }
        }
        let current = self.current.map_or(rtt, |least| least.min(rtt));
        self.current = Some(current);
        self.samples += 1;
        if self.samples < SAMPLES {
            return false;
        }
        match (self.css, self.last) {
            (Some(css), _) if current < css.baseline => self.css = None,
            (None, Some(last)) => {
                let thresh = Duration::from_nanos(last.as_nanos() / DIVISOR);
                if current >= last + thresh.clamp(MIN_THRESH, MAX_THRESH) {
                    let baseline = current;
                    self.css = Some(Css {
                        baseline,
                        rounds: 1,
                    });
                }
            }
            _ => {}
        }
        false
    }

    /// How many of the segments that an ACK covers increase the window.
    pub fn counted(&mut self, segments: u64, is_paced: bool) -> u64 {
        let most = if is_paced { u64::MAX } else { MOST_OF_AN_ACK };
        let counted = segments.min(most);
        if self.css.is_none() {
            return counted;
        }
        self.left += counted;
        let grown = self.left / CSS_GROWTH;
        self.left %= CSS_GROWTH;
        grown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A round of `n` samples, each of this length, of segments up to `end`; returns whether slow start is over.
    fn round(h: &mut HyStartPlus, n: u64, rtt: Duration, end: Seq) -> bool {
        let first = h.round_end;
        (0..n).any(|i| h.on_sample(rtt, first + i, end))
    }

    /// 40 ms, then 44.9 ms: less than an eighth more. 50 ms is more than an eighth of 44.9, after eight samples.
    #[test]
    fn a_longer_round_begins_conservative_slow_start() {
        let mut h = HyStartPlus::default();
        round(&mut h, 10, ms(40), 10);
        round(&mut h, 10, Duration::from_micros(44_900), 30);
        assert_eq!(h.css, None);
        round(&mut h, 7, Duration::from_micros(50_520), 70);
        assert_eq!(h.css, None, "seven samples");
        h.on_sample(ms(60), 60, 70);
        let baseline = Duration::from_micros(50_520);
        assert_eq!(
            h.css,
            Some(Css {
                baseline,
                rounds: 1
            })
        );
    }

    /// The threshold is 4 ms below 32 ms, and 16 ms above 128 ms.
    #[test]
    fn the_threshold_is_bounded() {
        for (before, too_little, enough) in [(8, 11, 12), (200, 215, 216), (64, 71, 72)] {
            for (rtt, begins) in [(too_little, false), (enough, true)] {
                let mut h = HyStartPlus::default();
                round(&mut h, 9, ms(before), 20);
                round(&mut h, 9, ms(rtt), 40);
                assert_eq!(h.css.is_some(), begins, "{before} {rtt}");
            }
        }
    }

    /// CSS lasts for the round in which it begins and four more; it ends at the first sample of the sixth.
    #[test]
    fn conservative_slow_start_lasts_five_rounds() {
        let mut h = HyStartPlus::default();
        round(&mut h, 9, ms(40), 20);
        round(&mut h, 9, ms(60), 40);
        for n in 2..=5 {
            assert!(!round(&mut h, 9, ms(60), 20 * (n + 1)));
            assert_eq!(h.css.map(|css| css.rounds), Some(n as u32));
        }
        assert!(round(&mut h, 1, ms(60), 200));
    }

    /// A quarter of the delivered segments counts, and the remainder is kept; an ACK counts for at most eight segments.
    #[test]
    fn growth_is_a_quarter_and_jitter_ends_it() {
        let mut h = HyStartPlus::default();
        assert_eq!((h.counted(3, false), h.counted(40, false)), (3, 8));
        assert_eq!(h.counted(40, true), 40);
        round(&mut h, 9, ms(40), 20);
        round(&mut h, 9, ms(60), 40);
        let grown: Vec<_> = (0..6).map(|_| h.counted(2, false)).collect();
        assert_eq!(grown, [0, 1, 0, 1, 0, 1]);
        round(&mut h, 9, ms(41), 60);
        assert_eq!(h.css, None);
        assert_eq!(h.counted(2, false), 2);
    }
}
