//! Segments split at the edge of a window: their numbers inside the sender, which counts the segments that it
//! sends, and on the wire, where a number stands for the bytes of a full segment ([`crate::sizes`]).

use midflight_units::Seq;

use super::Core;
use crate::recovery::Joined;
use crate::segment::{Ack, SackBlock, SackBlocks, Segment};
use crate::sizes::{first_byte, segment_of};

impl Core {
    /// Limits the segment that is sent next to this many bytes; its rest becomes another segment.
    pub(crate) fn cut(&mut self, segment: Seq, bytes: u64) {
        let last = self.end_byte();
        self.sizes.cut(segment, bytes);
        if let Some(last) = last {
            self.end_at(last);
        }
        self.hold();
    }

    /// Segments that are sent again are joined.
    #[cold]
    pub(crate) fn join(&mut self, joined: Joined) {
        self.books.join(joined);
        if let Some((timed, _)) = &mut self.path.timed {
            joined.update(timed);
        }
    }

    /// One past the last byte that there is to send; none if that is unlimited.
    #[inline(always)]
    pub(crate) fn end_byte(&self) -> Option<u64> {
        let end = self.books.end();
        let of_full = (end < Seq::MAX).then(|| self.sizes.byte(end));
        self.sizes.end.or(of_full)
    }

    fn end_at(&mut self, byte: u64) {
        self.sizes.end = Some(byte);
        let end = self.sizes.segment(byte);
        let has_more = self.sizes.byte(end) < byte;
        self.books.set_end(end + u64::from(has_more));
    }

    /// Sets the end of the application's data to this number, exclusive.
    pub(crate) fn set_end(&mut self, end: Seq) {
        if self.sizes.are_full() || end == Seq::MAX {
            self.sizes.end = None;
            self.books.set_end(end);
        } else {
            self.end_at(first_byte(end, self.sizes.full()));
        }
    }

    /// The number of a sender's segment on the wire.
    pub(crate) fn number(&self, segment: Seq) -> Seq {
        if self.sizes.are_full() {
            return segment;
        }
        segment_of(self.sizes.byte(segment), self.sizes.full()).0
    }

    /// Converts a segment to its form on the wire.
    pub(crate) fn on_wire(&self, segment: Segment) -> Segment {
        if self.sizes.are_full() {
            return segment;
        }
        self.numbered(segment)
    }

    #[cold]
    fn numbered(&self, segment: Segment) -> Segment {
        let full = self.sizes.full();
        let (seq, offset) = segment_of(self.sizes.byte(segment.seq), full);
        let lacks = if segment.has_data() && segment.seq > 0 {
            full - self.sizes.len(segment.seq)
        } else {
            0
        };
        Segment {
            seq,
            offset,
            bytes: segment.bytes - lacks as u32,
            ..segment
        }
    }

    /// Converts an ACK to the sender's own segment numbers.
    #[cold]
    pub(crate) fn in_own_segments(&self, ack: &Ack) -> Ack {
        let full = self.sizes.full();
        let byte = first_byte(ack.ack, full) + u64::from(ack.offset);
        let number = self.sizes.segment(byte);
        let mut sack = SackBlocks::default();
        for block in ack.sack.bytes(ack.ack, full) {
            let (left, right) = (
                self.sizes.segment(block.left),
                self.sizes.segment(block.right),
            );
            sack.push(number, SackBlock { left, right });
        }
        Ack {
            ack: number,
            offset: 0,
            sack,
            ..*ack
        }
    }
}
