//! The links of a setup between the network devices of kernels: a simulated world in which the endpoints of each
//! flow are devices. A packet from a device enters the world at the instant at which it was sent; what the world
//! delivers goes to the other device. What happens to each packet is written to a record (`lab/kernel/midflight.h`).

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use midflight_sim::{
    Clock, End, Event, FlowId, LinkConfig, NodeId, Observer, Outgoing, Payload, Stack, StackConfig,
    World, WorldConfig,
};
use midflight_units::{Duration, Instant};

use super::homes::Homes;
use super::record::{records, RecordEvent, Writer};
use super::sender::FIRST_PORT;
use super::{is_of_links, refused, LabError};
use crate::error::StudyError;
use crate::network::cell::SERVER;
use crate::setup::{Setup, Step};

/// Maximum number of connections between two devices, besides the flows of the setup, that fair queues distinguish.
const OTHERS: usize = 32;

/// Packets of a device that have not yet entered the world.
type Inbox = Arc<Mutex<VecDeque<Box<[u8]>>>>;

/// An endpoint of a flow that is a device.
#[derive(Clone, Debug)]
struct Outside(Inbox);

impl Stack for Outside {
    fn open(&mut self, _now: Instant) {}

    fn on_datagram(&mut self, _now: Instant, _datagram: &[u8]) {}

    fn poll_datagram(&mut self, _now: Instant) -> Option<Outgoing> {
        let mut inbox = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inbox.pop_front().map(Into::into)
    }

    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    fn on_timeout(&mut self, _now: Instant) {}

    fn copy(&self) -> Option<Box<dyn Stack>> {
        None
    }
}

/// An endpoint of a flow of the world.
#[derive(Debug)]
struct Door {
    flow: FlowId,
    end: End,
    inbox: Inbox,
}

/// Packets between two devices: a flow of the world for each flow of the setup, and more for other connections.
#[derive(Debug, Default)]
struct Way {
    flows: BTreeMap<usize, Door>,
    others: Vec<Door>,
}

/// The links of a setup and their observer. The caller owns time.
#[derive(Debug)]
pub(super) struct Links<O> {
    pub(super) world: World<O>,
    /// By source and destination node.
    ways: BTreeMap<(u16, u16), Way>,
    /// The endpoint nodes of each flow of the world.
    nodes: Vec<[u16; 2]>,
    /// The ports of other connections, by their endpoint nodes, in the order of their first packets.
    ports: BTreeMap<(u16, u16), Vec<(u16, u16)>>,
}

/// The destination of an IPv4 packet and its ports; None for another packet.
fn read(packet: &[u8]) -> Option<(u16, (u16, u16))> {
    let word = |at: usize| Some(u16::from_be_bytes(*packet.get(at..)?.first_chunk()?));
    let first = *packet.first()?;
    if first >> 4 != 4 {
        return None;
    }
    let target = word(18)?.checked_sub(1)?;
    let at = usize::from(first & 15) * 4;
    let ports = word(at).zip(word(at + 2)).unwrap_or_default();
    Some((target, ports))
}

