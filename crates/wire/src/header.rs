//! The headers of a TCP segment in an IPv4 packet (RFC 9293 section 3.1, RFC 791 section 3.1),
//! encoded and decoded.

use std::net::{Ipv4Addr, SocketAddrV4};

use midflight_control::quick_start::{Nonce, RateCode, Request};
use midflight_tcp::{EcnCodepoint, SegmentOption, TrainMark};

use crate::options::{nonce, rate_code, split, Extra, Options, MOST_OPTIONS};

/// Bytes of an IPv4 and a TCP header without options.
pub const HEADER_BYTES: u32 = 40;
/// The initial TTL of a packet, unless a rate request sets another.
pub const TTL: u8 = 64;

/// Bytes of either header without options.
const LEAST: usize = 20;
/// TCP's protocol number in IP.
const PROTOCOL: u8 = 6;
/// The IPv4 flag that forbids fragmentation.
const DONT_FRAGMENT: u16 = 0x4000;
/// More fragments follow, or this is not the first one.
const FRAGMENT: u16 = 0x3FFF;
/// The IP option of RFC 4782 section 3.1, and its function for a report.
const QUICK_START: u8 = 25;
const REPORT: u8 = 8;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const URG: u8 = 0x20;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;

/// The bits of the ECN field in the second byte of an IP header (RFC 3168 section 5).
const ECN: u8 = 0x03;

fn ecn_bits(ecn: EcnCodepoint) -> u8 {
    match ecn {
        EcnCodepoint::NotCapable => 0,
        EcnCodepoint::LowLatency => 1,
        EcnCodepoint::Capable => 2,
        EcnCodepoint::Congestion => 3,
    }
}

fn ecn_of(byte: u8) -> EcnCodepoint {
    match byte & ECN {
        0 => EcnCodepoint::NotCapable,
        1 => EcnCodepoint::LowLatency,
        2 => EcnCodepoint::Capable,
        _ => EcnCodepoint::Congestion,
    }
}

/// Why bytes cannot be decoded, or a segment cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The bytes end too early.
    #[error("{what} takes {needed} bytes, and there are {found}")]
    Short {
        /// The part that is incomplete.
        what: &'static str,
        /// How many bytes it needs.
        needed: usize,
        /// How many there are.
        found: usize,
    },
    /// Another version of IP.
    #[error("a packet of IP version {0}; version 4 is accepted")]
    Version(u8),
    /// A header length below 20 bytes.
    #[error("the {what} header states a length of {found} bytes; 20 to 60 are accepted")]
    HeaderLength {
        /// Which header.
        what: &'static str,
        /// Its stated length.
        found: usize,
    },
    /// A fragment.
    #[error("a fragment of an IP packet; only whole packets are accepted")]
    Fragment,
    /// Another protocol.
    #[error("a packet of IP protocol {0}; 6 (TCP) is accepted")]
    Protocol(u8),
    /// A checksum is wrong.
    #[error("the {what} checksum is {found:#06x}; expected {right:#06x} for these bytes")]
    Checksum {
        /// Which checksum.
        what: &'static str,
        /// The checksum in the header.
        found: u16,
        /// The checksum of these bytes.
        right: u16,
    },
    /// An option with a wrong length.
    #[error("option {kind} of the {what} header has {length} bytes; accepted lengths: {accepted}")]
    Option {
        /// Which header.
        what: &'static str,
        /// The option.
        kind: u8,
        /// Its length, including kind and length bytes.
        length: usize,
        /// The accepted values.
        accepted: &'static str,
    },
    /// Content that does not fit.
    #[error("{found} bytes of {what}; at most {most} fit")]
    Long {
        /// The item that exceeds its limit.
        what: &'static str,
        /// Its size.
        found: usize,
        /// The maximum size.
        most: usize,
    },
}

/// The flags of a TCP header, except ACK and URG, which are part of their fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// First segment of a connection.
    pub syn: bool,
    /// No more data.
    pub fin: bool,
    /// Reset.
    pub rst: bool,
    /// Push.
    pub psh: bool,
    /// ECN echo.
    pub ece: bool,
    /// Congestion window reduced.
    pub cwr: bool,
}

impl Flags {
    fn bits(self) -> u8 {
        let set = |flag, bit| if flag { bit } else { 0 };
        set(self.syn, SYN)
            | set(self.fin, FIN)
            | set(self.rst, RST)
            | set(self.psh, PSH)
            | set(self.ece, ECE)
            | set(self.cwr, CWR)
    }

