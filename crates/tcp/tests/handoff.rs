//! The effect of a mobile node's signals on a sender, one ACK at a time: three ACKs after a handoff,
//! and the handoff mark (Izumikawa, Yamaguchi & Katto, section 3); `closed_window` is about the
//! closed window.
#![allow(clippy::panic, reason = "a failed test panics")]

use crate::common::{self, DrivenSender};
use midflight_control::policy::Policy;
use midflight_control::signal::{AnyHandoffSignal, HandoffMark};
use midflight_control::Order;
use midflight_tcp::{profile, Ack, AckOption, Receiver, Segment};
use midflight_units::{Duration, Instant, Seq};

pub(crate) const ALL: [&str; 5] = ["tahoe", "reno", "newreno", "sack1", "sack"];
/// Recoveries that detect a duplicate ACK by its number alone.
pub(crate) const BY_NUMBER: [&str; 3] = ["tahoe", "reno", "newreno"];

/// cwnd 8, ssthresh 4; segments 1 to 8 are outstanding, the SYN took 100 ms,
/// ACKs come every 10 ms.
pub(crate) fn start(recovery: &str, settings: &[(&str, &str)]) -> DrivenSender {
    let mut all = vec![
        ("recovery", recovery),
        ("initial_window", "8"),
        ("initial_ssthresh", "4"),
        ("limited_transmit", "off"),
    ];
    all.extend(settings);
    let mut s = DrivenSender::open(&all, 100);
    assert_eq!(s.window(), (8, 4, 8));
    s.step = Duration::from_millis(10);
    s
}

/// The same with the sender's side of EHN.
fn heeding(recovery: &str, knobs: &[(&str, &str)]) -> DrivenSender {
    let mut s = start(recovery, &[]);
    let mut policy = Policy::named("ehn-restore").unwrap_or_else(|| panic!("registered"));
    for (name, value) in knobs {
        assert_eq!(policy.set_knob(name, value), Ok(()));
    }
    s.sender.set_policies([policy]);
    s
}

/// An ACK with an option arrives; returns the segments that are sent.
pub(crate) fn ack_with(s: &mut DrivenSender, ack: Seq, option: AckOption) -> Vec<Seq> {
    s.now += s.step;
    let ack = plain_ack(ack, option);
    s.sender.on_ack(s.now, &ack, &mut s.seen);
    s.send()
}

pub(crate) fn plain_ack(ack: Seq, option: AckOption) -> Ack {
    Ack {
        ack,
        sack: midflight_tcp::SackBlocks::default(),
        echo: None,
        cause_sent: Instant::ZERO,
        offset: 0,
        option,
        window: None,
        stamp_ms: 0,
        extra_bytes: 0,
    }
}

/// An ACK with the mark of this handoff arrives, which the node sent 5 ms ago.
fn mark(s: &mut DrivenSender, ack: Seq, number: u32) -> Vec<Seq> {
    let sent = common::before(s.now + s.step, 5);
    ack_with(s, ack, AckOption::Moved(HandoffMark { number, sent }))
}

pub(crate) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

// ---- duplicates -----------------------------------------------------------

/// Three copies of the last ACK cause a fast retransmit if duplicates are detected by number; with
/// SACK only if the setting allows it (RFC 6675 section 2).
#[test]
fn three_acks_are_a_fast_retransmit() {
    for recovery in ALL {
        for counts in ["on", "off"] {
            let mut s = start(recovery, &[("count_sackless_dupacks", counts)]);
            for _ in 0..3 {
                let _ = s.ack(1);
            }
            let expected = BY_NUMBER.contains(&recovery) || counts == "on";
            let seen = s.seen.fast_retransmits.len();
            assert_eq!(seen, usize::from(expected), "{recovery} {counts}");
        }
    }
}

// ---- the handoff mark ------------------------------------------------------

#[test]
fn a_mark_sends_everything_outstanding_again_with_the_same_window() {
    for recovery in ALL {
        let mut s = heeding(recovery, &[]);
        assert_eq!(mark(&mut s, 1, 1), [1, 2, 3, 4, 5, 6, 7, 8], "{recovery}");
        assert_eq!(s.window(), (8, 4, 8), "{recovery}");
        assert_eq!(s.due(), s.now + s.sender.view().rto, "{recovery}");
        assert_eq!(s.seen.orders, [Order::Rewind], "{recovery}");
        // From here on as if nothing had happened.
        assert_eq!(s.ack(2), [9], "{recovery}");
        assert_eq!(s.seen.fast_retransmits, [], "{recovery}");
    }
}

