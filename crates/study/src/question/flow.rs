//! A long-lived flow to a mobile node that moves from one wireless network to
//! another: the network of Lim & Jang 2009, figure 10.
//!
//! ```text
//! sender     --\
//!               gateway  --wired--  router  --radio--  mobile node
//! cross host --/
//! ```
//!
//! The wired link carries the flow and the cross traffic: TCP flows from one host that end at the
//! router. Hosts take a random processing time for each packet, so that the flows do not synchronise
//! at the wired queue. A sender that uses the wired link alone and needs no processing time is at
//! the gateway itself. The handoff is a pause of the radio link without loss, after which the link
//! has the other network's parameters and sends the packets that it holds.

use std::sync::Arc;

use midflight_control::{LinkInfo, Notice, PathUpdate};
use midflight_sim::{random, Action, Digest};
use midflight_units::{Duration, Instant};

use super::numbered::{plain, run_all, setup_of, Numbered, Parts};
use crate::error::StudyError;
use crate::execution::Execution;
use crate::foreign::{build, Policies};
use crate::measure::{FlowRow, Intervals, Measured};
use crate::network::relay::{radio_links, Relay, CROSS, MOBILE, ROUTER};
use crate::radio::Radio;
use crate::scenario::Stack;
use crate::scheme::Knobs;
use crate::setup::{flow_id, FlowSetup, Mark, Part, PathChange, PhaseStart, Setup, Timeline};

/// A pause of the radio link, after which it has other parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowHandoff {
    /// When the link pauses.
    pub at: Instant,
    /// For how long.
    pub pause: Duration,
    /// The radio link after it.
    pub second: Radio,
    /// The delay of the notice after the pause; none for no notice.
    pub notice_delay: Option<Duration>,
}

/// TCP flows over the wired link that end at the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrossTraffic {
    /// How many.
    pub flows: u32,
    /// One-way delay between their host and the wired link.
    pub delay: Duration,
    /// Each run draws its delay uniformly from this much less to this much more. The losses of a
    /// drop-tail queue depend on the phase of the arrivals within a packet's transmission time, so a
    /// single delay is not representative.
    pub spread: Duration,
}

/// A long-lived flow under one scheme: one run for each seed.
#[derive(Clone, Debug)]
pub struct LongFlow {
    /// Wired link.
    pub wired: LinkInfo,
    /// Maximum number of packets at the wired link in either direction, including the one in
    /// transmission.
    pub wired_limit: u32,
    /// Radio link at the start.
    pub radio: Radio,
    /// Handoff to another one.
    pub handoff: Option<FlowHandoff>,
    /// Cross traffic.
    pub cross: CrossTraffic,
    /// Maximum random processing time of a host for a packet that it sends.
    pub overhead: Duration,
    /// Name of the scheme of the flow.
    pub scheme: String,
    /// Name of the profile of the flow and of the cross traffic.
    pub profile: String,
    /// Settings that differ from the defaults. Settings of the profile apply to the cross traffic
    /// too.
    pub knobs: Knobs,
    /// Foreign policies that schemes may name.
    pub policies: Policies,
    /// Seed of the random streams; they do not depend on the scheme, so all schemes have the same
    /// radio conditions.
    pub seed: u64,
    /// Numbers of the runs.
    pub runs: Vec<u64>,
    /// Ends of separately measured intervals, ascending; the run ends with the last.
    pub marks: Vec<Instant>,
}

/// Maximum number of cross flows.
const MOST_CROSS_FLOWS: u32 = 10_000;
/// Cross flows start at random within this time.
const CROSS_START: Duration = Duration::from_secs(1);

/// The measurements of one run.
#[derive(Clone, Debug)]
pub struct FlowRun {
    /// One row for each interval.
    pub rows: Vec<FlowRow>,
    /// Digest of the run.
    pub digest: Digest,
}

impl LongFlow {
    fn check(&self) -> Result<Arc<Part>, StudyError> {
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
        let second = self.handoff.iter().map(|h| &h.second);
        for radio in std::iter::once(&self.radio).chain(second) {
            if radio.limit == 0 || self.wired_limit == 0 {
                return refuse("a queue limit of", "0".into(), "1 packet or more");
            }
        }
        if let Some(handoff) = &self.handoff {
            let noticed_at = handoff.notice_delay.unwrap_or(Duration::ZERO);
            let complete = handoff.at + handoff.pause + noticed_at;
            if complete >= end {
                return Err(StudyError::AfterEnd {
                    at: handoff.at,
                    complete,
                    end,
                });
            }
        }
        build(&self.scheme, &self.profile, &self.knobs, &self.policies)
    }

    /// The link data of a handoff.
    fn of_links(&self, handoff: &FlowHandoff) -> Notice {
        Notice {
            old: self.radio.link,
            new: handoff.second.link,
            flows: 1,
        }
    }

