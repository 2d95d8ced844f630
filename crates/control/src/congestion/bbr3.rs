//! BBR version 3 according to draft-ietf-ccwg-bbr (the text of August 2026): a model of the path from the delivery rate
//! and the round-trip time, and bounds from losses.
//!
//! ```text
//! max_bw    = the greatest delivery rate of this cycle and the last      min_rtt = the least of 10 s
//! bw        = min(max_bw, bw_shortterm)                                  rate    = gain x bw x 99 %
//! window    = gain x bw x min_rtt + extra_acked, at most inflight_longterm and inflight_shortterm
//!
//! Startup   2.77 / 2     until three rounds bring less than 25 % more, or a round in recovery loses 2 % in 6 places
//! Drain     0.5  / 2     until in flight is one bandwidth-delay product, or three rounds are over
//! Down      0.9  / 2     until in flight is that, and below 85 % of inflight_longterm
//! Cruise    1    / 2     until 2 to 3 s are over, or as many rounds as the product has segments, at most 63
//! Refill    1    / 2     a round
//! Up        1.25 / 2.25  until three rounds bring less than 25 % more, or 2 % are lost
//! ProbeRTT  1    / 0.5   200 ms and a round, when no round trip was as short for 5 s
//! ```
//!
//! Comments give the draft's name of each function; section numbers are the draft's. Windows and rates are in segments.
//! The two random numbers of a cycle are drawn from a stream of the run.
//!
//! Differs from the draft in two things, both as in Linux (tcp_bbr.c of the branch v3). The phase that waits for the
//! samples of a probe ends with its round: as the text stands, the bandwidth filter would forget a cycle each round.
//! And discontiguous losses of a round are counted as they are detected, not by their numbers alone.

mod probe_bw;
mod probe_rtt;

use midflight_units::{Duration, Instant, Seq};

use super::draws::Draws;
use super::linux::control::{LossPhase, LostSegment, Standing, Steer};
use super::{Congestion, Window};
use crate::delivery::RateSample;
use crate::part::{Part, PartInfo};
use crate::windowed::WindowedMax;

// Section 2: constants.
const STARTUP_GAIN: f64 = 2.77;
const DRAIN_GAIN: f64 = 0.5;
const WINDOW_GAIN: f64 = 2.0;
const UP_WINDOW_GAIN: f64 = 2.25;
const PROBE_RTT_WINDOW_GAIN: f64 = 0.5;
const MARGIN: f64 = 0.99;
const LOSS_THRESH: f64 = 0.02;
const BETA: f64 = 0.7;
const HEADROOM: f64 = 0.15;
const LEAST_WINDOW: f64 = 4.0;
const STARTUP_LOSSES: u32 = 6;
const FULL_BW_GROWTH: f64 = 1.25;
const FULL_BW_ROUNDS: u32 = 3;
const DRAIN_ROUNDS: u64 = 3;
const MIN_RTT_FILTER: Duration = Duration::from_secs(10);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
const EXTRA_ACKED_ROUNDS: u64 = 10;
const RENO_ROUNDS: f64 = 63.0;
const MOST_BURST: f64 = 65_536.0;

/// BBR.state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// As the draft writes it.
    fn name(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Drain => "Drain",
            Self::Down => "ProbeBW_DOWN",
            Self::Cruise => "ProbeBW_CRUISE",
            Self::Refill => "ProbeBW_REFILL",
            Self::Up => "ProbeBW_UP",
            Self::ProbeRtt => "ProbeRTT",
        }
    }

    /// IsInAProbeBWState().
    fn probes_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// BBRIsProbingBW().
    fn accelerates(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }

    /// The table of section 5.6.1.
    fn pacing_gain(self) -> f64 {
        match self {
            Self::Startup => STARTUP_GAIN,
            Self::Drain => DRAIN_GAIN,
            Self::Down => 0.9,
            Self::Up => 1.25,
            Self::Cruise | Self::Refill | Self::ProbeRtt => 1.0,
        }
    }

    fn window_gain(self) -> f64 {
        match self {
            Self::Up => UP_WINDOW_GAIN,
            Self::ProbeRtt => PROBE_RTT_WINDOW_GAIN,
            _ => WINDOW_GAIN,
        }
    }
}

/// BBR.ack_phase: which samples an ACK carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Acks {
    #[default]
    Usual,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// The state that is restored if a recovery was unneeded (section 5.5.11).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Saved {
    state: State,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

