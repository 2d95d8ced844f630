//! WBest (Li, Claypool & Kinicki, "WBest: a bandwidth estimation tool for IEEE 802.11 wireless networks", LCN 2008) at the
//! start of a connection, to compare its estimate with the truth: packet pairs for the effective capacity, then a train at
//! that rate. [`crate::estimate::wbest`] has the equation, and what of the text was not available.
//!
//! Pairs and train are the next segments of the data. Thirty of each is how the tool is cited, and how far the pairs are apart is
//! not said: knobs.

use midflight_units::Duration;

use super::stages::Trains;
use crate::part::{refuse, whole, Knob, KnobError, Part, PartInfo};
use crate::Spacing;

/// What to send.
#[derive(Clone, Copy, Debug)]
pub struct PairsThenTrain {
    pairs: u16,
    apart: Duration,
    train: u16,
}

impl Default for PairsThenTrain {
    fn default() -> Self {
        Self {
            pairs: 30,
            apart: Duration::from_millis(10),
            train: 30,
        }
    }
}

impl Part for PairsThenTrain {
    const INFO: PartInfo = PartInfo {
        name: "wbest",
        summary: "packet pairs and a train at their rate at the start, to compare the receiver's estimate with the truth",
        source: "Li, Claypool & Kinicki 2008 (WBest), from its abstract and the papers that cite it; the text was not available",
        knobs: &[
            Knob {
                name: "wbest_pairs",
                default: "30",
                accepts: "a whole number from 1 to 1000",
                summary: "packet pairs for the effective capacity",
            },
            Knob {
                name: "wbest_apart",
                default: "10ms",
                accepts: "a time",
                summary: "time from a pair to the next",
            },
            Knob {
                name: "wbest_train",
                default: "30",
                accepts: "a whole number from 2 to 10000",
                summary: "segments of the train at the effective capacity",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let info = &Self::INFO;
        match name {
            "wbest_pairs" => self.pairs = whole(info, name, value, 1..=1000)? as u16,
            "wbest_apart" => {
                self.apart = value.parse().map_err(|_| refuse(info, name, value))?;
            }
            _ => self.train = whole(info, name, value, 2..=10_000)? as u16,
        }
        Ok(())
    }
}

impl Trains for PairsThenTrain {
    fn first(&self) -> (u16, Spacing) {
        (2 * self.pairs, Spacing::Pairs(self.apart))
    }

    fn length_of_second(&self) -> u16 {
        self.train
    }

    fn spacing_of_second(&self, one: Duration) -> Spacing {
        Spacing::AtCapacity(one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ack::testing::advance;
    use crate::policy::stages::TwoTrains;
    use crate::policy::testing::{link, report, view};
    use crate::policy::HandoffPolicy;
    use crate::{Interests, Order, SenderView, StartNotice, Then, Train};

    type Wbest = TwoTrains<PairsThenTrain>;

    fn train(number: u16, segments: u16, spacing: Spacing) -> Order {
        Order::SendTrain(Train {
            number,
            segments,
            spacing,
            then: Then::AwaitReport,
        })
    }

    fn opened() -> Wbest {
        let mut part = Wbest::default();
        let notice = StartNotice {
            link: link(20_000, 15),
            flows: 1,
        };
        assert!(part.on_start(&notice, &view(0, 200)).is_empty());
        part
    }

    /// Sixty segments in pairs; the receiver reports 20 Mbit/s, so that thirty segments of 1500 bytes follow, one each
    /// 600 us; its second report has no effect.
    #[test]
    fn a_train_at_the_effective_capacity_follows_the_pairs() {
        let mut part = opened();
        assert!(part.interests().includes(Interests::ACKS));
        let orders = part.on_ack(&advance(100, 1), &view(0, 200));
        let pairs = Spacing::Pairs(Duration::from_millis(10));
        assert!(orders.contains(&train(1, 60, pairs)), "{orders:?}");
        assert!(orders.contains(&Order::SetCwnd(60.0)));
        assert!(!part.interests().includes(Interests::ACKS));
        let orders = part.on_estimate(&report(1, Some(20_000), Some(40)), &view(0, 200));
        let steady = Spacing::AtCapacity(Duration::from_micros(600));
        assert!(orders.contains(&train(2, 30, steady)), "{orders:?}");
        let last = part.on_estimate(&report(2, Some(9000), Some(40)), &view(0, 200));
        assert!(last.is_empty() && !part.interests().includes(Interests::ACKS));
    }

    /// The window is the recovery's. A SYN that is sent again ends nothing.
    #[test]
    fn a_loss_ends_it_but_not_that_of_the_syn() {
        for timeout in [true, false] {
            let mut part = opened();
            let opening = SenderView {
                snd_una: 0,
                ..view(1, 200)
            };
            let _ = part.on_timeout(&opening, &opening);
            assert!(!part.on_ack(&advance(100, 1), &view(0, 200)).is_empty());
            let _ = if timeout {
                part.on_timeout(&view(9, 200), &view(9, 200))
            } else {
                part.on_recovery(&view(9, 200))
            };
            let told = report(1, Some(20_000), Some(40));
            assert!(part.on_estimate(&told, &view(0, 200)).is_empty());
            assert!(!part.interests().includes(Interests::ACKS));
        }
    }

    #[test]
    fn pairs_that_lost_a_segment_end_it() {
        let mut part = opened();
        let _ = part.on_ack(&advance(100, 1), &view(0, 200));
        let told = report(1, None, Some(40));
        assert!(part.on_estimate(&told, &view(0, 200)).is_empty());
        assert!(!part.interests().includes(Interests::ACKS));
    }
}
