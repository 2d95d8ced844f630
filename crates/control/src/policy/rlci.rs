//! RLCI: response to a lower-layer connectivity change indication (Schuetz et
//! al., draft-schuetz-tcpm-tcp-rlci, 2008; as described in Daniel & Kojo 2008,
//! section 2).
//!
//! The notice resets the congestion control state as for a new connection: initial window, initial
//! threshold, no RTT estimate. ACKs of data sent before the notice do not grow the window. A connection
//! that is stalled in back-off retransmits its first unacknowledged segment.

use super::HandoffPolicy;
use crate::part::{Part, PartInfo};
use crate::{Notice, Order, Orders, SenderView};

/// RLCI has no state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rlci;

impl Part for Rlci {
    const INFO: PartInfo = PartInfo {
        name: "rlci",
        summary: "restart window, threshold and RTT estimate as for a new connection",
        source: "Schuetz et al. 2008, draft-schuetz-tcpm-tcp-rlci; Daniel & Kojo 2008, section 2",
        knobs: &[],
    };
}

/// The state of a new connection: initial window and threshold, no RTT estimate.
pub(super) fn as_new(view: &SenderView, why: &str) -> Orders {
    Orders::none()
        .with(Order::SetCwnd(view.initial_window), why)
        .with(Order::SetSsthresh(view.initial_ssthresh), why)
        .with(
            Order::RestartRtt {
                initial_rto: view.new_connection_rto,
                sample_since: view.now,
                sample_retransmitted: false,
            },
            why,
        )
}

/// The same, for a path on which ACKs of earlier segments do not count; a connection that is stalled in
/// back-off retransmits.
pub(super) fn probe_again(view: &SenderView, why: &str) -> Orders {
    let orders = as_new(view, why).with(
        Order::HoldGrowth(view.now),
        "ACKs of the old path say nothing of the new one",
    );
    if view.in_rto_recovery {
        orders.with(Order::RetransmitNow, "stalled in back-off")
    } else {
        orders
    }
}

impl HandoffPolicy for Rlci {
    fn on_notice(&mut self, _notice: &Notice, view: &SenderView) -> Orders {
        probe_again(
            view,
            "connectivity changed: probe the new path as a new connection",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{notice, view};

    #[test]
    fn the_connection_starts_over_and_a_stalled_one_retransmits() {
        let n = notice((6400, 9), (200, 300));
        let orders = Rlci.on_notice(&n, &view(21, 200));
        assert!(orders.contains(&Order::SetCwnd(3.0)));
        assert!(orders.contains(&Order::HoldGrowth(view(21, 200).now)));
        assert!(!orders.contains(&Order::RetransmitNow));
        let stalled = SenderView {
            in_rto_recovery: true,
            ..view(21, 200)
        };
        assert!(Rlci.on_notice(&n, &stalled).contains(&Order::RetransmitNow));
    }
}
