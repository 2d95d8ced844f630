//! One run as a value: the network, its flows, and everything that happens to them from outside.
//!
//! Every question compiles to setups. Runs, traces, captures, comparisons and explanations take a setup
//! and know nothing of the question it came from.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::sync::{Arc, OnceLock};

use midflight_control::policy::Policy;
use midflight_control::Listens;
use midflight_sim::{
    Action, Clock, Digest, FlowConfig, FlowId, Hook, LinkConfig, LinkId, NodeId, Observer, World,
    WorldConfig,
};
use midflight_units::{Instant, Seq};
use midflight_wire::payload_bytes;
use smallvec::SmallVec;

use crate::error::{nearest, StudyError};
use crate::measure::Measured;
use crate::quic::QuicSetup;
use crate::scenario::Stack;
use crate::scheme::Built;
use crate::watch::Place;
use crate::MODEL_VERSION;

/// The number of a link as the simulator has it.
pub(crate) fn link_id(number: u16) -> LinkId {
    World::<()>::link_id(number)
}

/// The number of a flow as the simulator has it.
pub(crate) fn flow_id(number: u32) -> FlowId {
    World::<()>::flow_id(number)
}

/// One for each link or flow, and numbers of links: few, and copied with what has them.
type Flags = SmallVec<[bool; 16]>;
pub(crate) type Touched = SmallVec<[usize; 4]>;

/// Flows that are looked at to tell beginnings apart before they are compared.
const MOST_TRAITS: usize = 8;

/// Nodes, links and routes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Network {
    pub(crate) nodes: usize,
    pub(crate) links: Vec<LinkConfig>,
    /// At a node, for a destination, the link.
    pub(crate) routes: Vec<(NodeId, NodeId, LinkId)>,
    /// Routes that the timeline may set.
    pub(crate) alternatives: Vec<(NodeId, NodeId, LinkId)>,
    /// Nodes that do more than forward.
    pub(crate) hooks: Vec<(NodeId, Hook)>,
    /// Where there are captures, beside sender and receiver.
    pub(crate) places: Vec<Place>,
}

impl Network {
    /// Which links packets of these flows use as long as no route changes.
    fn used(&self, flows: &[FlowSetup]) -> Flags {
        let ways = flows.iter().flat_map(|f| [(f.from, f.to), (f.to, f.from)]);
        let ways: BTreeSet<(NodeId, NodeId)> = ways.collect();
        let mut used = self.none();
        for (from, to) in ways {
            let between = self.between(&[&self.routes], from, to);
            for (used, is_between) in used.iter_mut().zip(between) {
                *used |= is_between;
            }
        }
        used
    }

    /// A flag for each link.
    fn none(&self) -> Flags {
        SmallVec::from_elem(false, self.links.len())
    }

    /// The links on all ways from a node to another.
    fn between(&self, routes: &[&[(NodeId, NodeId, LinkId)]], from: NodeId, to: NodeId) -> Flags {
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

    /// A link and those that packets for a node may go on to.
    fn beyond(&self, link: LinkId, to: NodeId) -> Flags {
        let next = self.links[link.index()].to;
        let mut found = self.between(&[&self.routes, &self.alternatives], next, to);
        found[link.index()] = true;
        found
    }
}

/// Feeds a text to a hash.
struct Hashing(blake3::Hasher);

impl Write for Hashing {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.0.update(s.as_bytes());
        Ok(())
    }
}

/// A sender and a receiver.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) built: Built,
    /// What its policies print, for which they are compared; none for policies whose state nothing here
    /// can compare.
    policies: OnceLock<Option<String>>,
}

// What is found out later is no part of what an address is made of.
impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.built.fmt(f)
    }
}

impl Part {
    pub(crate) fn new(built: Built) -> Self {
        Self {
            built,
            policies: OnceLock::new(),
        }
    }

    /// Its controller draws random numbers.
    pub(crate) fn draws(&self) -> bool {
        self.built.profile.parts.congestion.draws()
    }

    /// The same with a controller that draws from this seed.
    pub(crate) fn seeded(&self, seed: u64) -> Self {
        let mut part = self.clone();
        part.built.profile.parts.congestion.seed(seed);
        part
    }

