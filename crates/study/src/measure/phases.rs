//! Measurements of each flow of a scenario, from one handoff or change to the next.

use educe::Educe;
use midflight_sim::{Digest, Endpoints, Event, FlowId, Observer};
use midflight_units::{Duration, Instant, Seq};

use super::counts::{FlowMetrics, FlowRow};
use super::{Measure, Measured as What};
use crate::setup::{FlowSetup, Mark, PhaseStart, Setup};
use midflight_control::workload::{AnyWorkload, Measured, DONE};

/// Measurements of a flow from one handoff or change to the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseOutcome {
    /// Counts, with start and end of the phase.
    pub counts: FlowRow,
    /// The event that begins it.
    pub kind: PhaseStart,
    /// Name of the link that the flow is on, or moves to.
    pub link: String,
    /// From the start of the phase until the ACK of the first segment that was not sent before the new link was in use.
    pub first_new: Option<Duration>,
    /// The same for the scenario's number of such segments.
    pub all_new: Option<Duration>,
}

/// The measurements of one flow in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowOutcome {
    /// When it opened.
    pub opened: Instant,
    /// When all of its data was acknowledged and had arrived, or its application was done; none if it is unlimited or
    /// did not finish.
    pub finished: Option<Instant>,
    /// When the run or the flow ended.
    pub until: Instant,
    /// The longest time from the opening, or from an ACK of new data, to the next such ACK or the end. For a flow with
    /// an application only times count in which messages of it are in transit.
    pub stall: Duration,
    /// When that began.
    pub stalled_at: Instant,
    /// Data that nodes on the path acknowledged; None without agents.
    pub delivery: Option<Delivery>,
    /// The phases: from the start of the run to the first handoff or change, and so on.
    pub phases: Vec<PhaseOutcome>,
    /// The measurements of its workload; of several flows the first one has them.
    pub workload: Option<WorkloadOutcome>,
}

/// The measurements of a workload in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadOutcome {
    /// The measure.
    pub measures: &'static [midflight_control::workload::Measure],
    /// Its values, in the same order.
    pub measured: Measured,
}

/// Data acknowledged to a sender, and data that had arrived, in a network with agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// When the last data segment of a flow with an end arrived.
    pub at: Option<Instant>,
    /// Maximum number of segments that were acknowledged to the sender but not yet by the receiver.
    pub ahead: u64,
    /// The number of such segments at the end of the run that had not arrived.
    pub missing: u64,
    una: Seq,
    /// The next segment that the receiver has not acknowledged.
    next: Seq,
    /// Data that have arrived in order; their ACK may be delayed.
    there: Seq,
    /// Data segments that have arrived.
    arrived: u64,
}

impl Delivery {
    /// An event of its flow.
    #[inline(always)]
    fn note(&mut self, now: Instant, event: &Event<'_>, end: Option<Seq>) {
        match event {
            Event::Arrived {
                segment,
                duplicate: false,
                ..
            } if segment.has_data() && segment.seq > 0 => {
                self.arrived += 1;
                if segment.seq == self.there {
                    self.there += 1;
                }
                if end.is_some_and(|end| self.arrived + 1 >= end) {
                    self.at.get_or_insert(now);
                }
            }
            Event::AckSent(ack) => {
                self.next = self.next.max(ack.ack);
                self.there = self.there.max(ack.ack);
            }
            Event::AckArrived(ack) => {
                self.una = self.una.max(ack.ack);
                self.ahead = self.ahead.max(self.una.saturating_sub(self.next));
            }
            _ => return,
        }
        // The last ACKs of the receiver may be in transit when the run ends.
        let is_there = self.at.is_some();
        self.missing = if is_there {
            0
        } else {
            self.una.saturating_sub(self.there)
        };
    }
}

impl FlowOutcome {
    /// The sum of the counts of all phases.
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
            total.drops_early += row.drops_early;
            total.marks += row.marks;
            total.node_sent += row.node_sent;
            total.node_kept += row.node_kept;
            total.drops_break += row.drops_break;
            total.drops_radio += row.drops_radio;
            total.reordered += row.reordered;
        }
        total
    }
}

