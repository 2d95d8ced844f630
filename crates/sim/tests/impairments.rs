//! The effect of impairments or a pause of a link on single packets, exactly.
//!
//! Each flow sends its SYN and nothing else for seconds, because no ACK returns. A unit of time is
//! 2^-7 s, in which the doubles of the event order are exact: a transmission takes one unit and
//! propagation two.

#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_sim::{
    Action, Clock, DropCause, Event, FlowConfig, FlowId, Impairments, LinkConfig, LinkCounts,
    LinkSetting, LossModel, NodeId, Observer, Reordering, Scripted, World, WorldConfig, WorldError,
};
use midflight_tcp::profile;
use midflight_units::{Duration, Instant, Rate};

const BYTES: u32 = 1024;
const RATE: u64 = 1 << 20;
const UNIT: u64 = 7_812_500;

fn units(units: f64) -> u64 {
    (units * UNIT as f64) as u64
}

fn time(t: f64) -> Duration {
    Duration::from_nanos(units(t))
}

fn at(t: f64) -> Instant {
    Instant::from_nanos(units(t))
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Arrives,
    IsLost(DropCause),
}

use What::{Arrives, IsLost};

/// Time, flow, and event of a packet.
#[derive(Clone, Debug, Default)]
struct Log(Vec<(u64, usize, What)>);

impl Observer for Log {
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        let what = match event {
            Event::Arrived { .. } => Arrives,
            Event::Dropped { link, cause, .. } if link.index() > 0 => IsLost(*cause),
            _ => return,
        };
        self.0.push((now.as_nanos(), flow.index(), what));
    }
}

fn link(from: u16, to: u16) -> LinkConfig {
    LinkConfig::new(
        "radio",
        (NodeId(from), NodeId(to)),
        Rate::from_bps(RATE).unwrap_or_else(|| panic!("a rate")),
        time(2.0),
        None,
    )
}

fn setting(impairments: Impairments) -> LinkSetting {
    LinkSetting {
        rate: Rate::from_bps(2 * RATE).unwrap_or_else(|| panic!("a rate")),
        delay: time(4.0),
        limit: None,
        impairments,
        cross: None,
    }
}

fn pausable() -> LinkConfig {
    LinkConfig {
        may_pause: true,
        ..link(0, 1)
    }
}

fn impaired(impairments: Impairments) -> LinkConfig {
    LinkConfig {
        impairments,
        ..link(0, 1)
    }
}

fn scripted(script: &[(u64, Scripted)]) -> Impairments {
    Impairments {
        script: script.to_vec(),
        ..Impairments::default()
    }
}

fn swapping(hold: f64) -> Impairments {
    Impairments {
        reordering: Some(Reordering::Swap {
            probability: 1.0,
            hold: time(hold),
        }),
        ..Impairments::default()
    }
}

/// Links in a row, numbered from 1; link 0 leads back and is down. Flow `i` opens at `opens[i]`.
fn world(links: Vec<LinkConfig>, opens: &[f64]) -> World<Log> {
    let last = NodeId(links.len() as u16);
    let mut profile = profile("ns2").unwrap_or_else(|e| panic!("{e}"));
    profile.sender.syn_bytes = BYTES;
    let flow = FlowConfig {
        from: NodeId(0),
        to: last,
        sender: &profile.sender,
        parts: &profile.parts,
        receiver: &profile.receiver,
        policies: Vec::new(),
        addresses: Vec::new(),
        migrates: false,
    };
    let mut all = vec![LinkConfig {
        may_break: true,
        ..link(last.0, 0)
    }];
    all.extend(links);
    let id = World::<Log>::link_id;
    let mut routes = vec![(last, NodeId(0), id(0))];
    routes.extend((0..last.0).map(|node| (NodeId(node), last, id(node + 1))));
    let nodes = all.len();
    let flows = vec![flow; opens.len()];
    let mut world = World::new(
        WorldConfig {
            clock: Clock::Seconds,
            nodes,
            links: &all,
            routes: &routes,
            flows,
            ..WorldConfig::default()
        },
        Log::default(),
    )
    .unwrap_or_else(|e| panic!("{e}"));
    let schedule = |world: &mut World<Log>, t, action| {
        world
            .schedule(at(t), action)
            .unwrap_or_else(|e| panic!("{e}"));
    };
    schedule(&mut world, 0.0, Action::Down(id(0)));
    for (&t, flow) in opens.iter().zip(0..) {
        schedule(&mut world, t, Action::Open(World::<Log>::flow_id(flow)));
    }
    world
}

