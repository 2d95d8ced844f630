//! Quantities in a scenario: texts with units.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use midflight_control::workload::Sizes;
use midflight_sim::{CrossTraffic, LossModel, Reordering};
use midflight_units::{parse_instants, Duration, Instant, Rate};
use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::radio::{read_cross, read_loss, read_reordering};

/// A quantity with a text form.
pub trait Quantity: Sized {
    /// Its name in the schema.
    const NAME: &'static str;
    /// An accepted text.
    const EXAMPLE: &'static str;

    /// What a number without a unit may mean, with `#` for the number.
    const OF_NUMBER: &'static [&'static str] = &[];

    /// A description, with every accepted form.
    fn about() -> Cow<'static, str>;

    /// A pattern that every accepted text matches.
    fn pattern() -> Cow<'static, str>;

    /// Parses a text.
    ///
    /// # Errors
    /// A sentence that names what was read and what is accepted.
    fn read(text: &str) -> Result<Self, String>;
}

/// A quantity with its original text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written<T> {
    text: String,
    /// The value of the text.
    pub value: T,
}

impl<T> Written<T> {
    /// A value with a text that represents it.
    pub(crate) fn new(text: impl Into<String>, value: T) -> Self {
        let text = text.into();
        Self { text, value }
    }
}

impl<T: Quantity> FromStr for Written<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let value = T::read(text)?;
        let text = text.trim().into();
        Ok(Self { text, value })
    }
}

impl<T> fmt::Display for Written<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The error for a number where a text is expected.
fn without_unit<T: Quantity>(number: &dyn fmt::Display) -> String {
    let texts = T::OF_NUMBER.iter();
    let texts = texts.map(|text| format!("\"{}\"", text.replace('#', &number.to_string())));
    let texts = match texts.collect::<Vec<_>>().join(" or ") {
        none if none.is_empty() => format!("such as \"{}\"", T::EXAMPLE),
        some => format!("with a unit, such as {some}"),
    };
    format!("{number} is not accepted; expected a text {texts}")
}

impl<'de, T: Quantity> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Text<T>(std::marker::PhantomData<T>);
        impl<T: Quantity> Visitor<'_> for Text<T> {
            type Value = Written<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a text such as \"{}\"", T::EXAMPLE)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Written<T>, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Written<T>, E> {
                Err(E::custom(without_unit::<T>(&number)))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Written<T>, E> {
                Err(E::custom(without_unit::<T>(&number)))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Written<T>, E> {
                Err(E::custom(without_unit::<T>(&number)))
            }
        }
        from.deserialize_any(Text(std::marker::PhantomData))
    }
}

impl<T> Serialize for Written<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.text)
    }
}

impl<T: Quantity> JsonSchema for Written<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": T::about(),
            "examples": [T::EXAMPLE],
            "pattern": T::pattern(),
        })
    }
}

macro_rules! pattern {
    ($units:literal) => {
        concat!(r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*(", $units, r")\s*$")
    };
}

impl Quantity for Duration {
    const NAME: &'static str = "Time";
    const EXAMPLE: &'static str = "50 ms";
    const OF_NUMBER: &'static [&'static str] = &["# s", "# ms"];

    fn about() -> Cow<'static, str> {
        "A time: a number and ns, us, ms, s, min or h.".into()
    }

    fn pattern() -> Cow<'static, str> {
        pattern!("ns|us|\u{b5}s|\u{3bc}s|ms|s|min|h").into()
    }

    fn read(text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|e: midflight_units::UnitError| e.to_string())
    }
}

/// Time without a link, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap(pub Option<Duration>);

impl Quantity for Gap {
    const NAME: &'static str = "Gap";
    const EXAMPLE: &'static str = "500 ms";
    const OF_NUMBER: &'static [&'static str] = &["# s", "# ms"];

    fn about() -> Cow<'static, str> {
        "A time, or \"none\" for no gap.".into()
    }

    fn pattern() -> Cow<'static, str> {
        concat!(
            r"^\s*(none|([0-9]+\.?[0-9]*|\.[0-9]+)\s*(",
            "ns|us|\u{b5}s|\u{3bc}s|ms|s|min|h",
            r"))\s*$"
        )
        .into()
    }

    fn read(text: &str) -> Result<Self, String> {
        if text.trim() == "none" {
            return Ok(Self(None));
        }
        let time = Duration::read(text).map_err(|e| format!("{e}, or \"none\" for no gap"))?;
        Ok(Self(Some(time)))
    }
}

