//! The states of a sender and the transitions between them, in the terms of Lim & Jang 2009,
//! figure 4.

use std::fmt;

/// A state of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// The window is below the threshold (RFC 5681 section 3.1).
    SlowStart,
    /// The window is at the threshold or above (RFC 5681 section 3.1).
    CongestionAvoidance,
    /// Duplicate ACKs indicate a loss or reordering; the cause is classified. The state is left at
    /// once.
    Classification,
    /// The response to the duplicates is delayed (DCR).
    Delay,
    /// Fast recovery (RFC 5681 section 3.2).
    FastRecovery,
    /// The timer has expired, and new data will show whether the timeout was spurious (F-RTO).
    Probe,
    /// The timer has expired: everything is retransmitted, from a window of one.
    Reset,
}

/// The trigger of a transition between two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trigger {
    /// An ACK of new data.
    NewAck,
    /// A duplicate ACK.
    Duplicate,
    /// The loss is treated as congestion.
    Congestion,
    /// The loss is attributed to the radio link.
    Wireless,
    /// The delay of the response is over.
    DelayOver,
    /// The retransmission timer has expired.
    Timeout,
    /// A timeout or a fast retransmit is considered spurious.
    Spurious,
    /// A handoff notice.
    Notice,
    /// A handoff mark.
    Mark,
    /// The receiver's report of a train.
    Report,
}

/// A change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transition {
    /// The state that is left.
    pub from: State,
    /// Why.
    pub trigger: Trigger,
    /// The state that is entered.
    pub to: State,
}

impl State {
    /// All states.
    pub const ALL: [Self; 7] = [
        Self::SlowStart,
        Self::CongestionAvoidance,
        Self::Classification,
        Self::Delay,
        Self::FastRecovery,
        Self::Probe,
        Self::Reset,
    ];

    /// Its name in traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::SlowStart => "slow-start",
            Self::CongestionAvoidance => "congestion-avoidance",
            Self::Classification => "classification",
            Self::Delay => "delay",
            Self::FastRecovery => "fast-recovery",
            Self::Probe => "probe",
            Self::Reset => "reset",
        }
    }
}

impl Trigger {
    /// Its name in traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::NewAck => "new ACK",
            Self::Duplicate => "duplicate ACK",
            Self::Congestion => "congestion",
            Self::Wireless => "wireless",
            Self::DelayOver => "delay over",
            Self::Timeout => "timeout",
            Self::Spurious => "spurious",
            Self::Notice => "notice",
            Self::Mark => "handoff mark",
            Self::Report => "train report",
        }
    }
}

impl fmt::Display for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, trigger, to) = (self.from.name(), self.trigger.name(), self.to.name());
        write!(f, "{from} -> {to}: {trigger}")
    }
}

const fn way(from: State, trigger: Trigger, to: State) -> Transition {
    Transition { from, trigger, to }
}

