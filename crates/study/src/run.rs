//! Runs of many setups with shared prefixes.
//!
//! Setups with the same beginning are run as one world until the first instant at which they differ; there each
//! continues in a copy, recursively. Two setups count as equal while their timelines and everything that these use
//! are equal. So a policy matters from the first notice on, a link from the first route to it, and the sender of a
//! flow from its opening.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use educe::Educe;
use midflight_sim::{Digest, Event, FlowId, LinkId, Observer, World};
use midflight_units::Instant;
use rayon::prelude::*;

use crate::error::StudyError;
use crate::execution::{in_parallel, Execution, Progress};
use crate::measure::Measure;
use crate::setup::{common_beginning, Open, Setup, Step, Turn};

/// Maximum number of copies of a world that are made before they continue.
const MOST_COPIES: usize = 16;

/// A measure together with the digest of its run.
#[derive(Educe, Debug)]
#[educe(Clone)]
pub(crate) struct Measuring<M> {
    pub(crate) digest: Digest,
    pub(crate) measure: M,
}

impl<M> Measuring<M> {
    pub(crate) fn new(measure: M) -> Self {
        Self {
            digest: Digest::default(),
            measure,
        }
    }
}

impl<M: Observer> Observer for Measuring<M> {
    const DETAILED: bool = M::DETAILED;

    fn taps(&self, link: LinkId) -> bool {
        self.measure.taps(link)
    }

    #[inline(always)]
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        self.digest.record(now, flow, event);
        self.measure.record(now, flow, event);
    }
}

/// Setups that are still equal, up to an entry of their timelines.
struct Group<'a> {
    /// Their indices among all setups.
    members: Vec<&'a (usize, &'a Setup)>,
    next: usize,
    open: Open,
}

/// Data shared by all groups.
struct Runner<'a, M> {
    progress: &'a Progress<'a>,
    /// Finished worlds, whose memory is reused.
    spare: Mutex<Vec<Run<M>>>,
}

/// A world and its measure: large, and passed from one call to the next.
type Run<M> = Box<World<Measuring<M>>>;

type Placed<M> = Vec<(usize, <M as Measure>::Rows)>;

/// Runs setups on the threads of the current pool; returns the measurements of each. Without forking each is run
/// from its start, with the same result.
///
/// # Errors
/// The error of the world; [`StudyError::Interrupted`] when stopped.
pub(crate) fn run_setups<M: Measure>(
    setups: &[Setup],
    fork: bool,
    progress: &Progress,
) -> Result<Vec<M::Rows>, StudyError> {
    let runner = Runner::<M> {
        progress,
        spare: Mutex::default(),
    };
    let placed: Vec<(usize, &Setup)> = setups.iter().enumerate().collect();
    let rows = if fork && setups.len() > 1 {
        let pasts = pasts(&placed);
        let all = pasts.into_par_iter().with_max_len(1);
        let all = all.map(|members| runner.begin(members));
        all.collect::<Result<Vec<_>, _>>()?
    } else {
        let all = placed.par_iter().with_max_len(1);
        let all = all.map(|member| runner.begin(vec![member]));
        all.collect::<Result<Vec<_>, _>>()?
    };
    let mut rows: Vec<(usize, M::Rows)> = rows.into_iter().flatten().collect();
    rows.sort_by_key(|(place, _)| *place);
    Ok(rows.into_iter().map(|(_, rows)| rows).collect())
}

/// Runs several items in parallel, each with runs of these numbers; returns the measurements of each, in that
/// order. Runs with the same number share their common prefix. `setup` returns the run of an item, and may reuse
/// values of another item's run; `go_on` is as for [`crate::run_sweeps`].
///
/// # Errors
/// As [`run_setups`].
pub(crate) fn run_numbered<M: Measure>(
    runs: &[&[u64]],
    setup: impl Fn(usize, u64, Option<(usize, &Setup)>) -> Result<Setup, StudyError> + Sync,
    how: Execution,
    go_on: impl FnMut(usize, usize) -> bool,
) -> Result<Vec<Vec<M::Rows>>, StudyError> {
    let of_item = |(item, runs): (usize, &&[u64])| {
        let places = runs.iter().enumerate();
        let each = places.map(move |(place, &number)| (number, item, place));
        each.collect::<Vec<_>>()
    };
    let mut jobs: Vec<(u64, usize, usize)> = runs.iter().enumerate().flat_map(of_item).collect();
    jobs.sort_unstable();
    let mut tables: Vec<Vec<Option<M::Rows>>> = Vec::new();
    tables.extend(runs.iter().map(|runs| runs.iter().map(|_| None).collect()));
    if jobs.is_empty() {
        return Ok(runs.iter().map(|_| Vec::new()).collect());
    }
    let alike: Vec<&[(u64, usize, usize)]> = jobs.chunk_by(|a, b| a.0 == b.0).collect();
    let done: Vec<Vec<M::Rows>> = in_parallel(jobs.len(), how.threads, go_on, |progress| {
        let each = alike.par_iter().with_max_len(1).map(|jobs| {
            let (number, first, _) = jobs[0];
            let begun = setup(first, number, None)?;
            let others = jobs[1..].par_iter();
            let others = others.map(|&(_, item, _)| setup(item, number, Some((first, &begun))));
            let mut setups: Vec<Setup> = others.collect::<Result<_, _>>()?;
            setups.insert(0, begun);
            run_setups::<M>(&setups, how.fork, progress)
        });
        each.collect::<Result<_, StudyError>>()
    })?;
    for (&(_, item, place), rows) in jobs.iter().zip(done.into_iter().flatten()) {
        tables[item][place] = Some(rows);
    }
    let whole = |table: Vec<Option<M::Rows>>| table.into_iter().flatten().collect();
    Ok(tables.into_iter().map(whole).collect())
}

