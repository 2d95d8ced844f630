//! A mobile node that changes its base station every few seconds under Mobile
//! IP: the networks of Izumikawa, Yamaguchi & Katto, figures 2 and 5.
//!
//! ```text
//!                               /--access-- base station --wireless-- mobile node
//! sender --backbone-- router --<
//!                               \--access-- base station --wireless-- fixed nodes
//! ```
//!
//! A handoff is a timeline. The node leaves its station: packets that arrive for it there from then
//! on are lost, and it cannot send. After the gap it is in range of the next station and detects
//! the move by that station's next advertisement. Then it can send again, sends its signal, and
//! registers with its agent, which is at the sender's end of the backbone: packets that reach the
//! agent after the registration go to the new station. Packets in transit to the old one are lost.

use std::sync::Arc;

use midflight_control::signal::AnyHandoffSignal;
use midflight_control::{LinkInfo, Notice};
use midflight_sim::{random, Action, Digest, ForgedAck, LossModel, Scripted};
use midflight_units::{Duration, Instant};

use super::numbered::{plain, run_all, setup_of, Numbered, Parts};
use crate::error::StudyError;
use crate::execution::Execution;
use crate::foreign::{build, Policies};
use crate::measure::{CellVisits, Measured, RoamingRow};
use crate::network::stations::{self as network, Stations};
use crate::scenario::Stack;
use crate::scheme::Knobs;
use crate::setup::{flow_id, FlowSetup, Mark, Part, PathChange, PhaseStart, Setup, Timeline};

/// Handoffs of the mobile node, one every `every`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoamingHandoffs {
    /// Time between two of them, and before the first.
    pub every: Duration,
    /// Time between two router advertisements of a base station: the node receives the first one
    /// after a time drawn uniformly from zero to this.
    pub advertisement: Duration,
    /// How long the node is out of range of all stations.
    pub blackout: Duration,
    /// What happens to the node's signals to its sender.
    pub signal: SignalFate,
    /// How accurately a node that warns its sender predicts a handoff.
    pub foresight: HandoffPrediction,
}

/// What happens to a signal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignalFate {
    /// Probability that it is lost.
    pub lost: f64,
    /// Otherwise, the number of copies of each of its packets that are delivered.
    pub copies: u8,
    /// The delay of the signal after the node's registration.
    pub delay: Duration,
}

/// How accurately a node predicts a handoff.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandoffPrediction {
    /// How much later than intended the warning comes.
    pub late: Duration,
    /// How much earlier than intended the warning comes.
    pub early: Duration,
    /// Probability that there is no warning.
    pub missed: f64,
}

/// ACKs with a handoff mark that no node has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forgery {
    /// Their ACK number.
    pub ack: ForgedAck,
    /// Time between two of them.
    pub every: Duration,
}

/// A mobile node and its network under one scheme: one run for each seed.
#[derive(Clone, Debug)]
pub struct Roaming {
    /// The link between sender and router.
    pub backbone: LinkInfo,
    /// The link between router and base station.
    pub access: LinkInfo,
    /// The link between base station and nodes.
    pub wireless: LinkInfo,
    /// Maximum number of packets at a link in either direction, including the one in transmission.
    pub limit: u32,
    /// Losses of each wireless link towards its nodes.
    pub loss: Option<LossModel>,
    /// Losses of each wireless link towards its base station.
    pub back_loss: Option<LossModel>,
    /// What happens to the packets with these numbers on the first station's wireless link towards
    /// its nodes.
    pub script: Vec<(u64, Scripted)>,
    /// The same towards the base station.
    pub back_script: Vec<(u64, Scripted)>,
    /// Number of base stations; the mobile node starts at the first one.
    pub stations: u8,
    /// Fixed nodes at each station, in their order; stations beyond the list have none.
    pub fixed: Vec<u8>,
    /// Handoffs, if it moves.
    pub handoffs: Option<RoamingHandoffs>,
    /// Forged ACKs at the sender.
    pub forgery: Option<Forgery>,
    /// Name of the scheme of the mobile node and its sender.
    pub scheme: String,
    /// Name of the profile of all flows.
    pub profile: String,
    /// Settings that differ from the defaults. Settings of the profile apply to the fixed nodes
    /// too.
    pub knobs: Knobs,
    /// Foreign policies that schemes may name.
    pub policies: Policies,
    /// Seed of the random streams; they do not depend on the scheme.
    pub seed: u64,
    /// Numbers of the runs.
    pub runs: Vec<u64>,
    /// End of each run.
    pub end: Instant,
}

/// Fixed nodes start at random within this time.
const FIXED_START: Duration = Duration::from_secs(1);
/// Maximum number of stations, and of fixed nodes at one.
pub(crate) const MOST_STATIONS: u8 = 8;
const MOST_FIXED: u8 = 200;
/// Maximum number of rows of a run, which are kept until it is done.
const MOST_ROWS: u64 = 1_000_000;

