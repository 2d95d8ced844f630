//! The frames of a QUIC packet (RFC 9000 section 19), as far as a ledger of data and acknowledgments
//! and a list of path events need them.

/// A frame that matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame<'a> {
    /// Bytes of a stream.
    Stream {
        id: u64,
        offset: u64,
        length: u64,
    },
    /// An acknowledgment of packets of a path.
    Ack(u64, Ranges<'a>),
    /// Something else that is acknowledged.
    Eliciting,
    PathChallenge,
    PathResponse,
    /// Nothing that is acknowledged.
    Other,
}

/// A cursor over bytes.
#[derive(Clone, Copy, Debug)]
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: u64) -> Option<&'a [u8]> {
        let count = usize::try_from(count).ok()?;
        let (taken, rest) = (self.0.get(..count)?, self.0.get(count..)?);
        self.0 = rest;
        Some(taken)
    }

    /// A variable-length integer (RFC 9000 section 16).
    fn number(&mut self) -> Option<u64> {
        let first = *self.0.first()?;
        let bytes = self.bytes(1 << (first >> 6))?;
        let whole = bytes
            .iter()
            .fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        // The two highest bits say how long it is.
        Some(whole & (u64::MAX >> 2 >> (64 - 8 * bytes.len())))
    }

    fn numbers(&mut self, count: usize) -> Option<()> {
        (0..count).try_for_each(|_| self.number().map(|_| ()))
    }
}

/// The ranges of packet numbers that an acknowledgment names, from the highest down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ranges<'a> {
    /// The highest number of the next range, and how many there are below it in the range.
    next: Option<(u64, u64)>,
    left: u64,
    rest: &'a [u8],
}

impl Iterator for Ranges<'_> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        let (last, more) = self.next.take()?;
        let first = last.checked_sub(more)?;
        if self.left > 0 {
            self.left -= 1;
            let mut rest = Reader(self.rest);
            let gap = rest.number()?;
            let length = rest.number()?;
            self.rest = rest.0;
            self.next = first.checked_sub(gap + 2).map(|next| (next, length));
        }
        Some((first, last))
    }
}

/// The frames of a packet's payload. What cannot be read ends it: such a packet ends its connection too.
#[derive(Clone, Debug)]
pub(crate) struct Frames<'a>(Reader<'a>);

impl<'a> Frames<'a> {
    pub(crate) fn new(payload: &'a [u8]) -> Self {
        Self(Reader(payload))
    }

