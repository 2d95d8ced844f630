//! Experiments with the simulator: a handoff between two access links, at many instants and with
//! many schemes, measured; or one run, traced.
//!
//! ```
//! use midflight_study::scenario::{read_scenario, Origin};
//! use midflight_study::trace;
//! use midflight_units::Instant;
//!
//! let text = r#"
//! end = "10 s"
//! [links]
//! wifi.preset = "wifi"
//! lte.preset = "lte"
//! [flows.download]
//! scheme = "enhanced"
//! size = "1 MB"
//! [[handoffs]]
//! at = "0.2 s"
//! to = "lte"
//! "#;
//! let plan = read_scenario(text, Origin::Toml("move.toml"), &[], &[])?;
//! let setup = plan.setup(0)?;
//! let (events, digest) = trace(&setup, None, Instant::ZERO, &[], &mut || true)?;
//! assert!(events.iter().any(|event| event.event == "notice"));
//! assert_eq!(digest.len(), 32);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A handoff of the papers, measured, traced and explained, is in `examples/handoff.rs`.

mod error;
mod execution;
mod foreign;
pub mod lab;
mod measure;
mod network;
mod question;
mod quic;
mod radio;
pub mod recording;
mod run;
pub mod scenario;
mod setup;
mod watch;

use midflight_tcp::scheme;
pub use midflight_tcp::scheme::{schemes, Built, Knobs, Scheme};

pub use error::{nearest, StudyError};
pub use execution::Execution;
pub use foreign::Policies;
pub use measure::{
    Cause, Delivery, FlowOutcome, FlowRow, HandoffRow, PhaseOutcome, ProbeRun, RoamingRow,
    SenderPhase, StartupRow, TrainRow, WorkloadOutcome,
};
pub use midflight_quic::QuicStack;
pub use midflight_sim::ForgedAck;
pub use question::{
    run_long_flows, run_probes, run_roaming, run_startups, run_sweeps, CrossTraffic, FlowHandoff,
    FlowRun, Flows, Forgery, Handoff, HandoffKind, HandoffPrediction, LongFlow, Probe, Roaming,
    RoamingHandoffs, RoamingRun, SignalFate, Startup, Sweep, LINK_NAMES, REFERENCE_FIXED,
};
pub use radio::{read_cross, read_loss, read_reordering, Radio};
pub use setup::{FlowInfo, LinkOutage, PathChange, PhaseStart, Setup};
pub use watch::{
    capture, compare, explain, samples, sender_of, stack_log, stall_of, trace, trace_columns,
    BacklogSample, Capture, CausePlace, Codes, Compared, Divergence, EventCause, Explained,
    FlowEnd, GoOn, Keep, KeptEvents, LinkSample, Lost, Ordered, Samples, Sampling, SenderBefore,
    SenderSample, SenderThen, Stall, Texts, TraceColumns, TraceRow,
};

/// Changes whenever the digest of a run may change.
pub const MODEL_VERSION: &str = "23";
