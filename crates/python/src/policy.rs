//! Policies that are written in Python: what they see, what they order, and how they are asked.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use midflight_control::congestion::ForeignCongestion;
use midflight_control::part::PartInfo;
use midflight_control::policy::{ForeignPolicy, HandoffPolicy};
use midflight_control::{Interests, Orders, Pacing, Spacing, Then, Train};
use midflight_study::{nearest, Scheme, StudyError};
use midflight_units::{Duration, Instant, Rate};
use pyo3::exceptions::{PyAttributeError, PyException, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::controller::{control_hooks, ControlHooks, CONTROL_HOOKS};
use crate::errors::refuse_value;
use crate::refuse;
use crate::view::{Advice, Notice, View};

/// What a policy asks of its sender, with the reason. Made by the functions of its class.
#[pyclass(frozen, module = "midflight")]
pub(crate) struct Order {
    order: midflight_control::Order,
    because: String,
}

pub(crate) fn window(segments: f64, what: &'static str) -> PyResult<f64> {
    if segments.is_finite() && segments >= 1.0 {
        return Ok(segments);
    }
    Err(refuse(StudyError::Range {
        what,
        value: segments.to_string(),
        accepted: "1 segment or more",
    }))
}

impl Order {
    fn new(order: midflight_control::Order, because: &str) -> Self {
        let because = because.into();
        Self { order, because }
    }
}

#[pymethods]
impl Order {
    /// Set the congestion window, in segments.
    #[staticmethod]
    #[pyo3(signature = (segments, *, because))]
    fn set_cwnd(segments: f64, because: &str) -> PyResult<Self> {
        let order = midflight_control::Order::SetCwnd(window(segments, "the congestion window")?);
        Ok(Self::new(order, because))
    }

    /// Set the slow-start threshold, in segments.
    #[staticmethod]
    #[pyo3(signature = (segments, *, because))]
    fn set_ssthresh(segments: f64, because: &str) -> PyResult<Self> {
        let segments = window(segments, "the slow-start threshold")?;
        let order = midflight_control::Order::SetSsthresh(segments);
        Ok(Self::new(order, because))
    }

    /// Set the lower bound of the retransmission timeout.
    #[staticmethod]
    #[pyo3(signature = (min_rto_ns, *, because))]
    fn set_min_rto(min_rto_ns: u64, because: &str) -> Self {
        let bound = Duration::from_nanos(min_rto_ns);
        Self::new(midflight_control::Order::SetMinRto(bound), because)
    }

    /// Re-arm the retransmission timer from now with the timeout now in force.
    #[staticmethod]
    #[pyo3(signature = (*, because))]
    fn restart_timer(because: &str) -> Self {
        Self::new(midflight_control::Order::RestartTimer, because)
    }

    /// Forget the RTT estimate as for a new connection and re-arm the timer.
    ///
    /// The first ACK of a segment sent at `sample_since_ns` or later gives a sample at once, with
    /// `sample_retransmitted` also of one that was sent before.
    #[staticmethod]
    #[pyo3(signature = (*, initial_rto_ns, sample_since_ns, sample_retransmitted = false, because))]
    fn restart_rtt(
        initial_rto_ns: u64,
        sample_since_ns: u64,
        sample_retransmitted: bool,
        because: &str,
    ) -> Self {
        let order = midflight_control::Order::RestartRtt {
            initial_rto: Duration::from_nanos(initial_rto_ns),
            sample_since: Instant::from_nanos(sample_since_ns),
            sample_retransmitted,
        };
        Self::new(order, because)
    }

    /// Retransmit the first unacknowledged segment, drop the back-off and re-arm the timer.
    #[staticmethod]
    #[pyo3(signature = (*, because))]
    fn retransmit_now(because: &str) -> Self {
        Self::new(midflight_control::Order::RetransmitNow, because)
    }

    /// Retransmit everything from the first unacknowledged segment on, as after a timeout.
    #[staticmethod]
    #[pyo3(signature = (*, because))]
    fn go_back(because: &str) -> Self {
        Self::new(midflight_control::Order::GoBack, because)
    }

    /// The same, but with the window as it is and out of every recovery.
    #[staticmethod]
    #[pyo3(signature = (*, because))]
    fn rewind(because: &str) -> Self {
        Self::new(midflight_control::Order::Rewind, because)
    }

    /// From `on_recovery`: enter fast recovery, but leave window and threshold alone.
    #[staticmethod]
    #[pyo3(signature = (*, because))]
    fn keep_window(because: &str) -> Self {
        Self::new(midflight_control::Order::KeepWindow, because)
    }

    /// Do not grow the window until a segment last sent then or later is acknowledged.
    #[staticmethod]
    #[pyo3(signature = (since_ns, *, because))]
    fn hold_growth(since_ns: u64, because: &str) -> Self {
        let since = Instant::from_nanos(since_ns);
        Self::new(midflight_control::Order::HoldGrowth(since), because)
    }

    /// Send this many of the next segments at this rate instead of in a burst, what a timeout
    /// resends included.
    #[staticmethod]
    #[pyo3(signature = (segments, *, rate_bps, segment_bytes, because))]
    fn pace(segments: u16, rate_bps: u64, segment_bytes: u32, because: &str) -> PyResult<Self> {
        let Some(rate) = Rate::from_bps(rate_bps) else {
            return Err(refuse(StudyError::Range {
                what: "the rate to pace at",
                value: "0 bit/s".into(),
                accepted: "1 bit/s or more",
            }));
        };
        let gap = rate.transmission_time(segment_bytes.into());
        let train = Train {
            number: 0,
            segments,
            spacing: Spacing::Even(gap),
            then: Then::GoOn,
        };
        Ok(Self::new(
            midflight_control::Order::SendTrain(train),
            because,
        ))
    }

    /// Send no faster than this from now on, counted on the wire, until a further order.
    #[staticmethod]
    #[pyo3(signature = (rate_bps, *, because))]
    fn pace_at(rate_bps: u64, because: &str) -> PyResult<Self> {
        let Some(rate) = Rate::from_bps(rate_bps) else {
            return Err(refuse(StudyError::Range {
                what: "the rate to pace at",
                value: "0 bit/s".into(),
                accepted: "1 bit/s or more",
            }));
        };
        let order = midflight_control::Order::Pace(Pacing::At(rate));
        Ok(Self::new(order, because))
    }

    /// Spread the window of now over this time, such as a round trip; then send as before.
    #[staticmethod]
    #[pyo3(signature = (over_ns, *, because))]
    fn pace_window(over_ns: u64, because: &str) -> PyResult<Self> {
        if over_ns == 0 {
            return Err(refuse(StudyError::Range {
                what: "the time to spread the window over",
                value: "0 ns".into(),
                accepted: "1 ns or more",
            }));
        }
        let over = Duration::from_nanos(over_ns);
        let order = midflight_control::Order::Pace(Pacing::Window { over });
        Ok(Self::new(order, because))
    }

    /// Send without an ordered rate again.
    #[staticmethod]
    #[pyo3(signature = (*, because))]
    fn end_pacing(because: &str) -> Self {
        Self::new(midflight_control::Order::Pace(Pacing::Off), because)
    }

    fn __repr__(&self) -> String {
        format!("<order: {} because {}>", self.order, self.because)
    }
}

/// What went wrong in Python while the core ran; the first error is kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failures(Arc<Mutex<Option<PyErr>>>);

impl Failures {
    pub(crate) fn note(&self, error: PyErr) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
    }

    pub(crate) fn any(&self) -> bool {
        let first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.is_some()
    }

    /// Raises what went wrong, if anything did.
    pub(crate) fn raise(&self) -> PyResult<()> {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.take().map_or(Ok(()), Err)
    }
}

