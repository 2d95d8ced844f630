//! The system calls of an application: `socket` to `close`, and the options of sockets. Calls for
//! data and readiness are in `data.rs`.

use midflight_endpoint::{FastOpen, Over};
use midflight_units::Duration;

use super::runner::{Outcome, Runner};
use super::script::Call;
use super::sockets::Sockets;
use super::tested::Tested;
use super::value::Value;
use super::DrillError;

/// Linux's value of `O_NONBLOCK`.
const O_NONBLOCK: u64 = 0o4000;
/// Linux's value of `O_RDWR`.
const O_RDWR: u64 = 2;

/// The values of IP_MTU_DISCOVER.
pub(super) const PMTU_VALUES: [&str; 6] = [
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
    "SO_KEEPALIVE",
    "TCP_KEEPIDLE",
    "TCP_KEEPINTVL",
    "TCP_KEEPCNT",
    "TCP_LINGER2",
    "TCP_SAVE_SYN",
    "IP_TOS",
    "IP_TTL",
    "IP_MTU_DISCOVER",
    "IP_RECVERR",
    "IP_BIND_ADDRESS_NO_PORT",
    "IP_FREEBIND",
    "IPV6_TCLASS",
    "IPV6_UNICAST_HOPS",
    "IPV6_V6ONLY",
    "IPV6_RECVERR",
];

/// Socket options with an effect.
const OPTIONS: &[&str] = &[
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
    "SO_ZEROCOPY",
    "TCP_NODELAY",
    "TCP_CORK",
    "TCP_CONGESTION",
    "TCP_MAXSEG",
    "TCP_USER_TIMEOUT",
    "TCP_INQ",
    "TCP_FASTOPEN",
    "TCP_FASTOPEN_CONNECT",
    "TCP_FASTOPEN_NO_COOKIE",
];

/// The result of a call: its value, or the name of its error.
pub(super) type Returned = Result<i64, &'static str>;

/// The result of an attempt at a call: None if it has to wait.
pub(super) type Reply = Option<Returned>;

