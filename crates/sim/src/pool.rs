//! Packets on their way. Links pass handles; the packet itself is written once
//! and read where it is looked at.

use crate::world::Packet;

/// Handle of a packet on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketId(u32);

#[derive(Clone, Debug, Default)]
pub(crate) struct Pool {
    packets: Vec<Packet>,
    free: Vec<u32>,
}

impl Pool {
    /// Takes a packet in.
    pub(crate) fn insert(&mut self, packet: Packet) -> PacketId {
        if let Some(slot) = self.free.pop() {
            self.packets[slot as usize] = packet;
            return PacketId(slot);
        }
        self.packets.push(packet);
        PacketId((self.packets.len() - 1) as u32)
    }

    pub(crate) fn get(&self, id: PacketId) -> &Packet {
        &self.packets[id.0 as usize]
    }

    pub(crate) fn get_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.packets[id.0 as usize]
    }

    /// Takes a packet out; its handle is void from here on.
    pub(crate) fn remove(&mut self, id: PacketId) -> &Packet {
        self.free.push(id.0);
        &self.packets[id.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use midflight_tcp::Segment;
    use midflight_units::Instant;

    use super::*;
    use crate::world::{Body, FlowId, NodeId};

    fn packet(seq: u64) -> Packet {
        let segment = Segment {
            seq,
            bytes: 1500,
            retransmission: false,
            sent: Instant::ZERO,
        };
        Packet {
            flow: FlowId(0),
            to: NodeId(0),
            bytes: 1500,
            rerouted: false,
            body: Body::Data(segment),
        }
    }

    #[test]
    fn slots_are_used_again() {
        let mut pool = Pool::default();
        let first = pool.insert(packet(1));
        let second = pool.insert(packet(2));
        assert!(matches!(pool.remove(first).body, Body::Data(s) if s.seq == 1));
        assert_eq!(pool.insert(packet(3)), first);
        assert!(matches!(pool.get(second).body, Body::Data(s) if s.seq == 2));
        assert_eq!(pool.packets.len(), 2);
    }
}
