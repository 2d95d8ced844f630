//! The data that the application has written: the send buffer with its autotuning, and the pieces
//! that hold the data. The application writes whenever the kernel accepts data.
//!
//! A piece is one of the kernel's socket buffers. Its end has two effects: a burst before it is not
//! held back, and the last segment of some pieces has PSH, so the receiver acknowledges it at once.

use std::collections::VecDeque;

use midflight_units::Seq;

use crate::recovery::joined::Joined;
use crate::segment::SackBlock;
use crate::sender::Core;
use crate::sizes::Sizes;

/// Bytes of the kernel's structures per piece, and per segment in the size of the buffer (tcp_sndbuf_expand(): 1460
/// bytes, headers and the structures, rounded up to a power of two).
const OVERHEAD: u64 = 960;
const PER_SEGMENT: u64 = 4352;
/// net.ipv4.tcp_wmem: the initial and the maximum buffer.
const BUFFER: u64 = 16_384;
const MOST_BUFFER: u64 = 4_194_304;
const INITIAL_SEGMENTS: u64 = 10;
/// TCP_MSS_DEFAULT: a window up to this is not halved.
const SMALL_WINDOW: u64 = 536;
/// A part that absorbs others stays below this size (tcp_skb_shift()).
const MOST_SHIFTED: u64 = 65_535 * 8;

/// The memory of this many buffers with `bytes` bytes of data in total (truesize).
pub(super) fn memory(buffers: u64, bytes: u64) -> u64 {
    buffers * OVERHEAD + bytes
}

/// One past its last byte or, for sent data, segment.
#[derive(Clone, Copy, Debug)]
struct Piece {
    end: u64,
    push: bool,
}

/// Where a piece is, and the bytes from `from` up to `end` that it has; none if `end` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    at: usize,
    from: u64,
    end: u64,
    is_last: bool,
}

/// The send buffer.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    /// From the first one that is not acknowledged.
    pieces: VecDeque<Piece>,
    /// The piece of the next new byte, if nothing has changed since the last one was sent.
    next: Place,
    /// One past the last byte written, and its value when PSH was last set.
    written: u64,
    pushed: u64,
    /// Sent data, as parts of pieces: bursts.
    parts: VecDeque<Piece>,
    /// A part begins before the end of the part before it: data was sent again, or a burst was cut short.
    is_rewound: bool,
    /// The first segment and byte that are not acknowledged.
    freed: Seq,
    freed_byte: u64,
    /// Below this segment and this byte no part and no piece ends; zeros if that is unknown.
    kept: (Seq, u64),
    /// The first segment of the last burst of new data, and the last burst of retransmissions.
    begins: Seq,
    again: (Seq, Seq),
    /// How many windows of data the buffer holds.
    factor: u64,
    /// Bytes in use, and the maximum; and the window and reordering degree for which that was last computed.
    used: u64,
    buffer: u64,
    sized_for: (u64, u64),
    /// The application waits for room.
    is_full: bool,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            pieces: VecDeque::new(),
            next: Place::default(),
            written: 1,
            pushed: 1,
            parts: VecDeque::new(),
            is_rewound: false,
            freed: 1,
            freed_byte: 1,
            kept: (0, 0),
            begins: 0,
            again: (0, 0),
            factor: 2,
            used: 0,
            buffer: BUFFER,
            sized_for: (0, 0),
            is_full: false,
        }
    }
}

/// What is sent after the application has written a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Push {
    /// Nothing was written.
    Nothing,
    /// A burst (tcp_push_one()).
    One,
    /// Everything that may be sent (__tcp_push_pending_frames()).
    All,
    /// The same, but Nagle's algorithm may hold back a short segment: the application has no more data.
    Rest,
}

/// The piece of the next new segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    /// Unsent bytes of it.
    pub(super) left: u64,
    /// It is the last piece.
    pub(super) is_last: bool,
}

impl Queue {
    /// One past the last byte that has been written.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// The connection is open: sizes the buffer for the initial window (tcp_init_buffer_space()).
    pub(super) fn open(&mut self, cwnd: u64, reordering: u64, factor: u64) {
        self.factor = factor;
        self.sized_for = (0, 0);
        self.expand(cwnd, reordering);
    }

