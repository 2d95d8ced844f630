//! One run as a value: the network, its flows, and all external events.
//!
//! Every question compiles to setups. Runs, traces, captures, comparisons and explanations take a setup
//! and do not depend on its question.

mod app;
mod flow;
mod network;
mod past;

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::sync::Arc;

use midflight_control::signal::AckRoute;
use midflight_control::Notice;
use midflight_sim::{
    Action, Clock, FlowId, LinkId, Observer, Opportunities, Outage, Service, World, WorldConfig,
};
use midflight_units::{Duration, Instant};
use smallvec::SmallVec;

pub(crate) use self::app::{AppSetup, ConnectionSetup};
pub use self::flow::FlowInfo;
pub(crate) use self::flow::{FlowSetup, Part};
pub(crate) use self::network::Network;
pub(crate) use self::past::{common_beginning, Open, Turn};
use crate::error::{nearest, StudyError};
use crate::measure::Measured;
use crate::scenario::Stack;
use crate::watch::Place;
use crate::MODEL_VERSION;

/// A time without an opportunity to send counts as an outage if it lasts as long as Linux's minimum RTO, in seconds,
/// and so many times the mean distance of two opportunities, because on a slow link every distance is long.
const PAUSE_S: f64 = 0.2;
const PAUSE_DISTANCES: f64 = 10.0;

/// The simulator's number of a link.
pub(crate) fn link_id(number: u16) -> LinkId {
    World::<()>::link_id(number)
}

/// The simulator's number of a flow.
pub(crate) fn flow_id(number: u32) -> FlowId {
    World::<()>::flow_id(number)
}

/// One flag per link or flow, and numbers of links: few, and copied with their owner.
type Flags = SmallVec<[bool; 16]>;
pub(crate) type Touched = SmallVec<[usize; 4]>;

/// Feeds a text to a hash.
struct Hashing(blake3::Hasher);

impl Write for Hashing {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.0.update(s.as_bytes());
        Ok(())
    }
}

/// The event that begins a part of the timeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PhaseStart {
    /// The run.
    #[default]
    Start,
    /// A handoff.
    Handoff,
    /// A change of the mobile node's link.
    Change,
    /// A separately measured interval.
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

/// An instant at which a new measurement begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) kind: PhaseStart,
    /// When the new link is in use.
    pub(crate) make: Instant,
    /// Number of the link or station to which the mobile node moves.
    pub(crate) place: u16,
}

/// The event at an instant of the timeline.
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
    /// A timeline with room for this many entries.
    pub(crate) fn of(entries: usize) -> Self {
        Self(Vec::with_capacity(entries))
    }

    /// Adds an action, after earlier ones of the same instant.
    pub(crate) fn act(&mut self, at: Instant, action: Action) {
        self.0.push((at, Step::Act(action)));
    }

    /// Adds a mark, which comes before every action of its instant.
    pub(crate) fn mark(&mut self, at: Instant, mark: Mark) {
        self.0.push((at, Step::Mark(mark)));
    }

    /// The entries in time order.
    pub(crate) fn finish(mut self) -> Arc<[Entry]> {
        let rank = |entry: &Entry| (entry.0, matches!(entry.1, Step::Act(_)));
        self.0.sort_by_key(rank);
        self.0.into()
    }
}

/// What a receiver's signal requires of the timeline of a handoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SignalTimes {
    /// How long before the handoff it needs a warning.
    pub(crate) warning: Option<Duration>,
    /// The route of ACKs around a handoff without a gap.
    route: AckRoute,
}

impl SignalTimes {
    /// The times for a flow, at a handoff between the links of the notice `soft` if it has no gap.
    pub(crate) fn of(part: &Part, soft: Option<&Notice>) -> Self {
        let signal = &part.built.profile.receiver.signal;
        Self {
            warning: signal.warning(),
            route: soft.map_or(AckRoute::default(), |notice| signal.ack_route(notice)),
        }
    }

    /// Whether ACKs take the new link at another time than the data.
    pub(crate) fn moves_acks(&self) -> bool {
        self.route != AckRoute::default()
    }

    /// When ACKs take the new link, if data does at `make`.
    pub(crate) fn acks_move(&self, make: Instant) -> Instant {
        let AckRoute { early, late } = self.route;
        make.saturating_sub(early) + late
    }
}

/// A planned handoff or change of the mobile node's link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathChange {
    /// A link changes; otherwise the mobile node moves to another link.
    pub is_change: bool,
    /// The links before and after.
    pub links: (Cow<'static, str>, Cow<'static, str>),
    /// When it begins.
    pub at: Instant,
    /// When the new link is in use, or the changed link is in use again.
    pub make: Instant,
    /// There is a time in between without a link.
    pub breaks: bool,
    /// When the notice reaches the senders that get one.
    pub notified: Option<Instant>,
    /// The notice has another rate or delay than the new link.
    pub misstated: bool,
}

