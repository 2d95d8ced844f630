//! Replays a record as the events of a simulated run, for the same measures, traces and digests.
//!
//! The kernel counts bytes and the simulator segments: byte 1 of the stream begins segment 1, and the SYN
//! is segment 0. Changes of a sender's state are detected when it sends a packet, from the state in the
//! record: a timeout is an increase of its counter, a fast retransmit the first retransmission of a
//! recovery.

use std::collections::BTreeMap;

use midflight_sim::{
    judge_timeouts, Action, Digest, DropCause, Endpoints, Event, Observer, Payload, World,
};
use midflight_tcp::{
    Ack, AckOption, Author, Content, Log, SackBlock, SackBlocks, Segment, SenderEvent,
};
use midflight_units::{Duration, Instant, Seq};
use midflight_wire::Header;

use super::record::{records, KernelState, Record, RecordEvent};
use super::sender::{ReplayedSender, FIRST_PORT};
use super::LabError;
use crate::measure::{FlowOutcome, Measure, Phases};
use crate::run::Measuring;
use crate::setup::{link_id, Mark, Setup, Step};
use crate::watch::{
    Causes, Detail, Explained, Keep, Observed, OwnedRecord, Recorder, SenderThen, Stall,
    TraceColumns,
};

/// `TCP_CA_Recovery` and `TCP_CA_Loss`.
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;
/// A slow-start threshold that is not set (`TCP_INFINITE_SSTHRESH`).
pub(super) const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// The direction of a packet of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Data,
    Acks,
}

/// The flow of a packet that a node sends, and its direction.
pub(super) fn direction(setup: &Setup, node: u16, header: &Header) -> Option<(usize, Direction)> {
    let number = |port: u16| port.checked_sub(FIRST_PORT).map(usize::from);
    let of = |port: u16| number(port).and_then(|n| Some((n, setup.flows.get(n)?)));
    match (of(header.destination.port()), of(header.source.port())) {
        (Some((n, flow)), _) if flow.from.0 == node => Some((n, Direction::Data)),
        (_, Some((n, flow))) if flow.to.0 == node => Some((n, Direction::Acks)),
        _ => None,
    }
}

/// Takes the events of a record and of the timeline.
pub(crate) trait Replayed: Observer {
    fn mark(&mut self, mark: &Mark, at: Instant);
    fn is_done(&self, next: Instant) -> bool;
    fn end(&mut self, at: Instant);
    /// Returns an error if there are too many events.
    fn check_length(&self, _end: Instant) -> Result<(), LabError> {
        Ok(())
    }
}

impl<M: Measure> Replayed for Measuring<M> {
    fn mark(&mut self, mark: &Mark, at: Instant) {
        self.measure.mark(mark, at, Endpoints::NONE);
    }

    fn is_done(&self, next: Instant) -> bool {
        self.measure.is_done(next)
    }

    fn end(&mut self, at: Instant) {
        self.measure.end(at, Endpoints::NONE);
    }
}

impl<D: Detail> Replayed for (Digest, Observed<D>) {
    fn mark(&mut self, mark: &Mark, at: Instant) {
        self.1.mark(mark, at, Endpoints::NONE);
    }

    fn is_done(&self, next: Instant) -> bool {
        self.1.is_done(next)
    }

    fn end(&mut self, at: Instant) {
        self.1.end(at, Endpoints::NONE);
    }

    fn check_length(&self, end: Instant) -> Result<(), LabError> {
        Ok(self.1.check_length(end)?)
    }
}

/// The results of a guest's run.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    /// The record of packets.
    pub packets: &'a [u8],
    /// The turns of flows with our sender, by the flows' numbers ([`super::drive`]).
    pub turns: &'a BTreeMap<usize, Vec<u8>>,
}

