//! What a driver needs of a stack, and the clock of stacks.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Instant as StdInstant;

use midflight_sim::TransportEvent;
use midflight_units::Instant;

/// A connection of a stack with its application, at one end.
pub(crate) trait Machine {
    /// The client begins the handshake.
    ///
    /// # Errors
    /// What the stack says.
    fn connect(&mut self, now: Instant) -> Result<(), String>;

    /// A datagram has arrived, with these bits of ECN.
    ///
    /// # Errors
    /// What the stack says.
    fn take(
        &mut self,
        now: Instant,
        from: SocketAddr,
        ecn: u8,
        payload: &[u8],
    ) -> Result<(), String>;

    /// The next datagram: written to `buf`, where to and with which bits of ECN.
    fn transmit(&mut self, now: Instant, buf: &mut Vec<u8>) -> Option<(SocketAddr, u8)>;

    /// Its timer is due.
    fn on_timeout(&mut self, now: Instant);

    /// When its timer is due.
    fn next_timeout(&mut self) -> Option<Instant>;

    /// The application has so many bytes to send on a stream of their own.
    fn send(&mut self, bytes: u64);

    /// Its address is another. Whether it `migrates`: otherwise it does not know.
    fn on_address(&mut self, now: Instant, address: SocketAddr, migrates: bool);

    /// The next path begins with so many bytes.
    fn resume(&mut self, bytes: u64);

    /// Whether there is a connection.
    fn has_connection(&self) -> bool;

    /// The address of the other end on the path in use.
    fn peer(&self) -> Option<SocketAddr>;

    /// How many packets it has taken for lost.
    fn lost(&mut self) -> u64;

    /// What there is to report.
    fn outcome(&mut self) -> &mut Outcome;
}

/// What comes of calls of a stack, besides its packets.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// What the endpoint itself answers: where to, and what.
    pub(crate) answers: VecDeque<(SocketAddr, Vec<u8>)>,
    pub(crate) events: Vec<TransportEvent>,
    /// Numbers of the streams of the other end that have been read to their end.
    pub(crate) read: Vec<u64>,
}

/// Where the stacks' clock stands at the start of every run. Only differences count.
pub(crate) fn base() -> StdInstant {
    static BASE: OnceLock<StdInstant> = OnceLock::new();
    #[allow(
        clippy::disallowed_methods,
        reason = "an instant has no other origin; nothing depends on when this is"
    )]
    *BASE.get_or_init(StdInstant::now)
}

/// Instants of the simulator as those of a stack.
pub(crate) fn to_std(at: Instant) -> StdInstant {
    base() + std::time::Duration::from_nanos(at.as_nanos())
}

/// The first instant of the simulator that is not before one of a stack.
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
