//! Handoffs at many instants with many schemes. Runs share what they have in
//! common, over all sweeps that are run together: those from the same old link
//! have one past, of which a copy takes each handoff; the schemes of a handoff
//! go on as one until the first of them can act. A scheme that does something
//! of its own before has a past of its own.

use educe::Educe;
use midflight_control::signal::AnyHandoverSignal;
use midflight_sim::{Digest, Event, FlowId, Observer, World};
use midflight_tcp::Profile;
use midflight_units::{Duration, Instant};
use rayon::prelude::*;

use crate::error::StudyError;
use crate::execution::{in_parallel, Execution, Progress};
use crate::handoff::{flow_id, Handoff};
use crate::metrics::{HandoffMetrics, HandoffRow, Question};
use crate::scheme::{Built, Knobs, Scheme};

/// Handoff instants for which copies of a past are held at once.
const BATCH: usize = 16;

/// What to run: one run for every scheme and instant, one row for every flow of it.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The handoff, without its instant.
    pub handoff: Handoff,
    /// When the handoff starts, one run each.
    pub at: Vec<Instant>,
    /// Names of schemes, of the flows that move.
    pub schemes: Vec<String>,
    /// Name of the residents' scheme.
    pub resident_scheme: String,
    /// Name of the profile.
    pub profile: String,
    /// Settings that differ from the profile's and the policies' defaults.
    pub knobs: Knobs,
    /// Segments whose transfer is timed.
    pub packets: u64,
    /// Further counts of segments to time.
    pub extra: Vec<u64>,
    /// How long after the start of the handoff the segments are counted that are
    /// newly acknowledged; none if they are not. Runs last at least so long.
    pub window: Option<Duration>,
    /// Runs end here, finished or not.
    pub end: Instant,
}

/// What is watched of a run.
trait Watch: Observer + Clone {
    fn new(flows: usize) -> Self;

    fn digest(&self) -> Digest;

    /// The measurements of a flow.
    fn of(&mut self, flow: FlowId) -> &mut HandoffMetrics;

    /// Whether everything is measured once no event before `next` is left.
    fn finished(&self, next: Instant) -> bool;
}

/// Of a run with one flow, as most have: nothing asks which flow an event is of.
#[derive(Educe, Debug, Default)]
#[educe(Clone)]
struct WatchOne {
    digest: Digest,
    metrics: HandoffMetrics,
}

/// Of a run with several flows.
#[derive(Educe, Debug)]
#[educe(Clone)]
struct WatchEach {
    digest: Digest,
    metrics: Vec<HandoffMetrics>,
}

impl Watch for WatchOne {
    fn new(_flows: usize) -> Self {
        Self::default()
    }

    fn digest(&self) -> Digest {
        self.digest
    }

    fn of(&mut self, _flow: FlowId) -> &mut HandoffMetrics {
        &mut self.metrics
    }

    #[inline(always)]
    fn finished(&self, next: Instant) -> bool {
        self.metrics.finished(next)
    }
}

impl Watch for WatchEach {
    fn new(flows: usize) -> Self {
        Self {
            digest: Digest::default(),
            metrics: vec![HandoffMetrics::default(); flows],
        }
    }

    fn digest(&self) -> Digest {
        self.digest
    }

    fn of(&mut self, flow: FlowId) -> &mut HandoffMetrics {
        &mut self.metrics[flow.index()]
    }

    fn finished(&self, next: Instant) -> bool {
        self.metrics.iter().all(|flow| flow.finished(next))
    }
}

impl Observer for WatchOne {
    // Inlined for the same reason as its parts.
    #[inline(always)]
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        self.digest.record(now, flow, event);
        self.metrics.record(now, flow, event);
    }
}

impl Observer for WatchEach {
    #[inline(always)]
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        self.digest.record(now, flow, event);
        if matches!(event, Event::Make) {
            // Told of flow 0, it concerns all.
            for metrics in &mut self.metrics {
                metrics.record(now, flow, event);
            }
        } else {
            self.metrics[flow.index()].record(now, flow, event);
        }
    }
}

