//! Two trains at the start of a connection, the second one made of what the receiver reports of the first. For the policies that
//! compare a receiver's estimate with the truth: the window becomes the length of the longer train, so that all of each may
//! go, and nothing else follows from the reports.

use midflight_units::Duration;

use super::{HandoffPolicy, TrainReport};
use crate::part::{KnobError, Part, PartInfo};
use crate::train::{Spacing, Then, Train};
use crate::{AckNews, Interests, Notice, Order, Orders, SenderView, StartNotice};

/// Number of the first train.
const FIRST: u16 = 1;

/// The two trains of an estimator: for each its number of segments, and their spacing.
pub trait Trains: Part {
    /// What is sent first.
    fn first(&self) -> (u16, Spacing);

    /// The segments of the second train.
    fn length_of_second(&self) -> u16;

    /// The spacing of the second train at the rate that the first found, at which a segment takes `one`.
    fn spacing_of_second(&self, one: Duration) -> Spacing;
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// There was no notice, or both trains have been sent.
    #[default]
    Over,
    /// The SYN is not yet acknowledged.
    Opening,
    /// The first train has been sent; its report has not arrived.
    First,
}

/// A policy that sends the trains of an estimator.
#[derive(Clone, Copy, Debug, Default)]
pub struct TwoTrains<T> {
    trains: T,
    stage: Stage,
}

fn order(number: u16, (segments, spacing): (u16, Spacing)) -> Order {
    Order::SendTrain(Train {
        number,
        segments,
        spacing,
        then: Then::AwaitReport,
    })
}

const WHY: &str = "a train is to be measured";

impl<T: Trains> TwoTrains<T> {
    /// A timeout or a fast recovery, except for the SYN's: a segment of the first train may be missing.
    fn on_loss(&mut self, view: &SenderView) -> Orders {
        if view.snd_una > 0 {
            self.stage = Stage::Over;
        }
        Orders::none()
    }
}

impl<T: Trains> Part for TwoTrains<T> {
    const INFO: PartInfo = T::INFO;

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        self.trains.set_knob(name, value)
    }
}

impl<T: Trains> HandoffPolicy for TwoTrains<T> {
    fn on_notice(&mut self, _notice: &Notice, _view: &SenderView) -> Orders {
        Orders::none()
    }

    fn on_start(&mut self, _notice: &StartNotice, _view: &SenderView) -> Orders {
        self.stage = Stage::Opening;
        Orders::none()
    }

    fn interests(&self) -> Interests {
        Interests::START | Interests::ACKS.when(self.stage == Stage::Opening)
    }

    /// Sends the first train as soon as the SYN is acknowledged and there is data.
    fn on_ack(&mut self, _ack: &AckNews, view: &SenderView) -> Orders {
        if self.stage != Stage::Opening || view.snd_una == 0 || view.unsent == 0 {
            return Orders::none();
        }
        self.stage = Stage::First;
        let first = self.trains.first();
        let longest = first.0.max(self.trains.length_of_second());
        Orders::none()
            .with(Order::SetCwnd(f64::from(longest)), WHY)
            .with(order(FIRST, first), WHY)
    }

    fn on_timeout(&mut self, _before: &SenderView, view: &SenderView) -> Orders {
        self.on_loss(view)
    }

    fn on_recovery(&mut self, view: &SenderView) -> Orders {
        self.on_loss(view)
    }

    /// Sends the second train. There is none if the first has lost a segment.
    fn on_estimate(&mut self, report: &TrainReport, view: &SenderView) -> Orders {
        if self.stage != Stage::First || report.estimate.train != FIRST {
            return Orders::none();
        }
        self.stage = Stage::Over;
        report.estimate.rate.map_or_else(Orders::none, |rate| {
            let one = rate.transmission_time(view.segment_bytes.into());
            let spacing = self.trains.spacing_of_second(one);
            let second = (self.trains.length_of_second(), spacing);
            Orders::none().with(order(FIRST + 1, second), WHY)
        })
    }
}
