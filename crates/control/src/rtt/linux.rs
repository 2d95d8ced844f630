//! The RTT estimator of Linux (tcp_rtt_estimator(), __tcp_set_rto() and usecs_to_jiffies()): integers
//! of microseconds, the mean scaled by 8, the deviation by 4.
//!
//! The timeout is the mean plus `rttvar`, the largest recent deviation, which is at least the minimum
//! timeout: so 200 ms are added to the round trip, while RFC 6298 takes the larger of the two. A
//! deviation that grows counts at once. Once per window, `rttvar` moves a quarter of the way down to
//! the largest deviation of that window. A sample below the mean changes the deviation by only a
//! thirty-second.

use midflight_units::{Duration, Instant, Seq};

use crate::jiffies::Jiffies;

/// RTT estimate in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Linux {
    clock: Jiffies,
    min: i64,
    /// 0 before the first sample.
    srtt_x8: i64,
    mdev_x4: i64,
    mdev_max: i64,
    rttvar: i64,
    /// The timeout in ticks after the last sample; [`UNKNOWN`] if it has changed since.
    ticks: u64,
    /// SND.NXT when the current window began.
    window: Seq,
}

const UNKNOWN: u64 = u64::MAX;

fn micros(of: Duration) -> i64 {
    (of.as_nanos() / 1000) as i64
}

impl Linux {
    /// No sample yet; `min` is the minimum that is added to the mean.
    pub fn new(clock: Jiffies, min: Duration) -> Self {
        Self {
            clock,
            min: micros(min),
            srtt_x8: 0,
            mdev_x4: 0,
            mdev_max: 0,
            rttvar: 0,
            ticks: UNKNOWN,
            window: 0,
        }
    }

    /// Takes a sample of a segment sent at `sent`; returns whether the timeout is another one than after the last sample.
    /// `una` is SND.UNA after the ACK that gave it.
    #[inline]
    pub fn sample(&mut self, rtt: Duration, sent: Instant, una: Seq, nxt: Seq) -> bool {
        // Both times are read in whole microseconds.
        let from = sent.as_nanos() / 1000;
        self.sample_micros((sent + rtt).as_nanos() / 1000 - from, una, nxt)
    }

    /// The same for a time in microseconds.
    #[inline]
    pub fn sample_micros(&mut self, rtt: u64, una: Seq, nxt: Seq) -> bool {
        let m = rtt as i64;
        if self.srtt_x8 == 0 {
            self.begin(m, nxt);
            return true;
        }
        let err = m - (self.srtt_x8 >> 3);
        self.srtt_x8 = (self.srtt_x8 + err).max(1);
        let step = err.abs() - (self.mdev_x4 >> 2);
        self.mdev_x4 += if err < 0 && step > 0 { step >> 3 } else { step };
        if self.mdev_x4 > self.mdev_max {
            self.mdev_max = self.mdev_x4;
            self.rttvar = self.rttvar.max(self.mdev_max);
        }
        if una > self.window {
            if self.mdev_max < self.rttvar {
                self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
            }
            self.window = nxt;
            self.mdev_max = self.min;
        }
        let ticks = self.clock.of_micros(self.sum());
        std::mem::replace(&mut self.ticks, ticks) != ticks
    }

    /// Mean plus deviation, in microseconds.
    #[inline]
    fn sum(&self) -> u64 {
        ((self.srtt_x8 >> 3) + self.rttvar) as u64
    }

    #[cold]
    fn begin(&mut self, m: i64, nxt: Seq) {
        self.srtt_x8 = (m << 3).max(1);
        self.mdev_x4 = m << 1;
        self.rttvar = self.mdev_x4.max(self.min);
        self.mdev_max = self.rttvar;
        self.window = nxt;
    }

    /// Starts from this sample, with at least this mean and deviation (RFC 4015 section 3.1, step 11).
    pub fn sample_with_at_least(
        &mut self,
        rtt: Duration,
        sent: Instant,
        srtt: Duration,
        rttvar: Duration,
    ) {
        let window = self.window;
        self.srtt_x8 = 0;
        self.sample(rtt, sent, window, window);
        self.srtt_x8 = self.srtt_x8.max(micros(srtt) << 3);
        self.mdev_x4 = self.mdev_x4.max(micros(rttvar) << 2);
        self.rttvar = self.rttvar.max(self.mdev_x4);
        self.mdev_max = self.rttvar;
        self.ticks = UNKNOWN;
    }

    /// Mean plus deviation in whole ticks, before the upper bound.
    #[inline]
    pub fn timeout(&self) -> Option<Duration> {
        (self.srtt_x8 > 0).then(|| self.clock.round_up_micros(self.sum()))
    }

    /// Changes the minimum that is added to the mean.
    pub fn set_min(&mut self, min: Duration) {
        let was = self.min;
        self.min = micros(min);
        self.ticks = UNKNOWN;
        if self.srtt_x8 > 0 {
            // Values that only the old bound had set change with it.
            let at_bound = |value: i64| if value == was { self.min } else { value };
            self.rttvar = at_bound(self.rttvar).max(self.min);
            self.mdev_max = at_bound(self.mdev_max).max(self.min);
        }
    }

