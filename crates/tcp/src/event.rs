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
    /// The cause of its loss according to the loss classifier.
    LossJudged {
        /// The segment.
        segment: Seq,
        /// The opinion.
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
    /// The retransmission timeout, including back-off and bounds, has changed, or is the
    /// connection's first; reported if [`Log::DETAILED`].
    Rto(Duration),
    /// The smoothed round-trip time has changed; reported if [`Log::DETAILED`].
    Smoothed(Duration),
    /// The pacing rate has changed, in bits of data a second; reported if [`Log::DETAILED`].
    PacingRate(f64),
    /// A sample of the delivery rate at an ACK; reported if [`Log::DETAILED`], for a sender that measures it.
    DeliveryRate {
        /// Bits of data a second.
        rate: f64,
        /// The application had too little to send during that time.
        app_limited: bool,
    },
    /// The count of duplicate ACKs; reported if [`Log::DETAILED`].
    Duplicates(u32),
    /// A deadline is reached, before the sender acts on it; reported if [`Log::DETAILED`].
    Woken {
        /// Whose deadline.
        by: Wake,
        /// When it was set.
        set: Instant,
    },
    /// The sender went from one state to another; reported if [`Log::DETAILED`].
    State(Transition),
    /// A policy's order was applied.
    Order {
        /// Name of the policy.
        author: &'static str,
        /// The order.
        order: Order,
        /// Why it was given.
        reason: &'a str,
    },
    /// Something happened to the path of a QUIC sender, or to its packets.
    Path(PathEvent),
    /// An order for a congestion window below one segment, which was not applied: with it the flow
    /// could never send again.
    WindowRefused {
        /// Who gave it.
        author: &'static str,
        /// The window, in segments.
        cwnd: f64,
    },
}

/// Events of QUIC senders only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEvent {
    /// Its peer has another address.
    Migrated {
        /// Only the port is another.
        port_only: bool,
    },
    /// It sends a PATH_CHALLENGE.
    Challenge,
    /// The path is validated.
    Validated,
    /// The path could not be validated.
    ValidationFailed,
    /// It has more to send than three times the bytes received over a path that is not validated.
    AmplificationLimit,
    /// Packets are considered lost; their number.
    Lost(u64),
    /// Packets arrived whose data had been retransmitted; their number.
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
    /// The recovery from a loss indicated by duplicate ACKs, from its start to its end.
    Recovery,
    /// The retransmission timer has expired.
    Timeout,
    /// A new path begins, with its own window.
    Path,
    /// An idle time has ended (RFC 5681 section 4.1).
    Idle,
    /// An order of the part of this name.
    Order(&'static str),
}

impl Author {
    /// Its name in traces; of an order, that of the part that gave it.
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

/// The causes that wake a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// The retransmission timer.
    Retransmission,
    /// The persist timer.
    Persist,
    /// The deadline of a delayed response to duplicate ACKs.
    Delay,
    /// The end of expected reordering, of some segments or of all.
    Patience,
    /// The probe of the tail (RFC 8985 section 7).
    LossProbe,
    /// RACK has waited long enough for what may be reordered (RFC 8985 section 6.3).
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

/// Takes the events of a sender. Implementations that ignore them cost nothing.
pub trait Log {
    /// Whether it wants the events that cost time on every ACK.
    const DETAILED: bool = false;

    /// `event` happened at `now`.
    fn record(&mut self, now: Instant, event: SenderEvent<'_>);
}

impl Log for () {
    fn record(&mut self, _now: Instant, _event: SenderEvent<'_>) {}
}

impl<F: FnMut(Instant, SenderEvent<'_>)> Log for F {
    // The kind of an event is known where it is reported.
    #[inline(always)]
    fn record(&mut self, now: Instant, event: SenderEvent<'_>) {
        self(now, event);
    }
}
