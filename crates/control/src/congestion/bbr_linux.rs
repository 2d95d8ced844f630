//! BBR version 1 as in Linux (tcp_bbr.c), with its integers: bandwidth in segments per microsecond times 2^24;
//! gains times 2^8; time in microseconds, and in ticks where the kernel counts jiffies.
//!
//! ```text
//! bandwidth = the greatest delivery rate of 10 round trips
//! min RTT   = the least of 10 s
//! rate      = gain x bandwidth x 99 %        window = gain x bandwidth x min RTT + 3 bursts
//!
//! Startup   2.89 / 2.89   until three round trips bring less than 25 % more
//! Drain     0.35 / 2.89   until what is in flight is one bandwidth-delay product
//! ProbeBW   1.25 0.75 1 1 1 1 1 1 / 2, each at least a min RTT, from a random phase on
//! ProbeRTT  1 / 1, at most 4 segments for 200 ms and a round trip, when the min RTT is 10 s old
//! ```
//!
//! Losses do not change the model. In the first round trip of a recovery the sender sends as much as is
//! delivered. A loss ratio of 20 % in intervals of equal rate is treated as the effect of a policer (lt_bw),
//! whose rate is kept for 48 round trips.
//!
//! The kernel draws the first phase of ProbeBW from its random pool. Here it is drawn from a stream of the
//! run, or given: `bbr_linux_phases`.

mod mode;

use midflight_units::Instant;

use self::mode::Mode;
use super::draws::Draws;
use super::linux::control::{LossPhase, Standing, Steer};
use super::{Congestion, Window};
use crate::delivery::RateSample;
use crate::part::{refuse, Knob, KnobError, Part, PartInfo};
use crate::windowed::WindowedMax;

const BW_SCALE: u32 = 24;
const BW_UNIT: u64 = 1 << BW_SCALE;
const SCALE: u32 = 8;
const UNIT: u64 = 1 << SCALE;

const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
const WINDOW_GAIN: u64 = UNIT * 2;
const CYCLE: [u64; 8] = [
    UNIT * 5 / 4,
    UNIT * 3 / 4,
    UNIT,
    UNIT,
    UNIT,
    UNIT,
    UNIT,
    UNIT,
];
/// Number of phases in which a cycle may begin.
const RANDOM_PHASES: u64 = 7;

/// Length of the bandwidth filter in rounds, and of the round-trip time filter in seconds.
const BW_ROUNDS: u64 = 10;
const MIN_RTT_SECONDS: u64 = 10;
const PROBE_RTT_MICROS: u64 = 200_000;
const LEAST_WINDOW: u64 = 4;
const INITIAL_WINDOW: u64 = 10;
const MARGIN_PERCENT: u64 = 1;
/// Below this rate, in bytes per second, a burst may be one segment.
const LEAST_RATE_OF_BURSTS: u64 = 1_200_000 >> 3;
/// sk_pacing_shift, the maximum burst in bytes, and the maximum burst in segments that BBR assumes.
const BURST_RATE_SHIFT: u32 = 10;
const BURST_BYTES: u64 = 65_215;
const BURST_SEGMENTS: u64 = 0x7f;

const FULL_BW_GAIN: u64 = UNIT * 5 / 4;
const FULL_BW_ROUNDS: u8 = 3;

const LT_LEAST_ROUNDS: u8 = 4;
const LT_LOSS: u64 = 50;
const LT_RATIO: u64 = UNIT / 8;
const LT_BYTES: u64 = 4000 / 8;
const LT_ROUNDS: u8 = 48;

const EXTRA_ROUNDS: u8 = 5;
const EXTRA_MICROS: u64 = 100_000;
const EPOCH_SEGMENTS: u64 = 1 << 20;

/// The rate over long intervals, which detects a policer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct LongTerm {
    is_sampling: bool,
    rounds: u8,
    /// The rate is in use.
    in_use: bool,
    bw: u64,
    /// The delivered and lost counts at the start of the interval, and when it began, in milliseconds.
    delivered: u64,
    lost: u64,
    since: u64,
}

