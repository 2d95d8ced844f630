//! Nodes, links and routes of the network of a roaming node.
//!
//! The air of a station is its own node, at the far end of its wireless link. Fixed nodes are
//! there, and the mobile node is beyond it while it is in range. Packets that arrive there for a
//! mobile node that has left are routed to a link that is down.

use midflight_control::LinkInfo;
use midflight_sim::{random, Action, Impairments, LinkConfig, LinkId, LossModel, NodeId, Scripted};
use midflight_units::{Duration, Rate};

use crate::question::{Roaming, MOST_STATIONS};
use crate::setup::{link_id, Network};
use crate::watch::Place;

/// Names of the links by their numbers: two of the backbone and one to nowhere, then seven for each
/// station.
pub(crate) const LINK_NAMES: [&str;
    FIRST as usize + PER_STATION as usize * MOST_STATIONS as usize] = {
    let mut names = [""; FIRST as usize + PER_STATION as usize * MOST_STATIONS as usize];
    names[BACKBONE as usize] = "backbone";
    names[BACKBONE_BACK as usize] = "backbone-back";
    names[NOWHERE as usize] = "nowhere";
    let mut place = FIRST as usize;
    while place < names.len() {
        let kind = (place - FIRST as usize) % PER_STATION as usize;
        names[place] = STATION_LINKS[kind];
        place += 1;
    }
    names
};

const BACKBONE: u16 = 0;
const BACKBONE_BACK: u16 = 1;
/// The link from the mobile node while it has no station.
const NOWHERE: u16 = 2;
const FIRST: u16 = 3;

/// Links of a station.
const STATION_LINKS: [&str; PER_STATION as usize] = [
    "access",
    "access-back",
    "wireless",
    "wireless-back",
    "in-range",
    "in-range-back",
    "left",
];
const ACCESS: u16 = 0;
const ACCESS_BACK: u16 = 1;
const WIRELESS: u16 = 2;
const WIRELESS_BACK: u16 = 3;
/// The link between the air and the mobile node.
const IN_RANGE: u16 = 4;
const IN_RANGE_BACK: u16 = 5;
/// The link for packets to a mobile node that has left.
const LEFT: u16 = 6;
const PER_STATION: u16 = 7;

pub(crate) const SENDER: NodeId = NodeId(0);
const ROUTER: NodeId = NodeId(1);
pub(crate) const MOBILE: NodeId = NodeId(2);

/// Rate of the links without transmission time.
const AIR: Rate = Rate::from_mbps(1_000_000);

/// The capture point at a station: a packet that is about to be queued for its wireless link, or
/// has come from there.
pub(crate) fn place_of(station: u8) -> Place {
    Place {
        name: format!("station{station}").into(),
        links: [WIRELESS, ACCESS_BACK]
            .map(|kind| of_station(station, kind))
            .into(),
        watched_only: false,
        access: [WIRELESS, WIRELESS_BACK].map(|kind| of_station(station, kind)),
    }
}

fn base_station(station: u8) -> NodeId {
    NodeId(3 + 2 * u16::from(station))
}

pub(crate) fn air(station: u8) -> NodeId {
    NodeId(4 + 2 * u16::from(station))
}

fn number(station: u8, kind: u16) -> u16 {
    FIRST + PER_STATION * u16::from(station) + kind
}

fn of_station(station: u8, kind: u16) -> LinkId {
    link_id(number(station, kind))
}

/// The network of one run.
pub(crate) struct Stations<'a> {
    pub(crate) roaming: &'a Roaming,
    pub(crate) run: u64,
}

