//! The event loop.

use midflight_control::policy::Policy;
use midflight_control::Notice;
use midflight_tcp::{Ack, Receiver, ReceiverConfig, Segment, Sender, SenderConfig, SenderEvent};
use midflight_units::{Instant, Seq};

use crate::agenda::{Agenda, Key};
use crate::chain::chains;
use crate::event::{DropCause, Event, Observer};
use crate::link::{Link, LinkConfig, LinkId, Outcome};
use crate::moment::{Moment, Scheduled};
use crate::pool::{PacketId, Pool};

/// Number of a node in its world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u16);

/// Number of a flow in its world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub(crate) u32);

impl FlowId {
    /// Position in the order in which flows were added.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a packet carries.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// A segment towards the receiver.
    Data(Segment),
    /// An ACK towards the sender.
    Ack(Ack),
}

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Its flow.
    pub flow: FlowId,
    /// The node it goes to.
    pub to: NodeId,
    /// Size on the wire.
    pub bytes: u32,
    /// It was sent over a route that was set during the run.
    pub rerouted: bool,
    /// What it carries.
    pub body: Body,
}

/// Something that the timeline does to the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// Open a flow.
    Open(FlowId),
    /// Packets at `node` for `to` take `link` from now on.
    Route {
        /// Where the route is set.
        node: NodeId,
        /// The destination.
        to: NodeId,
        /// The next link.
        link: LinkId,
    },
    /// From now on the link loses every packet that is handed to it.
    Down(LinkId),
    /// Tell the sender of a flow.
    Notify(FlowId, Notice),
    /// Record that the old link breaks.
    MarkBreak,
    /// Record that the new route is in use.
    MarkMake,
}

/// A flow between two nodes.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// Node of the sender.
    pub from: NodeId,
    /// Node of the receiver.
    pub to: NodeId,
    /// Sender.
    pub sender: SenderConfig,
    /// Receiver.
    pub receiver: ReceiverConfig,
    /// Handoff policies of the sender.
    pub policies: Vec<Policy>,
}

/// A world that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// A packet met a node without a route to its destination.
    #[error("node {node} has no route to node {to}")]
    NoRoute {
        /// The node.
        node: u16,
        /// The destination.
        to: u16,
    },
    /// The timeline sets a route that was not declared as an alternative.
    #[error("the routes at node {node} cannot change so: the new one was not declared")]
    FixedRoute {
        /// The node.
        node: u16,
    },
    /// The timeline breaks a link that was not declared to break.
    #[error("link {link} cannot break during the run")]
    UnbreakableLink {
        /// Its name.
        link: &'static str,
    },
    /// More links than can be numbered.
    #[error("a world has at most 65535 links")]
    TooManyLinks,
}

#[derive(Clone, Debug)]
struct Flow {
    sender: Sender,
    receiver: Receiver,
    from: NodeId,
    to: NodeId,
    /// Timeouts not yet judged: when, and for which segment.
    open_timeouts: Vec<(Instant, Seq)>,
}

/// A timer as its owner last set it.
#[derive(Clone, Copy, Debug)]
struct Timer {
    due: Moment,
    armed: Instant,
}

impl Default for Timer {
    fn default() -> Self {
        Self {
            due: Moment::NEVER,
            armed: Instant::NEVER,
        }
    }
}

/// The network, its flows and its future. `O` watches.
#[derive(Clone, Debug)]
pub struct World<O> {
    now: Instant,
    /// The present with ns-2's idea of it.
    moment: Moment,
    /// When the event being processed was put on the agenda.
    scheduled: Scheduled,
    nodes: usize,
    links: Vec<Link>,
    packets: Pool,
    /// Sources of the agenda: for a link where packets meet an event.
    sources: Vec<Source>,
    /// The source of a link, if it has one.
    source_of: Vec<Option<usize>>,
    /// Routes that may be set during the run.
    alternatives: Vec<(NodeId, NodeId, LinkId)>,
    /// `routes[node * nodes + to]` and whether it was set during the run.
    routes: Vec<Option<(LinkId, bool)>>,
    flows: Vec<Flow>,
    /// Ascending by time; equal times in the order of insertion.
    timeline: Vec<(Instant, Action)>,
    done: usize,
    agenda: Agenda,
    /// Timers of senders and receivers as last set.
    timers: Vec<Timer>,
    /// The source of the first timer.
    first_timer: usize,
    observer: O,
    error: Option<WorldError>,
}

