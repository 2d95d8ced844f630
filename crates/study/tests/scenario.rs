//! Scenarios give the same results as the papers' network.
#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_control::LinkInfo;
use midflight_study::scenario::ScenarioRun;
use midflight_study::{
    trace_columns, Flows, Handoff, HandoffKind, TraceColumns, TraceRow, REFERENCE_FIXED,
};
use midflight_units::{Duration, Instant};

use crate::one_run::{capture_scenario, trace, trace_scenario, TraceRun};
use crate::scenarios::{plan, read, run, run_all, CHANGES, PAPER, TOUR};

/// The same run as the handoff of the papers, which is checked against ns-2.
fn reference(scheme: &str, gap: Option<u64>, flows: Flows) -> (Vec<String>, String) {
    let link = |kbps: u64, ms| LinkInfo {
        rate: midflight_units::Rate::from_bps(kbps * 1000).unwrap_or(REFERENCE_FIXED.rate),
        delay: Duration::from_millis(ms),
    };
    let kind = match gap {
        None => HandoffKind::MakeBeforeBreak,
        Some(ms) => HandoffKind::BreakBeforeMake {
            gap: Duration::from_millis(ms),
        },
    };
    let traced = trace(
        &TraceRun {
            handoff: Handoff {
                old: link(6400, 9),
                new: link(200, 300),
                kind,
                // A scenario loses them.
                spares_uplink: false,
                notice_delay: Some(Duration::from_millis(30)),
                fixed: REFERENCE_FIXED,
                flows,
            },
            at: Some(Instant::from_nanos(8_200_000_000)),
            scheme: scheme.into(),
            resident_scheme: "sack".into(),
            flow: 0,
            profile: "ns2".into(),
            knobs: Vec::new(),
            packets: 1_000_000,
            end: Instant::from_nanos(40_000_000_000),
        },
        &mut || true,
    );
    let (rows, digest) = traced.unwrap_or_else(|e| panic!("{e}"));
    let events = rows
        .iter()
        .map(|r| format!("{} {} {}", r.at, r.event, r.value));
    (events.collect(), digest)
}

#[test]
fn two_links_and_one_handoff_are_the_papers_network_event_for_event() {
    for scheme in [
        "sack",
        "enhanced",
        "dcr-frto-ld",
        "freeze",
        "ehn",
        "a5+rlci",
    ] {
        for gap in [None, Some(500)] {
            let gap_text = gap.map(|ms: u64| format!("{ms} ms"));
            let mut sets = vec![
                ("flows.bulk.scheme", scheme),
                ("handoffs.0.notice.delay", "30 ms"),
            ];
            if let Some(gap) = &gap_text {
                sets.push(("handoffs.0.gap", gap));
            }
            let (events, digest) = reference(scheme, gap, Flows::ONE);
            let mine = plan(PAPER, &sets);
            let traced = trace_scenario(&mine, 0, None, Instant::ZERO, &[], &mut || true);
            let (rows, traced_digest) = traced.unwrap_or_else(|e| panic!("{e}"));
            let of = |r: &midflight_study::TraceRow| format!("{} {} {}", r.at, r.event, r.value);
            let my_events: Vec<String> = rows.iter().map(of).collect();
            assert!(my_events == events, "{scheme} {gap:?}");
            assert_eq!(traced_digest, digest, "{scheme} {gap:?}");
            let run = run_all(&[mine], true).remove(0).remove(0);
            assert_eq!(run.digest.to_string(), digest, "{scheme} {gap:?}");
        }
    }
}

#[test]
fn several_flows_and_residents_are_too() {
    let flows = Flows {
        moving: 3,
        residents: 2,
        stagger: Duration::from_millis(100),
        start_notice: true,
    };
    let (_, digest) = reference("enhanced", None, flows);
    let sets = [
        ("flows.bulk.scheme", "enhanced"),
        ("flows.bulk.count", "3"),
        ("flows.bulk.stagger", "100 ms"),
        ("flows.bulk.start_notice", "true"),
        ("flows.others.count", "2"),
        ("flows.others.stagger", "100 ms"),
        ("flows.others.on", "new"),
        ("handoffs.0.notice.delay", "30 ms"),
    ];
    assert_eq!(run(PAPER, &sets).digest.to_string(), digest);
}

