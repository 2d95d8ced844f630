//! Reno's window arithmetic (RFC 5681 section 3.1).

use midflight_units::Instant;

use super::{AckCounting, Congestion, Window};
use crate::part::{Part, PartInfo};

/// It has no state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reno;

/// Slow start and congestion avoidance.
#[inline(always)]
pub(super) fn grow(window: &mut Window, segments: u64, counting: AckCounting) {
    let (slow_start, avoidance) = match counting {
        AckCounting::PerAck => (1, 1),
        AckCounting::AppropriateBytes { limit } => (segments.min(u64::from(limit)), segments),
    };
    if window.cwnd < window.ssthresh {
        window.cwnd += slow_start as f64;
    } else {
        window.cwnd += avoidance as f64 / window.cwnd;
    }
}

impl Part for Reno {
    const INFO: PartInfo = PartInfo {
        name: "reno",
        summary: "additive increase, and half of the data in flight after a loss",
        source: "RFC 5681, section 3.1",
        knobs: &[],
    };
}

impl Congestion for Reno {
    #[inline(always)]
    fn on_ack(&mut self, window: &mut Window, segments: u64, counting: AckCounting) {
        grow(window, segments, counting);
    }

    fn ssthresh_after_loss(&mut self, _now: Instant, load: f64) -> f64 {
        // RFC 5681 (4) takes half of FlightSize but at least two segments; ns-2 takes half of the
        // window in use, rounded down to a whole segment.
        (load / 2.0).floor().max(2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_then_congestion_avoidance() {
        let mut reno = Reno;
        let mut w = Window {
            cwnd: 3.0,
            ssthresh: 4.0,
        };
        reno.on_ack(&mut w, 2, AckCounting::PerAck);
        assert_eq!(w.cwnd, 4.0);
        reno.on_ack(&mut w, 2, AckCounting::PerAck);
        assert_eq!(w.cwnd, 4.25);
        assert_eq!(reno.ssthresh_after_loss(Instant::ZERO, 1.0), 2.0);
        assert_eq!(reno.ssthresh_after_loss(Instant::ZERO, 21.0), 10.0);
        assert_eq!(reno.recovery_window(w), None);
    }
}
