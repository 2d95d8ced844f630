//! Flows of segments: our senders and receivers, and the packets that reach and leave them.

use std::net::SocketAddrV4;

use educe::Educe;
use midflight_control::{Notice, PathUpdate};
use midflight_tcp::{
    Ack, Content, Log, PathEvent, Receiver, Segment, Sender, SenderEvent, Unusual,
};
use midflight_units::{Instant, Seq};

use super::apps::Place;
use super::timers::{Timer, RECEIVER, SENDER};
use super::World;
use crate::config::{FlowId, NodeId, WorldError};
use crate::event::{Event, Observer};
use crate::link::LinkId;
use crate::packet::Packet;
use crate::stack::TransportEvent;

#[derive(Educe, Debug)]
#[educe(Clone)]
pub(super) struct Flow {
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    /// The sender's and the receiver's timer.
    pub(super) timers: [Timer; 2],
    /// Timeouts not yet judged: when, and for which segment.
    pub(super) open_timeouts: Vec<(Instant, Seq)>,
    /// See [`crate::FlowConfig`].
    pub(super) addresses: Vec<(SocketAddrV4, NodeId)>,
    pub(super) migrates: bool,
    /// The number of the receiver's address.
    pub(super) has_address: u16,
    /// Since when it has that address.
    pub(super) has_address_since: Instant,
    /// A notice about a path that the sender has not detected yet.
    pub(super) postponed: Option<PathUpdate>,
    /// The application whose data it carries.
    pub(super) app: Option<Place>,
    /// It has an application or addresses: its segments need checks one by one.
    pub(super) is_special: bool,
}

impl Flow {
    /// The node where the segment that the sender has just returned arrives.
    fn target(&self) -> NodeId {
        let number = usize::from(self.sender.destination());
        self.addresses
            .get(number)
            .map_or(self.to, |(_, node)| *node)
    }
}

/// The path events of our own QUIC sender, in the form of a stack's.
fn transport_event(event: PathEvent) -> TransportEvent {
    match event {
        PathEvent::Migrated { port_only } => TransportEvent::Migrated { port_only },
        PathEvent::Challenge => TransportEvent::Challenge,
        PathEvent::Validated => TransportEvent::Validated,
        PathEvent::ValidationFailed => TransportEvent::ValidationFailed,
        PathEvent::AmplificationLimit => TransportEvent::AmplificationLimit,
        PathEvent::Lost(packets) => TransportEvent::Lost { packets },
        PathEvent::Needless(packets) => TransportEvent::Needless { packets },
        PathEvent::PersistentCongestion => TransportEvent::PersistentCongestion,
    }
}

/// Passes on the events of a sender.
pub(super) struct SenderLog<'a, O> {
    pub(super) observer: &'a mut O,
    pub(super) flow: FlowId,
    pub(super) error: &'a mut Option<WorldError>,
}

impl<O: Observer> Log for SenderLog<'_, O> {
    const DETAILED: bool = O::DETAILED;

    #[inline(always)]
    fn record(&mut self, at: Instant, event: SenderEvent<'_>) {
        if let SenderEvent::WindowRefused { author, cwnd } = event {
            *self.error = Some(WorldError::Window {
                flow: self.flow.0,
                at,
                author,
                cwnd: cwnd.to_string(),
            });
        }
        if let SenderEvent::Path(path) = event {
            let event = transport_event(path);
            let event = Event::Transport(&event);
            self.observer.record(at, self.flow, &event);
            return;
        }
        let event = Event::Sender(event);
        self.observer.record(at, self.flow, &event);
    }
}

/// Judges the timeouts whose segment an ACK covers: one was spurious if a segment sent before it caused
/// the ACK.
pub fn judge_timeouts<O: Observer>(
    open: &mut Vec<(Instant, Seq)>,
    now: Instant,
    flow: FlowId,
    ack: &Ack,
    observer: &mut O,
) {
    open.retain(|&(at, segment)| {
        let covered = ack.ack > segment;
        if covered {
            let spurious = ack.cause_sent < at;
            let event = Event::TimeoutJudged {
                at,
                segment,
                spurious,
            };
            observer.record(now, flow, &event);
        }
        !covered
    });
}