/// A packet in transit.
#[derive(Clone, Copy, Debug)]
enum Underway<'a> {
    /// The first segment and one past the last that the packet carries, wholly or in part.
    Data {
        flow: usize,
        first: Seq,
        last: Seq,
        segment: Segment,
    },
    Ack {
        flow: usize,
        ack: Option<Ack>,
        headers: &'a [u8],
    },
    EmptyAck {
        flow: usize,
        segment: Segment,
    },
}

/// A connection, reconstructed from its packets.
#[derive(Clone, Debug, Default)]
struct Connection {
    /// The initial sequence number.
    isn: Option<u32>,
    /// Bytes of data in a full segment.
    mss: u32,
    /// First byte of the stream that is not acknowledged at the sender, counted from the SYN; one past the
    /// last segment sent.
    acked: u64,
    max: Seq,
    end: Seq,
    /// One past the last byte sent.
    sent: u64,
    /// The sender has closed the connection after all data: the ACK of its FIN is not an ACK of data.
    has_closed: bool,
    /// Segments that have arrived, and one past the highest.
    arrived: Vec<bool>,
    highest: Seq,
    /// When the segment that arrived last was sent.
    last_cause: Instant,
    /// The last state that the sender reported.
    state: Option<KernelState>,
    /// A recovery is in progress and its first retransmission has been sent.
    recovering: bool,
    /// See [`judge_timeouts`].
    open_timeouts: Vec<(Instant, Seq)>,
}

impl Connection {
    /// The byte of the stream for a sequence number of the header.
    fn byte(&self, number: u32) -> Option<u64> {
        let base = self.isn?.wrapping_add(self.acked as u32);
        let ahead = number.wrapping_sub(base) as i32;
        self.acked.checked_add_signed(ahead.into())
    }

    /// The segment of a byte: the first data byte is byte 1.
    fn segment(&self, byte: u64) -> Seq {
        match byte {
            0 => 0,
            byte => 1 + (byte - 1) / u64::from(self.mss.max(1)),
        }
    }

    /// The next expected segment when this byte is expected.
    fn expected(&self, byte: u64) -> Seq {
        self.segment(byte).min(self.end)
    }

    fn has(&self, seq: Seq) -> bool {
        self.arrived.get(seq as usize).is_some_and(|&has| has)
    }

    fn note_arrival(&mut self, seq: Seq) {
        let place = seq as usize;
        if self.arrived.len() <= place {
            self.arrived.resize(place + 1, false);
        }
        self.arrived[place] = true;
        self.highest = self.highest.max(seq + 1);
    }

    /// An ACK of the receiver.
    fn ack(&self, header: &Header) -> Option<Ack> {
        let byte = self.byte(header.ack?)?;
        if self.has_closed && byte > self.sent {
            return None;
        }
        let ack = self.expected(byte);
        let mut sack = SackBlocks::default();
        for (left, right) in header.options.sack.iter() {
            let (left, right) = (self.byte(left)?, self.byte(right)?);
            let left = self.segment(left);
            // One past the last segment that the block covers completely.
            let right = self.segment(right).max(left);
            sack.push(ack, SackBlock { left, right });
        }
        let is_closed = header.window == 0 && !header.flags.syn && !header.flags.rst;
        Some(Ack {
            ack,
            sack,
            echo: None,
            cause_sent: self.last_cause,
            offset: 0,
            option: if is_closed {
                AckOption::ZeroWindow
            } else {
                AckOption::Nothing
            },
            window: None,
            stamp_ms: 0,
            extra_bytes: 0,
        })
    }
}

/// The author of a window change, as far as the state shows it.
fn author(una: u64, state: &KernelState) -> Author {
    match state.ca_state {
        _ if una <= 1 => Author::Handshake,
        LOSS => Author::Timeout,
        2 | RECOVERY => Author::Recovery,
        _ => Author::Controller,
    }
}

fn micros(of: u32) -> Duration {
    Duration::from_micros(of.into())
}

/// Passes the events of a flow's sender to an observer.
struct EventForwarder<'a, O> {
    observer: &'a mut O,
    flow: usize,
    open_timeouts: &'a mut Vec<(Instant, Seq)>,
}