/// Refuses handoffs that no run can hold.
pub(crate) fn check_handoff(
    handoff: &Handoff,
    at: Instant,
    end: Instant,
) -> Result<(), StudyError> {
    let complete = handoff.make(at) + handoff.notice_delay.unwrap_or(Duration::ZERO);
    if complete >= end {
        return Err(StudyError::AfterEnd { at, complete, end });
    }
    let open = handoff.flows.all_open();
    if open > at {
        return Err(StudyError::NotOpen { at, open });
    }
    Ok(())
}

/// Refuses what no run can time.
pub(crate) fn check_packets(packets: u64) -> Result<(), StudyError> {
    if !(1..=1_000_000_000).contains(&packets) {
        return Err(StudyError::Range {
            what: "the number of packets",
            value: packets.to_string(),
            accepted: "1 to 1000000000",
        });
    }
    Ok(())
}

/// Refuses a window from `from` on that is not over with the run.
pub(crate) fn check_window(
    window: Option<Duration>,
    from: Instant,
    end: Instant,
) -> Result<(), StudyError> {
    match window {
        Some(window) if window == Duration::ZERO => Err(StudyError::Range {
            what: "the window",
            value: window.to_string(),
            accepted: "a time longer than zero",
        }),
        Some(window) if from + window > end => {
            Err(StudyError::WindowAfterEnd { window, from, end })
        }
        _ => Ok(()),
    }
}

impl Sweep {
    fn runs(&self) -> usize {
        self.schemes.len() * self.at.len()
    }

    fn rows(&self) -> usize {
        self.runs() * self.handoff.flows.count()
    }

    fn check(&self) -> Result<(), StudyError> {
        if self.schemes.is_empty() {
            return Err(StudyError::Nothing { what: "scheme" });
        }
        if self.at.is_empty() {
            return Err(StudyError::Nothing {
                what: "handoff instant",
            });
        }
        self.handoff.flows.check()?;
        for &n in std::iter::once(&self.packets).chain(&self.extra) {
            check_packets(n)?;
        }
        self.at.iter().try_for_each(|&at| {
            check_handoff(&self.handoff, at, self.end)?;
            check_window(self.window, at, self.end)
        })
    }

    fn question(&self, at: Instant) -> Question<'_> {
        Question {
            packets: self.packets,
            extra: &self.extra,
            window: self.window,
            make_at: self.handoff.make(at),
        }
    }

    /// Runs everything. Rows come in the order scheme, instant, flow, as given.
    ///
    /// # Errors
    /// [`StudyError`] for input that is not accepted.
    pub fn run(&self, how: Execution) -> Result<Vec<HandoffRow>, StudyError> {
        let tables = run_sweeps(std::slice::from_ref(self), how, |_, _| true)?;
        Ok(tables.into_iter().flatten().collect())
    }
}

/// Runs sweeps together; one table for each, with rows in the order scheme,
/// instant, flow, as given. `go_on` is told now and then, on the calling thread, how
/// many of how many runs are done, and may answer that it is enough; it is not
/// asked again then.
///
/// # Errors
/// [`StudyError::Interrupted`] when told to stop, or for input that is not accepted.
pub fn run_sweeps(
    sweeps: &[Sweep],
    how: Execution,
    go_on: impl FnMut(usize, usize) -> bool,
) -> Result<Vec<Vec<HandoffRow>>, StudyError> {
    let mut plans = Vec::new();
    for (number, sweep) in sweeps.iter().enumerate() {
        plans.extend(Plan::all(number, sweep)?);
    }
    let total: usize = sweeps.iter().map(Sweep::runs).sum();
    if total == 0 {
        return Ok(vec![Vec::new(); sweeps.len()]);
    }
    let placed = in_parallel(total, how.threads, go_on, |progress| {
        run_plans(&plans, how.fork, progress)
    })?;
    let mut tables: Vec<Vec<HandoffRow>> = sweeps
        .iter()
        .map(|sweep| vec![HandoffRow::default(); sweep.rows()])
        .collect();
    for (place, row) in placed.into_iter().flatten() {
        tables[place.sweep][place.row] = row;
    }
    Ok(tables)
}

