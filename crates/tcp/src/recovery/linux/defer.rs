//! Bursts that wait for an ACK (tcp_tso_should_defer()), and the attempts to send that end with that.

use super::queue::Head;
use super::send::{whole, Room};
use super::{Ca, Linux};
use crate::sender::Core;

/// Segments in two ACKs, less one (tcp_max_tso_deferred_mss()).
const DEFERRED_SEGMENTS: u64 = 3;
/// Maximum time that a burst is held back, in nanoseconds.
const DEFER_MOST: u64 = 1_000_000;

impl Linux {
    /// tcp_tso_should_defer(): whether to wait for an ACK that lets a whole burst go.
    #[inline(always)]
    pub(super) fn defers(&mut self, core: &Core, room: &Room, head: Head) -> bool {
        let &Room { burst, window, .. } = room;
        if self.state >= Ca::Recovery
            || core.now.since(core.departure_of_burst()).as_nanos() > DEFER_MOST
        {
            return false;
        }
        let (cwnd, full) = (room.cwnd, core.sizes.full());
        let of_window = room.segments * full;
        let limit = window.min(of_window);
        let is_whole = !head.is_last && limit >= head.left;
        let is_much = match core.config.bursts.window_divisor {
            0 => limit > DEFERRED_SEGMENTS * full,
            divisor => limit >= core.window_bytes().min(cwnd * full) / u64::from(divisor),
        };
        if limit >= burst * full || is_whole || is_much {
            return false;
        }
        let (Some(oldest), Some(srtt)) = (self.board.head(), core.path.rto.srtt()) else {
            return false;
        };
        let expected = oldest.sent + srtt;
        let soon = (srtt.as_nanos() / 2).min(DEFER_MOST);
        if expected.since(core.now).as_nanos() > soon {
            return false;
        }
        self.sending.limited |= of_window < window && of_window <= head.left;
        true
    }

    /// Whether the attempt to send after a usual ACK (tcp_data_snd_check()) ends as most do: a burst is held back, and the
    /// application goes on waiting. Updates the state for such an attempt only; the result is that of [`Self::choose`].
    #[inline(always)]
    pub(super) fn is_held_back(&mut self, core: &mut Core) -> bool {
        let sending = &self.sending;
        let is_first = sending.burst == 0 && sending.sent == 0 && sending.one.is_none();
        if !is_first || sending.has_other() || core.is_paced() || core.asks_parts() {
            return false;
        }
        // In flight is all that was sent and is not acknowledged.
        let (cwnd, full, out) = (whole(core), core.sizes.full(), self.board.packets_out());
        let (segments, nxt) = (cwnd.saturating_sub(out), self.nxt_byte(core));
        let window = core
            .window_bytes()
            .saturating_sub(nxt - core.sizes.byte(self.board.una));
        if segments == 0 || self.is_drained(core, nxt) {
            return false;
        }
        let Some((_, head)) = self.queue.unfilled_head(nxt) else {
            return false;
        };
        // Nothing is added to a piece that holds all that the window allows.
        let is_filled = head.is_last || head.left >= segments * full;
        if !is_filled || full > window || head.left <= full {
            return false;
        }
        let room = Room {
            nxt,
            cwnd,
            segments,
            burst: self.burst_segments(core),
            quota: segments,
            window,
        };
        if !self.queue.stays_full(cwnd, self.reordering) {
            return false;
        }
        if !self.defers(core, &room, head) {
            return false;
        }
        if std::mem::take(&mut self.sending.limited) {
            self.validate(core, true);
        }
        self.queue.expand(cwnd, self.reordering);
        self.sending.by_program = true;
        true
    }
}