impl<O: Observer> World<O> {
    #[inline(always)]
    pub(super) fn deliver_segment(
        &mut self,
        flow: FlowId,
        rerouted: bool,
        segment: &Segment,
        link: LinkId,
    ) {
        let state = &mut self.flows[flow.index()];
        let (duplicate, overtaken) = state.receiver.knows(segment);
        let event = Event::Arrived {
            segment,
            link,
            rerouted,
            duplicate,
            overtaken,
        };
        self.observer.record(self.moment.at, flow, &event);
        let ack = state.receiver.on_segment(self.moment.at, segment);
        if let Some(set) = state.receiver.poll_new_timer() {
            self.set_timer(flow, RECEIVER, set);
        }
        debug_assert!(self.knows_timer_of_receiver(flow));
        self.send_ack(flow, ack);
    }

    #[cold]
    #[inline(never)]
    fn note_empty(&mut self, flow: FlowId, segment: Segment, arrived: bool) {
        if segment.content == Content::Challenge {
            return;
        }
        let event = Event::EmptyAck {
            segment: &segment,
            arrived,
        };
        self.observer.record(self.moment.at, flow, &event);
    }

    #[cold]
    #[inline(never)]
    fn deliver_empty(&mut self, flow: FlowId, segment: Segment) {
        self.note_empty(flow, segment, true);
        let state = &mut self.flows[flow.index()];
        let ack = state.receiver.on_empty_ack(self.moment.at, &segment);
        self.acknowledge(flow, ack);
    }

    /// Delivers the rare kinds of packets, so that they do not slow down the common ones; datagrams too. Cross traffic
    /// ends here.
    #[cold]
    pub(super) fn deliver_unusual(&mut self, packet: &Packet, link: LinkId) {
        if packet.is_of_stack() {
            self.deliver_datagram(packet, link);
        } else if packet.is_of_others() {
        } else if !packet.is_unusual_data() {
            self.deliver_empty(packet.flow, packet.segment());
        } else {
            let segment = packet.open_with_option(&mut self.options);
            self.deliver_segment(packet.flow, packet.rerouted(), &segment, link);
            self.deliver_to_app(packet.flow, packet.sent());
        }
    }

    /// Reports a description of what a signal does to an observer that requests details.
    pub(super) fn explain_signal(&mut self, flow: FlowId, notice: &Notice, is_over: bool) {
        if !O::DETAILED {
            return;
        }
        let receiver = &self.flows[flow.index()].receiver;
        if let Some((name, text)) = receiver.explain_signal(notice, is_over) {
            let event = Event::Signal { name, text: &text };
            self.observer.record(self.moment.at, flow, &event);
        }
    }

    /// Sends the ACKs by which a mobile node signals to its sender.
    pub(super) fn signal(&mut self, flow: FlowId, acks: &[Ack]) {
        for &ack in acks {
            self.acknowledge(flow, Some(ack));
        }
    }

    #[inline(always)]
    pub(super) fn acknowledge(&mut self, flow: FlowId, ack: Option<Ack>) {
        if let Some(set) = self.flows[flow.index()].receiver.poll_timer() {
            self.set_timer(flow, RECEIVER, set);
        }
        self.send_ack(flow, ack);
    }

    #[inline(always)]
    fn send_ack(&mut self, flow: FlowId, ack: Option<Ack>) {
        if let Some(ack) = ack {
            let state = &self.flows[flow.index()];
            let (from, to) = (state.to, state.from);
            let event = Event::AckSent(&ack);
            self.observer.record(self.moment.at, flow, &event);
            let packet = Packet::ack(flow, to, &ack, &mut self.options);
            self.forward(from, packet);
        }
    }

    #[inline(always)]
    pub(super) fn deliver_ack(&mut self, flow: FlowId, ack: &Ack) {
        let now = self.moment.at;
        self.observer.record(now, flow, &Event::AckArrived(ack));
        let state = &mut self.flows[flow.index()];
        if !state.open_timeouts.is_empty() {
            judge_timeouts(&mut state.open_timeouts, now, flow, ack, &mut self.observer);
        }
        let log = &mut SenderLog {
            observer: &mut self.observer,
            flow,
            error: &mut self.error,
        };
        state.sender.on_ack(now, ack, log);
        if state.postponed.is_some() {
            self.give_postponed(flow);
        }
        self.pump(flow);
    }

