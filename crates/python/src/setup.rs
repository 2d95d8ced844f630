//! `Setup`: one run of any question, and everything that can be asked of it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use midflight_study::lab::{self, lab_script, Guest, Recorded};
use midflight_study::scenario::{ScenarioRun, Stack};
use midflight_study::{
    capture, compare, explain, samples, sender_of, stack_log, stall_of, trace_columns, Explained,
    FlowInfo, GoOn, Keep, Sampling, StudyError,
};
use midflight_units::{Duration, Instant};
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use pyo3::PyClass;

use crate::described::{flow_entries, path_changes};
use crate::estimation::Probe;
use crate::events::{cause_columns, keep, parted_entry, sender_entry, stall_entry, Events};
use crate::interrupt::interruptible;
use crate::lab_host::{emulate, send, serve};
use crate::long_flow::LongFlow;
use crate::policy::Failures;
use crate::roaming::Roaming;
use crate::samples::{backlog_table, sample_tables};
use crate::scenario::tables;
use crate::startup::Startup;
use crate::table::Table;
use crate::{captures, refuse, trace_table, HandoffSweep};

/// One run, complete: a network, its flows, and everything that happens to them from outside.
///
/// `Setup.handoff`, `Setup.flow`, `Setup.roam`, `Setup.startup`, `Setup.probe` and `Plan.setup`
/// make one. The run ends where it ends when it is measured, with the same digest.
#[pyclass(frozen, module = "midflight")]
pub(crate) struct Setup {
    setup: midflight_study::Setup,
    failures: Failures,
}

/// A question of the class `name`, made from keywords.
fn asked<'py, T: PyClass>(
    py: Python<'py>,
    name: &str,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, T>> {
    let asked = py.get_type::<T>().call((), keywords);
    let asked = asked.map_err(|error| {
        let message = error.value(py).to_string();
        match message.split_once(".__new__()") {
            Some((_, what)) if error.is_instance_of::<PyTypeError>(py) => {
                PyTypeError::new_err(format!("Setup.{name}(){what}"))
            }
            _ => error,
        }
    })?;
    Ok(asked.cast_into::<T>()?)
}

#[pymethods]
impl Setup {
    /// Return a handoff with one scheme, at `at_ns`, or at no time if that is None.
    ///
    /// The other keywords are those of `HandoffSweep`. The flows are called "flow-0" and so on, and
    /// "resident-0".
    #[staticmethod]
    #[pyo3(signature = (*, scheme, at_ns = None, **keywords))]
    fn handoff(
        py: Python<'_>,
        scheme: &str,
        at_ns: Option<u64>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let keywords = keywords.map_or_else(|| Ok(PyDict::new(py)), PyDictMethods::copy)?;
        keywords.set_item("schemes", vec![scheme])?;
        keywords.set_item("at_ns", at_ns.into_iter().collect::<Vec<u64>>())?;
        let sweep = asked::<HandoffSweep>(py, "handoff", Some(&keywords))?;
        let mut setups = sweep.get().setups()?;
        Ok(setups.remove(0))
    }

    /// Return a run of a long-lived flow.
    ///
    /// The keywords but `run` are those of `LongFlow`. The flows are called "flow", and "cross-1"
    /// and so on.
    #[staticmethod]
    #[pyo3(signature = (*, run = 0, **keywords))]
    fn flow(py: Python<'_>, run: u64, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let flow = asked::<LongFlow>(py, "flow", keywords)?;
        flow.get().setup(run)
    }

    /// Return a run of a mobile node that moves from station to station.
    ///
    /// The keywords but `run` are those of `Roaming`. The flows are called "mobile", and
    /// "resident-1" and so on.
    #[staticmethod]
    #[pyo3(signature = (*, run = 0, **keywords))]
    fn roam(py: Python<'_>, run: u64, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let node = asked::<Roaming>(py, "roam", keywords)?;
        node.get().setup(run)
    }

