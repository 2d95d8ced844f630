//! ProbeGap (Lakshminarayanan, Padmanabhan & Padhye, "Bandwidth estimation in broadband access networks", IMC 2004) at the
//! start of a connection, to compare its estimate with the truth: probes at random times. It needs the capacity, which
//! packet pairs measure first; the receiver may be told another (`probe_gap_capacity`). [`crate::estimate::probe_gap`]
//! has the method, and what of the text was not available.
//!
//! The probes are the next segments of the data. The tool has small packets of its own; with full
//! segments the probes themselves are a load and may wait for each other. So their mean distance
//! follows the capacity, a knob, as their number.

use midflight_units::Duration;

use super::stages::Trains;
use crate::part::{refuse, whole, Knob, KnobError, Part, PartInfo};
use crate::Spacing;

/// Part of the capacity that probes take: one in so many.
const LOAD: u64 = 20;

/// What to send.
#[derive(Clone, Copy, Debug)]
pub struct PairsThenProbes {
    pairs: u16,
    probes: u16,
    /// None to choose it by the capacity.
    mean: Option<Duration>,
    seed: u64,
}

impl Default for PairsThenProbes {
    fn default() -> Self {
        Self {
            pairs: 4,
            probes: 200,
            mean: None,
            seed: 1,
        }
    }
}

impl Part for PairsThenProbes {
    const INFO: PartInfo = PartInfo {
        name: "probe-gap",
        summary: "packet pairs and then probes at random times at the start, to compare the receiver's estimate with the truth",
        source: "Lakshminarayanan, Padmanabhan & Padhye 2004 (ProbeGap), from its abstract and the papers that cite it; the text was not available",
        knobs: &[
            Knob {
                name: "probe_gap_pairs",
                default: "4",
                accepts: "a whole number from 2 to 1000",
                summary: "segments back to back for the capacity",
            },
            Knob {
                name: "probe_gap_probes",
                default: "200",
                accepts: "a whole number from 2 to 10000",
                summary: "probes",
            },
            Knob {
                name: "probe_gap_mean",
                default: "auto",
                accepts: "a time of at least 1 us, or auto",
                summary: "mean time from a probe to the next; auto: so that probes take a twentieth of the measured capacity",
            },
            Knob {
                name: "probe_gap_seed",
                default: "1",
                accepts: "a whole number from 0 to 4294967295",
                summary: "another one is another sequence of times",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let info = &Self::INFO;
        match name {
            "probe_gap_pairs" => self.pairs = whole(info, name, value, 2..=1000)? as u16,
            "probe_gap_probes" => self.probes = whole(info, name, value, 2..=10_000)? as u16,
            "probe_gap_seed" => self.seed = whole(info, name, value, 0..=u32::MAX)?.into(),
            _ if value == "auto" => self.mean = None,
            _ => {
                let time = value.parse().ok();
                let time = time.filter(|&time| time >= Duration::from_micros(1));
                self.mean = Some(time.ok_or_else(|| refuse(info, name, value))?);
            }
        }
        Ok(())
    }
}

impl Trains for PairsThenProbes {
    fn first(&self) -> (u16, Spacing) {
        (self.pairs, Spacing::BackToBack)
    }

    fn length_of_second(&self) -> u16 {
        self.probes
    }

    fn spacing_of_second(&self, one: Duration) -> Spacing {
        let mean = self.mean.unwrap_or(one * LOAD);
        let seed = self.seed;
        Spacing::Poisson { mean, seed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ack::testing::advance;
    use crate::policy::stages::TwoTrains;
    use crate::policy::testing::{link, report, view};
    use crate::policy::HandoffPolicy;
    use crate::{Order, Orders, StartNotice, Then, Train};

    type ProbeGap = TwoTrains<PairsThenProbes>;

    fn probes(part: &mut ProbeGap) -> Orders {
        let notice = StartNotice {
            link: link(20_000, 15),
            flows: 1,
        };
        let _ = part.on_start(&notice, &view(0, 200));
        let pairs = part.on_ack(&advance(100, 1), &view(0, 200));
        assert!(pairs.contains(&Order::SetCwnd(200.0)), "{pairs:?}");
        part.on_estimate(&report(1, Some(20_000), Some(40)), &view(0, 200))
    }

    fn train(mean: Duration, seed: u64) -> Order {
        Order::SendTrain(Train {
            number: 2,
            segments: 200,
            spacing: Spacing::Poisson { mean, seed },
            then: Then::AwaitReport,
        })
    }

    /// Pairs of 20 Mbit/s: a segment of 1500 bytes takes 600 us, and so the probes are 12 ms apart in the mean.
    #[test]
    fn probes_take_a_twentieth_of_the_capacity() {
        let orders = probes(&mut ProbeGap::default());
        assert!(
            orders.contains(&train(Duration::from_millis(12), 1)),
            "{orders:?}"
        );
    }

    #[test]
    fn distance_and_sequence_are_knobs() {
        let mut part = ProbeGap::default();
        assert_eq!(part.set_knob("probe_gap_mean", "5ms"), Ok(()));
        assert_eq!(part.set_knob("probe_gap_seed", "9"), Ok(()));
        assert!(part.set_knob("probe_gap_mean", "0ms").is_err());
        let orders = probes(&mut part);
        assert!(
            orders.contains(&train(Duration::from_millis(5), 9)),
            "{orders:?}"
        );
    }
}
