//! Settings of a guest's hosts that all flows of a host share: ECN, SACK, the size of bursts, and what the network card merges.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use midflight_tcp::{AckRules, Bursts};
use midflight_units::Duration;

use super::{refused, LabError};
use crate::scenario::Stack;
use crate::setup::FlowSetup;

/// The value of each host; refuses flows of one host that differ in it.
fn of_hosts<T: PartialEq + Copy>(
    flows: &[FlowSetup],
    name: &str,
    of: impl Fn(&FlowSetup) -> Vec<(u16, T)>,
) -> Result<BTreeMap<u16, T>, LabError> {
    let mut values = BTreeMap::new();
    for flow in flows {
        for (node, value) in of(flow) {
            if *values.entry(node).or_insert(value) != value {
                let what = format!(
                    "flow \"{}\", which differs from others of its host in {name}",
                    flow.name
                );
                return Err(refused(what, "one setting for all flows of a host"));
            }
        }
    }
    Ok(values)
}

/// ECN at the endpoints of flows that request it.
fn ecn(flows: &[FlowSetup], lines: &mut String) -> Result<(), LabError> {
    let ecn_of = of_hosts(flows, "ecn", |flow| {
        let ecn = flow.part.built.profile.sender.ecn;
        vec![(flow.from.0, ecn), (flow.to.0, ecn)]
    })?;
    for (node, _) in ecn_of.into_iter().filter(|(_, ecn)| *ecn) {
        let _ = writeln!(lines, "sysctl {node} net/ipv4/tcp_ecn 1");
    }
    Ok(())
}

/// Hosts without SACK: those of flows with Linux's ACKs and the setting `sack` off.
fn sack(flows: &[FlowSetup], lines: &mut String) -> Result<(), LabError> {
    let sack_of = of_hosts(flows, "sack", |flow| {
        let profile = &flow.part.built.profile;
        let is_linux = matches!(profile.receiver.acks, AckRules::Linux { .. });
        let sack = profile.receiver.sack_blocks > 0 || !is_linux;
        vec![(flow.from.0, sack), (flow.to.0, sack)]
    })?;
    for (node, _) in sack_of.into_iter().filter(|(_, sack)| !*sack) {
        let _ = writeln!(lines, "sysctl {node} net/ipv4/tcp_sack 0");
    }
    Ok(())
}

/// The bursts of senders, where they differ from the kernel's default.
fn bursts(flows: &[FlowSetup], lines: &mut String) -> Result<(), LabError> {
    let bursts_of = of_hosts(flows, "the size of bursts", |flow| {
        vec![(flow.from.0, flow.part.built.profile.sender.bursts)]
    })?;
    for (node, bursts) in bursts_of {
        if bursts.gso_max_segs != Bursts::LINUX.gso_max_segs {
            let _ = writeln!(lines, "gso {node} {}", bursts.gso_max_segs);
        }
        for ((name, value), (_, usual)) in bursts.sysctls().zip(Bursts::LINUX.sysctls()) {
            if value != usual {
                let _ = writeln!(lines, "sysctl {node} net/ipv4/{name} {value}");
            }
        }
    }
    Ok(())
}

/// The receivers whose network card merges packets. What such a host sends passes another device, and is not the socket's any
/// more when it gets to the links, so it can only receive.
fn gro(flows: &[FlowSetup], multihomed: bool, lines: &mut String) -> Result<(), LabError> {
    let timeout_of = of_hosts(flows, "gro_flush_timeout", |flow| {
        let timeout = match flow.part.built.profile.receiver.acks {
            AckRules::Linux {
                gro_flush_timeout, ..
            } => gro_flush_timeout,
            _ => Duration::ZERO,
        };
        vec![(flow.to.0, timeout)]
    })?;
    let senders: BTreeSet<u16> = flows.iter().map(|flow| flow.from.0).collect();
    for (node, timeout) in timeout_of {
        if timeout == Duration::ZERO {
            continue;
        }
        if multihomed || senders.contains(&node) {
            let what = "gro_flush_timeout at a host that also sends, or has several interfaces";
            return Err(refused(what, "a host that only receives"));
        }
        let _ = writeln!(lines, "gro {node} {}", timeout.as_nanos());
    }
    Ok(())
}

/// The lines of the script for them; the senders are those of a stack.
pub(super) fn lines(
    flows: &[FlowSetup],
    stack: Stack,
    multihomed: bool,
) -> Result<String, LabError> {
    let mut lines = String::new();
    gro(flows, multihomed, &mut lines)?;
    ecn(flows, &mut lines)?;
    sack(flows, &mut lines)?;
    if stack != Stack::Midflight {
        bursts(flows, &mut lines)?;
    }
    Ok(lines)
}