impl<O: Observer> Log for EventForwarder<'_, O> {
    const DETAILED: bool = O::DETAILED;

    fn record(&mut self, now: Instant, event: SenderEvent<'_>) {
        if let SenderEvent::Timeout(first) = event {
            self.open_timeouts.push((now, first));
        }
        let flow = World::<()>::flow_id(self.flow as u32);
        self.observer.record(now, flow, &Event::Sender(event));
    }
}

/// Replays a record to an observer.
struct Replay<'a, 'o, O> {
    setup: &'a Setup,
    observer: &'o mut O,
    connections: Vec<Connection>,
    /// Our senders.
    twins: BTreeMap<usize, ReplayedSender<'a>>,
    underway: BTreeMap<u32, Underway<'a>>,
}

impl<'a, O: Replayed> Replay<'a, '_, O> {
    /// Lets one of our senders act at a position of the record.
    fn with_twin(
        &mut self,
        flow: usize,
        offset: usize,
        does: impl FnOnce(&mut ReplayedSender<'a>, &mut EventForwarder<'_, O>) -> Result<(), String>,
    ) -> Result<(), LabError> {
        let Some(twin) = self.twins.get_mut(&flow) else {
            return Ok(());
        };
        let log = &mut EventForwarder {
            observer: self.observer,
            flow,
            open_timeouts: &mut self.connections[flow].open_timeouts,
        };
        does(twin, log).map_err(|why| LabError::Record {
            at: offset,
            what: format!("the sender of flow {flow} cannot be replayed: {why}"),
        })
    }

    /// Lets our senders act up to an instant.
    fn go_on(&mut self, before: Instant, offset: usize) -> Result<(), LabError> {
        let numbers: Vec<usize> = self.twins.keys().copied().collect();
        for flow in numbers {
            self.with_twin(flow, offset, |twin, log| twin.go_on(before, log))?;
        }
        Ok(())
    }

    fn tell(&mut self, now: Instant, flow: usize, event: &Event<'_>) {
        let flow = World::<()>::flow_id(flow as u32);
        self.observer.record(now, flow, event);
    }

    fn report_sender(&mut self, now: Instant, flow: usize, event: SenderEvent<'_>) {
        self.tell(now, flow, &Event::Sender(event));
    }

    /// Processes an entry of the timeline.
    fn step(&mut self, at: Instant, step: &Step) {
        match step {
            Step::Mark(mark) => self.observer.mark(mark, at),
            Step::Act(Action::MarkBreak) => self.tell(at, 0, &Event::Break),
            Step::Act(Action::MarkMake) => self.tell(at, 0, &Event::Make),
            Step::Act(Action::Notify(flow, _)) if self.twins.contains_key(&flow.index()) => {
                self.tell(at, flow.index(), &Event::Notice);
            }
            Step::Act(_) => {}
        }
    }

    fn sent(&mut self, record: &Record<'a>) -> Result<(), LabError> {
        let RecordEvent::Sent {
            bytes,
            state,
            headers,
        } = record.event
        else {
            return Ok(());
        };
        // Packets of protocols other than TCP belong to no flow.
        let Ok((header, data)) = Header::decode_headers(headers) else {
            return Ok(());
        };
        let now = record.at;
        match direction(self.setup, record.place, &header) {
            Some((flow, Direction::Data)) => {
                let offset = record.offset;
                self.with_twin(flow, offset, |twin, log| twin.sent(now, headers, log))?;
                let connection = &mut self.connections[flow];
                if header.flags.syn {
                    connection.isn = Some(header.seq);
                }
                let Some(first) = connection.byte(header.seq) else {
                    let what = format!("data of flow {flow} before its SYN");
                    let at = record.offset;
                    return Err(LabError::Record { at, what });
                };
                if connection.mss == 0 && data > 0 {
                    connection.mss = state.map_or(data, |state| state.mss.max(1));
                }
                let (from, until) = if header.flags.syn {
                    (0, 1)
                } else {
                    // If segments are not full, packets carry the end of one and the start of another.
                    let from = connection.segment(first);
                    let next = connection.segment(first + u64::from(data));
                    (from, next.max(from + 1))
                };
                let is_segment = header.flags.syn || (data > 0 && first > 0);
                connection.has_closed |= header.flags.fin && data == 0;
                let is_empty_ack = !is_segment && !header.flags.fin;
                let again = is_segment && first < connection.sent;
                if is_segment {
                    let bytes = u64::from(data) + u64::from(header.flags.syn);
                    connection.sent = connection.sent.max(first + bytes);
                }
                if let Some(state) = state {
                    self.record_state(now, flow, state, again.then_some(from));
                }
                let content = if is_segment {
                    Content::Data
                } else {
                    Content::Acknowledgment
                };
                if is_segment || is_empty_ack {
                    let segment = Segment {
                        seq: from,
                        bytes,
                        retransmission: again,
                        sent: now,
                        content,
                        push: false,
                        ecn: midflight_tcp::EcnCodepoint::NotCapable,
                        cwr: false,
                        echo_ms: 0,
                        offset: 0,
                        option: None,
                    };
                    if is_segment {
                        self.send(now, record.packet, flow, until, segment);
                    } else {
                        let (segment, arrived) = (&segment, false);
                        self.tell(now, flow, &Event::EmptyAck { segment, arrived });
                        let of = Underway::EmptyAck {
                            flow,
                            segment: *segment,
                        };
                        self.underway.insert(record.packet, of);
                    }
                }
            }
            Some((flow, Direction::Acks)) => {
                let ack = self.connections[flow].ack(&header);
                if let Some(ack) = &ack {
                    self.tell(now, flow, &Event::AckSent(ack));
                }
                let of = Underway::Ack { flow, ack, headers };
                self.underway.insert(record.packet, of);
            }
            None => {}
        }
        Ok(())
    }

    /// Segments are sent as one packet.
    fn send(&mut self, now: Instant, packet: u32, flow: usize, last: Seq, segment: Segment) {
        let first = segment.seq;
        for seq in first..last {
            let retransmission = segment.retransmission && seq < self.connections[flow].max;
            let one = Segment {
                seq,
                retransmission,
                ..segment
            };
            self.tell(now, flow, &Event::Sent(&one));
        }
        let connection = &mut self.connections[flow];
        connection.max = connection.max.max(last);
        let of = Underway::Data {
            flow,
            first,
            last,
            segment,
        };
        self.underway.insert(packet, of);
    }

    /// Reports the changes in a sender since it last sent; `again` is the segment that it is about to
    /// retransmit.
    fn record_state(&mut self, now: Instant, flow: usize, state: KernelState, again: Option<Seq>) {
        let connection = &mut self.connections[flow];
        let before = connection.state.replace(state);
        let (una, first) = (connection.acked, connection.expected(connection.acked));
        let was = before.unwrap_or_default();
        let recovering = connection.recovering;
        connection.recovering = state.ca_state == RECOVERY && (recovering || again.is_some());
        let enters = connection.recovering && !recovering;
        let timeouts = state.timeouts.saturating_sub(was.timeouts);
        for _ in 0..timeouts {
            connection.open_timeouts.push((now, first));
        }
        for _ in 0..timeouts {
            self.report_sender(now, flow, SenderEvent::Timeout(first));
        }
        if recovering && ![RECOVERY, LOSS].contains(&state.ca_state) {
            self.report_sender(now, flow, SenderEvent::RecoveryExit);
        }
        if let (true, Some(seq)) = (enters, again) {
            self.report_sender(now, flow, SenderEvent::FastRetransmit(seq));
        }
        let by = author(una, &state);
        let is_first = before.is_none();
        if is_first || state.ssthresh != was.ssthresh {
            let to = match state.ssthresh {
                NO_THRESHOLD => f64::INFINITY,
                threshold => threshold.into(),
            };
            self.report_sender(now, flow, SenderEvent::Ssthresh { to, by });
        }
        if is_first || state.cwnd != was.cwnd {
            let to = state.cwnd.into();
            self.report_sender(now, flow, SenderEvent::Cwnd { to, by });
        }
        if is_first || state.backoff != was.backoff {
            let factor = 1_u32.checked_shl(state.backoff.into()).unwrap_or(u32::MAX);
            self.report_sender(now, flow, SenderEvent::Backoff(factor));
        }
        if O::DETAILED && state.srtt_us != was.srtt_us {
            self.report_sender(now, flow, SenderEvent::Smoothed(micros(state.srtt_us)));
        }
        if O::DETAILED && (is_first || state.rto_us != was.rto_us) {
            self.report_sender(now, flow, SenderEvent::Rto(micros(state.rto_us)));
        }
    }

    fn delivered(&mut self, record: &Record<'_>, link: Option<u16>) {
        let now = record.at;
        let link = link_id(link.unwrap_or(u16::MAX));
        match self.underway.remove(&record.packet) {
            Some(Underway::Data {
                flow,
                first,
                last,
                segment,
            }) => {
                for seq in first..last {
                    let connection = &mut self.connections[flow];
                    let (duplicate, overtaken) =
                        (connection.has(seq), connection.highest > seq + 1);
                    connection.note_arrival(seq);
                    connection.last_cause = segment.sent;
                    let one = Segment { seq, ..segment };
                    let event = Event::Arrived {
                        segment: &one,
                        link,
                        rerouted: false,
                        duplicate,
                        overtaken,
                    };
                    self.tell(now, flow, &event);
                }
            }
            Some(Underway::Ack { flow, ack, headers }) => {
                if let Some(twin) = self.twins.get_mut(&flow) {
                    twin.deliver(headers);
                }
                let Some(ack) = ack else { return };
                self.tell(now, flow, &Event::AckArrived(&ack));
                let connection = &mut self.connections[flow];
                let mss = u64::from(connection.mss);
                let bytes = match ack.ack {
                    0 => 0,
                    seq => 1 + (seq - 1) * mss,
                };
                connection.acked = connection.acked.max(bytes);
                let id = World::<()>::flow_id(flow as u32);
                judge_timeouts(&mut connection.open_timeouts, now, id, &ack, self.observer);
            }
            Some(Underway::EmptyAck { flow, segment }) => {
                let (segment, arrived) = (&segment, true);
                self.tell(now, flow, &Event::EmptyAck { segment, arrived });
            }
            None => {}
        }
    }

    fn marked(&mut self, record: &Record<'_>) {
        let link = link_id(record.place);
        if let Some(Underway::Data {
            flow,
            first,
            last,
            segment,
        }) = self.underway.get(&record.packet)
        {
            let (flow, sent, numbers) = (*flow, segment.sent, *first..*last);
            for seq in numbers {
                let event = Event::Marked {
                    payload: Payload::Data(seq),
                    sent,
                    link,
                    datagram: None,
                };
                self.tell(record.at, flow, &event);
            }
        }
    }

    fn lost(&mut self, record: &Record<'_>, cause: DropCause) {
        let link = link_id(record.place);
        let lost = |payload, sent| Event::Dropped {
            payload,
            sent,
            link,
            cause,
            datagram: None,
        };
        match self.underway.remove(&record.packet) {
            Some(Underway::Data {
                flow,
                first,
                last,
                segment,
            }) => {
                for seq in first..last {
                    let event = lost(Payload::Data(seq), segment.sent);
                    self.tell(record.at, flow, &event);
                }
            }
            Some(Underway::Ack {
                flow,
                ack: Some(ack),
                ..
            }) => {
                let event = lost(Payload::Ack(ack.ack), ack.cause_sent);
                self.tell(record.at, flow, &event);
            }
            Some(Underway::EmptyAck { flow, segment }) => {
                let event = lost(Payload::Ack(segment.seq), segment.sent);
                self.tell(record.at, flow, &event);
            }
            _ => {}
        }
    }
}

