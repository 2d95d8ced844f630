//! The network of Daniel & Kojo 2008, figure 1, and a handoff in it.
//!
//! ```text
//!             BS1 ==old== Wir1
//! CN -- R --<                  >-- MN
//!             BS2 ==new== Wir2
//! ```
//!
//! Wir1 and Wir2 are the mobile node's two interfaces: nothing is lost between
//! them and MN but what a break takes. Several flows from CN to MN move together
//! (Daniel, Järvinen & Kojo, poster on TCP with vertical handoffs; Daniel & Kojo,
//! report on available bandwidth, section 4.2), and a notice says how many. Residents
//! are flows of other nodes, which the new link has from the start: from CN too, they
//! end at Wir2. No notice counts them, since the mobile node knows of its own only.

use midflight_control::quick_start::Routers;
use midflight_control::{LinkInfo, Notice, StartNotice};
use midflight_sim::{
    random, Action, FlowConfig, FlowId, LinkConfig, LinkId, NodeId, Observer, Router, World,
};
use midflight_tcp::Profile;
use midflight_units::{Duration, Instant, Rate};

use crate::capture::Place;
use crate::error::StudyError;
use crate::scheme::Built;

/// How the old and the new link relate in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandoffKind {
    /// Make before break: routes switch at an instant, what is in flight arrives.
    MakeBeforeBreak,
    /// Break before make: from the break on everything on the old link is
    /// lost, and the routes switch after the gap.
    BreakBeforeMake {
        /// Time without a link.
        gap: Duration,
    },
}

/// Most flows of a kind.
pub(crate) const MOST_FLOWS: u32 = 64;

/// The flows of a run. They are numbered: the moving ones from 0, then the residents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flows {
    /// Bulk flows from CN to MN with the same scheme, which move together; 1 to 64.
    pub moving: u32,
    /// Bulk flows over the new link that do not move; 0 to 64.
    pub residents: u32,
    /// The moving flow `i` opens at `i` times this, and so does the resident `i`.
    pub stagger: Duration,
    /// Whether each moving flow is told of the old link before it opens.
    pub start_notice: bool,
}

impl Flows {
    /// One flow, and nobody else.
    pub const ONE: Self = Self {
        moving: 1,
        residents: 0,
        stagger: Duration::ZERO,
        start_notice: false,
    };

    /// How many there are.
    pub fn count(&self) -> usize {
        (self.moving + self.residents) as usize
    }

    /// When flow `i` of either kind opens.
    pub(crate) fn opens(&self, i: u32) -> Instant {
        Instant::ZERO + self.stagger * u64::from(i)
    }

    /// When all are open.
    pub(crate) fn all_open(&self) -> Instant {
        self.opens(self.moving.max(self.residents).saturating_sub(1))
    }

    /// Refuses what no run can hold.
    pub(crate) fn check(&self) -> Result<(), StudyError> {
        check_flows(self.moving, self.residents)
    }
}

/// Refuses numbers of flows and of residents that no run can hold.
pub(crate) fn check_flows(flows: u32, residents: u32) -> Result<(), StudyError> {
    let (what, value, accepted) = if !(1..=MOST_FLOWS).contains(&flows) {
        ("the number of flows", flows, "1 to 64")
    } else if residents > MOST_FLOWS {
        ("the number of residents", residents, "0 to 64")
    } else {
        return Ok(());
    };
    Err(StudyError::Range {
        what,
        value: value.to_string(),
        accepted,
    })
}

/// A handoff of bulk flows from CN to MN between two access links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handoff {
    /// Access link before.
    pub old: LinkInfo,
    /// Access link after.
    pub new: LinkInfo,
    /// Make before break, or break before make.
    pub kind: HandoffKind,
    /// What the mobile node has handed to its old link before a break still passes, as in the papers'
    /// ns-2, where the loss sits between the node and its queue; otherwise it is lost.
    pub spares_uplink: bool,
    /// How long after the handoff completes the senders learn of it; none if never.
    pub notice_delay: Option<Duration>,
    /// Each of the two fixed links CN-R and R-BS; the rate is also that of the
    /// mobile node's interfaces.
    pub fixed: LinkInfo,
    /// Who moves, and who is there already.
    pub flows: Flows,
}

