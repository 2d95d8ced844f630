//! Congestion states and their undo: tcp_fastretrans_alert(), tcp_process_loss(), tcp_try_undo_*().

use midflight_units::Duration;

use super::ack::echoes_before;
use super::prr::{Delivery, Prr};
use super::timers::set_reordering_timer;
use super::{Ca, Linux, News, Undo};
use crate::event::{Author, Log, SenderEvent};
use crate::recovery::SizeProbe;
use crate::sender::{Core, SlotKind};

/// The least time for which an ACK up to a SACKed segment is not taken for a sign that the receiver has dropped data
/// (tcp_check_sack_reneging()).
const RENEGED: Duration = Duration::from_millis(10);

impl Linux {
    /// tcp_fastretrans_alert().
    pub(super) fn alert(
        &mut self,
        core: &mut Core,
        duplicates: u64,
        news: &mut News,
        log: &mut impl Log,
    ) {
        let una = self.board.una;
        if self.board.packets_out() == 0 {
            self.forget_duplicates(core);
        }
        if news.congested {
            self.undo.ssthresh = None;
        }
        if news.advanced && self.board.is_reneged() {
            // tcp_check_sack_reneging(): the ACK of the rest may be on the way.
            let half = core.path.rto.srtt().map_or(Duration::ZERO, |srtt| {
                Duration::from_nanos(srtt.as_nanos() / 2)
            });
            core.set_slot(SlotKind::Retransmission, half.max(RENEGED));
            news.set_timer = false;
            return;
        }
        if self.state == Ca::Open {
            self.undo.first_resent = None;
        } else if una >= self.high {
            match self.state {
                Ca::Cwr if una != self.high => {
                    self.end_reduction(core, log);
                    self.state = Ca::Open;
                }
                Ca::Recovery => {
                    self.forget_duplicates(core);
                    if self.try_undo_recovery(core, news, log) {
                        return;
                    }
                    self.end_recovery_window(core, log);
                    log.record(core.now, SenderEvent::RecoveryExit);
                }
                _ => {}
            }
        }
        match self.state {
            Ca::Recovery => {
                if !news.advanced {
                    self.add_duplicates(core, duplicates);
                } else if self.try_undo_partial(core, news, log) {
                    return;
                }
                if self.try_undo_dsack(core, log) {
                    self.try_to_open(core, false, log);
                }
                self.find_losses(core, news);
                if self.state != Ca::Recovery {
                    log.record(core.now, SenderEvent::RecoveryExit);
                    if self.board.lost_out == 0 {
                        return;
                    }
                    self.enter_recovery(core, log);
                }
            }
            Ca::Loss => {
                self.process_loss(core, duplicates, news, log);
                self.find_losses(core, news);
                if self.state != Ca::Open && !news.lost_again {
                    return;
                }
                if !self.consider_recovery(core, duplicates, news, log) {
                    return;
                }
            }
            _ => {
                if !self.consider_recovery(core, duplicates, news, log) {
                    return;
                }
            }
        }
        self.sending.lost = true;
    }

    /// Checks whether a recovery begins.
    fn consider_recovery(
        &mut self,
        core: &mut Core,
        duplicates: u64,
        news: &mut News,
        log: &mut impl Log,
    ) -> bool {
        if news.advanced {
            self.forget_duplicates(core);
        }
        self.add_duplicates(core, duplicates);
        if self.state <= Ca::Disorder {
            self.try_undo_dsack(core, log);
        }
        self.find_losses(core, news);
        if self.board.lost_out == 0 {
            self.try_to_open(core, news.congested, log);
            return false;
        }
        if self.state <= Ca::Disorder && self.size_probe == SizeProbe::Sent(self.board.una) {
            self.fail_size_probe(core, log);
            return true;
        }
        self.enter_recovery(core, log);
        if news.congested {
            self.undo.ssthresh = None;
        }
        true
    }

    /// The segment that probes for a larger size is lost, which does not mean congestion (tcp_fastretrans_alert(),
    /// tcp_mtup_probe_failed(), tcp_simple_retransmit()).
    fn fail_size_probe(&mut self, core: &mut Core, log: &mut impl Log) {
        self.size_probe = SizeProbe::Lost;
        core.set_cwnd(core.cwnd() + 1.0, Author::Recovery, log);
        self.board.mark_lost(self.board.una);
        self.report_losses(core);
        core.set_ssthresh(self.current_ssthresh(core), Author::Recovery, log);
        (self.undo.ssthresh, self.undo.marker) = (None, None);
        self.high = self.board.nxt();
        self.state = Ca::Loss;
    }