/// One handoff of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RoamingHandoff {
    /// When the node leaves.
    at: Instant,
    from: u8,
    to: u8,
    /// When it warns its sender.
    warning: Option<Instant>,
    /// When it detects that it has moved, and sends its registration.
    detected: Instant,
    /// When it sends its signal.
    signal: Instant,
    /// Copies of the signal that are delivered.
    copies: u8,
}

/// The measurements of one run.
#[derive(Clone, Debug)]
pub struct RoamingRun {
    /// A row for each interval and node: intervals end when the mobile node leaves a station; the
    /// mobile node comes first.
    pub rows: Vec<RoamingRow>,
    /// Digest of the run.
    pub digest: Digest,
}

impl Roaming {
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
        if self.end == Instant::ZERO {
            let value = self.end.to_string();
            return refuse("an end of the run at", value, "a time after the start");
        }
        if self.limit == 0 {
            return refuse("a queue limit of", "0".into(), "1 packet or more");
        }
        let least = if self.handoffs.is_some() { 2 } else { 1 };
        if !(least..=MOST_STATIONS).contains(&self.stations) {
            let value = self.stations.to_string();
            return refuse(
                "the number of base stations",
                value,
                "1 to 8, and 2 or more for a node that moves",
            );
        }
        if self.fixed.len() > usize::from(self.stations) {
            let value = self.fixed.len().to_string();
            let accepted = "a number for each base station at most";
            return refuse("the length of the list of residents", value, accepted);
        }
        if let Some(most) = self.fixed.iter().find(|&&n| n > MOST_FIXED) {
            return refuse(
                "the number of residents at a station",
                most.to_string(),
                "0 to 200",
            );
        }
        if self.forgery.is_some_and(|f| f.every == Duration::ZERO) {
            return refuse(
                "a time between forged ACKs of",
                "0s".into(),
                "a time above zero",
            );
        }
        if let Some(h) = &self.handoffs {
            for (what, share) in [
                ("the share of signals lost", h.signal.lost),
                ("the share of handoffs not predicted", h.foresight.missed),
            ] {
                if !(0.0..=1.0).contains(&share) {
                    return refuse(what, share.to_string(), "0 to 1");
                }
            }
            // One handoff is complete before the next: the node is back, and its agent has its
            // registration.
            let longest = h.blackout + h.advertisement + h.signal.delay + self.switch_delay();
            if h.every <= longest {
                return Err(StudyError::OverlappingHandoffs {
                    every: h.every,
                    longest,
                });
            }
        }
        let part = build(&self.scheme, &self.profile, &self.knobs, &self.policies)?;
        let warning = part.built.profile.receiver.signal.warning();
        if let (Some(h), Some(warning)) = (&self.handoffs, warning) {
            if warning + h.foresight.early >= h.every {
                return refuse(
                    "a warning ahead of a handoff by",
                    (warning + h.foresight.early).to_string(),
                    "less than the time between two handoffs",
                );
            }
        }
        let moves = self.handoffs.map_or(0, |h| {
            self.end.since(Instant::ZERO).as_nanos() / h.every.as_nanos()
        });
        let nodes = 1 + self.fixed_stations().count() as u64;
        if moves * nodes > MOST_ROWS {
            let value = (moves * nodes).to_string();
            return refuse(
                "the number of handoffs in a run times that of nodes",
                value,
                "up to 1000000: end the run earlier, move less often, or have fewer residents",
            );
        }
        Ok(part)
    }

    /// From the departure of a registration until the packets that its agent forwards after it are
    /// at the router.
    fn switch_delay(&self) -> Duration {
        self.registration_delay() + self.backbone.delay
    }

    /// The time of a registration, as large as an ACK, to the agent on idle links.
    fn registration_delay(&self) -> Duration {
        let ways = [self.wireless, self.access, self.backbone];
        ways.iter().fold(Duration::ZERO, |sum, link| {
            sum + link.delay
                + link
                    .rate
                    .transmission_time(midflight_tcp::ACK_HEADER_BYTES.into())
        })
    }

    /// All handoffs of a run.
    fn moves(&self, signal: &AnyHandoffSignal, run: u64) -> Vec<RoamingHandoff> {
        let Some(h) = &self.handoffs else {
            return Vec::new();
        };
        // A separate stream for each draw, so that no draw shifts another.
        let draw = |purpose| random::stream(self.seed, run, "mobile node", purpose);
        let (mut advertised, mut target) = (draw("advertisement"), draw("station"));
        let (mut lost, mut missed) = (draw("signal"), draw("foresight"));
        let mut moves = Vec::new();
        let (mut at, mut from) = (Instant::ZERO + h.every, 0);
        while at < self.end {
            let others = f64::from(self.stations - 1);
            let step = 1 + (target.next_f64() * others) as u8;
            let to = (from + step) % self.stations;
            let wait = advertised.next_f64() * h.advertisement.as_nanos() as f64;
            let detected = at + h.blackout + Duration::from_nanos(wait as u64);
            let is_predicted = missed.next_f64() >= h.foresight.missed;
            let arrives = lost.next_f64() >= h.signal.lost;
            let warning = signal.warning().filter(|_| is_predicted).map(|warning| {
                let early = warning + h.foresight.early;
                let ahead = at + h.foresight.late;
                ahead.saturating_sub(early)
            });
            moves.push(RoamingHandoff {
                at,
                from,
                to,
                // A warning after the signal would have no effect.
                warning: warning.filter(|&w| w < detected + h.signal.delay),
                detected,
                signal: detected + h.signal.delay,
                copies: if arrives { h.signal.copies } else { 0 },
            });
            at += h.every;
            from = to;
        }
        moves
    }

    fn fixed_at(&self, station: u8) -> u8 {
        self.fixed.get(usize::from(station)).copied().unwrap_or(0)
    }

    /// The station of each fixed node's flow, in the order of the flows.
    fn fixed_stations(&self) -> impl Iterator<Item = u8> + '_ {
        (0..self.stations).flat_map(|s| std::iter::repeat_n(s, usize::from(self.fixed_at(s))))
    }

    /// One of its runs.
    ///
    /// # Errors
    /// [`StudyError`] for input that is not accepted.
    pub fn setup(&self, run: u64) -> Result<Setup, StudyError> {
        setup_of(self, run)
    }
}

