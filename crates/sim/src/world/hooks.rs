//! Nodes that do more than forward.

use midflight_units::Instant;

use super::World;
use crate::agenda::Key;
use crate::announcement::{Announcement, What};
use crate::config::NodeId;
use crate::event::{Carried, Observer};
use crate::hook::{Emitted, Hook, HookedPacket, Verdict};
use crate::link::LinkId;
use crate::moment::Scheduled;
use crate::packet::Packet;

/// A hook and its node.
#[derive(Clone, Debug)]
pub(super) struct Hooked {
    pub(super) node: NodeId,
    pub(super) hook: Hook,
}

impl<O: Observer> World<O> {
    pub(super) fn first_hook(&self) -> usize {
        self.first_cross() + self.cross.len()
    }

    /// A packet comes at `now` to a link of a node with a hook; that may be ahead of the present
    /// where it is so for the hook to see.
    #[cold]
    pub(super) fn ask_hook(
        &mut self,
        number: u16,
        link: LinkId,
        now: Instant,
        packet: &Packet,
    ) -> Verdict {
        // What a node sends by itself it does not look at.
        if self.emitting == Some(number) {
            return Verdict::Forward;
        }
        let hooked = &mut self.hooks[usize::from(number)];
        let mut emit = Vec::new();
        let mut passing = HookedPacket {
            link,
            rate: self.links[link.index()].rate(),
            packet,
            options: &mut self.options,
        };
        let verdict = hooked.hook.on_packet(now, &mut passing, &mut emit);
        if hooked.hook.is_in_order() {
            self.emit(number, emit);
            self.sync_hook(number);
        }
        verdict
    }

    /// A hook is woken.
    pub(super) fn hook_timer(&mut self, source: usize) {
        let number = (source - self.first_hook()) as u16;
        let mut emit = Vec::new();
        let hooked = &mut self.hooks[usize::from(number)];
        hooked.hook.on_timeout(self.moment.at, &mut emit);
        self.emit(number, emit);
        self.sync_hook(number);
    }

    pub(super) fn sync_hook(&mut self, number: u16) {
        let due = self.hooks[usize::from(number)].hook.next_timeout();
        let key = due.map_or(Key::NEVER, |due| Key {
            due: self.clock.written(due).max(self.moment),
            scheduled: Scheduled::alone(self.moment.fine),
        });
        let source = self.first_hook() + usize::from(number);
        self.agenda.set_other(source, key);
    }

    /// What a node sends by itself goes out next, when the packet that caused it has.
    fn emit(&mut self, number: u16, emitted: Vec<Emitted>) {
        let key = Key {
            due: self.moment,
            scheduled: Scheduled::alone(self.moment.fine),
        };
        for Emitted { flow, to, what } in emitted {
            let packet = match &what {
                Carried::Data(segment) => Packet::data(flow, to, segment, &mut self.options),
                Carried::Ack(ack) => Packet::ack(flow, to, ack, &mut self.options),
            };
            self.announce(Announcement {
                key,
                // Of those of one instant the first was emitted first.
                link: LinkId(u16::MAX),
                what: What::Emitted(number),
                packet,
            });
        }
    }

    /// A packet that a node sends by itself leaves it.
    #[cold]
    pub(super) fn send_emitted(&mut self, number: u16, packet: Packet) {
        let node = self.hooks[usize::from(number)].node;
        self.emitting = Some(number);
        self.forward(node, packet);
        self.emitting = None;
    }
}
