//! Timestamps of what is sent (`SO_TIMESTAMPING`): a note says when the last byte of a write was scheduled, sent and
//! acknowledged. The notes wait in the error queue of the socket. Comments name the functions of Linux 6.12.

use std::collections::VecDeque;

use midflight_units::{Duration, Instant};

use super::call::Returned;
use super::report::Field;
use super::runner::Runner;
use super::script::Call;
use super::value::Value;
use super::DrillError;

/// The flags of `SO_TIMESTAMPING` (include/uapi/linux/net_tstamp.h).
const FLAGS: [(&str, i64); 17] = [
    ("SOF_TIMESTAMPING_TX_HARDWARE", 1),
    ("SOF_TIMESTAMPING_TX_SOFTWARE", SENT),
    ("SOF_TIMESTAMPING_RX_HARDWARE", 1 << 2),
    ("SOF_TIMESTAMPING_RX_SOFTWARE", RECEIVED),
    ("SOF_TIMESTAMPING_SOFTWARE", REPORTED),
    ("SOF_TIMESTAMPING_SYS_HARDWARE", 1 << 5),
    ("SOF_TIMESTAMPING_RAW_HARDWARE", 1 << 6),
    ("SOF_TIMESTAMPING_OPT_ID", NUMBERED),
    ("SOF_TIMESTAMPING_TX_SCHED", SCHEDULED),
    ("SOF_TIMESTAMPING_TX_ACK", ACKNOWLEDGED),
    ("SOF_TIMESTAMPING_OPT_CMSG", 1 << 10),
    ("SOF_TIMESTAMPING_OPT_TSONLY", ONLY),
    ("SOF_TIMESTAMPING_OPT_STATS", STATISTICS),
    ("SOF_TIMESTAMPING_OPT_PKTINFO", 1 << 13),
    ("SOF_TIMESTAMPING_OPT_TX_SWHW", 1 << 14),
    ("SOF_TIMESTAMPING_OPT_ID_TCP", NUMBERED_FROM_WRITE),
    ("SOF_TIMESTAMPING_OPT_RX_FILTER", 1 << 17),
];
const SENT: i64 = 1 << 1;
const RECEIVED: i64 = 1 << 3;
const REPORTED: i64 = 1 << 4;
const NUMBERED: i64 = 1 << 7;
const SCHEDULED: i64 = 1 << 8;
const ACKNOWLEDGED: i64 = 1 << 9;
const ONLY: i64 = 1 << 11;
const STATISTICS: i64 = 1 << 12;
const NUMBERED_FROM_WRITE: i64 = 1 << 16;
/// SOF_TIMESTAMPING_TX_RECORD_MASK.
const REQUESTS: i64 = 1 | SENT | SCHEDULED | ACKNOWLEDGED;

/// The values of ee_info: SCM_TSTAMP_SND, SCM_TSTAMP_SCHED and SCM_TSTAMP_ACK.
const EVENTS: [(&str, Event); 3] = [
    ("SCM_TSTAMP_SND", Event::Sent),
    ("SCM_TSTAMP_SCHED", Event::Scheduled),
    ("SCM_TSTAMP_ACK", Event::Acknowledged),
];

/// The event that a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Sent,
    Scheduled,
    Acknowledged,
}

impl Event {
    fn name(self) -> &'static str {
        let known = EVENTS.iter().find(|(_, event)| *event == self);
        known.map_or("", |(name, _)| *name)
    }
}

