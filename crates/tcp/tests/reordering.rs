//! Responses to duplicate ACKs that wait, one ACK at a time: TCP-NCR (RFC 4653) and DCR; and the
//! classification of a loss.
#![allow(clippy::panic, reason = "a failed test panics")]

use crate::common::{before, DrivenSender};
use midflight_control::loss::LossCause;
use midflight_tcp::State;
use midflight_units::{Duration, Instant, Seq};

const WITH_SACK: [&str; 2] = ["sack1", "sack"];
const FAST: [&str; 4] = ["reno", "newreno", "sack1", "sack"];

/// cwnd = ssthresh = 12, segments 1 to 12 outstanding, SRTT 100 ms; ACKs come every 10 ms.
fn start(recovery: &str, settings: &[(&str, &str)]) -> DrivenSender {
    let mut all = vec![
        ("recovery", recovery),
        ("initial_window", "12"),
        ("initial_ssthresh", "12"),
        ("rtt_sampling", "one-per-window"),
    ];
    all.extend(settings);
    let mut s = DrivenSender::closed(&all, 100);
    assert_eq!(s.send(), [0]);
    assert_eq!(s.ack(1).len(), 12);
    s.step = Duration::from_millis(10);
    s
}

/// The `d`th duplicate for segment 1: 2 to `d` + 1 have arrived.
fn duplicate(s: &mut DrivenSender, d: u64) -> Vec<Seq> {
    s.sack(1, &[(2, d + 2)])
}

/// RFC 4653 sections 3.1 and 3.3: each duplicate sends one new segment, until half of the outstanding
/// segments have left the network; then FlightSizePrev is halved.
#[test]
fn aggressive_ncr_sends_one_for_one_and_retransmits_after_a_window() {
    for recovery in WITH_SACK {
        let mut s = start(recovery, &[("dupack", "ncr-aggressive")]);
        for d in 1..=10 {
            assert_eq!(duplicate(&mut s, d), [d + 12], "{recovery}");
            assert_eq!(s.window(), (12, 12, 12 + d), "{recovery}");
        }
        // DupThresh = max(22 / 2, 3).
        assert_eq!(duplicate(&mut s, 11), [1], "{recovery}");
        assert_eq!(s.window(), (6, 6, 22), "{recovery}: 3.4");
        assert_eq!(s.seen.fast_retransmits, [1], "{recovery}");
    }
}

/// Every second duplicate sends, until two thirds have left.
#[test]
fn careful_ncr_sends_one_for_two_and_retransmits_after_a_window() {
    for recovery in WITH_SACK {
        let mut s = start(recovery, &[("dupack", "ncr-careful")]);
        for d in 1..=11 {
            let sent = duplicate(&mut s, d);
            let expected: &[Seq] = if d % 2 == 1 {
                &[12 + d.div_ceil(2)]
            } else {
                &[]
            };
            assert_eq!(sent, expected, "{recovery} {d}");
        }
        // DupThresh = max(2 / 3 of 18, 3).
        assert_eq!(duplicate(&mut s, 12), [1], "{recovery}");
        assert_eq!(s.window(), (6, 6, 18), "{recovery}: 3.4");
    }
}

/// (E.5): an ACK that reports several segments compensates for lost ones, and (E.4) counts for each
/// segment that is sent.
#[test]
fn ncr_makes_up_for_lost_acks() {
    for (dupack, sent) in [
        ("ncr-aggressive", [vec![13, 14], vec![15, 16]]),
        ("ncr-careful", [vec![13], vec![14]]),
    ] {
        let mut s = start("sack", &[("dupack", dupack)]);
        assert_eq!(duplicate(&mut s, 2), sent[0], "{dupack}");
        assert_eq!(duplicate(&mut s, 4), sent[1], "{dupack}");
    }
}

