//! Bytes and segments: other hosts count sequence space in bytes, the sender in segments. The SYN is segment
//! 0, data starts with segment 1 and byte 1.

use std::collections::VecDeque;

use midflight_units::Seq;

/// The data that the application has written, divided into segments.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Bytes of a full-sized segment.
    mss: u64,
    /// Positions at which segments start, from segment `first` on; the last is the end of the data.
    edges: VecDeque<u64>,
    first: Seq,
    start: u64,
    /// The segment that carries the FIN.
    fin: Option<Seq>,
    /// A short segment waits for the ACK of the previous short one (Nagle's algorithm in Minshall's form, as
    /// in Linux).
    pub(crate) nagle: bool,
    /// A short segment at the end waits until the application releases it (TCP_CORK), or until a timeout.
    pub(crate) corked: bool,
    /// It waits for the next write, segment that arrives, or timeout (MSG_MORE).
    pub(crate) more: bool,
    /// Segments below this one take no more data (MSG_EOR).
    sealed: Seq,
    /// The bytes that end records which the application has ended.
    records: VecDeque<u64>,
    /// Segments below this one are no longer held back.
    released: Seq,
    /// Segments below this one were sent when full ones had another size.
    resized: Seq,
    /// A short segment below this one does not keep another one back: it was sent by a timer, or with a SYN, which
    /// tcp_minshall_update() does not see.
    unseen: Seq,
}

/// How many acknowledged segments are remembered, for reports of duplicates.
const REMEMBERED: u64 = 1 << 16;

impl Stream {
    pub(crate) fn new(mss: u64, nagle: bool) -> Self {
        Self::from(1, mss, nagle)
    }

    /// The data from this byte on: those before it have arrived with the SYN.
    pub(crate) fn from(first: u64, mss: u64, nagle: bool) -> Self {
        Self {
            mss: mss.max(1),
            edges: VecDeque::from([first]),
            start: first,
            first: 1,
            fin: None,
            nagle,
            corked: false,
            more: false,
            sealed: 0,
            records: VecDeque::new(),
            released: 0,
            resized: 0,
            unseen: 0,
        }
    }

    /// Bytes of a full-sized segment.
    pub fn mss(&self) -> u64 {
        self.mss
    }

    /// The first byte of segment 1; earlier ones have arrived with the SYN.
    pub(crate) fn first_byte(&self) -> u64 {
        self.start
    }

    /// One past the last byte, including the FIN.
    pub fn end(&self) -> u64 {
        self.edges.back().copied().unwrap_or(1)
    }

    /// The application has closed it.
    pub fn is_closed(&self) -> bool {
        self.fin.is_some()
    }

    /// One past the last segment.
    pub fn segments_end(&self) -> Seq {
        self.first + self.edges.len() as Seq - 1
    }

    /// The bytes of a segment, and whether it carries the FIN.
    pub fn bytes(&self, segment: Seq) -> Option<(u64, u64, bool)> {
        let index = self.index(segment)?;
        let (from, to) = (*self.edges.get(index)?, *self.edges.get(index + 1)?);
        let fin = self.fin == Some(segment);
        Some((from, to - u64::from(fin), fin))
    }

    fn index(&self, segment: Seq) -> Option<usize> {
        usize::try_from(segment.checked_sub(self.first)?).ok()
    }

    /// The byte with which a segment starts; the end of the data if the segment does not exist.
    pub fn byte_of(&self, segment: Seq) -> u64 {
        let Some(index) = self.index(segment) else {
            return 0;
        };
        self.edges.get(index).copied().unwrap_or(self.end())
    }

    /// The segment that starts at this byte, or one past the last segment.
    pub fn segment_at(&self, byte: u64) -> Option<Seq> {
        if byte == 0 {
            return Some(0);
        }
        let index = self.edges.binary_search(&byte).ok()?;
        Some(index as Seq + self.first)
    }

