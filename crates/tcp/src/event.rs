//! The events that a sender reports.

use midflight_control::loss::{Indicators, LossCause};
use midflight_control::Order;
use midflight_units::{Duration, Instant, Seq};

use crate::sender::SlotKind;
use crate::state::Transition;

/// A change inside a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SenderEvent<'a> {
    /// The congestion window changed.
    Cwnd {
        /// To this many segments.
        to: f64,
        /// Who changed it.
        by: Author,
    },
    /// The slow-start threshold changed.
    Ssthresh {
        /// To this many segments.
        to: f64,
        /// Who changed it.
        by: Author,
    },
    /// The timer's back-off factor changed.
    Backoff(u32),
    /// The lower bound of the timeout changed.
    MinRto(Duration),
    /// An RTT sample was taken.
    RttSample(Duration),
    /// The retransmission timer expired for this segment.
    Timeout(Seq),
    /// Fast recovery started with the retransmission of this segment.
    FastRetransmit(Seq),
    /// Fast recovery ended.
    RecoveryExit,
    /// The duplicate ACKs received indicate that this segment may be lost.
    LossSuspected(Seq),
    /// The cause of the loss according to the loss classifier.
    LossJudged {
        /// The segment.
        segment: Seq,
        /// The cause.
        cause: LossCause,
    },
    /// The suspected segment was only late.
    Reordered(Seq),
    /// The last timeout is considered spurious.
    SpuriousTimeout,
    /// The last fast retransmit is considered spurious.
    SpuriousRetransmit,
    /// The loss classifier's measurements after an ACK; reported if [`Log::DETAILED`].
    Indicators(Indicators),
    /// The retransmission timeout, including back-off and bounds, has changed, or is the connection's first
    /// one; reported if [`Log::DETAILED`].
    Rto(Duration),
    /// The smoothed round-trip time has changed; reported if [`Log::DETAILED`].
    Smoothed(Duration),
    /// The pacing rate has changed, in bits of data per second; reported if [`Log::DETAILED`].
    PacingRate(f64),
    /// The congestion controller is in this mode from now on; reported if [`Log::DETAILED`].
    Mode(&'static str),
    /// A sample of the delivery rate at an ACK; reported if [`Log::DETAILED`], for a sender that measures it.
    DeliveryRate {
        /// Bits of data per second.
        rate: f64,
        /// The application had too little to send during the sample.
        app_limited: bool,
    },
    /// The count of duplicate ACKs; reported if [`Log::DETAILED`].
    Duplicates(u32),
    /// A deadline has been reached, before the sender handles it; reported if [`Log::DETAILED`].
    Woken {
        /// Which deadline.
        by: Wake,
        /// When it was set.
        set: Instant,
    },
    /// The sender went from one state to another; reported if [`Log::DETAILED`].
    State(Transition),
    /// An order of a policy was applied.
    Order {
        /// Name of the policy.
        author: &'static str,
        /// The order.
        order: Order,
        /// The policy's reason.
        reason: &'a str,
    },
    /// Something happened to the path of a QUIC sender, or to its packets.
    Path(PathEvent),
    /// An order for a congestion window below one segment, which was not applied: with it the flow
    /// could never send again.
    WindowRefused {
        /// The part that gave the order.
        author: &'static str,
        /// The window, in segments.
        cwnd: f64,
    },
}

/// Events of QUIC senders only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEvent {
    /// The peer's address has changed.
    Migrated {
        /// Only the port has changed.
        port_only: bool,
    },
    /// The sender sends a PATH_CHALLENGE.
    Challenge,
    /// The path is validated.
    Validated,
    /// The path could not be validated.
    ValidationFailed,
    /// The sender has more to send than three times the bytes received over a path that is not validated.
    AmplificationLimit,
    /// Packets are considered lost: how many.
    Lost(u64),
    /// Packets arrived after their data had been retransmitted: how many.
    Needless(u64),
    /// Persistent congestion: the window is reset.
    PersistentCongestion,
}

/// The author of a window change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// The connection opens, or its SYN is acknowledged.
    Handshake,
    /// The congestion controller, at an ACK of new data.
    Controller,
    /// Loss recovery after duplicate ACKs, from its start to its end.
    Recovery,
    /// The retransmission timer has expired.
    Timeout,
    /// A new path begins, with its own window.
    Path,
    /// An idle time has ended (RFC 5681 section 4.1).
    Idle,
    /// An order of the part with this name.
    Order(&'static str),
}

impl Author {
    /// Its name in traces; for an order, the name of the part that gave it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Controller => "controller",
            Self::Recovery => "recovery",
            Self::Timeout => "timeout",
            Self::Path => "path",
            Self::Idle => "idle",
            Self::Order(part) => part,
        }
    }
}

/// What can wake a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// The retransmission timer.
    Retransmission,
    /// The persist timer.
    Persist,
    /// The deadline of a delayed response to duplicate ACKs.
    Delay,
    /// The end of expected reordering, for some segments or for all.
    Patience,
    /// The tail loss probe (RFC 8985 section 7).
    LossProbe,
    /// The end of RACK's reordering window (RFC 8985 section 6.3).
    Reordering,
}

impl Wake {
    pub(crate) fn of(slot: SlotKind) -> Self {
        match slot {
            SlotKind::Retransmission => Self::Retransmission,
            SlotKind::LossProbe => Self::LossProbe,
            SlotKind::Reordering => Self::Reordering,
            SlotKind::SmallWindow => Self::Persist,
        }
    }

    /// Its name in traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Retransmission => "retransmission",
            Self::Persist => "persist",
            Self::Delay => "delay",
            Self::Patience => "patience",
            Self::LossProbe => "loss probe",
            Self::Reordering => "reordering",
        }
    }
}

/// Receives the events of a sender. Implementations that ignore them cost nothing.
pub trait Log {
    /// Whether it receives the events that cost time on every ACK.
    const DETAILED: bool = false;

    /// `event` happened at `now`.
    fn record(&mut self, now: Instant, event: SenderEvent<'_>);
}

impl Log for () {
    fn record(&mut self, _now: Instant, _event: SenderEvent<'_>) {}
}

impl<F: FnMut(Instant, SenderEvent<'_>)> Log for F {
    // The kind of an event is known at compile time where it is reported.
    #[inline(always)]
    fn record(&mut self, now: Instant, event: SenderEvent<'_>) {
        self(now, event);
    }
}
