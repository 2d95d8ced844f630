//! The sender's state in the form for policies.

use midflight_control::SenderView;
use midflight_units::{Duration, Seq};

use super::books::Outstanding;
use super::{Core, RecoveryRequest};
use crate::config::RtoRecoveryEnd;
use crate::state::{State, Trigger};

/// RFC 2988 (2.1).
const RFC_2988_INITIAL_RTO: Duration = Duration::from_secs(3);

impl Core {
    /// The sender's state before an ACK is processed, for [`Self::consult_after_ack`].
    #[inline(always)]
    pub(crate) fn standing(&self) -> (Seq, Seq) {
        (self.books.una(), self.books.max())
    }

    /// Requests of applied orders to the recovery, returned once.
    #[inline(always)]
    pub(crate) fn take_request(&mut self) -> Option<RecoveryRequest> {
        self.request.take()
    }

    /// The next segment of a probe, if one may be sent.
    #[cold]
    pub(crate) fn probe_segment(&mut self) -> Option<Seq> {
        let left = self.probe.filter(|&left| left > 0)?;
        if !self.may_send_new() {
            return None;
        }
        self.probe = Some(left - 1);
        Some(self.books.max())
    }

    pub(crate) fn may_send_new(&self) -> bool {
        self.books.max() < self.books.end()
            && self.books.max() < self.books.una() + self.receiver_window()
    }

    pub(crate) fn view(&self) -> SenderView {
        SenderView {
            now: self.now,
            snd_una: self.books.una(),
            snd_nxt: self.books.nxt(),
            snd_max: self.books.max(),
            una_sent: self.books.first().map(Outstanding::sent),
            cwnd: self.cwnd(),
            ssthresh: self.ssthresh(),
            initial_window: self.config.initial_window(),
            initial_ssthresh: self.config.initial_ssthresh,
            pipe: if self.loss.in_fast_recovery() || self.config.recovery.about().always_has_pipe {
                self.loss.pipe().max(0) as u64
            } else {
                self.flight_size()
            },
            in_fast_recovery: self.loss.in_fast_recovery(),
            in_rto_recovery: match self.config.rto_recovery_end {
                RtoRecoveryEnd::NewAck => self.loss.timed_out(),
                RtoRecoveryEnd::RecoveryPoint => self.is_going_back(),
            },
            first_timeout: self.first_timeout,
            rto: self.path.rto.timeout(),
            min_rto: self.path.rto.min(),
            new_connection_rto: self.config.rto.initial.min(RFC_2988_INITIAL_RTO),
            srtt: self.path.rto.srtt(),
            rttvar: self.path.rto.rttvar(),
            rtt_sampled: self.path.rtt_sampled,
            bandwidth: if self.path.reno {
                None
            } else {
                self.path.congestion.bandwidth(self.now)
            },
            dupacks: self.loss.dupacks(),
            limited_sent: self.books.limited_sent(),
            new_data: self.may_send_new(),
            unsent: self.books.end().saturating_sub(self.books.max()),
            train: self.train(),
            may_train: self.may_train(),
            may_pace: self.may_pace(),
            paced_until: self.gate().map(|(until, _)| until),
            rate: self.rate,
            window_limited: self.path.window_limited,
            segment_bytes: self.config.segment_bytes,
            receiver_window: self.receiver_window(),
            sack: self.config.sack && self.config.recovery.uses_sack(),
            dup_threshold: self.duplicates_wanted(),
            reordering: self.reordering.map(|(r, _)| r),
            limited_transmit: self.config.limited_transmit,
        }
    }

    /// Removes and returns [`Self::noted`].
    pub(crate) fn take_noted(&mut self) -> Option<Trigger> {
        self.noted.take()
    }

    /// The present state.
    pub(crate) fn state(&self) -> State {
        if self.probe.is_some() {
            State::Probe
        } else if self.loss.timed_out() {
            State::Reset
        } else if self.loss.in_fast_recovery() {
            State::FastRecovery
        } else if self.timers.delay().is_some() || self.patient {
            State::Delay
        } else if self.cwnd() < self.ssthresh() && !(self.path.controls && self.books.una() > 0) {
            // A controller that sets the window itself has its own phases.
            State::SlowStart
        } else {
            State::CongestionAvoidance
        }
    }
}