    fn of(bits: u8) -> Self {
        let has = |bit| bits & bit != 0;
        Self {
            syn: has(SYN),
            fin: has(FIN),
            rst: has(RST),
            psh: has(PSH),
            ece: has(ECE),
            cwr: has(CWR),
        }
    }
}

/// The Quick-Start option of IP (RFC 4782 section 3.1, figures 3 and 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuickStart {
    /// A rate request.
    Request {
        /// The rate, lowered by routers.
        rate: RateCode,
        /// The option's own TTL.
        ttl: u8,
        /// Nonce.
        nonce: Nonce,
    },
    /// The report of an approved rate.
    Report {
        /// The rate.
        rate: RateCode,
        /// Nonce of the request.
        nonce: Nonce,
    },
}

impl QuickStart {
    fn bytes(self) -> [u8; 8] {
        let (first, ttl, nonce) = match self {
            Self::Request { rate, ttl, nonce } => (rate.code(), ttl, nonce),
            Self::Report { rate, nonce } => (REPORT << 4 | rate.code(), 0, nonce),
        };
        let [a, b, c, d] = (nonce.bits() << 2).to_be_bytes();
        [QUICK_START, 8, first, ttl, a, b, c, d]
    }

    /// Reads the options of an IP header; if there are several Quick-Start options the last one
    /// counts.
    fn read(bytes: &[u8]) -> Result<Option<Self>, WireError> {
        let mut found = None;
        for option in split("IP", bytes) {
            let (kind, value) = option?;
            if kind != QUICK_START {
                continue;
            }
            let (&[first, ttl, _, _, _, _], Some(field)) = (value, be32(value, 2)) else {
                return Err(WireError::Option {
                    what: "IP",
                    kind,
                    length: value.len() + 2,
                    accepted: "8",
                });
            };
            let (rate, nonce) = (rate_code(first), nonce(field));
            match first >> 4 {
                0 => found = Some(Self::Request { rate, ttl, nonce }),
                REPORT => found = Some(Self::Report { rate, nonce }),
                _ => {}
            }
        }
        Ok(found)
    }
}

/// The headers of a segment. Other IP fields are constant when encoded, and ignored when decoded: no
/// fragments, DSCP 0, identification 0 (RFC 6864 section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The source.
    pub source: SocketAddrV4,
    /// The destination.
    pub destination: SocketAddrV4,
    /// The ECN field of the IP header.
    pub ecn: EcnCodepoint,
    /// Time to live.
    pub ttl: u8,
    /// The Quick-Start option of the IP header.
    pub quick_start: Option<QuickStart>,
    /// Sequence number.
    pub seq: u32,
    /// ACK number; sets the flag ACK.
    pub ack: Option<u32>,
    /// The other flags.
    pub flags: Flags,
    /// Window, as the header carries it.
    pub window: u16,
    /// Urgent pointer; sets the flag URG.
    pub urgent: Option<u16>,
    /// Options.
    pub options: Options,
}

impl Header {
    /// A header with addresses only.
    pub fn new(source: SocketAddrV4, destination: SocketAddrV4) -> Self {
        Self {
            source,
            destination,
            ecn: EcnCodepoint::NotCapable,
            ttl: TTL,
            quick_start: None,
            seq: 0,
            ack: None,
            flags: Flags::default(),
            window: 0,
            urgent: None,
            options: Options::default(),
        }
    }

    /// Adds the option of a sender's segment.
    pub fn carry(&mut self, option: SegmentOption) {
        match option {
            SegmentOption::Train(TrainMark {
                number,
                index,
                segments,
                ..
            }) => {
                self.options.extra = Some(Extra::Train {
                    number,
                    index,
                    segments,
                });
            }
            SegmentOption::Request(Request {
                rate,
                ip_ttl,
                qs_ttl,
                nonce,
            }) => {
                self.ttl = ip_ttl;
                let ttl = qs_ttl;
                self.quick_start = Some(QuickStart::Request { rate, ttl, nonce });
            }
            SegmentOption::Report(rate, nonce) => {
                self.quick_start = Some(QuickStart::Report { rate, nonce });
            }
        }
    }