/// The fields in the statistics of a note (tcp_get_timestamping_opt_stats()).
const FIELDS: [(&str, Field); 17] = [
    ("TCP_NLA_BUSY", Field::BusyTime),
    ("TCP_NLA_RWND_LIMITED", Field::WindowLimited),
    ("TCP_NLA_SNDBUF_LIMITED", Field::BufferLimited),
    ("TCP_NLA_DATA_SEGS_OUT", Field::DataSegsOut),
    ("TCP_NLA_TOTAL_RETRANS", Field::TotalRetrans),
    ("TCP_NLA_SND_CWND", Field::Cwnd),
    ("TCP_NLA_REORDERING", Field::Reordering),
    ("TCP_NLA_MIN_RTT", Field::MinRtt),
    ("TCP_NLA_RECUR_RETRANS", Field::Retransmits),
    ("TCP_NLA_SND_SSTHRESH", Field::Ssthresh),
    ("TCP_NLA_DELIVERED", Field::Delivered),
    ("TCP_NLA_CA_STATE", Field::CaState),
    ("TCP_NLA_BYTES_SENT", Field::BytesSent),
    ("TCP_NLA_BYTES_RETRANS", Field::BytesRetrans),
    ("TCP_NLA_DSACK_DUPS", Field::DsackDups),
    ("TCP_NLA_REORD_SEEN", Field::ReordSeen),
    ("TCP_NLA_SRTT", Field::Rtt),
];
/// The fields whose value is a time.
const TIMES: [&str; 3] = [
    "TCP_NLA_BUSY",
    "TCP_NLA_RWND_LIMITED",
    "TCP_NLA_SNDBUF_LIMITED",
];

/// A note in the error queue.
#[derive(Clone, Debug)]
struct StampNote {
    at: Instant,
    event: Event,
    /// The byte of the stream.
    byte: u64,
    /// The values of [`FIELDS`], and the bytes that were not acknowledged.
    values: Vec<f64>,
    queued: u64,
}

/// A write whose last byte is watched.
#[derive(Clone, Copy, Debug)]
struct Watched {
    byte: u64,
    requests: i64,
}

/// The watched writes of a connection, and their notes.
#[derive(Clone, Debug, Default)]
pub(super) struct Stamps {
    writes: Vec<Watched>,
    notes: VecDeque<StampNote>,
}

impl Stamps {
    pub(super) fn has_notes(&self) -> bool {
        !self.notes.is_empty()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.writes.is_empty()
    }

    /// Bytes before `end` are written, of which those from `sent` on wait to be sent. The last write that waits in the same
    /// socket buffer is no longer watched (tcp_tx_timestamp()).
    pub(super) fn write(&mut self, end: u64, sent: u64, requests: i64) {
        let mut requests = requests & REQUESTS;
        if requests == 0 {
            return;
        }
        while let Some(last) = self.writes.last().filter(|last| last.byte >= sent) {
            requests |= last.requests;
            self.writes.pop();
        }
        let byte = end - 1;
        self.writes.push(Watched { byte, requests });
    }

    /// These bytes are sent (__dev_queue_xmit(), tcp_gso_tstamp()).
    pub(super) fn sent(
        &mut self,
        at: Instant,
        (from, to): (u64, u64),
        values: &[f64],
        queued: u64,
    ) {
        for write in self.writes.iter().filter(|w| (from..to).contains(&w.byte)) {
            for (request, event) in [(SCHEDULED, Event::Scheduled), (SENT, Event::Sent)] {
                if write.requests & request != 0 {
                    self.notes.push_back(StampNote {
                        at,
                        event,
                        byte: write.byte,
                        values: values.to_vec(),
                        queued,
                    });
                }
            }
        }
    }

    /// Bytes before `una` are acknowledged (tcp_ack_tstamp()).
    pub(super) fn acknowledged(&mut self, at: Instant, una: u64, values: &[f64], queued: u64) {
        for write in self.writes.iter().filter(|write| write.byte < una) {
            if write.requests & ACKNOWLEDGED != 0 {
                self.notes.push_back(StampNote {
                    at,
                    event: Event::Acknowledged,
                    byte: write.byte,
                    values: values.to_vec(),
                    queued,
                });
            }
        }
        self.writes.retain(|write| write.byte >= una);
    }
}

/// The fields of the statistics, in their order.
pub(super) fn statistics() -> impl Iterator<Item = Field> {
    FIELDS.iter().map(|(_, field)| *field)
}

