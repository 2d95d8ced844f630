//! A packet that passes a node without an event arrives at the same time as with one.

#![allow(clippy::panic, reason = "a failed test panics")]

use std::sync::Arc;

use midflight_sim::{
    random, Action, Clock, CrossTraffic, Curve, Digest, DropCause, Event, FlowConfig, FlowId,
    Impairments, LinkConfig, LinkId, LinkSchedule, LinkSetting, LossModel, NodeId, Observer,
    Opportunities, Outage, Pattern, QueueConfig, QueueKind, QueueParameters, Reordering, Schedule,
    Service, Shape, State, World, WorldConfig, WorldError, QUEUES,
};
use midflight_tcp::profile;
use midflight_units::{Duration, Instant, Rate};

const SENDER: NodeId = NodeId(0);
const ROUTER: NodeId = NodeId(1);
const OLD: NodeId = NodeId(2);
const NEW: NodeId = NodeId(3);
const RECEIVER: NodeId = NodeId(4);
const MIDDLE: NodeId = NodeId(5);

/// The digest, the digest without losses, and the losses.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    digest: Digest,
    /// The digest of everything except losses.
    without_losses: Digest,
    lost_to_queues: u32,
    lost_to_breaks: u32,
    lost_on_the_air: u32,
}

impl Observer for Seen {
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        self.digest.record(now, flow, event);
        if !matches!(event, Event::Dropped { .. }) {
            self.without_losses.record(now, flow, event);
        }
        match event {
            Event::Arrived {
                rerouted,
                duplicate,
                overtaken,
                ..
            } => {
                for &flag in [rerouted, duplicate, overtaken] {
                    self.digest.add(u64::from(flag));
                }
            }
            Event::Dropped { cause, .. } => match cause {
                DropCause::Queue | DropCause::Early => self.lost_to_queues += 1,
                DropCause::Break => self.lost_to_breaks += 1,
                DropCause::Radio => self.lost_on_the_air += 1,
                DropCause::Node => panic!("no node keeps anything back"),
            },
            _ => {}
        }
    }
}

