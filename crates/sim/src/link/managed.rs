//! A link whose queue has a discipline: no waiting packet is in the ring, and the next packet is
//! chosen when the transmitter is free.

use super::Link;
use crate::agenda::Key;
use crate::config::FlowId;
use crate::moment::{FineTime, Moment, Scheduled};
use crate::packet::Packet;
use crate::queue::{Discipline, Effects};
use crate::schedule::Following;

/// The packet for a free transmitter.
#[derive(Debug)]
pub(crate) enum Next {
    /// Nothing waits.
    Nothing,
    /// A packet is sent; whether it is the first to arrive.
    Sent(bool),
    /// There is an outage, in which the waiting packets are lost.
    Taken(Vec<Packet>),
}

impl Link {
    /// The discipline of its queue, if it has one.
    pub(crate) fn discipline(&mut self) -> Option<&mut dyn Discipline> {
        match self.special.as_deref_mut()?.queue.as_mut() {
            Some(queue) => Some(&mut **queue),
            None => None,
        }
    }

    /// Whether the transmitter is free.
    pub(crate) fn is_free(&self, now: FineTime) -> bool {
        now >= self.free_at
    }

    /// When the transmitter will be free, which was decided when the present transmission began.
    pub(crate) fn free_key(&self) -> Key {
        let (at, by) = self.newest_start;
        Key {
            due: self.clock.moment(self.free_at),
            scheduled: Scheduled { at, by, before: by },
        }
    }

    /// The free transmitter sends the next packet; `follows`: right at the end of the one before.
    pub(crate) fn send_next(
        &mut self,
        now: Moment,
        scheduled: Scheduled,
        follows: bool,
        effects: &mut Effects,
    ) -> Next {
        let takes = |following: &mut Following| following.takes(now.fine);
        if self.following.as_deref_mut().is_some_and(takes) {
            let all = self
                .discipline()
                .map(|queue| queue.take(now.at, &mut |_| true));
            return match all {
                Some(packets) if !packets.is_empty() => Next::Taken(packets),
                _ => Next::Nothing,
            };
        }
        let next = self
            .discipline()
            .and_then(|queue| queue.dequeue(now.at, effects));
        let Some(packet) = next else {
            return Next::Nothing;
        };
        if let Some(special) = self.special.as_deref_mut() {
            special.follows = follows;
        }
        self.hold_back(now.fine, packet.bytes);
        match self.offer(now.fine, scheduled, packet.bytes) {
            Some(passage) => Next::Sent(self.carry(now.fine, passage, packet)),
            // The transmitter is free.
            None => Next::Nothing,
        }
    }

    /// Calls `each` with the packets that wait in the queue of each flow, if the discipline has such queues.
    pub(crate) fn backlogs(&self, each: &mut dyn FnMut(Option<FlowId>, u64)) {
        let special = self.special.as_deref();
        if let Some(queue) = special.and_then(|special| special.queue.as_ref()) {
            queue.backlogs(each);
        }
    }

    /// Packets and bytes that a discipline holds.
    pub(super) fn managed_load(&self) -> (u64, u64) {
        let special = self.special.as_deref();
        let load = special.and_then(|special| special.queue.as_ref().map(|queue| queue.load()));
        load.map_or((0, 0), |(packets, bytes)| (packets as u64, bytes))
    }
}
