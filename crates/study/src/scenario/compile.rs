//! Compiles a checked scenario to the setup of each of its runs.

use std::borrow::Cow;
use std::sync::Arc;

use midflight_control::quick_start::Routers;
use midflight_control::{Advice, LinkInfo, Notice, PathUpdate, StartNotice};
use midflight_sim::{random, Action, NodeId};
use midflight_units::{Duration, Instant};

use super::file::{Direction, NoticeSource, Stop};
use super::plan::{Change, Flow, NoticeSettings, Plan, PlannedHandoff};
use crate::error::StudyError;
use crate::measure::Measured;
use crate::network::cell::{link_names, station, Cell, Map, PossibleActions, SERVER};
use crate::setup::{flow_id, FlowSetup, Mark, Network, Part, Setup, SignalTimes, Timeline};

/// The possible actions of the timeline on each access link.
pub(super) fn what_may_happen(
    links: usize,
    moves: &[PlannedHandoff],
    changes: &[Change],
) -> Vec<PossibleActions> {
    let mut all = vec![PossibleActions::default(); links];
    for step in moves {
        all[step.to].returns |= all[step.to].breaks || step.to == step.from;
        all[step.to].is_entered |= step.to != step.from;
        all[step.from].breaks |= step.gap.is_some();
        all[step.from].forwards |= step.forward;
        all[step.to].forwards |= step.forward;
    }
    for change in changes {
        all[change.link].changes = true;
    }
    all
}

impl Plan {
    fn map(&self) -> Map {
        Map::of_links(self.access.len())
    }

    /// The mobile node's flows.
    pub(super) fn moving(&self) -> impl Iterator<Item = (usize, &Flow)> {
        self.flows
            .iter()
            .enumerate()
            .filter(|(_, f)| f.on.is_none())
    }

    /// How routers respond to rate requests of flows in a direction, if any flow sends one.
    fn asked(&self, direction: Direction) -> Option<Routers> {
        let flows = self.flows.iter().filter(|f| f.direction == direction);
        let mut policies = flows.flat_map(|f| &self.parts[f.part].built.policies);
        policies.find_map(|policy| policy.routers())
    }

    /// The flows of a run; most are the same in every run ([`Self::differs_by_run`]).
    pub(super) fn flow_setups(&self, run: u64) -> Arc<[FlowSetup]> {
        let map = self.map();
        let flow = |(number, flow): (usize, &Flow)| {
            let there = flow.on.map_or(map.mobile(), |link| map.interface(link));
            let (from, to) = match flow.direction {
                Direction::Down => (SERVER, there),
                Direction::Up => (there, SERVER),
            };
            FlowSetup {
                name: flow.name.clone().into(),
                entry: Some(flow.entry_name.clone()),
                scheme: flow.scheme.clone(),
                from,
                to,
                part: self.part_of(flow, run),
                end: flow.end,
                opens: flow.opens,
                stays: flow.on.map(|link| link as u16),
                up: flow.direction == Direction::Up,
                stack: flow.stack,
                quic: self.quic_setup(number, run),
                client: self.client(number),
                app: flow.app.map(|role| (role.workload, role.is_back)),
            }
        };
        self.flows.iter().enumerate().map(flow).collect()
    }

    /// One of the runs.
    ///
    /// # Errors
    /// [`StudyError::NoRun`].
    pub fn setup(&self, run: u64) -> Result<Setup, StudyError> {
        self.setup_beside(run, None)
    }

