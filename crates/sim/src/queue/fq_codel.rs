//! FQ-CoDel (RFC 8290): each flow has a queue with `CoDel`; the queues are served in turn by bytes, new flows first.
//!
//! A flow's queue is given by its number, not by a hash: flows share a queue only if there are more flows than queues
//! (the RFC's hash lets two of ten flows share one of 1024 in 4 % of all cases). Cross traffic has its own queue.

use std::collections::VecDeque;

use midflight_units::{Duration, Instant};

use super::codel::{Control, Law, LEAST_MOST};
use super::fifo::Fifo;
use super::{Discipline, Effects, QueueConfig, QueueKind, QueueParameters};
use crate::config::FlowId;
use crate::event::DropCause;
use crate::packet::Packet;

pub(super) static FQ_CODEL: QueueKind = QueueKind {
    name: "fq-codel",
    summary: "a queue for each flow, served in turn, with codel over each",
    source: "RFC 8290",
    default: QueueParameters {
        target: Duration::from_millis(5),
        period: Duration::from_millis(100),
        packets: 10_240,
        bytes: None,
        ecn: true,
        threshold: None,
    },
    period: "interval",
    is_random: false,
    serves_flows: true,
    make: |config| Box::new(FqCoDel::<Control>::new(config)),
};

/// Queues (section 5.2.2).
const FLOWS: usize = 1024;
/// When the limit is reached, half of the largest queue is dropped, but at most this many packets (section 4.1 and
/// Linux).
const BATCH: usize = 64;

#[derive(Clone, Debug, Default)]
struct FlowQueue<L> {
    queue: Fifo,
    control: L,
    /// The bytes that it may still send in its turn (section 4.2).
    credits: i64,
    /// It is in one of the lists.
    is_listed: bool,
}

#[derive(Clone, Debug)]
pub(super) struct FqCoDel<L> {
    of: QueueParameters,
    /// The queues that have had packets, by number; the first is for cross traffic.
    flows: Vec<FlowQueue<L>>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    packets: usize,
    bytes: u64,
    most: u32,
    /// The packet that has bypassed the queues and waits for the transmitter; included in the packets and bytes above.
    first: Option<Packet>,
}

impl<L: Law> FqCoDel<L> {
    pub(super) fn new(config: &QueueConfig) -> Self {
        Self {
            of: config.parameters,
            flows: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
            most: LEAST_MOST,
            first: None,
        }
    }

    /// The number of a packet's queue.
    fn queue_of(packet: &Packet) -> usize {
        if packet.is_of_others() {
            0
        } else {
            1 + packet.flow.index() % (FLOWS - 1)
        }
    }

    fn is_over(&self) -> bool {
        self.packets > self.of.packets as usize
            || self.of.bytes.is_some_and(|most| self.bytes > most)
    }

    /// Drops from the head of the queue with the most bytes (section 4.1).
    fn shed(&mut self, effects: &mut Effects) {
        let by_bytes = |&number: &usize| (self.flows[number].queue.bytes(), usize::MAX - number);
        let Some(fattest) = (0..self.flows.len()).max_by_key(by_bytes) else {
            return;
        };
        let flow = &mut self.flows[fattest];
        let half = flow.queue.bytes() / 2;
        let (mut shed, mut packets) = (0, 0);
        for _ in 0..BATCH {
            let Some(first) = flow.queue.pop() else { break };
            packets += 1;
            self.packets -= 1;
            self.bytes -= u64::from(first.packet.bytes);
            shed += u64::from(first.packet.bytes);
            effects.dropped.push((first.packet, DropCause::Queue));
            if shed >= half {
                break;
            }
        }
        flow.control.shed(packets);
    }
}

impl<L: Law> Discipline for FqCoDel<L> {
    /// Section 4.1.
    fn enqueue(&mut self, now: Instant, packet: Packet, effects: &mut Effects) {
        let number = Self::queue_of(&packet);
        if number >= self.flows.len() {
            self.flows.resize_with(number + 1, FlowQueue::default);
        }
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
        if L::BYPASS && self.packets == 1 && !self.is_over() {
            self.first = Some(packet);
            return;
        }
        self.most = self.most.max(packet.bytes);
        let flow = &mut self.flows[number];
        flow.queue.push(now, packet);
        if !flow.is_listed {
            flow.is_listed = true;
            flow.credits = L::QUANTUM;
            self.new.push_back(number);
        }
        while self.is_over() {
            self.shed(effects);
        }
    }

