//! The behaviour of each kind of recovery with given losses, round by round.

#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_tcp::{profile, Ack, Author, Receiver, Segment, Sender, SenderEvent};
use midflight_units::{Duration, Instant, Seq};

/// The course of a transfer with a window of 20 segments, all in flight.
struct Transfer {
    /// Segments in the order of sending, each with whether it was a retransmission.
    sent: Vec<(Seq, bool)>,
    /// Number of duplicate ACKs that had arrived when each was sent.
    after_ack: Vec<usize>,
    timeouts: usize,
    fast_recoveries: usize,
    /// cwnd when the last recovery ended, or at the end.
    cwnd_after: f64,
    ssthresh: f64,
    /// The authors of window changes, in order.
    authors: Vec<Author>,
}

impl Transfer {
    fn retransmissions(&self) -> Vec<Seq> {
        self.sent
            .iter()
            .filter(|(_, again)| *again)
            .map(|(seq, _)| *seq)
            .collect()
    }
}

/// Segments 1 to 20 are sent at once; `lost` are lost the first time. The path takes 100 ms and keeps
/// the order; each segment is acknowledged when it arrives.
fn run(recovery: &str, lost: &[Seq], until: Seq) -> Transfer {
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
    let mut sender = Sender::new(&p.sender, &p.parts, []);
    let mut receiver = Receiver::new(p.receiver);
    let mut course = Transfer {
        sent: Vec::new(),
        after_ack: Vec::new(),
        timeouts: 0,
        fast_recoveries: 0,
        cwnd_after: 0.0,
        ssthresh: 0.0,
        authors: Vec::new(),
    };
    let mut lost: Vec<Seq> = lost.to_vec();
    let mut now = Instant::ZERO;
    let mut flying: std::collections::VecDeque<(Instant, Segment)> =
        std::collections::VecDeque::new();
    let mut duplicates = 0;
    sender.open(now, &mut ());
    for _ in 0..10_000 {
        while let Some(segment) = sender.poll_transmit(now) {
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
            SenderEvent::Cwnd { by, .. } | SenderEvent::Ssthresh { by, .. }
                if course.authors.last() != Some(&by) =>
            {
                course.authors.push(by);
            }
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

/// Each change of a window has its author: the controller for growth, the recovery for a loss, the
/// timeout for the timer.
#[test]
fn window_changes_name_their_author() {
    use Author::{Controller, Handshake, Recovery, Timeout};
    for recovery in ["reno", "newreno", "sack", "sack1"] {
        let course = run(recovery, &[1], 60);
        let authors = [Handshake, Recovery, Controller];
        assert_eq!(course.authors, authors, "{recovery}");
    }
    // The retransmission is lost, too.
    let course = run("reno", &[1, 1], 60);
    assert_eq!(course.timeouts, 1);
    let authors = [Handshake, Recovery, Timeout, Controller];
    assert_eq!(course.authors, authors);
}

/// Half of the 20 in flight is 10: the two segments of limited transmit do not
/// count (RFC 5681 section 3.2 step 2).
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
            (10.0, 10.0),
            "{recovery}"
        );
    }
}

/// RFC 3042: a new segment for each of the first two duplicates; the third causes the retransmission.
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

/// RFC 6675 section 5 (C), as computed in RFC 9937 section 8, figure 1: in recovery new data is sent
/// once the pipe is below cwnd = 10, from the thirteenth duplicate on.
#[test]
fn sack_sends_again_when_the_pipe_has_drained() {
    let course = run("sack", &[1], 22);
    let first = course.sent[24];
    assert_eq!((first, course.after_ack[24]), ((23, false), 13));
    assert_eq!((course.sent[25], course.after_ack[25]), ((24, false), 14));
}

#[test]
fn sack_recovers_scattered_losses_in_one_recovery() {
    let lost = [1, 4, 5, 9, 13];
    let course = run("sack", &lost, 40);
    assert_eq!(course.retransmissions(), lost);
    assert_eq!((course.fast_recoveries, course.timeouts), (1, 0));
}

