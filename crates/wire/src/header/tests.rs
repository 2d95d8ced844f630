use midflight_control::estimate::Estimate;
use midflight_control::quick_start::Response;
use midflight_units::Rate;
use proptest::prelude::*;

use super::*;
use crate::options::Blocks;

fn an_address() -> impl Strategy<Value = SocketAddrV4> {
    (any::<u32>(), any::<u16>())
        .prop_map(|(ip, port)| SocketAddrV4::new(Ipv4Addr::from_bits(ip), port))
}

fn a_rate() -> impl Strategy<Value = RateCode> {
    (0_u8..16).prop_map(|code| RateCode::new(code).unwrap_or_default())
}

fn a_nonce() -> impl Strategy<Value = Nonce> {
    any::<u64>().prop_map(Nonce::new)
}

fn an_extra() -> impl Strategy<Value = Extra> {
    prop_oneof![
        any::<(u16, u16, u16)>().prop_map(|(number, index, segments)| Extra::Train {
            number,
            index,
            segments
        }),
        any::<(u16, u32)>().prop_map(|(number, sent)| Extra::Mark { number, sent }),
        (any::<u16>(), 0_u64..1 << 48).prop_map(|(train, bps)| Extra::Estimate(Estimate {
            train,
            rate: Rate::from_bps(bps)
        })),
        (a_rate(), any::<u8>(), a_nonce()).prop_map(|(rate, ttl_diff, nonce)| {
            Extra::Response(Response {
                rate,
                ttl_diff,
                nonce,
            })
        }),
    ]
}

fn some_options() -> impl Strategy<Value = Options> {
    let blocks = prop::collection::vec(any::<(u32, u32)>(), 0..5);
    let others = (
        any::<Option<u16>>(),
        any::<Option<u8>>(),
        any::<bool>(),
        any::<Option<(u32, u32)>>(),
        prop::option::of(an_extra()),
    );
    (others, blocks).prop_map(|(others, blocks)| {
        let (mss, window_scale, sack_permitted, timestamps, extra) = others;
        let mut options = Options {
            mss,
            window_scale,
            sack_permitted,
            timestamps,
            extra,
            sack: Blocks::default(),
        };
        let room = options.room_for_blocks();
        for (left, right) in blocks.into_iter().take(room) {
            options.sack.push(left, right);
        }
        options
    })
}

fn a_header() -> impl Strategy<Value = Header> {
    let quick_start = prop_oneof![
        (a_rate(), any::<u8>(), a_nonce()).prop_map(|(rate, ttl, nonce)| QuickStart::Request {
            rate,
            ttl,
            nonce
        }),
        (a_rate(), a_nonce()).prop_map(|(rate, nonce)| QuickStart::Report { rate, nonce }),
    ];
    let of_ip = (
        an_address(),
        an_address(),
        (0_u8..4).prop_map(ecn_of),
        any::<u8>(),
        prop::option::of(quick_start),
    );
    let of_tcp = (
        any::<u32>(),
        any::<Option<u32>>(),
        any::<u8>().prop_map(Flags::of),
        any::<u16>(),
        any::<Option<u16>>(),
        some_options(),
    );
    (of_ip, of_tcp).prop_map(|(of_ip, of_tcp)| {
        let (source, destination, ecn, ttl, quick_start) = of_ip;
        let (seq, ack, flags, window, urgent, options) = of_tcp;
        Header {
            source,
            destination,
            ecn,
            ttl,
            quick_start,
            seq,
            ack,
            flags,
            window,
            urgent,
            options,
        }
    })
}

fn some_data() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..100)
}

