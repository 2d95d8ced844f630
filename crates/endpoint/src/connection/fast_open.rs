//! TCP Fast Open (RFC 7413): data in the SYN. Our SYN may carry data, which is sent again after the handshake if the
//! response does not acknowledge it; and the data of the other side's SYN may be accepted, after which data may be
//! sent before the handshake has ended. Comments name the functions of Linux 6.12 whose behaviour this follows.
//!
//! Cookies are the caller's: it says what our SYN or our response carries ([`FastOpen`]) and keeps what arrives
//! ([`Arrival::fast_open`]).

use midflight_tcp::Log;
use midflight_units::{Duration, Instant, Seq};

use super::{Connection, Over};
use crate::segment::{Arrival, Departure, FastOpenOption};

/// The use of TCP Fast Open on a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FastOpen {
    /// The option of our SYN or of our response to one.
    pub option: Option<FastOpenOption>,
    /// Our SYN carries the data that is written before it is sent, up to this many bytes.
    pub bytes: u64,
    /// The application writes as soon as the handshake has ended; that data has the handshake's ACK.
    pub writes_next: bool,
    /// The data of the other side's SYN is accepted, and data may be sent before the handshake ends.
    pub accepts: bool,
}

/// The state of a connection whose SYN has data.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EarlyData {
    /// Bytes of data that our SYN has carried.
    bytes: u64,
    /// Data below this byte was sent in segments that were larger.
    below: u64,
    response: Option<Response>,
    /// Our response must be sent again.
    again: bool,
    /// The data of the other side's SYN was accepted.
    taken: bool,
}

/// Our response to a SYN whose data was accepted, until it is acknowledged (`fastopen_rsk`).
#[derive(Clone, Copy, Debug)]
struct Response {
    sent: Instant,
    due: Instant,
    /// How long the first one waits, and how often it was sent again.
    timeout: Duration,
    timeouts: u32,
}

/// The longest timeout (`TCP_RTO_MAX`).
const LONGEST: Duration = Duration::from_secs(120);

impl EarlyData {
    pub(super) fn is_responding(&self) -> bool {
        self.response.is_some()
    }

    /// Data below this byte was sent in segments that were larger.
    pub(super) fn sent_below(&mut self, byte: u64) {
        self.below = byte;
    }
}

impl Connection {
    // ---- our SYN ------------------------------------------------------------------

    /// The application has written this many bytes for a SYN that has not been sent yet.
    pub fn write_before_opening(&mut self, bytes: u64) {
        self.stream.write(bytes, 1);
    }

    /// The first SYN or the first response to one: only that has the option and the data (tcp_send_syn_data()).
    pub(super) fn with_early_data(&mut self, now: Instant, syn: Departure) -> Departure {
        let option = self.settings.fast_open.option.clone();
        if self.connecting {
            self.early_data.bytes = self.settings.fast_open.bytes.min(self.stream.end() - 1);
        } else if self.settings.fast_open.accepts {
            // tcp_fastopen_create_child().
            let timeout = self.sender.view().rto;
            self.early_data.response = Some(Response {
                sent: now,
                due: self.sender.config().rto.clock.rings(now, timeout),
                timeout,
                timeouts: 0,
            });
            self.sender.open_early(now, &mut ());
        }
        Departure {
            to: syn.to + self.early_data.bytes,
            fast_open: option,
            ..syn
        }
    }

    /// Whether this ACK number acknowledges our SYN, and at most the data that it has carried.
    pub(super) fn is_of_syn(&self, ack: Option<u64>) -> bool {
        ack.is_some_and(|ack| (1..=1 + self.early_data.bytes).contains(&ack))
    }

    /// Whether a segment may be a response to our SYN (RFC 9293 section 3.10.7.3).
    pub(super) fn answers(&self, arrival: &Arrival) -> bool {
        match arrival.ack {
            Some(_) => self.is_of_syn(arrival.ack) && (arrival.syn || arrival.rst),
            None => arrival.syn && !arrival.rst,
        }
    }

    /// Bytes of our SYN's data that the response acknowledges.
    pub(super) fn early_data_arrived(&self, response: &Arrival) -> u64 {
        let arrived = response.ack.map_or(0, |ack| ack.saturating_sub(1));
        arrived.min(self.early_data.bytes)
    }

    /// Whether data follows the response with this ACK number at once: that which our SYN has carried in vain
    /// (tcp_rcv_fastopen_synack()), or that for which a call of the application waits (`sk_write_pending`).
    pub(super) fn data_follows(&self, ack: u64) -> bool {
        ack < 1 + self.early_data.bytes || self.settings.fast_open.writes_next
    }

