//! The event loop.

mod apps;
mod build;
mod cross;
mod flows;
mod hooks;
mod queues;
mod radio;
mod stacks;
mod timers;

use std::borrow::Cow;
use std::sync::Arc;

use educe::Educe;
use midflight_control::policy::Policy;
use midflight_control::workload::AnyWorkload;
use midflight_tcp::{Ack, Receiver, ReceiverConfig, Sender, SenderConfig, SenderParts};
use midflight_units::{Duration, Instant, Rate};
use smallvec::SmallVec;

use self::apps::App;
use self::cross::CrossSource;
pub use self::flows::judge_timeouts;
use self::flows::{Flow, SenderLog};
use self::stacks::StackFlow;
use crate::agenda::{Agenda, Key, Source};
use crate::announcement::{Announcement, Announcements, What};
use crate::chain::NextHop;
use crate::config::{Action, FlowId, NodeId, WorldError};
use crate::event::{DropCause, Event, Observer};
use crate::hook::Hook;
use crate::link::{Acceptance, Link, LinkCounts, LinkId, LinkState, Transit};
use crate::moment::{Clock, FineTime, Moment, Scheduled};
use crate::packet::{Packet, PacketOptions};
use crate::special::Entry;
use crate::timeline::Timeline;

/// The network, its flows and its future events. `O` is the observer.
#[derive(Educe, Debug)]
#[educe(Clone)]
pub struct World<O> {
    /// The representation of time between nanoseconds.
    clock: Clock,
    /// The present.
    moment: Moment,
    /// When the current event was scheduled.
    scheduled: Scheduled,
    nodes: usize,
    names: Arc<[Cow<'static, str>]>,
    links: Vec<Link>,
    /// The links whose arrivals are busy sources of the agenda, then the special ones of them, then the links whose
    /// arrivals are not busy sources.
    awaited: Vec<usize>,
    awaited_special: Vec<usize>,
    seldom_awaited: Vec<usize>,
    /// Packets that await an event on links where most do not.
    awaiting_route: usize,
    /// Options of the packets in transit.
    options: PacketOptions,
    announcements: Announcements,
    /// Routes that may be set during the run.
    alternatives: Vec<(NodeId, NodeId, LinkId)>,
    /// `routes[node * nodes + to]` and whether it was set during the run.
    routes: Vec<Option<(LinkId, bool)>>,
    flows: Vec<Flow>,
    stacks: Vec<StackFlow>,
    /// Cross traffic of all links and all their settings.
    cross: Vec<CrossSource>,
    hooks: Vec<Hook>,
    /// Links whose queues have a discipline.
    managed: Vec<LinkId>,
    apps: Vec<App>,
    /// The hook whose node is sending a packet by itself.
    emitting: Option<u16>,
    /// Before this instant no route is set except those on the timeline.
    promised: Instant,
    /// No route is set before this instant.
    routes_hold_until: FineTime,
    timeline: Timeline,
    agenda: Agenda,
    observer: O,
    error: Option<WorldError>,
}

/// Read access to the senders and links of a world.
#[derive(Clone, Copy, Debug)]
pub struct Endpoints<'a> {
    flows: &'a [Flow],
    links: &'a [Link],
    apps: &'a [App],
}

impl<'a> Endpoints<'a> {
    /// For a run that was made elsewhere: it has none.
    pub const NONE: Self = Self {
        flows: &[],
        links: &[],
        apps: &[],
    };

    /// The senders, in the order of their flows.
    pub fn senders(self) -> impl Iterator<Item = &'a Sender> {
        self.flows.iter().map(|flow| &flow.sender)
    }

    /// The applications, in the order of [`WorldConfig::apps`](crate::WorldConfig::apps).
    pub fn workloads(self) -> impl Iterator<Item = &'a AnyWorkload> {
        self.apps.iter().map(|app| &app.workload)
    }

    /// Counts of the packets handed to a link so far; zeros if the link is not
    /// [counted](crate::LinkConfig::counted).
    pub fn link_counts(self, link: LinkId) -> LinkCounts {
        let link = self.links.get(link.index());
        link.map_or_else(LinkCounts::default, Link::counts)
    }
}

