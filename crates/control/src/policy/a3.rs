//! A3: use a link as soon as it is back (Daniel & Kojo 2008, section 5.4,
//! figure 15).
//!
//! The threshold is saved after the first timeout of a segment. If the sender is in RTO recovery
//! when the notice comes, it retransmits the first unacknowledged segment at once instead of
//! waiting for the backed-off timer, and restores the saved threshold: the later timeouts were
//! caused by the disconnection, not by congestion. After a significant change of delay the RTT
//! estimate is reset, and the ACK of the first segment of the new path gives a sample. The ACK of
//! the retransmission does not: after a make-before-break handoff it may acknowledge an earlier
//! copy (a knob).
//!
//! The paper does not define "significant"; a factor of two either way holds
//! for every pair it uses. The bandwidth-estimation report of the same authors
//! sets the threshold to the new link's BDP instead: a knob.

use super::HandoffPolicy;
use crate::part::{choose, refuse, Knob, KnobError, Part, PartInfo};
use crate::{Notice, Order, Orders, SenderView};

/// State and knobs of A3.
#[derive(Clone, Copy, Debug)]
pub struct A3 {
    to_bdp: bool,
    delay_ratio: u64,
    sample_first_ack: bool,
}

impl Default for A3 {
    fn default() -> Self {
        Self {
            to_bdp: false,
            delay_ratio: 2,
            sample_first_ack: false,
        }
    }
}

impl Part for A3 {
    const INFO: PartInfo = PartInfo {
        name: "a3",
        summary: "in RTO recovery, retransmit as soon as the link is back and restore the threshold of the first timeout",
        source: "Daniel & Kojo 2008, section 5.4, figure 15",
        knobs: &[
            Knob {
                name: "a3_ssthresh",
                default: "saved",
                accepts: "saved, bdp",
                summary: "threshold after the notice: the one of the first timeout, or the new link's BDP",
            },
            Knob {
                name: "a3_delay_ratio",
                default: "2",
                accepts: "a whole number from 1",
                summary: "change of delay, in either direction, from which RTT estimation restarts",
            },
            Knob {
                name: "a3_sample",
                default: "new-segment",
                accepts: "new-segment, first-ack",
                summary: "the first RTT sample of the new path: from a segment not sent before, or already from the ACK of the retransmission",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        if name == "a3_ssthresh" {
            self.to_bdp = choose(&Self::INFO, name, value, &[("saved", false), ("bdp", true)])?;
        } else if name == "a3_sample" {
            let choices = [("new-segment", false), ("first-ack", true)];
            self.sample_first_ack = choose(&Self::INFO, name, value, &choices)?;
        } else {
            let ratio = value.parse().ok().filter(|&r| r >= 1);
            self.delay_ratio = ratio.ok_or_else(|| refuse(&Self::INFO, name, value))?;
        }
        Ok(())
    }
}

impl HandoffPolicy for A3 {
    fn on_notice(&mut self, notice: &Notice, view: &SenderView) -> Orders {
        if !view.in_rto_recovery {
            return Orders::none();
        }
        let mut orders = Orders::none();
        let (old, new) = (notice.old.delay, notice.new.delay);
        if old.max(new) >= old.min(new) * self.delay_ratio {
            orders.push(
                Order::RestartRtt {
                    initial_rto: view.new_connection_rto,
                    sample_since: view.now,
                    sample_retransmitted: self.sample_first_ack,
                },
                format!("the delay changes from {old} to {new}"),
            );
        }
        orders.push(Order::RetransmitNow, "in RTO recovery and the link is back");
        if self.to_bdp {
            let bdp = notice.new.bdp_segments(view.segment_bytes) / u64::from(notice.flows.max(1));
            orders.push(Order::SetSsthresh(bdp.max(2) as f64), "BDP of the new link");
        } else if let Some((segment, ssthresh)) = view.first_timeout {
            if segment == view.snd_una {
                let why = format!("threshold after the first timeout of segment {segment}");
                orders.push(Order::SetSsthresh(ssthresh), why);
            }
        }
        orders
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{notice, view};

    /// Stalled at segment 100 with this threshold, after a first timeout that set it to `first`.
    fn timed_out(first: f64, ssthresh: f64) -> SenderView {
        SenderView {
            in_rto_recovery: true,
            first_timeout: Some((100, first)),
            cwnd: 1.0,
            ssthresh,
            ..view(20, 400)
        }
    }

    #[test]
    fn figure_14_restores_the_threshold_of_the_first_timeout() {
        let mut a3 = A3::default();
        let orders = a3.on_notice(&notice((6400, 9), (6400, 300)), &timed_out(10.0, 2.0));
        assert!(orders.contains(&Order::RetransmitNow));
        assert!(orders.contains(&Order::SetSsthresh(10.0)));
        assert!(orders
            .iter()
            .any(|(o, _)| matches!(o, Order::RestartRtt { .. })));
    }

    #[test]
    fn a_similar_delay_keeps_the_estimate() {
        let mut a3 = A3::default();
        let orders = a3.on_notice(&notice((6400, 9), (200, 9)), &timed_out(10.0, 10.0));
        assert!(!orders
            .iter()
            .any(|(o, _)| matches!(o, Order::RestartRtt { .. })));
    }

    #[test]
    fn outside_rto_recovery_it_does_nothing() {
        let mut a3 = A3::default();
        assert!(a3
            .on_notice(&notice((6400, 9), (6400, 300)), &view(20, 400))
            .is_empty());
    }

    #[test]
    fn the_bdp_variant_sets_the_new_links_bdp() {
        let mut a3 = A3::default();
        assert_eq!(a3.set_knob("a3_ssthresh", "bdp"), Ok(()));
        let orders = a3.on_notice(&notice((200, 300), (400, 150)), &timed_out(10.0, 2.0));
        assert!(orders.contains(&Order::SetSsthresh(11.0)));
        for (flows, share) in [(2, 5.0), (4, 2.0), (8, 2.0)] {
            let mut n = notice((200, 300), (400, 150));
            n.flows = flows;
            let orders = a3.on_notice(&n, &timed_out(10.0, 2.0));
            assert!(orders.contains(&Order::SetSsthresh(share)), "{flows}");
        }
    }
}
