//! Pacing: a burst is not sent earlier than the rate allows (tcp_pacing_check(),
//! tcp_update_skb_after_send()).
//!
//! After a burst the next one waits for the transmission time of the burst's bytes at the rate. A late burst shortens
//! the wait by at most half, unless an order sets the rate. As in the queueing discipline fq, the first ten segments of
//! a connection are not paced. Retransmissions after a timeout and trains, which have their own gaps, do not wait, but
//! the bursts after them do.
//!
//! The Linux recovery consults the pacer at the start of each burst. All other recoveries have bursts of one segment,
//! which are checked here. A sender without pacing does not reach this code ([`Core::held`]).

use midflight_control::Pacing;
use midflight_units::{Duration, Instant, Rate};

use super::timers::Deadline;
use super::Core;
use crate::config::RecoveryKind;

/// Number of data segments at the start that are not paced.
const UNPACED: u64 = 10;
const NANOS: u64 = 1_000_000_000;

/// The state of the pacer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pacer {
    /// When the next burst may be sent; before anything was paced, when the last one was sent (tcp_wstamp_ns).
    departure: Instant,
    /// The send time of the current burst: later than the actual time, if a timer sent it early.
    stamp: Instant,
    /// Number of data segments sent.
    sent: u64,
    /// The time for which a burst waits.
    wake: Option<Deadline>,
    /// The application's limit, in bytes of data per second.
    most: Option<u64>,
    /// The rate of an order, in bits on the wire, and when it ends.
    ordered: Option<(Rate, Option<Instant>)>,
}

impl Pacer {
    /// The time of this many bytes of data at the sender's own rate, in bytes per second.
    fn takes(&self, bytes: u64, rate: u64) -> u64 {
        if rate == 0 || self.sent < UNPACED {
            return 0;
        }
        (u128::from(bytes * NANOS) / u128::from(rate)) as u64
    }

    /// The time of this many bytes on the wire at the ordered rate.
    fn takes_by_order(&self, now: Instant, bytes: u64) -> u64 {
        let ordered = self.ordered_at(now);
        ordered.map_or(0, |rate| rate.transmission_time(bytes).as_nanos())
    }

    /// The ordered rate, if it applies at this time.
    fn ordered_at(&self, now: Instant) -> Option<Rate> {
        let in_force = |until: Option<Instant>| until.is_none_or(|until| now < until);
        let ordered = self.ordered.filter(|(_, until)| in_force(*until));
        ordered.map(|(rate, _)| rate)
    }
}

impl Core {
    /// Whether bursts are paced.
    pub(crate) fn is_paced(&self) -> bool {
        self.pacer.is_some()
    }

    /// The sender's own rate.
    fn own_rate(&self) -> u64 {
        let is_limited = self.pacer.is_some_and(|pacer| pacer.most.is_some());
        if self.config.pacing || self.path.paces || is_limited {
            self.path.pacing_rate
        } else {
            0
        }
    }

    /// The rate at which segments are sent, in bits of data per second: the sender's own, or a lower ordered one.
    pub(crate) fn pacing_rate(&self) -> Option<f64> {
        let pacer = self.pacer.as_ref()?;
        let own = Some(self.own_rate()).filter(|rate| *rate > 0);
        let own = own.map(|bytes| bytes as f64 * 8.0);
        let share = f64::from(self.config.payload_bytes()) / f64::from(self.config.segment_bytes);
        let ordered = pacer.ordered_at(self.now);
        let ordered = ordered.map(|rate| rate.as_bps() as f64 * share);
        match (own, ordered) {
            (Some(own), Some(ordered)) => Some(own.min(ordered)),
            (own, ordered) => own.or(ordered),
        }
    }

