//! Links that follow recordings of paths.

#![allow(clippy::panic, reason = "a failed test panics")]

use std::collections::BTreeMap;

use midflight_sim::{Digest, Event, FlowId, Observer};
use midflight_study::recording::{Format, Recording};
use midflight_study::scenario::{read_scenario, Document, Files, Kept, Origin, Plan};
use midflight_units::{Duration, Instant};

use crate::recordings::{ms, LEOEM};

/// Files by their names.
struct Shelf(BTreeMap<&'static str, String>);

impl Files for Shelf {
    fn find(&self, name: &str) -> Result<(String, String), String> {
        let name = name.trim_start_matches("/full/");
        if self.0.contains_key(name) {
            Ok((format!("/full/{name}"), name.into()))
        } else {
            Err(format!("\"{name}\" cannot be read"))
        }
    }

    fn text(&self, path: &str) -> Result<String, String> {
        let name = path.trim_start_matches("/full/");
        self.0
            .get(name)
            .cloned()
            .ok_or_else(|| "no such file".into())
    }

    fn kept(&self, _key: &str) -> Option<Kept> {
        None
    }

    fn keep(&self, _key: &str, _made: Kept) {}
}

fn shelf(files: &[(&'static str, &str)]) -> Shelf {
    Shelf(
        files
            .iter()
            .map(|&(name, text)| (name, text.to_string()))
            .collect(),
    )
}

/// A download over a link with these keys.
fn plan(link: &str, files: &[(&'static str, &str)], sets: &[(&str, &str)]) -> Result<Plan, String> {
    let text =
        format!("profile = \"rfc\"\nend = \"20 s\"\n[links.cell]\n{link}\n[flows.download]\n");
    let sets: Vec<_> = sets
        .iter()
        .map(|s| (s.0.to_string(), s.1.to_string()))
        .collect();
    let found =
        Document::parse(&text, Origin::Toml("t")).and_then(|d| d.plan(&sets, &[], &shelf(files)));
    found.map_err(|e| e.to_string())
}

fn planned(link: &str, files: &[(&'static str, &str)]) -> Plan {
    plan(link, files, &[]).unwrap_or_else(|e| panic!("{e}"))
}

/// When data arrive.
#[derive(Clone, Debug, Default)]
struct Arrivals(Vec<Instant>);

impl Observer for Arrivals {
    fn record(&mut self, now: Instant, _flow: FlowId, event: &Event<'_>) {
        if matches!(event, Event::Arrived { .. }) {
            self.0.push(now);
        }
    }
}

fn arrivals(plan: &Plan) -> Vec<Instant> {
    let setup = plan.setup(0).unwrap_or_else(|e| panic!("{e}"));
    let world = setup.world(Arrivals::default());
    let mut world = world.unwrap_or_else(|e| panic!("{e}"));
    let end = Instant::ZERO + Duration::from_secs(20);
    world.run_before(end).unwrap_or_else(|e| panic!("{e}"));
    world.into_observer().0
}

fn digest(plan: &Plan) -> String {
    let setup = plan.setup(0).unwrap_or_else(|e| panic!("{e}"));
    let mut world = setup
        .world(Digest::default())
        .unwrap_or_else(|e| panic!("{e}"));
    let end = Instant::ZERO + Duration::from_secs(20);
    world.run_before(end).unwrap_or_else(|e| panic!("{e}"));
    world.into_observer().to_string()
}
/// 12 kbit/s are a packet of 1500 bytes a second.
#[test]
fn a_link_follows_its_trace() {
    let csv = "time_s,rate_mbps\n0,12\n2,0\n8,12\n";
    let held = planned(
        "delay = \"10 ms\"\nqueue = \"1000 packets\"\ntrace = \"a.csv\"",
        &[("a.csv", csv)],
    );
    let all = arrivals(&held);
    let quiet = all
        .windows(2)
        .max_by_key(|w| w[1].since(w[0]))
        .map(|w| (w[0], w[1]));
    let (before, after) = quiet.unwrap_or_default();
    let edge = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
    // Packets that have been transmitted arrive 10 ms later; the packet that is interrupted by the outage
    // continues after it.
    assert!(before > edge(2_000) && before < edge(2_012), "{before}");
    assert!(after > edge(8_010) && after < edge(8_012), "{after}");
    // The same columns without a file, and the canonical form.
    let columns = "delay = \"10 ms\"\nqueue = \"1000 packets\"\ntrace.columns = { time_s = [0, 2, 8], rate_mbps = [12, 0, 12] }";
    let inline = planned(columns, &[]);
    assert_eq!(digest(&inline), digest(&held));
    let canonical = inline.canonical().unwrap_or_default();
    let again = read_scenario(&canonical, Origin::Json, &[], &[]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again.address().ok(), inline.address().ok());
    assert_eq!(digest(&again), digest(&held));
}

/// The address and the canonical form depend on the content.
#[test]
fn the_address_includes_the_content() {
    let link = "delay = \"10 ms\"\ntrace = \"a.csv\"";
    let address = |text: &str| {
        planned(link, &[("a.csv", text)])
            .address()
            .unwrap_or_default()
    };
    let first = address("time_s,rate_mbps\n0,12\n");
    assert_eq!(first, address("time_s,rate_mbps\n0,12\n"));
    assert_ne!(first, address("time_s,rate_mbps\n0,13\n"));
    let plan = planned(link, &[("a.csv", "time_s,rate_mbps\n0,12\n")]);
    let canonical = plan.canonical().unwrap_or_default();
    assert!(
        canonical.contains("\"file\":\"/full/a.csv\""),
        "{canonical}"
    );
    let changed = shelf(&[("a.csv", "time_s,rate_mbps\n0,13\n")]);
    let refused =
        Document::parse(&canonical, Origin::Json).and_then(|d| d.plan(&[], &[], &changed));
    let why = refused.err().map(|e| e.to_string()).unwrap_or_default();
    assert!(
        why.contains("links.cell.trace.file")
            && why.contains("has changed since its hash was written"),
        "{why}"
    );
    // Another file has another hash.
    let other = shelf(&[("b.csv", "time_s,rate_mbps\n0,13\n")]);
    let sets = [("links.cell.trace.file".to_string(), "b.csv".to_string())];
    Document::parse(&canonical, Origin::Json)
        .and_then(|d| d.plan(&sets, &[], &other))
        .unwrap_or_else(|e| panic!("{e}"));
    let wifi = planned(
        "delay = \"10 ms\"\ntrace = { file = \"a.csv\", offset = \"0 s\" }",
        &[("a.csv", "time_s,rate_mbps\n0,12\n")],
    );
    assert_eq!(digest(&wifi), digest(&plan));
}

/// Offset, cut, repetition and scale by hand: a rate of n Mbit/s from second n on.
#[test]
fn a_part_of_a_trace_can_be_used() {
    let rows: Vec<String> = (0..10).map(|n| format!("{n},{}", n + 1)).collect();
    let csv = format!("time_s,rate_mbps\n{}\n", rows.join("\n"));
    let rate_at = |options: &str, seconds: u64| {
        let link = format!(
            "delay = \"10 ms\"\nqueue = \"100 packets\"\ntrace = {{ file = \"a.csv\", {options} }}"
        );
        let plan = planned(&link, &[("a.csv", &csv)]);
        let all = arrivals(&plan);
        let within = |at: &&Instant| {
            let from = Instant::ZERO + Duration::from_millis(1000 * seconds + 100);
            **at >= from && **at < from + Duration::from_millis(800)
        };
        all.iter().filter(within).count() as f64 * 12_000.0 / 0.8 / 1e6
    };
    for (options, seconds, expected) in [
        ("scale = 1", 4, 5.0),
        ("scale = 1", 15, 10.0),
        ("scale = 0.5", 4, 2.5),
        ("offset = \"3 s\"", 4, 8.0),
        ("offset = \"3 s\", repeat = true", 8, 2.0),
        ("repeat = true", 14, 5.0),
        ("from = \"2 s\", until = \"8 s\", repeat = true", 4, 7.0),
        ("from = \"2 s\", until = \"8 s\", repeat = true", 10, 7.0),
        ("from = \"2 s\", until = \"8 s\"", 12, 8.0),
        ("interpolation = \"linear\"", 4, 5.5),
    ] {
        let found = rate_at(options, seconds);
        assert!(
            (found - expected).abs() < 0.1,
            "{options} at {seconds} s: {found}, not {expected}"
        );
    }
}

/// Each direction has its recording, or the link's own values; losses are for the downlink only.
#[test]
fn the_uplink_follows_too() {
    let csv = [("a.csv", "time_s,rate_mbps\n0,12\n2,0\n3,12\n")];
    let stalls = |link: &str| {
        let text = format!("queue = \"50 packets\"\ndelay = \"10 ms\"\n{link}");
        let plan = plan(&text, &csv, &[("flows.download.direction", "up")]);
        let all = arrivals(&plan.unwrap_or_else(|e| panic!("{e}")));
        let gap = all.windows(2).map(|w| w[1].since(w[0])).max();
        gap.unwrap_or_default() > ms(900)
    };
    assert!(stalls("trace = \"a.csv\""));
    // The ACKs wait as well.
    assert!(stalls("trace = \"a.csv\"\nup.rate = \"5 Mbit/s\""));
    let found = plan(
        "delay = \"10 ms\"\nrate = \"5 Mbit/s\"\ntrace = \"a.csv\"",
        &csv,
        &[],
    );
    let why = found.err().unwrap_or_default();
    assert!(
        why.contains("links.cell.rate") && why.contains("is given twice"),
        "{why}"
    );
}

#[test]
fn two_mahimahi_files_are_both_directions() {
    // One opportunity per millisecond down: 12 Mbit/s; one in ten up.
    let down: Vec<String> = (1..=10).map(|ms: u32| ms.to_string()).collect();
    let down = down.join("\n");
    let files = [("a.down", down.as_str()), ("a.up", "10\n")];
    let link =
        "delay = \"10 ms\"\nqueue = \"100 packets\"\ntrace = { file = \"a.down\", up = \"a.up\" }";
    let plan = planned(link, &files);
    let all = arrivals(&plan);
    let last = |at: &&Instant| **at >= Instant::ZERO + Duration::from_secs(10);
    let rate = all.iter().filter(last).count() as f64 * 12_000.0 / 10.0;
    assert!((rate - 12e6).abs() < 2e5, "{rate}");
    // A packet that arrives was sent at a whole millisecond, and then takes 10 ms, 12 us on the wires, and 5 ms
    // twice.
    assert!(
        all.iter()
            .skip(100)
            .all(|at| at.as_nanos() % 1_000_000 == 12_000),
        "{:?}",
        &all[..20]
    );
}

#[test]
fn incompatible_settings_are_refused() {
    let csv = [("a.csv", "time_s,rate_mbps,delay_ms,loss\n0,12,5,0.1\n")];
    for (link, key, why) in [
        (
            "trace = \"b.csv\"",
            "links.cell.trace.file",
            "cannot be read",
        ),
        (
            "trace = 5",
            "links.cell.trace",
            "expected the path of a file",
        ),
        (
            "trace = { file = \"a.csv\", foo = 1 }",
            "links.cell.trace",
            "there is no key \"foo\"",
        ),
        ("trace = {}", "links.cell.trace", "expected a file"),
        (
            "trace = { file = \"a.csv\", scale = 0 }",
            "links.cell.trace.scale",
            "0.000001 to 1000000",
        ),
        (
            "trace = { file = \"a.csv\", until = \"5 s\" }",
            "links.cell.trace.until",
            "until 5 s is after the end of the recording, which lasts 1 s",
        ),
        (
            "trace = { file = \"a.csv\", offset = \"5 s\" }",
            "links.cell.trace.offset",
            "repeat = true",
        ),
        (
            "delay = \"1 ms\"\ntrace = \"a.csv\"",
            "links.cell.delay",
            "is given twice",
        ),
        (
            "loss = \"uniform 1%\"\ntrace = \"a.csv\"",
            "links.cell.loss",
            "is given twice",
        ),
        (
            "trace = \"a.csv\"\n[[changes]]\nat = \"1 s\"\nlink = \"cell\"\nrate = \"1 Mbit/s\"",
            "changes.0.link",
            "has a trace",
        ),
        (
            "trace.columns = { time_s = [0, 1], rate_mbps = [1] }",
            "links.cell.trace.columns",
            "2 values",
        ),
        (
            "trace.columns = { time_s = [0, 1], rate_mbps = [0, 0] }\ndelay = \"1 ms\"",
            "links.cell.trace",
            "highest rate is 0",
        ),
    ] {
        let refused = plan(link, &csv, &[]).err().unwrap_or_default();
        assert!(
            refused.contains(key) && refused.contains(why),
            "{link}: {refused}"
        );
    }
}

#[test]
fn leoem_paths_need_a_rate_and_follow_it() {
    let files = [("p.log", LEOEM)];
    let plan = planned("rate = \"150 Mbit/s\"\nqueue = \"50000 packets\"\ntrace = { file = \"p.log\", from = \"8 s\", until = \"20 s\" }", &files);
    let all = arrivals(&plan);
    assert!(all.len() > 10_000, "{}", all.len());
    let refused = self::plan("trace = \"p.log\"", &files, &[])
        .err()
        .unwrap_or_default();
    assert!(refused.contains("needs a rate"), "{refused}");
}

#[test]
fn errors_name_the_line_of_the_file() {
    for (text, line) in [
        ("time_s,rate_mbps\n0,1\n1,xx\n", 3),
        ("time_s,rate_mbps\r\n0,1\r\n1,xx\r\n", 3),
        ("\n# a drive\n\ntime_s,rate_mbps\n0,1\n\n\n1,xx\n", 8),
        ("\r\ntime_s,rate_mbps\r\n0,1\r\n\r\n1,2,3\r\n", 5),
        ("time_s,rate_mbps\r\n1,1\r\n0,1\r\n", 3),
        ("time_s,rate_mbps\nx,1\n", 2),
    ] {
        let found = Recording::read(text, Some(Format::Csv), &BTreeMap::new(), None);
        let why = found.err().unwrap_or_default();
        assert!(why.contains(&format!("line {line}")), "{text:?}: {why}");
    }
}
