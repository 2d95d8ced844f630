//! `trace` and `capture`: one run of a handoff, told in two ways.

use std::collections::BTreeMap;

use midflight_study::{capture, trace, Flows, Handoff, StudyError, TraceRun};
use midflight_units::{Duration, Instant};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::table::Table;
use crate::{captures, interruptible, kind, link, refuse, spares_uplink, trace_table, Link};

/// A function of Python that has a run described by keywords, and more of them.
macro_rules! of_one_run {
    (
        $(#[$attribute:meta])*
        $name:literal as $function:ident($($more:ident: $of:ty = $default:literal),*) -> $answer:ty:
        $finish:path
    ) => {
        $(#[$attribute])*
        #[pyfunction(name = $name)]
        #[pyo3(signature = (*, old, new, kind = "mbb", at_ns, scheme, profile = "ns2",
            gap_ns = 500_000_000, packets = 100, until_ns = None, notify = true,
            notify_delay_ns = 0, fixed = Link::Numbers(100_000_000, 2_000_000),
            knobs = BTreeMap::new(), flows = 1, stagger_ns = 0, residents = 0,
            resident_scheme = "sack", start_notice = false, flow = 0 $(, $more = $default)*))]
        #[allow(
            clippy::too_many_arguments,
            clippy::elidable_lifetime_names,
            reason = "keyword arguments of a Python function, and an answer that may be Python's"
        )]
        pub(crate) fn $function<'py>(
            py: Python<'py>,
            old: Link,
            new: Link,
            kind: &str,
            at_ns: Option<u64>,
            scheme: &str,
            profile: &str,
            gap_ns: u64,
            packets: u64,
            until_ns: Option<u64>,
            notify: bool,
            notify_delay_ns: u64,
            fixed: Link,
            knobs: BTreeMap<String, String>,
            flows: u32,
            stagger_ns: u64,
            residents: u32,
            resident_scheme: &str,
            start_notice: bool,
            flow: u32,
            $($more: $of),*
        ) -> PyResult<$answer> {
            if at_ns.is_none() && until_ns.is_none() {
                return Err(refuse(StudyError::Nothing {
                    what: "handoff instant or end of the run",
                }));
            }
            let run = TraceRun {
                handoff: Handoff {
                    old: link(old)?,
                    new: link(new)?,
                    kind: self::kind(kind, gap_ns)?,
                    spares_uplink: spares_uplink(profile),
                    notice_delay: notify.then_some(Duration::from_nanos(notify_delay_ns)),
                    fixed: link(fixed)?,
                    flows: Flows {
                        moving: flows,
                        residents,
                        stagger: Duration::from_nanos(stagger_ns),
                        start_notice,
                    },
                },
                at: at_ns.map(Instant::from_nanos),
                scheme: scheme.into(),
                resident_scheme: resident_scheme.into(),
                flow,
                profile: profile.into(),
                knobs: knobs.into_iter().collect(),
                packets,
                end: Instant::from_nanos(until_ns.unwrap_or(3_600_000_000_000)),
            };
            $finish(py, &run $(, $more)*)
        }
    };
}

fn events(py: Python<'_>, run: &TraceRun) -> PyResult<Table> {
    let (rows, digest) = interruptible(py, &[], |go_on| trace(run, go_on))?;
    trace_table(&rows, &digest)
}

fn files<'py>(py: Python<'py>, run: &TraceRun, snaplen: u32) -> PyResult<Bound<'py, PyDict>> {
    let (seen, _) = interruptible(py, &[], |go_on| capture(run, snaplen, go_on))?;
    captures(py, seen)
}

of_one_run! {
    /// Return every event of a flow in one run: `time_ns`, `event`, `value`, `detail`.
    ///
    /// `flows` and the arguments after it are as for `Sweep`; `flow` is the number of the flow, those
    /// that move from 0, then the residents.
    "trace" as run_trace() -> Table: events
}

of_one_run! {
    /// Return what one run looks like on the wire: pcapng files by the place of the capture.
    ///
    /// The places are "sender" and "receiver" of the flow, and "bs1" and "bs2", the base stations of
    /// the old and the new link. Of each packet there are the first `snaplen` bytes; 0 keeps all, the
    /// payload of zeros included. Orders, timeouts, losses, break and make are comments of packets. The
    /// other arguments are as for `trace`.
    "capture" as run_capture(snaplen: u32 = 128) -> Bound<'py, PyDict>: files
}
