//! Nodes that inspect packets, hold some back and send some themselves.
#![allow(clippy::panic, reason = "a failed test panics")]

use std::collections::BTreeMap;

use crate::common::{at, links, routes, MOBILE, SERVER, STATION};
use midflight_sim::{
    Action, Carried, Clock, Digest, DropCause, Emitted, Event, FlowConfig, FlowId, Hook,
    HookedPacket, NodeHook, NodeId, Observer, Payload, Verdict, World, WorldConfig,
};
use midflight_tcp::profile;
use midflight_units::{Duration, Instant, Seq};

const SEGMENTS: Seq = 500;

/// A station that delays every n-th segment, and its clock.
#[derive(Clone, Debug)]
struct Delaying {
    every: Seq,
    by: Duration,
    kept: BTreeMap<Instant, Vec<Emitted>>,
    now: Instant,
    seen: [u64; 2],
}

impl Delaying {
    fn new(every: Seq, ms: u64) -> Self {
        Self {
            every,
            by: Duration::from_millis(ms),
            kept: BTreeMap::new(),
            now: Instant::ZERO,
            seen: [0; 2],
        }
    }
}

impl NodeHook for Delaying {
    fn on_packet(
        &mut self,
        now: Instant,
        packet: &HookedPacket<'_>,
        _emit: &mut Vec<Emitted>,
    ) -> Verdict {
        assert!(
            now >= self.now,
            "packets of all links come in the order of time"
        );
        self.now = now;
        let (flow, to) = packet.flow();
        let Some(what) = packet.carried() else {
            return Verdict::Forward;
        };
        let (is_ack, keeps) = match what {
            Carried::Data(segment) => {
                assert_eq!(packet.bytes(), segment.bytes);
                let first = !segment.retransmission && segment.seq > 0;
                (false, first && segment.seq % self.every == 0)
            }
            Carried::Ack(_) => (true, false),
        };
        self.seen[usize::from(is_ack)] += 1;
        if !keeps {
            return Verdict::Forward;
        }
        let due = now + self.by;
        self.kept.entry(due).or_default().push(Emitted {
            from: packet.node(),
            flow,
            to,
            what,
        });
        Verdict::Drop
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.kept.keys().next().copied()
    }

    fn on_timeout(&mut self, now: Instant, emit: &mut Vec<Emitted>) {
        assert_eq!(self.next_timeout(), Some(now));
        self.now = now;
        emit.extend(self.kept.remove(&now).unwrap_or_default());
    }

    fn copy(&self) -> Box<dyn NodeHook> {
        Box::new(self.clone())
    }
}

/// When each segment first arrived, and the segments that the node held back.
#[derive(Clone, Debug, Default)]
struct Seen {
    arrived: BTreeMap<Seq, Instant>,
    kept: Vec<(Seq, Instant)>,
    retransmissions: u64,
}

impl Observer for Seen {
    fn record(&mut self, now: Instant, _flow: FlowId, event: &Event<'_>) {
        match event {
            Event::Arrived { segment, .. } => {
                self.arrived.entry(segment.seq).or_insert(now);
            }
            Event::Sent(segment) => self.retransmissions += u64::from(segment.retransmission),
            Event::Dropped {
                payload: Payload::Data(seq),
                cause: DropCause::Node,
                ..
            } => self.kept.push((*seq, now)),
            _ => {}
        }
    }
}

type Watched = World<(Digest, Seen)>;

fn world(hooks: Vec<(Vec<NodeId>, Hook)>) -> Watched {
    let profile = profile("ns2").unwrap_or_else(|e| panic!("{e}"));
    let flow = FlowConfig {
        from: SERVER,
        to: MOBILE,
        sender: &profile.sender,
        parts: &profile.parts,
        receiver: &profile.receiver,
        policies: Vec::new(),
        addresses: Vec::new(),
        migrates: false,
    };
    let config = WorldConfig {
        clock: Clock::Seconds,
        nodes: 3,
        links: &links(),
        routes: &routes(),
        flows: vec![flow],
        hooks,
        ..WorldConfig::default()
    };
    let mut world = World::new(config, Default::default()).unwrap_or_else(|e| panic!("{e}"));
    let flow = Watched::flow_id(0);
    world.sender_mut(flow).set_end(SEGMENTS);
    let planned = world.schedule(Instant::ZERO, Action::Open(flow));
    planned.unwrap_or_else(|e| panic!("{e}"));
    world
}

fn run(world: &mut Watched, ms: u64) {
    world.run_before(at(ms)).unwrap_or_else(|e| panic!("{e}"));
}

fn delaying(every: Seq, ms: u64) -> Vec<(Vec<NodeId>, Hook)> {
    let hook = Delaying::new(every, ms);
    vec![(vec![STATION], Hook::Other(Box::new(hook)))]
}

#[test]
fn a_node_that_forwards_everything_changes_nothing() {
    let mut plain = world(Vec::new());
    let mut hooked = world(delaying(SEGMENTS + 1, 10));
    for world in [&mut plain, &mut hooked] {
        run(world, 60_000);
    }
    assert_eq!(plain.observer().0, hooked.observer().0);
    assert_eq!(plain.observer().1.arrived.len() as u64, SEGMENTS);
}

/// A segment that is held back for 10 ms arrives at the mobile node 10 ms plus its time over the
/// radio later, at most plus its queue; the first one finds an empty queue.
#[test]
fn delayed_packets_come_when_the_timer_expires() {
    let mut world = world(delaying(2, 10));
    run(&mut world, 60_000);
    let seen = &world.observer().1;
    assert_eq!(seen.arrived.len() as u64, SEGMENTS);
    assert!(seen.kept.len() as u64 >= SEGMENTS / 2 - 1);
    let (first, kept_at) = seen.kept[0];
    let way = Duration::from_millis(10 + 20 + 2);
    assert_eq!(seen.arrived[&first], kept_at + way);
    for (seq, at) in &seen.kept {
        let arrived = seen.arrived[seq];
        assert!(arrived >= *at + Duration::from_millis(10 + 20), "{seq}");
    }
}

#[test]
fn a_copy_continues_as_the_original() {
    let mut whole = world(delaying(7, 40));
    run(&mut whole, 60_000);
    assert!(whole.observer().1.retransmissions > 0);
    let mut past = world(delaying(7, 40));
    for ms in [0, 100, 333, 1000, 1777] {
        run(&mut past, ms);
        let mut copy = past.clone();
        run(&mut copy, 60_000);
        assert_eq!(copy.observer().0, whole.observer().0, "from {ms} ms on");
    }
}