/// How packets enter a link.
#[derive(Clone, Copy)]
enum Then {
    Pause,
    Resume(Option<u16>),
}

fn plan(world: &mut World<Log>, link: u16, actions: &[(f64, Then)]) {
    let link = World::<Log>::link_id(link);
    for &(t, then) in actions {
        let action = match then {
            Then::Pause => Action::Pause(link),
            Then::Resume(setting) => Action::Resume { link, setting },
        };
        world
            .schedule(at(t), action)
            .unwrap_or_else(|e| panic!("{e}"));
    }
}

const PAUSE: Then = Then::Pause;
const RESUME: Then = Then::Resume(None);
const CHANGE: Then = Then::Resume(Some(0));

/// Compares the events within 300 units (2.3 s, before any timeout), to the nanosecond.
#[track_caller]
fn check(mut world: World<Log>, expected: &[(f64, usize, What)]) {
    world
        .run_before(at(300.0))
        .unwrap_or_else(|e| panic!("{e}"));
    let expected: Vec<_> = expected.iter().map(|&(t, i, w)| (units(t), i, w)).collect();
    assert_eq!(world.observer().0, expected);
}

#[track_caller]
fn check_arrivals(world: World<Log>, expected: &[(f64, usize)]) {
    let expected: Vec<_> = expected.iter().map(|&(t, i)| (t, i, Arrives)).collect();
    check(world, &expected);
}

/// This many packets at time zero: the first arrives at 3 units, the next a unit later.
fn at_once(link: LinkConfig, packets: usize) -> World<Log> {
    world(vec![link], &vec![0.0; packets])
}

#[test]
fn a_script_loses_and_delays_the_packets_it_names() {
    let script = [(2, Scripted::Lose), (3, Scripted::Delay(time(2.5)))];
    check(
        at_once(impaired(scripted(&script)), 5),
        &[
            (3.0, 0, Arrives),
            (4.0, 1, IsLost(DropCause::Radio)),
            (6.0, 3, Arrives),
            (7.0, 4, Arrives),
            (7.5, 2, Arrives),
        ],
    );
}

/// A script takes precedence over the models, and does not shift them.
#[test]
fn a_script_goes_before_the_models() {
    let impairments = Impairments {
        loss: Some(LossModel::Uniform { probability: 1.0 }),
        ..scripted(&[(2, Scripted::Delay(time(0.5)))])
    };
    let lost = IsLost(DropCause::Radio);
    check(
        at_once(impaired(impairments), 3),
        &[(3.0, 0, lost), (4.5, 1, Arrives), (5.0, 2, lost)],
    );
}

/// A late packet and an in-order packet at the same instant: the order follows the times at which
/// their arrivals were decided (when the late one was at the far end, and when the transmission of
/// the other started); then the start of the late one's transmission, and the time when that of the
/// other was decided; then the in-order packet is first.
#[test]
fn ties_of_late_packets_and_others() {
    let late = |delay| impaired(scripted(&[(1, Scripted::Delay(time(delay)))]));
    for (opens, delay, order) in [
        ([0.0, 2.0], 2.0, [1, 0]),
        ([0.0, 3.0], 3.0, [1, 0]),
        ([0.0, 4.0], 4.0, [0, 1]),
    ] {
        let tie = 3.0 + delay;
        check_arrivals(
            world(vec![late(delay)], &opens),
            &[(tie, order[0]), (tie, order[1])],
        );
    }
}

/// Late packets at the same instant: the order in which they were at the far end. The
/// transmission of packet 3 was decided when that of packet 2 started.
#[test]
fn ties_of_late_packets() {
    let script = [3.0, 2.0, 1.0].map(|delay| Scripted::Delay(time(delay)));
    let script: Vec<_> = (1..).zip(script).collect();
    check_arrivals(
        at_once(impaired(scripted(&script)), 4),
        &[(6.0, 0), (6.0, 3), (6.0, 1), (6.0, 2)],
    );
}

