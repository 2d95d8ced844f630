//! When a QUIC receiver sends an ACK, and what the ACK contains (RFC 9000 section 13.2): it sends ranges of packet
//! numbers for every second packet, for a packet out of order at once, and for any packet after max_ack_delay. Also the
//! source address of its packets, if its node's address has changed (section 9).

use midflight_units::{Duration, Instant};
use smallvec::SmallVec;

use super::{block, Receiver};
use crate::segment::{
    Ack, AckOption, Content, SackBlock, SackBlocks, Segment, SegmentOption, Source, QUIC_ACK,
};

/// Ranges that are kept (section 13.2.3 allows a limit).
const MOST_RANGES: usize = 64;
/// Most ranges in an ACK.
const TOLD_RANGES: usize = 4;
/// The packet from a new address is repeated until a response arrives, first after the probe timeout of a new path (RFC
/// 9002 section 6.2.2).
const REPEAT: Duration = Duration::from_millis(999);

/// A packet that has arrived.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    number: u64,
    sent: Instant,
    at: Instant,
}

/// The state of a QUIC receiver's ACKs.
#[derive(Clone, Debug)]
pub(super) struct QuicAcks {
    threshold: u32,
    /// Ranges that have arrived, ascending.
    ranges: Vec<SackBlock>,
    largest: Option<Arrived>,
    /// Numbers that have arrived since the last ACK and are not in the highest range.
    late: SmallVec<[u64; 2]>,
    /// Packets that are not acknowledged yet, and the deadline of their ACK.
    waiting: u32,
    due: Option<(Instant, Instant)>,
    /// The node's address, if it has changed.
    source: Option<Source>,
    /// The timer that repeats a packet from the new address: its expiry, when it was set, and the next interval.
    repeat: Option<(Instant, Instant, Duration)>,
}

impl QuicAcks {
    pub(super) fn new(threshold: u32) -> Self {
        Self {
            threshold,
            ranges: Vec::new(),
            largest: None,
            late: SmallVec::new(),
            waiting: 0,
            due: None,
            source: None,
            repeat: None,
        }
    }

    /// A packet has arrived; returns whether it must be acknowledged at once.
    fn take(&mut self, now: Instant, packet: &Segment, most: Option<Duration>) -> bool {
        let number = packet.packet_number();
        let expected = self.largest.map_or(number, |largest| largest.number + 1);
        self.insert(number);
        if self.largest.is_none_or(|largest| number > largest.number) {
            self.largest = Some(Arrived {
                number,
                sent: packet.sent,
                at: now,
            });
        } else {
            self.late.push(number);
        }
        self.waiting += 1;
        let is_due = self.waiting > self.threshold || number != expected || most.is_none();
        if let (false, None, Some(most)) = (is_due, self.due, most) {
            self.due = Some((now + most, now));
        }
        is_due
    }

    fn insert(&mut self, number: u64) {
        let place = self.ranges.partition_point(|range| range.right < number);
        let (left, right) = (number, number + 1);
        match self.ranges.get_mut(place) {
            Some(range) if range.right == number => {
                range.right = right;
                let next = self.ranges.get(place + 1).copied();
                if let Some(next) = next.filter(|next| next.left == right) {
                    self.ranges[place].right = next.right;
                    self.ranges.remove(place + 1);
                }
            }
            Some(range) if range.left == right => range.left = left,
            Some(range) if range.left <= number => {}
            _ => self.ranges.insert(place, SackBlock { left, right }),
        }
        if self.ranges.len() > MOST_RANGES {
            self.ranges.remove(0);
        }
    }

    /// The highest range, then the ranges of late packets, then the next lower ones.
    fn ranges(&self, ack: u64) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let mut places: SmallVec<[usize; TOLD_RANGES]> = SmallVec::new();
        let late = self.late.iter().rev().filter_map(|number| {
            let place = self.ranges.partition_point(|range| range.right <= *number);
            (place < self.ranges.len()).then_some(place)
        });
        let highest = self.ranges.len().checked_sub(1);
        let lower = (0..self.ranges.len()).rev();
        for place in highest.into_iter().chain(late).chain(lower) {
            if places.len() == TOLD_RANGES {
                break;
            }
            if !places.contains(&place) {
                places.push(place);
            }
        }
        for place in places {
            blocks.push(ack, self.ranges[place]);
        }
        blocks
    }

    pub(super) fn poll_timer(&self) -> Option<(Instant, Instant)> {
        let repeat = self.repeat.map(|(due, set, _)| (due, set));
        let both = self.due.into_iter().chain(repeat);
        both.min_by_key(|(due, _)| *due)
    }
}

