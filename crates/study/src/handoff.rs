//! The network of Daniel & Kojo 2008, figure 1, and a handoff in it.
//!
//! ```text
//!             BS1 ==old== Wir1
//! CN -- R --<                  >-- MN
//!             BS2 ==new== Wir2
//! ```
//!
//! Wir1 and Wir2 are the mobile node's two interfaces: nothing is lost between
//! them and MN but what a break takes.

use midflight_control::policy::Policy;
use midflight_control::{LinkInfo, Notice};
use midflight_sim::{Action, FlowConfig, FlowId, LinkConfig, LinkId, NodeId, Observer, World};
use midflight_tcp::Profile;
use midflight_units::{Duration, Instant, Rate};

use crate::capture::Place;
use crate::error::StudyError;

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

/// A handoff of one bulk flow from CN to MN between two access links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handoff {
    /// Access link before.
    pub old: LinkInfo,
    /// Access link after.
    pub new: LinkInfo,
    /// Make before break, or break before make.
    pub kind: HandoffKind,
    /// How long after the handoff completes the sender learns of it; none if never.
    pub notice_delay: Option<Duration>,
    /// Each of the two fixed links CN-R and R-BS; the rate is also that of the
    /// mobile node's interfaces.
    pub fixed: LinkInfo,
}

const CN: NodeId = NodeId(0);
const R: NodeId = NodeId(1);
const BS1: NodeId = NodeId(2);
const BS2: NodeId = NodeId(3);
const WIR1: NodeId = NodeId(4);
const WIR2: NodeId = NodeId(5);
const MN: NodeId = NodeId(6);
const NODES: usize = 7;

/// Names of the links in the order of their numbers.
pub const LINK_NAMES: [&str; 14] = [
    "cn-r", "r-bs1", "bs1-wir1", "wir1-mn", "r-bs2", "bs2-wir2", "wir2-mn", "mn-wir1", "wir1-bs1",
    "bs1-r", "mn-wir2", "wir2-bs2", "bs2-r", "r-cn",
];
const R_BS1: usize = 1;
const BS1_WIR1: usize = 2;
const WIR1_MN: usize = 3;
const R_BS2: usize = 4;
const BS2_WIR2: usize = 5;
const MN_WIR1: usize = 7;
const BS1_R: usize = 9;
const MN_WIR2: usize = 10;
const WIR2_BS2: usize = 11;
const BS2_R: usize = 12;

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

fn flow() -> FlowId {
    World::<()>::flow_id(0)
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

    fn links(&self) -> Vec<LinkConfig> {
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
                may_break: name == LINK_NAMES[WIR1_MN] || name == LINK_NAMES[MN_WIR1],
                ..LinkConfig::new(name, (from, to), rate, delay, limit)
            })
            .collect()
    }

    /// The world before anything has happened: the flow opens at time zero
    /// over the old link, and no handoff is planned.
    ///
    /// # Errors
    /// [`StudyError::World`].
    pub fn world<O: Observer>(
        &self,
        profile: &Profile,
        policies: Vec<Policy>,
        observer: O,
    ) -> Result<World<O>, StudyError> {
        let routes: Vec<(NodeId, NodeId, LinkId)> = [
            (CN, MN, 0),
            (R, MN, R_BS1),
            (BS1, MN, BS1_WIR1),
            (WIR1, MN, WIR1_MN),
            (BS2, MN, BS2_WIR2),
            (WIR2, MN, 6),
            (MN, CN, MN_WIR1),
            (WIR1, CN, 8),
            (BS1, CN, BS1_R),
            (WIR2, CN, WIR2_BS2),
            (BS2, CN, BS2_R),
            (R, CN, 13),
        ]
        .into_iter()
        .map(|(node, to, link)| (node, to, link_id(link)))
        .collect();
        let alternatives = [(R, MN, link_id(R_BS2)), (MN, CN, link_id(MN_WIR2))];
        let flow_config = FlowConfig {
            from: CN,
            to: MN,
            sender: profile.sender,
            receiver: profile.receiver,
            policies,
        };
        let mut world = World::new(
            NODES,
            self.links(),
            &routes,
            &alternatives,
            vec![flow_config],
            observer,
        )?;
        world.schedule(Instant::ZERO, Action::Open(flow()))?;
        Ok(world)
    }

    /// Whether two handoffs have the same past: all that happens before either starts.
    pub(crate) fn shares_past_with(&self, other: &Self) -> bool {
        (self.old, self.fixed) == (other.old, other.fixed)
    }

    /// Makes the world of a handoff with the same past, which has not started yet, one of this.
    pub(crate) fn adopt<O: Observer>(&self, world: &mut World<O>) -> Result<(), StudyError> {
        let limit = Some(queue_limit(&self.new));
        for link in [BS2_WIR2, WIR2_BS2] {
            world.retune(link_id(link), self.new.rate, self.new.delay, limit)?;
        }
        Ok(())
    }

    /// When the sender is told, for a handoff that starts at `at`.
    pub(crate) fn notice(&self, at: Instant) -> Option<Instant> {
        self.notice_delay.map(|delay| self.make(at) + delay)
    }

    /// Plans what the mobile node says ahead of a handoff that starts at `at`.
    ///
    /// # Errors
    /// [`StudyError::World`].
    pub(crate) fn foresee<O: Observer>(
        world: &mut World<O>,
        at: Instant,
        profile: &Profile,
    ) -> Result<(), StudyError> {
        if let Some(warning) = profile.receiver.signal.warning() {
            world.schedule(at.saturating_sub(warning), Action::Foresee(flow()))?;
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
        }
        let make = self.make(at);
        world.schedule(make, Action::MarkMake)?;
        for (node, to, link) in [(R, MN, R_BS2), (MN, CN, MN_WIR2)] {
            let link = link_id(link);
            world.schedule(make, Action::Route { node, to, link })?;
        }
        world.schedule(make, Action::Attached(flow(), 1))?;
        if let Some(told) = self.notice(at) {
            let notice = Notice {
                old: self.old,
                new: self.new,
                flows: 1,
            };
            world.schedule(told, Action::Notify(flow(), notice))?;
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
