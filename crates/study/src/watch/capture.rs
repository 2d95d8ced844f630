//! The packets of a run on the wire: a pcapng capture at each of several points, for Wireshark and similar
//! tools.
//!
//! The sender's and the receiver's captures have the watched flow; those at access links have the packets of all
//! flows that enter and leave the link. Comments have information that is not in packets: orders with their
//! reasons, timeouts, breaks and makes at the next packet, and at a lost packet the cause of its loss.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use midflight_sim::{
    Carried, Datagram, DropCause, End, Event, FlowId, LinkId, Observer, Payload, TransportEvent,
};
use midflight_tcp::{Ack, AckOption, RecoveryKind, SenderEvent};
use midflight_units::Instant;
use midflight_wire::{pcapng, AckSent, Ends, Uniform};
use smallvec::SmallVec;

use super::{play, GoOn, LinkNames, RunObserver};
use crate::error::StudyError;
use crate::setup::{FlowSetup, PathChange, Setup};

/// Maximum size of a run's captures together, and the overhead per packet.
const MOST_BYTES: u64 = 4_000_000_000;
const PER_PACKET: u64 = 200;

/// Discard (RFC 863): the receiver ignores its data.
const RECEIVER_PORT: u16 = 9;
/// Port of the first flow's sender.
const FIRST_PORT: u16 = 49_152;
const SENDER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// Address of the first flow's receiver.
const FIRST_RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);

/// The beginning of the comment on a lost packet, and of that on a marked one.
const LOST: &str = "lost at";
const MARKED: &str = "marked at";

/// The packets seen at one capture point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The name of the point, as in a file name: `sender`, `receiver`, `bs1` ...
    pub place: String,
    /// Number of packets.
    pub packets: usize,
    /// The capture file.
    pub pcapng: Vec<u8>,
}

/// A capture point in a network, besides sender and receiver.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) name: Cow<'static, str>,
    /// Packets that enter these links are captured.
    pub(crate) links: SmallVec<[LinkId; 2]>,
    /// Only the watched flow's packets.
    pub(crate) watched_only: bool,
    /// The shared access link at this point: towards the receiver of a downlink flow, and back.
    pub(crate) access: [LinkId; 2],
}

/// The comments for a break or a make that is not a handoff to another link: by time, and by whether it is a
/// break.
fn in_words(changes: &[PathChange]) -> BTreeMap<(Instant, bool), String> {
    let mut words = BTreeMap::new();
    for one in changes {
        let (from, to) = &one.links;
        let (begins, ends) = match (one.is_change, one.breaks) {
            (true, true) => (
                format!("{to} pauses for a change of its parameters"),
                format!("{to} resumes with its new parameters"),
            ),
            (true, false) => (String::new(), format!("the parameters of {to} change")),
            (false, _) if from == to => (
                format!("the mobile node loses {to}"),
                format!("the mobile node is on {to} again"),
            ),
            (false, _) => continue,
        };
        if one.breaks {
            words.insert((one.at, true), begins);
        }
        words.insert((one.make, false), ends);
    }
    words
}

const SENDER: usize = 0;
const RECEIVER: usize = 1;
const FIRST_PLACE: usize = 2;

/// The parts of a packet.
#[derive(Clone, Debug)]
enum Content {
    /// A segment or an ACK, not encoded yet.
    Tcp(Carried),
    Datagram(Datagram),
}

/// A captured packet.
#[derive(Clone, Debug)]
struct CapturedPacket {
    at: Instant,
    flow: FlowId,
    packet: Content,
    /// For an ACK.
    sent: AckSent,
    remarks: Vec<String>,
}

/// The state of a flow, as far as it is known.
#[derive(Clone, Debug, Default)]
struct Known {
    /// All ACKs that its receiver has sent.
    acks: Vec<(Ack, AckSent)>,
    /// Data has reached the receiver.
    has_data: bool,
    /// When its sender received each timestamp of the receiver.
    timestamps: Vec<(Instant, Instant)>,
}

