//! Packets as links carry them: small enough to lie in the links' queues.

use midflight_tcp::{Ack, SackBlocks, Segment};
use midflight_units::Instant;

use crate::event::Payload;
use crate::world::{FlowId, NodeId};

/// A packet on its way. The blocks of an ACK that has some lie in [`Sacks`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Number of the segment, or of the ACK.
    number: u64,
    /// When the segment was sent; of an ACK, the one that caused it.
    sent: Instant,
    /// An ACK's echo of a timestamp, if it has one.
    echo: Instant,
    pub(crate) flow: FlowId,
    pub(crate) bytes: u32,
    sack: SackId,
    /// The node it goes to.
    pub(crate) to: NodeId,
    kind: Kind,
    /// It was sent over a route that was set during the run.
    pub(crate) rerouted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Data,
    Retransmission,
    Ack,
}

/// What a packet delivers.
pub(crate) enum Delivery {
    Segment(Segment),
    Ack(Ack),
}

impl Packet {
    pub(crate) fn data(flow: FlowId, to: NodeId, segment: &Segment) -> Self {
        Self {
            number: segment.seq,
            sent: segment.sent,
            echo: Instant::NEVER,
            flow,
            bytes: segment.bytes,
            sack: SackId::NONE,
            to,
            kind: if segment.retransmission {
                Kind::Retransmission
            } else {
                Kind::Data
            },
            rerouted: false,
        }
    }

    pub(crate) fn ack(flow: FlowId, to: NodeId, ack: &Ack, sacks: &mut Sacks) -> Self {
        Self {
            number: ack.ack,
            sent: ack.cause_sent,
            echo: ack.echo.unwrap_or(Instant::NEVER),
            flow,
            bytes: ack.bytes(),
            sack: sacks.insert(&ack.sack),
            to,
            kind: Kind::Ack,
            rerouted: false,
        }
    }

    /// What observers are told of it.
    pub(crate) fn payload(&self) -> Payload {
        match self.kind {
            Kind::Data | Kind::Retransmission => Payload::Data(self.number),
            Kind::Ack => Payload::Ack(self.number),
        }
    }

    /// Opens a packet that has arrived.
    #[inline]
    pub(crate) fn open(&self, sacks: &mut Sacks) -> Delivery {
        match self.kind {
            Kind::Ack => Delivery::Ack(Ack {
                ack: self.number,
                sack: sacks.remove(self.sack),
                echo: (self.echo != Instant::NEVER).then_some(self.echo),
                cause_sent: self.sent,
            }),
            kind => Delivery::Segment(Segment {
                seq: self.number,
                bytes: self.bytes,
                retransmission: kind == Kind::Retransmission,
                sent: self.sent,
            }),
        }
    }

    /// Forgets what belongs to a packet that will not arrive.
    pub(crate) fn discard(&self, sacks: &mut Sacks) {
        sacks.remove(self.sack);
    }
}

/// Place of an ACK's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SackId(u32);

impl SackId {
    const NONE: Self = Self(u32::MAX);
}

/// The SACK blocks that are on their way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sacks {
    blocks: Vec<SackBlocks>,
    free: Vec<u32>,
}

impl Sacks {
    fn insert(&mut self, blocks: &SackBlocks) -> SackId {
        if blocks.is_empty() {
            return SackId::NONE;
        }
        if let Some(slot) = self.free.pop() {
            self.blocks[slot as usize] = *blocks;
            return SackId(slot);
        }
        self.blocks.push(*blocks);
        SackId(self.blocks.len() as u32 - 1)
    }

    fn remove(&mut self, id: SackId) -> SackBlocks {
        if id == SackId::NONE {
            return SackBlocks::default();
        }
        self.free.push(id.0);
        self.blocks[id.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use midflight_tcp::SackBlock;

    use super::*;

    fn ack(number: u64, blocks: u64) -> Ack {
        let mut sack = SackBlocks::default();
        for i in 0..blocks {
            let left = number + 2 + 3 * i;
            let right = left + 1;
            sack.push(number, SackBlock { left, right });
        }
        Ack {
            ack: number,
            sack,
            echo: (number % 2 == 0).then_some(Instant::from_nanos(number)),
            cause_sent: Instant::from_nanos(7),
        }
    }

    #[test]
    fn what_goes_in_comes_out_and_places_are_used_again() {
        let mut sacks = Sacks::default();
        let mut on_the_way = Vec::new();
        for round in 0..3 {
            for i in 0..5 {
                let sent = ack(10 * round + i, i % 4);
                let packet = Packet::ack(FlowId(0), NodeId(1), &sent, &mut sacks);
                on_the_way.push((sent, packet));
            }
            for (sent, packet) in on_the_way.drain(..) {
                assert!(matches!(packet.open(&mut sacks), Delivery::Ack(ack) if ack == sent));
            }
        }
        assert_eq!(sacks.blocks.len(), 3, "two of five ACKs have no block");
    }
}
