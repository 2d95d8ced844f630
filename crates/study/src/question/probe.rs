//! A flow's estimates of a path from trains, and the true values: one bottleneck of known rate, delay
//! and queue, and cross traffic that takes a known fraction of it.
//!
//! ```text
//! sender     --\
//!               gateway  --bottleneck--  receiver
//! cross host --/
//! ```
//!
//! The cross traffic is TCP with a window of one segment: many flows that each send one segment per
//! round trip. While the bottleneck's queue is short compared with that round trip, they send at a
//! constant rate, independent of the measured flow. A long queue slows them down, and a drop at a full
//! queue stops one of them for a second. Started at equal distances they form an even stream, started
//! at random an irregular one with the same mean. Their actual fraction is measured.

use std::sync::Arc;

use midflight_control::{LinkInfo, StartNotice};
use midflight_sim::{random, Action};
use midflight_units::{Duration, Instant, Rate};

use super::numbered::{plain, run_all, setup_of, Numbered, Parts};
use crate::error::StudyError;
use crate::execution::Execution;
use crate::measure::{Measured, ProbeRun, Trains};
use crate::network::bottleneck;
use crate::scenario::Stack;
use crate::scheme::{Built, Knobs, Scheme};
use crate::setup::{flow_id, FlowSetup, Part, Setup, Timeline};

/// A path and the flow that measures it.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The bottleneck, which is the access link in the sender's notice.
    pub bottleneck: LinkInfo,
    /// Maximum number of packets at the bottleneck, including the one in transmission.
    pub limit: u32,
    /// The bottleneck marks packets of ECN senders that have waited longer; none for never.
    pub mark_after: Option<Duration>,
    /// Rate of the links of both hosts: it determines the gap of back-to-back segments at the
    /// bottleneck, into which cross traffic may come.
    pub access: Rate,
    /// Fraction of the bottleneck that cross traffic takes, from 0 to 0.95.
    pub share: f64,
    /// Cross traffic starts at random instead of at equal distances.
    pub irregular: bool,
    /// Number of flows in the sender's notice.
    pub notice_flows: u32,
    /// Segments to send.
    pub segments: u64,
    /// Name of the scheme.
    pub scheme: String,
    /// Name of the profile.
    pub profile: String,
    /// Settings that differ from the defaults.
    pub knobs: Knobs,
    /// Seed of the random streams.
    pub seed: u64,
    /// Numbers of the runs. Each begins at another phase of the cross traffic.
    pub runs: Vec<u64>,
}

/// Minimum round trip of the cross traffic.
const CROSS_ROUND_TRIP: Duration = Duration::from_millis(200);
/// Size of its segments and ACKs in bytes.
const CROSS_BYTES: u64 = 1500;
const CROSS_ACK_BYTES: u64 = 40;
const CROSS_SETTINGS: [(&str, &str); 5] = [
    ("initial_window", "1"),
    ("receiver_window", "1"),
    ("delayed_ack", "off"),
    ("segment_bytes", "1500"),
    ("rtt_sampling", "one-per-window"),
];
/// Maximum number of its flows.
const MOST_CROSS_FLOWS: u64 = 20_000;
/// A flow that has not finished by then has stalled.
const LONGEST: Duration = Duration::from_secs(120);

/// The cross traffic: this many flows, each with this round trip.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cross {
    flows: u64,
    round_trip: Duration,
    /// Delay of its host.
    delay: Duration,
}

impl Cross {
    /// Traffic that takes `share` of the link: N flows of a segment per round trip T give N / T.
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
        let built = Scheme::named(&self.scheme)?.build(&self.profile, &self.knobs)?;
        if let Some(after) = self.mark_after.filter(|_| !built.profile.sender.ecn) {
            let value = after.to_string();
            return refuse(
                "marks of a sender without ECN, after",
                value,
                "ecn=on, or no mark_after",
            );
        }
        Ok(built)
    }

    fn cross(&self) -> Cross {
        Cross::new(&self.bottleneck, self.access, self.share)
    }

    /// One of its runs.
    ///
    /// # Errors
    /// [`StudyError`] for input that is not accepted.
    pub fn setup(&self, run: u64) -> Result<Setup, StudyError> {
        setup_of(self, run)
    }
}

impl Numbered for Probe {
    fn runs(&self) -> &[u64] {
        &self.runs
    }

    fn parts(&self) -> Result<Parts, StudyError> {
        let settings = CROSS_SETTINGS.map(|(k, v)| (k.into(), v.into())).to_vec();
        Ok(Parts {
            own: Arc::new(Part::new(self.check()?)),
            others: plain("rfc", &settings)?,
        })
    }

