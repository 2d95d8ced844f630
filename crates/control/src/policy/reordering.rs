//! Reordering after a make-before-break handoff to less delay: segments on the
//! new link overtake those on the old one, and their duplicate ACKs look like a
//! loss (Daniel, Jarvinen & Kojo, overview of vertical-handoff enhancements,
//! table row "Packet reordering"; Daniel & Kojo, report on available bandwidth,
//! section 3.1).
//!
//! At the notice the policy orders how many duplicates to wait for, while each of them sends a new
//! segment, up to two windows in flight. This ends when everything sent before the notice is
//! acknowledged, or the timer expires. If DSACKs show that a fast retransmit since one RTO before
//! the notice and before that end was unneeded, it is undone, but to at most the flow's share of
//! the new link.
//!
//! The paper that defines the algorithm (WiMob 2008) was not available. The `derived` rule is based
//! on its abstract: as many duplicates as segments can overtake. The `improved` rule uses more of
//! the sender's information (`docs/reordering.md` derives and measures both):
//!
//! - Time. The ACK of a segment must arrive one round trip of the old path after it was sent, with
//!   the ACK's way over the new link. For an overdue segment duplicates have their usual meaning,
//!   and for all segments once that time has passed since the notice.
//! - Order. The old link keeps the order of its segments, so SACKed ones among them indicate a loss
//!   as usual; those on the new link give no information.
//! - Pace. While the old link is busy it delivers a segment every `SDpkt_old`, and each of these
//!   ends the previous duplicates; in between the new link delivers at most as many segments as the
//!   ratio of the rates, plus one. More duplicates indicate a loss.
//!
//! A notice does not indicate whether the handoff was make-before-break. After a break, segments
//! sent long enough before it are overdue when the notice arrives, and the others wait in vain for
//! at most that time.

use midflight_units::{Instant, Seq};

use super::HandoffPolicy;
use crate::part::{choose, Knob, KnobError, Part, PartInfo};
use crate::spurious::Unneeded;
use crate::{AckNews, Interests, Notice, Order, Orders, Reordering, SenderView};

/// Windows that extended limited transmit may have in flight.
const WINDOWS: f64 = 2.0;
/// Minimum queue of an access link, in packets, where the derived rule guesses it (Daniel & Kojo
/// 2008, section 4).
const LEAST_BUFFER: u64 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Improved,
    Derived,
}

/// A handoff to less delay.
#[derive(Clone, Copy, Debug)]
struct Handoff {
    /// One past the highest segment sent before the notice.
    edge: Seq,
    /// When reordering ended, if it has.
    over: Option<Instant>,
    /// Fast retransmits before this were not caused by the handoff.
    since: Instant,
    /// The flow's share of the new link's BDP, in segments.
    share: f64,
}

/// State and knobs of the reordering algorithm.
#[derive(Clone, Copy, Debug)]
pub struct ExpectReordering {
    rule: Rule,
    count_queue: bool,
    handoff: Option<Handoff>,
}

impl Default for ExpectReordering {
    fn default() -> Self {
        Self {
            rule: Rule::Improved,
            count_queue: true,
            handoff: None,
        }
    }
}

impl Part for ExpectReordering {
    const INFO: PartInfo = PartInfo {
        name: "reordering",
        summary: "after a handoff to less delay wait for overtaken segments, and undo an unneeded fast retransmit",
        source: "after Daniel, Jarvinen & Kojo 2008 (WiMob), of which the abstract is known; docs/reordering.md",
        knobs: &[
            Knob {
                name: "reordering_rule",
                default: "improved",
                accepts: "improved, derived",
                summary: "how long to wait: by time, order and pace, or for as many duplicate ACKs as segments can overtake",
            },
            Knob {
                name: "reordering_queue",
                default: "yes",
                accepts: "yes, no",
                summary: "the derived rule counts the segments that may be queued at the old link",
            },
        ],
    };

