//! Comparison of a guest's links with the simulator's: the packets that the guest's devices sent
//! are sent at the same instants over the same links in a simulated world, and the results must be
//! those in the record.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use midflight_sim::{
    Action, Clock, DropCause, Event, FlowId, NodeId, Observer, Outgoing, Payload, Stack,
    StackConfig, World, WorldConfig,
};
use midflight_units::{Duration, Instant};
use midflight_wire::Header;

use super::record::{records, RecordEvent};
use super::replay::{direction, Direction, NO_THRESHOLD};
use super::{is_of_links, LabError};
use crate::error::StudyError;
use crate::setup::{flow_id, Setup, Step};
use crate::watch::{GoOn, Sampler, Samples, SenderSample, Tapping};

/// Instants of guest and simulator are the same up to this: both round to nanoseconds, from picoseconds
/// and from doubles.
const TOLERANCE: Duration = Duration::from_nanos(1);
/// Maximum number of reported differences.
const MOST_TOLD: usize = 10;

/// The fate of a packet up to the end of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fate {
    Delivered(Instant),
    Lost(Instant, DropCause, String),
    Underway,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delivered(at) => write!(f, "delivered at {} ns", at.as_nanos()),
            Self::Lost(at, cause, link) => {
                let (at, cause) = (at.as_nanos(), cause.name());
                write!(f, "lost at {at} ns at {link} ({cause})")
            }
            Self::Underway => f.write_str("under way at the end"),
        }
    }
}

impl Fate {
    fn at(&self) -> Option<Instant> {
        match self {
            Self::Delivered(at) | Self::Lost(at, ..) => Some(*at),
            Self::Underway => None,
        }
    }

    /// How far apart two are; none if they are not the same, up to `tolerance`. The guest's run ended at
    /// `end`.
    fn apart(&self, simulated: &Self, end: Instant, tolerance: Duration) -> Option<Duration> {
        let both = (self.at(), simulated.at());
        let same_kind = match (self, simulated) {
            (Self::Delivered(_), Self::Delivered(_)) => true,
            (Self::Lost(_, a, at), Self::Lost(_, b, of)) => (a, at) == (b, of),
            (Self::Underway, _) => {
                return both
                    .1
                    .is_none_or(|at| at + tolerance >= end)
                    .then_some(Duration::ZERO)
            }
            _ => false,
        };
        let (Some(a), Some(b)) = both else {
            return None;
        };
        let apart = a.max(b).since(a.min(b));
        (same_kind && apart <= tolerance).then_some(apart)
    }
}

/// How the links of a guest compare with the simulator's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkCheck {
    /// Packets that the guest's devices sent.
    pub packets: usize,
    /// Those that were delivered, or lost at the same link for the same cause, at the same instant up to
    /// a nanosecond.
    pub same: usize,
    /// Of these those that were lost.
    pub lost: usize,
    /// The most that the same ones are apart.
    pub most_apart: Duration,
    /// The first that are not, a sentence each.
    pub differences: Vec<String>,
}

/// Packets in their order: instants and sizes.
type Packets = VecDeque<(Instant, u32)>;

/// Sends packets of given sizes at given instants.
#[derive(Clone, Debug)]
struct Playback(Packets);

impl Stack for Playback {
    fn open(&mut self, _now: Instant) {}

    fn on_datagram(&mut self, _now: Instant, _datagram: &[u8]) {}

    fn poll_datagram(&mut self, now: Instant) -> Option<Outgoing> {
        self.0.front().filter(|&&(at, _)| at <= now)?;
        let (_, bytes) = self.0.pop_front()?;
        let bytes: Box<[u8]> = vec![0; bytes as usize].into();
        Some(bytes.into())
    }

    // The timeline opens it anew at each instant: then the links know of a packet as early as the driver says.
    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    fn on_timeout(&mut self, _now: Instant) {}

    fn copy(&self) -> Option<Box<dyn Stack>> {
        Some(Box::new(self.clone()))
    }
}

/// Notes what becomes of packets, by pair of nodes and number.
#[derive(Debug, Default)]
struct Fates(BTreeMap<(usize, u64), (Instant, DropCause, Option<usize>)>);

impl Observer for Fates {
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        match *event {
            Event::DatagramArrived(datagram) => {
                // The cause is of losses only.
                let key = (flow.index(), datagram.number);
                self.0.insert(key, (now, DropCause::Queue, None));
            }
            Event::Dropped {
                payload: Payload::Datagram(number),
                link,
                cause,
                ..
            } => {
                let key = (flow.index(), number);
                self.0.insert(key, (now, cause, Some(link.index())));
            }
            _ => {}
        }
    }
}