/// The minimum threshold is three; with nothing new to send it is a fraction of the outstanding
/// segments.
#[test]
fn ncr_without_new_data_waits_for_its_share() {
    for recovery in WITH_SACK {
        for (dupack, threshold) in [("ncr-aggressive", 6), ("ncr-careful", 8)] {
            let mut s = start(recovery, &[("dupack", dupack)]);
            s.sender.set_end(13);
            for d in 1..threshold {
                assert_eq!(duplicate(&mut s, d), [], "{recovery} {dupack} {d}");
            }
            assert_eq!(duplicate(&mut s, threshold), [1], "{recovery} {dupack}");
        }
        let mut s = start(recovery, &[("dupack", "ncr-aggressive")]);
        s.sender.set_end(13);
        assert_eq!(s.ack(9), []);
        for d in 1..=3 {
            let _ = s.sack(9, &[(10, 10 + d)]);
            assert_eq!(s.seen.fast_retransmits.len() as u64, d / 3, "{recovery}");
        }
    }
}

/// Section 3.2: an ACK that advances indicates reordering. (T.1) room for one segment and no more,
/// (T.2) back to the window before in slow start, (T.3) new data is sent.
#[test]
fn ncr_ends_reordering_without_a_burst() {
    for recovery in WITH_SACK {
        let mut s = start(recovery, &[("dupack", "ncr-careful")]);
        for d in 1..=4 {
            let _ = duplicate(&mut s, d);
        }
        s.receive_ack(6, &[], None);
        assert_eq!(s.window(), (10, 12, 9), "{recovery}: FlightSize + 1");
        assert_eq!(s.send(), [15], "{recovery}");
        assert_eq!(s.seen.reordered, [1], "{recovery}");
        assert_eq!(s.seen.fast_retransmits, [], "{recovery}");
        // Slow start from there.
        assert_eq!(s.ack(7), [16, 17], "{recovery}");
        // With one new segment per duplicate the window was in use: FlightSizePrev.
        let mut s = start(recovery, &[("dupack", "ncr-aggressive")]);
        for d in 1..=4 {
            let _ = duplicate(&mut s, d);
        }
        s.receive_ack(6, &[], None);
        assert_eq!(s.window(), (12, 12, 11), "{recovery}");
        assert_eq!(s.send(), [17], "{recovery}");
    }
}

/// (T.4): an ACK that advances and still reports segments above it starts again, with the same
/// FlightSizePrev and the steps of section 3.3 at once.
#[test]
fn ncr_starts_over_when_more_is_missing() {
    for recovery in WITH_SACK {
        let mut s = start(recovery, &[("dupack", "ncr-aggressive")]);
        for d in 1..=3 {
            assert_eq!(duplicate(&mut s, d).len(), 1);
        }
        // 5 is missing too.
        assert_eq!(s.sack(1, &[(6, 7), (2, 5)]), [16], "{recovery}");
        assert_eq!(s.sack(1, &[(6, 8), (2, 5)]), [17], "{recovery}");
        s.receive_ack(5, &[(6, 8)], None);
        assert_eq!(s.window(), (12, 12, 13), "{recovery}");
        assert_eq!(s.send(), [18], "{recovery}: segment 1 has left the network");
        assert_eq!(s.sack(5, &[(6, 9)]), [19], "{recovery}");
        // The loss of 5 halves FlightSizePrev, which is 12 still.
        for right in 10..30 {
            if s.sack(5, &[(6, right)]) == [5] {
                break;
            }
        }
        assert_eq!(s.seen.fast_retransmits, [5], "{recovery}");
        assert_eq!(s.window().1, 6, "{recovery}");
    }
}