/// Data that arrive beyond the amount that the bandwidth predicts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Aggregation {
    since: Instant,
    acked: u32,
    rounds: u8,
    /// Which of the two is current.
    second: bool,
    extra: [u32; 2],
}

/// The source of the phases of ProbeBW.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Phases {
    draws: Draws,
    /// The given phases as a base-8 number, first in the lowest digits, each plus one; zero if they are drawn.
    given: u64,
}

impl Phases {
    /// The next number below seven (get_random_u32_below()).
    fn next(&mut self) -> u64 {
        let given = self.given & 7;
        self.given >>= 3;
        if given > 0 {
            return given - 1;
        }
        self.draws.below(RANDOM_PHASES)
    }
}

/// State and knobs of BBR.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BbrLinux {
    phases: Phases,
    mode: Mode,
    /// In microseconds, and the tick in which it was measured.
    min_rtt: u64,
    min_rtt_at: u64,
    /// The tick at which ProbeRTT ends, and whether its round trip is over.
    probe_rtt_done: Option<u64>,
    probe_rtt_round: bool,
    bw: WindowedMax,
    rounds: u64,
    /// The delivered count at which the round trip ends.
    round_end: u64,
    round_start: bool,
    cycle_at: Instant,
    cycle: u8,
    before: LossPhase,
    conserves: bool,
    idle_restart: bool,
    long_term: LongTerm,
    pacing_gain: u64,
    is_full: bool,
    full_rounds: u8,
    full_bw: u64,
    has_rtt: bool,
    prior_cwnd: u64,
    aggregation: Aggregation,
    /// Bytes per second.
    rate: u64,
}

impl BbrLinux {
    /// The initial state.
    pub const DEFAULT: Self = Self {
        phases: Phases {
            draws: Draws::NEW,
            given: 0,
        },
        mode: Mode::Startup,
        min_rtt: u32::MAX as u64,
        min_rtt_at: 0,
        probe_rtt_done: None,
        probe_rtt_round: false,
        bw: WindowedMax::NONE,
        rounds: 0,
        round_end: 0,
        round_start: false,
        cycle_at: Instant::ZERO,
        cycle: 0,
        before: LossPhase::Open,
        conserves: false,
        idle_restart: false,
        long_term: LongTerm {
            is_sampling: false,
            rounds: 0,
            in_use: false,
            bw: 0,
            delivered: 0,
            lost: 0,
            since: 0,
        },
        pacing_gain: HIGH_GAIN,
        is_full: false,
        full_rounds: 0,
        full_bw: 0,
        has_rtt: false,
        prior_cwnd: 0,
        aggregation: Aggregation {
            since: Instant::ZERO,
            acked: 0,
            rounds: 0,
            second: false,
            extra: [0; 2],
        },
        rate: 0,
    };
}

impl Default for BbrLinux {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Part for BbrLinux {
    const INFO: PartInfo = PartInfo {
        name: "bbr-linux",
        summary: "BBR version 1 in the integers of Linux: a rate and a window from the bandwidth and the minimum round-trip time",
        source: "Linux 6.12, tcp_bbr.c; Cardwell et al. 2016",
        knobs: &[Knob {
            name: "bbr_linux_phases",
            default: "random",
            accepts: "random, or the first phases of ProbeBW as up to 20 digits from 0 to 6",
            summary: "the kernel's random phases at the start of each cycle of gains; further ones are drawn from the run's seed",
        }],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        self.phases.given = 0;
        if value == "random" {
            return Ok(());
        }
        if value.is_empty() || value.len() > 20 {
            return Err(refuse(&Self::INFO, name, value));
        }
        for digit in value.bytes().rev() {
            if !(b'0'..b'0' + RANDOM_PHASES as u8).contains(&digit) {
                self.phases.given = 0;
                return Err(refuse(&Self::INFO, name, value));
            }
            self.phases.given = self.phases.given << 3 | u64::from(digit - b'0' + 1);
        }
        Ok(())
    }
}

/// Whole microseconds between two instants, on a clock that counts microseconds.
fn micros(from: Instant, to: Instant) -> u64 {
    (to.as_nanos() / 1000).saturating_sub(from.as_nanos() / 1000)
}

impl BbrLinux {
    fn max_bw(&self) -> u64 {
        self.bw.get().unwrap_or(0)
    }

