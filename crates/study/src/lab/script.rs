//! A setup as the script of a guest: links, routes and timeline in the commands of the lab's driver
//! (`lab/kernel/README.md`), flows in those of the guest's program (`lab/guest/init.c`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use std::iter::Peekable;

use midflight_control::signal::AnyHandoffSignal;
use midflight_sim::{
    Action, CrossTraffic, Drawn, Impairments, LinkConfig, LinkId, LossModel, Reordering,
};
use midflight_tcp::{AckRules, ReceiveBuffer, RecoveryKind, LINUX_SLACK};
use midflight_units::{Duration, Instant};

use super::homes::Homes;
use super::{refused, sender, LabError};
use crate::measure::Measured;
use crate::scenario::Stack;
use crate::setup::{FlowSetup, Setup, Step};

/// net.ipv4.tcp_rmem: what a buffer keeps when memory is short.
const LEAST_BUFFER: u32 = 4096;

/// When the script begins on the guest's monotonic clock; by then everything is set up. Its jiffies are then
/// a multiple of 4096 with HZ 250, 1000 and 100, so that the buckets of its timer wheel are those of a clock that
/// begins at zero.
pub const ORIGIN: Instant = Instant::from_nanos(54_240_000_000);

/// Most nodes, links and flows of a guest.
const MOST: [(&str, usize); 3] = [("nodes", 256), ("links", 512), ("flows", 4096)];
/// Most packets of cross traffic: 100 bytes each in the kernel.
const MOST_CROSSING: usize = 4_000_000;
/// Most samples of a sender's state: some 250 bytes each in the guest.
const MOST_SAMPLES: u64 = 200_000;
/// Most characters of a congestion control's name (`TCP_CA_NAME_MAX`).
const MOST_NAME: usize = 15;
/// Bytes of data in a full segment of Ethernet's 1500, without and with timestamps (RFC 7323).
const PAYLOAD: [u64; 2] = [1460, 1448];

/// Input of a guest in addition to the setup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    /// Congestion controls, by the kernel's names: one for all flows, or one for each; none for those that
    /// flows with the stack of the kernel have themselves, and for our senders.
    pub congestion: Vec<String>,
    /// Settings of the kernel in each end's network namespace: names as `sysctl` has them, and values.
    pub sysctls: Vec<(String, String)>,
    /// How often each of the kernel's senders tells its state (TCP_INFO); zero for never.
    pub sample: Duration,
    /// When the script begins on the guest's monotonic clock.
    pub origin: Instant,
    /// Whose senders the flows have: the kernel's, or ours with the profile and scheme of each flow
    /// ([`super::OurSender`]). The receivers are the kernel's.
    pub stack: Stack,
    /// There is a node with an interface on each access link beside the mobile node.
    pub multihomed: bool,
}

/// Path below `/proc/sys` of a setting of the kernel.
fn path_of(name: &str) -> Result<String, LabError> {
    let path = if name.contains('/') {
        name.to_string()
    } else {
        name.replace('.', "/")
    };
    let is_known = |c: char| c.is_ascii_alphanumeric() || "_-/.".contains(c);
    let is_path = !path.is_empty() && path.chars().all(is_known) && path.len() < 200;
    if !is_path || path.split('/').any(|part| part.is_empty() || part == "..") {
        let what = format!("with the sysctl \"{name}\"");
        return Err(refused(what, "a name such as net.ipv4.tcp_sack"));
    }
    Ok(path)
}

impl Guest {
    fn check(&self, flows: &[FlowSetup]) -> Result<(), LabError> {
        let is_name = |name: &String| {
            (1..=MOST_NAME).contains(&name.len())
                && name.bytes().all(|b| b.is_ascii_graphic() && b != b'"')
        };
        if let Some(name) = self.congestion.iter().find(|name| !is_name(name)) {
            let what = format!("with the congestion control \"{name}\"");
            return Err(refused(what, "a name of the kernel such as cubic"));
        }
        let given = self.congestion.len();
        let have_own =
            self.stack == Stack::Midflight || flows.iter().all(|flow| flow.stack == Stack::Linux);
        if !(given == 1 || given == flows.len() || (given == 0 && have_own)) {
            return Err(refused(
                format!("{} flows with {given} congestion controls", flows.len()),
                "one for all, or one for each",
            ));
        }
        let is_value = |value: &str| {
            let is_text = value.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
            is_text && !value.trim().is_empty() && value.len() < 200
        };
        for (name, value) in &self.sysctls {
            path_of(name)?;
            if !is_value(value) {
                let what = format!("with the value \"{}\" of {name}", value.escape_debug());
                return Err(refused(what, "a line of text"));
            }
        }
        Ok(())
    }

