//! CUBIC as in Linux (tcp_cubic.c), in integers: C is 410/1024, beta 717/1024, time counts in 1/1024 s
//! of ticks.
//!
//! ```text
//! K      = cbrt(2^40 / 410 x (W_max - cwnd))
//! target = W_max +- 410 |t - K|^3 / 2^40,   t from the epoch's start plus the least delay
//! one packet for each cwnd / (target - cwnd) delivered, or for each 100 cwnd
//! ```
//!
//! A Reno window is maintained in parallel, which grows by one for each 15/8 cwnd delivered; if it is
//! larger, growth is at least as fast as towards that window. Growth is at most one for each 2
//! delivered. Slow start has HyStart: [`super::hystart`].
//!
//! Differs from RFC 9438 where Linux does: alpha does not become 1 above the old window (4.3), a
//! spurious loss does not restore W_max and K (4.9), and the reduction applies to the window and not
//! to the data in flight (4.6). A timeout resets everything (cubictcp_state()).

use midflight_units::Instant;

use super::linux::hystart::HyStart;
use super::linux::packets::Packets;
use super::{AckCounting, Congestion, RttNews, Window};
use crate::jiffies::Jiffies;
use crate::part::{choose, Knob, KnobError, Part, PartInfo};

const C: u64 = 410;
const BETA: u64 = 717;
const SCALE: u64 = 1024;
/// 8 (1 + beta) / (3 (1 - beta)), in the kernel's integers.
const RENO: u64 = 8 * (SCALE + BETA) / 3 / (SCALE - BETA);
/// 2^10 for C and 2^30 for the cube of the time.
const CUBE_SHIFT: u32 = 40;

/// State and knobs of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubicLinux {
    hystart: bool,
    packets: Packets,
    /// Growth by one packet for this many delivered.
    per: u64,
    /// W_max; 0 if unknown.
    last_max: u64,
    last_cwnd: u64,
    /// The tick of the last computation.
    last_time: u64,
    /// That window, and until when it is not computed again for it.
    settled: (f64, Instant),
    epoch: Option<Epoch>,
    /// Delivered packets that have not yet increased the Reno window.
    reno_acked: u64,
    reno_cwnd: u64,
    start: HyStart,
    clock: Jiffies,
    now: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Epoch {
    /// The tick in which it began, and when a second of the clock has passed since then.
    begun: u64,
    young_until: Instant,
    /// In 1/1024 s.
    k: u64,
    origin: u64,
}

impl CubicLinux {
    /// The initial state.
    pub const DEFAULT: Self = Self {
        hystart: true,
        packets: Packets { count: 0 },
        per: 0,
        last_max: 0,
        last_cwnd: 0,
        last_time: 0,
        settled: (0.0, Instant::ZERO),
        epoch: None,
        reno_acked: 0,
        reno_cwnd: 0,
        start: HyStart::NEW,
        clock: Jiffies::EXACT,
        now: Instant::ZERO,
    };
}

impl Default for CubicLinux {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Part for CubicLinux {
    const INFO: PartInfo = PartInfo {
        name: "cubic-linux",
        summary: "CUBIC in the integers of Linux, with HyStart",
        source: "Linux 6.12, tcp_cubic.c; Ha & Rhee 2011",
        knobs: &[Knob {
            name: "cubic_linux_hystart",
            default: "on",
            accepts: "on, off",
            summary:
                "end slow start at a long train of closely spaced ACKs, or when the delay grows",
        }],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        self.hystart = choose(&Self::INFO, name, value, &[("on", true), ("off", false)])?;
        Ok(())
    }
}

/// Initial value of Newton's step for the cube root, for the six leading bits of a number from 8 on:
/// 64 times the root of 2^18 times it, as in the kernel minus 10. The first eight are for numbers
/// below 64, which have no step.
const STARTS: [u8; 64] = [
    0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168,
    170, 173, 176, 179, 181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213,
    215, 217, 219, 221, 222, 224, 225, 227, 229, 231, 232, 234, 236, 237, 239, 240, 242, 244, 245,
    246, 248, 250, 251, 252, 254,
];

/// cubic_root(): accurate to a percent.
fn cubic_root(a: u64) -> u64 {
    let bits = u64::BITS - a.leading_zeros();
    if bits < 7 {
        return (u64::from(STARTS[a as usize]) + 35) >> 6;
    }
    let thirds = ((bits * 84) >> 8) - 1;
    let leading = (a >> (thirds * 3)) as usize;
    let x = ((u64::from(STARTS[leading & 63]) + 10) << thirds) >> 6;
    // A third is taken as 341/1024.
    ((2 * x + a / (x * (x - 1))) * 341) >> 10
}

impl CubicLinux {
    #[inline]
    fn see(&mut self, news: &RttNews) {
        self.now = news.now;
        if self.clock != news.clock {
            self.set_clock(news.clock);
        }
    }