    fn policies(&self) -> Option<&String> {
        let foreign = |policy: &Policy| matches!(policy, Policy::Foreign(_));
        let text = || {
            let policies = &self.built.policies;
            (!policies.iter().any(foreign)).then(|| format!("{policies:?}"))
        };
        self.policies.get_or_init(text).as_ref()
    }

    /// Never for policies that cannot be compared, not even with themselves: each run has its own.
    fn has_policies_of(&self, other: &Self) -> bool {
        let policies = self.policies();
        policies.is_some() && (std::ptr::eq(self, other) || policies == other.policies())
    }

    fn has_profile_of(&self, other: &Self) -> bool {
        let (a, b) = (&self.built.profile, &other.built.profile);
        let is_same = || (&a.sender, &a.parts, &a.receiver) == (&b.sender, &b.parts, &b.receiver);
        std::ptr::eq(self, other) || is_same()
    }

    fn heeds_unneeded(&self) -> bool {
        self.built
            .policies
            .iter()
            .any(|policy| policy.listens().to(Listens::UNNEEDED))
    }
}

/// A flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowSetup {
    pub(crate) name: Cow<'static, str>,
    pub(crate) scheme: Arc<str>,
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) part: Arc<Part>,
    /// One past its last segment; none if it has no end.
    pub(crate) end: Option<Seq>,
    pub(crate) opens: Instant,
    /// Number of the link or station of a node that stays; none for one that moves, or whose link changes.
    pub(crate) stays: Option<u16>,
    /// Its data go up.
    pub(crate) up: bool,
    /// Whose TCP it has, or whose QUIC.
    pub(crate) stack: Stack,
    /// What it is made of, if it runs a QUIC stack.
    pub(crate) quic: Option<Arc<QuicSetup>>,
}

/// What a reader of results needs to know of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowInfo<'a> {
    /// Its name; several alike are numbered.
    pub name: &'a str,
    /// Its scheme.
    pub scheme: &'a str,
    /// Its data go up.
    pub up: bool,
    /// It is the mobile node's.
    pub moves: bool,
    /// Bytes of data in a full segment.
    pub payload_bytes: u32,
    /// Whose TCP or QUIC it has.
    pub stack: Stack,
}

impl FlowSetup {
    /// What the simulator makes it of, without its policies where they are left open.
    fn config(&self, open: bool) -> FlowConfig<'_> {
        let Built { profile, policies } = &self.part.built;
        FlowConfig {
            from: self.from,
            to: self.to,
            sender: &profile.sender,
            parts: &profile.parts,
            receiver: &profile.receiver,
            policies: if open { Vec::new() } else { policies.clone() },
        }
    }

    /// What a reader of results needs to know of it.
    pub(crate) fn told(&self) -> FlowInfo<'_> {
        FlowInfo {
            name: &self.name,
            scheme: &self.scheme,
            up: self.up,
            moves: self.stays.is_none(),
            stack: self.stack,
            payload_bytes: match &self.quic {
                Some(quic) => quic.flow.data().segment_bytes,
                None => payload_bytes(&self.part.built.profile).unwrap_or(0),
            },
        }
    }
}

/// What a part of the timeline begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PhaseStart {
    /// The run.
    #[default]
    Start,
    /// A handoff.
    Handoff,
    /// A change of the mobile node's link.
    Change,
    /// An interval that is measured apart.
    Interval,
}

impl PhaseStart {
    /// Its name in columns.
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Handoff => "handoff",
            Self::Change => "change",
            Self::Interval => "interval",
        }
    }
}

/// An instant from which on something is measured anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) kind: PhaseStart,
    /// When the new link is in use.
    pub(crate) make: Instant,
    /// Number of the link or station that the mobile node comes to.
    pub(crate) place: u16,
}

/// What happens at an instant of the timeline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    Act(Action),
    Mark(Mark),
}

/// An entry of the timeline.
pub(crate) type Entry = (Instant, Step);

/// Collects a timeline.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeline(Vec<Entry>);

impl Timeline {
    /// One with room for so many entries.
    pub(crate) fn of(entries: usize) -> Self {
        Self(Vec::with_capacity(entries))
    }

    /// An action, which comes behind those of the same instant that were added before.
    pub(crate) fn act(&mut self, at: Instant, action: Action) {
        self.0.push((at, Step::Act(action)));
    }

