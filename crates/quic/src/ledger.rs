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

/// The packets with data of one path, whose numbers are a series of their own.
#[derive(Clone, Debug, Default)]
struct Series {
    /// Packets by their numbers, from `first` on.
    packets: VecDeque<Option<Sent>>,
    first: u64,
    /// The ranges of the last acknowledgment.
    last: SmallVec<[(u64, u64); 4]>,
    largest: Option<u64>,
}

/// The packets with data of one end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    order: Order,
    /// By the number of their path.
    paths: SmallVec<[Series; 1]>,
    acked: ByteSet,
}

impl Ledger {
    /// First byte that is not acknowledged.
    pub(crate) fn below(&self) -> u64 {
        self.acked.below()
    }

    /// The packets of a path.
    fn path(&mut self, path: u64) -> &mut Series {
        let path = path as usize;
        if self.paths.len() <= path {
            self.paths.resize(path + 1, Series::default());
        }
        &mut self.paths[path]
    }

    /// A packet of a path is sent; what it carries.
    pub(crate) fn sent(
        &mut self,
        (path, number): (u64, u64),
        frames: &[ObservedFrame],
        now: Instant,
    ) -> Carries {
        let mut pieces = Pieces::new();
        let (mut is_ack, mut retransmission) = (false, None);
        for frame in frames {
            match frame {
                ObservedFrame::Stream { id, offset, length } if *length > 0 => {
                    let had = self.order.number(*id, *offset, *length, &mut pieces);
                    retransmission.get_or_insert(had);
                }
                ObservedFrame::Ack { .. } => is_ack = true,
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
        let series = self.path(path);
        if series.packets.is_empty() {
            series.first = number;
        }
        while series.first + (series.packets.len() as u64) < number {
            series.packets.push_back(None);
        }
        series.packets.push_back(Some(Sent {
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
        let packets = self.paths.iter_mut().flat_map(|path| &mut path.packets);
        for sent in packets.flatten() {
            if overlaps(sent) {
                sent.repeated = true;
                break;
            }
        }
    }

    /// An acknowledgment of packets of a path has come.
    pub(crate) fn on_ack(&mut self, path: u64, ranges: &[(u64, u64)]) -> Option<Acked> {
        let Self { paths, acked, .. } = self;
        let series = paths.get_mut(usize::try_from(path).ok()?)?;
        let mut newest: Option<u64> = None;
        let (mut cause, mut spurious, mut any) = (Instant::ZERO, 0, false);
        let last = std::mem::take(&mut series.last);
        for &(from, until) in ranges {
            if until < series.first {
                break;
            }
            // What the last one had of this range is known.
            let known = last.iter().find(|range| range.0 == from);
            let from = known.map_or(from, |range| range.1 + 1).max(series.first);
            for number in from..=until {
                let slot = (number - series.first) as usize;
                let Some(sent) = series.packets.get_mut(slot).and_then(Option::take) else {
                    continue;
                };
                any = true;
                newest = newest.max(Some(number));
                cause = cause.max(sent.at);
                let is_new = sent.pieces.iter().any(|piece| !acked.has(*piece));
                spurious += u32::from(sent.repeated && is_new);
                for piece in sent.pieces {
                    acked.add(piece);
                }
            }
        }
        series.last = ranges.into();
        // What all arrived in other packets explains nothing any more.
        let is_over = |sent: &Option<Sent>, acked: &ByteSet| {
            let all = |sent: &Sent| sent.pieces.iter().all(|piece| acked.has(*piece));
            sent.as_ref().is_none_or(all)
        };
        while series
            .packets
            .front()
            .is_some_and(|sent| is_over(sent, acked))
        {
            series.packets.pop_front();
            series.first += 1;
        }
        if !any {
            return None;
        }
        let rtt_from = (newest > series.largest).then_some(cause);
        series.largest = series.largest.max(newest);
        Some(Acked {
            below: acked.below(),
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
        let sent =
            |ledger: &mut Ledger, n, frames: &[ObservedFrame]| ledger.sent((0, n), frames, at(n));
        assert_eq!(
            sent(&mut ledger, 5, &[stream(0, 0, 10)]),
            data(&[(0, 10)], false)
        );
        assert_eq!(
            sent(&mut ledger, 6, &[stream(4, 0, 10)]),
            data(&[(10, 20)], false)
        );
        assert_eq!(
            sent(
                &mut ledger,
                7,
                &[ObservedFrame::Ack {
                    path: 0,
                    ranges: SmallVec::new()
                }]
            ),
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
        let acked = ledger.on_ack(0, &[(5, 5)]);
        let first = Acked {
            below: 10,
            cause: at(5),
            spurious: 1,
            rtt_from: Some(at(5)),
        };
        assert_eq!(acked, Some(first));
        let acked = ledger.on_ack(0, &[(9, 10), (5, 5)]);
        assert_eq!(
            acked.map(|acked| (acked.below, acked.spurious)),
            Some((10, 0))
        );
        assert_eq!(ledger.on_ack(0, &[(9, 10), (5, 5)]), None);
        let acked = ledger.on_ack(0, &[(5, 10)]);
        assert_eq!(
            acked.map(|acked| (acked.below, acked.rtt_from)),
            Some((30, None))
        );
        assert!(ledger.paths[0].packets.is_empty());
    }

    #[test]
    fn each_path_has_its_own_numbers() {
        let mut ledger = Ledger::default();
        ledger.sent((0, 4), &[stream(0, 0, 10)], at(4));
        ledger.sent((1, 0), &[stream(0, 10, 10)], at(5));
        // What was lost on one path is sent again on the other.
        ledger.sent((1, 1), &[stream(0, 0, 10)], at(6));
        assert_eq!(ledger.on_ack(2, &[(0, 4)]), None);
        let acked = ledger.on_ack(1, &[(0, 1)]);
        assert_eq!(
            acked.map(|acked| (acked.below, acked.spurious)),
            Some((20, 0))
        );
        let late = ledger.on_ack(0, &[(4, 4)]);
        assert_eq!(
            late.map(|acked| (acked.below, acked.rtt_from)),
            Some((20, Some(at(4))))
        );
    }
}