    /// Return the start of connections with one scheme.
    ///
    /// The other keywords are those of `Startup`. The flows are called "flow-0" and so on, and
    /// "resident-0".
    #[staticmethod]
    #[pyo3(signature = (*, scheme, **keywords))]
    fn startup(
        py: Python<'_>,
        scheme: &str,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let keywords = keywords.map_or_else(|| Ok(PyDict::new(py)), PyDictMethods::copy)?;
        keywords.set_item("schemes", vec![scheme])?;
        let startup = asked::<Startup>(py, "startup", Some(&keywords))?;
        startup.get().setup(0)
    }

    /// Return a run of a flow that measures its path by trains.
    ///
    /// The keywords but `run` are those of `Probe`. The flows are called "flow", and "cross-1"
    /// and so on.
    #[staticmethod]
    #[pyo3(signature = (*, run = 0, **keywords))]
    fn probe(py: Python<'_>, run: u64, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let probe = asked::<Probe>(py, "probe", keywords)?;
        probe.get().setup(run)
    }

    /// Return the run as the script of a guest of the lab, for `midflight.lab.guest`.
    ///
    /// `congestion` are the kernel's congestion controls: one for all flows, or one for each; none
    /// where flows have the stack "linux", for their own schemes. `sysctls` are names and values of
    /// settings of the kernel at both ends of each flow. `stack` selects the senders of the flows:
    /// "linux" or "midflight". With `multihomed` there is another node with an interface on each
    /// link. `sample_ns` is the interval at which the state (TCP_INFO) of the kernel's senders is
    /// sampled, 0 for never. A flow of n segments sends n full segments of the kernel's. Raises
    /// `MidflightError` for what the lab cannot run.
    #[pyo3(signature = (*, congestion = vec![], sysctls = vec![], stack = "linux",
            multihomed = false, sample_ns = 0),
        text_signature = "(self, *, congestion=[], sysctls=[], stack=\"linux\", multihomed=False, sample_ns=0)")]
    fn lab_script(
        &self,
        congestion: Vec<String>,
        sysctls: Vec<(String, String)>,
        stack: &str,
        multihomed: bool,
        sample_ns: u64,
    ) -> PyResult<String> {
        let stack = match stack {
            "linux" => Stack::Linux,
            "midflight" => Stack::Midflight,
            _ => {
                let message = format!("no stack \"{stack}\"; expected linux or midflight");
                return Err(PyValueError::new_err(message));
            }
        };
        let guest = Guest {
            congestion,
            sysctls,
            sample: Duration::from_nanos(sample_ns),
            origin: lab::ORIGIN,
            stack,
            multihomed,
        };
        lab_script(&self.setup, &guest).map_err(refuse)
    }

    /// Return what was measured of this run as a kernel made it: flows and phases.
    ///
    /// `record` is the guest's record of packets, `scheme` what the tables have as scheme, that of
    /// each flow if it is None. The columns are those of `run_plans`; values that the kernel does
    /// not report are derived from the packets. `turns` has the turns of the flows whose sender is
    /// midflight's, by the flows' numbers. Raises `MidflightError` for a record that is not one of
    /// this run.
    #[pyo3(signature = (record, *, scheme = None, cell = 0, turns = BTreeMap::new()),
        text_signature = "(self, record, *, scheme=None, cell=0, turns={})")]
    #[allow(
        clippy::needless_pass_by_value,
        reason = "arguments of a Python function"
    )]
    fn lab_tables(
        &self,
        record: &[u8],
        scheme: Option<&str>,
        cell: usize,
        turns: BTreeMap<usize, Vec<u8>>,
    ) -> PyResult<(Table, Table)> {
        let recorded = Recorded {
            packets: record,
            turns: &turns,
        };
        let (digest, flows) = lab::replay_flows(&self.setup, recorded).map_err(refuse)?;
        let bytes = lab::segment_bytes(&self.setup, record).map_err(refuse)?;
        let each = self.setup.flow_infos().zip(bytes);
        let info = each.map(|(info, payload_bytes)| FlowInfo {
            scheme: scheme.unwrap_or(info.scheme),
            payload_bytes,
            ..info
        });
        let run = self.setup.run().unwrap_or(0);
        let run = ScenarioRun { run, digest, flows };
        let mut infos: Vec<Vec<FlowInfo<'_>>> = vec![info.collect()];
        let mut cells = vec![vec![run]];
        // Rows name the place of their scenario.
        for _ in 0..cell {
            infos.insert(0, Vec::new());
            cells.insert(0, Vec::new());
        }
        tables(&infos, &cells)
    }

    /// Return every event of a flow of this run as a kernel made it.
    ///
    /// The columns are those of `trace`. The events of the kernel's sender have the state that it
    /// reported with each packet. `turns` is as for `lab_tables`, `only` as for `trace`.
    #[pyo3(signature = (record, *, flow = None, turns = BTreeMap::new(), only = vec![]),
        text_signature = "(self, record, *, flow=None, turns={}, only=())")]
    #[allow(
        clippy::needless_pass_by_value,
        reason = "arguments of a Python function"
    )]
    fn lab_trace(
        &self,
        record: &[u8],
        flow: Option<&str>,
        turns: BTreeMap<usize, Vec<u8>>,
        only: Vec<String>,
    ) -> PyResult<Table> {
        let recorded = Recorded {
            packets: record,
            turns: &turns,
        };
        let found = lab::replay_trace(&self.setup, recorded, flow, &only).map_err(refuse)?;
        trace_table(found.0, &found.1).build()
    }

    /// Run the sender of the flow of this number in a guest, until it is done or the run over.
    ///
    /// The standard input is a packet socket; the script begins at `origin_ns` of the monotonic
    /// clock. The sender's turns go to the standard output. Raises `MidflightError` for a flow that
    /// midflight cannot send, OSError for a device that fails.
    fn lab_send(&self, flow: usize, origin_ns: u64) -> PyResult<()> {
        let mut sender = lab::OurSender::new(&self.setup, flow).map_err(refuse)?;
        send(&mut sender, Instant::from_nanos(origin_ns)).map_err(PyOSError::new_err)
    }

    /// Carry packets between devices of this machine over the links of this run, in real time.
    ///
    /// `devices` are numbers of nodes and of files that are open TUN devices; the run begins at
    /// `origin_ns` of the monotonic clock, and is over at its end or when there is something to
    /// read from the file `stop`. Returns the record of packets. Raises `MidflightError` for a
    /// run whose links cannot be emulated, OSError for a device that fails.
    #[allow(
        clippy::needless_pass_by_value,
        reason = "arguments of a Python function"
    )]
    fn lab_emulate(
        &self,
        py: Python<'_>,
        devices: Vec<(u16, i32)>,
        stop: i32,
        origin_ns: u64,
    ) -> PyResult<Cow<'static, [u8]>> {
        let emulator = lab::Emulator::new(&self.setup, false).map_err(refuse)?;
        let origin = Instant::from_nanos(origin_ns);
        let carried = py.detach(|| emulate(emulator, &devices, stop, origin));
        carried.map(Cow::Owned).map_err(PyOSError::new_err)
    }

    /// Have the links of this run for a guest, whose driver is at the other end of a socket.
    ///
    /// `file` is the number of that socket, which stays open; `multihomed` is as for
    /// `lab_script`. Returns the record of packets when the guest has ended. Raises
    /// `MidflightError` for a run whose links cannot be emulated, OSError for a socket that fails.
    #[pyo3(signature = (file, *, multihomed = false))]
    fn lab_serve(
        &self,
        py: Python<'_>,
        file: i32,
        multihomed: bool,
    ) -> PyResult<Cow<'static, [u8]>> {
        let served = py.detach(|| {
            let emulator = lab::Emulator::new(&self.setup, multihomed).map_err(refuse)?;
            serve(emulator, file).map_err(PyOSError::new_err)
        });
        served.map(Cow::Owned)
    }

    /// Return the bytes of data in a full segment of each flow as a kernel sent it.
    ///
    /// They are 0 of a flow that sent none.
    fn lab_payloads(&self, record: &[u8]) -> PyResult<Vec<u32>> {
        lab::segment_bytes(&self.setup, record).map_err(refuse)
    }

    /// Return events of a flow of this run as a kernel made it, as `events` does.
    ///
    /// For the kernel's own senders there are no causes, orders and states at an instant, which
    /// only a simulated run has. `turns` is as for `lab_tables`, the rest as for `events`.
    #[pyo3(signature = (record, *, flow = None, turns = BTreeMap::new(), at_ns = None, before = 0, after = 0,
            name = None, find = None),
        text_signature = "(self, record, *, flow=None, turns={}, at_ns=None, before=0, after=0, name=None, find=None)")]
    #[allow(
        clippy::needless_pass_by_value,
        clippy::too_many_arguments,
        reason = "arguments of a Python function"
    )]
    fn lab_events(
        &self,
        record: &[u8],
        flow: Option<&str>,
        turns: BTreeMap<usize, Vec<u8>>,
        at_ns: Option<u64>,
        before: usize,
        after: usize,
        name: Option<&str>,
        find: Option<&str>,
    ) -> PyResult<Events> {
        let recorded = Recorded {
            packets: record,
            turns: &turns,
        };
        let keep = keep(at_ns, before, after, name);
        let found = lab::replay_events(&self.setup, recorded, flow, keep, find).map_err(refuse)?;
        Ok(self.events_of(found))
    }

    /// Return the longest time without progress of a flow of this run as a kernel made it.
    ///
    /// It is as `stall` has it. `turns` is as for `lab_tables`.
    #[pyo3(signature = (record, *, flow = None, turns = BTreeMap::new()),
        text_signature = "(self, record, *, flow=None, turns={})")]
    #[allow(
        clippy::needless_pass_by_value,
        reason = "arguments of a Python function"
    )]
    fn lab_stall<'py>(
        &self,
        py: Python<'py>,
        record: &[u8],
        flow: Option<&str>,
        turns: BTreeMap<usize, Vec<u8>>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let recorded = Recorded {
            packets: record,
            turns: &turns,
        };
        let stall = lab::replay_stall(&self.setup, recorded, flow).map_err(refuse)?;
        stall.map(|stall| stall_entry(py, stall)).transpose()
    }

    /// Send the packets of this run as a kernel made it over its links again.
    ///
    /// Each packet that a device sent is sent at the same instant. `multihomed` is as for
    /// `lab_script`. `packets` is how many there are; `same` how many of them were delivered, or
    /// lost at the same link for the same cause, at the same instant; `lost` how many of these were
    /// lost; `most_late_ns` how much later than the links say a packet was given to its device at
    /// most; `differences` the first ten that are not the same, a sentence each. Raises
    /// `MidflightError` for a record that is not one of this run.
    #[pyo3(signature = (record, *, multihomed = false))]
    fn lab_links<'py>(
        &self,
        py: Python<'py>,
        record: &[u8],
        multihomed: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let check = py.detach(|| lab::check_links(&self.setup, record, multihomed));
        let check = check.map_err(refuse)?;
        let entry = PyDict::new(py);
        entry.set_item("packets", check.packets)?;
        entry.set_item("same", check.same)?;
        entry.set_item("lost", check.lost)?;
        entry.set_item("most_late_ns", check.most_late.as_nanos())?;
        entry.set_item("differences", check.differences)?;
        Ok(entry)
    }

    /// Return the packets of a flow of this run as a kernel made it, at sender and receiver.
    ///
    /// They are pcapng files with the kernel's headers and without data, by "sender" and
    /// "receiver".
    #[pyo3(signature = (record, *, flow = None, about = "Linux"))]
    fn lab_capture<'py>(
        &self,
        py: Python<'py>,
        record: &[u8],
        flow: Option<&str>,
        about: &str,
    ) -> PyResult<Bound<'py, PyDict>> {
        let seen = lab::record_captures(&self.setup, record, flow, about).map_err(refuse)?;
        captures(py, seen)
    }

    /// Return what a notebook shows: the flows, and throughput and queue over time.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let notebook = slf.py().import("midflight.notebook")?;
        notebook.call_method1("run_html", (slf,))
    }

    /// A hash of the setup and of the model's version: equal addresses have equal runs.
    #[getter]
    fn address(&self) -> String {
        self.setup.address()
    }

    /// Its number, where there are several.
    #[getter]
    fn run(&self) -> Option<u64> {
        self.setup.run()
    }

    /// Whether it runs to its end even if the measurement is complete before.
    #[getter]
    fn has_end(&self) -> bool {
        self.setup.has_end()
    }

    /// The places of captures, in addition to "sender" and "receiver".
    #[getter]
    fn places(&self) -> Vec<&str> {
        self.setup.places().collect()
    }

    /// The links that are shared at the base stations, each with its `name`, and the numbers of
    /// its `down` and `up` link in the table of links of `samples`.
    #[getter]
    fn access_links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for (name, down, up) in self.setup.access_links() {
            let entry = PyDict::new(py);
            entry.set_item("name", name)?;
            entry.set_item("down", down)?;
            entry.set_item("up", up)?;
            list.append(entry)?;
        }
        Ok(list)
    }

    /// When the run ends at the latest.
    #[getter]
    fn end_ns(&self) -> u64 {
        self.setup.end().as_nanos()
    }

    /// The flows, each with its name, scheme and direction, whether it is the mobile node's, and
    /// the bytes of data in a full segment.
    #[getter]
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        flow_entries(py, self.setup.flow_infos())
    }

    /// The handoffs, and the changes of the link that the mobile node is on.
    #[getter]
    fn path_changes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        path_changes(py, self.setup.path_changes())
    }

    /// From when to when, in nanoseconds, the recording that the link in use follows has a
    /// downward rate of zero. For a Mahimahi file these are the times without an opportunity of at
    /// least 0.2 s and ten times the mean distance of two.
    #[getter]
    fn outages(&self) -> Vec<(u64, u64)> {
        let found = self.setup.outages().into_iter();
        found
            .map(|one| (one.from.as_nanos(), one.until.as_nanos()))
            .collect()
    }

    /// The same with the name of the link, and whether packets are lost then; otherwise they
    /// wait.
    #[getter]
    fn link_outages(&self) -> Vec<(u64, u64, String, bool)> {
        let found = self.setup.outages().into_iter();
        found
            .map(|one| {
                let (from, until) = (one.from.as_nanos(), one.until.as_nanos());
                (from, until, one.link.into(), one.loses)
            })
            .collect()
    }

    /// The rates of the links that follow a recording in steps: by the number of the link (as in
    /// `access_links`) the instants in nanoseconds from which it has which rate in bit/s. Those of
    /// delivery opportunities are means of at most 20,000 equal times.
    #[getter]
    fn recorded_rates(&self) -> BTreeMap<usize, (Vec<u64>, Vec<f64>)> {
        let each = self.setup.recorded_rates().into_iter();
        let apart = |steps: Vec<(Instant, f64)>| {
            let steps = steps.into_iter();
            steps.map(|(at, bps)| (at.as_nanos(), bps)).unzip()
        };
        each.map(|(link, steps)| (link, apart(steps))).collect()
    }

    /// Return every event of a flow of the run.
    ///
    /// The columns are `time_ns`, `event`, `value`, `detail`, and what is empty for other events:
    /// `by` is who changed a window ("handshake", "controller", "recovery", "timeout", "idle",
    /// "path" or the part whose order it was), or who gave an order; `link` is where a segment
    /// arrived or a packet was lost, `packet` what was lost (data, ack or datagram), `cause` why
    /// (queue, break, radio or node); `order` and `reason` are those of an order; `sent_ns` is
    /// when this copy of a segment was sent, or of an ACK the segment that caused it, and `bytes`
    /// the size of a packet on the wire.
    ///
    /// `flow` is its name; the first flow if it is None. `from_ns` and `only` leave out what
    /// happens before, and all but the events of these names. The run ends at `until_ns`, if that
    /// is before its own end.
    #[pyo3(signature = (*, flow = None, from_ns = 0, until_ns = None, only = vec![]),
        text_signature = "(self, *, flow=None, from_ns=0, until_ns=None, only=[])")]
    #[allow(
        clippy::needless_pass_by_value,
        reason = "arguments of a Python function"
    )]
    fn trace(
        &self,
        py: Python<'_>,
        flow: Option<&str>,
        from_ns: u64,
        until_ns: Option<u64>,
        only: Vec<String>,
    ) -> PyResult<Table> {
        let from = Instant::from_nanos(from_ns);
        let setup = &self.until(until_ns);
        let (found, digest) =
            self.interruptible(py, |go_on| trace_columns(setup, flow, from, &only, go_on))?;
        trace_table(found, &digest).build()
    }

    /// Return the links and the senders of the run at equal intervals: two tables.
    ///
    /// The links' columns are `time_ns`, `link`, `number` (of the link; names may be alike),
    /// `packets` (those that wait and the one in transmission), `least`, `most` and `mean` (packets
    /// since the sample before; the mean is of eight observations), `bytes`, `rate_bps`, `delay_ns`
    /// (one way), and `up` (0 while the link is down or paused). The senders' are `time_ns`,
    /// `flow`, `cwnd`, `ssthresh` (inf if a kernel has set none), `pipe` (the sender's estimate of
    /// the segments in the network), `flight` (sent and not acknowledged), `srtt_ns` and `rto_ns`;
    /// windows are segments. A flow that has sent nothing has no rows.
    ///
    /// Without `every_ns` there are 4,096 to 8,192 samples, of less than half a second fewer. The
    /// first one is at `from_ns`, and the run ends at `until_ns`, if that is before its own end.
    /// Raises `MidflightError` for an interval below 8 ns, or for more than 20 million rows.
    #[pyo3(signature = (*, every_ns = None, from_ns = 0, until_ns = None))]
    fn samples(
        &self,
        py: Python<'_>,
        every_ns: Option<u64>,
        from_ns: u64,
        until_ns: Option<u64>,
    ) -> PyResult<(Table, Table)> {
        let how = sampling(every_ns, from_ns, until_ns);
        let (found, digest) = self.interruptible(py, |go_on| samples(&self.setup, how, go_on))?;
        sample_tables(&found, &self.setup, &digest)
    }

    /// Return the packets of each flow that wait at links with a queue for each flow, at
    /// the instants of `samples`.
    ///
    /// The columns are `time_ns`, `link`, `number` (of the link), `flow` (empty for cross
    /// traffic) and `packets`, without the one in transmission. At each instant
    /// all flows up to the highest number that has had packets at the link have rows, with 0
    /// if none wait. Links without such queues have no rows (fq-codel has them).
    #[pyo3(signature = (*, every_ns = None, from_ns = 0, until_ns = None))]
    fn backlogs(
        &self,
        py: Python<'_>,
        every_ns: Option<u64>,
        from_ns: u64,
        until_ns: Option<u64>,
    ) -> PyResult<Table> {
        let how = sampling(every_ns, from_ns, until_ns);
        let (found, digest) = self.interruptible(py, |go_on| samples(&self.setup, how, go_on))?;
        backlog_table(&found, &self.setup, &digest)
    }

    /// Return the links and the senders of this run as a kernel made it, as `samples` does.
    ///
    /// The links are the simulator's, over which the packets are replayed; a kernel's sender has a
    /// row for each packet that it sent, one of midflight's has none.
    #[pyo3(signature = (record, *, every_ns = None, from_ns = 0, until_ns = None))]
    fn lab_samples(
        &self,
        py: Python<'_>,
        record: &[u8],
        every_ns: Option<u64>,
        from_ns: u64,
        until_ns: Option<u64>,
    ) -> PyResult<(Table, Table)> {
        let how = sampling(every_ns, from_ns, until_ns);
        let replay = |go_on: GoOn<'_>| Ok(lab::replay_samples(&self.setup, record, how, go_on));
        let found = self.interruptible(py, replay)?.map_err(refuse)?;
        sample_tables(&found, &self.setup, "")
    }

    /// Return the packets of each flow at links, as `backlogs` does, of a run by a kernel.
    #[pyo3(signature = (record, *, every_ns = None, from_ns = 0, until_ns = None))]
    fn lab_backlogs(
        &self,
        py: Python<'_>,
        record: &[u8],
        every_ns: Option<u64>,
        from_ns: u64,
        until_ns: Option<u64>,
    ) -> PyResult<Table> {
        let how = sampling(every_ns, from_ns, until_ns);
        let replay = |go_on: GoOn<'_>| Ok(lab::replay_samples(&self.setup, record, how, go_on));
        let found = self.interruptible(py, replay)?.map_err(refuse)?;
        backlog_table(&found, &self.setup, "")
    }

    /// Return every event of a flow of the run with its cause.
    ///
    /// Beside the columns of `trace`: `segment`, which caused an ACK; `sent_ns`, when this copy of
    /// a segment was sent, or the segment that caused the ACK; `since_ns`, when an ACK left the
    /// receiver or a deadline was set; `sack`, the blocks of an ACK as "first-last first-last".
    /// Events beside those of `trace`: "ack_sent" at the receiver, with "delayed" or "signal" if no
    /// arrival sent it at once; "wake", when a deadline of the sender comes, with whose it is;
    /// "dupacks", as the sender counts them; "srtt".
    #[pyo3(signature = (*, flow = None))]
    fn causes(&self, py: Python<'_>, flow: Option<&str>) -> PyResult<Table> {
        let found = self.interruptible(py, |go_on| {
            explain(&self.setup, flow, Keep::All, None, true, go_on)
        })?;
        cause_columns(&found).build()
    }

    /// Return events of a flow of the run with their causes, for `midflight.explain`.
    ///
    /// With `at_ns` they are the last `before` events up to that instant and the first `after`
    /// later ones; with `name` all of that name; else all. `find` is the name of an event: the last
    /// one up to `at_ns` is looked for. Without `to_end` the run ends when the events are there,
    /// and there is no digest.
    #[pyo3(signature = (*, flow = None, at_ns = None, before = 0, after = 0, name = None,
        find = None, to_end = true))]
    #[allow(
        clippy::too_many_arguments,
        reason = "keyword arguments of a Python function"
    )]
    fn events(
        &self,
        py: Python<'_>,
        flow: Option<&str>,
        at_ns: Option<u64>,
        before: usize,
        after: usize,
        name: Option<&str>,
        find: Option<&str>,
        to_end: bool,
    ) -> PyResult<Events> {
        let keep = keep(at_ns, before, after, name);
        let found = self.interruptible(py, |go_on| {
            explain(&self.setup, flow, keep, find, to_end, go_on)
        })?;
        Ok(self.events_of(found))
    }

    /// Return the longest time without progress of a flow of the run: `from_ns`, `until_ns` and
    /// the `digest` of the run; None if the flow sent nothing.
    #[pyo3(signature = (*, flow = None))]
    fn stall<'py>(
        &self,
        py: Python<'py>,
        flow: Option<&str>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let stall = self.interruptible(py, |go_on| stall_of(&self.setup, flow, go_on))?;
        stall.map(|stall| stall_entry(py, stall)).transpose()
    }

    /// Compare the run with another, flow by flow.
    ///
    /// Returns both digests, and for each flow how many events are the same and where the runs part
    /// (None if they do not): `at_ns`; `events`, the number and the instant of the first event of
    /// each that the other has not; `last`, the number of the last event before in this run;
    /// `orders` of each up to then that the other was not given, as rows.
    #[pyo3(signature = (other, flows, *))]
    #[allow(
        clippy::needless_pass_by_value,
        reason = "arguments of a Python function"
    )]
    fn compare<'py>(
        &self,
        py: Python<'py>,
        other: &Bound<'py, Self>,
        flows: Vec<String>,
    ) -> PyResult<(Vec<String>, Bound<'py, PyList>)> {
        let other = other.get();
        let failures = [self.failures.clone(), other.failures.clone()];
        let setups = [&self.setup, &other.setup];
        let found = interruptible(py, &failures, |go_on| compare(setups, &flows, go_on))?;
        let list = PyList::empty(py);
        for (common, parted) in found.flows {
            let parted = parted.map(|parted| parted_entry(py, parted)).transpose()?;
            list.append((common, parted))?;
        }
        Ok((found.digests.to_vec(), list))
    }

    /// Return the sender of a flow of the run as it is after everything before `at_ns`.
    ///
    /// Windows are in segments, times in nanoseconds.
    #[pyo3(signature = (at_ns, *, flow = None))]
    fn sender<'py>(
        &self,
        py: Python<'py>,
        at_ns: u64,
        flow: Option<&str>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let at = Instant::from_nanos(at_ns);
        let then = py.detach(|| sender_of(&self.setup, flow, at));
        self.failures.raise()?;
        sender_entry(py, &then.map_err(refuse)?)
    }

    /// Return the qlog that a flow's QUIC stack writes at the end that sends the data.
    ///
    /// None for a flow without one. It is text in the stack's own version of the format (of quinn
    /// qlog 0.3, JSON text sequences), with times from the start of the run. `flow` is as for
    /// `trace`.
    #[pyo3(signature = (*, flow = None))]
    fn stack_log<'py>(
        &self,
        py: Python<'py>,
        flow: Option<&str>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let log = self.interruptible(py, |go_on| stack_log(&self.setup, flow, go_on))?;
        Ok(log.map(|log| PyBytes::new(py, &log)))
    }

    /// Return the packets of the run: pcapng files by the place of the capture.
    ///
    /// The places are "sender" and "receiver" of the flow, and the places of the network: the base
    /// station of each access link by the link's name ("bs1" and "bs2" of a handoff, "station0" and
    /// so on of a roaming node), "radio" or "bottleneck". Of each packet there are the first
    /// `snaplen` bytes; 0 keeps all, the payload of zeros included. Orders, timeouts, losses, break
    /// and make are comments of packets. A handoff mark is a TCP option for experiments (kind 253,
    /// RFC 6994) with identifier 0x4d46, the mark's number (2 bytes) and when it was sent in ms (4
    /// bytes). The capture ends at `until_ns`, if that is before the end of the run.
    #[pyo3(signature = (*, flow = None, until_ns = None, snaplen = 128))]
    fn capture<'py>(
        &self,
        py: Python<'py>,
        flow: Option<&str>,
        until_ns: Option<u64>,
        snaplen: u32,
    ) -> PyResult<Bound<'py, PyDict>> {
        let setup = &self.until(until_ns);
        let (seen, _) = self.interruptible(py, |go_on| capture(setup, flow, snaplen, go_on))?;
        captures(py, seen)
    }
}

/// When samples are taken, from the arguments in nanoseconds.
fn sampling(every_ns: Option<u64>, from_ns: u64, until_ns: Option<u64>) -> Sampling {
    Sampling {
        every: every_ns.map(Duration::from_nanos),
        from: Instant::from_nanos(from_ns),
        until: until_ns.map_or(Instant::NEVER, Instant::from_nanos),
    }
}

impl Setup {
    pub(crate) fn new(setup: midflight_study::Setup, failures: Failures) -> Self {
        Self { setup, failures }
    }

    /// A setup without policies of Python's.
    pub(crate) fn plain(setup: midflight_study::Setup) -> Self {
        Self::new(setup, Failures::default())
    }

    /// The same with an earlier end, if there is one.
    fn until(&self, until_ns: Option<u64>) -> midflight_study::Setup {
        let until = until_ns.map_or(Instant::NEVER, Instant::from_nanos);
        self.setup.until(until)
    }

    fn events_of(&self, found: Explained) -> Events {
        Events::new(self.setup.clone(), self.failures.clone(), found)
    }

    fn interruptible<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(GoOn<'_>) -> Result<T, StudyError> + Send,
    ) -> PyResult<T> {
        interruptible(py, std::slice::from_ref(&self.failures), work)
    }
}