    #[cold]
    fn set_clock(&mut self, clock: Jiffies) {
        self.clock = clock;
        self.settled.1 = Instant::ZERO;
        if let Some(epoch) = self.epoch {
            self.epoch = Some(self.begun_at(epoch.begun, epoch));
        }
    }

    /// The epoch, begun in this tick.
    fn begun_at(&self, begun: u64, epoch: Epoch) -> Epoch {
        let young_until = self.clock.begins(begun + self.clock.per_second());
        Epoch {
            begun,
            young_until,
            ..epoch
        }
    }

    /// bictcp_reset() and bictcp_hystart_reset().
    #[cold]
    fn reset(&mut self, news: &RttNews) {
        *self = Self {
            hystart: self.hystart,
            ..Self::default()
        };
        self.see(news);
        self.start.begin_round(news.now, news.nxt);
    }

    fn begin(&mut self, cwnd: u64, acked: u64, tick: u64) -> Epoch {
        self.reno_acked = acked;
        self.reno_cwnd = cwnd;
        let (k, origin) = if self.last_max <= cwnd {
            (0, cwnd)
        } else {
            let per_packet = (1 << CUBE_SHIFT) / C;
            (
                cubic_root(per_packet * (self.last_max - cwnd)),
                self.last_max,
            )
        };
        let epoch = Epoch {
            begun: tick,
            young_until: Instant::ZERO,
            k,
            origin,
        };
        self.begun_at(tick, epoch)
    }

    /// bictcp_update().
    #[inline]
    fn update(&mut self, cwnd: u64, acked: u64) {
        self.reno_acked += acked;
        let tick = self.clock.count(self.now);
        let rate = self.clock.per_second();
        if self.last_cwnd == cwnd && tick.saturating_sub(self.last_time) <= rate / 32 {
            return;
        }
        self.compute(cwnd, acked, tick);
    }

    /// cubictcp_cong_avoid().
    #[inline(never)]
    fn grow(&mut self, window: &mut Window, segments: u64) {
        let mut acked = segments;
        if window.cwnd < window.ssthresh {
            acked = Packets::slow_start(window, acked);
            if acked == 0 {
                return;
            }
        }
        self.update(window.cwnd as u64, acked);
        self.packets.avoid(window, self.per, acked);
    }

    /// How fast the window grows from now on.
    fn compute(&mut self, cwnd: u64, acked: u64, tick: u64) {
        if self.epoch.is_none() || tick != self.last_time {
            self.last_cwnd = cwnd;
            self.last_time = tick;
            let again = tick + self.clock.per_second() / 32 + 1;
            self.settled = (cwnd as f64, self.clock.begins(again));
            let epoch = match self.epoch {
                Some(epoch) => epoch,
                None => self.begin(cwnd, acked, tick),
            };
            self.epoch = Some(epoch);
            self.follow(epoch, cwnd, tick);
        }
        let per_reno = (cwnd * RENO) >> 3;
        while self.reno_acked > per_reno {
            self.reno_acked -= per_reno;
            self.reno_cwnd += 1;
        }
        if self.reno_cwnd > cwnd {
            self.per = self.per.min(cwnd / (self.reno_cwnd - cwnd));
        }
        self.per = self.per.max(2);
    }

