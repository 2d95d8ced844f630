//! A long-lived flow to a mobile node that moves from one wireless network to
//! another: the network of Lim & Jang 2009, figure 10.
//!
//! ```text
//! sender     --\
//!               gateway  --wired--  router  --radio--  mobile node
//! cross host --/
//! ```
//!
//! The wired link carries the flow and the cross traffic, TCP flows from one host
//! that end at the router. Hosts take a random time over each packet, so that the
//! flows do not fall into a phase at the wired queue. A sender that shares the
//! wired link with nobody and takes no time over its packets is at the gateway
//! itself. The handover is a pause of the radio link without loss, after
//! which it has the other network's parameters and sends what it holds.

use midflight_control::{LinkInfo, Notice};
use midflight_sim::{
    random, Action, Digest, FlowConfig, FlowId, Impairments, LinkConfig, LinkId, LinkSetting,
    NodeId, Observer, Overhead, World,
};
use midflight_units::{Duration, Instant, Rate};

use crate::capture::{Capture, Capturing, Place};
use crate::error::StudyError;
use crate::execution::{each_run, Execution, Progress};
use crate::flow_metrics::{self, FlowMetrics, FlowRow};
use crate::radio::Radio;
use crate::scheme::{Built, Knobs, Scheme};
use crate::trace::{play, GoOn, Goal, LinkNames, Recorder, TraceRow};

/// A pause of the radio link, after which it is another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Handover {
    /// When the link pauses.
    pub at: Instant,
    /// For how long.
    pub pause: Duration,
    /// The radio link after it.
    pub second: Radio,
    /// How long after the pause the sender is told; none if never.
    pub notice_delay: Option<Duration>,
}

/// TCP flows over the wired link that go no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrossTraffic {
    /// How many.
    pub flows: u32,
    /// One-way delay between their host and the wired link.
    pub delay: Duration,
    /// Each run draws its delay uniformly from so much less to so much more. What a
    /// drop-tail queue does depends on where in a packet's time arrivals fall, so
    /// that one delay stands for itself only.
    pub spread: Duration,
}

/// A long-lived flow under one scheme: one run for each seed.
#[derive(Clone, Debug)]
pub struct LongFlow {
    /// Wired link.
    pub wired: LinkInfo,
    /// Most packets at the wired link in either direction, the one in transmission included.
    pub wired_limit: u32,
    /// Radio link at the start.
    pub radio: Radio,
    /// Handover to another one.
    pub handover: Option<Handover>,
    /// Cross traffic.
    pub cross: CrossTraffic,
    /// Longest random processing time of a host for a packet it sends.
    pub overhead: Duration,
    /// Name of the scheme of the flow.
    pub scheme: String,
    /// Name of the profile of the flow and of the cross traffic.
    pub profile: String,
    /// Settings that differ from the defaults. Those of the profile hold for the cross traffic too.
    pub knobs: Knobs,
    /// Of the random streams; they do not depend on the scheme, so that schemes meet the same radio.
    pub seed: u64,
    /// Numbers of the runs.
    pub runs: Vec<u64>,
    /// Ends of intervals that are measured apart, ascending; the run ends with the last.
    pub marks: Vec<Instant>,
}

const GATEWAY: NodeId = NodeId(0);
const ROUTER: NodeId = NodeId(1);
const MOBILE: NodeId = NodeId(2);
const SENDER: NodeId = NodeId(3);
const CROSS: NodeId = NodeId(4);
const NODES: usize = 5;

const WIRED: u16 = flow_metrics::WIRED as u16;
const RADIO: u16 = 1;
const RADIO_BACK: u16 = 2;
const WIRED_BACK: u16 = 3;
/// The sender's link to the gateway, and the way back; the cross host's.
const ACCESS: u16 = 4;
const CROSS_ACCESS: u16 = 6;

/// Most cross flows.
const MOST_CROSS_FLOWS: u32 = 10_000;
/// Cross flows start at random within this time.
const CROSS_START: Duration = Duration::from_secs(1);
/// Rate of the links that are never a bottleneck.
const LOCAL: Rate = Rate::from_mbps(10_000);

