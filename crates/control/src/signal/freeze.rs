//! Freeze-TCP (Goff, Moronski, Phatak & Gupta, INFOCOM 2000): the mobile node
//! predicts that it will leave its link and advertises a zero window, so that
//! the sender stops its timer and keeps its window (persist mode, RFC 9293
//! section 3.8.6.1; Linux does so only if nothing is in flight). Back on a network it repeats its last ACK three times with
//! the whole window.
//!
//! The paper's best warning is one round-trip time: the data in flight arrives, and nothing more is
//! sent. A longer warning is idle time, a shorter one loses data in flight.

use midflight_units::Duration;

use super::{Advertised, HandoffSignal, Signal};
use crate::part::{refuse, whole, Knob, KnobError, Part, PartInfo};

/// The warning and the number of copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freeze {
    warning: Duration,
    /// ACKs with a zero window.
    freezing: u8,
    /// ACKs with the whole window after the handoff.
    thawing: u8,
}

impl Default for Freeze {
    fn default() -> Self {
        Self {
            // A little more than the idle round trip of the network of Izumikawa et al.
            warning: Duration::from_millis(150),
            freezing: 1,
            thawing: 3,
        }
    }
}

impl Part for Freeze {
    const INFO: PartInfo = PartInfo {
        name: "freeze",
        summary: "a zero window before a predicted handoff, three ACKs with the whole window after it",
        source: "Goff et al. 2000 (Freeze-TCP)",
        knobs: &[
            Knob {
                name: "freeze_warning",
                default: "150ms",
                accepts: "a time",
                summary: "how long before it leaves its link the node warns; best a little more than the round-trip time",
            },
            Knob {
                name: "freeze_copies",
                default: "1",
                accepts: "a whole number from 1 to 100",
                summary: "ACKs with a zero window",
            },
            Knob {
                name: "freeze_thaw_copies",
                default: "3",
                accepts: "a whole number from 1 to 100",
                summary: "ACKs with the whole window after the handoff",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let info = &Self::INFO;
        match name {
            "freeze_warning" => {
                self.warning = value.parse().map_err(|_| refuse(info, name, value))?;
            }
            "freeze_copies" => self.freezing = whole(info, name, value, 1..=100)? as u8,
            _ => self.thawing = whole(info, name, value, 1..=100)? as u8,
        }
        Ok(())
    }
}

impl HandoffSignal for Freeze {
    fn warning(&self) -> Option<Duration> {
        Some(self.warning)
    }

    fn on_warning(&mut self) -> Signal {
        Signal {
            copies: self.freezing,
            window: Some(Advertised::Closed),
            ..Signal::default()
        }
    }

    fn on_attached(&mut self) -> Signal {
        Signal {
            copies: self.thawing,
            window: Some(Advertised::Open),
            ..Signal::default()
        }
    }
}
