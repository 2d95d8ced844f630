//! The options of a TCP header (RFC 9293 section 3.1): maximum segment size,
//! window scale and timestamps (RFC 7323), SACK (RFC 2018), Quick-Start's
//! response (RFC 4782 section 4.2), and midflight's own in the format of RFC
//! 6994, with identifiers that are not registered.

use midflight_control::estimate::Estimate;
use midflight_control::quick_start::{Nonce, RateCode, Response};
use midflight_control::signal::HandoffMark;
use midflight_tcp::AckOption;
use midflight_units::{Instant, Rate};

use crate::header::{be16, be32, WireError};

/// Maximum number of option bytes in a TCP header (RFC 9293 section 3.1).
pub(crate) const MOST_OPTIONS: usize = 40;
/// Largest shift of a window (RFC 7323 section 2.3).
pub const MOST_SHIFT: u8 = 14;
/// Length of the timestamps option with its padding (RFC 7323 appendix A).
pub const TIMESTAMP_BYTES: u32 = 12;

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
/// RFC 4782 section 4.2.
const QUICK_START_RESPONSE: u8 = 27;
/// For experiments (RFC 6994); the identifiers after it are ours.
const EXPERIMENT: u8 = 253;
const HANDOFF_MARK: u16 = 0x4D46;
const TRAIN: u16 = 0x4D47;
const ESTIMATE: u16 = 0x4D48;

/// The highest rate in an estimate's 6 bytes, in bit/s.
const MOST_RATE: u64 = (1 << 48) - 1;

/// The options of a header; unknown ones are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size, in bytes of data.
    pub mss: Option<u16>,
    /// The window scale.
    pub window_scale: Option<u8>,
    /// SACK may be sent.
    pub sack_permitted: bool,
    /// Value and echo of the timestamps.
    pub timestamps: Option<(u32, u32)>,
    /// At most one experimental option; if a packet has several the last one counts.
    pub extra: Option<Extra>,
    /// SACK blocks.
    pub sack: Blocks,
}

/// At most four SACK blocks: the sequence number of the first byte, and one past the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    edges: [(u32, u32); 4],
    len: u8,
}

impl Blocks {
    /// Appends a block; returns false if there are four already.
    pub fn push(&mut self, left: u32, right: u32) -> bool {
        let free = self.edges.get_mut(usize::from(self.len));
        free.map(|edges| *edges = (left, right))
            .inspect(|()| self.len += 1)
            .is_some()
    }

    /// The blocks in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.edges.iter().copied().take(self.len())
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether there is no block.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// An experimental option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    /// A segment's place in a train that the receiver must measure.
    Train {
        /// Number of the train.
        number: u16,
        /// Place of the segment, from 0.
        index: u16,
        /// Segments of the train.
        segments: u16,
    },
    /// The handoff mark of an ACK.
    Mark {
        /// Number of the handoff, from 1.
        number: u16,
        /// When the mobile node sent it, by that node's [`clock`].
        sent: u32,
    },
    /// An estimate of the receiver. The rate takes 6 bytes and is 0 if there is none.
    Estimate(Estimate),
    /// The response to a rate request (RFC 4782 section 4.2).
    Response(Response),
}

/// The timestamp clock, which ticks in milliseconds (RFC 7323 section 5.4).
pub fn clock(at: Instant) -> u32 {
    (at.as_nanos() / 1_000_000) as u32
}

impl Extra {
    /// The option that encodes an ACK's option.
    pub fn of(option: AckOption) -> Option<Self> {
        match option {
            AckOption::Moved(mark) => Some(Self::Mark {
                number: mark.number as u16,
                sent: clock(mark.sent),
            }),
            AckOption::Measured { train, rate } => Some(Self::Estimate(Estimate { train, rate })),
            AckOption::Approved(response) => Some(Self::Response(response)),
            AckOption::Nothing
            | AckOption::ZeroWindow
            | AckOption::Standby
            | AckOption::Congested
            | AckOption::CongestedUpdate
            | AckOption::Partial { .. }
            | AckOption::From(_) => None,
        }
    }

    /// The ACK's option that it encodes; none for a segment's place in a train.
    pub fn option(self) -> Option<AckOption> {
        match self {
            Self::Train { .. } => None,
            Self::Mark { number, sent } => Some(AckOption::Moved(HandoffMark {
                number: u32::from(number),
                sent: Instant::from_nanos(u64::from(sent) * 1_000_000),
            })),
            Self::Estimate(estimate) => Some(estimate.into()),
            Self::Response(response) => Some(AckOption::Approved(response)),
        }
    }

