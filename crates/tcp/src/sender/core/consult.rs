//! Where a sender asks its parts: the response to duplicate ACKs, the loss
//! classifier, the detector of spurious retransmissions and the handoff
//! policies; and the one place where their orders are applied.

use midflight_control::congestion::AckCounting;
use midflight_control::dupack::Answer;
use midflight_control::loss::{LossCause, RttSample};
use midflight_control::policy::MarkSeen;
use midflight_control::spurious::AckView;
use midflight_control::{Notice, Order, Orders, Reordering, SenderView, StartNotice};
use midflight_units::{Duration, Instant, Seq};
use smallvec::SmallVec;

use super::{Core, Turn};
use crate::config::{RecoveryKind, RtoRecoveryEnd};
use crate::event::{Log, SenderEvent};
use crate::segment::{Ack, SackBlock, Says};
use crate::state::{State, Trigger};

/// RFC 2988 (2.1).
const RFC_2988_INITIAL_RTO: Duration = Duration::from_secs(3);

impl Core {
    /// Asks the response about a duplicate ACK that has just been counted:
    /// whether to retransmit, and the window that limited transmit may fill. The
    /// duplicates are `news` if they are not echoes of an earlier recovery.
    pub(crate) fn consult_duplicate(
        &mut self,
        news: bool,
        log: &mut impl Log,
    ) -> (bool, Option<f64>) {
        let view = self.view();
        let answer = self.response.on_duplicate(&view);
        if self.dupacks == view.dup_threshold && news {
            self.judge(&view, log);
        }
        let window = self.response.limited_window(&view);
        self.dup_threshold = self.response.dup_threshold(&view);
        if !news {
            // There is nothing to wait for.
            self.response.end();
        }
        self.patient = news
            && answer == Answer::Wait
            && self.reordering.is_some()
            && self.dupacks >= self.config.dup_threshold;
        self.set_delay(self.response.deadline());
        (answer == Answer::Retransmit, window)
    }

    /// The window that limited transmit may fill for the duplicates so far.
    pub(crate) fn limited_window(&self) -> Option<f64> {
        self.response.limited_window(&self.view())
    }

    /// The loss of the first unacknowledged segment is suspected: what would be its cause?
    fn judge(&mut self, view: &SenderView, log: &mut impl Log) -> LossCause {
        if let Some(cause) = self.judged {
            return cause;
        }
        let cause = self.classifier.judge(view);
        self.judged = Some(cause);
        self.noted = Some(match cause {
            LossCause::Congestion => Trigger::Congestion,
            LossCause::Wireless => Trigger::Wireless,
        });
        log.record(self.now, SenderEvent::LossSuspected(self.una));
        let segment = self.una;
        log.record(self.now, SenderEvent::LossJudged { segment, cause });
        cause
    }

    /// An ACK of new data ends duplicates that led to nothing. Where the
    /// response goes on (RFC 4653 (T.4)), what the ACK reports counts as new ones.
    #[cold]
    pub(super) fn duplicates_explained(&mut self, first: Seq, ack: &Ack, log: &mut impl Log) {
        if self.judged.take().is_some() {
            log.record(self.now, SenderEvent::Reordered(first));
        }
        self.patient = false;
        let above = ack.sack.iter(ack.ack).filter(|b| b.left > ack.ack);
        let above: u64 = above.map(|b| b.right.saturating_sub(b.left)).sum();
        let view = self.view();
        let orders = self.response.on_advance(&view, above > 0);
        self.window_answered = !orders.is_empty();
        self.apply(self.response.info().name, &orders, log);
        self.set_delay(self.response.deadline());
        self.dup_threshold = self.response.dup_threshold(&view);
        if self.response.flight_before().is_some() {
            self.dupacks = above.min(self.flight_size()) as u32;
        }
    }

    /// The duplicates are history.
    pub(crate) fn end_duplicates(&mut self) {
        self.judged = None;
        self.patient = false;
        self.response.end();
        self.set_delay(None);
    }

    /// The deadline of the response; what wakes the sender first follows.
    fn set_delay(&mut self, delay: Option<(Instant, Instant)>) {
        self.delay = delay;
        self.wake = delay;
        if let (Some(end), Some((_, set))) = (self.patience_ends(), self.reordering) {
            if delay.is_none_or(|(due, _)| end < due) {
                self.wake = Some((end, set));
            }
        }
    }

