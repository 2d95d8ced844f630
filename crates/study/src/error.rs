use midflight_control::part::KnobError;
use midflight_sim::WorldError;
use midflight_tcp::ConfigError;
use midflight_units::{Duration, Instant, UnitError};
use midflight_wire::pcapng::PcapError;
use midflight_wire::WireError;

use crate::drill::DrillError;

/// Why a question cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// There is no such scheme.
    #[error(
        "{}",
        unknown("scheme", name, near, "`midflight list schemes` has all")
    )]
    UnknownScheme {
        /// The name that was read.
        name: String,
        /// The nearest names that exist.
        near: Vec<String>,
    },
    /// There is no such flow in a scenario.
    #[error("there is no flow \"{name}\"{}; there are {known}", near.as_ref().map(|n| format!(" (did you mean \"{n}\"?)")).unwrap_or_default())]
    UnknownFlow {
        /// The name that was read.
        name: String,
        /// The nearest name that exists.
        near: Option<String>,
        /// The names that exist.
        known: String,
    },
    /// A scenario that cannot be run.
    #[error("{place}{key}: {why}")]
    Scenario {
        /// File and line, or the override, with a separator; empty if there is neither.
        place: String,
        /// Path to the value.
        key: String,
        /// What was read and what is accepted.
        why: String,
    },
    /// A model that is written well, but cannot be.
    #[error("{what} \"{text}\" cannot be: {problem}")]
    ModelProblem {
        /// What was being read.
        what: &'static str,
        /// The text as it was read.
        text: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Text that is not a model of a radio link.
    #[error("{what} \"{text}\" is not one; write for example {accepted}")]
    Model {
        /// What was being read.
        what: &'static str,
        /// The text as it was read.
        text: String,
        /// What would be accepted.
        accepted: &'static str,
    },
    /// Handovers that overlap.
    #[error("a handover every {every} is too often: one may take {longest}, which is blackout, advertisement interval, signal delay and the way of the registration together; accepted is more time between them, or less of these")]
    Handovers {
        /// Time between two.
        every: Duration,
        /// How long one may take.
        longest: Duration,
    },
    /// Two parts of which a sender has one.
    #[error("{scheme}: {first} and {second} are both a {what}; a sender has one")]
    Clash {
        /// The scheme as it was read.
        scheme: String,
        /// A part.
        first: String,
        /// Another part of the same kind.
        second: String,
        /// The kind.
        what: &'static str,
    },
    /// There is no such knob.
    #[error("{}", unknown("setting", name, near, "`midflight list settings` has those of the profile, `midflight list` also those of parts"))]
    UnknownKnob {
        /// The name that was read.
        name: String,
        /// The nearest names that exist.
        near: Vec<String>,
    },
    /// A scenario has no run of this number.
    #[error("there is no run {run}: the scenario has {} (runs = {runs}), numbered from 0", if *runs == 1 { "one".into() } else { runs.to_string() })]
    NoRun {
        /// The number that was read.
        run: u64,
        /// How many runs there are.
        runs: u64,
    },
    /// Scenarios that are run together give more results than are held in memory.
    #[error("the scenarios give {rows} rows of flows and phases together; accepted are at most {most} at a time: give fewer scenarios or runs")]
    TooManyRows {
        /// How many there would be.
        rows: u64,
        /// How many are accepted.
        most: u64,
    },
    /// The value of a policy's knob is not accepted.
    #[error(transparent)]
    Knob(#[from] KnobError),
    /// A profile or one of its settings is not accepted.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Text that is not a quantity.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// Text that is not a link.
    #[error("link \"{text}\" is not a rate and a delay; write for example \"6400 kbit/s, 9 ms\"")]
    Link {
        /// The text as it was read.
        text: String,
    },
    /// The handoff would come, or be complete and notified, after the end of the run.
    #[error("the handoff at {at} is complete, its notice delivered, at {complete}, but the run ends at {end}; accepted is an earlier handoff, a shorter gap or notice delay, or a later end")]
    AfterEnd {
        /// The handoff.
        at: Instant,
        /// When the new route is in use and the notice delivered.
        complete: Instant,
        /// The end of the run.
        end: Instant,
    },
    /// The handoff would come before all flows are open.
    #[error("at {at}, when the handoff starts, not all flows are open: the last one opens at {open}; accepted is a later handoff, fewer flows or a shorter time between their starts")]
    NotOpen {
        /// The handoff.
        at: Instant,
        /// When the last flow opens.
        open: Instant,
    },
    /// What is counted for a while would be counted after the end of the run.
    #[error("the window of {window} from {from} on is not over when the run ends at {end}; accepted is a shorter one, or a later end")]
    WindowAfterEnd {
        /// Its length.
        window: Duration,
        /// Where it begins.
        from: Instant,
        /// The end of the run.
        end: Instant,
    },
    /// A number is outside its range.
    #[error("{what} {value} is out of range; accepted is {accepted}")]
    Range {
        /// What it counts.
        what: &'static str,
        /// The number that was read.
        value: String,
        /// The accepted range.
        accepted: &'static str,
    },
    /// A drill that cannot be run.
    #[error(transparent)]
    Drill(#[from] DrillError),
    /// Nothing to do.
    #[error("no {what} was given; at least one is needed")]
    Nothing {
        /// What is missing.
        what: &'static str,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// A trace or the captures of a run would not fit.
    #[error("the run has more than {most} {what} before it ends at {end}; accepted is an earlier end, or fewer packets")]
    TooLong {
        /// What there is too much of.
        what: &'static str,
        /// Most that may be.
        most: usize,
        /// Where the run would have ended.
        end: Instant,
    },
    /// A capture could not be written.
    #[error("cannot make the capture: {0}")]
    Capture(#[from] PcapError),
    /// A packet could not be made.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// Threads could not be started.
    #[error("cannot start the threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The world broke down.
    #[error(transparent)]
    World(#[from] WorldError),
}

/// What a TCP may have elsewhere and has not here, by the names that are asked for.
const NOT_MODELLED: [&str; 11] = [
    "bbr",
    "bbr2",
    "bbr3",
    "dctcp",
    "ecn",
    "hystart",
    "hystart++",
    "prr",
    "quic",
    "rack",
    "tlp",
];

/// Most names that are proposed for one that is not there.
const MOST_NEAR: usize = 3;

/// That there is nothing of this name, with the nearest names and where all of them are.
fn unknown(what: &str, name: &str, near: &[String], all: &str) -> String {
    if NOT_MODELLED.contains(&name.to_lowercase().as_str()) {
        return format!("\"{name}\" is not modelled; docs/scenarios.md, \"What is not modelled\", says what else is not, and {all}");
    }
    let near = match near {
        [] => String::new(),
        [one] => format!(" (did you mean \"{one}\"?)"),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(|n| format!("\"{n}\"")).collect();
            format!(" (did you mean {} or \"{last}\"?)", first.join(", "))
        }
    };
    format!("there is no {what} \"{name}\"{near}; {all}")
}

/// The one of `known` that is nearest to `name`, if it is near at all.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    nearest_few(name, known).into_iter().next()
}

/// The few of `known` that are nearest to `name`, as far as they are near at all.
pub(crate) fn nearest_few<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut near: Vec<(usize, &str)> = known
        .map(|k| (distance(name, k), k))
        .filter(|(d, k)| *d <= 1 + k.len() / 4)
        .collect();
    near.sort_unstable();
    near.dedup();
    near.truncate(MOST_NEAR);
    near.into_iter().map(|(_, k)| k.to_string()).collect()
}

/// Levenshtein's distance, where two neighbours that change places are one mistake.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, cb) in b.iter().enumerate() {
            let substituted = last[j] + usize::from(ca != cb);
            let mut mistakes = substituted.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *ca == b[j - 1] && a[i - 1] == *cb {
                mistakes = mistakes.min(before[j - 1] + 1);
            }
            row.push(mistakes);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_finds_its_name_and_nonsense_does_not() {
        let known = ["sack", "enhanced", "enhanced-a5", "rlci"];
        assert_eq!(
            nearest("enhaced", known.into_iter()),
            Some("enhanced".into())
        );
        assert_eq!(nearest("quantum", known.into_iter()), None);
        assert_eq!(
            nearest("gpa", ["at", "to", "gap"].into_iter()),
            Some("gap".into())
        );
        assert_eq!(
            nearest_few("a", ["a1", "a2", "a3", "a4"].into_iter()),
            ["a1", "a2", "a3"]
        );
    }

    #[test]
    fn distances_count_mistakes() {
        for (a, b, mistakes) in [
            ("gap", "gap", 0),
            ("gpa", "gap", 1),
            ("", "gap", 3),
            ("sak", "sack", 1),
            ("kitten", "sitting", 3),
            ("ca", "abc", 3),
        ] {
            assert_eq!(distance(a, b), mistakes, "{a} {b}");
            assert_eq!(distance(b, a), mistakes, "{b} {a}");
        }
    }

    #[test]
    fn what_is_not_modelled_is_said_to_be_that() {
        let said = unknown("scheme", "BBR", &[], "all");
        assert!(
            said.starts_with("\"BBR\" is not modelled; docs/scenarios.md"),
            "{said}"
        );
    }
}
