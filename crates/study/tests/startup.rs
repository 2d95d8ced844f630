//! How connections start: the measures equal those in a trace of the same network, for any number
//! of threads and order of schemes.
#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_control::LinkInfo;
use midflight_study::{
    run_startups, Execution, Flows, Handoff, HandoffKind, Startup, StartupRow, TraceRow,
    REFERENCE_FIXED,
};
use midflight_units::{Duration, Instant, Rate};

use crate::one_run::{trace, TraceRun};

const LINK: LinkInfo = LinkInfo {
    rate: Rate::from_mbps(20),
    delay: Duration::from_millis(15),
};
const WINDOW: Duration = Duration::from_secs(3);

fn startup() -> Startup {
    Startup {
        link: LINK,
        fixed: REFERENCE_FIXED,
        schemes: vec!["sack".into(), "westwood".into(), "dcr-frto".into()],
        flows: 4,
        stagger: Duration::from_millis(20),
        residents: 0,
        resident_scheme: "sack".into(),
        lead: Duration::ZERO,
        profile: "ns2".into(),
        knobs: Vec::new(),
        policies: Vec::new(),
        counts: vec![1, 10, 100, 400],
        window: Some(WINDOW),
        end: Instant::from_nanos(600_000_000_000),
    }
}

fn run_on(startups: &[Startup], threads: usize) -> Vec<Vec<StartupRow>> {
    let how = Execution {
        threads,
        ..Execution::default()
    };
    run_startups(startups, how, |_, _| true).unwrap_or_else(|e| panic!("{e}"))
}

fn run(startup: &Startup) -> Vec<StartupRow> {
    run_on(std::slice::from_ref(startup), 2)
        .into_iter()
        .flatten()
        .collect()
}

fn all_of(rows: &[StartupRow]) -> Vec<String> {
    rows.iter().map(|row| format!("{row:?}")).collect()
}