/// The time between the openings of two flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stagger {
    /// Constant.
    Even(Duration),
    /// Exponential with this mean: the openings form a Poisson process.
    Poisson(Duration),
}

impl Quantity for Stagger {
    const NAME: &'static str = "Stagger";
    const EXAMPLE: &'static str = "500 ms";
    const OF_NUMBER: &'static [&'static str] = &["# s", "# ms"];

    fn about() -> Cow<'static, str> {
        "A time, or \"poisson 2 s\": random, with exponential times of that mean between.".into()
    }

    fn pattern() -> Cow<'static, str> {
        concat!(
            r"^\s*(poisson\s+)?([0-9]+\.?[0-9]*|\.[0-9]+)\s*(",
            "ns|us|\u{b5}s|\u{3bc}s|ms|s|min|h",
            r")\s*$"
        )
        .into()
    }

    fn read(text: &str) -> Result<Self, String> {
        let (random, time) = match text.trim().strip_prefix("poisson ") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let time = Duration::read(time)
            .map_err(|e| format!("{e}, or \"poisson 2 s\" for times at random"))?;
        Ok(if random {
            Self::Poisson(time)
        } else {
            Self::Even(time)
        })
    }
}

impl Quantity for Rate {
    const NAME: &'static str = "Rate";
    const EXAMPLE: &'static str = "54 Mbit/s";
    const OF_NUMBER: &'static [&'static str] = &["# Mbit/s", "# kbit/s"];

    fn about() -> Cow<'static, str> {
        "A rate: a number and bit/s, kbit/s, Mbit/s or Gbit/s.".into()
    }

    fn pattern() -> Cow<'static, str> {
        pattern!("[kKmMgG]?(bit|b)(/s|ps)").into()
    }

    fn read(text: &str) -> Result<Self, String> {
        let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let hint = if digits.parse::<f64>() == Ok(0.0) {
            "; for an outage give a handoff a gap, a change a pause, or a trace a rate of 0"
        } else {
            ""
        };
        text.parse()
            .map_err(|e: midflight_units::UnitError| format!("{e}{hint}"))
    }
}

/// Instants of an event, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instants(pub Vec<Instant>);

impl Quantity for Instants {
    const NAME: &'static str = "Instants";
    const EXAMPLE: &'static str = "8 s";
    const OF_NUMBER: &'static [&'static str] = &["# s"];

    fn about() -> Cow<'static, str> {
        "One time from the start of the run (\"8 s\"), a list (\"1 s, 2 s\"), or a range with its end included (\"15 s : 600 s : 15 s\": from, to, step).".into()
    }

    fn pattern() -> Cow<'static, str> {
        r"^\s*[0-9.]".into()
    }

    fn read(text: &str) -> Result<Self, String> {
        let mut instants = parse_instants(text).map_err(|e| e.to_string())?;
        instants.sort_unstable();
        Ok(Self(instants))
    }
}

/// Splits a text into a number and the rest.
pub(super) fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
    Some((digits.parse().ok()?, unit.trim()))
}

/// Bytes: "3 MB".
pub(super) fn read_bytes(number: f64, unit: &str) -> Option<u64> {
    let scale: u64 = match unit {
        "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" | "kiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    let bytes = number * scale as f64;
    (1.0..=1e15).contains(&bytes).then_some(bytes as u64)
}

/// An integer number of packets: "100 packets".
pub(super) fn read_packets(number: f64, unit: &str, most: f64) -> Option<u64> {
    let named = matches!(unit, "packets" | "packet" | "segments" | "segment");
    let whole = number.fract() == 0.0 && (1.0..=most).contains(&number);
    (named && whole).then_some(number as u64)
}

/// How much a flow sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// Bytes of the application.
    Bytes(u64),
    /// Data segments.
    Packets(u64),
    /// Bytes, drawn for each flow.
    Drawn(Sizes),
    /// Unlimited.
    Unlimited,
}