#[test]
fn packets_are_swapped_in_pairs() {
    check_arrivals(
        at_once(impaired(swapping(10.0)), 5),
        &[(4.0, 1), (4.0, 0), (6.0, 3), (6.0, 2), (17.0, 4)],
    );
}

#[test]
fn a_packet_that_nothing_overtakes_in_time_goes_alone() {
    check_arrivals(
        at_once(impaired(swapping(0.5)), 3),
        &[(3.5, 0), (4.5, 1), (5.5, 2)],
    );
    // The next one was in transit before the first had to wait.
    check_arrivals(at_once(impaired(swapping(1.0)), 2), &[(4.0, 1), (4.0, 0)]);
    // Here it was not.
    check_arrivals(
        world(vec![impaired(swapping(4.0))], &[0.0, 4.0, 4.0]),
        &[(7.0, 0), (8.0, 2), (8.0, 1)],
    );
}

#[test]
fn lost_or_late_packets_release_no_swapped_packet() {
    let swapping = swapping(10.0);
    let lost = Impairments {
        script: vec![(2, Scripted::Lose)],
        ..swapping.clone()
    };
    check(
        at_once(impaired(lost), 3),
        &[
            (4.0, 1, IsLost(DropCause::Radio)),
            (5.0, 2, Arrives),
            (5.0, 0, Arrives),
        ],
    );
    let late = Impairments {
        script: vec![(2, Scripted::Delay(time(0.5)))],
        ..swapping
    };
    check_arrivals(at_once(impaired(late), 3), &[(4.5, 1), (5.0, 2), (5.0, 0)]);
}

#[test]
fn the_link_layer_sends_again() {
    let impairments = Impairments {
        reordering: Some(Reordering::LinkRetransmission {
            probability: 0.5,
            delay: time(2.5),
        }),
        ..Impairments::default()
    };
    let mut world = at_once(impaired(impairments), 200);
    world
        .run_before(at(300.0))
        .unwrap_or_else(|e| panic!("{e}"));
    let arrivals = &world.observer().0;
    let late = |&(ns, flow, _): &(u64, usize, What)| {
        let in_order = (3 + flow as u64) * UNIT;
        assert!([0, units(2.5)].contains(&(ns - in_order)), "{flow}");
        ns > in_order
    };
    let late = arrivals.iter().filter(|arrival| late(arrival)).count();
    assert_eq!(arrivals.len(), 200);
    // Within 4 sigma of 7.
    assert!((72..=128).contains(&late), "{late}");
    assert!(arrivals.is_sorted_by_key(|&(ns, _, _)| ns));
}

/// Packet 0 has arrived, 1 and 2 propagate, 3 is in transmission, 4 waits.
#[test]
fn a_link_that_resumes_sends_held_packets() {
    let mut as_before = at_once(pausable(), 5);
    plan(&mut as_before, 1, &[(3.5, PAUSE), (10.0, RESUME)]);
    check_arrivals(
        as_before,
        &[(3.0, 0), (13.0, 1), (14.0, 2), (15.0, 3), (16.0, 4)],
    );
    let link = LinkConfig {
        settings: vec![setting(Impairments::default())],
        ..pausable()
    };
    let mut changed = world(vec![link], &[0.0, 0.0, 0.0, 0.0, 0.0, 20.0]);
    plan(&mut changed, 1, &[(3.5, PAUSE), (10.0, CHANGE)]);
    check_arrivals(
        changed,
        &[
            (3.0, 0),
            (14.5, 1),
            (15.0, 2),
            (15.5, 3),
            (16.0, 4),
            (24.5, 5),
        ],
    );
}

#[test]
fn the_timeline_is_before_an_arrival_of_its_instant() {
    let mut world = at_once(pausable(), 2);
    plan(&mut world, 1, &[(3.0, PAUSE), (4.0, RESUME)]);
    check_arrivals(world, &[(7.0, 0), (8.0, 1)]);
}

#[test]
fn pausing_twice_and_resuming_twice_change_nothing() {
    let mut world = at_once(pausable(), 2);
    let actions = [
        (1.0, RESUME),
        (3.5, PAUSE),
        (3.75, PAUSE),
        (10.0, RESUME),
        (10.5, RESUME),
    ];
    plan(&mut world, 1, &actions);
    check_arrivals(world, &[(3.0, 0), (13.0, 1)]);
}

