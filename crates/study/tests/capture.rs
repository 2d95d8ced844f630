//! Captures, read back: they show the events of the run at each capture point.
#![allow(clippy::panic, reason = "a failed test panics")]

use std::time::Duration as Since;

use etherparse::{Ipv4HeaderSlice, TcpHeaderSlice, TcpOptionElement};
use midflight_control::LinkInfo;
use midflight_study::{
    read_loss, Capture, CrossTraffic, FlowHandoff, Flows, Handoff, HandoffKind, HandoffPrediction,
    LongFlow, Radio, Roaming, RoamingHandoffs, SignalFate, TraceRow, REFERENCE_FIXED,
};
use midflight_units::{Duration, Instant, Rate};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};

use crate::one_run::{
    capture, capture_long_flow, capture_roaming, trace, trace_long_flow, trace_roaming, TraceRun,
};

/// A packet as read from the file.
#[derive(Clone, Debug)]
struct Seen {
    ns: u128,
    bytes: Vec<u8>,
    length: u32,
    comments: Vec<String>,
    leaves: bool,
}

impl Seen {
    fn tcp(&self) -> TcpHeaderSlice<'_> {
        TcpHeaderSlice::from_slice(&self.bytes[20..]).unwrap_or_else(|e| panic!("{e}"))
    }

    fn is_data(&self) -> bool {
        self.tcp().destination_port() == 9
    }

    fn experiments(&self) -> Vec<&[u8]> {
        let mut found = Vec::new();
        let all = &self.bytes[40..20 + self.tcp().slice().len()];
        let mut at = 0;
        while at < all.len() && all[at] != 0 {
            if all[at] == 1 {
                at += 1;
                continue;
            }
            let length = usize::from(all[at + 1]);
            if all[at] == 253 {
                found.push(&all[at + 2..at + length]);
            }
            at += length;
        }
        found
    }
}

fn read(captures: &[Capture], place: &str) -> Vec<Seen> {
    let found = captures.iter().find(|c| c.place == place);
    let file = found.unwrap_or_else(|| panic!("no {place}"));
    let mut reader = PcapNgReader::new(&file.pcapng[..]).unwrap_or_else(|e| panic!("{e}"));
    let mut seen = Vec::new();
    while let Some(block) = reader.next_block() {
        let Ok(Block::EnhancedPacket(packet)) = block else {
            continue;
        };
        let (mut comments, mut leaves) = (Vec::new(), None);
        for option in &packet.options {
            match option {
                EnhancedPacketOption::Comment(text) => comments.push(text.to_string()),
                EnhancedPacketOption::Flags(flags) => leaves = Some(flags & 3 == 2),
                _ => {}
            }
        }
        seen.push(Seen {
            ns: Since::as_nanos(&packet.timestamp),
            bytes: packet.data.to_vec(),
            length: packet.original_len,
            comments,
            leaves: leaves.unwrap_or_else(|| panic!("no direction")),
        });
    }
    assert_eq!(seen.len(), file.packets, "{place}");
    seen
}

fn link(kbps: u64, ms: u64) -> LinkInfo {
    LinkInfo {
        rate: Rate::from_bps(kbps * 1000).unwrap_or(Rate::from_mbps(1)),
        delay: Duration::from_millis(ms),
    }
}

fn run(profile: &str, scheme: &str, knobs: &[(&str, &str)]) -> TraceRun {
    TraceRun {
        handoff: Handoff {
            old: link(6400, 9),
            new: link(200, 300),
            kind: HandoffKind::MakeBeforeBreak,
            spares_uplink: true,
            notice_delay: Some(Duration::ZERO),
            fixed: REFERENCE_FIXED,
            flows: Flows::ONE,
        },
        at: Some(Instant::from_nanos(1_500_000_000)),
        scheme: scheme.into(),
        resident_scheme: "sack".into(),
        flow: 0,
        profile: profile.into(),
        knobs: knobs
            .iter()
            .map(|&(name, value)| (name.into(), value.into()))
            .collect(),
        packets: 100,
        end: Instant::from_nanos(60_000_000_000),
    }
}

fn roaming(scheme: &str) -> Roaming {
    Roaming {
        backbone: link(100_000, 50),
        access: link(10_000, 3),
        wireless: link(2_000, 5),
        limit: 50,
        loss: read_loss("uniform 1%").ok(),
        back_loss: None,
        script: Vec::new(),
        back_script: Vec::new(),
        stations: 2,
        fixed: vec![0, 1],
        handoffs: Some(RoamingHandoffs {
            every: Duration::from_secs(5),
            advertisement: Duration::from_millis(100),
            blackout: Duration::ZERO,
            signal: SignalFate {
                lost: 0.0,
                copies: 1,
                delay: Duration::ZERO,
            },
            foresight: HandoffPrediction {
                late: Duration::ZERO,
                early: Duration::ZERO,
                missed: 0.0,
            },
        }),
        forgery: None,
        scheme: scheme.into(),
        profile: "ns2".into(),
        knobs: Vec::new(),
        policies: Vec::new(),
        seed: 1,
        runs: vec![0],
        end: Instant::from_nanos(16_000_000_000),
    }
}

