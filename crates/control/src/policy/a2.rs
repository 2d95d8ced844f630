//! A2: reduce congestion losses after a handoff to a path with a smaller BDP (Daniel & Kojo 2008,
//! section 5.3, figure 13), and A5, its modification for a large decrease of bandwidth (section
//! 6.3, figure 25).
//!
//! On a notice, outside RTO recovery, when FlightSize exceeds twice the new link's BDP (A5: 1.5
//! times if the bandwidth decreases by a factor of 8 or more), `cwnd` and `ssthresh` become the BDP
//! of the new link. A fast recovery for a segment sent before the handoff then does not reduce them
//! again. With several flows the BDP is divided among them.
//!
//! A2 never raises `cwnd`. While the sender goes back after a timeout, A2 counts only segments sent
//! since the rewind: FlightSize by the highest segment would overstate the data in flight.

use midflight_units::Seq;

use super::HandoffPolicy;
use crate::part::{choose, refuse, Knob, KnobError, Part, PartInfo};
use crate::{AckNews, Interests, Notice, Order, Orders, SenderView};

/// Smallest window that A2 sets, in segments (figure 13).
const LEAST_WINDOW: u64 = 2;

/// The common part of A2 and A5.
#[derive(Clone, Copy, Debug)]
struct Reduction {
    by_highest: bool,
    /// Segments below this were sent before the handoff that reduced `cwnd`.
    reduced_below: Option<Seq>,
}

impl Reduction {
    const NEW: Self = Self {
        by_highest: false,
        reduced_below: None,
    };

    /// Reduces when the flight exceeds `halves`/2 times the BDP.
    fn on_notice(&mut self, halves: u64, notice: &Notice, view: &SenderView) -> Orders {
        if view.in_rto_recovery {
            return Orders::none();
        }
        let flows = u64::from(notice.flows.max(1));
        let bdp = notice.new.bdp_segments(view.segment_bytes) / flows;
        let flight = if self.by_highest {
            view.flight_size()
        } else {
            view.flight_since_rewind()
        };
        if 2 * flight <= halves * bdp {
            return Orders::none();
        }
        self.reduced_below = Some(view.snd_max);
        let window = (bdp.max(LEAST_WINDOW) as f64).min(view.cwnd);
        let why = format!(
            "flight {flight} exceeds {} x BDP {bdp}",
            halves as f64 / 2.0
        );
        Orders::none()
            .with(Order::SetCwnd(window), why.clone())
            .with(Order::SetSsthresh(window.max(LEAST_WINDOW as f64)), why)
    }

    fn on_recovery(&self, view: &SenderView) -> Orders {
        match self.reduced_below {
            Some(edge) if view.snd_una < edge => Orders::none().with(
                Order::KeepWindow,
                "the handoff has already reduced the window for segments sent before it",
            ),
            _ => Orders::none(),
        }
    }

    fn on_ack(&mut self, view: &SenderView) {
        if self.reduced_below.is_some_and(|edge| view.snd_una >= edge) {
            self.reduced_below = None;
        }
    }
}

const FLIGHT: [(&str, bool); 2] = [("since-rewind", false), ("highest", true)];

/// State and knobs of A2.
#[derive(Clone, Copy, Debug)]
pub struct A2 {
    reduction: Reduction,
}

impl Default for A2 {
    fn default() -> Self {
        Self {
            reduction: Reduction::NEW,
        }
    }
}

impl Part for A2 {
    const INFO: PartInfo = PartInfo {
        name: "a2",
        summary: "set cwnd and ssthresh to the new link's BDP when more than twice that is in flight",
        source: "Daniel & Kojo 2008, section 5.3, figure 13",
        knobs: &[Knob {
            name: "a2_flight",
            default: "since-rewind",
            accepts: "since-rewind, highest",
            summary: "FlightSize while going back after a timeout: segments sent since, or up to the highest segment",
        }],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        self.reduction.by_highest = choose(&Self::INFO, name, value, &FLIGHT)?;
        Ok(())
    }
}

impl HandoffPolicy for A2 {
    fn on_notice(&mut self, notice: &Notice, view: &SenderView) -> Orders {
        self.reduction.on_notice(4, notice, view)
    }

    fn on_recovery(&mut self, view: &SenderView) -> Orders {
        self.reduction.on_recovery(view)
    }

    fn on_ack(&mut self, _ack: &AckNews, view: &SenderView) -> Orders {
        self.reduction.on_ack(view);
        Orders::none()
    }

    fn interests(&self) -> Interests {
        Interests::ACKS.when(self.reduction.reduced_below.is_some())
    }
}

/// State and knobs of A5.
#[derive(Clone, Copy, Debug)]
pub struct A5 {
    reduction: Reduction,
    ratio: u64,
}

impl Default for A5 {
    fn default() -> Self {
        Self {
            reduction: Reduction::NEW,
            ratio: 8,
        }
    }
}