    fn push(self, bytes: &mut Vec<u8>) {
        match self {
            Self::Train {
                number,
                index,
                segments,
            } => {
                bytes.extend([NOP, NOP, EXPERIMENT, 10]);
                for field in [TRAIN, number, index, segments] {
                    bytes.extend(field.to_be_bytes());
                }
            }
            Self::Mark { number, sent } => {
                bytes.extend([NOP, NOP, EXPERIMENT, 10]);
                bytes.extend(HANDOFF_MARK.to_be_bytes());
                bytes.extend(number.to_be_bytes());
                bytes.extend(sent.to_be_bytes());
            }
            Self::Estimate(Estimate { train, rate }) => {
                bytes.extend([EXPERIMENT, 12]);
                bytes.extend(ESTIMATE.to_be_bytes());
                bytes.extend(train.to_be_bytes());
                let bps = rate.map_or(0, Rate::as_bps).min(MOST_RATE);
                bytes.extend(&bps.to_be_bytes()[2..]);
            }
            Self::Response(Response {
                rate,
                ttl_diff,
                nonce,
            }) => {
                bytes.extend([QUICK_START_RESPONSE, 8, rate.code(), ttl_diff]);
                bytes.extend((nonce.bits() << 2).to_be_bytes());
            }
        }
    }

    /// Reads one of our experimental options; none for others.
    fn read(value: &[u8]) -> Option<Self> {
        let field = |at| be16(value, at);
        match (field(0)?, value.len()) {
            (TRAIN, 8) => Some(Self::Train {
                number: field(2)?,
                index: field(4)?,
                segments: field(6)?,
            }),
            (HANDOFF_MARK, 8) => Some(Self::Mark {
                number: field(2)?,
                sent: be32(value, 4)?,
            }),
            (ESTIMATE, 10) => Some(Self::Estimate(Estimate {
                train: field(2)?,
                rate: Rate::from_bps(u64::from(field(4)?) << 32 | u64::from(be32(value, 6)?)),
            })),
            _ => None,
        }
    }
}

/// The nonce in 4 bytes, whose lowest 2 bits are reserved (RFC 4782 section 3.1).
pub(crate) fn nonce(field: u32) -> Nonce {
    Nonce::new(u64::from(field >> 2))
}

/// The rate in the lower half of a byte.
pub(crate) fn rate_code(byte: u8) -> RateCode {
    RateCode::new(byte & 0xF).unwrap_or_default()
}

impl Options {
    /// How many SACK blocks fit besides the other options.
    pub fn room_for_blocks(&self) -> usize {
        let others = Self {
            sack: Blocks::default(),
            ..*self
        };
        (MOST_OPTIONS - others.bytes().len()).saturating_sub(4) / 8
    }

    /// The options as bytes of a header, a multiple of 4.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(MOST_OPTIONS);
        if let Some(mss) = self.mss {
            bytes.extend([MSS, 4]);
            bytes.extend(mss.to_be_bytes());
        }
        if let Some(shift) = self.window_scale {
            bytes.extend([NOP, WINDOW_SCALE, 3, shift]);
        }
        if self.sack_permitted {
            bytes.extend([NOP, NOP, SACK_PERMITTED, 2]);
        }
        if let Some((value, echo)) = self.timestamps {
            bytes.extend([NOP, NOP, TIMESTAMPS, 10]);
            bytes.extend(value.to_be_bytes());
            bytes.extend(echo.to_be_bytes());
        }
        if let Some(extra) = self.extra {
            extra.push(&mut bytes);
        }
        if !self.sack.is_empty() {
            bytes.extend([NOP, NOP, SACK, 2 + 8 * self.sack.len]);
            for (left, right) in self.sack.iter() {
                bytes.extend(left.to_be_bytes());
                bytes.extend(right.to_be_bytes());
            }
        }
        bytes
    }

    /// Reads the options of a header.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, WireError> {
        let mut options = Self::default();
        for option in split("TCP", bytes) {
            let (kind, value) = option?;
            let wrong = |accepted| WireError::Option {
                what: "TCP",
                kind,
                length: value.len() + 2,
                accepted,
            };
            match kind {
                MSS => match (value.len(), be16(value, 0)) {
                    (2, Some(mss)) => options.mss = Some(mss),
                    _ => return Err(wrong("4")),
                },
                WINDOW_SCALE => match value {
                    [shift] => options.window_scale = Some(*shift),
                    _ => return Err(wrong("3")),
                },
                SACK_PERMITTED if value.is_empty() => options.sack_permitted = true,
                SACK_PERMITTED => return Err(wrong("2")),
                SACK => {
                    options.sack = Blocks::default();
                    if value.len() % 8 != 0 || value.is_empty() {
                        return Err(wrong("10, 18, 26 or 34"));
                    }
                    for block in value.chunks(8) {
                        if let (Some(left), Some(right)) = (be32(block, 0), be32(block, 4)) {
                            options.sack.push(left, right);
                        }
                    }
                }
                TIMESTAMPS => match (value.len(), be32(value, 0), be32(value, 4)) {
                    (8, Some(value), Some(echo)) => options.timestamps = Some((value, echo)),
                    _ => return Err(wrong("10")),
                },
                QUICK_START_RESPONSE => match (value, be32(value, 2)) {
                    (&[rate, ttl_diff, _, _, _, _], Some(field)) => {
                        options.extra = Some(Extra::Response(Response {
                            rate: rate_code(rate),
                            ttl_diff,
                            nonce: nonce(field),
                        }));
                    }
                    _ => return Err(wrong("8")),
                },
                EXPERIMENT => options.extra = Extra::read(value).or(options.extra),
                _ => {}
            }
        }
        Ok(options)
    }
}

