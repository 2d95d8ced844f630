//! Every kind of recovery with every policy and every part, under arbitrary ACKs,
//! under honest ones, and over a path that loses and reorders.
#![allow(clippy::panic, reason = "a failed test panics")]

mod bench;
mod transfer;

use midflight_control::congestion::{AnyCongestion, CONGESTION_CONTROLLERS};
use midflight_control::policy::{Policy, POLICIES};
use midflight_control::signal::{AnyHandoffSignal, HANDOFF_SIGNALS};
use midflight_tcp::{
    profile, Ack, AckOption, Profile, RecoveryRules, SackBlocks, Sender, SenderEvent, PROFILES,
};
use midflight_units::{Duration, Instant};
use proptest::prelude::*;

use crate::bench::{
    combinations, configured, controllers, hostile_step, named, policies, recoveries, step,
    turn_knobs, with_tcp_acks, Bench, Step,
};
use crate::transfer::transfer;

/// Runs `check`; if it fails, prints the parts.
fn with_parts(p: &Profile, check: impl FnOnce()) {
    let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check));
    assert!(run.is_ok(), "{}", named(p));
}

#[test]
fn every_combination_of_parts_ends_its_flow_over_a_path_that_loses_and_reorders() {
    for (profile_index, turned) in [(0, false), (1, false), (1, true), (2, false)] {
        for (r, recovery) in recoveries().enumerate() {
            for (s, seed) in [1, 0x9E37_79B9_7F4A_7C15].into_iter().enumerate() {
                let (good, _) = combinations(profile_index, recovery, turned, r + s);
                for p in good {
                    with_parts(&p, || transfer(&p, recovery, Vec::new(), seed));
                }
            }
        }
    }
}

/// Every signal, with a sender that uses marks and one that does not.
#[test]
fn every_signal_of_a_node_that_moves_ends_its_flow() {
    for profile_index in 0..PROFILES.len() {
        for recovery in recoveries() {
            let mut p = configured(profile_index, recovery);
            for signal in HANDOFF_SIGNALS {
                let signalling = AnyHandoffSignal::named(signal.name);
                p.receiver.signal = signalling.unwrap_or_else(|| panic!("registered"));
                if p.check().is_err() {
                    continue;
                }
                for heeds in [false, true] {
                    for seed in 1..=40 {
                        let ehn = heeds.then(|| Policy::named("ehn-restore")).flatten();
                        let policies = ehn.into_iter().collect();
                        let seed = seed * 0x9E37_79B9;
                        let run = || transfer(&p, recovery, policies, seed);
                        let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
                        assert!(run.is_ok(), "{} {heeds} {seed} {}", signal.name, named(&p));
                    }
                }
            }
        }
    }
}

/// Every policy with a start notice, including those that send trains.
#[test]
fn every_policy_ends_its_flow_over_a_path_that_loses_and_reorders() {
    for profile_index in 0..PROFILES.len() {
        for recovery in recoveries() {
            let p = configured(profile_index, recovery);
            for info in POLICIES {
                for turned in [false, true] {
                    for seed in 1..=20 {
                        let mut policy = Policy::named(info.name);
                        if let (Some(policy), true) = (&mut policy, turned) {
                            turn_knobs(info, |name, value| policy.set_knob(name, value));
                        }
                        let policies = policy.into_iter().collect();
                        let run = || transfer(&p, recovery, policies, seed * 0x9E37_79B9);
                        let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
                        assert!(run.is_ok(), "{} {turned} {seed} {}", info.name, named(&p));
                    }
                }
            }
        }
    }
}

#[test]
fn every_controller_ends_its_flow_with_every_kind_of_recovery() {
    for turned in [false, true] {
        for profile_index in 0..PROFILES.len() {
            for recovery in recoveries() {
                for controller in controllers(0, turned).take(CONGESTION_CONTROLLERS.len()) {
                    let mut p = configured(profile_index, recovery);
                    p.parts.congestion = controller;
                    if p.check().is_err() {
                        continue;
                    }
                    for seed in 1..=20 {
                        with_parts(&p, || transfer(&p, recovery, Vec::new(), seed));
                    }
                }
            }
        }
    }
}

