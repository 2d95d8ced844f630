//! `Plan` and what runs it: scenarios of a user's own.

use midflight_control::workload::all_measures;
use midflight_study::recording::Recording;
use midflight_study::scenario::{run_some, scenario_schema, Origin, ScenarioRun, PRESETS};
use midflight_study::{Delivery, Execution, FlowOutcome, FlowRow, PhaseOutcome};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::described::{direction_name, flow_entries, path_changes};
use crate::errors::refuse_sentence;
use crate::files::Disk;
use crate::foreign;
use crate::interrupt::with_progress;
use crate::policy::{policies_of, Failures};
use crate::recording::as_dict;
use crate::setup::Setup;
use crate::table::{Table, TableBuilder};
use crate::{nanos, refuse};

/// A scenario that can be run: read, checked, and with all defaults.
///
/// `text` is TOML; errors name `name` and the line. With `name` None it is JSON. `sets` are values
/// by their paths, such as ("links.lte.rate", "5 Mbit/s"), which override those of the text. Paths
/// of traces are relative to the folder of `name`, for JSON to the working directory. `policies`
/// are your own policies by their names in schemes. Raises `MidflightError` for what is not
/// accepted, here and where a policy fails.
#[pyclass(frozen, module = "midflight")]
pub(crate) struct Plan {
    plan: midflight_study::scenario::Plan,
    failures: Failures,
}

/// The parsed text of a scenario in JSON. Plans of it differ in the values that are set: a sweep
/// parses its scenario once, not once for each cell.
#[pyclass(frozen, module = "midflight")]
pub(crate) struct Document {
    document: midflight_study::scenario::Document,
}

#[pymethods]
impl Document {
    #[new]
    #[pyo3(text_signature = "(text)")]
    fn new(text: &str) -> PyResult<Self> {
        let document = midflight_study::scenario::Document::parse(text, Origin::Json);
        let document = document.map_err(refuse)?;
        Ok(Self { document })
    }

    /// Return the paths that a path stands for: `*` in it is each entry of a table or list.
    fn paths(&self, path: &str) -> Vec<String> {
        self.document.paths(path)
    }

    /// Return the plan with these values set, as `Plan` with a text in JSON does.
    #[pyo3(signature = (sets, policies = None))]
    #[allow(
        clippy::needless_pass_by_value,
        reason = "arguments of a Python function"
    )]
    fn plan(
        &self,
        sets: Vec<(String, String)>,
        policies: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Plan> {
        Plan::of(&self.document, &sets, policies, &Disk::beside(None))
    }
}

impl Plan {
    fn of(
        document: &midflight_study::scenario::Document,
        sets: &[(String, String)],
        policies: Option<&Bound<'_, PyDict>>,
        files: &Disk,
    ) -> PyResult<Self> {
        let failures = Failures::default();
        let policies = policies_of(policies, &failures)?;
        let plan = document.plan(sets, &policies, files);
        foreign::interrupts().raise()?;
        let plan = plan.map_err(refuse)?;
        failures.raise()?;
        Ok(Self { plan, failures })
    }
}

#[pymethods]
impl Plan {
    #[new]
    #[pyo3(signature = (text, *, name = Some("scenario"), sets = vec![], policies = None),
        text_signature = "(text, *, name='scenario', sets=[], policies=None)")]
    #[allow(
        clippy::needless_pass_by_value,
        reason = "arguments of a Python function"
    )]
    fn new(
        text: &str,
        name: Option<&str>,
        sets: Vec<(String, String)>,
        policies: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let origin = name.map_or(Origin::Json, Origin::Toml);
        let document = midflight_study::scenario::Document::parse(text, origin).map_err(refuse)?;
        Self::of(&document, &sets, policies, &Disk::beside(name))
    }

    /// The scenario as JSON with every default, which `Plan` takes again.
    #[getter]
    fn canonical(&self) -> PyResult<String> {
        self.plan.canonical().map_err(refuse)
    }

    /// The key of stored results: a hash of the canonical form and of the model's version.
    #[getter]
    fn address(&self) -> PyResult<String> {
        self.plan.address().map_err(refuse)
    }

    /// Return the recordings that links follow, by the links' names: each as in
    /// `read_recording`, from when the run begins, and that of the uplink, or None if it has no
    /// file of its own. Raises `MidflightError` if a file cannot be read any more.
    fn recordings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for (name, link) in &self.plan.file().links {
            let Some(trace) = &link.trace else { continue };
            let read = py.detach(|| trace.recordings(&Disk::beside(None)));
            let (recording, up) =
                read.map_err(|problem| refuse_sentence(problem.why, "trace", name))?;
            let dict = |of: Recording| {
                let cut = trace
                    .part(of.format)
                    .map_err(|why| refuse_sentence(why, "trace", name))?;
                as_dict(py, of, &cut)
            };
            found.set_item(name, (dict(recording)?, up.map(dict).transpose()?))?;
        }
        Ok(found)
    }

    /// The most rows of results that its runs give: for each run one for each flow and one for
    /// each of its phases.
    #[getter]
    fn rows(&self) -> u64 {
        self.plan.most_rows()
    }

    /// Return one of its runs.
    #[pyo3(signature = (run = 0))]
    fn setup(&self, run: u64) -> PyResult<Setup> {
        let setup = self.plan.setup(run).map_err(refuse)?;
        Ok(Setup::new(setup, self.failures.clone()))
    }

    /// The flows, each with its name, scheme and direction, whether it is the mobile node's, and
    /// the bytes of data in a full segment.
    #[getter]
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        flow_entries(py, self.plan.flow_infos())
    }

    /// What the first flow runs: "midflight", "linux" (a kernel's TCP) or a QUIC stack.
    #[getter]
    fn stack(&self) -> &'static str {
        self.plan.stack().name()
    }

    /// Remarks on values that are accepted but perhaps not intended, a sentence each.
    #[getter]
    fn remarks(&self) -> Vec<String> {
        self.plan.remarks().to_vec()
    }

    /// Whether something is random, so that runs differ.
    #[getter]
    fn has_chance(&self) -> bool {
        self.plan.has_chance()
    }

    /// The handoffs, and the changes of the link that the mobile node is on.
    #[getter]
    fn path_changes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        path_changes(py, &self.plan.path_changes())
    }
}

