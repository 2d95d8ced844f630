//! A closed window at a sender, one ACK at a time (RFC 9293 section 3.8.6.1), and what Linux makes of it.
#![allow(clippy::panic, reason = "a failed test panics")]

use std::num::NonZeroU32;

use crate::common::DrivenSender;
use crate::handoff::{ack_with, ms, plain_ack, receiver, start, take, ALL, BY_NUMBER};
use midflight_tcp::{Ack, AckOption, Content};
use midflight_units::{Duration, Seq};

/// RFC 9293 section 3.8.6.1: the first probe after the retransmission timeout,
/// then at intervals that double; the connection stays open.
#[test]
fn a_closed_window_is_probed_at_intervals_that_double_up_to_the_longest() {
    for recovery in ALL {
        let mut s = start(recovery, &[("max_rto", "3s")]);
        assert_eq!(ack_with(&mut s, 9, AckOption::ZeroWindow), [], "{recovery}");
        assert!(s.sender.is_window_closed());
        let (closed, window) = (s.now, s.window());
        let mut waits = Vec::new();
        for _ in 0..4 {
            let before = s.now;
            let (expired, sent) = s.timer();
            assert!(!expired, "{recovery}: the retransmission timer is frozen");
            assert_eq!(sent, [8], "{recovery}: the last acknowledged segment");
            waits.push(s.now.since(before).as_nanos() / 1_000_000);
            // The response: the window is still closed.
            s.step = Duration::ZERO;
            assert_eq!(ack_with(&mut s, 9, AckOption::ZeroWindow), [], "{recovery}");
        }
        assert_eq!(waits, [1000, 2000, 3000, 3000], "{recovery}");
        assert_eq!(s.now.since(closed), ms(9000));
        assert_eq!(s.window(), window, "{recovery}: the window is kept");
        assert_eq!(s.seen.timeouts, [], "{recovery}");
    }
}

