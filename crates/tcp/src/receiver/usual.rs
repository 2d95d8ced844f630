//! Which segments take a fast path.

use midflight_units::Duration;

use crate::config::AckRules;

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