/// The next event.
#[derive(Clone, Copy, Debug)]
pub struct NextEvent {
    first: Source,
    at: Instant,
}

impl NextEvent {
    /// When it is due.
    pub fn at(&self) -> Instant {
        self.at
    }
}

/// Maximum number of links that the agenda compares one by one.
const MOST_BUSY: usize = 12;

/// Sources of the agenda that are not busy: the timeline, announced losses and late arrivals, the other links with
/// events at their far ends, the timers of each flow's sender and receiver, and cross traffic.
const TIMELINE: usize = 0;
const ANNOUNCED: usize = 1;
const FIRST_SELDOM_AWAITED: usize = 2;

impl<O: Observer> World<O> {
    /// Number of the link at `index` in the order given to [`Self::new`].
    pub fn link_id(index: u16) -> LinkId {
        LinkId(index)
    }

    /// Number of the flow at `index` in the order given to [`Self::new`].
    pub const fn flow_id(index: u32) -> FlowId {
        FlowId(index)
    }

    /// Puts an action on the timeline. Actions at an instant happen before any packet of that instant moves.
    ///
    /// # Errors
    /// [`WorldError::FixedRoute`] for a route that was not declared as an alternative or comes too early
    /// ([`Self::hold_routes_until`]), [`WorldError::UnbreakableLink`] for a link that was not declared to break,
    /// [`WorldError::UnpausableLink`] for one that was not declared to pause, [`WorldError::UnknownSetting`] for
    /// one that has no such setting.
    pub fn schedule(&mut self, at: Instant, action: Action) -> Result<(), WorldError> {
        match action {
            Action::Route { node, to, link }
                if at < self.promised || !self.alternatives.contains(&(node, to, link)) =>
            {
                return Err(WorldError::FixedRoute { node: node.0 });
            }
            Action::Down(link) | Action::Purge { link, .. }
                if !self.links[link.index()].may_break =>
            {
                let link = self.link_name(link).into();
                return Err(WorldError::UnbreakableLink { link });
            }
            Action::Up(link) if !self.links[link.index()].may_return() => {
                let link = self.link_name(link).into();
                return Err(WorldError::UnreturnableLink { link });
            }
            Action::Forward { link, to, .. } => {
                for link in [link, to] {
                    self.links[link.index()].check_resume(None, self.link_name(link))?;
                }
            }
            Action::Pause(link) | Action::Detain { link, .. } => {
                self.links[link.index()].check_resume(None, self.link_name(link))?;
            }
            Action::Resume { link, setting } => {
                self.links[link.index()].check_resume(setting, self.link_name(link))?;
            }
            Action::Change { link, setting } => {
                self.links[link.index()].check_change(setting, self.link_name(link))?;
            }
            _ => {}
        }
        self.timeline.insert(at, action);
        self.sync_timeline();
        Ok(())
    }

    /// Number of flows.
    pub fn flows(&self) -> u32 {
        self.flows.len() as u32
    }

    /// Sets other parameters for a link that no packet was ever handed to, for runs that share a prefix in which it
    /// was idle.
    ///
    /// # Errors
    /// [`WorldError::LinkInUse`].
    pub fn retune(
        &mut self,
        link: LinkId,
        rate: Rate,
        delay: Duration,
        limit: Option<u32>,
    ) -> Result<(), WorldError> {
        let l = &mut self.links[link.index()];
        if l.is_used() {
            let link = self.link_name(link).into();
            return Err(WorldError::LinkInUse { link });
        }
        l.tune(rate, delay, limit);
        Ok(())
    }

    /// Sets another sender and receiver for a flow that has not opened, for runs that share a prefix in which it
    /// was silent.
    ///
    /// # Errors
    /// [`WorldError::FlowOpen`].
    pub fn refit(
        &mut self,
        flow: FlowId,
        sender: &SenderConfig,
        parts: &SenderParts,
        receiver: ReceiverConfig,
        policies: impl IntoIterator<Item = Policy>,
    ) -> Result<(), WorldError> {
        let state = &mut self.flows[flow.index()];
        if state.sender.view().snd_max > 0 {
            return Err(WorldError::FlowOpen { flow: flow.0 });
        }
        state.sender = Sender::new(&sender.of_flow(flow.index()), parts, policies);
        state.receiver = Receiver::new(receiver);
        Ok(())
    }

