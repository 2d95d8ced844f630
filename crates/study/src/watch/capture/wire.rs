//! Segments and ACKs as bytes of IPv4 and TCP.
//!
//! Segment 0 is the SYN; segment n carries the n-th piece of the stream, all of
//! one size, so that a segment number times that size is a sequence number. The
//! payload is zeros. Both initial sequence numbers are 0. With SACK blocks a
//! header is 4 bytes longer than what the simulated links count: the option's
//! kind, its length and padding.

use etherparse::{IpNumber, Ipv4Header, Ipv4Options, TcpHeader};
use midflight_control::estimate::Estimate;
use midflight_control::quick_start::{Nonce, RateCode, Request, Response};
use midflight_control::signal::HandoverMark;
use midflight_sim::FlowId;
use midflight_tcp::{Ack, Profile, Says, Segment, SegmentOption, TrainMark};
use midflight_units::{Instant, Rate, Seq};

use crate::error::StudyError;

/// Bytes of IPv4 and TCP headers without options.
const HEADERS: u32 = 40;
/// Bytes of options that a TCP header has room for (RFC 9293 section 3.1).
const MOST_OPTIONS: usize = 40;
/// Largest shift of a window (RFC 7323 section 2.3).
const MOST_SHIFT: u8 = 14;
/// Bytes of a segment to which a rate request (8) or a place in a train (12) may be added.
const MOST_BYTES: u32 = u16::MAX as u32 - 20;
const TTL: u8 = 64;
/// Discard (RFC 863): the receiver does nothing with what it gets.
const RECEIVER_PORT: u16 = 9;
/// Of the first flow's sender.
const FIRST_PORT: u16 = 49_152;
const SENDER_ADDRESS: [u8; 4] = [10, 0, 0, 1];

const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
/// RFC 4782 section 4.2.
const QUICK_START_RESPONSE: u8 = 27;
/// The IP option of RFC 4782 section 3.1, and its function for a report.
const QUICK_START: u8 = 25;
const REPORT: u8 = 8;
/// For experiments (RFC 6994); the identifiers after it are ours and not registered.
const EXPERIMENT: u8 = 253;
const HANDOVER_MARK: u16 = 0x4D46;
const TRAIN: u16 = 0x4D47;
const ESTIMATE: u16 = 0x4D48;

/// How the packets of a run look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire {
    payload: u32,
    mss: u16,
    /// Of the receiver, in bytes.
    window: u32,
    shift: u8,
    sack: bool,
    timestamps: bool,
}

/// What is known of an ACK beside the ACK itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AckSent {
    /// When the receiver sent it.
    pub(super) at: Instant,
    /// It acknowledges the SYN, and has the receiver's own.
    pub(super) syn: bool,
}

/// A packet: its headers, and how many zeros follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    pub(super) headers: Vec<u8>,
    pub(super) payload: u32,
    /// SACK blocks that the header has no room for.
    pub(super) blocks_left_out: usize,
}

/// Bytes of data in a full segment; none if headers leave no room for any.
pub(crate) fn payload_bytes(profile: &Profile) -> Option<u32> {
    let options = if profile.receiver.timestamps { 12 } else { 0 };
    let payload = profile.sender.segment_bytes.checked_sub(HEADERS + options);
    payload.filter(|&payload| payload > 0)
}

impl Wire {
    /// The wire of senders and receivers of this profile.
    ///
    /// # Errors
    /// [`StudyError::Range`] when segments have no room for data.
    pub(super) fn new(profile: &Profile) -> Result<Self, StudyError> {
        let (tx, rx) = (&profile.sender, &profile.receiver);
        let payload = payload_bytes(profile);
        let (Some(payload), ..=MOST_BYTES) = (payload, tx.segment_bytes) else {
            return Err(StudyError::Range {
                what: "segment_bytes of a run to capture",
                value: tx.segment_bytes.to_string(),
                accepted: "what headers leave room for and an IP packet holds: 41 to 65515, with timestamps from 53",
            });
        };
        let window = tx.receiver_window.saturating_mul(u64::from(payload));
        let fits = |shift: &u8| u16::try_from(window >> shift).is_ok();
        let shift = (0..=MOST_SHIFT).find(fits).unwrap_or(MOST_SHIFT);
        Ok(Self {
            payload,
            mss: (tx.segment_bytes - HEADERS) as u16,
            window: window.min(u64::from(u16::MAX) << shift) as u32,
            shift,
            sack: rx.sack_blocks > 0,
            timestamps: rx.timestamps,
        })
    }

    /// The sequence number of a segment's first byte.
    fn byte_of(&self, segment: Seq) -> u32 {
        match segment.checked_sub(1) {
            None => 0,
            Some(before) => (before as u32).wrapping_mul(self.payload).wrapping_add(1),
        }
    }

