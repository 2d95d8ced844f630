//! A scenario, checked and with all defaults.

mod events;
mod idle;

use std::collections::BTreeSet;
use std::sync::Arc;

use midflight_control::policy::{ForeignPolicy, Policy};
use midflight_control::signal::AnyHandoffSignal;
use midflight_quic::QuicStack;
use midflight_sim::random;
use midflight_tcp::RecoveryKind;
use midflight_units::{Duration, Instant, Rate, Seq};

use super::access::{check_cross_traffic, traced, ways};
use super::agents::{agents, equip, knobs_of_ends, PlannedAgent};
use super::compile::what_may_happen;
use super::file::{
    Direction, FlowFile, Migration, NoticeSource, Rebind, ScenarioFile, Stack, Stop,
};
use super::many::MOST_ROWS;
use super::queue::Queue;
use super::quic::{check_own_settings, QuicFlow};
use super::size::FlowSize;
use super::trace::{Files, Traced};
use super::workload::{AppRole, FlowApp, PlannedApp};
use super::written::Stagger;
use crate::error::{nearest, StudyError};
use crate::foreign::{add_policies, known_part};
use crate::network::cell::{link_names, Access, PossibleActions};
use crate::scheme::{Built, Scheme};
use crate::setup::{FlowInfo, FlowSetup, Part, PathChange, PhaseStart};
use crate::MODEL_VERSION;

/// Maximum number of access links.
const MOST_LINKS: usize = 64;
/// Maximum number of flows.
const MOST_FLOWS: usize = 10_000;
/// Maximum number of timed packets, and of runs, which the result rows limit further.
const MOST_RUNS: u64 = 1_000_000_000;
/// Maximum number of handoffs, and of changes.
const MOST_EVENTS: usize = 100_000;
/// Congestion controls that the lab's kernel is built with (`lab/kernel/lab.config`), the default first.
const KERNEL_CONGESTION: [&str; 7] = [
    "cubic", "reno", "bbr", "westwood", "vegas", "hybla", "dctcp",
];
/// The plain scheme, the default of a flow.
pub(super) const PLAIN: &str = "sack";

/// Flows, their parts, and the applications that they carry.
type Flows = (Vec<Flow>, Vec<Arc<Part>>, Vec<PlannedApp>);

/// An error in a scenario, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path to the value, such as `links.lte.rate`.
    pub key: String,
    /// A sentence that names what was read and what is accepted.
    pub why: String,
}

pub(super) fn problem<T>(key: impl Into<String>, why: impl Into<String>) -> Result<T, Problem> {
    Err(Problem {
        key: key.into(),
        why: why.into(),
    })
}

/// One flow.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) name: String,
    /// Its index among the flows of the file.
    pub(super) entry: usize,
    /// The name of that entry.
    pub(super) entry_name: Arc<str>,
    pub(super) scheme: Arc<str>,
    /// Its parts, as an index in the plan's list.
    pub(super) part: usize,
    pub(super) direction: Direction,
    /// The access link of another node, which does not move; none for a flow of the mobile node.
    pub(super) on: Option<usize>,
    pub(super) opens: Instant,
    /// One past the last segment; none if it is unlimited.
    pub(super) end: Option<Seq>,
    pub(super) start_notice: bool,
    pub(super) stack: Stack,
    /// Its QUIC parameters if it runs a QUIC stack.
    pub(super) quic: Option<QuicFlow>,
    /// How the sender detects another address, if the flow uses our own QUIC.
    pub(super) own_quic: Option<Migration>,
    /// Its role, if it belongs to an application.
    pub(super) app: Option<AppRole>,
}

/// The notice of a handoff or of a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NoticeSettings {
    pub(super) source: NoticeSource,
    pub(super) delay: Duration,
    pub(super) lost: f64,
    pub(super) rate: Option<Rate>,
    pub(super) says_delay: Option<Duration>,
}

