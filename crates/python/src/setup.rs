//! `Setup`: one run of any question, and everything that can be asked of it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use midflight_study::lab::{self, lab_script, Guest, Recorded};
use midflight_study::scenario::{ScenarioRun, Stack};
use midflight_study::{
    capture, compare, explain, sender_of, stall_of, trace, Divergence, Explained, FlowInfo, GoOn,
    Keep, KeptEvents, PathChange, SenderThen, Stall, StudyError, TraceRow,
};
use midflight_tcp::Author;
use midflight_units::{Duration, Instant};
use pyo3::exceptions::{PyIndexError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3::PyClass;

use crate::estimation::Probe;
use crate::long_flow::LongFlow;
use crate::policy::Failures;
use crate::roaming::Roaming;
use crate::scenario::tables;
use crate::startup::Startup;
use crate::table::{Table, TableBuilder};
use crate::{captures, interruptible, nanos, refuse, trace_columns, trace_table, HandoffSweep};

/// One run, complete: a network, its flows, and everything that happens to them from outside.
///
/// `Setup.handoff`, `Setup.flow`, `Setup.roam`, `Setup.startup`, `Setup.probe` and `Plan.setup`
/// make one. The run ends where it ends when it is measured, with the same digest.
#[pyclass(frozen, module = "midflight")]
pub(crate) struct Setup {
    setup: midflight_study::Setup,
    failures: Failures,
}

#[cfg(target_os = "linux")]
fn send(sender: &mut lab::OurSender, origin: Instant) -> Result<(), String> {
    use std::io::Write;

    let said = |error: std::io::Error| error.to_string();
    let mut device = midflight_lab::Device::of_stdin(origin).map_err(said)?;
    let turns = lab::drive(sender, &mut device)?;
    let mut out = std::io::stdout();
    out.write_all(&turns)
        .and_then(|()| out.flush())
        .map_err(said)
}

#[cfg(target_os = "linux")]
fn emulate(
    emulator: lab::Emulator,
    devices: &[(u16, i32)],
    stop: i32,
    origin: Instant,
) -> Result<Vec<u8>, String> {
    let said = |error: midflight_lab::HostError| error.to_string();
    let handed = midflight_lab::Handed::new(devices, stop).map_err(said)?;
    midflight_lab::emulate(emulator, &handed, origin).map_err(said)
}

#[cfg(not(target_os = "linux"))]
fn emulate(_: lab::Emulator, _: &[(u16, i32)], _: i32, _: Instant) -> Result<Vec<u8>, String> {
    Err("the lab is for Linux".into())
}

#[cfg(not(target_os = "linux"))]
fn send(_: &mut lab::OurSender, _: Instant) -> Result<(), String> {
    Err("the lab is for Linux".into())
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
    /// where flows have the stack "linux", for their own schemes. `sysctls` are names and values
    /// of settings of the kernel at both ends of each flow. `stack` says whose senders the flows
    /// have: "linux" or "midflight". With `multihomed` there is beside the mobile node one that has
    /// an interface on each link. With `sample_ns` each of the kernel's senders tells its state
    /// (TCP_INFO) so often, 0 for never. Of a flow of n segments n full segments of the kernel's
    /// are sent. Raises `MidflightError` for what the lab cannot run.
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
    /// each flow if it is None. The columns are those of `run_plans`; what the kernel does not tell
    /// of itself is known from the packets. `turns` has the turns of the flows whose sender is
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
        let each = self.setup.flows_told().zip(bytes);
        let told = each.map(|(told, payload_bytes)| FlowInfo {
            scheme: scheme.unwrap_or(told.scheme),
            payload_bytes,
            ..told
        });
        let run = self.setup.run().unwrap_or(0);
        let run = ScenarioRun { run, digest, flows };
        let mut told: Vec<Vec<FlowInfo<'_>>> = vec![told.collect()];
        let mut cells = vec![vec![run]];
        // Rows name the place of their scenario.
        for _ in 0..cell {
            told.insert(0, Vec::new());
            cells.insert(0, Vec::new());
        }
        tables(&told, &cells)
    }

    /// Return every event of a flow of this run as a kernel made it.
    ///
    /// The columns are those of `trace`. Of the kernel's sender the events say what it told
    /// whenever it sent a packet. `turns` is as for `lab_tables`.
    #[pyo3(signature = (record, *, flow = None, turns = BTreeMap::new()),
        text_signature = "(self, record, *, flow=None, turns={})")]
    #[allow(
        clippy::needless_pass_by_value,
        reason = "arguments of a Python function"
    )]
    fn lab_trace(
        &self,
        record: &[u8],
        flow: Option<&str>,
        turns: BTreeMap<usize, Vec<u8>>,
    ) -> PyResult<Table> {
        let recorded = Recorded {
            packets: record,
            turns: &turns,
        };
        let (rows, digest) = lab::replay_trace(&self.setup, recorded, flow).map_err(refuse)?;
        trace_table(&rows, &digest)
    }

    /// Be the sender of the flow of this number in a guest, until it is done or the run over.
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
        let emulator = lab::Emulator::new(&self.setup).map_err(refuse)?;
        let origin = Instant::from_nanos(origin_ns);
        let carried = py.detach(|| emulate(emulator, &devices, stop, origin));
        carried.map(Cow::Owned).map_err(PyOSError::new_err)
    }

    /// Return the bytes of data in a full segment of each flow as a kernel sent it.
    ///
    /// They are 0 of a flow that sent none.
    fn lab_payloads(&self, record: &[u8]) -> PyResult<Vec<u32>> {
        lab::segment_bytes(&self.setup, record).map_err(refuse)
    }

    /// Return every event of a flow of this run as a kernel made it, as `events` does.
    ///
    /// What only a simulated run knows is not there: causes, orders, the sender at an instant.
    /// `turns` is as for `lab_tables`.
    #[pyo3(signature = (record, *, flow = None, turns = BTreeMap::new()),
        text_signature = "(self, record, *, flow=None, turns={})")]
    #[allow(
        clippy::needless_pass_by_value,
        reason = "arguments of a Python function"
    )]
    fn lab_events(
        &self,
        record: &[u8],
        flow: Option<&str>,
        turns: BTreeMap<usize, Vec<u8>>,
    ) -> PyResult<Events> {
        let recorded = Recorded {
            packets: record,
            turns: &turns,
        };
        let found = lab::replay_events(&self.setup, recorded, flow).map_err(refuse)?;
        let ways = EventsByPacket::of(&found.kept);
        Ok(Events {
            setup: self.setup.clone(),
            failures: self.failures.clone(),
            found,
            ways,
        })
    }

    /// Send the packets of this run as a kernel made it over the simulator's own links.
    ///
    /// Each packet that a device of the guest sent is sent at the same instant. `packets` is how
    /// many there are; `same` how many of them were delivered, or lost at the same link for the
    /// same cause, at the same instant (to 1 ns); `lost` how many of these were lost;
    /// `most_apart_ns` the most that the same ones are apart; `differences` the first ten that are
    /// not, a sentence each. Raises `MidflightError` for a record that is not one of this run.
    fn lab_links<'py>(&self, py: Python<'py>, record: &[u8]) -> PyResult<Bound<'py, PyDict>> {
        let check = py.detach(|| lab::check_links(&self.setup, record));
        let check = check.map_err(refuse)?;
        let entry = PyDict::new(py);
        entry.set_item("packets", check.packets)?;
        entry.set_item("same", check.same)?;
        entry.set_item("lost", check.lost)?;
        entry.set_item("most_apart_ns", check.most_apart.as_nanos())?;
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

    /// A hash of all of it and of the model's version: equal addresses have equal runs.
    #[getter]
    fn address(&self) -> String {
        self.setup.address()
    }

    /// Its number, where there are several.
    #[getter]
    fn run(&self) -> Option<u64> {
        self.setup.run()
    }

    /// Whether it goes on to its end, whatever is measured before.
    #[getter]
    fn has_end(&self) -> bool {
        self.setup.has_end()
    }

    /// Where there are captures, beside "sender" and "receiver".
    #[getter]
    fn places(&self) -> Vec<&str> {
        self.setup.places().collect()
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
        flow_entries(py, self.setup.flows_told())
    }

    /// The handoffs, and the changes of the link that the mobile node is on.
    #[getter]
    fn path_changes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        path_changes(py, self.setup.path_changes())
    }

    /// Return every event of a flow of the run.
    ///
    /// The columns are `time_ns`, `event`, `value`, `detail`, and what is empty for other events:
    /// `by` is who changed a window ("handshake", "controller", "recovery", "timeout", "idle" or
    /// the part whose order it was), or who gave an order; `link` is where a segment arrived or a
    /// packet was lost, `packet` what was lost (data, ack or datagram), `cause` why (queue, break,
    /// radio or node); `order` and `reason` are those of an order.
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
        let (rows, digest) =
            self.interruptible(py, |go_on| trace(setup, flow, from, &only, go_on))?;
        trace_table(&rows, &digest)
    }

    /// Return every event of a flow of the run with what led to it.
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

    /// Return events of a flow of the run with what led to each, for `midflight.explain`.
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
        let keep = match (at_ns.map(Instant::from_nanos), name) {
            (Some(at), _) => Keep::Around { at, before, after },
            (None, Some(name)) => Keep::Named(name.into()),
            (None, None) => Keep::All,
        };
        let found = self.interruptible(py, |go_on| {
            explain(&self.setup, flow, keep, find, to_end, go_on)
        })?;
        let ways = EventsByPacket::of(&found.kept);
        Ok(Events {
            setup: self.setup.clone(),
            failures: self.failures.clone(),
            found,
            ways,
        })
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
        let entry = |stall: Stall| {
            let entry = PyDict::new(py);
            entry.set_item("from_ns", stall.from.as_nanos())?;
            entry.set_item("until_ns", stall.until.as_nanos())?;
            entry.set_item("digest", stall.digest)?;
            Ok(entry)
        };
        stall.map(entry).transpose()
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

    /// Return what the run looks like on the wire: pcapng files by the place of the capture.
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

    fn interruptible<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(GoOn<'_>) -> Result<T, StudyError> + Send,
    ) -> PyResult<T> {
        interruptible(py, std::slice::from_ref(&self.failures), work)
    }
}

