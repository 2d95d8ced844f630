//! Scenarios: read, refused with one clear sentence, and run as the network of the papers is.
#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_control::LinkInfo;
use midflight_study::scenario::{read_scenario, run_scenarios, Origin, Plan, ScenarioRun};
use midflight_study::{Execution, Flows, Handoff, HandoffKind, REFERENCE_FIXED};
use midflight_units::{Duration, Instant};

mod one_run;

use one_run::{capture_scenario, trace, trace_scenario, TraceRun};

fn read(text: &str, sets: &[(&str, &str)]) -> Result<Plan, String> {
    let sets: Vec<_> = sets.iter().map(|&(k, v)| (k.into(), v.into())).collect();
    read_scenario(text, Origin::Toml("mine.toml"), &sets, &[]).map_err(|e| e.to_string())
}

fn plan(text: &str, sets: &[(&str, &str)]) -> Plan {
    read(text, sets).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn run_all(plans: &[Plan], fork: bool) -> Vec<Vec<ScenarioRun>> {
    let how = Execution { fork, threads: 2 };
    run_scenarios(plans, how, |_, _| true).unwrap_or_else(|e| panic!("{e}"))
}

fn run(text: &str, sets: &[(&str, &str)]) -> ScenarioRun {
    run_all(&[plan(text, sets)], true).remove(0).remove(0)
}

const PAPER: &str = r#"
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

/// The same run as the handoff of the papers, which is held against ns-2.
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

const TOUR: &str = r#"
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

/// Until the last timing is done a run that stops there is the one that goes on, also as a copy.
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
    // Also where only a link changes that the node is not on.
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
        // The run ends with the last flow that has an end; counts are until then.
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

/// An outage: the link itself goes and comes back, and everything in between is lost.
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

/// A wrong notice changes what a sender that heeds it does, a lost one makes it the plain sender.
#[test]
fn notices_may_lie_and_get_lost() {
    let enhanced = ("flows.bulk.scheme", "enhanced");
    let told = run(PAPER, &[enhanced]);
    let plain = run(PAPER, &[]);
    assert_ne!(told.digest, plain.digest);
    for silent in [("handoffs.0.notice.lost", "100%"), ("notices", "false")] {
        assert_eq!(run(PAPER, &[enhanced, silent]).digest, plain.digest);
    }
    let right = [
        enhanced,
        ("handoffs.0.notice.says_rate", "200 kbit/s"),
        ("handoffs.0.notice.says_delay", "300 ms"),
    ];
    assert_eq!(run(PAPER, &right).digest, told.digest);
    let wrong = run(
        PAPER,
        &[enhanced, ("handoffs.0.notice.says_rate", "6 Mbit/s")],
    );
    assert!(wrong.digest != told.digest && wrong.digest != plain.digest);
    let heard: Vec<bool> = (0..40)
        .map(|seed| {
            let seed = seed.to_string();
            let sets = [enhanced, ("handoffs.0.notice.lost", "50%"), ("seed", &seed)];
            run(PAPER, &sets).digest == told.digest
        })
        .collect();
    let heard = heard.iter().filter(|&&heard| heard).count();
    assert!((8..=32).contains(&heard), "{heard} of 40");
}

/// Half of the new link is taken from 8 s on, and all of it is free again after 20 s.
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

/// A node that neither foresees its handoff nor is heard afterwards is a plain one.
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
    let rate = |p: &midflight_study::Phase| {
        let seconds = p.counts.until.since(p.counts.from).as_secs_f64();
        p.counts.acked as f64 * 12_000.0 / seconds
    };
    assert!((5.5e6..6.4e6).contains(&rate(before)), "{}", rate(before));
    assert!((0.5e6..0.67e6).contains(&rate(after)), "{}", rate(after));
    assert_eq!(after.link, "old");
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, &'a str);
    let cases: &[Case<'_>] = &[
        (&[], "rate = \"200 kbit\"", "mine.toml:11: links.new.rate: rate \"200 kbit\" has the unknown \"kbit\" as unit; expected bit/s"),
        (&[], "rat = \"200 kbit/s\"", "mine.toml:11: links.new.rat: unknown field \"rat\""),
        (&[], "rate = 200", "mine.toml:11: links.new.rate: invalid type: integer \"200\", expected a text such as \"54 Mbit/s\""),
        (&[], "", "mine.toml:10: links.new: a link without a preset needs a rate"),
        (&[], "rate = \"200 kbit/s\"\npreset = \"ltee\"", "links.new.preset: there is no preset \"ltee\" (did you mean \"lte\"?)"),
        (&[], "rate = \"200 kbit/s\"\nrate = \"2 kbit/s\"", "mine.toml:12: syntax: duplicate key"),
        (&[("links.new.rate", "5")], "rate = \"200 kbit/s\"", "--set links.new.rate=5: links.new.rate: invalid type: integer"),
        (&[("flows.bulk.scheme", "enhancd")], "rate = \"200 kbit/s\"", "--set flows.bulk.scheme=enhancd: flows.bulk.scheme: there is no scheme \"enhancd\" (did you mean \"enhanced\"?)"),
        (&[("set.min_rtoo", "1 s")], "rate = \"200 kbit/s\"", "set.min_rtoo: there is no setting \"min_rtoo\" (did you mean \"min_rto\"?)"),
        (&[("flows.bulk.set.min_rto", "soon")], "rate = \"200 kbit/s\"", "flows.bulk.set.min_rto: "),
        (&[("handoffs.0.to", "neww")], "rate = \"200 kbit/s\"", "there is no link \"neww\" (did you mean \"new\"?); there are old, new"),
        (&[("handoffs.0.to", "old")], "rate = \"200 kbit/s\"", "is on \"old\" already"),
        (&[("handoffs.0.at", "41 s")], "rate = \"200 kbit/s\"", "the run ends at 40 s"),
        (&[("handoffs.0.at", "1s,2s")], "rate = \"200 kbit/s\"", "at 2 s the mobile node is on \"new\" already"),
        (&[("handoffs.2.at", "1s")], "rate = \"200 kbit/s\"", "\"2\" is not the number of an entry; expected 0 to 1"),
        (&[("flows.bulk.direction", "upp")], "rate = \"200 kbit/s\"", "unknown variant \"upp\", expected \"down\" or \"up\" (did you mean \"up\"?)"),
        (&[("flows.bulk.direction", "up"), ("flows.bulk.scheme", "freeze")], "rate = \"200 kbit/s\"", "has a signal that a mobile node sends as a receiver"),
        (&[("handoffs.0.gpa", "1 s")], "rate = \"200 kbit/s\"", "unknown field \"gpa\", expected one of \"at\", \"to\", \"gap\", \"notice\", \"signal\" (did you mean \"gap\"?)"),
        (&[("handoffs.0.gap", "non")], "rate = \"200 kbit/s\"", "or \"none\" for no gap"),
        (&[("flows.bulk.scheme", "sack+bbr")], "rate = \"200 kbit/s\"", "\"bbr\" is not modelled; docs/scenarios.md, \"What is not modelled\""),
        (&[("abc_limit", "1")], "rate = \"200 kbit/s\"", "--set abc_limit=1: abc_limit: it is a setting of senders; set.abc_limit for all flows, or flows.NAME.set.abc_limit for one, is accepted"),
        (&[("flows.bulk.abc_limit", "1")], "rate = \"200 kbit/s\"", "flows.bulk.abc_limit: it is a setting of senders; flows.bulk.set.abc_limit is accepted"),
        (&[("links.old.cwnd_factor", "1")], "rate = \"200 kbit/s\"", "links.old.cwnd_factor: unknown field"),
        (&[("profile", "rcf")], "rate = \"200 kbit/s\"", "--set profile=rcf: profile: "),
        (&[("runs", "0")], "rate = \"200 kbit/s\"", "runs: 0 is out of range"),
        (&[("runs", "1000000000")], "rate = \"200 kbit/s\"", "runs: 1000000000 runs give 3000000000 rows of results, for each run one for each flow and one for each of its phases; at most 4000000 rows are accepted, here 1333333 runs"),
        (&[("end", "0 s")], "rate = \"200 kbit/s\"", "end: a run of"),
        (&[("flows.bulk.stack", "tcp")], "rate = \"200 kbit/s\"", "unknown variant \"tcp\", expected \"midflight\" or \"linux\""),
        (&[("flows.bulk.stack", "linux"), ("flows.bulk.scheme", "enhanced")], "rate = \"200 kbit/s\"", "flows.bulk.scheme: \"enhanced\" is no congestion control of the kernel, whose sender a flow with the stack \"linux\" has; expected cubic, reno, bbr"),
        (&[("flows.bulk.stack", "linux"), ("flows.more.scheme", "sack")], "rate = \"200 kbit/s\"", "flows.more.stack: flow \"bulk\" has the stack \"linux\" and flow \"more\" another one; expected one stack for all flows"),
    ];
    for (sets, line, expected) in cases {
        let text = PAPER.replace("rate = \"200 kbit/s\"", line);
        let error = read(&text, sets).map_or_else(|e| e, |_| "accepted".into());
        assert!(
            error.contains(expected),
            "{sets:?} {line}\n  read:   {error}\n  wanted: {expected}"
        );
        assert!(!error.contains('\n'), "{error}");
    }
    assert!(read("", &[]).is_err_and(|e| e.contains("missing field \"links\"")));
}