impl Numbered for Roaming {
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
        let stations = Stations { roaming: self, run };
        let mut timeline = Timeline::default();
        let mobile = flow_id(0);
        let mut flows = vec![FlowSetup {
            name: "mobile".into(),
            entry: None,
            scheme: Arc::from(self.scheme.as_str()),
            from: network::SENDER,
            to: network::MOBILE,
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
        timeline.act(Instant::ZERO, Action::Open(mobile));
        let mut starts = random::stream(self.seed, run, "fixed nodes", "start");
        let sack: Arc<str> = Arc::from("sack");
        for (station, number) in self.fixed_stations().zip(1..) {
            let ns = starts.next_f64() * FIXED_START.as_nanos() as f64;
            let opens = Instant::from_nanos(ns as u64);
            timeline.act(opens, Action::Open(flow_id(number)));
            flows.push(FlowSetup {
                name: format!("resident-{number}").into(),
                entry: None,
                scheme: Arc::clone(&sack),
                from: network::SENDER,
                to: network::air(station),
                part: Arc::clone(&parts.others),
                end: None,
                opens,
                stays: Some(station.into()),
                up: false,
                stack: Stack::Midflight,
                quic: None,
                client: None,
                app: None,
            });
        }
        for action in stations.go_nowhere() {
            timeline.act(Instant::ZERO, action);
        }
        let mut path_changes = Vec::new();
        // The links of all stations are equal.
        let notice = Notice {
            old: self.wireless,
            new: self.wireless,
            flows: 1,
        };
        for m in self.moves(&parts.own.built.profile.receiver.signal, run) {
            path_changes.push(PathChange {
                is_change: false,
                links: (
                    format!("station{}", m.from).into(),
                    format!("station{}", m.to).into(),
                ),
                at: m.at,
                make: m.detected + self.switch_delay(),
                breaks: true,
                notified: None,
                misstated: false,
            });
            if let Some(warning) = m.warning {
                timeline.act(warning, Action::Foresee(mobile, notice));
            }
            let switched = m.detected + self.switch_delay();
            let mark = Mark {
                kind: PhaseStart::Handoff,
                make: switched,
                place: m.to.into(),
            };
            timeline.mark(m.at, mark);
            timeline.act(m.at, Action::MarkBreak);
            for route in network::leave(m.from) {
                timeline.act(m.at, route);
            }
            for route in network::attach(m.to) {
                timeline.act(m.detected, route);
            }
            timeline.act(m.signal, Action::Attached(mobile, m.copies, notice));
            timeline.act(switched, network::switch(m.to));
            timeline.act(switched, Action::MarkMake);
        }
        if let Some(Forgery { ack, every }) = self.forgery {
            let mut at = Instant::ZERO + every;
            // Numbers above all marks that the node may have sent.
            for number in u32::MAX / 2 + 1.. {
                if at >= self.end {
                    break;
                }
                timeline.act(at, Action::Forge(mobile, ack, number));
                at += every;
            }
        }
        Setup {
            network: Arc::new(stations.network()),
            flows: flows.into(),
            apps: Arc::default(),
            timeline: timeline.finish(),
            measured: Arc::new(Measured::CellVisits),
            end: self.end,
            profile: Arc::from(self.profile.as_str()),
            start: 0,
            run: Some(run),
            path_changes: path_changes.into(),
        }
    }
}

/// Runs mobile nodes in parallel; returns for each its runs, in the order of their numbers. `go_on`
/// is as for [`crate::run_sweeps`].
///
/// # Errors
/// [`StudyError::Interrupted`] when stopped, or an error for input that is not accepted.
pub fn run_roaming(
    nodes: &[Roaming],
    how: Execution,
    go_on: impl FnMut(usize, usize) -> bool,
) -> Result<Vec<Vec<RoamingRun>>, StudyError> {
    let tables = run_all::<_, CellVisits>(nodes, how, go_on)?;
    let run = |(digest, rows)| RoamingRun { rows, digest };
    let table = |runs: Vec<_>| runs.into_iter().map(run).collect();
    Ok(tables.into_iter().map(table).collect())
}