    fn set_knob(&mut self, name: &str, value: &str) -> Result<(), KnobError> {
        if name == "reordering_rule" {
            let choices = [("improved", Rule::Improved), ("derived", Rule::Derived)];
            self.rule = choose(&Self::INFO, name, value, &choices)?;
        } else {
            let choices = [("yes", true), ("no", false)];
            self.count_queue = choose(&Self::INFO, name, value, &choices)?;
        }
        Ok(())
    }
}

/// `n`: how many segments on the new link can overtake the last one on the old link, with this many
/// outstanding. The last one leaves the old link after its queue, `gap` later than the first one
/// leaves the new link; until then segments arrive at the pace of the slower link.
fn overtaking(notice: &Notice, (flight, bytes): (u64, u32), count_queue: bool) -> u64 {
    let (old, new) = (&notice.old, &notice.new);
    let (bits, time) = (8 * u64::from(bytes), u64::from(bytes));
    let queued = if count_queue {
        let buffer = old.rate.bits_in(old.delay * 2).div_ceil(bits);
        let excess = flight.saturating_sub(old.bdp_segments(bytes));
        excess.min(buffer.max(LEAST_BUFFER))
    } else {
        0
    };
    let last_old = old.delay + old.rate.transmission_time(time).saturating_mul(queued + 1);
    let gap = last_old.saturating_sub(new.delay + new.rate.transmission_time(time));
    let pace = old.rate.min(new.rate);
    pace.bits_in(gap).div_ceil(bits)
}

/// As many duplicates as segments can overtake, plus one; at most as many as can arrive.
fn derived(notice: &Notice, view: &SenderView, count_queue: bool) -> Reordering {
    let flight = view.flight_since_rewind();
    let wanted = (overtaking(notice, (flight, view.segment_bytes), count_queue) + 1).min(flight);
    let threshold = u32::try_from(wanted).unwrap_or(u32::MAX);
    Reordering {
        duplicates: threshold.max(view.dup_threshold),
        sacked: threshold.max(view.lost_threshold()),
        in_order_before: Instant::ZERO,
        windows: WINDOWS,
        overdue: None,
        until: None,
    }
}

/// By time, order and pace; see the module documentation.
fn improved(notice: &Notice, view: &SenderView) -> Reordering {
    let (old, new) = (&notice.old, &notice.new);
    // A busy link needs this time for the outstanding segments (Little's law), and that is then the
    // round-trip time; for an idle link the estimate applies.
    let each = old.rate.transmission_time(view.segment_bytes.into());
    let drain = each.saturating_mul(view.flight_since_rewind());
    let srtt = view.srtt.unwrap_or(view.rto);
    let round_trip = srtt.max(drain) + view.rttvar.unwrap_or_default();
    let saved = old.delay.saturating_sub(new.delay);
    let overdue = round_trip.saturating_sub(saved);
    // Between two arrivals over the busy old link: the ratio of the rates, rounded up, plus one.
    let busy = drain + each >= srtt;
    let pace = new.rate.as_bps().div_ceil(old.rate.as_bps()) + 2;
    let duplicates = if busy {
        u32::try_from(pace).unwrap_or(u32::MAX)
    } else {
        u32::MAX
    };
    // The notice has come over the new link and the path behind it. Segments that were sent since,
    // or were on that path then, may have gone over the new link.
    let behind = srtt.saturating_sub(old.round_trip());
    Reordering {
        duplicates: duplicates.max(view.dup_threshold),
        sacked: u32::MAX,
        in_order_before: view.now.saturating_sub(new.delay + behind),
        windows: WINDOWS,
        overdue: Some(overdue),
        until: Some(view.now + overdue),
    }
}

impl ExpectReordering {
    /// Records the end; returns the order that ends reordering at the sender, unless the sender has
    /// detected the end itself.
    fn end(&mut self, view: &SenderView, why: &str) -> Orders {
        if let Some(handoff) = &mut self.handoff {
            handoff.over = Some(view.now);
        }
        if view.reordering.is_some() {
            Orders::none().with(Order::EndReordering, why)
        } else {
            Orders::none()
        }
    }
}

