//! The state shared by every kind of recovery: sequence space, window, timer and RTT timing.

mod books;
mod classifier;
mod controller;
mod cuts;
mod deliveries;
mod detector;
mod ecn;
mod loss_state;
mod orders;
mod pacer;
mod path;
mod peer;
mod persist;
mod policies;
mod quic;
mod quick_start;
mod reordering;
mod response;
mod slot;
mod timers;
mod train;
mod view;
mod window;

use educe::Educe;
use midflight_control::congestion::{AckCounting, Congestion, Reno};
use midflight_control::dupack::AnyDupackResponse;
use midflight_control::loss::{AnyLossClassifier, LossCause};
use midflight_control::policy::Policy;
use midflight_control::quick_start::{Nonce, RateCode};
use midflight_control::rtt::Sampled;
use midflight_control::spurious::AnySpuriousDetector;
use midflight_control::{AdviceInForce, Deliveries, Interests, RateSample, Reordering};
use midflight_units::{Duration, Instant, Seq};

use self::books::Books;
pub(crate) use self::controller::Inside;
use self::detector::UnneededWatch;
use self::loss_state::LossState;
use self::pacer::Pacer;
pub(crate) use self::path::Path;
use self::peer::Peer;
pub(crate) use self::persist::LEAST_WAIT;
pub(crate) use self::quic::Challenge;
use self::quic::Challenges;
use self::quick_start::RateRequest;
pub(crate) use self::timers::SlotKind;
use self::timers::Timers;
use self::train::ActiveTrain;
use crate::config::{ResponseLoad, RestartAfterIdle, RttSampling, SenderConfig, SenderParts};
use crate::event::{Author, Log, SenderEvent};
use crate::segment::{Ack, Content, EcnCodepoint, Segment};
use crate::sizes::Sizes;
use crate::state::Trigger;

/// Requests from orders to the recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecoveryRequest {
    /// Check again what may be sent.
    Again,
    /// Nothing was lost: end the recovery.
    Forget,
    /// The same, but duplicates of the last ACK still count.
    Count,
    /// Everything outstanding is retransmitted, for another reason than a timeout.
    Rewind,
}

/// Shared state of a sender. Sequence numbers and windows are in segments.
#[derive(Educe, Debug)]
#[educe(Clone)]
pub(crate) struct Core {
    pub(crate) config: SenderConfig,
    pub(crate) now: Instant,
    pub(crate) books: Books,
    pub(crate) sizes: Sizes,
    pub(crate) path: Path,
    pub(crate) timers: Timers,
    pub(crate) loss: LossState,
    peer: Peer,
    /// The next new segment must announce a reduction (CWR).
    owes_cwr: bool,
    /// The active train.
    train: Option<ActiveTrain>,
    /// When the next burst may be sent, if bursts are paced.
    pacer: Option<Pacer>,
    /// The delivery rate, if a part uses it; and the results of the last ACK.
    deliveries: Option<Box<Deliveries>>,
    rate: Option<RateSample>,
    /// Path validations to send, and the destination of the current segment.
    challenges: Challenges,
    /// A requested rate, and a rate to report.
    asking: Option<RateRequest>,
    report: Option<(RateCode, Nonce)>,
    /// The nonce of the last request, which a report repeats.
    last_nonce: Nonce,
    /// The fast path of sending is off: the handshake, a train or a rate request is in progress, the window
    /// is closed, or segments are paced or tracked.
    pub(crate) held: bool,
    syn_timeouts: u32,
    /// The segment for which the timer last expired, and the threshold after the first expiry for it.
    first_timeout: Option<(Seq, f64)>,
    /// The response to duplicates has set the window for the current ACK.
    window_answered: bool,
    policies: Vec<Policy>,
    /// The events for which some part is called.
    interests: Interests,
    response: AnyDupackResponse,
    /// An order to expect reordering, and its time.
    reordering: Option<(Reordering, Instant)>,
    /// Duplicates that usually indicate a loss are still treated as reordering.
    patient: bool,
    /// Segments below this do not overtake each other; set while reordering is expected.
    pub(crate) in_order_below: Option<Seq>,
    /// Number of duplicate ACKs after which a segment counts as lost.
    pub(crate) dup_threshold: u32,
    /// FlightSize before limited transmit, if the response stores it.
    flight_before: Option<u64>,
    classifier: AnyLossClassifier,
    /// The cause of a suspected loss, according to the classifier.
    judged: Option<LossCause>,
    detector: AnySpuriousDetector,
    /// Tracks retransmissions for policies that use reports of unneeded ones.
    unneeded: Option<Box<UnneededWatch>>,
    /// Throughput advice, if there was any.
    advice: Option<Box<AdviceInForce>>,
    /// How many new segments may be sent before the next order.
    pub(crate) probe: Option<u32>,
    /// Requests of applied orders to the recovery.
    request: Option<RecoveryRequest>,
    /// The trigger of the present state, if it is not the last event.
    noted: Option<Trigger>,
}

