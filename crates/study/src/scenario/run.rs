//! One run of a scenario, and what is measured of each flow.

use educe::Educe;
use midflight_sim::{Digest, Event, FlowId, Observer, World};
use midflight_units::{Duration, Instant, Seq};

use super::file::Stop;
use super::plan::Plan;
use crate::error::StudyError;
use crate::execution::Progress;
use crate::flow_metrics::{FlowMetrics, FlowRow};

/// What a phase begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beginning {
    /// The run.
    #[default]
    Start,
    /// A handoff.
    Handoff,
    /// A change of the mobile node's link.
    Change,
}

impl Beginning {
    /// Its name in columns.
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Handoff => "handoff",
            Self::Change => "change",
        }
    }
}

/// What is measured of a flow from one handoff or change to the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phase {
    /// Counts, with start and end of the phase.
    pub counts: FlowRow,
    /// What it begins with.
    pub kind: Beginning,
    /// The link that the flow is on, or comes to.
    pub link: String,
    /// From the start of the phase until the first segment is acknowledged that was never sent before
    /// the new link was in use.
    pub first_new: Option<Duration>,
    /// The same for as many of them as the scenario says.
    pub all_new: Option<Duration>,
}

/// The measurements of one flow in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowOutcome {
    /// When it opened.
    pub opened: Instant,
    /// When everything that it had to send was acknowledged; none if it has no end or did not get there.
    pub finished: Option<Instant>,
    /// When the run, or the flow, was over.
    pub until: Instant,
    /// The longest time from the opening, or from an ACK of new data, to the next such ACK or the end.
    pub stall: Duration,
    /// When that began.
    pub stalled_at: Instant,
    /// From the start of the run to the first handoff or change, and so on.
    pub phases: Vec<Phase>,
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

impl FlowOutcome {
    /// The counts of all phases together.
    pub fn total(&self) -> FlowRow {
        let mut total = FlowRow::default();
        for row in self.phases.iter().map(|phase| &phase.counts) {
            total.until = row.until;
            total.acked += row.acked;
            total.sent += row.sent;
            total.rexmits += row.rexmits;
            total.timeouts += row.timeouts;
            total.spurious_timeouts += row.spurious_timeouts;
            total.detected_timeouts += row.detected_timeouts;
            total.fast_rexmits += row.fast_rexmits;
            total.false_fast_rexmits += row.false_fast_rexmits;
            total.undone_fast_rexmits += row.undone_fast_rexmits;
            total.drops_queue += row.drops_queue;
            total.drops_break += row.drops_break;
            total.drops_radio += row.drops_radio;
            total.reordered += row.reordered;
        }
        total
    }
}

/// Watches one flow.
#[derive(Educe, Debug)]
#[educe(Clone)]
struct FlowWatch {
    metrics: FlowMetrics,
    moves: bool,
    una: Seq,
    max: Seq,
    end: Option<Seq>,
    opened: Instant,
    finished: Option<Instant>,
    /// The last ACK of new data, or the opening.
    advanced: Instant,
    stall: Duration,
    stalled_at: Instant,
    /// How many new segments are timed.
    packets: u64,
    /// When the phase began, and the first segment that is new on its link.
    from: Instant,
    new_from: Option<Seq>,
    first_new: Option<Duration>,
    all_new: Option<Duration>,
    phases: Vec<(Option<Duration>, Option<Duration>)>,
}

impl FlowWatch {
    fn stalled_until(&mut self, now: Instant) {
        let stall = now.since(self.advanced);
        if stall > self.stall {
            self.stall = stall;
            self.stalled_at = self.advanced;
        }
        self.advanced = now;
    }