impl Quantity for Size {
    const NAME: &'static str = "Size";
    const EXAMPLE: &'static str = "3 MB";
    const OF_NUMBER: &'static [&'static str] = &["# MB", "# kB"];

    fn about() -> Cow<'static, str> {
        "The amount of data of a flow: bytes of the application in B, kB, MB, GB, KiB, MiB or GiB, \"100 packets\", or \"unlimited\". Or bytes drawn for each flow from the scenario's seed: \"exponential 100 kB\" (mean), \"pareto 1.5 100 kB\" (shape, mean), \"lognormal 1.5 100 kB\" (sigma, mean).".into()
    }

    fn pattern() -> Cow<'static, str> {
        r"^\s*(unlimited|[0-9.]+\s*([kKMG]?i?B|packets?|segments?)|(exponential|(pareto|lognormal)\s+[0-9.]+)\s+[0-9.]+\s*[kKMG]?i?B)\s*$".into()
    }

    fn read(text: &str) -> Result<Self, String> {
        let read = || {
            if text.trim() == "unlimited" {
                return Some(Self::Unlimited);
            }
            if let Some(drawn) = Sizes::read(text).filter(|sizes| sizes.is_random()) {
                return Some(Self::Drawn(drawn));
            }
            let (number, unit) = number_and_unit(text)?;
            let packets = || read_packets(number, unit, 1e12).map(Self::Packets);
            packets().or_else(|| read_bytes(number, unit).map(Self::Bytes))
        };
        read().ok_or_else(|| {
            format!("size \"{text}\" is not accepted; expected B, kB, MB, GB, KiB, MiB, GiB as in \"3 MB\", \"100 packets\", \"unlimited\", or one drawn: \"exponential 100 kB\", \"pareto 1.5 100 kB\" (shape, mean), \"lognormal 1.5 100 kB\" (sigma, mean)")
        })
    }
}

/// A probability, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(pub f64);

impl Quantity for Share {
    const NAME: &'static str = "Share";
    const EXAMPLE: &'static str = "20%";
    const OF_NUMBER: &'static [&'static str] = &["#%"];

    fn about() -> Cow<'static, str> {
        "A probability in per cent.".into()
    }

    fn pattern() -> Cow<'static, str> {
        pattern!("%").into()
    }

    fn read(text: &str) -> Result<Self, String> {
        let share = number_and_unit(text)
            .filter(|&(number, unit)| unit == "%" && (0.0..=100.0).contains(&number));
        share
            .map(|(number, _)| Self(number / 100.0))
            .ok_or_else(|| format!("share \"{text}\" is not accepted; expected \"0%\" to \"100%\""))
    }
}

/// A value in the unit of a numeric column, with the suffix of such a column's name: `ns` for times, `bps` for rates,
/// `bytes` and `packets` for sizes, `percent` for probabilities. None for a text that is not a single quantity.
pub fn in_column_unit(text: &str) -> Option<(&'static str, f64)> {
    if let Ok(time) = text.parse::<Duration>() {
        return Some(("ns", time.as_nanos() as f64));
    }
    if let Ok(rate) = text.parse::<Rate>() {
        return Some(("bps", rate.as_bps() as f64));
    }
    match number_and_unit(text)? {
        (percent, "%") => Some(("percent", percent)),
        _ => match Size::read(text).ok()? {
            Size::Bytes(bytes) => Some(("bytes", bytes as f64)),
            Size::Packets(packets) => Some(("packets", packets as f64)),
            Size::Unlimited | Size::Drawn(_) => None,
        },
    }
}

impl Quantity for LossModel {
    const NAME: &'static str = "Loss";
    const EXAMPLE: &'static str = "uniform 0.5%";
    const OF_NUMBER: &'static [&'static str] = &["uniform #%"];

    fn about() -> Cow<'static, str> {
        "Losses of a link: \"none\", \"uniform 0.5%\", \"burst 0.5% 3\" (probability of a burst, packets in it), or \"gilbert 1s 0.1% 100ms 10% 50%\" (good state: time and losses; bad state: the same; probability of a change after that time).".into()
    }

    fn pattern() -> Cow<'static, str> {
        r"^\s*(uniform|burst|gilbert)\s".into()
    }

    fn read(text: &str) -> Result<Self, String> {
        read_loss(text).map_err(|e| e.to_string())
    }
}