    /// When duplicates mean again what they usually do: of the first unacknowledged
    /// segment if they wait for it, of the next one that a recovery by RFC 6675
    /// waits for, or of all.
    fn patience_ends(&self) -> Option<Instant> {
        let (told, _) = self.reordering?;
        let mut sent = self.outstanding.iter();
        let next = if self.patient {
            sent.next()
        } else if self.in_fast_recovery && self.config.recovery == RecoveryKind::Sack {
            let waits = |after| {
                let due = move |sent: Instant| sent + after > self.now;
                sent.find(|o| !o.retransmitted() && due(o.sent()))
            };
            told.overdue.and_then(waits)
        } else {
            None
        };
        let overdue = told.overdue.zip(next).map(|(after, o)| o.sent() + after);
        overdue.into_iter().chain(told.until).min()
    }

    /// Duplicate ACKs that start fast retransmit now.
    fn duplicates_wanted(&self) -> u32 {
        let usual = self.config.dup_threshold;
        let Some((told, _)) = self.reordering else {
            return usual;
        };
        let sent = self.outstanding.front().map(|o| o.sent());
        let overdue = told.overdue.zip(sent);
        if overdue.is_some_and(|(after, sent)| sent + after <= self.now) {
            usual
        } else {
            told.duplicates
        }
    }

    /// Where reordering is expected: one past the segments that keep their order
    /// among themselves, and one past those that are overdue.
    #[cold]
    pub(crate) fn reordering_edges(&self) -> (Seq, Seq) {
        let overdue = self.reordering.and_then(|(told, _)| told.overdue);
        let sent_by = overdue.map(|after| self.now.saturating_sub(after));
        let old = |by: Instant| {
            // What was sent again was sent before what follows it, the first time.
            let sent = self.outstanding.iter();
            sent.take_while(|o| o.retransmitted() || o.sent() <= by)
                .count() as Seq
        };
        let in_order = self.in_order_below.unwrap_or(self.una);
        (in_order, self.una + sent_by.map_or(0, old))
    }

    /// Sets what to expect from here on, or that nothing unusual is.
    fn expect_reordering(&mut self, reordering: Option<Reordering>) {
        self.reordering = reordering.map(|r| (r, self.now));
        self.patient &= reordering.is_some();
        let before = reordering.filter(|_| self.response.waits_as_told());
        self.in_order_below = before.map(|r| {
            let sent = self.outstanding.iter();
            let early = sent.take_while(|o| o.retransmitted() || o.sent() < r.in_order_before);
            self.una + early.count() as Seq
        });
        self.dup_threshold = self.response.dup_threshold(&self.view());
        self.set_delay(self.delay);
    }

    /// Whether patience may be at an end, and the timer was not due before.
    pub(crate) fn patience_is_over(&self, now: Instant) -> bool {
        let wake = self.wake.filter(|_| self.reordering.is_some());
        wake.is_some_and(|(end, _)| end <= now && self.is_before_timer(end))
    }

    /// Duplicates mean what they usually do, of some segments or of all: whether as
    /// many have come as tell of a loss of the first. What comes next is set anew.
    pub(crate) fn end_patience(&mut self, now: Instant) -> bool {
        self.now = now;
        self.rtt_sampled = false;
        self.patient = false;
        let over = |(told, _): &(Reordering, _)| told.until.is_some_and(|until| until <= now);
        if self.reordering.as_ref().is_some_and(over) {
            self.expect_reordering(None);
        }
        self.set_delay(self.delay);
        self.dupacks >= self.duplicates_wanted()
            && self.response.waits_as_told()
            && !(self.in_fast_recovery || self.stalled || self.probe.is_some() || self.is_closed())
    }

    fn is_before_timer(&self, due: Instant) -> bool {
        self.timer.is_none_or(|(timer, _)| due <= timer)
    }

    /// Whether the response has waited long enough, and the timer was not due before.
    pub(crate) fn delay_is_over(&self, now: Instant) -> bool {
        self.delay
            .is_some_and(|(due, _)| due <= now && self.is_before_timer(due))
    }

    /// When what may wake the sender besides the timer was decided.
    pub(crate) fn wake_set(&self) -> Option<Instant> {
        self.wake.map(|(_, set)| set)
    }

    /// The wait is over now.
    pub(crate) fn end_delay(&mut self, now: Instant) {
        self.now = now;
        self.rtt_sampled = false;
        self.set_delay(None);
    }

