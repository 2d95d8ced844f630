//! Stacks that are written in another language: what runs them, and how their observations are reported.
//!
//! The program that has an interpreter of that language installs a [`Host`], once. A stack is a [`Machine`] of the
//! host; the driver is the same as for the other stacks.

use std::collections::VecDeque;
use std::io::Write;
use std::net::SocketAddrV4;
use std::sync::OnceLock;

use midflight_sim::{End, Stack};
use midflight_units::Instant;

use crate::driver::Driver;
use crate::flow::{Flow, QuicStack, Refused};
use crate::machine::{derive, shares};
pub use crate::machine::{Machine, Outcome, Transmit};
use crate::observation::{observe, observe_packet, Observation};
pub use crate::observation::{Message, WindowChange};

/// The certificate of servers (DER), and its key (PKCS 8): Ed25519, whose signatures are not random. They are in
/// the repository, and protect nothing.
pub const CERTIFICATE: &[u8] = include_bytes!("certificate.der");
/// See [`CERTIFICATE`].
pub const KEY: &[u8] = include_bytes!("key.der");
/// The protocol that both ends name in the handshake.
pub const PROTOCOL: &[u8] = b"midflight";
/// Name of the server in the handshake.
pub const SERVER_NAME: &str = "midflight.invalid";

/// What a machine is made of.
pub struct EndConfig<'a> {
    /// The flow.
    pub flow: &'a Flow,
    /// Which of its ends.
    pub side: End,
    /// The server's address.
    pub server: SocketAddrV4,
    /// Seed of every random source of this end.
    pub seed: [u8; 32],
    /// Bytes of the streams that it sends, in their order; [`u64::MAX`] for one without end.
    pub streams: VecDeque<u64>,
    /// Where it writes its own log, if it shall.
    pub log: Option<Box<dyn Write + Send + Sync>>,
}

/// Runs stacks of another language.
pub trait Host: Send + Sync {
    /// Whether a stack can run.
    ///
    /// # Errors
    /// A sentence: what is missing, and how to get it.
    fn check(&self, stack: QuicStack) -> Result<(), String>;

    /// An end of a flow.
    ///
    /// # Errors
    /// What prevents it.
    fn machine(&self, config: EndConfig<'_>) -> Result<Box<dyn Machine>, String>;
}

static HOST: OnceLock<&'static dyn Host> = OnceLock::new();

/// Installs the host of this process. The first one stays.
pub fn install(host: &'static dyn Host) {
    HOST.get_or_init(|| host);
}

pub(crate) fn host() -> Option<&'static dyn Host> {
    HOST.get().copied()
}

pub(crate) fn check(stack: QuicStack) -> Result<(), Refused> {
    let host = host().ok_or_else(|| {
        let name = stack.name();
        Refused::NotInstalled(format!(
            "the stack \"{name}\" is a Python package and runs in the Python package of midflight only; expected a stack without Python"
        ))
    })?;
    host.check(stack).map_err(Refused::NotInstalled)
}

/// An end of a flow that runs a foreign stack.
pub(crate) fn end(flow: &Flow, side: End) -> Result<Box<dyn Stack>, Refused> {
    let host = host().ok_or(Refused::NotBuilt(flow.stack.name()))?;
    let sends = side == flow.sender;
    let name = match side {
        End::Client => "client",
        End::Server => "server",
    };
    let seed = derive(&flow.seed, name);
    let config = EndConfig {
        flow,
        side,
        server: flow.server,
        seed,
        streams: if sends {
            shares(flow.total, flow.streams)
        } else {
            VecDeque::new()
        },
        log: flow.log.writer().filter(|_| sends),
    };
    let machine = host.machine(config).map_err(Refused::Broken)?;
    Ok(Box::new(Driver::new(flow, side, &seed, machine)))
}

/// A packet behind the handshake is sent or has been received; `payload` is not encrypted.
pub fn packet(sent: bool, number: u64, payload: &[u8]) {
    observe_packet(sent, 0, number, payload);
}

/// Losses, as reported to the congestion controller: when the newest of the packets was sent.
pub fn lost(sent: Instant, persistent: bool) {
    observe(Observation::Lost { sent, persistent });
}

/// The controller has another window, or is another one.
pub fn window(bytes: u64, by: WindowChange) {
    observe(Observation::Window { bytes, by });
}

/// An event of a path or a timer.
pub fn said(message: Message) {
    observe(Observation::Said(message));
}

/// A line of a key log.
pub fn secret(line: String) {
    observe(Observation::Secret(line));
}
