//! The next event among a fixed set of sources.
//!
//! A knockout tournament over the sources' keys: when a source changes, it
//! plays one match a level again, and the winner is always known. A world has
//! few sources that change all the time (its links) and many that hardly do
//! (timers, which mostly move back before they are due), so timers have a
//! tournament of their own and send its winner to the first.

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
    /// The busy sources, and last the earliest timer.
    busy: Tournament,
    timers: Tournament,
}

impl Agenda {
    /// An agenda of `busy` sources, numbered from 0, and of `timers` numbered from there on.
    pub(crate) fn new(busy: usize, timers: usize) -> Self {
        Self {
            busy: Tournament::new(busy + 1),
            timers: Tournament::new(timers),
        }
    }

    #[inline]
    pub(crate) fn set(&mut self, source: usize, key: Key) {
        self.busy.set(source, key);
    }

    #[inline]
    pub(crate) fn timer(&self, timer: usize) -> &Key {
        &self.timers.keys[timer]
    }

    pub(crate) fn set_timer(&mut self, timer: usize, key: Key) {
        self.timers.set(timer, key);
        let earliest = self.timers.keys[self.timers.winner().source];
        self.busy.set(self.busy.keys.len() - 1, earliest);
    }

    /// The source whose event comes first, and its instant in nanoseconds. A
    /// tie of the full key goes to the lower number.
    #[inline]
    pub(crate) fn first(&self) -> (usize, u64) {
        let Entry { due, source } = self.busy.winner();
        let last = self.busy.keys.len() - 1;
        if source == last {
            (last + self.timers.winner().source, due)
        } else {
            (source, due)
        }
    }

    /// The key of a source that [`Self::first`] named.
    #[inline]
    pub(crate) fn first_key(&self) -> &Key {
        &self.busy.keys[self.busy.winner().source]
    }
}

/// A source and its instant in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Entry {
    due: u64,
    source: usize,
}

#[derive(Clone, Debug)]
struct Tournament {
    keys: Vec<Key>,
    /// The winner at 1, of the matches below each at `2i` and `2i + 1`; the
    /// sources themselves in the second half.
    matches: Vec<Entry>,
}

impl Tournament {
    fn new(sources: usize) -> Self {
        let leaves = sources.max(2).next_power_of_two();
        let mut matches = vec![Entry { due: u64::MAX, source: 0 }; 2 * leaves];
        for (source, leaf) in matches[leaves..].iter_mut().enumerate() {
            // Places to spare never win.
            leaf.source = source.min(sources.saturating_sub(1));
        }
        Self {
            keys: vec![Key::NEVER; sources],
            matches,
        }
    }

    #[inline]
    fn winner(&self) -> Entry {
        self.matches[1]
    }

    #[inline]
    fn set(&mut self, source: usize, key: Key) {
        self.keys[source] = key;
        let mut place = self.matches.len() / 2 + source;
        let mut winner = Entry {
            due: key.due.at.as_nanos(),
            source,
        };
        self.matches[place] = winner;
        while place > 1 {
            let rival = self.matches[place ^ 1];
            let loses = rival.due < winner.due
                || (rival.due == winner.due && self.wins_tie(rival.source, winner.source));
            winner = if loses { rival } else { winner };
            place /= 2;
            self.matches[place] = winner;
        }
    }

    #[cold]
    fn wins_tie(&self, a: usize, b: usize) -> bool {
        (self.keys[a], a) < (self.keys[b], b)
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
                (source, at, *agenda.first_key())
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