/// RFC 6582 section 3.2: each partial acknowledgement causes one retransmission, all in one recovery.
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
    assert_eq!(course.ssthresh, 10.0);
}

/// A lost retransmission needs the timer, which reduces the window to one.
#[test]
fn a_lost_retransmission_needs_a_timeout() {
    for recovery in ["reno", "newreno", "sack", "sack1"] {
        let course = run(recovery, &[1, 1], 40);
        assert_eq!(course.timeouts, 1, "{recovery}");
    }
}

/// RFC 9937 section 8, figure 2: 15 of 20 segments are lost. RFC 6675 halves to 10 and retransmits six
/// segments at once when the pipe has been recomputed.
#[test]
fn sack_with_fifteen_losses_follows_the_worked_example() {
    let lost: Vec<Seq> = (1..=15).collect();
    let course = run("sack", &lost, 22);
    assert_eq!(course.ssthresh, 10.0);
    assert_eq!(course.retransmissions(), lost);
    assert_eq!((course.fast_recoveries, course.timeouts), (1, 0));
    let at_third = course.after_ack.iter().filter(|&&n| n == 3).count();
    assert!(at_third >= 6, "{at_third} segments at the third duplicate");
}

/// RFC 6582 section 4: duplicates caused by an unneeded go-back-N start no recovery.
#[test]
fn duplicates_of_a_needless_timeout_start_no_recovery() {
    for recovery in ["tahoe", "reno", "newreno"] {
        let mut p = profile("rfc").unwrap_or_else(|e| panic!("{e}"));
        for (name, value) in [("recovery", recovery), ("rtt_sampling", "one-per-window")] {
            p.set(name, value).unwrap_or_else(|e| panic!("{e}"));
        }
        let mut sender = Sender::new(&p.sender, &p.parts, []);
        let ms = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let fast = std::cell::Cell::new(0);
        let log = &mut |_: Instant, e: SenderEvent<'_>| {
            fast.set(fast.get() + u32::from(matches!(e, SenderEvent::FastRetransmit(_))));
        };
        let ack = |number| Ack {
            ack: number,
            sack: midflight_tcp::SackBlocks::default(),
            echo: None,
            cause_sent: Instant::ZERO,
            offset: 0,
            option: midflight_tcp::AckOption::Nothing,
            window: None,
            stamp_ms: 0,
            extra_bytes: 0,
        };
        sender.open(ms(0), log);
        while sender.poll_transmit(ms(0)).is_some() {}
        sender.on_ack(ms(20), &ack(1), log);
        while sender.poll_transmit(ms(20)).is_some() {}
        let (due, _) = sender
            .poll_timer()
            .unwrap_or_else(|| panic!("{recovery}: no timer"));
        sender.on_timer(due, log);
        while sender.poll_transmit(due).is_some() {}
        // The ACKs of the first transmissions arrive late, then those of the unneeded ones.
        for number in 2..=11 {
            sender.on_ack(due, &ack(number), log);
            while sender.poll_transmit(due).is_some() {}
        }
        for _ in 0..10 {
            sender.on_ack(due, &ack(11), log);
            while sender.poll_transmit(due).is_some() {}
        }
        assert_eq!(fast.get(), 0, "{recovery}");
    }
}

