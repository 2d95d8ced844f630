//! F-RTO, one ACK at a time: the scenarios of RFC 4138 appendix A and every
//! branch of RFC 5682.
#![allow(clippy::panic, reason = "a failed test panics")]

use crate::common::DrivenSender;
use midflight_control::Order;
use midflight_tcp::{State, Trigger};
use midflight_units::{Duration, Seq};

/// cwnd = 6, ssthresh = 5, segments 4 to 9 outstanding: the start of the
/// scenarios of RFC 4138 appendix A. The timer is at its minimum of a second.
fn start(recovery: &str, settings: &[(&str, &str)]) -> DrivenSender {
    let mut all = vec![
        ("recovery", recovery),
        ("initial_window", "6"),
        ("initial_ssthresh", "5"),
        ("limited_transmit", "off"),
        ("rtt_sampling", "one-per-window"),
    ];
    if !settings.iter().any(|s| s.0 == "spurious") {
        all.push(("spurious", "frto"));
    }
    all.extend(settings);
    let mut s = DrivenSender::open(&all, 10);
    for n in 2..=4 {
        assert_eq!(s.ack(n), [n + 5]);
    }
    assert_eq!(s.window(), (6, 5, 6));
    s
}

const BASIC: (&str, &str) = ("frto_version", "basic");

/// Steps 1 to 4 of each scenario.
fn until_6(s: &mut DrivenSender) {
    assert_eq!(s.ack(5), [10]);
    assert_eq!(s.window(), (6, 5, 6));
    assert_eq!(s.ack(6), [11]);
    assert_eq!(s.window(), (6, 5, 6));
}

/// Segments 6 to 11 are outstanding and the timer expires.
fn timed_out(recovery: &str, settings: &[(&str, &str)]) -> DrivenSender {
    let mut s = start(recovery, settings);
    until_6(&mut s);
    assert_eq!(s.timeout(), [6]);
    s
}

#[test]
fn rfc_4138_a1_sudden_delay() {
    for recovery in ["reno", "newreno"] {
        let mut s = start(recovery, &[BASIC]);
        until_6(&mut s);
        assert_eq!(s.timeout(), [6], "step 6");
        assert_eq!(s.window(), (6, 3, 6));
        assert_eq!(s.ack(7), [12, 13], "steps 8 and 9");
        assert_eq!(s.window(), (7, 3, 7));
        s.receive_ack(8, &[], None);
        assert_eq!(s.seen.spurious_timeouts, 1, "step 10");
        assert_eq!(s.window(), (7, 6, 6));
        assert_eq!(s.send(), [14], "step 11");
        for (ack, sent) in [(9, 15), (10, 16)] {
            assert_eq!(s.window(), (7, 6, 7));
            assert_eq!(s.ack(ack), [sent]);
        }
        assert_eq!(s.window(), (7, 6, 7));
    }
}

#[test]
fn rfc_4138_a2_loss_of_a_retransmission() {
    for recovery in ["reno", "newreno"] {
        let mut s = start(recovery, &[BASIC]);
        until_6(&mut s);
        assert_eq!(s.ack(6), []);
        assert_eq!(s.ack(6), []);
        assert_eq!(s.ack(6), [6], "step 8");
        assert_eq!(s.window(), (6, 3, 6));
        assert_eq!(s.ack(6), [12], "step 10");
        assert_eq!(s.window(), (7, 3, 7));
        assert_eq!(s.ack(6), [13], "step 12");
        assert_eq!(s.window(), (8, 3, 8));
        assert_eq!(s.timeout(), [6], "step 13");
        // Half of the target window of the recovery, at least two segments.
        assert_eq!(s.window(), (8, 2, 8));
        assert_eq!(s.ack(9), [14, 15], "steps 15 and 16");
        assert_eq!(s.window(), (7, 2, 7));
        s.receive_ack(9, &[], None);
        assert_eq!(s.window(), (3, 2, 7), "step 17");
        assert_eq!(s.send(), [9, 10, 11], "steps 18 to 20");
        assert_eq!(s.seen.spurious_timeouts, 0);
        // The receiver has everything else: new data in congestion avoidance.
        // What the ACK covers counts, 3 + 7 / 3 (RFC 3465).
        assert_eq!(s.ack(16), [16, 17, 18, 19, 20]);
        assert_eq!(s.window(), (5, 2, 5));
    }
}