    /// The packet with these headers and data, including checksums.
    ///
    /// # Errors
    /// [`WireError::Long`] for options or data that do not fit.
    pub fn encode(&self, data: &[u8]) -> Result<Vec<u8>, WireError> {
        let options = self.options.bytes();
        let of_ip = self.quick_start.map(QuickStart::bytes);
        let of_ip = of_ip.as_ref().map_or(&[][..], |bytes| &bytes[..]);
        let headers = 2 * LEAST + of_ip.len() + options.len();
        let fits = |what, found, most| {
            let long = WireError::Long { what, found, most };
            (found <= most).then_some(()).ok_or(long)
        };
        fits("options", options.len(), MOST_OPTIONS)?;
        fits("data", data.len(), usize::from(u16::MAX) - headers)?;

        let tcp = LEAST + of_ip.len();
        let words = |bytes: usize| (bytes / 4) as u8;
        let mut packet = Vec::with_capacity(headers + data.len());
        packet.extend([0x40 | words(tcp), ecn_bits(self.ecn)]);
        packet.extend(((headers + data.len()) as u16).to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(DONT_FRAGMENT.to_be_bytes());
        packet.extend([self.ttl, PROTOCOL, 0, 0]);
        packet.extend(self.source.ip().octets());
        packet.extend(self.destination.ip().octets());
        packet.extend(of_ip);
        let of_header = checksum(0, &packet);
        packet[10..12].copy_from_slice(&of_header.to_be_bytes());

        packet.extend(self.source.port().to_be_bytes());
        packet.extend(self.destination.port().to_be_bytes());
        packet.extend(self.seq.to_be_bytes());
        packet.extend(self.ack.unwrap_or(0).to_be_bytes());
        let ack = if self.ack.is_some() { ACK } else { 0 };
        let urg = if self.urgent.is_some() { URG } else { 0 };
        packet.push(words(LEAST + options.len()) << 4);
        packet.push(self.flags.bits() | ack | urg);
        packet.extend(self.window.to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(self.urgent.unwrap_or(0).to_be_bytes());
        packet.extend(&options);
        packet.extend(data);
        let of_segment = checksum_of_segment(&packet, tcp);
        packet[tcp + 16..tcp + 18].copy_from_slice(&of_segment.to_be_bytes());
        Ok(packet)
    }

    /// Reads a packet: its headers and its data. Padding after the packet, reserved bits, unknown
    /// options and fields that TCP does not use are ignored.
    ///
    /// # Errors
    /// [`WireError`] names the error.
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let short = |what, needed, found| WireError::Short {
            what,
            needed,
            found,
        };
        let available = bytes.len();
        let ip: &[u8; LEAST] =
            bytes
                .first_chunk()
                .ok_or(short("an IP header", LEAST, available))?;
        if ip[0] >> 4 != 4 {
            return Err(WireError::Version(ip[0] >> 4));
        }
        let tcp = header_length("IP", ip[0] & 0xF)?;
        let total = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
        let packet = bytes
            .get(..total)
            .ok_or(short("the IP packet", total, available))?;
        let of_ip = packet
            .get(LEAST..tcp)
            .ok_or(short("the IP header", tcp, total))?;
        verify("IP", checksum(0, &packet[..tcp]), [ip[10], ip[11]])?;
        if u16::from_be_bytes([ip[6], ip[7]]) & FRAGMENT != 0 {
            return Err(WireError::Fragment);
        }
        if ip[9] != PROTOCOL {
            return Err(WireError::Protocol(ip[9]));
        }

        let segment = &packet[tcp..];
        let found = segment.len();
        let fixed: &[u8; LEAST] =
            segment
                .first_chunk()
                .ok_or(short("a TCP header", LEAST, found))?;
        let end = header_length("TCP", fixed[12] >> 4)?;
        let options = segment
            .get(LEAST..end)
            .ok_or(short("the TCP header", end, found))?;
        let over = checksum_of_segment(packet, tcp);
        verify("TCP", over, [fixed[16], fixed[17]])?;
        Ok((Self::of_fields(ip, of_ip, fixed, options)?, &segment[end..]))
    }

    /// Reads the headers of a packet that may be truncated after them, and how many bytes of data
    /// follow. No checksum is verified, because a host leaves TCP's checksum to its device.
    ///
    /// # Errors
    /// As [`Self::decode`].
    pub fn decode_headers(bytes: &[u8]) -> Result<(Self, u32), WireError> {
        let short = |what, needed| WireError::Short {
            what,
            needed,
            found: bytes.len(),
        };
        let ip: &[u8; LEAST] = bytes.first_chunk().ok_or(short("an IP header", LEAST))?;
        if ip[0] >> 4 != 4 {
            return Err(WireError::Version(ip[0] >> 4));
        }
        let tcp = header_length("IP", ip[0] & 0xF)?;
        let total = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
        let of_ip = bytes.get(LEAST..tcp).ok_or(short("the IP header", tcp))?;
        if ip[9] != PROTOCOL {
            return Err(WireError::Protocol(ip[9]));
        }
        let segment = bytes.get(tcp..).unwrap_or_default();
        let needed = tcp + LEAST;
        let fixed: &[u8; LEAST] = segment.first_chunk().ok_or(short("a TCP header", needed))?;
        let end = header_length("TCP", fixed[12] >> 4)?;
        let options = segment
            .get(LEAST..end)
            .ok_or(short("the TCP header", tcp + end))?;
        let data = total
            .checked_sub(tcp + end)
            .ok_or(short("the IP packet", tcp + end))?;
        Ok((Self::of_fields(ip, of_ip, fixed, options)?, data as u32))
    }

    /// The headers from their parts, without and with options.
    fn of_fields(
        ip: &[u8; LEAST],
        of_ip: &[u8],
        fixed: &[u8; LEAST],
        options: &[u8],
    ) -> Result<Self, WireError> {
        let address = |at, port| {
            let of = |at| be32(ip, at).unwrap_or_default();
            let port = be16(fixed, port).unwrap_or_default();
            SocketAddrV4::new(Ipv4Addr::from_bits(of(at)), port)
        };
        let [.., bits, w, x, _, _, u, v] = *fixed;
        let field = |at| be32(fixed, at).unwrap_or_default();
        Ok(Self {
            source: address(12, 0),
            destination: address(16, 2),
            ecn: ecn_of(ip[1]),
            ttl: ip[8],
            quick_start: QuickStart::read(of_ip)?,
            seq: field(4),
            ack: (bits & ACK != 0).then(|| field(8)),
            flags: Flags::of(bits),
            window: u16::from_be_bytes([w, x]),
            urgent: (bits & URG != 0).then(|| u16::from_be_bytes([u, v])),
            options: Options::read(options)?,
        })
    }
}

/// Length in bytes of a header whose length is given in words of 4 bytes.
fn header_length(what: &'static str, words: u8) -> Result<usize, WireError> {
    let found = 4 * usize::from(words);
    let right = (found >= LEAST).then_some(found);
    right.ok_or(WireError::HeaderLength { what, found })
}

/// The 2-byte number at this position.
pub(crate) fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    let field = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_be_bytes(*field))
}

