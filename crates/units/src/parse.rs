//! Units in strings: `"6400 kbit/s"`, `"9 ms"`, `"0.1s:20s:0.1s"`.

use std::str::FromStr;

use crate::{Duration, Instant, Rate};

/// Text that is not a valid quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// The number before the unit is missing, negative or not a number.
    #[error("{what} \"{text}\" does not start with a number; write for example \"{example}\"")]
    Number {
        /// The name of the input.
        what: &'static str,
        /// The text as it was read.
        text: String,
        /// An accepted text.
        example: &'static str,
    },
    /// The quantity is below zero.
    #[error("{what} \"{text}\" is negative; write for example \"{example}\"")]
    Negative {
        /// The name of the input.
        what: &'static str,
        /// The text as it was read.
        text: String,
        /// An accepted text.
        example: &'static str,
    },
    /// The unit is missing or unknown.
    #[error("{what} \"{text}\" has {} unit; expected {accepted}", if unit.is_empty() { "no".to_string() } else { format!("the unknown \"{unit}\" as") })]
    Unit {
        /// The name of the input.
        what: &'static str,
        /// The text as it was read.
        text: String,
        /// The unit that was read.
        unit: String,
        /// The accepted units.
        accepted: &'static str,
    },
    /// The quantity is zero where that is not allowed, or too large to represent.
    #[error("{what} \"{text}\" is out of range; expected {accepted}")]
    Range {
        /// The name of the input.
        what: &'static str,
        /// The text as it was read.
        text: String,
        /// The accepted range.
        accepted: &'static str,
    },
    /// A range of instants that is not `from:to:step` or a list.
    #[error("instants \"{text}\" are neither one time, nor a list \"1s,2s\", nor a range \"from:to:step\" such as \"0.1s:20s:0.1s\"{why}")]
    Instants {
        /// The text as it was read.
        text: String,
        /// The error in it, or empty.
        why: &'static str,
    },
}

const MAX_INSTANTS: u64 = 1_000_000;

/// Splits `text` into a decimal number, scaled by `scale`, and the unit text.
struct Quantity<'a> {
    digits: &'a str,
    unit: &'a str,
}

fn split<'a>(
    what: &'static str,
    text: &'a str,
    example: &'static str,
) -> Result<Quantity<'a>, UnitError> {
    let trimmed = text.trim();
    if trimmed.starts_with('-')
        && trimmed[1..]
            .trim_start()
            .starts_with(|c: char| c.is_ascii_digit() || c == '.')
    {
        return Err(UnitError::Negative {
            what,
            text: text.into(),
            example,
        });
    }
    let end = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(trimmed.len());
    let digits = &trimmed[..end];
    if digits.is_empty() || digits.matches('.').count() > 1 || digits == "." {
        return Err(UnitError::Number {
            what,
            text: text.into(),
            example,
        });
    }
    Ok(Quantity {
        digits,
        unit: trimmed[end..].trim(),
    })
}

/// `digits` times `scale`, exact in integers; `None` if it does not fit.
fn scaled(digits: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut value: u128 = 0;
    for c in whole.bytes() {
        value = value.checked_mul(10)?.checked_add(u128::from(c - b'0'))?;
    }
    value = value.checked_mul(u128::from(scale))?;
    let (mut numerator, mut denominator) = (0u128, 1u128);
    for c in fraction.bytes().take(18) {
        numerator = numerator * 10 + u128::from(c - b'0');
        denominator *= 10;
    }
    value = value.checked_add(numerator * u128::from(scale) / denominator)?;
    u64::try_from(value).ok()
}

