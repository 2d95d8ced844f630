//! The links of a setup between real network devices: a simulated world in which the ends of each flow are
//! devices. Packets from a device enter the world at the instant at which they are read; packets
//! that the world delivers are written to the other device. The fate of each is recorded as by the
//! driver of a guest.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use midflight_sim::{
    Clock, End, Event, FlowId, LinkId, Observer, Outgoing, Payload, Stack, StackConfig, World,
    WorldConfig,
};
use midflight_units::{Duration, Instant};

use super::record::Writer;
use super::{is_of_links, refused, LabError};
use crate::error::StudyError;
use crate::setup::{Setup, Step};

/// Packets of a device that have not yet entered the world.
type Inbox = Arc<Mutex<VecDeque<Box<[u8]>>>>;

/// An end of a flow: a device.
#[derive(Debug)]
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

/// A packet that is to be written to a device now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The node of the device.
    pub node: u16,
    /// The packet.
    pub bytes: Box<[u8]>,
    /// When it was due.
    pub due: Instant,
    /// Where its record is, for [`Emulator::delivered`].
    place: usize,
}

/// Notes what happens to packets.
#[derive(Debug, Default)]
struct Seen {
    /// The nodes of the ends of each flow.
    nodes: Vec<[u16; 2]>,
    /// Number of a packet among all, and the link that it is on, by flow and number there.
    underway: BTreeMap<(usize, u64), (u32, u16)>,
    packets: u32,
    record: Writer,
    deliveries: Vec<Delivery>,
}

impl Seen {
    fn node(&self, flow: FlowId, end: End) -> u16 {
        let [client, server] = self.nodes[flow.index()];
        if end == End::Client {
            client
        } else {
            server
        }
    }
}

impl Observer for Seen {
    fn taps(&self, _link: LinkId) -> bool {
        true
    }

    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        match event {
            Event::DatagramSent(datagram) => {
                let packet = self.packets;
                self.packets += 1;
                let key = (flow.index(), datagram.number);
                self.underway.insert(key, (packet, u16::MAX));
                let node = self.node(flow, datagram.from);
                self.record.sent(now, packet, node, &datagram.bytes);
            }
            Event::DatagramEntered { link, datagram, .. } => {
                let key = (flow.index(), datagram.number);
                if let Some((_, on)) = self.underway.get_mut(&key) {
                    *on = link.index() as u16;
                }
            }
            Event::DatagramArrived(datagram) => {
                let node = self.node(flow, datagram.from.other());
                let key = (flow.index(), datagram.number);
                if let Some((packet, link)) = self.underway.remove(&key) {
                    let place = self.record.delivered(now, packet, node, link);
                    self.deliveries.push(Delivery {
                        node,
                        bytes: datagram.bytes.clone(),
                        due: now,
                        place,
                    });
                }
            }
            Event::Dropped {
                payload: Payload::Datagram(number),
                link,
                cause,
                ..
            } => {
                if let Some((packet, _)) = self.underway.remove(&(flow.index(), *number)) {
                    let place = link.index() as u16;
                    self.record.lost(now, packet, place, *cause);
                }
            }
            _ => {}
        }
    }
}

/// The links of a setup; time is the caller's.
#[derive(Debug)]
pub struct Emulator {
    world: World<Seen>,
    /// By the nodes that a packet goes from and to: flow, end, and where it waits.
    ways: BTreeMap<(u16, u16), (FlowId, End, Inbox)>,
    end: Instant,
}

