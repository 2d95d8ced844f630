//! `Events`: events of a flow of a run with what led to each, for `midflight.explain`.

use std::collections::BTreeMap;

use midflight_study::{
    Divergence, Explained, FlowEnd, Keep, KeptEvents, SenderThen, Stall, TraceColumns, TraceRow,
};
use midflight_tcp::Author;
use midflight_units::Instant;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::policy::Failures;
use crate::table::TableBuilder;
use crate::{nanos, refuse, trace_table};

/// Events of a flow of a run with their causes.
#[pyclass(frozen, module = "midflight")]
pub(crate) struct Events {
    setup: midflight_study::Setup,
    failures: Failures,
    found: Explained,
    ways: EventsByPacket,
}

/// A segment, when this copy of it was sent, or of an ACK when it left, and the ACK's number.
type Packet = (Option<u64>, Option<u64>, u64);

/// Numbers of events by the packet that they are of.
#[derive(Default)]
struct EventsByPacket {
    sent: BTreeMap<u64, Vec<u64>>,
    /// By the name of the event; of several the first.
    others: BTreeMap<(&'static str, Packet), u64>,
}

impl EventsByPacket {
    fn of(kept: &KeptEvents) -> Self {
        let mut ways = Self::default();
        let each = kept.rows.iter().zip(&kept.of).zip(&kept.places);
        for ((row, of), place) in each {
            let (value, number) = (row.value as u64, place.number);
            let data = (Some(value), of.sent.map(Instant::as_nanos), 0);
            let ack = (
                of.segment,
                of.since.map(Instant::as_nanos),
                row.value.to_bits(),
            );
            let key = match row.event {
                "send" | "rexmit" | "window_probe" => {
                    ways.sent.entry(value).or_default().push(number);
                    continue;
                }
                "rcv" => ("rcv", data),
                "drop" if row.lost.is_some_and(|lost| lost.packet.kind() == "data") => {
                    ("data drop", data)
                }
                "drop" => ("ack drop", ack),
                "ack" => ("ack", ack),
                "ack_sent" => ("ack_sent", ack),
                _ => continue,
            };
            ways.others.entry(key).or_insert(number);
        }
        ways
    }
}

/// An event: its number, `time_ns`, `event`, `value`, `detail`, the columns of `Setup.causes`, who
/// changed a window or gave an order, and the order.
type EventFields<'a> = (
    u64,
    u64,
    &'static str,
    f64,
    &'a str,
    Option<u64>,
    Option<u64>,
    Option<u64>,
    &'a str,
    Option<&'static str>,
    Option<OrderFields>,
    Option<LinkFields<'a>>,
);

/// Where a segment arrived or a packet was lost: the link, and of a loss what was lost and the cause.
type LinkFields<'a> = (&'a str, Option<&'static str>, Option<&'static str>);

fn link_fields(row: &TraceRow) -> Option<LinkFields<'_>> {
    let link = row.link.as_deref()?;
    let packet = row.lost.map(|lost| lost.packet.kind());
    Some((link, packet, row.lost.map(|lost| lost.cause.name())))
}

/// An order: its name, what it says, and why it was given.
pub(crate) type OrderFields = (&'static str, String, String);

pub(crate) fn order_fields(row: &TraceRow) -> Option<OrderFields> {
    let ordered = row.ordered.as_deref()?;
    let (name, what) = (ordered.order.name(), ordered.order.to_string());
    Some((name, what, ordered.reason.clone()))
}

/// What is known of a sender before an event.
type SenderFields = (
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    u64,
    u64,
    u64,
    u64,
    bool,
    Option<u64>,
    Option<u64>,
);

impl Events {
    /// What was found of a run of this setup.
    pub(crate) fn new(setup: midflight_study::Setup, failures: Failures, found: Explained) -> Self {
        let ways = EventsByPacket::of(&found.kept);
        Self {
            setup,
            failures,
            found,
            ways,
        }
    }

    fn of_packet(&self, event: &str, packet: Packet) -> Option<u64> {
        let names = ["rcv", "data drop", "ack_sent", "ack", "ack drop"];
        let event = names.into_iter().find(|name| *name == event)?;
        self.ways.others.get(&(event, packet)).copied()
    }

    fn place(&self, number: u64) -> PyResult<usize> {
        let first = self.first();
        let place = number.checked_sub(first).map(|place| place as usize);
        place
            .filter(|&place| place < self.found.kept.rows.len())
            .ok_or_else(|| PyIndexError::new_err(format!("event {number} was not kept")))
    }

    fn fields(&self, place: usize) -> EventFields<'_> {
        let kept = &self.found.kept;
        let (row, of) = (&kept.rows[place], &kept.of[place]);
        let ns = |at: Option<Instant>| at.map(Instant::as_nanos);
        (
            kept.places[place].number,
            row.at.as_nanos(),
            row.event,
            row.value,
            &row.detail,
            of.segment,
            ns(of.sent),
            ns(of.since),
            &of.sack,
            row.by.map(Author::name),
            order_fields(row),
            link_fields(row),
        )
    }
}