pub(crate) fn direction_name(up: bool) -> &'static str {
    if up {
        "up"
    } else {
        "down"
    }
}

/// Flows for Python.
pub(crate) fn flow_entries<'py, 'a>(
    py: Python<'py>,
    flows: impl Iterator<Item = FlowInfo<'a>>,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for flow in flows {
        let entry = PyDict::new(py);
        entry.set_item("name", flow.name)?;
        entry.set_item("scheme", flow.scheme)?;
        entry.set_item("direction", direction_name(flow.up))?;
        entry.set_item("moves", flow.moves)?;
        entry.set_item("payload_bytes", flow.payload_bytes)?;
        list.append(entry)?;
    }
    Ok(list)
}

/// Handoffs and changes for Python.
pub(crate) fn path_changes<'py>(
    py: Python<'py>,
    changes: &[PathChange],
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for one in changes {
        let entry = PyDict::new(py);
        entry.set_item("kind", if one.is_change { "change" } else { "handoff" })?;
        entry.set_item("from_link", &one.links.0)?;
        entry.set_item("to_link", &one.links.1)?;
        entry.set_item("at_ns", one.at.as_nanos())?;
        entry.set_item("make_ns", one.make.as_nanos())?;
        entry.set_item("breaks", one.breaks)?;
        entry.set_item("told_ns", one.told.map(Instant::as_nanos))?;
        entry.set_item("told_wrong", one.told_wrong)?;
        list.append(entry)?;
    }
    Ok(list)
}

