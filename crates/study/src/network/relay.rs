//! A wired link followed by a radio link: the network of Lim & Jang 2009, figure 10.
//!
//! ```text
//! sender     --\
//!               gateway  --wired--  router  --radio--  mobile node
//! cross host --/
//! ```

use midflight_control::LinkInfo;
use midflight_sim::{random, Impairments, LinkConfig, LinkId, LinkSetting, NodeId, Overhead};
use midflight_units::{Duration, Rate};

use crate::question::{CrossTraffic, FlowHandoff, LongFlow};
use crate::radio::Radio;
use crate::setup::{link_id, Network};
use crate::watch::Place;

pub(crate) const GATEWAY: NodeId = NodeId(0);
pub(crate) const ROUTER: NodeId = NodeId(1);
pub(crate) const MOBILE: NodeId = NodeId(2);
const SENDER: NodeId = NodeId(3);
pub(crate) const CROSS: NodeId = NodeId(4);
const NODES: usize = 5;

const WIRED: u16 = 0;
const RADIO: u16 = 1;
const RADIO_BACK: u16 = 2;
const WIRED_BACK: u16 = 3;
/// The sender's links to and from the gateway, and those of the cross host.
const ACCESS: u16 = 4;
const CROSS_ACCESS: u16 = 6;

/// Rate of the links that are never a bottleneck.
const LOCAL: Rate = Rate::from_mbps(10_000);

/// Names of the links, by their numbers.
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

/// The radio link in both directions.
pub(crate) fn radio_links() -> [LinkId; 2] {
    [RADIO, RADIO_BACK].map(link_id)
}

/// The network of one run of a flow.
pub(crate) struct Relay<'a> {
    pub(crate) flow: &'a LongFlow,
    pub(crate) run: u64,
}

impl Relay<'_> {
    /// The sender's node. A link of its own would only add its transmission time.
    pub(crate) fn sender(&self) -> NodeId {
        if self.flow.cross.flows == 0 && self.flow.overhead == Duration::ZERO {
            GATEWAY
        } else {
            SENDER
        }
    }

    /// The network.
    pub(crate) fn network(&self) -> Network {
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
        ];
        let routes = routes.map(|(node, to, link)| (node, to, link_id(link)));
        // The cross traffic, which ends at the router, is not captured there.
        let at_router = Place {
            name: LINK_NAMES[usize::from(RADIO)].into(),
            links: [RADIO, WIRED_BACK].map(link_id).into(),
            watched_only: true,
            access: radio_links(),
        };
        Network {
            nodes: NODES,
            links: self.links(),
            routes: routes.to_vec(),
            alternatives: Vec::new(),
            hooks: Vec::new(),
            places: vec![at_router],
        }
    }

    fn impairments(&self, radio: &Radio, which: &str) -> Impairments {
        Impairments {
            loss: radio.loss,
            reordering: radio.reordering,
            script: radio.script.clone(),
            seed: random::seed(self.flow.seed, self.run, which, "impairments"),
        }
    }

    fn links(&self) -> Vec<LinkConfig> {
        let (flow, run) = (self.flow, self.run);
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
        let (wired, wired_limit) = (&flow.wired, Some(flow.wired_limit));
        let radio = |number, from, to| {
            let forward = number == RADIO;
            let impaired = |radio: &Radio, which| {
                if forward {
                    self.impairments(radio, which)
                } else {
                    Impairments::default()
                }
            };
            let setting = |h: &FlowHandoff| LinkSetting {
                rate: h.second.link.rate,
                delay: h.second.link.delay,
                limit: Some(h.second.limit),
                impairments: impaired(&h.second, "second radio"),
                cross: None,
            };
            LinkConfig {
                impairments: impaired(&flow.radio, "first radio"),
                settings: flow.handoff.iter().map(setting).collect(),
                may_pause: flow.handoff.is_some(),
                ..link(number, from, to, &flow.radio.link, Some(flow.radio.limit))
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
        let CrossTraffic { delay, spread, .. } = flow.cross;
        let mut drawn = random::stream(flow.seed, run, "cross traffic", "delay");
        let extra = (2.0 * drawn.next_f64() * spread.as_nanos() as f64) as u64;
        let longest = delay + Duration::from_nanos(extra);
        let cross_delay = longest.saturating_sub(spread);
        for (host, number, delay) in [
            (SENDER, ACCESS, Duration::ZERO),
            (CROSS, CROSS_ACCESS, cross_delay),
        ] {
            let overhead = (flow.overhead > Duration::ZERO).then(|| Overhead {
                most: flow.overhead,
                seed: random::seed(flow.seed, run, LINK_NAMES[usize::from(number)], "overhead"),
            });
            links.push(LinkConfig {
                overhead,
                ..link(number, host, GATEWAY, &local(delay), None)
            });
            links.push(link(number + 1, GATEWAY, host, &local(delay), None));
        }
        links
    }
}
