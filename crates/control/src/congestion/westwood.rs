//! TCP Westwood (Mascolo, Casetti, Gerla, Sanadidi & Wang, MobiCom 2001;
//! Casetti et al., Wireless Networks 8, 2002): Reno's growth, and after a loss a threshold of
//! measured bandwidth times minimum RTT instead of half the window.
//!
//! Each ACK gives a sample `b_k = d_k / (t_k - t_{k-1})`, where `d_k` is the number of segments
//! delivered since the previous ACK ([`Delivered`]). The samples go through a low-pass filter,
//! Tustin's discretisation of one with a cut-off of `1 / tau`:
//!
//! ```text
//! bwe_k = a_k bwe_{k-1} + (1 - a_k) (b_k + b_{k-1}) / 2
//! a_k   = (2 tau - dt) / (2 tau + dt),  dt = t_k - t_{k-1}
//! ```
//!
//! If no ACK arrives for `tau / 2` the filter takes a virtual sample of zero. That gives a lower
//! bound for `tau`, because the ACKs of a working link must arrive more often: with 200 kbit/s and
//! delayed ACKs they are 120 ms apart. The upper bound follows from how fast the estimate must
//! adapt to a changing path. The default is 0.5 s, a factor of two above the lower bound; the
//! authors' ns-2 code has 1 s. After three duplicate ACKs
//!
//! ```text
//! ssthresh = bwe RTTmin  (in whole segments, 2 at least),  cwnd = min(cwnd, ssthresh)
//! ```
//!
//! so a window below the path's capacity does not change; after a timeout `ssthresh` is set in the
//! same way, and `cwnd = 1`. RTTmin is the minimum RTT sample of the connection, including the
//! SYN's, as in the authors' ns-2 code.
//!
//! Before any sample, bandwidth and RTTmin are zero, and the threshold is two segments. The filter
//! starts at zero, so it takes about `tau` to adapt to a new path. An ACK that arrives right after
//! another gives a high sample, so that compressed ACKs look like bandwidth. Both are properties of
//! the paper; [`super::WestwoodPlus`] is the authors' solution for the second.
//!
//! Differs from the authors' ns-2 code (`tcp-westwood.cc` 1.3) where that differs from the paper:
//! there an ACK counts for at most two segments, the threshold after a timeout is divided by up to
//! four in slow start, and virtual samples are taken only when the next ACK arrives, too late for a
//! timeout.

use midflight_units::{Duration, Instant};

use super::{Congestion, RttNews, Window};
use crate::part::{refuse, Knob, KnobError, Part, PartInfo};

/// A real sample that follows a virtual one by less than this replaces it (the authors' ns-2 code):
/// one or two segments in almost no time would give a meaningless bandwidth.
const LEAST_REMAINDER: Duration = Duration::from_millis(10);

/// The minimum threshold in segments (the authors' ns-2 code; RFC 5681 (4)).
pub(super) const LEAST_SSTHRESH: f64 = 2.0;

pub(super) fn seconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e9
}

/// How many delivered segments an ACK indicates (MobiCom 2001, procedure AckedCount): one for a
/// duplicate; for a cumulative ACK, the covered segments that no duplicate has counted before, but
/// at least one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Delivered {
    /// Segments that duplicates have counted and that no cumulative ACK has covered.
    accounted_for: u64,
}

impl Delivered {
    /// Counts an ACK that advances by this many segments; zero for a duplicate.
    pub(super) fn count(&mut self, advance: u64) -> u64 {
        match advance {
            0 => {
                self.accounted_for += 1;
                1
            }
            // As in the procedure, an ACK of one segment is not corrected.
            1 => 1,
            _ if self.accounted_for >= advance => {
                self.accounted_for -= advance;
                1
            }
            _ => advance - std::mem::take(&mut self.accounted_for),
        }
    }
}

/// The filter. Bandwidths are in segments per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tustin {
    estimate: f64,
    /// The last sample.
    sample: f64,
}