/// A row: the place of its scenario, its run, its flow's number, and what was measured.
struct Row<'a, T> {
    cell: usize,
    run: &'a ScenarioRun,
    flow: usize,
    of: T,
}

fn integers<T>(rows: &[T], of: impl Fn(&T) -> u64) -> Vec<i64> {
    rows.iter().map(|row| of(row) as i64).collect()
}

/// Run scenarios in parallel; a table of flows and a table of phases.
///
/// Scenarios that are equal up to the first handoff or change share that part of the run, unless
/// `fork` is off; the result is the same. `threads` and `progress` are as for `run_handoff_sweeps`.
/// With `runs`, (first, end), only the runs from `first` up to `end`, which is left out, are made.
/// More than 4,000,000 rows in all are refused.
///
/// The columns of both: `cell`, the place of the scenario in the list; `run`, its number; `flow`,
/// the flow's name; `acked`, data segments newly acknowledged (without the SYN); `sent`; `rexmits`;
/// `timeouts` and the `spurious_timeouts` among them, in which a transmission before the timeout
/// caused the ACK of the segment; `fast_rexmits` and the `false_fast_rexmits` among them, of
/// segments whose last copy was not lost; data packets lost to a full queue, to a link that was
/// down and to the radio, `drops_queue`, `drops_break` and `drops_radio`; `drops_early` and
/// `marks`, those that the discipline of a queue dropped before it was full, and marked instead;
/// `node_sent`, segments that nodes on the path sent by themselves, and `node_kept`, segments and
/// ACKs that they kept back; `reordered`, segments that arrived behind a higher one.
///
/// The table of flows also has: `entry`, the entry of the scenario that it belongs to; `scheme`;
/// `direction` ("down", "up"); `moves`, 1 for the mobile node's; `opened_ns`; `finished_ns`, when
/// all it had to send was acknowledged; `duration_ns` from one to the other; `goodput_bps`, bits of
/// data acknowledged per second until then or the end of the run; `stall_ns` and `stalled_at_ns`,
/// the longest time without an ACK of new data and when it began, of a flow with a workload only
/// while messages are under way; where nodes on the path have agents, `delivered_ns` from the
/// opening until all data had arrived (a flow has not finished before), and `acked_ahead`, most
/// segments that were acknowledged to the sender and not by the receiver, with `acked_missing`,
/// those at the end of the run; `digest` of the run. Where a flow has a workload, `workload`, its
/// name, and what workloads measure (`midflight list workloads --json` has the columns), in the row
/// of the first flow of each; no value elsewhere.
///
/// The table of phases, each of which lasts from one handoff or change to the next, also has:
/// `phase`, from 0; `kind`, the event at its beginning (start, handoff, or change of the mobile
/// node's link); `link`, the link of the flow; `from_ns`; `until_ns`; `first_new_ns`
/// and `all_new_ns`, from the start of the phase until the first segment that was never sent
/// before the new link was in use is acknowledged, and until as many are as the scenario's
/// `packets` says.
#[pyfunction(name = "run_plans")]
#[pyo3(signature = (plans, *, fork = true, threads = 0, progress = None, runs = None))]
#[allow(
    clippy::needless_pass_by_value,
    reason = "arguments of a Python function"
)]
pub(crate) fn run_plans(
    py: Python<'_>,
    plans: Vec<PyRef<'_, Plan>>,
    fork: bool,
    threads: usize,
    progress: Option<Py<PyAny>>,
    runs: Option<(u64, u64)>,
) -> PyResult<(Table, Table)> {
    let failures: Vec<Failures> = plans.iter().map(|p| p.failures.clone()).collect();
    let plans: Vec<_> = plans.iter().map(|p| p.plan.clone()).collect();
    let how = Execution { fork, threads };
    let cells = with_progress(py, progress.as_ref(), &failures, |go_on| {
        run_some(&plans, runs.map_or(0..u64::MAX, |r| r.0..r.1), how, go_on)
    })?;
    let infos: Vec<Vec<_>> = plans.iter().map(|p| p.flow_infos().collect()).collect();
    tables(&infos, &cells)
}

