//! Recordings of paths, to look at.

use std::collections::BTreeMap;

use midflight_sim::QUEUES;
use midflight_study::nearest;
use midflight_study::recording::{
    Between, Cut, Dates, Format, HoleKind, Model, OutageKind, Recording, Series, Way, MODELS,
};
use midflight_study::scenario::{Files, TraceFile};
use midflight_units::Duration;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::{refuse_sentence, refuse_value};
use crate::files::Disk;
use crate::knob_list;

/// What a scenario does to delays that are halves of round trips.
const DOUBLE_PATH: &str = "the wired links of a scenario add 20 ms to each measured round trip unless it has another wired.delay; wired.delay = \"0 ms\" adds nothing";

fn nanos(times: impl Iterator<Item = Duration>) -> Vec<u64> {
    times.map(Duration::as_nanos).collect()
}

fn way<'py>(py: Python<'py>, of: &Way) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    let series = |of: &Series| {
        let values: Vec<f64> = of.iter().map(|point| point.1).collect();
        (nanos(of.iter().map(|point| point.0)), values)
    };
    for (name, of) in [
        ("rate_bps", &of.rate),
        ("delay_s", &of.delay),
        ("loss", &of.loss),
    ] {
        found.set_item(name, series(of))?;
    }
    found.set_item("opportunities_ns", nanos(of.opportunities.iter().copied()))?;
    Ok(found)
}

/// Read a recording of a path, as a link's `trace` in a scenario does.
///
/// `format` is one of `csv`, `mahimahi`, `leo-em`, `leocc-delay`, `g-net-track` and `pensieve`, by
/// default what the first lines look like; `columns`, `dates` and `delay` are those of `trace` in a
/// scenario. The result has `format`, `span_ns`, `down` and `up`, `handovers` as pairs of an
/// instant in nanoseconds and what changed, `outages` and `holes` (times without rows) as pairs of
/// instants, `short_holes` as such a pair and the number of rows that are missing between, `drops`,
/// whether outages lose packets, `repeats`, whether it starts again at its end, `interpolation`,
/// "step" or "linear", and `remarks`. A direction has `rate_bps`, `delay_s` and `loss`, each a pair
/// of lists, of instants in nanoseconds and of values from then on, and `opportunities_ns`,
/// instants at which `opportunity_bytes` may be sent. `part` has the options `from`, `until`,
/// `offset`, `repeat`, `scale`, `interpolation`, `outage` and `holes` of `trace` in a scenario as
/// texts: the result is then what a link follows from its beginning on. Raises `MidflightError` for
/// what cannot be read.
#[pyfunction]
#[pyo3(signature = (
    file, *, format = None, columns = None, dates = None, delay = None, part = None
))]
#[allow(
    clippy::needless_pass_by_value,
    reason = "arguments of a Python function"
)]
pub(crate) fn read_recording<'py>(
    py: Python<'py>,
    file: &str,
    format: Option<&str>,
    columns: Option<BTreeMap<String, String>>,
    dates: Option<&str>,
    delay: Option<&str>,
    part: Option<BTreeMap<String, String>>,
) -> PyResult<Bound<'py, PyDict>> {
    let of_name = |name: &str| {
        Format::ALL
            .iter()
            .find(|one| one.0 == name)
            .map(|one| one.1)
    };
    let format = match format {
        None => None,
        Some(name) => Some(of_name(name).ok_or_else(|| {
            let known = Format::ALL.map(|one| one.0).join(", ");
            let near = nearest(name, Format::ALL.into_iter().map(|one| one.0));
            let near = near.map_or_else(String::new, |near| format!(" (did you mean \"{near}\"?)"));
            let why = format!("there is no format \"{name}\"{near}; there are {known}");
            refuse_value(why, "format", name, &known)
        })?),
    };
    let of_dates = |name: &str| Dates::ALL.iter().find(|one| one.0 == name).map(|one| one.1);
    let dates = match dates {
        None => None,
        Some(name) => Some(of_dates(name).ok_or_else(|| {
            let known = Dates::ALL.map(|one| one.0).join(" or ");
            let why = format!("dates \"{name}\" are not accepted; expected {known}");
            refuse_value(why, "dates", name, &known)
        })?),
    };
    let files = Disk::beside(None);
    let (columns, no_columns) = (columns.unwrap_or_default(), BTreeMap::new());
    let read = |name: &str, format, columns, dates| {
        let (path, _) = files.find(name)?;
        let text = files.text(&path)?;
        let recording = Recording::read(&text, format, columns, dates);
        recording.map_err(|why| format!("\"{name}\" cannot be read: {why}"))
    };
    let found = py.detach(|| read(file, format, &columns, dates));
    let accepted = "a recording of a format that is listed";
    let found = found.map_err(|why| refuse_value(why, "file", file, accepted))?;
    let delays = delay.map(|name| {
        let read = read(name, Some(Format::LeoccDelay), &no_columns, None);
        read.map_err(|why| refuse_value(why, "delay", name, "a file of delays in ms"))
    });
    part_of(py, found, delays.transpose()?, part)
}

