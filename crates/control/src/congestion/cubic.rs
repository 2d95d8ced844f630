//! CUBIC (RFC 9438): in congestion avoidance the window follows a cubic function of the time since the last loss,
//! which is flat around the window at which that loss occurred.
//!
//! ```text
//! W_cubic(t) = C (t - K)^3 + W_max,   K = cbrt((W_max - cwnd_epoch) / C)
//! target     = W_cubic(t + RTT), no less than cwnd and no more than 1.5 cwnd
//! W_est     += alpha acked / cwnd,    alpha = 3 (1 - beta) / (1 + beta), 1 from cwnd_prior on
//! ```
//!
//! The window is W_est if that is larger (the Reno-friendly region, section 4.3); otherwise it grows by
//! `(target - cwnd) / cwnd` for each segment acknowledged (4.4, 4.5). After a loss `ssthresh = beta load`, and
//! W_max is the load, or with fast convergence `(1 + beta) / 2` of it if it is below the last W_max (4.6, 4.7).
//! After a timeout, and after a slow start that ends without a loss, K is zero and W_max the window at which
//! congestion avoidance begins (4.8, 4.2); after a timeout cwnd_prior is still the load before it, so that
//! W_est grows by alpha up to that. Idle time is not part of t (4.2). Slow start is Reno's: no HyStart++ (4.10
//! recommends one).
//!
//! By the rules of RFC 8312, which RFC 9438 replaced, the curve and W_est begin at beta W_max and not at the window (8312,
//! equation 2, 4.2 and 4.6). The two differ after fast convergence, which sets W_max below the load: then the window
//! stays as it is until one of them has reached it.
//!
//! ```text
//! K = cbrt(W_max (1 - beta) / C),   W_est(t) = beta W_max + alpha t / RTT
//! ```
//!
//! Differs from the RFC in these points. W_max is the data in flight (the sender's load) and not cwnd, so that an
//! unused window is not stored; if the window limits the sender they are equal. A window set by another part,
//! such as a policy after a handoff or the Eifel response, begins a new epoch as after a slow start, because the
//! old path's W_max does not apply to it. (4.9 restores the epoch after a spurious loss.) The window also grows
//! while the receiver limits the sender, and that time counts (5.8 excludes both); the RTT is smoothed over
//! samples, not over windows.

use midflight_units::Instant;

use super::reno;
use super::{AckCounting, Congestion, RttNews, Window};
use crate::part::{choose, Knob, KnobError, Part, PartInfo};

/// RFC 9438 section 5.1 (C, in segments per second cubed) and 4.6 (beta).
const C: f64 = 0.4;
const BETA: f64 = 0.7;
/// Section 4.3.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// The shortest RTT, in seconds: a sample of zero is one of a microsecond, as in Linux (cubictcp_acked()).
const LEAST_RTT: f64 = 1e-6;

/// State and knobs of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cubic {
    rules: Rules,
    fast_convergence: bool,
    /// The window around which growth is slow; none before a loss.
    w_max: Option<f64>,
    /// cwnd_prior: the data in flight at the last loss.
    prior: f64,
    /// The last reduction, if congestion avoidance has not begun since.
    reduced: Option<Reduced>,
    epoch: Option<Epoch>,
    /// How much the last ACK of slow start increased the window, which may exceed the threshold by that much at
    /// the end.
    step: f64,
    /// Smoothed RTT (RFC 6298), in seconds.
    srtt: Option<f64>,
    /// When the current ACK arrived.
    now: Instant,
}

/// Where the curve begins after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rules {
    /// At the window.
    Rfc9438,
    /// At `BETA` of W_max.
    Rfc8312,
}

/// The cause of a reduction, and the resulting threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reduced {
    /// A loss reported by duplicate ACKs.
    Loss(f64),
    /// A timeout.
    Timeout(f64),
}

/// A period of congestion avoidance without a loss.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Epoch {
    begun: Instant,
    /// Seconds until the plateau.
    k: f64,
    w_max: f64,
    /// From this window on, W_est grows by one segment per round trip.
    prior: f64,
    w_est: f64,
    /// The window that this controller set last; a different value was set by another part.
    cwnd: f64,
}

