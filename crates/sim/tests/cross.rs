//! How much of a link cross traffic uses, and how much it leaves to a flow.

#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_sim::{
    Action, Clock, CrossTraffic, Event, FlowConfig, FlowId, Impairments, LinkConfig, LinkCounts,
    LinkSetting, NodeId, Observer, Pattern, World, WorldConfig,
};
use midflight_tcp::profile;
use midflight_units::{Duration, Instant, Rate};

const SERVER: NodeId = NodeId(0);
const NODE: NodeId = NodeId(1);

/// Arrived bytes, before and after an instant.
#[derive(Clone, Debug)]
struct Arrived {
    split: Instant,
    bytes: [u64; 2],
}

impl Observer for Arrived {
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        assert_eq!(flow.index(), 1, "cross traffic is of no flow");
        if let Event::Arrived { segment, .. } = event {
            self.bytes[usize::from(now >= self.split)] += u64::from(segment.bytes);
        }
    }
}

fn seconds(s: u64) -> Instant {
    Instant::from_nanos(s * 1_000_000_000)
}

fn mbps(mbps: u64) -> Pattern {
    let rate = Rate::from_mbps(mbps);
    Pattern::Constant { rate }
}

fn traffic(pattern: Pattern) -> CrossTraffic {
    CrossTraffic {
        pattern,
        bytes: 1000,
        seed: 3,
    }
}

/// A flow over 8 Mbit/s and 10 ms for 40 s; returns its bytes before and after 20 s, and the packets
/// handed to the link. `change` gets the link and may add entries to the timeline.
fn run(
    open: bool,
    change: impl Fn(&mut LinkConfig),
    plan: impl Fn(&mut World<Arrived>),
) -> ([u64; 2], LinkCounts) {
    let rate = Rate::from_mbps(8);
    let delay = Duration::from_millis(10);
    let mut down = LinkConfig::new("down", (SERVER, NODE), rate, delay, Some(20));
    down.counted = true;
    change(&mut down);
    let up = LinkConfig::new("up", (NODE, SERVER), rate, delay, Some(20));
    let link = World::<Arrived>::link_id;
    let routes = [(SERVER, NODE, link(0)), (NODE, SERVER, link(1))];
    let profile = profile("rfc").unwrap_or_else(|e| panic!("{e}"));
    let flow = FlowConfig {
        from: SERVER,
        to: NODE,
        sender: &profile.sender,
        parts: &profile.parts,
        receiver: &profile.receiver,
        policies: Vec::new(),
        addresses: Vec::new(),
        migrates: false,
    };
    let watch = Arrived {
        split: seconds(20),
        bytes: [0; 2],
    };
    let mut world = World::new(
        WorldConfig {
            clock: Clock::Seconds,
            nodes: 2,
            links: &[down, up],
            routes: &routes,
            flows: vec![flow.clone(), flow],
            ..WorldConfig::default()
        },
        watch,
    )
    .unwrap_or_else(|e| panic!("{e}"));
    if open {
        // The second flow, because cross traffic is reported for the first one.
        let open = Action::Open(World::<Arrived>::flow_id(1));
        world
            .schedule(Instant::ZERO, open)
            .unwrap_or_else(|e| panic!("{e}"));
    }
    plan(&mut world);
    world
        .run_before(seconds(40))
        .unwrap_or_else(|e| panic!("{e}"));
    (world.observer().bytes, world.link_counts(link(0)))
}

/// 2 Mbit/s are 250 packets a second; the link's queue never fills.
#[test]
fn alone_it_is_carried_and_no_flow_is_affected() {
    let (bytes, counts) = run(false, |link| link.cross = Some(traffic(mbps(2))), |_| {});
    assert_eq!(bytes, [0; 2]);
    assert_eq!((counts.offered, counts.dropped_queue), (40 * 250, 0));
}

/// Above its rate the link carries 1000 packets a second, and the rest is lost except the 20 in its queue.
#[test]
fn packets_above_the_queue_limit_are_lost() {
    let (_, counts) = run(false, |link| link.cross = Some(traffic(mbps(10))), |_| {});
    assert_eq!(counts.offered, 40 * 1250);
    let carried = counts.offered - counts.dropped_queue;
    assert!((40_000..=40_021).contains(&carried), "{carried}");
}

