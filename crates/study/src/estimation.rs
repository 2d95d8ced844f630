//! What a flow finds out of a path by trains, beside what is true: one
//! bottleneck of known rate, delay and queue, and cross traffic that takes a known share of it.
//!
//! ```text
//! sender     --\
//!               gateway  --bottleneck--  receiver
//! cross host --/
//! ```
//!
//! The cross traffic is TCP with a window of one segment, many flows that
//! send a segment a round trip each: as long as the bottleneck's queue is short beside that
//! round trip, they send at a constant rate whatever the flow does. A long queue slows
//! them down, and what a full one drops makes one of them fall silent for a second. Started at equal distances they are
//! one even stream, started at random they are an irregular one of the same mean. What they took in
//! truth is measured.

use midflight_control::estimate::Estimate;
use midflight_control::{LinkInfo, Measure, StartNotice};
use midflight_sim::{
    random, Action, Digest, Event, FlowConfig, FlowId, LinkConfig, NodeId, Observer, Payload, World,
};
use midflight_tcp::Segment;
use midflight_units::{Duration, Instant, Rate};

use crate::error::StudyError;
use crate::execution::{each_run, Execution, Progress};
use crate::scheme::{Built, Knobs, Scheme};

/// A path and what measures it.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The bottleneck; the sender is told that this is its access link.
    pub bottleneck: LinkInfo,
    /// Most packets at the bottleneck, the one in transmission included.
    pub limit: u32,
    /// Rate of the links of both hosts: what segments back to back are apart when they reach the
    /// bottleneck, and cross traffic may come between.
    pub access: Rate,
    /// Share of the bottleneck that cross traffic takes, from 0 to 0.95.
    pub share: f64,
    /// Cross traffic starts at random instead of at equal distances.
    pub irregular: bool,
    /// Number of flows that the sender is told of.
    pub told_flows: u32,
    /// Segments to send.
    pub segments: u64,
    /// Name of the scheme.
    pub scheme: String,
    /// Name of the profile.
    pub profile: String,
    /// Settings that differ from the defaults.
    pub knobs: Knobs,
    /// Of the random streams.
    pub seed: u64,
    /// Numbers of the runs. Each begins at another phase of the cross traffic.
    pub runs: Vec<u64>,
}

/// A train, what was reported of it, and the truth.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainRow {
    /// Number of the train.
    pub train: u16,
    /// What it was to find out.
    pub measure: Measure,
    /// Segments.
    pub segments: u16,
    /// When its first segment left, from the first SYN on.
    pub sent: Duration,
    /// When the report reached the sender, if it did.
    pub told: Option<Duration>,
    /// What was reported; none also where a segment was missing.
    pub estimate: Option<Rate>,
    /// The rates of its first and its last gap, in bit/s; zero for none.
    pub low: u64,
    /// See above.
    pub high: u64,
}

/// The measurements of one run.
#[derive(Clone, Debug)]
pub struct ProbeRun {
    /// One for each train that was to be measured.
    pub trains: Vec<TrainRow>,
    /// The threshold that the flow ended with, in segments.
    pub ssthresh: f64,
    /// Data packets of the flow that were lost.
    pub drops: u64,
    /// From the SYN to the ACK of the last segment; none if it did not end.
    pub duration: Option<Duration>,
    /// What cross traffic took while the flow lasted, in bit/s.
    pub cross: f64,
    /// Digest of the run.
    pub digest: Digest,
}

const SENDER: NodeId = NodeId(0);
const GATEWAY: NodeId = NodeId(1);
const RECEIVER: NodeId = NodeId(2);
const CROSS: NodeId = NodeId(3);
const NODES: usize = 4;

/// Round trip of the cross traffic at least.
const CROSS_ROUND_TRIP: Duration = Duration::from_millis(200);
/// Bytes of its segments and ACKs.
const CROSS_BYTES: u64 = 1500;
const CROSS_ACK_BYTES: u64 = 40;
/// Most flows that it is made of.
const MOST_CROSS_FLOWS: u64 = 20_000;
/// A flow that has not ended by then has stalled.
const LONGEST: Duration = Duration::from_secs(120);

/// The cross traffic: so many flows, each with this round trip.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cross {
    flows: u64,
    round_trip: Duration,
    /// Delay of its host.
    delay: Duration,
}

