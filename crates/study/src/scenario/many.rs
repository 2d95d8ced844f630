//! Runs of many scenarios, which share what they have in common: those that differ only in what
//! happens from the first handoff or change on have one past, of which each gets a copy.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

use midflight_control::policy::Policy;
use midflight_sim::World;
use midflight_units::Instant;
use rayon::prelude::*;

use super::access::Access;
use super::network::flow_id;
use super::plan::{Flow, Plan};
use super::run::{ScenarioRun, Watch};
use crate::error::StudyError;
use crate::execution::{in_parallel, Execution, Progress};
use crate::trace::GoOn;

/// Most copies of a world at a time.
const MOST_COPIES: usize = 64;

/// Most rows of results, of flows and of phases, that are held in memory. A row takes about
/// 600 bytes while it becomes one of a table.
pub(super) const MOST_ROWS: u64 = 4_000_000;

impl Plan {
    /// Phases of a run: one from its start, and one from each handoff or change on.
    pub(super) fn phases_of_run(&self) -> u64 {
        1 + self.marks().len() as u64
    }

    /// Most rows of results that a run gives: one for each flow and one for each of its phases.
    pub(super) fn rows_of_run(&self) -> u64 {
        self.flows.len() as u64 * (1 + self.phases_of_run())
    }

    /// Most rows of results that all runs give.
    pub fn most_rows(&self) -> u64 {
        self.file.runs.saturating_mul(self.rows_of_run())
    }

    /// Whether the flow's policies may give orders before the first handoff or change. The others
    /// only watch until their first notice.
    fn acts_early(&self, flow: &Flow) -> bool {
        let heeds_start = |p: &Policy| flow.start_notice && p.heeds_start();
        let mut policies = self.built[flow.built].policies.iter();
        policies.any(|p| p.heeds_marks() || heeds_start(p))
    }

    /// Whether no packet uses a link before the mobile node comes to it, and it has the same
    /// parameters until then: runs that share a past may have different ones.
    fn is_idle(&self, link: usize, access: &Access) -> bool {
        let ways = &access.settings[0];
        link != self.start
            && access.settings.len() == 1
            && ways.down.cross.is_none()
            && ways.up.cross.is_none()
            && self.flows.iter().all(|flow| flow.on != Some(link))
    }

    /// A hash that is equal for scenarios with the same past; none if the past depends on what
    /// comes later, or on code from elsewhere. What it leaves out is what [`Self::take_over`]
    /// gives to a copy, and the timeline.
    fn past(&self) -> Option<[u8; 32]> {
        let first = self.first()?;
        // What they are told depends on the timeline.
        if self
            .flows
            .iter()
            .any(|f| f.start_notice && f.opens >= first)
        {
            return None;
        }
        let mut file = serde_json::to_value(&self.file).ok()?;
        let keys = file.as_object_mut()?;
        for later in ["title", "description", "sweep", "handoffs", "changes"] {
            keys.shift_remove(later);
        }
        // The plan has what these say.
        for resolved in ["links", "start"] {
            keys.shift_remove(resolved);
        }
        // So it has settings, but for those of policies that act early.
        let acts_early = self.flows.iter().any(|flow| self.acts_early(flow));
        if !acts_early {
            keys.shift_remove("set");
        }
        let mut names = self.file.flows.values();
        let mut at = 0;
        for entry in keys.get_mut("flows")?.as_object_mut()?.values_mut() {
            let flows = names.next()?.count as usize;
            let some = &self.flows[at..at + flows];
            at += flows;
            if !some.iter().any(|flow| self.acts_early(flow)) {
                let entry = entry.as_object_mut()?;
                entry.shift_remove("scheme");
                entry.shift_remove("set");
            } else if some.iter().any(|flow| {
                let policies = &self.built[flow.built].policies;
                policies.iter().any(|p| matches!(p, Policy::Foreign(_)))
            }) {
                return None;
            }
        }
        // The text may be as long as the scenario, and a sweep has many.
        let mut text = file.to_string();
        let told = (self.start, &self.prospects, self.routers());
        write!(text, " {told:?}").ok()?;
        for built in &self.built {
            let (sender, receiver) = (&built.profile.sender, &built.profile.receiver);
            write!(text, " {sender:?} {receiver:?}").ok()?;
        }
        for (link, access) in self.access.iter().enumerate() {
            if self.is_idle(link, access) {
                let ways = &access.settings[0];
                for way in [&ways.down, &ways.up] {
                    let told = (&access.name, way.loss, way.reordering);
                    write!(text, " {told:?}").ok()?;
                }
            } else {
                write!(text, " {access:?}").ok()?;
            }
        }
        Some(*blake3::hash(text.as_bytes()).as_bytes())
    }

