//! The configuration of a flow over QUIC.

use std::fmt;
use std::io::{self, Write};
use std::net::SocketAddrV4;
use std::sync::{Arc, Mutex, PoisonError};

use midflight_sim::{DataConfig, End, Stack};
use midflight_units::Duration;

use crate::foreign;

/// The port of servers: HTTP/3's.
pub const PORT: u16 = 443;

/// Bytes of data that count as a packet: those of a full packet of 1200 bytes, less its header (a byte of flags,
/// a connection identifier of 8, a packet number of 2), the header of a STREAM frame (1 + 1 + 4) and the tag of 16.
pub const SEGMENT_BYTES: u32 = 1200 - 11 - 6 - 16;

/// A stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicStack {
    /// quinn-proto.
    Quinn,
    /// noq-proto.
    Noq,
    /// aioquic, which is written in Python ([`crate::foreign`]).
    Aioquic,
}

/// A congestion controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// CUBIC.
    Cubic,
    /// BBR.
    Bbr,
    /// NewReno.
    NewReno,
}

impl Congestion {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Cubic, Self::Bbr, Self::NewReno];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::NewReno => "newreno",
        }
    }

    /// The one of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// Why a flow cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The stack is not built in.
    #[error("the stack \"{0}\" is not built in; expected another stack, or a build of midflight with the feature {0}")]
    NotBuilt(&'static str),
    /// TLS is not built in.
    #[error(
        "TLS is not built in; expected tls = false, or a build of midflight with the feature tls"
    )]
    NoTls,
    /// A foreign stack is missing or cannot be used, and why.
    #[error("{0}")]
    NotInstalled(String),
    /// It has no null session.
    #[error(
        "the stack \"{0}\" always encrypts, without a null session; expected tls = true, or none"
    )]
    AlwaysEncrypts(&'static str),
    /// It keeps its window at a migration.
    #[error("the stack \"{0}\" keeps its window at a migration, so no path begins with another one; expected resume = false")]
    KeepsWindow(&'static str),
    /// Its connections have one path.
    #[error(
        "the stack \"{0}\" has one path at a time; expected multipath = false, or stack = \"noq\""
    )]
    OnePath(&'static str),
    /// A client with several paths knows its addresses.
    #[error("a client that opens a second path knows its address, and migration is \"passive\"; expected migration = \"active\", or multipath = false")]
    Unaware,
    /// Its TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Broken(String),
    /// The stack has not got that.
    #[error("the stack \"{stack}\" has no {what}; expected {accepted}")]
    Unknown {
        /// The stack.
        stack: &'static str,
        /// What was asked for.
        what: String,
        /// What it has.
        accepted: String,
    },
}

impl QuicStack {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Quinn, Self::Noq, Self::Aioquic];

    /// Their names, for a sentence.
    pub fn names() -> String {
        let [quinn, noq, aioquic] = Self::ALL.map(Self::name);
        format!("\"{quinn}\", \"{noq}\" or \"{aioquic}\"")
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quinn => "quinn",
            Self::Noq => "noq",
            Self::Aioquic => "aioquic",
        }
    }

    /// What it is a version of.
    pub fn version(self) -> &'static str {
        match self {
            Self::Quinn => "quinn-proto 0.11.19",
            Self::Noq => "noq-proto 1.4.0",
            Self::Aioquic => "aioquic 1.7.2",
        }
    }

    /// Whether this build can run it; a foreign one may still not be installed ([`Self::check`]).
    pub fn is_built(self) -> bool {
        match self {
            Self::Quinn => cfg!(feature = "quinn"),
            Self::Noq => cfg!(feature = "noq"),
            Self::Aioquic => foreign::host().is_some(),
        }
    }

    /// Whether it can run here.
    ///
    /// # Errors
    /// [`Refused::NotBuilt`], [`Refused::NotInstalled`].
    pub fn check(self) -> Result<(), Refused> {
        match self {
            Self::Quinn | Self::Noq if self.is_built() => Ok(()),
            Self::Quinn | Self::Noq => Err(Refused::NotBuilt(self.name())),
            Self::Aioquic => foreign::check(self),
        }
    }

    /// Whether it always encrypts.
    pub fn always_encrypts(self) -> bool {
        match self {
            Self::Quinn | Self::Noq => false,
            Self::Aioquic => true,
        }
    }

    /// Whether it begins with a new window on a new path, which a notice can set.
    pub fn starts_afresh(self) -> bool {
        match self {
            Self::Quinn | Self::Noq => true,
            Self::Aioquic => false,
        }
    }

    /// Whether its connections can have several paths at a time.
    pub fn has_multipath(self) -> bool {
        match self {
            Self::Noq => true,
            Self::Quinn | Self::Aioquic => false,
        }
    }

    /// Its congestion controllers, the usual one first.
    pub fn congestion(self) -> &'static [Congestion] {
        match self {
            Self::Quinn | Self::Noq => &[Congestion::Cubic, Congestion::NewReno, Congestion::Bbr],
            Self::Aioquic => &[Congestion::NewReno, Congestion::Cubic],
        }
    }
}

/// A stack's own log, if enabled. It is not part of the identity of a flow.
#[derive(Clone, Default)]
pub struct Log(Option<Arc<Mutex<Vec<u8>>>>);

