//! A unidirectional link: a drop-tail FIFO queue, a transmitter and a
//! propagation delay. Because it is first in, first out, a packet's departure
//! and arrival are known when it is accepted; the queue is a ring buffer.

mod absent;
mod config;
mod managed;
mod pause;

use educe::Educe;
use midflight_units::{Duration, Instant, Rate, Ring};

pub use self::config::{LinkConfig, LinkCounts, LinkId, LinkSetting, LinkState, Overhead};
pub(crate) use self::managed::Next;
use crate::agenda::{Key, Source};
use crate::announcement::{Announcement, What};
use crate::chain::NextHop;
use crate::config::NodeId;
use crate::impairment::Fate;
use crate::moment::{Clock, FineTime, Scheduled};
use crate::packet::Packet;
use crate::schedule::{Following, Service};
use crate::special::{Entry, Special};

/// A packet on its way to the far end of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transit {
    /// Its arrival, in whole nanoseconds.
    pub(crate) at: Instant,
    pub(crate) passage: Acceptance,
    pub(crate) packet: Packet,
}

/// The result of accepting a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acceptance {
    /// When its transmission starts, and when that was decided.
    pub(crate) start: Scheduled,
    /// When it arrives at the far end.
    pub(crate) arrive: FineTime,
}

#[derive(Educe, Debug)]
#[educe(Clone)]
pub(crate) struct Link {
    /// The node at its far end.
    pub(crate) to: NodeId,
    limit: Option<u32>,
    pub(crate) may_break: bool,
    /// Where packets go after the far end.
    pub(crate) onward: NextHop,
    /// If they are routed: the links on which no packet may await an event.
    pub(crate) to_be_clear: Vec<LinkId>,
    /// The agenda's number of its arrivals; unused if packets continue without an event.
    pub(crate) source: Source,
    down: bool,
    /// The fast path for entering packets is off: the link is down, paused, counted, tapped or watched by a hook
    /// of its node, takes a random processing time, or delays packets after a change.
    pub(crate) closed: bool,
    pub(crate) special: Option<Box<Special>>,
    /// Packets at the far end may be lost or late.
    pub(crate) impaired: bool,
    /// Its index among all links.
    pub(crate) number: u16,
    /// Represents times that are not whole nanoseconds.
    clock: Clock,
    rate: Rate,
    fine_delay: f64,
    /// The delay without a schedule.
    own_delay: f64,
    following: Option<Box<Following>>,
    /// Size of the packet accepted last, and how long its transmission takes.
    bytes: u32,
    transmission: f64,
    /// Maximum number of waiting packets.
    room: usize,
    /// The transmitter is free from this time.
    free_at: FineTime,
    /// Start of the transmission accepted last, and when that was decided.
    newest_start: (FineTime, FineTime),
    /// When the last offered packet entered.
    #[cfg(debug_assertions)]
    newest_entry: FineTime,
    /// Start times of the transmissions since the link was idle, only as many of the newest as may wait; kept if
    /// there is a limit and packets continue without an event.
    starts: Ring<Scheduled>,
    /// Packets on their way to the far end, where an event awaits them.
    ring: Ring<Transit>,
    /// When each packet of `ring` enters; kept if the link may break.
    entries: Ring<FineTime>,
}

impl Link {
    /// A link with these parameters.
    #[inline]
    pub(crate) fn new(config: &LinkConfig, hook: Option<u16>, clock: Clock) -> Self {
        let impaired = config.impairs();
        let has_more = config.is_special() || hook.is_some();
        let special = has_more.then(|| Special::new(config, hook));
        let mut link = Self {
            to: config.to,
            limit: config.limit,
            may_break: config.may_break,
            onward: NextHop::Event,
            to_be_clear: Vec::new(),
            source: Source::Other(0),
            down: false,
            closed: special.as_deref().is_some_and(Special::is_closed),
            special,
            impaired,
            number: 0,
            clock,
            rate: config.rate,
            fine_delay: 0.0,
            own_delay: 0.0,
            following: config.schedule.as_ref().map(|of| Following::new(of, clock)),
            bytes: 0,
            transmission: 0.0,
            room: 0,
            free_at: FineTime::ZERO,
            newest_start: (FineTime::ZERO, FineTime::ZERO),
            #[cfg(debug_assertions)]
            newest_entry: FineTime::ZERO,
            starts: Ring::default(),
            ring: Ring::default(),
            entries: Ring::default(),
        };
        link.tune(config.rate, config.delay, config.limit);
        link
    }

