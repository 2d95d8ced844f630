//! Growth in whole packets, as Linux counts it (tcp_cong.c): every packet delivered counts, however
//! many an ACK covers.

use super::super::Window;

/// The remainder of the last growth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::congestion) struct Packets {
    /// Packets delivered that have not yet increased the window (snd_cwnd_cnt).
    pub(in crate::congestion) count: u64,
}

impl Packets {
    /// Slow start up to exactly the threshold; returns the rest of `acked` (tcp_slow_start()).
    pub(in crate::congestion) fn slow_start(window: &mut Window, acked: u64) -> u64 {
        let before = floor(window.cwnd);
        let cwnd = (before + acked as f64).min(floor(window.ssthresh));
        window.cwnd = cwnd;
        acked - (cwnd - before) as u64
    }

    /// Growth by one packet for each `per` packets delivered (tcp_cong_avoid_ai()).
    #[inline]
    pub(in crate::congestion) fn avoid(&mut self, window: &mut Window, per: u64, acked: u64) {
        let per = per.max(1);
        let mut more = 0;
        if self.count >= per {
            // These were counted while growth was slower.
            self.count = 0;
            more = 1;
        }
        self.count += acked;
        if self.count >= per {
            more += self.count / per;
            self.count %= per;
        }
        window.cwnd = floor(window.cwnd) + more as f64;
    }
}

/// The whole part of a window, which is not negative. Most processors that this is compiled for have no instruction for
/// [`f64::floor`].
#[inline]
fn floor(window: f64) -> f64 {
    const WHOLE_FROM: f64 = (1_u64 << 52) as f64;
    if window < WHOLE_FROM {
        window as i64 as f64
    } else {
        window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_ends_at_the_threshold_and_hands_on_the_rest() {
        let mut w = Window {
            cwnd: 9.0,
            ssthresh: 10.0,
        };
        assert_eq!(Packets::slow_start(&mut w, 3), 2);
        assert_eq!(w.cwnd, 10.0);
    }

    /// Ten packets give one more at a rate of one in ten; seven that were counted at one in ten
    /// give one, and no more, when the rate becomes one in five.
    #[test]
    fn packets_are_counted_over_acks() {
        let mut w = Window {
            cwnd: 10.0,
            ssthresh: 2.0,
        };
        let mut p = Packets::default();
        for _ in 0..5 {
            p.avoid(&mut w, 10, 2);
        }
        assert_eq!((w.cwnd, p.count), (11.0, 0));
        p.avoid(&mut w, 10, 7);
        assert_eq!((w.cwnd, p.count), (11.0, 7));
        p.avoid(&mut w, 5, 1);
        assert_eq!((w.cwnd, p.count), (12.0, 1));
        p.avoid(&mut w, 2, 5);
        assert_eq!((w.cwnd, p.count), (15.0, 0));
    }
}
