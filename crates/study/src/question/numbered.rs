//! Questions with numbered runs: the common part of a question's runs is built once.

use std::sync::Arc;

use crate::error::StudyError;
use crate::execution::Execution;
use crate::foreign::build;
use crate::measure::Measure;
use crate::run::run_numbered;
use crate::scheme::Knobs;
use crate::setup::{Part, Setup};

/// Sender and receiver of the measured flow, and of all other flows.
pub(crate) struct Parts {
    pub(crate) own: Arc<Part>,
    pub(crate) others: Arc<Part>,
}

/// A question that is run once for each of its numbers.
pub(crate) trait Numbered: Sync {
    /// Numbers of the runs.
    fn runs(&self) -> &[u64];

    /// The values shared by all runs.
    ///
    /// # Errors
    /// [`StudyError`] for input that is not accepted.
    fn parts(&self) -> Result<Parts, StudyError>;

    /// The run with this number.
    fn compile(&self, parts: &Parts, run: u64) -> Setup;
}

/// The sender without a scheme, with a profile and its settings.
pub(crate) fn plain(profile: &str, knobs: &Knobs) -> Result<Arc<Part>, StudyError> {
    build("sack", profile, knobs, &[])
}

/// One run of a question.
///
/// # Errors
/// As [`Numbered::parts`].
pub(crate) fn setup_of<Q: Numbered>(question: &Q, run: u64) -> Result<Setup, StudyError> {
    Ok(question.compile(&question.parts()?, run))
}

/// Runs questions in parallel; returns the measurements of the runs of each.
///
/// # Errors
/// As [`Numbered::parts`]; [`StudyError::Interrupted`] when stopped.
pub(crate) fn run_all<Q: Numbered, M: Measure>(
    questions: &[Q],
    how: Execution,
    go_on: impl FnMut(usize, usize) -> bool,
) -> Result<Vec<Vec<M::Rows>>, StudyError> {
    let parts = questions.iter().map(Numbered::parts);
    let parts: Vec<Parts> = parts.collect::<Result<_, _>>()?;
    let runs: Vec<&[u64]> = questions.iter().map(Numbered::runs).collect();
    let setup = |place: usize, run, _: Option<(usize, &Setup)>| {
        Ok(questions[place].compile(&parts[place], run))
    };
    run_numbered::<M>(&runs, setup, how, go_on)
}
