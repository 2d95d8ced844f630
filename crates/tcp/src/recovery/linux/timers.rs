//! One slot for three timers: retransmission, tail loss probe (RFC 8985 section 7) and RACK's
//! reordering timer.

use midflight_units::Duration;

use super::rack::{micros, time};
use super::{Ca, Linux, Probe};
use crate::event::{Log, SenderEvent};
use crate::sender::{Core, SlotKind, LEAST_WAIT};

/// TCP_TIMEOUT_MIN_US, in microseconds.
const SLACK: u64 = 2000;

const LINEAR_SYNS: u32 = 4;
/// Fewer segments than this in flight are little (tcp_stream_is_thin()).
const THIN_SEGMENTS: u64 = 4;
/// TCP_THIN_LINEAR_RETRIES.
const THIN_TIMEOUTS: u32 = 6;

impl Linux {
    /// The time until the retransmission timeout of the head, if it was set when the head was sent,
    /// in microseconds; not positive if it has passed (tcp_rto_delta_us()).
    fn until_timeout(&self, core: &Core) -> i64 {
        let rto = (core.path.rto.timeout().as_nanos() / 1000) as i64;
        let head = self.board.head();
        head.map_or(rto, |head| rto - micros(head.sent, core.now) as i64)
    }

    /// tcp_rearm_rto().
    #[inline(never)]
    pub(super) fn rearm(&mut self, core: &mut Core) {
        if self.board.packets_out() == 0 {
            core.timers.clear_slot();
            return;
        }
        let after = match core.timers.slot() {
            Some(SlotKind::Reordering | SlotKind::LossProbe) => {
                time(self.until_timeout(core).max(1) as u64)
            }
            _ => core.path.rto.timeout(),
        };
        core.set_slot(SlotKind::Retransmission, after + core.pacing_delay());
    }

    /// tcp_set_xmit_timer().
    #[inline(always)]
    pub(super) fn set_timer(&mut self, core: &mut Core) {
        if !self.schedule_probe(core, true) {
            self.rearm(core);
        }
    }

    /// tcp_schedule_loss_probe().
    #[inline(always)]
    pub(super) fn schedule_probe(&mut self, core: &mut Core, is_advancing: bool) -> bool {
        if !self.may_probe(core) {
            return false;
        }
        let left = if is_advancing {
            (core.path.rto.timeout().as_nanos() / 1000) as i64
        } else {
            self.until_timeout(core)
        };
        match self.probe_after(core, left) {
            Some(after) => core.set_slot_in_micros(SlotKind::LossProbe, after),
            None => schedule_first_probe(core, left),
        }
        true
    }

    #[inline(always)]
    fn may_probe(&self, core: &Core) -> bool {
        self.board.packets_out() > 0
            && !self.leaves_tails
            && core.config.sack
            && self.board.nxt() > 1
            && matches!(self.state, Ca::Open | Ca::Cwr)
    }

    /// After how many microseconds the probe is sent, if there is an RTT; `left` is the time until the timeout.
    #[inline(always)]
    fn probe_after(&self, core: &Core, left: i64) -> Option<u64> {
        let most = if left > 0 { left as u64 } else { u64::MAX };
        let twice = core.path.rto.srtt_x8()? / 4;
        let slack = if self.board.packets_out() == 1 {
            core.path.rto.min().as_nanos() / 1000
        } else {
            SLACK
        };
        Some((twice + slack).min(most))
    }

    /// New data has been sent while the timer of a probe ran (tcp_event_new_data_sent()): tcp_rearm_rto(), which
    /// tcp_schedule_loss_probe() follows at once.
    #[inline(always)]
    pub(super) fn renew_probe(&mut self, core: &mut Core) {
        let left = self.until_timeout(core);
        match self.probe_after(core, left) {
            Some(after) if self.may_probe(core) && core.has_wheel() => {
                core.replace_timeout(left.max(1) as u64, SlotKind::LossProbe, after);
            }
            _ => {
                self.rearm(core);
                self.schedule_probe(core, false);
            }
        }
    }

    /// tcp_probe_timer() with an open window.
    pub(super) fn probe_window(&mut self, core: &mut Core) {
        core.timers.clear_slot();
        self.sending.small = self.board.packets_out() == 0;
    }