#[test]
fn the_marks_ack_counts_first() {
    for recovery in ALL {
        let mut s = heeding(recovery, &[]);
        let sent = mark(&mut s, 6, 1);
        assert_eq!(sent[..3], [6, 7, 8], "{recovery}");
        assert_eq!(s.sender.view().snd_una, 6, "{recovery}");
        let rest: Vec<Seq> = (9..6 + s.window().0).collect();
        assert_eq!(sent[3..], rest, "{recovery}: then new data");
    }
}

/// A plain sender treats it as one more duplicate.
#[test]
fn a_sender_that_does_not_heed_marks_sees_a_duplicate() {
    let mut s = start("newreno", &[]);
    for number in 1..=3 {
        let _ = mark(&mut s, 1, number);
    }
    assert_eq!(s.seen.fast_retransmits, [1]);
}

/// The paper's second case: the timer expired before the mark arrived.
#[test]
fn the_window_before_the_timeouts_comes_back() {
    for recovery in ALL {
        for timeouts in 1..=3 {
            let mut s = heeding(recovery, &[]);
            for _ in 0..timeouts {
                assert_eq!(s.timeout(), [1], "{recovery}");
            }
            assert_eq!(s.window().0, 1, "{recovery}");
            assert_eq!(mark(&mut s, 1, 1), [1, 2, 3, 4, 5, 6, 7, 8], "{recovery}");
            assert_eq!(s.window(), (8, 4, 8), "{recovery}: after {timeouts}");
            assert_eq!(s.sender.backoff(), 1, "{recovery}");
        }
    }
}

/// Duplicates have inflated the window when the timer expires in a fast recovery: the inflated
/// window must not be restored.
#[test]
fn an_inflated_window_does_not_come_back() {
    let mut s = heeding("newreno", &[]);
    for _ in 1..=7 {
        let _ = s.ack(1);
    }
    assert_eq!(s.window(), (4 + 7, 4, s.window().2));
    let _ = s.ack(2);
    assert!(s.sender.view().in_fast_recovery, "a partial ACK");
    assert!(s.window().0 > 4);
    let _ = s.timeout();
    let _ = mark(&mut s, 2, 1);
    assert_eq!((s.window().0, s.window().1), (4, 4));
}

/// A fast recovery is for an earlier loss, and then the handoff makes the timer expire: the window
/// of the recovery is restored.
#[test]
fn a_timeout_after_a_recovery_is_taken_back() {
    for recovery in ["reno", "newreno", "sack1", "sack"] {
        let mut s = heeding(recovery, &[]);
        s.now += ms(200);
        for d in 1..=3 {
            let _ = s.sack(1, &[(2, d + 2)]);
        }
        let _ = s.timeout();
        assert_eq!(s.window().0, 1, "{recovery}");
        let _ = mark(&mut s, 1, 1);
        assert_eq!((s.window().0, s.window().1), (4, 4), "{recovery}");
    }
}

/// A timeout before the last advance had another cause.
#[test]
fn an_earlier_timeout_stays_answered() {
    for recovery in ALL {
        let mut s = heeding(recovery, &[]);
        let _ = s.timeout();
        let _ = s.ack(3);
        let (cwnd, ssthresh, _) = s.window();
        assert!(cwnd < 4, "{recovery}");
        let _ = mark(&mut s, 3, 1);
        assert_eq!((s.window().0, s.window().1), (cwnd, ssthresh), "{recovery}");
    }
}

