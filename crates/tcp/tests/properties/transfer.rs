//! A flow over a path that loses and reorders.

use std::collections::BTreeMap;

use midflight_control::policy::Policy;
use midflight_control::{LinkInfo, Notice};
use midflight_tcp::{Ack, Profile, Receiver, Segment};
use midflight_units::{Duration, Instant, Rate};

use crate::bench::{Bench, FLOW_END};

/// A deterministic source of bits.
pub(crate) struct Dice(u64);

impl Dice {
    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }

    /// When a packet sent now arrives, unless it is lost: one in 30 is lost, one in 20 is up to 150
    /// ms late, and sometimes one takes seconds.
    pub(crate) fn arrival(&mut self, now: Instant) -> Option<Instant> {
        let (lost, late, by, spike) =
            (self.roll(30), self.roll(20), self.roll(150), self.roll(300));
        let mut delay = Duration::from_millis(50);
        if late == 0 {
            delay = delay + Duration::from_millis(by);
        }
        if spike == 0 {
            delay = delay + Duration::from_millis(1000 + 20 * by);
        }
        (lost > 0).then(|| now + delay)
    }
}

pub(crate) enum Packet {
    Data(Segment),
    Ack(Ack),
}

/// A whole flow over a path that loses, delays and reorders in both directions, to a node that
/// sometimes moves.
pub(crate) fn transfer(p: &Profile, recovery: &str, policies: Vec<Policy>, seed: u64) {
    let mut bench = Bench::new(p, recovery, policies);
    let mut moves = Dice(seed);
    let mut leaves = false;
    let mut receiver = Receiver::new(p.receiver);
    let mut dice = Dice(seed);
    let mut path: BTreeMap<(Instant, u64), Packet> = BTreeMap::new();
    let mut count = 0;
    let mut carry = |path: &mut BTreeMap<_, _>, now, packet| {
        count += 1;
        if let Some(at) = dice.arrival(now) {
            path.insert((at, count), packet);
        }
    };
    // The packets sent at the opening are lost: the SYN is retransmitted.
    for _ in 0..100_000 {
        if bench.sender.is_done() {
            assert_eq!(receiver.highest(), FLOW_END);
            return;
        }
        let timers = [bench.sender.poll_timer(), receiver.poll_timer()];
        let timer = timers.into_iter().flatten().map(|(at, _)| at).min();
        let arrives = path.first_key_value().map(|((at, _), _)| *at);
        let next = timer.into_iter().chain(arrives).min();
        bench.now = next.unwrap_or_else(|| panic!("the flow stands still"));
        let now = bench.now;
        if moves.roll(30) == 0 {
            // First the warning, then the handoff.
            let link = |rate: u64, delay: u64| LinkInfo {
                rate: Rate::from_mbps(1 + rate),
                delay: Duration::from_millis(delay),
            };
            let notice = Notice {
                old: link(moves.roll(40), moves.roll(200)),
                new: link(moves.roll(40), moves.roll(200)),
                flows: 1,
            };
            receiver.on_links(now, &notice, leaves);
            let acks: Vec<Ack> = if leaves {
                receiver.on_attached(now).collect()
            } else {
                receiver.on_warning(now).collect()
            };
            leaves = !leaves;
            for ack in acks {
                carry(&mut path, now, Packet::Ack(ack));
            }
        }
        if arrives == Some(now) {
            match path.pop_first().map(|(_, packet)| packet) {
                Some(Packet::Data(segment)) => {
                    if let Some(ack) = receiver.on_segment(now, &segment) {
                        carry(&mut path, now, Packet::Ack(ack));
                    }
                }
                Some(Packet::Ack(ack)) => bench.sender.on_ack(now, &ack, &mut bench.watch),
                None => {}
            }
        } else {
            bench.sender.on_timer(now, &mut bench.watch);
            if let Some(ack) = receiver.on_timer(now) {
                carry(&mut path, now, Packet::Ack(ack));
            }
        }
        for segment in bench.drain() {
            carry(&mut path, now, Packet::Data(segment));
        }
    }
    panic!("the flow does not end: {:?}", bench.sender.view());
}
