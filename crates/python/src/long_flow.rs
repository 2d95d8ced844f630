//! `Radio`, `LongFlow` and `run_long_flows`.

use std::collections::BTreeMap;

use midflight_study::{
    read_loss, read_reordering, run_long_flows, Cause, CrossTraffic, Execution, FlowHandoff,
    FlowRow, FlowRun,
};
use midflight_units::{Duration, Instant};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::interrupt::with_progress;
use crate::policy::{policies_of, Failures};
use crate::setup::Setup;
use crate::table::Table;
use crate::{fates, link, refuse, Fate, Link};

/// The last hop while a mobile node is in a network, the same both ways.
///
/// `queue` is the most packets at the link in either direction, the one in transmission included.
/// What goes to the mobile node meets `loss`, such as "uniform 0.5%", "burst 0.5% 3" or "gilbert 1s
/// 0.1% 100ms 10% 50%", and `reorder`, such as "swap 5%" or "linkrtx 5% 100ms". `script` says
/// instead what happens to the packets of some numbers, ascending from 1: "lose", or nanoseconds by
/// which the packet is late.
#[pyclass(frozen, module = "midflight")]
#[derive(Clone)]
pub(crate) struct Radio {
    radio: midflight_study::Radio,
}

#[pymethods]
impl Radio {
    #[new]
    #[pyo3(signature = (link, *, queue = 50, loss = None, reorder = None, script = vec![]))]
    fn new(
        link: Link,
        queue: u32,
        loss: Option<&str>,
        reorder: Option<&str>,
        script: Vec<(u64, Fate)>,
    ) -> PyResult<Self> {
        let radio = midflight_study::Radio {
            link: self::link(link)?,
            limit: queue,
            loss: loss.map(read_loss).transpose().map_err(refuse)?,
            reordering: reorder.map(read_reordering).transpose().map_err(refuse)?,
            script: fates(script)?,
        };
        Ok(Self { radio })
    }
}

/// A long-lived flow to a mobile node: one run for each number in `runs`.
///
/// `marks_ns` are the ends of the intervals that are measured apart, ascending; the last one ends
/// the run. At `at_ns` the radio link pauses for `pause_ns` and resumes as `then`; unless `notice`
/// is off the sender gets a notice `notice_delay_ns` after that. `wired` is the link before the
/// radio link, `wired_queue` the most packets at it; `cross_flows` TCP flows use it too, from a
/// host that is `cross_delay_ns` away, in each run by up to `cross_spread_ns` more or less.
/// `overhead_ns` is the longest random time that a host takes over a packet it sends. With one
/// `seed` all schemes have the same radio. `policies` are your own policies by their names in
/// schemes.
#[pyclass(frozen, module = "midflight")]
pub(crate) struct LongFlow {
    flow: midflight_study::LongFlow,
    failures: Failures,
}

#[pymethods]
impl LongFlow {
    #[new]
    #[pyo3(signature = (*, radio, scheme, marks_ns, then = None, at_ns = None, pause_ns = 0,
        wired = Link::Numbers(20_000_000, 1_000_000), wired_queue = 30, cross_flows = 0,
        cross_delay_ns = 13_000_000, cross_spread_ns = 0, overhead_ns = 0, notice = true, notice_delay_ns = 0, profile = "linux", knobs = BTreeMap::new(),
        seed = 1, runs = vec![0], policies = None))]
    #[pyo3(
        text_signature = "(*, radio, scheme, marks_ns, then=None, at_ns=None, pause_ns=0, \
        wired=(20_000_000, 1_000_000), wired_queue=30, cross_flows=0, cross_delay_ns=13_000_000, \
        cross_spread_ns=0, overhead_ns=0, notice=True, notice_delay_ns=0, profile='linux', knobs={}, seed=1, runs=[0], policies=None)"
    )]
    #[allow(
        clippy::too_many_arguments,
        reason = "keyword arguments of a Python class"
    )]
    fn new(
        radio: &Bound<'_, Radio>,
        scheme: String,
        marks_ns: Vec<u64>,
        then: Option<&Bound<'_, Radio>>,
        at_ns: Option<u64>,
        pause_ns: u64,
        wired: Link,
        wired_queue: u32,
        cross_flows: u32,
        cross_delay_ns: u64,
        cross_spread_ns: u64,
        overhead_ns: u64,
        notice: bool,
        notice_delay_ns: u64,
        profile: &str,
        knobs: BTreeMap<String, String>,
        seed: u64,
        runs: Vec<u64>,
        policies: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let failures = Failures::default();
        let policies = policies_of(policies, &failures)?;
        let handoff = match (then, at_ns) {
            (None, None) => None,
            (Some(second), Some(at)) => Some(FlowHandoff {
                at: Instant::from_nanos(at),
                pause: Duration::from_nanos(pause_ns),
                second: second.get().radio.clone(),
                notice_delay: notice.then_some(Duration::from_nanos(notice_delay_ns)),
            }),
            _ => return Err(PyTypeError::new_err(
                "a handoff needs both then (the radio link after it) and at_ns (when it starts)",
            )),
        };
        let flow = midflight_study::LongFlow {
            wired: link(wired)?,
            wired_limit: wired_queue,
            radio: radio.get().radio.clone(),
            handoff,
            cross: CrossTraffic {
                flows: cross_flows,
                delay: Duration::from_nanos(cross_delay_ns),
                spread: Duration::from_nanos(cross_spread_ns),
            },
            overhead: Duration::from_nanos(overhead_ns),
            scheme,
            profile: profile.into(),
            knobs: knobs.into_iter().collect(),
            policies,
            seed,
            runs,
            marks: marks_ns.into_iter().map(Instant::from_nanos).collect(),
        };
        Ok(Self { flow, failures })
    }

    /// Return the run of a number.
    #[pyo3(signature = (run = 0))]
    pub(crate) fn setup(&self, run: u64) -> PyResult<Setup> {
        let setup = self.flow.setup(run).map_err(refuse)?;
        Ok(Setup::new(setup, self.failures.clone()))
    }
}