/// Where a row belongs.
#[derive(Clone, Copy)]
struct Place {
    sweep: usize,
    row: usize,
}

type Placed = Vec<(Place, HandoffRow)>;

/// What senders do before they are told of the handoff.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before<'a> {
    /// What all do.
    Alike,
    /// What the scheme of this name does: it heeds a notice at the start, or
    /// keeps the windows of the past for a mark.
    Own(&'a str),
    /// What this very handoff asks for: the node warns them.
    Warned,
}

impl<'a> Before<'a> {
    fn of(scheme: &'a str, built: &Built) -> Self {
        let mut policies = built.policies.iter();
        if !matches!(built.profile.receiver.signal, AnyHandoverSignal::Silent(_)) {
            Self::Warned
        } else if policies.any(|p| p.heeds_marks() || p.heeds_start()) {
            Self::Own(scheme)
        } else {
            Self::Alike
        }
    }
}

/// Those schemes of a sweep that have the same sender, but for its policies, and
/// do the same before the notice; checked.
struct Plan<'a> {
    sweep: &'a Sweep,
    /// The sweep's place among the sweeps.
    number: usize,
    profile: Profile,
    before: Before<'a>,
    /// Each scheme's place in the sweep and its senders.
    schemes: Vec<(usize, Built)>,
    resident: Built,
}

impl<'a> Plan<'a> {
    /// The plans of a sweep.
    fn all(number: usize, sweep: &'a Sweep) -> Result<Vec<Self>, StudyError> {
        sweep.check()?;
        let sender = |name| Scheme::named(name)?.build(&sweep.profile, &sweep.knobs);
        let resident = sender(&sweep.resident_scheme)?;
        let mut plans: Vec<Self> = Vec::new();
        for (place, name) in sweep.schemes.iter().enumerate() {
            let built = sender(name)?;
            let before = Before::of(name, &built);
            let alike = |p: &&mut Self| p.profile == built.profile && p.before == before;
            match plans.iter_mut().find(alike) {
                Some(plan) => plan.schemes.push((place, built)),
                None => plans.push(Self {
                    sweep,
                    number,
                    profile: built.profile,
                    before,
                    schemes: vec![(place, built)],
                    resident: resident.clone(),
                }),
            }
        }
        Ok(plans)
    }

    /// Whether a scheme wants to know of recoveries that prove unneeded.
    fn heeds_unneeded(&self) -> bool {
        let mut policies = self.schemes.iter().flat_map(|(_, built)| &built.policies);
        policies.any(|p| p.heeds_unneeded())
    }

    fn shares_past_with(&self, other: &Self) -> bool {
        self.before == other.before
            && self.sweep.handoff.shares_past_with(&other.sweep.handoff)
            && self.profile == other.profile
            && (self.before == Before::Alike || self.sweep.knobs == other.sweep.knobs)
            && self.has_residents_of(other)
    }

    /// Whether the residents, if there are any, are the same.
    fn has_residents_of(&self, other: &Self) -> bool {
        let of = |plan: &Self| (&plan.sweep.resident_scheme, &plan.sweep.knobs);
        self.sweep.handoff.flows.residents == 0
            || (of(self) == of(other) && self.resident.profile == other.resident.profile)
    }

    /// The world before anything has happened.
    fn world<W: Watch>(&self, moving: &Built) -> Result<World<W>, StudyError> {
        let handoff = &self.sweep.handoff;
        let watch = W::new(handoff.flows.count());
        handoff.world(moving, &self.resident, watch)
    }
}

/// The handoffs of all plans with one past, by their instants.
struct Past<'a> {
    plans: Vec<&'a Plan<'a>>,
    /// Ascending; with the plan's place in `plans` and the place of the instant in its sweep.
    handoffs: Vec<(Instant, usize, usize)>,
}

