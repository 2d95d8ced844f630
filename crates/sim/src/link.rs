//! A unidirectional link: a drop-tail FIFO queue, a transmitter and a
//! propagation delay. Because it is first in, first out, a packet's departure
//! and arrival are known when it is accepted; the queue is a ring buffer.

use educe::Educe;
use midflight_units::{Duration, Instant, Rate, Ring};

use crate::agenda::{Key, Source};
use crate::chain::Onward;
use crate::config::NodeId;
use crate::moment::{Scheduled, Shadow};
use crate::packet::Packet;

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

/// A packet on its way to the far end of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transit {
    /// The nanosecond of its arrival.
    pub(crate) at: Instant,
    pub(crate) passage: Passage,
    pub(crate) packet: Packet,
}

/// What a link does with a packet that it accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passage {
    /// Its transmission starts, and when that was decided.
    pub(crate) start: Scheduled,
    /// It is at the far end.
    pub(crate) arrive: Shadow,
}

#[derive(Educe, Debug)]
#[educe(Clone)]
pub(crate) struct Link {
    pub(crate) config: LinkConfig,
    /// Where packets go from the far end.
    pub(crate) onward: Onward,
    /// If they are routed: the links on which no packet may await an event.
    pub(crate) to_be_clear: Vec<LinkId>,
    /// The agenda's number of its arrivals; of no meaning where packets go on without an event.
    pub(crate) source: Source,
    pub(crate) down: bool,
    bps: f64,
    delay_seconds: f64,
    /// Size of the packet accepted last, and how long its transmission takes.
    bytes: u32,
    seconds: f64,
    /// Most packets that wait.
    room: usize,
    /// The transmitter is free from here on.
    free_at: Shadow,
    /// Start of the transmission accepted last.
    newest_start: Shadow,
    /// The last packet offered entered then.
    #[cfg(debug_assertions)]
    newest_entry: Shadow,
    /// Starts of the transmissions since the link was idle, the newest ones as
    /// many as may wait; kept where there is a limit and packets pass on.
    starts: Ring<Scheduled>,
    /// Packets on their way to the far end, where an event awaits them.
    ring: Ring<Transit>,
    /// When each packet of `ring` enters; kept where the link may break.
    entries: Ring<Shadow>,
}

impl Link {
    pub(crate) fn new(config: LinkConfig) -> Self {
        let mut link = Self {
            onward: Onward::Event,
            to_be_clear: Vec::new(),
            source: Source::Other(0),
            down: false,
            bps: 0.0,
            delay_seconds: 0.0,
            bytes: 0,
            seconds: 0.0,
            room: 0,
            free_at: Shadow::ZERO,
            newest_start: Shadow::ZERO,
            #[cfg(debug_assertions)]
            newest_entry: Shadow::ZERO,
            starts: Ring::default(),
            ring: Ring::default(),
            entries: Ring::default(),
            config,
        };
        link.tune();
        link
    }

    /// Works out what follows from the parameters.
    pub(crate) fn tune(&mut self) {
        self.bps = self.config.rate.as_bps() as f64;
        self.delay_seconds = self.config.delay.as_nanos() as f64 / 1e9;
        let room = |limit: u32| (limit as usize).saturating_sub(1);
        self.room = self.config.limit.map_or(usize::MAX, room);
    }

    /// Whether a packet was ever handed to it.
    pub(crate) fn is_used(&self) -> bool {
        self.free_at > Shadow::ZERO || self.down
    }

    /// Whether as many packets wait at `now` as may, while one is in
    /// transmission: none of the last so many has begun. A transmission that
    /// starts at this very instant has begun unless that was decided (when the
    /// packet before it started) after the present event was scheduled.
    #[inline(always)]
    fn is_full(&self, now: Shadow, scheduled: Scheduled) -> bool {
        let waits =
            |start: &Scheduled| start.at > now || (start.at == now && start.by > scheduled.at);
        if self.passes_on() {
            let oldest = self.starts.len().checked_sub(self.room);
            oldest.is_some_and(|i| self.starts.get(i).is_none_or(waits))
        } else {
            let oldest = self.ring.len().checked_sub(self.room);
            oldest.is_some_and(|i| self.ring.get(i).is_none_or(|t| waits(&t.passage.start)))
        }
    }

    /// Whether some packets are not kept here until an event at the far end.
    fn passes_on(&self) -> bool {
        self.onward != Onward::Event
    }

    /// Takes a packet of `bytes` at `now`, which may lie ahead of the present
    /// but never before an earlier call's. None when the queue has no room.
    #[inline(always)]
    pub(crate) fn offer(
        &mut self,
        now: Shadow,
        scheduled: Scheduled,
        bytes: u32,
    ) -> Option<Passage> {
        #[cfg(debug_assertions)]
        {
            debug_assert!(now >= self.newest_entry, "packets enter in order");
            self.newest_entry = now;
        }
        let start = if self.free_at > now {
            if self.is_full(now, scheduled) {
                return None;
            }
            let start = Scheduled {
                at: self.free_at,
                by: self.newest_start,
            };
            if self.passes_on() && self.config.limit.is_some() {
                self.starts.push(start);
                if self.starts.len() > self.room {
                    self.starts.drop_front(1);
                }
            }
            start
        } else {
            self.starts.clear();
            Scheduled {
                at: now,
                by: scheduled.at,
            }
        };
        if bytes != self.bytes {
            self.bytes = bytes;
            self.seconds = 8.0 * f64::from(bytes) / self.bps;
        }
        self.newest_start = start.at;
        self.free_at = start.at.plus(self.seconds);
        Some(Passage {
            start,
            arrive: start.at.plus(self.seconds + self.delay_seconds),
        })
    }

