//! A TCP sender and receiver that do no I/O, read no clock and start no
//! thread. The caller owns time: it hands in segments, ACKs, notices and timer
//! expiries with the present instant, and polls for what to transmit and when
//! to call again.
//!
//! Sequence numbers count whole segments: the SYN is segment 0, data starts at
//! segment 1. An ACK number is the next segment expected.

mod config;
mod event;
mod measurement;
mod receiver;
mod recovery;
pub mod scheme;
mod segment;
mod sender;
mod state;

pub use config::{
    profile, ConfigError, InitialWindow, PartialAckTimer, Profile, ReceiverConfig, RecoveryKind,
    RecoveryRules, ResponseLoad, RtoRecoveryEnd, RttSampling, SenderConfig, PROFILES, SETTINGS,
};
pub use event::{Log, SenderEvent, Wake};
pub use receiver::Receiver;
pub use segment::{
    Ack, SackBlock, SackBlocks, Says, Segment, SegmentOption, TrainMark, ACK_HEADER_BYTES,
};
pub use sender::Sender;
pub use state::{State, Transition, Trigger, TRANSITIONS};