impl Log {
    /// One that keeps what is written.
    pub fn kept() -> Self {
        Self(Some(Arc::default()))
    }

    /// How many bytes were written so far.
    pub fn len(&self) -> usize {
        let kept = self.0.as_ref();
        kept.map_or(0, |kept| {
            kept.lock().unwrap_or_else(PoisonError::into_inner).len()
        })
    }

    /// Whether nothing was.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What was written so far.
    pub fn take(&self) -> Vec<u8> {
        let lock = |kept: &Arc<Mutex<Vec<u8>>>| {
            std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner))
        };
        self.0.as_ref().map_or(Vec::new(), lock)
    }

    /// Where a stack writes, if it shall.
    pub(crate) fn writer(&self) -> Option<Box<dyn Write + Send + Sync>> {
        let kept = Arc::clone(self.0.as_ref()?);
        Some(Box::new(Writer(kept)))
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}

impl PartialEq for Log {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

struct Writer(Arc<Mutex<Vec<u8>>>);

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A flow over QUIC.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Whose code it runs.
    pub stack: QuicStack,
    /// Its congestion controller, at both ends.
    pub congestion: Congestion,
    /// Real TLS 1.3; otherwise packets are not encrypted, and have the same sizes.
    pub tls: bool,
    /// The idle timeout of the connection; the stack's own value if there is none.
    pub idle: Option<Duration>,
    /// How many streams carry the data, in equal shares; none where an application says what is sent.
    pub streams: u64,
    /// The client knows its new address and migrates; otherwise the server detects it.
    pub migrates: bool,
    /// Both ends negotiate several paths (draft-ietf-quic-multipath). With a second address the client opens a path, and closes
    /// the old one when the new one is validated.
    pub multipath: bool,
    /// After a handoff notice a path begins with half of the link's bandwidth-delay product in the
    /// notice.
    pub resumes: bool,
    /// The end that sends the data.
    pub sender: End,
    /// How many bytes; none for no end.
    pub total: Option<u64>,
    /// Seed of every random source.
    pub seed: [u8; 32],
    /// Where the client is at first.
    pub client: SocketAddrV4,
    /// Where the server is.
    pub server: SocketAddrV4,
    /// What the end that sends the data writes of itself, as qlog.
    pub log: Log,
}

impl Flow {
    /// Whether it can be.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn check(&self) -> Result<(), Refused> {
        let stack = self.stack;
        stack.check()?;
        if stack.always_encrypts() && !self.tls {
            return Err(Refused::AlwaysEncrypts(stack.name()));
        }
        if self.multipath && !stack.has_multipath() {
            return Err(Refused::OnePath(stack.name()));
        }
        if self.multipath && !self.migrates {
            return Err(Refused::Unaware);
        }
        if self.resumes && !stack.starts_afresh() {
            return Err(Refused::KeepsWindow(stack.name()));
        }
        if self.tls && !stack.always_encrypts() && !cfg!(feature = "tls") {
            return Err(Refused::NoTls);
        }
        if !stack.congestion().contains(&self.congestion) {
            let names = stack.congestion().iter().map(|one| one.name());
            return Err(Refused::Unknown {
                stack: stack.name(),
                what: format!("congestion control \"{}\"", self.congestion.name()),
                accepted: names.collect::<Vec<_>>().join(", "),
            });
        }
        Ok(())
    }

    /// What the simulator has to know of its data.
    pub fn data(&self) -> DataConfig {
        DataConfig {
            sender: self.sender,
            segment_bytes: SEGMENT_BYTES,
            total: self.total,
        }
    }

    /// Its ends: client and server.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn ends(&self) -> Result<[Box<dyn Stack>; 2], Refused> {
        self.check()?;
        /// Both ends of a stack, of a build that has it.
        macro_rules! ends {
            ($stack:ident, $name:literal) => {{
                #[cfg(feature = $name)]
                let ends = [End::Client, End::Server].map(|side| {
                    let end = crate::$stack::end(self, side).map_err(Refused::Broken)?;
                    Ok(Box::new(end) as Box<dyn Stack>)
                });
                #[cfg(not(feature = $name))]
                let ends = [(); 2].map(|()| Err(Refused::NotBuilt($name)));
                ends
            }};
        }
        let [client, server] = match self.stack {
            QuicStack::Quinn => ends!(quinn, "quinn"),
            QuicStack::Noq => ends!(noq, "noq"),
            QuicStack::Aioquic => [End::Client, End::Server].map(|side| foreign::end(self, side)),
        };
        Ok([client?, server?])
    }

    /// Where an end is at first.
    pub(crate) fn address(&self, side: End) -> SocketAddrV4 {
        match side {
            End::Client => self.client,
            End::Server => self.server,
        }
    }
}

/// `cargo test -p midflight-quic --no-default-features --lib`
#[cfg(all(test, not(feature = "quinn")))]
mod tests {
    use super::QuicStack;

    #[test]
    fn a_stack_that_is_not_built_in_is_reported_in_a_sentence() {
        let error = QuicStack::Quinn.check().err().map(|e| e.to_string());
        let expected = "the stack \"quinn\" is not built in; expected another stack, or a build of midflight with the feature quinn";
        assert_eq!(error.as_deref(), Some(expected));
    }
}
