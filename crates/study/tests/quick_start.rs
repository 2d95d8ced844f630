//! Quick-Start over the network of a handoff: the senders' requests, the routers' decisions, and the
//! packets on the wire.
#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_control::LinkInfo;
use midflight_study::{CrossTraffic, Flows, Handoff, HandoffKind, LongFlow, Radio, TraceRow};
use midflight_units::{Duration, Instant, Rate};
use pcap_file::pcapng::{Block, PcapNgReader};

use crate::one_run::{capture, trace, trace_long_flow, TraceRun};

fn link(kbps: u64, ms: u64) -> LinkInfo {
    LinkInfo {
        rate: Rate::from_bps(kbps * 1000).unwrap_or(Rate::from_mbps(1)),
        delay: Duration::from_millis(ms),
    }
}

/// A start over 6 Mbit/s and 50 ms and a handoff to 50 Mbit/s and 15 ms at 5 s.
fn run(knobs: &[(&str, &str)], flows: u32, flow: u32) -> TraceRun {
    TraceRun {
        handoff: Handoff {
            old: link(6_000, 50),
            new: link(50_000, 15),
            kind: HandoffKind::MakeBeforeBreak,
            spares_uplink: true,
            notice_delay: Some(Duration::ZERO),
            fixed: link(100_000, 20),
            flows: Flows {
                moving: flows,
                start_notice: true,
                ..Flows::ONE
            },
        },
        at: Some(Instant::from_nanos(5_000_000_000)),
        scheme: "quick-start".into(),
        resident_scheme: "sack".into(),
        flow,
        profile: "ns2".into(),
        knobs: knobs
            .iter()
            .map(|&(name, value)| (name.into(), value.into()))
            .collect(),
        packets: 500,
        end: Instant::from_nanos(20_000_000_000),
    }
}

fn rows(run: &TraceRun) -> Vec<TraceRow> {
    trace(run, &mut || true).map_or_else(|e| panic!("{e}"), |(rows, _)| rows)
}

/// Events about rates: the time in ms and the text.
fn said(rows: &[TraceRow]) -> Vec<(u64, String)> {
    let about = ["asks for", "approves", "reports"];
    rows.iter()
        .filter(|row| about.iter().any(|word| row.detail.starts_with(word)))
        .map(|row| (row.at.as_nanos() / 1_000_000, row.detail.clone()))
        .collect()
}

/// 85 % of 6 Mbit/s are 5.1, which the encoding rounds down to 2.56; of 50 they are
/// 42.5, down to 40.96.
#[test]
fn a_rate_is_asked_for_approved_used_and_reported() {
    let rows = rows(&run(&[], 1, 0));
    let said = said(&rows);
    let words: Vec<_> = said.iter().map(|(_, words)| words.as_str()).collect();
    assert_eq!(
        words,
        [
            "asks for 10240 kbit/s",
            "approves 2560 kbit/s",
            "reports 2560 kbit/s",
            "asks for 81920 kbit/s",
            "approves 40960 kbit/s",
            "reports 40960 kbit/s"
        ]
    );
    // The idle round trip, 2 x (20 + 20 + 50) ms and what the packets take, and the delay of the
    // SYN's ACK.
    assert_eq!([said[0].0, said[1].0, said[2].0], [0, 280, 280]);
    assert_eq!(said[3].0, 5_002, "with the first segment after the notice");
    // 38 segments at 2.56 Mbit/s, 12,000 bits each: one every 4.6875 ms.
    let sent = rows
        .iter()
        .filter(|row| row.event == "send" && row.value >= 1.0);
    let times: Vec<u64> = sent.take(38).map(|row| row.at.as_nanos()).collect();
    let gaps: Vec<u64> = times.windows(2).map(|t| t[1] - t[0]).collect();
    assert_eq!(gaps, vec![4_687_500; 37]);
    // 280.0 ms of the round trip that the answer took: 59 segments.
    let opened = |rows: &[TraceRow]| {
        let mut windows = rows.iter().filter(|row| row.event == "cwnd");
        windows.find(|row| row.value > 4.0).map(|row| row.value)
    };
    assert_eq!(opened(&rows), Some(59.0));
    // Without the delay of the SYN's ACK.
    let rows = self::rows(&run(&[("delay_syn_ack", "off")], 1, 0));
    assert_eq!(self::said(&rows)[1].0, 180);
    assert_eq!(opened(&rows), Some(38.0));
}