/// FlightSizePrev of one series of duplicates does not apply to a later one.
#[test]
fn ncr_forgets_a_series_that_has_ended() {
    for recovery in WITH_SACK {
        let mut s = start(recovery, &[("dupack", "ncr-aggressive")]);
        let _ = s.sack(1, &[(2, 3)]);
        // (T.4), then an ACK without blocks.
        let _ = s.sack(3, &[(4, 5)]);
        for n in 5..60 {
            let _ = s.ack(n);
        }
        let flight = s.window().2;
        assert!(flight > 12, "{recovery}");
        for d in 1..100 {
            let _ = s.sack(59, &[(60, 60 + d)]);
        }
        assert_eq!(s.seen.fast_retransmits, [59], "{recovery}");
        assert_eq!(s.window().1, flight / 2, "{recovery}");
    }
}

/// Section 3.4: DupThresh does not change during recovery.
#[test]
fn ncr_holds_its_threshold_in_recovery() {
    let mut s = start("sack", &[("dupack", "ncr-aggressive")]);
    for d in 1..=3 {
        let _ = duplicate(&mut s, d);
    }
    // 5 is missing too; eleven have left with 13.
    for right in 7..=14 {
        let _ = s.sack(1, &[(6, right), (2, 5)]);
    }
    assert_eq!(s.seen.fast_retransmits, [1]);
    // 22 outstanding, 11 SACKed; only 1 has eleven above it, and was retransmitted.
    assert_eq!(s.sender.view().pipe, 11);
    let _ = s.sack(1, &[(6, 15), (2, 5)]);
    assert_eq!(s.sender.view().pipe, 10);
    let _ = s.sack(1, &[(6, 16), (2, 5)]);
    assert_eq!(s.sender.view().pipe, 9, "5 is not lost with ten above it");
    let _ = s.sack(1, &[(6, 17), (2, 5)]);
    assert_eq!(s.sender.view().pipe, 7, "it is with eleven");
}

/// DCR: each duplicate sends one new segment, the window does not change, and one SRTT after the
/// third the segment is retransmitted and the window is halved.
#[test]
fn dcr_waits_one_rtt_from_the_third_duplicate() {
    for recovery in FAST {
        let mut s = start(recovery, &[("dupack", "dcr")]);
        let mut third = Instant::ZERO;
        for d in 1..=8 {
            assert_eq!(duplicate(&mut s, d), [d + 12], "{recovery}");
            assert_eq!(s.window(), (12, 12, 12 + d), "{recovery}");
            if d == 3 {
                third = s.now;
            }
        }
        assert_eq!(s.due(), third + Duration::from_millis(100), "{recovery}");
        let states: Vec<_> = s.seen.transitions.iter().map(|t| t.to).collect();
        assert!(
            states.ends_with(&[State::Classification, State::Delay]),
            "{recovery}"
        );
        assert_eq!(s.timer(), (false, vec![1]), "{recovery}");
        assert_eq!(s.seen.fast_retransmits, [1], "{recovery}");
        assert_eq!(
            s.window().1,
            6,
            "{recovery}: what limited transmit sent does not count"
        );
        let inflated = if WITH_SACK.contains(&recovery) {
            6
        } else {
            6 + 8
        };
        assert_eq!(s.window().0, inflated, "{recovery}");
        // The retransmission arrives.
        let _ = s.ack(21);
        assert!(!s.sender.view().in_fast_recovery, "{recovery}");
        assert!(s.window().0 <= 6, "{recovery}");
        assert_eq!(s.seen.timeouts, [], "{recovery}");
    }
}

#[test]
fn dcr_may_count_from_the_first_duplicate_and_wait_otherwise() {
    for recovery in FAST {
        let settings = [
            ("dupack", "dcr"),
            ("dcr_start", "first"),
            ("dcr_wait", "250"),
        ];
        let mut s = start(recovery, &settings);
        let _ = duplicate(&mut s, 1);
        assert_eq!(s.due(), s.now + Duration::from_millis(250), "{recovery}");
        assert_eq!(s.timer(), (false, vec![1]), "{recovery}");
        assert_eq!(s.window().1, 6, "{recovery}");
    }
}

