//! Flows of datagrams: the stacks at both ends, and what reaches and leaves them.

use midflight_units::Instant;

use super::World;
use crate::agenda::Key;
use crate::config::{Action, FlowId, NodeId, WorldError};
use crate::event::{Event, Observer};
use crate::moment::Scheduled;
use crate::packet::Packet;
use crate::stack::{Datagram, End, Stack, StackConfig};

/// A flow of datagrams.
#[derive(Debug)]
pub(super) struct StackFlow {
    pub(super) nodes: [NodeId; 2],
    /// What runs there; none where it could not be copied.
    ends: [Option<Box<dyn Stack>>; 2],
    /// Datagrams sent so far, by both.
    sent: u64,
    /// When each wants to be woken.
    due: [Option<Instant>; 2],
}

impl StackFlow {
    pub(super) fn new(config: StackConfig) -> Self {
        Self {
            nodes: config.nodes,
            ends: config.ends.map(Some),
            sent: 0,
            due: [None; 2],
        }
    }
}

impl Clone for StackFlow {
    fn clone(&self) -> Self {
        let copy = |end: &Option<Box<dyn Stack>>| end.as_ref().and_then(|end| end.copy());
        let [client, server] = &self.ends;
        Self {
            nodes: self.nodes,
            ends: [copy(client), copy(server)],
            sent: self.sent,
            due: self.due,
        }
    }
}

impl<O: Observer> World<O> {
    /// The number of the timer of the first stack.
    pub(super) fn first_stack(&self) -> usize {
        self.first_timer() + 2 * self.flows.len()
    }

    /// Number of the flow of datagrams at `index` in the order given to [`Self::new`].
    pub fn stack_id(&self, index: u32) -> FlowId {
        FlowId(self.flows.len() as u32 + index)
    }

    /// A stack at an end of a flow of datagrams; none for a flow of segments or one that could not be
    /// copied.
    pub fn stack(&self, flow: FlowId, end: End) -> Option<&dyn Stack> {
        let number = flow.index().checked_sub(self.flows.len())?;
        self.stacks.get(number)?.ends[end.place()].as_deref()
    }

    /// Wakes an end of a flow of datagrams at an instant, or now if that is over: it has something to
    /// send of which nothing here could know.
    pub fn wake(&mut self, flow: FlowId, end: End, at: Instant) {
        let place = end.place();
        let Some(number) = flow.index().checked_sub(self.flows.len()) else {
            return;
        };
        if let Some(stack) = self.stacks.get_mut(number) {
            stack.due[place] = Some(at);
            let source = self.first_stack() + 2 * number + place;
            self.agenda.set_other(source, self.key_of(at));
        }
    }

    fn key_of(&self, due: Instant) -> Key {
        Key {
            due: self.clock.written(due).max(self.moment),
            scheduled: Scheduled::alone(self.moment.fine),
        }
    }

    /// Whether it is one of datagrams.
    pub(super) fn is_of_stacks(&self, flow: FlowId) -> bool {
        flow.index() >= self.flows.len()
    }

    /// What the timeline does to a flow of datagrams.
    #[cold]
    pub(super) fn act_on_stack(&mut self, flow: FlowId, action: Action) {
        let now = self.moment.at;
        match action {
            Action::Open(_) => self.ask(flow, End::Client, |stack| stack.open(now)),
            Action::Notify(_, notice) => {
                self.observer.record(now, flow, &Event::Notice);
                self.ask(flow, End::Client, |stack| stack.on_notice(now, &notice));
            }
            Action::Foresee(_) => self.ask(flow, End::Server, |stack| stack.on_warning(now)),
            Action::Attached(..) => self.ask(flow, End::Server, |stack| stack.on_attached(now)),
            // Nothing of TCP's: there is no SYN to be told of and no ACK to forge.
            _ => {}
        }
    }

    /// The timer of a stack is due, or was.
    pub(super) fn stack_timer(&mut self, source: usize) {
        self.reach_end();
        let place = source - self.first_stack();
        let (flow, end) = (self.stack_id((place / 2) as u32), End::BOTH[place % 2]);
        self.stacks[place / 2].due[place % 2] = None;
        // It may want to be woken no more.
        self.agenda.set_other(source, Key::NEVER);
        let now = self.moment.at;
        self.ask(flow, end, |stack| stack.on_timeout(now));
    }

    /// A datagram is at the end that it goes to.
    pub(super) fn deliver_datagram(&mut self, packet: &Packet) {
        let Some(datagram) = packet.open_datagram(&mut self.options) else {
            return;
        };
        let (now, flow) = (self.moment.at, packet.flow);
        let event = Event::DatagramArrived(&datagram);
        self.observer.record(now, flow, &event);
        let to = datagram.from.other();
        self.ask(flow, to, |stack| stack.on_datagram(now, &datagram.bytes));
    }

    /// Calls a stack, sends what it has to send and notes when it wants to be woken.
    fn ask(&mut self, flow: FlowId, end: End, call: impl FnOnce(&mut dyn Stack)) {
        let (now, place) = (self.moment.at, end.place());
        let number = flow.index() - self.flows.len();
        let Some(mut stack) = self.stacks[number].ends[place].take() else {
            self.error = Some(WorldError::Uncopied { flow: flow.0 });
            return;
        };
        call(stack.as_mut());
        let nodes = self.stacks[number].nodes;
        while let Some(bytes) = stack.poll_datagram(now) {
            let datagram = Datagram {
                from: end,
                number: self.stacks[number].sent,
                sent: now,
                bytes,
            };
            self.stacks[number].sent += 1;
            let event = Event::DatagramSent(&datagram);
            self.observer.record(now, flow, &event);
            let to = nodes[end.other().place()];
            let packet = Packet::datagram(flow, to, &datagram, &mut self.options);
            self.forward(nodes[place], packet);
        }
        let due = stack.next_timeout().map(|due| due.max(now));
        self.stacks[number].ends[place] = Some(stack);
        if self.stacks[number].due[place] == due {
            return;
        }
        self.stacks[number].due[place] = due;
        let key = due.map_or(Key::NEVER, |due| self.key_of(due));
        let source = self.first_stack() + 2 * number + place;
        self.agenda.set_other(source, key);
    }
}