#[test]
fn a_second_pause_holds_packets_sent_after_the_first() {
    let mut world = world(vec![pausable()], &[0.0, 0.0, 0.0, 11.5]);
    let actions = [(3.5, PAUSE), (10.0, RESUME), (12.0, PAUSE), (20.0, RESUME)];
    plan(&mut world, 1, &actions);
    check_arrivals(world, &[(3.0, 0), (23.0, 1), (24.0, 2), (25.0, 3)]);
}

/// Late packets are held with the others, in the order in which they would have arrived.
#[test]
fn a_pause_holds_late_packets() {
    let link = |impairments| LinkConfig {
        impairments,
        settings: vec![setting(Impairments::default())],
        ..pausable()
    };
    let run = |impairments| {
        let mut world = at_once(link(impairments), 5);
        plan(&mut world, 1, &[(3.5, PAUSE), (10.0, CHANGE)]);
        world
    };
    let sent = |order: [usize; 5]| -> Vec<(f64, usize)> {
        let times = [14.5, 15.0, 15.5, 16.0, 16.5];
        times.into_iter().zip(order).collect()
    };
    for (delay, order) in [
        (0.75, [0, 1, 2, 3, 4]),
        (2.5, [1, 2, 0, 3, 4]),
        // Both due at 7 units, the late one decided at 3, the other at 4.
        (4.0, [1, 2, 3, 0, 4]),
        (9.0, [1, 2, 3, 4, 0]),
    ] {
        let late = scripted(&[(1, Scripted::Delay(time(delay)))]);
        check_arrivals(run(late), &sent(order));
    }
    check_arrivals(run(swapping(10.0)), &sent([1, 0, 2, 3, 4]));
    check_arrivals(run(swapping(0.75)), &sent([0, 1, 2, 3, 4]));
}

#[test]
fn impairments_continue_after_a_pause_or_restart() {
    let lost = IsLost(DropCause::Radio);
    let script = scripted(&[(3, Scripted::Lose)]);
    let link = LinkConfig {
        impairments: script.clone(),
        settings: vec![setting(script)],
        ..pausable()
    };
    let mut goes_on = at_once(link.clone(), 5);
    plan(&mut goes_on, 1, &[(3.5, PAUSE), (10.0, RESUME)]);
    check(
        goes_on,
        &[
            (3.0, 0, Arrives),
            (13.0, 1, Arrives),
            (14.0, 2, lost),
            (15.0, 3, Arrives),
            (16.0, 4, Arrives),
        ],
    );
    let mut starts_anew = at_once(link, 5);
    plan(&mut starts_anew, 1, &[(3.5, PAUSE), (10.0, CHANGE)]);
    check(
        starts_anew,
        &[
            (3.0, 0, Arrives),
            (14.5, 1, Arrives),
            (15.0, 2, Arrives),
            (15.5, 3, lost),
            (16.0, 4, Arrives),
        ],
    );
}

/// Two wait when the pause begins, and a third may join them. The limit does not apply to held
/// packets, but to later ones.
#[test]
fn a_paused_link_accepts_packets_up_to_its_limit() {
    let link = LinkConfig {
        limit: Some(3),
        ..pausable()
    };
    let mut world = world(vec![link], &[0.0, 0.0, 0.0, 0.625, 0.75, 1.5, 3.5]);
    plan(&mut world, 1, &[(0.5, PAUSE), (1.0, RESUME)]);
    let full = IsLost(DropCause::Queue);
    check(
        world,
        &[
            (0.75, 4, full),
            (1.5, 5, full),
            (4.0, 0, Arrives),
            (5.0, 1, Arrives),
            (6.0, 2, Arrives),
            (7.0, 3, Arrives),
            (8.0, 6, Arrives),
        ],
    );
}

