//! TCP Westwood+ (Grieco & Mascolo, CCR 34(2), 2004; Dell'Aera, Grieco & Mascolo, ICC 2004) as in
//! Linux (`net/ipv4/tcp_westwood.c`): one bandwidth sample per RTT, so that compressed ACKs do not
//! look like bandwidth.
//!
//! A sample is the amount delivered in an interval, divided by the length of the interval. The
//! first ACK that arrives later than max(RTT, 50 ms) after the interval's start ends it, where RTT
//! is the last sample, and counts in the next interval. Two filters in series, each with 7/8 of the
//! old and 1/8 of the new value, smooth the samples; the first sample initialises both. After a
//! loss `ssthresh = bandwidth RTTmin`, in whole segments, at least two. RTTmin is the minimum RTT
//! sample since the last timeout, starting with the last RTT sample before it.
//!
//! Differences from Linux:
//! - `ssthresh` and `cwnd` are set when fast recovery starts, as in the papers; Linux halves
//!   `ssthresh` then and sets both at its end;
//! - a loss does not raise `cwnd` to `ssthresh`: the window grows there by slow start, while Linux
//!   may jump;
//! - segments that duplicates have counted are never counted again; Linux's fast path for ACKs
//!   without options counts them again;
//! - the RTT of the SYN counts; Linux starts after it with a guess;
//! - bandwidths are doubles in segments per second, not whole bytes per jiffy.

use midflight_units::{Duration, Instant};

use super::westwood::{seconds, Delivered, LEAST_SSTHRESH};
use super::{Congestion, RttNews, Window};
use crate::part::{Part, PartInfo};

/// The shortest interval of a sample (Linux, `TCP_WESTWOOD_RTT_MIN`).
const LEAST_INTERVAL: Duration = Duration::from_millis(50);

/// One of the two filters (Linux, `westwood_do_filter`).
fn smooth(old: f64, new: f64) -> f64 {
    (7.0 * old + new) / 8.0
}

/// State of Westwood+. Bandwidths are in segments per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WestwoodPlus {
    delivered: Delivered,
    /// When the current interval started; the first ACK starts the first one.
    start: Option<Instant>,
    /// Segments delivered in it.
    segments: u64,
    /// After the first filter, and after both.
    bandwidth: Option<(f64, f64)>,
    /// The last RTT sample.
    rtt: Option<Duration>,
    least_rtt: Option<Duration>,
}

impl Part for WestwoodPlus {
    const INFO: PartInfo = PartInfo {
        name: "westwood-plus",
        summary:
            "Westwood+: after a loss the window is bandwidth times minimum RTT, with one bandwidth sample per RTT",
        source: "Grieco & Mascolo 2004; Linux tcp_westwood.c",
        knobs: &[],
    };
}

impl WestwoodPlus {
    fn threshold(&self) -> f64 {
        let bandwidth = self.bandwidth.map_or(0.0, |(_, smooth)| smooth);
        let least_rtt = seconds(self.least_rtt.unwrap_or(Duration::ZERO));
        (bandwidth * least_rtt).floor().max(LEAST_SSTHRESH)
    }
}

impl Congestion for WestwoodPlus {
    fn ssthresh_after_loss(&mut self, _now: Instant, _load: f64) -> f64 {
        self.threshold()
    }

    fn ssthresh_after_timeout(&mut self, _now: Instant, _load: f64) -> f64 {
        let ssthresh = self.threshold();
        // The path may have changed: RTTmin is measured again.
        self.least_rtt = self.rtt;
        ssthresh
    }

    fn recovery_window(&self, window: Window) -> Option<f64> {
        Some(window.cwnd.min(window.ssthresh))
    }

    fn on_arrival(&mut self, now: Instant, segments: u64) {
        let Some(start) = self.start else {
            // The ACK of the SYN, which acknowledges no data.
            self.start = Some(now);
            return;
        };
        let interval = now.since(start);
        if self
            .rtt
            .is_some_and(|rtt| interval > rtt.max(LEAST_INTERVAL))
        {
            let sample = std::mem::take(&mut self.segments) as f64 / seconds(interval);
            self.bandwidth = Some(match self.bandwidth {
                None => (sample, sample),
                Some((once, twice)) => {
                    let once = smooth(once, sample);
                    (once, smooth(twice, once))
                }
            });
            self.start = Some(now);
        }
        self.segments += self.delivered.count(segments);
    }

