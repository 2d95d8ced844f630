//! The only place where orders take effect.

use std::ops::BitOrAssign;

use midflight_control::{Interests, Order, Orders};

use super::{Core, RecoveryRequest};
use crate::event::{Author, Log, SenderEvent};
use crate::state::Trigger;

/// The results of applied orders.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Applied {
    /// There was at least one order.
    pub(super) any: bool,
    /// The calling recovery must not change the window.
    pub(super) keep_window: bool,
}

impl BitOrAssign for Applied {
    fn bitor_assign(&mut self, other: Self) {
        self.any |= other.any;
        self.keep_window |= other.keep_window;
    }
}

impl Core {
    /// Applies orders; no other code does.
    pub(super) fn apply(
        &mut self,
        author: &'static str,
        orders: &Orders,
        log: &mut impl Log,
    ) -> Applied {
        let mut applied = Applied {
            any: !orders.is_empty(),
            keep_window: false,
        };
        let by = Author::Order(author);
        for (&order, reason) in orders.iter() {
            log.record(
                self.now,
                SenderEvent::Order {
                    author,
                    order,
                    reason,
                },
            );
            match order {
                Order::SetMinRto(min) => {
                    self.path.rto.set_min(min);
                    log.record(self.now, SenderEvent::MinRto(min));
                }
                Order::RestartTimer => self.restart_timer(),
                Order::SetCwnd(cwnd) if cwnd >= 1.0 => {
                    self.set_cwnd(cwnd, by, log);
                    self.report_order();
                }
                // This also covers NaN.
                Order::SetCwnd(cwnd) => {
                    log.record(self.now, SenderEvent::WindowRefused { author, cwnd });
                }
                Order::SetSsthresh(ssthresh) => self.set_ssthresh(ssthresh, by, log),
                Order::RetransmitNow => {
                    if self.books.is_outstanding() {
                        self.interrupt_train();
                        self.end_back_off(log);
                        self.loss.resend(self.books.una());
                        self.cancel_timing();
                        self.restart_timer();
                    }
                }
                Order::RestartRtt {
                    initial_rto,
                    sample_since,
                    sample_retransmitted,
                } => {
                    if self.path.rto.backoff() != 1 {
                        log.record(self.now, SenderEvent::Backoff(1));
                    }
                    self.path
                        .restart_rtt(initial_rto, sample_since, sample_retransmitted);
                    self.restart_timer();
                }
                Order::KeepWindow => applied.keep_window = true,
                Order::HoldGrowth(since) => self.path.hold_growth = Some(since),
                Order::SendTrain(train) => self.start_train(train),
                Order::AskForRate(rate) => self.ask_for_rate(rate),
                Order::ReportRate(rate) => self.report_rate(rate),
                Order::Probe(segments) => {
                    self.end_train();
                    self.probe = Some(segments);
                    if segments == 0 {
                        self.loss.resend(self.books.una());
                    }
                }
                Order::GoBack => {
                    // The segment retransmitted at the timeout need not be retransmitted again.
                    let resent = self
                        .first_timeout
                        .is_some_and(|(seq, _)| seq == self.books.una());
                    self.end_train();
                    self.probe = None;
                    if resent {
                        self.books.go_back_past_first();
                    } else {
                        self.books.go_back();
                    }
                    self.request(RecoveryRequest::Again);
                }
                Order::Rewind => self.rewind(by, log),
                Order::Resume | Order::ResumeCounting => {
                    self.take_back(order == Order::ResumeCounting);
                    log.record(self.now, SenderEvent::SpuriousTimeout);
                    let view = self.view();
                    self.classifier.on_spurious_timeout(&view);
                }
                Order::LeaveRecovery => {
                    self.take_back(false);
                    log.record(self.now, SenderEvent::SpuriousRetransmit);
                }
                Order::AdaptRto {
                    since,
                    srtt,
                    rttvar,
                } => self.path.adapt_rto = Some((since, srtt, rttvar)),
                Order::ExpectReordering(reordering) => self.expect_reordering(Some(reordering)),
                Order::EndReordering => self.expect_reordering(None),
                Order::Pace(pacing) => self.order_pacing(pacing),
            }
        }
        applied
    }

    /// Ends the current recovery, in which nothing was lost. If the reason for the order no longer
    /// applies, the current duplicates are not caused by it, and still count.
    fn take_back(&mut self, counting: bool) {
        self.noted = Some(Trigger::Spurious);
        let recovering = self.loss.in_fast_recovery()
            || self.loss.timed_out()
            || self.probe.is_some()
            || self.books.nxt() < self.books.max()
            || self.loss.has_resend();
        if !recovering {
            return;
        }
        // The undone timeout does not count as one (RFC 3465 section 2.2).
        self.no_timeout();
        self.end_train();
        self.probe = None;
        self.books.resume();
        self.loss.reset();
        if counting {
            self.request = Some(RecoveryRequest::Count);
        } else {
            self.request(RecoveryRequest::Forget);
        }
    }

    /// Goes back to the first unacknowledged segment without a reduction.
    fn rewind(&mut self, by: Author, log: &mut impl Log) {
        self.noted = Some(Trigger::Mark);
        self.detector.forget();
        if let Some(watch) = &mut self.unneeded {
            watch.retransmissions.forget();
            watch.found = None;
        }
        self.interests = self.interests.without(Interests::RETRANSMISSIONS);
        self.end_back_off(log);
        self.end_train();
        self.probe = None;
        self.books.go_back();
        self.loss.reset();
        self.flight_before = None;
        if self.cwnd() < 1.0 {
            // Sack1's window has no minimum. With a window of zero, a flow that gets marks more
            // often than its timer expires would stall.
            self.set_cwnd(1.0, by, log);
        }
        self.cancel_timing();
        self.restart_timer();
        self.request(RecoveryRequest::Rewind);
    }

    fn request(&mut self, request: RecoveryRequest) {
        self.request = Some(request);
        self.end_duplicates();
        self.loss.set_dupacks(0);
    }
}
