//! Flows over QUIC: their keys in a scenario, and the addresses of their clients.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use midflight_quic::{
    Congestion, Flow as QuicConfig, Log, QuicStack, Refused, PORT, SEGMENT_BYTES,
};
use midflight_sim::{Action, End, NodeId};
use midflight_units::{Duration, Seq};

use super::file::{Direction, FlowFile, Migration, Rebind, ScenarioFile};
use super::plan::{problem, Flow, Plan, Problem, PLAIN};
use super::workload::{is_workload_knob, BULK};
use super::written::Size;
use crate::network::cell::Map;
use crate::quic::{Client, QuicSetup};
use crate::setup::{flow_id, Timeline};

/// Maximum number of streams: the default limit of the stacks.
const MOST_STREAMS: u64 = 100;
/// Port of the first flow's client.
const FIRST_PORT: u16 = 49_152;
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// The keys of a flow over QUIC in a scenario.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct QuicFlow {
    stack: QuicStack,
    congestion: Congestion,
    tls: bool,
    idle: Option<Duration>,
    streams: u64,
    migrates: bool,
    multipath: bool,
    resumes: bool,
    sends_up: bool,
    total: Option<u64>,
}

impl Flow {
    /// Whether its sender follows the address of the mobile node. With our own QUIC, a sender at the mobile node itself
    /// keeps its address, as under Mobile IP.
    fn has_address(&self) -> bool {
        let is_own = self.own_quic.is_some() && self.direction == Direction::Down;
        self.quic.is_some() || is_own
    }
}

/// A size in bytes; none if it is unlimited or not drawn yet.
fn bytes_of(size: Size) -> Option<u64> {
    match size {
        Size::Unlimited | Size::Drawn(_) => None,
        Size::Bytes(bytes) => Some(bytes),
        Size::Packets(packets) => Some(packets * u64::from(SEGMENT_BYTES)),
    }
}

/// Whether a setting is of our own QUIC sender alone.
fn is_of_own_quic(name: &str) -> bool {
    ["window_edge", "handshake_ids"].contains(&name) || name.starts_with("migration")
}

/// Refuses settings of our own QUIC sender for other senders of the simulator: those of a flow, and those of the scenario if it
/// has no flow with that sender.
pub(super) fn check_own_settings(file: &ScenarioFile, flows: &[Flow]) -> Result<(), Problem> {
    let why = |of: &str, profile: &str| {
        format!("this is a setting of the simulator's QUIC sender, and the profile of {of} is \"{profile}\"; expected profile = \"quic\", or a scenario without it")
    };
    let others = |flow: &&Flow| flow.own_quic.is_none() && flow.quic.is_none();
    for flow in flows.iter().filter(others) {
        let entry = &file.flows[&*flow.entry_name];
        let profile = entry.profile.as_ref().unwrap_or(&file.profile);
        if let Some(name) = entry.set.keys().find(|name| is_of_own_quic(name)) {
            let key = format!("flows.{}.set.{name}", flow.entry_name);
            return problem(key, why("this flow", profile));
        }
    }
    let has_own = flows.iter().any(|flow| flow.own_quic.is_some());
    match file.set.keys().find(|name| is_of_own_quic(name)) {
        Some(name) if !has_own => {
            problem(format!("set.{name}"), why("the scenario", &file.profile))
        }
        _ => Ok(()),
    }
}

