//! A link that does not change: after the first slow start, no profile and no kind of recovery has
//! repeated timeouts.

#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_control::LinkInfo;
use midflight_study::{Flows, Handoff, HandoffKind, REFERENCE_FIXED};
use midflight_units::{Duration, Instant, Rate};

use crate::one_run::{trace, TraceRun};

#[test]
fn a_steady_link_is_kept_busy_without_timeouts() {
    for recovery in ["newreno", "sack", "sack1"] {
        for (mbps, ms) in [(10, 20), (50, 5), (80, 5), (2, 50)] {
            let link = LinkInfo {
                rate: Rate::from_mbps(mbps),
                delay: Duration::from_millis(ms),
            };
            let run = TraceRun {
                handoff: Handoff {
                    old: link,
                    new: link,
                    kind: HandoffKind::MakeBeforeBreak,
                    spares_uplink: true,
                    notice_delay: None,
                    fixed: REFERENCE_FIXED,
                    flows: Flows::ONE,
                },
                at: None,
                scheme: "sack".into(),
                resident_scheme: "sack".into(),
                flow: 0,
                profile: "rfc".into(),
                knobs: vec![("recovery".into(), recovery.into())],
                packets: 1,
                end: Instant::from_nanos(30_000_000_000),
            };
            let (rows, _) = trace(&run, &mut || true).unwrap_or_else(|e| panic!("{e}"));
            let count = |event| rows.iter().filter(|r| r.event == event).count();
            let timeouts = count("rto");
            let carried = count("rcv") as u64 * 12_000 * 100 / (30 * mbps * 1_000_000);
            assert!(
                timeouts <= 3,
                "{recovery} {mbps} Mbit/s {ms} ms: {timeouts} timeouts"
            );
            assert!(
                carried >= 80,
                "{recovery} {mbps} Mbit/s {ms} ms: {carried} % of the link"
            );
        }
    }
}
