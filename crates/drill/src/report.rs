//! The result of a script's run, and the fields of the sender that a script may read.

use midflight_endpoint::Connection;
use midflight_tcp::scheme::Knobs;
use midflight_tcp::Sender;
use midflight_units::{Duration, Instant};

use super::expression::CA_STATES;

/// A part of a script that has no effect here, or a different one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// The line of the script.
    pub line: u32,
    /// Its description.
    pub text: String,
}

/// An expectation that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The line of the script.
    pub line: u32,
    /// The statement on it.
    pub statement: String,
    /// Its expectation.
    pub expected: String,
    /// What was observed.
    pub seen: String,
    /// The sender's state, as names and values.
    pub state: Vec<(&'static str, String)>,
}

/// One run of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrillRun {
    /// The scheme that ran.
    pub scheme: String,
    /// Its profile.
    pub profile: String,
    /// Its settings, from the header of the script and from the caller.
    pub knobs: Knobs,
    /// Statements without an effect, by line.
    pub notes: Vec<Note>,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
    /// Segments that the sender sent, including the SYN and the FIN.
    pub segments: u64,
    /// The time of its last event.
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
    Sacked,
    Lost,
    Retrans,
    ReordSeen,
    Delivered,
    DsackDups,
    Probes,
    Options,
    SegsOut,
    SegsIn,
    DataSegsIn,
    BytesAcked,
    BytesReceived,
    BytesSent,
    BytesRetrans,
    AdvMss,
    Pmtu,
    MinRtt,
    LastDataSent,
    LastDataRecv,
    LastAckRecv,
    SendWindow,
    ReceiveWindow,
    State,
    BusyTime,
    WindowLimited,
    SendScale,
    TotalRto,
    BufferLimited,
    PacingRate,
    MaxPacingRate,
    OutOfOrder,
    LastAckSent,
    Fackets,
    DeliveredMarked,
    DeliveryRate,
    DeliveryLimited,
    ReceivedSegment,
    AckDelay,
    ReceiveSpace,
    ReceiveThreshold,
    RtoRecoveries,
    RtoTime,
    ReceiveRtt,
    Rehash,
}

