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
use super::workload::BULK;
use super::written::{Cross, Gap, Instants, Names, Share, Size, Stagger, Value, Written};

/// Flows of a mobile node that moves between access links, and of other nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScenarioFile {
    /// A title of one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it shows, and the source of its numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Profile of all senders and receivers: "linux" (those of Linux 6.12), "quic" (QUIC as in its
    /// RFCs), "rfc" (the RFCs to the letter, which no widespread stack runs) or "ns2" (ns-2.35).
    #[serde(default = "default::profile")]
    pub profile: String,
    /// Settings of the profile and knobs of the schemes' parts for all flows, by
    /// their names (`midflight list settings`, `midflight list policies` ...).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Value>,
    /// The run ends when every flow with a size is done, or at this time.
    #[serde(default = "default::end")]
    pub end: Written<Duration>,
    /// Seed of all random numbers. With the same seed schemes have the same losses.
    #[serde(default = "default::seed")]
    pub seed: u64,
    /// How many runs, numbered from 0; each draws its own random numbers.
    #[serde(default = "default::runs")]
    #[schemars(range(min = 1))]
    pub runs: u64,
    /// The number of new packets whose transfer is timed after each handoff: packets that were not
    /// sent before the new link was in use.
    #[serde(default = "default::packets")]
    #[schemars(range(min = 1))]
    pub packets: u64,
    /// The condition that stops the run before its end.
    #[serde(default)]
    pub stop: Stop,
    /// Whether senders get notices of handoffs and changes. Without them every scheme that waits
    /// for notices behaves like the plain sender.
    #[serde(default = "default::yes")]
    pub notices: bool,
    /// The first link of the mobile node. Default: the first link in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// The agent of nodes on the path (`midflight list agents`): of each base station, or of the router if the
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
    /// Axes of a sweep over this scenario; a single run ignores them.
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
    /// Queue of each.
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
    /// A well-known link (`midflight list links`); the other keys override its values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Rate towards the mobile node, headers included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Written<Rate>>,
    /// One-way delay towards the mobile node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Written<Duration>>,
    /// Queue at its transmitter. Default: "bdp".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Written<Queue>>,
    /// Losses on the way to the mobile node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Written<LossModel>>,
    /// Packets that it delivers late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Written<Reordering>>,
    /// Cross traffic, which does not react to losses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross: Option<Written<Cross>>,
    /// A recording of rate, delay and loss that the link follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceFile>,
    /// What its base station does in addition to forwarding, in place of the scenario's `agent`; "none" for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The uplink, from the mobile node. Keys that are left out are as in the downlink, except loss,
    /// reordering and cross traffic, which are then none.
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
    /// Queue at its transmitter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Written<Queue>>,
    /// Losses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Written<LossModel>>,
    /// Packets that it delivers late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Written<Reordering>>,
    /// Cross traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross: Option<Written<Cross>>,
}

/// The condition that stops a run before its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// When every flow with a size is done.
    #[default]
    Done,
    /// Also when, after the last handoff or change, the `packets` of each open flow of the mobile
    /// node are timed, or the flow is done.
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

/// The stack at the ends of a flow.
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
    /// QUIC: noq-proto, likewise.
    Noq,
    /// QUIC: aioquic, likewise; it is a Python package of its own.
    Aioquic,
}

/// How the server of a flow over QUIC learns that the client's address has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Migration {
    /// The client knows it, and sends a packet at once.
    #[default]
    Active,
    /// The client does not know it: the server learns it from the client's next packet.
    Passive,
}

/// The part of the mobile node's address that a handoff changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rebind {
    /// All of it.
    Address,
    /// The port, as a NAT does.
    Port,
    /// Nothing, as under Mobile IP.
    None,
}

