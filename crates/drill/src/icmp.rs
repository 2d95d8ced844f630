//! ICMP messages that arrive, in response to a segment of ours (RFC 792, RFC 1191, RFC 4443), and what Linux 6.12 does:
//! tcp_v4_err(). Notation: packetdrill's `icmp unreachable frag_needed mtu 1200 [1:1001(1000)]`.

use super::environment::Environment;
use super::runner::{Outcome, Runner};
use super::tested::Tested;
use super::DrillError;

/// The smallest MTU of a path that a message may ask for (net.ipv4.route.min_pmtu).
const LEAST_MTU: u64 = 552;

/// The smallest MTU of IPv6 (RFC 8200 section 5).
const IPV6_MTU: u64 = 1280;

/// The effect of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// The path takes only smaller packets.
    TooBig,
    /// An error: its name in Linux (icmp_err_convert), and whether the network or the host is unreachable (RFC 6069).
    Error(&'static str, bool),
    /// It has none.
    Nothing,
}

/// A message in the notation of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Icmp {
    pub(super) effect: Effect,
    /// The other error of a message in response to a SYN that is being answered: the connection ends.
    pub(super) ends_requests: bool,
    pub(super) mtu: Option<u64>,
    /// The first byte of the segment in it.
    pub(super) from: u64,
}

/// How many codes are those of IPv4.
const OF_IPV4: usize = 16;

/// The codes of `unreachable` by their numbers, with their errors; the last are those of IPv6.
const CODES: &[(&str, Effect)] = &[
    ("net_unreachable", Effect::Error("ENETUNREACH", true)),
    ("host_unreachable", Effect::Error("EHOSTUNREACH", true)),
    ("protocol_unreachable", Effect::Error("ENOPROTOOPT", false)),
    ("port_unreachable", Effect::Error("ECONNREFUSED", false)),
    ("frag_needed", Effect::TooBig),
    ("source_route_failed", Effect::Error("EOPNOTSUPP", false)),
    ("net_unknown", Effect::Error("ENETUNREACH", false)),
    ("host_unknown", Effect::Error("EHOSTDOWN", false)),
    ("source_host_isolated", Effect::Error("ENONET", false)),
    ("net_prohibited", Effect::Error("ENETUNREACH", false)),
    ("host_prohibited", Effect::Error("EHOSTUNREACH", false)),
    (
        "net_unreachable_for_tos",
        Effect::Error("ENETUNREACH", false),
    ),
    (
        "host_unreachable_for_tos",
        Effect::Error("EHOSTUNREACH", false),
    ),
    ("packet_filtered", Effect::Error("EHOSTUNREACH", false)),
    ("comm_prohibited", Effect::Error("EHOSTUNREACH", false)),
    ("precedence_violation", Effect::Error("EHOSTUNREACH", false)),
    ("precedence_cutoff", Effect::Error("EHOSTUNREACH", false)),
    ("no_route", Effect::Error("ENETUNREACH", false)),
    ("admin_prohibited", Effect::Error("EACCES", false)),
    ("not_neighbour", Effect::Error("EHOSTUNREACH", false)),
    ("addr_unreachable", Effect::Error("EHOSTUNREACH", false)),
    ("address_unreachable", Effect::Error("EHOSTUNREACH", false)),
];

/// Linux's numbers of the errors that end a connection.
const NUMBERS: &[(&str, u8)] = &[
    ("EACCES", 13),
    ("EPIPE", 32),
    ("ENONET", 64),
    ("EPROTO", 71),
    ("ENOPROTOOPT", 92),
    ("EOPNOTSUPP", 95),
    ("ENETUNREACH", 101),
    ("ECONNRESET", 104),
    ("ETIMEDOUT", 110),
    ("ECONNREFUSED", 111),
    ("EHOSTDOWN", 112),
    ("EHOSTUNREACH", 113),
];

/// The number of an error that ends a connection.
pub(super) fn error_number(name: &str) -> Option<u8> {
    let known = NUMBERS.iter().find(|(error, _)| *error == name);
    known.map(|(_, number)| *number)
}

/// The types; `unreachable` has a code.
const TYPES: &[(&str, Effect)] = &[
    ("packet_too_big", Effect::TooBig),
    ("time_exceeded", Effect::Error("EHOSTUNREACH", false)),
    ("parameter_problem", Effect::Error("EPROTO", false)),
    ("source_quench", Effect::Nothing),
    ("redirect", Effect::Nothing),
];

impl Icmp {
    /// A message of this type, without its code. None if the type is unknown, or has a code.
    pub(super) fn of_type(name: &str) -> Option<Self> {
        let (_, effect) = TYPES.iter().find(|(known, _)| *known == name)?;
        Some(Self::with(*effect, matches!(effect, Effect::Error(..))))
    }