    /// bbr_bw().
    fn used_bw(&self) -> u64 {
        if self.long_term.in_use {
            self.long_term.bw
        } else {
            self.max_bw()
        }
    }

    // ---- rate -----------------------------------------------------------

    /// bbr_rate_bytes_per_sec(). Differs from the kernel, whose 64-bit product wraps above some terabits per
    /// second: that is not an intended rate.
    fn bytes_per_second(bw: u64, gain: u64, mss: u64) -> u64 {
        let rate = (u128::from(bw) * u128::from(mss * gain)) >> SCALE;
        let in_seconds = rate * u128::from(1_000_000 / 100 * (100 - MARGIN_PERCENT));
        u64::try_from(in_seconds >> BW_SCALE).unwrap_or(u64::MAX)
    }

    /// bbr_init_pacing_rate_from_rtt().
    fn initial_rate(&mut self, cwnd: u64, at: &Standing) {
        self.has_rtt |= at.srtt.is_some();
        let rtt = at.srtt.map_or(1000, |srtt| srtt.max(1));
        self.rate = Self::bytes_per_second(cwnd * BW_UNIT / rtt, HIGH_GAIN, at.mss);
    }

    /// bbr_set_pacing_rate().
    fn set_rate(&mut self, cwnd: u64, bw: u64, gain: u64, at: &Standing) {
        let rate = Self::bytes_per_second(bw, gain, at.mss);
        if !self.has_rtt && at.srtt.is_some() {
            self.initial_rate(cwnd, at);
        }
        if self.is_full || rate > self.rate {
            self.rate = rate;
        }
    }

    /// bbr_tso_segs_goal().
    fn burst_goal(&self, mss: u64) -> u64 {
        let bytes = (self.rate >> BURST_RATE_SHIFT).min(BURST_BYTES);
        (bytes / mss)
            .max(least_burst(self.rate))
            .min(BURST_SEGMENTS)
    }

    // ---- window ---------------------------------------------------------

    /// bbr_save_cwnd().
    fn save(&mut self, cwnd: u64) {
        self.prior_cwnd = if self.before < LossPhase::Recovery && self.mode != Mode::ProbeRtt {
            cwnd
        } else {
            self.prior_cwnd.max(cwnd)
        };
    }

    /// bbr_bdp().
    fn product(&self, bw: u64, gain: u64) -> u64 {
        if self.min_rtt == u64::from(u32::MAX) {
            return INITIAL_WINDOW;
        }
        let product = u128::from(bw) * u128::from(self.min_rtt) * u128::from(gain);
        let segments = (product >> SCALE).div_ceil(u128::from(BW_UNIT));
        // The kernel's windows are 32-bit.
        u32::try_from(segments).unwrap_or(u32::MAX).into()
    }

    /// bbr_quantization_budget().
    fn quantize(&self, cwnd: u64, mss: u64) -> u64 {
        let even = (cwnd + 3 * self.burst_goal(mss) + 1) & !1;
        let probes = self.mode == Mode::ProbeBw && self.cycle == 0;
        even + if probes { 2 } else { 0 }
    }

    /// bbr_inflight().
    fn inflight(&self, bw: u64, gain: u64, mss: u64) -> u64 {
        self.quantize(self.product(bw, gain), mss)
    }