/// Of two values for one thing neither wins silently, however the paths to it are written.
#[test]
fn a_value_is_set_once() {
    let twice = |first: &str, second: &str| {
        let value = |path: &str| match path {
            "links.old" => "{ rate = \"1 Mbit/s\", delay = \"1 ms\" }",
            "links.old.rate" => "2 Mbit/s",
            "links.old.queue" => "bdp",
            "set" => "{ min_rto = \"1 s\" }",
            "set.max_rto" | "set.min_rto" => "2 s",
            _ => "9 s",
        };
        read(PAPER, &[(first, value(first)), (second, value(second))])
            .map_or_else(|e| e, |_| "accepted".into())
    };
    for (first, second, expected) in [
        ("end", "end", "end: this is set twice; once is accepted"),
        (
            "handoffs.0.at",
            "handoffs.00.at",
            "handoffs.00.at: this is set twice, also by handoffs.0.at; once is accepted",
        ),
        (
            "links.old.rate",
            "links.old",
            "links.old: this is set twice, also by links.old.rate; once is accepted",
        ),
        (
            "links.old",
            "links.old.rate",
            "links.old.rate: this is set twice, also by links.old; once is accepted",
        ),
        (
            "set",
            "set.min_rto",
            "set.min_rto: this is set twice, also by set; once is accepted",
        ),
    ] {
        let error = twice(first, second);
        assert!(error.ends_with(expected), "{first}, {second}: {error}");
    }
    // Neither has the other's.
    for (first, second) in [
        ("set", "set.max_rto"),
        ("links.old", "links.old.queue"),
        ("links.old.rate", "links.old.queue"),
    ] {
        assert_eq!(twice(first, second), "accepted", "{first}, {second}");
    }
}

