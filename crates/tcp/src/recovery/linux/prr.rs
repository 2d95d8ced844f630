//! The window of a recovery (tcp_init_cwnd_reduction(), tcp_cwnd_reduction()): proportional rate
//! reduction as in RFC 6937, from the window and not from what was in flight.

/// Counts since the recovery began, in segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    pub(super) prior_cwnd: u64,
    delivered: u64,
    pub(super) out: u64,
}

/// What an ACK has told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    /// Acknowledged or SACKed.
    pub(super) delivered: u64,
    pub(super) newly_lost: u64,
    pub(super) advanced: bool,
}

impl Prr {
    pub(super) fn begin(cwnd: u64) -> Self {
        Self {
            prior_cwnd: cwnd,
            ..Self::default()
        }
    }

    /// The window, if it changes.
    pub(super) fn window(&mut self, ssthresh: u64, in_flight: u64, ack: Delivery) -> Option<u64> {
        if ack.delivered == 0 || self.prior_cwnd == 0 {
            return None;
        }
        self.delivered += ack.delivered;
        let (delivered, out) = (self.delivered as i64, self.out as i64);
        let mut more = if in_flight > ssthresh {
            let share = (ssthresh * self.delivered).div_ceil(self.prior_cwnd);
            share as i64 - out
        } else {
            let mut more = (delivered - out).max(ack.delivered as i64);
            // Nothing more is lost: slow start up to the threshold.
            more += i64::from(ack.advanced && ack.newly_lost == 0);
            more.min((ssthresh - in_flight) as i64)
        };
        // The first retransmission always goes.
        more = more.max(i64::from(self.out == 0));
        Some(in_flight.saturating_add_signed(more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9937 section 8: 20 segments of which the first is lost; the window after each of the
    /// ACKs that SACK the others is 20 19 18 18 17 17 ... with a threshold of 10.
    #[test]
    fn half_of_what_arrives_is_sent_in_a_recovery_of_one_loss() {
        let mut prr = Prr::begin(20);
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
        // ceil(10 n / 20) in all after n ACKs, until 10 are in flight at the thirteenth; then each
        // that arrives lets one go.
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1, 1]);
    }

    /// 4 in flight below a threshold of 10: an ACK of 2 lets 3 go, or 2 if more is lost.
    #[test]
    fn below_the_threshold_it_is_slow_start_unless_more_is_lost() {
        for (newly_lost, cwnd) in [(0, 7), (1, 6)] {
            let mut prr = Prr::begin(20);
            prr.out = 5;
            let ack = Delivery {
                delivered: 2,
                newly_lost,
                advanced: true,
            };
            assert_eq!(prr.window(10, 4, ack), Some(cwnd));
        }
    }
}
