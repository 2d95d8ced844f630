//! Applications: which bytes of which flow are the messages of a workload, and when the other end has read them.
//!
//! A TCP connection is two flows of segments, one per direction, whose SYNs respond to each other: the client opens
//! the request's flow, and the arrival of its SYN opens the data's flow. Each has its own sender, so the packets of
//! the data's receiver are simulated too: they can be lost, wait in queues, and be retransmitted.

use std::collections::VecDeque;

use midflight_control::workload::{Actions, AnyWorkload, AppEvent, Message, Way};
use midflight_units::{Instant, Seq};

use super::{SenderLog, World};
use crate::agenda::Key;
use crate::config::{AppConfig, FlowId};
use crate::event::{Event, Observer};
use crate::stack::End;

/// The part of an application that a flow carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    app: u16,
    connection: u16,
    way: Way,
}

/// Messages in one direction of a connection.
#[derive(Clone, Debug)]
struct Lane {
    flow: FlowId,
    /// Bytes of a segment's data.
    payload: u64,
    /// One past the last written segment, where the SYN is the first; if each message is a stream, one more than the
    /// number of streams.
    written: Seq,
    /// Messages that have not been read, each with the value of `written` after it.
    under_way: VecDeque<(Message, Seq)>,
}

impl Lane {
    /// For a flow of segments. Every message begins with its own segment.
    fn write(&mut self, message: Message) -> Seq {
        self.written += message.bytes.div_ceil(self.payload).max(1);
        self.under_way.push_back((message, self.written));
        self.written
    }

    /// The next message that has been read if all segments below this have been.
    fn read(&mut self, next: Seq) -> Option<Message> {
        let (_, end) = self.under_way.front()?;
        if *end > next {
            return None;
        }
        self.under_way.pop_front().map(|(message, _)| message)
    }
}

/// A connection. A datagram flow carries both directions.
#[derive(Clone, Debug)]
struct Connection {
    data: Lane,
    back: Option<Lane>,
}

/// An application.
#[derive(Clone, Debug)]
pub(super) struct App {
    pub(super) workload: AnyWorkload,
    connections: Vec<Connection>,
    begun: bool,
}

impl<O: Observer> World<O> {
    /// The number of the first source that is an application.
    pub(super) fn first_app(&self) -> usize {
        self.first_queue() + self.managed.len()
    }

    /// Assigns flows to applications.
    pub(super) fn add_apps(&mut self, apps: Vec<AppConfig>) {
        let flows = self.flows.len();
        for config in apps {
            let app = self.apps.len() as u16;
            let mut connections = Vec::with_capacity(config.connections.len());
            for (number, of) in config.connections.iter().enumerate() {
                let mut lane = |flow: FlowId, way| {
                    let place = Place {
                        app,
                        connection: number as u16,
                        way,
                    };
                    let payload = self.give(flow, place);
                    Lane {
                        flow,
                        payload,
                        written: 1,
                        under_way: VecDeque::new(),
                    }
                };
                // A datagram flow carries both directions.
                let is_stack = of.data.index() >= flows;
                let back = if is_stack { Some(of.data) } else { of.back };
                connections.push(Connection {
                    back: back.map(|flow| lane(flow, Way::Back)),
                    data: lane(of.data, Way::Data),
                });
            }
            self.apps.push(App {
                workload: config.workload,
                connections,
                begun: false,
            });
        }
    }

    /// Assigns a flow to an application; returns the data bytes of a segment.
    fn give(&mut self, flow: FlowId, place: Place) -> u64 {
        if self.is_of_stacks(flow) {
            let number = flow.index() - self.flows.len();
            self.stacks[number].app = Some(place);
            return 1;
        }
        let state = &mut self.flows[flow.index()];
        state.app = Some(place);
        state.is_special = true;
        u64::from(state.sender.config().payload_bytes())
    }

    /// Whether a flow may get its node's events: it carries no application, or has opened.
    pub(super) fn is_opened(&self, flow: FlowId) -> bool {
        let state = &self.flows[flow.index()];
        state.app.is_none() || state.sender.view().snd_max > 0
    }

