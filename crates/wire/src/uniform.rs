//! The segments and ACKs of a simulated flow as packets.
//!
//! Segment 0 is the SYN; segment n carries the n-th piece of the stream. All pieces have one size, so a
//! segment number times that size is a sequence number. The payload is zeros. Both initial sequence numbers
//! are 0. With SACK blocks a header is 4 bytes longer than the simulated links count: the option's kind, its
//! length and padding.

use std::net::SocketAddrV4;
use std::num::NonZeroU32;

use midflight_tcp::{Ack, AckOption, AckRules, Content, Profile, Segment, QUIC_OVERHEAD};
use midflight_units::{Instant, Seq};

use crate::header::{Header, WireError, HEADER_BYTES};
use crate::options::{clock, Extra, Options, MOST_SHIFT, TIMESTAMP_BYTES};

/// Maximum size of a segment to which a rate request (8 bytes) or a place in a train (12 bytes) may be
/// added.
const MOST_BYTES: u32 = u16::MAX as u32 - 20;

/// The format of a flow's packets.
#[derive(Clone, Copy, Debug)]
pub struct Uniform {
    payload: u32,
    mss: u16,
    /// Bytes of a full segment on the wire.
    segment_bytes: u32,
    /// The receiver's window in bytes.
    window: u32,
    shift: u8,
    sack: bool,
    timestamps: bool,
    ecn: bool,
}

/// The addresses of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Address of its sender.
    pub sender: SocketAddrV4,
    /// Address of its receiver.
    pub receiver: SocketAddrV4,
}

/// Further values of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckSent {
    /// When the receiver sent it.
    pub at: Instant,
    /// It acknowledges the SYN, and is the receiver's SYN.
    pub syn: bool,
}

/// A packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its headers and data.
    pub bytes: Vec<u8>,
    /// SACK blocks that do not fit into the header.
    pub blocks_left_out: usize,
}

/// Bytes of data in a full segment; none if headers leave no room for data.
pub fn payload_bytes(profile: &Profile) -> Option<u32> {
    let options = if profile.receiver.timestamps {
        TIMESTAMP_BYTES
    } else {
        0
    };
    let headers = match profile.receiver.acks {
        AckRules::Quic { .. } => QUIC_OVERHEAD,
        _ => HEADER_BYTES + options,
    };
    let payload = profile.sender.segment_bytes.checked_sub(headers);
    payload.filter(|&payload| payload > 0)
}

impl Uniform {
    /// Packets between senders and receivers with this profile; none when segments have no room for data, or
    /// do not fit into a packet.
    pub fn new(profile: &Profile) -> Option<Self> {
        let (tx, rx) = (&profile.sender, &profile.receiver);
        let payload = payload_bytes(profile).filter(|_| tx.segment_bytes <= MOST_BYTES)?;
        let window = tx.receiver_window.saturating_mul(u64::from(payload));
        let fits = |shift: &u8| u16::try_from(window >> shift).is_ok();
        let shift = match rx.acks {
            AckRules::Rfc => (0..=MOST_SHIFT).find(fits).unwrap_or(MOST_SHIFT),
            AckRules::Linux { buffer, .. } => buffer.window_shift(),
            // QUIC has no TCP header.
            AckRules::Quic { .. } => return None,
        };
        Some(Self {
            payload,
            segment_bytes: tx.segment_bytes,
            mss: (tx.segment_bytes - HEADER_BYTES) as u16,
            window: window.min(u64::from(u16::MAX) << shift) as u32,
            shift,
            sack: rx.sack_blocks > 0,
            timestamps: rx.timestamps,
            ecn: tx.ecn,
        })
    }

    /// The sequence number of a segment's first byte.
    fn byte_of(&self, segment: Seq) -> u32 {
        match segment.checked_sub(1) {
            None => 0,
            Some(before) => (before as u32).wrapping_mul(self.payload).wrapping_add(1),
        }
    }

