//! How a sender with a bandwidth estimate sets its window at a fast retransmit and at a timeout,
//! with every kind of recovery.
#![allow(clippy::panic, reason = "a failed test panics")]

use crate::common::{before, DrivenSender};
use midflight_control::policy::Policy;
use midflight_control::{LinkInfo, Notice};
use midflight_units::{Duration, Rate, Seq};

/// A flow with an RTT of half a second and ACKs every 100 ms that cover `each` segments: a window
/// of ten that has grown in congestion avoidance since. `each` segments in 100 ms are 10 `each`
/// segments per second, and `acks` ACKs are enough for the estimate to reach that.
fn steady(congestion: &str, recovery: &str, each: u64, acks: u64) -> DrivenSender {
    let mut hand = DrivenSender::closed(
        &[
            ("congestion", congestion),
            ("recovery", recovery),
            ("initial_window", "10"),
            ("initial_ssthresh", "2"),
        ],
        500,
    );
    assert_eq!(hand.send(), [0]);
    hand.ack(1);
    run_in(&mut hand, each, acks);
    hand
}

/// This many ACKs, 100 ms apart, of `each` segments.
fn run_in(hand: &mut DrivenSender, each: u64, acks: u64) {
    hand.step = Duration::from_millis(100);
    for i in 1..=acks {
        let echo = before(hand.now + hand.step, 500);
        hand.echo(1 + i * each, echo);
    }
}

/// This many duplicate ACKs, 100 ms apart; the first segment is missing.
fn duplicates(hand: &mut DrivenSender, count: u64) {
    let una = hand.sender.view().snd_una;
    for i in 1..=count {
        hand.sack(una, &[(una + 1, una + 1 + i)]);
    }
}

fn una(hand: &DrivenSender) -> Seq {
    hand.sender.view().snd_una
}

const RECOVERIES: [&str; 4] = ["reno", "newreno", "sack1", "sack"];

/// Segments by which fast recovery inflates the window for three duplicates.
fn inflated(recovery: &str) -> f64 {
    if recovery.starts_with("sack") {
        0.0
    } else {
        3.0
    }
}

/// 40 segments/s, then three duplicates of one segment in 100 ms. With
/// a = 9/11: (9 x 40 + 50) / 11 = 37.27, (9 x 37.27 + 20) / 11 = 32.31 and
/// (9 x 32.31 + 20) / 11 = 28.26 segments/s, which are 14.13 in 0.5 s. Half of
/// the window would be 12.
#[test]
fn a_window_above_the_estimate_is_cut_to_it() {
    for recovery in RECOVERIES {
        let mut hand = steady("westwood", recovery, 4, 60);
        assert_eq!(hand.window().0, 24, "{recovery}");
        duplicates(&mut hand, 3);
        assert_eq!(hand.seen.fast_retransmits, [una(&hand)], "{recovery}");
        let v = hand.sender.view();
        assert_eq!(
            (v.cwnd, v.ssthresh),
            (14.0 + inflated(recovery), 14.0),
            "{recovery}"
        );
        assert!(v.bandwidth.is_some_and(|b| (b - 28.26).abs() < 0.01));
    }
}

/// The same with 80 segments/s: 73.64, 62.07 and 52.60, which are 26.3 in 0.5 s. The window, 24, is
/// smaller: it does not change, in recovery and after it.
#[test]
fn a_window_below_the_estimate_is_neither_cut_nor_raised() {
    for recovery in RECOVERIES {
        let mut hand = steady("westwood", recovery, 8, 30);
        let cwnd = hand.sender.view().cwnd;
        assert_eq!(cwnd as u64, 24, "{recovery}");
        duplicates(&mut hand, 3);
        let v = hand.sender.view();
        assert!(v.in_fast_recovery, "{recovery}");
        assert_eq!(
            (v.cwnd, v.ssthresh),
            (cwnd + inflated(recovery), 26.0),
            "{recovery}"
        );
        hand.receive_ack(v.snd_max, &[], None);
        let v = hand.sender.view();
        assert!(!v.in_fast_recovery, "{recovery}");
        // RFC 6582 section 3.2, step 3: at most FlightSize, which is zero, plus one.
        let expected = if recovery == "newreno" { 2.0 } else { cwnd };
        assert_eq!((v.cwnd, v.ssthresh), (expected, 26.0), "{recovery}");
    }
}

/// The timer expires a second after the last ACK. The first virtual sample makes
/// (3 x 40 + 40) / 5 = 32 of 40 segments/s, three more 32 (3/5)^3 = 6.91, which
/// are 3.5 in 0.5 s.
#[test]
fn a_timeout_sets_the_threshold_to_the_estimate_after_the_silence() {
    for recovery in RECOVERIES.into_iter().chain(["tahoe"]) {
        let mut hand = steady("westwood", recovery, 4, 60);
        assert_eq!(
            hand.due().since(hand.now),
            Duration::from_secs(1),
            "{recovery}"
        );
        assert_eq!(hand.timeout(), [una(&hand)], "{recovery}");
        let v = hand.sender.view();
        assert_eq!((v.cwnd, v.ssthresh), (1.0, 3.0), "{recovery}");
    }
}

