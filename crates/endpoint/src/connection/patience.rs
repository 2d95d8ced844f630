//! When a connection is given up because the other side does not answer. Comments name the functions of Linux 6.12 whose
//! rules these are.

use midflight_tcp::RecoveryKind;
use midflight_units::{Duration, Instant};

use super::{Connection, Over};

/// The timeouts from which the kernel models how long retransmissions may last (TCP_RTO_MIN, TCP_RTO_MAX).
const LEAST: Duration = Duration::from_millis(200);
const MOST: Duration = Duration::from_secs(120);

/// tcp_model_timeout(): how long this many retransmissions last.
fn modelled(retransmissions: u32) -> Duration {
    let backed_off = (MOST.as_nanos() / LEAST.as_nanos()).ilog2();
    let doubled = LEAST * ((2 << retransmissions.min(backed_off)) - 1);
    doubled + MOST * u64::from(retransmissions.saturating_sub(backed_off))
}

impl Connection {
    /// When the sender's timer expires that is due at `due`: at the latest at the user timeout
    /// (tcp_clamp_rto_to_user_timeout(), tcp_clamp_probe0_to_user_timeout()).
    pub(super) fn patience(&self, due: Instant) -> Instant {
        match (self.unanswered_since(), self.settings.user_timeout) {
            (Some(since), Some(most)) => due.min(since + most),
            _ => due,
        }
    }

    /// Since when the user timeout counts: Linux counts from the first retransmission.
    fn unanswered_since(&self) -> Option<Instant> {
        if self.connecting {
            return self.early.first().copied();
        }
        let tally = self.sender.tally().filter(|_| self.is_established());
        match tally {
            Some(tally) if !self.sender.is_window_closed() => {
                tally.first_resent.filter(|_| tally.timeouts > 0)
            }
            _ => self.unanswered,
        }
    }

    /// Whether the SYN has been sent again often enough (tcp_write_timeout()).
    fn gives_up_opening(&self) -> bool {
        let is_linux = self.settings.built.profile.sender.recovery == RecoveryKind::Linux;
        let linear = if is_linux {
            self.settings.linear_syns
        } else {
            0
        };
        let most = self.settings.syn_retries.map(|most| most + linear);
        most.is_some_and(|most| self.early.len() as u64 >= u64::from(most))
    }

    /// Whether data has been sent again for too long (retransmits_timed_out()).
    fn gives_up_sending(&self, now: Instant) -> bool {
        let tally = self.sender.tally().filter(|tally| tally.timeouts > 0);
        let Some(since) = tally.and_then(|tally| tally.first_resent) else {
            return false;
        };
        let most = if self.deaf {
            self.settings.orphan_retries
        } else {
            self.settings.data_retries
        };
        self.settings.user_timeout.is_none() && now >= since + modelled(most)
    }

    /// The sender's timer is due: whether the connection is given up instead.
    pub(super) fn gives_up(&mut self, now: Instant) -> bool {
        let is_over = match (self.unanswered_since(), self.settings.user_timeout) {
            (Some(since), Some(most)) => now >= since + most,
            _ => false,
        };
        let waits = self.connecting && self.gives_up_opening();
        let is_response = self.has_responded_often();
        let gives_up = is_over || waits || is_response || self.gives_up_sending(now);
        if gives_up {
            self.over = Some(if is_response {
                // reqsk_timer_handler(): nobody has seen it.
                Over::Aborted
            } else {
                Over::TimedOut
            });
        }
        gives_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Documentation/networking/ip-sysctl.rst: 15 retries are 924.6 s.
    #[test]
    fn the_usual_number_of_retries_lasts_924_6_seconds() {
        assert_eq!(modelled(15), Duration::from_millis(924_600));
        assert_eq!(modelled(3), Duration::from_secs(3));
    }
}