/// What a guest's devices sent.
#[derive(Debug, Default)]
struct Sent {
    /// Pairs of nodes, in the order of their first packets, and what went from one to the other.
    pairs: BTreeMap<(u16, u16), (usize, Packets)>,
    /// Of each packet the pair, its number there, when it left, and what became of it.
    packets: Vec<(usize, u64, Instant, Fate)>,
    /// The last instant of the record.
    end: Instant,
}

/// The node that an IPv4 header names as destination (`mf_send` of the driver).
fn target_of(headers: &[u8]) -> Option<u16> {
    let &[_, _, high, low] = headers.get(16..)?.first_chunk()?;
    u16::from_be_bytes([high, low]).checked_sub(1)
}

fn sent(setup: &Setup, record: &[u8]) -> Result<Sent, LabError> {
    let mut sent = Sent::default();
    let mut underway: BTreeMap<u32, usize> = BTreeMap::new();
    let name = |link: u16| {
        let link = setup.network.links.get(usize::from(link));
        link.map_or_else(|| "an unknown link".into(), |link| link.name.to_string())
    };
    for record in records(record) {
        let record = record?;
        sent.end = record.at;
        let place = underway.get(&record.packet).copied();
        let fate = match record.event {
            RecordEvent::Sent { bytes, headers, .. } => {
                let Some(to) = target_of(headers) else {
                    let what = "a packet without an IPv4 header".into();
                    let at = record.offset;
                    return Err(LabError::Record { at, what });
                };
                let new = sent.pairs.len();
                let pair = sent.pairs.entry((record.place, to));
                let (pair, packets) = pair.or_insert_with(|| (new, VecDeque::new()));
                underway.insert(record.packet, sent.packets.len());
                let number = packets.len() as u64;
                packets.push_back((record.at, bytes));
                sent.packets
                    .push((*pair, number, record.at, Fate::Underway));
                continue;
            }
            RecordEvent::Delivered { .. } => Fate::Delivered(record.at),
            RecordEvent::Lost(cause) => Fate::Lost(record.at, cause, name(record.place)),
            RecordEvent::NoRoute => {
                let (packet, node) = (record.packet, record.place);
                let what = format!("packet {packet} was lost at node {node}, which has no route");
                let at = record.offset;
                return Err(LabError::Record { at, what });
            }
        };
        let Some(place) = place else {
            let what = format!("packet {} was never sent", record.packet);
            let at = record.offset;
            return Err(LabError::Record { at, what });
        };
        sent.packets[place].3 = fate;
    }
    Ok(sent)
}

/// The links of a setup, over which what a guest's devices sent is to be sent again.
fn world_of<O: Observer>(
    setup: &Setup,
    pairs: BTreeMap<(u16, u16), (usize, Packets)>,
    observer: O,
) -> Result<World<O>, LabError> {
    let mut stacks: Vec<_> = pairs.into_iter().collect();
    stacks.sort_by_key(|(_, (number, _))| *number);
    let sends = stacks.iter().map(|(_, (_, packets))| packets);
    let mut opens: Vec<(Instant, usize)> = Vec::new();
    for (number, packets) in sends.enumerate() {
        opens.extend(packets.iter().map(|&(at, _)| (at, number)));
    }
    opens.sort_unstable();
    opens.dedup();
    let stack = |((from, to), (_, packets)): ((u16, u16), (usize, Packets))| StackConfig {
        nodes: [NodeId(from), NodeId(to)],
        ends: [
            Box::new(Playback(packets)),
            Box::new(Playback(VecDeque::new())),
        ],
        addresses: Vec::new(),
        data: None,
    };
    let network = &setup.network;
    let config = WorldConfig {
        clock: Clock::Picoseconds,
        nodes: network.nodes,
        links: &network.links,
        routes: &network.routes,
        alternatives: &network.alternatives,
        flows: Vec::new(),
        stacks: stacks.into_iter().map(stack).collect(),
        hooks: Vec::new(),
    };
    let mut world = World::new(config, observer).map_err(StudyError::from)?;
    for (at, step) in setup.timeline.iter() {
        if let Step::Act(action) = step {
            if is_of_links(action) {
                world.schedule(*at, *action).map_err(StudyError::from)?;
            }
        }
    }
    for (at, number) in opens {
        let open = Action::Open(flow_id(number as u32));
        world.schedule(at, open).map_err(StudyError::from)?;
    }
    world.hold_routes_until(Instant::NEVER);
    Ok(world)
}

