//! Drills for Python: scripts in packetdrill's notation.

use std::collections::BTreeMap;

use midflight_drill::{drill_fields as fields, run_drill as run, DrillRequest, DrillRun};
use midflight_units::Duration;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::refuse;

/// Run a script in packetdrill's notation, once for each sender that its header names.
///
/// `name` is what messages call the script. What is given here has precedence over what the script
/// says; `tolerance_ns` is how early or late a segment may be.
#[pyfunction]
#[pyo3(signature = (text, name, *, scheme=None, profile=None, knobs=None, tolerance_ns=None))]
pub(crate) fn run_drill<'py>(
    py: Python<'py>,
    text: &str,
    name: &str,
    scheme: Option<String>,
    profile: Option<String>,
    knobs: Option<BTreeMap<String, String>>,
    tolerance_ns: Option<u64>,
) -> PyResult<Bound<'py, PyList>> {
    let request = DrillRequest {
        scheme,
        profile,
        knobs: knobs.unwrap_or_default().into_iter().collect(),
        tolerance: tolerance_ns.map(Duration::from_nanos),
    };
    let runs = py.detach(|| run(text, name, &request)).map_err(refuse)?;
    let list = PyList::empty(py);
    for one in runs {
        list.append(drill_entry(py, one)?)?;
    }
    Ok(list)
}

fn drill_entry(py: Python<'_>, run: DrillRun) -> PyResult<Bound<'_, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("scheme", run.scheme)?;
    entry.set_item("profile", run.profile)?;
    let knobs = PyDict::new(py);
    for (knob, value) in run.knobs {
        knobs.set_item(knob, value)?;
    }
    entry.set_item("knobs", knobs)?;
    entry.set_item("passed", run.failure.is_none())?;
    entry.set_item("segments", run.segments)?;
    entry.set_item("end_ns", run.end.as_nanos())?;
    let notes = PyList::empty(py);
    for note in run.notes {
        let one = PyDict::new(py);
        one.set_item("line", note.line)?;
        one.set_item("text", note.text)?;
        notes.append(one)?;
    }
    entry.set_item("notes", notes)?;
    let failure = match run.failure {
        None => None,
        Some(failure) => {
            let one = PyDict::new(py);
            one.set_item("line", failure.line)?;
            one.set_item("statement", failure.statement)?;
            one.set_item("expected", failure.expected)?;
            one.set_item("seen", failure.seen)?;
            let state = PyDict::new(py);
            for (name, value) in failure.state {
                state.set_item(name, value)?;
            }
            one.set_item("state", state)?;
            Some(one)
        }
    };
    entry.set_item("failure", failure)?;
    Ok(entry)
}

/// Return the fields of Linux's `tcp_info` that a script may ask for: name and meaning.
#[pyfunction]
pub(crate) fn drill_fields() -> Vec<(&'static str, &'static str)> {
    fields().collect()
}
