//! Scenarios: read, refused with one clear sentence, and written in the canonical form.

use midflight_study::scenario::{read_scenario, run_scenarios, Origin, Plan};
use midflight_study::Execution;
use midflight_units::Instant;

use crate::one_run::trace_scenario;
use crate::scenarios::{plan, read, run_all, CHANGES, PAPER, TOUR};

#[test]
fn errors_are_reported_with_their_line() {
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, &'a str);
    let cases: &[Case<'_>] = &[
        (&[], "rate = \"200 kbit\"", "mine.toml:11: links.new.rate: rate \"200 kbit\" has the unknown \"kbit\" as unit; expected bit/s"),
        (&[], "rat = \"200 kbit/s\"", "mine.toml:11: links.new.rat: there is no key \"rat\""),
        (&[], "rate = 200", "mine.toml:11: links.new.rate: 200 is not accepted; expected a text with a unit, such as \"200 Mbit/s\" or \"200 kbit/s\""),
        (&[], "", "mine.toml:10: links.new: a link without a preset needs a rate"),
        (&[], "rate = \"200 kbit/s\"\npreset = \"ltee\"", "links.new.preset: there is no preset \"ltee\" (did you mean \"lte\"?)"),
        (&[], "rate = \"200 kbit/s\"\nrate = \"2 kbit/s\"", "mine.toml:12: syntax: duplicate key"),
        (&[("links.new.rate", "5")], "rate = \"200 kbit/s\"", "--set links.new.rate=5: links.new.rate: 5 is not accepted; expected"),
        (&[("flows.bulk.scheme", "enhancd")], "rate = \"200 kbit/s\"", "--set flows.bulk.scheme=enhancd: flows.bulk.scheme: there is no scheme \"enhancd\" (did you mean \"enhanced\"?)"),
        (&[("set.min_rtoo", "1 s")], "rate = \"200 kbit/s\"", "set.min_rtoo: there is no setting \"min_rtoo\" (did you mean \"min_rto\"?)"),
        (&[("flows.bulk.set.min_rto", "soon")], "rate = \"200 kbit/s\"", "flows.bulk.set.min_rto: "),
        (&[("handoffs.0.to", "neww")], "rate = \"200 kbit/s\"", "there is no link \"neww\" (did you mean \"new\"?); expected old, new"),
        (&[("handoffs.0.to", "old")], "rate = \"200 kbit/s\"", "is already on \"old\""),
        (&[("handoffs.0.at", "41 s")], "rate = \"200 kbit/s\"", "the run ends at 40 s"),
        (&[("handoffs.0.at", "1s,2s")], "rate = \"200 kbit/s\"", "at 2 s the mobile node is already on \"new\""),
        (&[("handoffs.2.at", "1s")], "rate = \"200 kbit/s\"", "\"2\" is not the number of an entry; expected 0 to 1"),
        (&[("flows.bulk.direction", "upp")], "rate = \"200 kbit/s\"", "\"upp\" is not accepted; expected \"down\" or \"up\" (did you mean \"up\"?)"),
        (&[("flows.bulk.direction", "up"), ("flows.bulk.scheme", "freeze")], "rate = \"200 kbit/s\"", "has a signal that a mobile node sends as a receiver"),
        (&[("handoffs.0.gpa", "1 s")], "rate = \"200 kbit/s\"", "there is no key \"gpa\"; expected one of \"at\", \"to\", \"gap\", \"rebind\", \"forward\", \"notice\", \"signal\" (did you mean \"gap\"?)"),
        (&[("handoffs.1.gap", "1 s")], "rate = \"200 kbit/s\"", "--set handoffs.1.gap=1 s: handoffs.1: the key \"at\" is missing; the scenario has handoffs.0 alone, and this adds one"),
        (&[("changes.0.rate", "1 Mbit/s")], "rate = \"200 kbit/s\"", "changes.0: the key \"at\" is missing; the scenario has no changes, and this adds one"),
        (&[("seed", "x")], "rate = \"200 kbit/s\"", "seed: \"x\" is not accepted; expected a whole number"),
        (&[("notices", "1.5")], "rate = \"200 kbit/s\"", "notices: 1.5 is not accepted; expected true or false"),
        (&[("handoffs", "3")], "rate = \"200 kbit/s\"", "handoffs: 3 is not accepted; expected a list"),
        (&[("handoffs", "{ at = \"1 s\", to = \"new\" }")], "rate = \"200 kbit/s\"", "handoffs: [handoffs] is one table; expected a list of tables, each with the head [[handoffs]]"),
        (&[("links.old", "3")], "rate = \"200 kbit/s\"", "links.old: 3 is not accepted; expected a table"),
        (&[("handoffs.0.gap", "non")], "rate = \"200 kbit/s\"", "or \"none\" for no gap"),
        (&[("flows.bulk.scheme", "sack+dctcp")], "rate = \"200 kbit/s\"", "\"dctcp\" is not modelled; docs/scenarios.md, \"What is not modelled\""),
        (&[("links.cell.rate", "5 Mbit/s")], "rate = \"200 kbit/s\"", "--set links.cell.rate=5 Mbit/s: links.cell: a link without a preset needs a delay; write for example delay = \"2 ms\"; the scenario has links.new, links.old, and this adds one"),
        (&[("abc_limit", "1")], "rate = \"200 kbit/s\"", "--set abc_limit=1: abc_limit: it is a setting of senders; set.abc_limit for all flows, or flows.NAME.set.abc_limit for one, is accepted"),
        (&[("flows.bulk.abc_limit", "1")], "rate = \"200 kbit/s\"", "flows.bulk.abc_limit: it is a setting of senders; flows.bulk.set.abc_limit is accepted"),
        (&[("links.old.cwnd_factor", "1")], "rate = \"200 kbit/s\"", "links.old.cwnd_factor: there is no key"),
        (&[("profile", "rcf")], "rate = \"200 kbit/s\"", "--set profile=rcf: profile: "),
        (&[("runs", "0")], "rate = \"200 kbit/s\"", "runs: 0 is out of range"),
        (&[("links.old.rate", "0 Mbit/s")], "rate = \"200 kbit/s\"", "expected 1 bit/s to 100000 Gbit/s; for an outage give a handoff a gap, a change a pause, or a trace a rate of 0"),
        (&[("runs", "1000000000")], "rate = \"200 kbit/s\"", "runs: 1000000000 runs give 3000000000 rows of results, for each run one for each flow and one for each of its phases; at most 4000000 rows are accepted, here 1333333 runs"),
        (&[("end", "0 s")], "rate = \"200 kbit/s\"", "end: a run of"),
        (&[("flows.bulk.scheme", "quinn")], "rate = \"200 kbit/s\"", "flows.bulk.scheme: \"quinn\" is a stack, not a scheme; expected flows.bulk.stack = \"quinn\""),
        (&[("flows.bulk.stack", "tcp")], "rate = \"200 kbit/s\"", "\"tcp\" is not accepted; expected one of \"midflight\", \"linux\", \"quinn\", \"noq\", \"aioquic\""),
        (&[("flows.bulk.stack", "linux"), ("flows.bulk.scheme", "enhanced")], "rate = \"200 kbit/s\"", "flows.bulk.scheme: \"enhanced\" is not a congestion control of the kernel, whose sender a flow with the stack \"linux\" has; expected cubic, reno, bbr"),
        (&[("flows.bulk.stack", "linux"), ("flows.more.scheme", "sack")], "rate = \"200 kbit/s\"", "flows.more.stack: flow \"bulk\" has the stack \"linux\" and flow \"more\" does not; expected that stack for all flows of a scenario, or for none"),
    ];
    for (sets, line, expected) in cases {
        let text = PAPER.replace("rate = \"200 kbit/s\"", line);
        let error = read(&text, sets).map_or_else(|e| e, |_| "accepted".into());
        assert!(
            error.contains(expected),
            "{sets:?} {line}\n  read:   {error}\n  wanted: {expected}"
        );
        assert!(!error.contains('\n'), "{error}");
    }
    assert!(read("", &[]).is_err_and(|e| e.contains("the key \"links\" is missing")));
}

