//! Invalid and unusual scenarios: reading always gives a scenario or one clear sentence, and
//! extreme scenarios end.
#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_study::scenario::{read_scenario, run_scenarios, Origin, Plan, ScenarioRun};
use midflight_study::{Execution, StudyError};
use midflight_units::Duration;
use proptest::prelude::*;

const GOOD: &str = r#"
end = "5 s"
set = { min_rto = "1 s" }
[wired]
rate = "1 Gbit/s"
[links.a]
preset = "wifi"
loss = "uniform 1%"
[links.b]
rate = "2 Mbit/s"
delay = "50 ms"
queue = "2 bdp"
up = { rate = "1 Mbit/s", reorder = "swap 5%" }
[flows.one]
scheme = "enhanced"
size = "500 kB"
[flows.two]
direction = "up"
count = 2
[flows.other]
on = "b"
start = "0.1 s"
[[handoffs]]
at = "1 s, 2 s"
to = ["b", "a"]
gap = "100 ms"
notice = { delay = "10 ms", lost = "10%", says_rate = "6 Mbit/s" }
[[changes]]
at = "0.5 s"
link = "a"
pause = "10 ms"
rate = "5 Mbit/s"
"#;

fn read(text: &str, sets: &[(String, String)]) -> Result<Plan, StudyError> {
    read_scenario(text, Origin::Toml("fuzz.toml"), sets, &[])
}

/// One sentence on one line, for every input.
fn check(answer: Result<Plan, StudyError>) -> Result<Option<Plan>, TestCaseError> {
    match answer {
        Ok(plan) => Ok(Some(plan)),
        Err(error) => {
            let text = error.to_string();
            prop_assert!(!text.trim().is_empty());
            prop_assert!(text.len() < 20_000, "{} characters", text.len());
            Ok(None)
        }
    }
}

/// Runs it for a limited time; returns whether it reached its end.
fn run_for_a_while(plan: Plan) -> Result<Option<ScenarioRun>, TestCaseError> {
    let mut patience = 20;
    let runs = run_scenarios(&[plan], Execution::default(), |_, _| {
        patience -= 1;
        patience > 0
    });
    match runs {
        Ok(mut runs) => Ok(Some(runs.remove(0).remove(0))),
        Err(StudyError::Interrupted) => Ok(None),
        Err(error) => Err(TestCaseError::fail(error.to_string())),
    }
}

fn key() -> impl Strategy<Value = String> {
    let part = prop::sample::select(
        "links flows handoffs changes wired set a b one two other up notice at to gap rate delay \
         queue loss reorder cross preset scheme direction size start count stagger on start_notice end \
         seed runs packets notices profile pause link lost says_rate says_delay sweep axes 0 1 2 99 \
         min_rto segment_bytes x"
            .split_whitespace()
            .collect::<Vec<_>>(),
    );
    prop::collection::vec(part, 1..5).prop_map(|parts| parts.join("."))
}