    /// One past the last segment that ends at or before this byte.
    pub(crate) fn ended_by(&self, byte: u64) -> Seq {
        match self.edges.partition_point(|&edge| edge <= byte) {
            0 => 0,
            ended => self.first + ended as Seq - 1,
        }
    }

    /// One past the last segment that starts before this byte.
    pub(crate) fn covering(&self, byte: u64) -> Seq {
        let whole = self.ended_by(byte);
        whole + Seq::from(self.byte_of(whole) < byte)
    }

    /// The whole segments between two bytes; none if their edges are no longer stored.
    pub(crate) fn within(&self, from: u64, to: u64) -> Option<(Seq, Seq)> {
        let before = self.edges.partition_point(|&edge| edge < from);
        let known = before > 0 || self.edges.front() == Some(&from);
        let (left, right) = (self.first + before as Seq, self.ended_by(to));
        (known && left < right).then_some((left, right))
    }

    /// Removes the edges of segments that were acknowledged long ago.
    pub(crate) fn forget_before(&mut self, una: Seq) {
        let acknowledged = self.byte_of(una);
        while self.records.front().is_some_and(|end| *end <= acknowledged) {
            self.records.pop_front();
        }
        while una.saturating_sub(self.first) > REMEMBERED {
            self.edges.pop_front();
            self.first += 1;
        }
    }

    /// Adds `bytes` to send, where segments below `sent` have been sent.
    pub(crate) fn write(&mut self, bytes: u64, sent: Seq) {
        let mut left = bytes;
        // A short segment that has not been sent is filled first.
        let last = self.segments_end() - 1;
        let takes_more = last >= sent && last >= self.sealed;
        if let Some((from, to, _)) = self.bytes(last).filter(|_| takes_more) {
            let filled = left.min(self.mss.saturating_sub(to - from));
            left -= filled;
            if let Some(end) = self.edges.back_mut() {
                *end += filled;
            }
        }
        while left > 0 {
            let taken = left.min(self.mss);
            left -= taken;
            self.edges.push_back(self.end() + taken);
        }
    }

    /// Splits the first segment that has not been sent at this byte, if that lies within it; what follows is divided into
    /// full-sized segments again, unless the application has ended records in it.
    pub(crate) fn split(&mut self, segment: Seq, at: u64) -> bool {
        let is_within = |(from, to, _): &(u64, u64, bool)| (from + 1..*to).contains(&at);
        let (Some(index), Some(_)) = (self.index(segment), self.bytes(segment).filter(is_within))
        else {
            return false;
        };
        if self.sealed > segment {
            self.edges.insert(index + 1, at);
            self.sealed += 1;
            self.fin = self.fin.map(|fin| fin + Seq::from(fin >= segment));
        } else {
            let (end, has_fin) = (self.end(), self.fin >= Some(segment));
            self.edges.truncate(index + 1);
            self.edges.push_back(at);
            self.write(end - u64::from(has_fin) - at, segment + 1);
            if has_fin {
                self.close(segment + 1);
            }
        }
        self.released += Seq::from(self.released > segment);
        true
    }

    /// Segments from `segment` on have not been sent: they are divided anew into segments of `mss` bytes, after one of
    /// `first` bytes if that is given. Records that the application has ended are not divided: returns false if there
    /// is no room for the first.
    pub(crate) fn divide(&mut self, segment: Seq, mss: u64, first: Option<u64>) -> bool {
        let start = segment.max(self.sealed);
        let Some(index) = self.index(start).filter(|i| *i < self.edges.len()) else {
            self.mss = mss.max(1);
            return false;
        };
        let has_fin = self.fin >= Some(start);
        let (from, end) = (self.byte_of(start), self.end() - u64::from(has_fin));
        if first.is_some_and(|first| start > segment || from + first > end) {
            return false;
        }
        let released = (self.released > start).then(|| self.byte_of(self.released));
        if self.mss != mss {
            self.resized = segment;
        }
        self.mss = mss.max(1);
        self.edges.truncate(index + 1);
        let after = from + first.unwrap_or(0);
        let mut next = start;
        if first.is_some() {
            self.edges.push_back(after);
            next += 1;
        }
        let mut left = end - after;
        while left > 0 {
            let taken = left.min(self.mss);
            left -= taken;
            self.edges.push_back(self.end() + taken);
        }
        if has_fin {
            self.close(next);
        }
        if let Some(byte) = released {
            self.released = self.covering(byte);
        }
        true
    }