impl Quantity for Reordering {
    const NAME: &'static str = "Reordering";
    const EXAMPLE: &'static str = "linkrtx 5% 100ms";

    fn about() -> Cow<'static, str> {
        "Packets that a link delivers late: \"swap 5%\" (with the next one), \"swap 5% 1s\" (the same, at most 1 s later), \"linkrtx 5% 100ms\" (retransmitted by the link layer 100 ms later, while others overtake it), or in order as over a cellular radio: \"harq 10% 8ms\" (each transmission fails with this probability, and another takes this time; following packets wait) and \"harq 10% 8ms 1ms\" (the same, delivered at the ends of slots).".into()
    }

    fn pattern() -> Cow<'static, str> {
        r"^\s*(swap|linkrtx|harq)\s".into()
    }

    fn read(text: &str) -> Result<Self, String> {
        read_reordering(text).map_err(|e| e.to_string())
    }
}

/// The cross traffic of a link, without its seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cross(pub Option<CrossTraffic>);

impl Quantity for Cross {
    const NAME: &'static str = "Cross";
    const EXAMPLE: &'static str = "poisson 2 Mbit/s";

    fn about() -> Cow<'static, str> {
        "Cross traffic of a link, which does not react to losses: \"cbr 2 Mbit/s\" (evenly), \"poisson 2 Mbit/s\" (exponential gaps), \"on-off 8 Mbit/s 100ms 300ms\" (evenly in bursts: rate of a burst, mean length of a burst and of a pause, exponential), \"pareto 8 Mbit/s 100ms 300ms 1.5\" (the same with Pareto lengths of this shape), or \"none\". A packet has 1500 B, or the size at the end: \"cbr 64 kbit/s 200 B\".".into()
    }

    fn pattern() -> Cow<'static, str> {
        r"^\s*(none\s*$|(cbr|poisson|on-off|pareto)\s)".into()
    }

    fn read(text: &str) -> Result<Self, String> {
        read_cross(text).map(Self).map_err(|e| e.to_string())
    }
}

/// One name, or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Names {
    /// One.
    One(String),
    /// Several, taken in turn.
    InTurn(Vec<String>),
}

impl Names {
    /// All of them.
    pub fn all(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::InTurn(names) => names,
        }
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OneOrMore;
        impl<'de> Visitor<'de> for OneOrMore {
            type Value = Names;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name, or a list of names that are taken in turn")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Names, E> {
                Ok(Names::One(name.into()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<Names, A::Error> {
                let mut all = Vec::new();
                while let Some(name) = names.next_element()? {
                    all.push(name);
                }
                if all.is_empty() {
                    return Err(A::Error::custom("an empty list; expected one name or more"));
                }
                Ok(Names::InTurn(all))
            }
        }
        from.deserialize_any(OneOrMore)
    }
}

/// A setting's value: a text, a number or a truth value, kept as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Value(pub String);

impl JsonSchema for Value {
    fn schema_name() -> Cow<'static, str> {
        "Value".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "number", "boolean"],
            "description": "A value as `midflight list settings` accepts it.",
        })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Scalar;
        impl Visitor<'_> for Scalar {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number, true or false")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
                Ok(Value(text.into()))
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
                Ok(Value(value.to_string()))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
                Ok(Value(value.to_string()))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
                Ok(Value(value.to_string()))
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
                Ok(Value(value.to_string()))
            }
        }
        from.deserialize_any(Scalar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_a_unit_for_columns() {
        for (text, expected) in [
            ("0.1 s", Some(("ns", 1e8))),
            ("0s", Some(("ns", 0.0))),
            ("64 kbit/s", Some(("bps", 64_000.0))),
            ("3 MB", Some(("bytes", 3e6))),
            ("100 packets", Some(("packets", 100.0))),
            ("0.5%", Some(("percent", 0.5))),
            ("20", None),
            ("bdp", None),
            ("unlimited", None),
            ("1 s, 2 s", None),
            ("sack", None),
            ("", None),
        ] {
            assert_eq!(in_column_unit(text), expected, "{text}");
        }
    }
}
