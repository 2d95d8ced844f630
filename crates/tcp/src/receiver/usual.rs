//! Which segments take a fast path.

use midflight_units::{Duration, Instant, Seq};

use super::Receiver;
use crate::config::AckRules;

/// No segment has this number.
pub(super) const NOT_PREDICTED: Seq = Seq::MAX;

/// The fast path of segments without options, if there is one: nothing delays or changes ACKs, and nothing merges
/// segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Usual {
    /// The ACK rules of the RFCs.
    Rfc,
    /// Those of Linux.
    Linux,
    /// Every segment takes the slow path.
    Nothing,
}

impl Usual {
    pub(super) fn of(acks: AckRules) -> Self {
        match acks {
            AckRules::Rfc => Self::Rfc,
            AckRules::Linux {
                gro_flush_timeout: Duration::ZERO,
                ..
            } => Self::Linux,
            _ => Self::Nothing,
        }
    }
}

impl Receiver {
    /// As [`Self::poll_timer`] right after [`Self::on_segment`], or none if the timer is as it was before.
    #[inline(always)]
    pub fn poll_new_timer(&self) -> Option<(Instant, Instant)> {
        match self.usual {
            Usual::Rfc => self.delayed.map(|d| (d.deadline, d.armed)),
            _ if self.keeps_timer => None,
            _ => self.poll_timer(),
        }
    }
}
