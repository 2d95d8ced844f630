//! `Plan` and what runs it: scenarios of a user's own.

use std::collections::BTreeMap;

use midflight_study::scenario::{
    capture_scenario, compare_scenarios, explain_scenario, read_scenario, run_some,
    scenario_schema, sender_of, stall_of, trace_scenario, Direction, Explained, FlowOutcome,
    Origin, Parted, Phase, ScenarioRun, SenderThen, Stall, PRESETS,
};
use midflight_study::{Execution, FlowRow, GoOn, Keep, Kept, StudyError, TraceRow};
use midflight_units::Instant;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::policy::{policies_of, Failures};
use crate::table::{Table, TableBuilder};
use crate::{captures, interruptible, nanos, refuse, trace_columns, trace_table, with_progress};

/// A scenario that can be run: read, checked, and with everything that its text leaves out.
///
/// `text` is TOML; errors name `name` and the line. With `name` None it is JSON. `sets` are values
/// by the path to them, such as ("links.lte.rate", "5 Mbit/s"), which go over those of the text.
/// `policies` are policies of one's own by the names that schemes may have. Raises
/// `MidflightError` for what is not accepted, here and where a policy fails.
#[pyclass(frozen, module = "midflight")]
pub(crate) struct Plan {
    plan: midflight_study::scenario::Plan,
    failures: Failures,
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
        let failures = Failures::default();
        let policies = policies_of(policies, &failures)?;
        let plan = read_scenario(text, origin, &sets, &policies).map_err(refuse)?;
        failures.raise()?;
        Ok(Self { plan, failures })
    }

    /// The scenario as JSON with every default, which `Plan` takes again.
    #[getter]
    fn canonical(&self) -> PyResult<String> {
        self.plan.canonical().map_err(refuse)
    }

    /// What results are kept by: a hash of the canonical form and of the model's version.
    #[getter]
    fn address(&self) -> PyResult<String> {
        self.plan.address().map_err(refuse)
    }

    /// The most rows of results that its runs give: for each run one for each flow and one for
    /// each of its phases.
    #[getter]
    fn rows(&self) -> u64 {
        self.plan.most_rows()
    }

    /// Return every event of a flow in one run: `time_ns`, `event`, `value`, `detail`.
    ///
    /// `flow` is its name; the first flow if it is None. `from_ns` and `only` leave out what
    /// happens before, and all but the events of these names.
    #[pyo3(signature = (*, run = 0, flow = None, from_ns = 0, only = vec![]), text_signature = "(self, *, run=0, flow=None, from_ns=0, only=[])")]
    #[allow(
        clippy::needless_pass_by_value,
        reason = "arguments of a Python function"
    )]
    fn trace(
        &self,
        py: Python<'_>,
        run: u64,
        flow: Option<&str>,
        from_ns: u64,
        only: Vec<String>,
    ) -> PyResult<Table> {
        let from = Instant::from_nanos(from_ns);
        let (rows, digest) = self.interruptible(py, |go_on| {
            trace_scenario(&self.plan, run, flow, from, &only, go_on)
        })?;
        trace_table(&rows, &digest)
    }

    /// Return every event of a flow in one run with what led to it.
    ///
    /// Beside the columns of `trace`: `segment`, which caused an ACK; `sent_ns`, when this copy of
    /// a segment was sent, or the segment that caused the ACK; `since_ns`, when an ACK left the
    /// receiver or a deadline was set; `sack`, the blocks of an ACK as "first-last first-last".
    /// Events beside those of `trace`: "ack_sent" at the receiver, with "delayed" or "signal" if no
    /// arrival sent it at once; "wake", when a deadline of the sender comes, with whose it is;
    /// "dupacks", as the sender counts them; "srtt".
    #[pyo3(signature = (*, run = 0, flow = None))]
    fn causes(&self, py: Python<'_>, run: u64, flow: Option<&str>) -> PyResult<Table> {
        let found = self.interruptible(py, |go_on| {
            explain_scenario(&self.plan, run, flow, Keep::All, None, true, go_on)
        })?;
        cause_columns(&found).build()
    }

    /// Return events of a flow in one run with what led to each, for `midflight.explain`.
    ///
    /// With `at_ns` they are the last `before` events up to that instant and the first `after`
    /// later ones; with `name` all of that name; else all. `find` is the name of an event: the last
    /// one up to `at_ns` is looked for. Without `to_end` the run ends when the events are there,
    /// and there is no digest.
    #[pyo3(signature = (*, run = 0, flow = None, at_ns = None, before = 0, after = 0, name = None,
        find = None, to_end = true))]
    #[allow(
        clippy::too_many_arguments,
        reason = "keyword arguments of a Python function"
    )]
    fn events(
        &self,
        py: Python<'_>,
        run: u64,
        flow: Option<&str>,
        at_ns: Option<u64>,
        before: usize,
        after: usize,
        name: Option<&str>,
        find: Option<&str>,
        to_end: bool,
    ) -> PyResult<Events> {
        let keep = match (at_ns.map(Instant::from_nanos), name) {
            (Some(at), _) => Keep::Around { at, before, after },
            (None, Some(name)) => Keep::Named(name.into()),
            (None, None) => Keep::All,
        };
        let found = self.interruptible(py, |go_on| {
            explain_scenario(&self.plan, run, flow, keep, find, to_end, go_on)
        })?;
        let ways = Ways::of(&found.kept);
        Ok(Events {
            plan: self.plan.clone(),
            failures: self.failures.clone(),
            run,
            found,
            ways,
        })
    }

    /// Return the longest time without progress of a flow in one run: `from_ns`, `until_ns` and
    /// the `digest` of the run; None if the flow sent nothing.
    #[pyo3(signature = (*, run = 0, flow = None))]
    fn stall<'py>(
        &self,
        py: Python<'py>,
        run: u64,
        flow: Option<&str>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let stall = self.interruptible(py, |go_on| stall_of(&self.plan, run, flow, go_on))?;
        let entry = |stall: Stall| {
            let entry = PyDict::new(py);
            entry.set_item("from_ns", stall.from.as_nanos())?;
            entry.set_item("until_ns", stall.until.as_nanos())?;
            entry.set_item("digest", stall.digest)?;
            Ok(entry)
        };
        stall.map(entry).transpose()
    }

    /// Compare one run with that of another plan, flow by flow.
    ///
    /// Returns both digests, and for each flow how many events are the same and where the runs part
    /// (None if they do not): `at_ns`; `events`, the number and the instant of the first event of
    /// each that the other has not; `last`, the number of the last event before in this run;
    /// `orders` of each up to then that the other was not given, as rows.
    #[pyo3(signature = (other, flows, *, run = 0))]
    #[allow(
        clippy::needless_pass_by_value,
        reason = "arguments of a Python function"
    )]
    fn compare<'py>(
        &self,
        py: Python<'py>,
        other: &Bound<'py, Self>,
        flows: Vec<String>,
        run: u64,
    ) -> PyResult<(Vec<String>, Bound<'py, PyList>)> {
        let other = other.get();
        let failures = [self.failures.clone(), other.failures.clone()];
        let plans = [&self.plan, &other.plan];
        let found = interruptible(py, &failures, |go_on| {
            compare_scenarios(plans, run, &flows, go_on)
        })?;
        let list = PyList::empty(py);
        for (common, parted) in found.flows {
            let parted = parted.map(|parted| parted_entry(py, parted)).transpose()?;
            list.append((common, parted))?;
        }
        Ok((found.digests.to_vec(), list))
    }

    /// Return the sender of a flow in one run as it is after everything before `at_ns`.
    ///
    /// Windows are in segments, times in nanoseconds.
    #[pyo3(signature = (at_ns, *, run = 0, flow = None))]
    fn sender<'py>(
        &self,
        py: Python<'py>,
        at_ns: u64,
        run: u64,
        flow: Option<&str>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let at = Instant::from_nanos(at_ns);
        let then = py.detach(|| sender_of(&self.plan, run, flow, at));
        self.failures.raise()?;
        sender_entry(py, &then.map_err(refuse)?)
    }

    /// The flows, each with its name, scheme and direction, whether it is the mobile node's, and
    /// the bytes of data in a full segment.
    #[getter]
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for flow in self.plan.flows_told() {
            let entry = PyDict::new(py);
            entry.set_item("name", flow.name)?;
            entry.set_item("scheme", flow.scheme)?;
            entry.set_item("direction", direction_name(flow.direction))?;
            entry.set_item("moves", flow.moves)?;
            entry.set_item("payload_bytes", flow.payload_bytes)?;
            list.append(entry)?;
        }
        Ok(list)
    }

    /// What is accepted and perhaps not meant, a sentence each.
    #[getter]
    fn remarks(&self) -> Vec<String> {
        self.plan.remarks().to_vec()
    }

    /// Something is random, so that runs differ.
    #[getter]
    fn has_chance(&self) -> bool {
        self.plan.has_chance()
    }

    /// The handoffs, and the changes of the link that the mobile node is on.
    #[getter]
    fn occasions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for one in self.plan.occasions() {
            let entry = PyDict::new(py);
            entry.set_item("kind", if one.is_change { "change" } else { "handoff" })?;
            entry.set_item("from_link", one.links.0)?;
            entry.set_item("to_link", one.links.1)?;
            entry.set_item("at_ns", one.at.as_nanos())?;
            entry.set_item("make_ns", one.make.as_nanos())?;
            entry.set_item("breaks", one.breaks)?;
            entry.set_item("told_ns", one.told.map(Instant::as_nanos))?;
            entry.set_item("told_wrong", one.told_wrong)?;
            list.append(entry)?;
        }
        Ok(list)
    }

    /// Return what one run looks like on the wire: pcapng files by the place of the capture.
    ///
    /// The places are "sender" and "receiver" of the flow, and the base station of each link by the
    /// link's name. `snaplen` is as for `capture`.
    #[pyo3(signature = (*, run = 0, flow = None, snaplen = 128))]
    fn capture<'py>(
        &self,
        py: Python<'py>,
        run: u64,
        flow: Option<&str>,
        snaplen: u32,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (seen, _) = self.interruptible(py, |go_on| {
            capture_scenario(&self.plan, run, flow, snaplen, go_on)
        })?;
        captures(py, seen)
    }
}

