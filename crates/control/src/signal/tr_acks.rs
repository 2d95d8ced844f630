//! TR-ACKs (Caceres & Iftode, IEEE JSAC 13(5), 1995; Izumikawa, Yamaguchi &
//! Katto, section 4): after a handoff the mobile node repeats its last ACK
//! three times, and its sender does its usual fast retransmit instead of
//! waiting for the timer.

use super::{HandoffSignal, Signal};
use crate::part::{whole, Knob, KnobError, Part, PartInfo};

/// Number of copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrAcks {
    copies: u8,
}

impl Default for TrAcks {
    fn default() -> Self {
        Self { copies: 3 }
    }
}

impl Part for TrAcks {
    const INFO: PartInfo = PartInfo {
        name: "tr-acks",
        summary: "three duplicates of the last ACK after a handoff, so that the sender retransmits at once",
        source: "Caceres & Iftode 1995",
        knobs: &[Knob {
            name: "tr_acks_copies",
            default: "3",
            accepts: "a whole number from 1 to 100",
            summary: "copies of the last ACK",
        }],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        self.copies = whole(&Self::INFO, name, value, 1..=100)? as u8;
        Ok(())
    }
}

impl HandoffSignal for TrAcks {
    fn on_attached(&mut self) -> Signal {
        Signal {
            copies: self.copies,
            ..Signal::default()
        }
    }
}
