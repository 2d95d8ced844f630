//! The network of Daniel & Kojo 2008, figure 1, with a handoff.
//!
//! ```text
//!             BS1 ==old== Wir1
//! CN -- R --<                  >-- MN
//!             BS2 ==new== Wir2
//! ```
//!
//! Wir1 and Wir2 are the mobile node's two interfaces: no packet is lost between them and MN except in a break.
//! Several flows from CN to MN move together (Daniel, Järvinen & Kojo, poster on TCP with vertical handoffs;
//! Daniel & Kojo, report on available bandwidth, section 4.2), and a notice contains their number. Residents are
//! flows of other nodes on the new link, open from the start; they also come from CN, and end at Wir2. A notice
//! does not count them, because the mobile node has no information about other nodes' flows.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use midflight_control::quick_start::Routers;
use midflight_control::{LinkInfo, Notice, PathUpdate, StartNotice};
use midflight_sim::Action;
use midflight_units::{Duration, Instant, Rate};
use rayon::prelude::*;

use crate::error::StudyError;
use crate::execution::{in_parallel, Execution};
use crate::foreign::{build, Policies};
use crate::measure::{EachHandoff, HandoffRow, Measured, OneHandoff};
use crate::network::cell::{Access, Cell, Directions, Map, OneDirection, PossibleActions, SERVER};
use crate::run::run_setups;
use crate::scenario::Stack;
use crate::scheme::Knobs;
use crate::setup::{
    flow_id, Entry, FlowSetup, Mark, Network, Part, PathChange, PhaseStart, Setup, SignalTimes,
    Timeline,
};

/// Whether the old link breaks before the new one is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandoffKind {
    /// Make before break: routes switch at an instant, packets in flight arrive.
    MakeBeforeBreak,
    /// Break before make: from the break on all packets on the old link are lost, and the routes switch after the
    /// gap.
    BreakBeforeMake {
        /// Time without a link.
        gap: Duration,
    },
}

/// Maximum number of flows of a kind.
pub(crate) const MOST_FLOWS: u32 = 64;

/// The flows of a run, numbered: the moving ones from 0, then the residents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flows {
    /// Bulk flows from CN to MN with the same scheme, which move together; 1 to 64.
    pub moving: u32,
    /// Bulk flows over the new link that do not move; 0 to 64.
    pub residents: u32,
    /// The moving flow `i` opens at `i` times this, and so does resident `i`.
    pub stagger: Duration,
    /// Whether each moving flow gets a notice of the old link before it opens.
    pub start_notice: bool,
}

impl Flows {
    /// A single flow.
    pub const ONE: Self = Self {
        moving: 1,
        residents: 0,
        stagger: Duration::ZERO,
        start_notice: false,
    };

    /// Number of flows.
    pub fn count(&self) -> usize {
        (self.moving + self.residents) as usize
    }

    /// When flow `i` of either kind opens.
    pub(crate) fn opens(&self, i: u32) -> Instant {
        Instant::ZERO + self.stagger * u64::from(i)
    }

    /// When all are open.
    pub(crate) fn all_open(&self) -> Instant {
        self.opens(self.moving.max(self.residents).saturating_sub(1))
    }

    /// Refuses numbers that no run supports.
    pub(crate) fn check(&self) -> Result<(), StudyError> {
        check_flows(self.moving, self.residents)
    }
}

/// Refuses numbers of flows and of residents that no run supports.
pub(crate) fn check_flows(flows: u32, residents: u32) -> Result<(), StudyError> {
    let (what, value, accepted) = if !(1..=MOST_FLOWS).contains(&flows) {
        ("the number of flows", flows, "1 to 64")
    } else if residents > MOST_FLOWS {
        ("the number of residents", residents, "0 to 64")
    } else {
        return Ok(());
    };
    Err(StudyError::Range {
        what,
        value: value.to_string(),
        accepted,
    })
}

/// A handoff of bulk flows from CN to MN between two access links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handoff {
    /// Access link before the handoff.
    pub old: LinkInfo,
    /// Access link after the handoff.
    pub new: LinkInfo,
    /// Make before break, or break before make.
    pub kind: HandoffKind,
    /// Packets that the mobile node has handed to its old link before a break still pass, as in the papers' ns-2,
    /// where the loss is between the node and its queue; otherwise they are lost.
    pub spares_uplink: bool,
    /// Time from the completion of the handoff to the senders' notice; none for no notice.
    pub notice_delay: Option<Duration>,
    /// Parameters of each of the two fixed links CN-R and R-BS; the rate is also that of the mobile node's
    /// interfaces.
    pub fixed: LinkInfo,
    /// The moving and the resident flows.
    pub flows: Flows,
}