/// A probe carries no data, so no DSACK reports it (RFC 2883 section 4).
#[test]
fn a_probe_is_answered_at_once_and_is_no_duplicate() {
    let mut s = start("sack", &[]);
    let _ = ack_with(&mut s, 9, AckOption::ZeroWindow);
    s.now = s.due();
    assert!(!s.sender.on_timer(s.now, &mut s.seen));
    let probe = s.sender.poll_transmit(s.now);
    let probe = probe.unwrap_or_else(|| panic!("no probe"));
    assert!(probe.content == Content::WindowProbe);
    let mut r = receiver("freeze", &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
    let answer = r.on_segment(s.now, &probe);
    let answer = answer.unwrap_or_else(|| panic!("no answer"));
    assert!(answer.sack.is_empty() && answer.ack == 9);
    // Data that arrives twice is a duplicate.
    let again = take(&mut r, 8).unwrap_or_else(|| panic!("no answer"));
    assert!(!again.sack.is_empty());
}

/// When only the SYN is acknowledged the probe has the number of the SYN.
#[test]
fn a_probe_after_the_handshake_is_no_syn() {
    for recovery in ALL {
        let mut s = start(recovery, &[]);
        assert_eq!(ack_with(&mut s, 1, AckOption::ZeroWindow), [], "{recovery}");
        s.now = s.due();
        assert!(!s.sender.on_timer(s.now, &mut s.seen));
        let probe = s.sender.poll_transmit(s.now);
        let probe = probe.unwrap_or_else(|| panic!("no probe"));
        assert!(
            probe.content == Content::WindowProbe && probe.seq == 0,
            "{recovery}"
        );
        let answer = receiver("freeze", &[0]).on_segment(s.now, &probe);
        assert!(answer.is_some_and(|a| a.ack == 1 && a.sack.is_empty()));
    }
}

#[test]
fn the_ack_of_the_syn_may_close_the_window() {
    for recovery in ALL {
        let mut s = DrivenSender::closed(&[("recovery", recovery)], 100);
        assert_eq!(s.send(), [0]);
        assert_eq!(ack_with(&mut s, 1, AckOption::ZeroWindow), [], "{recovery}");
        assert!(s.sender.is_window_closed());
        assert_eq!(s.timer(), (false, vec![0]), "{recovery}: a probe");
        assert_eq!(ack_with(&mut s, 1, AckOption::Nothing)[0], 1, "{recovery}");
    }
}

/// A delayed response to duplicates is dropped when the window is closed.
#[test]
fn a_delayed_response_does_not_cut_a_window_that_is_closed() {
    for dupack in ["dcr", "ncr-careful"] {
        let mut s = start("sack", &[("dupack", dupack)]);
        for d in 1..=3 {
            let _ = s.sack(1, &[(2, d + 2)]);
        }
        let _ = ack_with(&mut s, 1, AckOption::ZeroWindow);
        let window = s.window();
        for _ in 0..4 {
            assert!(!s.timer().0, "{dupack}");
        }
        assert_eq!(s.window(), window, "{dupack}");
        assert_eq!(s.seen.fast_retransmits, [], "{dupack}");
    }
}

#[test]
fn an_open_window_lets_new_data_go_at_once() {
    for recovery in ALL {
        let mut s = start(recovery, &[]);
        assert_eq!(ack_with(&mut s, 9, AckOption::ZeroWindow), [], "{recovery}");
        let cwnd = s.window().0;
        let sent = ack_with(&mut s, 9, AckOption::Nothing);
        let expected: Vec<Seq> = (9..9 + cwnd).collect();
        assert_eq!(sent, expected, "{recovery}: a whole window, no slow start");
        assert!(!s.sender.is_window_closed());
        assert_eq!(s.due(), s.now + s.sender.view().rto, "{recovery}");
    }
}

/// Data in flight may still arrive while the window is closed; the sender does not respond to it.
#[test]
fn acks_move_on_under_a_closed_window() {
    for recovery in ALL {
        let mut s = start(recovery, &[]);
        assert_eq!(ack_with(&mut s, 3, AckOption::ZeroWindow), [], "{recovery}");
        assert_eq!(ack_with(&mut s, 5, AckOption::ZeroWindow), [], "{recovery}");
        assert_eq!(s.sender.view().snd_una, 5, "{recovery}");
        // Below SND.UNA: carries no information about the present window.
        assert_eq!(ack_with(&mut s, 4, AckOption::Nothing), [], "{recovery}");
        assert!(s.sender.is_window_closed(), "{recovery}");
        for _ in 0..5 {
            assert_eq!(
                ack_with(&mut s, 5, AckOption::ZeroWindow),
                [],
                "{recovery}: no duplicates"
            );
        }
        assert_eq!(s.seen.fast_retransmits, [], "{recovery}");
    }
}

/// Losses while the window was closed: the timer continues from the opening, or the ACKs that open
/// the window count as duplicates.
#[test]
fn segments_lost_under_a_closed_window_are_resent_after_it() {
    for recovery in ALL {
        let mut s = start(recovery, &[("count_window_updates", "off")]);
        let _ = ack_with(&mut s, 5, AckOption::ZeroWindow);
        s.now += ms(300);
        let _ = ack_with(&mut s, 5, AckOption::Nothing);
        assert_eq!(s.due(), s.now + s.sender.view().rto, "{recovery}");
        let _ = s.timeout();
        assert_eq!(s.seen.timeouts, [5], "{recovery}");
    }
    for (counts, retransmits) in [("on", vec![5]), ("off", vec![])] {
        for recovery in BY_NUMBER {
            let mut s = start(recovery, &[("count_window_updates", counts)]);
            let _ = ack_with(&mut s, 5, AckOption::ZeroWindow);
            for _ in 0..3 {
                let _ = ack_with(&mut s, 5, AckOption::Nothing);
            }
            assert_eq!(s.seen.fast_retransmits, retransmits, "{recovery}");
        }
    }
}

/// Linux goes on with what is in flight: each timeout reduces the window and sends the first segment again, and the ACKs that
/// open the window change nothing (tcp_retransmit_timer()). `drills/linux/freeze.pkt` is the same on a kernel.
#[test]
fn linux_sends_again_under_a_closed_window() {
    let mut s = start("linux", &[]);
    assert_eq!(ack_with(&mut s, 5, AckOption::ZeroWindow), []);
    assert!(!s.sender.is_window_closed());
    // The window has no room for a probe of the tail (tcp_send_loss_probe()).
    assert_eq!(s.timer(), (false, vec![]));
    for timeouts in 1..=3 {
        assert_eq!(s.timer(), (true, vec![5]));
        assert_eq!((s.window().0, s.seen.timeouts.len()), (1, timeouts));
    }
    for _ in 0..3 {
        assert_eq!(ack_with(&mut s, 5, AckOption::Nothing), []);
    }
    assert_eq!(s.seen.fast_retransmits, []);
    assert_eq!(s.window().0, 1);
}

/// A closed window is closed, whatever the ACK says about the free buffer.
#[test]
fn the_buffer_of_a_linux_receiver_does_not_open_a_closed_window() {
    let mut s = start("linux", &[]);
    let mut ack = |number, option| {
        s.now += s.step;
        let ack = Ack {
            window: NonZeroU32::new(60_000),
            ..plain_ack(number, option)
        };
        s.sender.on_ack(s.now, &ack, &mut s.seen);
        s.send()
    };
    assert_eq!(ack(2, AckOption::ZeroWindow), []);
    assert_eq!(ack(5, AckOption::ZeroWindow), []);
    assert_ne!(ack(7, AckOption::Nothing), []);
}

/// Linux probes if data waits and nothing is in flight (tcp_check_probe_timer()); after more than a timeout it begins again with
/// the initial window (tcp_ack_update_window()).
#[test]
fn linux_probes_for_data_that_waits() {
    let settings = [
        ("recovery", "linux"),
        ("initial_window", "2"),
        ("restart_after_idle", "halving"),
    ];
    let mut s = DrivenSender::open(&settings, 100);
    let _ = ack_with(&mut s, 3, AckOption::Nothing);
    let _ = ack_with(&mut s, 7, AckOption::Nothing);
    let (cwnd, end) = (s.window().0, s.sender.view().snd_max - 1);
    assert!(cwnd > 4);
    assert_eq!(ack_with(&mut s, end + 1, AckOption::ZeroWindow), []);
    assert!(s.sender.is_window_closed());
    assert_eq!(s.timer(), (false, vec![end]));
    assert_eq!(s.timer(), (false, vec![end]));
    assert_eq!(
        ack_with(&mut s, end + 1, AckOption::Nothing),
        [end + 1, end + 2]
    );
}

/// The ACK of the SYN may have a zero window, too.
#[test]
fn linux_waits_for_a_window_that_begins_at_zero() {
    let settings = [("recovery", "linux"), ("min_rto", "50ms")];
    let mut s = DrivenSender::closed(&settings, 20);
    assert_eq!(s.send(), [0]);
    assert_eq!(ack_with(&mut s, 1, AckOption::ZeroWindow), []);
    assert!(s.sender.is_window_closed());
    // TCP_RTO_MIN in tcp_probe0_base(), whatever the least timeout is.
    assert!(s.sender.view().rto < ms(200));
    assert_eq!(s.due(), s.now + ms(200));
    assert_eq!(s.timer(), (false, vec![0]));
    assert_eq!(ack_with(&mut s, 1, AckOption::Nothing)[0], 1);
}

/// Probes wait on the timer wheel, as other timers do: buckets of one tick of 4 ms up to 62 ticks ahead, of 8 up to 503, of 64
/// from there on (calc_index() of kernel/time/timer.c). An exact clock has no buckets.
#[test]
fn linux_probes_at_the_ticks_of_its_timer_wheel() {
    let ticks = |hz: &'static str| {
        let settings = [("recovery", "linux"), ("min_rto", "50ms"), ("hz", hz)];
        let mut s = DrivenSender::closed(&settings, 20);
        assert_eq!(s.send(), [0]);
        assert_eq!(ack_with(&mut s, 1, AckOption::ZeroWindow), []);
        let closed = s.now.as_nanos();
        let mut probes = vec![];
        for _ in 0..5 {
            assert_eq!(s.timer(), (false, vec![0]));
            probes.push(s.now.as_nanos());
        }
        (closed, probes)
    };
    let (closed, probes) = ticks("0");
    let waits = [200, 600, 1400, 3000, 6200].map(|after| closed + after * 1_000_000);
    assert_eq!(probes, waits);

    let (closed, probes) = ticks("250");
    let tick = 4_000_000;
    let mut begun = closed / tick;
    for (n, (probe, width)) in probes.into_iter().zip([1, 8, 8, 8, 64]).enumerate() {
        // A bucket ends at a multiple of its width, after the timer is due.
        let due = begun + (50 << n);
        begun = (due / width + 1) * width;
        assert_eq!(probe, begun * tick, "probe {n}");
    }
}