/// A fast recovery is undone if the segment that it retransmitted had been sent less than a
/// round-trip time before the mark; the SYN's was 100 ms.
#[test]
fn a_fast_recovery_for_the_handoffs_losses_is_taken_back() {
    for recovery in ["reno", "newreno", "sack1", "sack"] {
        for (late, restored) in [(0, true), (200, false)] {
            let mut s = heeding(recovery, &[]);
            s.now += ms(late);
            for d in 1..=3 {
                let _ = s.sack(1, &[(2, d + 2)]);
            }
            assert_eq!(s.seen.fast_retransmits, [1], "{recovery}");
            let sent = mark(&mut s, 1, 1);
            assert!(!s.sender.view().in_fast_recovery, "{recovery}");
            let (cwnd, ssthresh, _) = s.window();
            let expected = if restored { (8, 4) } else { (4, 4) };
            assert_eq!((cwnd, ssthresh), expected, "{recovery} {late} ms later");
            let all: Vec<Seq> = (1..=cwnd).collect();
            assert_eq!(sent, all, "{recovery}");
        }
    }
}

#[test]
fn a_mark_counts_once() {
    for recovery in ALL {
        let mut s = heeding(recovery, &[]);
        let _ = mark(&mut s, 1, 2);
        let orders = s.seen.orders.len();
        for number in [2, 2, 2, 1, 0] {
            assert_eq!(mark(&mut s, 1, number), [], "{recovery}");
        }
        // Another handoff within a round-trip time: the mark cannot be genuine.
        assert_eq!(mark(&mut s, 1, 3), [], "{recovery}");
        assert_eq!(s.seen.orders.len(), orders, "{recovery}");
        assert_eq!(s.seen.fast_retransmits, [], "{recovery}: nor a duplicate");
        s.now += ms(200);
        assert_eq!(mark(&mut s, 1, 2), [], "{recovery}: a late repeat");
        assert_eq!(mark(&mut s, 1, 4).len(), 8, "{recovery}: the next handoff");
    }
}

#[test]
fn marks_that_say_nothing_new_change_nothing() {
    for recovery in ALL {
        let mut s = heeding(recovery, &[]);
        let _ = s.ack(4);
        let (window, una) = (s.window(), s.sender.view().snd_una);
        let max = s.sender.view().snd_max;
        assert_eq!(mark(&mut s, 2, 1), [], "{recovery}: below SND.UNA");
        assert_eq!(mark(&mut s, max + 1, 2), [], "{recovery}: never sent");
        assert_eq!((s.window(), s.sender.view().snd_una), (window, una));
        assert_eq!(s.seen.orders, [], "{recovery}");
        // Neither has used the number of a valid mark.
        assert_eq!(mark(&mut s, 4, 1)[0], 4, "{recovery}");
    }
}

#[test]
fn with_nothing_outstanding_there_is_nothing_to_send_again() {
    for recovery in ALL {
        let mut s = heeding(recovery, &[]);
        s.sender.set_end(9);
        let _ = s.ack(9);
        assert_eq!(mark(&mut s, 9, 1), [], "{recovery}");
        assert_eq!(s.seen.orders, [], "{recovery}");
    }
}

/// A segment that is lost again is detected by its duplicates: going back does not leave a guard
/// against them.
#[test]
fn a_loss_of_a_retransmission_is_a_loss_like_any_other() {
    for recovery in ["reno", "newreno", "sack1", "sack"] {
        let mut s = heeding(recovery, &[]);
        let _ = mark(&mut s, 1, 1);
        let _ = s.ack(2);
        for d in 1..=3 {
            let _ = s.sack(2, &[(3, d + 3)]);
        }
        assert_eq!(s.seen.fast_retransmits, [2], "{recovery}");
    }
}

/// Going back in a recovery clears its recovery point.
#[test]
fn with_sack_a_loss_after_a_recovery_that_was_taken_back_starts_another() {
    for recovery in ["sack1", "sack"] {
        let mut s = heeding(recovery, &[]);
        for d in 1..=3 {
            let _ = s.sack(1, &[(2, d + 2)]);
        }
        let _ = mark(&mut s, 1, 1);
        let _ = s.ack(2);
        for d in 1..=3 {
            let _ = s.sack(2, &[(3, d + 3)]);
        }
        assert_eq!(s.seen.fast_retransmits, [1, 2], "{recovery}");
    }
}