/// The mobile node moves from one link to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PlannedHandoff {
    pub(super) at: Instant,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) gap: Option<Duration>,
    pub(super) rebind: Rebind,
    /// Packets for the node at its old station are forwarded to the next one.
    pub(super) forward: bool,
    pub(super) notice: Option<NoticeSettings>,
    /// Probability that the node does not predict it, and that its signal is lost.
    pub(super) missed: f64,
    pub(super) signal_lost: f64,
}

impl PlannedHandoff {
    /// When the new link is in use.
    pub(super) fn make(&self) -> Instant {
        self.at + self.gap.unwrap_or(Duration::ZERO)
    }
}

/// A change of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Change {
    pub(super) at: Instant,
    pub(super) link: usize,
    pub(super) pause: Duration,
    /// The link's setting after it.
    pub(super) setting: usize,
    pub(super) notice: Option<NoticeSettings>,
}

/// A scenario that can be run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) file: ScenarioFile,
    pub(super) wired_limit: u32,
    pub(super) access: Vec<Access>,
    pub(super) start: usize,
    pub(super) flows: Vec<Flow>,
    /// Senders and receivers, one for each entry of the file's flows, and for the requests of its application.
    pub(super) parts: Vec<Arc<Part>>,
    pub(super) apps: Vec<PlannedApp>,
    /// The flows that are the same in every run.
    pub(super) flow_setups: Arc<[FlowSetup]>,
    /// The path changes of every run.
    pub(super) all_path_changes: Arc<[PathChange]>,
    pub(super) moves: Vec<PlannedHandoff>,
    pub(super) changes: Vec<Change>,
    pub(super) may_happen: Vec<PossibleActions>,
    pub(super) agents: Vec<PlannedAgent>,
    remarks: Vec<String>,
}

/// Finds a name among others.
pub(super) fn find<'a>(
    key: &str,
    name: &str,
    what: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Result<usize, Problem> {
    if let Some(place) = known.clone().position(|k| k == name) {
        return Ok(place);
    }
    let near = nearest(name, known.clone()).map(|n| format!("\"{n}\""));
    let known: Vec<&str> = known.collect();
    // "5G" is the beginning of several names.
    let longer = format!("{}-", name.to_lowercase());
    let longer = known.iter().filter(|one| one.starts_with(&longer));
    let longer: Vec<String> = longer.map(|one| format!("\"{one}\"")).collect();
    let near = match &longer[..] {
        [first @ .., last] if !first.is_empty() => Some(format!("{} or {last}", first.join(", "))),
        _ => near,
    };
    let near = near.map(|near| format!(" (did you mean {near}?)"));
    let near = near.unwrap_or_default();
    let known = known.join(", ");
    problem(
        key,
        format!("there is no {what} \"{name}\"{near}; expected {known}"),
    )
}

/// Names become parts of paths, of file names and of columns.
fn check_names(file: &ScenarioFile) -> Result<(), Problem> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let links = file.links.keys().map(|name| ("links", name));
    let flows = file.flows.keys().map(|name| ("flows", name));
    for (key, name) in links.chain(flows) {
        if name.is_empty() || name.len() > 60 || !name.chars().all(fits) {
            let why = format!(
                "\"{}\" is not a name; expected 1 to 60 letters, digits, - and _",
                name.escape_debug()
            );
            return problem(key, why);
        }
    }
    if let Some(name) = ["sender", "receiver"]
        .iter()
        .find(|n| file.links.contains_key(**n))
    {
        let why = format!("a link cannot be named \"{name}\", because captures have a place with that name; expected another name");
        return problem("links", why);
    }
    let mut made: Vec<String> = link_names(file.links.keys().map(String::as_str));
    made.sort_unstable();
    if let Some([twice, ..]) = made.windows(2).find(|pair| pair[0] == pair[1]) {
        let why =
            format!("two links would both be named \"{twice}\" in traces; expected other names");
        return problem("links", why);
    }
    Ok(())
}

