//! Loss differentiation (Lim & Jang, IET Communications 2(2), 2008; Lim & Jang
//! 2009, section 4.1), and its modification for handoffs.
//!
//! A loss is attributed to congestion if
//!
//! ```text
//! (T_cur - T_avg) / T_dev > 2 (T_min / T_cur)^k - 1          (1)
//! ```
//!
//! where T_cur is the last RTT before the loss, T_avg and T_dev its mean and mean deviation (gains 1/8 and
//! 1/4, the deviation from the new mean) and T_min the minimum RTT since the last timeout. The papers do not
//! specify `k`.
//!
//! The modification (section 4.2) treats a spurious timeout as a handoff: the first RTT of a segment sent
//! after that timeout becomes T_avg and T_min, half of it T_dev, and for `n` round trips (1 in the paper)
//! losses are not classified but treated as congestion. Section 4.1.2 resets to the initial values instead: a
//! knob.
//!
//! RTTs come from every ACK of new data whose first segment was not retransmitted, as with the timestamps
//! option; the SYN, which has another size, gives none. T_dev can reach zero on a constant path; it counts as
//! at least one clock tick. A loss before any RTT since the last timeout is not classified: it counts as
//! congestion.

use midflight_units::{Duration, Instant, Seq};

use super::{Indicators, LossCause, LossClassifier, RttSample};
use crate::part::{choose, refuse, whole, Knob, KnobError, Part, PartInfo};
use crate::{Interests, SenderView};

/// Initial T_dev in seconds (section 4.1.1).
const INITIAL_DEVIATION: f64 = 0.5;

/// State and knobs of LD; with `HANDOFF` the modified version.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ld<const HANDOFF: bool> {
    k: u32,
    tick: Duration,
    pause_rounds: u32,
    wireless_in_pause: bool,
    reset_to_initial: bool,
    keep_least: bool,
    current: f64,
    mean: f64,
    deviation: f64,
    least: f64,
    /// When the timer last expired: segments sent before belong to the old path.
    timeout: Instant,
    /// A handoff was detected and its first RTT has not arrived yet.
    awaits_first: bool,
    /// Round trips left without classification, and the segment whose ACK ends the current one.
    pause: Option<(u32, Seq)>,
}

impl<const HANDOFF: bool> Default for Ld<HANDOFF> {
    fn default() -> Self {
        Self {
            k: 4,
            tick: Duration::from_millis(10),
            pause_rounds: 1,
            wireless_in_pause: false,
            reset_to_initial: false,
            keep_least: false,
            current: 0.0,
            mean: 0.0,
            deviation: INITIAL_DEVIATION,
            least: f64::INFINITY,
            timeout: Instant::ZERO,
            awaits_first: false,
            pause: None,
        }
    }
}

const K: Knob = Knob {
    name: "ld_k",
    default: "4",
    accepts: "a whole number from 1 to 64",
    summary: "exponent k",
};
const T_MIN: Knob = Knob {
    name: "ld_t_min",
    default: "reset",
    accepts: "reset, keep",
    summary: "T_min after a timeout: measured again (the papers' definition) or kept (as figure 3 of 2009 seems to show)",
};
const TICK: Knob = Knob {
    name: "ld_tick",
    default: "10ms",
    accepts: "a time above zero",
    summary: "minimum T_dev",
};