fn id(link: u16) -> LinkId {
    World::<Seen>::link_id(link)
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// The return route over the old path.
#[derive(Clone, Copy, Debug)]
enum Return {
    /// It may break at its entry.
    Direct,
    /// Its packets wait for an event in the middle, where it may break.
    WaitsHalfway,
}

/// Two paths between a router and a receiver, 90 and 7 ms long; each flow takes either.
fn world(flows: u32, back: Return) -> World<Seen> {
    world_with(flows, back, |_, _| {})
}

/// The same with links that `change` was applied to, by their numbers.
fn world_with(flows: u32, back: Return, change: impl Fn(usize, &mut LinkConfig)) -> World<Seen> {
    let link = |name, from: NodeId, to: NodeId, kbps: u64, ms, may_break| LinkConfig {
        may_break,
        ..LinkConfig::new(
            name,
            (from, to),
            Rate::from_bps(kbps * 1000).unwrap_or(Rate::from_mbps(1)),
            Duration::from_millis(ms),
            Some(12),
        )
    };
    let (halfway, old_back) = match back {
        Return::Direct => (MIDDLE, (RECEIVER, OLD)),
        Return::WaitsHalfway => (MIDDLE, (MIDDLE, OLD)),
    };
    let mut links = vec![
        link("in", SENDER, ROUTER, 20_000, 3, false),
        link("to-old", ROUTER, OLD, 1_700, 90, false),
        link("old", OLD, RECEIVER, 20_000, 1, true),
        link("to-new", ROUTER, NEW, 3_300, 7, false),
        link("new", NEW, RECEIVER, 20_000, 1, false),
        link("old-back", old_back.0, old_back.1, 1_700, 90, true),
        link("from-old", OLD, ROUTER, 20_000, 1, false),
        link("new-back", RECEIVER, NEW, 3_300, 7, false),
        link("from-new", NEW, ROUTER, 20_000, 1, false),
        link("out", ROUTER, SENDER, 20_000, 3, false),
        link("to-halfway", RECEIVER, halfway, 20_000, 40, false),
    ];
    for (i, link) in links.iter_mut().enumerate() {
        change(i, link);
    }
    let first_back = match back {
        Return::Direct => id(5),
        Return::WaitsHalfway => id(10),
    };
    let routes = [
        (SENDER, RECEIVER, id(0)),
        (ROUTER, RECEIVER, id(1)),
        (OLD, RECEIVER, id(2)),
        (NEW, RECEIVER, id(4)),
        (RECEIVER, SENDER, first_back),
        (MIDDLE, SENDER, id(5)),
        (OLD, SENDER, id(6)),
        (NEW, SENDER, id(8)),
        (ROUTER, SENDER, id(9)),
    ];
    let alternatives = [
        (ROUTER, RECEIVER, id(1)),
        (ROUTER, RECEIVER, id(3)),
        (RECEIVER, SENDER, first_back),
        (RECEIVER, SENDER, id(7)),
    ];
    let profile = profile("ns2").unwrap_or_else(|e| panic!("{e}"));
    let flow = FlowConfig {
        from: SENDER,
        to: RECEIVER,
        sender: &profile.sender,
        parts: &profile.parts,
        receiver: &profile.receiver,
        policies: Vec::new(),
        addresses: Vec::new(),
        migrates: false,
    };
    let configs = vec![flow; flows as usize];
    let mut world = World::new(
        WorldConfig {
            clock: Clock::Seconds,
            nodes: 6,
            links: &links,
            routes: &routes,
            alternatives: &alternatives,
            flows: configs,
            ..WorldConfig::default()
        },
        Seen::default(),
    )
    .unwrap_or_else(|e| panic!("{e}"));
    for i in 0..flows {
        let flow = World::<Seen>::flow_id(i);
        schedule(&mut world, u64::from(i) * 37, Action::Open(flow));
    }
    world
}

fn schedule(world: &mut World<Seen>, ms: u64, action: Action) {
    world
        .schedule(at(ms), action)
        .unwrap_or_else(|e| panic!("{e}"));
}

fn route(node: NodeId, to: NodeId, link: u16) -> Action {
    let link = id(link);
    Action::Route { node, to, link }
}

/// Routes change to the new path, back, and to the new path again; then the old one breaks.
fn plan(world: &mut World<Seen>, back: Return) {
    let old = match back {
        Return::Direct => 5,
        Return::WaitsHalfway => 10,
    };
    for (ms, there, back) in [(2_011, 3, 7), (3_703, 1, old), (5_222, 3, 7)] {
        schedule(world, ms, route(ROUTER, RECEIVER, there));
        schedule(world, ms + 4, route(RECEIVER, SENDER, back));
    }
    for link in [2, 5] {
        schedule(world, 5_260, Action::Down(id(link)));
    }
}

/// Runs to an instant; returns the number of events.
fn run(world: &mut World<Seen>, ms: u64) -> u32 {
    let mut events = 0;
    loop {
        let next = world.next_event();
        if next.at() >= at(ms) {
            return events;
        }
        world.process(next).unwrap_or_else(|e| panic!("{e}"));
        events += 1;
    }
}

#[test]
fn routes_that_hold_change_nothing() {
    for back in [Return::Direct, Return::WaitsHalfway] {
        for flows in [1, 2, 5] {
            let case = format!("{flows} flows, {back:?}");
            let mut every_event = world(flows, back);
            plan(&mut every_event, back);
            let events = run(&mut every_event, 20_000);
            let seen = every_event.observer();
            assert!(seen.lost_to_queues > 0 && seen.lost_to_breaks > 0, "{case}");

            let mut all_known = world(flows, back);
            plan(&mut all_known, back);
            all_known.hold_routes_until(Instant::NEVER);
            let fewer = run(&mut all_known, 20_000);
            assert_eq!(all_known.observer(), seen, "{case}");
            assert!(
                fewer < events * 9 / 10,
                "{case}: {fewer} of {events} events"
            );

            // The promise is extended in small steps, and actions are scheduled late.
            let mut step_by_step = world(flows, back);
            for ms in (50..2_000).step_by(50) {
                step_by_step.hold_routes_until(at(ms));
                run(&mut step_by_step, ms);
            }
            plan(&mut step_by_step, back);
            step_by_step.hold_routes_until(at(9_999));
            run(&mut step_by_step, 20_000);
            assert_eq!(step_by_step.observer(), seen, "{case}");
        }
    }
}

/// Impairments of every kind, on links at all places of a chain, cross traffic, and links that may pause.
fn impair(i: usize, link: &mut LinkConfig) {
    let seed = random::seed(1, 0, &link.name, "impairments");
    let good = State {
        dwell: Duration::from_millis(300),
        loss: 0.001,
    };
    let bad = State {
        dwell: Duration::from_millis(50),
        loss: 0.3,
    };
    let flip = 0.5;
    let swap = Reordering::Swap {
        probability: 0.02,
        hold: Duration::from_millis(20),
    };
    let again = Reordering::LinkRetransmission {
        probability: 0.02,
        delay: Duration::from_millis(30),
    };
    let burst = LossModel::Burst {
        probability: 0.001,
        length: 3,
    };
    let (loss, reordering) = match i {
        1 => (Some(LossModel::Gilbert { good, bad, flip }), Some(again)),
        3 => (Some(burst), None),
        4 => (None, Some(swap)),
        5 => (Some(LossModel::Uniform { probability: 0.01 }), Some(swap)),
        7 => (None, Some(again)),
        _ => (None, None),
    };
    link.impairments = Impairments {
        loss,
        reordering,
        script: Vec::new(),
        seed,
    };
    let traffic = |pattern| CrossTraffic {
        pattern,
        bytes: 700,
        seed,
    };
    let rate = Rate::from_bps(300_000).unwrap_or_else(|| panic!("a rate"));
    let bursts = Pattern::OnOff {
        peak: Rate::from_mbps(1),
        on: Duration::from_millis(50),
        off: Duration::from_millis(150),
        shape: Some(1.5),
    };
    link.cross = match i {
        1 => Some(traffic(Pattern::Poisson { rate })),
        2 | 7 => Some(traffic(Pattern::Constant { rate })),
        _ => None,
    };
    link.may_pause = [3, 4, 6, 8].contains(&i);
    link.settings = vec![LinkSetting {
        rate: Rate::from_mbps(2),
        delay: Duration::from_millis(11),
        limit: Some(7),
        impairments: link.impairments.clone(),
        cross: (i == 4).then(|| traffic(bursts)),
    }];
}

#[test]
fn routes_that_hold_change_nothing_by_schedules_either() {
    for back in [Return::Direct, Return::WaitsHalfway] {
        for flows in [1, 2, 5] {
            let case = format!("{flows} flows, {back:?}");
            let mut every_event = world_with(flows, back, |i, link| link.schedule = follow(i));
            plan(&mut every_event, back);
            let mut all_known = every_event.clone();
            all_known.hold_routes_until(Instant::NEVER);
            let events = run(&mut every_event, 20_000);
            let seen = every_event.observer();
            assert!(seen.lost_to_queues > 0 && seen.lost_to_breaks > 0, "{case}");
            assert!(seen.lost_on_the_air > 0, "{case}");
            let fewer = run(&mut all_known, 20_000);
            assert_eq!(all_known.observer(), seen, "{case}");
            assert!(fewer < events, "{case}: {fewer} of {events} events");
        }
    }
}

/// Schedules for links at several places of a chain: with lines, with outages, and with opportunities.
fn follow(i: usize) -> Option<LinkSchedule> {
    let ms = Duration::from_millis;
    let curve = |points: &[(u64, f64)], shape, period| {
        let points: Vec<_> = points.iter().map(|&(at, v)| (ms(at), v)).collect();
        Curve::new(&points, shape, Some(ms(period))).unwrap_or_else(|e| panic!("{e}"))
    };
    let rate = |points: &[(u64, f64)], shape, period| Service::Rate(curve(points, shape, period));
    let (service, delay, loss, outage) = match i {
        0 => {
            let delay = curve(&[(0, 0.003), (41, 0.001)], Shape::Step, 83);
            let service = rate(&[(0, 20e6), (70, 3e6)], Shape::Linear, 171);
            (service, Some(delay), None, Outage::Hold)
        }
        2 => {
            let loss = curve(&[(0, 0.0), (900, 0.1)], Shape::Linear, 1_000);
            let service = rate(&[(0, 20e6), (470, 0.0)], Shape::Step, 500);
            (service, None, Some(loss), Outage::Drop)
        }
        6 => {
            let mut times: Vec<_> = (0..400).map(|n| ms(n * n % 7 + 7 * (n / 7))).collect();
            times.sort_unstable();
            let period = ms(420);
            let found = Opportunities::new(&times, 1500, period).unwrap_or_else(|e| panic!("{e}"));
            (Service::Opportunities(found), None, None, Outage::Hold)
        }
        9 => {
            let service = rate(&[(0, 20e6), (500, 0.0)], Shape::Step, 507);
            (service, None, None, Outage::Hold)
        }
        _ => return None,
    };
    let schedule = Schedule::new(service, delay, loss, outage).unwrap_or_else(|e| panic!("{e}"));
    let schedule = Arc::new(schedule);
    Some(LinkSchedule { schedule, seed: 3 })
}

/// The routes of [`plan`], and pauses of which one is not over when a route leads there.
fn plan_pauses(world: &mut World<Seen>, back: Return) {
    plan(world, back);
    for (ms, link, for_ms, setting) in [
        (2_500, 3, 300, Some(0)),
        (3_000, 8, 40, None),
        (3_700, 6, 1_600, Some(0)),
        (5_100, 4, 1_000, None),
        (9_000, 4, 200, Some(0)),
    ] {
        let link = id(link);
        schedule(world, ms, Action::Pause(link));
        schedule(world, ms + for_ms, Action::Resume { link, setting });
    }
    for (ms, link) in [(5_000, 3), (9_300, 4), (9_500, 4)] {
        let (link, setting) = (id(link), 0);
        schedule(world, ms, Action::Change { link, setting });
    }
}

#[test]
fn routes_that_hold_change_nothing_on_a_radio_either() {
    for back in [Return::Direct, Return::WaitsHalfway] {
        for flows in [1, 2, 5] {
            let case = format!("{flows} flows, {back:?}");
            let mut every_event = world_with(flows, back, impair);
            plan_pauses(&mut every_event, back);
            let mut all_known = every_event.clone();
            all_known.hold_routes_until(Instant::NEVER);
            run(&mut every_event, 20_000);
            let seen = every_event.observer();
            assert!(seen.lost_on_the_air > 10, "{case}");
            run(&mut all_known, 20_000);
            assert_eq!(all_known.observer(), seen, "{case}");
        }
    }
}

#[test]
fn a_copy_of_an_impaired_world_runs_the_same_course() {
    let mut original = world_with(3, Return::Direct, impair);
    plan_pauses(&mut original, Return::Direct);
    // It has its own history, which the copy overwrites.
    let mut copy = world_with(3, Return::Direct, impair);
    run(&mut copy, 1_500);
    for ms in [0, 2_600, 3_800, 5_500, 9_100] {
        run(&mut original, ms);
        copy.clone_from(&original);
        run(&mut copy, 20_000);
        let mut end = original.clone();
        run(&mut end, 20_000);
        assert_eq!(copy.observer(), end.observer(), "{ms} ms");
    }
}

/// A feature without an effect that needs an event for every packet.
fn harmless(link: &mut LinkConfig) {
    link.impairments.loss = Some(LossModel::Uniform { probability: 0.0 });
    link.impairments.reordering = Some(Reordering::Swap {
        probability: 0.0,
        hold: Duration::ZERO,
    });
}

/// An unused pause has no effect either.
#[test]
fn impairments_that_never_happen_change_nothing() {
    for back in [Return::Direct, Return::WaitsHalfway] {
        let mut plain = world(3, back);
        plan(&mut plain, back);
        run(&mut plain, 20_000);
        let all = |_: usize, link: &mut LinkConfig| harmless(link);
        let pausable = |i: usize, link: &mut LinkConfig| link.may_pause = i % 2 == 1;
        for mut world in [world_with(3, back, all), world_with(3, back, pausable)] {
            plan(&mut world, back);
            world.hold_routes_until(Instant::NEVER);
            run(&mut world, 20_000);
            assert_eq!(world.observer(), plain.observer(), "{back:?}");
        }
    }
}

/// Links whose queues have a discipline in what follows.
const CHOSEN: [usize; 4] = [1, 3, 5, 7];

/// The services that a schedule may have, with outages.
#[derive(Clone, Copy, Debug)]
enum Serves {
    Steps,
    Lines,
    Opportunities,
}

fn serve(serves: Serves, outage: Outage) -> LinkSchedule {
    let ms = Duration::from_millis;
    let rate = |points: &[(u64, f64)], shape| {
        let points: Vec<_> = points.iter().map(|&(at, bps)| (ms(at), bps)).collect();
        let curve = Curve::new(&points, shape, Some(ms(1_100)));
        Service::Rate(curve.unwrap_or_else(|e| panic!("{e}")))
    };
    let service = match serves {
        Serves::Steps => rate(&[(0, 2e6), (600, 0.7e6), (900, 0.0)], Shape::Step),
        Serves::Lines => rate(&[(0, 2e6), (700, 0.0), (800, 0.0)], Shape::Linear),
        Serves::Opportunities => {
            let times: Vec<_> = (0..150).map(|n| ms(6 * n)).collect();
            let found = Opportunities::new(&times, 1500, ms(1_100));
            Service::Opportunities(found.unwrap_or_else(|e| panic!("{e}")))
        }
    };
    let schedule = Schedule::new(service, None, None, outage).unwrap_or_else(|e| panic!("{e}"));
    let schedule = Arc::new(schedule);
    LinkSchedule { schedule, seed: 3 }
}

/// The run with a discipline at the chosen links that never drops early, or with drop-tail.
fn course(
    managed: Option<&'static QueueKind>,
    limit: Option<u32>,
    flows: u32,
    change: impl Fn(usize, &mut LinkConfig),
) -> (Seen, [midflight_sim::LinkCounts; 4]) {
    let mut world = world_with(flows, Return::Direct, |i, link| {
        change(i, link);
        if !CHOSEN.contains(&i) {
            return;
        }
        (link.counted, link.limit) = (true, limit);
        link.queue = managed.map(|kind| QueueConfig {
            kind,
            parameters: QueueParameters {
                target: Duration::from_secs(1_000_000),
                // The packet in transmission does not wait.
                packets: limit.map_or(u32::MAX, |limit| limit - 1),
                ..kind.default
            },
            seed: 0,
        });
    });
    plan(&mut world, Return::Direct);
    run(&mut world, 20_000);
    let counts = CHOSEN.map(|link| world.link_counts(id(link as u16)));
    (world.observer().clone(), counts)
}

/// A discipline that never drops early behaves like drop-tail: with handoffs, breaks, pauses, changes, losses on the
/// air, and schedules of every service and outage. FQ-CoDel does so with one flow and without a limit, where it drops
/// from the head.
#[test]
fn a_discipline_that_does_nothing_changes_nothing() {
    for kind in QUEUES {
        let has_limit = !kind.serves_flows;
        let limit = has_limit.then_some(12);
        let all: &[u32] = if has_limit { &[1, 2, 5] } else { &[1] };
        for &flows in all {
            // Cross traffic counts as another flow.
            for impaired in [false, has_limit] {
                let change = |i: usize, link: &mut LinkConfig| {
                    if impaired {
                        impair(i, link);
                    }
                };
                let case = format!("{kind:?}, {flows} flows, impaired: {impaired}");
                let plain = course(None, limit, flows, change);
                assert_eq!(course(Some(kind), limit, flows, change), plain, "{case}");
                assert!(plain.0.lost_to_queues > 0, "{case}");
            }
            for serves in [Serves::Steps, Serves::Lines, Serves::Opportunities] {
                for outage in [Outage::Hold, Outage::Drop] {
                    let change = |i: usize, link: &mut LinkConfig| {
                        if CHOSEN.contains(&i) {
                            link.schedule = Some(serve(serves, outage));
                        }
                    };
                    let case = format!("{kind:?}, {flows} flows, {serves:?}, {outage:?}");
                    let mut plain = course(None, limit, flows, change);
                    let mut managed = course(Some(kind), limit, flows, change);
                    if outage == Outage::Drop {
                        // The same packets are lost: here those that wait when the transmitter becomes free in the
                        // outage, with drop-tail at the instant at which they would have arrived.
                        for seen in [&mut plain.0, &mut managed.0] {
                            seen.digest = Digest::default();
                        }
                        assert!(
                            plain.0.lost_to_breaks > 0 || matches!(serves, Serves::Opportunities)
                        );
                    }
                    assert_eq!(managed, plain, "{case}");
                    let expects = has_limit && outage == Outage::Hold;
                    assert!(!expects || plain.0.lost_to_queues > 0, "{case}");
                }
            }
        }
    }
}

/// A copy of a world with active disciplines has the same course.
#[test]
fn a_copy_with_disciplines_runs_the_same_course() {
    for kind in QUEUES {
        let manage = |i: usize, link: &mut LinkConfig| {
            if [1, 3].contains(&i) {
                link.queue = Some(QueueConfig {
                    kind,
                    parameters: kind.default,
                    seed: 7,
                });
            }
        };
        let mut original = world_with(3, Return::Direct, manage);
        plan(&mut original, Return::Direct);
        run(&mut original, 4_000);
        let mut copy = original.clone();
        run(&mut original, 20_000);
        run(&mut copy, 20_000);
        assert_eq!(copy.observer(), original.observer(), "{kind:?}");
        assert!(original.observer().lost_to_queues > 0, "{kind:?}");
    }
}

#[test]
fn a_promise_is_kept() {
    let mut world = world(1, Return::Direct);
    world.hold_routes_until(at(1_000));
    let broken = world.schedule(at(999), route(ROUTER, RECEIVER, 3));
    assert_eq!(broken, Err(WorldError::FixedRoute { node: ROUTER.0 }));
    assert_eq!(
        world.schedule(at(1_000), route(ROUTER, RECEIVER, 3)),
        Ok(())
    );
    let undeclared = world.schedule(at(2_000), route(OLD, RECEIVER, 3));
    assert_eq!(undeclared, Err(WorldError::FixedRoute { node: OLD.0 }));
    let unbreakable = world.schedule(at(2_000), Action::Down(id(1)));
    assert_eq!(
        unbreakable,
        Err(WorldError::UnbreakableLink {
            link: "to-old".into()
        })
    );
}

#[test]
fn only_an_idle_link_takes_other_parameters() {
    let mut world = world(1, Return::Direct);
    let other = (Rate::from_mbps(2), Duration::from_millis(5), None);
    run(&mut world, 1_000);
    assert_eq!(world.retune(id(3), other.0, other.1, other.2), Ok(()));
    let error = world.retune(id(1), other.0, other.1, other.2);
    assert_eq!(
        error,
        Err(WorldError::LinkInUse {
            link: "to-old".into()
        })
    );
}

#[test]
fn only_a_silent_flow_takes_another_sender() {
    let seen = |refitted: Option<&str>| {
        let mut world = world(2, Return::Direct);
        run(&mut world, 30);
        let [first, second] = [0, 1].map(World::<Seen>::flow_id);
        if let Some(name) = refitted {
            let p = profile(name).unwrap_or_else(|e| panic!("{e}"));
            let refit = world.refit(second, &p.sender, &p.parts, p.receiver, None);
            assert_eq!(refit, Ok(()));
            let refit = world.refit(first, &p.sender, &p.parts, p.receiver, None);
            assert_eq!(refit, Err(WorldError::FlowOpen { flow: 0 }));
        }
        run(&mut world, 5_000);
        world.into_observer()
    };
    assert_eq!(seen(None), seen(Some("ns2")));
    assert_ne!(seen(None), seen(Some("rfc")));
}

/// The SYN of 40 bytes over 320 kbit/s and 3 ms arrives at 4 ms, as scheduled at zero as the timeline is.
#[test]
fn the_timeline_goes_before_a_packet_of_the_same_instant() {
    #[derive(Default)]
    struct Order(Vec<&'static str>);
    impl Observer for Order {
        fn record(&mut self, _now: Instant, _flow: FlowId, event: &Event<'_>) {
            match event {
                Event::Make => self.0.push("make"),
                Event::Arrived { .. } => self.0.push("arrived"),
                _ => {}
            }
        }
    }
    let link = |name, from, to| {
        LinkConfig::new(
            name,
            (NodeId(from), NodeId(to)),
            Rate::from_bps(320_000).unwrap_or(Rate::from_mbps(1)),
            Duration::from_millis(3),
            None,
        )
    };
    let profile = profile("ns2").unwrap_or_else(|e| panic!("{e}"));
    let flow = FlowConfig {
        from: NodeId(0),
        to: NodeId(1),
        sender: &profile.sender,
        parts: &profile.parts,
        receiver: &profile.receiver,
        policies: Vec::new(),
        addresses: Vec::new(),
        migrates: false,
    };
    let routes = [(NodeId(0), NodeId(1), id(0)), (NodeId(1), NodeId(0), id(1))];
    let links = vec![link("there", 0, 1), link("back", 1, 0)];
    let mut world = World::new(
        WorldConfig {
            clock: Clock::Seconds,
            nodes: 2,
            links: &links,
            routes: &routes,
            flows: vec![flow],
            ..WorldConfig::default()
        },
        Order::default(),
    )
    .unwrap_or_else(|e| panic!("{e}"));
    for (ms, action) in [
        (0, Action::Open(World::<Seen>::flow_id(0))),
        (4, Action::MarkMake),
    ] {
        assert_eq!(world.schedule(at(ms), action), Ok(()));
    }
    assert_eq!(world.run_before(at(5)), Ok(()));
    assert_eq!(world.observer().0, ["make", "arrived"]);
}

/// Between break and return all packets handed to the link are lost, and none afterwards.
#[test]
fn a_link_comes_back() {
    let returning = |i: usize, link: &mut LinkConfig| link.may_return = i == 2 || i == 5;
    let everywhere = |i: usize, link: &mut LinkConfig| {
        harmless(link);
        returning(i, link);
    };
    let outage = |world: &mut World<Seen>| {
        for link in [2, 5] {
            schedule(world, 1_500, Action::Down(id(link)));
            schedule(world, 2_700, Action::Up(id(link)));
        }
        run(world, 1_500);
        let before = world.observer().lost_to_breaks;
        run(world, 2_700);
        let during = world.observer().lost_to_breaks;
        run(world, 30_000);
        (before, during, world.observer().lost_to_breaks)
    };
    let mut world = world_with(3, Return::Direct, returning);
    let (before, during, after) = outage(&mut world);
    assert_eq!(before, 0);
    assert!(during > 10, "{during} lost");
    assert_eq!(after, during);
    assert!((0..3).all(|i| world.sender(World::<Seen>::flow_id(i)).view().snd_una > 1_000));
    let mut with_events = world_with(3, Return::Direct, everywhere);
    assert_eq!(outage(&mut with_events), (before, during, after));
    assert_eq!(with_events.observer(), world.observer());

    let mut unused = world_with(3, Return::Direct, returning);
    run(&mut unused, 20_000);
    let mut plain = self::world(3, Return::Direct);
    run(&mut plain, 20_000);
    assert_eq!(unused.observer(), plain.observer());
    let error = WorldError::UnreturnableLink { link: "old".into() };
    assert_eq!(plain.schedule(at(30_000), Action::Up(id(2))), Err(error));
}
