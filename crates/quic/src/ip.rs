//! Datagrams of IPv4 and UDP (RFC 791, RFC 768).

use std::net::{Ipv4Addr, SocketAddrV4};

/// Bytes of both headers.
pub(crate) const HEADERS: usize = 28;
const UDP: u8 = 17;

/// The Internet checksum (RFC 1071) of words in pieces of even length, but for the last.
fn checksum(pieces: &[&[u8]]) -> u16 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
    let sum = |piece: &&[u8]| piece.chunks(2).map(word).sum::<u64>();
    let mut sum: u64 = pieces.iter().map(sum).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// A datagram with these bits of ECN (RFC 3168).
pub(crate) fn encode(from: SocketAddrV4, to: SocketAddrV4, ecn: u8, payload: &[u8]) -> Box<[u8]> {
    let length = HEADERS + payload.len();
    let mut bytes = Vec::with_capacity(length);
    bytes.extend([0x45, ecn & 3]);
    bytes.extend((length as u16).to_be_bytes());
    // Never fragmented: no number of its own (RFC 6864).
    bytes.extend([0, 0, 0x40, 0, 64, UDP, 0, 0]);
    bytes.extend(from.ip().octets());
    bytes.extend(to.ip().octets());
    let sum = checksum(&[&bytes[..20]]);
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes.extend(from.port().to_be_bytes());
    bytes.extend(to.port().to_be_bytes());
    bytes.extend((length as u16 - 20).to_be_bytes());
    // Of IPv4 a sender need not compute it, and nothing here damages packets.
    bytes.extend([0, 0]);
    bytes.extend(payload);
    bytes.into()
}

/// A datagram that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received<'a> {
    pub(crate) from: SocketAddrV4,
    pub(crate) to: SocketAddrV4,
    pub(crate) ecn: u8,
    pub(crate) payload: &'a [u8],
}

/// Reads a datagram of [`encode`].
pub(crate) fn decode(bytes: &[u8]) -> Option<Received<'_>> {
    let ip = |at: usize| -> Option<Ipv4Addr> {
        let octets: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(octets.into())
    };
    let port = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    Some(Received {
        from: SocketAddrV4::new(ip(12)?, port(20)?),
        to: SocketAddrV4::new(ip(16)?, port(22)?),
        ecn: bytes.get(1)? & 3,
        payload: bytes.get(HEADERS..)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out_with_a_right_checksum() {
        let from = SocketAddrV4::new(Ipv4Addr::new(10, 1, 2, 3), 50_000);
        let to = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 443);
        let bytes = encode(from, to, 2, b"quic");
        assert_eq!(bytes.len(), HEADERS + 4);
        // The sum over a right header is all ones.
        assert_eq!(checksum(&[&bytes[..20]]), 0);
        let payload = &b"quic"[..];
        let ecn = 2;
        assert_eq!(
            decode(&bytes),
            Some(Received {
                from,
                to,
                ecn,
                payload
            })
        );
        assert_eq!(decode(&bytes[..27]), None);
    }
}