#[test]
fn copies_of_a_common_past_run_as_from_the_start() {
    let mut plans = Vec::new();
    for at in ["2 s", "2.5 s", "3 s : 40 s : 4 s", "3 s", "59 s"] {
        for scheme in ["sack", "enhanced", "freeze", "vho-qs"] {
            let sets = [("handoffs.0.at", at), ("flows.download.scheme", scheme)];
            plans.push(plan(TOUR, &sets));
        }
    }
    let forked = run_all(&plans, true);
    assert_eq!(forked, run_all(&plans, false));
    assert!(forked.iter().all(|runs| runs.len() == 3));
    let digests = |runs: &[ScenarioRun]| {
        runs.iter()
            .map(|r| r.digest.to_string())
            .collect::<Vec<_>>()
    };
    let first = digests(&forked[0]);
    assert!(
        first[0] != first[1] && first[1] != first[2],
        "runs draw anew: {first:?}"
    );
}

/// Until the last timing is done a run that stops there equals the one that continues, also as a copy.
#[test]
fn a_run_that_stops_when_all_is_measured_has_measured_the_same() {
    let endless = [
        ("flows.download.size", "unlimited"),
        ("flows.upload.size", "unlimited"),
    ];
    for at in ["3 s : 20 s : 4 s", "2 s", "7 s"] {
        let more = |stop| [("handoffs.0.at", at), ("stop", stop), ("runs", "2")];
        let sets = |stop| [&endless[..], &more(stop)].concat();
        let whole = plan(TOUR, &sets("done"));
        let short = plan(TOUR, &sets("measured"));
        let forked = run_all(&[whole, short.clone(), short.clone()], true);
        assert_eq!(forked[1..2], run_all(&[short], false));
        assert_eq!(forked[1], forked[2]);
        for (whole, short) in forked[0].iter().zip(&forked[1]) {
            assert_eq!(whole.flows[0].phases.len(), short.flows[0].phases.len());
            for flow in [0, 1] {
                let last = |run: &ScenarioRun| {
                    let phase = run.flows[flow].phases.last().cloned().unwrap_or_default();
                    (phase.first_new, phase.all_new, phase.counts.from)
                };
                assert_eq!(last(whole), last(short));
            }
            let phase = short.flows[0].phases.last().cloned().unwrap_or_default();
            let timed = phase.all_new.unwrap_or_else(|| panic!("it is timed"));
            assert!(short.flows[0].until >= phase.counts.from + timed);
            assert!(short.flows[0].until < whole.flows[0].until);
            assert_ne!(whole.digest, short.digest);
        }
    }
    // This also holds if only another link changes than the node's.
    for changes in ["[]", "[{ at = '4 s', link = 'lte', rate = '1 Mbit/s' }]"] {
        let still = [
            ("handoffs", "[]"),
            ("changes", changes),
            ("stop", "measured"),
        ];
        let refused = read(TOUR, &still).map_or_else(|e| e, |_| String::new());
        assert!(refused.contains("there is none"), "{refused}");
    }
}

#[test]
fn a_tour_of_links_brings_everything_home() {
    for run in run_all(&[plan(TOUR, &[])], true).remove(0) {
        let [download, upload, neighbour] = &run.flows[..] else {
            panic!("{} flows", run.flows.len());
        };
        assert!(download.finished.is_some(), "{download:?}");
        assert!(upload.finished.is_some(), "{upload:?}");
        assert!(neighbour.finished.is_none());
        // The run ends with the last flow that has an end; counts cover the time until then.
        let end = download.finished.max(upload.finished);
        assert_eq!(Some(neighbour.until), end);
        // Segments of 1500 bytes with timestamps hold 1448 bytes of data; the SYN holds none.
        let payload = 1448;
        assert_eq!(download.total().acked, 5_000_000_u64.div_ceil(payload));
        assert_eq!(upload.total().acked, 2_000_000_u64.div_ceil(payload));
        let links: Vec<&str> = download.phases.iter().map(|p| p.link.as_str()).collect();
        assert_eq!(links[..4], ["wifi", "lte", "lte", "old"]);
        assert!(download
            .phases
            .iter()
            .all(|p| p.counts.from < p.counts.until));
        let met = download
            .phases
            .windows(2)
            .all(|w| w[0].counts.until == w[1].counts.from);
        assert!(met, "phases join");
        assert!(download.total().drops_break + download.total().drops_radio > 0);
        assert!(
            download.stall >= Duration::from_millis(200),
            "{}",
            download.stall
        );
    }
}

