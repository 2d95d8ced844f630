//! The system calls that transfer data, and those that query readiness: `write` and similar calls,
//! `read` and similar calls, `poll` and `epoll`. Comments name the functions of Linux whose
//! behaviour they follow.

use midflight_endpoint::UrgentByte;
use midflight_units::{Duration, Instant};

use super::call::{argument, Reply, Returned};
use super::runner::Runner;
use super::script::Call;
use super::sockets::{limit, EpollEntry, Ready};
use super::value::Value;
use super::DrillError;

/// Maximum number of data pieces in a packet that is sent without a copy (MAX_SKB_FRAGS).
const MOST_PIECES: usize = 17;

/// The state of the connection for readiness queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    received: u64,
    ended: bool,
    established: bool,
    over: bool,
    read_shut: bool,
    writable: bool,
}

/// Whether a message is at an address where no memory can be.
fn has_bad_message(call: &Call) -> bool {
    let is_message = matches!(call.name.as_str(), "sendmsg" | "recvmsg");
    let message = call.values.get(1).and_then(Option::as_ref);
    is_message && is_bad_address(message)
}

fn is_bad_address(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Number(_)) => true,
        Some(Value::Names(names)) => matches!(names.as_slice(), [name] if name == "NULL"),
        _ => false,
    }
}

/// Whether a call has a buffer at an address where no memory can be: a number, or NULL.
fn has_bad_buffer(call: &Call) -> bool {
    let second = call.values.get(1).and_then(Option::as_ref);
    let vector = match call.name.as_str() {
        "sendmsg" | "recvmsg" => second.and_then(|message| message.field("msg_iov")),
        "writev" | "readv" => second,
        "sendfile" | "splice" => return false,
        _ => {
            let count = call.values.get(2).and_then(Option::as_ref);
            return is_bad_address(second) || count.and_then(Value::number).is_some_and(|n| n < 0);
        }
    };
    if is_bad_address(vector) || has_bad_message(call) {
        return true;
    }
    let pieces = vector.map(Value::items).unwrap_or_default();
    pieces
        .iter()
        .any(|piece| piece.at(1).and_then(Value::number) > Some(0) && is_bad_address(piece.at(0)))
}

