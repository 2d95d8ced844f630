//! Undo of unneeded recoveries, one ACK at a time: Eifel (RFC 3522, RFC 4015) and DSACK (RFC 3708).
#![allow(clippy::panic, reason = "a failed test panics")]

use crate::common::{before, DrivenSender};
use midflight_units::{Duration, Instant, Seq};

const ALL: [&str; 5] = ["tahoe", "reno", "newreno", "sack1", "sack"];
const WITH_SACK: [&str; 2] = ["sack1", "sack"];

/// cwnd = ssthresh = 12, segments 1 to 12 outstanding since the returned instant; ACKs arrive every
/// 10 ms.
fn start(recovery: &str, spurious: &str, settings: &[(&str, &str)]) -> (DrivenSender, Instant) {
    let mut all = vec![
        ("recovery", recovery),
        ("initial_window", "12"),
        ("initial_ssthresh", "12"),
        ("spurious", spurious),
    ];
    all.extend(settings);
    let mut s = DrivenSender::closed(&all, 100);
    assert_eq!(s.send(), [0]);
    assert_eq!(s.echo(1, Instant::ZERO).len(), 12);
    let sent = s.now;
    s.step = Duration::from_millis(10);
    (s, sent)
}

/// Three duplicates for segment 1: fast retransmit.
fn retransmitted(s: &mut DrivenSender) {
    for d in 1..=3 {
        let _ = s.sack(1, &[(2, d + 2)]);
    }
    assert_eq!(s.seen.fast_retransmits, [1]);
}

/// RFC 4015 steps 8, 9: the first ACK is caused by the original transmission.
#[test]
fn eifel_takes_a_timeout_back() {
    for recovery in ALL {
        let (mut s, sent) = start(recovery, "eifel", &[]);
        assert_eq!(s.timeout(), [1], "{recovery}");
        assert_eq!(s.window(), (1, 6, 12), "{recovery}");
        s.receive_ack(2, &[], Some(sent));
        assert_eq!(s.seen.spurious_timeouts, 1, "{recovery}");
        assert_eq!(
            s.window(),
            (12, 12, 11),
            "{recovery}: FlightSize + 1, pipe_prev"
        );
        assert_eq!(s.send(), [13], "{recovery}: new data");
        assert_eq!(s.echo(3, sent), [14], "{recovery}");
    }
}

/// The burst is bounded by the initial window (step 9).
#[test]
fn eifel_bounds_the_burst() {
    for recovery in ALL {
        let (mut s, sent) = start(recovery, "eifel", &[]);
        s.sender.set_end(1000);
        for n in 2..=30 {
            let _ = s.echo(n, sent);
        }
        let flight = s.window().2;
        assert!(flight > 12, "{recovery}");
        let una = s.sender.view().snd_una;
        assert_eq!(s.timeout(), [una], "{recovery}");
        s.receive_ack(una + flight - 1, &[], Some(sent));
        assert_eq!(s.window().0, 1 + 12.min(flight - 1), "{recovery}");
        assert_eq!(s.send().len(), 12, "{recovery}");
    }
}

#[test]
fn eifel_believes_a_genuine_timeout() {
    for recovery in ALL {
        let (mut s, _) = start(recovery, "eifel", &[]);
        assert_eq!(s.timeout(), [1], "{recovery}");
        let resent = s.now;
        assert_eq!(s.echo(2, resent), [2, 3], "{recovery}: slow start");
        // Not tested again within the same window.
        assert_eq!(s.timeout(), [2], "{recovery}");
        let _ = s.echo(3, before(resent, 1));
        assert_eq!(s.seen.spurious_timeouts, 0, "{recovery}");
    }
}

/// RFC 3522 (2): a second timeout keeps RetransmitTS; the ACK of the first retransmission is no
/// evidence.
#[test]
fn eifel_keeps_the_first_timestamp() {
    for recovery in ALL {
        for (answers_original, spurious) in [(true, 1), (false, 0)] {
            let (mut s, sent) = start(recovery, "eifel", &[]);
            assert_eq!(s.timeout(), [1], "{recovery}");
            let first = s.now;
            assert_eq!(s.timeout(), [1], "{recovery}");
            let _ = s.echo(2, if answers_original { sent } else { first });
            assert_eq!(s.seen.spurious_timeouts, spurious, "{recovery}");
            if answers_original {
                assert_eq!(
                    s.window(),
                    (12, 12, 12),
                    "{recovery}: the window before the first"
                );
            }
        }
    }
}

