//! Handoffs at many instants with many schemes. Runs share what they have in
//! common, over all sweeps that are run together: those from the same old link
//! have one past, of which a copy takes each handoff; the schemes of a handoff
//! go on as one until the first of them can act.

use educe::Educe;
use midflight_control::policy::Policy;
use midflight_control::signal::AnyHandoverSignal;
use midflight_sim::{Digest, Event, FlowId, Observer, World};
use midflight_tcp::Profile;
use midflight_units::{Duration, Instant};
use rayon::prelude::*;

use crate::error::StudyError;
use crate::execution::{in_parallel, Execution, Progress, EVENTS_AT_A_TIME};
use crate::handoff::Handoff;
use crate::metrics::{HandoffMetrics, HandoffRow};
use crate::scheme::{Knobs, Scheme};

/// Handoff instants for which copies of a past are held at once.
const BATCH: usize = 16;

/// What to run: one row for every scheme and instant.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The handoff, without its instant.
    pub handoff: Handoff,
    /// When the handoff starts, one run each.
    pub at: Vec<Instant>,
    /// Names of schemes.
    pub schemes: Vec<String>,
    /// Name of the profile.
    pub profile: String,
    /// Settings that differ from the profile's and the policies' defaults.
    pub knobs: Knobs,
    /// Segments whose transfer is timed.
    pub packets: u64,
    /// Further counts of segments to time.
    pub extra: Vec<u64>,
    /// Runs end here, finished or not.
    pub end: Instant,
}

/// What is watched of a run.
#[derive(Educe, Debug, Default)]
#[educe(Clone)]
struct Watch {
    digest: Digest,
    metrics: HandoffMetrics,
}

impl Observer for Watch {
    // Inlined for the same reason as its parts.
    #[inline(always)]
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        self.digest.record(now, flow, event);
        self.metrics.record(now, flow, event);
    }
}

type Watched = World<Watch>;

/// The one flow of a handoff.
const FLOW: FlowId = Watched::flow_id(0);

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
    Ok(())
}

impl Sweep {
    fn rows(&self) -> usize {
        self.schemes.len() * self.at.len()
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
        for &n in std::iter::once(&self.packets).chain(&self.extra) {
            if !(1..=1_000_000_000).contains(&n) {
                return Err(StudyError::Range {
                    what: "the number of packets",
                    value: n.to_string(),
                    accepted: "1 to 1000000000",
                });
            }
        }
        self.at
            .iter()
            .try_for_each(|&at| check_handoff(&self.handoff, at, self.end))
    }

    /// Runs everything. Rows come in the order scheme, instant, as given.
    ///
    /// # Errors
    /// [`StudyError`] for input that is not accepted.
    pub fn run(&self, how: Execution) -> Result<Vec<HandoffRow>, StudyError> {
        let tables = run_sweeps(std::slice::from_ref(self), how, |_, _| true)?;
        Ok(tables.into_iter().flatten().collect())
    }
}

/// Runs sweeps together; one table for each, with rows in the order scheme,
/// instant, as given. `go_on` is told now and then, on the calling thread, how
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
    let total: usize = sweeps.iter().map(Sweep::rows).sum();
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

impl Progress<'_> {
    /// Processes the events before `until`, or until `enough` is measured.
    fn advance(
        &self,
        world: &mut Watched,
        until: Instant,
        enough: impl Fn(&HandoffMetrics, Instant) -> bool,
    ) -> Result<(), StudyError> {
        loop {
            for _ in 0..EVENTS_AT_A_TIME {
                let next = world.next_event();
                if next.at() >= until || enough(&world.observer().metrics, next.at()) {
                    return Ok(());
                }
                world.process(next)?;
            }
            self.go_on()?;
        }
    }
}

/// Where a row belongs.
#[derive(Clone, Copy)]
struct Place {
    sweep: usize,
    row: usize,
}

type Placed = Vec<(Place, HandoffRow)>;

/// Those schemes of a sweep that have the same sender, but for its policies; checked.
struct Plan<'a> {
    sweep: &'a Sweep,
    /// The sweep's place among the sweeps.
    number: usize,
    profile: Profile,
    /// Each scheme's place in the sweep and its policies.
    schemes: Vec<(usize, Vec<Policy>)>,
}

impl<'a> Plan<'a> {
    /// The plans of a sweep.
    fn all(number: usize, sweep: &'a Sweep) -> Result<Vec<Self>, StudyError> {
        sweep.check()?;
        let mut plans: Vec<Self> = Vec::new();
        for (place, name) in sweep.schemes.iter().enumerate() {
            let built = Scheme::named(name)?.build(&sweep.profile, &sweep.knobs)?;
            let scheme = (place, built.policies);
            match plans.iter_mut().find(|p| p.profile == built.profile) {
                Some(plan) => plan.schemes.push(scheme),
                None => plans.push(Self {
                    sweep,
                    number,
                    profile: built.profile,
                    schemes: vec![scheme],
                }),
            }
        }
        Ok(plans)
    }

    /// Whether nothing but a notice tells its schemes of the handoff: they do
    /// what all do until then. A node that warns its sender does so before the
    /// handoff, a sender that heeds marks keeps the windows of the past, and one that
    /// heeds a notice at the start has acted on it.
    fn waits_for_the_notice(&self) -> bool {
        let heeds = |(_, policies): &(_, Vec<Policy>)| {
            let mut policies = policies.iter();
            policies.any(|p| p.heeds_marks() || p.heeds_start())
        };
        let signal = self.profile.receiver.signal;
        matches!(signal, AnyHandoverSignal::Silent(_)) && !self.schemes.iter().any(heeds)
    }

