//! Flows of datagrams: the stacks at both ends, and the datagrams that reach and leave them.

use std::net::{Ipv4Addr, SocketAddrV4};

use midflight_control::PathUpdate;
use midflight_tcp::{Ack, AckOption, EcnCodepoint, SackBlocks, SenderEvent, Wake};
use midflight_units::{Instant, Seq};

use super::apps::Place;
use super::flows::judge_timeouts;
use super::World;
use crate::agenda::Key;
use crate::config::{Action, FlowId, NodeId, WorldError};
use crate::event::{Event, Observer};
use crate::link::LinkId;
use crate::moment::Scheduled;
use crate::packet::Packet;
use crate::stack::{
    destination, mark, source, ByteSet, Carries, DataConfig, Datagram, End, Outgoing, Report,
    Stack, StackConfig,
};

/// A flow of datagrams.
#[derive(Debug)]
pub(super) struct StackFlow {
    pub(super) nodes: [NodeId; 2],
    /// The two stacks; none if a stack could not be copied.
    ends: [Option<Box<dyn Stack>>; 2],
    /// Datagrams sent so far, by both ends.
    sent: u64,
    /// When the timer of each expires.
    due: [Option<Instant>; 2],
    addresses: Vec<(SocketAddrV4, NodeId)>,
    exits: Vec<(Ipv4Addr, LinkId)>,
    data: Option<FlowData>,
    /// The application whose data it carries, and the streams that an end has read and that have not been
    /// reported to it.
    pub(super) app: Option<Place>,
    read: Vec<u64>,
}

/// The state of the data of a datagram flow.
#[derive(Clone, Debug)]
struct FlowData {
    config: DataConfig,
    /// The bytes that have arrived.
    arrived: ByteSet,
    /// When the datagram that arrived last was sent.
    cause: Instant,
    /// First byte that is not acknowledged.
    acked: u64,
    /// When data was last sent; a probe timeout counts from then (RFC 9002 section 6.2.1).
    last_sent: Instant,
    /// See [`judge_timeouts`].
    open_timeouts: Vec<(Instant, Seq)>,
}

impl FlowData {
    fn new(config: DataConfig) -> Self {
        Self {
            config,
            arrived: ByteSet::default(),
            cause: Instant::ZERO,
            acked: 0,
            last_sent: Instant::ZERO,
            open_timeouts: Vec::new(),
        }
    }

    /// An acknowledgment of everything below a byte.
    fn ack(&self, below: u64, cause_sent: Instant) -> Ack {
        Ack {
            ack: self.config.segment(below),
            sack: SackBlocks::default(),
            echo: None,
            cause_sent,
            offset: 0,
            option: AckOption::Nothing,
            window: None,
            stamp_ms: 0,
            extra_bytes: 0,
        }
    }

    /// The segment that a datagram represents.
    fn segment(&self, carries: &Carries) -> Seq {
        match carries {
            Carries::Unknown => 0,
            Carries::Ack => self.config.segment(self.arrived.below()),
            Carries::Data { pieces, .. } => {
                let first = pieces.first().map_or(0, |(from, _)| *from);
                self.config.segment(first)
            }
        }
    }
}

impl StackFlow {
    pub(super) fn new(config: StackConfig) -> Self {
        Self {
            nodes: config.nodes,
            ends: config.ends.map(Some),
            sent: 0,
            due: [None; 2],
            addresses: config.addresses,
            exits: config.exits,
            data: config.data.map(FlowData::new),
            app: None,
            read: Vec::new(),
        }
    }

    /// The end that sends its data.
    pub(super) fn sender_of_data(&self) -> Option<End> {
        self.data.as_ref().map(|data| data.config.sender)
    }

    /// The destination node of a datagram.
    fn target(&self, from: End, bytes: &[u8]) -> NodeId {
        let to = destination(bytes);
        let is_it = |(address, _): &&(SocketAddrV4, NodeId)| Some(*address.ip()) == to;
        let found = match from {
            End::Client => None,
            End::Server => self.addresses.iter().find(is_it),
        };
        found.map_or(self.nodes[from.other().place()], |(_, node)| *node)
    }

