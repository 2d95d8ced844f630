//! Trains on a sender under a test's control.

use std::collections::VecDeque;

use midflight_control::policy::Policy;
use midflight_control::{LinkInfo, Order, StartNotice};
use midflight_tcp::{Ack, AckOption, Receiver, SackBlocks, Segment, Sender};
use midflight_units::{Duration, Instant, Rate, Seq};

use super::{configured, DrivenSender, Seen};

pub(crate) const ALL: [&str; 5] = ["tahoe", "reno", "newreno", "sack1", "sack"];

pub(crate) fn knobbed(name: &str, knobs: &[(&str, &str)]) -> Policy {
    let mut policy = Policy::named(name).unwrap_or_else(|| panic!("registered"));
    for (knob, value) in knobs {
        assert_eq!(policy.set_knob(knob, value), Ok(()), "{knob}");
    }
    policy
}

pub(crate) const LTE: LinkInfo = LinkInfo {
    rate: Rate::from_mbps(50),
    delay: Duration::from_millis(15),
};

/// A sender that has sent its SYN after a notice of its link.
pub(crate) fn driven(recovery: &str, settings: &[(&str, &str)], policy: Policy) -> DrivenSender {
    let mut all = vec![("recovery", recovery), ("segment_bytes", "1000")];
    all.extend(settings);
    let mut hand = DrivenSender::closed(&all, 100);
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
pub(crate) fn chirping(recovery: &str) -> DrivenSender {
    let knobs = [
        ("probe_segments", "5"),
        ("probe_low", "1 Mbit/s"),
        ("probe_high", "8 Mbit/s"),
    ];
    driven(recovery, &[], knobbed("probe-train", &knobs))
}

/// A segment, with its index in a train and the train's length.
pub(crate) type Placed = (Seq, Option<(u16, u16)>);

/// The segments that are sent now, with their places in a train.
pub(crate) fn sent(hand: &mut DrivenSender) -> Vec<Placed> {
    let now = hand.now;
    let next = || hand.sender.poll_transmit(now);
    let place = |s: Segment| (s.seq, s.train().map(|m| (m.index, m.segments)));
    std::iter::from_fn(next).map(place).collect()
}

/// Calls the timer when it is due; returns the milliseconds since `from`, and the segments that are
/// sent.
pub(crate) fn next_departure(hand: &mut DrivenSender, from: Instant) -> (f64, Vec<Placed>) {
    hand.now = hand.due();
    assert!(
        !hand.sender.on_timer(hand.now, &mut hand.seen),
        "no timeout"
    );
    (hand.now.since(from).as_secs_f64() * 1e3, sent(hand))
}

pub(crate) fn ack_with(hand: &mut DrivenSender, ack: Seq, option: AckOption) {
    hand.now += hand.step;
    let ack = Ack {
        ack,
        sack: SackBlocks::default(),
        echo: None,
        cause_sent: Instant::ZERO,
        offset: 0,
        option,
        window: None,
        stamp_ms: 0,
        extra_bytes: 0,
    };
    hand.sender.on_ack(hand.now, &ack, &mut hand.seen);
}

pub(crate) fn estimate(train: u16, mbps: Option<u64>) -> AckOption {
    let rate = mbps.map(Rate::from_mbps);
    AckOption::Measured { train, rate }
}

/// A sender with `abest` and its receiver over a bottleneck of 50 Mbit/s, 60 ms in each direction,
/// without other traffic: when each segment is sent, and the policy's orders.
pub(crate) fn alone(notice: bool, policies: Vec<Policy>) -> (Vec<(Instant, Seq)>, Vec<Order>) {
    let p = configured(&[("delayed_ack", "100 ms"), ("abc_limit", "1")]);
    let mut sender = Sender::new(&p.sender, &p.parts, policies);
    let mut receiver = Receiver::new(p.receiver);
    let mut seen = Seen::default();
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