    /// tcp_sndbuf_expand().
    #[inline]
    pub(super) fn expand(&mut self, cwnd: u64, reordering: u64) {
        if self.sized_for != (cwnd, reordering) {
            self.sized_for = (cwnd, reordering);
            self.buffer = self.expanded(cwnd, reordering);
        }
    }

    /// The size of the buffer after that.
    #[inline(never)]
    fn expanded(&self, cwnd: u64, reordering: u64) -> u64 {
        let segments = cwnd.max(INITIAL_SEGMENTS).max(reordering + 1);
        let wanted = (self.factor * segments * PER_SEGMENT).min(MOST_BUFFER);
        self.buffer.max(wanted)
    }

    /// A third of a buffer of this size is free (sk_stream_is_writeable()).
    #[inline]
    fn is_writable(&self, buffer: u64) -> bool {
        buffer >= self.used + self.used / 2
    }

    /// tcp_check_space(): wakes the application when a third of the buffer is free; returns whether it has.
    #[inline]
    pub(super) fn check_space(&mut self, in_flight: u64, cwnd: u64, reordering: u64) -> bool {
        if !self.is_full {
            return false;
        }
        if in_flight < cwnd {
            self.expand(cwnd, reordering);
        }
        let is_writable = self.is_writable(self.buffer);
        self.is_full = !is_writable;
        is_writable
    }

    /// Whether the application goes on waiting after tcp_check_space() with room in the window.
    #[inline(always)]
    pub(super) fn stays_full(&self, cwnd: u64, reordering: u64) -> bool {
        let buffer = if self.sized_for == (cwnd, reordering) {
            self.buffer
        } else {
            self.expanded(cwnd, reordering)
        };
        self.is_full && !self.is_writable(buffer)
    }

    /// The application writes another piece, if there is room (tcp_sendmsg_locked()); returns what must then be sent.
    /// `nxt` is the first unsent byte; a piece has at most so many bytes and segments (tcp_xmit_size_goal()).
    #[inline]
    pub(super) fn write(&mut self, core: &Core, nxt: u64, most: (u64, u64)) -> Push {
        let end = core.end_byte().unwrap_or(u64::MAX);
        if self.is_full || self.written >= end {
            return Push::Nothing;
        }
        self.fill(core, nxt, end, most)
    }

    #[inline(never)]
    fn fill(&mut self, core: &Core, nxt: u64, end: u64, most: (u64, u64)) -> Push {
        let mss = core.sizes.full();
        let window = core.most_window_bytes();
        let half = if window > SMALL_WINDOW {
            window / 2
        } else {
            window
        };
        let goal = (half.min(most.0) / mss).min(most.1).max(1) * mss;
        loop {
            let tail = self.tail(nxt);
            let added = if tail > 0 && tail < goal {
                goal - tail
            } else if self.used < self.buffer {
                self.used += OVERHEAD;
                let (end, push) = (self.written, false);
                self.pieces.push_back(Piece { end, push });
                goal
            } else {
                self.is_full = true;
                break;
            };
            let added = added.min(end - self.written);
            self.used += added;
            self.written += added;
            if let Some(last) = self.pieces.back_mut() {
                last.end = self.written;
            }
            self.go_on_in(self.place(nxt));
            if self.written == end {
                self.tell(nxt);
                return Push::Rest;
            }
            if self.written - self.pushed > window / 2 {
                self.tell(nxt);
                return Push::All;
            }
            if self.next.is_last {
                return Push::One;
            }
        }
        self.tell(nxt);
        Push::All
    }

    /// Unsent bytes of the last piece.
    fn tail(&self, nxt: u64) -> u64 {
        let before = self.pieces.len().checked_sub(2);
        let from = before.and_then(|i| self.pieces.get(i)).map_or(0, |p| p.end);
        self.written.saturating_sub(from.max(nxt))
    }

