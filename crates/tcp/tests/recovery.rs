//! What each kind of recovery does with given losses, round by round.

#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_tcp::{profile, Ack, Receiver, Segment, Sender, SenderEvent};
use midflight_units::{Duration, Instant, Seq};

/// What happened to a sender with a window of 20 segments, all in flight.
struct Course {
    /// Segments in the order of sending, with whether each was a retransmission.
    sent: Vec<(Seq, bool)>,
    /// Duplicate ACKs that had come when each was sent.
    after_ack: Vec<usize>,
    timeouts: usize,
    fast_recoveries: usize,
    /// cwnd when the last recovery ended, or at the end.
    cwnd_after: f64,
    ssthresh: f64,
}

impl Course {
    fn retransmissions(&self) -> Vec<Seq> {
        self.sent
            .iter()
            .filter(|(_, again)| *again)
            .map(|(seq, _)| *seq)
            .collect()
    }
}

/// Segments 1 to 20 go at once; `lost` are lost the first time. The path takes
/// 100 ms and keeps order; each segment is acknowledged as it comes.
fn run(recovery: &str, lost: &[Seq], until: Seq) -> Course {
    let mut p = profile("rfc").unwrap_or_else(|e| panic!("{e}"));
    for (name, value) in [
        ("recovery", recovery),
        ("initial_window", "20"),
        ("initial_ssthresh", "20"),
        ("delayed_ack", "off"),
        ("rtt_sampling", "one-per-window"),
    ] {
        p.set(name, value).unwrap_or_else(|e| panic!("{e}"));
    }
    let mut sender = Sender::new(p.sender, []);
    let mut receiver = Receiver::new(p.receiver);
    let mut course = Course {
        sent: Vec::new(),
        after_ack: Vec::new(),
        timeouts: 0,
        fast_recoveries: 0,
        cwnd_after: 0.0,
        ssthresh: 0.0,
    };
    let mut lost: Vec<Seq> = lost.to_vec();
    let mut now = Instant::ZERO;
    let mut flying: std::collections::VecDeque<(Instant, Segment)> =
        std::collections::VecDeque::new();
    let mut duplicates = 0;
    sender.open(now, &mut ());
    for _ in 0..10_000 {
        while let Some(segment) = sender.poll_transmit(now, &mut ()) {
            course.sent.push((segment.seq, segment.retransmission));
            course.after_ack.push(duplicates);
            if let Some(i) = lost.iter().position(|&seq| seq == segment.seq) {
                lost.remove(i);
            } else {
                flying.push_back((now + Duration::from_millis(100), segment));
            }
        }
        if sender.view().snd_una > until {
            break;
        }
        let mut events = Vec::new();
        let log = &mut |_: Instant, e: SenderEvent<'_>| match e {
            SenderEvent::Timeout(_) => events.push("timeout"),
            SenderEvent::FastRetransmit(_) => events.push("fast"),
            SenderEvent::RecoveryExit => events.push("exit"),
            _ => {}
        };
        let timer = sender.poll_timer().map(|(at, _)| at);
        match flying.front() {
            Some((at, _)) if timer.is_none_or(|t| *at <= t) => {
                let Some((at, segment)) = flying.pop_front() else {
                    break;
                };
                now = at;
                let ack: Option<Ack> = receiver.on_segment(now, &segment);
                let ack = ack.unwrap_or_else(|| panic!("every segment is acknowledged"));
                duplicates = if ack.ack > sender.view().snd_una {
                    0
                } else {
                    duplicates + 1
                };
                sender.on_ack(now, &ack, log);
            }
            _ => {
                now = timer.unwrap_or_else(|| panic!("nothing in flight and no timer"));
                sender.on_timer(now, log);
            }
        }
        for event in events {
            match event {
                "timeout" => course.timeouts += 1,
                "fast" => course.fast_recoveries += 1,
                _ => course.cwnd_after = sender.view().cwnd,
            }
        }
    }
    course.ssthresh = sender.view().ssthresh;
    course
}

