//! The next event among a fixed set of sources.
//!
//! A world has a few busy sources (links) whose next event changes all the time, and many others that
//! rarely change: most timers are postponed before they expire, and at nodes inside the network few
//! packets need an event. The busy sources are compared one by one without a branch, which costs less
//! than keeping them sorted. The others are in a tree, and its first source is compared with the busy
//! ones.

use educe::Educe;

use crate::moment::{Moment, Scheduled};

/// When a source's next event is due, and when it was scheduled.
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

#[derive(Educe, Debug)]
#[educe(Clone)]
pub(crate) struct Agenda {
    /// Due times in nanoseconds: of the first of the other sources, then of the busy ones.
    due: Vec<u64>,
    others: Tree,
}

/// The number of a busy or of another source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Busy(usize),
    Other(usize),
}

impl Agenda {
    /// An agenda for this many sources of each kind, each numbered from 0.
    pub(crate) fn new(busy: usize, others: usize) -> Self {
        Self {
            due: vec![u64::MAX; busy + 1],
            others: Tree::new(others),
        }
    }

    /// Sets when a busy source is due, in nanoseconds.
    #[inline]
    pub(crate) fn set(&mut self, busy: usize, due: u64) {
        self.due[busy + 1] = due;
    }

    /// When one of the other sources is due.
    #[inline]
    pub(crate) fn other(&self, other: usize) -> &Key {
        &self.others.keys[other]
    }

    /// Sets when one of the other sources is due.
    pub(crate) fn set_other(&mut self, other: usize, key: Key) {
        self.others.set(other, key);
        self.due[0] = self.others.first.0;
    }

    /// The first event, and its instant in nanoseconds. Equal instants are ordered by keys; `key` returns
    /// those of busy sources. Equal keys are ordered: the other source numbered 0, then the busy ones by
    /// number, then the other sources.
    #[inline]
    pub(crate) fn first(&self, key: impl Fn(usize) -> Key) -> (Source, u64) {
        let (mut at, mut place, mut last) = (self.due[0], 0, 0);
        for (i, &due) in self.due.iter().enumerate().skip(1) {
            place = if due < at { i } else { place };
            last = if due <= at { i } else { last };
            at = at.min(due);
        }
        if place != last {
            place = self.first_by_key(at, key);
        }
        let first = match place.checked_sub(1) {
            Some(busy) => Source::Busy(busy),
            None => Source::Other(self.others.first.1),
        };
        (first, at)
    }

    #[cold]
    fn first_by_key(&self, at: u64, key: impl Fn(usize) -> Key) -> usize {
        let places = (0..self.due.len()).filter(|&place| self.due[place] == at);
        let (_, other) = self.others.first;
        let keyed = places.map(|place| match place.checked_sub(1) {
            Some(busy) => (key(busy), place, place),
            None if other == 0 => (self.others.keys[other], 0, place),
            None => (self.others.keys[other], usize::MAX, place),
        });
        keyed.min().map_or(0, |(_, _, place)| place)
    }
}

/// Sources or nodes per node of the tree.
const WIDTH: usize = 8;

/// Some sources with their due times in nanoseconds: on the lowest level all of them, above it the first
/// of each node.
#[derive(Clone, Copy, Debug)]
struct Node {
    due: [u64; WIDTH],
    source: [usize; WIDTH],
    /// Which of them comes first.
    first: usize,
}

/// A tournament tree over sources. If a changed source becomes or stops being the first of its node, the
/// node is compared again, level by level. On a tie the lower number is first.
#[derive(Educe, Debug)]
#[educe(Clone)]
struct Tree {
    keys: Vec<Key>,
    /// The first level has the sources, the last has one node.
    levels: Vec<Vec<Node>>,
    /// The first source of all, and its due time in nanoseconds.
    first: (u64, usize),
}

