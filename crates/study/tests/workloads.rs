//! Applications over simulated flows: the load time of a page, by hand and with losses and handoffs.
#![allow(clippy::panic, reason = "a failed test panics")]

use crate::scenarios::{plan, read, run, run_all};
use midflight_study::WorkloadOutcome;

/// A path with 50 ms in each direction and negligible transmission times.
const FAST: &str = r#"
wired = { rate = "100 Gbit/s", delay = "0 ms" }

[links.wifi]
rate = "100 Gbit/s"
delay = "50 ms"
queue = "10000 packets"

[flows.it]
workload = "web"
set = { web_objects = 3, web_object_size = "1 kB", web_document = "1 kB" }
"#;

/// Losses, an outage, a handoff.
const ROUGH: &str = r#"
end = "120 s"
seed = 5

[links.wifi]
rate = "8 Mbit/s"
delay = "15 ms"
loss = "uniform 2%"
up = { loss = "uniform 5%" }

[links.lte]
rate = "3 Mbit/s"
delay = "40 ms"

[flows.it]
workload = "web"
set = { web_objects = 12, web_object_size = "pareto 1.5 40 kB", web_http = "1.1" }

[[handoffs]]
at = "500 ms"
to = "lte"
gap = "700 ms"
"#;

fn value(workload: &WorkloadOutcome, name: &str) -> Option<u64> {
    let place = workload.measures.iter().position(|one| one.name == name);
    let place = place.unwrap_or_else(|| panic!("no measure {name}"));
    workload.measured.0[place]
}

fn measured(text: &str, sets: &[(&str, &str)], name: &str) -> Option<u64> {
    let found = run(text, sets).flows;
    let first = found.iter().find_map(|flow| flow.workload.clone());
    value(&first.unwrap_or_else(|| panic!("no workload")), name)
}

/// A round trip for the handshake, then one for the document and one for each object, 100 ms each.
#[test]
fn one_object_after_the_other_takes_a_round_trip_each() {
    let load = |sets: &[(&str, &str)]| {
        let ns = measured(FAST, sets, "load_ns");
        ns.map(|ns| (ns + 500_000) / 1_000_000)
    };
    // ns-2's receiver delays the ACK of the SYN by 100 ms.
    let of_ns2 = measured(FAST, &[("profile", "ns2")], "load_ns");
    assert_eq!(of_ns2.map(|ns| ns / 1_000_000), Some(600));
    for profile in ["rfc", "linux"] {
        let of = |more: &[(&str, &str)]| {
            let mut sets = vec![("profile", profile)];
            sets.extend(more);
            load(&sets)
        };
        assert_eq!(of(&[]), Some(500), "{profile}");
        let at_once = of(&[("flows.it.set.web_http", "\"2\"")]);
        assert_eq!(at_once, Some(300), "{profile}");
        let three = of(&[("flows.it.set.web_connections", "3")]);
        assert_eq!(three, Some(300), "{profile}");
        let none = of(&[("flows.it.set.web_document", "none")]);
        assert_eq!(none, Some(400), "{profile}");
        let slow = of(&[
            ("flows.it.set.web_think", "7 ms"),
            ("flows.it.set.web_server_delay", "20 ms"),
        ]);
        assert_eq!(slow, Some(500 + 4 * 20 + 3 * 7), "{profile}");
    }
}

const STACKS: [(&str, &str); 5] = [
    ("profile", "rfc"),
    ("profile", "ns2"),
    ("profile", "linux"),
    ("profile", "quic"),
    ("flows.it.stack", "quinn"),
];

