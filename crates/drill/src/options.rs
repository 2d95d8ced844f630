//! The options of sockets: setsockopt() and getsockopt(). Comments name the functions of Linux.

use midflight_units::Duration;

use super::call::{argument, Returned};
use super::environment::has_congestion;
use super::icmp::error_number;
use super::runner::Runner;
use super::script::Call;
use super::value::Value;
use super::DrillError;

/// Bytes of memory of a packet besides its data: MAX_TCP_HEADER, struct skb_shared_info and struct sk_buff.
const LARGEST_HEADER: u64 = 320;
const SHARED_INFO: u64 = 320;
const BUFFER_HEAD: u64 = 256;

/// No option has a larger number.
const MOST_NUMBER: u32 = 255;

/// The values of IP_MTU_DISCOVER.
const PMTU_VALUES: [&str; 6] = [
    "IP_PMTUDISC_DONT",
    "IP_PMTUDISC_WANT",
    "IP_PMTUDISC_DO",
    "IP_PMTUDISC_PROBE",
    "IP_PMTUDISC_INTERFACE",
    "IP_PMTUDISC_OMIT",
];

/// Socket options without a visible effect in a script.
const IDLE_OPTIONS: &[&str] = &[
    "SO_REUSEADDR",
    "SO_REUSEPORT",
    "SO_BINDTODEVICE",
    "SO_DONTROUTE",
    "SO_MARK",
    "SO_PRIORITY",
    "SO_BUSY_POLL",
    "SO_INCOMING_CPU",
    "SO_INCOMING_NAPI_ID",
    "SO_BROADCAST",
    "SO_DEBUG",
    "SO_LOCK_FILTER",
    "SO_TXREHASH",
    "SO_TIMESTAMP",
    "SO_TIMESTAMPNS",
    "SO_RXQ_OVFL",
    "SO_RESERVE_MEM",
    "SO_PREFER_BUSY_POLL",
    "SO_BUSY_POLL_BUDGET",
    "SO_PASSCRED",
    "SO_SELECT_ERR_QUEUE",
    "SO_NOFCS",
    "SO_PEEK_OFF",
    "SO_TIMESTAMP_NEW",
    "SO_TIMESTAMPNS_NEW",
    "TCP_SAVE_SYN",
    "TCP_THIN_DUPACK",
    "IP_TOS",
    "IP_TTL",
    "IP_MTU_DISCOVER",
    "IP_RECVERR",
    "IP_BIND_ADDRESS_NO_PORT",
    "IP_FREEBIND",
    "IP_PKTINFO",
    "IP_RECVTOS",
    "IP_RECVTTL",
    "IPV6_AUTOFLOWLABEL",
    "IPV6_FLOWINFO_SEND",
    "IPV6_MTU_DISCOVER",
    "IPV6_RECVTCLASS",
    "IPV6_TCLASS",
    "IPV6_UNICAST_HOPS",
    "IPV6_V6ONLY",
    "IPV6_RECVERR",
];

/// Options that are only read, or whose value depends on the machine: they are read, and not compared.
const READ_OPTIONS: &[&str] = &[
    "SO_COOKIE",
    "SO_INCOMING_CPU",
    "SO_INCOMING_NAPI_ID",
    "SO_MEMINFO",
    "SO_NETNS_COOKIE",
    "SO_PEERNAME",
    "SO_PEERCRED",
    "SO_PEERSEC",
    "SO_TXREHASH",
    "TCP_CC_INFO",
    "TCP_FASTOPEN_KEY",
    "TCP_INFO",
    "TCP_QUICKACK",
    "TCP_SAVED_SYN",
    "TCP_TIMESTAMP",
    "TCP_ULP",
    "TCP_WINDOW_CLAMP",
];

