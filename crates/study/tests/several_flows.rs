//! Several flows that move together, and residents of the new link: forks equal runs from the
//! start, every flow's notice has the number of moving flows, and equal flows get equal shares.
#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_control::LinkInfo;
use midflight_sim::{Digest, Event, FlowId, LinkId, Observer};
use midflight_study::{
    run_sweeps, schemes, Execution, Flows, Handoff, HandoffKind, HandoffRow, Setup, StudyError,
    Sweep, TraceRow, REFERENCE_FIXED,
};
use midflight_units::{parse_instants, Duration, Instant, Rate};

use crate::one_run::{trace, TraceRun};

fn link(kbps: u64, ms: u64) -> LinkInfo {
    LinkInfo {
        rate: Rate::from_bps(kbps * 1000).unwrap_or(Rate::from_mbps(1)),
        delay: Duration::from_millis(ms),
    }
}

const FOUR: Flows = Flows {
    moving: 4,
    ..Flows::ONE
};

fn company() -> [Flows; 3] {
    let staggered = Flows {
        stagger: Duration::from_millis(30),
        ..FOUR
    };
    let with_residents = Flows {
        moving: 2,
        residents: 3,
        start_notice: true,
        ..staggered
    };
    [FOUR, staggered, with_residents]
}

fn handoff(kind: HandoffKind, flows: Flows) -> Handoff {
    Handoff {
        old: link(6400, 9),
        new: link(400, 150),
        kind,
        spares_uplink: true,
        notice_delay: Some(Duration::from_millis(20)),
        fixed: REFERENCE_FIXED,
        flows,
    }
}

const KINDS: [HandoffKind; 2] = [
    HandoffKind::MakeBeforeBreak,
    HandoffKind::BreakBeforeMake {
        gap: Duration::from_millis(500),
    },
];

fn sweep(handoff: Handoff) -> Sweep {
    Sweep {
        handoff,
        // Deliberately out of order.
        at: parse_instants("3.3s, 0.1s, 7.77s").unwrap_or_default(),
        schemes: ["sack", "enhanced", "enhanced-a5", "ehn", "freeze", "rlci"]
            .map(Into::into)
            .to_vec(),
        resident_scheme: "dcr-frto".into(),
        profile: "ns2".into(),
        knobs: Vec::new(),
        policies: Vec::new(),
        packets: 30,
        extra: vec![10, 40],
        window: Some(Duration::from_secs(2)),
        end: Instant::from_nanos(600_000_000_000),
    }
}

fn run_as(sweep: &Sweep, fork: bool, threads: usize) -> Vec<HandoffRow> {
    let rows = sweep.run(Execution { fork, threads });
    rows.unwrap_or_else(|e| panic!("{e}"))
}

/// Everything in the rows.
fn all_of(rows: &[HandoffRow]) -> Vec<String> {
    rows.iter().map(|row| format!("{row:?}")).collect()
}

#[test]
fn forks_and_threads_change_nothing() {
    for kind in KINDS {
        for flows in company() {
            for profile in ["ns2", "rfc"] {
                let sweep = Sweep {
                    profile: profile.into(),
                    ..sweep(handoff(kind, flows))
                };
                let reference = all_of(&run_as(&sweep, true, 2));
                assert_eq!(reference.len(), 6 * 3 * flows.count());
                assert_eq!(reference, all_of(&run_as(&sweep, true, 1)), "one thread");
                assert_eq!(
                    reference,
                    all_of(&run_as(&sweep, false, 2)),
                    "from the start"
                );
            }
        }
    }
}

/// A handoff at 5 s with one scheme for all flows.
fn setup(handoff: Handoff, scheme: &str, knobs: &[(&str, &str)]) -> Result<Setup, StudyError> {
    let knobs = knobs.iter().map(|(k, v)| ((*k).into(), (*v).into()));
    let sweep = Sweep {
        at: vec![Instant::from_nanos(5_000_000_000)],
        schemes: vec![scheme.into()],
        resident_scheme: scheme.into(),
        knobs: knobs.collect(),
        ..sweep(handoff)
    };
    Ok(sweep.setups()?.remove(0))
}

/// Packets that pass nodes without an event arrive at the same time as with one, including
/// residents' packets, whose paths join and leave the others halfway.
#[test]
fn routes_that_hold_change_nothing() {
    for kind in KINDS {
        for flows in company() {
            let run = |hold: bool| {
                let setup = setup(handoff(kind, flows), "sack", &[])?;
                let mut world = if hold {
                    setup.world(Digest::default())?
                } else {
                    setup.world_by_events(Digest::default())?
                };
                world.run_before(Instant::from_nanos(30_000_000_000))?;
                Ok::<_, StudyError>(*world.observer())
            };
            let (every_event, held) = (run(false), run(true));
            let every_event = every_event.unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(Some(every_event), held.ok(), "{flows:?}");
        }
    }
}