/// State of BBR.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bbr3 {
    draws: Draws,
    state: State,
    // Rounds (5.5.1).
    round_count: u64,
    next_round: u64,
    round_start: bool,
    drain_start: u64,
    // The model (5.5.2 to 5.5.9).
    max_bw: [f64; 2],
    bw: f64,
    min_rtt: Option<(Duration, Instant)>,
    probe_rtt_min: Option<(Duration, Instant)>,
    probe_rtt_expired: bool,
    extra_acked: WindowedMax,
    extra_since: Instant,
    extra_delivered: f64,
    // The full pipe (5.3.1.2).
    full_bw: f64,
    full_rounds: u32,
    full_now: bool,
    full_reached: bool,
    // Losses (5.5.10).
    bw_latest: f64,
    inflight_latest: f64,
    loss_round: u64,
    loss_round_start: bool,
    loss_in_round: bool,
    losses_in_round: u32,
    last_lost: Seq,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
    saved: Saved,
    // Probing for bandwidth (5.3.3).
    acks: Acks,
    cycle_at: Instant,
    probe_wait: Duration,
    rounds_since_probe: u64,
    probe_samples: bool,
    up_rounds: u32,
    up_acks: f64,
    up_count: f64,
    // ProbeRTT (5.3.4) and idle restart (5.4).
    probe_rtt_done: Option<Instant>,
    probe_rtt_round: bool,
    idle_restart: bool,
    prior_cwnd: f64,
    before: LossPhase,
    /// Segments per second.
    rate: f64,
    initial_window: f64,
}

impl Bbr3 {
    /// The initial state.
    pub const DEFAULT: Self = Self {
        draws: Draws::NEW,
        state: State::Startup,
        round_count: 0,
        next_round: 0,
        round_start: false,
        drain_start: 0,
        max_bw: [0.0; 2],
        bw: 0.0,
        min_rtt: None,
        probe_rtt_min: None,
        probe_rtt_expired: false,
        extra_acked: WindowedMax::NONE,
        extra_since: Instant::ZERO,
        extra_delivered: 0.0,
        full_bw: 0.0,
        full_rounds: 0,
        full_now: false,
        full_reached: false,
        bw_latest: 0.0,
        inflight_latest: 0.0,
        loss_round: 0,
        loss_round_start: false,
        loss_in_round: false,
        losses_in_round: 0,
        last_lost: Seq::MAX,
        bw_shortterm: f64::INFINITY,
        inflight_shortterm: f64::INFINITY,
        inflight_longterm: f64::INFINITY,
        saved: Saved {
            state: State::Startup,
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
        },
        acks: Acks::Usual,
        cycle_at: Instant::ZERO,
        probe_wait: Duration::ZERO,
        rounds_since_probe: 0,
        probe_samples: false,
        up_rounds: 0,
        up_acks: 0.0,
        up_count: f64::INFINITY,
        probe_rtt_done: None,
        probe_rtt_round: false,
        idle_restart: false,
        prior_cwnd: 0.0,
        before: LossPhase::Open,
        rate: 0.0,
        initial_window: 10.0,
    };
}

impl Default for Bbr3 {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Part for Bbr3 {
    const INFO: PartInfo = PartInfo {
        name: "bbr3",
        summary: "BBR version 3: a rate and a window from bandwidth and minimum round-trip time, bounded by losses",
        source: "draft-ietf-ccwg-bbr of August 2026",
        knobs: &[],
    };
}

/// RS.delivery_rate in segments per second; 0 without a valid sample.
fn rate_of(sample: &RateSample) -> f64 {
    sample.per_second().unwrap_or(0.0)
}

fn delivered_by(sample: &RateSample) -> f64 {
    sample.delivered.unwrap_or(0) as f64
}

/// IsInflightTooHigh(), with SACK.
fn is_too_high(lost: u64, tx_in_flight: u64) -> bool {
    lost as f64 > tx_in_flight as f64 * LOSS_THRESH
}

impl Bbr3 {
    fn most_bw(&self) -> f64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// BBR.bdp times a gain (BBRBDPMultiple()).
    fn product(&self, bw: f64, gain: f64) -> f64 {
        match self.min_rtt {
            Some((rtt, _)) => gain * bw * rtt.as_nanos() as f64 / 1e9,
            None => self.initial_window,
        }
    }

    /// BBRSetSendQuantum(), in segments.
    fn quantum(&self, at: &Standing) -> f64 {
        let mss = at.mss as f64;
        let bytes = (self.rate * mss * 0.001).min(MOST_BURST);
        (bytes / mss).max(2.0)
    }

