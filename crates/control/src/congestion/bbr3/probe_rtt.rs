//! The minimum round-trip time, and the phase that measures it (draft-ietf-ccwg-bbr section 5.3.4).

use midflight_units::{Duration, Instant};

use super::super::linux::control::Standing;
use super::{Acks, Bbr3, State, MIN_RTT_FILTER, PROBE_RTT_INTERVAL, PROBE_RTT_TIME};
use crate::delivery::RateSample;

impl Bbr3 {
    /// BBRUpdateMinRTT().
    pub(super) fn update_min_rtt(&mut self, sample: &RateSample, at: &Standing) {
        let is_old = |least: Option<(Duration, Instant)>, age| {
            least.is_some_and(|(_, since)| at.now > since + age)
        };
        self.probe_rtt_expired = is_old(self.probe_rtt_min, PROBE_RTT_INTERVAL);
        if let Some(rtt) = sample.rtt {
            let is_less = self.probe_rtt_min.is_none_or(|(least, _)| rtt < least);
            if is_less || self.probe_rtt_expired {
                self.probe_rtt_min = Some((rtt, at.now));
            }
        }
        let expired = is_old(self.min_rtt, MIN_RTT_FILTER);
        if let Some((least, _)) = self.probe_rtt_min {
            let is_less = self.min_rtt.is_none_or(|(rtt, _)| least < rtt);
            if is_less || expired {
                self.min_rtt = self.probe_rtt_min;
            }
        }
    }

    /// BBRCheckProbeRTT().
    pub(super) fn check_probe_rtt(&mut self, cwnd: &mut f64, sample: &RateSample, at: &Standing) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.save(*cwnd);
            self.state = State::ProbeRtt;
            self.probe_rtt_done = None;
            self.acks = Acks::Stopping;
            self.start_round(at);
        }
        if self.state == State::ProbeRtt {
            if self.probe_rtt_done.is_some() {
                self.probe_rtt_round |= self.round_start;
                if self.probe_rtt_round {
                    self.end_probe_rtt(cwnd, at);
                }
            } else if at.in_flight as f64 <= self.probe_rtt_window() {
                self.probe_rtt_done = Some(at.now + PROBE_RTT_TIME);
                self.probe_rtt_round = false;
                self.start_round(at);
            }
        }
        if sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
    }

    /// BBRCheckProbeRTTDone() and BBRExitProbeRTT().
    pub(super) fn end_probe_rtt(&mut self, cwnd: &mut f64, at: &Standing) {
        if self.probe_rtt_done.is_none_or(|done| at.now <= done) {
            return;
        }
        if let Some((_, since)) = &mut self.probe_rtt_min {
            *since = at.now;
        }
        *cwnd = cwnd.max(self.prior_cwnd);
        self.reset_short_term();
        if self.full_reached {
            self.start_down(at);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}