    /// The response with this ACK number does not acknowledge all of our SYN's data, which is lost
    /// (tcp_rcv_fastopen_synack()).
    pub(super) fn lose_early_data<L: Log>(&mut self, ack: u64, log: &mut L) {
        let end = 1 + self.early_data.bytes;
        if ack < end && self.is_of_linux() {
            self.sender.lose_otherwise(self.stream.covering(end), log);
        }
    }

    /// A new segment that begins with this byte has data that our SYN has carried in vain (tcp_rcv_fastopen_synack()).
    pub(super) fn repeat_early_data(&mut self, segment: Seq, from: u64) {
        if from < 1 + self.early_data.bytes {
            self.sender.count_as_lost(segment);
        }
    }

    /// Whether these bytes were already sent, in our SYN or in larger segments.
    pub(super) fn was_sent(&self, from: u64, to: u64) -> bool {
        to > from && from < self.early_data.below.max(1 + self.early_data.bytes)
    }

    /// Bytes of data that our SYN has carried.
    pub fn early_bytes(&self) -> u64 {
        self.early_data.bytes
    }

    /// The data of a SYN has been accepted: all of ours by the other side, or that of the other side by us
    /// (`syn_data_acked`).
    pub fn has_early_data(&self) -> bool {
        let ours = self.early_data.bytes > 0 && !self.connecting;
        let all = self.stream.first_byte() > self.early_data.bytes;
        ours && all || self.early_data.taken
    }

    // ---- the other side's SYN --------------------------------------------------------

    /// Takes the data of the other side's SYN, which the response acknowledges (tcp_fastopen_add_skb()).
    pub(super) fn take_early_data(&mut self, now: Instant, syn: &Arrival) {
        if !self.settings.fast_open.accepts || syn.end() == 1 {
            return;
        }
        let data = Arrival {
            syn: false,
            from: 1,
            to: 1 + syn.to - syn.from,
            ..syn.clone()
        };
        self.take_data(now, &data);
        self.early_data.taken = true;
        self.receiver.piggyback(now);
        self.acks.clear();
    }

    /// When our response is sent again; none if it is acknowledged. Nothing else is sent again before that
    /// (tcp_retransmit_timer()).
    pub(super) fn response_timeout(&self) -> Option<Instant> {
        self.early_data.response.map(|response| response.due)
    }

    /// tcp_fastopen_synack_timer(). Returns whether our response is sent again.
    pub(super) fn respond_again_by<L: Log>(&mut self, now: Instant, log: &mut L) -> bool {
        let clock = self.sender.config().rto.clock;
        let Some(response) = self.early_data.response.as_mut().filter(|r| r.due <= now) else {
            return false;
        };
        response.timeouts += 1;
        let timeout = response.timeout * (1 << response.timeouts.min(16));
        response.due = clock.rings(now, timeout.min(LONGEST));
        let is_second = response.timeouts == 2;
        self.early_data.again = true;
        if is_second {
            self.sender.lose_early(now, log);
        }
        true
    }

    /// The other side has not received our response to its SYN, and sends that again (tcp_check_req()).
    pub(super) fn asks_again(&mut self, arrival: &Arrival) -> bool {
        let again = self.early_data.response.is_some() && arrival.syn && arrival.ack.is_none();
        self.early_data.again |= again;
        again
    }

    pub(super) fn response_again(&mut self) -> Option<Departure> {
        let again = std::mem::take(&mut self.early_data.again) || std::mem::take(&mut self.again);
        let is_due = again && self.over != Some(Over::Aborted);
        is_due.then(|| Departure {
            syn: true,
            retransmission: true,
            from: 0,
            to: 0,
            ece: self.congestion.agreed && !self.is_open_early(),
            ..self.bare()
        })
    }

    /// An ACK ends the handshake (tcp_rcv_synrecv_state_fastopen(), tcp_synack_rtt_meas()).
    pub(super) fn end_early_open<L: Log>(&mut self, now: Instant, log: &mut L) {
        let Some(response) = self.early_data.response.take() else {
            return;
        };
        let sent = Some(response.sent).filter(|_| response.timeouts == 0);
        self.sender.end_early_open(now, sent, log);
    }

    /// Data may be sent although our response to the SYN is not acknowledged yet.
    pub fn is_open_early(&self) -> bool {
        self.early_data.response.is_some()
    }
}