impl HandoffPolicy for ExpectReordering {
    fn on_notice(&mut self, notice: &Notice, view: &SenderView) -> Orders {
        // In RTO recovery everything outstanding is considered lost already.
        let waiting = view.flight_since_rewind() > 0 && !view.in_rto_recovery;
        if !notice.delay_decreases() || !waiting {
            return Orders::none();
        }
        let share = notice.new.bdp_segments(view.segment_bytes) / u64::from(notice.flows.max(1));
        self.handoff = Some(Handoff {
            edge: view.snd_max,
            over: None,
            since: view.now.saturating_sub(view.rto),
            share: share.max(2) as f64,
        });
        let expected = match self.rule {
            Rule::Improved => improved(notice, view),
            Rule::Derived => derived(notice, view, self.count_queue),
        };
        let (old, new) = (notice.old.delay, notice.new.delay);
        Orders::none().with(
            Order::ExpectReordering(expected),
            format!("segments overtake: the delay falls from {old} to {new}"),
        )
    }

    fn on_ack(&mut self, _ack: &AckNews, view: &SenderView) -> Orders {
        match self.handoff {
            Some(Handoff {
                edge, over: None, ..
            }) if view.snd_una >= edge || view.reordering.is_none() => {
                self.end(view, "everything sent before the handoff is acknowledged")
            }
            _ => Orders::none(),
        }
    }

    fn on_timeout(&mut self, _before: &SenderView, view: &SenderView) -> Orders {
        if self.interests().includes(Interests::ACKS) {
            self.end(view, "everything outstanding is taken for lost")
        } else {
            Orders::none()
        }
    }

    fn interests(&self) -> Interests {
        Interests::UNNEEDED | Interests::ACKS.when(self.handoff.is_some_and(|h| h.over.is_none()))
    }

    fn on_unneeded(&mut self, what: &Unneeded, _view: &SenderView) -> Orders {
        let before = &what.before;
        let caused = |h: &Handoff| h.since <= before.at && h.over.is_none_or(|o| before.at <= o);
        let Some(handoff) = self.handoff.filter(|h| !what.timeout && caused(h)) else {
            return Orders::none();
        };
        let why = "no retransmission was needed: the window before, at most the new link's share";
        Orders::none()
            .with(Order::SetSsthresh(before.ssthresh.min(handoff.share)), why)
            .with(Order::SetCwnd(before.cwnd.min(handoff.share)), why)
            .with(Order::LeaveRecovery, why)
    }
}

#[cfg(test)]
mod tests {
    use midflight_units::Duration;

    use super::*;
    use crate::ack::testing::duplicate;
    use crate::policy::testing::{notice, view};
    use crate::spurious::PriorState;

    fn expected(orders: &Orders) -> Option<Reordering> {
        orders.iter().find_map(|(order, _)| match order {
            Order::ExpectReordering(r) => Some(*r),
            _ => None,
        })
    }

    fn with(rule: &str, queue: &str) -> ExpectReordering {
        let mut policy = ExpectReordering::default();
        assert_eq!(policy.set_knob("reordering_rule", rule), Ok(()));
        assert_eq!(policy.set_knob("reordering_queue", queue), Ok(()));
        policy
    }

    /// 800 kbit/s and 150 ms to 1600 kbit/s and 50 ms: `SDpkt` is 15 and 7.5 ms,
    /// the old link's BDP 800 kbit/s x 315.4 ms = 21.03 packets.
    fn to_half_the_delay() -> Notice {
        notice((800, 150), (1600, 50))
    }

