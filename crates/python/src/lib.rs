//! The Python module `midflight._core`: the one place that knows Python and Arrow.

mod controller;
mod described;
mod drill;
mod errors;
mod estimation;
mod events;
mod files;
mod foreign;
mod interrupt;
mod lab_host;
mod long_flow;
mod policy;
mod recording;
mod roaming;
mod samples;
mod scenario;
mod setup;
mod startup;
mod table;
mod view;

use std::collections::BTreeMap;
use std::str::FromStr;

use midflight_control::congestion::CONGESTION_CONTROLLERS;
use midflight_control::dupack::DUPACK_RESPONSES;
use midflight_control::loss::LOSS_CLASSIFIERS;
use midflight_control::part::{Knob, PartInfo};
use midflight_control::policy::{a1_min_rto, Policy, POLICIES};
use midflight_control::signal::HANDOFF_SIGNALS;
use midflight_control::spurious::SPURIOUS_DETECTORS;
use midflight_control::workload::{AnyWorkload, Unit, WORKLOADS};
use midflight_control::{Interests, LinkInfo, Notice};
use midflight_sim::agent::AGENTS;
use midflight_sim::Scripted;
use midflight_study::{
    run_sweeps, schemes, Capture, Execution, Flows, Handoff, HandoffKind, HandoffRow, QuicStack,
    StudyError, TraceColumns, MODEL_VERSION,
};
use midflight_tcp::{profile, State, MIGRATIONS, PROFILES, SETTINGS, TRANSITIONS};
use midflight_units::{parse_instants as read_instants, Duration, Instant, Rate};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::errors::refuse;
pub(crate) use crate::errors::MidflightError;
use crate::estimation::{run_probes, Probe};
use crate::interrupt::with_progress;
use crate::long_flow::{run_flows, LongFlow, Radio};
use crate::policy::{policies_of, Failures};
use crate::roaming::{run_nodes, Roaming};
use crate::startup::{run_all_startups, Startup};
use crate::table::{Table, TableBuilder};

/// A link in Python: rate in bit/s and one-way delay in nanoseconds, or a text
/// such as "6400 kbit/s, 9 ms".
#[derive(FromPyObject)]
enum Link {
    Numbers(u64, u64),
    Text(String),
}

fn link(of: Link) -> PyResult<LinkInfo> {
    let (rate, delay) = match of {
        Link::Numbers(rate, delay) => (rate, delay),
        Link::Text(text) => read_link(&text)?,
    };
    let rate = Rate::from_bps(rate).ok_or_else(|| {
        refuse(StudyError::Range {
            what: "the rate of a link",
            value: "0 bit/s".into(),
            accepted: "1 bit/s or more",
        })
    })?;
    Ok(LinkInfo {
        rate,
        delay: Duration::from_nanos(delay),
    })
}

/// Read "6400 kbit/s, 9 ms" as (bit/s, nanoseconds).
#[pyfunction]
fn parse_link(text: &str) -> PyResult<(u64, u64)> {
    read_link(text)
}

fn read_link(text: &str) -> PyResult<(u64, u64)> {
    let Some((rate, delay)) = text.split_once(',') else {
        return Err(refuse(StudyError::Link { text: text.into() }));
    };
    let rate = Rate::from_str(rate.trim()).map_err(refuse)?;
    let delay = Duration::from_str(delay.trim()).map_err(refuse)?;
    Ok((rate.as_bps(), delay.as_nanos()))
}

/// Read "500ms" as nanoseconds.
#[pyfunction]
fn parse_duration(text: &str) -> PyResult<u64> {
    Duration::from_str(text)
        .map(Duration::as_nanos)
        .map_err(refuse)
}

/// Read "8.2s", "1s,2s" or "0.1s:20s:0.1s" (end included) as nanoseconds.
#[pyfunction]
fn parse_instants(text: &str) -> PyResult<Vec<u64>> {
    let instants = read_instants(text).map_err(refuse)?;
    Ok(instants.into_iter().map(Instant::as_nanos).collect())
}

