//! Controllers other than Reno are told here of what Reno does not ask for.

use midflight_control::congestion::{
    AckCounting, AnyCongestion, LossPhase, RttNews, Standing, Steer, Window,
};
use midflight_control::Deliveries;
use midflight_units::{Duration, Seq};

use super::pacer::Pacer;
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

/// What a recovery tells a controller that sets the window and the rate by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inside {
    pub(crate) phase: LossPhase,
    pub(crate) in_flight: u64,
    /// Found to be lost so far.
    pub(crate) lost: u64,
    /// In microseconds; `u32::MAX` for none.
    pub(crate) min_rtt: u64,
}

impl Core {
    /// The controller sets the window and the rate by itself.
    #[inline(always)]
    pub(crate) fn controls(&self) -> bool {
        self.path.controls
    }

    /// What a controller that does, or a setting, needs from the start.
    pub(super) fn begin_control(&mut self) {
        if self.path.controls {
            self.deliveries = Some(Box::default());
        }
        if self.path.controls || self.config.pacing {
            self.pacer = Some(Pacer::default());
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
        self.steer(at, log, |c, window, standing| c.on_open(window, standing));
    }

    /// The rate sample of the ACK at hand is made.
    pub(crate) fn control(&mut self, at: Inside, log: &mut impl Log) {
        let Some(sample) = self.rate else {
            return;
        };
        self.steer(at, log, |c, window, standing| {
            c.on_delivery(window, &sample, standing)
        });
    }

    /// Nothing is in flight, and a segment goes.
    pub(crate) fn restart_control(&mut self, at: Inside, log: &mut impl Log) {
        self.steer(at, log, |c, window, standing| {
            c.on_restart(window, standing)
        });
    }

    /// Tells the window, which was set where nobody was told.
    pub(crate) fn tell_window(&self, log: &mut impl Log) {
        let (to, by) = (self.cwnd(), Author::Controller);
        log.record(self.now, SenderEvent::Cwnd { to, by });
    }

    /// The retransmission timer has expired.
    pub(crate) fn control_loss(&mut self, at: Inside) {
        let standing = self.standing_of(at);
        self.path.congestion.on_loss_state(&standing);
    }

    /// A recovery or a timeout was not needed.
    pub(crate) fn control_undo(&mut self, at: Inside) {
        let standing = self.standing_of(at);
        self.path.congestion.on_undo(&standing);
    }

    /// Segments of the smallest burst.
    pub(crate) fn least_burst(&self) -> u64 {
        self.path.congestion.least_burst(self.path.pacing_rate)
    }

    /// How many windows the send buffer holds.
    pub(crate) fn buffer_factor(&self) -> u64 {
        self.path.congestion.buffer_factor()
    }

    /// Lets the congestion controller see an ACK before anything acts on it.
    #[cold]
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

    /// Tells it of an RTT sample; it may set the threshold.
    #[cold]
    pub(crate) fn tell_rtt(&mut self, rtt: Duration, log: &mut impl Log) {
        let news = self.rtt_news(rtt);
        let mut window = self.path.window.both();
        self.path.congestion.on_rtt_sample(&mut window, &news);
        self.path
            .window
            .set_ssthresh_kept(window.ssthresh, Author::Controller, self.now, log);
    }

    /// Tells it that a policy has ordered the window in use.
    #[cold]
    pub(super) fn tell_order(&mut self) {
        let window = self.path.window.both();
        self.path.congestion.on_window_order(window);
    }

    /// Tells it that the timer has expired and the threshold is set.
    #[cold]
    pub(crate) fn tell_timeout(&mut self) {
        let news = self.rtt_news(Duration::ZERO);
        self.path.congestion.on_timeout(&news);
    }
}
