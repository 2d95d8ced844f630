//! What a driver needs of a stack, and the clock of stacks.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
#[cfg(any(feature = "quinn", feature = "noq"))]
use std::sync::OnceLock;
#[cfg(any(feature = "quinn", feature = "noq"))]
use std::time::Instant as StdInstant;

use midflight_sim::TransportEvent;
use midflight_units::Instant;

/// A connection of a stack with its application, at one end. What is observed of it is reported by the functions of
/// [`crate::foreign`].
pub trait Machine: Send + Sync {
    /// The client begins the handshake.
    ///
    /// # Errors
    /// The message of the stack.
    fn connect(&mut self, now: Instant) -> Result<(), String>;

    /// A datagram has arrived from one address at another, with these bits of ECN.
    ///
    /// # Errors
    /// The message of the stack.
    fn take(
        &mut self,
        now: Instant,
        ends: (SocketAddr, SocketAddr),
        ecn: u8,
        payload: &[u8],
    ) -> Result<(), String>;

    /// The next datagram, written to `buf`.
    ///
    /// # Errors
    /// The message of the stack.
    fn transmit(&mut self, now: Instant, buf: &mut Vec<u8>) -> Result<Option<Transmit>, String>;

    /// Its timer is due.
    ///
    /// # Errors
    /// The message of the stack.
    fn on_timeout(&mut self, now: Instant) -> Result<(), String>;

    /// When its timer is due.
    fn next_timeout(&mut self) -> Option<Instant>;

    /// The application has so many bytes to send on a stream of their own.
    ///
    /// # Errors
    /// The message of the stack.
    fn send(&mut self, now: Instant, bytes: u64) -> Result<(), String>;

    /// Its address is another. Whether it `migrates`: otherwise it does not know.
    ///
    /// # Errors
    /// The message of the stack.
    fn on_address(
        &mut self,
        now: Instant,
        address: SocketAddr,
        migrates: bool,
    ) -> Result<(), String>;

    /// It has this address too. A stack that knows one path at a time migrates to it. Returns whether a path from it is
    /// opened beside the others.
    ///
    /// # Errors
    /// The message of the stack.
    fn on_second_address(&mut self, now: Instant, address: SocketAddr) -> Result<bool, String> {
        self.on_address(now, address, true)?;
        Ok(false)
    }

    /// The window of a path in bytes, if the stack has several.
    fn window(&self, _path: u64) -> Option<u64> {
        None
    }

    /// The next path begins with so many bytes.
    fn resume(&mut self, bytes: u64);

    /// Whether there is a connection.
    fn has_connection(&self) -> bool;

    /// The address of the other end on the path in use, of several on the newest one.
    fn peer(&self) -> Option<SocketAddr>;

    /// How many packets it has taken for lost.
    fn lost(&mut self) -> u64;

    /// What there is to report.
    fn outcome(&mut self) -> &mut Outcome;
}

/// A datagram to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Where to.
    pub to: SocketAddr,
    /// Where from, if the stack says so; otherwise from the node's present address.
    pub from: Option<IpAddr>,
    /// Its bits of ECN.
    pub ecn: u8,
}

/// What comes of calls of a stack, besides its packets.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What the endpoint itself answers: where to, and what.
    pub answers: VecDeque<(SocketAddr, Vec<u8>)>,
    /// Events of the connection.
    pub events: Vec<TransportEvent>,
    /// Numbers of the streams of the other end that have been read to their end.
    pub read: Vec<u64>,
}

/// Where the stacks' clock stands at the start of every run. Only differences count.
#[cfg(any(feature = "quinn", feature = "noq"))]
pub(crate) fn base() -> StdInstant {
    static BASE: OnceLock<StdInstant> = OnceLock::new();
    #[allow(
        clippy::disallowed_methods,
        reason = "an instant has no other origin; nothing depends on when this is"
    )]
    *BASE.get_or_init(StdInstant::now)
}

/// Instants of the simulator as those of a stack.
#[cfg(any(feature = "quinn", feature = "noq"))]
pub(crate) fn to_std(at: Instant) -> StdInstant {
    base() + std::time::Duration::from_nanos(at.as_nanos())
}

/// The first instant of the simulator that is not before one of a stack.
#[cfg(any(feature = "quinn", feature = "noq"))]
pub(crate) fn from_std(at: StdInstant) -> Instant {
    Instant::from_nanos(at.saturating_duration_since(base()).as_nanos() as u64)
}

/// Bytes for a purpose, from a seed.
pub(crate) fn derive(seed: &[u8; 32], purpose: &str) -> [u8; 32] {
    *blake3::keyed_hash(seed, purpose.as_bytes()).as_bytes()
}

/// The bytes of each stream of a transfer: equal shares; what is left over goes to the first ones.
pub(crate) fn shares(total: Option<u64>, streams: u64) -> VecDeque<u64> {
    let share = |stream| {
        let share = |total: u64| total / streams + u64::from(stream < total % streams);
        total.map_or(u64::MAX, share)
    };
    (0..streams).map(share).collect()
}
