//! PIE (RFC 8033): an arriving packet is dropped with a probability that a controller sets every 15
//! ms from the delay in the queue and its change.
//!
//! The delay is that of the packet sent last, measured from its arrival time (section 4.3, the second way, which Linux
//! uses too), and zero while the queue is empty. With derandomization (5.4), the cap of an adjustment (5.5), the burst
//! allowance (4.4) and ECN (5.1): above a probability of 10 % packets are dropped even if their senders support ECN.
//!
//! The controller needs no event: its inputs do not change between one arrival or departure and the next. [`Law`] is what
//! the RFC and the kernel compute differently.

use std::fmt::Debug;

use midflight_units::{Duration, Instant};

use super::fifo::{Fifo, Waiting};
use super::{Discipline, Effects, QueueConfig, QueueKind, QueueParameters};
use crate::event::DropCause;
use crate::packet::Packet;
use crate::random::{stream, Stream};

pub(super) static PIE: QueueKind = QueueKind {
    name: "pie",
    summary: "drops arriving packets with a probability that keeps the delay at 15 ms",
    source: "RFC 8033",
    default: QueueParameters {
        target: Duration::from_millis(15),
        period: Duration::from_millis(15),
        packets: 1000,
        bytes: None,
        ecn: false,
        threshold: None,
    },
    period: "update",
    is_random: true,
    serves_flows: false,
    make: |config| Box::new(Pie::<Control>::new(config)),
};

/// Gains per second of delay (section 4.2), and MAX_BURST, MEAN_PKTSIZE and `mark_ecnth`.
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
const MOST_BURST: Duration = Duration::from_millis(150);
const MEAN_PACKET: u64 = 1024;
const MOST_MARKED: f64 = 0.1;
/// Derandomization: no drop before the probabilities add up to this, and a certain drop once they add up to the second
/// value.
const NEVER_BEFORE: f64 = 0.85;
const ALWAYS_FROM: f64 = 8.5;

/// A controller of the drop probability. `bytes` are those that wait in the queue.
pub(super) trait Law: Clone + Debug + Default + PartialEq + Send + Sync + 'static {
    /// When it is updated for the first time, and the time between two updates.
    fn updates(of: &QueueParameters) -> (Instant, Duration);

    /// Updates the probability.
    fn update(&mut self, of: &QueueParameters, bytes: u64);

    /// Whether an arriving packet is dropped or marked.
    fn drops_early(&mut self, of: &QueueParameters, bytes: u64, stream: &mut Stream) -> bool;

    /// Whether packets whose senders support ECN are marked instead.
    fn may_mark(&self) -> bool;

    /// An arriving packet was dropped.
    fn dropped(&mut self) {}

    /// A packet is sent.
    fn sent(&mut self, now: Instant, packet: &Waiting, bytes: u64);

    /// Nothing waits any more.
    fn emptied(&mut self);
}

/// The controller of the RFC.
#[derive(Clone, Debug, PartialEq)]
struct Control {
    probability: f64,
    accumulated: f64,
    /// Delay of the packet sent last, and the last delay that the controller used.
    delay: Duration,
    delay_before: Duration,
    burst: Duration,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            probability: 0.0,
            accumulated: 0.0,
            delay: Duration::ZERO,
            delay_before: Duration::ZERO,
            burst: MOST_BURST,
        }
    }
}

impl Law for Control {
    fn updates(of: &QueueParameters) -> (Instant, Duration) {
        (Instant::ZERO + of.period, of.period)
    }

