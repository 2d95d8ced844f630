//! Protocol stacks that exchange datagrams: an endpoint of a flow whose packets are bytes.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use midflight_control::Notice;
use midflight_tcp::{EcnCodepoint, SenderEvent};
use midflight_units::{Instant, Seq};
use smallvec::SmallVec;

use crate::config::NodeId;
use crate::link::LinkId;

/// One endpoint of a datagram flow, without I/O: the world carries its datagrams and owns time. After every call the
/// world calls [`Self::poll_datagram`] until it returns none, and then [`Self::next_timeout`].
pub trait Stack: Debug + Send + Sync {
    /// The application at this end opens the flow. The other end waits for it.
    fn open(&mut self, now: Instant);

    /// Its application has a message of this many bytes to send, on its own stream; if the flow is not open yet, it is
    /// sent as soon as it is.
    fn send(&mut self, _now: Instant, _bytes: u64) {}

    /// A datagram of the other end has arrived.
    fn on_datagram(&mut self, now: Instant, datagram: &[u8]);

    /// The next datagram to send.
    fn poll_datagram(&mut self, now: Instant) -> Option<Outgoing>;

    /// The events since the last call. The world calls this after every other call, before polling datagrams and after
    /// each of them.
    fn poll_report(&mut self) -> Option<Report> {
        None
    }

    /// When its next timer expires.
    fn next_timeout(&self) -> Option<Instant>;

    /// Its timer has expired. A call at another time changes nothing.
    fn on_timeout(&mut self, now: Instant);

    /// It gets a handoff notice, like a sender.
    fn on_notice(&mut self, _now: Instant, _notice: &Notice) {}

    /// The host is about to leave its link.
    fn on_warning(&mut self, _now: Instant) {}

    /// The host is on another link.
    fn on_attached(&mut self, _now: Instant) {}

    /// The address of the host, or of a NAT on its path, has changed to this.
    fn on_address(&mut self, _now: Instant, _address: SocketAddrV4) {}

    /// The host has this address too, on another link. The one before still works.
    fn on_second_address(&mut self, now: Instant, address: SocketAddrV4) {
        self.on_address(now, address);
    }

    /// A copy in the same state; none if it cannot be copied. The copy of a world fails when it needs an endpoint that
    /// could not be copied.
    fn copy(&self) -> Option<Box<dyn Stack>>;
}

/// A datagram to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// All bytes that count on a link, including the IP header.
    pub bytes: Box<[u8]>,
    /// Its content, if the stack reports it.
    pub carries: Carries,
}

impl From<Box<[u8]>> for Outgoing {
    fn from(bytes: Box<[u8]>) -> Self {
        let carries = Carries::Unknown;
        Self { bytes, carries }
    }
}

/// Bytes of a flow's data: the first and one past the last, counted in the order in which they were
/// sent for the first time.
pub type Bytes = (u64, u64);

/// The content of a datagram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Carries {
    /// Not reported.
    #[default]
    Unknown,
    /// Data of the flow.
    Data {
        /// Which bytes, ascending.
        pieces: SmallVec<[Bytes; 2]>,
        /// It begins with retransmitted bytes.
        retransmission: bool,
    },
    /// An acknowledgment without data.
    Ack,
}

/// An event inside a stack.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// The other end has acknowledged all data below this byte.
    Acked {
        /// The byte.
        below: u64,
        /// When the datagram that caused the acknowledgment was sent.
        sent: Instant,
    },
    /// Its application has read all of a stream from the other end: the number of the stream, from 0.
    Read(u64),
    /// Its retransmission timer has expired.
    Timeout,
    /// It declares packets lost and begins a recovery: the first of the flow's bytes in them.
    Recovery(u64),
    /// Another change in a sender.
    Sender(SenderEvent<'static>),
    /// An event that a TCP sender does not have.
    Transport(TransportEvent),
    /// It has failed, with this message. The run ends.
    Failed(String),
}

/// Events of a connection besides its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransportEvent {
    /// The handshake is complete at the sender of the data.
    Established,
    /// The client has a new address, and migrates.
    Migrates,
    /// The server has detected that the client's address has changed.
    Migrated {
        /// Only the port has changed.
        port_only: bool,
    },
    /// The client opens a path from this address beside the one in use (draft-ietf-quic-multipath).
    PathOpened(Arc<str>),
    /// The first packet over it has reached the server: the client's address on it.
    PathFound(Arc<str>),
    /// The sender of the data sends over another of several paths: the client's address on it.
    PathUsed(Arc<str>),
    /// The client closes the path from this address.
    PathClosed(Arc<str>),
    /// It has begun to validate a path.
    Challenge,
    /// A path is validated.
    Validated,
    /// A path could not be validated.
    ValidationFailed,
    /// It has more to send than three times what it received over a path that is not validated.
    AmplificationLimit,
    /// This many packets are considered lost.
    Lost {
        /// How many.
        packets: u64,
    },
    /// The data of this many packets was retransmitted although the packets arrived.
    Needless {
        /// How many.
        packets: u64,
    },
    /// Persistent congestion (RFC 9002 section 7.6): the window is reset.
    PersistentCongestion,
    /// A secret of its cryptography: a line of a key log.
    Secret(Arc<str>),
    /// The connection is closed, for this reason.
    Closed(Arc<str>),
}

