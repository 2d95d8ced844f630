//! Nodes with functions besides forwarding.

use midflight_units::Instant;

use super::World;
use crate::agenda::Key;
use crate::announcement::{Announcement, What};
use crate::config::{FlowId, NodeId};
use crate::event::{Carried, Event, Observer};
use crate::hook::{Emitted, HookedPacket, Verdict};
use crate::link::LinkId;
use crate::moment::Scheduled;
use crate::packet::Packet;

impl<O: Observer> World<O> {
    pub(super) fn first_hook(&self) -> usize {
        self.first_cross() + self.cross.len()
    }

    /// Passes a packet that arrives at `now` at a link of a node with a hook to the hook, which may change it; returns
    /// whether it is forwarded. `now` may be ahead of the present if the hook allows that.
    #[cold]
    pub(super) fn call_hook(
        &mut self,
        (number, node): (u16, NodeId),
        link: LinkId,
        now: Instant,
        packet: &mut Packet,
    ) -> bool {
        // A hook does not see packets that its node sends itself.
        if self.emitting == Some(number) {
            return true;
        }
        let hook = &mut self.hooks[usize::from(number)];
        let mut emit = Vec::new();
        let mut passing = HookedPacket {
            node,
            link,
            rate: self.links[link.index()].rate(),
            packet,
            options: &mut self.options,
        };
        let verdict = hook.on_packet(now, &mut passing, &mut emit);
        let is_in_order = hook.is_in_order();
        if let Verdict::Replace(what) = &verdict {
            let rerouted = packet.rerouted();
            packet.discard(&mut self.options);
            *packet = self.packet(packet.flow, packet.to, what);
            packet.note_route(rerouted);
        }
        if is_in_order {
            self.emit(number, emit);
            self.sync_hook(number);
        }
        verdict != Verdict::Drop
    }

    fn packet(&mut self, flow: FlowId, to: NodeId, what: &Carried) -> Packet {
        match what {
            Carried::Data(segment) => {
                let packet = Packet::data(flow, to, segment, &mut self.options);
                // An application also waits for packets that a node sends instead of the sender.
                if self.flows[flow.index()].app.is_some() {
                    packet.for_app()
                } else {
                    packet
                }
            }
            Carried::Ack(ack) => Packet::ack(flow, to, ack, &mut self.options),
        }
    }

    /// A mobile node has left its link, or is at a station from now on.
    pub(super) fn attach(&mut self, mobile: NodeId, to: Option<NodeId>) {
        for number in 0..self.hooks.len() {
            let mut emit = Vec::new();
            self.hooks[number].on_attachment(self.moment.at, mobile, to, &mut emit);
            self.emit(number as u16, emit);
            self.sync_hook(number as u16);
        }
    }

    /// A hook is woken.
    pub(super) fn hook_timer(&mut self, source: usize) {
        let number = (source - self.first_hook()) as u16;
        let mut emit = Vec::new();
        self.hooks[usize::from(number)].on_timeout(self.moment.at, &mut emit);
        self.emit(number, emit);
        self.sync_hook(number);
    }

    pub(super) fn sync_hook(&mut self, number: u16) {
        let due = self.hooks[usize::from(number)].next_timeout();
        let key = due.map_or(Key::NEVER, |due| Key {
            due: self.clock.written(due).max(self.moment),
            scheduled: Scheduled::alone(self.moment.fine),
        });
        let source = self.first_hook() + usize::from(number);
        self.agenda.set_other(source, key);
    }

    /// Packets that a node sends itself are sent next, after the packet that caused them.
    fn emit(&mut self, number: u16, emitted: Vec<Emitted>) {
        let key = Key {
            due: self.moment,
            scheduled: Scheduled::alone(self.moment.fine),
        };
        for one in emitted {
            let packet = self.packet(one.flow, one.to, &one.what);
            self.announce(Announcement {
                key,
                // Packets of one instant are sent in the order in which they were emitted.
                link: LinkId(u16::MAX),
                what: What::Emitted(number, one.from),
                packet,
            });
        }
    }

    /// A packet that a node sends itself leaves the node.
    #[cold]
    pub(super) fn send_emitted(&mut self, (number, node): (u16, NodeId), packet: Packet) {
        let event = Event::NodeSent {
            payload: packet.payload(),
            sent: packet.sent(),
            node,
        };
        self.observer.record(self.moment.at, packet.flow, &event);
        self.emitting = Some(number);
        self.forward(node, packet);
        self.emitting = None;
    }
}
