//! Segments and ACKs between sender and receiver.

use std::num::NonZeroU32;

use midflight_control::estimate::Estimate;
use midflight_control::quick_start::{Nonce, RateCode, Request, Response};
use midflight_control::signal::HandoffMark;
use midflight_control::Measure;
use midflight_units::{Instant, Rate, Seq};

use crate::config::PATH_FRAME_BYTES;
use crate::sizes::{first_byte, segment_of};

/// Bytes of an IP and TCP header without options.
pub const ACK_HEADER_BYTES: u32 = 40;
/// Bytes that one SACK block adds to an ACK (RFC 2018 section 3).
const SACK_BLOCK_BYTES: u32 = 8;
/// Bytes of the timestamps option with padding (RFC 7323 section 3).
const TIMESTAMP_BYTES: u32 = 12;
/// Bytes of the option that reports an estimate, with padding: kind, length, the train's number (2) and a rate in bit/s
/// (6) are 10.
const ESTIMATE_BYTES: u32 = 12;
/// Bytes of a SYN's options besides timestamps.
pub(crate) const SYN_OPTIONS: u8 = 8;
/// Bytes of the Quick-Start response option (RFC 4782 section 4.2).
const RESPONSE_BYTES: u32 = 8;

/// The value of [`Ack::extra_bytes`] that marks an ACK of a QUIC receiver, whose size is computed differently.
pub(crate) const QUIC_ACK: u8 = u8::MAX;
/// Bytes of a QUIC ACK with one range: IPv4 and UDP (28), a short header (11), the tag (16), and the frame: type (1),
/// largest (4), delay (2), count (1) and first range (2).
const QUIC_ACK_BYTES: u32 = 28 + 11 + 16 + 10;
/// Bytes that each further range adds.
const QUIC_RANGE_BYTES: u32 = 3;

/// A data segment, the SYN or a window probe, as sent by the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its segment number.
    pub seq: Seq,
    /// Offset in bytes from the start of that segment number, for a segment that a closing window has split. 0
    /// otherwise.
    pub offset: u16,
    /// Size on the wire in bytes.
    pub bytes: u32,
    /// It is a retransmission.
    pub retransmission: bool,
    /// When it was sent; also the value of its timestamp option.
    pub sent: Instant,
    /// What it is for.
    pub content: Content,
    /// The PSH flag: the data must be passed to the application. Only the Linux sender sets this.
    pub push: bool,
    /// The ECN field of its IP header.
    pub ecn: EcnCodepoint,
    /// The sender has reduced its window because of an echo of congestion (CWR, RFC 3168 section 6.1.2).
    pub cwr: bool,
    /// The echoed timestamp, in milliseconds of the receiver's clock; 0 for none. Only the Linux receiver uses it. For
    /// a QUIC receiver it is the packet number ([`Self::packet_number`]).
    pub echo_ms: u32,
    /// Its option, if it has one; most have none.
    pub option: Option<SegmentOption>,
}

/// The ECN field of an IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnCodepoint {
    /// Not-ECT: the sender does not support ECN.
    #[default]
    NotCapable,
    /// ECT(1), set by L4S senders (RFC 9331).
    LowLatency,
    /// ECT(0).
    Capable,
    /// CE: a queue has marked congestion.
    Congestion,
}

/// The purpose of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// The SYN, or data.
    #[default]
    Data,
    /// A window probe: it repeats an acknowledged number, without data.
    WindowProbe,
    /// It acknowledges the receiver's SYN, without data.
    Acknowledgment,
    /// It validates a path (PATH_CHALLENGE, RFC 9000 section 8.2). Its number is that of the frame, and it has no data.
    Challenge,
}

impl Segment {
    /// Whether it is the SYN or has data.
    #[inline]
    pub fn has_data(&self) -> bool {
        self.content == Content::Data
    }

    /// Whether it has no data and is not a window probe.
    #[inline]
    pub fn is_empty(&self) -> bool {
        matches!(self.content, Content::Acknowledgment | Content::Challenge)
    }

