//! The policy `reordering` with every kind of recovery, one ACK at a time.
#![allow(clippy::panic, reason = "a failed test panics")]

use crate::common::{before, DrivenSender};
use midflight_control::policy::Policy;
use midflight_control::{LinkInfo, Notice, Order};
use midflight_units::{Duration, Instant, Rate, Seq};

const ALL: [&str; 5] = ["tahoe", "reno", "newreno", "sack1", "sack"];
const WITH_SACK: [&str; 2] = ["sack1", "sack"];

/// cwnd = ssthresh = 12, segments 1 to 12 outstanding, SRTT 100 ms, deviation 50 ms; then 20 ms
/// pass, and ACKs arrive every `step_ms`.
fn start(recovery: &str, rule: &str, step_ms: u64, settings: &[(&str, &str)]) -> DrivenSender {
    let mut all = vec![
        ("recovery", recovery),
        ("initial_window", "12"),
        ("initial_ssthresh", "12"),
        ("rtt_sampling", "one-per-window"),
    ];
    all.extend(settings);
    let mut s = DrivenSender::closed(&all, 100);
    let mut policy = Policy::named("reordering").unwrap_or_else(|| panic!("registered"));
    assert_eq!(policy.set_knob("reordering_rule", rule), Ok(()));
    s.sender.watch_retransmissions();
    s.sender.set_policies([policy]);
    assert_eq!(s.send(), [0]);
    assert_eq!(s.ack(1).len(), 12);
    s.now += Duration::from_millis(20);
    s.step = Duration::from_millis(step_ms);
    s
}

fn link(kbps: u64, ms: u64) -> LinkInfo {
    LinkInfo {
        rate: Rate::from_bps(kbps * 1000).unwrap_or(Rate::from_mbps(1)),
        delay: Duration::from_millis(ms),
    }
}

/// A busy link: 12 outstanding segments take 180 ms. Segments that can overtake the last one: gap =
/// 90 + 15 - 1 - 0.2 = 103.8 ms at 800 kbit/s, 6.9 packets; 7 and one. The new link's BDP is 54
/// Mbit/s x 2.2 ms, 10 packets.
fn from_a_busy_link(s: &mut DrivenSender) -> Vec<Seq> {
    let notice = Notice {
        old: link(800, 90),
        new: link(54_000, 1),
        flows: 1,
    };
    s.sender.on_notice(s.now, &notice, &mut s.seen);
    s.send()
}

/// A link with pauses: 12 outstanding segments take 22.5 ms. The last ACK is due 100 + 50 -
/// (45 - 1) = 106 ms from now.
fn from_a_link_with_pauses(s: &mut DrivenSender) -> Instant {
    let notice = Notice {
        old: link(6400, 45),
        new: link(6400, 1),
        flows: 1,
    };
    s.sender.on_notice(s.now, &notice, &mut s.seen);
    assert_eq!(s.send(), []);
    s.now + Duration::from_millis(106)
}

/// The `d`th duplicate for segment 1: 2 to `d` + 1 have arrived.
fn duplicate(s: &mut DrivenSender, d: u64) -> Vec<Seq> {
    s.sack(1, &[(2, d + 2)])
}

/// Eight duplicates instead of three; the seven before send a segment each.
#[test]
fn the_derived_threshold_starts_fast_retransmit() {
    for recovery in ALL {
        for limited in ["on", "off"] {
            let mut s = start(recovery, "derived", 1, &[("limited_transmit", limited)]);
            assert_eq!(from_a_busy_link(&mut s), []);
            for d in 1..=7 {
                assert_eq!(duplicate(&mut s, d), [d + 12], "{recovery} {d}");
                assert_eq!(s.window(), (12, 12, 12 + d), "{recovery} {d}");
            }
            assert_eq!(s.seen.fast_retransmits, [], "{recovery}");
            assert_eq!(duplicate(&mut s, 8), [1], "{recovery}");
            assert_eq!(s.seen.fast_retransmits, [1], "{recovery}");
            assert_eq!(s.window().1, 6, "{recovery}: the load is that of before");
        }
    }
}

