//! Samples of the links and the senders of a run at equal intervals: queues, rates, windows and
//! data in flight over time.
//!
//! Queue lengths between two samples are covered. Minimum and maximum are exact unless cross traffic shares the link:
//! a queue grows only when a packet enters it, and packets of flows are reported then. The mean is that of eight
//! observations in each interval, at instants that follow no period, as packets sent at regular times would otherwise
//! be seen always or never. Without a given interval a run of any length has between 4,096 and twice as many samples
//! (fewer if it is very short): when there are more, each two are merged.

use std::sync::Arc;

use midflight_sim::{Event, FlowId, LinkId, LinkState, Observer, World};
use midflight_tcp::Sender;
use midflight_units::{Duration, Instant};

use super::{GoOn, LinkNames, Playback, RunObserver, EVENTS_AT_A_TIME};
use crate::error::StudyError;
use crate::setup::{link_id, Setup};

/// Observations of the queues in each interval.
const LOOKS: u64 = 8;
/// The initial interval if none is given; it doubles.
const SHORTEST: Duration = Duration::from_micros(125);
/// Samples of a run, and up to twice as many, if no interval is given.
const FEWEST: usize = 4096;
/// The offset of an observation is a share of its step, in units of 2^-32.
const STEP_BITS: u32 = 32;
/// Multiples of this, the golden ratio in 64 bits, are spread evenly for any number of them (Weyl).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
/// The range of a queue before it is observed.
const NOT_OBSERVED: (u64, u64, u64) = (u64::MAX, 0, 0);
/// Maximum number of rows of each table.
const MOST_ROWS: usize = 20_000_000;

/// When samples are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// The interval; none for 4,096 samples to twice as many.
    pub every: Option<Duration>,
    /// The first one.
    pub from: Instant,
    /// The end of the run, if that is before its own.
    pub until: Instant,
}

/// The state of a link at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSample {
    /// When.
    pub at: Instant,
    /// Its name.
    pub link: Arc<str>,
    /// Its number.
    pub number: usize,
    /// Its state.
    pub state: LinkState,
    /// The minimum number of packets at it since the previous sample.
    pub least: u64,
    /// The maximum number of packets at it since the previous sample.
    pub most: u64,
    /// The mean number of packets at it since the previous sample.
    pub mean: f64,
}

/// The packets of a flow that wait at a link whose discipline has a queue for each flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BacklogSample {
    /// When.
    pub at: Instant,
    /// The name of the link.
    pub link: Arc<str>,
    /// Its number.
    pub number: usize,
    /// Number of the flow; none for cross traffic.
    pub flow: Option<usize>,
    /// Packets that wait, without the one in transmission.
    pub packets: u64,
}

/// The state of a sender at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderSample {
    /// When.
    pub at: Instant,
    /// Number of its flow.
    pub flow: usize,
    /// Congestion window in segments.
    pub cwnd: f64,
    /// Slow-start threshold in segments; infinite if the kernel has set none.
    pub ssthresh: f64,
    /// The sender's estimate of the segments in flight.
    pub pipe: u64,
    /// Segments sent and not acknowledged.
    pub flight: u64,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Retransmission timeout.
    pub rto: Duration,
}

impl SenderSample {
    /// None for a sender that has sent nothing.
    fn of(at: Instant, flow: usize, sender: &Sender) -> Option<Self> {
        let view = sender.view();
        (view.snd_max > 0).then(|| Self {
            at,
            flow,
            cwnd: view.cwnd,
            ssthresh: view.ssthresh,
            pipe: view.pipe,
            flight: view.flight_size(),
            srtt: view.srtt,
            rto: view.rto,
        })
    }
}

/// The samples of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// The links, all of them at each instant.
    pub links: Vec<LinkSample>,
    /// The senders that have sent something, at each instant.
    pub senders: Vec<SenderSample>,
    /// The flows at links with a queue for each flow, at each instant: all up to the highest number that has had
    /// packets at the link, with 0 if none wait.
    pub backlogs: Vec<BacklogSample>,
}

/// Packets that entered a link in an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entries {
    link: LinkId,
    /// How many arrived there.
    arrived: u64,
    /// How many it dropped in the same event.
    dropped: u64,
}

/// Observes which links packets enter, which makes these enter only at the present time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tapping {
    /// Those of the last event.
    entries: Vec<Entries>,
}

impl Tapping {
    fn at(&mut self, link: LinkId) -> &mut Entries {
        let found = self.entries.iter().position(|one| one.link == link);
        let place = found.unwrap_or_else(|| {
            self.entries.push(Entries {
                link,
                arrived: 0,
                dropped: 0,
            });
            self.entries.len() - 1
        });
        &mut self.entries[place]
    }
}