/// A DSACK counts while the window is closed: a probe of the tail was unneeded, so nothing was lost (tcp_process_tlp_ack()).
#[test]
fn linux_reads_a_dsack_while_the_window_is_closed() {
    let mut s = start("linux", &[("dsack", "on")]);
    let (window, last) = (s.window(), s.sender.view().snd_max - 1);
    s.sender.set_end(last + 1);
    assert_eq!(s.timer(), (false, vec![last]));
    assert_eq!(ack_with(&mut s, last + 1, AckOption::ZeroWindow), []);
    let mut sack = midflight_tcp::SackBlocks::default();
    sack.push(
        last + 1,
        midflight_tcp::SackBlock {
            left: last,
            right: last + 1,
        },
    );
    s.now += s.step;
    let ack = Ack {
        sack,
        ..plain_ack(last + 1, AckOption::ZeroWindow)
    };
    s.sender.on_ack(s.now, &ack, &mut s.seen);
    s.sender.write_until(s.now, last + 20, &mut s.seen);
    assert_ne!(ack_with(&mut s, last + 1, AckOption::Nothing), []);
    for next in last + 2..last + 12 {
        let _ = ack_with(&mut s, next, AckOption::Nothing);
    }
    assert_eq!(s.window().1, window.1);
}

/// Each buffer that is written into a closed window ends an idle time (tcp_skb_entail()).
#[test]
fn writes_into_a_closed_window_end_idle_times_of_linux() {
    let settings = [("restart_after_idle", "halving")];
    let mut s = start("linux", &settings);
    let _ = s.ack(5);
    s.sender.set_end(9);
    assert_eq!(ack_with(&mut s, 9, AckOption::ZeroWindow), []);
    let (cwnd, rto) = (s.window().0, s.sender.view().rto);
    let mut now = s.now + rto + ms(50);
    let mut found = Vec::new();
    for end in [12, 15, 18] {
        s.sender.write_until(now, end, &mut s.seen);
        found.push(s.window().0);
        now += ms(1);
    }
    let least = s.sender.config().initial_window() as u64;
    assert_eq!(found, [1, 2, 3].map(|n| (cwnd >> n).max(least)));
}