impl Core {
    pub(crate) fn new(
        config: &SenderConfig,
        parts: &SenderParts,
        policies: impl IntoIterator<Item = Policy>,
    ) -> Self {
        let mut core = Self {
            now: Instant::ZERO,
            books: Books::default(),
            sizes: Sizes::new(config.payload_bytes()),
            path: Path::new(config, &parts.congestion),
            timers: Timers::default(),
            loss: LossState::default(),
            peer: Peer::default(),
            owes_cwr: false,
            train: None,
            pacer: None,
            deliveries: None,
            rate: None,
            challenges: Challenges::new(config, &parts.congestion),
            asking: None,
            report: None,
            last_nonce: Nonce::default(),
            held: true,
            syn_timeouts: 0,
            first_timeout: None,
            window_answered: false,
            policies: policies.into_iter().collect(),
            interests: parts.loss_classifier.interests(),
            response: parts.dupack_response,
            reordering: None,
            patient: false,
            in_order_below: None,
            dup_threshold: config.dup_threshold,
            flight_before: None,
            classifier: parts.loss_classifier,
            judged: None,
            detector: parts.spurious_detector,
            unneeded: None,
            advice: None,
            probe: None,
            request: None,
            noted: None,
            config: *config,
        };
        core.dup_threshold = core.response.dup_threshold(&core.view());
        core.note_policies();
        if core.has_foreign_controller() {
            core.adopt_controller();
        }
        core.begin_control();
        if core.interests.includes(Interests::UNNEEDED) {
            core.watch_retransmissions();
        }
        core
    }

    pub(crate) fn set_policies(&mut self, policies: impl IntoIterator<Item = Policy>) {
        self.policies.clear();
        self.policies.extend(policies);
        self.note_policies();
        if self.has_foreign_controller() {
            self.adopt_controller();
            self.begin_control();
        }
        if !self.interests.includes(Interests::UNNEEDED) {
            self.unneeded = None;
        }
    }

    pub(crate) fn take_policies(&mut self) -> Vec<Policy> {
        std::mem::take(&mut self.policies)
    }

    /// See [`super::Sender::watch_retransmissions`].
    pub(crate) fn watch_retransmissions(&mut self) {
        self.unneeded = Some(Box::default());
    }

    pub(crate) fn open(&mut self, now: Instant, log: &mut impl Log) {
        self.now = now;
        log.record(now, SenderEvent::Backoff(1));
        let (to, by) = (self.path.window.ssthresh(), Author::Handshake);
        log.record(now, SenderEvent::Ssthresh { to, by });
        // Only the SYN is sent.
        self.set_cwnd(1.0, by, log);
    }

    // ---- windows -------------------------------------------------------

    pub(crate) fn cwnd(&self) -> f64 {
        self.path.window.cwnd()
    }

    /// The whole segments of `cwnd`.
    #[inline(always)]
    pub(crate) fn whole_cwnd(&self) -> u64 {
        self.path.window.whole()
    }

    pub(crate) fn ssthresh(&self) -> f64 {
        self.path.window.ssthresh()
    }

    /// The window in use, in whole segments: the smaller of `cwnd` and the receiver's.
    pub(crate) fn usable_window(&self) -> u64 {
        self.path.window.usable()
    }

    pub(crate) fn flight_size(&self) -> u64 {
        self.books.flight_size()
    }

    /// Sets the estimate of the segments in flight, where each duplicate ACK counts as a segment that has
    /// left the network.
    pub(crate) fn set_pipe_by_duplicates(&mut self) {
        let pipe = self.flight_size() as i64 - i64::from(self.loss.dupacks());
        self.loss.set_pipe(pipe);
    }

    pub(crate) fn set_cwnd(&mut self, cwnd: f64, by: Author, log: &mut impl Log) {
        self.path.window.set_cwnd(cwnd, by, self.now, log);
    }

