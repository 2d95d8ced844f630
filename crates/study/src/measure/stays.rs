//! Measurements of a roaming node and of fixed ones, interval by interval.

use midflight_sim::{Digest, DropCause, Endpoints, Event, FlowId, Observer, Payload};
use midflight_tcp::SenderEvent;
use midflight_units::{Instant, Seq};

use super::Measure;
use crate::setup::{FlowSetup, Mark, Setup};

/// The measurements of one node's flow in one interval of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoamingRow {
    /// Number of the interval, from 0.
    pub interval: u32,
    /// Number of the node: 0 is the mobile one.
    pub node: u32,
    /// The number of the node's station, from 0. The mobile node counts as being at the new one
    /// from the time when it leaves the old one.
    pub station: u8,
    /// Start of the interval.
    pub from: Instant,
    /// Its end.
    pub until: Instant,
    /// Data segments newly acknowledged.
    pub acked: u64,
    /// Segments sent, without window probes.
    pub sent: u64,
    /// Retransmissions among them.
    pub rexmits: u64,
    /// Timeouts.
    pub timeouts: u32,
    /// Timeouts after which a segment sent before was acknowledged: nothing had been lost.
    pub spurious_timeouts: u32,
    /// Fast retransmits.
    pub fast_rexmits: u32,
    /// Data packets lost to a full queue.
    pub drops_queue: u64,
    /// Data packets lost on the wireless link.
    pub drops_radio: u64,
    /// Data packets that arrived at a station that the node had left.
    pub drops_break: u64,
}

/// Measures all flows.
#[derive(Clone, Debug)]
pub(crate) struct CellVisits {
    /// The current interval, a row for each node.
    now: Vec<RoamingRow>,
    /// The ACK position of each flow when the interval began.
    acked: Vec<Seq>,
    done: Vec<RoamingRow>,
    /// Where the mobile node is.
    station: u8,
}

impl CellVisits {
    /// The interval ends.
    fn close(&mut self, until: Instant, now: Endpoints<'_>) {
        self.now[0].station = self.station;
        for (place, sender) in now.senders().enumerate() {
            let una = sender.view().snd_una;
            let row = &mut self.now[place];
            row.until = until;
            row.acked = una.saturating_sub(self.acked[place]);
            self.acked[place] = self.acked[place].max(una);
            let next = RoamingRow {
                interval: row.interval + 1,
                node: row.node,
                station: row.station,
                from: until,
                ..RoamingRow::default()
            };
            self.done.push(std::mem::replace(row, next));
        }
    }

    /// The row of the interval that contains a timeout.
    fn row_at(&mut self, node: usize, at: Instant) -> &mut RoamingRow {
        if at >= self.now[node].from {
            return &mut self.now[node];
        }
        // The first row of the first interval that ends after that.
        let first = self.done.partition_point(|row| row.until <= at);
        &mut self.done[first + node]
    }
}

impl Observer for CellVisits {
    #[inline(always)]
    fn record(&mut self, _now: Instant, flow: FlowId, event: &Event<'_>) {
        let node = flow.index();
        let row = &mut self.now[node];
        match event {
            Event::Sent(segment) if segment.has_data() => {
                row.sent += 1;
                row.rexmits += u64::from(segment.retransmission);
            }
            Event::Dropped {
                payload: Payload::Data(_),
                cause,
                ..
            } => match cause {
                DropCause::Queue => row.drops_queue += 1,
                DropCause::Break => row.drops_break += 1,
                DropCause::Radio => row.drops_radio += 1,
                // The links of this question are drop-tail.
                DropCause::Early | DropCause::Node => {}
            },
            Event::Sender(SenderEvent::Timeout(_)) => row.timeouts += 1,
            Event::Sender(SenderEvent::FastRetransmit(_)) => row.fast_rexmits += 1,
            Event::TimeoutJudged {
                at, spurious: true, ..
            } => self.row_at(node, *at).spurious_timeouts += 1,
            _ => {}
        }
    }
}

impl Measure for CellVisits {
    type Rows = (Digest, Vec<RoamingRow>);

    fn new(setup: &Setup) -> Self {
        let row = |(node, flow): (u32, &FlowSetup)| RoamingRow {
            node,
            station: flow.stays.unwrap_or_default() as u8,
            ..RoamingRow::default()
        };
        let now: Vec<_> = (0..).zip(setup.flows.iter()).map(row).collect();
        Self {
            // The SYN carries no data.
            acked: vec![1; now.len()],
            done: Vec::new(),
            station: 0,
            now,
        }
    }

    fn mark(&mut self, mark: &Mark, at: Instant, now: Endpoints<'_>) {
        self.close(at, now);
        self.station = mark.place as u8;
    }

    fn end(&mut self, at: Instant, now: Endpoints<'_>) {
        self.close(at, now);
    }

    fn rows(&mut self, _setup: &Setup, digest: Digest) -> Self::Rows {
        (digest, std::mem::take(&mut self.done))
    }
}
