//! Events on links that are paused or have impairments, and announced events, apart from the path of
//! most packets.

use super::World;
use crate::agenda::Key;
use crate::announcement::{Announcement, What};
use crate::chain::NextHop;
use crate::config::NodeId;
use crate::event::{DropCause, Event, Observer};
use crate::impairment::Fate;
use crate::link::{Acceptance, LinkId, Transit};
use crate::moment::{FineTime, Moment, Scheduled};
use crate::packet::Packet;

impl<O: Observer> World<O> {
    #[cold]
    pub(super) fn announce(&mut self, announcement: Announcement) {
        self.announcements.push(announcement);
        self.sync_announcements();
    }

    /// A packet arrives at `now` at a link that a hook of its node or an observer sees; returns
    /// whether it is forwarded. For a Quick-Start router `now` may be ahead of the present: its state
    /// changes only with the packets of each link, which come in order.
    #[cold]
    pub(super) fn look_at(
        &mut self,
        link: LinkId,
        first: LinkId,
        enter: FineTime,
        packet: &mut Packet,
    ) -> bool {
        let now = if link == first {
            self.moment.at
        } else {
            self.clock.moment(enter).at
        };
        let Some(special) = self.links[link.index()].special.as_deref() else {
            return true;
        };
        let (hook, tapped) = (special.hook, special.tapped);
        if let Some(hook) = hook {
            if !self.call_hook(hook, link, now, packet) {
                return false;
            }
        }
        if !tapped {
            return true;
        }
        if let Some(datagram) = &packet.peek_datagram(&self.options) {
            let event = Event::DatagramEntered { link, datagram };
            self.observer.record(now, packet.flow, &event);
        } else if packet.is_of_tcp() {
            let packet_seen = packet.peek(&self.options);
            let event = Event::Entered {
                link,
                packet: packet_seen,
            };
            self.observer.record(now, packet.flow, &event);
        }
        true
    }

    /// Processes an announced event; returns the link if it is an arrival.
    pub(super) fn announced(&mut self) -> Option<usize> {
        let announcement = self.announcements.pop()?;
        self.sync_announcements();
        let link = announcement.link;
        match announcement.what {
            What::Lost(cause) => {
                self.lose(announcement.packet, link, cause);
                return None;
            }
            What::Emitted(number, node) => {
                self.send_emitted((number, node), announcement.packet);
                return None;
            }
            What::Late | What::Swapped => {}
        }
        self.links[link.index()].put_first(&announcement);
        Some(link.index())
    }

    /// The link of a busy source of the agenda.
    #[inline]
    pub(super) fn busy_link(&self, source: usize) -> usize {
        let special = || self.awaited_special[source - self.awaited.len()];
        self.awaited.get(source).copied().unwrap_or_else(special)
    }

    /// A packet is at the far end of a special link, which is a busy source; returns the link if the
    /// packet arrives.
    #[cold]
    #[inline(never)]
    pub(super) fn special_arrival(&mut self, source: usize) -> Option<usize> {
        let link = self.busy_link(source);
        self.is_on_time(link).then_some(link)
    }

    /// Whether the packet at the far end of a special link is neither lost nor late.
    pub(super) fn is_on_time(&mut self, link: usize) -> bool {
        let (l, id) = (&mut self.links[link], LinkId(link as u16));
        // Its loss or delay would not be observed, and packets of flows keep their numbers.
        if l.brings_cross_traffic() {
            return true;
        }
        let Some((transit, fate, followed)) = l.next_fate() else {
            return false;
        };
        let Acceptance { start, arrive } = transit.passage;
        let (wait, what) = match fate {
            Fate::OnTime => {
                if followed {
                    let (due, scheduled) = (self.clock.moment(arrive), start);
                    let key = Key { due, scheduled };
                    self.announcements.release_swapped(id, key);
                    self.sync_announcements();
                }
                return true;
            }
            Fate::Lost | Fate::Broken => {
                self.set_aside(link);
                let cause = match fate {
                    Fate::Broken => DropCause::Break,
                    _ => DropCause::Radio,
                };
                self.lose(transit.packet, id, cause);
                return false;
            }
            Fate::Late(delay) => (delay, What::Late),
            Fate::Swapped(hold) => (hold, What::Swapped),
        };
        self.set_aside(link);
        // This was decided when the packet was at the far end.
        let scheduled = Scheduled {
            at: arrive,
            by: start.at,
            before: start.by,
        };
        let due = self.clock.moment(arrive.plus(self.clock.span(wait)));
        self.announce(Announcement {
            key: Key { due, scheduled },
            link: id,
            what,
            packet: transit.packet,
        });
        false
    }

