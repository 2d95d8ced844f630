//! One run of a scenario, told in full.

use midflight_control::SenderView;
use midflight_sim::{Digest, Event, FlowId, LinkId, Observer, World};
use midflight_tcp::State;
use midflight_units::Instant;

use super::plan::Plan;
use super::run::Ends;
use crate::capture::{Capture, Capturing};
use crate::causes::{Because, Causes};
use crate::error::StudyError;
use crate::trace::{play, Goal, Recorder, TraceRow, Watching};

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
    /// Plays a run; who has watched, and the digest.
    fn watched<W: Watching>(&self, run: u64, watching: W) -> Result<(W, String), StudyError> {
        self.check_run(run)?;
        let ends = Ends::new(self);
        let until_done = UntilDone { watching, ends };
        let mut world: World<_> = self.world(run, (Digest::default(), until_done))?;
        self.timeline(&mut world, run)?;
        let (until_done, digest) = play(world, self.end())?;
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
}

/// Every event of a flow in one run from `from` on, the first flow's if none is
/// named, or only those of these names; and the digest of the run.
///
/// # Errors
/// [`StudyError::UnknownFlow`]; [`StudyError::NoRun`]; [`StudyError::TooLong`] when there is too
/// much.
pub fn trace_scenario(
    plan: &Plan,
    run: u64,
    flow: Option<&str>,
    from: Instant,
    only: &[String],
) -> Result<(Vec<TraceRow>, String), StudyError> {
    let flow = plan.flow_of_name(flow)?;
    let built = &plan.built[plan.flows[flow].built];
    let recorder = Recorder::new(&built.profile, plan.link_names(), from, only).of(flow);
    let (recorder, digest) = plan.watched(run, recorder)?;
    Ok((recorder.into_rows(), digest))
}

/// Every event of a flow in one run with what led to it, and the digest of the run.
///
/// # Errors
/// As [`trace_scenario`].
pub fn explain_scenario(
    plan: &Plan,
    run: u64,
    flow: Option<&str>,
) -> Result<(Vec<TraceRow>, Vec<Because>, String), StudyError> {
    let flow = plan.flow_of_name(flow)?;
    let profile = &plan.built[plan.flows[flow].built].profile;
    let causes = Causes::new(profile, plan.link_names(), flow);
    let (causes, digest) = plan.watched(run, causes)?;
    let (rows, of) = causes.into_rows();
    Ok((rows, of, digest))
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
    plan.check_run(run)?;
    let flow = plan.flow_of_name(flow)?;
    let mut world: World<()> = plan.world(run, ())?;
    plan.timeline(&mut world, run)?;
    world.run_before(at.min(plan.end()))?;
    let sender = world.sender(World::<()>::flow_id(flow as u32));
    Ok(SenderThen {
        view: sender.view(),
        state: sender.state(),
        backoff: sender.backoff(),
        is_window_closed: sender.is_window_closed(),
    })
}

/// What is seen of a flow in one run at its sender, its receiver and the base
/// stations, of each packet at most the first `snap` bytes (0 for all); and the
/// digest of the run.
///
/// # Errors
/// As [`trace_scenario`].
pub fn capture_scenario(
    plan: &Plan,
    run: u64,
    flow: Option<&str>,
    snap: u32,
) -> Result<(Vec<Capture>, String), StudyError> {
    let number = plan.flow_of_name(flow)?;
    let flow = &plan.flows[number];
    let built = &plan.built[flow.built];
    let (stations, names) = (plan.stations(), plan.link_names());
    let capturing = Capturing::new((&built.profile, snap), stations, names, Goal::default())?;
    let (capturing, digest) = plan.watched(run, capturing.of(number))?;
    let about = format!(
        "{} on profile {}, run {run}",
        flow.scheme, plan.file.profile
    );
    Ok((capturing.develop(&about, &digest)?, digest))
}