impl Cross {
    /// What takes `share` of the link: N flows of a segment per round trip T make N / T.
    fn new(link: &LinkInfo, access: Rate, share: f64) -> Self {
        let fixed = link.delay * 2
            + link.rate.transmission_time(CROSS_BYTES)
            + link.rate.transmission_time(CROSS_ACK_BYTES)
            + access.transmission_time(CROSS_BYTES)
            + access.transmission_time(CROSS_ACK_BYTES);
        let least = CROSS_ROUND_TRIP.max(fixed + fixed);
        let per_second = share * link.rate.as_bps() as f64 / (8 * CROSS_BYTES) as f64;
        let flows = (per_second * least.as_secs_f64()).ceil() as u64;
        let round_trip = if flows == 0 {
            least
        } else {
            Duration::from_nanos((flows as f64 / per_second * 1e9) as u64)
        };
        Self {
            flows,
            round_trip,
            delay: Duration::from_nanos(round_trip.saturating_sub(fixed).as_nanos() / 2),
        }
    }
}

impl Probe {
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
        if !(0.0..=0.95).contains(&self.share) {
            let value = self.share.to_string();
            return refuse("the share of cross traffic", value, "0 to 0.95");
        }
        if self.access < self.bottleneck.rate {
            let value = self.access.to_string();
            return refuse(
                "the rate of the hosts' links",
                value,
                "the bottleneck's or more",
            );
        }
        if self.limit == 0 {
            return refuse("a queue limit of", "0".into(), "1 packet or more");
        }
        if !(1..=1_000_000).contains(&self.segments) {
            let value = self.segments.to_string();
            return refuse("the number of segments", value, "1 to 1000000");
        }
        let flows = self.cross().flows;
        if flows > MOST_CROSS_FLOWS {
            let value = format!("{} of {}", self.share, self.bottleneck.rate);
            return refuse("cross traffic of", value, "less, or a shorter delay");
        }
        Scheme::named(&self.scheme)?.build(&self.profile, &self.knobs)
    }

    fn cross(&self) -> Cross {
        Cross::new(&self.bottleneck, self.access, self.share)
    }

    fn links(&self, cross: Cross) -> Vec<LinkConfig> {
        let LinkInfo { rate, delay } = self.bottleneck;
        let access = self.access;
        let local = |name, from, to, delay| LinkConfig::new(name, (from, to), access, delay, None);
        vec![
            LinkConfig::new(
                "bottleneck",
                (GATEWAY, RECEIVER),
                rate,
                delay,
                Some(self.limit),
            ),
            LinkConfig::new("back", (RECEIVER, GATEWAY), rate, delay, None),
            local("access", SENDER, GATEWAY, Duration::ZERO),
            local("access-back", GATEWAY, SENDER, Duration::ZERO),
            local("cross", CROSS, GATEWAY, cross.delay),
            local("cross-back", GATEWAY, CROSS, cross.delay),
        ]
    }

    /// Whether two probes have the same runs, and in each the same until their flow opens.
    fn shares_past_with(&self, other: &Self) -> bool {
        let path = |p: &Self| {
            (
                p.bottleneck,
                p.limit,
                p.access,
                p.share,
                p.irregular,
                p.seed,
            )
        };
        path(self) == path(other) && self.runs == other.runs
    }

    /// The world of a run before anything has happened, and when its flow is to open: until
    /// then it has the parameters of the others.
    fn world(&self, run: u64) -> Result<(World<Watch>, Instant), StudyError> {
        let cross = self.cross();
        let link = |number: u16| World::<()>::link_id(number);
        let routes = [
            (SENDER, RECEIVER, link(2)),
            (CROSS, RECEIVER, link(4)),
            (GATEWAY, RECEIVER, link(0)),
            (RECEIVER, SENDER, link(1)),
            (RECEIVER, CROSS, link(1)),
            (GATEWAY, SENDER, link(3)),
            (GATEWAY, CROSS, link(5)),
        ];
        let one_at_a_time = [
            ("initial_window", "1"),
            ("receiver_window", "1"),
            ("delayed_ack", "off"),
            ("segment_bytes", "1500"),
            ("rtt_sampling", "one-per-window"),
        ];
        let settings = one_at_a_time.map(|(name, value)| (name.into(), value.into()));
        let other = Scheme::named("sack")?.build("rfc", &settings)?;
        let flow = |from| FlowConfig {
            from,
            to: RECEIVER,
            sender: other.profile.sender,
            receiver: other.profile.receiver,
            policies: Vec::new(),
        };
        let mut flows = vec![flow(SENDER)];
        flows.resize(1 + cross.flows as usize, flow(CROSS));
        let mut phase = random::stream(self.seed, run, "flow", "start");
        let mut starts = random::stream(self.seed, run, "cross traffic", "start");
        // The SYN and two segments of each have gone by then.
        let opens = Instant::ZERO
            + cross.round_trip * 3
            + Duration::from_nanos((phase.next_f64() * cross.round_trip.as_nanos() as f64) as u64);
        let watch = Watch {
            opens,
            ..Watch::default()
        };
        let mut world = World::new(NODES, self.links(cross), &routes, &[], flows, watch)?;
        for number in 0..cross.flows {
            let part = if self.irregular {
                starts.next_f64()
            } else {
                number as f64 / cross.flows as f64
            };
            let at = (part * cross.round_trip.as_nanos() as f64) as u64;
            let flow = World::<()>::flow_id(number as u32 + 1);
            world.schedule(Instant::from_nanos(at), Action::Open(flow))?;
        }
        world.hold_routes_until(Instant::NEVER);
        Ok((world, opens))
    }

    /// The flow gets its own sender and receiver, and will open.
    fn open(&self, world: &mut World<Watch>, built: &Built, at: Instant) -> Result<(), StudyError> {
        let flow = FlowId::default();
        let Built { profile, policies } = built;
        world.refit(flow, &profile.sender, profile.receiver, policies.clone())?;
        world.sender_mut(flow).set_end(self.segments + 1);
        let notice = StartNotice {
            link: self.bottleneck,
            flows: self.told_flows,
        };
        world.schedule(at, Action::NotifyStart(flow, notice))?;
        world.schedule(at, Action::Open(flow))?;
        Ok(())
    }

    /// Runs to the end, in a world that stands right before `opens`.
    fn run(
        &self,
        world: &mut World<Watch>,
        built: &Built,
        opens: Instant,
        progress: &Progress,
    ) -> Result<ProbeRun, StudyError> {
        self.open(world, built, opens)?;
        let last = opens + LONGEST;
        let step = Duration::from_millis(20);
        let mut until = opens;
        while until < last && !world.sender(FlowId::default()).is_done() {
            until += step;
            progress.play(world, until)?;
        }
        let (watch, sender) = world.watch(FlowId::default());
        let done = sender.is_done();
        let lasted = watch.acked.since(opens);
        let span = until.since(opens).as_secs_f64();
        Ok(ProbeRun {
            ssthresh: sender.view().ssthresh,
            drops: watch.drops,
            duration: done.then_some(lasted),
            cross: if span > 0.0 {
                watch.cross_bytes as f64 * 8.0 / span
            } else {
                0.0
            },
            digest: watch.digest,
            trains: std::mem::take(&mut watch.trains),
        })
    }
}

