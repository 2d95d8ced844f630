//! One run as a complete list of events.

use std::sync::Arc;

use midflight_control::dupack::AnyDupackResponse;
use midflight_control::loss::{AnyLossClassifier, LossCause};
use midflight_control::spurious::AnySpuriousDetector;
use midflight_control::Order;
use midflight_sim::{DropCause, Event, FlowId, Observer, Payload};
use midflight_tcp::{Ack, AckOption, Author, Profile, Segment, SegmentOption, SenderEvent, State};
use midflight_units::Instant;

use super::{play, GoOn, LinkNames, RunObserver};
use crate::error::StudyError;
use crate::setup::Setup;

/// Maximum number of events of a trace: a few gigabytes of memory.
const MOST_EVENTS: usize = 20_000_000;

/// One event of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceRow {
    /// When.
    pub at: Instant,
    /// Its name: `send`, `rexmit`, `ack`, `rcv`, `drop`, `cwnd` ...
    pub event: &'static str,
    /// Segment number, ACK number in ns-2's counting, or value.
    pub value: f64,
    /// Details as text.
    pub detail: String,
    /// The author of a window change or an order.
    pub by: Option<Author>,
    /// The order.
    pub ordered: Option<Box<Ordered>>,
    /// The state that the sender entered.
    pub entered: Option<State>,
    /// The link over which a segment arrived, or on which a packet was lost.
    pub link: Option<Arc<str>>,
    /// The lost packet and the cause.
    pub lost: Option<Lost>,
    /// When this copy of a segment was sent; for an ACK, the segment that caused it.
    pub sent: Option<Instant>,
    /// Size of a packet on the wire.
    pub bytes: Option<u32>,
}

/// A loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The packet.
    pub packet: Payload,
    /// Why.
    pub cause: DropCause,
}

/// An order with its reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Ordered {
    /// The order.
    pub order: Order,
    /// Its reason.
    pub reason: String,
}

/// How the events of a flow end, of whatever name they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowEnd {
    /// The last one.
    pub last: Instant,
    highest_sent: f64,
    highest_acked: f64,
    is_done: bool,
    plays: bool,
}

impl Default for FlowEnd {
    fn default() -> Self {
        Self {
            last: Instant::ZERO,
            highest_sent: -1.0,
            highest_acked: -1.0,
            is_done: false,
            plays: false,
        }
    }
}

impl FlowEnd {
    fn see(&mut self, at: Instant, event: &str, value: f64) {
        self.last = at;
        match event {
            "send" => self.highest_sent = self.highest_sent.max(value),
            "ack" => self.highest_acked = self.highest_acked.max(value),
            "done" => self.is_done = true,
            "playing" => self.plays = true,
            _ => {}
        }
    }

    /// It is not done: segments are outstanding, or a video has played.
    pub fn waits(&self) -> bool {
        !self.is_done && (self.plays || self.highest_sent > self.highest_acked)
    }
}

/// Lists the events of one flow.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    rows: Vec<TraceRow>,
    flow: usize,
    links: LinkNames,
    /// Earlier events are not listed.
    from: Instant,
    /// Names of the listed events; all if empty.
    only: Vec<String>,
    /// The sender's classifications of losses and timeouts are listed.
    opinions: bool,
    /// Rows of timeouts that have not been judged yet.
    timeouts: Vec<usize>,
    /// No more events are listed.
    closed: bool,
    end: FlowEnd,
}

impl Recorder {
    /// Lists the events of a flow from an instant on.
    pub(crate) fn new(setup: &Setup, flow: usize, from: Instant, only: &[String]) -> Self {
        Self {
            rows: Vec::new(),
            flow,
            links: LinkNames::new(setup),
            from,
            only: only.to_vec(),
            opinions: has_opinions(&setup.flows[flow].part.built.profile),
            timeouts: Vec::new(),
            closed: false,
            end: FlowEnd::default(),
        }
    }

    /// Whether it lists the events of a flow.
    pub(super) fn is_of(&self, flow: FlowId) -> bool {
        flow.index() == self.flow
    }

    /// How the events of the flow end, listed or not.
    pub(crate) fn flow_end(&self) -> FlowEnd {
        self.end
    }

    /// Calls `each` for all rows, and removes them.
    pub(super) fn drain(&mut self, mut each: impl FnMut(&TraceRow)) {
        self.timeouts.clear();
        for row in &self.rows {
            each(row);
        }
        self.rows.clear();
    }

