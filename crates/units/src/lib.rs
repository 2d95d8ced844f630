//! Time, rate and sequence arithmetic in integers, and the text form of each; the queue used by
//! links and senders; and the nearest known name for an unknown one.
//!
//! An instant is nanoseconds since the start of the simulation; a duration is a
//! length of time; a rate is bits per second. Instants and durations are
//! different types, so that a sum of two instants does not compile.

mod nearest;
mod parse;
mod rate;
mod ring;
mod time;

pub use nearest::{nearest, nearest_few};
pub use parse::{parse_instants, UnitError};
pub use rate::Rate;
pub use ring::Ring;
pub use time::{Duration, Instant};

/// A position in the segment sequence space of one flow: the SYN is segment 0, data starts at
/// segment 1. Counted in whole segments; only a receiver for another stack counts bytes.
pub type Seq = u64;
