//! Trains: when their segments depart, what ends them, what the receiver
//! reports, and the `abest` policy on a sender of its own.
#![allow(clippy::panic, reason = "a failed test panics")]

mod common;

use std::collections::VecDeque;

use common::{configured, Hand};
use midflight_control::policy::Policy;
use midflight_control::quick_start::{Nonce, RateCode, Request};
use midflight_control::{LinkInfo, Measure, Notice, Order, Spacing, StartNotice, Train, ACK_BYTES};
use midflight_tcp::{Ack, Receiver, SackBlocks, Says, Segment, SegmentOption, Sender, TrainMark};
use midflight_units::{Duration, Instant, Rate, Seq};

const ALL: [&str; 5] = ["tahoe", "reno", "newreno", "sack1", "sack"];

fn knobbed(name: &str, knobs: &[(&str, &str)]) -> Policy {
    let mut policy = Policy::named(name).unwrap_or_else(|| panic!("registered"));
    for (knob, value) in knobs {
        assert_eq!(policy.set_knob(knob, value), Ok(()), "{knob}");
    }
    policy
}

const LTE: LinkInfo = LinkInfo {
    rate: Rate::from_mbps(50),
    delay: Duration::from_millis(15),
};

/// A sender that has sent its SYN and been told of its link before.
fn told(recovery: &str, settings: &[(&str, &str)], policy: Policy) -> Hand {
    let mut all = vec![("recovery", recovery), ("segment_bytes", "1000")];
    all.extend(settings);
    let mut hand = Hand::closed(&all, 100);
    hand.sender.set_policies([policy]);
    let notice = StartNotice {
        link: LTE,
        flows: 1,
    };
    hand.sender
        .on_start_notice(hand.now, &notice, &mut hand.seen);
    assert_eq!(hand.send(), [0]);
    hand
}

/// Five segments of 8000 bits from 1 to 8 Mbit/s: gaps of 8, 4, 2 and 1 ms.
fn chirping(recovery: &str) -> Hand {
    let knobs = [
        ("probe_segments", "5"),
        ("probe_low", "1 Mbit/s"),
        ("probe_high", "8 Mbit/s"),
    ];
    told(recovery, &[], knobbed("probe-train", &knobs))
}

/// A segment, and its place in a train of so many.
type Placed = (Seq, Option<(u16, u16)>);

/// What goes now, with its place in a train.
fn sent(hand: &mut Hand) -> Vec<Placed> {
    let now = hand.now;
    let next = || hand.sender.poll_transmit(now);
    let place = |s: Segment| (s.seq, s.train().map(|m| (m.index, m.segments)));
    std::iter::from_fn(next).map(place).collect()
}

/// The timer is called when it is due: the milliseconds since `from`, and what goes.
fn next_departure(hand: &mut Hand, from: Instant) -> (f64, Vec<Placed>) {
    hand.now = hand.due();
    assert!(
        !hand.sender.on_timer(hand.now, &mut hand.seen),
        "no timeout"
    );
    (hand.now.since(from).as_secs_f64() * 1e3, sent(hand))
}

fn say(hand: &mut Hand, ack: Seq, says: Says) {
    hand.now += hand.step;
    let ack = Ack {
        ack,
        sack: SackBlocks::default(),
        echo: None,
        cause_sent: Instant::ZERO,
        says,
    };
    hand.sender.on_ack(hand.now, &ack, &mut hand.seen);
}

fn estimate(train: u16, mbps: Option<u64>) -> Says {
    let rate = mbps.map(Rate::from_mbps);
    Says::Measured { train, rate }
}

#[test]
fn a_chirp_departs_at_exactly_its_gaps_and_nothing_goes_between() {
    for recovery in ALL {
        let mut hand = chirping(recovery);
        hand.hear(1, &[], None);
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
        // The wait for the report: ACKs of the first segments let nothing go.
        hand.step = Duration::from_millis(10);
        assert_eq!(hand.ack(3), [], "{recovery}");
        let view = hand.sender.view();
        assert_eq!((view.train, view.cwnd > 5.0), (Some(1), true), "{recovery}");
        say(&mut hand, 6, estimate(1, Some(5)));
        assert!(!sent(&mut hand).is_empty(), "{recovery}: on as usual");
        assert_eq!(hand.sender.view().train, None);
    }
}

