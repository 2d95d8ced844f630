//! Questions asked of the simulator: a handoff between two access links, at
//! many instants and with many schemes, measured; or one run, traced.

mod error;
mod execution;
mod measure;
mod network;
mod question;
mod radio;
mod run;
pub mod scenario;
mod setup;
mod watch;

use midflight_tcp::scheme;
pub use midflight_tcp::scheme::{schemes, Built, Knobs, Scheme};

pub use error::{nearest, StudyError};
pub use execution::Execution;
pub use measure::{
    Cause, FlowOutcome, FlowRow, HandoffRow, Phase, ProbeRun, RoamingRow, SenderPhase, StartupRow,
    TrainRow,
};
pub use midflight_sim::ForgedAck;
pub use question::{
    run_long_flows, run_probes, run_roaming, run_startups, run_sweeps, CrossTraffic, FlowRun,
    Flows, Foresight, Forgery, Handoff, HandoffKind, Handover, Handovers, LongFlow, Probe, Roaming,
    RoamingRun, SignalFate, Startup, Sweep, LINK_NAMES, REFERENCE_FIXED,
};
pub use radio::{read_cross, read_loss, read_reordering, Radio};
pub use setup::{Beginning, FlowTold, PathChange, Setup};
pub use watch::{
    capture, compare, explain, sender_of, stall_of, trace, Because, Capture, CausePlace, Compared,
    Explained, GoOn, Keep, Kept, Parted, SenderThen, Stall, Standing, TraceRow,
};

/// Changes whenever the digest of a run may change.
pub const MODEL_VERSION: &str = "5";