    /// Sets the parameters.
    pub(crate) fn tune(&mut self, rate: Rate, delay: Duration, limit: Option<u32>) {
        self.rate = rate;
        self.own_delay = self.clock.span(delay);
        // With a schedule this is the delay of the previous packet, of which there is none.
        self.fine_delay = if self.following.is_some() {
            0.0
        } else {
            self.own_delay
        };
        self.limit = limit;
        // If packets wait for opportunities, none is in transmission meanwhile.
        let sends_at_once = |f: &Following| matches!(f.service(), Service::Opportunities(_));
        let in_transmission = usize::from(!self.following.as_deref().is_some_and(sends_at_once));
        let room = |limit: u32| (limit as usize).saturating_sub(in_transmission);
        self.room = limit.map_or(usize::MAX, room);
        // No transmission took that long.
        (self.bytes, self.transmission) = (0, 0.0);
    }

    /// Whether a packet was ever handed to it.
    pub(crate) fn is_used(&self) -> bool {
        let holds = |special: &Special| !special.held.is_empty();
        self.free_at > FineTime::ZERO || self.down || self.special.as_deref().is_some_and(holds)
    }

    /// Whether the queue is full at `now`, while one packet is in transmission: none of the last `room` packets
    /// has started transmission. A transmission that starts at this very instant has started unless that was
    /// decided (when the packet before it started) after the present event was scheduled.
    #[inline(always)]
    fn is_full(&self, now: FineTime, scheduled: Scheduled) -> bool {
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

    /// Whether some packets continue without an event at the far end, so that they are not kept here.
    fn passes_on(&self) -> bool {
        self.onward != NextHop::Event
    }

    /// Accepts a packet of `bytes` at `now`, which may lie ahead of the present but never before an earlier
    /// call's. Returns none if the queue has no room.
    #[inline(always)]
    pub(crate) fn offer(
        &mut self,
        now: FineTime,
        scheduled: Scheduled,
        bytes: u32,
    ) -> Option<Acceptance> {
        #[cfg(debug_assertions)]
        {
            debug_assert!(now >= self.newest_entry, "packets enter in order");
            self.newest_entry = now;
        }
        // Its three times stay in registers. A structure that is stored in parts and loaded as a whole makes the
        // processor wait.
        let mut start = if self.free_at > now {
            if self.is_full(now, scheduled) {
                return None;
            }
            let start = Scheduled {
                at: self.free_at,
                by: self.newest_start.0,
                before: self.newest_start.1,
            };
            if self.passes_on() && self.limit.is_some() {
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
                before: scheduled.by,
            }
        };
        if bytes != self.bytes {
            match &self.following {
                None => {
                    self.bytes = bytes;
                    self.transmission = self.clock.transmission(bytes, self.rate);
                }
                Some(following) if following.is_steady(start.at, bytes) => {}
                Some(_) => {
                    start.at = self.follow(start.at, start.by, start.before, now, bytes);
                }
            }
        }
        self.newest_start = (start.at, start.by);
        self.free_at = start.at.plus(self.transmission);
        Some(Acceptance {
            start,
            arrive: start.at.plus(self.transmission + self.fine_delay),
        })
    }

    /// Sets the transmission time and delay of a packet by the link's schedule, which would start at `at`; returns when
    /// it starts. That was decided at `by` and `before`.
    #[inline(never)]
    fn follow(
        &mut self,
        at: FineTime,
        by: FineTime,
        before: FineTime,
        now: FineTime,
        bytes: u32,
    ) -> FineTime {
        let Some(following) = self.following.as_deref_mut() else {
            return at;
        };
        let follows = |special: &Special| special.follows && self.free_at == now;
        let waited = at > now || self.special.as_deref().is_some_and(follows);
        let own = (self.rate, self.own_delay);
        let last = self.free_at.plus(self.fine_delay);
        let sending = following.send((at, waited), bytes, own, last);
        (self.transmission, self.fine_delay) = (sending.transmission, sending.delay);
        // Otherwise the packet waits for an opportunity.
        if sending.first != at && self.passes_on() && self.limit.is_some() {
            if waited {
                self.starts.truncate(self.starts.len().saturating_sub(1));
            }
            let at = sending.first;
            self.starts.push(Scheduled { at, by, before });
        }
        sending.first
    }

    /// Queues a packet that enters at `enter` for its arrival at the far end; returns whether it is the next to
    /// arrive there.
    #[inline(always)]
    pub(crate) fn carry(&mut self, enter: FineTime, passage: Acceptance, packet: Packet) -> bool {
        if self.may_break {
            self.entries.push(enter);
        }
        self.ring.push(Transit {
            at: self.clock.moment(passage.arrive).at,
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

    /// Whether the next packet at the far end is cross traffic.
    pub(crate) fn brings_cross_traffic(&self) -> bool {
        self.ring.front().is_some_and(|t| t.packet.is_of_others())
    }

    /// The instant, in nanoseconds, at which the next packet is at the far end.
    #[inline]
    pub(crate) fn next_due(&self) -> u64 {
        let next = self.ring.front();
        next.map_or(u64::MAX, |t| t.at.as_nanos())
    }

    /// The agenda key of that arrival, which orders simultaneous events.
    pub(crate) fn key(&self) -> Key {
        self.ring.front().map_or(Key::NEVER, |t| Key {
            due: self.clock.moment(t.passage.arrive),
            scheduled: self.clock.arrival(t.passage.start, self.number),
        })
    }

    /// Removes the packet that [`Self::next_due`] announced.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> Option<Transit> {
        if self.may_break {
            self.entries.pop();
        }
        self.ring.pop()
    }

    /// The link goes down at `now`: packets that were announced to enter later are lost then. Calls `lose` with
    /// each of them.
    pub(crate) fn take_down(&mut self, now: FineTime, mut lose: impl FnMut(Key, Packet)) {
        self.down = true;
        self.closed = true;
        let stay = self.entries.iter().filter(|enter| **enter < now).count();
        let announced = self.ring.iter().zip(self.entries.iter()).skip(stay);
        for (transit, enter) in announced {
            let key = Key {
                due: self.clock.moment(*enter),
                scheduled: transit.passage.start,
            };
            lose(key, transit.packet);
        }
        self.ring.truncate(stay);
        self.entries.truncate(stay);
    }

    /// The link takes packets again.
    pub(crate) fn bring_up(&mut self) {
        self.down = false;
        self.closed = self.special.as_deref().is_some_and(Special::is_closed);
    }

    /// Whether it was declared to return.
    pub(crate) fn may_return(&self) -> bool {
        self.special
            .as_deref()
            .is_some_and(|special| special.may_return)
    }

    /// Whether an observer or a hook sees the packets that are handed to it.
    pub(crate) fn is_looked_at(&self) -> bool {
        let looks = |special: &Special| special.tapped || special.hook.is_some();
        self.special.as_deref().is_some_and(looks)
    }

    /// Its rate.
    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    /// The special link that is paused now.
    fn paused(&self) -> Option<&Special> {
        self.special.as_deref().filter(|special| special.paused)
    }

    /// Its rate where a recording sets one, and its delay, at `now`.
    fn now(&self, now: FineTime) -> (Option<u64>, f64) {
        let special = self.special.as_deref();
        let holds_back = special.and_then(|special| special.holds_back);
        match self.following.as_deref() {
            Some(following) => {
                let (bps, delay) = following.now(now);
                (bps, delay.unwrap_or(self.own_delay))
            }
            None => (None, holds_back.map_or(self.fine_delay, |(_, delay)| delay)),
        }
    }

    /// How many packets of the ring wait at `now`, or are in transmission. They are its last ones.
    fn waiting(&self, now: FineTime) -> usize {
        if self.free_at <= now {
            return 0;
        }
        let begun = self.ring.partition_point(|t| t.passage.start.at <= now);
        let waiting = self.ring.len() - begun;
        // If it sends at given instants the transmitter may be free while packets wait.
        let following = self.following.as_deref();
        let sends_at_instants = following.is_some_and(Following::sends_at_instants);
        let left = |t: &Transit| t.passage.arrive <= now.plus(self.now(now).1);
        // The last packet that has started is in transmission.
        let last = begun.checked_sub(1).and_then(|last| self.ring.get(last));
        waiting + usize::from(last.is_some_and(|t| !(sends_at_instants && left(t))))
    }

    /// The packets at it at `now`, as [`Self::state`] has them.
    pub(crate) fn packets(&self, now: FineTime) -> u64 {
        let own = match self.paused() {
            Some(special) => special.waiting.min(special.held.len()),
            None => self.waiting(now),
        };
        own as u64 + self.managed_load().0
    }

    /// Its state at `now`; nothing else happens to it before that. On a link that is not
    /// [tapped](LinkConfig::tapped) packets may have left already.
    pub(crate) fn state(&self, now: FineTime) -> LinkState {
        let paused = self.paused();
        let (bps, delay) = self.now(now);
        let bytes: u64 = if let Some(special) = paused {
            let gone_out = special.held.len().saturating_sub(special.waiting);
            let waiting = special.held.iter().skip(gone_out);
            waiting.map(|packet| u64::from(packet.bytes)).sum()
        } else {
            let waiting = self.ring.iter().rev().take(self.waiting(now));
            waiting.map(|t| u64::from(t.packet.bytes)).sum()
        };
        let far_end = self.clock.moment(FineTime::ZERO.plus(delay)).at;
        LinkState {
            packets: self.packets(now),
            bytes: bytes + self.managed_load().1,
            bps: bps.unwrap_or(self.rate.as_bps()),
            delay: far_end.since(Instant::ZERO),
            is_up: !self.down && paused.is_none(),
        }
    }

    /// Decides whether a packet may enter when the fast path is off.
    #[cold]
    #[inline(never)]
    pub(crate) fn admit(&mut self, enter: FineTime, packet: Packet) -> Entry {
        if let Some(special) = self.special.as_deref_mut() {
            special.counts.offered += 1;
        }
        let taken = |f: &mut Following| f.takes(enter);
        if self.down || self.following.as_deref_mut().is_some_and(taken) {
            return Entry::Broken;
        }
        if let Some(entry) = self.keep(&packet) {
            return entry;
        }
        if self.discipline().is_some() {
            return Entry::Managed;
        }
        self.hold_back(enter, packet.bytes);
        match self.special.as_deref_mut() {
            Some(special) if special.paused => {
                let limit = self.limit.map_or(usize::MAX, |limit| limit as usize);
                if special.waiting >= limit {
                    return Entry::Full;
                }
                special.held.push(packet);
                special.waiting += 1;
                Entry::Held
            }
            Some(special) => {
                if let Some((most, stream)) = &mut special.overhead {
                    let overhead = stream.next_f64() * *most;
                    self.bytes = packet.bytes;
                    let overhead = self.clock.of_seconds(overhead);
                    self.transmission = self.clock.transmission(packet.bytes, self.rate) + overhead;
                }
                Entry::Open
            }
            None => Entry::Open,
        }
    }

    /// The packet that [`Self::next_due`] announced, what happens to it, and whether a swapped packet follows
    /// it.
    pub(crate) fn next_fate(&mut self) -> Option<(Transit, Fate, bool)> {
        let transit = *self.ring.front()?;
        let by_schedule = self.fate_by_schedule(&transit);
        let special = self.special.as_deref_mut()?;
        let Some(impairing) = special.impairing.as_mut() else {
            return Some((transit, by_schedule.unwrap_or(Fate::OnTime), false));
        };
        let (fate, mut followed) = (impairing.fate(transit.at), false);
        let mut fate = by_schedule.unwrap_or(fate);
        if special.swapping && matches!(fate, Fate::OnTime | Fate::Swapped(_)) {
            (fate, followed) = (Fate::OnTime, true);
            special.swapping = false;
        }
        special.swapping |= matches!(fate, Fate::Swapped(_));
        Some((transit, fate, followed))
    }

    /// Whether and how the link's schedule loses a packet at the far end.
    fn fate_by_schedule(&mut self, transit: &Transit) -> Option<Fate> {
        let following = self.following.as_deref_mut()?;
        // One draw for each packet, whatever happens to it.
        let is_lost = following.loses(transit.passage.arrive);
        if following.took(transit.passage.start.at, transit.packet.bytes) {
            return Some(Fate::Broken);
        }
        is_lost.then_some(Fate::Lost)
    }

    /// Counts a packet for which the queue had no room.
    pub(crate) fn count_drop(&mut self) {
        if let Some(special) = self.special.as_deref_mut() {
            special.counts.dropped_queue += 1;
        }
    }

    /// Counts of the packets handed to it; zeros if they are not counted.
    pub(crate) fn counts(&self) -> LinkCounts {
        let counted = self.special.as_deref().filter(|special| special.counted);
        counted.map_or_else(LinkCounts::default, |special| special.counts)
    }

    /// No packet waits to follow the next one.
    pub(crate) fn forget_swapped(&mut self) {
        if let Some(special) = self.special.as_deref_mut() {
            special.swapping = false;
        }
    }

    /// An announced packet is the next to arrive.
    pub(crate) fn put_first(&mut self, announcement: &Announcement) {
        let key = announcement.key;
        if announcement.what == What::Swapped {
            self.forget_swapped();
        }
        if self.may_break {
            self.entries.push_front(key.scheduled.by);
        }
        self.ring.push_front(Transit {
            at: key.due.at,
            passage: Acceptance {
                start: key.scheduled,
                arrive: key.due.fine,
            },
            packet: announcement.packet,
        });
    }
}

#[cfg(test)]
mod tests {
    use midflight_tcp::Segment;

    use super::*;
    use crate::config::FlowId;
    use crate::packet::PacketOptions;
    use crate::schedule::{Curve, LinkSchedule, Opportunities, Outage, Schedule, Shape};

    fn link(limit: u32, onward: NextHop) -> Link {
        let mut link = Link::new(
            &LinkConfig::new(
                "test",
                (NodeId(0), NodeId(1)),
                Rate::from_mbps(12),
                Duration::from_millis(5),
                Some(limit),
            ),
            None,
            Clock::Seconds,
        );
        link.onward = onward;
        link
    }

    /// A link that keeps packets until they arrive, and a link from which they continue without an event.
    fn both(limit: u32) -> [Link; 2] {
        [NextHop::Event, NextHop::Chained(LinkId(0))].map(|onward| link(limit, onward))
    }

    /// Offers a full-sized packet; returns when it arrives and when its transmission starts, in microseconds.
    fn offer(l: &mut Link, us: u64, scheduled_us: u64) -> Option<(u64, u64)> {
        let at = |us: u64| Clock::Seconds.written(Instant::from_nanos(us * 1_000)).fine;
        let passage = l.offer(at(us), Scheduled::alone(at(scheduled_us)), 1500)?;
        if l.onward == NextHop::Event {
            let segment = Segment::plain(0, 1500, Instant::ZERO);
            l.carry(
                at(us),
                passage,
                Packet::data(
                    FlowId(0),
                    NodeId(1),
                    &segment,
                    &mut PacketOptions::default(),
                ),
            );
        }
        let us = |s: FineTime| Clock::Seconds.moment(s).at.as_nanos() / 1_000;
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

    #[test]
    fn a_link_follows_its_schedule_at_each_instant() {
        let ms = Duration::from_millis;
        let followed = |service, delay| {
            let schedule = Schedule::new(service, delay, None, Outage::Hold);
            let mut config = LinkConfig::new(
                "test",
                (NodeId(0), NodeId(1)),
                Rate::from_mbps(12),
                ms(5),
                None,
            );
            config.schedule = schedule.ok().map(|schedule| LinkSchedule {
                schedule: schedule.into(),
                seed: 1,
            });
            assert!(config.schedule.is_some());
            Link::new(&config, None, Clock::Seconds)
        };
        let at = |l: &Link, us: u64| {
            let state = l.state(Clock::Seconds.written(Instant::from_nanos(us * 1_000)).fine);
            (state.packets, state.bps, state.delay)
        };
        let curve = |points: &[(Duration, f64)]| Curve::new(points, Shape::Step, None).ok();
        let rate = curve(&[(Duration::ZERO, 12e6), (ms(2), 0.0), (ms(10), 6e6)]);
        let delay = curve(&[(Duration::ZERO, 0.005), (ms(10), 0.02)]);
        let mut l = followed(rate.map_or(Service::Own, Service::Rate), delay);
        for _ in 0..4 {
            assert!(offer(&mut l, 0, 0).is_some());
        }
        assert_eq!(at(&l, 500), (4, 12_000_000, ms(5)));
        // Two packets were sent before the outage, in which the others wait.
        assert_eq!(at(&l, 5_000), (2, 0, ms(5)));
        assert_eq!(at(&l, 11_000), (2, 6_000_000, ms(20)));
        assert_eq!(at(&l, 13_000), (1, 6_000_000, ms(20)));
        assert_eq!(at(&l, 15_000), (0, 6_000_000, ms(20)));

        let times = [ms(1), ms(3), ms(3), ms(8)];
        let given = Opportunities::new(&times, 1500, ms(10)).ok();
        let mut l = followed(given.map_or(Service::Own, Service::Opportunities), None);
        for _ in 0..4 {
            assert!(offer(&mut l, 0, 0).is_some());
        }
        // Between its opportunities nothing is in transmission.
        for (us, packets) in [(500, 4), (2_000, 3), (5_000, 1), (9_000, 0)] {
            assert_eq!(at(&l, us).0, packets, "{us}");
        }
        // Four packets of 1500 bytes in each 10 ms.
        assert_eq!(at(&l, 500_000).1, 4_800_000);
    }

    /// The queue holds the same number whether packets are kept or continue without an event, over many fills
    /// and drains.
    #[test]
    fn forwarded_packets_fill_the_queue_as_others_do() {
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