    /// tcp_update_pacing_rate(), with this many segments outstanding: a rate in bytes of data per second.
    #[inline(always)]
    pub(crate) fn update_pacing_rate(&mut self, out: u64) {
        let Some(srtt_x8) = self.path.rto.srtt_x8().filter(|_| !self.path.paces) else {
            return;
        };
        let srtt_x8 = srtt_x8.max(1);
        let cwnd = self.whole_cwnd();
        // cwnd < ssthresh / 2, in whole segments.
        let percent = if 2.0 * (cwnd as i64 as f64 + 1.0) <= self.ssthresh() {
            200
        } else {
            120
        };
        let out = cwnd.max(out);
        let bytes = self.sizes.paced;
        // A policy may remove the window's limit; then the rate saturates and has no effect.
        let rate = (bytes * 10_000 * 8 * percent).saturating_mul(out) / srtt_x8;
        self.path.pacing_rate = self.at_most(rate);
    }

    /// A rate within the application's limit.
    #[inline]
    fn at_most(&self, rate: u64) -> u64 {
        let most = self.pacer.and_then(|pacer| pacer.most);
        most.map_or(rate, |most| rate.min(most))
    }

    /// The application limits the rate, in bytes of data per second; segments are paced from then on (sk_setsockopt(),
    /// SO_MAX_PACING_RATE).
    pub(crate) fn limit_pacing(&mut self, most: u64) {
        let (last, sent) = (self.books.last_sent(), self.books.max().saturating_sub(1));
        let pacer = self.pacer.get_or_insert_with(|| Pacer {
            departure: last,
            sent,
            ..Pacer::default()
        });
        pacer.most = Some(most);
        self.path.pacing_rate = match self.path.pacing_rate {
            0 => most,
            rate => rate.min(most),
        };
        self.hold();
    }

    /// The rate of tcp_update_pacing_rate() or of the controller, in bytes of data per second; none before the first.
    pub(crate) fn rate_of_pacing(&self) -> Option<u64> {
        Some(self.path.pacing_rate).filter(|rate| *rate > 0)
    }

    /// Whether the next burst has to wait; if so, the sender is woken when it may be sent. A Linux timer that runs for
    /// an earlier burst keeps running.
    #[inline]
    pub(crate) fn gate_is_closed(&mut self) -> bool {
        if self.pacer.is_none() {
            return false;
        }
        let (now, in_train) = (self.now, self.in_train());
        let runs_on = self.config.recovery == RecoveryKind::Linux;
        let Some(pacer) = &mut self.pacer else {
            return false;
        };
        let is_closed = pacer.departure > now && !in_train;
        let wake = is_closed.then_some((pacer.departure, now));
        pacer.wake = pacer.wake.filter(|_| runs_on).or(wake);
        is_closed
    }

    /// A recovery that paces itself waits until then.
    pub(crate) fn wait_for_gate(&mut self, until: Instant) {
        let now = self.now;
        if let Some(pacer) = &mut self.pacer {
            pacer.wake = Some((until, now));
        }
    }

    /// A burst of this many segments and bytes of data is sent, even if the pacer would hold it back; returns the
    /// instant that counts as its send time.
    #[inline]
    pub(crate) fn leave(&mut self, segments: u64, bytes: u64) -> Instant {
        let (now, own_rate) = (self.now, self.own_rate());
        let Some(pacer) = &mut self.pacer else {
            return now;
        };
        let headers = u64::from(self.config.segment_bytes) - self.sizes.full();
        let wire = bytes + segments * headers;
        let before = pacer.departure;
        let leaves = before.max(now);
        pacer.sent += segments;
        let takes = pacer.takes(bytes, own_rate);
        // A late burst shortens the wait.
        let credit = leaves.since(before).as_nanos().min(takes / 2);
        let wait = (takes - credit).max(pacer.takes_by_order(now, wire));
        pacer.departure = leaves + Duration::from_nanos(wait);
        pacer.stamp = leaves;
        leaves
    }

