//! Packet events that are known in advance, except arrivals in order: losses of packets that enter
//! a link ahead of time (see `chain`), and arrivals of packets that others overtake.
//!
//! The first of them is one source of the agenda. Announced events of the same instant occur in the
//! order of the agenda's keys, then by link, then in the order of announcement.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use educe::Educe;

use crate::agenda::Key;
use crate::config::NodeId;
use crate::event::DropCause;
use crate::link::LinkId;
use crate::packet::Packet;

/// The next event of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// It is lost when it enters the link.
    Lost(DropCause),
    /// It arrives at the link's far end.
    Late,
    /// It arrives at the far end, unless the next packet arrives earlier: then it arrives right
    /// behind that.
    Swapped,
    /// The hook with this number sends it from this node.
    Emitted(u16, NodeId),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Announcement {
    pub(crate) key: Key,
    pub(crate) link: LinkId,
    pub(crate) what: What,
    pub(crate) packet: Packet,
}

#[derive(Clone, Copy, Debug)]
struct Numbered {
    announcement: Announcement,
    number: u64,
}

impl Numbered {
    fn order(&self) -> (Key, LinkId, u64) {
        (self.announcement.key, self.announcement.link, self.number)
    }
}

impl PartialEq for Numbered {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Numbered {}

impl PartialOrd for Numbered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Numbered {
    /// The next event is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.order().cmp(&self.order())
    }
}

/// Announced events that have not occurred yet.
#[derive(Educe, Debug, Default)]
#[educe(Clone)]
pub(crate) struct Announcements {
    heap: BinaryHeap<Numbered>,
    /// How many have been announced.
    count: u64,
}

impl Announcements {
    pub(crate) fn push(&mut self, announcement: Announcement) {
        self.heap.push(Numbered {
            announcement,
            number: self.count,
        });
        self.count += 1;
    }

    /// When the next one occurs.
    pub(crate) fn next(&self) -> Key {
        self.heap.peek().map_or(Key::NEVER, |n| n.announcement.key)
    }

    pub(crate) fn pop(&mut self) -> Option<Announcement> {
        self.heap.pop().map(|n| n.announcement)
    }

    /// Removes the announced arrivals over a link and returns them in order.
    pub(crate) fn take_back(&mut self, link: LinkId) -> Vec<Announcement> {
        let mut taken = Vec::new();
        self.heap.retain(|n| {
            let arrives = matches!(n.announcement.what, What::Late | What::Swapped);
            let stays = n.announcement.link != link || !arrives;
            if !stays {
                taken.push(*n);
            }
            stays
        });
        taken.sort_unstable_by_key(Numbered::order);
        taken.into_iter().map(|n| n.announcement).collect()
    }

    /// The swapped packet of a link follows the packet that now arrives: its arrival is moved to
    /// `key`.
    pub(crate) fn release_swapped(&mut self, link: LinkId, key: Key) {
        let mut swapped = None;
        self.heap.retain(|n| {
            let stays = n.announcement.link != link || n.announcement.what != What::Swapped;
            if !stays {
                swapped = Some(n.announcement);
            }
            stays
        });
        if let Some(announcement) = swapped {
            let what = What::Late;
            self.push(Announcement {
                key,
                what,
                ..announcement
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use midflight_tcp::Segment;
    use midflight_units::Instant;

    use super::*;
    use crate::config::{FlowId, NodeId};
    use crate::moment::{Clock, Scheduled};
    use crate::packet::PacketOptions;

    fn key(due: u64, scheduled: u64) -> Key {
        let written = |ns| Clock::Seconds.written(Instant::from_nanos(ns));
        Key {
            due: written(due),
            scheduled: Scheduled::alone(written(scheduled).fine),
        }
    }

    fn announcement(seq: u64, key: Key, link: u16, what: What) -> Announcement {
        let segment = Segment::plain(seq, 1500, Instant::ZERO);
        Announcement {
            key,
            link: LinkId(link),
            what,
            packet: Packet::data(
                FlowId(0),
                NodeId(1),
                &segment,
                &mut PacketOptions::default(),
            ),
        }
    }

    fn drain(mut announcements: Announcements) -> Vec<crate::Payload> {
        let all = std::iter::from_fn(|| announcements.pop());
        all.map(|a| a.packet.payload()).collect()
    }

    #[test]
    fn ties_go_by_schedule_then_link_then_announcement() {
        let mut all = Announcements::default();
        let lost = What::Lost(DropCause::Queue);
        for (seq, key, link, what) in [
            (5, key(10, 2), 1, What::Late),
            (4, key(10, 2), 0, What::Late),
            (1, key(10, 1), 1, What::Late),
            (2, key(10, 1), 1, lost),
            (3, key(10, 1), 1, What::Late),
            (0, key(9, 9), 7, What::Late),
        ] {
            all.push(announcement(seq, key, link, what));
        }
        let expected: Vec<_> = (0..6).map(crate::Payload::Data).collect();
        assert_eq!(drain(all.clone()), expected);
        let taken = all.take_back(LinkId(1));
        let taken: Vec<_> = taken.iter().map(|a| a.packet.payload()).collect();
        assert_eq!(taken, [1, 3, 5].map(crate::Payload::Data));
        assert_eq!(drain(all), [0, 2, 4].map(crate::Payload::Data));
    }

    #[test]
    fn a_swapped_packet_goes_as_soon_as_it_can_follow_another() {
        let mut all = Announcements::default();
        all.push(announcement(1, key(10, 1), 0, What::Swapped));
        all.push(announcement(2, key(8, 1), 0, What::Late));
        all.push(announcement(3, key(9, 1), 1, What::Swapped));
        all.release_swapped(LinkId(0), key(5, 5));
        all.release_swapped(LinkId(2), key(1, 1));
        assert_eq!(all.next(), key(5, 5));
        assert_eq!(drain(all), [1, 2, 3].map(crate::Payload::Data));
    }
}