/// Either all flows use the kernel's stack, or none. If they do, their schemes are its congestion controls.
fn check_stacks(file: &mut ScenarioFile) -> Result<(), Problem> {
    let is_kernel = |flow: &FlowFile| flow.stack == Stack::Linux;
    let stacks = || file.flows.iter();
    let of_kernel = stacks().find(|(_, flow)| is_kernel(flow));
    let other = stacks().find(|(_, flow)| !is_kernel(flow));
    if let (Some((one, kernel)), Some((other, _))) = (of_kernel, other) {
        let stack = kernel.stack.name();
        let why = format!("flow \"{one}\" has the stack \"{stack}\" and flow \"{other}\" does not; expected that stack for all flows of a scenario, or for none");
        return problem(format!("flows.{other}.stack"), why);
    }
    let of_kernel = file
        .flows
        .iter_mut()
        .filter(|(_, f)| f.stack == Stack::Linux);
    for (name, flow) in of_kernel {
        if flow.scheme == PLAIN {
            flow.scheme = KERNEL_CONGESTION[0].into();
        }
        if !KERNEL_CONGESTION.contains(&flow.scheme.as_str()) {
            let why = format!(
                "\"{}\" is not a congestion control of the kernel, whose sender a flow with the stack \"linux\" has; expected {}",
                flow.scheme,
                KERNEL_CONGESTION.join(", ")
            );
            return problem(format!("flows.{name}.scheme"), why);
        }
    }
    Ok(())
}

/// A remark on wired links that lengthen measured round trips, which have a wired path already.
fn wired_remark(key: &str, traced: &Traced, wired: Duration) -> Option<String> {
    // Two links in each direction.
    let adds = Duration::from_nanos(4 * wired.as_nanos());
    (traced.has_round_trips && adds > Duration::ZERO).then(|| {
        format!(
            "{key}.trace: the wired links of the scenario add {} ms to each measured round trip; wired.delay = \"0 ms\" adds nothing",
            adds.as_nanos() as f64 / 1e6
        )
    })
}

/// What is to be said of a trace that is shorter than its run, or of a file that is longer than a run whose end does
/// not go with it. A step of the recording more or less is not said.
fn length_remark(key: &str, traced: &Traced, end: Duration, has_own_end: bool) -> Option<String> {
    let ends = traced.ends?;
    let [lasts, run] = [ends, end].map(Duration::as_secs_f64);
    if ends < end && end.saturating_sub(ends) > traced.step {
        return Some(format!(
            "{key}.trace: the trace ends at {lasts} s and its last values stay; the run may last until {run} s"
        ));
    }
    let is_recorded = traced.files[0].is_some();
    let is_longer = ends.saturating_sub(end) > traced.step;
    (is_recorded && is_longer && !has_own_end).then(|| {
        format!(
            "{key}.trace: the recording lasts {lasts} s, and the run at most {run} s; end = \"{lasts} s\" allows for all of it"
        )
    })
}

