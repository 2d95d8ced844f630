//! nodupack (Hansmann & Frank, "On things to happen during a TCP handover", LCN
//! 2003; the text was not available). Daniel & Kojo 2008, section 2: it "suppresses
//! the transmission of dupacks during the handoff", against the reordering of a
//! handoff to less delay.
//!
//! The duration of a handoff for a receiver is not specified: a knob. It begins when the node detects that
//! it is on another link. Only ACKs of segments above a gap are suppressed; the first segment after that
//! time reports the gap.

use midflight_units::Duration;

use super::{HandoffSignal, Signal};
use crate::part::{refuse, Knob, KnobError, Part, PartInfo};
use crate::Notice;

/// Its duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nodupack {
    time: Duration,
}

impl Default for Nodupack {
    fn default() -> Self {
        Self {
            time: Duration::from_millis(500),
        }
    }
}

impl Part for Nodupack {
    const INFO: PartInfo = PartInfo {
        name: "nodupack",
        summary: "the receiver sends no duplicate ACKs for some time after a handoff",
        source: "Hansmann & Frank 2003, as Daniel & Kojo 2008, section 2, describe it",
        knobs: &[Knob {
            name: "nodupack_time",
            default: "500ms",
            accepts: "a time",
            summary: "how long after a handoff segments out of order are not acknowledged",
        }],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        self.time = value
            .parse()
            .map_err(|_| refuse(&Self::INFO, name, value))?;
        Ok(())
    }
}

impl HandoffSignal for Nodupack {
    fn explain(&self, _notice: &Notice, is_over: bool) -> Option<String> {
        let time = self.time;
        is_over.then(|| format!("no duplicate ACK leaves for {time}"))
    }

    fn on_attached(&mut self) -> Signal {
        Signal {
            quiet: Some(self.time),
            ..Signal::default()
        }
    }
}