impl Cubic {
    /// The initial state with the default knobs.
    pub const DEFAULT: Self = Self {
        rules: Rules::Rfc9438,
        fast_convergence: true,
        w_max: None,
        prior: 0.0,
        reduced: None,
        epoch: None,
        step: 1.0,
        srtt: None,
        now: Instant::ZERO,
    };
}

impl Default for Cubic {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Part for Cubic {
    const INFO: PartInfo = PartInfo {
        name: "cubic",
        summary: "growth by the time since the last loss, and 0.7 of the data in flight after one",
        source: "RFC 9438",
        knobs: &[
            Knob {
                name: "cubic_fast_convergence",
                default: "on",
                accepts: "on, off",
                summary: "reduce W_max if the window did not reach the last W_max",
            },
            Knob {
                name: "cubic_rules",
                default: "rfc9438",
                accepts: "rfc9438, rfc8312",
                summary: "after a loss the curve begins at the window (RFC 9438) or at 0.7 W_max (RFC 8312)",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        if name == "cubic_rules" {
            let choices = [("rfc9438", Rules::Rfc9438), ("rfc8312", Rules::Rfc8312)];
            self.rules = choose(&Self::INFO, name, value, &choices)?;
            return Ok(());
        }
        let choices = [("on", true), ("off", false)];
        self.fast_convergence = choose(&Self::INFO, name, value, &choices)?;
        Ok(())
    }
}

impl Cubic {
    fn begin(&mut self, Window { cwnd, ssthresh }: Window) -> Epoch {
        // A policy may have set another window since then.
        let step = self.step;
        let is_own = |own: f64| own == ssthresh && cwnd <= own + step;
        let known = self.w_max.unwrap_or(cwnd);
        let is_8312 = self.rules == Rules::Rfc8312;
        let (w_max, prior, first) = match self.reduced.take() {
            Some(Reduced::Loss(own)) if is_own(own) && is_8312 => (known, f64::MAX, BETA * known),
            Some(Reduced::Loss(own)) if is_own(own) => {
                (known.max(cwnd), self.prior.max(cwnd), cwnd)
            }
            // Section 4.8.
            Some(Reduced::Timeout(own)) if is_own(own) => (cwnd, self.prior.max(cwnd), cwnd),
            _ => (cwnd, cwnd, cwnd),
        };
        // Fast convergence compares the next loss with this.
        self.w_max = Some(w_max);
        Epoch {
            begun: self.now,
            // In software, so that the result is the same on every machine.
            k: libm::cbrt((w_max - first) / C),
            w_max,
            prior,
            w_est: if is_8312 { BETA * w_max } else { cwnd },
            cwnd,
        }
    }

    /// W_est after an ACK at `t` seconds of an epoch, and the value to keep.
    fn estimate(&self, epoch: &Epoch, t: f64, acked: f64) -> (f64, f64) {
        match (self.rules, self.srtt) {
            (Rules::Rfc9438, _) => {
                let alpha = if epoch.w_est < epoch.prior {
                    ALPHA
                } else {
                    1.0
                };
                let w_est = epoch.w_est + alpha * acked / epoch.cwnd;
                (w_est, w_est)
            }
            (Rules::Rfc8312, Some(srtt)) => (epoch.w_est + ALPHA * t / srtt, epoch.w_est),
            (Rules::Rfc8312, None) => (epoch.w_est, epoch.w_est),
        }
    }

    fn reduce(&mut self, load: f64) -> f64 {
        self.prior = load;
        let is_short = self.fast_convergence && self.w_max.is_some_and(|w_max| load < w_max);
        self.w_max = Some(if is_short {
            load * (1.0 + BETA) / 2.0
        } else {
            load
        });
        self.epoch = None;
        (BETA * load).max(2.0)
    }
}

impl Congestion for Cubic {
    fn on_ack(&mut self, window: &mut Window, segments: u64, counting: AckCounting) {
        if window.cwnd < window.ssthresh {
            self.epoch = None;
            let before = window.cwnd;
            reno::grow(window, segments, counting);
            self.step = (window.cwnd - before).max(1.0);
            return;
        }
        let acked = match counting {
            AckCounting::PerAck => 1.0,
            AckCounting::AppropriateBytes { .. } => segments as f64,
        };
        let known = self.epoch.filter(|epoch| epoch.cwnd == window.cwnd);
        let mut epoch = known.unwrap_or_else(|| self.begin(*window));
        let w_cubic = |t: f64| C * (t - epoch.k).powi(3) + epoch.w_max;
        let t = self.now.since(epoch.begun).as_secs_f64();
        let cwnd = window.cwnd;
        let (w_est, kept) = self.estimate(&epoch, t, acked);
        window.cwnd = if w_cubic(t) < w_est {
            cwnd.max(w_est)
        } else {
            let target = w_cubic(t + self.srtt.unwrap_or(0.0));
            cwnd + (target.clamp(cwnd, 1.5 * cwnd) - cwnd) * acked / cwnd
        };
        (epoch.w_est, epoch.cwnd) = (kept, window.cwnd);
        self.epoch = Some(epoch);
    }

    fn ssthresh_after_loss(&mut self, _now: Instant, load: f64) -> f64 {
        let ssthresh = self.reduce(load);
        self.reduced = Some(Reduced::Loss(ssthresh));
        ssthresh
    }

    fn ssthresh_after_timeout(&mut self, _now: Instant, load: f64) -> f64 {
        let ssthresh = self.reduce(load);
        // Section 4.8: W_max is the window at which congestion avoidance will begin.
        self.w_max = None;
        self.reduced = Some(Reduced::Timeout(ssthresh));
        ssthresh
    }

    /// Section 4.2: t excludes idle time.
    fn on_idle_end(&mut self, now: Instant, _last_sent: Instant) {
        if let Some(epoch) = &mut self.epoch {
            epoch.begun += now.since(self.now);
        }
    }

    fn on_arrival(&mut self, now: Instant, _segments: u64) {
        self.now = now;
    }

    fn on_rtt_sample(&mut self, _window: &mut Window, news: &RttNews) {
        let rtt = news.rtt.as_secs_f64().max(LEAST_RTT);
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| srtt + (rtt - srtt) / 8.0));
    }
}

#[cfg(test)]
mod tests {
    use midflight_units::Duration;

