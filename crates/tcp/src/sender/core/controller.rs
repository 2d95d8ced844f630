//! Calls of controllers other than Reno, for events that Reno does not need.

use midflight_control::congestion::{
    AckCounting, AnyCongestion, Control, ForeignCongestion, LossPhase, RttNews, Standing, Steer,
    Window,
};
use midflight_control::policy::Policy;
use midflight_control::{Deliveries, Interests, SenderView};
use midflight_units::{Duration, Seq};

use super::pacer::Pacer;
use super::path::Path;
use super::Core;
use crate::event::{Author, Log, SenderEvent};

/// Growth by a controller other than Reno.
#[cold]
pub(super) fn grow(
    controller: &mut AnyCongestion,
    window: &mut Window,
    segments: u64,
    counting: AckCounting,
) {
    controller.on_ack(window, segments, counting);
}

impl Path {
    /// How many segments an ACK counts for with HyStart++, and the counting rule.
    #[cold]
    pub(super) fn counted(
        &mut self,
        segments: u64,
        counting: AckCounting,
        is_first: bool,
        is_paced: bool,
    ) -> (u64, AckCounting) {
        let is_first = is_first && self.window.cwnd() < self.window.ssthresh();
        match self.hystart.as_mut().filter(|_| is_first) {
            Some(hystart) => {
                let limit = u32::MAX;
                let counting = AckCounting::AppropriateBytes { limit };
                (hystart.counted(segments, is_paced), counting)
            }
            None => (segments, counting),
        }
    }
}

/// Values that a recovery passes to a controller that sets the window and the rate itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inside {
    pub(crate) phase: LossPhase,
    pub(crate) in_flight: u64,
    /// Segments detected as lost so far.
    pub(crate) lost: u64,
    /// In microseconds; `u32::MAX` for none.
    pub(crate) min_rtt: u64,
    /// The window has been fully used.
    pub(crate) window_limited: bool,
}

impl Core {
    /// Whether the controller sets the window and the rate itself.
    #[inline(always)]
    pub(crate) fn controls(&self) -> bool {
        self.path.controls
    }

    /// Creates the state that such a controller, or a setting, needs from the start.
    pub(super) fn begin_control(&mut self) {
        if self.path.controls || self.has_foreign_controller() {
            self.deliveries = Some(Box::default());
        }
        if self.path.paces || self.config.pacing {
            self.pacer = Some(Pacer::default());
        }
    }

    /// Whether the controller is a foreign one.
    #[inline]
    pub(crate) fn has_foreign_controller(&self) -> bool {
        self.interests.includes(Interests::CONTROL)
    }

    /// A foreign policy that is a controller replaces the one of the settings.
    pub(super) fn adopt_controller(&mut self) {
        self.path.adopt_controller(&self.config);
    }

    fn foreign(&mut self) -> Option<&mut dyn ForeignCongestion> {
        self.policies.iter_mut().find_map(|policy| match policy {
            Policy::Foreign(foreign) => foreign.controller(),
            _ => None,
        })
    }

    /// Whether the recovery reduces the window, although the controller sets it at other times.
    pub(crate) fn leaves_reductions(&mut self) -> bool {
        self.has_foreign_controller() && self.foreign().is_some_and(|f| !f.steers_recovery())
    }

    #[cold]
    fn asked(
        &mut self,
        ask: impl FnOnce(&mut dyn ForeignCongestion, &SenderView) -> Control,
    ) -> Control {
        let view = self.view();
        self.foreign()
            .map_or_else(Control::default, |foreign| ask(foreign, &view))
    }

    /// A timeout without a reduction: only the controller's rate is used.
    #[cold]
    pub(crate) fn report_foreign_timeout(&mut self) {
        if self.has_foreign_controller() {
            if let Some(rate) = self.asked(|f, view| f.on_timeout(view)).pacing_rate {
                self.pace_by_controller(rate);
            }
        }
    }

    /// An ACK in a recovery that reduces the window itself: only the controller's rate is used.
    pub(crate) fn pace_in_reduction(&mut self) {
        if let Some(rate) = self.asked(|f, view| f.on_ack(view)).pacing_rate {
            self.pace_by_controller(rate);
        }
    }