#[test]
fn packet_pairs_go_at_once_and_a_late_caller_delays_what_follows() {
    for recovery in ALL {
        let mut pairs = told(recovery, &[], knobbed("probe-train", &[]));
        pairs.hear(1, &[], None);
        let expected: Vec<_> = (0..4).map(|i| (Seq::from(i) + 1, Some((i, 4)))).collect();
        assert_eq!(sent(&mut pairs), expected, "{recovery}");
        assert_eq!(pairs.sender.view().train, Some(1));

        let mut late = chirping(recovery);
        late.hear(1, &[], None);
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
    hand.hear(1, &[], None);
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
        let mut hand = told(recovery, &[("receiver_window", "3")], policy);
        hand.hear(1, &[], None);
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
        hand.hear(1, &[], None);
        let from = hand.now;
        assert_eq!(sent(&mut hand), [(1, Some((0, 3)))], "{recovery}");
        let _ = next_departure(&mut hand, from);
        let (_, last) = next_departure(&mut hand, from);
        assert_eq!(last, [(3, Some((2, 3)))], "{recovery}");
        assert_eq!(hand.ack(4), [], "{recovery}");
        assert!(hand.sender.is_done() && hand.sender.poll_timer().is_none());

        let mut cut = chirping(recovery);
        cut.hear(1, &[], None);
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
        hand.hear(1, &[], None);
        let from = hand.now;
        let _ = sent(&mut hand);
        for _ in 0..4 {
            let _ = next_departure(&mut hand, from);
        }
        assert_eq!(hand.timeout(), [1], "{recovery}");
        assert_eq!(hand.sender.view().train, None, "{recovery}");
        // Retransmissions are of no train.
        hand.step = Duration::from_millis(10);
        hand.hear(2, &[], None);
        assert!(sent(&mut hand).iter().all(|(_, mark)| mark.is_none()));
    }
}

