//! How a world is built: which links packets traverse without an event, and which source of the agenda
//! each other link and each timer is.

use super::flows::Flow;
use super::stacks::StackFlow;
use super::timers::Timer;
use super::{cross, queues, World, FIRST_SELDOM_AWAITED, MOST_BUSY};
use crate::agenda::{Agenda, Source};
use crate::announcement::Announcements;
use crate::chain::{chains, NextHop};
use crate::config::{NodeId, WorldConfig, WorldError};
use crate::event::Observer;
use crate::hook::Hook;
use crate::link::{Link, LinkConfig, LinkId};
use crate::moment::{FineTime, Moment, Scheduled};
use crate::packet::PacketOptions;
use crate::timeline::Timeline;
use midflight_tcp::{Receiver, Sender};
use midflight_units::Instant;
use std::borrow::Cow;

impl<O: Observer> World<O> {
    /// A world in which nothing has happened yet. During the run only the routes of
    /// [`WorldConfig::alternatives`] may be set.
    ///
    /// # Errors
    /// [`WorldError::TooManyLinks`] and [`WorldError::Impairments`].
    pub fn new(config: WorldConfig, observer: O) -> Result<Self, WorldError> {
        let WorldConfig {
            nodes,
            links,
            routes,
            alternatives,
            flows,
            stacks,
            hooks,
            apps,
            clock,
        } = config;
        if links.len() > usize::from(u16::MAX) {
            return Err(WorldError::TooManyLinks);
        }
        for link in links {
            let problem = link.is_special().then(|| link.problem());
            if let Some(problem) = problem.flatten() {
                let link = link.name.to_string();
                return Err(WorldError::Impairments { link, problem });
            }
        }
        let mut links = Cow::Borrowed(links);
        for i in 0..links.len() {
            if observer.taps(LinkId(i as u16)) {
                links.to_mut()[i].tapped = true;
            }
        }
        let has_routers = hooks
            .iter()
            .any(|(_, hook)| matches!(hook, Hook::QuickStart(_)));
        let hook_of = |i: usize, link: &LinkConfig| {
            let looks = |(nodes, hook): &(Vec<NodeId>, Hook)| {
                nodes.contains(&link.from) && hook.sees(LinkId(i as u16))
            };
            hooks.iter().position(looks).map(|number| number as u16)
        };
        let hook_of: Vec<Option<u16>> = links
            .iter()
            .enumerate()
            .map(|(i, l)| hook_of(i, l))
            .collect();
        let in_order =
            |hook: &Option<u16>| hook.is_some_and(|n| hooks[usize::from(n)].1.is_in_order());
        let in_order: Vec<bool> = hook_of.iter().map(in_order).collect();
        let of_stacks = stacks.iter().flat_map(|stack| {
            let [client, server] = stack.nodes;
            let others = stack.addresses.iter().map(move |(_, node)| (server, *node));
            // Datagrams that leave over two links at a time are those of two users: they overtake each other.
            let users = if stack.exits.is_empty() { 1 } else { 2 };
            std::iter::repeat_n((client, server), users).chain(others)
        });
        let ends = flows.iter().flat_map(|flow| {
            let others = flow.addresses.iter().map(|(_, node)| (flow.from, *node));
            std::iter::once((flow.from, flow.to)).chain(others)
        });
        let ends: Vec<_> = ends.chain(of_stacks).collect();
        let chained = chains(&links, &in_order, routes, alternatives, &ends);
        let cross = cross::sources(&links);
        let managed = queues::managed(&links);
        let names = links.iter().map(|link| link.name.clone()).collect();
        let links = links.iter().zip(&hook_of);
        let mut links: Vec<Link> = links
            .map(|(link, hook)| Link::new(link, *hook, clock))
            .collect();
        let (mut awaited, mut awaited_special) = (Vec::new(), Vec::new());
        let mut seldom_awaited = Vec::new();
        for (i, (link, (onward, to_be_clear))) in links.iter_mut().zip(chained).enumerate() {
            link.number = i as u16;
            link.onward = onward;
            link.to_be_clear = to_be_clear;
            match link.onward {
                NextHop::Chained(_) => {}
                NextHop::Event if awaited.len() + awaited_special.len() < MOST_BUSY => {
                    if link.impaired {
                        awaited_special.push(i);
                    } else {
                        link.source = Source::Busy(awaited.len());
                        awaited.push(i);
                    }
                }
                NextHop::Event | NextHop::Routed => {
                    link.source = Source::Other(FIRST_SELDOM_AWAITED + seldom_awaited.len());
                    seldom_awaited.push(i);
                }
            }
        }
        let busy = awaited.len() + awaited_special.len();
        for (&i, source) in awaited_special.iter().zip(awaited.len()..) {
            links[i].source = Source::Busy(source);
        }
        let first_timer = FIRST_SELDOM_AWAITED + seldom_awaited.len();
        let timers = 2 * (flows.len() + stacks.len());
        let mut world = Self {
            clock,
            moment: Moment::ZERO,
            scheduled: Scheduled::START,
            nodes,
            names,
            agenda: Agenda::new(
                busy,
                first_timer + timers + cross.len() + hooks.len() + managed.len() + apps.len(),
            ),
            links,
            awaited,
            awaited_special,
            seldom_awaited,
            awaiting_route: 0,
            options: PacketOptions::new(has_routers),
            announcements: Announcements::default(),
            alternatives: alternatives.to_vec(),
            routes: vec![None; nodes * nodes],
            flows: flows
                .into_iter()
                .enumerate()
                .map(|(number, f)| Flow {
                    sender: Sender::new(&f.sender.of_flow(number), f.parts, f.policies),
                    receiver: Receiver::new(*f.receiver),
                    app: None,
                    is_special: !f.addresses.is_empty(),
                    from: f.from,
                    to: f.to,
                    timers: [Timer::OFF; 2],
                    open_timeouts: Vec::new(),
                    addresses: f.addresses,
                    migrates: f.migrates,
                    has_address: 0,
                    has_address_since: Instant::ZERO,
                    postponed: None,
                })
                .collect(),
            stacks: stacks.into_iter().map(StackFlow::new).collect(),
            cross,
            managed,
            hooks: hooks.into_iter().map(|(_, hook)| hook).collect(),
            apps: Vec::new(),
            emitting: None,
            promised: Instant::ZERO,
            routes_hold_until: FineTime::ZERO,
            timeline: Timeline::default(),
            observer,
            error: None,
        };
        for &(node, to, link) in routes {
            world.set_route(node, to, link, false);
        }
        world.begin_cross_traffic();
        world.add_apps(apps);
        for number in 0..world.hooks.len() {
            world.sync_hook(number as u16);
        }
        Ok(world)
    }
}
