//! Initialisation of the sender by its receiver (Kim & Copeland, "Interworking
//! between WLANs and 3G networks: TCP challenges", WCNC 2004; the text was not
//! available). Lim & Jang 2009, section 2: the receiver triggers the handover
//! event, and the sender initialises congestion window, slow-start threshold
//! and retransmission timer.
//!
//! This is read as: window, threshold and timer of a new connection, and nothing else. Data in
//! flight is not retransmitted, and ACKs of the old path grow the window. A mark counts once, even
//! if repeated.

use super::rlci::as_new;
use super::HandoffPolicy;
use crate::part::{Part, PartInfo};
use crate::{AckNews, Interests, Notice, Orders, SenderView};

/// The number of the last mark.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reinitialise {
    last: u32,
}

impl Part for Reinitialise {
    const INFO: PartInfo = PartInfo {
        name: "reinitialise",
        summary: "at a handoff mark use the window, the threshold and the timer of a new connection; the sender's half of kim-copeland",
        source: "Kim & Copeland, WCNC 2004, as Lim & Jang 2009, section 2, describe it",
        knobs: &[],
    };
}

impl HandoffPolicy for Reinitialise {
    fn on_notice(&mut self, _notice: &Notice, _view: &SenderView) -> Orders {
        Orders::none()
    }

    fn on_mark(&mut self, ack: &AckNews, view: &SenderView) -> Orders {
        if !super::is_first(&mut self.last, ack) {
            return Orders::none();
        }
        as_new(view, "the receiver signals a handoff")
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
    fn window_threshold_and_timer_are_those_of_a_new_connection() {
        let mut part = Reinitialise::default();
        let v = SenderView {
            in_rto_recovery: true,
            ..view(21, 200)
        };
        let orders = part.on_mark(&marked(1), &v);
        assert!(orders.contains(&Order::SetCwnd(3.0)));
        assert!(orders.contains(&Order::SetSsthresh(10_000.0)));
        assert!(orders.contains(&Order::RestartRtt {
            initial_rto: v.new_connection_rto,
            sample_since: v.now,
            sample_retransmitted: false,
        }));
        assert!(!orders.contains(&Order::RetransmitNow));
        assert!(part.on_mark(&marked(1), &v).is_empty(), "a repeat");
    }
}
