//! The same question has the same result: when repeated, on one and two threads, forked or from the
//! start; and without a notice every scheme behaves like the plain sender.
#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_control::policy::POLICIES;
use midflight_control::LinkInfo;
use midflight_study::{
    run_sweeps, schemes, Execution, Flows, Handoff, HandoffKind, HandoffRow, Scheme, StudyError,
    Sweep, REFERENCE_FIXED,
};
use midflight_tcp::PROFILES;
use midflight_units::{parse_instants, Duration, Instant, Rate};

use crate::one_run::{trace, TraceRun};

fn link(kbps: u64, ms: u64) -> LinkInfo {
    LinkInfo {
        rate: Rate::from_bps(kbps * 1000).unwrap_or(Rate::from_mbps(1)),
        delay: Duration::from_millis(ms),
    }
}

fn handoffs() -> Vec<Handoff> {
    let kinds = [
        HandoffKind::MakeBeforeBreak,
        HandoffKind::BreakBeforeMake {
            gap: Duration::from_millis(500),
        },
        HandoffKind::BreakBeforeMake {
            gap: Duration::ZERO,
        },
    ];
    let pairs = [
        (link(6400, 9), link(200, 300)),
        (link(200, 300), link(6400, 9)),
        (link(1600, 300), link(1600, 1)),
        (link(54_000, 2), link(777, 61)),
    ];
    let mut all = Vec::new();
    for kind in kinds {
        for (old, new) in pairs {
            for notice_delay in [Some(Duration::ZERO), Some(Duration::from_millis(170))] {
                all.push(Handoff {
                    old,
                    new,
                    kind,
                    spares_uplink: true,
                    notice_delay,
                    fixed: REFERENCE_FIXED,
                    flows: Flows::ONE,
                });
            }
        }
    }
    all
}

/// All schemes, with other parts if they require them. With the Linux recovery schemes with a part in its
/// place are left out, with other recoveries BBR.
fn names(profile: &str) -> Vec<String> {
    let name = |s: Scheme| match &*s.name {
        "ld-handover" => "ld-handover+frto".to_string(),
        _ => s.name.into_owned(),
    };
    let builds = |name: &String| {
        let built = Scheme::named(name).and_then(|s| s.build(profile, &knobs()));
        let refused = built.err().map(|e| e.to_string()).unwrap_or_default();
        !refused.contains("recovery linux")
    };
    schemes().into_iter().map(name).filter(builds).collect()
}

/// Settings that some schemes require of the receiver.
fn knobs() -> Vec<(String, String)> {
    ["timestamps", "dsack"]
        .map(|name| (name.into(), "on".into()))
        .to_vec()
}

fn sweep(handoff: Handoff, profile: &str) -> Sweep {
    Sweep {
        handoff,
        // Deliberately out of order and with a repetition.
        at: parse_instants("9.9s, 0.1s, 3.3s, 12.345s, 3.3s, 17s").unwrap_or_default(),
        schemes: names(profile),
        resident_scheme: "sack".into(),
        profile: profile.into(),
        knobs: knobs(),
        policies: Vec::new(),
        packets: 60,
        extra: vec![20, 90],
        window: None,
        end: Instant::from_nanos(600_000_000_000),
    }
}

const TWO_THREADS: Execution = Execution {
    fork: true,
    threads: 2,
};

fn run(sweep: &Sweep) -> Vec<HandoffRow> {
    run_as(sweep, TWO_THREADS)
}

fn run_as(sweep: &Sweep, how: Execution) -> Vec<HandoffRow> {
    sweep.run(how).unwrap_or_else(|e| panic!("{e}"))
}

/// Keeps only the schemes that have policies.
fn keep_policies(sweep: &mut Sweep) {
    sweep.schemes.retain(|name| {
        let parts = Scheme::named(name).map(|s| s.parts).unwrap_or_default();
        parts
            .iter()
            .all(|p| POLICIES.iter().any(|info| info.name == *p))
    });
}

