//! Queues with a discipline: a packet enters a queue by an event, and leaves it when the transmitter is free,
//! which is an event too.

use super::World;
use crate::agenda::Key;
use crate::event::{DropCause, Event, Observer};
use crate::link::{LinkConfig, LinkId, Next};
use crate::packet::Packet;
use crate::queue::Effects;

/// The links with a discipline.
pub(super) fn managed(links: &[LinkConfig]) -> Vec<LinkId> {
    let numbered = links.iter().zip(0..);
    let managed = numbered.filter(|(link, _)| link.queue.is_some());
    managed.map(|(_, number)| LinkId(number)).collect()
}

impl<O: Observer> World<O> {
    /// The number of the first source that is a transmitter.
    pub(super) fn first_queue(&self) -> usize {
        self.first_hook() + self.hooks.len()
    }

    /// A packet arrives at a queue.
    #[cold]
    pub(super) fn enqueue(&mut self, link: LinkId, packet: Packet) {
        let mut effects = Effects::default();
        if let Some(queue) = self.links[link.index()].discipline() {
            queue.enqueue(self.moment.at, packet, &mut effects);
        }
        self.report_effects(link, effects);
        self.serve(link, false);
    }

    /// A transmitter is free.
    pub(super) fn queue_timer(&mut self, source: usize) {
        let link = self.managed[source - self.first_queue()];
        self.serve(link, true);
    }

    /// Sends from a queue while the transmitter is free, and schedules when it will be free.
    pub(super) fn serve(&mut self, link: LinkId, follows: bool) {
        let Some(number) = self.managed.iter().position(|&one| one == link) else {
            return;
        };
        let key = loop {
            let l = &mut self.links[link.index()];
            if l.is_paused() {
                break Key::NEVER;
            }
            if !l.is_free(self.moment.fine) {
                break l.free_key();
            }
            let mut effects = Effects::default();
            let next = l.send_next(self.moment, self.scheduled, follows, &mut effects);
            self.report_effects(link, effects);
            match next {
                Next::Nothing => break Key::NEVER,
                Next::Sent(is_first) => {
                    if is_first {
                        self.sync_link(link.index());
                    }
                }
                Next::Taken(packets) => {
                    for packet in packets {
                        self.lose(packet, link, DropCause::Break);
                    }
                }
            }
        };
        self.agenda.set_other(self.first_queue() + number, key);
    }

    fn report_effects(&mut self, link: LinkId, effects: Effects) {
        for packet in effects.marked {
            if !packet.is_of_others() {
                let event = Event::Marked {
                    payload: packet.payload(),
                    sent: packet.sent(),
                    link,
                    datagram: packet.datagram_number(&self.options),
                };
                self.observer.record(self.moment.at, packet.flow, &event);
            }
        }
        for (packet, cause) in effects.dropped {
            self.lose(packet, link, cause);
        }
    }
}