/// Probes with the same runs until their flow opens.
struct Past<'a> {
    first: &'a Probe,
    /// The places of all of them.
    probes: Vec<usize>,
}

/// Watches the flow, and counts the others.
#[derive(Clone, Debug, Default)]
struct Watch {
    digest: Digest,
    opens: Instant,
    trains: Vec<TrainRow>,
    /// When a segment of a train left last.
    left: Instant,
    acked: Instant,
    drops: u64,
    cross_bytes: u64,
}

impl Watch {
    fn sent(&mut self, now: Instant, segment: &Segment) {
        let Some(mark) = segment.train() else {
            return;
        };
        if mark.index == 0 {
            self.trains.push(TrainRow {
                train: mark.number,
                measure: mark.measure,
                segments: mark.segments,
                sent: now.since(self.opens),
                told: None,
                estimate: None,
                low: 0,
                high: 0,
            });
        } else if let Some(row) = self.trains.last_mut() {
            let gap = now.since(self.left).as_nanos();
            let rate = 8_000_000_000 * u64::from(segment.bytes);
            row.high = rate.checked_div(gap).unwrap_or(0);
            if mark.index == 1 {
                row.low = row.high;
            }
        }
        self.left = now;
    }

    fn told(&mut self, now: Instant, estimate: Estimate) {
        let told = now.since(self.opens);
        let mut rows = self.trains.iter_mut();
        if let Some(row) = rows.find(|row| row.train == estimate.train) {
            row.told = Some(told);
            row.estimate = estimate.rate;
        }
    }
}

impl Observer for Watch {
    fn record(&mut self, now: Instant, flow: FlowId, event: &Event<'_>) {
        self.digest.record(now, flow, event);
        if flow.index() > 0 {
            if let Event::Arrived { segment, .. } = event {
                if now >= self.opens {
                    self.cross_bytes += u64::from(segment.bytes);
                }
            }
            return;
        }
        match event {
            Event::Sent(segment) => self.sent(now, segment),
            Event::AckArrived(ack) => {
                self.acked = now;
                if let Some(estimate) = ack.says.measured() {
                    self.told(now, estimate);
                }
            }
            Event::Dropped {
                payload: Payload::Data(_),
                ..
            } => self.drops += 1,
            _ => {}
        }
    }
}