/// Return the bandwidth-delay product of a link by its own round trip, in 1500-byte packets.
#[pyfunction]
fn bdp_packets(of: Link) -> PyResult<u64> {
    Ok(link(of)?.bdp_packets())
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e6
}

/// Return the minimum RTO of A1's case 1, 2 or 3 in milliseconds.
#[pyfunction]
fn a1_min_rto_ms(case: u32, old: Link, new: Link, flight_size: u64) -> PyResult<f64> {
    let notice = Notice {
        old: link(old)?,
        new: link(new)?,
        flows: 1,
    };
    Ok(milliseconds(a1_min_rto(case, &notice, flight_size)))
}

fn knob_list<'py>(py: Python<'py>, knobs: &[Knob]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for knob in knobs {
        let entry = PyDict::new(py);
        entry.set_item("name", knob.name)?;
        entry.set_item("default", knob.default)?;
        entry.set_item("accepts", knob.accepts)?;
        entry.set_item("summary", knob.summary)?;
        list.append(entry)?;
    }
    Ok(list)
}

/// Return every sender configuration by name.
#[pyfunction(name = "schemes")]
fn list_schemes(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for scheme in schemes() {
        let entry = PyDict::new(py);
        entry.set_item("name", scheme.name)?;
        entry.set_item("summary", scheme.summary)?;
        entry.set_item("source", scheme.source)?;
        entry.set_item("parts", scheme.parts.to_vec())?;
        list.append(entry)?;
    }
    Ok(list)
}

fn part_list<'py>(py: Python<'py>, parts: &[PartInfo]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for part in parts {
        let entry = PyDict::new(py);
        entry.set_item("name", part.name)?;
        entry.set_item("summary", part.summary)?;
        entry.set_item("source", part.source)?;
        entry.set_item("knobs", knob_list(py, part.knobs)?)?;
        list.append(entry)?;
    }
    Ok(list)
}

/// Return every policy with its knobs.
#[pyfunction]
fn policies(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = part_list(py, POLICIES)?;
    for (entry, info) in list.iter().zip(POLICIES) {
        let marks =
            Policy::named(info.name).is_some_and(|p| p.interests().includes(Interests::MARKS));
        entry.set_item("heeds", if marks { "marks" } else { "notices" })?;
    }
    Ok(list)
}

/// Return every congestion controller with its knobs.
#[pyfunction]
fn controllers(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    part_list(py, CONGESTION_CONTROLLERS)
}

/// Return every response to duplicate ACKs with its knobs.
#[pyfunction]
fn responses(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    part_list(py, DUPACK_RESPONSES)
}

/// Return every loss classifier with its knobs.
#[pyfunction]
fn classifiers(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    part_list(py, LOSS_CLASSIFIERS)
}

/// Return every detector of spurious retransmissions with its knobs.
#[pyfunction]
fn detectors(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    part_list(py, SPURIOUS_DETECTORS)
}

/// Return every handoff signal of a mobile node with its knobs.
#[pyfunction]
fn signals(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    part_list(py, HANDOFF_SIGNALS)
}

/// Return every workload with its knobs and what it measures.
#[pyfunction]
fn workloads(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = part_list(py, WORKLOADS)?;
    for (entry, info) in list.iter().zip(WORKLOADS) {
        let measures = PyList::empty(py);
        let workload = AnyWorkload::named(info.name);
        for measure in workload.iter().flat_map(|workload| workload.measures()) {
            let one = PyDict::new(py);
            one.set_item("name", measure.name)?;
            one.set_item("short", measure.short)?;
            one.set_item(
                "unit",
                match measure.unit {
                    Unit::Time => "ns",
                    Unit::Rate => "bps",
                    Unit::Count => "",
                },
            )?;
            one.set_item("summary", measure.summary)?;
            measures.append(one)?;
        }
        entry.set_item("measures", measures)?;
    }
    Ok(list)
}

