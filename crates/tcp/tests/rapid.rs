//! Consecutive chirps: the policy `rapid` on a sender under a test's control.
#![allow(clippy::panic, reason = "a failed test panics")]

use crate::common::trains::{
    ack_with, alone, driven, estimate, knobbed, next_departure, sent, ALL, LTE,
};
use crate::common::DrivenSender;
use midflight_control::Notice;
use midflight_units::{Duration, Instant, Seq};

/// RAPID with whole chirps of four segments of 8000 bits, each gap half the previous one, starting at 1
/// Mbit/s.
fn rapid(recovery: &str, knobs: &[(&str, &str)]) -> DrivenSender {
    let mut all = vec![
        ("rapid_segments", "4"),
        ("rapid_spread", "2"),
        ("rapid_initial", "1 Mbit/s"),
    ];
    all.extend(knobs);
    driven(
        recovery,
        &[("receiver_window", "50")],
        knobbed("rapid", &all),
    )
}

/// Departures up to some time, in microseconds since the first ACK, with their place in a chirp.
fn departures(
    hand: &mut DrivenSender,
    from: Instant,
    until_us: u64,
) -> Vec<(u64, Option<(u16, u16)>)> {
    let until = from + Duration::from_micros(until_us);
    let mut all = Vec::new();
    while hand.due() <= until {
        let (_, segments) = next_departure(hand, from);
        let at = hand.now.since(from).as_nanos() / 1000;
        all.extend(segments.into_iter().map(|(_, place)| (at, place)));
    }
    hand.now = until;
    all
}

/// Two segments at 1 Mbit/s are 8 ms apart, and so is the next chirp. The report of the first comes at
/// 20 ms, in the second, which continues as it is. The third has four: 1 + 1/2 + 1/4 gaps that are 8 ms on
/// average, 24 in all: 96/7, 48/7 and 24/7 ms.
#[test]
fn chirps_follow_each_other_at_a_gap_and_reports_count_when_the_next_is_due() {
    for recovery in ALL {
        let mut hand = rapid(recovery, &[]);
        hand.receive_ack(1, &[], None);
        let from = hand.now;
        let pair = |i| Some((i, 2));
        assert_eq!(sent(&mut hand), [(1, pair(0))], "{recovery}");
        let two = [(8_000, pair(1)), (16_000, pair(0))];
        assert_eq!(departures(&mut hand, from, 19_999), two, "{recovery}");
        hand.step = Duration::from_micros(1);
        ack_with(&mut hand, 3, estimate(1, Some(1)));
        assert_eq!(sent(&mut hand), [], "{recovery}");
        let four = |i| Some((i, 4));
        let next = [
            (24_000, pair(1)),
            (32_000, four(0)),
            (45_714, four(1)),
            (52_571, four(2)),
            (56_000, four(3)),
            (64_000, four(0)),
        ];
        assert_eq!(departures(&mut hand, from, 64_001), next, "{recovery}");
        // The window is the receiver's, and the train is the fourth.
        let view = hand.sender.view();
        assert_eq!((view.cwnd >= 50.0, view.train), (true, Some(4)));
        // A late call shifts the following departures.
        hand.now = hand.due() + Duration::from_millis(5);
        let from = hand.now;
        assert!(!hand.sender.on_timer(hand.now, &mut hand.seen));
        assert_eq!(sent(&mut hand).len(), 1, "{recovery}");
        assert_eq!(departures(&mut hand, from, 6_858), [(6_857, four(2))]);
    }
}

/// The current chirp continues despite the duplicates, and nothing else is sent. After the recovery chirps
/// continue at half the rate: two segments are 16 ms apart.
#[test]
fn a_recovery_ends_the_chirps_and_they_go_on_with_half_the_rate() {
    for recovery in ["newreno", "sack1", "sack"] {
        let mut hand = rapid(recovery, &[]);
        hand.receive_ack(1, &[], None);
        let from = hand.now;
        let _ = sent(&mut hand);
        let seven = departures(&mut hand, from, 56_000).len();
        assert_eq!(seven, 7, "{recovery}");
        hand.step = Duration::from_micros(1);
        let mut resent = Vec::new();
        for right in 3..=4 {
            hand.receive_ack(1, &[(2, right)], None);
            resent.extend(sent(&mut hand));
        }
        assert_eq!(
            (resent.len(), hand.sender.view().train.is_some()),
            (0, true)
        );
        hand.receive_ack(1, &[(2, 5)], None);
        resent.extend(sent(&mut hand));
        assert_eq!(resent[0], (1, None), "{recovery}");
        assert_eq!(hand.sender.view().train, None, "{recovery}");
        let max = hand.sender.view().snd_max;
        hand.receive_ack(max, &[], None);
        let from = hand.now;
        let next = sent(&mut hand);
        assert_eq!(next, [(max, Some((0, 2)))], "{recovery}");
        assert_eq!(hand.sender.view().cwnd, 50.0, "{recovery}");
        let gaps = departures(&mut hand, from, 48_001);
        let at: Vec<u64> = gaps.iter().map(|(at, _)| *at).collect();
        assert_eq!(at, [16_000, 32_000, 48_000], "{recovery}");
    }
}

