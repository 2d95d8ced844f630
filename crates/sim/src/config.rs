//! The configuration of a world and the actions on it.

use std::net::SocketAddrV4;

use midflight_control::policy::Policy;
use midflight_control::signal::HandoffMark;
use midflight_control::workload::AnyWorkload;
use midflight_control::{Notice, PathUpdate, StartNotice};
use midflight_tcp::{
    Ack, AckOption, ReceiverConfig, SackBlocks, Sender, SenderConfig, SenderParts,
};
use midflight_units::Instant;

use crate::hook::Hook;
use crate::link::{LinkConfig, LinkId};
use crate::moment::Clock;
use crate::stack::StackConfig;

/// Number of a node in its world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u16);

/// Number of a flow in its world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub(crate) u32);

impl FlowId {
    /// Position in the order in which flows were added.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An action of the timeline on the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// Open a flow.
    Open(FlowId),
    /// Packets at `node` for `to` take `link` from now on.
    Route {
        /// Where the route is set.
        node: NodeId,
        /// The destination.
        to: NodeId,
        /// The next link.
        link: LinkId,
    },
    /// From now on the link drops every packet that is handed to it.
    Down(LinkId),
    /// From now on the link takes packets again. Without effect on a link that is not down.
    Up(LinkId),
    /// A node leaves the link: packets to or from `node` that have not reached the far end are lost now. Packets of
    /// other nodes on the link move up, as if those packets had not existed.
    Purge {
        /// The link, which was declared to break.
        link: LinkId,
        /// The node.
        node: NodeId,
    },
    /// A node leaves the link. The link buffers the node's packets that have not reached the far end and those that are
    /// handed to it from now on, up to its limit. Packets of other nodes on the link move up.
    Detain {
        /// The link, which was declared to pause.
        link: LinkId,
        /// The node.
        node: NodeId,
    },
    /// Packets that a link has buffered for a node are forwarded to another link in order, and so are later packets for
    /// the node. If the other link is the link itself, they are sent there and buffering ends.
    Forward {
        /// The link.
        link: LinkId,
        /// The node.
        node: NodeId,
        /// The other link, which was declared to pause.
        to: LinkId,
    },
    /// From now on the link holds the packets that have not reached its far end and those that are handed to it. Of the
    /// latter it accepts, together with those that waited for transmission, as many as its limit allows. A transmission
    /// that would start at this very instant has not started.
    Pause(LinkId),
    /// A paused link sends the packets that it holds, in the order in which they would have arrived, as if handed to an
    /// idle link now, but without regard to its limit. Without effect on a link that is not paused.
    Resume {
        /// The link.
        link: LinkId,
        /// Which of the link's settings applies from now on, with its random streams and packet numbers from their
        /// start; none to continue as before.
        setting: Option<u16>,
    },
    /// From now on the link has another setting. Packets that wait for transmission are sent with it; packets in
    /// transit arrive as they would have, and no later ones before them. The setting's random streams and packet
    /// numbers start. Without effect on a link that is paused.
    Change {
        /// The link, which was declared to pause.
        link: LinkId,
        /// Which of its settings.
        setting: u16,
    },
    /// The sender of a flow, which has not opened yet, gets a start notice of its access link.
    NotifyStart(FlowId, StartNotice),
    /// The sender of a flow gets a handoff notice or throughput advice.
    Notify(FlowId, PathUpdate),
    /// The receiver of a flow predicts that it will leave its link, and has the data of both links.
    Foresee(FlowId, Notice),
    /// The receiver of a flow has detected that it is on another link, and has the data of both. The network delivers
    /// this many copies of its signals to the sender.
    Attached(FlowId, u8, Notice),
    /// The client of a datagram flow, or the node of a QUIC receiver, changes to the address with this number.
    Address(FlowId, u16),
    /// The client of a datagram flow gets the address with this number too: it is on another link, and still on the one before.
    SecondAddress(FlowId, u16),
    /// Agents at nodes are notified that a mobile node has left its link, or is at a station.
    Attach {
        /// The mobile node.
        mobile: NodeId,
        /// The station.
        to: Option<NodeId>,
    },
    /// The sender of a flow gets an ACK with a handoff mark of this number that no receiver has sent. The acknowledged
    /// segment depends on the sender at that instant.
    Forge(FlowId, ForgedAck, u32),
    /// Record that the old link breaks.
    MarkBreak,
    /// Record that the new route is in use.
    MarkMake,
}