    /// The same, with every sender's classifications of losses and timeouts.
    pub(crate) fn with_opinions(self) -> Self {
        Self {
            opinions: true,
            ..self
        }
    }

    /// The listed events.
    pub(crate) fn into_rows(self) -> Vec<TraceRow> {
        self.rows
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// A row.
    pub(crate) fn row(&self, place: usize) -> &TraceRow {
        &self.rows[place]
    }

    /// How many rows there are up to an instant.
    pub(crate) fn up_to(&self, at: Instant) -> usize {
        self.rows.partition_point(|row| row.at <= at)
    }

    /// Removes and returns all rows.
    pub(crate) fn take_rows(&mut self) -> Vec<TraceRow> {
        self.timeouts.clear();
        std::mem::take(&mut self.rows)
    }

    /// Removes the first rows, this many.
    pub(crate) fn forget(&mut self, count: usize) {
        self.rows.drain(..count);
        self.timeouts.retain(|&row| row >= count);
        self.timeouts.iter_mut().for_each(|row| *row -= count);
    }

    /// Removes one row.
    pub(crate) fn remove(&mut self, place: usize) {
        self.rows.remove(place);
        self.timeouts.retain(|&row| row != place);
        let later = self.timeouts.iter_mut().filter(|row| **row > place);
        later.for_each(|row| *row -= 1);
    }

    /// Stops listing; rows that are listed may still change.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    fn lists(&self, event: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|listed| listed == event)
    }
}

impl RunObserver for Recorder {
    type Detail = super::Detailed;

    fn check_length(&self, end: Instant) -> Result<(), StudyError> {
        let (what, most) = ("events", MOST_EVENTS);
        if self.rows.len() > most {
            return Err(StudyError::TooLong { what, most, end });
        }
        Ok(())
    }
}

impl Recorder {
    /// A sender's conclusions on losses, late segments and timeouts.
    fn opinion(&mut self, now: Instant, change: &SenderEvent<'_>) {
        if !self.opinions {
            return;
        }
        match change {
            SenderEvent::LossSuspected(seq) => self.push(now, "suspect", *seq as f64, ""),
            SenderEvent::LossJudged { segment, cause } => {
                let cause = match cause {
                    LossCause::Congestion => "congestion",
                    LossCause::Wireless => "wireless",
                };
                self.push(now, "judge", *segment as f64, cause);
            }
            SenderEvent::Reordered(seq) => self.push(now, "reordered", *seq as f64, ""),
            SenderEvent::SpuriousTimeout => self.push(now, "spurious", 0.0, "timeout"),
            SenderEvent::SpuriousRetransmit => self.push(now, "spurious", 0.0, "fast retransmit"),
            SenderEvent::Indicators(i) => {
                self.push(now, "ld_rtt", i.current, "");
                self.push(now, "ld_threshold", i.threshold, "");
                self.push(now, "ld_min", i.least, "");
            }
            SenderEvent::State(transition) => {
                if let Some(row) = self.list(now, "state", 0.0, transition.to_string()) {
                    row.entered = Some(transition.to);
                }
            }
            _ => {}
        }
    }

    pub(crate) fn push(
        &mut self,
        at: Instant,
        event: &'static str,
        value: f64,
        detail: impl Into<String>,
    ) {
        self.list(at, event, value, detail);
    }

    fn list(
        &mut self,
        at: Instant,
        event: &'static str,
        value: f64,
        detail: impl Into<String>,
    ) -> Option<&mut TraceRow> {
        if at < self.from {
            return None;
        }
        self.end.see(at, event, value);
        if !self.lists(event) {
            return None;
        }
        self.rows.push(TraceRow {
            at,
            event,
            value,
            detail: detail.into(),
            by: None,
            ordered: None,
            entered: None,
            link: None,
            lost: None,
            sent: None,
            bytes: None,
        });
        self.rows.last_mut()
    }

    /// A change of a window, and who made it.
    fn window(&mut self, at: Instant, event: &'static str, to: f64, by: Author) {
        if let Some(row) = self.list(at, event, to, "") {
            row.by = Some(by);
        }
    }

    fn order(&mut self, at: Instant, author: &'static str, order: Order, reason: &str) {
        let text = format!("{author}: {order} because {reason}");
        if let Some(row) = self.list(at, "order", 0.0, text) {
            row.by = Some(Author::Order(author));
            let reason = reason.into();
            row.ordered = Some(Box::new(Ordered { order, reason }));
        }
    }
}