/// Without the notice, and after a notice of more delay, the third duplicate indicates a loss.
#[test]
fn the_usual_threshold_holds_otherwise() {
    for recovery in ALL {
        for notified in [false, true] {
            let mut s = start(recovery, "derived", 1, &[]);
            if notified {
                let notice = Notice {
                    old: link(54_000, 1),
                    new: link(800, 90),
                    flows: 1,
                };
                s.sender.on_notice(s.now, &notice, &mut s.seen);
            }
            for d in 1..=3 {
                let _ = duplicate(&mut s, d);
            }
            assert_eq!(s.seen.fast_retransmits, [1], "{recovery} {notified}");
            assert_eq!(s.seen.orders, [], "{recovery} {notified}");
        }
    }
}

/// Between two arrivals over the busy link ceil(54000 / 800) = 68 may come, and one; for these
/// recoveries the two rules do not differ in anything else.
#[test]
fn the_improved_threshold_is_the_ratio_of_the_rates() {
    for recovery in ALL {
        let mut s = start(recovery, "improved", 1, &[]);
        let _ = from_a_busy_link(&mut s);
        assert_eq!(s.sender.view().dup_threshold, 70, "{recovery}");
        let mut s = start(recovery, "improved", 1, &[]);
        let notice = Notice {
            old: link(800, 90),
            new: link(1600, 1),
            flows: 1,
        };
        s.sender.on_notice(s.now, &notice, &mut s.seen);
        assert_eq!(s.sender.view().dup_threshold, 4, "{recovery}");
        // Without blocks, so that the order of earlier segments gives no information.
        s.sender.on_timer(s.now, &mut s.seen);
        if !WITH_SACK.contains(&recovery) {
            for d in 1..=3 {
                assert_eq!(s.ack(1), [d + 12], "{recovery}");
            }
            assert_eq!(s.ack(1), [1], "{recovery}");
        }
    }
}

/// A segment for each duplicate, up to two windows; then none, until the wait is over.
#[test]
fn limited_transmit_continues_up_to_two_windows() {
    for recovery in ["tahoe", "reno", "newreno", "sack1"] {
        let mut s = start(recovery, "improved", 1, &[]);
        let until = from_a_link_with_pauses(&mut s);
        for d in 1..=12 {
            assert_eq!(duplicate(&mut s, d), [d + 12], "{recovery} {d}");
        }
        for d in 13..=23 {
            assert_eq!(duplicate(&mut s, d), [], "{recovery} {d}");
            assert_eq!(s.window(), (12, 12, 24), "{recovery} {d}");
        }
        // The first segment was sent 20 ms before the notice.
        assert_eq!(s.due(), before(until, 20), "{recovery}");
    }
    // RFC 6675: segments on the new link, to which the old link's order does not apply.
    let mut s = start("sack", "improved", 1, &[]);
    let until = from_a_link_with_pauses(&mut s);
    assert_eq!(s.ack(2), [13]);
    for d in 0..13 {
        let sent = s.sack(2, &[(13, 14 + d)]);
        let expected: &[Seq] = if d < 12 { &[14 + d] } else { &[] };
        assert_eq!(sent, expected, "{d}");
    }
    assert_eq!(s.window().2, 24);
    assert_eq!(s.due(), before(until, 20));
}

/// When the ACK of a segment is overdue the usual number of duplicates is enough, at once.
#[test]
fn the_end_of_the_wait_retransmits_overdue_segments() {
    for recovery in ALL {
        let mut s = start(recovery, "improved", 1, &[]);
        let until = from_a_link_with_pauses(&mut s);
        assert_eq!(s.ack(2).len(), 1, "{recovery}");
        for d in 0..3 {
            assert_eq!(s.sack(2, &[(13, 14 + d)]), [14 + d], "{recovery}");
        }
        assert_eq!(s.due(), before(until, 20), "{recovery}");
        let (timeout, sent) = s.timer();
        assert!(!timeout, "{recovery}");
        // RFC 6675 considers all segments with three above them lost, and the pipe is short.
        let expected: &[Seq] = if recovery == "sack" {
            &[2, 3, 4, 5, 6]
        } else {
            &[2]
        };
        assert_eq!(sent, expected, "{recovery}");
        assert_eq!(s.seen.fast_retransmits, [2], "{recovery}");
        assert_eq!(s.window().1, 6, "{recovery}");
        // Duplicates still give no information about later segments.
        assert!(s.sender.view().reordering.is_some(), "{recovery}");
    }
}