/// The fields with their names and descriptions.
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
        "retransmitted segments in total",
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
    (Field::Sacked, "tcpi_sacked", "segments that are SACKed"),
    (Field::Lost, "tcpi_lost", "segments considered lost"),
    (Field::Retrans, "tcpi_retrans", "retransmissions in flight"),
    (
        Field::ReordSeen,
        "tcpi_reord_seen",
        "how often reordering has been seen",
    ),
    (
        Field::Delivered,
        "tcpi_delivered",
        "segments known to have arrived, the SYN included",
    ),
    (
        Field::DsackDups,
        "tcpi_dsack_dups",
        "segments that DSACKs have reported",
    ),
    (
        Field::Probes,
        "tcpi_probes",
        "unanswered probes of a closed window",
    ),
    (
        Field::Options,
        "tcpi_options",
        "the sum of timestamps 1, SACK 2, window scale 4, ECN 8, and 32 if data of a SYN was accepted",
    ),
    (Field::SegsOut, "tcpi_segs_out", "segments sent"),
    (Field::SegsIn, "tcpi_segs_in", "segments that have arrived"),
    (
        Field::DataSegsIn,
        "tcpi_data_segs_in",
        "segments with data that have arrived",
    ),
    (Field::BytesAcked, "tcpi_bytes_acked", "bytes acknowledged"),
    (
        Field::BytesReceived,
        "tcpi_bytes_received",
        "bytes that have arrived in order",
    ),
    (
        Field::BytesSent,
        "tcpi_bytes_sent",
        "bytes of data sent, retransmissions included",
    ),
    (
        Field::BytesRetrans,
        "tcpi_bytes_retrans",
        "bytes of data sent again",
    ),
    (
        Field::AdvMss,
        "tcpi_advmss",
        "bytes of the largest segment that is accepted",
    ),
    (Field::Pmtu, "tcpi_pmtu", "bytes of the largest packet"),
    (
        Field::MinRtt,
        "tcpi_min_rtt",
        "minimum RTT, microseconds; 4294967295 before the first sample",
    ),
    (
        Field::LastDataSent,
        "tcpi_last_data_sent",
        "milliseconds since data was last sent",
    ),
    (
        Field::LastDataRecv,
        "tcpi_last_data_recv",
        "milliseconds since data last arrived",
    ),
    (
        Field::LastAckRecv,
        "tcpi_last_ack_recv",
        "milliseconds since an ACK last arrived",
    ),
    (
        Field::SendWindow,
        "tcpi_snd_wnd",
        "bytes of the window that the other side has advertised, scaled",
    ),
    (
        Field::ReceiveWindow,
        "tcpi_rcv_wnd",
        "bytes of the window that was advertised last, scaled; with the profile rfc of a buffer of 1 MiB",
    ),
    (
        Field::State,
        "tcpi_state",
        "the state of RFC 9293: TCP_ESTABLISHED, TCP_SYN_SENT and so on",
    ),
    (
        Field::BusyTime,
        "tcpi_busy_time",
        "microseconds in which data waited or was not acknowledged",
    ),
    (
        Field::WindowLimited,
        "tcpi_rwnd_limited",
        "microseconds in which only the window of the other side limited the sender",
    ),
    (
        Field::SendScale,
        "tcpi_snd_wscale",
        "the window scale of the other side",
    ),
    (
        Field::TotalRto,
        "tcpi_total_rto",
        "expiries of the retransmission timer in total",
    ),
    (
        Field::BufferLimited,
        "tcpi_sndbuf_limited",
        "microseconds in which only the send buffer limited the sender",
    ),
    (
        Field::PacingRate,
        "tcpi_pacing_rate",
        "pacing rate in bytes of data per second, also without pacing; 18446744073709551615 before the first",
    ),
    (
        Field::MaxPacingRate,
        "tcpi_max_pacing_rate",
        "the limit of that rate; 18446744073709551615 without one",
    ),
    (
        Field::OutOfOrder,
        "tcpi_rcv_ooopack",
        "segments that have arrived out of order",
    ),
    (
        Field::DeliveredMarked,
        "tcpi_delivered_ce",
        "of these, by ACKs that report a CE mark",
    ),
    (
        Field::DeliveryRate,
        "tcpi_delivery_rate",
        "the last rate at which data was delivered that the application did not limit, or its highest one, bytes per second",
    ),
    (
        Field::DeliveryLimited,
        "tcpi_delivery_rate_app_limited",
        "1 if the application has limited that rate",
    ),
    (
        Field::ReceivedSegment,
        "tcpi_rcv_mss",
        "the size of the other side's segments as far as it is known, bytes",
    ),
    (
        Field::AckDelay,
        "tcpi_ato",
        "how long an ACK is delayed, microseconds; 0 before the first data",
    ),
    (
        Field::ReceiveSpace,
        "tcpi_rcv_space",
        "bytes that the application has read in a round trip; at first ten segments",
    ),
    (
        Field::ReceiveThreshold,
        "tcpi_rcv_ssthresh",
        "bytes up to which the receive window may grow",
    ),
    (
        Field::RtoRecoveries,
        "tcpi_total_rto_recoveries",
        "series of timeouts in total",
    ),
    (
        Field::RtoTime,
        "tcpi_total_rto_time",
        "milliseconds of series of timeouts that are over",
    ),
    (
        Field::ReceiveRtt,
        "tcpi_rcv_rtt",
        "RTT as the receiver measures it, microseconds",
    ),
    (
        Field::Rehash,
        "tcpi_rehash",
        "how often a timeout has chosen another path, which each does in Linux",
    ),
    (
        Field::LastAckSent,
        "tcpi_last_ack_sent",
        "0, as in Linux, which does not count it",
    ),
    (
        Field::Fackets,
        "tcpi_fackets",
        "0, as in Linux, which does not count it any more",
    ),
];

/// The fields of `struct tcp_info` that a script may use: name and meaning.
pub fn drill_fields() -> impl Iterator<Item = (&'static str, &'static str)> {
    FIELDS.iter().map(|(_, name, what)| (*name, *what))
}

/// A field's value in a failure message.
pub(super) fn value_text(field: Field, value: f64) -> String {
    let known = FIELDS.iter().find(|(known, ..)| *known == field);
    let name = known.map_or("", |(_, name, _)| *name);
    let mut states = CA_STATES.iter();
    match states.find(|(_, number)| field == Field::CaState && f64::from(*number) == value) {
        Some((state, _)) => format!("{name} = {value} ({state})"),
        None => format!("{name} = {value}"),
    }
}