/// Socket options with an effect.
const OPTIONS: &[&str] = &[
    "SO_KEEPALIVE",
    "TCP_KEEPIDLE",
    "TCP_KEEPINTVL",
    "TCP_KEEPCNT",
    "TCP_LINGER2",
    "SO_TIMESTAMPING",
    "SO_MAX_PACING_RATE",
    "SO_RCVTIMEO",
    "SO_SNDTIMEO",
    "SO_SNDBUF",
    "SO_SNDBUFFORCE",
    "SO_RCVBUF",
    "SO_RCVBUFFORCE",
    "TCP_NOTSENT_LOWAT",
    "TCP_SYNCNT",
    "TCP_QUICKACK",
    "TCP_DEFER_ACCEPT",
    "TCP_WINDOW_CLAMP",
    "SO_RCVLOWAT",
    "SO_LINGER",
    "SO_OOBINLINE",
    "SO_ZEROCOPY",
    "TCP_NODELAY",
    "TCP_CORK",
    "TCP_CONGESTION",
    "TCP_MAXSEG",
    "TCP_USER_TIMEOUT",
    "TCP_THIN_LINEAR_TIMEOUTS",
    "TCP_INQ",
    "TCP_FASTOPEN",
    "TCP_FASTOPEN_CONNECT",
    "TCP_FASTOPEN_NO_COOKIE",
    "TCP_FASTOPEN_KEY",
];

/// Options of a connection that is being moved (TCP_REPAIR), and their errors for one that is not.
const REPAIR_OPTIONS: &[(&str, &str)] = &[
    ("TCP_QUEUE_SEQ", "EPERM"),
    ("TCP_REPAIR_OPTIONS", "EINVAL"),
    ("TCP_REPAIR_QUEUE", "EPERM"),
    ("TCP_REPAIR_WINDOW", "EPERM"),
    ("TCP_TIMESTAMP", "EPERM"),
];

/// Options with a value without which they can be read before they are set (tcp_sk_init(), sk_alloc()).
const DEFAULTS: &[(&str, i64)] = &[
    ("SO_KEEPALIVE", 0),
    ("SO_REUSEADDR", 0),
    ("SO_REUSEPORT", 0),
    ("SO_BROADCAST", 0),
    ("SO_DEBUG", 0),
    ("SO_DONTROUTE", 0),
    ("SO_MARK", 0),
    ("SO_PRIORITY", 0),
    ("SO_MAX_PACING_RATE", 0xffff_ffff),
    ("SO_RCVLOWAT", 1),
    ("SO_TIMESTAMPING", 0),
    ("TCP_FASTOPEN", 0),
    ("TCP_FASTOPEN_CONNECT", 0),
    ("TCP_FASTOPEN_NO_COOKIE", 0),
    ("TCP_SAVE_SYN", 0),
    ("TCP_THIN_DUPACK", 0),
    ("TCP_THIN_LINEAR_TIMEOUTS", 0),
    ("SO_BUSY_POLL", 0),
    ("SO_OOBINLINE", 0),
    ("SO_PEEK_OFF", -1),
    ("SO_RXQ_OVFL", 0),
    ("SO_LOCK_FILTER", 0),
    ("SO_TIMESTAMP", 0),
    ("SO_TIMESTAMPNS", 0),
    ("SO_NO_CHECK", 0),
    ("TCP_REPAIR_QUEUE", 0),
    ("IP_FREEBIND", 0),
    ("IP_MINTTL", 0),
    ("IP_BIND_ADDRESS_NO_PORT", 0),
    ("IPV6_TCLASS", 0),
    ("IPV6_UNICAST_HOPS", 64),
    ("IPV6_V6ONLY", 0),
    ("IPV6_RECVERR", 0),
    ("IPV6_MTU_DISCOVER", 1),
    ("SO_PASSCRED", 0),
    ("TCP_IS_MPTCP", 0),
    ("TCP_REPAIR", 0),
    ("TCP_TX_DELAY", 0),
    // IP_PMTUDISC_WANT.
    ("IP_MTU_DISCOVER", 1),
    ("IP_TOS", 0),
    ("IP_TTL", 64),
    ("IP_RECVERR", 0),
];