    use super::super::testing::sampled;
    use super::*;

    const COUNTING: AckCounting = AckCounting::AppropriateBytes { limit: 1 };

    /// Acknowledges one window per `rtt` for this many seconds from `from` on; returns the window at the end of
    /// each.
    fn windows(cubic: &mut Cubic, w: &mut Window, rtt: f64, (from, to): (f64, f64)) -> Vec<f64> {
        let mut all = Vec::new();
        let mut t = from;
        while t < to {
            t += rtt;
            let acks = w.cwnd.floor();
            for ack in 0..acks as u64 {
                let at = t - rtt + rtt * (ack + 1) as f64 / acks;
                cubic.on_arrival(Instant::from_nanos((at * 1e9) as u64), 1);
                cubic.on_ack(w, 1, COUNTING);
            }
            all.push(w.cwnd);
        }
        all
    }

    fn after_loss(load: f64) -> (Cubic, Window) {
        let mut cubic = Cubic::default();
        sampled(&mut cubic, Duration::from_millis(100));
        let ssthresh = cubic.ssthresh_after_loss(Instant::ZERO, load);
        let cwnd = ssthresh;
        (cubic, Window { cwnd, ssthresh })
    }

    /// Section 5.1: from 0.7 of 1000 back to 1000 in K = cbrt(300 / 0.4) = 9.09 s, flat there, then above it.
    #[test]
    fn the_window_is_restored_after_k_seconds_for_any_rtt() {
        for rtt in [0.05, 0.1] {
            let (mut cubic, mut w) = after_loss(1000.0);
            assert_eq!(w.cwnd, 700.0);
            let k = libm::cbrt(300.0 / C);
            windows(&mut cubic, &mut w, rtt, (0.0, k - 1.0));
            assert!((w.cwnd - 1000.0).abs() < 1.5, "{rtt}: {}", w.cwnd);
            windows(&mut cubic, &mut w, rtt, (k - 1.0, k + 1.0));
            assert!((w.cwnd - 1000.0).abs() < 1.5, "{rtt}: {}", w.cwnd);
            windows(&mut cubic, &mut w, rtt, (k + 1.0, k + 5.0));
            let cubed = 1000.0 + C * 125.0;
            assert!((w.cwnd - cubed).abs() < 0.02 * cubed, "{rtt}: {}", w.cwnd);
        }
    }