/// Which of the hooks a policy has.
#[derive(Clone, Copy, Debug)]
struct Hooks {
    notice: bool,
    advice: bool,
    start: bool,
    ack: bool,
    timeout: bool,
    recovery: bool,
}

/// A policy in Python: an object with the hooks `on_notice` and, if it wants them, `on_advice`, `on_start`,
/// `on_ack`, `on_timeout` and `on_recovery`. A congestion controller is one that need not have
/// `on_notice`, and whose `on_ack` and `on_timeout` are the controller's.
#[derive(Debug)]
pub(crate) struct PythonPolicy {
    pub(crate) object: Py<PyAny>,
    info: PartInfo,
    hooks: Hooks,
    pub(crate) control: Option<ControlHooks>,
    failures: Failures,
}

/// A name that lives as long as the program; the same one for equal names.
fn lasting(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let lasting: &'static str = Box::leak(name.to_string().into_boxed_str());
    names.insert(lasting);
    lasting
}

impl PythonPolicy {
    /// What a hook answers; nothing after something went wrong.
    pub(crate) fn ask<T: Default>(
        &self,
        hook: &str,
        read: impl FnOnce(Python<'_>, &str, Py<PyAny>) -> PyResult<T>,
        call: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>>,
    ) -> T {
        if self.failures.any() {
            return T::default();
        }
        Python::attach(|py| {
            let answer = call(py).and_then(|answer| read(py, hook, answer));
            answer.unwrap_or_else(|error| {
                self.failures.note(self.refusal(py, hook, error));
                T::default()
            })
        })
    }

    fn kind(&self) -> &'static str {
        match self.control {
            Some(_) => "congestion controller",
            None => "policy",
        }
    }