    /// A message `unreachable` with this code.
    pub(super) fn of_code(name: &str) -> Option<Self> {
        let (_, effect) = CODES.iter().find(|(known, _)| *known == name)?;
        Some(Self::with(
            *effect,
            matches!(effect, Effect::Error(_, true)),
        ))
    }

    /// The same with the number of its code (RFC 792, RFC 1122 section 3.2.2.1).
    pub(super) fn of_number(number: &str) -> Option<Self> {
        let number: usize = number.parse().ok()?;
        let (name, _) = CODES.get(number).filter(|_| number < OF_IPV4)?;
        Self::of_code(name)
    }

    fn with(effect: Effect, ends_requests: bool) -> Self {
        Self {
            effect,
            ends_requests,
            mtu: None,
            from: 0,
        }
    }

    pub(super) fn types() -> String {
        let names: Vec<_> = TYPES.iter().map(|(name, _)| *name).collect();
        format!("unreachable, {}", names.join(", "))
    }

    pub(super) fn codes() -> String {
        let names: Vec<_> = CODES.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }
}

/// Bytes of the option of timestamps in a segment.
const TIMESTAMPS: u64 = 12;

/// Whether no segment is larger than a path with this MTU takes (tcp_v6_mtu_reduced()).
fn takes(connection: &Tested, environment: &Environment, mtu: u64) -> bool {
    let tcp = &connection.tcp;
    let options = if tcp.has_timestamps() { TIMESTAMPS } else { 0 };
    let size = environment.largest(mtu).saturating_sub(options);
    environment.is_linux() && tcp.is_established() && size >= tcp.stream().mss()
}

impl Runner<'_> {
    /// A message arrives.
    pub(super) fn icmp(&mut self, line: u32, message: &Icmp) -> Result<Outcome, DrillError> {
        let Some(connection) = self.connection.as_mut() else {
            return self.refuse(line, "icmp".into(), "there is no connection yet");
        };
        let (stream, view) = (connection.tcp.stream(), connection.tcp.sender().view());
        let una = if connection.tcp.is_open_early() {
            0
        } else {
            stream.byte_of(view.snd_una)
        };
        let is_of_flight = (una..=stream.byte_of(view.snd_max)).contains(&message.from);
        if connection.tcp.is_reset() || connection.tcp.is_done() || !is_of_flight {
            // LINUX_MIB_OUTOFWINDOWICMPS.
            let text = "this message has no effect: it is not about a segment in flight";
            self.environment.note(line, text);
            return Ok(Ok(()));
        }
        match message.effect {
            Effect::Nothing => {}
            // IP_PMTUDISC_DONT, _INTERFACE and _OMIT (tcp_v4_mtu_reduced(), ip_sk_accept_pmtu()).
            Effect::TooBig
                if matches!(self.sockets.kept.get("IP_MTU_DISCOVER"), Some(0 | 4 | 5)) =>
            {
                let text = "this message has no effect: IP_MTU_DISCOVER says so";
                self.environment.note(line, text);
            }
            // __ip6_rt_update_pmtu().
            Effect::TooBig if self.environment.is_ipv6() && message.mtu.unwrap_or(0) < IPV6_MTU => {
                let text = "this message has no effect: a path of IPv6 takes 1280 bytes";
                self.environment.note(line, text);
            }
            Effect::TooBig
                if self.environment.is_ipv6()
                    && takes(connection, &self.environment, message.mtu.unwrap_or(0)) =>
            {
                let text = "this message has no effect: no segment is larger";
                self.environment.note(line, text);
            }
            Effect::TooBig => {
                let mtu = message.mtu.unwrap_or(0).max(LEAST_MTU);
                let bytes = self.environment.largest(mtu);
                let reduced = connection.reduce_path_mtu(bytes);
                self.explain(line, reduced)?;
                // The route keeps it for later connections.
                self.environment.mss = self.environment.mss.min(bytes);
            }
            Effect::Error(error, reverts) => {
                let is_opening = !connection.tcp.is_established();
                if connection.tcp.is_connecting() {
                    self.sockets.icmp_error = Some(error);
                    connection.tcp.end_by_icmp();
                } else if is_opening && message.ends_requests {
                    // tcp_req_err().
                    connection.tcp.end_by_icmp();
                } else if !is_opening {
                    if reverts && message.from == una && !connection.tcp.is_open_early() {
                        connection.revert_back_off();
                    }
                    if self
                        .sockets
                        .kept
                        .get("IP_RECVERR")
                        .is_some_and(|&on| on != 0)
                    {
                        self.sockets.icmp_error = Some(error);
                    } else {
                        self.sockets.soft_error = Some(error);
                    }
                }
            }
        }
        self.settle()?;
        Ok(Ok(()))
    }
}
