//! A unidirectional link: a drop-tail FIFO queue, a transmitter and a
//! propagation delay. Because it is first in, first out, a packet's departure
//! and arrival are known when it is accepted; the queue is a ring buffer.

use std::collections::VecDeque;

use midflight_units::{Duration, Instant, Rate};

use crate::moment::Moment;
use crate::world::{NodeId, Packet};

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
}

#[derive(Clone, Debug)]
struct Transit {
    /// Transmission starts.
    start: Moment,
    /// The packet is at the far end.
    arrive: Moment,
    packet: Packet,
}

#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) config: LinkConfig,
    /// Packets on the link, waiting, in transmission and in propagation.
    ring: VecDeque<Transit>,
    /// Packets of the ring whose transmission has started.
    started: usize,
    /// The transmitter is free from here on, with a remainder in 1/rate nanoseconds.
    free_at: Moment,
    carry: u64,
    /// Start of the transmission before the next one that waits.
    last_start: Instant,
    pub(crate) down: bool,
}

impl Link {
    pub(crate) fn new(config: LinkConfig) -> Self {
        Self {
            config,
            ring: VecDeque::new(),
            started: 0,
            free_at: Moment::ZERO,
            carry: 0,
            last_start: Instant::ZERO,
            down: false,
        }
    }

    /// Packets that wait for transmission at `now`. A transmission that starts
    /// at this very instant has begun unless its start was decided (when the
    /// packet before it started) after the present event was scheduled.
    fn waiting(&mut self, now: Moment, scheduled: Instant) -> usize {
        while let Some(next) = self.ring.get(self.started) {
            if next.start > now || (next.start == now && self.last_start > scheduled) {
                break;
            }
            self.last_start = next.start.at;
            self.started += 1;
        }
        self.ring.len() - self.started
    }

    /// Accepts a packet, or gives it back when there is no room. `scheduled`
    /// is when the present event was put on the agenda.
    pub(crate) fn offer(
        &mut self,
        now: Moment,
        scheduled: Instant,
        packet: Packet,
    ) -> Result<(), Packet> {
        if let Some(limit) = self.config.limit {
            let busy = self.free_at > now;
            if busy && self.waiting(now, scheduled) + 1 >= limit as usize {
                return Err(packet);
            }
        }
        let start = if self.free_at > now {
            self.free_at
        } else {
            self.carry = 0;
            now
        };
        let rate = self.config.rate.as_bps();
        let (nanos, rest) = self.config.rate.transmission_parts(u64::from(packet.bytes));
        self.carry += rest;
        let whole = nanos + self.carry / rate;
        self.carry %= rate;
        let LinkConfig {
            rate: link_rate,
            delay,
            ..
        } = self.config;
        self.free_at = start.after_transmission(whole, packet.bytes, link_rate);
        let arrive = start.arrival(self.free_at.at, packet.bytes, link_rate, delay);
        self.ring.push_back(Transit {
            start,
            arrive,
            packet,
        });
        Ok(())
    }

    /// When the next packet arrives at the far end, and when its transmission started.
    pub(crate) fn next_arrival(&self) -> Option<(Moment, Instant)> {
        self.ring.front().map(|t| (t.arrive, t.start.at))
    }

    /// Takes the packet that has arrived.
    pub(crate) fn take(&mut self) -> Option<Packet> {
        let transit = self.ring.pop_front()?;
        if self.started == 0 {
            self.last_start = transit.start.at;
        } else {
            self.started -= 1;
        }
        Some(transit.packet)
    }
}

#[cfg(test)]
mod tests {
    use midflight_tcp::Segment;

    use super::*;
    use crate::world::{Body, FlowId};

    fn link(limit: u32) -> Link {
        Link::new(LinkConfig {
            name: "test",
            from: NodeId(0),
            to: NodeId(1),
            rate: Rate::from_mbps(12),
            delay: Duration::from_millis(5),
            limit: Some(limit),
        })
    }

    fn packet(seq: u64) -> Packet {
        let segment = Segment {
            seq,
            bytes: 1500,
            retransmission: false,
            sent: Instant::ZERO,
        };
        Packet {
            flow: FlowId(0),
            to: NodeId(1),
            bytes: 1500,
            rerouted: false,
            body: Body::Data(segment),
        }
    }

    fn offer(l: &mut Link, us: u64, scheduled_us: u64, seq: u64) -> bool {
        let at = |us: u64| Instant::from_nanos(us * 1_000);
        l.offer(Moment::written(at(us)), at(scheduled_us), packet(seq))
            .is_ok()
    }

    #[test]
    fn a_limit_of_five_lets_four_wait_behind_the_one_in_transmission() {
        let mut l = link(5);
        for seq in 0..5 {
            assert!(offer(&mut l, 0, 0, seq), "{seq}");
        }
        assert!(!offer(&mut l, 0, 0, 5));
        assert!(offer(&mut l, 1100, 1100, 6), "one transmission is over");
        let (arrival, start) = l.next_arrival().unwrap_or_else(|| unreachable!());
        assert_eq!((arrival.at.as_nanos(), start), (6_000_000, Instant::ZERO));
    }

    #[test]
    fn at_the_instant_of_a_departure_the_earlier_scheduled_event_goes_first() {
        let mut full = link(3);
        for seq in 0..3 {
            assert!(offer(&mut full, 500, 500, seq));
        }
        // The second packet starts at 1.5 ms (the same double both ways), which was decided at 0.5 ms.
        let mut departure_first = full.clone();
        assert!(offer(&mut departure_first, 1500, 600, 3));
        assert!(!offer(&mut full, 1500, 400, 3));
    }
}
