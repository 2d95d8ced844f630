//! The retransmission queue: every segment in flight with its tags, and the order of transmission
//! (tcp_rtx_queue and tsorted_sent_queue).
//!
//! Tags are as in tcp_input.c: SACKed, lost, and retransmission in flight. In flight are the sent
//! segments, minus SACKed and lost ones, plus retransmissions in flight (tcp_packets_in_flight()).

use educe::Educe;
use midflight_units::{Instant, Ring, Seq};

use crate::recovery::joined::Joined;

const SACKED: u8 = 1;
const LOST: u8 = 2;
const RESENT: u8 = 4;
const EVER_RESENT: u8 = 8;
/// The segment is in the order of transmission.
const LISTED: u8 = 16;
/// An undo has taken back its loss while its retransmission was in flight.
const TAKEN_BACK: u8 = 32;

/// No neighbour.
const NONE: Seq = Seq::MAX;

/// The state of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// When it was last sent.
    pub(super) sent: Instant,
    /// The connection's delivered count at that time.
    pub(super) delivered: u64,
    /// Its neighbours in the order of transmission. That after the last one counts as the next segment, which is mostly
    /// the one that will be sent next.
    earlier: Seq,
    later: Seq,
    tags: u8,
}

impl Entry {
    pub(super) fn is_sacked(&self) -> bool {
        self.tags & SACKED != 0
    }

    pub(super) fn is_lost(&self) -> bool {
        self.tags & LOST != 0
    }

    /// A retransmission is in flight.
    pub(super) fn is_resent(&self) -> bool {
        self.tags & RESENT != 0
    }

    /// It is lost and has not been retransmitted since.
    pub(super) fn is_due(&self) -> bool {
        self.is_lost() && !self.is_resent()
    }

    pub(super) fn was_ever_resent(&self) -> bool {
        self.tags & (EVER_RESENT | RESENT) != 0
    }
}

/// The queue. Segment `una` is its first.
#[derive(Educe, Debug)]
#[educe(Clone)]
pub(super) struct Board {
    pub(super) una: Seq,
    entries: Ring<Entry>,
    /// Ends of the list in order of transmission.
    first: Seq,
    last: Seq,
    pub(super) sacked_out: u64,
    pub(super) lost_out: u64,
    pub(super) retrans_out: u64,
    /// Segments marked lost so far.
    pub(super) lost_ever: u64,
    /// Whether a part needs the newly marked lost segments; these segments.
    pub(super) reports_lost: bool,
    pub(super) marked: Vec<Seq>,
    /// No segment below this is lost and not retransmitted.
    hint: Seq,
    /// One past the highest segment SACKed.
    fack: Seq,
    /// One past the highest segment that was ever SACKed, marked lost or sent again. Those from here on were sent once,
    /// in the order of their numbers.
    touched: Seq,
}

impl Default for Board {
    fn default() -> Self {
        Self {
            una: 0,
            entries: Ring::default(),
            first: NONE,
            last: NONE,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            lost_ever: 0,
            reports_lost: false,
            marked: Vec::new(),
            hint: 0,
            fack: 0,
            touched: 0,
        }
    }
}

impl Board {
    /// Number of unacknowledged segments.
    pub(super) fn packets_out(&self) -> u64 {
        self.entries.len() as u64
    }

    /// One past the last segment sent.
    pub(super) fn nxt(&self) -> Seq {
        self.una + self.packets_out()
    }

    pub(super) fn left_out(&self) -> u64 {
        self.sacked_out + self.lost_out
    }

    pub(super) fn in_flight(&self) -> u64 {
        (self.packets_out() + self.retrans_out).saturating_sub(self.left_out())
    }

    /// One past the highest segment SACKed (tcp_highest_sack_seq()).
    pub(super) fn fack(&self) -> Seq {
        if self.sacked_out == 0 {
            self.una
        } else {
            // Without SACK nobody knows which segments have arrived.
            self.fack.max(self.una)
        }
    }

    pub(super) fn get(&self, seq: Seq) -> Option<&Entry> {
        let index = seq.checked_sub(self.una)?;
        self.entries.get(index as usize)
    }

    fn get_mut(&mut self, seq: Seq) -> Option<&mut Entry> {
        let index = seq.checked_sub(self.una)?;
        self.entries.get_mut(index as usize)
    }