    fn note(&mut self, now: Instant, event: &Event<'_>) {
        match event {
            Event::Sent(segment) => self.max = self.max.max(segment.seq + 1),
            Event::AckArrived(ack) if ack.ack > self.una => {
                self.una = ack.ack;
                if self.finished.is_none() {
                    self.stalled_until(now);
                }
                if self.end.is_some_and(|end| self.una >= end) {
                    self.finished.get_or_insert(now);
                }
                if let Some(new_from) = self.new_from {
                    let since = now.since(self.from);
                    if self.una > new_from {
                        self.first_new.get_or_insert(since);
                    }
                    if self.una >= new_from + self.packets {
                        self.all_new.get_or_insert(since);
                    }
                }
            }
            _ => {}
        }
        self.metrics.note(now, event);
    }

    /// A phase ends, another begins.
    fn close(&mut self, at: Instant) {
        self.metrics.close(at, 0, 0);
        self.phases
            .push((self.first_new.take(), self.all_new.take()));
        self.from = at;
        self.new_from = None;
    }
}

/// Knows when a run is over before its end.
#[derive(Educe, Debug)]
#[educe(Clone)]
pub(super) struct Ends {
    /// One past the last segment of each flow; none for those that are there, or have no end.
    flows: Vec<Option<Seq>>,
    /// Flows that are not there yet; none if no flow has an end.
    left: Option<usize>,
    /// What is to be timed, if that ends the run.
    timing: Option<Timing>,
    pub(super) over: Option<Instant>,
}

/// The timing after the last handoff or change.
#[derive(Educe, Debug)]
#[educe(Clone)]
struct Timing {
    packets: u64,
    /// Handoffs and changes that are to come.
    makes: usize,
    flows: Vec<Timed>,
    /// Flows whose timing is not over.
    left: usize,
}

/// A flow that may be timed.
#[derive(Clone, Copy, Debug)]
struct Timed {
    moves: bool,
    opens: Instant,
    end: Seq,
    una: Seq,
    max: Seq,
    /// It is timed until this is acknowledged.
    until: Seq,
}

impl Timing {
    fn of(plan: &Plan) -> Self {
        let timed = |flow: &super::plan::Flow| Timed {
            moves: flow.on.is_none(),
            opens: flow.opens,
            end: flow.end.unwrap_or(Seq::MAX),
            una: 0,
            max: 0,
            until: 0,
        };
        Self {
            packets: plan.file.packets,
            makes: plan.makes(),
            flows: plan.flows.iter().map(timed).collect(),
            left: 0,
        }
    }

    fn note(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        let one = &mut self.flows[flow.index()];
        match event {
            Event::Sent(segment) => one.max = one.max.max(segment.seq + 1),
            Event::AckArrived(ack) if ack.ack > one.una => {
                self.left -= usize::from(one.una < one.until && one.until <= ack.ack);
                one.una = ack.ack;
            }
            Event::Make => {
                self.makes = self.makes.saturating_sub(1);
                let open = |flow: &&mut Timed| flow.moves && flow.opens <= now;
                for flow in self.flows.iter_mut().filter(open) {
                    flow.until = (flow.max + self.packets).min(flow.end);
                }
                let is_left = |flow: &&Timed| flow.una < flow.until;
                self.left = self.flows.iter().filter(is_left).count();
            }
            _ => {}
        }
    }

    fn is_done(&self) -> bool {
        self.makes == 0 && self.left == 0
    }
}

impl Ends {
    pub(super) fn new(plan: &Plan) -> Self {
        let flows: Vec<Option<Seq>> = plan.flows.iter().map(|f| f.end).collect();
        let left = flows.iter().flatten().count();
        Self {
            flows,
            left: (left > 0).then_some(left),
            timing: (plan.file.stop == Stop::Measured).then(|| Timing::of(plan)),
            over: None,
        }
    }

    /// The handoffs and changes that are to come are those of this plan, which has the same past.
    fn go_on_with(&mut self, plan: &Plan) {
        if let Some(timing) = &mut self.timing {
            timing.makes = plan.makes();
        }
    }

