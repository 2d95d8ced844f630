//! A train under way: new segments that leave at stated gaps.
//!
//! It begins when the window has room for all of its segments, so that no gap
//! waits for an ACK, and with fewer where the whole window or what there is to send
//! is smaller. Departures are counted from the one before: a caller that is late
//! does not make the next gap shorter. Whatever resends, probes, closes the window or
//! tells of a handoff ends it, and sending goes on as usual. While duplicate ACKs are
//! counted, a train that has not begun or that waits for its report holds nothing
//! back: what goes then may be what tells a loss.

use midflight_control::policy::TrainReport;
use midflight_control::{Gaps, Measure, Train};
use midflight_units::{Instant, Seq};

use super::Core;
use crate::event::Log;
use crate::segment::{Ack, Segment, SegmentOption, TrainMark};
use crate::state::Trigger;

/// What a sender keeps of the train under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course {
    /// With the number of segments that it has in truth, once it has begun.
    train: Train,
    gaps: Gaps,
    /// Segments that have left.
    gone: u16,
    /// When the next one may leave, and when that was decided.
    due: (Instant, Instant),
    /// When the last one left, and one past it.
    left: Instant,
    edge: Seq,
    /// Recovery has nothing to send; until an ACK it need not be asked again.
    refused: bool,
}

impl Course {
    fn all_gone(&self) -> bool {
        self.gone > 0 && self.gone >= self.train.segments
    }

    /// The place of the next segment, where the receiver shall measure.
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
        self.train.spacing.measures().map(mark)
    }
}

impl Core {
    /// Number of the train under way.
    pub(super) fn train(&self) -> Option<u16> {
        self.train.map(|course| course.train.number)
    }

    /// Takes up a train in place of the one under way.
    pub(super) fn start_train(&mut self, train: Train) {
        if train.segments == 0 {
            self.end_train();
            return;
        }
        let busy = self.in_fast_recovery
            || self.stalled
            || self.probe.is_some()
            || self.resend.is_some()
            || self.nxt < self.max;
        if busy || self.una == 0 || self.is_closed() {
            return;
        }
        self.train = Some(Course {
            train,
            gaps: train.gaps(self.config.segment_bytes),
            gone: 0,
            due: (self.now, self.now),
            left: self.now,
            edge: self.nxt,
            refused: false,
        });
        self.hold();
    }

    /// The train is over, whatever has left of it. Whether there was one.
    pub(crate) fn end_train(&mut self) -> bool {
        let was = self.train.take().is_some();
        if was {
            self.hold();
        }
        was
    }

    /// Segments that the window and what there is to send allow now.
    fn room(&self) -> u64 {
        let edge = self.end.min(self.una + self.usable_window());
        edge.saturating_sub(self.nxt)
    }

    /// Whether the next segment has to wait for nothing but its time.
    fn may_go(&self, course: &Course) -> bool {
        if course.refused || course.all_gone() {
            return false;
        }
        if course.gone > 0 {
            return self.room() > 0;
        }
        self.dupacks == 0 && self.room() > 0 && self.room() >= self.length(course)
    }

    /// How many segments a train that has not begun will have.
    fn length(&self, course: &Course) -> u64 {
        let unsent = self.end.saturating_sub(self.nxt);
        let most = unsent.min(self.usable_window());
        most.min(u64::from(course.train.segments))
    }

    /// When the next segment of a train leaves, if it waits for its time, and when that was decided.
    pub(super) fn departure(&self) -> Option<(Instant, Instant)> {
        let course = self.train.as_ref()?;
        self.may_go(course).then_some(course.due)
    }

    /// Whether a segment of the train is to leave now, or the train lets nothing
    /// go; none where sending takes its usual course.
    pub(crate) fn train_allows(&mut self) -> Option<bool> {
        let mut course = self.train?;
        if self.nxt >= self.end && !course.all_gone() {
            // There is nothing more to send.
            self.end_train();
            return None;
        }
        if self.dupacks > 0 && (course.gone == 0 || course.all_gone()) {
            return None;
        }
        if course.due.0 > self.now || !self.may_go(&course) {
            return Some(false);
        }
        if course.gone == 0 {
            course.train.segments = self.length(&course) as u16;
            if course.train.segments < 2 && course.train.spacing.measures().is_some() {
                // One segment tells nothing.
                self.end_train();
                return None;
            }
            course.gaps = course.train.gaps(self.config.segment_bytes);
            self.train = Some(course);
        }
        Some(true)
    }

    /// The recovery had nothing to send although the train allowed it.
    pub(crate) fn train_refused(&mut self) {
        if let Some(course) = &mut self.train {
            course.refused = true;
        }
    }

    /// Marks a segment that has just been handed out, and sets the time of the next.
    pub(crate) fn join_train(&mut self, segment: &mut Segment) {
        let now = self.now;
        let Some(course) = self.train.as_mut().filter(|_| !segment.retransmission) else {
            return;
        };
        segment.option = course.mark().map(SegmentOption::Train);
        course.gone += 1;
        course.left = now;
        course.edge = segment.seq + 1;
        if let Some(gap) = course.gaps.take() {
            course.due = (now + gap, now);
        }
        if course.all_gone() && !course.train.awaits_report {
            self.end_train();
        }
    }

    /// After an ACK: the recovery may have something to send again, and a train that
    /// is acknowledged without a report will have none.
    pub(super) fn follow_train(&mut self) {
        if let Some(course) = &mut self.train {
            course.refused = false;
            if course.all_gone() && self.una >= course.edge {
                self.end_train();
            }
        }
    }

    /// Tells the policies what the receiver reports of a train.
    #[cold]
    pub(crate) fn consult_report(&mut self, ack: &Ack, log: &mut impl Log) {
        let Some(estimate) = ack.says.measured() else {
            return;
        };
        let of = |course: &Course| course.train.number == estimate.train;
        let course = self.train.filter(|course| of(course));
        let rtt = course
            .filter(Course::all_gone)
            .map(|course| self.now.since(course.left));
        if course.is_some_and(|course| course.train.awaits_report || estimate.rate.is_none()) {
            self.end_train();
        }
        let report = TrainReport { estimate, rtt };
        for i in 0..self.policies.len() {
            let view = self.view();
            let orders = self.policies[i].on_estimate(&report, &view);
            if !orders.is_empty() {
                self.noted.get_or_insert(Trigger::Report);
            }
            self.apply(self.policies[i].info().name, &orders, log);
        }
        self.watching = self.policies.iter().any(|p| p.watches_acks());
    }
}
