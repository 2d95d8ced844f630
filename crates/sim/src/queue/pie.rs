//! PIE (RFC 8033): an arriving packet is dropped with a probability that a controller sets every 15
//! ms from the delay in the queue and its change.
//!
//! The delay is that of the packet sent last, measured from its arrival time (section 4.3, the second way, which Linux
//! uses too), and zero while the queue is empty. With derandomization (5.4), the cap of an adjustment (5.5), the burst
//! allowance (4.4) and ECN (5.1): above a probability of 10 % packets are dropped even if their senders support ECN.
//!
//! The controller needs no event: its inputs do not change between one arrival or departure and the next.

use midflight_units::{Duration, Instant};

use super::fifo::Fifo;
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
    make: |config| Box::new(Pie::new(config)),
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

#[derive(Clone, Debug)]
struct Pie {
    of: QueueParameters,
    queue: Fifo,
    stream: Stream,
    probability: f64,
    accumulated: f64,
    /// Delay of the packet sent last, and the last delay that the controller used.
    delay: Duration,
    delay_before: Duration,
    burst: Duration,
    next_update: Instant,
}

impl Pie {
    fn new(config: &QueueConfig) -> Self {
        Self {
            of: config.parameters,
            queue: Fifo::default(),
            stream: stream(config.seed, 0, "link", "pie"),
            probability: 0.0,
            accumulated: 0.0,
            delay: Duration::ZERO,
            delay_before: Duration::ZERO,
            burst: MOST_BURST,
            next_update: Instant::ZERO + config.parameters.period,
        }
    }

    /// Makes up for the updates that were due before `now`.
    fn catch_up(&mut self, now: Instant) {
        while self.next_update <= now {
            self.next_update += self.of.period;
            self.update();
            // From here on every update has the same result.
            let rests = self.probability == 0.0
                && self.delay == self.delay_before
                && (self.burst == MOST_BURST || self.burst == Duration::ZERO);
            if rests && self.next_update <= now {
                let missed = now.since(self.next_update).as_nanos() / self.of.period.as_nanos();
                self.next_update += self.of.period * (missed + 1);
            }
        }
    }

    /// The delay that the controller uses: zero if the queue has become empty.
    fn delay_behind(&self, delay: Duration) -> Duration {
        if self.queue.packets() == 0 {
            Duration::ZERO
        } else {
            delay
        }
    }

    /// Section 4.2, with 4.4 and 5.5.
    fn update(&mut self) {
        let seconds = |delay: Duration| delay.as_secs_f64();
        let (now, before) = (seconds(self.delay), seconds(self.delay_before));
        let change = ALPHA * (now - seconds(self.of.target)) + BETA * (now - before);
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
        self.burst = self.burst.saturating_sub(self.of.period);
        let is_calm = |delay: Duration| delay * 2 < self.of.target;
        if self.probability == 0.0 && is_calm(self.delay) && is_calm(self.delay_before) {
            self.burst = MOST_BURST;
        }
        self.delay_before = self.delay;
    }

    /// `drop_early()`, with 5.4.
    fn drops_early(&mut self) -> bool {
        if self.burst > Duration::ZERO {
            return false;
        }
        let is_low = self.delay_before * 2 < self.of.target && self.probability < 0.2;
        if is_low || self.queue.bytes() <= 2 * MEAN_PACKET {
            return false;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        if self.accumulated < NEVER_BEFORE {
            return false;
        }
        let drops = self.accumulated >= ALWAYS_FROM || self.stream.next_f64() < self.probability;
        if drops {
            self.accumulated = 0.0;
        }
        drops
    }
}

impl Discipline for Pie {
    fn enqueue(&mut self, now: Instant, mut packet: Packet, effects: &mut Effects) {
        self.catch_up(now);
        let bytes = self.queue.bytes() + u64::from(packet.bytes);
        let is_full = self.queue.packets() >= self.of.packets as usize
            || self.of.bytes.is_some_and(|most| bytes > most);
        if is_full {
            effects.dropped.push((packet, DropCause::Queue));
            return;
        }
        if self.drops_early() {
            let may = self.of.ecn && self.probability <= MOST_MARKED;
            if !effects.mark(may, &mut packet) {
                effects.dropped.push((packet, DropCause::Early));
                return;
            }
        }
        self.queue.push(now, packet);
    }