/// The options of a trace that select a part of a recording, from texts.
fn options(part: &BTreeMap<String, String>) -> Result<TraceFile, String> {
    let mut of = TraceFile::default();
    for (key, text) in part {
        let wrong =
            |accepted: &str| format!("{key} \"{text}\" is not accepted; expected {accepted}");
        let of_time = || {
            text.parse()
                .map(Some)
                .map_err(|_| wrong("a time such as \"30 s\""))
        };
        match key.as_str() {
            "from" => of.from = of_time()?,
            "until" => of.until = of_time()?,
            "offset" => of.offset = of_time()?,
            "repeat" => of.repeat = Some(text.parse().map_err(|_| wrong("true or false"))?),
            "scale" => of.scale = Some(text.parse().map_err(|_| wrong("a number"))?),
            "interpolation" => {
                of.interpolation = Some(match text.as_str() {
                    "step" => Between::Step,
                    "linear" => Between::Linear,
                    _ => return Err(wrong("step or linear")),
                });
            }
            "holes" => {
                of.holes = Some(match text.as_str() {
                    "hold" => HoleKind::Hold,
                    "outage" => HoleKind::Outage,
                    _ => return Err(wrong("hold or outage")),
                });
            }
            "outage" => {
                of.outage = Some(match text.as_str() {
                    "hold" => OutageKind::Hold,
                    "drop" => OutageKind::Drop,
                    _ => return Err(wrong("hold or drop")),
                });
            }
            _ => return Err(format!("part has \"{key}\"; expected from, until, offset, repeat, scale, interpolation, outage or holes")),
        }
    }
    Ok(of)
}

/// A recording with the delays of another one, or the part of both with these options.
fn part_of(
    py: Python<'_>,
    mut found: Recording,
    mut delays: Option<Recording>,
    part: Option<BTreeMap<String, String>>,
) -> PyResult<Bound<'_, PyDict>> {
    let part = part.unwrap_or_default();
    let refuse = |why: String| refuse_sentence(why, "part", &format!("{part:?}"));
    let of = options(&part).map_err(refuse)?;
    let cut = of.part(found.format).map_err(refuse)?;
    if !part.is_empty() {
        found = found.part(&cut).map_err(refuse)?;
        if let Some(all) = delays {
            let cut = of.part(all.format).map_err(refuse)?;
            delays = Some(all.part(&cut).map_err(refuse)?);
        }
    }
    if let Some(delays) = delays {
        found.set_delays(delays.down.delay);
    }
    if let Some(outage) = cut.outage {
        found.drops = outage == OutageKind::Drop;
    }
    as_dict(py, found, &cut)
}