    /// When to call again, and when that was decided: for the timer, for the
    /// response, or at the end of expected reordering.
    #[inline(always)]
    pub(crate) fn deadline(&self) -> Option<(Instant, Instant)> {
        match (self.timer, self.wake) {
            (timer, None) => timer,
            (Some(timer), Some(wake)) if timer.0 < wake.0 => Some(timer),
            (_, wake) => wake,
        }
    }

    /// The same while sending does not take its usual course: a segment of a train may wait for its time.
    #[cold]
    pub(crate) fn held_deadline(&self) -> Option<(Instant, Instant)> {
        let departure = self.departure();
        let deadline = self.deadline().into_iter();
        deadline.chain(departure).min_by_key(|due| due.0)
    }

    /// Gives the classifier the RTT of the segment that the ACK answers: the
    /// first it covers, unless that was resent.
    #[cold]
    pub(super) fn measure(&mut self, ack: Seq, log: &mut impl Log) {
        if self.una == 0 {
            // The SYN is too small for its RTT to compare with that of data.
            return;
        }
        let answered = self.outstanding.front().filter(|o| !o.retransmitted());
        let Some(sent) = answered.map(|o| o.sent()) else {
            return;
        };
        self.classifier.on_sample(&RttSample {
            rtt: self.now.since(sent),
            sent,
            snd_una: ack,
            snd_max: self.max,
        });
        self.tell_indicators(log);
    }

    /// Lets the congestion controller see an ACK before anything acts on it.
    #[cold]
    pub(super) fn gauge(&mut self, ack: Seq) {
        let duplicate = ack == self.una && self.una < self.max;
        if duplicate || ack > self.una {
            self.congestion.on_arrival(self.now, ack - self.una);
        }
    }

    /// Growth by a controller other than Reno.
    #[cold]
    pub(super) fn grow_as_told(&mut self, segments: u64, counting: AckCounting) {
        self.congestion.on_ack(&mut self.window, segments, counting);
    }

    fn tell_indicators<L: Log>(&self, log: &mut L) {
        if L::DETAILED {
            if let Some(indicators) = self.classifier.indicators() {
                log.record(self.now, SenderEvent::Indicators(indicators));
            }
        }
    }

    // ---- spurious retransmissions -----------------------------------------

    /// Lets the detector look at an ACK that has been processed; it was
    /// `duplicate` and covered `segments`.
    #[cold]
    fn consult_detector(&mut self, ack: &Ack, duplicate: bool, segments: u64, log: &mut impl Log) {
        let mut blocks: SmallVec<[SackBlock; 4]> = ack.sack.iter(ack.ack).collect();
        // RFC 2883 section 4: the first block, if it is below the ACK or within the second.
        let dsack = match blocks[..] {
            [first, ..] if first.left < ack.ack => Some(first.left),
            [first, second, ..] if second.left <= first.left && first.right <= second.right => {
                Some(first.left)
            }
            _ => None,
        };
        if dsack.is_some() {
            blocks.remove(0);
        }
        let blocks: SmallVec<[(Seq, Seq); 4]> = blocks.iter().map(|b| (b.left, b.right)).collect();
        let seen = AckView {
            ack: ack.ack,
            segments,
            duplicate,
            echo: ack.echo,
            blocks: &blocks,
            dsack,
        };
        let view = self.view();
        let orders = if self.detector.watches_acks() {
            self.detector.on_ack(&seen, &view)
        } else {
            Orders::none()
        };
        let watch = self.watch.as_mut();
        let unneeded = watch.and_then(|w| w.retransmissions.on_ack(&seen, &view));
        self.apply(self.detector.info().name, &orders, log);
        self.note_detecting();
        if let (Some(watch), true) = (&mut self.watch, unneeded.is_some()) {
            watch.found = unneeded;
            self.consult_unneeded(log);
        }
    }

    fn note_detecting(&mut self) {
        let watch = self.watch.as_deref();
        self.detecting =
            self.detector.watches_acks() || watch.is_some_and(|w| w.retransmissions.is_waiting());
    }

    /// Tells the watch, if a policy wants one, of a recovery that begins.
    fn begin_watch(&mut self, before: &SenderView, timeout: bool) {
        if let Some(watch) = &mut self.watch {
            watch.found = None;
            watch.retransmissions.begin(before, timeout);
        }
    }

