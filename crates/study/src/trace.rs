//! One run as a complete list of events.

use std::borrow::Cow;

use midflight_control::dupack::AnyDupackResponse;
use midflight_control::loss::{AnyLossClassifier, LossCause};
use midflight_control::spurious::AnySpuriousDetector;
use midflight_sim::{Digest, DropCause, Event, FlowId, LinkId, Observer, Payload, World};
use midflight_tcp::{Ack, Profile, Says, Segment, SegmentOption, SenderEvent};
use midflight_units::{Instant, Seq};

use crate::capture::{Capture, Capturing};
use crate::error::StudyError;
use crate::flow_metrics::WATCHED;
use crate::handoff::{Handoff, LINK_NAMES};
use crate::scheme::{Built, Knobs, Scheme};
use crate::sweep::check_handoff;

/// Most events of a trace: a few gigabytes of memory.
const MOST_EVENTS: usize = 20_000_000;

/// One event of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceRow {
    /// When.
    pub at: Instant,
    /// What: `send`, `rexmit`, `ack`, `rcv`, `drop`, `cwnd` ...
    pub event: &'static str,
    /// Segment number, ACK number in ns-2's counting, or value.
    pub value: f64,
    /// More, in words.
    pub detail: String,
}

/// What to trace.
#[derive(Clone, Debug)]
pub struct TraceRun {
    /// The handoff.
    pub handoff: Handoff,
    /// When it starts; none for a run without handoff.
    pub at: Option<Instant>,
    /// Name of the scheme.
    pub scheme: String,
    /// Name of the residents' scheme.
    pub resident_scheme: String,
    /// Number of the flow to trace: those that move from 0, then the residents.
    pub flow: u32,
    /// Name of the profile.
    pub profile: String,
    /// Settings that differ from the defaults.
    pub knobs: Knobs,
    /// With a handoff the run ends when this many segments never sent before the make are acknowledged.
    pub packets: u64,
    /// The run ends here at the latest.
    pub end: Instant,
}

/// Who watches a run that is played to tell of it.
pub(crate) trait Watching: Observer {
    /// Whether it has seen enough.
    fn is_done(&self) -> bool {
        false
    }

    /// Whether there is more until `end` than it can keep.
    ///
    /// # Errors
    /// [`StudyError::TooLong`].
    fn check_length(&self, end: Instant) -> Result<(), StudyError>;
}

/// How much of a handoff is to be seen: until so many segments never sent
/// before the make are acknowledged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Goal {
    packets: Option<u64>,
    una: Seq,
    max: Seq,
    target: Option<Seq>,
}

impl Goal {
    /// So many segments; none for the whole run.
    pub(crate) fn new(packets: Option<u64>) -> Self {
        Self {
            packets,
            ..Self::default()
        }
    }

    /// Takes an event of the watched flow.
    pub(crate) fn note(&mut self, event: &Event<'_>) {
        match event {
            Event::Sent(s) => self.max = self.max.max(s.seq + 1),
            Event::AckArrived(a) => self.una = self.una.max(a.ack),
            Event::Make => self.target = self.packets.map(|packets| self.max + packets),
            _ => {}
        }
    }

    pub(crate) fn is_reached(&self) -> bool {
        self.target.is_some_and(|target| self.una >= target)
    }
}

/// Lists the events of one flow.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    rows: Vec<TraceRow>,
    flow: usize,
    links: LinkNames,
    /// What happens before is not listed.
    from: Instant,
    /// Events that are listed; all if empty.
    only: Vec<String>,
    goal: Goal,
    /// The sender has opinions on losses and timeouts worth telling.
    opinions: bool,
    /// Rows of timeouts that await their judgement.
    timeouts: Vec<usize>,
    /// Nothing more is listed.
    closed: bool,
}

/// Names of a network's links, by their numbers.
#[derive(Clone, Debug)]
pub(crate) struct LinkNames(Vec<Cow<'static, str>>);

impl LinkNames {
    pub(crate) fn new<N: Into<Cow<'static, str>>>(names: impl IntoIterator<Item = N>) -> Self {
        Self(names.into_iter().map(Into::into).collect())
    }

    pub(crate) fn of(&self, link: LinkId) -> &str {
        self.0.get(link.index()).map_or("", |name| name)
    }
}

impl Recorder {
    /// Lists what happens from then on to a sender of this profile.
    pub(crate) fn new(profile: &Profile, links: LinkNames, from: Instant, only: &[String]) -> Self {
        Self {
            rows: Vec::new(),
            flow: WATCHED,
            links,
            from,
            only: only.to_vec(),
            goal: Goal::default(),
            opinions: has_opinions(profile),
            timeouts: Vec::new(),
            closed: false,
        }
    }

    /// The same with opinions on losses and timeouts told of every sender.
    pub(crate) fn with_opinions(self) -> Self {
        Self {
            opinions: true,
            ..self
        }
    }

