//! Sends one train at the start of a connection. Its report has no effect: it serves to compare the
//! receiver's estimate with the true rate.
//!
//! The window becomes the train's length, so that all of it may be sent.

use midflight_units::Rate;

use super::{HandoffPolicy, TrainReport};
use crate::part::{refuse, whole, Knob, KnobError, Part, PartInfo};
use crate::{
    AckNews, Interests, Notice, Order, Orders, SenderView, Spacing, StartNotice, Then, Train,
};

/// What to send.
#[derive(Clone, Copy, Debug)]
pub struct ProbeTrain {
    segments: u16,
    /// Rates of a chirp; packet pairs if there is no high rate.
    low: Rate,
    high: Option<Rate>,
    opening: bool,
}

impl Default for ProbeTrain {
    fn default() -> Self {
        Self {
            segments: 4,
            low: Rate::from_mbps(1),
            high: None,
            opening: false,
        }
    }
}

impl Part for ProbeTrain {
    const INFO: PartInfo = PartInfo {
        name: "probe-train",
        summary:
            "one train of segments at the start, to compare the receiver's estimate with the truth",
        source: "the trains of Daniel & Kojo, report on available bandwidth, section 3",
        knobs: &[
            Knob {
                name: "probe_segments",
                default: "4",
                accepts: "a whole number from 2 to 10000",
                summary: "segments of the train",
            },
            Knob {
                name: "probe_low",
                default: "1 Mbit/s",
                accepts: "a rate",
                summary: "lowest rate of the chirp",
            },
            Knob {
                name: "probe_high",
                default: "none",
                accepts: "a rate, or none for segments back to back",
                summary: "highest rate of the chirp",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let info = &Self::INFO;
        let rate = || value.parse().map_err(|_| refuse(info, name, value));
        match name {
            "probe_segments" => self.segments = whole(info, name, value, 2..=10_000)? as u16,
            "probe_low" => self.low = rate()?,
            _ if value == "none" => self.high = None,
            _ => self.high = Some(rate()?),
        }
        Ok(())
    }
}

impl HandoffPolicy for ProbeTrain {
    fn on_notice(&mut self, _notice: &Notice, _view: &SenderView) -> Orders {
        Orders::none()
    }

    fn on_start(&mut self, _notice: &StartNotice, _view: &SenderView) -> Orders {
        self.opening = true;
        Orders::none()
    }

    fn interests(&self) -> Interests {
        Interests::START | Interests::ACKS.when(self.opening)
    }

    fn on_ack(&mut self, _ack: &AckNews, view: &SenderView) -> Orders {
        // An application may write later.
        if view.snd_una == 0 || view.unsent == 0 {
            return Orders::none();
        }
        self.opening = false;
        let low = self.low;
        let train = Train {
            number: 1,
            segments: self.segments,
            spacing: self
                .high
                .map_or(Spacing::BackToBack, |high| Spacing::Chirp {
                    low,
                    high,
                    rule: None,
                }),
            then: Then::AwaitReport,
        };
        let why = "a train is to be measured";
        Orders::none()
            .with(Order::SetCwnd(f64::from(self.segments)), why)
            .with(Order::SendTrain(train), why)
    }

    fn on_estimate(&mut self, _report: &TrainReport, _view: &SenderView) -> Orders {
        Orders::none()
    }
}
