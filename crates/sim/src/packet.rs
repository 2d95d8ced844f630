//! Packets as links carry them: small enough to be stored in the links' queues.

use std::num::NonZeroU32;

use educe::Educe;
use midflight_control::quick_start::Request;
use midflight_tcp::{Ack, AckOption, Content, EcnCodepoint, SackBlocks, Segment, SegmentOption};
use midflight_units::{Instant, Seq};

use crate::config::{FlowId, NodeId};
use crate::event::{Carried, Payload};
use crate::stack::{ecn, Carries, Datagram};

/// A packet in transit. Its datagram or options, if any, are in [`PacketOptions`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Number of the segment or ACK; for a segment, the bits above [`NUMBER_BITS`] are the bytes that came before.
    number: u64,
    /// When the segment was sent; for an ACK, the segment that caused it.
    sent: Instant,
    pub(crate) flow: FlowId,
    pub(crate) bytes: u32,
    /// The index of its options; for data without options, the timestamp that it echoes.
    options: OptionsId,
    /// The node to which it goes.
    pub(crate) to: NodeId,
    kind: Kind,
    flags: Flags,
}

/// The flags of a segment: its ECN field, CWR, PSH, and whether it is a retransmission; and whether the packet was
/// sent over a route that was set during the run.
#[derive(Clone, Copy, Debug, Default)]
struct Flags(u8);

impl Flags {
    const ECN: u8 = 3;
    const CWR: u8 = 4;
    const REROUTED: u8 = 8;
    const PUSH: u8 = 16;
    const RETRANSMISSION: u8 = 32;

    #[inline(always)]
    fn of(segment: &Segment) -> Self {
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        let cwr = flag(segment.cwr, Self::CWR);
        let push = flag(segment.push, Self::PUSH);
        let retransmission = flag(segment.retransmission, Self::RETRANSMISSION);
        Self(segment.ecn as u8 | cwr | push | retransmission)
    }

    #[inline(always)]
    fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }

    #[inline(always)]
    fn ecn(self) -> EcnCodepoint {
        match self.0 & Self::ECN {
            0 => EcnCodepoint::NotCapable,
            1 => EcnCodepoint::LowLatency,
            2 => EcnCodepoint::Capable,
            _ => EcnCodepoint::Congestion,
        }
    }
}

/// The common kinds first, so that one comparison finds the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Kind {
    Data,
    WindowProbe,
    Ack,
    /// The sender's ACK of a SYN.
    Acknowledgment,
    /// It validates a QUIC path.
    Challenge,
    /// Data, sent for the first time, with an option.
    WithOption,
    /// Data for which an application waits.
    ForApp,
    /// It belongs to no flow.
    CrossTraffic,
    /// The bytes of a stack: flow data, an ACK of it, or unspecified.
    StackData,
    StackAck,
    Stack,
}

/// Numbers are below this power of two.
const NUMBER_BITS: u32 = 48;

// Every link copies a packet: a larger one would cost time for every packet.
const _: () = assert!(size_of::<Packet>() <= 32);

impl Packet {
    #[inline(always)]
    pub(crate) fn data(
        flow: FlowId,
        to: NodeId,
        segment: &Segment,
        options: &mut PacketOptions,
    ) -> Self {
        Self {
            number: segment.seq | u64::from(segment.offset) << NUMBER_BITS,
            sent: segment.sent,
            flow,
            bytes: segment.bytes,
            options: OptionsId(segment.echo_ms),
            to,
            kind: match segment.content {
                Content::Data => Kind::Data,
                Content::WindowProbe => Kind::WindowProbe,
                Content::Acknowledgment => Kind::Acknowledgment,
                Content::Challenge => Kind::Challenge,
            },
            flags: Flags::of(segment),
        }
        .with_option(segment, options)
    }

    /// Adds the option of a segment. If no router supports rate requests, a request is removed, as by a middlebox,
    /// and gets no response.
    #[inline(always)]
    fn with_option(mut self, segment: &Segment, options: &mut PacketOptions) -> Self {
        if segment.option.is_some() && !options.strips(segment.option) {
            self.kind = Kind::WithOption;
            self.flags.0 &= !(Flags::PUSH | Flags::RETRANSMISSION);
            self.options = options.insert_option(segment);
        }
        self
    }

    /// The same, marked as data for which an application waits.
    pub(crate) fn for_app(mut self) -> Self {
        if self.kind == Kind::Data {
            self.kind = Kind::ForApp;
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
            flags: Flags::default(),
        }
    }