    /// The same with the flow of this number watched.
    pub(crate) fn of(self, flow: usize) -> Self {
        Self { flow, ..self }
    }

    /// What was listed.
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

    /// All rows, which are forgotten.
    pub(crate) fn take_rows(&mut self) -> Vec<TraceRow> {
        self.timeouts.clear();
        std::mem::take(&mut self.rows)
    }

    /// Forgets so many rows, the first ones.
    pub(crate) fn forget(&mut self, count: usize) {
        self.rows.drain(..count);
        self.timeouts.retain(|&row| row >= count);
        self.timeouts.iter_mut().for_each(|row| *row -= count);
    }

    /// Forgets one row.
    pub(crate) fn remove(&mut self, place: usize) {
        self.rows.remove(place);
        self.timeouts.retain(|&row| row != place);
        let later = self.timeouts.iter_mut().filter(|row| **row > place);
        later.for_each(|row| *row -= 1);
    }

    /// Lists nothing more; what is listed may still change.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    fn lists(&self, event: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|listed| listed == event)
    }
}

impl Watching for Recorder {
    fn is_done(&self) -> bool {
        self.goal.is_reached()
    }

    fn check_length(&self, end: Instant) -> Result<(), StudyError> {
        let (what, most) = ("events", MOST_EVENTS);
        if self.rows.len() > most {
            return Err(StudyError::TooLong { what, most, end });
        }
        Ok(())
    }
}

impl Recorder {
    /// What a sender thinks of losses, late segments and timeouts.
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
            SenderEvent::State(transition) => self.push(now, "state", 0.0, transition.to_string()),
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
        if at < self.from || !self.lists(event) {
            return;
        }
        self.rows.push(TraceRow {
            at,
            event,
            value,
            detail: detail.into(),
        });
    }
}

/// What a segment carries: its place in a train, a rate request or report.
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

/// What an ACK says besides its number: a handover mark, a zero window, an estimate.
fn said(ack: &Ack) -> String {
    match ack.says {
        Says::Nothing => String::new(),
        Says::ZeroWindow => "zero window".into(),
        Says::Moved(mark) => format!("mark {}", mark.number),
        Says::Measured { train, rate } => match rate {
            Some(rate) => format!("train {train}: {rate}"),
            None => format!("train {train}: a segment is missing"),
        },
        Says::Approved(response) => format!("approves {}", response.rate),
    }
}

/// Whether duplicates, losses or timeouts are anything but taken as they come.
fn has_opinions(profile: &Profile) -> bool {
    let tx = &profile.sender;
    !matches!(
        (tx.dupack_response, tx.loss_classifier, tx.spurious_detector),
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
        // What concerns all flows is told of flow 0.
        let of_all = matches!(event, Event::Break | Event::Make);
        if flow.index() != self.flow && !of_all {
            return;
        }
        self.goal.note(event);
        if self.closed && !matches!(event, Event::TimeoutJudged { .. }) {
            return;
        }
        match event {
            Event::Sent(s) => {
                let name = match s.retransmission {
                    true if s.probe => "window_probe",
                    true => "rexmit",
                    false => "send",
                };
                self.push(now, name, s.seq as f64, place(s));
            }
            Event::AckArrived(a) => {
                self.push(now, "ack", a.ack as f64 - 1.0, said(a));
            }
            Event::Arrived { segment, link, .. } => {
                let link = self.links.of(*link).to_string();
                self.push(now, "rcv", segment.seq as f64, link);
            }
            Event::Dropped {
                payload,
                link,
                cause,
                ..
            } => {
                let (kind, number) = match *payload {
                    Payload::Data(seq) => ("data", seq as f64),
                    Payload::Ack(ack) => ("ack", ack as f64 - 1.0),
                };
                let cause = match cause {
                    DropCause::Queue => "queue",
                    DropCause::Break => "break",
                    DropCause::Radio => "radio",
                };
                let link = self.links.of(*link);
                self.push(now, "drop", number, format!("{kind} {link} {cause}"));
            }
            Event::Break => self.push(now, "break", 0.0, ""),
            Event::Make => self.push(now, "make", 0.0, ""),
            Event::Notice => self.push(now, "notice", 0.0, ""),
            Event::AckSent(_) | Event::Entered { .. } => {}
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
                SenderEvent::Cwnd(w) => self.push(now, "cwnd", *w, ""),
                SenderEvent::Ssthresh(w) => self.push(now, "ssthresh", *w, ""),
                SenderEvent::Backoff(b) => self.push(now, "backoff", f64::from(*b), ""),
                SenderEvent::MinRto(d) => self.push(now, "min_rto", d.as_secs_f64(), ""),
                // Told where causes are.
                SenderEvent::Smoothed(_)
                | SenderEvent::Duplicates(_)
                | SenderEvent::Woken { .. }
                // The run ends with that as its error.
                | SenderEvent::WindowRefused { .. } => {}
                SenderEvent::Rto(d) => self.push(now, "rto_value", d.as_secs_f64(), ""),
                SenderEvent::RttSample(d) => self.push(now, "rtt_sample", d.as_secs_f64(), ""),
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
                } => {
                    self.push(
                        now,
                        "order",
                        0.0,
                        format!("{author}: {order} because {reason}"),
                    );
                }
            },
        }
    }
}

