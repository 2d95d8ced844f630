//! The memory that packets take in the Linux receive buffer. Each packet has its own buffer, of half a
//! page or of as many pages as it needs, as from many network drivers. A packet that continues another is
//! merged into it if there is room, and its structures are freed (tcp_try_coalesce()).

mod tree;

use midflight_units::Seq;

use self::tree::{Place, Side, Tree};
use super::linux::blocks::{join, touch};
use super::linux::Data;
use crate::segment::SackBlock;

/// Bytes of struct sk_buff and of struct skb_shared_info, each rounded up to cache lines.
const HEAD: u64 = 256;
const SHARED: u64 = 320;
/// The space that a driver leaves free before the packet (NET_SKB_PAD), and the headers of IP and TCP with
/// timestamps.
const BEFORE_DATA: u64 = 64 + 52;
/// Half a page.
const BUFFER: u64 = 2048;
/// Data fragments besides the first (MAX_SKB_FRAGS).
const MOST_PIECES: u32 = 17;

/// The memory that the kernel counts for a packet with this many bytes of data (skb->truesize).
pub(super) fn truesize(len: u64) -> u64 {
    HEAD + (BEFORE_DATA + len + SHARED).next_multiple_of(BUFFER)
}

/// What GRO has merged into one packet: the first segment with its own buffer, and the others as fragments of it or, if
/// there are too many, of further packets in a list (skb_gro_receive()).
#[derive(Clone, Copy, Debug)]
pub(super) struct Merged {
    /// Bytes of data in its segments, the last of which may be shorter (gso_size).
    segment: u64,
    /// Bytes in use, and how many more bytes of data could be copied in.
    size: u64,
    room: u64,
    /// Fragments of the last packet in the list, and whether there is one besides the first.
    pieces: u32,
    has_list: bool,
}

impl Merged {
    /// A packet with one segment, which takes this much memory.
    pub(super) fn of(segment: u64, size: u64) -> Self {
        Self {
            segment,
            size,
            room: 0,
            pieces: 0,
            has_list: false,
        }
    }

    /// The same of one into which others are not merged, but copied as long as there is room.
    pub(super) fn alone(segment: u64, size: u64, room: u64) -> Self {
        Self {
            room,
            has_list: true,
            ..Self::of(segment, size)
        }
    }

    /// Merges another segment.
    pub(super) fn add(&mut self, len: u64) {
        self.size += truesize(len);
        if self.pieces < MOST_PIECES {
            self.pieces += 1;
            self.size -= HEAD;
        } else {
            self.pieces = 0;
            self.has_list = true;
        }
    }

    /// Bytes of data in its first segment.
    pub(super) fn segment(&self) -> u64 {
        self.segment
    }

    /// Bytes of the buffer in use.
    pub(super) fn size(&self) -> u64 {
        self.size
    }
}

/// A packet that waits above a gap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) first: Seq,
    pub(super) end: Seq,
    /// Bytes in use, and how many more bytes of data could be copied in.
    pub(super) size: u64,
    pub(super) room: u64,
    pub(super) len: u64,
    pieces: u32,
}

impl Packet {
    pub(super) fn new(first: Seq, end: Seq, len: u64, merged: Option<Merged>) -> Self {
        if let Some(merged) = merged {
            // Packets in a list are not merged with others, which as many fragments prevent.
            let pieces = if merged.has_list {
                MOST_PIECES
            } else {
                merged.pieces
            };
            return Self {
                first,
                end,
                size: merged.size,
                room: merged.room,
                len,
                pieces,
            };
        }
        let size = truesize(len);
        Self {
            first,
            end,
            size,
            room: size - HEAD - SHARED - BEFORE_DATA - len,
            len,
            pieces: 0,
        }
    }

    /// skb_try_coalesce(): merges the packet that follows, if there is room.
    fn takes(&mut self, next: &Self) -> bool {
        if self.end != next.first {
            return false;
        }
        if next.len <= self.room {
            self.room -= next.len;
        } else if self.pieces + next.pieces < MOST_PIECES {
            // A packet with fragments has no room (skb_tailroom()).
            self.room = 0;
            self.pieces += 1 + next.pieces;
            self.size += next.size - HEAD;
        } else {
            return false;
        }
        self.len += next.len;
        self.end = next.end;
        true
    }
}