    /// An error of the policy in a sentence, with the error itself as its cause.
    fn refusal(&self, py: Python<'_>, hook: &str, error: PyErr) -> PyErr {
        // An interrupt is no mistake of the policy.
        if !error.is_instance_of::<PyException>(py) {
            return error;
        }
        let place = error.traceback(py).and_then(|traceback| {
            let frames = py.import("traceback").ok()?;
            let frames = frames.call_method1("extract_tb", (traceback,)).ok()?;
            let last = frames.get_item(-1).ok()?;
            let file: String = last.getattr("filename").ok()?.extract().ok()?;
            let line: u32 = last.getattr("lineno").ok()?.extract().ok()?;
            Some(format!(" ({file}:{line})"))
        });
        let place = place.unwrap_or_default();
        let name = self.info.name;
        let near = meant(py, &error).unwrap_or_default();
        let kind = self.kind();
        let text = format!("the {kind} \"{name}\" failed in {hook}: {error}{near}{place}");
        let refusal = refuse_value(text, name, hook, "a hook that raises nothing");
        refusal.set_cause(py, Some(error));
        refusal
    }

    fn notify(&self, hook: &str, notice: Notice, view: &midflight_control::SenderView) -> Orders {
        self.ask(hook, read_orders, |py| {
            let arguments = (notice, View(*view));
            self.object.call_method1(py, hook, arguments)
        })
    }

    fn tell(&self, hook: &str, view: &midflight_control::SenderView) -> Orders {
        self.ask(hook, read_orders, |py| {
            self.object.call_method1(py, hook, (View(*view),))
        })
    }
}

/// What an attribute that there is not may have been meant for, as a remark.
fn meant(py: Python<'_>, error: &PyErr) -> Option<String> {
    if !error.is_instance_of::<PyAttributeError>(py) {
        return None;
    }
    let error = error.value(py);
    let name: String = error.getattr("name").ok()?.extract().ok()?;
    let known = error.getattr("obj").ok()?.dir().ok()?;
    let known: Vec<String> = known.extract().ok()?;
    let known = || {
        known
            .iter()
            .map(String::as_str)
            .filter(|k| !k.starts_with('_'))
    };
    // A unit, such as "_ns", is easily left out.
    let begun = |known: &&str| {
        known
            .strip_prefix(&*name)
            .is_some_and(|rest| rest.starts_with('_'))
    };
    let near = known().find(begun).map(Into::into);
    let near = near.or_else(|| nearest(&name, known()))?;
    Some(format!(" (did you mean \"{near}\"?)"))
}