/// Return every agent of a node on the path with its knobs.
#[pyfunction]
fn agents(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    part_list(py, AGENTS)
}

/// Return every profile.
#[pyfunction]
fn profiles(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for profile in PROFILES {
        let entry = PyDict::new(py);
        entry.set_item("name", profile.name)?;
        entry.set_item("summary", profile.summary)?;
        list.append(entry)?;
    }
    Ok(list)
}

/// Return the settings of sender and receiver that `handoff(knobs=...)` takes.
#[pyfunction]
fn settings(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = knob_list(py, SETTINGS)?;
    for (entry, setting) in list.iter().zip(SETTINGS) {
        let values = PyDict::new(py);
        for profile in PROFILES {
            values.set_item(profile.name, profile.get(setting.name))?;
        }
        entry.set_item("values", values)?;
        entry.del_item("default")?;
    }
    Ok(list)
}

/// Whether a break spares what the node has queued, which is the profile's choice. An unknown profile is
/// refused where its sender is made.
fn spares_uplink(profile: &str) -> bool {
    midflight_tcp::profile(profile).is_ok_and(|profile| profile.spares_uplink)
}

fn kind(name: &str, gap_ns: u64) -> PyResult<HandoffKind> {
    match name {
        "mbb" => Ok(HandoffKind::MakeBeforeBreak),
        "bbm" => Ok(HandoffKind::BreakBeforeMake {
            gap: Duration::from_nanos(gap_ns),
        }),
        _ => Err(refuse(StudyError::Range {
            what: "the kind of handoff",
            value: format!("\"{name}\""),
            accepted: "mbb (make before break) or bbm (break before make)",
        })),
    }
}

/// What to run: a handoff at many instants with many schemes.
///
/// `at_ns` are the instants at which the handoff starts; `gap_ns` the time without a link when
/// `kind` is "bbm"; `packets` and each of `extra_packets` the numbers of new packets whose transfer
/// is timed; `notice` and `notice_delay_ns` whether the sender gets a notice, and how long after
/// the handoff; `wired` each of the two links behind either access link; `knobs` settings by name,
/// as `midflight list` shows them; `end_ns` the end of every run, finished or not.
///
/// `flows` bulk flows (1 to 64) with the same scheme move together, and a notice says how many;
/// `residents` flows (0 to 64) with `resident_scheme` use the new link from the start of the run on
/// and stay there. Flow i of either kind opens at i times `stagger_ns`. A run has one row for each
/// flow (`resident` is 1 or 0) and ends when all measurements are complete. With `window_ns`,
/// `acked_window` is the number of each flow's packets acknowledged in that time from the handoff
/// on. With `start_notice` each moving flow gets a notice of the old link before it opens.
/// `policies` are your own policies by their names in schemes.
#[pyclass(frozen, module = "midflight")]
struct HandoffSweep {
    sweep: midflight_study::Sweep,
    failures: Failures,
}