/// Measures one flow.
#[derive(Educe, Debug)]
#[educe(Clone)]
struct FlowTracker {
    metrics: FlowMetrics,
    moves: bool,
    una: Seq,
    max: Seq,
    end: Option<Seq>,
    opened: Instant,
    finished: Option<Instant>,
    /// The last ACK of new data, or the opening, or when the application began to wait.
    advanced: Instant,
    /// Number of reasons to wait: always one without an application; with one, one for each direction that has messages
    /// in transit.
    waits: u32,
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

impl FlowTracker {
    fn stalled_until(&mut self, now: Instant) {
        let stall = now.since(self.advanced);
        if self.waits > 0 && stall > self.stall {
            self.stall = stall;
            self.stalled_at = self.advanced;
        }
        self.advanced = now;
    }

    /// An event of the flow.
    #[inline(always)]
    fn note(&mut self, now: Instant, event: &Event<'_>) {
        match event {
            Event::Sent(segment) => self.max = self.max.max(segment.seq + 1),
            Event::AckArrived(ack) if ack.ack > self.una => self.on_ack(now, ack.ack),
            Event::Waits(begins) => self.wait(now, *begins),
            Event::App(event) if event.what == DONE => {
                self.stalled_until(now);
                self.finished.get_or_insert(now);
            }
            _ => {}
        }
        self.metrics.note(now, event);
    }

    /// An ACK of new data.
    #[inline]
    fn on_ack(&mut self, now: Instant, ack: Seq) {
        self.una = ack;
        if self.finished.is_none() {
            self.stalled_until(now);
        }
        if self.end.is_some_and(|end| ack >= end) {
            self.finished.get_or_insert(now);
        }
        if let Some(new_from) = self.new_from {
            let since = now.since(self.from);
            if ack > new_from {
                self.first_new.get_or_insert(since);
            }
            if ack >= new_from + self.packets {
                self.all_new.get_or_insert(since);
            }
        }
    }

    /// The application has one more or one less reason to wait.
    #[inline(never)]
    fn wait(&mut self, now: Instant, begins: bool) {
        if self.finished.is_none() {
            self.stalled_until(now);
        }
        self.waits = if begins {
            self.waits + 1
        } else {
            self.waits - 1
        };
    }

    /// A phase ends, and another begins.
    fn close(&mut self, at: Instant) {
        self.metrics.close(at, 0, 0);
        self.phases
            .push((self.first_new.take(), self.all_new.take()));
        self.from = at;
        self.new_from = None;
    }
}

/// Detects that a run is complete before its end.
#[derive(Educe, Debug)]
#[educe(Clone)]
struct Ends {
    /// One past the last segment of each flow; the maximum value if its application decides when it is done; none for
    /// flows that are done or unlimited.
    flows: Vec<Option<Seq>>,
    /// Number of flows that are not done; none if no flow has an end.
    left: Option<usize>,
    /// Arrived data of each flow, if nodes may acknowledge data earlier.
    deliveries: Option<Vec<Delivery>>,
    /// The timing, if its end ends the run.
    timing: Option<Timing>,
    pub(super) over: Option<Instant>,
}

/// The timing after the last handoff or change.
#[derive(Educe, Debug)]
#[educe(Clone)]
struct Timing {
    packets: u64,
    /// Makes so far, and in total.
    made: usize,
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
    /// Its timing ends when this is acknowledged.
    until: Seq,
}

impl Timing {
    fn of(setup: &Setup, packets: u64) -> Self {
        let timed = |flow: &FlowSetup| Timed {
            moves: flow.stays.is_none(),
            opens: flow.opens,
            end: flow.end.unwrap_or(Seq::MAX),
            una: 0,
            max: 0,
            until: 0,
        };
        Self {
            packets,
            made: 0,
            makes: usize::MAX,
            flows: setup.flows.iter().map(timed).collect(),
            left: 0,
        }
    }

