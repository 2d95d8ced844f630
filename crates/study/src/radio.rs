//! Radio links in words: `"1 Mbit/s, 200 ms"` that loses `"uniform 0.5%"` and
//! reorders by `"linkrtx 5% 100ms"`.

use midflight_control::LinkInfo;
use midflight_sim::{LossModel, Reordering, Scripted, State};
use midflight_units::Duration;

use crate::error::StudyError;

/// The last hop while a mobile node is in a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Radio {
    /// Rate and one-way delay, the same both ways.
    pub link: LinkInfo,
    /// Most packets at the link in either direction, the one in transmission included.
    pub limit: u32,
    /// Losses of what goes to the mobile node.
    pub loss: Option<LossModel>,
    /// Reordering of what goes to the mobile node.
    pub reordering: Option<Reordering>,
    /// What happens to the packets of these numbers on the way to the mobile node.
    pub script: Vec<(u64, Scripted)>,
}

/// How losses are written.
const LOSSES: &str = "\"uniform 0.5%\", \"burst 0.5% 3\" (chance of a burst, packets in it) or \"gilbert 1s 0.1% 100ms 10% 50%\" (good state: time and losses; bad state: the same; chance to change after that time)";
/// How reordering is written.
const REORDERINGS: &str = "\"swap 5%\", \"swap 5% 1s\" (at most so long behind its time) or \"linkrtx 5% 100ms\" (sent again by the link layer: so much later)";
/// How long a swapped packet waits for the next one unless that is said.
const HOLD: Duration = Duration::from_secs(1);

/// A probability: "5%". A bare number could be either a share or per cent.
fn probability(text: &str) -> Option<f64> {
    let value: f64 = text.strip_suffix('%')?.parse().ok()?;
    (0.0..=100.0).contains(&value).then(|| value / 100.0)
}

fn time(text: &str) -> Option<Duration> {
    text.parse().ok()
}

fn dwell(text: &str) -> Option<Duration> {
    time(text).filter(|&d| d > Duration::ZERO)
}

/// Words, where "5 %" and "100 ms" are one word each.
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

/// Reads a loss model such as "uniform 0.5%".
///
/// # Errors
/// [`StudyError::Model`] says what would be accepted.
pub fn read_loss(text: &str) -> Result<LossModel, StudyError> {
    let words = words(text);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let model = match words[..] {
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
    model.ok_or_else(|| refuse("loss model", text, LOSSES))
}

/// Reads a reordering model such as "swap 5%".
///
/// # Errors
/// [`StudyError::Model`] says what would be accepted.
pub fn read_reordering(text: &str) -> Result<Reordering, StudyError> {
    let words = words(text);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let swap = |p, hold| probability(p).map(|probability| Reordering::Swap { probability, hold });
    let model = match words[..] {
        ["swap", p] => swap(p, HOLD),
        ["swap", p, hold] => time(hold).and_then(|hold| swap(p, hold)),
        ["linkrtx", p, delay] => time(delay).and_then(|delay| {
            Some(Reordering::LinkRetransmission {
                probability: probability(p)?,
                delay,
            })
        }),
        _ => None,
    };
    model.ok_or_else(|| refuse("reordering model", text, REORDERINGS))
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
        for text in [
            "",
            "uniform",
            "uniform 101%",
            "uniform 2",
            "uniform 0.5",
            "burst 1% 0",
            "gilbert 0s 0% 1s 1% 1%",
        ] {
            let refused = read_loss(text).map_or_else(|e| e.to_string(), |_| String::new());
            assert!(refused.contains("uniform 0.5%"), "{text}: {refused}");
        }
        assert!(read_reordering("linkrtx 5%")
            .is_err_and(|e| e.to_string().contains("linkrtx 5% 100ms")));
    }
}
