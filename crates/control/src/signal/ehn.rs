//! Explicit Handover Notification, the mobile node's side (Izumikawa,
//! Yamaguchi & Katto, section 3): on the first router advertisement of its new
//! base station the node repeats its last ACK with the handoff mark. The
//! sender's side is the policy `ehn-restore`.

use super::{HandoffSignal, Signal};
use crate::part::{Part, PartInfo};

/// It has no state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EhnSignal;

impl Part for EhnSignal {
    const INFO: PartInfo = PartInfo {
        name: "ehn-notify",
        summary: "the last ACK again with a handoff mark; the mobile node's half of ehn",
        source: "Izumikawa, Yamaguchi & Katto, section 3",
        knobs: &[],
    };
}

impl HandoffSignal for EhnSignal {
    fn on_attached(&mut self) -> Signal {
        Signal {
            copies: 1,
            marked: true,
            ..Signal::default()
        }
    }
}
