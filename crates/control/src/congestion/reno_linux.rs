//! Reno as in Linux: it counts whole packets, and every packet delivered (tcp_reno_cong_avoid(),
//! tcp_reno_ssthresh()).

use midflight_units::Instant;

use super::linux::packets::Packets;
use super::{AckCounting, Congestion, RttNews, Window};
use crate::part::{Part, PartInfo};

/// The remainder of the last growth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenoLinux(Packets);

impl Part for RenoLinux {
    const INFO: PartInfo = PartInfo {
        name: "reno-linux",
        summary: "additive increase by whole packets for packets delivered, and half the window after a loss",
        source: "Linux 6.12, tcp_cong.c",
        knobs: &[],
    };
}

impl Congestion for RenoLinux {
    fn on_ack(&mut self, window: &mut Window, segments: u64, _counting: AckCounting) {
        let mut acked = segments;
        if window.cwnd < window.ssthresh {
            acked = Packets::slow_start(window, acked);
            if acked == 0 {
                return;
            }
        }
        let per = window.cwnd as u64;
        self.0.avoid(window, per, acked);
    }

    fn ssthresh_after_loss(&mut self, _now: Instant, load: f64) -> f64 {
        self.0.count = 0;
        (load.floor() / 2.0).floor().max(2.0)
    }

    fn on_timeout(&mut self, _news: &RttNews) {
        self.0.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTING: AckCounting = AckCounting::AppropriateBytes { limit: 2 };

    #[test]
    fn an_ack_of_many_counts_in_full_and_growth_is_by_whole_packets() {
        let mut reno = RenoLinux::default();
        let mut w = Window {
            cwnd: 10.0,
            ssthresh: 16.0,
        };
        // 6 of the 9 raise the window to the threshold, 3 are kept.
        reno.on_ack(&mut w, 9, COUNTING);
        assert_eq!(w.cwnd, 16.0);
        reno.on_ack(&mut w, 12, COUNTING);
        assert_eq!(w.cwnd, 16.0);
        reno.on_ack(&mut w, 1, COUNTING);
        assert_eq!(w.cwnd, 17.0);
        assert_eq!(reno.ssthresh_after_loss(Instant::ZERO, 17.0), 8.0);
        assert_eq!(reno.ssthresh_after_loss(Instant::ZERO, 3.0), 2.0);
    }
}
