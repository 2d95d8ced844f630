//! A multihomed mobile side: in addition to the mobile node, which has one link at a time, a node
//! with an interface on each access link.
//!
//! Every interface is a node of the driver behind the access link. A break of the link for the
//! mobile node also breaks it for that interface, from the same instant on and with the same
//! losses.

use std::fmt::Write;

use midflight_sim::{Action, LinkId};

use super::{refused, LabError};
use crate::network::cell::{Map, SERVER};
use crate::setup::Setup;

/// The interfaces of a multihomed mobile side.
#[derive(Clone, Copy)]
pub(super) struct Homes {
    map: Map,
    /// The link on which the mobile node begins.
    start: usize,
    /// Number of the first node and of the first link that come to those of the setup.
    first_node: usize,
    first_link: usize,
    wired_bps: u64,
}

impl Homes {
    /// Those of a scenario.
    pub(super) fn new(setup: &Setup) -> Result<Self, LabError> {
        let network = &setup.network;
        let map = Map::of_nodes(network.nodes);
        if map.stations < 2 {
            let what = "a multihomed node in a scenario with one link";
            return Err(refused(what, "a scenario with two links or more"));
        }
        let wired = network.links.first().map_or(0, |link| link.rate.as_bps());
        Ok(Self {
            map,
            start: usize::from(setup.start),
            first_node: network.nodes,
            first_link: network.links.len(),
            wired_bps: wired,
        })
    }

    fn all(&self) -> std::ops::Range<usize> {
        0..usize::from(self.map.stations)
    }

    /// How many nodes and links there are with these.
    pub(super) fn sizes(&self) -> [usize; 2] {
        let count = self.all().end;
        [self.first_node + count, self.first_link + 2 * count]
    }

    fn node(&self, link: usize) -> usize {
        self.first_node + link
    }

    /// The node whose namespace has all interfaces: that of the first link.
    pub(super) fn first(&self) -> u16 {
        self.node(self.start) as u16
    }

    /// The links from an access link's far end to the interface, and back.
    fn links(&self, link: usize) -> [usize; 2] {
        let first = self.first_link + 2 * link;
        [first, first + 1]
    }

    /// Links and routes.
    pub(super) fn network_lines(&self) -> String {
        let mut text = String::new();
        let bps = self.wired_bps;
        for link in self.all() {
            let (far, home) = (self.map.interface(link).0, self.node(link));
            let [to, from] = self.links(link);
            let _ = writeln!(text, "link {to} {far} {home} {bps} 0 0");
            let _ = writeln!(text, "link {from} {home} {far} {bps} 0 0");
        }
        for link in self.all() {
            let home = self.node(link);
            let [to, from] = self.links(link);
            for (node, over) in Map::way_down(link) {
                let _ = writeln!(text, "route {} {home} {}", node.0, over.index());
            }
            let _ = writeln!(text, "route {} {home} {to}", self.map.interface(link).0);
            let _ = writeln!(text, "route {home} {} {from}", SERVER.0);
        }
        text
    }

    /// The interfaces beside the first, which is that of the namespace.
    pub(super) fn interface_lines(&self) -> String {
        let first = self.first();
        let mut text = String::new();
        for link in self.all().filter(|&link| link != self.start) {
            let _ = writeln!(text, "home {} {first}", self.node(link));
        }
        text
    }

    /// The link at an interface in the place of that at the mobile node.
    fn twin(&self, of: LinkId) -> Option<usize> {
        self.all().find_map(|link| {
            let place = self.map.ends(link).iter().position(|&end| end == of)?;
            Some(self.links(link)[place])
        })
    }

    /// What an action does to the interfaces.
    pub(super) fn also(&self, action: &Action) -> Option<String> {
        match *action {
            Action::Down(link) => Some(format!("down {}", self.twin(link)?)),
            Action::Up(link) => Some(format!("up {}", self.twin(link)?)),
            Action::Purge { link, node } if node == self.map.mobile() => {
                let of = |way: &usize| self.map.up(*way)[..2].contains(&link);
                let home = self.node(self.all().find(of)?);
                let at = self.twin(link).unwrap_or(link.index());
                Some(format!("purge {at} {home}"))
            }
            _ => None,
        }
    }
}