/// Options whose value is a number within these bounds (do_tcp_setsockopt()).
const BOUNDS: &[(&str, i64, i64)] = &[
    ("TCP_KEEPIDLE", 1, 32_767),
    ("TCP_KEEPINTVL", 1, 32_767),
    ("TCP_KEEPCNT", 1, 127),
    ("TCP_SYNCNT", 1, 127),
    ("TCP_SAVE_SYN", 0, 2),
    ("TCP_USER_TIMEOUT", 0, i64::MAX),
    ("TCP_THIN_LINEAR_TIMEOUTS", 0, 1),
    ("TCP_INQ", 0, 1),
    ("SO_ZEROCOPY", 0, 1),
];

/// The length of an option's value is below zero (do_sock_setsockopt(), sk_getsockopt(), do_tcp_getsockopt()).
fn has_negative_length(call: &Call) -> bool {
    let length = argument(call, 4).trim_matches(['[', ']']);
    length.parse::<i64>().is_ok_and(|length| length < 0)
}

impl Runner<'_> {
    /// Checks that an option is used with its own level.
    fn level_fits(&self, line: u32, call: &Call) -> Result<(), DrillError> {
        let (level, option) = (argument(call, 1), argument(call, 2));
        let accepted: &[&str] = match option.split_once('_') {
            Some(("SO", _)) => &["SOL_SOCKET"],
            Some(("IP", _)) => &["SOL_IP", "IPPROTO_IP"],
            Some(("IPV6", _)) => &["SOL_IPV6", "IPPROTO_IPV6"],
            _ => &["SOL_TCP", "IPPROTO_TCP"],
        };
        if accepted.contains(&level) {
            return Ok(());
        }
        let what = format!("{option} with the level \"{level}\"");
        self.refuse(line, what, &format!("expected {}", accepted.join(" or ")))
    }

    /// The value of an option, an integer in brackets.
    fn value(&self, line: u32, call: &Call) -> Result<i64, DrillError> {
        let text = argument(call, 3);
        let inner = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
        let value = call.values.get(3).and_then(Option::as_ref);
        let number = value.filter(|v| v.items().len() == 1);
        if let Some(number) = number.and_then(Value::number) {
            return Ok(number);
        }
        if argument(call, 2) == "SO_TIMESTAMPING" {
            let names = value.and_then(|v| v.items().first()?.names());
            return self.timestamp_flags(line, names.unwrap_or_default());
        }
        let named = inner.and_then(|text| PMTU_VALUES.iter().position(|name| *name == text));
        if let Some(number) = named.filter(|_| argument(call, 2) == "IP_MTU_DISCOVER") {
            return Ok(number as i64);
        }
        let what = format!("\"{text}\" as the value of {}", argument(call, 2));
        self.refuse(line, what, "expected a whole number in brackets: [1]")
    }

    pub(super) fn set_option(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        let is_connection = self.connection_of(line, call)?;
        if has_negative_length(call) {
            return Ok(Err("EINVAL"));
        }
        let option = argument(call, 2);
        if let Some(&(_, error)) = REPAIR_OPTIONS.iter().find(|(name, _)| *name == option) {
            return Ok(Err(error));
        }
        if option
            .parse::<u32>()
            .is_ok_and(|number| number > MOST_NUMBER)
        {
            return Ok(Err("ENOPROTOOPT"));
        }
        let is_idle = IDLE_OPTIONS.contains(&option);
        if !is_idle && !OPTIONS.contains(&option) {
            let why = format!(
                "known are {}, {}",
                OPTIONS.join(", "),
                IDLE_OPTIONS.join(", ")
            );
            return self.refuse(line, format!("the option {option}"), &why);
        }
        self.level_fits(line, call)?;
        self.number(line, call, 4)?;
        if option == "TCP_FASTOPEN_KEY" {
            return self.set_fast_open_key(line, call);
        }
        if option == "TCP_CONGESTION" {
            let name = argument(call, 3).trim_matches(['[', ']', '"']);
            if call.error.as_deref() == Some("ENOENT") && !has_congestion(name) {
                return Ok(Err("ENOENT"));
            }
            self.environment.congestion(line, name)?;
            let chosen = self.environment.built.profile.parts.congestion;
            if let Some(connection) = self.connection.as_mut().filter(|_| is_connection) {
                connection.set_congestion(&chosen);
            }
            return Ok(Ok(0));
        }
        if matches!(option, "SO_RCVTIMEO" | "SO_SNDTIMEO" | "SO_LINGER") {
            return self.set_structure(line, call);
        }
        if option == "SO_BINDTODEVICE" {
            self.environment
                .note(line, format!("{option} has no effect here"));
            return Ok(Ok(0));
        }
        let value = self.value(line, call)?;
        if self.number(line, call, 4)? < 4 && !option.starts_with("IP_") {
            // sk_setsockopt(), do_tcp_setsockopt(): the length is that of an int; do_ip_setsockopt() takes any.
            return Ok(Err("EINVAL"));
        }
        let bounds = BOUNDS.iter().find(|(name, ..)| *name == option);
        if bounds.is_some_and(|(_, least, most)| !(*least..=*most).contains(&value)) {
            return Ok(Err("EINVAL"));
        }
        if option == "TCP_WINDOW_CLAMP" && value == 0 && is_connection {
            // tcp_set_window_clamp().
            return Ok(Err("EINVAL"));
        }
        if option == "SO_TIMESTAMPING" {
            return self.set_timestamping(line, value, is_connection);
        }
        if option == "TCP_LINGER2" || option.starts_with("TCP_KEEP") {
            self.set_watch(option, value);
            return Ok(Ok(0));
        }
        let kept = self.sockets.kept.insert(option.into(), value);
        let is_rate = option == "SO_MAX_PACING_RATE" && value == -1;
        let value = if is_rate { i64::from(u32::MAX) } else { value };
        let Ok(value) = u64::try_from(value) else {
            if !is_idle {
                let what = format!("{option} with the value {value}");
                return self.refuse(line, what, "expected a whole number from 0 on");
            }
            return Ok(Ok(0));
        };
        if is_idle {
            let text = match option {
                "SO_REUSEADDR" | "SO_REUSEPORT" => return Ok(Ok(0)),
                _ => format!("{option} has no effect here"),
            };
            self.environment.note(line, text);
            return Ok(Ok(0));
        }
        let set = &mut self.sockets.set;
        let connection = self.connection.as_mut();
        match option {
            "SO_SNDBUF" | "SO_SNDBUFFORCE" => self.sockets.buffer.set_limit(value),
            "TCP_NOTSENT_LOWAT" => self.sockets.buffer.set_lowat(value),
            // The kernel doubles the value of SO_RCVBUF, and the window is half of the memory (tcp_win_from_space()).
            "SO_RCVBUF" | "SO_RCVBUFFORCE" | "TCP_WINDOW_CLAMP" => {
                if option == "TCP_WINDOW_CLAMP" {
                    set.window_clamp = Some(value).filter(|&clamp| clamp > 0);
                } else {
                    set.receive_buffer = Some(value);
                }
                if connection.is_some() {
                    let text = format!("{option} has no effect: the connection has started");
                    self.environment.note(line, text);
                }
            }
            "TCP_QUICKACK" => {
                if let Some(connection) = connection.filter(|_| self.environment.is_linux()) {
                    connection.set_quick_acks(value != 0);
                } else {
                    let text = "TCP_QUICKACK has no effect: only a connection of Linux has it";
                    self.environment.note(line, text);
                }
            }
            // ~0 is no limit; pacing goes on.
            "SO_MAX_PACING_RATE" => {
                if !self.environment.is_linux() {
                    let why =
                        "only the sender of Linux has a limit of its rate; choose --profile linux";
                    return self.refuse(line, option.into(), why);
                }
                let is_none = value == u64::from(u32::MAX);
                if is_none && set.pacing_limit.is_none() {
                    return Ok(Ok(0));
                }
                let most = if is_none { u64::MAX } else { value.max(1) };
                set.pacing_limit = Some(most);
                if let Some(connection) = connection {
                    connection.tcp.limit_pacing(most);
                }
            }
            "TCP_DEFER_ACCEPT" => self.sockets.set.defers_accept = value,
            "SO_KEEPALIVE" => {
                let was = std::mem::replace(&mut set.keeps_alive, value != 0);
                let keepalive = set.keeps_alive.then_some(set.keepalive);
                if let Some(connection) = connection.filter(|_| was != (value != 0)) {
                    connection.set_keepalive(keepalive);
                }
            }
            "TCP_THIN_LINEAR_TIMEOUTS" => {
                if value != 0 && !self.environment.is_linux() {
                    let why = "the sender has no linear timeouts; choose --profile linux";
                    return self.refuse(line, option.into(), why);
                }
                set.thin_linear = value != 0;
                let is_linear = set.thin_linear || self.environment.thin_linear;
                if let Some(connection) = connection {
                    connection.tcp.set_thin_linear(is_linear);
                }
            }
            "TCP_SYNCNT" => set.syn_retries = u32::try_from(value).ok(),
            "TCP_FASTOPEN" => {
                if self.sockets.connected.is_some() {
                    return Ok(Err("EINVAL"));
                }
                self.sockets.fast_open_queue = value;
            }
            "TCP_FASTOPEN_NO_COOKIE" => match value {
                0 | 1 if self.sockets.connected.is_none() => self.sockets.no_cookie = value == 1,
                _ => return Ok(Err("EINVAL")),
            },
            // do_tcp_setsockopt().
            "TCP_FASTOPEN_CONNECT" => match value {
                0 | 1 if !self.environment.fast_open.is_client() => return Ok(Err("EOPNOTSUPP")),
                0 | 1 if self.sockets.connected.is_some() => return Ok(Err("EINVAL")),
                0 | 1 => self.sockets.connects_fast = value == 1,
                _ => return Ok(Err("EINVAL")),
            },
            "TCP_NODELAY" => {
                set.nagle = value == 0;
                let nagle = set.nagle;
                if let Some(connection) = connection {
                    connection.set_nagle(nagle);
                }
            }
            "TCP_CORK" => {
                set.corked = value != 0;
                let corked = set.corked;
                if let Some(connection) = connection {
                    connection.set_corked(corked);
                }
            }
            "TCP_USER_TIMEOUT" => {
                let most = (value > 0).then(|| Duration::from_millis(value));
                set.user_timeout = most;
                if let Some(connection) = connection {
                    connection.tcp.set_user_timeout(most);
                }
            }
            "SO_OOBINLINE" => set.urgent_inline = value != 0,
            "SO_ZEROCOPY" => set.zero_copy = value != 0,
            "TCP_INQ" => set.reports_queue = value != 0,
            "SO_RCVLOWAT" => {
                set.least_read = value.max(1);
                if let Some(connection) = connection.filter(|_| is_connection) {
                    connection.tcp.expect(value);
                }
            }
            // TCP_MIN_MSS, MAX_TCP_WINDOW.
            "TCP_MAXSEG" if value != 0 && !(88..=32_767).contains(&value) => {
                match kept {
                    Some(kept) => self.sockets.kept.insert(option.into(), kept),
                    None => self.sockets.kept.remove(option),
                };
                return Ok(Err("EINVAL"));
            }
            "TCP_MAXSEG" if connection.is_none() => {
                self.environment.mss = self.environment.mss.min(value.max(1));
            }
            option => {
                let text = format!("{option} has no effect: the connection has started");
                self.environment.note(line, text);
            }
        }
        Ok(Ok(0))
    }

    /// Sets how long the connection lasts without the other side.
    fn set_watch(&mut self, option: &str, value: i64) {
        // TCP_FIN_TIMEOUT_MAX.
        let most = if option == "TCP_LINGER2" {
            120
        } else {
            i64::MAX
        };
        self.sockets.kept.insert(option.into(), value.min(most));
        let set = &mut self.sockets.set;
        let positive = u64::try_from(value).unwrap_or(0);
        if option == "TCP_LINGER2" {
            set.ends_half_closed = value < 0;
            set.linger = (value > 0).then(|| Duration::from_secs(positive.min(120)));
            let time = set.linger.or(self.environment.fin_timeout);
            let ends = set.ends_half_closed;
            if let Some(connection) = &mut self.connection {
                connection.tcp.set_fin_timeout(time, ends);
            }
            return;
        }
        match option {
            "TCP_KEEPIDLE" => set.keepalive.idle = Duration::from_secs(positive),
            "TCP_KEEPINTVL" => set.keepalive.interval = Duration::from_secs(positive),
            _ => set.keepalive.probes = u32::try_from(positive).unwrap_or(u32::MAX),
        }
        let keepalive = set.keeps_alive.then_some(set.keepalive);
        let is_running = keepalive.is_some();
        if let Some(connection) = self.connection.as_mut().filter(|_| is_running) {
            if option == "TCP_KEEPIDLE" {
                connection.set_keepalive(keepalive);
            } else {
                connection.tcp.change_keepalive(keepalive);
            }
        }
    }

    /// `{onoff=1, linger=0}` and `{tv_sec=1, tv_usec=0}`.
    fn set_structure(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        let option = argument(call, 2);
        let value = call.values.get(3).cloned().flatten().unwrap_or_default();
        let field = |names: [&str; 2], at| {
            let named = names.iter().find_map(|name| value.field(name));
            let number = named.or_else(|| value.at(at)).and_then(Value::number);
            number.and_then(|n| u64::try_from(n).ok())
        };
        let fields = if option == "SO_LINGER" {
            (
                field(["l_onoff", "onoff"], 0),
                field(["l_linger", "linger"], 1),
            )
        } else {
            (field(["tv_sec", "sec"], 0), field(["tv_usec", "usec"], 1))
        };
        let (Some(first), Some(second)) = fields else {
            let what = format!("\"{}\" as the value of {option}", argument(call, 3));
            return self.refuse(line, what, "expected two whole numbers: {1, 0}");
        };
        match option {
            "SO_LINGER" => {
                self.sockets.set.resets = first != 0 && second == 0;
                self.sockets.set.lingers = (first.min(1), second);
            }
            "SO_RCVTIMEO" => {
                let micros = first.saturating_mul(1_000_000).saturating_add(second);
                let timeout = Duration::from_micros(micros.min(86_400_000_000));
                self.sockets.set.receive_timeout = (micros > 0).then_some(timeout);
            }
            _ => {
                let micros = first.saturating_mul(1_000_000).saturating_add(second);
                let timeout = Duration::from_micros(micros.min(86_400_000_000));
                self.sockets.set.send_timeout = (micros > 0).then_some(timeout);
            }
        }
        Ok(Ok(0))
    }

    /// The same as read: two numbers, if the script states them.
    fn compare_structure(&mut self, call: &Call) {
        let set = &self.sockets.set;
        let time = |time: Option<Duration>| {
            let micros = time.map_or(0, |t| t.as_nanos() / 1000);
            (micros / 1_000_000, micros % 1_000_000)
        };
        let option = argument(call, 2);
        let own = match option {
            "SO_LINGER" => set.lingers,
            "SO_RCVTIMEO" => time(set.receive_timeout),
            _ => time(set.send_timeout),
        };
        let value = call.values.get(3).cloned().flatten().unwrap_or_default();
        let number = |at| value.at(at).and_then(Value::number);
        let own = (own.0 as i64, own.1 as i64);
        let differs = [(number(0), own.0), (number(1), own.1)];
        if differs
            .iter()
            .any(|(stated, own)| stated.is_some_and(|stated| stated != *own))
        {
            let seen = format!("it is {{{}, {}}}", own.0, own.1);
            self.differs = Some((format!("{option} is {}", argument(call, 3)), seen));
        }
    }

    /// The keys of TCP Fast Open as text of 16 or 32 bytes (tcp_fastopen_reset_cipher()).
    fn set_fast_open_key(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        let Some(Some(Value::Text(text))) = call.values.get(3) else {
            let what = format!("\"{}\" as a key", argument(call, 3));
            return self.refuse(line, what, "expected a text of 16 or 32 bytes");
        };
        let length = self.number(line, call, 4)?;
        if !matches!(length, 16 | 32) || text.len() as u64 != length {
            return Ok(Err("EINVAL"));
        }
        let word = |bytes: &[u8]| {
            let digits: Vec<_> = bytes.iter().rev().map(|b| format!("{b:02x}")).collect();
            digits.concat()
        };
        let key = |bytes: &[u8]| bytes.chunks(4).map(word).collect::<Vec<_>>().join("-");
        let keys: Vec<_> = text.as_bytes().chunks(16).map(key).collect();
        self.environment.fast_open.set_keys(&keys.join(","));
        Ok(Ok(0))
    }

    /// `getsockopt(3, SOL_SOCKET, SO_ERROR, [0], [4]) = 0`: the value is compared with the
    /// script's.
    pub(super) fn get_option(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        let is_connection = self.connection_of(line, call)?;
        if has_negative_length(call) {
            return Ok(Err("EINVAL"));
        }
        let option = argument(call, 2);
        if option
            .parse::<u32>()
            .is_ok_and(|number| number > MOST_NUMBER)
        {
            return Ok(Err("ENOPROTOOPT"));
        }
        self.level_fits(line, call)?;
        let connection = self.connection.as_ref().filter(|_| is_connection);
        let actual = match option {
            "SO_ERROR" => {
                // sk_getsockopt().
                let error = self.take_error().or_else(|| self.sockets.soft_error.take());
                let name = argument(call, 3).trim_matches(['[', ']']);
                let expected = match name {
                    "0" => None,
                    name => Some(name),
                };
                let number = error.and_then(error_number).map(|n| n.to_string());
                let is_stated = error == expected || number.as_deref() == Some(name);
                if !is_stated && name != "..." {
                    let seen = format!("it is {}", error.unwrap_or("0"));
                    self.differs = Some((format!("SO_ERROR is {name}"), seen));
                }
                return Ok(Ok(0));
            }
            "SO_SNDBUF" | "SO_SNDBUFFORCE" if self.sockets.buffer.limit().is_some() => {
                self.sockets.buffer.limit().map_or(0, |limit| limit as i64)
            }
            // tcp_init_sock(), and tcp_sndbuf_expand() for ten segments.
            "SO_SNDBUF" | "SO_SNDBUFFORCE" => {
                let mss = connection.filter(|c| c.tcp.is_established()).map(|c| {
                    let packet = c.tcp.agreed_bytes() + LARGEST_HEADER + SHARED_INFO;
                    20 * (packet.next_power_of_two() + BUFFER_HEAD)
                });
                self.environment.buffers.1.max(mss.unwrap_or(0)) as i64
            }
            "SO_RCVBUF" | "SO_RCVBUFFORCE" if !self.sockets.kept.contains_key(option) => {
                self.environment.buffers.0 as i64
            }
            "SO_LINGER" | "SO_RCVTIMEO" | "SO_SNDTIMEO" => {
                self.compare_structure(call);
                return Ok(Ok(0));
            }
            // AF_INET, AF_INET6.
            "SO_DOMAIN" => {
                let (name, number) = self.environment.family();
                let stated = argument(call, 3).trim_matches(['[', ']']);
                if stated == name {
                    return Ok(Ok(0));
                }
                number
            }
            "SO_RCVBUF" | "SO_RCVBUFFORCE" => {
                // SOCK_MIN_RCVBUF.
                self.sockets.kept[option].saturating_mul(2).max(2304)
            }
            "TCP_CONGESTION" => {
                let own = self.environment.congestion_name();
                let stated = argument(call, 3).trim_matches(['[', ']', '"']);
                if stated != own && stated != "..." {
                    self.differs = Some((format!("{option} is {stated}"), format!("it is {own}")));
                }
                return Ok(Ok(0));
            }
            // SOCK_STREAM, IPPROTO_TCP.
            "SO_TYPE" => 1,
            "SO_PROTOCOL" => 6,
            "SO_ACCEPTCONN" => i64::from(self.sockets.listens && !is_connection),
            "TCP_LINGER2" if !self.sockets.kept.contains_key(option) => {
                let time = self.environment.fin_timeout;
                time.map_or(60, |time| (time.as_nanos() / 1_000_000_000) as i64)
            }
            "TCP_SYNCNT" if !self.sockets.kept.contains_key(option) => {
                self.environment.syn_retries.map_or(6, i64::from)
            }
            // retrans_to_secs().
            "TCP_DEFER_ACCEPT" => {
                let timeouts = self.sockets.set.deferred_timeouts();
                (0..timeouts).map(|n| (1_i64 << n.min(7)).min(120)).sum()
            }
            "TCP_KEEPIDLE" => (self.sockets.set.keepalive.idle.as_nanos() / 1_000_000_000) as i64,
            "TCP_KEEPINTVL" => {
                (self.sockets.set.keepalive.interval.as_nanos() / 1_000_000_000) as i64
            }
            "TCP_KEEPCNT" => self.sockets.set.keepalive.probes.into(),
            "TCP_NOTSENT_LOWAT" if !self.sockets.kept.contains_key(option) => 0,
            "IP_MTU" => {
                let bytes = connection.map_or(self.environment.mss, |c| c.tcp.path_bytes());
                self.environment.packet(bytes) as i64
            }
            "TCP_NODELAY" => i64::from(!self.sockets.set.nagle),
            "TCP_CORK" => i64::from(self.sockets.set.corked),
            "TCP_INQ" => i64::from(self.sockets.set.reports_queue),
            "SO_ZEROCOPY" => i64::from(self.sockets.set.zero_copy),
            "TCP_MAXSEG" => match connection {
                Some(connection) => connection.tcp.stream().mss() as i64,
                // TCP_MSS_DEFAULT.
                None => self.sockets.kept.get(option).copied().unwrap_or(536),
            },
            "TCP_USER_TIMEOUT" => {
                let most = self.sockets.set.user_timeout;
                most.map_or(0, |most| (most.as_nanos() / 1_000_000) as i64)
            }
            option => {
                let set = self.sockets.kept.get(option).copied();
                let default = DEFAULTS.iter().find(|(name, _)| *name == option);
                let Some(value) = set.or_else(|| Some(default?.1)) else {
                    if READ_OPTIONS.contains(&option) {
                        let text = format!("the value of {option} is not compared");
                        self.environment.note(line, text);
                        return Ok(Ok(0));
                    }
                    let what = format!("getsockopt with {option}");
                    let why = "known are SO_ERROR, SO_TYPE, IP_MTU, TCP_CONGESTION, TCP_NODELAY, TCP_CORK, TCP_INQ, SO_ZEROCOPY, \
                         TCP_MAXSEG, TCP_USER_TIMEOUT, options with a fixed default, and options that were set; the state of the sender is for assertions (tcpi_...)";
                    return self.refuse(line, what, why);
                };
                value
            }
        };
        let value = call.values.get(3).cloned().flatten().unwrap_or_default();
        match value.number() {
            Some(expected) if expected != actual => {
                self.differs = Some((format!("{option} is {expected}"), format!("it is {actual}")));
            }
            _ => {}
        }
        Ok(Ok(0))
    }
}
