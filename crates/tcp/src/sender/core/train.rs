//! The active train: new segments that are sent with given gaps.
//!
//! Its segments are the next ones of the data, in order. A train that only paces also sends retransmissions after a
//! timeout; a measured train sends only new segments. It begins when the window has room for all of them, so that no
//! gap waits for an ACK, and with fewer if the whole window or the available data are smaller. After its last segment
//! normal sending continues, also while its report is outstanding, unless [`Then::AwaitReport`] is set. Departure times
//! count from the previous one: a late call does not shorten the next gap. A retransmission, a probe, a closing window
//! or a handoff notice ends it, and normal sending continues. While duplicate ACKs are counted, a train that has not
//! begun or that waits for its report holds nothing back: the segments sent then may be those that show a loss.
//!
//! A train that requests the next one determines what the sender does ([`Then::NextAfter`]): when its last gap is over
//! the policies are called with their present state or, if there is nothing to send, when there is. Only a recovery, a
//! closed window or another train ends it. Neither a notice nor duplicate ACKs, which its own segments continue to
//! cause, change it; a single segment is sent without a mark.

use midflight_control::policy::TrainReport;
use midflight_control::{Gaps, Measure, Then, Train};
use midflight_units::{Instant, Seq};

use super::Core;
use crate::event::Log;
use crate::segment::{Ack, Segment, SegmentOption, TrainMark};
use crate::state::Trigger;

/// The sender's state of the active train.
#[derive(Clone, Copy, Debug)]
pub(super) struct ActiveTrain {
    /// With its actual number of segments, once it has begun.
    train: Train,
    gaps: Gaps,
    /// Number of segments sent.
    gone: u16,
    /// When the next one may be sent, and when that was set.
    due: (Instant, Instant),
    /// When the last one was sent, and one past it.
    left: Instant,
    edge: Seq,
    /// Recovery has nothing to send; until an ACK it need not be called again.
    refused: bool,
}

impl ActiveTrain {
    fn all_gone(&self) -> bool {
        self.gone > 0 && self.gone >= self.train.segments
    }

    /// All segments have been sent and nothing is held back: at most its report is outstanding.
    fn is_past(&self) -> bool {
        self.train.then == Then::GoOn && self.all_gone()
    }

    /// Another train follows when it is over.
    fn goes_on(&self) -> bool {
        matches!(self.train.then, Then::NextAfter(_))
    }

    /// The place of the next segment in the train, if the receiver must measure it.
    fn mark(&self) -> Option<TrainMark> {
        let Train {
            number, segments, ..
        } = self.train;
        let mark = |measure: Measure| TrainMark {
            number,
            index: self.gone,
            segments,
            measure,
        };
        let measures = self.train.spacing.measures().filter(|_| segments > 1);
        measures.map(mark)
    }
}

impl Core {
    /// Number of the current train. A continued train does not count while there is nothing to send.
    pub(super) fn train(&self) -> Option<u16> {
        let waits = |active: &ActiveTrain| active.goes_on() && self.books.nxt() >= self.books.end();
        let active = self.train.filter(|active| !waits(active))?;
        Some(active.train.number)
    }

    /// Whether a measured train may be started: it consists of new segments.
    pub(super) fn may_train(&self) -> bool {
        let repairs = self.loss.timed_out() || self.loss.repairs();
        self.may_pace() && !repairs && self.books.nxt() >= self.books.max()
    }

    /// Whether a train that only paces may be started; it may include retransmissions after a timeout.
    pub(super) fn may_pace(&self) -> bool {
        let busy = self.loss.in_fast_recovery() || self.probe.is_some() || self.loss.has_resend();
        !busy && self.books.una() > 0 && !self.is_closed()
    }

    /// Starts a train, which replaces the current one.
    pub(super) fn start_train(&mut self, train: Train) {
        if train.segments == 0 {
            self.end_train();
            return;
        }
        let may = match train.spacing.measures() {
            Some(_) => self.may_train(),
            None => self.may_pace(),
        };
        if !may {
            return;
        }
        self.train = Some(ActiveTrain {
            train,
            gaps: train.gaps(self.config.segment_bytes),
            gone: 0,
            due: (self.now, self.now),
            left: self.now,
            edge: self.books.nxt(),
            refused: false,
        });
        self.hold();
    }

    /// The train is over, even if not all of it was sent. Returns whether there was one.
    pub(crate) fn end_train(&mut self) -> bool {
        let was = self.train.take().is_some();
        if was {
            self.hold();
        }
        was
    }

    /// The same, unless another train follows when it is over.
    pub(super) fn interrupt_train(&mut self) -> bool {
        !self.train.is_some_and(|active| active.goes_on()) && self.end_train()
    }

    /// Whether segments are sent with the gaps of a train.
    pub(crate) fn in_train(&self) -> bool {
        self.train.is_some_and(|active| !active.is_past())
    }

    /// Segments that the window and the available data allow now.
    fn room(&self) -> u64 {
        let edge = self
            .books
            .end()
            .min(self.books.una() + self.usable_window());
        edge.saturating_sub(self.books.nxt())
    }

