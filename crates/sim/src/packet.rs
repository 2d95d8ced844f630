//! Packets as links carry them: small enough to lie in the links' queues.

use educe::Educe;
use midflight_tcp::{Ack, SackBlocks, Says, Segment, TrainMark};
use midflight_units::Instant;

use crate::config::{FlowId, NodeId};
use crate::event::Payload;

/// A packet on its way. The options of one that has some lie in [`PacketOptions`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Number of the segment, or of the ACK.
    number: u64,
    /// When the segment was sent; of an ACK, the one that caused it.
    sent: Instant,
    pub(crate) flow: FlowId,
    pub(crate) bytes: u32,
    options: OptionsId,
    /// The node it goes to.
    pub(crate) to: NodeId,
    kind: Kind,
    /// It was sent over a route that was set during the run.
    pub(crate) rerouted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Data,
    /// Data with its place in a train.
    OfTrain,
    Retransmission,
    WindowProbe,
    Ack,
}

/// What a packet delivers.
pub(crate) enum Delivery {
    Segment(Segment),
    Ack(Ack),
}

impl Packet {
    #[inline(always)]
    pub(crate) fn data(
        flow: FlowId,
        to: NodeId,
        segment: &Segment,
        options: &mut PacketOptions,
    ) -> Self {
        Self {
            number: segment.seq,
            sent: segment.sent,
            flow,
            bytes: segment.bytes,
            options: OptionsId::NONE,
            to,
            kind: match segment.retransmission {
                true if segment.probe => Kind::WindowProbe,
                true => Kind::Retransmission,
                false => Kind::Data,
            },
            rerouted: false,
        }
        .with_mark(segment.train, options)
    }

    /// With a place in a train, if it has one.
    #[inline(always)]
    fn with_mark(mut self, mark: Option<TrainMark>, options: &mut PacketOptions) -> Self {
        if mark.is_some() {
            self.kind = Kind::OfTrain;
            self.options = options.insert_mark(mark);
        }
        self
    }

    #[inline(always)]
    pub(crate) fn ack(flow: FlowId, to: NodeId, ack: &Ack, options: &mut PacketOptions) -> Self {
        Self {
            number: ack.ack,
            sent: ack.cause_sent,
            flow,
            bytes: ack.bytes(),
            options: options.insert(ack),
            to,
            kind: Kind::Ack,
            rerouted: false,
        }
    }

    /// What observers are told of it.
    pub(crate) fn payload(&self) -> Payload {
        match self.kind {
            Kind::Ack => Payload::Ack(self.number),
            _ => Payload::Data(self.number),
        }
    }

    /// When the segment was sent; of an ACK, the one that caused it.
    pub(crate) fn sent(&self) -> Instant {
        self.sent
    }

    /// Opens a packet that has arrived.
    #[inline(always)]
    pub(crate) fn open(&self, options: &mut PacketOptions) -> Delivery {
        match self.kind {
            Kind::Ack => {
                let Options { sack, echo, says } = options.acks.remove(self.options);
                Delivery::Ack(Ack {
                    ack: self.number,
                    sack,
                    echo,
                    cause_sent: self.sent,
                    says,
                })
            }
            kind => Delivery::Segment(self.segment(kind != Kind::Data, kind == Kind::WindowProbe)),
        }
    }

    #[inline(always)]
    fn segment(&self, retransmission: bool, probe: bool) -> Segment {
        Segment {
            seq: self.number,
            bytes: self.bytes,
            retransmission,
            sent: self.sent,
            probe,
            train: None,
        }
    }

    /// Whether it has a place in a train, with which [`Self::open_of_train`] opens it.
    #[inline(always)]
    pub(crate) fn is_of_train(&self) -> bool {
        self.kind == Kind::OfTrain
    }

    /// Opens a packet of a train that has arrived.
    #[inline(always)]
    pub(crate) fn open_of_train(&self, options: &mut PacketOptions) -> Segment {
        Segment {
            train: options.remove_mark(self.options),
            ..self.segment(false, false)
        }
    }

    /// Forgets what belongs to a packet that will not arrive.
    pub(crate) fn discard(&self, options: &mut PacketOptions) {
        match self.kind {
            Kind::Ack => {
                options.acks.remove(self.options);
            }
            _ => {
                options.trains.remove(self.options);
            }
        }
    }
}

/// Place of a packet's options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OptionsId(u32);

impl OptionsId {
    const NONE: Self = Self(u32::MAX);
}

/// What few ACKs have; the others take no place for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Options {
    sack: SackBlocks,
    echo: Option<Instant>,
    says: Says,
}

/// The options of the packets that are on their way.
#[derive(Educe, Debug, Default)]
#[educe(Clone)]
pub(crate) struct PacketOptions {
    acks: Slots<Options>,
    trains: Slots<Option<TrainMark>>,
}

impl PacketOptions {
    #[inline]
    fn insert(&mut self, ack: &Ack) -> OptionsId {
        if ack.sack.is_empty() && ack.echo.is_none() && ack.says == Says::Nothing {
            return OptionsId::NONE;
        }
        self.acks.insert(Options {
            sack: ack.sack,
            echo: ack.echo,
            says: ack.says,
        })
    }

    #[cold]
    fn remove_mark(&mut self, id: OptionsId) -> Option<TrainMark> {
        self.trains.remove(id)
    }

    #[cold]
    fn insert_mark(&mut self, mark: Option<TrainMark>) -> OptionsId {
        self.trains.insert(mark)
    }
}

/// Places that are used again.
#[derive(Educe, Debug, Default)]
#[educe(Clone)]
struct Slots<T> {
    slots: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy + Default> Slots<T> {
    #[inline]
    fn insert(&mut self, options: T) -> OptionsId {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = options;
            return OptionsId(slot);
        }
        self.slots.push(options);
        OptionsId(self.slots.len() as u32 - 1)
    }

    #[inline]
    fn remove(&mut self, id: OptionsId) -> T {
        if id == OptionsId::NONE {
            return T::default();
        }
        self.free.push(id.0);
        self.slots[id.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use midflight_control::signal::HandoverMark;
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
            echo: (number.is_multiple_of(2) || blocks == 0).then_some(Instant::from_nanos(number)),
            cause_sent: Instant::from_nanos(7),
            says: match number % 5 {
                0 => Says::Moved(HandoverMark {
                    number: 3,
                    sent: Instant::from_nanos(8),
                }),
                1 => Says::ZeroWindow,
                _ => Says::Nothing,
            },
        }
    }

    #[test]
    fn what_goes_in_comes_out_and_places_are_used_again() {
        let mut options = PacketOptions::default();
        let mut on_the_way = Vec::new();
        for round in 0..3 {
            for i in 0..5 {
                let sent = ack(10 * round + i, i % 4);
                let packet = Packet::ack(FlowId(0), NodeId(1), &sent, &mut options);
                on_the_way.push((sent, packet));
            }
            for (sent, packet) in on_the_way.drain(..) {
                assert!(matches!(packet.open(&mut options), Delivery::Ack(ack) if ack == sent));
            }
        }
        assert_eq!(
            options.acks.slots.len(),
            5,
            "every ACK of a round has options"
        );
    }
}