/// Names of the links, by their numbers.
pub const LINK_NAMES: [&str; 14] = [
    "cn-r", "r-bs1", "bs1-wir1", "wir1-mn", "r-bs2", "bs2-wir2", "wir2-mn", "mn-wir1", "wir1-bs1",
    "bs1-r", "mn-wir2", "wir2-bs2", "bs2-r", "r-cn",
];
/// The fixed links of the reference runs.
pub const REFERENCE_FIXED: LinkInfo = LinkInfo {
    rate: Rate::from_mbps(100),
    delay: Duration::from_millis(2),
};
/// The two access links, and the map of the network around them.
const OLD: usize = 0;
const NEW: usize = 1;
pub(crate) const MAP: Map = Map { stations: 2 };
/// Queue of a fixed link, in packets.
const FIXED_LIMIT: u32 = 10_000;
/// Smallest queue of an access link, in packets (Daniel & Kojo 2008, section 4).
const LEAST_LIMIT: u64 = 5;

/// Queue limit of an access link: its BDP, rate x 2 delay, in 1500-byte
/// packets rounded up, and at least five (Daniel & Kojo 2008, section 4).
fn queue_limit(link: &LinkInfo) -> u32 {
    let bits = u128::from(link.rate.as_bps()) * u128::from(link.delay.as_nanos()) * 2;
    let packets = bits.div_ceil(12_000 * 1_000_000_000);
    u32::try_from(packets)
        .unwrap_or(u32::MAX)
        .max(LEAST_LIMIT as u32)
}

impl Handoff {
    /// When the new route is in use, for a handoff that starts at `at`.
    pub fn make(&self, at: Instant) -> Instant {
        match self.kind {
            HandoffKind::MakeBeforeBreak => at,
            HandoffKind::BreakBeforeMake { gap } => at + gap,
        }
    }

    /// The network, with routers that respond to rate requests if there are any.
    pub(crate) fn network(&self, routers: Option<Routers>) -> Network {
        let ways = |link: &LinkInfo| OneDirection {
            rate: link.rate,
            delay: link.delay,
            limit: queue_limit(link),
            queue: None,
            loss: None,
            reordering: None,
            cross: None,
            schedule: None,
        };
        let access = [("old", &self.old), ("new", &self.new)].map(|(name, link)| Access {
            name: name.into(),
            settings: vec![Directions {
                down: ways(link),
                up: ways(link),
            }],
        });
        let may_happen = [
            PossibleActions {
                breaks: true,
                ..PossibleActions::default()
            },
            PossibleActions {
                is_entered: true,
                ..PossibleActions::default()
            },
        ];
        let residences = if self.flows.residents > 0 {
            vec![NEW]
        } else {
            Vec::new()
        };
        Cell {
            wired: self.fixed,
            wired_limit: FIXED_LIMIT,
            names: &LINK_NAMES.map(Cow::Borrowed),
            places: ["bs1", "bs2"].map(Cow::Borrowed).to_vec(),
            access: &access,
            may_happen: &may_happen,
            spares_uplink: self.spares_uplink,
            start: OLD,
            residences,
            has_hosts: false,
            routers: [routers, None],
            agents: Vec::new(),
            readable: Vec::new(),
            seed: (0, 0),
        }
        .network()
    }

    /// The flows: the moving ones, then the residents.
    fn flows(&self, moving: &NamedPart, resident: &NamedPart) -> Arc<[FlowSetup]> {
        let flows = self.flows;
        let flow = |(scheme, part): &NamedPart, name: String, to, i, stays| FlowSetup {
            name: name.into(),
            entry: None,
            scheme: scheme.clone(),
            from: SERVER,
            to,
            part: part.clone(),
            end: None,
            opens: flows.opens(i),
            stays,
            up: false,
            stack: Stack::Midflight,
            quic: None,
            client: None,
            app: None,
        };
        let moving =
            (0..flows.moving).map(|i| flow(moving, format!("flow-{i}"), MAP.mobile(), i, None));
        let residents = (0..flows.residents).map(|i| {
            flow(
                resident,
                format!("resident-{i}"),
                MAP.interface(NEW),
                i,
                Some(NEW as u16),
            )
        });
        moving.chain(residents).collect()
    }