/// The 4-byte number at this position.
pub(crate) fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_be_bytes(*field))
}

/// The Internet checksum (RFC 1071) of these bytes, added to the sum `before`. It is 0 if the bytes
/// include their own checksum.
fn checksum(before: u64, bytes: &[u8]) -> u16 {
    let mut sum = before;
    let mut words = bytes.chunks_exact(2);
    for word in &mut words {
        sum += u64::from(word[0]) << 8 | u64::from(word[1]);
    }
    if let [last] = words.remainder() {
        sum += u64::from(*last) << 8;
    }
    while sum > 0xFFFF {
        sum = (sum >> 16) + (sum & 0xFFFF);
    }
    !(sum as u16)
}

/// TCP's checksum of the segment that starts at byte `tcp` of the packet, with the pseudo-header of
/// RFC 9293 section 3.1.
fn checksum_of_segment(packet: &[u8], tcp: usize) -> u16 {
    let (ip, segment) = packet.split_at(tcp);
    let words = ip[12..20].chunks_exact(2);
    let addresses: u64 = words.map(|w| u64::from(w[0]) << 8 | u64::from(w[1])).sum();
    checksum(
        addresses + u64::from(PROTOCOL) + segment.len() as u64,
        segment,
    )
}

/// `over` is the checksum over everything, including the field.
fn verify(what: &'static str, over: u16, field: [u8; 2]) -> Result<(), WireError> {
    if over == 0 {
        return Ok(());
    }
    let found = u16::from_be_bytes(field);
    // Adding the complement of the field removes the field from the sum.
    let right = checksum(u64::from(!over), &(!found).to_be_bytes());
    Err(WireError::Checksum { what, found, right })
}

#[cfg(test)]
mod tests;