/// With limited transmit 22 are outstanding at the third duplicate: half is 11.
#[test]
fn one_loss_costs_one_retransmission_and_half_the_flight() {
    for recovery in ["reno", "newreno", "sack"] {
        let course = run(recovery, &[1], 40);
        assert_eq!(course.retransmissions(), [1], "{recovery}");
        assert_eq!(
            (course.fast_recoveries, course.timeouts),
            (1, 0),
            "{recovery}"
        );
        assert_eq!(
            (course.ssthresh, course.cwnd_after),
            (11.0, 11.0),
            "{recovery}"
        );
    }
}

/// RFC 3042: a new segment for each of the first two duplicates; the third brings the retransmission.
#[test]
fn the_first_two_duplicates_send_new_data_and_the_third_retransmits() {
    for recovery in ["tahoe", "reno", "newreno", "sack"] {
        let course = run(recovery, &[1], 30);
        let at = |i: usize| (course.sent[i], course.after_ack[i]);
        assert_eq!(at(21), ((21, false), 1), "{recovery}");
        assert_eq!(at(22), ((22, false), 2), "{recovery}");
        assert_eq!(at(23), ((1, true), 3), "{recovery}");
    }
}

/// RFC 6675 section 5 (C): in recovery new data goes once the pipe is below cwnd = 11.
#[test]
fn sack_sends_again_when_the_pipe_has_drained() {
    let course = run("sack", &[1], 22);
    // Outstanding 22 with one lost and resent: the pipe is 22 - SACKed, so the
    // twelfth duplicate takes it to 10 and lets one go, and so does each one after.
    let first = course.sent[24];
    assert_eq!((first, course.after_ack[24]), ((23, false), 12));
    assert_eq!((course.sent[25], course.after_ack[25]), ((24, false), 13));
}

#[test]
fn sack_recovers_scattered_losses_in_one_recovery() {
    let lost = [1, 4, 5, 9, 13];
    let course = run("sack", &lost, 40);
    assert_eq!(course.retransmissions(), lost);
    assert_eq!((course.fast_recoveries, course.timeouts), (1, 0));
}

/// RFC 6582 section 3.2: each partial acknowledgement brings one retransmission, all in one recovery.
#[test]
fn newreno_recovers_one_loss_a_round_trip() {
    let lost = [1, 4, 9];
    let course = run("newreno", &lost, 40);
    assert_eq!(course.retransmissions(), lost);
    assert_eq!((course.fast_recoveries, course.timeouts), (1, 0));
    assert!(course.cwnd_after <= course.ssthresh);
}

/// RFC 5681 section 3.2 step 6: Reno leaves recovery with the first new ACK, so further losses cost
/// further recoveries or a timeout.
#[test]
fn reno_leaves_recovery_with_the_first_new_ack() {
    let course = run("reno", &[1, 4, 9], 40);
    assert!(course.fast_recoveries + course.timeouts > 1);
}

#[test]
fn tahoe_goes_back_to_a_window_of_one() {
    let course = run("tahoe", &[1], 40);
    assert_eq!((course.fast_recoveries, course.timeouts), (1, 0));
    let again = course
        .sent
        .iter()
        .position(|&s| s == (1, true))
        .unwrap_or_else(|| panic!("resent"));
    assert_eq!(
        course.after_ack[again + 1],
        0,
        "nothing more before its ACK"
    );
    assert_eq!(course.ssthresh, 11.0);
}

/// A retransmission that is lost as well needs the timer, which takes the window to one.
#[test]
fn a_lost_retransmission_needs_a_timeout() {
    for recovery in ["reno", "newreno", "sack", "sack1"] {
        let course = run(recovery, &[1, 1], 40);
        assert_eq!(course.timeouts, 1, "{recovery}");
    }
}
