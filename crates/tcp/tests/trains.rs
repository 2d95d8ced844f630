//! Trains: when their segments are sent, what ends them, what the receiver reports, and the `abest`
//! policy at its sender.
#![allow(clippy::panic, reason = "a failed test panics")]

use crate::common::trains::{
    ack_with, alone, chirping, driven, estimate, knobbed, next_departure, sent, ALL, LTE,
};
use crate::common::{configured, DrivenSender};
use midflight_control::quick_start::{Nonce, RateCode, Request};
use midflight_control::{Measure, Notice, Order, Spacing, Train, ACK_BYTES};
use midflight_tcp::{Ack, AckOption, Receiver, Segment, SegmentOption, TrainMark};
use midflight_units::{Duration, Instant, Rate, Seq};

#[test]
fn a_chirp_departs_at_exactly_its_gaps_and_nothing_goes_between() {
    for recovery in ALL {
        let mut hand = chirping(recovery);
        hand.receive_ack(1, &[], None);
        let from = hand.now;
        assert_eq!(sent(&mut hand), [(1, Some((0, 5)))], "{recovery}");
        for (index, at) in [(1, 8.0), (2, 12.0), (3, 14.0), (4, 15.0)] {
            // Early calls do nothing.
            hand.now = Instant::from_nanos(hand.due().as_nanos() - 1);
            assert_eq!(sent(&mut hand), [], "{recovery}");
            let seq = Seq::from(index) + 1;
            assert_eq!(
                next_departure(&mut hand, from),
                (at, vec![(seq, Some((index, 5)))]),
                "{recovery}"
            );
        }
        // While waiting for the report, ACKs of the first segments do not release others.
        hand.step = Duration::from_millis(10);
        assert_eq!(hand.ack(3), [], "{recovery}");
        let view = hand.sender.view();
        assert_eq!((view.train, view.cwnd > 5.0), (Some(1), true), "{recovery}");
        ack_with(&mut hand, 6, estimate(1, Some(5)));
        assert!(!sent(&mut hand).is_empty(), "{recovery}: on as usual");
        assert_eq!(hand.sender.view().train, None);
    }
}

#[test]
fn packet_pairs_are_sent_at_once_and_a_late_caller_delays_later_segments() {
    for recovery in ALL {
        let mut pairs = driven(recovery, &[], knobbed("probe-train", &[]));
        pairs.receive_ack(1, &[], None);
        let expected: Vec<_> = (0..4).map(|i| (Seq::from(i) + 1, Some((i, 4)))).collect();
        assert_eq!(sent(&mut pairs), expected, "{recovery}");
        assert_eq!(pairs.sender.view().train, Some(1));

        let mut late = chirping(recovery);
        late.receive_ack(1, &[], None);
        let _ = sent(&mut late);
        late.now = late.due() + Duration::from_millis(3);
        let from = late.now;
        assert_eq!(sent(&mut late).len(), 1, "{recovery}");
        assert_eq!(next_departure(&mut late, from).0, 4.0, "{recovery}");
    }
}

#[test]
fn the_timer_is_that_of_the_departure_or_of_the_retransmission_whichever_is_first() {
    let mut hand = chirping("sack");
    hand.receive_ack(1, &[], None);
    let (first, rto) = (hand.now, hand.sender.view().rto);
    let _ = sent(&mut hand);
    assert_eq!(hand.due(), first + Duration::from_millis(8));
    for _ in 0..4 {
        let _ = next_departure(&mut hand, first);
    }
    assert_eq!(hand.due(), first + rto, "armed by the first segment");
}

