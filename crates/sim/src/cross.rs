//! Cross traffic: packets that do not belong to flows, at a rate that does not react to losses. They
//! enter at the start of a link, wait and are lost like others, and disappear at its far end.

use midflight_units::{Duration, Instant, Rate};

use crate::moment::{Clock, Moment};
use crate::random::{stream, Stream};

/// Packets of one size with a time pattern. Times are drawn only from the stream of `seed`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrossTraffic {
    /// When packets arrive.
    pub pattern: Pattern,
    /// Size of each, headers included.
    pub bytes: u32,
    /// Seed of the random stream; see [`crate::random::seed`].
    pub seed: u64,
}

/// When packets arrive. The first arrives at a random time within the first gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// At constant intervals.
    Constant {
        /// The rate of all packets together.
        rate: Rate,
    },
    /// With exponential gaps.
    Poisson {
        /// The average rate of all packets together.
        rate: Rate,
    },
    /// At constant intervals in bursts, with silence in between.
    OnOff {
        /// Rate during a burst.
        peak: Rate,
        /// Mean length of a burst.
        on: Duration,
        /// Mean length of the silence.
        off: Duration,
        /// Shape of the Pareto distribution of both (Willinger et al. 1997: from 1 to 2 many
        /// such sources make self-similar traffic); exponential if there is none.
        shape: Option<f64>,
    },
}

/// Minimum shape of a Pareto distribution; at 1 there is no mean.
const LEAST_SHAPE: f64 = 1.05;

impl Pattern {
    /// Mean rate in bits per second.
    pub fn mean_bps(&self) -> f64 {
        match *self {
            Self::Constant { rate } | Self::Poisson { rate } => rate.as_bps() as f64,
            Self::OnOff { peak, on, off, .. } => peak.as_bps() as f64 * share_on(on, off),
        }
    }

    fn rate(&self) -> Rate {
        match *self {
            Self::Constant { rate } | Self::Poisson { rate } => rate,
            Self::OnOff { peak, .. } => peak,
        }
    }
}

fn share_on(on: Duration, off: Duration) -> f64 {
    on.as_secs_f64() / (on.as_secs_f64() + off.as_secs_f64())
}

impl CrossTraffic {
    /// The arrival times of its packets from `from` on, without end, after this many earlier starts.
    pub fn arrivals(self, from: Instant, before: u64) -> impl Iterator<Item = Instant> {
        let mut crossing = ActiveCrossTraffic::new(self, from, before);
        std::iter::repeat_with(move || {
            let due = crossing.due.at;
            crossing.advance();
            due
        })
    }

    /// Time between two packets at the pattern's rate, in seconds.
    fn spacing(&self) -> f64 {
        8.0 * f64::from(self.bytes) / self.pattern.rate().as_bps() as f64
    }

    /// The error in it, if any.
    pub fn problem(&self) -> Option<&'static str> {
        if self.bytes == 0 {
            return Some("a packet has at least one byte");
        }
        let Pattern::OnOff { on, shape, .. } = self.pattern else {
            return None;
        };
        // Otherwise most bursts would pass without a packet, and the search for the next would be
        // long.
        if on.as_secs_f64() < self.spacing() {
            return Some("a burst lasts at least as long as one packet at its rate");
        }
        let is_shape = |shape: f64| (LEAST_SHAPE..=100.0).contains(&shape);
        (!shape.is_none_or(is_shape)).then_some("the shape is from 1.05 to 100")
    }
}

/// Active cross traffic.
#[derive(Clone, Debug)]
pub(crate) struct ActiveCrossTraffic {
    traffic: CrossTraffic,
    spacing: f64,
    stream: Stream,
    /// Seconds left of the current burst.
    burst: f64,
    /// When the next packet arrives, in seconds, independent of the links' unit of time.
    pub(crate) due: Moment,
}

impl ActiveCrossTraffic {
    /// Traffic that begins at `at`, after this many earlier starts.
    pub(crate) fn new(traffic: CrossTraffic, at: Instant, before: u64) -> Self {
        let mut crossing = Self {
            spacing: traffic.spacing(),
            stream: stream(traffic.seed, before, "link", "cross traffic"),
            burst: f64::INFINITY,
            due: Clock::Seconds.written(at),
            traffic,
        };
        if let Pattern::OnOff { on, off, .. } = traffic.pattern {
            let is_on = crossing.stream.next_f64() < share_on(on, off);
            crossing.burst = if is_on { crossing.length(on) } else { 0.0 };
        }
        let first = match traffic.pattern {
            Pattern::Poisson { .. } => crossing.exponential(crossing.spacing),
            _ => crossing.stream.next_f64() * crossing.spacing,
        };
        crossing.wait(first);
        crossing
    }

    /// Whether this is the same traffic as the other, apart from random numbers.
    pub(crate) fn is_as(&self, other: &CrossTraffic) -> bool {
        (self.traffic.pattern, self.traffic.bytes) == (other.pattern, other.bytes)
    }

    pub(crate) fn bytes(&self) -> u32 {
        self.traffic.bytes
    }

    /// Advances to the next packet.
    pub(crate) fn advance(&mut self) {
        let gap = match self.traffic.pattern {
            Pattern::Poisson { .. } => self.exponential(self.spacing),
            _ => self.spacing,
        };
        self.wait(gap);
    }

    /// Waits this many seconds, not counting silence, for the next packet.
    fn wait(&mut self, mut seconds: f64) {
        let mut silent = 0.0;
        if let Pattern::OnOff { on, off, .. } = self.traffic.pattern {
            let whole = seconds;
            while self.burst < seconds {
                seconds -= self.burst;
                silent += self.length(off);
                self.burst = self.length(on);
            }
            self.burst -= seconds;
            seconds = whole;
        }
        self.due = Clock::Seconds.moment(self.due.fine.plus(seconds + silent));
    }

