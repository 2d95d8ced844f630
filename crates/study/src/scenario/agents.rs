//! Agents at nodes in a scenario: which ones, where, and with which knobs.

use std::sync::Arc;

use midflight_control::part::Knob;
use midflight_sim::agent::{AnyAgent, Ends, Place, AGENTS};

use super::file::{FlowFile, ScenarioFile, Stack};
use super::plan::{find, problem, Flow, Problem, PLAIN};
use super::workload::SEGMENT_BYTES;
use crate::network::cell::Posts;
use crate::scheme::{Knobs, Scheme};
use crate::setup::{flow_id, Part};

/// No agent.
const NONE: &str = "none";

/// An agent, and where it is deployed.
#[derive(Clone, Debug)]
pub(super) struct PlannedAgent {
    pub(super) agent: AnyAgent,
    pub(super) posts: Posts,
}

impl PartialEq for PlannedAgent {
    fn eq(&self, other: &Self) -> bool {
        self.posts == other.posts && format!("{self:?}") == format!("{other:?}")
    }
}

/// The knobs of agents.
fn knobs() -> impl Iterator<Item = &'static Knob> {
    AGENTS.iter().flat_map(|info| info.knobs)
}

/// Whether an agent has a knob with this name.
pub(super) fn is_agents_knob(name: &str) -> bool {
    knobs().any(|knob| knob.name == name)
}

/// The settings of a flow's ends: those of the scenario, overridden by its own, without the knobs of agents.
pub(super) fn knobs_of_ends(file: &ScenarioFile, flow: &FlowFile) -> Knobs {
    let mut set = file.set.clone();
    set.extend(flow.set.clone());
    let of_ends = set.into_iter().filter(|(k, _)| !is_agents_knob(k));
    of_ends.map(|(k, v)| (k, v.0)).collect()
}

/// The agent with a name and the scenario's knobs; none for "none".
fn named(key: &str, name: &str, file: &ScenarioFile) -> Result<Option<AnyAgent>, Problem> {
    if name == NONE {
        return Ok(None);
    }
    let known = AGENTS.iter().map(|info| info.name);
    let place = find(key, name, "agent", known.chain([NONE]))?;
    let Some(mut agent) = AGENTS.get(place).and_then(|i| AnyAgent::named(i.name)) else {
        return Ok(None);
    };
    for knob in agent.info().knobs {
        if let Some(value) = file.set.get(knob.name) {
            if let Err(error) = agent.set_knob(knob.name, &value.0) {
                return problem(format!("set.{}", knob.name), error.to_string());
            }
        }
    }
    Ok(Some(agent))
}

/// The agents of the scenario.
pub(super) fn agents(file: &ScenarioFile) -> Result<Vec<PlannedAgent>, Problem> {
    // Values are checked even if the agent is not used, as for other parts.
    for info in AGENTS {
        named("agent", info.name, file)?;
    }
    for (name, flow) in &file.flows {
        if let Some(knob) = flow.set.keys().find(|knob| is_agents_knob(knob)) {
            let why = format!(
                "\"{knob}\" belongs to an agent, which serves all flows; expected it in [set]"
            );
            return problem(format!("flows.{name}.set.{knob}"), why);
        }
    }
    let mut planned: Vec<PlannedAgent> = Vec::new();
    let mut add = |agent: AnyAgent, link: Option<usize>| {
        let is_same = |one: &PlannedAgent| one.agent.info() == agent.info();
        let place = planned.iter().position(is_same).unwrap_or(planned.len());
        if place == planned.len() {
            let posts = Posts::default();
            planned.push(PlannedAgent { agent, posts });
        }
        let posts = &mut planned[place].posts;
        match link {
            Some(link) => posts.stations.push(link),
            None => posts.router = true,
        }
    };
    let everywhere = match &file.agent {
        Some(name) => named("agent", name, file)?,
        None => None,
    };
    let at_router = |agent: &AnyAgent| agent.place() == Place::Router;
    if let Some(agent) = everywhere.as_ref().filter(|agent| at_router(agent)) {
        add(agent.clone(), None);
    }
    for (link, (name, of)) in file.links.iter().enumerate() {
        let agent = match &of.agent {
            Some(agent) => named(&format!("links.{name}.agent"), agent, file)?,
            None => everywhere.clone().filter(|agent| !at_router(agent)),
        };
        if let Some(agent) = agent {
            add(agent, Some(link));
        }
    }
    let kernel = file.flows.iter().find(|(_, f)| f.stack == Stack::Linux);
    if let (Some((flow, _)), Some(one)) = (kernel, planned.first()) {
        let why = format!("the network around a kernel has no agents, and the scenario has \"{}\"; expected another stack, or no agent", one.agent.info().name);
        return problem(format!("flows.{flow}.stack"), why);
    }
    Ok(planned)
}

/// Gives agents the endpoints that they may need for each flow: those of its profile without a
/// scheme.
pub(super) fn equip(
    agents: &mut [PlannedAgent],
    file: &ScenarioFile,
    flows: &[Flow],
    parts: &[Arc<Part>],
) -> Result<(), Problem> {
    if agents.is_empty() {
        return Ok(());
    }
    let readable = |flow: &&Flow| flow.quic.is_none() && flow.own_quic.is_none();
    for (flow, number) in flows.iter().zip(0..).filter(|(flow, _)| readable(flow)) {
        let Some((name, written)) = file.flows.get_index(flow.entry) else {
            continue;
        };
        let mut knobs = knobs_of_ends(file, written);
        if flow.app.is_some() {
            // Packets of frames and of requests have their own size.
            let bytes = parts[flow.part].built.profile.sender.segment_bytes;
            knobs.retain(|(knob, _)| knob != SEGMENT_BYTES);
            knobs.push((SEGMENT_BYTES.into(), bytes.to_string()));
        }
        let profile = written.profile.as_ref().unwrap_or(&file.profile);
        let built = Scheme::named(PLAIN).and_then(|plain| plain.build(profile, &knobs));
        let built = match built {
            Ok(built) => built.profile,
            Err(error) => return problem(format!("flows.{name}.set"), error.to_string()),
        };
        let ends = Ends {
            sender: built.sender,
            parts: built.parts,
            receiver: built.receiver,
        };
        for one in &mut *agents {
            one.agent.equip(flow_id(number), &ends);
        }
    }
    Ok(())
}