    /// The actions before a handoff.
    fn openings(&self) -> Timeline {
        // Two for each flow to open, and up to ten, plus three for each moving flow, for the handoff.
        let mut timeline =
            Timeline::of(10 + 2 * self.flows.count() + 3 * self.flows.moving as usize);
        let each = (0..self.flows.moving).map(|i| (i, true));
        let each = each.chain((0..self.flows.residents).map(|i| (i, false)));
        for ((i, moves), number) in each.zip(0..) {
            let at = self.flows.opens(i);
            if moves && self.flows.start_notice {
                let notice = StartNotice {
                    link: self.old,
                    flows: self.flows.moving,
                };
                timeline.act(at, Action::NotifyStart(flow_id(number), notice));
            }
            timeline.act(at, Action::Open(flow_id(number)));
        }
        timeline
    }

    /// When the senders get their notices, for a handoff that starts at `at`.
    fn notice(&self, at: Instant) -> Option<Instant> {
        self.notice_delay.map(|delay| self.make(at) + delay)
    }

    /// A handoff at `at`.
    fn path_change(&self, at: Instant) -> PathChange {
        PathChange {
            is_change: false,
            links: ("old".into(), "new".into()),
            at,
            make: self.make(at),
            breaks: matches!(self.kind, HandoffKind::BreakBeforeMake { .. }),
            notified: self.notice(at),
            misstated: false,
        }
    }

    /// The link data of a handoff.
    fn of_links(&self) -> Notice {
        Notice {
            old: self.old,
            new: self.new,
            flows: self.flows.moving,
        }
    }

    /// All actions of a run, with a handoff at `at` if there is one. The mobile node warns its senders ahead of it if
    /// `signal` requires that.
    fn timeline(&self, at: Option<Instant>, signal: &SignalTimes) -> Arc<[Entry]> {
        let mut timeline = self.openings();
        let Some(at) = at else {
            return timeline.finish();
        };
        let moving = || (0..self.flows.moving).map(flow_id);
        let notice = self.of_links();
        if let Some(warning) = signal.warning {
            for (i, flow) in (0..).zip(moving()) {
                // But not before there is a flow to notify.
                let noticed_at = at.saturating_sub(warning).max(self.flows.opens(i));
                timeline.act(noticed_at, Action::Foresee(flow, notice));
            }
        }
        let make = self.make(at);
        let mark = Mark {
            kind: PhaseStart::Handoff,
            make,
            place: NEW as u16,
        };
        timeline.mark(at, mark);
        if let HandoffKind::BreakBeforeMake { .. } = self.kind {
            timeline.act(at, Action::MarkBreak);
            for link in MAP.ends(OLD) {
                timeline.act(at, Action::Down(link));
            }
            if !self.spares_uplink {
                let [to_interface, up, _] = MAP.up(OLD);
                for link in [to_interface, up] {
                    let node = MAP.mobile();
                    timeline.act(at, Action::Purge { link, node });
                }
            }
        }
        timeline.act(make, Action::MarkMake);
        let [(node, to, link), up] = MAP.routes_over(NEW);
        timeline.act(make, Action::Route { node, to, link });
        let (node, to, link) = up;
        timeline.act(signal.acks_move(make), Action::Route { node, to, link });
        for flow in moving() {
            timeline.act(make, Action::Attached(flow, 1, notice));
        }
        if let Some(noticed_at) = self.notice(at) {
            for flow in moving() {
                timeline.act(noticed_at, Action::Notify(flow, PathUpdate::Notice(notice)));
            }
        }
        timeline.finish()
    }
}

/// The runs: one for every scheme and instant, with one row for every flow.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The handoff, without its instant.
    pub handoff: Handoff,
    /// When the handoff starts, one run for each.
    pub at: Vec<Instant>,
    /// Names of the schemes of the moving flows.
    pub schemes: Vec<String>,
    /// Name of the residents' scheme.
    pub resident_scheme: String,
    /// Name of the profile.
    pub profile: String,
    /// Settings that differ from the profile's and the policies' defaults.
    pub knobs: Knobs,
    /// Foreign policies that schemes may name.
    pub policies: Policies,
    /// Segments whose transfer is timed.
    pub packets: u64,
    /// Further counts of segments to time.
    pub extra: Vec<u64>,
    /// How long after the start of the handoff newly acknowledged segments are counted; none if they are not.
    /// Runs last at least this long.
    pub window: Option<Duration>,
    /// Runs end here, finished or not.
    pub end: Instant,
}