impl<O: Observer> Links<O> {
    /// The links of a setup; with the interfaces of a multihomed node if `homes` is given.
    pub(super) fn new(setup: &Setup, homes: Option<&Homes>, observer: O) -> Result<Self, LabError> {
        let network = &setup.network;
        if !network.hooks.is_empty() {
            let what = "nodes that read segments, such as routers for Quick-Start";
            return Err(refused(what, "a scheme without them"));
        }
        let (mut links, mut routes) = (network.links.clone(), network.routes.clone());
        let mut pairs: Vec<[u16; 2]> = Vec::new();
        for flow in setup.flows.iter() {
            let pair = [flow.from.0, flow.to.0];
            let back = [flow.to.0, flow.from.0];
            if !pairs.contains(&pair) && !pairs.contains(&back) {
                pairs.push(pair);
            }
        }
        if let Some(homes) = homes {
            links.extend(homes.links());
            routes.extend(homes.routes());
            pairs.extend(homes.nodes().map(|home| [SERVER.0, home]));
        }
        let by_flow = |link: &LinkConfig| link.queue.as_ref().is_some_and(|q| q.kind.serves_flows);
        let others = if links.iter().any(by_flow) { OTHERS } else { 1 };
        let own = setup.flows.iter().enumerate();
        let own = own.map(|(number, flow)| ([flow.from.0, flow.to.0], Some(number)));
        let rest = pairs
            .iter()
            .flat_map(|&pair| std::iter::repeat_n((pair, None), others));
        let (mut ways, mut stacks, mut nodes) =
            (BTreeMap::<(u16, u16), Way>::new(), Vec::new(), Vec::new());
        for (place, ([client, server], number)) in own.chain(rest).enumerate() {
            let inboxes = [Inbox::default(), Inbox::default()];
            let flow = World::<()>::flow_id(place as u32);
            for (end, (from, to)) in [
                (End::Client, (client, server)),
                (End::Server, (server, client)),
            ] {
                let inbox = inboxes[usize::from(end == End::Server)].clone();
                let (way, door) = (ways.entry((from, to)), Door { flow, end, inbox });
                match number {
                    Some(number) => {
                        way.or_default().flows.insert(number, door);
                    }
                    None => way.or_default().others.push(door),
                }
            }
            nodes.push([client, server]);
            stacks.push(StackConfig {
                nodes: [client, server].map(NodeId),
                ends: inboxes.map(|inbox| Box::new(Outside(inbox)) as Box<dyn Stack>),
                addresses: Vec::new(),
                exits: Vec::new(),
                data: None,
            });
        }
        let config = WorldConfig {
            clock: Clock::Picoseconds,
            nodes: homes.map_or(network.nodes, |homes| homes.sizes()[0]),
            links: &links,
            routes: &routes,
            alternatives: &network.alternatives,
            flows: Vec::new(),
            stacks,
            hooks: Vec::new(),
            apps: Vec::new(),
        };
        let mut world = World::new(config, observer).map_err(StudyError::from)?;
        for (at, step) in setup.timeline.iter() {
            let Step::Act(action) = step else { continue };
            if is_of_links(action) {
                world.schedule(*at, *action).map_err(StudyError::from)?;
                if let Some(also) = homes.and_then(|homes| homes.also(action)) {
                    world.schedule(*at, also).map_err(StudyError::from)?;
                }
            }
        }
        world.hold_routes_until(Instant::NEVER);
        Ok(Self {
            world,
            ways,
            nodes,
            ports: BTreeMap::new(),
        })
    }

    /// Processes everything that is due before an instant.
    pub(super) fn go_on(&mut self, before: Instant) -> Result<(), LabError> {
        loop {
            let next = self.world.next_event();
            if next.at() >= before {
                return Ok(());
            }
            self.world.process(next).map_err(StudyError::from)?;
        }
    }

    /// The device of a node sends a packet; returns whether it has a destination. No later event has been processed
    /// yet.
    pub(super) fn send(
        &mut self,
        now: Instant,
        node: u16,
        packet: Box<[u8]>,
    ) -> Result<bool, LabError> {
        let Some((to, ports)) = read(&packet) else {
            return Ok(false);
        };
        let Some(way) = self.ways.get(&(node, to)) else {
            return Ok(false);
        };
        let number = |port: u16| port.checked_sub(FIRST_PORT).map(usize::from);
        let own = [number(ports.1), number(ports.0)];
        let own = own.into_iter().flatten().find_map(|n| way.flows.get(&n));
        let door = own.or_else(|| {
            // Both directions of a connection belong to one flow.
            let (pair, ports) = if node < to {
                ((node, to), ports)
            } else {
                ((to, node), (ports.1, ports.0))
            };
            let seen = self.ports.entry(pair).or_default();
            let known = seen.iter().position(|one| *one == ports);
            let place = known.unwrap_or(seen.len());
            if known.is_none() {
                seen.push(ports);
            }
            way.others.get(place % way.others.len().max(1))
        });
        let Some(Door { flow, end, inbox }) = door else {
            return Ok(false);
        };
        let waiting = || inbox.lock().unwrap_or_else(PoisonError::into_inner);
        waiting().push_back(packet);
        self.world.wake(*flow, *end, now);
        while !waiting().is_empty() {
            let next = self.world.next_event();
            self.world.process(next).map_err(StudyError::from)?;
        }
        Ok(true)
    }
}