fn notified(policy: &str, profile_name: &str, new: (u64, u64)) -> (Sender, Instant) {
    use midflight_control::policy::Policy;
    use midflight_control::{LinkInfo, Notice};
    use midflight_units::Rate;

    let link = |(mbps, ms)| LinkInfo {
        rate: Rate::from_mbps(mbps),
        delay: Duration::from_millis(ms),
    };
    let p = profile(profile_name).unwrap_or_else(|e| panic!("{e}"));
    let mut sender = Sender::new(&p.sender, &p.parts, Policy::named(policy));
    let mut receiver = Receiver::new(midflight_tcp::ReceiverConfig {
        delayed_ack: None,
        ..p.receiver
    });
    let mut now = Instant::ZERO;
    sender.open(now, &mut ());
    // Five rounds of slow start, then everything in flight stays unacknowledged.
    let mut flying: Vec<Segment> = Vec::new();
    for _ in 0..6 {
        while let Some(segment) = sender.poll_transmit(now) {
            flying.push(segment);
        }
        if now < Instant::ZERO + Duration::from_millis(500) {
            now += Duration::from_millis(100);
            for segment in std::mem::take(&mut flying) {
                if let Some(ack) = receiver.on_segment(now, &segment) {
                    sender.on_ack(now, &ack, &mut ());
                }
            }
        }
    }
    while sender.poll_transmit(now).is_some() {}
    now += Duration::from_millis(1);
    let notice = Notice {
        old: link((50, 10)),
        new: link(new),
        flows: 1,
    };
    sender.on_notice(now, &notice, &mut ());
    while sender.poll_transmit(now).is_some() {}
    (sender, now)
}

/// A2: a fast recovery for segments sent before the handoff does not change the window.
#[test]
fn a2_is_not_halved_again_for_segments_sent_before_the_handoff() {
    for profile_name in ["ns2", "rfc"] {
        let (mut sender, now) = notified("a2", profile_name, (2, 10));
        let reduced = sender.view().cwnd;
        assert!(reduced < sender.view().flight_size() as f64, "A2 acted");
        let una = sender.view().snd_una;
        for n in 1..=4 {
            let mut sack = midflight_tcp::SackBlocks::default();
            let block = midflight_tcp::SackBlock {
                left: una + 1,
                right: una + 1 + n,
            };
            sack.push(una, block);
            let ack = Ack {
                ack: una,
                sack,
                echo: None,
                cause_sent: Instant::ZERO,
                offset: 0,
                option: midflight_tcp::AckOption::Nothing,
                window: None,
                stamp_ms: 0,
                extra_bytes: 0,
            };
            sender.on_ack(now, &ack, &mut ());
        }
        assert!(sender.view().in_fast_recovery, "{profile_name}");
        assert_eq!(sender.view().cwnd, reduced, "{profile_name}");
    }
}

/// RLCI: ACKs of segments sent before the notice do not grow the window, the first ACK of a later
/// segment does; and the old path gives no more RTT samples.
#[test]
fn rlci_grows_and_samples_from_the_new_path_only() {
    for profile_name in ["ns2", "rfc"] {
        let (mut sender, now) = notified("rlci", profile_name, (2, 10));
        let initial = sender.config().initial_window();
        assert_eq!(sender.view().cwnd, initial);
        let old = sender.view().snd_max;
        let later = now + Duration::from_millis(50);
        let samples = std::cell::Cell::new(0);
        let log = &mut |_: Instant, e: SenderEvent<'_>| {
            samples.set(samples.get() + u32::from(matches!(e, SenderEvent::RttSample(_))));
        };
        let ack = |number, echo| Ack {
            ack: number,
            sack: midflight_tcp::SackBlocks::default(),
            echo: Some(echo),
            cause_sent: Instant::ZERO,
            offset: 0,
            option: midflight_tcp::AckOption::Nothing,
            window: None,
            stamp_ms: 0,
            extra_bytes: 0,
        };
        sender.on_ack(later, &ack(old, Instant::from_nanos(1)), log);
        assert_eq!(
            (sender.view().cwnd, samples.get()),
            (initial, 0),
            "{profile_name}"
        );
        while sender.poll_transmit(later).is_some() {}
        let new = sender.view().snd_max;
        assert!(new > old);
        sender.on_ack(later + Duration::from_millis(50), &ack(new, later), log);
        assert!(sender.view().cwnd > initial, "{profile_name}");
        assert_eq!(samples.get(), 1, "{profile_name}");
    }
}

