//! The memory that packets take in the Linux receive buffer. Each packet has its own buffer, of half a
//! page or of as many pages as it needs, as from many network drivers. A packet that continues another is
//! merged into it if there is room, and its structures are freed (tcp_try_coalesce()).

use std::collections::VecDeque;

use midflight_units::Seq;

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

#[derive(Clone, Copy, Debug)]
struct Packet {
    first: Seq,
    end: Seq,
    /// Bytes in use, and how many more bytes of data could be copied in.
    size: u64,
    room: u64,
    len: u64,
    pieces: u32,
}

impl Packet {
    fn new(first: Seq, end: Seq, len: u64) -> Self {
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
        if self.pieces == 0 && next.len <= self.room {
            self.room -= next.len;
        } else if self.pieces + next.pieces < MOST_PIECES {
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

/// The packets above a gap, in order (out_of_order_queue).
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    packets: VecDeque<Packet>,
    size: u64,
}

impl Waiting {
    /// Bytes of the buffer in use.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Queues a segment above a gap (tcp_data_queue_ofo()); returns whether it was merged into the packet
    /// before it.
    pub(super) fn keep(&mut self, seq: Seq, end: Seq, len: u64) -> bool {
        let packet = Packet::new(seq, end, len);
        let at = self.packets.partition_point(|p| p.first < seq);
        if let Some(before) = at.checked_sub(1).and_then(|i| self.packets.get_mut(i)) {
            let size = before.size;
            if before.takes(&packet) {
                self.size += before.size - size;
                return true;
            }
        }
        self.size += packet.size;
        self.packets.insert(at, packet);
        false
    }

    /// An in-order segment fills a gap: the packets that follow it up to `next` go to the application with
    /// it (tcp_ofo_queue()).
    pub(super) fn release(&mut self, seq: Seq, end: Seq, len: u64, next: Seq) -> Unread {
        if self.packets.is_empty() {
            let size = truesize(len);
            return Unread { size, first: end };
        }
        let mut last = Packet::new(seq, end, len);
        let mut first = None;
        let mut size = 0;
        while let Some(&packet) = self.packets.front().filter(|p| p.first < next) {
            self.packets.pop_front();
            self.size -= packet.size;
            if !last.takes(&packet) {
                first = first.or(Some(last.end));
                size += last.size;
                last = packet;
            }
        }
        Unread {
            size: size + last.size,
            first: first.unwrap_or(last.end),
        }
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