/// The ACKs after a mark are for its retransmissions: they do not show that an earlier timeout was
/// spurious.
#[test]
fn a_mark_ends_the_question_whether_a_timeout_was_spurious() {
    for recovery in ALL {
        for (detector, marks) in [("frto", true), ("frto-ns2", true), ("frto", false)] {
            let mut s = start(recovery, &[("spurious", detector)]);
            s.sender.set_policies(Policy::named("ehn-restore"));
            let _ = s.timeout();
            if marks {
                let _ = mark(&mut s, 1, 1);
            }
            for ack in 2..=4 {
                let _ = s.ack(ack);
            }
            let spurious = usize::from(!marks);
            assert_eq!(s.seen.spurious_timeouts, spurious, "{recovery} {detector}");
        }
    }
}

#[test]
fn slow_start_and_a_new_rtt_are_choices() {
    for recovery in ALL {
        let knobs = [("ehn_window", "slow-start"), ("ehn_rtt", "one-way")];
        let mut s = heeding(recovery, &knobs);
        assert_eq!(mark(&mut s, 1, 1), [1], "{recovery}");
        assert_eq!(s.window(), (1, 4, 8), "{recovery}: half of 8");
        // Twice the 5 ms of the mark, and RFC 6298 (2.2) with its minimum.
        assert_eq!(
            s.sender.view().srtt,
            None,
            "{recovery}: none until a sample"
        );
        assert_eq!(
            s.due(),
            s.now + ms(1000),
            "{recovery}: the minimum of this profile"
        );
        assert_eq!(s.ack(2), [2, 3], "{recovery}");
    }
}

/// Without a bandwidth estimate there is no value for the adjustment.
#[test]
fn adjusted_without_an_estimate_is_previous() {
    let mut s = heeding("sack", &[("ehn_window", "adjusted")]);
    assert_eq!(mark(&mut s, 1, 1).len(), 8);
    assert_eq!(s.window(), (8, 4, 8));
}

/// Estimated bandwidth times twice the mark's delay: about 100 segments a
/// second for 2 x 60 ms.
#[test]
fn adjusted_sets_the_capacity_of_the_new_path() {
    for controller in ["westwood", "westwood-plus"] {
        let mut s = start("reno", &[("congestion", controller)]);
        let mut policy = Policy::named("ehn-restore").unwrap_or_else(|| panic!("registered"));
        assert_eq!(policy.set_knob("ehn_window", "adjusted"), Ok(()));
        s.sender.set_policies([policy]);
        for ack in 2..=600 {
            let _ = s.ack(ack);
        }
        let bandwidth = s.sender.view().bandwidth.unwrap_or_default();
        assert!((bandwidth - 100.0).abs() < 5.0, "{controller}: {bandwidth}");
        let before = s.window().0;
        assert!(before > 20, "{controller}");
        let sent = common::before(s.now + s.step, 60);
        let resent = ack_with(
            &mut s,
            600,
            AckOption::Moved(HandoffMark { number: 1, sent }),
        );
        let share = s.sender.view().ssthresh;
        assert!((11.0..=12.0).contains(&share), "{controller}: {share}");
        assert_eq!(s.window().0, share as u64, "{controller}");
        assert_eq!(resent.len(), share as usize, "{controller}");
    }
}

// ---- the receiver ------------------------------------------------------------

pub(crate) fn receiver(signal: &str, received: &[Seq]) -> Receiver {
    let mut config = common::configured(&[]).receiver;
    config.signal = AnyHandoffSignal::named(signal).unwrap_or_else(|| panic!("registered"));
    let mut r = Receiver::new(config);
    for &seq in received {
        let _ = take(&mut r, seq);
    }
    r
}

pub(crate) fn take(r: &mut Receiver, seq: Seq) -> Option<Ack> {
    take_at(r, Instant::from_nanos(seq), seq)
}

fn take_at(r: &mut Receiver, now: Instant, seq: Seq) -> Option<Ack> {
    let segment = Segment::plain(seq, 1500, Instant::ZERO);
    r.on_segment(now, &segment)
}

fn attached(r: &mut Receiver) -> Vec<(Seq, AckOption)> {
    let acks = r.on_attached(Instant::from_nanos(77));
    acks.map(|a| (a.ack, a.option)).collect()
}

fn warned(r: &mut Receiver) -> Vec<(Seq, AckOption)> {
    let acks = r.on_warning(Instant::from_nanos(66));
    acks.map(|a| (a.ack, a.option)).collect()
}

