//! The next event among a fixed set of sources.
//!
//! A world has few sources that change all the time (its links) and many that
//! hardly do (timers, which mostly move back before they are due). The first
//! are compared one by one, which costs less than keeping them in order; the
//! timers are in a tree and count as one. Ties are rare and are settled by the
//! full key, then by the number of the source.

use crate::moment::{Moment, Scheduled};

/// When a source's next event is due, and when that was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) due: Moment,
    pub(crate) scheduled: Scheduled,
}

impl Key {
    pub(crate) const NEVER: Self = Self {
        due: Moment::NEVER,
        scheduled: Scheduled::NEVER,
    };
}

#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    /// Instants of the busy sources in nanoseconds, and last of the earliest timer.
    busy: Vec<u64>,
    keys: Vec<Key>,
    timers: Timers,
}

impl Agenda {
    /// An agenda of `busy` sources, numbered from 0, and of `timers` numbered from there on.
    pub(crate) fn new(busy: usize, timers: usize) -> Self {
        Self {
            busy: vec![u64::MAX; busy + 1],
            keys: vec![Key::NEVER; busy],
            timers: Timers::new(timers),
        }
    }

    pub(crate) fn set(&mut self, source: usize, key: Key) {
        self.keys[source] = key;
        self.busy[source] = key.due.at.as_nanos();
    }

    pub(crate) fn timer(&self, timer: usize) -> Key {
        self.timers.keys[timer]
    }

    pub(crate) fn set_timer(&mut self, timer: usize, key: Key) {
        let earliest = self.timers.set(timer, key);
        self.busy[self.keys.len()] = earliest;
    }

    /// The source whose event comes first, and its instant in nanoseconds.
    #[inline]
    pub(crate) fn first(&self) -> (usize, u64) {
        let mut at = u64::MAX;
        let mut first = 0;
        for (source, &due) in self.busy.iter().enumerate() {
            if due < at {
                at = due;
                first = source;
            }
        }
        let tied = self.busy.iter().filter(|&&due| due == at).count() > 1;
        if tied || first == self.keys.len() {
            first = self.first_by_key(at);
        }
        (first, at)
    }

    /// The key of a source that [`Self::first`] named.
    #[inline]
    pub(crate) fn key(&self, source: usize) -> Key {
        match self.keys.get(source) {
            Some(&key) => key,
            None => self.timers.keys[source - self.keys.len()],
        }
    }

    #[cold]
    fn first_by_key(&self, at: u64) -> usize {
        let busy = (0..self.keys.len()).filter(|&s| self.busy[s] == at);
        let timer = self.timers.first_at(at).map(|t| t + self.keys.len());
        // A timer's number is higher than any other, so it comes last among equals.
        busy.chain(timer).min_by_key(|&s| self.key(s)).unwrap_or(0)
    }
}

const WIDTH: usize = 16;

/// Sixteen instants in nanoseconds: of timers on the lowest level, of the
/// earliest in each node below on the others.
type Node = [u64; WIDTH];

/// The earliest instant of a node, in four lanes that do not wait for each other.
fn earliest(node: &Node) -> u64 {
    let lane = |i: usize| node[i].min(node[i + 4]).min(node[i + 8].min(node[i + 12]));
    lane(0).min(lane(1)).min(lane(2).min(lane(3)))
}

/// A tree with sixteen children a node: setting a key looks at one node a level.
#[derive(Clone, Debug)]
struct Timers {
    keys: Vec<Key>,
    /// The first level is over the timers; the last one has a single node.
    levels: Vec<Vec<Node>>,
}

impl Timers {
    fn new(timers: usize) -> Self {
        let mut levels = Vec::new();
        let mut width = timers;
        loop {
            width = width.div_ceil(WIDTH).max(1);
            levels.push(vec![[u64::MAX; WIDTH]; width]);
            if width == 1 {
                break;
            }
        }
        Self {
            keys: vec![Key::NEVER; timers],
            levels,
        }
    }

    /// Sets a timer; returns the instant of the earliest one.
    fn set(&mut self, timer: usize, key: Key) -> u64 {
        self.keys[timer] = key;
        let mut at = key.due.at.as_nanos();
        let mut child = timer;
        for level in &mut self.levels {
            let node = &mut level[child / WIDTH];
            node[child % WIDTH] = at;
            at = earliest(node);
            child /= WIDTH;
        }
        at
    }

    /// The timer due at `at` with the lowest key, if there is one.
    fn first_at(&self, at: u64) -> Option<usize> {
        self.first_under(at, 0, self.levels.len() - 1)
    }

    fn first_under(&self, at: u64, index: usize, level: usize) -> Option<usize> {
        let node = self.levels[level].get(index)?;
        let due = (0..WIDTH).filter(|&i| node[i] == at);
        let children = due.map(|i| index * WIDTH + i);
        let first = |child: usize| match level.checked_sub(1) {
            None => (child < self.keys.len()).then_some(child),
            Some(down) => self.first_under(at, child, down),
        };
        children.filter_map(first).min_by_key(|&t| self.keys[t])
    }
}

#[cfg(test)]
mod tests {
    use midflight_units::Instant;

    use super::*;

    fn key(at: u64, scheduled: u64) -> Key {
        let written = |ns| Moment::written(Instant::from_nanos(ns));
        Key {
            due: written(at),
            scheduled: Scheduled::alone(written(scheduled).shadow),
        }
    }

    #[test]
    fn order_is_time_then_schedule_then_source() {
        for timers in [5, 300] {
            let far = timers - 1;
            let mut agenda = Agenda::new(2, timers);
            let first = |agenda: &Agenda| {
                let (source, at) = agenda.first();
                (source, at, agenda.key(source))
            };
            assert_eq!(agenda.first().1, u64::MAX);
            agenda.set_timer(far, key(10, 1));
            agenda.set_timer(2, key(10, 2));
            agenda.set_timer(3, key(10, 1));
            assert_eq!(first(&agenda), (2 + 3, 10, key(10, 1)));
            agenda.set_timer(3, Key::NEVER);
            assert_eq!(first(&agenda), (2 + far, 10, key(10, 1)));
            agenda.set(1, key(10, 1));
            assert_eq!(first(&agenda).0, 1);
            agenda.set(0, key(10, 0));
            assert_eq!(first(&agenda).0, 0);
            agenda.set(0, key(9, 9));
            assert_eq!(first(&agenda), (0, 9, key(9, 9)));
        }
    }
}