/// Refuses handoffs that no run supports.
pub(crate) fn check_handoff(
    handoff: &Handoff,
    at: Instant,
    end: Instant,
) -> Result<(), StudyError> {
    let complete = handoff.make(at) + handoff.notice_delay.unwrap_or(Duration::ZERO);
    if complete >= end {
        return Err(StudyError::AfterEnd { at, complete, end });
    }
    let open = handoff.flows.all_open();
    if open > at {
        return Err(StudyError::NotOpen { at, open });
    }
    Ok(())
}

/// Refuses a number of packets that no run can time.
pub(crate) fn check_packets(packets: u64) -> Result<(), StudyError> {
    if !(1..=1_000_000_000).contains(&packets) {
        return Err(StudyError::Range {
            what: "the number of packets",
            value: packets.to_string(),
            accepted: "1 to 1000000000",
        });
    }
    Ok(())
}

/// Refuses a window from `from` on that ends after the run.
pub(crate) fn check_window(
    window: Option<Duration>,
    from: Instant,
    end: Instant,
) -> Result<(), StudyError> {
    match window {
        Some(window) if window == Duration::ZERO => Err(StudyError::Range {
            what: "the window",
            value: window.to_string(),
            accepted: "a time longer than zero",
        }),
        Some(window) if from + window > end => {
            Err(StudyError::WindowAfterEnd { window, from, end })
        }
        _ => Ok(()),
    }
}

impl Sweep {
    fn check(&self) -> Result<(), StudyError> {
        if self.schemes.is_empty() {
            return Err(StudyError::Nothing { what: "scheme" });
        }
        self.handoff.flows.check()?;
        for &n in std::iter::once(&self.packets).chain(&self.extra) {
            check_packets(n)?;
        }
        self.at.iter().try_for_each(|&at| {
            check_handoff(&self.handoff, at, self.end)?;
            check_window(self.window, at, self.end)
        })
    }

    /// The sweep with its schemes, after checking that it can be run.
    fn prepare(&self) -> Result<Prepared<'_>, StudyError> {
        self.check()?;
        let part = |name: &str| {
            let part = build(name, &self.profile, &self.knobs, &self.policies)?;
            Ok::<_, StudyError>((Arc::<str>::from(name), part))
        };
        let resident = part(&self.resident_scheme)?;
        let moving = |name: &String| {
            if *name == self.resident_scheme {
                return Ok(resident.clone());
            }
            part(name)
        };
        Ok(Prepared {
            moving: self.schemes.iter().map(moving).collect::<Result<_, _>>()?,
            resident,
            sweep: self,
        })
    }

    /// Number of runs.
    fn runs(&self) -> usize {
        self.schemes.len() * self.at.len()
    }

    /// One run for each scheme and instant, in that order.
    ///
    /// # Errors
    /// [`StudyError`] for input that is not accepted.
    pub fn setups(&self) -> Result<Vec<Setup>, StudyError> {
        Ok(self.prepare()?.setups())
    }

    /// Runs everything. Rows come in the order scheme, instant, flow, as given.
    ///
    /// # Errors
    /// [`StudyError`] for input that is not accepted.
    pub fn run(&self, how: Execution) -> Result<Vec<HandoffRow>, StudyError> {
        let tables = run_sweeps(std::slice::from_ref(self), how, |_, _| true)?;
        Ok(tables.into_iter().flatten().collect())
    }
}

/// A scheme with its name.
type NamedPart = (Arc<str>, Arc<Part>);

/// A sweep with its schemes.
struct Prepared<'a> {
    sweep: &'a Sweep,
    moving: Vec<NamedPart>,
    resident: NamedPart,
}

