//! Radio links as text: `"1 Mbit/s, 200 ms"` with losses `"uniform 0.5%"` and reordering `"linkrtx
//! 5% 100ms"`.

use midflight_control::LinkInfo;
use midflight_sim::{CrossTraffic, LossModel, Pattern, Reordering, Scripted, State, LEAST_DWELL};
use midflight_units::{Duration, Rate};

use crate::error::StudyError;

/// The last hop of a mobile node in a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Radio {
    /// Rate and one-way delay, the same in both directions.
    pub link: LinkInfo,
    /// Maximum number of packets at the link in either direction, including the one in
    /// transmission.
    pub limit: u32,
    /// Losses towards the mobile node.
    pub loss: Option<LossModel>,
    /// Reordering towards the mobile node.
    pub reordering: Option<Reordering>,
    /// What happens to the packets with these numbers towards the mobile node.
    pub script: Vec<(u64, Scripted)>,
}

/// The syntax of losses.
const LOSSES: &str = "\"none\", \"uniform 0.5%\", \"burst 0.5% 3\" (chance of a burst, packets in it) or \"gilbert 1s 0.1% 100ms 10% 50%\" (good state: time of at least 10 us and losses; bad state: the same; chance to change after that time)";
/// The syntax of reordering.
const REORDERINGS: &str = "\"swap 5%\", \"swap 5% 1s\" (at most so long behind its time), \"linkrtx 5% 100ms\" (sent again by the link layer: so much later), \"harq 10% 8ms\" (each transmission fails so often, one more takes so long, and what comes behind waits) or \"harq 10% 8ms 1ms\" (the same in slots)";
/// The syntax of cross traffic.
const CROSSINGS: &str = "\"none\", \"cbr 2 Mbit/s\", \"poisson 2 Mbit/s\", \"on-off 8 Mbit/s 100ms 300ms\" (rate of a burst, mean length of a burst and of the silence) or \"pareto 8 Mbit/s 100ms 300ms 1.5\" (the same with a shape from 1.05 to 100), each with a packet size behind it, \"200 B\", where that is not 1500 B";
/// Default size of a cross-traffic packet, and the maximum.
const CROSS_BYTES: u32 = 1500;
const MOST_CROSS_BYTES: u32 = 65_535;
/// Default time that a swapped packet waits for the next one.
const HOLD: Duration = Duration::from_secs(1);

/// A probability: "5%". A bare number would be ambiguous: a fraction or per cent.
fn probability(text: &str) -> Option<f64> {
    let value: f64 = text.strip_suffix('%')?.parse().ok()?;
    (0.0..=100.0).contains(&value).then(|| value / 100.0)
}

fn time(text: &str) -> Option<Duration> {
    text.parse().ok()
}

fn dwell(text: &str) -> Option<Duration> {
    time(text).filter(|&d| d >= LEAST_DWELL)
}

/// Splits a text into words, where "5 %" and "100 ms" are one word each.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(last)
                if last.ends_with(|c: char| c.is_ascii_digit())
                    && !word.starts_with(|c: char| c.is_ascii_digit()) =>
            {
                last.push_str(word);
            }
            _ => words.push(word.to_string()),
        }
    }
    words
}

fn refuse(what: &'static str, text: &str, accepted: &'static str) -> StudyError {
    StudyError::Model {
        what,
        text: text.into(),
        accepted,
    }
}

