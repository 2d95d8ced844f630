//! Scenarios that do not differ before the first handoff or change share that prefix, and have the same
//! results as from the start: for every starter.
#![allow(clippy::panic, reason = "a failed test panics")]

use std::path::Path;

use midflight_study::scenario::{
    read_scenario, run_scenarios, run_some, Origin, Plan, ScenarioRun,
};
use midflight_study::{scenario, schemes, Execution};
use midflight_units::{Duration, Instant};

fn count_pasts(plans: &[Plan]) -> usize {
    scenario::count_pasts(plans).unwrap_or_else(|e| panic!("{e}"))
}

/// Names and texts of the starters.
fn starters() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/midflight/scenarios");
    let files = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut all: Vec<_> = files
        .filter_map(|file| {
            let path = file.ok()?.path();
            let name = path
                .file_name()?
                .to_str()?
                .strip_suffix(".toml")?
                .to_string();
            Some((name, std::fs::read_to_string(&path).ok()?))
        })
        .collect();
    all.sort();
    assert!(all.len() >= 21, "{} starters", all.len());
    all
}

fn plan(name: &str, text: &str, sets: &[(String, String)]) -> Plan {
    read_scenario(text, Origin::Toml(name), sets, &[]).unwrap_or_else(|e| panic!("{e}"))
}

/// Overrides that make a scenario's handoffs and changes earlier by `parts` of 8 of the time before the
/// first.
fn earlier(of: &Plan, parts: u64) -> Vec<(String, String)> {
    let file = of.file();
    let handoffs = file.handoffs.iter().map(|h| &h.at.value.0);
    let changes = file.changes.iter().map(|c| &c.at.value.0);
    let first = handoffs.clone().chain(changes.clone()).flatten().min();
    let Some(first) = first else {
        return Vec::new();
    };
    let by = Duration::from_nanos(first.as_nanos() * parts / 8);
    let list = |instants: &Vec<Instant>| {
        let each = instants.iter().map(|at| at.saturating_sub(by).to_string());
        each.collect::<Vec<_>>().join(", ")
    };
    let named = |what: &'static str| move |(n, at)| (format!("{what}.{n}.at"), list(at));
    let handoffs = handoffs.enumerate().map(named("handoffs"));
    handoffs
        .chain(changes.enumerate().map(named("changes")))
        .collect()
}

/// A starter at three times, each with its own scheme and with `enhanced` for its first flow.
fn cells(name: &str, text: &str) -> (Vec<Plan>, Vec<Plan>) {
    let own = plan(name, text, &[("runs".into(), "1".into())]);
    let flow = own.file().flows.keys().next().map_or("", String::as_str);
    let cell = |scheme: Option<&str>, parts| {
        let mut sets = earlier(&own, parts);
        sets.push(("runs".into(), "1".into()));
        sets.extend(scheme.map(|s| (format!("flows.{flow}.scheme"), s.into())));
        plan(name, text, &sets)
    };
    let in_time = [0, 1, 3].map(|parts| cell(None, parts)).to_vec();
    let others = [1, 3].map(|parts| cell(Some("enhanced"), parts)).to_vec();
    (in_time, others)
}