impl Stations<'_> {
    /// The network.
    pub(crate) fn network(&self) -> Network {
        Network {
            nodes: 3 + 2 * usize::from(self.roaming.stations),
            links: self.links(),
            routes: self.routes(),
            alternatives: self.alternatives(),
            hooks: Vec::new(),
            places: (0..self.roaming.stations).map(place_of).collect(),
        }
    }

    fn links(&self) -> Vec<LinkConfig> {
        let Roaming {
            backbone,
            access,
            wireless,
            limit,
            ..
        } = self.roaming;
        let link = |number: u16, from, to, info: &LinkInfo| {
            let name = LINK_NAMES[usize::from(number)];
            LinkConfig::new(name, (from, to), info.rate, info.delay, Some(*limit))
        };
        let still = LinkInfo {
            rate: AIR,
            delay: Duration::ZERO,
        };
        let local = |number, from, to| LinkConfig {
            limit: None,
            ..link(number, from, to, &still)
        };
        let mut links = vec![
            link(BACKBONE, SENDER, ROUTER, backbone),
            link(BACKBONE_BACK, ROUTER, SENDER, backbone),
            LinkConfig {
                may_break: true,
                ..local(NOWHERE, MOBILE, ROUTER)
            },
        ];
        for s in 0..self.roaming.stations {
            let (station, air) = (base_station(s), air(s));
            let n = |kind| number(s, kind);
            let impaired = |kind, config| LinkConfig {
                impairments: self.impairments(s, kind),
                ..config
            };
            links.extend([
                link(n(ACCESS), ROUTER, station, access),
                link(n(ACCESS_BACK), station, ROUTER, access),
                impaired(WIRELESS, link(n(WIRELESS), station, air, wireless)),
                impaired(
                    WIRELESS_BACK,
                    link(n(WIRELESS_BACK), air, station, wireless),
                ),
                local(n(IN_RANGE), air, MOBILE),
                local(n(IN_RANGE_BACK), MOBILE, air),
                LinkConfig {
                    may_break: true,
                    ..local(n(LEFT), air, MOBILE)
                },
            ]);
        }
        links
    }

    fn impairments(&self, station: u8, kind: u16) -> Impairments {
        let forward = kind == WIRELESS;
        let roaming = self.roaming;
        let (loss, script): (Option<LossModel>, &[(u64, Scripted)]) = if forward {
            (roaming.loss, &roaming.script)
        } else {
            (roaming.back_loss, &roaming.back_script)
        };
        let component = format!("{} {station}", STATION_LINKS[usize::from(kind)]);
        Impairments {
            loss,
            script: if station == 0 {
                script.to_vec()
            } else {
                Vec::new()
            },
            seed: random::seed(roaming.seed, self.run, &component, "impairments"),
            ..Impairments::default()
        }
    }

    fn routes(&self) -> Vec<(NodeId, NodeId, LinkId)> {
        let mut routes = vec![
            (SENDER, MOBILE, link_id(BACKBONE)),
            (ROUTER, SENDER, link_id(BACKBONE_BACK)),
            (ROUTER, MOBILE, of_station(0, ACCESS)),
            (MOBILE, SENDER, of_station(0, IN_RANGE_BACK)),
        ];
        for s in 0..self.roaming.stations {
            let (station, air) = (base_station(s), air(s));
            let here = if s == 0 { IN_RANGE } else { LEFT };
            routes.extend([
                (SENDER, air, link_id(BACKBONE)),
                (ROUTER, air, of_station(s, ACCESS)),
                (station, air, of_station(s, WIRELESS)),
                (station, MOBILE, of_station(s, WIRELESS)),
                (air, MOBILE, of_station(s, here)),
                (air, SENDER, of_station(s, WIRELESS_BACK)),
                (station, SENDER, of_station(s, ACCESS_BACK)),
            ]);
        }
        routes
    }

    fn alternatives(&self) -> Vec<(NodeId, NodeId, LinkId)> {
        if self.roaming.handoffs.is_none() {
            return Vec::new();
        }
        let each = (0..self.roaming.stations).flat_map(|s| {
            [
                (ROUTER, MOBILE, of_station(s, ACCESS)),
                (MOBILE, SENDER, of_station(s, IN_RANGE_BACK)),
                (air(s), MOBILE, of_station(s, IN_RANGE)),
                (air(s), MOBILE, of_station(s, LEFT)),
            ]
        });
        each.chain([(MOBILE, SENDER, link_id(NOWHERE))]).collect()
    }

    /// Takes the links to nowhere down.
    pub(crate) fn go_nowhere(&self) -> impl Iterator<Item = Action> {
        let left = (0..self.roaming.stations).map(|s| of_station(s, LEFT));
        left.chain([link_id(NOWHERE)]).map(Action::Down)
    }
}

/// The mobile node leaves a station.
pub(crate) fn leave(station: u8) -> [Action; 2] {
    [
        Action::Route {
            node: air(station),
            to: MOBILE,
            link: of_station(station, LEFT),
        },
        Action::Route {
            node: MOBILE,
            to: SENDER,
            link: link_id(NOWHERE),
        },
    ]
}

/// The mobile node comes into range of a station.
pub(crate) fn attach(station: u8) -> [Action; 2] {
    [
        Action::Route {
            node: air(station),
            to: MOBILE,
            link: of_station(station, IN_RANGE),
        },
        Action::Route {
            node: MOBILE,
            to: SENDER,
            link: of_station(station, IN_RANGE_BACK),
        },
    ]
}

/// Packets that the agent forwards after the registration are at the router, and are sent to this
/// station.
pub(crate) fn switch(station: u8) -> Action {
    Action::Route {
        node: ROUTER,
        to: MOBILE,
        link: of_station(station, ACCESS),
    }
}
