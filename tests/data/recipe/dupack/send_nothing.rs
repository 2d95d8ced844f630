//! An example of a response to duplicate ACKs: fast retransmit on the third one, and no new segment
//! before it (CONTRIBUTING.md, "Adding an algorithm").

use super::{Answer, DupackResponse};
use crate::part::{Part, PartInfo};
use crate::SenderView;

/// It keeps no state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendNothing;

impl Part for SendNothing {
    const INFO: PartInfo = PartInfo {
        name: "send-nothing",
        summary: "fast retransmit on the third duplicate ACK, without limited transmit",
        source: "CONTRIBUTING.md",
        knobs: &[],
    };
}

impl DupackResponse for SendNothing {
    fn on_duplicate(&mut self, view: &SenderView) -> Answer {
        if view.dupacks == view.dup_threshold {
            Answer::Retransmit
        } else {
            Answer::Wait
        }
    }

    fn limited_window(&self, _view: &SenderView) -> Option<f64> {
        None
    }
}