/// The digest of a run in which every packet has an event at every link.
#[derive(Clone, Default)]
struct EveryLink(Digest);

impl Observer for EveryLink {
    fn taps(&self, _link: LinkId) -> bool {
        true
    }

    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        if !matches!(event, Event::Entered { .. }) {
            self.0.record(now, flow, event);
        }
    }
}

/// Routers see packets that pass without an event at the same times as with one.
#[test]
fn routers_answer_the_same_ahead_of_time() {
    for kind in KINDS {
        for flows in company() {
            let flows = Flows {
                start_notice: true,
                ..flows
            };
            let run = |routers: &str, every_link: bool| {
                let handoff = Handoff {
                    old: link(400, 150),
                    new: link(6400, 9),
                    ..handoff(kind, flows)
                };
                let until = Instant::from_nanos(30_000_000_000);
                // Short, so that the time at which a router sees a packet matters.
                let knobs = [
                    ("quick_start_routers", routers),
                    ("quick_start_interval", "3ms"),
                ];
                let setup = setup(handoff, "vho-qs", &knobs)?;
                if every_link {
                    let mut world = setup.world_by_events(EveryLink::default())?;
                    world.run_before(until)?;
                    return Ok(world.observer().0);
                }
                let mut world = setup.world(Digest::default())?;
                world.run_before(until)?;
                Ok::<_, StudyError>(*world.observer())
            };
            let of = |routers, every_link| run(routers, every_link).unwrap_or_default();
            assert_eq!(of("all", true), of("all", false), "{flows:?}");
            assert_ne!(of("all", false), of("none", false), "they are asked");
        }
    }
}

#[test]
fn forks_are_runs_from_the_start_with_every_scheme() {
    // BBR works with the Linux recovery only.
    let names = schemes()
        .into_iter()
        .filter(|s| !["bbr-linux", "bbr3"].contains(&&*s.name));
    let names = names.map(|s| match &*s.name {
        "ld-handover" => "ld-handover+frto".to_string(),
        _ => s.name.into_owned(),
    });
    let needed = ["timestamps", "dsack"].map(|name| (name.into(), "on".into()));
    let alone = Flows {
        start_notice: true,
        ..Flows::ONE
    };
    let several = Flows {
        start_notice: true,
        ..company()[1]
    };
    let mut sweep = Sweep {
        schemes: names.collect(),
        knobs: needed.to_vec(),
        at: parse_instants("2.5s, 0.2s, 4.1s").unwrap_or_default(),
        ..sweep(handoff(KINDS[0], Flows::ONE))
    };
    for kind in KINDS {
        for flows in [alone, several, company()[2]] {
            sweep.handoff = handoff(kind, flows);
            let forked = all_of(&run_as(&sweep, true, 2));
            assert_eq!(forked, all_of(&run_as(&sweep, false, 2)), "{flows:?}");
        }
    }
}

/// A scheme that acts on the start notice has one prefix for all new links, but one for each of its
/// settings.
#[test]
fn schemes_with_a_start_notice_have_their_own_pasts() {
    let flows = Flows {
        start_notice: true,
        ..company()[1]
    };
    let notified = Sweep {
        schemes: ["vho", "abest-vho", "iw10", "sack", "vho-qs"]
            .map(Into::into)
            .to_vec(),
        knobs: vec![("dsack".into(), "on".into())],
        ..sweep(handoff(KINDS[0], flows))
    };
    let mut sweeps = vec![notified.clone()];
    for (knob, value) in [
        ("abest_release", "burst"),
        ("quick_start_request", "most"),
        ("quick_start_routers", "none"),
        ("initial_window", "2"),
    ] {
        let mut other = notified.clone();
        other.knobs.push((knob.into(), value.into()));
        other.handoff.new = link(200, 300);
        sweeps.push(other.clone());
        other.handoff.kind = KINDS[1];
        sweeps.push(other);
    }
    let together = run_sweeps(&sweeps, Execution::default(), |_, _| true);
    let together = together.unwrap_or_else(|e| panic!("{e}"));
    for (sweep, rows) in sweeps.iter().zip(&together) {
        let from_start = all_of(&run_as(sweep, false, 2));
        assert_eq!(from_start, all_of(rows), "{:?}", sweep.knobs);
    }
}

