//! State of QUIC senders only: packets that validate a path, and the destination address of a
//! packet.

use midflight_control::congestion::AnyCongestion;
use smallvec::SmallVec;

use super::Core;
use crate::config::{RecoveryKind, SenderConfig, PATH_FRAME_BYTES};
use crate::segment::{Content, EcnCodepoint, Segment};

/// A PATH_CHALLENGE to send (RFC 9000 section 8.2.1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Challenge {
    /// Its packet number.
    pub(crate) number: u64,
    /// The epoch of the peer's address that it validates.
    pub(crate) epoch: u16,
    /// The number of that address.
    pub(crate) address: u16,
}

/// Challenges that wait, and the destination of packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Challenges {
    waiting: SmallVec<[Challenge; 2]>,
    destination: u16,
    /// The initial controller of a path; only QUIC has several paths.
    fresh: Option<Box<AnyCongestion>>,
}

impl Challenges {
    pub(super) fn new(config: &SenderConfig, congestion: &AnyCongestion) -> Self {
        let has_paths = config.recovery == RecoveryKind::Quic;
        Self {
            fresh: has_paths.then(|| Box::new(*congestion)),
            ..Self::default()
        }
    }
}

impl Core {
    /// The initial controller of a path.
    pub(super) fn fresh_controller(&self) -> AnyCongestion {
        let fresh = self.challenges.fresh.as_deref();
        *fresh.unwrap_or(&self.path.congestion)
    }

    pub(super) fn has_challenge(&self) -> bool {
        !self.challenges.waiting.is_empty()
    }

    /// Queues a path validation.
    pub(crate) fn challenge(&mut self, challenge: Challenge) {
        self.challenges.waiting.push(challenge);
        self.hold();
    }

    /// Number of the peer's address to which the last returned packet is sent.
    pub(crate) fn destination(&self) -> u16 {
        self.challenges.destination
    }

    /// Sets the destination of the next packets.
    pub(crate) fn set_destination(&mut self, address: u16) {
        self.challenges.destination = address;
    }

    /// Removes and returns a packet that validates a path, if one waits.
    pub(crate) fn next_challenge(&mut self) -> Option<Segment> {
        if !self.has_challenge() {
            return None;
        }
        let Challenge {
            number,
            epoch,
            address,
        } = self.challenges.waiting.remove(0);
        self.hold();
        self.set_destination(address);
        self.set_packet_number(number);
        Some(Segment {
            seq: epoch.into(),
            ecn: EcnCodepoint::NotCapable,
            cwr: false,
            bytes: PATH_FRAME_BYTES,
            retransmission: false,
            sent: self.now,
            content: Content::Challenge,
            push: false,
            echo_ms: number as u32,
            offset: 0,
            option: None,
        })
    }
}
