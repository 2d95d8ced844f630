//! How connections start over one access link, alone or among others that have used it for some
//! time (Daniel & Kojo, report on available bandwidth, section 4.1).
//!
//! The network is that of a handoff ([`crate::Handoff`]), without the handoff. Every sender gets a
//! notice of the link right before its flow opens, with the number of flows that start with it: for
//! newcomers the number of newcomers, for residents that of residents, because the source of the
//! notice only counts the flows of its own node. Flows continue after the last timed segment;
//! senders have no information about which one it is.

use std::sync::Arc;

use midflight_control::{LinkInfo, StartNotice};
use midflight_sim::Action;
use midflight_units::{Duration, Instant};

use super::handoff::{check_flows, check_packets, check_window, Flows, Handoff, HandoffKind, MAP};
use crate::error::StudyError;
use crate::execution::{in_parallel, Execution};
use crate::foreign::{build, Policies};
use crate::measure::{Measured, Starts, StartupRow};
use crate::network::cell::SERVER;
use crate::run::run_setups;
use crate::scenario::Stack;
use crate::scheme::Knobs;
use crate::setup::{flow_id, FlowSetup, Setup, Timeline};

/// The runs: one for every scheme, with one row for every flow.
#[derive(Clone, Debug)]
pub struct Startup {
    /// Access link, with the same queue as in a handoff.
    pub link: LinkInfo,
    /// Parameters of each of the two fixed links CN-R and R-BS; the rate is also that of the mobile
    /// node's interface.
    pub fixed: LinkInfo,
    /// Names of the schemes of the newcomers.
    pub schemes: Vec<String>,
    /// Newcomers, 1 to 64. They open at time zero or, if there are residents, at `lead`.
    pub flows: u32,
    /// Newcomer `i` opens `i` times this after the first, and so do residents.
    pub stagger: Duration,
    /// Flows that are open before the newcomers, 0 to 64; they open at time zero.
    pub residents: u32,
    /// Name of the residents' scheme.
    pub resident_scheme: String,
    /// How long before the newcomers the residents open.
    pub lead: Duration,
    /// Name of the profile.
    pub profile: String,
    /// Settings that differ from the profile's and the policies' defaults.
    pub knobs: Knobs,
    /// Foreign policies that schemes may name.
    pub policies: Policies,
    /// Numbers of data segments whose transfer is timed, ascending.
    pub counts: Vec<u64>,
    /// How long after the first newcomer opens newly acknowledged segments are counted; none if
    /// they are not. Runs last at least this long.
    pub window: Option<Duration>,
    /// Runs end here, finished or not.
    pub end: Instant,
}

impl Startup {
    fn check(&self) -> Result<(), StudyError> {
        if self.schemes.is_empty() {
            return Err(StudyError::Nothing { what: "scheme" });
        }
        check_flows(self.flows, self.residents)?;
        if self.counts.is_empty() {
            return Err(StudyError::Nothing {
                what: "number of packets",
            });
        }
        self.counts.iter().try_for_each(|&n| check_packets(n))?;
        if self.counts.windows(2).any(|w| w[0] >= w[1]) {
            let counts: Vec<_> = self.counts.iter().map(u64::to_string).collect();
            return Err(StudyError::Range {
                what: "the list of numbers of packets",
                value: counts.join(", "),
                accepted: "numbers each larger than the one before",
            });
        }
        let last = self.opens(false, self.flows - 1);
        if last >= self.end {
            return Err(StudyError::Range {
                what: "the end of the run",
                value: self.end.to_string(),
                accepted: "an instant after the last flow opens",
            });
        }
        check_window(self.window, self.start(), self.end)
    }

    /// When the first newcomer opens.
    fn start(&self) -> Instant {
        match self.residents {
            0 => Instant::ZERO,
            _ => Instant::ZERO + self.lead,
        }
    }

    /// When a flow opens.
    fn opens(&self, resident: bool, i: u32) -> Instant {
        let first = if resident {
            Instant::ZERO
        } else {
            self.start()
        };
        first + self.stagger * u64::from(i)
    }