impl Runner<'_> {
    /// Attempts a call; a waiting call is attempted again after each event.
    pub(super) fn attempt(&mut self, line: u32, call: &Call) -> Result<Reply, DrillError> {
        let returned = match call.name.as_str() {
            "socket" => self.socket(line, call)?,
            "setsockopt" => self.set_option(line, call)?,
            "getsockopt" => self.get_option(line, call)?,
            "fcntl" => self.fcntl(line, call)?,
            "ioctl" => self.ioctl(line, call)?,
            "bind" | "getsockname" | "getpeername" => {
                self.connection_of(line, call)?;
                Ok(0)
            }
            "listen" => {
                self.connection_of(line, call)?;
                self.sockets.listens = true;
                if self.sockets.fast_open_queue == 0 {
                    let backlog = self.number(line, call, 1)?;
                    let queue = self.environment.fast_open.queue(backlog);
                    self.sockets.fast_open_queue = queue.unwrap_or(0);
                }
                Ok(0)
            }
            "accept" | "accept4" => return self.accept(line, call),
            "connect" => return self.connect(line, call),
            "write" | "send" | "sendto" | "writev" | "sendmsg" => return self.write(line, call),
            "sendfile" | "splice" => return self.write_file(line, call),
            "open" | "pipe" | "pipe2" => self.open_file(line, call)?,
            "read" | "recv" | "recvfrom" | "readv" | "recvmsg" => return self.read(line, call),
            "shutdown" => self.shutdown(line, call)?,
            "close" => self.close(line, call)?,
            "poll" => return self.poll(line, call),
            "epoll_create" | "epoll_create1" => Ok(self.epoll_create(call)),
            "epoll_ctl" => self.epoll_control(line, call)?,
            "epoll_wait" => return self.epoll_wait(line, call),
            name => {
                return self.refuse(
                    line,
                    format!("the call {name}"),
                    "known are socket, setsockopt, getsockopt, fcntl, ioctl, bind, listen, accept, \
                     connect, write, writev, send, sendto, sendmsg, read, readv, recv, recvfrom, recvmsg, \
                     open, pipe, sendfile, splice, getsockname, getpeername, shutdown, close, poll, epoll_create, epoll_ctl and epoll_wait",
                )
            }
        };
        Ok(Some(returned))
    }

    /// Checks the socket of a call; returns whether it is the connection's.
    pub(super) fn connection_of(&self, line: u32, call: &Call) -> Result<bool, DrillError> {
        let first = call
            .arguments
            .first()
            .map(String::as_str)
            .unwrap_or_default();
        match first.parse::<i64>().ok() {
            Some(fd) if self.sockets.connected == Some(fd) => Ok(true),
            Some(fd) if self.sockets.listening == Some(fd) => Ok(false),
            _ => self.refuse(
                line,
                format!("{}({first}", call.name),
                "there is no such socket",
            ),
        }
    }

    /// An argument that is an integer, with or without brackets.
    pub(super) fn number(&self, line: u32, call: &Call, index: usize) -> Result<u64, DrillError> {
        let text = argument(call, index);
        if let Ok(number) = text.trim_matches(['[', ']']).parse() {
            return Ok(number);
        }
        let what = format!("\"{text}\" as an argument of {}", call.name);
        self.refuse(line, what, "expected a whole number")
    }

    fn socket(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        if self.sockets.listening.is_some() {
            let what = "a second socket".into();
            let why = "a script has one connection at a time: the socket before is closed first";
            return self.refuse(line, what, why);
        }
        let kinds = [
            (
                0,
                &["...", "AF_INET", "AF_INET6", "PF_INET", "PF_INET6"][..],
            ),
            (1, &["SOCK_STREAM", "SOCK_STREAM|SOCK_NONBLOCK"][..]),
            (2, &["IPPROTO_TCP", "0"][..]),
        ];
        for (index, accepted) in kinds {
            let text = argument(call, index);
            if !accepted.contains(&text) {
                let what = format!("socket with \"{text}\"");
                return self.refuse(line, what, "expected socket(..., SOCK_STREAM, IPPROTO_TCP)");
            }
        }
        self.sockets = Sockets {
            non_blocking: argument(call, 1).ends_with("SOCK_NONBLOCK"),
            epolls: std::mem::take(&mut self.sockets.epolls),
            files: std::mem::take(&mut self.sockets.files),
            ..Sockets::default()
        };
        self.sockets.buffer.set_lowat(self.environment.lowat);
        let fd = call.result.filter(|&fd| fd >= 0).unwrap_or(3);
        self.sockets.listening = Some(fd);
        Ok(Ok(fd))
    }

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
    fn value(&self, line: u32, call: &Call) -> Result<u64, DrillError> {
        let text = argument(call, 3);
        let inner = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
        if let Some(number) = inner.and_then(|number| number.parse().ok()) {
            return Ok(number);
        }
        let named = inner.and_then(|text| PMTU_VALUES.iter().position(|name| *name == text));
        if let Some(number) = named.filter(|_| argument(call, 2) == "IP_MTU_DISCOVER") {
            return Ok(number as u64);
        }
        let what = format!("\"{text}\" as the value of {}", argument(call, 2));
        self.refuse(line, what, "expected a whole number in brackets: [1]")
    }

    fn set_option(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        self.connection_of(line, call)?;
        let option = argument(call, 2);
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
        if option == "TCP_CONGESTION" {
            let name = argument(call, 3).trim_matches(['[', ']', '"']);
            self.environment.congestion(line, name)?;
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
        self.sockets.kept.insert(option.into(), value as i64);
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
            "TCP_DEFER_ACCEPT" => self.sockets.set.defers_accept = value > 0,
            // tcp_sock_set_syncnt().
            "TCP_SYNCNT" => match u32::try_from(value) {
                Ok(retries @ 1..=127) => set.syn_retries = Some(retries),
                _ => return Ok(Err("EINVAL")),
            },
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
            "SO_ZEROCOPY" => set.zero_copy = value != 0,
            "TCP_INQ" => set.reports_queue = value != 0,
            "SO_RCVLOWAT" => set.least_read = value.max(1),
            "TCP_MAXSEG" if connection.is_none() => {
                self.environment.mss = self.environment.mss.min(value.max(1));
            }
            option => {
                let what = format!("the option {option}");
                return self.refuse(line, what, "it is set before the connection starts");
            }
        }
        Ok(Ok(0))
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
            "SO_LINGER" => self.sockets.set.resets = first != 0 && second == 0,
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

    /// `getsockopt(3, SOL_SOCKET, SO_ERROR, [0], [4]) = 0`: the value is compared with the
    /// script's.
    fn get_option(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        let is_connection = self.connection_of(line, call)?;
        let option = argument(call, 2);
        self.level_fits(line, call)?;
        let connection = self.connection.as_ref().filter(|_| is_connection);
        let actual = match option {
            "SO_ERROR" => {
                let error = self.take_error();
                let name = argument(call, 3).trim_matches(['[', ']']);
                let expected = match name {
                    "0" => None,
                    name => Some(name),
                };
                if error != expected && name != "..." {
                    let what = format!("the error {}", error.unwrap_or("0"));
                    return self.refuse(line, what, &format!("the script expects {name}"));
                }
                return Ok(Ok(0));
            }
            "SO_SNDBUF" | "SO_SNDBUFFORCE" if self.sockets.buffer.limit().is_some() => {
                self.sockets.buffer.limit().map_or(0, |limit| limit as i64)
            }
            "SO_RCVBUF" | "SO_RCVBUFFORCE" if self.sockets.kept.contains_key(option) => {
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
            // SOCK_STREAM.
            "SO_TYPE" => 1,
            "IP_MTU" => {
                let bytes = connection.map_or(self.environment.mss, |c| c.tcp.path_bytes());
                self.environment.packet(bytes) as i64
            }
            "TCP_NODELAY" => i64::from(!self.sockets.set.nagle),
            "TCP_CORK" => i64::from(self.sockets.set.corked),
            "TCP_INQ" => i64::from(self.sockets.set.reports_queue),
            "SO_ZEROCOPY" => i64::from(self.sockets.set.zero_copy),
            "TCP_MAXSEG" => {
                let mss = connection.map_or(self.environment.mss, |c| c.tcp.stream().mss());
                mss as i64
            }
            "TCP_USER_TIMEOUT" => {
                let most = self.sockets.set.user_timeout;
                most.map_or(0, |most| (most.as_nanos() / 1_000_000) as i64)
            }
            option => {
                let Some(value) = self.sockets.kept.get(option) else {
                    let what = format!("getsockopt with {option}");
                    let why = "known are SO_ERROR, SO_TYPE, IP_MTU, TCP_CONGESTION, TCP_NODELAY, TCP_CORK, TCP_INQ, SO_ZEROCOPY, \
                         TCP_MAXSEG, TCP_USER_TIMEOUT and what was set; assertions tell of the sender";
                    return self.refuse(line, what, why);
                };
                *value
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

    /// The error with which the connection ended, as a call returns it; only returned once.
    pub(super) fn take_error(&mut self) -> Option<&'static str> {
        if let Some(error) = self.sockets.icmp_error.take() {
            return Some(error);
        }
        let over = self.connection.as_ref().and_then(|c| c.tcp.over());
        let error = match over {
            Some(Over::Reset) if self.sockets.end_read => "EPIPE",
            Some(Over::Reset) => "ECONNRESET",
            Some(Over::Refused) => "ECONNREFUSED",
            Some(Over::TimedOut) => self.sockets.soft_error.unwrap_or("ETIMEDOUT"),
            _ => return None,
        };
        (!std::mem::replace(&mut self.sockets.failed, true)).then_some(error)
    }

    /// Whether there is an error that no call has returned yet.
    pub(super) fn has_error(&self) -> bool {
        let over = self.connection.as_ref().and_then(|c| c.tcp.over());
        let is_error = matches!(over, Some(Over::Reset | Over::Refused | Over::TimedOut));
        is_error && !self.sockets.failed || self.sockets.icmp_error.is_some()
    }

    /// `ioctl(4, SIOCINQ, [1000]) = 0`: bytes that can be read, or that are not acknowledged or not
    /// sent.
    fn ioctl(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        let is_connection = self.connection_of(line, call)?;
        let Some(connection) = self.connection.as_ref().filter(|_| is_connection) else {
            return Ok(Err("EINVAL"));
        };
        let tcp = &connection.tcp;
        let actual = match argument(call, 1) {
            // After the FIN there is one more byte (tcp_ioctl()).
            "FIONBIO" => {
                self.sockets.non_blocking = argument(call, 2) != "[0]";
                return Ok(Ok(0));
            }
            "SIOCINQ" | "FIONREAD" => tcp.unread(),
            "SIOCOUTQ" | "TIOCOUTQ" => tcp.unacknowledged_bytes(),
            "SIOCOUTQNSD" => tcp.unsent_bytes(),
            request => {
                let what = format!("ioctl with {request}");
                return self.refuse(
                    line,
                    what,
                    "known are SIOCINQ, SIOCOUTQ, SIOCOUTQNSD and FIONBIO",
                );
            }
        } as i64;
        let value = call.values.get(2).cloned().flatten().unwrap_or_default();
        if let Some(expected) = value.number().filter(|&n| n != actual) {
            self.differs = Some((
                format!("{} is {expected}", argument(call, 1)),
                format!("it is {actual}"),
            ));
        }
        Ok(Ok(0))
    }

    fn fcntl(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        self.connection_of(line, call)?;
        match argument(call, 1) {
            "F_GETFL" => Ok(Ok(call.result.unwrap_or(O_RDWR as i64))),
            "F_SETFL" => {
                self.sockets.non_blocking = false;
                for flag in argument(call, 2).split('|') {
                    let bits = match flag {
                        "O_NONBLOCK" => O_NONBLOCK,
                        "O_RDWR" => O_RDWR,
                        _ => match flag.parse() {
                            Ok(bits) if bits & !(O_NONBLOCK | O_RDWR) == 0 => bits,
                            _ => {
                                let what = format!("fcntl with the flag \"{flag}\"");
                                return self.refuse(line, what, "known are O_RDWR and O_NONBLOCK");
                            }
                        },
                    };
                    self.sockets.non_blocking |= bits & O_NONBLOCK != 0;
                }
                Ok(Ok(0))
            }
            command => {
                let what = format!("fcntl with {command}");
                self.refuse(line, what, "expected F_GETFL and F_SETFL")
            }
        }
    }

    fn accept(&mut self, line: u32, call: &Call) -> Result<Reply, DrillError> {
        if self.connection_of(line, call)? || !self.sockets.listens {
            return self.refuse(line, "accept".into(), "the socket does not listen");
        }
        if self.sockets.connected.is_some() {
            let what = "a second connection".into();
            return self.refuse(line, what, "a script has one connection at a time");
        }
        if !self.may_be_accepted() {
            if self.patience_over {
                return Ok(Some(Err("EAGAIN")));
            }
            return Ok(self.would_block());
        }
        let fd = call.result.filter(|&fd| fd >= 0).unwrap_or(4);
        self.sockets.connected = Some(fd);
        // A connection inherits the options of the listening socket, except whether it blocks.
        self.sockets.non_blocking = argument(call, 3).contains("SOCK_NONBLOCK");
        Ok(Some(Ok(fd)))
    }

    /// Whether the connection has opened, and has data with TCP_DEFER_ACCEPT (tcp_check_req()).
    pub(super) fn may_be_accepted(&self) -> bool {
        let deferred = self.sockets.set.defers_accept;
        self.connection.as_ref().is_some_and(|c| {
            let is_due = !deferred || c.tcp.received() > 1;
            c.tcp.is_established() && is_due
        })
    }

    /// The return value of a call that would have to wait.
    pub(super) fn would_block(&self) -> Reply {
        self.sockets.non_blocking.then_some(Err("EAGAIN"))
    }

    fn connect(&mut self, line: u32, call: &Call) -> Result<Reply, DrillError> {
        self.connection_of(line, call)?;
        if self.sockets.listens {
            return self.refuse(line, "connect".into(), "the socket listens");
        }
        let is_own = self.sockets.connected == self.sockets.listening;
        let Some(connection) = self.connection.as_ref().filter(|_| is_own) else {
            if self.sockets.connects_fast && !self.sockets.deferred {
                if self.connect_fast(line)? {
                    return Ok(Some(Ok(0)));
                }
            } else if self.sockets.deferred {
                // __inet_stream_connect(): it is under way.
                return Ok(Some(Err("EALREADY")));
            } else {
                self.open(line, FastOpen::default())?;
            }
            return Ok(if self.sockets.non_blocking {
                Some(Err("EINPROGRESS"))
            } else {
                None
            });
        };
        let is_established = connection.tcp.is_established();
        let waits = self.retrying;
        if let Some(error) = self.take_error() {
            return Ok(Some(Err(error)));
        }
        if is_established {
            let again = std::mem::replace(&mut self.sockets.saw_connected, true) && !waits;
            return Ok(Some(if again { Err("EISCONN") } else { Ok(0) }));
        }
        if waits && self.patience_over {
            return Ok(Some(Err("EINPROGRESS")));
        }
        Ok((!waits).then_some(Err("EALREADY")))
    }

    /// Sends our SYN.
    pub(super) fn open(&mut self, line: u32, fast_open: FastOpen) -> Result<(), DrillError> {
        self.wait_until_now(line)?;
        let now = self.present();
        let set = &self.sockets.set;
        let opened = Tested::open(&self.environment, now, None, set, fast_open);
        self.connection = Some(self.explain(line, opened)?);
        self.sockets.connected = self.sockets.listening;
        Ok(())
    }

    fn shutdown(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        let is_connection = self.connection_of(line, call)?;
        let (reads, writes) = match argument(call, 1) {
            "SHUT_RD" | "0" => (true, false),
            "SHUT_WR" | "1" => (false, true),
            "SHUT_RDWR" | "2" => (true, true),
            how => {
                let what = format!("shutdown with {how}");
                return self.refuse(line, what, "expected SHUT_RD, SHUT_WR or SHUT_RDWR");
            }
        };
        let Some(connection) = self.connection.as_mut().filter(|_| is_connection) else {
            return Ok(Err("ENOTCONN"));
        };
        if connection.tcp.is_reset() || connection.tcp.is_done() {
            return Ok(Err("ENOTCONN"));
        }
        self.sockets.read_shut |= reads;
        if writes && !std::mem::replace(&mut self.sockets.write_shut, true) {
            if connection.tcp.is_established() {
                connection.close();
            } else {
                connection.abort();
            }
        }
        self.wake();
        Ok(Ok(0))
    }

    /// tcp_close(): an RST if data is unread or the application does not linger, otherwise a FIN.
    fn close(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        let first = argument(call, 0);
        let fd = first.parse().unwrap_or(-1);
        let files = &mut self.sockets.files;
        if let Some(at) = files.iter().position(|&file| file == fd) {
            files.remove(at);
            return Ok(Ok(0));
        }
        if self.sockets.epolls.remove(&fd).is_some() {
            return Ok(Ok(0));
        }
        let is_connection = self.connection_of(line, call)?;
        for watched in self.sockets.epolls.values_mut() {
            watched.retain(|watch| watch.fd != fd);
        }
        if self.sockets.listening == Some(fd) {
            self.sockets.listening = None;
            self.sockets.listens = false;
        }
        if !is_connection {
            return Ok(Ok(0));
        }
        self.sockets.connected = None;
        let resets = self.sockets.set.resets;
        if let Some(connection) = &mut self.connection {
            let tcp = &connection.tcp;
            if tcp.unread() > 0 || resets || !tcp.is_established() {
                connection.abort();
            } else {
                connection.tcp.set_deaf();
                connection.close();
            }
        }
        Ok(Ok(0))
    }
}

pub(super) fn argument(call: &Call, index: usize) -> &str {
    let argument = call.arguments.get(index);
    argument.map(String::as_str).unwrap_or_default()
}

/// Compares the result of a call with the script.
pub(super) fn held_against(call: &Call, returned: Returned) -> Outcome {
    let describe = |value: Option<i64>, error: Option<&str>| {
        let value = value.map_or("any value".into(), |v| v.to_string());
        let error = error.map_or(String::new(), |e| format!(" {e}"));
        format!("{} returns {value}{error}", call.name)
    };
    let (value, error) = match returned {
        Ok(value) => (value, None),
        Err(error) => (-1, Some(error)),
    };
    let same_error = call.error.as_deref() == error || call.result.is_none();
    if call.result.is_none_or(|expected| expected == value) && same_error {
        return Ok(());
    }
    let expected = describe(call.result, call.error.as_deref());
    Err((expected, describe(Some(value), error)))
}