    pub(super) fn head(&self) -> Option<&Entry> {
        self.entries.front()
    }

    /// The first segment in the order of transmission, and the one sent next after another.
    pub(super) fn first_sent(&self) -> Option<Seq> {
        (self.first != NONE).then_some(self.first)
    }

    pub(super) fn sent_after(&self, seq: Seq) -> Option<Seq> {
        let later = self.get(seq)?.later;
        (seq != self.last).then_some(later)
    }

    fn unlist(&mut self, seq: Seq) {
        let Some(entry) = self.get_mut(seq).filter(|e| e.tags & LISTED != 0) else {
            return;
        };
        entry.tags &= !LISTED;
        let entry = *entry;
        self.unlink(seq, &entry);
    }

    /// Removes a segment from the order of transmission.
    fn unlink(&mut self, seq: Seq, entry: &Entry) {
        let Entry { earlier, later, .. } = *entry;
        let is_last = seq == self.last;
        match self.get_mut(earlier) {
            Some(before) => before.later = if is_last { earlier + 1 } else { later },
            None => self.first = if is_last { NONE } else { later },
        }
        if is_last {
            self.last = earlier;
        } else if let Some(after) = self.get_mut(later) {
            after.earlier = earlier;
        }
    }

    /// The segment is sent now: it becomes the last in the order.
    fn list(&mut self, seq: Seq) {
        self.unlist(seq);
        let last = self.last;
        match self.get_mut(last) {
            Some(entry) => entry.later = seq,
            None => self.first = seq,
        }
        self.last = seq;
        if let Some(entry) = self.get_mut(seq) {
            (entry.earlier, entry.later) = (last, seq + 1);
            entry.tags |= LISTED;
        }
    }

    /// A new segment is sent after one that is not the one before it.
    #[cold]
    fn follow(&mut self, last: Seq, seq: Seq) {
        if let Some(entry) = self.get_mut(last) {
            entry.later = seq;
        }
    }

    /// The next segment is sent for the first time.
    #[inline(always)]
    pub(super) fn push(&mut self, sent: Instant, delivered: u64) {
        let (seq, last) = (self.nxt(), self.last);
        if last == NONE {
            self.first = seq;
        } else if last + 1 != seq {
            self.follow(last, seq);
        }
        self.last = seq;
        self.entries.push(Entry {
            sent,
            delivered,
            earlier: last,
            later: seq + 1,
            tags: LISTED,
        });
    }

    /// The segment is retransmitted; a probe's retransmission does not count as in flight.
    pub(super) fn resend(&mut self, seq: Seq, sent: Instant, delivered: u64, is_probe: bool) {
        let Some(entry) = self.get_mut(seq) else {
            return;
        };
        let was_resent = entry.is_resent();
        entry.sent = sent;
        entry.delivered = delivered;
        entry.tags |= EVER_RESENT;
        if !is_probe {
            entry.tags &= !TAKEN_BACK;
            entry.tags |= RESENT;
            self.retrans_out += u64::from(!was_resent);
        }
        self.touched = self.touched.max(seq + 1);
        self.list(seq);
    }

    /// Before a timeout retransmits a segment. If an undo took back its loss while its retransmission was in flight, that
    /// still counts, and the new one does too; the segment is subtracted once (tcp_retransmit_skb(), which calls this a leak).
    pub(super) fn count_twice(&mut self, seq: Seq) {
        let was_taken_back = |entry: &Entry| entry.is_resent() && entry.tags & TAKEN_BACK != 0;
        self.retrans_out += u64::from(self.get(seq).is_some_and(was_taken_back));
    }

    /// The first segment is acknowledged.
    pub(super) fn pop(&mut self) -> Option<Entry> {
        let seq = self.una;
        let entry = self.entries.pop()?;
        self.una += 1;
        if entry.tags & LISTED != 0 {
            self.unlink(seq, &entry);
        }
        self.sacked_out -= u64::from(entry.is_sacked());
        self.lost_out -= u64::from(entry.is_lost());
        self.retrans_out -= u64::from(entry.is_resent());
        Some(entry)
    }

    /// Whether each segment in the queue was sent once, and is neither SACKed nor marked lost, and no retransmission is
    /// counted.
    #[inline]
    pub(super) fn is_untouched(&self) -> bool {
        self.una >= self.touched && self.retrans_out == 0
    }

