//! Links whose parameters follow a schedule.

#![allow(clippy::panic, reason = "a failed test panics")]

use std::collections::VecDeque;
use std::sync::Arc;

use midflight_sim::{
    Action, Clock, Curve, Digest, DropCause, Event, FlowConfig, FlowId, LinkConfig, LinkSchedule,
    NodeId, Observer, Opportunities, Outage, Outgoing, Payload, Schedule, Service, Shape, Stack,
    StackConfig, World, WorldConfig,
};
use midflight_tcp::profile;
use midflight_units::{Duration, Instant, Rate};

const FROM: NodeId = NodeId(0);
const TO: NodeId = NodeId(1);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn micros(us: u64) -> Instant {
    Instant::from_nanos(1_000 * us)
}

fn curve(points: &[(u64, f64)], shape: Shape, period: Option<u64>) -> Curve {
    let points: Vec<_> = points.iter().map(|&(at, value)| (ms(at), value)).collect();
    Curve::new(&points, shape, period.map(ms)).unwrap_or_else(|e| panic!("{e}"))
}

fn schedule(
    service: Service,
    delay: Option<Curve>,
    loss: Option<Curve>,
    outage: Outage,
) -> LinkSchedule {
    let schedule = Schedule::new(service, delay, loss, outage).unwrap_or_else(|e| panic!("{e}"));
    let schedule = Arc::new(schedule);
    LinkSchedule { schedule, seed: 1 }
}

/// A schedule with a rate in steps or lines.
fn rated(points: &[(u64, f64)], shape: Shape, period: Option<u64>, outage: Outage) -> LinkConfig {
    link(schedule(
        Service::Rate(curve(points, shape, period)),
        None,
        None,
        outage,
    ))
}

/// 12 Mbit/s, so that 1500 bytes take a millisecond, and 10 ms.
fn link(schedule: LinkSchedule) -> LinkConfig {
    LinkConfig {
        schedule: Some(schedule),
        ..LinkConfig::new("down", (FROM, TO), Rate::from_mbps(12), ms(10), None)
    }
}

/// Sends packets of given sizes at given instants.
#[derive(Clone, Debug)]
struct Playback(VecDeque<(Instant, u32)>);

impl Stack for Playback {
    fn open(&mut self, _now: Instant) {}

    fn on_datagram(&mut self, _now: Instant, _datagram: &[u8]) {}

    fn poll_datagram(&mut self, now: Instant) -> Option<Outgoing> {
        self.0.front().filter(|&&(at, _)| at <= now)?;
        let (_, bytes) = self.0.pop_front()?;
        Some(Box::<[u8]>::from(vec![0; bytes as usize]).into())
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.0.front().map(|next| next.0)
    }

    fn on_timeout(&mut self, _now: Instant) {}

    fn copy(&self) -> Option<Box<dyn Stack>> {
        Some(Box::new(self.clone()))
    }
}

/// What happened to each packet: when, and the cause of a loss.
#[derive(Clone, Debug, Default)]
struct Fates(Vec<(u64, Instant, Option<DropCause>)>);

impl Observer for Fates {
    fn record(&mut self, now: Instant, _flow: FlowId, event: &Event<'_>) {
        match *event {
            Event::DatagramArrived { datagram, .. } => self.0.push((datagram.number, now, None)),
            Event::Dropped {
                payload: Payload::Datagram(number),
                cause,
                ..
            } => self.0.push((number, now, Some(cause))),
            _ => {}
        }
    }
}

