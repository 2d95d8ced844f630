//! Slow ACK (Huang & Cai, "Improving TCP performance during soft vertical handoff", AINA 2005; the text was not
//! available). Before a handoff from a fast link to a slow one some ACKs are sent over the slow link, so that the
//! sender's timer adapts to more delay before the data takes that link. Daniel & Kojo 2008, section 2: "sending a few
//! packets through the new slow link", for a duration that has to be determined: a knob.
//!
//! Works at a handoff without a gap to a link with more delay, which must be predicted.

use midflight_units::Duration;

use super::fast_ack::duration_or_round_trip;
use super::{AckRoute, HandoffSignal, Signal};
use crate::part::{Knob, KnobError, Part, PartInfo};
use crate::Notice;

/// Its duration; none for the new link's round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlowAck {
    time: Option<Duration>,
}

impl Part for SlowAck {
    const INFO: PartInfo = PartInfo {
        name: "slow-ack",
        summary: "before a predicted handoff to more delay the last ACKs take the new, slow link",
        source: "Huang & Cai 2005, as Daniel & Kojo 2008, section 2, describes it",
        knobs: &[Knob {
            name: "slow_ack_time",
            default: "round-trip",
            accepts: "a time, or round-trip for that of the new link",
            summary: "how long before a handoff ACKs take the new link",
        }],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        self.time = duration_or_round_trip(&Self::INFO, name, value)?;
        Ok(())
    }
}

impl HandoffSignal for SlowAck {
    fn ack_route(&self, notice: &Notice) -> AckRoute {
        if !notice.delay_increases() {
            return AckRoute::default();
        }
        AckRoute {
            early: self.time.unwrap_or(notice.new.round_trip()),
            ..AckRoute::default()
        }
    }

    fn explain(&self, notice: &Notice, is_over: bool) -> Option<String> {
        let early = self.ack_route(notice).early;
        let moves = is_over && early > Duration::ZERO;
        moves.then(|| {
            format!(
                "ACKs have taken the new link for the last {early}, unless the handoff has a gap"
            )
        })
    }

    fn on_attached(&mut self) -> Signal {
        Signal::default()
    }
}
