//! A 128-bit digest of a run: two runs with equal digests sent, received, dropped and changed the same
//! things at the same instants.
//!
//! Two lanes of multiply-and-fold over 64-bit words. It distinguishes runs; it is not a
//! cryptographic hash.

use std::fmt;

use midflight_tcp::{AckOption, SenderEvent};
use midflight_units::Instant;

use crate::config::FlowId;
use crate::event::{DropCause, Event, Observer, Payload};
use crate::stack::Datagram;

/// The running digest of a world's events.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Digest {
    lanes: [u64; 2],
}

/// Fractional digits of pi and of the golden ratio, odd.
const SEEDS: [u64; 2] = [0x2436_2109_13c9_d255, 0x9e37_79b9_7f4a_7c15];
const MULTIPLIERS: [u64; 2] = [0xd6e8_feb8_6659_fd93, 0xa076_1d64_78bd_642f];

impl Default for Digest {
    fn default() -> Self {
        Self { lanes: SEEDS }
    }
}

#[inline]
fn fold(lane: u64, word: u64, multiplier: u64) -> u64 {
    let product = u128::from(lane ^ word) * u128::from(multiplier);
    (product as u64) ^ ((product >> 64) as u64) ^ lane.rotate_left(23)
}

impl Digest {
    /// Adds a word.
    pub fn add(&mut self, word: u64) {
        self.lanes[0] = fold(self.lanes[0], word, MULTIPLIERS[0]);
        self.lanes[1] = fold(self.lanes[1], word.rotate_left(32), MULTIPLIERS[1]);
    }

    /// The first half as one word.
    pub fn fold(&self) -> u64 {
        self.lanes[0]
    }

    /// Adds the content of a datagram; returns its number.
    #[cold]
    fn content(&mut self, datagram: &Datagram) -> u64 {
        self.add(datagram.bytes.len() as u64);
        for part in datagram.bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.add(u64::from_le_bytes(word));
        }
        datagram.number
    }

    #[inline]
    fn note(&mut self, now: Instant, flow: FlowId, kind: u64, value: u64) {
        self.add(now.as_nanos());
        self.add(kind << 56 ^ (flow.index() as u64) << 40 ^ value);
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.lanes[0], self.lanes[1])
    }
}

impl Observer for Digest {
    // The kind of an event is known at compile time where it is reported: inlined, little more than the
    // folding is left.
    #[inline(always)]
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        let (kind, value) = match event {
            Event::Sent(s) => (1, s.seq << 1 | u64::from(s.retransmission)),
            Event::AckArrived(a) => {
                let kind = match a.option {
                    AckOption::Nothing => 2,
                    AckOption::ZeroWindow | AckOption::Standby => 17,
                    AckOption::Moved(_) => 18,
                    AckOption::Measured { .. } => 19,
                    AckOption::Approved(_) => 20,
                    AckOption::Congested | AckOption::CongestedUpdate => 25,
                    AckOption::From(_) => 26,
                    AckOption::Partial { .. } => 27,
                };
                (kind, a.ack)
            }
            Event::Arrived { segment, .. } => (3, segment.seq),
            Event::Dropped {
                payload,
                link,
                cause,
                ..
            } => {
                let number = match payload {
                    Payload::Data(seq) => seq << 1,
                    Payload::Ack(ack) => ack << 1 | 1,
                    Payload::Datagram(number) => *number,
                };
                let kind = match cause {
                    DropCause::Queue => 4,
                    DropCause::Early => 26,
                    DropCause::Break => 5,
                    DropCause::Radio => 16,
                    DropCause::Node => 23,
                };
                (kind, number ^ (link.index() as u64) << 48)
            }
            Event::Marked { payload, link, .. } => {
                let number = match payload {
                    Payload::Data(seq) => seq << 1,
                    Payload::Ack(ack) => ack << 1 | 1,
                    Payload::Datagram(number) => *number,
                };
                (27, number ^ (link.index() as u64) << 48)
            }
            Event::NodeSent { payload, node, .. } => {
                let number = match payload {
                    Payload::Data(seq) => seq << 1,
                    Payload::Ack(ack) => ack << 1 | 1,
                    Payload::Datagram(number) => *number,
                };
                (28, number ^ u64::from(node.0) << 48)
            }
            Event::EmptyAck { segment, arrived } => (24, segment.seq << 1 | u64::from(*arrived)),
            Event::DatagramSent(datagram) => (21, self.content(datagram)),
            Event::DatagramArrived { datagram, .. } => (22, datagram.number),
            Event::Transport(event) => {
                for byte in event.name().bytes().chain(event.detail().bytes()) {
                    self.add(byte.into());
                }
                (25, event.value())
            }
            Event::App(event) => {
                for byte in event.what.bytes() {
                    self.add(byte.into());
                }
                self.add(event.number);
                (28, event.value)
            }
            Event::Break => (6, 0),
            Event::Make => (7, 0),
            Event::Sender(SenderEvent::Cwnd { to, .. }) => (8, to.to_bits()),
            Event::Sender(SenderEvent::Ssthresh { to, .. }) => (9, to.to_bits()),
            Event::Sender(SenderEvent::Backoff(b)) => (10, u64::from(*b)),
            Event::Sender(SenderEvent::MinRto(d)) => (11, d.as_nanos()),
            Event::Sender(SenderEvent::RttSample(d)) => (12, d.as_nanos()),
            Event::Sender(SenderEvent::Timeout(seq)) => (13, *seq),
            Event::Sender(SenderEvent::FastRetransmit(seq)) => (14, *seq),
            Event::Sender(SenderEvent::RecoveryExit) => (15, 0),
            // Notices and reasons do not change the run by themselves; orders and classifications are
            // covered by their effects.
            Event::Sender(
                SenderEvent::Order { .. }
                | SenderEvent::WindowRefused { .. }
                | SenderEvent::LossSuspected(_)
                | SenderEvent::LossJudged { .. }
                | SenderEvent::Reordered(_)
                | SenderEvent::SpuriousTimeout
                | SenderEvent::SpuriousRetransmit
                | SenderEvent::Indicators(_)
                | SenderEvent::Rto(_)
                | SenderEvent::Smoothed(_)
                | SenderEvent::PacingRate(_)
                | SenderEvent::Mode(_)
                | SenderEvent::DeliveryRate { .. }
                | SenderEvent::Duplicates(_)
                | SenderEvent::Woken { .. }
                | SenderEvent::State(_)
                // The world reports it as a transport event.
                | SenderEvent::Path(_),
            )
            | Event::TimeoutJudged { .. }
            | Event::AckSent(_)
            | Event::Entered { .. }
            | Event::DatagramEntered { .. }
            // Its effect is in the ACKs.
            | Event::Signal { .. }
            | Event::Notice
            | Event::Waits(_) => return,
        };
        self.note(now, flow, kind, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_values_matter() {
        let digest = |words: &[u64]| {
            let mut d = Digest::default();
            for &w in words {
                d.add(w);
            }
            d.to_string()
        };
        assert_ne!(digest(&[1, 2]), digest(&[2, 1]));
        assert_ne!(digest(&[0]), digest(&[0, 0]));
        assert_eq!(digest(&[7, 8]), digest(&[7, 8]));
        assert_eq!(digest(&[]).len(), 32);
    }
}