/// Orders that one answer may have.
const MOST_ORDERS: usize = 1000;

fn read_orders(py: Python<'_>, hook: &str, answer: Py<PyAny>) -> PyResult<Orders> {
    let mut orders = Orders::none();
    let answer = answer.into_bound(py);
    if answer.is_none() {
        return Ok(orders);
    }
    let wrong = |what: &Bound<'_, PyAny>| {
        let kind = what.get_type().name().map(|n| n.to_string());
        let kind = kind.unwrap_or_default();
        PyTypeError::new_err(format!(
            "{hook} returned a {kind}; expected None and a list of midflight.Order"
        ))
    };
    let each = answer.try_iter().map_err(|_| wrong(&answer))?;
    for (given, order) in each.enumerate() {
        let order = order?;
        if given == MOST_ORDERS {
            return Err(PyValueError::new_err(format!(
                "{hook} gave more than {MOST_ORDERS} orders at once; expected up to that many"
            )));
        }
        let order = order.cast::<Order>().map_err(|_| wrong(&order))?.get();
        orders.push(order.order, order.because.clone());
    }
    Ok(orders)
}

impl HandoffPolicy for PythonPolicy {
    fn on_notice(
        &mut self,
        notice: &midflight_control::Notice,
        view: &midflight_control::SenderView,
    ) -> Orders {
        if !self.hooks.notice {
            return Orders::none();
        }
        let notice = Notice {
            old: Some(notice.old),
            new: notice.new,
            flows: notice.flows,
            segment_bytes: view.segment_bytes,
        };
        self.notify("on_notice", notice, view)
    }

    fn on_start(
        &mut self,
        notice: &midflight_control::StartNotice,
        view: &midflight_control::SenderView,
    ) -> Orders {
        let notice = Notice {
            old: None,
            new: notice.link,
            flows: notice.flows,
            segment_bytes: view.segment_bytes,
        };
        self.notify("on_start", notice, view)
    }

    fn on_advice(
        &mut self,
        advice: &midflight_control::Advice,
        view: &midflight_control::SenderView,
    ) -> Orders {
        self.ask("on_advice", read_orders, |py| {
            let arguments = (Advice(*advice), View(*view));
            self.object.call_method1(py, "on_advice", arguments)
        })
    }

    fn interests(&self) -> Interests {
        let acks = Interests::ACKS | Interests::RATES;
        Interests::ADVICE.when(self.hooks.advice)
            | Interests::START.when(self.hooks.start)
            | acks.when(self.hooks.ack)
            | Interests::CONTROL.when(self.control.is_some())
    }

    fn on_ack(
        &mut self,
        _ack: &midflight_control::AckNews,
        view: &midflight_control::SenderView,
    ) -> Orders {
        self.tell("on_ack", view)
    }

    fn on_timeout(
        &mut self,
        before: &midflight_control::SenderView,
        view: &midflight_control::SenderView,
    ) -> Orders {
        if !self.hooks.timeout {
            return Orders::none();
        }
        self.ask("on_timeout", read_orders, |py| {
            let arguments = (View(*before), View(*view));
            self.object.call_method1(py, "on_timeout", arguments)
        })
    }

    fn on_recovery(&mut self, view: &midflight_control::SenderView) -> Orders {
        if !self.hooks.recovery {
            return Orders::none();
        }
        self.tell("on_recovery", view)
    }
}

impl ForeignPolicy for PythonPolicy {
    fn info(&self) -> PartInfo {
        self.info
    }

