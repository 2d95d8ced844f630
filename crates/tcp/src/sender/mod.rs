//! The sender: one flow's state machine, polled by its caller.

mod changes;
mod core;

use educe::Educe;
use midflight_control::congestion::AnyCongestion;
use midflight_control::policy::Policy;
use midflight_control::{Notice, PathUpdate, SenderView, StartNotice};
use midflight_units::{Duration, Instant, Seq};

use self::changes::{log_wake, States};
pub(crate) use self::core::{Challenge, Core, Inside, Path, RecoveryRequest, SlotKind, LEAST_WAIT};
use crate::config::{SenderConfig, SenderParts};
use crate::event::{Author, Log, SenderEvent, Wake};
use crate::recovery::{Joined, Recovery, SizeProbe, Tally};
use crate::segment::{Ack, AckOption, SackBlocks, Segment};
use crate::state::{State, Trigger};

/// A TCP sender without I/O.
///
/// Pass in events ([`Self::open`], [`Self::on_ack`], [`Self::on_notice`], [`Self::on_timer`]); after each one, take
/// segments from [`Self::poll_transmit`] until there is none, then call [`Self::poll_timer`] to get the time of the
/// next [`Self::on_timer`]. Early or repeated calls do nothing.
#[derive(Educe, Debug)]
#[educe(Clone)]
pub struct Sender {
    core: Core,
    recovery: Recovery,
}

/// The next segment needs the slow path ([`Sender::poll_usual`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unusual {
    /// The segment, if it has been chosen already.
    next: Option<Seq>,
}

impl Sender {
    /// A closed sender with unlimited data to send.
    pub fn new(
        config: &SenderConfig,
        parts: &SenderParts,
        policies: impl IntoIterator<Item = Policy>,
    ) -> Self {
        Self {
            recovery: Recovery::new(config),
            core: Core::new(config, parts, policies),
        }
    }

    /// Replaces the policies, for a run that forks from a shared prefix. Only valid before the first notice, while
    /// policies have only observed.
    pub fn set_policies(&mut self, policies: impl IntoIterator<Item = Policy>) {
        self.core.set_policies(policies);
    }

    /// Tracks retransmissions from now on, as for policies that use reports of unneeded ones: for the shared prefix
    /// of runs that will have such policies.
    pub fn watch_retransmissions(&mut self) {
        self.core.watch_retransmissions();
    }

    /// Limits the flow to segments below `end` (the SYN counts). Segments that a higher end allows may be sent at
    /// once.
    pub fn set_end(&mut self, end: Seq) {
        let before = self.core.books.end();
        self.core.set_end(end);
        if self.core.books.end() > before {
            self.recovery.on_request(&self.core, RecoveryRequest::Again);
        }
    }

    /// The application has written: the flow is now limited to segments below `end`. Unlike [`Self::set_end`] this
    /// is an event in time, so it ends an idle time.
    pub fn write_until(&mut self, now: Instant, end: Seq, log: &mut impl Log) {
        if end > self.core.books.end() {
            if self.core.has_zero_window() {
                // For each buffer (tcp_skb_entail()).
                self.core.now = now;
                self.core.end_idle_time(log);
            } else {
                self.core.restart_after_idle(now, log);
            }
            self.core.note_write();
        }
        self.set_end(end);
        if self.core.has_zero_window() {
            self.core.now = now;
            self.core.await_zero_window();
        }
    }

    /// Starts the connection: the SYN may be sent.
    pub fn open<L: Log>(&mut self, now: Instant, log: &mut L) {
        let state = self.core.state();
        self.core.open(now, log);
        self.recovery.on_open(&self.core);
        if L::DETAILED {
            log.record(now, SenderEvent::Rto(self.core.path.rto.timeout()));
            if let Some(mode) = self.core.mode() {
                log.record(now, SenderEvent::Mode(mode));
            }
            // Changes made by a notice before the opening.
            self.log_transition(state, Trigger::Notice, log);
        }
    }

