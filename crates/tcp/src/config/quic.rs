//! The choices that RFC 9000 and RFC 9002 leave to a QUIC stack when its peer has another address.

use midflight_units::Duration;

/// Bytes of a datagram of QUIC that are no data of a stream: IPv4 and UDP (28), the header of a short packet (a byte of
/// flags, a connection identifier of 8, a packet number of 2), that of a STREAM frame (6) and the tag (16).
pub const QUIC_OVERHEAD: u32 = 28 + 11 + 6 + 16;
/// Bytes of IPv4 and UDP, which the limit of RFC 9000 section 8.1 leaves out.
pub(crate) const UDP_HEADERS: u32 = 28;
/// A datagram with a frame that validates a path has at least this many bytes (RFC 9000 section 8.2.1), and those of IPv4 and UDP.
pub(crate) const PATH_FRAME_BYTES: u32 = 1200 + UDP_HEADERS;

/// The effect of a migration on the congestion controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControllerAfter {
    /// It is reset (RFC 9000 section 9.4).
    Reset,
    /// It continues.
    Keep,
    /// It is reset on an unknown path, and continues with its earlier state on a known one.
    Restore,
}

/// The effect of a migration on the estimate of the round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttAfter {
    /// It is reset (RFC 9000 section 9.4).
    Reset,
    /// It continues.
    Keep,
    /// It is kept until the answer to the PATH_CHALLENGE gives a new one.
    Challenge,
}

/// The effect of a migration on the packets in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFlightAfter {
    /// They count in the window of the new path, and so do their losses.
    Keep,
    /// They do not count there. Those that are lost are sent again without a reduction.
    Drop,
    /// The same, and their data are retransmitted at once.
    Retransmit,
}

/// The state that is kept if only the peer's port changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortOnly {
    /// Everything (RFC 9000 section 9.4 allows it).
    Keep,
    /// Nothing: it is handled as a new path.
    Reset,
    /// The controller.
    Controller,
}

/// When data go to a new address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// As soon as it is detected, at most three times the bytes received from there until it is
    /// validated (RFC 9000 section 9.3).
    Before,
    /// When it is validated; until then data are sent to the old one.
    After,
}

/// The behaviour of a sender when its peer's address changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration {
    /// The congestion controller.
    pub controller: ControllerAfter,
    /// The estimate of the round-trip time.
    pub rtt: RttAfter,
    /// RTT before the first sample of a path.
    pub initial_rtt: Duration,
    /// Packets of the old path give samples of the new one, which RFC 9000 section 9.4 forbids.
    pub old_samples: bool,
    /// Packets in flight.
    pub in_flight: InFlightAfter,
    /// Window of a new path, in packets.
    pub window: u32,
    /// Another port only.
    pub port: PortOnly,
    /// When data go there.
    pub switch: Switch,
}

const RFC_RTT: Duration = Duration::from_millis(333);
const SHORT_RTT: Duration = Duration::from_millis(100);

/// RFC 9000 section 9.4, with the initial RTT of RFC 9002 section 6.2.2.
const RFC: Migration = Migration {
    controller: ControllerAfter::Reset,
    rtt: RttAfter::Reset,
    initial_rtt: RFC_RTT,
    old_samples: false,
    in_flight: InFlightAfter::Drop,
    window: 10,
    port: PortOnly::Keep,
    switch: Switch::Before,
};

/// The choices of seven stacks, from their source code.
pub const MIGRATIONS: &[(&str, Migration)] = &[
    ("rfc9000", RFC),
    (
        "quinn",
        Migration {
            old_samples: true,
            ..RFC
        },
    ),
    (
        "s2n-quic",
        Migration {
            port: PortOnly::Reset,
            ..RFC
        },
    ),
    (
        "neqo",
        Migration {
            initial_rtt: SHORT_RTT,
            port: PortOnly::Reset,
            ..RFC
        },
    ),
    (
        "quiche",
        Migration {
            controller: ControllerAfter::Restore,
            port: PortOnly::Reset,
            ..RFC
        },
    ),
    (
        "google-quiche",
        Migration {
            initial_rtt: SHORT_RTT,
            in_flight: InFlightAfter::Retransmit,
            window: 32,
            ..RFC
        },
    ),
    (
        "picoquic",
        Migration {
            controller: ControllerAfter::Keep,
            rtt: RttAfter::Challenge,
            in_flight: InFlightAfter::Keep,
            ..RFC
        },
    ),
    (
        "msquic",
        Migration {
            in_flight: InFlightAfter::Keep,
            port: PortOnly::Controller,
            ..RFC
        },
    ),
];

impl Migration {
    /// That of RFC 9000.
    pub const RFC: Self = RFC;

    /// The behaviour of the stack of this name.
    pub fn named(name: &str) -> Option<Self> {
        let row = MIGRATIONS.iter().find(|(one, _)| *one == name);
        row.map(|(_, migration)| *migration)
    }

    /// The stack that does this, if one does.
    pub fn name(&self) -> Option<&'static str> {
        let row = MIGRATIONS.iter().find(|(_, one)| one == self);
        row.map(|(name, _)| *name)
    }
}