    /// Promises that until then no route will be set except those on the timeline already. Before that time packets
    /// follow their routes without an event at every node.
    pub fn hold_routes_until(&mut self, until: Instant) {
        self.promised = self.promised.max(until);
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

    /// The observer.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// The observer, by value.
    pub fn into_observer(self) -> O {
        self.observer
    }

    /// The observer, and the endpoints that it observes.
    pub fn watch(&mut self) -> (&mut O, Endpoints<'_>) {
        let ends = Endpoints {
            flows: &self.flows,
            links: &self.links,
            apps: &self.apps,
        };
        (&mut self.observer, ends)
    }

    /// A copy of the world as it is now, with another observer. Its events are the same.
    pub fn watched_by<P: Observer>(&self, observer: P) -> World<P> {
        World {
            clock: self.clock,
            moment: self.moment,
            scheduled: self.scheduled,
            nodes: self.nodes,
            names: self.names.clone(),
            links: self.links.clone(),
            awaited: self.awaited.clone(),
            awaited_special: self.awaited_special.clone(),
            seldom_awaited: self.seldom_awaited.clone(),
            awaiting_route: self.awaiting_route,
            options: self.options.clone(),
            announcements: self.announcements.clone(),
            alternatives: self.alternatives.clone(),
            routes: self.routes.clone(),
            flows: self.flows.clone(),
            stacks: self.stacks.clone(),
            cross: self.cross.clone(),
            hooks: self.hooks.clone(),
            managed: self.managed.clone(),
            apps: self.apps.clone(),
            emitting: self.emitting,
            promised: self.promised,
            routes_hold_until: self.routes_hold_until,
            timeline: self.timeline.clone(),
            agenda: self.agenda.clone(),
            observer,
            error: self.error.clone(),
        }
    }

    /// Name of a link.
    pub fn link_name(&self, link: LinkId) -> &str {
        &self.names[link.index()]
    }

    /// Counts of the packets handed to a link so far; zeros if the link is not
    /// [counted](crate::LinkConfig::counted).
    pub fn link_counts(&self, link: LinkId) -> LinkCounts {
        self.links[link.index()].counts()
    }

    /// Read access to the senders and links.
    pub fn ends(&self) -> Endpoints<'_> {
        Endpoints {
            flows: &self.flows,
            links: &self.links,
            apps: &self.apps,
        }
    }

    /// The state of a link at an instant between the present and the next event, if it is
    /// [tapped](crate::LinkConfig::tapped).
    pub fn link_state(&self, link: LinkId, at: Instant) -> LinkState {
        self.links[link.index()].state(self.clock.written(at).fine)
    }

    /// The packets of [`Self::link_state`] alone. The time that this takes hardly depends on their number.
    pub fn link_packets(&self, link: LinkId, at: Instant) -> u64 {
        self.links[link.index()].packets(self.clock.written(at).fine)
    }

    /// Calls `each` with the packets of each flow that wait at a link now, none for cross traffic, if its discipline has a
    /// queue for each flow. A packet in transmission does not wait.
    pub fn backlogs(&self, link: LinkId, each: &mut dyn FnMut(Option<FlowId>, u64)) {
        self.links[link.index()].backlogs(each);
    }

    /// The next event; its instant is [`Instant::NEVER`] when there is none.
    #[inline(always)]
    pub fn next_event(&self) -> NextEvent {
        let (first, at) = self
            .agenda
            .first(|busy| self.links[self.busy_link(busy)].key());
        NextEvent {
            first,
            at: Instant::from_nanos(at),
        }
    }

