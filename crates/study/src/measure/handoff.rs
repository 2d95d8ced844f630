//! Measurements of a handoff. The definitions are those of the reference
//! data: `docs/ns2-behaviour.md`, section "Columns".

use std::collections::VecDeque;
use std::sync::Arc;

use educe::Educe;
use midflight_sim::{Digest, DropCause, Endpoints, Event, FlowId, Observer, Payload};
use midflight_tcp::{Sender, SenderEvent};
use midflight_units::{Duration, Instant, Seq};

use super::{Measure, Measured};
use crate::setup::{Mark, Setup};

/// After the make, counting stops at the first of these intervals in which the run is complete.
const POLL: Duration = Duration::from_millis(20);

/// The phase of the sender when the handoff starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderPhase {
    /// Slow start, nothing lost.
    SlowStart,
    /// Slow start, with a loss that the sender has not detected yet.
    Overshoot,
    /// Fast recovery.
    FastRecovery,
    /// The timer has expired and no ACK for new data has come since.
    RtoRecovery,
    /// Congestion avoidance.
    CongestionAvoidance,
}

impl SenderPhase {
    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::SlowStart => "slow-start",
            Self::Overshoot => "overshoot",
            Self::FastRecovery => "fast-recovery",
            Self::RtoRecovery => "rto-recovery",
            Self::CongestionAvoidance => "congestion-avoidance",
        }
    }
}

/// The measurements of one flow in one run. Durations count from the handoff (the break, if there
/// is one). Segment and ACK numbers are ns-2's: an ACK's number is the last segment in order, -1
/// before any. Counts of a flow end when its own times are measured, even if other flows are not
/// finished.
#[derive(Clone, Debug, Default)]
pub struct HandoffRow {
    /// When the handoff starts.
    pub at: Instant,
    /// Number of the flow: the moving flows from 0, then the residents.
    pub flow: u32,
    /// It is a resident of the new link and does not move.
    pub resident: bool,
    /// Until `packets` segments never sent before the handoff are acknowledged.
    pub t_new: Option<Duration>,
    /// As `t_new`, counted from the highest segment sent at the make.
    pub t_new_make: Option<Duration>,
    /// Until the ACK number has advanced by `packets`.
    pub t_ack: Option<Duration>,
    /// Until the ACK covers `packets` of the segments whose first arrival since
    /// the handoff was over the new path. A resident's path is not new.
    pub t_newpath: Option<Duration>,
    /// `t_new` for the further counts of packets.
    pub t_new_extra: Vec<Option<Duration>>,
    /// Timeouts that doubled the back-off: all timeouts until the back-off stops growing at the
    /// maximum RTO.
    pub nrto: u32,
    /// The spurious ones among them.
    pub nspur: u32,
    /// All timeouts.
    pub timeouts: u32,
    /// The first of the counted timeouts.
    pub first_rto: Option<Duration>,
    /// When each counted timeout occurred, and whether it was spurious.
    pub rto_times: Vec<(Instant, bool)>,
    /// Data packets lost (the SYN counts).
    pub drops_data: u32,
    /// Packets lost, including ACKs.
    pub drops_all: u32,
    /// Data packets lost to a full queue.
    pub drops_queue: u32,
    /// Data packets lost to the break.
    pub drops_break: u32,
    /// Retransmissions sent.
    pub rexmits: u32,
    /// New segments sent between break and make.
    pub sent_in_outage: u32,
    /// First transmissions that arrived after a higher segment.
    pub reordered: u32,
    /// Fast recoveries entered.
    pub fast_rexmits: u32,
    /// Fast recoveries entered for a segment of which no copy was lost.
    pub false_fast_rexmits: u32,
    /// How late losses are detected: the longest time from the loss of a data segment to its next
    /// transmission. A loss before the handoff counts if the segment was retransmitted after it; a
    /// loss of a segment that is already acknowledged does not count.
    pub loss_wait_max: Option<Duration>,
    /// The mean of this time over all losses.
    pub loss_wait_mean: Option<Duration>,
    /// Losses that only the timer detected: the segment had not been retransmitted when it expired.
    pub losses_timed_out: u32,
    /// Smallest slow-start threshold after the handoff.
    pub ssthresh_min: f64,
    /// Smallest congestion window after the handoff.
    pub cwnd_min: f64,
    /// The sender was in RTO recovery at the make.
    pub in_rto_recovery_at_make: bool,
    /// From the make to the next retransmission, if in RTO recovery at the make.
    pub unused: Option<Duration>,
    /// Orders that policies gave.
    pub orders: u32,
    /// Congestion window at the handoff.
    pub cwnd: f64,
    /// Slow-start threshold at the handoff.
    pub ssthresh: f64,
    /// Segments outstanding at the handoff.
    pub flight: u64,
    /// Timeout with back-off at the handoff.
    pub rto: Duration,
    /// Highest ACK number at the handoff.
    pub hiack: i64,
    /// Highest segment sent at the handoff.
    pub maxseq: i64,
    /// Duplicate ACKs counted at the handoff.
    pub dupacks: u32,
    /// Back-off factor at the handoff.
    pub backoff: u32,
    /// Phase at the handoff.
    pub phase: Option<SenderPhase>,
    /// Segments newly acknowledged in the window after the handoff; none without a window.
    pub acked_window: Option<u64>,
    /// Digest of the run.
    pub digest: Digest,
}

