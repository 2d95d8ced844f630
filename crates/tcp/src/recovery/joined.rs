//! Segments that are joined when they are sent again (tcp_collapse_retrans()).

use midflight_units::Seq;

/// A segment and the ones that follow it become one segment. Those from there on keep their numbers, so that the numbers
/// of the segment and of all before it grow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joined {
    /// The segment, by the number before.
    pub(crate) seq: Seq,
    /// How many others are part of it from now on.
    pub(crate) others: u64,
}

impl Joined {
    /// The new number of a segment that is still one; also the new number of the border before it.
    pub(crate) fn number(self, seq: Seq) -> Seq {
        if seq <= self.seq {
            seq + self.others
        } else {
            seq.max(self.seq + self.others + 1)
        }
    }

    /// The same in place.
    pub(crate) fn update(self, seq: &mut Seq) {
        *seq = self.number(*seq);
    }
}
