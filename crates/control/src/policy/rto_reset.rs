//! Reset of the retransmission timer after a handoff to less delay (Kim &
//! Copeland, "Enhancing TCP performance for intersystem hand-off within
//! heterogeneous mobile networks", VTC 2004; the text was not available). Daniel
//! & Kojo 2008, section 2: "by resetting the retransmission timer after a
//! handoff from a high-delay network to a low-delay network performance of TCP
//! Reno can be improved".
//!
//! This is read as: the timeout of a new connection until the new path gives its
//! first sample. A4 of Daniel & Kojo does the same after everything sent before is acknowledged.

use super::HandoffPolicy;
use crate::part::{Part, PartInfo};
use crate::{Notice, Order, Orders, SenderView};

/// It has no state.
#[derive(Clone, Copy, Debug, Default)]
pub struct RtoReset;

impl Part for RtoReset {
    const INFO: PartInfo = PartInfo {
        name: "rto-reset",
        summary: "after a handoff to less delay use the timer of a new connection until the new path gives a sample",
        source: "Kim & Copeland, VTC 2004, as Daniel & Kojo 2008, section 2, describe it",
        knobs: &[],
    };
}

impl HandoffPolicy for RtoReset {
    fn on_notice(&mut self, notice: &Notice, view: &SenderView) -> Orders {
        if !notice.delay_decreases() {
            return Orders::none();
        }
        Orders::none().with(
            Order::RestartRtt {
                initial_rto: view.new_connection_rto,
                sample_since: view.now,
                sample_retransmitted: false,
            },
            format!(
                "the delay falls from {} to {}",
                notice.old.delay, notice.new.delay
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{notice, view};

    #[test]
    fn only_a_handoff_to_less_delay_resets_the_timer() {
        let v = view(21, 700);
        let down = RtoReset.on_notice(&notice((200, 300), (6400, 9)), &v);
        assert!(down.contains(&Order::RestartRtt {
            initial_rto: v.new_connection_rto,
            sample_since: v.now,
            sample_retransmitted: false,
        }));
        let up = RtoReset.on_notice(&notice((6400, 9), (200, 300)), &v);
        assert!(up.is_empty());
    }
}
