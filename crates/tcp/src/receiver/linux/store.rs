//! The receive buffer of a connection whose application reads when it wants to: what waits for it, and which segments
//! find no memory. Simulated applications read at once.

use std::collections::VecDeque;

use midflight_units::{Instant, Seq};

use super::super::memory::{Merged, Packet, Unread};
use super::{Data, Held, LinuxAcks};
use crate::segment::SackBlock;

/// Bytes of struct sk_buff and of struct skb_shared_info, and those before the data: NET_SKB_PAD, headers.
const HEAD: u64 = 256;
const SHARED: u64 = 320;
const BEFORE_DATA: u64 = 64 + 40;
/// The smallest memory for a head (skb_small_head_cache).
const SMALL_HEAD: u64 = 704;
/// The data of a packet of one page, into which packets are collapsed (SKB_MAX_ORDER).
const COLLAPSED: u64 = PAGE - SHARED;
const PAGE: u64 = 4096;
/// The largest window without a scale (U16_MAX).
const UNSCALED: u64 = 65_535;

/// The size of a receive buffer and of its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveSpace {
    /// Bytes of memory (sk_rcvbuf), and the most to which that grows (`net.ipv4.tcp_rmem`): the same with SO_RCVBUF.
    pub buffer: u64,
    /// See [`Self::buffer`].
    pub most: u64,
    /// TCP_WINDOW_CLAMP.
    pub clamp: Option<u64>,
    /// Windows are scaled.
    pub scales: bool,
    /// Bytes of data in a full segment of this side.
    pub segment: u64,
}

/// What waits for the application.
#[derive(Clone, Debug)]
pub(super) struct Store {
    packets: VecDeque<Packet>,
    pub(super) clamp: u64,
    pub(super) segment: u64,
    /// The application has read up to this byte.
    read: Seq,
    is_locked: bool,
    /// The application waits for this many bytes (SO_RCVLOWAT).
    least: u64,
    /// A segment found no memory: the next ACK has a window of zero (ICSK_ACK_NOMEM).
    pub(super) is_out: bool,
}

/// The memory of the data of a packet, as a tun device allocates it: what exceeds a page is in further ones (tun_alloc_skb()).
fn head(len: u64) -> u64 {
    let beyond = (len + BEFORE_DATA + SHARED).saturating_sub(PAGE);
    if beyond > 0 {
        return PAGE + beyond.next_multiple_of(PAGE);
    }
    match len + BEFORE_DATA + SHARED {
        least if least <= SMALL_HEAD => SMALL_HEAD,
        more => more.next_power_of_two(),
    }
}

/// How many bytes can be copied into the memory behind the data (skb_tailroom()): none into further pages.
fn room(len: u64) -> u64 {
    if len + BEFORE_DATA + SHARED > PAGE {
        return 0;
    }
    head(len) - SHARED - BEFORE_DATA - len
}

/// A packet with this many bytes of data that a tun device has allocated.
pub(in crate::receiver) fn of_tun(len: u64) -> Merged {
    Merged::alone(len, truesize(len), room(len))
}

/// The memory that the kernel counts for such a packet (skb->truesize).
fn truesize(len: u64) -> u64 {
    HEAD + head(len)
}

impl Store {
    /// tcp_queue_rcv(), tcp_try_coalesce(): returns the memory that the packet takes. It is copied into the last one if it
    /// continues that and there is room.
    fn queue(&mut self, packet: Packet) -> u64 {
        let last = self.packets.back_mut();
        let fits = |last: &&mut Packet| last.end == packet.first && packet.len <= last.room;
        if let Some(last) = last.filter(fits) {
            last.end = packet.end;
            last.room -= packet.len;
            return 0;
        }
        self.packets.push_back(packet);
        packet.size
    }