/// Headers add up, and both checksums are those of the packet.
fn check_headers(packet: &Seen) {
    let ip = Ipv4HeaderSlice::from_slice(&packet.bytes).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(u32::from(ip.total_len()), packet.length);
    assert_eq!(
        packet.bytes.len() as u32,
        packet.length,
        "all bytes are kept"
    );
    assert_eq!(ip.header_checksum(), ip.to_header().calc_header_checksum());
    let tcp = packet.tcp();
    let payload = &packet.bytes[20 + tcp.slice().len()..];
    let sum = tcp.calc_checksum_ipv4(&ip, payload);
    assert_eq!(Some(tcp.checksum()), sum.ok());
    let options: Result<Vec<_>, _> = tcp.options_iterator().collect();
    let known = options.is_ok() || !packet.experiments().is_empty();
    assert!(known, "{options:?}");
}

/// The events of these names, as time and value.
fn events(rows: &[TraceRow], names: &[&str]) -> Vec<(u128, i64)> {
    rows.iter()
        .filter(|row| names.contains(&row.event))
        .map(|row| (u128::from(row.at.as_nanos()), row.value as i64))
        .collect()
}

/// The sender's capture equals the trace in bytes: every segment and ACK at its instant with its
/// number, with and without timestamps, also where the numbers wrap at 2^32.
#[test]
fn the_senders_capture_is_the_trace_in_bytes() {
    for (profile, payload) in [("ns2", 1460), ("rfc", 1448)] {
        let run = run(profile, "enhanced", &[]);
        let (rows, digest) = trace(&run, &mut || true).unwrap_or_else(|e| panic!("{e}"));
        let (captures, seen) = capture(&run, 0, &mut || true).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(digest, seen, "{profile}: to look changes nothing");
        let sender = read(&captures, "sender");
        sender.iter().for_each(check_headers);
        let number = |byte: u32| i64::from(byte.wrapping_sub(1)) / payload + 1;
        let (mut data, mut acks) = (Vec::new(), Vec::new());
        for packet in &sender {
            let tcp = packet.tcp();
            assert_eq!(packet.leaves, packet.is_data());
            if packet.is_data() {
                let syn = tcp.syn();
                assert_eq!(syn, tcp.sequence_number() == 0);
                assert!(syn || packet.length == 1500, "{}", packet.length);
                let seq = if syn {
                    0
                } else {
                    number(tcp.sequence_number())
                };
                data.push((packet.ns, seq));
            } else {
                acks.push((packet.ns, number(tcp.acknowledgment_number()) - 1));
            }
        }
        assert_eq!(data, events(&rows, &["send", "rexmit"]), "{profile}");
        assert_eq!(acks, events(&rows, &["ack"]), "{profile}");
        let first = sender.iter().find(|p| !p.is_data());
        assert!(first.is_some_and(|p| p.tcp().syn()), "SYN/ACK");
    }
}

/// Packets are equal byte for byte at all points: a packet that arrives was sent before, with the
/// same timestamps and windows.
#[test]
fn a_packet_looks_the_same_at_every_place() {
    for (profile, scheme) in [("ns2", "sack"), ("rfc", "sack"), ("rfc", "ehn")] {
        let run = run(profile, scheme, &[]);
        let (captures, _) = capture(&run, 0, &mut || true).unwrap_or_else(|e| panic!("{e}"));
        let [sender, receiver, bs1, bs2] =
            ["sender", "receiver", "bs1", "bs2"].map(|place| read(&captures, place));
        let mut stations = bs1.clone();
        stations.extend(bs2.iter().cloned());
        let came_from = |to: &[Seen], from: &[Seen], data: bool| {
            let mut count = 0;
            for packet in to.iter().filter(|p| p.is_data() == data) {
                let is_it = |p: &&Seen| p.bytes == packet.bytes && p.ns < packet.ns;
                assert!(from.iter().any(|p| is_it(&p)), "{profile}: {packet:?}");
                count += 1;
            }
            count
        };
        assert!(came_from(&stations, &sender, true) > 100);
        assert!(came_from(&receiver, &stations, true) > 100);
        assert!(came_from(&stations, &receiver, false) > 50);
        assert!(came_from(&sender, &stations, false) > 50);
        assert!(!bs1.is_empty() && !bs2.is_empty());
    }
}

