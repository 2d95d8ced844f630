//! A scenario as a user writes it. The types say what keys there are, for the
//! reader, for the JSON Schema and for the reference in the documentation.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use midflight_quic::QuicStack;
use midflight_sim::{LossModel, Reordering};
use midflight_units::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::queue::Queue;
use super::trace::TraceFile;
use super::written::{Cross, Gap, Instants, Names, Share, Size, Stagger, Value, Written};

/// Flows of a mobile node that moves between access links, and of its neighbours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScenarioFile {
    /// What it is, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it shows, and where its numbers are from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Profile of all senders and receivers: "linux" (those of Linux 6.12), "quic" (QUIC by its RFCs), "rfc" (the RFCs to the letter, which no widespread stack runs) or "ns2" (ns-2.35).
    #[serde(default = "default::profile")]
    pub profile: String,
    /// Settings of the profile and knobs of the schemes' parts for all flows, by
    /// their names (`midflight list settings`, `midflight list policies` ...).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Value>,
    /// The run ends when every flow with a size is done, or here.
    #[serde(default = "default::end")]
    pub end: Written<Duration>,
    /// Seed of everything random. Schemes meet the same losses under the same seed.
    #[serde(default = "default::seed")]
    pub seed: u64,
    /// How many runs, numbered from 0; each draws its own random numbers.
    #[serde(default = "default::runs")]
    #[schemars(range(min = 1))]
    pub runs: u64,
    /// How long the transfer of so many packets takes after each handoff is measured:
    /// packets that were never sent before the new link was in use.
    #[serde(default = "default::packets")]
    #[schemars(range(min = 1))]
    pub packets: u64,
    /// When the run is over before its end.
    #[serde(default)]
    pub stop: Stop,
    /// Whether senders are told of handoffs and changes. Without that every scheme
    /// that waits for notices is the plain sender.
    #[serde(default = "default::yes")]
    pub notices: bool,
    /// The link that the mobile node starts on; the first one if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// What nodes on the path do besides forwarding (`midflight list agents`): each base station, or the router where the
    /// agent is made for that. Its knobs are in `set`. "none" is the same as no agent.
    #[serde(default, skip_serializing_if = "has_no_agent")]
    pub agent: Option<String>,
    /// The two wired links: server - router - base station.
    #[serde(default)]
    pub wired: WiredFile,
    /// Access links by name, at least one.
    pub links: IndexMap<String, LinkFile>,
    /// Flows by name, at least one.
    pub flows: IndexMap<String, FlowFile>,
    /// Moves of the mobile node from link to link, in the order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handoffs: Vec<HandoffFile>,
    /// Changes of a link's own parameters, in the order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeFile>,
    /// Axes of a sweep over this scenario; a single run is without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepFile>,
}

/// The wired links, the same in both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WiredFile {
    /// Rate of each.
    #[serde(default = "default::wired_rate")]
    pub rate: Written<Rate>,
    /// One-way delay of each; a path has two of them.
    #[serde(default = "default::wired_delay")]
    pub delay: Written<Duration>,
    /// Room at each.
    #[serde(default = "default::wired_queue")]
    pub queue: Written<Queue>,
}

impl Default for WiredFile {
    fn default() -> Self {
        Self {
            rate: default::wired_rate(),
            delay: default::wired_delay(),
            queue: default::wired_queue(),
        }
    }
}

/// An access link between a base station and the mobile node. Rate and delay are
/// needed unless a preset has them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkFile {
    /// A well-known link (`midflight list links`), of which the other keys change parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Rate towards the mobile node, headers included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Written<Rate>>,
    /// One-way delay towards the mobile node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Written<Duration>>,
    /// Room at its transmitter; "bdp" if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Written<Queue>>,
    /// What it loses on the way to the mobile node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Written<LossModel>>,
    /// What it delivers late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Written<Reordering>>,
    /// What it carries of others, who send on whatever is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross: Option<Written<Cross>>,
    /// A recording that its rate, delay and loss follow, as far as that has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceFile>,
    /// What its base station does besides forwarding, in place of the scenario's `agent`; "none" for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The way from the mobile node; what is left out is as above, but for loss, reordering and
    /// cross traffic, of which it then has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<WayFile>,
}

/// One direction of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WayFile {
    /// Rate, headers included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Written<Rate>>,
    /// One-way delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Written<Duration>>,
    /// Room at its transmitter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Written<Queue>>,
    /// What it loses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Written<LossModel>>,
    /// What it delivers late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Written<Reordering>>,
    /// What it carries of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross: Option<Written<Cross>>,
}

/// When a run is over before its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// When every flow with a size is done.
    #[default]
    Done,
    /// Also when, after the last handoff or change, so many `packets` of each of the mobile
    /// node's flows that had opened are timed, or the flow is done.
    Measured,
}