    /// When the next burst may be sent, or when the last one or an ACK was sent (tcp_wstamp_ns).
    #[inline]
    pub(crate) fn departure_of_burst(&self) -> Instant {
        let last = self.books.last_sent().max(self.peer.acked_at());
        self.pacer.map_or(last, |pacer| pacer.departure)
    }

    /// An ACK without data is sent now: no burst counts as sent before it (__tcp_transmit_skb()).
    pub(super) fn hold_departure(&mut self) {
        if let Some(pacer) = &mut self.pacer {
            pacer.departure = pacer.departure.max(self.now);
        }
    }

    /// The send time of a segment that is sent now.
    pub(crate) fn stamp(&self) -> Instant {
        self.pacer
            .map_or(self.now, |pacer| pacer.stamp.max(self.now))
    }

    /// Additional delay of a timer until the pacer allows a burst (tcp_pacing_delay()).
    pub(crate) fn pacing_delay(&self) -> Duration {
        let Some(pacer) = &self.pacer else {
            return Duration::ZERO;
        };
        let (clock, wait) = (self.config.rto.clock, pacer.departure.since(self.now));
        if clock.hz == 0 {
            return wait;
        }
        let ticks = wait.as_nanos() * u64::from(clock.hz) / NANOS;
        clock.length(ticks)
    }

    /// When the pacer allows the waiting burst, if there is one.
    pub(super) fn gate(&self) -> Option<Deadline> {
        self.pacer.and_then(|pacer| pacer.wake)
    }

    /// Whether that is the next deadline.
    pub(crate) fn gate_is_next(&self) -> bool {
        let gate = self.gate().map(|(due, _)| due);
        gate.is_some() && gate == self.held_deadline().map(|(due, _)| due)
    }

    /// Whether the pacer now allows a waiting burst; true only once.
    pub(crate) fn take_gate(&mut self, now: Instant) -> bool {
        let wake = self.pacer.as_mut().map(|pacer| &mut pacer.wake);
        let Some(wake) = wake.filter(|wake| wake.is_some_and(|(due, _)| due <= now)) else {
            return false;
        };
        *wake = None;
        self.now = now;
        self.path.rtt_sampled = false;
        true
    }

    /// The controller sets a rate, in segments per second; 0 for none.
    pub(super) fn pace_by_controller(&mut self, per_second: f64) {
        self.path.paces = per_second > 0.0;
        let rate = (per_second * f64::from(self.config.payload_bytes())) as u64;
        self.path.pacing_rate = self.at_most(rate);
        let last = self.books.last_sent();
        if self.path.paces && self.pacer.is_none() {
            self.pacer = Some(Pacer {
                departure: last,
                sent: self.books.max().saturating_sub(1),
                ..Pacer::default()
            });
        }
        self.hold();
    }

    /// Applies an order to pace.
    pub(super) fn order_pacing(&mut self, pacing: Pacing) {
        let now = self.now;
        let ordered = match pacing {
            Pacing::At(rate) => Some((rate, None)),
            Pacing::Window { over } => {
                let bits = self.usable_window().max(1) * u64::from(self.config.segment_bytes) * 8;
                let rate =
                    u128::from(bits) * u128::from(NANOS) / u128::from(over.as_nanos().max(1));
                let rate = u64::try_from(rate).unwrap_or(u64::MAX).max(1);
                Rate::from_bps(rate).map(|rate| (rate, Some(now + over)))
            }
            Pacing::Off => None,
        };
        if let (None, None) = (ordered, &self.pacer) {
            return;
        }
        let last = self.books.last_sent();
        let pacer = self.pacer.get_or_insert_with(|| Pacer {
            departure: last,
            ..Pacer::default()
        });
        pacer.ordered = ordered;
        if pacing == Pacing::Off {
            pacer.departure = pacer.departure.min(now);
            let is_own = self.config.pacing || self.path.paces;
            self.pacer = self.pacer.filter(|_| is_own);
        }
        self.hold();
    }
}