    /// The handoff in the notice, and the delay of the notice.
    fn notice(&self) -> Option<(&FlowHandoff, Duration)> {
        let handoff = self.handoff.as_ref()?;
        Some((handoff, handoff.notice_delay?))
    }

    /// One of its runs.
    ///
    /// # Errors
    /// [`StudyError`] for input that is not accepted.
    pub fn setup(&self, run: u64) -> Result<Setup, StudyError> {
        setup_of(self, run)
    }
}

impl Numbered for LongFlow {
    fn runs(&self) -> &[u64] {
        &self.runs
    }

    fn parts(&self) -> Result<Parts, StudyError> {
        Ok(Parts {
            own: self.check()?,
            others: plain(&self.profile, &self.knobs)?,
        })
    }

    fn compile(&self, parts: &Parts, run: u64) -> Setup {
        let relay = Relay { flow: self, run };
        let mut timeline = Timeline::default();
        let mut starts = random::stream(self.seed, run, "cross traffic", "start");
        let mut flows = vec![FlowSetup {
            name: "flow".into(),
            entry: None,
            scheme: Arc::from(self.scheme.as_str()),
            from: relay.sender(),
            to: MOBILE,
            part: Arc::clone(&parts.own),
            end: None,
            opens: Instant::ZERO,
            stays: None,
            up: false,
            stack: Stack::Midflight,
            quic: None,
            client: None,
            app: None,
        }];
        timeline.act(Instant::ZERO, Action::Open(flow_id(0)));
        let sack: Arc<str> = Arc::from("sack");
        for number in 1..=self.cross.flows {
            let ns = starts.next_f64() * CROSS_START.as_nanos() as f64;
            let opens = Instant::from_nanos(ns as u64);
            timeline.act(opens, Action::Open(flow_id(number)));
            flows.push(FlowSetup {
                name: format!("cross-{number}").into(),
                entry: None,
                scheme: Arc::clone(&sack),
                from: CROSS,
                to: ROUTER,
                part: Arc::clone(&parts.others),
                end: None,
                opens,
                stays: Some(0),
                up: false,
                stack: Stack::Midflight,
                quic: None,
                client: None,
                app: None,
            });
        }
        let (&end, marks) = self.marks.split_last().unwrap_or((&Instant::ZERO, &[]));
        for &at in marks {
            let mark = Mark {
                kind: PhaseStart::Interval,
                make: at,
                place: 0,
            };
            timeline.mark(at, mark);
        }
        if let Some(handoff) = &self.handoff {
            let again = handoff.at + handoff.pause;
            let notice = self.of_links(handoff);
            timeline.act(handoff.at, Action::MarkBreak);
            timeline.act(again, Action::MarkMake);
            if let Some(warning) = parts.own.built.profile.receiver.signal.warning() {
                let noticed_at = handoff.at.saturating_sub(warning);
                timeline.act(noticed_at, Action::Foresee(flow_id(0), notice));
            }
            for link in radio_links() {
                timeline.act(handoff.at, Action::Pause(link));
                let setting = Some(0);
                timeline.act(again, Action::Resume { link, setting });
            }
            timeline.act(again, Action::Attached(flow_id(0), 1, notice));
        }
        if let Some((handoff, delay)) = self.notice() {
            let notice = self.of_links(handoff);
            let noticed_at = handoff.at + handoff.pause + delay;
            timeline.act(
                noticed_at,
                Action::Notify(flow_id(0), PathUpdate::Notice(notice)),
            );
        }
        let path_changes = self.handoff.iter().map(|handoff| {
            let make = handoff.at + handoff.pause;
            PathChange {
                is_change: false,
                links: ("first-radio".into(), "second-radio".into()),
                at: handoff.at,
                make,
                breaks: true,
                notified: handoff.notice_delay.map(|delay| make + delay),
                misstated: false,
            }
        });
        Setup {
            network: Arc::new(relay.network()),
            flows: flows.into(),
            apps: Arc::default(),
            timeline: timeline.finish(),
            measured: Arc::new(Measured::Intervals),
            end,
            profile: Arc::from(self.profile.as_str()),
            start: 0,
            run: Some(run),
            path_changes: path_changes.collect(),
        }
    }
}

/// Runs flows in parallel; returns for each flow its runs, in the order of their numbers. `go_on` is
/// as for [`crate::run_sweeps`].
///
/// # Errors
/// [`StudyError::Interrupted`] when stopped, or an error for input that is not accepted.
pub fn run_long_flows(
    flows: &[LongFlow],
    how: Execution,
    go_on: impl FnMut(usize, usize) -> bool,
) -> Result<Vec<Vec<FlowRun>>, StudyError> {
    let tables = run_all::<_, Intervals>(flows, how, go_on)?;
    let run = |(digest, rows)| FlowRun { rows, digest };
    let table = |runs: Vec<_>| runs.into_iter().map(run).collect();
    Ok(tables.into_iter().map(table).collect())
}