impl FromStr for Duration {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        const WHAT: &str = "time";
        let q = split(WHAT, text, "9 ms")?;
        let scale = match q.unit {
            "ns" => 1,
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "min" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            unit => {
                return Err(UnitError::Unit {
                    what: WHAT,
                    text: text.into(),
                    unit: unit.into(),
                    accepted: "ns, us, ms, s, min, h",
                })
            }
        };
        match scaled(q.digits, scale) {
            Some(ns) if i64::try_from(ns).is_ok() => Ok(Self::from_nanos(ns)),
            _ => Err(UnitError::Range {
                what: WHAT,
                text: text.into(),
                accepted: "at most 292 years",
            }),
        }
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        const WHAT: &str = "rate";
        let q = split(WHAT, text, "6400 kbit/s")?;
        let unit = q.unit.trim_end_matches("/s").trim_end_matches("ps");
        let scale = match unit {
            _ if q.unit == unit => None,
            "bit" | "b" => Some(1),
            "kbit" | "Kbit" | "kb" | "Kb" => Some(1_000),
            "Mbit" | "mbit" | "Mb" => Some(1_000_000),
            "Gbit" | "gbit" | "Gb" => Some(1_000_000_000),
            _ => None,
        };
        let Some(scale) = scale else {
            return Err(UnitError::Unit {
                what: WHAT,
                text: text.into(),
                unit: q.unit.into(),
                accepted: "bit/s, kbit/s, Mbit/s, Gbit/s",
            });
        };
        scaled(q.digits, scale)
            .filter(|&bps| bps <= 100_000_000_000_000)
            .and_then(Self::from_bps)
            .ok_or(UnitError::Range {
                what: WHAT,
                text: text.into(),
                accepted: "1 bit/s to 100000 Gbit/s",
            })
    }
}

/// Reads one instant, a comma-separated list, or `from:to:step` including its end, and returns the
/// instants in the order given.
///
/// # Errors
/// [`UnitError`] when a part is not a time, the range is empty, the step is zero, or there would be
/// more than a million instants.
pub fn parse_instants(text: &str) -> Result<Vec<Instant>, UnitError> {
    let fail = |why| UnitError::Instants {
        text: text.into(),
        why,
    };
    let instant = |part: &str| part.parse::<Duration>().map(|d| Instant::ZERO + d);
    if text.contains(':') {
        let parts: Vec<&str> = text.split(':').collect();
        let [from, to, step] = parts[..] else {
            return Err(fail("; a range has three parts"));
        };
        let (from, to) = (instant(from)?.as_nanos(), instant(to)?.as_nanos());
        let step = step.parse::<Duration>()?.as_nanos();
        if step == 0 {
            return Err(fail("; the step is zero"));
        }
        if to < from {
            return Err(fail("; the range ends before it starts"));
        }
        let count = (to - from) / step + 1;
        if count > MAX_INSTANTS {
            return Err(fail("; that is more than a million instants"));
        }
        return Ok((0..count)
            .map(|i| Instant::from_nanos(from + i * step))
            .collect());
    }
    text.split(',').map(|part| instant(part.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> Result<u64, UnitError> {
        text.parse::<Rate>().map(Rate::as_bps)
    }

    fn nanos(text: &str) -> Result<u64, UnitError> {
        text.parse::<Duration>().map(Duration::as_nanos)
    }

    #[test]
    fn rates_and_times_read_exactly() {
        assert_eq!(rate("6400 kbit/s"), Ok(6_400_000));
        assert_eq!(rate("9.6kbit/s"), Ok(9_600));
        assert_eq!(rate("54 Mbps"), Ok(54_000_000));
        assert_eq!(nanos("9 ms"), Ok(9_000_000));
        assert_eq!(nanos("0.1s"), Ok(100_000_000));
        assert_eq!(nanos("551.85ms"), Ok(551_850_000));
    }

    #[test]
    fn errors_name_the_accepted_values() {
        let said = |r: Result<u64, UnitError>| r.map_or_else(|e| e.to_string(), |v| v.to_string());
        assert!(said(rate("6400")).contains("no unit"));
        assert!(said(rate("6400 kB/s")).contains("kbit/s"));
        assert!(said(rate("0 bit/s")).contains("1 bit/s"));
        assert!(said(nanos("-9 ms")).contains("negative"));
        assert!(said(nanos("nine ms")).contains("does not start with a number"));
        assert!(said(nanos("9")).contains("no unit"));
    }

    #[test]
    fn instants_come_as_one_a_list_or_a_range_with_its_end() {
        let ms = |text: &str| {
            parse_instants(text).map(|v| {
                v.iter()
                    .map(|i| i.as_nanos() / 1_000_000)
                    .collect::<Vec<_>>()
            })
        };
        assert_eq!(ms("8.2s"), Ok(vec![8200]));
        assert_eq!(ms("1s, 2s"), Ok(vec![1000, 2000]));
        assert_eq!(
            ms("0.1s:20s:0.1s").map(|v| (v.len(), v[0], v[199])),
            Ok((200, 100, 20000))
        );
        assert!(ms("2s:1s:1s").is_err() && ms("1s:2s:0s").is_err() && ms("1s:2s").is_err());
        assert!(ms("0s:1h:1ns").is_err());
    }
}
