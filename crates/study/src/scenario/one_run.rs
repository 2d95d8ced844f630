//! One run of a scenario, told in full.

use std::collections::VecDeque;

use midflight_control::SenderView;
use midflight_sim::{Digest, Event, FlowId, LinkId, Observer, World};
use midflight_tcp::State;
use midflight_units::{Duration, Instant};

use super::many::run_one;
use super::plan::Plan;
use super::run::Ends;
use crate::capture::{Capture, Capturing};
use crate::causes::{Causes, Keep, Kept};
use crate::error::StudyError;
use crate::trace::{play, play_on, GoOn, Goal, Recorder, TraceRow, Watching};

/// Who watches until every flow with an end is there.
struct UntilDone<W> {
    watching: W,
    ends: Ends,
}

impl<W: Watching> Observer for UntilDone<W> {
    const DETAILED: bool = W::DETAILED;

    fn taps(&self, link: LinkId) -> bool {
        self.watching.taps(link)
    }

    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        self.watching.record(now, flow, event);
        self.ends.note(now, flow, event);
    }
}

impl<W: Watching> Watching for UntilDone<W> {
    fn is_done(&self) -> bool {
        self.ends.is_done()
    }

    fn check_length(&self, end: Instant) -> Result<(), StudyError> {
        self.watching.check_length(end)
    }
}

impl Plan {
    /// The world of a run before anything has happened, its whole timeline planned.
    fn begun<O: Observer>(&self, run: u64, observer: O) -> Result<World<O>, StudyError> {
        self.check_run(run)?;
        let mut world = self.world(run, observer)?;
        self.timeline(&mut world, run)?;
        Ok(world)
    }

    /// The same with somebody who watches until every flow with an end is there.
    fn watched<W: Watching>(&self, run: u64, watching: W) -> Result<Watched<W>, StudyError> {
        let ends = Ends::new(self);
        self.begun(run, (Digest::default(), UntilDone { watching, ends }))
    }

    /// Plays a run; who has watched, and the digest.
    fn played<W: Watching>(
        &self,
        run: u64,
        watching: W,
        go_on: GoOn<'_>,
    ) -> Result<(W, String), StudyError> {
        let world = self.watched(run, watching)?;
        let (until_done, digest) = play(world, self.end(), go_on)?;
        Ok((until_done.watching, digest))
    }

    fn flow_of_name(&self, name: Option<&str>) -> Result<usize, StudyError> {
        let Some(name) = name else { return Ok(0) };
        let known = || self.flows.iter().map(|f| f.name.as_str());
        let place = known().position(|k| k == name);
        place.ok_or_else(|| StudyError::UnknownFlow {
            name: name.into(),
            near: crate::error::nearest(name, known()),
            known: known().collect::<Vec<_>>().join(", "),
        })
    }

    fn causes(&self, flow: usize, keep: Keep) -> Causes {
        let profile = &self.built[self.flows[flow].built].profile;
        Causes::new(profile, self.link_names(), flow, keep)
    }
}

type Watched<W> = World<(Digest, UntilDone<W>)>;

/// Every event of a flow in one run from `from` on, the first flow's if none is
/// named, or only those of these names; and the digest of the run. `go_on` may answer that it is
/// enough.
///
/// # Errors
/// [`StudyError::UnknownFlow`]; [`StudyError::NoRun`]; [`StudyError::TooLong`] when there is too
/// much; [`StudyError::Interrupted`] when told to stop.
pub fn trace_scenario(
    plan: &Plan,
    run: u64,
    flow: Option<&str>,
    from: Instant,
    only: &[String],
    go_on: GoOn<'_>,
) -> Result<(Vec<TraceRow>, String), StudyError> {
    let flow = plan.flow_of_name(flow)?;
    let built = &plan.built[plan.flows[flow].built];
    let recorder = Recorder::new(&built.profile, plan.link_names(), from, only).of(flow);
    let (recorder, digest) = plan.played(run, recorder, go_on)?;
    Ok((recorder.into_rows(), digest))
}