#[pymethods]
impl HandoffSweep {
    #[new]
    #[pyo3(signature = (*, old, new, kind = "mbb", at_ns, schemes, profile = "linux", gap_ns = 500_000_000,
        packets = 100, extra_packets = vec![], notice = true, notice_delay_ns = 0,
        wired = Link::Numbers(100_000_000, 2_000_000), knobs = BTreeMap::new(), end_ns = 3_600_000_000_000,
        flows = 1, stagger_ns = 0, residents = 0, resident_scheme = "sack", window_ns = None,
        start_notice = false, policies = None))]
    #[pyo3(
        text_signature = "(*, old, new, kind='mbb', at_ns, schemes, profile='linux', gap_ns=500_000_000, \
        packets=100, extra_packets=[], notice=True, notice_delay_ns=0, wired=(100_000_000, 2_000_000), \
        knobs={}, end_ns=3_600_000_000_000, flows=1, stagger_ns=0, residents=0, resident_scheme='sack', \
        window_ns=None, start_notice=False, policies=None)"
    )]
    #[allow(
        clippy::too_many_arguments,
        reason = "keyword arguments of a Python class"
    )]
    fn new(
        old: Link,
        new: Link,
        kind: &str,
        at_ns: Vec<u64>,
        schemes: Vec<String>,
        profile: &str,
        gap_ns: u64,
        packets: u64,
        extra_packets: Vec<u64>,
        notice: bool,
        notice_delay_ns: u64,
        wired: Link,
        knobs: BTreeMap<String, String>,
        end_ns: u64,
        flows: u32,
        stagger_ns: u64,
        residents: u32,
        resident_scheme: &str,
        window_ns: Option<u64>,
        start_notice: bool,
        policies: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let failures = Failures::default();
        let policies = policies_of(policies, &failures)?;
        let sweep = midflight_study::Sweep {
            handoff: Handoff {
                old: link(old)?,
                new: link(new)?,
                kind: self::kind(kind, gap_ns)?,
                spares_uplink: spares_uplink(profile),
                notice_delay: notice.then_some(Duration::from_nanos(notice_delay_ns)),
                fixed: link(wired)?,
                flows: Flows {
                    moving: flows,
                    residents,
                    stagger: Duration::from_nanos(stagger_ns),
                    start_notice,
                },
            },
            at: at_ns.into_iter().map(Instant::from_nanos).collect(),
            schemes,
            resident_scheme: resident_scheme.into(),
            profile: profile.into(),
            knobs: knobs.into_iter().collect(),
            policies,
            packets,
            extra: extra_packets,
            window: window_ns.map(Duration::from_nanos),
            end: Instant::from_nanos(end_ns),
        };
        Ok(Self { sweep, failures })
    }

    /// Return each of its runs: one for each scheme and instant, in that order.
    pub(crate) fn setups(&self) -> PyResult<Vec<setup::Setup>> {
        let setups = self.sweep.setups().map_err(refuse)?;
        let setup = |setup| setup::Setup::new(setup, self.failures.clone());
        Ok(setups.into_iter().map(setup).collect())
    }
}

