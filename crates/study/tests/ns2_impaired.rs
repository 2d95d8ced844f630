//! The `ns2` profile against ns-2 on a link that loses and delays scripted packets: every event of
//! every case. Sack1 without F-RTO and with ns-2's; Tahoe, Reno and NewReno with and without
//! delayed ACKs and limited transmit.
#![allow(clippy::panic, reason = "a failed test panics")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use midflight_control::LinkInfo;
use midflight_sim::Scripted;
use midflight_study::{CrossTraffic, LongFlow, Radio, TraceRow};
use midflight_units::{Duration, Instant, Rate};

use crate::one_run::trace_long_flow;

type Row = BTreeMap<String, String>;

fn data(name: &str) -> std::fs::File {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/ns2")
        .join(name);
    std::fs::File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The name of an event, its time in nanoseconds, and its value.
#[derive(Clone, Debug, PartialEq)]
struct Happening {
    at: u64,
    event: String,
    value: f64,
}

/// A decimal number of seconds in nanoseconds.
fn nanoseconds(seconds: &str) -> u64 {
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let digits = format!("{whole}{fraction:0<9}");
    digits.parse().unwrap_or_else(|e| panic!("{seconds}: {e}"))
}

/// The events of ns-2 in each case. A trace here does not list delayed packets.
fn reference(name: &str) -> BTreeMap<u32, Vec<Happening>> {
    let mut cases: BTreeMap<u32, Vec<Happening>> = BTreeMap::new();
    let mut reader = csv::Reader::from_reader(GzDecoder::new(data(&format!("{name}.csv.gz"))));
    for row in reader.deserialize() {
        let (case, time, event, value): (u32, String, String, Option<f64>) =
            row.unwrap_or_else(|e| panic!("{e}"));
        if event == "late" {
            continue;
        }
        cases.entry(case).or_default().push(Happening {
            at: nanoseconds(&time),
            event,
            value: value.unwrap_or_default(),
        });
    }
    cases
}

fn number<T: std::str::FromStr>(row: &Row, column: &str) -> T {
    let parsed = row.get(column).and_then(|text| text.parse().ok());
    parsed.unwrap_or_else(|| panic!("{column} of {row:?}"))
}

fn script(text: &str) -> Vec<(u64, Scripted)> {
    let entry = |word: &str| {
        let (ordinal, what) = word.split_once(':')?;
        let fate = match what {
            "lose" => Scripted::Lose,
            delay => Scripted::Delay(Duration::from_nanos(nanoseconds(delay))),
        };
        Some((ordinal.parse().ok()?, fate))
    };
    let entries = text.split_whitespace().map(entry);
    entries
        .collect::<Option<_>>()
        .unwrap_or_else(|| panic!("script {text}"))
}

/// A scheme and its knobs.
type Settings = (&'static str, Vec<(&'static str, &'static str)>);

/// The settings of a case of `impaired_cases.csv`.
fn impaired(case: &Row) -> Settings {
    let mut knobs = vec![("delayed_ack", "off")];
    let frto: usize = number(case, "frto");
    if frto == 0 {
        return ("sack", knobs);
    }
    let response = ["outstanding", "reduced", "one"][number::<usize>(case, "response") - 1];
    knobs.push(("frto_ns2_version", ["basic", "sack"][frto - 1]));
    knobs.push(("frto_ns2_response", response));
    ("frto-ns2", knobs)
}

/// The settings of a case of `reno_cases.csv`.
fn reno(case: &Row) -> Settings {
    let choose = |column, of: [&'static str; 2]| of[number::<usize>(case, column)];
    let recovery = match case["agent"].as_str() {
        "Tahoe" => "tahoe",
        "Reno" => "reno",
        "Newreno" => "newreno",
        other => panic!("agent {other}"),
    };
    let timer = ["every-partial-ack", "first-partial-ack"];
    let knobs = vec![
        ("recovery", recovery),
        ("delayed_ack", choose("delack", ["off", "100ms"])),
        ("limited_transmit", choose("limited", ["off", "on"])),
        ("newreno_timer", choose("changes1", timer)),
        ("newreno_deflation", choose("deflation", ["off", "on"])),
    ];
    ("sack", knobs)
}

fn run(case: &Row, (scheme, knobs): &Settings) -> Vec<Happening> {
    let window = case["window"].as_str();
    // ns-2 starts with the threshold at `window_`.
    let windows = [("receiver_window", window), ("initial_ssthresh", window)];
    let knobs = windows.iter().chain(knobs);
    let knobs = knobs.map(|&(name, value)| (name.to_string(), value.to_string()));
    let end = Instant::from_nanos(nanoseconds(&case["end"]));
    let flow = LongFlow {
        wired: LinkInfo {
            rate: Rate::from_mbps(20),
            delay: Duration::from_millis(1),
        },
        wired_limit: 10_000,
        radio: Radio {
            link: LinkInfo {
                rate: Rate::from_bps(1_000 * number::<u64>(case, "rate_kbps"))
                    .unwrap_or_else(|| panic!("{case:?}")),
                delay: Duration::from_millis(number(case, "delay_ms")),
            },
            limit: 50,
            loss: None,
            reordering: None,
            script: script(&case["script"]),
        },
        handoff: None,
        cross: CrossTraffic {
            flows: 0,
            delay: Duration::ZERO,
            spread: Duration::ZERO,
        },
        overhead: Duration::ZERO,
        scheme: (*scheme).into(),
        profile: "ns2".into(),
        knobs: knobs.collect(),
        policies: Vec::new(),
        seed: 1,
        runs: vec![0],
        marks: vec![end],
    };
    let traced = trace_long_flow(&flow, 0, Instant::ZERO, end, &[], &mut || true);
    let (rows, _) = traced.unwrap_or_else(|e| panic!("{case:?}: {e}"));
    rows.iter().filter_map(named).collect()
}

/// The event under the name that the reference has for it.
fn named(row: &TraceRow) -> Option<Happening> {
    let (event, value) = match row.event {
        "rto" => ("rto", 0.0),
        "fast_retransmit" => ("recovery", 0.0),
        "drop" if row.detail.ends_with("radio") => ("lose", row.value),
        "send" | "rexmit" | "ack" | "cwnd" | "ssthresh" | "backoff" | "drop" => {
            (row.event, row.value)
        }
        _ => return None,
    };
    Some(Happening {
        at: row.at.as_nanos(),
        event: event.into(),
        value,
    })
}

const VARIABLES: [&str; 3] = ["cwnd", "ssthresh", "backoff"];

/// Between two packets or timeouts variables change in no defined order, and some in several steps:
/// only the final value counts, once each, if it is a change.
fn settled(happenings: &[Happening]) -> Vec<Happening> {
    let is_variable = |h: &Happening| VARIABLES.contains(&h.event.as_str());
    let mut settled = Vec::new();
    let mut last: BTreeMap<&str, f64> = BTreeMap::new();
    for run in happenings.chunk_by(|a, b| is_variable(a) && is_variable(b) && a.at == b.at) {
        if !is_variable(&run[0]) {
            settled.push(run[0].clone());
            continue;
        }
        for name in VARIABLES {
            if let Some(h) = run.iter().rfind(|h| h.event == name) {
                if last.insert(name, h.value) != Some(h.value) {
                    settled.push(h.clone());
                }
            }
        }
    }
    settled
}

/// The first difference between two runs, if there is one. Times are accurate to a nanosecond, and
/// `cwnd` has three decimals.
fn difference(ours: &[Happening], theirs: &[Happening]) -> Option<String> {
    let alike = |a: &Happening, b: &Happening| {
        a.at.abs_diff(b.at) <= 1 && a.event == b.event && (a.value - b.value).abs() < 0.000_51
    };
    let mut places = 0..ours.len().max(theirs.len());
    let first = places.find(|&i| match (ours.get(i), theirs.get(i)) {
        (Some(a), Some(b)) => !alike(a, b),
        _ => true,
    })?;
    let (a, b) = (ours.get(first), theirs.get(first));
    Some(format!("number {first}: {a:?} here, {b:?} in ns-2"))
}

/// Compares all cases of a set; returns the number of cases of each kind.
fn compare(
    name: &str,
    settings: fn(&Row) -> Settings,
    kind: fn(&Row) -> String,
) -> BTreeMap<String, u32> {
    let reference = reference(name);
    let (mut compared, mut wrong) = (BTreeMap::new(), Vec::new());
    let mut reader = csv::Reader::from_reader(data(&format!("{name}_cases.csv")));
    for case in reader.deserialize() {
        let case: Row = case.unwrap_or_else(|e| panic!("{e}"));
        *compared.entry(kind(&case)).or_default() += 1;
        let ours = run(&case, &settings(&case));
        let theirs = settled(&reference[&number(&case, "case")]);
        if let Some(difference) = difference(&settled(&ours), &theirs) {
            let (number, what) = (&case["case"], &case["kind"]);
            wrong.push(format!(
                "case {number}, {what}, {}: {difference}",
                kind(&case)
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} cases differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    compared
}

fn counts<const N: usize>(of: [(&str, u32); N]) -> BTreeMap<String, u32> {
    of.map(|(kind, count)| (kind.to_string(), count)).into()
}

#[test]
fn every_event_of_every_case_of_sack1() {
    let compared = compare("impaired", impaired, |case| {
        format!("frto {}", case["frto"])
    });
    let all = counts([("frto 0", 213), ("frto 1", 115), ("frto 2", 115)]);
    assert_eq!(compared, all);
}

#[test]
fn every_event_of_every_case_of_tahoe_reno_and_newreno() {
    let compared = compare("reno", reno, |case| case["agent"].clone());
    assert_eq!(
        compared,
        counts([("Newreno", 61), ("Reno", 61), ("Tahoe", 61)])
    );
}