    /// Section 4.3: with a short RTT and a small window growth is like Reno's, 0.53 of a segment per RTT up to
    /// W_max and one above it.
    #[test]
    fn a_small_window_grows_as_renos() {
        let (mut cubic, mut w) = after_loss(20.0);
        let all = windows(&mut cubic, &mut w, 0.01, (0.0, 0.5));
        let step = |i: usize| all[i + 1] - all[i];
        assert!((step(2) - ALPHA).abs() < 0.05, "{all:?}");
        assert!((step(30) - 1.0).abs() < 0.05, "{all:?}");
    }

    /// Section 4.3: W_est grows by one segment per round trip from the window before the loss on, even if fast
    /// convergence has set W_max below that.
    #[test]
    fn a_sender_that_yields_does_not_speed_up_before_its_old_window() {
        let (mut cubic, _) = after_loss(24.0);
        let ssthresh = cubic.ssthresh_after_loss(Instant::ZERO, 20.0);
        assert_eq!((cubic.w_max, ssthresh), (Some(17.0), 14.0));
        let cwnd = ssthresh;
        let mut w = Window { cwnd, ssthresh };
        let all = windows(&mut cubic, &mut w, 0.01, (0.0, 0.3));
        for pair in all.windows(2) {
            let expected = if pair[0] < 19.5 { ALPHA } else { 1.0 };
            let near = pair[0] > 19.4 && pair[0] < 20.1;
            assert!(
                near || (pair[1] - pair[0] - expected).abs() < 0.05,
                "{pair:?}"
            );
        }
        assert!(w.cwnd > 22.0);
    }

    /// Section 4.2: at most half as much again in a round trip.
    #[test]
    fn growth_is_bounded() {
        let (mut cubic, mut w) = after_loss(10_000.0);
        w.cwnd = 100.0;
        w.ssthresh = 100.0;
        windows(&mut cubic, &mut w, 1.0, (0.0, 60.0));
        let all = windows(&mut cubic, &mut w, 1.0, (60.0, 90.0));
        // Half a segment for each of them gives a factor of exp(0.5) in a round trip.
        assert!(all.windows(2).all(|p| p[1] <= 1.66 * p[0]), "{all:?}");
    }

    #[test]
    fn fast_convergence_remembers_less() {
        for (value, remembered) in [("on", 80.0 * 0.85), ("off", 80.0)] {
            let (mut cubic, _) = after_loss(100.0);
            assert_eq!(cubic.set_knob("cubic_fast_convergence", value), Ok(()));
            assert_eq!(cubic.ssthresh_after_loss(Instant::ZERO, 80.0), 56.0);
            assert_eq!(cubic.w_max, Some(remembered), "{value}");
        }
    }

    /// RFC 8312, equation 2 and section 4.6: after fast convergence the curve begins below the window, which stays as it is
    /// until W_est has reached it. By RFC 9438 it grows at once. Without fast convergence both begin at the window.
    #[test]
    fn by_the_older_rules_a_sender_that_yields_waits() {
        let grown = |rules: &str, first: f64| {
            let (mut cubic, _) = after_loss(first);
            assert_eq!(cubic.set_knob("cubic_rules", rules), Ok(()));
            let ssthresh = cubic.ssthresh_after_loss(Instant::ZERO, 100.0);
            let cwnd = ssthresh;
            let mut w = Window { cwnd, ssthresh };
            let all = windows(&mut cubic, &mut w, 0.02, (0.0, 0.5));
            let k = cubic.epoch.map(|epoch| epoch.k);
            (all, k.unwrap_or_default())
        };
        // W_max is 85, and 0.7 of it 59.5. The curve reaches 70 after 0.66 s, and is looked up a round trip (the estimate is
        // 100 ms) ahead; W_est takes 10.5 / 0.53 = 20 of these round trips.
        let (all, k) = grown("rfc8312", 140.0);
        assert!(all.iter().all(|cwnd| *cwnd == 70.0), "{all:?}");
        assert!((k - libm::cbrt(25.5 / C)).abs() < 1e-9, "{k}");
        let (all, k) = grown("rfc9438", 140.0);
        assert!(all.last() > Some(&80.0), "{all:?}");
        assert!((k - libm::cbrt(15.0 / C)).abs() < 1e-9, "{k}");
        let (_, one) = grown("rfc8312", 100.0);
        let (_, other) = grown("rfc9438", 100.0);
        assert!((one - other).abs() < 1e-9, "{one} {other}");
    }