/// A time in which the recording of the link in use lets nothing pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkOutage<'a> {
    /// When it begins, or the link comes into use.
    pub from: Instant,
    /// When it ends, or the link is left.
    pub until: Instant,
    /// The link.
    pub link: &'a str,
    /// Whether packets are lost in it; otherwise they wait.
    pub loses: bool,
}

/// A run: the network and flows, the external events, the measure and the end.
#[derive(Clone, Debug)]
pub struct Setup {
    pub(crate) network: Arc<Network>,
    pub(crate) flows: Arc<[FlowSetup]>,
    /// Applications whose data the flows carry.
    pub(crate) apps: Arc<[AppSetup]>,
    /// Ascending.
    pub(crate) timeline: Arc<[Entry]>,
    pub(crate) measured: Arc<Measured>,
    /// The latest end of the run.
    pub(crate) end: Instant,
    /// Name of the profile.
    pub(crate) profile: Arc<str>,
    /// Number of the link or station where the mobile node starts.
    pub(crate) start: u16,
    /// Number of the run, if there are several.
    pub(crate) run: Option<u64>,
    /// The planned handoffs, and changes of the link that the mobile node is on, in the order of their
    /// start.
    pub(crate) path_changes: Arc<[PathChange]>,
}

impl Setup {
    /// The flow with a name; the first one if no name is given.
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
    pub fn flow_infos(&self) -> impl Iterator<Item = FlowInfo<'_>> {
        self.flows.iter().map(FlowSetup::info)
    }

    /// The planned handoffs, and changes of the link that the mobile node is on, in the order of their
    /// start.
    pub fn path_changes(&self) -> &[PathChange] {
        &self.path_changes
    }

    /// The times at which the recording that the link in use follows has a downward rate of zero, or opportunities
    /// and none for at least Linux's minimum RTO and ten times their mean distance.
    pub fn outages(&self) -> Vec<LinkOutage<'_>> {
        let mut found = Vec::new();
        for place in &self.network.places {
            let schedule = self.network.links[place.access[0].index()]
                .schedule
                .as_ref();
            let until = self.end.as_nanos() as f64 / 1e9;
            let outages = match schedule.map(|of| of.schedule.service()) {
                Some(Service::Rate(rate)) => rate.outages(until),
                Some(Service::Opportunities(each)) => {
                    let least = (PAUSE_DISTANCES * each.mean_distance()).max(PAUSE_S);
                    each.pauses(until, least)
                }
                _ => continue,
            };
            let at = |seconds: f64| Instant::from_nanos((seconds * 1e9).round() as u64);
            for (begins, ends) in self.in_use(place) {
                let within = outages.iter().map(|one| LinkOutage {
                    from: at(one.0).max(begins),
                    until: at(one.1).min(ends),
                    link: &place.name,
                    loses: schedule.is_some_and(|of| of.schedule.outage() == Outage::Drop),
                });
                found.extend(within.filter(|one| one.from < one.until));
            }
        }
        found.sort_unstable_by_key(|one| (one.from, one.until));
        found
    }

    /// The rates of links that follow a recording in steps: the number of the link, and the instants from which it has
    /// which rate in bit/s, up to the end of the run; of delivery opportunities they are means of at most 20,000 equal
    /// times. Links between whose points the rate is on a line have none.
    pub fn recorded_rates(&self) -> Vec<(usize, Vec<(Instant, f64)>)> {
        let until = self.end.as_nanos() as f64 / 1e9;
        let numbers = self.network.places.iter().flat_map(|place| place.access);
        let steps = numbers.filter_map(|link| {
            let schedule = self.network.links[link.index()].schedule.as_ref()?;
            let at = |seconds: f64| Instant::from_nanos((seconds * 1e9).round() as u64);
            match schedule.schedule.service() {
                Service::Rate(rate) => {
                    let points = rate.points(until).map(|(from, bps)| (at(from), bps));
                    (!rate.is_linear()).then(|| (link.index(), points.collect()))
                }
                Service::Opportunities(each) => {
                    Some((link.index(), opportunity_rates(each, until)))
                }
                Service::Own => None,
            }
        });
        steps.collect()
    }

    /// From when to when the mobile node uses a link.
    fn in_use(&self, link: &Place) -> Vec<(Instant, Instant)> {
        let first = self.network.places.get(usize::from(self.start));
        let is_first = first.is_some_and(|first| first.name == link.name);
        let mut since = is_first.then_some(Instant::ZERO);
        let mut found = Vec::new();
        for one in self.path_changes.iter().filter(|one| !one.is_change) {
            let leaves = if one.breaks { one.at } else { one.make };
            found.extend(since.take().map(|since| (since, leaves)));
            since = (one.links.1 == link.name).then_some(one.make);
        }
        found.extend(since.map(|since| (since, self.end)));
        found
    }

    /// Its number, if there are several runs.
    pub fn run(&self) -> Option<u64> {
        self.run
    }

    /// Whether it runs to its end, even if everything is measured earlier.
    pub fn has_end(&self) -> bool {
        matches!(*self.measured, Measured::Phases { .. })
    }

    /// Names of the capture points, besides sender and receiver.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        self.network.places.iter().map(|place| place.name.as_ref())
    }

    /// Whether a flow runs a stack that cannot be copied during a run.
    pub(crate) fn has_stacks(&self) -> bool {
        self.flows.iter().any(|flow| flow.quic.is_some())
    }

    /// The access links: name, and the numbers of the links down and up.
    pub fn access_links(&self) -> impl Iterator<Item = (&str, usize, usize)> {
        self.network.places.iter().map(|place| {
            let [down, up] = place.access;
            (place.name.as_ref(), down.index(), up.index())
        })
    }

    /// The latest end of the run.
    pub fn end(&self) -> Instant {
        self.end
    }

    /// The same setup with an earlier end.
    #[must_use]
    pub fn until(&self, end: Instant) -> Self {
        Self {
            end: end.min(self.end),
            ..self.clone()
        }
    }

    /// How many times the mobile node gets a new link, or its link changes.
    pub(crate) fn makes(&self) -> usize {
        let is_make = |entry: &&Entry| matches!(entry.1, Step::Act(Action::MarkMake));
        self.timeline.iter().filter(is_make).count()
    }

    /// A hash of the setup and of the model's version, in hexadecimal digits: setups with equal addresses
    /// have equal runs.
    pub fn address(&self) -> String {
        let mut hashing = Hashing(blake3::Hasher::new());
        let _ = write!(hashing, "midflight {MODEL_VERSION} {self:?}");
        hashing.0.finalize().to_hex().to_string()
    }

    /// The representation of time between nanoseconds.
    fn clock(&self) -> Clock {
        let counts = |flow: &FlowSetup| flow.part.built.profile.counts_picoseconds;
        if self.flows.iter().any(counts) {
            Clock::Picoseconds
        } else {
            Clock::Seconds
        }
    }

    /// The world before any event, without the parts that `open` leaves open.
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
                apps: self.apps.iter().map(AppSetup::config).collect(),
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

    /// The world before any event, with its whole timeline scheduled.
    ///
    /// # Errors
    /// [`StudyError::World`].
    pub fn world<O: Observer>(&self, observer: O) -> Result<World<O>, StudyError> {
        let mut world = self.world_by_events(observer)?;
        world.hold_routes_until(Instant::NEVER);
        Ok(world)
    }

    /// The same without the promise that no other route will be set: every packet has an event at each
    /// node with a choice. The results are the same.
    ///
    /// # Errors
    /// As [`Self::world`].
    pub fn world_by_events<O: Observer>(&self, observer: O) -> Result<World<O>, StudyError> {
        let mut world = self.empty(&Open::nothing(self), observer)?;
        self.schedule(&mut world, 0)?;
        Ok(world)
    }

    /// Schedules the actions of the timeline from an entry on. No other route is set later.
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
}

