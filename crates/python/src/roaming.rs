//! `Roaming`, `run_roaming` and `trace_roaming`.

use std::collections::BTreeMap;

use midflight_study::{
    read_loss, run_roaming, Execution, ForgedAck, Forgery, HandoffPrediction, RoamingHandoffs,
    RoamingRow, RoamingRun, SignalFate, StudyError,
};
use midflight_units::{Duration, Instant};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::interrupt::with_progress;
use crate::policy::{policies_of, Failures};
use crate::setup::Setup;
use crate::table::Table;
use crate::{fates, link, refuse, Fate, Link};

/// A mobile node that changes its base station: one run for each number in `runs`.
///
/// The sender is behind `backbone`, each base station behind a router and `access`, the nodes
/// behind `wireless`; `queue` is the most packets at any of these links in either direction. Every
/// `every_ns` (None: never) the mobile node leaves its station for another, drawn uniformly:
/// packets that still arrive for it there are lost. `gap_ns` later it is in range of the new one,
/// whose advertisement it gets within `advertisement_ns`, drawn uniformly: then it can send,
/// signals as its scheme says, and registers with its agent at the sender, which sends later
/// packets to the new station. `residents` is the number of nodes that stay at each station; each
/// has a plain flow with the same `knobs`.
///
/// `loss` applies to packets to the nodes of a station, `up_loss` to packets from them, such as
/// "uniform 1%" or "burst 0.5% 3"; `script` and `up_script` give the fate of the packets of some
/// numbers at the first station instead: "lose", or nanoseconds by which one is late.
///
/// The other arguments add faults to a scheme: `foresight_error_ns` is added to the instant of a
/// warning (below zero it comes earlier), a share `foresight_missed` of handoffs is not predicted;
/// a share `signal_lost` of signals is lost, of the others `signal_copies` of each packet arrive,
/// and they are sent `signal_delay_ns` after the registration. Every `forged_every_ns` the sender
/// gets an ACK with a handoff mark that nobody sent, if `forged` says which ACK number it has:
/// "old" (below SND.UNA), "current" (SND.UNA) or "unsent" (beyond SND.MAX). `policies` are your own
/// by the names that schemes may have.
#[pyclass(frozen, module = "midflight")]
pub(crate) struct Roaming {
    roaming: midflight_study::Roaming,
    failures: Failures,
}

fn forgery(ack: &str, every_ns: u64) -> PyResult<Forgery> {
    let known = ForgedAck::ALL.iter().find(|(name, _)| *name == ack);
    let Some((_, ack)) = known else {
        return Err(refuse(StudyError::Range {
            what: "the ACK number of forged ACKs",
            value: format!("\"{ack}\""),
            accepted: "old, current or unsent",
        }));
    };
    Ok(Forgery {
        ack: *ack,
        every: Duration::from_nanos(every_ns),
    })
}

/// What Python says of the handoffs of a node that moves.
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python class"
)]
fn handoffs(
    every_ns: u64,
    advertisement_ns: u64,
    gap_ns: u64,
    foresight_error_ns: i64,
    foresight_missed: f64,
    signal_lost: f64,
    signal_copies: u8,
    signal_delay_ns: u64,
) -> RoamingHandoffs {
    let off = Duration::from_nanos(foresight_error_ns.unsigned_abs());
    let (late, early) = if foresight_error_ns > 0 {
        (off, Duration::ZERO)
    } else {
        (Duration::ZERO, off)
    };
    RoamingHandoffs {
        every: Duration::from_nanos(every_ns),
        advertisement: Duration::from_nanos(advertisement_ns),
        blackout: Duration::from_nanos(gap_ns),
        signal: SignalFate {
            lost: signal_lost,
            copies: signal_copies,
            delay: Duration::from_nanos(signal_delay_ns),
        },
        foresight: HandoffPrediction {
            late,
            early,
            missed: foresight_missed,
        },
    }
}