#[test]
fn sweeps_that_differ_in_their_flows_are_the_same_together_as_alone() {
    let mut sweeps = Vec::new();
    for kind in KINDS {
        for flows in company().into_iter().chain([Flows::ONE]) {
            let one = sweep(handoff(kind, flows));
            // Other new links: they share the prefix unless there are residents.
            let mut other = one.clone();
            other.handoff.new = link(200, 300);
            let mut plain = one.clone();
            plain.resident_scheme = "sack".into();
            sweeps.extend([one, other, plain]);
        }
    }
    let together = run_sweeps(&sweeps, Execution::default(), |_, _| true);
    let together = together.unwrap_or_else(|e| panic!("{e}"));
    for (sweep, rows) in sweeps.iter().zip(&together) {
        let alone = all_of(&run_as(sweep, true, 1));
        assert_eq!(alone, all_of(rows), "{:?}", sweep.handoff);
    }
}

#[test]
fn the_order_of_schemes_and_instants_does_not_matter() {
    let forward = sweep(handoff(KINDS[1], company()[2]));
    let mut backward = forward.clone();
    backward.schemes.reverse();
    backward.at.reverse();
    let (rows, mut reversed) = (run_as(&forward, true, 2), run_as(&backward, true, 2));
    let flows = forward.handoff.flows.count();
    // Runs in the opposite order, the flows of each in the same.
    reversed = reversed
        .chunks(flows)
        .rev()
        .flat_map(<[_]>::to_vec)
        .collect();
    assert_eq!(all_of(&rows), all_of(&reversed));
}

#[test]
fn rows_are_numbered_and_of_one_run() {
    let sweep = sweep(handoff(KINDS[0], company()[2]));
    for (run, rows) in run_as(&sweep, true, 2).chunks(5).enumerate() {
        assert_eq!(rows[0].at, sweep.at[run % 3]);
        for (row, number) in rows.iter().zip(0..) {
            assert_eq!((row.flow, row.resident), (number, number >= 2));
            assert_eq!((row.at, row.digest), (rows[0].at, rows[0].digest));
            assert!(row.t_new.is_some() && row.t_new_extra.iter().all(Option::is_some));
            assert_eq!(row.t_newpath.is_some(), !row.resident);
            assert_eq!(row.drops_break * u32::from(row.resident), 0);
        }
    }
}

fn trace_of(sweep: &Sweep, flow: u32) -> Vec<TraceRow> {
    let run = TraceRun {
        handoff: sweep.handoff,
        at: Some(sweep.at[0]),
        scheme: sweep.schemes[0].clone(),
        resident_scheme: sweep.resident_scheme.clone(),
        flow,
        profile: sweep.profile.clone(),
        knobs: Vec::new(),
        packets: 1_000_000,
        end: Instant::from_nanos(60_000_000_000),
    };
    let traced = trace(&run, &mut || true);
    traced.unwrap_or_else(|e| panic!("{e}")).0
}

#[test]
fn measures_of_each_flow_equal_those_of_its_trace() {
    for kind in KINDS {
        let mut sweep = sweep(handoff(kind, company()[2]));
        sweep.schemes = vec!["enhanced".into()];
        sweep.at.truncate(1);
        let at = sweep.at[0];
        let window = sweep.window.unwrap_or_default();
        for row in run_as(&sweep, true, 1) {
            let events = trace_of(&sweep, row.flow);
            let highest = |event, until| {
                let before = events.iter().filter(|e| e.event == event && e.at < until);
                before.map(|e| e.value as i64).max().unwrap_or(-1)
            };
            assert_eq!(row.maxseq, highest("send", at), "flow {}", row.flow);
            let target = (row.maxseq + 30) as f64;
            let reached = events
                .iter()
                .find(|e| e.event == "ack" && e.value >= target);
            assert_eq!(row.t_new, reached.map(|e| e.at.since(at)));
            let acked = highest("ack", at + window) - highest("ack", at);
            assert_eq!(row.acked_window, u64::try_from(acked).ok());
            let notices = events.iter().filter(|e| e.event == "notice").count();
            assert_eq!(notices, usize::from(!row.resident));
            assert_eq!(events.iter().filter(|e| e.event == "make").count(), 1);
        }
    }
}

