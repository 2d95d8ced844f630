//! Runs of many scenarios with shared prefixes.

use std::ops::Range;

use midflight_sim::Digest;
use rayon::prelude::*;

use super::plan::Plan;
use crate::error::StudyError;
use crate::execution::Execution;
use crate::measure::{FlowOutcome, Phases};
use crate::run;
use crate::setup::Setup;

/// Maximum number of result rows, for flows and phases, that are held in memory. A row takes about
/// 600 bytes while it is converted to a table row.
pub(super) const MOST_ROWS: u64 = 4_000_000;

impl Plan {
    /// Phases of a run: one from its start, and one from each handoff or change.
    pub(super) fn phases_of_run(&self) -> u64 {
        1 + self.marks().len() as u64
    }

    /// Maximum number of result rows of a run: one for each flow and one for each of its phases.
    pub(super) fn rows_of_run(&self) -> u64 {
        self.flows.len() as u64 * (1 + self.phases_of_run())
    }

    /// Maximum number of result rows of all runs.
    pub fn most_rows(&self) -> u64 {
        self.file.runs.saturating_mul(self.rows_of_run())
    }
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioRun {
    /// Its number.
    pub run: u64,
    /// Digest of its events.
    pub digest: Digest,
    /// Flows in the order of the scenario.
    pub flows: Vec<FlowOutcome>,
}

/// The number of prefixes that [`run_scenarios`] simulates for the first run of each of these.
///
/// # Errors
/// None for a checked scenario.
pub fn count_pasts(plans: &[Plan]) -> Result<usize, StudyError> {
    let setups = plans.par_iter().map(|plan| plan.setup(0));
    Ok(run::count_pasts(&setups.collect::<Result<Vec<_>, _>>()?))
}

/// Runs scenarios in parallel; returns for each its runs in the order of their numbers. Scenarios
/// that do not differ before the first handoff or change share that prefix. `go_on` is as for
/// [`crate::run_sweeps`].
///
/// # Errors
/// [`StudyError::TooManyRows`]; [`StudyError::Interrupted`] when stopped; or an error of the world.
pub fn run_scenarios(
    plans: &[Plan],
    how: Execution,
    go_on: impl FnMut(usize, usize) -> bool,
) -> Result<Vec<Vec<ScenarioRun>>, StudyError> {
    run_some(plans, 0..u64::MAX, how, go_on)
}

/// As [`run_scenarios`], but only the runs with these numbers, so that a caller need not hold the
/// results of all.
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
    let of = |plan: &Plan| numbers.start..numbers.end.min(plan.file.runs);
    let each: Vec<Vec<u64>> = plans.iter().map(|plan| of(plan).collect()).collect();
    let each: Vec<&[u64]> = each.iter().map(Vec::as_slice).collect();
    let setup = |place: usize, run, other: Option<(usize, &Setup)>| {
        let other = other.map(|(place, setup)| (&plans[place], setup));
        plans[place].setup_beside(run, other)
    };
    let tables = run::run_numbered::<Phases>(&each, setup, how, go_on)?;
    let table = |runs: Vec<(Digest, Vec<FlowOutcome>)>| {
        let runs = runs.into_iter().zip(numbers.start..);
        let run = |((digest, flows), run)| ScenarioRun { run, digest, flows };
        runs.map(run).collect()
    };
    Ok(tables.into_iter().map(table).collect())
}