/// Names of the links in the order of their numbers.
const LINK_NAMES: [&str; 8] = [
    "wired",
    "radio",
    "radio-back",
    "wired-back",
    "access",
    "access-back",
    "cross",
    "cross-back",
];

fn link_id(number: u16) -> LinkId {
    World::<()>::link_id(number)
}

/// The measurements of one run.
#[derive(Clone, Debug)]
pub struct FlowRun {
    /// One row for each interval.
    pub rows: Vec<FlowRow>,
    /// Digest of the run.
    pub digest: Digest,
}

impl LongFlow {
    fn check(&self) -> Result<Built, StudyError> {
        let refuse = |what, value: String, accepted| {
            Err(StudyError::Range {
                what,
                value,
                accepted,
            })
        };
        if self.runs.is_empty() {
            return Err(StudyError::Nothing { what: "run" });
        }
        let Some(&end) = self.marks.last() else {
            return Err(StudyError::Nothing {
                what: "end of the run",
            });
        };
        if self.marks[0] == Instant::ZERO || self.marks.windows(2).any(|w| w[0] >= w[1]) {
            let marks: Vec<_> = self.marks.iter().map(Instant::to_string).collect();
            return refuse(
                "the list of interval ends",
                marks.join(", "),
                "instants after the start, each later than the one before",
            );
        }
        if self.cross.flows > MOST_CROSS_FLOWS {
            let value = self.cross.flows.to_string();
            return refuse("the number of cross flows", value, "0 to 10000");
        }
        let second = self.handover.iter().map(|h| &h.second);
        for radio in std::iter::once(&self.radio).chain(second) {
            if radio.limit == 0 || self.wired_limit == 0 {
                return refuse("a queue limit of", "0".into(), "1 packet or more");
            }
        }
        if let Some(handover) = &self.handover {
            let told = handover.notice_delay.unwrap_or(Duration::ZERO);
            let complete = handover.at + handover.pause + told;
            if complete >= end {
                return Err(StudyError::AfterEnd {
                    at: handover.at,
                    complete,
                    end,
                });
            }
        }
        Scheme::named(&self.scheme)?.build(&self.profile, &self.knobs)
    }

    /// The handover of which the sender is told, and how long after it.
    fn notice(&self) -> Option<(&Handover, Duration)> {
        let handover = self.handover.as_ref()?;
        Some((handover, handover.notice_delay?))
    }

    fn impairments(&self, radio: &Radio, run: u64, which: &str) -> Impairments {
        Impairments {
            loss: radio.loss,
            reordering: radio.reordering,
            script: radio.script.clone(),
            seed: random::seed(self.seed, run, which, "impairments"),
        }
    }

    /// Where the sender is: a link of its own would add its transmission time for nothing.
    fn sender_node(&self) -> NodeId {
        if self.cross.flows == 0 && self.overhead == Duration::ZERO {
            GATEWAY
        } else {
            SENDER
        }
    }