/// Counts of a run that the sender does not have.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) sent: u64,
    /// Responses to a SYN, which Linux sends for a request that is no connection yet (struct request_sock).
    pub(super) responses: u64,
    /// SYNs sent.
    pub(super) syns: u32,
    /// The window in the last segment that was sent with an ACK.
    pub(super) window: u64,
    pub(super) data_sent: u64,
    pub(super) retransmitted: u64,
    /// Timeouts since the last ACK of new data, and in total.
    pub(super) timeouts: u32,
    pub(super) all_timeouts: u32,
    /// Series of timeouts (total_rto_recoveries), since when the present one lasts, and how long others did.
    pub(super) timeout_series: u32,
    pub(super) timeout_since: Option<Instant>,
    pub(super) timeout_time: Duration,
    /// One past the highest segment sent at the last timeout.
    pub(super) loss_point: u64,
    /// Probes of a closed window since the last segment arrived.
    pub(super) probes: u32,
    /// Segments that have arrived, and segments with data.
    pub(super) received: u64,
    pub(super) data_received: u64,
    /// Bytes of data sent, and retransmitted.
    pub(super) bytes_sent: u64,
    pub(super) bytes_resent: u64,
    pub(super) last_data_sent: Option<Instant>,
    pub(super) last_data_received: Option<Instant>,
    pub(super) last_ack_received: Option<Instant>,
    /// Since when data waits or is not acknowledged, and for how long it did before.
    pub(super) busy_since: Option<Instant>,
    pub(super) busy: Duration,
    /// The same for the time in which only the other side's window limits the sender.
    pub(super) limited_since: Option<Instant>,
    pub(super) limited: Duration,
    /// The same for the time in which only the send buffer limits the sender; and a write has found no room since there
    /// was any (SOCK_NOSPACE).
    pub(super) no_room: bool,
    pub(super) buffer_since: Option<Instant>,
    pub(super) buffer_limited: Duration,
    /// Segments that have arrived out of order.
    pub(super) out_of_order: u64,
    /// This side has sent the first SYN, and counts its byte as acknowledged (tcp_snd_una_update()).
    pub(super) has_asked: bool,
}

impl Counts {
    /// The retransmission timer has expired (tcp_update_rto_stats()).
    pub(super) fn note_timeout(&mut self, now: Instant) {
        if self.timeouts == 0 {
            self.timeout_series += 1;
            self.timeout_since = Some(now);
        }
        self.timeouts += 1;
        self.all_timeouts += 1;
    }

    /// What was lost has arrived (tcp_update_rto_time()).
    pub(super) fn end_timeouts(&mut self, now: Instant) {
        if let Some(since) = self.timeout_since.take() {
            self.timeout_time = self.timeout_time + now.since(since);
        }
    }
}

/// Linux's `TCP_INFINITE_SSTHRESH`.
const NO_THRESHOLD: f64 = 2_147_483_647.0;