fn world(
    clock: Clock,
    link: LinkConfig,
    sent: &[(u64, u32)],
    timeline: &[(u64, Action)],
) -> World<Fates> {
    let mut other = LinkConfig::new("up", (TO, FROM), Rate::from_mbps(12), ms(1), None);
    other.may_pause = true;
    let id = World::<Fates>::link_id;
    let packets = sent.iter().map(|&(us, bytes)| (micros(us), bytes));
    let stack = StackConfig {
        nodes: [FROM, TO],
        ends: [
            Box::new(Playback(packets.collect())),
            Box::new(Playback(VecDeque::new())),
        ],
        addresses: Vec::new(),
        exits: Vec::new(),
        data: None,
    };
    let routes = [(FROM, TO, id(0)), (TO, FROM, id(1))];
    let config = WorldConfig {
        clock,
        nodes: 2,
        links: &[link, other],
        routes: &routes,
        stacks: vec![stack],
        ..WorldConfig::default()
    };
    let mut world = World::new(config, Fates::default()).unwrap_or_else(|e| panic!("{e}"));
    let open = (0, Action::Open(World::<Fates>::flow_id(0)));
    for &(at, action) in [open].iter().chain(timeline) {
        let at = Instant::ZERO + ms(at);
        world.schedule(at, action).unwrap_or_else(|e| panic!("{e}"));
    }
    world
}

/// What happened to packets of given sizes sent at given microseconds, in order: when in microseconds, and the
/// cause of a loss.
fn fates(link: &LinkConfig, sent: &[(u64, u32)]) -> Vec<(u64, Option<DropCause>)> {
    fates_with(link, sent, &[])
}

fn fates_with(
    link: &LinkConfig,
    sent: &[(u64, u32)],
    timeline: &[(u64, Action)],
) -> Vec<(u64, Option<DropCause>)> {
    let [by_seconds, by_picoseconds] = [Clock::Seconds, Clock::Picoseconds]
        .map(|clock| fates_by(clock, link.clone(), sent, timeline));
    assert_eq!(by_seconds, by_picoseconds);
    by_seconds
}

fn fates_by(
    clock: Clock,
    link: LinkConfig,
    sent: &[(u64, u32)],
    timeline: &[(u64, Action)],
) -> Vec<(u64, Option<DropCause>)> {
    let mut world = world(clock, link, sent, timeline);
    let end = Instant::ZERO + Duration::from_secs(100);
    world.run_before(end).unwrap_or_else(|e| panic!("{e}"));
    let mut fates = world.into_observer().0;
    fates.sort_by_key(|fate| fate.0);
    let us = |at: Instant| (at.as_nanos() + 500) / 1_000;
    fates
        .into_iter()
        .map(|(_, at, cause)| (us(at), cause))
        .collect()
}

fn arrivals(link: &LinkConfig, sent: &[(u64, u32)]) -> Vec<u64> {
    let fates = fates(link, sent);
    assert!(fates.iter().all(|fate| fate.1.is_none()), "{fates:?}");
    fates.into_iter().map(|fate| fate.0).collect()
}

