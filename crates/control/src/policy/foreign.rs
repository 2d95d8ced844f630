//! A policy that is defined outside this crate, such as one that a user writes in Python.
//!
//! It is not in the registry; the code that builds a sender passes it in.

use std::fmt;

use super::{HandoffPolicy, TrainReport};
use crate::congestion::ForeignCongestion;
use crate::part::PartInfo;
use crate::{AckNews, Advice, Interests, Notice, Orders, SenderView, StartNotice};

/// Name, copies and kind of a foreign policy.
pub trait ForeignPolicy: HandoffPolicy + fmt::Debug + Send + Sync {
    /// Its name, summary and source.
    fn info(&self) -> PartInfo;

    /// A copy with its current state, for a run that forks.
    fn copied(&self) -> Box<dyn ForeignPolicy>;

    /// Its congestion controller, if it is interested in [`Interests::CONTROL`].
    fn controller(&mut self) -> Option<&mut dyn ForeignCongestion> {
        None
    }
}

/// Any foreign policy. It is not called before its first notice, so without a notice the sender
/// behaves like the plain sender.
#[derive(Debug)]
pub struct Foreign {
    policy: Box<dyn ForeignPolicy>,
    notified: bool,
}

impl Clone for Foreign {
    fn clone(&self) -> Self {
        Self {
            policy: self.policy.copied(),
            notified: self.notified,
        }
    }
}

impl Foreign {
    /// The sender's copy of a policy.
    pub fn new(policy: &dyn ForeignPolicy) -> Self {
        Self {
            policy: policy.copied(),
            notified: false,
        }
    }

    /// Its name, summary and source.
    pub(super) fn info(&self) -> PartInfo {
        self.policy.info()
    }

    /// Its congestion controller, if it is one.
    pub fn controller(&mut self) -> Option<&mut dyn ForeignCongestion> {
        self.policy.controller()
    }
}

impl HandoffPolicy for Foreign {
    fn on_notice(&mut self, notice: &Notice, view: &SenderView) -> Orders {
        self.notified = true;
        self.policy.on_notice(notice, view)
    }

    fn on_start(&mut self, notice: &StartNotice, view: &SenderView) -> Orders {
        self.notified = true;
        self.policy.on_start(notice, view)
    }

    fn on_advice(&mut self, advice: &Advice, view: &SenderView) -> Orders {
        self.notified = true;
        self.policy.on_advice(advice, view)
    }

    fn interests(&self) -> Interests {
        let all = self.policy.interests();
        Interests::ADVICE.when(all.includes(Interests::ADVICE))
            | Interests::START.when(all.includes(Interests::START))
            | Interests::CONTROL.when(all.includes(Interests::CONTROL))
            | Interests::ACKS.when(self.notified && all.includes(Interests::ACKS))
            | Interests::RATES.when(self.notified && all.includes(Interests::RATES))
    }

    fn on_ack(&mut self, ack: &AckNews, view: &SenderView) -> Orders {
        self.policy.on_ack(ack, view)
    }

    fn on_timeout(&mut self, before: &SenderView, view: &SenderView) -> Orders {
        if !self.notified {
            return Orders::none();
        }
        self.policy.on_timeout(before, view)
    }

    fn on_recovery(&mut self, view: &SenderView) -> Orders {
        if !self.notified {
            return Orders::none();
        }
        self.policy.on_recovery(view)
    }

    fn on_estimate(&mut self, report: &TrainReport, view: &SenderView) -> Orders {
        if !self.notified {
            return Orders::none();
        }
        self.policy.on_estimate(report, view)
    }

    fn on_train_over(&mut self, view: &SenderView) -> Orders {
        if !self.notified {
            return Orders::none();
        }
        self.policy.on_train_over(view)
    }
}
