//! The workloads for measuring midflight's speed.

use std::sync::Arc;

use midflight_control::LinkInfo;
use midflight_sim::{
    Action, Clock, Curve, FlowConfig, LinkConfig, LinkSchedule, NodeId, Observer, Outage, Schedule,
    ScheduleError, Service, Shape, World, WorldConfig,
};
use midflight_study::scenario::{read_scenario, run_scenarios, Document, NoFiles, Origin, Plan};
use midflight_study::{
    run_sweeps, Execution, FlowOutcome, Flows, Handoff, HandoffKind, StudyError, Sweep,
    REFERENCE_FIXED,
};
use midflight_tcp::scheme::SchemeError;
use midflight_units::{Duration, Instant, Rate};

/// A link with this many kbit/s and milliseconds.
fn link(kbps: u64, ms: u64) -> LinkInfo {
    LinkInfo {
        rate: Rate::from_bps(kbps * 1000).unwrap_or_else(|| unreachable!("a link has a rate")),
        delay: Duration::from_millis(ms),
    }
}

/// Flows over one bottleneck of 100 Mbit/s with 10 ms in each direction and a queue of one
/// bandwidth-delay product, with the profile `ns2`. Flow `i` opens `i` milliseconds after the start.
///
/// # Errors
/// [`StudyError::World`].
pub fn bottleneck<O: Observer + Default>(flows: u32) -> Result<World<O>, StudyError> {
    let path = Path {
        rate: Rate::from_mbps(100),
        delay: Duration::from_millis(10),
        queue: 167,
        schedule: None,
    };
    path.world("ns2", flows)
}

/// The bulk flow with the profile `rfc`.
///
/// # Errors
/// [`StudyError::World`].
pub fn bulk_rfc<O: Observer + Default>() -> Result<World<O>, StudyError> {
    let path = Path {
        rate: Rate::from_mbps(100),
        delay: Duration::from_millis(10),
        queue: 167,
        schedule: None,
    };
    path.world("rfc", 1)
}

/// The bulk flow with the profile `linux`.
///
/// # Errors
/// [`StudyError::World`].
pub fn bulk_linux<O: Observer + Default>() -> Result<World<O>, StudyError> {
    let path = Path {
        rate: Rate::from_mbps(100),
        delay: Duration::from_millis(10),
        queue: 167,
        schedule: None,
    };
    path.world("linux", 1)
}

/// One flow with the profile `rfc` over 50 ms in each direction: at the end of its first slow start it
/// loses about as many packets as the queue holds.
///
/// # Errors
/// [`StudyError::World`].
pub fn loss_burst<O: Observer + Default>(mbps: u64, queue: u32) -> Result<World<O>, StudyError> {
    let path = Path {
        rate: Rate::from_mbps(mbps),
        delay: Duration::from_millis(50),
        queue,
        schedule: None,
    };
    path.world("rfc", 1)
}

/// The bulk flow over links whose rate and delay follow a schedule of ten hours, ten times a second.
///
/// # Errors
/// [`StudyError::World`].
pub fn scheduled<O: Observer + Default>(schedule: &LinkSchedule) -> Result<World<O>, StudyError> {
    let path = Path {
        rate: Rate::from_mbps(100),
        delay: Duration::from_millis(10),
        queue: 167,
        schedule: Some(schedule.clone()),
    };
    path.world("ns2", 1)
}

/// The schedule of [`scheduled`]: 360,000 points from 98 to 102 Mbit/s and from 9.8 to 10.2 ms.
///
/// # Errors
/// None.
pub fn ten_hours() -> Result<LinkSchedule, ScheduleError> {
    let curve = |middle: f64| {
        let point = |n: u64| {
            let swing = (n * 7 % 41) as f64 / 20.0 - 1.0;
            (
                Duration::from_millis(100 * n),
                middle * (1.0 + 0.02 * swing),
            )
        };
        Curve::new(
            &(0..360_000).map(point).collect::<Vec<_>>(),
            Shape::Step,
            None,
        )
    };
    let rate = Service::Rate(curve(1e8)?);
    let schedule = Schedule::new(rate, Some(curve(0.01)?), None, Outage::Hold)?;
    let schedule = Arc::new(schedule);
    Ok(LinkSchedule { schedule, seed: 1 })
}

/// A link in each direction.
struct Path {
    rate: Rate,
    delay: Duration,
    queue: u32,
    schedule: Option<LinkSchedule>,
}