/// A link with a schedule that never changes behaves like the link without one, event for event.
#[test]
fn a_schedule_without_a_change_changes_nothing() {
    let run = |schedule: Option<LinkSchedule>| {
        let up = LinkConfig::new("up", (TO, FROM), Rate::from_mbps(3), ms(10), None);
        let mut down = LinkConfig::new("down", (FROM, TO), Rate::from_mbps(12), ms(10), None);
        down.schedule = schedule;
        down.limit = Some(20);
        let id = World::<Digest>::link_id;
        let routes = [(FROM, TO, id(0)), (TO, FROM, id(1))];
        let profile = profile("rfc").unwrap_or_else(|e| panic!("{e}"));
        let flow = FlowConfig {
            from: FROM,
            to: TO,
            sender: &profile.sender,
            parts: &profile.parts,
            receiver: &profile.receiver,
            policies: Vec::new(),
            addresses: Vec::new(),
            migrates: false,
        };
        let config = WorldConfig {
            nodes: 2,
            links: &[down, up],
            routes: &routes,
            flows: vec![flow],
            ..WorldConfig::default()
        };
        let mut world = World::new(config, Digest::default()).unwrap_or_else(|e| panic!("{e}"));
        let open = Action::Open(World::<Digest>::flow_id(0));
        world
            .schedule(Instant::ZERO, open)
            .unwrap_or_else(|e| panic!("{e}"));
        let end = Instant::ZERO + Duration::from_secs(20);
        world.run_before(end).unwrap_or_else(|e| panic!("{e}"));
        world.into_observer().to_string()
    };
    let steady = |shape, period| {
        let points: Vec<_> = (0..500).map(|i| (20 * i, 12e6)).collect();
        let delays: Vec<_> = (0..500).map(|i| (20 * i, 0.01)).collect();
        schedule(
            Service::Rate(curve(&points, shape, period)),
            Some(curve(&delays, shape, period)),
            None,
            Outage::Hold,
        )
    };
    let plain = run(None);
    let one = |rate| Service::Rate(curve(&[(0, rate)], Shape::Step, None));
    assert_eq!(
        run(Some(schedule(one(12e6), None, None, Outage::Hold))),
        plain
    );
    assert_eq!(
        run(Some(schedule(Service::Own, None, None, Outage::Hold))),
        plain
    );
    assert_ne!(
        run(Some(schedule(one(11e6), None, None, Outage::Hold))),
        plain
    );
    // If a packet spans points the sum of its parts is rounded.
    let spanning = run(Some(steady(Shape::Step, None)));
    assert_eq!(run(Some(steady(Shape::Linear, None))), spanning);
    assert_eq!(run(Some(steady(Shape::Step, Some(10_000)))), spanning);
}

/// 1500 bytes are 12,000 bits. At 12 Mbit/s for 0.5 ms 6,000 of them go out, the rest at 6 Mbit/s takes 1 ms.
#[test]
fn a_transmission_follows_the_rate_as_it_changes() {
    let points = [(0, 12e6), (2, 6e6), (8, 24e6), (9, 1.2e6)];
    let link = rated(&points, Shape::Step, None, Outage::Hold);
    let sent = [(1_500, 1500), (1_500, 1500), (1_500, 1500), (1_500, 1500)];
    // 1: until 3 ms. 2: until 5 ms. 3: until 7 ms. 4: 6,000 bits until 8 ms, 6,000 until 8.25 ms.
    assert_eq!(arrivals(&link, &sent), [13_000, 15_000, 17_000, 18_250]);
    // Over three rates: 3,000 bits in 0.5 ms, 24,000 in 1 ms, and the rest of 32,000 at 1.2 Mbit/s.
    assert_eq!(
        arrivals(&link, &[(7_500, 4_000)]),
        [7_500 + 500 + 1_000 + 4_167 + 10_000]
    );
}

/// The number of bits sent is the integral of the rate, also on a line: from 0 to 12 Mbit/s in 10 ms, and down
/// again, it is 6e8 t^2 bits.
#[test]
fn a_linear_rate_is_integrated() {
    let link = rated(
        &[(0, 0.0), (10, 12e6), (20, 0.0)],
        Shape::Linear,
        None,
        Outage::Hold,
    );
    let sent = [(0, 1500); 9];
    let arrivals = arrivals(&link, &sent);
    let expected: Vec<u64> = (1..=9)
        .map(|n| {
            let bits = 12_000.0 * f64::from(n);
            // The second half is the mirror image of the first.
            let up = |bits: f64| (bits / 6e8).sqrt();
            let at = if bits <= 60_000.0 {
                up(bits)
            } else {
                0.02 - up(120_000.0 - bits)
            };
            (at * 1e6).round() as u64 + 10_000
        })
        .collect();
    assert_eq!(arrivals, expected);
}

#[test]
fn packets_wait_for_the_end_of_an_outage() {
    let points = [(0, 12e6), (3, 0.0), (6_003, 12e6)];
    let link = rated(&points, Shape::Step, None, Outage::Hold);
    // The first is sent before the outage, and half of the second; the third comes within it.
    let sent = [(1_500, 1500), (1_500, 1500), (500_000, 1500)];
    assert_eq!(arrivals(&link, &sent), [12_500, 6_013_500, 6_014_500]);
}

