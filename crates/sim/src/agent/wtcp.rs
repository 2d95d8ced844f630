//! WTCP (Ratnam & Matta, ISCC 1998; not the rate-based protocol of Sinha et al. of that name): a base station caches
//! segments until the mobile node has acknowledged them, retransmits losses of the radio link, and keeps the time of
//! this local recovery out of the sender's round-trip samples, so that losses on the radio link do not increase the
//! sender's timeout.
//!
//! The station does not acknowledge anything itself, so the end-to-end semantics are kept. After a local timeout, which
//! indicates a burst of losses, its window is one segment, the first: all others wait, also those handed over before, until
//! it is acknowledged. Then they are handed over in order, one more than each ACK acknowledges and at most three, as in slow
//! start. At duplicate ACKs the station retransmits from the cache and drops the ACK, as in [`super::snoop`].
//!
//! In the citations the ACK opens the window completely. Here a station's packets wait in the queue of its link, which drops
//! what it has no room for, and not in the station's own buffer: all at once they would be lost there. The local timeout is
//! that of a TCP (RFC 6298), with Karn's algorithm.
//!
//! The paper's text was not available; this follows descriptions in later papers and surveys (for one Izumikawa,
//! Yamaguchi and Katto, about 2003). The time that a segment stayed at the station is added to its timestamp when it is
//! retransmitted, so that the echo excludes that time. Without timestamps, and with a sender that measures by its own
//! clock (profile `linux`, except for ACKs behind retransmissions), this has no effect on samples.

use std::collections::BTreeMap;

use midflight_control::part::{whole, Knob, KnobError, Part, PartInfo};
use midflight_tcp::{Ack, AckOption, Content, Segment};
use midflight_units::{Duration, Instant};

use super::cache::{acknowledges, begins, Cache, LocalTimer};
use super::{Agent, Attached, Outbox, Passing};
use crate::config::{FlowId, NodeId};
use crate::event::Carried;
use crate::hook::Verdict;

/// How many acknowledged segments of an ACK open the window after a local timeout (RFC 3465 section 2.2).
const MOST_PER_ACK: usize = 2;

/// The state of all flows.
#[derive(Clone, Debug)]
pub struct Wtcp {
    buffer: u32,
    least: Duration,
    flows: BTreeMap<FlowId, Flow>,
    /// The station of each mobile node that has moved; none if it has gone to one without an agent.
    stations: BTreeMap<NodeId, Option<usize>>,
}

/// A flow towards a mobile node.
#[derive(Clone, Debug)]
struct Flow {
    site: usize,
    mobile: NodeId,
    cache: Cache,
    timer: LocalTimer,
    last: Option<Ack>,
    /// Only one segment is sent at a time.
    is_slow: bool,
}

impl Default for Wtcp {
    fn default() -> Self {
        Self {
            buffer: 1000,
            least: Duration::from_millis(100),
            flows: BTreeMap::new(),
            stations: BTreeMap::new(),
        }
    }
}