    /// Section 4.2.
    fn dequeue(&mut self, now: Instant, effects: &mut Effects) -> Option<Packet> {
        if let Some(first) = self.first.take() {
            self.packets -= 1;
            self.bytes -= u64::from(first.bytes);
            return Some(first);
        }
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let flow = &mut self.flows[number];
            if flow.credits <= 0 {
                flow.credits += L::QUANTUM;
                list.pop_front();
                self.old.push_back(number);
                continue;
            }
            let (packets, bytes) = (flow.queue.packets(), flow.queue.bytes());
            let others = (self.most, self.bytes - bytes);
            let next = flow
                .control
                .dequeue(now, &mut flow.queue, others, &self.of, effects);
            self.packets -= packets - flow.queue.packets();
            self.bytes -= bytes - flow.queue.bytes();
            let Some(next) = next else {
                list.pop_front();
                // A new queue that is empty goes behind the old ones once, so that it cannot come first again and
                // again.
                if is_new && !self.old.is_empty() {
                    self.old.push_back(number);
                } else {
                    flow.is_listed = false;
                }
                continue;
            };
            let mut packet = next.packet;
            flow.credits -= i64::from(packet.bytes);
            effects.mark_late(&self.of, next.waited(now), &mut packet);
            return Some(packet);
        }
    }

    fn take(&mut self, _now: Instant, is_gone: &mut dyn FnMut(&Packet) -> bool) -> Vec<Packet> {
        let mut gone = Vec::from_iter(self.first.take_if(|first| is_gone(first)));
        for flow in &mut self.flows {
            flow.queue.take(is_gone, &mut gone);
        }
        self.packets -= gone.len();
        self.bytes -= gone.iter().map(|p| u64::from(p.bytes)).sum::<u64>();
        gone
    }

    fn load(&self) -> (usize, u64) {
        (self.packets, self.bytes)
    }

    fn backlogs(&self, each: &mut dyn FnMut(Option<FlowId>, u64)) {
        let bypassed = self.first.as_ref().map(|first| Self::queue_of(first));
        for (number, flow) in self.flows.iter().enumerate() {
            let packets = flow.queue.packets() + usize::from(bypassed == Some(number));
            // Of flows that share a queue it is counted for the first.
            let of = number.checked_sub(1).map(|index| FlowId(index as u32));
            each(of, packets as u64);
        }
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

    fn flows_of(queue: &mut dyn Discipline, packets: usize) -> Vec<usize> {
        let mut effects = Effects::default();
        let mut next = || queue.dequeue(at(100), &mut effects);
        let flows = (0..packets).filter_map(|_| Some(next()?.flow.index()));
        flows.collect()
    }

    /// Turns are by bytes: a quantum of 1514 lets a flow of 1500-byte packets send two in its first turn (14 bytes of
    /// credit are left after one), and then one, two, one ... depending on the remaining credit.
    #[test]
    fn turns_are_by_bytes() {
        let mut queue = config(&FQ_CODEL).make();
        let mut effects = Effects::default();
        for number in 0..6 {
            for flow in 0..2 {
                queue.enqueue(
                    at(0),
                    packet(flow, number, 1500, EcnCodepoint::NotCapable),
                    &mut effects,
                );
            }
        }
        assert_eq!(
            flows_of(&mut *queue, 12),
            [0, 0, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1]
        );
    }

    /// A flow that becomes active again is served before those that wait, but not twice before
    /// them.
    #[test]
    fn sparse_flows_go_first_once() {
        let mut queue = config(&FQ_CODEL).make();
        let mut effects = Effects::default();
        let mut add = |queue: &mut dyn Discipline, flow| {
            queue.enqueue(
                at(0),
                packet(flow, 0, 1500, EcnCodepoint::NotCapable),
                &mut effects,
            );
        };
        for _ in 0..6 {
            add(&mut *queue, 0);
        }
        assert_eq!(flows_of(&mut *queue, 2), [0, 0]);
        // Its credit is used up: it becomes an old flow at the next check.
        add(&mut *queue, 1);
        assert_eq!(flows_of(&mut *queue, 1), [1]);
        // It has had its turn as a new flow, and is old when it is found empty.
        add(&mut *queue, 1);
        add(&mut *queue, 2);
        assert_eq!(flows_of(&mut *queue, 4), [1, 2, 0, 0]);
    }

    /// The backlogs are those of the flows, and add up to the load.
    #[test]
    fn backlogs_add_up() {
        let mut queue = config(&FQ_CODEL).make();
        let mut effects = Effects::default();
        for (flow, packets) in [(0, 3), (2, 5)] {
            for number in 0..packets {
                let packet = packet(flow, number, 1500, EcnCodepoint::NotCapable);
                queue.enqueue(at(0), packet, &mut effects);
            }
        }
        let mut found = Vec::new();
        queue.backlogs(&mut |flow, packets| found.push((flow, packets)));
        let of = |flow| Some(FlowId(flow));
        assert_eq!(found, [(None, 0), (of(0), 3), (of(1), 0), (of(2), 5)]);
        assert_eq!(queue.load().0, 8);
    }

    /// The excess is dropped from the head of the largest flow, at most half of it and at most 64 packets.
    #[test]
    fn the_fattest_flow_pays() {
        let mut small = config(&FQ_CODEL);
        small.parameters.packets = 10;
        let mut queue = small.make();
        let mut effects = Effects::default();
        for number in 0..8 {
            queue.enqueue(
                at(0),
                packet(0, number, 1500, EcnCodepoint::NotCapable),
                &mut effects,
            );
        }
        for number in 0..3 {
            queue.enqueue(
                at(0),
                packet(1, number, 1500, EcnCodepoint::NotCapable),
                &mut effects,
            );
        }
        let dropped = effects.dropped.iter().map(|(packet, cause)| {
            assert_eq!(*cause, DropCause::Queue);
            (packet.flow.index(), packet.segment().seq)
        });
        assert_eq!(
            dropped.collect::<Vec<_>>(),
            [(0, 0), (0, 1), (0, 2), (0, 3)]
        );
        assert_eq!(queue.load().0, 7);
    }
}
