//! Scenarios: links, flows, handoffs and changes in a file with units ([`ScenarioFile`]), or the
//! same as JSON.
//!
//! Data flow: text with overrides, to the file's types ([`read_scenario`]), to a checked plan
//! ([`Plan`]), to a world, to its measurements ([`run_scenarios`]).

mod access;
mod agents;
mod compile;
mod file;
mod many;
mod plan;
mod presets;
mod queue;
mod quic;
mod read;
mod size;
mod trace;
mod workload;
mod written;

pub use file::{
    ChangeFile, Direction, FlowFile, HandoffFile, LinkFile, Migration, NoticeFile, Rebind,
    ScenarioFile, Stack, SweepFile, WayFile, WiredFile,
};
pub use many::{count_pasts, run_scenarios, run_some, ScenarioRun};
pub use plan::{Plan, Problem};
pub use presets::{Preset, PRESETS};
pub use queue::{ManagedQueue, Queue, Room};
pub use read::{read_scenario, scenario_schema, Document, Origin};
pub use trace::{ColumnFile, Files, Kept, NoFiles, TraceFile};
pub use written::{
    in_column_unit, Gap, Instants, Names, Quantity, Share, Size, Stagger, Value, Written,
};
