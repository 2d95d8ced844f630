//! VA-TCP, a vertical-handoff-aware TCP (Lin & Chang, SAC 2007, a short paper). Daniel & Kojo 2008, section
//! 2: the mobile node notifies the sender of the handoff. When it "detects that a packet sent over the old
//! access network is lost, it only retransmits the missing segment but does not invoke any congestion control
//! actions. After the handoff, [it] estimates the bandwidth and RTT using the packet-pair scheme and sets the
//! cwnd and ssthresh to the BDP".
//!
//! The paper's pair consists of ICMP packets, outside the connection; this one consists of new segments, so
//! it is sent when nothing is being retransmitted. The timeout is that after a first sample of the pair's
//! round trip, R + 4 R/2 (RFC 6298 (2.2)); the RTT estimate starts with the next sample.

use midflight_units::Seq;

use super::pair::{bdp_segments, Pair};
use super::{HandoffPolicy, TrainReport};
use crate::part::{Part, PartInfo};
use crate::{AckNews, Interests, Notice, Order, Orders, SenderView};

/// The current handoff.
#[derive(Clone, Copy, Debug, Default)]
pub struct VaTcp {
    pair: Pair,
    /// One past the last segment sent over the old link.
    edge: Option<Seq>,
    /// Window and threshold before the timeouts of the segment at SND.UNA.
    before_timeout: Option<(Seq, f64, f64)>,
}

impl Part for VaTcp {
    const INFO: PartInfo = PartInfo {
        name: "va-tcp",
        summary: "losses of the old link do not reduce the window; window and threshold become the BDP measured with a packet pair",
        source: "Lin & Chang 2007, as Daniel & Kojo 2008, section 2, describe it",
        knobs: &[],
    };
}

impl VaTcp {
    fn is_of_old_link(&self, view: &SenderView) -> bool {
        self.edge.is_some_and(|edge| view.snd_una < edge)
    }
}

impl HandoffPolicy for VaTcp {
    fn on_notice(&mut self, _notice: &Notice, view: &SenderView) -> Orders {
        self.pair.request();
        self.edge = Some(view.snd_max);
        // Reductions by timeouts while the link was away are undone: those were losses of the old link.
        let mine = self.before_timeout.filter(|&(una, ..)| una == view.snd_una);
        match mine {
            Some((_, cwnd, ssthresh)) if view.in_rto_recovery => {
                let why = "what timed out was sent over the old link";
                Orders::none()
                    .with(Order::SetSsthresh(ssthresh), why)
                    .with(Order::SetCwnd(cwnd), why)
                    .with(Order::RetransmitNow, "the link is back")
            }
            _ => Orders::none(),
        }
    }

    fn on_ack(&mut self, _ack: &AckNews, view: &SenderView) -> Orders {
        self.pair.send(view)
    }

    fn on_recovery(&mut self, view: &SenderView) -> Orders {
        if self.is_of_old_link(view) {
            Orders::none().with(Order::KeepWindow, "lost on the old link")
        } else {
            Orders::none()
        }
    }

    fn on_timeout(&mut self, before: &SenderView, view: &SenderView) -> Orders {
        let una = before.snd_una;
        let first = self.before_timeout.filter(|&(at, ..)| at == una);
        let (_, cwnd, ssthresh) = first.unwrap_or((una, before.cwnd.max(1.0), before.ssthresh));
        self.before_timeout = Some((una, cwnd, ssthresh));
        if !self.is_of_old_link(view) {
            return Orders::none();
        }
        let why = "what timed out was sent over the old link";
        Orders::none()
            .with(Order::SetSsthresh(ssthresh), why)
            .with(Order::SetCwnd(cwnd), why)
    }

    fn on_estimate(&mut self, report: &TrainReport, view: &SenderView) -> Orders {
        self.pair.result(report).map_or_else(Orders::none, |found| {
            let why = format!("{} over {}: the BDP of the new path", found.0, found.1);
            let bdp = bdp_segments(found, view);
            Orders::none()
                .with(Order::SetSsthresh(bdp), &*why)
                .with(Order::SetCwnd(bdp), &*why)
                .with(
                    Order::RestartRtt {
                        initial_rto: (found.1 * 3).max(view.min_rto),
                        sample_since: view.now,
                        sample_retransmitted: false,
                    },
                    "the pair's round trip is the first sample",
                )
        })
    }

    fn interests(&self) -> Interests {
        Interests::PAST | Interests::ACKS.when(self.pair.is_due())
    }
}

#[cfg(test)]
mod tests {
    use midflight_units::Duration;

    use super::*;
    use crate::ack::testing::advance;
    use crate::policy::testing::{notice, report, view};

    #[test]
    fn only_losses_of_the_old_link_keep_the_window() {
        let mut part = VaTcp::default();
        assert!(part.on_recovery(&view(20, 200)).is_empty(), "no handoff");
        let _ = part.on_notice(&notice((6400, 9), (200, 300)), &view(20, 200));
        assert!(part
            .on_recovery(&view(20, 200))
            .contains(&Order::KeepWindow));
        let later = SenderView {
            snd_una: 120,
            snd_nxt: 130,
            snd_max: 130,
            ..view(10, 200)
        };
        assert!(part.on_recovery(&later).is_empty(), "sent over the new one");
    }

    #[test]
    fn the_window_before_the_first_timeout_of_a_break_comes_back() {
        let mut part = VaTcp::default();
        let before = SenderView {
            cwnd: 20.0,
            ssthresh: 30.0,
            ..view(20, 200)
        };
        let stalled = SenderView {
            cwnd: 1.0,
            ssthresh: 10.0,
            in_rto_recovery: true,
            ..view(20, 400)
        };
        assert!(part.on_timeout(&before, &stalled).is_empty());
        assert!(part.on_timeout(&stalled, &stalled).is_empty());
        let orders = part.on_notice(&notice((6400, 9), (200, 300)), &stalled);
        assert!(orders.contains(&Order::SetCwnd(20.0)), "{orders:?}");
        assert!(orders.contains(&Order::SetSsthresh(30.0)));
        assert!(orders.contains(&Order::RetransmitNow));
    }

    #[test]
    fn window_threshold_and_timer_are_those_of_the_pair() {
        let mut part = VaTcp::default();
        let _ = part.on_notice(&notice((6400, 9), (400, 150)), &view(20, 200));
        let v = view(0, 200);
        assert_eq!(part.on_ack(&advance(120, 20), &v).iter().count(), 1);
        let orders = part.on_estimate(&report(1, Some(400), Some(300)), &v);
        assert!(orders.contains(&Order::SetCwnd(10.0)), "{orders:?}");
        assert!(orders.contains(&Order::SetSsthresh(10.0)));
        assert!(orders.contains(&Order::RestartRtt {
            initial_rto: Duration::from_millis(900),
            sample_since: v.now,
            sample_retransmitted: false,
        }));
    }
}
