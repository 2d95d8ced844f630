//! The network of a scenario: that of a handoff ([`crate::Handoff`]) with any number of access links.
//!
//! ```text
//!                       BS1 ==link 1== Wir1
//! server -- router --<  BS2 ==link 2== Wir2  >-- mobile node
//!                       ...
//! ```
//!
//! Flows of nodes that stay end at an interface (Wir). Data go either way. With two links
//! and the same numbers it is the network of [`crate::Handoff`], event for event.

use midflight_control::quick_start::Routers;
use midflight_control::{LinkInfo, Notice, StartNotice};
use midflight_sim::{
    random, Action, CrossTraffic, FlowConfig, FlowId, Impairments, LinkConfig, LinkId, LinkSetting,
    NodeId, Observer, Router, World,
};
use midflight_units::{Duration, Instant};

use super::access::{Access, Way};
use super::file::Direction;
use super::plan::{Change, Flow, Move, Plan, Telling};
use crate::capture::Place;
use crate::error::StudyError;
use crate::trace::LinkNames;

const SERVER: NodeId = NodeId(0);
const ROUTER: NodeId = NodeId(1);
const FIRST_STATION: u16 = 2;

/// Links from the server to the router and back, those of each station between.
const OUT: u16 = 0;
const FIRST: u16 = 1;
const PER_WAY: u16 = 3;

fn station(link: usize) -> NodeId {
    NodeId(FIRST_STATION + link as u16)
}

/// The three links of a way over an access link, where those of all ways begin with `first`.
fn way(first: u16, link: usize) -> [LinkId; 3] {
    [0, 1, 2].map(|i| link_id(first + PER_WAY * link as u16 + i))
}

/// The nodes and links around so many access links.
#[derive(Clone, Copy)]
struct Map {
    stations: u16,
}

impl Map {
    fn interface(self, link: usize) -> NodeId {
        NodeId(FIRST_STATION + self.stations + link as u16)
    }

    fn mobile(self) -> NodeId {
        NodeId(FIRST_STATION + 2 * self.stations)
    }

    fn nodes(self) -> usize {
        usize::from(self.mobile().0) + 1
    }

    /// The links of a way down: to the station, the access link, to the mobile node.
    fn down(link: usize) -> [LinkId; 3] {
        way(FIRST, link)
    }

    /// The links of a way up: to the interface, the access link, to the router.
    fn up(self, link: usize) -> [LinkId; 3] {
        way(FIRST + PER_WAY * self.stations, link)
    }

    fn back(self) -> LinkId {
        link_id(FIRST + 2 * PER_WAY * self.stations)
    }
}

fn link_id(index: u16) -> LinkId {
    World::<()>::link_id(index)
}

pub(super) fn flow_id(number: usize) -> FlowId {
    World::<()>::flow_id(number as u32)
}

/// Names of the network's links around access links of these names, by their numbers.
pub(super) fn link_names<'a>(access: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
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

/// What the timeline may do to a link of the mobile node's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prospects {
    breaks: bool,
    returns: bool,
    changes: bool,
    is_entered: bool,
}

impl Prospects {
    /// Those of each link.
    pub(super) fn of(links: usize, moves: &[Move], changes: &[Change]) -> Vec<Self> {
        let mut all = vec![Self::default(); links];
        for step in moves {
            all[step.to].returns |= all[step.to].breaks || step.to == step.from;
            all[step.to].is_entered |= step.to != step.from;
            all[step.from].breaks |= step.gap.is_some();
        }
        for change in changes {
            all[change.link].changes = true;
        }
        all
    }
}

impl Plan {
    fn map(&self) -> Map {
        Map {
            stations: self.access.len() as u16,
        }
    }

    /// The mobile node's flows.
    pub(super) fn moving(&self) -> impl Iterator<Item = (usize, &Flow)> {
        self.flows
            .iter()
            .enumerate()
            .filter(|(_, f)| f.on.is_none())
    }

    /// Names of the links by their numbers.
    pub(super) fn link_names(&self) -> LinkNames {
        LinkNames::new(link_names(self.access.iter().map(|a| a.name.as_str())))
    }

