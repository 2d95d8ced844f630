//! Any sender but `rapid` and an honest receiver over a path that loses, delays and reorders as the bytes say, for
//! as long as there are bytes, and delivers everything afterwards: every flow ends.
#![no_main]

use std::collections::BTreeMap;

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use midflight_fuzz::{check, link, notice, opened, policies, profile, WindowChecker};
use midflight_tcp::{Ack, Receiver, Segment, Sender};
use midflight_units::{Duration, Instant, Seq};

const END: Seq = 120;
const MOST_EVENTS: usize = 60_000;

enum Packet {
    Data(Segment),
    Ack(Ack),
}

/// What is on its way, by arrival and order of sending.
#[derive(Default)]
struct Path {
    delay: Duration,
    sent: u64,
    packets: BTreeMap<(Instant, u64), Packet>,
}

impl Path {
    fn send(&mut self, u: &mut Unstructured<'_>, now: Instant, packet: Packet) -> Result<()> {
        let later = if u.is_empty() {
            Some(0)
        } else {
            match u.int_in_range(0..=15)? {
                0 | 1 => None,
                2 => Some(u.int_in_range(0..=3000)?),
                _ => Some(0),
            }
        };
        if let Some(ms) = later {
            self.sent += 1;
            // A microsecond each keeps what is not late in order.
            let due = now
                + self.delay
                + Duration::from_millis(ms)
                + Duration::from_micros(self.sent % 1000);
            self.packets.insert((due, self.sent), packet);
        }
        Ok(())
    }
}

fn pump(
    u: &mut Unstructured<'_>,
    sender: &mut Sender,
    path: &mut Path,
    now: Instant,
) -> Result<()> {
    while let Some(segment) = sender.poll_transmit(now) {
        path.send(u, now, Packet::Data(segment))?;
    }
    Ok(())
}

fn run(u: &mut Unstructured<'_>) -> Result<()> {
    let Some(profile) = profile(u)? else {
        return Ok(());
    };
    let policies = policies(u)?;
    // It sends without a window, and a path without a queue gives it nothing to adapt to.
    if policies.iter().any(|policy| policy.info().name == "rapid") {
        return Ok(());
    }
    let mut path = Path {
        delay: Duration::from_millis(u.int_in_range(1..=400)?),
        ..Path::default()
    };
    let handoff = u.ratio(1, 2)?.then(|| notice(u)).transpose()?;
    let at = Instant::ZERO + Duration::from_millis(u.int_in_range(0..=5000)?);
    let mut handoff = handoff.map(|notice| (at, notice));
    let mut sender = opened(&profile, policies, END, link(u)?);
    let mut receiver = Receiver::new(profile.receiver);
    let mut now = Instant::ZERO;
    pump(u, &mut sender, &mut path, now)?;
    for _ in 0..MOST_EVENTS {
        if sender.is_done() {
            return Ok(());
        }
        let una = sender.view().snd_una;
        let arrival = path.packets.keys().next().map(|&(due, _)| due);
        let timers = [sender.poll_timer(), receiver.poll_timer()];
        let notified = handoff.map(|(at, _)| at);
        let next = timers
            .iter()
            .flatten()
            .map(|&(due, _)| due)
            .chain(arrival)
            .chain(notified)
            .min();
        let Some(next) = next else {
            panic!("nothing will happen any more");
        };
        now = now.max(next);
        if notified.is_some_and(|at| at <= now) {
            if let Some((_, notice)) = handoff.take() {
                sender.on_notice(now, &notice, &mut WindowChecker);
            }
        }
        if arrival.is_some_and(|due| due <= now) {
            match path.packets.pop_first() {
                Some((_, Packet::Data(segment))) => {
                    if let Some(ack) = receiver.on_segment(now, &segment) {
                        path.send(u, now, Packet::Ack(ack))?;
                    }
                }
                Some((_, Packet::Ack(ack))) => sender.on_ack(now, &ack, &mut WindowChecker),
                None => {}
            }
        }
        if let Some(ack) = receiver.on_timer(now) {
            path.send(u, now, Packet::Ack(ack))?;
        }
        sender.on_timer(now, &mut WindowChecker);
        pump(u, &mut sender, &mut path, now)?;
        check(&sender, una);
    }
    panic!("the flow does not end: {:?}", sender.view());
}

fuzz_target!(|data: &[u8]| {
    let _ = run(&mut Unstructured::new(data));
});
