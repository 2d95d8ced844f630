//! The event loop.

use midflight_control::policy::Policy;
use midflight_control::Notice;
use midflight_tcp::{Ack, Receiver, ReceiverConfig, Segment, Sender, SenderConfig, SenderEvent};
use midflight_units::{Instant, Seq};

use crate::agenda::{Agenda, Key};
use crate::event::{DropCause, Event, Observer};
use crate::link::{Link, LinkConfig, LinkId};
use crate::moment::Moment;

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
    /// The link loses every packet that is handed to it.
    Down(LinkId),
    /// The link carries packets again.
    Up(LinkId),
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
    scheduled: Instant,
    nodes: usize,
    links: Vec<Link>,
    /// `routes[node * nodes + to]` and whether it was set during the run.
    routes: Vec<Option<(LinkId, bool)>>,
    flows: Vec<Flow>,
    /// Ascending by time; equal times in the order of insertion.
    timeline: Vec<(Instant, Action)>,
    done: usize,
    agenda: Agenda,
    /// Timers of senders and receivers as last set.
    timers: Vec<Timer>,
    observer: O,
    error: Option<WorldError>,
}

/// Source 0 of the agenda is the timeline; links and then timers follow.
const TIMELINE: usize = 0;
const FIRST_LINK: usize = 1;

impl<O: Observer> World<O> {
    /// A world of `nodes` nodes with these links, flows and static routes
    /// (`node`, `to`, `link`), nothing of which has happened yet.
    ///
    /// # Errors
    /// [`WorldError::TooManyLinks`].
    pub fn new(
        nodes: usize,
        links: Vec<LinkConfig>,
        routes: &[(NodeId, NodeId, LinkId)],
        flows: Vec<FlowConfig>,
        observer: O,
    ) -> Result<Self, WorldError> {
        if links.len() > usize::from(u16::MAX) {
            return Err(WorldError::TooManyLinks);
        }
        let timers = vec![Timer::default(); 2 * flows.len()];
        let sources = FIRST_LINK + links.len() + timers.len();
        let mut world = Self {
            now: Instant::ZERO,
            moment: Moment::ZERO,
            scheduled: Instant::ZERO,
            nodes,
            links: links.into_iter().map(Link::new).collect(),
            routes: vec![None; nodes * nodes],
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
            agenda: Agenda::new(sources),
            timers,
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
    /// before any packet of that instant moves.
    pub fn schedule(&mut self, at: Instant, action: Action) {
        let place = self.done + self.timeline[self.done..].partition_point(|(t, _)| *t <= at);
        self.timeline.insert(place, (at, action));
        self.sync_timeline();
    }

    /// The present.
    pub fn now(&self) -> Instant {
        self.now
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

    /// When the next event is due; [`Instant::NEVER`] when there is none.
    pub fn next_event(&self) -> Instant {
        self.agenda.first().1.due.at
    }

    /// Processes the next event; false when there is none.
    ///
    /// # Errors
    /// [`WorldError::NoRoute`] when a packet was stranded.
    pub fn step(&mut self) -> Result<bool, WorldError> {
        let (source, key) = self.agenda.first();
        if key.due == Moment::NEVER {
            return Ok(false);
        }
        self.now = key.due.at;
        self.moment = key.due;
        self.scheduled = key.scheduled;
        let timers = FIRST_LINK + self.links.len();
        match source {
            TIMELINE => self.act(),
            s if s < timers => self.arrive(s - FIRST_LINK),
            s => {
                let flow = FlowId(((s - timers) / 2) as u32);
                if (s - timers).is_multiple_of(2) {
                    self.sender_timer(flow);
                } else {
                    self.receiver_timer(flow);
                }
            }
        }
        match self.error.take() {
            Some(error) => Err(error),
            None => Ok(true),
        }
    }

    /// Processes every event before `until`, which becomes the present.
    ///
    /// # Errors
    /// As [`Self::step`].
    pub fn run_before(&mut self, until: Instant) -> Result<(), WorldError> {
        while self.next_event() < until {
            self.step()?;
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
                scheduled: Instant::ZERO,
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
            Action::Down(link) => self.links[link.index()].down = true,
            Action::Up(link) => self.links[link.index()].down = false,
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

    /// Hands a packet at `node` to the link of its route.
    fn forward(&mut self, node: NodeId, mut packet: Packet) {
        let at = usize::from(node.0) * self.nodes + usize::from(packet.to.0);
        let Some((link, during_run)) = self.routes[at] else {
            self.error = Some(WorldError::NoRoute {
                node: node.0,
                to: packet.to.0,
            });
            return;
        };
        packet.rerouted |= during_run;
        let queue = &mut self.links[link.index()];
        let lost = if queue.down {
            Some((packet, DropCause::Break))
        } else {
            queue
                .offer(self.moment, self.scheduled, packet)
                .err()
                .map(|p| (p, DropCause::Queue))
        };
        match lost {
            Some((packet, cause)) => {
                let event = Event::Dropped {
                    packet: &packet,
                    link,
                    cause,
                };
                self.observer.record(self.now, packet.flow, &event);
            }
            None => self.sync_link(link.index()),
        }
    }

    fn sync_link(&mut self, link: usize) {
        let key = match self.links[link].next_arrival() {
            Some((due, scheduled)) => Key { due, scheduled },
            None => Key::NEVER,
        };
        self.agenda.set(FIRST_LINK + link, key);
    }

    fn arrive(&mut self, link: usize) {
        let node = self.links[link].config.to;
        let Some(packet) = self.links[link].take() else {
            return;
        };
        self.sync_link(link);
        if packet.to != node {
            self.forward(node, packet);
            return;
        }
        match packet.body {
            Body::Data(segment) => self.deliver_segment(&packet, &segment, LinkId(link as u16)),
            Body::Ack(ack) => self.deliver_ack(packet.flow, &ack),
        }
    }

    fn deliver_segment(&mut self, packet: &Packet, segment: &Segment, link: LinkId) {
        let flow = packet.flow;
        let receiver = &mut self.flows[flow.index()].receiver;
        let event = Event::Arrived {
            segment,
            link,
            rerouted: packet.rerouted,
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
            self.forward(from, packet);
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
            self.forward(
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
        FIRST_LINK + self.links.len() + 2 * flow.index()
    }

    /// Puts a timer on the agenda. A deadline that moved back is left where it
    /// was: the early call does nothing and puts the timer right.
    fn sync_timer(&mut self, source: usize, set: Option<(Instant, Instant)>) {
        let Some((deadline, armed)) = set else { return };
        let timer = &mut self.timers[source - FIRST_LINK - self.links.len()];
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
                    scheduled: armed,
                },
            );
        }
    }
}