    /// The same, reusing the network of another run with the same number if it is equal.
    pub(super) fn setup_beside(
        &self,
        run: u64,
        other: Option<(&Self, &Setup)>,
    ) -> Result<Setup, StudyError> {
        self.check_run(run)?;
        let network = match other {
            Some((plan, setup)) if self.has_network_of(plan) => Arc::clone(&setup.network),
            _ => Arc::new(self.network(run)),
        };
        Ok(Setup {
            network,
            flows: if self.flows.iter().any(|flow| self.differs_by_run(flow)) {
                self.flow_setups(run)
            } else {
                Arc::clone(&self.flow_setups)
            },
            apps: self.app_setups(run),
            timeline: self.timeline(run).finish(),
            measured: Arc::new(Measured::Phases {
                packets: self.file.packets,
                ends_run: self.file.stop == Stop::Measured,
            }),
            end: self.end(),
            profile: Arc::from(self.file.profile.as_str()),
            start: self.start as u16,
            run: Some(run),
            path_changes: Arc::clone(&self.all_path_changes),
        })
    }

    /// Whether a flow has QUIC, or a controller that draws random numbers.
    fn differs_by_run(&self, flow: &Flow) -> bool {
        flow.quic.is_some() || self.parts[flow.part].draws()
    }

    /// The sender and the receiver of a flow; a controller that draws random numbers has its own stream.
    fn part_of(&self, flow: &Flow, run: u64) -> Arc<Part> {
        let part = &self.parts[flow.part];
        if !part.draws() {
            return Arc::clone(part);
        }
        let component = format!("flow {}", flow.name);
        let seed = random::seed(self.file.seed, run, &component, "congestion control");
        Arc::new(part.seeded(seed))
    }

    /// Whether the networks of two scenarios are equal in runs with the same number.
    fn has_network_of(&self, other: &Self) -> bool {
        let of = |plan: &Self| {
            let wired = &plan.file.wired;
            let residences: Vec<usize> = plan.flows.iter().filter_map(|f| f.on).collect();
            let routers = [Direction::Down, Direction::Up].map(|direction| plan.asked(direction));
            let wired = (wired.rate.value, wired.delay.value, plan.wired_limit);
            let hosts = plan.has_host_nodes();
            (
                wired,
                plan.start,
                plan.file.seed,
                residences,
                routers,
                hosts,
            )
        };
        self.access == other.access
            && self.may_happen == other.may_happen
            && self.agents == other.agents
            && of(self) == of(other)
    }

    fn network(&self, run: u64) -> Network {
        let places = self
            .access
            .iter()
            .map(|access| Cow::Owned(access.name.clone()));
        let names = link_names(self.access.iter().map(|a| a.name.as_str()));
        let has_hosts = self.has_host_nodes();
        let names: Vec<Cow<'static, str>> = names.into_iter().map(Cow::from).collect();
        let cell = Cell {
            wired: LinkInfo {
                rate: self.file.wired.rate.value,
                delay: self.file.wired.delay.value,
            },
            wired_limit: self.wired_limit,
            names: &names,
            places: places.collect(),
            access: &self.access,
            may_happen: &self.may_happen,
            spares_uplink: false,
            start: self.start,
            residences: self.flows.iter().filter_map(|f| f.on).collect(),
            has_hosts,
            routers: [Direction::Down, Direction::Up].map(|direction| self.asked(direction)),
            agents: self
                .agents
                .iter()
                .map(|one| (one.agent.clone(), one.posts.clone()))
                .collect(),
            readable: self.readable(),
            seed: (self.file.seed, run),
        };
        cell.network()
    }

    /// Nodes of the sender and of the receiver of each flow, except for flows whose packets a node on the path cannot
    /// read.
    fn readable(&self) -> Vec<Option<(NodeId, NodeId)>> {
        if self.agents.is_empty() {
            return Vec::new();
        }
        let ends = |(flow, setup): (&Flow, &FlowSetup)| {
            let is_tcp = flow.quic.is_none() && flow.own_quic.is_none();
            is_tcp.then_some((setup.from, setup.to))
        };
        self.flows
            .iter()
            .zip(&*self.flow_setups)
            .map(ends)
            .collect()
    }

    /// Nodes with agents get the location of the mobile node.
    fn attach(&self, timeline: &mut Timeline, at: Instant, link: Option<usize>) {
        if !self.agents.is_empty() {
            let (mobile, to) = (self.map().mobile(), link.map(station));
            timeline.act(at, Action::Attach { mobile, to });
        }
    }

