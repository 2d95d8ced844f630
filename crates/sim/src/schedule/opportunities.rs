//! Delivery opportunities at given instants, periodically: how Mahimahi's `mm-link` uses a file.
//!
//! Each opportunity carries this many bytes of the queue, in order: the end of a packet, several packets,
//! or the beginning of one. Unused bytes are lost, and a packet that arrives at the instant of an
//! opportunity does not use it (`LinkQueue::rationalize` of Mahimahi runs before a packet is queued).

use midflight_units::Duration;

use super::curve::NEVER;
use super::ScheduleError;

/// Less than the distance of any two instants, and more than the rounding of a clock, in seconds.
const ROUNDED: f64 = 1e-10;

/// The interval before an instant over which its rate is computed, in seconds.
const RECENT: f64 = 0.1;

/// When a link may send, and how much.
#[derive(Clone, Debug, PartialEq)]
pub struct Opportunities {
    /// Seconds from the start of a period, in non-descending order.
    times: Box<[f64]>,
    bytes: u32,
    period: f64,
}

/// The opportunities used so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    /// Number of the period, and the next opportunity in it.
    cycle: f64,
    next: usize,
    /// When the previous transmission ended, and how many bytes of its opportunity it left.
    over: f64,
    left: u32,
}

impl Opportunities {
    /// Opportunities of this many bytes at these instants of each period.
    ///
    /// # Errors
    /// [`ScheduleError`] if there are none, if they are not in time order, or not within the period.
    pub fn new(times: &[Duration], bytes: u32, period: Duration) -> Result<Self, ScheduleError> {
        if times.is_empty() || bytes == 0 || period == Duration::ZERO {
            return Err(ScheduleError::NoOpportunity);
        }
        if let Some(place) = times.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(ScheduleError::Order { point: place + 1 });
        }
        if times.last().is_some_and(|last| *last > period) {
            return Err(ScheduleError::Period);
        }
        let seconds = |time: Duration| time.as_nanos() as f64 / 1e9;
        Ok(Self {
            times: times.iter().copied().map(seconds).collect(),
            bytes,
            period: seconds(period),
        })
    }

    /// The mean time between two opportunities, in seconds.
    pub fn mean_distance(&self) -> f64 {
        self.period / self.times.len() as f64
    }

    /// The times up to an instant without an opportunity, if they last at least `least`; in seconds.
    pub fn pauses(&self, until: f64, least: f64) -> Vec<(f64, f64)> {
        let mut pauses = Vec::new();
        let mut before = 0.0;
        for cycle in 0.. {
            for time in &self.times {
                let at = f64::from(cycle) * self.period + time;
                if at - before >= least && before < until {
                    pauses.push((before, at.min(until)));
                }
                before = at;
                if at >= until {
                    return pauses;
                }
            }
        }
        pauses
    }

    /// Mean rate in bits per second.
    pub fn mean_bps(&self) -> f64 {
        8.0 * f64::from(self.bytes) * self.times.len() as f64 / self.period
    }

    /// Bits per second in the last tenth of a second before an instant, or since the start.
    pub(super) fn recent_bps(&self, at: f64) -> f64 {
        let from = (at - RECENT).max(0.0);
        if at <= from {
            return self.mean_bps();
        }
        let bits = 8.0 * f64::from(self.bytes);
        bits * (self.count(at) - self.count(from)) / (at - from)
    }

    /// How many there are up to an instant.
    fn count(&self, at: f64) -> f64 {
        let whole = (at / self.period).floor();
        let rest = at - whole * self.period;
        let some = self.times.partition_point(|time| *time <= rest);
        whole * self.times.len() as f64 + some as f64
    }

    /// Length of the period in seconds.
    pub fn period(&self) -> f64 {
        self.period
    }

    /// Bytes per opportunity.
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// The instants up to `until`, in seconds, through all periods.
    pub fn times(&self, until: f64) -> impl Iterator<Item = f64> + '_ {
        let mut used = Used::default();
        std::iter::from_fn(move || {
            let at = self.next(&used);
            self.take(&mut used);
            (at <= until).then_some(at)
        })
    }

    /// Feeds its whole content to `add`.
    pub(super) fn fold(&self, add: &mut impl FnMut(u64)) {
        add(u64::from(self.bytes));
        add(self.period.to_bits());
        self.times.iter().for_each(|time| add(time.to_bits()));
    }

    fn next(&self, used: &Used) -> f64 {
        used.cycle * self.period + self.times[used.next]
    }

    fn take(&self, used: &mut Used) {
        used.next += 1;
        if used.next == self.times.len() {
            (used.next, used.cycle) = (0, used.cycle + 1.0);
        }
    }

    /// Goes to the first opportunity after an instant.
    fn seek(&self, used: &mut Used, at: f64) {
        let mut cycle = (at / self.period).floor();
        if cycle * self.period > at {
            cycle -= 1.0;
        }
        // An opportunity may be at the very end of the period before.
        cycle = (cycle - 1.0).max(0.0);
        (used.cycle, used.next) = (cycle, 0);
        loop {
            let begin = used.cycle * self.period;
            let after = self.times.partition_point(|time| begin + time <= at);
            if after < self.times.len() {
                used.next = after;
                return;
            }
            used.cycle += 1.0;
        }
    }

    /// When a packet is sent that reaches the transmitter at `at`, with `waited` if it has waited for the
    /// end of the previous one: the time of its first byte, and of its last.
    pub(super) fn serve(&self, used: &mut Used, at: f64, waited: bool, bytes: u32) -> (f64, f64) {
        // Compared with a tolerance, for a clock that rounds.
        let follows = waited && (used.over - at).abs() < ROUNDED;
        let after = at + ROUNDED;
        if !follows {
            used.left = 0;
            // Usually the next opportunity is the right one.
            let begin = used.cycle * self.period;
            let before = used
                .next
                .checked_sub(1)
                .map(|last| begin + self.times[last]);
            if self.next(used) <= after || before.is_none_or(|before| before > after) {
                self.seek(used, after);
            }
        }
        let mut first = (used.left > 0).then_some(at);
        let mut last = at;
        let mut to_send = bytes;
        while to_send > 0 {
            if used.left == 0 {
                last = self.next(used);
                if last >= NEVER {
                    break;
                }
                self.take(used);
                used.left = self.bytes;
                first.get_or_insert(last);
            }
            let sent = to_send.min(used.left);
            used.left -= sent;
            to_send -= sent;
        }
        used.over = last;
        (first.unwrap_or(last), last)
    }
}