/// An outage: the link itself goes down and comes back, and all packets in between are lost.
#[test]
fn an_outage_is_a_handoff_to_the_same_link() {
    let outage = [
        ("handoffs.0.to", "old"),
        ("handoffs.0.gap", "2 s"),
        ("flows.bulk.size", "20 MB"),
    ];
    let with = run(PAPER, &outage);
    let flow = &with.flows[0];
    assert!(flow.finished.is_some());
    assert!(flow.total().drops_break > 0);
    assert!(flow.stall >= Duration::from_secs(2), "{}", flow.stall);
    assert!(flow.total().timeouts > 0);
    let without = run(PAPER, &[("handoffs", "[]"), ("flows.bulk.size", "20 MB")]);
    let lost = flow
        .finished
        .unwrap_or(Instant::ZERO)
        .since(without.flows[0].finished.unwrap_or(Instant::NEVER));
    assert!(lost >= Duration::from_secs(2), "{lost}");
}

/// A sender that uses the notice reacts to a wrong one; without it, it behaves like the plain sender.
#[test]
fn notices_may_lie_and_get_lost() {
    let enhanced = ("flows.bulk.scheme", "enhanced");
    let notified = run(PAPER, &[enhanced]);
    let plain = run(PAPER, &[]);
    assert_ne!(notified.digest, plain.digest);
    for silent in [("handoffs.0.notice.lost", "100%"), ("notices", "false")] {
        assert_eq!(run(PAPER, &[enhanced, silent]).digest, plain.digest);
    }
    let right = [
        enhanced,
        ("handoffs.0.notice.says_rate", "200 kbit/s"),
        ("handoffs.0.notice.says_delay", "300 ms"),
    ];
    assert_eq!(run(PAPER, &right).digest, notified.digest);
    let wrong = run(
        PAPER,
        &[enhanced, ("handoffs.0.notice.says_rate", "6 Mbit/s")],
    );
    assert!(wrong.digest != notified.digest && wrong.digest != plain.digest);
    let received: Vec<bool> = (0..40)
        .map(|seed| {
            let seed = seed.to_string();
            let sets = [enhanced, ("handoffs.0.notice.lost", "50%"), ("seed", &seed)];
            run(PAPER, &sets).digest == notified.digest
        })
        .collect();
    let received = received.iter().filter(|&&received| received).count();
    assert!((8..=32).contains(&received), "{received} of 40");
}

/// Cross traffic takes half of the new link from 8 s on, and all of it is free again after 20 s.
#[test]
fn others_take_their_part_of_a_link_until_they_go() {
    let acked = |sets: &[(&str, &str)]| {
        let first = [
            ("end", "32 s"),
            ("handoffs.0.at", "8 s"),
            ("links.old.rate", "2 Mbit/s"),
            ("links.new.rate", "2 Mbit/s"),
            ("links.new.delay", "20 ms"),
        ];
        let run = run(PAPER, &[&first[..], sets].concat());
        let phases = &run.flows[0].phases;
        let of = |phase: usize| phases.get(phase).map_or(0, |p| p.counts.acked) as f64;
        (of(1), of(2))
    };
    let go = [("changes.0.at", "20 s"), ("changes.0.link", "new")];
    let alone = acked(&go);
    let none = [("changes.0.cross", "none")];
    for cross in ["cbr 1 Mbit/s", "poisson 1 Mbit/s 500 B"] {
        let there = ("links.new.cross", cross);
        let left = acked(&[&go[..], &none, &[there]].concat());
        assert!(left.0 < 0.7 * alone.0, "{cross}: {left:?} of {alone:?}");
        assert!(left.1 > 0.8 * alone.1, "{cross}: {left:?} of {alone:?}");
        let stays = acked(&[&go[..], &[there]].concat());
        assert!(stays.1 < 0.7 * alone.1, "{cross}: {stays:?} of {alone:?}");
        let other_way = acked(&[&go[..], &[("links.new.up.cross", cross)]].concat());
        assert!(other_way.0 > 0.9 * alone.0, "ACKs have room: {other_way:?}");
    }
}