    /// The parameters of a link in a direction at an instant.
    fn info(&self, link: usize, direction: Direction, at: Instant) -> LinkInfo {
        let begun = self.changes.partition_point(|c| c.at <= at);
        let over = |c: &&Change| c.link == link && c.at + c.pause <= at;
        let setting = self.changes[..begun].iter().rev().find(over);
        let setting = setting.map_or(0, |c| c.setting);
        self.access[link].settings[setting]
            .of(direction)
            .info_at(at)
    }

    /// The link that a flow uses at an instant.
    fn link_at(&self, flow: &Flow, at: Instant) -> LinkInfo {
        let link = flow.on.unwrap_or_else(|| self.mobile_is_on(at));
        self.info(link, flow.direction, at)
    }

    /// The link that the mobile node is on or moves to.
    pub(super) fn mobile_is_on(&self, at: Instant) -> usize {
        let place = self.moves.partition_point(|step| step.at <= at);
        place
            .checked_sub(1)
            .map_or(self.start, |last| self.moves[last].to)
    }

    /// Everything that happens in a run.
    fn timeline(&self, run: u64) -> Timeline {
        let mut timeline = Timeline::default();
        for (number, flow) in self.flows.iter().enumerate() {
            let id = flow_id(number as u32);
            if flow.start_notice {
                let link = self.link_at(flow, flow.opens);
                let alike =
                    |other: &&Flow| (other.on, other.direction) == (flow.on, flow.direction);
                let flows = self.flows.iter().filter(alike).count() as u32;
                let notice = StartNotice { link, flows };
                timeline.act(flow.opens, Action::NotifyStart(id, notice));
            }
            if !flow.app.is_some_and(|role| role.is_opened_by_peer) {
                timeline.act(flow.opens, Action::Open(id));
            }
        }
        for (at, kind) in self.marks() {
            let mark = Mark {
                kind,
                make: at,
                place: self.mobile_is_on(at) as u16,
            };
            timeline.mark(at, mark);
        }
        let mut moves = self.moves.iter().enumerate().peekable();
        let mut changes = self.changes.iter().enumerate().peekable();
        loop {
            let goes_first = match (moves.peek(), changes.peek()) {
                (Some((_, step)), Some((_, change))) => step.at <= change.at,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => break,
            };
            if goes_first {
                if let Some((number, step)) = moves.next() {
                    self.handoff(&mut timeline, run, number, step);
                }
            } else if let Some((number, change)) = changes.next() {
                self.change(&mut timeline, run, number, change);
            }
        }
        timeline
    }

    /// The mobile node's flows that are open at an instant.
    fn open_at(&self, at: Instant) -> impl Iterator<Item = (usize, &Flow)> {
        self.moving().filter(move |(_, flow)| flow.opens <= at)
    }

    /// The mobile node predicts that it will lose its link at `at`, for the flows that `is_predicted` selects; `links`
    /// returns a flow's links before and after.
    fn predict(
        &self,
        timeline: &mut Timeline,
        at: Instant,
        is_predicted: impl Fn(usize) -> bool,
        links: impl Fn(&Flow) -> (LinkInfo, LinkInfo),
    ) {
        for (number, flow) in self.open_at(at).filter(|(number, _)| is_predicted(*number)) {
            if let Some(warning) = self.parts[flow.part]
                .built
                .profile
                .receiver
                .signal
                .warning()
            {
                let noticed_at = at.saturating_sub(warning).max(flow.opens);
                let notice = self.notice(links(flow), at, flow);
                timeline.act(noticed_at, Action::Foresee(flow_id(number as u32), notice));
            }
        }
    }