#[pymethods]
impl Roaming {
    #[new]
    #[pyo3(signature = (*, scheme, end_ns, every_ns = Some(5_000_000_000), stations = 2, residents = vec![],
        loss = None, up_loss = None, script = vec![], up_script = vec![],
        backbone = Link::Numbers(100_000_000, 50_000_000), access = Link::Numbers(10_000_000, 3_000_000),
        wireless = Link::Numbers(2_000_000, 5_000_000), queue = 50,
        advertisement_ns = 100_000_000, gap_ns = 0, foresight_error_ns = 0, foresight_missed = 0.0,
        signal_lost = 0.0, signal_copies = 1, signal_delay_ns = 0, forged = None, forged_every_ns = 1_000_000_000,
        profile = "linux", knobs = BTreeMap::new(), seed = 1, runs = vec![0], policies = None))]
    #[pyo3(
        text_signature = "(*, scheme, end_ns, every_ns=5_000_000_000, stations=2, residents=[], loss=None, \
        up_loss=None, script=[], up_script=[], backbone=(100_000_000, 50_000_000), \
        access=(10_000_000, 3_000_000), wireless=(2_000_000, 5_000_000), queue=50, \
        advertisement_ns=100_000_000, gap_ns=0, foresight_error_ns=0, foresight_missed=0.0, \
        signal_lost=0.0, signal_copies=1, signal_delay_ns=0, forged=None, forged_every_ns=1_000_000_000, \
        profile='linux', knobs={}, seed=1, runs=[0], policies=None)"
    )]
    #[allow(
        clippy::too_many_arguments,
        reason = "keyword arguments of a Python class"
    )]
    fn new(
        scheme: String,
        end_ns: u64,
        every_ns: Option<u64>,
        stations: u8,
        residents: Vec<u8>,
        loss: Option<&str>,
        up_loss: Option<&str>,
        script: Vec<(u64, Fate)>,
        up_script: Vec<(u64, Fate)>,
        backbone: Link,
        access: Link,
        wireless: Link,
        queue: u32,
        advertisement_ns: u64,
        gap_ns: u64,
        foresight_error_ns: i64,
        foresight_missed: f64,
        signal_lost: f64,
        signal_copies: u8,
        signal_delay_ns: u64,
        forged: Option<&str>,
        forged_every_ns: u64,
        profile: &str,
        knobs: BTreeMap<String, String>,
        seed: u64,
        runs: Vec<u64>,
        policies: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let failures = Failures::default();
        let policies = policies_of(policies, &failures)?;
        let every = |every_ns| {
            handoffs(
                every_ns,
                advertisement_ns,
                gap_ns,
                foresight_error_ns,
                foresight_missed,
                signal_lost,
                signal_copies,
                signal_delay_ns,
            )
        };
        let roaming = midflight_study::Roaming {
            backbone: link(backbone)?,
            access: link(access)?,
            wireless: link(wireless)?,
            limit: queue,
            loss: loss.map(read_loss).transpose().map_err(refuse)?,
            back_loss: up_loss.map(read_loss).transpose().map_err(refuse)?,
            script: fates(script)?,
            back_script: fates(up_script)?,
            stations,
            fixed: residents,
            handoffs: every_ns.map(every),
            forgery: forged
                .map(|ack| forgery(ack, forged_every_ns))
                .transpose()?,
            scheme,
            profile: profile.into(),
            knobs: knobs.into_iter().collect(),
            policies,
            seed,
            runs,
            end: Instant::from_nanos(end_ns),
        };
        Ok(Self { roaming, failures })
    }

    /// Return the run of a number.
    #[pyo3(signature = (run = 0))]
    pub(crate) fn setup(&self, run: u64) -> PyResult<Setup> {
        let setup = self.roaming.setup(run).map_err(refuse)?;
        Ok(Setup::new(setup, self.failures.clone()))
    }
}

/// Run mobile nodes; one table for each, with one row for each run, interval and node.
///
/// Intervals end when the mobile node leaves a station, and at the end of the run. `threads` and
/// `progress` are as for `run_handoff_sweeps`. The columns:
///
/// - `run`, `interval` (from 0), `node` (0 is the mobile one, then the residents in the order of
///   their stations), `station` of the node (from 0), `from_ns`, `until_ns`
/// - `acked`: data segments newly acknowledged; `sent`: segments sent, `rexmits` of them again
/// - `timeouts`; `spurious_timeouts`: those that something sent before answers; `fast_rexmits`:
///   entries into recovery
/// - `drops_queue`, `drops_radio`, `drops_break`: data packets lost to a full queue, to the radio,
///   and because the node had left
/// - `digest` of the run
#[pyfunction(name = "run_roaming")]
#[pyo3(signature = (nodes, *, threads = 0, progress = None))]
#[allow(
    clippy::needless_pass_by_value,
    reason = "arguments of a Python function"
)]
pub(crate) fn run_nodes(
    py: Python<'_>,
    nodes: Vec<PyRef<'_, Roaming>>,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Table>> {
    let failures: Vec<Failures> = nodes.iter().map(|n| n.failures.clone()).collect();
    let nodes: Vec<_> = nodes.iter().map(|n| n.roaming.clone()).collect();
    let how = Execution {
        threads,
        ..Execution::default()
    };
    let tables = with_progress(py, progress.as_ref(), &failures, |go_on| {
        run_roaming(&nodes, how, go_on)
    })?;
    let each = nodes.iter().zip(&tables);
    each.map(|(node, runs)| table(&node.runs, runs)).collect()
}

fn table(numbers: &[u64], runs: &[RoamingRun]) -> PyResult<Table> {
    let rows: Vec<(u64, &RoamingRun, &RoamingRow)> = numbers
        .iter()
        .zip(runs)
        .flat_map(|(&number, run)| run.rows.iter().map(move |row| (number, run, row)))
        .collect();
    let mut t = Table::builder();
    let count = |f: &dyn Fn(&RoamingRow) -> u64| rows.iter().map(|(_, _, r)| f(r) as i64).collect();
    t.int(
        "run",
        rows.iter().map(|(number, ..)| *number as i64).collect(),
    );
    t.int("interval", count(&|r| r.interval.into()));
    t.int("node", count(&|r| r.node.into()));
    t.int("station", count(&|r| r.station.into()));
    t.int("from_ns", count(&|r| r.from.as_nanos()));
    t.int("until_ns", count(&|r| r.until.as_nanos()));
    t.int("acked", count(&|r| r.acked));
    t.int("sent", count(&|r| r.sent));
    t.int("rexmits", count(&|r| r.rexmits));
    t.int("timeouts", count(&|r| r.timeouts.into()));
    t.int("spurious_timeouts", count(&|r| r.spurious_timeouts.into()));
    t.int("fast_rexmits", count(&|r| r.fast_rexmits.into()));
    t.int("drops_queue", count(&|r| r.drops_queue));
    t.int("drops_radio", count(&|r| r.drops_radio));
    t.int("drops_break", count(&|r| r.drops_break));
    let digests = rows.iter().map(|(_, run, _)| run.digest.to_string());
    t.text("digest", digests.collect());
    t.build()
}
