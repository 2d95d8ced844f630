//! Congestion control: how the window grows on ACKs and shrinks on congestion.
//!
//! A controller is one file here and one line in the registry below: pure arithmetic on `(cwnd,
//! ssthresh)` in segments, and for some an estimate of the path. It never sends; the recovery
//! decides when it is called.

mod bbr3;
mod bbr_linux;
mod cubic;
mod cubic_linux;
mod draws;
mod foreign;
mod hystart_plus;
mod linux;
mod reno;
mod reno_linux;
mod westwood;
mod westwood_plus;

use std::ops::DerefMut;

use midflight_units::{Duration, Instant, Seq};

pub use bbr3::Bbr3;
pub use bbr_linux::BbrLinux;
pub use cubic::Cubic;
pub use cubic_linux::CubicLinux;
pub use foreign::{Control, ForeignCongestion};
pub use hystart_plus::HyStartPlus;
pub use linux::control::{LossPhase, LostSegment, Standing, Steer};
pub use reno::Reno;
pub use reno_linux::RenoLinux;
pub use westwood::Westwood;
pub use westwood_plus::WestwoodPlus;

use crate::delivery::RateSample;
use crate::jiffies::Jiffies;
use crate::part::registry;

/// The congestion window and its threshold, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: f64,
    /// Slow-start threshold.
    pub ssthresh: f64,
}

/// How slow start counts an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckCounting {
    /// One segment for each ACK that advances (ns-2; RFC 5681 without ABC on delayed ACKs).
    PerAck,
    /// RFC 3465: in slow start one segment for each segment acknowledged, at most `L` per ACK (1 is RFC 5681's
    /// `min(N, SMSS)`; more is experimental, and not allowed after a timeout); in congestion avoidance by the
    /// amount acknowledged, one segment per window.
    AppropriateBytes {
        /// The limit `L` in segments.
        limit: u32,
    },
}

/// An RTT sample, and the sender's state at its ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttNews {
    /// The current time.
    pub now: Instant,
    /// The clock of the sender's timers.
    pub clock: Jiffies,
    /// The round-trip time; if a sender distinguishes the samples of an ACK, the sample of the segment sent
    /// last.
    pub rtt: Duration,
    /// SND.UNA after this ACK.
    pub una: Seq,
    /// One past the highest segment sent.
    pub nxt: Seq,
    /// Pacing rate in bytes per second; 0 if the sender has no such rate.
    pub pacing_rate: u64,
    /// Whether segments are paced.
    pub is_paced: bool,
}

impl RttNews {
    /// The round-trip time in microseconds, on clocks that count microseconds.
    fn micros(&self) -> u64 {
        let now = self.now.as_nanos();
        let sent = now.saturating_sub(self.rtt.as_nanos());
        now / 1000 - sent / 1000
    }
}

/// A congestion controller.
pub trait Congestion {
    /// New data was acknowledged outside fast recovery; the ACK covered `segments`. The default is Reno's slow
    /// start and congestion avoidance.
    fn on_ack(&mut self, window: &mut Window, segments: u64, counting: AckCounting) {
        reno::grow(window, segments, counting);
    }

    /// The threshold after a loss reported by duplicate ACKs, from the `load`, the sender's measure of the data
    /// in flight (FlightSize or the window in use).
    fn ssthresh_after_loss(&mut self, now: Instant, load: f64) -> f64;

    /// The threshold after a timeout.
    fn ssthresh_after_timeout(&mut self, now: Instant, load: f64) -> f64 {
        self.ssthresh_after_loss(now, load)
    }

    /// The window at the start of fast recovery, and its maximum at the end, from the window before and the
    /// threshold after the loss; none to leave it to the recovery, which uses the threshold.
    fn recovery_window(&self, _window: Window) -> Option<f64> {
        None
    }

    /// An ACK has arrived and is not processed yet: SND.UNA will advance by this many segments, or by none at a
    /// duplicate.
    fn on_arrival(&mut self, _now: Instant, _segments: u64) {}

    /// The sender has nothing in flight, has been idle since it last sent, and sends again now.
    fn on_idle_end(&mut self, _now: Instant, _last_sent: Instant) {}

    /// An RTT sample was taken; the SYN's is the first. The window has not yet grown by the ACK that gave the
    /// sample; only the threshold may be changed.
    fn on_rtt_sample(&mut self, _window: &mut Window, _news: &RttNews) {}

    /// The timer has expired, and the threshold has been set if required. `_news` has no round-trip time.
    fn on_timeout(&mut self, _news: &RttNews) {}

    /// A policy has ordered this window: stored values of another path or load do not apply to it.
    fn on_window_order(&mut self, _window: Window) {}

    /// Another part decides when slow start ends ([`HyStartPlus`]).
    fn leave_slow_start(&mut self) {}

    /// The estimated bandwidth in segments per second, if it estimates one.
    fn bandwidth(&self, _now: Instant) -> Option<f64> {
        None
    }

    // ---- for a controller that sets the window and the sending rate itself ----

    /// Whether it does that: then the methods below are called by a recovery that leaves the window to it, and
    /// segments are sent at its rate.
    fn controls(&self) -> bool {
        false
    }

    /// The connection is open, with its initial window.
    fn on_open(&mut self, _window: &mut Window, _at: &Standing) -> Steer {
        Steer::default()
    }

    /// An ACK has been processed; lost segments are detected and not yet retransmitted.
    fn on_delivery(&mut self, _window: &mut Window, _sample: &RateSample, _at: &Standing) -> Steer {
        Steer::default()
    }

