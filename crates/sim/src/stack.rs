//! Protocol stacks that speak in datagrams: an end of a flow whose packets are bytes.

use std::fmt::Debug;

use midflight_control::Notice;
use midflight_units::Instant;

use crate::config::NodeId;

/// One end of a flow of datagrams, without I/O: the world carries what it sends and owns time.
/// After every call the world takes what [`Self::poll_datagram`] has, until that is none, and
/// asks for the next timeout.
pub trait Stack: Debug + Send + Sync {
    /// The application at this end opens the flow. The other end waits for it.
    fn open(&mut self, now: Instant);

    /// A datagram of the other end has arrived.
    fn on_datagram(&mut self, now: Instant, datagram: &[u8]);

    /// The next datagram to send: all bytes that count on a link, the IP header included.
    fn poll_datagram(&mut self, now: Instant) -> Option<Box<[u8]>>;

    /// When it wants to be woken.
    fn next_timeout(&self) -> Option<Instant>;

    /// It is then, or was: a call at another time changes nothing.
    fn on_timeout(&mut self, now: Instant);

    /// It is told of a handoff, as a sender is by a handoff notice.
    fn on_notice(&mut self, _now: Instant, _notice: &Notice) {}

    /// The host is about to leave its link.
    fn on_warning(&mut self, _now: Instant) {}

    /// The host is on another link.
    fn on_attached(&mut self, _now: Instant) {}

    /// One that does the same from here on; none if it cannot be copied. The copy of a world fails
    /// where it needs an end that could not be copied.
    fn copy(&self) -> Option<Box<dyn Stack>>;
}

/// A flow of datagrams between two nodes.
#[derive(Debug)]
pub struct StackConfig {
    /// The node that opens it, and the other one.
    pub nodes: [NodeId; 2],
    /// What runs there.
    pub ends: [Box<dyn Stack>; 2],
}

/// An end of a flow of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The one that opens the flow.
    Client,
    /// The other one.
    Server,
}

impl End {
    pub(crate) const BOTH: [Self; 2] = [Self::Client, Self::Server];

    pub(crate) fn place(self) -> usize {
        usize::from(self == Self::Server)
    }

    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        Self::BOTH[1 - self.place()]
    }
}

/// A datagram on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The end that sent it.
    pub from: End,
    /// Its number among those of the flow, both ends together, from 0.
    pub number: u64,
    /// When it was sent.
    pub sent: Instant,
    /// All of it.
    pub bytes: Box<[u8]>,
}