    /// Clears all state.
    pub fn restart(&mut self) {
        *self = Self::new(self.clock, Duration::from_micros(self.min as u64));
    }

    /// The mean, if there is one.
    #[inline]
    pub fn srtt(&self) -> Option<Duration> {
        (self.srtt_x8 > 0).then(|| Duration::from_nanos((self.srtt_x8 as u64 * 1000) >> 3))
    }

    /// The mean in eighths of microseconds.
    #[inline]
    pub fn srtt_x8(&self) -> Option<u64> {
        (self.srtt_x8 > 0).then_some(self.srtt_x8 as u64)
    }

    /// The mean deviation, if there is one.
    pub fn rttvar(&self) -> Option<Duration> {
        (self.srtt_x8 > 0).then(|| Duration::from_nanos((self.mdev_x4 as u64 * 1000) >> 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HZ_250: Jiffies = Jiffies {
        hz: 250,
        phase: Duration::ZERO,
    };

    fn linux() -> Linux {
        Linux::new(HZ_250, Duration::from_millis(200))
    }

    /// Observed on a kernel 6.12 with HZ 250: a handshake of 40,096 us, then ten ACKs of a burst, each
    /// 1200 us later than the previous one.
    #[test]
    fn the_samples_of_a_first_window_are_the_kernels() {
        let mut e = linux();
        let us = Duration::from_micros;
        e.sample(us(40_096), Instant::ZERO, 1, 1);
        assert_eq!(e.srtt(), Some(us(40_096)));
        assert_eq!(e.rttvar(), Some(us(20_048)));
        assert_eq!(e.timeout(), Some(Duration::from_millis(244)));
        // From the record: 40.096004 to 81.379203 ms, and so on; SND.NXT has advanced by one window.
        let seen = [
            (40_244, 15_332, 244),
            (40_524, 12_059, 244),
            (40_919, 9_834, 244),
            (41_414, 8_367, 244),
            (41_998, 7_442, 244),
            (42_658, 6_903, 244),
            (43_387, 6_633, 244),
            (44_174, 6_549, 248),
            (45_012, 6_589, 248),
            (45_896, 6_710, 248),
        ];
        let sent = Instant::from_nanos(40_096_004);
        for (n, (srtt, rttvar, rto)) in seen.into_iter().enumerate() {
            let now = 81_379_203 + 1_200_000 * n as u64;
            let rtt = Duration::from_nanos(now - 40_096_004);
            e.sample(rtt, sent, 2 + n as u64, 11 + 2 * n as u64);
            let shown = |d: Option<Duration>| d.map(|d| d.as_nanos() / 1000);
            assert_eq!(shown(e.srtt()), Some(srtt), "{n}");
            assert_eq!(shown(e.rttvar()), Some(rttvar), "{n}");
            assert_eq!(e.timeout(), Some(Duration::from_millis(rto)), "{n}");
        }
    }

    /// By hand: m = 300 ms, srtt 300, rttvar = max(600, 200) = 600 ms: RTO 900. Then 300 ms in each
    /// of the next windows: mdev = 3/4 of 600 = 450, 337.5, ... and rttvar moves a quarter of the way
    /// to the window's largest (600 - (600 - 450) / 4 = 562.5 after the second window).
    #[test]
    fn the_deviation_decays_once_a_window() {
        let mut e = linux();
        let rtt = Duration::from_millis(300);
        e.sample(rtt, Instant::ZERO, 1, 10);
        assert_eq!(e.timeout(), Some(Duration::from_millis(900)));
        // Within the first window nothing decays.
        e.sample(rtt, Instant::ZERO, 10, 20);
        assert_eq!(e.rttvar, 600_000);
        // The window ends; its largest deviation was that of the first sample.
        e.sample(rtt, Instant::ZERO, 11, 20);
        assert_eq!((e.rttvar, e.mdev_max), (600_000, 200_000));
        assert_eq!(e.mdev_x4, 337_500);
        e.sample(rtt, Instant::ZERO, 21, 30);
        assert_eq!(e.mdev_x4, 253_125);
        assert_eq!(e.rttvar, 600_000 - (600_000 - 253_125) / 4);
    }

    /// A decrease of the RTT changes the deviation by an eighth of what an increase would.
    #[test]
    fn a_shorter_round_trip_moves_the_deviation_little() {
        let mut e = linux();
        e.sample(Duration::from_millis(100), Instant::ZERO, 1, 10);
        // err = -80 ms; |err| - 50 = 30 ms, of which an eighth.
        e.sample(Duration::from_millis(20), Instant::ZERO, 2, 11);
        assert_eq!(e.mdev_x4, 200_000 + 3_750);
        assert_eq!(e.srtt_x8, 720_000);
    }

    #[test]
    fn the_bound_is_added_to_the_mean() {
        let mut e = linux();
        e.sample(Duration::from_millis(40), Instant::ZERO, 1, 10);
        assert_eq!(e.timeout(), Some(Duration::from_millis(240)));
        e.set_min(Duration::from_secs(1));
        assert_eq!(e.timeout(), Some(Duration::from_millis(1040)));
        e.set_min(Duration::from_millis(200));
        assert_eq!(e.timeout(), Some(Duration::from_millis(240)));
        e.restart();
        assert_eq!((e.timeout(), e.srtt()), (None, None));
    }
}
