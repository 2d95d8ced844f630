//! A TCP sender and receiver that do no I/O, read no clock and start no
//! thread. The caller owns time: it passes in segments, ACKs, notices and timer expiries with the
//! current instant, and polls for segments to transmit and for the time of the next call.
//!
//! Sequence numbers count whole segments: the SYN is segment 0, data starts at
//! segment 1. An ACK number is the next segment expected.
//!
//! ```
//! use midflight_tcp::{profile, Receiver, Sender};
//! use midflight_units::{Duration, Instant};
//!
//! let profile = profile("rfc")?;
//! let mut sender = Sender::new(&profile.sender, &profile.parts, []);
//! let mut receiver = Receiver::new(profile.receiver);
//! // The SYN and ten segments of data. `()` ignores what the sender reports of itself.
//! sender.set_end(11);
//! let mut now = Instant::ZERO;
//! sender.open(now, &mut ());
//! while !sender.is_done() {
//!     let mut acks = Vec::new();
//!     while let Some(segment) = sender.poll_transmit(now) {
//!         acks.extend(receiver.on_segment(now, &segment));
//!     }
//!     now += Duration::from_millis(100);
//!     // The receiver may have delayed the ACK of the last segment.
//!     acks.extend(receiver.on_timer(now));
//!     for ack in &acks {
//!         sender.on_ack(now, ack, &mut ());
//!     }
//! }
//! assert!(receiver.has(10) && !receiver.has(11));
//! # Ok::<(), midflight_tcp::ConfigError>(())
//! ```
//!
//! A program with a path that delays and loses packets is in `examples/two_endpoints.rs`.

mod answers;
mod config;
mod event;
mod measurement;
mod receiver;
mod recovery;
pub mod scheme;
mod segment;
mod sender;
mod sizes;
mod state;

pub use config::{
    profile, AckRules, Bursts, ConfigError, ControllerAfter, InFlightAfter, InitialWindow,
    Migration, PartialAckTimer, PortOnly, Profile, PrrRules, ReceiveBuffer, ReceiverConfig,
    RecoveryKind, RecoveryRules, ResponseLoad, RtoRecoveryEnd, RttAfter, RttSampling, SenderConfig,
    SenderParts, SlowStart, Switch, LINUX_SLACK, MIGRATIONS, PROFILES, QUIC_OVERHEAD, SETTINGS,
};
pub use event::{Author, Log, PathEvent, SenderEvent, Wake};
pub use receiver::{ReceiveSpace, Receiver, ReceiverTally};
pub use recovery::{SizeProbe, Tally, RECOVERIES};
pub use segment::{
    Ack, AckOption, Content, EcnCodepoint, SackBlock, SackBlocks, Segment, SegmentOption, Source,
    TrainMark, ACK_HEADER_BYTES,
};
pub use sender::{Sender, Unusual};
pub use state::{State, Transition, Trigger, TRANSITIONS};