/// Of two values for one key neither wins silently, however their paths are written.
#[test]
fn a_value_is_set_once() {
    let twice = |first: &str, second: &str| {
        let value = |path: &str| match path {
            "links.old" => "{ rate = \"1 Mbit/s\", delay = \"1 ms\" }",
            "links.old.rate" => "2 Mbit/s",
            "links.old.queue" => "bdp",
            "set" => "{ min_rto = \"1 s\" }",
            "set.max_rto" | "set.min_rto" => "2 s",
            _ => "9 s",
        };
        read(PAPER, &[(first, value(first)), (second, value(second))])
            .map_or_else(|e| e, |_| "accepted".into())
    };
    for (first, second, expected) in [
        ("end", "end", "end: this is set twice; once is accepted"),
        (
            "handoffs.0.at",
            "handoffs.00.at",
            "handoffs.00.at: this is set twice, also by handoffs.0.at; once is accepted",
        ),
        (
            "links.old.rate",
            "links.old",
            "links.old: this is set twice, also by links.old.rate; once is accepted",
        ),
        (
            "links.old",
            "links.old.rate",
            "links.old.rate: this is set twice, also by links.old; once is accepted",
        ),
        (
            "set",
            "set.min_rto",
            "set.min_rto: this is set twice, also by set; once is accepted",
        ),
    ] {
        let error = twice(first, second);
        assert!(error.ends_with(expected), "{first}, {second}: {error}");
    }
    // Neither has the other's.
    for (first, second) in [
        ("set", "set.max_rto"),
        ("links.old", "links.old.queue"),
        ("links.old.rate", "links.old.queue"),
    ] {
        assert_eq!(twice(first, second), "accepted", "{first}, {second}");
    }
}