    /// tcp_collapse() of all packets: returns the memory that they take then.
    fn collapse(&mut self, next: Seq) -> u64 {
        let mut from = self.read;
        self.packets.clear();
        let mut size = 0;
        while from < next {
            let len = (next - from).min(COLLAPSED);
            from += len;
            let memory = HEAD + (len + SHARED).next_power_of_two();
            size += memory;
            let merged = Some(Merged::alone(len, memory, 0));
            let packet = Packet::new(from - len, from, len, merged);
            self.packets.push_back(packet);
        }
        size
    }
}

impl LinuxAcks {
    /// The application reads when it wants to, from a buffer of this size (tcp_select_initial_window()).
    pub(in crate::receiver) fn set_space(&mut self, space: ReceiveSpace) {
        let ReceiveSpace { buffer, most, .. } = space;
        (self.buffer, self.most_buffer) = (buffer, most);
        let is_locked = most <= buffer;
        let mut clamp = space.clamp.unwrap_or(UNSCALED << 14);
        if is_locked {
            clamp = clamp.min(self.to_window(buffer));
        }
        self.shift = 0;
        if space.scales {
            let largest = buffer.max(most).max(212_992).min(clamp);
            self.shift = (largest.max(1).ilog2() as u8).saturating_sub(15).min(14);
        }
        self.store = Some(Box::new(Store {
            packets: VecDeque::new(),
            clamp: clamp.min(UNSCALED << self.shift),
            segment: space.segment,
            read: 1,
            is_locked,
            least: 1,
            is_out: false,
        }));
    }

    /// The application waits for this many bytes, for which the buffer must have room (tcp_set_rcvlowat()).
    pub(in crate::receiver) fn expect(&mut self, bytes: u64) {
        let (buffer, most) = (self.buffer, self.most_buffer);
        let Some(store) = self.store.as_deref_mut() else {
            return;
        };
        let is_locked = store.is_locked;
        let least = bytes.min(if is_locked { buffer } else { most } / 2);
        store.least = least.max(1);
        let space = self.to_space(least);
        if !is_locked && space > buffer {
            self.buffer = space;
            self.clamp = least;
        }
    }

    /// Whether less than that is there (__tcp_ack_snd_check()).
    #[cold]
    pub(super) fn lacks(&self, next: Seq) -> bool {
        let store = self.store.as_deref();
        store.is_some_and(|store| next - store.read < store.least)
    }

    pub(in crate::receiver) fn connect(&mut self, now: Instant, opened: Instant) {
        self.syn_acked = Some(opened);
        self.establish(now, 0, false);
    }

    pub(in crate::receiver) fn has_store(&self) -> bool {
        self.store.is_some()
    }

    /// The window of an ACK: zero if a segment found no memory (tcp_select_window()).
    #[cold]
    pub(super) fn bounded(&mut self, window: u64) -> u64 {
        let is_out = self
            .store
            .as_mut()
            .is_some_and(|s| std::mem::take(&mut s.is_out));
        if is_out {
            0
        } else {
            window.min(UNSCALED << self.shift)
        }
    }

    /// The window that was advertised last; in a SYN it is not scaled.
    pub(in crate::receiver) fn advertised(&self) -> u64 {
        if self.established {
            self.window
        } else {
            self.window.min(UNSCALED)
        }
    }

    /// Whether there is memory for an in-order segment; otherwise the next ACK has a window of zero
    /// (tcp_try_rmem_schedule(), tcp_prune_queue(), tcp_clamp_window()).
    pub(in crate::receiver) fn has_memory(&mut self, next: Seq) -> bool {
        let used = self.unread.size + self.waiting.size();
        if self.store.is_none() || used <= self.buffer {
            return true;
        }
        self.quick = 0;
        let Some(store) = self.store.as_deref_mut() else {
            return true;
        };
        if self.buffer < self.most_buffer && !store.is_locked {
            self.buffer = used.min(self.most_buffer);
        }
        if used > self.buffer {
            self.threshold = self.clamp.min(2 * self.advmss);
            self.unread.size = store.collapse(next);
        }
        let is_there = self.unread.size + self.waiting.size() <= self.buffer;
        let may_drop = self.unread.size > 0;
        store.is_out = !is_there;
        self.must |= !is_there;
        self.scheduled |= !is_there;
        is_there || !may_drop
    }