    /// A mark, which comes ahead of every action of its instant.
    pub(crate) fn mark(&mut self, at: Instant, mark: Mark) {
        self.0.push((at, Step::Mark(mark)));
    }

    /// The entries in the order of time.
    pub(crate) fn finish(mut self) -> Arc<[Entry]> {
        let rank = |entry: &Entry| (entry.0, matches!(entry.1, Step::Act(_)));
        self.0.sort_by_key(rank);
        self.0.into()
    }
}

/// A handoff or a change of the mobile node's link, as it was planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathChange {
    /// A link changes; otherwise the mobile node changes its link.
    pub is_change: bool,
    /// The links before and after.
    pub links: (Cow<'static, str>, Cow<'static, str>),
    /// When it begins.
    pub at: Instant,
    /// When the new link is in use, or the changed one again.
    pub make: Instant,
    /// There is a time in between without a link.
    pub breaks: bool,
    /// When the notice reaches the senders that get one.
    pub told: Option<Instant>,
    /// The notice says another rate or delay than the new link has.
    pub told_wrong: bool,
}

/// A run: what there is, what happens to it from outside, what is measured of it and when it ends.
#[derive(Clone, Debug)]
pub struct Setup {
    pub(crate) network: Arc<Network>,
    pub(crate) flows: Arc<[FlowSetup]>,
    /// Ascending.
    pub(crate) timeline: Arc<[Entry]>,
    pub(crate) measured: Arc<Measured>,
    /// The run ends here at the latest.
    pub(crate) end: Instant,
    /// Name of the profile.
    pub(crate) profile: Arc<str>,
    /// Number of the link or station where the mobile node begins.
    pub(crate) start: u16,
    /// Number of the run, where there are several.
    pub(crate) run: Option<u64>,
    /// The handoffs, and the changes of the link that the mobile node is on, as they begin.
    pub(crate) path_changes: Arc<[PathChange]>,
}

/// What happens next to a setup, with what that makes use of.
pub(crate) struct Turn<'a> {
    setup: &'a Setup,
    entry: Option<&'a Entry>,
    /// The open links that it does something to, or leads to.
    pub(crate) touched: Touched,
}

impl Turn<'_> {
    /// Whether the same happens as entry `number` to a setup that was the same up to there, with
    /// everything that it makes use of.
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

/// What a copy of a common past may still be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Open {
    /// Flows whose sender and receiver are not fixed, those whose policies are not, and links whose
    /// parameters are not.
    flows: Flags,
    policies: Flags,
    links: Flags,
    /// Senders watch retransmissions for the policies that some of them will have.
    watch: bool,
}

impl Setup {
    /// The flow of a name, the first one if none is given.
    ///
    /// # Errors
    /// [`StudyError::UnknownFlow`].
    pub(crate) fn flow_of_name(&self, name: Option<&str>) -> Result<usize, StudyError> {
        let Some(name) = name else { return Ok(0) };
        let known = || self.flows.iter().map(|f| f.name.as_ref());
        let place = known().position(|k| k == name);
        place.ok_or_else(|| StudyError::UnknownFlow {
            name: name.into(),
            near: nearest(name, known()),
            known: known().collect::<Vec<_>>().join(", "),
        })
    }

    /// The names of its flows, in the order of their numbers.
    pub fn flow_names(&self) -> impl Iterator<Item = &str> {
        self.flows.iter().map(|flow| flow.name.as_ref())
    }