/// The additional content of a segment: its place in a train, a rate request or report.
fn place(segment: &Segment) -> String {
    match segment.option {
        None => String::new(),
        Some(SegmentOption::Train(m)) => {
            format!("train {}: {} of {}", m.number, m.index + 1, m.segments)
        }
        Some(SegmentOption::Request(request)) => format!("asks for {}", request.rate),
        Some(SegmentOption::Report(rate, _)) => format!("reports {rate}"),
    }
}

/// The content of an ACK besides its number: a handoff mark, a zero window, an estimate.
fn said(ack: &Ack) -> String {
    match ack.option {
        AckOption::Nothing => String::new(),
        AckOption::ZeroWindow => "zero window".into(),
        AckOption::Standby => "standby".into(),
        AckOption::Congested | AckOption::CongestedUpdate => "congestion".into(),
        AckOption::Partial { done, of } => format!("part {done} of {of}"),
        AckOption::Moved(mark) => format!("mark {}", mark.number),
        AckOption::Measured { train, rate } => match rate {
            Some(rate) => format!("train {train}: {rate}"),
            None => format!("train {train}: a segment is missing"),
        },
        AckOption::Approved(response) => format!("approves {}", response.rate),
        AckOption::From(source) => match source.answers {
            Some(_) => "PATH_RESPONSE".into(),
            None => String::new(),
        },
    }
}

/// Whether a part of the sender classifies duplicates, losses or timeouts.
fn has_opinions(profile: &Profile) -> bool {
    let parts = &profile.parts;
    !matches!(
        (
            parts.dupack_response,
            parts.loss_classifier,
            parts.spurious_detector
        ),
        (
            AnyDupackResponse::Immediate(_),
            AnyLossClassifier::Congestion(_),
            AnySpuriousDetector::None(_)
        )
    )
}

