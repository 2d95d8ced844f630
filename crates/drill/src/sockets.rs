//! The application's state besides the connection: its sockets and their options, the notifications of
//! zero-copy sends, and its epoll sets. Comments name the functions of Linux.

use std::collections::{BTreeMap, VecDeque};

use midflight_endpoint::Keepalive;
use midflight_units::{Duration, Instant};

use super::buffer::SendBuffer;

/// The application's socket.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub(super) struct Sockets {
    /// The listening socket, or the socket that will connect.
    pub(super) listening: Option<i64>,
    pub(super) connected: Option<i64>,
    pub(super) listens: bool,
    /// It did not block when a connection was accepted.
    pub(super) listens_without_waiting: bool,
    /// It has an address (bind()).
    pub(super) is_bound: bool,
    pub(super) non_blocking: bool,
    /// The options of the connection, which it inherits from the listener.
    pub(super) set: Settings,
    /// Values of options that were set and have no effect, by option.
    pub(super) kept: BTreeMap<String, i64>,
    pub(super) epolls: BTreeMap<i64, Vec<EpollEntry>>,
    pub(super) uncopied: Uncopied,
    /// The application has shut down reading; writing.
    pub(super) read_shut: bool,
    pub(super) write_shut: bool,
    /// A call has returned the error that ended the connection.
    pub(super) failed: bool,
    /// A call has reported that the connection is established.
    pub(super) saw_connected: bool,
    /// An error of an ICMP message that a call returns, and one that replaces ETIMEDOUT (sk_err, sk_err_soft).
    pub(super) icmp_error: Option<&'static str>,
    pub(super) soft_error: Option<&'static str>,
    /// The end of the other side's data has been read.
    pub(super) end_read: bool,
    /// `TCP_FASTOPEN_CONNECT`; and its SYN waits for data.
    pub(super) connects_fast: bool,
    pub(super) deferred: bool,
    /// `TCP_FASTOPEN_NO_COOKIE`.
    pub(super) no_cookie: bool,
    /// `TCP_FASTOPEN`: how many connections may wait; 0 if there is no TCP Fast Open.
    pub(super) fast_open_queue: u64,
    pub(super) buffer: SendBuffer,
    /// The byte from which timestamps count (sk_tskey).
    pub(super) first_stamp: u64,
    /// Files and ends of pipes that were opened.
    pub(super) files: Vec<i64>,
    /// Further descriptors of sockets (dup()).
    pub(super) copies: BTreeMap<i64, i64>,
}

impl Sockets {
    /// A connection is accepted: it has the listener's options, and nothing of an earlier connection.
    pub(super) fn accept(&mut self, fd: i64, non_blocking: bool) {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        *self = Self {
            listening: self.listening,
            listens: self.listens,
            listens_without_waiting: self.non_blocking || self.listens_without_waiting,
            is_bound: self.is_bound,
            connected: Some(fd),
            non_blocking,
            set: self.set,
            kept: std::mem::take(&mut self.kept),
            epolls: std::mem::take(&mut self.epolls),
            files: std::mem::take(&mut self.files),
            copies: std::mem::take(&mut self.copies),
            icmp_error: self.icmp_error,
            soft_error: self.soft_error,
            no_cookie: self.no_cookie,
            fast_open_queue: self.fast_open_queue,
            buffer,
            ..Self::default()
        };
    }
}