impl Plan {
    /// Checks a scenario and fills in defaults; `has_own_end`: its end was written for these traces.
    ///
    /// # Errors
    /// The first [`Problem`].
    pub fn new(
        mut file: ScenarioFile,
        policies: &[Arc<dyn ForeignPolicy>],
        files: &dyn Files,
        has_own_end: bool,
    ) -> Result<Self, Problem> {
        let end = file.end.value;
        if end == Duration::ZERO {
            return problem(
                "end",
                "a run of \"0 s\" is over before it begins; expected a longer time",
            );
        }
        for (key, value) in [("runs", file.runs), ("packets", file.packets)] {
            if value == 0 || value > MOST_RUNS {
                let why = format!("{value} is out of range; expected 1 to {MOST_RUNS}");
                return problem(key, why);
            }
        }
        if file.links.is_empty() || file.links.len() > MOST_LINKS {
            let why = format!(
                "{} access links were given; expected 1 to {MOST_LINKS}",
                file.links.len()
            );
            return problem("links", why);
        }
        check_names(&file)?;
        let wired = &file.wired;
        if matches!(wired.queue.value, Queue::Managed(_)) {
            return problem(
                "wired.queue",
                "the wired links are drop-tail; expected a size such as \"1000 packets\", or a discipline at an access link",
            );
        }
        let wired_limit = wired
            .queue
            .value
            .packets(wired.rate.value, wired.delay.value);
        let mut access = Vec::new();
        let mut trace_remarks = Vec::new();
        for (name, link) in &mut file.links {
            let key = format!("links.{name}");
            let traced = traced(&key, link, files)?;
            let settings = vec![ways(&key, link, traced.as_ref())?];
            if let Some(traced) = traced {
                let remark = |said: &String| format!("{key}.trace: {said}");
                trace_remarks.extend(traced.remarks.iter().map(remark));
                trace_remarks.extend(wired_remark(&key, &traced, wired.delay.value));
                trace_remarks.extend(length_remark(&key, &traced, end, has_own_end));
            }
            let name = name.clone();
            access.push(Access { name, settings });
        }
        let start = match &file.start {
            Some(name) => find("start", name, "link", file.links.keys().map(String::as_str))?,
            None => 0,
        };
        check_stacks(&mut file)?;
        let mut agents = agents(&file)?;
        let (flows, parts, apps) = Self::flows(&file, policies)?;
        equip(&mut agents, &file, &flows, &parts)?;
        let moves = Self::moves(&file, start)?;
        let (changes, mut remarks) = Self::changes(&file, &mut access, &moves)?;
        remarks.extend(trace_remarks);
        check_cross_traffic(&access, end)?;
        let mut plan = Self {
            wired_limit,
            may_happen: what_may_happen(access.len(), &moves, &changes),
            access,
            start,
            flows,
            parts,
            apps,
            flow_setups: Arc::default(),
            all_path_changes: Arc::default(),
            moves,
            changes,
            agents,
            remarks,
            file,
        };
        plan.check_agents()?;
        plan.check_advice()?;
        plan.flow_setups = plan.flow_setups(0);
        plan.all_path_changes = plan.path_changes().into();
        plan.remarks.extend(plan.idle_schemes());
        plan.check_rows()?;
        if plan.file.stop == Stop::Measured && plan.makes() == 0 {
            return problem(
                "stop",
                "\"measured\" waits for what comes after the last handoff, or change of the mobile node's link, and there is none; expected \"done\", or a handoff",
            );
        }
        Ok(plan)
    }

    /// Refuses agents together with routers that respond to rate requests: a node can only do one of both.
    fn check_agents(&self) -> Result<(), Problem> {
        let requests_rate = |flow: &Flow| {
            let mut policies = self.parts[flow.part].built.policies.iter();
            policies.any(|policy| policy.routers().is_some())
        };
        let requesting = self.flows.iter().find(|flow| requests_rate(flow));
        match (self.agents.first(), requesting) {
            (Some(one), Some(flow)) => {
                let why = format!("flow \"{}\" requests a rate from routers, which nodes with the agent \"{}\" do not answer; expected another scheme, or no agent", flow.name, one.agent.info().name);
                problem("agent", why)
            }
            _ => Ok(()),
        }
    }

    /// Refuses more result rows than fit in memory, for one run or for all.
    fn check_rows(&self) -> Result<(), Problem> {
        let (runs, rows, rows_of_run) = (self.file.runs, self.most_rows(), self.rows_of_run());
        if rows_of_run > MOST_ROWS {
            let (flows, phases) = (self.flows.len() as u64, self.phases_of_run());
            let why = format!(
                "{flows} flows and {} handoffs and changes give {rows_of_run} rows of results in one run, for each flow one and one for each of its {phases} phases; at most {MOST_ROWS} rows are accepted: with these handoffs and changes at most {} flows, with these flows at most {} handoffs and changes",
                phases - 1,
                MOST_ROWS / (1 + phases),
                MOST_ROWS / flows - 2,
            );
            return problem("flows", why);
        }
        if rows > MOST_ROWS {
            let why = format!("{runs} runs give {rows} rows of results, for each run one for each flow and one for each of its phases; at most {MOST_ROWS} rows are accepted, here {} runs", MOST_ROWS / rows_of_run);
            return problem("runs", why);
        }
        Ok(())
    }

