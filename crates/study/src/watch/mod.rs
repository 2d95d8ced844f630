//! Runs with an observer: every event of a flow, with its causes or as packets; links and senders at
//! intervals; and two runs in parallel. Each takes a setup of any question. The run ends at the same time as
//! with its measure alone, with the same digest.

mod capture;
mod causes;
mod columns;
mod compare;
mod explain;
mod samples;
mod stack_log;
mod trace;

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use midflight_sim::{Digest, Endpoints, Event, FlowId, LinkId, NextEvent, Observer, World};
use midflight_units::Instant;

pub(crate) use self::capture::Place;
pub use self::capture::{capture, Capture};
pub(crate) use self::causes::Causes;
pub use self::causes::{EventCause, Keep, KeptEvents, Place as CausePlace, SenderBefore};
pub use self::columns::{trace_columns, Codes, Texts, TraceColumns};
pub use self::compare::{compare, Compared, Divergence};
pub(crate) use self::explain::OwnedRecord;
pub use self::explain::{explain, sender_of, stall_of, Explained, SenderThen, Stall};
pub use self::samples::{samples, BacklogSample, LinkSample, Samples, Sampling, SenderSample};
pub(crate) use self::samples::{Sampler, Tapping};
pub use self::stack_log::stack_log;
pub(crate) use self::trace::Recorder;
pub use self::trace::{trace, FlowEnd, Lost, Ordered, TraceRow};
use crate::error::StudyError;
use crate::measure::{AnyMeasure, Measure};
use crate::setup::{Mark, Setup, Step};

/// The number of events between two calls that return whether to continue.
const EVENTS_AT_A_TIME: usize = 10_000;

/// Called from time to time; returns whether to continue.
pub type GoOn<'a> = &'a mut dyn FnMut() -> bool;

/// Names of a network's links, by their numbers.
#[derive(Clone, Debug)]
pub(crate) struct LinkNames(Arc<[Arc<str>]>);

impl LinkNames {
    pub(crate) fn new(setup: &Setup) -> Self {
        let links = setup.network.links.iter();
        Self(links.map(|link| Arc::from(&*link.name)).collect())
    }

    pub(crate) fn of(&self, link: LinkId) -> Arc<str> {
        self.0
            .get(link.index())
            .map_or_else(|| "".into(), Arc::clone)
    }
}

/// The observer for which a run is simulated.
pub(crate) trait RunObserver: Observer + Send + Sync + 'static {
    /// [`Detailed`] or [`Plain`], as [`Observer::DETAILED`] says.
    type Detail: Detail;

    /// Whether it has seen enough.
    fn is_done(&self) -> bool {
        false
    }

    /// Returns an error if there are more events until `end` than it can keep.
    ///
    /// # Errors
    /// [`StudyError::TooLong`].
    fn check_length(&self, end: Instant) -> Result<(), StudyError>;

    /// The run is over.
    fn over(&mut self, _at: Instant) {}
}

/// Whether observers receive the events that cost time on every ACK.
pub(crate) trait Detail: Send + Sync + 'static {
    /// See [`Observer::DETAILED`].
    const DETAILED: bool;
}

/// Observers that receive them.
pub(crate) enum Detailed {}

/// Observers that do not.
pub(crate) enum Plain {}

impl Detail for Detailed {
    const DETAILED: bool = true;
}

impl Detail for Plain {
    const DETAILED: bool = false;
}

/// A [`RunObserver`] of any type.
trait AnyRunObserver: Any + Send + Sync {
    fn taps(&self, link: LinkId) -> bool;
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>);
    fn is_done(&self) -> bool;
    fn check_length(&self, end: Instant) -> Result<(), StudyError>;
    fn over(&mut self, at: Instant);
}

impl<W: RunObserver> AnyRunObserver for W {
    fn taps(&self, link: LinkId) -> bool {
        Observer::taps(self, link)
    }

    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        Observer::record(self, now, flow, event);
    }

    fn is_done(&self) -> bool {
        RunObserver::is_done(self)
    }

    fn check_length(&self, end: Instant) -> Result<(), StudyError> {
        RunObserver::check_length(self, end)
    }

    fn over(&mut self, at: Instant) {
        RunObserver::over(self, at);
    }
}

/// An observer, together with the measure that ends the run.
///
/// The event loop is compiled for each type of observer of a world. It is compiled for this type alone instead of
/// each [`RunObserver`], which takes a call by address for each event.
pub(crate) struct Observed<D> {
    watching: Box<dyn AnyRunObserver>,
    measure: AnyMeasure,
    detail: PhantomData<D>,
}

impl<D: Detail> Observer for Observed<D> {
    const DETAILED: bool = D::DETAILED;

    fn taps(&self, link: LinkId) -> bool {
        self.watching.taps(link)
    }

    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        self.watching.record(now, flow, event);
        self.measure.record(now, flow, event);
    }
}

