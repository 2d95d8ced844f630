//! The `ns2` profile against ns-2's own output: the four complete traces, and
//! every tenth handoff instant of the grid. `make verify` checks all of it.
#![allow(clippy::panic, reason = "a failed test panics")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use midflight_control::LinkInfo;
use midflight_study::{Execution, Flows, Handoff, HandoffKind, HandoffRow, Sweep, REFERENCE_FIXED};
use midflight_units::{Duration, Instant, Rate};

use crate::one_run::{trace, TraceRun};

const END: Instant = Instant::from_nanos(3_600_000_000_000);
/// The reference prints times with five decimals.
const PRINTED: f64 = 1.1e-5;
/// Runs up to this segment are below the number from which the reference keeps data from before the
/// handoff (tests/data/ns2/README.md).
const FORGETFUL_BELOW: i64 = 3_200;

type Row = BTreeMap<String, String>;

fn reference(name: &str) -> Vec<Row> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/ns2")
        .join(name);
    let file = std::fs::File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut reader = csv::Reader::from_reader(GzDecoder::new(file));
    reader
        .deserialize()
        .collect::<Result<_, _>>()
        .unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn number(row: &Row, column: &str) -> Option<f64> {
    row.get(column).and_then(|text| text.parse().ok())
}

fn link(kbps: f64, ms: f64) -> LinkInfo {
    LinkInfo {
        rate: Rate::from_bps((kbps * 1e3).round() as u64).unwrap_or(Rate::from_mbps(1)),
        delay: Duration::from_nanos((ms * 1e6).round() as u64),
    }
}

fn handoff(kind: &str, old: (f64, f64), new: (f64, f64)) -> Handoff {
    let kind = match kind {
        "mbb" => HandoffKind::MakeBeforeBreak,
        _ => HandoffKind::BreakBeforeMake {
            gap: Duration::from_millis(500),
        },
    };
    Handoff {
        old: link(old.0, old.1),
        new: link(new.0, new.1),
        kind,
        spares_uplink: true,
        notice_delay: None,
        fixed: REFERENCE_FIXED,
        flows: Flows::ONE,
    }
}

fn seconds(text: f64) -> Instant {
    Instant::from_nanos((text * 1e9).round() as u64)
}

/// Events in the reference's order: within one printed instant, ACKs before changes of variables
/// before sent segments.
fn events(
    kinds: &[&str],
    rows: impl Iterator<Item = (f64, String, f64)>,
) -> Vec<(f64, String, f64)> {
    let mut kept: Vec<_> = rows
        .filter(|(_, event, value)| {
            kinds.contains(&event.as_str()) && !(event == "send" && *value == 0.0)
        })
        .collect();
    kept.sort_by_key(|(t, event, _)| {
        (
            (t * 1e6).round() as i64,
            kinds.iter().position(|k| k == event),
        )
    });
    kept
}

fn compare_trace(name: &str, handoff: Handoff, at: f64) {
    let run = TraceRun {
        handoff,
        at: Some(seconds(at)),
        scheme: "sack".into(),
        resident_scheme: "sack".into(),
        flow: 0,
        profile: "ns2".into(),
        knobs: Vec::new(),
        packets: 100,
        end: END,
    };
    let (ours, _) = trace(&run, &mut || true).unwrap_or_else(|e| panic!("{e}"));
    let theirs = reference(name);
    for (kinds, tolerance) in [
        (&["ack", "drop", "rexmit", "send", "rcv"][..], 1.0e-6),
        (&["cwnd"][..], PRINTED),
        (&["ssthresh"][..], PRINTED),
        (&["backoff"][..], PRINTED),
    ] {
        let mine = events(
            kinds,
            ours.iter()
                .map(|r| (r.at.as_nanos() as f64 / 1e9, r.event.to_string(), r.value)),
        );
        let reference = events(
            kinds,
            theirs.iter().filter_map(|r| {
                let event = match r["event"].as_str() {
                    "rcvMN" => "rcv",
                    drop if drop.starts_with("drop_") => "drop",
                    other => other,
                };
                let value = number(r, "value")?;
                // ns-2 stores the halved window before it applies the floor of two segments.
                let transient = event == "ssthresh" && value < 2.0;
                (!transient).then_some((number(r, "t")?, event.to_string(), value))
            }),
        );
        assert_eq!(mine.len(), reference.len(), "{name}: number of {kinds:?}");
        for (i, (a, b)) in mine.iter().zip(&reference).enumerate() {
            let same = (a.0 - b.0).abs() <= tolerance + 1e-9
                && a.1 == b.1
                && (a.2 - b.2).abs() <= 0.000_51;
            assert!(
                same,
                "{name}: {kinds:?} number {i}: {a:?} here, {b:?} in ns-2"
            );
        }
    }
}

#[test]
fn trace_a_make_before_break_from_a_fast_to_a_slow_link() {
    compare_trace(
        "trace_a.csv.gz",
        handoff("mbb", (6400.0, 9.0), (200.0, 300.0)),
        8.2,
    );
}