/// A node that neither predicts its handoff nor gets its signal through behaves like a plain one.
#[test]
fn a_nodes_own_signals_may_fail() {
    let of = |scheme, more: &[(&str, &str)]| {
        let first = [("flows.bulk.scheme", scheme), ("handoffs.0.gap", "1 s")];
        run(PAPER, &[&first[..], more].concat()).digest
    };
    let (missed, lost) = ("handoffs.0.signal.missed", "handoffs.0.signal.lost");
    let plain = of("sack", &[]);
    assert_eq!(of("tr-acks", &[(lost, "100%")]), plain);
    assert_eq!(of("ehn", &[(lost, "100%")]), plain);
    let freeze = of("freeze", &[]);
    assert_ne!(of("freeze", &[(missed, "100%")]), freeze);
    assert_eq!(of("freeze", &[(missed, "100%"), (lost, "100%")]), plain);
    assert_eq!(of("ehn", &[(missed, "100%")]), of("ehn", &[]));
    assert_eq!(of("sack", &[(missed, "100%"), (lost, "100%")]), plain);
}

/// A change without a pause: from then on the flow has the other rate.
#[test]
fn a_link_changes_its_rate() {
    let sets = [
        ("handoffs", "[]"),
        ("changes.0.at", "20 s"),
        ("changes.0.link", "old"),
        ("changes.0.rate", "640 kbit/s"),
    ];
    let run = run(PAPER, &sets);
    let [before, after] = &run.flows[0].phases[..] else {
        panic!("{:?}", run.flows[0].phases);
    };
    let rate = |p: &midflight_study::PhaseOutcome| {
        let seconds = p.counts.until.since(p.counts.from).as_secs_f64();
        p.counts.acked as f64 * 12_000.0 / seconds
    };
    assert!((5.5e6..6.4e6).contains(&rate(before)), "{}", rate(before));
    assert!((0.5e6..0.67e6).contains(&rate(after)), "{}", rate(after));
    assert_eq!(after.link, "old");
}

/// A link that the mobile node does not use affects none of its measurements, and a flow that opens after a
/// handoff has nothing to recover from.
#[test]
fn phases_are_of_the_mobile_nodes_links() {
    use midflight_study::PhaseStart;

    let others = [
        ("links.third.preset", "lte"),
        ("changes.0.at", "2 s, 9 s"),
        ("changes.0.link", "third"),
        ("changes.0.rate", "1 Mbit/s"),
        ("flows.late.start", "20 s"),
    ];
    let with = run(PAPER, &others);
    let alone = run(PAPER, &[("flows.late.start", "20 s")]);
    assert_eq!(with.flows, alone.flows);
    let kinds: Vec<PhaseStart> = with.flows[0].phases.iter().map(|p| p.kind).collect();
    assert_eq!(kinds, [PhaseStart::Start, PhaseStart::Handoff]);
    assert!(with.flows[0].phases[1].all_new.is_some());
    let late = &with.flows[1].phases[1];
    assert!(late.counts.acked > 0 && late.first_new.is_none());
}

/// Packets that wait at the node for a link that breaks never reach the base station, in both directions of
/// data.
#[test]
fn a_break_loses_packets_that_wait_at_the_node() {
    let text = |direction: &str| {
        format!(
            r#"
            end = "20 s"
            profile = "rfc"
            links.a = {{ rate = "10 Mbit/s", delay = "20 ms", queue = "1 s" }}
            links.b = {{ rate = "10 Mbit/s", delay = "20 ms", queue = "1 s" }}
            flows.x = {{ size = "6 MB", direction = "{direction}" }}
            handoffs = [{{ at = "2 s", to = "b", gap = "900 ms" }}]
            "#
        )
    };
    let outcome = |direction| {
        let flow = run(&text(direction), &[]).flows.remove(0);
        let seconds = flow.finished.map(|at| at.as_nanos() as f64 / 1e9);
        (seconds.unwrap_or(f64::NAN), flow.total().drops_break)
    };
    let ((down, lost_down), (up, lost_up)) = (outcome("down"), outcome("up"));
    assert!(lost_up > 600 && lost_down > 600, "{lost_up} {lost_down}");
    assert!((up - down).abs() < 0.2, "{up} {down}");
    let rows = trace_scenario(
        &plan(&text("up"), &[]),
        0,
        None,
        Instant::ZERO,
        &[],
        &mut || true,
    );
    let (rows, _) = rows.unwrap_or_else(|e| panic!("{e}"));
    // The wired way from there to the server takes 10 ms, and no packet of the new link is there before 2.92 s.
    let between = |ms: std::ops::Range<u64>| {
        let within = move |at: Instant| ms.contains(&(at.as_nanos() / 1_000_000));
        rows.iter()
            .filter(|r| r.event == "rcv" && within(r.at))
            .count()
    };
    assert!(between(1900..2000) > 50);
    assert_eq!(between(2012..2920), 0);
}