impl Tustin {
    /// Filters a sample over the last `dt`.
    fn take(&mut self, sample: f64, dt: Duration, tau: Duration) {
        let (two_tau, dt) = (2.0 * seconds(tau), seconds(dt));
        let a = (two_tau - dt) / (two_tau + dt);
        self.estimate = a * self.estimate + (1.0 - a) * (sample + self.sample) / 2.0;
        self.sample = sample;
    }

    /// Filters this many virtual samples.
    fn take_virtual(&mut self, count: u64, tau: Duration) {
        for _ in 0..count {
            self.take(0.0, half(tau), tau);
            if self.estimate < f64::MIN_POSITIVE {
                // Further ones change nothing.
                self.estimate = 0.0;
                break;
            }
        }
    }
}

/// The time without an ACK after which a virtual sample is taken.
fn half(tau: Duration) -> Duration {
    Duration::from_nanos(tau.as_nanos() / 2)
}

/// State and knobs of Westwood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Westwood {
    tau: Duration,
    delivered: Delivered,
    filter: Tustin,
    /// When the last ACK arrived; the first one starts the clock.
    last: Option<Instant>,
    /// Segments of ACKs that arrived at the same instant as the previous one.
    held: u64,
    least_rtt: Option<Duration>,
}

impl Default for Westwood {
    fn default() -> Self {
        Self {
            tau: Duration::from_millis(500),
            delivered: Delivered::default(),
            filter: Tustin::default(),
            last: None,
            held: 0,
            least_rtt: None,
        }
    }
}

impl Part for Westwood {
    const INFO: PartInfo = PartInfo {
        name: "westwood",
        summary:
            "after a loss the window is bandwidth times minimum RTT, with the bandwidth filtered from ACK to ACK",
        source: "Mascolo et al., MobiCom 2001",
        knobs: &[Knob {
            name: "westwood_tau",
            default: "500ms",
            accepts: "a time from 1ms to 1000s",
            summary: "time constant of the bandwidth filter",
        }],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let bounds = Duration::from_millis(1)..=Duration::from_secs(1000);
        let tau = value.parse().ok().filter(|t| bounds.contains(t));
        match (name, tau) {
            ("westwood_tau", Some(tau)) => {
                self.tau = tau;
                Ok(())
            }
            _ => Err(refuse(&Self::INFO, name, value)),
        }
    }
}

impl Westwood {
    /// The current estimate, including the virtual samples since the last ACK.
    fn estimate(&self, now: Instant) -> f64 {
        let mut filter = self.filter;
        let idle = self.last.map_or(Duration::ZERO, |last| now.since(last));
        filter.take_virtual(idle.as_nanos() / half(self.tau).as_nanos(), self.tau);
        filter.estimate
    }
}

impl Congestion for Westwood {
    fn ssthresh_after_loss(&mut self, now: Instant, _load: f64) -> f64 {
        let least_rtt = seconds(self.least_rtt.unwrap_or(Duration::ZERO));
        (self.estimate(now) * least_rtt).floor().max(LEAST_SSTHRESH)
    }

    fn recovery_window(&self, window: Window) -> Option<f64> {
        Some(window.cwnd.min(window.ssthresh))
    }

    fn on_arrival(&mut self, now: Instant, segments: u64) {
        let Some(last) = self.last else {
            // The ACK of the SYN, which acknowledges no data.
            self.last = Some(now);
            return;
        };
        self.held += self.delivered.count(segments);
        if now <= last {
            // Differs from the paper, where time is continuous: ACKs of one instant are merged with
            // the next one into one sample.
            return;
        }
        let (passed, step) = (now.since(last), half(self.tau));
        let mut idle = passed.as_nanos() / step.as_nanos();
        let mut dt = Duration::from_nanos(passed.as_nanos() % step.as_nanos());
        if idle > 0 && dt < LEAST_REMAINDER {
            idle -= 1;
            dt = dt + step;
        }
        self.filter.take_virtual(idle, self.tau);
        let sample = std::mem::take(&mut self.held) as f64 / seconds(dt);
        self.filter.take(sample, dt, self.tau);
        self.last = Some(now);
    }