impl<const HANDOFF: bool> Part for Ld<HANDOFF> {
    const INFO: PartInfo = if HANDOFF {
        PartInfo {
            name: "ld-handover",
            summary: "loss differentiation that is reset after a handoff",
            source: "Lim & Jang 2009, sections 4.1.2 and 4.2",
            knobs: &[
                K,
                TICK,
                T_MIN,
                Knob {
                    name: "ld_pause",
                    default: "1",
                    accepts: "a whole number from 0 to 1000",
                    summary: "round trips after a handoff in which losses are not judged",
                },
                Knob {
                    name: "ld_in_pause",
                    default: "congestion",
                    accepts: "congestion, wireless",
                    summary: "the assumed cause of losses in these round trips",
                },
                Knob {
                    name: "ld_reset",
                    default: "first-rtt",
                    accepts: "first-rtt, initial",
                    summary: "mean and deviation after a handoff: from the first RTT of the new path (section 4.2) or as for a new connection (section 4.1.2)",
                },
            ],
        }
    } else {
        PartInfo {
            name: "ld",
            summary: "loss differentiation by the RTT before the loss",
            source: "Lim & Jang 2008; Lim & Jang 2009, section 4.1.1",
            knobs: &[K, TICK, T_MIN],
        }
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let info = &Self::INFO;
        match name {
            "ld_k" => self.k = whole(info, name, value, 1..=64)?,
            "ld_tick" => {
                let tick = value.parse().ok().filter(|&t| t > Duration::ZERO);
                self.tick = tick.ok_or_else(|| refuse(info, name, value))?;
            }
            "ld_t_min" => {
                let choices = [("reset", false), ("keep", true)];
                self.keep_least = choose(info, name, value, &choices)?;
            }
            "ld_pause" => self.pause_rounds = whole(info, name, value, 0..=1000)?,
            "ld_in_pause" => {
                let choices = [("congestion", false), ("wireless", true)];
                self.wireless_in_pause = choose(info, name, value, &choices)?;
            }
            _ => {
                let choices = [("first-rtt", false), ("initial", true)];
                self.reset_to_initial = choose(info, name, value, &choices)?;
            }
        }
        Ok(())
    }
}

fn seconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e9
}

impl<const HANDOFF: bool> Ld<HANDOFF> {
    /// The right side of (2): an RTT above it means congestion.
    fn threshold(&self) -> f64 {
        let ratio = self.least / self.current;
        let power = (0..self.k).fold(1.0, |product, _| product * ratio);
        self.mean + self.deviation.max(seconds(self.tick)) * (2.0 * power - 1.0)
    }

    /// Whether the first RTT of the new path is missing; if this sample is it, uses it.
    fn starts_afresh(&mut self, sample: &RttSample) -> bool {
        if !self.awaits_first {
            return false;
        }
        if sample.sent >= self.timeout {
            self.awaits_first = false;
            let rtt = seconds(sample.rtt);
            (self.current, self.least) = (rtt, rtt);
            (self.mean, self.deviation) = if self.reset_to_initial {
                (0.0, INITIAL_DEVIATION)
            } else {
                (rtt, rtt / 2.0)
            };
            self.pause = (self.pause_rounds > 0).then_some((self.pause_rounds, sample.snd_max));
        }
        true
    }
}

impl<const HANDOFF: bool> LossClassifier for Ld<HANDOFF> {
    fn judge(&self, _view: &SenderView) -> LossCause {
        let paused = self.awaits_first || self.pause.is_some();
        let wireless = if paused {
            self.wireless_in_pause
        } else if self.least.is_infinite() {
            false
        } else {
            self.current <= self.threshold()
        };
        if wireless {
            LossCause::Wireless
        } else {
            LossCause::Congestion
        }
    }

    fn interests(&self) -> Interests {
        Interests::SAMPLES
    }

    fn on_sample(&mut self, sample: &RttSample) {
        if self.starts_afresh(sample) {
            return;
        }
        self.current = seconds(sample.rtt);
        self.mean = 0.875 * self.mean + 0.125 * self.current;
        self.deviation = 0.75 * self.deviation + 0.25 * (self.mean - self.current).abs();
        self.least = self.least.min(self.current);
        if let Some((rounds, edge)) = self.pause {
            if sample.snd_una >= edge {
                self.pause = (rounds > 1).then(|| (rounds - 1, sample.snd_max));
            }
        }
    }

    fn on_timeout(&mut self, view: &SenderView) {
        if !self.keep_least {
            self.least = f64::INFINITY;
        }
        self.timeout = view.now;
        self.awaits_first = false;
    }

    fn on_spurious_timeout(&mut self, _view: &SenderView) {
        self.awaits_first = HANDOFF;
    }

