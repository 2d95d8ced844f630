//! The questions of the papers. Each compiles to setups with a measure.

mod flow;
mod handoff;
mod numbered;
mod probe;
mod roam;
mod startup;

pub use self::flow::{run_long_flows, CrossTraffic, FlowHandoff, FlowRun, LongFlow};
pub use self::handoff::{
    run_sweeps, Flows, Handoff, HandoffKind, Sweep, LINK_NAMES, REFERENCE_FIXED,
};
pub use self::probe::{run_probes, Probe};
pub(crate) use self::roam::MOST_STATIONS;
pub use self::roam::{
    run_roaming, Forgery, HandoffPrediction, Roaming, RoamingHandoffs, RoamingRun, SignalFate,
};
pub use self::startup::{run_startups, Startup};
