//! The send buffer of a socket (`SO_SNDBUF`, `TCP_NOTSENT_LOWAT`): how much data a write takes, and when the next may
//! take more. The data is in pieces, which are the kernel's socket buffers, and each takes memory besides its data.
//! Comments name the functions of Linux.

use std::collections::VecDeque;

use super::call::Reply;
use super::runner::Runner;
use super::script::Call;
use super::tested::Tested;
use super::DrillError;

/// Bytes of the kernel's structures for each piece: SKB_TRUESIZE() of the smallest head.
const OVERHEAD: u64 = 960;
/// The smallest buffer (SOCK_MIN_SNDBUF).
const LEAST: u64 = 4608;
/// Most bytes of a piece: 64 KB less the largest header (tcp_xmit_size_goal()).
const LARGEST: u64 = 65_215;

/// The send buffer.
#[derive(Clone, Debug, Default)]
pub(super) struct SendBuffer {
    /// Bytes of memory (sk_sndbuf); none if unlimited.
    limit: Option<u64>,
    /// A write takes no more while this many bytes are not sent (tcp_notsent_lowat()).
    lowat: Option<u64>,
    /// One past the last byte of each piece with data that is not acknowledged.
    pieces: VecDeque<u64>,
    /// One past the last byte of the last piece that ends a record (MSG_EOR).
    sealed: u64,
    /// Bytes that the waiting call has written.
    written: u64,
}

/// The state of the connection that decides on room.
#[derive(Clone, Copy)]
struct Fill {
    /// The first byte that is not acknowledged, the first that is not sent, and one past the last.
    una: u64,
    nxt: u64,
    end: u64,
}

impl Fill {
    fn of(connection: &Tested) -> Self {
        let stream = connection.tcp.stream();
        let view = connection.tcp.sender().view();
        let end = stream.end();
        Self {
            una: stream.byte_of(view.snd_una).clamp(1, end),
            nxt: stream.byte_of(view.snd_max).clamp(1, end),
            end,
        }
    }
}

impl SendBuffer {
    /// `SO_SNDBUF`: the kernel doubles the value.
    pub(super) fn set_limit(&mut self, bytes: u64) {
        self.limit = Some(bytes.saturating_mul(2).max(LEAST));
    }

    /// Another connection begins.
    pub(super) fn clear(&mut self) {
        self.pieces.clear();
        (self.sealed, self.written) = (0, 0);
    }

    /// The waiting call has written so many bytes in our SYN.
    pub(super) fn begin_with(&mut self, bytes: u64) {
        self.written = bytes;
    }

    /// The limit, as getsockopt() returns it.
    pub(super) fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// `TCP_NOTSENT_LOWAT`; 0 for none.
    pub(super) fn set_lowat(&mut self, bytes: u64) {
        self.lowat = Some(bytes).filter(|bytes| (1..u64::from(u32::MAX)).contains(bytes));
    }

    pub(super) fn is_limited(&self) -> bool {
        self.limit.is_some() || self.lowat.is_some()
    }

    /// sk_wmem_queued.
    fn used(&self, fill: Fill) -> u64 {
        let pieces = self.pieces.iter().filter(|end| **end > fill.una).count();
        pieces as u64 * OVERHEAD + (fill.end - fill.una)
    }

    /// sk_stream_memory_free(); with `wake` the data that is not sent counts twice.
    fn is_free(&self, fill: Fill, wake: bool) -> bool {
        let unsent = (fill.end - fill.nxt) << u32::from(wake);
        self.limit.is_none_or(|limit| self.used(fill) < limit)
            && self.lowat.is_none_or(|lowat| unsent < lowat)
    }

    /// Whether a third of the memory is free, so that a waiting call continues (__sk_stream_is_writeable()).
    fn is_writable_at(&self, fill: Fill) -> bool {
        let used = self.used(fill);
        self.limit.is_none_or(|limit| used + used / 2 <= limit) && self.is_free(fill, true)
    }

    /// Whether the socket is writable (tcp_poll()).
    pub(super) fn is_writable(&self, connection: &Tested) -> bool {
        !self.is_limited() || self.is_writable_at(Fill::of(connection))
    }

    /// A piece of which a part is sent is two (tso_fragment()).
    fn cut(&mut self, fill: Fill) {
        let at = self.pieces.partition_point(|end| *end <= fill.nxt);
        let is_edge = fill.nxt <= fill.una || at > 0 && self.pieces[at - 1] == fill.nxt;
        if at < self.pieces.len() && !is_edge {
            self.pieces.insert(at, fill.nxt);
        }
    }