/// Counts are those of the present time: packet 1 enters the middle link at 4 units and is lost
/// there.
#[test]
fn packets_handed_to_a_counted_link_are_counted() {
    let middle = LinkConfig {
        from: NodeId(1),
        to: NodeId(2),
        limit: Some(1),
        rate: Rate::from_bps(RATE / 2).unwrap_or_else(|| panic!("a rate")),
        counted: true,
        ..pausable()
    };
    let row = vec![link(0, 1), middle, link(2, 3)];
    let mut world = world(row, &[0.0, 0.0, 0.0, 6.0, 6.0]);
    plan(&mut world, 2, &[(8.0, PAUSE), (10.0, RESUME)]);
    for (t, offered, dropped_queue) in [
        (3.0, 0, 0),
        (3.5, 1, 0),
        (4.5, 2, 1),
        (6.0, 3, 1),
        (9.5, 4, 1),
        (50.0, 5, 2),
    ] {
        world.run_before(at(t)).unwrap_or_else(|e| panic!("{e}"));
        let counts = LinkCounts {
            offered,
            dropped_queue,
        };
        assert_eq!(world.link_counts(World::<Log>::link_id(2)), counts, "{t}");
    }
    let uncounted = world.link_counts(World::<Log>::link_id(1));
    assert_eq!(uncounted, LinkCounts::default());
}

#[test]
fn a_link_that_breaks_loses_packets_held_by_its_pause() {
    let link = LinkConfig {
        may_break: true,
        ..pausable()
    };
    let mut world = world(vec![link], &[0.0, 0.0, 6.0]);
    plan(&mut world, 1, &[(3.5, PAUSE), (10.0, RESUME)]);
    let down = Action::Down(World::<Log>::link_id(1));
    world
        .schedule(at(5.0), down)
        .unwrap_or_else(|e| panic!("{e}"));
    let lost = IsLost(DropCause::Break);
    check(world, &[(3.0, 0, Arrives), (6.0, 2, lost), (10.0, 1, lost)]);
}

/// Packets reach the paused link one by one, and leave it in the same way.
#[test]
fn a_pause_in_the_middle_of_a_chain() {
    let middle = LinkConfig {
        from: NodeId(1),
        to: NodeId(2),
        limit: Some(1),
        ..pausable()
    };
    let row = vec![link(0, 1), middle, link(2, 3)];
    let mut world = world(row, &[0.0, 0.0, 5.0]);
    plan(&mut world, 2, &[(1.0, PAUSE), (10.0, RESUME)]);
    check(
        world,
        &[
            (4.0, 1, IsLost(DropCause::Queue)),
            (8.0, 2, IsLost(DropCause::Queue)),
            (16.0, 0, Arrives),
        ],
    );
}

#[test]
fn reordered_packets_stay_so_down_the_chain() {
    let row = vec![impaired(swapping(10.0)), link(1, 2), link(2, 3)];
    let world = world(row, &[0.0, 0.0, 0.0, 0.0]);
    // Two at a time enter the second link.
    check_arrivals(world, &[(10.0, 1), (11.0, 0), (12.0, 3), (13.0, 2)]);
}

#[test]
fn undeclared_actions_are_refused() {
    let link = LinkConfig {
        settings: vec![setting(Impairments::default())],
        ..pausable()
    };
    let mut world = world(vec![link], &[]);
    let (back, radio) = (World::<Log>::link_id(0), World::<Log>::link_id(1));
    let resume = |link, setting| Action::Resume { link, setting };
    let unpausable = Err(WorldError::UnpausableLink {
        link: "radio".into(),
    });
    assert_eq!(world.schedule(at(1.0), Action::Pause(back)), unpausable);
    assert_eq!(world.schedule(at(1.0), resume(back, None)), unpausable);
    assert_eq!(world.schedule(at(1.0), Action::Pause(radio)), Ok(()));
    assert_eq!(world.schedule(at(2.0), resume(radio, Some(0))), Ok(()));
    assert_eq!(
        world.schedule(at(3.0), resume(radio, Some(1))),
        Err(WorldError::UnknownSetting {
            link: "radio".into(),
            setting: 1,
            settings: 1
        })
    );
}

#[test]
fn impairments_that_cannot_be_are_refused() {
    let wrong = impaired(scripted(&[(0, Scripted::Lose)]));
    let in_a_setting = LinkConfig {
        settings: vec![setting(wrong.impairments.clone())],
        ..pausable()
    };
    for link in [wrong, in_a_setting] {
        let world = World::new(
            WorldConfig {
                clock: Clock::Seconds,
                nodes: 2,
                links: &[link],
                ..WorldConfig::default()
            },
            (),
        );
        assert!(matches!(
            world,
            Err(WorldError::Impairments { link, .. }) if link == "radio"
        ));
    }
}
