//! A list of events with what led to each: which copy of a segment arrived or was
//! lost, which segment an ACK answers and when it left, since when a timer ran.
//!
//! To the events of a trace it adds `ack_sent` (an ACK leaves the receiver; `delayed`
//! when its timer sent it, `signal` when the node had something to say), `wake` (a
//! deadline of the sender has come; the value is how many seconds it was set for),
//! `dupacks` (so many duplicate ACKs are counted now) and `srtt`.

use std::collections::VecDeque;

use midflight_sim::{Event, FlowId, Observer, Payload};
use midflight_tcp::{Ack, Profile, SenderEvent};
use midflight_units::{Duration, Instant, Seq};

use crate::error::StudyError;
use crate::trace::{LinkNames, Recorder, TraceRow, Watching};

/// What led to an event, as far as it has a cause of that kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Because {
    /// The segment that caused an ACK.
    pub segment: Option<Seq>,
    /// When this copy of a segment was sent; of an ACK, the segment that caused it.
    pub sent: Option<Instant>,
    /// When an ACK left the receiver; when a deadline was set.
    pub since: Option<Instant>,
    /// The blocks that an ACK reports, the first and the last segment of each.
    pub sack: String,
}

/// Lists the events of one flow with their causes.
#[derive(Clone, Debug)]
pub(crate) struct Causes {
    recorder: Recorder,
    of: Vec<Because>,
    flow: usize,
    delayed_ack: Option<Duration>,
    /// The segment that arrived last: its number, when it was sent, and when it arrived.
    last: Option<(Seq, Instant, Instant)>,
    /// It awaits its ACK.
    awaits: bool,
    /// ACKs on their way.
    acks: VecDeque<(Ack, Because)>,
}

impl Causes {
    /// Lists what happens to the flow of this number, whose sender and receiver have this profile.
    pub(crate) fn new(profile: &Profile, links: LinkNames, flow: usize) -> Self {
        Self {
            recorder: Recorder::new(profile, links, Instant::ZERO, &[])
                .with_opinions()
                .of(flow),
            of: Vec::new(),
            flow,
            delayed_ack: profile.receiver.delayed_ack,
            last: None,
            awaits: false,
            acks: VecDeque::new(),
        }
    }

    /// What was listed, each row with what led to it.
    pub(crate) fn into_rows(self) -> (Vec<TraceRow>, Vec<Because>) {
        (self.recorder.into_rows(), self.of)
    }

    /// Lists what a trace does not.
    fn push(&mut self, now: Instant, event: &'static str, value: f64, detail: &str, of: Because) {
        self.recorder.push(now, event, value, detail);
        self.of.push(of);
    }

    fn ack_sent(&mut self, now: Instant, ack: &Ack) {
        let segment = self.last.filter(|(_, sent, _)| *sent == ack.cause_sent);
        let arrived = self.last.map_or(Instant::ZERO, |(_, _, arrived)| arrived);
        let awaited = std::mem::replace(&mut self.awaits, false);
        let kind = if awaited && arrived == now {
            ""
        } else if awaited && self.delayed_ack.is_some_and(|wait| arrived + wait == now) {
            "delayed"
        } else {
            "signal"
        };
        let blocks = ack.sack.iter(ack.ack);
        let blocks = blocks.map(|b| format!("{}-{}", b.left, b.right.saturating_sub(1)));
        let of = Because {
            segment: segment.map(|(seq, _, _)| seq),
            sent: Some(ack.cause_sent),
            since: Some(now),
            sack: blocks.collect::<Vec<_>>().join(" "),
        };
        self.acks.push_back((*ack, of.clone()));
        self.push(now, "ack_sent", ack.ack as f64 - 1.0, kind, of);
    }

    /// What led to an event of this flow that a trace lists.
    fn because(&mut self, event: &Event<'_>) -> Because {
        match event {
            Event::Arrived { segment, .. } => Because {
                sent: Some(segment.sent),
                ..Because::default()
            },
            // An ACK that nobody sent is forged.
            Event::AckArrived(ack) => self.take(|(sent, _)| sent == *ack),
            Event::Dropped {
                payload: Payload::Ack(ack),
                sent,
                ..
            } => self.take(|(a, _)| (a.ack, a.cause_sent) == (*ack, *sent)),
            Event::Dropped { sent, .. } => Because {
                sent: Some(*sent),
                ..Because::default()
            },
            _ => Because::default(),
        }
    }

    fn take(&mut self, is_it: impl Fn(&(Ack, Because)) -> bool) -> Because {
        let place = self.acks.iter().position(is_it);
        let taken = place.and_then(|place| self.acks.remove(place));
        taken.map(|(_, of)| of).unwrap_or_default()
    }
}

impl Observer for Causes {
    const DETAILED: bool = true;

    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        self.recorder.record(now, flow, event);
        if flow.index() == self.flow {
            match event {
                Event::AckSent(ack) => self.ack_sent(now, ack),
                Event::Arrived { segment, .. } => {
                    self.last = Some((segment.seq, segment.sent, now));
                    self.awaits = true;
                }
                Event::Sender(SenderEvent::Smoothed(srtt)) => {
                    self.push(now, "srtt", srtt.as_secs_f64(), "", Because::default());
                }
                Event::Sender(SenderEvent::Duplicates(count)) => {
                    self.push(now, "dupacks", f64::from(*count), "", Because::default());
                }
                Event::Sender(SenderEvent::Woken { by, set }) => {
                    let of = Because {
                        since: Some(*set),
                        ..Because::default()
                    };
                    self.push(now, "wake", now.since(*set).as_secs_f64(), by.name(), of);
                }
                _ => {}
            }
        }
        if self.of.len() < self.recorder.len() {
            let of = self.because(event);
            self.of.push(of);
            self.of.resize_with(self.recorder.len(), Because::default);
        }
    }
}

impl Watching for Causes {
    fn is_done(&self) -> bool {
        self.recorder.is_done()
    }

    fn check_length(&self, end: Instant) -> Result<(), StudyError> {
        self.recorder.check_length(end)
    }
}
