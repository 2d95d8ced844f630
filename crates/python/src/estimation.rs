//! `Probe` and `run_probes`.

use std::collections::BTreeMap;

use midflight_control::Measure;
use midflight_study::{Execution, ProbeRun, TrainRow};
use midflight_units::UnitError;
use pyo3::prelude::*;

use crate::interrupt::with_progress;
use crate::setup::Setup;
use crate::table::Table;
use crate::{link, refuse, Link};

/// A path with one bottleneck, cross traffic on it, and a flow that measures it.
///
/// The flow sends `segments` segments under `scheme` ("abest", "wbest", "probe-gap", or "probe-
/// train" for a single train) over `bottleneck`, its access link, of which it gets a notice at
/// its start for `notice_flows` flows. `queue` is the limit of the bottleneck in packets, including
/// the one in transmission. The links of the hosts have the rate `access`. Cross traffic uses
/// `share` of the bottleneck, evenly, or with random gaps if it is `irregular`. Each of the
/// `runs` begins at another phase of it. The bottleneck marks packets of ECN senders that have
/// waited longer than `mark_after`.
#[pyclass(frozen, module = "midflight")]
pub(crate) struct Probe {
    probe: midflight_study::Probe,
}

#[pymethods]
impl Probe {
    #[new]
    #[pyo3(signature = (*, bottleneck, scheme, queue = 1000, access = "10 Gbit/s", share = 0.0, irregular = false,
        notice_flows = 1, segments = 100, profile = "linux", knobs = BTreeMap::new(), seed = 1,
        runs = vec![0], mark_after = None))]
    #[pyo3(
        text_signature = "(*, bottleneck, scheme, queue=1000, access='10 Gbit/s', share=0.0, irregular=False, notice_flows=1, \
        segments=100, profile='linux', knobs={}, seed=1, runs=[0], mark_after=None)"
    )]
    #[allow(
        clippy::too_many_arguments,
        reason = "keyword arguments of a Python class"
    )]
    fn new(
        bottleneck: Link,
        scheme: String,
        queue: u32,
        access: &str,
        share: f64,
        irregular: bool,
        notice_flows: u32,
        segments: u64,
        profile: &str,
        knobs: BTreeMap<String, String>,
        seed: u64,
        runs: Vec<u64>,
        mark_after: Option<&str>,
    ) -> PyResult<Self> {
        let time = |text: &str| text.parse().map_err(|e: UnitError| refuse(e));
        let probe = midflight_study::Probe {
            bottleneck: link(bottleneck)?,
            limit: queue,
            mark_after: mark_after.map(time).transpose()?,
            access: access.parse().map_err(|e: UnitError| refuse(e))?,
            share,
            irregular,
            notice_flows,
            segments,
            scheme,
            profile: profile.into(),
            knobs: knobs.into_iter().collect(),
            seed,
            runs,
        };
        Ok(Self { probe })
    }

    /// Return the run of a number.
    #[pyo3(signature = (run = 0))]
    pub(crate) fn setup(&self, run: u64) -> PyResult<Setup> {
        self.probe.setup(run).map(Setup::plain).map_err(refuse)
    }
}

/// Run probes; one table for each, with one row for each train of each run.
///
/// `threads` and `progress` are as for `run_handoff_sweeps`. The columns:
///
/// - `run`, `train` (its number), `segments` of it
/// - `measure`: "capacity" for packet pairs, "available" for a chirp
/// - `sent_ns`, `reported_ns`: when its first segment left and when its report came, both since the
///   SYN
/// - `estimate_bps`: the reported rate; None if a segment was missing or no report came
/// - `low_bps`, `high_bps`: the rates of its first and last gap, 0 for none
/// - `capacity_bps`, `available_bps`: the true rate of the bottleneck and the part left by cross
///   traffic; `cross_bps`: the rate of the cross traffic while the flow lasted
/// - `ssthresh` at the end, in segments; `drops`: data packets of the flow that were lost;
///   `duration_ns` to the last ACK, None for a flow that did not end; `digest` of the run
#[pyfunction]
#[pyo3(signature = (probes, *, threads = 0, progress = None))]
#[allow(
    clippy::needless_pass_by_value,
    reason = "arguments of a Python function"
)]
pub(crate) fn run_probes(
    py: Python<'_>,
    probes: Vec<PyRef<'_, Probe>>,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Table>> {
    let probes: Vec<_> = probes.iter().map(|p| p.probe.clone()).collect();
    let how = Execution {
        threads,
        ..Execution::default()
    };
    let tables = with_progress(py, progress.as_ref(), &[], |go_on| {
        midflight_study::run_probes(&probes, how, go_on)
    })?;
    let each = probes.iter().zip(&tables);
    each.map(|(probe, runs)| table(probe, runs)).collect()
}

fn table(probe: &midflight_study::Probe, runs: &[ProbeRun]) -> PyResult<Table> {
    let of_run = |(place, run): (usize, &'_ ProbeRun)| {
        let number = probe.runs[place];
        let trains = run.trains.clone();
        trains.into_iter().map(move |train| (number, place, train))
    };
    let rows: Vec<(u64, usize, TrainRow)> = runs.iter().enumerate().flat_map(of_run).collect();
    let ints = |f: &dyn Fn(&TrainRow) -> u64| rows.iter().map(|r| f(&r.2) as i64).collect();
    let of = |f: &dyn Fn(&ProbeRun) -> f64| rows.iter().map(|r| f(&runs[r.1])).collect();
    let capacity = probe.bottleneck.rate.as_bps();
    let available = capacity as f64 * (1.0 - probe.share);
    let mut t = Table::builder();
    t.int("run", rows.iter().map(|r| r.0 as i64).collect());
    t.int("train", ints(&|t| t.train.into()));
    t.int("segments", ints(&|t| t.segments.into()));
    let measure = |t: &TrainRow| match t.measure {
        Measure::Capacity | Measure::PairedCapacity => "capacity",
        Measure::AtCapacity | Measure::IdleShare | Measure::Available(_) => "available",
    };
    t.text(
        "measure",
        rows.iter().map(|r| measure(&r.2).into()).collect(),
    );
    t.int("sent_ns", ints(&|t| t.sent.as_nanos()));
    let reported = |t: &TrainRow| t.reported.map(|at| at.as_nanos() as i64);
    t.maybe_int("reported_ns", rows.iter().map(|r| reported(&r.2)));
    let estimate = |t: &TrainRow| t.estimate.map(|rate| rate.as_bps() as i64);
    t.maybe_int("estimate_bps", rows.iter().map(|r| estimate(&r.2)));
    t.int("low_bps", ints(&|t| t.low));
    t.int("high_bps", ints(&|t| t.high));
    t.int("capacity_bps", ints(&|_| capacity));
    t.real("available_bps", of(&|_| available));
    t.real("cross_bps", of(&|run| run.cross));
    t.real("ssthresh", of(&|run| run.ssthresh));
    t.int(
        "drops",
        rows.iter().map(|r| runs[r.1].drops as i64).collect(),
    );
    let duration = |run: &ProbeRun| run.duration.map(|d| d.as_nanos() as i64);
    t.maybe_int("duration_ns", rows.iter().map(|r| duration(&runs[r.1])));
    t.text(
        "digest",
        rows.iter().map(|r| runs[r.1].digest.to_string()).collect(),
    );
    t.build()
}
