//! An example of a congestion controller: Reno that gives up a quarter of the window, not half
//! (CONTRIBUTING.md, "Adding an algorithm").

use midflight_units::Instant;

use super::{AckCounting, Congestion, Window};
use crate::part::{Part, PartInfo};

/// It keeps no state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Milder;

impl Part for Milder {
    const INFO: PartInfo = PartInfo {
        name: "milder",
        summary: "Reno with three quarters of what was in flight after a loss",
        source: "CONTRIBUTING.md",
        knobs: &[],
    };
}

impl Congestion for Milder {
    fn on_ack(&mut self, window: &mut Window, segments: u64, counting: AckCounting) {
        super::reno::grow(window, segments, counting);
    }

    fn ssthresh_after_loss(&mut self, _now: Instant, load: f64) -> f64 {
        (load * 0.75).floor().max(2.0)
    }
}