    #[inline(always)]
    fn note(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        let one = &mut self.flows[flow.index()];
        match event {
            Event::Sent(segment) => one.max = one.max.max(segment.seq + 1),
            Event::AckArrived(ack) if ack.ack > one.una => {
                self.left -= usize::from(one.una < one.until && one.until <= ack.ack);
                one.una = ack.ack;
            }
            Event::Make => self.make(now),
            _ => {}
        }
    }

    #[inline(never)]
    fn make(&mut self, now: Instant) {
        self.made += 1;
        let open = |flow: &&mut Timed| flow.moves && flow.opens <= now;
        for flow in self.flows.iter_mut().filter(open) {
            flow.until = (flow.max + self.packets).min(flow.end);
        }
        let is_left = |flow: &&Timed| flow.una < flow.until;
        self.left = self.flows.iter().filter(is_left).count();
    }

    fn is_done(&self) -> bool {
        self.made == self.makes && self.left == 0
    }
}

impl Ends {
    fn new(setup: &Setup, packets: Option<u64>) -> Self {
        let end = |flow: &FlowSetup| flow.app.map(|_| Seq::MAX).or(flow.end);
        let flows: Vec<Option<Seq>> = setup.flows.iter().map(end).collect();
        let left = flows.iter().flatten().count();
        Self {
            flows,
            left: (left > 0).then_some(left),
            deliveries: setup
                .network
                .has_agents()
                .then(|| vec![Delivery::default(); setup.flows.len()]),
            timing: packets.map(|packets| Timing::of(setup, packets)),
            over: None,
        }
    }

    #[inline(always)]
    fn note(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        if let Some(timing) = &mut self.timing {
            timing.note(now, flow, event);
            if timing.is_done() {
                self.over.get_or_insert(now);
            }
        }
        let end = &mut self.flows[flow.index()];
        let reached = match (&mut self.deliveries, event) {
            (_, Event::App(event)) if event.what == DONE => Seq::MAX,
            (None, Event::AckArrived(ack)) => ack.ack,
            (None, _) => return,
            (Some(deliveries), event) => {
                let delivery = &mut deliveries[flow.index()];
                delivery.note(now, event, *end);
                // It is not done before all data has arrived.
                if delivery.at.is_none() {
                    return;
                }
                delivery.una
            }
        };
        if end.is_some_and(|end| reached >= end) {
            *end = None;
            self.left = self.left.map(|left| left - 1);
            if self.left == Some(0) {
                self.over.get_or_insert(now);
            }
        }
    }

    fn is_done(&self) -> bool {
        self.over.is_some()
    }
}

/// Measures all flows.
#[derive(Educe, Debug)]
#[educe(Clone)]
pub(crate) struct Phases {
    flows: Vec<FlowTracker>,
    ends: Ends,
    /// The event with which each phase except the first begins.
    begun: Vec<Mark>,
    until: Instant,
    workloads: Vec<WorkloadOutcome>,
}

impl Observer for Phases {
    // The kind of an event is known at compile time where it is reported: inlined, code for other kinds is removed,
    // and a segment or an ACK need not be in memory.
    #[inline(always)]
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        self.ends.note(now, flow, event);
        if matches!(event, Event::Make) {
            self.make(now);
            return;
        }
        self.flows[flow.index()].note(now, event);
    }
}

impl Phases {
    /// The new route is in use: the next segments of the flows that move are new on it.
    #[inline(never)]
    fn make(&mut self, now: Instant) {
        let open = |flow: &&mut FlowTracker| flow.moves && flow.opened <= now;
        for flow in self.flows.iter_mut().filter(open) {
            flow.new_from = Some(flow.max);
        }
    }

    /// The same for a run with another observer, which this does not end.
    pub(crate) fn watching(setup: &Setup) -> Self {
        let mut phases = Self::new(setup);
        phases.ends = Ends {
            timing: None,
            ..phases.ends
        };
        phases
    }

    /// A phase ends, at the latest when the run was complete.
    pub(crate) fn close(&mut self, at: Instant) {
        let at = self.ends.over.unwrap_or(at);
        self.until = at;
        for flow in &mut self.flows {
            flow.close(at);
        }
    }
}