    fn dequeue(&mut self, now: Instant, effects: &mut Effects) -> Option<Packet> {
        self.catch_up(now);
        let Some(next) = self.queue.pop() else {
            self.delay = Duration::ZERO;
            return None;
        };
        let waited = next.waited(now);
        self.delay = self.delay_behind(waited);
        let mut packet = next.packet;
        effects.mark_late(&self.of, waited, &mut packet);
        Some(packet)
    }

    fn take(&mut self, now: Instant, is_gone: &mut dyn FnMut(&Packet) -> bool) -> Vec<Packet> {
        self.catch_up(now);
        let mut gone = Vec::new();
        self.queue.take(is_gone, &mut gone);
        self.delay = self.delay_behind(self.delay);
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

    fn pie() -> Pie {
        Pie::new(&config(&PIE))
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
            let mut pie = Pie {
                probability,
                delay: ms(35),
                delay_before: ms(15),
                ..pie()
            };
            pie.update();
            let expected = probability + (0.125 * 0.020 + 1.25 * 0.020) / scale;
            assert!((pie.probability - expected).abs() < 1e-12, "{probability}");
        }
        // From a tenth on, at most 2 % per update.
        let mut high = Pie {
            probability: 0.5,
            delay: ms(300),
            ..pie()
        };
        high.update();
        assert!((high.probability - 0.52).abs() < 1e-12);
        // Without delay it decays: 1.875 ms below the target in one step of alpha, and 2 % of the rest.
        let mut calm = Pie {
            probability: 0.5,
            ..pie()
        };
        calm.update();
        assert!((calm.probability - (0.5 - 0.125 * 0.015) * 0.98).abs() < 1e-12);
    }

    /// Updates that are made later have the same results as at their own times.
    #[test]
    fn updates_need_no_clock() {
        let begin = || Pie {
            probability: 0.3,
            delay: Duration::from_millis(40),
            ..pie()
        };
        for ms in [0, 14, 15, 16, 300, 9_000] {
            let (mut late, mut in_time) = (begin(), begin());
            late.catch_up(at(1_000 * ms));
            for each in 0..=ms {
                in_time.catch_up(at(1_000 * each));
            }
            assert_eq!(late.probability.to_bits(), in_time.probability.to_bits());
            assert_eq!(late.next_update, in_time.next_update);
        }
    }

    /// Not only when the transmitter requests a packet: it may take long to send its last packet, or an outage may drop
    /// all.
    #[test]
    fn an_empty_queue_has_no_delay() {
        let mut effects = Effects::default();
        for by_outage in [false, true] {
            let mut pie = Pie {
                probability: 0.02,
                ..pie()
            };
            let feed = |pie: &mut Pie, number| {
                let packet = packet(0, number, 1500, EcnCodepoint::NotCapable);
                pie.queue.push(at(0), packet);
            };
            feed(&mut pie, 0);
            feed(&mut pie, 1);
            assert!(pie.dequeue(at(30_000), &mut effects).is_some());
            assert_eq!(pie.delay, Duration::from_millis(30), "another one waits");
            if by_outage {
                assert_eq!(pie.take(at(31_000), &mut |_| true).len(), 1);
            } else {
                assert!(pie.dequeue(at(31_000), &mut effects).is_some());
            }
            assert_eq!(pie.delay, Duration::ZERO);
            let before = pie.probability;
            pie.catch_up(at(8_031_000));
            assert!(pie.probability < before / 100.0, "it decays over 8 s");
        }
    }

    /// No drop during the first 150 ms of a burst (section 4.4).
    #[test]
    fn bursts_pass() {
        let mut effects = Effects::default();
        let mut pie = Pie {
            probability: 1.0,
            delay: Duration::from_millis(100),
            delay_before: Duration::from_millis(100),
            ..pie()
        };
        let mut first = None;
        for ms in 0..300 {
            pie.probability = 1.0;
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
                probability,
                accumulated: 9.0,
                burst: Duration::ZERO,
                delay_before: Duration::from_millis(30),
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
