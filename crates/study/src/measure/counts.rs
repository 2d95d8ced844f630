//! Measurements of a long-lived flow, interval by interval.

use educe::Educe;
use midflight_control::loss::LossCause;
use midflight_sim::{Digest, DropCause, Endpoints, Event, FlowId, LinkId, Observer, Payload};
use midflight_tcp::SenderEvent;
use midflight_units::{Instant, Ring, Seq};

use super::Measure;
use crate::setup::{link_id, Mark, Setup};

/// The true cause of a suspected loss, or the cause according to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A full queue dropped the segment.
    Congestion,
    /// It was lost on the radio link.
    Wireless,
    /// It was late.
    Reordering,
}

impl Cause {
    /// All causes.
    pub const ALL: [Self; 3] = [Self::Congestion, Self::Wireless, Self::Reordering];

    /// Its name in columns.
    pub fn name(self) -> &'static str {
        match self {
            Self::Congestion => "congestion",
            Self::Wireless => "wireless",
            Self::Reordering => "reordering",
        }
    }
}

/// The measurements of one run in one interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowRow {
    /// Start of the interval.
    pub from: Instant,
    /// Its end.
    pub until: Instant,
    /// Data segments newly acknowledged, without the SYN (segment 0).
    pub acked: u64,
    /// Segments sent, including retransmissions.
    pub sent: u64,
    /// Retransmissions sent.
    pub rexmits: u64,
    /// Timeouts.
    pub timeouts: u32,
    /// Timeouts after which a segment sent before them was acknowledged: nothing had been lost.
    pub spurious_timeouts: u32,
    /// Series of timeouts of one segment that the sender detected as spurious. A series counts once, in the
    /// interval of its last timeout.
    pub detected_timeouts: u32,
    /// Fast retransmits: entries into fast recovery that retransmit a segment. A recovery that ends and is entered
    /// again while the retransmissions are on their way sends nothing again, and does not count.
    pub fast_rexmits: u32,
    /// Fast retransmits of a segment whose last copy was not lost.
    pub false_fast_rexmits: u32,
    /// Fast retransmits that the sender detected as spurious.
    pub undone_fast_rexmits: u32,
    /// Data packets lost to a full queue.
    pub drops_queue: u64,
    /// Data packets that the discipline of a queue dropped before it was full, and those that it marked instead.
    pub drops_early: u64,
    /// See [`Self::drops_early`].
    pub marks: u64,
    /// Segments that nodes on the path sent themselves, and segments and ACKs that they did not forward.
    pub node_sent: u64,
    /// See [`Self::node_sent`].
    pub node_kept: u64,
    /// Data packets lost to a full queue at the wired link.
    pub drops_wired: u64,
    /// Data packets lost on the radio link.
    pub drops_radio: u64,
    /// Data packets lost because a link was down.
    pub drops_break: u64,
    /// First transmissions that arrived after a higher segment.
    pub reordered: u64,
    /// Suspected losses by true cause and by the sender's classification, both in the order of
    /// [`Cause::ALL`].
    pub confusion: [[u32; 3]; 3],
    /// Suspected losses followed by a timeout before any response, by cause.
    pub unanswered: [u32; 3],
    /// Packets of all flows handed to the wired link, and those that its queue dropped.
    pub wired_offered: u64,
    /// See [`Self::wired_offered`].
    pub wired_dropped: u64,
}

/// The index of a segment in an ascending list, and its value there.
fn find<T: Copy>(list: &Ring<(Seq, T)>, segment: Seq) -> Option<(usize, T)> {
    let place = list.partition_point(|one| one.0 < segment);
    let found = list.get(place).filter(|one| one.0 == segment);
    found.map(|one| (place, one.1))
}

/// Stores a value for a segment; it replaces an earlier value.
fn put<T: Copy>(list: &mut Ring<(Seq, T)>, (segment, option): (Seq, T)) {
    let place = list.partition_point(|one| one.0 < segment);
    match list.get_mut(place) {
        Some(one) if one.0 == segment => one.1 = option,
        _ => list.insert(place, (segment, option)),
    }
}