#[test]
fn rfc_4138_a3_link_outage() {
    for recovery in ["reno", "newreno"] {
        let mut s = start(recovery, &[BASIC]);
        until_6(&mut s);
        assert_eq!(s.ack(6), [], "step 5");
        assert_eq!(s.timeout(), [6], "step 6");
        assert_eq!(s.window(), (6, 3, 6));
        assert_eq!(s.ack(7), [12, 13], "steps 8 and 9");
        assert_eq!(s.window(), (7, 3, 7));
        s.receive_ack(7, &[], None);
        assert_eq!(s.window(), (3, 3, 7), "step 10");
        assert_eq!(s.send(), [7, 8, 9], "steps 11 to 13");
        assert_eq!(s.seen.spurious_timeouts, 0);
    }
}

/// In this example the text says that window and threshold are reduced, but the numbers restore
/// them; the numbers are those of the Eifel response.
#[test]
fn rfc_4138_a4_reordering_with_sack() {
    let mut s = start("sack", &[("frto_version", "sack")]);
    until_6(&mut s);
    assert_eq!(s.timeout(), [6], "step 6");
    assert_eq!(s.window(), (6, 3, 6));
    assert_eq!(s.sack(6, &[(8, 9)]), [], "step 7 stays in step 2");
    assert_eq!(s.window(), (6, 3, 6));
    assert_eq!(s.sack(7, &[(8, 9)]), [12, 13], "steps 10 and 11");
    assert_eq!(s.window(), (7, 3, 7));
    s.receive_ack(9, &[], None);
    assert_eq!(s.seen.spurious_timeouts, 1, "step 13");
    // The RFC prints FlightSize = 6 and cwnd = 7, but 9 to 13 are five
    // segments, and the ACK covers two: 5 + 2 = 7 leaves room for two.
    assert_eq!(s.window(), (7, 6, 5));
    assert_eq!(s.send(), [14, 15], "step 14");
    assert_eq!(s.window(), (7, 6, 7));
    assert_eq!(s.ack(10), [16], "step 16, one further than printed");
}

/// RFC 5682 sections 2.1 and 3.1, step 1: no restart of the algorithm while the
/// recovery of an earlier timeout lasts.
#[test]
fn step_1_not_while_an_earlier_recovery_by_timeout_lasts() {
    for recovery in ["reno", "newreno", "sack1", "sack"] {
        let mut s = timed_out(recovery, &[BASIC]);
        assert_eq!(
            s.ack(6),
            [],
            "{recovery}: (2a), conventional from a window of one"
        );
        assert_eq!(s.ack(7), [7, 8], "{recovery}");
        assert_eq!(s.timeout(), [7], "{recovery}");
        assert_eq!(s.window().0, 1, "{recovery}: no probe");
        assert_eq!(s.ack(8), [8, 9], "{recovery}: slow start, nothing new");
        // Everything that had been sent is acknowledged: it may start again.
        assert_eq!(s.ack(12).first(), Some(&12), "{recovery}");
        let una = s.sender.view().snd_una;
        assert_eq!(s.timeout(), [una], "{recovery}");
        assert!(s.seen.orders.ends_with(&[Order::Probe(0)]), "{recovery}");
    }
}

/// Step 1 after a timeout in step 3: `recover` is not acknowledged yet.
#[test]
fn step_1_not_after_a_timeout_in_step_3() {
    for recovery in ["reno", "newreno", "sack1", "sack"] {
        let mut s = timed_out(recovery, &[]);
        assert_eq!(s.ack(7), [12, 13], "{recovery}");
        assert_eq!(s.timeout(), [7], "{recovery}");
        assert_eq!(s.window().0, 1, "{recovery}");
        assert_eq!(s.ack(8), [8, 9], "{recovery}");
    }
}

/// Section 2.1 and 3.1: not in a fast recovery other than Reno's or NewReno's.
#[test]
fn step_1_not_in_a_fast_recovery_with_sack() {
    for (recovery, probes) in [
        ("reno", true),
        ("newreno", true),
        ("sack1", false),
        ("sack", false),
    ] {
        let mut s = start(recovery, &[]);
        until_6(&mut s);
        for n in 8..=10 {
            let _ = s.sack(6, &[(7, n)]);
        }
        assert_eq!(s.seen.fast_retransmits, [6], "{recovery}");
        assert_eq!(s.timeout(), [6], "{recovery}");
        assert_eq!(
            s.seen.orders.contains(&Order::Probe(0)),
            probes,
            "{recovery}"
        );
        assert_eq!(s.window().0 > 1, probes, "{recovery}");
    }
}

