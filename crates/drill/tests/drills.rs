//! The drills of the repository: each passes for every sender that its header
//! names, and fails when one of its expectations is changed.
#![allow(clippy::panic, reason = "a failed test panics")]

use std::path::{Path, PathBuf};

use midflight_drill::{run_drill, DrillRequest, DrillRun};
use midflight_tcp::scheme::schemes;
use proptest::prelude::*;

/// File names and texts.
fn drills() -> Vec<(String, String)> {
    fn collect(directory: &Path, found: &mut Vec<PathBuf>) {
        let entries =
            std::fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|e| e == "pkt") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../drills");
    let mut found = Vec::new();
    collect(&root, &mut found);
    found.sort();
    let read = |path: PathBuf| {
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let name = path.strip_prefix(&root).unwrap_or(&path);
        (name.display().to_string(), text)
    };
    found.into_iter().map(read).collect()
}

fn run(name: &str, text: &str, request: &DrillRequest) -> Vec<DrillRun> {
    run_drill(text, name, request).unwrap_or_else(|e| panic!("{e}"))
}

fn describe(name: &str, run: &DrillRun) -> String {
    let sender = format!("{} {} {:?}", run.scheme, run.profile, run.knobs);
    let Some(failure) = &run.failure else {
        return format!("{name} [{sender}] passes");
    };
    format!(
        "{name}:{}: {} [{sender}]\n  expected {}\n  seen {}\n  {:?}",
        failure.line, failure.statement, failure.expected, failure.seen, failure.state
    )
}

