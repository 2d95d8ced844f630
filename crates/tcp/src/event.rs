//! What a sender reports of itself.

use midflight_control::Order;
use midflight_units::{Duration, Instant, Seq};

/// A change inside a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SenderEvent<'a> {
    /// The congestion window changed, in segments.
    Cwnd(f64),
    /// The slow-start threshold changed, in segments.
    Ssthresh(f64),
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
    /// A policy's order was applied.
    Order {
        /// Name of the policy.
        author: &'static str,
        /// The order.
        order: Order,
        /// Why it was given.
        reason: &'a str,
    },
}

/// Takes the events of a sender. Implementations that ignore them cost nothing.
pub trait Log {
    /// `event` happened at `now`.
    fn record(&mut self, now: Instant, event: SenderEvent<'_>);
}

impl Log for () {
    fn record(&mut self, _now: Instant, _event: SenderEvent<'_>) {}
}

impl<F: FnMut(Instant, SenderEvent<'_>)> Log for F {
    // Where an event is told its kind is known.
    #[inline(always)]
    fn record(&mut self, now: Instant, event: SenderEvent<'_>) {
        self(now, event);
    }
}
