//! The state of a path: the windows and the controller that sets them, the round-trip time and
//! the timeout that follows from it, and the rate of bursts. A path that is reset is a new value.

use educe::Educe;
use midflight_control::congestion::{AnyCongestion, HyStartPlus};
use midflight_control::rtt::Rto;
use midflight_units::{Duration, Instant, Seq};

use super::window::WindowState;
use super::Core;
use crate::config::{SenderConfig, SlowStart};
use crate::event::{Author, Log, SenderEvent};

/// A sender's state of the path that its segments take.
#[derive(Educe, Debug)]
#[educe(Clone)]
pub(crate) struct Path {
    pub(super) window: WindowState,
    pub(super) congestion: AnyCongestion,
    /// The criterion that ends the first slow start, if that is not the controller.
    pub(super) hystart: Option<HyStartPlus>,
    /// The controller is Reno and nothing else ends slow start: the fast path, without calls of
    /// other controllers.
    pub(super) reno: bool,
    /// The controller sets the window and the rate by itself.
    pub(super) controls: bool,
    /// The controller gives the rate of bursts.
    pub(super) paces: bool,
    /// The window is what limits the sender, where the recovery judges that.
    pub(crate) window_limited: bool,
    /// The slow start under way follows a timeout (RFC 3465 section 2.2).
    pub(super) slow_start_after_timeout: bool,
    /// The window does not grow until a segment sent at this instant or later is acknowledged.
    pub(super) hold_growth: Option<Instant>,
    /// Bytes a second at which the kind of recovery lets bursts leave; 0 if it has no such rate.
    pub(crate) pacing_rate: u64,
    /// The estimate of the round-trip time, and the timeout.
    pub(crate) rto: Rto,
    /// The segment being timed and when it was sent.
    pub(super) timed: Option<(Seq, Instant)>,
    /// The ACK at hand gave a sample.
    pub(super) rtt_sampled: bool,
    /// After an order to restart: take a sample of any segment sent from here on.
    pub(super) sample_since: Option<Instant>,
    /// That sample may come from a retransmission.
    pub(super) sample_retransmitted: bool,
    /// Segments sent before this give no sample.
    pub(super) rtt_epoch: Instant,
    /// Lower bounds for the first RTT sample of what is sent from then on.
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

    /// Begins with this many segments.
    pub(crate) fn begin(&mut self, cwnd: f64) {
        self.window.begin(cwnd);
    }

    /// Goes on with the controller and the windows of another path.
    pub(crate) fn take_controller(&mut self, of: &Self) {
        self.window = of.window;
        self.congestion = of.congestion;
        (self.paces, self.pacing_rate) = (of.paces, of.pacing_rate);
        self.hystart = of.hystart;
        self.slow_start_after_timeout = of.slow_start_after_timeout;
        self.hold_growth = of.hold_growth;
    }

    /// Goes on with the round-trip time of another path.
    pub(crate) fn take_rtt(&mut self, of: &Self) {
        self.rto = of.rto;
        self.rtt_epoch = of.rtt_epoch;
    }

    /// Forgets the round-trip time: the timeout is `initial`, and only what is sent from `since` on
    /// gives samples, retransmissions too if so wanted.
    pub(super) fn restart_rtt(&mut self, initial: Duration, since: Instant, retransmitted: bool) {
        self.rto.restart(initial);
        self.rtt_epoch = since;
        self.timed = self.timed.filter(|(_, sent)| *sent >= since);
        self.sample_since = Some(since);
        self.sample_retransmitted = retransmitted;
    }
}

impl Core {
    /// A path of which nothing is known but this RTT, with a window of this many segments.
    pub(crate) fn fresh_path(&self, rtt: Duration) -> Path {
        let mut config = self.config;
        config.rto.initial = rtt * 3;
        let mut path = Path::new(&config, &self.fresh_controller());
        path.rtt_epoch = self.path.rtt_epoch;
        path
    }

    /// Sends over another path from now on; the one so far.
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