impl Path {
    /// This many flows over the path; each opens a millisecond after the previous one.
    fn world<O: Observer + Default>(
        &self,
        profile: &str,
        flows: u32,
    ) -> Result<World<O>, StudyError> {
        let there_and_back = |name, from, to| LinkConfig {
            schedule: self.schedule.clone(),
            ..LinkConfig::new(
                name,
                (NodeId(from), NodeId(to)),
                self.rate,
                self.delay,
                Some(self.queue),
            )
        };
        let links = vec![there_and_back("there", 0, 1), there_and_back("back", 1, 0)];
        let link_id = World::<O>::link_id;
        let routes = [
            (NodeId(0), NodeId(1), link_id(0)),
            (NodeId(1), NodeId(0), link_id(1)),
        ];
        let profile = midflight_tcp::profile(profile).map_err(SchemeError::from)?;
        let flow = FlowConfig {
            from: NodeId(0),
            to: NodeId(1),
            sender: &profile.sender,
            parts: &profile.parts,
            receiver: &profile.receiver,
            policies: Vec::new(),
            addresses: Vec::new(),
            migrates: false,
        };
        let flow_configs = vec![flow; flows as usize];
        let mut world = World::new(
            WorldConfig {
                clock: if profile.counts_picoseconds {
                    Clock::Picoseconds
                } else {
                    Clock::Seconds
                },
                nodes: 2,
                links: &links,
                routes: &routes,
                flows: flow_configs,
                ..WorldConfig::default()
            },
            O::default(),
        )?;
        for i in 0..flows {
            let at = Instant::ZERO + Duration::from_millis(u64::from(i));
            world.schedule(at, Action::Open(World::<O>::flow_id(i)))?;
        }
        Ok(world)
    }
}

/// The handoff from 6400 kbit/s, 9 ms to 200 kbit/s, 300 ms at 8.2 s with a
/// profile and a scheme, with an immediate notice to the sender.
///
/// # Errors
/// [`StudyError::Scheme`].
pub fn handoff<O: Observer + Default>(profile: &str, scheme: &str) -> Result<World<O>, StudyError> {
    let sweep = Sweep {
        handoff: Handoff {
            old: link(6400, 9),
            new: link(200, 300),
            kind: HandoffKind::MakeBeforeBreak,
            spares_uplink: true,
            notice_delay: Some(Duration::ZERO),
            fixed: REFERENCE_FIXED,
            flows: Flows::ONE,
        },
        at: vec![Instant::from_nanos(8_200_000_000)],
        schemes: vec![scheme.into()],
        resident_scheme: "sack".into(),
        profile: profile.into(),
        knobs: Vec::new(),
        policies: Vec::new(),
        packets: 100,
        extra: Vec::new(),
        window: None,
        end: Instant::from_nanos(3_600_000_000_000),
    };
    sweep.setups()?.remove(0).world(O::default())
}

/// Runs for this many seconds; returns how many segments were sent.
///
/// # Errors
/// [`StudyError::World`].
pub fn run<O: Observer>(mut world: World<O>, seconds: u64) -> Result<u64, StudyError> {
    world.run_before(Instant::from_nanos(seconds * 1_000_000_000))?;
    let sent = |i| world.sender(World::<O>::flow_id(i)).view().snd_max;
    Ok((0..world.flows()).map(sent).sum())
}

/// The directed link pairs of Daniel & Kojo 2008, sections 4.1 to 4.3.
fn pairs() -> Vec<(LinkInfo, LinkInfo)> {
    let mut pairs = Vec::new();
    let mut both = |a, b| pairs.extend([(a, b), (b, a)]);
    for kbps in [200, 1600, 6400] {
        for ms in [150, 75, 37, 18, 9, 1] {
            both(link(kbps, ms), link(kbps, 300));
        }
    }
    for ms in [300, 75, 9, 1] {
        for kbps in [200, 400, 800, 1600, 3200] {
            both(link(kbps, ms), link(6400, ms));
        }
    }
    let same_bdp = [
        (200, 300),
        (400, 150),
        (800, 75),
        (1600, 37),
        (3200, 18),
        (6400, 9),
    ];
    for anchor in [0, 5] {
        for other in 0..6 {
            if other != anchor {
                let (a, b) = (same_bdp[anchor], same_bdp[other]);
                both(link(a.0, a.1), link(b.0, b.1));
            }
        }
    }
    pairs
}

/// Handoff instants: 0.1 s to 20 s.
fn instants() -> Vec<Instant> {
    (1..=200)
        .map(|n| Instant::from_nanos(n * 100_000_000))
        .collect()
}

