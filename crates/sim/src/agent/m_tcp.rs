//! M-TCP (Brown & Singh, Computer Communication Review 27(5), 1997): a supervisor host between the sender and the
//! stations of several cells withholds the ACK of the last acknowledged segment. When the mobile node falls silent or
//! its station has lost it, the supervisor sends that ACK with a window of zero: by the standards the sender enters persist
//! mode with its timer and its window unchanged. When the node is back, the supervisor opens the window again, and the
//! sender continues at the old rate. The recovery of Linux goes on with what is in flight (`sender/core/persist.rs`).
//!
//! Only data that the mobile node has acknowledged is acknowledged to the sender, so the end-to-end semantics are kept.
//! The supervisor's own TCP towards the node retransmits losses of the radio link at the third duplicate ACK. After a
//! silence, and when the node is back, unacknowledged data is retransmitted in slow start: one segment, or ten, and two
//! for each ACK. The sender is offered no larger window than the supervisor's buffer, as every receiver offers. If the node
//! waits for a segment that was lost before the supervisor, a silence does not close the window, because only the sender
//! can send that segment.
//!
//! The paper's text was not available; this follows descriptions in later papers (for one Izumikawa, Yamaguchi and
//! Katto, about 2003). Differs because our senders count segments: the ACK of the last segment is withheld, not of the
//! last byte. If there is nothing left to wait for, a silence also ends the withholding: otherwise the end of a transfer
//! would never be acknowledged.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use midflight_control::part::{whole, Knob, KnobError, Part, PartInfo};
use midflight_tcp::{Ack, AckOption, Content, SackBlocks, Segment};
use midflight_units::{Duration, Instant};

use super::cache::{acknowledges, begins, Cache, Edge, LocalTimer};
use super::{Agent, Attached, Ends, Outbox, Passing, Place};
use crate::config::{FlowId, NodeId};
use crate::event::Carried;
use crate::hook::Verdict;

/// Segments that are retransmitted at once when the mobile node is back, as an initial window (RFC 6928), and then for
/// each ACK.
const AT_ONCE: usize = 10;
/// See [`AT_ONCE`].
const PER_ACK: usize = 2;
/// Duplicate ACKs that trigger a retransmission, as in TCP.
const DUPLICATES: u32 = 3;

/// The state of all flows.
#[derive(Clone, Debug)]
pub struct MTcp {
    buffer: u32,
    silence: Duration,
    /// Bytes of data in a full segment of each flow.
    payloads: BTreeMap<FlowId, u32>,
    flows: BTreeMap<FlowId, Flow>,
}

/// A flow towards a mobile node.
#[derive(Clone, Debug)]
struct Flow {
    site: usize,
    mobile: NodeId,
    cache: Cache,
    /// Bytes of the buffer; none if the size of its segments is not known.
    room: Option<NonZeroU32>,
    /// How long the mobile node may be silent.
    timer: LocalTimer,
    /// The last ACK of new data, and the node that it goes to.
    last: Option<(Ack, NodeId)>,
    /// What has been acknowledged to the sender.
    acked: Edge,
    duplicates: u32,
    /// Cached segments are retransmitted, two for each ACK, until this is acknowledged; when that began.
    recovery: Option<(Edge, Instant)>,
    /// The mobile node has a link, as far as the supervisor has been notified.
    has_link: bool,
    /// The window is closed.
    is_closed: bool,
}

impl Default for MTcp {
    fn default() -> Self {
        Self {
            buffer: 1000,
            silence: Duration::from_millis(200),
            payloads: BTreeMap::new(),
            flows: BTreeMap::new(),
        }
    }
}