impl Observer for Tapping {
    fn taps(&self, _link: LinkId) -> bool {
        true
    }

    fn record(&mut self, _now: Instant, _flow: FlowId, event: &Event<'_>) {
        match *event {
            Event::Entered { link, .. } | Event::DatagramEntered { link, .. } => {
                self.at(link).arrived += 1;
            }
            Event::Dropped { link, .. } => self.at(link).dropped += 1,
            _ => {}
        }
    }
}

impl RunObserver for Tapping {
    type Detail = super::Plain;

    fn check_length(&self, _end: Instant) -> Result<(), StudyError> {
        // The sampler does that.
        Ok(())
    }
}

/// Takes samples of a world in which all links are tapped.
pub(crate) struct Sampler<'a> {
    names: LinkNames,
    links: u16,
    /// The numbers of the flows with our senders.
    flows: Vec<usize>,
    every: Duration,
    /// The interval was given.
    is_fixed: bool,
    /// The first sample.
    from: Instant,
    /// The next observation or sample.
    due: Instant,
    /// The beginning of this interval, and the observations in it so far.
    begin: Instant,
    look: u64,
    /// The observations so far.
    looks: u64,
    /// Minimum and maximum length of each queue in this interval, and the sum of what was observed.
    range: Vec<(u64, u64, u64)>,
    found: Samples,
    end: Instant,
    go_on: GoOn<'a>,
    left: usize,
}

impl<'a> Sampler<'a> {
    /// A sampler of the links of a setup.
    ///
    /// # Errors
    /// [`StudyError::Range`] for an interval that cannot be divided.
    pub(crate) fn new(
        setup: &Setup,
        sampling: Sampling,
        go_on: GoOn<'a>,
    ) -> Result<Self, StudyError> {
        let Sampling { every, from, .. } = sampling;
        if let Some(one) = every.filter(|one| one.as_nanos() < LOOKS) {
            return Err(StudyError::Range {
                what: "the interval of samples",
                value: format!("{} ns", one.as_nanos()),
                accepted: "8 ns or more",
            });
        }
        let links = setup.network.links.len() as u16;
        Ok(Self {
            names: LinkNames::new(setup),
            links,
            flows: (0..setup.flows.len())
                .filter(|&flow| setup.flows[flow].quic.is_none())
                .collect(),
            every: every.unwrap_or(SHORTEST),
            is_fixed: every.is_some(),
            from,
            due: from,
            begin: from,
            look: LOOKS,
            looks: 0,
            range: vec![NOT_OBSERVED; usize::from(links)],
            found: Samples::default(),
            end: setup.end,
            go_on,
            left: EVENTS_AT_A_TIME,
        })
    }

    /// Observes the world at each instant that is due up to `until`; no event occurs before that.
    ///
    /// # Errors
    /// [`StudyError::TooLong`]; [`StudyError::Interrupted`] when stopped.
    pub(crate) fn look<O: Observer>(
        &mut self,
        world: &World<O>,
        until: Instant,
    ) -> Result<(), StudyError> {
        while self.due <= until {
            if self.look == LOOKS {
                self.sample(world);
                self.check()?;
                self.begin = self.due;
                self.look = 0;
            } else {
                self.observe(world);
                self.look += 1;
            }
            self.due = self.begin + self.next_offset();
            self.ask()?;
        }
        Ok(())
    }

    /// From the beginning of the interval to its next observation, or to its end after the last one.
    fn next_offset(&mut self) -> Duration {
        if self.look == LOOKS {
            return self.every;
        }
        let step = self.every.as_nanos() / LOOKS;
        self.looks = self.looks.wrapping_add(1);
        let share = self.looks.wrapping_mul(GOLDEN) >> STEP_BITS;
        let within = (u128::from(step) * u128::from(share)) >> STEP_BITS;
        Duration::from_nanos(step * self.look + within as u64)
    }

    /// Adds what is at each link now to the means.
    fn observe<O: Observer>(&mut self, world: &World<O>) {
        for number in 0..self.links {
            let link = link_id(number);
            let packets = world.link_packets(link, self.due);
            let range = &mut self.range[link.index()];
            *range = (
                range.0.min(packets),
                range.1.max(packets),
                range.2 + packets,
            );
        }
    }

