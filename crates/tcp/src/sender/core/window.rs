//! The windows of a sender. Every change has an author.

use midflight_control::congestion::Window;
use midflight_units::Instant;

use crate::event::{Author, Log, SenderEvent};

/// Congestion window and slow-start threshold, in segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowState {
    window: Window,
    /// The receiver's window: the setting's, or the advertised one.
    receiver_window: u64,
    /// The whole segments of `cwnd`.
    whole: u64,
    /// `whole`, limited to the receiver's window.
    usable: u64,
    /// The controller's upper limit of the window at the end of a fast recovery.
    recovery_limit: Option<f64>,
}

impl WindowState {
    /// Nothing may be sent yet.
    pub(super) fn new(initial_ssthresh: f64, receiver_window: u64) -> Self {
        Self {
            window: Window {
                cwnd: 0.0,
                ssthresh: initial_ssthresh,
            },
            receiver_window,
            whole: 0,
            usable: 0,
            recovery_limit: None,
        }
    }

    /// Both values in the form for the congestion controller.
    #[inline(always)]
    pub(super) fn both(&self) -> Window {
        self.window
    }

    #[inline(always)]
    pub(super) fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    #[inline(always)]
    pub(super) fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    /// A path begins with a window of this many segments.
    pub(super) fn begin(&mut self, cwnd: f64) {
        self.window.cwnd = cwnd;
        self.whole = cwnd as u64;
        self.usable = self.whole.min(self.receiver_window);
    }

    /// The whole segments of `cwnd`.
    #[inline(always)]
    pub(super) fn whole(&self) -> u64 {
        self.whole
    }

    /// The window in use, in whole segments: the smaller of `cwnd` and the receiver's.
    #[inline(always)]
    pub(super) fn usable(&self) -> u64 {
        self.usable
    }

    /// The window at the end of a fast recovery that inflates it: the threshold, unless the
    /// controller keeps a smaller window.
    pub(super) fn recovery_target(&self) -> f64 {
        let ssthresh = self.window.ssthresh;
        self.recovery_limit
            .map_or(ssthresh, |limit| limit.min(ssthresh))
    }

    #[inline(always)]
    pub(super) fn set_cwnd(&mut self, cwnd: f64, by: Author, now: Instant, log: &mut impl Log) {
        if self.window.cwnd != cwnd {
            self.window.cwnd = cwnd;
            self.cwnd_changed(by, now, log);
        }
    }

    #[inline(always)]
    fn cwnd_changed(&mut self, by: Author, now: Instant, log: &mut impl Log) {
        let to = self.window.cwnd;
        self.whole = to as u64;
        self.usable = self.whole.min(self.receiver_window);
        log.record(now, SenderEvent::Cwnd { to, by });
    }

    #[inline(always)]
    pub(super) fn receiver_window(&self) -> u64 {
        self.receiver_window
    }

    /// The receiver has advertised its window.
    pub(super) fn set_receiver_window(&mut self, segments: u64) {
        self.receiver_window = segments;
        self.usable = self.whole.min(segments);
    }

    /// Sets the threshold. A recovery in progress ends with it.
    pub(super) fn set_ssthresh(&mut self, to: f64, by: Author, now: Instant, log: &mut impl Log) {
        self.recovery_limit = None;
        self.set_ssthresh_kept(to, by, now, log);
    }

    /// The same, but a recovery in progress continues unchanged.
    pub(super) fn set_ssthresh_kept(
        &mut self,
        to: f64,
        by: Author,
        now: Instant,
        log: &mut impl Log,
    ) {
        if self.window.ssthresh != to {
            self.window.ssthresh = to;
            log.record(now, SenderEvent::Ssthresh { to, by });
        }
    }

    /// Sets the controller's upper limit of the window at the end of the current fast recovery.
    pub(super) fn limit_recovery(&mut self, limit: Option<f64>) {
        self.recovery_limit = limit;
    }

    /// Lets the controller grow the window, which it may leave as it is.
    #[inline(always)]
    pub(super) fn grow(
        &mut self,
        by: Author,
        now: Instant,
        log: &mut impl Log,
        grow: impl FnOnce(&mut Window),
    ) {
        let before = self.window.cwnd;
        grow(&mut self.window);
        if self.window.cwnd != before {
            self.cwnd_changed(by, now, log);
        }
    }
}
