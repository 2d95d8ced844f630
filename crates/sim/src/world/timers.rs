//! The timers of senders and receivers on the agenda.

use midflight_units::Instant;

use super::{SenderLog, World, FIRST_SELDOM_AWAITED};
use crate::agenda::Key;
use crate::config::FlowId;
use crate::event::Observer;
use crate::moment::{Clock, Moment, Scheduled};

/// Indices of a flow's timers.
pub(super) const SENDER: usize = 0;
pub(super) const RECEIVER: usize = 1;

/// A timer as its owner last set it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    deadline: Instant,
    armed: Moment,
    /// When the agenda wakes it.
    planned: Instant,
}

impl Timer {
    pub(super) const OFF: Self = Self {
        deadline: Instant::NEVER,
        armed: Moment::NEVER,
        planned: Instant::NEVER,
    };
}

impl<O: Observer> World<O> {
    /// The number of the first timer of a sender.
    pub(super) fn first_timer(&self) -> usize {
        FIRST_SELDOM_AWAITED + self.seldom_awaited.len()
    }

    /// An endpoint of a flow acts now. In the lab that is at a whole nanosecond, and its packets reach a link
    /// before anything that was scheduled during the run.
    #[inline(always)]
    pub(super) fn reach_end(&mut self) {
        if self.clock == Clock::Picoseconds {
            self.moment = self.clock.whole(self.moment.at);
            self.scheduled = Scheduled::START;
        }
    }

    /// The timer of a sender (even) or a receiver (odd) may be due.
    pub(super) fn timer(&mut self, timer: usize) {
        self.reach_end();
        let flow = FlowId((timer / 2) as u32);
        self.flows[timer / 2].timers[timer % 2].planned = Instant::NEVER;
        if timer % 2 == SENDER {
            self.sender_timer(flow);
        } else {
            let ack = self.flows[flow.index()].receiver.on_timer(self.moment.at);
            self.acknowledge(flow, ack);
            if self.flows[flow.index()].app.is_some() {
                self.read_by_app(flow);
            }
        }
        if self.flows[timer / 2].timers[timer % 2].planned == Instant::NEVER {
            let source = self.first_timer() + timer;
            self.agenda.set_other(source, Key::NEVER);
        }
    }

    fn sender_timer(&mut self, flow: FlowId) {
        let now = self.moment.at;
        let state = &mut self.flows[flow.index()];
        let log = &mut SenderLog {
            observer: &mut self.observer,
            flow,
            error: &mut self.error,
        };
        if state.sender.on_timer(now, log) {
            state.open_timeouts.push((now, state.sender.view().snd_una));
        }
        self.pump(flow);
    }

    /// Sets a timer to its owner's deadline and arming time. A deadline that moved back is not changed on the
    /// agenda: the early call does nothing and corrects the timer.
    #[inline(always)]
    pub(super) fn set_timer(&mut self, flow: FlowId, which: usize, set: (Instant, Instant)) {
        let (deadline, armed) = set;
        let timer = &mut self.flows[flow.index()].timers[which];
        if (timer.deadline, timer.armed.at) != (deadline, armed) {
            timer.deadline = deadline;
            timer.armed = self.moment;
        }
        if deadline <= timer.planned {
            self.plan_timer(flow, which);
        }
    }

    /// Whether the agenda has the deadline of a receiver, if there is one.
    pub(super) fn knows_timer_of_receiver(&self, flow: FlowId) -> bool {
        let state = &self.flows[flow.index()];
        let deadline = state.receiver.poll_timer().map(|(deadline, _)| deadline);
        deadline.is_none_or(|deadline| state.timers[RECEIVER].deadline == deadline)
    }

    fn plan_timer(&mut self, flow: FlowId, which: usize) {
        let source = self.first_timer() + 2 * flow.index() + which;
        let state = &mut self.flows[flow.index()];
        let high_resolution = if which == RECEIVER {
            state.receiver.awaits_high_resolution()
        } else {
            state.sender.awaits_high_resolution()
        };
        let timer = &mut state.timers[which];
        let (due, scheduled) = self
            .clock
            .timer(timer.armed, timer.deadline, high_resolution);
        let none = timer.planned == Instant::NEVER;
        if none || due <= self.agenda.other(source).due {
            timer.planned = timer.deadline;
            self.agenda.set_other(source, Key { due, scheduled });
        }
    }
}
