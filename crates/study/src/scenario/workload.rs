//! Workloads: the application of a flow in a scenario, and the flows that carry it.

use std::sync::Arc;

use midflight_control::part::PartInfo;
use midflight_control::policy::ForeignPolicy;
use midflight_control::workload::{AnyWorkload, WORKLOADS};
use midflight_quic::QuicStack;
use midflight_sim::random;
use midflight_wire::payload_bytes;

use super::agents::knobs_of_ends;
use super::file::{Direction, FlowFile, Migration, ScenarioFile, Stack};
use super::plan::{problem, Flow, Plan, Problem};
use super::written::{Size, Value};
use crate::error::nearest;
use crate::scheme::{Built, Knobs, Scheme};
use crate::setup::{AppSetup, ConnectionSetup, Part};

/// The value for a flow that is one transfer without an application.
pub(super) const BULK: &str = "bulk";
/// The suffix of the name of a flow that carries the messages of the data's receiver.
const REQUESTS: &str = "requests";
/// The plain sender, used by a client for its requests.
const PLAIN: &str = "sack";
/// The setting of a packet's size.
pub(super) const SEGMENT_BYTES: &str = "segment_bytes";

/// An application of a scenario.
#[derive(Clone, Debug)]
pub(super) struct PlannedApp {
    /// Name of its flow.
    name: String,
    workload: AnyWorkload,
    /// The names of the flows of its connections, for the data and for the requests.
    connections: Vec<(String, Option<String>)>,
}

impl PlannedApp {
    pub(super) fn is_random(&self) -> bool {
        self.workload.is_random()
    }
}

/// The role of an application's flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AppRole {
    /// Name of the workload.
    pub(super) workload: &'static str,
    /// It carries the messages of the data's receiver.
    pub(super) is_back: bool,
    /// It is opened by the SYN of the other flow of its connection.
    pub(super) is_opened_by_peer: bool,
}

/// The workload of an entry of the file's flows, checked, with its knobs set.
pub(super) struct FlowApp {
    workload: AnyWorkload,
    /// The part for requests, which follows the flow's own part in the plan's list.
    pub(super) back: Option<Arc<Part>>,
}

/// Whether a setting is a knob of a workload.
pub(super) fn is_workload_knob(name: &str) -> bool {
    let mut knobs = WORKLOADS.iter().flat_map(|info| info.knobs);
    knobs.any(|knob| knob.name == name)
}

fn all_names() -> String {
    let names = WORKLOADS.iter().map(|info| info.name);
    let names: Vec<&str> = std::iter::once(BULK).chain(names).collect();
    names.join(", ")
}

impl FlowApp {
    /// The application in a flow's entry; None for a single transfer. `is_own_quic`: its sender is our own QUIC.
    pub(super) fn new(
        key: &str,
        file: &ScenarioFile,
        flow: &FlowFile,
        is_own_quic: bool,
    ) -> Result<Option<Self>, Problem> {
        let at = |part: &str| format!("{key}.{part}");
        let found = AnyWorkload::named(&flow.workload);
        if found.is_none() && flow.workload != BULK {
            let names = WORKLOADS.iter().map(|info| info.name);
            let near = nearest(&flow.workload, names.chain([BULK]));
            let near = near.map_or(String::new(), |n| format!(" (did you mean \"{n}\"?)"));
            let why = format!(
                "there is no workload \"{}\"{near}; there are {}",
                flow.workload,
                all_names()
            );
            return problem(at("workload"), why);
        }
        let of = |info: &PartInfo, knob: &str| info.knobs.iter().any(|k| k.name == knob);
        // A knob of a workload that the flow does not have would have no effect.
        let foreign = flow.set.keys().find_map(|knob| {
            let owner = WORKLOADS.iter().find(|info| of(info, knob))?;
            (owner.name != flow.workload).then_some((knob, owner.name))
        });
        if let Some((knob, owner)) = foreign {
            let why = format!("this is a knob of the workload \"{owner}\", and this flow's workload is \"{}\"; expected workload = \"{owner}\", or the flow without it", flow.workload);
            return problem(at(&format!("set.{knob}")), why);
        }
        let Some(mut workload) = found else {
            return Ok(None);
        };
        for (knob, value) in knobs_of_ends(file, flow) {
            if of(&workload.info(), &knob) {
                if let Err(refused) = workload.set_knob(&knob, &value) {
                    let place = if flow.set.contains_key(&knob) {
                        at(&format!("set.{knob}"))
                    } else {
                        format!("set.{knob}")
                    };
                    return problem(place, refused.to_string());
                }
            }
        }
        let has_requests = workload.request_bytes().is_some();
        let name = workload.info().name;
        if flow.size.value != Size::Unlimited {
            let why = format!("the workload \"{name}\" says what is sent and when; expected the flow without a size, or workload = \"{BULK}\"");
            return problem(at("size"), why);
        }
        if flow.stack == Stack::Linux {
            let why = format!("programs of the lab send in bulk, and this flow's workload is \"{name}\"; expected workload = \"{BULK}\", or stack = \"midflight\", {}", QuicStack::names());
            return problem(at("workload"), why);
        }
        if has_requests && flow.direction == Direction::Up {
            let why = format!("the client of the workload \"{name}\" is the mobile node, to which the data go; expected direction = \"down\"");
            return problem(at("direction"), why);
        }
        if flow.streams.is_some() {
            let why = format!("the workload \"{name}\" has a stream for each of its messages; expected the flow without streams");
            return problem(at("streams"), why);
        }
        if has_requests && is_own_quic && flow.migration == Some(Migration::Passive) {
            let why = format!("a request of the workload \"{name}\" does not tell our own QUIC sender of another address; expected migration = \"active\", or stack = {}", QuicStack::names());
            return problem(at("migration"), why);
        }
        let back = match workload.request_bytes() {
            Some(bytes) if flow.stack == Stack::Midflight => {
                Some(Arc::new(Part::new(requests(key, file, flow, bytes)?)))
            }
            _ => None,
        };
        Ok(Some(Self { workload, back }))
    }

