//! A mobile node with any number of access links: the network of Daniel & Kojo 2008, figure 1, and of
//! every scenario.
//!
//! ```text
//!                       BS1 ==link 1== Wir1
//! server -- router --<  BS2 ==link 2== Wir2  >-- mobile node
//!                       ...
//! ```
//!
//! The interfaces of the mobile node (Wir) are nodes: no packet is lost between them and the mobile node
//! except in a break. Flows of other nodes, which do not move, end at an interface.

use std::borrow::Cow;
use std::sync::Arc;

use midflight_control::quick_start::Routers;
use midflight_control::LinkInfo;
use midflight_sim::agent::{AnyAgent, Deployment, Site};
use midflight_sim::{
    random, CrossTraffic, Hook, Impairments, LinkConfig, LinkId, LinkSchedule, LinkSetting,
    LossModel, NodeId, QueueConfig, QueueKind, QueueParameters, RateRouter, Reordering, Schedule,
    Service,
};
use midflight_units::{Duration, Instant, Rate};

use crate::setup::{link_id, Network};
use crate::watch::Place;

/// One direction of an access link.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OneDirection {
    pub(crate) rate: Rate,
    pub(crate) delay: Duration,
    pub(crate) limit: u32,
    /// The discipline of its queue, instead of that limit.
    pub(crate) queue: Option<(&'static QueueKind, QueueParameters)>,
    pub(crate) loss: Option<LossModel>,
    pub(crate) reordering: Option<Reordering>,
    /// Without its seed, which depends on the run.
    pub(crate) cross: Option<CrossTraffic>,
    /// The schedule that it follows; rate and delay are then its mean values.
    pub(crate) schedule: Option<Arc<Schedule>>,
}

impl OneDirection {
    /// Its rate and delay at an instant. In an outage the rate is the mean.
    pub(crate) fn info_at(&self, at: Instant) -> LinkInfo {
        let Self { rate, delay, .. } = *self;
        let Some(schedule) = &self.schedule else {
            return LinkInfo { rate, delay };
        };
        let now = match schedule.service() {
            Service::Rate(curve) => Rate::from_bps(curve.at(at.as_secs_f64()).round() as u64),
            _ => None,
        };
        let delayed = schedule.delay().map(|curve| curve.at(at.as_secs_f64()));
        LinkInfo {
            rate: now.unwrap_or(rate),
            delay: delayed.map_or(delay, |s| Duration::from_nanos((s * 1e9).round() as u64)),
        }
    }
}

/// Both directions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Directions {
    pub(crate) down: OneDirection,
    pub(crate) up: OneDirection,
}

/// An access link.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Access {
    pub(crate) name: String,
    /// The parameters at the start, then after each change.
    pub(crate) settings: Vec<Directions>,
}

impl Access {
    /// Whether anything on the link is random.
    pub(crate) fn has_chance(&self) -> bool {
        let ways = self.settings.iter().flat_map(|ways| [&ways.down, &ways.up]);
        let is_random = |way: &OneDirection| {
            let by_schedule = way.schedule.as_ref().is_some_and(|s| s.loss().is_some());
            let by_queue = way.queue.is_some_and(|(kind, _)| kind.is_random);
            by_queue
                || by_schedule
                || way.loss.is_some()
                || way.reordering.is_some()
                || way.cross.is_some()
        };
        ways.into_iter().any(is_random)
    }
}

/// Which actions the timeline may have for an access link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PossibleActions {
    pub(crate) breaks: bool,
    pub(crate) returns: bool,
    pub(crate) changes: bool,
    /// Packets that its station buffers for a leaving node are forwarded, or arrive from another
    /// station.
    pub(crate) forwards: bool,
    pub(crate) is_entered: bool,
}

/// The mobile node's correspondent.
pub(crate) const SERVER: NodeId = NodeId(0);
const ROUTER: NodeId = NodeId(1);
const FIRST_STATION: u16 = 2;

/// The links from the server to the router and back, and between router and each station.
const OUT: u16 = 0;
const FIRST: u16 = 1;
const PER_WAY: u16 = 3;

/// The base station of an access link.
pub(crate) fn station(link: usize) -> NodeId {
    NodeId(FIRST_STATION + link as u16)
}

/// The three links of a path over an access link, if the links of all these paths begin with `first`.
fn way(first: u16, link: usize) -> [LinkId; 3] {
    [0, 1, 2].map(|i| link_id(first + PER_WAY * link as u16 + i))
}

/// Where an agent is deployed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Posts {
    /// At the base stations of these access links.
    pub(crate) stations: Vec<usize>,
    /// At the router.
    pub(crate) router: bool,
}

/// The nodes and links around this many access links.
#[derive(Clone, Copy)]
pub(crate) struct Map {
    pub(crate) stations: u16,
}