    pub(super) fn note(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        if let Some(timing) = &mut self.timing {
            timing.note(now, flow, event);
            if timing.is_done() {
                self.over.get_or_insert(now);
            }
        }
        let Event::AckArrived(ack) = event else {
            return;
        };
        let end = &mut self.flows[flow.index()];
        if end.is_some_and(|end| ack.ack >= end) {
            *end = None;
            self.left = self.left.map(|left| left - 1);
            if self.left == Some(0) {
                self.over.get_or_insert(now);
            }
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.over.is_some()
    }
}

/// Watches all flows.
#[derive(Educe, Debug)]
#[educe(Clone)]
pub(super) struct Watch {
    digest: Digest,
    flows: Vec<FlowWatch>,
    pub(super) ends: Ends,
}

impl Watch {
    pub(super) fn new(plan: &Plan) -> Self {
        let flow = |flow: &super::plan::Flow| FlowWatch {
            metrics: FlowMetrics::default(),
            moves: flow.on.is_none(),
            una: 0,
            max: 0,
            end: flow.end,
            opened: flow.opens,
            finished: None,
            advanced: flow.opens,
            stall: Duration::ZERO,
            stalled_at: flow.opens,
            packets: plan.file.packets,
            from: Instant::ZERO,
            new_from: None,
            first_new: None,
            all_new: None,
            phases: Vec::new(),
        };
        Self {
            digest: Digest::default(),
            flows: plan.flows.iter().map(flow).collect(),
            ends: Ends::new(plan),
        }
    }
}

impl Observer for Watch {
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        self.digest.record(now, flow, event);
        self.ends.note(now, flow, event);
        if matches!(event, Event::Make) {
            let open = |flow: &&mut FlowWatch| flow.moves && flow.opened <= now;
            for flow in self.flows.iter_mut().filter(open) {
                flow.new_from = Some(flow.max);
            }
            return;
        }
        self.flows[flow.index()].note(now, event);
    }
}

impl Plan {
    /// Plays what is left of a run, whose world is at its start or before anything was planned.
    pub(super) fn finish(
        &self,
        world: &mut World<Watch>,
        run: u64,
        progress: &Progress,
    ) -> Result<ScenarioRun, StudyError> {
        self.timeline(world, run)?;
        world.watch(FlowId::default()).0.ends.go_on_with(self);
        let marks = self.marks();
        let mut until = Instant::ZERO;
        for at in marks.iter().map(|mark| mark.0).chain([self.end()]) {
            progress.advance(world, at, |watch, _| watch.ends.is_done())?;
            let (watch, _) = world.watch(FlowId::default());
            until = watch.ends.over.unwrap_or(at);
            for flow in &mut watch.flows {
                flow.close(until);
            }
            if watch.ends.is_done() {
                break;
            }
        }
        let (watch, _) = world.watch(FlowId::default());
        let flows = self.flows.iter().zip(&mut watch.flows);
        let outcome = |(plan, flow): (&super::plan::Flow, &mut FlowWatch)| {
            if flow.finished.is_none() {
                flow.stalled_until(until);
            }
            let rows = flow.metrics.take_rows();
            let phases = rows.into_iter().zip(&flow.phases);
            let kinds = std::iter::once(Beginning::Start).chain(marks.iter().map(|mark| mark.1));
            let phases = phases.zip(kinds);
            let phase = |((counts, &(first_new, all_new)), kind): ((FlowRow, _), _)| {
                let link = plan.on.unwrap_or_else(|| self.mobile_is_on(counts.from));
                Phase {
                    kind,
                    link: self.access[link].name.clone(),
                    counts,
                    first_new,
                    all_new,
                }
            };
            FlowOutcome {
                opened: flow.opened,
                finished: flow.finished,
                until: flow.finished.unwrap_or(until),
                stall: flow.stall,
                stalled_at: flow.stalled_at,
                phases: phases.map(phase).collect(),
            }
        };
        Ok(ScenarioRun {
            run,
            flows: flows.map(outcome).collect(),
            digest: watch.digest,
        })
    }
}