    /// BBRQuantizationBudget().
    fn quantize(&self, inflight: f64, at: &Standing) -> f64 {
        let budget = inflight.max(3.0 * self.quantum(at)).max(LEAST_WINDOW);
        if self.state == State::Up {
            budget + 2.0
        } else {
            budget
        }
    }

    /// BBRInflight().
    fn inflight(&self, bw: f64, gain: f64, at: &Standing) -> f64 {
        self.quantize(self.product(bw, gain), at)
    }

    /// BBRTargetInflight().
    fn target(&self, cwnd: f64) -> f64 {
        self.product(self.bw, 1.0).min(cwnd)
    }

    /// BBRInflightWithHeadroom().
    fn with_headroom(&self) -> f64 {
        let headroom = (HEADROOM * self.inflight_longterm).max(1.0);
        // Infinity minus infinity is NaN.
        if self.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        (self.inflight_longterm - headroom).max(LEAST_WINDOW)
    }

    /// BBRStartRound().
    fn start_round(&mut self, at: &Standing) {
        self.next_round = at.delivered;
    }

    // ---- rate and window (5.6) ---------------------------------------------

    /// BBRInitPacingRate().
    fn initial_rate(&mut self, at: &Standing) {
        let rtt = at.srtt.map_or(1000, |srtt| srtt.max(1));
        self.rate = STARTUP_GAIN * self.initial_window * 1e6 / rtt as f64;
    }

    /// BBRSetPacingRateWithGain().
    fn set_rate(&mut self, gain: f64) {
        let rate = gain * self.bw * MARGIN;
        if self.full_reached || rate > self.rate {
            self.rate = rate;
        }
    }

    /// BBRSaveCwnd().
    fn save(&mut self, cwnd: f64) {
        let is_usual = self.before < LossPhase::Recovery && self.state != State::ProbeRtt;
        self.prior_cwnd = if is_usual {
            cwnd
        } else {
            self.prior_cwnd.max(cwnd)
        };
    }

    /// BBRProbeRTTCwnd().
    fn probe_rtt_window(&self) -> f64 {
        self.product(self.bw, PROBE_RTT_WINDOW_GAIN)
            .max(LEAST_WINDOW)
    }