    /// Its packet number, if the sender is a QUIC sender.
    pub fn packet_number(&self) -> u64 {
        self.echo_ms.into()
    }

    /// Its place in a train that the receiver must measure.
    pub fn train(&self) -> Option<TrainMark> {
        match self.option {
            Some(SegmentOption::Train(mark)) => Some(mark),
            _ => None,
        }
    }
}

/// An option of a segment. It replaces as many bytes of data: the segment does not become larger on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentOption {
    /// Its place in a train that the receiver must measure (kind, length, and three numbers of 2 bytes).
    Train(TrainMark),
    /// A rate request (RFC 4782 section 3.1).
    Request(Request),
    /// A report of the rate that was approved, with the nonce of the request (RFC 4782 section 3.1).
    Report(RateCode, Nonce),
}

/// A segment's place in a train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainMark {
    /// Number of the train.
    pub number: u16,
    /// Place of the segment, from 0.
    pub index: u16,
    /// Segments of the train.
    pub segments: u16,
    /// What the receiver measures.
    pub measure: Measure,
}

/// A block of segments above the cumulative ACK (RFC 2018 section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackBlock {
    /// First segment of the block.
    pub left: Seq,
    /// One past the last segment of the block.
    pub right: Seq,
}

/// At most four SACK blocks, the most recent first (a DSACK block before it).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    // Left edge relative to the ACK number, and length: half the size of two sequence numbers. The unit is segments or,
    // if `unit` is not 0, bytes, with `unit` bytes per segment.
    blocks: [(i32, u32); 4],
    len: u8,
    unit: u16,
}

impl SackBlocks {
    /// Appends a block, relative to the ACK number `ack`. A fifth block, or one further from the ACK than 2^31
    /// segments, is dropped.
    pub fn push(&mut self, ack: Seq, block: SackBlock) {
        self.add(ack, block);
    }

    /// Blocks in bytes, with `unit` bytes per segment; `unit` 0 means blocks in segments.
    pub(crate) fn of_bytes(unit: u16) -> Self {
        Self {
            unit,
            ..Self::default()
        }
    }

    /// Appends a block of bytes to blocks in bytes, relative to the first byte of segment `ack`.
    pub(crate) fn push_bytes(&mut self, ack: Seq, block: SackBlock) {
        self.add(first_byte(ack, self.unit.into()), block);
    }

    fn add(&mut self, ack: Seq, block: SackBlock) {
        let offset = i32::try_from(block.left.wrapping_sub(ack) as i64);
        let length = u32::try_from(block.right.wrapping_sub(block.left));
        if let (Ok(offset), Ok(length), true) = (offset, length, self.len < 4) {
            self.blocks[usize::from(self.len)] = (offset, length);
            self.len += 1;
        }
    }

    /// The same blocks, relative to another ACK number.
    #[must_use]
    pub fn relative_to(&self, ack: Seq, other: Seq) -> Self {
        let unit = u64::from(self.unit.max(1));
        let by = ack.wrapping_sub(other).wrapping_mul(unit) as i64;
        let mut blocks = Self { len: 0, ..*self };
        for &(offset, length) in &self.blocks[..self.len()] {
            if let Ok(offset) = i32::try_from(i64::from(offset) + by) {
                blocks.blocks[usize::from(blocks.len)] = (offset, length);
                blocks.len += 1;
            }
        }
        blocks
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether there is no block.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The blocks of an ACK numbered `ack`, in the order they were added. A block in bytes includes its first segment
    /// if that is partly covered, but not its last.
    pub fn iter(&self, ack: Seq) -> impl Iterator<Item = SackBlock> + '_ {
        let unit = u64::from(self.unit);
        let base = if unit == 0 {
            ack
        } else {
            first_byte(ack, unit)
        };
        self.raw(base).map(move |block| match unit {
            0 => block,
            unit => SackBlock {
                left: segment_of(block.left, unit).0,
                right: segment_of(block.right, unit).0,
            },
        })
    }

