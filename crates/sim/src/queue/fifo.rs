//! Packets that wait in order.

use std::collections::VecDeque;

use midflight_units::{Duration, Instant};

use crate::packet::Packet;

#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) packet: Packet,
    pub(super) since: Instant,
}

impl Waiting {
    pub(super) fn waited(&self, now: Instant) -> Duration {
        now.since(self.since)
    }
}

/// First in, first out.
#[derive(Clone, Debug, Default)]
pub(super) struct Fifo {
    waiting: VecDeque<Waiting>,
    bytes: u64,
}

impl Fifo {
    pub(super) fn push(&mut self, now: Instant, packet: Packet) {
        self.bytes += u64::from(packet.bytes);
        self.waiting.push_back(Waiting { packet, since: now });
    }

    pub(super) fn pop(&mut self) -> Option<Waiting> {
        let first = self.waiting.pop_front()?;
        self.bytes -= u64::from(first.packet.bytes);
        Some(first)
    }

    pub(super) fn packets(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn take(
        &mut self,
        is_gone: &mut dyn FnMut(&Packet) -> bool,
        gone: &mut Vec<Packet>,
    ) {
        self.waiting.retain(|waiting| {
            let is_gone = is_gone(&waiting.packet);
            if is_gone {
                gone.push(waiting.packet);
            }
            !is_gone
        });
        let bytes = self.waiting.iter().map(|w| u64::from(w.packet.bytes));
        self.bytes = bytes.sum();
    }
}
