//! Links, nodes and the event loop, with senders and without.
//!
//! One program instead of one for each file: they would all link the same crates.
#![allow(clippy::panic, reason = "a failed test panics")]

mod bandwidth;
mod changes;
mod common;
mod cross;
mod hooks;
mod impairments;
mod purge;
mod schedules;
mod shortcuts;
mod stacks;
