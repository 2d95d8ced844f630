//! A packet that passes a node without an event there arrives as it would with one.

#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_sim::{Action, Digest, FlowConfig, LinkConfig, LinkId, NodeId, World, WorldError};
use midflight_tcp::profile;
use midflight_units::{Duration, Instant, Rate};

const SENDER: NodeId = NodeId(0);
const ROUTER: NodeId = NodeId(1);
const OLD: NodeId = NodeId(2);
const NEW: NodeId = NodeId(3);
const RECEIVER: NodeId = NodeId(4);

fn id(link: u16) -> LinkId {
    World::<Digest>::link_id(link)
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// Two ways between a router and a receiver, 90 and 7 ms long; each flow takes either.
fn world(flows: u32) -> World<Digest> {
    let link = |name, from: NodeId, to: NodeId, kbps: u64, ms, may_break| LinkConfig {
        name,
        from,
        to,
        rate: Rate::from_bps(kbps * 1000).unwrap_or(Rate::from_mbps(1)),
        delay: Duration::from_millis(ms),
        limit: Some(12),
        may_break,
    };
    let links = vec![
        link("in", SENDER, ROUTER, 20_000, 3, false),
        link("to-old", ROUTER, OLD, 1_700, 90, false),
        link("old", OLD, RECEIVER, 20_000, 1, true),
        link("to-new", ROUTER, NEW, 3_300, 7, false),
        link("new", NEW, RECEIVER, 20_000, 1, false),
        link("old-back", RECEIVER, OLD, 1_700, 90, true),
        link("from-old", OLD, ROUTER, 20_000, 1, false),
        link("new-back", RECEIVER, NEW, 3_300, 7, false),
        link("from-new", NEW, ROUTER, 20_000, 1, false),
        link("out", ROUTER, SENDER, 20_000, 3, false),
    ];
    let routes = [
        (SENDER, RECEIVER, id(0)),
        (ROUTER, RECEIVER, id(1)),
        (OLD, RECEIVER, id(2)),
        (NEW, RECEIVER, id(4)),
        (RECEIVER, SENDER, id(5)),
        (OLD, SENDER, id(6)),
        (NEW, SENDER, id(8)),
        (ROUTER, SENDER, id(9)),
    ];
    let alternatives = [
        (ROUTER, RECEIVER, id(1)),
        (ROUTER, RECEIVER, id(3)),
        (RECEIVER, SENDER, id(5)),
        (RECEIVER, SENDER, id(7)),
    ];
    let profile = profile("ns2").unwrap_or_else(|e| panic!("{e}"));
    let flow = FlowConfig {
        from: SENDER,
        to: RECEIVER,
        sender: profile.sender,
        receiver: profile.receiver,
        policies: Vec::new(),
    };
    let configs = vec![flow; flows as usize];
    let mut world = World::new(5, links, &routes, &alternatives, configs, Digest::default())
        .unwrap_or_else(|e| panic!("{e}"));
    for i in 0..flows {
        let flow = World::<Digest>::flow_id(i);
        world.schedule(at(u64::from(i) * 37), Action::Open(flow));
    }
    world
}

fn route(node: NodeId, to: NodeId, link: u16) -> Action {
    let link = id(link);
    Action::Route { node, to, link }
}

/// Over to the new way and back again and over, then the old one breaks.
fn plan(world: &mut World<Digest>) {
    for (ms, there, back) in [(2_011, 3, 7), (3_703, 1, 5), (5_222, 3, 7)] {
        world.schedule(at(ms), route(ROUTER, RECEIVER, there));
        world.schedule(at(ms + 4), route(RECEIVER, SENDER, back));
    }
    for link in [2, 5] {
        world.schedule(at(5_260), Action::Down(id(link)));
    }
}

fn run(world: &mut World<Digest>, ms: u64) {
    world.run_before(at(ms)).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn routes_that_hold_change_nothing() {
    for flows in [1, 2, 5] {
        let mut every_event = world(flows);
        plan(&mut every_event);
        run(&mut every_event, 20_000);

        let mut all_known = world(flows);
        plan(&mut all_known);
        all_known.hold_routes_until(Instant::NEVER);
        run(&mut all_known, 20_000);
        assert_eq!(
            all_known.observer(),
            every_event.observer(),
            "{flows} flows"
        );

        // Promised a little at a time, and planned late.
        let mut step_by_step = world(flows);
        for ms in (50..2_000).step_by(50) {
            step_by_step.hold_routes_until(at(ms));
            run(&mut step_by_step, ms);
        }
        plan(&mut step_by_step);
        step_by_step.hold_routes_until(at(9_999));
        run(&mut step_by_step, 20_000);
        assert_eq!(
            step_by_step.observer(),
            every_event.observer(),
            "{flows} flows"
        );
    }
}

#[test]
fn a_promise_is_kept() {
    let mut broken = world(1);
    broken.hold_routes_until(at(1_000));
    broken.schedule(at(999), route(ROUTER, RECEIVER, 3));
    let error = broken.run_before(at(2_000));
    assert_eq!(error, Err(WorldError::FixedRoute { node: ROUTER.0 }));
}

#[test]
fn only_an_idle_link_takes_other_parameters() {
    let mut world = world(1);
    let other = (Rate::from_mbps(2), Duration::from_millis(5), None);
    run(&mut world, 1_000);
    assert_eq!(world.retune(id(3), other.0, other.1, other.2), Ok(()));
    let error = world.retune(id(1), other.0, other.1, other.2);
    assert_eq!(error, Err(WorldError::LinkInUse { link: "to-old" }));
}