impl Tree {
    fn new(sources: usize) -> Self {
        let nothing = Node {
            due: [u64::MAX; WIDTH],
            source: [0; WIDTH],
            first: 0,
        };
        let mut levels = Vec::new();
        let mut nodes = sources;
        loop {
            nodes = nodes.div_ceil(WIDTH);
            levels.push(vec![nothing; nodes.max(1)]);
            if nodes <= 1 {
                break;
            }
        }
        Self {
            keys: vec![Key::NEVER; sources],
            levels,
            first: (u64::MAX, 0),
        }
    }

    fn set(&mut self, source: usize, key: Key) {
        self.keys[source] = key;
        let mut first = (key.due.at.as_nanos(), source);
        let mut child = source;
        for level in &mut self.levels {
            let (node, place) = (&mut level[child / WIDTH], child % WIDTH);
            if !node.set(place, first, &self.keys) {
                return;
            }
            first = (node.due[node.first], node.source[node.first]);
            child /= WIDTH;
        }
        self.first = first;
    }
}

impl Node {
    /// Sets the due time at a place; returns whether the first of the node may have changed.
    #[inline]
    fn set(&mut self, place: usize, (due, source): (u64, usize), keys: &[Key]) -> bool {
        let earliest = self.due[self.first];
        self.due[place] = due;
        self.source[place] = source;
        if place != self.first && due > earliest {
            return false;
        }
        self.first = if due < earliest {
            place
        } else {
            self.first_of_all(keys)
        };
        true
    }

    #[inline]
    fn first_of_all(&self, keys: &[Key]) -> usize {
        let (mut at, mut first, mut last) = (self.due[0], 0, 0);
        for (i, &due) in self.due.iter().enumerate().skip(1) {
            first = if due < at { i } else { first };
            last = if due <= at { i } else { last };
            at = at.min(due);
        }
        if first != last && at != u64::MAX {
            first = first_of_tied(self, at, keys);
        }
        first
    }
}

#[cold]
fn first_of_tied(node: &Node, at: u64, keys: &[Key]) -> usize {
    let tied = (0..WIDTH).filter(|&i| node.due[i] == at);
    let first = tied.min_by_key(|&i| (keys[node.source[i]], node.source[i]));
    first.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use midflight_units::Instant;

    use super::*;
    use crate::moment::Clock;

    fn key(at: u64, scheduled: u64) -> Key {
        let written = |ns| Clock::Seconds.written(Instant::from_nanos(ns));
        Key {
            due: written(at),
            scheduled: Scheduled::alone(written(scheduled).fine),
        }
    }

    #[test]
    fn order_is_time_then_schedule_then_source() {
        for (busy, others) in [(2, 5), (20, 300)] {
            let mut agenda = Agenda::new(busy, others);
            let mut keys = vec![Key::NEVER; busy];
            let first = |agenda: &Agenda, keys: &[Key]| agenda.first(|source| keys[source]);
            let set = |agenda: &mut Agenda, keys: &mut [Key], source: usize, key: Key| {
                keys[source] = key;
                agenda.set(source, key.due.at.as_nanos());
            };
            let last = others - 1;
            assert_eq!(first(&agenda, &keys).1, u64::MAX);
            agenda.set_other(last, key(10, 1));
            agenda.set_other(2, key(10, 2));
            agenda.set_other(3, key(10, 1));
            assert_eq!(first(&agenda, &keys), (Source::Other(3), 10));
            agenda.set_other(3, Key::NEVER);
            assert_eq!(first(&agenda, &keys), (Source::Other(last), 10));
            set(&mut agenda, &mut keys, busy - 1, key(10, 2));
            assert_eq!(first(&agenda, &keys), (Source::Other(last), 10));
            set(&mut agenda, &mut keys, busy - 1, key(10, 1));
            assert_eq!(first(&agenda, &keys), (Source::Busy(busy - 1), 10));
            set(&mut agenda, &mut keys, 0, key(10, 1));
            assert_eq!(first(&agenda, &keys), (Source::Busy(0), 10));
            set(&mut agenda, &mut keys, busy - 1, key(9, 9));
            assert_eq!(first(&agenda, &keys), (Source::Busy(busy - 1), 9));
        }
    }
}