    pub(crate) fn set_ssthresh(&mut self, to: f64, by: Author, log: &mut impl Log) {
        self.path.window.set_ssthresh(to, by, self.now, log);
    }

    /// Grows the window for an ACK that advanced SND.UNA by `segments` to its present value.
    #[inline(always)]
    pub(crate) fn grow(&mut self, segments: u64, log: &mut impl Log) {
        let by = match self.books.una() {
            1 => Author::Handshake,
            _ => Author::Controller,
        };
        self.grow_by(by, segments, log);
        if self.books.una() == 1 {
            self.end_handshake(log);
        }
    }

    /// The same, inlined: for a recovery whose controller is seldom Reno.
    #[inline(always)]
    pub(crate) fn grow_at_once(&mut self, segments: u64, log: &mut impl Log) {
        let path = &mut self.path;
        let is_ordered = path.hold_growth.is_some() || self.window_answered;
        let counts_otherwise = path.hystart.is_some() || path.slow_start_after_timeout;
        let is_other = path.reno || self.interests.includes(Interests::CONTROL);
        if is_ordered || counts_otherwise || is_other {
            self.grow_otherwise(segments, log);
            return;
        }
        let (controller, counting) = (&mut path.congestion, self.config.ack_counting);
        path.window
            .grow(Author::Controller, self.now, log, |window| {
                controller.on_ack(window, segments, counting);
            });
    }

    #[cold]
    #[inline(never)]
    fn grow_otherwise(&mut self, segments: u64, log: &mut impl Log) {
        self.grow_by(Author::Controller, segments, log);
    }

    /// The same for the ACK of the SYN.
    #[cold]
    #[inline(never)]
    pub(crate) fn grow_for_syn(&mut self, segments: u64, log: &mut impl Log) {
        self.grow(segments, log);
    }

    /// The same for an open connection.
    #[inline(always)]
    pub(crate) fn grow_by(&mut self, by: Author, segments: u64, log: &mut impl Log) {
        if !self.path.reno && self.has_foreign_controller() {
            self.grow_by_foreign(log);
        } else if self.path.hold_growth.is_none() && !self.window_answered {
            let counting = if self.path.slow_start_after_timeout {
                self.counting_after_timeout()
            } else {
                self.config.ack_counting
            };
            let (mut segments, mut counting) = (segments, counting);
            if !self.path.reno && self.path.hystart.is_some() {
                let is_first = self.ssthresh() >= self.config.initial_ssthresh;
                let is_paced = self.is_paced();
                (segments, counting) = self.path.counted(segments, counting, is_first, is_paced);
            }
            let (reno, controller) = (self.path.reno, &mut self.path.congestion);
            self.path.window.grow(by, self.now, log, |window| {
                if reno {
                    Reno.on_ack(window, segments, counting);
                } else {
                    controller::grow(controller, window, segments, counting);
                }
            });
        }
    }

    /// The SYN is acknowledged: the window becomes the initial window.
    #[cold]
    #[inline(never)]
    fn end_handshake(&mut self, log: &mut impl Log) {
        let small = self.syn_timeouts >= self.config.syn_timeouts_for_small_window;
        let initial = if small {
            self.config.initial_window_after_syn_timeout
        } else {
            self.config.initial_window()
        };
        self.set_cwnd(initial, Author::Handshake, log);
        if let (1.., Some(rto)) = (self.syn_timeouts, self.config.rto_after_syn_timeout) {
            self.end_back_off(log);
            self.path.rto.restart(rto);
        }
        if !self.path.reno && !self.path.controls {
            self.open_foreign(log);
        }
    }

    /// RFC 3465 section 2.2: in the slow start after a timeout L is one segment. That slow start is over
    /// when the window has reached the threshold.
    #[cold]
    fn counting_after_timeout(&mut self) -> AckCounting {
        self.path.slow_start_after_timeout = self.cwnd() < self.ssthresh();
        match self.config.ack_counting {
            AckCounting::AppropriateBytes { .. } if self.path.slow_start_after_timeout => {
                AckCounting::AppropriateBytes { limit: 1 }
            }
            counting => counting,
        }
    }

    /// The last timeout was spurious: the current slow start does not count as one after a timeout.
    pub(crate) fn no_timeout(&mut self) {
        self.path.slow_start_after_timeout = false;
    }