/// What happened to a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// Its number among all packets.
    pub packet: u32,
    /// When.
    pub at: Instant,
    /// The node to whose device it is delivered, and its bytes at that time; None if it is lost.
    pub delivered: Option<(u16, Box<[u8]>)>,
    /// A queue has marked it ("congestion experienced").
    pub is_marked: bool,
    /// The position of its record, for [`Emulator::delivered`].
    place: usize,
}

/// Records what happens to packets.
#[derive(Debug, Default)]
struct Seen {
    /// The endpoint nodes of each flow.
    nodes: Vec<[u16; 2]>,
    /// The overall numbers of packets in transit, by flow and number there, and whether they are marked.
    underway: BTreeMap<(usize, u64), (u32, bool)>,
    /// The number of packets so far.
    packets: u32,
    record: Writer,
    fates: Vec<Fate>,
}

impl Seen {
    fn lost(&mut self, packet: u32, at: Instant) {
        self.fates.push(Fate {
            packet,
            at,
            delivered: None,
            is_marked: false,
            place: 0,
        });
    }
}

impl Observer for Seen {
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        let key = |number: u64| (flow.index(), number);
        match event {
            Event::DatagramSent(datagram) => {
                // The packet that was counted last.
                let packet = (self.packets.wrapping_sub(1), false);
                self.underway.insert(key(datagram.number), packet);
            }
            Event::DatagramArrived { datagram, link } => {
                let [client, server] = self.nodes[flow.index()];
                let node = match datagram.from {
                    End::Client => server,
                    End::Server => client,
                };
                let link = link.index() as u16;
                if let Some((packet, is_marked)) = self.underway.remove(&key(datagram.number)) {
                    let place = self.record.delivered(now, packet, node, link);
                    self.fates.push(Fate {
                        packet,
                        at: now,
                        delivered: Some((node, datagram.bytes.clone())),
                        is_marked,
                        place,
                    });
                }
            }
            Event::Marked {
                payload: Payload::Datagram(number),
                link,
                ..
            } => {
                if let Some((packet, is_marked)) = self.underway.get_mut(&key(*number)) {
                    *is_marked = true;
                    self.record.marked(now, *packet, link.index() as u16);
                }
            }
            Event::Dropped {
                payload: Payload::Datagram(number),
                link,
                cause,
                ..
            } => {
                if let Some((packet, _)) = self.underway.remove(&key(*number)) {
                    let place = link.index() as u16;
                    self.record.lost(now, packet, place, *cause);
                    self.lost(packet, now);
                }
            }
            _ => {}
        }
    }
}

/// The links of a setup, and the record of the packets on them.
#[derive(Debug)]
pub struct Emulator {
    links: Links<Seen>,
    end: Instant,
}

impl Emulator {
    /// The links of a setup; if it is `multihomed`, with a node that has an interface on each access link.
    ///
    /// # Errors
    /// [`LabError`] for an error of the world.
    pub fn new(setup: &Setup, multihomed: bool) -> Result<Self, LabError> {
        let homes = multihomed.then(|| Homes::new(setup)).transpose()?;
        let mut links = Links::new(setup, homes.as_ref(), Seen::default())?;
        let nodes = links.nodes.clone();
        links.world.watch().0.nodes = nodes;
        let end = setup.end;
        Ok(Self { links, end })
    }