/// An event that is about to happen.
#[derive(Clone, Copy, Debug)]
pub struct NextEvent {
    source: usize,
    key: Key,
}

impl NextEvent {
    /// When it is due.
    pub fn at(&self) -> Instant {
        self.key.due.at
    }
}

/// Where an event comes from, in the order that settles a full tie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Timeline,
    Link(usize),
    SenderTimer(FlowId),
    ReceiverTimer(FlowId),
}

const TIMELINE: usize = 0;

impl<O: Observer> World<O> {
    /// A world of `nodes` nodes with these links, flows and static routes
    /// (`node`, `to`, `link`), nothing of which has happened yet. During the run
    /// only the routes of `alternatives` may be set.
    ///
    /// # Errors
    /// [`WorldError::TooManyLinks`].
    pub fn new(
        nodes: usize,
        links: Vec<LinkConfig>,
        routes: &[(NodeId, NodeId, LinkId)],
        alternatives: &[(NodeId, NodeId, LinkId)],
        flows: Vec<FlowConfig>,
        observer: O,
    ) -> Result<Self, WorldError> {
        if links.len() > usize::from(u16::MAX) {
            return Err(WorldError::TooManyLinks);
        }
        let chained = chains(&links, routes, alternatives, &flows);
        let mut links: Vec<Link> = links.into_iter().map(Link::new).collect();
        for (link, next) in links.iter_mut().zip(chained) {
            link.next = next;
        }
        let mut sources = vec![Source::Timeline];
        let mut source_of = vec![None; links.len()];
        for (i, link) in links.iter().enumerate() {
            // A packet leaves a chain at its last link, or is lost at a queue on the way.
            if link.next.is_none() || link.config.limit.is_some() {
                source_of[i] = Some(sources.len());
                sources.push(Source::Link(i));
            }
        }
        let first_timer = sources.len();
        for flow in (0..flows.len()).map(|f| FlowId(f as u32)) {
            sources.extend([Source::SenderTimer(flow), Source::ReceiverTimer(flow)]);
        }
        let mut world = Self {
            now: Instant::ZERO,
            moment: Moment::ZERO,
            scheduled: Scheduled::START,
            nodes,
            links,
            packets: Pool::default(),
            agenda: Agenda::new(sources.len()),
            sources,
            source_of,
            alternatives: alternatives.to_vec(),
            routes: vec![None; nodes * nodes],
            timers: vec![Timer::default(); 2 * flows.len()],
            first_timer,
            flows: flows
                .into_iter()
                .map(|f| Flow {
                    sender: Sender::new(f.sender, f.policies),
                    receiver: Receiver::new(f.receiver),
                    from: f.from,
                    to: f.to,
                    open_timeouts: Vec::new(),
                })
                .collect(),
            timeline: Vec::new(),
            done: 0,
            observer,
            error: None,
        };
        for &(node, to, link) in routes {
            world.set_route(node, to, link, false);
        }
        Ok(world)
    }

    /// Number of the link at `index` in the order given to [`Self::new`].
    pub fn link_id(index: u16) -> LinkId {
        LinkId(index)
    }

    /// Number of the flow at `index` in the order given to [`Self::new`].
    pub fn flow_id(index: u32) -> FlowId {
        FlowId(index)
    }