/// A sweep for each handoff and profile: with QUIC some schemes with policies only. Of the other schemes but the
/// first each sweep has a third, so that each scheme is run with each profile in eight handoffs.
fn all_sweeps() -> Vec<Sweep> {
    let mut all = Vec::new();
    for (number, handoff) in handoffs().into_iter().enumerate() {
        for profile in PROFILES {
            let mut sweep = fitting(handoff, profile.name);
            if profile.name != "quic" {
                let mut place = 0;
                sweep.schemes.retain(|_| {
                    place += 1;
                    place == 1 || place % 3 == number % 3
                });
            }
            all.push(sweep);
        }
    }
    all
}

fn fitting(handoff: Handoff, profile: &str) -> Sweep {
    let mut sweep = sweep(handoff, profile);
    if profile == "quic" {
        let some = [
            "sack",
            "enhanced",
            "rlci",
            "careful-resume",
            "bandwidth-aware",
            "rapid",
        ];
        sweep.schemes = some.map(String::from).to_vec();
    }
    sweep
}

/// All values of the rows.
fn all_of(rows: &[HandoffRow]) -> Vec<String> {
    rows.iter().map(|row| format!("{row:?}")).collect()
}

#[test]
fn threads_forks_and_repetition_change_nothing() {
    for forked in all_sweeps() {
        let reference = all_of(&run(&forked));
        for (fork, threads, how) in [(true, 1, "one thread"), (false, 2, "from the start")] {
            let rows = run_as(&forked, Execution { fork, threads });
            assert_eq!(reference, all_of(&rows), "{how}");
        }
    }
}

/// Sweeps that are run together share prefixes; alone each has its own.
#[test]
fn sweeps_run_together_are_the_same_as_alone() {
    let mut sweeps = all_sweeps();
    // The same prefix, another question; then a knob that changes the prefix.
    let mut more = sweep(handoffs()[0], "ns2");
    more.at.truncate(2);
    more.packets = 10;
    sweeps.push(more.clone());
    more.knobs.push(("min_rto".into(), "1s".into()));
    sweeps.push(more);
    let mut seen = Vec::new();
    let together = run_sweeps(&sweeps, TWO_THREADS, |done, total| {
        seen.push((done, total));
        true
    })
    .unwrap_or_else(|e| panic!("{e}"));
    for (sweep, rows) in sweeps.iter().zip(&together) {
        assert_eq!(all_of(&run(sweep)), all_of(rows), "{:?}", sweep.handoff);
    }
    let total: usize = together.iter().map(Vec::len).sum();
    assert_eq!(seen.last(), Some(&(total, total)));
    assert!(seen.is_sorted());
}

#[test]
fn a_sweep_stops_when_told() {
    // Without checks whether to stop this would take days.
    let endless = Sweep {
        packets: 1_000_000_000,
        end: Instant::from_nanos(u64::MAX / 2),
        ..sweep(handoffs()[0], "ns2")
    };
    for fork in [true, false] {
        let how = Execution { fork, threads: 2 };
        let mut asked = 0;
        let stopped = run_sweeps(std::slice::from_ref(&endless), how, |done, _| {
            asked += 1;
            assert_eq!(done, 0);
            asked < 3
        });
        assert!(matches!(stopped, Err(StudyError::Interrupted)));
        assert_eq!(asked, 3);
    }
}

#[test]
fn a_finished_sweep_cannot_be_stopped() {
    let mut sweep = sweep(handoffs()[0], "ns2");
    sweep.at.truncate(1);
    let total = sweep.schemes.len();
    let rows = run_sweeps(&[sweep], TWO_THREADS, |done, _| done < total);
    assert!(rows.is_ok_and(|tables| tables[0].len() == total));
    assert!(run_sweeps(&[], TWO_THREADS, |_, _| false).is_ok_and(|tables| tables.is_empty()));
}