    /// A packet of cross traffic, which ends at `to`.
    pub(crate) fn of_others(to: NodeId, bytes: u32, sent: Instant) -> Self {
        Self {
            number: 0,
            sent,
            flow: FlowId::default(),
            bytes,
            options: OptionsId::NONE,
            to,
            kind: Kind::CrossTraffic,
            flags: Flags::default(),
        }
    }

    /// The bytes of a stack: for flow data the bytes of a segment, or an ACK of the segments below it, caused by a
    /// segment sent at `sent`.
    pub(crate) fn datagram(
        flow: FlowId,
        to: NodeId,
        datagram: Datagram,
        (segment, cause): (Seq, Instant),
        options: &mut PacketOptions,
    ) -> Self {
        let flags = Flags(ecn(&datagram.bytes) as u8);
        let kind = match datagram.carries {
            Carries::Data { .. } => Kind::StackData,
            Carries::Ack => Kind::StackAck,
            Carries::Unknown => Kind::Stack,
        };
        Self {
            number: if kind == Kind::Stack {
                datagram.number
            } else {
                segment
            },
            sent: match kind {
                Kind::StackAck => cause,
                _ => datagram.sent,
            },
            flow,
            bytes: datagram.bytes.len() as u32,
            options: options.insert_datagram(datagram),
            to,
            kind,
            flags,
        }
    }

    /// Whether it carries the bytes of a stack.
    pub(crate) fn is_of_stack(&self) -> bool {
        matches!(self.kind, Kind::StackData | Kind::StackAck | Kind::Stack)
    }

    /// Removes the datagram of a packet that has arrived.
    pub(crate) fn open_datagram(&self, options: &mut PacketOptions) -> Option<Datagram> {
        options.remove_datagram(self.options)
    }

    /// The datagram, without removing it.
    pub(crate) fn peek_datagram(&self, options: &PacketOptions) -> Option<Datagram> {
        if !self.is_of_stack() {
            return None;
        }
        options.datagrams.get(self.options.0 as usize)?.clone()
    }

    /// Number of the datagram, if it is one.
    pub(crate) fn datagram_number(&self, options: &PacketOptions) -> Option<u64> {
        if !self.is_of_stack() {
            return None;
        }
        let datagram = options.datagrams.get(self.options.0 as usize)?.as_ref();
        datagram.map(|datagram| datagram.number)
    }

    /// The segment of flow data that a datagram represents.
    pub(crate) fn stack_segment(&self, retransmission: bool) -> Segment {
        Segment {
            retransmission,
            echo_ms: 0,
            ..self.segment()
        }
    }

    /// Whether it was sent over a route that was set during the run.
    #[inline(always)]
    pub(crate) fn rerouted(&self) -> bool {
        self.flags.has(Flags::REROUTED)
    }

    /// Records whether it goes over a route that was set during the run.
    #[inline(always)]
    pub(crate) fn note_route(&mut self, during_run: bool) {
        self.flags.0 |= if during_run { Flags::REROUTED } else { 0 };
    }

    /// Its ECN field.
    pub(crate) fn ecn(&self) -> EcnCodepoint {
        self.flags.ecn()
    }

    pub(crate) fn set_ecn(&mut self, ecn: EcnCodepoint) {
        self.flags.0 = self.flags.0 & !Flags::ECN | ecn as u8;
    }

    /// Whether it carries a segment or an ACK.
    pub(crate) fn is_of_tcp(&self) -> bool {
        !self.is_of_others() && !self.is_of_stack()
    }

    /// Whether it belongs to no flow.
    pub(crate) fn is_of_others(&self) -> bool {
        self.kind == Kind::CrossTraffic
    }

    /// Its description for observers.
    pub(crate) fn payload(&self) -> Payload {
        match self.kind {
            Kind::Ack | Kind::Acknowledgment | Kind::StackAck => {
                Payload::Ack(self.segment_number())
            }
            Kind::Stack | Kind::Challenge => Payload::Datagram(self.number),
            _ => Payload::Data(self.segment_number()),
        }
    }

    /// When the segment was sent; for an ACK, the segment that caused it.
    pub(crate) fn sent(&self) -> Instant {
        self.sent
    }

    /// Whether it carries an ACK of a receiver.
    #[inline(always)]
    pub(crate) fn is_ack(&self) -> bool {
        self.kind == Kind::Ack
    }

    /// Removes the ACK from a packet that has arrived.
    #[inline(always)]
    pub(crate) fn open_ack(&self, options: &mut PacketOptions) -> Ack {
        if self.options.is_bare() {
            return self.bare_ack(options.bare_acks.remove(self.options));
        }
        self.as_ack(options.acks.remove(self.options))
    }

