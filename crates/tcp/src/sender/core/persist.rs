//! A closed window. In persist mode (RFC 9293 section 3.8.6.1) only window probes are sent, at intervals that double
//! from the retransmission timeout; the retransmission timer is stopped and the congestion window does not change (RFC
//! 1122 section 4.2.2.17: the connection must stay open).
//!
//! Differs from RFC 9293, where a probe carries an octet or retransmits outstanding data: here a probe repeats an
//! acknowledged number without data, as in today's hosts, and nothing is retransmitted in persist mode, as
//! Freeze-TCP requires. A delayed response to duplicates that is due during that time is dropped, because the
//! duplicates are from before.
//!
//! The recovery of Linux enters it only when nothing is in flight and data waits (tcp_check_probe_timer()). Otherwise a
//! zero window does not stop its timers: each timeout reduces the window and retransmits the first segment as a probe
//! (tcp_retransmit_timer()). A notice to wait ([`AckOption::Standby`]) stops every sender, because it is a part of the
//! scheme that the sender uses.

use midflight_control::congestion::AckCounting;
use midflight_control::Interests;
use midflight_units::{Duration, Instant};

use super::Core;
use crate::event::{Author, Log};
use crate::segment::{Ack, AckOption, Content, Segment, ACK_HEADER_BYTES};

/// The least time to the first probe of Linux (TCP_RTO_MIN in tcp_probe0_base()).
pub(crate) const LEAST_WAIT: Duration = Duration::from_millis(200);

impl Core {
    pub(crate) fn is_closed(&self) -> bool {
        self.timers.in_persist()
    }

    /// Processes an ACK that closes or opens the window, that arrives while it is closed, or that has a handoff mark.
    /// Returns whether the recovery processes it too: not if it repeats the last ACK and only serves this purpose.
    #[cold]
    pub(crate) fn on_special_ack(&mut self, ack: &Ack, log: &mut impl Log) -> bool {
        self.follow_deliveries(ack);
        let (old, again) = (ack.ack < self.books.una(), ack.ack == self.books.una());
        if old || self.books.una() == 0 {
            return true;
        }
        let is_mark = again
            && matches!(ack.option, AckOption::Moved(_))
            && self.interests.includes(Interests::MARKS);
        let goes_on = self.goes_on_in_closed_window();
        let is_zero = ack.option == AckOption::ZeroWindow;
        let was_zero = self.peer.has_zero_window();
        if goes_on && ack.option != AckOption::Standby {
            self.take_zero_window(is_zero, log);
        }
        let counts = match (self.is_closed(), ack.option.closes()) {
            (false, true) if goes_on && is_zero => true,
            (false, true) => {
                self.close_window();
                !again
            }
            (true, true) if was_zero && is_zero => {
                // tcp_ack_probe(). The ACK may have a DSACK.
                self.timers.renew_persist(self.now, self.config.rto.clock);
                true
            }
            // The notice to wait is over, and a zero window does not stop this sender.
            (true, true) if goes_on && is_zero => {
                self.timers.end_persist(self.now);
                !again
            }
            // Responses to probes do not indicate a loss.
            (true, true) => !again,
            (true, false) => {
                self.timers.end_persist(self.now);
                was_zero || !again || self.config.count_window_updates
            }
            (false, false) => true,
        };
        if let (true, AckOption::Partial { .. }) = (again, ack.option) {
            self.on_partial(log);
            return false;
        }
        counts && !is_mark
    }

    /// An ACK of a part of a segment. A sender that counts ACKs grows its window for it as for any other (RFC 2581
    /// section 3.1; Savage et al. 1999, ACK division); a sender that counts acknowledged data waits for the whole
    /// segment, with the same total. It is not a duplicate (RFC 5681 section 2).
    fn on_partial(&mut self, log: &mut impl Log) {
        let is_open = !self.loss.in_fast_recovery() && !self.path.controls;
        if is_open && self.config.ack_counting == AckCounting::PerAck && self.path.reno {
            self.grow_by(Author::Controller, 1, log);
        }
        if self.books.is_outstanding() {
            self.restart_timer();
        }
    }

    fn goes_on_in_closed_window(&self) -> bool {
        self.config.recovery.about().goes_on_in_closed_window
    }

    /// With the recovery of Linux: the window of an ACK is zero, or is not (tcp_ack_update_window()).
    fn take_zero_window(&mut self, is_zero: bool, log: &mut impl Log) {
        let was_zero = self.peer.has_zero_window();
        if is_zero {
            self.close_peer();
        } else if was_zero {
            self.open_peer();
        }
        if is_zero != was_zero && self.books.max() < self.books.end() {
            self.end_idle_time(log);
        }
    }

    /// With the recovery of Linux: data waits for a window of zero (tcp_check_probe_timer()).
    pub(crate) fn await_zero_window(&mut self) {
        if self.books.max() < self.books.end() {
            self.begin_probes();
        }
    }

    /// The same, if the data is not known here.
    pub(crate) fn begin_probes(&mut self) {
        let is_idle = !self.books.is_outstanding();
        if is_idle && self.peer.has_zero_window() && !self.is_closed() {
            self.close_window();
            self.hold();
        }
    }

    fn close_window(&mut self) {
        self.end_train();
        let least = if self.peer.has_zero_window() {
            LEAST_WAIT
        } else {
            Duration::ZERO
        };
        let wait = self.path.rto.timeout().max(least);
        self.timers
            .begin_persist(self.now, self.config.rto.clock, wait);
    }

    /// After an ACK: updates whether the fast path of sending is on. The ACK of the SYN may have closed the window.
    pub(super) fn release(&mut self, ack: &Ack) {
        let stops = ack.option == AckOption::Standby
            || ack.option == AckOption::ZeroWindow && !self.goes_on_in_closed_window();
        let is_last = ack.ack == self.books.una() && self.books.una() > 0;
        if stops && is_last && !self.is_closed() {
            self.close_window();
        }
        if !stops && is_last && ack.option == AckOption::ZeroWindow {
            // Also that of the SYN.
            self.close_peer();
        }
        self.await_zero_window();
        self.follow_train();
        self.owe_ack();
        self.hold();
    }

    /// Updates whether the fast path of sending is off.
    pub(super) fn hold(&mut self) {
        let carries = self.asking.is_some() || self.report.is_some();
        self.held = self.books.una() == 0 || self.is_closed() || self.train.is_some() || carries;
        self.held |= self.peer.owes_ack() || self.pacer.is_some() || self.deliveries.is_some();
        self.held |= !self.sizes.are_full() || self.peer.has_zero_window();
        self.held |= self.has_challenge();
    }

    /// The persist timer has expired: probe, and wait twice as long.
    pub(crate) fn probe_window(&mut self, now: Instant) {
        self.now = now;
        let rto = &self.config.rto;
        self.timers.ring(rto.clock.count(now));
        self.timers.persist_expired(now, rto.clock, rto.max);
    }

    /// The probe, if one is due: the last acknowledged segment's number without data; every receiver responds to it
    /// with its window.
    pub(crate) fn window_probe(&mut self) -> Option<Segment> {
        self.timers.take_probe().then(|| Segment {
            retransmission: true,
            content: Content::WindowProbe,
            ..Segment::plain(self.books.una() - 1, ACK_HEADER_BYTES, self.now)
        })
    }
}