    /// The available data are no longer held back.
    pub(crate) fn release(&mut self) {
        self.released = self.segments_end();
        self.seal();
    }

    /// Short segments before this byte do not count for Nagle's algorithm.
    pub(crate) fn hide_short(&mut self, before: u64) {
        self.unseen = self.covering(before);
    }

    /// The next data begins a segment.
    pub(crate) fn seal(&mut self) {
        self.sealed = self.segments_end();
    }

    /// The application ends a record: the next data begins a segment also when this one is sent again (MSG_EOR).
    pub(crate) fn end_record(&mut self) {
        self.seal();
        self.records.push_back(self.end());
    }

    /// How many of the segments after a short one, which are below `below`, are sent with it when it is sent again: `room`
    /// is that for its data in a segment, and `edge` the end of the window (tcp_retrans_try_collapse()).
    pub(crate) fn joinable(
        &self,
        (segment, below): (Seq, Seq),
        (from, room): (u64, u64),
        edge: u64,
        is_free: impl Fn(Seq) -> bool,
    ) -> u64 {
        let Some((_, mut end, fin)) = self.bytes(segment) else {
            return 0;
        };
        let mut left = room.saturating_sub(end - from);
        if left == 0 || fin {
            return 0;
        }
        for next in segment + 1..below {
            let Some((_, to, fin)) = self.bytes(next).filter(|_| is_free(next)) else {
                return next - segment - 1;
            };
            let fits = to - end <= left && to + u64::from(fin) <= edge;
            if !fits || self.records.contains(&end) {
                return next - segment - 1;
            }
            left -= to - end;
            end = to;
        }
        below.saturating_sub(segment + 1)
    }

    /// The segment and those after it are one from now on, with the number of the last.
    pub(crate) fn join(&mut self, segment: Seq, others: u64) {
        let Some(index) = self.index(segment) else {
            return;
        };
        self.edges.drain(index + 1..index + 1 + others as usize);
        self.first += others;
        let last = segment + others;
        let renumber = |number: &mut Seq| {
            if *number > 0 {
                *number = if *number <= segment {
                    *number + others
                } else {
                    (*number).max(last + 1)
                };
            }
        };
        renumber(&mut self.sealed);
        renumber(&mut self.released);
        renumber(&mut self.resized);
        renumber(&mut self.unseen);
        let others = segment + 1..=last;
        self.fin = self
            .fin
            .map(|fin| if others.contains(&fin) { last } else { fin });
    }

    /// The application has no more to send: the FIN is added to the last segment if that has not been sent,
    /// otherwise it is sent alone.
    pub(crate) fn close(&mut self, sent: Seq) {
        let last = self.segments_end() - 1;
        let end = self.end() + 1;
        if last >= 1 && last >= sent {
            if let Some(edge) = self.edges.back_mut() {
                *edge = end;
            }
            self.fin = Some(last);
        } else {
            self.edges.push_back(end);
            self.fin = Some(last + 1);
        }
    }

    /// The application has no more to send; the FIN is to be sent, or was acknowledged.
    pub(crate) fn close_at(&mut self, has_fin: bool) {
        if has_fin {
            self.close(1);
        } else {
            self.fin = Some(0);
        }
    }

    /// One past the last segment that fits completely into the receiver's window, which ends below the byte
    /// `edge`. A FIN alone needs no room in the receive buffer, unless `fin_needs_room`.
    pub(crate) fn window_end(&self, edge: u64, fin_needs_room: bool) -> Seq {
        let window = self.ended_by(edge);
        match self.fin.filter(|_| !fin_needs_room) {
            Some(fin) if fin == window && self.bytes(fin).is_some_and(|(f, t, _)| f == t) => {
                fin + 1
            }
            _ => window,
        }
    }