    /// A random length of a burst or a silence, in seconds.
    fn length(&mut self, mean: Duration) -> f64 {
        let mean = mean.as_secs_f64();
        match self.traffic.pattern {
            Pattern::OnOff {
                shape: Some(shape), ..
            } => {
                let least = mean * (shape - 1.0) / shape;
                least * libm::pow(1.0 - self.stream.next_f64(), -1.0 / shape)
            }
            _ => self.exponential(mean),
        }
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        // In software, so that the result is the same on every machine.
        -mean * libm::log(1.0 - self.stream.next_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(pattern: Pattern) -> CrossTraffic {
        CrossTraffic {
            pattern,
            bytes: 1000,
            seed: 7,
        }
    }

    fn rate(bps: u64) -> Rate {
        Rate::from_bps(bps).unwrap_or_else(|| unreachable!())
    }

    /// Arrivals before `end` seconds.
    fn arrivals(pattern: Pattern, end: f64) -> Vec<f64> {
        let mut crossing = ActiveCrossTraffic::new(traffic(pattern), Instant::ZERO, 0);
        let mut all = Vec::new();
        while crossing.due.at.as_secs_f64() < end {
            all.push(crossing.due.at.as_secs_f64());
            crossing.advance();
        }
        all
    }

    const ON: Duration = Duration::from_millis(100);
    const OFF: Duration = Duration::from_millis(300);

    fn on_off(shape: Option<f64>) -> Pattern {
        Pattern::OnOff {
            peak: rate(8_000_000),
            on: ON,
            off: OFF,
            shape,
        }
    }

    /// 1 ms apart on a clock that starts anywhere in the first millisecond.
    #[test]
    fn constant_traffic_is_as_even_as_a_clock() {
        let all = arrivals(
            Pattern::Constant {
                rate: rate(8_000_000),
            },
            1.0,
        );
        assert_eq!(all.len(), 1000);
        assert!(all[0] < 0.001 && all[0] > 0.0, "{}", all[0]);
        assert!(all.windows(2).all(|w| (w[1] - w[0] - 0.001).abs() < 2e-9));
    }

    /// Mean and standard deviation of exponential gaps are one: over 100,000 of them within 4 sigma,
    /// which is 1 / sqrt(100,000) for the mean and sqrt(2) times that for the deviation.
    #[test]
    fn poisson_gaps_are_exponential() {
        let all = arrivals(
            Pattern::Poisson {
                rate: rate(8_000_000),
            },
            100.0,
        );
        let gaps: Vec<f64> = all.windows(2).map(|w| 1e3 * (w[1] - w[0])).collect();
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / n;
        assert!((mean - 1.0).abs() < 4.0 / n.sqrt(), "{mean}");
        assert!(
            (variance.sqrt() - 1.0).abs() < 4.0 * 1.42 / n.sqrt(),
            "{variance}"
        );
        let long = gaps.iter().filter(|&&g| g > 2.0).count() as f64 / n;
        assert!((long - libm::exp(-2.0)).abs() < 0.005, "{long}");
    }

    /// On for a quarter of the time, at 1000 packets a second: 250 a second. With exponential
    /// periods of mean 0.4 s the fraction of time on has a deviation of about 0.0043 over 10,000 s.
    #[test]
    fn bursts_come_at_the_peak_rate_and_make_the_mean() {
        let all = arrivals(on_off(None), 10_000.0);
        let mean = all.len() as f64 / 10_000.0;
        assert!((mean - 250.0).abs() < 4.0 * 4.3, "{mean}");
        let gaps: Vec<f64> = all.windows(2).map(|w| w[1] - w[0]).collect();
        assert!(
            gaps.iter().all(|&g| g > 0.001 - 2e-9),
            "never above the peak"
        );
        let silent: Vec<f64> = gaps.iter().copied().filter(|&g| g > 0.001 + 2e-9).collect();
        let mean_silence = silent.iter().map(|g| g - 0.001).sum::<f64>() / silent.len() as f64;
        assert!((mean_silence - 0.3).abs() < 0.02, "{mean_silence}");
        assert_eq!(on_off(None).mean_bps(), 2e6);
    }

    /// The shortest silence is the mean times (shape - 1) / shape, and one of 2^1.5 Pareto silences
    /// lasts at least twice as long.
    #[test]
    fn pareto_bursts_have_heavy_tails() {
        let all = arrivals(on_off(Some(1.5)), 10_000.0);
        let gaps = all.windows(2).map(|w| w[1] - w[0] - 0.001);
        let silences: Vec<f64> = gaps.filter(|&s| s > 0.01).collect();
        let n = silences.len() as f64;
        assert!(silences.iter().all(|&s| s > 0.0999), "{silences:?}");
        let long = silences.iter().filter(|&&s| s > 0.2).count() as f64 / n;
        assert!((long - libm::pow(2.0, -1.5)).abs() < 0.02, "{long} of {n}");
    }

    #[test]
    fn impossible_values_are_refused() {
        let good = traffic(on_off(Some(1.5)));
        assert_eq!(good.problem(), None);
        let of = |on, shape| {
            let off = OFF;
            let peak = rate(8_000_000);
            traffic(Pattern::OnOff {
                peak,
                on,
                off,
                shape,
            })
            .problem()
        };
        assert!(of(Duration::from_micros(999), None).is_some());
        assert!(of(ON, Some(1.0)).is_some() && of(ON, Some(f64::NAN)).is_some());
        assert!(CrossTraffic { bytes: 0, ..good }.problem().is_some());
    }
}
