//! The statements of a script.

use std::fmt;

use midflight_units::Duration;

use super::code::Step;
use super::icmp::Icmp;
use super::value::Value;

/// A parsed script.
#[derive(Clone, Debug, Default)]
pub(super) struct Script {
    /// Flags of the header, with their lines.
    pub(super) flags: Vec<(u32, String, Option<String>)>,
    pub(super) statements: Vec<Statement>,
    /// Its header comments, with their lines.
    pub(super) headers: Vec<(u32, String)>,
}

/// One event of a script.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) line: u32,
    /// Its source text.
    pub(super) text: String,
    pub(super) when: When,
    pub(super) action: Action,
}

/// The time of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// Between two times since the start of the script.
    At(Duration, Duration),
    /// Between two times since the previous event.
    After(Duration, Duration),
    /// At any time.
    Any,
}

/// The event.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// A segment arrives.
    Arrives(SegmentSpec),
    /// An ICMP message arrives.
    Icmp(Icmp),
    /// A segment is expected to be sent.
    Expects(SegmentSpec),
    /// A system call returns.
    Call(Call),
    /// Shell commands.
    Commands(String),
    /// Assertions about the sender, and assignments for later assertions.
    Code(Vec<Step>),
}

/// The ECN field of an IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ecn {
    Not,
    /// ECT(0) or ECT(1).
    Capable,
    Experienced,
}

/// A segment in the notation of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SegmentSpec {
    pub(super) syn: bool,
    pub(super) fin: bool,
    pub(super) rst: bool,
    pub(super) push: bool,
    /// ECE and CWR (RFC 3168 section 6.1).
    pub(super) ece: bool,
    pub(super) cwr: bool,
    /// The urgent pointer, if the flags include URG.
    pub(super) urgent: Option<u64>,
    /// The flags include ACK.
    pub(super) dot: bool,
    /// The ECN field of the IP header; None if the script does not state it.
    pub(super) ecn: Option<Ecn>,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) ack: Option<u64>,
    pub(super) window: Option<u64>,
    pub(super) options: Options,
}

/// The TCP options of a segment in the notation of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// The script states the options; with `<...>` any are accepted.
    pub(super) stated: bool,
    pub(super) mss: Option<u64>,
    pub(super) window_scale: Option<u64>,
    pub(super) sack_permitted: bool,
    /// Value and echo of the timestamps option.
    pub(super) timestamps: Option<(u64, u64)>,
    /// Edges of the SACK blocks.
    pub(super) sack: Vec<(u64, u64)>,
    /// The cookie of TCP Fast Open (RFC 7413 section 4.1.1); an empty one requests a cookie.
    /// The second value: the option is the experimental one.
    pub(super) cookie: Option<(String, bool)>,
    /// There is a signature (RFC 2385).
    pub(super) signed: bool,
}

/// A system call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) arguments: Vec<String>,
    /// The same as values; none for an argument that cannot be parsed as a value.
    pub(super) values: Vec<Option<Value>>,
    /// The expected return value; none if any is accepted.
    pub(super) result: Option<i64>,
    /// The expected error.
    pub(super) error: Option<String>,
    /// When a blocking call returns: since the start of the script, or since the previous event if
    /// the call's own time is relative.
    pub(super) returns: Option<Duration>,
}

impl fmt::Display for SegmentSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = [
            (self.fin, "F"),
            (self.syn, "S"),
            (self.rst, "R"),
            (self.ece, "E"),
            (self.cwr, "W"),
            (self.urgent.is_some(), "U"),
            (self.dot, "."),
        ];
        for (_, letter) in flags.iter().filter(|(set, _)| *set) {
            f.write_str(letter)?;
        }
        let bytes = self.to.saturating_sub(self.from);
        write!(f, " {}:{}({bytes})", self.from, self.to)?;
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        if let Some((value, echo)) = self.options.timestamps {
            write!(f, " <TS val {value} ecr {echo}>")?;
        }
        if self.options.sack_permitted {
            f.write_str(" <sackOK>")?;
        }
        Ok(())
    }
}