    /// BBRSetCwnd().
    fn set_window(&mut self, cwnd: f64, sample: &RateSample, at: &Standing) -> f64 {
        let extra = self.extra_acked.get().unwrap_or(0) as f64;
        let most = self.product(self.bw, self.state.window_gain()) + extra;
        let most = self.quantize(most, at);
        let newly = sample.newly as f64;
        let mut cwnd = if self.full_reached {
            (cwnd + newly).min(most)
        } else if cwnd < most || (at.delivered as f64) < self.initial_window {
            cwnd + newly
        } else {
            cwnd
        };
        cwnd = cwnd.max(LEAST_WINDOW);
        if self.state == State::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_window());
        }
        cwnd.min(self.bound())
    }

    /// BBRBoundCwndForModel(): the cap.
    fn bound(&self) -> f64 {
        let longterm = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        longterm.min(self.inflight_shortterm).max(LEAST_WINDOW)
    }

    // ---- the model (5.5) -----------------------------------------------------

    /// BBRUpdateRound() and BBRUpdateMaxBw().
    fn update_bandwidth(&mut self, sample: &RateSample, at: &Standing) {
        self.round_start = sample.delivered.is_some() && sample.prior >= self.next_round;
        if self.round_start {
            self.start_round(at);
            self.round_count += 1;
            self.rounds_since_probe += 1;
        }
        let rate = rate_of(sample);
        if rate > 0.0 && (rate >= self.most_bw() || !sample.app_limited) {
            self.max_bw[1] = self.max_bw[1].max(rate);
        }
    }

    /// BBRAdvanceMaxBwFilter().
    fn advance_filter(&mut self) {
        if self.max_bw[1] > 0.0 {
            self.max_bw = [self.max_bw[1], 0.0];
        }
    }

    /// BBRUpdateLatestDeliverySignals().
    fn update_latest(&mut self, sample: &RateSample, at: &Standing) {
        self.bw_latest = self.bw_latest.max(rate_of(sample));
        self.inflight_latest = self.inflight_latest.max(delivered_by(sample));
        self.loss_round_start = sample.delivered.is_some() && sample.prior >= self.loss_round;
        if self.loss_round_start {
            self.loss_round = at.delivered;
        }
    }

    /// BBRUpdateCongestionSignals().
    fn update_signals(&mut self, cwnd: f64, sample: &RateSample, at: &Standing) {
        self.update_bandwidth(sample, at);
        if !self.loss_round_start {
            return;
        }
        // BBRAdaptLowerBoundsFromCongestion().
        if !self.state.accelerates() && self.loss_in_round {
            if self.bw_shortterm.is_infinite() {
                self.bw_shortterm = self.most_bw();
            }
            if self.inflight_shortterm.is_infinite() {
                self.inflight_shortterm = cwnd;
            }
            self.bw_shortterm = self.bw_latest.max(BETA * self.bw_shortterm);
            self.inflight_shortterm = self.inflight_latest.max(BETA * self.inflight_shortterm);
        }
        self.loss_in_round = false;
    }

    /// BBRUpdateACKAggregation().
    fn update_aggregation(&mut self, cwnd: f64, sample: &RateSample, at: &Standing) {
        let waited = at.now.since(self.extra_since).as_nanos() as f64 / 1e9;
        let mut expected = self.bw * waited;
        if self.extra_delivered <= expected {
            self.extra_delivered = 0.0;
            self.extra_since = at.now;
            expected = 0.0;
        }
        self.extra_delivered += sample.newly as f64;
        let extra = (self.extra_delivered - expected).min(cwnd).max(0.0);
        let rounds = if self.full_reached {
            EXTRA_ACKED_ROUNDS
        } else {
            1
        };
        self.extra_acked
            .sample(self.round_count, rounds, extra as u64);
    }

    /// BBRResetFullBW(), with `bw` as the new base.
    fn reset_full(&mut self, bw: f64) {
        self.full_bw = bw;
        self.full_rounds = 0;
        self.full_now = false;
    }

    /// BBRCheckFullBWReached().
    fn check_full(&mut self, sample: &RateSample) {
        if self.full_now || !self.round_start || sample.app_limited {
            return;
        }
        let rate = rate_of(sample);
        if rate >= self.full_bw * FULL_BW_GROWTH {
            self.reset_full(rate);
            return;
        }
        self.full_rounds += 1;
        self.full_now = self.full_rounds >= FULL_BW_ROUNDS;
        self.full_reached |= self.full_now;
    }

    /// BBRCheckStartupDone(), with BBRCheckStartupHighLoss() (5.3.1.3).
    fn check_startup(&mut self, sample: &RateSample, at: &Standing) {
        if self.state != State::Startup {
            return;
        }
        let is_lossy = at.phase == LossPhase::Recovery
            && self.losses_in_round >= STARTUP_LOSSES
            && is_too_high(sample.lost_since, sample.tx_in_flight);
        if self.loss_round_start {
            if is_lossy {
                self.full_reached = true;
                let bdp = self.product(self.most_bw(), 1.0);
                self.inflight_longterm = bdp.max(self.inflight_latest);
            }
            self.losses_in_round = 0;
        }
        if self.full_reached {
            self.state = State::Drain;
            self.drain_start = self.round_count;
        }
    }

    /// BBRCheckDrainDone().
    fn check_drain(&mut self, at: &Standing) {
        let is_long = self.round_count > self.drain_start + DRAIN_ROUNDS;
        let is_drained = || at.in_flight as f64 <= self.inflight(self.bw, 1.0, at);
        if self.state == State::Drain && (is_long || is_drained()) {
            self.start_down(at);
        }
    }

    // ---- losses -----------------------------------------------------------------

    /// BBRSaveStateUponLoss().
    fn save_state(&mut self) {
        self.saved = Saved {
            state: self.state,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// BBRInflightAtLoss(): the volume in flight at which the losses crossed the threshold.
    fn inflight_at_loss(lost: &LostSegment) -> f64 {
        let before = lost.tx_in_flight.saturating_sub(1) as f64;
        let lost_before = lost.lost_since.saturating_sub(1) as f64;
        before + (LOSS_THRESH * before - lost_before) / (1.0 - LOSS_THRESH)
    }

    fn steer(&self, at: &Standing) -> Steer {
        Steer {
            rate: (self.rate * at.mss as f64) as u64,
            ignore_samples: self.state == State::ProbeRtt,
        }
    }
}

impl Congestion for Bbr3 {
    fn controls(&self) -> bool {
        true
    }

    fn reports_losses(&self) -> bool {
        true
    }

    /// BBROnInit().
    fn on_open(&mut self, window: &mut Window, at: &Standing) -> Steer {
        *self = Self {
            draws: self.draws,
            next_round: at.delivered,
            loss_round: at.delivered,
            initial_window: window.cwnd,
            extra_since: at.now,
            ..Self::DEFAULT
        };
        if let Some(srtt) = at.srtt {
            self.min_rtt = Some((Duration::from_micros(srtt), at.now));
            self.probe_rtt_min = self.min_rtt;
        }
        self.initial_rate(at);
        self.steer(at)
    }

    /// BBRUpdateOnACK().
    fn on_delivery(&mut self, window: &mut Window, sample: &RateSample, at: &Standing) -> Steer {
        let mut cwnd = window.cwnd;
        if self.before >= LossPhase::Recovery && at.phase < LossPhase::Recovery {
            // BBRRestoreCwnd().
            cwnd = cwnd.max(self.prior_cwnd);
        }
        self.before = at.phase;
        self.update_latest(sample, at);
        self.update_signals(cwnd, sample, at);
        self.update_aggregation(cwnd, sample, at);
        self.check_full(sample);
        self.check_startup(sample, at);
        self.check_drain(at);
        self.update_cycle(cwnd, sample, at);
        self.update_min_rtt(sample, at);
        self.check_probe_rtt(&mut cwnd, sample, at);
        if self.loss_round_start {
            // BBRAdvanceLatestDeliverySignals().
            self.bw_latest = rate_of(sample);
            self.inflight_latest = delivered_by(sample);
        }
        self.bw = self.most_bw().min(self.bw_shortterm);
        self.set_rate(self.state.pacing_gain());
        window.cwnd = self.set_window(cwnd, sample, at).floor();
        self.steer(at)
    }

    /// BBRHandleRestartFromIdle().
    fn on_restart(&mut self, window: &mut Window, at: &Standing) -> Steer {
        if at.app_limited {
            self.idle_restart = true;
            self.extra_since = at.now;
            if self.state.probes_bw() {
                self.set_rate(1.0);
            } else if self.state == State::ProbeRtt {
                self.end_probe_rtt(&mut window.cwnd, at);
            }
        }
        self.steer(at)
    }

    /// BBRHandleLostPacket() and BBRHandleInflightTooHigh().
    fn on_lost(&mut self, window: Window, lost: &LostSegment, at: &Standing) {
        if !self.loss_in_round {
            self.loss_round = at.delivered;
            self.save_state();
        }
        self.loss_in_round = true;
        self.losses_in_round += u32::from(lost.seq != self.last_lost.wrapping_add(1));
        self.last_lost = lost.seq;
        if !self.probe_samples || !is_too_high(lost.lost_since, lost.tx_in_flight) {
            return;
        }
        self.probe_samples = false;
        if !lost.app_limited {
            let least = self.target(window.cwnd) * BETA;
            self.inflight_longterm = Self::inflight_at_loss(lost).max(least);
        }
        if self.state == State::Up {
            self.start_down(at);
        }
    }

    /// BBROnEnterFastRecovery(), and with a timeout BBROnEnterRTO().
    fn on_reduction(&mut self, window: Window) {
        self.save(window.cwnd);
        self.save_state();
    }

    /// BBROnEnterRTO().
    fn on_loss_state(&mut self, _at: &Standing) {
        self.before = LossPhase::Loss;
    }

    /// BBRHandleSpuriousLossDetection().
    fn on_undo(&mut self, at: &Standing) {
        self.loss_in_round = false;
        self.reset_full(0.0);
        let saved = self.saved;
        self.bw_shortterm = self.bw_shortterm.max(saved.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(saved.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(saved.inflight_longterm);
        if self.state != State::ProbeRtt && self.state != saved.state {
            match saved.state {
                State::Startup => self.state = State::Startup,
                State::Up => self.start_up(self.prior_cwnd, self.bw_latest, at),
                _ => {}
            }
        }
    }

    fn mode(&self) -> Option<&'static str> {
        Some(self.state.name())
    }

    /// BBRUpdateOffloadBudget() assumes three bursts.
    fn buffer_factor(&self) -> u64 {
        3
    }

    fn draws(&self) -> bool {
        true
    }

    fn seed(&mut self, seed: u64) {
        self.draws.seed(seed);
    }

    /// Used if the recovery does not leave the window to the controller: as in Reno.
    fn ssthresh_after_loss(&mut self, _now: Instant, load: f64) -> f64 {
        (load / 2.0).max(2.0)
    }

    fn bandwidth(&self, _now: Instant) -> Option<f64> {
        (self.bw > 0.0).then_some(self.bw)
    }
}

#[cfg(test)]
mod tests;