impl Plan {
    fn interruptible<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(GoOn<'_>) -> Result<T, StudyError> + Send,
    ) -> PyResult<T> {
        interruptible(py, std::slice::from_ref(&self.failures), work)
    }
}

/// Events of a flow in one run with what led to each.
#[pyclass(frozen, module = "midflight")]
pub(crate) struct Events {
    plan: midflight_study::scenario::Plan,
    failures: Failures,
    run: u64,
    found: Explained,
    ways: Ways,
}

/// A segment, when this copy of it was sent, or of an ACK when it left, and the ACK's number.
type Packet = (Option<u64>, Option<u64>, u64);

/// Numbers of events by the packet that they are of.
#[derive(Default)]
struct Ways {
    sent: BTreeMap<u64, Vec<u64>>,
    /// By the name of the event; of several the first.
    others: BTreeMap<(&'static str, Packet), u64>,
}

impl Ways {
    fn of(kept: &Kept) -> Self {
        let mut ways = Self::default();
        let each = kept.rows.iter().zip(&kept.of).zip(&kept.places);
        for ((row, of), place) in each {
            let (value, number) = (row.value as u64, place.number);
            let data = (Some(value), of.sent.map(Instant::as_nanos), 0);
            let ack = (
                of.segment,
                of.since.map(Instant::as_nanos),
                row.value.to_bits(),
            );
            let key = match row.event {
                "send" | "rexmit" | "window_probe" => {
                    ways.sent.entry(value).or_default().push(number);
                    continue;
                }
                "rcv" => ("rcv", data),
                "drop" if row.detail.starts_with("data") => ("data drop", data),
                "drop" => ("ack drop", ack),
                "ack" => ("ack", ack),
                "ack_sent" => ("ack_sent", ack),
                _ => continue,
            };
            ways.others.entry(key).or_insert(number);
        }
        ways
    }
}

/// An event: its number, `time_ns`, `event`, `value`, `detail`, and the columns of `Plan.causes`.
type EventTold<'a> = (
    u64,
    u64,
    &'static str,
    f64,
    &'a str,
    Option<u64>,
    Option<u64>,
    Option<u64>,
    &'a str,
);