impl Runner<'_> {
    /// The sum of these flags.
    pub(super) fn timestamp_flags(&self, line: u32, names: &[String]) -> Result<i64, DrillError> {
        let mut sum = 0;
        for name in names {
            let Some((_, flag)) = FLAGS.iter().find(|(known, _)| known == name) else {
                let known: Vec<_> = FLAGS.iter().map(|(name, _)| *name).collect();
                let why = format!("known are {}", known.join(", "));
                return self.refuse(line, format!("the flag {name}"), &why);
            };
            sum |= flag;
        }
        Ok(sum)
    }

    /// sock_set_timestamping().
    pub(super) fn set_timestamping(
        &mut self,
        line: u32,
        flags: i64,
        is_connection: bool,
    ) -> Result<Returned, DrillError> {
        if flags & RECEIVED != 0 && flags & REPORTED != 0 {
            let why = "only what is sent gets timestamps here";
            return self.refuse(line, "SOF_TIMESTAMPING_RX_SOFTWARE".into(), why);
        }
        let all: i64 = FLAGS.iter().map(|(_, flag)| flag).sum();
        let is_alone = flags & NUMBERED_FROM_WRITE != 0 && flags & NUMBERED == 0;
        let has_no_room = flags & STATISTICS != 0 && flags & ONLY == 0;
        if flags & !all != 0 || is_alone || has_no_room {
            return Ok(Err("EINVAL"));
        }
        let is_new = flags & NUMBERED != 0 && self.sockets.set.timestamping & NUMBERED == 0;
        if is_new {
            let Some(connection) = self
                .connection
                .as_ref()
                .filter(|c| is_connection && !c.tcp.is_reset())
            else {
                return Ok(Err("EINVAL"));
            };
            let stream = connection.tcp.stream();
            self.sockets.first_stamp = if flags & NUMBERED_FROM_WRITE != 0 {
                stream.end()
            } else {
                stream.byte_of(connection.tcp.sender().view().snd_una)
            };
        }
        self.sockets.set.timestamping = flags;
        self.sockets.kept.insert("SO_TIMESTAMPING".into(), flags);
        Ok(Ok(0))
    }

    /// The timestamps that a write requests: those of the socket, or of its control message (__sock_cmsg_send()).
    pub(super) fn stamps_of(&self, line: u32, call: &Call) -> Result<Result<i64, ()>, DrillError> {
        let own = self.sockets.set.timestamping;
        let message = call.values.get(1).and_then(Option::as_ref);
        let control = message.and_then(|m| m.field("msg_control"));
        let mut requests = own;
        for item in control.map(Value::items).unwrap_or_default() {
            let named = |field, name: &str| {
                let names = item.field(field).and_then(Value::names);
                names.is_some_and(|names| names.iter().any(|n| n == name))
            };
            if call.name != "sendmsg" || !named("cmsg_type", "SO_TIMESTAMPING") {
                continue;
            }
            let data = item.field("cmsg_data");
            let flags = if let Some(number) = data.and_then(Value::number) {
                number
            } else {
                let flags = data.and_then(Value::names).unwrap_or_default();
                self.timestamp_flags(line, flags)?
            };
            if flags & !REQUESTS != 0 {
                return Ok(Err(()));
            }
            requests = requests & !REQUESTS | flags;
        }
        Ok(Ok(requests))
    }

    /// Reads a note of a timestamp (ip_recv_error(), __sock_recv_timestamp()); none if there is none.
    pub(super) fn read_stamp(&mut self, call: &Call, room: u64) -> Option<Returned> {
        let note = self.connection.as_mut()?.stamps.notes.pop_front()?;
        let flags = self.sockets.set.timestamping;
        let message = call.values.get(1).and_then(Option::as_ref);
        let control = message.and_then(|m| m.field("msg_control"));
        let stated = control.map(Value::items).unwrap_or_default();
        let mut expected = Vec::new();
        if flags & REPORTED != 0 {
            expected.push("SCM_TIMESTAMPING");
            if flags & STATISTICS != 0 {
                expected.push("SCM_TIMESTAMPING_OPT_STATS");
            }
        }
        expected.push("CMSG_TYPE_RECVERR");
        let number = match flags & NUMBERED {
            0 => 0,
            _ => note.byte.saturating_sub(self.sockets.first_stamp),
        };
        let seen = format!(
            "{} {} of byte {number} at {}",
            expected.join(", "),
            note.event.name(),
            note.at
        );
        let mut differs = |stated: String| {
            self.differs.get_or_insert((stated, seen.clone()));
        };
        if stated.len() != expected.len() {
            differs(format!("{} control messages", stated.len()));
        }
        for (item, kind) in stated.iter().zip(&expected) {
            let names = item.field("cmsg_type").and_then(Value::names);
            let name = names.and_then(|n| n.first()).map_or("", String::as_str);
            let is_error = matches!(name, "IP_RECVERR" | "IPV6_RECVERR" | "CMSG_TYPE_RECVERR");
            if name != *kind && !(is_error && *kind == "CMSG_TYPE_RECVERR") {
                differs(format!("a control message {name}"));
                continue;
            }
            let Some(data) = item.field("cmsg_data") else {
                continue;
            };
            let stated = match *kind {
                "SCM_TIMESTAMPING" => stamp_differs(data, note.at, self.environment.tolerance),
                "SCM_TIMESTAMPING_OPT_STATS" => {
                    statistics_differ(data, &note, self.environment.tolerance)
                }
                _ => error_differs(data, note.event, number),
            };
            if let Some(stated) = stated {
                differs(stated);
            }
        }
        if room > 0 && flags & ONLY == 0 {
            differs("room for the packet, whose bytes are not kept here".into());
        }
        Some(Ok(0))
    }
}

