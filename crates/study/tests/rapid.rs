//! RAPID over a network: the rate at which it settles on an idle path, with a second flow, compared with the
//! truth, and after an outage.
#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_control::LinkInfo;
use midflight_study::{
    run_probes, run_startups, Execution, Flows, Handoff, HandoffKind, Knobs, Probe, Startup,
    TraceRow,
};
use midflight_units::{Duration, Instant, Rate};

use crate::one_run::{trace, TraceRun};

fn link(kbps: u64, ms: u64) -> LinkInfo {
    LinkInfo {
        rate: Rate::from_bps(kbps * 1000).unwrap_or(Rate::from_mbps(1)),
        delay: Duration::from_millis(ms),
    }
}

const FIXED: LinkInfo = LinkInfo {
    rate: Rate::from_mbps(100),
    delay: Duration::from_micros(2750),
};

const REPORTED: &[(&str, &str)] = &[];
const BELOW: &[(&str, &str)] = &[("rapid_estimate", "below")];

fn knobs(of: &[(&str, &str)]) -> Knobs {
    let owned = |&(name, value): &(&str, &str)| (name.into(), value.into());
    of.iter().map(owned).collect()
}

/// A flow over one link, optionally with an outage of half a second.
fn rows(
    link: LinkInfo,
    of: &[(&str, &str)],
    outage: Option<Instant>,
    seconds: u64,
) -> Vec<TraceRow> {
    let run = TraceRun {
        handoff: Handoff {
            old: link,
            new: link,
            kind: HandoffKind::BreakBeforeMake {
                gap: Duration::from_millis(500),
            },
            spares_uplink: true,
            notice_delay: Some(Duration::ZERO),
            fixed: FIXED,
            flows: Flows {
                start_notice: true,
                ..Flows::ONE
            },
        },
        at: outage,
        scheme: "rapid".into(),
        resident_scheme: "sack".into(),
        flow: 0,
        profile: "ns2".into(),
        knobs: knobs(of),
        packets: 1,
        end: Instant::from_nanos(seconds * 1_000_000_000),
    };
    trace(&run, &mut || true).map_or_else(|e| panic!("{e}"), |(rows, _)| rows)
}

/// The average rate of each chirp, in bit/s, and when it was ordered.
fn rates(rows: &[TraceRow]) -> Vec<(Instant, f64)> {
    let rate = |row: &TraceRow| -> Option<(Instant, f64)> {
        let words = row.detail.strip_suffix(" on average")?;
        let (_, rate) = words.rsplit_once("because ")?;
        let rate: Rate = rate.parse().ok()?;
        Some((row.at, rate.as_bps() as f64))
    };
    rows.iter().filter_map(rate).collect()
}

/// Rates of a chirp are in steps of 1.2 from 0.2059 R on: the ones about R are 0.885 R and 1.062 R. On a
/// link of rate C the first rate at which the delay rises is the first above C. It is 0.885 R, and R
/// falls, if C is below that: R settles at C / 0.885 = 1.13 C at most, except for what the last reports
/// before add, overloads the link and loses segments now and then; with a short queue, before it is
/// there. Taken a step lower it is 0.885 R as long as C is below 1.062 R: R settles about 0.942 C or
/// below, down to which a part of the difference takes it, and nothing is lost.
#[test]
fn the_rate_settles_a_little_above_the_available_rate_or_below() {
    for link in [link(50_000, 15), link(54_000, 2), link(6_000, 50)] {
        let capacity = link.rate.as_bps() as f64;
        let after = |row: &&TraceRow| row.at >= Instant::from_nanos(3_000_000_000);
        for (knobs, settles, loses) in [(REPORTED, 1.0..1.2, true), (BELOW, 0.92..1.0, false)] {
            let rows = rows(link, knobs, None, 13);
            let late: Vec<TraceRow> = rows.iter().filter(after).cloned().collect();
            let shares: Vec<f64> = rates(&late).iter().map(|(_, r)| r / capacity).collect();
            let most = shares.iter().copied().fold(0.0, f64::max);
            assert!(settles.contains(&most), "{most} {link:?}");
            let lowest = shares.iter().copied().fold(most, f64::min);
            let half = if loses { 0.5 } else { 0.83 };
            assert!(lowest > half, "{lowest} {link:?}");
            let count = |event: &str| late.iter().filter(|row| row.event == event).count();
            assert_eq!(count("drop") > 0, loses, "{link:?}");
            assert_eq!(count("rto"), 0, "{link:?}");
            let acks = late.iter().filter(|row| row.event == "ack");
            let acked: Vec<f64> = acks.map(|row| row.value).collect();
            let (first, last) = (acked.first(), acked.last());
            let segments = last.copied().unwrap_or(0.0) - first.copied().unwrap_or(0.0);
            let used = segments * 12_000.0 / 10.0 / capacity;
            assert!(used > 0.84 && used < 1.0, "{used} {link:?}");
        }
    }
}