impl Observer for Recorder {
    const DETAILED: bool = true;

    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        // Events that concern all flows are reported for flow 0.
        let of_all = matches!(event, Event::Break | Event::Make);
        if flow.index() != self.flow && !of_all {
            return;
        }
        if self.closed && !matches!(event, Event::TimeoutJudged { .. }) {
            return;
        }
        match event {
            Event::Sent(s) => {
                let name = match s.retransmission {
                    true if !s.has_data() => "window_probe",
                    true => "rexmit",
                    false => "send",
                };
                if let Some(row) = self.list(now, name, s.seq as f64, place(s)) {
                    (row.sent, row.bytes) = (Some(s.sent), Some(s.bytes));
                }
            }
            Event::AckArrived(a) => {
                if let Some(row) = self.list(now, "ack", a.ack as f64 - 1.0, said(a)) {
                    (row.sent, row.bytes) = (Some(a.cause_sent), Some(a.bytes()));
                }
            }
            Event::Arrived { segment, link, .. } => {
                let link = self.links.of(*link);
                if let Some(row) = self.list(now, "rcv", segment.seq as f64, &*link) {
                    row.link = Some(link);
                    (row.sent, row.bytes) = (Some(segment.sent), Some(segment.bytes));
                }
            }
            Event::Dropped {
                payload,
                sent,
                link,
                cause,
                ..
            } => {
                let number = match *payload {
                    Payload::Data(seq) => seq as f64,
                    Payload::Ack(ack) => ack as f64 - 1.0,
                    Payload::Datagram(number) => number as f64,
                };
                let (packet, cause, link) = (*payload, *cause, self.links.of(*link));
                let text = format!("{} {link} {}", packet.kind(), cause.name());
                if let Some(row) = self.list(now, "drop", number, text) {
                    row.link = Some(link);
                    row.lost = Some(Lost { packet, cause });
                    row.sent = Some(*sent);
                }
            }
            Event::Marked {
                payload,
                sent,
                link,
                ..
            } => {
                let number = match *payload {
                    Payload::Data(seq) => seq as f64,
                    Payload::Ack(ack) => ack as f64 - 1.0,
                    Payload::Datagram(number) => number as f64,
                };
                let link = self.links.of(*link);
                let text = format!("{} {link}", payload.kind());
                if let Some(row) = self.list(now, "mark", number, text) {
                    row.link = Some(link);
                    row.sent = Some(*sent);
                }
            }
            Event::NodeSent { payload, sent, .. } => {
                let number = match *payload {
                    Payload::Data(seq) => seq as f64,
                    Payload::Ack(ack) => ack as f64 - 1.0,
                    Payload::Datagram(number) => number as f64,
                };
                if let Some(row) = self.list(now, "node_send", number, payload.kind()) {
                    row.sent = Some(*sent);
                }
            }
            Event::Break => self.push(now, "break", 0.0, ""),
            Event::Make => self.push(now, "make", 0.0, ""),
            Event::Notice => self.push(now, "notice", 0.0, ""),
            Event::Signal { name, text } => {
                self.push(now, "signal", 0.0, format!("{name}: {text}"));
            }
            Event::EmptyAck {
                segment,
                arrived: false,
            } => self.push(now, "empty_ack", segment.seq as f64, ""),
            Event::Transport(event) => {
                self.push(now, event.name(), event.value() as f64, event.detail());
            }
            Event::App(event) => {
                self.push(
                    now,
                    event.what,
                    event.value as f64,
                    event.number.to_string(),
                );
            }
            Event::AckSent(_)
            | Event::Waits(_)
            | Event::EmptyAck { .. }
            | Event::Entered { .. }
            | Event::DatagramSent(_)
            | Event::DatagramEntered { .. }
            | Event::DatagramArrived { .. } => {}
            Event::TimeoutJudged { at, spurious, .. } => {
                if let Some(k) = self
                    .timeouts
                    .iter()
                    .position(|&row| self.rows[row].at == *at)
                {
                    let row = self.timeouts.remove(k);
                    self.rows[row].detail = if *spurious { "spurious" } else { "needed" }.into();
                }
            }
            Event::Sender(change) => match change {
                SenderEvent::LossSuspected(_)
                | SenderEvent::LossJudged { .. }
                | SenderEvent::Reordered(_)
                | SenderEvent::SpuriousTimeout
                | SenderEvent::SpuriousRetransmit
                | SenderEvent::Indicators(_)
                | SenderEvent::State(_) => self.opinion(now, change),
                SenderEvent::Cwnd { to, by } => self.window(now, "cwnd", *to, *by),
                SenderEvent::Ssthresh { to, by } => self.window(now, "ssthresh", *to, *by),
                SenderEvent::Backoff(b) => self.push(now, "backoff", f64::from(*b), ""),
                SenderEvent::MinRto(d) => self.push(now, "min_rto", d.as_secs_f64(), ""),
                // Listed with the causes instead.
                SenderEvent::Smoothed(_)
                | SenderEvent::Duplicates(_)
                | SenderEvent::Woken { .. }
                // Listed as a transport event.
                | SenderEvent::Path(_)
                // The run ends with this as its error.
                | SenderEvent::WindowRefused { .. } => {}
                SenderEvent::Rto(d) => self.push(now, "rto_value", d.as_secs_f64(), ""),
                SenderEvent::RttSample(d) => self.push(now, "rtt_sample", d.as_secs_f64(), ""),
                SenderEvent::PacingRate(rate) => self.push(now, "pacing_rate", *rate, ""),
                SenderEvent::Mode(mode) => self.push(now, "mode", 0.0, *mode),
                SenderEvent::DeliveryRate { rate, app_limited } => {
                    let limited = if *app_limited { "app-limited" } else { "" };
                    self.push(now, "delivery_rate", *rate, limited);
                }
                SenderEvent::Timeout(seq) => {
                    if now >= self.from && self.lists("rto") {
                        self.timeouts.push(self.rows.len());
                    }
                    self.push(now, "rto", *seq as f64, "");
                }
                SenderEvent::FastRetransmit(seq) => {
                    self.push(now, "fast_retransmit", *seq as f64, "");
                }
                SenderEvent::RecoveryExit => self.push(now, "recovery_exit", 0.0, ""),
                SenderEvent::Order {
                    author,
                    order,
                    reason,
                } => self.order(now, author, *order, reason),
            },
        }
    }
}

/// Every event of a flow of a run from `from` on (of the first flow if none is named), or only events
/// with these names; and the digest of the run. If `go_on` returns false, the run stops.
///
/// # Errors
/// [`StudyError::UnknownFlow`]; [`StudyError::TooLong`] when there are too many events;
/// [`StudyError::Interrupted`] when stopped.
pub fn trace(
    setup: &Setup,
    flow: Option<&str>,
    from: Instant,
    only: &[String],
    go_on: GoOn<'_>,
) -> Result<(Vec<TraceRow>, String), StudyError> {
    let flow = setup.flow_of_name(flow)?;
    let (recorder, digest) = play(setup, Recorder::new(setup, flow, from, only), go_on)?;
    Ok((recorder.rows, digest))
}
