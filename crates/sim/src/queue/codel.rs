//! `CoDel` (RFC 8289): packets are dropped after the delay in the queue has stayed above a target for an interval.
//! The times between drops decrease with the inverse square root of the number of drops.
//!
//! The state and its changes are those of the pseudocode in section 5 of the RFC, in doubles. Marking instead of
//! dropping, which the RFC leaves to implementations, is as in Linux: a mark replaces a drop, and the marked packet
//! is sent. The other differences of Linux are in `linux.rs`.

use std::fmt::Debug;

use midflight_units::{Duration, Instant};

use super::fifo::{Fifo, Waiting};
use super::{Discipline, Effects, QueueConfig, QueueKind, QueueParameters};
use crate::event::DropCause;
use crate::packet::Packet;

pub(super) static CODEL: QueueKind = QueueKind {
    name: "codel",
    summary: "drops when the delay has stayed above 5 ms for 100 ms",
    source: "RFC 8289",
    default: QueueParameters {
        target: Duration::from_millis(5),
        period: Duration::from_millis(100),
        packets: 1000,
        bytes: None,
        ecn: false,
        threshold: None,
    },
    period: "interval",
    is_random: false,
    serves_flows: false,
    make: |config| Box::new(CoDel::<Control>::new(config)),
};

/// `CoDel`'s state for a queue, and how it changes.
pub(super) trait Law: Clone + Debug + Default + Send + Sync + 'static {
    /// How many bytes a flow of FQ-CoDel may send in its turn.
    const QUANTUM: i64;
    /// A packet that finds all queues empty is sent next, without the discipline.
    const BYPASS: bool;

    /// The packet to send. `beside` is the largest packet so far, and the bytes in other queues of the link.
    fn dequeue(
        &mut self,
        now: Instant,
        queue: &mut Fifo,
        beside: (u32, u64),
        of: &QueueParameters,
        effects: &mut Effects,
    ) -> Option<Waiting>;

    /// The link had no room, and this many packets of the queue were dropped.
    fn shed(&mut self, _packets: u32) {}
}

/// The state of the RFC (section 5.1).
#[derive(Clone, Debug, Default)]
pub(super) struct Control {
    /// When the delay will have been above the target for an interval; none while it is below.
    first_above: Option<Instant>,
    /// When the next packet is dropped, while dropping, or would have been.
    drop_next: Instant,
    /// Packets dropped since dropping began, and the value of that count when it began.
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl Control {
    /// `dodequeue()`: the next packet, and whether it may be dropped. `most` is the largest packet so far.
    fn next(
        &mut self,
        now: Instant,
        queue: &mut Fifo,
        most: u32,
        of: &QueueParameters,
    ) -> (Option<Waiting>, bool) {
        let Some(next) = queue.pop() else {
            self.first_above = None;
            return (None, false);
        };
        if next.waited(now) < of.target || queue.bytes() <= u64::from(most) {
            self.first_above = None;
            return (Some(next), false);
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + of.period);
                (Some(next), false)
            }
            Some(above) => (Some(next), now >= above),
        }
    }

    /// `control_law()`.
    fn law(from: Instant, count: u32, of: &QueueParameters) -> Instant {
        let wait = of.period.as_nanos() as f64 / f64::from(count).sqrt();
        from + Duration::from_nanos(wait as u64)
    }
}

impl Law for Control {
    /// Section 5.2.3 of RFC 8290: an Ethernet frame.
    const QUANTUM: i64 = 1514;
    const BYPASS: bool = false;