    /// The places of captures: the base stations, where a packet is about to be
    /// queued for the access link or has come from there.
    pub(super) fn stations(&self) -> Vec<Place> {
        let map = self.map();
        let place = |(link, access): (usize, &Access)| Place {
            name: access.name.clone(),
            links: vec![Map::down(link)[1], map.up(link)[2]],
            watched_only: false,
        };
        self.access.iter().enumerate().map(place).collect()
    }

    /// How routers answer rate requests of flows in a direction, if any of these asks.
    fn asked(&self, direction: Direction) -> Option<Routers> {
        let flows = self.flows.iter().filter(|f| f.direction == direction);
        let mut policies = flows.flat_map(|f| &self.built[f.built].policies);
        policies.find_map(|policy| policy.routers())
    }

    /// The same for both directions.
    pub(super) fn routers(&self) -> [Option<Routers>; 2] {
        [Direction::Down, Direction::Up].map(|direction| self.asked(direction))
    }

    /// Gives a link, which was idle until now, the parameters that it has at the start.
    pub(super) fn retune<O: Observer>(
        &self,
        world: &mut World<O>,
        link: usize,
    ) -> Result<(), StudyError> {
        let ways = &self.access[link].settings[0];
        let each = [
            (Map::down(link)[1], &ways.down),
            (self.map().up(link)[1], &ways.up),
        ];
        for (id, way) in each {
            world.retune(id, way.rate, way.delay, Some(way.limit))?;
        }
        Ok(())
    }

    fn links(&self, run: u64) -> Vec<LinkConfig> {
        let map = self.map();
        let names = self.link_names();
        let seed = self.file.seed;
        let prospects = &self.prospects;
        let (wired, limit) = (&self.file.wired, Some(self.wired_limit));
        let (asked_down, asked_up) = (self.asked(Direction::Down), self.asked(Direction::Up));
        let name = |id: LinkId| names.of(id).to_string();
        let router = |id: LinkId, routers: Option<Routers>, is_host: bool| {
            let seed = || random::seed(seed, run, names.of(id), "router");
            match routers {
                Some(routers) if is_host => Router::Host(routers, seed()),
                Some(routers) => Router::There(routers, seed()),
                None => Router::None,
            }
        };
        let fixed = |id: LinkId, from, to, routers, is_host| LinkConfig {
            router: router(id, routers, is_host),
            ..LinkConfig::new(
                name(id),
                (from, to),
                wired.rate.value,
                wired.delay.value,
                limit,
            )
        };
        let local = |id: LinkId, from, to, p: &Prospects, routers| LinkConfig {
            may_break: p.breaks,
            may_return: p.returns,
            router: router(id, routers, true),
            ..LinkConfig::new(name(id), (from, to), wired.rate.value, Duration::ZERO, None)
        };
        let access = |id: LinkId, from, to, link: usize, direction, routers| {
            let impairments = |number: usize, way: &Way| Impairments {
                loss: way.loss,
                reordering: way.reordering,
                script: Vec::new(),
                seed: random::seed(
                    seed,
                    run,
                    names.of(id),
                    &match number {
                        0 => "impairments".to_string(),
                        _ => format!("impairments {number}"),
                    },
                ),
            };
            let cross = |number: usize, way: &Way| {
                let stream = format!("cross traffic {number}");
                let seed = random::seed(seed, run, names.of(id), &stream);
                way.cross.map(|cross| CrossTraffic { seed, ..cross })
            };
            let settings = &self.access[link].settings;
            let later = settings.iter().enumerate().skip(1).map(|(number, ways)| {
                let way = ways.of(direction);
                LinkSetting {
                    rate: way.rate,
                    delay: way.delay,
                    limit: Some(way.limit),
                    impairments: impairments(number, way),
                    cross: cross(number, way),
                }
            });
            let way = settings[0].of(direction);
            LinkConfig {
                may_break: direction == Direction::Up && prospects[link].breaks,
                impairments: impairments(0, way),
                cross: cross(0, way),
                settings: later.collect(),
                may_pause: prospects[link].changes,
                router: router(id, routers, false),
                ..LinkConfig::new(name(id), (from, to), way.rate, way.delay, Some(way.limit))
            }
        };
        let mobile = map.mobile();
        let mut links = vec![fixed(link_id(OUT), SERVER, ROUTER, asked_down, true)];
        for (link, p) in prospects.iter().enumerate() {
            let (station, interface) = (self::station(link), map.interface(link));
            let [to_station, down, to_mobile] = Map::down(link);
            links.push(fixed(to_station, ROUTER, station, asked_down, false));
            links.push(access(
                down,
                station,
                interface,
                link,
                Direction::Down,
                asked_down,
            ));
            links.push(local(to_mobile, interface, mobile, p, None));
        }
        for (link, p) in prospects.iter().enumerate() {
            let (station, interface) = (self::station(link), map.interface(link));
            let [to_interface, up, to_router] = map.up(link);
            links.push(local(to_interface, mobile, interface, p, asked_up));
            links.push(access(
                up,
                interface,
                station,
                link,
                Direction::Up,
                asked_up,
            ));
            links.push(fixed(to_router, station, ROUTER, asked_up, false));
        }
        links.push(fixed(map.back(), ROUTER, SERVER, asked_up, false));
        links
    }

