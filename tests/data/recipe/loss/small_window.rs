//! An example of a loss classifier: a small window fills no queue, so that its losses are the
//! radio's (CONTRIBUTING.md, "Adding an algorithm").

use super::{LossCause, LossClassifier};
use crate::part::{Part, PartInfo};
use crate::SenderView;

/// It keeps no state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SmallWindow;

impl Part for SmallWindow {
    const INFO: PartInfo = PartInfo {
        name: "small-window",
        summary: "a loss with a window below 20 segments is the radio's",
        source: "CONTRIBUTING.md",
        knobs: &[],
    };
}

impl LossClassifier for SmallWindow {
    fn judge(&self, view: &SenderView) -> LossCause {
        if view.cwnd < 20.0 {
            LossCause::Wireless
        } else {
            LossCause::Congestion
        }
    }
}