#[test]
fn each_signal_has_its_content() {
    let received = [0, 1, 2];
    assert_eq!(attached(&mut receiver("silent", &received)), []);
    assert_eq!(
        attached(&mut receiver("tr-acks", &received)),
        [(3, AckOption::Nothing); 3]
    );
    let mut freeze = receiver("freeze", &received);
    assert_eq!(warned(&mut freeze), [(3, AckOption::ZeroWindow)]);
    // Every ACK carries it until the handoff is over.
    assert_eq!(
        take(&mut freeze, 3).map(|a| a.option),
        None,
        "a delayed ACK"
    );
    assert_eq!(
        take(&mut freeze, 4).map(|a| a.option),
        Some(AckOption::ZeroWindow)
    );
    assert_eq!(attached(&mut freeze), [(5, AckOption::Nothing); 3]);
    let mut ehn = receiver("ehn-notify", &received);
    for number in 1..=2 {
        let sent = Instant::from_nanos(77);
        let mark = HandoffMark { number, sent };
        assert_eq!(attached(&mut ehn), [(3, AckOption::Moved(mark))]);
    }
    let mut option = receiver("ho-notify", &received);
    assert_eq!(warned(&mut option), [(3, AckOption::Standby)]);
    let sent = Instant::from_nanos(77);
    let mark = HandoffMark { number: 1, sent };
    assert_eq!(attached(&mut option), [(3, AckOption::Moved(mark))]);
    assert_eq!(
        take(&mut option, 4).map(|a| a.option),
        Some(AckOption::Nothing)
    );
}

/// A segment that fills the gap is acknowledged as usual, and after the time every segment out of
/// order.
#[test]
fn nodupack_withholds_duplicates_for_its_time() {
    for profile_name in ["rfc", "linux"] {
        let mut p = profile(profile_name).unwrap_or_else(|_| unreachable!());
        let mut part = AnyHandoffSignal::named("nodupack").unwrap_or_else(|| unreachable!());
        assert!(part.set_knob("nodupack_time", "5ns").is_ok());
        p.receiver.signal = part;
        let mut r = Receiver::new(p.receiver);
        for seq in [0, 1, 2] {
            take(&mut r, seq);
        }
        let before = take(&mut r, 4).map(|a| a.ack);
        assert_eq!(before, Some(3), "{profile_name}: a duplicate ACK");
        // On another link at 77 ns.
        assert_eq!(attached(&mut r), []);
        let mut at = |now, seq| {
            let acks = take_at(&mut r, Instant::from_nanos(now), seq);
            acks.into_iter()
                .chain(r.on_timer(Instant::from_nanos(now)))
                .map(|a| a.ack)
                .collect::<Vec<_>>()
        };
        assert_eq!(at(78, 6), [], "{profile_name}");
        assert_eq!(
            at(79, 2),
            [3],
            "{profile_name}: it has been told already, and is told again"
        );
        assert_eq!(at(79, 3), [5], "{profile_name}: the gap is filled");
        assert_eq!(at(81, 7), [], "{profile_name}");
        assert_eq!(at(82, 8), [5], "{profile_name}: it is over");
    }
}

/// Each copy reports the segments above a gap, and replaces a delayed ACK.
#[test]
fn a_signal_acknowledges_all_that_has_arrived() {
    for signal in ["tr-acks", "ehn-notify"] {
        let mut r = receiver(signal, &[0, 1, 3, 5]);
        let acks: Vec<Ack> = r.on_attached(Instant::from_nanos(77)).collect();
        for ack in &acks {
            let blocks: Vec<_> = ack.sack.iter(ack.ack).map(|b| (b.left, b.right)).collect();
            assert_eq!((ack.ack, blocks), (2, vec![(5, 6), (3, 4)]), "{signal}");
        }
        let mut r = receiver(signal, &[0, 1, 2, 3]);
        let waiting = take(&mut r, 4).is_none() || take(&mut r, 5).is_none();
        assert!(waiting && r.poll_timer().is_some(), "{signal}");
        let next = attached(&mut r)[0].0;
        assert!(next >= 5 && r.poll_timer().is_none(), "{signal}");
    }
}

#[test]
fn a_node_that_has_received_nothing_has_nothing_to_say() {
    for signal in ["tr-acks", "freeze", "ehn-notify"] {
        assert_eq!(attached(&mut receiver(signal, &[])), [], "{signal}");
    }
}
