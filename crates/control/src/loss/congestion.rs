//! Every loss is a sign of congestion (RFC 5681).

use super::{LossCause, LossClassifier};
use crate::part::{Part, PartInfo};
use crate::SenderView;

/// It has no state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Congestion;

impl Part for Congestion {
    const INFO: PartInfo = PartInfo {
        name: "congestion",
        summary: "every loss is treated as congestion",
        source: "RFC 5681",
        knobs: &[],
    };
}

impl LossClassifier for Congestion {
    fn judge(&self, _view: &SenderView) -> LossCause {
        LossCause::Congestion
    }
}