    fn beginning(&self, run: u64) -> Result<World<Watch>, StudyError> {
        self.world(run, Watch::new(self))
    }

    /// The beginning of a past, in which policies that only watch have no part. What a sender
    /// keeps for one that `heeds_unneeded` it keeps for all.
    fn common_beginning(&self, run: u64, heeds_unneeded: bool) -> Result<World<Watch>, StudyError> {
        let mut world = self.beginning(run)?;
        for (number, flow) in self.flows.iter().enumerate() {
            if !self.acts_early(flow) {
                let sender = world.sender_mut(flow_id(number));
                sender.set_policies([]);
                if heeds_unneeded {
                    sender.watch_retransmissions();
                }
            }
        }
        Ok(world)
    }

    /// Makes of a copy of the common past the world of this scenario.
    fn take_over(&self, world: &mut World<Watch>) -> Result<(), StudyError> {
        for (number, flow) in self.flows.iter().enumerate() {
            if !self.acts_early(flow) {
                let policies = self.built[flow.built].policies.iter().cloned();
                world.sender_mut(flow_id(number)).set_policies(policies);
            }
        }
        for (link, access) in self.access.iter().enumerate() {
            if self.is_idle(link, access) {
                self.retune(world, link)?;
            }
        }
        Ok(())
    }
}

/// Scenarios with the same past.
struct Past<'a> {
    /// With their places among all scenarios, by when something first happens.
    members: Vec<(Instant, usize, &'a Plan)>,
}

impl Past<'_> {
    /// One run of each member.
    fn play(&self, run: u64, progress: &Progress) -> Result<Vec<(usize, ScenarioRun)>, StudyError> {
        let (_, place, plan) = self.members[0];
        if self.members.len() == 1 {
            let made = plan.finish(&mut plan.beginning(run)?, run, progress)?;
            progress.done(1);
            return Ok(vec![(place, made)]);
        }
        let built = self.members.iter().flat_map(|member| &member.2.built);
        let mut policies = built.flat_map(|built| &built.policies);
        let heeds_unneeded = policies.any(|policy| policy.heeds_unneeded());
        let mut past = plan.common_beginning(run, heeds_unneeded)?;
        let mut copies: Vec<World<Watch>> = Vec::new();
        let mut all = Vec::new();
        for some in self.members.chunks(MOST_COPIES) {
            for (i, &(first, ..)) in some.iter().enumerate() {
                past.hold_routes_until(first);
                progress.advance(&mut past, first, |watch, _| watch.ends.is_done())?;
                match copies.get_mut(i) {
                    Some(copy) => copy.clone_from(&past),
                    None => copies.push(past.clone()),
                }
            }
            let forks = some.par_iter().zip(&mut copies).with_max_len(1);
            let tails = forks.map(|(&(_, place, plan), world)| {
                plan.take_over(world)?;
                let made = plan.finish(world, run, progress)?;
                progress.done(1);
                Ok((place, made))
            });
            all.extend(tails.collect::<Result<Vec<_>, StudyError>>()?);
        }
        Ok(all)
    }
}