    /// The address of the receiver's node has changed.
    #[cold]
    pub(super) fn readdress(&mut self, flow: FlowId, number: u16) {
        let now = self.moment.at;
        let state = &mut self.flows[flow.index()];
        let ip = |number: u16| {
            let address = state.addresses.get(usize::from(number));
            address.map(|(address, _)| *address.ip())
        };
        let port_only = ip(number) == ip(state.has_address);
        state.has_address = number;
        state.has_address_since = now;
        // If there is an application, the client has sent something before anything arrives.
        let has_sent = state.app.is_some() && state.sender.view().snd_max > 0;
        let has_begun = has_sent || state.receiver.next() > 0;
        let ack = state
            .receiver
            .on_address(now, number, port_only, state.migrates && has_begun);
        if ack.is_some() {
            let event = Event::Transport(&TransportEvent::Migrates);
            self.observer.record(now, flow, &event);
        }
        self.acknowledge(flow, ack);
    }

    /// The sender gets a handoff notice. Notices about a path other than its current one wait until it detects that
    /// path.
    pub(super) fn notify(&mut self, flow: FlowId, update: PathUpdate) {
        let state = &mut self.flows[flow.index()];
        if state.sender.epoch() != state.receiver.epoch() {
            state.postponed = Some(update);
            return;
        }
        let log = &mut SenderLog {
            observer: &mut self.observer,
            flow,
            error: &mut self.error,
        };
        state.sender.on_path_update(self.moment.at, &update, log);
        self.pump(flow);
    }

    /// The sender may have detected the path of a waiting notice.
    #[cold]
    fn give_postponed(&mut self, flow: FlowId) {
        if let Some(update) = self.flows[flow.index()].postponed.take() {
            self.notify(flow, update);
        }
    }

    /// Sends what the sender has to send, and schedules its timer.
    pub(super) fn pump(&mut self, flow: FlowId) {
        // Two functions, because a segment that may come from either path would have to be stored in memory.
        if self.flows[flow.index()].is_special {
            self.send_all_special(flow);
        } else {
            self.send_all(flow);
        }
        if let Some(set) = self.flows[flow.index()].sender.poll_timer() {
            self.set_timer(flow, SENDER, set);
        } else if self.flows[flow.index()].sender.is_stuck() {
            let flow = flow.0;
            let at = self.moment.at;
            self.error = Some(WorldError::Stuck { flow, at });
        }
    }

    /// Sends what the sender of a flow without addresses and without an application has to send.
    #[inline(always)]
    fn send_all(&mut self, flow: FlowId) {
        let now = self.moment.at;
        let from = self.flows[flow.index()].from;
        loop {
            let state = &mut self.flows[flow.index()];
            let segment = match state.sender.poll_usual(now) {
                Ok(Some(segment)) => segment,
                Err(unusual) if self.send_unusual(flow, unusual) => continue,
                Ok(None) | Err(_) => return,
            };
            let to = state.to;
            self.observer.record(now, flow, &Event::Sent(&segment));
            let packet = Packet::data(flow, to, &segment, &mut self.options);
            self.forward(from, packet);
        }
    }

    /// Sends a segment of the slow path; returns whether there is one.
    #[inline(never)]
    fn send_unusual(&mut self, flow: FlowId, unusual: Unusual) -> bool {
        let now = self.moment.at;
        let state = &mut self.flows[flow.index()];
        let Some(segment) = state.sender.poll_unusual(now, unusual) else {
            return false;
        };
        if !segment.is_empty() {
            self.send_special(flow, &segment);
            return true;
        }
        let (from, to) = (state.from, state.target());
        self.note_empty(flow, segment, false);
        let packet = Packet::data(flow, to, &segment, &mut self.options);
        self.forward(from, packet);
        true
    }

    /// Sends what the sender of a flow with addresses or an application has to send.
    #[inline(never)]
    fn send_all_special(&mut self, flow: FlowId) {
        let now = self.moment.at;
        loop {
            match self.flows[flow.index()].sender.poll_usual(now) {
                Ok(Some(segment)) => self.send_special(flow, &segment),
                Err(unusual) if self.send_unusual(flow, unusual) => {}
                Ok(None) | Err(_) => return,
            }
        }
    }

    /// Sends a segment of a flow that may have addresses or an application.
    #[inline(never)]
    fn send_special(&mut self, flow: FlowId, segment: &Segment) {
        let state = &self.flows[flow.index()];
        let (from, to, has_app) = (state.from, state.target(), state.app.is_some());
        self.observer
            .record(self.moment.at, flow, &Event::Sent(segment));
        let mut packet = Packet::data(flow, to, segment, &mut self.options);
        if has_app {
            packet = packet.for_app();
        }
        self.forward(from, packet);
    }
}