    /// The parts of a flow. If small messages count, its packets have their size, unless the scenario sets another.
    pub(super) fn fit(
        &self,
        key: &str,
        file: &ScenarioFile,
        flow: &FlowFile,
        built: Built,
        policies: &[Arc<dyn ForeignPolicy>],
    ) -> Result<Built, Problem> {
        let is_set = knobs_of_ends(file, flow)
            .iter()
            .any(|(k, _)| k == SEGMENT_BYTES);
        let frame = self.workload.frame_bytes().filter(|_| !is_set);
        let Some(packet) = frame.and_then(|frame| packet_for(&built, frame)) else {
            return Ok(built);
        };
        let mut fitted = flow.clone();
        let size = Value(packet.to_string());
        fitted.set.insert(SEGMENT_BYTES.into(), size);
        Plan::built(file, key, &fitted, policies)
    }

    /// The flows of one application, where `flow` is the template of the data's flow, and the application.
    pub(super) fn flows(&self, flow: &Flow) -> (Vec<Flow>, PlannedApp) {
        let info = self.workload.info();
        let base = flow.name.clone();
        let back_part = self.back.as_ref().map(|_| flow.part + 1);
        let (mut flows, mut connections) = (Vec::new(), Vec::new());
        let count = self.workload.connections();
        for number in 0..count {
            let name = match count {
                1 => base.clone(),
                _ => format!("{base}-c{number}"),
            };
            let role = AppRole {
                workload: info.name,
                is_back: false,
                is_opened_by_peer: back_part.is_some(),
            };
            flows.push(Flow {
                name: name.clone(),
                end: None,
                app: Some(role),
                ..flow.clone()
            });
            let back = back_part.map(|part| {
                let back = format!("{name}-{REQUESTS}");
                flows.push(Flow {
                    name: back.clone(),
                    scheme: Arc::from(PLAIN),
                    part,
                    direction: match flow.direction {
                        Direction::Down => Direction::Up,
                        Direction::Up => Direction::Down,
                    },
                    end: None,
                    start_notice: false,
                    app: Some(AppRole {
                        is_back: true,
                        is_opened_by_peer: false,
                        ..role
                    }),
                    ..flow.clone()
                });
                back
            });
            connections.push((name, back));
        }
        let app = PlannedApp {
            name: base,
            workload: self.workload.clone(),
            connections,
        };
        (flows, app)
    }
}

/// The largest packet of a message of this many bytes, divided into equal ones; none if full-sized packets are as good.
fn packet_for(built: &Built, bytes: u64) -> Option<u32> {
    let full = payload_bytes(&built.profile)?;
    let headers = built.profile.sender.segment_bytes - full;
    let packets = bytes.div_ceil(full.into()).max(1);
    let payload = bytes.div_ceil(packets) as u32;
    (payload < full).then_some(payload + headers)
}

/// The sender and receiver of requests: the plain sender with the flow's profile and settings, and packets of a
/// request's size.
fn requests(key: &str, file: &ScenarioFile, flow: &FlowFile, bytes: u64) -> Result<Built, Problem> {
    let profile = flow.profile.as_ref().unwrap_or(&file.profile);
    let mut knobs = knobs_of_ends(file, flow);
    let of = |knobs: &Knobs| {
        let scheme = Scheme::named(PLAIN).and_then(|scheme| scheme.build(profile, knobs));
        scheme.or_else(|e| problem(format!("{key}.workload"), format!("its requests: {e}")))
    };
    let built = of(&knobs)?;
    let Some(packet) = packet_for(&built, bytes) else {
        return Ok(built);
    };
    knobs.retain(|(name, _)| name != SEGMENT_BYTES);
    knobs.push((SEGMENT_BYTES.into(), packet.to_string()));
    of(&knobs)
}

impl Plan {
    /// The applications of a run.
    pub(super) fn app_setups(&self, run: u64) -> Arc<[AppSetup]> {
        let number = |name: &str| {
            let place = self.flows.iter().position(|flow| flow.name == name);
            place.unwrap_or_default() as u32
        };
        let app = |app: &PlannedApp| {
            let mut workload = app.workload.clone();
            let of = format!("flow {}", app.name);
            let mut stream = random::stream(self.file.seed, run, &of, "workload");
            workload.draw(&mut || stream.next_f64());
            let connection = |(data, back): &(String, Option<String>)| ConnectionSetup {
                data: number(data),
                back: back.as_deref().map(number),
            };
            AppSetup {
                workload,
                connections: app.connections.iter().map(connection).collect(),
            }
        };
        self.apps.iter().map(app).collect()
    }
}