    /// A segment; `heard` is the last timestamp that its sender has got.
    pub(super) fn segment(
        &self,
        flow: FlowId,
        segment: &Segment,
        heard: Option<Instant>,
    ) -> Packet {
        let is_syn = segment.seq == 0 && !segment.probe;
        let seq = if segment.probe {
            // One below what is next, without data: it was acknowledged.
            self.byte_of(segment.seq + 1).wrapping_sub(1)
        } else {
            self.byte_of(segment.seq)
        };
        let mut header = TcpHeader::new(port(flow), RECEIVER_PORT, seq, u16::MAX);
        let mut options = Vec::new();
        if is_syn {
            header.syn = true;
            self.offer(&mut options, 0);
        } else {
            header.ack = true;
            header.acknowledgment_number = 1;
        }
        if self.timestamps {
            push_timestamps(&mut options, segment.sent, heard.unwrap_or(Instant::ZERO));
        }
        let mut of_ip = Vec::new();
        match segment.option {
            Some(SegmentOption::Train(mark)) => push_train(&mut options, mark),
            Some(SegmentOption::Request(request)) => {
                let Request { rate, qs_ttl, .. } = request;
                push_rate(&mut of_ip, 0, rate, qs_ttl, request.nonce);
            }
            Some(SegmentOption::Report(rate, nonce)) => {
                push_rate(&mut of_ip, REPORT, rate, 0, nonce);
            }
            None => {}
        }
        let payload = if is_syn || segment.probe {
            0
        } else {
            self.payload
        };
        let ttl = match segment.option {
            Some(SegmentOption::Request(request)) => request.ip_ttl,
            _ => TTL,
        };
        let ip = (ttl, &of_ip[..]);
        Packet::new(
            header,
            &options,
            ip,
            payload,
            [SENDER_ADDRESS, receiver(flow)],
        )
    }

    /// An ACK.
    pub(super) fn ack(&self, flow: FlowId, ack: &Ack, sent: AckSent) -> Packet {
        let window = match ack.says {
            Says::ZeroWindow => 0,
            _ => self.window,
        };
        let shift = if sent.syn { 0 } else { self.shift };
        let field = window.div_ceil(1 << shift).min(u32::from(u16::MAX)) as u16;
        let seq = u32::from(!sent.syn);
        let mut header = TcpHeader::new(RECEIVER_PORT, port(flow), seq, field);
        header.syn = sent.syn;
        header.ack = true;
        header.acknowledgment_number = self.byte_of(ack.ack);
        let mut options = Vec::new();
        if sent.syn {
            self.offer(&mut options, self.shift);
        }
        if let Some(echo) = ack.echo {
            push_timestamps(&mut options, sent.at, echo);
        }
        match ack.says {
            Says::Moved(mark) => push_mark(&mut options, mark),
            Says::Measured { train, rate } => {
                push_estimate(&mut options, Estimate { train, rate });
            }
            Says::Approved(Response {
                rate,
                ttl_diff,
                nonce,
            }) => {
                options.extend([QUICK_START_RESPONSE, 8, rate.code(), ttl_diff]);
                options.extend((nonce.bits() << 2).to_be_bytes());
            }
            Says::Nothing | Says::ZeroWindow => {}
        }
        let room = (MOST_OPTIONS - options.len()).saturating_sub(4) / 8;
        let blocks: Vec<_> = ack.sack.iter(ack.ack).collect();
        // A SYN has none (RFC 2018 section 2): what it would say is in no option yet agreed on.
        let blocks = if sent.syn { Vec::new() } else { blocks };
        let kept = blocks.len().min(room);
        if kept > 0 {
            options.extend([NOP, NOP, SACK, 2 + 8 * kept as u8]);
            for block in &blocks[..kept] {
                options.extend(self.byte_of(block.left).to_be_bytes());
                options.extend(self.byte_of(block.right).to_be_bytes());
            }
        }
        let mut packet = Packet::new(
            header,
            &options,
            (TTL, &[]),
            0,
            [receiver(flow), SENDER_ADDRESS],
        );
        packet.blocks_left_out = blocks.len() - kept;
        packet
    }

    /// What a SYN offers.
    fn offer(&self, options: &mut Vec<u8>, shift: u8) {
        options.extend([MSS, 4]);
        options.extend(self.mss.to_be_bytes());
        options.extend([NOP, WINDOW_SCALE, 3, shift]);
        if self.sack {
            options.extend([NOP, NOP, SACK_PERMITTED, 2]);
        }
    }
}

impl Packet {
    fn new(
        mut tcp: TcpHeader,
        options: &[u8],
        (ttl, of_ip): (u8, &[u8]),
        payload: u32,
        [from, to]: [[u8; 4]; 2],
    ) -> Self {
        // What is put together above fits: 4 + 4 + 4 + 12 + 8 on a SYN, and blocks by what room there is.
        let fits = tcp.set_options_raw(options);
        debug_assert!(fits.is_ok(), "{} bytes of options", options.len());
        let data = vec![0; payload as usize];
        tcp.checksum = tcp.calc_checksum_ipv4_raw(from, to, &data).unwrap_or(0);
        let length = tcp.header_len_u16() + payload as u16;
        let mut headers = Vec::with_capacity(80);
        // It does: no segment is larger than `MOST_BYTES`.
        if let Ok(mut ip) = Ipv4Header::new(length, ttl, IpNumber::TCP, from, to) {
            ip.dont_fragment = true;
            if let Ok(options) = Ipv4Options::try_from(of_ip) {
                ip.options = options;
                ip.total_len += of_ip.len() as u16;
            }
            ip.header_checksum = ip.calc_header_checksum();
            headers.extend(ip.to_bytes());
        }
        headers.extend(tcp.to_bytes());
        Self {
            headers,
            payload,
            blocks_left_out: 0,
        }
    }
}