    fn read(&mut self) -> Option<Frame<'a>> {
        let reader = &mut self.0;
        let kind = reader.number()?;
        let frame = match kind {
            0x00 => {
                let padding = reader.0.iter().take_while(|&&byte| byte == 0).count();
                reader.bytes(padding as u64)?;
                Frame::Other
            }
            0x01 | 0x1e | 0x1f => Frame::Eliciting,
            // ACK, and PATH_ACK of draft-ietf-quic-multipath section 4.1.
            0x02 | 0x03 | 0x3e | 0x3f => {
                let path = if kind < 0x3e { 0 } else { reader.number()? };
                let largest = reader.number()?;
                let _delay = reader.number()?;
                let (left, length) = (reader.number()?, reader.number()?);
                let rest = reader.0;
                reader.numbers(usize::try_from(left).ok()?.checked_mul(2)?)?;
                if kind & 1 == 1 {
                    reader.numbers(3)?;
                }
                let next = Some((largest, length));
                Frame::Ack(path, Ranges { next, left, rest })
            }
            0x04 => {
                reader.numbers(3)?;
                Frame::Eliciting
            }
            // Those of draft-ietf-quic-multipath: PATH_ABANDON, PATH_STATUS_BACKUP, PATH_STATUS_AVAILABLE.
            0x05 | 0x11 | 0x15 | 0x3e75..=0x3e77 => {
                reader.numbers(2)?;
                Frame::Eliciting
            }
            0x06 => {
                reader.number()?;
                let length = reader.number()?;
                reader.bytes(length)?;
                Frame::Eliciting
            }
            0x07 => {
                let length = reader.number()?;
                reader.bytes(length)?;
                Frame::Eliciting
            }
            0x08..=0x0f => {
                let id = reader.number()?;
                let offset = if kind & 4 == 0 { 0 } else { reader.number()? };
                let length = if kind & 2 == 0 {
                    reader.0.len() as u64
                } else {
                    reader.number()?
                };
                reader.bytes(length)?;
                Frame::Stream { id, offset, length }
            }
            0x10 | 0x12 | 0x13 | 0x14 | 0x16 | 0x17 | 0x19 => {
                reader.number()?;
                Frame::Eliciting
            }
            0x18 => {
                reader.numbers(2)?;
                let length = reader.bytes(1)?[0];
                reader.bytes(u64::from(length) + 16)?;
                Frame::Eliciting
            }
            0x1a | 0x1b => {
                reader.bytes(8)?;
                if kind == 0x1a {
                    Frame::PathChallenge
                } else {
                    Frame::PathResponse
                }
            }
            0x1c | 0x1d => {
                reader.numbers(if kind == 0x1c { 2 } else { 1 })?;
                let length = reader.number()?;
                reader.bytes(length)?;
                Frame::Other
            }
            // ACK_FREQUENCY (draft-ietf-quic-ack-frequency).
            0xaf => {
                reader.numbers(4)?;
                Frame::Eliciting
            }
            // draft-ietf-quic-multipath: PATH_NEW_CONNECTION_ID.
            0x3e78 => {
                reader.numbers(3)?;
                let length = reader.bytes(1)?[0];
                reader.bytes(u64::from(length) + 16)?;
                Frame::Eliciting
            }
            // PATH_RETIRE_CONNECTION_ID, MAX_PATH_ID, PATHS_BLOCKED, PATH_CIDS_BLOCKED.
            0x3e79..=0x3e7c => {
                reader.numbers(if kind == 0x3e7a || kind == 0x3e7b {
                    1
                } else {
                    2
                })?;
                Frame::Eliciting
            }
            // DATAGRAM (RFC 9221).
            0x30 | 0x31 => {
                let length = if kind == 0x30 {
                    reader.0.len() as u64
                } else {
                    reader.number()?
                };
                reader.bytes(length)?;
                Frame::Eliciting
            }
            _ => return None,
        };
        Some(frame)
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    fn next(&mut self) -> Option<Frame<'a>> {
        if self.0 .0.is_empty() {
            return None;
        }
        let frame = self.read();
        if frame.is_none() {
            self.0 = Reader(&[]);
        }
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_rfc() {
        // RFC 9000 appendix A.1.
        let vectors: [(&[u8], u64); 5] = [
            (
                &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c],
                151_288_809_941_952_652,
            ),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
            (&[0x40, 0x25], 37),
        ];
        for (bytes, value) in vectors {
            assert_eq!(Reader(bytes).number(), Some(value));
            assert_eq!(Reader(&bytes[..bytes.len() - 1]).number(), None);
        }
    }

    #[test]
    fn frames_are_distinguished() {
        // Padding, ACK of 9 to 7 and 4 to 2, STREAM 3 from 64 on with 2 bytes, PATH_CHALLENGE, STREAM to the end.
        let mut bytes = vec![
            0, 0, 0x02, 9, 0, 1, 2, 1, 2, 0x0e, 3, 0x40, 64, 2, 7, 7, 0x1a,
        ];
        bytes.extend([1; 8]);
        bytes.extend([0x08, 7, 5, 5, 5]);
        let frames: Vec<Frame> = Frames::new(&bytes).collect();
        assert!(matches!(
            frames[..],
            [Frame::Other, Frame::Ack(0, _), _, _, _]
        ));
        let Frame::Ack(_, ranges) = frames[1].clone() else {
            return;
        };
        assert_eq!(ranges.collect::<Vec<_>>(), [(7, 9), (2, 4)]);
        assert_eq!(
            frames[2..],
            [
                Frame::Stream {
                    id: 3,
                    offset: 64,
                    length: 2
                },
                Frame::PathChallenge,
                Frame::Stream {
                    id: 7,
                    offset: 0,
                    length: 3
                },
            ]
        );
    }

    #[test]
    fn frames_of_several_paths_are_read() {
        // PATH_ACK with ECN counts of path 1, PATH_ABANDON of path 0, PATH_STATUS_BACKUP, PATH_NEW_CONNECTION_ID with one of a
        // byte, MAX_PATH_ID, PING.
        let mut bytes = vec![0x3f, 1, 9, 0, 0, 2, 1, 1, 1];
        bytes.extend([0x7e, 0x75, 0, 0, 0x7e, 0x76, 1, 1, 0x7e, 0x78, 1, 0, 0, 1]);
        bytes.extend([5; 17]);
        bytes.extend([0x7e, 0x7a, 3, 0x01]);
        let frames: Vec<Frame> = Frames::new(&bytes).collect();
        let ranges = match frames.first().cloned() {
            Some(Frame::Ack(1, ranges)) => ranges.collect(),
            _ => Vec::new(),
        };
        assert_eq!(ranges, [(7, 9)], "{frames:?}");
        assert_eq!(frames[1..], [const { Frame::Eliciting }; 5]);
    }

    #[test]
    fn what_cannot_be_read_ends_a_packet() {
        assert_eq!(Frames::new(&[0x01, 0x3f, 0x01]).count(), 1);
        assert_eq!(Frames::new(&[0x06, 0, 9, 1]).count(), 0);
    }
}