    /// All below `ack` are acknowledged, if nothing ever happened to any segment in the queue: the first and the last of
    /// them.
    #[inline(always)]
    pub(super) fn pop_untouched(&mut self, ack: Seq) -> Option<(Entry, Entry)> {
        if !self.is_untouched() {
            return None;
        }
        let count = ack.saturating_sub(self.una).min(self.packets_out()) as usize;
        let first = *self.entries.front()?;
        let last = *self.entries.get(count.checked_sub(1)?)?;
        self.entries.drop_front(count);
        self.una += count as u64;
        if let Some(head) = self.entries.get_mut(0) {
            head.earlier = NONE;
            self.first = self.una;
        } else {
            (self.first, self.last) = (NONE, NONE);
        }
        Some((first, last))
    }

    /// The segments after one are part of it from now on (tcp_collapse_retrans(), tcp_adjust_pcount()).
    #[cold]
    pub(super) fn join(&mut self, joined: Joined) {
        let Joined { seq, others } = joined;
        debug_assert!(seq + others < self.nxt());
        for other in seq + 1..=seq + others {
            self.unlist(other);
            let Some(entry) = self.get(other).copied() else {
                continue;
            };
            self.sacked_out -= u64::from(entry.is_sacked());
            self.lost_out -= u64::from(entry.is_lost());
            self.retrans_out -= u64::from(entry.is_resent());
            if let Some(first) = self.get_mut(seq) {
                first.tags |= entry.tags & EVER_RESENT;
            }
        }
        for moved in (self.una..=seq).rev() {
            let entry = self.get(moved).copied();
            if let (Some(entry), Some(place)) = (entry, self.get_mut(moved + others)) {
                *place = entry;
            }
        }
        self.entries.drop_front(others as usize);
        self.una += others;
        let renumber = |number: &mut Seq| {
            if *number <= seq {
                *number += others;
            }
        };
        for number in self.una..self.nxt() {
            if let Some(entry) = self.get_mut(number) {
                renumber(&mut entry.earlier);
                renumber(&mut entry.later);
            }
        }
        renumber(&mut self.first);
        renumber(&mut self.last);
        let last = self.last;
        if let Some(entry) = self.get_mut(last) {
            entry.later = last + 1;
        }
        for number in [&mut self.hint, &mut self.fack, &mut self.touched] {
            joined.update(number);
        }
    }

    /// tcp_mark_skb_lost(): returns whether this loss is new.
    pub(super) fn mark_lost(&mut self, seq: Seq) -> bool {
        let Some(entry) = self.get_mut(seq).filter(|e| !e.is_sacked()) else {
            return false;
        };
        let (was_lost, was_resent) = (entry.is_lost(), entry.is_resent());
        if was_lost && !was_resent {
            return false;
        }
        entry.tags |= LOST;
        if was_lost {
            // The retransmission is lost, too.
            entry.tags &= !RESENT;
            self.retrans_out -= 1;
        } else {
            self.lost_out += 1;
        }
        self.lost_ever += 1;
        self.touched = self.touched.max(seq + 1);
        if self.reports_lost {
            self.marked.push(seq);
        }
        self.hint = self.hint.min(seq);
        true
    }

    /// The same for RACK: the segment leaves the order of transmission until it is retransmitted.
    pub(super) fn mark_lost_and_unlist(&mut self, seq: Seq) -> bool {
        let is_news = self.mark_lost(seq);
        self.unlist(seq);
        is_news
    }

    /// tcp_sacktag_one(), the tags: the segment has arrived.
    pub(super) fn mark_sacked(&mut self, seq: Seq) {
        let Some(entry) = self.get_mut(seq).filter(|e| !e.is_sacked()) else {
            return;
        };
        let (was_lost, was_resent) = (entry.is_lost(), entry.is_resent());
        entry.tags |= SACKED;
        entry.tags &= !LOST;
        if was_lost {
            // A retransmission that was not known to be needed still counts as in flight.
            entry.tags &= !RESENT;
            self.lost_out -= 1;
            self.retrans_out -= u64::from(was_resent);
        }
        self.fack = if self.sacked_out == 0 {
            seq + 1
        } else {
            self.fack.max(seq + 1)
        };
        self.sacked_out += 1;
        self.touched = self.touched.max(seq + 1);
        self.unlist(seq);
    }

