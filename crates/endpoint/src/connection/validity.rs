//! What Linux 6.12 does with a segment of a connection that is not open yet, or not any more, and how often it answers
//! a segment that it does not take. Comments name the kernel's functions.

use midflight_units::{Duration, Instant};

use super::{Connection, Departure, Over};
use crate::segment::Arrival;

/// How long a connection stays in TIME-WAIT (`TCP_TIMEWAIT_LEN`), and in FIN-WAIT-2 after a close
/// (`net.ipv4.tcp_fin_timeout`).
const TIME_WAIT: Duration = Duration::from_secs(60);

/// The counts and instants that these rules need.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Validity {
    /// When a segment that is not taken was last answered (`last_oow_ack_time`).
    answered: Option<Instant>,
    /// The last ACK number that was sent (`rcv_wup`).
    pub(super) acknowledged: u64,
    /// The response to the other side's SYN has an ACK that is not taken yet (`acked` of `struct inet_request_sock`).
    deferred: bool,
    /// How often the timer of that response has expired (`num_timeout`).
    timeouts: u32,
    /// When TIME-WAIT began, or FIN-WAIT-2 of a connection that the application has closed.
    time_wait: Option<Instant>,
    half_closed: Option<Instant>,
    /// Both sides have sent a SYN.
    crossed: bool,
}

/// An RST that answers a segment of no connection (RFC 9293 section 3.10.7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its sequence number.
    pub from: u64,
    /// Its ACK number.
    pub ack: Option<u64>,
}

impl Refusal {
    /// The answer to this segment; none to an RST.
    pub fn of(arrival: &Arrival) -> Option<Self> {
        if arrival.rst {
            return None;
        }
        Some(match arrival.ack {
            Some(from) => Self { from, ack: None },
            None => Self {
                from: 0,
                ack: Some(arrival.end()),
            },
        })
    }

    pub(super) fn departure(self) -> Departure {
        Departure {
            rst: true,
            from: self.from,
            to: self.from,
            ack: self.ack,
            ..Departure::default()
        }
    }
}

impl Connection {
    /// Whether a segment that is not taken is answered: one without data at most once in
    /// `net.ipv4.tcp_invalid_ratelimit` (tcp_oow_rate_limited()). `is_challenge`: also one with data
    /// (tcp_send_challenge_ack()).
    pub(super) fn may_answer(
        &mut self,
        now: Instant,
        arrival: &Arrival,
        is_challenge: bool,
    ) -> bool {
        if !self.is_of_linux() {
            return true;
        }
        if !is_challenge && arrival.end() > arrival.from && !arrival.syn {
            return true;
        }
        let pause = self.settings.answer_pause;
        let recently = self.validity.answered.filter(|&at| now.since(at) < pause);
        if recently.is_some() {
            return false;
        }
        self.validity.answered = Some(now);
        true
    }

    /// An ACK that challenges the other side (RFC 5961, tcp_send_challenge_ack()).
    pub(super) fn challenge(&mut self, now: Instant, arrival: &Arrival) {
        if self.may_answer(now, arrival, true) {
            self.acknowledge_again();
        }
    }

    // ---- before the handshake ends -----------------------------------------------------

    /// The other side's SYN has been answered, and nothing of it is known to have arrived (`struct request_sock`).
    fn is_request(&self) -> bool {
        let is_open = self.connecting || self.is_established() || self.is_open_early();
        self.is_of_linux() && !is_open && !self.validity.crossed
    }

    /// Both sides have sent a SYN (tcp_rcv_synsent_state_process()).
    pub(super) fn note_crossed(&mut self) {
        self.validity.crossed = true;
    }

    pub(super) fn has_crossed(&self) -> bool {
        self.validity.crossed
    }

    /// The SYN-ACK of a connection on which both SYNs have crossed (tcp_validate_incoming()): the segment as an ACK.
    pub(super) fn uncrossed(&self, arrival: &Arrival) -> Option<Arrival> {
        let is_one = self.validity.crossed
            && self.is_of_linux()
            && !self.is_established()
            && arrival.syn
            && arrival.to == arrival.from
            && arrival.ack == Some(1);
        is_one.then(|| Arrival {
            syn: false,
            from: 1,
            to: 1,
            ..arrival.clone()
        })
    }

