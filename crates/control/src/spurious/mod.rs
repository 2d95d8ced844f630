//! Detectors of spurious retransmissions: was the timeout or the fast retransmit necessary?
//!
//! A detector is one file here and one line in the registry below. It is called at timeouts and
//! fast retransmits before the window is reduced, observes the following ACKs, and returns orders:
//! what to send for the test, and what to undo if nothing was lost.

mod dsack;
mod eifel;
mod frto;
mod frto_ns2;
mod none;

use midflight_units::{Duration, Instant, Seq};

pub use dsack::{DsackUndo, Unneeded, UnneededTracker};
pub use eifel::Eifel;
pub use frto::Frto;
pub use frto_ns2::FrtoNs2;
pub use none::None as NoDetector;

use crate::part::registry;
use crate::{AckNews, Interests, Order, Orders, SenderView};

/// A detector of spurious retransmissions.
pub trait SpuriousDetector {
    /// The timer has expired; `before` is the state before the sender reduced its window and went
    /// back. The orders take effect after that.
    fn on_timeout(&mut self, _before: &SenderView) -> Orders {
        Orders::none()
    }

    /// Fast retransmit is about to start.
    fn on_fast_retransmit(&mut self, _before: &SenderView) {}

    /// A segment is retransmitted. Called only while it is interested.
    fn on_retransmission(&mut self, _segment: Seq) {}

    /// Everything outstanding is retransmitted, for another reason than a timeout or a loss: ACKs
    /// give no information about the current recovery any more.
    fn forget(&mut self) {}

    /// [`Interests::RETRANSMISSIONS`] while it waits for something that an ACK may carry.
    fn interests(&self) -> Interests {
        Interests::NOTHING
    }

    /// An ACK has been processed. Called only while it is interested.
    fn on_ack(&mut self, _ack: &AckNews, _view: &SenderView) -> Orders {
        Orders::none()
    }
}

registry! {
    /// Any registered detector of spurious retransmissions.
    #[derive(Clone, Copy, Debug, PartialEq)]
    AnySpuriousDetector of SpuriousDetector, listed in SPURIOUS_DETECTORS:
    None: none::None,
    Frto2003: Frto<false>,
    Frto: Frto<true>,
    FrtoNs2: FrtoNs2,
    Eifel: Eifel,
    DsackUndo: DsackUndo,
}

/// A sender's state before a loss recovery that may prove unnecessary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriorState {
    /// When it began.
    pub at: Instant,
    /// Congestion window, in segments.
    pub cwnd: f64,
    /// Slow-start threshold, in segments.
    pub ssthresh: f64,
    /// FlightSize without limited transmit, whose segments are not part of the window (as in RFC
    /// 5681 section 3.2, step 2).
    flight: u64,
    srtt: Option<Duration>,
    rttvar: Option<Duration>,
}

impl PriorState {
    pub(crate) fn of(view: &SenderView) -> Self {
        Self {
            at: view.now,
            // ns-2's Sack1 may have a window of zero, which must not be restored.
            cwnd: view.cwnd.max(1.0),
            ssthresh: view.ssthresh,
            flight: view.flight_size() - view.limited_sent,
            srtt: view.srtt,
            rttvar: view.rttvar,
        }
    }

    /// The Eifel response, RFC 4015 section 3.1, step 9: restart from the data in flight, in slow
    /// start up to `pipe_prev` (step 0).
    fn reverse(&self, acked: u64, view: &SenderView, why: &str) -> Orders {
        let burst = (acked as f64).min(view.initial_window);
        let pipe_prev = (self.flight as f64).max(self.ssthresh);
        Orders::none()
            .with(Order::SetCwnd(view.flight_size() as f64 + burst), why)
            .with(Order::SetSsthresh(pipe_prev), why)
    }

    /// Step 11: adapts the RTO with the first segment sent since the timer expired.
    fn adapt_rto(&self, orders: &mut Orders, why: &str) {
        if let (Some(srtt), Some(rttvar)) = (self.srtt, self.rttvar) {
            let since = self.at;
            let order = Order::AdaptRto {
                since,
                srtt,
                rttvar,
            };
            orders.push(order, why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::testing::check_knobs;

    #[test]
    fn every_detector_is_found_by_name_and_accepts_the_defaults_it_documents() {
        for info in SPURIOUS_DETECTORS {
            let mut part = AnySpuriousDetector::named(info.name).unwrap_or_else(|| unreachable!());
            assert_eq!(part.info(), *info);
            assert!(!part.interests().includes(Interests::RETRANSMISSIONS));
            check_knobs(info, |name, value| part.set_knob(name, value));
        }
    }
}
