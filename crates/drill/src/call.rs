//! The system calls of an application that sends: from `socket` to `close`.

use super::runner::{Outcome, Runner};
use super::script::Call;
use super::tested::Tested;
use super::DrillError;

/// Linux's value of `O_NONBLOCK`.
const O_NONBLOCK: u64 = 0o4000;
/// And of `O_RDWR`.
const O_RDWR: u64 = 2;

/// The socket options that are known.
const OPTIONS: &[&str] = &[
    "SO_REUSEADDR",
    "SO_REUSEPORT",
    "SO_SNDBUF",
    "SO_SNDBUFFORCE",
    "SO_RCVBUF",
    "SO_RCVBUFFORCE",
    "SO_RCVTIMEO",
    "SO_SNDTIMEO",
    "TCP_NOTSENT_LOWAT",
    "TCP_NODELAY",
    "TCP_CONGESTION",
    "TCP_MAXSEG",
];

/// What a call comes to: its value, or the name of its error.
type Returned = Result<i64, &'static str>;

impl Runner<'_> {
    /// Carries out a call and holds what it returns against the script.
    pub(super) fn call(&mut self, line: u32, call: &Call) -> Result<Outcome, DrillError> {
        let returned = match call.name.as_str() {
            "socket" => self.socket(line, call)?,
            "setsockopt" => self.set_option(line, call)?,
            "getsockopt" => self.get_option(line, call)?,
            "fcntl" => self.fcntl(line, call)?,
            "bind" => {
                self.connection_of(line, call)?;
                Ok(0)
            }
            "listen" => {
                self.connection_of(line, call)?;
                self.sockets.listens = true;
                Ok(0)
            }
            "accept" => self.accept(line, call)?,
            "connect" => self.connect(line, call)?,
            "write" | "send" | "sendto" => self.write(line, call)?,
            "read" | "recv" => self.read(line, call)?,
            "shutdown" | "close" => self.close(line, call)?,
            name => return self.refuse(
                line,
                format!("the call {name}"),
                "known are socket, setsockopt, getsockopt, fcntl, bind, listen, accept, connect, \
                     write, send, sendto, read, recv, shutdown and close",
            ),
        };
        Ok(held_against(call, returned))
    }

    /// The socket that a call names: whether it is the connection's.
    fn connection_of(&self, line: u32, call: &Call) -> Result<bool, DrillError> {
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

    /// An argument that is a whole number, in brackets or not.
    fn number(&self, line: u32, call: &Call, index: usize) -> Result<u64, DrillError> {
        let text = argument(call, index);
        if let Ok(number) = text.trim_matches(['[', ']']).parse() {
            return Ok(number);
        }
        let what = format!("\"{text}\" as an argument of {}", call.name);
        self.refuse(line, what, "expected a whole number")
    }

    fn socket(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        if self.sockets.listening.is_some() {
            return self.refuse(
                line,
                "a second socket".into(),
                "a script has one connection",
            );
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
        self.sockets.non_blocking = argument(call, 1).ends_with("SOCK_NONBLOCK");
        let fd = call.result.filter(|&fd| fd >= 0).unwrap_or(3);
        self.sockets.listening = Some(fd);
        Ok(Ok(fd))
    }

    /// The level of an option must be its own.
    fn level_fits(&self, line: u32, call: &Call) -> Result<(), DrillError> {
        let (level, option) = (argument(call, 1), argument(call, 2));
        let accepted: &[&str] = match option.split_once('_') {
            Some(("SO", _)) => &["SOL_SOCKET"],
            _ => &["SOL_TCP", "IPPROTO_TCP"],
        };
        if accepted.contains(&level) {
            return Ok(());
        }
        let what = format!("{option} with the level \"{level}\"");
        self.refuse(line, what, &format!("expected {}", accepted.join(" or ")))
    }

    /// The value of an option, a whole number in brackets.
    fn value(&self, line: u32, call: &Call) -> Result<u64, DrillError> {
        let text = argument(call, 3);
        let inner = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
        if let Some(number) = inner.and_then(|number| number.parse().ok()) {
            return Ok(number);
        }
        let what = format!("\"{text}\" as the value of {}", argument(call, 2));
        self.refuse(line, what, "expected a whole number in brackets: [1]")
    }

    fn set_option(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        self.connection_of(line, call)?;
        let option = argument(call, 2);
        if !OPTIONS.contains(&option) {
            let why = format!("known are {}", OPTIONS.join(", "));
            return self.refuse(line, format!("the option {option}"), &why);
        }
        self.level_fits(line, call)?;
        self.number(line, call, 4)?;
        if option == "TCP_CONGESTION" {
            let name = argument(call, 3).trim_matches(['[', ']', '"']);
            self.environment.congestion(line, name)?;
            return Ok(Ok(0));
        }
        let value = self.value(line, call)?;
        match option {
            "SO_REUSEADDR" | "SO_REUSEPORT" => {}
            option @ ("SO_SNDBUF" | "SO_SNDBUFFORCE" | "SO_RCVBUF" | "SO_RCVBUFFORCE"
            | "TCP_NOTSENT_LOWAT") => {
                let text = format!("{option} has no effect: no buffer is limited here");
                self.environment.note(line, text);
            }
            option @ ("SO_RCVTIMEO" | "SO_SNDTIMEO") => {
                self.environment
                    .note(line, format!("{option} has no effect here"));
            }
            "TCP_NODELAY" => {
                let nagle = value == 0;
                self.sockets.nagle = nagle;
                if let Some(connection) = &mut self.connection {
                    connection.set_nagle(nagle);
                }
            }
            "TCP_MAXSEG" if self.connection.is_none() => {
                self.environment.mss = self.environment.mss.min(value.max(1));
            }
            option => {
                let what = format!("the option {option}");
                return self.refuse(line, what, "it is set before the connection starts");
            }
        }
        Ok(Ok(0))
    }

    /// `getsockopt(3, SOL_SOCKET, SO_ERROR, [0], [4]) = 0`, after a connect.
    fn get_option(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        self.connection_of(line, call)?;
        let option = argument(call, 2);
        if option != "SO_ERROR" {
            let what = format!("getsockopt with {option}");
            return self.refuse(
                line,
                what,
                "known is SO_ERROR; assertions tell of the sender",
            );
        }
        self.level_fits(line, call)?;
        if self.value(line, call)? != 0 {
            let what = "an error of the socket".into();
            return self.refuse(line, what, "connections do not break here; expected [0]");
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

    fn accept(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        if self.connection_of(line, call)? || !self.sockets.listens {
            return self.refuse(line, "accept".into(), "the socket does not listen");
        }
        if self.sockets.connected.is_some() {
            let what = "a second connection".into();
            return self.refuse(line, what, "a script has one connection");
        }
        let is_done = self
            .connection
            .as_ref()
            .is_some_and(|c| c.tcp.is_established());
        if !is_done && call.returns.is_none() {
            return Ok(Err("EAGAIN"));
        }
        let fd = call.result.filter(|&fd| fd >= 0).unwrap_or(4);
        self.sockets.connected = Some(fd);
        Ok(Ok(fd))
    }

    fn connect(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        self.connection_of(line, call)?;
        if self.sockets.listens {
            return self.refuse(line, "connect".into(), "the socket listens");
        }
        if let Some(connection) = &self.connection {
            return Ok(if connection.tcp.is_established() {
                Ok(0)
            } else {
                Err("EALREADY")
            });
        }
        if !self.sockets.non_blocking && call.returns.is_none() {
            return self.refuse(
                line,
                "a connect that blocks".into(),
                "say when it returns, as in +0...+0.1 connect(...) = 0, or set O_NONBLOCK before",
            );
        }
        self.wait_until_now(line)?;
        let now = self.present();
        let opened = Tested::open(&self.environment, now, None, self.sockets.nagle);
        self.connection = Some(self.explain(line, opened)?);
        self.sockets.connected = self.sockets.listening;
        Ok(if call.returns.is_some() {
            Ok(0)
        } else {
            Err("EINPROGRESS")
        })
    }

    fn write(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        let bytes = self.number(line, call, 2)?;
        let flags = argument(call, 3);
        let plain = ["", "0", "MSG_NOSIGNAL", "MSG_DONTWAIT"];
        if let Some(flag) = flags.split('|').find(|flag| !plain.contains(flag)) {
            let what = format!("{} with {flag}", call.name);
            return self.refuse(
                line,
                what,
                "accepted flags are 0, MSG_NOSIGNAL and MSG_DONTWAIT",
            );
        }
        let is_connection = self.connection_of(line, call)?;
        let Some(connection) = self.connection.as_mut().filter(|_| is_connection) else {
            return Ok(Err("ENOTCONN"));
        };
        if !connection.tcp.is_established() {
            return Ok(Err("EAGAIN"));
        }
        if connection.tcp.stream().is_closed() {
            return Ok(Err("EPIPE"));
        }
        if !connection.write(bytes) {
            let what = format!("{} of {bytes} bytes", call.name);
            return self.refuse(line, what, "expected at most 100000 segments in all");
        }
        Ok(i64::try_from(bytes).map_err(|_| "EINVAL"))
    }

    /// Nothing arrives but the other side's FIN: the end of its data.
    fn read(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        let is_connection = self.connection_of(line, call)?;
        match &self.connection {
            Some(connection) if is_connection && connection.tcp.has_ended() => Ok(Ok(0)),
            _ if self.sockets.non_blocking => Ok(Err("EAGAIN")),
            _ => self.refuse(
                line,
                format!("{} that waits for data", call.name),
                "the simulated sender sends and does not receive",
            ),
        }
    }

    fn close(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        let is_connection = self.connection_of(line, call)?;
        if call.name == "shutdown" && !argument(call, 1).ends_with("SHUT_WR") {
            let what = format!("shutdown with {}", argument(call, 1));
            return self.refuse(line, what, "expected SHUT_WR");
        }
        if let Some(connection) = self.connection.as_mut().filter(|_| is_connection) {
            if !connection.tcp.is_established() {
                let what = format!("{} before the handshake is done", call.name);
                return self.refuse(line, what, "a connection is closed after it is established");
            }
            connection.close();
        }
        Ok(Ok(0))
    }
}

fn argument(call: &Call, index: usize) -> &str {
    let argument = call.arguments.get(index);
    argument.map(String::as_str).unwrap_or_default()
}

/// Whether a call returned what the script says.
fn held_against(call: &Call, returned: Returned) -> Outcome {
    let told = |value: Option<i64>, error: Option<&str>| {
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
    let expected = told(call.result, call.error.as_deref());
    Err((expected, told(Some(value), error)))
}
