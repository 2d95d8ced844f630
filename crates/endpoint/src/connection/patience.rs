//! When a connection is given up because the other side does not answer. Comments name the functions of Linux 6.12 whose
//! rules these are.

use midflight_units::{Duration, Instant};

use super::{Connection, Over};

/// The timeouts from which the kernel models how long retransmissions may last (TCP_RTO_MIN, TCP_RTO_MAX).
pub(super) const LEAST: Duration = Duration::from_millis(200);
const MOST: Duration = Duration::from_secs(120);

/// The timeout of a SYN (TCP_TIMEOUT_INIT).
const FIRST: Duration = Duration::from_secs(1);

/// The probes of a closed window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowProbes {
    /// When the first was due since the window closed (`icsk_probes_tstamp`).
    since: Option<Instant>,
    /// How many have no answer, and how often the time between two has doubled (`icsk_probes_out`, `icsk_backoff`).
    unanswered: u32,
    sent: u32,
}

/// tcp_model_timeout(): how long this many retransmissions last, of which the first comes after `least`.
pub(super) fn modelled(retransmissions: u32, least: Duration) -> Duration {
    let backed_off = (MOST.as_nanos() / least.as_nanos()).ilog2();
    let doubled = least * ((2 << retransmissions.min(backed_off)) - 1);
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

    /// Since when the user timeout counts: Linux counts from the first retransmission, and for a SYN from the first one
    /// (retrans_stamp in tcp_connect()), once it has been sent again.
    fn unanswered_since(&self) -> Option<Instant> {
        if self.connecting {
            return (!self.early.is_empty()).then_some(self.opened);
        }
        let tally = self.sender.tally().filter(|_| self.is_established());
        match tally {
            Some(tally) if !self.sender.is_window_closed() => {
                tally.first_resent.filter(|_| tally.timeouts > 0)
            }
            Some(_) => self.window_probes.since,
            None => self.unanswered,
        }
    }

    /// An ACK has arrived: it answers probes of the window, and may open it (tcp_ack(), tcp_ack_probe()).
    pub(super) fn answer_window_probes(&mut self) {
        self.window_probes.unanswered = 0;
        if !self.sender.is_window_closed() {
            self.window_probes = WindowProbes::default();
        }
    }

    /// A probe of the closed window is due: whether the connection is given up instead (tcp_probe_timer()). Answers make
    /// it last, but not longer than the user timeout.
    fn gives_up_probing(&mut self, now: Instant) -> bool {
        let is_probe = self.recovers_as_linux() && self.sender.is_window_closed();
        let is_due = self.sender.poll_timer().is_some_and(|(due, _)| due <= now);
        if !is_probe || !is_due {
            return false;
        }
        let rto = self.sender.view().rto;
        let probes = &mut self.window_probes;
        probes.since.get_or_insert(now);
        let is_alive = rto * (1 << probes.sent.min(16)) < MOST;
        let most = if self.deaf {
            self.settings.orphan_retries
        } else {
            self.settings.data_retries
        };
        if probes.unanswered >= most || self.deaf && !is_alive && probes.sent >= most {
            return true;
        }
        probes.unanswered += 1;
        probes.sent += 1;
        false
    }

    /// Whether the SYN has been sent again often enough or, in Linux, for too long (tcp_write_timeout(),
    /// retransmits_timed_out()): SYNs without a back-off are not in the modelled time.
    fn gives_up_opening(&self, now: Instant) -> bool {
        let Some(most) = self.settings.syn_retries else {
            return false;
        };
        let is_linux = self.recovers_as_linux();
        let linear = if is_linux {
            self.settings.linear_syns
        } else {
            0
        };
        let is_late =
            is_linux && !self.early.is_empty() && now >= self.opened + modelled(most, FIRST);
        is_late || self.early.len() as u64 >= u64::from(most + linear)
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
        self.settings.user_timeout.is_none() && now >= since + modelled(most, LEAST)
    }

    /// The sender's timer is due: whether the connection is given up instead.
    pub(super) fn gives_up(&mut self, now: Instant) -> bool {
        let is_over = match (self.unanswered_since(), self.settings.user_timeout) {
            (Some(since), Some(most)) => now >= since + most,
            _ => false,
        };
        let waits = self.connecting && self.gives_up_opening(now);
        let is_response = self.has_responded_often();
        let gives_up = is_over
            || waits
            || is_response
            || self.gives_up_sending(now)
            || self.gives_up_probing(now);
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
        assert_eq!(modelled(15, LEAST), Duration::from_millis(924_600));
        assert_eq!(modelled(3, LEAST), Duration::from_secs(3));
        assert_eq!(modelled(6, FIRST), Duration::from_secs(127));
    }
}
