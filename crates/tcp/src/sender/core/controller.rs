//! Controllers other than Reno are told here of what Reno does not ask for.

use midflight_control::congestion::{AckCounting, RttNews};
use midflight_units::{Duration, Seq};

use super::Core;
use crate::event::{Author, Log};

impl Core {
    /// Lets the congestion controller see an ACK before anything acts on it.
    #[cold]
    pub(super) fn gauge(&mut self, ack: Seq) {
        let duplicate = ack == self.una && self.una < self.max;
        if duplicate || ack > self.una {
            self.congestion.on_arrival(self.now, ack - self.una);
        }
    }

    /// Growth by a controller other than Reno.
    #[cold]
    pub(super) fn grow_as_told(&mut self, segments: u64, counting: AckCounting) {
        self.congestion.on_ack(&mut self.window, segments, counting);
    }

    fn rtt_news(&self, rtt: Duration) -> RttNews {
        RttNews {
            now: self.now,
            clock: self.config.rto.clock,
            rtt,
            una: self.una,
            nxt: self.max,
            pacing_rate: self.pacing_rate,
        }
    }

    /// Tells it of an RTT sample; it may set the threshold.
    #[cold]
    pub(crate) fn tell_rtt(&mut self, rtt: Duration, log: &mut impl Log) {
        let news = self.rtt_news(rtt);
        let mut window = self.window;
        self.congestion.on_rtt_sample(&mut window, &news);
        self.set_ssthresh_kept(window.ssthresh, Author::Controller, log);
    }

    /// Tells it that the timer has expired and the threshold is set.
    #[cold]
    pub(crate) fn tell_timeout(&mut self) {
        let news = self.rtt_news(Duration::ZERO);
        self.congestion.on_timeout(&news);
    }
}
