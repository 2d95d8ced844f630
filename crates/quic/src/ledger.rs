//! The bytes of a flow's data in each packet, and which of them are acknowledged.

use std::collections::{BTreeMap, VecDeque};

use midflight_sim::{ByteSet, Bytes, Carries};
use midflight_units::Instant;
use smallvec::SmallVec;

use crate::observation::ObservedFrame;

type Pieces = SmallVec<[Bytes; 2]>;

/// The bytes of streams, numbered in the order in which they are sent for the first time.
#[derive(Clone, Debug, Default)]
struct Order {
    /// Of each stream, runs of bytes: first byte of the stream, how many, number of the first.
    streams: BTreeMap<u64, Vec<(u64, u64, u64)>>,
    next: u64,
}

impl Order {
    /// Numbers bytes of a stream; whether some of them had one.
    fn number(&mut self, stream: u64, offset: u64, length: u64, pieces: &mut Pieces) -> bool {
        let runs = self.streams.entry(stream).or_default();
        let end = offset + length;
        let mut at = offset;
        let mut had = false;
        let mut place = runs.partition_point(|(first, count, _)| first + count <= at);
        while at < end {
            let Some(&(first, count, number)) = runs.get(place).filter(|run| run.0 <= at) else {
                // A stack sends a stream in order: what is new is behind all that is known.
                let count = end - at;
                let number = self.next;
                self.next += count;
                match runs.last_mut() {
                    Some(last) if (last.0 + last.1, last.2 + last.1) == (at, number) => {
                        last.1 += count;
                    }
                    _ => runs.push((at, count, number)),
                }
                pieces.push((number, number + count));
                break;
            };
            had = true;
            let until = end.min(first + count);
            let number = number + (at - first);
            pieces.push((number, number + (until - at)));
            (at, place) = (until, place + 1);
        }
        had
    }
}

/// A packet with data.
#[derive(Clone, Debug)]
struct Sent {
    pieces: Pieces,
    at: Instant,
    /// Its data were sent again since.
    repeated: bool,
}

/// What an acknowledgment has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acked {
    /// All data below this are acknowledged.
    pub(crate) below: u64,
    /// When the newest packet was sent that it acknowledges.
    pub(crate) cause: Instant,
    /// Packets whose data had been sent again without need.
    pub(crate) spurious: u32,
    /// How long ago the highest packet was sent, if it is acknowledged for the first time.
    pub(crate) rtt_from: Option<Instant>,
}

/// The packets with data of one end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    order: Order,
    /// Packets by their numbers, from `first` on.
    packets: VecDeque<Option<Sent>>,
    first: u64,
    acked: ByteSet,
    /// The ranges of the last acknowledgment.
    last: SmallVec<[(u64, u64); 4]>,
    largest: Option<u64>,
}

impl Ledger {
    /// First byte that is not acknowledged.
    pub(crate) fn below(&self) -> u64 {
        self.acked.below()
    }

    /// A packet is sent; what it carries.
    pub(crate) fn sent(&mut self, number: u64, frames: &[ObservedFrame], now: Instant) -> Carries {
        let mut pieces = Pieces::new();
        let (mut is_ack, mut retransmission) = (false, None);
        for frame in frames {
            match frame {
                ObservedFrame::Stream { id, offset, length } if *length > 0 => {
                    let had = self.order.number(*id, *offset, *length, &mut pieces);
                    retransmission.get_or_insert(had);
                }
                ObservedFrame::Ack(_) => is_ack = true,
                _ => {}
            }
        }
        if pieces.is_empty() {
            return if is_ack {
                Carries::Ack
            } else {
                Carries::Unknown
            };
        }
        if retransmission == Some(true) {
            self.note_repetition(&pieces);
        }
        if self.packets.is_empty() {
            self.first = number;
        }
        while self.first + (self.packets.len() as u64) < number {
            self.packets.push_back(None);
        }
        self.packets.push_back(Some(Sent {
            pieces: pieces.clone(),
            at: now,
            repeated: false,
        }));
        Carries::Data {
            pieces,
            retransmission: retransmission == Some(true),
        }
    }

