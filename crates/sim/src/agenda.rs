//! The next event among a fixed set of sources.
//!
//! A tree with sixteen children a node over the sources' instants: setting a
//! key looks at one node a level, and sixteen integers are compared faster than
//! one mispredicted branch costs. A world of one flow has one or two levels.
//! Ties are rare and are settled by the full key.

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

const WIDTH: usize = 16;

/// Sixteen instants in nanoseconds: of sources on the lowest level, of the
/// earliest in each node below on the others.
type Node = [u64; WIDTH];

/// The earliest instant of a node, in four lanes that do not wait for each other.
fn earliest(node: &Node) -> u64 {
    let lane = |i: usize| node[i].min(node[i + 4]).min(node[i + 8].min(node[i + 12]));
    lane(0).min(lane(1)).min(lane(2).min(lane(3)))
}

#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    keys: Vec<Key>,
    /// The root: over the sources themselves when there are at most sixteen.
    top: Node,
    /// The levels below the root; the first is over the sources.
    below: Vec<Vec<Node>>,
}

impl Agenda {
    pub(crate) fn new(sources: usize) -> Self {
        let mut below = Vec::new();
        let mut width = sources;
        while width > WIDTH {
            width = width.div_ceil(WIDTH);
            below.push(vec![[u64::MAX; WIDTH]; width]);
        }
        Self {
            keys: vec![Key::NEVER; sources],
            top: [u64::MAX; WIDTH],
            below,
        }
    }

    pub(crate) fn key(&self, source: usize) -> Key {
        self.keys[source]
    }

    pub(crate) fn set(&mut self, source: usize, key: Key) {
        self.keys[source] = key;
        let mut at = key.due.at.as_nanos();
        let mut child = source;
        for level in &mut self.below {
            let node = &mut level[child / WIDTH];
            let slot = &mut node[child % WIDTH];
            if *slot == at {
                return;
            }
            *slot = at;
            at = earliest(node);
            child /= WIDTH;
        }
        self.top[child % WIDTH] = at;
    }

    /// The source whose event comes first, with its key; [`Key::NEVER`] if no
    /// event is due. A tie of the full key goes to the lower source.
    pub(crate) fn first(&self) -> (usize, Key) {
        let at = earliest(&self.top);
        self.first_at(at, &self.top, 0, self.below.len())
            .unwrap_or((0, Key::NEVER))
    }

    /// The first source due at `at` under `node`, the `index`th of its level.
    fn first_at(&self, at: u64, node: &Node, index: usize, level: usize) -> Option<(usize, Key)> {
        // One bit for each child that is due then; mostly there is one.
        let mut due = 0_u32;
        for (i, &instant) in node.iter().enumerate() {
            due |= u32::from(instant == at) << i;
        }
        let mut best: Option<(usize, Key)> = None;
        while due != 0 {
            let child = index * WIDTH + due.trailing_zeros() as usize;
            due &= due - 1;
            let candidate = match level.checked_sub(1) {
                None => self.keys.get(child).map(|&key| (child, key)),
                Some(down) => {
                    let node = self.below[down].get(child);
                    node.and_then(|node| self.first_at(at, node, child, down))
                }
            };
            if best.is_none_or(|b| candidate.is_some_and(|c| c.1 < b.1)) {
                best = candidate;
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use midflight_units::Instant;

    use super::*;

    fn key(at: u64, scheduled: u64) -> Key {
        Key {
            due: Moment::written(Instant::from_nanos(at)),
            scheduled: Scheduled::alone(Instant::from_nanos(scheduled)),
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
            assert_eq!(agenda.first(), (0, key(9, 9)));
        }
    }
}