/// The tables of flows and of phases of the runs of each scenario.
pub(crate) fn tables(
    infos: &FlowInfos<'_>,
    cells: &[Vec<ScenarioRun>],
) -> PyResult<(Table, Table)> {
    let mut flows: Vec<Row<&FlowOutcome>> = Vec::new();
    let mut phases: Vec<Row<(usize, &PhaseOutcome)>> = Vec::new();
    for (cell, runs) in cells.iter().enumerate() {
        for run in runs {
            for (flow, of) in run.flows.iter().enumerate() {
                flows.push(Row {
                    cell,
                    run,
                    flow,
                    of,
                });
                for of in of.phases.iter().enumerate() {
                    phases.push(Row {
                        cell,
                        run,
                        flow,
                        of,
                    });
                }
            }
        }
    }
    Ok((flow_table(infos, &flows)?, phase_table(infos, &phases)?))
}

pub(crate) type FlowInfos<'a> = Vec<Vec<midflight_study::FlowInfo<'a>>>;

/// The columns that flows and phases have in common.
fn add_counts(table: &mut TableBuilder, rows: &[&FlowRow]) {
    type Count = fn(&FlowRow) -> u64;
    let columns: [(&str, Count); 15] = [
        ("acked", |r| r.acked),
        ("sent", |r| r.sent),
        ("rexmits", |r| r.rexmits),
        ("timeouts", |r| r.timeouts.into()),
        ("spurious_timeouts", |r| r.spurious_timeouts.into()),
        ("fast_rexmits", |r| r.fast_rexmits.into()),
        ("false_fast_rexmits", |r| r.false_fast_rexmits.into()),
        ("drops_queue", |r| r.drops_queue),
        ("drops_break", |r| r.drops_break),
        ("drops_radio", |r| r.drops_radio),
        ("drops_early", |r| r.drops_early),
        ("marks", |r| r.marks),
        ("node_sent", |r| r.node_sent),
        ("node_kept", |r| r.node_kept),
        ("reordered", |r| r.reordered),
    ];
    for (name, count) in columns {
        table.int(name, integers(rows, |row| count(row)));
    }
}

fn flow_table(infos: &FlowInfos<'_>, rows: &[Row<'_, &FlowOutcome>]) -> PyResult<Table> {
    let mut t = Table::builder();
    let totals: Vec<FlowRow> = rows.iter().map(|r| r.of.total()).collect();
    let of = |row: &Row<'_, &FlowOutcome>| infos[row.cell][row.flow];
    let text = |f: &dyn Fn(&Row<'_, &FlowOutcome>) -> String| rows.iter().map(f).collect();
    t.int("cell", integers(rows, |r| r.cell as u64));
    t.int("run", integers(rows, |r| r.run.run));
    t.text("flow", text(&|r| of(r).name.into()));
    t.text("entry", text(&|r| of(r).entry.into()));
    t.text("scheme", text(&|r| of(r).scheme.into()));
    t.text("direction", text(&|r| direction_name(of(r).up).into()));
    t.int("moves", integers(rows, |r| of(r).moves.into()));
    t.int("opened_ns", integers(rows, |r| r.of.opened.as_nanos()));
    let finished = |r: &Row<'_, &FlowOutcome>| r.of.finished.map(|at| at.as_nanos() as i64);
    t.maybe_int("finished_ns", rows.iter().map(finished));
    let duration = |r: &Row<'_, &FlowOutcome>| nanos(r.of.finished.map(|at| at.since(r.of.opened)));
    t.maybe_int("duration_ns", rows.iter().map(duration));
    let goodput = |(r, total): (&Row<'_, &FlowOutcome>, &FlowRow)| {
        let seconds = r.of.until.since(r.of.opened).as_secs_f64();
        let bits = 8.0 * total.acked as f64 * f64::from(of(r).payload_bytes);
        if seconds > 0.0 {
            bits / seconds
        } else {
            0.0
        }
    };
    let with_totals = rows.iter().zip(&totals);
    t.real("goodput_bps", with_totals.map(goodput).collect());
    t.int("stall_ns", integers(rows, |r| r.of.stall.as_nanos()));
    let stalled_at = |r: &Row<'_, &FlowOutcome>| r.of.stalled_at.as_nanos();
    t.int("stalled_at_ns", integers(rows, stalled_at));
    add_counts(&mut t, &totals.iter().collect::<Vec<_>>());
    let delivered = |r: &Row<'_, &FlowOutcome>| {
        let at = r.of.delivery.and_then(|delivery| delivery.at);
        nanos(at.map(|at| at.since(r.of.opened)))
    };
    t.maybe_int("delivered_ns", rows.iter().map(delivered));
    let of_delivery =
        |count: fn(&Delivery) -> u64| integers(rows, |r| r.of.delivery.as_ref().map_or(0, count));
    t.int("acked_ahead", of_delivery(|delivery| delivery.ahead));
    t.int("acked_missing", of_delivery(|delivery| delivery.missing));
    add_workloads(&mut t, infos, rows);
    t.text("digest", text(&|r| r.run.digest.to_string()));
    t.build()
}

