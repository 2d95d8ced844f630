//! PIE as in Linux 6.12 (`net/sched/sch_pie.c`, `include/net/pie.h`), with the kernel's default parameters.
//!
//! Differences from the RFC:
//!
//! - The period is counted in ticks of the kernel's clock, rounded up, and its timer takes one more (`calc_index()`): 20
//!   ms instead of 15 at 250 Hz. The first update comes half a second after the device is set up, which is at tick 0 here.
//! - Probabilities are integers, in units of 2^-56. They are not limited to 1: the check for overflow is one of 64 bits.
//! - While the delay is above 250 ms, each update adds another 2 %.
//! - Without delay the probability decays by 1/64, not by 2 %, and not while packets wait.
//! - The burst allowance decreases by the time between departures, not by periods.
//! - The delay that decides on an arriving packet is the newest one, not that of the last update.
//! - Nothing is dropped while less than two MTUs wait.
//! - A drop at the limit ends the sum of probabilities, too; a mark that the sum has made certain does not.

use midflight_control::jiffies::Jiffies;
use midflight_units::{Duration, Instant};

use super::fifo::Waiting;
use super::linux::MTU;
use super::pie::{self, Law, Pie};
use super::{QueueKind, QueueParameters};
use crate::random::Stream;

pub(super) static PIE: QueueKind = QueueKind {
    name: "pie-linux",
    summary: "pie as in the Linux kernel",
    source: "Linux 6.12, net/sched/sch_pie.c",
    make: |config| Box::new(Pie::<Kernel>::new(config)),
    ..pie::PIE
};

/// `MAX_PROB`: certainty.
const CERTAIN: u64 = u64::MAX >> 8;
/// The clock of its timer.
const CLOCK: Jiffies = Jiffies {
    hz: 250,
    phase: Duration::ZERO,
};
/// `alpha` and `beta`, in sixteenths per second.
const ALPHA: u64 = 2;
const BETA: u64 = 20;

/// `psched_time_t`: instants and durations in units of 64 ns.
type Time = u64;

const fn time(nanos: u64) -> Time {
    nanos >> 6
}

const SECOND: Time = time(1_000_000_000);
const MOST_BURST: Time = time(150_000_000);
const LONG: Time = time(250_000_000);

/// `struct pie_vars`.
#[derive(Clone, Debug, PartialEq)]
struct Kernel {
    delay: Time,
    delay_before: Time,
    burst: Time,
    sent: Option<Time>,
    probability: u64,
    accumulated: u64,
}

impl Default for Kernel {
    fn default() -> Self {
        Self {
            delay: 0,
            delay_before: 0,
            burst: MOST_BURST,
            sent: None,
            probability: 0,
            accumulated: 0,
        }
    }
}

impl Law for Kernel {
    /// `pie_init()`, `pie_timer()`.
    fn updates(of: &QueueParameters) -> (Instant, Duration) {
        let first = CLOCK.rings(Instant::ZERO, Duration::from_millis(500));
        let ticks = CLOCK.of_micros(of.period.as_nanos() / 1000);
        (first, CLOCK.length(ticks + 1))
    }

