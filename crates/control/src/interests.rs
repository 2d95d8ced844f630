//! The events for which the parts of a sender are called.

use std::ops::{BitOr, BitOrAssign};

/// A set of events for which a part is called. Most parts need none of them most of the time, so a
/// sender keeps the union of its parts' sets and tests that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interests(u16);

impl Interests {
    /// None of them.
    pub const NOTHING: Self = Self(0);
    /// A notice at the start of the connection.
    pub const START: Self = Self(1);
    /// Every ACK, after it has been processed.
    pub const ACKS: Self = Self(1 << 1);
    /// Handoff marks on ACKs.
    pub const MARKS: Self = Self(1 << 2);
    /// Recoveries that DSACKs show to be unneeded.
    pub const UNNEEDED: Self = Self(1 << 3);
    /// Retransmitted segments, and then every ACK.
    pub const RETRANSMISSIONS: Self = Self(1 << 4);
    /// RTT samples of segments.
    pub const SAMPLES: Self = Self(1 << 5);
    /// The rate sample of every ACK.
    pub const RATES: Self = Self(1 << 6);
    /// The calls of a congestion controller: the policy is its sender's controller from the start.
    pub const CONTROL: Self = Self(1 << 7);

    /// Timeouts and recoveries before its first notice, for which other policies are not called.
    pub const PAST: Self = Self(1 << 8);

    /// Throughput advice.
    pub const ADVICE: Self = Self(1 << 9);

    /// This set if `holds`, otherwise the empty set.
    #[must_use]
    pub const fn when(self, holds: bool) -> Self {
        if holds {
            self
        } else {
            Self::NOTHING
        }
    }

    /// Whether any event of `events` is in the set.
    #[inline(always)]
    pub const fn includes(self, events: Self) -> bool {
        self.0 & events.0 != 0
    }

    /// The set without these events.
    #[must_use]
    pub const fn without(self, events: Self) -> Self {
        Self(self.0 & !events.0)
    }
}

impl BitOr for Interests {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Interests {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

#[cfg(test)]
mod tests {
    use super::Interests;

    #[test]
    fn a_set_has_what_was_put_into_it_and_nothing_else() {
        let mut set = Interests::START | Interests::MARKS;
        assert!(
            set.includes(Interests::START)
                && set.includes(Interests::MARKS)
                && !set.includes(Interests::ACKS)
        );
        assert!(
            set.includes(Interests::ACKS | Interests::MARKS),
            "any of them"
        );
        set |= Interests::ACKS.when(true) | Interests::SAMPLES.when(false);
        assert!(set.includes(Interests::ACKS) && !set.includes(Interests::SAMPLES));
        let none = set.without(Interests::START | Interests::MARKS | Interests::ACKS);
        assert_eq!(none, Interests::NOTHING);
    }
}