    /// Of 31 outstanding 10 are queued: gap = 150 + 11 x 15 - 50 - 7.5 = 257.5 ms,
    /// at 800 kbit/s 17.2 packets, n = 18. Without the queue gap = 107.5 ms, 7.2
    /// packets, n = 8. Of 60 outstanding 20 fill the buffer (800 kbit/s x 300 ms):
    /// gap = 407.5 ms, 27.2 packets, n = 28.
    #[test]
    fn the_derived_rule_waits_for_what_can_overtake() {
        let n = to_half_the_delay();
        for (flight, queue, threshold) in [
            (31, "yes", 19),
            (31, "no", 9),
            (60, "yes", 29),
            // At most FlightSize duplicates can arrive; at least the usual three.
            (8, "no", 8),
            (2, "yes", 3),
        ] {
            let orders = with("derived", queue).on_notice(&n, &view(flight, 1000));
            let expectation = expected(&orders).map(|r| (r.duplicates, r.sacked, r.until));
            assert_eq!(
                expectation,
                Some((threshold, threshold, None)),
                "{flight} {queue}"
            );
        }
    }

    /// Equal rates: gap = 300 + 60 - 150 - 60 = 150 ms at 200 kbit/s, 2.5 packets.
    #[test]
    fn the_derived_rule_at_equal_rates() {
        let n = notice((200, 300), (200, 150));
        assert_eq!(overtaking(&n, (8, 1500), true), 3);
        // A case in which nothing can overtake: the new link has less delay, but a longer
        // transmission time.
        assert_eq!(
            overtaking(&notice((6400, 60), (200, 10)), (8, 1500), false),
            0
        );
    }

    /// 31 outstanding segments take a busy link 31 x 15 = 465 ms. With SRTT 400 ms and a deviation
    /// of 10 ms: 475 ms, of which the ACK's way saves 100. Twice the rate: two between two
    /// arrivals, plus one, plus the one that is too many. The path behind the link is 400 - 315.4 =
    /// 84.6 ms, the new link's delay 50.
    #[test]
    fn the_improved_rule_at_a_busy_link() {
        let sender = SenderView {
            srtt: Some(Duration::from_millis(400)),
            ..view(31, 1000)
        };
        let orders = with("improved", "yes").on_notice(&to_half_the_delay(), &sender);
        let expectation = expected(&orders).unwrap_or_else(|| unreachable!());
        assert_eq!((expectation.duplicates, expectation.sacked), (4, u32::MAX));
        assert_eq!(
            expectation.until,
            Some(sender.now + Duration::from_millis(375))
        );
        let back = sender.now.since(expectation.in_order_before);
        assert_eq!(back, Duration::from_micros(134_600));
    }

    /// 10 outstanding segments take 150 ms: there are pauses in which any number may arrive. Round
    /// trip 400 + 10 ms.
    #[test]
    fn the_improved_rule_at_a_link_with_pauses() {
        let sender = SenderView {
            srtt: Some(Duration::from_millis(400)),
            ..view(10, 1000)
        };
        let orders = with("improved", "yes").on_notice(&to_half_the_delay(), &sender);
        let expectation = expected(&orders).unwrap_or_else(|| unreachable!());
        assert_eq!(
            (expectation.duplicates, expectation.sacked),
            (u32::MAX, u32::MAX)
        );
        assert_eq!(
            expectation.until,
            Some(sender.now + Duration::from_millis(310))
        );
    }

    #[test]
    fn more_delay_nothing_outstanding_or_rto_recovery_leaves_it_idle() {
        let stalled = SenderView {
            in_rto_recovery: true,
            ..view(20, 1000)
        };
        for (n, sender) in [
            (notice((200, 50), (6400, 50)), view(20, 1000)),
            (notice((200, 50), (6400, 60)), view(20, 1000)),
            (to_half_the_delay(), view(0, 1000)),
            (to_half_the_delay(), stalled),
        ] {
            let mut policy = ExpectReordering::default();
            assert!(policy.on_notice(&n, &sender).is_empty());
            assert!(!policy.interests().includes(Interests::ACKS));
        }
    }