/// Run long-lived flows; one table for each, with one row for each run and interval.
///
/// `threads` and `progress` are as for `run_handoff_sweeps`. The columns:
///
/// - `run`, `interval` (from 0), `from_ns`, `until_ns`
/// - `acked`: data segments newly acknowledged; `sent`: segments sent, `rexmits` of them again
/// - `timeouts`; `spurious_timeouts`: those that something sent before answers;
///   `detected_timeouts`: those that the sender found spurious
/// - `fast_rexmits`; `false_fast_rexmits`: those of a segment whose last copy was not lost;
///   `undone_fast_rexmits`: those that the sender found spurious
/// - `drops_queue`, `drops_radio`: data packets lost to a full queue and to the radio;
///   `drops_wired` those of the first that the wired link's queue dropped
/// - `reordered`: first transmissions that arrived behind a higher segment
/// - `congestion_as_congestion`, `congestion_as_wireless`, `congestion_as_reordering`,
///   `congestion_unanswered`, the same with `wireless_` and with `reordering_`: suspected losses by
///   true cause and by the sender's classification; unanswered: a timeout came before
/// - `wired_offered`, `wired_dropped`: packets of all flows handed to the wired link, and those
///   that its queue dropped
/// - `digest` of the run
#[pyfunction(name = "run_long_flows")]
#[pyo3(signature = (flows, *, threads = 0, progress = None))]
#[allow(
    clippy::needless_pass_by_value,
    reason = "arguments of a Python function"
)]
pub(crate) fn run_flows(
    py: Python<'_>,
    flows: Vec<PyRef<'_, LongFlow>>,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Table>> {
    let failures: Vec<Failures> = flows.iter().map(|f| f.failures.clone()).collect();
    let flows: Vec<_> = flows.iter().map(|f| f.flow.clone()).collect();
    let how = Execution {
        threads,
        ..Execution::default()
    };
    let tables = with_progress(py, progress.as_ref(), &failures, |go_on| {
        run_long_flows(&flows, how, go_on)
    })?;
    let each = flows.iter().zip(&tables);
    each.map(|(flow, runs)| flow_table(flow, runs)).collect()
}

fn flow_table(flow: &midflight_study::LongFlow, runs: &[FlowRun]) -> PyResult<Table> {
    let rows: Vec<&FlowRow> = runs.iter().flat_map(|run| &run.rows).collect();
    let intervals = flow.marks.len();
    let mut t = Table::builder();
    let count = |f: &dyn Fn(&FlowRow) -> u64| rows.iter().map(|r| f(r) as i64).collect();
    let of_run = |place: usize| flow.runs[place / intervals] as i64;
    t.int("run", (0..rows.len()).map(of_run).collect());
    let interval = |place: usize| (place % intervals) as i64;
    t.int("interval", (0..rows.len()).map(interval).collect());
    t.int("from_ns", count(&|r| r.from.as_nanos()));
    t.int("until_ns", count(&|r| r.until.as_nanos()));
    t.int("acked", count(&|r| r.acked));
    t.int("sent", count(&|r| r.sent));
    t.int("rexmits", count(&|r| r.rexmits));
    t.int("timeouts", count(&|r| r.timeouts.into()));
    t.int("spurious_timeouts", count(&|r| r.spurious_timeouts.into()));
    t.int("detected_timeouts", count(&|r| r.detected_timeouts.into()));
    t.int("fast_rexmits", count(&|r| r.fast_rexmits.into()));
    t.int(
        "false_fast_rexmits",
        count(&|r| r.false_fast_rexmits.into()),
    );
    t.int(
        "undone_fast_rexmits",
        count(&|r| r.undone_fast_rexmits.into()),
    );
    t.int("drops_queue", count(&|r| r.drops_queue));
    t.int("drops_wired", count(&|r| r.drops_wired));
    t.int("drops_radio", count(&|r| r.drops_radio));
    t.int("reordered", count(&|r| r.reordered));
    for truth in Cause::ALL {
        for taken in Cause::ALL {
            let name = format!("{}_as_{}", truth.name(), taken.name());
            let cell = move |r: &FlowRow| r.confusion[truth as usize][taken as usize].into();
            t.int(&name, count(&cell));
        }
        let name = format!("{}_unanswered", truth.name());
        t.int(&name, count(&move |r| r.unanswered[truth as usize].into()));
    }
    t.int("wired_offered", count(&|r| r.wired_offered));
    t.int("wired_dropped", count(&|r| r.wired_dropped));
    let digest = |place: usize| runs[place / intervals].digest.to_string();
    t.text("digest", (0..rows.len()).map(digest).collect());
    t.build()
}
