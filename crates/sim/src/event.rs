//! What a world reports.

use midflight_control::workload::AppEvent;
use midflight_tcp::{Ack, Segment, SenderEvent};
use midflight_units::{Instant, Seq};

use crate::config::{FlowId, NodeId};
use crate::link::LinkId;
use crate::stack::{Datagram, TransportEvent};

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// The segment of this number, towards the receiver.
    Data(Seq),
    /// The ACK of this number, towards the sender.
    Ack(Seq),
    /// The datagram of this number.
    Datagram(u64),
}

/// Why a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// The queue had no room.
    Queue,
    /// The queue's discipline dropped it before that.
    Early,
    /// The link was down.
    Break,
    /// The link's impairments lost it.
    Radio,
    /// The node kept it back.
    Node,
}

impl Payload {
    /// What it is: `data`, `ack` or `datagram`.
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

/// Something that happened in a world.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A sender put a segment on the network.
    Sent(&'a Segment),
    /// An ACK reached its sender, which has not yet looked at it.
    AckArrived(&'a Ack),
    /// A receiver put an ACK on the network.
    AckSent(&'a Ack),
    /// A packet came to a link that is [tapped](Observer::taps), which may yet have no room for it.
    Entered {
        /// The link.
        link: LinkId,
        /// The packet.
        packet: Carried,
    },
    /// A segment reached its receiver, which has not yet looked at it.
    Arrived {
        /// The segment.
        segment: &'a Segment,
        /// The link it came over.
        link: LinkId,
        /// It went over a route that was set during the run.
        rerouted: bool,
        /// The receiver has it already.
        duplicate: bool,
        /// The receiver has a higher one already.
        overtaken: bool,
    },
    /// A sender has sent a segment without data, an ACK of the receiver's SYN or of an ACK that was overtaken, or
    /// it has arrived.
    EmptyAck {
        /// The segment.
        segment: &'a Segment,
        /// It has arrived.
        arrived: bool,
    },
    /// A stack put a datagram on the network.
    DatagramSent(&'a Datagram),
    /// A datagram came to a link that is [tapped](Observer::taps), which may yet have no room for it.
    DatagramEntered {
        /// The link.
        link: LinkId,
        /// The datagram.
        datagram: &'a Datagram,
    },
    /// A datagram reached the other end, which has not yet looked at it.
    DatagramArrived {
        /// The datagram.
        datagram: &'a Datagram,
        /// The last link on its way.
        link: LinkId,
    },
    /// A packet was lost.
    Dropped {
        /// What it carried.
        payload: Payload,
        /// When the segment was sent; of an ACK, the one that caused it.
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
        /// When the segment was sent; of an ACK, the one that caused it.
        sent: Instant,
        /// The link.
        link: LinkId,
        /// Its number, if it was a datagram.
        datagram: Option<u64>,
    },
    /// A node on the path sends a packet by itself.
    NodeSent {
        /// What it carries.
        payload: Payload,
        /// When the segment was sent; of an ACK, the one that caused it.
        sent: Instant,
        /// The node.
        node: NodeId,
    },
    /// Something happened to a connection besides its data.
    Transport(&'a TransportEvent),
    /// A change inside a sender.
    Sender(SenderEvent<'a>),
    /// An event inside an application.
    App(&'a AppEvent),
    /// An application begins to wait for messages of this flow that are under way, or has read all of them.
    Waits(bool),
    /// Ground truth about a timeout, known when the segment is acknowledged:
    /// it was spurious when a segment sent before the timeout caused the ACK.
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
    /// What the signal of a mobile node does from now on, in words.
    Signal {
        /// The part.
        name: &'static str,
        /// The words.
        text: &'a str,
    },
}

/// Watches a world.
pub trait Observer {
    /// Whether it wants the events that cost something on every ACK (see `midflight_tcp::Log`).
    const DETAILED: bool = false;

    /// Whether it wants to see what enters this link.
    fn taps(&self, _link: LinkId) -> bool {
        false
    }

    /// `event` happened to `flow` at `now`. Events of no flow are reported for flow 0.
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
