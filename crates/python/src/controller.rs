//! Congestion controllers that are written in Python: what they decide, and how they are asked.

use midflight_control::congestion::ForeignCongestion;
use midflight_control::SenderView;
use midflight_study::StudyError;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::policy::{window, PythonPolicy};
use crate::refuse;
use crate::view::View;

/// What a congestion controller decides: windows in segments, a pacing rate in segments/s.
///
/// What is None stays as it is. A `pacing_rate` of 0 ends pacing. Raises `MidflightError` for a
/// window or threshold below one segment, and for a rate below 0.
#[pyclass(frozen, module = "midflight")]
pub(crate) struct Control(midflight_control::congestion::Control);

#[pymethods]
impl Control {
    #[new]
    #[pyo3(signature = (*, cwnd = None, ssthresh = None, pacing_rate = None))]
    fn new(cwnd: Option<f64>, ssthresh: Option<f64>, pacing_rate: Option<f64>) -> PyResult<Self> {
        let checked = |segments: Option<f64>, what| segments.map(|s| window(s, what)).transpose();
        if let Some(rate) = pacing_rate.filter(|rate| !(rate.is_finite() && *rate >= 0.0)) {
            return Err(refuse(StudyError::Range {
                what: "the pacing rate",
                value: rate.to_string(),
                accepted: "0 segments a second or more",
            }));
        }
        Ok(Self(midflight_control::congestion::Control {
            cwnd: checked(cwnd, "the congestion window")?,
            ssthresh: checked(ssthresh, "the slow-start threshold")?,
            pacing_rate,
        }))
    }

    /// Congestion window.
    #[getter]
    fn cwnd(&self) -> Option<f64> {
        self.0.cwnd
    }

    /// Slow-start threshold.
    #[getter]
    fn ssthresh(&self) -> Option<f64> {
        self.0.ssthresh
    }

    /// Segments a second at which data leaves.
    #[getter]
    fn pacing_rate(&self) -> Option<f64> {
        self.0.pacing_rate
    }

    fn __repr__(&self) -> String {
        let shown = |value: Option<f64>| value.map_or_else(|| "None".into(), |v| v.to_string());
        format!(
            "Control(cwnd={}, ssthresh={}, pacing_rate={})",
            shown(self.0.cwnd),
            shown(self.0.ssthresh),
            shown(self.0.pacing_rate)
        )
    }
}

/// What a controller does itself and does not leave to its base class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControlHooks {
    steers_recovery: bool,
    open: bool,
    loss: bool,
    timeout: bool,
    undo: bool,
}

/// All that a controller may be asked by, besides what a policy may.
pub(crate) const CONTROL_HOOKS: [&str; 5] =
    ["on_open", "on_ack", "on_loss", "on_timeout", "on_undo"];

/// The hooks of an object that is a congestion controller.
pub(crate) fn control_hooks(object: &Bound<'_, PyAny>) -> PyResult<Option<ControlHooks>> {
    let module = object.py().import("midflight.controller")?;
    let base = module.getattr("CongestionController")?;
    if !object.is_instance(&base)? {
        return Ok(None);
    }
    let class = object.get_type();
    let own = |hook| -> PyResult<bool> { Ok(!class.getattr(hook)?.is(&base.getattr(hook)?)) };
    Ok(Some(ControlHooks {
        steers_recovery: object.getattr("steers_recovery")?.is_truthy()?,
        open: own("on_open")?,
        loss: own("on_loss")?,
        timeout: own("on_timeout")?,
        undo: own("on_undo")?,
    }))
}

fn read_control(
    py: Python<'_>,
    hook: &str,
    answer: Py<PyAny>,
) -> PyResult<midflight_control::congestion::Control> {
    let answer = answer.into_bound(py);
    if answer.is_none() {
        return Ok(midflight_control::congestion::Control::default());
    }
    let control = answer.cast::<Control>().map_err(|_| {
        let kind = answer.get_type().name().map(|n| n.to_string());
        let kind = kind.unwrap_or_default();
        PyTypeError::new_err(format!(
            "{hook} returned a {kind}; expected None or a midflight.Control"
        ))
    })?;
    Ok(control.get().0)
}

impl PythonPolicy {
    fn decide(
        &self,
        hook: &str,
        view: &SenderView,
        wanted: fn(ControlHooks) -> bool,
    ) -> midflight_control::congestion::Control {
        if !self.control.is_some_and(wanted) {
            return midflight_control::congestion::Control::default();
        }
        self.ask(hook, read_control, |py| {
            self.object.call_method1(py, hook, (View(*view),))
        })
    }
}

impl ForeignCongestion for PythonPolicy {
    fn steers_recovery(&self) -> bool {
        self.control.is_some_and(|hooks| hooks.steers_recovery)
    }

    fn on_open(&mut self, view: &SenderView) -> midflight_control::congestion::Control {
        self.decide("on_open", view, |hooks| hooks.open)
    }

    fn on_ack(&mut self, view: &SenderView) -> midflight_control::congestion::Control {
        self.decide("on_ack", view, |_| true)
    }

    fn on_loss(&mut self, view: &SenderView) -> midflight_control::congestion::Control {
        self.decide("on_loss", view, |hooks| hooks.loss)
    }

    fn on_timeout(&mut self, view: &SenderView) -> midflight_control::congestion::Control {
        self.decide("on_timeout", view, |hooks| hooks.timeout)
    }

    fn on_undo(&mut self, view: &SenderView) -> midflight_control::congestion::Control {
        self.decide("on_undo", view, |hooks| hooks.undo)
    }
}
