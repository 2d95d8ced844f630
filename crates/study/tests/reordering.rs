//! The policy `reordering` in handoffs, compared with the simulator's record of losses.
#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_control::LinkInfo;
use midflight_study::{Execution, Flows, Handoff, HandoffKind, HandoffRow, Sweep, REFERENCE_FIXED};
use midflight_units::{Duration, Instant, Rate};

fn link(kbps: u64, ms: u64) -> LinkInfo {
    LinkInfo {
        rate: Rate::from_bps(kbps * 1000).unwrap_or(Rate::from_mbps(1)),
        delay: Duration::from_millis(ms),
    }
}

/// Forty handoffs from 200 ms on, for each scheme.
fn run(pair: (LinkInfo, LinkInfo), kind: HandoffKind, profile: &str) -> [Vec<HandoffRow>; 2] {
    let at = |i: u64| Instant::ZERO + Duration::from_millis(200 + 497 * i);
    let sweep = Sweep {
        handoff: Handoff {
            old: pair.0,
            new: pair.1,
            kind,
            spares_uplink: true,
            notice_delay: Some(Duration::ZERO),
            fixed: REFERENCE_FIXED,
            flows: Flows::ONE,
        },
        at: (0..40u64).map(at).collect(),
        resident_scheme: "sack".into(),
        window: None,
        schemes: ["a2", "a2+reordering"].map(String::from).to_vec(),
        profile: profile.into(),
        knobs: vec![("dsack".into(), "on".into())],
        policies: Vec::new(),
        packets: 100,
        extra: vec![],
        end: Instant::from_nanos(600_000_000_000),
    };
    let how = Execution {
        fork: true,
        threads: 1,
    };
    let mut rows = sweep.run(how).unwrap_or_else(|e| panic!("{e}"));
    let notified = rows.split_off(40);
    [rows, notified]
}

fn total(rows: &[HandoffRow], of: fn(&HandoffRow) -> u32) -> u32 {
    rows.iter().map(of).sum()
}

/// Segments overtake with both senders; one of them treats that as losses.
#[test]
fn few_fast_retransmits_are_false() {
    for profile in ["ns2", "rfc"] {
        let pair = (link(800, 150), link(54_000, 25));
        let [plain, notified] = run(pair, HandoffKind::MakeBeforeBreak, profile);
        assert!(total(&notified, |r| r.reordered) > 0, "{profile}");
        let false_ones = |rows: &[HandoffRow]| total(rows, |r| r.false_fast_rexmits);
        assert!(false_ones(&plain) >= 20, "{profile}");
        assert!(false_ones(&notified) <= 2, "{profile}");
    }
}

/// After a break the losses are real, and no more of them wait for the timer than before.
#[test]
fn after_a_break_no_more_losses_wait_for_the_timer() {
    for profile in ["ns2", "rfc"] {
        let pair = (link(1600, 300), link(6400, 25));
        let gap = Duration::from_millis(500);
        let [plain, notified] = run(pair, HandoffKind::BreakBeforeMake { gap }, profile);
        assert!(total(&plain, |r| r.drops_break) > 0, "{profile}");
        let timed_out = |rows: &[HandoffRow]| total(rows, |r| r.losses_timed_out);
        assert!(timed_out(&notified) <= timed_out(&plain), "{profile}");
        // All segments that the break lost were retransmitted, at least a gap later.
        for row in plain.iter().chain(&notified).filter(|r| r.drops_break > 0) {
            assert!(row.loss_wait_max >= row.loss_wait_mean, "{profile}");
            assert!(row.loss_wait_max >= Some(gap), "{profile} {}", row.at);
        }
    }
}