    /// There is more to send. After an idle time longer than the RTO the window is at most the restart
    /// window (RFC 5681 section 4.1).
    pub(crate) fn restart_after_idle(&mut self, now: Instant, log: &mut impl Log) {
        if self.books.una() == 0 || self.books.max() < self.books.end() {
            return;
        }
        self.now = now;
        self.end_idle_time(log);
    }

    /// The sender may send again; what this means depends on how long nothing was in flight.
    pub(crate) fn end_idle_time(&mut self, log: &mut impl Log) {
        let now = self.now;
        if self.books.is_outstanding() || self.path.controls {
            return;
        }
        if !self.path.reno && !self.recovery_reports_idle() {
            self.path
                .congestion
                .on_idle_end(now, self.books.last_sent());
        }
        if self.restarts_by_halves() {
            self.restart_by_halves(log);
            return;
        }
        let idle = now.since(self.books.last_sent());
        let restarts = self.config.restart_after_idle == RestartAfterIdle::On;
        if restarts && idle > self.path.rto.timeout() {
            let restart = self.config.initial_window();
            self.set_cwnd(self.cwnd().min(restart), Author::Idle, log);
        }
    }

    /// The load that a congestion event halves. While the sender goes back after a timeout, FlightSize
    /// counts the segments sent since: earlier ones are considered lost and are not in flight. Segments of
    /// limited transmit do not count (RFC 5681 section 3.2 step 2).
    fn load(&self) -> f64 {
        match self.config.response_load {
            ResponseLoad::Window => self.usable_window() as f64,
            ResponseLoad::FlightSize => {
                let flight = self.books.sent_since_rewind();
                let before = flight.saturating_sub(self.books.limited_sent());
                self.flight_before.unwrap_or(before) as f64
            }
        }
    }

    /// Sets `ssthresh` for a loss reported by duplicate ACKs. Returns the window for fast recovery, unless
    /// the controller leaves that to the recovery.
    pub(crate) fn reduce_ssthresh(&mut self, log: &mut impl Log) -> Option<f64> {
        let load = self.load();
        let ssthresh = self.threshold(false, load, log);
        self.set_ssthresh(ssthresh, Author::Recovery, log);
        let window = self
            .path
            .congestion
            .recovery_window(self.path.window.both());
        self.path.window.limit_recovery(window);
        window
    }

    /// The window at the end of a fast recovery that inflates it: the threshold, unless the controller
    /// keeps a smaller window.
    pub(crate) fn recovery_target(&self) -> f64 {
        self.path.window.recovery_target()
    }

    /// As [`Self::reduce_ssthresh`]. A timeout in fast recovery means that a retransmission is lost:
    /// SND.UNA has not advanced while new data was sent, so FlightSize includes data that arrived long ago.
    /// The data in flight was at most the target window of the recovery. The window in use counts without
    /// the segments that duplicates have added; that is `deflated`.
    fn reduce_after_timeout(&mut self, deflated: f64, log: &mut impl Log) {
        let mut load = self.load();
        if self.loss.in_fast_recovery() {
            load = load.min(match self.config.response_load {
                ResponseLoad::FlightSize => self.ssthresh(),
                ResponseLoad::Window => deflated.trunc(),
            });
        }
        let ssthresh = self.threshold(true, load, log);
        self.set_ssthresh(ssthresh, Author::Timeout, log);
    }

    // ---- timer and RTT --------------------------------------------------

    /// Arms the timer from now, or stops it when nothing is in flight. It is stopped while the window is
    /// closed, and started when the window opens.
    pub(crate) fn restart_timer(&mut self) {
        let (clock, timeout) = (self.config.rto.clock, self.path.rto.timeout());
        let outstanding = self.books.is_outstanding();
        self.timers.restart(self.now, clock, timeout, outstanding);
    }

    /// Stops timing a segment.
    pub(crate) fn cancel_timing(&mut self) {
        self.path.timed = None;
    }

    /// Ends the timing of a segment below `ack`, and the back-off with it, without a sample.
    pub(crate) fn forget_timed_below(&mut self, ack: Seq, log: &mut impl Log) {
        if self.path.timed.is_some_and(|(seq, _)| seq < ack) {
            self.path.timed = None;
            self.end_back_off(log);
        }
    }

    fn sample(&mut self, rtt: Duration, sent: Instant, log: &mut impl Log) {
        if !self.path.reno {
            self.report_rtt(rtt, log);
        }
        self.take_sample(rtt, None, sent, log);
    }

