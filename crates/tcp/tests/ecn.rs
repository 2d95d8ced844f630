//! Explicit congestion notification of the profile `linux` (RFC 3168 sections 6.1.2 and 6.1.3).

#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_tcp::{
    profile, Ack, AckOption, Content, EcnCodepoint, Profile, Receiver, SackBlocks, Segment, Sender,
};
use midflight_units::{Duration, Instant};

use crate::common::segment;

fn linux() -> Profile {
    let mut profile = profile("linux").unwrap_or_else(|e| panic!("{e}"));
    profile.set("ecn", "on").unwrap_or_else(|e| panic!("{e}"));
    profile.check().unwrap_or_else(|e| panic!("{e}"));
    profile
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(1_000_000 * ms)
}

fn data(seq: u64, ms: u64, ecn: EcnCodepoint, cwr: bool) -> Segment {
    Segment {
        ecn,
        cwr,
        ..segment(seq, at(ms))
    }
}

/// Every ACK after the mark carries the echo, until the sender reports that it has reduced its window; both
/// events cause an immediate ACK.
#[test]
fn a_receiver_echoes_a_mark_until_it_is_answered() {
    let mut receiver = Receiver::new(linux().receiver);
    assert!(receiver
        .on_segment(at(0), &data(0, 0, EcnCodepoint::NotCapable, false))
        .is_some());
    // After the quick ACKs of the beginning.
    let mut seq = 1;
    for ms in 100..160 {
        let ack = receiver.on_segment(at(ms), &data(seq, ms, EcnCodepoint::Capable, false));
        assert!(ack.is_none_or(|ack| ack.option == AckOption::Nothing));
        seq += 1;
    }
    let mut options = Vec::new();
    for (ms, ecn, cwr) in [
        (160, EcnCodepoint::Congestion, false),
        (161, EcnCodepoint::Capable, false),
        (162, EcnCodepoint::Capable, false),
        (163, EcnCodepoint::Capable, false),
        (164, EcnCodepoint::Capable, true),
        (165, EcnCodepoint::Capable, false),
        (166, EcnCodepoint::Capable, false),
    ] {
        let ack = receiver.on_segment(at(ms), &data(seq, ms, ecn, cwr));
        options.push(ack.map(|ack| ack.option));
        seq += 1;
    }
    assert_eq!(options[0], Some(AckOption::Congested));
    assert!(options[1..4]
        .iter()
        .flatten()
        .all(|option| *option == AckOption::Congested));
    assert_eq!(options[4], Some(AckOption::Nothing));
    assert!(options[5..]
        .iter()
        .flatten()
        .all(|option| *option == AckOption::Nothing));
}

fn ack(number: u64, option: AckOption, ms: u64) -> Ack {
    Ack {
        ack: number,
        sack: SackBlocks::default(),
        echo: Some(at(ms)),
        cause_sent: at(ms),
        offset: 0,
        option,
        window: None,
        stamp_ms: 0,
        extra_bytes: 0,
    }
}

/// New data carries ECT, the SYN and retransmissions do not; an echo reduces the window once per round trip,
/// and the next new segment carries CWR.
#[test]
fn a_sender_reduces_once_and_says_so() {
    let profile = linux();
    let mut sender = Sender::new(&profile.sender, &profile.parts, []);
    let log = &mut ();
    sender.open(at(0), log);
    let drain = |sender: &mut Sender, ms| -> Vec<Segment> {
        std::iter::from_fn(|| sender.poll_transmit(at(ms))).collect()
    };
    let syn = drain(&mut sender, 0);
    assert_eq!(syn[0].ecn, EcnCodepoint::NotCapable);
    sender.on_ack(at(50), &ack(1, AckOption::Nothing, 0), log);
    let first = drain(&mut sender, 50);
    let carry = |segment: &&Segment| segment.has_data() && segment.content == Content::Data;
    let capable = |segments: &[Segment]| {
        let mut of_data = segments.iter().filter(carry);
        of_data.all(|s| s.ecn == EcnCodepoint::Capable)
    };
    assert!(first.len() >= 10 && capable(&first));
    assert!(first.iter().all(|segment| !segment.cwr));
    let before = sender.view().cwnd;
    let mut reductions = 0;
    // All of the window is acknowledged with the echo.
    for number in 2..=11 {
        let ms = 100 + number;
        sender.on_ack(at(ms), &ack(number, AckOption::Congested, 50), log);
        let sent = drain(&mut sender, ms);
        assert!(capable(&sent));
        reductions += sent.iter().filter(|segment| segment.cwr).count();
    }
    assert_eq!(reductions, 1);
    let after = sender.view();
    assert!(after.ssthresh < before, "{} {before}", after.ssthresh);
    assert!(after.ssthresh >= (0.7 * before).floor() - 1.0);
    // A retransmission after the timer carries no ECT.
    let mut again = Vec::new();
    for second in 1..6 {
        let due = at(100) + Duration::from_secs(second);
        sender.on_timer(due, log);
        again.extend(std::iter::from_fn(|| sender.poll_transmit(due)));
    }
    let resent = again.iter().filter(|segment| segment.retransmission);
    let resent: Vec<_> = resent.map(|segment| segment.ecn).collect();
    assert!(!resent.is_empty());
    assert!(resent.iter().all(|ecn| *ecn == EcnCodepoint::NotCapable));
}

/// The recovery of other profiles does not respond to marks.
#[test]
fn other_recoveries_refuse_it() {
    for name in ["rfc", "ns2"] {
        let mut profile = profile(name).unwrap_or_else(|e| panic!("{e}"));
        profile.set("ecn", "on").unwrap_or_else(|e| panic!("{e}"));
        let refused = profile.check().err().map(|e| e.to_string());
        assert!(refused.is_some_and(|said| said.contains("choose recovery linux")));
    }
}