/// What workloads measure, where a flow has one.
fn add_workloads(t: &mut TableBuilder, infos: &FlowInfos<'_>, rows: &[Row<'_, &FlowOutcome>]) {
    if !infos.iter().flatten().any(|flow| flow.workload.is_some()) {
        return;
    }
    let name = |r: &Row<'_, &FlowOutcome>| match infos[r.cell][r.flow] {
        flow if flow.is_back => String::new(),
        flow => flow.workload.unwrap_or_default().into(),
    };
    t.text("workload", rows.iter().map(name).collect());
    for measure in all_measures() {
        let value = |r: &Row<'_, &FlowOutcome>| {
            let workload = r.of.workload.as_ref()?;
            let mut named = workload.measures.iter().zip(&workload.measured.0);
            let found = named.find(|(one, _)| one.name == measure.name)?;
            found.1.map(|value| value as i64)
        };
        t.maybe_int(measure.name, rows.iter().map(value));
    }
}

fn phase_table(infos: &FlowInfos<'_>, rows: &[Row<'_, (usize, &PhaseOutcome)>]) -> PyResult<Table> {
    let mut t = Table::builder();
    t.int("cell", integers(rows, |r| r.cell as u64));
    t.int("run", integers(rows, |r| r.run.run));
    let name = |r: &Row<'_, (usize, &PhaseOutcome)>| infos[r.cell][r.flow].name.into();
    t.text("flow", rows.iter().map(name).collect());
    t.int("phase", integers(rows, |r| r.of.0 as u64));
    let kind = |r: &Row<'_, (usize, &PhaseOutcome)>| r.of.1.kind.name().into();
    t.text("kind", rows.iter().map(kind).collect());
    t.text("link", rows.iter().map(|r| r.of.1.link.clone()).collect());
    t.int("from_ns", integers(rows, |r| r.of.1.counts.from.as_nanos()));
    t.int(
        "until_ns",
        integers(rows, |r| r.of.1.counts.until.as_nanos()),
    );
    let first = rows.iter().map(|r| nanos(r.of.1.first_new));
    t.maybe_int("first_new_ns", first);
    let all = rows.iter().map(|r| nanos(r.of.1.all_new));
    t.maybe_int("all_new_ns", all);
    let counts: Vec<&FlowRow> = rows.iter().map(|r| &r.of.1.counts).collect();
    add_counts(&mut t, &counts);
    t.build()
}

/// Return the JSON Schema of a scenario file, as JSON.
#[pyfunction(name = "scenario_schema")]
pub(crate) fn schema() -> String {
    scenario_schema().as_value().to_string()
}

/// Return a value of a scenario as the unit and the number that a column of numbers has.
///
/// Units are the ends of columns' names: `ns`, `bps`, `bytes`, `packets` and `percent`. None for
/// text that is not a single quantity with a unit.
#[pyfunction]
pub(crate) fn in_column_unit(text: &str) -> Option<(&'static str, f64)> {
    midflight_study::scenario::in_column_unit(text)
}

/// Return the well-known links that scenarios may name.
#[pyfunction(name = "link_presets")]
pub(crate) fn presets(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for preset in PRESETS {
        let entry = PyDict::new(py);
        entry.set_item("name", preset.name)?;
        entry.set_item("summary", preset.summary)?;
        entry.set_item("source", preset.source)?;
        entry.set_item("down_bps", preset.down_rate().as_bps())?;
        entry.set_item("up_bps", preset.up_rate().as_bps())?;
        entry.set_item("delay_ns", preset.delay().as_nanos())?;
        let (queue, up_queue) = preset.queue_texts();
        entry.set_item("queue", queue)?;
        entry.set_item("up_queue", up_queue)?;
        list.append(entry)?;
    }
    Ok(list)
}