/// One run is too large whatever the number of runs is: what is said then is what makes it so.
#[test]
fn a_run_with_too_many_rows_is_refused_for_its_flows_and_changes() {
    let read = |flows: &str, end: &str| {
        let sets = [
            ("end", "10 s"),
            ("flows.bulk.count", flows),
            ("changes.0.link", "old"),
            ("changes.0.at", end),
            ("changes.0.delay", "5 ms"),
        ];
        read(PAPER, &sets).map_or_else(|e| e, |plan| format!("{} rows", plan.most_rows()))
    };
    let refused = read("10000", "10 ms : 4 s : 10 ms");
    let expected = "flows: 10000 flows and 401 handoffs and changes give 4030000 rows of results in one run, for each flow one and one for each of its 402 phases; at most 4000000 rows are accepted: with these handoffs and changes at most 9925 flows, with these flows at most 398 handoffs and changes";
    assert!(refused.ends_with(expected), "{refused}");
    assert_eq!(read("9925", "10 ms : 4 s : 10 ms"), "3999775 rows");
    assert_eq!(read("10000", "10 ms : 3.97 s : 10 ms"), "4000000 rows");
}

/// The rows of each fit, but not of all together: that is said before anything runs.
#[test]
fn results_of_many_scenarios_are_limited() {
    let most = plan(PAPER, &[("runs", "1333333")]);
    assert_eq!(most.most_rows(), 3_999_999);
    let refused = run_scenarios(&[most, plan(PAPER, &[])], Execution::default(), |_, _| true);
    let error = refused.map_or_else(|e| e.to_string(), |_| "accepted".into());
    assert!(
        error.contains("4000002 rows of flows and phases together"),
        "{error}"
    );
}

