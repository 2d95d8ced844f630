//! A list of events with their causes: which copy of a segment arrived or was lost, which segment caused an ACK and
//! when it was sent, when a timer was set.
//!
//! In addition to the events of a trace there are `ack_sent` (an ACK leaves the receiver; `delayed` when a timer of
//! it sent it, `held` when a signal of the node delayed it, `signal` when it is a signal of the node), `wake` (a deadline of
//! the sender has come; the value is how many seconds it was set for), `dupacks` (the new number of duplicate ACKs) and
//! `srtt`.
//!
//! A long run has millions of events and a question concerns a few of them: the number of [kept](Keep) events is
//! bounded, and each event carries the sender's state before it ([`SenderBefore`]), so nothing has to be derived from
//! events that are not kept.

use std::collections::VecDeque;

use midflight_control::signal::AnyHandoffSignal;
use midflight_control::Order;
use midflight_sim::{Event, FlowId, Observer, Payload};
use midflight_tcp::{Ack, AckRules, SackBlock, SenderEvent, State};
use midflight_units::{Duration, Instant, Seq};

use super::trace::{Recorder, TraceRow};
use super::RunObserver;
use crate::error::StudyError;
use crate::setup::Setup;

/// The sender's state before an event, derived from the events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderBefore {
    /// Congestion window.
    pub cwnd: Option<f64>,
    /// Slow-start threshold.
    pub ssthresh: Option<f64>,
    /// Retransmission timeout in seconds.
    pub rto: Option<f64>,
    /// Its lower bound in seconds.
    pub min_rto: Option<f64>,
    /// Back-off factor of the timer.
    pub backoff: u64,
    /// First unacknowledged segment.
    pub una: Seq,
    /// One past the highest segment sent.
    pub max: Seq,
    /// Number of duplicate ACKs that the sender has counted.
    pub duplicates: u64,
    /// The receiver advertises a zero window.
    pub closed: bool,
    /// Number of the fast retransmit whose recovery is in progress.
    pub recovery: Option<u64>,
    /// Number of the last timeout, while segments sent before it are unacknowledged.
    pub timeout: Option<u64>,
}

impl Default for SenderBefore {
    fn default() -> Self {
        Self {
            cwnd: None,
            ssthresh: None,
            rto: None,
            min_rto: None,
            backoff: 1,
            una: 0,
            max: 0,
            duplicates: 0,
            closed: false,
            recovery: None,
            timeout: None,
        }
    }
}

/// The causes of an event, if it has any.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventCause {
    /// The segment that caused an ACK.
    pub segment: Option<Seq>,
    /// When this copy of a segment was sent; for an ACK, the segment that caused it.
    pub sent: Option<Instant>,
    /// When an ACK left the receiver, or when a deadline was set.
    pub since: Option<Instant>,
    /// The blocks that an ACK reports, the first and the last segment of each.
    pub sack: String,
}

/// The position of an event among the others of its flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Place {
    /// Its number, from 0.
    pub number: u64,
    /// Number of the event that reached the sender at this instant and caused this one; none for events outside the
    /// sender.
    pub head: Option<u64>,
    /// The sender's state before it.
    pub before: SenderBefore,
}

/// Which of a flow's events are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// All.
    #[default]
    All,
    /// The last events up to an instant, and the first ones after it.
    Around {
        /// The instant.
        at: Instant,
        /// Number of events up to it, including those at the instant.
        before: usize,
        /// Number of later events.
        after: usize,
    },
    /// Events with this name.
    Named(String),
}