/// The same flows in a handoff that does not happen.
fn trace_of(startup: &Startup, scheme: &str, flow: u32) -> (Vec<TraceRow>, String) {
    let traced = trace(
        &TraceRun {
            handoff: Handoff {
                old: LINK,
                new: LINK,
                kind: HandoffKind::MakeBeforeBreak,
                spares_uplink: true,
                notice_delay: None,
                fixed: startup.fixed,
                flows: Flows {
                    moving: startup.flows,
                    stagger: startup.stagger,
                    ..Flows::ONE
                },
            },
            at: None,
            scheme: scheme.into(),
            resident_scheme: "sack".into(),
            flow,
            profile: startup.profile.clone(),
            knobs: Vec::new(),
            packets: 1,
            end: Instant::ZERO + WINDOW,
        },
        &mut || true,
    );
    traced.unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn measures_equal_those_of_a_trace() {
    for profile in ["ns2", "rfc"] {
        let startup = Startup {
            profile: profile.into(),
            ..startup()
        };
        let mut lost = 0;
        for (row, i) in run(&startup).iter().zip(0..) {
            let scheme = &startup.schemes[i / 4];
            let (events, digest) = trace_of(&startup, scheme, row.flow);
            assert_eq!(row.digest.to_string(), digest, "{scheme}");
            assert_eq!((row.flow as usize, row.resident), (i % 4, false));
            let sent = events.iter().find(|e| e.event == "send");
            assert_eq!(Some(row.opened), sent.map(|e| e.at));
            for (time, &count) in row.times.iter().zip(&startup.counts) {
                // Segment 0 is the SYN.
                let acked = |e: &&TraceRow| e.event == "ack" && e.value >= count as f64;
                let reached = events.iter().find(acked);
                assert_eq!(*time, reached.map(|e| e.at.since(row.opened)));
            }
            let count = |event: &str, detail: &str| {
                let of = |e: &&TraceRow| e.event == event && e.detail.starts_with(detail);
                events.iter().filter(of).count()
            };
            // Everything ends before the window does, so counts last until its end.
            assert_eq!(row.drops_data as usize, count("drop", "data"));
            assert_eq!(row.rexmits as usize, count("rexmit", ""));
            assert_eq!(row.timeouts as usize, count("rto", ""));
            let acks = events.iter().filter(|e| e.event == "ack");
            let highest = acks.map(|e| e.value as u64).max();
            assert_eq!(row.acked_window, highest);
            lost += row.drops_data;
        }
        assert!(lost > 0, "nothing lost, nothing tested");
    }
}

#[test]
fn without_a_window_counting_ends_with_the_last_count() {
    let long = Startup {
        schemes: vec!["sack".into()],
        ..startup()
    };
    let short = Startup {
        window: None,
        ..long.clone()
    };
    for (row, flow) in run(&short).iter().zip(0..) {
        let (events, _) = trace_of(&long, "sack", flow);
        let until = row.opened + row.times[3].unwrap_or_default();
        let lost =
            |e: &&TraceRow| e.event == "drop" && e.at < until && e.detail.starts_with("data");
        assert_eq!(row.drops_data as usize, events.iter().filter(lost).count());
        assert_eq!(row.acked_window, None);
    }
}

#[test]
fn threads_and_the_order_of_schemes_change_nothing() {
    let forward = Startup {
        residents: 2,
        resident_scheme: "westwood".into(),
        lead: Duration::from_secs(2),
        ..startup()
    };
    let mut backward = forward.clone();
    backward.schemes.reverse();
    let startups = [forward, backward, startup()];
    let tables = run_on(&startups, 1);
    assert_eq!(
        tables.iter().map(Vec::len).collect::<Vec<_>>(),
        [18, 18, 12]
    );
    for (one, two) in tables.iter().zip(run_on(&startups, 2)) {
        assert_eq!(all_of(one), all_of(&two));
    }
    let reversed: Vec<_> = tables[1].chunks(6).rev().flat_map(<[_]>::to_vec).collect();
    assert_eq!(all_of(&tables[0]), all_of(&reversed));
    assert_ne!(tables[0][0].digest, tables[0][6].digest);
}

#[test]
fn residents_have_the_link_before_the_newcomers() {
    let startup = Startup {
        schemes: vec!["sack".into()],
        flows: 1,
        residents: 2,
        lead: Duration::from_secs(20),
        window: Some(Duration::from_secs(60)),
        ..startup()
    };
    let rows = run(&startup);
    let opened: Vec<_> = rows
        .iter()
        .map(|r| r.opened.as_nanos() / 1_000_000)
        .collect();
    assert_eq!(opened, [20_000, 0, 20]);
    assert_eq!(
        rows.iter().map(|r| r.resident).collect::<Vec<_>>(),
        [false, true, true]
    );
    let acked: Vec<_> = rows.iter().map(|r| r.acked_window.unwrap_or(0)).collect();
    // 20 Mbit/s carry 100,000 packets in 60 s.
    let sum: u64 = acked.iter().sum();
    assert!((90_000..=100_001).contains(&sum), "{acked:?}");
    assert!(acked.iter().all(|&n| n > 15_000), "{acked:?}");
    // Alone it starts faster than among other flows.
    let alone = run(&Startup {
        residents: 0,
        ..startup
    });
    assert!(alone[0].times[3] < rows[0].times[3]);
}

#[test]
fn values_that_no_run_can_hold_are_refused() {
    let refused = |change: &dyn Fn(&mut Startup)| {
        let mut startup = startup();
        change(&mut startup);
        let refused = run_startups(&[startup], Execution::default(), |_, _| true);
        refused.map_or_else(
            |e| e.to_string(),
            |tables| panic!("{} tables", tables.len()),
        )
    };
    assert!(refused(&|s| s.schemes.clear()).contains("no scheme"));
    assert!(refused(&|s| s.flows = 0).contains("number of flows 0"));
    assert!(refused(&|s| s.residents = 65).contains("number of residents 65"));
    assert!(refused(&|s| s.counts.clear()).contains("no number of packets"));
    assert!(refused(&|s| s.counts = vec![0, 1]).contains("number of packets 0"));
    assert!(refused(&|s| s.counts = vec![10, 10]).contains("10, 10"));
    assert!(refused(&|s| s.stagger = Duration::from_secs(200)).contains("600 s"));
    assert!(refused(&|s| s.window = Some(Duration::from_secs(601))).contains("601 s"));
    assert!(refused(&|s| s.resident_scheme = "vegas".into()).contains("vegas"));
    assert!(refused(&|s| s.profile = "ns3".into()).contains("ns3"));
}
