//! Every timeout and every fast retransmit counts as necessary.

use super::SpuriousDetector;
use crate::part::{Part, PartInfo};

/// It has no state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct None;

impl Part for None {
    const INFO: PartInfo = PartInfo {
        name: "none",
        summary: "every timeout is treated as a loss",
        source: "RFC 6298",
        knobs: &[],
    };
}

impl SpuriousDetector for None {}