    /// A segment; `last_timestamp` is the last timestamp that its sender has received.
    ///
    /// # Errors
    /// [`WireError::Long`] for options that do not fit into a header together.
    pub fn segment(
        &self,
        ends: Ends,
        segment: &Segment,
        last_timestamp: Option<Instant>,
    ) -> Result<Packet, WireError> {
        let is_syn = segment.seq == 0 && segment.has_data();
        let mut header = Header::new(ends.sender, ends.receiver);
        header.window = u16::MAX;
        header.seq = if segment.content == Content::WindowProbe {
            // Repeats the last acknowledged byte number, without data.
            self.byte_of(segment.seq + 1).wrapping_sub(1)
        } else {
            self.byte_of(segment.seq)
                .wrapping_add(segment.offset.into())
        };
        if is_syn {
            header.flags.syn = true;
            // An ECN-setup SYN (RFC 3168 section 6.1.1).
            (header.flags.ece, header.flags.cwr) = (self.ecn, self.ecn);
            self.offer(&mut header.options, 0);
        } else {
            header.ack = Some(1);
        }
        if self.timestamps {
            let echo = last_timestamp.unwrap_or(Instant::ZERO);
            header.options.timestamps = Some((clock(segment.sent), clock(echo)));
        }
        if let Some(option) = segment.option {
            header.carry(option);
        }
        header.flags.psh = segment.push;
        header.flags.cwr |= segment.cwr;
        header.ecn = segment.ecn;
        let payload = if segment.has_data() && !is_syn {
            // If the receiver's window ended within it, a segment is not full.
            let lacks = self.segment_bytes.saturating_sub(segment.bytes);
            self.payload.saturating_sub(lacks)
        } else {
            0
        };
        Ok(Packet {
            bytes: header.encode(&vec![0; payload as usize])?,
            blocks_left_out: 0,
        })
    }

    /// An ACK.
    ///
    /// # Errors
    /// [`WireError::Long`] for options that do not fit into a header together.
    pub fn ack(&self, ends: Ends, ack: &Ack, sent: AckSent) -> Result<Packet, WireError> {
        let window = match ack.option {
            AckOption::ZeroWindow | AckOption::Standby => 0,
            _ => ack.window.map_or(self.window, NonZeroU32::get),
        };
        let shift = if sent.syn { 0 } else { self.shift };
        let mut header = Header::new(ends.receiver, ends.sender);
        header.window = window.div_ceil(1 << shift).min(u32::from(u16::MAX)) as u16;
        header.seq = u32::from(!sent.syn);
        header.flags.syn = sent.syn;
        // An ECN-setup SYN-ACK (RFC 3168 section 6.1.1), or an echo of congestion (section 6.1.3).
        let is_echo = matches!(
            ack.option,
            AckOption::Congested | AckOption::CongestedUpdate
        );
        header.flags.ece = is_echo || sent.syn && self.ecn;
        let part = match ack.option {
            AckOption::Partial { done, of } => {
                self.payload * u32::from(done) / u32::from(of.max(1))
            }
            _ => ack.offset.into(),
        };
        header.ack = Some(self.byte_of(ack.ack).wrapping_add(part));
        let options = &mut header.options;
        if sent.syn {
            self.offer(options, self.shift);
        }
        options.timestamps = ack.echo.map(|echo| (clock(sent.at), clock(echo)));
        options.extra = Extra::of(ack.option);
        let mut blocks_left_out = 0;
        // A SYN has none (RFC 2018 section 2): SACK has not been negotiated yet.
        if !sent.syn {
            let room = options.room_for_blocks();
            blocks_left_out = ack.sack.len().saturating_sub(room);
            for block in ack.sack.bytes(ack.ack, self.payload.into()).take(room) {
                options.sack.push(block.left as u32, block.right as u32);
            }
        }
        Ok(Packet {
            bytes: header.encode(&[])?,
            blocks_left_out,
        })
    }