    fn congestion_of<'a>(&'a self, number: usize, flow: &'a FlowSetup) -> &'a str {
        let given = self.congestion.get(number).or(self.congestion.first());
        given.map_or(&flow.scheme, String::as_str)
    }

    /// Bytes of data in a full segment.
    pub(crate) fn payload(&self) -> u64 {
        let is_it = |name: &String| path_of(name).is_ok_and(|p| p == "net/ipv4/tcp_timestamps");
        let last = self.sysctls.iter().rev().find(|(name, _)| is_it(name));
        PAYLOAD[usize::from(last.is_none_or(|(_, value)| value.trim() != "0"))]
    }
}

/// What the lab cannot do of a setup.
fn check(setup: &Setup, stack: Stack, homes: Option<&Homes>) -> Result<(), LabError> {
    let network = &setup.network;
    let [nodes, links] = homes.map_or([network.nodes, network.links.len()], Homes::sizes);
    let sizes = [nodes, links, setup.flows.len()];
    for ((what, most), given) in MOST.into_iter().zip(sizes) {
        if given > most {
            return Err(refused(
                format!("{given} {what}"),
                format!("at most {most}"),
            ));
        }
    }
    for link in &network.links {
        check_link(link)?;
    }
    for flow in setup.flows.iter() {
        let is_own = flow.part.built.profile.sender.recovery == RecoveryKind::Quic;
        if flow.quic.is_some() || is_own {
            let what = format!("flow \"{}\" over QUIC", flow.name);
            return Err(refused(what, "flows over TCP"));
        }
        match stack {
            Stack::Midflight => sender::check(flow)?,
            _ => check_flow(flow)?,
        }
    }
    if !network.hooks.is_empty() {
        let what = "routers that answer rate requests (Quick-Start)";
        return Err(refused(what, "a scheme without them"));
    }
    let forges = |entry: &&_| matches!(entry, (_, Step::Act(Action::Forge(..))));
    if setup.timeline.iter().any(|entry| forges(&entry)) {
        return Err(refused("forged ACKs", "a run without them"));
    }
    Ok(())
}

fn check_link(link: &LinkConfig) -> Result<(), LabError> {
    let name = &link.name;
    if link.schedule.is_some() {
        // The driver's changes end a transmission at the rate that it began with.
        let what = format!("link \"{name}\", which has a trace: the links of the lab's driver have one rate during a transmission");
        return Err(refused(
            what,
            "a link without a trace, or the simulator (midflight run)",
        ));
    }
    if let Some(queue) = &link.queue {
        let what = format!("the queue \"{}\" of link \"{name}\"", queue.kind.name);
        return Err(refused(
            what,
            "a drop-tail queue such as \"100 packets\", or the simulator (midflight run)",
        ));
    }
    if link.overhead.is_some() {
        let what = format!("the random processing time (overhead) of link \"{name}\"");
        return Err(refused(what, "an overhead of 0"));
    }
    let later = link.settings.iter().map(|setting| &setting.impairments);
    for impairments in std::iter::once(&link.impairments).chain(later) {
        if matches!(impairments.reordering, Some(Reordering::Swap { .. })) {
            let what = format!("the reordering by swap of link \"{name}\"");
            return Err(refused(what, "reordering by the link layer (linkrtx)"));
        }
        if matches!(impairments.reordering, Some(Reordering::Harq { .. })) {
            let what = format!("the delivery in order (harq) of link \"{name}\"");
            return Err(refused(what, "reordering by the link layer (linkrtx)"));
        }
        if !impairments.script.is_empty() {
            let what = format!("losses of link \"{name}\" by the packet's number");
            return Err(refused(what, "random losses"));
        }
    }
    Ok(())
}

fn check_flow(flow: &FlowSetup) -> Result<(), LabError> {
    let built = &flow.part.built;
    let is_deaf = matches!(built.profile.receiver.signal, AnyHandoffSignal::Silent(_));
    if built.policies.is_empty() && is_deaf {
        return Ok(());
    }
    let policies: Vec<&str> = built.policies.iter().map(|p| p.info().name).collect();
    let of = match policies.as_slice() {
        [] => "a handoff signal".to_string(),
        policies => policies.join(", "),
    };
    let (scheme, name) = (&flow.scheme, &flow.name);
    Err(refused(
        format!("scheme \"{scheme}\" of flow \"{name}\" ({of}): the kernel has its own sender"),
        "a scheme without policies and signals, such as sack",
    ))
}