    /// Section 4.2, with 4.4 and 5.5.
    fn update(&mut self, of: &QueueParameters, _bytes: u64) {
        let seconds = |delay: Duration| delay.as_secs_f64();
        let (now, before) = (seconds(self.delay), seconds(self.delay_before));
        let change = ALPHA * (now - seconds(of.target)) + BETA * (now - before);
        let scale = match self.probability {
            p if p < 0.000_001 => 2048.0,
            p if p < 0.000_01 => 512.0,
            p if p < 0.000_1 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        let mut change = change / scale;
        if self.probability >= 0.1 {
            change = change.min(0.02);
        }
        self.probability += change;
        if self.delay == Duration::ZERO && self.delay_before == Duration::ZERO {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.burst = self.burst.saturating_sub(of.period);
        let is_calm = |delay: Duration| delay * 2 < of.target;
        if self.probability == 0.0 && is_calm(self.delay) && is_calm(self.delay_before) {
            self.burst = MOST_BURST;
        }
        self.delay_before = self.delay;
    }

    /// `drop_early()`, with 5.4.
    fn drops_early(&mut self, of: &QueueParameters, bytes: u64, stream: &mut Stream) -> bool {
        if self.burst > Duration::ZERO {
            return false;
        }
        let is_low = self.delay_before * 2 < of.target && self.probability < 0.2;
        if is_low || bytes <= 2 * MEAN_PACKET {
            return false;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        if self.accumulated < NEVER_BEFORE {
            return false;
        }
        let drops = self.accumulated >= ALWAYS_FROM || stream.next_f64() < self.probability;
        if drops {
            self.accumulated = 0.0;
        }
        drops
    }

    fn may_mark(&self) -> bool {
        self.probability <= MOST_MARKED
    }

    fn sent(&mut self, now: Instant, packet: &Waiting, bytes: u64) {
        self.delay = if bytes == 0 {
            Duration::ZERO
        } else {
            packet.waited(now)
        };
    }

    fn emptied(&mut self) {
        self.delay = Duration::ZERO;
    }
}

#[derive(Clone, Debug)]
pub(super) struct Pie<L> {
    of: QueueParameters,
    queue: Fifo,
    stream: Stream,
    pub(super) control: L,
    next_update: Instant,
    period: Duration,
}

impl<L: Law> Pie<L> {
    pub(super) fn new(config: &QueueConfig) -> Self {
        let (next_update, period) = L::updates(&config.parameters);
        Self {
            of: config.parameters,
            queue: Fifo::default(),
            stream: stream(config.seed, 0, "link", "pie"),
            control: L::default(),
            next_update,
            period,
        }
    }

    /// Makes up for the updates that were due before `now`.
    fn catch_up(&mut self, now: Instant) {
        while self.next_update <= now {
            self.next_update += self.period;
            let before = self.control.clone();
            self.control.update(&self.of, self.queue.bytes());
            // If it changes nothing, nor does any further one.
            if self.control == before && self.next_update <= now {
                let missed = now.since(self.next_update).as_nanos() / self.period.as_nanos();
                self.next_update += self.period * (missed + 1);
            }
        }
    }
}

impl<L: Law> Discipline for Pie<L> {
    fn enqueue(&mut self, now: Instant, mut packet: Packet, effects: &mut Effects) {
        self.catch_up(now);
        let waiting = self.queue.bytes();
        let bytes = waiting + u64::from(packet.bytes);
        let is_full = self.queue.packets() >= self.of.packets as usize
            || self.of.bytes.is_some_and(|most| bytes > most);
        if is_full {
            self.control.dropped();
            effects.dropped.push((packet, DropCause::Queue));
            return;
        }
        let Self {
            of,
            stream,
            control,
            ..
        } = self;
        if control.drops_early(of, waiting, stream) {
            let may = of.ecn && control.may_mark();
            if !effects.mark(may, &mut packet) {
                control.dropped();
                effects.dropped.push((packet, DropCause::Early));
                return;
            }
        }
        self.queue.push(now, packet);
    }

    fn dequeue(&mut self, now: Instant, effects: &mut Effects) -> Option<Packet> {
        self.catch_up(now);
        let Some(next) = self.queue.pop() else {
            self.control.emptied();
            return None;
        };
        self.control.sent(now, &next, self.queue.bytes());
        let mut packet = next.packet;
        effects.mark_late(&self.of, next.waited(now), &mut packet);
        Some(packet)
    }

    fn take(&mut self, now: Instant, is_gone: &mut dyn FnMut(&Packet) -> bool) -> Vec<Packet> {
        self.catch_up(now);
        let mut gone = Vec::new();
        self.queue.take(is_gone, &mut gone);
        if self.queue.packets() == 0 {
            self.control.emptied();
        }
        gone
    }

    fn load(&self) -> (usize, u64) {
        (self.queue.packets(), self.queue.bytes())
    }

    fn boxed(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use midflight_tcp::EcnCodepoint;

    use super::super::tests::{at, config, packet};
    use super::*;

    fn pie(control: Control) -> Pie<Control> {
        let of = Pie::new(&config(&PIE));
        Pie { control, ..of }
    }

    /// The table of section 4.2 by hand: from zero, 35 ms after 15 ms add (0.125 x 0.020 + 1.25 x 0.020) / 2048.
    #[test]
    fn the_controller_is_that_of_the_table() {
        let ms = Duration::from_millis;
        let steps = [
            (0.0, 2048.0),
            (0.000_005, 512.0),
            (0.000_05, 128.0),
            (0.000_5, 32.0),
            (0.005, 8.0),
            (0.05, 2.0),
        ];
        for (probability, scale) in steps {
            let mut control = Control {
                probability,
                delay: ms(35),
                delay_before: ms(15),
                ..Control::default()
            };
            control.update(&PIE.default, 0);
            let expected = probability + (0.125 * 0.020 + 1.25 * 0.020) / scale;
            assert!(
                (control.probability - expected).abs() < 1e-12,
                "{probability}"
            );
        }
        // From a tenth on, at most 2 % per update.
        let mut high = Control {
            probability: 0.5,
            delay: ms(300),
            ..Control::default()
        };
        high.update(&PIE.default, 0);
        assert!((high.probability - 0.52).abs() < 1e-12);
        // Without delay it decays: 1.875 ms below the target in one step of alpha, and 2 % of the rest.
        let mut calm = Control {
            probability: 0.5,
            ..Control::default()
        };
        calm.update(&PIE.default, 0);
        assert!((calm.probability - (0.5 - 0.125 * 0.015) * 0.98).abs() < 1e-12);
    }

    /// Updates that are made later have the same results as at their own times.
    #[test]
    fn updates_need_no_clock() {
        let begin = || {
            pie(Control {
                probability: 0.3,
                delay: Duration::from_millis(40),
                ..Control::default()
            })
        };
        for ms in [0, 14, 15, 16, 300, 9_000] {
            let (mut late, mut in_time) = (begin(), begin());
            late.catch_up(at(1_000 * ms));
            for each in 0..=ms {
                in_time.catch_up(at(1_000 * each));
            }
            assert_eq!(late.control, in_time.control);
            assert_eq!(late.next_update, in_time.next_update);
        }
    }

    /// Not only when the transmitter requests a packet: it may take long to send its last packet, or an outage may drop
    /// all.
    #[test]
    fn an_empty_queue_has_no_delay() {
        let mut effects = Effects::default();
        for by_outage in [false, true] {
            let mut pie = pie(Control {
                probability: 0.02,
                ..Control::default()
            });
            let feed = |pie: &mut Pie<Control>, number| {
                let packet = packet(0, number, 1500, EcnCodepoint::NotCapable);
                pie.queue.push(at(0), packet);
            };
            feed(&mut pie, 0);
            feed(&mut pie, 1);
            assert!(pie.dequeue(at(30_000), &mut effects).is_some());
            assert_eq!(
                pie.control.delay,
                Duration::from_millis(30),
                "another one waits"
            );
            if by_outage {
                assert_eq!(pie.take(at(31_000), &mut |_| true).len(), 1);
            } else {
                assert!(pie.dequeue(at(31_000), &mut effects).is_some());
            }
            assert_eq!(pie.control.delay, Duration::ZERO);
            let before = pie.control.probability;
            pie.catch_up(at(8_031_000));
            assert!(
                pie.control.probability < before / 100.0,
                "it decays over 8 s"
            );
        }
    }

    /// No drop during the first 150 ms of a burst (section 4.4).
    #[test]
    fn bursts_pass() {
        let mut effects = Effects::default();
        let mut pie = pie(Control {
            probability: 1.0,
            delay: Duration::from_millis(100),
            delay_before: Duration::from_millis(100),
            ..Control::default()
        });
        let mut first = None;
        for ms in 0..300 {
            pie.control.probability = 1.0;
            pie.enqueue(
                at(1_000 * ms),
                packet(0, ms, 1500, EcnCodepoint::NotCapable),
                &mut effects,
            );
            if !effects.dropped.is_empty() {
                first.get_or_insert(ms);
            }
        }
        assert_eq!(first, Some(150));
    }

    /// Marks up to a tenth, drops above, as section 5.1 says.
    #[test]
    fn marks_are_for_light_congestion() {
        for (probability, marks) in [(0.1, true), (0.11, false)] {
            let mut of = config(&PIE);
            of.parameters.ecn = true;
            let mut pie = Pie {
                control: Control {
                    probability,
                    accumulated: 9.0,
                    burst: Duration::ZERO,
                    delay_before: Duration::from_millis(30),
                    ..Control::default()
                },
                next_update: Instant::NEVER,
                ..Pie::new(&of)
            };
            for number in 0..3 {
                pie.queue
                    .push(at(0), packet(0, number, 1500, EcnCodepoint::Capable));
            }
            let mut effects = Effects::default();
            pie.enqueue(
                at(1),
                packet(0, 3, 1500, EcnCodepoint::Capable),
                &mut effects,
            );
            let found = (effects.marked.len(), effects.dropped.len());
            assert_eq!(found, if marks { (1, 0) } else { (0, 1) });
        }
    }
}
