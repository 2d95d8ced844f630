//! The receiver of the profile `linux`.

#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_tcp::{profile, Receiver, Segment};
use midflight_units::Instant;

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