/// Of several flows the requested one is captured at its ends, all flows at the stations.
#[test]
fn each_of_several_flows_can_be_seen() {
    let mut run = run("ns2", "sack", &[]);
    run.handoff.flows.moving = 2;
    for flow in 0..2 {
        let run = TraceRun {
            flow,
            ..run.clone()
        };
        let (rows, digest) = trace(&run, &mut || true).unwrap_or_else(|e| panic!("{e}"));
        let (captures, seen) = capture(&run, 128, &mut || true).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(digest, seen);
        let ports = |place: &str| {
            let packets = read(&captures, place);
            let data = packets.iter().filter(|p| p.is_data());
            let mut ports: Vec<_> = data.map(|p| p.tcp().source_port()).collect();
            let sent = ports.len();
            ports.sort_unstable();
            ports.dedup();
            (ports, sent)
        };
        let own = 49_152 + flow as u16;
        let sent = events(&rows, &["send", "rexmit"]).len();
        assert_eq!(ports("sender"), (vec![own], sent));
        assert_eq!(ports("receiver").0, [own]);
        assert_eq!(ports("bs1").0, [49_152, 49_153]);
    }
}

/// SACK blocks in bytes agree with the segments that the receiver has accepted.
#[test]
fn sack_blocks_lie_above_the_ack_and_on_segments_that_arrived() {
    let run = run("rfc", "sack", &[]);
    let (captures, _) = capture(&run, 128, &mut || true).unwrap_or_else(|e| panic!("{e}"));
    let receiver = read(&captures, "receiver");
    let (mut arrived, mut blocks) = (Vec::new(), 0);
    for packet in &receiver {
        let tcp = packet.tcp();
        if packet.is_data() {
            arrived.push(tcp.sequence_number());
            continue;
        }
        for option in tcp.options_iterator().flatten() {
            let TcpOptionElement::SelectiveAcknowledgement(first, more) = option else {
                continue;
            };
            for (left, right) in std::iter::once(first).chain(more.into_iter().flatten()) {
                let above = left > tcp.acknowledgment_number();
                let dsack = (right - left == 1448) && !above;
                assert!(above || dsack, "{left} {right}");
                for byte in (left..right).step_by(1448) {
                    assert!(arrived.contains(&byte), "{byte} of {left}:{right}");
                }
                blocks += 1;
            }
        }
    }
    assert!(blocks > 100, "{blocks}");
}

/// The node's signals are in the headers: a closed window, the open window, a mark.
#[test]
fn zero_windows_and_handoff_marks_are_in_the_headers() {
    let seen = |scheme: &str, place: &str| {
        let roaming = roaming(scheme);
        let until = roaming.end;
        let (captures, digest) =
            capture_roaming(&roaming, 0, until, 0, &mut || true).unwrap_or_else(|e| panic!("{e}"));
        let traced = trace_roaming(&roaming, 0, Instant::ZERO, until, &[], &mut || true);
        assert_eq!(traced.map(|t| t.1).ok(), Some(digest));
        let packets = read(&captures, place);
        packets.iter().for_each(check_headers);
        packets
    };
    let windows = |packets: &[Seen]| -> Vec<u16> {
        let acks = packets.iter().filter(|p| !p.is_data() && !p.tcp().syn());
        let mut windows: Vec<_> = acks.map(|p| p.tcp().window_size()).collect();
        windows.dedup();
        windows
    };
    let marks = |packets: &[Seen]| -> Vec<Vec<u8>> {
        let each = packets.iter().flat_map(Seen::experiments);
        each.map(<[u8]>::to_vec).collect()
    };
    // 10,000 segments of 1460 bytes need a shift of 8: 14,600,000 / 256, rounded up.
    assert_eq!(windows(&seen("sack", "sender")), [57_032]);
    // Closed and opened again for each of the three handoffs.
    let freeze = windows(&seen("freeze", "sender"));
    assert_eq!(freeze, [57_032, 0].repeat(4)[..7].to_vec());
    assert!(marks(&seen("freeze", "sender")).is_empty());
    for place in ["sender", "receiver"] {
        let packets = seen("ehn", place);
        let marks = marks(&packets);
        assert_eq!(marks.len(), 3, "{place}");
        for (i, mark) in marks.iter().enumerate() {
            let [0x4D, 0x46, 0, number, ms @ ..] = &mark[..] else {
                panic!("{mark:?}")
            };
            assert_eq!(usize::from(*number), i + 1);
            let ms = ms.iter().fold(0, |sum, &byte| 256 * sum + u64::from(byte));
            let handoff = 5000 * (i as u64 + 1);
            assert!((handoff..=handoff + 100).contains(&ms), "{ms}");
        }
        let comments: Vec<_> = packets.iter().flat_map(|p| &p.comments).collect();
        assert!(comments.iter().any(|c| c.contains("handoff mark 2")));
        let restored = comments.iter().any(|c| c.starts_with("ehn-restore: "));
        assert_eq!(restored, place == "sender", "orders are the sender's");
    }
}