/// RFC 3522 (5): all ACKs were lost.
#[test]
fn eifel_leaves_lost_acks_alone() {
    for recovery in ALL {
        let (mut s, sent) = start(recovery, "eifel", &[]);
        assert_eq!(s.timeout(), [1], "{recovery}");
        let _ = s.echo(13, sent);
        assert_eq!(s.seen.spurious_timeouts, 0, "{recovery}: everything");
        let (mut s, sent) = start(recovery, "eifel", &[]);
        assert_eq!(s.timeout(), [1], "{recovery}");
        s.receive_ack(12, &[(1, 2)], Some(sent));
        assert_eq!(s.seen.spurious_timeouts, 0, "{recovery}: a DSACK");
    }
}

/// A fast retransmit that was unnecessary; the segment was 30 ms late.
#[test]
fn eifel_takes_a_fast_retransmit_back() {
    for recovery in ALL {
        let (mut s, sent) = start(recovery, "eifel", &[]);
        retransmitted(&mut s);
        assert_eq!(s.window().1, 6, "{recovery}");
        // Segments 1 to 14 are sent, 2 to 4 had arrived, and now 1.
        s.receive_ack(5, &[], Some(sent));
        assert_eq!(s.seen.spurious_retransmits, 1, "{recovery}");
        assert!(!s.sender.view().in_fast_recovery, "{recovery}");
        // The two segments of limited transmit do not count as part of the window.
        assert_eq!(
            s.window(),
            (14, 12, 10),
            "{recovery}: FlightSize + 4, pipe_prev"
        );
        assert_eq!(s.send(), [15, 16, 17, 18], "{recovery}: nothing again");
        // A later loss is detected.
        for d in 1..=3 {
            let _ = s.sack(5, &[(6, 6 + d)]);
        }
        assert_eq!(s.seen.fast_retransmits, [1, 5], "{recovery}");
    }
}

/// Segments 1 to 7 take a long path, 8 to 12 have overtaken them: six of the seven are
/// retransmitted, and the first ACK over the long path undoes that. Further ACKs over the short
/// path do not retransmit them again; the seventh, which has no retransmission in flight, is
/// retransmitted in its turn.
#[test]
fn segments_of_an_undone_recovery_are_not_sent_a_third_time() {
    let (mut s, sent) = start("sack", "eifel", &[]);
    let resent = s.sack(1, &[(8, 13)]);
    assert_eq!(
        (&resent[..], &s.seen.fast_retransmits[..]),
        (&[1, 2, 3, 4, 5, 6][..], &[1][..])
    );
    s.receive_ack(2, &[(8, 13)], Some(sent));
    assert_eq!(s.seen.spurious_retransmits, 1);
    assert_eq!(s.send(), [13]);
    assert!(s.sack(2, &[(8, 14)]).is_empty());
    for una in 3..7 {
        assert_eq!(s.sack(una, &[(8, 11 + una)]), [11 + una], "new data alone");
        assert_eq!(s.seen.fast_retransmits, [1]);
    }
    assert_eq!(s.sack(7, &[(8, 18)])[0], 7);
    assert_eq!(s.seen.fast_retransmits, [1, 7]);
}

#[test]
fn eifel_may_believe_fast_retransmits() {
    for recovery in ALL {
        let (mut s, sent) = start(recovery, "eifel", &[("eifel_fast_retransmits", "believe")]);
        retransmitted(&mut s);
        let _ = s.echo(5, sent);
        assert_eq!(s.seen.spurious_retransmits, 0, "{recovery}");
        assert!(s.window().1 < 12, "{recovery}");
    }
}

/// Segments sent during a response's wait do not count in the window to restore.
#[test]
fn eifel_after_a_wait_goes_back_to_the_window_before() {
    for (recovery, dupack) in [
        ("newreno", "dcr"),
        ("sack", "dcr"),
        ("sack", "ncr-aggressive"),
    ] {
        let (mut s, sent) = start(recovery, "eifel", &[("dupack", dupack)]);
        let mut d = 0;
        while s.seen.fast_retransmits.is_empty() {
            d += 1;
            if d <= 11 {
                let _ = s.sack(1, &[(2, d + 2)]);
            } else {
                let _ = s.timer();
            }
        }
        s.receive_ack(2 + d.min(11), &[], Some(sent));
        assert_eq!(s.seen.spurious_retransmits, 1, "{recovery} {dupack}");
        assert_eq!(s.window().1, 12, "{recovery} {dupack}");
    }
}