    /// The SYN answers that of the other side: with the recovery of Linux each of its timeouts backs off, also the first
    /// ones (reqsk_timeout()).
    pub fn answer_syn(&mut self) {
        self.recovery.on_passive_open();
    }

    /// The recovery of Linux sends no tail loss probes from now on (`net.ipv4.tcp_early_retrans`).
    pub fn leave_tails(&mut self) {
        self.recovery.leave_tails();
    }

    /// So many timeouts of the SYN do not back off, if the recovery is that of Linux
    /// (`net.ipv4.tcp_syn_linear_timeouts`).
    pub fn set_linear_syns(&mut self, timeouts: u32) {
        self.recovery.set_linear_syns(timeouts);
    }

    /// Whether the first timeouts of the recovery of Linux do not back off when fewer than four segments are in flight
    /// (`net.ipv4.tcp_thin_linear_timeouts`).
    pub fn set_thin_linear(&mut self, is_linear: bool) {
        self.recovery.set_thin_linear(is_linear);
    }

    /// The segments below `sent`, which were sent in another form, are lost for another reason than congestion
    /// (tcp_non_congestion_loss_retransmit()). Only the recovery of Linux has a state for that.
    pub fn lose_otherwise<L: Log>(&mut self, sent: Seq, log: &mut L) {
        let ssthresh = self.recovery.ssthresh_of_other_loss(&self.core);
        if let Some(ssthresh) = ssthresh.filter(|_| sent > 1) {
            self.core.set_ssthresh(ssthresh, Author::Recovery, log);
            let before = self.recovery.tally().unwrap_or_default();
            self.recovery.begin_other_loss(sent, before);
        }
    }

    /// The new segment, which was sent last, repeats data that was sent in another form and is lost
    /// ([`Self::lose_otherwise`]): it counts as lost and sent again. Only for the recovery of Linux.
    pub fn count_as_lost(&mut self, seq: Seq) {
        self.recovery.count_as_lost(seq);
    }

    /// The next new segment is larger than the others and probes whether the path takes its size: it takes the room of two
    /// (tcp_mtu_probe()). Only the recovery of Linux tells what becomes of it ([`Self::size_probe`]).
    pub fn begin_size_probe<L: Log>(&mut self, now: Instant, log: &mut L) {
        self.core.now = now;
        let probe = SizeProbe::Sent(self.core.books.max());
        self.recovery.set_size_probe(probe);
        let cwnd = self.core.cwnd();
        self.core.set_cwnd(cwnd - 1.0, Author::Recovery, log);
    }

    /// What has become of the segment that probes for a larger size.
    pub fn size_probe(&self) -> SizeProbe {
        self.recovery.size_probe()
    }

    /// Full segments have so many bytes of data from now on, for the pacing rate (tcp_update_pacing_rate()).
    pub fn set_present_size(&mut self, bytes: u64) {
        self.core.sizes.paced = bytes;
    }

    /// Such a probe has ended; if it has arrived, the window is this share of what it was, in whole segments
    /// (tcp_mtup_probe_success()).
    pub fn end_size_probe<L: Log>(&mut self, now: Instant, share: Option<(u64, u64)>, log: &mut L) {
        self.core.now = now;
        self.recovery.set_size_probe(SizeProbe::None);
        if let Some((packet, probe)) = share {
            let cwnd = self.core.cwnd() as u64 * packet / probe.max(1);
            self.core
                .set_cwnd(cwnd.max(1) as f64, Author::Recovery, log);
            if let Some(ssthresh) = self.recovery.ssthresh_of_other_loss(&self.core) {
                self.core.set_ssthresh(ssthresh, Author::Recovery, log);
            }
        }
    }

    /// The application limits the pacing rate, in bytes of data per second, and with it requests pacing
    /// (SO_MAX_PACING_RATE).
    pub fn limit_pacing(&mut self, most: u64) {
        self.core.limit_pacing(most);
    }