/// Run sweeps together, with common beginnings run once; one table for each.
///
/// With `fork` off each run starts from its beginning, with the same result. `threads` is the
/// number of threads, 0 for one on each processor. `progress` is called from time to time with the
/// number of finished runs and of all runs. The columns are those of `handoff`.
#[pyfunction(name = "run_handoff_sweeps")]
#[pyo3(signature = (sweeps, *, fork = true, threads = 0, progress = None))]
#[allow(
    clippy::needless_pass_by_value,
    reason = "arguments of a Python function"
)]
fn run_all(
    py: Python<'_>,
    sweeps: Vec<PyRef<'_, HandoffSweep>>,
    fork: bool,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Table>> {
    let failures: Vec<Failures> = sweeps.iter().map(|s| s.failures.clone()).collect();
    let sweeps: Vec<_> = sweeps.iter().map(|s| s.sweep.clone()).collect();
    let how = Execution { fork, threads };
    let tables = with_progress(py, progress.as_ref(), &failures, |go_on| {
        run_sweeps(&sweeps, how, go_on)
    })?;
    let each = sweeps.iter().zip(&tables);
    each.map(|(sweep, rows)| handoff_table(sweep, rows))
        .collect()
}

/// Run one sweep: one run for each scheme and handoff instant, one row for each flow of it.
///
/// Rows come in that order. `progress` is called from time to time with the number of finished runs
/// and of all runs. The columns, in which times count from the handoff (the break, if there is one)
/// unless noted:
///
/// - `scheme`, `th_ns`: the instant of the handoff from t = 0; `flow` (from 0), `resident` (1 or 0)
/// - `t_new_ns`: until `packets` segments never sent before are acknowledged, `t_new_extra0_ns` and
///   so on for `extra_packets`; `t_new_make_ns`: the same from the highest segment sent at the
///   make; `t_ack_ns`: until the ACK has advanced by this many; `t_newpath_ns`: until it covers so
///   many that came over the new path first
/// - `timeouts`; `nrto`: those that doubled the back-off, `nspur` spurious ones among them,
///   `first_rto_ns`; `rto_times`: when they came, in seconds from t = 0, with "s" if spurious
/// - `drops_data`: data packets lost, `drops_queue` to a full queue, `drops_break` to the break;
///   `drops_all`: ACKs too; `rexmits`; `sent_in_outage`: new segments sent between break and make
/// - `reordered`: first transmissions that arrived behind a higher segment; `fast_rexmits`, and
///   `false_fast_rexmits`: entries into recovery for a segment of which no copy was lost
/// - `loss_wait_max_ns`, `loss_wait_mean_ns`: from a loss to the segment's next transmission;
///   `losses_timed_out`: losses detected by the timer
/// - `cwnd`, `ssthresh`, `flight` (segments), `rto_ns`, `hiack`, `maxseq`, `dupacks`, `backoff` and
///   `phase` of the sender at the handoff; `cwnd_min`, `ssthresh_min` after it
/// - `in_rto_recovery_at_make` (1 or 0), and then `unused_ns`: from the make to the next
///   retransmission; `orders`: how many policies gave
/// - `acked_window`: packets acknowledged in the window, if there is one; `digest` of the run
///
/// A time is None if that did not happen. Raises `MidflightError` for what is not accepted.
#[pyfunction(name = "handoff")]
#[pyo3(signature = (*, fork = true, threads = 0, progress = None, **sweep))]
#[pyo3(
    text_signature = "(*, old, new, kind='mbb', at_ns, schemes, profile='linux', gap_ns=500_000_000, \
    packets=100, extra_packets=[], notice=True, notice_delay_ns=0, wired=(100_000_000, 2_000_000), knobs={}, \
    end_ns=3_600_000_000_000, flows=1, stagger_ns=0, residents=0, resident_scheme='sack', window_ns=None, \
    start_notice=False, policies=None, fork=True, threads=0, progress=None)"
)]
fn run_handoff(
    py: Python<'_>,
    fork: bool,
    threads: usize,
    progress: Option<Py<PyAny>>,
    sweep: Option<&Bound<'_, PyDict>>,
) -> PyResult<Table> {
    let asked = py.get_type::<HandoffSweep>().call((), sweep);
    let sweep = asked.map_err(|error| {
        if !error.is_instance_of::<PyTypeError>(py) {
            return error;
        }
        let message = error.value(py).to_string();
        match message.strip_prefix("HandoffSweep.__new__()") {
            Some(what) => PyTypeError::new_err(format!("handoff(){what}")),
            None => error,
        }
    })?;
    let sweep = sweep.cast_into::<HandoffSweep>()?;
    let mut tables = run_all(py, vec![sweep.borrow()], fork, threads, progress)?;
    Ok(tables.remove(0))
}

fn nanos(duration: Option<Duration>) -> Option<i64> {
    duration.map(|d| d.as_nanos() as i64)
}

/// "2.907355 3.307355s": seconds from the start of the connection, with an s behind a spurious one.
fn rto_times(row: &HandoffRow) -> String {
    let each = row.rto_times.iter().map(|(at, spurious)| {
        let us = (at.as_nanos() + 500) / 1000;
        format!(
            "{}.{:06}{}",
            us / 1_000_000,
            us % 1_000_000,
            if *spurious { "s" } else { "" }
        )
    });
    each.collect::<Vec<_>>().join(" ")
}

fn acked_window(each: impl Iterator<Item = Option<u64>>) -> Vec<Option<i64>> {
    each.map(|acked| acked.map(|n| n as i64)).collect()
}