/// With any losses all requested data is read, and the run ends then.
#[test]
fn all_of_a_page_arrives_over_every_transport() {
    for stack in STACKS {
        for seed in ["1", "2", "3", "4"] {
            for (http, connections) in [("\"1.1\"", "1"), ("\"2\"", "1"), ("\"1.1\"", "4")] {
                let sets = [
                    stack,
                    ("seed", seed),
                    ("flows.it.set.web_http", http),
                    ("flows.it.set.web_connections", connections),
                ];
                let done = run(ROUGH, &sets);
                let page = done.flows.iter().find_map(|flow| flow.workload.as_ref());
                let page = page.unwrap_or_else(|| panic!("{sets:?}"));
                let context = format!("{sets:?} {page:?}");
                assert_eq!(value(page, "objects_done"), Some(13), "{context}");
                assert!(value(page, "load_ns").is_some_and(|ns| ns < 100_000_000_000));
                for flow in &done.flows {
                    assert!(flow.finished.is_some(), "{context}");
                }
            }
        }
    }
}

/// The sender of the data sends the requested objects, each in its own segments.
#[test]
fn segments_are_those_of_the_objects() {
    let done = run(
        FAST,
        &[("profile", "rfc"), ("flows.it.set.web_object_size", "3 kB")],
    );
    // 1000 B is one segment of 1460 bytes, 3000 B are three.
    assert_eq!(
        done.flows[0].total().acked.max(done.flows[0].total().sent),
        1 + 1 + 3 * 3
    );
    assert_eq!(done.flows[1].total().sent, 1 + 4);
}

#[test]
fn runs_do_not_depend_on_threads_or_on_parallel_runs() {
    let schemes = ["sack", "enhanced", "vho", "cubic"];
    let plans: Vec<_> = schemes
        .iter()
        .map(|scheme| plan(ROUGH, &[("flows.it.scheme", scheme), ("runs", "3")]))
        .collect();
    let forked = run_all(&plans, true);
    assert_eq!(forked, run_all(&plans, false));
    // Sizes are drawn for each run.
    let loads = forked[0].iter().map(|run| run.digest.to_string());
    let mut loads: Vec<String> = loads.collect();
    loads.sort_unstable();
    loads.dedup();
    assert_eq!(loads.len(), 3);
}

#[test]
fn impossible_values_are_refused_with_a_sentence() {
    let refused = |sets: &[(&str, &str)]| match read(FAST, sets) {
        Ok(_) => panic!("{sets:?} is accepted"),
        Err(why) => why,
    };
    for (sets, said) in [
        (vec![("flows.it.workload", "wep")], "did you mean \"web\"?"),
        (
            vec![("flows.it.workload", "bulk")],
            "knob of the workload \"web\"",
        ),
        (vec![("flows.it.size", "3 MB")], "without a size"),
        (
            vec![("flows.it.direction", "up")],
            "expected direction = \"down\"",
        ),
        (
            vec![("flows.it.stack", "linux")],
            "programs of the lab send in bulk",
        ),
        (vec![("flows.it.set.web_http", "3")], "expected 1.1, 2"),
        (vec![("flows.it.set.web_objets", "3")], "web_objects"),
        (
            vec![("flows.it.stack", "quinn"), ("flows.it.streams", "2")],
            "a stream for each of its messages",
        ),
        (
            vec![("profile", "quic"), ("flows.it.migration", "passive")],
            "expected migration = \"active\"",
        ),
    ] {
        let why = refused(&sets);
        assert!(why.contains(said), "{sets:?}: {why}");
    }
}

/// An outage of two seconds.
const OUTAGE: &str = r#"
end = "40 s"

[links.cell]
rate = "6 Mbit/s"
delay = "20 ms"

[flows.it]

[[handoffs]]
at = "5 s"
to = "cell"
gap = "2 s"
"#;

#[test]
fn a_call_has_late_frames_where_the_link_is_away() {
    for stack in STACKS {
        for direction in ["down", "up"] {
            let sets = [
                stack,
                ("flows.it.workload", "call"),
                ("flows.it.direction", direction),
                ("flows.it.set.call_length", "10 s"),
            ];
            let done = run(OUTAGE, &sets);
            let call = done.flows[0].workload.as_ref();
            let call = call.unwrap_or_else(|| panic!("{sets:?}"));
            let context = format!("{sets:?} {call:?}");
            assert_eq!(value(call, "frames"), Some(500), "{context}");
            assert_eq!(value(call, "frames_lost"), Some(0), "{context}");
            // The frames of the two seconds, and those that waited for the sender's timer and after it.
            let late = value(call, "frames_late").unwrap_or_default();
            assert!((90..300).contains(&late), "{context}");
            let longest = value(call, "frame_delay_max_ns").unwrap_or_default();
            assert!(longest > 1_900_000_000, "{context}");
        }
    }
}