fn forget_below<T: Copy>(list: &mut Ring<(Seq, T)>, una: Seq) {
    while list.front().is_some_and(|one| one.0 < una) {
        list.pop();
    }
}

/// Measures one of several flows.
#[derive(Educe, Debug, Default)]
#[educe(Clone)]
pub(crate) struct FlowMetrics {
    row: FlowRow,
    una: Seq,
    /// Segments whose last transmission was lost, ascending, and why.
    lost: Ring<(Seq, Cause)>,
    /// The last transmission times of retransmitted segments, ascending.
    resent: Ring<(Seq, Instant)>,
    /// Fast recovery was entered and has not retransmitted anything yet.
    has_entered: bool,
    /// When the timer last expired.
    last_timeout: Instant,
    /// The suspected segment: the true cause, and the classified one.
    suspected: Option<(Seq, Cause, LossCause)>,
    /// The completed intervals.
    rows: Vec<FlowRow>,
    /// The packets offered to the wired link, and those dropped, at the end of the last of them.
    wired_before: (u64, u64),
}

/// The measured flow.
pub(crate) const WATCHED: usize = 0;
/// The wired link.
pub(crate) const WIRED: usize = 0;

impl FlowMetrics {
    /// The interval ends now; the next one begins.
    pub(crate) fn close(&mut self, until: Instant, offered: u64, dropped: u64) {
        let (offered_before, dropped_before) = self.wired_before;
        let row = FlowRow {
            until,
            wired_offered: offered - offered_before,
            wired_dropped: dropped - dropped_before,
            ..std::mem::take(&mut self.row)
        };
        self.rows.push(row);
        self.wired_before = (offered, dropped);
        self.row.from = until;
    }

    /// All intervals.
    pub(crate) fn take_rows(&mut self) -> Vec<FlowRow> {
        std::mem::take(&mut self.rows)
    }

    /// The interval that contains an instant.
    fn row_at(&mut self, at: Instant) -> &mut FlowRow {
        let earlier = self.rows.partition_point(|row| row.until <= at);
        self.rows.get_mut(earlier).unwrap_or(&mut self.row)
    }

    fn truth(&self, segment: Seq) -> Cause {
        find(&self.lost, segment).map_or(Cause::Reordering, |(_, cause)| cause)
    }

    fn answered(&mut self, taken_for: Cause) {
        if let Some((_, truth, _)) = self.suspected.take() {
            self.row.confusion[truth as usize][taken_for as usize] += 1;
        }
    }

    #[inline(always)]
    fn on_sender(&mut self, now: Instant, change: &SenderEvent<'_>) {
        match change {
            SenderEvent::LossJudged { segment, cause } => {
                self.suspected = Some((*segment, self.truth(*segment), *cause));
            }
            SenderEvent::Reordered(_) => self.answered(Cause::Reordering),
            SenderEvent::FastRetransmit(_) => self.has_entered = true,
            SenderEvent::RecoveryExit => self.has_entered = false,
            SenderEvent::Timeout(_) => {
                self.has_entered = false;
                self.row.timeouts += 1;
                self.last_timeout = now;
                if let Some((_, truth, _)) = self.suspected.take() {
                    self.row.unanswered[truth as usize] += 1;
                }
            }
            SenderEvent::SpuriousTimeout => {
                let at = self.last_timeout;
                self.row_at(at).detected_timeouts += 1;
            }
            SenderEvent::SpuriousRetransmit => self.row.undone_fast_rexmits += 1,
            _ => {}
        }
    }
}

/// Measures the first flow, interval by interval, and the load of all flows on the wired link.
#[derive(Educe, Debug, Default)]
#[educe(Clone)]
pub(crate) struct Intervals {
    flow: FlowMetrics,
}

impl Observer for Intervals {
    #[inline(always)]
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        if flow.index() == WATCHED {
            self.flow.note(now, event);
        }
    }
}

impl Measure for Intervals {
    type Rows = (Digest, Vec<FlowRow>);