    /// Takes note of the lengths of the queues that packets have just entered, before and after that.
    pub(crate) fn note<O: Observer>(
        &mut self,
        world: &mut World<O>,
        now: Instant,
        tapping: impl Fn(&mut O) -> &mut Tapping,
    ) {
        while let Some(one) = tapping(world.watch().0).entries.pop() {
            if one.arrived == 0 {
                continue;
            }
            let range = &mut self.range[one.link.index()];
            let after = world.link_packets(one.link, now);
            let before = (after + one.dropped).saturating_sub(one.arrived);
            *range = (range.0.min(before), range.1.max(after), range.2);
        }
    }

    /// Takes a sample of the links and the senders now.
    fn sample<O: Observer>(&mut self, world: &World<O>) {
        let at = self.due;
        for number in 0..self.links {
            let link = link_id(number);
            let state = world.link_state(link, at);
            let range = &mut self.range[link.index()];
            let (least, most, sum) = std::mem::replace(range, NOT_OBSERVED);
            let is_first = at == self.from;
            self.found.links.push(LinkSample {
                at,
                link: self.names.of(link),
                number: link.index(),
                state,
                least: least.min(state.packets),
                most: most.max(state.packets),
                mean: if is_first {
                    state.packets as f64
                } else {
                    sum as f64 / LOOKS as f64
                },
            });
            let backlogs = &mut self.found.backlogs;
            let name = self.names.of(link);
            world.backlogs(link, &mut |flow, packets| {
                backlogs.push(BacklogSample {
                    at,
                    link: Arc::clone(&name),
                    number: link.index(),
                    flow: flow.map(FlowId::index),
                    packets,
                });
            });
        }
        let senders = self.flows.iter().zip(world.ends().senders());
        let rows = senders.filter_map(|(&flow, one)| SenderSample::of(at, flow, one));
        self.found.senders.extend(rows);
    }

    /// Checks from time to time whether to continue.
    ///
    /// # Errors
    /// [`StudyError::Interrupted`] when stopped.
    pub(crate) fn ask(&mut self) -> Result<(), StudyError> {
        self.left -= 1;
        if self.left == 0 {
            self.left = EVENTS_AT_A_TIME;
            if !(self.go_on)() {
                return Err(StudyError::Interrupted);
            }
        }
        Ok(())
    }

    /// Merges each two samples when there are too many.
    fn check(&mut self) -> Result<(), StudyError> {
        let found = &mut self.found;
        let (what, most, end) = ("samples", MOST_ROWS, self.end);
        if self.is_fixed {
            let rows = [found.links.len(), found.senders.len(), found.backlogs.len()];
            if rows.into_iter().any(|rows| rows > most) {
                return Err(StudyError::TooLong { what, most, end });
            }
            return Ok(());
        }
        let links = usize::from(self.links).max(1);
        if found.links.len() / links <= 2 * FEWEST {
            return Ok(());
        }
        self.every = self.every * 2;
        let every = self.every.as_nanos();
        let from = self.from;
        let is_kept = |at: Instant| at.since(from).as_nanos().is_multiple_of(every);
        // A removed sample passes its range to the next one.
        for place in 0..found.links.len() - links {
            if !is_kept(found.links[place].at) {
                let LinkSample {
                    least, most, mean, ..
                } = found.links[place];
                let next = &mut found.links[place + links];
                (next.least, next.most) = (next.least.min(least), next.most.max(most));
                next.mean = f64::midpoint(next.mean, mean);
            }
        }
        found.links.retain(|row| is_kept(row.at));
        found.senders.retain(|row| is_kept(row.at));
        found.backlogs.retain(|row| is_kept(row.at));
        Ok(())
    }

    /// The samples.
    pub(crate) fn into_samples(self) -> Samples {
        self.found
    }
}

/// The links and senders of a run at equal intervals, and the digest of the run. Without a given
/// interval there are between 4,096 and twice as many samples, but fewer in runs of less than half a
/// second. `go_on` is as for [`super::trace`].
///
/// # Errors
/// [`StudyError::Range`] for an interval below 8 ns; [`StudyError::TooLong`] when there are too many
/// samples; [`StudyError::Interrupted`] when stopped.
pub fn samples(
    setup: &Setup,
    sampling: Sampling,
    go_on: GoOn<'_>,
) -> Result<(Samples, String), StudyError> {
    let setup = &setup.until(sampling.until);
    let mut sampler = Sampler::new(setup, sampling, go_on)?;
    let mut playing = Playback::new(setup, Tapping::default())?;
    while let Some(next) = playing.next() {
        sampler.look(&playing.world, next.at())?;
        playing.process(next)?;
        sampler.note(&mut playing.world, playing.now, |(_, observed)| {
            observed.watching()
        });
        sampler.ask()?;
    }
    sampler.look(&playing.world, playing.now)?;
    let (digest, _) = playing.world.into_observer();
    Ok((sampler.into_samples(), digest.to_string()))
}
