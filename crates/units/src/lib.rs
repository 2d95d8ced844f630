//! Time, rate and sequence arithmetic in integers, and the text form of each;
//! the queue that links and senders are made of; and which name was meant.
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

/// A position in the segment sequence space of one flow: the SYN is segment 0,
/// data starts at segment 1. Counted in whole segments; in bytes only by a
/// receiver that talks to another stack.
pub type Seq = u64;