    /// Processes the event that [`Self::next_event`] has just returned.
    ///
    /// # Errors
    /// [`WorldError::NoRoute`] when a packet was stranded.
    #[inline(always)]
    pub fn process(&mut self, next: NextEvent) -> Result<(), WorldError> {
        if next.at() == Instant::NEVER {
            return Ok(());
        }
        let link = match next.first {
            Source::Busy(source) => match self.awaited.get(source) {
                Some(&link) => Some(link),
                None => self.special_arrival(source),
            },
            Source::Other(source) => self.other(source),
        };
        if let Some(link) = link {
            self.arrival(link);
        }
        if self.error.is_some() {
            return self.error.take().map_or(Ok(()), Err);
        }
        Ok(())
    }

    /// Processes an event of a source that is not busy; returns the link if it is an arrival.
    fn other(&mut self, source: usize) -> Option<usize> {
        let key = self.agenda.other(source);
        self.moment = key.due;
        self.scheduled = key.scheduled;
        let seldom_awaited = source.wrapping_sub(FIRST_SELDOM_AWAITED);
        if let Some(&link) = self.seldom_awaited.get(seldom_awaited) {
            if self.links[link].impaired && !self.is_on_time(link) {
                return None;
            }
            self.awaiting_route -= usize::from(self.links[link].onward == NextHop::Routed);
            return Some(link);
        }
        match source {
            TIMELINE => self.act(),
            ANNOUNCED => return self.announced(),
            source if source >= self.first_stack() => self.seldom(source),
            timer => self.timer(timer - self.first_timer()),
        }
        None
    }

    /// Processes an event of a rare kind: stacks, cross traffic and hooks.
    #[cold]
    fn seldom(&mut self, source: usize) {
        if source >= self.first_app() {
            self.app_timer(source);
        } else if source >= self.first_queue() {
            self.queue_timer(source);
        } else if source >= self.first_hook() {
            self.hook_timer(source);
        } else if source >= self.first_cross() {
            self.cross(source - self.first_cross());
        } else {
            self.stack_timer(source);
        }
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
        if self.moment.at < until {
            self.moment = self.clock.written(until);
        }
        Ok(())
    }

    fn set_route(&mut self, node: NodeId, to: NodeId, link: LinkId, during_run: bool) {
        let place = self.route_place(node, to);
        self.routes[place] = Some((link, during_run));
    }

    fn sync_timeline(&mut self) {
        let key = match self.timeline.next() {
            // Before anything else that is due at the same instant.
            Some(at) => Key {
                due: self.clock.written(at),
                scheduled: Scheduled::START,
            },
            None => Key::NEVER,
        };
        self.agenda.set_other(TIMELINE, key);
        let next = self.timeline.next_route();
        let until = next.map_or(self.promised, |at| at.min(self.promised));
        self.routes_hold_until = if until == Instant::NEVER {
            FineTime::NEVER
        } else {
            self.clock.written(until).fine
        };
    }

