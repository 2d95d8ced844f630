//! The events of a flow with their causes, and its sender at any instant.

use std::collections::BTreeMap;
use std::sync::Arc;

use midflight_control::SenderView;
use midflight_sim::World;
use midflight_tcp::{Sender, State};
use midflight_units::{Duration, Instant};

use super::causes::{Causes, Keep, KeptEvents};
use super::{play, GoOn, Playback, RunObserver, EVENTS_AT_A_TIME};
use crate::error::StudyError;
use crate::lab::replay_sender;
use crate::measure::{FlowOutcome, Measure, Phases};
use crate::setup::{flow_id, FlowSetup, Setup};

/// Copies of a world are made on the way to an instant: each when the remaining time is half of
/// that at the previous one, down to this value. So there are few copies, and one near each
/// requested instant.
const NEAREST_PAST: Duration = Duration::from_millis(1);

fn half(time: Duration) -> Duration {
    Duration::from_nanos(time.as_nanos() / 2)
}

/// The requested events of a flow in one run, with their causes.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The events.
    pub kept: KeptEvents,
    /// The digest of the run, if it was simulated to its end.
    pub digest: Option<String>,
    /// When the run ended, if it was simulated to its end.
    pub ended: Option<Instant>,
    flow: usize,
    /// Copies of the world from before the kept events, each with an instant that it had not
    /// completed yet.
    pasts: Vec<(Instant, World<()>)>,
    /// The guest's record of a run by a kernel: our sender is replayed there.
    recorded: Option<Arc<OwnedRecord>>,
}

/// The guest's record of a run ([`crate::lab::Recorded`]), for a replay.
#[derive(Clone, Debug)]
pub(crate) struct OwnedRecord {
    pub(crate) packets: Vec<u8>,
    pub(crate) turns: BTreeMap<usize, Vec<u8>>,
}

/// The events of a flow of a run with their causes. With `to_end` the run is simulated to its end,
/// for its digest, even when all requested events are recorded. `find` is the name of an event to
/// search for. `go_on` is as for [`super::trace`].
///
/// # Errors
/// As [`super::trace`].
pub fn explain(
    setup: &Setup,
    flow: Option<&str>,
    keep: Keep,
    find: Option<&str>,
    to_end: bool,
    go_on: GoOn<'_>,
) -> Result<Explained, StudyError> {
    let flow = setup.flow_of_name(flow)?;
    let near = match keep {
        Keep::Around { at, .. } => at,
        Keep::All | Keep::Named(_) => Instant::ZERO,
    };
    let mut due = half(near.since(Instant::ZERO));
    let causes = Causes::new(setup, flow, keep).looking_for(find);
    let mut playing = Playback::new(setup, causes)?;
    let mut pasts = Vec::new();
    let copies = !setup.has_stacks();
    let mut left = EVENTS_AT_A_TIME;
    let is_over = loop {
        let Some(next) = playing.next() else {
            break true;
        };
        if playing.watching().is_full() {
            if to_end {
                playing.play_on(go_on)?;
            }
            break to_end;
        }
        if copies && next.at() < near && due >= NEAREST_PAST && near.since(next.at()) <= due {
            due = half(near.since(next.at()));
            pasts.push((next.at(), playing.world.watched_by(())));
        }
        playing.process(next)?;
        left -= 1;
        if left == 0 {
            left = EVENTS_AT_A_TIME;
            if !go_on() {
                return Err(StudyError::Interrupted);
            }
        }
    };
    let ended = is_over.then_some(playing.now);
    let (digest, watching) = playing.into_watching();
    Ok(Explained {
        ended,
        kept: watching.into_kept(),
        digest: is_over.then(|| digest.to_string()),
        flow,
        pasts,
        recorded: None,
    })
}

impl Explained {
    /// The events of a flow of a run by a kernel.
    pub(crate) fn replayed(
        kept: KeptEvents,
        flow: usize,
        (digest, ended): (String, Instant),
        recorded: OwnedRecord,
    ) -> Self {
        Self {
            kept,
            digest: Some(digest),
            ended: Some(ended),
            flow,
            pasts: Vec::new(),
            recorded: Some(Arc::new(recorded)),
        }
    }

    /// The sender of the flow after everything before `at`, as in [`sender_of`]; simulated from a
    /// copy near that instant if it is near the events.
    ///
    /// # Errors
    /// As [`sender_of`].
    pub fn sender(&self, setup: &Setup, at: Instant) -> Result<SenderThen, StudyError> {
        if let Some(recorded) = &self.recorded {
            let then = replay_sender(setup, recorded, self.flow, at).ok().flatten();
            let flow = setup.flows[self.flow].name.to_string();
            return then.ok_or(StudyError::KernelStack { flow });
        }
        let past = self.pasts.iter().rev().find(|(since, _)| *since < at);
        let mut world = match past {
            Some((_, world)) => world.clone(),
            None => setup.world(())?,
        };
        SenderThen::of(&mut world, setup, self.flow, at)
    }
}

/// A sender at an instant.
#[derive(Clone, Copy, Debug)]
pub struct SenderThen {
    /// The view of a policy.
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
        setup: &Setup,
        flow: usize,
        at: Instant,
    ) -> Result<Self, StudyError> {
        let FlowSetup {
            name, stack, quic, ..
        } = &setup.flows[flow];
        if quic.is_some() {
            return Err(StudyError::StackSender {
                flow: name.to_string(),
                stack: stack.name(),
            });
        }
        world.run_before(at.min(setup.end))?;
        Ok(Self::of_sender(world.sender(flow_id(flow as u32))))
    }

    pub(crate) fn of_sender(sender: &Sender) -> Self {
        Self {
            view: sender.view(),
            state: sender.state(),
            backoff: sender.backoff(),
            is_window_closed: sender.has_zero_window(),
        }
    }
}

/// The sender of a flow of a run after everything before `at`.
///
/// # Errors
/// [`StudyError::UnknownFlow`], or an error of the world.
pub fn sender_of(setup: &Setup, flow: Option<&str>, at: Instant) -> Result<SenderThen, StudyError> {
    let flow = setup.flow_of_name(flow)?;
    SenderThen::of(&mut setup.world(())?, setup, flow, at)
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

impl RunObserver for Phases {
    type Detail = super::Plain;

    fn check_length(&self, _end: Instant) -> Result<(), StudyError> {
        // It only counts.
        Ok(())
    }

    fn over(&mut self, at: Instant) {
        self.close(at);
    }
}

/// The longest time without progress of a flow of a run; none if it sent nothing. `go_on` is as for
/// [`super::trace`].
///
/// # Errors
/// As [`super::trace`].
pub fn stall_of(
    setup: &Setup,
    flow: Option<&str>,
    go_on: GoOn<'_>,
) -> Result<Option<Stall>, StudyError> {
    let flow = setup.flow_of_name(flow)?;
    let (mut phases, digest) = play(setup, Phases::watching(setup), go_on)?;
    let (_, outcomes) = phases.rows(setup, midflight_sim::Digest::default());
    Ok(Stall::of(&outcomes[flow], digest))
}

impl Stall {
    pub(crate) fn of(of: &FlowOutcome, digest: String) -> Option<Self> {
        (of.total().sent > 0).then(|| Self {
            from: of.stalled_at,
            until: of.stalled_at + of.stall,
            digest,
        })
    }
}