fn handoff_table(sweep: &midflight_study::Sweep, rows: &[HandoffRow]) -> PyResult<Table> {
    let of_scheme = sweep.at.len() * sweep.handoff.flows.count();
    let schemes = sweep.schemes.iter();
    let names = schemes.flat_map(|s| std::iter::repeat_n(s.clone(), of_scheme));
    let mut t = Table::builder();
    let times = |f: fn(&HandoffRow) -> Option<Duration>| rows.iter().map(move |r| nanos(f(r)));
    let count = |f: fn(&HandoffRow) -> i64| rows.iter().map(f).collect();
    let real = |f: fn(&HandoffRow) -> f64| rows.iter().map(f).collect();
    t.text("scheme", names.collect());
    t.int("th_ns", count(|r| r.at.as_nanos() as i64));
    t.int("flow", count(|r| r.flow.into()));
    t.int("resident", count(|r| r.resident.into()));
    t.maybe_int("t_new_ns", times(|r| r.t_new));
    t.maybe_int("t_new_make_ns", times(|r| r.t_new_make));
    t.maybe_int("t_ack_ns", times(|r| r.t_ack));
    t.maybe_int("t_newpath_ns", times(|r| r.t_newpath));
    for i in 0..sweep.extra.len() {
        let column = rows
            .iter()
            .map(|r| nanos(r.t_new_extra.get(i).copied().flatten()));
        t.maybe_int(&format!("t_new_extra{i}_ns"), column);
    }
    t.int("nrto", count(|r| r.nrto.into()));
    t.int("nspur", count(|r| r.nspur.into()));
    t.maybe_int("first_rto_ns", times(|r| r.first_rto));
    t.text("rto_times", rows.iter().map(rto_times).collect());
    t.int("timeouts", count(|r| r.timeouts.into()));
    t.int("drops_data", count(|r| r.drops_data.into()));
    t.int("drops_all", count(|r| r.drops_all.into()));
    t.int("rexmits", count(|r| r.rexmits.into()));
    t.real("cwnd", real(|r| r.cwnd));
    t.real("ssthresh", real(|r| r.ssthresh));
    t.int("flight", count(|r| r.flight as i64));
    t.int("rto_ns", count(|r| r.rto.as_nanos() as i64));
    t.int("hiack", count(|r| r.hiack));
    t.int("maxseq", count(|r| r.maxseq));
    t.int("sent_in_outage", count(|r| r.sent_in_outage.into()));
    t.int("dupacks", count(|r| r.dupacks.into()));
    t.int("backoff", count(|r| r.backoff.into()));
    t.text(
        "phase",
        rows.iter()
            .map(|r| r.phase.map_or("", |p| p.name()).into())
            .collect(),
    );
    t.int("drops_queue", count(|r| r.drops_queue.into()));
    t.int("drops_break", count(|r| r.drops_break.into()));
    t.int("reordered", count(|r| r.reordered.into()));
    t.int("fast_rexmits", count(|r| r.fast_rexmits.into()));
    t.int("false_fast_rexmits", count(|r| r.false_fast_rexmits.into()));
    t.maybe_int("loss_wait_max_ns", times(|r| r.loss_wait_max));
    t.maybe_int("loss_wait_mean_ns", times(|r| r.loss_wait_mean));
    t.int("losses_timed_out", count(|r| r.losses_timed_out.into()));
    t.real("ssthresh_min", real(|r| r.ssthresh_min));
    t.real("cwnd_min", real(|r| r.cwnd_min));
    t.int(
        "in_rto_recovery_at_make",
        count(|r| r.in_rto_recovery_at_make.into()),
    );
    t.maybe_int("unused_ns", times(|r| r.unused));
    t.int("orders", count(|r| r.orders.into()));
    t.maybe_int(
        "acked_window",
        acked_window(rows.iter().map(|r| r.acked_window)),
    );
    t.text(
        "digest",
        rows.iter().map(|r| r.digest.to_string()).collect(),
    );
    t.build()
}