impl Prepared<'_> {
    fn setups(&self) -> Vec<Setup> {
        let Sweep { handoff, at, .. } = self.sweep;
        let measured = Arc::new(Measured::Handoff {
            packets: self.sweep.packets,
            extra: self.sweep.extra.clone(),
            window: self.sweep.window,
        });
        let profile: Arc<str> = Arc::from(self.sweep.profile.as_str());
        let instants: Vec<Option<Instant>> = if at.is_empty() {
            vec![None]
        } else {
            at.iter().copied().map(Some).collect()
        };
        let path_changes =
            |at: &Option<Instant>| at.iter().map(|&at| handoff.path_change(at)).collect();
        let path_changes: Vec<Arc<[PathChange]>> = instants.iter().map(path_changes).collect();
        // The common part of schemes is built once.
        let mut networks: Vec<(Option<Routers>, Arc<Network>)> = Vec::new();
        let mut timelines: Vec<(SignalTimes, Timelines)> = Vec::new();
        let mut setups = Vec::with_capacity(self.moving.len() * instants.len());
        for moving in &self.moving {
            let parts = [moving, &self.resident];
            let mut policies = parts.iter().flat_map(|(_, part)| &part.built.policies);
            let routers = policies.find_map(|policy| policy.routers());
            let network = known(&mut networks, routers, || {
                Arc::new(handoff.network(routers))
            });
            let soft = handoff.kind == HandoffKind::MakeBeforeBreak;
            let notice = handoff.of_links();
            let signal = SignalTimes::of(&moving.1, soft.then_some(&notice));
            let each = known(&mut timelines, signal, || {
                let timeline = |at| handoff.timeline(at, &signal);
                instants.iter().copied().map(timeline).collect()
            });
            let flows = handoff.flows(moving, &self.resident);
            let each = each.iter().zip(&path_changes);
            setups.extend(each.map(|(timeline, path_changes)| Setup {
                network: network.clone(),
                flows: flows.clone(),
                apps: Arc::default(),
                timeline: Arc::clone(timeline),
                measured: Arc::clone(&measured),
                end: self.sweep.end,
                profile: Arc::clone(&profile),
                start: OLD as u16,
                run: None,
                path_changes: Arc::clone(path_changes),
            }));
        }
        setups
    }
}

/// The timelines of a sweep, one for each instant.
type Timelines = Arc<[Arc<[Entry]>]>;

/// The value of a key, which is computed at its first use.
fn known<K: PartialEq, V: Clone>(all: &mut Vec<(K, V)>, key: K, make: impl FnOnce() -> V) -> V {
    if let Some((_, value)) = all.iter().find(|(k, _)| *k == key) {
        return value.clone();
    }
    let value = make();
    all.push((key, value.clone()));
    value
}

