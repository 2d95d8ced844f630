//! Snoop (Balakrishnan, Seshan, Amir & Katz, MobiCom 1995): a base station keeps the segments that it hands to the
//! radio link until the mobile node has acknowledged them, and retransmits losses of the radio link before the sender
//! detects them.
//!
//! The two procedures are the paper's. *Data*: a new segment is cached and forwarded. A segment that passed before is
//! forwarded too and left to the sender; if it is already acknowledged, the last ACK is sent for it instead. A segment
//! after a higher one was lost before the station, so its duplicate ACKs are for the sender. *ACKs*: a new one empties
//! the cache, gives a sample of the round trip over the radio and is forwarded; an older one is dropped; at a duplicate
//! the segment is retransmitted from the cache, and this and the expected further duplicates are dropped; if the
//! segment is not in the cache, or is left to the sender, they are forwarded. A timer of the round trip over the radio
//! retransmits the first cached segment.
//!
//! The paper's text was not available; this follows descriptions in later papers (for one Izumikawa, Yamaguchi and
//! Katto, about 2003), and the constants are those of ns-2.35's `tcp/snoop.h`: 100 segments, 100 ms, ten
//! retransmissions. Differs from the paper because a link has one queue here: retransmissions do not overtake waiting
//! packets. Flows from the mobile node, for which the paper has negative acknowledgements, are not cached.
//!
//! At a handoff the paper's stations share their caches (by multicast ahead of it). Here the cache moves to the next
//! station, which sends its content at once if there was a time without a link. With `snoop_handover=off` the next
//! station begins with an empty cache.
//!
//! The station sends the packet that it has cached, with its old timestamp. Timestamps were not in use then. A receiver
//! with PAWS (RFC 7323 section 5) discards such a copy if the sender has meanwhile filled an earlier gap with a
//! retransmission of its own, which is newer. `snoop_stamp=later` adds the time that the segment stayed, as WTCP does.

use std::collections::BTreeMap;

use midflight_control::part::{choose, whole, Knob, KnobError, Part, PartInfo};
use midflight_tcp::{Ack, AckOption, Content, Segment};
use midflight_units::{Duration, Instant};

use super::cache::{acknowledges, begins, Cache, Kept, LocalTimer};
use super::{Agent, Attached, Outbox, Passing};
use crate::config::{FlowId, NodeId};
use crate::event::Carried;
use crate::hook::Verdict;

/// The state of all flows.
#[derive(Clone, Debug)]
pub struct Snoop {
    cache: u32,
    least: Duration,
    retries: u32,
    handover: bool,
    /// What goes again has a timestamp that is later by the time that it stayed.
    restamps: bool,
    flows: BTreeMap<FlowId, Flow>,
}

/// A flow towards a mobile node.
#[derive(Clone, Debug)]
struct Flow {
    site: usize,
    mobile: NodeId,
    cache: Cache,
    timer: LocalTimer,
    /// The last ACK of new data, and the node that it went to.
    last: Option<(Ack, NodeId)>,
    /// The mobile node has no link.
    is_away: bool,
}

impl Default for Snoop {
    fn default() -> Self {
        Self {
            cache: 100,
            least: Duration::from_millis(100),
            retries: 10,
            handover: true,
            restamps: false,
            flows: BTreeMap::new(),
        }
    }
}

