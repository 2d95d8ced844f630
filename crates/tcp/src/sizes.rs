//! Segments and bytes. A segment of a simulated flow is full, so its number gives its position, with one
//! exception: the Linux sender sends a part of a segment if the receiver's window ends within it
//! (tcp_mss_split_point()). From there on, segments no longer begin at multiples of the segment size.
//!
//! On the wire a number stands for the bytes of one full segment, and an offset counts the bytes of it that
//! came before. The sender numbers its segments regardless of their size; the Linux receiver counts bytes.

use midflight_units::Seq;

/// The first byte of a full segment. The SYN is byte 0, data begins with byte 1 and segment 1.
#[inline]
pub(crate) fn first_byte(segment: Seq, unit: u64) -> u64 {
    match segment {
        0 => 0,
        segment => 1 + (segment - 1) * unit,
    }
}

/// The number that a byte would have with full segments only, and its offset within that segment.
#[inline]
pub(crate) fn segment_of(byte: u64, unit: u64) -> (Seq, u16) {
    match byte {
        0 => (0, 0),
        byte => (1 + (byte - 1) / unit, ((byte - 1) % unit) as u16),
    }
}

/// The sizes of the segments that a sender has sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sizes {
    /// Bytes of a full segment.
    full: u64,
    /// Bytes of a full segment at the present size, which is another one if the path has turned out to take larger segments.
    pub(crate) paced: u64,
    /// The segments that are not full, each with one past its last byte.
    short: Vec<(Seq, u64)>,
    /// One past the last byte of the flow, if the last segment may be short and has not been sent.
    pub(crate) end: Option<u64>,
}

impl Sizes {
    pub(crate) fn new(full: u32) -> Self {
        Self {
            full: u64::from(full.max(1)),
            paced: u64::from(full.max(1)),
            short: Vec::new(),
            end: None,
        }
    }

    /// Bytes of a full segment.
    pub(crate) fn full(&self) -> u64 {
        self.full
    }

    /// Whether all segments are full.
    #[inline(always)]
    pub(crate) fn are_full(&self) -> bool {
        self.short.is_empty()
    }

    /// The last short segment, if there is one.
    pub(crate) fn last_short(&self) -> Option<Seq> {
        self.short.last().map(|short| short.0)
    }

    /// The first byte of a segment.
    #[inline(always)]
    pub(crate) fn byte(&self, segment: Seq) -> u64 {
        if self.are_full() {
            return first_byte(segment, self.full);
        }
        self.byte_after_short(segment)
    }

    #[cold]
    #[inline(never)]
    fn byte_after_short(&self, segment: Seq) -> u64 {
        let after = self.short.partition_point(|short| short.0 < segment);
        match after.checked_sub(1).and_then(|at| self.short.get(at)) {
            Some(&(short, end)) => end + (segment - short - 1) * self.full,
            None => first_byte(segment, self.full),
        }
    }

    /// Bytes of a segment.
    pub(crate) fn len(&self, segment: Seq) -> u64 {
        match self.short.binary_search_by_key(&segment, |short| short.0) {
            Ok(at) => self.short[at].1 - self.byte(segment),
            Err(_) => self.full,
        }
    }

    /// The segment that contains a byte.
    pub(crate) fn segment(&self, byte: u64) -> Seq {
        let after = self.short.partition_point(|short| short.1 <= byte);
        match after.checked_sub(1).and_then(|at| self.short.get(at)) {
            Some(&(short, end)) => short + 1 + (byte - end) / self.full,
            None => segment_of(byte, self.full).0,
        }
    }

    /// Records that an unsent segment has only this many bytes. It is above all segments that have been split
    /// before.
    pub(crate) fn cut(&mut self, segment: Seq, bytes: u64) {
        let end = self.byte(segment) + bytes;
        self.short.push((segment, end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_segment_moves_what_follows() {
        let mut sizes = Sizes::new(1000);
        assert_eq!((sizes.byte(0), sizes.byte(1), sizes.byte(4)), (0, 1, 3001));
        sizes.cut(3, 400);
        sizes.cut(6, 1);
        let bytes: Vec<u64> = (0..9).map(|segment| sizes.byte(segment)).collect();
        assert_eq!(bytes, [0, 1, 1001, 2001, 2401, 3401, 4401, 4402, 5402]);
        for segment in 1..9 {
            let (first, len) = (sizes.byte(segment), sizes.len(segment));
            assert_eq!(sizes.segment(first), segment);
            assert_eq!(sizes.segment(first + len - 1), segment);
            assert_eq!(sizes.byte(segment + 1), first + len);
        }
        assert_eq!(segment_of(2401, 1000), (3, 400));
        assert_eq!((segment_of(0, 1000), first_byte(3, 1000)), ((0, 0), 2001));
    }
}