/// Tahoe starts again from one segment, up to the threshold from the estimate.
#[test]
fn tahoe_takes_the_threshold() {
    let mut hand = steady("westwood", "tahoe", 4, 60);
    duplicates(&mut hand, 3);
    let v = hand.sender.view();
    assert_eq!((v.cwnd, v.ssthresh), (1.0, 14.0));
}

/// The interval of a sample is six ACKs, the first one that is longer than the RTT, so that the
/// estimate does not include the duplicates at once: half a second of it is between 19 and 20
/// segments, and a timeout gives the same.
#[test]
fn westwood_plus_samples_once_an_rtt() {
    for recovery in RECOVERIES {
        let steady = || steady("westwood-plus", recovery, 4, 300);
        let cwnd = steady().sender.view().cwnd;
        assert!(cwnd > 40.0, "{recovery}");
        let mut hand = steady();
        duplicates(&mut hand, 3);
        let v = hand.sender.view();
        assert_eq!(
            (v.cwnd, v.ssthresh),
            (19.0 + inflated(recovery), 19.0),
            "{recovery}"
        );
        let mut hand = steady();
        hand.timeout();
        let v = hand.sender.view();
        assert_eq!((v.cwnd, v.ssthresh), (1.0, 19.0), "{recovery}");
    }
}

/// The same course with Reno, which has no estimate.
#[test]
fn reno_has_no_estimate_and_halves() {
    for recovery in RECOVERIES {
        let mut hand = steady("reno", recovery, 8, 30);
        duplicates(&mut hand, 3);
        let v = hand.sender.view();
        assert_eq!(v.bandwidth, None);
        // Half of the 24 in flight before limited transmit.
        assert_eq!(v.ssthresh, 12.0, "{recovery}");
        assert!(v.cwnd <= 12.0 + inflated(recovery), "{recovery}");
    }
}

/// A lost SYN leaves no measurement for an estimate: two segments.
#[test]
fn without_an_estimate_the_threshold_is_two_segments() {
    for congestion in ["westwood", "westwood-plus"] {
        let mut hand = DrivenSender::closed(&[("congestion", congestion)], 100);
        hand.send();
        hand.timeout();
        let v = hand.sender.view();
        assert_eq!((v.bandwidth, v.ssthresh), (Some(0.0), 2.0), "{congestion}");
    }
}

/// RTTmin of Westwood+ restarts at a timeout: one early RTT of 100 ms counts at the first, 39
/// segments/s x 0.1 s, and no longer at the second.
#[test]
fn a_timeout_lets_westwood_plus_forget_the_least_rtt() {
    let mut hand = steady("westwood-plus", "reno", 4, 300);
    let next = |hand: &mut DrivenSender, rtt: u64| {
        let (ack, echo) = (una(hand) + 4, before(hand.now + hand.step, rtt));
        hand.echo(ack, echo)
    };
    next(&mut hand, 100);
    next(&mut hand, 500);
    hand.timeout();
    assert_eq!(hand.sender.view().ssthresh, 3.0);
    next(&mut hand, 500);
    hand.timeout();
    let ssthresh = hand.sender.view().ssthresh;
    assert!(ssthresh > 10.0, "{ssthresh}");
}

/// An ACK that arrives when nothing is outstanding counts for no segment.
#[test]
fn with_nothing_in_flight_an_ack_delivers_nothing() {
    for congestion in ["westwood", "westwood-plus"] {
        let mut hand = steady(congestion, "reno", 4, 60);
        let end = hand.sender.view().snd_max;
        hand.sender.set_end(end);
        hand.ack(end);
        let estimate = hand.sender.view().bandwidth;
        for _ in 0..2 {
            hand.ack(end);
            assert_eq!(hand.sender.view().bandwidth, estimate, "{congestion}");
        }
    }
}

/// The last part that sets the threshold in fast recovery determines the window at its end: RLCI
/// starts again from 10 segments, ten duplicates inflate them, and no threshold limits that.
/// Westwood's reduction was to 14.
#[test]
fn an_order_lifts_the_limit_on_the_window_after_recovery() {
    let mut hand = DrivenSender::closed(
        &[
            ("congestion", "westwood"),
            ("recovery", "reno"),
            ("initial_window", "10"),
        ],
        500,
    );
    hand.sender.set_policies(Policy::named("rlci"));
    hand.send();
    hand.ack(1);
    run_in(&mut hand, 4, 60);
    duplicates(&mut hand, 3);
    assert_eq!(hand.window().1, 14);
    let link = LinkInfo {
        rate: Rate::from_mbps(1),
        delay: Duration::from_millis(100),
    };
    let notice = Notice {
        old: link,
        new: link,
        flows: 1,
    };
    hand.sender.on_notice(hand.now, &notice, &mut hand.seen);
    duplicates(&mut hand, 10);
    let v = hand.sender.view();
    assert!(v.in_fast_recovery);
    assert_eq!(v.cwnd, 20.0);
    hand.receive_ack(v.snd_max, &[], None);
    let v = hand.sender.view();
    assert!(!v.in_fast_recovery);
    assert_eq!(v.cwnd, 20.0);
}
