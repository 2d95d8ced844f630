//! What a caller may ask a connection.

use midflight_tcp::{Receiver, Sender};

use super::{Connection, Over, Settings};
use crate::stream::Stream;

impl Connection {
    /// The handshake is done.
    pub fn is_established(&self) -> bool {
        self.sender.view().snd_una > 0
    }

    /// Bytes of data and options of a segment that both sides take.
    pub fn agreed_bytes(&self) -> u64 {
        self.agreed_bytes
    }

    /// The other side has no more to send, and all of its data has arrived.
    pub fn has_ended(&self) -> bool {
        self.end.is_some_and(|end| self.receiver.next() > end)
    }

    /// The connection was reset, by the other side or by this side.
    pub fn is_reset(&self) -> bool {
        self.over.is_some()
    }

    /// Why it ended early, if it did.
    pub fn over(&self) -> Option<Over> {
        self.over
    }

    /// Bytes that have arrived in order and have not been read.
    pub fn unread(&self) -> u64 {
        let fin = u64::from(self.has_ended());
        (self.receiver.next().max(1) - 1 - fin).saturating_sub(self.read)
    }

    /// Explicit congestion notification was negotiated.
    pub fn has_ecn(&self) -> bool {
        self.congestion.agreed
    }

    /// Both sides have closed, everything is acknowledged, and TIME-WAIT is over; or it was reset.
    pub fn is_done(&self) -> bool {
        if let Some(over) = self.over {
            return over != Over::Aborting && self.refusal.is_none();
        }
        let waits = self.time_wait_until.is_some() || !self.acks.is_empty();
        self.is_closed_both_ways() && !waits
    }

    pub(super) fn is_closed_both_ways(&self) -> bool {
        let all = self.sender.view().snd_una >= self.stream.segments_end();
        self.stream.is_closed() && all && self.has_ended()
    }

    /// Linux's number of its state (include/net/tcp_states.h; RFC 9293 section 3.3.2).
    pub fn state_number(&self) -> u8 {
        let sent_all = self.sender.view().snd_una >= self.stream.segments_end();
        match (self.stream.is_closed(), self.has_ended()) {
            _ if self.over.is_some() => 7,
            _ if self.connecting => 2,
            (false, _) if !self.is_established() || self.is_open_early() => 3,
            (false, false) => 1,
            (false, true) => 8,
            (true, false) if sent_all => 5,
            (true, false) => 4,
            (true, true) if sent_all && self.time_wait_until.is_some() => 6,
            (true, true) if sent_all => 7,
            (true, true) if self.closes_first => 11,
            (true, true) => 9,
        }
    }

    /// Only the other side's window keeps data from being sent: the congestion window has room (tcp_write_xmit(),
    /// is_rwnd_limited).
    pub fn is_limited_by_peer(&self) -> bool {
        let view = self.sender.view();
        let waits = self.is_established() && view.snd_max < self.stream.segments_end();
        let has_room = (view.flight_size() as f64) < view.cwnd.floor();
        waits && has_room && self.window_end() <= view.snd_max
    }

    /// The window scale of the other side; 0 if there is none.
    pub fn scale(&self) -> u64 {
        self.shift
    }

    /// Bytes of data and options that the path takes.
    pub fn path_bytes(&self) -> u64 {
        self.path_bytes
    }

    /// SACK was negotiated, or is offered.
    pub fn has_sack(&self) -> bool {
        self.sack
    }

    /// Timestamps were negotiated, or are offered.
    pub fn has_timestamps(&self) -> bool {
        self.timestamps
    }

    /// Window scaling was negotiated, or is offered.
    pub fn has_window_scaling(&self) -> bool {
        self.window_scaling
    }

    /// Our SYN has no response yet.
    pub fn is_connecting(&self) -> bool {
        self.connecting
    }

    /// The window that the other side has advertised, in bytes.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// The next expected byte; all bytes before it have arrived.
    pub fn received(&self) -> u64 {
        self.receiver.next()
    }

    /// The other side's last timestamp (TS.Recent); 0 before the first.
    pub fn recent(&self) -> u64 {
        self.receiver.ts_recent().as_nanos()
    }

    /// Bytes that the application has written and that have not been sent.
    pub fn unsent_bytes(&self) -> u64 {
        let end = self.stream.end();
        let sent = self.stream.byte_of(self.sender.view().snd_max);
        end - sent.max(1 + self.early_bytes()).min(end)
    }

    /// Data or a FIN waits or is not acknowledged (TCP_CHRONO_BUSY).
    pub fn is_busy(&self) -> bool {
        self.is_established() && self.sender.view().snd_una < self.stream.segments_end()
    }

    /// Bytes that the application has written and that have not been acknowledged.
    pub fn unacknowledged_bytes(&self) -> u64 {
        let (stream, una) = (&self.stream, self.sender.view().snd_una);
        let fin = u64::from(stream.is_closed());
        (stream.end() - fin).saturating_sub(stream.byte_of(una).max(self.una).max(1))
    }

    /// One past the last byte that is acknowledged, which may lie within a segment.
    pub fn acknowledged(&self) -> u64 {
        self.una
            .max(self.stream.byte_of(self.sender.view().snd_una))
    }

    /// The receiver.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The sender.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The data that the application has written, in segments.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }
}
