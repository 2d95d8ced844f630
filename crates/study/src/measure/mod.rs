//! Measurements of a run. Each kind of measure is one file: it gets every event and the marks of the
//! timeline, and decides when the measurement is complete, which ends the run.

mod counts;
mod handoff;
mod phases;
mod starts;
mod stays;
mod trains;

use midflight_sim::{Digest, Endpoints, Event, FlowId, Observer};
use midflight_units::{Duration, Instant};

pub(crate) use self::counts::Intervals;
pub use self::counts::{Cause, FlowRow};
pub(crate) use self::handoff::{EachHandoff, OneHandoff};
pub use self::handoff::{HandoffRow, SenderPhase};
pub(crate) use self::phases::Phases;
pub use self::phases::{Delivery, FlowOutcome, PhaseOutcome, WorkloadOutcome};
pub(crate) use self::starts::Starts;
pub use self::starts::StartupRow;
pub(crate) use self::stays::CellVisits;
pub use self::stays::RoamingRow;
pub(crate) use self::trains::Trains;
pub use self::trains::{ProbeRun, TrainRow};
use crate::setup::{Mark, Setup};

/// The kind of measurement of a setup, with the parameters of the measure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Measured {
    /// A handoff: the time of this many packets after it.
    Handoff {
        packets: u64,
        extra: Vec<u64>,
        window: Option<Duration>,
    },
    /// The counts of each flow from one handoff or change to the next, and the time of this many packets
    /// after each. With `ends_run` the run ends when the last of these times is known.
    Phases { packets: u64, ends_run: bool },
    /// The first flow, interval by interval.
    Intervals,
    /// Every flow, from one handoff of the first one's node to the next.
    CellVisits,
    /// Flow start-up: the time of this many packets.
    Starts {
        counts: Vec<u64>,
        window: Option<Duration>,
        /// Flows from this number on were open before.
        residents: usize,
        /// When the first of the other flows opens.
        start: Instant,
    },
    /// The trains of the first flow.
    Trains,
}

/// A measure of one kind.
pub(crate) trait Measure: Observer + Clone + Send + Sync {
    /// Its result for a run.
    type Rows: Send;

    /// The state before any event. Equal for setups with a shared prefix.
    fn new(setup: &Setup) -> Self;

    /// The total number of makes of the run.
    fn expect(&mut self, _makes: usize) {}

    /// A mark of the timeline is reached.
    fn mark(&mut self, _mark: &Mark, _at: Instant, _now: Endpoints<'_>) {}

    /// Whether everything is measured once no event before `next` is left.
    fn is_done(&self, _next: Instant) -> bool {
        false
    }

    /// The run is over.
    fn end(&mut self, _at: Instant, _now: Endpoints<'_>) {}

    /// The measurements of a run of this setup.
    fn rows(&mut self, setup: &Setup, digest: Digest) -> Self::Rows;
}

/// A measure of any kind, for a run with another observer: the run ends when the measure would end it.
#[derive(Clone, Debug)]
pub(crate) enum AnyMeasure {
    Handoff(Box<EachHandoff>),
    Phases(Phases),
    Intervals(Box<Intervals>),
    CellVisits(CellVisits),
    Starts(Starts),
    Trains(Trains),
}

macro_rules! each {
    ($of:expr, $measure:ident => $do:expr) => {
        match $of {
            AnyMeasure::Handoff($measure) => $do,
            AnyMeasure::Phases($measure) => $do,
            AnyMeasure::Intervals($measure) => $do,
            AnyMeasure::CellVisits($measure) => $do,
            AnyMeasure::Starts($measure) => $do,
            AnyMeasure::Trains($measure) => $do,
        }
    };
}

impl Observer for AnyMeasure {
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        each!(self, measure => measure.record(now, flow, event));
    }
}

impl Measure for AnyMeasure {
    type Rows = ();

    fn new(setup: &Setup) -> Self {
        match *setup.measured {
            Measured::Handoff { .. } => Self::Handoff(Box::new(Measure::new(setup))),
            Measured::Phases { .. } => Self::Phases(Measure::new(setup)),
            Measured::Intervals => Self::Intervals(Box::new(Measure::new(setup))),
            Measured::CellVisits => Self::CellVisits(Measure::new(setup)),
            Measured::Starts { .. } => Self::Starts(Measure::new(setup)),
            Measured::Trains => Self::Trains(Measure::new(setup)),
        }
    }

    fn expect(&mut self, makes: usize) {
        each!(self, measure => measure.expect(makes));
    }

    fn mark(&mut self, mark: &Mark, at: Instant, now: Endpoints<'_>) {
        each!(self, measure => measure.mark(mark, at, now));
    }

    fn is_done(&self, next: Instant) -> bool {
        each!(self, measure => measure.is_done(next))
    }

    fn end(&mut self, at: Instant, now: Endpoints<'_>) {
        each!(self, measure => measure.end(at, now));
    }

    fn rows(&mut self, _setup: &Setup, _digest: Digest) {}
}
