//! Agents from the literature at nodes on the path: caches that retransmit locally, supervisors that close the window,
//! proxies that split a connection.
//!
//! An agent is one file here and one line in the registry below. It is a state machine without I/O: it gets the packets
//! that its nodes are about to hand to a link, forwards, drops or changes them, and sends packets itself. One agent
//! serves all nodes where it is deployed, so that a handover of state needs no message.

mod cache;
mod elfn;
mod i_tcp;
mod m_tcp;
mod pep;
mod rtt_equaliser;
mod snoop;
mod split;
mod wtcp;

use std::fmt::Debug;

use midflight_control::part::registry;
use midflight_units::Instant;

pub use elfn::Elfn;
pub use i_tcp::ITcp;
pub use m_tcp::MTcp;
pub use pep::Pep;
pub use rtt_equaliser::RttEqualiser;
pub use snoop::Snoop;
pub use split::Ends;
pub use wtcp::Wtcp;

use crate::config::{FlowId, NodeId};
use crate::event::Carried;
use crate::hook::{Emitted, HookedPacket, NodeHook, Verdict};
use crate::link::LinkId;

/// A node with an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The node.
    pub node: NodeId,
    /// Its links towards mobile nodes.
    pub down: Vec<LinkId>,
}

/// The kind of node where an agent is deployed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Each base station.
    Stations,
    /// The router in front of all base stations.
    Router,
}

/// Where a mobile node is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attached {
    /// Nowhere: it has no link.
    No,
    /// At the station that is this site.
    At(usize),
    /// At a node that is not one of the agent's stations.
    Elsewhere,
}

/// A packet that a node is about to hand to a link.
#[derive(Clone, Copy, Debug)]
pub struct Passing {
    /// The current time.
    pub now: Instant,
    /// Number of the site.
    pub site: usize,
    /// It is on its way to the mobile node.
    pub down: bool,
    /// Its flow.
    pub flow: FlowId,
    /// The node that it comes from, and the node that it goes to.
    pub from: NodeId,
    /// See [`Self::from`].
    pub to: NodeId,
}

/// Collects the packets that an agent sends itself.
#[derive(Debug)]
pub struct Outbox<'a> {
    sites: &'a [Site],
    emit: &'a mut Vec<Emitted>,
}

impl Outbox<'_> {
    /// Sends a packet from a site now.
    pub fn send(&mut self, site: usize, flow: FlowId, to: NodeId, what: Carried) {
        let from = self.sites[site].node;
        self.emit.push(Emitted {
            from,
            flow,
            to,
            what,
        });
    }
}

/// The behaviour of a node on the path. A flow's segments and ACKs are distinguished by their type.
pub trait Agent: Debug {
    /// The kind of node where it is deployed.
    fn place(&self) -> Place {
        Place::Stations
    }

    /// Provides the sender and receiver for a flow, if it needs them.
    fn equip(&mut self, _flow: FlowId, _ends: &Ends) {}

    /// A segment of a flow passes.
    fn on_segment(
        &mut self,
        passing: &Passing,
        segment: &midflight_tcp::Segment,
        out: &mut Outbox<'_>,
    ) -> Verdict;

    /// An ACK of a flow passes.
    fn on_ack(
        &mut self,
        passing: &Passing,
        ack: &midflight_tcp::Ack,
        out: &mut Outbox<'_>,
    ) -> Verdict;

    /// A mobile node has left its link, or has attached to one.
    fn on_attachment(&mut self, now: Instant, mobile: NodeId, to: Attached, out: &mut Outbox<'_>);

    /// When its next timer expires.
    fn next_timeout(&self) -> Option<Instant>;

    /// Its timer has expired.
    fn on_timeout(&mut self, now: Instant, out: &mut Outbox<'_>);
}

registry! {
    /// Any registered agent.
    #[derive(Clone, Debug)]
    AnyAgent of Agent, listed in AGENTS:
    Snoop: Snoop,
    MTcp: MTcp,
    ITcp: ITcp,
    Pep: Pep,
    Wtcp: Wtcp,
    Elfn: Elfn,
    RttEqualiser: RttEqualiser,
}

/// An agent at the nodes where it is deployed.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// The agent.
    pub agent: AnyAgent,
    /// Its nodes.
    pub sites: Vec<Site>,
    /// For each flow the nodes of its sender and its receiver; none for flows whose packets it cannot read and lets
    /// pass.
    pub flows: Vec<Option<(NodeId, NodeId)>>,
}

impl NodeHook for Deployment {
    fn on_packet(
        &mut self,
        now: Instant,
        packet: &HookedPacket<'_>,
        emit: &mut Vec<Emitted>,
    ) -> Verdict {
        let (flow, to) = packet.flow();
        let site = self.sites.iter().position(|s| s.node == packet.node());
        let (Some(what), Some(site)) = (packet.carried(), site) else {
            return Verdict::Forward;
        };
        let Some((sender, receiver)) = self.flows.get(flow.index()).copied().flatten() else {
            return Verdict::Forward;
        };
        let passing = Passing {
            now,
            site,
            down: self.sites[site].down.contains(&packet.link()),
            flow,
            from: if to == receiver { sender } else { receiver },
            to,
        };
        let sites = &self.sites;
        let out = &mut Outbox { sites, emit };
        match &what {
            Carried::Data(segment) => self.agent.on_segment(&passing, segment, out),
            Carried::Ack(ack) => self.agent.on_ack(&passing, ack, out),
        }
    }

    fn on_attachment(
        &mut self,
        now: Instant,
        mobile: NodeId,
        to: Option<NodeId>,
        emit: &mut Vec<Emitted>,
    ) {
        let attached = match to {
            None => Attached::No,
            Some(station) => match self.sites.iter().position(|s| s.node == station) {
                Some(site) => Attached::At(site),
                None => Attached::Elsewhere,
            },
        };
        let sites = &self.sites;
        let out = &mut Outbox { sites, emit };
        self.agent.on_attachment(now, mobile, attached, out);
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.agent.next_timeout()
    }

    fn on_timeout(&mut self, now: Instant, emit: &mut Vec<Emitted>) {
        let sites = &self.sites;
        self.agent.on_timeout(now, &mut Outbox { sites, emit });
    }

    fn copy(&self) -> Box<dyn NodeHook> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod testing;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_is_found_by_name_and_accepts_the_defaults_it_documents() {
        for info in AGENTS {
            let mut part = AnyAgent::named(info.name).unwrap_or_else(|| unreachable!());
            assert_eq!(part.info(), *info);
            assert!(!info.source.is_empty() && !info.summary.is_empty());
            let prefix = info.name.replace('-', "_");
            for knob in info.knobs {
                assert!(knob.name.starts_with(&prefix), "{}", knob.name);
                let set = part.set_knob(knob.name, knob.default);
                assert_eq!(set, Ok(()), "{}", knob.name);
                assert!(part.set_knob(knob.name, "no such value").is_err());
            }
            let set = format!("{part:?}");
            let new = AnyAgent::named(info.name).unwrap_or_else(|| unreachable!());
            assert_eq!(set, format!("{new:?}"), "the defaults are those documented");
        }
    }
}