    /// The pacing rate in bytes of data per second, also of a sender that does not pace; none before the first RTT sample.
    pub fn pacing_rate(&self) -> Option<u64> {
        self.core.rate_of_pacing()
    }

    /// Records the delivery rate from now on ([`Self::recorded_rate`]); call before [`Self::open`].
    pub fn record_rate(&mut self) {
        self.core.record_rate();
    }

    /// The delivery rate that was recorded last.
    pub fn recorded_rate(&self) -> Option<midflight_control::RecordedRate> {
        self.core.recorded_rate()
    }

    /// Replaces the congestion controller by a fresh one; windows and round-trip times stay
    /// (tcp_reinit_congestion_control()).
    pub fn set_congestion(&mut self, congestion: &AnyCongestion) {
        self.core.set_congestion(congestion);
    }

    /// Data may be sent before the handshake has ended (RFC 7413 section 4.2.2, tcp_fastopen_create_child()): the SYN
    /// counts as acknowledged, which gives no RTT sample. [`Self::end_early_open`] follows.
    pub fn open_early<L: Log>(&mut self, now: Instant, log: &mut L) {
        self.core.cancel_timing();
        self.recovery.on_early_open();
        let ack = Ack {
            ack: 1,
            sack: SackBlocks::default(),
            echo: None,
            cause_sent: now,
            offset: 0,
            option: AckOption::Nothing,
            window: None,
            stamp_ms: 0,
            extra_bytes: 0,
        };
        self.on_ack(now, &ack, log);
    }

    /// The handshake has ended: the retransmission timer runs from now on for what was sent before
    /// (tcp_rcv_synrecv_state_fastopen()). The SYN, if it was sent only at `sent`, gives an RTT sample if there is
    /// none yet (tcp_synack_rtt_meas()).
    pub fn end_early_open<L: Log>(&mut self, now: Instant, sent: Option<Instant>, log: &mut L) {
        self.core.now = now;
        if let (Some(sent), None) = (sent, self.core.path.rto.srtt()) {
            self.core.take_rtt(now.since(sent), sent, log);
        }
        let fallback = self.core.config.rto_after_syn_timeout;
        if let (None, None, Some(rto)) = (sent, self.core.path.rto.srtt(), fallback) {
            // tcp_init_metrics().
            self.core.path.rto.restart(rto);
        }
        self.recovery.on_early_end(&mut self.core);
    }

    /// Our response to a SYN with data has timed out again before [`Self::end_early_open`]: what has been sent since is
    /// lost (tcp_fastopen_synack_timer()). Only the recovery of Linux does this.
    pub fn lose_early<L: Log>(&mut self, now: Instant, log: &mut L) {
        self.core.now = now;
        self.recovery.on_response_timeout(&mut self.core, log);
    }

    /// The SYN is sent again soon, because the other side answers to another one (tcp_rcv_synsent_state_process(),
    /// TCP_TIMEOUT_MIN); for the recovery of Linux.
    pub fn hasten_syn(&mut self, now: Instant) {
        self.core.now = now;
        self.core
            .set_slot(SlotKind::Retransmission, Duration::from_millis(2));
    }

    /// Segments from this one on are beyond the other side's window, which has shrunk: the recovery of Linux does not send
    /// them again, except the first that is not acknowledged (__tcp_retransmit_skb()).
    pub fn resend_below(&mut self, end: Seq) {
        self.recovery.resend_below(end);
    }

    /// Whether another segment follows in the same burst when this many full segments of new data, the last `of_buffer` of
    /// them from one buffer, are sent now (tcp_cwnd_test(), tcp_tso_segs()); false with another recovery than that of Linux.
    pub fn has_room_in_burst(&self, segments: u64, of_buffer: u64) -> bool {
        self.recovery
            .has_room_in_burst(&self.core, segments, of_buffer)
    }

    /// Applies what the recovery of Linux has decided while segments were sent: the window shrinks when the application
    /// does not use it (tcp_cwnd_application_limited()). The next event would apply it otherwise.
    pub fn settle<L: Log>(&mut self, now: Instant, log: &mut L) {
        self.core.now = now;
        self.recovery.settle(&mut self.core, log);
    }