impl Part for Wtcp {
    const INFO: PartInfo = PartInfo {
        name: "wtcp",
        summary: "a base station retransmits what the radio loses, and keeps that time out of the timestamps that are echoed",
        source: "Ratnam & Matta 1998",
        knobs: &[
            Knob {
                name: "wtcp_buffer",
                default: "1000",
                accepts: "a whole number of segments from 1 to 100000",
                summary: "most segments that the station keeps of a flow",
            },
            Knob {
                name: "wtcp_timeout",
                default: "100ms",
                accepts: "a time of at least 1 ms",
                summary: "least local timeout; it is the mean round trip over the radio and four mean deviations",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let info = &Self::INFO;
        if name == "wtcp_buffer" {
            self.buffer = whole(info, name, value, 1..=100_000)?;
        } else {
            self.least = LocalTimer::least(info, name, value)?;
        }
        Ok(())
    }
}

impl Flow {
    /// The window becomes one segment, that was handed over just now; the others wait, but for the sender's own.
    fn hold_back(&mut self) {
        self.is_slow = true;
        let behind = self.cache.values_mut().skip(1);
        for kept in behind.filter(|kept| !kept.by_sender && !kept.is_held) {
            (kept.is_held, kept.resent) = (true, kept.resent + 1);
        }
    }

    /// Hands over the first of the segments that were held back. The others wait for the next ACK.
    fn release(&mut self, now: Instant, id: FlowId, most: usize, out: &mut Outbox<'_>) {
        let mut held = self.cache.values_mut().filter(|kept| kept.is_held);
        for kept in held.by_ref().take(most) {
            (kept.is_held, kept.handed) = (false, now);
            out.send(self.site, id, self.mobile, Carried::Data(kept.stamped(now)));
        }
        self.is_slow = held.next().is_some();
    }
}

impl Agent for Wtcp {
    fn on_segment(
        &mut self,
        passing: &Passing,
        segment: &Segment,
        _out: &mut Outbox<'_>,
    ) -> Verdict {
        let is_data = segment.content == Content::Data && segment.seq > 0;
        if !passing.down || !is_data {
            return Verdict::Forward;
        }
        // What still comes to a station that the node has left gets no state there: nobody would acknowledge it, and the
        // next station's segments would have it.
        let station = self.stations.get(&passing.to);
        if station.is_some_and(|&station| station != Some(passing.site)) {
            return Verdict::Forward;
        }
        let (most, least) = (self.buffer as usize, self.least);
        let flow = self.flows.entry(passing.flow).or_insert_with(|| Flow {
            site: passing.site,
            mobile: passing.to,
            cache: Cache::new(most),
            timer: LocalTimer::new(least),
            last: None,
            is_slow: false,
        });
        let holds = flow.is_slow && !flow.cache.is_empty();
        flow.cache.keep(passing.now, segment);
        flow.timer.start(passing.now);
        match flow.cache.get_mut(begins(segment)) {
            Some(kept) => {
                kept.is_held = holds && !kept.by_sender;
                if kept.is_held {
                    Verdict::Drop
                } else {
                    Verdict::Forward
                }
            }
            None => Verdict::Forward,
        }
    }

    fn on_ack(&mut self, passing: &Passing, ack: &Ack, out: &mut Outbox<'_>) -> Verdict {
        let Some(flow) = self.flows.get_mut(&passing.flow).filter(|_| !passing.down) else {
            return Verdict::Forward;
        };
        let (now, id, edge) = (passing.now, passing.flow, acknowledges(ack));
        let last = flow.last.as_ref().map(acknowledges);
        if ack.option != AckOption::Nothing || last.is_some_and(|last| edge < last) {
            return Verdict::Forward;
        }
        if last == Some(edge) {
            return match flow.cache.get_mut(edge) {
                Some(kept) if !kept.by_sender => {
                    if kept.resent == 0 {
                        (kept.resent, kept.handed) = (1, now);
                        let what = Carried::Data(kept.stamped(now));
                        out.send(flow.site, id, flow.mobile, what);
                        flow.timer.restart(now);
                    }
                    Verdict::Drop
                }
                _ => Verdict::Forward,
            };
        }
        let before = flow.cache.len();
        let handed = flow.cache.forget_below(edge);
        let acknowledged = before - flow.cache.len();
        flow.timer.on_new_ack(now, handed);
        flow.last = Some(*ack);
        flow.release(now, id, 1 + acknowledged.clamp(1, MOST_PER_ACK), out);
        if flow.cache.is_empty() {
            flow.timer.stop();
        } else {
            flow.timer.restart(now);
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
        // The paper has no handoff: the next station begins with an empty cache.
        let here = match to {
            Attached::No => return,
            Attached::At(site) => Some(site),
            Attached::Elsewhere => None,
        };
        self.stations.insert(mobile, here);
        self.flows
            .retain(|_, flow| flow.mobile != mobile || Some(flow.site) == here);
    }

    fn next_timeout(&self) -> Option<Instant> {
        LocalTimer::earliest(self.flows.values().map(|flow| &flow.timer))
    }

    fn on_timeout(&mut self, now: Instant, out: &mut Outbox<'_>) {
        for (&id, flow) in &mut self.flows {
            if !flow.timer.is_due(now) {
                continue;
            }
            match flow.cache.first_mut() {
                Some(kept) => {
                    (kept.resent, kept.handed, kept.is_held) = (kept.resent + 1, now, false);
                    let what = Carried::Data(kept.stamped(now));
                    out.send(flow.site, id, flow.mobile, what);
                    flow.hold_back();
                    flow.timer.back_off(now);
                }
                None => flow.timer.stop(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, Played, Seen};
    use super::*;
    use crate::agent::AnyAgent;

    fn station() -> Played {
        Played::new(AnyAgent::Wtcp(Wtcp::default()))
    }

    /// Segment 2 came at 2 ms and was retransmitted at 22 ms: its timestamp, and so its echo, is 20 ms later.
    #[test]
    fn the_time_of_the_recovery_is_added_to_the_timestamp() {
        let mut play = station();
        for seq in 1..=3 {
            play.data(seq, seq);
        }
        assert_eq!(play.ack(20, 2), [Seen::Up(2)]);
        assert_eq!(play.ack(22, 2), [Seen::Down(2)]);
        let sent = match play.left[0] {
            Carried::Data(segment) => segment.sent,
            Carried::Ack(_) => Instant::ZERO,
        };
        assert_eq!(sent, at(20));
        assert_eq!(play.ack(42, 4), [Seen::Up(4)]);
    }

    /// The sender retransmits segment 2 at 50 ms: the time that the station adds at 120 ms counts from there. Otherwise
    /// the timestamp would lie in the future, and all later segments would be discarded (PAWS).
    #[test]
    fn what_the_sender_sends_again_has_come_then() {
        let mut play = station();
        play.data(1, 1);
        play.data(2, 2);
        play.ack(20, 2);
        play.data(50, 2);
        assert_eq!(play.agent.next_timeout(), Some(at(120)));
        assert_eq!(play.wake(), [Seen::Down(2)]);
        let sent = match play.left[0] {
            Carried::Data(segment) => segment.sent,
            Carried::Ack(_) => Instant::NEVER,
        };
        assert_eq!(sent, at(70));
    }

    /// Both links are up at a handoff: segments 3 and 4 still come to the old station, which only forwards them; segment 5
    /// comes to the new one, which answers for it from there.
    #[test]
    fn the_station_that_the_node_has_left_keeps_nothing() {
        let mut play = station();
        play.data(1, 1);
        play.data(2, 2);
        play.attach(10, Attached::At(1));
        assert_eq!(play.data(11, 3), [Seen::Down(3)]);
        assert_eq!(play.data(12, 4), [Seen::Down(4)]);
        assert_eq!(play.agent.next_timeout(), None);
        play.site = 1;
        assert_eq!(play.data(13, 5), [Seen::Down(5)]);
        assert_eq!(play.data(14, 6), [Seen::Down(6)]);
        // Segment 4 was lost: that is not the new station's.
        assert_eq!(play.ack(30, 4), [Seen::Up(4)]);
        assert_eq!(play.ack(31, 4), [Seen::Up(4)]);
        assert_eq!(play.ack(40, 5), [Seen::Up(5)]);
        assert_eq!(play.ack(41, 5), [Seen::Down(5)]);
        // Back at the old station, that one keeps segments again.
        play.attach(50, Attached::At(0));
        play.site = 0;
        play.data(51, 7);
        assert!(play.agent.next_timeout().is_some());
    }

    /// A burst of losses takes segments 1 to 5, and nothing else is under way. At the local timeout segment 1 goes. The
    /// others follow its ACK, one more than each ACK acknowledges, and not one for each timeout.
    #[test]
    fn after_a_burst_of_losses_all_that_is_left_goes_again() {
        let mut play = station();
        for seq in 1..=5 {
            play.data(seq, seq);
        }
        assert_eq!(play.wake(), [Seen::Down(1)]);
        assert_eq!(play.data(1002, 6), [], "held");
        // The sender's own passes, and does not go twice.
        assert_eq!(play.data(1003, 4), [Seen::Down(4)]);
        let two = [2, 3].map(Seen::Down);
        assert_eq!(play.ack(1020, 2), [&[Seen::Up(2)], &two[..]].concat());
        assert_eq!(play.data(1021, 7), [], "behind those that wait");
        // Three segments are acknowledged, and two count.
        let three = [5, 6, 7].map(Seen::Down);
        assert_eq!(play.ack(1040, 5), [&[Seen::Up(5)], &three[..]].concat());
        assert_eq!(play.data(1041, 8), [Seen::Down(8)]);
        assert_eq!(play.ack(1060, 9), [Seen::Up(9)]);
        assert_eq!(play.agent.next_timeout(), None);
    }

    /// After a local timeout one segment is sent at a time, until an ACK comes.
    #[test]
    fn a_burst_of_losses_closes_the_window_of_the_station() {
        let mut play = station();
        play.data(0, 1);
        play.ack(20, 2);
        play.data(30, 2);
        assert_eq!(play.wake(), [Seen::Down(2)]);
        assert_eq!(play.data(140, 3), [], "held");
        assert_eq!(play.ack(160, 3), [Seen::Up(3), Seen::Down(3)]);
        assert_eq!(play.data(170, 4), [Seen::Down(4)]);
    }
}