    /// Data are sent again: the packets that have them are marked.
    fn note_repetition(&mut self, pieces: &[Bytes]) {
        let overlaps = |sent: &Sent| {
            let with = |a: &Bytes| pieces.iter().any(|b| a.0 < b.1 && b.0 < a.1);
            sent.pieces.iter().any(with)
        };
        // Data that are sent again are those of an old packet.
        for sent in self.packets.iter_mut().flatten() {
            if overlaps(sent) {
                sent.repeated = true;
                break;
            }
        }
    }

    /// An acknowledgment has come.
    pub(crate) fn on_ack(&mut self, ranges: &[(u64, u64)]) -> Option<Acked> {
        let mut newest: Option<u64> = None;
        let (mut cause, mut spurious, mut any) = (Instant::ZERO, 0, false);
        let last = std::mem::take(&mut self.last);
        for &(from, until) in ranges {
            if until < self.first {
                break;
            }
            // What the last one had of this range is known.
            let known = last.iter().find(|range| range.0 == from);
            let from = known.map_or(from, |range| range.1 + 1).max(self.first);
            for number in from..=until {
                let slot = (number - self.first) as usize;
                let Some(sent) = self.packets.get_mut(slot).and_then(Option::take) else {
                    continue;
                };
                any = true;
                newest = newest.max(Some(number));
                cause = cause.max(sent.at);
                let is_new = sent.pieces.iter().any(|piece| !self.acked.has(*piece));
                spurious += u32::from(sent.repeated && is_new);
                for piece in sent.pieces {
                    self.acked.add(piece);
                }
            }
        }
        self.last = ranges.into();
        // What all arrived in other packets explains nothing any more.
        let is_over = |sent: &Option<Sent>, acked: &ByteSet| {
            let all = |sent: &Sent| sent.pieces.iter().all(|piece| acked.has(*piece));
            sent.as_ref().is_none_or(all)
        };
        while self
            .packets
            .front()
            .is_some_and(|sent| is_over(sent, &self.acked))
        {
            self.packets.pop_front();
            self.first += 1;
        }
        if !any {
            return None;
        }
        let rtt_from = (newest > self.largest).then_some(cause);
        self.largest = self.largest.max(newest);
        Some(Acked {
            below: self.acked.below(),
            cause,
            spurious,
            rtt_from,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(id: u64, offset: u64, length: u64) -> ObservedFrame {
        ObservedFrame::Stream { id, offset, length }
    }

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn bytes_are_numbered_as_they_are_first_sent() {
        let mut ledger = Ledger::default();
        let data = |pieces: &[Bytes], retransmission| Carries::Data {
            pieces: pieces.into(),
            retransmission,
        };
        let sent = |ledger: &mut Ledger, n, frames: &[ObservedFrame]| ledger.sent(n, frames, at(n));
        assert_eq!(
            sent(&mut ledger, 5, &[stream(0, 0, 10)]),
            data(&[(0, 10)], false)
        );
        assert_eq!(
            sent(&mut ledger, 6, &[stream(4, 0, 10)]),
            data(&[(10, 20)], false)
        );
        assert_eq!(
            sent(&mut ledger, 7, &[ObservedFrame::Ack(SmallVec::new())]),
            Carries::Ack
        );
        assert_eq!(sent(&mut ledger, 8, &[]), Carries::Unknown);
        let both = [stream(0, 10, 5), stream(4, 10, 5)];
        assert_eq!(
            sent(&mut ledger, 9, &both),
            data(&[(20, 25), (25, 30)], false)
        );
        // Packet 5 is acknowledged after its data were sent again with some of packet 9.
        assert_eq!(
            sent(&mut ledger, 10, &[stream(0, 5, 8)]),
            data(&[(5, 10), (20, 23)], true)
        );
        let acked = ledger.on_ack(&[(5, 5)]);
        let first = Acked {
            below: 10,
            cause: at(5),
            spurious: 1,
            rtt_from: Some(at(5)),
        };
        assert_eq!(acked, Some(first));
        let acked = ledger.on_ack(&[(9, 10), (5, 5)]);
        assert_eq!(
            acked.map(|acked| (acked.below, acked.spurious)),
            Some((10, 0))
        );
        assert_eq!(ledger.on_ack(&[(9, 10), (5, 5)]), None);
        let acked = ledger.on_ack(&[(5, 10)]);
        assert_eq!(
            acked.map(|acked| (acked.below, acked.rtt_from)),
            Some((30, None))
        );
        assert!(ledger.packets.is_empty());
    }
}