/// Copies of a world on the way to an instant: each when the time left is half of that at the last
/// one, down to this. So one is near whatever is asked for, and there are few.
const NEAREST_PAST: Duration = Duration::from_millis(1);

fn half(time: Duration) -> Duration {
    Duration::from_nanos(time.as_nanos() / 2)
}

/// The events of a flow in one run, as far as they were asked for, with what led to each.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The events.
    pub kept: Kept,
    /// The digest of the run, if it was played to its end.
    pub digest: Option<String>,
    /// When the run was over, if it was played to its end.
    pub ended: Option<Instant>,
    flow: usize,
    /// Copies of the world from before the events that are kept, each with an instant that had not
    /// begun then or was under way.
    pasts: Vec<(Instant, World<()>)>,
}

/// The events of a flow in one run with what led to each. `to_end` plays the run to its end, for its
/// digest, also when all events that are to be kept are there. `find` is the name of an event to look
/// for. `go_on` is as for [`trace_scenario`].
///
/// # Errors
/// As [`trace_scenario`].
pub fn explain_scenario(
    plan: &Plan,
    run: u64,
    flow: Option<&str>,
    keep: Keep,
    find: Option<&str>,
    to_end: bool,
    go_on: GoOn<'_>,
) -> Result<Explained, StudyError> {
    let flow = plan.flow_of_name(flow)?;
    let near = match keep {
        Keep::Around { at, .. } => at,
        Keep::All | Keep::Named(_) => Instant::ZERO,
    };
    let mut due = half(near.since(Instant::ZERO));
    let causes = plan.causes(flow, keep).looking_for(find);
    let mut world = plan.watched(run, causes)?;
    let mut pasts = Vec::new();
    let mut left = LOOK_EVERY;
    let is_over = loop {
        let next = world.next_event();
        let until_done = &world.observer().1;
        if next.at() >= plan.end() || until_done.is_done() {
            break true;
        }
        let causes = &until_done.watching;
        if causes.is_full() {
            if to_end {
                play_on(&mut world, plan.end(), go_on)?;
            }
            break to_end;
        }
        if next.at() < near && due >= NEAREST_PAST && near.since(next.at()) <= due {
            due = half(near.since(next.at()));
            pasts.push((next.at(), world.watched_by(())));
        }
        causes.check_length(plan.end())?;
        world.process(next)?;
        left -= 1;
        if left == 0 {
            left = LOOK_EVERY;
            if !go_on() {
                return Err(StudyError::Interrupted);
            }
        }
    };
    let (digest, until_done) = world.into_observer();
    let ended = until_done.ends.over.unwrap_or_else(|| plan.end());
    Ok(Explained {
        ended: is_over.then_some(ended),
        kept: until_done.watching.into_kept(),
        digest: is_over.then(|| digest.to_string()),
        flow,
        pasts,
    })
}

/// Events between two questions whether to go on.
const LOOK_EVERY: usize = 10_000;

impl Explained {
    /// The sender of the flow after everything before `at`, as [`sender_of`] has it; played from
    /// near that instant if it is near the events.
    ///
    /// # Errors
    /// As [`sender_of`].
    pub fn sender(&self, plan: &Plan, run: u64, at: Instant) -> Result<SenderThen, StudyError> {
        let past = self.pasts.iter().rev().find(|(since, _)| *since < at);
        let mut world = match past {
            Some((_, world)) => world.clone(),
            None => plan.begun(run, ())?,
        };
        SenderThen::of(&mut world, plan, self.flow, at)
    }
}

/// A sender at some instant.
#[derive(Clone, Copy, Debug)]
pub struct SenderThen {
    /// As a policy sees it.
    pub view: SenderView,
    /// Its state.
    pub state: State,
    /// The timer's back-off factor.
    pub backoff: u32,
    /// The receiver advertises a zero window.
    pub is_window_closed: bool,
}