/// What is left out is written out in full in the canonical form, whose texts say what they mean.
#[test]
fn the_canonical_form_is_the_same_scenario() {
    for text in [PAPER, TOUR] {
        let plan = plan(text, &[]);
        let canonical = serde_json::to_string(plan.file()).unwrap_or_else(|e| panic!("{e}"));
        let again =
            read_scenario(&canonical, Origin::Json, &[], &[]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again.file(), plan.file());
        let digest = |plan: Plan| run_all(&[plan], true).remove(0).remove(0).digest;
        assert_eq!(digest(again), digest(plan));
    }
}

/// "none" is what a gap is that is left out: make before break, and written the same.
#[test]
fn a_gap_of_none_is_no_gap() {
    let without = plan(PAPER, &[]);
    let none = plan(PAPER, &[("handoffs.0.gap", "none")]);
    assert_eq!(without.canonical().ok(), none.canonical().ok());
    let with_gap = PAPER.replace("to = \"new\"", "to = \"new\"\ngap = \"2 s\"");
    assert_ne!(with_gap, PAPER);
    let again = plan(&with_gap, &[("handoffs.0.gap", "none")]);
    let breaks = |plan: &Plan| plan.path_changes().iter().any(|one| one.breaks);
    assert!(!breaks(&again));
    assert!(breaks(&plan(PAPER, &[("handoffs.0.gap", "2 s")])));
    let digest = |plan: Plan| run_all(&[plan], true).remove(0).remove(0).digest;
    assert_eq!(digest(again), digest(without));
}

#[test]
fn a_run_that_there_is_not_is_refused() {
    let of = |run: u64, runs: &str| {
        let plan = plan(PAPER, &[("runs", runs)]);
        let traced = trace_scenario(
            &plan,
            run,
            None,
            Instant::ZERO,
            &["make".into()],
            &mut || true,
        );
        traced.map_or_else(|e| e.to_string(), |_| String::new())
    };
    assert_eq!(of(2, "3"), "");
    assert!(of(3, "3").starts_with("there is no run 3: the scenario has 3 (runs = 3)"));
    assert!(of(5, "1").starts_with("there is no run 5: the scenario has one (runs = 1)"));
}