/// The first is transmitted before the outage. Packets that wait or are in transmission when it begins are lost,
/// which is known at the far end; packets that arrive during it are lost at once.
#[test]
fn packets_are_lost_in_an_outage() {
    let points = [(0, 12e6), (3, 0.0), (6_003, 12e6)];
    let link = rated(&points, Shape::Step, None, Outage::Drop);
    let sent = [
        (1_500, 1500),
        (1_500, 1500),
        (1_500, 1500),
        (500_000, 1500),
        (6_003_000, 1500),
    ];
    let lost = Some(DropCause::Break);
    assert_eq!(
        fates(&link, &sent),
        [
            (12_500, None),
            (13_000, lost),
            (13_000, lost),
            (500_000, lost),
            (6_014_000, None)
        ]
    );
}

/// The room of a packet that is lost in an outage is free from then on.
#[test]
fn an_outage_empties_the_queue() {
    let points = [(0, 12e6), (3, 0.0), (4, 12e6)];
    let mut link = rated(&points, Shape::Step, None, Outage::Drop);
    link.limit = Some(3);
    let mut sent = vec![(1_900, 1500); 4];
    sent.extend([(4_000, 1500); 4]);
    let causes: Vec<_> = fates(&link, &sent).into_iter().map(|fate| fate.1).collect();
    let (full, lost) = (Some(DropCause::Queue), Some(DropCause::Break));
    assert_eq!(causes, [None, lost, lost, full, None, None, None, full]);
}

/// A shorter delay does not let packets overtake, a longer one makes a gap.
#[test]
fn the_delay_is_that_at_the_end_of_the_transmission() {
    let delay = curve(&[(0, 0.05), (10, 0.01), (30, 0.03)], Shape::Step, None);
    let link = link(schedule(Service::Own, Some(delay), None, Outage::Hold));
    let sent = [(0, 1500), (10_000, 1500), (29_000, 1500), (100_000, 1500)];
    assert_eq!(arrivals(&link, &sent), [51_000, 51_000, 60_000, 131_000]);
}

/// The link's own delay has no effect if the schedule has one.
#[test]
fn the_first_packet_has_the_delay_of_the_schedule() {
    let delay = curve(&[(0, 0.001)], Shape::Step, None);
    let link = link(schedule(Service::Own, Some(delay), None, Outage::Hold));
    assert_eq!(arrivals(&link, &[(0, 1500), (0, 1500)]), [2_000, 3_000]);
}

#[test]
fn a_linear_delay_is_on_the_line() {
    let delay = curve(&[(0, 0.05), (100, 0.15)], Shape::Linear, None);
    let link = link(schedule(Service::Own, Some(delay), None, Outage::Hold));
    let sent = [(0, 1500), (49_000, 1500), (149_000, 1500)];
    assert_eq!(arrivals(&link, &sent), [52_000, 150_000, 300_000]);
}

/// With the probability at the instant of each arrival.
#[test]
fn losses_follow_the_schedule() {
    let loss = curve(&[(0, 0.0), (500, 1.0), (1_000, 0.25)], Shape::Step, None);
    let link = link(schedule(Service::Own, None, Some(loss), Outage::Hold));
    let sent: Vec<(u64, u32)> = (0..9_000).map(|n| (1_000 * n, 1500)).collect();
    let fates = fates(&link, &sent);
    let losses = |from: u64, until: u64| {
        let of = fates.iter().filter(|f| (from..until).contains(&f.0));
        of.filter(|f| f.1 == Some(DropCause::Radio)).count()
    };
    assert_eq!(losses(0, 500_000), 0);
    assert_eq!(losses(500_000, 1_000_000), 500);
    let rest = losses(1_000_000, 9_000_000);
    assert!((1_900..2_100).contains(&rest), "{rest}");
}