    /// tcp_mark_push() for the last piece, if any of it is unsent.
    fn tell(&mut self, nxt: u64) {
        if self.written > nxt {
            if let Some(last) = self.pieces.back_mut() {
                last.push = true;
                self.pushed = self.written;
            }
        }
    }

    /// The piece of a byte. Mostly that is the next new one.
    #[inline(always)]
    fn place(&self, byte: u64) -> usize {
        let next = &self.next;
        if next.from <= byte && byte < next.end {
            debug_assert_eq!(next.at, self.find_place(byte));
            return next.at;
        }
        self.find_place(byte)
    }

    #[inline(never)]
    fn find_place(&self, byte: u64) -> usize {
        self.pieces.partition_point(|p| p.end <= byte)
    }

    /// The next new byte is in this piece.
    #[inline]
    fn go_on_in(&mut self, at: usize) {
        let end = |at| self.pieces.get(at).map_or(0, |p| p.end);
        self.next = Place {
            at,
            from: at.checked_sub(1).map_or(0, end),
            end: end(at),
            is_last: at + 1 == self.pieces.len(),
        };
    }

    /// The index of the part with this segment. Usually it is the last one.
    fn part(&self, seq: Seq) -> usize {
        let last = self.parts.len().wrapping_sub(1);
        let is_behind = |at: usize| self.parts.get(at).is_some_and(|p| p.end <= seq);
        if !self.is_rewound && is_behind(last.wrapping_sub(1)) {
            return last + usize::from(is_behind(last));
        }
        self.parts.partition_point(|p| p.end <= seq)
    }

    /// The piece of the next new byte, which is filled from the next piece up to a burst of this many bytes
    /// (tcp_grow_skb()).
    #[inline(always)]
    pub(super) fn head(&mut self, nxt: u64, burst: u64) -> Option<Head> {
        let (at, head) = self.unfilled_head(nxt)?;
        if head.left < burst && !head.is_last {
            return Some(self.grown_head(at, nxt, burst));
        }
        Some(head)
    }

    /// The same as it is, and where it is.
    #[inline(always)]
    pub(super) fn unfilled_head(&mut self, nxt: u64) -> Option<(usize, Head)> {
        if !(self.next.from <= nxt && nxt < self.next.end) {
            self.go_on_in(self.find_place(nxt));
        }
        let Place {
            at, end, is_last, ..
        } = self.next;
        debug_assert_eq!(end, self.pieces.get(at).map_or(0, |p| p.end));
        debug_assert_eq!(is_last, at + 1 == self.pieces.len());
        let left = end.checked_sub(nxt)?;
        Some((at, Head { left, is_last }))
    }

    /// The same of a piece that another follows and that has less than a burst.
    #[inline(never)]
    fn grown_head(&mut self, at: usize, nxt: u64, burst: u64) -> Head {
        let lacks = burst - (self.pieces[at].end - nxt);
        let follower = self.pieces[at + 1];
        let end = (self.pieces[at].end + lacks).min(follower.end);
        self.pieces[at].end = end;
        let mut is_last = false;
        if end == follower.end {
            self.pieces[at].push |= follower.push;
            self.pieces.remove(at + 1);
            self.used = self.used.saturating_sub(OVERHEAD);
            is_last = at + 1 == self.pieces.len();
        }
        self.go_on_in(at);
        let left = end - nxt;
        Head { left, is_last }
    }

    /// Where the piece of a byte ends.
    pub(super) fn piece_end(&self, byte: u64) -> Option<u64> {
        self.pieces.get(self.place(byte)).map(|p| p.end)
    }

    /// The parts follow each other without overlap, so that PSH is at the end of a burst only.
    #[inline(always)]
    pub(super) fn is_in_order(&self) -> bool {
        !self.is_rewound
    }

    /// More than one burst is not acknowledged (tcp_rtx_queue_empty_or_single_skb()).
    pub(super) fn has_left_twice(&self) -> bool {
        self.parts.len() > 1
    }