/// The options of a socket.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a socket option of its own"
)]
pub(super) struct Settings {
    pub(super) nagle: bool,
    pub(super) corked: bool,
    /// `SO_MAX_PACING_RATE`: bytes per second.
    pub(super) pacing_limit: Option<u64>,
    /// The flags of `SO_TIMESTAMPING`.
    pub(super) timestamping: i64,
    /// `SO_ZEROCOPY`, `TCP_INQ`.
    pub(super) zero_copy: bool,
    pub(super) reports_queue: bool,
    /// `SO_OOBINLINE`: an urgent byte is read with the others.
    pub(super) urgent_inline: bool,
    pub(super) user_timeout: Option<Duration>,
    pub(super) receive_timeout: Option<Duration>,
    pub(super) send_timeout: Option<Duration>,
    /// `SO_RCVBUF` and `TCP_WINDOW_CLAMP`: bytes of the window.
    pub(super) receive_buffer: Option<u64>,
    pub(super) window_clamp: Option<u64>,
    /// `TCP_DEFER_ACCEPT`: for how many seconds a connection without data is not accepted.
    pub(super) defers_accept: u64,
    /// `TCP_LINGER2`: how long the connection stays half closed.
    pub(super) linger: Option<Duration>,
    /// It does not (`TCP_LINGER2` below zero).
    pub(super) ends_half_closed: bool,
    /// `SO_KEEPALIVE`, `TCP_KEEPIDLE`, `TCP_KEEPINTVL`, `TCP_KEEPCNT`.
    pub(super) keeps_alive: bool,
    pub(super) keepalive: Keepalive,
    /// `TCP_THIN_LINEAR_TIMEOUTS`.
    pub(super) thin_linear: bool,
    /// `TCP_SYNCNT`.
    pub(super) syn_retries: Option<u32>,
    pub(super) least_read: u64,
    /// `SO_LINGER` with zero time: a close sends an RST.
    pub(super) resets: bool,
    /// The values of `SO_LINGER`.
    pub(super) lingers: (u64, u64),
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            nagle: true,
            corked: false,
            pacing_limit: None,
            timestamping: 0,
            zero_copy: false,
            reports_queue: false,
            urgent_inline: false,
            user_timeout: None,
            receive_timeout: None,
            send_timeout: None,
            receive_buffer: None,
            window_clamp: None,
            defers_accept: 0,
            linger: None,
            ends_half_closed: false,
            keeps_alive: false,
            keepalive: Keepalive::default(),
            thin_linear: false,
            syn_retries: None,
            least_read: 1,
            resets: false,
            lingers: (0, 0),
        }
    }
}

impl Settings {
    /// How often the response to a SYN is due again in the time of `TCP_DEFER_ACCEPT` (secs_to_retrans()).
    pub(super) fn deferred_timeouts(&self) -> u32 {
        let (mut timeouts, mut passed, mut timeout) = (0, 0, 1);
        while passed < self.defers_accept && timeouts < 255 {
            passed += timeout;
            timeout = (timeout * 2).min(120);
            timeouts += 1;
        }
        timeouts
    }
}

/// Sends without a copy (`MSG_ZEROCOPY`): each has a number, and a notification reports when the kernel no
/// longer uses its data. Consecutive notifications are merged (`skb_zerocopy_notify_extend()`).
#[derive(Clone, Debug, Default)]
pub(super) struct Uncopied {
    next: u32,
    /// Number, and one past the last byte, of each send.
    under_way: VecDeque<(u32, u64)>,
    /// First and last number of each notification.
    notes: VecDeque<(u32, u32)>,
}

impl Uncopied {
    pub(super) fn send(&mut self, end: u64) {
        self.under_way.push_back((self.next, end));
        self.next += 1;
    }

    /// Everything before this byte is acknowledged; returns whether there is a new notification.
    pub(super) fn acknowledged(&mut self, before: u64) -> bool {
        let mut is_new = false;
        while let Some(&(number, _)) = self.under_way.front().filter(|(_, end)| *end <= before) {
            self.under_way.pop_front();
            is_new = true;
            match self.notes.back_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => self.notes.push_back((number, number)),
            }
        }
        is_new
    }

    pub(super) fn has_notes(&self) -> bool {
        !self.notes.is_empty()
    }

    pub(super) fn take_note(&mut self) -> Option<(u32, u32)> {
        self.notes.pop_front()
    }
}

/// The ready events of a socket, as bits (`tcp_poll()`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ready(pub(super) u32);

/// The names of readiness events, for `poll` and for `epoll`, and their bits; two names of the same event are
/// equivalent.
const READY: [(&str, &str, u32); 9] = [
    ("POLLIN", "EPOLLIN", 0x1),
    ("POLLPRI", "EPOLLPRI", 0x2),
    ("POLLOUT", "EPOLLOUT", 0x4),
    ("POLLERR", "EPOLLERR", 0x8),
    ("POLLHUP", "EPOLLHUP", 0x10),
    ("POLLNVAL", "", 0x20),
    ("POLLRDNORM", "EPOLLRDNORM", 0x1),
    ("POLLWRNORM", "EPOLLWRNORM", 0x4),
    ("POLLRDHUP", "EPOLLRDHUP", 0x2000),
];

impl Ready {
    pub(super) const IN: Self = Self(0x1);
    pub(super) const URGENT: Self = Self(0x2);
    pub(super) const OUT: Self = Self(0x4);
    pub(super) const ERROR: Self = Self(0x8);
    pub(super) const HANG_UP: Self = Self(0x10);
    pub(super) const READ_HANG_UP: Self = Self(0x2000);
    const ALWAYS: Self = Self(0x18);

    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The requested events; errors are always included.
    pub(super) fn of(self, asked: Self) -> Self {
        Self(self.0 & (asked.0 | Self::ALWAYS.0))
    }