/// After a second without a link the first segment that is sent is a retransmission. It carries a
/// request, and the approved rate opens the window: the segments that a timeout would retransmit
/// starting with one are paced.
#[test]
fn after_an_outage_a_retransmission_requests_a_rate_and_others_are_paced() {
    let shared = run(&[], 1, 0);
    let make = 6_000_000_000;
    let run = TraceRun {
        handoff: Handoff {
            new: shared.handoff.old,
            kind: HandoffKind::BreakBeforeMake {
                gap: Duration::from_secs(1),
            },
            ..shared.handoff
        },
        ..shared
    };
    let rows = rows(&run);
    let after = |row: &&TraceRow| row.at.as_nanos() >= make;
    let mut sent = rows
        .iter()
        .filter(after)
        .filter(|row| ["send", "rexmit"].contains(&row.event));
    let first = sent.next().map(|row| (row.event, row.detail.as_str()));
    assert_eq!(first, Some(("rexmit", "asks for 10240 kbit/s")));
    let approved = rows
        .iter()
        .filter(after)
        .find(|row| row.detail == "approves 2560 kbit/s");
    let at = approved.map_or_else(|| panic!("not answered"), |row| row.at);
    // 12,000 bits at 2.56 Mbit/s.
    let next = sent.filter(|row| row.at >= at).take(10);
    let times: Vec<u64> = next.map(|row| row.at.as_nanos()).collect();
    let gaps: Vec<u64> = times.windows(2).map(|t| t[1] - t[0]).collect();
    assert_eq!(gaps, vec![4_687_500; 9]);
}

/// RFC 4782 figure 2: a path on which no router takes part.
#[test]
fn routers_that_take_no_part_are_found_out_by_the_ttl() {
    let rows = rows(&run(&[("quick_start_routers", "none")], 1, 0));
    let orders: Vec<_> = rows.iter().filter(|r| r.event == "order").collect();
    let denied = orders.iter().filter(|r| r.detail.contains("takes no part"));
    assert_eq!(denied.count(), 2, "at the start and after the handoff");
    assert!(!orders.iter().any(|r| r.detail.contains("set cwnd")));
    // The returned rate equals the requested one; only the TTL shows it.
    let said = said(&rows);
    assert_eq!(said[1].1, "approves 10240 kbit/s");
    assert_eq!(said[2].1, "reports no rate");
}

/// A sender whose request is denied sends the same as a plain one, including a SYN's delayed ACK. The
/// options take a few microseconds.
#[test]
fn a_denied_request_leaves_the_plain_sender() {
    let sent = |scheme: &str| -> Vec<(u64, u64)> {
        let ms = |row: &TraceRow| row.at.as_nanos() / 1_000_000;
        let run = TraceRun {
            scheme: scheme.into(),
            at: None,
            end: Instant::from_nanos(4_000_000_000),
            ..run(&[("quick_start_routers", "none")], 1, 0)
        };
        let rows = rows(&run);
        let sends = rows
            .iter()
            .filter(|r| ["send", "rexmit"].contains(&r.event));
        sends.map(|r| (ms(r), r.value as u64)).collect()
    };
    let (plain, denied) = (sent("sack"), sent("quick-start"));
    let both = plain.len().min(denied.len());
    assert!(both > 300);
    assert_eq!(plain[..both], denied[..both]);
}

/// Four flows at one instant: 42.5 Mbit/s are granted once. The first takes 40.96, the others the rest
/// of 85 %.
#[test]
fn simultaneous_requests_share_the_routers_grant() {
    let mut at_start = Vec::new();
    for flow in 0..4 {
        let said = said(&rows(&run(&[], 4, flow)));
        let approved = said.iter().find(|(_, words)| words.starts_with("approves"));
        at_start.push(approved.map(|(_, words)| words.clone()));
    }
    // 5.1 Mbit/s: 2.56, then 2.54 are left: 1.28, 0.64, 0.32 (the SYNs count 1.6 kbit/s each).
    let expected = [2560, 1280, 640, 320].map(|kbps| Some(format!("approves {kbps} kbit/s")));
    assert_eq!(at_start, expected);
    // ns-2's routers reserve the whole available rate: nothing is left for the others.
    let ns2 = [("quick_start_booking", "unrounded")];
    for flow in 0..4 {
        let said = said(&rows(&run(&ns2, 4, flow)));
        let approved = said.iter().find(|(_, words)| words.starts_with("approves"));
        let words = approved
            .filter(|(at, _)| *at < 5_000)
            .map(|(_, w)| w.as_str());
        assert_eq!(
            words,
            (flow == 0).then_some("approves 2560 kbit/s"),
            "{flow}"
        );
    }
}

