//! Fast retransmit at once: the third duplicate ACK indicates a loss (RFC 5681 section 3.2), and
//! the earlier ones may each send a new segment (RFC 3042). Threshold and limited transmit are
//! settings of the sender; while reordering is expected they are set by the order.

use super::{Answer, DupackResponse};
use crate::part::{Part, PartInfo};
use crate::SenderView;

/// It has no state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Immediate;

impl Part for Immediate {
    const INFO: PartInfo = PartInfo {
        name: "immediate",
        summary: "fast retransmit on the third duplicate ACK",
        source: "RFC 5681 section 3.2; RFC 3042",
        knobs: &[],
    };
}

impl DupackResponse for Immediate {
    fn on_duplicate(&mut self, view: &SenderView) -> Answer {
        // While reordering is expected the threshold falls when a segment is overdue.
        let fallen = view.reordering.is_some() && view.dupacks > view.dup_threshold;
        if view.dupacks == view.dup_threshold || fallen {
            Answer::Retransmit
        } else {
            Answer::Wait
        }
    }

    fn limited_window(&self, view: &SenderView) -> Option<f64> {
        let early = view.dupacks < view.dup_threshold;
        match view.reordering {
            Some(r) if early => {
                // The duplicates are added to this window.
                let most = r.windows * view.cwnd - f64::from(view.dupacks);
                (most >= 0.0).then_some(view.cwnd.min(most))
            }
            _ => (early && view.limited_transmit).then_some(view.cwnd),
        }
    }

    fn waits_as_set(&self) -> bool {
        true
    }
}