/// What a link has from one of its settings to the next, as the timeline goes.
struct Tenures<'a> {
    config: &'a LinkConfig,
    tenure: u32,
    is_paused: bool,
    /// How often each setting has come into force.
    entered: Vec<u64>,
    /// How often cross traffic has begun with each.
    begun: Vec<u64>,
    crossing: Option<Crossing>,
}

/// Cross traffic under way.
struct Crossing {
    of: CrossTraffic,
    arrivals: Peekable<Box<dyn Iterator<Item = Instant>>>,
}

impl Crossing {
    fn new(of: CrossTraffic, from: Instant, before: u64) -> Self {
        let arrivals: Box<dyn Iterator<Item = Instant>> = Box::new(of.arrivals(from, before));
        Self {
            of,
            arrivals: arrivals.peekable(),
        }
    }
}

/// Actions of the driver in the order of time, and the lines that go ahead.
struct Script<'a> {
    links: Vec<Tenures<'a>>,
    /// Impairments.
    ahead: String,
    /// By time; those of the timeline come first of an instant.
    actions: Vec<(Instant, bool, String)>,
    crossing: usize,
}

struct Hex<'a>(&'a [u64]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|word| write!(f, " {word:x}"))
    }
}

/// Impairments as lines of a link, from the tenure of this number on, which is their `before`th but one.
fn impairment_lines(link: usize, tenure: u32, of: &Impairments, before: u64) -> String {
    let mut lines = String::new();
    let one = |probability| of.loss_drawn(probability, before);
    let told = |drawn: Drawn| Hex(&[drawn.threshold]).to_string() + &Hex(&drawn.stream).to_string();
    if let Some(model) = of.loss {
        let text = match model {
            LossModel::Uniform { probability } => format!("uniform{}", told(one(probability))),
            LossModel::Burst {
                probability,
                length,
            } => {
                let Drawn { threshold, stream } = one(probability);
                format!("burst {threshold:x} {length}{}", Hex(&stream))
            }
            LossModel::Gilbert { good, bad, flip } => {
                let losses = [good.loss, bad.loss].map(one);
                let state = of.state_drawn(flip, before);
                let chances = losses.map(|drawn| drawn.threshold);
                let dwells = [good.dwell, bad.dwell].map(Duration::as_nanos);
                let [good, bad] = dwells;
                let streams = [Hex(&losses[0].stream), Hex(&state.stream)];
                format!(
                    "gilbert {good} {bad}{} {:x}{}{}",
                    Hex(&chances),
                    state.threshold,
                    streams[0],
                    streams[1]
                )
            }
        };
        let _ = writeln!(lines, "loss {link} {tenure} {text}");
    }
    if let Some(Reordering::LinkRetransmission { probability, delay }) = of.reordering {
        let Drawn { threshold, stream } = of.reordering_drawn(probability, before);
        let (by, stream) = (delay.as_nanos(), Hex(&stream));
        let _ = writeln!(lines, "late {link} {tenure} {threshold:x} {by}{stream}");
    }
    lines
}

