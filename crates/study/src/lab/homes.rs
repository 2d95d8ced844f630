//! A multihomed mobile side: in addition to the mobile node, which has one link at a time, a node
//! with an interface on each access link.
//!
//! Every interface is a node behind the access link. When the mobile node's link breaks, that
//! interface's link breaks too, at the same instant and with the same losses.

use std::fmt::Write;

use midflight_sim::{Action, LinkConfig, LinkId, NodeId};
use midflight_units::{Duration, Rate};

use super::{refused, LabError};
use crate::network::cell::{Map, SERVER};
use crate::setup::{link_id, Setup};

/// The interfaces of a multihomed mobile side.
#[derive(Clone, Copy)]
pub(super) struct Homes {
    map: Map,
    /// The initial link of the mobile node.
    start: usize,
    /// Numbers of the first additional node and of the first additional link.
    first_node: usize,
    first_link: usize,
    wired: Rate,
}

impl Homes {
    /// The interfaces of a scenario.
    pub(super) fn new(setup: &Setup) -> Result<Self, LabError> {
        let network = &setup.network;
        let map = Map::of_nodes(network.nodes);
        if map.stations < 2 {
            let what = "a multihomed node in a scenario with one link";
            return Err(refused(what, "a scenario with two links or more"));
        }
        Ok(Self {
            map,
            start: usize::from(setup.start),
            first_node: network.nodes,
            first_link: network.links.len(),
            wired: network.links[0].rate,
        })
    }

    fn all(&self) -> std::ops::Range<usize> {
        0..usize::from(self.map.stations)
    }

    /// How many nodes and links there are, including these.
    pub(super) fn sizes(&self) -> [usize; 2] {
        let count = self.all().end;
        [self.first_node + count, self.first_link + 2 * count]
    }

    fn node(&self, link: usize) -> usize {
        self.first_node + link
    }

    /// The node whose network namespace has all interfaces: that of the first link.
    pub(super) fn first(&self) -> u16 {
        self.node(self.start) as u16
    }

    /// The links from an access link's far end to the interface, and back.
    fn ends(&self, link: usize) -> [usize; 2] {
        let first = self.first_link + 2 * link;
        [first, first + 1]
    }

    /// The nodes of all interfaces.
    pub(super) fn nodes(&self) -> impl Iterator<Item = u16> + use<> {
        let first = self.first_node as u16;
        first..first + self.map.stations
    }

    /// The links of the interfaces, in the order of their numbers. They break with the access link.
    pub(super) fn links(&self) -> Vec<LinkConfig> {
        let of = |link: usize| {
            let (far, home) = (self.map.interface(link), NodeId(self.node(link) as u16));
            let names = [format!("home-{link}-down"), format!("home-{link}-up")];
            let ends = [(far, home), (home, far)];
            names.into_iter().zip(ends).map(|(name, ends)| LinkConfig {
                may_break: true,
                may_return: true,
                ..LinkConfig::new(name, ends, self.wired, Duration::ZERO, None)
            })
        };
        self.all().flat_map(of).collect()
    }

    /// The routes to and from the interfaces.
    pub(super) fn routes(&self) -> Vec<(NodeId, NodeId, LinkId)> {
        let of = |link: usize| {
            let (far, home) = (self.map.interface(link), NodeId(self.node(link) as u16));
            let [to, from] = self.ends(link).map(|number| link_id(number as u16));
            let down = Map::way_down(link).map(|(node, over)| (node, home, over));
            down.into_iter()
                .chain([(far, home, to), (home, SERVER, from)])
        };
        self.all().flat_map(of).collect()
    }

    /// The interfaces besides the first, which belongs to the namespace.
    pub(super) fn interface_lines(&self) -> String {
        let first = self.first();
        let mut text = String::new();
        for link in self.all().filter(|&link| link != self.start) {
            let _ = writeln!(text, "home {} {first}", self.node(link));
        }
        text
    }

    /// The interface's link that corresponds to the mobile node's link `of`.
    fn twin(&self, of: LinkId) -> Option<LinkId> {
        self.all().find_map(|link| {
            let place = self.map.ends(link).iter().position(|&end| end == of)?;
            Some(link_id(self.ends(link)[place] as u16))
        })
    }

    /// The action for the interfaces that corresponds to an action for the mobile node.
    pub(super) fn also(&self, action: &Action) -> Option<Action> {
        match *action {
            Action::Down(link) => Some(Action::Down(self.twin(link)?)),
            Action::Up(link) => Some(Action::Up(self.twin(link)?)),
            Action::Purge { link, node } if node == self.map.mobile() => {
                let of = |way: &usize| self.map.up(*way)[..2].contains(&link);
                let node = NodeId(self.node(self.all().find(of)?) as u16);
                let link = self.twin(link).unwrap_or(link);
                Some(Action::Purge { link, node })
            }
            _ => None,
        }
    }
}
