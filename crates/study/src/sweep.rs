//! A handoff at many instants with many schemes. Runs that are equal until the
//! handoff share one past: the world runs once, and at each instant a copy of
//! it takes the handoff, once for every scheme.

use midflight_control::policy::{Policy, POLICIES};
use midflight_sim::{Digest, World};
use midflight_tcp::{profile, Profile, SETTINGS};
use midflight_units::{Duration, Instant};
use rayon::prelude::*;

use crate::error::{nearest, StudyError};
use crate::handoff::Handoff;
use crate::metrics::{HandoffMetrics, HandoffRow};
use crate::scheme::Scheme;

/// Worlds held at once while a sweep forks.
const BATCH: usize = 64;

/// Most threads that a sweep starts.
const MOST_THREADS: usize = 256;

/// Settings by name, of the profile or of policies.
pub type Knobs = Vec<(String, String)>;

/// What to run: one row for every scheme and instant.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The handoff, without its instant.
    pub handoff: Handoff,
    /// When the handoff starts, one run each.
    pub at: Vec<Instant>,
    /// Names of schemes.
    pub schemes: Vec<String>,
    /// Name of the profile.
    pub profile: String,
    /// Settings that differ from the profile's and the policies' defaults.
    pub knobs: Knobs,
    /// Segments whose transfer is timed.
    pub packets: u64,
    /// Further counts of segments to time.
    pub extra: Vec<u64>,
    /// Runs end here, finished or not.
    pub end: Instant,
    /// Share the past of runs; off runs each from the start, with equal results.
    pub fork: bool,
    /// Threads; 0 for one on each processor.
    pub threads: usize,
}

pub(crate) type Watched = World<(Digest, HandoffMetrics)>;

/// The profile of this name with the knobs that concern it, after checking
/// that every knob exists and that its value is accepted.
pub(crate) fn configure(name: &str, knobs: &Knobs) -> Result<Profile, StudyError> {
    let mut chosen = profile(name)?;
    let known = || {
        SETTINGS
            .iter()
            .map(|k| k.name)
            .chain(POLICIES.iter().flat_map(|p| p.knobs.iter().map(|k| k.name)))
    };
    for (knob, value) in knobs {
        if SETTINGS.iter().any(|k| k.name == knob) {
            chosen.set(knob, value)?;
            continue;
        }
        // The value is checked even if no scheme of this run has the policy.
        let owner = POLICIES
            .iter()
            .find(|p| p.knobs.iter().any(|k| k.name == knob));
        match owner.and_then(|p| Policy::named(p.name)) {
            Some(mut policy) => policy.set_knob(knob, value)?,
            None => {
                return Err(StudyError::UnknownKnob {
                    name: knob.clone(),
                    near: nearest(knob, known()),
                    known: known().collect::<Vec<_>>().join(", "),
                })
            }
        }
    }
    Ok(chosen)
}

/// Refuses handoffs that no run can hold.
pub(crate) fn check_handoff(
    handoff: &Handoff,
    at: Instant,
    end: Instant,
) -> Result<(), StudyError> {
    let complete = handoff.make(at) + handoff.notice_delay.unwrap_or(Duration::ZERO);
    if complete >= end {
        return Err(StudyError::AfterEnd { at, complete, end });
    }
    Ok(())
}

impl Sweep {
    fn check(&self) -> Result<(), StudyError> {
        if self.schemes.is_empty() {
            return Err(StudyError::Nothing { what: "scheme" });
        }
        if self.at.is_empty() {
            return Err(StudyError::Nothing {
                what: "handoff instant",
            });
        }
        for &n in std::iter::once(&self.packets).chain(&self.extra) {
            if !(1..=1_000_000_000).contains(&n) {
                return Err(StudyError::Range {
                    what: "the number of packets",
                    value: n.to_string(),
                    accepted: "1 to 1000000000",
                });
            }
        }
        self.at
            .iter()
            .try_for_each(|&at| check_handoff(&self.handoff, at, self.end))
    }