/// A long-lived flow uses the rest of the link, minus the cost of its losses.
#[test]
fn a_flow_gets_the_remaining_rate() {
    let (alone, _) = run(true, |_| {}, |_| {});
    for left in [6, 4, 2] {
        let cross = Some(traffic(mbps(8 - left)));
        let (bytes, counts) = run(true, |link| link.cross = cross, |_| {});
        let share = bytes[1] as f64 / alone[1] as f64;
        let most = left as f64 / 8.0;
        assert!(
            share < most + 0.01 && share > 0.75 * most,
            "{left}: {share}"
        );
        assert!(counts.dropped_queue > 0);
    }
}

/// From 20 s on the link has the same rate and cross traffic, or the reverse.
#[test]
fn it_comes_and_goes_with_the_settings_of_a_link() {
    let (before, after) = (Some(traffic(mbps(6))), None);
    let (alone, _) = run(true, |_| {}, |_| {});
    for (first, then, crossed) in [(before, after, 0), (after, before, 1)] {
        let change = |link: &mut LinkConfig| {
            link.cross = first;
            link.may_pause = true;
            link.settings = vec![LinkSetting {
                rate: link.rate,
                delay: link.delay,
                limit: link.limit,
                impairments: Impairments::default(),
                cross: then,
            }];
        };
        let plan = |world: &mut World<Arrived>| {
            let link = World::<Arrived>::link_id(0);
            let setting = Some(0);
            for action in [Action::Pause(link), Action::Resume { link, setting }] {
                world
                    .schedule(seconds(20), action)
                    .unwrap_or_else(|e| panic!("{e}"));
            }
        };
        let (bytes, _) = run(true, change, plan);
        let share = |half: usize| bytes[half] as f64 / alone[half] as f64;
        // A little above a quarter: the cross traffic loses packets too.
        assert!(share(crossed) < 0.3, "{bytes:?}");
        assert!(share(1 - crossed) > 0.9, "{bytes:?}");
    }
}

/// Each time it returns it draws new numbers, and traffic that a change does not mention continues
/// unchanged.
#[test]
fn it_does_not_replay() {
    let rate = Rate::from_mbps(2);
    let others = Some(traffic(Pattern::Poisson { rate }));
    let counts = |first, settings: [Option<CrossTraffic>; 2]| {
        let (rate, delay) = (Rate::from_mbps(8), Duration::from_millis(10));
        let mut link = LinkConfig::new("down", (SERVER, NODE), rate, delay, Some(20));
        (link.counted, link.may_pause, link.cross) = (true, true, first);
        let setting = |cross| LinkSetting {
            rate,
            delay,
            limit: Some(20),
            impairments: Impairments::default(),
            cross,
        };
        link.settings = settings.map(setting).to_vec();
        let id = World::<()>::link_id(0);
        let mut world: World<()> = World::new(
            WorldConfig {
                clock: Clock::Seconds,
                nodes: 2,
                links: &[link],
                ..WorldConfig::default()
            },
            (),
        )
        .unwrap_or_else(|e| panic!("{e}"));
        for phase in 1..6 {
            let (link, setting) = (id, (phase % 2) as u16);
            world
                .schedule(seconds(phase), Action::Change { link, setting })
                .unwrap_or_else(|e| panic!("{e}"));
        }
        let mut each = Vec::new();
        for ms in (0..6000).step_by(10) {
            world
                .run_before(Instant::from_nanos(ms * 1_000_000))
                .unwrap_or_else(|e| panic!("{e}"));
            each.push(world.link_counts(id).offered);
        }
        each
    };
    let increments = |counts: &[u64]| counts.windows(2).map(|w| w[1] - w[0]).collect::<Vec<_>>();
    let now_and_then = increments(&counts(None, [None, others]));
    assert!(now_and_then[..99].iter().all(|&n| n == 0));
    assert_ne!(now_and_then[100..199], now_and_then[300..399]);
    let all_along = counts(
        others,
        [others, others.map(|o| CrossTraffic { seed: 9, ..o })],
    );
    assert_eq!(all_along, counts(others, [others, others]));
}
