//! Bytes and segments: a script counts sequence space in bytes, the sender in
//! segments. The SYN is segment 0, data starts with segment 1 and byte 1.

use midflight_units::Seq;

/// What the application has written, cut into segments.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    /// Bytes of a full-sized segment.
    mss: u64,
    /// Where segments start, from segment 1 on; the last is the end of the data.
    edges: Vec<u64>,
    /// The segment that carries the FIN.
    fin: Option<Seq>,
    /// A short segment waits for the acknowledgement of the short one before
    /// it (Nagle's algorithm in Minshall's form, as Linux has it).
    pub(super) nagle: bool,
}

/// More than any script needs; there is an entry for each segment.
const MOST_SEGMENTS: u64 = 100_000;

impl Stream {
    pub(super) fn new(mss: u64, nagle: bool) -> Self {
        Self {
            mss: mss.max(1),
            edges: vec![1],
            fin: None,
            nagle,
        }
    }

    pub(super) fn mss(&self) -> u64 {
        self.mss
    }

    /// One past the last byte, the FIN included.
    pub(super) fn end(&self) -> u64 {
        self.edges.last().copied().unwrap_or(1)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.fin.is_some()
    }

    /// One past the last segment there is.
    pub(super) fn segments_end(&self) -> Seq {
        self.edges.len() as Seq
    }

    /// The bytes of a segment, and whether it carries the FIN.
    pub(super) fn bytes(&self, segment: Seq) -> Option<(u64, u64, bool)> {
        let index = usize::try_from(segment.checked_sub(1)?).ok()?;
        let (from, to) = (*self.edges.get(index)?, *self.edges.get(index + 1)?);
        let fin = self.fin == Some(segment);
        Some((from, to - u64::from(fin), fin))
    }

    /// The byte with which a segment starts; the end for one that there is not.
    pub(super) fn byte_of(&self, segment: Seq) -> u64 {
        let index = segment.checked_sub(1).and_then(|i| usize::try_from(i).ok());
        let Some(index) = index else { return 0 };
        self.edges.get(index).copied().unwrap_or(self.end())
    }

    /// The segment that starts at this byte, or the one past the last.
    pub(super) fn segment_at(&self, byte: u64) -> Option<Seq> {
        if byte == 0 {
            return Some(0);
        }
        let index = self.edges.binary_search(&byte).ok()?;
        Some(index as Seq + 1)
    }

    /// Takes `bytes` more to send, when segments below `sent` have been sent.
    /// False if that is more than there may be.
    pub(super) fn write(&mut self, bytes: u64, sent: Seq) -> bool {
        let mut left = bytes;
        if bytes / self.mss + self.segments_end() > MOST_SEGMENTS {
            return false;
        }
        // A short segment that has not been sent is filled up first.
        let last = self.segments_end() - 1;
        if let Some((from, to, _)) = self.bytes(last).filter(|_| last >= sent) {
            let filled = left.min(self.mss.saturating_sub(to - from));
            left -= filled;
            if let Some(end) = self.edges.last_mut() {
                *end += filled;
            }
        }
        while left > 0 {
            let taken = left.min(self.mss);
            left -= taken;
            self.edges.push(self.end() + taken);
        }
        true
    }

    /// The application has no more to send: the FIN goes with the last segment
    /// if that has not been sent, or else alone.
    pub(super) fn close(&mut self, sent: Seq) {
        let last = self.segments_end() - 1;
        let end = self.end() + 1;
        if last >= 1 && last >= sent {
            if let Some(edge) = self.edges.last_mut() {
                *edge = end;
            }
            self.fin = Some(last);
        } else {
            self.edges.push(end);
            self.fin = Some(last + 1);
        }
    }

    /// One past the last segment that the receiver's window holds as a whole,
    /// which ends below the byte `edge`.
    pub(super) fn window_end(&self, edge: u64) -> Seq {
        let window = self.edges.partition_point(|&e| e <= edge) as Seq;
        // A FIN alone takes no room in the window's buffer.
        match self.fin {
            Some(fin) if fin == window && self.bytes(fin).is_some_and(|(f, t, _)| f == t) => {
                fin + 1
            }
            _ => window,
        }
    }

    /// One past the last segment that may be sent: whole segments below the
    /// byte `edge` of the receiver's window, a short one by Nagle's algorithm.
    pub(super) fn sendable_end(&self, edge: u64, una: Seq) -> Seq {
        let last = self.segments_end() - 1;
        let end = self.window_end(edge).min(last + 1);
        let is_short = |s: Seq| self.bytes(s).is_some_and(|(f, t, _)| t - f < self.mss);
        let waits = self.nagle
            && self.fin.is_none()
            && last >= 1
            && is_short(last)
            && (una.max(1)..last).any(is_short);
        if waits {
            end.min(last)
        } else {
            end
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_segments_are_two_ways_to_count() {
        let mut s = Stream::new(1000, true);
        assert!(s.write(2500, 1));
        assert_eq!(s.bytes(3), Some((2001, 2501, false)));
        assert_eq!(
            (s.segment_at(0), s.segment_at(1), s.segment_at(2501)),
            (Some(0), Some(1), Some(4))
        );
        assert_eq!((s.segment_at(1500), s.segment_at(9001)), (None, None));
        // Segment 3 has not been sent and takes more.
        assert!(s.write(1000, 3));
        assert_eq!(s.bytes(3), Some((2001, 3001, false)));
        assert_eq!(s.bytes(4), Some((3001, 3501, false)));
        assert!(!s.write(u64::MAX / 2, 3));
    }

    #[test]
    fn a_second_short_segment_waits_for_the_first() {
        let mut s = Stream::new(1000, true);
        s.write(500, 1);
        assert_eq!(s.sendable_end(u64::MAX, 1), 2);
        s.write(500, 2);
        assert_eq!(s.sendable_end(u64::MAX, 1), 2);
        assert_eq!(s.sendable_end(u64::MAX, 2), 3);
        s.nagle = false;
        assert_eq!(s.sendable_end(u64::MAX, 1), 3);
    }

    #[test]
    fn the_fin_goes_with_what_was_not_sent_or_alone() {
        let mut s = Stream::new(1000, true);
        s.write(1000, 1);
        let mut alone = s.clone();
        alone.close(2);
        assert_eq!(alone.bytes(2), Some((1001, 1001, true)));
        assert_eq!(alone.sendable_end(1001, 1), 3);
        s.close(1);
        assert_eq!((s.bytes(1), s.end()), (Some((1, 1001, true)), 1002));
    }

    #[test]
    fn whole_segments_go_into_the_window() {
        let mut s = Stream::new(1000, true);
        s.write(5000, 1);
        assert_eq!(s.sendable_end(3500, 1), 4);
        assert_eq!(s.sendable_end(1, 1), 1);
    }
}
