//! The network of a setup, and which of its links are on a path.

use super::{Flags, FlowSetup};
use crate::watch::Place;
use midflight_sim::{Hook, LinkConfig, LinkId, NodeId};
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// Nodes, links and routes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Network {
    pub(crate) nodes: usize,
    pub(crate) links: Vec<LinkConfig>,
    /// For a node and a destination, the link.
    pub(crate) routes: Vec<(NodeId, NodeId, LinkId)>,
    /// Routes that the timeline may set.
    pub(crate) alternatives: Vec<(NodeId, NodeId, LinkId)>,
    /// Nodes with functions besides forwarding.
    pub(crate) hooks: Vec<(Vec<NodeId>, Hook)>,
    /// Capture points, besides sender and receiver.
    pub(crate) places: Vec<Place>,
}

impl Network {
    /// Whether nodes do more than forward packets and respond to rate requests.
    pub(crate) fn has_agents(&self) -> bool {
        self.hooks
            .iter()
            .any(|(_, hook)| matches!(hook, Hook::Other(_)))
    }

    /// Which links the packets of these flows use while no route changes.
    pub(super) fn used(&self, flows: &[FlowSetup]) -> Flags {
        let ways = flows.iter().flat_map(|f| [(f.from, f.to), (f.to, f.from)]);
        let ways: BTreeSet<(NodeId, NodeId)> = ways.collect();
        let mut used = self.none();
        for (from, to) in ways {
            let between = self.between(&[&self.routes], from, to);
            for (used, is_between) in used.iter_mut().zip(between) {
                *used |= is_between;
            }
        }
        // The links within a node that has addresses have no parameters to leave open.
        let clients = flows.iter().filter_map(|flow| flow.client.as_deref());
        let addresses: Vec<NodeId> = clients
            .flat_map(|client| client.addresses.iter().map(|(_, node)| *node))
            .collect();
        for (used, link) in used.iter_mut().zip(&self.links) {
            *used |= addresses.contains(&link.to);
        }
        used
    }

    /// Flags for all links, none set.
    pub(super) fn none(&self) -> Flags {
        SmallVec::from_elem(false, self.links.len())
    }

    /// The links on all paths from one node to another.
    pub(super) fn between(
        &self,
        routes: &[&[(NodeId, NodeId, LinkId)]],
        from: NodeId,
        to: NodeId,
    ) -> Flags {
        let mut found = self.none();
        let mut nodes: SmallVec<[NodeId; 8]> = SmallVec::from_elem(from, 1);
        while let Some(at) = nodes.pop() {
            for &(node, target, link) in routes.iter().copied().flatten() {
                let is_next = (node, target) == (at, to);
                if is_next && !std::mem::replace(&mut found[link.index()], true) {
                    nodes.push(self.links[link.index()].to);
                }
            }
        }
        found
    }

    /// A link, and the next links of packets for a node.
    pub(super) fn beyond(&self, link: LinkId, to: NodeId) -> Flags {
        let next = self.links[link.index()].to;
        let mut found = self.between(&[&self.routes, &self.alternatives], next, to);
        found[link.index()] = true;
        found
    }
}