/// The options in `bytes`, each with its kind and its value, up to the end of the list. IP has the
/// same format (RFC 791 section 3.1).
pub(crate) fn split<'a>(
    what: &'static str,
    bytes: &'a [u8],
) -> impl Iterator<Item = Result<(u8, &'a [u8]), WireError>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        while let [NOP, after @ ..] = rest {
            rest = after;
        }
        let kind = *rest.first().filter(|kind| **kind != END)?;
        let length = rest.get(1).copied().map_or(0, usize::from);
        let found = rest.get(2..length);
        rest = rest
            .get(length..)
            .filter(|_| found.is_some())
            .unwrap_or_default();
        Some(found.map(|value| (kind, value)).ok_or(WireError::Option {
            what,
            kind,
            length,
            accepted: "2 or more, up to the end of the header",
        }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_options_and_padding_are_passed_over() {
        let bytes = [
            NOP, 200, 4, 9, 9, MSS, 4, 5, 180, EXPERIMENT, 4, 1, 2, END, 77,
        ];
        let read = Options::read(&bytes);
        let mss = Some(1460);
        assert_eq!(
            read,
            Ok(Options {
                mss,
                ..Options::default()
            })
        );
    }

    #[test]
    fn an_option_of_a_wrong_length_is_named() {
        for (bytes, words) in [
            (
                &[MSS, 3, 5][..],
                "option 2 of the TCP header has 3 bytes; accepted lengths: 4",
            ),
            (
                &[WINDOW_SCALE, 4, 1, 1],
                "option 3 of the TCP header has 4 bytes; accepted lengths: 3",
            ),
            (
                &[SACK_PERMITTED, 3, 0],
                "option 4 of the TCP header has 3 bytes; accepted lengths: 2",
            ),
            (
                &[SACK, 9, 0, 0, 0, 0, 0, 0, 0],
                "accepted lengths: 10, 18, 26 or 34",
            ),
            (&[SACK, 2], "accepted lengths: 10, 18, 26 or 34"),
            (
                &[TIMESTAMPS, 9, 0, 0, 0, 0, 0, 0, 0],
                "accepted lengths: 10",
            ),
            (&[QUICK_START_RESPONSE, 4, 0, 0], "accepted lengths: 8"),
            (
                &[200, 1],
                "option 200 of the TCP header has 1 bytes; accepted lengths: 2 or more",
            ),
            (&[200, 0], "has 0 bytes"),
            (
                &[200, 5, 1, 2],
                "has 5 bytes; accepted lengths: 2 or more, up to the end",
            ),
            (&[200], "has 0 bytes"),
        ] {
            let said = Options::read(bytes).err().map(|e| e.to_string());
            assert!(
                said.as_ref().is_some_and(|s| s.contains(words)),
                "{bytes:?}: {said:?}"
            );
        }
    }

    #[test]
    fn the_content_of_an_ack_is_the_same_after_the_wire() {
        let ms = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let mark = HandoffMark {
            number: 7,
            sent: ms(1234),
        };
        let response = Response {
            rate: RateCode::MOST,
            ttl_diff: 3,
            nonce: Nonce::new(99),
        };
        for option in [
            AckOption::Moved(mark),
            AckOption::Measured {
                train: 3,
                rate: Rate::from_bps(5_000_000),
            },
            AckOption::Measured {
                train: 3,
                rate: None,
            },
            AckOption::Approved(response),
        ] {
            assert_eq!(Extra::of(option).and_then(Extra::option), Some(option));
        }
        assert_eq!(Extra::of(AckOption::Nothing), None);
    }

    #[test]
    fn blocks_share_the_room_with_other_options() {
        let mut options = Options::default();
        assert_eq!(options.room_for_blocks(), 4);
        options.timestamps = Some((1, 2));
        assert_eq!(options.room_for_blocks(), 3);
        options.extra = Some(Extra::Mark { number: 1, sent: 2 });
        assert_eq!(options.room_for_blocks(), 1);
        let mut blocks = Blocks::default();
        let pushed: Vec<bool> = (0..5).map(|i| blocks.push(i, i + 1)).collect();
        assert_eq!(pushed, [true, true, true, true, false]);
    }
}
