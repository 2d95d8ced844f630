//! Generic receive offload (GRO) of Linux 6.12: packets of a flow that follow each other are merged before TCP gets
//! them (net/core/gro.c, tcp_gro_receive()).
//!
//! The network card interrupts at once, so each packet has its own poll (napi_complete_done()). With a
//! `gro_flush_timeout` the poll leaves the merged packet where it is, and restarts a timer of this length; when that
//! expires, TCP gets it. TCP also gets it when a packet arrives that cannot be merged, after a packet with PSH or a short
//! one, at 64 KB, and at the first packet after a tick of the kernel's clock (napi_gro_flush()).
//!
//! Each flow has its own queue at the network card: packets of other flows do not restart the timer. IP identifiers are
//! taken to follow each other, and the tick does not count with `hz=0`.

use midflight_control::jiffies::Jiffies;
use midflight_units::{Duration, Instant, Seq};

use super::linux::millis;
use super::memory::{self, Merged};
use crate::config::{AckRules, ReceiverConfig};
use crate::segment::{SackBlock, Segment};

/// A merged packet with its headers of IP and TCP is smaller than that (GRO_LEGACY_MAX_SIZE).
const MOST_BYTES: u64 = 65_536;

/// A packet for TCP.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    /// Its first segment, with the PSH flag of the last.
    pub(super) segment: Segment,
    pub(super) block: SackBlock,
    /// Of several segments.
    pub(super) merged: Option<Merged>,
    /// The tick in which it arrived (NAPI_GRO_CB(skb)->age).
    tick: u64,
}

impl Packet {
    fn len(&self) -> u64 {
        self.block.right - self.block.left
    }
}

/// The packets of a flow that wait to be merged with others: one at most.
#[derive(Clone, Debug)]
pub(super) struct Gro {
    clock: Jiffies,
    timeout: Duration,
    has_timestamps: bool,
    /// Bytes of headers.
    headers: u64,
    held: Option<Packet>,
    /// When the timer expires, and when it was set.
    due: (Instant, Instant),
}

impl Gro {
    /// Of a receiver, if segments are merged.
    pub(super) fn of(config: &ReceiverConfig) -> Option<Box<Self>> {
        let AckRules::Linux {
            clock,
            gro_flush_timeout: timeout,
            ..
        } = config.acks
        else {
            return None;
        };
        let gro = Self {
            clock,
            timeout,
            has_timestamps: config.timestamps,
            headers: config.bare_bytes().into(),
            held: None,
            due: (Instant::NEVER, Instant::ZERO),
        };
        (timeout > Duration::ZERO).then(|| Box::new(gro))
    }

    /// A segment arrives; returns what TCP gets now, in this order.
    pub(super) fn arrive(
        &mut self,
        now: Instant,
        segment: &Segment,
        block: SackBlock,
    ) -> [Option<Packet>; 2] {
        let mut first;
        let mut second = None;
        let len = block.right - block.left;
        let held = self.held.filter(|held| self.merges(held, segment, block));
        if let Some(mut held) = held {
            let merged = held.merged.get_or_insert_with(|| Merged::new(held.block));
            let is_last = segment.push || len < merged.segment();
            merged.add(len);
            held.block.right = block.right;
            held.segment.push |= segment.push;
            self.held = Some(held).filter(|_| !is_last);
            first = Some(held).filter(|_| is_last);
        } else {
            first = self.held.take();
            let packet = Packet {
                segment: *segment,
                block,
                merged: None,
                tick: self.tick(now),
            };
            // tcp_gro_receive(): a SYN or PSH and a packet without data are not held.
            let is_held =
                segment.has_data() && segment.seq > 0 && !segment.push && segment.option.is_none();
            self.held = Some(packet).filter(|_| is_held);
            second = Some(packet).filter(|_| !is_held);
        }
        if self.held.is_some_and(|held| held.tick != self.tick(now)) {
            first = self.held.take();
        }
        self.due = (now + self.timeout, now);
        [first, second]
    }