impl TransportEvent {
    /// Its name in traces.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Established => "established",
            Self::Migrates => "migrates",
            Self::Migrated { .. } => "migrated",
            Self::PathOpened(_) => "path_opened",
            Self::PathFound(_) => "path_found",
            Self::PathUsed(_) => "path_used",
            Self::PathClosed(_) => "path_closed",
            Self::Challenge => "path_challenge",
            Self::Validated => "path_validated",
            Self::ValidationFailed => "path_failed",
            Self::AmplificationLimit => "amplification_limit",
            Self::Lost { .. } => "lost",
            Self::Needless { .. } => "needless",
            Self::PersistentCongestion => "persistent_congestion",
            Self::Secret(_) => "secret",
            Self::Closed(_) => "closed",
        }
    }

    /// Its number in traces: how many packets are lost; 0 for other events.
    pub fn value(&self) -> u64 {
        match self {
            Self::Lost { packets } | Self::Needless { packets } => *packets,
            _ => 0,
        }
    }

    /// A detail as text; empty if there is none.
    pub fn detail(&self) -> &str {
        match self {
            Self::Migrated { port_only: true } => "port only",
            Self::Closed(text)
            | Self::Secret(text)
            | Self::PathOpened(text)
            | Self::PathFound(text)
            | Self::PathUsed(text)
            | Self::PathClosed(text) => text,
            _ => "",
        }
    }
}

/// A flow of datagrams between two nodes.
#[derive(Debug)]
pub struct StackConfig {
    /// The node that opens it, and the other one.
    pub nodes: [NodeId; 2],
    /// The stacks there.
    pub ends: [Box<dyn Stack>; 2],
    /// Addresses that the client may have, each with the node where it receives packets to it; the first is the initial
    /// one. Datagrams to other addresses go to their nodes.
    pub addresses: Vec<(SocketAddrV4, NodeId)>,
    /// The first links of the client's datagrams with these source addresses. Those with other addresses take the route of
    /// its node.
    pub exits: Vec<(Ipv4Addr, LinkId)>,
    /// A description of its data, if its stacks report it.
    pub data: Option<DataConfig>,
}

/// Parameters of a flow's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataConfig {
    /// The end that sends them.
    pub sender: End,
    /// Bytes that count as a segment.
    pub segment_bytes: u32,
    /// How many bytes there are; none for unlimited.
    pub total: Option<u64>,
}

impl DataConfig {
    /// The segment that contains a byte, or the next expected segment when this byte is expected. Segment 0 stands for
    /// the handshake.
    pub fn segment(&self, byte: u64) -> Seq {
        let bytes = u64::from(self.segment_bytes.max(1));
        match self.total {
            Some(total) if byte >= total => 1 + total.div_ceil(bytes),
            _ => 1 + byte / bytes,
        }
    }
}

/// The source of an IPv4 datagram.
pub(crate) fn source(datagram: &[u8]) -> Option<Ipv4Addr> {
    let octets: [u8; 4] = datagram.get(12..16)?.try_into().ok()?;
    Some(Ipv4Addr::from(octets))
}

/// The destination of an IPv4 datagram.
pub(crate) fn destination(datagram: &[u8]) -> Option<Ipv4Addr> {
    let octets: [u8; 4] = datagram.get(16..20)?.try_into().ok()?;
    Some(Ipv4Addr::from(octets))
}

/// The ECN field of an IPv4 datagram (RFC 3168 section 5).
pub(crate) fn ecn(datagram: &[u8]) -> EcnCodepoint {
    match datagram {
        [first, service, ..] if first >> 4 == 4 => match service & 3 {
            0 => EcnCodepoint::NotCapable,
            1 => EcnCodepoint::LowLatency,
            2 => EcnCodepoint::Capable,
            _ => EcnCodepoint::Congestion,
        },
        _ => EcnCodepoint::NotCapable,
    }
}