/// The number of different prefixes of setups.
pub(crate) fn count_pasts(setups: &[Setup]) -> usize {
    let placed: Vec<(usize, &Setup)> = setups.iter().enumerate().collect();
    pasts(&placed).len()
}

/// Groups setups by their prefix.
fn pasts<'a>(all: &'a [(usize, &'a Setup)]) -> Vec<Vec<&'a (usize, &'a Setup)>> {
    let mut pasts: Vec<(Open, Vec<&(usize, &Setup)>)> = Vec::new();
    let mut known: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    // The setups of a sweep share most of it, in memory too.
    let mut last = None;
    for member in all {
        let setup = member.1;
        if setup.has_stacks() {
            // It runs alone, from its start.
            pasts.push((setup.open(), vec![member]));
            continue;
        }
        if let Some(place) = last {
            let (_, past): &mut (Open, Vec<&(usize, &Setup)>) = &mut pasts[place];
            if past.last().is_some_and(|one| one.1.has_parts_of(setup)) {
                past.push(member);
                continue;
            }
        }
        let open = setup.open();
        let alike = known.entry(setup.trait_of_beginning(&open)).or_default();
        let is_it = |place: &&usize| {
            let (others, past) = &pasts[**place];
            setup.begins_as(&open, past[0].1, others)
        };
        let place = alike.iter().find(is_it).copied().unwrap_or(pasts.len());
        if place == pasts.len() {
            alike.push(place);
            pasts.push((open, Vec::new()));
        }
        pasts[place].1.push(member);
        last = Some(place);
    }
    pasts.into_iter().map(|(_, past)| past).collect()
}

/// Advances a world to an instant; returns whether the measure was complete before.
fn advance<M: Measure>(
    world: &mut World<Measuring<M>>,
    until: Instant,
    progress: &Progress,
) -> Result<bool, StudyError> {
    progress.advance(world, until, |watch, next| watch.measure.is_done(next))?;
    Ok(is_done(world, until))
}

/// Whether the measure of a world that was advanced to this instant is complete.
fn is_done<M: Measure>(world: &World<Measuring<M>>, until: Instant) -> bool {
    let next = world.next_event().at().min(until);
    world.observer().measure.is_done(next)
}

impl<M: Measure> Runner<'_, M> {
    fn spare(&self) -> std::sync::MutexGuard<'_, Vec<Run<M>>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn copy(&self, world: &Run<M>) -> Run<M> {
        let spare = self.spare().pop();
        match spare {
            Some(mut spare) => {
                World::clone_from(&mut spare, world);
                spare
            }
            None => world.clone(),
        }
    }

    /// Runs setups with the same prefix.
    fn begin(&self, members: Vec<&(usize, &Setup)>) -> Result<Placed<M>, StudyError> {
        // A short run is over before the first check.
        self.progress.go_on()?;
        let mut rows = Vec::with_capacity(members.len());
        let Some(&&(place, first)) = members.first() else {
            return Ok(rows);
        };
        let observer = Measuring::new(M::new(first));
        if members.len() == 1 {
            let mut world = first.world(observer)?;
            self.finish(&mut world, first, 0)?;
            rows.push((place, rows_of(&mut world, first)));
            self.progress.done(1);
            return Ok(rows);
        }
        let all = members.iter().map(|member| member.1);
        let (world, open) = common_beginning(first, all, observer)?;
        let group = Group {
            members,
            next: 0,
            open,
        };
        self.go_on(Box::new(world), group, &mut rows)?;
        Ok(rows)
    }

    /// Runs a group to its end, in a world that stands right before entry `next`.
    fn go_on(
        &self,
        mut world: Run<M>,
        mut group: Group<'_>,
        rows: &mut Placed<M>,
    ) -> Result<(), StudyError> {
        self.progress.go_on()?;
        // This matters only if it ends the run; then all members have the same number.
        world.watch().0.measure.expect(group.members[0].1.makes());
        let mut reached = Instant::ZERO;
        while let [first, others @ ..] = group.members.as_slice() {
            let setup = first.1;
            if others.is_empty() {
                setup.settle_all(&mut world, &mut group.open)?;
                setup.plan(&mut world, group.next)?;
                self.finish(&mut world, setup, group.next)?;
                break;
            }
            let turn = setup.turn(group.next, &group.open);
            let alike = |other: &&(usize, &Setup)| turn.is_of(other.1, group.next, &group.open);
            if !others.iter().all(alike) {
                return self.part(world, group, rows);
            }
            let due = setup.due(group.next);
            // Entries of one instant follow each other directly.
            let enough = if due == reached {
                is_done(&world, due)
            } else {
                reached = due;
                world.hold_routes_until(due);
                advance(&mut world, due, self.progress)?
            };
            if enough || setup.entry(group.next).is_none() {
                let (observer, ends) = world.watch();
                observer.measure.end(due, ends);
                break;
            }
            let touched = turn.touched;
            setup.enter(&mut world, &touched, &mut group)?;
        }
        let Some((last, others)) = group.members.split_last() else {
            return Ok(());
        };
        // Setups that never differ are run once.
        for (place, setup) in others.iter().copied() {
            let mut watch = world.observer().clone();
            rows.push((*place, watch.measure.rows(setup, watch.digest)));
        }
        rows.push((last.0, rows_of(&mut world, last.1)));
        self.progress.done(group.members.len());
        self.spare().push(world);
        Ok(())
    }

    /// The members of a group differ from here on.
    fn part(
        &self,
        world: Run<M>,
        group: Group<'_>,
        rows: &mut Placed<M>,
    ) -> Result<(), StudyError> {
        let Group {
            mut members,
            next,
            open,
        } = group;
        members.sort_by_key(|(place, setup)| (setup.due(next), *place));
        // Members that stay together, by the time at which they diverge from the others.
        let mut ways: Vec<(Turn<'_>, Vec<&(usize, &Setup)>)> = Vec::new();
        let mut first_due = 0;
        for member in members {
            let due = member.1.due(next);
            while ways
                .get(first_due)
                .is_some_and(|(_, way)| way[0].1.due(next) < due)
            {
                first_due += 1;
            }
            let alike = |(turn, _): &&mut (Turn<'_>, _)| turn.is_of(member.1, next, &open);
            match ways[first_due..].iter_mut().find(alike) {
                Some((_, way)) => way.push(member),
                None => ways.push((member.1.turn(next, &open), vec![member])),
            }
        }
        let mut ways: Vec<_> = ways.into_iter().map(|(_, members)| members).collect();
        let mut trunk = Some(world);
        while !ways.is_empty() {
            let later = ways.split_off(ways.len().min(MOST_COPIES));
            let mut copies = Vec::with_capacity(ways.len());
            let mut left = ways.len() + later.len();
            for members in std::mem::replace(&mut ways, later) {
                let Some(world) = &mut trunk else { break };
                let due = members[0].1.due(next);
                world.hold_routes_until(due);
                // A world whose measure is complete does not change.
                advance(world, due, self.progress)?;
                let group = Group {
                    members,
                    next,
                    open: open.clone(),
                };
                left -= 1;
                // The last branch needs no copy.
                let copy = match left {
                    0 => trunk.take(),
                    _ => Some(self.copy(world)),
                };
                copies.extend(copy.map(|world| (world, group)));
            }
            let each = copies
                .into_par_iter()
                .with_max_len(1)
                .map(|(world, group)| {
                    let mut rows = Vec::new();
                    self.go_on(world, group, &mut rows)?;
                    Ok::<_, StudyError>(rows)
                });
            let each: Vec<Placed<M>> = each.collect::<Result<_, _>>()?;
            rows.extend(each.into_iter().flatten());
        }
        Ok(())
    }

    /// Runs a setup whose timeline is scheduled to its end, with the marks from entry `next` on.
    fn finish(
        &self,
        world: &mut World<Measuring<M>>,
        setup: &Setup,
        next: usize,
    ) -> Result<(), StudyError> {
        world.watch().0.measure.expect(setup.makes());
        let mut until = setup.end;
        for (at, step) in setup.timeline[next..]
            .iter()
            .take_while(|(at, _)| *at < setup.end)
        {
            let Step::Mark(mark) = step else { continue };
            if advance(world, *at, self.progress)? {
                until = *at;
                break;
            }
            let (watch, ends) = world.watch();
            watch.measure.mark(mark, *at, ends);
        }
        advance(world, until, self.progress)?;
        let (watch, ends) = world.watch();
        watch.measure.end(until, ends);
        Ok(())
    }
}

/// The measurements of a finished run.
fn rows_of<M: Measure>(world: &mut World<Measuring<M>>, setup: &Setup) -> M::Rows {
    let watch = world.watch().0;
    watch.measure.rows(setup, watch.digest)
}

impl Setup {
    /// Applies the next entry of a group's timelines, now or when its world continues.
    fn enter<M: Measure>(
        &self,
        world: &mut World<Measuring<M>>,
        touched: &[usize],
        group: &mut Group<'_>,
    ) -> Result<(), StudyError> {
        let (at, step) = self.timeline[group.next];
        self.settle(world, &step, touched, &mut group.open)?;
        match step {
            Step::Act(action) => world.schedule(at, action)?,
            Step::Mark(mark) => {
                let (observer, ends) = world.watch();
                observer.measure.mark(&mark, at, ends);
            }
        }
        group.next += 1;
        Ok(())
    }
}