    fn on_rtt_sample(&mut self, _window: &mut Window, news: &RttNews) {
        let rtt = news.rtt;
        self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
    }

    fn bandwidth(&self, now: Instant) -> Option<f64> {
        Some(self.estimate(now))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::sampled;
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// A controller with its first ACK at zero, with the default tau of 0.5 s.
    fn opened() -> Westwood {
        let mut westwood = Westwood::default();
        westwood.on_arrival(at(0), 1);
        westwood
    }

    fn assert_near(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-9 * expected.max(1.0),
            "{found} is not {expected}"
        );
    }

    fn estimate(westwood: &Westwood, ms: u64) -> f64 {
        westwood.bandwidth(at(ms)).unwrap_or_default()
    }

    /// 2 tau = 1 s. With dt = 0.1 s: a = 0.9 / 1.1 = 9/11 and (1 - a) / 2 = 1/11.
    /// With dt = 0.2 s: a = 0.8 / 1.2 = 2/3 and (1 - a) / 2 = 1/6.
    #[test]
    fn the_filter_follows_a_series_worked_out_by_hand() {
        let mut westwood = opened();
        // b = 1 / 0.1 = 10: 1/11 (10 + 0) = 10/11.
        westwood.on_arrival(at(100), 1);
        assert_near(estimate(&westwood, 100), 10.0 / 11.0);
        // b = 2 / 0.1 = 20: 9/11 10/11 + 1/11 (20 + 10) = 90/121 + 330/121 = 420/121.
        westwood.on_arrival(at(200), 2);
        assert_near(estimate(&westwood, 200), 420.0 / 121.0);
        // b = 1 / 0.2 = 5: 2/3 420/121 + 1/6 (5 + 20) = 280/121 + 25/6 = 4705/726.
        westwood.on_arrival(at(400), 1);
        assert_near(estimate(&westwood, 400), 4705.0 / 726.0);
    }

    /// With dt = tau / 2 = 0.25 s: a = 0.75 / 1.25 = 3/5 and (1 - a) / 2 = 1/5.
    #[test]
    fn silence_counts_as_samples_of_zero() {
        let mut westwood = opened();
        westwood.on_arrival(at(100), 1);
        // b = 10 and the estimate 10/11, until 250 ms later the first virtual
        // sample: 3/5 10/11 + 1/5 10 = 28/11; the second: 3/5 28/11 = 84/55.
        assert_near(estimate(&westwood, 349), 10.0 / 11.0);
        assert_near(estimate(&westwood, 350), 28.0 / 11.0);
        assert_near(estimate(&westwood, 600), 84.0 / 55.0);
        // Reading the estimate has changed nothing. An ACK 0.1 s after the second virtual sample: b
        // = 10, 9/11 84/55 + 1/11 10 = 756/605 + 550/605 = 1306/605.
        westwood.on_arrival(at(700), 1);
        assert_near(estimate(&westwood, 700), 1306.0 / 605.0);
        // After an hour of silence the bandwidth is zero.
        assert_eq!(estimate(&westwood, 3_600_000), 0.0);
    }

    /// 255 ms of silence would be a virtual sample and 5 ms; they count as one sample of 255 ms: b
    /// = 1 / 0.255, a = 0.745 / 1.255, (1 - a) / 2 = 0.255 / 1.255, so the estimate is 1 / 1.255.
    #[test]
    fn an_ack_right_after_a_virtual_sample_takes_its_place() {
        let mut westwood = opened();
        westwood.on_arrival(at(255), 1);
        assert_near(estimate(&westwood, 255), 1.0 / 1.255);
        // 260 ms are a virtual sample of zero and 10 ms: b = 100, a = 0.99 / 1.01, (1 - a) / 2 =
        // 0.01 / 1.01: 100 / 101.
        let mut westwood = opened();
        westwood.on_arrival(at(260), 1);
        assert_near(estimate(&westwood, 260), 100.0 / 101.0);
    }

