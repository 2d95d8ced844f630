//! Questions asked of the simulator: a handoff between two access links, at
//! many instants and with many schemes, measured; or one run, traced.

mod capture;
mod causes;
mod drill;
mod error;
mod estimation;
mod execution;
mod flow_metrics;
mod handoff;
mod long_flow;
mod metrics;
mod radio;
mod roaming;
pub mod scenario;
mod scheme;
mod startup;
mod sweep;
mod trace;

pub use capture::Capture;
pub use causes::{Because, Keep, Kept, Place, Standing};
pub use drill::{
    drill_fields, run_drill, DrillError, DrillRequest, DrillRun, Failure as DrillFailure,
    Note as DrillNote,
};
pub use error::{nearest, StudyError};
pub use estimation::{run_probes, Probe, ProbeRun, TrainRow};
pub use execution::Execution;
pub use flow_metrics::{Cause, FlowRow};
pub use handoff::{Flows, Handoff, HandoffKind, LINK_NAMES, REFERENCE_FIXED};
pub use long_flow::{
    capture_long_flow, run_long_flows, trace_long_flow, CrossTraffic, FlowRun, Handover, LongFlow,
};
pub use metrics::{HandoffRow, Phase};
pub use radio::{read_cross, read_loss, read_reordering, Radio};
pub use roaming::{
    capture_roaming, run_roaming, trace_roaming, Foresight, ForgedAck, Forgery, Handovers, Roaming,
    RoamingRow, RoamingRun, SignalFate,
};
pub use scheme::{schemes, Built, Knobs, Scheme};
pub use startup::{run_startups, Startup, StartupRow};
pub use sweep::{run_sweeps, Sweep};
pub use trace::{capture, trace, GoOn, TraceRow, TraceRun};

/// Changes whenever the digest of a run may change.
pub const MODEL_VERSION: &str = "5";