    /// tcp_identify_packet_loss().
    fn find_losses(&mut self, core: &mut Core, news: &mut News) {
        if self.board.packets_out() == 0 {
            return;
        }
        if !core.config.sack {
            self.mark_first_lost(news.advanced);
            self.report_losses(core);
            return;
        }
        if !self.rack.advanced {
            return;
        }
        self.rack.advanced = false;
        let resent = self.board.retrans_out;
        let wait = self.wait(core);
        if let Some(left) = self.rack.detect(core.now, &mut self.board, wait) {
            set_reordering_timer(core, left);
            news.set_timer = false;
        }
        self.report_losses(core);
        news.lost_again |= self.board.retrans_out < resent;
    }

    /// tcp_enter_recovery().
    pub(super) fn enter_recovery(&mut self, core: &mut Core, log: &mut impl Log) {
        if !self.board.any_resent() {
            self.undo.first_resent = None;
        }
        self.undo.ssthresh = None;
        self.begin_undo();
        let was_reducing = self.in_reduction();
        let before = self.current_ssthresh(core);
        core.loss.enter_fast_recovery();
        core.loss.set_pipe(self.board.in_flight() as i64);
        log.record(
            core.now,
            SenderEvent::FastRetransmit(core.number(self.board.una)),
        );
        self.keeps_window = core.consult_recovery(log);
        if !was_reducing {
            self.undo.ssthresh = Some(before);
            if self.keeps_window {
                self.begin_prr(core);
            } else {
                self.begin_reduction(core, Author::Recovery, log);
            }
        }
        self.state = Ca::Recovery;
        core.cancel_timing();
    }

    fn begin_prr(&mut self, core: &Core) {
        self.high = self.board.nxt();
        self.probe = None;
        self.undo.cwnd = core.cwnd() as u64;
        let newly = self.delivered - self.delivered_before;
        let recover_fs = self.board.packets_out() - self.board.sacked_out + newly;
        self.prr = Prr::begin(core.config.prr, self.undo.cwnd, recover_fs);
    }

    /// tcp_init_cwnd_reduction().
    pub(super) fn begin_reduction(&mut self, core: &mut Core, by: Author, log: &mut impl Log) {
        self.begin_prr(core);
        core.reduce_from_window(false, by, log);
        core.queue_cwr();
    }

    /// tcp_end_cwnd_reduction().
    pub(super) fn end_reduction(&mut self, core: &mut Core, log: &mut impl Log) {
        let sets_window = core.controls() && !core.leaves_reductions();
        if !sets_window && (self.state == Ca::Cwr || self.undo.marker.is_some()) {
            self.stamp_window(core);
            core.set_cwnd(core.ssthresh(), Author::Recovery, log);
        }
    }

    /// The window at the end of a recovery that [`Self::try_undo_recovery`] has just left.
    fn end_recovery_window(&mut self, core: &mut Core, log: &mut impl Log) {
        if !self.keeps_window {
            self.end_reduction(core, log);
        }
        self.keeps_window = false;
    }

    /// tcp_cwnd_reduction().
    pub(super) fn reduce(&mut self, core: &mut Core, ack: Delivery, log: &mut impl Log) {
        if self.keeps_window || core.controls() && !core.leaves_reductions() {
            return;
        }
        let ssthresh = core.ssthresh() as u64;
        let in_flight = self.board.in_flight();
        if let Some(cwnd) = self.prr.window(ssthresh, in_flight, ack) {
            core.set_cwnd(cwnd.max(1) as f64, Author::Recovery, log);
        }
    }

    /// tcp_current_ssthresh().
    pub(super) fn current_ssthresh(&self, core: &Core) -> f64 {
        if self.in_reduction() {
            return core.ssthresh();
        }
        let cwnd = core.cwnd() as u64;
        core.ssthresh().max((cwnd / 2 + cwnd / 4) as f64)
    }

    /// tcp_init_undo().
    fn begin_undo(&mut self) {
        self.undo.marker = Some(self.board.una);
        let probes = u64::from(self.probe.is_some_and(|probe| probe.is_resent));
        self.undo.unanswered = Some(self.board.retrans_out + probes).filter(|n| *n > 0);
    }