/// RFC 3708: the retransmission of a segment that was late arrives as a duplicate.
#[test]
fn dsack_takes_a_fast_retransmit_back() {
    for recovery in WITH_SACK {
        let (mut s, sent) = start(recovery, "dsack-undo", &[]);
        retransmitted(&mut s);
        let _ = s.echo(5, sent);
        assert!(s.sender.view().in_fast_recovery, "{recovery}");
        // The retransmission arrives after segment 12.
        for n in 6..=13 {
            let _ = s.echo(n, sent);
        }
        let sent_before = s.sender.view().snd_max;
        s.receive_ack(13, &[(1, 2)], Some(sent));
        assert_eq!(s.seen.spurious_retransmits, 1, "{recovery}");
        let flight = sent_before - 13;
        assert_eq!(s.window(), (flight + 1, 12, flight), "{recovery}");
        assert_eq!(s.send(), [sent_before], "{recovery}");
    }
}

/// A spurious timeout: every retransmitted segment arrives twice.
#[test]
fn dsack_takes_a_timeout_back_late() {
    for recovery in WITH_SACK {
        let (mut s, sent) = start(recovery, "dsack-undo", &[]);
        let mut again = s.timeout();
        assert_eq!(again, [1], "{recovery}");
        for n in 2..=13 {
            again.extend(s.echo(n, sent).into_iter().filter(|&seq| seq < 13));
        }
        assert!(again.len() > 4, "{recovery}: {again:?}");
        let (last, others) = again.split_last().unwrap_or_else(|| panic!("some went"));
        for &seq in others {
            let _ = s.sack(13, &[(seq, seq + 1)]);
            assert_eq!(s.seen.spurious_timeouts, 0, "{recovery}: (B.2)");
        }
        let _ = s.sack(13, &[(*last, last + 1)]);
        assert_eq!(s.seen.spurious_timeouts, 1, "{recovery}: (B.1)");
        assert_eq!(s.window().1, 12, "{recovery}");
    }
}

/// (A.1): all ACKs were lost; nothing is undone.
#[test]
fn dsack_leaves_lost_acks_alone() {
    for recovery in WITH_SACK {
        let (mut s, sent) = start(recovery, "dsack-undo", &[]);
        assert_eq!(s.timeout(), [1], "{recovery}");
        s.receive_ack(13, &[(1, 2)], Some(sent));
        assert_eq!(s.seen.spurious_timeouts, 0, "{recovery}");
        assert_eq!(s.window().1, 6, "{recovery}");
    }
}

/// (A.3): a segment retransmitted twice prevents the undo within that window, however many reports
/// arrive.
#[test]
fn dsack_gives_up_on_segments_resent_twice() {
    for recovery in WITH_SACK {
        for timeouts in 2..=5 {
            let (mut s, _) = start(recovery, "dsack-undo", &[]);
            let _ = s.sack(1, &[(2, 3)]);
            for _ in 0..timeouts {
                assert_eq!(s.timeout(), [1], "{recovery}");
            }
            let _ = s.ack(3);
            for _ in 0..timeouts {
                let _ = s.sack(3, &[(1, 2)]);
            }
            assert_eq!(s.seen.spurious_timeouts, 0, "{recovery} {timeouts}");
        }
    }
}

/// (A.4): the network duplicates packets; the reports have no meaning from then on.
#[test]
fn dsack_gives_up_for_good_when_the_network_duplicates() {
    for recovery in WITH_SACK {
        let (mut s, _) = start(recovery, "dsack-undo", &[]);
        retransmitted(&mut s);
        // The segment that arrives twice was sent after the recovery had begun, once.
        let all: Seq = s.sender.view().snd_max;
        let _ = s.ack(all);
        let _ = s.ack(all + 1);
        let _ = s.sack(all + 1, &[(all, all + 1)]);
        let all = all + 1;
        for d in 1..=3 {
            let _ = s.sack(all, &[(all + 1, all + 1 + d)]);
        }
        assert_eq!(s.seen.fast_retransmits.len(), 2, "{recovery}");
        let _ = s.ack(all + 4);
        let _ = s.sack(all + 4, &[(all, all + 1)]);
        assert_eq!(s.seen.spurious_retransmits, 0, "{recovery}");
    }
}