    #[cold]
    fn call_foreign(
        &mut self,
        log: &mut impl Log,
        ask: impl FnOnce(&mut dyn ForeignCongestion, &SenderView) -> Control,
    ) -> Control {
        let control = self.asked(ask);
        if let Some(ssthresh) = control.ssthresh {
            self.set_ssthresh(ssthresh, Author::Controller, log);
        }
        if let Some(cwnd) = control.cwnd {
            self.set_cwnd(cwnd, Author::Controller, log);
        }
        if let Some(rate) = control.pacing_rate {
            self.pace_by_controller(rate);
        }
        control
    }

    /// An ACK of new data, with a recovery that does not support controllers that set the window.
    #[cold]
    pub(super) fn grow_by_foreign(&mut self, log: &mut impl Log) {
        let is_open = self.books.una() > 1 && !self.path.controls;
        if is_open && self.path.hold_growth.is_none() && !self.window_answered {
            let in_flight = self.flight_size();
            self.take_rate(0, in_flight, None);
            self.call_foreign(log, |f, view| f.on_ack(view));
        }
    }

    /// The same when the connection opens.
    #[cold]
    pub(super) fn open_foreign(&mut self, log: &mut impl Log) {
        if self.has_foreign_controller() {
            self.call_foreign(log, |f, view| f.on_open(view));
        }
    }

    /// The threshold after a loss or a timeout with `load` in flight.
    pub(super) fn threshold(&mut self, timeout: bool, load: f64, log: &mut impl Log) -> f64 {
        if self.has_foreign_controller() {
            let control = self.call_foreign(log, |f, view| {
                if timeout {
                    f.on_timeout(view)
                } else {
                    f.on_loss(view)
                }
            });
            return control.ssthresh.unwrap_or((load / 2.0).max(2.0));
        }
        if timeout {
            self.path.congestion.ssthresh_after_timeout(self.now, load)
        } else {
            self.path.congestion.ssthresh_after_loss(self.now, load)
        }
    }

    fn standing_of(&self, at: Inside) -> Standing {
        let deliveries = self.deliveries.as_deref();
        Standing {
            now: self.now,
            clock: self.config.rto.clock,
            phase: at.phase,
            in_flight: at.in_flight,
            delivered: deliveries.map_or(0, Deliveries::total),
            delivered_at: deliveries.and_then(Deliveries::at).unwrap_or(self.now),
            lost: at.lost,
            app_limited: deliveries.is_some_and(Deliveries::is_app_limited),
            window_limited: at.window_limited,
            srtt: self.path.rto.srtt().map(|srtt| srtt.as_nanos() / 1000),
            min_rtt: at.min_rtt,
            mss: self.config.payload_bytes().into(),
            departure: self.departure_of_burst(),
        }
    }

    fn steer(
        &mut self,
        at: Inside,
        log: &mut impl Log,
        ask: impl FnOnce(&mut AnyCongestion, &mut Window, &Standing) -> Steer,
    ) {
        let standing = self.standing_of(at);
        let mut window = self.path.window.both();
        let steer = ask(&mut self.path.congestion, &mut window, &standing);
        self.path.pacing_rate = steer.rate;
        if steer.ignore_samples {
            self.limit_by_application(at.in_flight);
        }
        self.set_ssthresh(window.ssthresh, Author::Controller, log);
        self.set_cwnd(window.cwnd, Author::Controller, log);
    }

    /// The connection is open, and the initial window is set.
    pub(crate) fn open_control(&mut self, at: Inside, log: &mut impl Log) {
        if self.has_foreign_controller() {
            return self.open_foreign(log);
        }
        self.steer(at, log, |c, window, standing| c.on_open(window, standing));
    }

    /// The rate sample of the current ACK is complete.
    pub(crate) fn control(&mut self, at: Inside, log: &mut impl Log) {
        if self.has_foreign_controller() {
            self.call_foreign(log, |f, view| f.on_ack(view));
            return;
        }
        let Some(sample) = self.rate else {
            return;
        };
        self.steer(at, log, |c, window, standing| {
            c.on_delivery(window, &sample, standing)
        });
    }

    /// A segment is sent while nothing was in flight; returns whether the controller was called.
    pub(crate) fn restart_control(&mut self, at: Inside, log: &mut impl Log) -> bool {
        let is_own = !self.has_foreign_controller();
        if is_own {
            self.steer(at, log, |c, window, standing| {
                c.on_restart(window, standing)
            });
        }
        is_own
    }

