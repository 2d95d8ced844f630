//! Packets for a node that has left its link: the base station buffers them and forwards them to
//! the next one (3GPP TS 36.300 section 10.1.2.3, data forwarding over X2).

use super::Link;
use crate::config::NodeId;
use crate::link::LinkId;
use crate::packet::Packet;
use crate::special::{Absent, Entry, Special};

impl Link {
    /// What happens to a packet for a node that has left the link; None for other packets.
    pub(super) fn keep(&mut self, packet: &Packet) -> Option<Entry> {
        let most = self.limit.map_or(usize::MAX, |limit| limit as usize);
        let special = self.special.as_deref_mut()?;
        let absent = special
            .absent
            .iter_mut()
            .find(|one| one.node == packet.to)?;
        Some(match absent.forward {
            Some(to) => Entry::Forwarded(to),
            None if absent.kept.len() >= most => Entry::Full,
            None => {
                absent.kept.push(*packet);
                Entry::Held
            }
        })
    }

    /// A node leaves the link: its packets that were on the link and later ones are buffered.
    pub(crate) fn detain(&mut self, node: NodeId, packets: Vec<Packet>) {
        if let Some(special) = self.special.as_deref_mut() {
            special.absent.retain(|one| one.node != node);
            special.absent.push(Absent {
                node,
                kept: packets,
                forward: None,
            });
            self.closed = true;
        }
    }

    /// Returns the packets buffered for a node. They and later ones go to another link; to none if
    /// the node is back.
    pub(crate) fn forward(&mut self, node: NodeId, to: Option<LinkId>) -> Vec<Packet> {
        let Some(special) = self.special.as_deref_mut() else {
            return Vec::new();
        };
        let Some(place) = special.absent.iter().position(|one| one.node == node) else {
            return Vec::new();
        };
        let kept = std::mem::take(&mut special.absent[place].kept);
        special.absent[place].forward = to;
        if to.is_none() {
            special.absent.remove(place);
            self.closed = self.down || self.special.as_deref().is_some_and(Special::is_closed);
        }
        kept
    }
}