/// The receiver closes its window to three of the chirp's five segments.
#[test]
fn a_window_that_never_has_room_for_all_shortens_the_train() {
    for recovery in ALL {
        let knobs = [
            ("probe_segments", "5"),
            ("probe_low", "1 Mbit/s"),
            ("probe_high", "8 Mbit/s"),
        ];
        let policy = knobbed("probe-train", &knobs);
        let mut hand = driven(recovery, &[("receiver_window", "3")], policy);
        hand.receive_ack(1, &[], None);
        let from = hand.now;
        assert_eq!(sent(&mut hand), [(1, Some((0, 3)))], "{recovery}");
        // Two gaps, at the lowest and the highest rate.
        assert_eq!(next_departure(&mut hand, from).0, 8.0, "{recovery}");
        assert_eq!(next_departure(&mut hand, from).0, 9.0, "{recovery}");
        assert_eq!(hand.sender.view().unsent, Seq::MAX - 4);
    }
}

#[test]
fn a_flow_that_ends_shortens_the_train_and_one_that_ends_within_it_is_done() {
    for recovery in ALL {
        let mut hand = chirping(recovery);
        hand.sender.set_end(4);
        hand.receive_ack(1, &[], None);
        let from = hand.now;
        assert_eq!(sent(&mut hand), [(1, Some((0, 3)))], "{recovery}");
        let _ = next_departure(&mut hand, from);
        let (_, last) = next_departure(&mut hand, from);
        assert_eq!(last, [(3, Some((2, 3)))], "{recovery}");
        assert_eq!(hand.ack(4), [], "{recovery}");
        assert!(hand.sender.is_done() && hand.sender.poll_timer().is_none());

        let mut cut = chirping(recovery);
        cut.receive_ack(1, &[], None);
        let _ = sent(&mut cut);
        cut.sender.set_end(3);
        let from = cut.now;
        let _ = next_departure(&mut cut, from);
        cut.step = Duration::from_millis(500);
        assert_eq!(cut.ack(3), [], "{recovery}");
        assert!(cut.sender.is_done() && cut.sender.poll_timer().is_none());
    }
}

#[test]
fn a_timeout_ends_the_train_and_everything_goes_again() {
    for recovery in ALL {
        let mut hand = chirping(recovery);
        hand.receive_ack(1, &[], None);
        let from = hand.now;
        let _ = sent(&mut hand);
        for _ in 0..4 {
            let _ = next_departure(&mut hand, from);
        }
        assert_eq!(hand.timeout(), [1], "{recovery}");
        assert_eq!(hand.sender.view().train, None, "{recovery}");
        // Retransmissions are not part of a train.
        hand.step = Duration::from_millis(10);
        hand.receive_ack(2, &[], None);
        assert!(sent(&mut hand).iter().all(|(_, mark)| mark.is_none()));
    }
}

#[test]
fn a_fast_retransmit_ends_the_train() {
    for recovery in ALL {
        let mut hand = chirping(recovery);
        hand.receive_ack(1, &[], None);
        let from = hand.now;
        let _ = sent(&mut hand);
        for _ in 0..4 {
            let _ = next_departure(&mut hand, from);
        }
        hand.step = Duration::from_millis(1);
        let mut resent = Vec::new();
        for right in 3..=6 {
            resent.extend(hand.sack(1, &[(2, right)]));
        }
        assert!(resent.contains(&1), "{recovery}");
        assert_eq!(hand.sender.view().train, None, "{recovery}");
    }
}

#[test]
fn a_notice_ends_the_train_and_sending_continues() {
    for recovery in ALL {
        let mut hand = chirping(recovery);
        hand.receive_ack(1, &[], None);
        assert_eq!(sent(&mut hand).len(), 1);
        let notice = Notice {
            old: LTE,
            new: LTE,
            flows: 1,
        };
        hand.sender.on_notice(hand.now, &notice, &mut hand.seen);
        let rest: Vec<_> = (2..=5).map(|seq| (seq, None)).collect();
        assert_eq!(sent(&mut hand), rest, "{recovery}");
    }
}

