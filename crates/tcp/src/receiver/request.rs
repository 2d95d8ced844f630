//! A connection whose SYN-ACK is not acknowledged (`struct request_sock`): the Linux receiver retransmits the SYN-ACK
//! when its timer expires (reqsk_timer_handler()) and when the SYN arrives again (tcp_check_req()).

use midflight_control::jiffies::Jiffies;
use midflight_units::{Duration, Instant};

use crate::answers::Answers;

/// The first timeout (TCP_TIMEOUT_INIT), and the number of retransmissions (net.ipv4.tcp_synack_retries).
const TIMEOUT: Duration = Duration::from_secs(1);
const TIMEOUTS: u32 = 5;

/// The state of such a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    timeouts: u32,
    /// When the SYN-ACK is retransmitted, and when that timer was set.
    timer: (Instant, Instant),
    /// Responses to SYNs after the first.
    answers: Answers,
}

impl Request {
    /// The state after a SYN has just arrived.
    pub(super) fn new(clock: Jiffies, now: Instant) -> Self {
        Self::after(clock, now, 0, Answers::default())
    }

    /// reqsk_timeout().
    fn after(clock: Jiffies, now: Instant, timeouts: u32, answers: Answers) -> Self {
        let due = clock.rings(now, TIMEOUT * 2_u64.pow(timeouts));
        Self {
            timeouts,
            timer: (due, now),
            answers,
        }
    }

    /// When the SYN-ACK is retransmitted or the connection is given up, and when that timer was set.
    pub(super) fn timer(&self) -> (Instant, Instant) {
        self.timer
    }

    /// The SYN has arrived again: returns whether it gets a response.
    pub(super) fn answers(&mut self, clock: Jiffies, now: Instant) -> bool {
        let is_answered = self.answers.allows(clock, now);
        if is_answered {
            *self = Self::after(clock, now, self.timeouts, self.answers);
        }
        is_answered
    }

    /// The timer expires: the SYN-ACK is retransmitted, unless the connection is given up.
    pub(super) fn time_out(self, clock: Jiffies, now: Instant) -> Option<Self> {
        let goes_on = self.timeouts < TIMEOUTS;
        goes_on.then(|| Self::after(clock, now, self.timeouts + 1, self.answers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: Jiffies = Jiffies {
        hz: 250,
        phase: Duration::ZERO,
    };

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(1_000_000 * ms)
    }

    /// By hand: 250 ticks ahead is a bucket of 8 ticks, 32 ms; from 504 ticks on, 64 ticks, 256 ms; from 4032 on, 512.
    #[test]
    fn it_leaves_five_times_more_each_time_after_twice_the_time() {
        let mut request = Request::new(CLOCK, at(100));
        let mut rings = Vec::new();
        loop {
            let now = request.timer().0;
            rings.push(now);
            match request.time_out(CLOCK, now) {
                Some(next) => request = next,
                None => break,
            }
        }
        let after = [1_120, 3_136, 7_168, 15_360, 31_488, 65_536].map(at);
        assert_eq!(rings, after);
    }

    #[test]
    fn a_syn_that_comes_again_is_answered_twice_a_second_and_sets_the_timer() {
        let mut request = Request::new(CLOCK, at(0));
        assert!(request.answers(CLOCK, at(400)));
        assert!(!request.answers(CLOCK, at(896)));
        assert_eq!(request.timer(), (at(1_408), at(400)));
        assert!(request.answers(CLOCK, at(900)));
    }
}