/// Without data that waits there are no probes (tcp_probe_timer()); they begin with the next data.
#[test]
fn linux_does_not_probe_for_nothing() {
    let mut s = start("linux", &[]);
    s.sender.set_end(9);
    assert_eq!(ack_with(&mut s, 9, AckOption::ZeroWindow), []);
    assert_eq!(s.sender.poll_timer(), None);
    let (now, rto) = (s.now + ms(10), s.sender.view().rto);
    s.sender.write_until(now, 12, &mut s.seen);
    assert_eq!(s.due(), now + rto);
    assert_eq!(s.timer(), (false, vec![8]));
}

/// A notice to wait stops Linux, too: it is a part of the sender of ELFN.
#[test]
fn a_notice_to_wait_stops_linux() {
    let mut s = start("linux", &[]);
    assert_eq!(ack_with(&mut s, 5, AckOption::Standby), []);
    assert!(s.sender.is_window_closed());
    let cwnd = s.window().0;
    assert_eq!(s.timer(), (false, vec![4]));
    let _ = ack_with(&mut s, 5, AckOption::Nothing);
    assert!(!s.sender.is_window_closed());
    assert_eq!((s.window().0, &s.seen.timeouts[..]), (cwnd, &[][..]));
}

/// The ACK after a notice to wait ends the wait of Linux, also if its window is zero: the timer of what is in flight
/// goes on, and without any the probes of a zero window begin.
#[test]
fn a_zero_window_after_a_notice_to_wait_does_not_stop_linux() {
    for (acked, is_idle) in [(5, false), (9, true)] {
        let mut s = start("linux", &[]);
        s.sender.set_end(9);
        let _ = s.ack(4);
        assert_eq!(ack_with(&mut s, 5, AckOption::Standby), []);
        assert!(s.sender.is_window_closed());
        assert_eq!(ack_with(&mut s, acked, AckOption::ZeroWindow), []);
        assert!(!s.sender.is_window_closed());
        if is_idle {
            s.sender.write_until(s.now, 12, &mut s.seen);
            assert!(s.sender.is_window_closed());
            assert_eq!(s.timer(), (false, vec![8]));
        } else {
            assert_eq!(s.timer(), (true, vec![5]));
        }
    }
}

/// A zero window stops the timers (Goff et al. 2000): when the window opens the timer has its
/// remaining time, so that a timer with a long back-off expires even if the window closes
/// repeatedly before.
#[test]
fn the_retransmission_timer_resumes_with_its_remaining_time() {
    for recovery in ALL {
        let mut s = start(recovery, &[("count_window_updates", "off")]);
        let _ = ack_with(&mut s, 5, AckOption::Nothing);
        let (from, rto) = (s.now, s.sender.view().rto);
        let mut frozen = Duration::ZERO;
        for _ in 0..4 {
            s.now += ms(100);
            let _ = ack_with(&mut s, 5, AckOption::ZeroWindow);
            s.now += ms(700);
            let _ = ack_with(&mut s, 5, AckOption::Nothing);
            frozen = frozen + ms(710);
            assert_eq!(s.due(), from + rto + frozen, "{recovery}");
        }
        let _ = s.timeout();
        assert_eq!(s.seen.timeouts, [5], "{recovery}");
    }
}