impl Action {
    /// The flow that it concerns, if any.
    pub(crate) fn flow(&self) -> Option<FlowId> {
        match *self {
            Self::Open(flow)
            | Self::NotifyStart(flow, _)
            | Self::Notify(flow, _)
            | Self::Foresee(flow, _)
            | Self::Attached(flow, ..)
            | Self::Address(flow, _)
            | Self::SecondAddress(flow, _)
            | Self::Forge(flow, ..) => Some(flow),
            _ => None,
        }
    }
}

/// The ACK number of a forged ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForgedAck {
    /// One segment less than SND.UNA.
    Old,
    /// SND.UNA.
    Current,
    /// One segment more than SND.MAX.
    Unsent,
}

impl ForgedAck {
    /// All kinds with their names.
    pub const ALL: [(&'static str, Self); 3] = [
        ("old", Self::Old),
        ("current", Self::Current),
        ("unsent", Self::Unsent),
    ];

    /// The ACK that the sender gets.
    pub(crate) fn of(self, sender: &Sender, number: u32) -> Ack {
        let view = sender.view();
        let ack = match self {
            Self::Old => view.snd_una.saturating_sub(1),
            Self::Current => view.snd_una,
            Self::Unsent => view.snd_max + 1,
        };
        Ack {
            ack,
            sack: SackBlocks::default(),
            echo: None,
            cause_sent: view.now,
            offset: 0,
            option: AckOption::Moved(HandoffMark {
                number,
                sent: view.now,
            }),
            window: None,
            stamp_ms: 0,
            extra_bytes: 0,
        }
    }
}

/// A flow between two nodes.
#[derive(Clone, Debug)]
pub struct FlowConfig<'a> {
    /// Node of the sender.
    pub from: NodeId,
    /// Node of the receiver.
    pub to: NodeId,
    /// Sender parameters, as for the first flow ([`SenderConfig::of_flow`]).
    pub sender: &'a SenderConfig,
    /// Its parts.
    pub parts: &'a SenderParts,
    /// Receiver.
    pub receiver: &'a ReceiverConfig,
    /// Handoff policies of the sender.
    pub policies: Vec<Policy>,
    /// Addresses that a QUIC receiver's node may have, each with the node where packets to it arrive; the first is the
    /// initial one. Empty if its address never changes.
    pub addresses: Vec<(SocketAddrV4, NodeId)>,
    /// That node detects its new address, and sends a packet at once.
    pub migrates: bool,
}

/// Routes: at a node, for a destination, the link.
pub type Routes<'a> = &'a [(NodeId, NodeId, LinkId)];

/// A network and its flows before the run.
#[derive(Debug, Default)]
pub struct WorldConfig<'a> {
    /// The representation of time between nanoseconds.
    pub clock: Clock,
    /// Number of nodes.
    pub nodes: usize,
    /// Links between them.
    pub links: &'a [LinkConfig],
    /// Routes at the start.
    pub routes: Routes<'a>,
    /// Routes that may be set during the run.
    pub alternatives: Routes<'a>,
    /// Flows of segments, by our senders and receivers.
    pub flows: Vec<FlowConfig<'a>>,
    /// Flows of datagrams, numbered after those of segments.
    pub stacks: Vec<StackConfig>,
    /// Functions of nodes besides forwarding, each with its nodes. If several could see a link, the first one does.
    pub hooks: Vec<(Vec<NodeId>, Hook)>,
    /// Applications that send their data over flows.
    pub apps: Vec<AppConfig>,
}

