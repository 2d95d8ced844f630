//! Scenarios of tests, how they are read and how they are run.
#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_study::scenario::{read_scenario, run_scenarios, Origin, Plan, ScenarioRun};
use midflight_study::Execution;

pub(crate) fn read(text: &str, sets: &[(&str, &str)]) -> Result<Plan, String> {
    let sets: Vec<_> = sets.iter().map(|&(k, v)| (k.into(), v.into())).collect();
    read_scenario(text, Origin::Toml("mine.toml"), &sets, &[]).map_err(|e| e.to_string())
}

pub(crate) fn plan(text: &str, sets: &[(&str, &str)]) -> Plan {
    read(text, sets).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

pub(crate) fn run_all(plans: &[Plan], fork: bool) -> Vec<Vec<ScenarioRun>> {
    let how = Execution { fork, threads: 2 };
    run_scenarios(plans, how, |_, _| true).unwrap_or_else(|e| panic!("{e}"))
}

pub(crate) fn run(text: &str, sets: &[(&str, &str)]) -> ScenarioRun {
    run_all(&[plan(text, sets)], true).remove(0).remove(0)
}

/// The network of the papers.
pub(crate) const PAPER: &str = r#"
profile = "ns2"
end = "40 s"
wired = { rate = "100 Mbit/s", delay = "2 ms" }

[links.old]
rate = "6400 kbit/s"
delay = "9 ms"

[links.new]
rate = "200 kbit/s"
delay = "300 ms"

[flows.bulk]
scheme = "sack"

[[handoffs]]
at = "8.2 s"
to = "new"
"#;

/// Links that differ, flows both ways, several handoffs and changes.
pub(crate) const TOUR: &str = r#"
end = "60 s"
seed = 7
runs = 3

[links.wifi]
preset = "wifi"
loss = "uniform 0.2%"

[links.lte]
preset = "lte"
queue = "100 ms"
up = { rate = "10 Mbit/s", loss = "uniform 0.1%" }

[links.old]
preset = "egprs"

[flows.download]
size = "5 MB"
scheme = "enhanced"

[flows.upload]
direction = "up"
size = "2 MB"
start = "1 s"

[flows.neighbour]
on = "lte"
scheme = "sack"
start = "0.5 s"

[[handoffs]]
at = "3 s : 40 s : 4 s"
to = ["lte", "old", "wifi"]
gap = "200 ms"
notice = { delay = "20 ms", lost = "30%" }

[[changes]]
at = "4 s, 9.5 s"
link = "lte"
pause = "100 ms"
rate = "5 Mbit/s"
notice = {}
"#;

/// Two changes of an asymmetric link, the first of the downlink alone.
pub(crate) const CHANGES: &str = r#"
end = "6 s"
[links.cell]
preset = "hsdpa"
up = { rate = "1500 kbit/s" }
[flows.down]
[[changes]]
at = "2 s"
link = "cell"
rate = "3 Mbit/s"
pause = "100 ms"
[[changes]]
at = "4 s"
link = "cell"
delay = "20 ms"
up = { rate = "1 Mbit/s" }
"#;