    /// This many bytes are sent as one burst, with these segments; the rest of their piece has its own structures from
    /// then on (tso_fragment()).
    pub(super) fn leaves(&mut self, (nxt, bytes): (u64, u64), segments: (Seq, Seq)) {
        let end = nxt + bytes;
        let at = self.place(nxt);
        let piece = self.pieces.get(at);
        let push = piece.is_some_and(|p| p.end == end && p.push);
        if piece.is_some_and(|p| p.end > end) {
            self.used += OVERHEAD;
        } else {
            self.go_on_in(at + 1);
        }
        let (first, end) = segments;
        // A burst that was not sent whole ends within this one, where a segment has PSH.
        self.is_rewound |= self.parts.back().is_some_and(|last| last.end > first);
        self.parts.push_back(Piece { end, push });
        self.begins = first;
    }

    /// The piece of the next new byte is divided after this many bytes, which are not sent yet (tso_fragment()).
    pub(super) fn divide(&mut self, nxt: u64, bytes: u64) {
        let (at, end) = (self.place(nxt), nxt + bytes);
        if self.pieces.get(at).is_some_and(|p| p.end > end) {
            let push = false;
            self.kept.1 = 0;
            self.pieces.insert(at, Piece { end, push });
            self.used += OVERHEAD;
            self.go_on_in(at);
        }
    }

    /// The last sent segment gets PSH; it belongs to the piece with this byte.
    pub(super) fn set_last(&mut self, byte: u64) {
        if let Some(part) = self.parts.back_mut() {
            part.push = true;
        }
        self.pushed = self.pushed.max(self.piece_end(byte).unwrap_or(0));
    }

    /// Everything before `una` is acknowledged.
    #[inline(always)]
    pub(super) fn free(&mut self, una: Seq, sizes: &Sizes) {
        let byte = sizes.byte(una);
        if una > self.freed {
            let freed = byte.saturating_sub(self.freed_byte);
            self.used = self.used.saturating_sub(freed);
            (self.freed, self.freed_byte) = (una, byte);
        }
        if una >= self.kept.0 || byte >= self.kept.1 {
            self.free_structures(una, byte);
        }
        debug_assert!(self.parts.front().is_none_or(|p| p.end > una));
        debug_assert!(self.pieces.front().is_none_or(|p| p.end > byte));
    }

    #[inline(never)]
    fn free_structures(&mut self, una: Seq, byte: u64) {
        while self.parts.front().is_some_and(|p| p.end <= una) {
            self.parts.pop_front();
            self.used = self.used.saturating_sub(OVERHEAD);
        }
        while self.pieces.front().is_some_and(|p| p.end <= byte) {
            self.pieces.pop_front();
            self.next.at = self.next.at.wrapping_sub(1);
        }
        let end = |of: &VecDeque<Piece>| of.front().map_or(0, |p| p.end);
        self.kept = (end(&self.parts), end(&self.pieces));
    }

    /// The bytes of the part that contains a segment.
    pub(super) fn part_of(&self, seq: Seq, sizes: &Sizes) -> u64 {
        let at = self.part(seq);
        let (from, to) = match self.parts.get(at) {
            Some(part) => (self.begin(at), part.end),
            None => (seq, seq + 1),
        };
        sizes.byte(to).saturating_sub(sizes.byte(from))
    }

    /// Whether the segment is a part of its own (tcp_skb_pcount()).
    pub(super) fn is_alone(&self, seq: Seq) -> bool {
        let at = self.part(seq);
        let part = self.parts.get(at);
        part.is_none_or(|part| part.end - self.begin(at) == 1)
    }

    /// How many of these segments, from `seq` on, are in one part and therefore retransmitted as one burst.
    pub(super) fn again(&self, seq: Seq, segments: u64) -> u64 {
        let at = self.part(seq);
        let left = self.parts.get(at).map_or(1, |p| p.end - seq);
        segments.min(left)
    }

    /// This many segments are retransmitted as one burst, and are a separate part from then on (tcp_fragment()).
    pub(super) fn leaves_again(&mut self, seq: Seq, segments: u64) {
        let end = seq + segments;
        self.cut(seq);
        self.cut(end);
        self.again = (seq, end);
    }