    /// The nodes that have a device.
    pub fn nodes(&self) -> Vec<u16> {
        let mut nodes: Vec<u16> = self.links.ways.keys().map(|(from, _)| *from).collect();
        nodes.dedup();
        nodes
    }

    /// When the run ends.
    pub fn end(&self) -> Instant {
        self.end
    }

    fn seen(&mut self) -> &mut Seen {
        self.links.world.watch().0
    }

    /// The device of a node has sent a packet at an instant; no earlier packet may follow. Packets that the
    /// machine's kernel sends itself, such as router solicitations, are neither delivered nor recorded.
    ///
    /// # Errors
    /// [`LabError`] for an error of the world.
    pub fn take(&mut self, now: Instant, node: u16, packet: &[u8]) -> Result<(), LabError> {
        self.links.go_on(now)?;
        let way = read(packet).map(|(to, _)| (node, to));
        if way.is_none_or(|way| !self.links.ways.contains_key(&way)) {
            return Ok(());
        }
        let seen = self.seen();
        seen.record.sent(now, seen.packets, node, packet);
        self.send(now, node, packet.into())
    }

    /// As [`Self::take`], for packets that a guest's driver reports as entries of a record. The world gets packets
    /// of the same lengths with their headers.
    ///
    /// # Errors
    /// [`LabError::Record`] for an entry that is not a sent packet or not the next one; [`LabError`] for an error of
    /// the world.
    pub fn take_entries(&mut self, entries: &[u8]) -> Result<(), LabError> {
        for entry in records(entries) {
            let entry = entry?;
            let RecordEvent::Sent { bytes, headers, .. } = entry.event else {
                let what = "a packet that was not sent".into();
                let at = entry.offset;
                return Err(LabError::Record { at, what });
            };
            self.links.go_on(entry.at)?;
            let seen = self.seen();
            if entry.packet != seen.packets {
                let what = format!("packet {} instead of {}", entry.packet, seen.packets);
                let at = entry.offset;
                return Err(LabError::Record { at, what });
            }
            seen.record.copy(entry.bytes);
            let mut packet = vec![0; bytes as usize];
            let known = headers.len().min(packet.len());
            packet[..known].copy_from_slice(&headers[..known]);
            self.send(entry.at, entry.place, packet.into())?;
        }
        Ok(())
    }

    fn send(&mut self, now: Instant, node: u16, packet: Box<[u8]>) -> Result<(), LabError> {
        let seen = self.seen();
        let number = seen.packets;
        seen.packets += 1;
        if !self.links.send(now, node, packet)? {
            let seen = self.seen();
            seen.record.no_route(now, number, node);
            seen.lost(number, now);
        }
        Ok(())
    }

    /// Processes everything that is due up to an instant; returns what happened to packets since the last call.
    ///
    /// # Errors
    /// [`LabError`] for an error of the world.
    pub fn run(&mut self, now: Instant) -> Result<Vec<Fate>, LabError> {
        self.links.go_on(now + Duration::from_nanos(1))?;
        Ok(std::mem::take(&mut self.seen().fates))
    }

    /// When the next event is due.
    pub fn next(&self) -> Instant {
        self.links.world.next_event().at()
    }

    /// A packet was given to its device this much later than it was due.
    pub fn delivered(&mut self, of: &Fate, late: Duration) {
        if of.delivered.is_some() {
            self.seen().record.late(of.place, late);
        }
    }

    /// The record of all packets.
    pub fn into_record(self) -> Vec<u8> {
        self.links.world.into_observer().record.into_bytes()
    }
}