    /// Tells the policies of a recovery that was not needed, until one answers.
    fn consult_unneeded(&mut self, log: &mut impl Log) -> bool {
        let mut applied = false;
        for i in 0..self.policies.len() {
            let found = self.watch.as_ref().and_then(|w| w.found);
            if let (Some(what), true) = (found, self.policies[i].heeds_unneeded()) {
                let view = self.view();
                let orders = self.policies[i].on_unneeded(&what, &view);
                if let (Some(watch), false) = (&mut self.watch, orders.is_empty()) {
                    watch.found = None;
                    applied = true;
                }
                self.apply(self.policies[i].info().name, &orders, log);
            }
        }
        applied
    }

    /// What the ACK was before it was processed, for [`Self::consult_after_ack`].
    #[inline(always)]
    pub(crate) fn standing(&self) -> (Seq, Seq) {
        (self.una, self.max)
    }

    /// What applied orders ask of the recovery, once.
    #[inline(always)]
    pub(crate) fn take_turn(&mut self) -> Option<Turn> {
        self.turn.take()
    }

    /// The next segment of a probe, if one may go.
    #[cold]
    pub(crate) fn probe_segment(&mut self) -> Option<Seq> {
        let left = self.probe.filter(|&left| left > 0)?;
        if !self.may_send_new() {
            return None;
        }
        self.probe = Some(left - 1);
        Some(self.max)
    }

    pub(super) fn may_send_new(&self) -> bool {
        self.max < self.end && self.max < self.una + self.config.receiver_window
    }

    pub(crate) fn view(&self) -> SenderView {
        SenderView {
            now: self.now,
            snd_una: self.una,
            snd_nxt: self.nxt,
            snd_max: self.max,
            una_sent: self.outstanding.front().map(|o| o.sent()),
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            initial_window: self.config.initial_window(),
            initial_ssthresh: self.config.initial_ssthresh,
            pipe: if self.in_fast_recovery {
                self.pipe.max(0) as u64
            } else {
                self.flight_size()
            },
            in_fast_recovery: self.in_fast_recovery,
            in_rto_recovery: match self.config.rto_recovery_end {
                RtoRecoveryEnd::NewAck => self.stalled,
                RtoRecoveryEnd::RecoveryPoint => self.is_going_back(),
            },
            first_timeout: self.first_timeout,
            rto: self.rto.timeout(),
            min_rto: self.rto.min(),
            new_connection_rto: self.config.rto.initial.min(RFC_2988_INITIAL_RTO),
            srtt: self.rto.srtt(),
            rttvar: self.rto.rttvar(),
            rtt_sampled: self.rtt_sampled,
            bandwidth: if self.reno {
                None
            } else {
                self.congestion.bandwidth(self.now)
            },
            dupacks: self.dupacks,
            limited_sent: self.limited_sent,
            new_data: self.may_send_new(),
            unsent: self.end.saturating_sub(self.max),
            train: self.train(),
            may_train: self.may_train(),
            may_pace: self.may_pace(),
            segment_bytes: self.config.segment_bytes,
            receiver_window: self.config.receiver_window,
            sack: self.config.recovery.uses_sack(),
            dup_threshold: self.duplicates_wanted(),
            reordering: self.reordering.map(|(r, _)| r),
            limited_transmit: self.config.limited_transmit,
        }
    }

    /// Gives the notice to every policy; whether any order was applied, or a
    /// train ended.
    pub(crate) fn consult_notice(
        &mut self,
        now: Instant,
        notice: &Notice,
        log: &mut impl Log,
    ) -> bool {
        self.now = now;
        self.rtt_sampled = false;
        let mut applied = self.interrupt_train();
        for i in 0..self.policies.len() {
            let view = self.view();
            let orders = self.policies[i].on_notice(notice, &view);
            applied |= !orders.is_empty();
            self.apply(self.policies[i].info().name, &orders, log);
        }
        if self.watch.is_some() {
            applied |= self.consult_unneeded(log);
        }
        self.watching = self.policies.iter().any(|p| p.watches_acks());
        applied
    }

    /// Gives the notice at the start of the connection to the policies that heed it.
    pub(crate) fn consult_start(&mut self, now: Instant, notice: &StartNotice, log: &mut impl Log) {
        self.now = now;
        for i in 0..self.policies.len() {
            if self.policies[i].heeds_start() {
                let view = self.view();
                let orders = self.policies[i].on_start(notice, &view);
                self.apply(self.policies[i].info().name, &orders, log);
            }
        }
        self.watching = self.policies.iter().any(|p| p.watches_acks());
    }