/// `*` in a path stands for each entry of a table or list, and an error has the path as it was written.
#[test]
fn a_star_stands_for_each_entry() {
    let canonical = |sets: &[(&str, &str)]| {
        read(PAPER, sets)
            .unwrap_or_else(|e| panic!("{sets:?}: {e}"))
            .canonical()
            .unwrap_or_else(|e| panic!("{e}"))
    };
    let queue = "17 packets";
    assert_eq!(
        canonical(&[("links.*.queue", queue)]),
        canonical(&[("links.old.queue", queue), ("links.new.queue", queue)])
    );
    assert_eq!(
        canonical(&[
            ("handoffs.*.gap", "40 ms"),
            ("handoffs.1.at", "9 s"),
            ("handoffs.1.to", "old")
        ]),
        canonical(&[
            ("handoffs.0.gap", "40 ms"),
            ("handoffs.1.at", "9 s"),
            ("handoffs.1.to", "old")
        ]),
        "an entry that comes later is not meant"
    );
    for (sets, expected) in [
        (
            &[("links.*.rate", "fast")][..],
            "--set links.*.rate=fast: links.old.rate: ",
        ),
        (
            &[("changes.*.at", "1 s")],
            "changes.*.at: * stands for each entry of a table or list, and there is none",
        ),
        (
            &[("links.*.queue", queue), ("links.old.queue", "bdp")],
            "links.old.queue: this is set twice, also by links.*.queue; once is accepted",
        ),
    ] {
        let error = read(PAPER, sets).err().unwrap_or_default();
        assert!(error.contains(expected), "{sets:?}: {error}");
    }
}

/// One run is too large for any number of runs: the error names the cause.
#[test]
fn a_run_with_too_many_rows_is_refused_for_its_flows_and_changes() {
    let read = |flows: &str, end: &str| {
        let sets = [
            ("end", "10 s"),
            ("flows.bulk.count", flows),
            ("changes.0.link", "old"),
            ("changes.0.at", end),
            ("changes.0.delay", "5 ms"),
        ];
        read(PAPER, &sets).map_or_else(|e| e, |plan| format!("{} rows", plan.most_rows()))
    };
    let refused = read("10000", "10 ms : 4 s : 10 ms");
    let expected = "flows: 10000 flows and 401 handoffs and changes give 4030000 rows of results in one run, for each flow one and one for each of its 402 phases; at most 4000000 rows are accepted: with these handoffs and changes at most 9925 flows, with these flows at most 398 handoffs and changes";
    assert!(refused.ends_with(expected), "{refused}");
    assert_eq!(read("9925", "10 ms : 4 s : 10 ms"), "3999775 rows");
    assert_eq!(read("10000", "10 ms : 3.97 s : 10 ms"), "4000000 rows");
}

/// The rows of each scenario fit, but not those of all together: the error is reported before
/// anything runs.
#[test]
fn results_of_many_scenarios_are_limited() {
    let most = plan(PAPER, &[("runs", "1333333")]);
    assert_eq!(most.most_rows(), 3_999_999);
    let refused = run_scenarios(&[most, plan(PAPER, &[])], Execution::default(), |_, _| true);
    let error = refused.map_or_else(|e| e.to_string(), |_| "accepted".into());
    assert!(
        error.contains("4000002 rows of flows and phases together"),
        "{error}"
    );
}

/// Missing keys are written out in the canonical form, and its texts parse to the same values.
#[test]
fn the_canonical_form_is_the_same_scenario() {
    for text in [PAPER, TOUR] {
        let plan = plan(text, &[]);
        let canonical = serde_json::to_string(plan.file()).unwrap_or_else(|e| panic!("{e}"));
        let again =
            read_scenario(&canonical, Origin::Json, &[], &[]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again.file(), plan.file());
        let digest = |plan: Plan| run_all(&[plan], true).remove(0).remove(0).digest;
        assert_eq!(digest(again), digest(plan));
    }
}