/// Captures packets at every point.
#[derive(Clone, Debug)]
pub(crate) struct Capturing {
    /// Number of the watched flow.
    flow: usize,
    places: Vec<Place>,
    shots: Vec<Vec<CapturedPacket>>,
    flows: Vec<Known>,
    /// For each point and flow, the index of the last ACK in the list of ACKs that the receiver sent.
    last: Vec<Vec<usize>>,
    /// Comments for the next packet, at each point.
    pending: Vec<Vec<String>>,
    snap: u32,
    bytes: u64,
    links: LinkNames,
    wire: Uniform,
    /// For each flow with a QUIC stack, the end that sends its data.
    senders: Vec<Option<End>>,
    /// Lines of a key log.
    secrets: Vec<Arc<str>>,
    /// Comments for a break or a make, if they differ from the default.
    marks: BTreeMap<(Instant, bool), String>,
}

impl Capturing {
    /// Captures at the points of a setup, besides sender and receiver of a flow; at most the first `snap` bytes
    /// of each packet, 0 for all.
    ///
    /// # Errors
    /// [`StudyError::Range`] for segments that do not fit into a packet, or have no room for data;
    /// [`StudyError::Uncaptured`].
    fn new(setup: &Setup, flow: usize, snap: u32) -> Result<Self, StudyError> {
        let places = setup.network.places.clone();
        let all = FIRST_PLACE + places.len();
        let profile = &setup.flows[flow].part.built.profile;
        if setup.flows[flow].quic.is_none() && profile.sender.recovery == RecoveryKind::Quic {
            return Err(StudyError::Uncaptured {
                flow: setup.flows[flow].name.to_string(),
            });
        }
        let wire = Uniform::new(profile).ok_or_else(|| StudyError::Range {
            what: "segment_bytes of a run to capture",
            value: profile.sender.segment_bytes.to_string(),
            accepted: "what headers leave room for and an IP packet holds: 41 to 65515, with timestamps from 53",
        })?;
        Ok(Self {
            flow,
            wire,
            marks: in_words(&setup.path_changes),
            places,
            shots: vec![Vec::new(); all],
            flows: Vec::new(),
            last: vec![Vec::new(); all],
            pending: vec![Vec::new(); all],
            // A truncated packet cannot be decrypted.
            snap: if setup.flows.iter().any(FlowSetup::is_encrypted) {
                0
            } else {
                snap
            },
            bytes: 0,
            links: LinkNames::new(setup),
            senders: setup.flows.iter().map(FlowSetup::stack_sender).collect(),
            secrets: Vec::new(),
        })
    }

    fn known(&mut self, flow: FlowId) -> &mut Known {
        if self.flows.len() <= flow.index() {
            self.flows.resize(flow.index() + 1, Known::default());
        }
        &mut self.flows[flow.index()]
    }

    fn shoot(&mut self, now: Instant, place: usize, flow: FlowId, packet: Carried, sent: AckSent) {
        self.shoot_any(now, place, flow, Content::Tcp(packet), sent);
    }

    fn shoot_datagram(&mut self, now: Instant, place: usize, flow: FlowId, datagram: &Datagram) {
        let sent = AckSent {
            at: now,
            syn: false,
        };
        let packet = Content::Datagram(datagram.clone());
        self.shoot_any(now, place, flow, packet, sent);
    }

    fn shoot_any(
        &mut self,
        now: Instant,
        place: usize,
        flow: FlowId,
        packet: Content,
        sent: AckSent,
    ) {
        let remarks = std::mem::take(&mut self.pending[place]);
        let size = match &packet {
            Content::Tcp(Carried::Data(segment)) => segment.bytes,
            Content::Tcp(Carried::Ack(ack)) => ack.bytes(),
            Content::Datagram(datagram) => datagram.bytes.len() as u32,
        };
        let kept = if self.snap == 0 {
            size
        } else {
            size.min(self.snap)
        };
        self.bytes += PER_PACKET + u64::from(kept);
        self.shots[place].push(CapturedPacket {
            at: now,
            flow,
            packet,
            sent,
            remarks,
        });
    }

    /// When the receiver sent an ACK that is at a point now. ACKs arrive in order, except those that are
    /// overtaken on another path; an ACK that was never sent is forged.
    fn sending(&mut self, now: Instant, place: usize, flow: FlowId, ack: &Ack) -> AckSent {
        let known = self.known(flow).acks.len();
        let last = &mut self.last[place];
        if last.len() <= flow.index() {
            last.resize(flow.index() + 1, 0);
        }
        let from = last[flow.index()].min(known);
        let acks = &self.flows[flow.index()].acks;
        let is_it = |(_, (sent, _)): &(usize, &(Ack, AckSent))| sent == ack;
        let ahead = || acks.iter().enumerate().skip(from).find(is_it);
        let behind = || acks[..from].iter().enumerate().rev().find(is_it);
        match ahead().or_else(behind) {
            Some((at, &(_, sent))) => {
                self.last[place][flow.index()] = from.max(at + 1);
                sent
            }
            None => AckSent {
                at: now,
                syn: false,
            },
        }
    }