    /// `micros` is the same time if it is known in whole microseconds.
    #[inline(always)]
    fn take_sample(
        &mut self,
        rtt: Duration,
        micros: Option<u64>,
        sent: Instant,
        log: &mut impl Log,
    ) {
        let per_window = match self.config.rtt_sampling {
            RttSampling::OnePerWindow => 1,
            // RFC 7323 appendix G: FlightSize / (2 SMSS), rounded up. While going back, segments
            // outstanding before the timeout give no samples.
            RttSampling::Timestamps => {
                let flight = self.books.sent_since_rewind();
                flight.div_ceil(2).max(1) as u32
            }
        };
        self.end_back_off(log);
        match self.path.adapt_rto {
            Some((since, srtt, rttvar)) if sent >= since => {
                self.path.adapt_rto = None;
                self.path.rto.sample_with_at_least(rtt, sent, srtt, rttvar);
            }
            _ => {
                let sampled = Sampled {
                    rtt,
                    sent,
                    per_window,
                    una: self.books.una(),
                    nxt: self.books.max(),
                };
                match micros {
                    Some(micros) => self.path.rto.sample_micros(micros, &sampled),
                    None => self.path.rto.sample(&sampled),
                }
            }
        }
        self.path.rtt_sampled = true;
        log.record(self.now, SenderEvent::RttSample(rtt));
    }

    #[inline(always)]
    pub(crate) fn end_back_off(&mut self, log: &mut impl Log) {
        if self.path.rto.backoff() != 1 {
            self.path.rto.end_back_off();
            log.record(self.now, SenderEvent::Backoff(1));
        }
    }

    /// Whether the retransmission timer has expired.
    pub(crate) fn timer_is_due(&self, now: Instant) -> bool {
        self.timers.is_due(now)
    }

    /// The timer has expired.
    pub(crate) fn timer_expired(&mut self, now: Instant, log: &mut impl Log) {
        self.now = now;
        self.timers.ring(self.config.rto.clock.count(now));
        self.timers.expire();
        self.loss.begin_timeout(self.books.max());
        // A probe without a result is over; the detector may start another.
        self.probe = None;
        self.end_train();
        self.end_duplicates();
        self.flight_before = None;
        self.syn_timeouts += u32::from(self.books.una() == 0);
        log.record(now, SenderEvent::Timeout(self.number(self.books.una())));
    }

    /// Whether a segment is outstanding that was outstanding when the timer last expired.
    pub(crate) fn is_going_back(&self) -> bool {
        self.books.una() < self.loss.timeout_point()
    }

    /// The common response to a timeout (RFC 5681 section 3.1, RFC 6298 (5.4)
    /// to (5.6)): reduce, back off, re-arm, go back to the first unacknowledged segment.
    pub(crate) fn go_back(&mut self, log: &mut impl Log) {
        self.go_back_from(self.cwnd(), log);
    }

    /// The same if fast recovery adds duplicates to `cwnd`: `deflated` is the window without them.
    pub(crate) fn go_back_from(&mut self, deflated: f64, log: &mut impl Log) {
        if !(self.config.hold_ssthresh_on_repeat && self.loss.timed_out_again()) {
            self.reduce_after_timeout(deflated, log);
        }
        self.report_timeout();
        self.set_cwnd(1.0, Author::Timeout, log);
        self.path.slow_start_after_timeout = true;
        self.path.rto.back_off();
        log.record(self.now, SenderEvent::Backoff(self.path.rto.backoff()));
        self.restart_timer();
        self.cancel_timing();
        self.loss.leave_fast_recovery();
        self.books.go_back();
    }

    // ---- acknowledgements -------------------------------------------------

    /// Refuses an ACK of a segment that was never sent; otherwise updates the time.
    pub(crate) fn begin_ack(&mut self, now: Instant, ack: &Ack) -> bool {
        self.now = now;
        self.path.rtt_sampled = false;
        self.window_answered = false;
        let sent = ack.ack <= self.books.max();
        if let Some(window) = ack.window.filter(|_| sent) {
            if !self.take_peer(ack, window) {
                return false;
            }
        } else {
            self.forget_update();
        }
        if !self.path.reno && sent {
            self.gauge(ack.ack);
        }
        sent
    }