/// A gap of "none" equals a missing gap: make before break, with the same canonical form.
#[test]
fn a_gap_of_none_is_no_gap() {
    let without = plan(PAPER, &[]);
    let none = plan(PAPER, &[("handoffs.0.gap", "none")]);
    assert_eq!(without.canonical().ok(), none.canonical().ok());
    let with_gap = PAPER.replace("to = \"new\"", "to = \"new\"\ngap = \"2 s\"");
    assert_ne!(with_gap, PAPER);
    let again = plan(&with_gap, &[("handoffs.0.gap", "none")]);
    let breaks = |plan: &Plan| plan.path_changes().iter().any(|one| one.breaks);
    assert!(!breaks(&again));
    assert!(breaks(&plan(PAPER, &[("handoffs.0.gap", "2 s")])));
    let digest = |plan: Plan| run_all(&[plan], true).remove(0).remove(0).digest;
    assert_eq!(digest(again), digest(without));
}

#[test]
fn a_run_that_there_is_not_is_refused() {
    let of = |run: u64, runs: &str| {
        let plan = plan(PAPER, &[("runs", runs)]);
        let traced = trace_scenario(
            &plan,
            run,
            None,
            Instant::ZERO,
            &["make".into()],
            &mut || true,
        );
        traced.map_or_else(|e| e.to_string(), |_| String::new())
    };
    assert_eq!(of(2, "3"), "");
    assert!(of(3, "3").starts_with("there is no run 3: the scenario has 3 (runs = 3)"));
    assert!(of(5, "1").starts_with("there is no run 5: the scenario has one (runs = 1)"));
}

/// A name is part of paths, of files' names and of other names.
#[test]
fn names_are_refused_that_would_be_mistaken_for_others() {
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[("flows.../x.size", "1 MB")], "this is not a path"),
        (&[("flows.a/b.size", "1 MB")], "\"a/b\" is not a name"),
        (
            &[("links.sender.preset", "lte")],
            "a link cannot be named \"sender\"",
        ),
        (
            &[("links.old-up.preset", "lte")],
            "two links would both be named \"old-up\"",
        ),
        (
            &[("flows.a.count", "2"), ("flows.a-0.size", "1 MB")],
            "two flows are named \"a-0\"",
        ),
        (
            &[("flows.bulc.size", "1 MB")],
            "there is no flow \"bulc\" (did you mean \"bulk\"?)",
        ),
        (
            &[("handoffs.0.gap", "x")],
            "--set handoffs.0.gap=x: handoffs.0.gap: ",
        ),
        (&[("handoffs.0.at", "0 s")], "a handoff at 0 s"),
        (
            &[
                ("changes.0.at", "8 s"),
                ("changes.0.link", "new"),
                ("changes.0.pause", "1 s"),
            ],
            "overlaps the handoff at 8.2 s",
        ),
        (
            &[
                ("handoffs.0.gap", "2 s"),
                ("changes.0.at", "9 s"),
                ("changes.0.link", "old"),
            ],
            "overlaps the handoff at 8.2 s",
        ),
    ];
    for (sets, expected) in cases {
        let error = read(PAPER, sets).map_or_else(|e| e, |_| "accepted".into());
        assert!(error.contains(expected), "{sets:?}\n  read: {error}");
    }
}

/// A rate that is set for the downlink alone changes the uplink as well: there is a remark.
#[test]
fn a_change_of_an_asymmetric_link_notes_the_effect_on_the_uplink() {
    let remarks = plan(CHANGES, &[]).remarks().to_vec();
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    let said = &remarks[0];
    assert!(
        said.starts_with("changes.0: rate = \"3 Mbit/s\" also sets the uplink of cell"),
        "{said}"
    );
    assert!(plan(CHANGES, &[("changes.0.up.rate", "1 Mbit/s")])
        .remarks()
        .is_empty());
    // Both ways of it are alike.
    let alike = [("links.cell.up.rate", "6 Mbit/s")];
    assert!(plan(CHANGES, &alike).remarks().is_empty());
}

/// The simulator's stack is not written in the canonical form, as in results from before there were
/// others; the kernel's stack is, and it is not simulated.
#[test]
fn a_flow_has_a_stack() {
    let text = PAPER.replace("rate = \"200 kbit/s\"", "rate = \"2 Mbit/s\"");
    let address = |sets: &[(&str, &str)]| plan(&text, sets).address().unwrap_or_default();
    assert_eq!(address(&[("flows.bulk.stack", "midflight")]), address(&[]));
    let linux = plan(&text, &[("flows.bulk.stack", "linux")]);
    assert_ne!(linux.address().unwrap_or_default(), address(&[]));
    let canonical = linux.canonical().unwrap_or_default();
    assert!(
        canonical.contains(r#""scheme":"cubic","stack":"linux""#),
        "{canonical}"
    );
    let run = run_scenarios(&[linux], Execution::default(), |_, _| true);
    let error = run.map_or_else(|e| e.to_string(), |_| "it ran".into());
    assert!(
        error.starts_with("flow \"bulk\" has the stack \"linux\", which is not simulated"),
        "{error}"
    );
}