    /// Each flow: whether it is a resident, and its number among its kind.
    fn each_flow(&self) -> impl Iterator<Item = (bool, u32)> + Clone {
        let of = |resident| move |i| (resident, i);
        let newcomers = (0..self.flows).map(of(false));
        newcomers.chain((0..self.residents).map(of(true)))
    }

    /// One run for each scheme.
    ///
    /// # Errors
    /// [`StudyError`] for input that is not accepted.
    pub fn setups(&self) -> Result<Vec<Setup>, StudyError> {
        self.check()?;
        let part = |name: &str| {
            let part = build(name, &self.profile, &self.knobs, &self.policies)?;
            Ok::<_, StudyError>((Arc::<str>::from(name), part))
        };
        let resident = part(&self.resident_scheme)?;
        // Only the old one of its access links is used.
        let network = Handoff {
            old: self.link,
            new: self.link,
            kind: HandoffKind::MakeBeforeBreak,
            spares_uplink: true,
            notice_delay: None,
            fixed: self.fixed,
            flows: Flows::ONE,
        };
        let mut timeline = Timeline::default();
        for ((is_resident, i), number) in self.each_flow().zip(0..) {
            let at = self.opens(is_resident, i);
            let notice = StartNotice {
                link: self.link,
                flows: if is_resident {
                    self.residents
                } else {
                    self.flows
                },
            };
            timeline.act(at, Action::NotifyStart(flow_id(number), notice));
            timeline.act(at, Action::Open(flow_id(number)));
        }
        let timeline = timeline.finish();
        let measured = Arc::new(Measured::Starts {
            counts: self.counts.clone(),
            window: self.window,
            residents: self.flows as usize,
            start: self.start(),
        });
        let setup = |name: &String| {
            let newcomer = part(name)?;
            let policies = [&newcomer, &resident].map(|(_, part)| &part.built.policies);
            let routers = policies.into_iter().flatten().find_map(|p| p.routers());
            let flow = |(is_resident, i)| {
                let (scheme, part) = if is_resident { &resident } else { &newcomer };
                let kind = if is_resident { "resident" } else { "flow" };
                FlowSetup {
                    name: format!("{kind}-{i}").into(),
                    entry: None,
                    scheme: Arc::clone(scheme),
                    from: SERVER,
                    to: MAP.mobile(),
                    part: Arc::clone(part),
                    end: None,
                    opens: self.opens(is_resident, i),
                    stays: None,
                    up: false,
                    stack: Stack::Midflight,
                    quic: None,
                    client: None,
                    app: None,
                }
            };
            Ok(Setup {
                network: Arc::new(network.network(routers)),
                flows: self.each_flow().map(flow).collect(),
                apps: Arc::default(),
                timeline: Arc::clone(&timeline),
                measured: Arc::clone(&measured),
                end: self.end,
                profile: Arc::from(self.profile.as_str()),
                start: 0,
                run: None,
                path_changes: Arc::default(),
            })
        };
        self.schemes.iter().map(setup).collect()
    }
}

/// Runs start-ups in parallel; returns one table for each, with rows in the order scheme, flow.
/// `go_on` is as for [`crate::run_sweeps`].
///
/// # Errors
/// [`StudyError::Interrupted`] when stopped, or an error for input that is not accepted.
pub fn run_startups(
    startups: &[Startup],
    how: Execution,
    go_on: impl FnMut(usize, usize) -> bool,
) -> Result<Vec<Vec<StartupRow>>, StudyError> {
    let mut setups = Vec::new();
    for startup in startups {
        setups.extend(startup.setups()?);
    }
    if setups.is_empty() {
        return Ok(Vec::new());
    }
    let runs = in_parallel(setups.len(), how.threads, go_on, |progress| {
        run_setups::<Starts>(&setups, how.fork, progress)
    })?;
    let mut runs = runs.into_iter();
    let table = |startup: &Startup| {
        let runs = runs.by_ref().take(startup.schemes.len());
        runs.flatten().collect()
    };
    Ok(startups.iter().map(table).collect())
}