    fn compile(&self, parts: &Parts, run: u64) -> Setup {
        let cross = self.cross();
        let mut phase = random::stream(self.seed, run, "flow", "start");
        let mut starts = random::stream(self.seed, run, "cross traffic", "start");
        // By then each has sent its SYN and two segments.
        let opens = Instant::ZERO
            + cross.round_trip * 3
            + Duration::from_nanos((phase.next_f64() * cross.round_trip.as_nanos() as f64) as u64);
        let mut flows = vec![FlowSetup {
            name: "flow".into(),
            entry: None,
            scheme: Arc::from(self.scheme.as_str()),
            from: bottleneck::SENDER,
            to: bottleneck::RECEIVER,
            part: Arc::clone(&parts.own),
            end: Some(self.segments + 1),
            opens,
            stays: None,
            up: false,
            stack: Stack::Midflight,
            quic: None,
            client: None,
            app: None,
        }];
        let mut timeline = Timeline::default();
        let sack: Arc<str> = Arc::from("sack");
        for number in 0..cross.flows {
            let part = if self.irregular {
                starts.next_f64()
            } else {
                number as f64 / cross.flows as f64
            };
            let at = (part * cross.round_trip.as_nanos() as f64) as u64;
            let at = Instant::from_nanos(at);
            timeline.act(at, Action::Open(flow_id(number as u32 + 1)));
            flows.push(FlowSetup {
                name: format!("cross-{}", number + 1).into(),
                entry: None,
                scheme: Arc::clone(&sack),
                from: bottleneck::CROSS,
                to: bottleneck::RECEIVER,
                part: Arc::clone(&parts.others),
                end: None,
                opens: at,
                stays: None,
                up: false,
                stack: Stack::Midflight,
                quic: None,
                client: None,
                app: None,
            });
        }
        let notice = StartNotice {
            link: self.bottleneck,
            flows: self.notice_flows,
        };
        timeline.act(opens, Action::NotifyStart(flow_id(0), notice));
        timeline.act(opens, Action::Open(flow_id(0)));
        Setup {
            network: Arc::new(bottleneck::network(
                &self.bottleneck,
                self.limit,
                self.mark_after,
                self.access,
                cross.delay,
            )),
            flows: flows.into(),
            apps: Arc::default(),
            timeline: timeline.finish(),
            measured: Arc::new(Measured::Trains),
            end: opens + LONGEST,
            profile: Arc::from(self.profile.as_str()),
            start: 0,
            run: Some(run),
            path_changes: Arc::default(),
        }
    }
}

/// Runs probes in parallel; returns for each its runs, in the order of their numbers. `go_on` is as for
/// [`crate::run_sweeps`].
///
/// # Errors
/// [`StudyError::Interrupted`] when stopped, or an error for input that is not accepted.
pub fn run_probes(
    probes: &[Probe],
    how: Execution,
    go_on: impl FnMut(usize, usize) -> bool,
) -> Result<Vec<Vec<ProbeRun>>, StudyError> {
    run_all::<_, Trains>(probes, how, go_on)
}

#[cfg(test)]
mod tests {
    use midflight_control::estimate::{ChirpRule, EstimatorConfig, SegmentTimes};
    use midflight_control::{Measure as TrainMeasure, Spacing, Then, Train};

    use super::*;
    use crate::measure::Measure;
    use crate::run::Measuring;

