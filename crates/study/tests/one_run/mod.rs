//! One run of a question, traced or captured.
#![allow(dead_code, reason = "each test uses a part of it")]

use midflight_study::scenario::Plan;
use midflight_study::{
    Capture, GoOn, Handoff, Knobs, LongFlow, Roaming, Setup, StudyError, Sweep, TraceRow,
};
use midflight_units::Instant;

/// A handoff with one scheme, at one instant or without a handoff.
#[derive(Clone, Debug)]
pub(crate) struct TraceRun {
    pub(crate) handoff: Handoff,
    pub(crate) at: Option<Instant>,
    pub(crate) scheme: String,
    pub(crate) resident_scheme: String,
    pub(crate) flow: u32,
    pub(crate) profile: String,
    pub(crate) knobs: Knobs,
    pub(crate) packets: u64,
    pub(crate) end: Instant,
}

impl TraceRun {
    pub(crate) fn setup(&self) -> Result<Setup, StudyError> {
        let sweep = Sweep {
            handoff: self.handoff,
            at: self.at.into_iter().collect(),
            schemes: vec![self.scheme.clone()],
            resident_scheme: self.resident_scheme.clone(),
            profile: self.profile.clone(),
            knobs: self.knobs.clone(),
            policies: Vec::new(),
            packets: self.packets,
            extra: Vec::new(),
            window: None,
            end: self.end,
        };
        Ok(sweep.setups()?.remove(0))
    }

    fn flow(&self) -> String {
        let moving = self.handoff.flows.moving;
        match self.flow.checked_sub(moving) {
            None => format!("flow-{}", self.flow),
            Some(resident) => format!("resident-{resident}"),
        }
    }
}

type Traced = Result<(Vec<TraceRow>, String), StudyError>;
type Captured = Result<(Vec<Capture>, String), StudyError>;

pub(crate) fn trace(run: &TraceRun, go_on: GoOn<'_>) -> Traced {
    let setup = run.setup()?;
    let flow = run.flow();
    midflight_study::trace(&setup, Some(&flow), Instant::ZERO, &[], go_on)
}

pub(crate) fn capture(run: &TraceRun, snap: u32, go_on: GoOn<'_>) -> Captured {
    let setup = run.setup()?;
    let flow = run.flow();
    midflight_study::capture(&setup, Some(&flow), snap, go_on)
}

pub(crate) fn trace_roaming(
    of: &Roaming,
    run: u64,
    from: Instant,
    until: Instant,
    only: &[String],
    go_on: GoOn<'_>,
) -> Traced {
    midflight_study::trace(&of.setup(run)?.until(until), None, from, only, go_on)
}

pub(crate) fn capture_roaming(
    of: &Roaming,
    run: u64,
    until: Instant,
    snap: u32,
    go_on: GoOn<'_>,
) -> Captured {
    midflight_study::capture(&of.setup(run)?.until(until), None, snap, go_on)
}

pub(crate) fn trace_long_flow(
    of: &LongFlow,
    run: u64,
    from: Instant,
    until: Instant,
    only: &[String],
    go_on: GoOn<'_>,
) -> Traced {
    midflight_study::trace(&of.setup(run)?.until(until), None, from, only, go_on)
}

pub(crate) fn capture_long_flow(
    of: &LongFlow,
    run: u64,
    until: Instant,
    snap: u32,
    go_on: GoOn<'_>,
) -> Captured {
    midflight_study::capture(&of.setup(run)?.until(until), None, snap, go_on)
}

pub(crate) fn trace_scenario(
    plan: &Plan,
    run: u64,
    flow: Option<&str>,
    from: Instant,
    only: &[String],
    go_on: GoOn<'_>,
) -> Traced {
    midflight_study::trace(&plan.setup(run)?, flow, from, only, go_on)
}

pub(crate) fn capture_scenario(
    plan: &Plan,
    run: u64,
    flow: Option<&str>,
    snap: u32,
    go_on: GoOn<'_>,
) -> Captured {
    midflight_study::capture(&plan.setup(run)?, flow, snap, go_on)
}