/// A set of sequence numbers that drops numbers below a rising edge.
#[derive(Educe, Debug, Default)]
#[educe(Clone)]
struct SeqSet {
    base: Seq,
    words: VecDeque<u64>,
}

impl SeqSet {
    /// Adds a number, unless it is below the edge.
    #[inline]
    fn insert(&mut self, seq: Seq) {
        let Some(at) = seq.checked_sub(self.base) else {
            return;
        };
        let word = (at / 64) as usize;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (at % 64);
    }

    fn contains(&self, seq: Seq) -> bool {
        seq.checked_sub(self.base)
            .and_then(|at| {
                self.words
                    .get((at / 64) as usize)
                    .map(|w| w >> (at % 64) & 1 == 1)
            })
            .unwrap_or(false)
    }

    fn forget_below(&mut self, seq: Seq) {
        while self.base + 64 <= seq && self.words.pop_front().is_some() {
            self.base += 64;
        }
        if self.words.is_empty() {
            self.base = self.base.max(seq / 64 * 64);
        }
    }
}

/// The segments that have arrived, from a first one on.
#[derive(Educe, Debug, Default)]
#[educe(Clone)]
struct Arrivals {
    base: Seq,
    words: Vec<u64>,
}

impl Arrivals {
    /// Clears the set; segments far below `seq` will count as new each time.
    fn restart(&mut self, seq: Seq) {
        self.words.clear();
        self.base = seq / 64 * 64;
    }

    /// A segment arrives; returns whether it is new.
    #[inline]
    fn insert(&mut self, seq: Seq) -> bool {
        let Some(at) = seq.checked_sub(self.base) else {
            return true;
        };
        let (word, bit) = ((at / 64) as usize, 1 << (at % 64));
        if let Some(word) = self.words.get_mut(word) {
            let new = *word & bit == 0;
            *word |= bit;
            return new;
        }
        self.extend(word, bit);
        true
    }

    #[cold]
    fn extend(&mut self, word: usize, bit: u64) {
        self.words.resize(word, 0);
        self.words.push(bit);
    }
}

/// Lost segments that have not been retransmitted: number, instant, and whether the timer has
/// expired since.
#[derive(Educe, Debug, Default)]
#[educe(Clone)]
struct Lost(VecDeque<(Seq, Instant, bool)>);

impl Lost {
    /// A segment is lost while `una` is the first unacknowledged one: the segments below it have
    /// arrived.
    fn add(&mut self, seq: Seq, now: Instant, una: Seq) {
        while self.0.front().is_some_and(|lost| lost.0 < una) {
            self.0.pop_front();
        }
        if seq >= una {
            self.0.push_back((seq, now, false));
        }
    }

