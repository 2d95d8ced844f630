//! What a script's run comes to, and what it may ask the sender for.

use midflight_endpoint::Connection;
use midflight_tcp::scheme::Knobs;
use midflight_tcp::Sender;
use midflight_units::{Duration, Instant};

use super::expression::CA_STATES;

/// Something in a script that has no effect here, or another than elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// The line of the script.
    pub line: u32,
    /// What is to be known of it.
    pub text: String,
}

/// An expectation that was not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The line of the script.
    pub line: u32,
    /// The statement on it.
    pub statement: String,
    /// What it expects.
    pub expected: String,
    /// What was seen.
    pub seen: String,
    /// The sender's state, as names and values.
    pub state: Vec<(&'static str, String)>,
}

/// One run of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrillRun {
    /// The scheme that ran.
    pub scheme: String,
    /// The profile it ran on.
    pub profile: String,
    /// What was set on it, by the header of the script and by the caller.
    pub knobs: Knobs,
    /// What had no effect, by line.
    pub notes: Vec<Note>,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
    /// Segments that the sender sent, the SYN and the FIN included.
    pub segments: u64,
    /// When its last event was.
    pub end: Instant,
}

/// A field of `struct tcp_info` that a simulated sender has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Cwnd,
    Ssthresh,
    Unacked,
    Mss,
    Rto,
    Rtt,
    RttVar,
    Backoff,
    Retransmits,
    TotalRetrans,
    CaState,
    Reordering,
    DataSegsOut,
    NotSentBytes,
}

/// The fields with their names and what they are.
pub(super) const FIELDS: &[(Field, &str, &str)] = &[
    (
        Field::Cwnd,
        "tcpi_snd_cwnd",
        "congestion window, whole segments",
    ),
    (
        Field::Ssthresh,
        "tcpi_snd_ssthresh",
        "slow-start threshold, segments; 2147483647 before the first loss",
    ),
    (
        Field::Unacked,
        "tcpi_unacked",
        "segments sent and not acknowledged",
    ),
    (Field::Mss, "tcpi_snd_mss", "bytes of a full-sized segment"),
    (
        Field::Rto,
        "tcpi_rto",
        "retransmission timeout with its back-off, microseconds",
    ),
    (
        Field::Rtt,
        "tcpi_rtt",
        "smoothed RTT, microseconds; 0 before the first sample",
    ),
    (
        Field::RttVar,
        "tcpi_rttvar",
        "RTTVAR of RFC 6298, microseconds; 0 before the first sample",
    ),
    (Field::Backoff, "tcpi_backoff", "doublings of the timeout"),
    (
        Field::Retransmits,
        "tcpi_retransmits",
        "timeouts since the last ACK of new data",
    ),
    (
        Field::TotalRetrans,
        "tcpi_total_retrans",
        "segments sent again, in all",
    ),
    (
        Field::CaState,
        "tcpi_ca_state",
        "TCP_CA_Open, TCP_CA_Disorder (duplicate ACKs), TCP_CA_Recovery or TCP_CA_Loss",
    ),
    (
        Field::Reordering,
        "tcpi_reordering",
        "duplicate ACKs that start fast retransmit",
    ),
    (
        Field::DataSegsOut,
        "tcpi_data_segs_out",
        "segments with data sent, retransmissions included",
    ),
    (
        Field::NotSentBytes,
        "tcpi_notsent_bytes",
        "bytes written and not sent",
    ),
];

/// The fields of `struct tcp_info` that a script may ask for: name and meaning.
pub fn drill_fields() -> impl Iterator<Item = (&'static str, &'static str)> {
    FIELDS.iter().map(|(_, name, what)| (*name, *what))
}

/// A field's value as a failure tells it.
pub(super) fn told_value(field: Field, value: f64) -> String {
    let known = FIELDS.iter().find(|(known, ..)| *known == field);
    let name = known.map_or("", |(_, name, _)| *name);
    let mut states = CA_STATES.iter();
    match states.find(|(_, number)| field == Field::CaState && f64::from(*number) == value) {
        Some((state, _)) => format!("{name} = {value} ({state})"),
        None => format!("{name} = {value}"),
    }
}

/// What a run counts beside the sender.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) sent: u64,
    pub(super) data_sent: u64,
    pub(super) retransmitted: u64,
    /// Timeouts since the last ACK of new data.
    pub(super) timeouts: u32,
    /// One past the highest segment sent at the last timeout.
    pub(super) loss_point: u64,
}

/// Linux's `TCP_INFINITE_SSTHRESH`.
const NO_THRESHOLD: f64 = 2_147_483_647.0;

/// The value of a field.
pub(super) fn value(field: Field, connection: &Connection, counts: &Counts) -> f64 {
    let sender = connection.sender();
    let view = sender.view();
    let micros = |d: Duration| (d.as_nanos() / 1000) as f64;
    match field {
        Field::Cwnd => view.cwnd.floor(),
        Field::Ssthresh if view.ssthresh >= view.initial_ssthresh && view.ssthresh >= 10_000.0 => {
            NO_THRESHOLD
        }
        Field::Ssthresh => view.ssthresh.floor(),
        Field::Unacked => view.flight_size() as f64,
        // Before the other side's SYN nobody knows.
        Field::Mss if connection.is_connecting() => 0.0,
        Field::Mss => connection.stream().mss() as f64,
        Field::Rto => micros(view.rto),
        Field::Rtt => view.srtt.map_or(0.0, micros),
        Field::RttVar => view.rttvar.map_or(0.0, micros),
        Field::Backoff => f64::from(sender.backoff().max(1).ilog2()),
        Field::Retransmits => f64::from(counts.timeouts),
        Field::TotalRetrans => counts.retransmitted as f64,
        Field::CaState => f64::from(ca_state(sender, counts)),
        Field::Reordering => f64::from(view.dup_threshold),
        Field::DataSegsOut => counts.data_sent as f64,
        Field::NotSentBytes => connection.unsent_bytes() as f64,
    }
}

/// As Linux counts its states: see [`super::expression::CA_STATES`].
fn ca_state(sender: &Sender, counts: &Counts) -> u32 {
    let view = sender.view();
    if view.in_fast_recovery {
        3
    } else if view.snd_una < counts.loss_point {
        4
    } else {
        u32::from(view.dupacks > 0)
    }
}

/// What a failure tells of the sender.
pub(super) fn state(
    now: Instant,
    sender: &Sender,
    bytes: impl Fn(u64) -> u64,
) -> Vec<(&'static str, String)> {
    let view = sender.view();
    let sequence = |segment: u64| format!("{} (segment {segment})", bytes(segment));
    let timer = sender
        .poll_timer()
        .map_or_else(|| "off".into(), |(due, _)| format!("due at {due}"));
    vec![
        ("time", now.to_string()),
        ("state", sender.state().name().into()),
        ("cwnd", view.cwnd.to_string()),
        ("ssthresh", view.ssthresh.to_string()),
        ("snd_una", sequence(view.snd_una)),
        ("snd_nxt", sequence(view.snd_nxt)),
        ("snd_max", sequence(view.snd_max)),
        ("pipe", view.pipe.to_string()),
        ("dupacks", view.dupacks.to_string()),
        ("rto", view.rto.to_string()),
        ("timer", timer),
    ]
}