/// Step 1: the same segment times out repeatedly; the window before the first timeout counts, and
/// the following ACKs decide.
#[test]
fn step_1_starts_over_for_the_same_segment() {
    for recovery in ["reno", "newreno", "sack1", "sack"] {
        let mut s = timed_out(recovery, &[]);
        assert_eq!(s.timeout(), [6], "{recovery}");
        assert_eq!(s.timeout(), [6], "{recovery}");
        assert_eq!(s.sender.backoff(), 8, "{recovery}");
        assert_eq!(s.window(), (6, 3, 6), "{recovery}");
        assert_eq!(s.ack(7), [12, 13], "{recovery}");
        assert_eq!(s.ack(8), [14], "{recovery}");
        assert_eq!(
            (s.window(), s.seen.spurious_timeouts),
            ((7, 6, 7), 1),
            "{recovery}"
        );
    }
}

/// The algorithm detects data that was sent before the timeout; a SYN is sent alone.
#[test]
fn a_timeout_of_the_syn_is_none_of_its_business() {
    for spurious in ["none", "frto", "frto-2003", "dsack-undo"] {
        let settings = [("spurious", spurious), ("rtt_sampling", "one-per-window")];
        let mut s = DrivenSender::closed(&settings, 10);
        assert_eq!(s.send(), [0]);
        assert_eq!(s.timeout(), [0], "{spurious}");
        assert_eq!(s.ack(1), (1..=10).collect::<Vec<_>>(), "{spurious}");
        assert_eq!(s.window(), (10, s.window().1, 10), "{spurious}");
    }
}

/// (2a), first reason: a duplicate ACK. Conventional recovery continues in slow start.
#[test]
fn step_2a_a_duplicate() {
    for recovery in ["reno", "newreno", "sack1", "sack"] {
        let mut s = timed_out(recovery, &[BASIC]);
        assert_eq!(s.sack(6, &[(8, 9)]), [], "{recovery}");
        assert_eq!(s.window(), (1, 3, 6), "{recovery}");
        assert!(!s.sender.view().in_fast_recovery, "{recovery}");
        // A window of two segments; RFC 6675 skips what the receiver reported.
        let next: &[Seq] = if recovery == "sack" { &[7] } else { &[7, 8] };
        assert_eq!(s.sack(7, &[(8, 9)]), next, "{recovery}");
        assert_eq!(s.seen.spurious_timeouts, 0, "{recovery}");
    }
}

/// (2a), first reason, with a duplicate that reports enough to start a fast recovery: the timeout
/// takes precedence.
#[test]
fn step_2a_a_duplicate_starts_no_fast_recovery() {
    for recovery in ["sack1", "sack"] {
        let mut s = timed_out(recovery, &[BASIC]);
        assert_eq!(s.sack(6, &[(8, 12)]), [], "{recovery}");
        assert_eq!(s.window(), (1, 3, 6), "{recovery}");
        assert_eq!(s.seen.fast_retransmits, [], "{recovery}");
        assert!(!s.sender.view().in_fast_recovery, "{recovery}");
    }
}

/// (2a), second reason: the ACK covers everything and gives no information.
#[test]
fn step_2a_an_ack_of_everything() {
    for recovery in ["reno", "newreno", "sack1", "sack"] {
        let mut s = timed_out(recovery, &[]);
        assert_eq!(s.ack(12), [12, 13], "{recovery}");
        assert_eq!(s.window(), (2, 3, 2), "{recovery}");
        assert_eq!(s.ack(13), [14, 15], "{recovery}: slow start");
        assert_eq!(s.seen.spurious_timeouts, 0, "{recovery}");
    }
}

/// (2a), third reason: the ACK leaves some of the retransmitted data unacknowledged. Segments are
/// whole here, so such an ACK has not advanced: it is a duplicate, or it is old and ignored.
#[test]
fn an_ack_that_is_neither_new_nor_a_duplicate_is_waited_out() {
    for recovery in ["reno", "newreno", "sack1", "sack"] {
        let mut s = timed_out(recovery, &[BASIC]);
        assert_eq!(s.ack(4), [], "{recovery}");
        assert_eq!(s.window(), (6, 3, 6), "{recovery}");
        assert_eq!(s.ack(7), [12, 13], "{recovery}");
        assert_eq!(s.ack(5), [], "{recovery}");
        assert_eq!(s.ack(8), [14], "{recovery}");
        assert_eq!(s.seen.spurious_timeouts, 1, "{recovery}");
    }
}