/// `{scm_sec=0,scm_nsec=100000000}`: the time since the start of the script; 0 is any.
fn stamp_differs(data: &Value, at: Instant, tolerance: Duration) -> Option<String> {
    let part = |name| data.field(name).and_then(Value::number).unwrap_or(0);
    let nanos = part("scm_sec")
        .saturating_mul(1_000_000_000)
        .saturating_add(part("scm_nsec"));
    let stated = Instant::from_nanos(u64::try_from(nanos).unwrap_or(0));
    let off = stated.since(at).max(at.since(stated));
    (nanos != 0 && off > tolerance).then(|| format!("SCM_TIMESTAMPING at {stated}"))
}

/// `{ee_errno=ENOMSG, ee_origin=SO_EE_ORIGIN_TIMESTAMPING, ee_type=0, ee_code=0, ee_info=SCM_TSTAMP_ACK, ee_data=999}`.
fn error_differs(data: &Value, event: Event, number: u64) -> Option<String> {
    let is = |field: &str, value: i64, name: &str| match data.field(field) {
        None | Some(Value::Any) => true,
        Some(Value::Names(names)) => names.len() == 1 && names[0] == name,
        Some(stated) => stated.number() == Some(value),
    };
    let info = match event {
        Event::Sent => 0,
        Event::Scheduled => 1,
        Event::Acknowledged => 2,
    };
    let checks = [
        ("ee_errno", is("ee_errno", 42, "ENOMSG")),
        ("ee_origin", is("ee_origin", 4, "SO_EE_ORIGIN_TIMESTAMPING")),
        ("ee_type", is("ee_type", 0, "")),
        ("ee_code", is("ee_code", 0, "")),
        ("ee_info", is("ee_info", info, event.name())),
        ("ee_data", is("ee_data", number as i64, "")),
    ];
    let (wrong, _) = checks.iter().find(|(_, holds)| !holds)?;
    Some(format!("{wrong}={}", shown(data.field(wrong)?)))
}

/// `{TCP_NLA_BUSY=0, TCP_NLA_SND_CWND=10, ...}`: a time is compared to within the tolerance.
fn statistics_differ(data: &Value, note: &StampNote, tolerance: Duration) -> Option<String> {
    let Value::Fields(fields) = data else {
        return Some("statistics without names".into());
    };
    for (name, value) in fields {
        let Some(stated) = value.number() else {
            continue;
        };
        let at = FIELDS.iter().position(|(known, _)| known == name);
        let actual = match at {
            Some(at) => note.values.get(at).copied().unwrap_or(0.0),
            None if name == "TCP_NLA_SNDQ_SIZE" => note.queued as f64,
            None if name == "TCP_NLA_DELIVERED_CE" => 0.0,
            None => return Some(format!("{name}, which this sender does not have,")),
        };
        let off = (stated as f64 - actual).abs();
        let most = (tolerance.as_nanos() / 1000) as f64;
        let is_time = TIMES.contains(&name.as_str()) && stated != 0;
        if off > if is_time { most } else { 0.0 } {
            return Some(format!("{name}={stated} where it is {actual}"));
        }
    }
    None
}

fn shown(value: &Value) -> String {
    match value {
        Value::Names(names) => names.join("|"),
        value => value.number().map_or("...".into(), |n| n.to_string()),
    }
}