/// An application at both ends of one or more connections.
#[derive(Clone, Debug)]
pub struct AppConfig {
    /// What it does.
    pub workload: AnyWorkload,
    /// Its connections, which carry nothing else.
    pub connections: Vec<ConnectionConfig>,
}

/// A connection of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionConfig {
    /// The flow that carries its data.
    pub data: FlowId,
    /// The flow in the other direction, which opens the connection: the data's SYN responds to its SYN. None if the
    /// receiver sends nothing, or if the flow is one of datagrams, which carries both directions.
    pub back: Option<FlowId>,
}

/// Why a world cannot be built or run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// A packet met a node without a route to its destination.
    #[error("node {node} has no route to node {to}")]
    NoRoute {
        /// The node.
        node: u16,
        /// The destination.
        to: u16,
    },
    /// A part of a sender ordered a window with which nothing could ever be sent.
    #[error("{author} ordered a congestion window of {cwnd} segments for flow {flow} at {at}; at least 1 is accepted")]
    Window {
        /// The flow.
        flow: u32,
        /// When.
        at: Instant,
        /// Name of the part.
        author: &'static str,
        /// The window, as text.
        cwnd: String,
    },
    /// A sender has data to send but no timer or event that would wake it: a bug in one of its parts.
    #[error(
        "the sender of flow {flow} stalled at {at}: it has data to send, but no timer is running"
    )]
    Stuck {
        /// The flow.
        flow: u32,
        /// When.
        at: Instant,
    },
    /// The timeline sets a route that was not declared as an alternative.
    #[error("node {node} cannot change its route: the new route was not declared, or routes may not change yet at this instant")]
    FixedRoute {
        /// The node.
        node: u16,
    },
    /// The timeline breaks a link that was not declared to break.
    #[error("link {link} cannot break during the run")]
    UnbreakableLink {
        /// Its name.
        link: String,
    },
    /// The timeline pauses or resumes a link that was not declared to pause, or changes one that
    /// takes a random time over packets.
    #[error("link {link} cannot pause or change in this way during the run")]
    UnpausableLink {
        /// Its name.
        link: String,
    },
    /// The timeline brings up a link that was not declared to return.
    #[error("link {link} cannot come back during the run")]
    UnreturnableLink {
        /// Its name.
        link: String,
    },
    /// A link would resume with a setting that it does not have.
    #[error("link {link} has no setting {setting}: it has {settings}, numbered from 0")]
    UnknownSetting {
        /// Its name.
        link: String,
        /// The requested number.
        setting: u16,
        /// How many there are.
        settings: usize,
    },
    /// Invalid impairments.
    #[error("the impairments or the cross traffic of link {link} are invalid: {problem}")]
    Impairments {
        /// Its name.
        link: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// The parameters of a link would change while packets use it.
    #[error("link {link} has carried packets: its parameters cannot change any more")]
    LinkInUse {
        /// Its name.
        link: String,
    },
    /// The sender or receiver of a flow would change while packets use it.
    #[error("flow {flow} has opened: its sender and receiver cannot change any more")]
    FlowOpen {
        /// Its number.
        flow: u32,
    },
    /// A copy of a world reached an endpoint of a datagram flow that cannot be copied.
    #[error(
        "flow {flow} runs a stack whose state cannot be copied during a run; run it from its start"
    )]
    Uncopied {
        /// The flow.
        flow: u32,
    },
    /// A stack has failed.
    #[error("the stack of flow {flow} failed at {at}: {message}")]
    Stack {
        /// The flow.
        flow: u32,
        /// When.
        at: Instant,
        /// Its message.
        message: String,
    },
    /// More links than can be numbered.
    #[error("a world has at most 65535 links")]
    TooManyLinks,
}
