//! An example of a policy: half the window at every notice (CONTRIBUTING.md, "Adding an algorithm").

use super::HandoffPolicy;
use crate::part::{Part, PartInfo};
use crate::{Notice, Order, Orders, SenderView};

/// It remembers nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Halve;

impl Part for Halve {
    const INFO: PartInfo = PartInfo {
        name: "halve",
        summary: "halve the window at every notice",
        source: "CONTRIBUTING.md",
        knobs: &[],
    };
}

impl HandoffPolicy for Halve {
    fn on_notice(&mut self, _notice: &Notice, view: &SenderView) -> Orders {
        let window = (view.cwnd / 2.0).max(1.0);
        Orders::none().with(Order::SetCwnd(window), "the link has changed")
    }
}