    /// Three at one instant and one 0.1 s later: the three count with the last one, b = 4 / 0.1 =
    /// 40, the estimate 40/11.
    #[test]
    fn acks_of_one_instant_are_one_sample() {
        let mut westwood = opened();
        westwood.on_arrival(at(0), 3);
        assert_eq!(estimate(&westwood, 0), 0.0);
        westwood.on_arrival(at(100), 1);
        assert_near(estimate(&westwood, 100), 40.0 / 11.0);
    }

    #[test]
    fn segments_counted_at_duplicates_are_not_counted_again() {
        let mut delivered = Delivered::default();
        // In order, and delayed ACKs.
        assert_eq!([1, 2, 2].map(|n| delivered.count(n)), [1, 2, 2]);
        // One segment is missing, four after it arrive, then it arrives: five in all.
        assert_eq!([0, 0, 0, 0].map(|n| delivered.count(n)), [1; 4]);
        assert_eq!(delivered.count(5), 1);
        assert_eq!(delivered.accounted_for, 0);
        // Two are missing, three arrive; a partial ACK covers the first missing one and two of the
        // three: it counts one more.
        assert_eq!([0, 0, 0].map(|n| delivered.count(n)), [1; 3]);
        assert_eq!(delivered.count(3), 1);
        // The third is forgotten, as in the procedure: the ACK of the second missing segment and of
        // the third counts both.
        assert_eq!(delivered.accounted_for, 0);
        assert_eq!(delivered.count(2), 2);
        // One of four duplicate ACKs is lost: four segments after the missing one have arrived, of
        // which three were counted.
        assert_eq!([0, 0, 0].map(|n| delivered.count(n)), [1; 3]);
        assert_eq!(delivered.count(5), 2);
        // More segments counted than covered: the rest is kept for the next ACK.
        assert_eq!([0, 0, 0, 0].map(|n| delivered.count(n)), [1; 4]);
        assert_eq!(delivered.count(2), 1);
        assert_eq!(delivered.accounted_for, 2);
        assert_eq!(delivered.count(4), 2);
    }

    #[test]
    fn the_threshold_is_bandwidth_times_least_rtt() {
        let mut westwood = opened();
        for rtt in [300, 200, 700] {
            sampled(&mut westwood, Duration::from_millis(rtt));
        }
        // 100 segments/s for ten time constants, to within e^-10 of 100.
        for i in 1..=500 {
            westwood.on_arrival(at(10 * i), 1);
        }
        assert!((99.9..100.0).contains(&estimate(&westwood, 5000)));
        // 99.99 x 0.2 s = 19.99.
        assert_eq!(westwood.ssthresh_after_loss(at(5000), 1000.0), 19.0);
        // A second later there have been four virtual samples: the first gives 3/5 100 + 1/5 100 =
        // 80, three more 80 (3/5)^3 = 17.28; x 0.2 s = 3.4.
        assert_eq!(westwood.ssthresh_after_timeout(at(6000), 1000.0), 3.0);
        let window = |cwnd, ssthresh| westwood.recovery_window(Window { cwnd, ssthresh });
        assert_eq!(window(30.0, 19.0), Some(19.0));
        assert_eq!(window(12.5, 19.0), Some(12.5));
    }

    #[test]
    fn tau_is_bounded() {
        let mut westwood = Westwood::default();
        for refused in ["0s", "999us", "1001s", "1"] {
            assert!(westwood.set_knob("westwood_tau", refused).is_err());
        }
        assert_eq!(westwood.set_knob("westwood_tau", "1ms"), Ok(()));
        assert_eq!(westwood.tau, Duration::from_millis(1));
    }
}