#[test]
fn a_report_of_a_loss_ends_the_train_and_one_of_another_train_does_not() {
    for recovery in ALL {
        for (report, ends) in [
            (estimate(1, None), true),
            (estimate(2, None), false),
            (estimate(2, Some(5)), false),
        ] {
            let mut hand = chirping(recovery);
            hand.receive_ack(1, &[], None);
            let _ = sent(&mut hand);
            hand.step = Duration::from_millis(1);
            ack_with(&mut hand, 2, report);
            let goes = !sent(&mut hand).is_empty();
            assert_eq!(goes, ends, "{recovery}");
            assert_eq!(hand.sender.view().train.is_none(), ends, "{recovery}");
        }
    }
}

/// The ACK with the report is lost; a later one acknowledges everything.
#[test]
fn a_train_that_is_acknowledged_without_a_report_holds_nothing_back() {
    for recovery in ALL {
        let mut hand = chirping(recovery);
        hand.receive_ack(1, &[], None);
        let from = hand.now;
        let _ = sent(&mut hand);
        for _ in 0..4 {
            let _ = next_departure(&mut hand, from);
        }
        hand.step = Duration::from_millis(10);
        assert_eq!(hand.ack(5), [], "{recovery}");
        assert!(!hand.ack(6).is_empty(), "{recovery}");
    }
}

/// Twelve segments are outstanding with a window of twelve when a handoff notice requests four pairs:
/// they are sent together, when four segments are acknowledged.
#[test]
fn a_train_waits_until_the_window_has_room_for_all_of_it() {
    for recovery in ALL {
        let settings = [
            ("recovery", recovery),
            ("initial_window", "12"),
            ("initial_ssthresh", "2"),
        ];
        let mut hand = DrivenSender::open(&settings, 100);
        hand.sender.set_policies([knobbed("abest", &[])]);
        hand.step = Duration::from_millis(5);
        let notice = Notice {
            old: LTE,
            new: LTE,
            flows: 1,
        };
        hand.sender.on_notice(hand.now, &notice, &mut hand.seen);
        assert_eq!(sent(&mut hand), [], "{recovery}");
        assert_eq!([hand.ack(2), hand.ack(4)], [[], []], "{recovery}");
        hand.receive_ack(5, &[], None);
        let pairs: Vec<_> = (0..4).map(|i| (13 + Seq::from(i), Some((i, 4)))).collect();
        assert_eq!(sent(&mut hand), pairs, "{recovery}");
    }
}

/// An order during a recovery has no effect.
#[test]
fn no_train_begins_in_a_recovery() {
    for recovery in ALL {
        let mut hand = DrivenSender::open(&[("recovery", recovery), ("initial_window", "8")], 100);
        hand.sender.set_policies([knobbed("abest", &[])]);
        let _ = hand.timeout();
        let notice = Notice {
            old: LTE,
            new: LTE,
            flows: 1,
        };
        hand.sender.on_notice(hand.now, &notice, &mut hand.seen);
        assert!(hand.seen.orders.is_empty(), "{recovery}");
        let mut marked = Vec::new();
        for ack in 2..60 {
            hand.step = Duration::from_millis(1);
            hand.receive_ack(ack.min(hand.sender.view().snd_max), &[], None);
            marked.extend(
                sent(&mut hand)
                    .into_iter()
                    .filter(|(_, mark)| mark.is_some()),
            );
        }
        // After it four segments are sent together.
        let places: Vec<_> = marked.iter().map(|(_, mark)| *mark).collect();
        let expected: Vec<_> = (0..4).map(|i| Some((i, 4))).collect();
        assert_eq!(places, expected, "{recovery}");
    }
}

/// The ACKs of a receiver with a delayed ACK of 200 ms for these segments.
fn receive(arrivals: &[(u64, Segment)]) -> Vec<(u64, Ack)> {
    let mut receiver = Receiver::new(configured(&[]).receiver);
    let at = |us: u64| Instant::from_nanos(us * 1000);
    let take = |&(us, segment): &(u64, Segment)| {
        receiver.on_segment(at(us), &segment).map(|ack| (us, ack))
    };
    arrivals.iter().filter_map(take).collect()
}