    fn act(&mut self) {
        let Some(action) = self.timeline.take() else {
            return;
        };
        let (now, flow0) = (self.moment.at, FlowId(0));
        match action {
            _ if action.flow().is_some_and(|flow| self.is_of_stacks(flow)) => {
                let flow = action.flow().unwrap_or(flow0);
                self.act_on_stack(flow, action);
            }
            Action::Open(flow) => {
                self.prepare(flow);
                let log = &mut SenderLog {
                    observer: &mut self.observer,
                    flow,
                    error: &mut self.error,
                };
                self.flows[flow.index()].sender.open(now, log);
                self.pump(flow);
                self.begin_app(flow);
            }
            Action::Route { node, to, link } => self.set_route(node, to, link, true),
            Action::Down(link) => {
                let l = &mut self.links[link.index()];
                let routed = usize::from(l.onward == NextHop::Routed);
                l.take_down(self.moment.fine, |key, packet| {
                    self.awaiting_route -= routed;
                    self.announcements.push(Announcement {
                        key,
                        link,
                        what: What::Lost(DropCause::Break),
                        packet,
                    });
                });
                self.sync_link(link.index());
                self.sync_announcements();
            }
            Action::Up(link) => self.links[link.index()].bring_up(),
            Action::Purge { link, node } => self.purge(link, node),
            Action::Detain { link, node } => self.detain(link, node),
            Action::Forward { link, node, to } => self.forward_kept(link, node, to),
            Action::Pause(link) => self.pause(link),
            Action::Resume { link, setting } => self.resume(link, setting),
            Action::Change { link, setting } => self.change(link, setting),
            Action::NotifyStart(flow, notice) => {
                let log = &mut SenderLog {
                    observer: &mut self.observer,
                    flow,
                    error: &mut self.error,
                };
                let sender = &mut self.flows[flow.index()].sender;
                sender.on_start_notice(now, &notice, log);
            }
            Action::Foresee(flow, _) | Action::Attached(flow, ..) | Action::Notify(flow, _)
                if !self.is_opened(flow) => {}
            Action::Notify(flow, update) => {
                self.observer.record(now, flow, &Event::Notice);
                self.notify(flow, update);
            }
            Action::Foresee(flow, notice) => {
                let receiver = &mut self.flows[flow.index()].receiver;
                receiver.on_links(now, &notice, false);
                self.explain_signal(flow, &notice, false);
                let receiver = &mut self.flows[flow.index()].receiver;
                let acks: SmallVec<[Ack; 3]> = receiver.on_warning(now).collect();
                self.signal(flow, &acks);
            }
            Action::Attached(flow, copies, notice) => {
                let receiver = &mut self.flows[flow.index()].receiver;
                receiver.on_links(now, &notice, true);
                self.explain_signal(flow, &notice, true);
                let receiver = &mut self.flows[flow.index()].receiver;
                let acks: SmallVec<[Ack; 3]> = receiver.on_attached(now).collect();
                for _ in 0..copies {
                    self.signal(flow, &acks);
                }
                // Segments that waited may be sent now.
                self.acknowledge(flow, None);
            }
            Action::Address(flow, number) | Action::SecondAddress(flow, number) => {
                self.readdress(flow, number);
            }
            Action::Attach { mobile, to } => self.attach(mobile, to),
            Action::Forge(flow, forged, number) => {
                let ack = forged.of(&self.flows[flow.index()].sender, number);
                self.deliver_ack(flow, &ack);
            }
            Action::MarkBreak => self.observer.record(now, flow0, &Event::Break),
            Action::MarkMake => self.observer.record(now, flow0, &Event::Make),
        }
        self.sync_timeline();
    }

    #[inline(always)]
    fn route_place(&self, node: NodeId, to: NodeId) -> usize {
        usize::from(node.0) * self.nodes + usize::from(to.0)
    }

    /// Hands a packet at `node` to the link of its route.
    #[inline(always)]
    fn forward(&mut self, node: NodeId, mut packet: Packet) {
        let Some((link, during_run)) = self.routes[self.route_place(node, packet.to)] else {
            self.error = Some(WorldError::NoRoute {
                node: node.0,
                to: packet.to.0,
            });
            return;
        };
        packet.note_route(during_run);
        self.pass(link, packet);
    }

    /// The next link on the route of a packet that reaches the far end of `link` at `arrive`, if no
    /// event before that can change it.
    #[inline(always)]
    fn routed(&mut self, link: LinkId, arrive: FineTime, packet: &mut Packet) -> Option<LinkId> {
        let l = &self.links[link.index()];
        let is_clear = |link: &LinkId| self.links[link.index()].is_clear();
        let clear = self.awaiting_route == 0 || l.to_be_clear.iter().all(is_clear);
        if !clear || arrive >= self.routes_hold_until {
            return None;
        }
        let (next, during_run) = self.routes[self.route_place(l.to, packet.to)]?;
        packet.note_route(during_run);
        Some(next)
    }