    /// tcp_enter_loss().
    pub(super) fn enter_loss(&mut self, core: &mut Core, log: &mut impl Log) {
        self.mark_timed_out(core);
        self.report_losses(core);
        let is_new = self.state < Ca::Recovery;
        let reduces = self.state <= Ca::Disorder
            || self.high <= self.board.una
            || self.state == Ca::Loss && self.timeouts == 0;
        if reduces {
            self.undo.ssthresh = Some(self.current_ssthresh(core));
            self.undo.cwnd = core.cwnd() as u64;
            core.reduce_from_window(true, Author::Timeout, log);
            self.begin_undo();
        } else {
            core.report_foreign_timeout();
        }
        let cwnd = self.board.in_flight() + 1;
        core.set_cwnd(cwnd as f64, Author::Timeout, log);
        self.stamp_window(core);
        let degree = core.config.dup_threshold.into();
        if self.state <= Ca::Disorder && self.board.sacked_out >= degree {
            self.reordering = self.reordering.min(degree);
        }
        if self.state == Ca::Recovery {
            log.record(core.now, SenderEvent::RecoveryExit);
        }
        core.report_timeout();
        self.keeps_window = false;
        self.state = Ca::Loss;
        if core.controls() {
            core.control_loss(self.inside());
        }
        self.high = self.board.nxt();
        core.queue_cwr();
        self.probe = None;
        self.frto = is_new || self.timeouts > 0;
    }

    /// tcp_timeout_mark_lost(): all segments except those sent within the last round trip; all if the receiver has dropped
    /// what it had reported by SACK.
    fn mark_timed_out(&mut self, core: &Core) {
        let una = self.board.una;
        let is_reneged = core.config.sack && self.board.is_reneged();
        if is_reneged {
            self.board.forget_sacks();
        }
        self.forget_duplicates(core);
        for seq in una..self.board.nxt() {
            let sent = self.board.get(seq).map(|entry| entry.sent);
            let is_young = |sent| self.rack.patience(core.now, sent, 0).is_some();
            if seq == una || is_reneged || !sent.is_some_and(is_young) {
                self.board.mark_lost(seq);
            }
        }
    }

    /// tcp_process_loss().
    fn process_loss(&mut self, core: &mut Core, duplicates: u64, news: &News, log: &mut impl Log) {
        let (una, nxt) = (self.board.una, self.board.nxt());
        let recovered = una >= self.high;
        if news.advanced && self.try_undo_loss(core, news, false, log) {
            return;
        }
        if self.frto {
            if news.original && self.try_undo_loss(core, news, true, log) {
                return;
            }
            if nxt > self.high {
                if news.sacked || duplicates > 0 {
                    // The loss was real.
                    self.frto = false;
                }
            } else if news.advanced && !recovered {
                self.high = nxt;
                if self.may_send_new(core) {
                    self.sending.new_first = true;
                    return;
                }
                self.frto = false;
            }
        }
        if recovered {
            self.try_undo_recovery(core, news, log);
            return;
        }
        // Without SACK a duplicate means that new data sent by F-RTO has arrived.
        if nxt > self.high && duplicates > 0 {
            self.add_duplicates(core, duplicates);
        } else if news.advanced {
            self.forget_duplicates(core);
        }
        self.sending.lost = true;
    }

    /// tcp_packet_delayed().
    fn is_delayed(&self, core: &Core, news: &News) -> bool {
        match self.undo.first_resent {
            Some(first) => echoes_before(core, news, first),
            // The time is forgotten where the state is held. A lost SYN does not reduce the threshold (tcp_init_metrics()).
            None => core.config.sack || news.before == 0 || self.board.una < self.high,
        }
    }

    /// tcp_may_undo().
    fn may_undo(&self, core: &Core, news: &News) -> bool {
        self.undo.marker.is_some()
            && (self.undo.unanswered == Some(0) || self.is_delayed(core, news))
    }

    /// tcp_undo_cwnd_reduction().
    fn undo_reduction(&mut self, core: &mut Core, unmark: bool, log: &mut impl Log) {
        let after_timeout = self.state == Ca::Loss;
        if unmark {
            self.board.take_back_losses();
        }
        core.note_spurious(after_timeout, log);
        if let Some(ssthresh) = self.undo.ssthresh {
            let by = if after_timeout {
                Author::Timeout
            } else {
                Author::Recovery
            };
            if !core.controls() || core.leaves_reductions() {
                let cwnd = core.cwnd().max(self.undo.cwnd as f64);
                core.set_cwnd(cwnd, by, log);
            }
            if ssthresh > core.ssthresh() {
                core.set_ssthresh(ssthresh, by, log);
                core.withdraw_cwr();
            }
            if core.controls() {
                core.control_undo(self.inside(), log);
            }
        }
        self.stamp_window(core);
        self.undo.marker = None;
        self.rack.advanced = true;
    }