/// At a station the fixed nodes' packets are captured too, and lost packets have the place of the
/// loss.
#[test]
fn access_links_show_all_flows_and_losses() {
    let roaming = roaming("sack");
    let (captures, _) = capture_roaming(&roaming, 0, roaming.end, 128, &mut || true)
        .unwrap_or_else(|e| panic!("{e}"));
    let ports = |place: &str| {
        let seen = read(&captures, place);
        let data = seen.iter().filter(|p| p.is_data());
        let mut ports: Vec<_> = data.map(|p| p.tcp().source_port()).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    };
    assert_eq!(ports("sender"), [49_152]);
    assert_eq!(ports("station0"), [49_152]);
    assert_eq!(ports("station1"), [49_152, 49_153]);
    let rows = trace_roaming(
        &roaming,
        0,
        Instant::ZERO,
        roaming.end,
        &["drop".into()],
        &mut || true,
    );
    let rows = rows.map_or_else(|e| panic!("{e}"), |(rows, _)| rows);
    let data = rows.iter().filter(|row| row.detail.starts_with("data"));
    let sender = read(&captures, "sender");
    let lost = |p: &&Seen| p.comments.iter().any(|c| c.starts_with("lost at"));
    let lost = sender.iter().filter(|p| p.is_data()).filter(lost).count();
    assert_eq!(lost, data.count());
    assert!(lost > 10);
    assert!(sender.iter().all(|p| p.bytes.len() <= 128));
}

/// At the router of a long-lived flow that flow is captured, held by the pause and after it.
#[test]
fn a_long_flow_is_seen_at_its_radio_link() {
    let radio = |link| Radio {
        link,
        limit: 50,
        loss: None,
        reordering: None,
        script: Vec::new(),
    };
    let flow = LongFlow {
        wired: link(20_000, 1),
        wired_limit: 30,
        radio: radio(link(2_000, 10)),
        handoff: Some(FlowHandoff {
            at: Instant::from_nanos(3_000_000_000),
            pause: Duration::from_millis(500),
            second: radio(link(500, 100)),
            notice_delay: None,
        }),
        cross: CrossTraffic {
            flows: 2,
            delay: Duration::from_millis(13),
            spread: Duration::ZERO,
        },
        overhead: Duration::ZERO,
        scheme: "frto".into(),
        profile: "rfc".into(),
        knobs: Vec::new(),
        policies: Vec::new(),
        seed: 1,
        runs: vec![0],
        marks: vec![Instant::from_nanos(6_000_000_000)],
    };
    let until = flow.marks[0];
    let (captures, digest) =
        capture_long_flow(&flow, 0, until, 0, &mut || true).unwrap_or_else(|e| panic!("{e}"));
    let (rows, traced) = trace_long_flow(&flow, 0, Instant::ZERO, until, &[], &mut || true)
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(digest, traced);
    let seen = read(&captures, "radio");
    seen.iter().for_each(check_headers);
    assert!(seen
        .iter()
        .all(|p| [p.tcp().source_port(), p.tcp().destination_port()].contains(&49_152)));
    let arrived = events(&rows, &["rcv"]).len();
    let data = seen.iter().filter(|p| p.is_data()).count();
    assert!(data >= arrived && arrived > 300, "{data} {arrived}");
    let comments: Vec<_> = seen.iter().flat_map(|p| &p.comments).collect();
    assert!(comments.iter().any(|c| c.contains("old link breaks")));
}

#[test]
fn segments_that_no_packet_can_hold_are_refused() {
    let of = |timestamps: &str, bytes: &str| {
        let knobs = [("timestamps", timestamps), ("segment_bytes", bytes)];
        let captured = capture(&run("ns2", "sack", &knobs), 0, &mut || true);
        captured.map_or_else(|e| e.to_string(), |_| "fine".into())
    };
    assert_eq!([of("off", "41"), of("on", "53")], ["fine", "fine"]);
    let refused = of("on", "52");
    assert!(
        refused.contains("52") && refused.contains("53"),
        "{refused}"
    );
    assert_eq!(of("off", "65515"), "fine");
    assert!(
        of("off", "65516").contains("65515"),
        "options of IP and TCP may be added"
    );
}