#[test]
fn equal_instants_and_the_order_of_schemes_do_not_matter() {
    let mut forward = sweep(handoffs()[0], "ns2");
    let rows = run(&forward);
    assert_eq!(
        format!("{:?}", rows[2]),
        format!("{:?}", rows[4]),
        "3.3 s twice"
    );
    let count = forward.at.len();
    forward.schemes.reverse();
    let backward = run(&forward);
    let names = forward.schemes.len();
    for s in 0..names {
        let (a, b) = (s * count, (names - 1 - s) * count);
        assert_eq!(all_of(&rows[a..a + count]), all_of(&backward[b..b + count]));
    }
}

#[test]
fn without_a_notice_every_scheme_is_the_plain_sender() {
    let with_notice = handoffs();
    // Two differ by the delay of the notice alone.
    for handoff in with_notice.iter().step_by(2) {
        let deaf = Handoff {
            notice_delay: None,
            ..*handoff
        };
        for profile in PROFILES {
            let mut sweep = sweep(deaf, profile.name);
            // Policies act on notices; the other kinds of parts do not.
            keep_policies(&mut sweep);
            // Forks get their policies at the handoff, runs from the start have them from the beginning.
            let from_start = Execution {
                fork: false,
                threads: 2,
            };
            let rows = run_as(&sweep, from_start);
            let count = sweep.at.len();
            for (s, name) in sweep.schemes.iter().enumerate() {
                for i in 0..count {
                    assert_eq!(rows[s * count + i].orders, 0, "{name}");
                    assert_eq!(
                        rows[s * count + i].digest,
                        rows[i].digest,
                        "{name} at {}",
                        sweep.at[i]
                    );
                }
            }
        }
    }
}

#[test]
fn a_notice_makes_a_difference_somewhere() {
    let sweep = sweep(handoffs()[0], "ns2");
    let rows = run(&sweep);
    let count = sweep.at.len();
    let enhanced = sweep
        .schemes
        .iter()
        .position(|s| s == "enhanced")
        .unwrap_or_default();
    assert!((0..count).any(|i| rows[i].digest != rows[enhanced * count + i].digest));
}

#[test]
fn timing_further_packets_changes_no_other_measurement() {
    for handoff in handoffs() {
        let more = sweep(handoff, "ns2");
        let fewer = Sweep {
            extra: Vec::new(),
            ..more.clone()
        };
        for (a, b) in run(&more).into_iter().zip(run(&fewer)) {
            // The run continues for longer, so its digest differs.
            let a = HandoffRow {
                t_new_extra: Vec::new(),
                digest: b.digest,
                ..a
            };
            assert_eq!(format!("{a:?}"), format!("{b:?}"));
        }
    }
}

/// A sweep attaches the policies at the handoff, a trace at the start: the result must not depend on
/// that, for example through events that a policy should have received before the notice.
#[test]
fn a_sweep_measures_what_a_trace_shows() {
    let handoff = Handoff {
        old: link(800, 300),
        new: link(6400, 9),
        kind: HandoffKind::BreakBeforeMake {
            gap: Duration::from_secs(5),
        },
        spares_uplink: true,
        notice_delay: Some(Duration::ZERO),
        fixed: REFERENCE_FIXED,
        flows: Flows::ONE,
    };
    let at = Instant::from_nanos(12_877_252_480);
    for scheme in names("ns2") {
        let sweep = Sweep {
            at: vec![at],
            schemes: vec![scheme.clone()],
            ..sweep(handoff, "ns2")
        };
        let row = &run(&sweep)[0];
        let (rows, _) = trace(
            &TraceRun {
                handoff,
                at: Some(at),
                scheme: scheme.clone(),
                resident_scheme: "sack".into(),
                flow: 0,
                profile: "ns2".into(),
                knobs: knobs(),
                packets: sweep.packets,
                end: sweep.end,
            },
            &mut || true,
        )
        .unwrap_or_else(|e| panic!("{e}"));
        let target = (row.maxseq + 60) as f64;
        let reached = rows.iter().find(|r| r.event == "ack" && r.value >= target);
        assert_eq!(row.t_new, reached.map(|r| r.at.since(at)), "{scheme}");
    }
}
