//! A4: fast convergence of the RTO after a handoff to less delay (Daniel &
//! Kojo 2008, section 5.5, figure 16).
//!
//! Outside RTO recovery: when everything sent before the handoff is acknowledged, the RTT estimate
//! of the old path is discarded and the first segment of the new path gives the new one.

use midflight_units::{Instant, Seq};

use super::HandoffPolicy;
use crate::part::{Part, PartInfo};
use crate::{AckNews, Interests, Notice, Order, Orders, SenderView};

/// State of A4.
#[derive(Clone, Copy, Debug, Default)]
pub struct A4 {
    /// When the notice arrived, and one past the highest segment sent before it.
    handoff: Option<(Instant, Seq)>,
}

impl Part for A4 {
    const INFO: PartInfo = PartInfo {
        name: "a4",
        summary: "drop the RTT estimate of the old path after a handoff to less delay",
        source: "Daniel & Kojo 2008, section 5.5, figure 16",
        knobs: &[],
    };
}

impl HandoffPolicy for A4 {
    fn on_notice(&mut self, notice: &Notice, view: &SenderView) -> Orders {
        if notice.delay_decreases() && !view.in_rto_recovery {
            self.handoff = Some((view.now, view.snd_max));
        }
        Orders::none()
    }

    fn on_ack(&mut self, _ack: &AckNews, view: &SenderView) -> Orders {
        match self.handoff {
            Some((at, edge)) if view.snd_una >= edge => {
                self.handoff = None;
                Orders::none().with(
                    Order::RestartRtt {
                        initial_rto: view.new_connection_rto,
                        sample_since: at,
                        sample_retransmitted: false,
                    },
                    "everything sent before the handoff is acknowledged",
                )
            }
            _ => Orders::none(),
        }
    }

    fn interests(&self) -> Interests {
        Interests::ACKS.when(self.handoff.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ack::testing::duplicate;
    use crate::policy::testing::{notice, view};

    #[test]
    fn the_estimate_restarts_once_when_the_old_data_is_acknowledged() {
        let mut a4 = A4::default();
        let mut sender = view(20, 2000);
        assert!(a4
            .on_notice(&notice((1600, 300), (1600, 1)), &sender)
            .is_empty());
        sender.snd_una = 119;
        assert!(a4.on_ack(&duplicate(100), &sender).is_empty());
        sender.snd_una = 120;
        assert!(!a4.on_ack(&duplicate(100), &sender).is_empty());
        assert!(
            a4.on_ack(&duplicate(100), &sender).is_empty()
                && !a4.interests().includes(Interests::ACKS)
        );
    }

    #[test]
    fn more_delay_or_rto_recovery_leaves_it_idle() {
        let mut a4 = A4::default();
        let _ = a4.on_notice(&notice((1600, 1), (1600, 300)), &view(20, 200));
        assert!(!a4.interests().includes(Interests::ACKS));
        let stalled = SenderView {
            in_rto_recovery: true,
            ..view(20, 200)
        };
        let _ = a4.on_notice(&notice((1600, 300), (1600, 1)), &stalled);
        assert!(!a4.interests().includes(Interests::ACKS));
    }
}