impl Runner<'_> {
    /// tcp_recv_urg().
    fn read_urgent(&mut self, is_connection: bool, keeps: bool) -> Returned {
        let is_apart = is_connection && !self.sockets.set.urgent_inline;
        let Some(connection) = self.connection.as_mut().filter(|_| is_apart) else {
            return Err("EINVAL");
        };
        match connection.tcp.urgent_byte() {
            UrgentByte::Nothing => Err("EINVAL"),
            UrgentByte::Expected if connection.tcp.has_ended() => Ok(0),
            UrgentByte::Expected => Err("EAGAIN"),
            UrgentByte::Here => {
                if !keeps {
                    connection.tcp.read_urgent();
                }
                Ok(1)
            }
        }
    }

    /// The flags of a call; each must be one of `known`.
    fn flags<'c>(
        &self,
        line: u32,
        call: &'c Call,
        index: usize,
        known: &[&str],
    ) -> Result<Vec<&'c str>, DrillError> {
        let flags = argument(call, index).split('|');
        let flags: Vec<_> = flags.filter(|f| !f.is_empty() && *f != "0").collect();
        if let Some(flag) = flags.iter().find(|flag| !known.contains(flag)) {
            let what = format!("{} with {flag}", call.name);
            let why = format!("accepted flags are 0, {}", known.join(", "));
            return self.refuse(line, what, &why);
        }
        Ok(flags)
    }

    /// The sizes of the buffers of a call that reads or writes.
    fn pieces(&self, line: u32, call: &Call) -> Result<Vec<u64>, DrillError> {
        let vector = match call.name.as_str() {
            "sendmsg" | "recvmsg" => {
                let message = call.values.get(1).cloned().flatten();
                message.and_then(|m| m.field("msg_iov").cloned())
            }
            "writev" | "readv" => call.values.get(1).cloned().flatten(),
            // sendfile(out, in, offset, bytes); splice(in, offset, out, offset, bytes, flags).
            "sendfile" => return Ok(vec![self.number(line, call, 3)?]),
            "splice" => return Ok(vec![self.number(line, call, 4)?]),
            // A negative number is a large one, for which there is no memory.
            _ if argument(call, 2).parse::<i64>().is_ok_and(|n| n < 0) => {
                return Ok(vec![u64::MAX]);
            }
            _ => return Ok(vec![self.number(line, call, 2)?]),
        };
        // import_iovec() cannot read the list at such an address.
        if matches!(vector, Some(Value::Number(_))) || has_bad_message(call) {
            return Ok(Vec::new());
        }
        let sizes = vector.as_ref().map(Value::items).unwrap_or_default();
        let size = |piece: &Value| piece.at(1).and_then(Value::number);
        let sizes: Option<Vec<_>> = sizes
            .iter()
            .map(|piece| size(piece).and_then(|n| u64::try_from(n).ok()))
            .collect();
        // An empty list is stated: nothing is written or read.
        let is_empty =
            vector.is_some_and(|vector| matches!(vector, Value::List(all) if all.is_empty()));
        let Some(sizes) = sizes.filter(|sizes| is_empty || !sizes.is_empty()) else {
            let what = format!("\"{}\" as an argument of {}", argument(call, 1), call.name);
            return self.refuse(
                line,
                what,
                "expected pieces with their sizes: [{..., 1000}]",
            );
        };
        Ok(sizes)
    }

    fn flags_at(call: &Call) -> usize {
        match call.name.as_str() {
            "sendmsg" | "recvmsg" => 2,
            "send" | "sendto" | "recv" | "recvfrom" => 3,
            _ => usize::MAX,
        }
    }

    // ---- writing ----------------------------------------------------------------------

    pub(super) fn write(&mut self, line: u32, call: &Call) -> Result<Reply, DrillError> {
        let known = [
            "MSG_NOSIGNAL",
            "MSG_DONTWAIT",
            "MSG_MORE",
            "MSG_EOR",
            "MSG_ZEROCOPY",
            "MSG_FASTOPEN",
            "MSG_OOB",
        ];
        let pieces = self.pieces(line, call)?;
        let flags = self.flags(line, call, Self::flags_at(call), &known)?;
        let has = |flag| flags.contains(&flag);
        let is_connection = self.connection_of(line, call)?;
        let bytes: u64 = pieces.iter().sum();
        // The list and the message are read before the socket is looked at.
        let has_bad_list = pieces.is_empty() && has_bad_buffer(call);
        if has_bad_list {
            return Ok(Some(Err("EFAULT")));
        }
        if has("MSG_FASTOPEN") || self.sockets.deferred || self.retrying && self.writes_fast {
            self.writes_fast = true;
            let waits = !self.sockets.non_blocking && !has("MSG_DONTWAIT");
            let uncopied = has("MSG_ZEROCOPY") && self.sockets.set.zero_copy;
            let bytes = pieces.iter().sum();
            return self.write_fast(line, call, bytes, uncopied, waits);
        }
        self.writes_fast = false;
        let Ok(stamps) = self.stamps_of(line, call)? else {
            return Ok(Some(Err("EINVAL")));
        };
        if let Some(error) = self.take_error() {
            return Ok(Some(Err(error)));
        }
        let never = is_connection && !has("MSG_DONTWAIT");
        let Some(connection) = self.connection.as_mut().filter(|_| is_connection) else {
            return Ok(Some(Err("EPIPE")));
        };
        let tcp = &connection.tcp;
        if tcp.is_reset() || tcp.stream().is_closed() || self.sockets.write_shut {
            return Ok(Some(Err("EPIPE")));
        }
        if !tcp.is_established() {
            let waits = never && !self.sockets.non_blocking;
            return Ok((!waits || self.patience_over).then_some(Err("EAGAIN")));
        }
        if bytes > 0 && has_bad_buffer(call) {
            return Ok(Some(Err("EFAULT")));
        }
        let uncopied = has("MSG_ZEROCOPY") && self.sockets.set.zero_copy;
        if self.sockets.buffer.is_limited() && !uncopied {
            let flags = (has("MSG_MORE"), has("MSG_EOR"));
            let waits = never && !self.sockets.non_blocking;
            let is_urgent = has("MSG_OOB");
            return self.write_limited(line, call, bytes, flags, (waits, stamps, is_urgent));
        }
        // Each piece is a fragment of the packet, and is not copied into the free room of another
        // packet.
        let packets: Vec<u64> = if uncopied {
            pieces.chunks(MOST_PIECES).map(|c| c.iter().sum()).collect()
        } else {
            vec![bytes]
        };
        let marks = (has("MSG_MORE"), has("MSG_EOR"));
        if !connection.write(&packets, marks, (stamps, has("MSG_OOB"))) {
            let what = format!("{} of {bytes} bytes", call.name);
            return self.refuse(line, what, "expected at most 100000 segments in all");
        }
        if uncopied {
            let end = connection.tcp.stream().end();
            self.sockets.uncopied.send(end);
        }
        Ok(Some(i64::try_from(bytes).map_err(|_| "EINVAL")))
    }

    // ---- reading ----------------------------------------------------------------------

    pub(super) fn read(&mut self, line: u32, call: &Call) -> Result<Reply, DrillError> {
        let known = [
            "MSG_DONTWAIT",
            "MSG_PEEK",
            "MSG_ERRQUEUE",
            "MSG_TRUNC",
            "MSG_WAITALL",
            "MSG_NOSIGNAL",
            "MSG_CMSG_CLOEXEC",
            "MSG_OOB",
        ];
        let wanted: u64 = self.pieces(line, call)?.iter().sum();
        let flags = self.flags(line, call, Self::flags_at(call), &known)?;
        let has = |flag| flags.contains(&flag);
        let is_connection = self.connection_of(line, call)?;
        if has_bad_message(call) || call.name == "readv" && has_bad_buffer(call) && wanted == 0 {
            return Ok(Some(Err("EFAULT")));
        }
        if has("MSG_ERRQUEUE") {
            let stamp = self.read_stamp(call, wanted);
            return Ok(Some(stamp.unwrap_or_else(|| self.read_note(call))));
        }
        if has("MSG_OOB") {
            return Ok(Some(self.read_urgent(is_connection, has("MSG_PEEK"))));
        }
        // sock_rcvlowat().
        let least = if has("MSG_WAITALL") {
            wanted
        } else {
            self.sockets.set.least_read.min(wanted)
        };
        let least = least.max(1);
        let now = self.present();
        let Some(connection) = self.connection.as_mut().filter(|_| is_connection) else {
            return Ok(Some(Err("ENOTCONN")));
        };
        let is_inline = self.sockets.set.urgent_inline;
        if connection.tcp.before_urgent() == Some(0) && !has("MSG_PEEK") && !is_inline {
            // The urgent byte is not part of the data.
            connection.read(now, 1);
        }
        let (unread, ended) = (connection.tcp.unread(), connection.tcp.has_ended());
        let is_over = connection.tcp.is_reset();
        let may_wait = !self.patience_over && !has("MSG_DONTWAIT") && !self.sockets.non_blocking;
        if unread >= least || unread > 0 && (ended || is_over || !may_wait) {
            if has_bad_buffer(call) {
                return Ok(Some(Err("EFAULT")));
            }
            // tcp_recvmsg_locked(): it does not read beyond an urgent byte.
            let before = connection.tcp.before_urgent();
            let before = before.filter(|before| *before > 0 || !is_inline);
            let before = before.unwrap_or(unread);
            let taken = before.min(unread).min(wanted);
            if !has("MSG_PEEK") {
                connection.read(now, taken);
            }
            self.report_queue(call);
            return Ok(Some(Ok(taken as i64)));
        }
        if ended {
            self.sockets.end_read = true;
            return Ok(Some(Ok(0)));
        }
        if let Some(error) = self.take_error() {
            return Ok(Some(Err(error)));
        }
        if is_over || self.sockets.read_shut {
            return Ok(Some(Ok(0)));
        }
        if self.patience_over || has("MSG_DONTWAIT") {
            return Ok(Some(Err("EAGAIN")));
        }
        Ok(self.would_block())
    }

    /// What `recvmsg` reports about the remaining bytes and the end of the data (tcp_inq_hint()).
    fn report_queue(&mut self, call: &Call) {
        let Some(connection) = self.connection.as_ref() else {
            return;
        };
        let reported = self.sockets.set.reports_queue.then(|| {
            let end = connection.tcp.has_ended() && !self.sockets.end_read;
            connection.tcp.unread() + u64::from(end)
        });
        let message = call.values.get(1).cloned().flatten().unwrap_or_default();
        let Some(stated) = message
            .field("msg_control")
            .filter(|_| call.name == "recvmsg")
        else {
            return;
        };
        let of_queue = |c: &&Value| {
            let kind = c.field("cmsg_type").and_then(Value::names);
            kind.is_some_and(|names| names.iter().any(|n| n == "TCP_CM_INQ"))
        };
        let stated = stated.items().iter().find(of_queue);
        let stated = stated
            .and_then(|c| c.field("cmsg_data"))
            .and_then(Value::number);
        if stated != reported.map(|t| t as i64) {
            let tell =
                |n: Option<i64>| n.map_or("no TCP_CM_INQ".into(), |n| format!("TCP_CM_INQ {n}"));
            self.differs = Some((tell(stated), tell(reported.map(|t| t as i64))));
        }
    }

    /// Reads a notification from the error queue: data sent without a copy is no longer in use.
    fn read_note(&mut self, call: &Call) -> Returned {
        let Some((first, last)) = self.sockets.uncopied.take_note() else {
            return Err("EAGAIN");
        };
        let message = call.values.get(1).cloned().flatten().unwrap_or_default();
        let control = message.field("msg_control").map(Value::items);
        let data = control.and_then(|c| c.first()?.field("cmsg_data"));
        let number = |name| data.and_then(|d| d.field(name)).and_then(Value::number);
        let stated = (number("ee_info"), number("ee_data"));
        if data.is_none() || stated != (Some(first.into()), Some(last.into())) {
            let expected = match stated {
                (Some(first), Some(last)) => format!("the sends {first} to {last}"),
                _ => "no note of a send".into(),
            };
            self.differs = Some((
                expected,
                format!("the sends {first} to {last} are done with"),
            ));
        }
        Ok(0)
    }

    // ---- readiness ----------------------------------------------------------------------

    /// tcp_poll().
    fn ready(&self, fd: i64) -> Ready {
        let fd = self.sockets.copies.get(&fd).copied().unwrap_or(fd);
        let connected = self.sockets.connected == Some(fd);
        if self.sockets.deferred && self.sockets.listening == Some(fd) {
            return Ready::OUT;
        }
        let is_closed = !connected && !self.sockets.listens && self.sockets.listening == Some(fd);
        if is_closed {
            // TCP_CLOSE.
            let closed = Ready::OUT.and(Ready::HANG_UP);
            return if self.has_error() {
                closed.and(Ready::ERROR)
            } else {
                closed
            };
        }
        let Some(connection) = self.connection.as_ref() else {
            return Ready::default();
        };
        let tcp = &connection.tcp;
        if !connected {
            let waits = self.sockets.listens && self.sockets.connected.is_none();
            let is_there = waits && self.may_be_accepted();
            return if is_there {
                Ready::IN
            } else {
                Ready::default()
            };
        }
        let mut ready = Ready::default();
        let read_shut = tcp.has_ended() || self.sockets.read_shut || tcp.is_reset();
        let write_shut = self.sockets.write_shut || tcp.is_reset();
        if read_shut && write_shut {
            ready = ready.and(Ready::HANG_UP);
        }
        if read_shut {
            ready = ready.and(Ready::IN).and(Ready::READ_HANG_UP);
        }
        if tcp.is_established() {
            // tcp_poll(): an urgent byte that is next does not count.
            let is_inline = self.sockets.set.urgent_inline;
            let is_urgent = !is_inline && tcp.before_urgent() == Some(0);
            if tcp.unread() >= self.sockets.set.least_read + u64::from(is_urgent) {
                ready = ready.and(Ready::IN);
            }
            if self.sockets.buffer.is_writable(connection) {
                ready = ready.and(Ready::OUT);
            }
            if tcp.urgent_byte() == UrgentByte::Here {
                ready = ready.and(Ready::URGENT);
            }
        }
        if write_shut {
            ready = ready.and(Ready::OUT);
        }
        let has_notes = self.sockets.uncopied.has_notes() || connection.stamps.has_notes();
        if self.has_error() || has_notes {
            ready = ready.and(Ready::ERROR);
        }
        ready
    }

    /// Wakes the watches of events that have changed since the last call.
    pub(super) fn wake(&mut self) {
        let Some(connection) = self.connection.as_ref() else {
            return;
        };
        let tcp = &connection.tcp;
        let una = tcp.stream().byte_of(tcp.sender().view().snd_una);
        let seen = Seen {
            received: tcp.received(),
            ended: tcp.has_ended(),
            established: tcp.is_established(),
            over: tcp.is_reset(),
            read_shut: self.sockets.read_shut,
            writable: self.sockets.buffer.is_writable(connection),
        };
        let before = std::mem::replace(&mut self.seen, seen);
        if seen.writable {
            if let Some(connection) = self.connection.as_mut() {
                connection.note_room(false, false);
            }
        }
        let mut news = Ready::default();
        if self.sockets.uncopied.acknowledged(una) {
            news = news.and(Ready::ERROR);
        }
        if seen.writable && !before.writable {
            // sk_stream_write_space().
            news = news.and(Ready::OUT);
        }
        if seen.received > before.received {
            news = news.and(Ready::IN);
        }
        if seen.ended != before.ended || seen.read_shut != before.read_shut {
            news = news
                .and(Ready::IN)
                .and(Ready::READ_HANG_UP)
                .and(Ready::HANG_UP);
        }
        if seen.established != before.established {
            news = news.and(Ready::IN).and(Ready::OUT);
        }
        if seen.over != before.over {
            let all = Ready::IN.and(Ready::OUT).and(Ready::ERROR);
            news = news.and(all).and(Ready::HANG_UP);
        }
        if !news.is_none() {
            for watch in self.sockets.epolls.values_mut().flatten() {
                watch.wake(news);
            }
        }
    }

    /// The ready events in a script, as bits; None if it does not state them.
    fn stated(
        &self,
        line: u32,
        call: &Call,
        value: Option<&Value>,
    ) -> Result<Option<(Ready, bool, bool)>, DrillError> {
        let Some(names) = value.and_then(Value::names) else {
            return Ok(None);
        };
        let Some(ready) = Ready::named(names) else {
            let what = format!("{} with {}", call.name, names.join("|"));
            return self.refuse(line, what, "expected POLLIN, POLLOUT, EPOLLET and the like");
        };
        Ok(Some(ready))
    }

    /// `poll([{fd=3, events=POLLIN, revents=POLLIN}], 1, 100) = 1`.
    pub(super) fn poll(&mut self, line: u32, call: &Call) -> Result<Reply, DrillError> {
        let list = call.values.first().cloned().flatten().unwrap_or_default();
        let mut count = 0;
        let mut differs = None;
        for entry in list.items() {
            let fd = entry.field("fd").and_then(Value::number).unwrap_or(-1);
            let asked = self.stated(line, call, entry.field("events"))?;
            let stated = self.stated(line, call, entry.field("revents"))?;
            let ready = self.ready(fd).of(asked.unwrap_or_default().0);
            count += i64::from(!ready.is_none());
            if let Some((stated, ..)) = stated.filter(|s| s.0 .0 != ready.0) {
                differs = Some((
                    format!("revents={}", stated.names()),
                    format!("revents={}", ready.names()),
                ));
            }
        }
        let waits = argument(call, 2) != "0" && !self.patience_over;
        if count == 0 && waits {
            return Ok(None);
        }
        self.differs = differs;
        Ok(Some(Ok(count)))
    }

    pub(super) fn epoll_create(&mut self, call: &Call) -> i64 {
        let fd = call.result.filter(|&fd| fd >= 0).unwrap_or(5);
        self.sockets.epolls.insert(fd, Vec::new());
        fd
    }

    /// `epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLOUT|EPOLLET, fd=4}) = 0`.
    pub(super) fn epoll_control(&mut self, line: u32, call: &Call) -> Result<Returned, DrillError> {
        let (set, fd) = (
            self.number(line, call, 0)? as i64,
            self.number(line, call, 2)? as i64,
        );
        let event = call.values.get(3).cloned().flatten().unwrap_or_default();
        let asked = self.stated(line, call, event.field("events"))?;
        let ready = self.ready(fd);
        let Some(watched) = self.sockets.epolls.get_mut(&set) else {
            return Ok(Err("EBADF"));
        };
        let at = watched.iter().position(|watch| watch.fd == fd);
        let (asked, edges, once) = asked.unwrap_or_default();
        let watch = EpollEntry {
            fd,
            asked,
            edges,
            once,
            woken: !ready.of(asked).is_none(),
            spent: false,
        };
        match (argument(call, 1), at) {
            ("EPOLL_CTL_ADD", None) => watched.push(watch),
            ("EPOLL_CTL_MOD", Some(at)) => watched[at] = watch,
            ("EPOLL_CTL_DEL", Some(at)) => {
                watched.remove(at);
            }
            ("EPOLL_CTL_ADD", Some(_)) => return Ok(Err("EEXIST")),
            ("EPOLL_CTL_MOD" | "EPOLL_CTL_DEL", None) => return Ok(Err("ENOENT")),
            (command, _) => {
                let what = format!("epoll_ctl with {command}");
                return self.refuse(
                    line,
                    what,
                    "expected EPOLL_CTL_ADD, EPOLL_CTL_MOD or EPOLL_CTL_DEL",
                );
            }
        }
        Ok(Ok(0))
    }

    /// `epoll_wait(5, {events=EPOLLOUT, fd=4}, 1, 0) = 1`.
    pub(super) fn epoll_wait(&mut self, line: u32, call: &Call) -> Result<Reply, DrillError> {
        let set = self.number(line, call, 0)? as i64;
        let event = call.values.get(1).cloned().flatten().unwrap_or_default();
        let event = event.items().first().cloned().unwrap_or(event);
        let stated = self.stated(line, call, event.field("events"))?;
        let Some(watched) = self.sockets.epolls.get(&set) else {
            return Ok(Some(Err("EBADF")));
        };
        let ready: Vec<_> = watched.iter().map(|watch| self.ready(watch.fd)).collect();
        let mut events = Vec::new();
        for (watch, ready) in self
            .sockets
            .epolls
            .entry(set)
            .or_default()
            .iter_mut()
            .zip(ready)
        {
            events.push(watch.tell(ready));
        }
        events.retain(|ready| !ready.is_none());
        let waits = argument(call, 3) != "0" && !self.patience_over;
        if events.is_empty() && waits {
            return Ok(None);
        }
        if let (Some((stated, ..)), Some(events)) = (stated, events.first()) {
            if stated != *events {
                self.differs = Some((
                    format!("events={}", stated.names()),
                    format!("events={}", events.names()),
                ));
            }
        }
        Ok(Some(Ok(events.len() as i64)))
    }

    /// The end of the call's own time limit.
    pub(super) fn patience(&self, call: &Call, now: Instant) -> Option<Instant> {
        let number = |at: usize| call.values.get(at).cloned().flatten()?.number();
        match call.name.as_str() {
            "close" => Some(now + Duration::from_secs(self.sockets.set.lingers.1)),
            "poll" => limit(now, number(2)?),
            "epoll_wait" => limit(now, number(3)?),
            "write" | "send" | "sendto" | "writev" | "sendmsg" | "sendfile" | "splice"
            | "connect" => self.sockets.set.send_timeout.map(|wait| now + wait),
            "accept" | "accept4" | "read" | "recv" | "recvfrom" | "readv" | "recvmsg" => {
                self.sockets.set.receive_timeout.map(|wait| now + wait)
            }
            _ => None,
        }
    }
}
