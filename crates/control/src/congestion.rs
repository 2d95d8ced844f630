//! Congestion control: how the window grows on ACKs and shrinks on congestion.
//!
//! A controller is pure arithmetic on `(cwnd, ssthresh)` in segments. It never
//! sends, and recovery decides when it is asked.

/// The congestion window and its threshold, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: f64,
    /// Slow-start threshold.
    pub ssthresh: f64,
}

/// A congestion controller.
pub trait Congestion {
    /// New data was acknowledged outside fast recovery; `segments` were covered.
    fn on_ack(&mut self, window: &mut Window, segments: u64);
    /// The threshold after a congestion event, from the `load`, the sender's
    /// measure of what was in flight (FlightSize or the window in use).
    fn ssthresh_after_loss(&mut self, load: f64) -> f64;
}

/// How slow start counts an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckCounting {
    /// One segment for each ACK that advances (ns-2; RFC 5681 without ABC on delayed ACKs).
    PerAck,
    /// RFC 3465: in slow start one segment for each segment acknowledged, at
    /// most `L` for an ACK (1 is RFC 5681's `min(N, SMSS)`; more is
    /// experimental, and not allowed after a timeout); in congestion avoidance
    /// as much as was acknowledged, a segment a window.
    AppropriateBytes {
        /// The limit `L` in segments.
        limit: u32,
    },
}

/// Reno's window arithmetic (RFC 5681 section 3.1).
#[derive(Clone, Copy, Debug)]
pub struct Reno {
    counting: AckCounting,
}

impl Reno {
    /// Reno with this way of counting ACKs.
    pub fn new(counting: AckCounting) -> Self {
        Self { counting }
    }
}

impl Congestion for Reno {
    fn on_ack(&mut self, window: &mut Window, segments: u64) {
        let (slow_start, avoidance) = match self.counting {
            AckCounting::PerAck => (1, 1),
            AckCounting::AppropriateBytes { limit } => (segments.min(u64::from(limit)), segments),
        };
        if window.cwnd < window.ssthresh {
            window.cwnd += slow_start as f64;
        } else {
            window.cwnd += avoidance as f64 / window.cwnd;
        }
    }

    fn ssthresh_after_loss(&mut self, load: f64) -> f64 {
        // RFC 5681 (4) takes half of FlightSize and no less than two segments,
        // ns-2 half of the window in use, cut to a whole segment.
        (load / 2.0).floor().max(2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_then_congestion_avoidance() {
        let mut reno = Reno::new(AckCounting::PerAck);
        let mut w = Window {
            cwnd: 3.0,
            ssthresh: 4.0,
        };
        reno.on_ack(&mut w, 2);
        assert_eq!(w.cwnd, 4.0);
        reno.on_ack(&mut w, 2);
        assert_eq!(w.cwnd, 4.25);
        assert_eq!(reno.ssthresh_after_loss(1.0), 2.0);
        assert_eq!(reno.ssthresh_after_loss(21.0), 10.0);
    }
}