/// Samples of links and senders in a run of a kernel: the links are the simulator's, over which the
/// packets are replayed, and a sender's state is that reported with each packet.
///
/// # Errors
/// [`LabError::Record`]; [`LabError::Study`] as for [`crate::samples`].
pub fn replay_samples(
    setup: &Setup,
    record: &[u8],
    every: Option<Duration>,
    go_on: GoOn<'_>,
) -> Result<Samples, LabError> {
    let Sent { pairs, end, .. } = sent(setup, record)?;
    let end = end.min(setup.end);
    let mut sampler = Sampler::new(setup, every, go_on)?;
    let mut world = world_of(setup, pairs, Tapping)?;
    loop {
        let next = world.next_event();
        sampler.look(&world, next.at().min(end))?;
        if next.at() >= end {
            break;
        }
        world.process(next).map_err(StudyError::from)?;
        sampler.ask()?;
    }
    let mut found = sampler.into_samples();
    found.senders = kernel_senders(setup, record)?;
    Ok(found)
}

/// What the kernel's senders told with each packet.
fn kernel_senders(setup: &Setup, record: &[u8]) -> Result<Vec<SenderSample>, LabError> {
    let mut found = Vec::new();
    for record in records(record) {
        let record = record?;
        let RecordEvent::Sent {
            state: Some(state),
            headers,
            ..
        } = record.event
        else {
            continue;
        };
        let Ok((header, _)) = Header::decode_headers(headers) else {
            continue;
        };
        let Some((flow, Direction::Data)) = direction(setup, record.place, &header) else {
            continue;
        };
        let left = state.sacked_out.saturating_add(state.lost_out);
        let pipe = state.packets_out.saturating_sub(left) + state.retrans_out;
        let micros = |time: u32| Duration::from_micros(time.into());
        found.push(SenderSample {
            at: record.at,
            flow,
            cwnd: state.cwnd.into(),
            ssthresh: match state.ssthresh {
                NO_THRESHOLD => f64::INFINITY,
                set => set.into(),
            },
            pipe: pipe.into(),
            flight: state.packets_out.into(),
            srtt: (state.srtt_us > 0).then(|| micros(state.srtt_us)),
            rto: micros(state.rto_us),
        });
    }
    Ok(found)
}

/// Sends what a guest's devices sent over the simulator's links, and compares what becomes of it.
///
/// # Errors
/// [`LabError::Record`]; [`LabError::Study`] for a world that cannot be.
pub fn check_links(setup: &Setup, record: &[u8]) -> Result<LinkCheck, LabError> {
    let Sent {
        pairs,
        packets,
        end,
    } = sent(setup, record)?;
    let mut world = world_of(setup, pairs, Fates::default())?;
    world.run_before(setup.end).map_err(StudyError::from)?;
    let network = &setup.network;
    let fates = world.into_observer().0;
    let is_queue_loss = |fate: &&(Instant, DropCause, Option<usize>)| {
        fate.2.is_some() && fate.1 == DropCause::Queue
    };
    // In the simulator a packet that finds no room after a change without a pause delays those behind it by
    // a nanosecond.
    let changes = |(_, step): &(Instant, Step)| matches!(step, Step::Act(Action::Change { .. }));
    let tolerance = if setup.timeline.iter().any(changes) {
        TOLERANCE + TOLERANCE * fates.values().filter(is_queue_loss).count() as u64
    } else {
        TOLERANCE
    };
    let mut check = LinkCheck {
        packets: packets.len(),
        ..LinkCheck::default()
    };
    for (number, (pair, place, left, guest)) in packets.iter().enumerate() {
        let simulated = match fates.get(&(*pair, *place)) {
            None => Fate::Underway,
            Some(&(at, _, None)) => Fate::Delivered(at),
            Some(&(at, cause, Some(link))) => {
                Fate::Lost(at, cause, network.links[link].name.to_string())
            }
        };
        if let Some(apart) = guest.apart(&simulated, end, tolerance) {
            check.same += 1;
            check.lost += usize::from(matches!(guest, Fate::Lost(..)));
            check.most_apart = check.most_apart.max(apart);
        } else if check.differences.len() < MOST_TOLD {
            let left = left.as_nanos();
            check.differences.push(format!(
                "packet {number}, sent at {left} ns: {guest} in the guest, {simulated} in the simulator"
            ));
        }
    }
    Ok(check)
}