/// What happened to a segment above a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// All of it was there: it is dropped.
    Known,
    /// Merged into the packet before it.
    Merged,
    /// Queued as a packet of this size, which is not counted before [`Waiting::charge`].
    Queued { size: u64 },
}

/// The packets above a gap, in order (out_of_order_queue). Packets of which the kernel does not notice that they overlap
/// are there more than once.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    packets: Tree<Packet>,
    /// The last packet (ooo_last_skb).
    last: Option<Place>,
    size: u64,
}

impl Waiting {
    /// Bytes of the buffer in use.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// Counts the memory of a queued packet (skb_set_owner_r()).
    pub(super) fn charge(&mut self, size: u64) {
        self.size += size;
    }

    /// Queues a segment above a gap; also returns what of it has arrived before, as far as the kernel notices it: it
    /// examines only the packets on the way to the segment's place, and those after it (tcp_data_queue_ofo()).
    pub(super) fn keep(&mut self, data: &Data) -> (Kept, Option<SackBlock>) {
        let (seq, end) = (data.block.left, data.block.right);
        let packet = Packet::new(seq, end, data.len, data.merged);
        let Some(last) = self.last else {
            self.last = Some(self.packets.insert(None, packet));
            return (Kept::Queued { size: packet.size }, None);
        };
        if self.merge(last, &packet) {
            return (Kept::Merged, None);
        }
        let mut again = None;
        let mut below = Some((last, Side::Right));
        if seq < self.packets.get(last).end {
            below = None;
            let mut at = self.packets.root();
            while let Some(place) = at {
                let found = *self.packets.get(place);
                let mut side = Side::Right;
                if seq < found.first {
                    side = Side::Left;
                } else if seq < found.end {
                    if end <= found.end {
                        return (Kept::Known, Some(block(seq, end)));
                    }
                    if seq == found.first {
                        self.size -= found.size;
                        *self.packets.get_mut(place) = packet;
                        widen(&mut again, block(found.first, found.end));
                        return self.drop_covered(place, again);
                    }
                    again = Some(block(seq, found.end));
                } else if self.merge(place, &packet) {
                    return (Kept::Merged, again);
                }
                below = Some((place, side));
                at = self.packets.child(place, side);
            }
        }
        let at = self.packets.insert(below, packet);
        self.drop_covered(at, again)
    }

    /// skb_try_coalesce() of a new packet with one that waits.
    fn merge(&mut self, at: Place, packet: &Packet) -> bool {
        let before = self.packets.get_mut(at);
        let size = before.size;
        let is_merged = before.takes(packet);
        self.size += before.size - size;
        is_merged
    }

    /// Drops the packets after this one that it covers.
    fn drop_covered(
        &mut self,
        at: Place,
        mut again: Option<SackBlock>,
    ) -> (Kept, Option<SackBlock>) {
        let &Packet { end, size, .. } = self.packets.get(at);
        loop {
            let Some(next) = self.packets.next(at) else {
                self.last = Some(at);
                break;
            };
            let found = *self.packets.get(next);
            if end <= found.first {
                break;
            }
            widen(&mut again, block(found.first, end.min(found.end)));
            if end < found.end {
                break;
            }
            self.packets.remove(next);
            self.size -= found.size;
        }
        (Kept::Queued { size }, again)
    }