    /// The segment `seq`, which was sent again last, and the `others` that follow it are one segment from now on. Those after
    /// them keep their numbers: the segment has that of the last (tcp_collapse_retrans()). Only for the recovery of Linux.
    pub fn join(&mut self, seq: Seq, others: u64) {
        let joined = Joined { seq, others };
        self.recovery.join(&mut self.core, joined);
    }

    /// Whether the other side's window is zero: timeouts then probe it (tcp_retransmit_timer()).
    pub fn set_zero_window(&mut self, is_zero: bool) {
        self.recovery.set_zero_window(is_zero);
    }

    /// Data beyond the end that the sender knows waits for a window of zero: with the recovery of Linux, probes begin if
    /// nothing is in flight (tcp_check_probe_timer()).
    pub fn await_zero_window(&mut self, now: Instant) {
        self.core.now = now;
        self.core.begin_probes();
    }

    /// Whether a segment in flight may be joined with others when it is sent again: it is not SACKed, and was last sent in a
    /// burst of its own (tcp_can_collapse()). Only for the recovery of Linux.
    pub fn may_join(&self, seq: Seq) -> bool {
        self.recovery.may_join(seq)
    }

    /// Segments below `end` may be sent by the probe of the tail that is due ([`Self::is_tail_probe_due`]).
    pub fn offer_for_probe(&mut self, end: Seq) {
        if end > self.core.books.end() {
            self.core.set_end(end);
            self.recovery.offer(&mut self.core);
        }
    }

    /// Whether a probe of the tail is due (tcp_send_loss_probe()).
    pub fn is_tail_probe_due(&self, now: Instant) -> bool {
        self.core.timers.slot() == Some(SlotKind::LossProbe) && self.core.timers.is_due(now)
    }

    /// What is sent next is a part of a segment that probes the window; in Linux no tail loss probe follows
    /// (tcp_write_wakeup()).
    pub fn skip_tail_probe(&mut self) {
        self.recovery.skip_tail_probe();
    }

    /// The other side's window has changed, and lets an idle sender send again (tcp_slow_start_after_idle_check() in
    /// tcp_ack_update_window()).
    pub fn end_idle<L: Log>(&mut self, now: Instant, log: &mut L) {
        self.core.restart_after_idle(now, log);
    }

    /// The time between two probes of a closed window doubles at most so often (`net.ipv4.tcp_retries2` in
    /// tcp_send_probe0()).
    pub fn limit_probe_doublings(&mut self, most: u32) {
        self.core.timers.limit_doublings(most);
    }

    /// An ACK has arrived.
    #[inline(always)]
    pub fn on_ack<L: Log>(&mut self, now: Instant, ack: &Ack, log: &mut L) {
        if self.core.sizes.are_full() {
            self.take_ack(now, ack, log);
        } else {
            self.take_ack_of_cuts(now, ack, log);
        }
    }

    /// The same if segments have been split. A separate function, because an ACK that may or may not be converted
    /// would have to be stored in memory.
    #[cold]
    #[inline(never)]
    fn take_ack_of_cuts<L: Log>(&mut self, now: Instant, ack: &Ack, log: &mut L) {
        let own = self.core.in_own_segments(ack);
        self.take_ack(now, &own, log);
    }

    #[inline(always)]
    fn take_ack<L: Log>(&mut self, now: Instant, ack: &Ack, log: &mut L) {
        let states = States::before::<L>(self);
        if !self.core.begin_ack(now, ack) {
            return;
        }
        let standing = self.core.standing();
        let special = ack.option != AckOption::Nothing || self.core.held;
        if !special || self.core.on_special_ack(ack, log) {
            self.recovery.on_ack(&mut self.core, ack, log);
        } else if !self.core.is_closed() {
            self.recovery.on_window_open();
        }
        self.core.consult_after_ack(ack, standing, special, log);
        if let Some(request) = self.core.take_request() {
            self.recovery.on_request(&self.core, request);
        }
        // A QUIC ACK never counts as a duplicate.
        let trigger = if ack.ack > standing.0 || ack.is_quic() {
            Trigger::NewAck
        } else {
            Trigger::Duplicate
        };
        states.after(self, trigger, log);
    }