/// Six flows open 3 ms apart, and each is granted 5.12 of 8 Mbit/s by a router that forgets its grants
/// after 2 ms. The loss restores the window, and at the handoff there is no request.
#[test]
fn a_loss_in_the_approved_window_ends_quick_start() {
    let shared = run(
        &[
            ("quick_start_threshold", "100%"),
            ("quick_start_interval", "1ms"),
        ],
        6,
        1,
    );
    let run = TraceRun {
        handoff: Handoff {
            old: link(8_000, 1),
            new: link(50_000, 15),
            fixed: link(1_000_000, 30),
            flows: Flows {
                stagger: Duration::from_millis(3),
                ..shared.handoff.flows
            },
            ..shared.handoff
        },
        ..shared
    };
    let rows = rows(&run);
    let orders: Vec<_> = rows.iter().filter(|r| r.event == "order").collect();
    let said = |words: &str| {
        orders
            .iter()
            .find(|r| r.detail.contains(words))
            .map(|r| r.at)
    };
    assert!(said("set cwnd to").is_some(), "{orders:?}");
    let (lost, make) = (
        said("approved window is lost"),
        Instant::from_nanos(5_000_000_000),
    );
    assert!(lost.is_some_and(|lost| lost < make), "{orders:?}");
    let asked = orders.iter().filter(|r| r.detail.contains("ask the path"));
    assert_eq!(asked.count(), 1, "at the start only");
}

/// A handoff while a response is outstanding: the response is about the old path and is ignored, and a
/// request for the new link is sent after it (RFC 4782 section 4.1).
#[test]
fn an_answer_about_the_old_path_is_not_used() {
    let shared = run(&[], 1, 0);
    let run = TraceRun {
        handoff: Handoff {
            old: link(6_400, 300),
            new: link(200, 9),
            ..shared.handoff
        },
        at: Some(Instant::from_nanos(100_000_000)),
        packets: 100,
        ..shared
    };
    let rows = rows(&run);
    let said = said(&rows);
    let words: Vec<_> = said.iter().map(|(_, words)| words.as_str()).collect();
    let about_the_old = [
        "asks for 10240 kbit/s",
        "approves 5120 kbit/s",
        "reports no rate",
    ];
    assert_eq!(words[..3], about_the_old);
    assert_eq!(words[3], "asks for 320 kbit/s");
    let cwnd = rows.iter().filter(|r| r.event == "cwnd").map(|r| r.value);
    assert!(cwnd.fold(0.0, f64::max) < 100.0);
}

/// A SYN whose request is lost is retransmitted without one, and without a report (RFC 4782 section
/// 4.7.2).
#[test]
fn a_syn_sent_again_carries_nothing() {
    let shared = run(&[], 1, 0);
    let run = TraceRun {
        handoff: Handoff {
            kind: HandoffKind::BreakBeforeMake {
                gap: Duration::from_millis(500),
            },
            ..shared.handoff
        },
        at: Some(Instant::from_nanos(10_000_000)),
        packets: 100,
        ..shared
    };
    let rows = rows(&run);
    let syns = rows
        .iter()
        .filter(|r| r.value == 0.0 && ["send", "rexmit"].contains(&r.event));
    let carried: Vec<_> = syns.map(|r| r.detail.as_str()).collect();
    assert_eq!(carried, ["asks for 10240 kbit/s", ""]);
    assert!(said(&rows)
        .iter()
        .any(|(_, words)| words == "asks for 81920 kbit/s"));
}