impl<'a> Script<'a> {
    fn new(links: &'a [LinkConfig]) -> Self {
        let tenures = |config: &'a LinkConfig| Tenures {
            config,
            tenure: 0,
            is_paused: false,
            entered: vec![0; config.settings.len()],
            begun: vec![0; config.settings.len()],
            crossing: config.cross.map(|of| Crossing::new(of, Instant::ZERO, 0)),
        };
        let each = links.iter().enumerate();
        let ahead = each.map(|(n, config)| impairment_lines(n, 0, &config.impairments, 0));
        Self {
            links: links.iter().map(tenures).collect(),
            ahead: ahead.collect(),
            actions: Vec::new(),
            crossing: 0,
        }
    }

    fn act(&mut self, at: Instant, text: impl Into<String>) {
        self.actions.push((at, false, text.into()));
    }

    /// The cross traffic of a link before an instant.
    fn cross(&mut self, link: usize, until: Instant) -> Result<(), LabError> {
        let Some(crossing) = &mut self.links[link].crossing else {
            return Ok(());
        };
        let text = format!("cross {link} {}", crossing.of.bytes);
        while let Some(at) = crossing.arrivals.next_if(|at| *at < until) {
            self.actions.push((at, true, text.clone()));
            self.crossing += 1;
            if self.crossing > MOST_CROSSING {
                return Err(refused(
                    format!("more than {MOST_CROSSING} packets of cross traffic"),
                    "less of it, or an earlier end",
                ));
            }
        }
        Ok(())
    }

    /// A setting comes into force; its parameters as they are written.
    fn enter(&mut self, at: Instant, link: LinkId, setting: u16) -> Result<String, LabError> {
        let (link, number) = (link.index(), usize::from(setting));
        self.cross(link, at)?;
        let of = &mut self.links[link];
        let Some(setting) = of.config.settings.get(number) else {
            let what = format!("setting {number} of link \"{}\"", of.config.name);
            return Err(refused(what, "one that it has"));
        };
        of.tenure += 1;
        let before = of.entered[number];
        of.entered[number] += 1;
        self.ahead += &impairment_lines(link, of.tenure, &setting.impairments, before);
        // The same traffic goes on.
        let goes_on = |running: &Crossing, next: &CrossTraffic| {
            (running.of.pattern, running.of.bytes) == (next.pattern, next.bytes)
        };
        of.crossing = match (of.crossing.take(), setting.cross) {
            (Some(running), Some(next)) if goes_on(&running, &next) => Some(running),
            (_, Some(next)) => {
                of.begun[number] += 1;
                Some(Crossing::new(next, at, of.begun[number] - 1))
            }
            (_, None) => None,
        };
        let limit = setting.limit.unwrap_or(0);
        let (rate, delay) = (setting.rate.as_bps(), setting.delay.as_nanos());
        Ok(format!("{rate} {delay} {limit}"))
    }

    fn step(&mut self, at: Instant, action: &Action) -> Result<(), LabError> {
        match *action {
            Action::Route { node, to, link } => {
                let text = format!("route {} {} {}", node.0, to.0, link.index());
                self.act(at, text);
            }
            Action::Down(link) => self.act(at, format!("down {}", link.index())),
            Action::Up(link) => self.act(at, format!("up {}", link.index())),
            Action::Purge { link, node } => {
                self.act(at, format!("purge {} {}", link.index(), node.0));
            }
            Action::Detain { .. } | Action::Forward { .. } => {
                return Err(refused("a handoff that forwards", "forward = false"));
            }
            Action::Pause(link) => {
                self.links[link.index()].is_paused = true;
                self.act(at, format!("pause {}", link.index()));
            }
            Action::Resume { link, setting } => {
                // Without effect on a link that is not paused.
                if std::mem::take(&mut self.links[link.index()].is_paused) {
                    let mut text = format!("resume {}", link.index());
                    if let Some(setting) = setting {
                        let _ = write!(text, " {}", self.enter(at, link, setting)?);
                    }
                    self.act(at, text);
                }
            }
            Action::Change { link, setting } => {
                if !self.links[link.index()].is_paused {
                    let parameters = self.enter(at, link, setting)?;
                    self.act(at, format!("change {} {parameters}", link.index()));
                }
            }
            // Marks are of the measures; the rest is for policies and signals, of which there are none.
            Action::Open(_)
            | Action::NotifyStart(..)
            | Action::Notify(..)
            | Action::Foresee(_)
            | Action::Attached(..)
            | Action::Address(..)
            | Action::Attach { .. }
            | Action::Forge(..)
            | Action::MarkBreak
            | Action::MarkMake => {}
        }
        Ok(())
    }
}

/// A flow as the guest opens it.
fn flow_line(number: usize, flow: &FlowSetup, guest: &Guest) -> String {
    if guest.stack == Stack::Midflight {
        let has_end = u8::from(flow.end.is_some());
        return format!("ours {number} {} {} {has_end}\n", flow.from.0, flow.to.0);
    }
    let segments = flow.end.map_or(0, |end| end.saturating_sub(1));
    let bytes = segments * guest.payload();
    let (from, to, opens) = (flow.from.0, flow.to.0, flow.opens.as_nanos());
    let congestion = guest.congestion_of(number, flow);
    format!("flow {number} {from} {to} {bytes} {opens} {congestion}\n")
}

