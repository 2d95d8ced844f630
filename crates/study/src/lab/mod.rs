//! Runs of setups on a real Linux kernel in virtual time: the input of the kernel, and the
//! evaluation of its record.
//!
//! A guest gets a script ([`lab_script`]). Its links are the simulator's, in a separate process ([`Emulator`]), which
//! keeps a record of all packets ([`records`]). The record is replayed as the events of a simulated run, so that it has
//! the same measures, traces and digests ([`replay_flows`], [`replay_trace`]); its packets can be sent over the links
//! again ([`check_links`]). The driver of the guest's devices is in `lab/kernel`, its program in `lab/guest`.

mod emulator;
mod homes;
mod links;
mod offload;
mod packets;
mod record;
mod replay;
mod script;
mod sender;

pub use self::emulator::{Emulator, Fate};
pub use self::links::{check_links, replay_samples, LinkCheck};
pub use self::packets::record_captures;
pub use self::record::{records, KernelState, Record, RecordEvent};
pub(crate) use self::replay::replay_sender;
pub use self::replay::{
    replay_events, replay_flows, replay_stall, replay_trace, segment_bytes, Recorded,
};
pub use self::script::{lab_script, Guest, ORIGIN};
pub use self::sender::{drive, Line, OurSender, Woken};

/// Why a setup cannot run in the lab, or its record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The setup uses something that the lab or the kernel does not support.
    #[error("the lab cannot run {what}; expected {accepted}")]
    Unsupported {
        /// What it is, and where.
        what: String,
        /// The alternative.
        accepted: String,
    },
    /// The record does not belong to this setup.
    #[error("the record of packets is damaged at byte {at}: {what}")]
    Record {
        /// Where.
        at: usize,
        /// The error.
        what: String,
    },
    /// There are too many events.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// A capture cannot be written.
    #[error("a capture cannot be written: {0}")]
    Capture(String),
}

use midflight_sim::Action;

use crate::error::StudyError;

fn refused(what: impl Into<String>, accepted: impl Into<String>) -> LabError {
    LabError::Unsupported {
        what: what.into(),
        accepted: accepted.into(),
    }
}

/// Whether an action of the timeline affects links and routes.
fn is_of_links(action: &Action) -> bool {
    matches!(
        action,
        Action::Route { .. }
            | Action::Down(_)
            | Action::Up(_)
            | Action::Purge { .. }
            | Action::Detain { .. }
            | Action::Forward { .. }
            | Action::Pause(_)
            | Action::Resume { .. }
            | Action::Change { .. }
    )
}