impl<D: Detail> Observed<D> {
    /// The state before any event.
    pub(crate) fn new<W: RunObserver<Detail = D>>(setup: &Setup, watching: W) -> Self {
        const { assert!(W::DETAILED == D::DETAILED) };
        let mut measure = AnyMeasure::new(setup);
        measure.expect(setup.makes());
        Self {
            watching: Box::new(watching),
            measure,
            detail: PhantomData,
        }
    }

    pub(crate) fn is_done(&self, next: Instant) -> bool {
        self.watching.is_done() || self.measure.is_done(next)
    }

    pub(crate) fn mark(&mut self, mark: &Mark, at: Instant, now: Endpoints<'_>) {
        self.measure.mark(mark, at, now);
    }

    /// See [`RunObserver::check_length`].
    pub(crate) fn check_length(&self, end: Instant) -> Result<(), StudyError> {
        self.watching.check_length(end)
    }

    /// The observer, of the type that [`Self::new`] was given.
    fn watching<W: RunObserver>(&mut self) -> &mut W {
        let watching: &mut dyn Any = &mut *self.watching;
        watching
            .downcast_mut()
            .unwrap_or_else(|| unreachable!("an observer keeps its type"))
    }

    /// The same, after the run.
    pub(crate) fn into_watching<W: RunObserver>(self) -> W {
        let watching: Box<dyn Any> = self.watching;
        let watching = watching.downcast();
        *watching.unwrap_or_else(|_| unreachable!("an observer keeps its type"))
    }

    pub(crate) fn end(&mut self, at: Instant, now: Endpoints<'_>) {
        self.measure.end(at, now);
        self.watching.over(at);
    }
}

/// A run that is simulated event by event for an observer.
struct Playback<'a, W: RunObserver> {
    setup: &'a Setup,
    world: World<(Digest, Observed<W::Detail>)>,
    /// When the last event occurred, or the run ended.
    now: Instant,
    /// The next mark before the end of the run.
    mark: Option<(Instant, Mark)>,
    /// Index of the timeline's entry after it.
    next: usize,
    is_over: bool,
    of: PhantomData<W>,
}

impl<'a, W: RunObserver> Playback<'a, W> {
    /// A run before any event.
    fn new(setup: &'a Setup, watching: W) -> Result<Self, StudyError> {
        let observed = Observed::new(setup, watching);
        let mut playing = Self {
            setup,
            world: setup.world((Digest::default(), observed))?,
            now: Instant::ZERO,
            mark: None,
            next: 0,
            is_over: false,
            of: PhantomData,
        };
        playing.find_mark();
        Ok(playing)
    }

    fn find_mark(&mut self) {
        self.mark = None;
        while let (None, Some(entry)) = (self.mark, self.setup.entry(self.next)) {
            self.next += 1;
            if let (at, Step::Mark(mark)) = *entry {
                self.mark = Some((at, mark));
            }
        }
    }

    fn watching(&mut self) -> &mut W {
        self.world.watch().0 .1.watching()
    }

    /// The digest of the run, and its observer.
    fn into_watching(self) -> (Digest, W) {
        let (digest, observed) = self.world.into_observer();
        (digest, observed.into_watching())
    }

    /// The next event; none once the run is over.
    fn next(&mut self) -> Option<NextEvent> {
        while !self.is_over {
            let event = self.world.next_event();
            let until = self.mark.map_or(self.setup.end, |(at, _)| at);
            let (observer, ends) = self.world.watch();
            let is_done = observer.1.is_done(event.at().min(until));
            if !is_done && event.at() < until {
                return Some(event);
            }
            match self.mark {
                Some((at, mark)) if !is_done => {
                    observer.1.measure.mark(&mark, at, ends);
                    self.find_mark();
                }
                _ => {
                    // A run whose observer has seen enough ends with the last event.
                    if !is_done {
                        self.now = until;
                    }
                    observer.1.end(self.now, ends);
                    self.is_over = true;
                }
            }
        }
        None
    }

    /// Processes the event that [`Self::next`] has just returned.
    fn process(&mut self, event: NextEvent) -> Result<(), StudyError> {
        let observed = &self.world.observer().1;
        observed.check_length(self.setup.end)?;
        self.now = event.at();
        Ok(self.world.process(event)?)
    }

    /// Simulates the rest of the run.
    fn play_on(&mut self, go_on: GoOn<'_>) -> Result<(), StudyError> {
        let mut left = EVENTS_AT_A_TIME;
        while let Some(event) = self.next() {
            self.process(event)?;
            left -= 1;
            if left == 0 {
                left = EVENTS_AT_A_TIME;
                if !go_on() {
                    return Err(StudyError::Interrupted);
                }
            }
        }
        Ok(())
    }
}

/// Simulates a setup to its end for an observer; returns the observer and the digest.
///
/// # Errors
/// [`StudyError::TooLong`], [`StudyError::Interrupted`] when stopped, or an error of the world.
fn play<W: RunObserver>(
    setup: &Setup,
    watching: W,
    go_on: GoOn<'_>,
) -> Result<(W, String), StudyError> {
    let mut playing = Playback::new(setup, watching)?;
    playing.play_on(go_on)?;
    let (digest, watching) = playing.into_watching();
    Ok((watching, digest.to_string()))
}
