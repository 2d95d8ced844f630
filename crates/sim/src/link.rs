//! A unidirectional link: a drop-tail FIFO queue, a transmitter and a
//! propagation delay. Because it is first in, first out, a packet's departure
//! and arrival are known when it is accepted; the queue is a ring buffer.

use std::collections::VecDeque;

use midflight_units::{Duration, Instant, Rate};

use crate::event::DropCause;
use crate::moment::{Moment, Scheduled};
use crate::pool::PacketId;
use crate::world::NodeId;

/// Number of a link in its world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub(crate) u16);

impl LinkId {
    /// Position in the order in which links were added.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The parameters of a link.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Name for traces and errors.
    pub name: &'static str,
    /// Where it starts.
    pub from: NodeId,
    /// Where it ends.
    pub to: NodeId,
    /// Rate of the transmitter.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// Most packets at the link, the one in transmission included; none for no limit.
    pub limit: Option<u32>,
    /// The timeline may take the link down.
    pub may_break: bool,
}

/// A packet that will be at the far end of a link, or is lost on entering it.
#[derive(Clone, Debug)]
pub(crate) struct Transit {
    /// It is handed to the link.
    pub(crate) enter: Moment,
    /// It is at the far end.
    arrive: Moment,
    /// Its transmission starts, and when that was decided.
    start: Scheduled,
    pub(crate) packet: PacketId,
}

/// What a link does next.
pub(crate) enum Outcome {
    Arrived(PacketId),
    Lost(PacketId, DropCause),
}

/// How long packets of one size take.
#[derive(Clone, Copy, Debug, Default)]
struct TransmissionTime {
    bytes: u32,
    seconds: f64,
}

/// Sizes remembered: data or SYN one way, ACKs with up to three blocks the other.
const SIZES: usize = 4;

#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) config: LinkConfig,
    /// The link that packets go on to without an event at the far end.
    pub(crate) next: Option<LinkId>,
    pub(crate) down: bool,
    /// Packets on their way to the far end, where an event awaits them.
    ring: VecDeque<Transit>,
    /// Packets that a link before this one has announced and that are lost here.
    lost: VecDeque<(Transit, DropCause)>,
    /// When the transmissions that may not have started yet will start; kept
    /// where there is a limit.
    starts: VecDeque<Moment>,
    /// The transmitter is free from here on.
    free_at: Moment,
    /// Start of the transmission before the first of `starts`.
    last_start: Instant,
    /// Start of the transmission accepted last.
    newest_start: Instant,
    delay_seconds: f64,
    times: [TransmissionTime; SIZES],
    oldest: usize,
}

impl Link {
    pub(crate) fn new(config: LinkConfig) -> Self {
        let delay_seconds = config.delay.as_nanos() as f64 / 1e9;
        Self {
            delay_seconds,
            config,
            next: None,
            down: false,
            ring: VecDeque::new(),
            lost: VecDeque::new(),
            starts: VecDeque::new(),
            free_at: Moment::ZERO,
            last_start: Instant::ZERO,
            newest_start: Instant::ZERO,
            times: [TransmissionTime::default(); SIZES],
            oldest: 0,
        }
    }

    /// Packets that wait for transmission at `now`. A transmission that starts
    /// at this very instant has begun unless its start was decided (when the
    /// packet before it started) after the present event was scheduled.
    fn waiting(&mut self, now: Moment, scheduled: Scheduled) -> usize {
        while let Some(&next) = self.starts.front() {
            if next > now || (next == now && self.last_start > scheduled.at) {
                break;
            }
            self.last_start = next.at;
            self.starts.pop_front();
        }
        self.starts.len()
    }

    fn transmission_time(&mut self, bytes: u32) -> TransmissionTime {
        if let Some(known) = self.times.iter().find(|t| t.bytes == bytes) {
            return *known;
        }
        let rate = self.config.rate;
        let seconds = 8.0 * f64::from(bytes) / rate.as_bps() as f64;
        let time = TransmissionTime { bytes, seconds };
        self.times[self.oldest] = time;
        self.oldest = (self.oldest + 1) % SIZES;
        time
    }

    /// Takes a packet of `bytes` at `now`, which may lie ahead of the present
    /// but never before an earlier call's. Returns when it is at the far end
    /// and when its transmission starts; none when there is no room.
    /// `scheduled` is when the event of its coming was put on the agenda.
    pub(crate) fn offer(
        &mut self,
        now: Moment,
        scheduled: Scheduled,
        bytes: u32,
    ) -> Option<(Moment, Scheduled)> {
        let busy = self.free_at > now;
        if let Some(limit) = self.config.limit {
            let waiting = self.waiting(now, scheduled);
            if busy && waiting + 1 >= limit as usize {
                return None;
            }
        }
        let (start, by) = if busy {
            (self.free_at, self.newest_start)
        } else {
            (now, scheduled.at)
        };
        self.newest_start = start.at;
        let time = self.transmission_time(bytes);
        if self.config.limit.is_some() {
            self.starts.push_back(start);
        }
        self.free_at = start.after_transmission(time.seconds);
        let arrive = start.arrival(time.seconds, self.delay_seconds);
        Some((arrive, Scheduled { at: start.at, by }))
    }