    /// bbr_packets_in_net_at_edt(): what will be in flight when the next burst leaves.
    fn in_net_at_departure(&self, in_flight: u64, at: &Standing) -> u64 {
        let wait = at.departure.max(at.now).since(at.now).as_nanos() / 1000;
        let delivered = (self.used_bw() * wait) >> BW_SCALE;
        let more = if self.pacing_gain > UNIT {
            self.burst_goal(at.mss)
        } else {
            0
        };
        (in_flight + more).saturating_sub(delivered)
    }

    /// bbr_ack_aggregation_cwnd().
    fn aggregation_window(&self) -> u64 {
        if !self.is_full {
            return 0;
        }
        let most = self.used_bw() * EXTRA_MICROS / BW_UNIT;
        let [first, second] = self.aggregation.extra;
        u64::from(first.max(second)).min(most)
    }

    /// bbr_set_cwnd_to_recover_or_restore(): returns whether packet conservation applies.
    fn recover(&mut self, cwnd: &mut u64, sample: &RateSample, at: &Standing) -> bool {
        if sample.lost > 0 {
            *cwnd = cwnd.saturating_sub(sample.lost).max(1);
        }
        let (before, phase) = (self.before, at.phase);
        if phase == LossPhase::Recovery && before != LossPhase::Recovery {
            self.conserves = true;
            self.round_end = at.delivered;
            *cwnd = at.in_flight + sample.newly;
        } else if before >= LossPhase::Recovery && phase < LossPhase::Recovery {
            *cwnd = (*cwnd).max(self.prior_cwnd);
            self.conserves = false;
        }
        self.before = phase;
        if self.conserves {
            *cwnd = (*cwnd).max(at.in_flight + sample.newly);
        }
        self.conserves
    }

    /// bbr_set_cwnd().
    fn set_window(&mut self, cwnd: &mut u64, bw: u64, sample: &RateSample, at: &Standing) {
        let acked = sample.newly;
        if acked > 0 && !self.recover(cwnd, sample, at) {
            let target = self.product(bw, self.window_gain()) + self.aggregation_window();
            let target = self.quantize(target, at.mss);
            if self.is_full {
                *cwnd = (*cwnd + acked).min(target);
            } else if *cwnd < target || at.delivered < INITIAL_WINDOW {
                *cwnd += acked;
            }
            *cwnd = (*cwnd).max(LEAST_WINDOW);
        }
        if self.mode == Mode::ProbeRtt {
            *cwnd = (*cwnd).min(LEAST_WINDOW);
        }
    }

    // ---- modes ------------------------------------------------------------

    /// bbr_is_next_cycle_phase().
    fn cycle_is_over(&self, sample: &RateSample, at: &Standing) -> bool {
        let is_long = micros(self.cycle_at, at.delivered_at) > self.min_rtt;
        if self.pacing_gain == UNIT {
            return is_long;
        }
        let in_flight = self.in_net_at_departure(sample.in_flight_before, at);
        let bw = self.max_bw();
        if self.pacing_gain > UNIT {
            let is_reached = || in_flight >= self.inflight(bw, self.pacing_gain, at.mss);
            return is_long && (sample.lost > 0 || is_reached());
        }
        is_long || in_flight <= self.inflight(bw, UNIT, at.mss)
    }

    /// bbr_advance_cycle_phase().
    fn next_cycle(&mut self, at: &Standing) {
        self.cycle = (self.cycle + 1) % CYCLE.len() as u8;
        self.cycle_at = at.delivered_at;
    }

    /// bbr_reset_probe_bw_mode().
    fn probe_bw(&mut self, at: &Standing) {
        self.mode = Mode::ProbeBw;
        self.cycle = CYCLE.len() as u8 - 1 - self.phases.next() as u8;
        self.next_cycle(at);
    }

    // ---- long-term bandwidth -------------------------------------------------

    fn millis(at: &Standing) -> u64 {
        (at.delivered_at.as_nanos() + at.clock.phase.as_nanos()) / 1_000_000
    }