/// RetransmitNow ends the back-off.
#[test]
fn the_trigger_ends_the_back_off() {
    let (mut sender, _) = notified("a1", "ns2", (50, 10));
    for _ in 0..3 {
        let (due, _) = sender.poll_timer().unwrap_or_else(|| panic!("no timer"));
        sender.on_timer(due, &mut ());
        while sender.poll_transmit(due).is_some() {}
    }
    assert_eq!(sender.backoff(), 8);
    sender.set_policies(midflight_control::policy::Policy::named("trigger"));
    let link = midflight_control::LinkInfo {
        rate: midflight_units::Rate::from_mbps(1),
        delay: Duration::from_millis(1),
    };
    let notice = midflight_control::Notice {
        old: link,
        new: link,
        flows: 1,
    };
    let now = Instant::from_nanos(30_000_000_000);
    let una = sender.view().snd_una;
    sender.on_notice(now, &notice, &mut ());
    assert_eq!(sender.backoff(), 1);
    let segment = sender.poll_transmit(now);
    assert!(segment.is_some_and(|s| s.seq == una && s.retransmission));
}

/// RFC 5681 section 3.1: a further timeout of the same segment holds the threshold; ns-2 halves again.
#[test]
fn a_repeated_timeout_holds_the_threshold_in_the_rfc_profile_only() {
    for (profile_name, held) in [("rfc", true), ("ns2", false)] {
        let (mut sender, _) = notified("a1", profile_name, (50, 10));
        let mut seen = Vec::new();
        for _ in 0..2 {
            let (due, _) = sender.poll_timer().unwrap_or_else(|| panic!("no timer"));
            sender.on_timer(due, &mut ());
            while sender.poll_transmit(due).is_some() {}
            seen.push(sender.view().ssthresh);
        }
        assert_eq!(seen[0] == seen[1], held, "{profile_name}: {seen:?}");
    }
}

/// A probe without a response ends with the next timeout, which retransmits like any other.
#[test]
fn a_timeout_ends_a_probe() {
    use midflight_control::spurious::AnySpuriousDetector;

    for detector in ["frto", "frto-2003", "frto-ns2"] {
        let mut p = profile("ns2").unwrap_or_else(|e| panic!("{e}"));
        p.parts.spurious_detector =
            AnySpuriousDetector::named(detector).unwrap_or_else(|| panic!("{detector}"));
        let mut sender = Sender::new(&p.sender, &p.parts, []);
        let ack = |number| Ack {
            ack: number,
            sack: midflight_tcp::SackBlocks::default(),
            echo: None,
            cause_sent: Instant::ZERO,
            offset: 0,
            option: midflight_tcp::AckOption::Nothing,
            window: None,
            stamp_ms: 0,
            extra_bytes: 0,
        };
        let mut now = Instant::ZERO;
        sender.open(now, &mut ());
        for number in 1..=4 {
            while sender.poll_transmit(now).is_some() {}
            now += Duration::from_millis(100);
            sender.on_ack(now, &ack(number), &mut ());
        }
        while sender.poll_transmit(now).is_some() {}
        let mut expire = |sender: &mut Sender| {
            now = sender.poll_timer().unwrap_or_else(|| panic!("no timer")).0;
            sender.on_timer(now, &mut ());
            std::iter::from_fn(|| sender.poll_transmit(now))
                .map(|segment| segment.seq)
                .collect::<Vec<_>>()
        };
        assert_eq!(expire(&mut sender), [4], "{detector}");
        sender.on_ack(sender.view().now, &ack(5), &mut ());
        let (at, max) = (sender.view().now, sender.view().snd_max);
        assert_eq!(sender.poll_transmit(at).map(|s| s.seq), Some(max));
        assert_eq!(sender.poll_transmit(at).map(|s| s.seq), Some(max + 1));
        assert_eq!(sender.poll_transmit(at), None, "{detector}");
        assert_eq!(expire(&mut sender), [5], "{detector}");
    }
}