/// A bulk flow from CN.
pub(crate) struct Opening<'a> {
    /// Where it ends.
    pub(crate) to: NodeId,
    /// Its sender and receiver.
    pub(crate) built: &'a Built,
    /// When it opens.
    pub(crate) at: Instant,
    /// What its sender is told right before.
    pub(crate) notice: Option<StartNotice>,
}

const CN: NodeId = NodeId(0);
const R: NodeId = NodeId(1);
const BS1: NodeId = NodeId(2);
const BS2: NodeId = NodeId(3);
const WIR1: NodeId = NodeId(4);
const WIR2: NodeId = NodeId(5);
/// The mobile node.
pub(crate) const MN: NodeId = NodeId(6);
const NODES: usize = 7;

/// Names of the links in the order of their numbers.
pub const LINK_NAMES: [&str; 14] = [
    "cn-r", "r-bs1", "bs1-wir1", "wir1-mn", "r-bs2", "bs2-wir2", "wir2-mn", "mn-wir1", "wir1-bs1",
    "bs1-r", "mn-wir2", "wir2-bs2", "bs2-r", "r-cn",
];
const CN_R: usize = 0;
const R_BS1: usize = 1;
const BS1_WIR1: usize = 2;
const WIR1_MN: usize = 3;
const R_BS2: usize = 4;
const BS2_WIR2: usize = 5;
const MN_WIR1: usize = 7;
const WIR1_BS1: usize = 8;
const BS1_R: usize = 9;
const MN_WIR2: usize = 10;
const WIR2_BS2: usize = 11;
const BS2_R: usize = 12;

/// Where packets towards the mobile node leave a router.
const ROUTED: [usize; 4] = [R_BS1, BS1_WIR1, R_BS2, BS2_WIR2];

/// At a node, for a destination, the link: until a handoff, and for residents.
const ROUTES: [(NodeId, NodeId, usize); 15] = [
    (CN, MN, CN_R),
    (R, MN, R_BS1),
    (BS1, MN, BS1_WIR1),
    (WIR1, MN, WIR1_MN),
    (BS2, MN, BS2_WIR2),
    (WIR2, MN, 6),
    (MN, CN, MN_WIR1),
    (WIR1, CN, WIR1_BS1),
    (BS1, CN, BS1_R),
    (WIR2, CN, WIR2_BS2),
    (BS2, CN, BS2_R),
    (R, CN, 13),
    (CN, WIR2, CN_R),
    (R, WIR2, R_BS2),
    (BS2, WIR2, BS2_WIR2),
];
/// How many of these there are without residents.
const ROUTES_TO_MN: usize = 12;

/// The fixed links that the reference runs have.
pub const REFERENCE_FIXED: LinkInfo = LinkInfo {
    rate: Rate::from_mbps(100),
    delay: Duration::from_millis(2),
};
/// Queue of a fixed link, in packets.
const FIXED_LIMIT: u32 = 10_000;
/// Smallest queue of an access link, in packets (Daniel & Kojo 2008, section 4).
const LEAST_LIMIT: u64 = 5;

/// Queue limit of an access link: its BDP, rate x 2 delay, in 1500-byte
/// packets rounded up, and at least five (Daniel & Kojo 2008, section 4).
fn queue_limit(link: &LinkInfo) -> u32 {
    let bits = u128::from(link.rate.as_bps()) * u128::from(link.delay.as_nanos()) * 2;
    let packets = bits.div_ceil(12_000 * 1_000_000_000);
    u32::try_from(packets)
        .unwrap_or(u32::MAX)
        .max(LEAST_LIMIT as u32)
}

fn link_id(index: usize) -> LinkId {
    World::<()>::link_id(index as u16)
}

pub(crate) fn flow_id(number: u32) -> FlowId {
    World::<()>::flow_id(number)
}

impl Handoff {
    /// The places of captures: both base stations, where a packet is about to
    /// be queued for the link to the mobile node or has come from there.
    pub(crate) fn stations() -> Vec<Place> {
        let at = |name: &str, links: [usize; 2]| Place {
            name: name.into(),
            links: links.map(link_id).to_vec(),
            watched_only: false,
        };
        vec![at("bs1", [BS1_WIR1, BS1_R]), at("bs2", [BS2_WIR2, BS2_R])]
    }

