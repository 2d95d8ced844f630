//! The sender and the receiver without a network.
//!
//! One program instead of one for each file: they would all link the same crates.
#![allow(clippy::panic, reason = "a failed test panics")]

mod closed_window;
mod common;
mod ecn;
mod expect_reordering;
mod frto;
mod handoff;
mod linux_kernel;
mod linux_receiver;
mod pacing;
mod quic;
mod rapid;
mod recovery;
mod reordering;
mod trains;
mod undo;
mod westwood;