    /// Runs everything. Rows come in the order scheme, instant, as given.
    ///
    /// # Errors
    /// [`StudyError`] for input that is not accepted.
    pub fn run(&self) -> Result<Vec<HandoffRow>, StudyError> {
        self.run_with(|_, _| true)
    }

    /// As [`Self::run`]; `go_on` is told now and then how many of how many runs
    /// are done, and may answer that it is enough.
    ///
    /// # Errors
    /// [`StudyError::Interrupted`] when told to stop, or as [`Self::run`].
    pub fn run_with(
        &self,
        go_on: impl FnMut(usize, usize) -> bool + Send,
    ) -> Result<Vec<HandoffRow>, StudyError> {
        self.check()?;
        let profile = configure(&self.profile, &self.knobs)?;
        let schemes: Vec<Scheme> = self
            .schemes
            .iter()
            .map(|name| Scheme::named(name))
            .collect::<Result<_, _>>()?;
        for scheme in &schemes {
            scheme.build(&self.knobs)?;
        }
        if self.threads == 0 {
            return self.run_all(&profile, &schemes, go_on);
        }
        // More threads than runs would only wait.
        let threads = self.threads.min(MOST_THREADS).min(self.at.len());
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()?;
        pool.install(|| self.run_all(&profile, &schemes, go_on))
    }

    fn run_all(
        &self,
        profile: &Profile,
        schemes: &[Scheme],
        mut go_on: impl FnMut(usize, usize) -> bool,
    ) -> Result<Vec<HandoffRow>, StudyError> {
        let mut finished = 0;
        let mut order: Vec<usize> = (0..self.at.len()).collect();
        order.sort_by_key(|&i| self.at[i]);
        let mut rows = vec![HandoffRow::default(); schemes.len() * self.at.len()];
        let start = || {
            self.handoff
                .world(profile, Vec::new(), <(Digest, HandoffMetrics)>::default())
        };
        let mut past = start()?;
        for batch in order.chunks(BATCH) {
            let mut worlds: Vec<(usize, Watched)> = Vec::with_capacity(batch.len());
            for &i in batch {
                if !self.fork {
                    past = start()?;
                }
                past.hold_routes_until(self.at[i]);
                past.run_before(self.at[i])?;
                worlds.push((i, past.clone()));
            }
            let done: Vec<(usize, HandoffRow)> = worlds
                .par_iter()
                .flat_map_iter(|(i, world)| {
                    schemes.iter().enumerate().map(move |(s, scheme)| {
                        let row = self.finish(world.clone(), self.at[*i], scheme)?;
                        Ok::<_, StudyError>((s * self.at.len() + i, row))
                    })
                })
                .collect::<Result<_, _>>()?;
            finished += done.len();
            for (place, row) in done {
                rows[place] = row;
            }
            if !go_on(finished, rows.len()) {
                return Err(StudyError::Interrupted);
            }
        }
        Ok(rows)
    }

    /// The handoff and what follows, for a world that stands right before it.
    fn finish(
        &self,
        mut world: Watched,
        at: Instant,
        scheme: &Scheme,
    ) -> Result<HandoffRow, StudyError> {
        let flow = Watched::flow_id(0);
        world
            .sender_mut(flow)
            .set_policies(scheme.build(&self.knobs)?);
        let make = self.handoff.make(at);
        let ((_, metrics), sender) = world.watch(flow);
        metrics.begin(make, self.packets, &self.extra, sender, at);
        self.handoff.plan(&mut world, at);
        world.hold_routes_until(Instant::NEVER);
        loop {
            let next = world.next_event();
            if next.at() >= self.end || world.observer().1.finished(next.at()) {
                break;
            }
            world.process(next)?;
        }
        let (digest, metrics) = world.observer().clone();
        let mut row = metrics.into_row();
        row.digest = digest.to_string();
        Ok(row)
    }
}