    fn routes(&self) -> Vec<(NodeId, NodeId, LinkId)> {
        let map = self.map();
        let mobile = map.mobile();
        let mut routes = vec![(SERVER, mobile, link_id(OUT)), (ROUTER, SERVER, map.back())];
        routes.push((ROUTER, mobile, Map::down(self.start)[0]));
        routes.push((mobile, SERVER, map.up(self.start)[0]));
        for link in 0..self.access.len() {
            let (station, interface) = (self::station(link), map.interface(link));
            routes.push((station, mobile, Map::down(link)[1]));
            routes.push((interface, mobile, Map::down(link)[2]));
            routes.push((interface, SERVER, map.up(link)[1]));
            routes.push((station, SERVER, map.up(link)[2]));
        }
        let mut residences: Vec<usize> = self.flows.iter().filter_map(|f| f.on).collect();
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

    /// The routes over a link that the mobile node may come to.
    fn routes_over(&self, link: usize) -> [(NodeId, NodeId, LinkId); 2] {
        let map = self.map();
        let mobile = map.mobile();
        [
            (ROUTER, mobile, Map::down(link)[0]),
            (mobile, SERVER, map.up(link)[0]),
        ]
    }

    /// The world of a run before anything has happened: flows will open, and
    /// neither handoffs nor changes are planned.
    pub(super) fn world<O: Observer>(&self, run: u64, observer: O) -> Result<World<O>, StudyError> {
        let map = self.map();
        let prospects = &self.prospects;
        let entered = (0..self.access.len()).filter(|&link| prospects[link].is_entered);
        let alternatives: Vec<_> = entered.flat_map(|link| self.routes_over(link)).collect();
        let config = |flow: &Flow| {
            let there = flow.on.map_or(map.mobile(), |link| map.interface(link));
            let (from, to) = match flow.direction {
                Direction::Down => (SERVER, there),
                Direction::Up => (there, SERVER),
            };
            let built = &self.built[flow.built];
            FlowConfig {
                from,
                to,
                sender: built.profile.sender,
                receiver: built.profile.receiver,
                policies: built.policies.clone(),
            }
        };
        let flows = self.flows.iter().map(config).collect();
        let mut world = World::new(
            map.nodes(),
            self.links(run),
            &self.routes(),
            &alternatives,
            flows,
            observer,
        )?;
        for (number, flow) in self.flows.iter().enumerate() {
            let id = flow_id(number);
            if flow.start_notice {
                let link = self.link_at(flow, flow.opens);
                let alike =
                    |other: &&Flow| (other.on, other.direction) == (flow.on, flow.direction);
                let flows = self.flows.iter().filter(alike).count() as u32;
                world.schedule(
                    flow.opens,
                    Action::NotifyStart(id, StartNotice { link, flows }),
                )?;
            }
            world.schedule(flow.opens, Action::Open(id))?;
            if let Some(end) = flow.end {
                world.sender_mut(id).set_end(end);
            }
        }
        Ok(world)
    }

    /// The parameters of a link in a direction at an instant.
    fn info(&self, link: usize, direction: Direction, at: Instant) -> LinkInfo {
        let begun = self.changes.partition_point(|c| c.at <= at);
        let over = |c: &&Change| c.link == link && c.at + c.pause <= at;
        let setting = self.changes[..begun].iter().rev().find(over);
        let setting = setting.map_or(0, |c| c.setting);
        let way = self.access[link].settings[setting].of(direction);
        LinkInfo {
            rate: way.rate,
            delay: way.delay,
        }
    }

    /// The link that a flow uses at an instant.
    fn link_at(&self, flow: &Flow, at: Instant) -> LinkInfo {
        let link = flow.on.unwrap_or_else(|| self.mobile_is_on(at));
        self.info(link, flow.direction, at)
    }

    /// The link that the mobile node is on, or comes to.
    pub(super) fn mobile_is_on(&self, at: Instant) -> usize {
        let place = self.moves.partition_point(|step| step.at <= at);
        place
            .checked_sub(1)
            .map_or(self.start, |last| self.moves[last].to)
    }

    /// When something first happens of what [`Self::timeline`] plans; none if nothing ever does.
    pub(super) fn first(&self) -> Option<Instant> {
        let moves = self.moves.first().map(|m| m.at);
        let changes = self.changes.first().map(|c| c.at);
        let starts = moves.into_iter().chain(changes).min()?;
        let warnings = self
            .moving()
            .filter_map(|(_, f)| self.built[f.built].profile.receiver.signal.warning());
        Some(
            warnings
                .map(|w| starts.saturating_sub(w))
                .min()
                .unwrap_or(starts),
        )
    }

    /// Plans all handoffs and changes.
    pub(super) fn timeline<O: Observer>(
        &self,
        world: &mut World<O>,
        run: u64,
    ) -> Result<(), StudyError> {
        let mut moves = self.moves.iter().enumerate().peekable();
        let mut changes = self.changes.iter().enumerate().peekable();
        loop {
            let goes_first = match (moves.peek(), changes.peek()) {
                (Some((_, step)), Some((_, change))) => step.at <= change.at,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => break,
            };
            if goes_first {
                if let Some((number, step)) = moves.next() {
                    self.handoff(world, run, number, step)?;
                }
            } else if let Some((number, change)) = changes.next() {
                self.change(world, run, number, change)?;
            }
        }
        world.hold_routes_until(Instant::NEVER);
        Ok(())
    }

    /// The mobile node's flows that are open at an instant.
    fn open_at(&self, at: Instant) -> impl Iterator<Item = (usize, &Flow)> {
        self.moving().filter(move |(_, flow)| flow.opens <= at)
    }

    /// The mobile node foresees that it will lose its link at `at`, for the flows that `foreseen` says.
    fn foresee<O: Observer>(
        &self,
        world: &mut World<O>,
        at: Instant,
        foreseen: impl Fn(usize) -> bool,
    ) -> Result<(), StudyError> {
        for (number, flow) in self.open_at(at).filter(|(number, _)| foreseen(*number)) {
            if let Some(warning) = self.built[flow.built].profile.receiver.signal.warning() {
                let told = at.saturating_sub(warning).max(flow.opens);
                world.schedule(told, Action::Foresee(flow_id(number)))?;
            }
        }
        Ok(())
    }

    /// The mobile node finds itself on a link at `at`; its senders are told, by itself where
    /// `signalled` says so.
    fn arrive<O: Observer>(
        &self,
        world: &mut World<O>,
        at: Instant,
        signalled: impl Fn(usize) -> bool,
        notice: impl Fn(&Flow, usize) -> Option<(Instant, Notice)>,
    ) -> Result<(), StudyError> {
        for (number, flow) in self.open_at(at) {
            if flow.direction == Direction::Down {
                let copies = u8::from(signalled(number));
                world.schedule(at, Action::Attached(flow_id(number), copies))?;
            }
        }
        for (number, flow) in self.open_at(at) {
            if let Some((told, notice)) = notice(flow, number) {
                world.schedule(told, Action::Notify(flow_id(number), notice))?;
            }
        }
        Ok(())
    }

    /// What a flow is told of a link that replaces another at `at`, and when, if it hears it.
    fn told(
        &self,
        (old, new): (LinkInfo, LinkInfo),
        at: Instant,
        flow: &Flow,
        telling: Option<Telling>,
        is_heard: impl Fn(f64) -> bool,
    ) -> Option<(Instant, Notice)> {
        let telling = telling.filter(|t| is_heard(t.lost))?;
        let alike = |(_, other): &(usize, &Flow)| other.direction == flow.direction;
        let notice = Notice {
            old,
            new: LinkInfo {
                rate: telling.rate.unwrap_or(new.rate),
                delay: telling.says_delay.unwrap_or(new.delay),
            },
            flows: self.open_at(at).filter(alike).count() as u32,
        };
        Some((at + telling.delay, notice))
    }

    fn handoff<O: Observer>(
        &self,
        world: &mut World<O>,
        run: u64,
        number: usize,
        step: &Move,
    ) -> Result<(), StudyError> {
        let map = self.map();
        let of = format!("handoff {number}");
        let is_heard = |lost, what, flow| self.is_heard(lost, (run, &of), what, flow);
        self.foresee(world, step.at, |flow| {
            is_heard(step.missed, "foresight", flow)
        })?;
        let ends = |link: usize| [Map::down(link)[2], map.up(link)[0]];
        if step.gap.is_some() {
            world.schedule(step.at, Action::MarkBreak)?;
            for link in ends(step.from) {
                world.schedule(step.at, Action::Down(link))?;
            }
            // The node's own queue goes with its interface, and so does what is on the air. What the
            // base station has for the node is lost when it finds nobody.
            let [to_interface, up, _] = map.up(step.from);
            for link in [to_interface, up] {
                let node = map.mobile();
                world.schedule(step.at, Action::Purge { link, node })?;
            }
        }
        let make = step.make();
        world.schedule(make, Action::MarkMake)?;
        if self.prospects[step.to].returns {
            for link in ends(step.to) {
                world.schedule(make, Action::Up(link))?;
            }
        }
        if step.to != step.from {
            for (node, to, link) in self.routes_over(step.to) {
                world.schedule(make, Action::Route { node, to, link })?;
            }
        }
        let signalled = |flow| is_heard(step.signal_lost, "signal", flow);
        self.arrive(world, make, signalled, |flow, flow_number| {
            let link = |link, at| self.info(link, flow.direction, at);
            let links = (link(step.from, step.at), link(step.to, make));
            self.told(links, make, flow, step.telling, |lost| {
                is_heard(lost, "notice", flow_number)
            })
        })
    }

    fn change<O: Observer>(
        &self,
        world: &mut World<O>,
        run: u64,
        number: usize,
        change: &Change,
    ) -> Result<(), StudyError> {
        let map = self.map();
        let again = change.at + change.pause;
        let is_on = self.mobile_is_on(change.at) == change.link;
        if is_on && change.pause > Duration::ZERO {
            self.foresee(world, change.at, |_| true)?;
        }
        if is_on && change.pause > Duration::ZERO {
            world.schedule(change.at, Action::MarkBreak)?;
        }
        let links = [Map::down(change.link)[1], map.up(change.link)[1]];
        let stands_still = change.pause > Duration::ZERO;
        for link in links.into_iter().filter(|_| stands_still) {
            world.schedule(change.at, Action::Pause(link))?;
        }
        if is_on {
            world.schedule(again, Action::MarkMake)?;
        }
        for link in links {
            // Settings are numbered from the second on.
            let setting = change.setting as u16 - 1;
            let action = if stands_still {
                let setting = Some(setting);
                Action::Resume { link, setting }
            } else {
                Action::Change { link, setting }
            };
            world.schedule(again, action)?;
        }
        if !is_on {
            return Ok(());
        }
        let of = format!("change {number}");
        self.arrive(
            world,
            again,
            |_| true,
            |flow, flow_number| {
                let before = self.info(
                    change.link,
                    flow.direction,
                    change.at.saturating_sub(Duration::from_nanos(1)),
                );
                let after = self.info(change.link, flow.direction, again);
                self.told((before, after), again, flow, change.telling, |lost| {
                    self.is_heard(lost, (run, &of), "notice", flow_number)
                })
            },
        )
    }
}
