//! A node leaves a link: its packets on the link are lost at once, and those of other nodes move up.
//!
//! As in `impairments.rs` each flow sends its SYN and nothing else; a transmission takes one unit
//! of 2^-7 s and propagation two. Even flows are the mobile node's, odd ones are sent at its interface.

#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_sim::{
    Action, Clock, DropCause, Event, FlowConfig, FlowId, Impairments, LinkConfig, LinkId,
    LinkSetting, NodeId, Observer, Reordering, World, WorldConfig, WorldError,
};
use midflight_tcp::profile;
use midflight_units::{Duration, Instant, Rate};

const MOBILE: NodeId = NodeId(0);
const INTERFACE: NodeId = NodeId(1);
const STATION: NodeId = NodeId(2);
const BYTES: u32 = 1024;
const UNIT: f64 = 7_812_500.0;

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Arrives,
    IsLost,
}

use What::{Arrives, IsLost};

/// Flow, time in tenths of a unit, and event of a packet.
#[derive(Clone, Debug, Default)]
struct Log(Vec<(usize, u64, What)>);

impl Observer for Log {
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        let what = match event {
            Event::Arrived { .. } => Arrives,
            Event::Dropped { link, cause, .. } if link.index() != 2 => {
                assert_eq!(*cause, DropCause::Break);
                IsLost
            }
            _ => return,
        };
        let tenths = (now.as_nanos() as f64 / UNIT * 10.0).round();
        self.0.push((flow.index(), tenths as u64, what));
    }
}

fn id(link: u16) -> LinkId {
    World::<Log>::link_id(link)
}

fn at(units: f64) -> Instant {
    Instant::from_nanos((units * UNIT) as u64)
}

fn world(opens: &[f64], change: impl Fn(&mut LinkConfig)) -> World<Log> {
    let rate = |bps| Rate::from_bps(bps).unwrap_or_else(|| panic!("a rate"));
    let delay = Duration::from_nanos(2 * UNIT as u64);
    let mut up = LinkConfig {
        may_break: true,
        ..LinkConfig::new("up", (INTERFACE, STATION), rate(1 << 20), delay, Some(10))
    };
    change(&mut up);
    let local = |name, from, to| {
        let rate = rate(1 << 40);
        LinkConfig {
            may_break: true,
            ..LinkConfig::new(name, (from, to), rate, Duration::ZERO, None)
        }
    };
    let links = vec![
        local("wire", MOBILE, INTERFACE),
        up,
        local("back", STATION, INTERFACE),
        local("back-wire", INTERFACE, MOBILE),
    ];
    let routes = [
        (MOBILE, STATION, id(0)),
        (INTERFACE, STATION, id(1)),
        (STATION, INTERFACE, id(2)),
        (STATION, MOBILE, id(2)),
        (INTERFACE, MOBILE, id(3)),
    ];
    let mut profile = profile("ns2").unwrap_or_else(|e| panic!("{e}"));
    profile.sender.syn_bytes = BYTES;
    let flow = |i: usize| FlowConfig {
        from: [MOBILE, INTERFACE][i % 2],
        to: STATION,
        sender: &profile.sender,
        parts: &profile.parts,
        receiver: &profile.receiver,
        policies: Vec::new(),
        addresses: Vec::new(),
        migrates: false,
    };
    let flows = (0..opens.len()).map(flow).collect();
    let mut world = World::new(
        WorldConfig {
            clock: Clock::Seconds,
            nodes: 3,
            links: &links,
            routes: &routes,
            flows,
            ..WorldConfig::default()
        },
        Log::default(),
    )
    .unwrap_or_else(|e| panic!("{e}"));
    plan(&mut world, 0.0, Action::Down(id(2)));
    for (&t, flow) in opens.iter().zip(0..) {
        plan(&mut world, t, Action::Open(World::<Log>::flow_id(flow)));
    }
    world
}

fn plan(world: &mut World<Log>, t: f64, action: Action) {
    world
        .schedule(at(t), action)
        .unwrap_or_else(|e| panic!("{e}"));
}