impl Measure for Phases {
    type Rows = (Digest, Vec<FlowOutcome>);

    fn new(setup: &Setup) -> Self {
        let (packets, ends_run) = match *setup.measured {
            What::Phases { packets, ends_run } => (packets, ends_run),
            _ => (1, false),
        };
        let flow = |flow: &FlowSetup| FlowTracker {
            metrics: FlowMetrics::default(),
            moves: flow.stays.is_none(),
            una: 0,
            max: 0,
            end: flow.end,
            opened: flow.opens,
            finished: None,
            advanced: flow.opens,
            waits: u32::from(flow.app.is_none()),
            stall: Duration::ZERO,
            stalled_at: flow.opens,
            packets,
            from: Instant::ZERO,
            new_from: None,
            first_new: None,
            all_new: None,
            phases: Vec::new(),
        };
        Self {
            flows: setup.flows.iter().map(flow).collect(),
            ends: Ends::new(setup, ends_run.then_some(packets)),
            begun: Vec::new(),
            workloads: Vec::new(),
            until: Instant::ZERO,
        }
    }

    fn expect(&mut self, makes: usize) {
        if let Some(timing) = &mut self.ends.timing {
            timing.makes = makes;
        }
    }

    fn mark(&mut self, mark: &Mark, at: Instant, _now: Endpoints<'_>) {
        self.close(at);
        self.begun.push(*mark);
    }

    fn is_done(&self, _next: Instant) -> bool {
        self.ends.is_done()
    }

    fn end(&mut self, at: Instant, now: Endpoints<'_>) {
        self.close(at);
        let outcome = |workload: &AnyWorkload| WorkloadOutcome {
            measures: workload.measures(),
            measured: workload.measured(self.until),
        };
        self.workloads = now.workloads().map(outcome).collect();
    }

    fn rows(&mut self, setup: &Setup, digest: Digest) -> Self::Rows {
        let until = self.until;
        let start = Mark {
            kind: PhaseStart::Start,
            make: Instant::ZERO,
            place: setup.start,
        };
        let name = |place: u16| {
            let place = setup.network.places.get(usize::from(place));
            place.map_or(String::new(), |place| place.name.to_string())
        };
        let begun = || std::iter::once(&start).chain(&self.begun);
        let mut workloads = vec![None; setup.flows.len()];
        for (app, outcome) in setup.apps.iter().zip(&self.workloads) {
            if let Some(first) = app.connections.first() {
                workloads[first.data as usize] = Some(outcome.clone());
            }
        }
        let deliveries = self.ends.deliveries.clone().unwrap_or_default();
        let outcome = |(number, ((of, flow), workload)): (
            usize,
            ((&FlowSetup, &mut FlowTracker), Option<WorkloadOutcome>),
        )| {
            if flow.finished.is_none() {
                flow.stalled_until(until);
            }
            let delivery = deliveries.get(number).copied();
            // With a node that acknowledges data itself, a flow is done only when all data has arrived too.
            let finished = flow.finished.and_then(|acknowledged| match delivery {
                Some(delivery) => delivery.at.map(|at| at.max(acknowledged)),
                None => Some(acknowledged),
            });
            let rows = flow.metrics.take_rows();
            let phases = rows.into_iter().zip(&flow.phases).zip(begun());
            let phase =
                |((counts, &(first_new, all_new)), mark): ((FlowRow, _), &Mark)| PhaseOutcome {
                    kind: mark.kind,
                    link: name(of.stays.unwrap_or(mark.place)),
                    counts,
                    first_new,
                    all_new,
                };
            FlowOutcome {
                opened: flow.opened,
                finished,
                until: finished.unwrap_or(until),
                stall: flow.stall,
                stalled_at: flow.stalled_at,
                delivery,
                phases: phases.map(phase).collect(),
                workload,
            }
        };
        let flows = setup.flows.iter().zip(&mut self.flows).zip(workloads);
        (digest, flows.enumerate().map(outcome).collect())
    }
}
