//! One run as a complete list of events.

use midflight_control::dupack::AnyDupackResponse;
use midflight_control::loss::{AnyLossClassifier, LossCause};
use midflight_control::spurious::AnySpuriousDetector;
use midflight_sim::{Digest, DropCause, Event, FlowId, LinkId, Observer, Payload, World};
use midflight_tcp::{Ack, Profile, Says, Segment, SenderEvent};
use midflight_units::{Instant, Seq};

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
    /// Name of the profile.
    pub profile: String,
    /// Settings that differ from the defaults.
    pub knobs: Knobs,
    /// With a handoff the run ends when this many segments never sent before the make are acknowledged.
    pub packets: u64,
    /// The run ends here at the latest.
    pub end: Instant,
}

/// Lists the events of one flow.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    rows: Vec<TraceRow>,
    link_name: fn(LinkId) -> &'static str,
    /// What happens before is not listed.
    from: Instant,
    /// Events that are listed; all if empty.
    only: Vec<String>,
    una: Seq,
    max: Seq,
    target: Option<Seq>,
    /// Whether, and this many new segments after the make, the run is done.
    packets: Option<u64>,
    /// The sender has opinions on losses and timeouts worth telling.
    opinions: bool,
    /// Rows of timeouts that await their judgement.
    timeouts: Vec<usize>,
}

fn name_of(link: LinkId) -> &'static str {
    LINK_NAMES.get(link.index()).copied().unwrap_or("")
}

impl Recorder {
    /// Lists what happens from then on to a sender of this profile.
    pub(crate) fn new(
        profile: &Profile,
        link_name: fn(LinkId) -> &'static str,
        from: Instant,
        only: &[String],
    ) -> Self {
        Self {
            rows: Vec::new(),
            link_name,
            from,
            only: only.to_vec(),
            una: 0,
            max: 0,
            target: None,
            packets: None,
            opinions: has_opinions(profile),
            timeouts: Vec::new(),
        }
    }

    fn lists(&self, event: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|listed| listed == event)
    }

    /// Whether as many packets as asked for are acknowledged.
    fn is_done(&self) -> bool {
        self.target.is_some_and(|target| self.una >= target)
    }

    /// Whether there are more events than a trace can have until `end`.
    ///
    /// # Errors
    /// [`StudyError::TraceTooLong`].
    pub(crate) fn check_length(&self, end: Instant) -> Result<(), StudyError> {
        if self.rows.len() > MOST_EVENTS {
            let most = MOST_EVENTS;
            return Err(StudyError::TraceTooLong { most, end });
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

    fn push(&mut self, at: Instant, event: &'static str, value: f64, detail: impl Into<String>) {
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

/// A segment's place in a train.
fn place(segment: &Segment) -> String {
    segment.train.map_or_else(String::new, |m| {
        format!("train {}: {} of {}", m.number, m.index + 1, m.segments)
    })
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
        if flow.index() != WATCHED {
            return;
        }
        match event {
            Event::Sent(s) => {
                self.max = self.max.max(s.seq + 1);
                let name = match s.retransmission {
                    true if s.probe => "window_probe",
                    true => "rexmit",
                    false => "send",
                };
                self.push(now, name, s.seq as f64, place(s));
            }
            Event::AckArrived(a) => {
                self.una = self.una.max(a.ack);
                self.push(now, "ack", a.ack as f64 - 1.0, said(a));
            }
            Event::Arrived { segment, link, .. } => {
                self.push(now, "rcv", segment.seq as f64, (self.link_name)(*link));
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
                let link = (self.link_name)(*link);
                self.push(now, "drop", number, format!("{kind} {link} {cause}"));
            }
            Event::Break => self.push(now, "break", 0.0, ""),
            Event::Make => {
                self.target = self.packets.map(|packets| self.max + packets);
                self.push(now, "make", 0.0, "");
            }
            Event::Notice => self.push(now, "notice", 0.0, ""),
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

/// Lists what happens in a world before `until`, and the digest of that.
///
/// # Errors
/// [`StudyError::TraceTooLong`], or the world's.
pub(crate) fn play(
    mut world: World<(Digest, Recorder)>,
    until: Instant,
) -> Result<(Vec<TraceRow>, String), StudyError> {
    loop {
        let next = world.next_event();
        let recorder = &world.observer().1;
        if next.at() >= until || recorder.is_done() {
            break;
        }
        recorder.check_length(until)?;
        world.process(next)?;
    }
    let ((digest, recorder), _) = world.watch(FlowId::default());
    Ok((std::mem::take(&mut recorder.rows), digest.to_string()))
}

/// Runs once and returns every event in order, with the digest of the run.
///
/// # Errors
/// [`StudyError`] for input that is not accepted.
pub fn trace(run: &TraceRun) -> Result<(Vec<TraceRow>, String), StudyError> {
    let Built { profile, policies } =
        Scheme::named(&run.scheme)?.build(&run.profile, &run.knobs)?;
    let recorder = Recorder {
        packets: Some(run.packets),
        ..Recorder::new(&profile, name_of, Instant::ZERO, &[])
    };
    let mut world: World<(Digest, Recorder)> =
        run.handoff
            .world(&profile, policies, (Digest::default(), recorder))?;
    if let Some(at) = run.at {
        check_handoff(&run.handoff, at, run.end)?;
        Handoff::foresee(&mut world, at, &profile)?;
        run.handoff.plan(&mut world, at)?;
    }
    world.hold_routes_until(Instant::NEVER);
    play(world, run.end)
}