/// (2b): one segment if there is only one, and conventional recovery if there is none, for lack of
/// data or because of the receiver's window.
#[test]
fn step_2b_sends_the_available_data() {
    for recovery in ["reno", "newreno", "sack1", "sack"] {
        let mut s = timed_out(recovery, &[]);
        s.sender.set_end(13);
        assert_eq!(s.ack(7), [12], "{recovery}");
        assert_eq!(s.ack(8), [], "{recovery}: there is no more");
        assert_eq!(s.seen.spurious_timeouts, 1, "{recovery}");

        let mut s = timed_out(recovery, &[]);
        s.sender.set_end(12);
        assert_eq!(s.ack(7), [7, 8], "{recovery}");
        assert_eq!(s.window(), (2, 3, 5), "{recovery}");
        assert_eq!(s.ack(8), [9, 10], "{recovery}: slow start");
        assert_eq!(s.seen.spurious_timeouts, 0, "{recovery}");

        // 6 to 11 fill the receiver's window; the ACK of 6 opens it by one.
        let mut s = timed_out(recovery, &[("receiver_window", "6")]);
        assert_eq!(s.ack(7), [12], "{recovery}");
        assert_eq!(s.ack(8), [13], "{recovery}");
        assert_eq!(s.seen.spurious_timeouts, 1, "{recovery}");
    }
}

/// (3a): a duplicate at the second step. Three segments, all of them unacknowledged ones.
#[test]
fn step_3a_a_duplicate() {
    for recovery in ["reno", "newreno", "sack1", "sack"] {
        let mut s = timed_out(recovery, &[BASIC]);
        assert_eq!(s.ack(7), [12, 13], "{recovery}");
        assert_eq!(s.sack(7, &[(12, 13)]), [7, 8, 9], "{recovery}");
        assert_eq!(s.window(), (3, 3, 7), "{recovery}");
        assert_eq!(s.seen.spurious_timeouts, 0, "{recovery}");
        assert!(s.sender.view().snd_nxt < s.sender.view().snd_max);
    }
}

/// Section 3.1, steps 2 and 3: duplicates only update the scoreboard, however many there are.
#[test]
fn with_sack_step_2_waits_through_duplicates() {
    for recovery in ["sack1", "sack"] {
        let mut s = timed_out(recovery, &[]);
        for right in 9..=12 {
            assert_eq!(s.sack(6, &[(8, right)]), [], "{recovery}");
            assert_eq!(s.window(), (6, 3, 6), "{recovery}");
        }
        assert_eq!(s.seen.fast_retransmits, [], "{recovery}");
        assert_eq!(s.sack(7, &[(8, 12)]), [12, 13], "{recovery}");
        // Without news below RecoveryPoint: (3a), and only 7 of 7 to 11 is missing.
        assert_eq!(
            s.sack(7, &[(12, 13), (8, 12)]).first(),
            Some(&7),
            "{recovery}"
        );
        assert_eq!(s.window(), (3, 3, 7), "{recovery}");
        assert_eq!(s.seen.spurious_timeouts, 0, "{recovery}");
    }
}

/// (3a) and (3b) of section 3.1.
#[test]
fn with_sack_step_3_accepts_sacks_of_earlier_segments() {
    for recovery in ["sack1", "sack"] {
        let second = || {
            let mut s = timed_out(recovery, &[]);
            assert_eq!(s.ack(7), [12, 13], "{recovery}");
            s
        };
        // A duplicate with news from before the timeout: spurious.
        let mut s = second();
        let _ = s.sack(7, &[(8, 9)]);
        assert_eq!(s.seen.spurious_timeouts, 1, "{recovery}");
        assert_eq!(s.window().1, 6, "{recovery}");
        // Fast recovery is allowed from here on (RecoveryPoint is SND.UNA).
        for right in 10..=12 {
            let _ = s.sack(7, &[(8, right)]);
        }
        assert_eq!(s.seen.fast_retransmits, [7], "{recovery}");
        // News of segments sent after the timeout: conventional.
        let mut s = second();
        assert_eq!(s.sack(7, &[(12, 13)]), [7, 8, 9], "{recovery}");
        assert_eq!(
            (s.seen.spurious_timeouts, s.window().0),
            (0, 3),
            "{recovery}"
        );
        // A cumulative ACK beyond RecoveryPoint: conventional.
        let mut s = second();
        s.receive_ack(13, &[], None);
        assert_eq!(
            (s.seen.spurious_timeouts, s.window()),
            (0, (3, 3, 1)),
            "{recovery}"
        );
        // ... and one up to it: spurious.
        let mut s = second();
        s.receive_ack(12, &[], None);
        assert_eq!(s.seen.spurious_timeouts, 1, "{recovery}");
    }
}

