//! Probing for bandwidth: the cycle of phases and the long-term bounds
//! (draft-ietf-ccwg-bbr section 5.3.3).

use midflight_units::Duration;

use super::super::linux::control::Standing;
use super::{is_too_high, rate_of, Acks, Bbr3, State, RENO_ROUNDS};
use crate::delivery::RateSample;

impl Bbr3 {
    /// BBRStartProbeBW_DOWN().
    pub(super) fn start_down(&mut self, at: &Standing) {
        self.loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
        self.up_count = f64::INFINITY;
        // BBRPickProbeWait().
        self.rounds_since_probe = self.draws.below(2);
        let millionths = self.draws.below(1_000_000);
        self.probe_wait = Duration::from_secs(2) + Duration::from_micros(millionths);
        self.cycle_at = at.now;
        self.acks = Acks::Stopping;
        self.start_round(at);
        self.state = State::Down;
    }

    /// BBRStartProbeBW_REFILL().
    pub(super) fn start_refill(&mut self, at: &Standing) {
        self.reset_short_term();
        self.up_rounds = 0;
        self.up_acks = 0.0;
        self.acks = Acks::Refilling;
        self.start_round(at);
        self.state = State::Refill;
    }

    /// BBRStartProbeBW_UP().
    pub(super) fn start_up(&mut self, cwnd: f64, rate: f64, at: &Standing) {
        self.acks = Acks::Starting;
        self.start_round(at);
        self.reset_full(rate);
        self.state = State::Up;
        self.raise_slope(cwnd);
    }

    pub(super) fn reset_short_term(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    /// BBRIsTimeToProbeBW(), without the state change.
    pub(super) fn is_time_to_probe(&self, cwnd: f64, at: &Standing) -> bool {
        let rounds = self.target(cwnd).min(RENO_ROUNDS);
        at.now > self.cycle_at + self.probe_wait || self.rounds_since_probe as f64 >= rounds
    }

    /// BBRIsTimeToCruise().
    pub(super) fn is_time_to_cruise(&self, at: &Standing) -> bool {
        let in_flight = at.in_flight as f64;
        in_flight <= self.with_headroom() && in_flight <= self.inflight(self.most_bw(), 1.0, at)
    }

    /// The window is fully used and is at inflight_longterm; windows are whole segments.
    pub(super) fn is_bound(&self, cwnd: f64, at: &Standing) -> bool {
        at.window_limited && cwnd >= self.inflight_longterm.floor()
    }

    /// BBRIsTimeToGoDown().
    pub(super) fn is_time_to_go_down(&self) -> bool {
        self.state == State::Up && self.full_now
    }

    /// If that bound limits the sender, a bandwidth plateau says nothing about the path: the
    /// plateau detection restarts.
    pub(super) fn look_beyond_bound(&mut self, cwnd: f64, sample: &RateSample, at: &Standing) {
        if self.state == State::Up && self.is_bound(cwnd, at) {
            self.reset_full(rate_of(sample));
        }
    }

    /// BBRRaiseInflightLongtermSlope().
    pub(super) fn raise_slope(&mut self, cwnd: f64) {
        let growth = (1_u64 << self.up_rounds) as f64;
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.up_count = (cwnd / growth).max(1.0);
    }

    /// BBRProbeInflightLongtermUpward().
    pub(super) fn raise_longterm(&mut self, cwnd: f64, sample: &RateSample, at: &Standing) {
        if !self.is_bound(cwnd, at) {
            return;
        }
        self.up_acks += sample.newly as f64;
        if self.up_acks >= self.up_count {
            let delta = (self.up_acks / self.up_count).floor();
            self.up_acks -= delta * self.up_count;
            self.inflight_longterm += delta;
        }
        if self.round_start {
            self.raise_slope(cwnd);
        }
    }

    /// BBRAdaptLongTermModel().
    pub(super) fn adapt_long_term(&mut self, cwnd: f64, sample: &RateSample, at: &Standing) {
        if self.round_start {
            match self.acks {
                Acks::Starting => self.acks = Acks::Feedback,
                Acks::Stopping => {
                    self.probe_samples = false;
                    self.acks = Acks::Usual;
                    if self.state.probes_bw() && !sample.app_limited {
                        self.advance_filter();
                    }
                }
                Acks::Usual | Acks::Refilling | Acks::Feedback => {}
            }
        }
        let is_safe = !is_too_high(sample.lost_since, sample.tx_in_flight);
        if is_safe && self.inflight_longterm.is_finite() {
            self.inflight_longterm = self.inflight_longterm.max(sample.tx_in_flight as f64);
            if self.state == State::Up {
                self.raise_longterm(cwnd, sample, at);
            }
        }
    }

    /// BBRUpdateProbeBWCyclePhase().
    pub(super) fn update_cycle(&mut self, cwnd: f64, sample: &RateSample, at: &Standing) {
        if !self.full_reached {
            return;
        }
        self.adapt_long_term(cwnd, sample, at);
        self.look_beyond_bound(cwnd, sample, at);
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(cwnd, at) => self.start_refill(at),
            State::Down if self.is_time_to_cruise(at) => self.state = State::Cruise,
            State::Refill if self.round_start => {
                self.probe_samples = true;
                self.start_up(cwnd, rate_of(sample), at);
            }
            State::Up if self.is_time_to_go_down() => self.start_down(at),
            _ => {}
        }
    }
}