impl Map {
    /// The map of a network with this many access links.
    pub(crate) fn of_links(links: usize) -> Self {
        Self {
            stations: links as u16,
        }
    }

    /// The map of a network with this many nodes.
    pub(crate) fn of_nodes(nodes: usize) -> Self {
        let stations = nodes.saturating_sub(usize::from(FIRST_STATION) + 1) / 2;
        Self {
            stations: stations as u16,
        }
    }

    /// The nodes on the path from the server to the far end of an access link, with the link to which
    /// each forwards packets.
    pub(crate) fn way_down(link: usize) -> [(NodeId, LinkId); 3] {
        let [to_station, access, _] = Self::down(link);
        [
            (SERVER, link_id(OUT)),
            (ROUTER, to_station),
            (station(link), access),
        ]
    }

    pub(crate) fn interface(self, link: usize) -> NodeId {
        NodeId(FIRST_STATION + self.stations + link as u16)
    }

    pub(crate) fn mobile(self) -> NodeId {
        NodeId(FIRST_STATION + 2 * self.stations)
    }

    fn nodes(self) -> usize {
        usize::from(self.mobile().0) + 1
    }

    /// The node that has the mobile node's address on an access link: packets to that address arrive
    /// there, over that link and no other.
    pub(crate) fn host(self, link: usize) -> NodeId {
        NodeId(self.mobile().0 + 1 + link as u16)
    }

    /// The link from the mobile node to that node.
    fn to_host(self, link: usize) -> LinkId {
        link_id(self.back().index() as u16 + 1 + link as u16)
    }

    /// The links of the downlink path: to the station, the access link, to the mobile node.
    pub(crate) fn down(link: usize) -> [LinkId; 3] {
        way(FIRST, link)
    }

    /// The links of the uplink path: to the interface, the access link, to the router.
    pub(crate) fn up(self, link: usize) -> [LinkId; 3] {
        way(FIRST + PER_WAY * self.stations, link)
    }

    fn back(self) -> LinkId {
        link_id(FIRST + 2 * PER_WAY * self.stations)
    }

    /// The access link in both directions.
    pub(crate) fn access(self, link: usize) -> [LinkId; 2] {
        [Self::down(link)[1], self.up(link)[1]]
    }

    /// The mobile node's ends of an access link.
    pub(crate) fn ends(self, link: usize) -> [LinkId; 2] {
        [Self::down(link)[2], self.up(link)[0]]
    }

    /// The routes over a link to which the mobile node may move.
    pub(crate) fn routes_over(self, link: usize) -> [(NodeId, NodeId, LinkId); 2] {
        let mobile = self.mobile();
        [
            (ROUTER, mobile, Self::down(link)[0]),
            (mobile, SERVER, self.up(link)[0]),
        ]
    }
}

/// Names of the network's links, by their numbers, given the names of the access links.
pub(crate) fn link_names<'a>(access: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    let down = access.clone().flat_map(|name| {
        [
            format!("router-{name}"),
            name.to_string(),
            format!("{name}-mobile"),
        ]
    });
    let up = access.flat_map(|name| {
        [
            format!("mobile-{name}"),
            format!("{name}-up"),
            format!("{name}-router"),
        ]
    });
    let first = std::iter::once("server-router".to_string());
    let last = std::iter::once("router-server".to_string());
    first.chain(down).chain(up).chain(last).collect()
}

/// The network, with all parameters of its links.
pub(crate) struct Cell<'a> {
    /// The parameters of each link that is neither an access link nor an interface.
    pub(crate) wired: LinkInfo,
    pub(crate) wired_limit: u32,
    /// Names of all links, by their numbers.
    pub(crate) names: &'a [Cow<'static, str>],
    /// Names of the capture points at the stations.
    pub(crate) places: Vec<Cow<'static, str>>,
    pub(crate) access: &'a [Access],
    pub(crate) may_happen: &'a [PossibleActions],
    /// A break does not affect packets of the uplink in transmission or in the queue.
    pub(crate) spares_uplink: bool,
    /// The initial link of the mobile node.
    pub(crate) start: usize,
    /// Access links of other nodes, which do not move.
    pub(crate) residences: Vec<usize>,
    /// The mobile node has its own address on each access link.
    pub(crate) has_hosts: bool,
    /// The routers that respond to rate requests of downlink flows and of uplink flows.
    pub(crate) routers: [Option<Routers>; 2],
    /// Agents, and where they are deployed.
    pub(crate) agents: Vec<(AnyAgent, Posts)>,
    /// The endpoint nodes of each flow that agents can read.
    pub(crate) readable: Vec<Option<(NodeId, NodeId)>>,
    /// Seed of the random streams, and number of the run.
    pub(crate) seed: (u64, u64),
}

