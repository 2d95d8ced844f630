//! A controller that sets the window and the rate itself, such as BBR. It gets a rate sample at each ACK of something
//! new and is called for each lost packet; the recovery reduces the window only for persistent congestion (RFC 9002
//! section 7.6).
//! On a new path it begins anew, and what was sent over the old one gives it no samples (RFC 9000 section 9.4).

use midflight_control::congestion::LossPhase;
use midflight_units::Duration;

use super::Quic;
use crate::event::Log;
use crate::sender::{Core, Inside};

impl Quic {
    pub(super) fn inside(&self) -> Inside {
        Inside {
            phase: if self.recovering {
                LossPhase::Recovery
            } else {
                LossPhase::Open
            },
            in_flight: self.packets.in_flight(),
            lost: self.lost_total,
            min_rtt: self.min_rtt_us(),
            window_limited: self.is_full,
        }
    }

    /// In microseconds; `u32::MAX` for none.
    fn min_rtt_us(&self) -> u64 {
        let micros = |rtt: Duration| rtt.as_nanos() / 1000;
        self.path.min_rtt.map_or(u32::MAX.into(), micros)
    }

    /// An open connection has processed an ACK of something new, which detected so many packets as lost. `before` are the
    /// packets in flight before it, `latest` is its RTT sample.
    pub(super) fn control(
        &self,
        core: &mut Core,
        (lost, before): (u64, u64),
        latest: Option<Duration>,
        log: &mut impl Log,
    ) {
        core.path.window_limited = self.is_full;
        let latest = latest.map(|latest| latest.as_nanos() / 1000);
        core.take_rate(lost, before, Some((latest, self.min_rtt_us())));
        if self.recovering && core.leaves_reductions() {
            core.pace_in_reduction();
        } else {
            core.control(self.inside(), log);
        }
    }
}