/// What is known of a sender before an event.
type Standing11 = (
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    u64,
    u64,
    u64,
    u64,
    bool,
    Option<u64>,
    Option<u64>,
);

impl Events {
    fn of_packet(&self, event: &str, packet: Packet) -> Option<u64> {
        let names = ["rcv", "data drop", "ack_sent", "ack", "ack drop"];
        let event = names.into_iter().find(|name| *name == event)?;
        self.ways.others.get(&(event, packet)).copied()
    }

    fn place(&self, number: u64) -> PyResult<usize> {
        let first = self.first();
        let place = number.checked_sub(first).map(|place| place as usize);
        place
            .filter(|&place| place < self.found.kept.rows.len())
            .ok_or_else(|| PyIndexError::new_err(format!("event {number} was not kept")))
    }

    fn told(&self, place: usize) -> EventTold<'_> {
        let kept = &self.found.kept;
        let (row, of) = (&kept.rows[place], &kept.of[place]);
        let ns = |at: Option<Instant>| at.map(Instant::as_nanos);
        (
            kept.places[place].number,
            row.at.as_nanos(),
            row.event,
            row.value,
            &row.detail,
            of.segment,
            ns(of.sent),
            ns(of.since),
            &of.sack,
        )
    }
}

#[pymethods]
impl Events {
    /// How many events there are.
    fn __len__(&self) -> usize {
        self.found.kept.rows.len()
    }