    fn links(&self, run: u64) -> Vec<LinkConfig> {
        let link = |number: u16, from, to, info: &LinkInfo, limit| {
            LinkConfig::new(
                LINK_NAMES[usize::from(number)],
                (from, to),
                info.rate,
                info.delay,
                limit,
            )
        };
        let local = |delay| LinkInfo { rate: LOCAL, delay };
        let (wired, wired_limit) = (&self.wired, Some(self.wired_limit));
        let radio = |number, from, to| {
            let forward = number == RADIO;
            let impaired = |radio: &Radio, which| {
                if forward {
                    self.impairments(radio, run, which)
                } else {
                    Impairments::default()
                }
            };
            let setting = |h: &Handover| LinkSetting {
                rate: h.second.link.rate,
                delay: h.second.link.delay,
                limit: Some(h.second.limit),
                impairments: impaired(&h.second, "second radio"),
                cross: None,
            };
            LinkConfig {
                impairments: impaired(&self.radio, "first radio"),
                settings: self.handover.iter().map(setting).collect(),
                may_pause: self.handover.is_some(),
                ..link(number, from, to, &self.radio.link, Some(self.radio.limit))
            }
        };
        let mut links = vec![
            LinkConfig {
                counted: true,
                ..link(WIRED, GATEWAY, ROUTER, wired, wired_limit)
            },
            radio(RADIO, ROUTER, MOBILE),
            radio(RADIO_BACK, MOBILE, ROUTER),
            link(WIRED_BACK, ROUTER, GATEWAY, wired, wired_limit),
        ];
        let CrossTraffic { delay, spread, .. } = self.cross;
        let mut drawn = random::stream(self.seed, run, "cross traffic", "delay");
        let extra = (2.0 * drawn.next_f64() * spread.as_nanos() as f64) as u64;
        let longest = delay + Duration::from_nanos(extra);
        let cross_delay = longest.saturating_sub(spread);
        for (host, number, delay) in [
            (SENDER, ACCESS, Duration::ZERO),
            (CROSS, CROSS_ACCESS, cross_delay),
        ] {
            let overhead = (self.overhead > Duration::ZERO).then(|| Overhead {
                most: self.overhead,
                seed: random::seed(self.seed, run, LINK_NAMES[usize::from(number)], "overhead"),
            });
            links.push(LinkConfig {
                overhead,
                ..link(number, host, GATEWAY, &local(delay), None)
            });
            links.push(link(number + 1, GATEWAY, host, &local(delay), None));
        }
        links
    }

    /// The world of a run before anything has happened, its whole timeline planned.
    pub(crate) fn world<O: Observer>(
        &self,
        built: &Built,
        run: u64,
        observer: O,
    ) -> Result<World<O>, StudyError> {
        let routes = [
            (SENDER, MOBILE, ACCESS),
            (GATEWAY, MOBILE, WIRED),
            (ROUTER, MOBILE, RADIO),
            (MOBILE, SENDER, RADIO_BACK),
            (ROUTER, SENDER, WIRED_BACK),
            (MOBILE, GATEWAY, RADIO_BACK),
            (ROUTER, GATEWAY, WIRED_BACK),
            (GATEWAY, SENDER, ACCESS + 1),
            (CROSS, ROUTER, CROSS_ACCESS),
            (GATEWAY, ROUTER, WIRED),
            (ROUTER, CROSS, WIRED_BACK),
            (GATEWAY, CROSS, CROSS_ACCESS + 1),
        ]
        .map(|(node, to, link)| (node, to, link_id(link)));
        let flow = |from, to, of: &Built| FlowConfig {
            from,
            to,
            sender: of.profile.sender,
            receiver: of.profile.receiver,
            policies: of.policies.clone(),
        };
        let plain = Scheme::named("sack")?.build(&self.profile, &self.knobs)?;
        let mut flows = vec![flow(self.sender_node(), MOBILE, built)];
        flows.resize(1 + self.cross.flows as usize, flow(CROSS, ROUTER, &plain));
        let mut world = World::new(NODES, self.links(run), &routes, &[], flows, observer)?;
        let mut starts = random::stream(self.seed, run, "cross traffic", "start");
        world.schedule(Instant::ZERO, Action::Open(World::<O>::flow_id(0)))?;
        for flow in 1..=self.cross.flows {
            let ns = starts.next_f64() * CROSS_START.as_nanos() as f64;
            let at = Instant::from_nanos(ns as u64);
            world.schedule(at, Action::Open(World::<O>::flow_id(flow)))?;
        }
        if let Some(handover) = &self.handover {
            let again = handover.at + handover.pause;
            world.schedule(handover.at, Action::MarkBreak)?;
            world.schedule(again, Action::MarkMake)?;
            if let Some(warning) = built.profile.receiver.signal.warning() {
                let told = handover.at.saturating_sub(warning);
                world.schedule(told, Action::Foresee(FlowId::default()))?;
            }
            for link in [RADIO, RADIO_BACK].map(link_id) {
                world.schedule(handover.at, Action::Pause(link))?;
                let setting = Some(0);
                world.schedule(again, Action::Resume { link, setting })?;
            }
            world.schedule(again, Action::Attached(FlowId::default(), 1))?;
        }
        if let Some((handover, delay)) = self.notice() {
            let notice = Notice {
                old: self.radio.link,
                new: handover.second.link,
                flows: 1,
            };
            let told = handover.at + handover.pause + delay;
            world.schedule(told, Action::Notify(FlowId::default(), notice))?;
        }
        world.hold_routes_until(Instant::NEVER);
        Ok(world)
    }