/// Runs probes side by side; for each its runs, in the order of their numbers.
/// `go_on` is as for [`crate::run_sweeps`].
///
/// # Errors
/// [`StudyError::Interrupted`] when told to stop, or for input that is not accepted.
pub fn run_probes(
    probes: &[Probe],
    how: Execution,
    go_on: impl FnMut(usize, usize) -> bool,
) -> Result<Vec<Vec<ProbeRun>>, StudyError> {
    let built: Vec<Built> = probes.iter().map(Probe::check).collect::<Result<_, _>>()?;
    let mut pasts: Vec<Past> = Vec::new();
    for (place, probe) in probes.iter().enumerate() {
        let shares = |past: &&mut Past| how.fork && past.first.shares_past_with(probe);
        match pasts.iter_mut().find(shares) {
            Some(past) => past.probes.push(place),
            None => pasts.push(Past {
                first: probe,
                probes: vec![place],
            }),
        }
    }
    let run = |place: usize, number, progress: &Progress| {
        let past: &Past = &pasts[place];
        let (mut world, opens) = past.first.world(number)?;
        progress.play(&mut world, opens)?;
        let worlds = std::iter::repeat_n(world, past.probes.len());
        let each = past.probes.iter().zip(worlds).map(|(&probe, mut world)| {
            probes[probe].run(&mut world, &built[probe], opens, progress)
        });
        each.collect::<Result<Vec<_>, _>>()
    };
    let runs = |past: &Past| past.probes.len();
    let made = each_run(&pasts, |past| &past.first.runs, runs, how, go_on, run)?;
    let mut tables = vec![Vec::new(); probes.len()];
    for (past, runs) in pasts.iter().zip(made) {
        for (&probe, made) in runs.into_iter().flat_map(|run| past.probes.iter().zip(run)) {
            tables[probe].push(made);
        }
    }
    Ok(tables)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(mbps: u64, ms: u64, share: f64, knobs: &[(&str, &str)]) -> Probe {
        Probe {
            bottleneck: LinkInfo {
                rate: Rate::from_mbps(mbps),
                delay: Duration::from_millis(ms),
            },
            limit: 1000,
            access: Rate::from_mbps(10_000),
            share,
            irregular: false,
            told_flows: 1,
            segments: 60,
            scheme: "probe-train".into(),
            profile: "rfc".into(),
            knobs: knobs
                .iter()
                .map(|(k, v)| ((*k).into(), (*v).into()))
                .collect(),
            seed: 1,
            runs: (0..5).collect(),
        }
    }

    fn run(probe: &Probe) -> Vec<ProbeRun> {
        let runs = run_probes(std::slice::from_ref(probe), Execution::default(), |_, _| {
            true
        });
        runs.unwrap_or_default().into_iter().flatten().collect()
    }

    fn estimates(probe: &Probe) -> Vec<f64> {
        let of = |run: &ProbeRun| {
            let rate = run.trains.first().and_then(|t| t.estimate);
            rate.map_or(0.0, |r| r.as_bps() as f64)
        };
        run(probe).iter().map(of).collect()
    }

    #[test]
    fn pairs_on_an_idle_path_tell_its_rate_to_the_nanosecond() {
        for mbps in [1, 6, 54] {
            for rate in estimates(&probe(mbps, 15, 0.0, &[])) {
                let truth = mbps as f64 * 1e6;
                assert!((rate / truth - 1.0).abs() < 1e-5, "{rate} for {truth}");
            }
        }
    }

    /// A chirp from 2 to 20 Mbit/s over 10 Mbit/s that are idle: the rise begins at the first rate
    /// above 10. With 19 gaps that is 10^(k/18) x 2 Mbit/s for the least k with 10^(k/18) > 5: k = 13,
    /// 10.55 Mbit/s.
    #[test]
    fn a_chirp_on_an_idle_path_rises_at_the_first_rate_above_it() {
        let knobs = [
            ("probe_segments", "20"),
            ("probe_low", "2 Mbit/s"),
            ("probe_high", "20 Mbit/s"),
            ("chirp_estimator", "first-rise"),
        ];
        for rate in estimates(&probe(10, 15, 0.0, &knobs)) {
            assert!((10_500_000.0..10_600_000.0).contains(&rate), "{rate}");
        }
    }

    #[test]
    fn cross_traffic_takes_its_share() {
        for (mbps, ms, share) in [(50, 15, 0.5), (6, 50, 0.9), (54, 2, 0.3), (2, 300, 0.5)] {
            for irregular in [false, true] {
                // A segment a round trip leaves the cross traffic alone.
                let probe = Probe {
                    irregular,
                    segments: 30,
                    scheme: "sack".into(),
                    ..probe(mbps, ms, share, &[("receiver_window", "1")])
                };
                for run in run(&probe) {
                    let truth = share * mbps as f64 * 1e6;
                    let ratio = run.cross / truth;
                    assert!((0.9..1.1).contains(&ratio), "{ratio} of {truth}");
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |probe: Probe| run_probes(&[probe], Execution::default(), |_, _| true);
        let good = probe(10, 15, 0.5, &[]);
        assert!(refused(good.clone()).is_ok());
        assert!(refused(Probe {
            share: 0.99,
            ..good.clone()
        })
        .is_err());
        assert!(refused(Probe {
            access: Rate::from_mbps(1),
            ..good.clone()
        })
        .is_err());
        assert!(refused(Probe {
            limit: 0,
            ..good.clone()
        })
        .is_err());
        assert!(refused(Probe {
            segments: 0,
            ..good.clone()
        })
        .is_err());
        assert!(refused(Probe {
            runs: Vec::new(),
            ..good
        })
        .is_err());
    }

    /// A copy of the world made at any time goes on as the world does: before the flow opens, while a
    /// train is on its way, between trains.
    #[test]
    fn a_copy_made_in_the_middle_of_a_train_goes_on_as_the_run_from_the_start() {
        for (share, trains) in [(0.0, 3), (0.3, 2)] {
            let probe = Probe {
                scheme: "abest".into(),
                segments: 300,
                ..probe(50, 40, share, &[])
            };
            let built = probe.check().unwrap_or_else(|_| unreachable!());
            let start = || {
                let (mut world, opens) = probe.world(3).unwrap_or_else(|_| unreachable!());
                assert!(probe.open(&mut world, &built, opens).is_ok());
                (world, opens)
            };
            let (mut world, opens) = start();
            let end = opens + Duration::from_secs(2);
            assert!(world.run_before(end).is_ok());
            let whole = world.observer().digest;
            assert!(world.observer().trains.len() >= trains);
            let (mut past, _) = start();
            for ms in (0..500).step_by(7) {
                let at = opens + Duration::from_millis(ms);
                assert!(past.run_before(at).is_ok());
                let mut copy = past.clone();
                assert!(copy.run_before(end).is_ok());
                assert_eq!(copy.observer().digest, whole, "from {ms} ms on");
            }
        }
    }

    /// Probes that are run together share what comes before their flows.
    #[test]
    fn probes_run_together_are_the_same_as_alone() {
        let first = Probe {
            irregular: true,
            ..probe(20, 15, 0.5, &[])
        };
        let mut probes = vec![first.clone(), first.clone(), first.clone(), first.clone()];
        probes[1].knobs = vec![("probe_segments".into(), "16".into())];
        probes[2].scheme = "abest".into();
        probes[2].profile = "ns2".into();
        probes[3].segments = 200;
        let mut others = vec![first; 5];
        others[0].limit = 2;
        others[1].irregular = false;
        others[2].seed = 2;
        others[3].runs = vec![3, 1];
        others[4].share = 0.3;
        probes.extend(others);
        let all = |fork| {
            let how = Execution {
                fork,
                ..Execution::default()
            };
            let mut told = Vec::new();
            let runs = run_probes(&probes, how, |done, total| {
                told.push((done, total));
                true
            });
            assert_eq!(told.last(), Some(&(42, 42)));
            runs.unwrap_or_default()
        };
        let (together, alone) = (all(true), all(false));
        assert_eq!(format!("{together:?}"), format!("{alone:?}"));
        let digest = |place: usize| together[place].first().map(|run| run.digest);
        for place in 1..probes.len() {
            assert_ne!(digest(0), digest(place), "{place} is another run");
        }
    }

    /// Threads and repetition change nothing.
    #[test]
    fn runs_are_the_same_on_any_number_of_threads() {
        let probe = Probe {
            irregular: true,
            scheme: "abest".into(),
            segments: 200,
            ..probe(50, 15, 0.5, &[])
        };
        let all = |threads| {
            let how = Execution {
                threads,
                ..Execution::default()
            };
            let runs = run_probes(std::slice::from_ref(&probe), how, |_, _| true);
            format!("{:?}", runs.unwrap_or_default())
        };
        assert_eq!(all(1), all(2));
        assert!(all(1).contains("TrainRow"));
    }
}