/// The events within 300 units, before any timeout, if the mobile node leaves at `t`.
#[track_caller]
fn check(mut world: World<Log>, t: f64, expected: &[(usize, u64, What)]) {
    let (link, node) = (id(1), MOBILE);
    plan(&mut world, t, Action::Purge { link, node });
    world
        .run_before(at(300.0))
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(world.observer().0, expected);
}

#[test]
fn waiting_packets_and_packets_on_the_air_are_lost() {
    // Sent at 0, 1 and 2; the first arrives at 3, the second is on the air, the third in transmission.
    let plain = world(&[0.0, 900.0, 0.1, 900.0, 0.2], |_| {});
    check(
        plain,
        2.5,
        &[(0, 25, IsLost), (2, 25, IsLost), (4, 25, IsLost)],
    );
    let after = world(&[0.0, 900.0, 0.1, 900.0, 0.2], |_| {});
    check(
        after,
        3.5,
        &[(0, 30, Arrives), (2, 35, IsLost), (4, 35, IsLost)],
    );
}

#[test]
fn packets_of_others_move_up() {
    // Transmissions would begin at 0, 1, 2, 3 and 4. That of flow 2 is cut short at 2.5.
    let opens = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5];
    check(
        world(&opens, |_| {}),
        2.5,
        &[
            (0, 25, IsLost),
            (2, 25, IsLost),
            (4, 25, IsLost),
            (1, 40, Arrives),
            (3, 55, Arrives),
            (5, 65, Arrives),
        ],
    );
    // The transmission of flow 1 is not cut short.
    check(
        world(&opens, |_| {}),
        1.5,
        &[
            (0, 15, IsLost),
            (2, 15, IsLost),
            (4, 15, IsLost),
            (1, 40, Arrives),
            (3, 50, Arrives),
            (5, 60, Arrives),
        ],
    );
}

/// After a change to less delay packets keep their order. Removed packets do not delay others.
#[test]
fn removed_packets_delay_no_others_after_a_change() {
    let shorter = |up: &mut LinkConfig| {
        up.may_pause = true;
        up.settings = vec![LinkSetting {
            rate: up.rate,
            delay: Duration::ZERO,
            limit: up.limit,
            impairments: Impairments::default(),
            cross: None,
        }];
    };
    // Flow 2 is on the air to arrive at 3, flow 0 goes from 1.6 to 2.6, flow 1 waits.
    let mut world = world(&[1.6, 1.7, 0.0], shorter);
    let (link, setting) = (id(1), 0);
    plan(&mut world, 1.5, Action::Change { link, setting });
    check(
        world,
        2.0,
        &[(2, 20, IsLost), (0, 20, IsLost), (1, 30, Arrives)],
    );
}

#[test]
fn a_late_packet_and_a_paused_link_are_no_refuge() {
    let late = |up: &mut LinkConfig| {
        up.impairments = Impairments {
            reordering: Some(Reordering::LinkRetransmission {
                probability: 1.0,
                delay: Duration::from_nanos(10 * UNIT as u64),
            }),
            ..Impairments::default()
        };
    };
    check(
        world(&[0.0, 0.1], late),
        8.0,
        &[(0, 80, IsLost), (1, 140, Arrives)],
    );
    let mut paused = world(&[0.0, 0.1, 0.2], |up| up.may_pause = true);
    plan(&mut paused, 1.5, Action::Pause(id(1)));
    let (link, setting) = (id(1), None);
    plan(&mut paused, 9.0, Action::Resume { link, setting });
    check(
        paused,
        8.0,
        &[(0, 80, IsLost), (2, 80, IsLost), (1, 120, Arrives)],
    );
}

#[test]
fn a_link_that_was_not_declared_to_break_is_refused() {
    let mut world = world(&[0.0], |up| up.may_break = false);
    let (link, node) = (id(1), MOBILE);
    let refused = world.schedule(at(1.0), Action::Purge { link, node });
    assert!(matches!(refused, Err(WorldError::UnbreakableLink { .. })));
}