    /// tcp_gro_receive(), skb_gro_receive(): whether a segment is merged with the packet that waits. The TCP options, that is
    /// the timestamps, have to be the same.
    fn merges(&self, held: &Packet, segment: &Segment, block: SackBlock) -> bool {
        let len = block.right - block.left;
        let first = &held.segment;
        let stamp = |segment: &Segment| (millis(self.clock, segment.sent), segment.echo_ms);
        let full = held.merged.map_or(held.len(), |merged| merged.segment());
        segment.has_data()
            && !segment.cwr
            && segment.option.is_none()
            && segment.ecn == first.ecn
            && (!self.has_timestamps || stamp(segment) == stamp(first))
            && len <= full
            && held.block.right == block.left
            && self.headers + held.len() + len < MOST_BYTES
    }

    fn tick(&self, now: Instant) -> u64 {
        match self.clock.hz {
            0 => 0,
            _ => self.clock.count(now),
        }
    }

    /// What TCP gets because the timer has expired (napi_watchdog()).
    pub(super) fn on_timer(&mut self, now: Instant) -> Option<Packet> {
        if self.due.0 > now {
            return None;
        }
        self.held.take()
    }

    /// When the timer expires, and when it was set.
    pub(super) fn poll_timer(&self) -> Option<(Instant, Instant)> {
        self.held.map(|_| self.due)
    }

    /// Whether a byte has arrived, and whether one beyond another has; `known` is what TCP knows of that.
    #[cold]
    pub(super) fn knows(&self, byte: Seq, beyond: Seq, known: (bool, bool)) -> (bool, bool) {
        let Some(Packet { block, .. }) = self.held else {
            return known;
        };
        let waits = (block.left..block.right).contains(&byte);
        (known.0 || waits, known.1 || block.right > beyond)
    }
}