    /// `pie_calculate_probability()`.
    fn update(&mut self, of: &QueueParameters, bytes: u64) {
        let Self {
            delay,
            delay_before,
            probability: before,
            ..
        } = *self;
        let target = time(of.target.as_nanos());
        let (mut alpha, mut beta) = (
            ALPHA * (CERTAIN / SECOND) / 16,
            BETA * (CERTAIN / SECOND) / 16,
        );
        if before < CERTAIN / 10 {
            (alpha, beta) = (alpha / 2, beta / 2);
            let lower = [100, 1_000, 10_000, 100_000, 1_000_000];
            for _ in lower.iter().take_while(|power| before < CERTAIN / **power) {
                (alpha, beta) = (alpha / 4, beta / 4);
            }
        }
        let change = alpha.wrapping_mul(delay.wrapping_sub(target));
        let change = change.wrapping_add(beta.wrapping_mul(delay.wrapping_sub(delay_before)));
        let mut change = change as i64;
        if change > (CERTAIN / 50) as i64 && before >= CERTAIN / 10 {
            change = (CERTAIN / 100 * 2) as i64;
        }
        if delay > LONG {
            change += (CERTAIN / 50) as i64;
        }
        let mut may_decay = delay != 0 || bytes == 0;
        self.probability = before.wrapping_add_signed(change);
        if change > 0 {
            if self.probability < before {
                self.probability = CERTAIN;
                may_decay = false;
            }
        } else if self.probability > before {
            self.probability = 0;
        }
        if delay == 0 && delay_before == 0 && may_decay {
            self.probability -= self.probability / 64;
        }
        // `pie_vars_init()`
        if delay < target / 2 && delay_before < target / 2 && self.probability == 0 {
            (self.burst, self.sent, self.accumulated) = (MOST_BURST, None, 0);
        }
        self.delay_before = delay;
    }

    /// `pie_drop_early()`.
    fn drops_early(&mut self, of: &QueueParameters, bytes: u64, stream: &mut Stream) -> bool {
        let is_low = self.delay < time(of.target.as_nanos()) / 2 && self.probability < CERTAIN / 5;
        if self.burst > 0 || is_low || bytes < 2 * MTU {
            return false;
        }
        if self.probability == 0 {
            self.accumulated = 0;
        }
        self.accumulated = self.accumulated.wrapping_add(self.probability);
        if self.accumulated < CERTAIN / 100 * 85 {
            return false;
        }
        if self.accumulated >= CERTAIN / 2 * 17 {
            return true;
        }
        let drops = stream.next_u64() >> 8 < self.probability;
        if drops {
            self.accumulated = 0;
        }
        drops
    }

    fn may_mark(&self) -> bool {
        self.probability <= CERTAIN / 10
    }

    fn dropped(&mut self) {
        self.accumulated = 0;
    }

    /// `pie_process_dequeue()`.
    fn sent(&mut self, now: Instant, packet: &Waiting, bytes: u64) {
        let now = time(now.as_nanos());
        self.delay = if bytes == 0 {
            0
        } else {
            now - time(packet.since.as_nanos())
        };
        let passed = self.sent.map_or(0, |sent| now - sent);
        self.sent = Some(now);
        self.burst = self.burst.saturating_sub(passed);
    }

    fn emptied(&mut self) {
        self.delay = 0;
    }
}

#[cfg(test)]
mod tests {
    use midflight_tcp::EcnCodepoint;

    use super::super::tests::{at, config, packet};
    use super::super::{Discipline, Effects};
    use super::*;
    use crate::random::stream;

    const fn ms(ms: u64) -> Time {
        time(1_000_000 * ms)
    }

    fn share(probability: u64) -> f64 {
        probability as f64 / CERTAIN as f64
    }

    /// By hand as in the RFC's table, with gains that are rounded down: 0.125 and 1.25 per second.
    #[test]
    fn the_controller_is_that_of_the_table() {
        let steps = [
            (0.0, 2048.0),
            (0.000_005, 512.0),
            (0.000_05, 128.0),
            (0.000_5, 32.0),
            (0.005, 8.0),
            (0.05, 2.0),
            (0.5, 1.0),
        ];
        for (before, scale) in steps {
            let mut kernel = Kernel {
                probability: (before * CERTAIN as f64) as u64,
                delay: ms(20),
                delay_before: ms(15),
                ..Kernel::default()
            };
            kernel.update(&PIE.default, 1);
            let expected = before + (0.125 * 0.005 + 1.25 * 0.005) / scale;
            assert!(
                (share(kernel.probability) - expected).abs() < 1e-6,
                "{before}"
            );
        }
    }