/// Events between two questions whether to go on.
const EVENTS_AT_A_TIME: usize = 10_000;

/// Asked now and then whether to go on.
pub type GoOn<'a> = &'a mut dyn FnMut() -> bool;

/// Plays a world until then, or until it has been watched enough.
///
/// # Errors
/// [`StudyError::TooLong`], [`StudyError::Interrupted`] when told to stop, or the world's.
pub(crate) fn play_on<W: Watching>(
    world: &mut World<(Digest, W)>,
    until: Instant,
    go_on: GoOn<'_>,
) -> Result<(), StudyError> {
    loop {
        for _ in 0..EVENTS_AT_A_TIME {
            let next = world.next_event();
            let watching = &world.observer().1;
            if next.at() >= until || watching.is_done() {
                return Ok(());
            }
            watching.check_length(until)?;
            world.process(next)?;
        }
        if !go_on() {
            return Err(StudyError::Interrupted);
        }
    }
}

/// The same to the end of a world; who watched, and the digest.
///
/// # Errors
/// As [`play_on`].
pub(crate) fn play<W: Watching>(
    mut world: World<(Digest, W)>,
    until: Instant,
    go_on: GoOn<'_>,
) -> Result<(W, String), StudyError> {
    play_on(&mut world, until, go_on)?;
    let (digest, watching) = world.into_observer();
    Ok((watching, digest.to_string()))
}

impl TraceRun {
    /// Its world before anything has happened, its whole timeline planned.
    /// `observer` is told what the flow is that is looked at.
    fn world<O: Observer>(
        &self,
        observer: impl FnOnce(&Built) -> Result<O, StudyError>,
    ) -> Result<World<O>, StudyError> {
        let flows = self.handoff.flows;
        flows.check()?;
        if self.flow as usize >= flows.count() {
            return Err(StudyError::Range {
                what: "the flow to trace",
                value: self.flow.to_string(),
                accepted: "the number of one that the run has, from 0",
            });
        }
        let build = |scheme| Scheme::named(scheme)?.build(&self.profile, &self.knobs);
        let (moving, resident) = (build(&self.scheme)?, build(&self.resident_scheme)?);
        let traced = if self.flow < flows.moving {
            &moving
        } else {
            &resident
        };
        let observer = observer(traced)?;
        let mut world = self.handoff.world(&moving, &resident, observer)?;
        if let Some(at) = self.at {
            check_handoff(&self.handoff, at, self.end)?;
            self.handoff.foresee(&mut world, at, &moving.profile)?;
            self.handoff.plan(&mut world, at)?;
        }
        world.hold_routes_until(Instant::NEVER);
        Ok(world)
    }
}

/// Runs once and returns every event in order, with the digest of the run. `go_on` may answer that
/// it is enough.
///
/// # Errors
/// [`StudyError::Interrupted`] when told to stop, or for input that is not accepted.
pub fn trace(run: &TraceRun, go_on: GoOn<'_>) -> Result<(Vec<TraceRow>, String), StudyError> {
    let world = run.world(|traced| {
        let names = LinkNames::new(LINK_NAMES);
        let recorder = Recorder {
            goal: Goal::new(Some(run.packets)),
            ..Recorder::new(&traced.profile, names, Instant::ZERO, &[])
        };
        Ok((Digest::default(), recorder.of(run.flow as usize)))
    })?;
    let (recorder, digest) = play(world, run.end, go_on)?;
    Ok((recorder.into_rows(), digest))
}

/// Runs once and returns what is seen of it at the flow's sender and receiver and
/// at the base stations, of each packet at most the first `snap` bytes (0 for
/// all), with the digest of the run. `go_on` is as for [`trace`].
///
/// # Errors
/// As [`trace`].
pub fn capture(
    run: &TraceRun,
    snap: u32,
    go_on: GoOn<'_>,
) -> Result<(Vec<Capture>, String), StudyError> {
    let world = run.world(|traced| {
        let capturing = Capturing::new(
            (&traced.profile, snap),
            Handoff::stations(),
            LinkNames::new(LINK_NAMES),
            Goal::new(Some(run.packets)),
        )?;
        Ok((Digest::default(), capturing.of(run.flow as usize)))
    })?;
    let (capturing, digest) = play(world, run.end, go_on)?;
    let about = format!("{} on profile {}", run.scheme, run.profile);
    Ok((capturing.develop(&about, &digest)?, digest))
}