/// Runs sweeps together; returns one table for each, with rows in the order scheme, instant, flow, as given.
/// `go_on` is called repeatedly on the calling thread, with the number of finished runs and of all runs; if it
/// returns false the runs stop, and it is not called again.
///
/// # Errors
/// [`StudyError::Interrupted`] when stopped, or an error for input that is not accepted.
pub fn run_sweeps(
    sweeps: &[Sweep],
    how: Execution,
    go_on: impl FnMut(usize, usize) -> bool,
) -> Result<Vec<Vec<HandoffRow>>, StudyError> {
    let mut prepared = Vec::with_capacity(sweeps.len());
    let mut alike: BTreeMap<(usize, Rate, Duration), Vec<usize>> = BTreeMap::new();
    for (sweep, place) in sweeps.iter().zip(0..) {
        if sweep.at.is_empty() {
            return Err(StudyError::Nothing {
                what: "handoff instant",
            });
        }
        prepared.push(sweep.prepare()?);
        let Handoff { old, flows, .. } = &sweep.handoff;
        // Sweeps with different initial links have no shared prefix.
        let beginning = (flows.count(), old.rate, old.delay);
        alike.entry(beginning).or_default().push(place);
    }
    let total = sweeps.iter().map(Sweep::runs).sum();
    if total == 0 {
        return Ok(Vec::new());
    }
    let alike: Vec<((usize, Rate, Duration), Vec<usize>)> = alike.into_iter().collect();
    let done: Vec<Vec<Vec<HandoffRow>>> = in_parallel(total, how.threads, go_on, |progress| {
        let each = alike
            .par_iter()
            .with_max_len(1)
            .map(|((flows, ..), places)| {
                // The setups are created on demand: those of all sweeps take more memory than their rows.
                let setups = places.iter().flat_map(|&place| prepared[place].setups());
                let setups: Vec<Setup> = setups.collect();
                let rows = match flows {
                    1 => run_setups::<OneHandoff>(&setups, how.fork, progress)?,
                    _ => run_setups::<EachHandoff>(&setups, how.fork, progress)?,
                };
                let mut rows = rows.into_iter();
                let table = |&place: &usize| {
                    let runs = sweeps[place].runs();
                    let mut table = Vec::with_capacity(runs * flows);
                    table.extend(rows.by_ref().take(runs).flatten());
                    table
                };
                Ok(places.iter().map(table).collect())
            });
        each.collect::<Result<_, StudyError>>()
    })?;
    let mut tables = vec![Vec::new(); sweeps.len()];
    let places = alike.iter().flat_map(|(_, places)| places);
    for (&place, table) in places.zip(done.into_iter().flatten()) {
        tables[place] = table;
    }
    Ok(tables)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Huang & Cai: at a handoff to more delay without a gap, ACKs take the other link for some time.
    #[test]
    fn acks_change_their_link_at_their_own_time() {
        let link = |ms| LinkInfo {
            rate: Rate::from_mbps(10),
            delay: Duration::from_millis(ms),
        };
        let ack_route = |signal: &str, (old, new): (u64, u64), kind| {
            let knobs =
                ["fast_ack_time", "slow_ack_time"].map(|k| (k.to_string(), "70ms".to_string()));
            let knobs: Knobs = knobs
                .into_iter()
                .filter(|(k, _)| k.starts_with(&signal[..4]))
                .collect();
            let part = build(signal, "rfc", &knobs, &Policies::default());
            let part = part.unwrap_or_else(|_| unreachable!());
            let notice = Notice {
                old: link(old),
                new: link(new),
                flows: 1,
            };
            let soft = kind == HandoffKind::MakeBeforeBreak;
            let times = SignalTimes::of(&part, soft.then_some(&notice));
            let make = Instant::ZERO + Duration::from_millis(1000);
            (
                times.acks_move(make).as_nanos() / 1_000_000,
                times.moves_acks(),
            )
        };
        let soft = HandoffKind::MakeBeforeBreak;
        let gap = Duration::from_millis(1);
        let hard = HandoffKind::BreakBeforeMake { gap };
        assert_eq!(ack_route("fast-ack", (10, 300), soft), (1070, true));
        assert_eq!(ack_route("slow-ack", (10, 300), soft), (930, true));
        for signal in ["fast-ack", "slow-ack"] {
            assert_eq!(ack_route(signal, (300, 10), soft), (1000, false));
            assert_eq!(ack_route(signal, (10, 300), hard), (1000, false));
        }
    }

    #[test]
    fn the_papers_queue_limits() {
        let limit = |kbps: u64, ms| {
            let rate = Rate::from_bps(kbps * 1000).unwrap_or(REFERENCE_FIXED.rate);
            queue_limit(&LinkInfo {
                rate,
                delay: Duration::from_millis(ms),
            })
        };
        let of = |kbps| [300, 150, 75, 37, 18, 9, 1].map(|ms| limit(kbps, ms));
        assert_eq!(of(6400), [320, 160, 80, 40, 20, 10, 5]);
        assert_eq!(of(1600), [80, 40, 20, 10, 5, 5, 5]);
        assert_eq!(of(200), [10, 5, 5, 5, 5, 5, 5]);
    }

    /// A run compares setups with each other, which must not change their addresses.
    #[test]
    fn a_run_leaves_addresses_alone() -> Result<(), StudyError> {
        let link = |mbps, ms| LinkInfo {
            rate: Rate::from_mbps(mbps),
            delay: Duration::from_millis(ms),
        };
        let sweep = Sweep {
            handoff: Handoff {
                old: link(6, 9),
                new: link(2, 300),
                kind: HandoffKind::MakeBeforeBreak,
                spares_uplink: true,
                notice_delay: Some(Duration::ZERO),
                fixed: REFERENCE_FIXED,
                flows: Flows::ONE,
            },
            at: vec![Instant::from_nanos(5_030_000_000)],
            schemes: vec!["sack".into(), "enhanced".into(), "cubic".into()],
            resident_scheme: "sack".into(),
            profile: "ns2".into(),
            knobs: Vec::new(),
            policies: Vec::new(),
            packets: 50,
            extra: Vec::new(),
            window: None,
            end: Instant::from_nanos(600_000_000_000),
        };
        let setups = sweep.setups()?;
        let addresses = || setups.iter().map(Setup::address).collect::<Vec<_>>();
        let before = addresses();
        let rows = in_parallel(
            setups.len(),
            1,
            |_, _| true,
            |progress| run_setups::<OneHandoff>(&setups, true, progress),
        )?;
        assert_eq!(rows.len(), 3);
        assert_eq!(addresses(), before);
        assert_eq!(sweep.setups()?.remove(1).address(), before[1]);
        let different: std::collections::BTreeSet<_> = before.iter().collect();
        assert_eq!(different.len(), 3);
        Ok(())
    }
}
