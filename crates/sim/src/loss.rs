//! Losses that are known before they happen: of packets that enter a link
//! ahead of the present (see `chain`).

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use educe::Educe;

use crate::agenda::Key;
use crate::event::DropCause;
use crate::link::LinkId;
use crate::packet::Packet;

/// A packet that will be lost on entering a link.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    pub(crate) key: Key,
    pub(crate) link: LinkId,
    pub(crate) cause: DropCause,
    pub(crate) packet: Packet,
}

impl Loss {
    fn order(&self) -> (Key, LinkId) {
        (self.key, self.link)
    }
}

impl PartialEq for Loss {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Loss {}

impl PartialOrd for Loss {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Loss {
    /// The next to happen is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.order().cmp(&self.order())
    }
}

/// The losses to come.
#[derive(Educe, Debug, Default)]
#[educe(Clone)]
pub(crate) struct Losses(BinaryHeap<Loss>);

impl Losses {
    pub(crate) fn push(&mut self, loss: Loss) {
        self.0.push(loss);
    }

    /// When the next one happens.
    pub(crate) fn next(&self) -> Key {
        self.0.peek().map_or(Key::NEVER, |loss| loss.key)
    }

    pub(crate) fn pop(&mut self) -> Option<Loss> {
        self.0.pop()
    }
}