    fn on_rtt_sample(&mut self, _window: &mut Window, news: &RttNews) {
        let rtt = news.rtt;
        self.rtt = Some(rtt);
        self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
    }

    fn bandwidth(&self, _now: Instant) -> Option<f64> {
        Some(self.bandwidth.map_or(0.0, |(_, smooth)| smooth))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::sampled;
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A controller with its first ACK at zero, which gave this RTT.
    fn opened(rtt: Duration) -> WestwoodPlus {
        let mut plus = WestwoodPlus::default();
        plus.on_arrival(at(0), 1);
        sampled(&mut plus, rtt);
        plus
    }

    fn estimate(plus: &WestwoodPlus) -> f64 {
        plus.bandwidth(at(0)).unwrap_or_default()
    }

    #[test]
    fn one_sample_an_rtt_goes_through_two_filters() {
        let mut plus = opened(ms(100));
        plus.on_arrival(at(40), 2);
        plus.on_arrival(at(100), 2);
        // 100 ms is not later than the RTT.
        assert_eq!(estimate(&plus), 0.0);
        // The interval of 125 ms has 4 segments, 32 per second; the 2 of this ACK count in the next
        // one.
        plus.on_arrival(at(125), 2);
        assert_eq!(estimate(&plus), 32.0);
        // Another 125 ms, with those 2 and 10 more: 96 per second. The first filter gives (7 x
        // 32 + 96) / 8 = 40, the second (7 x 32 + 40) / 8 = 33.
        plus.on_arrival(at(200), 10);
        plus.on_arrival(at(250), 1);
        assert_eq!(estimate(&plus), 33.0);
        // 1 segment in 125 ms, 8 per second: (7 x 40 + 8) / 8 = 36, and (7 x 33 + 36) / 8 = 33.375.
        plus.on_arrival(at(375), 1);
        assert_eq!(estimate(&plus), 33.375);
    }

    #[test]
    fn no_interval_is_shorter_than_50_ms() {
        let mut plus = opened(ms(4));
        for t in 1..=50 {
            plus.on_arrival(at(t), 1);
        }
        assert_eq!(estimate(&plus), 0.0);
        // 50 segments in 64 ms.
        plus.on_arrival(at(64), 1);
        assert_eq!(estimate(&plus), 781.25);
    }

    #[test]
    fn segments_counted_at_duplicates_are_not_counted_again() {
        let mut plus = opened(ms(100));
        for (t, segments) in [(10, 0), (20, 0), (30, 0), (90, 4)] {
            plus.on_arrival(at(t), segments);
        }
        // Four in 125 ms, not seven.
        plus.on_arrival(at(125), 1);
        assert_eq!(estimate(&plus), 32.0);
    }

    #[test]
    fn the_least_rtt_is_measured_again_after_a_timeout() {
        let mut plus = opened(ms(250));
        sampled(&mut plus, ms(500));
        plus.on_arrival(at(10), 50);
        // 50 in 625 ms are 80 per second.
        plus.on_arrival(at(625), 1);
        // 80 x 0.25 s, then 80 x 0.5 s: RTTmin starts with the last RTT before the timeout.
        assert_eq!(plus.ssthresh_after_loss(at(625), 1000.0), 20.0);
        assert_eq!(plus.ssthresh_after_timeout(at(625), 1000.0), 20.0);
        assert_eq!(plus.ssthresh_after_loss(at(625), 1000.0), 40.0);
        sampled(&mut plus, ms(400));
        assert_eq!(plus.ssthresh_after_loss(at(625), 1000.0), 32.0);
        let window = Window {
            cwnd: 7.0,
            ssthresh: 32.0,
        };
        assert_eq!(plus.recovery_window(window), Some(7.0));
    }
}