/// Every transition between states that a sender can take, with any parts. The tests check that
/// there are no others.
pub const TRANSITIONS: &[Transition] = &[
    way(
        State::Classification,
        Trigger::Congestion,
        State::CongestionAvoidance,
    ),
    way(
        State::Classification,
        Trigger::Wireless,
        State::CongestionAvoidance,
    ),
    way(State::Classification, Trigger::Congestion, State::Delay),
    way(State::Classification, Trigger::Wireless, State::Delay),
    way(
        State::Classification,
        Trigger::Congestion,
        State::FastRecovery,
    ),
    way(
        State::Classification,
        Trigger::Wireless,
        State::FastRecovery,
    ),
    way(State::Classification, Trigger::Congestion, State::Probe),
    way(State::Classification, Trigger::Wireless, State::Probe),
    way(State::Classification, Trigger::Congestion, State::Reset),
    way(State::Classification, Trigger::Wireless, State::Reset),
    way(State::Classification, Trigger::Congestion, State::SlowStart),
    way(State::Classification, Trigger::Wireless, State::SlowStart),
    way(
        State::CongestionAvoidance,
        Trigger::Duplicate,
        State::Classification,
    ),
    way(
        State::CongestionAvoidance,
        Trigger::NewAck,
        State::Classification,
    ),
    way(
        State::CongestionAvoidance,
        Trigger::DelayOver,
        State::Classification,
    ),
    way(State::CongestionAvoidance, Trigger::Duplicate, State::Delay),
    way(State::CongestionAvoidance, Trigger::NewAck, State::Delay),
    way(
        State::CongestionAvoidance,
        Trigger::Duplicate,
        State::FastRecovery,
    ),
    way(State::CongestionAvoidance, Trigger::Timeout, State::Probe),
    way(State::CongestionAvoidance, Trigger::Timeout, State::Reset),
    way(
        State::CongestionAvoidance,
        Trigger::NewAck,
        State::SlowStart,
    ),
    way(
        State::CongestionAvoidance,
        Trigger::Notice,
        State::SlowStart,
    ),
    way(
        State::CongestionAvoidance,
        Trigger::Spurious,
        State::SlowStart,
    ),
    way(State::Delay, Trigger::Duplicate, State::Classification),
    // The cause has been judged: further duplicates are enough to stop waiting for reordered segments.
    way(State::Delay, Trigger::Duplicate, State::FastRecovery),
    way(State::Delay, Trigger::DelayOver, State::Classification),
    way(State::Delay, Trigger::DelayOver, State::CongestionAvoidance),
    way(State::Delay, Trigger::NewAck, State::CongestionAvoidance),
    way(State::Delay, Trigger::Spurious, State::CongestionAvoidance),
    way(State::Delay, Trigger::DelayOver, State::FastRecovery),
    way(State::Delay, Trigger::Timeout, State::Probe),
    way(State::Delay, Trigger::Timeout, State::Reset),
    way(State::Delay, Trigger::DelayOver, State::SlowStart),
    way(State::Delay, Trigger::NewAck, State::SlowStart),
    way(State::Delay, Trigger::Spurious, State::SlowStart),
    way(
        State::FastRecovery,
        Trigger::NewAck,
        State::CongestionAvoidance,
    ),
    way(
        State::FastRecovery,
        Trigger::Spurious,
        State::CongestionAvoidance,
    ),
    way(State::FastRecovery, Trigger::Timeout, State::Probe),
    way(State::FastRecovery, Trigger::Timeout, State::Reset),
    way(State::FastRecovery, Trigger::NewAck, State::SlowStart),
    way(State::FastRecovery, Trigger::Spurious, State::SlowStart),
    way(State::Probe, Trigger::Duplicate, State::Classification),
    way(State::Probe, Trigger::Duplicate, State::CongestionAvoidance),
    way(State::Probe, Trigger::NewAck, State::CongestionAvoidance),
    way(State::Probe, Trigger::Spurious, State::CongestionAvoidance),
    way(State::Probe, Trigger::Duplicate, State::Reset),
    way(State::Probe, Trigger::Timeout, State::Reset),
    way(State::Probe, Trigger::Duplicate, State::SlowStart),
    // Duplicates at which ns-2's F-RTO goes on probing begin the delay of a response.
    way(State::Probe, Trigger::DelayOver, State::FastRecovery),
    way(State::Probe, Trigger::DelayOver, State::SlowStart),
    way(State::Probe, Trigger::NewAck, State::SlowStart),
    way(State::Probe, Trigger::Spurious, State::SlowStart),
    way(State::Reset, Trigger::Duplicate, State::Classification),
    way(State::Reset, Trigger::NewAck, State::Classification),
    way(State::Reset, Trigger::DelayOver, State::Classification),
    // ns-2's Reno and NewReno respond to duplicates of the first data segment after a timeout too.
    way(State::Reset, Trigger::DelayOver, State::FastRecovery),
    way(State::Reset, Trigger::NewAck, State::CongestionAvoidance),
    way(State::Reset, Trigger::Spurious, State::CongestionAvoidance),
    way(State::Reset, Trigger::NewAck, State::Delay),
    // ns-2's F-RTO, which does not act before the first ACK.
    way(State::Reset, Trigger::NewAck, State::Probe),
    way(State::Reset, Trigger::Timeout, State::Probe),
    way(State::Reset, Trigger::NewAck, State::SlowStart),
    way(State::Reset, Trigger::Spurious, State::SlowStart),
    way(State::SlowStart, Trigger::Duplicate, State::Classification),
    way(State::SlowStart, Trigger::NewAck, State::Classification),
    way(
        State::SlowStart,
        Trigger::NewAck,
        State::CongestionAvoidance,
    ),
    way(
        State::SlowStart,
        Trigger::Notice,
        State::CongestionAvoidance,
    ),
    way(
        State::SlowStart,
        Trigger::Spurious,
        State::CongestionAvoidance,
    ),
    way(State::SlowStart, Trigger::Duplicate, State::Delay),
    // The delay began in another state; the property tests reach this with a notice in between.
    way(State::SlowStart, Trigger::DelayOver, State::Classification),
    way(State::SlowStart, Trigger::NewAck, State::Delay),
    way(State::SlowStart, Trigger::Duplicate, State::FastRecovery),
    way(State::SlowStart, Trigger::Timeout, State::Probe),
    way(State::SlowStart, Trigger::Timeout, State::Reset),
    // With the Linux recovery an ACK may end a recovery and begin the next, an ACK that is not
    // cumulative may let the window grow or end slow start (HyStart), and a retransmission lost
    // again begins a recovery after a timeout.
    way(State::FastRecovery, Trigger::NewAck, State::Classification),
    way(
        State::FastRecovery,
        Trigger::Duplicate,
        State::Classification,
    ),
    way(
        State::SlowStart,
        Trigger::Duplicate,
        State::CongestionAvoidance,
    ),
    way(State::Reset, Trigger::NewAck, State::FastRecovery),
    // There an ACK up to a segment that was SACKed changes nothing (tcp_check_sack_reneging()), so that a later one that is
    // not cumulative, or the end of a delay, ends a recovery or undoes a reduction.
    way(
        State::FastRecovery,
        Trigger::Duplicate,
        State::CongestionAvoidance,
    ),
    way(State::FastRecovery, Trigger::Duplicate, State::SlowStart),
    way(
        State::CongestionAvoidance,
        Trigger::Duplicate,
        State::SlowStart,
    ),
    way(
        State::CongestionAvoidance,
        Trigger::DelayOver,
        State::SlowStart,
    ),
    // A mark restarts the sender from any state.
    way(State::CongestionAvoidance, Trigger::Mark, State::SlowStart),
    way(State::Delay, Trigger::Mark, State::CongestionAvoidance),
    way(State::Delay, Trigger::Mark, State::SlowStart),
    way(
        State::FastRecovery,
        Trigger::Mark,
        State::CongestionAvoidance,
    ),
    way(State::FastRecovery, Trigger::Mark, State::SlowStart),
    way(State::Probe, Trigger::Mark, State::CongestionAvoidance),
    way(State::Probe, Trigger::Mark, State::SlowStart),
    way(State::Reset, Trigger::Mark, State::CongestionAvoidance),
    way(State::Reset, Trigger::Mark, State::SlowStart),
    way(State::SlowStart, Trigger::Mark, State::CongestionAvoidance),
    // It may come with the first ACK after a timeout, at which ns-2's F-RTO begins.
    way(State::Reset, Trigger::Mark, State::Probe),
    // A report sets the threshold.
    way(
        State::CongestionAvoidance,
        Trigger::Report,
        State::SlowStart,
    ),
    // At the duplicate that ends a probe, a rate may be approved and not yet used.
    way(State::Probe, Trigger::Report, State::CongestionAvoidance),
    way(State::Probe, Trigger::Report, State::SlowStart),
    way(State::Delay, Trigger::Report, State::CongestionAvoidance),
    way(State::Delay, Trigger::Report, State::SlowStart),
    way(
        State::SlowStart,
        Trigger::Report,
        State::CongestionAvoidance,
    ),
];
