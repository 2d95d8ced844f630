//! Runs of whole networks: questions, scenarios, captures, against ns-2 and among each other.
//!
//! One program instead of one for each file: they would all link the same crates.
#![allow(clippy::panic, reason = "a failed test panics")]

mod agents;
mod capture;
mod determinism;
mod ns2;
mod ns2_impaired;
mod one_run;
mod quick_start;
mod rapid;
mod recording_columns;
mod recordings;
mod reordering;
mod roaming;
mod scenario;
mod scenario_limits;
mod scenario_pasts;
mod scenario_reading;
mod scenarios;
mod several_flows;
mod startup;
mod steady;
mod traces;
mod workloads;