/// Events of a flow of a run with what led to each.
#[pyclass(frozen, module = "midflight")]
pub(crate) struct Events {
    setup: midflight_study::Setup,
    failures: Failures,
    found: Explained,
    ways: EventsByPacket,
}

/// A segment, when this copy of it was sent, or of an ACK when it left, and the ACK's number.
type Packet = (Option<u64>, Option<u64>, u64);

/// Numbers of events by the packet that they are of.
#[derive(Default)]
struct EventsByPacket {
    sent: BTreeMap<u64, Vec<u64>>,
    /// By the name of the event; of several the first.
    others: BTreeMap<(&'static str, Packet), u64>,
}

impl EventsByPacket {
    fn of(kept: &KeptEvents) -> Self {
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
                "drop" if row.lost.is_some_and(|lost| lost.packet.kind() == "data") => {
                    ("data drop", data)
                }
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

/// An event: its number, `time_ns`, `event`, `value`, `detail`, the columns of `Setup.causes`, who
/// changed a window or gave an order, and the order.
type EventFields<'a> = (
    u64,
    u64,
    &'static str,
    f64,
    &'a str,
    Option<u64>,
    Option<u64>,
    Option<u64>,
    &'a str,
    Option<&'static str>,
    Option<OrderFields>,
    Option<LinkFields<'a>>,
);

/// Where a segment arrived or a packet was lost: the link, and of a loss what was lost and the cause.
type LinkFields<'a> = (&'a str, Option<&'static str>, Option<&'static str>);

fn link_fields(row: &TraceRow) -> Option<LinkFields<'_>> {
    let link = row.link.as_deref()?;
    let packet = row.lost.map(|lost| lost.packet.kind());
    Some((link, packet, row.lost.map(|lost| lost.cause.name())))
}