    /// Section 4.8, and windows set by a policy: nothing is remembered, and growth begins flat.
    #[test]
    fn a_timeout_and_a_window_of_somebody_else_begin_an_epoch_of_their_own() {
        let (mut cubic, mut w) = after_loss(1000.0);
        windows(&mut cubic, &mut w, 0.1, (0.0, 3.0));
        w = Window {
            cwnd: 100.0,
            ssthresh: 100.0,
        };
        windows(&mut cubic, &mut w, 0.1, (3.0, 3.9));
        // One segment per round trip, as in Reno, and not half as much again.
        assert!(w.cwnd < 110.0, "{}", w.cwnd);
        assert_eq!(cubic.epoch.map(|e| (e.w_max, e.k)), Some((100.0, 0.0)));
        // The window was set during the recovery.
        let (mut cubic, _) = after_loss(1000.0);
        let mut w = Window {
            cwnd: 50.0,
            ssthresh: 50.0,
        };
        windows(&mut cubic, &mut w, 0.1, (0.0, 1.0));
        assert!(w.cwnd < 65.0, "{}", w.cwnd);
        let (mut cubic, _) = after_loss(1000.0);
        let ssthresh = cubic.ssthresh_after_timeout(Instant::ZERO, 100.0);
        assert_eq!(cubic.w_max, None);
        let mut w = Window {
            cwnd: 1.0,
            ssthresh,
        };
        windows(&mut cubic, &mut w, 0.1, (0.0, 1.0));
        assert_eq!(cubic.epoch.map(|e| e.k), Some(0.0));
        assert!(w.cwnd > ssthresh && w.cwnd < ssthresh + 10.0, "{}", w.cwnd);
    }

    /// Sections 4.3 and 4.8: after a timeout W_est grows by alpha per round trip up to the window before it, and
    /// by one segment above that.
    #[test]
    fn after_a_timeout_growth_is_alpha_up_to_the_old_window() {
        let mut cubic = Cubic::default();
        sampled(&mut cubic, Duration::from_millis(10));
        let ssthresh = cubic.ssthresh_after_timeout(Instant::ZERO, 20.0);
        assert_eq!(ssthresh, 14.0);
        let cwnd = ssthresh;
        let mut w = Window { cwnd, ssthresh };
        let all = windows(&mut cubic, &mut w, 0.01, (0.0, 0.3));
        for pair in all.windows(2) {
            let expected = if pair[0] < 19.5 { ALPHA } else { 1.0 };
            let near = pair[0] > 19.4 && pair[0] < 20.1;
            let step = pair[1] - pair[0];
            assert!(near || (step - expected).abs() < 0.05, "{pair:?}");
        }
        // A further loss is compared with the window after the timeout, not before it.
        assert_eq!(cubic.w_max, Some(14.0));
    }

    /// Section 4.2: an idle time of five seconds does not change growth.
    #[test]
    fn idle_time_is_not_counted() {
        let grown = |idle: f64, is_notified: bool| {
            let (mut cubic, mut w) = after_loss(10.0);
            windows(&mut cubic, &mut w, 0.1, (0.0, 1.0));
            let on = 1.0 + idle;
            if is_notified {
                cubic.on_idle_end(Instant::from_nanos((on * 1e9) as u64), Instant::ZERO);
            }
            windows(&mut cubic, &mut w, 0.1, (on, on + 0.1));
            w.cwnd
        };
        assert!((grown(5.0, true) - grown(0.0, true)).abs() < 1e-3);
        assert!(grown(5.0, false) > grown(5.0, true) + 2.0);
    }

    /// Slow start by two segments may end above the threshold: the window still belongs to the controller.
    #[test]
    fn an_overshoot_of_slow_start_is_not_somebody_elses_window() {
        let (mut cubic, mut w) = after_loss(15.0);
        w.cwnd = 9.0;
        let two = AckCounting::AppropriateBytes { limit: 2 };
        for ack in 1..4 {
            cubic.on_arrival(Instant::from_nanos(ack * 1_000_000), 2);
            cubic.on_ack(&mut w, 2, two);
        }
        assert_eq!(cubic.epoch.map(|e| e.w_max), Some(15.0));
    }
}