/// Without an outage a frame takes the path's delay and its own transmission.
#[test]
fn frames_of_a_quiet_call_take_the_delay_of_the_path() {
    let sets = [
        ("handoffs", "[]"),
        ("profile", "linux"),
        ("flows.it.workload", "call"),
        ("flows.it.set.call_length", "2 s"),
        ("flows.it.set.call_frame", "160 B"),
    ];
    // 20 ms of the link and 2 x 5 ms of wires; 160 + 52 bytes at 6 Mbit/s are 282.667 us, and at 1 Gbit/s, three hops
    // with the one inside the node, 1.696 us each.
    let median = measured(OUTAGE, &sets, "frame_delay_median_ns");
    assert_eq!(median, Some(30_287_755));
    assert_eq!(measured(OUTAGE, &sets, "frames_late"), Some(0));
}

#[test]
fn a_video_plays_all_its_media_over_every_transport() {
    for stack in STACKS {
        for adaptation in ["none", "throughput", "buffer"] {
            let sets = [
                stack,
                ("end", "120 s"),
                ("handoffs.0.at", "20 s"),
                ("flows.it.workload", "video"),
                ("flows.it.set.video_length", "40 s"),
                ("flows.it.set.video_adaptation", adaptation),
            ];
            let done = run(OUTAGE, &sets);
            let found = done.flows.iter().find_map(|flow| flow.workload.as_ref());
            let video = found.unwrap_or_else(|| panic!("{sets:?}"));
            let context = format!("{sets:?} {video:?}");
            assert_eq!(value(video, "played_ns"), Some(40_000_000_000), "{context}");
            assert_eq!(value(video, "rebuffers"), Some(0), "{context}");
            let rate = value(video, "mean_rate_bps").unwrap_or_default();
            assert_eq!(rate == 750_000, adaptation == "none", "{context}");
        }
    }
}

/// A player with a full buffer requests nothing for seconds: the flow has no stall in that time. In the gap it has
/// one.
#[test]
fn a_flow_without_anything_to_do_has_no_stall() {
    for stack in STACKS {
        let stall = |gap: &str| {
            let sets = [
                stack,
                ("end", "120 s"),
                ("handoffs.0.at", "20 s"),
                ("handoffs.0.gap", gap),
                ("flows.it.workload", "video"),
                ("flows.it.set.video_length", "90 s"),
                ("flows.it.set.video_buffer", "12 s"),
            ];
            let flows = run(OUTAGE, &sets).flows;
            flows
                .iter()
                .map(|flow| flow.stall.as_secs_f64())
                .fold(0.0, f64::max)
        };
        let (short, long) = (stall("0 ms"), stall("9 s"));
        assert!(short < 2.0, "{stack:?}: {short}");
        // The timer may expire long after the link is back.
        assert!((5.0..20.0).contains(&long), "{stack:?}: {long}");
    }
}

/// A rate above that of the link: each segment of 4 s takes more than 4 s.
#[test]
fn a_video_of_too_high_a_rate_stalls() {
    let sets = [
        ("handoffs", "[]"),
        ("flows.it.workload", "video"),
        ("flows.it.set.video_rates", "8 Mbit/s"),
        ("flows.it.set.video_length", "20 s"),
    ];
    assert_eq!(measured(OUTAGE, &sets, "rebuffers"), Some(4));
    let stalled = measured(OUTAGE, &sets, "rebuffer_ns").unwrap_or_default();
    // 32 Mbit of data take 5.5 s with headers: about 1.5 s of each are stalls.
    assert!(
        (5_000_000_000..8_000_000_000).contains(&stalled),
        "{stalled}"
    );
}
