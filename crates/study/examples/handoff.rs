//! A handoff from Wi-Fi to LTE with a gap of 2 s: measured, traced, explained.
//!
//! `cargo run --release --package midflight-study --example handoff`
#![allow(clippy::print_stdout, reason = "an example prints what it has to show")]

use midflight_control::LinkInfo;
use midflight_study::{
    explain, run_sweeps, trace, Execution, Flows, Handoff, HandoffKind, Keep, StudyError, Sweep,
    TraceRow, REFERENCE_FIXED,
};
use midflight_units::{Duration, Instant, Rate};

/// After the start of the run.
fn after(milliseconds: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(milliseconds)
}

/// One handoff at 3 s, with the plain sender and with A1 to A4.
fn sweep() -> Sweep {
    let link = |mbit, delay| LinkInfo {
        rate: Rate::from_mbps(mbit),
        delay: Duration::from_millis(delay),
    };
    Sweep {
        handoff: Handoff {
            old: link(10, 10),
            new: link(20, 25),
            kind: HandoffKind::BreakBeforeMake {
                gap: Duration::from_secs(2),
            },
            spares_uplink: false,
            notice_delay: Some(Duration::from_millis(20)),
            fixed: REFERENCE_FIXED,
            flows: Flows::ONE,
        },
        at: vec![after(3000)],
        schemes: vec!["sack".into(), "enhanced".into()],
        resident_scheme: "sack".into(),
        profile: "rfc".into(),
        knobs: vec![("min_rto".into(), "200ms".into())],
        policies: Vec::new(),
        packets: 100,
        extra: Vec::new(),
        window: None,
        end: after(30_000),
    }
}

/// The part of a run that the example prints.
struct Shown {
    scheme: String,
    /// Until 100 new packets are acknowledged.
    time: Option<Duration>,
    timeouts: u32,
    /// Every event of the flow.
    events: Vec<TraceRow>,
    /// The first segment sent after the new link was in use.
    restart: Option<TraceRow>,
    /// The event at the sender that caused it.
    cause: Option<TraceRow>,
}

fn show(sweep: &Sweep) -> Result<Vec<Shown>, StudyError> {
    // `|_, _| true` lets all runs go to their end; `|| true` does so for one run.
    let measured = run_sweeps(std::slice::from_ref(sweep), Execution::default(), |_, _| {
        true
    })?;
    let make = sweep.handoff.make(sweep.at[0]);
    let mut shown = Vec::new();
    // One row and one setup for each scheme, in the same order.
    let setups = sweep.setups()?;
    for ((row, setup), scheme) in measured[0].iter().zip(&setups).zip(&sweep.schemes) {
        let (events, _) = trace(setup, None, Instant::ZERO, &[], &mut || true)?;
        let explained = explain(setup, None, Keep::All, None, false, &mut || true)?;
        let kept = explained.kept;
        let mut numbered = kept.rows.iter().zip(&kept.places);
        let restart = numbered
            .find(|(event, _)| event.at >= make && ["send", "rexmit"].contains(&event.event));
        // All events are kept, so an event's number is its index in the list.
        let head = restart.and_then(|(_, place)| place.head);
        let cause = head.and_then(|number| kept.rows.get(number as usize));
        shown.push(Shown {
            scheme: scheme.clone(),
            time: row.t_new,
            timeouts: row.timeouts,
            events,
            restart: restart.map(|(event, _)| event.clone()),
            cause: cause.cloned(),
        });
    }
    Ok(shown)
}

fn main() -> Result<(), StudyError> {
    for run in show(&sweep())? {
        let Shown {
            scheme, timeouts, ..
        } = &run;
        let time = run.time.map_or("not done".into(), |time| time.to_string());
        println!("{scheme}: 100 new packets after {time}, {timeouts} timeouts");
        println!("  {} events", run.events.len());
        if let (Some(restart), Some(cause)) = (run.restart, run.cause) {
            println!("  it goes on at {}: {}", restart.at, restart.event);
            println!("  because of: {} {}", cause.event, cause.detail);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_a_notice_the_sender_resumes_sooner() -> Result<(), StudyError> {
        let shown = show(&sweep())?;
        let [plain, enhanced] = &shown[..] else {
            return Err(StudyError::Nothing { what: "scheme" });
        };
        assert!(!plain.events.is_empty() && !enhanced.events.is_empty());
        let causes = [plain, enhanced].map(|run| run.cause.as_ref().map(|cause| cause.event));
        assert_eq!(causes, [Some("wake"), Some("notice")]);
        let restarts = [plain, enhanced].map(|run| run.restart.as_ref().map(|event| event.at));
        assert!(restarts[1] < restarts[0]);
        assert!(enhanced.time < plain.time);
        Ok(())
    }
}