    /// Whether the next segment waits only for its time.
    fn may_go(&self, active: &ActiveTrain) -> bool {
        if active.refused || active.all_gone() {
            return false;
        }
        if active.gone > 0 {
            return self.room() > 0;
        }
        let clear = self.loss.dupacks() == 0 || active.goes_on();
        clear && self.room() > 0 && self.room() >= self.length(active)
    }

    /// The number of segments that a train which has not begun will have.
    fn length(&self, active: &ActiveTrain) -> u64 {
        let unsent = self.books.end().saturating_sub(self.books.nxt());
        let most = unsent.min(self.usable_window());
        most.min(u64::from(active.train.segments))
    }

    /// When the next segment of a train is sent or the next train is requested, if that waits, and when it was set.
    pub(super) fn departure(&self) -> Option<(Instant, Instant)> {
        let active = self.train.as_ref()?;
        (self.may_go(active) || self.awaits_next(active)).then_some(active.due)
    }

    /// Whether the next train waits only for its time.
    fn awaits_next(&self, active: &ActiveTrain) -> bool {
        active.goes_on() && active.all_gone() && self.books.nxt() < self.books.end()
    }

    /// Whether the next train is due, and not a timeout.
    pub(crate) fn next_train_is_due(&self, now: Instant) -> bool {
        let due = |active: &ActiveTrain| active.due.0 <= now && self.awaits_next(active);
        self.train.as_ref().is_some_and(due) && !self.timer_is_due(now)
    }

    /// The train and its last gap are over: calls the policies for the next one. If there is none normal sending
    /// continues.
    #[cold]
    pub(crate) fn consult_next_train(&mut self, now: Instant, log: &mut impl Log) {
        self.now = now;
        self.path.rtt_sampled = false;
        self.end_train();
        self.ask(None, log, |p, view| p.on_train_over(view));
    }

    /// Whether a segment of the train is to be sent now; false if the train holds everything back; none if sending is
    /// normal.
    pub(crate) fn train_allows(&mut self) -> Option<bool> {
        let mut active = self.train.filter(|active| !active.is_past())?;
        if self.books.nxt() >= self.books.end() && !active.all_gone() && !active.goes_on() {
            // There is no more to send.
            self.end_train();
            return None;
        }
        let between = active.gone == 0 || active.all_gone();
        if self.loss.dupacks() > 0 && between && !active.goes_on() {
            return None;
        }
        if active.due.0 > self.now || !self.may_go(&active) {
            return Some(false);
        }
        if active.gone == 0 {
            active.train.segments = self.length(&active) as u16;
            let tells_nothing =
                active.train.segments < 2 && active.train.spacing.measures().is_some();
            if tells_nothing && !active.goes_on() {
                // One segment gives no estimate.
                self.end_train();
                return None;
            }
            active.gaps = active.train.gaps(self.config.segment_bytes);
            self.train = Some(active);
        }
        Some(true)
    }

    /// The recovery had nothing to send although the train allowed it.
    pub(crate) fn train_refused(&mut self) {
        if let Some(active) = &mut self.train {
            active.refused = true;
        }
    }

    /// Marks a segment that has just been returned, and sets the time of the next one.
    pub(crate) fn join_train(&mut self, segment: &mut Segment) {
        let now = self.now;
        let again = segment.retransmission;
        let measures = |active: &ActiveTrain| active.train.spacing.measures().is_some();
        let Some(active) = self.train.as_mut().filter(|c| !(again && measures(c))) else {
            return;
        };
        let mark = active.mark();
        segment.option = mark.map(SegmentOption::Train);
        active.gone += 1;
        active.left = now;
        active.edge = segment.seq + 1;
        let last = match active.train.then {
            Then::NextAfter(gap) => Some(gap),
            _ => None,
        };
        if let Some(gap) = active.gaps.take().or(last) {
            active.due = (now + gap, now);
        }
        if active.is_past() && mark.is_none() {
            self.end_train();
        }
    }

    /// After an ACK: the recovery may have something to retransmit, and a train that is acknowledged without a report
    /// will not get one.
    pub(super) fn follow_train(&mut self) {
        if let Some(active) = &mut self.train {
            active.refused = false;
            if active.all_gone() && self.books.una() >= active.edge && !active.goes_on() {
                self.end_train();
            }
        }
    }

    /// Passes the receiver's report of a train to the policies.
    pub(super) fn consult_report(&mut self, ack: &Ack, log: &mut impl Log) {
        let Some(estimate) = ack.option.measured() else {
            return;
        };
        let of = |active: &ActiveTrain| active.train.number == estimate.train;
        let active = self.train.filter(|active| of(active));
        let rtt = active
            .filter(ActiveTrain::all_gone)
            .map(|active| self.now.since(active.left));
        if active.is_some() {
            self.interrupt_train();
        }
        let report = TrainReport { estimate, rtt };
        let state = self.state();
        self.ask(None, log, |p, view| p.on_estimate(&report, view));
        // The ACK that carries it may have changed the state, as a duplicate does.
        if self.state() != state {
            self.noted.get_or_insert(Trigger::Report);
        }
    }
}