#[test]
fn every_drill_passes_for_every_sender_that_it_names() {
    let mut failures = Vec::new();
    let mut runs = 0;
    for (name, text) in drills() {
        for one in run(&name, &text, &DrillRequest::default()) {
            runs += 1;
            if one.failure.is_some() {
                failures.push(describe(&name, &one));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(runs > 100, "{runs}");
}

/// Each standard with a sender's part has its drills.
#[test]
fn the_standards_have_their_drills() {
    let names: Vec<_> = drills().into_iter().map(|(name, _)| name).collect();
    for standard in [
        "rfc1191", "rfc2018", "rfc2883", "rfc3042", "rfc3465", "rfc3522", "rfc3708", "rfc4653",
        "rfc5681", "rfc5682", "rfc6069", "rfc6298", "rfc6582", "rfc6675", "rfc6928", "rfc7323",
        "rfc7413", "rfc9293", "linux",
    ] {
        assert!(names.iter().any(|n| n.starts_with(standard)), "{standard}");
    }
    for (name, text) in drills() {
        let first = text.lines().next().unwrap_or_default();
        let cites = first.starts_with("// RFC ") || first.starts_with("// Linux ");
        // The drills of papers are named by authors.
        let papers = ["as-brought", "handoffs", "estimators"];
        let other = papers.iter().any(|folder| name.starts_with(folder));
        assert!(cites || other, "{name}: {first}");
    }
}

/// Without a notice a handoff-aware sender behaves like the plain one.
#[test]
fn a_handoff_policy_changes_no_drill() {
    let policies = schemes().into_iter().filter(|s| {
        let policy = |part: &&str| midflight_control::policy::Policy::named(part).is_some();
        !s.parts.is_empty() && s.parts.iter().all(policy)
    });
    let mut compared = 0;
    for scheme in policies {
        for (name, text) in drills() {
            if text.contains("scheme=") {
                continue;
            }
            let request = DrillRequest {
                scheme: Some(scheme.name.to_string()),
                ..DrillRequest::default()
            };
            for one in run(&name, &text, &request) {
                assert!(one.failure.is_none(), "{}", describe(&name, &one));
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "{compared}");
}

/// The line with another expectation, if it has one: other bytes and another time of a segment, or
/// a negated assertion.
fn mutants(line: &str) -> Vec<String> {
    if let Some(at) = line.find(" == ") {
        return vec![format!("{} != {}", &line[..at], &line[at + 4..])];
    }
    let Some((time, segment)) = line.split_once(" > ") else {
        return Vec::new();
    };
    let numbers = |part: &str| part.parse::<u64>().ok();
    let ranges = segment.split_once(' ').and_then(|(flags, rest)| {
        let (range, rest) = rest.split_once('(')?;
        let (from, to) = range.split_once(':')?;
        let (from, to) = (numbers(from)? + 1000, numbers(to)? + 1000);
        Some(format!("{time} > {flags} {from}:{to}({rest}"))
    });
    let seconds: Option<f64> = time.strip_prefix('+').and_then(|t| t.parse().ok());
    let later = seconds.map(|s| format!("+{} > {segment}", s + 0.02));
    ranges.into_iter().chain(later).collect()
}

/// Every expectation of every drill is tested: if it is changed the drill fails on exactly that
/// line, with the expected and the observed value and the state.
#[test]
fn a_changed_expectation_fails_on_its_line() {
    let mut changed = 0;
    for (name, text) in drills() {
        let lines: Vec<_> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            for other in mutants(line) {
                let mut mutant = lines.clone();
                mutant[index] = &other;
                for one in run(&name, &mutant.join("\n"), &DrillRequest::default()) {
                    let failure = one.failure;
                    let failure = failure.unwrap_or_else(|| panic!("{name}: {other} passes"));
                    assert_eq!(failure.line as usize, index + 1, "{name}: {other}");
                    assert!(!failure.expected.is_empty() && !failure.seen.is_empty());
                    let known = failure.state.iter().any(|(key, _)| *key == "cwnd");
                    assert!(known, "{name}: {other}");
                    changed += 1;
                }
            }
        }
    }
    assert!(changed > 1000, "{changed}");
}

/// Fragments of the notation, and some that are not part of it.
const PIECES: [&str; 32] = [
    "+0",
    "+.1",
    "+99999",
    "*",
    "1~2",
    " < ",
    " > ",
    "S.",
    "F.",
    "P.",
    ". 1:1001(1000)",
    "ack 1",
    "ack 1001",
    "win 0",
    "win 65535",
    "<sack 1:1001>",
    "<...>",
    "<mss 1>",
    "<mss 0,TS val 1 ecr 9>",
    "%{ assert tcpi_snd_cwnd == 1/0 }%",
    "%{",
    "}%",
    "`sysctl a=b`",
    "`",
    "write(4, ..., 99999999)",
    "close(4) = 0",
    "connect(3, ..., ...) = 0",
    "--mtu=41",
    "/*",
    "\"",
    "4294967295",
    "\u{fe4}\n",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// No input causes a panic or an endless run; a script that cannot be run is an error that
    /// names the script.
    #[test]
    fn any_text_is_run_or_refused(text in "\\PC{0,200}|[ -~\n]{0,300}") {
        if let Err(error) = run_drill(&text, "any.pkt", &DrillRequest::default()) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    /// The same for scripts that are almost valid.
    #[test]
    fn a_damaged_drill_is_run_or_refused(
        which in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..12, 0..PIECES.len()), 1..6),
        profile in prop::sample::select(vec!["rfc", "ns2"]),
        scheme in prop::sample::select(vec!["sack", "dcr-frto-ld", "ncr-careful", "frto-ns2"]),
    ) {
        let all = drills();
        let mut text: Vec<char> = which.get(&all).1.chars().collect();
        for (at, length, piece) in damage {
            let at = at.index(text.len() + 1);
            let end = (at + length).min(text.len());
            text.splice(at..end, PIECES[piece].chars());
        }
        let text: String = text.into_iter().collect();
        let request = DrillRequest {
            profile: Some(profile.into()),
            scheme: Some(scheme.into()),
            ..DrillRequest::default()
        };
        match run_drill(&text, "any.pkt", &request) {
            Ok(runs) => for run in runs {
                let lines = text.lines().count() as u32;
                prop_assert!(run.failure.is_none_or(|f| (1..=lines).contains(&f.line)));
            },
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
