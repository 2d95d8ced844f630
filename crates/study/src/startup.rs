//! How connections start over one access link, alone or among others that have
//! used it for a while (Daniel & Kojo, report on available bandwidth, section 4.1).
//!
//! The network is that of a handoff ([`crate::Handoff`]), none of which takes
//! place. Every sender is told of the link right before its flow opens, with the
//! number of flows that start with it: newcomers of the newcomers, residents of
//! the residents, since whoever tells a sender knows of its own node's flows only.
//! Flows go on after the last segment that is timed; no sender knows that it is.

use educe::Educe;
use midflight_control::{LinkInfo, StartNotice};
use midflight_sim::{Digest, Event, FlowId, Observer, Payload, World};
use midflight_tcp::SenderEvent;
use midflight_units::{Duration, Instant, Seq};

use crate::error::StudyError;
use crate::execution::{each_run, Execution, Progress};
use crate::handoff::{check_flows, Flows, Handoff, HandoffKind, Opening, MN};
use crate::scheme::{Built, Knobs, Scheme};
use crate::sweep::{check_packets, check_window};

/// What to run: one run for every scheme, one row for every flow of it.
#[derive(Clone, Debug)]
pub struct Startup {
    /// Access link, with the queue that it has in a handoff.
    pub link: LinkInfo,
    /// Each of the two fixed links CN-R and R-BS; the rate is also that of the
    /// mobile node's interface.
    pub fixed: LinkInfo,
    /// Names of schemes, of the newcomers.
    pub schemes: Vec<String>,
    /// Newcomers, 1 to 64. They open at time zero or, if there are residents, at `lead`.
    pub flows: u32,
    /// Newcomer `i` opens `i` times this after the first, and so do residents.
    pub stagger: Duration,
    /// Flows that are there before the newcomers, 0 to 64; they open at time zero.
    pub residents: u32,
    /// Name of the residents' scheme.
    pub resident_scheme: String,
    /// How long before the newcomers they open.
    pub lead: Duration,
    /// Name of the profile.
    pub profile: String,
    /// Settings that differ from the profile's and the policies' defaults.
    pub knobs: Knobs,
    /// Numbers of data segments whose transfer is timed, ascending.
    pub counts: Vec<u64>,
    /// How long after the first newcomer opens the segments are counted that are
    /// newly acknowledged; none if they are not. Runs last at least so long.
    pub window: Option<Duration>,
    /// Runs end here, finished or not.
    pub end: Instant,
}

/// The measurements of one flow in one run. What is counted of a newcomer is
/// counted from its SYN until the last of its segments to be timed is acknowledged
/// and the window over; of a resident, from the first newcomer's SYN to the end of
/// the run.
#[derive(Clone, Debug, Default)]
pub struct StartupRow {
    /// Number of the flow: the newcomers from 0, then the residents.
    pub flow: u32,
    /// It was there before the newcomers.
    pub resident: bool,
    /// When it sends its SYN.
    pub opened: Instant,
    /// From its SYN until the ACK that covers so many data segments, for each of the counts.
    pub times: Vec<Option<Duration>>,
    /// Data packets lost, all to a full queue.
    pub drops_data: u32,
    /// Retransmissions sent.
    pub rexmits: u32,
    /// Timeouts.
    pub timeouts: u32,
    /// Data segments newly acknowledged in the window; none without one.
    pub acked_window: Option<u64>,
    /// Digest of the run.
    pub digest: Digest,
}

/// Watches one flow.
#[derive(Educe, Debug)]
#[educe(Clone)]
struct Meter {
    row: StartupRow,
    counts: Vec<u64>,
    una: Seq,
    /// Counting starts here.
    from: Instant,
    /// The window; empty if there is none.
    window: (Instant, Instant),
    /// Data segments acknowledged before the window.
    acked_before: u64,
}

impl Meter {
    /// Whether everything has been measured once no event before `next` is left.
    fn finished(&self, next: Instant) -> bool {
        next >= self.window.1 && self.row.times.iter().all(Option::is_some)
    }

    fn on_ack(&mut self, now: Instant, una: Seq) {
        self.una = una;
        // Segment 0 is the SYN.
        let acked = una - 1;
        let since = now.since(self.row.opened);
        for (time, &count) in self.row.times.iter_mut().zip(&self.counts) {
            if acked >= count {
                time.get_or_insert(since);
            }
        }
        let (from, until) = self.window;
        if now < from {
            self.acked_before = acked;
        } else if now < until {
            self.row.acked_window = Some(acked - self.acked_before);
        }
    }