    fn indicators(&self) -> Option<Indicators> {
        // Its present values are those of the old path.
        if self.awaits_first {
            return None;
        }
        Some(Indicators {
            current: self.current,
            mean: self.mean,
            deviation: self.deviation,
            least: self.least,
            threshold: self.threshold(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::view;

    fn sample(rtt_ms: u64, sent_ms: u64, una: Seq) -> RttSample {
        RttSample {
            rtt: Duration::from_millis(rtt_ms),
            sent: Instant::from_nanos(sent_ms * 1_000_000),
            snd_una: una,
            snd_max: una + 10,
        }
    }

    fn fed<const H: bool>(rtts: impl IntoIterator<Item = u64>) -> Ld<H> {
        let mut ld = Ld::default();
        for rtt in rtts {
            ld.on_sample(&sample(rtt, 0, 0));
        }
        ld
    }

    #[test]
    fn the_filters_are_the_papers() {
        let ld = fed::<false>([400]);
        assert!((ld.mean - 0.05).abs() < 1e-12, "0 and 1/8 of 0.4");
        assert!((ld.deviation - (0.375 + 0.25 * 0.35)).abs() < 1e-12);
        assert_eq!(ld.least, 0.4);
    }

    #[test]
    fn an_rtt_at_its_least_is_wireless_and_one_above_a_full_buffer_congestion() {
        let judge = |ld: &Ld<false>| ld.judge(&view(20, 1000));
        assert_eq!(judge(&fed(vec![400; 100])), LossCause::Wireless);
        // A buffer of 20 % of the BDP: 1.2 times the minimum RTT, long enough for mean and deviation to
        // settle.
        let full = || (0..100).map(|_| 400).chain(vec![480; 200]);
        assert_eq!(judge(&fed(full())), LossCause::Congestion);
        // 2 / 1.2^3 - 1 is above zero: a settled RTT is never above the threshold.
        let mut k3 = fed(full());
        assert_eq!(k3.set_knob("ld_k", "3"), Ok(()));
        assert_eq!(judge(&k3), LossCause::Wireless);
    }

    /// Section 4.2: values of the old path do not count on the new one.
    #[test]
    fn after_a_handoff_the_first_new_rtt_sets_everything() {
        let mut ld = fed::<true>(vec![42; 100]);
        let at_timeout = SenderView {
            now: Instant::from_nanos(250_000_000_000),
            ..view(20, 1000)
        };
        ld.on_timeout(&at_timeout);
        assert_eq!(ld.least, f64::INFINITY);
        ld.on_spurious_timeout(&at_timeout);
        ld.on_sample(&sample(30_000, 249_900, 5));
        assert_eq!(ld.least, f64::INFINITY, "sent over the old path");
        ld.on_sample(&sample(402, 280_000, 10));
        assert_eq!((ld.mean, ld.deviation, ld.least), (0.402, 0.201, 0.402));
        assert_eq!(ld.judge(&at_timeout), LossCause::Congestion, "not judged");
        ld.on_sample(&sample(402, 280_500, 19));
        ld.on_sample(&sample(402, 280_500, 20));
        assert_eq!(ld.judge(&at_timeout), LossCause::Wireless);
    }

    #[test]
    fn without_an_rtt_since_the_timeout_a_loss_is_congestion() {
        let mut ld = fed::<false>(vec![42; 100]);
        assert_eq!(ld.judge(&view(20, 1000)), LossCause::Wireless);
        ld.on_timeout(&view(20, 1000));
        assert_eq!(ld.judge(&view(20, 1000)), LossCause::Congestion);
    }

    #[test]
    fn without_the_modification_the_old_path_stays_in_the_mean() {
        let mut ld = fed::<false>(vec![42; 100]);
        ld.on_timeout(&view(20, 1000));
        ld.on_spurious_timeout(&view(20, 1000));
        ld.on_sample(&sample(402, 9_000, 10));
        assert!(ld.mean < 0.1);
    }
}