impl SenderThen {
    fn of(
        world: &mut World<()>,
        plan: &Plan,
        flow: usize,
        at: Instant,
    ) -> Result<Self, StudyError> {
        world.run_before(at.min(plan.end()))?;
        let sender = world.sender(World::<()>::flow_id(flow as u32));
        Ok(Self {
            view: sender.view(),
            state: sender.state(),
            backoff: sender.backoff(),
            is_window_closed: sender.is_window_closed(),
        })
    }
}

/// The sender of a flow in one run after everything before `at`.
///
/// # Errors
/// [`StudyError::UnknownFlow`]; [`StudyError::NoRun`].
pub fn sender_of(
    plan: &Plan,
    run: u64,
    flow: Option<&str>,
    at: Instant,
) -> Result<SenderThen, StudyError> {
    let flow = plan.flow_of_name(flow)?;
    SenderThen::of(&mut plan.begun(run, ())?, plan, flow, at)
}

/// The longest time of a flow without progress, as its run measures it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stall {
    /// When it began and ended.
    pub from: Instant,
    /// See [`Self::from`].
    pub until: Instant,
    /// The digest of the run.
    pub digest: String,
}

/// The longest time without progress of a flow in one run; none if it sent nothing. `go_on` is as
/// for [`trace_scenario`].
///
/// # Errors
/// As [`trace_scenario`].
pub fn stall_of(
    plan: &Plan,
    run: u64,
    flow: Option<&str>,
    go_on: GoOn<'_>,
) -> Result<Option<Stall>, StudyError> {
    let flow = plan.flow_of_name(flow)?;
    let measured = run_one(plan, run, go_on)?;
    let of = &measured.flows[flow];
    Ok((of.total().sent > 0).then(|| Stall {
        from: of.stalled_at,
        until: of.stalled_at + of.stall,
        digest: measured.digest.to_string(),
    }))
}

/// Events that are compared between runs; of the last three the detail is, too.
const COMPARED: [&str; 16] = [
    "send",
    "rexmit",
    "window_probe",
    "break",
    "make",
    "cwnd",
    "ssthresh",
    "backoff",
    "min_rto",
    "rtt_sample",
    "rto",
    "fast_retransmit",
    "recovery_exit",
    "ack",
    "rcv",
    "drop",
];
const WITH_DETAIL: [&str; 3] = ["ack", "rcv", "drop"];

/// Orders that are told of each side.
const MOST_ORDERS: usize = 8;

/// Two runs side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Their digests.
    pub digests: [String; 2],
    /// Of each flow how many events are the same, and where the runs part.
    pub flows: Vec<(u64, Option<Parted>)>,
}

/// Where two runs of a flow part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parted {
    /// When.
    pub at: Instant,
    /// The first event that the other has not, by its number and its instant; none if it has no more.
    pub events: [Option<(u64, Instant)>; 2],
    /// Number of the last event of the first run that both have.
    pub last: Option<u64>,
    /// Orders up to then that the other was not given, the last ones.
    pub orders: [Vec<(u64, TraceRow)>; 2],
}

/// Watches several flows.
struct Several {
    causes: Vec<Causes>,
    /// Place of each flow of the plan.
    places: Vec<Option<usize>>,
}

impl Observer for Several {
    const DETAILED: bool = true;

    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        if matches!(event, Event::Break | Event::Make) {
            for causes in &mut self.causes {
                causes.record(now, flow, event);
            }
        } else if let Some(place) = self.places[flow.index()] {
            self.causes[place].record(now, flow, event);
        }
    }
}

impl Watching for Several {
    fn check_length(&self, _: Instant) -> Result<(), StudyError> {
        // Rows are taken at once.
        Ok(())
    }
}