fn data(seq: Seq, train: Option<TrainMark>) -> Segment {
    Segment {
        option: train.map(SegmentOption::Train),
        ..Segment::plain(seq, 1500, Instant::ZERO)
    }
}

#[test]
fn the_ack_that_reports_is_not_delayed_and_is_larger() {
    let mark = |index| {
        Some(TrainMark {
            number: 1,
            index,
            segments: 3,
            measure: Measure::Capacity,
        })
    };
    let arrivals = [
        (0, data(0, None)),
        (1000, data(1, mark(0))),
        (1240, data(2, mark(1))),
        (1480, data(3, mark(2))),
    ];
    let acks = receive(&arrivals);
    let said: Vec<_> = acks.iter().map(|(us, a)| (*us, a.ack, a.option)).collect();
    let expected = [
        (0, 1, AckOption::Nothing),
        (1240, 3, AckOption::Nothing),
        (1480, 4, estimate(1, Some(50))),
    ];
    assert_eq!(said, expected);
    let timestamps = 12;
    let bytes: Vec<_> = acks.iter().map(|(_, a)| a.bytes()).collect();
    let plain = ACK_BYTES as u32 + timestamps;
    assert_eq!(bytes, [plain, plain, plain + 12]);
    // The second is lost: the third reports it, with the duplicate ACK that it causes anyway.
    let acks = receive(&[arrivals[0], arrivals[1], arrivals[3]]);
    let last = acks.last().map(|(_, a)| (a.ack, a.option));
    assert_eq!(last, Some((2, estimate(1, None))));
}

/// The response to a rate request of a SYN is in its ACK, which is delayed if every SYN's ACK is.
#[test]
fn the_ack_of_a_syn_with_a_request_is_delayed_like_any_other() {
    let request = Request {
        rate: RateCode::MOST,
        ip_ttl: 62,
        qs_ttl: 10,
        nonce: Nonce::new(5),
    };
    let syn = Segment {
        option: Some(SegmentOption::Request(request)),
        ..data(0, None)
    };
    let answer = request.response().map(AckOption::Approved);
    let asked = |delay: &str, syn: Segment| {
        let p = configured(&[("delay_syn_ack", delay), ("delayed_ack", "100 ms")]);
        let mut receiver = Receiver::new(p.receiver);
        let at_once = receiver.on_segment(Instant::ZERO, &syn);
        let (due, _) = receiver.poll_timer().unzip();
        let later = due.and_then(|due| receiver.on_timer(due));
        let said = |ack: Ack| (ack.ack, ack.option);
        (
            due.map(Instant::as_nanos),
            at_once.map(said),
            later.map(said),
        )
    };
    let (ack, plain) = (
        answer.map(|option| (1, option)),
        Some((1, AckOption::Nothing)),
    );
    assert!(ack.is_some());
    assert_eq!(asked("on", syn), (Some(100_000_000), None, ack));
    assert_eq!(asked("off", syn), (None, ack, None));
    let other = data(0, None);
    assert_eq!(asked("on", other), (Some(100_000_000), None, plain));
    assert_eq!(asked("off", other), (None, plain, None));
}

