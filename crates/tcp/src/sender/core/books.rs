//! The sequence space of a sender: which segments are sent and acknowledged, and when each
//! outstanding segment was sent. Sequence numbers are in segments.

use educe::Educe;
use midflight_units::{Instant, Ring, Seq};

use crate::recovery::Joined;

/// The state of an outstanding segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outstanding {
    /// The send time in nanoseconds, shifted left by one; the lowest bit is the retransmission
    /// flag.
    sent_and_retransmitted: u64,
}

impl Outstanding {
    fn new(sent: Instant, retransmitted: bool) -> Self {
        Self {
            sent_and_retransmitted: sent.as_nanos() << 1 | u64::from(retransmitted),
        }
    }

    /// When it was last sent.
    pub(crate) fn sent(self) -> Instant {
        Instant::from_nanos(self.sent_and_retransmitted >> 1)
    }

    /// It was sent more than once.
    pub(crate) fn retransmitted(self) -> bool {
        self.sent_and_retransmitted & 1 == 1
    }
}

/// The sequence space (RFC 9293 section 3.4). The SYN is segment 0.
#[derive(Educe, Debug)]
#[educe(Clone)]
pub(crate) struct Books {
    una: Seq,
    nxt: Seq,
    max: Seq,
    end: Seq,
    outstanding: Ring<Outstanding>,
    last_sent: Instant,
    limited_sent: u64,
}

impl Default for Books {
    fn default() -> Self {
        Self {
            una: 0,
            nxt: 0,
            max: 0,
            end: Seq::MAX,
            outstanding: Ring::default(),
            last_sent: Instant::ZERO,
            limited_sent: 0,
        }
    }
}

impl Books {
    /// SND.UNA: the first unacknowledged segment.
    #[inline(always)]
    pub(crate) fn una(&self) -> Seq {
        self.una
    }

    /// SND.NXT: the next segment to send; falls back to SND.UNA after a timeout.
    #[inline(always)]
    pub(crate) fn nxt(&self) -> Seq {
        self.nxt
    }

    /// One past the highest segment ever sent.
    #[inline(always)]
    pub(crate) fn max(&self) -> Seq {
        self.max
    }

    /// One past the last segment that there is to send.
    #[inline(always)]
    pub(crate) fn end(&self) -> Seq {
        self.end
    }

    /// FlightSize (RFC 5681 section 2): segments sent and not acknowledged.
    #[inline(always)]
    pub(crate) fn flight_size(&self) -> u64 {
        self.max - self.una
    }

    /// Segments sent since SND.NXT last fell back.
    #[inline(always)]
    pub(crate) fn sent_since_rewind(&self) -> u64 {
        self.nxt.saturating_sub(self.una)
    }

    /// Whether anything is sent and not acknowledged.
    #[inline(always)]
    pub(crate) fn is_outstanding(&self) -> bool {
        self.una < self.max
    }

    /// When a segment was last sent.
    #[inline(always)]
    pub(crate) fn last_sent(&self) -> Instant {
        self.last_sent
    }

    /// New segments that limited transmit has sent since SND.UNA last advanced.
    #[inline(always)]
    pub(crate) fn limited_sent(&self) -> u64 {
        self.limited_sent
    }