    /// The segment is retransmitted; returns when it was lost, if it was.
    fn take(&mut self, seq: Seq, dropped: &SeqSet) -> Option<Instant> {
        let first = self.0.front()?;
        if first.0 == seq {
            return self.0.pop_front().map(|lost| lost.1);
        }
        if !dropped.contains(seq) {
            return None;
        }
        let at = self.0.iter().position(|lost| lost.0 == seq)?;
        self.0.remove(at).map(|lost| lost.1)
    }

    /// The timer has expired; returns how many lost segments have not been counted before.
    fn time_out(&mut self, una: Seq) -> u32 {
        let mut count = 0;
        for lost in self.0.iter_mut().filter(|lost| lost.0 >= una && !lost.2) {
            lost.2 = true;
            count += 1;
        }
        count
    }
}

/// Everything that is counted after the handoff.
#[derive(Educe, Debug, Default)]
#[educe(Clone)]
struct After {
    row: HandoffRow,
    packets: u64,
    extra: Vec<u64>,
    /// Zero without a window.
    window: Duration,
    make_at: Instant,
    made: bool,
    /// One past the highest segment outstanding at the make.
    max_at_make: Seq,
    stalled_at_make: bool,
    /// Counting ends here once the run is complete.
    freeze: Instant,
    /// Segments seen since the handoff, and those first seen over the new path.
    seen: Arrivals,
    new_path: Vec<Seq>,
    /// ACK numbers up to this do not complete any measured time.
    next_goal: i64,
    /// Each advance of the ACK since the handoff.
    advances: Vec<(Duration, Seq)>,
    /// Waiting times of lost segments until their retransmission.
    loss_waits: (u64, u64),
}

/// Measures one flow through a handoff.
#[derive(Educe, Debug, Default)]
#[educe(Clone)]
struct HandoffMetrics {
    una: Seq,
    max: Seq,
    stalled: bool,
    backoff: u32,
    dropped: SeqSet,
    highest_dropped: Option<Seq>,
    lost: Lost,
    begun: bool,
    after: After,
}

impl HandoffMetrics {
    /// The handoff starts now, with this state of the sender.
    fn begin(&mut self, measured: &Measured, mark: &Mark, sender: &Sender, at: Instant) {
        let Measured::Handoff {
            packets,
            extra,
            window,
        } = measured
        else {
            return;
        };
        let view = sender.view();
        let phase = if view.in_rto_recovery {
            SenderPhase::RtoRecovery
        } else if view.in_fast_recovery {
            SenderPhase::FastRecovery
        } else if view.cwnd < view.ssthresh {
            let lost = self.highest_dropped.is_some_and(|seq| seq >= view.snd_una);
            if lost {
                SenderPhase::Overshoot
            } else {
                SenderPhase::SlowStart
            }
        } else {
            SenderPhase::CongestionAvoidance
        };
        self.backoff = sender.backoff();
        let row = HandoffRow {
            at,
            t_new_extra: vec![None; extra.len()],
            ssthresh_min: view.ssthresh,
            cwnd_min: view.cwnd,
            cwnd: view.cwnd,
            ssthresh: view.ssthresh,
            flight: view.flight_size(),
            rto: view.rto,
            hiack: view.snd_una as i64 - 1,
            maxseq: view.snd_max as i64 - 1,
            dupacks: sender.dupacks(),
            backoff: sender.backoff(),
            phase: Some(phase),
            acked_window: window.map(|_| 0),
            ..HandoffRow::default()
        };
        self.begun = true;
        let after = &mut self.after;
        after.row = row;
        after.packets = *packets;
        after.extra.clear();
        after.extra.extend_from_slice(extra);
        after.window = window.unwrap_or(Duration::ZERO);
        after.make_at = mark.make;
        after.made = false;
        after.max_at_make = 0;
        after.stalled_at_make = false;
        after.freeze = Instant::NEVER;
        // Checked at the first ACK.
        after.next_goal = i64::MIN;
        after.seen.restart(view.snd_una);
        after.new_path.clear();
        after.advances.clear();
        after.loss_waits = (0, 0);
    }