    /// Room in the last piece, if that is not sent (tcp_write_queue_tail()).
    fn room_in_last(&self, fill: Fill, largest: u64) -> u64 {
        let last = self.pieces.back().copied().unwrap_or(0);
        if last <= fill.nxt || last <= self.sealed {
            return 0;
        }
        let before = self.pieces.iter().rev().nth(1).copied();
        let start = before.unwrap_or(1).max(fill.una);
        largest.saturating_sub(last - start)
    }
}

impl Runner<'_> {
    /// Writes what there is room for (tcp_sendmsg_locked()). `waits`: the call waits for room.
    pub(super) fn write_limited(
        &mut self,
        line: u32,
        call: &Call,
        bytes: u64,
        flags: (bool, bool),
        (waits, stamps, is_urgent): (bool, i64, bool),
    ) -> Result<Reply, DrillError> {
        let (more, ends) = flags;
        let is_linux = self.environment.is_linux();
        let buffer = &mut self.sockets.buffer;
        let Some(connection) = self.connection.as_mut() else {
            return Ok(Some(Err("EPIPE")));
        };
        let mut copied = if self.retrying { buffer.written } else { 0 };
        let is_blocked =
            self.retrying && !self.patience_over && !buffer.is_writable_at(Fill::of(connection));
        while copied < bytes && !is_blocked {
            let mss = connection.tcp.stream().mss();
            // tcp_bound_to_half_wnd().
            let half = (connection.tcp.window() / 2).max(mss);
            let most = LARGEST.min(half).max(mss);
            let largest = if is_linux { most / mss * mss } else { mss };
            let fill = Fill::of(connection);
            buffer.pieces.retain(|end| *end > fill.una);
            buffer.cut(fill);
            let mut room = buffer.room_in_last(fill, largest);
            let begins = room == 0;
            if begins {
                if !buffer.is_free(fill, false) {
                    break;
                }
                room = largest;
            }
            let taken = room.min(bytes - copied);
            let is_last = copied + taken == bytes;
            if !begins {
                buffer.pieces.pop_back();
            }
            buffer.pieces.push_back(fill.end + taken);
            let stamps = if is_last { stamps } else { 0 };
            if !connection.write(
                &[taken],
                (more, ends && is_last),
                (stamps, is_urgent && is_last),
            ) {
                let what = format!("{} of {bytes} bytes", call.name);
                return self.refuse(line, what, "expected at most 100000 segments in all");
            }
            if ends && is_last {
                buffer.sealed = fill.end + taken;
            }
            copied += taken;
        }
        buffer.written = copied;
        if copied < bytes {
            connection.note_room(true, copied > 0);
        }
        let is_over = !waits || self.patience_over;
        Ok(match copied {
            copied if copied == bytes => Some(Ok(copied as i64)),
            0 if is_over => Some(Err("EAGAIN")),
            copied if is_over => Some(Ok(copied as i64)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_counts_data_and_structures() {
        let mut buffer = SendBuffer::default();
        let fill = |una, nxt, end| Fill { una, nxt, end };
        assert!(buffer.is_writable_at(fill(1, 1, 1_000_000)));
        buffer.set_limit(1);
        assert_eq!(buffer.limit(), Some(4608));
        buffer.pieces.extend([1001, 2001]);
        assert_eq!(buffer.used(fill(1, 1, 2001)), 3920);
        // There is room, but not for a third of what is used.
        assert!(
            buffer.is_free(fill(1, 1, 2001), false) && !buffer.is_writable_at(fill(1, 1, 2001))
        );
        assert_eq!(buffer.used(fill(1001, 2001, 2001)), 1960);
        assert!(buffer.is_writable_at(fill(1001, 2001, 2001)));
        buffer.set_lowat(1000);
        assert!(!buffer.is_free(fill(1001, 1001, 2001), false));
        assert!(buffer.is_free(fill(1001, 1502, 2001), false));
        assert!(!buffer.is_writable_at(fill(1001, 1501, 2001)));
        assert!(buffer.is_writable_at(fill(1001, 1502, 2001)));
        // A record that has ended takes no more, nor does a piece that is sent.
        assert_eq!(buffer.room_in_last(fill(1001, 1001, 2001), 1460), 460);
        assert_eq!(buffer.room_in_last(fill(1001, 2001, 2001), 1460), 0);
        let half_sent = fill(1001, 1501, 2001);
        buffer.cut(half_sent);
        assert_eq!(buffer.room_in_last(half_sent, 1460), 960);
        assert_eq!(buffer.used(half_sent), 2920);
        buffer.sealed = 2001;
        assert_eq!(buffer.room_in_last(fill(1001, 1001, 2001), 1460), 0);
    }
}