    /// Puts a packet on its way to the far end; whether it is the next thing to come of the link.
    pub(crate) fn carry(
        &mut self,
        enter: Moment,
        arrive: Moment,
        start: Scheduled,
        packet: PacketId,
    ) -> bool {
        self.ring.push_back(Transit {
            enter,
            arrive,
            start,
            packet,
        });
        self.ring.len() == 1
    }

    /// Loses a packet when its time comes.
    pub(crate) fn lose(
        &mut self,
        enter: Moment,
        start: Scheduled,
        packet: PacketId,
        why: DropCause,
    ) {
        self.lost.push_back((
            Transit {
                enter,
                arrive: enter,
                start,
                packet,
            },
            why,
        ));
    }

    /// When the next packet arrives at the far end or is lost, and when that was scheduled.
    pub(crate) fn next_outcome(&self) -> Option<(Moment, Scheduled)> {
        let arrival = self.ring.front().map(|t| (t.arrive, t.start));
        match self.lost.front() {
            Some((t, _)) if arrival.is_none_or(|a| (t.arrive, t.start) < a) => {
                Some((t.arrive, t.start))
            }
            _ => arrival,
        }
    }

    /// Takes what [`Self::next_outcome`] announced.
    pub(crate) fn take(&mut self) -> Option<Outcome> {
        let next = self.next_outcome();
        if let Some((t, _)) = self.lost.front() {
            if next == Some((t.arrive, t.start)) {
                return self
                    .lost
                    .pop_front()
                    .map(|(t, why)| Outcome::Lost(t.packet, why));
            }
        }
        self.ring.pop_front().map(|t| Outcome::Arrived(t.packet))
    }

    /// The link goes down at `now`: what was announced to enter it later is lost.
    pub(crate) fn take_down(&mut self, now: Moment) {
        self.down = true;
        let from = self.ring.partition_point(|t| t.enter < now);
        let announced = self.ring.split_off(from);
        let queued = std::mem::take(&mut self.lost);
        let mut all: Vec<_> = announced
            .into_iter()
            .map(|t| {
                (
                    Transit {
                        arrive: t.enter,
                        ..t
                    },
                    DropCause::Break,
                )
            })
            .chain(queued)
            .collect();
        all.sort_by_key(|(t, _)| t.enter);
        self.lost = all.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(limit: u32) -> Link {
        Link::new(LinkConfig {
            name: "test",
            from: NodeId(0),
            to: NodeId(1),
            rate: Rate::from_mbps(12),
            delay: Duration::from_millis(5),
            limit: Some(limit),
            may_break: false,
        })
    }

    /// Offers a full-sized packet; when it arrives and when its transmission starts, in microseconds.
    fn offer(l: &mut Link, us: u64, scheduled_us: u64) -> Option<(u64, u64)> {
        let at = |us: u64| Instant::from_nanos(us * 1_000);
        let sent = l.offer(
            Moment::written(at(us)),
            Scheduled::alone(at(scheduled_us)),
            1500,
        );
        sent.map(|(arrive, start)| (arrive.at.as_nanos() / 1_000, start.at.as_nanos() / 1_000))
    }

    #[test]
    fn a_limit_of_five_lets_four_wait_behind_the_one_in_transmission() {
        let mut l = link(5);
        for i in 0..5 {
            assert_eq!(offer(&mut l, 0, 0), Some((6_000 + 1_000 * i, 1_000 * i)));
        }
        assert_eq!(offer(&mut l, 0, 0), None);
        assert_eq!(
            offer(&mut l, 1100, 1100),
            Some((11_000, 5_000)),
            "one transmission is over"
        );
    }

    #[test]
    fn at_the_instant_of_a_departure_the_earlier_scheduled_event_goes_first() {
        let mut full = link(3);
        for _ in 0..3 {
            assert!(offer(&mut full, 500, 500).is_some());
        }
        // The second packet starts at 1.5 ms (the same double both ways), which was decided at 0.5 ms.
        let mut departure_first = full.clone();
        assert!(offer(&mut departure_first, 1500, 600).is_some());
        assert!(offer(&mut full, 1500, 400).is_none());
    }
}