impl QuicFlow {
    /// The QUIC settings of a flow's entry, if it uses QUIC.
    pub(super) fn new(key: &str, flow: &FlowFile, is_own: bool) -> Result<Option<Self>, Problem> {
        let at = |part: &str| format!("{key}.{part}");
        let Some(stack) = flow.stack.quic() else {
            let given = [
                ("cc", flow.cc.is_some()),
                ("idle", flow.idle.is_some()),
                ("streams", flow.streams.is_some()),
                ("tls", flow.tls.is_some()),
                ("migration", flow.migration.is_some() && !is_own),
                ("multipath", flow.multipath.is_some()),
                ("resume", flow.resume.is_some()),
            ];
            return match given.iter().find(|(_, given)| *given) {
                None => Ok(None),
                Some((part, _)) => problem(
                    at(part),
                    format!(
                        "this is for a flow over QUIC, and this flow's stack is \"{}\"; expected stack = {}, or a flow without it{}",
                        flow.stack.name(),
                        QuicStack::names(),
                        match *part {
                            "cc" => " (flows of the profile quic have set.congestion)",
                            "migration" => ", or profile = \"quic\"",
                            "resume" => " (flows of the profiles linux and quic have scheme = \"careful-resume\")",
                            _ => "",
                        }
                    ),
                ),
            };
        };
        if let Err(refused) = stack.check() {
            return problem(at("stack"), refused.to_string());
        }
        let not_ours = |part: &str, what: &str| {
            let name = stack.name();
            let why = format!("{what} of the simulator's own sender, but the flow has the stack \"{name}\"; expected a flow without it");
            problem(at(part), why)
        };
        if let Some(profile) = &flow.profile {
            return not_ours("profile", &format!("\"{profile}\" is a profile"));
        }
        if flow.scheme != PLAIN {
            return not_ours("scheme", &format!("\"{}\" is a scheme", flow.scheme));
        }
        let is_ours = |name: &&String| !is_workload_knob(name);
        if let Some(name) = flow.set.keys().find(is_ours) {
            return not_ours(&format!("set.{name}"), "this is a setting");
        }
        if flow.start_notice {
            return not_ours("start_notice", "a notice is for a policy");
        }
        let known = stack.congestion();
        let congestion = match &flow.cc {
            None => known.first().copied(),
            Some(name) => known.iter().copied().find(|one| one.name() == name),
        };
        let Some(congestion) = congestion else {
            let names: Vec<&str> = known.iter().map(|one| one.name()).collect();
            let why = format!(
                "\"{}\" is not a congestion control of the stack \"{}\"; expected {}",
                flow.cc.as_deref().unwrap_or_default(),
                stack.name(),
                names.join(", ")
            );
            return problem(at("cc"), why);
        };
        // An application opens a stream for each message.
        let is_app = flow.workload != BULK;
        let streams = flow.streams.unwrap_or(1);
        if !(1..=MOST_STREAMS).contains(&streams) {
            let why = format!("{streams} is out of range; expected 1 to {MOST_STREAMS}");
            return problem(at("streams"), why);
        }
        let idle = flow.idle.as_ref().map(|idle| idle.value);
        if idle.is_some_and(|idle| idle < Duration::from_millis(1)) {
            let why = "a connection that is over after less than 1 ms cannot begin; expected a longer time";
            return problem(at("idle"), why);
        }
        let of = Self {
            stack,
            congestion,
            tls: flow.tls.unwrap_or(stack.always_encrypts()),
            idle,
            streams: if is_app { 0 } else { streams },
            migrates: flow.migration.unwrap_or_default() == Migration::Active,
            multipath: flow.multipath.unwrap_or(false),
            resumes: flow.resume.unwrap_or(false),
            sends_up: flow.direction == Direction::Up,
            total: bytes_of(flow.size.value),
        };
        let anywhere = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
        if let Err(refused) = of.config([0; 32], anywhere).check() {
            let part = match refused {
                Refused::KeepsWindow(_) => "resume",
                Refused::OnePath(_) | Refused::Unaware => "multipath",
                _ => "tls",
            };
            return problem(at(part), refused.to_string());
        }
        Ok(Some(of))
    }

    /// Whether it uses notices.
    pub(super) fn resumes(&self) -> bool {
        self.resumes
    }

    /// The value shown instead of a scheme.
    pub(super) fn name(&self) -> String {
        format!("{}-{}", self.stack.name(), self.congestion.name())
    }

    /// The same with another size.
    pub(super) fn with_size(&self, size: Size) -> Self {
        Self {
            total: bytes_of(size),
            ..self.clone()
        }
    }

    /// One past its last packet.
    pub(super) fn end(&self) -> Option<Seq> {
        let total = self.total?;
        Some(1 + total.div_ceil(SEGMENT_BYTES.into()))
    }

    fn config(&self, seed: [u8; 32], client: SocketAddrV4) -> QuicConfig {
        QuicConfig {
            stack: self.stack,
            congestion: self.congestion,
            tls: self.tls,
            idle: self.idle,
            streams: self.streams,
            migrates: self.migrates,
            multipath: self.multipath,
            resumes: self.resumes,
            sender: if self.sends_up {
                End::Client
            } else {
                End::Server
            },
            total: self.total,
            seed,
            client,
            server: SocketAddrV4::new(SERVER, PORT),
            log: Log::default(),
        }
    }
}

/// The addresses of a client, in order.
struct Addresses {
    all: Vec<(SocketAddrV4, NodeId)>,
    /// For each handoff, the number of the new address, if it changes.
    then: Vec<Option<u16>>,
}

impl Plan {
    /// Whether a handoff may change the address of a flow over QUIC.
    pub(super) fn has_host_nodes(&self) -> bool {
        let is_moving = |flow: &Flow| flow.has_address() && flow.on.is_none();
        let rebinds = || self.moves.iter().any(|step| step.rebind == Rebind::Address);
        self.flows.iter().any(is_moving) && rebinds()
    }

