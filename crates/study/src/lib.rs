//! Questions asked of the simulator: a handoff between two access links, at
//! many instants and with many schemes, measured; or one run, traced.

mod error;
mod handoff;
mod metrics;
mod scheme;
mod sweep;
mod trace;

pub use error::StudyError;
pub use handoff::{Handoff, HandoffKind, LINK_NAMES, REFERENCE_FIXED};
pub use metrics::{HandoffRow, Phase};
pub use scheme::{schemes, Built, Knobs, Scheme};
pub use sweep::{run_sweeps, Execution, Sweep};
pub use trace::{trace, TraceRow, TraceRun};

/// Changes whenever the digest of a run may change.
pub const MODEL_VERSION: &str = "1";