#[pymethods]
impl Events {
    /// How many events there are.
    fn __len__(&self) -> usize {
        self.found.kept.rows.len()
    }

    /// Number of the first one.
    #[getter]
    fn first(&self) -> u64 {
        self.found
            .kept
            .places
            .first()
            .map_or(0, |place| place.number)
    }

    /// Return all events, each as its number, `time_ns`, `event`, `value`, `detail`, what else
    /// `Setup.causes` has of it (`segment`, `sent_ns`, `since_ns`, `sack`), `by`, of an order its
    /// name, what it says and why it was given, and the link, with what was lost and the cause.
    fn rows(&self) -> Vec<EventFields<'_>> {
        let all = 0..self.found.kept.rows.len();
        all.map(|place| self.fields(place)).collect()
    }

    /// Return the event of a number. Raises `IndexError` for one that is not there.
    fn row(&self, number: u64) -> PyResult<EventFields<'_>> {
        Ok(self.fields(self.place(number)?))
    }

    /// Return the number of the event that reached the sender and led to this one.
    fn head(&self, number: u64) -> PyResult<Option<u64>> {
        Ok(self.found.kept.places[self.place(number)?].head)
    }

    /// Return the sender before an event: `cwnd`, `ssthresh`, `rto`, `min_rto`, `backoff`,
    /// `una`, `max`, `duplicates`, `closed`, and the numbers of the fast retransmit and of the
    /// timeout from which it has not recovered.
    fn sender_before(&self, number: u64) -> PyResult<SenderFields> {
        let s = self.found.kept.places[self.place(number)?].before;
        Ok((
            s.cwnd,
            s.ssthresh,
            s.rto,
            s.min_rto,
            s.backoff,
            s.una,
            s.max,
            s.duplicates,
            s.closed,
            s.recovery,
            s.timeout,
        ))
    }

    /// Return how many of the events are before an instant, and how many up to it.
    fn until(&self, time_ns: u64) -> (usize, usize) {
        let at = Instant::from_nanos(time_ns);
        let rows = &self.found.kept.rows;
        let before = rows.partition_point(|row| row.at < at);
        (before, rows.partition_point(|row| row.at <= at))
    }

    /// Return the numbers of the transmissions of a segment.
    fn sent(&self, segment: u64) -> Vec<u64> {
        self.ways.sent.get(&segment).cloned().unwrap_or_default()
    }

    /// Return the number of the first event of a segment that was sent then: "rcv" or "data
    /// drop".
    fn of_data(&self, event: &str, segment: u64, sent_ns: u64) -> Option<u64> {
        let packet = (Some(segment), Some(sent_ns), 0);
        self.of_packet(event, packet)
    }

    /// Return the number of the first event of an ACK that left then: "ack_sent", "ack" or "ack
    /// drop". `segment` is what caused it, `value` its number.
    fn of_ack(
        &self,
        event: &str,
        segment: Option<u64>,
        since_ns: Option<u64>,
        value: f64,
    ) -> Option<u64> {
        self.of_packet(event, (segment, since_ns, value.to_bits()))
    }

    /// The digest of the run; None if it was not played to its end.
    #[getter]
    fn digest(&self) -> Option<&str> {
        self.found.digest.as_deref()
    }

    /// When the run was over; None if it was not played to its end.
    #[getter]
    fn ended_ns(&self) -> Option<u64> {
        self.found.ended.map(Instant::as_nanos)
    }

    /// There is no later event.
    #[getter]
    fn is_complete(&self) -> bool {
        self.found.kept.is_complete
    }

    /// When the first segment was sent, if that is known.
    #[getter]
    fn opened_ns(&self) -> Option<u64> {
        self.found.kept.opened.map(Instant::as_nanos)
    }

    /// Number, instant and name of each "break" and "make" so far.
    #[getter]
    fn marks(&self) -> Vec<(u64, u64, &'static str)> {
        let marks = self.found.kept.marks.iter();
        marks
            .map(|&(n, at, event)| (n, at.as_nanos(), event))
            .collect()
    }

    /// Number and instant of the event that was looked for, if there is one.
    #[getter]
    fn found(&self) -> Option<(u64, u64)> {
        self.found.kept.found.map(|(n, at)| (n, at.as_nanos()))
    }

    /// Return the sender as `Setup.sender` does; soon, if `at_ns` is near the events.
    fn sender<'py>(&self, py: Python<'py>, at_ns: u64) -> PyResult<Bound<'py, PyDict>> {
        let at = Instant::from_nanos(at_ns);
        let then = py.detach(|| self.found.sender(&self.setup, at));
        self.failures.raise()?;
        sender_entry(py, &then.map_err(refuse)?)
    }
}