    /// The parts of segments that are joined are one part.
    pub(super) fn renumber(&mut self, joined: Joined) {
        for part in &mut self.parts {
            joined.update(&mut part.end);
        }
        let mut before = None;
        self.parts
            .retain(|part| before.replace(part.end) != Some(part.end));
        joined.update(&mut self.freed);
        joined.update(&mut self.begins);
        joined.update(&mut self.again.0);
        joined.update(&mut self.again.1);
        self.kept = (0, 0);
    }

    /// The first segment of a part.
    fn begin(&self, at: usize) -> Seq {
        let before = at.checked_sub(1).and_then(|i| self.parts.get(i));
        before.map_or(self.freed, |p| p.end)
    }

    /// A block is SACKed, and the walk over its segments begins at `from` (tcp_sacktag_walk()). A part that is
    /// completely SACKed is merged into such a part before it, and its structures are freed (tcp_shift_skb_data());
    /// otherwise a part is split where the block ends (tcp_match_skb_to_sack()). `is_done` returns whether a segment
    /// is SACKed and has no retransmission in flight.
    pub(super) fn sack(
        &mut self,
        block: SackBlock,
        from: Seq,
        una: Seq,
        is_done: impl Fn(Seq) -> bool,
        sizes: &Sizes,
    ) {
        let SackBlock { left, right } = block;
        let mut at = self.parts.partition_point(|p| p.end <= from);
        while at < self.parts.len() && self.begin(at) < right {
            let (begin, end) = (self.begin(at), self.parts[at].end);
            if self.shift(at, block, una, &is_done, sizes) {
                // The part at this index now is the one after the merged ones.
                continue;
            }
            if begin < left && left < end {
                self.cut(left);
            } else if end > right && begin < right {
                self.cut(right);
            }
            at += 1;
        }
    }

    /// tcp_shift_skb_data(): returns whether the part has been merged, completely or up to its first segment that is
    /// not SACKed.
    fn shift(
        &mut self,
        at: usize,
        block: SackBlock,
        una: Seq,
        is_done: &impl Fn(Seq) -> bool,
        sizes: &Sizes,
    ) -> bool {
        let (begin, end) = (self.begin(at), self.parts[at].end);
        let to = end.min(block.right);
        let may = at > 0 && block.left <= begin && begin < to && to > una;
        if !may || !is_done(begin) || !is_done(begin - 1) {
            return false;
        }
        let fits = |queue: &Self, segments: Seq| {
            // If a part has rewound the sender, the same data is in more than one part.
            let before = queue.parts[at - 1].end.saturating_sub(queue.begin(at - 1));
            (before + segments) * sizes.full() < MOST_SHIFTED
        };
        if !fits(self, to - begin) {
            return false;
        }
        self.parts[at - 1].end = to;
        if to < end {
            return true;
        }
        self.join(at);
        // A gap has closed.
        let next = self.parts.get(at).map(|next| next.end);
        if let Some(next) =
            next.filter(|next| is_done(next - 1) && *next > end && fits(self, next - end))
        {
            self.parts[at - 1].end = next;
            self.join(at);
        }
        true
    }

    /// Merges this part into the one before it.
    fn join(&mut self, at: usize) {
        if let Some(gone) = self.parts.remove(at) {
            self.parts[at - 1].push |= gone.push;
            self.used = self.used.saturating_sub(OVERHEAD);
        }
    }

    /// Splits a part here; of the two parts only the last one has PSH.
    fn cut(&mut self, seq: Seq) {
        let at = self.parts.partition_point(|p| p.end < seq);
        if self.parts.get(at).is_some_and(|p| p.end > seq) && self.begin(at) < seq {
            let (end, push) = (seq, false);
            self.kept.0 = 0;
            self.parts.insert(at, Piece { end, push });
            self.used += OVERHEAD;
        }
    }