    /// Whether everything has been measured once no event before `next` is left.
    fn finished(&self, next: Instant) -> bool {
        let after = &self.after;
        self.begun
            && next >= after.freeze
            && next >= after.row.at + after.window
            && after.row.t_new_extra.iter().all(Option::is_some)
    }

    /// The measurements, at the end.
    fn take_row(&mut self) -> HandoffRow {
        self.begun = false;
        self.after.row.t_newpath = self.after.newpath_time();
        let (losses, waits) = self.after.loss_waits;
        self.after.row.loss_wait_mean = waits.checked_div(losses).map(Duration::from_nanos);
        std::mem::take(&mut self.after.row)
    }
}

impl After {
    fn on_ack(&mut self, now: Instant, una: Seq) {
        let since = now.since(self.row.at);
        if self.freeze == Instant::NEVER {
            self.advances.push((since, una));
        }
        if since < self.window {
            // The SYN carries no data.
            let acked = una as i64 - (self.row.hiack + 1).max(1);
            self.row.acked_window = u64::try_from(acked).ok();
        }
        if una as i64 > self.next_goal {
            self.reach(now, una);
        }
    }

    /// Checks whether the ACK number has reached the end of a measured time.
    #[cold]
    fn reach(&mut self, now: Instant, una: Seq) {
        let since = now.since(self.row.at);
        self.next_goal = i64::MAX;
        let mut reach = |slot: &mut Option<Duration>, number: i64| {
            if slot.is_some() {
                return;
            }
            if una as i64 > number {
                *slot = Some(since);
            } else {
                self.next_goal = self.next_goal.min(number);
            }
        };
        let packets = self.packets as i64;
        reach(&mut self.row.t_new, self.row.maxseq + packets);
        reach(&mut self.row.t_ack, self.row.hiack + packets);
        for (slot, &n) in self.row.t_new_extra.iter_mut().zip(&self.extra) {
            reach(slot, self.row.maxseq + n as i64);
        }
        if self.made {
            reach(
                &mut self.row.t_new_make,
                self.max_at_make as i64 - 1 + packets,
            );
            if self.row.t_new_make.is_some() && self.freeze == Instant::NEVER {
                let polls = now.since(self.make_at).as_nanos() / POLL.as_nanos() + 1;
                self.freeze = self.make_at + POLL * polls;
            }
        }
    }

    /// A lost segment is retransmitted this long after its loss.
    fn on_resent(&mut self, wait: Duration) {
        self.loss_waits.0 += 1;
        self.loss_waits.1 += wait.as_nanos();
        self.row.loss_wait_max = self.row.loss_wait_max.max(Some(wait));
    }

    /// A segment arrives; its first arrival since the handoff determines its path.
    fn on_arrival(&mut self, seq: Seq, over_new_path: bool) {
        if self.seen.insert(seq) && over_new_path {
            self.new_path.push(seq);
        }
    }

    /// When the ACK first covered `packets` of the segments that arrived over the new path.
    fn newpath_time(&mut self) -> Option<Duration> {
        let last = usize::try_from(self.packets - 1).ok()?;
        if last >= self.new_path.len() {
            return None;
        }
        let segment = *self.new_path.select_nth_unstable(last).1;
        self.advances
            .iter()
            .find(|(_, una)| *una > segment)
            .map(|(time, _)| *time)
    }

    fn on_sent(&mut self, now: Instant, retransmission: bool) {
        if retransmission {
            self.row.rexmits += 1;
            if self.made && self.stalled_at_make && self.row.unused.is_none() {
                self.row.unused = Some(now.since(self.make_at));
            }
        } else if !self.made {
            self.row.sent_in_outage += 1;
        }
    }
}

