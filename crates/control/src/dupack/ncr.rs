//! Non-congestion robustness, TCP-NCR (RFC 4653), an experimental RFC related to DCR: a segment counts as
//! lost once about a window of data has left the network after it, and until then Extended Limited
//! Transmit keeps ACKs arriving.
//!
//! Careful Limited Transmit sends one new segment for every two that have left
//! the network, Aggressive one for each. FlightSize is in segments.

use super::{Answer, DupackResponse};
use crate::part::{Part, PartInfo};
use crate::{Order, Orders, SenderView};

/// State of NCR, careful or aggressive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ncr<const CAREFUL: bool> {
    /// FlightSizePrev; none outside Extended Limited Transmit.
    flight_prev: Option<u64>,
    /// The current DupThresh; constant during fast recovery (section 3.4).
    threshold: u32,
}

impl<const CAREFUL: bool> Default for Ncr<CAREFUL> {
    fn default() -> Self {
        Self {
            flight_prev: None,
            threshold: 3,
        }
    }
}

impl<const CAREFUL: bool> Part for Ncr<CAREFUL> {
    const INFO: PartInfo = if CAREFUL {
        PartInfo {
            name: "ncr-careful",
            summary: "retransmit when a window of data has left the network; until then one new segment for two",
            source: "RFC 4653 section 3, Careful Limited Transmit",
            knobs: &[],
        }
    } else {
        PartInfo {
            name: "ncr-aggressive",
            summary: "retransmit when a window of data has left the network; until then one new segment for each",
            source: "RFC 4653 section 3, Aggressive Limited Transmit",
            knobs: &[],
        }
    };
}

impl<const CAREFUL: bool> Ncr<CAREFUL> {
    /// At least the threshold of an order to expect reordering.
    fn threshold_in(view: &SenderView) -> u32 {
        let ordered = view.reordering.map_or(0, |_| view.dup_threshold);
        Self::threshold_for(view.flight_since_rewind()).max(ordered)
    }

    /// (I.3), (E.6): LT_F x FlightSize, at least three; LT_F is 2/3 or 1/2.
    fn threshold_for(flight: u64) -> u32 {
        let share = if CAREFUL {
            (2 * flight).div_ceil(3)
        } else {
            flight.div_ceil(2)
        };
        u32::try_from(share.max(3)).unwrap_or(u32::MAX)
    }
}

impl<const CAREFUL: bool> DupackResponse for Ncr<CAREFUL> {
    fn on_duplicate(&mut self, view: &SenderView) -> Answer {
        // (I.1) No window is kept if everything outstanding is considered lost: segments that
        // arrive then were sent before the timeout.
        if view.flight_since_rewind() > 0 {
            self.flight_prev.get_or_insert(view.flight_since_rewind());
        }
        self.threshold = Self::threshold_in(view);
        if view.dupacks >= self.threshold {
            Answer::Retransmit
        } else {
            Answer::Wait
        }
    }

    /// (E.2): pipe + Skipped <= FlightSizePrev - SMSS. Careful counts every segment sent this way as
    /// Skipped (E.4).
    fn limited_window(&self, view: &SenderView) -> Option<f64> {
        let skipped = if CAREFUL { view.limited_sent } else { 0 };
        let window = self.flight_prev?.saturating_sub(skipped);
        Some(window as f64)
    }

    fn dup_threshold(&self, _view: &SenderView) -> u32 {
        self.threshold
    }

    /// Section 3.2.
    fn on_advance(&mut self, view: &SenderView, more_above: bool) -> Orders {
        let Some(before) = self.flight_prev else {
            return Orders::none();
        };
        // (T.4) restarts with the present FlightSizePrev.
        if !more_above {
            self.flight_prev = None;
        }
        self.threshold = Self::threshold_in(view);
        let cwnd = (view.flight_since_rewind() + 1).min(before);
        Orders::none()
            .with(
                Order::SetCwnd(cwnd as f64),
                "the duplicates were reordering: no burst (T.1)",
            )
            .with(
                // A threshold is at least two segments (RFC 5681 (4)).
                Order::SetSsthresh(before.max(2) as f64),
                "back to the window before them in slow start (T.2)",
            )
    }

    fn flight_before(&self) -> Option<u64> {
        self.flight_prev
    }

    fn end(&mut self) {
        self.flight_prev = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::view;

    fn duplicate(flight: u64, dupacks: u32) -> SenderView {
        SenderView {
            dupacks,
            ..view(flight, 1000)
        }
    }

    /// RFC 4653 section 3: LT_F is 2/3 or 1/2 of the outstanding data, at least three.
    #[test]
    fn thresholds() {
        assert_eq!([3, 4, 12, 13].map(Ncr::<true>::threshold_for), [3, 3, 8, 9]);
        assert_eq!(
            [3, 6, 12, 13].map(Ncr::<false>::threshold_for),
            [3, 3, 6, 7]
        );
    }

    #[test]
    fn aggressive_waits_for_about_a_window() {
        let mut ncr = Ncr::<false>::default();
        // Each duplicate sends one new segment: 12 outstanding become 12 + d.
        let needed = (1..100).find(|&d| {
            ncr.on_duplicate(&duplicate(12 + u64::from(d) - 1, d)) == Answer::Retransmit
        });
        assert_eq!(needed, Some(11));
        assert_eq!(ncr.flight_before(), Some(12));
    }

    #[test]
    fn careful_sends_with_every_second_duplicate() {
        let mut ncr = Ncr::<true>::default();
        let mut sent = 0;
        let mut with = Vec::new();
        for d in 1..=6 {
            let sender = SenderView {
                limited_sent: sent,
                ..duplicate(12 + sent, d)
            };
            let _ = ncr.on_duplicate(&sender);
            let pipe = sender.flight_size() - u64::from(d);
            if ncr
                .limited_window(&sender)
                .is_some_and(|w| (pipe as f64) < w)
            {
                sent += 1;
                with.push(d);
            }
        }
        assert_eq!(with, [1, 3, 5]);
    }

    /// After a timeout nothing is in flight until something is retransmitted: there is no window to
    /// restore.
    #[test]
    fn duplicates_with_nothing_in_flight_order_no_window() {
        let mut ncr = Ncr::<true>::default();
        let stopped = SenderView {
            snd_nxt: view(12, 1000).snd_una,
            ..duplicate(12, 1)
        };
        assert_eq!(stopped.flight_since_rewind(), 0);
        let _ = ncr.on_duplicate(&stopped);
        assert_eq!(ncr.limited_window(&stopped), None);
        assert!(ncr.on_advance(&stopped, false).is_empty());
    }

    /// Section 3.2, with RFC 4653's example of a window that was not filled.
    #[test]
    fn reordering_ends_without_a_burst_and_with_the_old_threshold() {
        let mut ncr = Ncr::<true>::default();
        let _ = ncr.on_duplicate(&duplicate(12, 1));
        let orders = ncr.on_advance(&view(7, 1000), false);
        assert!(orders.contains(&Order::SetCwnd(8.0)));
        assert!(orders.contains(&Order::SetSsthresh(12.0)));
        assert!(ncr.on_advance(&view(7, 1000), false).is_empty());
        // (T.4)
        let _ = ncr.on_duplicate(&duplicate(12, 1));
        assert!(!ncr.on_advance(&view(7, 1000), true).is_empty());
        assert_eq!(ncr.flight_before(), Some(12));
    }
}