/// In a network without these routers a request never gets a response.
#[test]
fn other_networks_do_not_answer() {
    let flow = LongFlow {
        wired: link(20_000, 1),
        wired_limit: 30,
        radio: Radio {
            link: link(2_000, 10),
            limit: 50,
            loss: None,
            reordering: None,
            script: Vec::new(),
        },
        handoff: Some(midflight_study::FlowHandoff {
            at: Instant::from_nanos(2_000_000_000),
            pause: Duration::from_millis(100),
            second: Radio {
                link: link(8_000, 50),
                limit: 50,
                loss: None,
                reordering: None,
                script: Vec::new(),
            },
            notice_delay: Some(Duration::ZERO),
        }),
        cross: CrossTraffic {
            flows: 0,
            delay: Duration::ZERO,
            spread: Duration::ZERO,
        },
        overhead: Duration::ZERO,
        scheme: "quick-start".into(),
        profile: "rfc".into(),
        knobs: Vec::new(),
        policies: Vec::new(),
        seed: 1,
        runs: vec![0],
        marks: vec![Instant::from_nanos(4_000_000_000)],
    };
    let traced = trace_long_flow(&flow, 0, Instant::ZERO, flow.marks[0], &[], &mut || true);
    let rows = traced.map_or_else(|e| panic!("{e}"), |(rows, _)| rows);
    let said = said(&rows);
    let words: Vec<_> = said.iter().map(|(_, words)| words.as_str()).collect();
    assert_eq!(words, ["asks for 10240 kbit/s", "reports no rate"]);
    let orders = rows.iter().filter(|r| r.event == "order");
    assert!(orders
        .clone()
        .any(|r| r.detail.contains("no router's answer")));
}

/// RFC 4782 sections 3.1 and 4.2: kind 25 of 8 bytes in the IP header, kind 27 of 8 in the ACK's.
#[test]
fn requests_and_responses_are_options_on_the_wire() {
    let (captures, _) = capture(&run(&[], 1, 0), 0, &mut || true).unwrap_or_else(|e| panic!("{e}"));
    let packets = |place: &str| {
        let found = captures.iter().find(|c| c.place == place);
        let file = found.map_or(&[][..], |c| &c.pcapng);
        let mut reader = PcapNgReader::new(file).unwrap_or_else(|e| panic!("{e}"));
        let mut packets = Vec::new();
        while let Some(Ok(block)) = reader.next_block() {
            if let Block::EnhancedPacket(packet) = block {
                packets.push(packet.data.to_vec());
            }
        }
        packets
    };
    let of_ip = |packet: &[u8]| {
        let length = usize::from(packet[0] & 0xF) * 4;
        packet[20..length].to_vec()
    };
    let (sent, received) = (packets("sender"), packets("receiver"));
    let (first, arrived) = (of_ip(&sent[0]), of_ip(&received[0]));
    // Rate request 8, lowered to 6 by R or its base station.
    assert_eq!(
        (&first[..3], &arrived[..3]),
        (&[25, 8, 8][..], &[25, 8, 6][..])
    );
    // Two routers on the path: R and the base station.
    assert_eq!(first[3].wrapping_sub(arrived[3]), 2, "QS TTL");
    assert_eq!(sent[0][8] - received[0][8], 2, "IP TTL");
    let nonce =
        |option: &[u8]| u32::from_be_bytes([option[4], option[5], option[6], option[7]]) >> 2;
    // The rightmost 2 x 6 bits are unchanged, the next four drawn again.
    assert_eq!((nonce(&first) ^ nonce(&arrived)) & 0xFFF, 0);
    let answer = &received[1];
    let options = &answer[40..];
    let place = options.windows(2).position(|w| w == [27, 8]);
    let option = place.map(|at| &options[at..at + 8]).unwrap_or_default();
    let ttl_diff = sent[0][8].wrapping_sub(first[3]);
    assert_eq!(option[2..4], [6, ttl_diff]);
    assert_eq!(option[4..8], arrived[4..8]);
    // The first data segment reports: function 8.
    let report = sent
        .iter()
        .skip(1)
        .map(|p| of_ip(p))
        .find(|o| !o.is_empty());
    assert_eq!(report.map(|o| o[..3].to_vec()), Some(vec![25, 8, 0x86]));
}
