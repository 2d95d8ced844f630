//! Segments that a node keeps until the mobile node has acknowledged them, and the round-trip time between the node and
//! the mobile node.

use std::collections::BTreeMap;

use midflight_control::jiffies::Jiffies;
use midflight_control::part::{refuse, KnobError, PartInfo};
use midflight_control::rtt::{EstimatorKind, Rto, RtoConfig, Sampled};
use midflight_tcp::{Ack, Segment};
use midflight_units::{Duration, Instant, Seq};

/// A segment number and bytes of that segment that came before; for an ACK, the first byte that is not acknowledged.
pub(super) type Edge = (Seq, u16);

/// Where a segment begins.
pub(super) fn begins(segment: &Segment) -> Edge {
    (segment.seq, segment.offset)
}

/// What an ACK acknowledges up to.
pub(super) fn acknowledges(ack: &Ack) -> Edge {
    (ack.ack, ack.offset)
}

/// A segment that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) segment: Segment,
    /// When it arrived.
    pub(super) came: Instant,
    /// It has not been handed to the link yet.
    pub(super) is_held: bool,
    /// When it was last handed to the link.
    pub(super) handed: Instant,
    /// How many times the node has retransmitted it.
    pub(super) resent: u32,
    /// The sender has retransmitted it, or it came after a higher one: the node leaves its recovery to the sender.
    pub(super) by_sender: bool,
}

impl Kept {
    /// The segment as it goes again, its timestamp later by the time that it stayed: with its first one, the
    /// receiver would discard it if something newer has come in order (PAWS, RFC 7323 section 5).
    pub(super) fn stamped(&self, now: Instant) -> Segment {
        Segment {
            sent: self.segment.sent + now.since(self.came),
            ..self.segment
        }
    }
}

/// The cached segments, at most `most`.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    kept: BTreeMap<Edge, Kept>,
    /// Where the highest segment that has passed begins.
    highest: Option<Edge>,
    most: usize,
}

impl Cache {
    pub(super) fn new(most: usize) -> Self {
        Self {
            kept: BTreeMap::new(),
            highest: None,
            most,
        }
    }

    /// Caches a passing segment if there is room. One that has passed before, or comes after a higher one, is left to
    /// the sender.
    pub(super) fn keep(&mut self, now: Instant, segment: &Segment) {
        let begins = begins(segment);
        let by_sender = self.highest.is_some_and(|highest| begins <= highest);
        self.highest = self.highest.max(Some(begins));
        if let Some(kept) = self.kept.get_mut(&begins) {
            (kept.segment, kept.by_sender) = (*segment, true);
            (kept.came, kept.handed) = (now, now);
            return;
        }
        if self.kept.len() < self.most {
            let kept = Kept {
                segment: *segment,
                came: now,
                is_held: false,
                handed: now,
                resent: 0,
                by_sender,
            };
            self.kept.insert(begins, kept);
        }
    }

    /// Removes acknowledged segments. Returns when the last of them was handed to the link if all of them were sent
    /// only once: behind a retransmission an ACK is late and gives no sample.
    pub(super) fn forget_below(&mut self, acknowledged: Edge) -> Option<Instant> {
        let rest = self.kept.split_off(&acknowledged);
        let below = std::mem::replace(&mut self.kept, rest);
        let once = |kept: &Kept| kept.resent == 0 && !kept.by_sender;
        let last = below.values().next_back()?.handed;
        below.values().all(once).then_some(last)
    }

    pub(super) fn get_mut(&mut self, begins: Edge) -> Option<&mut Kept> {
        self.kept.get_mut(&begins)
    }

    /// Where the highest segment that has passed begins.
    pub(super) fn highest(&self) -> Option<Edge> {
        self.highest
    }

    /// The first cached segment.
    pub(super) fn first_mut(&mut self) -> Option<&mut Kept> {
        self.kept.values_mut().next()
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Kept> {
        self.kept.values_mut()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }
}

/// The retransmission timer for the path to the mobile node: mean plus four mean deviations, like TCP's, with its own
/// lower bound.
#[derive(Clone, Debug)]
pub(super) struct LocalTimer {
    rto: Rto,
    due: Option<Instant>,
}

/// The timeout before the first sample (RFC 6298 (2.1)).
const INITIAL: Duration = Duration::from_secs(1);
/// The longest local timeout.
const LONGEST: Duration = Duration::from_secs(60);

impl LocalTimer {
    /// A timer with this lower bound.
    pub(super) fn new(least: Duration) -> Self {
        let estimator = EstimatorKind::Rfc6298 {
            granularity: Duration::from_millis(1),
        };
        let config = RtoConfig {
            estimator,
            initial: INITIAL,
            min: least,
            max: LONGEST,
            clock: Jiffies::EXACT,
        };
        Self {
            rto: Rto::new(config),
            due: None,
        }
    }

    /// New data is acknowledged. `handed` is when it was handed to the link, if that gives an RTT sample. Only a sample
    /// ends the back-off (RFC 6298 (5.5) to (5.7), Karn's algorithm): without it, a round trip that has become longer than
    /// the timeout is never measured, because every segment has been sent again by then.
    pub(super) fn on_new_ack(&mut self, now: Instant, handed: Option<Instant>) {
        if let Some(handed) = handed {
            self.rto.sample(&Sampled {
                rtt: now.since(handed),
                sent: handed,
                per_window: 1,
                una: 0,
                nxt: 0,
            });
            self.rto.end_back_off();
        }
    }

    /// Ends the back-off without a sample.
    pub(super) fn end_back_off(&mut self) {
        self.rto.end_back_off();
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Whether the timer expires now.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// When the first of some timers expires.
    pub(super) fn earliest<'a>(timers: impl Iterator<Item = &'a Self>) -> Option<Instant> {
        timers.filter_map(Self::due).min()
    }

    /// Parses a knob that is a lower bound.
    pub(super) fn least(info: &PartInfo, name: &str, value: &str) -> Result<Duration, KnobError> {
        let time = value.parse().ok();
        let time = time.filter(|&time| time >= Duration::from_millis(1));
        time.ok_or_else(|| refuse(info, name, value))
    }

    pub(super) fn restart(&mut self, now: Instant) {
        self.due = Some(now + self.rto.timeout());
    }

    /// Starts the timer unless it runs.
    pub(super) fn start(&mut self, now: Instant) {
        if self.due.is_none() {
            self.restart(now);
        }
    }

    pub(super) fn stop(&mut self) {
        self.due = None;
    }

    /// The timer has expired: the next timeout is twice as long.
    pub(super) fn back_off(&mut self, now: Instant) {
        self.rto.back_off();
        self.restart(now);
    }
}