/// The kept events of a flow, and summary data of the others.
#[derive(Clone, Debug, Default)]
pub struct KeptEvents {
    /// The events.
    pub rows: Vec<TraceRow>,
    /// The cause of each of them.
    pub of: Vec<EventCause>,
    /// The position of each of them.
    pub places: Vec<Place>,
    /// There are no events after these.
    pub is_complete: bool,
    /// When the first segment was sent.
    pub opened: Option<Instant>,
    /// Beginnings and ends of breaks: number, instant, and `break` or `make`.
    pub marks: Vec<(u64, Instant, &'static str)>,
    /// Number and instant of the last event with the searched name, up to the instant of [`Keep::Around`].
    pub found: Option<(u64, Instant)>,
}

/// Lists the events of one flow with their causes.
#[derive(Clone, Debug)]
pub(crate) struct Causes {
    recorder: Recorder,
    of: Vec<EventCause>,
    places: Vec<Place>,
    flow: usize,
    delayed_ack: Option<Duration>,
    /// The receiver has timers of other lengths: Linux's delayed ACK adapts, and it compresses SACKs.
    has_own_timers: bool,
    /// When the node may send a signal; none if the scheme has none.
    signals: Option<Vec<Instant>>,
    /// The flow runs a stack.
    is_of_stack: bool,
    /// The segment that arrived last: its number, when it was sent, and when it arrived.
    last: Option<(Seq, Instant, Instant)>,
    /// The same for segments whose ACK a signal of the mobile node may delay; none before a signal does that.
    held: Option<VecDeque<(Seq, Instant, Instant)>>,
    /// Its ACK has not been sent yet.
    awaits: bool,
    /// ACKs in transit.
    acks: VecDeque<(Ack, EventCause)>,
    keep: Keep,
    /// The searched name.
    find: Option<String>,
    kept: KeptEvents,
    /// No more events are listed.
    closed: bool,
    /// Events so far.
    count: u64,
    sender_before: SenderBefore,
    /// One past the highest segment sent before the last timeout.
    point: Seq,
    /// Instant of the fast retransmit of [`SenderBefore::recovery`].
    recovery_at: Instant,
    head: Option<(u64, Instant)>,
}

/// When a mobile node with this signal sends one: at its warnings, and when it is on the new link.
fn signal_instants(setup: &Setup, signal: &AnyHandoffSignal) -> Option<Vec<Instant>> {
    if matches!(signal, AnyHandoffSignal::Silent(_)) {
        return None;
    }
    let warning = signal.warning().unwrap_or_default();
    let each = setup.path_changes.iter();
    Some(
        each.flat_map(|one| [one.at.saturating_sub(warning), one.make])
            .collect(),
    )
}

impl Causes {
    /// Lists the events of the flow with this number.
    pub(crate) fn new(setup: &Setup, flow: usize, keep: Keep) -> Self {
        let profile = &setup.flows[flow].part.built.profile;
        Self {
            recorder: Recorder::new(setup, flow, Instant::ZERO, &[]).with_opinions(),
            of: Vec::new(),
            places: Vec::new(),
            flow,
            delayed_ack: profile.receiver.delayed_ack,
            has_own_timers: matches!(profile.receiver.acks, AckRules::Linux { .. }),
            signals: signal_instants(setup, &profile.receiver.signal),
            is_of_stack: setup.flows[flow].quic.is_some(),
            last: None,
            held: None,
            awaits: false,
            acks: VecDeque::new(),
            keep,
            find: None,
            kept: KeptEvents::default(),
            closed: false,
            count: 0,
            sender_before: SenderBefore::default(),
            point: 0,
            recovery_at: Instant::ZERO,
            head: None,
        }
    }

    /// The same, with a search for the last event with this name.
    pub(crate) fn looking_for(self, name: Option<&str>) -> Self {
        let find = name.map(Into::into);
        Self { find, ..self }
    }

    /// The listed events.
    pub(crate) fn into_kept(self) -> KeptEvents {
        KeptEvents {
            rows: self.recorder.into_rows(),
            of: self.of,
            places: self.places,
            is_complete: !self.closed,
            ..self.kept
        }
    }

    /// Removes and returns the events listed since the last call, with their numbers.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = (TraceRow, u64)> {
        let rows = self.recorder.take_rows();
        self.of.clear();
        let places = std::mem::take(&mut self.places);
        rows.into_iter()
            .zip(places.into_iter().map(|place| place.number))
    }

    /// Whether nothing is listed.
    pub(crate) fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Whether all requested events are recorded.
    pub(crate) fn is_full(&self) -> bool {
        self.closed
    }

    /// Lists an event that a trace does not have.
    fn push(
        &mut self,
        now: Instant,
        event: &'static str,
        value: f64,
        detail: &str,
        of: EventCause,
    ) {
        self.recorder.push(now, event, value, detail);
        self.of.push(of);
    }

    /// The segment that caused an ACK which may have been delayed; earlier segments have been acknowledged.
    fn caused(&mut self, ack: &Ack) -> Option<(Seq, Instant, Instant)> {
        let held = self.held.as_mut()?;
        let is_cause = |(_, sent, _): &(Seq, Instant, Instant)| *sent == ack.cause_sent;
        // The segments of a burst have the same send time, and segments over the other link may arrive between them:
        // the cause is the last of those that the ACK covers.
        let has = |seq: Seq| {
            let is_in = |block: SackBlock| (block.left..block.right).contains(&seq);
            seq < ack.ack || ack.sack.iter(ack.ack).any(is_in)
        };
        let at = held.iter().rposition(|one| is_cause(one) && has(one.0));
        let at = at.or_else(|| held.iter().position(is_cause))?;
        held.drain(..at);
        held.front().copied()
    }

