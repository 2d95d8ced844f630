//! The state of a path: the windows and the controller that sets them, the round-trip time and the
//! resulting timeout, and the pacing rate. Resetting a path creates a new value.

use educe::Educe;
use midflight_control::congestion::{AnyCongestion, HyStartPlus, Reno};
use midflight_control::rtt::Rto;
use midflight_units::{Duration, Instant, Seq};

use super::window::WindowState;
use super::Core;
use crate::config::{SenderConfig, SlowStart};
use crate::event::{Author, Log, SenderEvent};

/// A sender's state for the path of its segments.
#[derive(Educe, Debug)]
#[educe(Clone)]
pub(crate) struct Path {
    pub(super) window: WindowState,
    pub(super) congestion: AnyCongestion,
    /// What ends the first slow start, if that is not the controller.
    pub(super) hystart: Option<HyStartPlus>,
    /// The controller is Reno and nothing else ends slow start: the fast path, without calls of
    /// other controllers.
    pub(super) reno: bool,
    /// The controller sets the window and the rate itself.
    pub(super) controls: bool,
    /// The controller sets the pacing rate.
    pub(super) paces: bool,
    /// The window limits the sender, if the recovery determines that.
    pub(crate) window_limited: bool,
    /// The current slow start follows a timeout (RFC 3465 section 2.2).
    pub(super) slow_start_after_timeout: bool,
    /// The window does not grow until a segment sent at this instant or later is acknowledged.
    pub(super) hold_growth: Option<Instant>,
    /// Pacing rate of the recovery in bytes per second; 0 if it has none.
    pub(crate) pacing_rate: u64,
    /// The estimate of the round-trip time, and the timeout.
    pub(crate) rto: Rto,
    /// The segment being timed and when it was sent.
    pub(super) timed: Option<(Seq, Instant)>,
    /// The current ACK gave a sample.
    pub(super) rtt_sampled: bool,
    /// After an order to restart: take a sample from any segment sent at this instant or later.
    pub(super) sample_since: Option<Instant>,
    /// That sample may come from a retransmission.
    pub(super) sample_retransmitted: bool,
    /// Segments sent before this give no sample.
    pub(super) rtt_epoch: Instant,
    /// Lower bounds for the first RTT sample of segments sent at this instant or later.
    pub(super) adapt_rto: Option<(Instant, Duration, Duration)>,
}

impl Path {
    /// A path without any measurements.
    pub(super) fn new(config: &SenderConfig, congestion: &AnyCongestion) -> Self {
        let mut congestion = *congestion;
        let hystart = (config.slow_start == SlowStart::HyStartPlus).then(HyStartPlus::default);
        if hystart.is_some() {
            congestion.leave_slow_start();
        }
        Self {
            window: WindowState::new(config.initial_ssthresh, config.receiver_window),
            congestion,
            hystart,
            reno: congestion.is_reno() && hystart.is_none(),
            controls: congestion.controls(),
            paces: congestion.controls(),
            window_limited: true,
            slow_start_after_timeout: false,
            hold_growth: None,
            pacing_rate: 0,
            rto: Rto::new(config.rto),
            timed: None,
            rtt_sampled: false,
            sample_since: None,
            sample_retransmitted: false,
            rtt_epoch: Instant::ZERO,
            adapt_rto: None,
        }
    }

    /// Begins with a window of this many segments.
    pub(crate) fn begin(&mut self, cwnd: f64) {
        self.window.begin(cwnd);
    }

    /// A foreign policy is the controller, in place of the one of the settings.
    pub(super) fn adopt_controller(&mut self, config: &SenderConfig) {
        self.congestion = AnyCongestion::Reno(Reno);
        self.reno = false;
        self.controls = config.recovery.about().asks_for_bursts;
        self.paces = false;
    }

    /// Takes the controller and the windows of another path.
    pub(crate) fn take_controller(&mut self, of: &Self) {
        self.window = of.window;
        self.congestion = of.congestion;
        (self.paces, self.pacing_rate) = (of.paces, of.pacing_rate);
        self.hystart = of.hystart;
        self.slow_start_after_timeout = of.slow_start_after_timeout;
        self.hold_growth = of.hold_growth;
    }

    /// Takes the round-trip time of another path.
    pub(crate) fn take_rtt(&mut self, of: &Self) {
        self.rto = of.rto;
        self.rtt_epoch = of.rtt_epoch;
    }

    /// Clears the RTT estimate: the timeout is `initial`, and only segments sent at `since` or
    /// later give samples, including retransmissions if `retransmitted` is set.
    pub(super) fn restart_rtt(&mut self, initial: Duration, since: Instant, retransmitted: bool) {
        self.rto.restart(initial);
        self.rtt_epoch = since;
        self.timed = self.timed.filter(|(_, sent)| *sent >= since);
        self.sample_since = Some(since);
        self.sample_retransmitted = retransmitted;
    }
}

impl Core {
    /// Replaces the controller; the rest of the path stays.
    pub(crate) fn set_congestion(&mut self, congestion: &AnyCongestion) {
        let fresh = Path::new(&self.config, congestion);
        let path = &mut self.path;
        path.congestion = fresh.congestion;
        path.hystart = fresh.hystart;
        (path.reno, path.controls, path.paces) = (fresh.reno, fresh.controls, fresh.paces);
        self.begin_control();
        self.hold();
    }

    /// Continues with the windows and the RTT of another sender on the same path.
    pub(crate) fn keep_path_of(&mut self, of: &Self, log: &mut impl Log) {
        let (cwnd, ssthresh) = (of.cwnd(), of.ssthresh());
        if self.path.controls {
            self.path.take_rtt(&of.path);
        } else {
            self.path.clone_from(&of.path);
            self.path.timed = None;
        }
        self.set_ssthresh(ssthresh, Author::Recovery, log);
        self.set_cwnd(cwnd, Author::Recovery, log);
    }

    /// A path with only this RTT known, and a window of this many segments.
    pub(crate) fn fresh_path(&self, rtt: Duration) -> Path {
        let mut config = self.config;
        config.rto.initial = rtt * 3;
        let mut path = Path::new(&config, &self.fresh_controller());
        if self.has_foreign_controller() {
            path.adopt_controller(&config);
        }
        path.rtt_epoch = self.path.rtt_epoch;
        path
    }

    /// Replaces the current path; returns the previous one.
    pub(crate) fn replace_path(&mut self, path: Path, log: &mut impl Log) -> Path {
        let old = std::mem::replace(&mut self.path, path);
        let (now, by) = (self.now, Author::Path);
        let (to, cwnd) = (self.ssthresh(), self.cwnd());
        if to != old.window.ssthresh() {
            log.record(now, SenderEvent::Ssthresh { to, by });
        }
        if cwnd != old.window.cwnd() {
            log.record(now, SenderEvent::Cwnd { to: cwnd, by });
        }
        if old.rto.backoff() != self.path.rto.backoff() {
            let backoff = self.path.rto.backoff();
            log.record(now, SenderEvent::Backoff(backoff));
        }
        old
    }
}