    /// An in-order segment is queued, and what waited above it up to `next`; returns the memory that they add, and what of
    /// the segment has arrived before.
    pub(super) fn store(&mut self, data: &Data, next: Seq) -> (Unread, Option<SackBlock>) {
        let Self {
            waiting,
            store,
            dsack,
            ..
        } = self;
        let Some(store) = store.as_deref_mut() else {
            return waiting.release(data, next, *dsack, |_| {});
        };
        let SackBlock { left, right } = data.block;
        let mut size = store.queue(Packet::new(left, right, data.len, data.merged));
        let queue = |packet: &Packet| size += store.queue(*packet);
        let (unread, again) = waiting.release(data, next, *dsack, queue);
        (Unread { size, ..unread }, again)
    }

    /// tcp_measure_rcv_mss(), tcp_set_window_clamp(): the clamp has been `before`.
    pub(super) fn adjust_threshold(&mut self, before: u64) {
        if self.store.is_none() {
            return;
        }
        self.threshold = if self.clamp < before {
            self.threshold.min(self.clamp)
        } else {
            self.threshold.max(self.window.min(self.clamp))
        };
    }

    /// The application has read up to byte `read`: returns whether an ACK is sent then (tcp_cleanup_rbuf()). Nobody
    /// needs more room if more data is expected no longer.
    pub(in crate::receiver) fn read_to(
        &mut self,
        now: Instant,
        (read, expects_more): (Seq, bool),
        held: Held,
    ) -> bool {
        let Some(store) = self.store.as_deref_mut() else {
            return false;
        };
        store.read = read;
        while store
            .packets
            .front()
            .is_some_and(|packet| packet.end <= read)
        {
            let packet = store.packets.pop_front();
            let size = packet.map_or(0, |packet| packet.size);
            self.unread.size = self.unread.size.saturating_sub(size);
        }
        self.adjust_space(now, read, held.next);
        let unacked = held.next.saturating_sub(self.acked);
        let is_pushed = self.pushed && !self.pingpong || self.pushed_twice;
        let is_empty = self.unread.size == 0 && !held.has_gaps;
        if self.scheduled && (unacked > self.mss || is_pushed && is_empty) {
            return true;
        }
        let left = self.left(held.next);
        if !expects_more || 2 * left > self.clamp {
            return false;
        }
        let window = self.choose_window();
        window > 0 && window >= 2 * left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_takes_a_power_of_two_or_pages() {
        assert_eq!([100, 1000, 1460].map(truesize), [960, 2304, 2304]);
        assert_eq!(truesize(4000), HEAD + 2 * PAGE);
    }

    #[test]
    fn a_small_packet_goes_into_the_room_of_the_last() {
        let mut store = Store {
            packets: VecDeque::new(),
            clamp: 0,
            segment: 0,
            read: 1,
            is_locked: true,
            least: 1,
            is_out: false,
        };
        let packet = |left, right| {
            let len = right - left;
            Packet::new(left, right, len, Some(of_tun(len)))
        };
        assert_eq!(store.queue(packet(1, 1001)), 2304);
        assert_eq!(store.queue(packet(1001, 1501)), 0);
        assert_eq!(store.queue(packet(1501, 2501)), 2304);
        assert_eq!(store.packets.len(), 2);
        // One that begins before the end of the last is not copied.
        assert_eq!(store.clone().queue(packet(2501, 2601)), 0);
        assert_eq!(store.clone().queue(packet(2401, 2601)), 960);
        // 2500 bytes fit into one page.
        assert_eq!(store.collapse(2501), HEAD + PAGE);
        assert_eq!(store.packets.len(), 1);
    }
}