#[test]
fn trace_c_make_before_break_with_a_fast_retransmit_after_it() {
    compare_trace(
        "trace_c.csv.gz",
        handoff("mbb", (400.0, 150.0), (200.0, 300.0)),
        10.9,
    );
}

#[test]
fn trace_e_break_before_make() {
    compare_trace(
        "trace_e.csv.gz",
        handoff("bbm", (6400.0, 9.0), (6400.0, 300.0)),
        7.0,
    );
}

#[test]
fn trace_g_make_before_break_with_a_burst_into_the_new_queue() {
    compare_trace(
        "trace_g.csv.gz",
        handoff("mbb", (1600.0, 37.0), (200.0, 300.0)),
        8.9,
    );
}

/// Columns of a row that differ from the reference.
fn differences(ours: &HandoffRow, theirs: &Row) -> Vec<String> {
    let time = |d: Option<Duration>| d.map(|d| d.as_nanos() as f64 / 1e9);
    let mut wrong = Vec::new();
    let mut check = |column: &str, mine: Option<f64>, tolerance: f64| {
        let reference = number(theirs, column);
        let same = match (mine, reference) {
            (Some(a), Some(b)) => (a - b).abs() <= tolerance,
            (a, b) => a.is_none() == b.is_none(),
        };
        if !same {
            wrong.push(format!("{column} {mine:?} here, {reference:?} in ns-2"));
        }
    };
    check("t_new100", time(ours.t_new), PRINTED);
    check("t_new100_make", time(ours.t_new_make), PRINTED);
    check("t_ack100", time(ours.t_ack), PRINTED);
    if ours.maxseq < FORGETFUL_BELOW {
        check("t_newpath100", time(ours.t_newpath), PRINTED);
    }
    check("first_rto", time(ours.first_rto), PRINTED);
    // Read from a text with six significant digits.
    check("cwnd", Some(ours.cwnd), 0.000_56);
    check("rto", Some(ours.rto.as_nanos() as f64 / 1e9), 1e-9);
    for (column, mine) in [
        ("nrto", i64::from(ours.nrto)),
        ("drops_data", i64::from(ours.drops_data)),
        ("drops_all", i64::from(ours.drops_all)),
        ("rexmits", i64::from(ours.rexmits)),
        ("ssthresh", ours.ssthresh as i64),
        ("flight", ours.flight as i64),
        ("hiack", ours.hiack),
        ("maxseq", ours.maxseq),
        ("sent_in_outage", i64::from(ours.sent_in_outage)),
        ("dupacks", i64::from(ours.dupacks)),
        ("backoff", i64::from(ours.backoff)),
    ] {
        check(column, Some(mine as f64), 1e-9);
    }
    // The reference compares with a timeout rounded to 10 us; at an exact half it can err.
    let at_half = ours
        .rto_times
        .iter()
        .any(|(at, _)| (at.as_nanos() % 10_000).abs_diff(5_000) < 500);
    if !at_half {
        check("nspur", Some(f64::from(ours.nspur)), 1e-9);
    }
    wrong
}

#[test]
fn the_same_bandwidth_grid_at_every_tenth_instant() {
    let mut cells: BTreeMap<Vec<String>, Vec<Row>> = BTreeMap::new();
    for row in reference("grid_same_bandwidth.csv.gz") {
        let key = ["ho", "bw1", "d1", "bw2", "d2"]
            .map(|c| row[c].clone())
            .to_vec();
        cells.entry(key).or_default().push(row);
    }
    assert_eq!(cells.len(), 72);
    let (mut rows, mut wrong) = (0, Vec::new());
    for (key, all) in &cells {
        let sample: Vec<&Row> = all.iter().skip(rows % 7).step_by(10).collect();
        let value = |i: usize| key[i].parse::<f64>().unwrap_or_default();
        let sweep = Sweep {
            handoff: handoff(&key[0], (value(1), value(2)), (value(3), value(4))),
            at: sample
                .iter()
                .filter_map(|r| number(r, "th"))
                .map(seconds)
                .collect(),
            schemes: vec!["sack".into()],
            resident_scheme: "sack".into(),
            profile: "ns2".into(),
            knobs: Vec::new(),
            policies: Vec::new(),
            packets: 100,
            extra: Vec::new(),
            window: None,
            end: END,
        };
        for (ours, theirs) in sweep
            .run(Execution::default())
            .unwrap_or_else(|e| panic!("{e}"))
            .iter()
            .zip(sample)
        {
            // The reference gave up some runs.
            if theirs["t_new100_make"].is_empty() {
                continue;
            }
            rows += 1;
            for difference in differences(ours, theirs) {
                wrong.push(format!("{key:?} at {}: {difference}", theirs["th"]));
            }
        }
    }
    assert!(rows > 1_400, "{rows} rows");
    assert!(
        wrong.is_empty(),
        "{} of {rows} rows:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
