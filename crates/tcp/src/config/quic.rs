//! The options that RFC 9000 and RFC 9002 leave to a QUIC stack when its peer's address changes.

use midflight_units::Duration;

/// Bytes of a QUIC datagram that are not stream data: IPv4 and UDP (28), the short packet header (1 byte of flags, a
/// connection identifier of 8, a packet number of 2), the STREAM frame header (6) and the tag (16).
pub const QUIC_OVERHEAD: u32 = 28 + 11 + 6 + 16;
/// Bytes of the IPv4 and UDP headers, which do not count in the limit of RFC 9000 section 8.1.
pub(crate) const UDP_HEADERS: u32 = 28;
/// Minimum size of a datagram with a path validation frame (RFC 9000 section 8.2.1), plus the IPv4 and UDP headers.
pub(crate) const PATH_FRAME_BYTES: u32 = 1200 + UDP_HEADERS;

/// What a migration does to the congestion controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControllerAfter {
    /// It is reset (RFC 9000 section 9.4).
    Reset,
    /// It continues.
    Keep,
    /// It is reset on an unknown path, and continues with its earlier state on a known path.
    Restore,
}

/// What a migration does to the estimate of the round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttAfter {
    /// It is reset (RFC 9000 section 9.4).
    Reset,
    /// It continues.
    Keep,
    /// It is kept until the response to the PATH_CHALLENGE gives a new sample.
    Challenge,
}

/// What a migration does to the packets in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFlightAfter {
    /// They count in the window of the new path, and their losses count as congestion there.
    Keep,
    /// They do not count there. Lost ones are retransmitted without a reduction of the window.
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
    /// Only the controller.
    Controller,
}

/// When data is sent to a new address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// As soon as the address is detected; until it is validated, at most three times the bytes received from it (RFC
    /// 9000 section 9.3).
    Before,
    /// When it is validated; until then data is sent to the old address.
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
    /// Packets of the old path give RTT samples for the new one, which RFC 9000 section 9.4 forbids.
    pub old_samples: bool,
    /// Packets in flight.
    pub in_flight: InFlightAfter,
    /// Window of a new path, in packets.
    pub window: u32,
    /// What is kept if only the port changes.
    pub port: PortOnly,
    /// When data is sent to the new address.
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
    /// The behaviour that RFC 9000 describes.
    pub const RFC: Self = RFC;

    /// The behaviour of the stack of this name.
    pub fn named(name: &str) -> Option<Self> {
        let row = MIGRATIONS.iter().find(|(one, _)| *one == name);
        row.map(|(_, migration)| *migration)
    }

    /// The name of the stack with this behaviour, if there is one.
    pub fn name(&self) -> Option<&'static str> {
        let row = MIGRATIONS.iter().find(|(_, one)| one == self);
        row.map(|(name, _)| *name)
    }
}