    fn ack_sent(&mut self, now: Instant, ack: &Ack) {
        if let Some(caused) = self.caused(ack) {
            self.awaits = false;
            let kind = if caused.2 == now { "" } else { "held" };
            return self.push_ack(now, ack, Some(caused.0), kind);
        }
        let segment = self.last.filter(|(_, sent, _)| *sent == ack.cause_sent);
        let arrived = self.last.map_or(Instant::ZERO, |(_, _, arrived)| arrived);
        let awaited = std::mem::replace(&mut self.awaits, false);
        let kind = if awaited && arrived == now {
            ""
        } else if self.is_of_stack {
            // Sent by a timer of the stack, or together with other data.
            if awaited {
                "delayed"
            } else {
                ""
            }
        } else if awaited && self.delayed_ack.is_some_and(|wait| arrived + wait == now) {
            "delayed"
        } else if self.is_signal(now, awaited) {
            "signal"
        } else {
            "delayed"
        };
        self.push_ack(now, ack, segment.map(|(seq, _, _)| seq), kind);
    }

    /// An ACK that no segment caused now, and no timer of a fixed length, is a signal of the node.
    fn is_signal(&self, now: Instant, awaited: bool) -> bool {
        let may_be_timer = awaited && self.has_own_timers;
        let signals = self.signals.as_ref();
        signals.is_some_and(|at| !may_be_timer || at.contains(&now))
    }

    fn push_ack(&mut self, now: Instant, ack: &Ack, segment: Option<Seq>, kind: &str) {
        let blocks = ack.sack.iter(ack.ack);
        let blocks = blocks.map(|b| format!("{}-{}", b.left, b.right.saturating_sub(1)));
        let of = EventCause {
            segment,
            sent: Some(ack.cause_sent),
            since: Some(now),
            sack: blocks.collect::<Vec<_>>().join(" "),
        };
        self.acks.push_back((*ack, of.clone()));
        self.push(now, "ack_sent", ack.ack as f64 - 1.0, kind, of);
    }

    /// The causes of an event of this flow that a trace lists.
    fn because(&mut self, event: &Event<'_>) -> EventCause {
        match event {
            Event::Arrived { segment, .. } => EventCause {
                sent: Some(segment.sent),
                ..EventCause::default()
            },
            // An ACK that no receiver sent is forged.
            Event::AckArrived(ack) => {
                let exact = self.acks.iter().any(|(sent, _)| sent == *ack);
                // If segments of one burst caused several ACKs, a lost ACK may have been matched instead of this one.
                let alike = |a: &Ack| (a.ack, a.cause_sent) == (ack.ack, ack.cause_sent);
                self.answer(|(sent, _)| sent == *ack || (!exact && alike(sent)))
            }
            Event::Dropped {
                payload: Payload::Ack(ack),
                sent,
                ..
            } => self.answer(|(a, _)| (a.ack, a.cause_sent) == (*ack, *sent)),
            Event::Dropped { sent, .. }
            | Event::Marked { sent, .. }
            | Event::NodeSent {
                payload: Payload::Data(_),
                sent,
                ..
            } => EventCause {
                sent: Some(*sent),
                ..EventCause::default()
            },
            _ => EventCause::default(),
        }
    }

    fn answer(&mut self, is_it: impl Fn(&(Ack, EventCause)) -> bool) -> EventCause {
        let place = self.acks.iter().position(is_it);
        let taken = place.and_then(|place| self.acks.remove(place));
        taken.map(|(_, of)| of).unwrap_or_default()
    }

    /// Numbers the events listed from this index on, and keeps the requested ones.
    fn settle(&mut self, from: usize) {
        for place in from..self.recorder.len() {
            let number = self.count;
            self.count += 1;
            let row = self.recorder.row(place);
            let (at, event) = (row.at, row.event);
            if self.head.is_some_and(|(_, since)| since != at) {
                self.head = None;
            }
            if matches!(event, "ack" | "notice" | "wake") {
                self.head = Some((number, at));
            }
            let outside = matches!(
                event,
                "rcv" | "drop" | "mark" | "node_send" | "break" | "make" | "ack_sent"
            );
            self.places.push(Place {
                number,
                head: self.head.map(|(head, _)| head).filter(|_| !outside),
                before: self.sender_before,
            });
            match event {
                "send" | "rexmit" => {
                    self.kept.opened.get_or_insert(at);
                }
                "break" | "make" => self.kept.marks.push((number, at, event)),
                _ => {}
            }
            let in_time = !matches!(self.keep, Keep::Around { at: until, .. } if at > until);
            if in_time && self.find.as_deref() == Some(event) {
                self.kept.found = Some((number, at));
            }
            self.follow(place, number);
        }
        match &self.keep {
            Keep::All => {}
            Keep::Named(name) => {
                for place in (from..self.recorder.len()).rev() {
                    if self.recorder.row(place).event != name {
                        self.recorder.remove(place);
                        self.of.remove(place);
                        self.places.remove(place);
                    }
                }
            }
            &Keep::Around { at, before, after } => self.trim(at, before, after),
        }
    }