fn value() -> impl Strategy<Value = String> {
    let some = [
        "1 s",
        "0 s",
        "1 ns",
        "10 min",
        "300 h",
        "1 bit/s",
        "400 Gbit/s",
        "1e9",
        "-1",
        "0",
        "1",
        "18446744073709551616",
        "0.1",
        "true",
        "false",
        "[]",
        "{}",
        "[1, 2]",
        "[\"a\", \"b\"]",
        "a",
        "b",
        "up",
        "bdp",
        "1 packet",
        "3 MB",
        "0 B",
        "unlimited",
        "uniform 100%",
        "uniform 0%",
        "gilbert 1s 0.1% 100ms 10% 50%",
        "linkrtx 5% 100ms",
        "none",
        "cbr 1 bit/s",
        "poisson 8 Mbit/s 40 B",
        "pareto 400 Gbit/s 1us 10min 1.05",
        "sack",
        "enhanced+dcr-frto",
        "freeze",
        "vho-qs",
        "abest-vho",
        "lte",
        "geo",
        "rfc",
        "ns2",
        "100%",
        "0.1s:4s:0.1s",
        "\u{0}",
        "\"",
        "nan",
        "inf",
        "1979-05-27",
        "'''",
        "{a = 1}",
        "\u{1f6f0}",
    ];
    prop_oneof![
        3 => prop::sample::select(some.to_vec()).prop_map(String::from),
        1 => ".{0,12}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check(read(&String::from_utf8_lossy(&bytes), &[]))?;
    }

    #[test]
    fn any_change_of_a_scenario_is_answered(
        place in any::<prop::sample::Index>(),
        length in 0usize..12,
        put in ".{0,6}",
    ) {
        let chars: Vec<char> = GOOD.chars().collect();
        let from = place.index(chars.len());
        let until = (from + length).min(chars.len());
        let text: String = chars[..from].iter().copied().chain(put.chars()).chain(chars[until..].iter().copied()).collect();
        check(read(&text, &[]))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(120) })]

    /// An accepted scenario runs to its end, or as long as it is allowed to, without an error.
    #[test]
    fn any_values_are_answered_and_run(sets in prop::collection::vec((key(), value()), 1..4)) {
        if let Some(plan) = check(read(GOOD, &sets))? {
            run_for_a_while(plan)?;
        }
    }
}

fn run(sets: &[(&str, &str)]) -> ScenarioRun {
    let text = r#"
        end = "1000 h"
        links.a = { rate = "10 Mbit/s", delay = "10 ms" }
        links.b = { rate = "10 Mbit/s", delay = "10 ms" }
        flows.f.size = "1000 packets"
        handoffs = [{ at = "0.5 s", to = "b", gap = "100 ms" }]
    "#;
    let sets: Vec<_> = sets.iter().map(|&(k, v)| (k.into(), v.into())).collect();
    let plan = read(text, &sets).unwrap_or_else(|e| panic!("{e}"));
    let runs = run_scenarios(&[plan], Execution::default(), |_, _| true);
    runs.unwrap_or_else(|e| panic!("{e}")).remove(0).remove(0)
}

#[test]
fn extremes_end() {
    let both = |key: &str, value: &str| {
        [format!("links.a.{key}"), format!("links.b.{key}")].map(|path| (path, value.to_string()))
    };
    let with = |values: &[(String, String)]| {
        let sets: Vec<_> = values
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str()))
            .collect();
        let run = run(&sets);
        (run.flows[0].finished.is_some(), run.flows[0].clone())
    };
    // A SYN of 40 bytes takes 320 s, a full segment 12,000 s.
    let mut slow = both("rate", "1 bit/s").to_vec();
    slow.push(("flows.f.size".into(), "10 packets".into()));
    let (done, flow) = with(&slow);
    assert!(done && flow.total().timeouts > 10, "{flow:?}");
    let (done, _) = with(
        &[
            both("rate", "400 Gbit/s").as_slice(),
            &[
                ("wired.rate".into(), "400 Gbit/s".into()),
                ("flows.f.size".into(), "1000000 packets".into()),
            ],
        ]
        .concat(),
    );
    assert!(done);
    let (done, _) = with(&both("delay", "1 ns"));
    assert!(done);
    let (done, flow) = with(&both("delay", "10 min"));
    assert!(done && flow.stall >= Duration::from_secs(1200), "{flow:?}");
    let (done, flow) = with(&both("queue", "1 packet"));
    assert!(done && flow.total().drops_queue > 0);
    let (done, _) = with(&both("loss", "uniform 0%"));
    assert!(done);
    let (done, flow) = with(&both("loss", "uniform 100%"));
    assert!(!done && flow.total().acked == 0 && flow.total().drops_radio > 1000);
    let (done, flow) = with(&[
        ("handoffs.0.at".into(), "0.05 s : 3599 s : 0.05 s".into()),
        ("handoffs.0.to".into(), r#"["b", "a"]"#.into()),
        ("handoffs.0.gap".into(), "1 ms".into()),
        ("flows.f.size".into(), "unlimited".into()),
        ("end".into(), "1 h".into()),
    ]);
    assert!(!done);
    assert_eq!(flow.phases.len(), 71_981);
}