    /// Asks those who wait for an ACK; it found the sender standing so.
    #[inline(always)]
    pub(crate) fn consult_after_ack(&mut self, ack: &Ack, stood: (Seq, Seq), log: &mut impl Log) {
        // One test for both: mostly nobody waits.
        if self.detecting | self.watching {
            self.consult_waiting(ack, stood, log);
        }
    }

    #[cold]
    fn consult_waiting(&mut self, ack: &Ack, stood: (Seq, Seq), log: &mut impl Log) {
        if self.detecting {
            let (una, max) = stood;
            let duplicate = ack.ack == una && una < max;
            self.consult_detector(ack, duplicate, self.una - una, log);
        }
        if self.watching {
            let state = self.state();
            self.consult_policies(log);
            // What was reported before may be used at an ACK that changes nothing by itself.
            if ack.ack <= stood.0 && self.state() != state {
                self.noted.get_or_insert(Trigger::Report);
            }
        }
    }

    fn consult_policies(&mut self, log: &mut impl Log) {
        for i in 0..self.policies.len() {
            if self.policies[i].watches_acks() {
                let view = self.view();
                let orders = self.policies[i].on_ack(&view);
                self.apply(self.policies[i].info().name, &orders, log);
            }
        }
        self.watching = self.policies.iter().any(|p| p.watches_acks());
    }

    /// Asks the policies that heed handover marks about an ACK that has been
    /// processed; SND.UNA was `una_before`.
    #[cold]
    pub(crate) fn consult_mark(&mut self, ack: &Ack, una_before: Seq, log: &mut impl Log) {
        let mark = match ack.says {
            Says::Moved(mark) if ack.ack >= una_before && una_before > 0 => mark,
            _ => return,
        };
        for i in 0..self.policies.len() {
            if self.policies[i].heeds_marks() {
                let view = self.view();
                let seen = MarkSeen { mark, una_before };
                let orders = self.policies[i].on_mark(&seen, &view);
                self.apply(self.policies[i].info().name, &orders, log);
            }
        }
    }

    /// After the sender has gone back; `before` is what it was when the timer expired.
    pub(crate) fn consult_timeout(&mut self, before: &SenderView, log: &mut impl Log) {
        self.classifier.on_timeout(before);
        self.rate_timed_out(log);
        // A SYN is alone: nothing sent before could tell that its timeout was spurious.
        if self.una > 0 {
            let orders = self.detector.on_timeout(before);
            self.apply(self.detector.info().name, &orders, log);
            self.begin_watch(before, true);
            self.note_detecting();
        }
        if self.first_timeout.is_none_or(|(seq, _)| seq != self.una) {
            self.first_timeout = Some((self.una, self.window.ssthresh));
        }
        for i in 0..self.policies.len() {
            let view = self.view();
            let orders = self.policies[i].on_timeout(before, &view);
            self.apply(self.policies[i].info().name, &orders, log);
        }
    }

    /// Asks classifier and policies on entering fast recovery, with `pipe`
    /// already set; whether the window shall be left alone.
    pub(crate) fn consult_recovery(&mut self, log: &mut impl Log) -> bool {
        self.end_train();
        let view = self.view();
        let mut keep = self.judge(&view, log) == LossCause::Wireless;
        self.flight_before = self.response.flight_before();
        self.dup_threshold = self.response.dup_threshold(&view);
        self.end_duplicates();
        self.detector.on_fast_retransmit(&view);
        self.begin_watch(&view, false);
        self.note_detecting();
        for i in 0..self.policies.len() {
            let view = self.view();
            let orders = self.policies[i].on_recovery(&view);
            keep |= orders.contains(&Order::KeepWindow);
            self.apply(self.policies[i].info().name, &orders, log);
        }
        keep
    }