    /// Adds a comment to the last packet at a point if that was just now, otherwise to the next packet.
    fn remark(&mut self, now: Instant, place: usize, text: String) {
        match self.shots[place].last_mut() {
            Some(shot) if shot.at == now && shot.flow.index() == self.flow => {
                shot.remarks.push(text);
            }
            _ => self.pending[place].push(text),
        }
    }

    /// Adds a comment on a lost or marked packet to the captures at all points; the comment begins with `what`.
    fn remark_fate(
        &mut self,
        flow: FlowId,
        (payload, datagram, sent): (Payload, Option<u64>, Instant),
        what: &str,
        text: &str,
    ) {
        let text = format!("{what} {text}");
        let is_it = |shot: &&mut CapturedPacket| {
            shot.flow == flow
                && match (&shot.packet, payload) {
                    (Content::Datagram(d), _) => Some(d.number) == datagram,
                    (Content::Tcp(Carried::Data(s)), Payload::Data(seq)) => {
                        (s.seq, s.sent) == (seq, sent)
                    }
                    (Content::Tcp(Carried::Data(s)), Payload::Ack(ack)) => {
                        !s.has_data() && (s.seq, s.sent) == (ack, sent)
                    }
                    (Content::Tcp(Carried::Ack(a)), Payload::Ack(ack)) => {
                        (a.ack, a.cause_sent) == (ack, sent)
                    }
                    _ => false,
                }
        };
        for shots in &mut self.shots {
            // Of identical copies, the first one without this comment.
            let since = shots.iter_mut().rev().take_while(|shot| shot.at >= sent);
            let unsaid =
                |shot: &&mut CapturedPacket| !shot.remarks.iter().any(|r| r.starts_with(what));
            if let Some(shot) = since.filter(is_it).filter(unsaid).last() {
                shot.remarks.push(text.clone());
            }
        }
    }

    /// The point that captures the packets entering a link.
    fn place_of(&self, link: LinkId, watched: bool) -> Option<usize> {
        let is_at = |p: &Place| p.links.contains(&link) && (watched || !p.watched_only);
        let place = self.places.iter().position(is_at);
        place.map(|place| FIRST_PLACE + place)
    }

    /// Comments on actions of a sender that its packets do not show.
    fn of_sender(&mut self, now: Instant, change: &SenderEvent<'_>) {
        let text = match change {
            SenderEvent::Order {
                author,
                order,
                reason,
            } => format!("{author}: {order} because {reason}"),
            SenderEvent::Timeout(_) => "retransmission timeout".into(),
            SenderEvent::FastRetransmit(_) => "fast retransmit".into(),
            SenderEvent::SpuriousTimeout => "taken for a spurious timeout".into(),
            SenderEvent::SpuriousRetransmit => "taken for a spurious fast retransmit".into(),
            _ => return,
        };
        match change {
            // Caused by the timer: a comment on the next packet.
            SenderEvent::Timeout(_) => self.pending[SENDER].push(text),
            _ => self.remark(now, SENDER, text),
        }
    }

    /// The last timestamp that a sender had received when it sent something.
    fn last_timestamp(&self, flow: FlowId, sent: Instant) -> Option<Instant> {
        let timestamps = &self.flows.get(flow.index())?.timestamps;
        let before = timestamps.partition_point(|&(at, _)| at <= sent);
        Some(timestamps[before.checked_sub(1)?].1)
    }