impl Stack {
    /// Those of others.
    pub(super) const OTHER: [Self; 4] = [Self::Linux, Self::Quinn, Self::Noq, Self::Aioquic];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Midflight => "midflight",
            Self::Linux => "linux",
            Self::Quinn => "quinn",
            Self::Noq => "noq",
            Self::Aioquic => "aioquic",
        }
    }

    /// The QUIC stack, if it is one.
    pub fn quic(self) -> Option<QuicStack> {
        match self {
            Self::Midflight | Self::Linux => None,
            Self::Quinn => Some(QuicStack::Quinn),
            Self::Noq => Some(QuicStack::Noq),
            Self::Aioquic => Some(QuicStack::Aioquic),
        }
    }
}

fn is_bulk(workload: &str) -> bool {
    workload == BULK
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over what the field is"
)]
fn is_midflight(stack: &Stack) -> bool {
    *stack == Stack::Midflight
}

/// One flow, or several equal ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowFile {
    /// Its sender: a scheme, or several joined by "+" (`midflight list schemes`). With the stack "linux"
    /// a congestion control of the kernel; "sack" then represents "cubic".
    #[serde(default = "default::scheme")]
    pub scheme: String,
    /// Profile of its sender and receiver. Default: that of the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Its stack: the simulator's, a Linux kernel's (`midflight lab build`), then for all flows, or one of the QUIC
    /// stacks "quinn", "noq" and "aioquic". The rows of flows over QUIC come last.
    #[serde(default, skip_serializing_if = "is_midflight")]
    pub stack: Stack,
    /// For QUIC: the congestion control at both ends, "cubic", "bbr" or "newreno". Default: the stack's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cc: Option<String>,
    /// For QUIC: the idle timeout of a connection. Default: the stack's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Written<Duration>>,
    /// For QUIC: the number of streams, which carry equal shares of the data. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub streams: Option<u64>,
    /// For QUIC: whether packets are encrypted, with TLS 1.3. Without encryption they have the same size.
    /// Default: false; for "aioquic", which always encrypts, true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<bool>,
    /// For QUIC, including the profile "quic": how the server learns the client's new address. Default: "active".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migration: Option<Migration>,
    /// For the QUIC stack "noq": whether both ends negotiate several paths (draft-ietf-quic-multipath). In a make-before-break
    /// handoff the client opens a path over the new link, and closes the old one when the new one is validated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multipath: Option<bool>,
    /// For a QUIC stack: whether after a handoff notice the new path begins with half of the bandwidth-delay product in
    /// the notice, as the initial window of the stack's controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<bool>,
    /// The direction of its data.
    #[serde(default)]
    pub direction: Direction,
    /// What the application at its ends does (`midflight list workloads`), with knobs in `set`; "bulk", one transfer of a size, if it
    /// is left out.
    #[serde(default = "default::workload", skip_serializing_if = "is_bulk")]
    pub workload: String,
    /// The amount of data that it sends.
    #[serde(default = "default::size")]
    pub size: Written<Size>,
    /// When it opens.
    #[serde(default = "default::zero")]
    pub start: Written<Duration>,
    /// The number of equal flows.
    #[serde(default = "default::one")]
    #[schemars(range(min = 1, max = 1000))]
    pub count: u32,
    /// The time between the openings of two of them: constant, or random, from the scenario's seed.
    #[serde(default = "default::together")]
    pub stagger: Written<Stagger>,
    /// The link of another node, which stays there: competing traffic. Without it the flow is the
    /// mobile node's and moves with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// Whether the sender gets a notice of its link right before it opens.
    #[serde(default)]
    pub start_notice: bool,
    /// Settings of this flow only, which override those of the scenario.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Value>,
}

