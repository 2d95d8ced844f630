//! The system calls of an application: `socket` to `close`, and the options of sockets. Calls for
//! data and readiness are in `data.rs`.

use midflight_endpoint::{FastOpen, Over};

use super::runner::{Outcome, Runner};
use super::script::Call;
use super::sockets::Sockets;
use super::tested::Tested;
use super::DrillError;

/// Linux's value of `O_NONBLOCK`.
const O_NONBLOCK: u64 = 0o4000;
/// Linux's value of `O_RDWR`.
const O_RDWR: u64 = 2;

/// The result of a call: its value, or the name of its error.
pub(super) type Returned = Result<i64, &'static str>;

/// The result of an attempt at a call: None if it has to wait.
pub(super) type Reply = Option<Returned>;

impl Runner<'_> {
    /// Attempts a call; a waiting call is attempted again after each event.
    pub(super) fn attempt(&mut self, line: u32, call: &Call) -> Result<Reply, DrillError> {
        let original = self.of_copy(call);
        let call = original.as_ref().unwrap_or(call);
        if self.is_closed_socket(call) {
            return Ok(Some(Err("EBADF")));
        }
        let returned = match call.name.as_str() {
            "socket" => self.socket(line, call)?,
            "setsockopt" => self.set_option(line, call)?,
            "getsockopt" => self.get_option(line, call)?,
            "fcntl" => self.fcntl(line, call)?,
            "dup" | "dup2" | "dup3" => self.copy(line, call)?,
            "ioctl" => self.ioctl(line, call)?,
            "bind" => {
                // inet_bind(): a socket is bound once.
                let again = self.connection_of(line, call)? || self.sockets.is_bound;
                self.sockets.is_bound = true;
                if again && call.result.is_some_and(|result| result != 0) {
                    Err("EINVAL")
                } else {
                    Ok(0)
                }
            }
            "getsockname" | "getpeername" => {
                let is_connection = self.connection_of(line, call)?;
                if call.name == "getpeername" && !is_connection {
                    Err("ENOTCONN")
                } else {
                    Ok(0)
                }
            }
            // inet_listen().
            "listen" if self.connection_of(line, call)? => Err("EINVAL"),
            "listen" => {
                self.sockets.listens = true;
                if self.sockets.fast_open_queue == 0 {
                    let backlog = match argument(call, 1).parse::<i64>() {
                        Ok(negative) if negative < 0 => u64::from(u32::MAX),
                        _ => self.number(line, call, 1)?,
                    };
                    let queue = self.environment.fast_open.queue(backlog);
                    self.sockets.fast_open_queue = queue.unwrap_or(0);
                }
                Ok(0)
            }
            "accept" | "accept4" => return self.accept(line, call),
            "connect" => return self.connect(line, call),
            "write" | "send" | "sendto" | "writev" | "sendmsg" => return self.write(line, call),
            "sendfile" | "splice" => return self.write_file(line, call),
            // Capabilities are those of a process, which there is none of.
            "cap_set" => {
                self.environment
                    .note(line, "cap_set has no effect: there is no process here");
                Ok(0)
            }
            "open" | "pipe" | "pipe2" => self.open_file(line, call)?,
            "read" | "recv" | "recvfrom" | "readv" | "recvmsg" => return self.read(line, call),
            "shutdown" => self.shutdown(line, call)?,
            "close" => return self.close_and_linger(line, call),
            "poll" => return self.poll(line, call),
            "epoll_create" | "epoll_create1" => Ok(self.epoll_create(call)),
            "epoll_ctl" => self.epoll_control(line, call)?,
            "epoll_wait" => return self.epoll_wait(line, call),
            name => {
                return self.refuse(
                    line,
                    format!("the call {name}"),
                    "known are socket, setsockopt, getsockopt, fcntl, ioctl, dup, bind, listen, accept, \
                     connect, write, writev, send, sendto, sendmsg, read, readv, recv, recvfrom, recvmsg, \
                     open, pipe, sendfile, splice, getsockname, getpeername, shutdown, close, poll, epoll_create, epoll_ctl and epoll_wait",
                )
            }
        };
        Ok(Some(returned))
    }

    /// The call with the socket of which its first argument is a copy.
    fn of_copy(&self, call: &Call) -> Option<Call> {
        let fd = argument(call, 0).parse().ok()?;
        let original = self.sockets.copies.get(&fd)?;
        let mut of_original = call.clone();
        if call.name != "close" {
            of_original.arguments[0] = original.to_string();
        }
        Some(of_original)
    }

    /// `dup(4) = 5`: a further descriptor of a socket.
    fn copy(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        self.connection_of(line, call)?;
        let fd = call.result.filter(|&fd| fd >= 0).unwrap_or(9);
        let original = argument(call, 0).parse().unwrap_or(fd);
        self.sockets.copies.insert(fd, original);
        Ok(Ok(fd))
    }

    /// Closes one of several descriptors of a socket; returns whether that leaves another.
    fn close_copy(&mut self, fd: i64) -> bool {
        let copies = &mut self.sockets.copies;
        if copies.remove(&fd).is_some() {
            return true;
        }
        let Some(next) = copies
            .iter()
            .find(|(_, of)| **of == fd)
            .map(|(copy, _)| *copy)
        else {
            return false;
        };
        copies.remove(&next);
        for of in copies.values_mut().filter(|of| **of == fd) {
            *of = next;
        }
        for socket in [&mut self.sockets.listening, &mut self.sockets.connected] {
            *socket = socket.map(|own| if own == fd { next } else { own });
        }
        true
    }

    /// Whether the first argument of a call is a descriptor that was closed, and the script expects an error.
    fn is_closed_socket(&self, call: &Call) -> bool {
        let first = argument(call, 0).parse::<i64>().ok();
        let is_known = |fd: &i64| {
            let sockets = &self.sockets;
            [sockets.listening, sockets.connected].contains(&Some(*fd))
                || sockets.files.contains(fd)
                || sockets.copies.contains_key(fd)
                || sockets.epolls.contains_key(fd)
        };
        call.error.as_deref() == Some("EBADF") && first.is_some_and(|fd| !is_known(&fd))
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
            (
                1,
                &[
                    "SOCK_STREAM",
                    "SOCK_STREAM|SOCK_NONBLOCK",
                    "SOCK_STREAM|SOCK_CLOEXEC",
                    "SOCK_STREAM|SOCK_CLOEXEC|SOCK_NONBLOCK",
                    "SOCK_STREAM|SOCK_NONBLOCK|SOCK_CLOEXEC",
                ][..],
            ),
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
            non_blocking: argument(call, 1).contains("SOCK_NONBLOCK"),
            epolls: std::mem::take(&mut self.sockets.epolls),
            files: std::mem::take(&mut self.sockets.files),
            copies: std::mem::take(&mut self.sockets.copies),
            ..Sockets::default()
        };
        self.sockets.buffer.set_lowat(self.environment.lowat);
        self.sockets.set.keepalive = self.environment.keepalive;
        let fd = call.result.filter(|&fd| fd >= 0).unwrap_or(3);
        self.sockets.listening = Some(fd);
        Ok(Ok(fd))
    }

    /// The error with which the connection ended, as a call returns it; only returned once.
    pub(super) fn take_error(&mut self) -> Option<&'static str> {
        if let Some(error) = self.sockets.icmp_error.take() {
            return Some(error);
        }
        let over = self.connection.as_ref().and_then(|c| c.tcp.over());
        let error = match over {
            // tcp_reset() in CLOSE_WAIT.
            Some(Over::Reset) if self.was_half_closed() => "EPIPE",
            Some(Over::Reset) => "ECONNRESET",
            Some(Over::Refused) => "ECONNREFUSED",
            Some(Over::TimedOut) => self.sockets.soft_error.unwrap_or("ETIMEDOUT"),
            _ => return None,
        };
        (!std::mem::replace(&mut self.sockets.failed, true)).then_some(error)
    }

    /// The other side has closed, and this side has not.
    fn was_half_closed(&self) -> bool {
        let tcp = self.connection.as_ref().map(|c| &c.tcp);
        tcp.is_some_and(|tcp| tcp.has_ended() && !tcp.stream().is_closed())
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
            // tcp_inq() counts up to an urgent byte, also if that is the next one.
            "SIOCINQ" | "FIONREAD" => tcp.before_urgent().unwrap_or_else(|| tcp.unread()),
            "SIOCATMARK" => u64::from(tcp.before_urgent() == Some(0)),
            "SIOCOUTQ" | "TIOCOUTQ" => tcp.unacknowledged_bytes(),
            "SIOCOUTQNSD" => tcp.unsent_bytes(),
            request => {
                let what = format!("ioctl with {request}");
                return self.refuse(
                    line,
                    what,
                    "known are SIOCINQ, SIOCOUTQ, SIOCOUTQNSD, SIOCATMARK and FIONBIO",
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
            "F_GETFD" => Ok(Ok(call.result.unwrap_or(0))),
            "F_SETFD" => Ok(Ok(0)),
            "F_DUPFD" | "F_DUPFD_CLOEXEC" => self.copy(line, call),
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
            // inet_csk_accept().
            return Ok(Some(Err("EINVAL")));
        }
        if self.sockets.connected.is_some() {
            if self.sockets.listens_without_waiting {
                return Ok(Some(Err("EAGAIN")));
            }
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
        // A connection inherits the options of the listening socket, except whether it blocks.
        let non_blocking = argument(call, 3).contains("SOCK_NONBLOCK");
        self.sockets.accept(fd, non_blocking);
        Ok(Some(Ok(fd)))
    }

    /// Whether the connection has opened, and has data with TCP_DEFER_ACCEPT (tcp_check_req()).
    pub(super) fn may_be_accepted(&self) -> bool {
        // Only Linux has TCP_DEFER_ACCEPT, whose time ends with the handshake.
        let deferred = self.sockets.set.defers_accept > 0 && !self.environment.is_linux();
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
        if argument(call, 1).contains("AF_UNSPEC") {
            self.disconnect(call);
            return Ok(Some(Ok(0)));
        }
        if self.sockets.listens {
            // __inet_stream_connect().
            return Ok(Some(Err("EISCONN")));
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
        let is_over = connection.tcp.is_reset() && !is_established;
        let error = self.take_error();
        if is_over {
            // __inet_stream_connect(), sock_error: the socket is as before.
            self.disconnect(call);
            self.sockets.failed = true;
            return Ok(Some(Err(error.unwrap_or("ECONNABORTED"))));
        }
        if let Some(error) = error {
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

    /// tcp_disconnect(): the connection is reset, and the socket is as before connect().
    fn disconnect(&mut self, call: &Call) {
        let fd = argument(call, 0).parse::<i64>().ok();
        if self.sockets.listens && fd == self.sockets.listening {
            self.sockets.listens = false;
            return;
        }
        self.sockets.deferred = false;
        if fd != self.sockets.connected {
            return;
        }
        if let Some(connection) = self.connection.as_mut().filter(|c| !c.tcp.is_reset()) {
            connection.abort();
            self.sockets.icmp_error = Some("ECONNRESET");
        }
        if self.sockets.listening.is_none() || self.sockets.listening == fd {
            self.sockets.listening = fd;
            self.sockets.connected = None;
        }
        (self.sockets.read_shut, self.sockets.write_shut) = (false, false);
        (self.sockets.failed, self.sockets.saw_connected) = (false, false);
    }

    /// Sends our SYN.
    pub(super) fn open(&mut self, line: u32, fast_open: FastOpen) -> Result<(), DrillError> {
        self.wait_until_now(line)?;
        let now = self.present();
        let set = &self.sockets.set;
        let opened = Tested::open(&self.environment, now, None, set, fast_open);
        self.connection = Some(self.explain(line, opened)?);
        self.sockets.failed = false;
        self.sockets.connected = self.sockets.listening;
        Ok(())
    }

    fn shutdown(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        let is_connection = self.connection_of(line, call)?;
        let (reads, writes) = match argument(call, 1) {
            "SHUT_RD" | "0" => (true, false),
            "SHUT_WR" | "1" => (false, true),
            "SHUT_RDWR" | "2" => (true, true),
            // inet_shutdown().
            how if how.parse::<i64>().is_ok() => return Ok(Err("EINVAL")),
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
        if connection.tcp.is_connecting() {
            // inet_shutdown().
            self.disconnect(call);
            self.wake();
            return Ok(Ok(0));
        }
        self.sockets.read_shut |= reads;
        if reads {
            connection.tcp.shut_reading();
        }
        if writes && !std::mem::replace(&mut self.sockets.write_shut, true) {
            if connection.tcp.is_established() {
                connection.close();
            } else {
                connection.abort();
            }
        }
        self.wake();
        let fd = argument(call, 0).parse();
        let watches = self.sockets.epolls.values_mut().flatten();
        for watch in watches.filter(|watch| fd == Ok(watch.fd)) {
            // inet_shutdown().
            watch.wake_anyway();
        }
        Ok(Ok(0))
    }

    /// Closes the listener, which resets a connection that was never accepted (inet_csk_listen_stop()).
    fn forget_waiting(&mut self) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        let tcp = &connection.tcp;
        if tcp.is_established() && !tcp.is_reset() && !tcp.stream().is_closed() {
            connection.abort();
        }
    }

    /// close() waits until the other side has the FIN, or for the time of SO_LINGER (sk_stream_wait_close()).
    fn close_and_linger(&mut self, line: u32, call: &Call) -> Result<Reply, DrillError> {
        if !self.retrying {
            let before = self.sockets.connected;
            let returned = self.close(line, call)?;
            let (lingers, seconds) = self.sockets.set.lingers;
            let is_last = before.is_some() && self.sockets.connected.is_none();
            if !is_last || lingers == 0 || seconds == 0 {
                return Ok(Some(returned));
            }
        }
        let waits = self.connection.as_ref().is_some_and(|connection| {
            // TCP_FIN_WAIT1, TCP_LAST_ACK, TCP_CLOSING.
            let state = connection.tcp.state_number();
            !connection.tcp.is_reset() && matches!(state, 4 | 9 | 11)
        });
        Ok((!waits || self.patience_over).then_some(Ok(0)))
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
        if self.close_copy(fd) {
            return Ok(Ok(0));
        }
        let is_connection = self.connection_of(line, call)?;
        for watched in self.sockets.epolls.values_mut() {
            watched.retain(|watch| watch.fd != fd);
        }
        if self.sockets.listening == Some(fd) {
            if self.sockets.listens && self.sockets.connected.is_none() {
                self.forget_waiting();
            }
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
            if tcp.is_reset() {
                return Ok(Ok(0));
            }
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
