//! Two trains at the start of a connection, the second one made of what the receiver reports of the first. For the policies that
//! compare a receiver's estimate with the truth: the window becomes the length of the longer train, so that all of each may
//! go, and nothing else follows from the reports.

use midflight_units::Rate;

use super::TrainReport;
use crate::train::{Spacing, Then, Train};
use crate::{Interests, Order, Orders, SenderView};

/// Number of the first train.
const FIRST: u16 = 1;

/// How far it has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stages {
    /// There was no notice, or both trains have left.
    #[default]
    Over,
    /// The SYN is not yet acknowledged.
    Opening,
    /// The first train is under way.
    First,
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

impl Stages {
    pub(super) fn interests(self) -> Interests {
        Interests::START | Interests::ACKS.when(self == Self::Opening)
    }

    /// Sends the first train with a window of `longest` segments, as soon as the SYN is acknowledged.
    pub(super) fn first(
        &mut self,
        view: &SenderView,
        longest: u16,
        train: (u16, Spacing),
    ) -> Orders {
        if *self != Self::Opening || view.snd_una == 0 {
            return Orders::none();
        }
        *self = Self::First;
        Orders::none()
            .with(Order::SetCwnd(f64::from(longest)), WHY)
            .with(order(FIRST, train), WHY)
    }

    /// Sends the second train, for the rate that the first found. There is none if the first has lost a segment.
    pub(super) fn second(
        &mut self,
        report: &TrainReport,
        train: impl FnOnce(Rate) -> (u16, Spacing),
    ) -> Orders {
        if *self != Self::First || report.estimate.train != FIRST {
            return Orders::none();
        }
        *self = Self::Over;
        report.estimate.rate.map_or_else(Orders::none, |rate| {
            Orders::none().with(order(FIRST + 1, train(rate)), WHY)
        })
    }

    /// A timeout or a fast recovery, but for the SYN's: a segment of the first train may be missing.
    pub(super) fn on_loss(&mut self, view: &SenderView) {
        if view.snd_una > 0 {
            *self = Self::Over;
        }
    }
}