    /// When the new route is in use, for a handoff that starts at `at`.
    pub fn make(&self, at: Instant) -> Instant {
        match self.kind {
            HandoffKind::MakeBeforeBreak => at,
            HandoffKind::BreakBeforeMake { gap } => at + gap,
        }
    }

    /// Links with routers that answer rate requests, if there are any to answer:
    /// at the sender's IP layer, at R and at the base stations.
    fn links(&self, routers: Option<Routers>) -> Vec<LinkConfig> {
        let router = |name: &'static str| {
            let seed = || random::seed(0, 0, name, "router");
            let is = |link: &usize| name == LINK_NAMES[*link];
            match routers {
                Some(routers) if is(&CN_R) => Router::Host(routers, seed()),
                Some(routers) if ROUTED.iter().any(is) => Router::There(routers, seed()),
                _ => Router::None,
            }
        };
        let fixed = |from, to| {
            (
                from,
                to,
                self.fixed.rate,
                self.fixed.delay,
                Some(FIXED_LIMIT),
            )
        };
        let local = |from, to| (from, to, self.fixed.rate, Duration::ZERO, None);
        let access =
            |from, to, link: &LinkInfo| (from, to, link.rate, link.delay, Some(queue_limit(link)));
        let links = [
            fixed(CN, R),
            fixed(R, BS1),
            access(BS1, WIR1, &self.old),
            local(WIR1, MN),
            fixed(R, BS2),
            access(BS2, WIR2, &self.new),
            local(WIR2, MN),
            local(MN, WIR1),
            access(WIR1, BS1, &self.old),
            fixed(BS1, R),
            local(MN, WIR2),
            access(WIR2, BS2, &self.new),
            fixed(BS2, R),
            fixed(R, CN),
        ];
        links
            .into_iter()
            .zip(LINK_NAMES)
            .map(|((from, to, rate, delay, limit), name)| LinkConfig {
                may_break: [WIR1_MN, MN_WIR1].iter().any(|&i| name == LINK_NAMES[i])
                    || name == LINK_NAMES[WIR1_BS1] && !self.spares_uplink,
                router: router(name),
                ..LinkConfig::new(name, (from, to), rate, delay, limit)
            })
            .collect()
    }

    /// The world before anything has happened: the flows, `moving` ones over the
    /// old link and `resident` ones over the new, will open, and no handoff is planned.
    ///
    /// # Errors
    /// [`StudyError::World`].
    pub fn world<O: Observer>(
        &self,
        moving: &Built,
        resident: &Built,
        observer: O,
    ) -> Result<World<O>, StudyError> {
        let flows = self.flows;
        let notice = flows.start_notice.then_some(StartNotice {
            link: self.old,
            flows: flows.moving,
        });
        let opening = |to, built, notice| {
            move |i| Opening {
                to,
                built,
                at: flows.opens(i),
                notice,
            }
        };
        let moving = (0..flows.moving).map(opening(MN, moving, notice));
        let residents = (0..flows.residents).map(opening(WIR2, resident, None));
        self.populated(moving.chain(residents), observer)
    }

    /// The network with these flows, and no handoff planned.
    pub(crate) fn populated<'a, O: Observer>(
        &self,
        openings: impl Iterator<Item = Opening<'a>> + Clone,
        observer: O,
    ) -> Result<World<O>, StudyError> {
        let to_wir2 = openings.clone().any(|opening| opening.to == WIR2);
        let used = if to_wir2 { ROUTES.len() } else { ROUTES_TO_MN };
        let routes: Vec<(NodeId, NodeId, LinkId)> = ROUTES[..used]
            .iter()
            .map(|&(node, to, link)| (node, to, link_id(link)))
            .collect();
        let mut policies = openings.clone().flat_map(|o| &o.built.policies);
        let asked = policies.find_map(|policy| policy.routers());
        let alternatives = [(R, MN, link_id(R_BS2)), (MN, CN, link_id(MN_WIR2))];
        let config = |opening: Opening<'a>| FlowConfig {
            from: CN,
            to: opening.to,
            sender: opening.built.profile.sender,
            receiver: opening.built.profile.receiver,
            policies: opening.built.policies.clone(),
        };
        let mut world = World::new(
            NODES,
            self.links(asked),
            &routes,
            &alternatives,
            openings.clone().map(config).collect(),
            observer,
        )?;
        for (opening, number) in openings.zip(0..) {
            let flow = flow_id(number);
            if let Some(notice) = opening.notice {
                world.schedule(opening.at, Action::NotifyStart(flow, notice))?;
            }
            world.schedule(opening.at, Action::Open(flow))?;
        }
        Ok(world)
    }

    /// Whether two handoffs have the same past: all that happens before either
    /// starts. With residents the new link belongs to it.
    pub(crate) fn shares_past_with(&self, other: &Self) -> bool {
        let past = |h: &Self| (h.old, h.fixed, h.flows, h.spares_uplink);
        past(self) == past(other) && (self.flows.residents == 0 || self.new == other.new)
    }

    /// Makes the world of a handoff with the same past, which has not started yet, one of this.
    pub(crate) fn adopt<O: Observer>(&self, world: &mut World<O>) -> Result<(), StudyError> {
        if self.flows.residents > 0 {
            return Ok(());
        }
        let limit = Some(queue_limit(&self.new));
        for link in [BS2_WIR2, WIR2_BS2] {
            world.retune(link_id(link), self.new.rate, self.new.delay, limit)?;
        }
        Ok(())
    }

    /// When the senders are told, for a handoff that starts at `at`.
    pub(crate) fn notice(&self, at: Instant) -> Option<Instant> {
        self.notice_delay.map(|delay| self.make(at) + delay)
    }

    /// Plans what the mobile node says ahead of a handoff that starts at `at`,
    /// but not before there is a flow to say it to.
    ///
    /// # Errors
    /// [`StudyError::World`].
    pub(crate) fn foresee<O: Observer>(
        &self,
        world: &mut World<O>,
        at: Instant,
        profile: &Profile,
    ) -> Result<(), StudyError> {
        if let Some(warning) = profile.receiver.signal.warning() {
            for i in 0..self.flows.moving {
                let told = at.saturating_sub(warning).max(self.flows.opens(i));
                world.schedule(told, Action::Foresee(flow_id(i)))?;
            }
        }
        Ok(())
    }

    /// Plans the handoff to start at `at`. The mobile node knows the make when
    /// it happens.
    ///
    /// # Errors
    /// [`StudyError::World`] when routes were to hold for longer.
    pub fn plan<O: Observer>(&self, world: &mut World<O>, at: Instant) -> Result<(), StudyError> {
        if let HandoffKind::BreakBeforeMake { .. } = self.kind {
            world.schedule(at, Action::MarkBreak)?;
            world.schedule(at, Action::Down(link_id(WIR1_MN)))?;
            world.schedule(at, Action::Down(link_id(MN_WIR1)))?;
            if !self.spares_uplink {
                for link in [MN_WIR1, WIR1_BS1] {
                    let (link, node) = (link_id(link), MN);
                    world.schedule(at, Action::Purge { link, node })?;
                }
            }
        }
        let make = self.make(at);
        world.schedule(make, Action::MarkMake)?;
        for (node, to, link) in [(R, MN, R_BS2), (MN, CN, MN_WIR2)] {
            let link = link_id(link);
            world.schedule(make, Action::Route { node, to, link })?;
        }
        for i in 0..self.flows.moving {
            world.schedule(make, Action::Attached(flow_id(i), 1))?;
        }
        if let Some(told) = self.notice(at) {
            let notice = Notice {
                old: self.old,
                new: self.new,
                flows: self.flows.moving,
            };
            for i in 0..self.flows.moving {
                world.schedule(told, Action::Notify(flow_id(i), notice))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_queue_limits() {
        let limit = |kbps: u64, ms| {
            let rate = Rate::from_bps(kbps * 1000).unwrap_or(REFERENCE_FIXED.rate);
            queue_limit(&LinkInfo {
                rate,
                delay: Duration::from_millis(ms),
            })
        };
        let of = |kbps| [300, 150, 75, 37, 18, 9, 1].map(|ms| limit(kbps, ms));
        assert_eq!(of(6400), [320, 160, 80, 40, 20, 10, 5]);
        assert_eq!(of(1600), [80, 40, 20, 10, 5, 5, 5]);
        assert_eq!(of(200), [10, 5, 5, 5, 5, 5, 5]);
    }
}