    /// Whether a segment is shorter than those around it were divided.
    fn is_short(&self, segment: Seq) -> bool {
        let is_less = self
            .bytes(segment)
            .is_some_and(|(f, t, _)| t - f < self.mss);
        is_less && segment >= self.resized
    }

    /// Whether the segment `last`, of which the window has room for a part, and those from `next` on, which fit, may be sent
    /// up to the edge of the window: not if the application holds short segments back, or if a short one is in flight
    /// (tcp_nagle_check()).
    pub(crate) fn may_end_with_part(&self, una: Seq, next: Seq, last: Seq) -> bool {
        let is_held = self.corked || self.more || self.sealed == last;
        let by_nagle = self.nagle && (una.max(self.unseen)..next).any(|s| self.is_short(s));
        !(is_held || by_nagle)
    }

    /// One past the last segment that may be sent of those before `end`, for which the receiver's window has room; a short
    /// one is subject to Nagle's algorithm, unless there is urgent data (tcp_nagle_test()).
    pub(crate) fn sendable_end(&self, end: Seq, una: Seq, is_urgent: bool) -> Seq {
        let last = self.segments_end() - 1;
        let end = end.min(last + 1);
        let is_short = |s: Seq| self.is_short(s);
        let may_wait = self.fin.is_none() && last >= 1 && is_short(last) && !is_urgent;
        let by_nagle = self.nagle && (una.max(1).max(self.unseen)..last).any(is_short);
        let by_cork = (self.corked || self.more) && last >= self.released;
        if may_wait && (by_cork || by_nagle) {
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
        s.write(2500, 1);
        assert_eq!(s.bytes(3), Some((2001, 2501, false)));
        assert_eq!(
            (s.segment_at(0), s.segment_at(1), s.segment_at(2501)),
            (Some(0), Some(1), Some(4))
        );
        assert_eq!((s.segment_at(1500), s.segment_at(9001)), (None, None));
        // Segment 3 has not been sent and takes more data.
        s.write(1000, 3);
        assert_eq!(s.bytes(3), Some((2001, 3001, false)));
        assert_eq!(s.bytes(4), Some((3001, 3501, false)));
        // Bytes within a segment: the segments that end before them, and those between them.
        assert_eq!(
            [0, 1, 1000, 1001, 3500].map(|b| s.ended_by(b)),
            [0, 1, 1, 2, 4]
        );
        assert_eq!(s.within(1001, 3000), Some((2, 3)));
        assert_eq!(s.within(1002, 3001), Some((3, 4)));
        assert_eq!(s.within(1002, 3000), None);
    }

    #[test]
    fn edges_of_long_ago_are_forgotten() {
        let mut s = Stream::new(10, true);
        s.write(10 * (REMEMBERED + 100), 1);
        s.forget_before(REMEMBERED + 50);
        assert_eq!(s.edges.len() as u64, REMEMBERED + 101 - 49);
        assert_eq!((s.bytes(49), s.bytes(50)), (None, Some((491, 501, false))));
        assert_eq!((s.segment_at(491), s.within(481, 501)), (Some(50), None));
        assert_eq!(s.within(491, 511), Some((50, 52)));
        assert_eq!(s.segments_end(), REMEMBERED + 101);
    }

    #[test]
    fn a_second_short_segment_waits_for_the_first() {
        let mut s = Stream::new(1000, true);
        s.write(500, 1);
        assert_eq!(s.sendable_end(s.window_end(u64::MAX, false), 1, false), 2);
        s.write(500, 2);
        assert_eq!(s.sendable_end(s.window_end(u64::MAX, false), 1, false), 2);
        assert_eq!(s.sendable_end(s.window_end(u64::MAX, false), 2, false), 3);
        s.nagle = false;
        assert_eq!(s.sendable_end(s.window_end(u64::MAX, false), 1, false), 3);
    }

    #[test]
    fn the_fin_is_sent_with_unsent_data_or_alone() {
        let mut s = Stream::new(1000, true);
        s.write(1000, 1);
        let mut alone = s.clone();
        alone.close(2);
        assert_eq!(alone.bytes(2), Some((1001, 1001, true)));
        assert_eq!(
            alone.sendable_end(alone.window_end(1001, false), 1, false),
            3
        );
        s.close(1);
        assert_eq!((s.bytes(1), s.end()), (Some((1, 1001, true)), 1002));
    }

    #[test]
    fn a_part_of_a_segment_is_sent_and_the_rest_is_divided_anew() {
        let mut s = Stream::new(1000, true);
        s.write(2500, 1);
        s.close(1);
        assert!(!s.split(1, 1) && !s.split(1, 1001));
        assert!(s.split(1, 513));
        let all: Vec<_> = (1..5).map(|segment| s.bytes(segment)).collect();
        assert_eq!(all[..2], [Some((1, 513, false)), Some((513, 1513, false))]);
        assert_eq!(all[2..], [Some((1513, 2501, true)), None]);
        // A record stays a record.
        let mut s = Stream::new(1000, true);
        s.write(1500, 1);
        s.seal();
        s.write(100, 1);
        assert!(s.split(1, 513));
        assert_eq!(s.bytes(2), Some((513, 1001, false)));
        assert_eq!(s.bytes(4), Some((1501, 1601, false)));
    }

    #[test]
    fn unsent_data_is_divided_anew_and_records_stay() {
        let mut s = Stream::new(1000, true);
        s.write(2500, 1);
        s.close(1);
        assert!(!s.divide(2, 1000, Some(1501)));
        assert!(s.divide(2, 1000, Some(1200)));
        assert_eq!(s.bytes(2), Some((1001, 2201, false)));
        assert_eq!((s.bytes(3), s.bytes(4)), (Some((2201, 2501, true)), None));
        // What was sent in smaller segments is not short.
        let mut s = Stream::new(500, true);
        s.write(1600, 1);
        assert!(s.divide(3, 1000, None));
        assert_eq!(s.bytes(3), Some((1001, 1601, false)));
        assert_eq!(s.sendable_end(s.window_end(u64::MAX, false), 1, false), 4);
        let mut s = Stream::new(1000, true);
        s.write(1500, 1);
        s.seal();
        s.write(1000, 1);
        assert!(!s.divide(1, 1000, Some(1200)) && s.divide(1, 600, None));
        assert_eq!(s.bytes(2), Some((1001, 1501, false)));
        assert_eq!(s.bytes(3), Some((1501, 2101, false)));
    }

    #[test]
    fn short_segments_are_joined_up_to_a_full_one_or_the_end_of_a_record() {
        let mut s = Stream::new(1000, false);
        for _ in 0..4 {
            s.write(300, u64::MAX);
        }
        s.end_record();
        s.write(100, u64::MAX);
        let joinable = |s: &Stream, segment, edge| {
            let from = s.byte_of(segment);
            s.joinable((segment, 6), (from, 1000), edge, |_| true)
        };
        assert_eq!(joinable(&s, 1, 5000), 2);
        assert_eq!(joinable(&s, 1, 700), 1);
        assert_eq!((joinable(&s, 4, 5000), joinable(&s, 5, 5000)), (0, 0));
        assert_eq!(s.joinable((1, 6), (1, 1000), 5000, |seq| seq < 3), 1);
        s.join(1, 2);
        assert_eq!(
            (s.bytes(3), s.bytes(4)),
            (Some((1, 901, false)), Some((901, 1201, false)))
        );
        assert_eq!(
            (s.segments_end(), s.segment_at(901), s.segment_at(301)),
            (6, Some(4), None)
        );
    }

    #[test]
    fn whole_segments_go_into_the_window() {
        let mut s = Stream::new(1000, true);
        s.write(5000, 1);
        assert_eq!(s.sendable_end(s.window_end(3500, false), 1, false), 4);
        assert_eq!(s.sendable_end(s.window_end(1, false), 1, false), 1);
    }
}
