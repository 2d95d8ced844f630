//! Shared prefixes of runs: which parts of a setup may be left open while several runs are simulated as one,
//! where they fork, and how a copy gets its open parts.

use super::{flow_id, link_id, Entry, Flags, FlowSetup, Setup, Step, Touched};
use crate::error::StudyError;
use crate::measure::Measured;
use crate::scheme::Built;
use midflight_control::Interests;
use midflight_sim::{Action, Digest, FlowId, LinkConfig, Observer, World};
use midflight_units::Instant;
use smallvec::SmallVec;
use std::sync::Arc;

/// Number of flows used to distinguish prefixes before they are compared.
const MOST_TRAITS: usize = 8;

/// The next event of a setup, with the parts that it uses.
pub(crate) struct Turn<'a> {
    setup: &'a Setup,
    entry: Option<&'a Entry>,
    /// The open links that it changes or leads to.
    pub(crate) touched: Touched,
}

impl Turn<'_> {
    /// Whether entry `number` of a setup that was equal up to there is the same event, including everything
    /// that it uses.
    pub(crate) fn is_of(&self, other: &Setup, number: usize, open: &Open) -> bool {
        let setup = self.setup;
        if self.entry != other.entry(number) || (self.entry.is_none() && setup.end != other.end) {
            return false;
        }
        let parts = |flow: FlowId| {
            let of = |setup: &'_ Setup| Arc::clone(&setup.flows[flow.index()].part);
            (of(setup), of(other))
        };
        match self.entry {
            Some(&(_, Step::Act(Action::Open(flow) | Action::NotifyStart(flow, _))))
                if open.flows[flow.index()] =>
            {
                let is_late = open.policies[flow.index()];
                let (a, b) = parts(flow);
                a.has_profile_of(&b) && (is_late || a.has_policies_of(&b))
            }
            Some(&(_, Step::Act(Action::Notify(flow, _)))) if open.policies[flow.index()] => {
                let (a, b) = parts(flow);
                a.has_policies_of(&b)
            }
            _ => {
                Arc::ptr_eq(&setup.network, &other.network)
                    || self.touched.iter().all(|&link| {
                        let of = |setup: &Setup| {
                            let link = &setup.network.links[link];
                            (link.rate, link.delay, link.limit)
                        };
                        of(setup) == of(other)
                    })
            }
        }
    }
}

/// Parts that a copy of a shared prefix can still be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Open {
    /// Flows whose sender and receiver are not fixed, flows whose policies are not, and links whose
    /// parameters are not.
    flows: Flags,
    pub(super) policies: Flags,
    links: Flags,
    /// Senders track retransmissions for policies that some of them will have.
    pub(super) watch: bool,
}

impl Setup {
    /// Whether a policy of the flow may act before the first notice of a handoff, or uses earlier events.
    fn acts_early(&self, flow: usize) -> bool {
        let id = flow_id(flow as u32);
        let mut policies = self.flows[flow].part.built.policies.iter();
        let is_notice =
            |entry: &Entry| matches!(entry.1, Step::Act(Action::NotifyStart(f, _)) if f == id);
        let at_start = || self.timeline.iter().any(is_notice);
        policies.any(|p| {
            let interests = p.interests();
            interests.includes(Interests::MARKS | Interests::CONTROL | Interests::PAST)
                || (interests.includes(Interests::START) && at_start())
        })
    }

    /// Parts that can be left open while setups like this one share a prefix.
    pub(crate) fn open(&self) -> Open {
        let used = self.network.used(&self.flows);
        let idle = |(link, used): (&LinkConfig, &bool)| {
            let has_more = link.cross.is_some() || link.may_pause || link.schedule.is_some();
            !used && link.settings.is_empty() && !has_more
        };
        Open {
            // The world has already given flows of applications the values that they need.
            flows: self
                .flows
                .iter()
                .map(|f| f.opens > Instant::ZERO && f.app.is_none())
                .collect(),
            policies: (0..self.flows.len()).map(|f| !self.acts_early(f)).collect(),
            links: self.network.links.iter().zip(&used).map(idle).collect(),
            watch: false,
        }
    }

