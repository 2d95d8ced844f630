//! Fast ACK (Huang & Cai, "Improving TCP performance during soft vertical handoff", AINA 2005; the text was
//! not available). Lim & Jang 2009, section 2: at a handoff from a fast link to a slow one "the ACKs of the first few
//! slow-link packets are routed to the old fast link to reduce the gap between old RTT and new RTT".
//!
//! The first round trips on the new path include the slow link in one direction only, so the timer grows before the
//! whole round trip applies. "One should be able to determine a proper value for the duration" (Daniel & Kojo 2008,
//! section 2): a knob. Works at a handoff without a gap, to a link with more delay. At a handoff to less delay
//! "similar procedure is performed" (Lim & Jang), of which nothing more is known: not implemented.

use midflight_units::Duration;

use super::{AckRoute, HandoffSignal, Signal};
use crate::part::{refuse, Knob, KnobError, Part, PartInfo};
use crate::Notice;

/// Its duration; none for the new link's round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FastAck {
    time: Option<Duration>,
}

impl Part for FastAck {
    const INFO: PartInfo = PartInfo {
        name: "fast-ack",
        summary: "after a handoff to more delay the first ACKs take the old, fast link",
        source:
            "Huang & Cai 2005, as Lim & Jang 2009 and Daniel & Kojo 2008, sections 2, describe it",
        knobs: &[Knob {
            name: "fast_ack_time",
            default: "round-trip",
            accepts: "a time, or round-trip for that of the new link",
            summary: "how long after a handoff ACKs take the old link",
        }],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        self.time = duration_or_round_trip(&Self::INFO, name, value)?;
        Ok(())
    }
}

/// A duration, or none for a round trip.
pub(super) fn duration_or_round_trip(
    info: &PartInfo,
    name: &str,
    value: &str,
) -> Result<Option<Duration>, KnobError> {
    if value == "round-trip" {
        return Ok(None);
    }
    let time = value.parse().map_err(|_| refuse(info, name, value))?;
    Ok(Some(time))
}

impl HandoffSignal for FastAck {
    fn ack_route(&self, notice: &Notice) -> AckRoute {
        if !notice.delay_increases() {
            return AckRoute::default();
        }
        AckRoute {
            late: self.time.unwrap_or(notice.new.round_trip()),
            ..AckRoute::default()
        }
    }

    fn explain(&self, notice: &Notice, is_over: bool) -> Option<String> {
        let late = self.ack_route(notice).late;
        let moves = is_over && late > Duration::ZERO;
        moves.then(|| format!("ACKs take the old link for {late}, unless the handoff has a gap"))
    }

    fn on_attached(&mut self) -> Signal {
        Signal::default()
    }
}