    /// The first link of a datagram, if its source determines it.
    fn exit(&self, from: End, bytes: &[u8]) -> Option<LinkId> {
        let exits = self.exits.iter().filter(|_| from == End::Client);
        let source = source(bytes)?;
        let mut links = exits.filter(|(address, _)| *address == source);
        links.next().map(|(_, link)| *link)
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
            addresses: self.addresses.clone(),
            exits: self.exits.clone(),
            data: self.data.clone(),
            app: self.app,
            read: self.read.clone(),
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

    /// A stack at an end of a datagram flow; none for a flow of segments or a stack that could not be copied.
    pub fn stack(&self, flow: FlowId, end: End) -> Option<&dyn Stack> {
        let number = flow.index().checked_sub(self.flows.len())?;
        self.stacks.get(number)?.ends[end.place()].as_deref()
    }

    /// Wakes an end of a datagram flow at an instant, or now if that has passed, because it has something to
    /// send that is unknown here.
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

    pub(super) fn key_of(&self, due: Instant) -> Key {
        Key {
            due: self.clock.written(due).max(self.moment),
            scheduled: Scheduled::alone(self.moment.fine),
        }
    }

    /// Whether it is a datagram flow.
    pub(super) fn is_of_stacks(&self, flow: FlowId) -> bool {
        flow.index() >= self.flows.len()
    }

    /// Actions of the timeline on a flow of datagrams.
    #[cold]
    pub(super) fn act_on_stack(&mut self, flow: FlowId, action: Action) {
        let now = self.moment.at;
        match action {
            Action::Open(_) => {
                self.ask(flow, End::Client, |stack| stack.open(now));
                self.begin_app(flow);
            }
            Action::Notify(_, update) => {
                self.observer.record(now, flow, &Event::Notice);
                // Stacks do not use throughput advice.
                let PathUpdate::Notice(notice) = update else {
                    return;
                };
                let data = self.stacks[flow.index() - self.flows.len()].data.as_ref();
                let sender = data.map_or(End::Client, |data| data.config.sender);
                self.ask(flow, sender, |stack| stack.on_notice(now, &notice));
            }
            Action::Foresee(..) => self.ask(flow, End::Client, |stack| stack.on_warning(now)),
            Action::Attached(..) => self.ask(flow, End::Client, |stack| stack.on_attached(now)),
            Action::Address(_, number) => {
                let addresses = &self.stacks[flow.index() - self.flows.len()].addresses;
                if let Some(&(address, _)) = addresses.get(usize::from(number)) {
                    self.ask(flow, End::Client, |stack| stack.on_address(now, address));
                }
            }
            Action::SecondAddress(_, number) => {
                let addresses = &self.stacks[flow.index() - self.flows.len()].addresses;
                if let Some(&(address, _)) = addresses.get(usize::from(number)) {
                    self.ask(flow, End::Client, |stack| {
                        stack.on_second_address(now, address);
                    });
                }
            }
            // Unlike in TCP there is no SYN to report and no ACK to forge.
            _ => {}
        }
    }

    /// The timer of a stack may be due.
    pub(super) fn stack_timer(&mut self, source: usize) {
        self.reach_end();
        let place = source - self.first_stack();
        let (flow, end) = (self.stack_id((place / 2) as u32), End::BOTH[place % 2]);
        self.stacks[place / 2].due[place % 2] = None;
        // There may be no timer any more.
        self.agenda.set_other(source, Key::NEVER);
        let now = self.moment.at;
        self.ask(flow, end, |stack| stack.on_timeout(now));
    }

    /// A datagram has reached its destination.
    pub(super) fn deliver_datagram(&mut self, packet: &Packet, link: LinkId) {
        let Some(mut datagram) = packet.open_datagram(&mut self.options) else {
            return;
        };
        if packet.ecn() == EcnCodepoint::Congestion {
            mark(&mut datagram.bytes);
        }
        let (now, flow) = (self.moment.at, packet.flow);
        let event = Event::DatagramArrived {
            datagram: &datagram,
            link,
        };
        self.observer.record(now, flow, &event);
        let number = flow.index() - self.flows.len();
        if let (
            Some(data),
            Carries::Data {
                pieces,
                retransmission,
            },
        ) = (&mut self.stacks[number].data, &datagram.carries)
        {
            let last = pieces.last().map_or(0, |(_, until)| *until);
            let event = Event::Arrived {
                segment: &packet.stack_segment(*retransmission),
                link,
                rerouted: packet.rerouted(),
                duplicate: pieces.iter().all(|piece| data.arrived.has(*piece)),
                overtaken: data.arrived.end() > last,
            };
            self.observer.record(now, flow, &event);
            for piece in pieces {
                data.arrived.add(*piece);
            }
            data.cause = datagram.sent;
        }
        let to = datagram.from.other();
        self.ask(flow, to, |stack| stack.on_datagram(now, &datagram.bytes));
    }

    /// Events inside a stack, for observers.
    fn record_reports(&mut self, flow: FlowId, stack: &mut dyn Stack) {
        let now = self.moment.at;
        let number = flow.index() - self.flows.len();
        while let Some(report) = stack.poll_report() {
            let event = match (&report, &mut self.stacks[number].data) {
                (Report::Failed(message), _) => {
                    self.error = Some(WorldError::Stack {
                        flow: flow.0,
                        at: now,
                        message: message.clone(),
                    });
                    return;
                }
                (Report::Transport(event), _) => Event::Transport(event),
                (Report::Sender(event), _) => Event::Sender(*event),
                (Report::Acked { below, sent }, Some(data)) => {
                    data.acked = data.acked.max(*below);
                    let ack = data.ack(data.acked, *sent);
                    let open = &mut data.open_timeouts;
                    self.observer.record(now, flow, &Event::AckArrived(&ack));
                    judge_timeouts(open, now, flow, &ack, &mut self.observer);
                    continue;
                }
                (Report::Timeout, Some(data)) => {
                    let segment = data.config.segment(data.acked);
                    data.open_timeouts.push((now, segment));
                    let woken = SenderEvent::Woken {
                        by: Wake::Retransmission,
                        set: data.last_sent,
                    };
                    self.observer.record(now, flow, &Event::Sender(woken));
                    Event::Sender(SenderEvent::Timeout(segment))
                }
                (Report::Recovery(byte), Some(data)) => {
                    let segment = data.config.segment(*byte);
                    Event::Sender(SenderEvent::FastRetransmit(segment))
                }
                (Report::Read(stream), _) => {
                    if self.stacks[number].app.is_some() {
                        self.stacks[number].read.push(*stream);
                    }
                    continue;
                }
                (Report::Acked { .. } | Report::Timeout | Report::Recovery(_), None) => continue,
            };
            self.observer.record(now, flow, &event);
        }
    }

    /// Puts a datagram on the network.
    fn send_datagram(&mut self, flow: FlowId, end: End, outgoing: Outgoing) {
        let now = self.moment.at;
        let stack = &mut self.stacks[flow.index() - self.flows.len()];
        let Outgoing { bytes, carries } = outgoing;
        if let (Some(data), Carries::Data { .. }) = (&mut stack.data, &carries) {
            data.last_sent = now;
        }
        let datagram = Datagram {
            from: end,
            number: stack.sent,
            sent: now,
            bytes,
            carries,
        };
        stack.sent += 1;
        let to = stack.target(end, &datagram.bytes);
        let exit = stack.exit(end, &datagram.bytes);
        let from = stack.nodes[end.place()];
        let data = stack.data.as_ref();
        let segment = data.map_or((0, now), |data| {
            (data.segment(&datagram.carries), data.cause)
        });
        let ack = data.map(|data| data.ack(data.arrived.below(), data.cause));
        let event = Event::DatagramSent(&datagram);
        self.observer.record(now, flow, &event);
        let (is_ack, retransmission) = match datagram.carries {
            Carries::Unknown => (false, None),
            Carries::Ack => (true, None),
            Carries::Data { retransmission, .. } => (false, Some(retransmission)),
        };
        let packet = Packet::datagram(flow, to, datagram, segment, &mut self.options);
        match (ack, retransmission) {
            (Some(_), Some(retransmission)) => {
                let segment = packet.stack_segment(retransmission);
                self.observer.record(now, flow, &Event::Sent(&segment));
            }
            (Some(ack), None) if is_ack => {
                self.observer.record(now, flow, &Event::AckSent(&ack));
            }
            _ => {}
        }
        match exit {
            Some(link) => self.pass(link, packet),
            None => self.forward(from, packet),
        }
    }

    /// Calls a stack, sends its datagrams and schedules its timer.
    pub(super) fn ask(&mut self, flow: FlowId, end: End, call: impl FnOnce(&mut dyn Stack)) {
        let (now, place) = (self.moment.at, end.place());
        let number = flow.index() - self.flows.len();
        let Some(mut stack) = self.stacks[number].ends[place].take() else {
            self.error = Some(WorldError::Uncopied { flow: flow.0 });
            return;
        };
        call(stack.as_mut());
        self.record_reports(flow, stack.as_mut());
        while let Some(outgoing) = stack.poll_datagram(now) {
            self.send_datagram(flow, end, outgoing);
            self.record_reports(flow, stack.as_mut());
        }
        // The last poll may have returned nothing and still caused events.
        self.record_reports(flow, stack.as_mut());
        let due = stack.next_timeout().map(|due| due.max(now));
        self.stacks[number].ends[place] = Some(stack);
        if self.stacks[number].due[place] != due {
            self.stacks[number].due[place] = due;
            let key = due.map_or(Key::NEVER, |due| self.key_of(due));
            let source = self.first_stack() + 2 * number + place;
            self.agenda.set_other(source, key);
        }
        // The application may call the stack again.
        for stream in std::mem::take(&mut self.stacks[number].read) {
            self.read_stream(flow, end, stream);
        }
    }
}
