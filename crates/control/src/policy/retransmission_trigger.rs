//! The unconditional retransmission trigger (Schuetz, Eggert, Schmid, Brunner
//! 2005): retransmit when connectivity is restored, in every state of the sender. Over a
//! make-before-break handoff the retransmission is unnecessary.

use super::HandoffPolicy;
use crate::part::{Part, PartInfo};
use crate::{Notice, Order, Orders, SenderView};

/// The trigger has no state.
#[derive(Clone, Copy, Debug, Default)]
pub struct RetransmissionTrigger;

impl Part for RetransmissionTrigger {
    const INFO: PartInfo = PartInfo {
        name: "trigger",
        summary: "retransmit the first unacknowledged segment on every notice",
        source: "Schuetz et al. 2005; Daniel & Kojo 2008, section 2",
        knobs: &[],
    };
}

impl HandoffPolicy for RetransmissionTrigger {
    fn on_notice(&mut self, _notice: &Notice, view: &SenderView) -> Orders {
        if view.flight_size() == 0 {
            return Orders::none();
        }
        Orders::none().with(Order::RetransmitNow, "connectivity is restored")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{notice, view};

    #[test]
    fn it_retransmits_whenever_something_is_outstanding() {
        let n = notice((6400, 9), (200, 300));
        assert!(!RetransmissionTrigger
            .on_notice(&n, &view(21, 200))
            .is_empty());
        assert!(RetransmissionTrigger
            .on_notice(&n, &view(0, 200))
            .is_empty());
    }
}