    /// Sets how slowly the window grows towards the cubic function.
    fn follow(&mut self, epoch: Epoch, cwnd: u64, tick: u64) {
        let ticks = tick.saturating_sub(epoch.begun) + self.clock.of_micros(self.start.delay_min());
        let t = (ticks << 10) / self.clock.per_second();
        let off = t.abs_diff(epoch.k);
        let cubed = u128::from(C) * u128::from(off).pow(3);
        let delta = (cubed >> CUBE_SHIFT) as u64;
        let target = if t < epoch.k {
            epoch.origin.saturating_sub(delta)
        } else {
            epoch.origin + delta
        };
        self.per = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            100 * cwnd
        };
        if self.last_max == 0 {
            // No loss yet: at least 5 % per round trip.
            self.per = self.per.min(20);
        }
    }
}

impl Congestion for CubicLinux {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, segments: u64, _counting: AckCounting) {
        let (cwnd, until) = self.settled;
        let is_settled = window.cwnd == cwnd && self.now < until && cwnd >= window.ssthresh;
        // Most ACKs are only counted.
        if is_settled && self.packets.count + segments < self.per {
            self.reno_acked += segments;
            self.packets.count += segments;
            return;
        }
        self.grow(window, segments);
    }

    /// cubictcp_recalc_ssthresh().
    fn ssthresh_after_loss(&mut self, _now: Instant, load: f64) -> f64 {
        let load = load as u64;
        self.packets.count = 0;
        self.epoch = None;
        self.last_max = if load < self.last_max {
            load * (SCALE + BETA) / (2 * SCALE)
        } else {
            load
        };
        (load * BETA / SCALE).max(2) as f64
    }

    fn on_timeout(&mut self, news: &RttNews) {
        self.reset(news);
    }

    /// The kernel has no such order. The epoch would continue and restore the old path's window within
    /// a round trip; instead a new epoch begins at the ordered window, as in the RFC 9438 controller.
    fn on_window_order(&mut self, window: Window) {
        self.packets.count = 0;
        self.epoch = None;
        self.last_max = window.cwnd as u64;
    }

    fn leave_slow_start(&mut self) {
        self.hystart = false;
    }

    /// cubictcp_cwnd_event(): idle time does not count in the epoch.
    fn on_idle_end(&mut self, now: Instant, last_sent: Instant) {
        let tick = self.clock.count(now);
        let idle = tick.saturating_sub(self.clock.count(last_sent));
        if let Some(epoch) = self.epoch {
            let begun = (epoch.begun + idle).min(tick);
            self.epoch = Some(self.begun_at(begun, epoch));
        }
    }

    #[inline]
    fn on_arrival(&mut self, now: Instant, _segments: u64) {
        self.now = now;
    }

    /// cubictcp_acked().
    #[inline]
    fn on_rtt_sample(&mut self, window: &mut Window, news: &RttNews) {
        self.see(news);
        if news.nxt == 1 {
            // Only the SYN has been sent: the connection's state begins (cubictcp_init()).
            self.reset(news);
            return;
        }
        let is_young = self.epoch.is_some_and(|epoch| news.now < epoch.young_until);
        if !is_young {
            self.start.on_sample(window, news, self.hystart);
        }
    }
}

#[cfg(test)]
mod tests {
    use midflight_units::Duration;
    use proptest::prelude::*;

    use super::*;

    const COUNTING: AckCounting = AckCounting::AppropriateBytes { limit: 2 };
    const HZ_250: Jiffies = Jiffies {
        hz: 250,
        phase: Duration::ZERO,
    };

    fn news(at_ms: u64, rtt_ms: u64, una: u64) -> RttNews {
        RttNews {
            now: Instant::from_nanos(at_ms * 1_000_000),
            clock: HZ_250,
            rtt: Duration::from_millis(rtt_ms),
            una,
            nxt: una + 50,
            pacing_rate: 0,
            is_paced: false,
        }
    }