    pub(super) fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The bits of these names, whether the watch is edge-triggered, and whether it is one-shot; none if a
    /// name is unknown.
    pub(super) fn named(names: &[String]) -> Option<(Self, bool, bool)> {
        let (mut bits, mut edges, mut once) = (0, false, false);
        for name in names {
            match name.as_str() {
                "EPOLLET" => edges = true,
                "EPOLLONESHOT" => once = true,
                "EPOLLEXCLUSIVE" | "EPOLLWAKEUP" => {}
                name => {
                    let known = READY
                        .iter()
                        .find(|(poll, epoll, _)| name == *poll || name == *epoll);
                    bits |= known?.2;
                }
            }
        }
        Some((Self(bits), edges, once))
    }

    /// In the notation of a script.
    pub(super) fn names(self) -> String {
        let is_first = |name: &str| !name.ends_with("NORM");
        let of_it = READY
            .iter()
            .filter(|(name, _, bit)| self.0 & bit != 0 && is_first(name));
        let names: Vec<_> = of_it.map(|(poll, _, _)| *poll).collect();
        if names.is_empty() {
            "0".into()
        } else {
            names.join("|")
        }
    }
}

/// A socket in an `epoll` set.
#[derive(Clone, Debug)]
pub(super) struct EpollEntry {
    pub(super) fd: i64,
    pub(super) asked: Ready,
    pub(super) edges: bool,
    pub(super) once: bool,
    /// An event has occurred since the set last reported one (`ep_poll_callback()`).
    pub(super) woken: bool,
    /// It has reported once, and must be re-armed.
    pub(super) spent: bool,
}

impl EpollEntry {
    /// An event occurs at the socket.
    pub(super) fn wake(&mut self, by: Ready) {
        self.woken |= !self.spent && !by.of(self.asked).is_none();
    }

    /// The state of the socket changes, which concerns every watch (`sk_state_change()`).
    pub(super) fn wake_anyway(&mut self) {
        self.woken |= !self.spent;
    }

    /// The events that it reports now (`ep_send_events()`).
    pub(super) fn tell(&mut self, ready: Ready) -> Ready {
        if !self.woken || self.spent {
            return Ready::default();
        }
        let events = ready.of(self.asked);
        // A level-triggered entry is checked again next time.
        self.woken = !events.is_none() && !self.edges && !self.once;
        self.spent |= self.once && !events.is_none();
        events
    }
}

/// The end of a call's own time limit.
pub(super) fn limit(now: Instant, milliseconds: i64) -> Option<Instant> {
    let wait = u64::try_from(milliseconds).ok()?;
    Some(now + Duration::from_millis(wait))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_in_a_row_are_one() {
        let mut sends = Uncopied::default();
        for end in [101, 201, 301] {
            sends.send(end);
        }
        assert!(!sends.acknowledged(100) && !sends.has_notes());
        assert!(sends.acknowledged(250));
        assert_eq!(sends.take_note(), Some((0, 1)));
        assert!(sends.acknowledged(301));
        assert_eq!((sends.take_note(), sends.take_note()), (Some((2, 2)), None));
    }

    #[test]
    fn a_watch_reports_by_levels_by_edges_and_once() {
        let names = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|n| (*n).to_string()).collect();
            Ready::named(&names)
        };
        assert_eq!(
            names(&["POLLIN", "EPOLLRDNORM"]).map(|(r, ..)| r),
            Some(Ready::IN)
        );
        assert_eq!(names(&["POLLFOO"]), None);
        let watch = |extra: &[&str]| {
            let mut all = vec!["EPOLLOUT"];
            all.extend(extra);
            let (asked, edges, once) = names(&all).unwrap_or_default();
            let mut watch = EpollEntry {
                fd: 4,
                asked,
                edges,
                once,
                woken: false,
                spent: false,
            };
            watch.wake(Ready::OUT);
            watch
        };
        let both = Ready::OUT.and(Ready::ERROR);
        let mut by_level = watch(&[]);
        assert_eq!(by_level.tell(both).names(), "POLLOUT|POLLERR");
        assert_eq!(by_level.tell(both).names(), "POLLOUT|POLLERR");
        assert_eq!(by_level.tell(Ready::IN).names(), "0");
        let mut by_edge = watch(&["EPOLLET"]);
        assert!(!by_edge.tell(both).is_none());
        assert!(by_edge.tell(both).is_none());
        by_edge.wake(Ready::ERROR);
        assert!(!by_edge.tell(both).is_none());
        let mut once = watch(&["EPOLLET", "EPOLLONESHOT"]);
        assert!(!once.tell(both).is_none());
        once.wake(Ready::ERROR);
        assert!(once.tell(both).is_none());
    }
}