impl Emulator {
    /// Those of a setup.
    ///
    /// # Errors
    /// [`LabError`] for what the world refuses.
    pub fn new(setup: &Setup) -> Result<Self, LabError> {
        if !setup.network.hooks.is_empty() {
            let what = "routers that answer rate requests (Quick-Start)";
            return Err(refused(what, "a scheme without them"));
        }
        let mut nodes: Vec<[u16; 2]> = Vec::new();
        for flow in setup.flows.iter() {
            let pair = [flow.from.0, flow.to.0];
            let back = [flow.to.0, flow.from.0];
            if !nodes.contains(&pair) && !nodes.contains(&back) {
                nodes.push(pair);
            }
        }
        let mut ways = BTreeMap::new();
        let mut stacks = Vec::new();
        for (number, &[client, server]) in nodes.iter().enumerate() {
            let inboxes = [Inbox::default(), Inbox::default()];
            let flow = World::<()>::flow_id(number as u32);
            let [one, other] = inboxes.clone();
            ways.insert((client, server), (flow, End::Client, one));
            ways.insert((server, client), (flow, End::Server, other));
            stacks.push(StackConfig {
                nodes: [client, server].map(midflight_sim::NodeId),
                ends: inboxes.map(|inbox| Box::new(Outside(inbox)) as Box<dyn Stack>),
                addresses: Vec::new(),
                data: None,
            });
        }
        let network = &setup.network;
        let config = WorldConfig {
            clock: Clock::Picoseconds,
            nodes: network.nodes,
            links: &network.links,
            routes: &network.routes,
            alternatives: &network.alternatives,
            flows: Vec::new(),
            stacks,
            hooks: Vec::new(),
        };
        let seen = Seen {
            nodes,
            ..Seen::default()
        };
        let mut world = World::new(config, seen).map_err(StudyError::from)?;
        for (at, step) in setup.timeline.iter() {
            if let Step::Act(action) = step {
                if is_of_links(action) {
                    let planned = world.schedule(*at, *action);
                    planned.map_err(StudyError::from)?;
                }
            }
        }
        world.hold_routes_until(Instant::NEVER);
        let end = setup.end;
        Ok(Self { world, ways, end })
    }

    /// The nodes that have a device.
    pub fn nodes(&self) -> Vec<u16> {
        let mut nodes: Vec<u16> = self.ways.keys().map(|(from, _)| *from).collect();
        nodes.dedup();
        nodes
    }

    /// When the run ends.
    pub fn end(&self) -> Instant {
        self.end
    }

    /// The device of a node has sent a packet, which was read at this instant; whether it goes anywhere.
    pub fn take(&mut self, now: Instant, node: u16, packet: &[u8]) -> bool {
        let target = packet.get(18..20).and_then(|b| b.first_chunk());
        let target = target.and_then(|&b| u16::from_be_bytes(b).checked_sub(1));
        let is_ip = packet.first().is_some_and(|first| first >> 4 == 4);
        let way = target.filter(|_| is_ip).map(|to| (node, to));
        let Some((flow, end, inbox)) = way.and_then(|way| self.ways.get(&way)) else {
            return false;
        };
        let mut waiting = inbox.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push_back(packet.into());
        drop(waiting);
        self.world.wake(*flow, *end, now);
        true
    }

    /// Lets happen what is due up to an instant; what is to be written now.
    ///
    /// # Errors
    /// [`LabError`] for what the world refuses.
    pub fn run(&mut self, now: Instant) -> Result<Vec<Delivery>, LabError> {
        let until = now + Duration::from_nanos(1);
        self.world.run_before(until).map_err(StudyError::from)?;
        Ok(std::mem::take(&mut self.world.watch().0.deliveries))
    }

    /// When something is due next.
    pub fn next(&self) -> Instant {
        self.world.next_event().at()
    }

    /// A packet was written so much later than it was due.
    pub fn delivered(&mut self, of: &Delivery, late: Duration) {
        self.world.watch().0.record.late(of.place, late);
    }

    /// The record of all packets.
    pub fn into_record(self) -> Vec<u8> {
        self.world.into_observer().record.into_bytes()
    }
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
        let mut emulator = Emulator::new(&setup)?;
        let &[server, mobile] = emulator.nodes().as_slice() else {
            return Err(refused("nodes", "two"));
        };
        let at = |micros: u64| Instant::from_nanos(1000 * micros);
        assert!(emulator.take(at(500), server, &packet(mobile, 1000)));
        assert!(!emulator.take(at(500), server, &packet(99, 1000)));
        assert!(emulator.run(at(12_500))?.is_empty());
        // Two wired links of 1 ms and 8 us each, and 1 ms of transmission.
        let due = 500 + 2 * (1000 + 8) + 1000 + 10_000 + 8;
        let found = emulator.run(at(due + 1000))?;
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].node, found[0].due), (mobile, at(due)));
        emulator.delivered(&found[0], Duration::from_micros(1000));
        emulator.take(at(999_000), server, &packet(mobile, 1000));
        emulator.take(at(1_200_000), mobile, &packet(server, 40));
        let found = emulator.run(at(2_000_000))?;
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].node, server);
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
        assert_eq!(events.len(), 6);
        assert_eq!(events.iter().filter(lost).count(), 1);
        assert_eq!(events.iter().filter(late).count(), 1);
        Ok(())
    }
}
