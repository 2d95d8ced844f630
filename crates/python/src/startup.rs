//! `Startup` and `run_startups`.

use std::collections::BTreeMap;

use midflight_study::{run_startups, Execution, StartupRow};
use midflight_units::{Duration, Instant};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::interrupt::with_progress;
use crate::policy::{policies_of, Failures};
use crate::setup::Setup;
use crate::table::Table;
use crate::{acked_window, link, nanos, refuse, Link};

/// The start of connections over one access link: one run for each scheme.
///
/// `flows` bulk flows (1 to 64) open at time zero. If there are `residents` (0 to 64, with
/// `resident_scheme`), these open at time zero and the flows `lead_ns` later, over the same link.
/// Flow i of either kind opens i times `stagger_ns` after the first of its kind, and gets a notice
/// of the link right before that, with the number of flows of its kind. `packets` are the numbers
/// of data packets whose transfer is timed, ascending. With `window_ns`, `acked_window` is the
/// number of each flow's packets acknowledged in that time from the first of the `flows` on.
/// `wired`, `profile`, `knobs`, `end_ns` and `policies` are as for `HandoffSweep`.
#[pyclass(frozen, module = "midflight")]
pub(crate) struct Startup {
    startup: midflight_study::Startup,
    failures: Failures,
}

#[pymethods]
impl Startup {
    #[new]
    #[pyo3(signature = (*, link, schemes, flows = 1, stagger_ns = 0, residents = 0, resident_scheme = "sack",
        lead_ns = 0, packets = vec![10, 100, 200, 300, 400], window_ns = None, profile = "linux",
        wired = Link::Numbers(100_000_000, 2_000_000), knobs = BTreeMap::new(), end_ns = 3_600_000_000_000, policies = None))]
    #[pyo3(
        text_signature = "(*, link, schemes, flows=1, stagger_ns=0, residents=0, resident_scheme='sack', \
        lead_ns=0, packets=[10, 100, 200, 300, 400], window_ns=None, profile='linux', \
        wired=(100_000_000, 2_000_000), knobs={}, end_ns=3_600_000_000_000, policies=None)"
    )]
    #[allow(
        clippy::too_many_arguments,
        reason = "keyword arguments of a Python class"
    )]
    fn new(
        link: Link,
        schemes: Vec<String>,
        flows: u32,
        stagger_ns: u64,
        residents: u32,
        resident_scheme: &str,
        lead_ns: u64,
        packets: Vec<u64>,
        window_ns: Option<u64>,
        profile: &str,
        wired: Link,
        knobs: BTreeMap<String, String>,
        end_ns: u64,
        policies: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let failures = Failures::default();
        let policies = policies_of(policies, &failures)?;
        let startup = midflight_study::Startup {
            link: self::link(link)?,
            fixed: self::link(wired)?,
            schemes,
            flows,
            stagger: Duration::from_nanos(stagger_ns),
            residents,
            resident_scheme: resident_scheme.into(),
            lead: Duration::from_nanos(lead_ns),
            profile: profile.into(),
            knobs: knobs.into_iter().collect(),
            policies,
            counts: packets,
            window: window_ns.map(Duration::from_nanos),
            end: Instant::from_nanos(end_ns),
        };
        Ok(Self { startup, failures })
    }

    /// Return the run of the scheme at a place in the list.
    #[pyo3(signature = (place = 0))]
    pub(crate) fn setup(&self, place: usize) -> PyResult<Setup> {
        let setups = self.startup.setups().map_err(refuse)?;
        let schemes = setups.len();
        let setup = setups.into_iter().nth(place);
        let setup = setup.map(|setup| Setup::new(setup, self.failures.clone()));
        setup.ok_or_else(|| {
            let why = format!("there is no scheme {place}: there are {schemes}, numbered from 0");
            PyIndexError::new_err(why)
        })
    }
}

/// Run start-ups; one table for each, with one row for each scheme and flow.
///
/// `threads` and `progress` are as for `run_handoff_sweeps`. The columns:
///
/// - `scheme` of the run, `flow` (from 0, then the residents), `resident` (1 or 0), `opened_ns`
/// - `t_10_ns` and so on: from the flow's SYN until the ACK that covers 10 data packets
/// - `drops_data`: data packets lost, all to a full queue; `rexmits`; `timeouts`: counted from the
///   flow's SYN until the last of `packets` is acknowledged and the window over; of a resident,
///   from the SYN of the first of the others to the end of the run
/// - `acked_window`: data packets newly acknowledged in the window
/// - `digest` of the run
#[pyfunction(name = "run_startups")]
#[pyo3(signature = (startups, *, threads = 0, progress = None))]
#[allow(
    clippy::needless_pass_by_value,
    reason = "arguments of a Python function"
)]
pub(crate) fn run_all_startups(
    py: Python<'_>,
    startups: Vec<PyRef<'_, Startup>>,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Table>> {
    let failures: Vec<Failures> = startups.iter().map(|s| s.failures.clone()).collect();
    let startups: Vec<_> = startups.iter().map(|s| s.startup.clone()).collect();
    let how = Execution {
        threads,
        ..Execution::default()
    };
    let tables = with_progress(py, progress.as_ref(), &failures, |go_on| {
        run_startups(&startups, how, go_on)
    })?;
    let each = startups.iter().zip(&tables);
    each.map(|(startup, rows)| table(startup, rows)).collect()
}

fn table(startup: &midflight_study::Startup, rows: &[StartupRow]) -> PyResult<Table> {
    let flows = (startup.flows + startup.residents) as usize;
    let schemes = startup.schemes.iter();
    let names = schemes.flat_map(|s| std::iter::repeat_n(s.clone(), flows));
    let mut t = Table::builder();
    let count = |f: fn(&StartupRow) -> i64| rows.iter().map(f).collect();
    t.text("scheme", names.collect());
    t.int("flow", count(|r| r.flow.into()));
    t.int("resident", count(|r| r.resident.into()));
    t.int("opened_ns", count(|r| r.opened.as_nanos() as i64));
    for (i, packets) in startup.counts.iter().enumerate() {
        let times = rows.iter().map(|r| nanos(r.times[i]));
        t.maybe_int(&format!("t_{packets}_ns"), times);
    }
    t.int("drops_data", count(|r| r.drops_data.into()));
    t.int("rexmits", count(|r| r.rexmits.into()));
    t.int("timeouts", count(|r| r.timeouts.into()));
    t.maybe_int(
        "acked_window",
        acked_window(rows.iter().map(|r| r.acked_window)),
    );
    let digests = rows.iter().map(|r| r.digest.to_string());
    t.text("digest", digests.collect());
    t.build()
}