    /// The same in bytes, where a full segment has `unit` bytes and the first one begins at byte 1.
    pub fn bytes(&self, ack: Seq, unit: u64) -> impl Iterator<Item = SackBlock> + '_ {
        let in_segments = self.unit == 0;
        let base = if in_segments {
            ack
        } else {
            first_byte(ack, unit)
        };
        let in_bytes = move |block: SackBlock| SackBlock {
            left: first_byte(block.left, unit),
            right: first_byte(block.right, unit),
        };
        self.raw(base)
            .map(move |block| if in_segments { in_bytes(block) } else { block })
    }

    fn raw(&self, base: Seq) -> impl Iterator<Item = SackBlock> + '_ {
        self.blocks[..self.len()]
            .iter()
            .map(move |&(offset, length)| {
                let left = base.wrapping_add(i64::from(offset) as u64);
                SackBlock {
                    left,
                    right: left.wrapping_add(u64::from(length)),
                }
            })
    }
}

/// An ACK, as sent by the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Next segment expected.
    pub ack: Seq,
    /// Bytes of that segment that have arrived; see [`Segment::offset`].
    pub offset: u16,
    /// SACK blocks.
    pub sack: SackBlocks,
    /// Echo of the timestamp option, where timestamps are in use.
    pub echo: Option<Instant>,
    /// When the segment that caused this ACK was sent. Ground truth for judging timeouts; no sender uses it.
    pub cause_sent: Instant,
    /// Its option.
    pub option: AckOption,
    /// The receiver's window in bytes, counted from the ACK number; none if the receiver does not advertise one and the
    /// sender uses its setting.
    pub window: Option<NonZeroU32>,
    /// Its own timestamp in milliseconds of the receiver's clock; 0 if it is not used.
    pub stamp_ms: u32,
    /// Bytes of options that [`Self::bytes`] does not count otherwise: those of a SYN, and the padding of Linux.
    pub extra_bytes: u8,
}

/// The option of an ACK; most have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AckOption {
    /// No option.
    #[default]
    Nothing,
    /// The receiver's window is zero.
    ZeroWindow,
    /// A node on the way cannot deliver segments, and the sender stops until it can (ELFN's standby state).
    Standby,
    /// A segment had a CE mark, and the sender has not responded yet (ECE, RFC 3168 section 6.1.3).
    Congested,
    /// The same of a segment that is never a duplicate: it has data, or another window (RFC 5681 section 2).
    CongestedUpdate,
    /// Handoff mark: the receiver is on another link.
    Moved(HandoffMark),
    /// The report of a train. It is sent once: if the ACK is lost, the report is lost.
    Measured {
        /// Number of the train.
        train: u16,
        /// The measured rate; none if a segment was missing.
        rate: Option<Rate>,
    },
    /// The response to a rate request (RFC 4782 section 4.2). It is also sent once (section 4.3).
    Approved(Response),
    /// It acknowledges a part of its segment: `done` of `of` parts. A receiver that splits ACKs sends this.
    Partial {
        /// The number of parts that it acknowledges.
        done: u8,
        /// The number of all parts.
        of: u8,
    },
    /// The address of a QUIC receiver has changed: each of its packets has this source.
    From(Source),
}

/// The source address of a node's packets after its address has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// How many addresses the node has had before this one.
    pub epoch: u16,
    /// Number of the address; an earlier address may come back.
    pub address: u16,
    /// Only the port has changed.
    pub port_only: bool,
    /// The packet is the response to the PATH_CHALLENGE for this address (PATH_RESPONSE).
    pub answers: Option<u16>,
}

impl AckOption {
    /// Whether the sender may not send new data.
    pub fn closes(self) -> bool {
        matches!(self, Self::ZeroWindow | Self::Standby)
    }

    /// The report of a train.
    pub fn measured(self) -> Option<Estimate> {
        match self {
            Self::Measured { train, rate } => Some(Estimate { train, rate }),
            _ => None,
        }
    }
}

