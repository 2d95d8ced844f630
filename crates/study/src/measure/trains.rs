//! A flow's estimates of a path from trains, and the true values.

use midflight_control::estimate::Estimate;
use midflight_control::Measure as Measurement;
use midflight_sim::{Digest, Endpoints, Event, FlowId, Observer, Payload};
use midflight_tcp::Segment;
use midflight_units::{Duration, Instant, Rate, Seq};

use super::Measure;
use crate::setup::Setup;

/// Interval of the checks whether the flow is done.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A train, its report, and the true values.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainRow {
    /// Number of the train.
    pub train: u16,
    /// The requested measurement.
    pub measure: Measurement,
    /// Segments.
    pub segments: u16,
    /// When its first segment was sent, counted from the first SYN.
    pub sent: Duration,
    /// When the report reached the sender, if it did.
    pub reported: Option<Duration>,
    /// The report; None also if a segment was missing.
    pub estimate: Option<Rate>,
    /// The rates of its first and its last gap, in bit/s; zero for none.
    pub low: u64,
    /// See above.
    pub high: u64,
}

/// The measurements of one run.
#[derive(Clone, Debug)]
pub struct ProbeRun {
    /// One for each measured train.
    pub trains: Vec<TrainRow>,
    /// The threshold at the end of the flow, in segments.
    pub ssthresh: f64,
    /// Data packets of the flow that were lost.
    pub drops: u64,
    /// From the SYN to the ACK of the last segment; none if the flow did not finish.
    pub duration: Option<Duration>,
    /// The rate of the cross traffic while the flow lasted, in bit/s.
    pub cross: f64,
    /// Digest of the run.
    pub digest: Digest,
}

/// Measures the first flow, and counts the traffic of the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trains {
    opens: Instant,
    rows: Vec<TrainRow>,
    /// When the last segment of a train was sent.
    left: Instant,
    acked: Instant,
    drops: u64,
    cross_bytes: u64,
    /// One past the flow's last segment.
    end: Seq,
    /// The first check of the sender after the last segment was acknowledged; the run ends there.
    done: Option<Instant>,
    until: Instant,
    ssthresh: f64,
}

impl Trains {
    fn sent(&mut self, now: Instant, segment: &Segment) {
        let Some(mark) = segment.train() else {
            return;
        };
        if mark.index == 0 {
            self.rows.push(TrainRow {
                train: mark.number,
                measure: mark.measure,
                segments: mark.segments,
                sent: now.since(self.opens),
                reported: None,
                estimate: None,
                low: 0,
                high: 0,
            });
        } else if let Some(row) = self.rows.last_mut() {
            let gap = now.since(self.left).as_nanos();
            let rate = 8_000_000_000 * u64::from(segment.bytes);
            row.high = rate.checked_div(gap).unwrap_or(0);
            if mark.index == 1 {
                row.low = row.high;
            }
        }
        self.left = now;
    }

    fn on_estimate(&mut self, now: Instant, estimate: Estimate) {
        let reported = now.since(self.opens);
        let mut rows = self.rows.iter_mut();
        if let Some(row) = rows.find(|row| row.train == estimate.train) {
            row.reported = Some(reported);
            row.estimate = estimate.rate;
        }
    }
}

impl Observer for Trains {
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        if flow.index() > 0 {
            if let Event::Arrived { segment, .. } = event {
                if now >= self.opens {
                    self.cross_bytes += u64::from(segment.bytes);
                }
            }
            return;
        }
        match event {
            Event::Sent(segment) => self.sent(now, segment),
            Event::AckArrived(ack) => {
                self.acked = now;
                if ack.ack >= self.end && self.done.is_none() {
                    let looks = now.since(self.opens).as_nanos() / LOOK_EVERY.as_nanos() + 1;
                    self.done = Some(self.opens + LOOK_EVERY * looks);
                }
                if let Some(estimate) = ack.option.measured() {
                    self.on_estimate(now, estimate);
                }
            }
            Event::Dropped {
                payload: Payload::Data(_),
                ..
            } => self.drops += 1,
            _ => {}
        }
    }
}

impl Measure for Trains {
    type Rows = ProbeRun;

    fn new(setup: &Setup) -> Self {
        let flow = &setup.flows[0];
        Self {
            opens: flow.opens,
            end: flow.end.unwrap_or(Seq::MAX),
            ..Self::default()
        }
    }

    fn is_done(&self, next: Instant) -> bool {
        self.done.is_some_and(|done| next >= done)
    }

    fn end(&mut self, at: Instant, now: Endpoints<'_>) {
        self.until = self.done.unwrap_or(at);
        self.ssthresh = now.senders().next().map_or(0.0, |s| s.view().ssthresh);
    }

    fn rows(&mut self, _setup: &Setup, digest: Digest) -> Self::Rows {
        let span = self.until.since(self.opens).as_secs_f64();
        ProbeRun {
            ssthresh: self.ssthresh,
            drops: self.drops,
            duration: self.done.map(|_| self.acked.since(self.opens)),
            cross: if span > 0.0 {
                self.cross_bytes as f64 * 8.0 / span
            } else {
                0.0
            },
            digest,
            trains: std::mem::take(&mut self.rows),
        }
    }
}
