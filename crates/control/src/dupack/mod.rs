//! The response to duplicate ACKs before a segment is considered lost.
//!
//! A response is one file here and one line in the registry below. It gets each duplicate ACK
//! outside fast recovery and decides whether to wait or to retransmit, how much limited transmit
//! may send in the meantime, and the window if the wait ends without a loss. The recovery and the
//! loss classifier handle fast recovery itself.

mod dcr;
mod immediate;
mod ncr;

use midflight_units::Instant;

pub use dcr::Dcr;
pub use immediate::Immediate;
pub use ncr::Ncr;

use crate::part::registry;
use crate::{Orders, SenderView};

/// The decision at a duplicate ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Wait for more.
    Wait,
    /// Fast retransmit.
    Retransmit,
}

/// A response to duplicate ACKs.
pub trait DupackResponse {
    /// A duplicate ACK outside fast recovery, already counted in `view.dupacks`.
    fn on_duplicate(&mut self, view: &SenderView) -> Answer;

    /// The window that new segments may fill at this duplicate ACK, without the segments that have
    /// left the network; none to send nothing.
    fn limited_window(&self, view: &SenderView) -> Option<f64>;

    /// Number of duplicate ACKs after which a segment counts as lost (RFC 6675 DupThresh).
    fn dup_threshold(&self, view: &SenderView) -> u32 {
        view.lost_threshold()
    }

    /// Whether an order to expect reordering replaces its own wait.
    fn waits_as_set(&self) -> bool {
        false
    }

    /// SND.UNA has advanced after duplicate ACKs that did not lead to a retransmission;
    /// `more_above` if the same ACK reports segments above it.
    fn on_advance(&mut self, _view: &SenderView, _more_above: bool) -> Orders {
        Orders::none()
    }

    /// Its deadline, and when that was set.
    fn deadline(&self) -> Option<(Instant, Instant)> {
        None
    }

    /// FlightSize before limited transmit added to it, if the response stores it.
    fn flight_before(&self) -> Option<u64> {
        None
    }

    /// A recovery or a timeout has begun, or SND.UNA has advanced: the duplicates no longer count.
    fn end(&mut self) {}
}

registry! {
    /// Any registered response to duplicate ACKs.
    #[derive(Clone, Copy, Debug, PartialEq)]
    AnyDupackResponse of DupackResponse, listed in DUPACK_RESPONSES:
    Immediate: Immediate,
    Dcr: Dcr,
    NcrCareful: Ncr<true>,
    NcrAggressive: Ncr<false>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::testing::check_knobs;

    #[test]
    fn every_response_is_found_by_name_and_accepts_the_defaults_it_documents() {
        for info in DUPACK_RESPONSES {
            let mut part = AnyDupackResponse::named(info.name).unwrap_or_else(|| unreachable!());
            assert_eq!(part.info(), *info);
            assert_eq!(part.deadline(), None);
            check_knobs(info, |name, value| part.set_knob(name, value));
        }
    }
}
