//! An example of a detector of spurious retransmissions: an ACK that comes sooner after a timeout
//! than half a round trip answers what was sent before it (CONTRIBUTING.md, "Adding an algorithm").

use super::{PriorState, SpuriousDetector};
use crate::part::{Part, PartInfo};
use crate::{AckNews, Interests, Order, Orders, SenderView};

/// The sender before the timeout, until the next ACK of new data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Early {
    before: Option<PriorState>,
}

impl Part for Early {
    const INFO: PartInfo = PartInfo {
        name: "early",
        summary: "a timeout is spurious if an ACK follows within half a round trip",
        source: "CONTRIBUTING.md",
        knobs: &[],
    };
}

impl SpuriousDetector for Early {
    fn on_timeout(&mut self, before: &SenderView) -> Orders {
        self.before = Some(PriorState::of(before));
        Orders::none()
    }

    fn forget(&mut self) {
        self.before = None;
    }

    fn interests(&self) -> Interests {
        Interests::RETRANSMISSIONS.when(self.before.is_some())
    }

    fn on_ack(&mut self, ack: &AckNews, view: &SenderView) -> Orders {
        let Some(before) = self.before.filter(|_| ack.advanced > 0) else {
            return Orders::none();
        };
        self.before = None;
        let since = view.now.since(before.at);
        if view.srtt.is_none_or(|srtt| since + since >= srtt) {
            return Orders::none();
        }
        let why = "the ACK came too soon for an answer to the retransmission";
        before
            .reverse(ack.advanced, view, why)
            .with(Order::Resume, why)
    }
}