impl From<Estimate> for AckOption {
    fn from(Estimate { train, rate }: Estimate) -> Self {
        Self::Measured { train, rate }
    }
}

impl Ack {
    /// Whether it is a QUIC ACK, whose blocks are ranges of packet numbers.
    pub fn is_quic(&self) -> bool {
        self.extra_bytes == QUIC_ACK
    }

    /// Whether it acknowledges the SYN and carries the receiver's SYN. Only the Linux receiver sets this.
    pub(crate) fn is_syn(&self) -> bool {
        self.extra_bytes == SYN_OPTIONS
    }

    /// Size on the wire in bytes.
    pub fn bytes(&self) -> u32 {
        if self.is_quic() {
            let ranges = u32::from(self.sack.len).saturating_sub(1);
            let bytes = QUIC_ACK_BYTES + QUIC_RANGE_BYTES * ranges;
            return match self.option {
                AckOption::From(Source {
                    answers: Some(_), ..
                }) => bytes.max(PATH_FRAME_BYTES),
                _ => bytes,
            };
        }
        let timestamps = if self.echo.is_some() {
            TIMESTAMP_BYTES
        } else {
            0
        };
        let estimate = match self.option {
            AckOption::Measured { .. } => ESTIMATE_BYTES,
            AckOption::Approved(_) => RESPONSE_BYTES,
            _ => 0,
        };
        let blocks = SACK_BLOCK_BYTES * u32::from(self.sack.len);
        ACK_HEADER_BYTES + timestamps + estimate + blocks + u32::from(self.extra_bytes)
    }
}

impl Segment {
    /// A data segment of this many bytes on the wire, without anything special.
    pub fn plain(seq: Seq, bytes: u32, sent: Instant) -> Self {
        Self {
            seq,
            bytes,
            retransmission: false,
            sent,
            content: Content::Data,
            push: false,
            ecn: EcnCodepoint::NotCapable,
            cwr: false,
            echo_ms: 0,
            offset: 0,
            option: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_bytes_are_segments_too() {
        let of = |blocks: Vec<SackBlock>| -> Vec<(Seq, Seq)> {
            blocks.iter().map(|b| (b.left, b.right)).collect()
        };
        let mut sack = SackBlocks::of_bytes(1000);
        let (left, right) = (12_501, 14_701);
        sack.push_bytes(11, SackBlock { left, right });
        assert_eq!(of(sack.iter(11).collect()), [(13, 15)]);
        assert_eq!(of(sack.bytes(11, 1000).collect()), [(12_501, 14_701)]);
        let moved = sack.relative_to(11, 9);
        assert_eq!(of(moved.bytes(9, 1000).collect()), [(12_501, 14_701)]);
        let mut whole = SackBlocks::default();
        let (left, right) = (13, 15);
        whole.push(11, SackBlock { left, right });
        assert_eq!(of(whole.bytes(11, 1000).collect()), [(12_001, 14_001)]);
        assert_eq!(of(whole.relative_to(11, 12).iter(12).collect()), [(13, 15)]);
    }

    #[test]
    fn blocks_keep_their_order_and_edges() {
        let mut sack = SackBlocks::default();
        sack.push(
            100,
            SackBlock {
                left: 110,
                right: 120,
            },
        );
        sack.push(
            100,
            SackBlock {
                left: 98,
                right: 99,
            },
        );
        let blocks: Vec<_> = sack.iter(100).collect();
        assert_eq!(
            blocks,
            [
                SackBlock {
                    left: 110,
                    right: 120
                },
                SackBlock {
                    left: 98,
                    right: 99
                }
            ]
        );
        let ack = Ack {
            ack: 100,
            offset: 0,
            sack,
            echo: None,
            cause_sent: Instant::ZERO,
            option: AckOption::Nothing,
            window: None,
            stamp_ms: 0,
            extra_bytes: 0,
        };
        assert_eq!(ack.bytes(), 56);
    }
}
