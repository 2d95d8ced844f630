//! HyStart as in Linux (hystart_update() in tcp_cubic.c; Ha & Rhee 2011): slow start ends when the
//! ACKs of a round have arrived close together for half of the minimum delay, or when the delay has
//! grown by an eighth, but by at least 4 ms and at most 16 ms.
//!
//! The minimum delay is that of the whole connection, up to a timeout: on a longer path after a
//! handoff the first slow start ends at once.

use midflight_units::{Instant, Seq};

use super::super::{RttNews, Window};

/// Below this window HyStart does nothing, in packets.
const LOW_WINDOW: f64 = 16.0;
/// Maximum gap between the ACKs of a train, in microseconds.
const TRAIN_GAP: u64 = 2000;
/// The most that the sender's bursts can add to the delay, in microseconds.
const BURST_MOST: u64 = 1000;
/// The largest burst, in bytes: 64 KB less the largest header.
const BURST_BYTES: u64 = 65_343;
/// Samples of a round before its delay is evaluated.
const SAMPLES: u32 = 8;
/// Minimum and maximum growth of the delay, in microseconds.
const GROWTH: (u64, u64) = (4000, 16_000);

/// Times in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::congestion) struct HyStart {
    /// The minimum delay; 0 if unknown.
    delay_min: u64,
    found: bool,
    samples: u32,
    round_start: u64,
    /// SND.NXT when the round began.
    round_end: Seq,
    last_ack: u64,
    /// The minimum delay of the round.
    delay: Option<u64>,
}

impl HyStart {
    pub(in crate::congestion) const NEW: Self = Self {
        delay_min: 0,
        found: false,
        samples: 0,
        round_start: 0,
        round_end: 0,
        last_ack: 0,
        delay: None,
    };

    pub(in crate::congestion) fn delay_min(&self) -> u64 {
        self.delay_min
    }

    pub(in crate::congestion) fn begin_round(&mut self, now: Instant, nxt: Seq) {
        let now = now.as_nanos() / 1000;
        self.round_start = now;
        self.last_ack = now;
        self.round_end = nxt;
        self.delay = None;
        self.samples = 0;
    }

    #[inline]
    pub(in crate::congestion) fn on_sample(
        &mut self,
        window: &mut Window,
        news: &RttNews,
        is_on: bool,
    ) {
        let delay = news.micros().max(1);
        if self.delay_min == 0 || delay < self.delay_min {
            self.delay_min = delay;
        }
        if is_on && !self.found && window.cwnd < window.ssthresh {
            self.look(window, news, delay);
        }
    }

    #[inline(never)]
    fn look(&mut self, window: &mut Window, news: &RttNews, delay: u64) {
        if news.una > self.round_end {
            self.begin_round(news.now, news.nxt);
        }
        if window.cwnd < LOW_WINDOW {
            return;
        }
        let now = news.now.as_nanos() / 1000;
        if now - self.last_ack <= TRAIN_GAP {
            self.last_ack = now;
            let burst = match news.pacing_rate {
                0 => 0,
                rate => (BURST_BYTES * 4 * 1_000_000 / rate).min(BURST_MOST),
            };
            // Half, if the sender does not pace.
            let halves = if news.is_paced { 1 } else { 2 };
            if halves * (now - self.round_start) > self.delay_min + burst {
                self.end(window);
            }
        }
        let least = self.delay.map_or(delay, |least| least.min(delay));
        self.delay = Some(least);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else if least > self.delay_min + (self.delay_min / 8).clamp(GROWTH.0, GROWTH.1) {
            self.end(window);
        }
    }

    fn end(&mut self, window: &mut Window) {
        self.found = true;
        window.ssthresh = window.cwnd;
    }
}

#[cfg(test)]
mod tests {
    use midflight_units::Duration;

    use super::*;
    use crate::jiffies::Jiffies;

    const SECOND: u64 = 1_000_000;

    fn news(at_us: u64, rtt_us: u64, una: Seq, nxt: Seq) -> RttNews {
        RttNews {
            // A round trip has passed before.
            now: Instant::from_nanos((SECOND + at_us) * 1000),
            clock: Jiffies::EXACT,
            rtt: Duration::from_micros(rtt_us),
            una,
            nxt,
            pacing_rate: 1_000_000,
            is_paced: false,
        }
    }

    fn window(cwnd: f64) -> Window {
        Window {
            cwnd,
            ssthresh: 1e6,
        }
    }

    /// ACKs 1 ms apart; the minimum delay is 40 ms and bursts may add 1 ms: the train is too long
    /// after more than 20.5 ms.
    #[test]
    fn a_train_of_acks_ends_slow_start() {
        let mut h = HyStart::NEW;
        let mut w = window(20.0);
        h.begin_round(Instant::from_nanos(SECOND * 1000), 10);
        let mut at = 0;
        while w.ssthresh > 20.0 {
            at += 1000;
            h.on_sample(&mut w, &news(at, 40_000, 5, 10), true);
            assert!(at < 30_000);
        }
        assert_eq!((at, w.ssthresh), (21_000, 20.0));
    }

    /// ACKs 3 ms apart are not a train. The delay grows from 40 to 45.001 ms: more than an eighth.
    /// The first eight samples of a round are only counted.
    #[test]
    fn a_growing_delay_ends_slow_start() {
        let mut h = HyStart::NEW;
        let mut w = window(20.0);
        h.on_sample(&mut w, &news(1, 40_000, 1, 10), true);
        for n in 0..8 {
            let at = 10_000 + n * 3000;
            h.on_sample(&mut w, &news(at, 45_001, 11, 40), true);
            assert_eq!(w.ssthresh, 1e6, "{n}");
        }
        h.on_sample(&mut w, &news(40_000, 45_000, 12, 40), true);
        assert_eq!(w.ssthresh, 1e6, "exactly an eighth");
        let mut h = HyStart {
            delay: None,
            samples: 8,
            ..h
        };
        h.on_sample(&mut w, &news(50_000, 45_001, 12, 40), true);
        assert_eq!(w.ssthresh, 20.0);
    }

    #[test]
    fn small_windows_and_a_switch_leave_slow_start_alone() {
        for (cwnd, is_on) in [(15.0, true), (20.0, false)] {
            let mut h = HyStart::NEW;
            let mut w = window(cwnd);
            for at in 1..100 {
                h.on_sample(&mut w, &news(at * 1000, 40_000, 5, 10), is_on);
            }
            assert_eq!(w.ssthresh, 1e6);
            assert_eq!(h.delay_min(), 40_000);
        }
    }
}
