//! Real QUIC stacks as ends of a flow in the simulator: unmodified, in virtual time, with every random
//! source pinned by a seed.
//!
//! A stack gets datagrams and the time, and returns datagrams and the next timeout. The driver puts
//! its packets into datagrams of IPv4 and UDP, opens its streams, and reports to the simulator what
//! is observed of it ([`midflight_sim::Report`]): which bytes of the flow's data a datagram has,
//! which are acknowledged, when a probe timeout fires, and the state of a path. All of it is
//! observed at a stack's replaceable parts: the cryptography, the congestion controller and its log
//! messages.

mod driver;
mod flow;
mod frames;
mod ip;
mod ledger;
mod machine;
#[cfg(feature = "noq")]
mod noq;
mod observation;
#[cfg(feature = "quinn")]
mod quinn;
#[cfg(all(feature = "tls", any(feature = "quinn", feature = "noq")))]
mod tls;

pub mod foreign;

pub use flow::{Congestion, Flow, Log, QuicStack, Refused, PORT, SEGMENT_BYTES};