#[test]
fn after_a_timeout_outstanding_data_are_sent_first_and_then_chirps() {
    for recovery in ALL {
        let mut hand = rapid(recovery, &[]);
        hand.receive_ack(1, &[], None);
        let from = hand.now;
        let _ = sent(&mut hand);
        let _ = departures(&mut hand, from, 24_000);
        assert_eq!(hand.sender.view().snd_max, 5);
        while hand.seen.timeouts.is_empty() {
            hand.now = hand.due();
            hand.sender.on_timer(hand.now, &mut hand.seen);
            if hand.seen.timeouts.is_empty() {
                let _ = sent(&mut hand);
            }
        }
        assert_eq!(sent(&mut hand), [(1, None)], "{recovery}");
        let max = hand.sender.view().snd_max;
        hand.step = Duration::from_millis(10);
        let mut una = 1;
        while una < max {
            assert_eq!(hand.sender.view().train, None, "{recovery}");
            una = hand.sender.view().snd_nxt;
            hand.receive_ack(una, &[], None);
            let now = sent(&mut hand);
            // The retransmission window may allow some new segments at the end, but no burst.
            let threshold = hand.sender.view().ssthresh;
            let edge = max.max(una + threshold as Seq);
            assert!(
                now.iter()
                    .all(|&(seq, place)| seq < edge || place.is_some()),
                "{recovery}: {now:?}, {threshold}"
            );
            assert!(threshold < 25.0, "{threshold}");
        }
        assert!(hand.sender.view().train.is_some(), "{recovery}");
    }
}

#[test]
fn a_flow_that_goes_at_a_rate_ends_with_a_shorter_chirp_or_a_single_segment() {
    for recovery in ALL {
        let mut hand = rapid(recovery, &[]);
        hand.sender.set_end(4);
        hand.receive_ack(1, &[], None);
        let from = hand.now;
        assert_eq!(sent(&mut hand), [(1, Some((0, 2)))], "{recovery}");
        let _ = next_departure(&mut hand, from);
        let single = next_departure(&mut hand, from);
        assert_eq!(single, (16.0, vec![(3, None)]), "{recovery}");
        // Data that becomes available later is sent in chirps again, after the gap if that is not over.
        hand.sender.set_end(60);
        assert_eq!(sent(&mut hand), [], "{recovery}");
        let next = next_departure(&mut hand, from);
        assert_eq!(next, (24.0, vec![(4, Some((0, 2)))]), "{recovery}");
        hand.sender.set_end(5);
        hand.receive_ack(5, &[], None);
        assert_eq!(sent(&mut hand), [], "{recovery}");
        assert!(hand.sender.is_done() && hand.sender.poll_timer().is_none());
        assert_eq!(hand.sender.view().train, None, "{recovery}");
    }
}

#[test]
fn a_notice_does_not_disturb_chirps_and_a_full_window_holds_them_back() {
    for recovery in ALL {
        let mut hand = rapid(recovery, &[]);
        hand.receive_ack(1, &[], None);
        let from = hand.now;
        let _ = sent(&mut hand);
        hand.now += Duration::from_millis(3);
        let notice = Notice {
            old: LTE,
            new: LTE,
            flows: 1,
        };
        hand.sender.on_notice(hand.now, &notice, &mut hand.seen);
        assert_eq!(sent(&mut hand), [], "{recovery}");
        let next = departures(&mut hand, from, 16_000);
        assert_eq!(next, [(8_000, Some((1, 2))), (16_000, Some((0, 2)))]);

        let mut full = rapid(recovery, &[]);
        full.receive_ack(1, &[], None);
        let from = full.now;
        let _ = sent(&mut full);
        let count = departures(&mut full, from, 900_000).len() + 1;
        assert_eq!(count, 50, "{recovery}: the receiver's window");
        full.step = Duration::from_micros(10);
        // A chirp of two needs room for two.
        full.receive_ack(2, &[], None);
        assert_eq!(sent(&mut full), [], "{recovery}");
        full.receive_ack(3, &[], None);
        assert_eq!(sent(&mut full).len(), 1, "{recovery}");
    }
}

#[test]
fn without_a_notice_rapid_is_the_plain_sender() {
    let (with, orders) = alone(false, vec![knobbed("rapid", &[])]);
    assert_eq!((with, orders), (alone(false, Vec::new()).0, Vec::new()));
}
