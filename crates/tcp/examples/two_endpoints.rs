//! A sender and a receiver that exchange segments over a path in memory.
//!
//! Neither endpoint reads a clock or does I/O. This program owns the time: it delivers the next
//! arrival, or calls the endpoint whose timer is due, and then takes the segments that the sender
//! returns. The path delays every packet by 50 ms, reorders nothing, and loses some segments when
//! they are sent for the first time.
//!
//! `cargo run --package midflight-tcp --example two_endpoints`
#![allow(clippy::print_stdout, reason = "an example prints what it has to show")]

use std::collections::VecDeque;
use std::error::Error;

use midflight_tcp::{profile, Ack, Log, Receiver, Segment, Sender, SenderEvent};
use midflight_units::{Duration, Instant, Seq};

/// One-way delay.
const DELAY: Duration = Duration::from_millis(50);
/// The SYN is segment 0, so this is 200 segments of data.
const END: Seq = 201;
/// First transmissions that the path loses: one, three in a row, and the last one.
const LOST: [Seq; 5] = [20, 60, 61, 62, 200];

/// The sender's events that this program counts.
#[derive(Default)]
struct Counts {
    timeouts: u32,
    fast_retransmits: u32,
}

impl Log for Counts {
    fn record(&mut self, now: Instant, event: SenderEvent<'_>) {
        match event {
            SenderEvent::Timeout(segment) => {
                self.timeouts += 1;
                println!("{now} timeout of segment {segment}");
            }
            SenderEvent::FastRetransmit(segment) => {
                self.fast_retransmits += 1;
                println!("{now} fast retransmit of segment {segment}");
            }
            _ => {}
        }
    }
}

/// The result of the transfer.
#[derive(Debug, PartialEq, Eq)]
struct Transfer {
    done: Instant,
    sent: u64,
    retransmitted: u64,
    timeouts: u32,
    fast_retransmits: u32,
}

/// The next event.
enum Next {
    Data,
    Ack,
    SenderTimer,
    ReceiverTimer,
}

fn transfer(profile_name: &str) -> Result<Transfer, Box<dyn Error>> {
    let profile = profile(profile_name)?;
    profile.check()?;
    let mut sender = Sender::new(&profile.sender, &profile.parts, []);
    let mut receiver = Receiver::new(profile.receiver);
    let mut log = Counts::default();
    // Both directions keep the order, so that the next arrival is at the front.
    let mut data: VecDeque<(Instant, Segment)> = VecDeque::new();
    let mut acks: VecDeque<(Instant, Ack)> = VecDeque::new();
    let (mut now, mut sent, mut retransmitted) = (Instant::ZERO, 0, 0);
    sender.set_end(END);
    sender.open(now, &mut log);
    loop {
        while let Some(segment) = sender.poll_transmit(now) {
            sent += 1;
            retransmitted += u64::from(segment.retransmission);
            if segment.retransmission || !LOST.contains(&segment.seq) {
                data.push_back((now + DELAY, segment));
            }
        }
        if sender.is_done() {
            break;
        }
        // A timer is an instant and when it was set.
        let candidates = [
            data.front().map(|(at, _)| (*at, Next::Data)),
            acks.front().map(|(at, _)| (*at, Next::Ack)),
            sender.poll_timer().map(|(at, _)| (at, Next::SenderTimer)),
            receiver
                .poll_timer()
                .map(|(at, _)| (at, Next::ReceiverTimer)),
        ];
        let earliest = candidates.into_iter().flatten().min_by_key(|(at, _)| *at);
        let (at, next) = earliest.ok_or("nothing is left to happen")?;
        now = at;
        let reply = match next {
            Next::Data => {
                let arrived = data.pop_front();
                arrived.and_then(|(_, segment)| receiver.on_segment(now, &segment))
            }
            Next::ReceiverTimer => receiver.on_timer(now),
            Next::Ack => {
                if let Some((_, ack)) = acks.pop_front() {
                    sender.on_ack(now, &ack, &mut log);
                }
                None
            }
            Next::SenderTimer => {
                sender.on_timer(now, &mut log);
                None
            }
        };
        acks.extend(reply.map(|ack| (now + DELAY, ack)));
    }
    Ok(Transfer {
        done: now,
        sent,
        retransmitted,
        timeouts: log.timeouts,
        fast_retransmits: log.fast_retransmits,
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let done = transfer("rfc")?;
    println!("{done:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_segments_are_retransmitted() -> Result<(), Box<dyn Error>> {
        let done = transfer("rfc")?;
        assert_eq!(done.retransmitted, LOST.len() as u64);
        assert_eq!(done.sent, END + done.retransmitted);
        // Nothing is sent after the last segment, so no duplicate ACK reports its loss.
        assert_eq!((done.fast_retransmits, done.timeouts), (2, 1));
        Ok(())
    }
}