/// Corrects lengths and checksums, so that the decoder continues.
fn repair(bytes: &mut [u8]) {
    let total = bytes.len() as u16;
    let ip = 20 + 4 * usize::from(bytes[0] & 1);
    bytes[0] = 0x40 | (ip / 4) as u8;
    bytes[2..4].copy_from_slice(&total.to_be_bytes());
    bytes[6..8].copy_from_slice(&[0, 0]);
    bytes[9] = PROTOCOL;
    bytes[10..12].copy_from_slice(&[0, 0]);
    let sum = checksum(0, &bytes[..ip]);
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes[ip + 16..ip + 18].copy_from_slice(&[0, 0]);
    let sum = checksum_of_segment(bytes, ip);
    bytes[ip + 16..ip + 18].copy_from_slice(&sum.to_be_bytes());
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(header in a_header(), data in some_data(), padding in some_data()) {
        let mut bytes = header.encode(&data).unwrap_or_else(|e| unreachable!("{e}"));
        bytes.extend(padding);
        prop_assert_eq!(Header::decode(&bytes), Ok((header, &data[..])));
    }

    /// Any bytes give a segment or an error, also with correct checksums. A decoded segment is
    /// unchanged by encoding and decoding it again.
    #[test]
    fn any_bytes_are_a_segment_or_an_error(
        mut bytes in prop::collection::vec(any::<u8>(), 0..120),
        right in any::<bool>(),
    ) {
        if right && bytes.len() >= 44 {
            repair(&mut bytes);
        }
        match Header::decode(&bytes) {
            Ok((header, data)) => {
                // Without padding in between, more options fit than with it.
                if let Ok(again) = header.encode(data) {
                    prop_assert_eq!(Header::decode(&again), Ok((header, data)));
                }
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    /// Every byte is covered by a checksum.
    #[test]
    fn one_byte_that_is_damaged_is_found(
        header in a_header(),
        data in some_data(),
        at in any::<prop::sample::Index>(),
        change in 1_u8..,
    ) {
        let mut bytes = header.encode(&data).unwrap_or_else(|e| unreachable!("{e}"));
        let at = at.index(bytes.len());
        bytes[at] ^= change;
        prop_assert!(Header::decode(&bytes).is_err());
    }

    #[test]
    fn what_is_cut_off_is_short(header in a_header(), data in some_data(), at in any::<prop::sample::Index>()) {
        let bytes = header.encode(&data).unwrap_or_else(|e| unreachable!("{e}"));
        let cut = Header::decode(&bytes[..at.index(bytes.len())]);
        prop_assert!(matches!(cut, Err(WireError::Short { .. })), "{:?}", cut);
    }

    /// Another decoder finds the same values in an encoded packet.
    #[test]
    fn another_reader_agrees(header in a_header(), data in some_data()) {
        let bytes = header.encode(&data).unwrap_or_else(|e| unreachable!("{e}"));
        let (ip, rest) = etherparse::Ipv4Header::from_slice(&bytes).unwrap_or_else(|e| unreachable!("{e}"));
        let (tcp, payload) = etherparse::TcpHeader::from_slice(rest).unwrap_or_else(|e| unreachable!("{e}"));
        prop_assert_eq!(ip.calc_header_checksum(), ip.header_checksum);
        prop_assert_eq!(tcp.calc_checksum_ipv4(&ip, payload), Ok(tcp.checksum));
        prop_assert_eq!(payload, &data[..]);
        prop_assert_eq!((ip.source, ip.destination), (header.source.ip().octets(), header.destination.ip().octets()));
        prop_assert_eq!((ip.time_to_live, ip.dont_fragment), (header.ttl, true));
        prop_assert_eq!((ip.dscp.value(), ip.ecn.value()), (0, ecn_bits(header.ecn)));
        prop_assert_eq!((tcp.source_port, tcp.destination_port), (header.source.port(), header.destination.port()));
        prop_assert_eq!((tcp.sequence_number, tcp.window_size), (header.seq, header.window));
        prop_assert_eq!(tcp.ack.then_some(tcp.acknowledgment_number), header.ack);
        prop_assert_eq!(tcp.urg.then_some(tcp.urgent_pointer), header.urgent);
        let flags = Flags {
            syn: tcp.syn,
            fin: tcp.fin,
            rst: tcp.rst,
            psh: tcp.psh,
            ece: tcp.ece,
            cwr: tcp.cwr,
        };
        prop_assert_eq!(flags, header.flags);
        if header.options.extra.is_none() {
            use etherparse::TcpOptionElement as O;
            for option in tcp.options_iterator() {
                match option.unwrap_or_else(|e| unreachable!("{e:?}")) {
                    O::Noop => {}
                    O::MaximumSegmentSize(mss) => prop_assert_eq!(Some(mss), header.options.mss),
                    O::WindowScale(scale) => prop_assert_eq!(Some(scale), header.options.window_scale),
                    O::SelectiveAcknowledgementPermitted => prop_assert!(header.options.sack_permitted),
                    O::Timestamp(value, echo) => prop_assert_eq!(Some((value, echo)), header.options.timestamps),
                    O::SelectiveAcknowledgement(first, others) => {
                        let blocks: Vec<_> = std::iter::once(first).chain(others.into_iter().flatten()).collect();
                        prop_assert_eq!(blocks, header.options.sack.iter().collect::<Vec<_>>());
                    }
                }
            }
        }
    }
}

#[test]
fn errors_are_named() {
    let [from, to] = [1, 2].map(|n| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, n), 9));
    let mut header = Header::new(from, to);
    let bytes = header.encode(b"data").unwrap_or_default();
    let after = |changes: &[(usize, u8)]| {
        let mut bytes = bytes.clone();
        for &(at, byte) in changes {
            bytes[at] = byte;
        }
        let sum = checksum(0, &[&bytes[..10], &[0, 0], &bytes[12..20]].concat());
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        Header::decode(&bytes).err().map(|e| e.to_string())
    };
    for (changes, words) in [
        (&[(0, 0x65)][..], "IP version 6; version 4"),
        (&[(0, 0x44)], "the IP header states a length of 16 bytes"),
        (&[(3, 45)], "the IP packet takes 45 bytes, and there are 44"),
        (&[(3, 19)], "the IP header takes 20 bytes, and there are 19"),
        (&[(6, 0x20)], "a fragment"),
        (&[(7, 1)], "a fragment"),
        (&[(9, 17)], "IP protocol 17; 6 (TCP)"),
        (&[(3, 39)], "a TCP header takes 20 bytes, and there are 19"),
        (&[(32, 0x40)], "the TCP header states a length of 16 bytes"),
        (
            &[(32, 0x70)],
            "the TCP header takes 28 bytes, and there are 24",
        ),
        (&[(40, b'x')], "the TCP checksum is 0x"),
    ] {
        let said = after(changes);
        assert!(
            said.as_ref().is_some_and(|s| s.contains(words)),
            "{changes:?}: {said:?}"
        );
    }
    let mut damaged = bytes.clone();
    damaged[8] ^= 1;
    let said = Header::decode(&damaged).err().map(|e| e.to_string());
    let [found, right] = [&bytes, &after_ttl(&header)].map(|b| u16::from_be_bytes([b[10], b[11]]));
    let expected =
        format!("the IP checksum is {found:#06x}; expected {right:#06x} for these bytes");
    assert_eq!(said, Some(expected));

    header.options.timestamps = Some((1, 2));
    header.options.extra = Some(Extra::Mark { number: 1, sent: 2 });
    header.options.sack.push(1, 2);
    header.options.sack.push(3, 4);
    let said = header.encode(&[]).err().map(|e| e.to_string());
    assert_eq!(said.as_deref(), Some("44 bytes of options; at most 40 fit"));
    let said = Header::new(from, to).encode(&vec![0; 65_496]).err();
    assert_eq!(
        said.map(|e| e.to_string()).as_deref(),
        Some("65496 bytes of data; at most 65495 fit")
    );
}

fn after_ttl(header: &Header) -> Vec<u8> {
    let header = Header {
        ttl: header.ttl ^ 1,
        ..*header
    };
    header.encode(b"data").unwrap_or_default()
}

/// The example of RFC 1071 section 3.
#[test]
fn checksums_are_of_ones_complement() {
    let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
    assert_eq!(checksum(0, &bytes), !0xddf2);
    assert_eq!(checksum(0, &[0xff]), checksum(0, &[0xff, 0]));
}