/// Which events are kept: those around an instant, those of a name, or all.
pub(crate) fn keep(at_ns: Option<u64>, before: usize, after: usize, name: Option<&str>) -> Keep {
    match (at_ns.map(Instant::from_nanos), name) {
        (Some(at), _) => Keep::Around { at, before, after },
        (None, Some(name)) => Keep::Named(name.into()),
        (None, None) => Keep::All,
    }
}

pub(crate) fn stall_entry(py: Python<'_>, stall: Stall) -> PyResult<Bound<'_, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("from_ns", stall.from.as_nanos())?;
    entry.set_item("until_ns", stall.until.as_nanos())?;
    entry.set_item("digest", stall.digest)?;
    Ok(entry)
}

/// A sender at an instant, for Python.
pub(crate) fn sender_entry<'py>(
    py: Python<'py>,
    then: &SenderThen,
) -> PyResult<Bound<'py, PyDict>> {
    let view = then.view;
    let entry = PyDict::new(py);
    entry.set_item("snd_una", view.snd_una)?;
    entry.set_item("snd_nxt", view.snd_nxt)?;
    entry.set_item("snd_max", view.snd_max)?;
    entry.set_item("flight_size", view.flight_size())?;
    entry.set_item("cwnd", view.cwnd)?;
    entry.set_item("ssthresh", view.ssthresh)?;
    entry.set_item("rto_ns", view.rto.as_nanos())?;
    entry.set_item("min_rto_ns", view.min_rto.as_nanos())?;
    entry.set_item("backoff", then.backoff)?;
    entry.set_item("srtt_ns", nanos(view.srtt))?;
    entry.set_item("rttvar_ns", nanos(view.rttvar))?;
    entry.set_item("dupacks", view.dupacks)?;
    entry.set_item("dup_threshold", view.dup_threshold)?;
    entry.set_item("in_fast_recovery", view.in_fast_recovery)?;
    entry.set_item("in_rto_recovery", view.in_rto_recovery)?;
    entry.set_item("window_closed", then.is_window_closed)?;
    entry.set_item("state", then.state.name())?;
    Ok(entry)
}

/// The columns of `Setup.causes`.
pub(crate) fn cause_columns(found: &Explained) -> TableBuilder {
    let of = &found.kept.of;
    let at = |at: Option<Instant>| at.map(|at| at.as_nanos() as i64);
    let digest = found.digest.as_deref().unwrap_or_default();
    let mut columns = TraceColumns::of(&found.kept.rows, FlowEnd::default());
    let sent = of.iter().map(|b| at(b.sent).unwrap_or(TraceColumns::NONE));
    columns.sent = sent.collect();
    let mut t = trace_table(columns, digest);
    t.maybe_int("segment", of.iter().map(|b| b.segment.map(|s| s as i64)));
    t.maybe_int("since_ns", of.iter().map(|b| at(b.since)));
    t.text("sack", of.iter().map(|b| b.sack.clone()).collect());
    t
}

pub(crate) fn parted_entry(py: Python<'_>, parted: Divergence) -> PyResult<Bound<'_, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("at_ns", parted.at.as_nanos())?;
    let events = parted.events.map(|e| e.map(|(n, at)| (n, at.as_nanos())));
    entry.set_item("events", events.to_vec())?;
    entry.set_item("last", parted.last)?;
    let row = |(number, row): (u64, TraceRow)| {
        let (by, ordered) = (row.by.map(Author::name), order_fields(&row));
        (number, row.at.as_nanos(), row.detail, by, ordered)
    };
    let orders = parted
        .orders
        .map(|one| one.into_iter().map(row).collect::<Vec<_>>());
    entry.set_item("orders", orders.to_vec())?;
    Ok(entry)
}