#[test]
fn a_fast_retransmit_ends_the_train() {
    for recovery in ALL {
        let mut hand = chirping(recovery);
        hand.hear(1, &[], None);
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
fn a_notice_ends_the_train_and_sending_goes_on() {
    for recovery in ALL {
        let mut hand = chirping(recovery);
        hand.hear(1, &[], None);
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
            hand.hear(1, &[], None);
            let _ = sent(&mut hand);
            hand.step = Duration::from_millis(1);
            say(&mut hand, 2, report);
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
        hand.hear(1, &[], None);
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

/// Twelve segments are outstanding with a window of twelve when a handoff notice asks for four pairs:
/// they go when four are acknowledged, together.
#[test]
fn a_train_waits_until_the_window_has_room_for_all_of_it() {
    for recovery in ALL {
        let settings = [
            ("recovery", recovery),
            ("initial_window", "12"),
            ("initial_ssthresh", "2"),
        ];
        let mut hand = Hand::open(&settings, 100);
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
        hand.hear(5, &[], None);
        let pairs: Vec<_> = (0..4).map(|i| (13 + Seq::from(i), Some((i, 4)))).collect();
        assert_eq!(sent(&mut hand), pairs, "{recovery}");
    }
}

/// An order that comes while a recovery is under way has no effect.
#[test]
fn no_train_begins_in_a_recovery() {
    for recovery in ALL {
        let mut hand = Hand::open(&[("recovery", recovery), ("initial_window", "8")], 100);
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
            hand.hear(ack.min(hand.sender.view().snd_max), &[], None);
            marked.extend(
                sent(&mut hand)
                    .into_iter()
                    .filter(|(_, mark)| mark.is_some()),
            );
        }
        // After it four segments go together.
        let places: Vec<_> = marked.iter().map(|(_, mark)| *mark).collect();
        let expected: Vec<_> = (0..4).map(|i| Some((i, 4))).collect();
        assert_eq!(places, expected, "{recovery}");
    }
}

/// What a receiver with a delayed ACK of 200 ms sends for these segments.
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
        seq,
        bytes: 1500,
        retransmission: false,
        sent: Instant::ZERO,
        probe: false,
        option: train.map(SegmentOption::Train),
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
    let said: Vec<_> = acks.iter().map(|(us, a)| (*us, a.ack, a.says)).collect();
    let expected = [
        (0, 1, Says::Nothing),
        (1240, 3, Says::Nothing),
        (1480, 4, estimate(1, Some(50))),
    ];
    assert_eq!(said, expected);
    let timestamps = 12;
    let bytes: Vec<_> = acks.iter().map(|(_, a)| a.bytes()).collect();
    let plain = ACK_BYTES as u32 + timestamps;
    assert_eq!(bytes, [plain, plain, plain + 12]);
    // The second is lost: the third says so, with the duplicate ACK that it causes anyway.
    let acks = receive(&[arrivals[0], arrivals[1], arrivals[3]]);
    let last = acks.last().map(|(_, a)| (a.ack, a.says));
    assert_eq!(last, Some((2, estimate(1, None))));
}

/// A SYN that asks for a rate is answered with its ACK, which is delayed where every SYN's is.
#[test]
fn the_ack_of_a_syn_that_asks_is_delayed_like_any_other() {
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
    let answer = request.response().map(Says::Approved);
    let asked = |delay: &str, syn: Segment| {
        let p = configured(&[("delay_syn_ack", delay), ("delayed_ack", "100 ms")]);
        let mut receiver = Receiver::new(p.receiver);
        let at_once = receiver.on_segment(Instant::ZERO, &syn);
        let (due, _) = receiver.poll_timer().unzip();
        let later = due.and_then(|due| receiver.on_timer(due));
        let said = |ack: Ack| (ack.ack, ack.says);
        (
            due.map(Instant::as_nanos),
            at_once.map(said),
            later.map(said),
        )
    };
    let (ack, plain) = (answer.map(|says| (1, says)), Some((1, Says::Nothing)));
    assert!(ack.is_some());
    assert_eq!(asked("on", syn), (Some(100_000_000), None, ack));
    assert_eq!(asked("off", syn), (None, ack, None));
    let other = data(0, None);
    assert_eq!(asked("on", other), (Some(100_000_000), None, plain));
    assert_eq!(asked("off", other), (None, plain, None));
}

/// A sender with `abest` and its receiver over a bottleneck of 50 Mbit/s, 60 ms each way, without
/// other traffic: when each segment goes, and what the policy orders.
fn alone(notice: bool, policies: Vec<Policy>) -> (Vec<(Instant, Seq)>, Vec<Order>) {
    let p = configured(&[("delayed_ack", "100 ms"), ("abc_limit", "1")]);
    let mut sender = Sender::new(&p.sender, policies);
    let mut receiver = Receiver::new(p.receiver);
    let mut seen = common::Seen::default();
    let (mut now, mut free) = (Instant::ZERO, Instant::ZERO);
    let mut data: VecDeque<(Instant, Segment)> = VecDeque::new();
    let mut acks: VecDeque<(Instant, Ack)> = VecDeque::new();
    let mut log = Vec::new();
    if notice {
        let notice = StartNotice {
            link: LTE,
            flows: 1,
        };
        sender.on_start_notice(now, &notice, &mut seen);
    }
    sender.open(now, &mut seen);
    while now < Instant::from_nanos(900_000_000) {
        while let Some(segment) = sender.poll_transmit(now) {
            log.push((now, segment.seq));
            free = free.max(now) + LTE.rate.transmission_time(segment.bytes.into());
            data.push_back((free + Duration::from_millis(60), segment));
        }
        let timers = [sender.poll_timer(), receiver.poll_timer()];
        let timers = timers.into_iter().flatten().map(|(at, _)| at);
        let arrivals = data
            .front()
            .map(|d| d.0)
            .into_iter()
            .chain(acks.front().map(|a| a.0));
        now = timers
            .chain(arrivals)
            .min()
            .unwrap_or_else(|| panic!("stands still"));
        let mut answers = Vec::new();
        if data.front().is_some_and(|d| d.0 == now) {
            let segment = data.pop_front().map(|d| d.1);
            answers.extend(segment.and_then(|s| receiver.on_segment(now, &s)));
        }
        answers.extend(receiver.on_timer(now));
        acks.extend(
            answers
                .into_iter()
                .map(|a| (now + Duration::from_millis(60), a)),
        );
        if acks.front().is_some_and(|a| a.0 == now) {
            if let Some((_, ack)) = acks.pop_front() {
                sender.on_ack(now, &ack, &mut seen);
            }
        }
        sender.on_timer(now, &mut seen);
    }
    (log, seen.orders)
}

/// Twelve segments are outstanding with a window of twelve when a handoff notice asks for four pairs.
/// Once these have gone everything is as usual: the window grows and is used, also while the report is
/// awaited, and the chirp that follows it waits for no more than room for itself.
#[test]
fn nothing_is_withheld_after_a_train_and_a_chirp_waits_for_room_for_itself_only() {
    for recovery in ALL {
        let settings = [
            ("recovery", recovery),
            ("initial_window", "12"),
            ("initial_ssthresh", "100"),
            ("abc_limit", "1"),
        ];
        let mut hand = Hand::open(&settings, 100);
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
        hand.hear(3, &[], None);
        let pairs: Vec<_> = (0..4).map(|i| (13 + Seq::from(i), Some((i, 4)))).collect();
        assert_eq!(sent(&mut hand), pairs, "{recovery}");
        assert_eq!(hand.sender.view().train, Some(1), "its report is awaited");
        let usual: Vec<_> = [4, 5].into_iter().flat_map(|ack| hand.ack(ack)).collect();
        assert_eq!(usual, [17, 18, 19, 20], "{recovery}");
        say(&mut hand, 17, estimate(1, Some(50)));
        // The RTT is that of the last pair, 15 ms: 62 segments at 50 Mbit/s. The window is 17, of
        // which four are outstanding: there is room for 13, and the chirp has 16.
        let view = hand.sender.view();
        assert_eq!((view.train, view.cwnd), (Some(2), 17.0), "{recovery}");
        assert_eq!(sent(&mut hand), [], "{recovery}");
        hand.hear(18, &[], None);
        assert_eq!(sent(&mut hand), [], "room for 15: {recovery}");
        hand.hear(19, &[], None);
        assert_eq!(sent(&mut hand), [(21, Some((0, 16)))], "{recovery}");
        // The chirp takes all the room but one; what follows it goes with its last segment.
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

/// The path holds 50 Mbit/s x about 120.5 ms = 501 segments. Pairs tell 50 Mbit/s; the first chirp, of
/// six segments (4, and 2 for as many ACKs), finds that; the second, of nine (6 and an ACK of each
/// pair), goes beyond and is the last, two round trips and the chirps after the pairs.
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

/// RAPID with whole chirps of four segments of 8000 bits, each gap half the one before, from 1 Mbit/s on.
fn rapid(recovery: &str, knobs: &[(&str, &str)]) -> Hand {
    let mut all = vec![
        ("rapid_segments", "4"),
        ("rapid_spread", "2"),
        ("rapid_initial", "1 Mbit/s"),
    ];
    all.extend(knobs);
    told(
        recovery,
        &[("receiver_window", "50")],
        knobbed("rapid", &all),
    )
}

/// Departures up to some time, in microseconds since the first ACK, with the place in a chirp.
fn departures(hand: &mut Hand, from: Instant, until_us: u64) -> Vec<(u64, Option<(u16, u16)>)> {
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
/// 20 ms, in the second, which goes on as it is. The third has four: 1 + 1/2 + 1/4 gaps that are 8 ms on
/// average, 24 in all: 96/7, 48/7 and 24/7 ms.
#[test]
fn chirps_follow_each_other_at_a_gap_and_reports_count_when_the_next_is_due() {
    for recovery in ALL {
        let mut hand = rapid(recovery, &[]);
        hand.hear(1, &[], None);
        let from = hand.now;
        let pair = |i| Some((i, 2));
        assert_eq!(sent(&mut hand), [(1, pair(0))], "{recovery}");
        let two = [(8_000, pair(1)), (16_000, pair(0))];
        assert_eq!(departures(&mut hand, from, 19_999), two, "{recovery}");
        hand.step = Duration::from_micros(1);
        say(&mut hand, 3, estimate(1, Some(1)));
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
        // It is what the window is, and the retransmission timer runs.
        let view = hand.sender.view();
        assert_eq!((view.cwnd >= 50.0, view.train), (true, Some(4)));
        // A late caller shifts what follows.
        hand.now = hand.due() + Duration::from_millis(5);
        let from = hand.now;
        assert!(!hand.sender.on_timer(hand.now, &mut hand.seen));
        assert_eq!(sent(&mut hand).len(), 1, "{recovery}");
        assert_eq!(departures(&mut hand, from, 6_858), [(6_857, four(2))]);
    }
}

/// The chirp at hand goes on, whatever the duplicates, and nothing goes besides. After the
/// recovery chirps go on with half the rate: two segments are 16 ms apart.
#[test]
fn a_recovery_ends_the_chirps_and_they_go_on_with_half_the_rate() {
    for recovery in ["newreno", "sack1", "sack"] {
        let mut hand = rapid(recovery, &[]);
        hand.hear(1, &[], None);
        let from = hand.now;
        let _ = sent(&mut hand);
        let seven = departures(&mut hand, from, 56_000).len();
        assert_eq!(seven, 7, "{recovery}");
        hand.step = Duration::from_micros(1);
        let mut resent = Vec::new();
        for right in 3..=4 {
            hand.hear(1, &[(2, right)], None);
            resent.extend(sent(&mut hand));
        }
        assert_eq!(
            (resent.len(), hand.sender.view().train.is_some()),
            (0, true)
        );
        hand.hear(1, &[(2, 5)], None);
        resent.extend(sent(&mut hand));
        assert_eq!(resent[0], (1, None), "{recovery}");
        assert_eq!(hand.sender.view().train, None, "{recovery}");
        let max = hand.sender.view().snd_max;
        hand.hear(max, &[], None);
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
fn after_a_timeout_what_is_outstanding_goes_first_and_chirps_go_on_when_it_is_done() {
    for recovery in ALL {
        let mut hand = rapid(recovery, &[]);
        hand.hear(1, &[], None);
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
            hand.hear(una, &[], None);
            let now = sent(&mut hand);
            // The window that resends may send something new at the end, but no burst.
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
        hand.hear(1, &[], None);
        let from = hand.now;
        assert_eq!(sent(&mut hand), [(1, Some((0, 2)))], "{recovery}");
        let _ = next_departure(&mut hand, from);
        let single = next_departure(&mut hand, from);
        assert_eq!(single, (16.0, vec![(3, None)]), "{recovery}");
        // What comes later to be sent is a chirp again, at the gap if that is not over.
        hand.sender.set_end(60);
        assert_eq!(sent(&mut hand), [], "{recovery}");
        let next = next_departure(&mut hand, from);
        assert_eq!(next, (24.0, vec![(4, Some((0, 2)))]), "{recovery}");
        hand.sender.set_end(5);
        hand.hear(5, &[], None);
        assert_eq!(sent(&mut hand), [], "{recovery}");
        assert!(hand.sender.is_done() && hand.sender.poll_timer().is_none());
        assert_eq!(hand.sender.view().train, None, "{recovery}");
    }
}

#[test]
fn a_notice_does_not_disturb_chirps_and_a_full_window_holds_them_back() {
    for recovery in ALL {
        let mut hand = rapid(recovery, &[]);
        hand.hear(1, &[], None);
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
        full.hear(1, &[], None);
        let from = full.now;
        let _ = sent(&mut full);
        let count = departures(&mut full, from, 900_000).len() + 1;
        assert_eq!(count, 50, "{recovery}: the receiver's window");
        full.step = Duration::from_micros(10);
        // A chirp of two needs room for two.
        full.hear(2, &[], None);
        assert_eq!(sent(&mut full), [], "{recovery}");
        full.hear(3, &[], None);
        assert_eq!(sent(&mut full).len(), 1, "{recovery}");
    }
}

#[test]
fn without_a_notice_rapid_is_the_plain_sender() {
    let (with, orders) = alone(false, vec![knobbed("rapid", &[])]);
    assert_eq!((with, orders), (alone(false, Vec::new()).0, Vec::new()));
}
