//! ELFN (Holland & Vaidya, MobiCom 1999): a node that cannot deliver a segment because the route to the mobile node has
//! failed notifies the sender. The sender stops its timers and keeps its window and timeout, sends probes at intervals,
//! and continues as before when a probe is acknowledged.
//!
//! The paper's text was not available; this follows descriptions in later papers (for one Izumikawa, Yamaguchi and
//! Katto, about 2003). The notice is an ACK that acknowledges nothing new, one for each segment that cannot be
//! delivered: the sender's standby state is the persist mode, and its probes are those of that mode. Differs
//! in that the interval of probes doubles from the retransmission timeout, where the paper's is constant (2 s in its
//! experiments). The node does not announce that the route is back: a probe detects it.

use std::collections::BTreeMap;

use midflight_control::part::{Part, PartInfo};
use midflight_tcp::{Ack, AckOption, SackBlocks, Segment};
use midflight_units::Instant;

use super::cache::acknowledges;
use super::{Agent, Attached, Outbox, Passing};
use crate::config::{FlowId, NodeId};
use crate::event::Carried;
use crate::hook::Verdict;

/// Which mobile nodes are away, and the last ACK of each flow.
#[derive(Clone, Debug, Default)]
pub struct Elfn {
    away: Vec<NodeId>,
    last: BTreeMap<FlowId, Ack>,
}

impl Part for Elfn {
    const INFO: PartInfo = PartInfo {
        name: "elfn",
        summary: "a base station tells the sender of each segment that cannot be delivered, as the mobile node has no link",
        source: "Holland & Vaidya 1999",
        knobs: &[],
    };
}

impl Agent for Elfn {
    fn on_segment(
        &mut self,
        passing: &Passing,
        _segment: &Segment,
        out: &mut Outbox<'_>,
    ) -> Verdict {
        let Some(last) = self.last.get(&passing.flow) else {
            return Verdict::Forward;
        };
        if !passing.down || !self.away.contains(&passing.to) {
            return Verdict::Forward;
        }
        let notice = Ack {
            option: AckOption::Standby,
            sack: SackBlocks::default(),
            window: None,
            ..*last
        };
        let what = Carried::Ack(notice);
        out.send(passing.site, passing.flow, passing.from, what);
        Verdict::Drop
    }

    fn on_ack(&mut self, passing: &Passing, ack: &Ack, _out: &mut Outbox<'_>) -> Verdict {
        let is_news = |last: &Ack| acknowledges(ack) >= acknowledges(last);
        if !passing.down && self.last.get(&passing.flow).is_none_or(is_news) {
            self.last.insert(passing.flow, *ack);
        }
        Verdict::Forward
    }

    fn on_attachment(
        &mut self,
        _now: Instant,
        mobile: NodeId,
        to: Attached,
        _out: &mut Outbox<'_>,
    ) {
        self.away.retain(|&away| away != mobile);
        if to == Attached::No {
            self.away.push(mobile);
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    fn on_timeout(&mut self, _now: Instant, _out: &mut Outbox<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Played, Seen};
    use super::*;
    use crate::agent::AnyAgent;

    /// The notice is sent for each segment that cannot be delivered, and no longer once the route is back.
    #[test]
    fn each_segment_without_a_route_is_reported() {
        let mut play = Played::new(AnyAgent::Elfn(Elfn::default()));
        assert_eq!(play.data(0, 1), [Seen::Down(1)]);
        assert_eq!(play.ack(20, 2), [Seen::Up(2)]);
        assert_eq!(play.attach(30, Attached::No), []);
        assert_eq!(play.data(31, 2), [Seen::Standby(2)]);
        assert_eq!(play.data(32, 3), [Seen::Standby(2)]);
        assert_eq!(play.attach(500, Attached::At(1)), []);
        assert_eq!(play.data(501, 2), [Seen::Down(2)]);
    }
}
