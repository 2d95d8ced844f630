//! A setup as the script of a guest: commands of the lab's driver (`lab/kernel/README.md`), and flows as commands of
//! the guest's program (`lab/guest/init.c`). The links are in a separate process ([`super::Emulator`]).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use midflight_control::signal::AnyHandoffSignal;
use midflight_sim::Action;
use midflight_tcp::{AckRules, ReceiveBuffer, RecoveryKind, LINUX_SLACK};
use midflight_units::{Duration, Instant};

use super::emulator::shortest_way;
use super::homes::Homes;
use super::{offload, refused, sender, LabError};
use crate::measure::Measured;
use crate::scenario::Stack;
use crate::setup::{FlowSetup, Setup, Step};

/// net.ipv4.tcp_rmem: the minimum buffer under memory pressure.
const LEAST_BUFFER: u32 = 4096;

/// When the script begins on the guest's monotonic clock; by then everything is set up. Jiffies are then a multiple
/// of 4096 with HZ 250, 1000 and 100, so that the buckets of the timer wheel are the same as for a clock that begins
/// at zero.
pub const ORIGIN: Instant = Instant::from_nanos(54_240_000_000);

/// Maximum number of nodes, links and flows of a guest.
const MOST: [(&str, usize); 3] = [("nodes", 256), ("links", 512), ("flows", 4096)];
/// Maximum number of samples of a sender's state: about 250 bytes each in the guest.
const MOST_SAMPLES: u64 = 200_000;
/// Maximum length of a congestion control's name (`TCP_CA_NAME_MAX`).
const MOST_NAME: usize = 15;
/// Bytes of data in a full segment with Ethernet's 1500 bytes, without and with timestamps (RFC 7323).
const PAYLOAD: [u64; 2] = [1460, 1448];

/// Input of a guest in addition to the setup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    /// Congestion controls, by the kernel's names: one for all flows, or one for each; none if flows with the
    /// kernel's stack name their own, and for our senders.
    pub congestion: Vec<String>,
    /// Settings of the kernel in each endpoint's network namespace: names for `sysctl`, and values.
    pub sysctls: Vec<(String, String)>,
    /// How often the state of each kernel sender is sampled (TCP_INFO); zero for never.
    pub sample: Duration,
    /// When the script begins on the guest's monotonic clock.
    pub origin: Instant,
    /// The sender of the flows: the kernel's, or ours with the profile and scheme of each flow
    /// ([`super::OurSender`]). The receivers are the kernel's.
    pub stack: Stack,
    /// A second node has an interface on each access link, besides the mobile node.
    pub multihomed: bool,
}

/// Path below `/proc/sys` of a kernel setting.
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

/// Refuses a setup with features that the lab does not support.
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
    // The programs of a guest send bulk data.
    let mut connections = setup.apps.iter().flat_map(|app| &app.connections);
    if let Some(flow) = connections.find_map(|one| setup.flows.get(one.data as usize)) {
        let what = format!("flow \"{}\" with a workload", flow.name);
        return Err(refused(what, "bulk transfers"));
    }
    if !network.hooks.is_empty() {
        let what = "nodes that read segments, such as routers for Quick-Start";
        return Err(refused(what, "a scheme without them"));
    }
    let forges = |entry: &&_| matches!(entry, (_, Step::Act(Action::Forge(..))));
    if setup.timeline.iter().any(|entry| forges(&entry)) {
        return Err(refused("forged ACKs", "a run without them"));
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

/// The guest's command for a flow.
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

/// The kernel settings of a flow's receiver that differ from the default.
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
/// A flow of n segments transfers n full segments of the kernel: 1448 bytes, or 1460 if a sysctl disables timestamps.
///
/// # Errors
/// [`LabError::Unsupported`] names what the lab does not support.
pub fn lab_script(setup: &Setup, guest: &Guest) -> Result<String, LabError> {
    if !matches!(*setup.measured, Measured::Phases { .. }) {
        return Err(refused("a question of a paper", "a scenario"));
    }
    let homes = guest.multihomed.then(|| Homes::new(setup)).transpose()?;
    check(setup, guest.stack, homes.as_ref())?;
    guest.check(&setup.flows)?;
    let nodes = homes.map_or(setup.network.nodes, |homes| homes.sizes()[0]);
    let shortest = shortest_way(setup, homes.as_ref()).as_nanos();
    let mut text = format!("nodes {nodes}\nshortest {shortest}\n");
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
    text += &offload::lines(&setup.flows, guest.stack, guest.multihomed)?;
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