/// The mobile node moves to another link, or loses its link for some time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandoffFile {
    /// When it starts. A list or a range gives several handoffs.
    pub at: Written<Instants>,
    /// The new link; several are used in turn. With a gap it may be the same link: an outage.
    pub to: Names,
    /// Time without a link (break before make). Without it, or with "none", the routes switch at one
    /// instant and packets on the old link still arrive (make before break).
    #[serde(default, skip_serializing_if = "has_no_gap")]
    pub gap: Option<Written<Gap>>,
    /// For flows over QUIC, the part of the mobile node's address that changes; flows over TCP keep their address.
    /// Default: "address" if the link is another, otherwise "none".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebind: Option<Rebind>,
    /// In a gap the old base station keeps the packets that it has for the node and those on the air, and
    /// packets that arrive while it keeps fewer than the limit of its queue. It forwards them to the next station (X2).
    /// Without it they are lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forward: bool,
    /// The notice to senders.
    #[serde(default)]
    pub notice: NoticeFile,
    /// Faults of the node's own signals.
    #[serde(default)]
    pub signal: SignalFile,
}

/// Faults of a mobile node's own signals of a handoff, in the schemes with Freeze-TCP, TR-ACKs and
/// EHN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignalFile {
    /// How often the node does not predict the handoff.
    #[serde(default = "default::never")]
    pub missed: Written<Share>,
    /// How often the signal that it sends on the new link is lost.
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

/// Whether there is no gap, by omission or explicitly: equal scenarios have one canonical form.
#[allow(clippy::ref_option, reason = "serde hands over what the field is")]
fn has_no_gap(gap: &Option<Written<Gap>>) -> bool {
    gap.as_ref().is_none_or(|gap| gap.value.0.is_none())
}

/// Whether there is no agent.
#[allow(clippy::ref_option, reason = "serde hands over what the field is")]
fn has_no_agent(agent: &Option<String>) -> bool {
    agent.as_ref().is_none_or(|name| name == "none")
}

/// Where a notice comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoticeSource {
    /// The mobile node, which knows rate and delay of its links.
    #[default]
    Link,
    /// A network element on the path, which writes a rate into packets (draft-ietf-scone-protocol): quantised, without a delay, and
    /// for 67 s.
    Scone,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over what the field is"
)]
fn is_of_link(source: &NoticeSource) -> bool {
    *source == NoticeSource::Link
}

/// The content and the time of a sender's notice of a handoff or a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoticeFile {
    /// What it is: values of the link, or throughput advice of the network (SCONE), which is a rate and nothing else.
    #[serde(default, skip_serializing_if = "is_of_link")]
    pub source: NoticeSource,
    /// Its delay after the new link is in use.
    #[serde(default = "default::zero")]
    pub delay: Written<Duration>,
    /// How often it is lost.
    #[serde(default = "default::never")]
    pub lost: Written<Share>,
    /// The rate of the new link in the notice. Default: the true one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says_rate: Option<Written<Rate>>,
    /// The one-way delay of the new link in the notice. Default: the true one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says_delay: Option<Written<Duration>>,
}

impl Default for NoticeFile {
    fn default() -> Self {
        Self {
            source: NoticeSource::Link,
            delay: default::zero(),
            lost: default::never(),
            says_rate: None,
            says_delay: None,
        }
    }
}

/// A link changes its parameters, with or without a pause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeFile {
    /// When it starts. A list or a range gives several changes.
    pub at: Written<Instants>,
    /// The link.
    pub link: String,
    /// How long the link pauses. Only packets for which its queue has no room are lost.
    #[serde(default = "default::zero")]
    pub pause: Written<Duration>,
    /// Its new rate. Default for this and the following keys: unchanged.
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
    /// The uplink, if it does not change in the same way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<WayFile>,
    /// The notice to the mobile node's senders, if it is on this link. Default: none.
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
    /// The axis whose values are compared in pairs, with the same random numbers; the others are
    /// compared with the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare: Option<String>,
}

/// Values of missing keys.
mod default {
    use super::super::queue::Room;
    use super::{Duration, Queue, Rate, Share, Size, Stagger, Written};
    use crate::scenario::written::Quantity;

    /// A default as text, which a test checks.
    fn written<T: Quantity>(text: &'static str, value: T) -> Written<T> {
        Written::new(text, value)
    }

    pub(super) fn profile() -> String {
        "linux".into()
    }

    pub(super) fn scheme() -> String {
        "sack".into()
    }

    pub(super) fn workload() -> String {
        super::BULK.into()
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