    /// The files.
    ///
    /// # Errors
    /// [`StudyError::Capture`] and [`StudyError::Wire`].
    fn develop(&self, about: &str, digest: &str) -> Result<Vec<Capture>, StudyError> {
        let about = format!("{about}; digest {digest}");
        let fixed = ["sender", "receiver"].map(String::from);
        let names = fixed
            .into_iter()
            .chain(self.places.iter().map(|p| p.name.to_string()));
        let mut captures = Vec::new();
        for (place, (name, shots)) in names.zip(&self.shots).enumerate() {
            let mut file = pcapng::File::new(&name, self.snap, &about)?;
            if !self.secrets.is_empty() {
                let lines = self.secrets.iter().map(|line| format!("{line}\n"));
                file.add_secrets(&lines.collect::<String>())?;
            }
            for shot in shots {
                let carried = match &shot.packet {
                    Content::Tcp(carried) => carried,
                    Content::Datagram(datagram) => {
                        let is_data = self.senders[shot.flow.index()] == Some(datagram.from);
                        let leaves = place != if is_data { RECEIVER } else { SENDER };
                        let length = datagram.bytes.len() as u32;
                        file.add(shot.at, &datagram.bytes, length, leaves, &shot.remarks)?;
                        continue;
                    }
                };
                let ends = ends(shot.flow);
                let packet = match carried {
                    Carried::Data(s) => {
                        let last = self.last_timestamp(shot.flow, s.sent);
                        self.wire.segment(ends, s, last)?
                    }
                    Carried::Ack(ack) => self.wire.ack(ends, ack, shot.sent)?,
                };
                let leaves = match carried {
                    Carried::Data(_) => place != RECEIVER,
                    Carried::Ack(_) => place != SENDER,
                };
                let mut remarks = shot.remarks.clone();
                if let Carried::Ack(Ack {
                    option: AckOption::Moved(mark),
                    ..
                }) = carried
                {
                    remarks.insert(0, format!("handoff mark {}", mark.number));
                }
                if packet.blocks_left_out > 0 {
                    let left = packet.blocks_left_out;
                    remarks.push(format!("SACK blocks without room in the header: {left}"));
                }
                let length = packet.bytes.len() as u32;
                file.add(shot.at, &packet.bytes, length, leaves, &remarks)?;
            }
            captures.push(Capture {
                place: name,
                packets: shots.len(),
                pcapng: file.finish(),
            });
        }
        Ok(captures)
    }
}

/// The packets of a flow of a run (of the first flow if none is named) at its sender, its receiver and the
/// capture points of its network, at most the first `snap` bytes of each (0 for all); and the digest of the run.
/// `go_on` is as for [`super::trace`].
///
/// # Errors
/// As [`super::trace`].
pub fn capture(
    setup: &Setup,
    flow: Option<&str>,
    snap: u32,
    go_on: GoOn<'_>,
) -> Result<(Vec<Capture>, String), StudyError> {
    let flow = setup.flow_of_name(flow)?;
    let (capturing, digest) = play(setup, Capturing::new(setup, flow, snap)?, go_on)?;
    let (scheme, profile) = (&setup.flows[flow].scheme, &setup.profile);
    let run = setup.run.map(|run| format!(", run {run}"));
    let about = format!("{scheme} on profile {profile}{}", run.unwrap_or_default());
    Ok((capturing.develop(&about, &digest)?, digest))
}

/// A comment for an event of a connection.
fn in_a_remark(event: &TransportEvent) -> String {
    let text = event.name().replace('_', " ");
    match (event.value(), event.detail()) {
        (0, "") => text,
        (0, detail) => format!("{text}: {detail}"),
        (value, _) => format!("{text}: {value}"),
    }
}

/// The addresses and ports of a flow.
fn ends(flow: FlowId) -> Ends {
    let number = flow.index() as u16;
    let port = FIRST_PORT.wrapping_add(number).max(1024);
    let address = Ipv4Addr::from_bits(FIRST_RECEIVER.to_bits() + flow.index() as u32);
    Ends {
        sender: SocketAddrV4::new(SENDER_ADDRESS, port),
        receiver: SocketAddrV4::new(address, RECEIVER_PORT),
    }
}

impl RunObserver for Capturing {
    type Detail = super::Plain;

    fn check_length(&self, end: Instant) -> Result<(), StudyError> {
        if self.bytes > MOST_BYTES {
            return Err(StudyError::TooLong {
                what: "bytes to capture",
                most: MOST_BYTES as usize,
                end,
            });
        }
        Ok(())
    }
}

