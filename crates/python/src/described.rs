//! Flows, and what happens to a path, as lists for Python.

use midflight_study::{FlowInfo, PathChange};
use midflight_units::Instant;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

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
        entry.set_item("stack", flow.stack.name())?;
        entry.set_item("workload", flow.workload)?;
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
        entry.set_item("from_link", &*one.links.0)?;
        entry.set_item("to_link", &*one.links.1)?;
        entry.set_item("at_ns", one.at.as_nanos())?;
        entry.set_item("make_ns", one.make.as_nanos())?;
        entry.set_item("breaks", one.breaks)?;
        entry.set_item("notified_ns", one.notified.map(Instant::as_nanos))?;
        entry.set_item("misstated", one.misstated)?;
        list.append(entry)?;
    }
    Ok(list)
}