    /// The start notice of the access link has arrived; call before [`Self::open`].
    pub fn on_start_notice<L: Log>(&mut self, now: Instant, notice: &StartNotice, log: &mut L) {
        let state = self.core.state();
        self.core.consult_start(now, notice, log);
        if L::DETAILED {
            self.log_transition(state, Trigger::Notice, log);
        }
    }

    /// A handoff notice has arrived.
    pub fn on_notice<L: Log>(&mut self, now: Instant, notice: &Notice, log: &mut L) {
        self.on_path_update(now, &PathUpdate::Notice(*notice), log);
    }

    /// A handoff notice or throughput advice has arrived.
    pub fn on_path_update<L: Log>(&mut self, now: Instant, update: &PathUpdate, log: &mut L) {
        let states = States::before::<L>(self);
        let applied = match update {
            PathUpdate::Notice(notice) => self.core.consult_notice(now, notice, log),
            PathUpdate::Advice(advice) => self.core.consult_advice(now, *advice, log),
        };
        if applied {
            let request = self.core.take_request().unwrap_or(RecoveryRequest::Again);
            self.recovery.on_request(&self.core, request);
        }
        states.after(self, Trigger::Notice, log);
    }

    /// Time has passed; returns whether the retransmission timer has expired. Does nothing before the deadline of
    /// [`Self::poll_timer`].
    pub fn on_timer<L: Log>(&mut self, now: Instant, log: &mut L) -> bool {
        if self.core.patience_is_over(now) {
            let states = States::before::<L>(self);
            log_wake(now, Wake::Patience, self.core.wake_set(), log);
            if self.core.end_patience(now) {
                self.recovery.retransmit(&mut self.core, log);
                self.core.end_duplicates();
            } else {
                self.recovery.on_patience_over(&mut self.core);
            }
            states.after(self, Trigger::DelayOver, log);
        }
        if self.core.delay_is_over(now) {
            let states = States::before::<L>(self);
            log_wake(now, Wake::Delay, self.core.wake_set(), log);
            self.core.end_delay(now);
            if self.core.is_closed() {
                // The sender probes the closed window and does not retransmit.
                self.core.loss.set_dupacks(0);
            } else {
                self.recovery.retransmit(&mut self.core, log);
            }
            self.core.end_duplicates();
            states.after(self, Trigger::DelayOver, log);
        }
        if self.core.held && self.core.next_train_is_due(now) {
            let states = States::before::<L>(self);
            self.core.consult_next_train(now, log);
            states.after(self, Trigger::Report, log);
        }
        if self.core.held && self.core.take_gate(now) {
            self.recovery.on_gate(&mut self.core);
        }
        if !self.core.timer_is_due(now) {
            return false;
        }
        let set = self.core.timers.set_at();
        if let Some(kind) = self.core.take_slot(now) {
            let states = States::before::<L>(self);
            log_wake(now, Wake::of(kind), set, log);
            self.recovery.on_slot(&mut self.core, kind, log);
            states.after(self, Trigger::DelayOver, log);
            return false;
        }
        if self.core.is_closed() {
            log_wake(now, Wake::Persist, set, log);
            self.core.probe_window(now);
            return false;
        }
        log_wake(now, Wake::Retransmission, set, log);
        self.expire(now, log);
        true
    }

    /// The retransmission timer has expired.
    fn expire<L: Log>(&mut self, now: Instant, log: &mut L) {
        let states = States::before::<L>(self);
        let before = SenderView {
            now,
            ..self.core.view()
        };
        self.core.timer_expired(now, log);
        self.recovery.on_timeout(&mut self.core, log);
        self.core.consult_timeout(&before, log);
        states.after(self, Trigger::Timeout, log);
    }