    /// Sends a packet that enters `first` now through it and the following links without an event. Links after the
    /// first are entered ahead of the present. This is exact: nothing else enters those links before, and their
    /// queues are first in, first out.
    #[inline(always)]
    fn pass(&mut self, first: LinkId, mut packet: Packet) {
        let (mut link, mut enter, mut scheduled) = (first, self.moment.fine, self.scheduled);
        let cause = loop {
            let mut l = &mut self.links[link.index()];
            if l.closed {
                if l.is_looked_at() {
                    // A copy, so that a packet that nobody looks at stays in registers.
                    let mut seen = packet;
                    if !self.look_at(link, first, enter, &mut seen) {
                        break DropCause::Node;
                    }
                    packet = seen;
                    l = &mut self.links[link.index()];
                }
                match l.admit(enter, packet) {
                    Entry::Open => {}
                    Entry::Broken => break DropCause::Break,
                    Entry::Full => break DropCause::Queue,
                    Entry::Held => return,
                    Entry::Managed => return self.enqueue(link, packet),
                    Entry::Forwarded(to) => {
                        link = to;
                        continue;
                    }
                }
            }
            let Some(passage) = l.offer(enter, scheduled, packet.bytes) else {
                break DropCause::Queue;
            };
            let next = match l.onward {
                NextHop::Chained(next) => next,
                NextHop::Routed => {
                    let Some(next) = self.routed(link, passage.arrive, &mut packet) else {
                        self.awaiting_route += 1;
                        return self.carry(link, enter, passage, packet);
                    };
                    next
                }
                NextHop::Event => return self.carry(link, enter, passage, packet),
            };
            (link, enter, scheduled) = (next, passage.arrive, passage.start);
        };
        self.lose_at(enter, scheduled, packet, link, cause);
    }

    /// Sends a packet to an event at the far end of a link.
    #[inline(always)]
    fn carry(&mut self, link: LinkId, enter: FineTime, passage: Acceptance, packet: Packet) {
        if self.links[link.index()].carry(enter, passage, packet) {
            self.sync_link(link.index());
        }
    }

    /// A packet is lost where it would enter a link, now or later. A separate function, so that the nanosecond of
    /// that instant is computed only for these packets.
    #[cold]
    #[inline(never)]
    fn lose_at(
        &mut self,
        enter: FineTime,
        scheduled: Scheduled,
        packet: Packet,
        link: LinkId,
        cause: DropCause,
    ) {
        let due = self.clock.moment(enter);
        if due.at <= self.moment.at {
            self.lose(packet, link, cause);
        } else {
            self.announce(Announcement {
                key: Key { due, scheduled },
                link,
                what: What::Lost(cause),
                packet,
            });
        }
    }

    #[cold]
    fn lose(&mut self, packet: Packet, link: LinkId, cause: DropCause) {
        let datagram = packet.datagram_number(&self.options);
        packet.discard(&mut self.options);
        if cause == DropCause::Queue {
            self.links[link.index()].count_drop();
        }
        if packet.is_of_others() {
            return;
        }
        let event = Event::Dropped {
            payload: packet.payload(),
            sent: packet.sent(),
            link,
            cause,
            datagram,
        };
        self.observer.record(self.moment.at, packet.flow, &event);
    }

    #[inline(always)]
    fn sync_link(&mut self, link: usize) {
        let l = &self.links[link];
        match (l.onward, l.source) {
            (NextHop::Chained(_), _) => {}
            (_, Source::Busy(source)) => self.agenda.set(source, l.next_due()),
            (_, Source::Other(source)) => self.agenda.set_other(source, l.key()),
        }
    }

    fn sync_announcements(&mut self) {
        self.agenda.set_other(ANNOUNCED, self.announcements.next());
    }

    #[inline(always)]
    fn arrival(&mut self, link: usize) {
        let l = &mut self.links[link];
        let Some(Transit {
            at,
            passage,
            packet,
        }) = l.take()
        else {
            return;
        };
        let node = l.to;
        self.sync_link(link);
        self.moment = Moment {
            at,
            fine: passage.arrive,
        };
        self.scheduled = passage.start;
        if packet.to != node {
            self.forward(node, packet);
            return;
        }
        self.reach_end();
        let flow = packet.flow;
        if packet.is_unusual() {
            self.deliver_unusual(&packet, LinkId(link as u16));
            return;
        }
        // One value for both kinds would have to be stored in memory.
        if packet.is_ack() {
            let ack = packet.open_ack(&mut self.options);
            self.deliver_ack(flow, &ack);
        } else {
            let link = LinkId(link as u16);
            self.deliver_segment(flow, packet.rerouted(), &packet.segment(), link);
        }
    }
}