/// Groups scenarios by their past; unless runs fork each is alone.
fn pasts(plans: &[Plan], fork: bool) -> Vec<Past<'_>> {
    let mut pasts: Vec<Past> = Vec::new();
    let mut known: BTreeMap<[u8; 32], usize> = BTreeMap::new();
    for (place, plan) in plans.iter().enumerate() {
        let member = (plan.first().unwrap_or(Instant::NEVER), place, plan);
        let hash = (fork && plans.len() > 1).then(|| plan.past()).flatten();
        let of_hash = hash.map(|hash| *known.entry(hash).or_insert(pasts.len()));
        match of_hash.and_then(|number| pasts.get_mut(number)) {
            Some(past) => past.members.push(member),
            None => pasts.push(Past {
                members: vec![member],
            }),
        }
    }
    for past in &mut pasts {
        past.members
            .sort_by_key(|&(first, place, _)| (first, place));
    }
    pasts
}

/// How many pasts [`run_scenarios`] plays for one run of each of these.
pub fn count_pasts(plans: &[Plan]) -> usize {
    pasts(plans, true).len()
}

/// One run of a scenario. `go_on` may answer that it is enough.
///
/// # Errors
/// [`StudyError::NoRun`]; [`StudyError::Interrupted`] when told to stop, or the world's.
pub(super) fn run_one(plan: &Plan, run: u64, go_on: GoOn<'_>) -> Result<ScenarioRun, StudyError> {
    plan.check_run(run)?;
    in_parallel(
        1,
        1,
        |_, _| go_on(),
        |progress| plan.finish(&mut plan.beginning(run)?, run, progress),
    )
}

/// Runs scenarios side by side; for each its runs in the order of their numbers.
/// Scenarios that differ in nothing before the first handoff or change share their past.
/// `go_on` is as for [`crate::run_sweeps`].
///
/// # Errors
/// [`StudyError::TooManyRows`]; [`StudyError::Interrupted`] when told to stop; or the world's.
pub fn run_scenarios(
    plans: &[Plan],
    how: Execution,
    go_on: impl FnMut(usize, usize) -> bool,
) -> Result<Vec<Vec<ScenarioRun>>, StudyError> {
    run_some(plans, 0..u64::MAX, how, go_on)
}

/// As [`run_scenarios`], but of each scenario only the runs with these numbers, so that a caller
/// need not hold the results of all.
///
/// # Errors
/// As [`run_scenarios`].
pub fn run_some(
    plans: &[Plan],
    numbers: Range<u64>,
    how: Execution,
    go_on: impl FnMut(usize, usize) -> bool,
) -> Result<Vec<Vec<ScenarioRun>>, StudyError> {
    let runs_of = |plan: &Plan| {
        numbers
            .end
            .min(plan.file.runs)
            .saturating_sub(numbers.start)
    };
    let each = plans
        .iter()
        .map(|plan| runs_of(plan).saturating_mul(plan.rows_of_run()));
    let rows = each.fold(0_u64, u64::saturating_add);
    if rows > MOST_ROWS {
        let most = MOST_ROWS;
        return Err(StudyError::TooManyRows { rows, most });
    }
    let pasts = pasts(plans, how.fork);
    // The jobs, which are a past and a run each, are numbered past by past; those of each past end here.
    // Its members have the same number of runs.
    let mut ends: Vec<usize> = Vec::with_capacity(pasts.len());
    let mut total = 0;
    for past in &pasts {
        let jobs = runs_of(past.members[0].2) as usize;
        ends.push(ends.last().unwrap_or(&0) + jobs);
        total += past.members.len() * jobs;
    }
    let mut runs: Vec<Vec<ScenarioRun>> = vec![Vec::new(); plans.len()];
    if total == 0 {
        return Ok(runs);
    }
    let jobs = 0..*ends.last().unwrap_or(&0);
    let play = |job: usize, progress: &Progress| {
        let number = ends.partition_point(|&end| end <= job);
        let first = number.checked_sub(1).map_or(0, |before| ends[before]);
        pasts[number].play(numbers.start + (job - first) as u64, progress)
    };
    let done: Vec<Vec<(usize, ScenarioRun)>> =
        in_parallel(total, how.threads, go_on, |progress| {
            let each = jobs.into_par_iter().with_max_len(1);
            each.map(|job| play(job, progress)).collect()
        })?;
    // In the order of their numbers, since those of a past are.
    for (place, run) in done.into_iter().flatten() {
        runs[place].push(run);
    }
    Ok(runs)
}