    /// `dequeue()`.
    fn dequeue(
        &mut self,
        now: Instant,
        queue: &mut Fifo,
        (most, _): (u32, u64),
        of: &QueueParameters,
        effects: &mut Effects,
    ) -> Option<Waiting> {
        let (mut next, mut may_drop) = self.next(now, queue, most, of);
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && now >= self.drop_next {
                let Some(first) = next.as_mut() else { break };
                self.count = self.count.saturating_add(1);
                if effects.mark(of.ecn, &mut first.packet) {
                    self.drop_next = Self::law(self.drop_next, self.count, of);
                    break;
                }
                effects.dropped.push((first.packet, DropCause::Early));
                (next, may_drop) = self.next(now, queue, most, of);
                if may_drop {
                    self.drop_next = Self::law(self.drop_next, self.count, of);
                } else {
                    self.dropping = false;
                }
            }
        } else if may_drop {
            if let Some(first) = next.as_mut() {
                if !effects.mark(of.ecn, &mut first.packet) {
                    effects.dropped.push((first.packet, DropCause::Early));
                    (next, _) = self.next(now, queue, most, of);
                }
            }
            self.dropping = true;
            // Dropping resumes at its last rate, if it ended not long ago.
            let delta = self.count.saturating_sub(self.last_count);
            let is_recent = now < self.drop_next + of.period * 16;
            self.count = if delta > 1 && is_recent { delta } else { 1 };
            self.drop_next = Self::law(now, self.count, of);
            self.last_count = self.count;
        }
        next
    }
}

#[derive(Clone, Debug)]
pub(super) struct CoDel<L> {
    of: QueueParameters,
    queue: Fifo,
    control: L,
    /// The largest packet so far.
    most: u32,
    /// The packet that has bypassed the queue and waits for the transmitter.
    first: Option<Packet>,
}

/// `maxpacket` before any packet has come.
pub(super) const LEAST_MOST: u32 = 512;

impl<L: Law> CoDel<L> {
    pub(super) fn new(config: &QueueConfig) -> Self {
        Self {
            of: config.parameters,
            queue: Fifo::default(),
            control: L::default(),
            most: LEAST_MOST,
            first: None,
        }
    }
}

impl<L: Law> Discipline for CoDel<L> {
    fn enqueue(&mut self, now: Instant, packet: Packet, effects: &mut Effects) {
        let (packets, bytes) = self.load();
        let bytes_after = bytes + u64::from(packet.bytes);
        let is_full = packets >= self.of.packets as usize
            || self.of.bytes.is_some_and(|most| bytes_after > most);
        if is_full {
            effects.dropped.push((packet, DropCause::Queue));
        } else if L::BYPASS && packets == 0 {
            self.first = Some(packet);
        } else {
            self.most = self.most.max(packet.bytes);
            self.queue.push(now, packet);
        }
    }