    /// The segment or ACK in it, without removing it.
    pub(crate) fn peek(&self, options: &PacketOptions) -> Carried {
        match self.kind {
            Kind::Ack if self.options.is_bare() => {
                Carried::Ack(self.bare_ack(options.bare_acks.get(self.options)))
            }
            Kind::Ack => Carried::Ack(self.as_ack(options.acks.get(self.options))),
            Kind::WithOption => {
                let (option, echo_ms) = options.segments.get(self.options);
                Carried::Data(Segment {
                    option,
                    echo_ms,
                    ..self.segment()
                })
            }
            _ => Carried::Data(self.segment()),
        }
    }

    #[inline(always)]
    fn as_ack(&self, options: Options) -> Ack {
        Ack {
            ack: self.number,
            offset: options.offset,
            sack: options.sack,
            echo: options.echo,
            cause_sent: self.sent,
            option: options.option,
            window: options.window,
            stamp_ms: options.stamp_ms,
            extra_bytes: options.extra_bytes,
        }
    }

    #[inline(always)]
    fn bare_ack(&self, bare: Bare) -> Ack {
        Ack {
            ack: self.number,
            offset: 0,
            sack: SackBlocks::default(),
            echo: bare.echo,
            cause_sent: self.sent,
            option: AckOption::Nothing,
            window: bare.window,
            stamp_ms: bare.stamp_ms,
            extra_bytes: 0,
        }
    }

    /// The rate request it carries, for a router.
    pub(crate) fn request<'a>(&self, options: &'a mut PacketOptions) -> Option<&'a mut Request> {
        if self.kind != Kind::WithOption {
            return None;
        }
        match options.segments.slots.get_mut(self.options.0 as usize) {
            Some((Some(SegmentOption::Request(request)), _)) => Some(request),
            _ => None,
        }
    }

    #[inline(always)]
    fn segment_number(&self) -> Seq {
        self.number & ((1 << NUMBER_BITS) - 1)
    }

    /// The segment in a packet without an option.
    #[inline(always)]
    pub(crate) fn segment(&self) -> Segment {
        Segment {
            seq: self.segment_number(),
            offset: (self.number >> NUMBER_BITS) as u16,
            bytes: self.bytes,
            retransmission: self.flags.has(Flags::RETRANSMISSION),
            sent: self.sent,
            content: match self.kind {
                Kind::WindowProbe => Content::WindowProbe,
                Kind::Acknowledgment => Content::Acknowledgment,
                Kind::Challenge => Content::Challenge,
                _ => Content::Data,
            },
            push: self.flags.has(Flags::PUSH),
            ecn: self.flags.ecn(),
            cwr: self.flags.has(Flags::CWR),
            echo_ms: self.options.0,
            option: None,
        }
    }

    /// Whether it is neither data, a window probe nor an ACK of a receiver, or has an option, or an application
    /// waits for it.
    #[inline(always)]
    pub(crate) fn is_unusual(&self) -> bool {
        self.kind > Kind::Ack
    }

    /// Whether it has an option (see [`Self::open_with_option`]), or an application waits for it.
    pub(crate) fn is_unusual_data(&self) -> bool {
        matches!(self.kind, Kind::WithOption | Kind::ForApp)
    }

    /// Removes the segment from a packet that has arrived, with its option if it has one.
    #[inline(always)]
    pub(crate) fn open_with_option(&self, options: &mut PacketOptions) -> Segment {
        if self.kind != Kind::WithOption {
            return self.segment();
        }
        let (option, echo_ms) = options.remove_option(self.options);
        Segment {
            option,
            echo_ms,
            ..self.segment()
        }
    }

    /// Frees the options of a packet that will not arrive.
    pub(crate) fn discard(&self, options: &mut PacketOptions) {
        match self.kind {
            Kind::Ack => {
                self.open_ack(options);
            }
            Kind::StackData | Kind::StackAck | Kind::Stack => {
                options.remove_datagram(self.options);
            }
            Kind::WithOption => {
                options.segments.remove(self.options);
            }
            _ => {}
        }
    }
}

/// Index of a packet's options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OptionsId(u32);

impl OptionsId {
    const NONE: Self = Self(u32::MAX);
    /// The bit of those of [`Bare`].
    const BARE: u32 = 1 << 31;

    #[inline(always)]
    fn is_bare(self) -> bool {
        self.0 & Self::BARE != 0
    }