    /// bbr_reset_lt_bw_sampling_interval().
    fn begin_interval(&mut self, at: &Standing) {
        self.long_term.since = Self::millis(at);
        self.long_term.delivered = at.delivered;
        self.long_term.lost = at.lost;
        self.long_term.rounds = 0;
    }

    /// bbr_reset_lt_bw_sampling().
    fn reset_long_term(&mut self, at: &Standing) {
        self.long_term.bw = 0;
        self.long_term.in_use = false;
        self.long_term.is_sampling = false;
        self.begin_interval(at);
    }

    /// bbr_lt_bw_sampling().
    fn sample_long_term(&mut self, has_lost: bool, is_app_limited: bool, at: &Standing) {
        if self.long_term.in_use {
            if self.mode == Mode::ProbeBw && self.round_start {
                self.long_term.rounds += 1;
                if self.long_term.rounds >= LT_ROUNDS {
                    self.reset_long_term(at);
                    self.probe_bw(at);
                }
            }
            return;
        }
        if !self.long_term.is_sampling {
            if !has_lost {
                return;
            }
            self.begin_interval(at);
            self.long_term.is_sampling = true;
        }
        if is_app_limited {
            self.reset_long_term(at);
            return;
        }
        self.long_term.rounds += u8::from(self.round_start);
        if self.long_term.rounds < LT_LEAST_ROUNDS {
            return;
        }
        if self.long_term.rounds > 4 * LT_LEAST_ROUNDS {
            self.reset_long_term(at);
            return;
        }
        if !has_lost {
            return;
        }
        let lost = at.lost - self.long_term.lost;
        let delivered = at.delivered - self.long_term.delivered;
        if delivered == 0 || lost << SCALE < LT_LOSS * delivered {
            return;
        }
        let took = Self::millis(at).saturating_sub(self.long_term.since);
        if took < 1 {
            return;
        }
        if took >= u64::from(u32::MAX) / 1000 {
            self.reset_long_term(at);
            return;
        }
        self.end_interval(delivered * BW_UNIT / (took * 1000), at);
    }

    /// bbr_lt_bw_interval_done().
    fn end_interval(&mut self, bw: u64, at: &Standing) {
        let last = self.long_term.bw;
        if last > 0 {
            let off = bw.abs_diff(last);
            let is_close = off * UNIT <= LT_RATIO * last
                || Self::bytes_per_second(off, UNIT, at.mss) <= LT_BYTES;
            if is_close {
                self.long_term.bw = u64::midpoint(bw, last);
                self.long_term.in_use = true;
                self.long_term.rounds = 0;
                self.pacing_gain = UNIT;
                return;
            }
        }
        self.long_term.bw = bw;
        self.begin_interval(at);
    }

    // ---- model --------------------------------------------------------------

    /// bbr_update_bw().
    fn update_bandwidth(&mut self, sample: &RateSample, at: &Standing) {
        self.round_start = false;
        let Some((delivered, interval)) = valid(sample) else {
            return;
        };
        if sample.prior >= self.round_end {
            self.round_end = at.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conserves = false;
        }
        self.sample_long_term(sample.lost > 0, sample.app_limited, at);
        // The kernel's filter stores 32 bits.
        let bw = (delivered * BW_UNIT / interval).min(u32::MAX.into());
        if !sample.app_limited || bw >= self.max_bw() {
            self.bw.sample(self.rounds, BW_ROUNDS, bw);
        }
    }