/// The most steps of the rate of delivery opportunities.
const MOST_MEANS: f64 = 20_000.0;

/// The mean rates, up to a time in seconds, of equal times of 1, 2, 5, 10, ... ms, from the instants at which they change.
fn opportunity_rates(of: &Opportunities, until: f64) -> Vec<(Instant, f64)> {
    let fits = |step_ms: &f64| until * 1e3 / step_ms <= MOST_MEANS;
    let mut steps = (0..9).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)));
    let step_ms = steps.find(fits).unwrap_or(1e9);
    let mut counts = vec![0_u32; (until * 1e3 / step_ms).ceil() as usize];
    for at in of.times(until) {
        // An instant of whole milliseconds begins the time after it.
        if let Some(count) = counts.get_mut(((at * 1e3 + 1e-6) / step_ms) as usize) {
            *count += 1;
        }
    }
    let bits = 8e3 * f64::from(of.bytes()) / step_ms;
    let mut found: Vec<(Instant, f64)> = Vec::new();
    for (place, count) in counts.into_iter().enumerate() {
        let bps = bits * f64::from(count);
        if found.last().is_none_or(|last| last.1 != bps) {
            let nanos = place as u64 * (step_ms * 1e6) as u64;
            found.push((Instant::from_nanos(nanos), bps));
        }
    }
    found
}