    #[inline(always)]
    fn index(self) -> usize {
        (self.0 & !Self::BARE) as usize
    }
}

/// Contents that few ACKs have; the others take no memory for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Options {
    sack: SackBlocks,
    echo: Option<Instant>,
    option: AckOption,
    window: Option<NonZeroU32>,
    stamp_ms: u32,
    offset: u16,
    extra_bytes: u8,
}

/// All that most ACKs have of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bare {
    echo: Option<Instant>,
    window: Option<NonZeroU32>,
    stamp_ms: u32,
}

/// The options of the packets in transit.
#[derive(Educe, Debug, Default)]
#[educe(Clone)]
pub(crate) struct PacketOptions {
    /// Routers on the path support rate requests, or at least decrement TTLs.
    routers: bool,
    acks: Slots<Options>,
    bare_acks: Slots<Bare>,
    /// Each with the value of [`Segment::echo_ms`].
    segments: Slots<(Option<SegmentOption>, u32)>,
    datagrams: Vec<Option<Datagram>>,
    free_datagrams: Vec<u32>,
}

impl PacketOptions {
    /// For a network with routers or without.
    pub(crate) fn new(routers: bool) -> Self {
        Self {
            routers,
            ..Self::default()
        }
    }

    #[inline(always)]
    fn insert(&mut self, ack: &Ack) -> OptionsId {
        let is_plain = ack.option == AckOption::Nothing && ack.sack.is_empty();
        if is_plain && ack.echo.is_none() && ack.window.is_none() {
            return OptionsId::NONE;
        }
        if is_plain && ack.offset == 0 && ack.extra_bytes == 0 {
            let id = self.bare_acks.insert(Bare {
                echo: ack.echo,
                window: ack.window,
                stamp_ms: ack.stamp_ms,
            });
            return OptionsId(id.0 | OptionsId::BARE);
        }
        self.insert_all(ack)
    }

    #[inline(never)]
    fn insert_all(&mut self, ack: &Ack) -> OptionsId {
        self.acks.insert(Options {
            sack: ack.sack,
            echo: ack.echo,
            option: ack.option,
            window: ack.window,
            stamp_ms: ack.stamp_ms,
            offset: ack.offset,
            extra_bytes: ack.extra_bytes,
        })
    }

    fn insert_datagram(&mut self, datagram: Datagram) -> OptionsId {
        if let Some(slot) = self.free_datagrams.pop() {
            self.datagrams[slot as usize] = Some(datagram);
            return OptionsId(slot);
        }
        self.datagrams.push(Some(datagram));
        OptionsId(self.datagrams.len() as u32 - 1)
    }

    fn remove_datagram(&mut self, id: OptionsId) -> Option<Datagram> {
        let datagram = self.datagrams.get_mut(id.0 as usize)?.take()?;
        self.free_datagrams.push(id.0);
        Some(datagram)
    }

    #[cold]
    fn strips(&self, option: Option<SegmentOption>) -> bool {
        !self.routers && matches!(option, Some(SegmentOption::Request(_)))
    }

    #[cold]
    fn remove_option(&mut self, id: OptionsId) -> (Option<SegmentOption>, u32) {
        self.segments.remove(id)
    }

    #[cold]
    fn insert_option(&mut self, segment: &Segment) -> OptionsId {
        self.segments.insert((segment.option, segment.echo_ms))
    }
}

/// Slots that are reused.
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

    fn get(&self, id: OptionsId) -> T {
        self.slots.get(id.index()).copied().unwrap_or_default()
    }

    #[inline]
    fn remove(&mut self, id: OptionsId) -> T {
        if id == OptionsId::NONE {
            return T::default();
        }
        self.free.push(id.index() as u32);
        self.slots[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use midflight_control::signal::HandoffMark;
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
            offset: 0,
            sack,
            echo: (number.is_multiple_of(2) || blocks == 0).then_some(Instant::from_nanos(number)),
            cause_sent: Instant::from_nanos(7),
            option: match number % 5 {
                0 => AckOption::Moved(HandoffMark {
                    number: 3,
                    sent: Instant::from_nanos(8),
                }),
                1 => AckOption::ZeroWindow,
                _ => AckOption::Nothing,
            },
            window: None,
            stamp_ms: 0,
            extra_bytes: 0,
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
                assert!(packet.is_ack());
                assert_eq!(packet.open_ack(&mut options), sent);
            }
        }
        assert_eq!(
            options.acks.slots.len() + options.bare_acks.slots.len(),
            5,
            "every ACK of a round has options"
        );
    }
}