/// Towards the mobile node, or from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the server to the mobile node.
    #[default]
    Down,
    /// From the mobile node to the server.
    Up,
}

/// Whose TCP a flow has at its ends, or whose QUIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stack {
    /// The simulator's sender and receiver.
    #[default]
    Midflight,
    /// Those of a Linux kernel in virtual time (`midflight lab`).
    Linux,
    /// QUIC: quinn-proto, unmodified, in virtual time.
    Quinn,
}

/// How the server of a flow over QUIC comes to know that the client's address is another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Migration {
    /// The client knows of it, and sends something at once.
    #[default]
    Active,
    /// The client does not: the server finds out when the client sends something anyway.
    Passive,
}

/// What of the mobile node's address a handoff changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rebind {
    /// All of it.
    Address,
    /// The port, as a translator of addresses does.
    Port,
    /// Nothing, as under Mobile IP.
    None,
}

impl Stack {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Midflight => "midflight",
            Self::Linux => "linux",
            Self::Quinn => "quinn",
        }
    }

    /// The QUIC stack, if it is one.
    pub fn quic(self) -> Option<QuicStack> {
        match self {
            Self::Midflight | Self::Linux => None,
            Self::Quinn => Some(QuicStack::Quinn),
        }
    }
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over what the field is"
)]
fn is_midflight(stack: &Stack) -> bool {
    *stack == Stack::Midflight
}

/// One flow, or several alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowFile {
    /// Its sender: a scheme, or several joined by "+" (`midflight list schemes`). With the stack "linux"
    /// a congestion control of the kernel; "sack" then stands for "cubic".
    #[serde(default = "default::scheme")]
    pub scheme: String,
    /// Profile of its sender and receiver, if it is another than that of the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Whose TCP it has: the simulator's or that of a Linux kernel (`midflight lab build`), then for all flows; or
    /// whose QUIC: "quinn". The rows of flows over QUIC come last.
    #[serde(default, skip_serializing_if = "is_midflight")]
    pub stack: Stack,
    /// Of QUIC, the congestion control at both ends: "cubic", "bbr" or "newreno"; the stack's own choice if it is
    /// left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cc: Option<String>,
    /// Of QUIC, after how long without a packet a connection is over; the stack's own choice if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Written<Duration>>,
    /// Of QUIC, how many streams carry the data, in equal shares; 1 if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub streams: Option<u64>,
    /// Of QUIC, whether packets are encrypted, by TLS 1.3. Without that they are as long and can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<bool>,
    /// Of QUIC, also of the profile "quic", how the server comes to know of another address of the client; "active" if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migration: Option<Migration>,
    /// Of a QUIC stack, whether a path that comes after a handoff notice begins with half of the bandwidth-delay product
    /// that the notice tells, by a controller that is given to the stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<bool>,
    /// Which way its data go.
    #[serde(default)]
    pub direction: Direction,
    /// How much it sends.
    #[serde(default = "default::size")]
    pub size: Written<Size>,
    /// When it opens.
    #[serde(default = "default::zero")]
    pub start: Written<Duration>,
    /// How many of it there are.
    #[serde(default = "default::one")]
    #[schemars(range(min = 1, max = 1000))]
    pub count: u32,
    /// Each of them opens so much after the one before: always the same, or at random by the scenario's seed.
    #[serde(default = "default::together")]
    pub stagger: Written<Stagger>,
    /// The link of another node that stays there: cross traffic. Without it the flow is the
    /// mobile node's and moves along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// Whether the sender is told of its link right before it opens.
    #[serde(default)]
    pub start_notice: bool,
    /// Settings of this flow alone, over those of the scenario.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Value>,
}

/// The mobile node leaves its link for another, or for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandoffFile {
    /// When it starts. A list or a range is as many handoffs.
    pub at: Written<Instants>,
    /// The link to go to; several are taken in turn. With a gap it may be the same link: an outage.
    pub to: Names,
    /// Time without a link (break before make); without it, or with "none", the routes switch at an
    /// instant and what is under way still arrives (make before break).
    #[serde(default, skip_serializing_if = "has_no_gap")]
    pub gap: Option<Written<Gap>>,
    /// What of the mobile node's address changes, for flows over QUIC; those over TCP keep theirs. "address" if it is
    /// left out and the link is another, otherwise "none".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebind: Option<Rebind>,
    /// In a gap the base station that is left keeps the packets that it has for the node and those on the air, and
    /// packets that arrive while it keeps fewer than the limit of its queue. It forwards them to the next station (X2).
    /// Without that they are lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forward: bool,
    /// What senders are told.
    #[serde(default)]
    pub notice: NoticeFile,
    /// What becomes of signals that the node makes itself.
    #[serde(default)]
    pub signal: SignalFile,
}