    /// An ICMP message says that the path was broken when the timer last expired (RFC 6069). Returns whether the timer
    /// expires now, because it would have without the back-off.
    pub fn on_unreachable<L: Log>(&mut self, now: Instant, log: &mut L) -> bool {
        self.core.now = now;
        let expires = self.recovery.on_unreachable(&mut self.core, log);
        if expires {
            self.expire(now, log);
        }
        expires
    }

    /// The path takes only segments of the size of `config`. Everything outstanding is lost, for another reason than
    /// congestion: the windows and the RTT stay (tcp_simple_retransmit()). The segments are numbered anew, and segment 1 is
    /// the first that was not acknowledged; segments below `sent` were sent. A controller that sets the window itself begins
    /// anew. The recovery of Linux is in its state of losses until those are acknowledged
    /// (tcp_non_congestion_loss_retransmit()).
    pub fn shrink<L: Log>(
        &mut self,
        now: Instant,
        config: &SenderConfig,
        parts: &SenderParts,
        sent: Seq,
        log: &mut L,
    ) {
        let ssthresh = self.recovery.ssthresh_of_other_loss(&self.core);
        let mut fresh = Self::new(config, parts, self.core.take_policies());
        fresh.set_end(1);
        fresh.open(now, &mut ());
        while fresh.poll_transmit(now).is_some() {}
        fresh.open_early(now, &mut ());
        fresh.core.keep_path_of(&self.core, log);
        if let Some(ssthresh) = ssthresh.filter(|_| sent > 1) {
            fresh.core.set_ssthresh(ssthresh, Author::Recovery, log);
            let before = self.recovery.tally().unwrap_or_default();
            fresh.recovery.begin_other_loss(sent, before);
        }
        *self = fresh;
    }