    /// Whether this segment, which is sent now, has PSH: the last one of a burst, or of a piece with PSH.
    pub(super) fn pushes(&self, seq: Seq, is_again: bool) -> bool {
        let begins = if is_again { self.again.0 } else { self.begins };
        let part = if is_again || self.is_rewound {
            self.parts.get(self.part(seq))
        } else {
            self.parts.back()
        };
        part.is_some_and(|p| p.end == seq + 1 && (p.push || seq > begins))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A policy may shrink the window while a burst is sent. The rest of that burst is then sent with the next one, and its last
    /// segment still has PSH, although it is not the last of a burst any more: [`Queue::is_in_order`] must be false.
    #[test]
    fn the_end_of_a_burst_that_was_cut_short_still_has_psh() {
        let mut queue = Queue::default();
        queue.leaves((1, 6000), (1, 7));
        assert!(queue.is_in_order());
        queue.leaves((3001, 6000), (4, 10));
        let pushed: Vec<Seq> = (4..10).filter(|&seq| queue.pushes(seq, false)).collect();
        assert_eq!(pushed, [6, 9]);
        assert!(!queue.is_in_order());
    }

    #[test]
    fn bursts_that_were_sent_whole_are_in_order() {
        let mut queue = Queue::default();
        queue.leaves((1, 6000), (1, 7));
        queue.leaves((6001, 6000), (7, 13));
        let pushed: Vec<Seq> = (7..13).filter(|&seq| queue.pushes(seq, false)).collect();
        assert_eq!(pushed, [12]);
        assert!(queue.is_in_order());
    }

    /// Small queues hold back a burst of two segments, for which its piece of four has been divided. The application's next
    /// data fills the second part only. If the window then has room for four, they go as one burst.
    #[test]
    fn a_divided_piece_goes_as_one_burst_if_there_is_room() {
        let (end, push) = (4001, true);
        let mut queue = Queue {
            pieces: VecDeque::from([Piece { end, push }]),
            written: end,
            used: memory(1, 4000),
            ..Queue::default()
        };
        assert_eq!(queue.tail(1), 4000);
        queue.divide(1, 2000);
        assert_eq!((queue.used, queue.tail(1)), (memory(2, 4000), 2000));
        queue.divide(1, 2000);
        assert_eq!(queue.used, memory(2, 4000));
        let burst = |head: Option<Head>| head.map(|head| (head.left, head.is_last));
        assert_eq!(burst(queue.head(1, 2000)), Some((2000, false)));
        assert_eq!(burst(queue.head(1, 4000)), Some((4000, true)));
        assert_eq!(queue.used, memory(1, 4000));
        queue.leaves((1, 4000), (1, 5));
        let pushed: Vec<Seq> = (1..5).filter(|&seq| queue.pushes(seq, false)).collect();
        assert_eq!(pushed, [4]);
    }

    /// A burst of six and one of four; what is joined ends parts within it, and moves the borders before it.
    #[test]
    fn parts_have_the_numbers_of_joined_segments() {
        let two = || {
            let mut queue = Queue::default();
            queue.leaves((1, 6000), (1, 7));
            queue.leaves((6001, 4000), (7, 11));
            queue
        };
        let ends = |queue: &Queue| queue.parts.iter().map(|part| part.end).collect::<Vec<_>>();
        let mut queue = two();
        assert_eq!(ends(&queue), [7, 11]);
        // Within the first part: it ends where it did, and begins later.
        queue.renumber(Joined { seq: 2, others: 3 });
        assert_eq!((ends(&queue), queue.freed), (vec![7, 11], 4));
        // Within the second part: the first has other numbers.
        let mut queue = two();
        queue.renumber(Joined { seq: 8, others: 2 });
        assert_eq!(
            (ends(&queue), queue.freed, queue.begins),
            (vec![9, 11], 3, 9)
        );
        // Over the border: the first part ends before the joined segment.
        let mut queue = two();
        queue.cut(4);
        assert_eq!(ends(&queue), [4, 7, 11]);
        queue.renumber(Joined { seq: 4, others: 4 });
        assert_eq!((ends(&queue), queue.freed), (vec![8, 9, 11], 5));
        // All of a part: nothing of it is left.
        let mut queue = two();
        queue.cut(4);
        queue.cut(6);
        queue.renumber(Joined { seq: 3, others: 5 });
        assert_eq!((ends(&queue), queue.freed), (vec![9, 11], 6));
    }
}