    /// An in-order segment fills a gap: the packets that follow it up to `next` go to the application with
    /// it (tcp_ofo_queue()), one by one to `queue`. Also returns what of them is in the segment, together with what of it
    /// was `known`.
    pub(super) fn release(
        &mut self,
        data: &Data,
        next: Seq,
        known: Option<SackBlock>,
        mut queue: impl FnMut(&Packet),
    ) -> (Unread, Option<SackBlock>) {
        let (seq, end) = (data.block.left, data.block.right);
        if self.is_empty() {
            let size = data.size();
            return (Unread { size, first: end }, known);
        }
        let mut last = Packet::new(seq, end, data.len, data.merged);
        let (mut first, mut again) = (None, known);
        let (mut size, mut reached) = (0, end);
        while let Some(at) = self.packets.first() {
            let packet = *self.packets.get(at);
            if packet.first >= next {
                break;
            }
            if packet.first < end {
                widen(&mut again, block(packet.first, packet.end.min(end)));
            }
            self.packets.remove(at);
            self.size -= packet.size;
            if packet.end <= reached {
                continue;
            }
            reached = packet.end;
            queue(&packet);
            if !last.takes(&packet) {
                first = first.or(Some(last.end));
                size += last.size;
                last = packet;
            }
        }
        if self.packets.root().is_none() {
            self.last = None;
        }
        let unread = Unread {
            size: size + last.size,
            first: first.unwrap_or(last.end),
        };
        (unread, again)
    }
}

fn block(left: Seq, right: Seq) -> SackBlock {
    SackBlock { left, right }
}

/// tcp_dsack_extend(): widens the block of a duplicate if the other one touches it.
fn widen(again: &mut Option<SackBlock>, other: SackBlock) {
    match again {
        None => *again = Some(other),
        Some(known) if touch(*known, other) => *known = join(*known, other),
        Some(_) => {}
    }
}

/// The data for the application to read (sk_receive_queue).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unread {
    /// Bytes of the buffer in use.
    pub(super) size: u64,
    /// Where the first packet ends.
    pub(super) first: Seq,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::EcnCodepoint;

    const MSS: u64 = 1448;

    fn data(left: u64, right: u64) -> Data {
        Data {
            block: block(left, right),
            len: right - left,
            push: false,
            echo_ms: 0,
            ecn: EcnCodepoint::NotCapable,
            cwr: false,
            merged: None,
        }
    }

    fn keep(waiting: &mut Waiting, segment: u64) -> (Kept, Option<SackBlock>) {
        let left = segment * MSS;
        let kept = waiting.keep(&data(left, left + MSS));
        if let Kept::Queued { size } = kept.0 {
            waiting.charge(size);
        }
        kept
    }

    const QUEUED: (Kept, Option<SackBlock>) = (Kept::Queued { size: 2304 }, None);

    #[test]
    fn a_duplicate_is_known_where_it_is_found() {
        let mut waiting = Waiting::default();
        assert_eq!(keep(&mut waiting, 5), QUEUED);
        assert_eq!(keep(&mut waiting, 11), QUEUED);
        let again = Some(block(11 * MSS, 12 * MSS));
        assert_eq!(keep(&mut waiting, 11), (Kept::Known, again));
        assert_eq!(waiting.size(), 2 * 2304);
    }

    /// Segment 10 rotates to the root, above 11: a second segment 11 is appended to it before that is examined.
    #[test]
    fn a_duplicate_is_unknown_if_the_packet_before_it_is_met_first() {
        let mut waiting = Waiting::default();
        for segment in [8, 11, 10] {
            assert_eq!(keep(&mut waiting, segment), QUEUED);
        }
        assert_eq!(keep(&mut waiting, 11), (Kept::Merged, None));
        let (unread, again) = waiting.release(&data(7 * MSS, 8 * MSS), 9 * MSS, None, |_| {});
        assert_eq!((unread.first, again), (9 * MSS, None));
        // The copy is dropped.
        let (unread, again) = waiting.release(&data(9 * MSS, 10 * MSS), 12 * MSS, None, |_| {});
        assert!(waiting.is_empty() && again.is_none());
        assert_eq!((waiting.size(), unread.first), (0, 12 * MSS));
    }

    #[test]
    fn a_packet_that_covers_others_replaces_them() {
        let mut waiting = Waiting::default();
        for segment in [12, 11, 5] {
            keep(&mut waiting, segment);
        }
        let (kept, again) = waiting.keep(&data(11 * MSS, 14 * MSS));
        assert!(matches!(kept, Kept::Queued { .. }));
        assert_eq!(again, Some(block(11 * MSS, 13 * MSS)));
        assert_eq!(waiting.size(), 2304);
    }
}