    /// The next segment to put on the network now, if any. A probe of a closed window repeats an acknowledged
    /// number, without data.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        match self.poll_usual(now) {
            Ok(segment) => segment,
            Err(unusual) => self.poll_unusual(now, unusual),
        }
    }

    /// The fast path of [`Self::poll_transmit`], which most segments take; otherwise returns the argument for
    /// [`Self::poll_unusual`]. Two functions, because a segment that may come from either path would have to be
    /// stored in memory.
    ///
    /// # Errors
    /// [`Unusual`].
    #[inline(always)]
    pub fn poll_usual(&mut self, now: Instant) -> Result<Option<Segment>, Unusual> {
        self.core.now = now;
        if self.core.held || self.core.loss.resends() || self.core.probe.is_some() {
            return Err(Unusual { next: None });
        }
        let Some(seq) = self.recovery.next_segment(&mut self.core) else {
            return Ok(None);
        };
        if !self.core.sizes.are_full() {
            return Err(Unusual { next: Some(seq) });
        }
        Ok(Some(self.core.transmit(seq)))
    }

    /// The slow path: during the handshake, when only the SYN may be sent; while the window is closed; during a
    /// train; when a segment must carry an option; when a segment must be sent before all others; and when segments
    /// have been split.
    #[inline(never)]
    pub fn poll_unusual(&mut self, now: Instant, unusual: Unusual) -> Option<Segment> {
        self.core.now = now;
        if let Some(seq) = unusual.next {
            let segment = self.core.transmit(seq);
            return Some(self.core.on_wire(segment));
        }
        if self.core.held {
            return self.transmit_held();
        }
        let seq = match self.core.loss.take_resend() {
            Some(seq) => {
                self.recovery.on_resend(&mut self.core, seq);
                seq
            }
            None => self.core.probe_segment()?,
        };
        Some(self.core.transmit(seq))
    }

    fn transmit_held(&mut self) -> Option<Segment> {
        let idle = !self.core.books.is_outstanding();
        let mut segment = self.next_held()?;
        self.core.follow_segment(&segment, idle);
        self.core.hand_options(&mut segment);
        Some(self.core.on_wire(segment))
    }

    fn next_held(&mut self) -> Option<Segment> {
        let core = &mut self.core;
        if let Some(packet) = core.empty_ack().or_else(|| core.next_challenge()) {
            return Some(packet);
        }
        if core.is_closed() {
            return core.window_probe();
        }
        if let Some(seq) = core.loss.take_resend() {
            self.recovery.on_resend(core, seq);
            return Some(core.transmit(seq));
        }
        if core.probe.is_some() {
            let seq = core.probe_segment()?;
            return Some(core.transmit(seq));
        }
        let of_train = core.train_allows();
        if of_train == Some(false) || core.books.una() == 0 && core.books.nxt() > 0 {
            return None;
        }
        let checks_gate = !core.config.recovery.about().asks_for_bursts;
        if checks_gate && of_train.is_none() && core.gate_is_closed() {
            return None;
        }
        let next = self.recovery.next_segment(core);
        if checks_gate && next.is_some_and(|seq| seq > 0) {
            core.leave(1, core.sizes.full());
        }
        if of_train.is_none() {
            return next.map(|seq| core.transmit(seq));
        }
        let Some(seq) = next else {
            core.train_refused();
            return None;
        };
        let mut segment = core.transmit(seq);
        core.join_train(&mut segment);
        Some(segment)
    }

    /// When to call [`Self::on_timer`], and when that deadline was set. Covers the retransmission timer, the persist
    /// timer, a delayed response to duplicate ACKs, and the next segment of a train or the next train. None if
    /// nothing is in flight and nothing waits.
    #[inline]
    pub fn poll_timer(&self) -> Option<(Instant, Instant)> {
        if self.core.held {
            return self.core.held_deadline();
        }
        self.core.deadline()
    }

    /// Whether that deadline is the pacer's, which uses a high-resolution timer.
    #[inline]
    pub fn awaits_high_resolution(&self) -> bool {
        self.core.held && self.core.gate_is_next()
    }

    /// Number of the receiver's address to which the last returned segment is sent.
    #[inline]
    pub fn destination(&self) -> u16 {
        self.core.destination()
    }

    /// How many addresses the receiver has had before the one that it sends to.
    pub fn epoch(&self) -> u16 {
        self.recovery.epoch()
    }

    /// Whether everything up to the end is acknowledged.
    pub fn is_done(&self) -> bool {
        self.core.books.una() >= self.core.books.end()
    }

    /// Whether it has opened and has something to send or unacknowledged, but will never act again by itself. Call
    /// when [`Self::poll_transmit`] returns none; true means a bug in a part.
    #[cold]
    pub fn is_stuck(&self) -> bool {
        self.core.books.max() > 0 && !self.is_done() && self.poll_timer().is_none()
    }

    /// The state as a policy sees it.
    pub fn view(&self) -> SenderView {
        self.core.view()
    }

    /// The state of its state machine.
    pub fn state(&self) -> State {
        self.core.state()
    }

    /// Duplicate ACKs counted since the last advance.
    pub fn dupacks(&self) -> u32 {
        self.core.loss.dupacks()
    }

    /// The recovery's state of the segments in flight, if it keeps a list of them.
    pub fn tally(&self) -> Option<Tally> {
        self.recovery.tally()
    }

    /// Whether the sender only probes until the window opens (persist mode).
    pub fn is_window_closed(&self) -> bool {
        self.core.is_closed()
    }

    /// Whether the receiver advertises a zero window, or a notice to wait is in force.
    pub fn has_zero_window(&self) -> bool {
        self.core.is_closed() || self.core.has_zero_window()
    }

    /// The timer's back-off factor.
    pub fn backoff(&self) -> u32 {
        self.core.path.rto.backoff()
    }

    /// How often the wait for a probe of a closed window has doubled; none while the window is open.
    pub fn probe_doublings(&self) -> Option<u32> {
        self.core.timers.probe_doublings()
    }

    /// The parameters.
    pub fn config(&self) -> &SenderConfig {
        &self.core.config
    }
}
