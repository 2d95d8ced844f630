//! Controllers other than Reno are told here of what Reno does not ask for.

use midflight_control::congestion::{AckCounting, AnyCongestion, RttNews, Window};
use midflight_units::{Duration, Seq};

use super::Core;
use crate::event::{Author, Log};

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

impl Core {
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