    /// The receiver has dropped what it had reported by SACK: it acknowledges up to a segment that was SACKed.
    pub(super) fn is_reneged(&self) -> bool {
        self.head().is_some_and(Entry::is_sacked)
    }

    /// Nothing counts as SACKed any more (tcp_timeout_mark_lost()).
    pub(super) fn forget_sacks(&mut self) {
        for seq in self.una..self.nxt() {
            if let Some(entry) = self.get_mut(seq) {
                entry.tags &= !SACKED;
            }
        }
        self.sacked_out = 0;
    }

    /// A DSACK reports that a retransmission of the segment has arrived.
    pub(super) fn retransmission_arrived(&mut self, seq: Seq) {
        if let Some(entry) = self.get_mut(seq).filter(|e| e.is_resent()) {
            entry.tags &= !RESENT;
            self.retrans_out -= 1;
        }
    }

    /// An undo takes back all losses (tcp_undo_cwnd_reduction()).
    pub(super) fn take_back_losses(&mut self) {
        for seq in self.una..self.nxt() {
            if let Some(entry) = self.get_mut(seq).filter(|e| e.is_lost() && e.is_resent()) {
                entry.tags |= TAKEN_BACK;
            }
        }
        self.unmark_lost();
    }

    /// Nothing is lost: removes the marks.
    pub(super) fn unmark_lost(&mut self) {
        for seq in self.una..self.nxt() {
            if let Some(entry) = self.get_mut(seq) {
                entry.tags &= !LOST;
            }
        }
        self.lost_out = 0;
        self.hint = self.una;
    }

    /// The lowest segment that is lost and not retransmitted.
    pub(super) fn next_lost(&mut self) -> Option<Seq> {
        if self.retrans_out >= self.lost_out {
            return None;
        }
        let from = self.hint.max(self.una);
        let found = (from..self.nxt()).find(|&seq| self.get(seq).is_some_and(Entry::is_due));
        self.hint = found.unwrap_or_else(|| self.nxt());
        found
    }