/// An order: its name, what it says, and why it was given.
type OrderFields = (&'static str, String, String);

fn order_fields(row: &TraceRow) -> Option<OrderFields> {
    let ordered = row.ordered.as_deref()?;
    let (name, what) = (ordered.order.name(), ordered.order.to_string());
    Some((name, what, ordered.reason.clone()))
}

/// What is known of a sender before an event.
type SenderFields = (
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

    fn told(&self, place: usize) -> EventFields<'_> {
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
            row.by.map(Author::name),
            order_fields(row),
            link_fields(row),
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

    /// Return all events, each as its number, `time_ns`, `event`, `value`, `detail`, what else
    /// `Setup.causes` has of it (`segment`, `sent_ns`, `since_ns`, `sack`), `by`, of an order its
    /// name, what it says and why it was given, and the link, with what was lost and the cause.
    fn rows(&self) -> Vec<EventFields<'_>> {
        let all = 0..self.found.kept.rows.len();
        all.map(|place| self.told(place)).collect()
    }

    /// Return the event of a number. Raises `IndexError` for one that is not there.
    fn row(&self, number: u64) -> PyResult<EventFields<'_>> {
        Ok(self.told(self.place(number)?))
    }

    /// Return the number of the event that reached the sender and led to this one.
    fn head(&self, number: u64) -> PyResult<Option<u64>> {
        Ok(self.found.kept.places[self.place(number)?].head)
    }

    /// Return the sender before an event: `cwnd`, `ssthresh`, `rto`, `min_rto`, `backoff`,
    /// `una`, `max`, `duplicates`, `closed`, and the numbers of the fast retransmit and of the
    /// timeout from which it has not recovered.
    fn sender_before(&self, number: u64) -> PyResult<SenderFields> {
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

    /// Return the sender as `Setup.sender` does; soon, if `at_ns` is near the events.
    fn sender<'py>(&self, py: Python<'py>, at_ns: u64) -> PyResult<Bound<'py, PyDict>> {
        let at = Instant::from_nanos(at_ns);
        let then = py.detach(|| self.found.sender(&self.setup, at));
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

fn parted_entry(py: Python<'_>, parted: Divergence) -> PyResult<Bound<'_, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("at_ns", parted.at.as_nanos())?;
    let events = parted.events.map(|e| e.map(|(n, at)| (n, at.as_nanos())));
    entry.set_item("events", events.to_vec())?;
    entry.set_item("last", parted.last)?;
    let row = |(number, row): (u64, TraceRow)| {
        let (by, ordered) = (row.by.map(Author::name), order_fields(&row));
        (number, row.at.as_nanos(), row.detail, by, ordered)
    };
    let orders = parted
        .orders
        .map(|one| one.into_iter().map(row).collect::<Vec<_>>());
    entry.set_item("orders", orders.to_vec())?;
    Ok(entry)
}

/// The columns of `Setup.causes`.
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