    /// Within a percent of the true root, and equal to the kernel's arithmetic by hand: 2681735677 x
    /// 30 has 37 bits, thirds = 11, 9 leading: (129 + 10) << 11 >> 6 = 4448; (2 x 4448 + 80452070310 /
    /// (4448 x 4447)) x 341 >> 10 = (8896 + 4067) x 341 >> 10 = 4316.
    #[test]
    fn the_cube_root_is_the_kernels() {
        assert_eq!((1_u64 << CUBE_SHIFT) / C, 2_681_735_677);
        assert_eq!(cubic_root(2_681_735_677 * 30), 4316);
        for (a, root) in [(0, 0), (1, 1), (8, 2), (27, 3), (63, 4)] {
            assert_eq!(cubic_root(a), root, "{a}");
        }
        for a in (7..63).map(|bits| (1_u64 << bits) + (1 << (bits / 2))) {
            let root = libm::cbrt(a as f64);
            let error = (cubic_root(a) as f64 - root).abs() / root;
            // Plus the rounding to an integer.
            assert!(error < 0.01 + 1.0 / root, "{a}: {error}");
        }
        assert_eq!(RENO, 15);
    }

    /// 100 x 717 / 1024 = 70; W_max is 100. A loss at 80 then sets W_max to 80 x 1741 / 2048 = 68.
    #[test]
    fn a_loss_keeps_seven_tenths_of_the_window() {
        let mut cubic = CubicLinux::default();
        assert_eq!(cubic.ssthresh_after_loss(Instant::ZERO, 100.0), 70.0);
        assert_eq!(cubic.last_max, 100);
        assert_eq!(cubic.ssthresh_after_loss(Instant::ZERO, 80.0), 56.0);
        assert_eq!(cubic.last_max, 68);
        assert_eq!(cubic.ssthresh_after_loss(Instant::ZERO, 2.0), 2.0);
    }

    /// K = 4316 / 1024 s for 30 packets. At the epoch's start, delay 40 ms: t = 10 ticks = 40/1024 s;
    /// off = 4276: 410 x 4276^3 / 2^40 = 29 (29.15), target 71: one packet for each 70 delivered.
    #[test]
    fn growth_follows_the_cubic_function() {
        let mut cubic = CubicLinux::default();
        let mut w = Window {
            cwnd: 50.0,
            ssthresh: 50.0,
        };
        cubic.on_rtt_sample(&mut w, &news(1000, 40, 2));
        let ssthresh = cubic.ssthresh_after_loss(Instant::ZERO, 100.0);
        w = Window {
            cwnd: ssthresh,
            ssthresh,
        };
        cubic.on_arrival(Instant::from_nanos(2_000_000_000), 2);
        cubic.on_ack(&mut w, 2, COUNTING);
        assert_eq!(
            cubic.epoch.map(|e| (e.begun, e.k, e.origin)),
            Some((500, 4316, 100))
        );
        assert_eq!(cubic.per, 70);
        // Four seconds later, near the origin: t = 1010 ticks = 4136/1024 s, off = 180, 410 x 180^3 /
        // 2^40 = 0.002: target 100, one for each 70 / 30 = 2.
        cubic.on_arrival(Instant::from_nanos(6_000_000_000), 2);
        cubic.on_ack(&mut w, 2, COUNTING);
        assert_eq!(cubic.per, 2);
    }

    /// The Reno window grows by one for each 15/8 of itself delivered: after 1000 packets from 14 on
    /// it is the root of 14^2 + 2 x 1000 x 8 / 15, 35.5. The cubic function has hardly moved in 70 ms.
    /// If the window is behind by one, growth is one per window until the next tick: at most the root
    /// of 14^2 + 2 x 1000, 46.9.
    #[test]
    fn growth_is_no_slower_than_renos() {
        let mut cubic = CubicLinux {
            clock: HZ_250,
            ..CubicLinux::default()
        };
        let ssthresh = cubic.ssthresh_after_loss(Instant::ZERO, 20.0);
        let mut w = Window {
            cwnd: ssthresh,
            ssthresh,
        };
        for ack in 0..1000 {
            cubic.on_arrival(Instant::from_nanos(ack * 70_000), 1);
            cubic.on_ack(&mut w, 1, COUNTING);
        }
        assert!((35.0..=47.0).contains(&w.cwnd), "{}", w.cwnd);
    }

