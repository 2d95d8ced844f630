//! TCP-HO (Wu, Chan & Ananda, ICC 2007; according to its abstract and to papers that cite it). The mobile node
//! reports the bandwidth of its new link in an option of two duplicate ACKs, and the sender sets its threshold to
//! bandwidth times RTT at each of the next four RTT samples.
//!
//! Here the notice replaces the two ACKs. A sample whose timestamp is from before the notice belongs to the old
//! path and does not count. Throughput advice works like a notice: only the rate is used.

use midflight_units::{Instant, Rate};

use super::pair::bdp_segments;
use super::HandoffPolicy;
use crate::part::{whole, Knob, KnobError, Part, PartInfo};
use crate::{AckNews, Advice, Interests, Notice, Order, Orders, SenderView};

/// The current handoff, and the number of samples.
#[derive(Clone, Copy, Debug)]
pub struct TcpHo {
    samples: u32,
    /// When the notice arrived, the flow's share of the new link's rate, and the number of samples left.
    handoff: Option<(Instant, Rate, u32)>,
    /// When that rate expires.
    expires: Instant,
}

impl Default for TcpHo {
    fn default() -> Self {
        Self {
            samples: 4,
            handoff: None,
            expires: Instant::NEVER,
        }
    }
}

impl Part for TcpHo {
    const INFO: PartInfo = PartInfo {
        name: "tcp-ho",
        summary: "the threshold is the new link's bandwidth times the RTT, for the first four RTT samples",
        source: "Wu, Chan & Ananda 2007, by its abstract",
        knobs: &[Knob {
            name: "tcp_ho_samples",
            default: "4",
            accepts: "a whole number from 1 to 1000",
            summary: "RTT samples after a handoff that set the threshold",
        }],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        self.samples = whole(&Self::INFO, name, value, 1..=1000)?;
        Ok(())
    }
}

impl HandoffPolicy for TcpHo {
    fn on_notice(&mut self, notice: &Notice, view: &SenderView) -> Orders {
        let share = notice.new.rate.as_bps() / u64::from(notice.flows.max(1));
        self.handoff = Rate::from_bps(share).map(|rate| (view.now, rate, self.samples));
        self.expires = Instant::NEVER;
        Orders::none()
    }

    fn on_advice(&mut self, advice: &Advice, view: &SenderView) -> Orders {
        self.handoff = Some((view.now, advice.rate, self.samples));
        self.expires = advice.until;
        Orders::none()
    }

    fn on_ack(&mut self, ack: &AckNews, view: &SenderView) -> Orders {
        let Some((at, rate, left)) = self.handoff else {
            return Orders::none();
        };
        if view.now >= self.expires {
            self.handoff = None;
            return Orders::none();
        }
        let Some(srtt) = view.srtt.filter(|_| view.rtt_sampled) else {
            return Orders::none();
        };
        let rtt = match ack.echo {
            Some(sent) if sent < at => return Orders::none(),
            Some(sent) => view.now.since(sent),
            None => srtt,
        };
        self.handoff = (left > 1).then_some((at, rate, left - 1));
        let why = format!("{rate} over {rtt}, with {} samples to come", left - 1);
        Orders::none().with(Order::SetSsthresh(bdp_segments((rate, rtt), view)), why)
    }

    fn interests(&self) -> Interests {
        Interests::ADVICE | Interests::ACKS.when(self.handoff.is_some())
    }
}

#[cfg(test)]
mod tests {
    use midflight_units::Duration;

    use super::*;
    use crate::ack::testing::advance;
    use crate::policy::testing::{notice, view};

    #[test]
    fn four_samples_of_the_new_path_set_the_threshold() {
        let mut part = TcpHo::default();
        let at = view(20, 200);
        assert!(part
            .on_notice(&notice((6400, 9), (400, 150)), &at)
            .is_empty());
        let later = SenderView {
            now: at.now + Duration::from_millis(300),
            rtt_sampled: true,
            ..view(20, 200)
        };
        let old = AckNews {
            echo: Some(Instant::from_nanos(at.now.as_nanos() - 1)),
            ..advance(101, 1)
        };
        assert!(
            part.on_ack(&old, &later).is_empty(),
            "sent over the old path"
        );
        let new = AckNews {
            echo: Some(at.now),
            ..advance(102, 1)
        };
        for _ in 0..4 {
            // 400 kbit/s for 300 ms: ten segments.
            let orders = part.on_ack(&new, &later);
            assert!(orders.contains(&Order::SetSsthresh(10.0)), "{orders:?}");
        }
        assert!(part.on_ack(&new, &later).is_empty());
        assert!(!part.interests().includes(Interests::ACKS));
    }

    #[test]
    fn advice_sets_it_too_until_it_expires() {
        let at = view(20, 200);
        let rate = Rate::from_bps(400_000).unwrap_or(Rate::from_mbps(1));
        for (later, sets) in [(1, true), (67, false)] {
            let mut part = TcpHo::default();
            let advice = Advice::of(rate, at.now, true).unwrap_or_else(|| unreachable!());
            assert!(part.on_advice(&advice, &at).is_empty());
            let later = SenderView {
                now: at.now + Duration::from_secs(later),
                rtt_sampled: true,
                ..view(20, 200)
            };
            let orders = part.on_ack(&advance(1, 1), &later);
            assert_eq!(!orders.is_empty(), sets);
            assert_eq!(part.interests().includes(Interests::ACKS), sets);
        }
    }
}