/// A flow of two runs that are played side by side.
#[derive(Default)]
struct Pair {
    /// Events of each run that the other has not had yet.
    queues: [VecDeque<(u64, TraceRow)>; 2],
    common: u64,
    last: Option<u64>,
    parted: Option<Parted>,
    /// Orders that are not yet compared, and those that only one was given.
    orders: [Vec<(u64, TraceRow)>; 2],
    own: [VecDeque<(u64, TraceRow)>; 2],
    /// The orders up to the parting are known.
    is_settled: bool,
}

impl Pair {
    fn take(&mut self, side: usize, number: u64, row: TraceRow, other_is_at: Instant) {
        if row.event == "order" {
            let in_time = self.parted.as_ref().is_none_or(|p| row.at <= p.at);
            if in_time && !self.is_settled {
                self.orders[side].push((number, row));
            }
            return;
        }
        let awaited = match &self.parted {
            None => true,
            // What the other run does next is wanted.
            Some(parted) => parted.events[side].is_none(),
        };
        if !awaited || !COMPARED.contains(&row.event) {
            return;
        }
        // What the other did not do at its time it will not do: only the first difference matters.
        let late = |(_, first): &(u64, TraceRow)| first.at < other_is_at;
        let is_idle = self.queues[1 - side].is_empty();
        if !(is_idle && self.queues[side].front().is_some_and(late)) {
            self.queues[side].push_back((number, row));
        }
    }

    /// Compares what there is; the runs have come to these instants.
    fn compare(&mut self, now: [Instant; 2]) {
        while self.parted.is_none() {
            let [a, b] = &mut self.queues;
            let same = |one: &TraceRow, other: &TraceRow| {
                let detail = !WITH_DETAIL.contains(&one.event) || one.detail == other.detail;
                let (x, y) = (one.value, other.value);
                (one.at, one.event) == (other.at, other.event) && x == y && detail
            };
            let at = match (a.front(), b.front()) {
                (Some((number, one)), Some((_, other))) if same(one, other) => {
                    self.last = Some(*number);
                    self.common += 1;
                    a.pop_front();
                    b.pop_front();
                    continue;
                }
                (Some((_, one)), Some((_, other))) => one.at.min(other.at),
                (Some((_, one)), None) if one.at < now[1] => one.at,
                (None, Some((_, other))) if other.at < now[0] => other.at,
                _ => break,
            };
            self.part(at);
        }
        if let Some(parted) = &mut self.parted {
            for (event, queue) in parted.events.iter_mut().zip(&mut self.queues) {
                if let (None, Some((number, row))) = (*event, queue.pop_front()) {
                    *event = Some((number, row.at));
                }
                queue.clear();
            }
        }
        self.settle(now[0].min(now[1]));
    }

    fn part(&mut self, at: Instant) {
        let last = self.last;
        self.parted = Some(Parted {
            at,
            last,
            ..Parted::default()
        });
        for orders in &mut self.orders {
            orders.retain(|(_, order)| order.at <= at);
        }
    }

    /// Tells the orders that both were given from others; both runs have come to `now`.
    fn settle(&mut self, now: Instant) {
        let due = |(_, order): &(u64, TraceRow)| order.at < now;
        if self.orders.iter().flatten().any(due) {
            let [a, b] = &self.orders;
            let lacks = |others: &[(u64, TraceRow)], order: &TraceRow| {
                let same =
                    |other: &TraceRow| (other.at, &other.detail) == (order.at, &order.detail);
                !others.iter().any(|(_, other)| same(other))
            };
            let own = |mine: &[(u64, TraceRow)], others: &[(u64, TraceRow)]| {
                let mine = mine.iter().filter(|one| due(one) && lacks(others, &one.1));
                mine.cloned().collect::<Vec<_>>()
            };
            let own = [own(a, b), own(b, a)];
            for (kept, new) in self.own.iter_mut().zip(own) {
                kept.extend(new);
                let surplus = kept.len().saturating_sub(MOST_ORDERS);
                kept.drain(..surplus);
            }
            for orders in &mut self.orders {
                orders.retain(|order| !due(order));
            }
        }
        if let Some(parted) = &mut self.parted {
            if !self.is_settled && parted.at < now {
                self.is_settled = true;
                parted.orders = std::mem::take(&mut self.own).map(Vec::from);
            }
        }
    }
}

