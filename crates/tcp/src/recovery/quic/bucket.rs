//! Pacing (RFC 9002 section 7.7): 1.25 windows per smoothed round trip, from a token bucket. A burst is at most what
//! that rate sends in two milliseconds, but at least ten packets; when the bucket is empty the sender waits until it is
//! full.

use midflight_units::{Duration, Instant};

const GAIN: f64 = 1.25;
const BURST: Duration = Duration::from_millis(2);
const LEAST: f64 = 10.0;
const MOST: f64 = 256.0;

/// Tokens, one per packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bucket {
    /// None before the first packet of a path, when the bucket is full.
    tokens: Option<f64>,
    filled: Instant,
}

impl Bucket {
    /// The time until which the next packet has to wait.
    pub(super) fn wait(&mut self, now: Instant, cwnd: f64, srtt: Duration) -> Option<Instant> {
        let rtt = srtt.as_secs_f64();
        if rtt <= 0.0 {
            return None;
        }
        let capacity = (cwnd * BURST.as_secs_f64() / rtt).clamp(LEAST, MOST);
        let mut tokens = self.tokens.unwrap_or(capacity).min(capacity);
        if tokens < 1.0 {
            let more = GAIN * cwnd * now.since(self.filled).as_secs_f64() / rtt;
            tokens = (tokens + more).min(capacity);
            self.filled = now;
        }
        self.tokens = Some(tokens);
        if tokens >= 1.0 {
            return None;
        }
        let seconds = rtt * (capacity - tokens) / (cwnd * GAIN);
        // Rounded up, so that there are enough tokens at that time.
        Some(now + Duration::from_nanos((seconds * 1e9).ceil() as u64))
    }

    /// A packet leaves.
    pub(super) fn take(&mut self) {
        self.tokens = self.tokens.map(|tokens| (tokens - 1.0).max(0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_and_a_quarter_leave_in_a_round_trip() {
        let (mut bucket, mut now) = (Bucket::default(), Instant::ZERO);
        let (cwnd, srtt) = (80.0, Duration::from_millis(100));
        let (mut sent, mut bursts) = (0, Vec::new());
        while now < Instant::ZERO + Duration::from_secs(10) {
            if let Some(until) = bucket.wait(now, cwnd, srtt) {
                bursts.push(sent);
                assert!(until > now);
                now = until;
            } else {
                bucket.take();
                sent += 1;
            }
        }
        // 100 round trips.
        assert!((9_990..10_030).contains(&sent), "{sent}");
        assert!(bursts.windows(2).all(|two| two[1] - two[0] == 10));
    }
}
