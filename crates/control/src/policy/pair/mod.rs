//! A packet pair over a new path, for the policies that use one to measure it (Keshav 1991).

use midflight_units::{Duration, Rate};

use super::TrainReport;
use crate::train::{Spacing, Then, Train};
use crate::{Order, Orders, SenderView};

/// A pair that is to be sent, or whose report is outstanding.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pair {
    number: u16,
    is_due: bool,
}

impl Pair {
    /// Requests a pair, which is sent as soon as new segments may be sent.
    pub(super) fn request(&mut self) {
        self.is_due = true;
    }

    pub(super) fn is_due(self) -> bool {
        self.is_due
    }

    /// Sends the pair if it is requested and may be sent now.
    pub(super) fn send(&mut self, view: &SenderView) -> Orders {
        let is_calm = view.may_train && view.train.is_none() && view.dupacks == 0;
        if !self.is_due || !is_calm || view.unsent < 2 {
            return Orders::none();
        }
        self.is_due = false;
        self.number = self.number.wrapping_add(1);
        let train = Train {
            number: self.number,
            segments: 2,
            spacing: Spacing::BackToBack,
            then: Then::GoOn,
        };
        Orders::none().with(Order::SendTrain(train), "one packet pair over the new path")
    }

    /// The rate and the round trip from the report of the last pair, if it has both.
    pub(super) fn result(self, report: &TrainReport) -> Option<(Rate, Duration)> {
        let is_own = report.estimate.train == self.number && !self.is_due;
        report.estimate.rate.zip(report.rtt).filter(|_| is_own)
    }
}

/// The BDP of a path with this rate and round trip, in whole segments, at least two.
pub(super) fn bdp_segments((rate, rtt): (Rate, Duration), view: &SenderView) -> f64 {
    let segments = rate.bits_in(rtt) / (8 * u64::from(view.segment_bytes));
    segments.max(2) as f64
}