    /// Number of the first one.
    #[getter]
    fn first(&self) -> u64 {
        self.found
            .kept
            .places
            .first()
            .map_or(0, |place| place.number)
    }

    /// Return all events, each as its number, `time_ns`, `event`, `value`, `detail`, and what
    /// else `Plan.causes` has of it.
    fn rows(&self) -> Vec<EventTold<'_>> {
        let all = 0..self.found.kept.rows.len();
        all.map(|place| self.told(place)).collect()
    }

    /// Return the event of a number. Raises `IndexError` for one that is not there.
    fn row(&self, number: u64) -> PyResult<EventTold<'_>> {
        Ok(self.told(self.place(number)?))
    }

    /// Return the number of the event that reached the sender and led to this one.
    fn head(&self, number: u64) -> PyResult<Option<u64>> {
        Ok(self.found.kept.places[self.place(number)?].head)
    }

    /// Return the sender before an event: `cwnd`, `ssthresh`, `rto`, `min_rto`, `backoff`,
    /// `una`, `max`, `duplicates`, `closed`, and the numbers of the fast retransmit and of the
    /// timeout from which it has not recovered.
    fn standing(&self, number: u64) -> PyResult<Standing11> {
        let s = self.found.kept.places[self.place(number)?].before;
        Ok((
            s.cwnd,
            s.ssthresh,
            s.rto,
            s.min_rto,
            s.backoff,
            s.una,
            s.max,
            s.duplicates,
            s.closed,
            s.recovery,
            s.timeout,
        ))
    }

    /// Return how many of the events are before an instant, and how many up to it.
    fn until(&self, time_ns: u64) -> (usize, usize) {
        let at = Instant::from_nanos(time_ns);
        let rows = &self.found.kept.rows;
        let before = rows.partition_point(|row| row.at < at);
        (before, rows.partition_point(|row| row.at <= at))
    }

    /// Return the numbers of the transmissions of a segment.
    fn sent(&self, segment: u64) -> Vec<u64> {
        self.ways.sent.get(&segment).cloned().unwrap_or_default()
    }

    /// Return the number of the first event of a segment that was sent then: "rcv" or "data
    /// drop".
    fn of_data(&self, event: &str, segment: u64, sent_ns: u64) -> Option<u64> {
        let packet = (Some(segment), Some(sent_ns), 0);
        self.of_packet(event, packet)
    }

    /// Return the number of the first event of an ACK that left then: "ack_sent", "ack" or "ack
    /// drop". `segment` is what caused it, `value` its number.
    fn of_ack(
        &self,
        event: &str,
        segment: Option<u64>,
        since_ns: Option<u64>,
        value: f64,
    ) -> Option<u64> {
        self.of_packet(event, (segment, since_ns, value.to_bits()))
    }

    /// The digest of the run; None if it was not played to its end.
    #[getter]
    fn digest(&self) -> Option<&str> {
        self.found.digest.as_deref()
    }

    /// When the run was over; None if it was not played to its end.
    #[getter]
    fn ended_ns(&self) -> Option<u64> {
        self.found.ended.map(Instant::as_nanos)
    }

    /// There is no later event.
    #[getter]
    fn is_complete(&self) -> bool {
        self.found.kept.is_complete
    }

    /// When the first segment was sent, if that is known.
    #[getter]
    fn opened_ns(&self) -> Option<u64> {
        self.found.kept.opened.map(Instant::as_nanos)
    }

    /// Number, instant and name of each "break" and "make" so far.
    #[getter]
    fn marks(&self) -> Vec<(u64, u64, &'static str)> {
        let marks = self.found.kept.marks.iter();
        marks
            .map(|&(n, at, event)| (n, at.as_nanos(), event))
            .collect()
    }

    /// Number and instant of the event that was looked for, if there is one.
    #[getter]
    fn found(&self) -> Option<(u64, u64)> {
        self.found.kept.found.map(|(n, at)| (n, at.as_nanos()))
    }

    /// Return the sender as `Plan.sender` does; soon, if `at_ns` is near the events.
    fn sender<'py>(&self, py: Python<'py>, at_ns: u64) -> PyResult<Bound<'py, PyDict>> {
        let at = Instant::from_nanos(at_ns);
        let then = py.detach(|| self.found.sender(&self.plan, self.run, at));
        self.failures.raise()?;
        sender_entry(py, &then.map_err(refuse)?)
    }
}