/// The grid of Daniel & Kojo 2008, or every `every`-th link pair of it; returns the number of runs.
///
/// # Errors
/// As [`run_sweeps`].
pub fn grid(threads: usize, every: usize) -> Result<u64, StudyError> {
    let kinds = [
        HandoffKind::MakeBeforeBreak,
        HandoffKind::BreakBeforeMake {
            gap: Duration::from_millis(500),
        },
    ];
    let mut sweeps = Vec::new();
    for (old, new) in pairs().into_iter().step_by(every) {
        for kind in kinds {
            sweeps.push(Sweep {
                handoff: Handoff {
                    old,
                    new,
                    kind,
                    spares_uplink: true,
                    notice_delay: Some(Duration::ZERO),
                    fixed: REFERENCE_FIXED,
                    flows: Flows::ONE,
                },
                at: instants(),
                schemes: vec!["sack".into(), "enhanced".into()],
                resident_scheme: "sack".into(),
                profile: "ns2".into(),
                knobs: Vec::new(),
                policies: Vec::new(),
                packets: 100,
                extra: Vec::new(),
                window: None,
                end: Instant::from_nanos(3_600_000_000_000),
            });
        }
    }
    let how = Execution {
        fork: true,
        threads,
    };
    let tables = run_sweeps(&sweeps, how, |_, _| true)?;
    Ok(tables.iter().map(|rows| rows.len() as u64).sum())
}

/// A cell of a sweep over scenarios: the handoff of [`handoff`], measured as in [`grid`].
const CELL: &str = include_str!("cell.toml");
const BULK: &str = include_str!("bulk.toml");

/// The cells of a sweep over the schemes `sack` and `enhanced` and 200 instants, each read and run as in
/// the package's sweeps; returns the number of cells.
///
/// # Errors
/// As [`run_scenarios`].
pub fn cells(threads: usize) -> Result<u64, StudyError> {
    cells_of(threads, &[])
}

/// The same with the profile `rfc` or `linux`, with Reno or CUBIC.
///
/// # Errors
/// As [`run_scenarios`].
pub fn cells_with(profile: &str) -> Result<u64, StudyError> {
    cells_of(1, &[("profile".into(), profile.into())])
}

fn cells_of(threads: usize, given: &[(String, String)]) -> Result<u64, StudyError> {
    let canonical = read_scenario(CELL, Origin::Toml("cell"), given, &[])?.canonical()?;
    let scenario = Document::parse(&canonical, Origin::Json)?;
    let mut plans = Vec::new();
    for scheme in ["sack", "enhanced"] {
        for at in instants() {
            let sets = [
                ("flows.download.scheme".into(), scheme.into()),
                ("handoffs.0.at".into(), at.to_string()),
            ];
            plans.push(scenario.plan(&sets, &[], &NoFiles)?);
        }
    }
    let how = Execution {
        fork: true,
        threads,
    };
    let runs = run_scenarios(&plans, how, |_, _| true)?;
    Ok(runs.iter().map(|of_one| of_one.len() as u64).sum())
}

/// A scenario with this many changes of its link, 1 ms apart.
///
/// # Errors
/// As [`read_scenario`].
pub fn changing(changes: u64) -> Result<Plan, StudyError> {
    let mut text = format!(
        "end = \"{} ms\"\n[links.radio]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n[flows.download]\n",
        changes + 100
    );
    for n in 1..=changes {
        let rate = 5 + n % 10;
        let change =
            format!("[[changes]]\nat = \"{n} ms\"\nlink = \"radio\"\nrate = \"{rate} Mbit/s\"\n");
        text.push_str(&change);
    }
    read_scenario(&text, Origin::Toml("changing"), &[], &[])
}

/// A minute of the bulk flow with a profile, as the scenario that the command `run` takes.
///
/// # Errors
/// As [`run_scenarios`].
pub fn bulk_scenario(profile: &str) -> Result<Plan, StudyError> {
    let given = [("profile", profile), ("end", "60 s")];
    let given = given.map(|(key, value)| (key.into(), value.into()));
    read_scenario(BULK, Origin::Toml("bulk"), &given, &[])
}

/// Runs a scenario on one thread with all its measurements, as the command `run` does; returns the number of segments
/// sent for the first time.
///
/// # Errors
/// As [`run_scenarios`].
pub fn run_plan(plan: &Plan) -> Result<u64, StudyError> {
    let how = Execution {
        fork: true,
        threads: 1,
    };
    let runs = run_scenarios(std::slice::from_ref(plan), how, |_, _| true)?;
    let flows = runs.iter().flatten().flat_map(|run| &run.flows);
    let totals = flows.map(FlowOutcome::total);
    Ok(totals.map(|total| total.sent - total.rexmits).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 36, 40 and 20 pairs in the three sections; 200/300 and 6400/9 belong to both anchors of the last
    /// section.
    #[test]
    fn the_grid_has_the_pairs_of_the_paper() {
        let mut all = pairs();
        assert_eq!(all.len(), 96);
        all.sort_by_key(|(old, new)| [old.rate, new.rate].map(|r| (r, old.delay, new.delay)));
        all.dedup();
        assert_eq!(all.len(), 94);
    }
}