impl Observer for HandoffMetrics {
    // The kind of an event is known at compile time where it is reported: inlined, code for other
    // kinds is removed.
    #[inline(always)]
    fn record(&mut self, now: Instant, _flow: FlowId, event: &Event<'_>) {
        let after = (self.begun && now < self.after.freeze).then_some(&mut self.after);
        match event {
            Event::Sent(segment) => {
                self.max = self.max.max(segment.seq + 1);
                if let Some(a) = after {
                    if segment.has_data() {
                        a.on_sent(now, segment.retransmission);
                    }
                }
                if segment.retransmission {
                    let lost = self.lost.take(segment.seq, &self.dropped);
                    if let (Some(lost), true) = (lost, self.begun && now < self.after.freeze) {
                        self.after.on_resent(now.since(lost));
                    }
                }
            }
            Event::AckArrived(ack) if ack.ack > self.una && ack.ack <= self.max => {
                self.una = ack.ack;
                self.stalled = false;
                self.dropped.forget_below(ack.ack);
                if self.begun {
                    self.after.on_ack(now, ack.ack);
                }
            }
            Event::Arrived {
                segment,
                rerouted,
                overtaken,
                ..
            } => {
                if let Some(a) = after {
                    a.on_arrival(segment.seq, *rerouted);
                    a.row.reordered += u32::from(*overtaken && !segment.retransmission);
                }
            }
            Event::Dropped { payload, cause, .. } => {
                if let Payload::Data(seq) = *payload {
                    self.dropped.insert(seq);
                    self.highest_dropped = self.highest_dropped.max(Some(seq));
                    self.lost.add(seq, now, self.una);
                    if let Some(a) = after {
                        a.row.drops_data += 1;
                        a.row.drops_all += 1;
                        match cause {
                            DropCause::Queue => a.row.drops_queue += 1,
                            DropCause::Break => a.row.drops_break += 1,
                            // The links of this question are drop-tail.
                            DropCause::Early | DropCause::Radio | DropCause::Node => {}
                        }
                    }
                } else if let Some(a) = after {
                    a.row.drops_all += 1;
                }
            }
            Event::Make => {
                if let Some(a) = after {
                    a.made = true;
                    a.max_at_make = self.max;
                    a.next_goal = i64::MIN;
                    a.stalled_at_make = self.stalled;
                    a.row.in_rto_recovery_at_make = self.stalled;
                }
            }
            Event::TimeoutJudged {
                at, spurious: true, ..
            } => {
                if let Some(a) = after {
                    if let Some(entry) = a.row.rto_times.iter_mut().find(|(t, _)| t == at) {
                        entry.1 = true;
                        a.row.nspur += 1;
                    }
                }
            }
            Event::Sender(change) => match change {
                SenderEvent::Timeout(_) => {
                    self.stalled = true;
                    if let Some(a) = after {
                        a.row.timeouts += 1;
                        a.row.losses_timed_out += self.lost.time_out(self.una);
                    }
                }
                SenderEvent::Backoff(backoff) => {
                    let doubled = *backoff > self.backoff;
                    self.backoff = *backoff;
                    if let (true, Some(a)) = (doubled, after) {
                        a.row.nrto += 1;
                        a.row.first_rto.get_or_insert(now.since(a.row.at));
                        a.row.rto_times.push((now, false));
                    }
                }
                SenderEvent::FastRetransmit(seq) => {
                    if let Some(a) = after {
                        a.row.fast_rexmits += 1;
                        a.row.false_fast_rexmits += u32::from(!self.dropped.contains(*seq));
                    }
                }
                SenderEvent::Cwnd { to, .. } => {
                    if let Some(a) = after {
                        a.row.cwnd_min = a.row.cwnd_min.min(*to);
                    }
                }
                SenderEvent::Ssthresh { to, .. } => {
                    if let Some(a) = after {
                        a.row.ssthresh_min = a.row.ssthresh_min.min(*to);
                    }
                }
                SenderEvent::Order { .. } => {
                    if let Some(a) = after {
                        a.row.orders += 1;
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }
}

/// Measures a run with one flow, the common case, without checks of the flow number.
#[derive(Educe, Debug)]
#[educe(Clone)]
pub(crate) struct OneHandoff {
    measured: Arc<Measured>,
    flow: HandoffMetrics,
}

/// Measures a run with several flows.
#[derive(Educe, Debug)]
#[educe(Clone)]
pub(crate) struct EachHandoff {
    measured: Arc<Measured>,
    flows: Vec<HandoffMetrics>,
}

impl Observer for OneHandoff {
    // Inlined for the same reason as its parts.
    #[inline(always)]
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        self.flow.record(now, flow, event);
    }
}

impl Observer for EachHandoff {
    #[inline(always)]
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        if matches!(event, Event::Make) {
            // It is reported for flow 0, and concerns all flows.
            for metrics in &mut self.flows {
                metrics.record(now, flow, event);
            }
        } else {
            self.flows[flow.index()].record(now, flow, event);
        }
    }
}

/// The row of a flow.
fn row(setup: &Setup, digest: Digest, flow: usize, metrics: &mut HandoffMetrics) -> HandoffRow {
    HandoffRow {
        flow: flow as u32,
        resident: setup.flows[flow].stays.is_some(),
        digest,
        ..metrics.take_row()
    }
}

impl Measure for OneHandoff {
    type Rows = Vec<HandoffRow>;

    fn new(setup: &Setup) -> Self {
        Self {
            measured: setup.measured.clone(),
            flow: HandoffMetrics::default(),
        }
    }

    fn mark(&mut self, mark: &Mark, at: Instant, now: Endpoints<'_>) {
        for sender in now.senders() {
            self.flow.begin(&self.measured, mark, sender, at);
        }
    }

    #[inline(always)]
    fn is_done(&self, next: Instant) -> bool {
        self.flow.finished(next)
    }

    fn rows(&mut self, setup: &Setup, digest: Digest) -> Self::Rows {
        vec![row(setup, digest, 0, &mut self.flow)]
    }
}

impl Measure for EachHandoff {
    type Rows = Vec<HandoffRow>;

    fn new(setup: &Setup) -> Self {
        Self {
            measured: setup.measured.clone(),
            flows: vec![HandoffMetrics::default(); setup.flows.len()],
        }
    }

    fn mark(&mut self, mark: &Mark, at: Instant, now: Endpoints<'_>) {
        for (flow, sender) in self.flows.iter_mut().zip(now.senders()) {
            flow.begin(&self.measured, mark, sender, at);
        }
    }

    fn is_done(&self, next: Instant) -> bool {
        self.flows.iter().all(|flow| flow.finished(next))
    }

    fn rows(&mut self, setup: &Setup, digest: Digest) -> Self::Rows {
        let flows = self.flows.iter_mut().enumerate();
        flows
            .map(|(number, metrics)| row(setup, digest, number, metrics))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_segment_waits_until_it_is_sent_again() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut lost = Lost::default();
        let mut dropped = SeqSet::default();
        for seq in [5, 7, 8, 9] {
            dropped.insert(seq);
        }
        for (seq, ms) in [(7, 1), (8, 2), (9, 3)] {
            lost.add(seq, at(ms), 7);
        }
        // Acknowledged because another copy has arrived: not missing.
        lost.add(5, at(4), 7);
        assert_eq!(lost.take(5, &dropped), None);
        assert_eq!(lost.take(8, &dropped), Some(at(2)));
        assert_eq!(lost.take(8, &dropped), None, "once");
        assert_eq!(lost.time_out(8), 1, "9; 7 has arrived another way");
        assert_eq!(lost.time_out(8), 0, "once");
        // Its retransmission is lost as well: another loss.
        assert_eq!(lost.take(9, &dropped), Some(at(3)));
        lost.add(9, at(10), 9);
        assert_eq!(lost.time_out(9), 1);
        assert_eq!(lost.take(9, &dropped), Some(at(10)));
    }

    #[test]
    fn a_sequence_set_forgets_below_its_edge_only() {
        let mut set = SeqSet::default();
        set.forget_below(1000);
        for seq in [1000, 1003, 1300] {
            set.insert(seq);
        }
        set.forget_below(1200);
        assert!(!set.contains(1000) && set.contains(1300) && !set.contains(1301));
        set.insert(5);
        assert!(!set.contains(5), "below the edge");
    }
}