    /// The one place where orders take effect.
    pub(super) fn apply(&mut self, author: &'static str, orders: &Orders, log: &mut impl Log) {
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
                    self.rto.set_min(min);
                    log.record(self.now, SenderEvent::MinRto(min));
                }
                Order::RestartTimer => self.restart_timer(),
                Order::SetCwnd(cwnd) if cwnd >= 1.0 => self.set_cwnd(cwnd, log),
                // NaN comes here too.
                Order::SetCwnd(cwnd) => {
                    log.record(self.now, SenderEvent::WindowRefused { author, cwnd });
                }
                Order::SetSsthresh(ssthresh) => self.set_ssthresh(ssthresh, log),
                Order::RetransmitNow => {
                    if self.una < self.max {
                        self.interrupt_train();
                        self.end_back_off(log);
                        self.resend = Some(self.una);
                        self.cancel_timing();
                        self.restart_timer();
                    }
                }
                Order::RestartRtt {
                    initial_rto,
                    sample_since,
                    sample_retransmitted,
                } => {
                    if self.rto.backoff() != 1 {
                        log.record(self.now, SenderEvent::Backoff(1));
                    }
                    self.rto.restart(initial_rto);
                    self.rtt_epoch = sample_since;
                    self.timed = self.timed.filter(|(_, sent)| *sent >= sample_since);
                    self.sample_since = Some(sample_since);
                    self.sample_retransmitted = sample_retransmitted;
                    self.restart_timer();
                }
                // Answered by the recovery that asked.
                Order::KeepWindow => {}
                Order::HoldGrowth(since) => self.hold_growth = Some(since),
                Order::SendTrain(train) => self.start_train(train),
                Order::AskForRate(rate) => self.ask_for_rate(rate),
                Order::ReportRate(rate) => self.report_rate(rate),
                Order::Probe(segments) => {
                    self.end_train();
                    self.probe = Some(segments);
                    if segments == 0 {
                        self.resend = Some(self.una);
                    }
                }
                Order::GoBack => {
                    // What went again at the timeout need not go once more.
                    let resent = self.first_timeout.is_some_and(|(seq, _)| seq == self.una);
                    self.end_train();
                    self.probe = None;
                    self.nxt = self.una + u64::from(resent);
                    self.turn_to(Turn::Again);
                }
                Order::Rewind => self.rewind(log),
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
                } => self.adapt_rto = Some((since, srtt, rttvar)),
                Order::ExpectReordering(reordering) => self.expect_reordering(Some(reordering)),
                Order::EndReordering => self.expect_reordering(None),
            }
        }
    }

    /// Ends the recovery at hand, in which nothing was lost. What it was ordered
    /// for may be over: then the duplicates at hand are not its echoes, and count on.
    fn take_back(&mut self, counting: bool) {
        self.noted = Some(Trigger::Spurious);
        let recovering = self.in_fast_recovery
            || self.stalled
            || self.probe.is_some()
            || self.nxt < self.max
            || self.resend.is_some();
        if !recovering {
            return;
        }
        // What is undone was no timeout (RFC 3465 section 2.2).
        self.no_timeout();
        self.end_train();
        self.probe = None;
        self.resend = None;
        self.nxt = self.max;
        self.stalled = false;
        self.in_fast_recovery = false;
        if counting {
            self.turn = Some(Turn::Count);
        } else {
            self.turn_to(Turn::Forget);
        }
    }

    /// Goes back to the first unacknowledged segment without a reduction.
    fn rewind(&mut self, log: &mut impl Log) {
        self.noted = Some(Trigger::Mark);
        self.detector.forget();
        if let Some(watch) = &mut self.watch {
            watch.retransmissions.forget();
            watch.found = None;
        }
        self.detecting = false;
        self.end_back_off(log);
        self.end_train();
        self.probe = None;
        self.resend = None;
        self.nxt = self.una;
        self.stalled = false;
        self.in_fast_recovery = false;
        self.flight_before = None;
        if self.cwnd() < 1.0 {
            // Sack1's window has no floor. With none a flow that gets marks more often than its
            // timer expires would stand still.
            self.set_cwnd(1.0, log);
        }
        self.cancel_timing();
        self.restart_timer();
        self.turn_to(Turn::Rewind);
    }

    fn turn_to(&mut self, turn: Turn) {
        self.turn = Some(turn);
        self.end_duplicates();
        self.dupacks = 0;
    }

    /// See [`Self::noted`]; once.
    pub(crate) fn take_noted(&mut self) -> Option<Trigger> {
        self.noted.take()
    }

    /// Present state.
    pub(crate) fn state(&self) -> State {
        if self.probe.is_some() {
            State::Probe
        } else if self.stalled {
            State::Reset
        } else if self.in_fast_recovery {
            State::FastRecovery
        } else if self.delay.is_some() || self.patient {
            State::Delay
        } else if self.window.cwnd < self.window.ssthresh {
            State::SlowStart
        } else {
            State::CongestionAvoidance
        }
    }
}