/// The part of a recording that a link follows in this way, as a dictionary.
pub(crate) fn as_dict<'py>(
    py: Python<'py>,
    mut found: Recording,
    cut: &Cut,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    found.remarks.extend(found.row_remarks(cut.holes));
    if found.has_round_trips {
        found.remarks.push(DOUBLE_PATH.into());
    }
    dict.set_item("opportunity_bytes", (1500.0 * cut.scale).round())?;
    dict.set_item("format", found.format.name())?;
    dict.set_item("span_ns", found.span.as_nanos())?;
    dict.set_item("down", way(py, &found.down)?)?;
    dict.set_item("up", way(py, &found.up)?)?;
    let handovers = found.handovers.iter().map(|one| (one.0.as_nanos(), one.1));
    dict.set_item("handovers", handovers.collect::<Vec<_>>())?;
    let outages = found
        .outages
        .iter()
        .map(|one| (one.0.as_nanos(), one.1.as_nanos()));
    dict.set_item("outages", outages.collect::<Vec<_>>())?;
    let holes = found.holes.iter();
    let holes = holes.map(|one| (one.0.as_nanos(), one.1.as_nanos()));
    dict.set_item("holes", holes.collect::<Vec<_>>())?;
    let gaps = found.gaps().into_iter();
    let gaps = gaps.map(|one| (one.from.as_nanos(), one.until.as_nanos(), one.rows));
    dict.set_item("short_holes", gaps.collect::<Vec<_>>())?;
    dict.set_item("drops", found.drops)?;
    dict.set_item("repeats", cut.repeats)?;
    let is_linear = cut.between == Between::Linear;
    dict.set_item("interpolation", if is_linear { "linear" } else { "step" })?;
    dict.set_item(
        "remarks",
        [found.remarks, found.hints, found.details].concat(),
    )?;
    Ok(dict)
}

/// Generate a trace from a model, as a link's `trace` in a scenario does.
///
/// `length` is a text such as "600 s", `set` has texts by the names of the model's knobs
/// (`path_models`). `part` and the result are those of `read_recording`. Raises `MidflightError`
/// for what is not accepted.
#[pyfunction]
#[pyo3(signature = (model, *, seed = 1, length = "600 s", set = None, part = None))]
#[allow(
    clippy::needless_pass_by_value,
    reason = "arguments of a Python function"
)]
pub(crate) fn draw_recording<'py>(
    py: Python<'py>,
    model: &str,
    seed: u64,
    length: &str,
    set: Option<BTreeMap<String, String>>,
    part: Option<BTreeMap<String, String>>,
) -> PyResult<Bound<'py, PyDict>> {
    let refuse = |why: String| refuse_sentence(why, "model", model);
    let model = Model::named(model).map_err(refuse)?;
    let span = length
        .parse()
        .map_err(|e| refuse_sentence(format!("length \"{length}\": {e}"), "length", length))?;
    let found = py.detach(|| model.draw(seed, span, &set.unwrap_or_default()));
    let found = found.map_err(|refused| match refused.key {
        "length" => refuse_sentence(refused.why, "length", length),
        _ => refuse(refused.why),
    });
    part_of(py, found?, None, part)
}

/// Return the models that generate traces, with their knobs.
#[pyfunction]
pub(crate) fn path_models(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for model in MODELS {
        let entry = PyDict::new(py);
        entry.set_item("name", model.name)?;
        entry.set_item("summary", model.summary)?;
        entry.set_item("source", model.source)?;
        entry.set_item("knobs", knob_list(py, model.knobs)?)?;
        list.append(entry)?;
    }
    Ok(list)
}

/// Return the disciplines of queues.
#[pyfunction]
pub(crate) fn queue_disciplines(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for kind in QUEUES {
        let entry = PyDict::new(py);
        entry.set_item("name", kind.name)?;
        entry.set_item("summary", kind.summary)?;
        entry.set_item("source", kind.source)?;
        list.append(entry)?;
    }
    Ok(list)
}