    fn run(&self, built: &Built, run: u64, progress: &Progress) -> Result<FlowRun, StudyError> {
        let mut world = self.world(built, run, <(Digest, FlowMetrics)>::default())?;
        for &mark in &self.marks {
            progress.play(&mut world, mark)?;
            let counts = world.link_counts(link_id(WIRED));
            let ((_, metrics), _) = world.watch(FlowId::default());
            metrics.close(mark, counts.offered, counts.dropped_queue);
        }
        let ((digest, metrics), _) = world.watch(FlowId::default());
        Ok(FlowRun {
            rows: metrics.take_rows(),
            digest: *digest,
        })
    }
}

/// Every event of the flow in one of its runs from `from` to `until`, or only
/// those of these names, and the digest of the run up to there. `go_on` may answer that it is
/// enough.
///
/// # Errors
/// [`StudyError::Interrupted`] when told to stop, or for input that is not accepted.
pub fn trace_long_flow(
    flow: &LongFlow,
    run: u64,
    from: Instant,
    until: Instant,
    only: &[String],
    go_on: GoOn<'_>,
) -> Result<(Vec<TraceRow>, String), StudyError> {
    let built = flow.check()?;
    let recorder = Recorder::new(&built.profile, LinkNames::new(LINK_NAMES), from, only);
    let world = flow.world(&built, run, (Digest::default(), recorder))?;
    let (recorder, digest) = play(world, until, go_on)?;
    Ok((recorder.into_rows(), digest))
}

/// What is seen of one of its runs until then at the sender, at the receiver and
/// at the router, with the cross traffic that ends there left out; of each packet at
/// most the first `snap` bytes (0 for all). With the digest of the run up to there. `go_on` is as
/// for [`trace_long_flow`].
///
/// # Errors
/// As [`trace_long_flow`].
pub fn capture_long_flow(
    flow: &LongFlow,
    run: u64,
    until: Instant,
    snap: u32,
    go_on: GoOn<'_>,
) -> Result<(Vec<Capture>, String), StudyError> {
    let built = flow.check()?;
    let router = Place {
        name: LINK_NAMES[usize::from(RADIO)].into(),
        links: [RADIO, WIRED_BACK].map(link_id).to_vec(),
        watched_only: true,
    };
    let goal = Goal::default();
    let capturing = Capturing::new(
        (&built.profile, snap),
        vec![router],
        LinkNames::new(LINK_NAMES),
        goal,
    )?;
    let world = flow.world(&built, run, (Digest::default(), capturing))?;
    let (capturing, digest) = play(world, until, go_on)?;
    let about = format!("{} on profile {}, run {run}", flow.scheme, flow.profile);
    Ok((capturing.develop(&about, &digest)?, digest))
}

/// Runs flows side by side; for each flow its runs, in the order of their
/// numbers. `go_on` is as for [`crate::run_sweeps`].
///
/// # Errors
/// [`StudyError::Interrupted`] when told to stop, or for input that is not accepted.
pub fn run_long_flows(
    flows: &[LongFlow],
    how: Execution,
    go_on: impl FnMut(usize, usize) -> bool,
) -> Result<Vec<Vec<FlowRun>>, StudyError> {
    let built: Vec<Built> = flows
        .iter()
        .map(LongFlow::check)
        .collect::<Result<_, _>>()?;
    let run =
        |place: usize, run, progress: &Progress| flows[place].run(&built[place], run, progress);
    each_run(flows, |flow| &flow.runs, |_| 1, how, go_on, run)
}
