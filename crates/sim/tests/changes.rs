//! A link that changes during the run: packets on it arrive as they would have.

#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_sim::{
    Action, Clock, Event, FlowConfig, FlowId, Impairments, LinkConfig, LinkSetting, NodeId,
    Observer, World, WorldConfig,
};
use midflight_tcp::profile;
use midflight_units::{Duration, Instant, Rate, Seq};

const SERVER: NodeId = NodeId(0);
const NODE: NodeId = NodeId(1);

/// Segments in the order of their arrival.
#[derive(Clone, Debug, Default)]
struct Arrivals(Vec<(Instant, Seq)>, u32);

impl Observer for Arrivals {
    fn record(&mut self, now: Instant, _flow: FlowId, event: &Event<'_>) {
        match event {
            Event::Arrived { segment, .. } => self.0.push((now, segment.seq)),
            Event::Dropped { .. } => self.1 += 1,
            _ => {}
        }
    }
}

fn ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// Rate in Mbit/s, delay in ms and queue limit of a link.
type Numbers = (u64, u64, u32);

/// A flow of at most 50 segments in flight over 8 Mbit/s and 100 ms, so that 1500 bytes take 1.5 ms;
/// after 1 s, in the middle of a transmission, the link gets other parameters.
fn run(changes: &[(u64, Numbers)]) -> Arrivals {
    run_with(changes, &[])
}

/// The same with more actions on the timeline.
fn run_with(changes: &[(u64, Numbers)], more: &[(u64, Action)]) -> Arrivals {
    let link = |(mbps, delay, limit): Numbers| {
        let (rate, delay) = (Rate::from_mbps(mbps), Duration::from_millis(delay));
        (rate, delay, Some(limit))
    };
    let (rate, delay, limit) = link((8, 100, 100));
    let mut down = LinkConfig::new("down", (SERVER, NODE), rate, delay, limit);
    down.may_pause = true;
    let setting = |&(_, numbers): &(u64, Numbers)| {
        let (rate, delay, limit) = link(numbers);
        LinkSetting {
            rate,
            delay,
            limit,
            impairments: Impairments::default(),
            cross: None,
        }
    };
    down.settings = changes.iter().map(setting).collect();
    let up = LinkConfig::new(
        "up",
        (NODE, SERVER),
        Rate::from_mbps(100),
        Duration::ZERO,
        None,
    );
    let id = World::<Arrivals>::link_id;
    let routes = [(SERVER, NODE, id(0)), (NODE, SERVER, id(1))];
    let mut profile = profile("rfc").unwrap_or_else(|e| panic!("{e}"));
    for (key, value) in [("receiver_window", "50"), ("initial_window", "50")] {
        profile.set(key, value).unwrap_or_else(|e| panic!("{e}"));
    }
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
    let links = vec![down, up];
    let mut world = World::new(
        WorldConfig {
            clock: Clock::Seconds,
            nodes: 2,
            links: &links,
            routes: &routes,
            flows: vec![flow],
            ..WorldConfig::default()
        },
        Arrivals::default(),
    )
    .unwrap_or_else(|e| panic!("{e}"));
    let open = Action::Open(World::<Arrivals>::flow_id(0));
    let link = id(0);
    let changes = changes.iter().zip(0..);
    let changes = changes.map(|(&(at, _), setting)| (ms(at), Action::Change { link, setting }));
    let more = more.iter().map(|&(at, action)| (ms(at), action));
    for (at, action) in std::iter::once((Instant::ZERO, open))
        .chain(changes)
        .chain(more)
    {
        world.schedule(at, action).unwrap_or_else(|e| panic!("{e}"));
    }
    world.run_before(ms(3000)).unwrap_or_else(|e| panic!("{e}"));
    world.into_observer()
}

/// Arrivals until an instant.
fn until(arrivals: &Arrivals, ms_until: u64) -> &[(Instant, Seq)] {
    let count = arrivals.0.partition_point(|a| a.0 < ms(ms_until));
    &arrivals.0[..count]
}

#[test]
fn the_same_parameters_change_nothing() {
    let plain = run(&[]);
    assert!(plain.0.len() > 1000);
    for at in [1000, 1013, 1051] {
        assert_eq!(run(&[(at, (8, 100, 100))]).0, plain.0, "{at} ms");
    }
}

/// Packets in transit are not sent again by the slower transmitter, as they would be after a pause;
/// waiting packets are.
#[test]
fn a_slower_link_delays_waiting_packets() {
    let (plain, slow) = (run(&[]), run(&[(1000, (1, 100, 100))]));
    assert_eq!(until(&slow, 1100), until(&plain, 1100));
    let after: Vec<u64> = slow
        .0
        .windows(2)
        .filter(|w| w[0].0 >= ms(1112) && w[1].0 < ms(1500))
        .map(|w| w[1].0.since(w[0].0).as_nanos())
        .collect();
    assert!(after.len() > 20);
    assert!(
        after.iter().all(|&gap| gap.abs_diff(12_000_000) < 10),
        "{after:?}"
    );
    assert_eq!(slow.1, 0, "nothing is lost");
}

/// With less delay later packets arrive right behind those in transit, and none overtakes.
#[test]
fn a_nearer_link_keeps_the_order() {
    for more in [&[][..], &[(1020, (8, 5, 100))], &[(1200, (8, 10, 100))]] {
        let changes = [&[(1000, (8, 10, 100))], more].concat();
        let (plain, near) = (run(&[]), run(&changes));
        let before = until(&plain, 1100);
        assert!(near.0.starts_with(before), "{changes:?}");
        assert!(near
            .0
            .windows(2)
            .all(|w| w[0].1 + 1 == w[1].1 && w[0].0 < w[1].0));
        // 50 segments per round trip of 11.5 ms are more than the link carries: 667 per second.
        let late = near.0.len() - until(&near, 2000).len();
        assert!((600..=667).contains(&late), "{late}");
    }
}

/// A longer link leaves a gap and loses nothing.
#[test]
fn a_farther_link_leaves_a_gap() {
    let (plain, far) = (run(&[]), run(&[(1000, (8, 300, 100))]));
    assert_eq!(until(&far, 1100), until(&plain, 1100));
    let gap = far
        .0
        .windows(2)
        .find(|w| w[1].0.since(w[0].0) > Duration::from_millis(190));
    let gap = gap.unwrap_or_else(|| panic!("a gap"));
    assert_eq!(gap[0].1 + 1, gap[1].1);
    assert!(gap[0].0 > ms(1099) && gap[0].0 < ms(1102), "{gap:?}");
    assert_eq!(far.1, 0);
}

/// A queue that has become too small keeps its packets and accepts no more.
#[test]
fn a_smaller_queue_lets_no_more_in() {
    let small = run(&[(1000, (1, 100, 2))]);
    assert!(small.1 > 10, "{}", small.1);
}

/// A pause ends the delay of packets after a change, and the link has its own delay again.
#[test]
fn a_pause_ends_what_a_change_has_begun() {
    let link = World::<Arrivals>::link_id(0);
    let setting = None;
    let pause = (1020, Action::Pause(link));
    let resume = (1030, Action::Resume { link, setting });
    let near = run_with(&[(1000, (8, 10, 100))], &[pause, resume]);
    assert!(near
        .0
        .windows(2)
        .all(|w| w[0].1 + 1 == w[1].1 && w[0].0 < w[1].0));
    // From then on 11.5 ms per round trip.
    let late = near.0.len() - until(&near, 1200).len();
    assert!((1150..=1201).contains(&late), "{late}");
}