fn group<'a>(plans: &'a [Plan<'a>]) -> Vec<Past<'a>> {
    let mut pasts: Vec<Past> = Vec::new();
    for plan in plans {
        let shares = |past: &&mut Past| past.plans[0].shares_past_with(plan);
        match pasts.iter_mut().find(shares) {
            Some(past) => past.plans.push(plan),
            None => pasts.push(Past {
                plans: vec![plan],
                handoffs: Vec::new(),
            }),
        }
    }
    for past in &mut pasts {
        let of_plan = |(p, plan): (usize, &&'a Plan<'a>)| {
            let at = plan.sweep.at.iter().enumerate();
            at.map(move |(i, &at)| (at, p, i))
        };
        past.handoffs = past.plans.iter().enumerate().flat_map(of_plan).collect();
        past.handoffs.sort_unstable();
    }
    pasts
}

fn run_plans(plans: &[Plan], fork: bool, progress: &Progress) -> Result<Vec<Placed>, StudyError> {
    let pasts = group(plans);
    let of_past = pasts.par_iter().map(|past| {
        if past.plans[0].sweep.handoff.flows.count() == 1 {
            past.run::<WatchOne>(fork, progress)
        } else {
            past.run::<WatchEach>(fork, progress)
        }
    });
    of_past.collect()
}

/// A world for what schemes have in common after the handoff and one for what they have not.
struct Spare<W> {
    common: Option<World<W>>,
    own: Option<World<W>>,
}

impl<W> Default for Spare<W> {
    fn default() -> Self {
        Self {
            common: None,
            own: None,
        }
    }
}

/// Copies a world into a spare one, whose buffers it keeps.
fn copy<'a, W: Watch>(spare: &'a mut Option<World<W>>, world: &World<W>) -> &'a mut World<W> {
    match spare {
        Some(spare) => {
            spare.clone_from(world);
            spare
        }
        None => spare.insert(world.clone()),
    }
}

impl Past<'_> {
    fn run<W: Watch + Send + Sync>(
        &self,
        fork: bool,
        progress: &Progress,
    ) -> Result<Placed, StudyError> {
        if fork && self.plans[0].before != Before::Warned {
            self.run_forks::<W>(progress)
        } else {
            self.run_each::<W>(progress)
        }
    }

    /// Runs the past once, and the handoffs from copies of it. Policies that do
    /// nothing of their own only watch until the first notice, so that the past
    /// needs none; what senders watch for them they watch for all.
    fn run_forks<W: Watch + Send + Sync>(&self, progress: &Progress) -> Result<Placed, StudyError> {
        let first = self.plans[0];
        let plain = Built {
            profile: first.profile,
            policies: Vec::new(),
        };
        let moving = match first.before {
            Before::Alike => &plain,
            Before::Own(_) | Before::Warned => &first.schemes[0].1,
        };
        let mut past: World<W> = first.world(moving)?;
        if self.plans.iter().any(|plan| plan.heeds_unneeded()) {
            for flow in (0..first.sweep.handoff.flows.moving).map(flow_id) {
                past.sender_mut(flow).watch_retransmissions();
            }
        }
        let mut placed = Vec::new();
        let mut copies: Vec<World<W>> = Vec::new();
        let by_instant: Vec<_> = self.handoffs.chunk_by(|a, b| a.0 == b.0).collect();
        for batch in by_instant.chunks(BATCH) {
            for (i, handoffs) in batch.iter().enumerate() {
                let at = handoffs[0].0;
                past.hold_routes_until(at);
                progress.play(&mut past, at)?;
                match copies.get_mut(i) {
                    Some(copy) => copy.clone_from(&past),
                    None => copies.push(past.clone()),
                }
            }
            let forks = batch.par_iter().zip(&copies);
            let rows: Vec<Placed> = forks
                .map_init(Spare::default, |spare, (handoffs, past)| {
                    let mut rows = Vec::new();
                    let mut runs = 0;
                    for &(_, plan, instant) in *handoffs {
                        self.fork(past, plan, instant, spare, &mut rows, progress)?;
                        runs += self.plans[plan].schemes.len();
                    }
                    progress.done(runs);
                    Ok::<_, StudyError>(rows)
                })
                .collect::<Result<_, _>>()?;
            placed.extend(rows.into_iter().flatten());
        }
        Ok(placed)
    }

    /// Runs everything from the start, each scheme with its policies.
    fn run_each<W: Watch>(&self, progress: &Progress) -> Result<Placed, StudyError> {
        let mut placed = Vec::new();
        for &(at, p, instant) in &self.handoffs {
            let plan = self.plans[p];
            for (s, built) in &plan.schemes {
                let mut world: World<W> = plan.world(built)?;
                let handoff = &plan.sweep.handoff;
                handoff.foresee(&mut world, at, &plan.profile)?;
                progress.play(&mut world, at)?;
                plan.hand_off(&mut world, at)?;
                plan.finish(&mut world, (*s, instant), &mut placed, progress)?;
                progress.done(1);
            }
        }
        Ok(placed)
    }

    /// One handoff with every scheme, for a world that stands right before it.
    fn fork<W: Watch>(
        &self,
        past: &World<W>,
        plan: usize,
        instant: usize,
        spare: &mut Spare<W>,
        rows: &mut Placed,
        progress: &Progress,
    ) -> Result<(), StudyError> {
        let plan = self.plans[plan];
        let at = plan.sweep.at[instant];
        let common = copy(&mut spare.common, past);
        plan.hand_off(common, at)?;
        // No scheme does anything before it is told.
        let told = plan.sweep.handoff.notice(at).unwrap_or(Instant::NEVER);
        let last = plan.schemes.len() - 1;
        if last > 0 {
            plan.advance(common, told, progress)?;
        }
        for (i, (s, built)) in plan.schemes.iter().enumerate() {
            let world = if i < last {
                copy(&mut spare.own, common)
            } else {
                &mut *common
            };
            if plan.before == Before::Alike {
                for flow in (0..plan.sweep.handoff.flows.moving).map(flow_id) {
                    let policies = built.policies.iter().cloned();
                    world.sender_mut(flow).set_policies(policies);
                }
            }
            plan.finish(world, (*s, instant), rows, progress)?;
        }
        Ok(())
    }
}

