//! Pacing: a burst is not sent earlier than the rate allows (tcp_pacing_check(),
//! tcp_update_skb_after_send()).
//!
//! After a burst the next one waits for the time of the burst's bytes at the rate. A late burst
//! shortens that by at most half, unless an order gives the rate. As with the queueing discipline
//! fq the first ten segments of a connection are not paced. Retransmissions after a timeout and
//! trains, which have their own gaps, do not wait, but the bursts after them do.
//!
//! The recovery of Linux asks the pacer at the start of each burst. Every other kind has bursts of
//! one segment, which are checked here. A sender without pacing does not reach this code
//! ([`Core::held`]).

use midflight_control::Pacing;
use midflight_units::{Duration, Instant, Rate};

use super::timers::Deadline;
use super::Core;
use crate::config::RecoveryKind;

/// Segments of data at the start that are not paced.
const UNPACED: u64 = 10;
const NANOS: u64 = 1_000_000_000;

/// The gate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pacer {
    /// When the next burst may leave; before anything was paced, when the last one has left (tcp_wstamp_ns).
    departure: Instant,
    /// When the burst under way counts as sent: later than it leaves, if a timer had it leave before its time.
    stamp: Instant,
    /// Segments of data that have left.
    sent: u64,
    /// A burst waits until then.
    wake: Option<Deadline>,
    /// The rate that an order gives, of what is on the wire, and until when it holds.
    ordered: Option<(Rate, Option<Instant>)>,
}

impl Pacer {
    /// How long this many bytes of data take at the sender's own rate, in bytes a second.
    fn takes(&self, bytes: u64, rate: u64) -> u64 {
        if rate == 0 || self.sent < UNPACED {
            return 0;
        }
        (u128::from(bytes * NANOS) / u128::from(rate)) as u64
    }

    /// And this many on the wire at the rate that is ordered.
    fn takes_by_order(&self, now: Instant, bytes: u64) -> u64 {
        let ordered = self.ordered_at(now);
        ordered.map_or(0, |rate| rate.transmission_time(bytes).as_nanos())
    }

    /// The rate that an order gives, if it is in force.
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

    /// The sender's own rate is in force, not an ordered one.
    fn own_rate(&self) -> u64 {
        if self.config.pacing || self.path.paces {
            self.path.pacing_rate
        } else {
            0
        }
    }

    /// The rate at which segments leave, in bits of data a second: the sender's own, or a lower one that an order gives.
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

    /// tcp_update_pacing_rate(), with this many segments out: a rate of bytes of data a second.
    pub(crate) fn update_pacing_rate(&mut self, out: u64) {
        let Some(srtt) = self.path.rto.srtt().filter(|_| !self.path.paces) else {
            return;
        };
        let srtt_x8 = (srtt.as_nanos() * 8 / 1000).max(1);
        let percent = if self.cwnd() < (self.ssthresh() as u64 / 2) as f64 {
            200
        } else {
            120
        };
        let out = (self.cwnd() as u64).max(out);
        let bytes = self.sizes.full();
        // A policy may lift the window altogether; such a rate limits nothing.
        self.path.pacing_rate = (bytes * 10_000 * 8 * percent).saturating_mul(out) / srtt_x8;
    }

    /// Whether the next burst has to wait; the caller is woken when it may leave. The timer of
    /// Linux that runs for an earlier burst runs on.
    #[inline]
    pub(crate) fn gate_is_closed(&mut self) -> bool {
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

    /// The kind of recovery, which paces by itself, waits until then.
    pub(crate) fn wait_for_gate(&mut self, until: Instant) {
        let now = self.now;
        if let Some(pacer) = &mut self.pacer {
            pacer.wake = Some((until, now));
        }
    }

    /// A burst of this many segments and bytes of data is sent, even if the gate is closed; returns the instant that
    /// counts as its sending time.
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

    /// When the next burst may leave, or when the last one has left.
    pub(crate) fn departure_of_burst(&self) -> Instant {
        let last = self.books.last_sent();
        self.pacer.map_or(last, |pacer| pacer.departure)
    }

    /// When a segment that leaves now counts as sent.
    pub(crate) fn stamp(&self) -> Instant {
        self.pacer
            .map_or(self.now, |pacer| pacer.stamp.max(self.now))
    }

    /// How long a timer waits in addition, for the gate to open (tcp_pacing_delay()).
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

    /// When the gate opens, if a burst waits for that.
    pub(super) fn gate(&self) -> Option<Deadline> {
        self.pacer.and_then(|pacer| pacer.wake)
    }

    /// Whether nothing comes before that.
    pub(crate) fn gate_is_next(&self) -> bool {
        let gate = self.gate().map(|(due, _)| due);
        gate.is_some() && gate == self.held_deadline().map(|(due, _)| due)
    }

    /// Whether the gate has opened for a burst that waits; once.
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

    /// The controller gives a rate, in segments a second; none for 0.
    pub(super) fn pace_by_controller(&mut self, per_second: f64) {
        self.path.paces = per_second > 0.0;
        self.path.pacing_rate = (per_second * f64::from(self.config.payload_bytes())) as u64;
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

    /// Carries out an order to pace.
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