/// After a break, segments sent before it are overdue when the notice arrives: the third duplicate
/// indicates a loss.
#[test]
fn overdue_segments_at_the_notice_do_not_wait() {
    for recovery in ALL {
        let mut s = start(recovery, "improved", 1, &[("min_rto", "2 s")]);
        s.now += Duration::from_millis(500);
        let _ = from_a_link_with_pauses(&mut s);
        for d in 0..3 {
            assert_eq!(s.seen.fast_retransmits, [], "{recovery}");
            let _ = duplicate(&mut s, d + 1);
        }
        assert_eq!(s.seen.fast_retransmits, [1], "{recovery}");
    }
}

/// Two duplicates are not enough; the third, which comes later, is.
#[test]
fn after_the_wait_the_usual_threshold_holds() {
    for recovery in ALL {
        let mut s = start(recovery, "improved", 1, &[]);
        let until = from_a_link_with_pauses(&mut s);
        let _ = s.ack(2);
        for d in 0..2 {
            let _ = s.sack(2, &[(13, 14 + d)]);
        }
        assert_eq!(s.due(), until, "{recovery}");
        assert_eq!(s.timer(), (false, vec![]), "{recovery}");
        assert_eq!(s.seen.fast_retransmits, [], "{recovery}");
        let _ = s.sack(2, &[(13, 16)]);
        assert_eq!(s.seen.fast_retransmits, [2], "{recovery}");
    }
}

/// The ACK of everything sent before the notice ends it.
#[test]
fn the_last_segment_of_before_ends_it() {
    for recovery in ALL {
        for rule in ["improved", "derived"] {
            let mut s = start(recovery, rule, 1, &[]);
            let _ = from_a_busy_link(&mut s);
            let _ = s.ack(12);
            assert!(s.sender.view().reordering.is_some(), "{recovery} {rule}");
            let _ = s.ack(13);
            assert!(s.sender.view().reordering.is_none(), "{recovery} {rule}");
            assert_eq!(s.seen.orders.last(), Some(&Order::EndReordering));
            for d in 0..3 {
                let _ = s.sack(13, &[(14, 15 + d)]);
            }
            assert_eq!(s.seen.fast_retransmits, [13], "{recovery} {rule}");
        }
    }
}

/// A timeout ends it too.
#[test]
fn a_timeout_ends_it() {
    for recovery in ALL {
        let mut s = start(recovery, "derived", 1, &[]);
        let _ = from_a_busy_link(&mut s);
        assert_eq!(s.timeout(), [1], "{recovery}");
        assert!(s.sender.view().reordering.is_none(), "{recovery}");
    }
}

/// RFC 6675: three segments of the old link SACKed above one of it indicate its loss, any number of
/// the new link's do not.
#[test]
fn segments_of_the_old_link_keep_their_order() {
    let mut s = start("sack", "improved", 1, &[]);
    let _ = from_a_link_with_pauses(&mut s);
    let _ = s.ack(2);
    for d in 0..8 {
        let _ = s.sack(2, &[(13, 14 + d)]);
    }
    for d in 0..2 {
        let _ = s.sack(2, &[(3, 4 + d), (13, 21)]);
        assert_eq!(s.seen.fast_retransmits, [], "{d}");
    }
    // 3, 4, 5 have arrived: 2 is lost; 6 and later ones are in flight.
    assert_eq!(s.sack(2, &[(3, 6), (13, 21)])[0], 2);
    assert_eq!(s.seen.fast_retransmits, [2]);
    let lost_and_late = s.sender.view().pipe;
    // 7 to 9 arrive: 6 is lost too, and is retransmitted when the window has room.
    let _ = s.sack(2, &[(7, 10), (3, 6), (13, 21)]);
    assert_eq!(s.sender.view().pipe, lost_and_late - 4);
}

