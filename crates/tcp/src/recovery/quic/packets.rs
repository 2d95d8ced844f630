//! Packets by number (RFC 9002, A.1).

use std::collections::VecDeque;

use midflight_units::{Instant, Seq};

/// The state of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    InFlight,
    /// Declared lost; it may arrive after all.
    Lost,
    Acked,
}

/// An ack-eliciting packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) sent: Instant,
    /// Its segment; none in a packet that only validates a path.
    pub(super) seq: Option<Seq>,
    /// The epoch of the peer's address to which it was sent.
    pub(super) epoch: u16,
    pub(super) fate: Fate,
    /// It counts in the window, and its loss counts as congestion of the current path.
    pub(super) counts: bool,
}

/// All packets from the lowest number that may still change.
#[derive(Clone, Debug, Default)]
pub(super) struct Packets {
    all: VecDeque<Packet>,
    first: u64,
    in_flight: u64,
    /// One past the highest number that is acknowledged; 0 before one is.
    acked_below: u64,
    /// How many are in flight, including those that do not count in the window.
    outstanding: u64,
}

impl Packets {
    /// How many count in the window.
    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Whether an ACK is awaited.
    pub(super) fn is_awaiting(&self) -> bool {
        self.outstanding > 0
    }

    /// The number of the next packet.
    pub(super) fn next(&self) -> u64 {
        self.first + self.all.len() as u64
    }

    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// One past the highest number that is acknowledged.
    pub(super) fn acked_below(&self) -> u64 {
        self.acked_below
    }

    /// Records a sent packet; returns its number.
    pub(super) fn send(&mut self, packet: Packet) -> u64 {
        let number = self.next();
        self.in_flight += u64::from(packet.counts);
        self.outstanding += 1;
        self.all.push_back(packet);
        number
    }

    /// Packets below a number, with their numbers.
    pub(super) fn below(&self, number: u64) -> impl Iterator<Item = (u64, &Packet)> {
        let count = number.saturating_sub(self.first) as usize;
        (self.first..).zip(self.all.iter().take(count))
    }

    /// The oldest packet in flight with a segment that matches `is_missing`: that segment.
    pub(super) fn oldest_segment(&self, is_missing: impl Fn(Seq) -> bool) -> Option<Seq> {
        let in_flight = self.all.iter().filter(|p| p.fate == Fate::InFlight);
        in_flight.filter_map(|p| p.seq).find(|&seq| is_missing(seq))
    }

    /// Changes the state of a packet; returns its earlier record if the state differs.
    pub(super) fn change(&mut self, number: u64, fate: Fate) -> Option<Packet> {
        let place = number.checked_sub(self.first)?;
        let packet = self.all.get_mut(place as usize)?;
        if packet.fate == fate || packet.fate == Fate::Acked {
            return None;
        }
        let before = *packet;
        packet.fate = fate;
        if before.fate == Fate::InFlight {
            self.outstanding -= 1;
            self.in_flight -= u64::from(before.counts);
        }
        if fate == Fate::Acked {
            self.acked_below = self.acked_below.max(number + 1);
        }
        Some(before)
    }

    /// Packets in flight no longer count in the window.
    pub(super) fn discount(&mut self) {
        for packet in &mut self.all {
            packet.counts = false;
        }
        self.in_flight = 0;
    }

    /// Declares all packets in flight lost.
    pub(super) fn take_for_lost(&mut self) {
        for packet in &mut self.all {
            if packet.fate == Fate::InFlight {
                packet.fate = Fate::Lost;
            }
        }
        (self.in_flight, self.outstanding) = (0, 0);
    }

    /// Drops the oldest packets that are acknowledged, or that were lost and sent before `old`.
    pub(super) fn forget(&mut self, old: Instant) {
        let is_over = |packet: &Packet| match packet.fate {
            Fate::Acked => true,
            Fate::Lost => packet.sent < old,
            Fate::InFlight => false,
        };
        while self.all.front().is_some_and(is_over) {
            self.all.pop_front();
            self.first += 1;
        }
    }
}