    /// The mobile node detects at `at` that it is on another link; its senders get a notice, sent by the node if
    /// `signalled` is true.
    fn arrive(
        &self,
        timeline: &mut Timeline,
        at: Instant,
        signalled: impl Fn(usize) -> bool,
        links: impl Fn(&Flow) -> (LinkInfo, LinkInfo),
        update_of: impl Fn(&Flow, usize) -> Option<(Instant, PathUpdate)>,
    ) {
        for (number, flow) in self.open_at(at) {
            if flow.direction == Direction::Down {
                let copies = u8::from(signalled(number));
                let links = self.notice(links(flow), at, flow);
                let id = flow_id(number as u32);
                timeline.act(at, Action::Attached(id, copies, links));
            }
        }
        for (number, flow) in self.open_at(at) {
            if let Some((at, update)) = update_of(flow, number) {
                timeline.act(at, Action::Notify(flow_id(number as u32), update));
            }
        }
    }

    /// The link data of a handoff or change at `at`.
    fn notice(&self, (old, new): (LinkInfo, LinkInfo), at: Instant, flow: &Flow) -> Notice {
        let alike = |(_, other): &(usize, &Flow)| other.direction == flow.direction;
        Notice {
            old,
            new,
            flows: self.open_at(at).filter(alike).count() as u32,
        }
    }

    /// The notice or throughput advice for a flow whose link is replaced at `at`, and its time, if it arrives. There is
    /// no advice for a rate below the smallest signal rate.
    fn update_of(
        &self,
        (old, new): (LinkInfo, LinkInfo),
        (at, anew): (Instant, bool),
        flow: &Flow,
        settings: Option<NoticeSettings>,
        is_delivered: impl Fn(f64) -> bool,
    ) -> Option<(Instant, PathUpdate)> {
        let settings = settings.filter(|t| is_delivered(t.lost))?;
        let (noticed_at, rate) = (at + settings.delay, settings.rate.unwrap_or(new.rate));
        if settings.source == NoticeSource::Scone {
            let advice = Advice::of(rate, noticed_at, anew)?;
            return Some((noticed_at, PathUpdate::Advice(advice)));
        }
        let new = LinkInfo {
            rate,
            delay: settings.says_delay.unwrap_or(new.delay),
        };
        Some((
            noticed_at,
            PathUpdate::Notice(self.notice((old, new), at, flow)),
        ))
    }

    fn handoff(&self, timeline: &mut Timeline, run: u64, number: usize, step: &PlannedHandoff) {
        let map = self.map();
        let of = format!("handoff {number}");
        let is_delivered = |lost, what, flow| self.is_delivered(lost, (run, &of), what, flow);
        let make = step.make();
        let links = |flow: &Flow| {
            let link = |link, at| self.info(link, flow.direction, at);
            (link(step.from, step.at), link(step.to, make))
        };
        let is_predicted = |flow| is_delivered(step.missed, "foresight", flow);
        self.predict(timeline, step.at, is_predicted, links);
        if step.gap.is_some() {
            timeline.act(step.at, Action::MarkBreak);
            for link in map.ends(step.from) {
                timeline.act(step.at, Action::Down(link));
            }
            // Packets in the node's own queue and on the air are lost with its interface. The base station's packets
            // for the node are lost if the node is not there.
            let [to_interface, up, _] = map.up(step.from);
            let node = map.mobile();
            for link in [to_interface, up] {
                timeline.act(step.at, Action::Purge { link, node });
            }
            if step.forward {
                let [link, _] = map.access(step.from);
                timeline.act(step.at, Action::Detain { link, node });
            }
            self.attach(timeline, step.at, None);
        }
        timeline.act(make, Action::MarkMake);
        if self.may_happen[step.to].returns {
            for link in map.ends(step.to) {
                timeline.act(make, Action::Up(link));
            }
        }
        if step.to != step.from {
            let [(node, to, link), up] = map.routes_over(step.to);
            timeline.act(make, Action::Route { node, to, link });
            let (node, to, link) = up;
            let acks = self.acks_move(number, step, links);
            timeline.act(acks, Action::Route { node, to, link });
        }
        self.forward(timeline, step, make);
        self.attach(timeline, make, Some(step.to));
        self.readdress(timeline, number);
        let signalled = |flow| is_delivered(step.signal_lost, "signal", flow);
        self.arrive(timeline, make, signalled, links, |flow, flow_number| {
            self.update_of(links(flow), (make, true), flow, step.notice, |lost| {
                is_delivered(lost, "notice", flow_number)
            })
        });
    }

