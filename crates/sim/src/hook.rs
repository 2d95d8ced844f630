//! Hooks: processing of packets at a node in addition to forwarding. A node without a hook costs
//! nothing.

use std::fmt::Debug;

use midflight_control::quick_start::Request;
use midflight_units::{Instant, Rate};

use crate::config::{FlowId, NodeId};
use crate::event::Carried;
use crate::link::LinkId;
use crate::packet::{Packet, PacketOptions};
use crate::quick_start::RateRouter;

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is forwarded.
    Forward,
    /// The node does not forward it.
    Drop,
    /// This is forwarded instead: a segment for a segment, an ACK for an ACK.
    Replace(Carried),
}

/// A packet that a node sends itself. The hook does not see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emitted {
    /// The node that sends it, one of the hook's.
    pub from: NodeId,
    /// The flow that it belongs to.
    pub flow: FlowId,
    /// The node that it goes to.
    pub to: NodeId,
    /// A segment or an ACK.
    pub what: Carried,
}

/// A packet that a node is about to hand to a link.
#[derive(Debug)]
pub struct HookedPacket<'a> {
    pub(crate) node: NodeId,
    pub(crate) link: LinkId,
    pub(crate) rate: Rate,
    pub(crate) packet: &'a Packet,
    pub(crate) options: &'a mut PacketOptions,
}

impl HookedPacket<'_> {
    /// The node.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// The link.
    pub fn link(&self) -> LinkId {
        self.link
    }

    /// Its rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Size of the packet with its headers.
    pub fn bytes(&self) -> u32 {
        self.packet.bytes
    }

    /// The flow, and the node that the packet goes to.
    pub fn flow(&self) -> (FlowId, NodeId) {
        (self.packet.flow, self.packet.to)
    }

    /// The segment or ACK that it carries; none for cross traffic and datagrams.
    pub fn carried(&self) -> Option<Carried> {
        self.packet
            .is_of_tcp()
            .then(|| self.packet.peek(self.options))
    }

    /// The rate request in it, which the node may change.
    pub(crate) fn request(&mut self) -> Option<&mut Request> {
        self.packet.request(self.options)
    }
}

/// A hook of one or several nodes: it inspects packets, drops them or sends packets itself, without I/O and
/// without its own clock. It gets the packets of all outgoing links of its nodes in time order.
pub trait NodeHook: Debug + Send + Sync {
    /// A packet is about to leave the node; the hook adds packets that the node sends itself to `emit`.
    fn on_packet(
        &mut self,
        now: Instant,
        packet: &HookedPacket<'_>,
        emit: &mut Vec<Emitted>,
    ) -> Verdict;

    /// A mobile node has left its link, or is at the station `to` from now on.
    fn on_attachment(
        &mut self,
        _now: Instant,
        _mobile: NodeId,
        _to: Option<NodeId>,
        _emit: &mut Vec<Emitted>,
    ) {
    }

    /// When its next timer expires.
    fn next_timeout(&self) -> Option<Instant>;

    /// Its timer has expired.
    fn on_timeout(&mut self, now: Instant, emit: &mut Vec<Emitted>);

    /// A copy in the same state.
    fn copy(&self) -> Box<dyn NodeHook>;
}

/// A hook of a node.
#[derive(Debug)]
pub enum Hook {
    /// A router that takes part in Quick-Start.
    QuickStart(RateRouter),
    /// Any other.
    Other(Box<dyn NodeHook>),
}

impl Clone for Hook {
    fn clone(&self) -> Self {
        match self {
            Self::QuickStart(router) => Self::QuickStart(router.clone()),
            Self::Other(hook) => Self::Other(hook.copy()),
        }
    }
}

/// Hooks of unknown type are unequal, also to themselves.
impl PartialEq for Hook {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::QuickStart(a), Self::QuickStart(b)) => a == b,
            _ => false,
        }
    }
}

impl Hook {
    /// Whether it must not see packets ahead of the present: its state depends on packets of several links.
    pub(crate) fn is_in_order(&self) -> bool {
        matches!(self, Self::Other(_))
    }

    /// Whether it sees the packets that are handed to a link of its node.
    pub(crate) fn sees(&self, link: LinkId) -> bool {
        match self {
            Self::QuickStart(router) => router.is_at(link),
            Self::Other(_) => true,
        }
    }

    pub(crate) fn on_packet(
        &mut self,
        now: Instant,
        packet: &mut HookedPacket<'_>,
        emit: &mut Vec<Emitted>,
    ) -> Verdict {
        match self {
            Self::QuickStart(router) => {
                router.forward(now, packet);
                Verdict::Forward
            }
            Self::Other(hook) => hook.on_packet(now, packet, emit),
        }
    }

    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        match self {
            Self::QuickStart(_) => None,
            Self::Other(hook) => hook.next_timeout(),
        }
    }

    pub(crate) fn on_attachment(
        &mut self,
        now: Instant,
        mobile: NodeId,
        to: Option<NodeId>,
        emit: &mut Vec<Emitted>,
    ) {
        if let Self::Other(hook) = self {
            hook.on_attachment(now, mobile, to, emit);
        }
    }

    pub(crate) fn on_timeout(&mut self, now: Instant, emit: &mut Vec<Emitted>) {
        if let Self::Other(hook) = self {
            hook.on_timeout(now, emit);
        }
    }
}