impl Part for Snoop {
    const INFO: PartInfo = PartInfo {
        name: "snoop",
        summary: "a base station keeps segments, retransmits what the radio loses, and drops the duplicate ACKs of that",
        source: "Balakrishnan, Seshan, Amir & Katz 1995; constants of ns-2.35, tcp/snoop.h",
        knobs: &[
            Knob {
                name: "snoop_cache",
                default: "100",
                accepts: "a whole number of segments from 1 to 100000",
                summary: "most segments that are kept of a flow",
            },
            Knob {
                name: "snoop_timeout",
                default: "100ms",
                accepts: "a time of at least 1 ms",
                summary: "least local timeout; it is the mean round trip over the radio and four mean deviations",
            },
            Knob {
                name: "snoop_retries",
                default: "10",
                accepts: "a whole number from 0 to 1000",
                summary: "how often a segment is sent from the cache at most",
            },
            Knob {
                name: "snoop_handover",
                default: "on",
                accepts: "on, off",
                summary: "the cache moves to the next station at a handoff",
            },
            Knob {
                name: "snoop_stamp",
                default: "kept",
                accepts: "kept, later",
                summary: "the timestamp of a segment from the cache: its own, as it is the same packet, or later by the time that it stayed, so that PAWS accepts it",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let info = &Self::INFO;
        match name {
            "snoop_cache" => self.cache = whole(info, name, value, 1..=100_000)?,
            "snoop_timeout" => {
                self.least = LocalTimer::least(info, name, value)?;
            }
            "snoop_retries" => self.retries = whole(info, name, value, 0..=1000)?,
            "snoop_handover" => {
                self.handover = choose(info, name, value, &[("on", true), ("off", false)])?;
            }
            _ => self.restamps = choose(info, name, value, &[("kept", false), ("later", true)])?,
        }
        Ok(())
    }
}

impl Snoop {
    fn flow(&mut self, passing: &Passing) -> &mut Flow {
        let (most, least) = (self.cache as usize, self.least);
        self.flows.entry(passing.flow).or_insert_with(|| Flow {
            site: passing.site,
            mobile: passing.to,
            cache: Cache::new(most),
            timer: LocalTimer::new(least),
            last: None,
            is_away: false,
        })
    }
}

/// A segment as it goes again.
fn again(kept: &Kept, now: Instant, restamps: bool) -> Segment {
    if restamps {
        kept.stamped(now)
    } else {
        kept.segment
    }
}

impl Agent for Snoop {
    fn on_segment(
        &mut self,
        passing: &Passing,
        segment: &Segment,
        out: &mut Outbox<'_>,
    ) -> Verdict {
        let is_data = segment.content == Content::Data && segment.seq > 0;
        if !passing.down || !is_data {
            return Verdict::Forward;
        }
        let handover = self.handover;
        let flow = self.flow(passing);
        // A station without the flow's state lets the packet pass.
        if flow.site != passing.site && !handover {
            return Verdict::Forward;
        }
        if let Some((ack, sender)) = flow.last {
            if begins(segment) < acknowledges(&ack) {
                out.send(passing.site, passing.flow, sender, Carried::Ack(ack));
                return Verdict::Drop;
            }
        }
        flow.cache.keep(passing.now, segment);
        flow.timer.start(passing.now);
        Verdict::Forward
    }

    fn on_ack(&mut self, passing: &Passing, ack: &Ack, out: &mut Outbox<'_>) -> Verdict {
        let (retries, handover, restamps) = (self.retries, self.handover, self.restamps);
        let Some(flow) = self.flows.get_mut(&passing.flow).filter(|_| !passing.down) else {
            return Verdict::Forward;
        };
        if flow.site != passing.site && !handover {
            return Verdict::Forward;
        }
        let (now, edge) = (passing.now, acknowledges(ack));
        let last = flow
            .last
            .as_ref()
            .map(|(ack, _)| (acknowledges(ack), ack.option));
        let is_plain = ack.option == AckOption::Nothing;
        match last {
            Some((before, _)) if edge < before && is_plain => return Verdict::Drop,
            Some((before, said)) if edge == before => {
                if !is_plain || said != AckOption::Nothing {
                    return Verdict::Forward;
                }
            }
            _ => {
                let handed = flow.cache.forget_below(edge);
                flow.timer.on_new_ack(now, handed);
                // The timeout of ns-2.35's tcp/snoop.h follows from the samples alone.
                flow.timer.end_back_off();
                flow.last = Some((*ack, passing.to));
                if flow.cache.is_empty() {
                    flow.timer.stop();
                } else {
                    flow.timer.restart(now);
                }
                return Verdict::Forward;
            }
        }
        // A duplicate.
        match flow.cache.get_mut(edge) {
            Some(kept) if !kept.by_sender => {
                // The further duplicates are caused by segments handed over before the retransmission.
                if kept.resent == 0 && retries > 0 {
                    (kept.resent, kept.handed) = (1, now);
                    let what = Carried::Data(again(kept, now, restamps));
                    out.send(flow.site, passing.flow, flow.mobile, what);
                    flow.timer.restart(now);
                }
                Verdict::Drop
            }
            _ => Verdict::Forward,
        }
    }

    fn on_attachment(&mut self, now: Instant, mobile: NodeId, to: Attached, out: &mut Outbox<'_>) {
        let (most, least) = (self.cache as usize, self.least);
        for (&id, flow) in self.flows.iter_mut().filter(|(_, f)| f.mobile == mobile) {
            let site = match to {
                Attached::No => {
                    flow.is_away = true;
                    continue;
                }
                Attached::At(site) => Some(site),
                Attached::Elsewhere => None,
            };
            let was_away = std::mem::take(&mut flow.is_away);
            if site == Some(flow.site) {
                continue;
            }
            match site {
                Some(site) if self.handover => {
                    flow.site = site;
                    if !was_away || flow.cache.is_empty() {
                        continue;
                    }
                    for kept in flow.cache.values_mut() {
                        (kept.resent, kept.handed) = (kept.resent + 1, now);
                        let what = again(kept, now, self.restamps);
                        out.send(site, id, mobile, Carried::Data(what));
                    }
                    flow.timer.restart(now);
                }
                _ => {
                    flow.site = site.unwrap_or(usize::MAX);
                    flow.cache = Cache::new(most);
                    flow.timer = LocalTimer::new(least);
                    flow.last = None;
                }
            }
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        LocalTimer::earliest(self.flows.values().map(|flow| &flow.timer))
    }

    fn on_timeout(&mut self, now: Instant, out: &mut Outbox<'_>) {
        let (retries, restamps) = (self.retries, self.restamps);
        for (&id, flow) in &mut self.flows {
            if !flow.timer.is_due(now) {
                continue;
            }
            match flow.cache.first_mut() {
                // It is of no use: a receiver discards copies that are older than what it has (PAWS).
                Some(kept) if kept.resent >= retries => {
                    kept.by_sender = true;
                    flow.timer.stop();
                }
                Some(kept) => {
                    (kept.resent, kept.handed) = (kept.resent + 1, now);
                    let what = again(kept, now, restamps);
                    out.send(flow.site, id, flow.mobile, Carried::Data(what));
                    flow.timer.back_off(now);
                }
                None => flow.timer.stop(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, at, segment, Played, Seen};
    use super::*;
    use crate::agent::AnyAgent;

    fn snoop() -> Played {
        Played::new(AnyAgent::Snoop(Snoop::default()))
    }

    /// Segments 1 to 5 pass, 1 and 2 are acknowledged, 3 is lost: at the first duplicate it is retransmitted from the
    /// cache, and no duplicate reaches the sender.
    #[test]
    fn a_duplicate_ack_is_answered_from_the_cache_and_dropped() {
        let mut play = snoop();
        for seq in 1..=5 {
            assert_eq!(play.data(seq, seq), [Seen::Down(seq)]);
        }
        assert_eq!(play.ack(20, 3), [Seen::Up(3)]);
        assert_eq!(play.ack(21, 3), [Seen::Down(3)]);
        assert_eq!(play.ack(22, 3), []);
        assert_eq!(play.ack(40, 6), [Seen::Up(6)]);
        assert_eq!(play.agent.next_timeout(), None);
    }

    /// Segment 2 was lost before the station: it is not in the cache, and the sender gets the duplicate ACKs.
    #[test]
    fn what_was_lost_before_the_station_is_the_senders() {
        let mut play = snoop();
        for seq in [1, 3, 4] {
            play.data(seq, seq);
        }
        assert_eq!(play.ack(20, 2), [Seen::Up(2)]);
        for ms in 21..24 {
            assert_eq!(play.ack(ms, 2), [Seen::Up(2)]);
        }
        // Its retransmission is cached, but the sender remains responsible for it.
        assert_eq!(play.data(60, 2), [Seen::Down(2)]);
        assert_eq!(play.ack(80, 2), [Seen::Up(2)]);
    }

    /// If the sender retransmits because an ACK was lost between the station and the sender, the station acknowledges
    /// the segment.
    #[test]
    fn a_segment_that_is_acknowledged_gets_the_last_ack() {
        let mut play = snoop();
        for seq in 1..=3 {
            play.data(seq, seq);
        }
        play.ack(20, 3);
        assert_eq!(play.data(300, 1), [Seen::Up(3)]);
        assert_eq!(play.ack(301, 2), [], "an ACK that is older");
    }

    /// The round trip over the radio is 20 ms, so its timeout is the minimum, 100 ms, and twice that the next time.
    #[test]
    fn the_local_timer_retransmits_the_first_segment() {
        let mut play = snoop();
        play.data(0, 1);
        play.ack(20, 2);
        play.data(30, 2);
        play.data(31, 3);
        assert_eq!(play.agent.next_timeout(), Some(at(130)));
        assert_eq!(play.wake(), [Seen::Down(2)]);
        assert_eq!(play.agent.next_timeout(), Some(at(330)));
        // There is no sample from a retransmitted segment, because it is unknown which copy the ACK is for; but the
        // back-off is over.
        assert_eq!(play.ack(335, 4), [Seen::Up(4)]);
        play.data(400, 4);
        assert_eq!(play.agent.next_timeout(), Some(at(500)));
    }

    #[test]
    fn the_cache_moves_to_the_next_station_or_does_not() {
        for (handover, sent) in [("on", vec![Seen::Down(2), Seen::Down(3)]), ("off", vec![])] {
            let mut play = snoop();
            let set = play.agent.set_knob("snoop_handover", handover);
            assert_eq!(set, Ok(()));
            for seq in 1..=3 {
                play.data(seq, seq);
            }
            play.ack(20, 2);
            assert_eq!(play.attach(30, Attached::No), []);
            assert_eq!(play.attach(60, Attached::At(1)), sent, "{handover}");
            play.site = 1;
            let answer = play.ack(80, 2);
            let passes = handover == "off";
            assert_eq!(answer == [Seen::Up(2)], passes, "{answer:?}");
        }
    }

    /// Segment 2 came at 2 ms and goes again at 21 ms.
    #[test]
    fn what_goes_again_has_its_own_timestamp_or_a_later_one() {
        for (stamp, sent) in [("kept", at(0)), ("later", at(19))] {
            let mut play = snoop();
            assert_eq!(play.agent.set_knob("snoop_stamp", stamp), Ok(()));
            play.data(1, 1);
            play.data(2, 2);
            play.ack(20, 2);
            assert_eq!(play.ack(21, 2), [Seen::Down(2)]);
            let Some(Carried::Data(segment)) = play.left.last() else {
                unreachable!();
            };
            assert_eq!(segment.sent, sent, "{stamp}");
        }
    }

    /// If there is no time without a link, packets on the old link still arrive.
    #[test]
    fn nothing_is_sent_twice_where_the_old_link_delivers() {
        let mut play = snoop();
        play.data(1, 1);
        assert_eq!(play.attach(30, Attached::At(1)), []);
    }

    #[test]
    fn flows_from_the_mobile_node_and_empty_segments_pass() {
        let mut play = snoop();
        let up = play.pass(1, false, Carried::Data(segment(1)));
        assert_eq!(up, [Seen::Down(1)], "forwarded as it is");
        assert_eq!(play.pass(2, true, Carried::Ack(ack(2))), [Seen::Up(2)]);
        assert_eq!(play.agent.next_timeout(), None);
    }
}