    /// tcp_send_loss_probe().
    pub(super) fn send_probe(&mut self, core: &mut Core) {
        core.timers.keep_slot(SlotKind::LossProbe);
        if self.board.packets_out() == 0 {
            core.timers.clear_slot();
            return;
        }
        if self.probe.is_some() {
            self.rearm(core);
            return;
        }
        let (sends_new, last) = (self.may_send_new(core), self.board.nxt() - 1);
        if !sends_new && !self.may_resend(core, last) {
            self.rearm(core);
            return;
        }
        // Until the probe has been sent.
        core.set_slot(SlotKind::Retransmission, core.path.rto.timeout());
        if sends_new {
            self.sending.probe_new = true;
        } else {
            self.sending.once = Some((last, true));
        }
    }

    /// The data that the probe may send is in the queue.
    #[cold]
    pub(super) fn offer_to_probe(&mut self, core: &mut Core) {
        let before = self.sending;
        self.write(core);
        self.sending = before;
    }

    /// The probe has been sent.
    pub(super) fn probe_sent(&mut self, core: &mut Core, is_resent: bool) {
        let high = self.board.nxt();
        self.probe = Some(Probe { high, is_resent });
        core.timers.clear_slot();
        self.rearm(core);
    }

    /// tcp_ld_RTO_revert(): returns whether the timer expires now.
    pub(super) fn revert_back_off(&mut self, core: &mut Core, log: &mut impl Log) -> bool {
        if self.timeouts == 0 || core.path.rto.backoff() == 1 || self.board.packets_out() == 0 {
            return false;
        }
        core.path.rto.revert_back_off();
        log.record(core.now, SenderEvent::Backoff(core.path.rto.backoff()));
        let left = self.until_timeout(core);
        if left > 0 {
            core.set_slot(SlotKind::Retransmission, time(left as u64));
        }
        left <= 0
    }

    /// tcp_stream_is_thin(): little is in flight, and the timeout is one of the first.
    fn is_thin(&self) -> bool {
        let is_little = self.board.packets_out() < THIN_SEGMENTS;
        self.thin_linear && is_little && self.timeouts <= THIN_TIMEOUTS
    }

    /// tcp_retransmit_timer().
    pub(super) fn retransmission_timeout(&mut self, core: &mut Core, log: &mut impl Log) {
        if self.board.packets_out() == 0 {
            return;
        }
        self.enter_loss(core, log);
        // With a window of zero the segment is a probe, which is not counted.
        let is_probe = self.zero_window || core.has_zero_window();
        self.timeouts += u32::from(!is_probe || self.board.una == 0);
        self.sending.drop_lost();
        self.sending.once = Some((self.board.una, false));
        // The first retransmitted SYNs do not back off (tcp_syn_linear_timeouts).
        let linear = self.linear_syns.unwrap_or(LINEAR_SYNS);
        let is_syn = self.board.una == 0;
        if !is_syn && self.is_thin() {
            core.path.rto.end_back_off();
        } else if !is_syn || self.answers_syn || self.timeouts > linear {
            core.path.rto.back_off();
        }
        log.record(core.now, SenderEvent::Backoff(core.path.rto.backoff()));
        core.set_slot(SlotKind::Retransmission, core.path.rto.timeout());
        core.cancel_timing();
    }
}

/// The probe before the first RTT sample.
#[cold]
fn schedule_first_probe(core: &mut Core, left: i64) {
    let clock = core.config.rto.clock;
    let after = match left {
        1.. => clock
            .round_up_micros(left as u64)
            .min(core.config.rto.initial),
        _ => core.config.rto.initial,
    };
    core.set_slot(SlotKind::LossProbe, after + core.pacing_delay());
}

/// Sets the timer for segments that may be lost.
pub(super) fn set_reordering_timer(core: &mut Core, left: u64) {
    let after: Duration = time(left + SLACK);
    let most = core.path.rto.timeout();
    let clock = core.config.rto.clock;
    core.set_slot(SlotKind::Reordering, clock.round_up(after).min(most));
}

/// The window is smaller than a segment, and nothing is in flight (tcp_check_probe_timer()).
pub(super) fn await_window(core: &mut Core) {
    if core.timers.slot().is_none() {
        let after = core.path.rto.timeout().max(LEAST_WAIT);
        core.set_slot(SlotKind::SmallWindow, after);
    }
}