    /// bbr_update_ack_aggregation().
    fn update_aggregation(&mut self, cwnd: u64, sample: &RateSample, at: &Standing) {
        if sample.newly == 0 || valid(sample).is_none() {
            return;
        }
        let bandwidth = self.used_bw();
        let epoch = &mut self.aggregation;
        if self.round_start {
            epoch.rounds = (epoch.rounds + 1).min(0x1f);
            if epoch.rounds >= EXTRA_ROUNDS {
                epoch.rounds = 0;
                epoch.second = !epoch.second;
                epoch.extra[usize::from(epoch.second)] = 0;
            }
        }
        let mut expected = bandwidth * micros(epoch.since, at.delivered_at) / BW_UNIT;
        let mut acked = u64::from(epoch.acked);
        if acked <= expected || acked + sample.newly >= EPOCH_SEGMENTS {
            acked = 0;
            epoch.since = at.delivered_at;
            expected = 0;
        }
        acked = (acked + sample.newly).min(EPOCH_SEGMENTS - 1);
        epoch.acked = acked as u32;
        let extra = (acked - expected).min(cwnd) as u32;
        let most = &mut epoch.extra[usize::from(epoch.second)];
        *most = (*most).max(extra);
    }

    /// bbr_check_full_bw_reached().
    fn check_full(&mut self, sample: &RateSample) {
        if self.is_full || !self.round_start || sample.app_limited {
            return;
        }
        if self.max_bw() >= (self.full_bw * FULL_BW_GAIN) >> SCALE {
            self.full_bw = self.max_bw();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.is_full = self.full_rounds >= FULL_BW_ROUNDS;
    }

    /// bbr_check_drain().
    fn check_drain(&mut self, window: &mut Window, at: &Standing) {
        let one = |bbr: &Self| bbr.inflight(bbr.max_bw(), UNIT, at.mss);
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
            window.ssthresh = one(self) as f64;
        }
        if self.mode == Mode::Drain && self.in_net_at_departure(at.in_flight, at) <= one(self) {
            self.probe_bw(at);
        }
    }

    /// bbr_check_probe_rtt_done().
    fn end_probe_rtt(&mut self, cwnd: &mut u64, at: &Standing) {
        let tick = at.clock.count(at.now);
        if self.probe_rtt_done.is_none_or(|done| tick <= done) {
            return;
        }
        self.min_rtt_at = tick;
        *cwnd = (*cwnd).max(self.prior_cwnd);
        if self.is_full {
            self.probe_bw(at);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// bbr_update_min_rtt(); returns whether samples must be ignored.
    fn update_min_rtt(&mut self, cwnd: &mut u64, sample: &RateSample, at: &Standing) -> bool {
        let tick = at.clock.count(at.now);
        let is_old = tick > self.min_rtt_at + MIN_RTT_SECONDS * at.clock.per_second();
        if let Some(rtt) = sample.rtt {
            let rtt = rtt.as_nanos() / 1000;
            if rtt < self.min_rtt || is_old {
                self.min_rtt = rtt;
                self.min_rtt_at = tick;
            }
        }
        if is_old && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save(*cwnd);
            self.probe_rtt_done = None;
        }
        let probes = self.mode == Mode::ProbeRtt;
        if probes {
            if self.probe_rtt_done.is_some() {
                self.probe_rtt_round |= self.round_start;
                if self.probe_rtt_round {
                    self.end_probe_rtt(cwnd, at);
                }
            } else if at.in_flight <= LEAST_WINDOW {
                self.probe_rtt_done = Some(tick + at.clock.of_micros(PROBE_RTT_MICROS));
                self.probe_rtt_round = false;
                self.round_end = at.delivered;
            }
        }
        if sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
        probes
    }

    /// bbr_update_gains().
    fn update_gains(&mut self) {
        self.pacing_gain = match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBw if !self.long_term.in_use => CYCLE[usize::from(self.cycle)],
            Mode::ProbeBw | Mode::ProbeRtt => UNIT,
        };
    }

    /// The window's gain in the current mode.
    fn window_gain(&self) -> u64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBw => WINDOW_GAIN,
            Mode::ProbeRtt => UNIT,
        }
    }

    fn steer(&self, ignore_samples: bool) -> Steer {
        Steer {
            rate: self.rate,
            ignore_samples,
        }
    }
}