    /// Whether runs may differ from each other.
    pub fn has_chance(&self) -> bool {
        let is_lost =
            |settings: &Option<NoticeSettings>| settings.is_some_and(|one| one.lost > 0.0);
        let foreign = |policy: &Policy| matches!(policy, Policy::Foreign(_));
        self.access.iter().any(Access::has_chance)
            || self
                .moves
                .iter()
                .any(|m| m.missed > 0.0 || m.signal_lost > 0.0 || is_lost(&m.notice))
            || self.changes.iter().any(|change| is_lost(&change.notice))
            || self.apps.iter().any(PlannedApp::is_random)
            // A QUIC stack draws packet numbers and other values.
            || self.flows.iter().any(|flow| flow.quic.is_some())
            // It is unknown what foreign code draws.
            || self.parts.iter().any(|part| part.built.policies.iter().any(foreign))
    }

    fn flows(file: &ScenarioFile, policies: &[Arc<dyn ForeignPolicy>]) -> Result<Flows, Problem> {
        let total: u64 = file.flows.values().map(|f| u64::from(f.count)).sum();
        if total == 0 || total > MOST_FLOWS as u64 {
            let why = format!("{total} flows were given; expected 1 to {MOST_FLOWS}");
            return problem("flows", why);
        }
        let (mut flows, mut parts): (Vec<Flow>, Vec<Arc<Part>>) = (Vec::new(), Vec::new());
        let mut apps = Vec::new();
        for (entry, (name, flow)) in file.flows.iter().enumerate() {
            let key = format!("flows.{name}");
            let mut built = Self::built(file, &key, flow, policies)?;
            let on = match &flow.on {
                None => None,
                Some(link) => {
                    let known = file.links.keys().map(String::as_str);
                    Some(find(&format!("{key}.on"), link, "link", known)?)
                }
            };
            let is_own = built.profile.sender.recovery == RecoveryKind::Quic
                && flow.stack == Stack::Midflight;
            let app = FlowApp::new(&key, file, flow, is_own)?;
            if let Some(app) = &app {
                built = app.fit(&key, file, flow, built, policies)?;
            }
            let quic = QuicFlow::new(&key, flow, is_own)?;
            let own_quic = is_own.then(|| flow.migration.unwrap_or_default());
            let size = FlowSize::new(&key, flow, &built.profile)?;
            let scheme: Arc<str> = match &quic {
                Some(quic) => Arc::from(quic.name()),
                // The plain scheme is a TCP scheme.
                None if is_own && flow.scheme == PLAIN => {
                    let controller = built.profile.parts.congestion.info().name;
                    Arc::from(format!("quic-{controller}"))
                }
                None => Arc::from(flow.scheme.as_str()),
            };
            let entry_name: Arc<str> = Arc::from(name.as_str());
            let mut arrivals = random::stream(file.seed, 0, name, "arrivals");
            let mut sizes = random::stream(file.seed, 0, name, "sizes");
            let mut next = Instant::ZERO + flow.start.value;
            for number in 0..flow.count {
                let opens = next;
                next += match flow.stagger.value {
                    Stagger::Even(time) => time,
                    Stagger::Poisson(mean) => {
                        let share = -libm::log(1.0 - arrivals.next_f64());
                        Duration::from_nanos((share * mean.as_nanos() as f64) as u64)
                    }
                };
                if opens >= Instant::ZERO + file.end.value {
                    let why = format!("the flow would open at {opens}, but the run ends at {}; expected an earlier start, or a later end", file.end);
                    return problem(format!("{key}.start"), why);
                }
                let (end, quic) = size.next(quic.as_ref(), || sizes.next_f64());
                let one = Flow {
                    name: match flow.count {
                        1 => name.clone(),
                        _ => format!("{name}-{number}"),
                    },
                    entry,
                    entry_name: Arc::clone(&entry_name),
                    scheme: Arc::clone(&scheme),
                    part: parts.len(),
                    direction: flow.direction,
                    on,
                    opens,
                    end,
                    start_notice: flow.start_notice,
                    stack: flow.stack,
                    quic,
                    own_quic,
                    app: None,
                };
                match &app {
                    None => flows.push(one),
                    Some(app) => {
                        let (its, app) = app.flows(&one);
                        flows.extend(its);
                        apps.push(app);
                    }
                }
            }
            parts.push(Arc::new(Part::new(built)));
            parts.extend(app.and_then(|app| app.back));
        }
        if flows.len() > MOST_FLOWS {
            let why = format!("{} flows are needed for the connections of the applications; at most {MOST_FLOWS} are accepted", flows.len());
            return problem("flows", why);
        }
        check_own_settings(file, &flows)?;
        // In the simulator's numbering.
        flows.sort_by_key(|flow| flow.quic.is_some());
        let mut names: Vec<&str> = flows.iter().map(|f| f.name.as_str()).collect();
        names.sort_unstable();
        if let Some([twice, ..]) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            let why = format!("two flows are named \"{twice}\", because the flows of a count are numbered after their name; expected another name");
            return problem("flows", why);
        }
        Ok((flows, parts, apps))
    }

    pub(super) fn built(
        file: &ScenarioFile,
        key: &str,
        flow: &FlowFile,
        policies: &[Arc<dyn ForeignPolicy>],
    ) -> Result<Built, Problem> {
        let knobs = knobs_of_ends(file, flow);
        let at = |part: &str| format!("{key}.{part}");
        // Senders of other stacks do not use our parts.
        let named = match flow.stack {
            Stack::Midflight => flow.scheme.as_str(),
            Stack::Linux | Stack::Quinn | Stack::Noq | Stack::Aioquic => PLAIN,
        };
        let scheme = match known_part(named, policies) {
            Ok(scheme) => scheme,
            Err(_) if Stack::OTHER.iter().any(|stack| stack.name() == named) => {
                let why = format!(
                    "\"{named}\" is a stack, not a scheme; expected {key}.stack = \"{named}\""
                );
                return problem(at("scheme"), why);
            }
            Err(e) => return problem(at("scheme"), e.to_string()),
        };
        let profile = flow.profile.as_ref().unwrap_or(&file.profile);
        // To find out which of profile, settings and scheme is not accepted, the others are left out.
        let plain = Scheme::named(PLAIN);
        let mut built = match scheme.build(profile, &knobs) {
            Ok(built) => built,
            Err(e) => {
                let builds = |knobs: &[(String, String)]| {
                    plain
                        .as_ref()
                        .is_ok_and(|s| s.build(profile, knobs).is_ok())
                };
                let culprit = |k: &&(String, String)| !builds(std::slice::from_ref(k));
                let place = if !builds(&[]) {
                    match &flow.profile {
                        Some(_) => at("profile"),
                        None => "profile".into(),
                    }
                } else if let Some((name, _)) = knobs.iter().find(culprit) {
                    if flow.set.contains_key(name) {
                        at(&format!("set.{name}"))
                    } else {
                        format!("set.{name}")
                    }
                } else {
                    at("scheme")
                };
                return problem(place, e.to_string());
            }
        };
        let signals = !matches!(built.profile.receiver.signal, AnyHandoffSignal::Silent(_));
        if signals && flow.direction == Direction::Up {
            let why = format!("\"{}\" has a signal that a mobile node sends as a receiver, but this flow goes up; expected a scheme without one, or direction = \"down\"", flow.scheme);
            return problem(at("scheme"), why);
        }
        add_policies(&mut built, named, policies);
        Ok(built)
    }

    /// Refuses the number of a run that the scenario does not have.
    pub(super) fn check_run(&self, run: u64) -> Result<(), StudyError> {
        let runs = self.file.runs;
        if run < runs {
            return Ok(());
        }
        Err(StudyError::NoRun { run, runs })
    }

    /// The scenario with every default.
    pub fn file(&self) -> &ScenarioFile {
        &self.file
    }

    /// The same as JSON, which [`super::read_scenario`] accepts.
    ///
    /// # Errors
    /// None for a scenario.
    pub fn canonical(&self) -> Result<String, StudyError> {
        serde_json::to_string(&self.file).map_err(|e| StudyError::Scenario {
            place: String::new(),
            key: "canonical form".into(),
            value: None,
            why: e.to_string(),
        })
    }

    /// The key of its stored results: a hash of the canonical form and of the model's version, in hexadecimal
    /// digits. It does not cover title, description and the axes of a sweep.
    ///
    /// # Errors
    /// As [`Self::canonical`].
    pub fn address(&self) -> Result<String, StudyError> {
        let mut bare = self.clone();
        bare.file.title = None;
        bare.file.description = None;
        bare.file.sweep = None;
        // The values of a preset may change with the program.
        let links = format!("{:?}", self.access);
        let mut text = format!("midflight {MODEL_VERSION} {} {links}", bare.canonical()?);
        // Their code is not part of the model.
        let stacks = self.flows.iter().filter_map(|flow| flow.stack.quic());
        for version in stacks.map(QuicStack::version).collect::<BTreeSet<_>>() {
            text.push_str(version);
        }
        Ok(blake3::hash(text.as_bytes()).to_hex().to_string())
    }

    /// The stack of its flows.
    pub fn stack(&self) -> Stack {
        self.flows.first().map_or_else(Stack::default, |f| f.stack)
    }

    /// Its flows, in the order of their numbers.
    pub fn flow_infos(&self) -> impl Iterator<Item = FlowInfo<'_>> {
        self.flow_setups.iter().map(FlowSetup::info)
    }

    /// Warnings about accepted input that may not be intended, one sentence each.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// The handoffs, and the changes of the link that the mobile node is on, in the order of their start.
    pub fn path_changes(&self) -> Vec<PathChange> {
        let name = |link: usize| self.access[link].name.clone();
        let wrong = |t: NoticeSettings| t.rate.is_some() || t.says_delay.is_some();
        let path_change =
            |at: Instant, make: Instant, (from, to), notice: Option<NoticeSettings>| PathChange {
                is_change: false,
                links: (name(from).into(), name(to).into()),
                at,
                make,
                breaks: false,
                notified: notice.map(|t| make + t.delay),
                misstated: notice.is_some_and(wrong),
            };
        let moves = self.moves.iter().map(|m| PathChange {
            breaks: m.gap.is_some(),
            ..path_change(m.at, m.make(), (m.from, m.to), m.notice)
        });
        let on = |c: &&Change| self.mobile_is_on(c.at) == c.link;
        let changes = self.changes.iter().filter(on).map(|c| PathChange {
            is_change: true,
            breaks: c.pause > Duration::ZERO,
            ..path_change(c.at, c.at + c.pause, (c.link, c.link), c.notice)
        });
        let mut all: Vec<_> = moves.chain(changes).collect();
        all.sort_by_key(|one| one.at);
        all
    }

    /// The latest end of the run.
    pub(super) fn end(&self) -> Instant {
        Instant::ZERO + self.file.end.value
    }

    /// Instants at which a new measurement begins: the starts of handoffs and of changes of the mobile node's
    /// link.
    pub(super) fn marks(&self) -> Vec<(Instant, PhaseStart)> {
        let on = |c: &&Change| self.mobile_is_on(c.at) == c.link;
        let changes = self.changes.iter().filter(on);
        let moves = self.moves.iter().map(|m| (m.at, PhaseStart::Handoff));
        let mut marks: Vec<(Instant, PhaseStart)> = moves
            .chain(changes.map(|c| (c.at, PhaseStart::Change)))
            .collect();
        // Of two at the same instant the first, the handoff, counts for both.
        marks.sort_by_key(|mark| mark.0);
        marks.dedup_by_key(|mark| mark.0);
        marks
    }

    /// How many times the mobile node gets a new link, or its link changes.
    pub(super) fn makes(&self) -> usize {
        let on = |c: &&Change| self.mobile_is_on(c.at) == c.link;
        self.moves.len() + self.changes.iter().filter(on).count()
    }

    /// Whether a notice or signal of a handoff or change, "handoff 3", reaches a flow in a run.
    pub(super) fn is_delivered(
        &self,
        lost: f64,
        (run, of): (u64, &str),
        what: &str,
        flow: usize,
    ) -> bool {
        let purpose = format!("{what} {flow}");
        lost == 0.0 || random::stream(self.file.seed, run, of, &purpose).next_f64() >= lost
    }
}