/// Daniel & Kojo's BDP / number of flows: the BDP of 400 kbit/s and 150 ms is 11 packets.
#[test]
fn each_flow_takes_its_part_of_the_new_links_bdp() {
    let mut sweep = sweep(handoff(KINDS[0], FOUR));
    sweep.handoff.old = link(6400, 75);
    sweep.schemes = vec!["a2".into()];
    let mut acted = 0;
    for flow in 0..4 {
        let events = trace_of(&sweep, flow);
        let mut orders = events.iter().filter(|e| e.event == "order");
        if let Some(order) = orders.next() {
            acted += 1;
            assert!(order.detail.contains("set cwnd to 2 "), "{}", order.detail);
            assert!(
                order.detail.contains("exceeds 2 x BDP 2"),
                "{}",
                order.detail
            );
        }
    }
    assert!(acted >= 3, "{acted} flows of 4");
}

/// 60 s of a link that four flows fill.
#[test]
fn flows_that_are_alike_share_the_link_alike() {
    for profile in ["ns2", "rfc"] {
        let mut sweep = sweep(handoff(KINDS[0], FOUR));
        sweep.handoff.old = link(6400, 37);
        sweep.handoff.new = link(6400, 37);
        sweep.schemes = vec!["sack".into()];
        sweep.profile = profile.into();
        sweep.window = Some(Duration::from_secs(60));
        for rows in run_as(&sweep, true, 2).chunks(4) {
            let acked = rows.iter().map(|r| r.acked_window.unwrap_or(0) as f64);
            let (sum, squares) = acked.fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
            let jain = sum * sum / (4.0 * squares);
            assert!(jain > 0.95, "{profile} at {}: {jain}", rows[0].at);
            let carried = sum * 12_000.0 / (60.0 * 6.4e6);
            assert!(carried > 0.85, "{profile}: {carried} of the link");
        }
    }
}

/// Residents have the new link to themselves until the handoff, and then share it.
#[test]
fn residents_are_there_first_and_give_way() {
    let alone = Flows {
        residents: 1,
        ..Flows::ONE
    };
    let mut sweep = sweep(handoff(KINDS[0], alone));
    sweep.resident_scheme = "sack".into();
    sweep.at = parse_instants("20s").unwrap_or_default();
    sweep.schemes = vec!["sack".into()];
    sweep.window = Some(Duration::from_secs(60));
    let rows = run_as(&sweep, true, 1);
    let [moving, resident] = &rows[..] else {
        panic!("two flows")
    };
    // 20 s at 400 kbit/s are 666 packets.
    assert!((500..=667).contains(&resident.hiack), "{}", resident.hiack);
    assert!(moving.hiack > 5_000, "{}", moving.hiack);
    let acked = [moving, resident].map(|r| r.acked_window.unwrap_or(0));
    assert!(acked.iter().all(|&n| n > 200), "{acked:?}");
    assert!(
        (1_700..=2_001).contains(&(acked[0] + acked[1])),
        "{acked:?}"
    );
}

#[test]
fn values_that_no_run_can_hold_are_refused() {
    let refused = |change: &dyn Fn(&mut Sweep)| {
        let mut sweep = sweep(handoff(KINDS[0], FOUR));
        change(&mut sweep);
        let refused = sweep.run(Execution::default());
        refused.map_or_else(|e| e.to_string(), |rows| panic!("{} rows", rows.len()))
    };
    let text = refused(&|s| s.handoff.flows.moving = 0);
    assert!(
        text.contains("flows 0") && text.contains("1 to 64"),
        "{text}"
    );
    let text = refused(&|s| s.handoff.flows.moving = 65);
    assert!(text.contains("flows 65"), "{text}");
    let text = refused(&|s| s.handoff.flows.residents = 65);
    assert!(
        text.contains("residents 65") && text.contains("0 to 64"),
        "{text}"
    );
    let text = refused(&|s| s.handoff.flows.stagger = Duration::from_millis(50));
    assert!(text.contains("0.15") && text.contains("0.1 s"), "{text}");
    let text = refused(&|s| s.window = Some(Duration::from_secs(600)));
    assert!(text.contains("window of 600 s"), "{text}");
    let text = refused(&|s| s.window = Some(Duration::ZERO));
    assert!(text.contains("window 0"), "{text}");
    let text = refused(&|s| s.resident_scheme = "vegas".into());
    assert!(text.contains("vegas"), "{text}");
}

#[test]
fn a_flow_that_the_run_has_not_cannot_be_traced() {
    let sweep = sweep(handoff(KINDS[0], FOUR));
    let run = TraceRun {
        handoff: sweep.handoff,
        at: None,
        scheme: "sack".into(),
        resident_scheme: "sack".into(),
        flow: 4,
        profile: "ns2".into(),
        knobs: Vec::new(),
        packets: 1,
        end: sweep.end,
    };
    let refused = trace(&run, &mut || true);
    assert!(matches!(refused, Err(StudyError::UnknownFlow { .. })));
}