/// Passes the events of a record and of its setup's timeline to an observer until the run is over; returns
/// that instant.
fn replay<O: Replayed>(
    setup: &Setup,
    recorded: Recorded<'_>,
    observer: &mut O,
) -> Result<Instant, LabError> {
    let connection = |end: Option<Seq>| Connection {
        end: end.unwrap_or(Seq::MAX),
        ..Connection::default()
    };
    let mut replay = Replay {
        setup,
        observer,
        connections: setup.flows.iter().map(|f| connection(f.end)).collect(),
        twins: (recorded.turns.iter())
            .map(|(&flow, turns)| Ok((flow, ReplayedSender::new(setup, flow, turns)?)))
            .collect::<Result<_, LabError>>()?,
        underway: BTreeMap::new(),
    };
    let mut timeline = setup
        .timeline
        .iter()
        .take_while(|(at, _)| *at < setup.end)
        .peekable();
    let mut until = setup.end;
    for (number, record) in records(recorded.packets).enumerate() {
        let record = record?;
        while let Some((at, step)) = timeline.next_if(|(at, _)| *at <= record.at) {
            replay.step(*at, step);
        }
        replay.go_on(record.at, record.offset)?;
        if record.at >= setup.end || replay.observer.is_done(record.at) {
            until = record.at.min(setup.end);
            break;
        }
        match record.event {
            RecordEvent::Sent { .. } => replay.sent(&record)?,
            RecordEvent::Delivered { link, .. } => replay.delivered(&record, link),
            RecordEvent::Lost(cause) => replay.lost(&record, cause),
            RecordEvent::Marked => replay.marked(&record),
            RecordEvent::NoRoute => {
                let (packet, node) = (record.packet, record.place);
                let what = format!("packet {packet} was lost at node {node}, which has no route");
                let at = record.offset;
                return Err(LabError::Record { at, what });
            }
        }
        if number % 10_000 == 0 {
            replay.observer.check_length(setup.end)?;
        }
    }
    if until == setup.end {
        for (at, step) in timeline {
            replay.step(*at, step);
        }
    }
    replay.observer.end(until);
    Ok(until)
}