/// Data segments are counted, not the SYN: the count of a finished flow is its size.
#[test]
fn the_syn_is_not_acknowledged_data() {
    let run = run(
        PAPER,
        &[("flows.bulk.size", "100 segments"), ("end", "60 s")],
    );
    assert!(run.flows[0].finished.is_some());
    assert_eq!(run.flows[0].total().acked, 100);
}

/// Comments of a capture describe a change as a change.
#[test]
fn captures_do_not_take_a_change_for_a_handoff() {
    let seen = capture_scenario(&plan(CHANGES, &[]), 0, None, 64, &mut || true);
    let (captures, _) = seen.unwrap_or_else(|e| panic!("{e}"));
    for capture in captures.iter().filter(|c| c.packets > 0) {
        let bytes = &capture.pcapng;
        let has = |words: &str| bytes.windows(words.len()).any(|w| w == words.as_bytes());
        assert!(
            !has("old link breaks") && !has("new link is in use"),
            "{}",
            capture.place
        );
        assert!(
            has("before this: cell pauses for a change"),
            "{}",
            capture.place
        );
        assert!(
            has("before this: cell resumes with its new"),
            "{}",
            capture.place
        );
        assert!(
            has("before this: the parameters of cell change"),
            "{}",
            capture.place
        );
    }
}

/// The rows of columns, each as text.
fn lines(found: &TraceColumns) -> Vec<String> {
    let texts = [
        &found.event,
        &found.detail,
        &found.by,
        &found.link,
        &found.packet,
        &found.cause,
        &found.order,
        &found.reason,
    ];
    let mut each: Vec<_> = texts.iter().map(|texts| texts.iter()).collect();
    (0..found.at.len())
        .map(|row| {
            let words: Vec<_> = each.iter_mut().map(Iterator::next).collect();
            let (value, sent, bytes) = (found.value[row], found.sent[row], found.bytes[row]);
            format!("{} {value} {sent} {bytes} {words:?}", found.at[row])
        })
        .collect()
}

/// Columns have what rows have, with judged timeouts and orders, and know the end of the flow whatever they list.
#[test]
fn a_trace_as_columns_is_the_trace() {
    let values = [("flows.bulk.scheme", "enhanced"), ("handoffs.0.gap", "3 s")];
    let plan = read(PAPER, &values).unwrap_or_else(|e| panic!("{e}"));
    let setup = plan.setup(0).unwrap_or_else(|e| panic!("{e}"));
    let columns = |only: &[String]| {
        trace_columns(&setup, None, Instant::ZERO, only, &mut || true)
            .unwrap_or_else(|e| panic!("{e}"))
    };
    let (rows, digest) = trace_scenario(&plan, 0, None, Instant::ZERO, &[], &mut || true)
        .unwrap_or_else(|e| panic!("{e}"));
    let (all, same) = columns(&[]);
    assert_eq!(digest, same);
    assert_eq!(lines(&all), lines(&TraceColumns::of(&rows, all.end)));
    let judged = |row: &&TraceRow| row.event == "rto" && !row.detail.is_empty();
    assert!(rows.iter().filter(judged).count() > 0);
    assert!(rows.iter().any(|row| row.ordered.is_some()));
    assert_eq!(
        all.end.last,
        rows.last().map_or(Instant::ZERO, |row| row.at)
    );
    let (listed, _) = columns(&["rto".into()]);
    assert_eq!(listed.end, all.end);
    let timeouts = rows.iter().filter(|row| row.event == "rto").count();
    assert_eq!(listed.at.len(), timeouts);
}
