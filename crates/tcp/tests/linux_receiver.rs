//! The receiver of the profile `linux`.

#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_tcp::{profile, Ack, Receiver, Segment};
use midflight_units::{Duration, Instant};

use crate::common::segment;

fn at(ms: u64) -> Instant {
    Instant::from_nanos(1_000_000 * ms)
}

fn data(seq: u64, ms: u64, echo_ms: u32) -> Segment {
    Segment {
        echo_ms,
        ..segment(seq, at(ms))
    }
}

/// Which of two segments after a gap of 400 ms are acknowledged at once. The SYN-ACK was sent `syns` times, and the
/// data echoes the timestamp of the last one, or none.
fn acked_after_a_gap(syns: u64, echoes: bool) -> [bool; 2] {
    let config = profile("linux").unwrap_or_else(|e| panic!("{e}")).receiver;
    let mut receiver = Receiver::new(config);
    let mut echo_ms = 0;
    for syn in 0..syns {
        let now = 1000 * (1 + syn);
        let ack = receiver.on_segment(at(now), &data(0, now, 0));
        let ack = ack.unwrap_or_else(|| panic!("no SYN-ACK"));
        if echoes {
            echo_ms = ack.stamp_ms;
        }
    }
    let begin = 1000 * syns + 20;
    // After the quick ACKs of the beginning and of a growing window, up to a segment that is acknowledged.
    let mut segments = 0;
    let mut is_acked = false;
    while segments < 1000 || !is_acked {
        segments += 1;
        let segment = data(segments, begin + segments, echo_ms);
        is_acked = receiver
            .on_segment(at(begin + segments), &segment)
            .is_some();
    }
    [1, 2].map(|more| {
        let now = begin + segments + 400 + more;
        let segment = data(segments + more, now, echo_ms);
        receiver.on_segment(at(now), &segment).is_some()
    })
}

/// tcp_event_data_recv() sends quick ACKs after a gap longer than the timeout, 1 s without a sample. The handshake gives
/// one; if the SYN-ACK was sent again, its timestamp does (tcp_synack_rtt_meas()).
#[test]
fn quick_acks_return_after_a_gap_longer_than_the_timeout() {
    assert_eq!(acked_after_a_gap(1, true), [true, true]);
    assert_eq!(acked_after_a_gap(2, true), [true, true]);
    assert_eq!(acked_after_a_gap(2, false), [false, true]);
}

/// A receiver with this `gro_flush_timeout`, which has got the SYN and so many segments one by one, a millisecond each; and
/// when the next one is sent.
fn merging(timeout: &str, segments: u64) -> (Receiver, Instant) {
    let mut linux = profile("linux").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(linux.set("gro_flush_timeout", timeout), Ok(()));
    let mut receiver = Receiver::new(linux.receiver);
    let syn_ack = receiver.on_segment(at(1000), &data(0, 1000, 0));
    assert!(syn_ack.is_some(), "a SYN is not held");
    for seq in 1..=segments {
        let now = 1020 + 4 * seq;
        receiver.on_segment(at(now), &data(seq, now, 1000));
        expire(&mut receiver, at(now + 3));
    }
    (receiver, at(1024 + 4 * segments))
}

/// Everything that is sent because a timer expires until then.
fn expire(receiver: &mut Receiver, until: Instant) -> Vec<(Instant, Ack)> {
    let mut acks = Vec::new();
    while let Some((due, _)) = receiver.poll_timer().filter(|(due, _)| *due <= until) {
        acks.extend(receiver.on_timer(due).map(|ack| (due, ack)));
    }
    acks
}

/// Segments of one millisecond, 20 us apart; returns the ACKs and when they were sent.
fn train(receiver: &mut Receiver, from: Instant, seqs: std::ops::Range<u64>) -> Vec<(u64, u64)> {
    let mut acks = Vec::new();
    for (place, seq) in seqs.enumerate() {
        let now = from + Duration::from_micros(20 * place as u64);
        let segment = Segment {
            sent: from,
            ..data(seq, 0, 1000)
        };
        acks.extend(expire(receiver, now));
        acks.extend(receiver.on_segment(now, &segment).map(|ack| (now, ack)));
    }
    acks.extend(expire(receiver, from + Duration::from_millis(3)));
    let of = |(sent, ack): (Instant, Ack)| (sent.since(from).as_nanos() / 1000, ack.ack);
    acks.into_iter().map(of).collect()
}