fn sender_entry<'py>(py: Python<'py>, then: &SenderThen) -> PyResult<Bound<'py, PyDict>> {
    let view = then.view;
    let entry = PyDict::new(py);
    entry.set_item("snd_una", view.snd_una)?;
    entry.set_item("snd_nxt", view.snd_nxt)?;
    entry.set_item("snd_max", view.snd_max)?;
    entry.set_item("flight_size", view.flight_size())?;
    entry.set_item("cwnd", view.cwnd)?;
    entry.set_item("ssthresh", view.ssthresh)?;
    entry.set_item("rto_ns", view.rto.as_nanos())?;
    entry.set_item("min_rto_ns", view.min_rto.as_nanos())?;
    entry.set_item("backoff", then.backoff)?;
    entry.set_item("srtt_ns", nanos(view.srtt))?;
    entry.set_item("rttvar_ns", nanos(view.rttvar))?;
    entry.set_item("dupacks", view.dupacks)?;
    entry.set_item("dup_threshold", view.dup_threshold)?;
    entry.set_item("in_fast_recovery", view.in_fast_recovery)?;
    entry.set_item("in_rto_recovery", view.in_rto_recovery)?;
    entry.set_item("window_closed", then.is_window_closed)?;
    entry.set_item("state", then.state.name())?;
    Ok(entry)
}

fn parted_entry(py: Python<'_>, parted: Parted) -> PyResult<Bound<'_, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("at_ns", parted.at.as_nanos())?;
    let events = parted.events.map(|e| e.map(|(n, at)| (n, at.as_nanos())));
    entry.set_item("events", events.to_vec())?;
    entry.set_item("last", parted.last)?;
    let row = |(number, row): (u64, TraceRow)| (number, row.at.as_nanos(), row.detail);
    let orders = parted
        .orders
        .map(|one| one.into_iter().map(row).collect::<Vec<_>>());
    entry.set_item("orders", orders.to_vec())?;
    Ok(entry)
}

/// The columns of `Plan.causes`.
fn cause_columns(found: &Explained) -> TableBuilder {
    let of = &found.kept.of;
    let at = |at: Option<Instant>| at.map(|at| at.as_nanos() as i64);
    let mut t = trace_columns(
        &found.kept.rows,
        found.digest.as_deref().unwrap_or_default(),
    );
    let segments = of.iter().map(|b| b.segment.map(|s| s as i64));
    t.maybe_int("segment", segments.collect());
    t.maybe_int("sent_ns", of.iter().map(|b| at(b.sent)).collect());
    t.maybe_int("since_ns", of.iter().map(|b| at(b.since)).collect());
    t.text("sack", of.iter().map(|b| b.sack.clone()).collect());
    t
}

fn direction_name(direction: Direction) -> &'static str {
    match direction {
        Direction::Down => "down",
        Direction::Up => "up",
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

/// Run scenarios side by side; a table of flows and a table of phases.
///
/// Scenarios that differ in nothing before the first handoff or change share their past, unless
/// `fork` is off; the result is the same. `threads` and `progress` are as for `run_sweeps`. With
/// `runs`, (first, end), only the runs from `first` up to `end`, which is left out, are made. More
/// than 4,000,000 rows in all are refused.
///
/// The columns of both: `cell`, the place of the scenario in the list; `run`, its number; `flow`,
/// the flow's name; `acked`, data segments newly acknowledged (without the SYN); `sent`; `rexmits`;
/// `timeouts` and the `spurious_timeouts` among them, each of a segment then acknowledged by
/// what was sent before the timeout; `fast_rexmits` and the `false_fast_rexmits` among them, of
/// segments that were not lost; data packets lost to a full queue, to a link that was down and to
/// the radio, `drops_queue`, `drops_break` and `drops_radio`; `reordered`, segments that arrived
/// behind a higher one.
///
/// Of flows besides: `scheme`; `direction` ("down", "up"); `moves`, 1 for the mobile node's;
/// `opened_ns`; `finished_ns`, when all it had to send was acknowledged; `duration_ns` from one
/// to the other; `goodput_bps`, bits of data acknowledged per second until then or the end of the
/// run; `stall_ns` and `stalled_at_ns`, the longest time without an ACK of new data and when it
/// began; `digest` of the run.
///
/// Of phases besides, each of which lasts from one handoff or change to the next: `phase`, from
/// 0; `kind`, what it begins with (start, handoff, or change of the mobile node's link);
/// `link`, on which the flow is or to which it comes; `from_ns`; `until_ns`; `first_new_ns`
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
    let mut flows: Vec<Row<&FlowOutcome>> = Vec::new();
    let mut phases: Vec<Row<(usize, &Phase)>> = Vec::new();
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
    let told: Vec<Vec<_>> = plans.iter().map(|p| p.flows_told().collect()).collect();
    Ok((flow_table(&told, &flows)?, phase_table(&told, &phases)?))
}