    /// Advances SND.UNA to the ACK and takes the sample for which an RTT restart is waiting.
    #[inline(always)]
    pub(crate) fn advance(&mut self, ack: Seq, log: &mut impl Log) -> u64 {
        let segments = ack.saturating_sub(self.books.una());
        let mut fresh = None;
        if self.path.hold_growth.is_some() || self.path.sample_since.is_some() {
            fresh = self.note_fresh(segments);
        }
        if segments > 0 && self.interests.includes(Interests::SAMPLES) {
            self.measure(ack, log);
        }
        self.books.acknowledge(ack);
        self.loss.acknowledge(self.books.una(), segments);
        if let Some(sent) = fresh {
            self.sample_fresh(ack, sent, log);
        }
        segments
    }

    /// The order to hold growth ends with a segment that was sent since; returns when the last of the acknowledged
    /// segments that give a sample was sent.
    #[cold]
    #[inline(never)]
    fn note_fresh(&mut self, segments: u64) -> Option<Instant> {
        let mut fresh = None;
        for o in self.books.outstanding().take(segments as usize) {
            if self.path.hold_growth.is_some_and(|since| o.sent() >= since) {
                self.path.hold_growth = None;
            }
            if !o.retransmitted() || self.path.sample_retransmitted {
                fresh = Some(o.sent());
            }
        }
        fresh
    }

    /// The sample for which an RTT restart is waiting.
    #[cold]
    #[inline(never)]
    fn sample_fresh(&mut self, ack: Seq, sent: Instant, log: &mut impl Log) {
        let timestamps = self.config.rtt_sampling == RttSampling::Timestamps;
        if !timestamps && self.path.sample_since.is_some_and(|since| sent >= since) {
            self.path.sample_since = None;
            self.path.sample_retransmitted = false;
            if self.path.timed.is_some_and(|(seq, _)| seq < ack) {
                self.path.timed = None;
            }
            self.sample(self.now.since(sent), sent, log);
        }
    }

    /// The usual processing of an ACK of new data: advance, sample, re-arm. Returns how many segments it
    /// covers.
    pub(crate) fn accept(&mut self, ack: &Ack, log: &mut impl Log) -> u64 {
        let segments = self.accept_keeping_timer(ack, log);
        self.restart_timer();
        segments
    }

    /// The same without restarting the timer.
    #[inline(always)]
    pub(crate) fn accept_keeping_timer(&mut self, ack: &Ack, log: &mut impl Log) -> u64 {
        let first = self.books.una();
        let segments = self.advance(ack.ack, log);
        if self.loss.dupacks() > 0 {
            self.loss.set_dupacks(0);
            self.duplicates_explained(first, ack, log);
        }
        match (self.config.rtt_sampling, ack.echo) {
            (RttSampling::Timestamps, Some(echo)) => {
                if echo >= self.path.rtt_epoch {
                    self.sample(self.now.since(echo), echo, log);
                }
            }
            _ => {
                if let Some((seq, sent)) = self.path.timed {
                    if ack.ack > seq {
                        self.path.timed = None;
                        self.sample(self.now.since(sent), sent, log);
                    }
                }
            }
        }
        segments
    }

    // ---- transmission ---------------------------------------------------

    /// Creates segment `seq` for transmission and updates the state.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, seq: Seq) -> Segment {
        let idle = !self.books.is_outstanding();
        let retransmission = seq < self.books.max();
        if retransmission {
            self.books.sent_again(seq, self.now);
            if self.interests.includes(Interests::RETRANSMISSIONS) {
                self.note_retransmission(seq);
            }
            if self.config.karn_every_retransmission
                && self.path.timed.is_some_and(|(timed, _)| timed == seq)
            {
                // Karn: an ACK could belong to either transmission.
                self.path.timed = None;
            }
        } else {
            let limited = self.loss.dupacks() > 0 && !self.loss.in_fast_recovery();
            self.books.sent_new(seq, self.now, limited);
            if self.path.timed.is_none() {
                self.path.timed = Some((seq, self.now));
            }
        }
        if !self.timers.is_armed() || idle {
            self.restart_timer();
        }
        let bytes = if seq == 0 {
            self.config.syn_bytes
        } else {
            self.config.segment_bytes
        };
        let (ecn, cwr) = if self.config.ecn {
            self.mark(seq > 0 && !retransmission)
        } else {
            (EcnCodepoint::NotCapable, false)
        };
        Segment {
            seq,
            bytes,
            retransmission,
            sent: self.now,
            content: Content::Data,
            push: self.peer.push,
            ecn,
            cwr,
            echo_ms: self.peer.stamp_ms(),
            offset: 0,
            option: None,
        }
    }
}