/// bbr_min_tso_segs().
fn least_burst(rate: u64) -> u64 {
    if rate < LEAST_RATE_OF_BURSTS {
        1
    } else {
        2
    }
}

/// The number of segments delivered and the interval in microseconds, if the sample is valid.
fn valid(sample: &RateSample) -> Option<(u64, u64)> {
    let interval = sample.interval?.as_nanos() / 1000;
    Some((sample.delivered?, interval)).filter(|_| interval > 0)
}

impl Congestion for BbrLinux {
    fn controls(&self) -> bool {
        true
    }

    /// bbr_init().
    fn on_open(&mut self, window: &mut Window, at: &Standing) -> Steer {
        *self = Self {
            phases: self.phases,
            min_rtt: at.min_rtt,
            min_rtt_at: at.clock.count(at.now),
            round_end: at.delivered,
            ..Self::DEFAULT
        };
        self.aggregation.since = at.now;
        self.initial_rate(window.cwnd as u64, at);
        self.reset_long_term(at);
        self.steer(false)
    }

    /// bbr_main().
    fn on_delivery(&mut self, window: &mut Window, sample: &RateSample, at: &Standing) -> Steer {
        let mut cwnd = window.cwnd as u64;
        self.update_bandwidth(sample, at);
        self.update_aggregation(cwnd, sample, at);
        if self.mode == Mode::ProbeBw && self.cycle_is_over(sample, at) {
            self.next_cycle(at);
        }
        self.check_full(sample);
        self.check_drain(window, at);
        let ignore = self.update_min_rtt(&mut cwnd, sample, at);
        self.update_gains();
        let bw = self.used_bw();
        self.set_rate(cwnd, bw, self.pacing_gain, at);
        self.set_window(&mut cwnd, bw, sample, at);
        window.cwnd = cwnd as f64;
        self.steer(ignore)
    }

    /// bbr_cwnd_event(), CA_EVENT_TX_START.
    fn on_restart(&mut self, window: &mut Window, at: &Standing) -> Steer {
        if at.app_limited {
            self.idle_restart = true;
            self.aggregation.since = at.now;
            self.aggregation.acked = 0;
            let mut cwnd = window.cwnd as u64;
            match self.mode {
                Mode::ProbeBw => self.set_rate(cwnd, self.used_bw(), UNIT, at),
                Mode::ProbeRtt => self.end_probe_rtt(&mut cwnd, at),
                _ => {}
            }
            window.cwnd = cwnd as f64;
        }
        self.steer(false)
    }

    /// bbr_ssthresh().
    fn on_reduction(&mut self, window: Window) {
        self.save(window.cwnd as u64);
    }

    /// bbr_set_state().
    fn on_loss_state(&mut self, at: &Standing) {
        self.before = LossPhase::Loss;
        self.full_bw = 0;
        self.round_start = true;
        self.sample_long_term(true, false, at);
    }

    /// bbr_undo_cwnd().
    fn on_undo(&mut self, at: &Standing) {
        self.full_bw = 0;
        self.full_rounds = 0;
        self.reset_long_term(at);
    }

    fn least_burst(&self, rate: u64) -> Option<u64> {
        Some(least_burst(rate))
    }

    fn mode(&self) -> Option<&'static str> {
        Some(self.mode.name())
    }

    /// bbr_sndbuf_expand().
    fn buffer_factor(&self) -> u64 {
        3
    }

    fn draws(&self) -> bool {
        true
    }

    fn seed(&mut self, seed: u64) {
        self.phases.draws.seed(seed);
    }

    /// Used if the recovery does not leave the window to the controller: as in Reno.
    fn ssthresh_after_loss(&mut self, _now: Instant, load: f64) -> f64 {
        (load / 2.0).max(2.0)
    }

    fn bandwidth(&self, _now: Instant) -> Option<f64> {
        let bw = self.used_bw();
        (bw > 0).then(|| bw as f64 * 1e6 / BW_UNIT as f64)
    }
}
