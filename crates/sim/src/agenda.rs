//! The next event among a fixed set of sources: a winner tree. Setting a
//! source's key costs one path to the root; no allocation after construction.

use midflight_units::Instant;

use crate::moment::Moment;

/// When a source's next event is due, and when that was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) due: Moment,
    pub(crate) scheduled: Instant,
}

impl Key {
    pub(crate) const NEVER: Self = Self {
        due: Moment::NEVER,
        scheduled: Instant::NEVER,
    };
}

#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    keys: Vec<Key>,
    /// `winners[1]` is the first source of all; node `n` has children `2n` and `2n + 1`.
    winners: Vec<u32>,
    leaves: usize,
}

impl Agenda {
    pub(crate) fn new(sources: usize) -> Self {
        let leaves = sources.next_power_of_two().max(2);
        let mut agenda = Self {
            keys: vec![Key::NEVER; leaves],
            winners: vec![0; leaves],
            leaves,
        };
        for node in (1..leaves).rev() {
            agenda.winners[node] = agenda.winner_of(node);
        }
        agenda
    }

    fn child(&self, node: usize) -> u32 {
        if node >= self.leaves {
            (node - self.leaves) as u32
        } else {
            self.winners[node]
        }
    }

    fn winner_of(&self, node: usize) -> u32 {
        let (left, right) = (self.child(2 * node), self.child(2 * node + 1));
        // The lower source wins a tie.
        if self.keys[right as usize] < self.keys[left as usize] {
            right
        } else {
            left
        }
    }

    pub(crate) fn key(&self, source: usize) -> Key {
        self.keys[source]
    }

    pub(crate) fn set(&mut self, source: usize, key: Key) {
        if self.keys[source] == key {
            return;
        }
        self.keys[source] = key;
        let mut node = (source + self.leaves) >> 1;
        while node >= 1 {
            self.winners[node] = self.winner_of(node);
            node /= 2;
        }
    }

    /// The source whose event comes first, with its key.
    pub(crate) fn first(&self) -> (usize, Key) {
        let source = self.winners[1] as usize;
        (source, self.keys[source])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(at: u64, scheduled: u64) -> Key {
        Key {
            due: Moment::written(Instant::from_nanos(at)),
            scheduled: Instant::from_nanos(scheduled),
        }
    }

    #[test]
    fn order_is_time_then_schedule_then_source() {
        let mut agenda = Agenda::new(5);
        assert_eq!(agenda.first().1, Key::NEVER);
        agenda.set(4, key(10, 1));
        agenda.set(2, key(10, 2));
        agenda.set(3, key(10, 1));
        assert_eq!(agenda.first(), (3, key(10, 1)));
        agenda.set(3, Key::NEVER);
        assert_eq!(agenda.first().0, 4);
        agenda.set(0, key(9, 9));
        assert_eq!(agenda.first().0, 0);
    }
}