    /// A flow is about to open: it has what is written so far.
    pub(super) fn prepare(&mut self, flow: FlowId) {
        let Some(place) = self.flows[flow.index()].app else {
            return;
        };
        let written = self.lane(place).map_or(1, |lane| lane.written);
        self.flows[flow.index()].sender.set_end(written);
    }

    fn lane(&self, place: Place) -> Option<&Lane> {
        let connection = &self.apps[usize::from(place.app)].connections;
        let connection = &connection[usize::from(place.connection)];
        match place.way {
            Way::Data => Some(&connection.data),
            Way::Back => connection.back.as_ref(),
        }
    }

    fn lane_mut(&mut self, place: Place) -> Option<&mut Lane> {
        let connection = &mut self.apps[usize::from(place.app)].connections;
        let connection = &mut connection[usize::from(place.connection)];
        match place.way {
            Way::Data => Some(&mut connection.data),
            Way::Back => connection.back.as_mut(),
        }
    }

    /// A flow has been opened by the timeline: its application begins with its first flow.
    pub(super) fn begin_app(&mut self, flow: FlowId) {
        if let Some(place) = self.place(flow) {
            let app = &mut self.apps[usize::from(place.app)];
            if !std::mem::replace(&mut app.begun, true) {
                let now = self.moment.at;
                self.call(place.app, |workload, actions| workload.begin(now, actions));
            }
        }
    }

    fn place(&self, flow: FlowId) -> Option<Place> {
        match flow.index().checked_sub(self.flows.len()) {
            Some(stack) => self.stacks[stack].app,
            None => self.flows[flow.index()].app,
        }
    }

    /// Data of a flow has arrived: a message may have been read completely.
    #[cold]
    pub(super) fn deliver_to_app(&mut self, flow: FlowId, sent: Instant) {
        let Some(place) = self.flows[flow.index()].app else {
            return;
        };
        let next = self.flows[flow.index()].receiver.next();
        if place.way == Way::Back && next > 0 {
            self.answer_syn(place, sent);
        }
        self.read_all(place, next);
    }

    /// The receiver's timer has expired: data that its network card held may have been read (GRO).
    #[cold]
    pub(super) fn read_by_app(&mut self, flow: FlowId) {
        if let Some(place) = self.flows[flow.index()].app {
            let next = self.flows[flow.index()].receiver.next();
            self.read_all(place, next);
        }
    }

    fn read_all(&mut self, place: Place, next: Seq) {
        while let Some(message) = self.lane_mut(place).and_then(|lane| lane.read(next)) {
            self.note_read(place);
            self.read(place.app, message);
        }
    }

    /// A packet of a client has arrived. The data's SYN responds to the first one, and a QUIC server detects the
    /// client's present address from any of them (RFC 9000 section 9.3).
    fn answer_syn(&mut self, place: Place, sent: Instant) {
        let app = &self.apps[usize::from(place.app)];
        let flow = app.connections[usize::from(place.connection)].data.flow;
        if !self.is_opened(flow) {
            self.prepare(flow);
            let log = &mut SenderLog {
                observer: &mut self.observer,
                flow,
                error: &mut self.error,
            };
            self.flows[flow.index()].sender.open(self.moment.at, log);
            self.pump(flow);
        }
        let state = &mut self.flows[flow.index()];
        let is_known = state.sender.epoch() == state.receiver.epoch();
        if !is_known && sent >= state.has_address_since {
            if let Some(ack) = state.receiver.report_address(self.moment.at) {
                self.deliver_ack(flow, &ack);
            }
        }
    }

    /// A message has been read, and is no longer in transit.
    fn note_read(&mut self, place: Place) {
        let lane = self.lane(place).filter(|lane| lane.under_way.is_empty());
        if let Some(flow) = lane.map(|lane| lane.flow) {
            self.observer
                .record(self.moment.at, flow, &Event::Waits(false));
        }
    }

    /// A message is about to be in transit.
    fn note_written(&mut self, place: Place) {
        let lane = self.lane(place).filter(|lane| lane.under_way.is_empty());
        if let Some(flow) = lane.map(|lane| lane.flow) {
            self.observer
                .record(self.moment.at, flow, &Event::Waits(true));
        }
    }

