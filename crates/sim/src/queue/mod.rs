//! Managed queues: a discipline manages the packets before a link's transmitter; it may drop or mark packets early,
//! or serve flows in turn.
//!
//! A link without one is drop-tail, and a packet's departure is known when it is accepted (`link.rs`). With a
//! discipline it is not: a packet stays in the queue until the transmitter is free, which is an event.
//!
//! A discipline is one file in this folder and one line in [`QUEUES`].

mod codel;
mod fifo;
mod fq_codel;
mod linux;
mod pie;
mod pie_linux;

use std::fmt;

use midflight_tcp::EcnCodepoint;
use midflight_units::{Duration, Instant};

use crate::config::FlowId;
use crate::event::DropCause;
use crate::packet::Packet;

/// The disciplines by name.
pub const QUEUES: &[&QueueKind] = &[
    &codel::CODEL,
    &linux::CODEL,
    &fq_codel::FQ_CODEL,
    &linux::FQ_CODEL,
    &pie::PIE,
    &pie_linux::PIE,
];

/// A discipline: its name, a description, and its constructor.
pub struct QueueKind {
    /// Its name.
    pub name: &'static str,
    /// Its description in one line.
    pub summary: &'static str,
    /// The RFC.
    pub source: &'static str,
    /// The defaults of the options.
    pub default: QueueParameters,
    /// The name of the option `period` here, for example `interval`.
    pub period: &'static str,
    /// Whether it draws random numbers.
    pub is_random: bool,
    /// Whether each flow has its own queue.
    pub serves_flows: bool,
    make: fn(&QueueConfig) -> Box<dyn Discipline>,
}

impl PartialEq for QueueKind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for QueueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl QueueKind {
    /// The discipline with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        QUEUES.iter().copied().find(|kind| kind.name == name)
    }
}

/// The parameters of a discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueParameters {
    /// Target delay in the queue.
    pub target: Duration,
    /// The interval over which it observes the delay, or the interval between its decisions.
    pub period: Duration,
    /// Maximum number of waiting packets, excluding the one in transmission.
    pub packets: u32,
    /// Maximum number of waiting bytes; none for no limit.
    pub bytes: Option<u64>,
    /// Packets of senders that support ECN are marked instead of dropped early.
    pub ecn: bool,
    /// Packets with ECT that have waited longer than this are marked at once, independent of other decisions: all
    /// of them, or only those of L4S senders.
    pub threshold: Option<(Duration, Marked)>,
}

/// Which packets a threshold marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// Packets with ECT(0) or ECT(1).
    All,
    /// Packets with ECT(1), set by L4S senders (RFC 9331).
    LowLatency,
}

/// The discipline of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueConfig {
    /// Which one.
    pub kind: &'static QueueKind,
    /// Its parameters.
    pub parameters: QueueParameters,
    /// Seed of its random stream; see [`crate::random::seed`].
    pub seed: u64,
}

impl QueueConfig {
    pub(crate) fn make(&self) -> Box<dyn Discipline> {
        (self.kind.make)(self)
    }
}

/// What a discipline did to packets.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// The packets that it dropped, and why.
    pub(crate) dropped: Vec<(Packet, DropCause)>,
    /// The packets that it marked.
    pub(crate) marked: Vec<Packet>,
}

impl Effects {
    /// Marks a packet if its sender supports ECN and `may` is true; returns whether it did.
    fn mark(&mut self, may: bool, packet: &mut Packet) -> bool {
        let marks = may && packet.ecn() != EcnCodepoint::NotCapable;
        if marks {
            packet.set_ecn(EcnCodepoint::Congestion);
            self.marked.push(*packet);
        }
        marks
    }

    /// Marks a packet that is sent after having `waited` longer than the threshold.
    fn mark_late(&mut self, parameters: &QueueParameters, waited: Duration, packet: &mut Packet) {
        let Some((most, whom)) = parameters.threshold else {
            return;
        };
        let is_meant = match whom {
            Marked::All => {
                packet.ecn() == EcnCodepoint::Capable || packet.ecn() == EcnCodepoint::LowLatency
            }
            Marked::LowLatency => packet.ecn() == EcnCodepoint::LowLatency,
        };
        if is_meant && waited > most {
            self.mark(true, packet);
        }
    }
}

/// The queue before a transmitter.
pub(crate) trait Discipline: fmt::Debug + Send + Sync {
    /// A packet arrives.
    fn enqueue(&mut self, now: Instant, packet: Packet, effects: &mut Effects);

    /// The transmitter is free; returns the packet that it sends.
    fn dequeue(&mut self, now: Instant, effects: &mut Effects) -> Option<Packet>;

    /// Removes and returns the packets for which `is_gone` is true.
    fn take(&mut self, now: Instant, is_gone: &mut dyn FnMut(&Packet) -> bool) -> Vec<Packet>;

    /// Packets and bytes that wait.
    fn load(&self) -> (usize, u64);

    /// Calls `each` with the packets that wait in the queue of each flow, none for cross traffic; does nothing if flows
    /// have no queues of their own.
    fn backlogs(&self, _each: &mut dyn FnMut(Option<FlowId>, u64)) {}

    /// A copy.
    fn boxed(&self) -> Box<dyn Discipline>;
}

impl Clone for Box<dyn Discipline> {
    fn clone(&self) -> Self {
        self.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NodeId;
    use crate::packet::PacketOptions;

    pub(super) fn packet(flow: u32, number: u64, bytes: u32, ecn: EcnCodepoint) -> Packet {
        let segment = midflight_tcp::Segment {
            ecn,
            ..midflight_tcp::Segment::plain(number, bytes, Instant::ZERO)
        };
        Packet::data(
            FlowId(flow),
            NodeId(1),
            &segment,
            &mut PacketOptions::default(),
        )
    }

    pub(super) fn config(kind: &'static QueueKind) -> QueueConfig {
        QueueConfig {
            kind,
            parameters: kind.default,
            seed: 1,
        }
    }

    pub(super) fn at(us: u64) -> Instant {
        Instant::from_nanos(1_000 * us)
    }

    /// Every arriving packet is sent, dropped or waits, and a limit holds.
    #[test]
    fn nothing_is_lost_from_sight() {
        for kind in QUEUES {
            let mut config = config(kind);
            config.parameters.packets = 50;
            config.parameters.bytes = Some(60_000);
            let mut queue = config.make();
            let mut effects = Effects::default();
            let (mut state, mut come, mut gone) = (1_u64, 0, 0);
            for step in 0..20_000_u64 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let (now, flow) = (at(500 * step), (state >> 40) % 5);
                // The load is above capacity for a while, then below.
                if (state >> 60) % 8 < if step % 4_000 < 2_000 { 6 } else { 2 } {
                    let bytes = [40, 1500][(state >> 50) as usize % 2];
                    queue.enqueue(
                        now,
                        packet(flow as u32, step, bytes, EcnCodepoint::NotCapable),
                        &mut effects,
                    );
                    come += 1;
                }
                if (state >> 55) % 2 == 0 {
                    gone += usize::from(queue.dequeue(now, &mut effects).is_some());
                }
                let (packets, bytes) = queue.load();
                assert!(packets <= 50 && bytes <= 60_000, "{kind:?}");
            }
            let waiting = queue.load().0;
            let dropped = effects.dropped.len();
            assert_eq!(come, gone + dropped + waiting, "{kind:?}");
            assert!(dropped > 0, "{kind:?}");
            let taken = queue.take(Instant::ZERO, &mut |_| true).len();
            assert_eq!((taken, queue.load()), (waiting, (0, 0)), "{kind:?}");
        }
    }
}