/// What happens to a packet in Python: "lose", or nanoseconds by which it is late.
#[derive(FromPyObject)]
enum Fate {
    Late(u64),
    Word(String),
}

fn fates(script: Vec<(u64, Fate)>) -> PyResult<Vec<(u64, Scripted)>> {
    let fate = |(number, fate)| match fate {
        Fate::Late(ns) => Ok((number, Scripted::Delay(Duration::from_nanos(ns)))),
        Fate::Word(word) if word == "lose" => Ok((number, Scripted::Lose)),
        Fate::Word(word) => Err(refuse(StudyError::Range {
            what: "the fate of a packet",
            value: format!("\"{word}\""),
            accepted: "\"lose\" or a delay in nanoseconds",
        })),
    };
    script.into_iter().map(fate).collect()
}

/// The table of a trace, to which other columns may be added.
fn trace_table(found: TraceColumns, digest: &str) -> TableBuilder {
    let mut t = Table::builder();
    t.end(found.end);
    t.digest(digest);
    t.int("time_ns", found.at);
    t.texts("event", found.event);
    t.real("value", found.value);
    t.texts("detail", found.detail);
    t.texts("by", found.by);
    t.texts("link", found.link);
    t.texts("packet", found.packet);
    t.texts("cause", found.cause);
    t.texts("order", found.order);
    t.texts("reason", found.reason);
    let sent = found.sent.into_iter();
    t.maybe_int(
        "sent_ns",
        sent.map(|at| (at != TraceColumns::NONE).then_some(at)),
    );
    let bytes = found.bytes.into_iter();
    t.maybe_int(
        "bytes",
        bytes.map(|n| (n != TraceColumns::NO_SIZE).then_some(n.into())),
    );
    t
}

/// Return the states that a sender can be in.
#[pyfunction]
fn sender_states() -> Vec<&'static str> {
    State::ALL.map(State::name).to_vec()
}

/// Return the ways between the states of a sender: from, trigger, to.
#[pyfunction]
fn sender_transitions() -> Vec<(&'static str, &'static str, &'static str)> {
    let each = TRANSITIONS.iter();
    each.map(|t| (t.from.name(), t.trigger.name(), t.to.name()))
        .collect()
}

/// The QUIC stacks of flows: `name`, `version`, as `cc` the names of the congestion controls,
/// the usual one first, and as `missing` why it cannot run here, None if it can.
#[pyfunction]
fn quic_stacks(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let told = |stack: QuicStack| {
        let one = PyDict::new(py);
        one.set_item("name", stack.name())?;
        one.set_item("version", stack.version())?;
        let names: Vec<_> = stack.congestion().iter().map(|one| one.name()).collect();
        one.set_item("cc", names)?;
        let missing = stack.check().err().map(|e| e.to_string());
        foreign::interrupts().raise()?;
        one.set_item("missing", missing)?;
        Ok(one)
    };
    QuicStack::ALL.into_iter().map(told).collect()
}

/// What each value of the setting `migration` sets, by the names of the settings.
fn quic_migrations(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    for (name, migration) in MIGRATIONS {
        let mut profile = profile("quic").map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
        profile.sender.migration = *migration;
        let values = PyDict::new(py);
        for setting in SETTINGS {
            if setting.name.starts_with("migration_") {
                values.set_item(setting.name, profile.get(setting.name))?;
            }
        }
        all.set_item(name, values)?;
    }
    Ok(all)
}