/// A segment sent within the new link's delay of 1 ms before the notice may have taken either link;
/// earlier ones have not. (The sample of 21 ms leaves an estimate of 90.1 ms, less than the old
/// link's own round trip.)
#[test]
fn segments_sent_just_before_the_notice_indicate_nothing() {
    for (ago_us, expected) in [(900, vec![]), (1100, vec![5])] {
        let mut s = start("sack", "improved", 1, &[]);
        assert_eq!(s.ack(5).len(), 4);
        s.now += Duration::from_micros(ago_us);
        let notice = Notice {
            old: link(6400, 45),
            new: link(6400, 1),
            flows: 1,
        };
        s.sender.on_notice(s.now, &notice, &mut s.seen);
        let _ = s.sack(5, &[(13, 17)]);
        assert_eq!(s.seen.fast_retransmits, expected, "{ago_us}");
    }
}

/// A fast retransmit of 1 at the eighth duplicate; then its original arrives, and the
/// retransmission causes a DSACK.
fn falsely_retransmitted(recovery: &str) -> DrivenSender {
    let mut s = start(recovery, "derived", 1, &[]);
    let _ = from_a_busy_link(&mut s);
    for d in 1..=8 {
        let _ = duplicate(&mut s, d);
    }
    assert_eq!(s.seen.fast_retransmits, [1], "{recovery}");
    let _ = s.ack(10);
    s
}

/// min(12, 10): the window before, at most the new link's BDP.
#[test]
fn dsack_takes_a_fast_retransmit_back() {
    for recovery in WITH_SACK {
        let mut s = falsely_retransmitted(recovery);
        let _ = s.sack(10, &[(1, 2)]);
        assert_eq!(s.seen.spurious_retransmits, 1, "{recovery}");
        let v = s.sender.view();
        assert_eq!((v.cwnd, v.ssthresh), (10.0, 10.0), "{recovery}");
        assert!(!v.in_fast_recovery, "{recovery}");
    }
}

#[test]
fn without_dsack_nothing_is_taken_back() {
    for recovery in ALL {
        let mut s = falsely_retransmitted(recovery);
        for ack in 11..=19 {
            let _ = s.ack(ack);
        }
        assert_eq!(s.seen.spurious_retransmits, 0, "{recovery}");
        assert_eq!(s.window().1, 6, "{recovery}");
    }
}

/// The retransmission and the DSACK before the notice; whichever comes last triggers the undo.
#[test]
fn a_fast_retransmit_before_the_notice_is_taken_back_too() {
    for recovery in WITH_SACK {
        for report_first in [true, false] {
            let mut s = start(recovery, "derived", 1, &[]);
            for d in 1..=3 {
                let _ = duplicate(&mut s, d);
            }
            let _ = s.ack(10);
            for report in [report_first, !report_first] {
                assert_eq!(s.seen.spurious_retransmits, 0, "{recovery}");
                if report {
                    let _ = s.sack(10, &[(1, 2)]);
                } else {
                    let _ = from_a_busy_link(&mut s);
                }
            }
            assert_eq!(s.seen.spurious_retransmits, 1, "{recovery}");
            let v = s.sender.view();
            assert_eq!((v.cwnd, v.ssthresh), (10.0, 10.0), "{recovery}");
        }
    }
}

/// A response with its own wait keeps that, with at least as many duplicates.
#[test]
fn other_responses_keep_their_wait() {
    for recovery in WITH_SACK {
        let mut s = start(recovery, "derived", 1, &[("dupack", "ncr-aggressive")]);
        let _ = from_a_busy_link(&mut s);
        for d in 1..=10 {
            assert_eq!(duplicate(&mut s, d), [d + 12], "{recovery} {d}");
        }
        assert_eq!(duplicate(&mut s, 11), [1], "{recovery}: 22 / 2");
        let mut s = start(recovery, "improved", 1, &[("dupack", "ncr-aggressive")]);
        let _ = from_a_busy_link(&mut s);
        for d in 1..=11 {
            let _ = duplicate(&mut s, d);
        }
        assert_eq!(s.seen.fast_retransmits, [], "{recovery}");
        // DCR counts its round trip from the eighth duplicate.
        let mut s = start(recovery, "derived", 1, &[("dupack", "dcr")]);
        let _ = from_a_busy_link(&mut s);
        for d in 1..=8 {
            let _ = duplicate(&mut s, d);
        }
        let wait = Duration::from_millis(100);
        assert_eq!(s.due(), s.now + wait, "{recovery}");
        assert_eq!(s.timer(), (false, vec![1]), "{recovery}");
    }
}