/// (3b) with each response. FlightSize and cwnd were 6 and ssthresh 5.
#[test]
fn step_3b_answers_as_set() {
    for recovery in ["reno", "newreno", "sack1", "sack"] {
        for (response, window, sent) in [
            // FlightSize + min(acknowledged, IW), and slow start up to the data in flight.
            ("eifel", (7, 6, 6), vec![14]),
            ("retain", (6, 5, 6), vec![]),
            ("reduce", (3, 3, 6), vec![]),
        ] {
            let mut s = timed_out(recovery, &[("frto_response", response)]);
            assert_eq!(s.ack(7), [12, 13]);
            s.receive_ack(8, &[], None);
            assert_eq!(s.window(), window, "{recovery} {response}");
            assert_eq!(s.seen.spurious_timeouts, 1);
            assert_eq!(s.send(), sent, "{recovery} {response}: nothing again");
            let last = s.seen.transitions.last().map(|t| (t.from, t.trigger, t.to));
            let avoidance = State::CongestionAvoidance;
            assert_eq!(last, Some((State::Probe, Trigger::Spurious, avoidance)));
        }
    }
}

/// After step 3b duplicates detect a loss as usual.
#[test]
fn fast_retransmit_works_after_step_3b() {
    for recovery in ["reno", "newreno", "sack1", "sack"] {
        let mut s = timed_out(recovery, &[]);
        let _ = (s.ack(7), s.ack(8));
        for right in 10..=12 {
            let _ = s.sack(8, &[(9, right)]);
        }
        assert_eq!(s.seen.fast_retransmits, [8], "{recovery}");
        assert!(s.sender.view().in_fast_recovery, "{recovery}");
    }
}

/// RFC 4015 section 3.1, step 11: the first sample of data that was unsent at the timeout restarts
/// the estimate, from at least its old value and two ticks.
#[test]
fn the_rto_adapts_after_a_spurious_timeout() {
    for (recovery, rtt_ms) in [("newreno", 5), ("newreno", 400), ("sack", 5), ("sack", 400)] {
        let mut s = start(recovery, &[]);
        until_6(&mut s);
        let before = s.sender.view();
        let (srtt, rttvar) = (before.srtt, before.rttvar);
        let (Some(srtt), Some(rttvar)) = (srtt, rttvar) else {
            panic!("there were samples");
        };
        assert_eq!(s.timeout(), [6]);
        assert_eq!(s.sender.backoff(), 2);
        // 12 was unsent when the timer expired, and is the next segment to be timed.
        assert_eq!(s.ack(7), [12, 13]);
        s.step = Duration::ZERO;
        for n in 8..=12 {
            let _ = s.ack(n);
        }
        let v = s.sender.view();
        assert_eq!(v.rto, before.rto * 2, "Karn: the back-off stays");
        assert_eq!(v.srtt, Some(srtt));
        s.step = Duration::from_millis(rtt_ms);
        let _ = s.ack(13);
        let v = s.sender.view();
        let rtt = s.step;
        let kept = srtt + Duration::from_millis(2);
        assert_eq!(v.srtt, Some(rtt.max(kept)), "{recovery} {rtt_ms}");
        let half = Duration::from_nanos(rtt.as_nanos() / 2);
        assert_eq!(v.rttvar, Some(half.max(rttvar)), "{recovery} {rtt_ms}");
        assert_eq!(s.sender.backoff(), 1);
    }
}

/// The version of 2003: window and threshold as before, or a window of one.
#[test]
fn the_version_of_2003() {
    for recovery in ["reno", "newreno", "sack1", "sack"] {
        let begin = || timed_out(recovery, &[("spurious", "frto-2003")]);
        let mut s = begin();
        assert_eq!(s.ack(7), [12, 13], "{recovery}");
        s.receive_ack(8, &[], None);
        assert_eq!(s.window(), (6, 5, 6), "{recovery}");
        assert_eq!(s.seen.spurious_timeouts, 1, "{recovery}");
        // A duplicate first.
        let mut s = begin();
        assert_eq!(s.sack(6, &[(8, 9)]), [], "{recovery}");
        assert_eq!(s.window(), (1, 3, 6), "{recovery}");
        // A duplicate second.
        let mut s = begin();
        assert_eq!(s.ack(7), [12, 13], "{recovery}");
        assert_eq!(s.sack(7, &[(12, 13)]), [7], "{recovery}");
        assert_eq!(s.window(), (1, 3, 7), "{recovery}");
        // It starts again in step 3, and continues at an ACK of everything.
        assert_eq!(s.timeout(), [7], "{recovery}");
        assert_eq!(s.ack(14), [14, 15], "{recovery}");
        let _ = s.ack(15);
        assert_eq!(s.seen.spurious_timeouts, 1, "{recovery}");
    }
}