    /// A segment is sent while nothing was in flight.
    fn on_restart(&mut self, _window: &mut Window, _at: &Standing) -> Steer {
        Steer::default()
    }

    /// A recovery would reduce the window now.
    fn on_reduction(&mut self, _window: Window) {}

    /// The retransmission timer has expired, and the segments in flight count as lost.
    fn on_loss_state(&mut self, _at: &Standing) {}

    /// Whether it is called for each segment that is detected as lost.
    fn reports_losses(&self) -> bool {
        false
    }

    /// A segment is detected as lost; the loss is not processed yet.
    fn on_lost(&mut self, _window: Window, _lost: &LostSegment, _at: &Standing) {}

    /// A recovery or a timeout was unneeded.
    fn on_undo(&mut self, _at: &Standing) {}

    /// Minimum burst in segments at this many bytes per second, if it is not the sender's. Only a controller that sets the
    /// rate is asked.
    fn least_burst(&self, _rate: u64) -> Option<u64> {
        None
    }

    /// The mode in which it is, as its specification names it, if it has modes.
    fn mode(&self) -> Option<&'static str> {
        None
    }

    /// How many windows of data the send buffer holds.
    fn buffer_factor(&self) -> u64 {
        2
    }

    /// Whether it draws random numbers.
    fn draws(&self) -> bool {
        false
    }

    /// Sets the seed of its random numbers; it depends on the flow and the run.
    fn seed(&mut self, _seed: u64) {}
}

registry! {
    /// Any registered congestion controller.
    #[derive(Clone, Copy, Debug, PartialEq)]
    AnyCongestion of Congestion, listed in CONGESTION_CONTROLLERS:
    Reno: Reno,
    Westwood: Westwood,
    WestwoodPlus: WestwoodPlus,
    Cubic: Cubic,
    CubicLinux: CubicLinux,
    RenoLinux: RenoLinux,
    BbrLinux: BbrLinux,
    Bbr3: Bbr3,
}

impl AnyCongestion {
    /// Whether it is Reno. Reno keeps no state and measures nothing, so the sender need not pass it every ACK,
    /// and its growth can be inlined.
    pub fn is_reno(&self) -> bool {
        matches!(self, Self::Reno(_))
    }

    /// [`Congestion::on_arrival`]. Here and in the next two methods, which are called for each ACK, the code of CUBIC is
    /// inlined: it is the controller of the profile `linux`.
    #[inline(always)]
    pub fn on_arrival(&mut self, now: Instant, segments: u64) {
        match self {
            Self::CubicLinux(cubic) => cubic.on_arrival(now, segments),
            other => other.deref_mut().on_arrival(now, segments),
        }
    }

    /// [`Congestion::on_rtt_sample`].
    #[inline(always)]
    pub fn on_rtt_sample(&mut self, window: &mut Window, news: &RttNews) {
        match self {
            Self::CubicLinux(cubic) => cubic.on_rtt_sample(window, news),
            other => other.deref_mut().on_rtt_sample(window, news),
        }
    }

    /// [`Congestion::on_ack`].
    #[inline(always)]
    pub fn on_ack(&mut self, window: &mut Window, segments: u64, counting: AckCounting) {
        match self {
            Self::CubicLinux(cubic) => cubic.on_ack(window, segments, counting),
            other => other.deref_mut().on_ack(window, segments, counting),
        }
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// Passes an RTT sample to a controller.
    pub(super) fn sampled(controller: &mut impl Congestion, rtt: Duration) {
        let mut window = Window {
            cwnd: 10.0,
            ssthresh: 5.0,
        };
        let news = RttNews {
            now: Instant::ZERO + rtt,
            clock: Jiffies::EXACT,
            rtt,
            una: 2,
            nxt: 9,
            pacing_rate: 0,
            is_paced: false,
        };
        controller.on_rtt_sample(&mut window, &news);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::testing::check_knobs;

    #[test]
    fn every_controller_is_found_by_name_and_accepts_the_defaults_it_documents() {
        for info in CONGESTION_CONTROLLERS {
            let mut part = AnyCongestion::named(info.name).unwrap_or_else(|| unreachable!());
            assert_eq!(part.info(), *info);
            assert_eq!(part.is_reno(), info.name == "reno");
            check_knobs(info, |name, value| part.set_knob(name, value));
        }
    }

    /// Whatever the state of a controller, its threshold is at least two segments.
    #[test]
    fn no_threshold_is_below_two_segments() {
        for info in CONGESTION_CONTROLLERS {
            let mut part = AnyCongestion::named(info.name).unwrap_or_else(|| unreachable!());
            for ms in [0, 1, 100, 100_000] {
                let now = Instant::from_nanos(ms * 1_000_000);
                part.on_arrival(now, ms);
                assert!(part.ssthresh_after_loss(now, 1.0) >= 2.0, "{}", info.name);
                assert!(
                    part.ssthresh_after_timeout(now, 0.0) >= 2.0,
                    "{}",
                    info.name
                );
                let mut window = Window {
                    cwnd: 10.0,
                    ssthresh: 5.0,
                };
                let news = RttNews {
                    now,
                    clock: Jiffies::EXACT,
                    rtt: Duration::from_millis(ms),
                    una: 2,
                    nxt: 9,
                    pacing_rate: 0,
                    is_paced: false,
                };
                part.on_rtt_sample(&mut window, &news);
                part.on_timeout(&news);
            }
        }
    }
}