    /// tcp_any_retrans_done().
    pub(super) fn any_resent(&self) -> bool {
        self.retrans_out > 0 || self.head().is_some_and(Entry::was_ever_resent)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    fn order(board: &Board) -> Vec<Seq> {
        let first = board.first_sent();
        std::iter::successors(first, |&seq| board.sent_after(seq)).collect()
    }

    #[test]
    fn tags_and_counts_follow_a_segment() {
        let mut b = Board::default();
        for n in 0..5 {
            b.push(at(n), 0);
        }
        assert_eq!(b.in_flight(), 5);
        assert!(b.mark_lost_and_unlist(1) && !b.mark_lost(1));
        assert_eq!(
            (b.in_flight(), b.next_lost(), order(&b)),
            (4, Some(1), vec![0, 2, 3, 4])
        );
        b.resend(1, at(9), 0, false);
        assert_eq!(
            (b.in_flight(), b.next_lost(), order(&b)),
            (5, None, vec![0, 2, 3, 4, 1])
        );
        // Its retransmission is lost too.
        assert!(b.mark_lost(1));
        assert_eq!((b.in_flight(), b.next_lost()), (4, Some(1)));
        b.resend(1, at(10), 0, false);
        b.mark_sacked(3);
        b.mark_sacked(1);
        assert_eq!(
            (b.sacked_out, b.lost_out, b.retrans_out, b.fack()),
            (2, 0, 0, 4)
        );
        b.pop();
        b.pop();
        assert_eq!((b.una, b.sacked_out, order(&b)), (2, 1, vec![2, 4]));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Push,
        Pop,
        Acknowledge(u64),
        Lost(u64),
        Sacked(u64),
        Resend(u64),
        Forget,
        Join(u64, u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => Just(Step::Push),
            2 => Just(Step::Pop),
            2 => (0_u64..20).prop_map(Step::Acknowledge),
            4 => (0_u64..20).prop_map(Step::Lost),
            4 => (0_u64..20).prop_map(Step::Sacked),
            4 => (0_u64..20).prop_map(Step::Resend),
            1 => Just(Step::Forget),
            1 => (0_u64..20, 1_u64..5).prop_map(|(above, others)| Step::Join(above, others)),
        ]
    }

    /// A timeout sends a segment again whose loss an undo has taken back: its retransmissions count twice until the end.
    #[test]
    fn a_retransmission_is_counted_twice_after_an_undo() {
        let mut b = Board::default();
        for _ in 0..3 {
            b.push(Instant::ZERO, 0);
        }
        b.mark_lost(0);
        b.resend(0, Instant::ZERO, 0, false);
        b.take_back_losses();
        assert_eq!((b.in_flight(), b.retrans_out), (4, 1));
        b.resend(0, Instant::ZERO, 0, true);
        b.mark_lost(0);
        b.count_twice(0);
        b.resend(0, Instant::ZERO, 0, false);
        assert_eq!(b.retrans_out, 2);
        b.pop();
        assert_eq!((b.in_flight(), b.packets_out()), (3, 2));
        assert!(!b.is_untouched());
    }

    proptest! {
        /// The counts that are kept are those of the tags, the order is that of the times, and the
        /// next to go is the lowest. Segments that go together leave the same behind as one by one.
        #[test]
        fn counts_are_those_of_the_tags(steps in prop::collection::vec(step(), 1..120)) {
            let mut b = Board::default();
            for (n, step) in steps.into_iter().enumerate() {
                let now = at(n as u64);
                let seq = |above: u64| b.una + above % b.packets_out().max(1);
                match step {
                    Step::Push => b.push(now, 0),
                    Step::Pop => drop(b.pop()),
                    Step::Acknowledge(above) => {
                        let (ack, una) = (seq(above), b.una);
                        let mut one_by_one = b.clone();
                        if let Some((first, last)) = b.pop_untouched(ack) {
                            let gone: Vec<_> = (una..ack).filter_map(|_| one_by_one.pop()).collect();
                            let ends = [gone.first(), gone.last()].map(|e| e.map(|e| (e.sent, e.tags)));
                            prop_assert_eq!(ends, [first, last].map(|e| Some((e.sent, e.tags))));
                            prop_assert_eq!(first.tags | last.tags, LISTED);
                            prop_assert_eq!(order(&b), order(&one_by_one));
                            prop_assert_eq!((b.una, b.last), (one_by_one.una, one_by_one.last));
                        }
                    }
                    Step::Lost(above) => drop(b.mark_lost_and_unlist(seq(above))),
                    Step::Sacked(above) => b.mark_sacked(seq(above)),
                    Step::Resend(above) => {
                        let seq = seq(above);
                        if b.get(seq).is_some_and(|e| !e.is_sacked()) {
                            b.resend(seq, now, 0, false);
                        }
                    }
                    Step::Forget => b.unmark_lost(),
                    Step::Join(above, others) => {
                        let (first, nxt) = (seq(above), b.nxt());
                        let mut all = first + 1..=first + others;
                        if all.all(|other| b.get(other).is_some_and(|entry| !entry.is_sacked())) {
                            let (una, out) = (b.una, b.packets_out());
                            let before = order(&b);
                            let was_resent = (first..=first + others).any(|s| b.get(s).is_some_and(Entry::was_ever_resent));
                            let joined = Joined { seq: first, others };
                            b.join(joined);
                            prop_assert_eq!((b.una, b.packets_out(), b.nxt()), (una + others, out - others, nxt));
                            prop_assert_eq!(b.get(first + others).map(Entry::was_ever_resent), Some(was_resent));
                            let kept = before.iter().filter(|s| !(first + 1..=first + others).contains(*s));
                            let renumbered: Vec<_> = kept.map(|&s| joined.number(s)).collect();
                            prop_assert_eq!(order(&b), renumbered);
                        }
                    }
                }
                let count = |is: fn(&Entry) -> bool| b.entries.iter().filter(|e| is(e)).count() as u64;
                prop_assert_eq!(b.sacked_out, count(Entry::is_sacked));
                prop_assert_eq!(b.lost_out, count(Entry::is_lost));
                prop_assert_eq!(b.retrans_out, count(Entry::is_resent));
                let times: Vec<_> = order(&b).iter().filter_map(|&s| b.get(s)).map(|e| e.sent).collect();
                prop_assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
                let due = |e: &&Entry| e.is_lost() && !e.is_resent();
                let lowest = b.entries.iter().position(|e| due(&e)).map(|i| b.una + i as u64);
                if b.retrans_out < b.lost_out {
                    prop_assert_eq!(b.next_lost(), lowest);
                }
            }
        }
    }
}