/// Reads a loss model such as "uniform 0.5%"; "none" is one that loses nothing.
///
/// # Errors
/// [`StudyError::Model`] names what is accepted.
pub fn read_loss(text: &str) -> Result<LossModel, StudyError> {
    let words = words(text);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let model = match words[..] {
        ["none"] => Some(LossModel::Uniform { probability: 0.0 }),
        ["uniform", p] => probability(p).map(|probability| LossModel::Uniform { probability }),
        ["burst", p, n] => probability(p).and_then(|probability| {
            let length = n.parse().ok().filter(|&n| n > 0)?;
            Some(LossModel::Burst {
                probability,
                length,
            })
        }),
        ["gilbert", good_time, good_loss, bad_time, bad_loss, flip] => (|| {
            let state = |time, loss| {
                Some(State {
                    dwell: dwell(time)?,
                    loss: probability(loss)?,
                })
            };
            Some(LossModel::Gilbert {
                good: state(good_time, good_loss)?,
                bad: state(bad_time, bad_loss)?,
                flip: probability(flip)?,
            })
        })(),
        _ => None,
    };
    model.ok_or_else(|| {
        let many = words.iter().any(|word| is_over_all(word));
        let problem = match words[..] {
            _ if many => "a share of packets is at most 100 %",
            [share] if probability(share).is_some() => {
                "for losses one by one write \"uniform\" before the share, \"uniform 1%\""
            }
            _ => return refuse("loss model", text, LOSSES),
        };
        StudyError::ModelProblem {
            what: "loss model",
            text: text.into(),
            problem,
        }
    })
}

/// Whether this is a percentage above 100 %.
fn is_over_all(word: &str) -> bool {
    let share = word.strip_suffix('%').and_then(|share| share.parse().ok());
    share.is_some_and(|share: f64| share > 100.0)
}

/// Reads a reordering model such as "swap 5%".
///
/// # Errors
/// [`StudyError::Model`] names what is accepted.
pub fn read_reordering(text: &str) -> Result<Reordering, StudyError> {
    let words = words(text);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let swap = |p, hold| probability(p).map(|probability| Reordering::Swap { probability, hold });
    let harq = |p, delay, slot: &str| {
        Some(Reordering::Harq {
            probability: probability(p).filter(|p| *p < 1.0)?,
            delay: time(delay)?,
            slot: slot.parse().ok()?,
        })
    };
    let model = match words[..] {
        ["swap", p] => swap(p, HOLD),
        ["swap", p, hold] => time(hold).and_then(|hold| swap(p, hold)),
        ["linkrtx", p, delay] => time(delay).and_then(|delay| {
            Some(Reordering::LinkRetransmission {
                probability: probability(p)?,
                delay,
            })
        }),
        ["harq", p, delay] => harq(p, delay, "0 s"),
        ["harq", p, delay, slot] => harq(p, delay, slot),
        _ => None,
    };
    model.ok_or_else(|| refuse("reordering model", text, REORDERINGS))
}