/// An ACK of new data within the wait ends it: nothing was lost.
#[test]
fn dcr_is_cancelled_by_an_ack_of_new_data() {
    for recovery in FAST {
        let mut s = start(recovery, &[("dupack", "dcr")]);
        for d in 1..=5 {
            let _ = duplicate(&mut s, d);
        }
        let _ = s.ack(7);
        assert_eq!(s.seen.reordered, [1], "{recovery}");
        assert_eq!(
            s.due(),
            s.now + s.sender.view().rto,
            "{recovery}: the timer's"
        );
        let v = s.sender.view();
        assert!(v.cwnd >= 12.0 && v.ssthresh == 12.0, "{recovery}");
        assert_eq!(s.seen.fast_retransmits, [], "{recovery}");
        // Another series waits again.
        for d in 1..=3 {
            let _ = s.sack(7, &[(8, 8 + d)]);
        }
        assert_eq!(
            s.due(),
            s.now + s.sender.view().srtt.unwrap_or_default(),
            "{recovery}"
        );
    }
}

/// While one segment is missing DCR waits; once it is considered lost, a second hole counts as lost
/// by the usual threshold.
#[test]
fn dcr_with_sack_knows_all_losses_when_the_wait_is_over() {
    let mut s = start("sack", &[("dupack", "dcr")]);
    for right in 4..=10 {
        let _ = s.sack(1, &[(3, right)]);
    }
    // Two of 19 are lost, 7 SACKed.
    assert_eq!(s.timer(), (false, vec![1]));
    assert_eq!(s.sender.view().pipe, 19 - 7 - 2 + 1);
}

/// The retransmission timer and the wait: whichever is due first, even if the call is late; at the
/// same instant the wait, which re-arms the timer.
#[test]
fn dcr_and_the_retransmission_timer() {
    for recovery in FAST {
        // The timer first.
        let long = [("dupack", "dcr"), ("dcr_wait", "1000")];
        for late_ms in [0, 500] {
            let mut s = start(recovery, &long);
            let due = s.due();
            s.now = before(due, 100);
            for d in 1..=3 {
                let _ = duplicate(&mut s, d);
            }
            assert_eq!(s.due(), due, "{recovery}");
            s.now = due + Duration::from_secs(1) + Duration::from_millis(late_ms);
            assert!(s.sender.on_timer(s.now, &mut s.seen), "{recovery}");
            assert_eq!(s.send(), [1], "{recovery}");
            assert_eq!(s.seen.timeouts, [1], "{recovery}");
            assert_eq!(s.seen.fast_retransmits, [], "{recovery}");
            assert_eq!(
                s.due(),
                s.now + s.sender.view().rto,
                "{recovery}: no wait is left"
            );
        }
        // Both at once.
        let mut s = start(recovery, &[("dupack", "dcr")]);
        let due = s.due();
        s.now = before(due, 130);
        for d in 1..=3 {
            let _ = duplicate(&mut s, d);
        }
        assert_eq!(s.due(), due, "{recovery}");
        assert_eq!(s.timer(), (false, vec![1]), "{recovery}");
        assert_eq!(
            (s.seen.timeouts.len(), s.seen.fast_retransmits.len()),
            (0, 1),
            "{recovery}"
        );
        assert_eq!(s.due(), due + s.sender.view().rto, "{recovery}");
    }
}

/// DCR when the receiver's window or the end of the data leaves nothing to send.
#[test]
fn dcr_without_new_data_waits_all_the_same() {
    for recovery in FAST {
        let mut s = start(recovery, &[("dupack", "dcr"), ("receiver_window", "12")]);
        for d in 1..=4 {
            assert_eq!(duplicate(&mut s, d), [], "{recovery}");
        }
        assert_eq!(s.timer(), (false, vec![1]), "{recovery}");
        assert_eq!(s.window().1, 6, "{recovery}");
    }
}