/// Twelve segments are outstanding with a window of twelve when a handoff notice requests four pairs.
/// After these sending is normal: the window grows and is used, also while the report is outstanding,
/// and the following chirp waits only for room for itself.
#[test]
fn nothing_is_withheld_after_a_train_and_a_chirp_waits_for_room_for_itself_only() {
    for recovery in ALL {
        let settings = [
            ("recovery", recovery),
            ("initial_window", "12"),
            ("initial_ssthresh", "100"),
            ("abc_limit", "1"),
        ];
        let mut hand = DrivenSender::open(&settings, 100);
        hand.sender.set_policies([knobbed("abest", &[])]);
        hand.step = Duration::from_millis(5);
        let notice = Notice {
            old: LTE,
            new: LTE,
            flows: 1,
        };
        hand.sender.on_notice(hand.now, &notice, &mut hand.seen);
        // Each ACK of slow start has room for one more: the second one makes it four.
        assert_eq!(hand.ack(2), [], "{recovery}");
        hand.receive_ack(3, &[], None);
        let pairs: Vec<_> = (0..4).map(|i| (13 + Seq::from(i), Some((i, 4)))).collect();
        assert_eq!(sent(&mut hand), pairs, "{recovery}");
        assert_eq!(hand.sender.view().train, Some(1), "its report is awaited");
        let usual: Vec<_> = [4, 5].into_iter().flat_map(|ack| hand.ack(ack)).collect();
        assert_eq!(usual, [17, 18, 19, 20], "{recovery}");
        ack_with(&mut hand, 17, estimate(1, Some(50)));
        // The RTT is that of the last pair, 15 ms: 62 segments at 50 Mbit/s. The window is 17, of
        // which four are outstanding: there is room for 13, and the chirp has 16.
        let view = hand.sender.view();
        assert_eq!((view.train, view.cwnd), (Some(2), 17.0), "{recovery}");
        assert_eq!(sent(&mut hand), [], "{recovery}");
        hand.receive_ack(18, &[], None);
        assert_eq!(sent(&mut hand), [], "room for 15: {recovery}");
        hand.receive_ack(19, &[], None);
        assert_eq!(sent(&mut hand), [(21, Some((0, 16)))], "{recovery}");
        // The chirp uses all the room but one; the next segment is sent with its last one.
        let from = hand.now;
        let mut all = Vec::new();
        while all.len() < 15 {
            all.extend(next_departure(&mut hand, from).1);
        }
        let chirp: Vec<_> = (1..16)
            .map(|i| (21 + Seq::from(i), Some((i, 16))))
            .collect();
        assert_eq!(all[..15], chirp, "{recovery}");
        assert_eq!(all[15..], [(37, None)], "{recovery}");
        assert_eq!(hand.ack(20), [38, 39], "{recovery}");
    }
}

/// The path holds 50 Mbit/s x about 120.5 ms = 501 segments. The pairs give 50 Mbit/s; the first
/// chirp, of six segments (4, and 2 for as many ACKs), also gives that; the second, of nine (6 and an
/// ACK of each pair), exceeds it and is the last, two round trips and the chirps after the pairs.
#[test]
fn abest_on_an_idle_path_finds_its_capacity_and_ends_in_the_second_cycle() {
    let (_, orders) = alone(true, vec![knobbed("abest", &[])]);
    let trains: Vec<Train> = orders
        .iter()
        .filter_map(|o| match o {
            Order::SendTrain(train) => Some(*train),
            _ => None,
        })
        .collect();
    assert_eq!(trains.len(), 3, "{orders:?}");
    assert_eq!(
        (trains[0].segments, trains[0].spacing),
        (4, Spacing::BackToBack)
    );
    let low = Rate::from_mbps(25);
    let high = Rate::from_mbps(50);
    assert_eq!(
        (trains[1].segments, trains[1].spacing),
        (
            6,
            Spacing::Chirp {
                low,
                high,
                rule: None,
            }
        )
    );
    assert!(
        matches!(trains[2].spacing, Spacing::Chirp { high, .. } if high == Rate::from_mbps(100))
    );
    let set = orders.iter().filter_map(|o| match o {
        Order::SetSsthresh(ssthresh) => Some(*ssthresh),
        _ => None,
    });
    let set: Vec<f64> = set.collect();
    assert!((500.0..505.0).contains(&set[0]), "{set:?}");
    assert_eq!(set.len(), 2);
}

#[test]
fn without_a_notice_abest_is_the_plain_sender() {
    let policies = ["abest", "iw10", "initial-ssthresh", "probe-train"];
    let all = policies.map(|name| knobbed(name, &[])).to_vec();
    let (with, orders) = alone(false, all);
    assert_eq!((with, orders), (alone(false, Vec::new()).0, Vec::new()));
}
