//! Common parts of workloads.

mod measured;
mod plan;
mod sizes;

pub(super) use self::measured::quantile;
pub use self::measured::{Measure, Measured, Unit};
pub(super) use self::plan::Plan;
pub use self::sizes::{read_bytes, Sizes};