/// A sender that has measured `rtts` in milliseconds, a window at a time, with twelve segments in
/// flight; returns the first of them, and cwnd.
fn measured(
    recovery: &str,
    rtts: &[(u64, u64)],
    settings: &[(&str, &str)],
) -> (DrivenSender, Seq, f64) {
    let mut all = vec![("loss", "ld"), ("receiver_window", "12")];
    all.extend(settings);
    let mut s = start(recovery, &all);
    let mut una = 1;
    for &(ms, windows) in rtts {
        for _ in 0..windows {
            s.now += Duration::from_millis(ms);
            s.step = Duration::ZERO;
            for _ in 0..12 {
                una += 1;
                let _ = s.ack(una);
            }
        }
    }
    s.step = Duration::from_millis(1);
    let cwnd = s.sender.view().cwnd;
    (s, una, cwnd)
}

/// LD: with the minimum RTT a loss is attributed to the radio link, with the RTT of a full buffer to
/// congestion.
#[test]
fn ld_keeps_the_window_for_the_radio_and_halves_it_for_congestion() {
    let radio: &[(u64, u64)] = &[(100, 10)];
    let queue: &[(u64, u64)] = &[(100, 10), (120, 20)];
    for recovery in FAST {
        for dupack in ["immediate", "dcr"] {
            for (rtts, cause) in [(radio, LossCause::Wireless), (queue, LossCause::Congestion)] {
                let (mut s, una, cwnd) = measured(recovery, rtts, &[("dupack", dupack)]);
                assert!(cwnd > 13.0, "{recovery}: in congestion avoidance");
                for d in 1..=3 {
                    let _ = s.sack(una, &[(una + 1, una + 1 + d)]);
                }
                if dupack == "dcr" {
                    let (expired, _) = s.timer();
                    assert!(!expired, "{recovery}");
                }
                let name = format!("{recovery} {dupack} {cause:?}");
                assert_eq!(s.seen.judged, [cause], "{name}");
                assert_eq!(s.seen.fast_retransmits, [una], "{name}");
                let kept = cause == LossCause::Wireless;
                assert_eq!(s.window().1, if kept { 12 } else { 6 }, "{name}");
                for d in 4..=11 {
                    let _ = s.sack(una, &[(una + 1, una + 1 + d)]);
                }
                // All twelve have arrived; recovery is over.
                let _ = s.ack(una + 12);
                assert!(!s.sender.view().in_fast_recovery, "{name}");
                let after = s.sender.view().cwnd;
                match (kept, recovery) {
                    // RFC 6582 step 3, option 1: not beyond FlightSize + 1, and nothing is in flight.
                    (true, "newreno") => assert_eq!(after, 2.0, "{name}"),
                    (true, _) => assert_eq!(after, cwnd, "{name}"),
                    (false, _) => assert!(after <= 14.0 && after < cwnd, "{name} {after}"),
                }
            }
        }
    }
}

/// In a fast recovery an old ACK arrives late, with a block below the data acknowledged since: ns-2's
/// scoreboard goes back, and a segment that is not missing is retransmitted. It is not an outstanding
/// segment.
#[test]
fn a_late_block_makes_sack1_resend_acknowledged_segments() {
    let settings = [("recovery", "sack1"), ("initial_window", "20")];
    let mut hand = DrivenSender::open(&settings, 100);
    for right in 3..=5 {
        hand.sack(1, &[(2, right)]);
    }
    assert_eq!(hand.seen.fast_retransmits, [1]);
    hand.sack(6, &[]);
    let mut right = 9;
    while hand.sender.view().pipe > hand.window().0 {
        assert_eq!(hand.sack(6, &[(8, right)]), []);
        right += 1;
    }
    assert_eq!(hand.sack(1, &[(2, 4)]), [4]);
    assert_eq!(hand.sender.view().snd_una, 6);
    // The missing segment is retransmitted at the next ACK.
    assert_eq!(hand.sack(6, &[(8, right)]), [6]);
}