/// The port of a flow's sender.
fn port(flow: FlowId) -> u16 {
    FIRST_PORT.wrapping_add(flow.index() as u16).max(1024)
}

/// The address of a flow's receiver.
fn receiver(flow: FlowId) -> [u8; 4] {
    (0x0A01_0001 + flow.index() as u32).to_be_bytes()
}

/// Clocks tick in milliseconds (RFC 7323 section 5.4).
fn clock(at: Instant) -> [u8; 4] {
    ((at.as_nanos() / 1_000_000) as u32).to_be_bytes()
}

fn push_timestamps(options: &mut Vec<u8>, value: Instant, echo: Instant) {
    options.extend([NOP, NOP, TIMESTAMPS, 10]);
    options.extend(clock(value));
    options.extend(clock(echo));
}

/// An IP option of Quick-Start (RFC 4782 section 3.1, figures 3 and 4).
fn push_rate(options: &mut Vec<u8>, function: u8, rate: RateCode, qs_ttl: u8, nonce: Nonce) {
    options.extend([QUICK_START, 8, function << 4 | rate.code(), qs_ttl]);
    options.extend((nonce.bits() << 2).to_be_bytes());
}

/// The train's number, the segment's place in it from 0, and how many it has.
fn push_train(options: &mut Vec<u8>, mark: TrainMark) {
    options.extend([NOP, NOP, EXPERIMENT, 10]);
    for field in [TRAIN, mark.number, mark.index, mark.segments] {
        options.extend(field.to_be_bytes());
    }
}

/// The train's number and the rate in bit/s, 6 bytes; 0 when segments were lost.
fn push_estimate(options: &mut Vec<u8>, estimate: Estimate) {
    options.extend([EXPERIMENT, 12]);
    options.extend(ESTIMATE.to_be_bytes());
    options.extend(estimate.train.to_be_bytes());
    let bps = estimate.rate.map_or(0, Rate::as_bps);
    options.extend(&bps.to_be_bytes()[2..]);
}

/// The mark's number, and when it was sent by the receiver's clock.
fn push_mark(options: &mut Vec<u8>, mark: HandoverMark) {
    options.extend([NOP, NOP, EXPERIMENT, 10]);
    options.extend(HANDOVER_MARK.to_be_bytes());
    options.extend((mark.number as u16).to_be_bytes());
    options.extend(clock(mark.sent));
}

#[cfg(test)]
mod tests {
    use midflight_tcp::{profile, SackBlock, SackBlocks};

    use super::*;

    fn wire(settings: &[(&str, &str)]) -> Wire {
        let mut profile = profile("rfc").unwrap_or_else(|_| unreachable!());
        for (name, value) in settings {
            assert_eq!(profile.set(name, value), Ok(()));
        }
        Wire::new(&profile).unwrap_or_else(|_| unreachable!())
    }

    #[test]
    fn numbers_in_bytes_wrap_at_32_bits() {
        let wire = wire(&[]);
        assert_eq!([0, 1, 2].map(|n| wire.byte_of(n)), [0, 1, 1449]);
        // 2,966,138 x 1448 + 1 = 2^32 + 529.
        assert_eq!(wire.byte_of(2_966_139), 529);
    }

    #[test]
    fn windows_are_scaled_and_not_larger_than_can_be_said() {
        let of = |segments: &str| {
            let wire = wire(&[("receiver_window", segments), ("timestamps", "off")]);
            (wire.window, wire.shift)
        };
        assert_eq!(of("44"), (64_240, 0));
        assert_eq!(of("45"), (65_700, 1));
        assert_eq!(of("100000000"), (65_535 << 14, 14));
    }

    /// 12 bytes of timestamps and 12 of the mark leave room for one block of 8 beside the option's 4.
    #[test]
    fn blocks_that_do_not_fit_are_left_out() {
        let mut sack = SackBlocks::default();
        for i in 0..3 {
            let left = 12 + 2 * i;
            let right = left + 1;
            sack.push(10, SackBlock { left, right });
        }
        let at = Instant::from_nanos(5_000_000);
        let sent = AckSent { at, syn: false };
        let mark = HandoverMark {
            number: 7,
            sent: at,
        };
        let ack = |echo, says| Ack {
            ack: 10,
            sack,
            echo,
            cause_sent: at,
            says,
        };
        let flow = FlowId::default();
        let of = |echo, says| {
            let packet = wire(&[]).ack(flow, &ack(echo, says), sent);
            (packet.headers.len(), packet.blocks_left_out)
        };
        assert_eq!(of(None, Says::Nothing), (40 + 28, 0));
        assert_eq!(of(Some(at), Says::Nothing), (40 + 12 + 28, 0));
        assert_eq!(of(Some(at), Says::Moved(mark)), (40 + 12 + 12 + 12, 2));
    }
}