/// Reads cross traffic such as "poisson 2 Mbit/s", without a seed; none for "none".
///
/// # Errors
/// [`StudyError::Model`] names what is accepted.
pub fn read_cross(text: &str) -> Result<Option<CrossTraffic>, StudyError> {
    let words = words(text);
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words == ["none"] {
        return Ok(None);
    }
    let size = words.last().and_then(|word| word.strip_suffix('B'));
    let size: Option<u32> = size.and_then(|digits| digits.parse().ok());
    if size.is_some() {
        words.pop();
    }
    let bytes = size.unwrap_or(CROSS_BYTES);
    let rate = |text: &str| text.parse::<Rate>().ok();
    let on_off = |peak, on, off, shape| {
        Some(Pattern::OnOff {
            peak: rate(peak)?,
            on: time(on)?,
            off: time(off)?,
            shape,
        })
    };
    let pattern = match words[..] {
        ["cbr", r] => rate(r).map(|rate| Pattern::Constant { rate }),
        ["poisson", r] => rate(r).map(|rate| Pattern::Poisson { rate }),
        ["on-off", peak, on, off] => on_off(peak, on, off, None),
        ["pareto", peak, on, off, shape] => {
            let shape: Option<f64> = shape.parse().ok();
            shape.and_then(|shape| on_off(peak, on, off, Some(shape)))
        }
        _ => None,
    };
    let cross = pattern.map(|pattern| CrossTraffic {
        pattern,
        bytes,
        seed: 0,
    });
    let problem = match &cross {
        Some(_) if bytes > MOST_CROSS_BYTES => Some("a packet has at most 65535 bytes"),
        Some(cross) => cross.problem(),
        None => None,
    };
    if let Some(problem) = problem {
        return Err(StudyError::ModelProblem {
            what: "cross traffic",
            text: text.into(),
            problem,
        });
    }
    cross
        .map(Some)
        .ok_or_else(|| refuse("cross traffic", text, CROSSINGS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_read_with_and_without_blanks() {
        for text in ["uniform 0.5%", "uniform  0.5 %", "uniform 0.5  %"] {
            let read = read_loss(text).ok();
            assert_eq!(
                read,
                Some(LossModel::Uniform { probability: 0.005 }),
                "{text}"
            );
        }
        assert_eq!(read_loss(" none ").ok(), read_loss("uniform 0%").ok());
        assert!(read_loss("none").is_ok());
        assert!(read_loss("none 1%").is_err());
        assert_eq!(
            read_loss("gilbert 1 s 0.1 % 100 ms 10 % 50 %").ok(),
            read_loss("gilbert 1s 0.1% 100ms 10% 50%").ok()
        );
        assert_eq!(
            read_reordering("linkrtx 5% 100 ms").ok(),
            Some(Reordering::LinkRetransmission {
                probability: 0.05,
                delay: Duration::from_millis(100)
            })
        );
        assert!(read_reordering("swap 5%").is_ok());
        assert_eq!(
            read_reordering("harq 10% 8 ms 1 ms").ok(),
            Some(Reordering::Harq {
                probability: 0.1,
                delay: Duration::from_millis(8),
                slot: Duration::from_millis(1),
            })
        );
        assert!(read_reordering("harq 100% 8ms").is_err());
        for text in [
            "",
            "uniform",
            "uniform 2",
            "uniform 0.5",
            "burst 1% 0",
            "gilbert 0s 0% 1s 1% 1%",
        ] {
            let refused = read_loss(text).map_or_else(|e| e.to_string(), |_| String::new());
            assert!(refused.contains("uniform 0.5%"), "{text}: {refused}");
        }
        for (text, problem) in [
            ("uniform 120 %", "a share of packets is at most 100 %"),
            ("gilbert 1s 0.1% 100ms 101% 50%", "at most 100 %"),
            (
                "1 %",
                "for losses one by one write \"uniform\" before the share, \"uniform 1%\"",
            ),
        ] {
            let refused = read_loss(text).map_or_else(|e| e.to_string(), |_| String::new());
            assert!(refused.contains(problem), "{text}: {refused}");
        }
        let constant = |bytes, kbps: u64| {
            let rate = Rate::from_bps(1000 * kbps)?;
            let pattern = Pattern::Constant { rate };
            let seed = 0;
            Some(CrossTraffic {
                pattern,
                bytes,
                seed,
            })
        };
        assert_eq!(
            read_cross("cbr 64 kbit/s 200 B").ok(),
            Some(constant(200, 64))
        );
        assert_eq!(read_cross("cbr 2Mbit/s").ok(), Some(constant(1500, 2000)));
        assert_eq!(read_cross(" none ").ok(), Some(None));
        assert!(read_cross("on-off 8 Mbit/s 100 ms 0s 100B").is_ok());
        for text in ["", "cbr", "cbr 2", "cbr 0 bit/s", "poisson 1 Mbit/s 1 s"] {
            let refused = read_cross(text).map_or_else(|e| e.to_string(), |_| String::new());
            assert!(refused.contains("poisson 2 Mbit/s"), "{text}: {refused}");
        }
        for (text, why) in [
            ("cbr 1 Mbit/s 0 B", "at least one byte"),
            ("cbr 1 Mbit/s 65536 B", "at most 65535 bytes"),
            ("on-off 8 kbit/s 1ms 1s", "as long as one packet"),
            ("pareto 8 Mbit/s 1s 1s 1", "from 1.05 to 100"),
            ("pareto 8 Mbit/s 1s 1s nan", "from 1.05 to 100"),
        ] {
            let refused = read_cross(text).map_or_else(|e| e.to_string(), |_| String::new());
            assert!(refused.contains(why), "{text}: {refused}");
        }
        assert!(read_reordering("linkrtx 5%")
            .is_err_and(|e| e.to_string().contains("linkrtx 5% 100ms")));
    }
}
