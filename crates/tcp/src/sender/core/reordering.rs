//! An order to expect reordering, and its effect on duplicate ACKs.

use midflight_control::Reordering;
use midflight_units::{Instant, Seq};

use super::books::Outstanding;
use super::Core;

impl Core {
    /// When duplicates regain their usual meaning: for the first unacknowledged segment, for the next
    /// segment for which an RFC 6675 recovery waits, or for all.
    pub(super) fn patience_ends(&self) -> Option<Instant> {
        let (expected, _) = self.reordering?;
        let mut sent = self.books.outstanding();
        let next = if self.patient {
            sent.next()
        } else if self.loss.in_fast_recovery() && self.config.recovery.about().waits_for_overdue {
            let waits = |after| {
                let due = move |sent: Instant| sent + after > self.now;
                sent.find(|o| !o.retransmitted() && due(o.sent()))
            };
            expected.overdue.and_then(waits)
        } else {
            None
        };
        let overdue = expected
            .overdue
            .zip(next)
            .map(|(after, o)| o.sent() + after);
        overdue.into_iter().chain(expected.until).min()
    }

    /// Number of duplicate ACKs that start fast retransmit now.
    pub(super) fn duplicates_wanted(&self) -> u32 {
        let usual = self.config.dup_threshold;
        let Some((expected, _)) = self.reordering else {
            return usual;
        };
        let sent = self.books.first().map(Outstanding::sent);
        let overdue = expected.overdue.zip(sent);
        if overdue.is_some_and(|(after, sent)| sent + after <= self.now) {
            usual
        } else {
            expected.duplicates
        }
    }

    /// While reordering is expected: one past the segments that keep their order among themselves, and
    /// one past those that are overdue.
    #[cold]
    pub(crate) fn reordering_edges(&self) -> (Seq, Seq) {
        let overdue = self.reordering.and_then(|(expected, _)| expected.overdue);
        let sent_by = overdue.map(|after| self.now.saturating_sub(after));
        let old = |by: Instant| {
            // A retransmitted segment was sent for the first time before those that follow it.
            let sent = self.books.outstanding();
            sent.take_while(|o| o.retransmitted() || o.sent() <= by)
                .count() as Seq
        };
        let in_order = self.in_order_below.unwrap_or(self.books.una());
        (in_order, self.books.una() + sent_by.map_or(0, old))
    }

    /// Sets or ends the expectation of reordering.
    pub(super) fn expect_reordering(&mut self, reordering: Option<Reordering>) {
        self.reordering = reordering.map(|r| (r, self.now));
        self.patient &= reordering.is_some();
        let before = reordering.filter(|_| self.response.waits_as_set());
        self.in_order_below = before.map(|r| {
            let sent = self.books.outstanding();
            let early = sent.take_while(|o| o.retransmitted() || o.sent() < r.in_order_before);
            self.books.una() + early.count() as Seq
        });
        self.dup_threshold = self.response.dup_threshold(&self.view());
        self.set_delay(self.timers.delay());
    }

    /// Whether the wait for reordered segments may be over, and the timer was not due earlier.
    pub(crate) fn patience_is_over(&self, now: Instant) -> bool {
        let wake = self.timers.wake().filter(|_| self.reordering.is_some());
        wake.is_some_and(|(end, _)| end <= now && self.timers.is_before(end))
    }

    /// The wait for reordered segments ends, for some segments or for all, and its timer is set again.
    /// Returns whether enough duplicates have arrived to indicate that the first segment is lost.
    pub(crate) fn end_patience(&mut self, now: Instant) -> bool {
        self.now = now;
        self.path.rtt_sampled = false;
        self.patient = false;
        let over =
            |(expected, _): &(Reordering, _)| expected.until.is_some_and(|until| until <= now);
        if self.reordering.as_ref().is_some_and(over) {
            self.expect_reordering(None);
        }
        self.set_delay(self.timers.delay());
        self.loss.dupacks() >= self.duplicates_wanted()
            && self.response.waits_as_set()
            && !(self.loss.in_fast_recovery()
                || self.loss.timed_out()
                || self.probe.is_some()
                || self.is_closed())
    }
}