impl Merged {
    /// Of a packet with one segment.
    fn new(block: SackBlock) -> Self {
        let len = block.right - block.left;
        Self::of(len, memory::truesize(len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::profile;
    use crate::segment::{Content, EcnCodepoint};

    const MSS: u64 = 1448;
    /// That of the profile `linux`, with 50 us.
    fn gro() -> Box<Gro> {
        let mut linux = profile("linux").unwrap_or_else(|_| unreachable!());
        assert!(Gro::of(&linux.receiver).is_none());
        assert_eq!(linux.set("gro_flush_timeout", "50 us"), Ok(()));
        Gro::of(&linux.receiver).unwrap_or_else(|| unreachable!())
    }

    fn at(micros: u64) -> Instant {
        Instant::from_nanos(micros * 1000)
    }

    /// A full segment, sent at this millisecond.
    fn segment(seq: Seq, sent_ms: u64) -> Segment {
        Segment {
            echo_ms: 7,
            ..Segment::plain(seq, 1500, at(sent_ms * 1000))
        }
    }

    /// The segments that TCP gets as packets, when this one arrives.
    fn arrive(gro: &mut Gro, micros: u64, segment: &Segment, len: u64) -> Vec<(u64, u64)> {
        let left = 1 + (segment.seq - 1) * MSS;
        let right = left + len;
        let given = gro.arrive(at(micros), segment, SackBlock { left, right });
        let of = |packet: &Packet| {
            (
                (packet.block.left - 1) / MSS + 1,
                packet.len().div_ceil(MSS),
            )
        };
        given.iter().flatten().map(of).collect()
    }

    fn full(gro: &mut Gro, micros: u64, seq: Seq) -> Vec<(u64, u64)> {
        arrive(gro, micros, &segment(seq, 3), MSS)
    }

    #[test]
    fn packets_merge_until_the_timer_expires() {
        let mut gro = gro();
        assert_eq!(full(&mut gro, 100, 1), []);
        assert_eq!(full(&mut gro, 140, 2), []);
        assert_eq!(full(&mut gro, 180, 3), []);
        // Each of them has restarted it.
        assert_eq!(gro.poll_timer(), Some((at(230), at(180))));
        assert!(gro.on_timer(at(229)).is_none());
        let given = gro.on_timer(at(230));
        let given = given.map(|given| (given.len(), given.merged.map(|merged| merged.size())));
        // The second and third buffer are fragments of the first: their struct sk_buff are freed.
        assert_eq!(given, Some((3 * MSS, Some(2304 + 2 * 2048))));
        assert_eq!(gro.poll_timer(), None);
    }

    #[test]
    fn another_timestamp_echo_mark_or_number_is_not_merged() {
        let other = |change: fn(&mut Segment)| {
            let mut gro = gro();
            full(&mut gro, 100, 1);
            let mut second = segment(2, 3);
            change(&mut second);
            arrive(&mut gro, 110, &second, MSS)
        };
        assert_eq!(other(|_| ()), []);
        assert_eq!(other(|s| s.sent = at(3999)), [], "the same millisecond");
        assert_eq!(other(|s| s.sent = at(4000)), [(1, 1)]);
        assert_eq!(other(|s| s.echo_ms = 8), [(1, 1)]);
        assert_eq!(other(|s| s.ecn = EcnCodepoint::Congestion), [(1, 1)]);
        assert_eq!(other(|s| s.cwr = true), [(1, 1)]);
        assert_eq!(other(|s| s.seq = 3), [(1, 1)]);
        assert_eq!(
            other(|s| s.content = Content::WindowProbe),
            [(1, 1), (2, 1)]
        );
    }

    #[test]
    fn a_push_or_a_short_segment_ends_a_packet() {
        let mut gro = gro();
        full(&mut gro, 100, 1);
        let pushed = Segment {
            push: true,
            ..segment(2, 3)
        };
        assert_eq!(arrive(&mut gro, 110, &pushed, MSS), [(1, 2)]);
        full(&mut gro, 120, 3);
        assert_eq!(arrive(&mut gro, 130, &segment(4, 3), 900), [(3, 2)]);
        // Alone it waits for no other.
        let pushed = Segment {
            push: true,
            ..segment(5, 3)
        };
        assert_eq!(arrive(&mut gro, 140, &pushed, MSS), [(5, 1)]);
        // A longer one than the first is not merged.
        assert_eq!(arrive(&mut gro, 150, &segment(6, 3), 900), []);
        let next = SackBlock {
            left: 1 + 5 * MSS + 900,
            right: 1 + 6 * MSS + 900,
        };
        let [first, second] = gro.arrive(at(151), &segment(6, 3), next);
        assert_eq!(
            (first.map(|p| p.len()), second.is_some()),
            (Some(900), false)
        );
    }

    /// 52 + 45 * 1448 bytes are less than 65536, those of 46 are not. The first packet has 17 fragments, the others are
    /// in a list.
    #[test]
    fn a_packet_has_45_segments_at_most() {
        let mut gro = gro();
        for seq in 1..=45 {
            assert_eq!(full(&mut gro, 100 + seq, seq), [], "{seq}");
        }
        let merged = gro.held.and_then(|held| held.merged);
        assert_eq!(
            merged.map(|merged| merged.size()),
            Some(45 * 2048 + 3 * 256)
        );
        assert_eq!(full(&mut gro, 150, 46), [(1, 45)]);
    }

    /// Ticks of 4 ms: the packet of tick 0 is given up at the first arrival in tick 1, which it still takes.
    #[test]
    fn a_tick_of_the_clock_ends_a_packet() {
        let mut gro = gro();
        assert_eq!(full(&mut gro, 3980, 1), []);
        assert_eq!(full(&mut gro, 4010, 2), [(1, 2)]);
        assert_eq!(full(&mut gro, 4020, 3), []);
        assert_eq!(full(&mut gro, 4060, 4), []);
    }
}
