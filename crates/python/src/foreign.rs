//! QUIC stacks that are written in Python: how the driver of stacks calls them.
//!
//! The object of an end is a `midflight.aioquic_stack.End`. Each call holds the interpreter's lock, so runs on
//! several threads take turns.

use std::collections::VecDeque;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::OnceLock;

use midflight_quic::foreign::{
    self, EndConfig, Host, Machine, Message, Outcome, Transmit, WindowChange, CERTIFICATE, KEY,
    PROTOCOL, SERVER_NAME,
};
use midflight_sim::{End, TransportEvent};
use midflight_study::QuicStack;
use midflight_units::Instant;
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::policy::Failures;

/// The module of the ends.
const MODULE: &str = "midflight.aioquic_stack";

/// Runs stacks in this interpreter.
struct Interpreter;

/// Has stacks of Python run in this interpreter.
pub(crate) fn install() {
    foreign::install(&Interpreter);
}

/// What was raised in a stack and is no failure of it: an interrupt, or an exit of the program. The driver of
/// stacks takes a text only, on any thread, so the call that began the work raises it from here; of several calls
/// at a time the first one that ends.
pub(crate) fn interrupts() -> &'static Failures {
    static INTERRUPTS: OnceLock<Failures> = OnceLock::new();
    INTERRUPTS.get_or_init(Failures::default)
}

/// The text of an error. What is no `Exception` is noted for the caller too.
#[allow(
    clippy::needless_pass_by_value,
    reason = "used as the function of map_err"
)]
fn described(error: PyErr) -> String {
    Python::attach(|py| {
        if !error.is_instance_of::<PyException>(py) {
            interrupts().note(error.clone_ref(py));
        }
    });
    error.to_string()
}

impl Host for Interpreter {
    fn check(&self, _stack: QuicStack) -> Result<(), String> {
        // A package that has been found stays.
        static FOUND: OnceLock<()> = OnceLock::new();
        if FOUND.get().is_some() {
            return Ok(());
        }
        let missing = Python::attach(|py| -> PyResult<Option<String>> {
            py.import(MODULE)?.call_method0("check")?.extract()
        });
        if let Some(missing) = missing.map_err(described)? {
            return Err(missing);
        }
        FOUND.get_or_init(|| ());
        Ok(())
    }

    fn machine(&self, config: EndConfig<'_>) -> Result<Box<dyn Machine>, String> {
        let machine = Python::attach(|py| PythonMachine::new(py, config));
        Ok(Box::new(machine.map_err(described)?))
    }
}

/// A datagram that is ready: where to, and its packet behind the handshake.
struct Ready {
    bytes: Vec<u8>,
    to: SocketAddr,
    packet: Option<(u64, Vec<u8>)>,
}

/// An end whose stack is a Python object.
struct PythonMachine {
    end: Py<PyAny>,
    observed: Py<PyList>,
    log: Option<Box<dyn Write + Send + Sync>>,
    outcome: Outcome,
    ready: VecDeque<Ready>,
    /// Something has happened since it was last asked for datagrams.
    is_dirty: bool,
    due: Option<Instant>,
    has_connection: bool,
    peer: Option<SocketAddr>,
    lost: u64,
    last_lost: Instant,
}

impl PythonMachine {
    fn new(py: Python<'_>, config: EndConfig<'_>) -> PyResult<Self> {
        let given = PyDict::new(py);
        given.set_item("is_client", config.side == End::Client)?;
        given.set_item(
            "server",
            (config.server.ip().to_string(), config.server.port()),
        )?;
        given.set_item("server_name", SERVER_NAME)?;
        given.set_item("protocol", String::from_utf8_lossy(PROTOCOL))?;
        given.set_item("certificate", PyBytes::new(py, CERTIFICATE))?;
        given.set_item("key", PyBytes::new(py, KEY))?;
        given.set_item("congestion", config.flow.congestion.name())?;
        let idle = config.flow.idle.map(|idle| idle.as_nanos() as f64 / 1e9);
        given.set_item("idle_s", idle)?;
        given.set_item("streams", Vec::from(config.streams))?;
        given.set_item("seed", PyBytes::new(py, &config.seed))?;
        given.set_item("logs", config.log.is_some())?;
        let end = py.import(MODULE)?.getattr("End")?.call((), Some(&given))?;
        let observed = end.getattr("observed")?.cast_into::<PyList>()?.unbind();
        Ok(Self {
            end: end.unbind(),
            observed,
            log: config.log,
            outcome: Outcome::default(),
            ready: VecDeque::new(),
            is_dirty: false,
            due: None,
            has_connection: false,
            peer: None,
            lost: 0,
            last_lost: Instant::ZERO,
        })
    }

    /// Calls a method that returns nothing, and reports what was observed.
    fn call(&mut self, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) -> Result<(), String> {
        self.is_dirty = true;
        let called = Python::attach(|py| {
            let called = call(self.end.bind(py));
            self.observe(py).and(called)
        });
        called.map_err(described)
    }

    /// Takes what the end has observed.
    fn observe(&mut self, py: Python<'_>) -> PyResult<()> {
        let observed = self.observed.clone_ref(py).into_bound(py);
        if observed.is_empty() {
            return Ok(());
        }
        for one in observed.iter() {
            self.note(one.cast::<PyTuple>()?)?;
        }
        observed.call_method0("clear")?;
        Ok(())
    }