/// What a flow's receiver shall have of the kernel that is not its default.
fn receiver_lines(flow: &FlowSetup) -> String {
    let AckRules::Linux { buffer, slack, .. } = flow.part.built.profile.receiver.acks else {
        return String::new();
    };
    if (buffer, slack) == (ReceiveBuffer::LINUX, LINUX_SLACK) {
        return String::new();
    }
    let (node, least) = (flow.to.0, buffer.first.min(LEAST_BUFFER));
    let (ReceiveBuffer { first, most }, slack) = (buffer, slack.as_nanos());
    format!(
        "sysctl {node} net/ipv4/tcp_rmem {least} {first} {most}\n\
         sysctl {node} net/ipv4/tcp_comp_sack_slack_ns {slack}\n"
    )
}

/// A setup as the script of a guest.
///
/// A flow of n segments transfers n full segments of the kernel's: 1448 bytes, or 1460 where a
/// sysctl switches timestamps off.
///
/// # Errors
/// [`LabError::Unsupported`] names what the lab cannot run.
pub fn lab_script(setup: &Setup, guest: &Guest) -> Result<String, LabError> {
    if !matches!(*setup.measured, Measured::Phases { .. }) {
        return Err(refused("a question of a paper", "a scenario"));
    }
    let homes = guest.multihomed.then(|| Homes::new(setup)).transpose()?;
    check(setup, guest.stack, homes.as_ref())?;
    guest.check(&setup.flows)?;
    let network = &setup.network;
    let mut script = Script::new(&network.links);
    let until_end = setup.timeline.iter().take_while(|(at, _)| *at < setup.end);
    for (at, step) in until_end {
        if let Step::Act(action) = step {
            script.step(*at, action)?;
            if let Some(text) = homes.and_then(|homes| homes.also(action)) {
                script.act(*at, text);
            }
        }
    }
    for link in 0..network.links.len() {
        script.cross(link, setup.end)?;
    }
    script
        .actions
        .sort_by_key(|&(at, is_cross, _)| (at, is_cross));
    let nodes = homes.map_or(network.nodes, |homes| homes.sizes()[0]);
    let mut text = format!("nodes {nodes}\n");
    for (number, link) in network.links.iter().enumerate() {
        let (from, to) = (link.from.0, link.to.0);
        let (rate, delay) = (link.rate.as_bps(), link.delay.as_nanos());
        let limit = link.limit.unwrap_or(0);
        let _ = writeln!(text, "link {number} {from} {to} {rate} {delay} {limit}");
    }
    for (node, to, link) in &network.routes {
        let _ = writeln!(text, "route {} {} {}", node.0, to.0, link.index());
    }
    text += &homes.map_or(String::new(), |homes| homes.network_lines());
    text += &script.ahead;
    for (at, _, action) in &script.actions {
        let _ = writeln!(text, "at {} {action}", at.as_nanos());
    }
    let mut ends: BTreeSet<u16> = setup
        .flows
        .iter()
        .flat_map(|f| [f.from.0, f.to.0])
        .collect();
    ends.extend(homes.map(|homes| homes.first()));
    for node in &ends {
        let _ = writeln!(text, "namespace {node}");
    }
    text += &homes.map_or(String::new(), |homes| homes.interface_lines());
    let paths: BTreeMap<&str, String> = guest
        .sysctls
        .iter()
        .map(|(name, _)| Ok((name.as_str(), path_of(name)?)))
        .collect::<Result<_, LabError>>()?;
    for flow in setup.flows.iter() {
        text += &receiver_lines(flow);
    }
    for node in &ends {
        for (name, value) in &guest.sysctls {
            let path = &paths[name.as_str()];
            let _ = writeln!(text, "sysctl {node} {path} {}", value.trim());
        }
    }
    for (number, flow) in setup.flows.iter().enumerate() {
        text += &flow_line(number, flow, guest);
    }
    if guest.sample > Duration::ZERO {
        if setup.end.as_nanos() / guest.sample.as_nanos() > MOST_SAMPLES {
            return Err(refused(
                format!("with more than {MOST_SAMPLES} samples of a flow"),
                "a longer interval, or an earlier end",
            ));
        }
        let _ = writeln!(text, "sample {}", guest.sample.as_nanos());
    }
    let (origin, end) = (guest.origin.as_nanos(), setup.end.as_nanos());
    let _ = write!(text, "origin {origin}\nend {end}\ngo\n");
    Ok(text)
}