/// The amount sent in each period is the integral, however many periods one transmission takes.
#[test]
fn a_schedule_repeats() {
    let points = [(0, 12e6), (2, 0.0), (3, 6e6)];
    let link = rated(&points, Shape::Step, Some(4), Outage::Hold);
    // 24,000 bits in 2 ms, none in one, 6,000 in one: 30,000 in 4 ms.
    let sent = [(0, 1500); 5];
    assert_eq!(
        arrivals(&link, &sent),
        [11_000, 12_000, 14_500, 15_500, 18_000]
    );
    // A million bits are 33 periods and 10,000 bits, from the middle of an outage: 6,000 and 4,000.
    assert_eq!(
        arrivals(&link, &[(1_002_500, 125_000)]),
        [1_002_500 + 33 * 4_000 + 1_833 + 10_000]
    );
}

#[test]
fn a_rate_that_ends_at_zero_sends_nothing_more() {
    let link = rated(&[(0, 12e6), (2, 0.0)], Shape::Step, None, Outage::Hold);
    assert_eq!(
        arrivals(&link, &[(0, 1500), (0, 1500), (0, 1500), (0, 1500)]),
        [11_000, 12_000]
    );
}

/// By hand, with the rules of Mahimahi's mm-link. Opportunities of 1500 bytes at 2, 2, 5 and 9 ms, again from 9 ms
/// on: 11, 11, 14, 18 ms.
#[test]
fn opportunities_are_those_of_mahimahi() {
    let times = [2, 2, 5, 9].map(ms);
    let opportunities = Opportunities::new(&times, 1500, ms(9)).unwrap_or_else(|e| panic!("{e}"));
    let service = Service::Opportunities(opportunities);
    let link = link(schedule(service, None, None, Outage::Hold));
    let sent = [
        (0, 1000),     // 2 ms: 1000 of the first opportunity
        (100, 1000),   // 2 ms: 500 of the first, 500 of the second
        (1_999, 400),  // 2 ms: within the second, which loses 600 bytes then
        (2_000, 1500), // 5 ms: it came at the instant of two opportunities, and gets none
        (5_500, 1500), // 9 ms
        (9_000, 200),  // 11 ms: the first of the next period
        (9_500, 1500), // 11 ms: 1300 of the first, 200 of the second
        (9_500, 1500), // 14 ms: 1300 of the second, 200 of the third
        (9_500, 1300), // 14 ms: all the rest of it
        (14_001, 100), // 18 ms
        (18_000, 100), // 20 ms: the begin of the third period
    ];
    let at = [2, 2, 2, 5, 9, 11, 11, 14, 14, 18, 20].map(|ms| 1_000 * ms + 10_000);
    assert_eq!(arrivals(&link, &sent), at);
}

/// As many packets wait for opportunities as the limit allows; a partly sent packet no longer counts as waiting.
#[test]
fn the_queue_before_opportunities_holds_its_limit() {
    let times = [5, 10, 15, 20, 25].map(ms);
    let opportunities = Opportunities::new(&times, 1500, ms(30)).unwrap_or_else(|e| panic!("{e}"));
    let service = Service::Opportunities(opportunities);
    let mut link = link(schedule(service, None, None, Outage::Hold));
    link.limit = Some(2);
    let mut sent = vec![(0, 1000); 3];
    // After 5 ms the second one has sent 500 bytes.
    sent.extend([(6_000, 1000); 3]);
    let causes: Vec<_> = fates(&link, &sent).into_iter().map(|fate| fate.1).collect();
    let full = Some(DropCause::Queue);
    assert_eq!(causes, [None, None, full, None, None, full]);
}

