//! A mobile node that changes its base station: the times of events, the same random conditions for all
//! schemes, and the refusal of invalid input.
#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_control::signal::HANDOFF_SIGNALS;
use midflight_control::LinkInfo;
use midflight_study::{
    read_loss, run_roaming, Execution, ForgedAck, Forgery, HandoffPrediction, Roaming,
    RoamingHandoffs, RoamingRow, SignalFate, StudyError, TraceRow,
};
use midflight_units::{Duration, Instant, Rate};

use crate::one_run::{capture_roaming, trace_roaming};

fn seconds(s: f64) -> Instant {
    Instant::from_nanos((s * 1e9) as u64)
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn link(mbps: u64, delay_ms: u64) -> LinkInfo {
    LinkInfo {
        rate: Rate::from_mbps(mbps),
        delay: ms(delay_ms),
    }
}

/// The paper's network for 60 s, without losses.
fn paper(scheme: &str) -> Roaming {
    let knobs = [
        ("segment_bytes", "1000"),
        ("delayed_ack", "off"),
        ("min_rto", "1s"),
        ("receiver_window", "40"),
        ("recovery", "newreno"),
    ];
    Roaming {
        backbone: link(100, 50),
        access: link(10, 3),
        wireless: link(2, 5),
        limit: 50,
        loss: None,
        back_loss: None,
        script: Vec::new(),
        back_script: Vec::new(),
        stations: 2,
        fixed: Vec::new(),
        handoffs: Some(RoamingHandoffs {
            every: Duration::from_secs(5),
            advertisement: ms(100),
            blackout: Duration::ZERO,
            signal: SignalFate {
                lost: 0.0,
                copies: 1,
                delay: Duration::ZERO,
            },
            foresight: HandoffPrediction {
                late: Duration::ZERO,
                early: Duration::ZERO,
                missed: 0.0,
            },
        }),
        forgery: None,
        scheme: scheme.into(),
        profile: "ns2".into(),
        knobs: knobs.map(|(k, v)| (k.into(), v.into())).to_vec(),
        policies: Vec::new(),
        seed: 1,
        runs: vec![0, 1, 2],
        end: seconds(60.0),
    }
}

fn handoffs(roaming: &mut Roaming) -> &mut RoamingHandoffs {
    roaming
        .handoffs
        .as_mut()
        .unwrap_or_else(|| panic!("it moves"))
}

fn rows(roaming: &Roaming) -> Vec<RoamingRow> {
    let runs = run_roaming(
        std::slice::from_ref(roaming),
        Execution::default(),
        |_, _| true,
    );
    let runs = runs.unwrap_or_else(|e| panic!("{e}")).remove(0);
    runs.into_iter().flat_map(|run| run.rows).collect()
}

fn trace(roaming: &Roaming, until: f64) -> Vec<TraceRow> {
    let traced = trace_roaming(roaming, 0, Instant::ZERO, seconds(until), &[], &mut || true);
    traced.unwrap_or_else(|e| panic!("{e}")).0
}

fn instants(rows: &[TraceRow], event: &str) -> Vec<Instant> {
    rows.iter()
        .filter(|r| r.event == event)
        .map(|r| r.at)
        .collect()
}

fn acked(roaming: &Roaming) -> u64 {
    rows(roaming).iter().map(|r| r.acked).sum()
}

/// The registration takes 58 ms and 40 bytes on three links to the agent, and
/// what the agent sends then 50 ms to the router, 8 ms and 1000 bytes on two
/// links to the node.
#[test]
fn the_timeline_of_a_handoff() {
    let up = ms(58) + Duration::from_nanos(160_000 + 32_000 + 3_200);
    let down = ms(58) + Duration::from_nanos(80_000 + 800_000 + 4_000_000);
    let mut detections = Vec::new();
    for seed in 1..=20 {
        let mut node = paper("ehn");
        node.seed = seed;
        let rows = trace(&node, 6.0);
        let (left, switched) = (instants(&rows, "break")[0], instants(&rows, "make")[0]);
        assert_eq!(left, seconds(5.0));
        let marked = rows.iter().find(|r| r.detail == "mark 1");
        let marked = marked.unwrap_or_else(|| panic!("no mark")).at;
        // Mark and registration take the same path.
        assert_eq!(switched, marked + ms(50), "seed {seed}");
        detections.push(marked.since(left).saturating_sub(up));
        let received = rows.iter().find(|r| r.event == "rcv" && r.at > left);
        let received = received.unwrap_or_else(|| panic!("nothing arrives")).at;
        // The links have rates: as long as an ACK or a packet more than on idle ones.
        let late = received.since(marked + down);
        assert!(late < ms(1), "seed {seed}: {late}");
        let drops: Vec<&TraceRow> = rows
            .iter()
            .filter(|r| r.event == "drop" && r.detail == "data left break")
            .collect();
        assert!(drops.len() > 10, "seed {seed}");
        assert!(drops
            .iter()
            .all(|r| r.at > left && r.at < switched + ms(250)));
        // From here on everything arrives.
        let lost = rows.iter().filter(|r| r.event == "drop").count();
        assert_eq!(lost, drops.len(), "seed {seed}");
    }
    detections.sort_unstable();
    assert!(detections[0] < ms(25) && detections[19] > ms(75) && detections[19] < ms(100));
}

/// A blackout lasts until the node can receive advertisements again.
#[test]
fn a_blackout_is_time_without_a_link() {
    let mut node = paper("ehn");
    let at = |node: &Roaming| instants(&trace(node, 8.0), "make")[0];
    let without = at(&node);
    handoffs(&mut node).blackout = ms(700);
    assert_eq!(at(&node), without + ms(700));
    let rows = trace(&node, 8.0);
    let quiet = rows
        .iter()
        .filter(|r| r.event == "rcv" && r.at > seconds(5.0));
    assert!(quiet.map(|r| r.at).min() > Some(seconds(5.7)));
}

#[test]
fn freeze_warns_ahead_and_withheld_data_are_not_lost() {
    let mut node = paper("freeze");
    node.knobs.push(("freeze_warning".into(), "300ms".into()));
    let rows = trace(&node, 6.0);
    let frozen = rows.iter().find(|r| r.detail == "zero window");
    let frozen = frozen.unwrap_or_else(|| panic!("no zero window")).at;
    // 58 ms on its way, and the ACKs before it.
    assert!(
        frozen > seconds(4.758) && frozen < seconds(4.77),
        "{frozen}"
    );
    assert!(rows.iter().all(|r| r.event != "drop"), "nothing is lost");
    assert!(rows.iter().all(|r| r.event != "rto"));
    let sends = rows.iter().filter(|r| r.event == "send");
    let during = sends
        .filter(|r| r.at > frozen && r.at < seconds(5.0))
        .count();
    assert_eq!(during, 0, "nothing goes while the window is closed");
    let again = rows
        .iter()
        .find(|r| r.event == "send" && r.at > seconds(5.0));
    assert!(again.is_some_and(|r| r.at < seconds(5.16)));
    // A prediction that is too late has no effect.
    handoffs(&mut node).foresight.late = ms(280);
    assert!(trace(&node, 6.0).iter().any(|r| r.event == "drop"));
}

/// A node that does not predict a handoff still sends three ACKs afterwards.
#[test]
fn freeze_without_foresight_is_tr_acks() {
    let mut blind = paper("freeze");
    handoffs(&mut blind).foresight.missed = 1.0;
    assert_eq!(rows(&blind), rows(&paper("tr-acks")));
    let half = |missed: f64| {
        let mut node = paper("freeze");
        handoffs(&mut node).foresight.missed = missed;
        rows(&node).iter().map(|r| r.drops_break).sum::<u64>()
    };
    let lost = [0.0, 0.5, 1.0].map(half);
    assert!(lost[0] < lost[1] && lost[1] < lost[2], "{lost:?}");
}

/// Nodes that are run together share only the common part of their runs.
#[test]
fn nodes_run_together_are_the_same_as_alone() {
    let knob = |name: &str, value: &str| vec![(name.into(), value.into())];
    let mut nodes: Vec<Roaming> = ["sack", "enhanced", "frto-2003", "ehn", "ehn", "freeze"]
        .map(paper)
        .to_vec();
    nodes[4].knobs = knob("ehn_rtt", "one-way");
    nodes.push(Roaming {
        end: seconds(40.0),
        ..paper("enhanced")
    });
    nodes.push(Roaming {
        runs: vec![2, 0],
        ..paper("sack")
    });
    let all = |fork| {
        let how = Execution {
            fork,
            ..Execution::default()
        };
        let tables = run_roaming(&nodes, how, |_, _| true).unwrap_or_else(|e| panic!("{e}"));
        format!("{tables:?}")
    };
    assert_eq!(all(true), all(false));
}

#[test]
fn threads_and_repetition_change_nothing() {
    // A signal that suppresses duplicates is silent if there are none, and one that acts on a difference
    // between the links is silent if they are equal.
    let silent = [
        "nodupack",
        "fast-ack",
        "slow-ack",
        "ack-delay",
        "receiver-bdp",
        "ack-pacing",
    ];
    let nodes: Vec<Roaming> = HANDOFF_SIGNALS
        .iter()
        .filter(|signal| !silent.contains(&signal.name))
        .map(|signal| Roaming {
            loss: read_loss("burst 0.5% 3").ok(),
            fixed: vec![2, 1],
            ..paper(if signal.name == "ehn-notify" {
                "ehn"
            } else {
                scheme_of(signal.name)
            })
        })
        .collect();
    let digests = |threads| {
        let how = Execution {
            threads,
            ..Execution::default()
        };
        let tables = run_roaming(&nodes, how, |_, _| true).unwrap_or_else(|e| panic!("{e}"));
        let each = tables.into_iter().flatten();
        each.map(|run| (run.digest.to_string(), format!("{:?}", run.rows)))
            .collect::<Vec<_>>()
    };
    let reference = digests(1);
    assert_eq!(reference, digests(2));
    let mut different: Vec<_> = reference.iter().map(|(digest, _)| digest).collect();
    different.sort_unstable();
    different.dedup();
    assert_eq!(
        different.len(),
        nodes.len() * 3,
        "each run of each scheme is its own"
    );
}

/// The scheme that has only this signal.
fn scheme_of(signal: &str) -> &str {
    if signal == "silent" {
        "sack"
    } else {
        signal
    }
}

/// Schemes have the same handoffs and the same radio conditions.
#[test]
fn chance_does_not_depend_on_the_scheme() {
    let moves = |scheme: &str| {
        let mut node = paper(scheme);
        node.stations = 4;
        let rows = rows(&node);
        let stations: Vec<u8> = rows.iter().map(|r| r.station).collect();
        (instants(&trace(&node, 60.0), "make"), stations)
    };
    let reference = moves("sack");
    assert_eq!(reference.0.len(), 11);
    for scheme in ["tr-acks", "freeze", "ehn"] {
        assert_eq!(moves(scheme), reference, "{scheme}");
    }
    let visited: std::collections::BTreeSet<u8> = reference.1.iter().copied().collect();
    assert_eq!(visited.len(), 4, "it goes everywhere");
    let stays = reference.1.windows(2).filter(|w| w[0] == w[1]).count();
    // Intervals of one run follow each other; a run starts at the first station.
    assert!(stays <= 2, "it never goes where it is");
}

#[test]
fn rows_cover_the_run_and_every_node() {
    let mut node = paper("ehn");
    node.fixed = vec![1, 2];
    let rows = rows(&node);
    assert_eq!(rows.len(), 3 * 12 * 4);
    let of_run: Vec<&RoamingRow> = rows.iter().take(12 * 4).collect();
    let mut from = Instant::ZERO;
    for (interval, nodes) in of_run.chunks(4).enumerate() {
        let stations: Vec<u8> = nodes[1..].iter().map(|r| r.station).collect();
        assert_eq!(stations, [0, 1, 1]);
        for (place, row) in nodes.iter().enumerate() {
            assert_eq!(
                (row.interval as usize, row.node as usize),
                (interval, place)
            );
            assert_eq!(row.from, from);
        }
        from = nodes[0].until;
    }
    assert_eq!(from, node.end);
    // The second station's nodes share a link with each other and sometimes with the mobile one.
    let acked = |node: u32| -> u64 {
        rows.iter()
            .filter(|r| r.node == node)
            .map(|r| r.acked)
            .sum()
    };
    assert!(acked(1) > acked(2) + acked(3) / 4);
    let all: u64 = (0..4).map(acked).sum();
    let most = 3 * 2 * 60 * 2_000_000 / 8000;
    assert!(all < most && all > most / 2, "{all} of {most}");
}

#[test]
fn losses_are_where_they_belong() {
    let sum = |node: &Roaming, f: fn(&RoamingRow) -> u64| rows(node).iter().map(f).sum::<u64>();
    let mut node = paper("sack");
    assert_eq!(sum(&node, |r| r.drops_radio), 0);
    assert!(sum(&node, |r| r.drops_break) > 300);
    node.loss = read_loss("uniform 1%").ok();
    let sent = sum(&node, |r| r.sent);
    let lost = sum(&node, |r| r.drops_radio);
    assert!(
        (lost as f64 / sent as f64 - 0.01).abs() < 0.003,
        "{lost} of {sent}"
    );
    node.handoffs = None;
    assert_eq!(sum(&node, |r| r.drops_break), 0);
    assert_eq!(rows(&node).len(), 3, "one interval");
}

/// A signal that is lost, late, duplicated or forged.
#[test]
fn ehn_at_its_worst_is_a_plain_sender() {
    let plain = acked(&paper("sack"));
    let good = acked(&paper("ehn"));
    assert!(good > plain * 11 / 10, "{good} {plain}");
    let spoiled = |f: &dyn Fn(&mut RoamingHandoffs)| {
        let mut node = paper("ehn");
        f(handoffs(&mut node));
        acked(&node)
    };
    assert_eq!(spoiled(&|h| h.signal.lost = 1.0), plain);
    assert_eq!(spoiled(&|h| h.signal.copies = 5), good);
    assert!(spoiled(&|h| h.signal.delay = ms(400)) > plain);
    for (ack, every_ms) in [(ForgedAck::Old, 50), (ForgedAck::Unsent, 50)] {
        let mut node = paper("ehn");
        node.forgery = Some(Forgery {
            ack,
            every: ms(every_ms),
        });
        assert_eq!(acked(&node), good, "{ack:?}: as if it had not come");
    }
}

/// Marks come more often than the timer expires, and restart it; Sack1's window has no minimum. The flow
/// continues in every interval anyway.
#[test]
fn a_flow_continues_under_forged_marks_with_the_right_number() {
    for recovery in ["reno", "newreno", "sack1", "sack"] {
        let mut node = paper("ehn");
        let knobs = [
            ("recovery", recovery),
            ("count_sackless_dupacks", "on"),
            ("initial_window", "2"),
            ("receiver_window", "64"),
        ];
        node.knobs
            .retain(|(name, _)| knobs.iter().all(|knob| knob.0 != name));
        let knobs = knobs.map(|(name, value)| (name.into(), value.into()));
        node.knobs.extend(knobs);
        node.loss = read_loss("uniform 1%").ok();
        node.runs = (0..10).collect();
        node.forgery = Some(Forgery {
            ack: ForgedAck::Current,
            every: ms(100),
        });
        for row in rows(&node) {
            assert!(row.acked > 0, "{recovery}: {row:?}");
        }
    }
}

/// A trace and a capture are of the run itself, including forged ACKs.
#[test]
fn a_trace_has_the_digest_of_its_run() {
    for (_, ack) in ForgedAck::ALL {
        for scheme in ["sack", "ehn"] {
            let mut node = paper(scheme);
            node.forgery = Some(Forgery {
                ack,
                every: Duration::from_millis(700),
            });
            let runs = run_roaming(&[node.clone()], Execution::default(), |_, _| true);
            let runs = runs.unwrap_or_else(|e| panic!("{e}")).remove(0);
            let traced = trace_roaming(&node, 0, Instant::ZERO, node.end, &[], &mut || true);
            let (rows, digest) = traced.unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(digest, runs[0].digest.to_string(), "{scheme} {ack:?}");
            let forged = rows
                .iter()
                .filter(|r| r.event == "ack" && r.detail.starts_with("mark 2147"));
            let due = node.end.since(Instant::ZERO).as_nanos() / 700_000_000;
            assert_eq!(forged.count() as u64, due, "{scheme} {ack:?}");
            let captured = capture_roaming(&node, 0, node.end, 64, &mut || true);
            let (_, digest) = captured.unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(digest, runs[0].digest.to_string(), "{scheme} {ack:?}");
        }
    }
}

#[test]
fn a_trace_ends_at_its_limit() {
    let node = paper("sack");
    let stopped = trace_roaming(&node, 0, Instant::ZERO, node.end, &[], &mut || false);
    assert!(matches!(stopped, Err(StudyError::Interrupted)));
}

/// An invalid value, and a part of the error text.
type Case<'a> = (&'a dyn Fn(&mut Roaming), &'a str);

#[test]
fn setups_that_cannot_run_are_refused() {
    let refused = |f: &dyn Fn(&mut Roaming)| {
        let mut node = paper("ehn");
        f(&mut node);
        let run = run_roaming(&[node.clone()], Execution::default(), |_, _| true);
        let traced = trace_roaming(&node, 0, Instant::ZERO, node.end, &[], &mut || true);
        assert!(traced.is_err());
        match run {
            Err(error) => error.to_string(),
            Ok(_) => panic!("accepted"),
        }
    };
    let cases: [Case; 13] = [
        (&|n| n.runs.clear(), "no run"),
        (&|n| n.end = Instant::ZERO, "end of the run"),
        (&|n| n.limit = 0, "queue limit of"),
        (&|n| n.stations = 1, "number of base stations 1"),
        (&|n| n.stations = 9, "number of base stations 9"),
        (&|n| n.fixed = vec![1, 1, 1], "list of residents 3"),
        (&|n| n.fixed = vec![201], "residents at a station 201"),
        (&|n| handoffs(n).signal.lost = 1.5, "signals lost 1.5"),
        (
            &|n| handoffs(n).foresight.missed = f64::NAN,
            "not predicted NaN",
        ),
        (
            &|n| handoffs(n).every = ms(200),
            "a handoff every 200 ms is too frequent",
        ),
        (
            &|n| {
                n.scheme = "freeze".into();
                handoffs(n).foresight.early = Duration::from_secs(5);
            },
            "a warning ahead of a handoff by 5.15 s",
        ),
        (
            &|n| n.end = seconds(1e9),
            "number of handoffs in a run times that of nodes 200000000",
        ),
        (&|n| n.scheme = "ehm".into(), "ehm"),
    ];
    for (spoil, expected) in cases {
        let message = refused(spoil);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_run_stops_at_its_limit() {
    let mut endless = paper("ehn");
    endless.end = Instant::from_nanos(u64::MAX / 2);
    handoffs(&mut endless).every = Duration::from_secs(1_000_000);
    let mut asked = 0;
    let stopped = run_roaming(&[endless], Execution::default(), |_, _| {
        asked += 1;
        asked < 3
    });
    assert!(matches!(stopped, Err(StudyError::Interrupted)));
}
