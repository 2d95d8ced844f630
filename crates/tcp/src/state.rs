//! The states of a sender and the ways between them, in the terms of Lim & Jang
//! 2009, figure 4.

use std::fmt;

/// A state of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// The window is below the threshold (RFC 5681 section 3.1).
    SlowStart,
    /// The window is at the threshold or above (RFC 5681 section 3.1).
    CongestionAvoidance,
    /// Duplicate ACKs tell of a loss or of reordering; the cause is judged. Left at once.
    Classification,
    /// The response to the duplicates is delayed (DCR).
    Delay,
    /// Fast recovery (RFC 5681 section 3.2).
    FastRecovery,
    /// The timer has expired and new data shall tell whether it had to (F-RTO).
    Probe,
    /// The timer has expired: everything goes again, from a window of one.
    Reset,
}

/// What takes a sender from a state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trigger {
    /// An ACK of new data.
    NewAck,
    /// A duplicate ACK.
    Duplicate,
    /// The loss is taken for congestion.
    Congestion,
    /// The loss is taken for the radio's.
    Wireless,
    /// The delay of the response is over.
    DelayOver,
    /// The retransmission timer has expired.
    Timeout,
    /// A timeout or a fast retransmit is taken for spurious.
    Spurious,
    /// A handoff notice.
    Notice,
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
        }
    }
}

impl fmt::Display for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, trigger, to) = (self.from.name(), self.trigger.name(), self.to.name());
        write!(f, "{from} -> {to}: {trigger}")
    }
}

/// Every way between states that a sender with one of the registered parts can take.
pub const TRANSITIONS: &[Transition] = &[];