impl Observer for Capturing {
    fn taps(&self, link: LinkId) -> bool {
        self.places.iter().any(|place| place.links.contains(&link))
    }

    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        let watched = flow.index() == self.flow;
        let just_now = AckSent {
            at: now,
            syn: false,
        };
        if let Some(sender) = self.senders[flow.index()] {
            let (own, other) = (SENDER, RECEIVER);
            match event {
                Event::DatagramSent(datagram) if watched => {
                    let place = if datagram.from == sender { own } else { other };
                    self.shoot_datagram(now, place, flow, datagram);
                }
                Event::DatagramArrived { datagram, .. } if watched => {
                    let place = if datagram.from == sender { other } else { own };
                    self.shoot_datagram(now, place, flow, datagram);
                }
                Event::DatagramEntered { link, datagram } => {
                    if let Some(place) = self.place_of(*link, watched) {
                        self.shoot_datagram(now, place, flow, datagram);
                    }
                }
                Event::Transport(TransportEvent::Secret(line)) => {
                    self.secrets.push(Arc::clone(line));
                }
                Event::Transport(event) if watched => {
                    self.remark(now, SENDER, in_a_remark(event));
                }
                _ => {}
            }
            // Their packets represent datagrams.
            if matches!(
                event,
                Event::Sent(_) | Event::AckArrived(_) | Event::AckSent(_) | Event::Arrived { .. }
            ) {
                return;
            }
        }
        match event {
            Event::Sent(segment) if watched => {
                self.shoot(now, SENDER, flow, Carried::Data(**segment), just_now);
            }
            Event::EmptyAck { segment, arrived } if watched => {
                let place = if *arrived { RECEIVER } else { SENDER };
                self.shoot(now, place, flow, Carried::Data(**segment), just_now);
            }
            Event::AckArrived(ack) if watched || ack.echo.is_some() => {
                let sent = self.sending(now, SENDER, flow, ack);
                if ack.echo.is_some() {
                    self.known(flow).timestamps.push((now, sent.at));
                }
                if watched {
                    self.shoot(now, SENDER, flow, Carried::Ack(**ack), sent);
                }
            }
            Event::AckSent(ack) => {
                let known = self.known(flow);
                let syn = ack.ack == 1 && !known.has_data;
                let sent = AckSent { at: now, syn };
                known.acks.push((**ack, sent));
                if watched {
                    self.shoot(now, RECEIVER, flow, Carried::Ack(**ack), sent);
                }
            }
            Event::Arrived { segment, .. } => {
                self.known(flow).has_data |= segment.seq > 0;
                if watched {
                    self.shoot(now, RECEIVER, flow, Carried::Data(**segment), just_now);
                }
            }
            Event::Entered { link, packet } => {
                let Some(place) = self.place_of(*link, watched) else {
                    return;
                };
                let sent = match packet {
                    Carried::Data(_) => just_now,
                    Carried::Ack(ack) => self.sending(now, place, flow, ack),
                };
                self.shoot(now, place, flow, *packet, sent);
            }
            Event::Dropped {
                payload,
                sent,
                link,
                cause,
                datagram,
            } => {
                let name = self.links.of(*link);
                let text = match cause {
                    DropCause::Queue => format!("{name}: no room in its queue"),
                    DropCause::Early => format!("{name}: by the discipline of its queue"),
                    DropCause::Break => format!("{name}: the link is down"),
                    DropCause::Radio => format!("{name}: by the radio"),
                    DropCause::Node => format!("{name}: kept back by the node"),
                };
                self.remark_fate(flow, (*payload, *datagram, *sent), LOST, &text);
            }
            Event::Marked {
                payload,
                sent,
                link,
                datagram,
            } => {
                let name = self.links.of(*link);
                let text = format!("{name}: CE set by the discipline of its queue");
                self.remark_fate(flow, (*payload, *datagram, *sent), MARKED, &text);
            }
            Event::Break | Event::Make => {
                let breaks = matches!(event, Event::Break);
                let usual = if breaks {
                    "the old link breaks"
                } else {
                    "the new link is in use"
                };
                let own = self.marks.get(&(now, breaks));
                let text = own.map_or(usual, String::as_str);
                for pending in &mut self.pending {
                    pending.push(format!("before this: {text}"));
                }
            }
            Event::Notice if watched => {
                self.pending[SENDER].push("before this: a notice reaches the sender".into());
            }
            Event::Sender(change) if watched => self.of_sender(now, change),
            _ => {}
        }
    }
}