impl<'a> Cell<'a> {
    fn map(&self) -> Map {
        Map {
            stations: self.access.len() as u16,
        }
    }

    /// The network.
    pub(crate) fn network(&self) -> Network {
        let map = self.map();
        let entered = (0..self.access.len()).filter(|&link| self.may_happen[link].is_entered);
        let place = |(link, name): (usize, &Cow<'static, str>)| Place {
            name: name.clone(),
            // A packet that is about to be queued for the access link, or has come from there.
            links: [Map::down(link)[1], map.up(link)[2]].into(),
            watched_only: false,
            access: map.access(link),
        };
        Network {
            nodes: map.nodes() + if self.has_hosts { self.access.len() } else { 0 },
            links: self.links(),
            hooks: self.hooks(),
            routes: self.routes(),
            alternatives: entered.flat_map(|link| map.routes_over(link)).collect(),
            places: self.places.iter().enumerate().map(place).collect(),
        }
    }

    fn name(&self, id: LinkId) -> Cow<'static, str> {
        self.names.get(id.index()).cloned().unwrap_or_default()
    }

    fn seed(&self, id: LinkId, purpose: &str) -> u64 {
        let (seed, run) = self.seed;
        random::seed(seed, run, &self.name(id), purpose)
    }

    /// The nodes with functions besides forwarding.
    fn hooks(&self) -> Vec<(Vec<NodeId>, Hook)> {
        let mut hooks = self.routers();
        let site = |link: usize| Site {
            node: station(link),
            down: vec![Map::down(link)[1]],
        };
        for (agent, posts) in &self.agents {
            let mut sites: Vec<Site> = posts.stations.iter().copied().map(site).collect();
            if posts.router {
                let down = (0..self.access.len()).map(|link| Map::down(link)[0]);
                sites.push(Site {
                    node: ROUTER,
                    down: down.collect(),
                });
            }
            let nodes = sites.iter().map(|site| site.node).collect();
            let deployment = Deployment {
                agent: agent.clone(),
                sites,
                flows: self.readable.clone(),
            };
            hooks.push((nodes, Hook::Other(Box::new(deployment))));
        }
        hooks
    }

    /// The nodes that respond to rate requests, each with the link to which it forwards the packets of
    /// requesting flows.
    fn routers(&self) -> Vec<(Vec<NodeId>, Hook)> {
        let map = self.map();
        let [routers_down, routers_up] = self.routers;
        if routers_down.is_none() && routers_up.is_none() {
            return Vec::new();
        }
        let mut nodes = vec![RateRouter::default(); map.nodes()];
        let mut add = |at: NodeId, link: LinkId, asked: Option<Routers>, is_host| {
            if let Some(routers) = asked {
                let seed = self.seed(link, "router");
                nodes[usize::from(at.0)].add(link, routers, is_host, seed);
            }
        };
        add(SERVER, link_id(OUT), routers_down, true);
        for link in 0..self.access.len() {
            let (station, interface) = (self::station(link), map.interface(link));
            let [to_station, down, _] = Map::down(link);
            add(ROUTER, to_station, routers_down, false);
            add(station, down, routers_down, false);
            let [to_interface, up, to_router] = map.up(link);
            add(map.mobile(), to_interface, routers_up, true);
            add(interface, up, routers_up, false);
            add(station, to_router, routers_up, false);
        }
        add(ROUTER, map.back(), routers_up, false);
        let asked = nodes.into_iter().enumerate().filter(|(_, r)| !r.is_empty());
        asked
            .map(|(node, router)| (vec![NodeId(node as u16)], Hook::QuickStart(router)))
            .collect()
    }

    /// A link behind the base stations.
    fn fixed(&self, id: LinkId, ends: (NodeId, NodeId)) -> LinkConfig {
        let LinkInfo { rate, delay } = self.wired;
        LinkConfig::new(self.name(id), ends, rate, delay, Some(self.wired_limit))
    }

    /// A link between an interface and the mobile node.
    fn local(&self, id: LinkId, ends: (NodeId, NodeId), link: usize) -> LinkConfig {
        let PossibleActions {
            breaks, returns, ..
        } = self.may_happen[link];
        LinkConfig {
            may_break: breaks,
            may_return: returns,
            ..LinkConfig::new(self.name(id), ends, self.wired.rate, Duration::ZERO, None)
        }
    }

    /// An access link in one direction.
    fn access(&self, id: LinkId, ends: (NodeId, NodeId), link: usize, up: bool) -> LinkConfig {
        let impairments = |number: usize, way: &OneDirection| Impairments {
            loss: way.loss,
            reordering: way.reordering,
            script: Vec::new(),
            seed: match number {
                _ if way.loss.is_none() && way.reordering.is_none() => 0,
                0 => self.seed(id, "impairments"),
                _ => self.seed(id, &format!("impairments {number}")),
            },
        };
        let cross = |number: usize, way: &OneDirection| {
            way.cross.map(|cross| CrossTraffic {
                seed: self.seed(id, &format!("cross traffic {number}")),
                ..cross
            })
        };
        let of = |ways: &'a Directions| if up { &ways.up } else { &ways.down };
        let settings = &self.access[link].settings;
        let later = settings.iter().enumerate().skip(1).map(|(number, ways)| {
            let way = of(ways);
            LinkSetting {
                rate: way.rate,
                delay: way.delay,
                limit: Some(way.limit),
                impairments: impairments(number, way),
                cross: cross(number, way),
            }
        });
        let way = of(&settings[0]);
        let PossibleActions {
            breaks,
            changes,
            forwards,
            ..
        } = self.may_happen[link];
        LinkConfig {
            may_break: up && breaks && !self.spares_uplink,
            impairments: impairments(0, way),
            cross: cross(0, way),
            schedule: way.schedule.as_ref().map(|schedule| LinkSchedule {
                schedule: Arc::clone(schedule),
                seed: match schedule.loss() {
                    Some(_) => self.seed(id, "schedule"),
                    None => 0,
                },
            }),
            settings: later.collect(),
            may_pause: changes || forwards && !up,
            queue: way.queue.map(|(kind, parameters)| QueueConfig {
                kind,
                parameters,
                seed: if kind.is_random {
                    self.seed(id, "queue")
                } else {
                    0
                },
            }),
            ..LinkConfig::new(self.name(id), ends, way.rate, way.delay, Some(way.limit))
        }
    }

    fn links(&self) -> Vec<LinkConfig> {
        let map = self.map();
        let mobile = map.mobile();
        let mut links = Vec::with_capacity(self.map().back().index() + 1);
        links.push(self.fixed(link_id(OUT), (SERVER, ROUTER)));
        for link in 0..self.access.len() {
            let (station, interface) = (self::station(link), map.interface(link));
            let [to_station, down, to_mobile] = Map::down(link);
            links.push(self.fixed(to_station, (ROUTER, station)));
            links.push(self.access(down, (station, interface), link, false));
            links.push(self.local(to_mobile, (interface, mobile), link));
        }
        for link in 0..self.access.len() {
            let (station, interface) = (self::station(link), map.interface(link));
            let [to_interface, up, to_router] = map.up(link);
            links.push(self.local(to_interface, (mobile, interface), link));
            links.push(self.access(up, (interface, station), link, true));
            links.push(self.fixed(to_router, (station, ROUTER)));
        }
        links.push(self.fixed(map.back(), (ROUTER, SERVER)));
        if self.has_hosts {
            // No time passes within a node, and its packets have passed the link from its interface.
            let inner = |link: usize| {
                let name = self.name(Map::down(link)[2]);
                let ends = (mobile, map.host(link));
                let rate = Rate::from_bps(u64::MAX).unwrap_or(self.wired.rate);
                LinkConfig::new(name, ends, rate, Duration::ZERO, None)
            };
            links.extend((0..self.access.len()).map(inner));
        }
        links
    }

    fn routes(&self) -> Vec<(NodeId, NodeId, LinkId)> {
        let map = self.map();
        let mobile = map.mobile();
        let (stay, each) = (self.residences.len(), self.access.len());
        let mut routes = Vec::with_capacity(4 + 4 * each + 3 * stay);
        routes.extend([(SERVER, mobile, link_id(OUT)), (ROUTER, SERVER, map.back())]);
        routes.extend(map.routes_over(self.start));
        for link in 0..self.access.len() {
            let (station, interface) = (self::station(link), map.interface(link));
            routes.push((station, mobile, Map::down(link)[1]));
            routes.push((interface, mobile, Map::down(link)[2]));
            routes.push((interface, SERVER, map.up(link)[1]));
            routes.push((station, SERVER, map.up(link)[2]));
        }
        if self.has_hosts {
            for link in 0..self.access.len() {
                let (host, [to_station, down, to_mobile]) = (map.host(link), Map::down(link));
                routes.push((SERVER, host, link_id(OUT)));
                routes.push((ROUTER, host, to_station));
                routes.push((station(link), host, down));
                routes.push((map.interface(link), host, to_mobile));
                routes.push((mobile, host, map.to_host(link)));
            }
        }
        let mut residences = self.residences.clone();
        residences.sort_unstable();
        residences.dedup();
        for link in residences {
            let (station, interface) = (self::station(link), map.interface(link));
            routes.push((SERVER, interface, link_id(OUT)));
            routes.push((ROUTER, interface, Map::down(link)[0]));
            routes.push((station, interface, Map::down(link)[1]));
        }
        routes
    }
}
