//! The `ns2` profile against ns-2 on a link that loses and delays scripted
//! packets, without F-RTO and with ns-2's: every event of every case.
#![allow(clippy::panic, reason = "a failed test panics")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use midflight_control::LinkInfo;
use midflight_sim::Scripted;
use midflight_study::{trace_long_flow, CrossTraffic, LongFlow, Radio, TraceRow};
use midflight_units::{Duration, Instant, Rate};

type Row = BTreeMap<String, String>;

fn data(name: &str) -> std::fs::File {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/ns2")
        .join(name);
    std::fs::File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// What happened, when in nanoseconds, with which value.
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

/// What ns-2 did in each case. A trace here does not list packets that are put off.
fn reference() -> BTreeMap<u32, Vec<Happening>> {
    let mut cases: BTreeMap<u32, Vec<Happening>> = BTreeMap::new();
    let mut reader = csv::Reader::from_reader(GzDecoder::new(data("impaired.csv.gz")));
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
    let entries = text.split(' ').map(entry);
    entries
        .collect::<Option<_>>()
        .unwrap_or_else(|| panic!("script {text}"))
}

fn run(case: &Row) -> Vec<Happening> {
    let knob = |name: &str, value: &str| (name.to_string(), value.to_string());
    let mut knobs = vec![
        knob("delayed_ack", "off"),
        knob("receiver_window", &case["window"]),
        // ns-2 starts with the threshold at `window_`.
        knob("initial_ssthresh", &case["window"]),
    ];
    let frto: u32 = number(case, "frto");
    let scheme = if frto == 0 { "sack" } else { "frto-ns2" };
    if frto > 0 {
        let response = ["outstanding", "reduced", "one"][number::<usize>(case, "response") - 1];
        knobs.push(knob(
            "frto_ns2_version",
            ["basic", "sack"][frto as usize - 1],
        ));
        knobs.push(knob("frto_ns2_response", response));
    }
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
        handover: None,
        cross: CrossTraffic {
            flows: 0,
            delay: Duration::ZERO,
            spread: Duration::ZERO,
        },
        overhead: Duration::ZERO,
        scheme: scheme.into(),
        profile: "ns2".into(),
        knobs,
        seed: 1,
        runs: vec![0],
        marks: vec![end],
    };
    let traced = trace_long_flow(&flow, 0, Instant::ZERO, end, &[]);
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

/// Between two packets or timeouts variables change in no defined order, and
/// some in steps: what they come to counts, once each, if it is a change.
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

/// The first difference between two runs, if there is one. Times are good to a
/// nanosecond, and `cwnd` has three decimals.
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

#[test]
fn every_event_of_every_case() {
    let reference = reference();
    let (mut compared, mut wrong) = ([0; 3], Vec::new());
    let mut reader = csv::Reader::from_reader(data("impaired_cases.csv"));
    for case in reader.deserialize() {
        let case: Row = case.unwrap_or_else(|e| panic!("{e}"));
        compared[number::<usize>(&case, "frto")] += 1;
        let theirs = settled(&reference[&number(&case, "case")]);
        if let Some(difference) = difference(&settled(&run(&case)), &theirs) {
            let (case, kind, frto) = (&case["case"], &case["kind"], &case["frto"]);
            wrong.push(format!("case {case}, {kind}, frto {frto}: {difference}"));
        }
    }
    assert_eq!(compared, [213, 115, 115]);
    assert!(
        wrong.is_empty(),
        "{} cases differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