/// The measurements of each flow in a kernel's run, in the same form as for a simulated run, and the digest
/// of its events.
///
/// # Errors
/// [`LabError::Record`].
pub fn replay_flows(
    setup: &Setup,
    recorded: Recorded<'_>,
) -> Result<(Digest, Vec<FlowOutcome>), LabError> {
    let mut measuring = Measuring::new(Phases::new(setup));
    measuring.measure.expect(setup.makes());
    replay(setup, recorded, &mut measuring)?;
    Ok(measuring.measure.rows(setup, measuring.digest))
}

/// Every event of a flow in such a run (of the first flow if none is named), and the digest, as in
/// [`crate::trace_columns`] for a simulated run.
///
/// # Errors
/// [`LabError::Record`]; [`LabError::Study`] for an unknown flow, or when there is too much.
pub fn replay_trace(
    setup: &Setup,
    left: Recorded<'_>,
    flow: Option<&str>,
    only: &[String],
) -> Result<(TraceColumns, String), LabError> {
    let flow = setup.flow_of_name(flow)?;
    let recorder = Recorder::new(setup, flow, Instant::ZERO, only);
    let mut observed = (Digest::default(), Observed::new(setup, recorder));
    replay(setup, left, &mut observed)?;
    let (digest, observed) = observed;
    let recorder: Recorder = observed.into_watching();
    Ok((recorder.into_columns(), digest.to_string()))
}

