//! Segments in relative sequence numbers, which count bytes from the SYN and do not wrap. The other
//! side's timestamps are increasing numbers.

use midflight_control::quick_start::Request;
use midflight_tcp::{AckOption, SegmentOption};
use midflight_units::Instant;

/// The option of TCP Fast Open (RFC 7413 section 4.1.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FastOpenOption {
    /// The cookie; an empty one requests a cookie.
    pub cookie: Vec<u8>,
    /// It has the experimental kind 254 (RFC 6994) with the magic number 0xF989.
    pub is_experimental: bool,
}

/// A segment of the other side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// SYN.
    pub syn: bool,
    /// FIN.
    pub fin: bool,
    /// RST.
    pub rst: bool,
    /// PSH.
    pub push: bool,
    /// ECE and CWR (RFC 3168 section 6.1).
    pub ece: bool,
    /// See [`Self::ece`].
    pub cwr: bool,
    /// The urgent pointer, if the segment has URG (RFC 9293 section 3.8.5).
    pub urgent: Option<u64>,
    /// Its IP header has a CE mark (RFC 3168 section 5).
    pub congested: bool,
    /// First byte of its data.
    pub from: u64,
    /// One past its data, without the FIN.
    pub to: u64,
    /// Its ACK number.
    pub ack: Option<u64>,
    /// Window, as the header carries it.
    pub window: u64,
    /// Maximum segment size.
    pub mss: Option<u64>,
    /// Window scale.
    pub window_scale: Option<u64>,
    /// SACK may be sent.
    pub sack_permitted: bool,
    /// Value of its timestamp.
    pub timestamp: Option<u64>,
    /// When the segment was sent whose timestamp it echoes.
    pub echo: Option<Instant>,
    /// SACK blocks: the first byte and one past the last.
    pub sack: Vec<(u64, u64)>,
    /// Further content of its ACK.
    pub option: AckOption,
    /// It requests a rate.
    pub request: Option<Request>,
    /// The option of TCP Fast Open.
    pub fast_open: Option<FastOpenOption>,
}

impl Arrival {
    /// One past its part of the sequence space.
    pub(crate) fn end(&self) -> u64 {
        self.to + u64::from(self.syn) + u64::from(self.fin)
    }

    /// Its timestamp in the form for the receiver: only the order matters.
    pub(crate) fn stamp(&self) -> Instant {
        Instant::from_nanos(self.timestamp.unwrap_or(0))
    }
}

/// A segment of ours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Departure {
    /// SYN.
    pub syn: bool,
    /// FIN.
    pub fin: bool,
    /// RST.
    pub rst: bool,
    /// ECE and CWR (RFC 3168 section 6.1).
    pub ece: bool,
    /// See [`Self::ece`].
    pub cwr: bool,
    /// The urgent pointer, if the segment has URG (RFC 9293 section 3.8.5).
    pub urgent: Option<u64>,
    /// Its IP header has ECT(0), so that it may be marked instead of dropped (RFC 3168 section 5).
    pub ect: bool,
    /// It is a retransmission.
    pub retransmission: bool,
    /// First byte of its data.
    pub from: u64,
    /// One past its data, without SYN and FIN.
    pub to: u64,
    /// ACK number.
    pub ack: Option<u64>,
    /// Window in bytes, not scaled.
    pub window: u64,
    /// Echo of the other side's timestamp, if timestamps are in use.
    pub echo: Option<u64>,
    /// SACK blocks.
    pub sack: Vec<(u64, u64)>,
    /// Further content of its ACK.
    pub ack_option: AckOption,
    /// Its content besides data.
    pub option: Option<SegmentOption>,
    /// The option of TCP Fast Open.
    pub fast_open: Option<FastOpenOption>,
}