impl Plan<'_> {
    /// The handoff starts, in a world that stands right before it.
    fn hand_off<W: Watch>(&self, world: &mut World<W>, at: Instant) -> Result<(), StudyError> {
        let handoff = &self.sweep.handoff;
        handoff.adopt(world)?;
        let question = self.sweep.question(at);
        for flow in (0..world.flows()).map(flow_id) {
            let (watch, sender) = world.watch(flow);
            watch.of(flow).begin(question, sender, at);
        }
        handoff.plan(world, at)?;
        world.hold_routes_until(Instant::NEVER);
        Ok(())
    }

    /// Runs until everything is measured, or to the last event before `until`.
    fn advance<W: Watch>(
        &self,
        world: &mut World<W>,
        until: Instant,
        progress: &Progress,
    ) -> Result<(), StudyError> {
        progress.go_on()?;
        let until = until.min(self.sweep.end);
        progress.advance(world, until, W::finished)
    }

    /// Runs to the end; a row for each flow. `of` is the place of scheme and instant in the sweep.
    fn finish<W: Watch>(
        &self,
        world: &mut World<W>,
        of: (usize, usize),
        rows: &mut Placed,
        progress: &Progress,
    ) -> Result<(), StudyError> {
        self.advance(world, Instant::NEVER, progress)?;
        let flows = world.flows();
        let (scheme, instant) = of;
        let first = (scheme * self.sweep.at.len() + instant) * flows as usize;
        for number in 0..flows {
            let flow = flow_id(number);
            let (watch, _) = world.watch(flow);
            let row = HandoffRow {
                flow: number,
                resident: number >= self.sweep.handoff.flows.moving,
                digest: watch.digest(),
                ..watch.of(flow).take_row()
            };
            let place = Place {
                sweep: self.number,
                row: first + flow.index(),
            };
            rows.push((place, row));
        }
        Ok(())
    }
}