type Told<'a> = Vec<Vec<midflight_study::scenario::FlowTold<'a>>>;

/// The columns that flows and phases have in common.
fn add_counts(table: &mut TableBuilder, rows: &[&FlowRow]) {
    type Count = fn(&FlowRow) -> u64;
    let columns: [(&str, Count); 11] = [
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
        ("reordered", |r| r.reordered),
    ];
    for (name, count) in columns {
        table.int(name, integers(rows, |row| count(row)));
    }
}

fn flow_table(told: &Told<'_>, rows: &[Row<'_, &FlowOutcome>]) -> PyResult<Table> {
    let mut t = Table::builder();
    let totals: Vec<FlowRow> = rows.iter().map(|r| r.of.total()).collect();
    let of = |row: &Row<'_, &FlowOutcome>| told[row.cell][row.flow];
    let text = |f: &dyn Fn(&Row<'_, &FlowOutcome>) -> String| rows.iter().map(f).collect();
    t.int("cell", integers(rows, |r| r.cell as u64));
    t.int("run", integers(rows, |r| r.run.run));
    t.text("flow", text(&|r| of(r).name.into()));
    t.text("scheme", text(&|r| of(r).scheme.into()));
    t.text(
        "direction",
        text(&|r| direction_name(of(r).direction).into()),
    );
    t.int("moves", integers(rows, |r| of(r).moves.into()));
    t.int("opened_ns", integers(rows, |r| r.of.opened.as_nanos()));
    let finished = |r: &Row<'_, &FlowOutcome>| r.of.finished.map(|at| at.as_nanos() as i64);
    t.maybe_int("finished_ns", rows.iter().map(finished).collect());
    let duration = |r: &Row<'_, &FlowOutcome>| nanos(r.of.finished.map(|at| at.since(r.of.opened)));
    t.maybe_int("duration_ns", rows.iter().map(duration).collect());
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
    t.text("digest", text(&|r| r.run.digest.to_string()));
    t.build()
}

fn phase_table(told: &Told<'_>, rows: &[Row<'_, (usize, &Phase)>]) -> PyResult<Table> {
    let mut t = Table::builder();
    t.int("cell", integers(rows, |r| r.cell as u64));
    t.int("run", integers(rows, |r| r.run.run));
    let name = |r: &Row<'_, (usize, &Phase)>| told[r.cell][r.flow].name.into();
    t.text("flow", rows.iter().map(name).collect());
    t.int("phase", integers(rows, |r| r.of.0 as u64));
    let kind = |r: &Row<'_, (usize, &Phase)>| r.of.1.kind.name().into();
    t.text("kind", rows.iter().map(kind).collect());
    t.text("link", rows.iter().map(|r| r.of.1.link.clone()).collect());
    t.int("from_ns", integers(rows, |r| r.of.1.counts.from.as_nanos()));
    t.int(
        "until_ns",
        integers(rows, |r| r.of.1.counts.until.as_nanos()),
    );
    let first = rows.iter().map(|r| nanos(r.of.1.first_new));
    t.maybe_int("first_new_ns", first.collect());
    let all = rows.iter().map(|r| nanos(r.of.1.all_new));
    t.maybe_int("all_new_ns", all.collect());
    let counts: Vec<&FlowRow> = rows.iter().map(|r| &r.of.1.counts).collect();
    add_counts(&mut t, &counts);
    t.build()
}

/// Return the JSON Schema of a scenario file, as JSON.
#[pyfunction(name = "scenario_schema")]
pub(crate) fn schema() -> String {
    scenario_schema().as_value().to_string()
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
        list.append(entry)?;
    }
    Ok(list)
}