/// Capture files by the place of the capture.
fn captures(py: Python<'_>, seen: Vec<Capture>) -> PyResult<Bound<'_, PyDict>> {
    let files = PyDict::new(py);
    for capture in seen {
        files.set_item(capture.place, PyBytes::new(py, &capture.pcapng))?;
    }
    Ok(files)
}

/// Simulation core of midflight.
#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("MODEL_VERSION", MODEL_VERSION)?;
    let stacks = PyDict::new(m.py());
    foreign::install();
    for stack in QuicStack::ALL.into_iter().filter(|stack| stack.is_built()) {
        stacks.set_item(stack.name(), stack.version())?;
    }
    m.add("QUIC_STACKS", stacks)?;
    m.add("QUIC_MIGRATIONS", quic_migrations(m.py())?)?;
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    errors::add(m)?;
    m.add_class::<Table>()?;
    m.add_class::<HandoffSweep>()?;
    m.add_class::<Radio>()?;
    m.add_class::<LongFlow>()?;
    m.add_class::<Probe>()?;
    m.add_function(wrap_pyfunction!(run_probes, m)?)?;
    m.add_class::<Roaming>()?;
    m.add_class::<Startup>()?;
    m.add_class::<scenario::Document>()?;
    m.add_class::<scenario::Plan>()?;
    m.add_class::<setup::Setup>()?;
    m.add_class::<events::Events>()?;
    m.add_class::<view::View>()?;
    m.add_class::<view::LinkInfo>()?;
    m.add_class::<view::Notice>()?;
    m.add_class::<view::Advice>()?;
    m.add_class::<policy::Order>()?;
    m.add_class::<controller::Control>()?;
    m.add_function(wrap_pyfunction!(scenario::run_plans, m)?)?;
    m.add_function(wrap_pyfunction!(scenario::schema, m)?)?;
    m.add_function(wrap_pyfunction!(scenario::presets, m)?)?;
    m.add_function(wrap_pyfunction!(recording::read_recording, m)?)?;
    m.add_function(wrap_pyfunction!(recording::draw_recording, m)?)?;
    m.add_function(wrap_pyfunction!(recording::path_models, m)?)?;
    m.add_function(wrap_pyfunction!(recording::queue_disciplines, m)?)?;
    m.add_function(wrap_pyfunction!(scenario::in_column_unit, m)?)?;
    m.add_function(wrap_pyfunction!(run_all_startups, m)?)?;
    m.add_function(wrap_pyfunction!(run_nodes, m)?)?;
    m.add_function(wrap_pyfunction!(run_flows, m)?)?;
    m.add_function(wrap_pyfunction!(sender_states, m)?)?;
    m.add_function(wrap_pyfunction!(sender_transitions, m)?)?;
    m.add_function(wrap_pyfunction!(drill::run_drill, m)?)?;
    m.add_function(wrap_pyfunction!(drill::drill_fields, m)?)?;
    m.add_function(wrap_pyfunction!(run_all, m)?)?;
    m.add_function(wrap_pyfunction!(parse_link, m)?)?;
    m.add_function(wrap_pyfunction!(parse_duration, m)?)?;
    m.add_function(wrap_pyfunction!(parse_instants, m)?)?;
    m.add_function(wrap_pyfunction!(bdp_packets, m)?)?;
    m.add_function(wrap_pyfunction!(a1_min_rto_ms, m)?)?;
    m.add_function(wrap_pyfunction!(list_schemes, m)?)?;
    m.add_function(wrap_pyfunction!(policies, m)?)?;
    m.add_function(wrap_pyfunction!(responses, m)?)?;
    m.add_function(wrap_pyfunction!(classifiers, m)?)?;
    m.add_function(wrap_pyfunction!(controllers, m)?)?;
    m.add_function(wrap_pyfunction!(detectors, m)?)?;
    m.add_function(wrap_pyfunction!(signals, m)?)?;
    m.add_function(wrap_pyfunction!(workloads, m)?)?;
    m.add_function(wrap_pyfunction!(agents, m)?)?;
    m.add_function(wrap_pyfunction!(quic_stacks, m)?)?;
    m.add_function(wrap_pyfunction!(profiles, m)?)?;
    m.add_function(wrap_pyfunction!(settings, m)?)?;
    m.add_function(wrap_pyfunction!(run_handoff, m)?)?;
    Ok(())
}