/// The second comes two seconds after the first. Neither takes more than two thirds.
#[test]
fn two_share_a_link() {
    for of in [REPORTED, BELOW] {
        let startup = Startup {
            link: link(50_000, 15),
            fixed: FIXED,
            schemes: vec!["rapid".into()],
            flows: 2,
            stagger: Duration::from_secs(2),
            residents: 0,
            resident_scheme: "sack".into(),
            lead: Duration::ZERO,
            profile: "ns2".into(),
            knobs: knobs(of),
            policies: Vec::new(),
            counts: vec![400],
            window: Some(Duration::from_secs(40)),
            end: Instant::from_nanos(600_000_000_000),
        };
        let run = |threads| {
            let how = Execution {
                threads,
                ..Execution::default()
            };
            let rows = run_startups(std::slice::from_ref(&startup), how, |_, _| true);
            rows.map_or_else(
                |e| panic!("{e}"),
                |rows| rows.into_iter().flatten().collect(),
            )
        };
        let rows: Vec<_> = run(1);
        let acked: Vec<u64> = rows.iter().filter_map(|row| row.acked_window).collect();
        let sum: u64 = acked.iter().sum();
        // 50 Mbit/s are 4167 segments a second.
        assert!((100_000..166_700).contains(&sum), "{acked:?}");
        assert!(acked.iter().all(|a| a * 3 > sum), "{acked:?}");
        let again: Vec<_> = run(2);
        assert_eq!(format!("{rows:?}"), format!("{again:?}"));
    }
}

/// Whole chirps over 20 Mbit/s, a fraction of which other traffic takes. On the idle link the reported rate is
/// the first step above the available rate; with cross traffic single reports have large errors, but their
/// median is within a half of the truth, and always above it.
#[test]
fn estimates_of_chirps_and_the_truth() {
    for (share, most) in [(0.0, 1.2), (0.3, 1.5), (0.6, 1.5)] {
        let probe = Probe {
            bottleneck: link(20_000, 20),
            limit: 100,
            mark_after: None,
            access: Rate::from_mbps(1000),
            share,
            irregular: true,
            notice_flows: 1,
            segments: 8000,
            scheme: "rapid".into(),
            profile: "rfc".into(),
            knobs: Knobs::new(),
            seed: 1,
            runs: vec![0, 1, 2],
        };
        let runs = run_probes(&[probe], Execution::default(), |_, _| true);
        for run in runs.unwrap_or_else(|e| panic!("{e}")).concat() {
            assert!(run.duration.is_some());
            let whole = run.trains.iter().filter(|train| train.segments == 30);
            let estimates = whole.filter_map(|train| train.estimate);
            let mut found: Vec<u64> = estimates.map(Rate::as_bps).collect();
            found.sort_unstable();
            assert!(found.len() > 150, "{}", found.len());
            let median = found[found.len() / 2] as f64 / (20e6 * (1.0 - share));
            assert!((1.0..most).contains(&median), "{median} beside {share}");
        }
    }
}

/// At 5 s the link is down for half a second. There is one loss, independent of the timeouts.
#[test]
fn after_an_outage_it_continues_with_half_its_rate() {
    let outage = Instant::from_nanos(5_000_000_000);
    let rows = rows(link(50_000, 15), BELOW, Some(outage), 7);
    let timeouts = rows.iter().filter(|row| row.event == "rto").count();
    assert!(timeouts > 0);
    let rates = rates(&rows);
    let rto = rows.iter().find(|row| row.event == "rto");
    let at = rto.map_or(Instant::ZERO, |row| row.at);
    let before = rates.iter().rfind(|(ordered, _)| *ordered < at);
    let after = rates.iter().find(|(ordered, _)| *ordered > at);
    let (Some((_, before)), Some((_, after))) = (before, after) else {
        panic!("no chirps");
    };
    assert!((after / before - 0.5).abs() < 1e-6, "{before} {after}");
}