    #[test]
    fn it_ends_once_with_the_last_segment_sent_before() {
        let mut policy = ExpectReordering::default();
        let orders = policy.on_notice(&to_half_the_delay(), &view(20, 1000));
        let mut sender = SenderView {
            reordering: expected(&orders),
            snd_una: 119,
            ..view(20, 1000)
        };
        assert!(policy.on_ack(&duplicate(100), &sender).is_empty());
        sender.snd_una = 120;
        assert!(policy
            .on_ack(&duplicate(100), &sender)
            .contains(&Order::EndReordering));
        assert!(!policy.interests().includes(Interests::ACKS));
    }

    #[test]
    fn it_ends_with_a_timeout_or_when_the_sender_has_ended_it() {
        let mut policy = ExpectReordering::default();
        let orders = policy.on_notice(&to_half_the_delay(), &view(20, 1000));
        let sender = SenderView {
            reordering: expected(&orders),
            ..view(20, 1000)
        };
        let mut other = policy;
        let at_timeout = policy.on_timeout(&sender, &sender);
        assert!(at_timeout.contains(&Order::EndReordering));
        assert!(policy.on_timeout(&sender, &sender).is_empty());
        // The time had passed: nothing to order.
        assert!(other.on_ack(&duplicate(100), &view(20, 1000)).is_empty());
        assert!(!other.interests().includes(Interests::ACKS));
    }

    fn unneeded(at: Instant, timeout: bool) -> Unneeded {
        let sender = SenderView {
            now: at,
            cwnd: 40.0,
            ssthresh: 10_000.0,
            ..view(40, 1000)
        };
        Unneeded {
            before: PriorState::of(&sender),
            timeout,
        }
    }

    /// 1600 kbit/s x (2 x 50 + 7.5 + 0.2 ms) = 14.4 packets, for two flows 7 each, for ten the
    /// minimum window of two.
    #[test]
    fn an_unneeded_fast_retransmit_is_taken_back_up_to_the_share_of_the_new_link() {
        for (flows, share) in [(1, 14.0), (2, 7.0), (10, 2.0)] {
            let mut policy = ExpectReordering::default();
            let notice = Notice {
                flows,
                ..to_half_the_delay()
            };
            let _ = policy.on_notice(&notice, &view(40, 1000));
            let sender = view(40, 1000);
            let orders = policy.on_unneeded(&unneeded(sender.now, false), &sender);
            assert!(orders.contains(&Order::SetCwnd(share)), "{flows}");
            assert!(orders.contains(&Order::SetSsthresh(share)), "{flows}");
            assert!(orders.contains(&Order::LeaveRecovery), "{flows}");
        }
        // A larger link gives no more than the previous window.
        let mut policy = ExpectReordering::default();
        let _ = policy.on_notice(&notice((800, 150), (54_000, 50)), &view(40, 1000));
        let sender = view(40, 1000);
        let orders = policy.on_unneeded(&unneeded(sender.now, false), &sender);
        assert!(orders.contains(&Order::SetCwnd(40.0)));
    }

    /// The RTO is a second: a fast retransmit within it before the notice counts.
    #[test]
    fn what_the_handoff_did_not_cause_is_left_alone() {
        let sender = view(40, 1000);
        let before = |ms| sender.now.saturating_sub(Duration::from_millis(ms));
        let mut policy = ExpectReordering::default();
        let what = unneeded(before(1000), false);
        assert!(policy.on_unneeded(&what, &sender).is_empty(), "no notice");
        let _ = policy.on_notice(&to_half_the_delay(), &sender);
        assert!(!policy.on_unneeded(&what, &sender).is_empty());
        let what = unneeded(before(1001), false);
        assert!(policy.on_unneeded(&what, &sender).is_empty(), "too early");
        let what = unneeded(sender.now, true);
        assert!(policy.on_unneeded(&what, &sender).is_empty(), "a timeout");
        let _ = policy.on_ack(&duplicate(100), &sender);
        let what = unneeded(sender.now + Duration::from_nanos(1), false);
        assert!(policy.on_unneeded(&what, &sender).is_empty(), "too late");
    }
}