    fn note(&mut self, observed: &Bound<'_, PyTuple>) -> PyResult<()> {
        let kind = observed.get_item(0)?;
        let item = |place| observed.get_item(place);
        match kind.extract::<&str>()? {
            "received" => {
                let payload = item(2)?;
                foreign::packet(false, item(1)?.extract()?, payload.extract::<&[u8]>()?);
            }
            "window" => {
                let by = match item(2)?.extract::<&str>()? {
                    "new" => WindowChange::New,
                    "acked" => WindowChange::Acked,
                    "lost" => WindowChange::Lost,
                    other => return Err(unknown(other)),
                };
                foreign::window(item(1)?.extract()?, by);
            }
            "lost" => {
                self.last_lost = Instant::from_nanos(item(1)?.extract()?);
                self.lost += item(2)?.extract::<u64>()?;
                foreign::lost(self.last_lost, false);
            }
            "persistent" => foreign::lost(self.last_lost, true),
            "said" => foreign::said(match item(1)?.extract::<&str>()? {
                "pto" => Message::ProbeTimeout,
                "amplification" => Message::AmplificationLimit,
                "migration" => Message::Migration,
                "validated" => Message::Validated,
                "failed" => Message::ValidationFailed,
                other => return Err(unknown(other)),
            }),
            "secret" => foreign::secret(item(1)?.extract()?),
            "made" => self.has_connection = true,
            "peer" => self.peer = Some(address(&item(1)?, &item(2)?)?),
            "established" => self.outcome.events.push(TransportEvent::Established),
            "closed" => {
                let reason: String = item(1)?.extract()?;
                self.outcome
                    .events
                    .push(TransportEvent::Closed(reason.into()));
            }
            "read" => self.outcome.read.push(item(1)?.extract()?),
            "log" => {
                if let Some(log) = &mut self.log {
                    log.write_all(item(1)?.extract::<&str>()?.as_bytes())?;
                }
            }
            other => return Err(unknown(other)),
        }
        Ok(())
    }

    /// Asks for the datagrams that are ready.
    fn fill(&mut self, now: Instant) -> Result<(), String> {
        self.is_dirty = false;
        let filled = Python::attach(|py| {
            let answer = self.end.call_method1(py, "transmit", (now.as_nanos(),))?;
            let (datagrams, due): (Bound<'_, PyList>, Option<u64>) = answer.extract(py)?;
            for datagram in datagrams.iter() {
                let datagram = datagram.cast::<PyTuple>()?;
                let item = |place| datagram.get_item(place);
                let number: i64 = item(3)?.extract()?;
                let packet = match u64::try_from(number) {
                    Ok(number) => Some((number, item(4)?.extract::<Vec<u8>>()?)),
                    Err(_) => None,
                };
                self.ready.push_back(Ready {
                    bytes: item(0)?.extract()?,
                    to: address(&item(1)?, &item(2)?)?,
                    packet,
                });
            }
            self.due = due.map(Instant::from_nanos);
            self.observe(py)
        });
        filled.map_err(described)
    }
}

fn unknown(kind: &str) -> PyErr {
    PyRuntimeError::new_err(format!("the stack reports \"{kind}\", which is unknown"))
}

fn address(ip: &Bound<'_, PyAny>, port: &Bound<'_, PyAny>) -> PyResult<SocketAddr> {
    let ip = IpAddr::from_str(ip.extract()?);
    let ip = ip.map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
    Ok(SocketAddr::new(ip, port.extract()?))
}

impl Machine for PythonMachine {
    fn connect(&mut self, now: Instant) -> Result<(), String> {
        // Only clients are opened.
        self.call(|end| end.call_method1("connect", (now.as_nanos(),)).map(|_| ()))
    }

    fn take(
        &mut self,
        now: Instant,
        (from, _to): (SocketAddr, SocketAddr),
        _ecn: u8,
        payload: &[u8],
    ) -> Result<(), String> {
        self.call(|end| {
            let datagram = PyBytes::new(end.py(), payload);
            let given = (now.as_nanos(), from.ip().to_string(), from.port(), datagram);
            end.call_method1("receive", given).map(|_| ())
        })
    }

    fn transmit(&mut self, now: Instant, buf: &mut Vec<u8>) -> Result<Option<Transmit>, String> {
        if self.ready.is_empty() && self.is_dirty {
            self.fill(now)?;
        }
        Ok(self.ready.pop_front().map(|ready| {
            if let Some((number, payload)) = ready.packet {
                foreign::packet(true, number, &payload);
            }
            buf.extend(ready.bytes);
            Transmit {
                to: ready.to,
                from: None,
                ecn: 0,
            }
        }))
    }

    fn on_timeout(&mut self, now: Instant) -> Result<(), String> {
        self.call(|end| end.call_method1("timeout", (now.as_nanos(),)).map(|_| ()))
    }

    fn next_timeout(&mut self) -> Option<Instant> {
        self.due
    }

    fn send(&mut self, now: Instant, bytes: u64) -> Result<(), String> {
        self.call(|end| {
            end.call_method1("send", (now.as_nanos(), bytes))
                .map(|_| ())
        })
    }

    fn on_address(
        &mut self,
        now: Instant,
        _address: SocketAddr,
        migrates: bool,
    ) -> Result<(), String> {
        if !migrates {
            return Ok(());
        }
        self.call(|end| end.call_method1("migrate", (now.as_nanos(),)).map(|_| ()))
    }

    // Its paths begin with the window of the last one, so the setting is refused.
    fn resume(&mut self, _bytes: u64) {}

    fn has_connection(&self) -> bool {
        self.has_connection
    }

    fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    fn lost(&mut self) -> u64 {
        self.lost
    }

    fn outcome(&mut self) -> &mut Outcome {
        &mut self.outcome
    }
}