/// Writes "congestion experienced" into an IPv4 datagram and its header's checksum (RFC 1624, equation 3).
pub(crate) fn mark(datagram: &mut [u8]) {
    let [first, service, _, _, _, _, _, _, _, _, high, low, ..] = datagram else {
        return;
    };
    let before = u16::from_be_bytes([*first, *service]);
    *service |= 3;
    let after = u16::from_be_bytes([*first, *service]);
    let of = u16::from_be_bytes([*high, *low]);
    let sum = u32::from(!of) + u32::from(!before) + u32::from(after);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    [*high, *low] = (!(sum as u16)).to_be_bytes();
}

/// A set of byte positions, from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByteSet {
    /// All bytes below this are in the set.
    below: u64,
    /// Other ranges, by first byte: one past the last.
    beyond: BTreeMap<u64, u64>,
}

impl ByteSet {
    /// All bytes below this are in the set.
    pub fn below(&self) -> u64 {
        self.below
    }

    /// One past the last byte in the set.
    pub fn end(&self) -> u64 {
        let last = self.beyond.last_key_value();
        last.map_or(self.below, |(_, until)| *until)
    }

    /// Whether all of these are in the set.
    pub fn has(&self, (from, until): Bytes) -> bool {
        let within = |(_, end): (&u64, &u64)| *end >= until;
        until <= self.below || self.beyond.range(..=from).next_back().is_some_and(within)
    }

    /// Adds bytes.
    pub fn add(&mut self, (from, until): Bytes) {
        let (mut from, mut until) = (from.max(self.below), until);
        if from >= until {
            return;
        }
        // Ranges that touch them are merged.
        while let Some((&first, &end)) = self.beyond.range(..=until).next_back() {
            if end < from {
                break;
            }
            self.beyond.remove(&first);
            from = from.min(first);
            until = until.max(end);
        }
        if from <= self.below {
            self.below = until;
        } else {
            self.beyond.insert(from, until);
        }
    }
}

/// An endpoint of a datagram flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The endpoint that opens the flow.
    Client,
    /// The other endpoint.
    Server,
}

impl End {
    pub(crate) const BOTH: [Self; 2] = [Self::Client, Self::Server];

    pub(crate) fn place(self) -> usize {
        usize::from(self == Self::Server)
    }

    /// The other endpoint.
    #[must_use]
    pub fn other(self) -> Self {
        Self::BOTH[1 - self.place()]
    }
}

/// A datagram on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The endpoint that sent it.
    pub from: End,
    /// Its number among the datagrams of the flow from both ends, from 0.
    pub number: u64,
    /// When it was sent.
    pub sent: Instant,
    /// All of its bytes.
    pub bytes: Box<[u8]>,
    /// What it carries.
    pub carries: Carries,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_bytes_is_what_was_added() {
        let mut state = 1_u64;
        for _ in 0..200 {
            let (mut set, mut there) = (ByteSet::default(), [false; 64]);
            for _ in 0..12 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let from = (state >> 40) % 60;
                let until = (from + (state >> 50) % 9).min(64);
                set.add((from, until));
                there[from as usize..until as usize].fill(true);
                let below = there.iter().position(|&is| !is).unwrap_or(64) as u64;
                assert_eq!(set.below(), below);
                let end = there.iter().rposition(|&is| is).map_or(0, |last| last + 1);
                assert_eq!(set.end(), end as u64);
                for from in 0..64 {
                    for until in from + 1..=64 {
                        let all = there[from..until].iter().all(|&is| is);
                        assert_eq!(set.has((from as u64, until as u64)), all);
                    }
                }
            }
        }
    }

    #[test]
    fn a_mark_keeps_the_checksum_right() {
        for service in [0_u8, 1, 2, 3, 0xb9] {
            let mut bytes = [
                0x45, service, 5, 220, 1, 2, 0x40, 0, 64, 6, 0, 0, 10, 77, 0, 1,
            ];
            let sum = |bytes: &[u8]| {
                let words = bytes.chunks_exact(2);
                let all: u32 = words.map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
                (all & 0xffff) + (all >> 16)
            };
            let right = !(sum(&bytes) as u16);
            bytes[10..12].copy_from_slice(&right.to_be_bytes());
            mark(&mut bytes);
            assert_eq!(ecn(&bytes), EcnCodepoint::Congestion);
            assert_eq!(bytes[1] >> 2, service >> 2);
            assert_eq!(sum(&bytes), 0xffff);
        }
    }

    #[test]
    fn the_last_segment_may_be_a_short_one() {
        let data = DataConfig {
            sender: End::Server,
            segment_bytes: 10,
            total: Some(25),
        };
        assert_eq!(
            [0, 9, 10, 24, 25].map(|byte| data.segment(byte)),
            [1, 1, 2, 3, 4]
        );
        let endless = DataConfig {
            total: None,
            ..data
        };
        assert_eq!(endless.segment(25), 3);
    }
}