    fn probe(mbps: u64, ms: u64, share: f64, knobs: &[(&str, &str)]) -> Probe {
        Probe {
            bottleneck: LinkInfo {
                rate: Rate::from_mbps(mbps),
                delay: Duration::from_millis(ms),
            },
            limit: 1000,
            mark_after: None,
            access: Rate::from_mbps(10_000),
            share,
            irregular: false,
            notice_flows: 1,
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

    /// A chirp from 2 to 20 Mbit/s over an idle link of 10 Mbit/s: the rise begins at the first rate
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

    /// The least and the most, in Mbit/s, that a chirp from 2 to 20 Mbit/s finds beside packets at equal distances, over
    /// 1,000 phases of these. The path is Lindley's recursion: a queue that serves a packet in 600 us, and marks those of
    /// the chirp that have waited for more than two.
    fn marked_chirps(share: f64) -> (f64, f64) {
        let config = EstimatorConfig {
            chirp: ChirpRule::NfTcp,
            ..EstimatorConfig::DEFAULT
        };
        let chirp = Train {
            number: 1,
            segments: 32,
            spacing: Spacing::Chirp {
                low: Rate::from_mbps(2),
                high: Rate::from_mbps(20),
                rule: None,
            },
            then: Then::GoOn,
        };
        let one = Rate::from_mbps(20).transmission_time(1500);
        let apart = one.as_nanos() as f64 / share;
        let found = |phase: u32| {
            let mut gaps = chirp.gaps(1500);
            let mut sent = Instant::ZERO + Duration::from_secs(1);
            let (mut free, mut cross) = (Instant::ZERO, f64::from(phase) / 1000.0 * apart);
            let mut seen = Vec::new();
            for _ in 0..chirp.segments {
                while cross <= sent.as_nanos() as f64 {
                    free = free.max(Instant::from_nanos(cross as u64)) + one;
                    cross += apart;
                }
                let waited = free.since(sent);
                free = free.max(sent) + one;
                seen.push(SegmentTimes {
                    sent,
                    arrived: free,
                    marked: waited > one * 2,
                });
                sent += gaps.take().unwrap_or(Duration::ZERO);
            }
            let rate = config.estimate(TrainMeasure::Available(None), &seen, 1500, None);
            rate.map_or(0.0, |rate| rate.as_bps() as f64 / 1e6)
        };
        let all = (0..1000).map(found);
        all.fold((f64::INFINITY, 0.0), |(least, most), one| {
            (one.min(least), one.max(most))
        })
    }

    /// Three estimators beside even cross traffic, which leaves 70, 50 and 30 % of 20 Mbit/s. The rate of WBest's train is
    /// of 29 gaps, with a packet of cross traffic more or less at both ends: 2 x 20 / 29 = 1.38 Mbit/s. Of 200 probes of
    /// ProbeGap a share p finds the link idle, with a standard deviation of at most sqrt(1/4 / 200) = 0.035: twice that
    /// are 1.41 Mbit/s. A chirp's estimate, with a router that marks what has waited for two packets, lies between the least
    /// and the most that the same chirp finds in a queue beside the same packets: up to 55 % above what is available.
    #[test]
    fn estimates_beside_even_cross_traffic_are_near_the_truth() {
        let small = [
            ("probe_gap_knee", "1us"),
            ("probe_gap_mean", "10ms"),
            ("segment_bytes", "60"),
        ];
        let marked = [
            ("chirp_estimator", "nf-tcp"),
            ("ecn", "on"),
            ("probe_segments", "32"),
            ("probe_low", "2 Mbit/s"),
            ("probe_high", "20 Mbit/s"),
        ];
        for share in [0.3, 0.5, 0.7] {
            let truth = 20.0 * (1.0 - share);
            let (least, most) = marked_chirps(share);
            for (scheme, knobs, below, above) in [
                ("wbest", &[][..], 1.38, 1.38),
                ("probe-gap", &small[..], 1.41, 1.41),
                ("probe-train", &marked[..], truth - least, most - truth),
            ] {
                let marks = scheme == "probe-train";
                let probe = Probe {
                    scheme: scheme.into(),
                    // Only the sender of Linux has ECN.
                    profile: if marks { "linux" } else { "rfc" }.into(),
                    mark_after: marks.then(|| Duration::from_micros(1200)),
                    segments: 400,
                    ..probe(20, 15, share, knobs)
                };
                for run in run(&probe) {
                    let estimate = run.trains.last().and_then(|train| train.estimate);
                    let found = estimate.map_or(0.0, |r| r.as_bps() as f64) / 1e6;
                    // The model's times are whole nanoseconds, as those of the path.
                    let bounds = truth - below - 1e-3..truth + above + 1e-3;
                    assert!(bounds.contains(&found), "{scheme}, {share}: {found}");
                }
            }
        }
    }

    #[test]
    fn cross_traffic_takes_its_share() {
        for (mbps, ms, share) in [(50, 15, 0.5), (6, 50, 0.9), (54, 2, 0.3), (2, 300, 0.5)] {
            for irregular in [false, true] {
                // A segment per round trip does not affect the cross traffic.
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

    /// A copy of the world made at any time continues like the original: before the flow opens, during
    /// a train, between trains.
    #[test]
    fn a_copy_made_within_a_train_continues_as_the_run_from_the_start() {
        for (share, trains) in [(0.0, 3), (0.3, 2)] {
            let probe = Probe {
                scheme: "abest".into(),
                segments: 300,
                ..probe(50, 40, share, &[])
            };
            let setup = probe.setup(3).unwrap_or_else(|_| unreachable!());
            let opens = setup.flows[0].opens;
            let start = || {
                let observer = Measuring::new(Trains::new(&setup));
                setup.world(observer).unwrap_or_else(|_| unreachable!())
            };
            let mut world = start();
            let end = opens + Duration::from_secs(2);
            assert!(world.run_before(end).is_ok());
            let mut watch = world.observer().clone();
            let whole = watch.digest;
            let of = watch.measure.rows(&setup, whole);
            assert!(of.trains.len() >= trains);
            let mut past = start();
            for ms in (0..500).step_by(7) {
                let at = opens + Duration::from_millis(ms);
                assert!(past.run_before(at).is_ok());
                let mut copy = past.clone();
                assert!(copy.run_before(end).is_ok());
                assert_eq!(copy.observer().digest, whole, "from {ms} ms on");
            }
        }
    }

    /// Probes that are run together share the prefix before their flows.
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
            let mut seen = Vec::new();
            let runs = run_probes(&probes, how, |done, total| {
                seen.push((done, total));
                true
            });
            assert_eq!(seen.last(), Some(&(42, 42)));
            runs.unwrap_or_default()
        };
        let (together, alone) = (all(true), all(false));
        assert_eq!(format!("{together:?}"), format!("{alone:?}"));
        let digest = |place: usize| together[place].first().map(|run| run.digest);
        for place in 1..probes.len() {
            assert_ne!(digest(0), digest(place), "{place} is another run");
        }
    }

    /// Threads and repetition do not change the result.
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
