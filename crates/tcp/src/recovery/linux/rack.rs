//! RACK as in tcp_recovery.c (RFC 8985 section 6.2): a segment is lost if one that was sent later has
//! arrived and its own reordering window is over. The reordering window adapts to DSACKs.

use midflight_control::jiffies::Jiffies;
use midflight_units::{Duration, Instant, Seq};

use super::board::Board;
use crate::recovery::joined::Joined;

/// Number of recoveries for which a wider window is kept.
const PERSIST: u8 = 16;
const MOST_STEPS: u32 = 255;

/// The arrived segment that was sent last, and the reordering window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    /// When it was sent, in whole microseconds, and one past it.
    sent: u64,
    end: Seq,
    /// RTT of the last arrival, in microseconds.
    rtt: u64,
    /// A segment has arrived since the queue was last checked.
    pub(super) advanced: bool,
    /// A DSACK indicates reordering that exceeded the window.
    pub(super) dsack_seen: bool,
    steps: u32,
    persist: u8,
    /// The delivered count when the window was last widened.
    last_delivered: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            sent: 0,
            end: 0,
            rtt: 0,
            advanced: false,
            dsack_seen: false,
            steps: 1,
            persist: 0,
            last_delivered: 0,
        }
    }
}

impl Rack {
    pub(super) fn join(&mut self, joined: Joined) {
        joined.update(&mut self.end);
    }
}

/// Microseconds between two instants, on a clock that counts microseconds.
pub(super) fn micros(from: Instant, to: Instant) -> u64 {
    (to.as_nanos() / 1000).saturating_sub(from.as_nanos() / 1000)
}

/// The inputs of the reordering window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    pub(super) reordering_seen: bool,
    pub(super) in_recovery: bool,
    pub(super) reordering: u64,
    /// Microseconds.
    pub(super) min_rtt: u64,
    pub(super) srtt: u64,
}