/// Every event of a flow in such a run with the sender's state before it, as in [`crate::explain`] for a
/// simulated run.
///
/// # Errors
/// As [`replay_trace`].
pub fn replay_events(
    setup: &Setup,
    recorded: Recorded<'_>,
    flow: Option<&str>,
    keep: Keep,
    find: Option<&str>,
) -> Result<Explained, LabError> {
    let flow = setup.flow_of_name(flow)?;
    let causes = Causes::new(setup, flow, keep).looking_for(find);
    let mut observed = (Digest::default(), Observed::new(setup, causes));
    let ended = replay(setup, recorded, &mut observed)?;
    let (digest, observed) = observed;
    let causes: Causes = observed.into_watching();
    let kept = causes.into_kept();
    let recorded = OwnedRecord {
        packets: recorded.packets.to_vec(),
        turns: recorded.turns.clone(),
    };
    let of_run = (digest.to_string(), ended);
    Ok(Explained::replayed(kept, flow, of_run, recorded))
}

/// Our sender of a flow in such a run, after everything before `at`; none if the sender is the kernel's.
pub(crate) fn replay_sender(
    setup: &Setup,
    recorded: &OwnedRecord,
    flow: usize,
    at: Instant,
) -> Result<Option<SenderThen>, LabError> {
    let Some(turns) = recorded.turns.get(&flow) else {
        return Ok(None);
    };
    let mut twin = ReplayedSender::new(setup, flow, turns)?;
    let mut underway = BTreeMap::new();
    for record in records(&recorded.packets).take_while(|r| r.as_ref().is_ok_and(|r| r.at < at)) {
        let record = record?;
        let damaged = |what| {
            let at = record.offset;
            LabError::Record { at, what }
        };
        twin.go_on(record.at, &mut ()).map_err(damaged)?;
        match record.event {
            RecordEvent::Sent { headers, .. } => {
                let header = Header::decode_headers(headers).ok();
                let of = header.and_then(|(h, _)| direction(setup, record.place, &h));
                if of == Some((flow, Direction::Acks)) {
                    underway.insert(record.packet, headers);
                }
            }
            RecordEvent::Delivered { .. } => {
                if let Some(headers) = underway.remove(&record.packet) {
                    twin.deliver(headers);
                }
            }
            RecordEvent::Marked => {}
            RecordEvent::Lost(_) | RecordEvent::NoRoute => {
                underway.remove(&record.packet);
            }
        }
    }
    let damaged = |what| LabError::Record { at: 0, what };
    twin.go_on(at, &mut ()).map_err(damaged)?;
    Ok(twin.sender().map(SenderThen::of_sender))
}