/// Packets held by a pause are sent by the schedule from its end on.
#[test]
fn a_paused_link_continues_by_its_schedule() {
    let points = [(0, 12e6), (40, 1.2e6)];
    let mut link = rated(&points, Shape::Step, None, Outage::Hold);
    link.may_pause = true;
    let id = World::<Fates>::link_id(0);
    let timeline = [
        (2, Action::Pause(id)),
        (
            39,
            Action::Resume {
                link: id,
                setting: None,
            },
        ),
    ];
    let fates = fates_with(&link, &[(0, 1500), (0, 1500), (50_000, 150)], &timeline);
    let at: Vec<u64> = fates.iter().map(|fate| fate.0).collect();
    assert_eq!(at, [50_000, 60_000, 61_000]);
}

/// A copy of a world continues like the original.
#[test]
fn a_copy_follows_the_schedule() {
    let points: Vec<(u64, f64)> = (0..1_000).map(|i| (i, 1e6 * (1 + i % 13) as f64)).collect();
    let loss = curve(&[(0, 0.3)], Shape::Step, None);
    let service = Service::Rate(curve(&points, Shape::Linear, Some(1_000)));
    let link = link(schedule(service, None, Some(loss), Outage::Hold));
    let sent: Vec<(u64, u32)> = (0..2_000).map(|n| (2_000 * n, 1500)).collect();
    let mut first = world(Clock::Seconds, link, &sent, &[]);
    let half = Instant::ZERO + Duration::from_secs(2);
    first.run_before(half).unwrap_or_else(|e| panic!("{e}"));
    let mut second = first.watched_by(first.observer().clone());
    let end = Instant::ZERO + Duration::from_secs(10);
    for world in [&mut first, &mut second] {
        world.run_before(end).unwrap_or_else(|e| panic!("{e}"));
    }
    assert_eq!(first.into_observer().0, second.into_observer().0);
}

#[test]
fn what_cannot_be_is_refused() {
    let new = |points: &[(u64, f64)], period: Option<u64>| {
        let points: Vec<_> = points.iter().map(|&(at, value)| (ms(at), value)).collect();
        let found = Curve::new(&points, Shape::Step, period.map(ms));
        found.err().map(|e| e.to_string()).unwrap_or_default()
    };
    assert_eq!(new(&[], None), "it has no point at its start");
    assert_eq!(new(&[(1, 1.0)], None), "it has no point at its start");
    assert_eq!(
        new(&[(0, 1.0), (0, 2.0)], None),
        "point 1 is not after the one before it"
    );
    for value in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(
            new(&[(0, 1.0), (5, value)], None),
            "the value of point 1 is not a number from 0 to 1e18"
        );
    }
    assert_eq!(
        new(&[(0, 1.0), (5, 1.0)], Some(5)),
        "its period ends before its last point"
    );
    assert_eq!(new(&[(0, 1.0), (5, 0.0)], None), "");
    assert!(Opportunities::new(&[], 1500, ms(5)).is_err());
    assert!(Opportunities::new(&[ms(6)], 1500, ms(5)).is_err());
    let loss = Some(curve(&[(0, 1.5)], Shape::Step, None));
    assert!(Schedule::new(Service::Own, None, loss, Outage::Hold).is_err());
}

/// Times without an opportunity, also round the end of the period; shorter ones are none.
#[test]
fn pauses_between_opportunities() {
    let times = [100, 110, 120, 420, 430, 900].map(Duration::from_millis);
    let found = Opportunities::new(&times, 1500, Duration::from_secs(1));
    let found = found.unwrap_or_else(|e| panic!("{e}"));
    let rounded = |until: f64| -> Vec<(u64, u64)> {
        let pauses = found.pauses(until, 0.2).into_iter();
        let ms = |seconds: f64| (seconds * 1e3).round() as u64;
        pauses.map(|(a, b)| (ms(a), ms(b))).collect()
    };
    assert_eq!(
        rounded(2.0),
        [
            (120, 420),
            (430, 900),
            (900, 1100),
            (1120, 1420),
            (1430, 1900),
            (1900, 2000)
        ]
    );
    assert_eq!(rounded(0.2), [(120, 200)]);
    assert!((found.mean_distance() - 1.0 / 6.0).abs() < 1e-12);
}