    /// The address of a flow's client on a link. Packets to it take that link, independent of the node's moves.
    fn address_on(&self, number: usize, link: usize) -> (Ipv4Addr, NodeId) {
        let map = Map::of_links(self.access.len());
        let [high, low] = (number as u16 + 1).to_be_bytes();
        let ip = Ipv4Addr::new(10, 1 + link as u8, high, low);
        match self.flows[number].on {
            Some(_) => (ip, map.interface(link)),
            None if self.has_host_nodes() => (ip, map.host(link)),
            None => (ip, map.mobile()),
        }
    }

    /// An address that a handoff does not change does not belong to a link: packets to it take the node's route, as
    /// under Mobile IP.
    fn home_address(&self, number: usize, epoch: usize) -> (Ipv4Addr, NodeId) {
        let [high, low] = (number as u16 + 1).to_be_bytes();
        let ip = Ipv4Addr::new(172, 16 + (epoch % 16) as u8, high, low);
        (ip, Map::of_links(self.access.len()).mobile())
    }

    fn addresses(&self, number: usize) -> Addresses {
        let flow = &self.flows[number];
        let mut port = FIRST_PORT + (number % 10_000) as u16;
        if let Some(link) = flow.on {
            let (ip, node) = self.address_on(number, link);
            return Addresses {
                all: vec![(SocketAddrV4::new(ip, port), node)],
                then: vec![None; self.moves.len()],
            };
        }
        // Up to the next handoff that changes the whole address.
        let epoch = |epoch: usize, link: usize, later: &[super::plan::PlannedHandoff]| {
            let stays = later
                .iter()
                .take_while(|step| step.rebind != Rebind::Address);
            let outlives = stays.into_iter().any(|step| step.to != step.from);
            if outlives {
                self.home_address(number, epoch)
            } else {
                self.address_on(number, link)
            }
        };
        let (mut ip, mut node) = epoch(0, self.start, &self.moves);
        let mut all = vec![(SocketAddrV4::new(ip, port), node)];
        let mut then = Vec::with_capacity(self.moves.len());
        let mut epochs = 0;
        for (place, step) in self.moves.iter().enumerate() {
            match step.rebind {
                Rebind::None => {
                    then.push(None);
                    continue;
                }
                Rebind::Port => port = port.checked_add(1).unwrap_or(FIRST_PORT),
                Rebind::Address => {
                    epochs += 1;
                    (ip, node) = epoch(epochs, step.to, &self.moves[place + 1..]);
                }
            }
            let address = (SocketAddrV4::new(ip, port), node);
            let known = all.iter().position(|one| *one == address);
            then.push(Some(known.unwrap_or(all.len()) as u16));
            if known.is_none() {
                all.push(address);
            }
        }
        Addresses { all, then }
    }

    /// The parameters of a flow over QUIC in a run.
    pub(super) fn quic_setup(&self, number: usize, run: u64) -> Option<Arc<QuicSetup>> {
        let flow = &self.flows[number];
        let quic = flow.quic.as_ref()?;
        let addresses = self.addresses(number).all;
        // A client with several paths sends over the link of the source address.
        let map = Map::of_links(self.access.len());
        let links = (0..self.access.len()).filter(|_| quic.multipath && flow.on.is_none());
        let exit = |link| (self.address_on(number, link).0, map.up(link)[0]);
        let exits = links.map(exit).collect();
        let text = format!("midflight quic {} {run} {}", self.file.seed, flow.name);
        let seed = *blake3::hash(text.as_bytes()).as_bytes();
        let flow = quic.config(seed, addresses[0].0);
        Some(Arc::new(QuicSetup {
            flow,
            addresses,
            exits,
        }))
    }

    /// The addresses of the receiver's node of a flow with our own QUIC.
    pub(super) fn client(&self, number: usize) -> Option<Arc<Client>> {
        let flow = &self.flows[number];
        let migrates = flow.own_quic? == Migration::Active;
        let addresses = self.addresses(number).all;
        let moves = flow.on.is_none() && flow.direction == Direction::Down && addresses.len() > 1;
        moves.then(|| {
            Arc::new(Client {
                addresses,
                migrates,
            })
        })
    }

    /// The new addresses at handoffs: when each handoff is complete, and for which flow.
    pub(super) fn readdress(&self, timeline: &mut Timeline, place: usize) {
        let step = &self.moves[place];
        let has_both = step.gap.is_none() && step.rebind == Rebind::Address;
        for (number, flow) in self.moving().filter(|(_, flow)| flow.has_address()) {
            if let Some(address) = self.addresses(number).then[place] {
                let id = flow_id(number as u32);
                let is_multipath = flow.quic.as_ref().is_some_and(|quic| quic.multipath);
                let action = if has_both && is_multipath {
                    Action::SecondAddress(id, address)
                } else {
                    Action::Address(id, address)
                };
                timeline.act(step.make(), action);
            }
        }
    }
}
