//! Immediate expiration of the timeout timer (Tsukamoto, Fukuda, Hori & Oie,
//! IEICE Transactions on Communications E89-B(6), 2006, the first scheme; the
//! text was not available). Daniel & Kojo 2008, section 2: the sender "goes to
//! slow-start as soon as the interface change is detected", which "may
//! unnecessarily retransmit the segments whose ACKs are delayed".
//!
//! The notice has the same effect as a timeout (RFC 5681 section 3.1, equation 4): the threshold is
//! half of the data in flight, the window is one segment, and everything outstanding is
//! retransmitted. There is no back-off.

use super::HandoffPolicy;
use crate::part::{Part, PartInfo};
use crate::{Notice, Order, Orders, SenderView};

/// It has no state.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImmediateExpiry;

impl Part for ImmediateExpiry {
    const INFO: PartInfo = PartInfo {
        name: "immediate-expiry",
        summary:
            "at a notice act as after a timeout: slow start, and everything outstanding is retransmitted",
        source:
            "Tsukamoto et al. 2006, first scheme, as Daniel & Kojo 2008, section 2, describe it",
        knobs: &[],
    };
}

/// Slow start as after a timeout, up to this threshold.
pub(super) fn slow_start(view: &SenderView, ssthresh: (f64, &str)) -> Orders {
    let why = "slow start as soon as the interface changes";
    let orders = Orders::none()
        .with(Order::SetSsthresh(ssthresh.0), ssthresh.1)
        .with(Order::SetCwnd(1.0), why);
    if view.snd_una == view.snd_max {
        orders
    } else {
        orders.with(Order::Rewind, why)
    }
}

/// RFC 5681, equation 4.
pub(super) fn half_of_flight(view: &SenderView) -> f64 {
    (view.flight_since_rewind() as f64 / 2.0).max(2.0)
}

impl HandoffPolicy for ImmediateExpiry {
    fn on_notice(&mut self, _notice: &Notice, view: &SenderView) -> Orders {
        // An earlier timeout has already halved it.
        let ssthresh = if view.in_rto_recovery {
            view.ssthresh
        } else {
            half_of_flight(view)
        };
        slow_start(view, (ssthresh, "half of what is in flight"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{notice, view};

    #[test]
    fn the_notice_has_the_effect_of_a_timeout() {
        let n = notice((6400, 9), (200, 300));
        let orders = ImmediateExpiry.on_notice(&n, &view(20, 200));
        assert!(orders.contains(&Order::SetSsthresh(10.0)));
        assert!(orders.contains(&Order::SetCwnd(1.0)) && orders.contains(&Order::Rewind));
        let idle = ImmediateExpiry.on_notice(&n, &view(0, 200));
        assert!(!idle.contains(&Order::Rewind), "nothing to send again");
        assert!(idle.contains(&Order::SetSsthresh(2.0)));
    }

    #[test]
    fn after_a_timeout_the_threshold_is_not_halved_again() {
        let stalled = SenderView {
            in_rto_recovery: true,
            ssthresh: 12.0,
            ..view(3, 200)
        };
        let n = notice((6400, 9), (200, 300));
        let orders = ImmediateExpiry.on_notice(&n, &stalled);
        assert!(orders.contains(&Order::SetSsthresh(12.0)));
    }
}