/// tcp_rcv_established() gets six segments as one packet, 50 us after the last of them, and acknowledges it at once because it
/// is more than a full segment. One by one every second is acknowledged.
#[test]
fn merged_segments_have_one_ack() {
    let (mut receiver, now) = merging("50 us", 600);
    assert_eq!(train(&mut receiver, now, 601..607), [(150, 607)]);
    let (mut receiver, now) = merging("0 s", 600);
    let acks = train(&mut receiver, now, 601..607);
    assert_eq!(acks.len(), 3, "{acks:?}");
    // Segments that come later than the timeout are not merged.
    let (mut receiver, now) = merging("19 us", 600);
    let later: Vec<(u64, u64)> = acks.iter().map(|(at, ack)| (at + 19, *ack)).collect();
    assert_eq!(train(&mut receiver, now, 601..607), later);
}

/// A packet above a gap is one packet for the receiver too: its SACK block comes once, and what fills the gap is
/// acknowledged at once.
#[test]
fn segments_above_a_gap_are_merged() {
    let (mut receiver, now) = merging("50 us", 600);
    assert_eq!(train(&mut receiver, now, 602..605), [(90, 601)]);
    let now = now + Duration::from_millis(4);
    assert_eq!(train(&mut receiver, now, 601..602), [(50, 605)]);
}

/// Of segments that are sent again together the first ones had arrived: tcp_data_queue() reports these as duplicates
/// (DSACK) and takes the others.
#[test]
fn a_packet_that_is_known_in_part_is_reported() {
    let (mut receiver, now) = merging("50 us", 600);
    let again: Vec<Segment> = (600..603)
        .map(|seq| Segment {
            sent: now,
            ..data(seq, 0, 1000)
        })
        .collect();
    for segment in &again {
        assert!(receiver.on_segment(now, segment).is_none());
        assert!(receiver.knows(segment).0, "it has arrived, if not at TCP");
    }
    let acks = expire(&mut receiver, now + Duration::from_millis(1));
    let [(_, ack)] = acks.as_slice() else {
        panic!("{acks:?}");
    };
    let blocks: Vec<(u64, u64)> = ack.sack.iter(ack.ack).map(|b| (b.left, b.right)).collect();
    assert_eq!((ack.ack, blocks), (603, vec![(600, 601)]));
}

/// How many milliseconds after the first data the window exceeds its first limit. The sample of the RTT is 50 ms with the first
/// data, and 100 ms with the second; the others echo the same timestamp. A segment arrives
/// every 4 ms.
fn window_grows_after(opens_with_data: bool) -> u64 {
    let config = profile("linux").unwrap_or_else(|e| panic!("{e}")).receiver;
    let mut receiver = Receiver::new(config);
    let syn_ack = receiver.on_segment(at(1000), &data(0, 1000, 0));
    let stamp = syn_ack.unwrap_or_else(|| panic!("no SYN-ACK")).stamp_ms;
    if !opens_with_data {
        receiver.on_bare(at(1100), 1, at(1050));
    }
    for seq in 1..=300 {
        let now = 1096 + 4 * seq;
        let echo_ms = stamp + if seq == 1 { 50 } else { 4 };
        let ack = receiver.on_segment(at(now), &data(seq, now, echo_ms));
        if ack.is_some_and(|ack| ack.window.is_some_and(|window| window.get() > 81_920)) {
            return now - 1100;
        }
    }
    panic!("the window stays");
}

/// Data that acknowledges the SYN-ACK does not come to tcp_rcv_established(), so that its timestamp is no sample. RTTs are 50 +
/// (100 - 50) / 8 ms, and 100 ms; the ACK after the next segment has the window.
#[test]
fn data_that_ends_the_handshake_gives_no_rtt() {
    assert_eq!(window_grows_after(false), 64);
    assert_eq!(window_grows_after(true), 104);
}