    /// Drops events that are not near the instant.
    fn trim(&mut self, at: Instant, before: usize, after: usize) {
        let listed = self.recorder.len();
        let is_past = listed > 0 && self.recorder.row(listed - 1).at > at;
        if !is_past {
            // Only occasionally, so that each event is moved at most once.
            if listed >= 2 * before.max(1) {
                self.forget(listed - before);
            }
            return;
        }
        let up_to = self.recorder.up_to(at);
        if up_to > before {
            self.forget(up_to - before);
        }
        if listed - up_to >= after {
            self.closed = true;
            self.recorder.close();
            // The arrivals of these ACKs are not needed.
            self.acks.clear();
        }
    }

    fn forget(&mut self, count: usize) {
        self.recorder.forget(count);
        self.of.drain(..count);
        self.places.drain(..count);
    }

    /// Updates the sender's state after an event.
    fn follow(&mut self, place: usize, number: u64) {
        let row = self.recorder.row(place);
        let value = row.value;
        let whole = value as u64;
        let now = &mut self.sender_before;
        match row.event {
            "cwnd" => now.cwnd = Some(value),
            "ssthresh" => now.ssthresh = Some(value),
            "min_rto" => now.min_rto = Some(value),
            "rto_value" => now.rto = Some(value),
            "backoff" => now.backoff = whole,
            "dupacks" => now.duplicates = whole,
            "send" | "rexmit" => now.max = now.max.max(whole + 1),
            "ack" => {
                let una = (value + 1.0) as Seq;
                let old = now.una;
                if old < una && una <= now.max {
                    now.una = una;
                    if una >= self.point {
                        now.timeout = None;
                    }
                }
                if una >= old {
                    now.closed = row.detail == "zero window";
                }
            }
            "fast_retransmit" => {
                now.recovery = Some(number);
                self.recovery_at = row.at;
            }
            "state" if now.recovery.is_some() => {
                // Tahoe has no fast recovery after a fast retransmit.
                let slow = matches!(
                    row.entered,
                    Some(State::SlowStart | State::CongestionAvoidance)
                );
                if slow && self.recovery_at == row.at {
                    now.recovery = None;
                }
            }
            "recovery_exit" => now.recovery = None,
            "spurious" => (now.recovery, now.timeout) = (None, None),
            "order"
                if row
                    .ordered
                    .as_ref()
                    .is_some_and(|o| o.order == Order::Rewind) =>
            {
                (now.recovery, now.timeout) = (None, None);
            }
            "rto" => {
                (now.recovery, now.timeout) = (None, Some(number));
                self.point = now.max;
            }
            _ => {}
        }
    }
}

impl Observer for Causes {
    const DETAILED: bool = true;

    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        let from = self.recorder.len();
        self.recorder.record(now, flow, event);
        if self.closed {
            return;
        }
        if flow.index() == self.flow {
            match event {
                Event::AckSent(ack) => self.ack_sent(now, ack),
                Event::Arrived { segment, .. } => {
                    self.last = Some((segment.seq, segment.sent, now));
                    if let Some(held) = &mut self.held {
                        held.push_back((segment.seq, segment.sent, now));
                    }
                    self.awaits = true;
                }
                // From now on the signal may delay ACKs.
                Event::Signal { .. } if self.held.is_none() => {
                    self.held = Some(self.last.into_iter().collect());
                }
                Event::Sender(SenderEvent::Smoothed(srtt)) => {
                    self.push(now, "srtt", srtt.as_secs_f64(), "", EventCause::default());
                }
                Event::Sender(SenderEvent::Duplicates(count)) => {
                    self.push(now, "dupacks", f64::from(*count), "", EventCause::default());
                }
                Event::Sender(SenderEvent::Woken { by, set }) => {
                    let of = EventCause {
                        since: Some(*set),
                        ..EventCause::default()
                    };
                    self.push(now, "wake", now.since(*set).as_secs_f64(), by.name(), of);
                }
                _ => {}
            }
        }
        if self.of.len() < self.recorder.len() {
            let of = self.because(event);
            self.of.push(of);
            self.of
                .resize_with(self.recorder.len(), EventCause::default);
        }
        if from < self.recorder.len() {
            self.settle(from);
        }
    }
}

impl RunObserver for Causes {
    type Detail = super::Detailed;

    fn check_length(&self, end: Instant) -> Result<(), StudyError> {
        self.recorder.check_length(end)
    }
}