    /// tcp_check_req(): a segment before the handshake has ended. Returns whether it has been dealt with.
    pub(super) fn check_request(&mut self, now: Instant, arrival: &Arrival) -> bool {
        if !self.is_request() {
            return false;
        }
        let is_old = self.timestamps
            && arrival.timestamp.is_some()
            && arrival.stamp() < self.receiver.ts_recent();
        if arrival.syn && arrival.ack.is_none() && !arrival.rst && !is_old {
            // The SYN again: so is the response.
            self.again |= self.may_answer(now, arrival, false);
            return true;
        }
        if arrival.ack.is_some_and(|ack| ack != 1) {
            self.refusal = Refusal::of(arrival);
            return true;
        }
        let next = self.receiver.next();
        let (from, end) = (arrival.from, arrival.end());
        let edge = self.receive_edge();
        // tcp_in_window().
        let in_window = from == next || from < edge && end > next || from == edge && from == end;
        if is_old || !in_window {
            if !arrival.rst && self.may_answer(now, arrival, false) {
                self.acknowledge_again();
            }
            return true;
        }
        if arrival.rst || arrival.syn {
            self.refusal = Refusal::of(arrival);
            self.over = Some(Over::Reset);
            return true;
        }
        if arrival.ack.is_none() {
            return true;
        }
        // TCP_DEFER_ACCEPT: an ACK without data does not end the handshake.
        let waits = self.validity.timeouts < self.settings.deferred_timeouts;
        if waits && end == next {
            self.validity.deferred = true;
            return true;
        }
        self.validity.deferred = false;
        false
    }

    /// The timer of the response to the other side's SYN has expired; returns whether the response is not sent again
    /// because its ACK waits for data (syn_ack_recalc()).
    pub(super) fn defers_response(&mut self) -> bool {
        if !self.is_request() {
            return false;
        }
        let before = self.validity.timeouts;
        self.validity.timeouts += 1;
        self.validity.deferred && before + 1 < self.settings.deferred_timeouts
    }

    /// The response has been sent again often enough (syn_ack_recalc()).
    pub(super) fn has_responded_often(&self) -> bool {
        let Validity {
            timeouts, deferred, ..
        } = self.validity;
        let is_over = !deferred || timeouts >= self.settings.deferred_timeouts;
        self.is_request() && timeouts >= self.settings.response_retries && is_over
    }

    // ---- after the connection has ended --------------------------------------------------

    /// Notes when the connection enters TIME-WAIT, or FIN-WAIT-2 with nobody to read (tcp_time_wait()).
    pub(super) fn note_end(&mut self, now: Instant, first: bool) {
        if !self.is_of_linux() || self.over.is_some() {
            return;
        }
        if first {
            self.validity.time_wait = Some(now);
        }
        let is_half = self.deaf && self.is_finished() && !self.has_ended();
        if is_half {
            self.validity.half_closed.get_or_insert(now);
        }
    }

    /// Our FIN is acknowledged.
    fn is_finished(&self) -> bool {
        let all = self.sender.view().snd_una >= self.stream.segments_end();
        self.stream.is_closed() && all
    }

    /// tcp_fin_time().
    fn half_closed_time(&self) -> Duration {
        let rto = self.sender.view().rto;
        let least = Duration::from_nanos(rto.as_nanos() * 7 / 2);
        self.settings.fin_timeout.unwrap_or(TIME_WAIT).max(least)
    }

    /// Our FIN is acknowledged by this segment or was before, and the connection does not wait for the other one (TCP_LINGER2
    /// below zero): tcp_rcv_state_process() with a segment, __tcp_close() without one.
    pub(super) fn end_half_closed(&mut self, arrival: Option<&Arrival>) {
        let is_half = self.deaf && self.is_finished() && !self.has_ended();
        if !self.settings.ends_half_closed || !is_half || self.over.is_some() {
            return;
        }
        self.over = Some(match arrival {
            Some(arrival) => {
                self.refusal = Refusal::of(arrival);
                Over::Aborted
            }
            None => Over::Aborting,
        });
    }

    /// A segment after both sides have closed, or of a connection that the application has closed and forgotten
    /// (tcp_timewait_state_process()). Returns whether it has been dealt with.
    pub(super) fn check_end(&mut self, now: Instant, arrival: &Arrival) -> bool {
        if !self.is_of_linux() {
            return false;
        }
        let half = self.validity.half_closed;
        if half.is_some_and(|since| now > since + self.half_closed_time()) && !self.has_ended() {
            self.over = Some(Over::Aborted);
            self.refusal = Refusal::of(arrival);
            return true;
        }
        if !self.is_closed_both_ways() {
            return false;
        }
        let has_ended = self
            .validity
            .time_wait
            .is_none_or(|at| now > at + TIME_WAIT);
        if has_ended {
            // tcp_done(): there is no such connection any more.
            self.over = Some(Over::Aborted);
            self.refusal = Refusal::of(arrival);
            return true;
        }
        // tcp_paws_reject() without its exception for an RST: the age of the last timestamp is not kept.
        let next = self.receiver.next();
        let is_old = self.timestamps
            && arrival.timestamp.is_some()
            && arrival.stamp() < self.receiver.ts_recent();
        let is_bare = arrival.from == next && (arrival.end() == arrival.from || arrival.rst);
        if !is_old && is_bare {
            if arrival.rst {
                if !self.settings.keeps_time_wait {
                    self.over = Some(Over::Aborted);
                }
            } else {
                self.validity.time_wait = Some(now);
            }
            return true;
        }
        if !arrival.rst {
            if is_old || arrival.ack.is_some() {
                self.validity.time_wait = Some(now);
            }
            if self.may_answer(now, arrival, false) {
                self.plain_acks += 1;
            }
        }
        true
    }
}