    fn dequeue(&mut self, now: Instant, effects: &mut Effects) -> Option<Packet> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let Self { of, queue, .. } = self;
        let next = self
            .control
            .dequeue(now, queue, (self.most, 0), of, effects)?;
        let mut packet = next.packet;
        effects.mark_late(of, next.waited(now), &mut packet);
        Some(packet)
    }

    fn take(&mut self, _now: Instant, is_gone: &mut dyn FnMut(&Packet) -> bool) -> Vec<Packet> {
        let mut gone = Vec::from_iter(self.first.take_if(|first| is_gone(first)));
        self.queue.take(is_gone, &mut gone);
        gone
    }

    fn load(&self) -> (usize, u64) {
        let first = self.first.map_or((0, 0), |first| (1, first.bytes));
        (
            self.queue.packets() + first.0,
            self.queue.bytes() + u64::from(first.1),
        )
    }

    fn boxed(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use midflight_tcp::EcnCodepoint;

    use super::super::tests::{at, config, packet};
    use super::*;

    /// A queue with arrivals at the rate of departures, behind a standing queue of this many packets: the drops and
    /// their times, in microseconds.
    fn standing(
        queue: &mut dyn Discipline,
        packets: u64,
        until: u64,
        ecn: EcnCodepoint,
    ) -> Vec<u64> {
        let mut effects = Effects::default();
        let mut drops = Vec::new();
        for number in 0..packets {
            queue.enqueue(at(0), packet(0, number, 1500, ecn), &mut effects);
        }
        for ms in 1..=until {
            queue.enqueue(at(1_000 * ms), packet(0, ms, 1500, ecn), &mut effects);
            let leaves = queue.dequeue(at(1_000 * ms), &mut effects);
            assert!(leaves.is_some());
            let early = |(_, cause): &(Packet, DropCause)| *cause == DropCause::Early;
            let count = effects.dropped.drain(..).filter(early).count();
            let count = count + effects.marked.drain(..).count();
            drops.extend(std::iter::repeat_n(1_000 * ms, count));
        }
        drops
    }

    /// Section 4.2 and the control law by hand: the delay is above the target from the first packet that has
    /// waited 5 ms on, at 5 ms; 100 ms later the first drop, the next after 100, 100/sqrt(2), 100/sqrt(3) ms ... each
    /// at the first departure (every ms) that is not before.
    #[test]
    fn drops_come_by_the_law() {
        let mut queue = config(&CODEL).make();
        let drops = standing(&mut *queue, 200, 600, EcnCodepoint::NotCapable);
        let mut due = 105_000.0;
        let mut expected = vec![105_000];
        for count in 1..drops.len() {
            due += 100_000.0 / f64::from(count as u32).sqrt();
            expected.push((due / 1_000.0_f64).ceil() as u64 * 1_000);
        }
        assert!(drops.len() >= 10, "{drops:?}");
        assert_eq!(drops, expected);
    }

    /// A queue below the target, or with less than a packet behind, is not affected.
    #[test]
    fn a_short_queue_is_left_alone() {
        let mut queue = config(&CODEL).make();
        assert!(standing(&mut *queue, 4, 500, EcnCodepoint::NotCapable).is_empty());
        let mut slow = config(&CODEL).make();
        let mut effects = Effects::default();
        for step in 0..50_u64 {
            // Each waits 50 ms, but nothing waits behind it.
            slow.enqueue(
                at(50_000 * step),
                packet(0, step, 1500, EcnCodepoint::NotCapable),
                &mut effects,
            );
            slow.dequeue(at(50_000 * (step + 1) - 1), &mut effects);
        }
        assert!(effects.dropped.is_empty());
    }

    /// If the sender supports ECN, packets are marked instead of dropped.
    #[test]
    fn marks_take_the_place_of_drops() {
        let mut with_marks = config(&CODEL);
        with_marks.parameters.ecn = true;
        let marked = standing(&mut *with_marks.make(), 200, 600, EcnCodepoint::Capable);
        let dropped = standing(
            &mut *config(&CODEL).make(),
            200,
            600,
            EcnCodepoint::NotCapable,
        );
        assert_eq!(marked, dropped);
        // Without ECN at the sender the same queue drops.
        let fallen_back = standing(&mut *with_marks.make(), 200, 600, EcnCodepoint::NotCapable);
        assert_eq!(fallen_back, dropped);
    }

    /// Dropping that begins soon after it ended continues at its last rate (the RFC's `delta`).
    #[test]
    fn dropping_resumes_where_it_left_off() {
        let of = CODEL.default;
        let mut control = Control {
            count: 9,
            last_count: 1,
            drop_next: at(1_000_000),
            ..Control::default()
        };
        let begin = |control: &mut Control, now: Instant| {
            let mut queue = Fifo::default();
            for number in 0..5 {
                queue.push(at(0), packet(0, number, 1500, EcnCodepoint::NotCapable));
            }
            control.first_above = Some(now);
            let mut effects = Effects::default();
            let next = control.dequeue(now, &mut queue, (1500, 0), &of, &mut effects);
            assert_eq!((next.is_some(), effects.dropped.len()), (true, 1));
        };
        let mut late = control.clone();
        begin(&mut control, at(2_599_999));
        assert_eq!((control.count, control.last_count), (8, 8));
        assert_eq!(
            control.drop_next,
            at(2_599_999) + Duration::from_nanos(35_355_339)
        );
        begin(&mut late, at(2_600_000));
        assert_eq!((late.count, late.last_count), (1, 1));
    }

    #[test]
    fn a_threshold_marks_packets_that_waited_longer() {
        let mut shallow = config(&CODEL);
        shallow.parameters.threshold = Some((Duration::from_millis(1), super::super::Marked::All));
        let mut queue = shallow.make();
        let mut effects = Effects::default();
        for number in 0..4 {
            queue.enqueue(
                at(0),
                packet(0, number, 1500, EcnCodepoint::Capable),
                &mut effects,
            );
        }
        let ecn = [500, 1_000, 1_001, 4_000].map(|us| {
            let packet = queue.dequeue(at(us), &mut effects);
            packet.map(|packet| packet.ecn())
        });
        assert_eq!(ecn[..2], [Some(EcnCodepoint::Capable); 2]);
        assert_eq!(ecn[2..], [Some(EcnCodepoint::Congestion); 2]);
    }
}