    /// The mode of the controller, if that sets the window and has modes.
    pub(crate) fn mode(&self) -> Option<&'static str> {
        let is_in_use = self.path.controls && !self.has_foreign_controller();
        self.path.congestion.mode().filter(|_| is_in_use)
    }

    /// Reports the window after it was set without a report.
    pub(crate) fn report_window(&self, log: &mut impl Log) {
        let (to, by) = (self.cwnd(), Author::Controller);
        log.record(self.now, SenderEvent::Cwnd { to, by });
    }

    /// The retransmission timer has expired.
    pub(crate) fn control_loss(&mut self, at: Inside) {
        let standing = self.standing_of(at);
        self.path.congestion.on_loss_state(&standing);
    }

    /// Whether the controller is called for each segment that is detected as lost.
    pub(crate) fn reports_losses(&self) -> bool {
        self.path.controls && self.path.congestion.reports_losses()
    }

    /// A segment is detected as lost.
    pub(crate) fn control_lost(&mut self, seq: Seq, at: Inside) {
        let standing = self.standing_of(at);
        let window = self.path.window.both();
        if let Some(lost) = self.deliveries.as_mut().and_then(|d| d.lose(seq)) {
            self.path.congestion.on_lost(window, &lost, &standing);
        }
    }

    /// A recovery or a timeout was unneeded.
    pub(crate) fn control_undo(&mut self, at: Inside, log: &mut impl Log) {
        if self.has_foreign_controller() {
            self.call_foreign(log, |f, view| f.on_undo(view));
            return;
        }
        let standing = self.standing_of(at);
        self.path.congestion.on_undo(&standing);
    }

    /// Minimum burst in segments.
    #[inline]
    pub(crate) fn least_burst(&self) -> u64 {
        let least = self.config.bursts.least_segments.into();
        if !self.path.controls {
            return least;
        }
        let of_controller = self.path.congestion.least_burst(self.path.pacing_rate);
        of_controller.unwrap_or(least)
    }

    /// How many windows of data the send buffer holds.
    pub(crate) fn buffer_factor(&self) -> u64 {
        self.path.congestion.buffer_factor()
    }

    /// Passes an ACK to the congestion controller before it is processed.
    #[inline]
    pub(super) fn gauge(&mut self, ack: Seq) {
        let duplicate = ack == self.books.una() && self.books.una() < self.books.max();
        if duplicate || ack > self.books.una() {
            self.path
                .congestion
                .on_arrival(self.now, ack - self.books.una());
        }
    }

    fn rtt_news(&self, rtt: Duration) -> RttNews {
        RttNews {
            now: self.now,
            clock: self.config.rto.clock,
            rtt,
            una: self.books.una(),
            nxt: self.books.max(),
            pacing_rate: self.path.pacing_rate,
            is_paced: self.is_paced(),
        }
    }

    /// Passes an RTT sample to the controller, which may set the threshold.
    #[cold]
    pub(crate) fn report_rtt(&mut self, rtt: Duration, log: &mut impl Log) {
        self.report_rtt_at_once(rtt, log);
    }

    /// The same, inlined: for a recovery whose controller is seldom Reno.
    #[inline(always)]
    pub(crate) fn report_rtt_at_once(&mut self, rtt: Duration, log: &mut impl Log) {
        let news = self.rtt_news(rtt);
        let mut window = self.path.window.both();
        self.path.congestion.on_rtt_sample(&mut window, &news);
        // RFC 9406 section 4.3: only in the first slow start.
        let is_first = window.ssthresh >= self.config.initial_ssthresh;
        if let Some(hystart) = self.path.hystart.as_mut().filter(|_| is_first) {
            let is_over =
                window.cwnd < window.ssthresh && hystart.on_sample(rtt, news.una, news.nxt);
            if is_over {
                window.ssthresh = window.cwnd;
            }
        }
        self.path
            .window
            .set_ssthresh_kept(window.ssthresh, Author::Controller, self.now, log);
    }

    /// Notifies the controller that a policy has ordered the current window.
    #[cold]
    pub(super) fn report_order(&mut self) {
        let window = self.path.window.both();
        self.path.congestion.on_window_order(window);
    }

    /// Notifies the controller that the timer has expired and the threshold is set.
    #[cold]
    pub(crate) fn report_timeout(&mut self) {
        let news = self.rtt_news(Duration::ZERO);
        self.path.congestion.on_timeout(&news);
    }
}