/// Combinations that cannot work are refused: NCR without SACK, a classifier with Tahoe, Eifel
/// without timestamps.
#[test]
fn some_combinations_of_parts_are_refused() {
    for (profile_index, recovery, least) in [(1, "reno", 30), (1, "tahoe", 40), (0, "sack1", 12)] {
        let (good, refused) = combinations(profile_index, recovery, false, 0);
        assert!(refused >= least, "{recovery}: {refused}");
        assert!(!good.is_empty(), "{recovery}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_acks_break_no_combination_of_parts(
        steps in prop::collection::vec(step(), 0..80),
        profile_index in 0usize..3,
        turned in any::<bool>(),
        controller in 0..CONGESTION_CONTROLLERS.len(),
        with_policies in prop_oneof![Just(None), any::<bool>().prop_map(Some)],
        receiver_window in prop_oneof![Just(None), (1u64..50).prop_map(Some)],
    ) {
        for recovery in with_tcp_acks() {
            let (good, _) = combinations(profile_index, recovery, turned, controller);
            for mut p in good {
                if let Some(window) = receiver_window {
                    p.sender.receiver_window = window;
                }
                let policies = with_policies.map(policies).unwrap_or_default();
                with_parts(&p, || run_steps(&p, recovery, policies, &steps));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_acks_never_break_a_sender_and_honest_ones_end_its_flow(
        steps in prop::collection::vec(step(), 0..120),
        profile_index in 0usize..3,
        controller in 0..CONGESTION_CONTROLLERS.len(),
        receiver_window in prop_oneof![Just(None), (1u64..50).prop_map(Some)],
    ) {
        for recovery in with_tcp_acks() {
            let mut p = configured(profile_index, recovery);
            if let Some(window) = receiver_window {
                p.sender.receiver_window = window;
            }
            let each = policies(true).into_iter().map(|policy| vec![policy]);
            let sets = std::iter::once(Vec::new())
                .chain(each)
                .chain([false, true].map(policies));
            for (policies, controller) in sets.zip(controllers(controller, false)) {
                p.parts.congestion = controller;
                if p.check().is_err() {
                    continue;
                }
                with_parts(&p, || run_steps(&p, recovery, policies, &steps));
            }
        }
    }

    /// Duplicates, partial ACKs and blocks of segments that were never sent or were acknowledged
    /// long ago, with timeouts and orders to go back in between. The invariants after each are in
    /// [`Bench::drain`].
    #[test]
    fn a_receiver_that_lies_leaves_every_recovery_whole(
        steps in prop::collection::vec(hostile_step(), 0..150),
        profile_index in 0usize..3,
        other_rules in any::<bool>(),
        receiver_window in prop_oneof![Just(None), (1u64..50).prop_map(Some)],
    ) {
        for recovery in with_tcp_acks() {
            let mut p = configured(profile_index, recovery);
            if other_rules {
                p.sender.recovery_rules = match p.sender.recovery_rules {
                    RecoveryRules::Rfc => RecoveryRules::Ns2,
                    RecoveryRules::Ns2 => RecoveryRules::Rfc,
                };
                p.sender.newreno_deflation = false;
            }
            if let Some(window) = receiver_window {
                p.sender.receiver_window = window;
            }
            for name in ["", "ehn-restore", "rapid"] {
                let policies = Policy::named(name).into_iter().collect();
                let mut bench = Bench::new(&p, recovery, policies);
                bench.lies = true;
                for step in &steps {
                    bench.take(step);
                }
                bench.finish(&p);
            }
        }
    }

    /// Karn: no sample of a retransmitted segment, and the back-off stays until a valid sample.
    #[test]
    fn back_off_ends_only_with_a_valid_sample(delay_ms in 20u64..5000, losses in 1usize..6) {
        for recovery in with_tcp_acks() {
            let mut p = profile("rfc").unwrap_or_else(|_| unreachable!());
            prop_assert!(p.set("recovery", recovery).is_ok());
            prop_assert!(p.set("rtt_sampling", "one-per-window").is_ok());
            // RFC 6298 (5.7) would set a new RTO for data after lost SYNs.
            p.sender.rto_after_syn_timeout = None;
            let mut sender = Sender::new(&p.sender, &p.parts, []);
            let mut now = Instant::ZERO;
            sender.open(now, &mut ());
            let mut sent: Vec<_> =
                std::iter::from_fn(|| sender.poll_transmit(now)).collect();
            for _ in 0..losses {
                now = sender.poll_timer().map_or(now, |(deadline, _)| deadline);
                sender.on_timer(now, &mut ());
                sent.extend(std::iter::from_fn(|| sender.poll_transmit(now)));
            }
            prop_assert!(sent[1..].iter().all(|s| s.seq == 0 && s.retransmission));
            // Linux does not back off for the first four SYNs.
            let doublings = losses - if recovery == "linux" { losses.min(4) } else { 0 };
            prop_assert_eq!(sender.backoff(), 1 << doublings);
            now += Duration::from_millis(delay_ms);
            let samples = std::cell::Cell::new(0);
            let log = &mut |_: Instant, e: SenderEvent<'_>| {
                samples.set(samples.get() + u32::from(matches!(e, SenderEvent::RttSample(_))));
            };
            let ack = |number| Ack {
                ack: number,
                sack: SackBlocks::default(),
                echo: None,
                cause_sent: Instant::ZERO,
                offset: 0,
                option: AckOption::Nothing, window: None, stamp_ms: 0, extra_bytes: 0,
            };
            // The ACK of the retransmitted SYN is ambiguous: no sample, the back-off stays.
            sender.on_ack(now, &ack(1), log);
            prop_assert_eq!((samples.get(), sender.backoff()), (0, 1 << doublings));
            let data: Vec<_> = std::iter::from_fn(|| sender.poll_transmit(now)).collect();
            prop_assert!(!data.is_empty());
            now += Duration::from_millis(delay_ms);
            // New data, sent once: a sample, and the back-off ends.
            sender.on_ack(now, &ack(2), log);
            prop_assert_eq!((samples.get(), sender.backoff()), (1, 1));
        }
    }
}

/// Cases that the properties above found.
#[test]
fn errors_found_by_the_properties_stay_fixed() {
    let ack = |back, option| Step::Ack {
        back,
        blocks: Vec::new(),
        echo_ms: 0,
        option,
    };
    let notice = |delay| Step::Notice {
        old: (9, 0),
        new: (9, delay),
        flows: 0,
    };
    let wait = |ms| Step::Wait { ms };
    // F-RTO's probe continued after a fast retransmit.
    let probe = [
        ack(3, 2),
        ack(6, 2),
        notice(1),
        notice(0),
        ack(3, 2),
        wait(313),
        wait(687),
        notice(0),
        ack(3, 2),
    ];
    for recovery in recoveries() {
        for p in combinations(1, recovery, false, 0).0 {
            with_parts(&p, || run_steps(&p, recovery, policies(true), &probe));
        }
    }
    // The receiver shrinks its window, and the tail loss probe was above it.
    let shrunk = [
        ack(0, 0),
        ack(0, 0),
        ack(0, 0),
        ack(3, 2),
        ack(0, 0),
        ack(0, 0),
        ack(0, 0),
        wait(8),
        ack(3, 2),
        wait(149),
        ack(3, 2),
        ack(30, 2),
    ];
    for controller in controllers(0, false).take(CONGESTION_CONTROLLERS.len()) {
        let mut p = configured(2, "linux");
        p.parts.congestion = controller;
        if p.check().is_ok() {
            with_parts(&p, || run_steps(&p, "linux", Vec::new(), &shrunk));
        }
    }
}

/// CUBIC by the rules of RFC 8312 divides by an RTT of zero, which made the window infinite, and then no number.
#[test]
fn an_rtt_of_zero_leaves_a_finite_window() {
    let ack = |back, echo_ms, option| Step::Ack {
        back,
        blocks: Vec::new(),
        echo_ms,
        option,
    };
    let steps = [
        ack(3, 0, 2),
        Step::Wait { ms: 10 },
        ack(4, 10, 0),
        Step::Wait { ms: 1 },
        ack(3, 11, 5),
        Step::Wait { ms: 1000 },
        Step::Notice {
            old: (9, 0),
            new: (9, 0),
            flows: 0,
        },
        ack(0, 0, 0),
    ];
    for controller in 0..CONGESTION_CONTROLLERS.len() {
        for p in combinations(1, "sack1", true, controller).0 {
            with_parts(&p, || run_steps(&p, "sack1", policies(false), &steps));
        }
    }
}

/// A policy orders a train at an old ACK, while the pacer holds back new data: the recovery of Linux did not look for
/// something to send after an old ACK, so that the train never began.
#[test]
fn a_train_that_is_ordered_at_an_old_ack_begins() {
    let ack = |back, option| Step::Ack {
        back,
        blocks: Vec::new(),
        echo_ms: 0,
        option,
    };
    let wait = |ms| Step::Wait { ms };
    let notice = |delay| Step::Notice {
        old: (9, 0),
        new: (9, delay),
        flows: 0,
    };
    let steps = [
        wait(7471),
        notice(0),
        wait(4894),
        ack(3, 2),
        wait(820),
        ack(5, 5),
        ack(5, 5),
        ack(0, 0),
        wait(10),
        ack(3, 2),
        notice(1),
        ack(4, 0),
        wait(0),
    ];
    let mut p = configured(0, "linux");
    p.parts.congestion = AnyCongestion::named("bbr-linux").unwrap_or_else(|| unreachable!());
    let names = ["a1", "a3", "wbest", "rapid"];
    let ordering = names
        .iter()
        .filter_map(|name| Policy::named(name))
        .collect();
    with_parts(&p, || run_steps(&p, "linux", ordering, &steps));
}

/// A duplicate ACK that begins the wait for reordered segments carries the report of a train, whose orders do not change
/// the state.
#[test]
fn a_report_is_no_trigger_of_what_its_ack_changes() {
    let ack = |back| Step::Ack {
        back,
        blocks: Vec::new(),
        echo_ms: 0,
        option: 2,
    };
    let notice = Step::Notice {
        old: (9, 1247),
        new: (200, 0),
        flows: 0,
    };
    let steps = [ack(3), notice, ack(5)];
    let p = configured(0, "tahoe");
    let names = [
        "probe-gap",
        "reordering",
        "rapid",
        "immediate-expiry",
        "lmdr-respond",
    ];
    let ordering = names
        .iter()
        .filter_map(|name| Policy::named(name))
        .collect();
    with_parts(&p, || run_steps(&p, "tahoe", ordering, &steps));
}

fn run_steps(p: &Profile, recovery: &str, policies: Vec<Policy>, steps: &[Step]) {
    let mut bench = Bench::new(p, recovery, policies);
    for step in steps {
        bench.take(step);
    }
    bench.finish(p);
}