/// The longest time of a flow without progress in such a run; none if it sent nothing.
///
/// # Errors
/// As [`replay_flows`].
pub fn replay_stall(
    setup: &Setup,
    recorded: Recorded<'_>,
    flow: Option<&str>,
) -> Result<Option<Stall>, LabError> {
    let flow = setup.flow_of_name(flow)?;
    let (digest, outcomes) = replay_flows(setup, recorded)?;
    Ok(Stall::of(&outcomes[flow], digest.to_string()))
}

/// Bytes of data in a full segment of each flow of a record; 0 for a flow that sent nothing.
///
/// # Errors
/// [`LabError::Record`].
pub fn segment_bytes(setup: &Setup, record: &[u8]) -> Result<Vec<u32>, LabError> {
    let mut found = vec![0; setup.flows.len()];
    for record in records(record) {
        let record = record?;
        let RecordEvent::Sent { state, headers, .. } = record.event else {
            continue;
        };
        let Ok((header, data)) = Header::decode_headers(headers) else {
            continue;
        };
        if let Some((flow, Direction::Data)) = direction(setup, record.place, &header) {
            if data > 0 && found[flow] == 0 {
                found[flow] = state.map_or(data, |state| state.mss.max(1));
            }
        }
        if !found.contains(&0) {
            break;
        }
    }
    Ok(found)
}