/// Lower bound of the time from one device of a setup to another: the link delays alone, each at its minimum.
pub(super) fn shortest_way(setup: &Setup, homes: Option<&Homes>) -> Duration {
    let network = &setup.network;
    let mut links = network.links.clone();
    let mut ends: Vec<usize> = Vec::new();
    for flow in setup.flows.iter() {
        ends.extend([flow.from.0, flow.to.0].map(usize::from));
    }
    if let Some(homes) = homes {
        links.extend(homes.links());
        ends.push(usize::from(SERVER.0));
        ends.extend(homes.nodes().map(usize::from));
    }
    ends.sort_unstable();
    ends.dedup();
    let least = |link: &LinkConfig| {
        let later = link.settings.iter().map(|setting| setting.delay);
        let least = later.fold(link.delay, Duration::min);
        let curve = link.schedule.as_ref().and_then(|of| of.schedule.delay());
        curve.map_or(least, |curve| {
            // Rounded down to a nanosecond; a trace has no negative delay.
            Duration::from_nanos((curve.range().0 * 1e9).floor().max(0.0) as u64)
        })
    };
    let nodes = homes.map_or(network.nodes, |homes| homes.sizes()[0]);
    let mut shortest = Duration::MAX;
    for &from in &ends {
        let mut far = vec![Duration::MAX; nodes];
        far[from] = Duration::ZERO;
        // Bellman-Ford: few nodes, once per run.
        for _ in 0..nodes {
            for link in &links {
                let (start, end) = (usize::from(link.from.0), usize::from(link.to.0));
                if far[start] < Duration::MAX {
                    far[end] = far[end].min(far[start] + least(link));
                }
            }
        }
        let others = ends.iter().filter(|&&to| to != from).map(|&to| far[to]);
        shortest = others.fold(shortest, Duration::min);
    }
    shortest
}

#[cfg(test)]
mod tests {
    use midflight_sim::DropCause;

    use super::*;
    use crate::lab::record::{records, RecordEvent};
    use crate::scenario::{read_scenario, Origin};

    fn packet(to: u16, bytes: usize) -> Vec<u8> {
        let mut packet = vec![0; bytes];
        packet[0] = 0x45;
        packet[18..20].copy_from_slice(&(to + 1).to_be_bytes());
        packet
    }

