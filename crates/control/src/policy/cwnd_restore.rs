//! Restoring the congestion window after a handoff (Chang & Chen 2006; according to its abstract,
//! the window from before the handoff is restored after it, for up to 2.3 times the throughput).
//!
//! The restored window is that before the first timeout or fast recovery for segments that are
//! still in flight when the notice comes. If the notice comes first, nothing has been reduced yet:
//! then the first reduction for what was in flight is undone.

use midflight_units::Seq;

use super::HandoffPolicy;
use crate::part::{Part, PartInfo};
use crate::{Interests, Notice, Order, Orders, SenderView};

/// A reduction of the window.
#[derive(Clone, Copy, Debug)]
struct Reduction {
    /// The segments in flight at that time.
    flight: (Seq, Seq),
    cwnd: f64,
    ssthresh: f64,
}

/// The last reduction, and the segments in flight at the notice.
#[derive(Clone, Copy, Debug, Default)]
pub struct CwndRestore {
    before: Option<Reduction>,
    edge: Option<Seq>,
}

impl Part for CwndRestore {
    const INFO: PartInfo = PartInfo {
        name: "cwnd-restore",
        summary: "restore the window from before the handoff after it",
        source: "Chang & Chen 2006, by its abstract",
        knobs: &[],
    };
}

impl CwndRestore {
    /// The first reduction for segments in flight from `una` on.
    fn reduced(&self, una: Seq) -> Option<Reduction> {
        let is_in = |before: &Reduction| (before.flight.0..before.flight.1).contains(&una);
        self.before.filter(is_in)
    }
}

impl HandoffPolicy for CwndRestore {
    fn on_notice(&mut self, _notice: &Notice, view: &SenderView) -> Orders {
        self.edge = Some(view.snd_max);
        let reduced = self.reduced(view.snd_una);
        let Some(before) = reduced else {
            return Orders::none();
        };
        let why = "the window of before the handoff";
        let orders = Orders::none()
            .with(Order::SetSsthresh(before.ssthresh), why)
            .with(Order::SetCwnd(before.cwnd), why);
        if view.in_rto_recovery {
            orders.with(Order::RetransmitNow, "the link is back")
        } else {
            orders
        }
    }

    fn interests(&self) -> Interests {
        Interests::PAST
    }

    fn on_timeout(&mut self, before: &SenderView, view: &SenderView) -> Orders {
        let una = before.snd_una;
        if self.reduced(una).is_none() {
            let cwnd = if before.in_fast_recovery {
                before.cwnd.min(before.ssthresh)
            } else {
                before.cwnd
            };
            self.before = Some(Reduction {
                flight: (una, before.snd_max),
                cwnd: cwnd.max(1.0),
                ssthresh: before.ssthresh,
            });
        }
        let of_handoff = self.edge.is_some_and(|edge| view.snd_una < edge);
        match self.before {
            Some(before) if of_handoff => {
                self.edge = None;
                let why = "what was lost was sent before the handoff";
                Orders::none()
                    .with(Order::SetSsthresh(before.ssthresh), why)
                    .with(Order::SetCwnd(before.cwnd), why)
            }
            _ => Orders::none(),
        }
    }

    fn on_recovery(&mut self, view: &SenderView) -> Orders {
        if self.edge.is_some_and(|edge| view.snd_una < edge) {
            self.edge = None;
            let why = "what was lost was sent before the handoff";
            return Orders::none().with(Order::KeepWindow, why);
        }
        if self.reduced(view.snd_una).is_none() {
            self.before = Some(Reduction {
                flight: (view.snd_una, view.snd_max),
                cwnd: view.cwnd.max(1.0),
                ssthresh: view.ssthresh,
            });
        }
        Orders::none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{notice, view};

    fn stalled() -> SenderView {
        SenderView {
            cwnd: 1.0,
            ssthresh: 10.0,
            in_rto_recovery: true,
            ..view(20, 400)
        }
    }

    #[test]
    fn what_a_break_has_taken_comes_back_with_the_notice() {
        let mut part = CwndRestore::default();
        assert!(part.on_timeout(&view(20, 200), &stalled()).is_empty());
        let orders = part.on_notice(&notice((6400, 9), (200, 300)), &stalled());
        assert!(orders.contains(&Order::SetCwnd(20.0)));
        assert!(orders.contains(&Order::SetSsthresh(10.0)));
        assert!(orders.contains(&Order::RetransmitNow));
    }

    /// A partial ACK between the reduction and the notice belongs to the same flight.
    #[test]
    fn what_a_fading_link_has_taken_comes_back_too() {
        let mut part = CwndRestore::default();
        assert!(part.on_recovery(&view(20, 200)).is_empty());
        let reduced = SenderView {
            snd_una: 105,
            cwnd: 10.0,
            ..view(20, 200)
        };
        let orders = part.on_notice(&notice((6400, 9), (200, 300)), &reduced);
        assert!(orders.contains(&Order::SetCwnd(20.0)), "{orders:?}");
        assert!(!orders.contains(&Order::RetransmitNow), "no timeout");
    }

    #[test]
    fn a_reduction_of_long_ago_does_not_come_back() {
        let mut part = CwndRestore::default();
        let _ = part.on_timeout(&view(20, 200), &stalled());
        let later = SenderView {
            snd_una: 300,
            snd_nxt: 310,
            snd_max: 310,
            ..view(10, 200)
        };
        assert!(part
            .on_notice(&notice((6400, 9), (200, 300)), &later)
            .is_empty());
    }

    #[test]
    fn after_the_notice_the_first_reduction_alone_is_undone() {
        let mut part = CwndRestore::default();
        let _ = part.on_notice(&notice((6400, 9), (200, 300)), &view(20, 200));
        assert!(part
            .on_recovery(&view(20, 200))
            .contains(&Order::KeepWindow));
        assert!(part.on_recovery(&view(20, 200)).is_empty(), "once");
    }
}