    /// The options of a SYN.
    fn offer(&self, options: &mut Options, shift: u8) {
        options.mss = Some(self.mss);
        options.window_scale = Some(shift);
        options.sack_permitted = self.sack;
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use midflight_control::signal::HandoffMark;
    use midflight_tcp::{profile, EcnCodepoint, SackBlock, SackBlocks};

    use super::*;

    fn wire(settings: &[(&str, &str)]) -> Uniform {
        let mut profile = profile("rfc").unwrap_or_else(|_| unreachable!());
        for (name, value) in settings {
            assert_eq!(profile.set(name, value), Ok(()));
        }
        Uniform::new(&profile).unwrap_or_else(|| unreachable!())
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

    /// 12 bytes of timestamps and 12 of the mark leave room for one block of 8 besides the option's 4.
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
        let mark = HandoffMark {
            number: 7,
            sent: at,
        };
        let ack = |echo, option| Ack {
            ack: 10,
            sack,
            echo,
            cause_sent: at,
            offset: 0,
            option,
            window: None,
            stamp_ms: 0,
            extra_bytes: 0,
        };
        let [sender, receiver] = [1, 2].map(|n| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, n), 9));
        let ends = Ends { sender, receiver };
        let of = |echo, option| {
            let packet = wire(&[]).ack(ends, &ack(echo, option), sent);
            packet.map(|packet| (packet.bytes.len(), packet.blocks_left_out))
        };
        assert_eq!(of(None, AckOption::Nothing), Ok((40 + 28, 0)));
        assert_eq!(of(Some(at), AckOption::Nothing), Ok((40 + 12 + 28, 0)));
        assert_eq!(
            of(Some(at), AckOption::Moved(mark)),
            Ok((40 + 12 + 12 + 12, 2))
        );
    }

    /// The handshake of RFC 3168 section 6.1.1, a mark (section 5), its echo (6.1.3) and the response
    /// (6.1.2).
    #[test]
    fn ecn_is_in_the_headers() {
        use EcnCodepoint::{Capable, Congestion, LowLatency, NotCapable};
        let at = Instant::from_nanos(5_000_000);
        let [sender, receiver] = [1, 2].map(|n| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, n), 9));
        let ends = Ends { sender, receiver };
        let linux = [("recovery", "linux"), ("acks", "linux")];
        let read = |packet: Result<Packet, WireError>| {
            let bytes = packet.unwrap_or_else(|e| unreachable!("{e}")).bytes;
            let (header, _) = Header::decode(&bytes).unwrap_or_else(|e| unreachable!("{e}"));
            (header.ecn, header.flags.ece, header.flags.cwr)
        };
        for is_on in [false, true] {
            let switch = if is_on { "on" } else { "off" };
            let wire = wire(&[linux[0], linux[1], ("ecn", switch)]);
            let segment = |seq, ecn, cwr| {
                let segment = Segment {
                    ecn,
                    cwr,
                    ..Segment::plain(seq, 1500, at)
                };
                read(wire.segment(ends, &segment, None))
            };
            let ack = |option, syn| {
                let ack = Ack {
                    offset: 0,
                    ack: 1,
                    sack: SackBlocks::default(),
                    echo: Some(at),
                    cause_sent: at,
                    option,
                    window: None,
                    stamp_ms: 0,
                    extra_bytes: 0,
                };
                read(wire.ack(ends, &ack, AckSent { at, syn }))
            };
            assert_eq!(segment(0, NotCapable, false), (NotCapable, is_on, is_on));
            assert_eq!(ack(AckOption::Nothing, true), (NotCapable, is_on, false));
            for ecn in [NotCapable, LowLatency, Capable, Congestion] {
                for cwr in [false, true] {
                    assert_eq!(segment(1, ecn, cwr), (ecn, false, cwr));
                }
            }
            assert_eq!(ack(AckOption::Nothing, false), (NotCapable, false, false));
            assert_eq!(ack(AckOption::Congested, false), (NotCapable, true, false));
        }
    }
}
