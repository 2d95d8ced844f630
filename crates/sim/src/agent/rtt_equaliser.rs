//! Equalisation of the round-trip time at a base station (Rutagemwa et al. 2007): the station of the fast link delays
//! ACKs, so that the sender's samples equal those of the slower link to which the mobile node will move, and its timer
//! fits after the move.
//!
//! The paper's text was not available; this follows descriptions in later publications. In the paper the delay begins
//! ahead of the move; here no node predicts a handoff, and the station delays ACKs from the start, at the cost of a
//! longer round trip.

use std::collections::{BTreeMap, VecDeque};

use midflight_control::part::{refuse, Knob, KnobError, Part, PartInfo};
use midflight_tcp::{Ack, Content, Segment};
use midflight_units::{Duration, Instant};

use super::cache::{acknowledges, begins, Edge};
use super::{Agent, Attached, Outbox, Passing};
use crate::config::{FlowId, NodeId};
use crate::event::Carried;
use crate::hook::Verdict;

/// When segments were handed over, and the delayed ACKs.
#[derive(Clone, Debug)]
pub struct RttEqualiser {
    target: Duration,
    handed: BTreeMap<FlowId, VecDeque<(Edge, Instant)>>,
    /// Delayed ACKs with their release times, in order of arrival.
    held: VecDeque<(Instant, Held)>,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    site: usize,
    flow: FlowId,
    to: NodeId,
    ack: Ack,
}

impl Default for RttEqualiser {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(200),
            handed: BTreeMap::new(),
            held: VecDeque::new(),
        }
    }
}

impl Part for RttEqualiser {
    const INFO: PartInfo = PartInfo {
        name: "rtt-equaliser",
        summary: "a base station holds ACKs back until the round trip over its radio has taken as long as over the slower link",
        source: "Rutagemwa et al. 2007",
        knobs: &[Knob {
            name: "rtt_equaliser_target",
            default: "200ms",
            accepts: "a time",
            summary: "least round trip from the station to the mobile node and back",
        }],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        self.target = value
            .parse()
            .map_err(|_| refuse(&Self::INFO, name, value))?;
        Ok(())
    }
}

impl Agent for RttEqualiser {
    fn on_segment(
        &mut self,
        passing: &Passing,
        segment: &Segment,
        _out: &mut Outbox<'_>,
    ) -> Verdict {
        if passing.down && segment.content == Content::Data {
            let handed = self.handed.entry(passing.flow).or_default();
            let begins = begins(segment);
            // Only the first transmission counts.
            if handed.back().is_none_or(|(last, _)| *last < begins) {
                handed.push_back((begins, passing.now));
            }
        }
        Verdict::Forward
    }

    fn on_ack(&mut self, passing: &Passing, ack: &Ack, _out: &mut Outbox<'_>) -> Verdict {
        if passing.down {
            return Verdict::Forward;
        }
        let edge = acknowledges(ack);
        let mut latest = None;
        if let Some(handed) = self.handed.get_mut(&passing.flow) {
            while let Some((_, at)) = handed.front().filter(|(begins, _)| *begins < edge) {
                latest = Some(*at);
                handed.pop_front();
            }
        }
        // No ACK overtakes another.
        let last = self.held.back().map_or(passing.now, |(until, _)| *until);
        let until = latest.map_or(last, |at| (at + self.target).max(last));
        if until <= passing.now {
            return Verdict::Forward;
        }
        let held = Held {
            site: passing.site,
            flow: passing.flow,
            to: passing.to,
            ack: *ack,
        };
        self.held.push_back((until, held));
        Verdict::Drop
    }

    fn on_attachment(
        &mut self,
        _now: Instant,
        _mobile: NodeId,
        _to: Attached,
        _out: &mut Outbox<'_>,
    ) {
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.held.front().map(|(until, _)| *until)
    }

    fn on_timeout(&mut self, now: Instant, out: &mut Outbox<'_>) {
        while let Some((_, held)) = self.held.front().filter(|(until, _)| *until <= now) {
            out.send(held.site, held.flow, held.to, Carried::Ack(held.ack));
            self.held.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, Played, Seen};
    use super::*;
    use crate::agent::AnyAgent;

    /// An ACK after 20 ms is released after 200 ms, the next one not before it.
    #[test]
    fn acks_leave_when_the_target_is_over() {
        let mut play = Played::new(AnyAgent::RttEqualiser(RttEqualiser::default()));
        play.data(0, 1);
        play.data(5, 2);
        assert_eq!(play.ack(20, 2), []);
        assert_eq!(play.ack(25, 3), []);
        assert_eq!(play.ack(26, 3), [], "a duplicate keeps its place");
        assert_eq!(play.agent.next_timeout(), Some(at(200)));
        assert_eq!(play.wake(), [Seen::Up(2)]);
        assert_eq!(play.agent.next_timeout(), Some(at(205)));
        assert_eq!(play.wake(), [Seen::Up(3), Seen::Up(3)]);
        play.data(300, 3);
        assert_eq!(play.ack(560, 4), [Seen::Up(4)], "slow enough by itself");
    }
}