/// Compares one run of two plans, flow by flow; the flows are named. Both are played side by side,
/// so that nothing of them has to be kept. `go_on` is as for [`trace_scenario`].
///
/// # Errors
/// As [`trace_scenario`].
pub fn compare_scenarios(
    plans: [&Plan; 2],
    run: u64,
    flows: &[String],
    go_on: GoOn<'_>,
) -> Result<Compared, StudyError> {
    let mut worlds = Vec::new();
    for plan in plans {
        let mut places = vec![None; plan.flows.len()];
        let mut causes = Vec::new();
        for (place, name) in flows.iter().enumerate() {
            let flow = plan.flow_of_name(Some(name))?;
            places[flow] = Some(place);
            causes.push(plan.causes(flow, Keep::All));
        }
        worlds.push(plan.watched(run, Several { causes, places })?);
    }
    let mut pairs: Vec<Pair> = flows.iter().map(|_| Pair::default()).collect();
    let mut left = LOOK_EVERY;
    loop {
        let mut now = [Instant::NEVER; 2];
        for ((now, world), plan) in now.iter_mut().zip(&worlds).zip(plans) {
            let next = world.next_event().at();
            if next < plan.end() && !world.observer().1.is_done() {
                *now = next;
            }
        }
        for pair in &mut pairs {
            pair.compare(now);
        }
        let side = usize::from(now[1] < now[0]);
        if now[side] == Instant::NEVER {
            break;
        }
        let world = &mut worlds[side];
        let next = world.next_event();
        world.process(next)?;
        let (_, until_done) = world.watch(FlowId::default()).0;
        for (causes, pair) in until_done.watching.causes.iter_mut().zip(&mut pairs) {
            if causes.is_empty() {
                continue;
            }
            for (row, number) in causes.take() {
                pair.take(side, number, row, now[1 - side]);
            }
        }
        left -= 1;
        if left == 0 {
            left = LOOK_EVERY;
            if !go_on() {
                return Err(StudyError::Interrupted);
            }
        }
    }
    let digests = worlds.into_iter().map(|world| world.into_observer().0);
    let mut digests = digests.map(|digest| digest.to_string());
    let digests = [(); 2].map(|()| digests.next().unwrap_or_default());
    let flows = pairs.into_iter().map(|pair| (pair.common, pair.parted));
    let flows = flows.collect();
    Ok(Compared { digests, flows })
}

/// What is seen of a flow in one run at its sender, its receiver and the base
/// stations, of each packet at most the first `snap` bytes (0 for all); and the
/// digest of the run. `go_on` is as for [`trace_scenario`].
///
/// # Errors
/// As [`trace_scenario`].
pub fn capture_scenario(
    plan: &Plan,
    run: u64,
    flow: Option<&str>,
    snap: u32,
    go_on: GoOn<'_>,
) -> Result<(Vec<Capture>, String), StudyError> {
    let number = plan.flow_of_name(flow)?;
    let flow = &plan.flows[number];
    let built = &plan.built[flow.built];
    let (stations, names) = (plan.stations(), plan.link_names());
    let capturing = Capturing::new((&built.profile, snap), stations, names, Goal::default())?;
    let capturing = capturing.of(number).with_marks(plan.marks_in_words());
    let (capturing, digest) = plan.played(run, capturing, go_on)?;
    let about = format!(
        "{} on profile {}, run {run}",
        flow.scheme, plan.file.profile
    );
    Ok((capturing.develop(&about, &digest)?, digest))
}