    /// Puts a packet that enters at `enter` on its way to the far end; whether
    /// it is the next to arrive there.
    #[inline(always)]
    pub(crate) fn carry(&mut self, enter: Shadow, passage: Passage, packet: Packet) -> bool {
        if self.config.may_break {
            self.entries.push(enter);
        }
        self.ring.push(Transit {
            at: passage.arrive.moment().at,
            passage,
            packet,
        });
        self.ring.len() == 1
    }

    /// Whether no packet awaits an event at the far end.
    #[inline]
    pub(crate) fn is_clear(&self) -> bool {
        self.ring.is_empty()
    }

    /// The instant, in nanoseconds, at which the next packet is at the far end.
    #[inline]
    pub(crate) fn next_due(&self) -> u64 {
        let next = self.ring.front();
        next.map_or(u64::MAX, |t| t.at.as_nanos())
    }

    /// The same with what settles ties.
    pub(crate) fn key(&self) -> Key {
        self.ring.front().map_or(Key::NEVER, |t| Key {
            due: t.passage.arrive.moment(),
            scheduled: t.passage.start,
        })
    }

    /// Takes the packet that [`Self::next_due`] announced.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> Option<Transit> {
        if self.config.may_break {
            self.entries.pop();
        }
        self.ring.pop()
    }

    /// The link goes down at `now`: what was announced to enter it later is
    /// lost then. Calls `lose` with each such packet.
    pub(crate) fn take_down(&mut self, now: Shadow, mut lose: impl FnMut(Key, Packet)) {
        self.down = true;
        let stay = self.entries.iter().filter(|enter| **enter < now).count();
        let announced = self.ring.iter().zip(self.entries.iter()).skip(stay);
        for (transit, enter) in announced {
            let key = Key {
                due: enter.moment(),
                scheduled: transit.passage.start,
            };
            lose(key, transit.packet);
        }
        self.ring.truncate(stay);
        self.entries.truncate(stay);
    }
}

#[cfg(test)]
mod tests {
    use midflight_tcp::Segment;

    use super::*;
    use crate::config::FlowId;
    use crate::moment::Moment;

    fn link(limit: u32, onward: Onward) -> Link {
        let mut link = Link::new(LinkConfig {
            name: "test",
            from: NodeId(0),
            to: NodeId(1),
            rate: Rate::from_mbps(12),
            delay: Duration::from_millis(5),
            limit: Some(limit),
            may_break: false,
        });
        link.onward = onward;
        link
    }

    /// Where packets are kept until they arrive, and where they pass on.
    fn both(limit: u32) -> [Link; 2] {
        [Onward::Event, Onward::Chained(LinkId(0))].map(|onward| link(limit, onward))
    }

    /// Offers a full-sized packet; when it arrives and when its transmission starts, in microseconds.
    fn offer(l: &mut Link, us: u64, scheduled_us: u64) -> Option<(u64, u64)> {
        let at = |us: u64| Moment::written(Instant::from_nanos(us * 1_000)).shadow;
        let passage = l.offer(at(us), Scheduled::alone(at(scheduled_us)), 1500)?;
        if l.onward == Onward::Event {
            let segment = Segment {
                seq: 0,
                bytes: 1500,
                retransmission: false,
                sent: Instant::ZERO,
            };
            l.carry(
                at(us),
                passage,
                Packet::data(FlowId(0), NodeId(1), &segment),
            );
        }
        let us = |s: Shadow| s.moment().at.as_nanos() / 1_000;
        Some((us(passage.arrive), us(passage.start.at)))
    }

    #[test]
    fn a_limit_of_five_lets_four_wait_behind_the_one_in_transmission() {
        for mut l in both(5) {
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
    }

    #[test]
    fn a_limit_of_one_lets_none_wait() {
        for mut l in both(1) {
            assert!(offer(&mut l, 0, 0).is_some());
            assert!(offer(&mut l, 900, 900).is_none());
            assert!(offer(&mut l, 1100, 1100).is_some());
        }
    }

    #[test]
    fn at_the_instant_of_a_departure_the_earlier_scheduled_event_goes_first() {
        for mut full in both(3) {
            for _ in 0..3 {
                assert!(offer(&mut full, 500, 500).is_some());
            }
            // The second packet starts at 1.5 ms (the same double both ways), which was decided at 0.5 ms.
            let mut departure_first = full.clone();
            assert!(offer(&mut departure_first, 1500, 600).is_some());
            assert!(offer(&mut full, 1500, 400).is_none());
        }
    }

    /// The queue holds the same whether packets stay or pass on, over many fills and drains.
    #[test]
    fn what_passes_on_fills_the_queue_as_what_stays() {
        let [mut stays, mut passes] = both(7);
        let mut state = 1_u64;
        let mut now = 0;
        let mut refused = 0;
        for _ in 0..5_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            now += [0, 300, 1_000, 2_500][(state >> 62) as usize];
            let outcome = offer(&mut stays, now, now);
            assert_eq!(outcome, offer(&mut passes, now, now));
            refused += u32::from(outcome.is_none());
            while stays
                .ring
                .front()
                .is_some_and(|t| t.at.as_nanos() <= 1_000 * now)
            {
                stays.take();
            }
        }
        assert!((100..4_900).contains(&refused), "{refused}");
    }
}