    /// bictcp_reset(): all state is cleared, and growth without a known maximum is 5 % per round trip.
    /// The threshold of a policy is kept, and growth is flat from there.
    #[test]
    fn an_ordered_window_begins_a_new_epoch() {
        let mut cubic = CubicLinux::default();
        let mut w = Window {
            cwnd: 250.0,
            ssthresh: 10.0,
        };
        let counting = AckCounting::AppropriateBytes { limit: 1 };
        cubic.ssthresh_after_loss(Instant::ZERO, 400.0);
        cubic.see(&news(1, 50, 2));
        cubic.on_ack(&mut w, 1, counting);
        w = Window {
            cwnd: 11.0,
            ssthresh: 11.0,
        };
        cubic.on_window_order(w);
        for ack in 0..110 {
            cubic.see(&news(10 + ack, 50, 2 + ack));
            cubic.on_ack(&mut w, 1, counting);
        }
        assert_eq!(cubic.epoch.map(|e| (e.k, e.origin)), Some((0, 11)));
        assert!(w.cwnd < 20.0, "{}", w.cwnd);
    }

    #[test]
    fn a_timeout_forgets_everything() {
        let mut cubic = CubicLinux::default();
        let mut w = Window {
            cwnd: 50.0,
            ssthresh: 50.0,
        };
        cubic.on_rtt_sample(&mut w, &news(1000, 40, 2));
        cubic.ssthresh_after_loss(Instant::ZERO, 50.0);
        cubic.on_timeout(&news(2000, 0, 2));
        assert_eq!(
            (cubic.last_max, cubic.epoch, cubic.start.delay_min()),
            (0, None, 0)
        );
        w = Window {
            cwnd: 35.0,
            ssthresh: 35.0,
        };
        cubic.on_ack(&mut w, 1, COUNTING);
        assert_eq!(cubic.per, 20);
    }

    /// Idle for 2 s: the epoch of tick 500 begins at 1000.
    #[test]
    fn idle_time_moves_the_epoch() {
        let at = |s: u64| Instant::from_nanos(s * 1_000_000_000);
        let mut cubic = CubicLinux {
            clock: HZ_250,
            epoch: Some(Epoch {
                begun: 500,
                young_until: at(3),
                k: 0,
                origin: 10,
            }),
            ..CubicLinux::default()
        };
        cubic.on_idle_end(at(6), at(4));
        let epoch = cubic.epoch.map(|e| (e.begun, e.young_until));
        assert_eq!(epoch, Some((1000, at(5))));
        cubic.on_idle_end(at(6), at(1));
        assert_eq!(cubic.epoch.map(|e| e.begun), Some(1500), "not after now");
    }

    proptest! {
        /// An ACK that is only counted changes what it would change otherwise.
        #[test]
        fn a_settled_window_grows_as_others_do(
            acks in prop::collection::vec((0_u64..30_000, 1_u64..6, 0_u32..60), 1..400),
            cwnd in 2_u32..300,
        ) {
            let mut at = 1_000_000;
            let news = |us: u64| RttNews { now: Instant::from_nanos(us * 1000), ..news(0, 40, 9) };
            let mut cubic = CubicLinux::default();
            let mut w = Window { cwnd: cwnd.into(), ssthresh: 2.0 };
            for (passed, segments, kind) in acks {
                at += passed;
                let now = Instant::from_nanos(at * 1000);
                match kind {
                    0 => w.ssthresh = cubic.ssthresh_after_loss(now, w.cwnd),
                    1 => w.cwnd = w.ssthresh,
                    2 => cubic.on_idle_end(now, Instant::from_nanos(at * 900)),
                    3 => w.cwnd += 0.5,
                    _ => {}
                }
                cubic.on_arrival(now, segments);
                cubic.on_rtt_sample(&mut w, &news(at));
                let (mut other, mut other_w) = (cubic, w);
                let rate = other.clock.per_second();
                let begun = other.epoch.map(|epoch| other.clock.count(now) - epoch.begun);
                let is_young = other.epoch.is_some_and(|epoch| now < epoch.young_until);
                prop_assert_eq!(is_young, begun.is_some_and(|age| age < rate));
                cubic.on_ack(&mut w, segments, COUNTING);
                other.grow(&mut other_w, segments);
                prop_assert_eq!((cubic, w), (other, other_w));
            }
        }
    }
}