impl Rack {
    /// tcp_rack_advance(): a segment has arrived, sent at `sent`.
    #[inline]
    pub(super) fn advance(
        &mut self,
        now: Instant,
        seq: Seq,
        sent: Instant,
        retrans_of: Option<u64>,
    ) {
        // The kernel's stamps have nanoseconds, of which it compares microseconds.
        let sent = sent.as_nanos() / 1000;
        let rtt = (now.as_nanos() / 1000).saturating_sub(sent);
        if retrans_of.is_some_and(|min_rtt| rtt < min_rtt) {
            // It may be the original transmission that has arrived.
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if (sent, seq + 1) > (self.sent, self.end) {
            self.sent = sent;
            self.end = seq + 1;
        }
    }

    /// tcp_rack_reo_wnd().
    fn wait(&self, board: &Board, of: Wait) -> u64 {
        if !of.reordering_seen && (of.in_recovery || board.sacked_out >= of.reordering) {
            return 0;
        }
        ((of.min_rtt >> 2).saturating_mul(u64::from(self.steps))).min(of.srtt)
    }

    /// How much longer a segment may take, in microseconds; none if it is overdue.
    pub(super) fn patience(&self, now: Instant, sent: Instant, wait: u64) -> Option<u64> {
        (self.rtt + wait)
            .checked_sub(micros(sent, now))
            .filter(|left| *left > 0)
    }

    /// tcp_rack_detect_loss(): marks lost segments; returns how long to wait for those that may be
    /// lost, in microseconds.
    pub(super) fn detect(&self, now: Instant, board: &mut Board, of: Wait) -> Option<u64> {
        let wait = self.wait(board, of);
        let mut longest = None;
        let mut next = board.first_sent();
        while let Some(seq) = next {
            next = board.sent_after(seq);
            let Some(&entry) = board.get(seq) else {
                break;
            };
            if entry.is_lost() && !entry.is_resent() {
                continue;
            }
            if (self.sent, self.end) <= (entry.sent.as_nanos() / 1000, seq + 1) {
                break;
            }
            match self.patience(now, entry.sent, wait) {
                Some(left) => longest = longest.max(Some(left)),
                None => {
                    board.mark_lost_and_unlist(seq);
                }
            }
        }
        longest
    }

    /// tcp_rack_update_reo_wnd(): `prior` is the delivered count when the newest arrived segment was
    /// sent.
    #[inline]
    pub(super) fn adapt(&mut self, prior: u64, delivered: u64) {
        if prior == 0 {
            return;
        }
        if prior < self.last_delivered {
            // No round trip has passed since the last update.
            self.dsack_seen = false;
        }
        if self.dsack_seen {
            self.steps = (self.steps + 1).min(MOST_STEPS);
            self.dsack_seen = false;
            self.last_delivered = delivered;
            self.persist = PERSIST;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// A recovery has ended and was necessary.
    pub(super) fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// A recovery was undone by DSACKs.
    pub(super) fn undone(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST);
    }
}

/// How long the minimum RTT is kept (tcp_min_rtt_wlen), in ticks.
pub(super) fn min_rtt_window(clock: Jiffies) -> u64 {
    300 * clock.per_second()
}

/// A duration of whole microseconds.
pub(super) fn time(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    const WAIT: Wait = Wait {
        reordering_seen: false,
        in_recovery: false,
        reordering: 3,
        min_rtt: 40_000,
        srtt: 50_000,
    };

    /// Segments 1 ms apart, RTT 40 ms: when 2 is SACKed at 42 ms, 0 and 1 were sent before, 42 and
    /// 41 ms ago. They may take 40 + 40 / 4 = 50 ms: 8 and 9 ms more.
    #[test]
    fn earlier_segments_are_waited_for_and_then_lost() {
        let mut board = Board::default();
        for n in 0..4 {
            board.push(us(1000 * n), 0);
        }
        let mut rack = Rack::default();
        board.mark_sacked(2);
        rack.advance(us(42_000), 2, us(2000), None);
        assert_eq!(rack.detect(us(42_000), &mut board, WAIT), Some(9000));
        assert_eq!(board.lost_out, 0);
        assert_eq!(rack.detect(us(50_000), &mut board, WAIT), Some(1000));
        assert_eq!(board.lost_out, 1);
        // In a recovery the window is zero; segment 3 was sent later and is not lost.
        let wait = Wait {
            in_recovery: true,
            ..WAIT
        };
        assert_eq!(rack.detect(us(50_000), &mut board, wait), None);
        assert_eq!(board.lost_out, 2);
    }

    /// Three SACKed segments have the same effect as a recovery, unless reordering has been seen.
    #[test]
    fn three_sacked_segments_end_the_wait() {
        let mut board = Board::default();
        for n in 0..5 {
            board.push(us(1000 * n), 0);
        }
        let mut rack = Rack::default();
        for seq in 1..4 {
            board.mark_sacked(seq);
            rack.advance(us(40_000 + 1000 * seq), seq, us(1000 * seq), None);
        }
        let seen = Wait {
            reordering_seen: true,
            ..WAIT
        };
        assert_eq!(rack.detect(us(43_000), &mut board, seen), Some(7000));
        assert_eq!(rack.detect(us(43_000), &mut board, WAIT), None);
        assert_eq!(board.lost_out, 1);
    }

    #[test]
    fn a_retransmission_acknowledged_too_soon_gives_no_sample() {
        let mut rack = Rack::default();
        rack.advance(us(50_000), 3, us(20_000), Some(40_000));
        assert!(!rack.advanced);
        rack.advance(us(60_000), 3, us(20_000), Some(40_000));
        assert!(rack.advanced && rack.rtt == 40_000);
    }

    /// Each DSACK, a round trip apart, widens the window by a quarter of the minimum RTT, for 16
    /// recoveries.
    #[test]
    fn dsacks_make_the_wait_longer_for_a_while() {
        let mut rack = Rack {
            dsack_seen: true,
            ..Rack::default()
        };
        rack.adapt(10, 20);
        assert_eq!(rack.steps, 2);
        rack.dsack_seen = true;
        rack.adapt(19, 25);
        assert_eq!(rack.steps, 2, "within the round trip");
        rack.dsack_seen = true;
        rack.adapt(20, 40);
        assert_eq!(rack.steps, 3);
        for _ in 0..15 {
            rack.recovered();
        }
        rack.adapt(50, 60);
        assert_eq!(rack.steps, 3);
        rack.recovered();
        rack.adapt(50, 60);
        assert_eq!(rack.steps, 1);
    }
}
