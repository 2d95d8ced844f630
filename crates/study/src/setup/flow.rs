//! A flow, with its sender and receiver.

use crate::quic::{Client, QuicSetup};
use crate::scenario::Stack;
use crate::scheme::Built;
use midflight_control::policy::Policy;
use midflight_control::Interests;
use midflight_sim::{FlowConfig, NodeId};
use midflight_units::{Instant, Seq};
use midflight_wire::payload_bytes;
use std::borrow::Cow;
use std::fmt::{self};
use std::sync::{Arc, OnceLock};

/// A sender and a receiver.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) built: Built,
    /// The printed form of its policies, used for comparison; None for policies whose state cannot be
    /// compared.
    policies: OnceLock<Option<String>>,
}

// Values computed later are not part of the address.
impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.built.fmt(f)
    }
}

impl Part {
    pub(crate) fn new(built: Built) -> Self {
        Self {
            built,
            policies: OnceLock::new(),
        }
    }

    /// Its controller draws random numbers.
    pub(crate) fn draws(&self) -> bool {
        self.built.profile.parts.congestion.draws()
    }

    /// The same with a controller that draws from this seed.
    pub(crate) fn seeded(&self, seed: u64) -> Self {
        let mut part = self.clone();
        part.built.profile.parts.congestion.seed(seed);
        part
    }

    pub(super) fn policies(&self) -> Option<&String> {
        let foreign = |policy: &Policy| matches!(policy, Policy::Foreign(_));
        let text = || {
            let policies = &self.built.policies;
            (!policies.iter().any(foreign)).then(|| format!("{policies:?}"))
        };
        self.policies.get_or_init(text).as_ref()
    }

    /// Always false for policies that cannot be compared, even with themselves: each run has its own.
    pub(super) fn has_policies_of(&self, other: &Self) -> bool {
        let policies = self.policies();
        policies.is_some() && (std::ptr::eq(self, other) || policies == other.policies())
    }

    pub(super) fn has_profile_of(&self, other: &Self) -> bool {
        let (a, b) = (&self.built.profile, &other.built.profile);
        let is_same = || (&a.sender, &a.parts, &a.receiver) == (&b.sender, &b.parts, &b.receiver);
        std::ptr::eq(self, other) || is_same()
    }

    pub(super) fn heeds_unneeded(&self) -> bool {
        self.built
            .policies
            .iter()
            .any(|policy| policy.interests().includes(Interests::UNNEEDED))
    }
}

/// A flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowSetup {
    pub(crate) name: Cow<'static, str>,
    /// The entry of a scenario's flows that it belongs to; none outside of scenarios.
    pub(crate) entry: Option<Arc<str>>,
    pub(crate) scheme: Arc<str>,
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) part: Arc<Part>,
    /// One past its last segment; none if it is unlimited.
    pub(crate) end: Option<Seq>,
    pub(crate) opens: Instant,
    /// Number of the link or station of a node that does not move; none for a node that moves, or whose
    /// link changes.
    pub(crate) stays: Option<u16>,
    /// Its data uses the uplink.
    pub(crate) up: bool,
    /// Its TCP or QUIC stack.
    pub(crate) stack: Stack,
    /// Its QUIC parameters, if it runs a QUIC stack.
    pub(crate) quic: Option<Arc<QuicSetup>>,
    /// The addresses of its receiver's node, if our own QUIC follows them.
    pub(crate) client: Option<Arc<Client>>,
    /// Name of the workload that it carries, and whether it carries the messages of the data's receiver.
    pub(crate) app: Option<(&'static str, bool)>,
}

/// The description of a flow for a reader of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowInfo<'a> {
    /// Its name; equal flows are numbered.
    pub name: &'a str,
    /// The entry of a scenario's flows that it belongs to; outside of scenarios its name.
    pub entry: &'a str,
    /// Its scheme.
    pub scheme: &'a str,
    /// Its data uses the uplink.
    pub up: bool,
    /// It belongs to the mobile node.
    pub moves: bool,
    /// Bytes of data in a full segment.
    pub payload_bytes: u32,
    /// Its TCP or QUIC stack.
    pub stack: Stack,
    /// Name of its workload; none for a single transfer.
    pub workload: Option<&'static str>,
    /// It carries the requests of the workload.
    pub is_back: bool,
}

impl FlowSetup {
    /// Its configuration for the simulator, without its policies if they are left open.
    pub(super) fn config(&self, open: bool) -> FlowConfig<'_> {
        let Built { profile, policies } = &self.part.built;
        FlowConfig {
            from: self.from,
            to: self.to,
            sender: &profile.sender,
            parts: &profile.parts,
            receiver: &profile.receiver,
            policies: if open { Vec::new() } else { policies.clone() },
            addresses: self
                .client
                .as_deref()
                .map_or(Vec::new(), |client| client.addresses.clone()),
            migrates: self.client.as_deref().is_some_and(|client| client.migrates),
        }
    }

    /// Its description for a reader of results.
    pub(crate) fn info(&self) -> FlowInfo<'_> {
        FlowInfo {
            name: &self.name,
            entry: self.entry.as_deref().unwrap_or(&self.name),
            scheme: &self.scheme,
            up: self.up,
            moves: self.stays.is_none(),
            stack: self.stack,
            workload: self.app.map(|(name, _)| name),
            is_back: self.app.is_some_and(|(_, is_back)| is_back),
            payload_bytes: match &self.quic {
                Some(quic) => quic.flow.data().segment_bytes,
                None => payload_bytes(&self.part.built.profile).unwrap_or(0),
            },
        }
    }
}
