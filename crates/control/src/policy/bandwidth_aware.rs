//! Bandwidth-aware slow start after a handoff (Tsukamoto, Fukuda, Hori & Oie,
//! IEICE Transactions on Communications E89-B(6), 2006, the second scheme; the
//! text was not available). Daniel & Kojo 2008, section 2: the sender "goes to
//! slow-start after a vertical handoff and the bandwidth of the new path [is]
//! estimated using a single packet-pair. The ssthresh is set to the BDP calculated
//! using the bandwidth and the RTT of the new path".
//!
//! The notice starts slow start as in the first scheme, [`super::immediate_expiry`]. A pair needs two new
//! segments, so it is sent when everything sent before is acknowledged or known to be lost. Its own round
//! trip is the RTT.

use super::immediate_expiry::{half_of_flight, slow_start};
use super::pair::{bdp_segments, Pair};
use super::{HandoffPolicy, TrainReport};
use crate::part::{Part, PartInfo};
use crate::{AckNews, Interests, Notice, Order, Orders, SenderView};

/// The pair in progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct BandwidthAware {
    pair: Pair,
}

impl Part for BandwidthAware {
    const INFO: PartInfo = PartInfo {
        name: "bandwidth-aware",
        summary:
            "at a notice slow start, up to the BDP measured with one packet pair on the new path",
        source:
            "Tsukamoto et al. 2006, second scheme, as Daniel & Kojo 2008, section 2, describe it",
        knobs: &[],
    };
}

impl HandoffPolicy for BandwidthAware {
    fn on_notice(&mut self, _notice: &Notice, view: &SenderView) -> Orders {
        self.pair.request();
        let ssthresh = if view.in_rto_recovery {
            view.ssthresh
        } else {
            half_of_flight(view)
        };
        slow_start(view, (ssthresh, "until the pair has measured"))
    }

    fn on_ack(&mut self, _ack: &AckNews, view: &SenderView) -> Orders {
        self.pair.send(view)
    }

    fn on_estimate(&mut self, report: &TrainReport, view: &SenderView) -> Orders {
        self.pair.result(report).map_or_else(Orders::none, |found| {
            let why = format!("{} over {}: the BDP of the new path", found.0, found.1);
            Orders::none().with(Order::SetSsthresh(bdp_segments(found, view)), why)
        })
    }

    fn interests(&self) -> Interests {
        Interests::ACKS.when(self.pair.is_due())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ack::testing::advance;
    use crate::policy::testing::{notice, report, view};

    #[test]
    fn the_threshold_is_what_the_pair_finds() {
        let mut part = BandwidthAware::default();
        let orders = part.on_notice(&notice((6400, 9), (200, 300)), &view(20, 200));
        assert!(orders.contains(&Order::SetCwnd(1.0)) && orders.contains(&Order::Rewind));
        let recovering = SenderView {
            may_train: false,
            ..view(20, 200)
        };
        assert!(part.on_ack(&advance(101, 1), &recovering).is_empty());
        let orders = part.on_ack(&advance(120, 20), &view(0, 200));
        assert_eq!(orders.iter().count(), 1, "the pair");
        assert!(!part.interests().includes(Interests::ACKS));
        // 400 kbit/s for 300 ms are 120,000 bits: ten segments of 1500 bytes.
        let orders = part.on_estimate(&report(1, Some(400), Some(300)), &view(2, 200));
        assert!(orders.contains(&Order::SetSsthresh(10.0)), "{orders:?}");
    }

    #[test]
    fn a_pair_that_lost_a_segment_and_another_train_tell_nothing() {
        let mut part = BandwidthAware::default();
        let _ = part.on_notice(&notice((6400, 9), (200, 300)), &view(20, 200));
        let _ = part.on_ack(&advance(120, 20), &view(0, 200));
        for report in [report(1, None, Some(300)), report(2, Some(400), Some(300))] {
            assert!(part.on_estimate(&report, &view(2, 200)).is_empty());
        }
    }
}