impl Part for A5 {
    const INFO: PartInfo = PartInfo {
        name: "a5",
        summary: "A2 with a lower threshold, 1.5 x BDP, when the bandwidth falls by a factor of 8 or more",
        source: "Daniel & Kojo 2008, section 6.3, figure 25",
        knobs: &[
            Knob {
                name: "a5_flight",
                default: "since-rewind",
                accepts: "since-rewind, highest",
                summary: "FlightSize while going back after a timeout: segments sent since, or up to the highest segment",
            },
            Knob {
                name: "a5_ratio",
                default: "8",
                accepts: "a whole number from 1",
                summary: "factor of the bandwidth decrease from which the lower threshold applies",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        if name == "a5_flight" {
            self.reduction.by_highest = choose(&Self::INFO, name, value, &FLIGHT)?;
        } else {
            let ratio = value.parse().ok().filter(|&r| r >= 1);
            self.ratio = ratio.ok_or_else(|| refuse(&Self::INFO, name, value))?;
        }
        Ok(())
    }
}

impl HandoffPolicy for A5 {
    fn on_notice(&mut self, notice: &Notice, view: &SenderView) -> Orders {
        let large_fall =
            notice.old.rate.as_bps() >= notice.new.rate.as_bps().saturating_mul(self.ratio);
        self.reduction
            .on_notice(if large_fall { 3 } else { 4 }, notice, view)
    }

    fn on_recovery(&mut self, view: &SenderView) -> Orders {
        self.reduction.on_recovery(view)
    }

    fn on_ack(&mut self, _ack: &AckNews, view: &SenderView) -> Orders {
        self.reduction.on_ack(view);
        Orders::none()
    }

    fn interests(&self) -> Interests {
        Interests::ACKS.when(self.reduction.reduced_below.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ack::testing::duplicate;
    use crate::policy::testing::{notice, view};

    #[test]
    fn figure_12_reduces_a_flight_of_39_to_the_bdp_of_11() {
        let mut a2 = A2::default();
        let orders = a2.on_notice(&notice((1600, 75), (400, 150)), &view(39, 400));
        assert!(
            orders.contains(&Order::SetCwnd(11.0)) && orders.contains(&Order::SetSsthresh(11.0))
        );
        assert!(a2
            .on_notice(&notice((1600, 75), (400, 150)), &view(22, 400))
            .is_empty());
    }

    #[test]
    fn recovery_of_old_segments_keeps_the_window_and_of_new_ones_does_not() {
        let mut a2 = A2::default();
        let mut sender = view(39, 400);
        assert!(a2.on_recovery(&sender).is_empty());
        let _ = a2.on_notice(&notice((1600, 75), (400, 150)), &sender);
        assert!(a2.on_recovery(&sender).contains(&Order::KeepWindow));
        sender.snd_una = sender.snd_max;
        let _ = a2.on_ack(&duplicate(100), &sender);
        assert!(!a2.interests().includes(Interests::ACKS) && a2.on_recovery(&sender).is_empty());
    }

    #[test]
    fn a5_acts_from_one_and_a_half_bdp_only_for_a_large_fall() {
        // The BDP of 200 kbit/s and 300 ms is 11 packets: 1.5 x is 16.5, 2 x is 22.
        let far = notice((1600, 37), (200, 300));
        let near = notice((800, 75), (200, 300));
        assert!(A2::default().on_notice(&far, &view(17, 400)).is_empty());
        assert!(!A5::default().on_notice(&far, &view(17, 400)).is_empty());
        assert!(A5::default().on_notice(&far, &view(16, 400)).is_empty());
        assert!(A5::default().on_notice(&near, &view(22, 400)).is_empty());
        assert!(!A5::default().on_notice(&near, &view(23, 400)).is_empty());
    }

    #[test]
    fn the_window_is_never_raised_and_the_rewind_is_respected() {
        let n = notice((1600, 75), (400, 150));
        let mut sender = view(39, 400);
        sender.cwnd = 5.0;
        assert!(A2::default()
            .on_notice(&n, &sender)
            .contains(&Order::SetCwnd(5.0)));
        sender.snd_nxt = sender.snd_una + 6;
        assert!(A2::default().on_notice(&n, &sender).is_empty());
        let mut literal = A2::default();
        assert_eq!(literal.set_knob("a2_flight", "highest"), Ok(()));
        assert!(!literal.on_notice(&n, &sender).is_empty());
        sender.in_rto_recovery = true;
        assert!(literal.on_notice(&n, &sender).is_empty());
    }

    #[test]
    fn several_flows_share_the_bdp() {
        let mut n = notice((6400, 9), (400, 150));
        n.flows = 4;
        let orders = A2::default().on_notice(&n, &view(9, 200));
        assert!(orders.contains(&Order::SetCwnd(2.0)));
        // Each flow has 2 of the 11 packets, and the threshold is 4 for each.
        assert!(A2::default().on_notice(&n, &view(4, 200)).is_empty());
        assert!(!A2::default().on_notice(&n, &view(5, 200)).is_empty());
        // A5: 3, the bandwidth falling by a factor of 16.
        assert!(A5::default().on_notice(&n, &view(3, 200)).is_empty());
        assert!(!A5::default().on_notice(&n, &view(4, 200)).is_empty());
        // Never less than two segments, however many flows share.
        n.flows = 64;
        let orders = A5::default().on_notice(&n, &view(9, 200));
        let two = [Order::SetCwnd(2.0), Order::SetSsthresh(2.0)];
        assert!(two.iter().all(|order| orders.contains(order)));
    }
}
