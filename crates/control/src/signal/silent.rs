//! No signal: the node acknowledges as usual (plain TCP).

use super::{HandoffSignal, Signal};
use crate::part::{Part, PartInfo};

/// It has no state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Silent;

impl Part for Silent {
    const INFO: PartInfo = PartInfo {
        name: "silent",
        summary: "a mobile node that sends no signal",
        source: "RFC 9293",
        knobs: &[],
    };
}

impl HandoffSignal for Silent {
    fn on_attached(&mut self) -> Signal {
        Signal::default()
    }
}