fn run_all(plans: &[Plan], fork: bool) -> Vec<Vec<ScenarioRun>> {
    let how = Execution { fork, threads: 2 };
    run_scenarios(plans, how, |_, _| true).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn every_starter_shares_its_past_with_itself_at_other_times() {
    for (name, text) in starters() {
        let (in_time, others) = cells(&name, &text);
        assert_eq!(count_pasts(&in_time), 1, "{name}");
        let all: Vec<Plan> = in_time.into_iter().chain(others).collect();
        assert_eq!(
            count_pasts(&all),
            1,
            "{name}: before a notice schemes are alike"
        );
        assert_eq!(run_all(&all, true), run_all(&all, false), "{name}");
    }
}

const MOVE: &str = r#"
end = "12 s"
runs = 2

[links.old]
rate = "4 Mbit/s"
delay = "20 ms"
loss = "uniform 0.2%"

[links.new]
rate = "1 Mbit/s"
delay = "60 ms"
loss = "uniform 0.5%"

[flows.download]

[[handoffs]]
at = "4 s"
to = "new"
"#;

fn moves(sets: &[&[(&str, &str)]]) -> Vec<Plan> {
    let of = |sets: &&[(&str, &str)]| {
        let sets = sets.iter().map(|&(key, value)| (key.into(), value.into()));
        plan("move", MOVE, &sets.collect::<Vec<_>>())
    };
    sets.iter().map(of).collect()
}

/// Events after the handoff, and a link that no packet uses before it, are not part of the prefix.
#[test]
fn scenarios_that_differ_later_share_a_past() {
    let alike = moves(&[
        &[],
        &[("handoffs.0.at", "5 s")],
        &[
            ("links.new.rate", "3 Mbit/s"),
            ("links.new.queue", "40 packets"),
        ],
        &[("links.new.up.delay", "90 ms")],
        &[("handoffs.0.notice.delay", "100 ms")],
        &[("flows.download.scheme", "enhanced")],
        &[
            ("flows.download.scheme", "vho+rlci"),
            ("handoffs.0.at", "5 s"),
        ],
    ]);
    assert_eq!(count_pasts(&alike), 1);
    assert_eq!(run_all(&alike, true), run_all(&alike, false));
}

#[test]
fn scenarios_have_pasts_of_their_own_that_differ_before() {
    let differ = moves(&[
        &[],
        &[("seed", "2")],
        &[("links.old.rate", "5 Mbit/s")],
        &[("links.old.loss", "uniform 0.3%")],
        &[("links.new.loss", "uniform 0.6%")],
        &[("set.min_rto", "500 ms")],
        &[("flows.download.start", "1 s")],
        &[("flows.download.size", "1 MB")],
        &[("flows.download.scheme", "freeze")],
        &[("flows.download.scheme", "ehn-restore")],
        &[
            ("flows.download.start_notice", "true"),
            ("flows.download.scheme", "iw10"),
        ],
        &[("handoffs.0.gap", "1 s")],
        &[("packets", "7")],
    ]);
    assert_eq!(count_pasts(&differ), differ.len());
    assert_eq!(run_all(&differ, true), run_all(&differ, false));
}

/// Each scheme at two times, with and without a start notice, with another link to move to.
#[test]
fn every_scheme_runs_from_a_copy_as_from_the_start() {
    let mut plans = Vec::new();
    for scheme in schemes() {
        for start_notice in ["false", "true"] {
            for (at, rate) in [("3 s", "1 Mbit/s"), ("4 s", "2 Mbit/s")] {
                let sets = [
                    ("flows.download.scheme", &*scheme.name),
                    ("flows.download.start_notice", start_notice),
                    ("handoffs.0.at", at),
                    ("handoffs.0.notice.delay", "200 ms"),
                    ("links.new.rate", rate),
                    ("end", "8 s"),
                    ("runs", "1"),
                ];
                let sets = sets.map(|(key, value)| (key.to_string(), value.to_string()));
                // Some schemes require other parts.
                plans.extend(read_scenario(MOVE, Origin::Toml("move"), &sets, &[]));
            }
        }
    }
    assert!(plans.len() > 4 * 30, "{}", plans.len());
    assert!(
        count_pasts(&plans) <= plans.len() / 2,
        "every two times share a past"
    );
    assert_eq!(run_all(&plans, true), run_all(&plans, false));
}

/// Runs requested in parts equal runs requested all at once.
#[test]
fn runs_are_the_same_some_at_a_time() {
    let (name, text) = starters().remove(0);
    let first = plan(&name, &text, &[("runs".into(), "7".into())]);
    let mut later = earlier(&first, 1);
    later.push(("runs".into(), "7".into()));
    let plans = [first, plan(&name, &text, &later)];
    let how = Execution::default();
    let all = run_all(&plans, true);
    let mut again = vec![Vec::new(); plans.len()];
    for numbers in [0..3, 3..4, 4..100, 100..200] {
        let some = run_some(&plans, numbers, how, |_, _| true).unwrap_or_else(|e| panic!("{e}"));
        for (runs, more) in again.iter_mut().zip(some) {
            runs.extend(more);
        }
    }
    assert_eq!(again, all);
    assert_eq!(
        all[0].iter().map(|run| run.run).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4, 5, 6]
    );
}
