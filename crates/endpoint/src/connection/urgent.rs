//! Urgent data (RFC 9293 section 3.8.5, RFC 6093) as in Linux 6.12, whose functions the comments name: one byte, which is not
//! part of the other data. The pointer is that of BSD, one past the byte, unless
//! `net.ipv4.tcp_stdurg` is 1.

use super::Connection;
use crate::segment::Arrival;

/// The byte of the other side that is urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Byte {
    at: u64,
    has_arrived: bool,
    was_read: bool,
}

/// Urgent data in both directions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Urgent {
    /// One past our urgent byte (SND.UP); 0 for none.
    sent: u64,
    /// The other side's.
    heard: Option<Byte>,
}

/// The state of the other side's urgent data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrgentByte {
    /// There is none, or it has been read.
    Nothing,
    /// It is announced, and has not arrived.
    Expected,
    /// It can be read.
    Here,
}

impl Connection {
    /// The last byte that was written is urgent (tcp_mark_urg()).
    pub fn mark_urgent(&mut self) {
        self.urgent.sent = self.stream.end();
    }

    /// There is urgent data of ours that is not acknowledged (tcp_urg_mode()).
    pub(super) fn has_urgent(&self) -> bool {
        self.urgent.sent > self.acknowledged()
    }

    /// The urgent pointer of a segment that starts at this byte (__tcp_transmit_skb()).
    pub(super) fn urgent_pointer(&self, from: u64) -> Option<u64> {
        let is_before = self.has_urgent() && from < self.urgent.sent;
        is_before.then(|| (self.urgent.sent - from).min(0xffff))
    }

    /// tcp_urg(), tcp_check_urg().
    pub(super) fn take_urgent(&mut self, arrival: &Arrival) {
        if let Some(pointer) = arrival.urgent {
            let before = u64::from(!self.settings.standard_urgent);
            let at = arrival.from + pointer.saturating_sub(before);
            let is_read = at < 1 + self.read || at < self.receiver.next();
            let is_newer = self.urgent.heard.is_none_or(|byte| at > byte.at);
            if !is_read && is_newer {
                self.urgent.heard = Some(Byte {
                    at,
                    has_arrived: false,
                    was_read: false,
                });
            }
        }
        if let Some(byte) = &mut self.urgent.heard {
            byte.has_arrived |= (arrival.from..arrival.to).contains(&byte.at);
        }
    }

    /// The other side's urgent byte.
    pub fn urgent_byte(&self) -> UrgentByte {
        match self.urgent.heard {
            Some(byte) if byte.was_read => UrgentByte::Nothing,
            Some(byte) if byte.has_arrived => UrgentByte::Here,
            Some(_) => UrgentByte::Expected,
            None => UrgentByte::Nothing,
        }
    }

    /// The application reads the urgent byte (tcp_recv_urg()).
    pub fn read_urgent(&mut self) {
        if let Some(byte) = &mut self.urgent.heard {
            byte.was_read = true;
        }
    }

    /// How many bytes that can be read come before the urgent one; none if there is none among them
    /// (tcp_recvmsg_locked()).
    pub fn before_urgent(&self) -> Option<u64> {
        let byte = self.urgent.heard?;
        let next = 1 + self.read;
        (next..self.receiver.next())
            .contains(&byte.at)
            .then(|| byte.at - next)
    }
}
