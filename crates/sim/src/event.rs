//! The events that a world reports.

use midflight_control::workload::AppEvent;
use midflight_tcp::{Ack, Segment, SenderEvent};
use midflight_units::{Instant, Seq};

use crate::config::{FlowId, NodeId};
use crate::link::LinkId;
use crate::stack::{Datagram, TransportEvent};

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// The segment with this number, towards the receiver.
    Data(Seq),
    /// The ACK with this number, towards the sender.
    Ack(Seq),
    /// The datagram with this number.
    Datagram(u64),
}

/// Why a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// The queue had no room.
    Queue,
    /// The queue's discipline dropped it although there was room.
    Early,
    /// The link was down.
    Break,
    /// The link's impairments lost it.
    Radio,
    /// A node on the path dropped it.
    Node,
}

impl Payload {
    /// Its kind: `data`, `ack` or `datagram`.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Data(_) => "data",
            Self::Ack(_) => "ack",
            Self::Datagram(_) => "datagram",
        }
    }
}

impl DropCause {
    /// Its name in tables: `queue`, `early`, `break`, `radio` or `node`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Early => "early",
            Self::Break => "break",
            Self::Radio => "radio",
            Self::Node => "node",
        }
    }
}

/// A packet as it enters a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// A segment, towards the receiver.
    Data(Segment),
    /// An ACK, towards the sender.
    Ack(Ack),
}

/// An event in a world.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A sender put a segment on the network.
    Sent(&'a Segment),
    /// An ACK reached its sender, which has not processed it yet.
    AckArrived(&'a Ack),
    /// A receiver put an ACK on the network.
    AckSent(&'a Ack),
    /// A packet arrived at a link that is [tapped](Observer::taps), which may still drop it.
    Entered {
        /// The link.
        link: LinkId,
        /// The packet.
        packet: Carried,
    },
    /// A segment reached its receiver, which has not processed it yet.
    Arrived {
        /// The segment.
        segment: &'a Segment,
        /// The link over which it came.
        link: LinkId,
        /// It went over a route that was set during the run.
        rerouted: bool,
        /// The receiver has it already.
        duplicate: bool,
        /// The receiver has a higher one already.
        overtaken: bool,
    },
    /// A segment without data: an ACK of the receiver's SYN, or of an ACK that was overtaken. The sender has sent
    /// it, or it has arrived.
    EmptyAck {
        /// The segment.
        segment: &'a Segment,
        /// It has arrived.
        arrived: bool,
    },
    /// A stack put a datagram on the network.
    DatagramSent(&'a Datagram),
    /// A datagram arrived at a link that is [tapped](Observer::taps), which may still drop it.
    DatagramEntered {
        /// The link.
        link: LinkId,
        /// The datagram.
        datagram: &'a Datagram,
    },
    /// A datagram reached the other end, which has not processed it yet.
    DatagramArrived {
        /// The datagram.
        datagram: &'a Datagram,
        /// The last link of its path.
        link: LinkId,
    },
    /// A packet was lost.
    Dropped {
        /// What it carried.
        payload: Payload,
        /// When the segment was sent; for an ACK, the segment that caused it.
        sent: Instant,
        /// The link that lost it.
        link: LinkId,
        /// Why.
        cause: DropCause,
        /// Its number, if it was a datagram.
        datagram: Option<u64>,
    },
    /// The discipline of a queue has marked a packet (CE, RFC 3168).
    Marked {
        /// What it carried.
        payload: Payload,
        /// When the segment was sent; for an ACK, the segment that caused it.
        sent: Instant,
        /// The link.
        link: LinkId,
        /// Its number, if it was a datagram.
        datagram: Option<u64>,
    },
    /// A node on the path sends a packet itself.
    NodeSent {
        /// What it carries.
        payload: Payload,
        /// When the segment was sent; for an ACK, the segment that caused it.
        sent: Instant,
        /// The node.
        node: NodeId,
    },
    /// An event of a connection besides its data.
    Transport(&'a TransportEvent),
    /// A change inside a sender.
    Sender(SenderEvent<'a>),
    /// An event inside an application.
    App(&'a AppEvent),
    /// An application begins to wait for messages of this flow that are in transit, or has read all of them.
    Waits(bool),
    /// Ground truth about a timeout, known when the segment is acknowledged: it was spurious if a segment sent
    /// before the timeout caused the ACK.
    TimeoutJudged {
        /// When the timer expired.
        at: Instant,
        /// The segment it expired for.
        segment: Seq,
        /// Nothing had been lost.
        spurious: bool,
    },
    /// The old link breaks.
    Break,
    /// The new route is in use.
    Make,
    /// A notice reaches the sender.
    Notice,
    /// A description of what the signal of a mobile node does from now on.
    Signal {
        /// The part.
        name: &'static str,
        /// The description.
        text: &'a str,
    },
}

/// Receives the events of a world.
pub trait Observer {
    /// Whether it receives the events that cost time on every ACK (see `midflight_tcp::Log`).
    const DETAILED: bool = false;

    /// Whether it receives the packets that enter this link.
    fn taps(&self, _link: LinkId) -> bool {
        false
    }

    /// `event` occurred for `flow` at `now`. Events that belong to no flow are reported for flow 0.
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>);
}

impl Observer for () {
    fn record(&mut self, _now: Instant, _flow: FlowId, _event: &Event<'_>) {}
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    const DETAILED: bool = A::DETAILED || B::DETAILED;

    fn taps(&self, link: LinkId) -> bool {
        self.0.taps(link) || self.1.taps(link)
    }

    #[inline(always)]
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        self.0.record(now, flow, event);
        self.1.record(now, flow, event);
    }
}
