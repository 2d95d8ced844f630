//! The next event among a fixed set of sources.
//!
//! A tree with sixteen children a node over the sources' instants: setting a
//! key looks at one node a level, and sixteen integers are compared faster than
//! one mispredicted branch costs. A world of one flow has one or two levels.
//! Ties are rare and are settled by the full key.

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

const WIDTH: usize = 16;

/// Sixteen instants in nanoseconds: of sources on the lowest level, of the
/// earliest in each node below on the others.
type Node = [u64; WIDTH];

fn earliest(node: &Node) -> u64 {
    node.iter().copied().fold(u64::MAX, u64::min)
}

#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    keys: Vec<Key>,
    /// `levels[0]` is over the sources; the last level has one node.
    levels: Vec<Vec<Node>>,
}

impl Agenda {
    pub(crate) fn new(sources: usize) -> Self {
        let mut levels = Vec::new();
        let mut width = sources.max(1);
        loop {
            width = width.div_ceil(WIDTH);
            levels.push(vec![[u64::MAX; WIDTH]; width]);
            if width == 1 {
                break;
            }
        }
        Self {
            keys: vec![Key::NEVER; sources],
            levels,
        }
    }

    pub(crate) fn key(&self, source: usize) -> Key {
        self.keys[source]
    }

    pub(crate) fn set(&mut self, source: usize, key: Key) {
        self.keys[source] = key;
        let mut at = key.due.at.as_nanos();
        let mut child = source;
        for level in &mut self.levels {
            let node = &mut level[child / WIDTH];
            let slot = &mut node[child % WIDTH];
            if *slot == at {
                return;
            }
            *slot = at;
            at = earliest(node);
            child /= WIDTH;
        }
    }

    /// The instant of the next event, [`Instant::NEVER`] if there is none.
    pub(crate) fn next(&self) -> Instant {
        self.levels
            .last()
            .map_or(Instant::NEVER, |top| Instant::from_nanos(earliest(&top[0])))
    }

    /// The source whose event comes first, with its key. A tie of the full key
    /// goes to the lower source.
    pub(crate) fn first(&self) -> (usize, Key) {
        let top = self.levels.len() - 1;
        let at = earliest(&self.levels[top][0]);
        self.first_at(at, top, 0).unwrap_or((0, Key::NEVER))
    }

    fn first_at(&self, at: u64, level: usize, node: usize) -> Option<(usize, Key)> {
        let mut best: Option<(usize, Key)> = None;
        for (i, &instant) in self.levels[level].get(node)?.iter().enumerate() {
            if instant != at {
                continue;
            }
            let child = node * WIDTH + i;
            let candidate = if level == 0 {
                self.keys.get(child).map(|&key| (child, key))
            } else {
                self.first_at(at, level - 1, child)
            };
            best = match (best, candidate) {
                (Some(b), Some(c)) if c.1 < b.1 => Some(c),
                (None, c) => c,
                (b, _) => b,
            };
        }
        best
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
        for sources in [5, 300] {
            let far = sources - 1;
            let mut agenda = Agenda::new(sources);
            assert_eq!(agenda.first().1, Key::NEVER);
            agenda.set(far, key(10, 1));
            agenda.set(2, key(10, 2));
            agenda.set(3, key(10, 1));
            assert_eq!(agenda.first(), (3, key(10, 1)));
            agenda.set(3, Key::NEVER);
            assert_eq!(agenda.first().0, far);
            agenda.set(0, key(9, 9));
            assert_eq!(
                (agenda.first().0, agenda.next()),
                (0, Instant::from_nanos(9))
            );
        }
    }
}