    /// A message has been read completely.
    fn read(&mut self, app: u16, message: Message) {
        let now = self.moment.at;
        self.call(app, |workload, actions| {
            workload.on_message(now, message, actions);
        });
    }

    /// An endpoint of a datagram flow has read all of a stream of the other one, counted from 0.
    pub(super) fn read_stream(&mut self, flow: FlowId, reader: End, stream: u64) {
        let number = flow.index() - self.flows.len();
        let Some(place) = self.stacks[number].app else {
            return;
        };
        let way = if self.stacks[number].sender_of_data() == Some(reader) {
            Way::Back
        } else {
            Way::Data
        };
        let place = Place { way, ..place };
        let found = self.lane_mut(place).and_then(|lane| {
            let is_it = |(_, after): &(Message, Seq)| *after == stream + 2;
            let at = lane.under_way.iter().position(is_it)?;
            lane.under_way.remove(at)
        });
        if let Some((message, _)) = found {
            self.note_read(place);
            self.read(place.app, message);
        }
    }

    /// An endpoint of a datagram flow has a message to send, on its own stream.
    fn send_stream(&mut self, flow: FlowId, place: Place, message: Message) {
        let number = flow.index() - self.flows.len();
        let Some(sender) = self.stacks[number].sender_of_data() else {
            return;
        };
        let end = match place.way {
            Way::Data => sender,
            Way::Back => sender.other(),
        };
        self.note_written(place);
        if let Some(lane) = self.lane_mut(place) {
            lane.written += 1;
            let after = lane.written;
            lane.under_way.push_back((message, after));
        }
        let now = self.moment.at;
        self.ask(flow, end, |stack| stack.send(now, message.bytes));
    }

    /// An application is woken.
    pub(super) fn app_timer(&mut self, source: usize) {
        self.reach_end();
        let app = (source - self.first_app()) as u16;
        self.agenda.set_other(source, Key::NEVER);
        let now = self.moment.at;
        self.call(app, |workload, actions| workload.on_wake(now, actions));
    }

    /// Calls a workload, carries out its requests and schedules its next timer.
    fn call(&mut self, app: u16, call: impl FnOnce(&mut AnyWorkload, &mut Actions)) {
        let mut actions = Actions::default();
        let number = usize::from(app);
        call(&mut self.apps[number].workload, &mut actions);
        let due = self.apps[number].workload.wakes();
        let key = due.map_or(Key::NEVER, |due| self.key_of(due));
        let source = self.first_app() + number;
        self.agenda.set_other(source, key);
        for event in &actions.events {
            self.record_app(app, event);
        }
        for message in actions.messages {
            self.send_message(app, message);
        }
    }

    /// Records an event of an application: its end for all its flows, every other event for the first one.
    fn record_app(&mut self, app: u16, event: &AppEvent) {
        let now = self.moment.at;
        let connections = &self.apps[usize::from(app)].connections;
        if event.what != midflight_control::workload::DONE {
            let flow = connections[0].data.flow;
            self.observer.record(now, flow, &Event::App(event));
            return;
        }
        for connection in connections {
            let back = connection.back.as_ref();
            let back = back.filter(|lane| lane.flow != connection.data.flow);
            for lane in std::iter::once(&connection.data).chain(back) {
                self.observer.record(now, lane.flow, &Event::App(event));
            }
        }
    }

    /// An end of a connection has a message to send.
    fn send_message(&mut self, app: u16, message: Message) {
        let place = Place {
            app,
            connection: message.connection,
            way: message.way,
        };
        let connection = &self.apps[usize::from(app)].connections[usize::from(place.connection)];
        let data = connection.data.flow;
        if self.is_of_stacks(data) {
            self.send_stream(data, place, message);
            return;
        }
        self.note_written(place);
        let Some(lane) = self.lane_mut(place) else {
            return;
        };
        let (flow, end) = (lane.flow, lane.write(message));
        if !self.is_opened(flow) {
            return;
        }
        let log = &mut SenderLog {
            observer: &mut self.observer,
            flow,
            error: &mut self.error,
        };
        let sender = &mut self.flows[flow.index()].sender;
        sender.write_until(self.moment.at, end, log);
        self.pump(flow);
    }
}