    fn record(&mut self, now: Instant, event: &Event<'_>) {
        match event {
            Event::AckArrived(ack) if ack.ack > self.una => self.on_ack(now, ack.ack),
            _ if now < self.from || (!self.row.resident && self.finished(now)) => {}
            Event::Sent(segment) if !segment.probe => {
                self.row.rexmits += u32::from(segment.retransmission);
            }
            Event::Dropped {
                payload: Payload::Data(_),
                ..
            } => self.row.drops_data += 1,
            Event::Sender(SenderEvent::Timeout(_)) => self.row.timeouts += 1,
            _ => {}
        }
    }
}

/// What is watched of a run.
#[derive(Educe, Debug)]
#[educe(Clone)]
struct Watch {
    digest: Digest,
    flows: Vec<Meter>,
}

impl Observer for Watch {
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        self.digest.record(now, flow, event);
        self.flows[flow.index()].record(now, event);
    }
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

    fn meter(&self, flow: u32, resident: bool, opened: Instant) -> Meter {
        let start = self.start();
        Meter {
            row: StartupRow {
                flow,
                resident,
                opened,
                times: vec![None; self.counts.len()],
                acked_window: self.window.map(|_| 0),
                ..StartupRow::default()
            },
            counts: self.counts.clone(),
            una: 0,
            from: if resident { start } else { opened },
            window: (start, start + self.window.unwrap_or(Duration::ZERO)),
            acked_before: 0,
        }
    }

    /// The world of a run before anything has happened.
    fn world(&self, newcomer: &Built, resident: &Built) -> Result<World<Watch>, StudyError> {
        let opening = |(is_resident, i)| Opening {
            to: MN,
            built: if is_resident { resident } else { newcomer },
            at: self.opens(is_resident, i),
            notice: Some(StartNotice {
                link: self.link,
                flows: if is_resident {
                    self.residents
                } else {
                    self.flows
                },
            }),
        };
        let openings = self.each_flow().map(opening);
        let each = self.each_flow().zip(0..);
        let watch = Watch {
            digest: Digest::default(),
            flows: each
                .map(|((resident, i), flow)| self.meter(flow, resident, self.opens(resident, i)))
                .collect(),
        };
        // Of its access links only the old one is used.
        let network = Handoff {
            old: self.link,
            new: self.link,
            kind: HandoffKind::MakeBeforeBreak,
            spares_uplink: true,
            notice_delay: None,
            fixed: self.fixed,
            flows: Flows::ONE,
        };
        let mut world = network.populated(openings, watch)?;
        world.hold_routes_until(Instant::NEVER);
        Ok(world)
    }

    fn run(
        &self,
        newcomer: &Built,
        resident: &Built,
        progress: &Progress,
    ) -> Result<Vec<StartupRow>, StudyError> {
        let mut world = self.world(newcomer, resident)?;
        progress.advance(&mut world, self.end, |watch, next| {
            watch.flows.iter().all(|flow| flow.finished(next))
        })?;
        let Watch { digest, flows } = world.observer();
        let row = |meter: &Meter| StartupRow {
            digest: *digest,
            ..meter.row.clone()
        };
        Ok(flows.iter().map(row).collect())
    }
}

/// Runs start-ups side by side; one table for each, with rows in the order scheme,
/// flow. `go_on` is as for [`crate::run_sweeps`].
///
/// # Errors
/// [`StudyError::Interrupted`] when told to stop, or for input that is not accepted.
pub fn run_startups(
    startups: &[Startup],
    how: Execution,
    go_on: impl FnMut(usize, usize) -> bool,
) -> Result<Vec<Vec<StartupRow>>, StudyError> {
    let mut jobs: Vec<(&Startup, Built, Built)> = Vec::new();
    for startup in startups {
        startup.check()?;
        let build = |name: &str| Scheme::named(name)?.build(&startup.profile, &startup.knobs);
        let resident = build(&startup.resident_scheme)?;
        for name in &startup.schemes {
            jobs.push((startup, build(name)?, resident.clone()));
        }
    }
    let run = |job: usize, _, progress: &Progress| {
        let (startup, newcomer, resident) = &jobs[job];
        startup.run(newcomer, resident, progress)
    };
    let runs = each_run(&jobs, |_| &[0], |_| 1, how, go_on, run)?;
    let mut runs = runs.into_iter();
    let table = |startup: &Startup| {
        let runs = runs.by_ref().take(startup.schemes.len());
        runs.flatten().flatten().collect()
    };
    Ok(startups.iter().map(table).collect())
}
