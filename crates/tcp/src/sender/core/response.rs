//! Calls of the response to duplicate ACKs: whether to wait longer or to retransmit, and until
//! when.

use midflight_control::dupack::Answer;
use midflight_units::{Instant, Seq};

use super::Core;
use crate::event::{Log, SenderEvent};
use crate::segment::Ack;

impl Core {
    /// Calls the response for a duplicate ACK that has just been counted; returns whether to retransmit, and the
    /// window that limited transmit may fill. The duplicates are `news` if they do not stem from an earlier
    /// recovery.
    pub(crate) fn consult_duplicate(
        &mut self,
        news: bool,
        log: &mut impl Log,
    ) -> (bool, Option<f64>) {
        let view = self.view();
        let answer = self.response.on_duplicate(&view);
        if self.loss.dupacks() == view.dup_threshold && news {
            self.judge(&view, log);
        }
        let window = self.response.limited_window(&view);
        self.dup_threshold = self.response.dup_threshold(&view);
        if !news {
            // There is no reason to wait.
            self.response.end();
        }
        self.patient = news
            && answer == Answer::Wait
            && self.reordering.is_some()
            && self.loss.dupacks() >= self.config.dup_threshold;
        self.set_delay(self.response.deadline());
        (answer == Answer::Retransmit, window)
    }

    /// The window that limited transmit may fill for the duplicates so far.
    pub(crate) fn limited_window(&self) -> Option<f64> {
        self.response.limited_window(&self.view())
    }

    /// An ACK of new data ends duplicates that did not lead to a retransmission. If the response continues (RFC
    /// 4653 (T.4)), segments that the ACK reports count as new duplicates.
    #[cold]
    pub(super) fn duplicates_explained(&mut self, first: Seq, ack: &Ack, log: &mut impl Log) {
        if self.judged.take().is_some() {
            log.record(self.now, SenderEvent::Reordered(first));
        }
        self.patient = false;
        let above = ack.sack.iter(ack.ack).filter(|b| b.left > ack.ack);
        let above: u64 = above.map(|b| b.right.saturating_sub(b.left)).sum();
        let view = self.view();
        let orders = self.response.on_advance(&view, above > 0);
        self.window_answered = !orders.is_empty();
        self.apply(self.response.info().name, &orders, log);
        self.set_delay(self.response.deadline());
        self.dup_threshold = self.response.dup_threshold(&view);
        if self.response.flight_before().is_some() {
            let dupacks = above.min(self.flight_size()) as u32;
            self.loss.set_dupacks(dupacks);
        }
    }

    /// The duplicates no longer count.
    pub(crate) fn end_duplicates(&mut self) {
        self.judged = None;
        self.patient = false;
        self.response.end();
        self.set_delay(None);
    }

    /// Sets the deadline of the response, and updates the next wake-up.
    pub(super) fn set_delay(&mut self, delay: Option<(Instant, Instant)>) {
        let set = self.reordering.map(|(_, set)| set);
        self.timers.set_delay(delay, self.patience_ends().zip(set));
    }

    /// Whether the wait of the response is over, and the timer was not due earlier.
    pub(crate) fn delay_is_over(&self, now: Instant) -> bool {
        let delay = self.timers.delay();
        delay.is_some_and(|(due, _)| due <= now && self.timers.is_before(due))
    }

    /// When the next wake-up besides the timer was set.
    pub(crate) fn wake_set(&self) -> Option<Instant> {
        self.timers.wake().map(|(_, set)| set)
    }

    /// The wait ends now.
    pub(crate) fn end_delay(&mut self, now: Instant) {
        self.now = now;
        self.path.rtt_sampled = false;
        self.set_delay(None);
    }

    /// When to call again, and when that was set: for the timer, for the response, or for the end of expected
    /// reordering.
    #[inline(always)]
    pub(crate) fn deadline(&self) -> Option<(Instant, Instant)> {
        self.timers.deadline()
    }

    /// The same while the fast path is off: a segment of a train, or a paced burst, may wait too.
    #[cold]
    pub(crate) fn held_deadline(&self) -> Option<(Instant, Instant)> {
        let others = self.departure().into_iter().chain(self.gate());
        let deadline = self.deadline().into_iter();
        deadline.chain(others).min_by_key(|due| due.0)
    }
}