    /// Whether a scheme wants to know of recoveries that prove unneeded.
    fn heeds_unneeded(&self) -> bool {
        let mut policies = self.schemes.iter().flat_map(|(_, policies)| policies);
        policies.any(|p| p.heeds_unneeded())
    }

    fn shares_past_with(&self, other: &Self) -> bool {
        self.waits_for_the_notice() == other.waits_for_the_notice()
            && self.sweep.handoff.shares_past_with(&other.sweep.handoff)
            && self.profile == other.profile
    }

    /// The world before anything has happened.
    fn world(&self, policies: Vec<Policy>) -> Result<Watched, StudyError> {
        let handoff = &self.sweep.handoff;
        handoff.world(&self.profile, policies, Watch::default())
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
        if fork && past.plans[0].waits_for_the_notice() {
            past.run(progress)
        } else {
            past.run_each(progress)
        }
    });
    of_past.collect()
}

/// A world for what schemes have in common after the handoff and one for what they have not.
#[derive(Default)]
struct Spare {
    common: Option<Watched>,
    own: Option<Watched>,
}

/// Copies a world into a spare one, whose buffers it keeps.
fn copy<'a>(spare: &'a mut Option<Watched>, world: &Watched) -> &'a mut Watched {
    match spare {
        Some(spare) => {
            spare.clone_from(world);
            spare
        }
        None => spare.insert(world.clone()),
    }
}

impl Past<'_> {
    /// Runs the past once, and the handoffs from copies of it. Policies only
    /// watch until the first notice, so that the past needs none; what the sender
    /// watches for them it watches for all.
    fn run(&self, progress: &Progress) -> Result<Placed, StudyError> {
        let mut past = self.plans[0].world(Vec::new())?;
        if self.plans.iter().any(|plan| plan.heeds_unneeded()) {
            past.sender_mut(FLOW).watch_retransmissions();
        }
        let mut placed = Vec::new();
        let mut copies: Vec<Watched> = Vec::new();
        let by_instant: Vec<_> = self.handoffs.chunk_by(|a, b| a.0 == b.0).collect();
        for batch in by_instant.chunks(BATCH) {
            for (i, handoffs) in batch.iter().enumerate() {
                let at = handoffs[0].0;
                past.hold_routes_until(at);
                progress.advance(&mut past, at, |_, _| false)?;
                match copies.get_mut(i) {
                    Some(copy) => copy.clone_from(&past),
                    None => copies.push(past.clone()),
                }
            }
            let forks = batch.par_iter().zip(&copies);
            let rows: Vec<Placed> = forks
                .map_init(Spare::default, |spare, (handoffs, past)| {
                    let mut rows = Vec::new();
                    for &(_, plan, instant) in *handoffs {
                        self.fork(past, plan, instant, spare, &mut rows, progress)?;
                    }
                    progress.done(rows.len());
                    Ok::<_, StudyError>(rows)
                })
                .collect::<Result<_, _>>()?;
            placed.extend(rows.into_iter().flatten());
        }
        Ok(placed)
    }

    /// Runs everything from the start, each scheme with its policies.
    fn run_each(&self, progress: &Progress) -> Result<Placed, StudyError> {
        let mut placed = Vec::new();
        for &(at, p, instant) in &self.handoffs {
            let plan = self.plans[p];
            for (s, policies) in &plan.schemes {
                let mut world = plan.world(policies.clone())?;
                Handoff::foresee(&mut world, at, &plan.profile)?;
                progress.advance(&mut world, at, |_, _| false)?;
                plan.hand_off(&mut world, at)?;
                let row = plan.finish(&mut world, progress)?;
                placed.push((plan.place(*s, instant), row));
                progress.done(1);
            }
        }
        Ok(placed)
    }

    /// One handoff with every scheme, for a world that stands right before it.
    fn fork(
        &self,
        past: &Watched,
        plan: usize,
        instant: usize,
        spare: &mut Spare,
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
        for (i, (s, policies)) in plan.schemes.iter().enumerate() {
            let world = if i < last {
                copy(&mut spare.own, common)
            } else {
                &mut *common
            };
            let policies = policies.iter().cloned();
            world.sender_mut(FLOW).set_policies(policies);
            let row = plan.finish(world, progress)?;
            rows.push((plan.place(*s, instant), row));
        }
        Ok(())
    }
}

impl Plan<'_> {
    fn place(&self, scheme: usize, instant: usize) -> Place {
        Place {
            sweep: self.number,
            row: scheme * self.sweep.at.len() + instant,
        }
    }

    /// The handoff starts, in a world that stands right before it.
    fn hand_off(&self, world: &mut Watched, at: Instant) -> Result<(), StudyError> {
        let handoff = &self.sweep.handoff;
        handoff.adopt(world)?;
        let (watch, sender) = world.watch(FLOW);
        let (packets, extra) = (self.sweep.packets, &self.sweep.extra);
        watch
            .metrics
            .begin(handoff.make(at), packets, extra, sender, at);
        handoff.plan(world, at)?;
        world.hold_routes_until(Instant::NEVER);
        Ok(())
    }

    /// Runs until everything is measured, or to the last event before `until`.
    fn advance(
        &self,
        world: &mut Watched,
        until: Instant,
        progress: &Progress,
    ) -> Result<(), StudyError> {
        progress.go_on()?;
        let until = until.min(self.sweep.end);
        progress.advance(world, until, HandoffMetrics::finished)
    }

    /// Runs to the end.
    fn finish(&self, world: &mut Watched, progress: &Progress) -> Result<HandoffRow, StudyError> {
        self.advance(world, Instant::NEVER, progress)?;
        let (watch, _) = world.watch(FLOW);
        let mut row = watch.metrics.take_row();
        row.digest = watch.digest;
        Ok(row)
    }
}