/// The value of a field.
pub(super) fn value(field: Field, now: Instant, connection: &Connection, counts: &Counts) -> f64 {
    let sender = connection.sender();
    let view = sender.view();
    let micros = |d: Duration| (d.as_nanos() / 1000) as f64;
    let tally = sender.tally().unwrap_or_default();
    let received = connection.receiver().tally().unwrap_or_default();
    let since = |at: Option<Instant>| {
        let passed = at.map_or(0, |at| now.since(at).as_nanos());
        (passed / 1_000_000) as f64
    };
    match field {
        Field::Cwnd => view.cwnd.floor(),
        Field::Ssthresh if view.ssthresh >= view.initial_ssthresh && view.ssthresh >= 10_000.0 => {
            NO_THRESHOLD
        }
        Field::Ssthresh => view.ssthresh.floor(),
        Field::Unacked => view.flight_size() as f64,
        // Before the other side's SYN this is unknown.
        Field::Mss if connection.is_connecting() => 0.0,
        Field::Mss => connection.stream().mss() as f64,
        Field::Rto => micros(view.rto),
        Field::Rtt => view.srtt.map_or(0.0, micros),
        Field::RttVar => view.rttvar.map_or(0.0, micros),
        Field::Backoff => {
            let of_timer = sender.backoff().max(1).ilog2();
            // Linux has one count for both.
            let of_probes = sender
                .probe_doublings()
                .filter(|_| sender.tally().is_some());
            f64::from(of_probes.unwrap_or(of_timer))
        }
        Field::Retransmits => f64::from(counts.timeouts),
        Field::TotalRetrans => counts.retransmitted as f64,
        Field::CaState => f64::from(ca_state(sender, counts)),
        Field::Reordering => match sender.tally() {
            Some(tally) => tally.reordering as f64,
            None => f64::from(view.dup_threshold),
        },
        Field::DataSegsOut => counts.data_sent as f64,
        Field::NotSentBytes => connection.unsent_bytes() as f64,
        Field::Sacked => tally.sacked as f64,
        Field::Lost => tally.lost as f64,
        Field::Retrans => tally.resent as f64,
        Field::ReordSeen => tally.reordering_seen as f64,
        Field::Delivered => tally.delivered as f64,
        Field::DsackDups => tally.dsacked as f64,
        Field::MinRtt => tally.min_rtt.map_or(4_294_967_295.0, |rtt| rtt as f64),
        Field::Probes => f64::from(counts.probes),
        Field::Options => {
            let has = [
                (connection.has_timestamps(), 1),
                (connection.has_sack(), 2),
                (connection.has_window_scaling(), 4),
                (connection.has_ecn(), 8),
                (connection.has_early_data(), 32),
            ];
            f64::from(
                has.iter()
                    .map(|&(has, bit)| if has { bit } else { 0 })
                    .sum::<u32>(),
            )
        }
        Field::SegsOut => (counts.sent - counts.responses) as f64,
        Field::SegsIn => counts.received as f64,
        Field::DataSegsIn => counts.data_received as f64,
        Field::BytesAcked => {
            let before = u64::from(!counts.has_asked);
            connection.acknowledged().saturating_sub(before) as f64
        }
        Field::BytesReceived => connection.received().saturating_sub(1) as f64,
        Field::BytesSent => counts.bytes_sent as f64,
        Field::BytesRetrans => counts.bytes_resent as f64,
        Field::AdvMss => {
            let options = if connection.has_timestamps() { 12 } else { 0 };
            connection.settings().mss.saturating_sub(options) as f64
        }
        Field::Pmtu => {
            let headers = connection.settings().mtu_probing.headers;
            (connection.path_bytes() + headers) as f64
        }
        Field::LastDataSent => since(counts.last_data_sent),
        Field::LastDataRecv => since(counts.last_data_received),
        Field::LastAckRecv => since(counts.last_ack_received),
        Field::SendWindow => connection.window() as f64,
        Field::ReceiveWindow => counts.window as f64,
        Field::State => f64::from(connection.state_number()),
        Field::BusyTime => {
            let now = counts
                .busy_since
                .map_or(Duration::ZERO, |since| now.since(since));
            micros(counts.busy + now)
        }
        Field::WindowLimited => {
            let since = counts.limited_since;
            let now = since.map_or(Duration::ZERO, |since| now.since(since));
            micros(counts.limited + now)
        }
        Field::SendScale => connection.scale() as f64,
        Field::TotalRto | Field::Rehash => f64::from(counts.all_timeouts),
        Field::BufferLimited => {
            let since = counts.buffer_since;
            let now = since.map_or(Duration::ZERO, |since| now.since(since));
            micros(counts.buffer_limited + now)
        }
        Field::LastAckSent | Field::Fackets => 0.0,
        Field::DeliveredMarked => tally.delivered_marked as f64,
        Field::DeliveryRate => sender.recorded_rate().map_or(0.0, |rate| {
            let bytes = rate.delivered * connection.stream().mss();
            let micros = (rate.interval.as_nanos() / 1000).max(1);
            (u128::from(bytes) * 1_000_000 / u128::from(micros)) as f64
        }),
        Field::DeliveryLimited => {
            // tcp_init_sock().
            let limited = sender.recorded_rate().is_none_or(|rate| rate.app_limited);
            f64::from(u8::from(limited))
        }
        Field::ReceivedSegment => received.segment as f64,
        Field::AckDelay => micros(received.delay),
        Field::ReceiveSpace => received.space as f64,
        Field::ReceiveThreshold => received.threshold as f64,
        Field::ReceiveRtt => micros(received.rtt),
        Field::RtoRecoveries => f64::from(counts.timeout_series),
        Field::RtoTime => (counts.timeout_time.as_nanos() / 1_000_000) as f64,
        Field::PacingRate => sender.pacing_rate().unwrap_or(u64::MAX) as f64,
        Field::MaxPacingRate => connection.settings().pacing_limit.unwrap_or(u64::MAX) as f64,
        Field::OutOfOrder => counts.out_of_order as f64,
    }
}

/// Linux's number of the state: see [`super::expression::CA_STATES`].
fn ca_state(sender: &Sender, counts: &Counts) -> u32 {
    let view = sender.view();
    if let Some(tally) = sender.tally() {
        u32::from(tally.state)
    } else if view.in_fast_recovery {
        3
    } else if view.snd_una < counts.loss_point {
        4
    } else {
        u32::from(view.dupacks > 0)
    }
}

/// The sender's state at a failure.
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
