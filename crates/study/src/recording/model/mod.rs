//! Paths that are drawn by a model from a seed, as recordings of what might have been.
//!
//! A model is one file beside the others and one line in [`MODELS`]. What it draws depends on its name, the seed and its
//! settings alone: the same path on every machine and in every run.

mod fade_out;
mod gauss_markov;
mod nsa;
mod starlink;

use std::collections::BTreeMap;

use midflight_control::part::Knob;
use midflight_sim::random::{stream, Stream};
use midflight_units::{nearest, Duration, Rate};

use super::{Format, Recording, Series};

/// The models by name.
pub const MODELS: &[Model] = &[
    starlink::STARLINK,
    gauss_markov::GAUSS_MARKOV,
    fade_out::FADE_OUT,
    nsa::NSA,
];

/// Why a model draws nothing: which key of a trace is wrong, and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// `length` or `set`.
    pub key: &'static str,
    /// What was read and what is accepted.
    pub why: String,
}

/// A model of a path.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// Where it and its numbers are from.
    pub source: &'static str,
    /// Its settings.
    pub knobs: &'static [Knob],
    draw: fn(&mut Drawing<'_>) -> Result<(), String>,
}

impl Model {
    /// The one of this name.
    ///
    /// # Errors
    /// A sentence that names those that exist.
    pub fn named(name: &str) -> Result<&'static Self, String> {
        let found = MODELS.iter().find(|model| model.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = MODELS.iter().map(|model| model.name).collect();
            let near = nearest(name, names.iter().copied());
            let near = near.map_or_else(String::new, |near| format!(" (did you mean \"{near}\"?)"));
            format!(
                "\"{name}\" is no model; expected {}{near}",
                names.join(", ")
            )
        })
    }

    /// The path that it draws, so long, by settings over its own.
    ///
    /// # Errors
    /// [`Refused`] for a length out of range, and a setting that is not known or accepted.
    pub fn draw(
        &self,
        seed: u64,
        span: Duration,
        set: &BTreeMap<String, String>,
    ) -> Result<Recording, Refused> {
        let of_settings = |why| Refused { key: "set", why };
        if !(Duration::from_secs(1)..=MOST_SPAN).contains(&span) {
            let seconds = span.as_secs_f64();
            return Err(Refused {
                key: "length",
                why: format!("a length of {seconds} s is out of range; expected 1 s to 24 h"),
            });
        }
        let known = || self.knobs.iter().map(|knob| knob.name);
        if let Some(name) = set.keys().find(|name| !known().any(|one| one == **name)) {
            let near = nearest(name, known());
            let near = near.map_or_else(String::new, |near| format!(" (did you mean \"{near}\"?)"));
            let names: Vec<&str> = known().collect();
            return Err(of_settings(format!(
                "model {} has no \"{name}\"; expected {}{near}",
                self.name,
                names.join(", ")
            )));
        }
        let mut recording = Recording::new(Format::Model);
        recording.span = span;
        recording.remarks.push(format!(
            "drawn by the model {} with seed {seed}; {}",
            self.name, self.source
        ));
        let mut drawing = Drawing {
            model: self,
            set,
            stream: stream(seed, 0, "path", self.name),
            span: span.as_secs_f64(),
            recording,
        };
        (self.draw)(&mut drawing).map_err(of_settings)?;
        Ok(drawing.recording)
    }
}

/// Longest path.
const MOST_SPAN: Duration = Duration::from_secs(86_400);

/// From the least to the most of a quantity that is drawn, in bit/s, seconds or as a share.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span {
    least: f64,
    most: f64,
}

/// A path while it is drawn.
struct Drawing<'a> {
    model: &'a Model,
    set: &'a BTreeMap<String, String>,
    stream: Stream,
    /// In seconds.
    span: f64,
    recording: Recording,
}

impl Drawing<'_> {
    fn text(&self, name: &str) -> &str {
        let default = self.model.knobs.iter().find(|knob| knob.name == name);
        let default = default.map_or("", |knob| knob.default);
        self.set.get(name).map_or(default, String::as_str)
    }

    fn refuse(&self, name: &str) -> String {
        let knob = self.model.knobs.iter().find(|knob| knob.name == name);
        format!(
            "{name} = \"{}\" is not accepted; expected {}",
            self.text(name),
            knob.map_or("", |knob| knob.accepts)
        )
    }

    /// A setting that is one value, or a span of them: "50 Mbit/s : 100 Mbit/s".
    fn span_of(&self, name: &str, read: fn(&str) -> Option<f64>) -> Result<Span, String> {
        let mut parts = self.text(name).split(':').map(|part| read(part.trim()));
        let span = match (parts.next().flatten(), parts.next(), parts.next()) {
            (Some(one), None, _) => Some(Span {
                least: one,
                most: one,
            }),
            (Some(least), Some(Some(most)), None) => Some(Span { least, most }),
            _ => None,
        };
        span.filter(|span| span.least <= span.most)
            .ok_or_else(|| self.refuse(name))
    }

    fn one(&self, name: &str, read: fn(&str) -> Option<f64>) -> Result<f64, String> {
        let span = self.span_of(name, read)?;
        if span.least == span.most {
            Ok(span.least)
        } else {
            Err(self.refuse(name))
        }
    }

    /// Uniformly.
    fn uniform(&mut self, from: Span) -> f64 {
        from.least + self.stream.next_f64() * (from.most - from.least)
    }

    /// With this mean.
    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.stream.next_f64())
    }

    /// Of the standard normal distribution (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let (a, b) = (1.0 - self.stream.next_f64(), self.stream.next_f64());
        (-2.0 * libm::log(a)).sqrt() * libm::cos(std::f64::consts::TAU * b)
    }
}

