//! An example of a handoff signal: two copies of the last ACK on the new link
//! (CONTRIBUTING.md, "Adding an algorithm").

use super::{HandoffSignal, Signal};
use crate::part::{Part, PartInfo};

/// It keeps no state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Twice;

impl Part for Twice {
    const INFO: PartInfo = PartInfo {
        name: "twice",
        summary: "the last ACK again, twice, on the new link",
        source: "CONTRIBUTING.md",
        knobs: &[],
    };
}

impl HandoffSignal for Twice {
    fn on_attached(&mut self) -> Signal {
        Signal {
            copies: 2,
            ..Signal::default()
        }
    }
}