    fn new(_setup: &Setup) -> Self {
        Self::default()
    }

    fn mark(&mut self, _mark: &Mark, at: Instant, now: Endpoints<'_>) {
        self.end(at, now);
    }

    fn end(&mut self, at: Instant, now: Endpoints<'_>) {
        let counts = now.link_counts(link_id(WIRED as u16));
        self.flow.close(at, counts.offered, counts.dropped_queue);
    }

    fn rows(&mut self, _setup: &Setup, digest: Digest) -> Self::Rows {
        (digest, self.flow.take_rows())
    }
}

impl FlowMetrics {
    /// An event of the flow.
    #[inline(always)]
    pub(crate) fn note(&mut self, now: Instant, event: &Event<'_>) {
        match event {
            Event::Sent(segment) if segment.has_data() => {
                self.row.sent += 1;
                if segment.retransmission {
                    self.on_sent_again(segment.seq, segment.sent);
                }
            }
            Event::AckArrived(ack) if ack.ack > self.una => {
                self.row.acked += ack.ack - self.una.max(1);
                self.una = ack.ack;
                forget_below(&mut self.lost, ack.ack);
                forget_below(&mut self.resent, ack.ack);
            }
            Event::Arrived {
                segment,
                overtaken: true,
                ..
            } if !segment.retransmission => self.row.reordered += 1,
            Event::Dropped {
                cause: DropCause::Node,
                ..
            } => self.row.node_kept += 1,
            Event::NodeSent {
                payload: Payload::Data(_),
                ..
            } => self.row.node_sent += 1,
            Event::Dropped {
                payload: Payload::Data(segment),
                sent,
                cause,
                link,
                ..
            } => self.on_drop(*segment, *sent, *cause, *link),
            Event::Marked {
                payload: Payload::Data(_),
                ..
            } => self.row.marks += 1,
            Event::TimeoutJudged {
                at, spurious: true, ..
            } => self.row_at(*at).spurious_timeouts += 1,
            Event::Sender(change) => self.on_sender(now, change),
            _ => {}
        }
    }

    /// A retransmission of a segment, which was sent at `sent`.
    #[inline(never)]
    fn on_sent_again(&mut self, segment: Seq, sent: Instant) {
        self.row.rexmits += 1;
        if let Some((seq, _, taken)) = self.suspected {
            if seq == segment {
                self.answered(match taken {
                    LossCause::Congestion => Cause::Congestion,
                    LossCause::Wireless => Cause::Wireless,
                });
            }
        }
        put(&mut self.resent, (segment, sent));
        let lost = find(&self.lost, segment);
        if let Some((place, _)) = lost {
            self.lost.remove(place, place + 1);
        }
        if std::mem::take(&mut self.has_entered) {
            self.row.fast_rexmits += 1;
            self.row.false_fast_rexmits += u32::from(lost.is_none());
        }
    }

    /// The loss of a segment that was sent at `sent`.
    #[inline(never)]
    fn on_drop(&mut self, segment: Seq, sent: Instant, cause: DropCause, link: LinkId) {
        let count = match cause {
            DropCause::Radio => &mut self.row.drops_radio,
            DropCause::Queue => &mut self.row.drops_queue,
            DropCause::Early => &mut self.row.drops_early,
            DropCause::Break => &mut self.row.drops_break,
            // The node is responsible for it.
            DropCause::Node => return,
        };
        *count += 1;
        let wired = cause == DropCause::Queue && link.index() == WIRED;
        self.row.drops_wired += u64::from(wired);
        let cause = match cause {
            DropCause::Radio => Cause::Wireless,
            DropCause::Queue | DropCause::Early | DropCause::Break | DropCause::Node => {
                Cause::Congestion
            }
        };
        // Lost copies of a segment that has arrived or was retransmitted since are irrelevant.
        let resent = find(&self.resent, segment);
        let is_last = resent.is_none_or(|(_, last)| last == sent);
        if segment >= self.una && is_last {
            put(&mut self.lost, (segment, cause));
        }
    }
}