    fn copied(&self) -> Box<dyn ForeignPolicy> {
        let copy = Python::attach(|py| -> PyResult<Py<PyAny>> {
            let copy = py.import("copy")?.getattr("deepcopy")?;
            Ok(copy.call1((&self.object,))?.unbind())
        });
        let object = copy.unwrap_or_else(|error| {
            self.failures.note(error);
            Python::attach(|py| self.object.clone_ref(py))
        });
        Box::new(Self {
            object,
            info: self.info,
            hooks: self.hooks,
            control: self.control,
            failures: self.failures.clone(),
        })
    }

    fn controller(&mut self) -> Option<&mut dyn ForeignCongestion> {
        self.control.is_some().then_some(self as _)
    }
}

/// All that a policy may be asked by.
const HOOKS: [&str; 6] = [
    "on_notice",
    "on_advice",
    "on_start",
    "on_ack",
    "on_timeout",
    "on_recovery",
];

/// Refuses a method whose name is a misspelt hook: it would never be called.
fn check_hooks(name: &str, object: &Bound<'_, PyAny>, controls: bool) -> PyResult<()> {
    let (kind, more): (_, &[&str]) = if controls {
        ("congestion controller", &CONTROL_HOOKS)
    } else {
        ("policy", &[])
    };
    let hooks = || more.iter().copied().chain(HOOKS);
    for attribute in object.dir()? {
        let attribute: String = attribute.extract()?;
        let is_hook = hooks().any(|hook| hook == attribute);
        if is_hook || !attribute.starts_with("on_") || !object.getattr(&*attribute)?.is_callable() {
            continue;
        }
        let near = nearest(&attribute, hooks());
        let near = near.map_or_else(String::new, |n| format!(" (did you mean \"{n}\"?)"));
        let known: BTreeSet<&str> = hooks().collect();
        let known = known.into_iter().collect::<Vec<_>>().join(", ");
        let message = format!("the {kind} \"{name}\" has a method {attribute}, which is not a hook{near}; hooks are {known}, and other methods have names that do not begin with on_");
        return Err(refuse_value(message, name, &attribute, &known));
    }
    Ok(())
}

/// Policies by name as Python gives them: classes, or other functions that make one.
pub(crate) fn policies_of(
    named: Option<&Bound<'_, PyDict>>,
    failures: &Failures,
) -> PyResult<Vec<Arc<dyn ForeignPolicy>>> {
    let mut policies: Vec<Arc<dyn ForeignPolicy>> = Vec::new();
    let Some(named) = named else {
        return Ok(policies);
    };
    for (name, make) in named.iter() {
        let name: String = name.extract()?;
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(fits) || Scheme::named(&name).is_ok() {
            return Err(refuse(StudyError::Range {
                what: "the name of a policy",
                value: format!("\"{name}\""),
                accepted: "letters, digits, - and _, and no name that a scheme has already",
            }));
        }
        let object = make.call0()?;
        let control = control_hooks(&object)?;
        check_hooks(&name, &object, control.is_some())?;
        let has = |hook| object.hasattr(hook);
        if control.is_none() && !has("on_notice")? {
            return Err(PyTypeError::new_err(format!(
                "the policy \"{name}\" has no on_notice(notice, view); a policy needs one, and a congestion controller is a midflight.CongestionController"
            )));
        }
        let info = PartInfo {
            name: lasting(&name),
            summary: match control {
                Some(_) => "a congestion controller in Python",
                None => "a policy in Python",
            },
            source: "elsewhere",
            knobs: &[],
        };
        let hooks = Hooks {
            notice: has("on_notice")?,
            advice: has("on_advice")?,
            start: has("on_start")?,
            ack: control.is_none() && has("on_ack")?,
            timeout: control.is_none() && has("on_timeout")?,
            recovery: has("on_recovery")?,
        };
        policies.push(Arc::new(PythonPolicy {
            object: object.unbind(),
            info,
            hooks,
            control,
            failures: failures.clone(),
        }));
    }
    Ok(policies)
}