    /// Its flows, in the order of their numbers.
    pub fn flows_told(&self) -> impl Iterator<Item = FlowInfo<'_>> {
        self.flows.iter().map(FlowSetup::told)
    }

    /// The handoffs, and the changes of the link that the mobile node is on, as they begin.
    pub fn path_changes(&self) -> &[PathChange] {
        &self.path_changes
    }

    /// Its number, where there are several.
    pub fn run(&self) -> Option<u64> {
        self.run
    }

    /// Whether it goes on to its end, whatever is measured before.
    pub fn has_end(&self) -> bool {
        matches!(*self.measured, Measured::Phases { .. })
    }

    /// Names of the places where there are captures, beside sender and receiver.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        self.network.places.iter().map(|place| place.name.as_ref())
    }

    /// Whether a flow runs a stack that cannot be copied in the middle of a run.
    pub(crate) fn has_stacks(&self) -> bool {
        self.flows.iter().any(|flow| flow.quic.is_some())
    }

    /// The access links: name, and the numbers of its links down and up.
    pub fn access_links(&self) -> impl Iterator<Item = (&str, usize, usize)> {
        self.network.places.iter().map(|place| {
            let [down, up] = place.access;
            (place.name.as_ref(), down.index(), up.index())
        })
    }

    /// When the run ends at the latest.
    pub fn end(&self) -> Instant {
        self.end
    }

    /// The same with an earlier end.
    #[must_use]
    pub fn until(&self, end: Instant) -> Self {
        Self {
            end: end.min(self.end),
            ..self.clone()
        }
    }

    /// How often the mobile node finds itself on a link anew, or on one that has changed.
    pub(crate) fn makes(&self) -> usize {
        let is_make = |entry: &&Entry| matches!(entry.1, Step::Act(Action::MarkMake));
        self.timeline.iter().filter(is_make).count()
    }

    /// A hash of all of it and of the model's version, in hexadecimal digits: setups with equal addresses
    /// have equal runs.
    pub fn address(&self) -> String {
        let mut hashing = Hashing(blake3::Hasher::new());
        let _ = write!(hashing, "midflight {MODEL_VERSION} {self:?}");
        hashing.0.finalize().to_hex().to_string()
    }

    /// What the time between nanoseconds is.
    fn clock(&self) -> Clock {
        let counts = |flow: &FlowSetup| flow.part.built.profile.counts_picoseconds;
        if self.flows.iter().any(counts) {
            Clock::Picoseconds
        } else {
            Clock::Seconds
        }
    }

    /// The world before anything has happened, of which everything is known but what `open` leaves open.
    fn empty<O: Observer>(&self, open: &Open, observer: O) -> Result<World<O>, StudyError> {
        if let Some(flow) = self.flows.iter().find(|f| f.stack == Stack::Linux) {
            let flow = flow.name.to_string();
            return Err(StudyError::KernelStack { flow });
        }
        let stacks = self.flows.iter().filter_map(FlowSetup::stack_config);
        let stacks = stacks.collect::<Result<_, _>>()?;
        let ours = || self.flows.iter().filter(|flow| flow.quic.is_none());
        let each = ours().zip(&open.policies);
        let mut world = World::new(
            WorldConfig {
                clock: self.clock(),
                nodes: self.network.nodes,
                links: &self.network.links,
                routes: &self.network.routes,
                alternatives: &self.network.alternatives,
                flows: each.map(|(flow, &open)| flow.config(open)).collect(),
                stacks,
                hooks: self.network.hooks.clone(),
            },
            observer,
        )?;
        for (flow, number) in ours().zip(0..) {
            let sender = world.sender_mut(flow_id(number));
            if let Some(end) = flow.end {
                sender.set_end(end);
            }
            if open.watch && open.policies[number as usize] {
                sender.watch_retransmissions();
            }
        }
        Ok(world)
    }

    /// The world before anything has happened, its whole timeline planned.
    ///
    /// # Errors
    /// [`StudyError::World`].
    pub fn world<O: Observer>(&self, observer: O) -> Result<World<O>, StudyError> {
        let mut world = self.world_by_events(observer)?;
        world.hold_routes_until(Instant::NEVER);
        Ok(world)
    }

    /// The same without the promise that no other route will be set: every packet has an event at each
    /// node with a choice. What happens is the same.
    ///
    /// # Errors
    /// As [`Self::world`].
    pub fn world_by_events<O: Observer>(&self, observer: O) -> Result<World<O>, StudyError> {
        let mut world = self.empty(&Open::nothing(self), observer)?;
        self.schedule(&mut world, 0)?;
        Ok(world)
    }

    /// Plans the actions of the timeline from an entry on. No route is set later but by them.
    pub(crate) fn plan<O: Observer>(
        &self,
        world: &mut World<O>,
        from: usize,
    ) -> Result<(), StudyError> {
        self.schedule(world, from)?;
        world.hold_routes_until(Instant::NEVER);
        Ok(())
    }

    fn schedule<O: Observer>(&self, world: &mut World<O>, from: usize) -> Result<(), StudyError> {
        for (at, step) in &self.timeline[from..] {
            if let Step::Act(action) = step {
                world.schedule(*at, *action)?;
            }
        }
        Ok(())
    }

    /// Whether a policy of the flow may act before the first notice of a handoff. The others only watch
    /// until then.
    fn acts_early(&self, flow: usize) -> bool {
        let id = flow_id(flow as u32);
        let mut policies = self.flows[flow].part.built.policies.iter();
        let told =
            |entry: &Entry| matches!(entry.1, Step::Act(Action::NotifyStart(f, _)) if f == id);
        let at_start = || self.timeline.iter().any(told);
        policies.any(|p| {
            let heard = p.listens();
            heard.to(Listens::MARKS | Listens::CONTROL) || (heard.to(Listens::START) && at_start())
        })
    }

    /// What may be left open while setups like this one have a common past.
    pub(crate) fn open(&self) -> Open {
        let used = self.network.used(&self.flows);
        let idle = |(link, used): (&LinkConfig, &bool)| {
            let has_more = link.cross.is_some() || link.may_pause || link.schedule.is_some();
            !used && link.settings.is_empty() && !has_more
        };
        Open {
            flows: self.flows.iter().map(|f| f.opens > Instant::ZERO).collect(),
            policies: (0..self.flows.len()).map(|f| !self.acts_early(f)).collect(),
            links: self.network.links.iter().zip(&used).map(idle).collect(),
            watch: false,
        }
    }

    /// Whether another setup is made of the very same parts, but for its timeline.
    pub(crate) fn has_parts_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.network, &other.network)
            && Arc::ptr_eq(&self.flows, &other.flows)
            && Arc::ptr_eq(&self.measured, &other.measured)
            && self.run == other.run
    }

    /// A number that is the same for setups that begin alike.
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

    /// Whether two setups begin alike: everything is the same that is not open in the first.
    pub(crate) fn begins_as(&self, open: &Open, other: &Self, others: &Open) -> bool {
        // Where the run ends with what comes after the last make, that has to be known.
        let ends_run = matches!(*self.measured, Measured::Phases { ends_run: true, .. });
        let is_of_run = self.run == other.run
            && self.measured == other.measured
            && (!ends_run || self.makes() == other.makes());
        is_of_run
            && open == others
            && self.clock() == other.clock()
            && self.flows.len() == other.flows.len()
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
        let of = |f: &FlowSetup| (f.from, f.to, f.end, f.opens, f.stays);
        let has_part = || {
            open.flows[flow]
                || a.part.has_profile_of(&b.part)
                    && (open.policies[flow] || a.part.has_policies_of(&b.part))
        };
        of(a) == of(b) && has_part()
    }

    /// Entry `number` of the timeline, unless the run is over before.
    pub(crate) fn entry(&self, number: usize) -> Option<&Entry> {
        self.timeline.get(number).filter(|(at, _)| *at < self.end)
    }

    /// When that comes, or the end of the run.
    pub(crate) fn due(&self, number: usize) -> Instant {
        self.entry(number).map_or(self.end, |entry| entry.0)
    }

    /// Entry `number`, with the open links that it does something to.
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

    /// The open links that an action does something to, or leads to.
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
            | Action::Resume { link, .. }
            | Action::Change { link, .. } => {
                Some(link.index()).filter(is_open).into_iter().collect()
            }
            _ => Touched::new(),
        }
    }

    /// Gives a world what an entry makes use of, which does something to these open links.
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

    /// Gives a world everything that is still open.
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
    /// Everything is known.
    fn nothing(setup: &Setup) -> Self {
        Self {
            flows: SmallVec::from_elem(false, setup.flows.len()),
            policies: SmallVec::from_elem(false, setup.flows.len()),
            links: setup.network.none(),
            watch: false,
        }
    }
}

/// The world of setups with a common past before anything has happened, and what is open in it.
pub(crate) fn common_beginning<'a, O: Observer>(
    first: &Setup,
    all: impl Iterator<Item = &'a Setup>,
    observer: O,
) -> Result<(World<O>, Open), StudyError> {
    let mut open = first.open();
    // What a sender keeps for a policy that heeds it, it keeps for all.
    let mut parts = all.flat_map(|setup| setup.flows.iter());
    open.watch = parts.any(|flow| flow.part.heeds_unneeded());
    Ok((first.empty(&open, observer)?, open))
}