    /// An update adds at most 2 % above a tenth, 2 % more while the delay is above 250 ms, and does not end at 1.
    #[test]
    fn long_delays_increase_the_probability_without_a_limit() {
        let after = |probability, delay, delay_before| {
            let mut kernel = Kernel {
                delay,
                delay_before,
                probability,
                ..Kernel::default()
            };
            kernel.update(&PIE.default, 1);
            share(kernel.probability)
        };
        assert!((after(CERTAIN / 2, ms(200), 0) - 0.52).abs() < 1e-6);
        assert!((after(CERTAIN / 2, ms(300), 0) - 0.54).abs() < 1e-6);
        assert!((after(CERTAIN, ms(300), 0) - 1.04).abs() < 1e-6);
        assert!((after(u64::MAX - 1, ms(300), 0) - 1.0).abs() < 1e-6);
    }

    /// By 1/64 without delay, unless packets wait.
    #[test]
    fn the_probability_decays_while_nothing_waits() {
        for (bytes, expected) in [(0, (0.5 - 0.001_875) * 63.0 / 64.0), (1, 0.5 - 0.001_875)] {
            let mut kernel = Kernel {
                probability: CERTAIN / 2,
                ..Kernel::default()
            };
            kernel.update(&PIE.default, bytes);
            assert!((share(kernel.probability) - expected).abs() < 1e-6);
        }
    }

    /// The sum decides below 0.85 and from 8.5 on, and a draw between.
    #[test]
    fn the_sum_of_probabilities_limits_chance() {
        let mut stream = stream(1, 0, "link", "pie");
        let mut kernel = Kernel {
            probability: CERTAIN / 10,
            burst: 0,
            delay: ms(30),
            ..Kernel::default()
        };
        let mut runs = Vec::new();
        let mut passed = 0;
        for _ in 0..20_000 {
            if kernel.drops_early(&PIE.default, 3_000, &mut stream) {
                kernel.dropped();
                runs.push(passed);
                passed = 0;
            } else {
                passed += 1;
            }
        }
        // The ninth may be dropped: 0.9 is the first sum that is not below 0.85. Then the mean of a geometric distribution.
        assert_eq!(runs.iter().min(), Some(&8));
        let mean = runs.iter().sum::<usize>() as f64 / runs.len() as f64;
        assert!((mean - 17.0).abs() < 1.0, "{mean}");
        kernel.accumulated = CERTAIN / 2 * 17;
        kernel.probability = 0;
        assert!(
            !kernel.drops_early(&PIE.default, 3_000, &mut stream),
            "no probability, no sum"
        );
        kernel.accumulated = CERTAIN / 2 * 17;
        kernel.probability = 1;
        assert!(kernel.drops_early(&PIE.default, 3_000, &mut stream));
        assert!(
            kernel.accumulated > 0,
            "a packet that is marked leaves the sum"
        );
        kernel.dropped();
        assert_eq!(kernel.accumulated, 0);
        kernel.probability = CERTAIN;
        assert!(
            !kernel.drops_early(&PIE.default, 2_999, &mut stream),
            "less than two MTUs"
        );
    }

    /// The allowance is used by time that passes between departures.
    #[test]
    fn departures_use_the_burst_allowance() {
        let mut pie = Pie::<Kernel>::new(&config(&PIE));
        let mut effects = Effects::default();
        for number in 0..100 {
            let one = packet(0, number, 1500, EcnCodepoint::NotCapable);
            pie.enqueue(at(0), one, &mut effects);
        }
        let mut left = Vec::new();
        for each in 0..=20 {
            pie.dequeue(at(10_000 * each), &mut effects);
            left.push(pie.control.burst);
        }
        assert_eq!(left[0], MOST_BURST);
        assert!(left[15] <= 15 && left[14] > 0, "{left:?}");
        assert_eq!(left[16], 0);
    }

    /// 15 ms are four ticks of 4 ms, and the timer adds one. 500 ms are 125 ticks, in the bucket that ends at tick 128.
    #[test]
    fn updates_come_every_five_ticks() {
        let (first, period) = Kernel::updates(&PIE.default);
        assert_eq!(
            (first.as_nanos(), period.as_nanos()),
            (512_000_000, 20_000_000)
        );
    }
}
