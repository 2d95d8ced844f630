//! The handoff option, the mobile node's side (Kim & Copeland, Globecom 2003,
//! as Daniel & Kojo 2008, section 2, describe it): ACKs mark the beginning and the
//! end of a handoff. The sender's side is the policy `ho-resume`.
//!
//! At the beginning the ACKs tell the sender to stop its timer and sending; at the end the ACK
//! has the whole window and a mark.

use midflight_units::Duration;

use super::{Advertised, HandoffSignal, Signal};
use crate::part::{refuse, Knob, KnobError, Part, PartInfo};

/// The warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoNotify {
    warning: Duration,
}

impl Default for HoNotify {
    fn default() -> Self {
        Self {
            // As in Freeze-TCP, so that the two differ in nothing else.
            warning: Duration::from_millis(150),
        }
    }
}

impl Part for HoNotify {
    const INFO: PartInfo = PartInfo {
        name: "ho-notify",
        summary: "a notice to wait before a predicted handoff, a marked ACK with the whole window after it; the mobile node's half of handoff-option",
        source: "Kim & Copeland, Globecom 2003, as Daniel & Kojo 2008, section 2, describe it",
        knobs: &[Knob {
            name: "ho_warning",
            default: "150ms",
            accepts: "a time",
            summary: "how long before it leaves its link the node marks the beginning",
        }],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        self.warning = value
            .parse()
            .map_err(|_| refuse(&Self::INFO, name, value))?;
        Ok(())
    }
}

impl HandoffSignal for HoNotify {
    fn warning(&self) -> Option<Duration> {
        Some(self.warning)
    }

    fn on_warning(&mut self) -> Signal {
        Signal {
            copies: 1,
            window: Some(Advertised::Standby),
            ..Signal::default()
        }
    }

    fn on_attached(&mut self) -> Signal {
        Signal {
            copies: 1,
            window: Some(Advertised::Open),
            marked: true,
            ..Signal::default()
        }
    }
}