    /// When the mobile node's ACKs switch to the new link of a handoff, limited by the previous and the next handoff.
    /// The node has one route to the server: the first flow whose signal has its own time determines it.
    fn acks_move(
        &self,
        number: usize,
        step: &PlannedHandoff,
        links: impl Fn(&Flow) -> (LinkInfo, LinkInfo),
    ) -> Instant {
        let make = step.make();
        let times = |(_, flow): (usize, &Flow)| {
            let notice = self.notice(links(flow), make, flow);
            let soft = step.gap.is_none().then_some(&notice);
            SignalTimes::of(&self.parts[flow.part], soft)
        };
        let down = |(_, flow): &(usize, &Flow)| flow.direction == Direction::Down;
        let flows = self.open_at(make).filter(down).map(times);
        let Some(times) = flows.into_iter().find(SignalTimes::moves_acks) else {
            return make;
        };
        let before = number.checked_sub(1).and_then(|n| self.moves.get(n));
        let after = self.moves.get(number + 1).map(|next| next.at);
        let earliest = before.map_or(Instant::ZERO, PlannedHandoff::make);
        times
            .acks_move(make)
            .max(earliest)
            .min(after.unwrap_or(Instant::NEVER))
    }

    /// Packets buffered by the old station are forwarded to the node's new station; if the new station has buffered
    /// packets itself, the node is back.
    fn forward(&self, timeline: &mut Timeline, step: &PlannedHandoff, make: Instant) {
        let map = self.map();
        let (node, [to, _]) = (map.mobile(), map.access(step.to));
        let mut lead = |link| timeline.act(make, Action::Forward { link, node, to });
        if self.may_happen[step.to].forwards {
            lead(to);
        }
        if step.forward && step.from != step.to {
            let [from, _] = map.access(step.from);
            lead(from);
        }
    }

    fn change(&self, timeline: &mut Timeline, run: u64, number: usize, change: &Change) {
        let map = self.map();
        let again = change.at + change.pause;
        let is_on = self.mobile_is_on(change.at) == change.link;
        let links_of = |flow: &Flow| {
            let just_before = change.at.saturating_sub(Duration::from_nanos(1));
            let before = self.info(change.link, flow.direction, just_before);
            (before, self.info(change.link, flow.direction, again))
        };
        if is_on && change.pause > Duration::ZERO {
            self.predict(timeline, change.at, |_| true, links_of);
        }
        if is_on && change.pause > Duration::ZERO {
            timeline.act(change.at, Action::MarkBreak);
            self.attach(timeline, change.at, None);
        }
        let links = map.access(change.link);
        let stands_still = change.pause > Duration::ZERO;
        for link in links.into_iter().filter(|_| stands_still) {
            timeline.act(change.at, Action::Pause(link));
        }
        if is_on {
            timeline.act(again, Action::MarkMake);
        }
        for link in links {
            // Settings of a link are numbered from its second one.
            let setting = change.setting as u16 - 1;
            let action = if stands_still {
                let setting = Some(setting);
                Action::Resume { link, setting }
            } else {
                Action::Change { link, setting }
            };
            timeline.act(again, action);
        }
        if !is_on {
            return;
        }
        if stands_still {
            self.attach(timeline, again, Some(change.link));
        }
        let of = format!("change {number}");
        self.arrive(
            timeline,
            again,
            |_| true,
            links_of,
            |flow, flow_number| {
                let links = links_of(flow);
                self.update_of(links, (again, false), flow, change.notice, |lost| {
                    self.is_delivered(lost, (run, &of), "notice", flow_number)
                })
            },
        );
    }
}