    /// Whether another setup has identical parts, except for its timeline.
    pub(crate) fn has_parts_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.network, &other.network)
            && Arc::ptr_eq(&self.flows, &other.flows)
            && (Arc::ptr_eq(&self.apps, &other.apps) || self.apps == other.apps)
            && Arc::ptr_eq(&self.measured, &other.measured)
            && self.run == other.run
    }

    /// A number that is equal for setups that begin alike.
    pub(crate) fn trait_of_beginning(&self, open: &Open) -> u64 {
        let mut digest = Digest::default();
        for (link, &open) in self.network.links.iter().zip(&open.links) {
            if !open {
                digest.add(link.rate.as_bps());
                digest.add(link.delay.as_nanos());
                digest.add(link.impairments.seed);
            }
        }
        for flow in self.flows.iter().take(MOST_TRAITS) {
            digest.add(flow.opens.as_nanos());
        }
        digest.add(self.flows.len() as u64);
        digest.add(self.run.unwrap_or_default());
        digest.fold()
    }

    /// Whether two setups begin alike: everything is equal that is not open in the first.
    pub(crate) fn begins_as(&self, open: &Open, other: &Self, others: &Open) -> bool {
        // If the run ends depending on what follows the last make, the number of makes must be equal.
        let ends_run = matches!(*self.measured, Measured::Phases { ends_run: true, .. });
        let is_of_run = self.run == other.run
            && self.measured == other.measured
            && (!ends_run || self.makes() == other.makes());
        is_of_run
            && open == others
            && self.clock() == other.clock()
            && self.flows.len() == other.flows.len()
            && (Arc::ptr_eq(&self.apps, &other.apps) || self.apps == other.apps)
            && (Arc::ptr_eq(&self.network, &other.network) || self.has_network_of(other, open))
            && (0..self.flows.len()).all(|flow| self.has_flow_of(other, flow, open))
    }

    fn has_network_of(&self, other: &Self, open: &Open) -> bool {
        let (a, b) = (&*self.network, &*other.network);
        let links = || a.links.iter().zip(&b.links).zip(&open.links);
        let is_same = |((a, b), open): ((&LinkConfig, &LinkConfig), &bool)| {
            if !open {
                return a == b;
            }
            let (rate, delay, limit) = (b.rate, b.delay, b.limit);
            let a = a.clone();
            *b == LinkConfig {
                rate,
                delay,
                limit,
                ..a
            }
        };
        (a.nodes, a.links.len()) == (b.nodes, b.links.len())
            && links().all(is_same)
            && (&a.routes, &a.alternatives) == (&b.routes, &b.alternatives)
            && a.hooks == b.hooks
    }

    fn has_flow_of(&self, other: &Self, flow: usize, open: &Open) -> bool {
        let (a, b) = (&self.flows[flow], &other.flows[flow]);
        let of = |f: &FlowSetup| (f.from, f.to, f.end, f.opens, f.stays, f.client.clone());
        let has_part = || {
            open.flows[flow]
                || a.part.has_profile_of(&b.part)
                    && (open.policies[flow] || a.part.has_policies_of(&b.part))
        };
        of(a) == of(b) && has_part()
    }

    /// Entry `number` of the timeline, unless the run ends earlier.
    pub(crate) fn entry(&self, number: usize) -> Option<&Entry> {
        self.timeline.get(number).filter(|(at, _)| *at < self.end)
    }

    /// When that entry is due, or the end of the run.
    pub(crate) fn due(&self, number: usize) -> Instant {
        self.entry(number).map_or(self.end, |entry| entry.0)
    }

    /// Entry `number`, with the open links that it affects.
    pub(crate) fn turn(&self, number: usize, open: &Open) -> Turn<'_> {
        let entry = self.entry(number);
        let touched = match entry {
            Some((_, Step::Act(action))) => self.touched(action, open),
            _ => Touched::new(),
        };
        Turn {
            setup: self,
            entry,
            touched,
        }
    }

    /// The open links that an action changes or leads to.
    fn touched(&self, action: &Action, open: &Open) -> Touched {
        let is_open = |link: &usize| open.links[*link];
        match *action {
            Action::Route { to, link, .. } if open.links.contains(&true) => {
                let beyond = self.network.beyond(link, to);
                (0..beyond.len())
                    .filter(|link| beyond[*link] && is_open(link))
                    .collect()
            }
            Action::Down(link)
            | Action::Up(link)
            | Action::Pause(link)
            | Action::Purge { link, .. }
            | Action::Detain { link, .. }
            | Action::Resume { link, .. }
            | Action::Change { link, .. } => {
                Some(link.index()).filter(is_open).into_iter().collect()
            }
            // The other link carries the buffered packets from now on.
            Action::Forward { link, to, .. } => {
                let both = [link.index(), to.index()];
                both.into_iter().filter(is_open).collect()
            }
            _ => Touched::new(),
        }
    }

    /// Sets the parts of a world that an entry uses, where `touched` are the open links that it affects.
    pub(crate) fn settle<O: Observer>(
        &self,
        world: &mut World<O>,
        step: &Step,
        touched: &[usize],
        open: &mut Open,
    ) -> Result<(), StudyError> {
        match *step {
            Step::Act(Action::Open(flow) | Action::NotifyStart(flow, _)) => {
                self.settle_flow(world, flow.index(), open)?;
            }
            Step::Act(Action::Notify(flow, _)) => self.settle_policies(world, flow.index(), open),
            _ => {
                for &link in touched {
                    self.settle_link(world, link, open)?;
                }
            }
        }
        Ok(())
    }

    /// Sets all parts of a world that are still open.
    pub(crate) fn settle_all<O: Observer>(
        &self,
        world: &mut World<O>,
        open: &mut Open,
    ) -> Result<(), StudyError> {
        for flow in 0..self.flows.len() {
            self.settle_flow(world, flow, open)?;
            self.settle_policies(world, flow, open);
        }
        if !open.links.contains(&true) {
            return Ok(());
        }
        (0..open.links.len()).try_for_each(|link| self.settle_link(world, link, open))
    }

    fn settle_flow<O: Observer>(
        &self,
        world: &mut World<O>,
        flow: usize,
        open: &mut Open,
    ) -> Result<(), StudyError> {
        if !std::mem::take(&mut open.flows[flow]) {
            return Ok(());
        }
        let FlowSetup { part, end, .. } = &self.flows[flow];
        let Built { profile, policies } = &part.built;
        let is_late = open.policies[flow];
        let policies = policies.iter().filter(|_| !is_late).cloned();
        let id = flow_id(flow as u32);
        world.refit(
            id,
            &profile.sender,
            &profile.parts,
            profile.receiver,
            policies,
        )?;
        let sender = world.sender_mut(id);
        if let Some(end) = *end {
            sender.set_end(end);
        }
        if open.watch && is_late {
            sender.watch_retransmissions();
        }
        Ok(())
    }

    fn settle_policies<O: Observer>(&self, world: &mut World<O>, flow: usize, open: &mut Open) {
        if std::mem::take(&mut open.policies[flow]) {
            let policies = self.flows[flow].part.built.policies.iter().cloned();
            world
                .sender_mut(flow_id(flow as u32))
                .set_policies(policies);
        }
    }

    fn settle_link<O: Observer>(
        &self,
        world: &mut World<O>,
        link: usize,
        open: &mut Open,
    ) -> Result<(), StudyError> {
        if std::mem::take(&mut open.links[link]) {
            let LinkConfig {
                rate, delay, limit, ..
            } = self.network.links[link];
            world.retune(link_id(link as u16), rate, delay, limit)?;
        }
        Ok(())
    }
}

impl Open {
    /// Nothing is open.
    pub(super) fn nothing(setup: &Setup) -> Self {
        Self {
            flows: SmallVec::from_elem(false, setup.flows.len()),
            policies: SmallVec::from_elem(false, setup.flows.len()),
            links: setup.network.none(),
            watch: false,
        }
    }
}

/// The world of setups with a shared prefix before any event, and what is open in it.
pub(crate) fn common_beginning<'a, O: Observer>(
    first: &Setup,
    all: impl Iterator<Item = &'a Setup>,
    observer: O,
) -> Result<(World<O>, Open), StudyError> {
    let mut open = first.open();
    // State that one sender keeps for a policy is kept by all.
    let mut parts = all.flat_map(|setup| setup.flows.iter());
    open.watch = parts.any(|flow| flow.part.heeds_unneeded());
    Ok((first.empty(&open, observer)?, open))
}