    #[test]
    fn packets_take_as_long_as_the_links_say_and_breaks_take_them() -> Result<(), LabError> {
        let text = r#"
            end = "2 s"
            [wired]
            rate = "1000 Mbit/s"
            delay = "1 ms"
            [links.one]
            rate = "8 Mbit/s"
            delay = "10 ms"
            [links.two]
            rate = "8 Mbit/s"
            delay = "20 ms"
            [flows.f]
            [[handoffs]]
            at = "1 s"
            to = "two"
            gap = "100 ms"
        "#;
        let setup = read_scenario(text, Origin::Toml("test"), &[], &[])?.setup(0)?;
        let mut emulator = Emulator::new(&setup, false)?;
        let &[server, mobile] = emulator.nodes().as_slice() else {
            return Err(refused("nodes", "two"));
        };
        let at = |micros: u64| Instant::from_nanos(1000 * micros);
        emulator.take(at(500), server, &packet(mobile, 1000))?;
        emulator.take(at(500), server, &packet(99, 1000))?;
        assert!(emulator.run(at(12_500))?.is_empty());
        // Two wired links of 1 ms and 8 us each, and 1 ms of transmission.
        let due = 500 + 2 * (1000 + 8) + 1000 + 10_000 + 8;
        let found = emulator.run(at(due + 1000))?;
        assert_eq!(found.len(), 1);
        let to = |fate: &Fate| fate.delivered.as_ref().map(|(node, _)| *node);
        assert_eq!((to(&found[0]), found[0].at), (Some(mobile), at(due)));
        emulator.delivered(&found[0], Duration::from_micros(1000));
        emulator.take(at(999_000), server, &packet(mobile, 1000))?;
        emulator.take(at(1_200_000), mobile, &packet(server, 40))?;
        let found = emulator.run(at(2_000_000))?;
        assert_eq!(
            found.iter().map(to).collect::<Vec<_>>(),
            [None, Some(server)]
        );
        let record = emulator.into_record();
        let events: Result<Vec<_>, _> = records(&record).map(|r| r.map(|r| r.event)).collect();
        let lost = |e: &&RecordEvent<'_>| matches!(e, RecordEvent::Lost(DropCause::Break));
        let late = |e: &&RecordEvent<'_>| {
            matches!(
                e,
                RecordEvent::Delivered {
                    late_ns: 1_000_000,
                    ..
                }
            )
        };
        let events = events?;
        // The packet to a missing node is in no record.
        assert_eq!(events.len(), 6);
        assert_eq!(events.iter().filter(lost).count(), 1);
        assert_eq!(events.iter().filter(late).count(), 1);
        Ok(())
    }

    /// A queue with ECN marks packets whose headers have ECT, and drops others.
    #[test]
    fn queues_mark_packets_of_devices() -> Result<(), LabError> {
        let text = r#"
            end = "20 s"
            [links.one]
            rate = "1 Mbit/s"
            delay = "10 ms"
            queue = "codel ecn"
            [flows.f]
        "#;
        let setup = read_scenario(text, Origin::Toml("test"), &[], &[])?.setup(0)?;
        for (service, marks) in [(0, false), (2, true)] {
            let mut emulator = Emulator::new(&setup, false)?;
            let &[server, mobile] = emulator.nodes().as_slice() else {
                return Err(refused("nodes", "two"));
            };
            // Twice as many as the link can send.
            for number in 0..1000_u64 {
                let mut one = packet(mobile, 1500);
                one[1] = service;
                emulator.take(Instant::from_nanos(6_000_000 * number), server, &one)?;
            }
            let found = emulator.run(Instant::from_nanos(20_000_000_000))?;
            let delivered: Vec<_> = found.iter().filter_map(|f| f.delivered.as_ref()).collect();
            let lost = found.len() - delivered.len();
            let marked = found.iter().filter(|fate| fate.is_marked).count();
            assert_eq!((marked > 10, lost > 10), (marks, !marks));
            let has_mark = |(_, bytes): &&&(u16, Box<[u8]>)| bytes[1] & 3 == 3;
            assert_eq!(delivered.iter().filter(has_mark).count(), marked);
            let record = emulator.into_record();
            let events: Result<Vec<_>, _> = records(&record).map(|r| r.map(|r| r.event)).collect();
            let events = events?;
            let early = RecordEvent::Lost(DropCause::Early);
            let count = |what: RecordEvent<'_>| events.iter().filter(|e| **e == what).count();
            assert_eq!((count(RecordEvent::Marked), count(early)), (marked, lost));
        }
        Ok(())
    }

    /// A guest's driver writes its own record; its packets have the next numbers.
    #[test]
    fn entries_of_a_driver_are_taken_in_their_order() -> Result<(), LabError> {
        let text =
            "end = \"1 s\"\nlinks.one = { rate = \"1 Mbit/s\", delay = \"10 ms\" }\nflows.f = {}";
        let setup = read_scenario(text, Origin::Toml("test"), &[], &[])?.setup(0)?;
        let mut emulator = Emulator::new(&setup, false)?;
        let &[server, mobile] = emulator.nodes().as_slice() else {
            return Err(refused("nodes", "two"));
        };
        let entry = |number: u32| {
            let mut writer = Writer::default();
            let at = Instant::from_nanos(u64::from(number));
            writer.sent(at, number, server, &packet(mobile, 100));
            writer.into_bytes()
        };
        emulator.take_entries(&entry(0))?;
        let wrong = emulator.take_entries(&entry(2)).map_err(|e| e.to_string());
        assert!(wrong.is_err_and(|said| said.contains("packet 2 instead of 1")));
        emulator.take_entries(&entry(1))?;
        let found = emulator.run(Instant::from_nanos(1_000_000_000))?;
        assert_eq!(found.iter().map(|f| f.packet).collect::<Vec<_>>(), [0, 1]);
        assert!(emulator
            .into_record()
            .starts_with(&[entry(0), entry(1)].concat()));
        Ok(())
    }
}