/// A name is part of paths, of files' names and of other names.
#[test]
fn names_are_refused_that_would_be_mistaken_for_others() {
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[("flows.../x.size", "1 MB")], "this is not a path"),
        (&[("flows.a/b.size", "1 MB")], "\"a/b\" is not a name"),
        (
            &[("links.sender.preset", "lte")],
            "a link cannot be called \"sender\"",
        ),
        (
            &[("links.old-up.preset", "lte")],
            "two of them the name \"old-up\"",
        ),
        (
            &[("flows.a.count", "2"), ("flows.a-0.size", "1 MB")],
            "two flows are called \"a-0\"",
        ),
        (
            &[("flows.bulc.size", "1 MB")],
            "there is no flow \"bulc\" (did you mean \"bulk\"?)",
        ),
        (
            &[("handoffs.0.gap", "x")],
            "--set handoffs.0.gap=x: handoffs.0.gap: ",
        ),
        (&[("handoffs.0.at", "0 s")], "a handoff at 0 s"),
        (
            &[
                ("changes.0.at", "8 s"),
                ("changes.0.link", "new"),
                ("changes.0.pause", "1 s"),
            ],
            "crosses the handoff at 8.2 s",
        ),
        (
            &[
                ("handoffs.0.gap", "2 s"),
                ("changes.0.at", "9 s"),
                ("changes.0.link", "old"),
            ],
            "crosses the handoff at 8.2 s",
        ),
    ];
    for (sets, expected) in cases {
        let error = read(PAPER, sets).map_or_else(|e| e, |_| "accepted".into());
        assert!(error.contains(expected), "{sets:?}\n  read: {error}");
    }
}

/// What a link does on which the mobile node is not concerns none of its measurements, and a
/// flow that opens after a handoff has nothing to recover from.
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

/// What waits at the node for a link that breaks never reaches the base station, whichever way the data go.
#[test]
fn a_break_takes_what_waits_at_the_node() {
    let text = |direction: &str| {
        format!(
            r#"
            end = "20 s"
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

/// Data segments are counted, and the SYN is none: those of a flow that is done are its size.
#[test]
fn the_syn_is_not_acknowledged_data() {
    let run = run(
        PAPER,
        &[("flows.bulk.size", "100 segments"), ("end", "60 s")],
    );
    assert!(run.flows[0].finished.is_some());
    assert_eq!(run.flows[0].total().acked, 100);
}

const CHANGES: &str = r#"
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

/// A rate that is written for the downlink alone changes the uplink as well: that is said.
#[test]
fn a_change_of_an_asymmetric_link_says_what_becomes_of_the_uplink() {
    let remarks = plan(CHANGES, &[]).remarks().to_vec();
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    let said = &remarks[0];
    assert!(
        said.starts_with("changes.0: rate = \"3 Mbit/s\" sets the uplink of cell too"),
        "{said}"
    );
    assert!(plan(CHANGES, &[("changes.0.up.rate", "1 Mbit/s")])
        .remarks()
        .is_empty());
    // Both ways of it are alike.
    let alike = [("links.cell.up.rate", "6 Mbit/s")];
    assert!(plan(CHANGES, &alike).remarks().is_empty());
}

/// Comments of a capture say of a change that it is one.
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

/// The stack of the simulator is left out of the canonical form, as in results from before there were
/// others; a kernel's is in it, and is not simulated.
#[test]
fn a_flow_has_a_stack() {
    let text = PAPER.replace("rate = \"200 kbit/s\"", "rate = \"2 Mbit/s\"");
    let address = |sets: &[(&str, &str)]| plan(&text, sets).address().unwrap_or_default();
    assert_eq!(address(&[("flows.bulk.stack", "midflight")]), address(&[]));
    let linux = plan(&text, &[("flows.bulk.stack", "linux")]);
    assert_ne!(linux.address().unwrap_or_default(), address(&[]));
    let canonical = linux.canonical().unwrap_or_default();
    assert!(
        canonical.contains(r#""scheme":"cubic","stack":"linux""#),
        "{canonical}"
    );
    let run = run_scenarios(&[linux], Execution::default(), |_, _| true);
    let error = run.map_or_else(|e| e.to_string(), |_| "it ran".into());
    assert!(
        error.starts_with("flow \"bulk\" has the stack \"linux\", which is not simulated"),
        "{error}"
    );
}