    /// tcp_try_undo_recovery(): returns whether the state is held.
    fn try_undo_recovery(&mut self, core: &mut Core, news: &News, log: &mut impl Log) -> bool {
        if self.may_undo(core, news) {
            self.undo_reduction(core, false, log);
        } else {
            self.rack.recovered();
        }
        if self.holds_state(core, news) {
            return true;
        }
        self.state = Ca::Open;
        false
    }

    /// tcp_try_undo_dsack().
    fn try_undo_dsack(&mut self, core: &mut Core, log: &mut impl Log) -> bool {
        let all_answered = self.undo.marker.is_some() && self.undo.unanswered == Some(0);
        if all_answered {
            self.rack.undone();
            self.undo_reduction(core, false, log);
        }
        all_answered
    }

    /// tcp_try_undo_loss().
    fn try_undo_loss(
        &mut self,
        core: &mut Core,
        news: &News,
        by_frto: bool,
        log: &mut impl Log,
    ) -> bool {
        let undoes = by_frto || self.may_undo(core, news);
        if undoes {
            self.undo_reduction(core, true, log);
            self.timeouts = 0;
            if !self.holds_state(core, news) && (by_frto || !self.is_without_sack(core, news)) {
                self.state = Ca::Open;
            }
        }
        undoes
    }

    /// tcp_try_undo_partial(): returns whether to wait with retransmissions.
    fn try_undo_partial(&mut self, core: &mut Core, news: &News, log: &mut impl Log) -> bool {
        if self.undo.marker.is_none() || !self.is_delayed(core, news) {
            return false;
        }
        self.check_reordering(news.before);
        if self.board.retrans_out > 0 {
            return true;
        }
        if !self.board.any_resent() {
            self.undo.first_resent = None;
        }
        self.undo_reduction(core, true, log);
        self.keep_open();
        false
    }

    /// tcp_try_keep_open().
    pub(super) fn keep_open(&mut self) {
        let is_open = self.board.left_out() == 0 && !self.board.any_resent();
        let state = if is_open { Ca::Open } else { Ca::Disorder };
        if self.state != state {
            self.state = state;
            self.high = self.board.nxt();
        }
    }

    /// tcp_try_to_open().
    fn try_to_open(&mut self, core: &mut Core, congested: bool, log: &mut impl Log) {
        if !self.board.any_resent() {
            self.undo.first_resent = None;
        }
        if congested {
            self.enter_cwr(core, log);
        }
        if self.state != Ca::Cwr {
            self.keep_open();
        }
    }

    /// tcp_enter_cwr(): the receiver has reported a CE mark.
    fn enter_cwr(&mut self, core: &mut Core, log: &mut impl Log) {
        self.undo.ssthresh = None;
        if self.state < Ca::Cwr {
            self.undo.marker = None;
            self.begin_reduction(core, Author::Recovery, log);
            self.state = Ca::Cwr;
        }
    }

    /// RACK's timer has expired (tcp_rack_reo_timeout()).
    pub(super) fn reordering_timeout(&mut self, core: &mut Core, log: &mut impl Log) {
        let (in_flight, lost) = (self.board.in_flight(), self.board.lost_ever);
        let wait = self.wait(core);
        self.rack.detect(core.now, &mut self.board, wait);
        self.report_losses(core);
        if self.board.in_flight() != in_flight {
            if self.state != Ca::Recovery {
                self.enter_recovery(core, log);
                let ack = Delivery {
                    delivered: 1,
                    newly_lost: self.board.lost_ever - lost,
                    advanced: false,
                };
                self.reduce(core, ack, log);
            }
            self.sending.lost = true;
        }
        // Kept until the lost segments have been sent.
        core.timers.keep_slot(SlotKind::Reordering);
        self.rearm(core);
        self.sending.rearm = true;
    }

    /// By order, nothing was lost.
    pub(super) fn forget(&mut self) {
        self.board.unmark_lost();
        self.undo = Undo::default();
        self.state = Ca::Open;
        self.keeps_window = false;
        self.sending.drop_lost();
        self.keep_open();
    }

    /// By order, everything outstanding is lost, for another reason than congestion.
    pub(super) fn rewind(&mut self, core: &Core) {
        self.forget_duplicates(core);
        for seq in self.board.una..self.board.nxt() {
            self.board.mark_lost(seq);
        }
        self.undo = Undo::default();
        self.keeps_window = false;
        self.frto = false;
        self.state = Ca::Loss;
        self.high = self.board.nxt();
        self.sending.lost = true;
    }
}