    /// The first unacknowledged segment, if one is outstanding.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<Outstanding> {
        self.outstanding.front().copied()
    }

    /// The outstanding segments, from SND.UNA on.
    pub(crate) fn outstanding(&self) -> impl Iterator<Item = Outstanding> + '_ {
        self.outstanding.iter().copied()
    }

    /// Sets the end of the application's data to this segment, exclusive.
    pub(crate) fn set_end(&mut self, end: Seq) {
        self.end = end;
    }

    /// Processes an ACK of everything below `ack`; returns how many segments it newly covers.
    /// Afterwards SND.NXT is at least SND.UNA.
    #[inline(always)]
    pub(super) fn acknowledge(&mut self, ack: Seq) -> u64 {
        let segments = ack.saturating_sub(self.una);
        if segments > 0 {
            self.limited_sent = 0;
        }
        self.outstanding.drop_front(segments as usize);
        self.una = self.una.max(ack);
        self.nxt = self.nxt.max(self.una);
        segments
    }

    /// A segment is retransmitted. ns-2's scoreboard may return a segment that has been
    /// acknowledged, after late SACK blocks: that is not recorded.
    #[inline(always)]
    pub(super) fn sent_again(&mut self, seq: Seq, now: Instant) {
        let index = seq.checked_sub(self.una);
        if let Some(o) = index.and_then(|i| self.outstanding.get_mut(i as usize)) {
            *o = Outstanding::new(now, true);
        }
        self.nxt = self.nxt.max(seq + 1);
        self.last_sent = now;
    }

    /// A segment is sent for the first time; `limited` if by limited transmit.
    #[inline(always)]
    pub(super) fn sent_new(&mut self, seq: Seq, now: Instant, limited: bool) {
        self.outstanding.push(Outstanding::new(now, false));
        self.max = seq + 1;
        self.limited_sent += u64::from(limited);
        self.nxt = self.nxt.max(seq + 1);
        self.last_sent = now;
    }

    /// Segments that are sent again are joined.
    #[cold]
    pub(super) fn join(&mut self, joined: Joined) {
        let Joined { seq, others } = joined;
        let at = seq.saturating_sub(self.una) as usize;
        let others = others as usize;
        for index in (0..=at).rev() {
            let moved = self.outstanding.get(index).copied();
            if let (Some(moved), Some(place)) = (moved, self.outstanding.get_mut(index + others)) {
                *place = moved;
            }
        }
        self.outstanding.drop_front(others);
        joined.update(&mut self.una);
        joined.update(&mut self.nxt);
    }

    /// SND.NXT falls back to SND.UNA: everything outstanding is retransmitted.
    pub(crate) fn go_back(&mut self) {
        self.nxt = self.una;
    }

    /// The same, but the first segment has been retransmitted already.
    pub(super) fn go_back_past_first(&mut self) {
        self.nxt = self.una + 1;
    }

    /// SND.NXT becomes one past the highest segment sent: nothing is retransmitted.
    pub(crate) fn resume(&mut self) {
        self.nxt = self.max;
    }

    /// SND.NXT skips segments that need not be retransmitted, up to `seq`.
    pub(crate) fn skip_to(&mut self, seq: Seq) {
        self.nxt = seq.min(self.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_segments_have_the_number_of_the_last() {
        let at = Instant::from_nanos;
        let mut books = Books::default();
        for seq in 0..6 {
            books.sent_new(seq, at(seq), false);
        }
        books.acknowledge(1);
        books.sent_again(2, at(9));
        books.join(Joined { seq: 2, others: 2 });
        let left: Vec<_> = books.outstanding().map(Outstanding::sent).collect();
        assert_eq!(left, [at(1), at(9), at(5)]);
        let again: Vec<_> = books
            .outstanding()
            .map(Outstanding::retransmitted)
            .collect();
        assert_eq!(again, [false, true, false]);
        assert_eq!((books.una(), books.nxt(), books.max()), (3, 6, 6));
        assert_eq!(books.flight_size(), 3);
        // The joined segment and the one before it are acknowledged.
        assert_eq!(books.acknowledge(5), 2);
        assert_eq!(books.first().map(Outstanding::sent), Some(at(5)));
        // SND.NXT is renumbered where it has fallen back.
        let mut books = Books::default();
        for seq in 0..4 {
            books.sent_new(seq, at(seq), false);
        }
        books.go_back();
        books.join(Joined { seq: 0, others: 1 });
        assert_eq!((books.una(), books.nxt(), books.max()), (1, 1, 4));
    }
}