    /// Sets the present to that of a packet at the far end of a link that does not arrive.
    fn set_aside(&mut self, link: usize) {
        if let Some(Transit { at, passage, .. }) = self.links[link].take() {
            self.moment = Moment {
                at,
                fine: passage.arrive,
            };
            self.scheduled = passage.start;
        }
        self.sync_link(link);
    }

    /// A link holds the packets on their way to the far end from now on.
    pub(super) fn pause(&mut self, link: LinkId) {
        if self.links[link.index()].is_paused() {
            return;
        }
        let late = self.announcements.take_back(link);
        self.links[link.index()].pause(self.moment.fine, &late);
        self.sync_link(link.index());
        self.sync_announcements();
    }

    /// A node leaves a link: its packets there are lost.
    pub(super) fn purge(&mut self, link: LinkId, node: NodeId) {
        for packet in self.take_off(link, node) {
            self.lose(packet, link, DropCause::Break);
        }
        self.serve(link, false);
    }

    /// A node leaves a link: the packets for it are buffered.
    pub(super) fn detain(&mut self, link: LinkId, node: NodeId) {
        let packets = self.take_off(link, node);
        self.links[link.index()].detain(node, packets);
        self.serve(link, false);
    }

    /// Packets that a link has buffered for a node go to another link, or over the link itself if the
    /// node is back.
    pub(super) fn forward_kept(&mut self, link: LinkId, node: NodeId, to: LinkId) {
        let onward = Some(to).filter(|to| *to != link);
        for packet in self.links[link.index()].forward(node, onward) {
            self.pass(to, packet);
        }
    }

    /// Removes the packets from and to a node from a link, in the order of their arrival.
    fn take_off(&mut self, link: LinkId, node: NodeId) -> Vec<Packet> {
        let of_stacks = self.stacks.iter().map(|stack| stack.nodes);
        let of_flows = self.flows.iter().map(|flow| [flow.from, flow.to]);
        let nodes = of_flows.chain(of_stacks);
        let ends: Vec<bool> = nodes.map(|nodes| nodes.contains(&node)).collect();
        let is_gone = |packet: &Packet| !packet.is_of_others() && ends[packet.flow.index()];
        let mut lost = Vec::new();
        for announcement in self.announcements.take_back(link) {
            if is_gone(&announcement.packet) {
                if announcement.what == What::Swapped {
                    self.links[link.index()].forget_swapped();
                }
                lost.push(announcement.packet);
            } else {
                self.announcements.push(announcement);
            }
        }
        let l = &mut self.links[link.index()];
        let gone = l.purge(self.moment.fine, is_gone);
        if l.onward == NextHop::Routed {
            self.awaiting_route -= gone.len();
        }
        lost.extend(gone);
        self.sync_link(link.index());
        self.sync_announcements();
        lost
    }

    /// A paused link sends the packets that it holds.
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
        if let Some(setting) = setting {
            self.change_cross_traffic(link, setting);
        }
        self.serve(link, false);
    }

    /// A link continues with another setting, without a pause.
    pub(super) fn change(&mut self, link: LinkId, setting: u16) {
        let now = self.moment;
        let l = &mut self.links[link.index()];
        if !l.is_paused() {
            l.change(now, setting);
            self.sync_link(link.index());
            self.change_cross_traffic(link, setting);
            self.serve(link, false);
        }
    }
}