impl Part for MTcp {
    const INFO: PartInfo = PartInfo {
        name: "m-tcp",
        summary: "a supervisor keeps the last ACK back, closes the window with it when the mobile node is lost, and opens it when that is back",
        source: "Brown & Singh 1997",
        knobs: &[
            Knob {
                name: "m_tcp_buffer",
                default: "1000",
                accepts: "a whole number of segments from 1 to 100000",
                summary: "most segments that the supervisor keeps of a flow",
            },
            Knob {
                name: "m_tcp_silence",
                default: "200ms",
                accepts: "a time of at least 1 ms",
                summary: "least time without an ACK after which the mobile node is lost; it is the mean round trip from the supervisor and four mean deviations",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        let info = &Self::INFO;
        if name == "m_tcp_buffer" {
            self.buffer = whole(info, name, value, 1..=100_000)?;
        } else {
            self.silence = LocalTimer::least(info, name, value)?;
        }
        Ok(())
    }
}

/// The same ACK with one segment less.
fn kept_back(ack: &Ack) -> Ack {
    let before = ack.ack - 1;
    Ack {
        ack: before,
        offset: 0,
        sack: ack.sack.relative_to(ack.ack, before),
        ..*ack
    }
}

impl Flow {
    /// Acknowledges everything to the sender.
    fn tell(&mut self, id: FlowId, option: AckOption, out: &mut Outbox<'_>) {
        let Some((ack, sender)) = self.last else {
            return;
        };
        self.acked = acknowledges(&ack);
        let ack = Ack {
            sack: SackBlocks::default(),
            option,
            window: ack.window.filter(|_| option == AckOption::Nothing),
            ..ack
        };
        out.send(self.site, id, sender, Carried::Ack(self.with_room(ack)));
    }

    /// The ACK with a window of at most what the supervisor keeps.
    fn with_room(&self, ack: Ack) -> Ack {
        let room = self.room.filter(|_| ack.option == AckOption::Nothing);
        Ack {
            window: room.map_or(ack.window, |room| {
                Some(ack.window.map_or(room, |own| own.min(room)))
            }),
            ..ack
        }
    }

    /// Forwards an ACK, with a smaller window if its own is too large.
    fn forward(&self, ack: &Ack) -> Verdict {
        let smaller = self.with_room(*ack);
        if smaller.window == ack.window {
            Verdict::Forward
        } else {
            Verdict::Replace(Carried::Ack(smaller))
        }
    }

    /// It keeps the segment that the mobile node waits for.
    fn can_repair(&mut self) -> bool {
        let Some((ack, _)) = self.last else {
            return true;
        };
        self.cache.get_mut(acknowledges(&ack)).is_some()
    }

    /// Retransmits some of the segments that were handed over before the recovery began.
    fn resend(&mut self, now: Instant, id: FlowId, most: usize, out: &mut Outbox<'_>) {
        let Some((_, since)) = self.recovery else {
            return;
        };
        let due = self.cache.values_mut().filter(|kept| kept.handed < since);
        for kept in due.take(most) {
            (kept.resent, kept.handed) = (kept.resent + 1, now);
            let what = Carried::Data(kept.stamped(now));
            out.send(self.site, id, self.mobile, what);
        }
    }

    /// Starts to retransmit the cached segments, some of them now.
    fn recover(&mut self, now: Instant, id: FlowId, most: usize, out: &mut Outbox<'_>) {
        let highest = self.cache.highest().unwrap_or_default();
        self.recovery = Some((highest, now));
        self.resend(now, id, most, out);
    }

    fn close(&mut self, id: FlowId, out: &mut Outbox<'_>) {
        self.is_closed = true;
        self.tell(id, AckOption::ZeroWindow, out);
    }

    fn open(&mut self, id: FlowId, out: &mut Outbox<'_>) {
        if std::mem::take(&mut self.is_closed) {
            self.tell(id, AckOption::Nothing, out);
        }
    }
}

impl Agent for MTcp {
    fn equip(&mut self, flow: FlowId, ends: &Ends) {
        self.payloads.insert(flow, ends.sender.payload_bytes());
    }

    fn place(&self) -> Place {
        Place::Router
    }

    fn on_segment(
        &mut self,
        passing: &Passing,
        segment: &Segment,
        out: &mut Outbox<'_>,
    ) -> Verdict {
        let is_probe = segment.content == Content::WindowProbe;
        let is_data = segment.content == Content::Data && segment.seq > 0;
        if !passing.down || !(is_data || is_probe) {
            return Verdict::Forward;
        }
        let (most, least) = (self.buffer as usize, self.silence);
        let payload = self.payloads.get(&passing.flow);
        let room = payload.and_then(|bytes| NonZeroU32::new(self.buffer.saturating_mul(*bytes)));
        let flow = self.flows.entry(passing.flow).or_insert_with(|| Flow {
            site: passing.site,
            mobile: passing.to,
            cache: Cache::new(most),
            room,
            timer: LocalTimer::new(least),
            last: None,
            // Data follows when the SYN is acknowledged.
            acked: (1, 0),
            duplicates: 0,
            recovery: None,
            has_link: true,
            is_closed: false,
        });
        flow.site = passing.site;
        let is_acknowledged = flow
            .last
            .as_ref()
            .is_some_and(|(ack, _)| begins(segment) < acknowledges(ack));
        if is_probe || is_acknowledged {
            if flow.is_closed {
                flow.close(passing.flow, out);
                return Verdict::Drop;
            }
            if is_acknowledged && is_data {
                flow.tell(passing.flow, AckOption::Nothing, out);
                return Verdict::Drop;
            }
            return Verdict::Forward;
        }
        flow.cache.keep(passing.now, segment);
        if !flow.has_link && flow.cache.get_mut(begins(segment)).is_some() {
            return Verdict::Drop;
        }
        flow.timer.start(passing.now);
        Verdict::Forward
    }

    fn on_ack(&mut self, passing: &Passing, ack: &Ack, out: &mut Outbox<'_>) -> Verdict {
        let Some(flow) = self.flows.get_mut(&passing.flow).filter(|_| !passing.down) else {
            return Verdict::Forward;
        };
        let (now, edge, id) = (passing.now, acknowledges(ack), passing.flow);
        let last = flow.last.as_ref().map(|(ack, _)| acknowledges(ack));
        if ack.option != AckOption::Nothing {
            if last.is_none_or(|last| edge >= last) {
                flow.cache.forget_below(edge);
                flow.last = Some((*ack, passing.to));
                flow.acked = edge;
            }
            return Verdict::Forward;
        }
        if last.is_some_and(|last| edge < last) {
            return Verdict::Drop;
        }
        if last == Some(edge) {
            let kept = flow.cache.get_mut(edge);
            let Some(kept) = kept.filter(|kept| !kept.by_sender) else {
                flow.acked = edge;
                return flow.forward(ack);
            };
            flow.duplicates += 1;
            if flow.duplicates == DUPLICATES {
                (kept.resent, kept.handed) = (kept.resent + 1, now);
                let what = Carried::Data(kept.stamped(now));
                out.send(flow.site, id, flow.mobile, what);
                flow.timer.restart(now);
            }
            return Verdict::Drop;
        }
        let handed = flow.cache.forget_below(edge);
        flow.timer.on_new_ack(now, handed);
        (flow.last, flow.duplicates) = (Some((*ack, passing.to)), 0);
        // A silence also ends the withholding.
        flow.timer.restart(now);
        flow.open(id, out);
        if flow.recovery.is_some_and(|(highest, _)| edge > highest) {
            flow.recovery = None;
        }
        flow.resend(now, id, PER_ACK, out);
        let before = kept_back(ack);
        if flow.acked >= acknowledges(&before) {
            return Verdict::Drop;
        }
        flow.acked = acknowledges(&before);
        Verdict::Replace(Carried::Ack(flow.with_room(before)))
    }

    fn on_attachment(&mut self, now: Instant, mobile: NodeId, to: Attached, out: &mut Outbox<'_>) {
        for (&id, flow) in self.flows.iter_mut().filter(|(_, f)| f.mobile == mobile) {
            if to == Attached::No {
                flow.has_link = false;
                flow.timer.stop();
                flow.close(id, out);
                continue;
            }
            if let Attached::At(site) = to {
                flow.site = site;
            }
            if std::mem::replace(&mut flow.has_link, true) {
                continue;
            }
            flow.open(id, out);
            flow.recover(now, id, AT_ONCE, out);
            if !flow.cache.is_empty() {
                flow.timer.restart(now);
            }
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        LocalTimer::earliest(self.flows.values().map(|flow| &flow.timer))
    }

    fn on_timeout(&mut self, now: Instant, out: &mut Outbox<'_>) {
        for (&id, flow) in &mut self.flows {
            if !flow.timer.is_due(now) {
                continue;
            }
            if flow.cache.is_empty() || !flow.can_repair() {
                flow.timer.stop();
                let is_acked = flow
                    .last
                    .as_ref()
                    .is_none_or(|(ack, _)| flow.acked >= acknowledges(ack));
                if !is_acked {
                    flow.tell(id, AckOption::Nothing, out);
                }
                continue;
            }
            flow.close(id, out);
            flow.recover(now, id, 1, out);
            flow.timer.back_off(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, segment, Played, Seen};
    use super::*;
    use crate::agent::AnyAgent;

    fn supervisor() -> Played {
        let mut play = Played::new(AnyAgent::MTcp(MTcp::default()));
        for seq in 1..=4 {
            assert_eq!(play.data(seq, seq), [Seen::Down(seq)]);
        }
        play
    }

    /// The node acknowledges up to 3, the sender gets an ACK of 2.
    #[test]
    fn the_last_ack_is_kept_back() {
        let mut play = supervisor();
        assert_eq!(play.ack(20, 3), [Seen::Up(2)]);
        assert_eq!(play.ack(22, 5), [Seen::Up(4)]);
        // Nothing is left to wait for: after a silence the sender gets the ACK.
        assert_eq!(play.wake(), [Seen::Up(5)]);
        assert_eq!(play.agent.next_timeout(), None);
    }

    /// The first ACK would repeat the ACK of the SYN.
    #[test]
    fn what_would_be_a_duplicate_is_not_sent() {
        let mut play = supervisor();
        play.ack(20, 2);
        assert_eq!(play.left, [], "an ACK of 1");
        assert_eq!(play.ack(21, 3), [Seen::Up(2)]);
    }

    /// The paper's example: the node is lost, and the withheld ACK closes the window; the node is back, the window
    /// opens, and unacknowledged data is retransmitted.
    #[test]
    fn a_handoff_closes_and_opens_the_window() {
        let mut play = supervisor();
        play.ack(20, 3);
        assert_eq!(play.attach(30, Attached::No), [Seen::Closed(3)]);
        assert_eq!(play.data(31, 5), [], "kept for later");
        let probe = Segment {
            content: Content::WindowProbe,
            ..segment(2)
        };
        assert_eq!(
            play.pass(500, true, Carried::Data(probe)),
            [Seen::Closed(3)]
        );
        let back = [Seen::Up(3), Seen::Down(3), Seen::Down(4), Seen::Down(5)];
        assert_eq!(play.attach(900, Attached::Elsewhere), back);
        assert_eq!(play.ack(940, 6), [Seen::Up(5)]);
        assert_eq!(play.data(941, 6), [Seen::Down(6)]);
    }

    /// A silence of the minimum time, 200 ms, has the effect of a lost link, until an ACK comes.
    #[test]
    fn silence_closes_the_window_until_an_ack_comes() {
        let mut play = supervisor();
        play.ack(20, 3);
        assert_eq!(play.agent.next_timeout(), Some(at(220)));
        assert_eq!(play.wake(), [Seen::Closed(3), Seen::Down(3)]);
        assert_eq!(play.ack(300, 5), [Seen::Up(5)]);
    }

    #[test]
    fn the_third_duplicate_is_answered_here() {
        let mut play = supervisor();
        play.ack(20, 3);
        assert_eq!(play.ack(21, 3), []);
        assert_eq!(play.ack(22, 3), []);
        assert_eq!(play.ack(23, 3), [Seen::Down(3)]);
        assert_eq!(play.ack(24, 3), []);
    }

    /// Segment 1 came at 1 ms. It goes again at 201 ms with a timestamp that is 200 ms later, and the third of its duplicates
    /// likewise: the sender's own retransmissions, which are newer, would have the receiver discard older ones (PAWS).
    #[test]
    fn what_goes_again_has_a_later_timestamp() {
        let stamp = |play: &Played| match play.left.last() {
            Some(Carried::Data(segment)) => segment.sent,
            _ => Instant::NEVER,
        };
        let mut play = supervisor();
        assert_eq!(
            play.wake(),
            [Seen::Down(1)],
            "nothing to close the window with"
        );
        assert_eq!(stamp(&play), at(1000));
        play.ack(1200, 2);
        play.ack(1201, 2);
        play.ack(1202, 2);
        assert_eq!(play.ack(1203, 2), [Seen::Down(2)]);
        assert_eq!(stamp(&play), at(1201));
    }

    /// The sender must retransmit segments that were lost before the supervisor, and gets all their duplicate ACKs.
    #[test]
    fn duplicates_for_what_never_came_pass() {
        let mut play = Played::new(AnyAgent::MTcp(MTcp::default()));
        for seq in [1, 2, 4, 5] {
            play.data(seq, seq);
        }
        assert_eq!(play.ack(20, 3), [Seen::Up(2)]);
        assert_eq!(play.ack(21, 3), [Seen::Up(3)]);
        assert_eq!(play.ack(22, 3), [Seen::Up(3)]);
    }

    /// Segment 3 was lost before the supervisor: a closed window would keep the sender from sending it again.
    #[test]
    fn a_silence_for_what_never_came_does_not_close_the_window() {
        let mut play = Played::new(AnyAgent::MTcp(MTcp::default()));
        for seq in [1, 2, 4, 5] {
            play.data(seq, seq);
        }
        assert_eq!(play.ack(20, 3), [Seen::Up(2)]);
        assert_eq!(play.wake(), [Seen::Up(3)], "what was kept back");
        assert_eq!(play.agent.next_timeout(), None);
    }

    /// A buffer of four segments, of 1,448 bytes with timestamps and of 1,460 without. An ACK of the node's own may have a
    /// smaller window.
    #[test]
    fn the_window_is_at_most_the_buffer() {
        window_of_four("linux", 4 * 1448);
        window_of_four("ns2", 4 * 1460);
    }

    fn window_of_four(profile: &str, bytes: u32) {
        let mut play = Played::new(AnyAgent::MTcp(MTcp::default()));
        assert_eq!(play.agent.set_knob("m_tcp_buffer", "4"), Ok(()));
        play.equip(profile);
        for seq in 1..=4 {
            play.data(seq, seq);
        }
        let window = |play: &Played| match play.left.last() {
            Some(Carried::Ack(ack)) => ack.window.map(NonZeroU32::get),
            _ => None,
        };
        play.ack(20, 3);
        assert_eq!(window(&play), Some(bytes));
        let small = Ack {
            window: NonZeroU32::new(1000),
            ..super::super::testing::ack(4)
        };
        play.pass(30, false, Carried::Ack(small));
        assert_eq!(window(&play), Some(1000));
    }

    #[test]
    fn a_retransmission_of_what_is_kept_back_is_acknowledged() {
        let mut play = supervisor();
        play.ack(20, 3);
        assert_eq!(play.data(300, 2), [Seen::Up(3)]);
    }
}
