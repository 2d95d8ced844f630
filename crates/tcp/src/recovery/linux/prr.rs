//! The window of a recovery: proportional rate reduction, as in the kernel (tcp_init_cwnd_reduction(),
//! tcp_cwnd_reduction()), or as in RFC 9937 section 6.
//!
//! They differ in two points. The kernel reduces in proportion to the window before the recovery, the RFC to RecoverFS,
//! the data in flight; these are equal if the window was fully used. And while nothing has been sent, the kernel allows
//! a segment for every ACK, the RFC only if none would be sent otherwise.

use crate::config::PrrRules;

/// Counts since the recovery began, in segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    /// The denominator of the proportion: the window before, or RecoverFS.
    prior: u64,
    rules: PrrRules,
    delivered: u64,
    pub(super) out: u64,
}

/// The results of an ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    /// Newly acknowledged or SACKed.
    pub(super) delivered: u64,
    pub(super) newly_lost: u64,
    pub(super) advanced: bool,
}

impl Prr {
    /// Begins with this window before the recovery, or this much data in flight without the segments SACKed before the
    /// current ACK.
    pub(super) fn begin(rules: PrrRules, cwnd: u64, recover_fs: u64) -> Self {
        let prior = match rules {
            PrrRules::Linux => cwnd,
            PrrRules::Rfc9937 => recover_fs,
        };
        Self {
            prior,
            rules,
            ..Self::default()
        }
    }

    /// The window, if it changes.
    pub(super) fn window(&mut self, ssthresh: u64, in_flight: u64, ack: Delivery) -> Option<u64> {
        if ack.delivered == 0 || self.prior == 0 {
            return None;
        }
        self.delivered += ack.delivered;
        let (delivered, out) = (self.delivered as i64, self.out as i64);
        let mut more = if in_flight > ssthresh {
            let share = (ssthresh * self.delivered).div_ceil(self.prior);
            share as i64 - out
        } else {
            let mut more = (delivered - out).max(ack.delivered as i64);
            // No further losses: slow start up to the threshold.
            more += i64::from(ack.advanced && ack.newly_lost == 0);
            more.min((ssthresh - in_flight) as i64)
        };
        // The first retransmission is always allowed.
        let is_forced = match self.rules {
            PrrRules::Linux => true,
            PrrRules::Rfc9937 => more == 0,
        };
        if is_forced {
            more = more.max(i64::from(self.out == 0));
        }
        Some(in_flight.saturating_add_signed(more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9937 section 8: the first of 20 segments is lost; the window after each of the ACKs that SACK the others is
    /// 20 19 18 18 17 17 ... with a threshold of 10.
    #[test]
    fn half_of_the_arrivals_are_sent_in_a_recovery_of_one_loss() {
        let mut prr = Prr::begin(PrrRules::Linux, 20, 0);
        // The third SACK enters recovery: 20 - 3 - 1 lost in flight.
        let mut in_flight = 16;
        let mut sent = Vec::new();
        for _ in 0..17 {
            let ack = Delivery {
                delivered: 1,
                newly_lost: 0,
                advanced: false,
            };
            let cwnd = prr.window(10, in_flight, ack);
            let go = cwnd.map_or(0, |cwnd| cwnd.saturating_sub(in_flight));
            prr.out += go;
            sent.push(go);
            in_flight += go;
            in_flight -= 1;
        }
        // ceil(10 n / 20) in total after n ACKs, until 10 are in flight at the thirteenth; then each arrival releases
        // one segment.
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1, 1]);
    }

    /// 4 in flight below a threshold of 10: an ACK of 2 releases 3, or 2 if more is lost.
    #[test]
    fn below_the_threshold_it_is_slow_start_unless_more_is_lost() {
        for (newly_lost, cwnd) in [(0, 7), (1, 6)] {
            let mut prr = Prr::begin(PrrRules::Linux, 20, 0);
            prr.out = 5;
            let ack = Delivery {
                delivered: 2,
                newly_lost,
                advanced: true,
            };
            assert_eq!(prr.window(10, 4, ack), Some(cwnd));
        }
    }

    /// The figure of RFC 9937 section 8: the first of 20 segments is lost, from the third SACK on until the data in
    /// flight has decreased to the threshold. Two new segments were sent at the first two SACKs, so RecoverFS is 22 -
    /// 3 + 1.
    #[test]
    fn the_window_of_the_rfc_is_that_of_its_figure() {
        let mut prr = Prr::begin(PrrRules::Rfc9937, 20, 20);
        let mut in_flight = 18;
        for expected in [
            19, 18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11,
        ] {
            let ack = Delivery {
                delivered: 1,
                newly_lost: 0,
                advanced: false,
            };
            let cwnd = prr.window(10, in_flight, ack);
            assert_eq!(cwnd, Some(expected));
            prr.out += expected - in_flight;
            in_flight = expected - 1;
        }
        assert_eq!(in_flight, 10);
    }

    /// A window of 40 with 20 in flight: the kernel releases a quarter of the arrivals, the RFC a half.
    #[test]
    fn they_differ_where_the_window_was_not_used() {
        for (rules, cwnd) in [(PrrRules::Linux, 17), (PrrRules::Rfc9937, 18)] {
            let mut prr = Prr::begin(rules, 40, 20);
            prr.out = 0;
            let ack = Delivery {
                delivered: 4,
                newly_lost: 0,
                advanced: false,
            };
            assert_eq!(prr.window(10, 16, ack), Some(cwnd), "{rules:?}");
        }
    }
}