impl Receiver {
    #[cold]
    #[inline(never)]
    pub(super) fn on_packet_of_quic(&mut self, now: Instant, segment: Segment) -> Option<Ack> {
        let most = self.config.delayed_ack.filter(|_| segment.seq > 0);
        let answer = segment.option.and_then(|option| {
            let report = self.measurement.on_segment(now, &segment);
            match option {
                SegmentOption::Request(request) => request.response().map(AckOption::Approved),
                _ => report.map(AckOption::from),
            }
        });
        if segment.has_data() {
            let block = block(&segment);
            if !self.has_all(block) {
                self.insert(block);
            }
        }
        let is_challenge = segment.content == Content::Challenge;
        let acks = self.quic.as_deref_mut()?;
        let mut is_due = acks.take(now, &segment, most);
        if is_challenge {
            let is_current = |source: &Source| u64::from(source.epoch) == segment.seq;
            if acks.source.as_ref().is_some_and(is_current) {
                acks.repeat = None;
            }
            is_due = true;
        }
        is_due |= answer.is_some() || segment.content == Content::WindowProbe;
        if !is_due {
            return None;
        }
        let mut ack = self.acknowledge_as_quic(now, segment.sent);
        // Behind the handshake in the same datagram quinn-proto's server sends NEW_CONNECTION_ID frames
        // (`Connection::issue_first_cids`), in a packet of the data's number space. `PendingAcks::packet_received` counts it at the
        // client, and starts the timer of max_ack_delay.
        let has_ids = self.config.handshake_ids && segment.seq == 0 && segment.has_data();
        if let Some(acks) = self.quic.as_deref_mut().filter(|_| has_ids) {
            acks.waiting = 1;
            acks.due = self.config.delayed_ack.map(|most| (now + most, now));
        }
        match (&mut ack.option, answer) {
            (AckOption::From(source), _) if is_challenge => {
                source.answers = Some(segment.seq as u16);
            }
            (option @ AckOption::Nothing, Some(answer)) => *option = answer,
            _ => {}
        }
        Some(ack)
    }

    /// The ACK of everything that has arrived.
    pub(super) fn acknowledge_as_quic(&mut self, now: Instant, cause_sent: Instant) -> Ack {
        let (mut sack, mut echo) = (SackBlocks::default(), None);
        let mut option = self.window_option();
        let next = self.next;
        if let Some(acks) = self.quic.as_deref_mut() {
            sack = acks.ranges(next);
            // The send time of the largest packet plus the ACK delay: the sender gets the same RTT sample as from its
            // own record and the ACK Delay field.
            echo = acks
                .largest
                .map(|largest| largest.sent + now.since(largest.at));
            acks.late.clear();
            acks.waiting = 0;
            acks.due = None;
            if let (AckOption::Nothing, Some(source)) = (option, acks.source) {
                option = AckOption::From(source);
            }
        }
        self.last_ack_sent = next;
        self.last_cause = cause_sent;
        Ack {
            ack: next,
            sack,
            echo,
            cause_sent,
            offset: 0,
            option,
            window: None,
            stamp_ms: 0,
            extra_bytes: QUIC_ACK,
        }
    }

    pub(super) fn on_timer_of_quic(&mut self, now: Instant) -> Option<Ack> {
        let acks = self.quic.as_deref_mut()?;
        if let Some((due, _, wait)) = acks.repeat.filter(|(due, ..)| *due <= now) {
            acks.repeat = Some((now + wait * 2, due, wait * 2));
        } else if acks.due.is_none_or(|(due, _)| due > now) {
            return None;
        }
        let cause = acks.largest.map_or(self.last_cause, |largest| largest.sent);
        Some(self.acknowledge_as_quic(now, cause))
    }

    /// The node has the new address `address`; with `port_only` only the port changed. If the node detects the change
    /// (`knows`) and has a connection, it sends a packet at once; otherwise the sender detects the change from the next
    /// packet.
    pub fn on_address(
        &mut self,
        now: Instant,
        address: u16,
        port_only: bool,
        knows: bool,
    ) -> Option<Ack> {
        let acks = self.quic.as_deref_mut()?;
        let epoch = acks.source.map_or(0, |source| source.epoch) + 1;
        acks.source = Some(Source {
            epoch,
            address,
            port_only,
            answers: None,
        });
        if !knows {
            return None;
        }
        acks.repeat = Some((now + REPEAT, now, REPEAT));
        let cause = self.last_cause;
        Some(self.acknowledge_as_quic(now, cause))
    }

    /// What a packet of the node carries besides data: its source address, if that has changed.
    pub fn report_address(&mut self, now: Instant) -> Option<Ack> {
        self.quic.as_deref()?.source?;
        let cause = self.last_cause;
        Some(self.acknowledge_as_quic(now, cause))
    }

    /// How many addresses the node has had before this one.
    pub fn epoch(&self) -> u16 {
        let source = self.quic.as_deref().and_then(|acks| acks.source);
        source.map_or(0, |source| source.epoch)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ranges_are_those_of_arrived_packets() {
        let mut state = 7_u64;
        for _ in 0..200 {
            let (mut acks, mut there) = (QuicAcks::new(1), BTreeSet::new());
            for _ in 0..60 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let number = (state >> 40) % 50;
                acks.insert(number);
                there.insert(number);
                let all = acks.ranges.iter().flat_map(|r| r.left..r.right);
                assert!(all.eq(there.iter().copied()), "{:?}", acks.ranges);
                let apart = |two: &[SackBlock]| two[0].right < two[1].left;
                assert!(acks.ranges.windows(2).all(apart), "{:?}", acks.ranges);
            }
        }
    }
}
