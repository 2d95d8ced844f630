//! Flow start-up: the time of the first packets, and the losses meanwhile.

use educe::Educe;
use midflight_sim::{Digest, Event, FlowId, Observer, Payload};
use midflight_tcp::SenderEvent;
use midflight_units::{Duration, Instant, Seq};

use super::{Measure, Measured};
use crate::setup::{FlowSetup, Setup};

/// The measurements of one flow in one run. Counts of a newcomer cover the time from its SYN until
/// the last of its timed segments is acknowledged and the window is over; those of a resident the
/// time from the first newcomer's SYN to the end of the run.
#[derive(Clone, Debug, Default)]
pub struct StartupRow {
    /// Number of the flow: the newcomers from 0, then the residents.
    pub flow: u32,
    /// It was open before the newcomers.
    pub resident: bool,
    /// When it sends its SYN.
    pub opened: Instant,
    /// From its SYN until the ACK that covers this many data segments, for each of the counts.
    pub times: Vec<Option<Duration>>,
    /// Data packets lost, all to a full queue.
    pub drops_data: u32,
    /// Retransmissions sent.
    pub rexmits: u32,
    /// Timeouts.
    pub timeouts: u32,
    /// Data segments newly acknowledged in the window; none without one.
    pub acked_window: Option<u64>,
    /// Digest of the run.
    pub digest: Digest,
}

/// Measures one flow.
#[derive(Educe, Debug)]
#[educe(Clone)]
struct Meter {
    row: StartupRow,
    counts: Vec<u64>,
    una: Seq,
    /// Counting starts here.
    from: Instant,
    /// The window; empty if there is none.
    window: (Instant, Instant),
    /// Data segments acknowledged before the window.
    acked_before: u64,
}

impl Meter {
    /// Whether everything has been measured once no event before `next` is left.
    fn finished(&self, next: Instant) -> bool {
        next >= self.window.1 && self.row.times.iter().all(Option::is_some)
    }

    fn on_ack(&mut self, now: Instant, una: Seq) {
        self.una = una;
        // Segment 0 is the SYN.
        let acked = una - 1;
        let since = now.since(self.row.opened);
        for (time, &count) in self.row.times.iter_mut().zip(&self.counts) {
            if acked >= count {
                time.get_or_insert(since);
            }
        }
        let (from, until) = self.window;
        if now < from {
            self.acked_before = acked;
        } else if now < until {
            self.row.acked_window = Some(acked - self.acked_before);
        }
    }

    fn record(&mut self, now: Instant, event: &Event<'_>) {
        match event {
            Event::AckArrived(ack) if ack.ack > self.una => self.on_ack(now, ack.ack),
            _ if now < self.from || (!self.row.resident && self.finished(now)) => {}
            Event::Sent(segment) if segment.has_data() => {
                self.row.rexmits += u32::from(segment.retransmission);
            }
            Event::Dropped {
                payload: Payload::Data(_),
                ..
            } => self.row.drops_data += 1,
            Event::Sender(SenderEvent::Timeout(_)) => self.row.timeouts += 1,
            _ => {}
        }
    }
}

/// Measures every flow.
#[derive(Educe, Debug)]
#[educe(Clone)]
pub(crate) struct Starts(Vec<Meter>);

impl Observer for Starts {
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        self.0[flow.index()].record(now, event);
    }
}

impl Measure for Starts {
    type Rows = Vec<StartupRow>;

    fn new(setup: &Setup) -> Self {
        let Measured::Starts {
            counts,
            window,
            residents,
            start,
        } = &*setup.measured
        else {
            return Self(Vec::new());
        };
        let meter = |(number, flow): (usize, &FlowSetup)| {
            let resident = number >= *residents;
            Meter {
                row: StartupRow {
                    flow: number as u32,
                    resident,
                    opened: flow.opens,
                    times: vec![None; counts.len()],
                    acked_window: window.map(|_| 0),
                    ..StartupRow::default()
                },
                counts: counts.clone(),
                una: 0,
                from: if resident { *start } else { flow.opens },
                window: (*start, *start + window.unwrap_or(Duration::ZERO)),
                acked_before: 0,
            }
        };
        Self(setup.flows.iter().enumerate().map(meter).collect())
    }

    fn is_done(&self, next: Instant) -> bool {
        self.0.iter().all(|flow| flow.finished(next))
    }

    fn rows(&mut self, _setup: &Setup, digest: Digest) -> Self::Rows {
        let row = |meter: &Meter| StartupRow {
            digest,
            ..meter.row.clone()
        };
        self.0.iter().map(row).collect()
    }
}