    /// Puts an action on the timeline. What is due at an instant happens
    /// before any packet of that instant moves. A route that was not declared
    /// as an alternative is an error of the next [`Self::process`].
    pub fn schedule(&mut self, at: Instant, action: Action) {
        if let Action::Route { node, to, link } = action {
            if !self.alternatives.contains(&(node, to, link)) {
                self.error = Some(WorldError::FixedRoute { node: node.0 });
            }
        }
        let place = self.done + self.timeline[self.done..].partition_point(|(t, _)| *t <= at);
        self.timeline.insert(place, (at, action));
        self.sync_timeline();
    }

    /// The sender of a flow.
    pub fn sender(&self, flow: FlowId) -> &Sender {
        &self.flows[flow.index()].sender
    }

    /// The sender of a flow, to change its policies in a fork.
    pub fn sender_mut(&mut self, flow: FlowId) -> &mut Sender {
        &mut self.flows[flow.index()].sender
    }

    /// Who watches.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// Who watches, beside the sender of a flow to look at.
    pub fn watch(&mut self, flow: FlowId) -> (&mut O, &Sender) {
        (&mut self.observer, &self.flows[flow.index()].sender)
    }

    /// Name of a link.
    pub fn link_name(&self, link: LinkId) -> &'static str {
        self.links[link.index()].config.name
    }

    /// The next event; its instant is [`Instant::NEVER`] when there is none.
    pub fn next_event(&self) -> NextEvent {
        let (source, key) = self.agenda.first();
        NextEvent { source, key }
    }

    /// Lets the event that [`Self::next_event`] has just announced happen.
    ///
    /// # Errors
    /// [`WorldError::NoRoute`] when a packet was stranded.
    pub fn process(&mut self, next: NextEvent) -> Result<(), WorldError> {
        if next.key.due == Moment::NEVER {
            return Ok(());
        }
        self.now = next.key.due.at;
        self.moment = next.key.due;
        self.scheduled = next.key.scheduled;
        match self.sources[next.source] {
            Source::Timeline => self.act(),
            Source::Link(link) => self.outcome(link),
            Source::SenderTimer(flow) => self.sender_timer(flow),
            Source::ReceiverTimer(flow) => self.receiver_timer(flow),
        }
        self.error.take().map_or(Ok(()), Err)
    }

    /// Processes every event before `until`, which becomes the present.
    ///
    /// # Errors
    /// As [`Self::process`].
    pub fn run_before(&mut self, until: Instant) -> Result<(), WorldError> {
        loop {
            let next = self.next_event();
            if next.at() >= until {
                break;
            }
            self.process(next)?;
        }
        if self.now < until {
            self.now = until;
            self.moment = Moment::written(until);
        }
        Ok(())
    }

    fn set_route(&mut self, node: NodeId, to: NodeId, link: LinkId, during_run: bool) {
        let at = usize::from(node.0) * self.nodes + usize::from(to.0);
        self.routes[at] = Some((link, during_run));
    }

    fn sync_timeline(&mut self) {
        let key = match self.timeline.get(self.done) {
            // Older than anything else that is due at the same instant.
            Some(&(at, _)) => Key {
                due: Moment::written(at),
                scheduled: Scheduled::START,
            },
            None => Key::NEVER,
        };
        self.agenda.set(TIMELINE, key);
    }

    fn act(&mut self) {
        let (_, action) = self.timeline[self.done];
        self.done += 1;
        let (now, flow0) = (self.now, FlowId(0));
        match action {
            Action::Open(flow) => {
                let log = &mut |at, event: SenderEvent<'_>| {
                    self.observer.record(at, flow, &Event::Sender(event));
                };
                self.flows[flow.index()].sender.open(now, log);
                self.pump(flow);
            }
            Action::Route { node, to, link } => self.set_route(node, to, link, true),
            Action::Down(link) if !self.links[link.index()].config.may_break => {
                let link = self.link_name(link);
                self.error = Some(WorldError::UnbreakableLink { link });
            }
            Action::Down(link) => {
                self.links[link.index()].take_down(self.moment);
                self.sync_link(link.index());
            }
            Action::Notify(flow, notice) => {
                self.observer.record(now, flow, &Event::Notice);
                let log = &mut |at, event: SenderEvent<'_>| {
                    self.observer.record(at, flow, &Event::Sender(event));
                };
                self.flows[flow.index()].sender.on_notice(now, &notice, log);
                self.pump(flow);
            }
            Action::MarkBreak => self.observer.record(now, flow0, &Event::Break),
            Action::MarkMake => self.observer.record(now, flow0, &Event::Make),
        }
        self.sync_timeline();
    }

    /// Sends a new packet from `node`.
    fn send(&mut self, node: NodeId, packet: Packet) {
        let id = self.packets.insert(packet);
        self.forward(node, id);
    }

    /// Hands a packet at `node` to the link of its route.
    fn forward(&mut self, node: NodeId, id: PacketId) {
        let packet = self.packets.get_mut(id);
        let at = usize::from(node.0) * self.nodes + usize::from(packet.to.0);
        let Some((link, during_run)) = self.routes[at] else {
            self.error = Some(WorldError::NoRoute {
                node: node.0,
                to: packet.to.0,
            });
            return;
        };
        packet.rerouted |= during_run;
        self.pass(link, self.moment, self.scheduled, id);
    }

    /// Sends a packet that enters `first` at `enter` through it and the links
    /// chained to it. Past the first link that is ahead of the present, which
    /// is exact: nothing else feeds a chained link, and its queue is first in,
    /// first out.
    fn pass(&mut self, first: LinkId, enter: Moment, scheduled: Scheduled, id: PacketId) {
        let bytes = self.packets.get(id).bytes;
        let (mut link, mut enter, mut scheduled) = (first, enter, scheduled);
        let lost = loop {
            let l = &mut self.links[link.index()];
            if l.down {
                break DropCause::Break;
            }
            let Some((arrive, start)) = l.offer(enter, scheduled, bytes) else {
                break DropCause::Queue;
            };
            let Some(next) = l.next else {
                if l.carry(enter, arrive, start, id) {
                    self.sync_link(link.index());
                }
                return;
            };
            (link, enter, scheduled) = (next, arrive, start);
        };
        if enter.at <= self.now {
            self.lose(id, link, lost);
        } else {
            self.links[link.index()].lose(enter, scheduled, id, lost);
            self.sync_link(link.index());
        }
    }

    fn lose(&mut self, id: PacketId, link: LinkId, cause: DropCause) {
        let packet = self.packets.remove(id);
        let event = Event::Dropped {
            packet,
            link,
            cause,
        };
        self.observer.record(self.now, packet.flow, &event);
    }

    fn sync_link(&mut self, link: usize) {
        let Some(source) = self.source_of[link] else {
            return;
        };
        let key = match self.links[link].next_outcome() {
            Some((due, scheduled)) => Key { due, scheduled },
            None => Key::NEVER,
        };
        self.agenda.set(source, key);
    }

    fn outcome(&mut self, link: usize) {
        let Some(outcome) = self.links[link].take() else {
            return;
        };
        self.sync_link(link);
        let link_id = LinkId(link as u16);
        let id = match outcome {
            Outcome::Lost(id, cause) => return self.lose(id, link_id, cause),
            Outcome::Arrived(id) => id,
        };
        let node = self.links[link].config.to;
        if self.packets.get(id).to != node {
            self.forward(node, id);
            return;
        }
        let Packet {
            flow,
            rerouted,
            body,
            ..
        } = *self.packets.remove(id);
        match body {
            Body::Data(segment) => self.deliver_segment(flow, rerouted, &segment, link_id),
            Body::Ack(ack) => self.deliver_ack(flow, &ack),
        }
    }

    fn deliver_segment(&mut self, flow: FlowId, rerouted: bool, segment: &Segment, link: LinkId) {
        let receiver = &mut self.flows[flow.index()].receiver;
        let event = Event::Arrived {
            segment,
            link,
            rerouted,
            duplicate: receiver.has(segment.seq),
            overtaken: receiver.highest() > segment.seq + 1,
        };
        self.observer.record(self.now, flow, &event);
        let ack = receiver.on_segment(self.now, segment);
        self.acknowledge(flow, ack);
    }

    fn acknowledge(&mut self, flow: FlowId, ack: Option<Ack>) {
        if let Some(ack) = ack {
            let (from, to) = (self.flows[flow.index()].to, self.flows[flow.index()].from);
            let packet = Packet {
                flow,
                to,
                bytes: ack.bytes(),
                rerouted: false,
                body: Body::Ack(ack),
            };
            self.send(from, packet);
        }
        let source = self.timer_source(flow) + 1;
        let timer = self.flows[flow.index()].receiver.poll_timer();
        self.sync_timer(source, timer);
    }

    fn deliver_ack(&mut self, flow: FlowId, ack: &Ack) {
        let now = self.now;
        self.observer.record(now, flow, &Event::AckArrived(ack));
        let state = &mut self.flows[flow.index()];
        if !state.open_timeouts.is_empty() {
            let observer = &mut self.observer;
            state.open_timeouts.retain(|&(at, segment)| {
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
        let log = &mut |at, event: SenderEvent<'_>| {
            self.observer.record(at, flow, &Event::Sender(event));
        };
        state.sender.on_ack(now, ack, log);
        self.pump(flow);
    }

    fn sender_timer(&mut self, flow: FlowId) {
        let now = self.now;
        let state = &mut self.flows[flow.index()];
        if state
            .sender
            .poll_timer()
            .is_some_and(|(deadline, _)| deadline <= now)
        {
            state.open_timeouts.push((now, state.sender.view().snd_una));
        }
        let log = &mut |at, event: SenderEvent<'_>| {
            self.observer.record(at, flow, &Event::Sender(event));
        };
        state.sender.on_timer(now, log);
        self.agenda.set(self.timer_source(flow), Key::NEVER);
        self.pump(flow);
    }

    fn receiver_timer(&mut self, flow: FlowId) {
        self.agenda.set(self.timer_source(flow) + 1, Key::NEVER);
        let ack = self.flows[flow.index()].receiver.on_timer(self.now);
        self.acknowledge(flow, ack);
    }

    /// Sends what the sender has to send, and notes when it wants to be woken.
    fn pump(&mut self, flow: FlowId) {
        let now = self.now;
        let (from, to) = (self.flows[flow.index()].from, self.flows[flow.index()].to);
        loop {
            let log = &mut |at, event: SenderEvent<'_>| {
                self.observer.record(at, flow, &Event::Sender(event));
            };
            let Some(segment) = self.flows[flow.index()].sender.poll_transmit(now, log) else {
                break;
            };
            self.observer.record(now, flow, &Event::Sent(&segment));
            let bytes = segment.bytes;
            self.send(
                from,
                Packet {
                    flow,
                    to,
                    bytes,
                    rerouted: false,
                    body: Body::Data(segment),
                },
            );
        }
        let timer = self.flows[flow.index()].sender.poll_timer();
        self.sync_timer(self.timer_source(flow), timer);
    }

    fn timer_source(&self, flow: FlowId) -> usize {
        self.first_timer + 2 * flow.index()
    }

    /// Puts a timer on the agenda. A deadline that moved back is left where it
    /// was: the early call does nothing and puts the timer right.
    fn sync_timer(&mut self, source: usize, set: Option<(Instant, Instant)>) {
        let Some((deadline, armed)) = set else { return };
        let timer = &mut self.timers[source - self.first_timer];
        if (timer.due.at, timer.armed) != (deadline, armed) {
            *timer = Timer {
                due: self.moment.after_timer(deadline),
                armed,
            };
        }
        if timer.due <= self.agenda.key(source).due {
            self.agenda.set(
                source,
                Key {
                    due: timer.due,
                    scheduled: Scheduled::alone(armed),
                },
            );
        }
    }
}
