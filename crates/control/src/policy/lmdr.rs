//! LMDR: lightweight mobility detection and response (Swami, Le & Eddy,
//! draft-swami-tcp-lmdr-07, 2006, of which the abstract and summaries were
//! available).
//!
//! The two ends detect by a TCP option, without help from their networks, that one of them has
//! changed its attachment. The sender then probes the path again instead of keeping the window and
//! the RTT of the old one. Here the mobile node's mark replaces the option; the response is that of
//! RLCI, its successor. A mark counts once, even if repeated.

use super::rlci::probe_again;
use super::HandoffPolicy;
use crate::part::{Part, PartInfo};
use crate::{AckNews, Interests, Notice, Orders, SenderView};

/// The number of the last mark.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lmdr {
    last: u32,
}

impl Part for Lmdr {
    const INFO: PartInfo = PartInfo {
        name: "lmdr-respond",
        summary:
            "at a handoff mark probe the path like a new connection; the sender's half of lmdr",
        source: "draft-swami-tcp-lmdr-07 (2006), by its abstract",
        knobs: &[],
    };
}

impl HandoffPolicy for Lmdr {
    fn on_notice(&mut self, _notice: &Notice, _view: &SenderView) -> Orders {
        Orders::none()
    }

    fn on_mark(&mut self, ack: &AckNews, view: &SenderView) -> Orders {
        if !super::is_first(&mut self.last, ack) {
            return Orders::none();
        }
        probe_again(view, "the peer is attached elsewhere: probe the path anew")
    }

    fn interests(&self) -> Interests {
        Interests::MARKS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{marked, view};
    use crate::Order;

    #[test]
    fn a_mark_starts_the_connection_over_once() {
        let mut lmdr = Lmdr::default();
        let v = view(21, 200);
        let orders = lmdr.on_mark(&marked(1), &v);
        assert!(orders.contains(&Order::SetCwnd(3.0)));
        assert!(orders.contains(&Order::SetSsthresh(10_000.0)));
        assert!(orders.contains(&Order::HoldGrowth(v.now)));
        assert!(lmdr.on_mark(&marked(1), &v).is_empty(), "a repeat");
        assert!(!lmdr.on_mark(&marked(2), &v).is_empty(), "another handoff");
    }
}
