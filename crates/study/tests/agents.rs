//! Every registered agent of nodes on the path: a transfer and a page over it end, with the promises that the agent makes.
#![allow(clippy::panic, reason = "a failed test panics")]

use std::fmt::Write;

use crate::scenarios::{plan, run_all};
use midflight_sim::agent::AGENTS;
use midflight_study::scenario::ScenarioRun;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

/// Nodes that acknowledge by themselves.
const ACKNOWLEDGE: [&str; 2] = ["i-tcp", "pep"];
/// Their states move at a handoff.
const MOVES: [(&str, &str); 1] = [("set.pep_handover", "on")];
const PROFILES: [&str; 3] = ["linux", "rfc", "ns2"];

/// Two links of these kbit/s, milliseconds and packets; a handoff of this kind after so many milliseconds.
#[derive(Clone, Copy, Debug)]
struct Case {
    kbps: [u32; 2],
    ms: [u32; 2],
    queue: u32,
    loss: u32,
    handoff: u32,
    at: u32,
    seed: u32,
}

fn cases() -> impl Strategy<Value = Case> {
    (
        [500u32..30_000, 500..30_000],
        [2u32..150, 2..150],
        3u32..200,
        0u32..20,
        0u32..4,
        100u32..3000,
        1u32..1000,
    )
        .prop_map(|(kbps, ms, queue, loss, handoff, at, seed)| Case {
            kbps,
            ms,
            queue,
            loss,
            handoff,
            at,
            seed,
        })
}

/// The scenario of a case, for a flow of this description. It ends when the flow does, in an hour at the latest.
fn scenario(case: &Case, flow: &str) -> String {
    let mut text = format!("end = \"3600 s\"\nseed = {}\nstart = \"a\"\n", case.seed);
    for (name, at) in [("a", 0), ("b", 1)] {
        let (rate, delay, queue) = (case.kbps[at], case.ms[at], case.queue);
        let _ = write!(
            text,
            "[links.{name}]\nrate = \"{rate} kbit/s\"\ndelay = \"{delay} ms\"\nqueue = \"{queue} packets\"\n"
        );
        if case.loss > 0 {
            let _ = writeln!(text, "loss = \"uniform 0.{:02}%\"", case.loss);
        }
    }
    let (to, gap) = match case.handoff {
        0 => return text + flow,
        1 => ("b", ""),
        2 => ("b", "gap = \"700 ms\"\n"),
        _ => ("a", "gap = \"2 s\"\n"),
    };
    let at = case.at;
    text + flow + &format!("[[handoffs]]\nat = \"{at} ms\"\nto = \"{to}\"\n{gap}")
}

const TRANSFER: &str = "[flows.it]\nsize = \"400 kB\"\n";
const PAGE: &str =
    "[flows.it]\nworkload = \"web\"\nset = { web_objects = 8, web_object_size = \"30 kB\" }\n";

fn over(agent: &str, profile: &str, case: &Case, flow: &str, fork: bool) -> ScenarioRun {
    let mut sets = vec![("agent", agent), ("profile", profile)];
    sets.extend(MOVES);
    let plan = plan(&scenario(case, flow), &sets);
    run_all(&[plan], fork).remove(0).remove(0)
}

/// The same cases for each agent and each profile: all that is acknowledged arrives, nothing is acknowledged before that but
/// by a node that splits the connection, and a repetition is the same.
fn check(flow: &str, number: u32) {
    let config = ProptestConfig {
        cases: number,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    for info in AGENTS {
        for profile in PROFILES {
            let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
            let checked = TestRunner::new_with_rng(config.clone(), rng).run(&cases(), |case| {
                let run = over(info.name, profile, &case, flow, true);
                let page = run.flows.iter().find_map(|one| one.workload.as_ref());
                for one in &run.flows {
                    // The load time, or that of the transfer.
                    let end = page.map_or(one.finished.is_some(), |it| it.measured.0[0].is_some());
                    prop_assert!(end, "{one:?}");
                    let Some(delivery) = &one.delivery else {
                        continue;
                    };
                    prop_assert_eq!(delivery.missing, 0);
                    let is_split = ACKNOWLEDGE.contains(&info.name);
                    prop_assert!(is_split || delivery.ahead == 0, "{delivery:?}");
                }
                let again = over(info.name, profile, &case, flow, false);
                prop_assert_eq!(run.digest, again.digest);
                Ok(())
            });
            if let Err(error) = checked {
                panic!("{} with {profile}: {error}", info.name);
            }
        }
    }
}

#[test]
fn a_transfer_ends_over_every_agent() {
    check(TRANSFER, 12);
}

#[test]
fn a_page_ends_over_every_agent() {
    check(PAGE, 6);
}
