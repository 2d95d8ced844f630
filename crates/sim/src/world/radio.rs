//! What happens on links that are paused or have impairments, and what was
//! announced: apart from the way of most packets.

use super::World;
use crate::agenda::Key;
use crate::announcement::{Announcement, What};
use crate::event::{DropCause, Observer};
use crate::impairment::Fate;
use crate::link::{LinkId, Passage, Transit};
use crate::moment::Scheduled;

impl<O: Observer> World<O> {
    #[cold]
    pub(super) fn announce(&mut self, announcement: Announcement) {
        self.announcements.push(announcement);
        self.sync_announcements();
    }

    /// What was announced happens; the link, if it is an arrival.
    pub(super) fn announced(&mut self) -> Option<usize> {
        let announcement = self.announcements.pop()?;
        self.sync_announcements();
        let link = announcement.link;
        if let What::Lost(cause) = announcement.what {
            self.lose(announcement.packet, link, cause);
            return None;
        }
        self.links[link.index()].land(announcement);
        Some(link.index())
    }

    /// Takes the packet that is at the far end of a special link now, unless it is lost or late.
    #[cold]
    #[inline(never)]
    pub(super) fn take_special(&mut self, link: usize) -> Option<Transit> {
        let (l, id) = (&mut self.links[link], LinkId(link as u16));
        if let Some(landing) = l.take_landing() {
            return Some(landing);
        }
        let (transit, fate, followed) = l.take_impaired()?;
        let Passage { start, arrive } = transit.passage;
        let (wait, what) = match fate {
            Fate::OnTime => {
                if followed {
                    let (due, scheduled) = (arrive.moment(), start);
                    let key = Key { due, scheduled };
                    self.announcements.release_swapped(id, key);
                    self.sync_announcements();
                }
                return Some(transit);
            }
            Fate::Lost => {
                self.sync_link(link);
                self.moment = arrive.moment();
                self.scheduled = start;
                self.lose(transit.packet, id, DropCause::Radio);
                return None;
            }
            Fate::Late(delay) => (delay, What::Late),
            Fate::Swapped(hold) => (hold, What::Swapped),
        };
        self.sync_link(link);
        self.moment = arrive.moment();
        // It was decided when the packet was at the far end.
        let scheduled = Scheduled {
            at: arrive,
            by: start.at,
        };
        let due = arrive.plus(wait.as_nanos() as f64 / 1e9).moment();
        self.announce(Announcement {
            key: Key { due, scheduled },
            link: id,
            what,
            packet: transit.packet,
        });
        None
    }

    /// A link holds from now on what is on its way to the far end.
    pub(super) fn pause(&mut self, link: LinkId) {
        if self.links[link.index()].is_paused() {
            return;
        }
        let late = self.announcements.take_back(link);
        self.links[link.index()].pause(self.moment.shadow, &late);
        self.sync_link(link.index());
        self.sync_announcements();
    }

    /// A paused link sends what it holds.
    pub(super) fn resume(&mut self, link: LinkId, setting: Option<u16>) {
        let now = self.moment;
        let l = &mut self.links[link.index()];
        if !l.is_paused() {
            return;
        }
        let mut lost = Vec::new();
        l.resume(now, self.scheduled, setting, |packet| lost.push(packet));
        self.sync_link(link.index());
        for packet in lost {
            self.lose(packet, link, DropCause::Break);
        }
    }
}
