//! A node that keeps every second ACK back: an example of an agent.

use midflight_control::part::{Part, PartInfo};
use midflight_tcp::{Ack, Segment};
use midflight_units::Instant;

use super::{Agent, Attached, Outbox, Passing};
use crate::config::NodeId;
use crate::hook::Verdict;

/// How many it has seen.
#[derive(Clone, Debug, Default)]
pub struct Deaf {
    seen: u64,
}

impl Part for Deaf {
    const INFO: PartInfo = PartInfo {
        name: "deaf",
        summary: "a node that keeps every second ACK back",
        source: "an example",
        knobs: &[],
    };
}

impl Agent for Deaf {
    fn on_segment(
        &mut self,
        _passing: &Passing,
        _segment: &Segment,
        _out: &mut Outbox<'_>,
    ) -> Verdict {
        Verdict::Forward
    }

    fn on_ack(&mut self, _passing: &Passing, _ack: &Ack, _out: &mut Outbox<'_>) -> Verdict {
        self.seen += 1;
        if self.seen.is_multiple_of(2) {
            Verdict::Drop
        } else {
            Verdict::Forward
        }
    }

    fn on_attachment(&mut self, _now: Instant, _mobile: NodeId, _to: Attached, _out: &mut Outbox<'_>) {
    }

    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    fn on_timeout(&mut self, _now: Instant, _out: &mut Outbox<'_>) {}
}