/// What becomes of a mobile node's own signals of a handoff, which the schemes with Freeze-TCP,
/// TR-ACKs and EHN have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignalFile {
    /// How often the node does not foresee the handoff.
    #[serde(default = "default::never")]
    pub missed: Written<Share>,
    /// How often what it sends to tell of the new link is lost.
    #[serde(default = "default::never")]
    pub lost: Written<Share>,
}

impl Default for SignalFile {
    fn default() -> Self {
        Self {
            missed: default::never(),
            lost: default::never(),
        }
    }
}

/// No gap, left out or said: one scenario, which is written one way.
#[allow(clippy::ref_option, reason = "serde hands over what the field is")]
fn has_no_gap(gap: &Option<Written<Gap>>) -> bool {
    gap.as_ref().is_none_or(|gap| gap.value.0.is_none())
}

/// No agent, left out or said.
#[allow(clippy::ref_option, reason = "serde hands over what the field is")]
fn has_no_agent(agent: &Option<String>) -> bool {
    agent.as_ref().is_none_or(|name| name == "none")
}

/// What a sender is told of a handoff or of a change, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoticeFile {
    /// How long after the new link is in use it reaches the sender.
    #[serde(default = "default::zero")]
    pub delay: Written<Duration>,
    /// How often it is lost.
    #[serde(default = "default::never")]
    pub lost: Written<Share>,
    /// The rate that it says the new link has; the true one if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says_rate: Option<Written<Rate>>,
    /// The one-way delay that it says the new link has; the true one if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says_delay: Option<Written<Duration>>,
}

impl Default for NoticeFile {
    fn default() -> Self {
        Self {
            delay: default::zero(),
            lost: default::never(),
            says_rate: None,
            says_delay: None,
        }
    }
}

/// A link stands still for a while, holds what is on it, and goes on with other parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeFile {
    /// When it starts. A list or a range is as many changes.
    pub at: Written<Instants>,
    /// The link.
    pub link: String,
    /// How long it stands still. Nothing is lost by that but what its queue has no room for.
    #[serde(default = "default::zero")]
    pub pause: Written<Duration>,
    /// Its new rate; as before if it is left out, like all that follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Written<Rate>>,
    /// Its new one-way delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Written<Duration>>,
    /// Its new queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Written<Queue>>,
    /// Its new losses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Written<LossModel>>,
    /// Its new reordering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Written<Reordering>>,
    /// Its new cross traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross: Option<Written<Cross>>,
    /// The way from the mobile node, where it does not change alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<WayFile>,
    /// What the mobile node's senders are told, if it is on this link; nothing if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<NoticeFile>,
}

/// A sweep over a scenario: every combination of its axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SweepFile {
    /// Values by key: a list, or a range of times or numbers "from : to : step". A key is the path
    /// to a value of the scenario, such as "flows.download.scheme" or "handoffs.0.at".
    pub axes: IndexMap<String, serde_json::Value>,
    /// The axis whose values are compared pair by pair, under the same random numbers; the first
    /// one is what the others are compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare: Option<String>,
}

/// What is left out.
mod default {
    use super::super::queue::Room;
    use super::{Duration, Queue, Rate, Share, Size, Stagger, Written};
    use crate::scenario::written::Quantity;

    /// A default, which a test reads.
    fn written<T: Quantity>(text: &'static str, value: T) -> Written<T> {
        Written::new(text, value)
    }

    pub(super) fn profile() -> String {
        "linux".into()
    }

    pub(super) fn scheme() -> String {
        "sack".into()
    }

    pub(super) fn end() -> Written<Duration> {
        written("60 s", Duration::from_secs(60))
    }

    pub(super) fn seed() -> u64 {
        1
    }

    pub(super) fn runs() -> u64 {
        1
    }

    pub(super) fn one() -> u32 {
        1
    }

    pub(super) fn packets() -> u64 {
        100
    }

    pub(super) fn yes() -> bool {
        true
    }

    pub(super) fn together() -> Written<Stagger> {
        written("0 s", Stagger::Even(Duration::ZERO))
    }

    pub(super) fn zero() -> Written<Duration> {
        written("0 s", Duration::ZERO)
    }

    pub(super) fn never() -> Written<Share> {
        written("0%", Share(0.0))
    }

    pub(super) fn size() -> Written<Size> {
        written("unlimited", Size::Unlimited)
    }

    pub(super) fn wired_rate() -> Written<Rate> {
        written("1 Gbit/s", Rate::from_mbps(1000))
    }

    pub(super) fn wired_delay() -> Written<Duration> {
        written("5 ms", Duration::from_millis(5))
    }

    pub(super) fn wired_queue() -> Written<Queue> {
        written("10000 packets", Queue::DropTail(Room::Packets(10_000)))
    }
}