fn rate(text: &str) -> Option<f64> {
    let rate: Rate = text.parse().ok()?;
    Some(rate.as_bps() as f64)
}

fn time(text: &str) -> Option<f64> {
    let time: Duration = text.parse().ok()?;
    Some(time.as_secs_f64())
}

fn share(text: &str) -> Option<f64> {
    let number: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
    Some(number / 100.0).filter(|share| (0.0..=1.0).contains(share))
}

/// An instant.
fn at(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e9).round().max(0.0) as u64)
}

/// Adds a value from an instant on; one of the same instant is replaced.
fn push(series: &mut Series, seconds: f64, value: f64) {
    let instant = at(seconds);
    match series.last_mut() {
        Some(last) if last.0 >= instant => last.1 = value,
        _ => series.push((instant, value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(name: &str, seed: u64, set: &[(&str, &str)]) -> Result<Recording, String> {
        let set = set.iter().map(|(k, v)| ((*k).into(), (*v).into()));
        let drawn = Model::named(name)?.draw(seed, Duration::from_secs(600), &set.collect());
        drawn.map_err(|refused| refused.why)
    }

    fn of(name: &str, set: &[(&str, &str)]) -> Recording {
        let none = Recording::new(Format::Model);
        drawn(name, 1, set).unwrap_or(none)
    }

    fn mean(series: &Series, span: Duration) -> f64 {
        let ends = series.iter().skip(1).map(|point| point.0).chain([span]);
        let area = series.iter().zip(ends);
        let area: f64 = area
            .map(|((from, value), until)| until.saturating_sub(*from).as_secs_f64() * value)
            .sum();
        area / span.as_secs_f64()
    }

    /// A setting that begins as the sentence on a length does is still a setting.
    #[test]
    fn what_is_refused_has_its_key() {
        for model in MODELS {
            let key = |span, set: &[(&str, &str)]| {
                let set = set.iter().map(|(k, v)| ((*k).into(), (*v).into()));
                let drawn = model.draw(1, Duration::from_secs(span), &set.collect());
                drawn.err().map(|refused| refused.key)
            };
            assert_eq!(key(0, &[]), Some("length"), "{}", model.name);
            assert_eq!(key(10, &[("a length", "1")]), Some("set"));
            assert_eq!(key(10, &[(model.knobs[0].name, "a length")]), Some("set"));
            assert_eq!(key(10, &[]), None);
        }
    }

    /// A path is that of its seed, ascends in time and stays within what can be.
    #[test]
    fn paths_are_those_of_their_seeds() {
        for model in MODELS {
            let (one, again, other) = (
                drawn(model.name, 1, &[]),
                drawn(model.name, 1, &[]),
                drawn(model.name, 2, &[]),
            );
            assert_eq!(one, again, "{}", model.name);
            assert_ne!(
                one.as_ref().map(|r| &r.down),
                other.as_ref().map(|r| &r.down)
            );
            let one = of(model.name, &[]);
            assert!(one.has_any(), "{}", model.name);
            for series in [
                &one.down.rate,
                &one.down.delay,
                &one.down.loss,
                &one.up.rate,
            ] {
                assert!(series.windows(2).all(|pair| pair[0].0 < pair[1].0));
                let in_time = series.iter().all(|point| point.0 < one.span);
                assert!(in_time && series.iter().all(|point| point.1 >= 0.0));
                assert!(series.first().is_none_or(|first| first.0 == Duration::ZERO));
            }
        }
    }

    /// All rates of each model and their times, mixed.
    const PINNED: &[u64] = &[
        7_859_447_041_948_106_266,
        1_418_118_094_247_688_889,
        1_051_666_241_146_856_275,
        16_963_220_497_366_164_971,
    ];

    /// The same values on every machine, to the last bit.
    #[test]
    fn what_is_drawn_is_pinned() {
        let mixed = MODELS.iter().map(|model| {
            let path = of(model.name, &[]);
            let mix = |sum: u64, &(at, value): &(Duration, f64)| {
                sum.rotate_left(5) ^ at.as_nanos() ^ value.to_bits()
            };
            path.down.rate.iter().fold(0, mix)
        });
        assert_eq!(mixed.collect::<Vec<_>>(), PINNED);
    }

    /// Forty boundaries in ten minutes, at 12, 27, 42 and 57 s of each, and a burst of losses behind each.
    #[test]
    fn a_dish_changes_at_its_instants() {
        let path = of("starlink", &[("burst", "10% : 10%"), ("loss", "1%")]);
        let instants: Vec<f64> = path.handovers.iter().map(|h| h.0.as_secs_f64()).collect();
        assert_eq!(instants.len(), 40);
        assert_eq!(instants[..5], [12.0, 27.0, 42.0, 57.0, 72.0]);
        assert_eq!(path.down.rate.len(), 41);
        let rates = path.down.rate.iter().map(|point| point.1);
        assert!(rates.clone().all(|bps| (50e6..=100e6).contains(&bps)));
        // Uniform: 41 draws have this mean within four standard errors.
        let average = rates.sum::<f64>() / 41.0;
        assert!((average - 75e6).abs() < 4.0 * 50e6 / 12.0_f64.sqrt() / 41.0_f64.sqrt());
        let at_12 = path
            .down
            .loss
            .iter()
            .find(|p| p.0 == Duration::from_secs(12));
        assert_eq!(at_12.map(|p| p.1), Some(0.10));
        let later = path
            .down
            .loss
            .iter()
            .find(|p| p.0 > Duration::from_secs(12));
        assert_eq!(later.map(|p| p.1), Some(0.01));
    }

    /// Mean, deviation and correlation of ten hours are those that are set.
    #[test]
    fn fading_has_the_moments_that_are_set() {
        let model = Model::named("gauss-markov");
        let set = [("least", "1 bit/s"), ("deviation", "4 Mbit/s")];
        let set = set.map(|(k, v)| (k.to_string(), v.to_string()));
        let span = Duration::from_secs(36_000);
        let drawn = model.map(|m| m.draw(3, span, &set.into_iter().collect()));
        let path = drawn.and_then(|drawn| drawn.map_err(|refused| refused.why));
        let path = path.unwrap_or_else(|_| Recording::new(Format::Model));
        let values: Vec<f64> = path.down.rate.iter().map(|p| p.1 / 1e6).collect();
        assert_eq!(values.len(), 360_000);
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let covariance = |lag: usize| {
            let pairs = values.iter().zip(&values[lag..]);
            pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / count
        };
        assert!((mean - 30.0).abs() < 0.4, "{mean}");
        assert!((covariance(0).sqrt() - 4.0).abs() < 0.2);
        // After the memory of 5 s, 50 steps, 1/e is left.
        let left = covariance(50) / covariance(0);
        assert!((left - libm::exp(-1.0)).abs() < 0.05, "{left}");
    }

    #[test]
    fn a_link_fades_before_it_breaks() {
        let path = of("fade-out", &[("at", "20 s"), ("every", "60 s")]);
        let rate = |s: f64| {
            let before = path.down.rate.iter().take_while(|p| p.0 <= at(s));
            before.last().map_or(0.0, |p| p.1)
        };
        assert!(rate(14.9) == 30e6 && rate(17.5) < 20e6 && rate(19.9) < 2e6);
        assert_eq!((rate(20.0), rate(22.9), rate(23.0)), (0.0, 0.0, 30e6));
        assert_eq!(rate(80.1), 0.0);
        assert_eq!(path.handovers.len(), 10);
    }

    /// The share of time on NR is that of the mean times.
    #[test]
    fn nr_comes_and_goes_over_its_anchor() {
        let path = of(
            "5g-nsa",
            &[("nr-for", "8 s"), ("lte-for", "2 s"), ("gap", "0 s")],
        );
        let average = mean(&path.down.rate, path.span) / 1e6;
        assert!(
            (average - (0.8 * 200.0 + 0.2 * 50.0)).abs() < 25.0,
            "{average}"
        );
    }

    #[test]
    fn errors_say_what_is_accepted() {
        let error = |name, set: &[(&str, &str)]| drawn(name, 1, set).err().unwrap_or_default();
        assert!(error("starlnk", &[]).contains("did you mean \"starlink\""));
        assert!(error("starlink", &[("rat", "5")]).contains("did you mean \"rate\""));
        assert!(error("starlink", &[("rate", "5")]).contains("expected a rate"));
        assert!(error("starlink", &[("rate", "9 Mbit/s : 5 Mbit/s")]).contains("not accepted"));
    }
}
