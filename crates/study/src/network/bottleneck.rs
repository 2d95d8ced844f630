//! One bottleneck, which is shared by a host of cross traffic.
//!
//! ```text
//! sender     --\
//!               gateway  --bottleneck--  receiver
//! cross host --/
//! ```

use midflight_control::LinkInfo;
use midflight_sim::{LinkConfig, Marked, NodeId, QueueConfig, QueueKind};
use midflight_units::{Duration, Rate};

use crate::setup::{link_id, Network};
use crate::watch::Place;

pub(crate) const SENDER: NodeId = NodeId(0);
const GATEWAY: NodeId = NodeId(1);
pub(crate) const RECEIVER: NodeId = NodeId(2);
pub(crate) const CROSS: NodeId = NodeId(3);
const NODES: usize = 4;

/// A queue that marks packets of ECN senders that have waited longer than this, and drops only what it has no room for:
/// CoDel with a target that no packet reaches.
fn marking(after: Duration, limit: u32) -> Option<QueueConfig> {
    let kind = QueueKind::named("codel")?;
    let mut parameters = kind.default;
    parameters.target = Duration::from_secs(86_400);
    parameters.packets = limit - 1;
    parameters.threshold = Some((after, Marked::All));
    let seed = 0;
    Some(QueueConfig {
        kind,
        parameters,
        seed,
    })
}

/// The network, where `limit` is the maximum number of packets at the bottleneck, `marks` the wait after
/// which it marks them, `access` the rate of the hosts' links, and `cross_delay` the delay of the
/// cross host's link.
pub(crate) fn network(
    &LinkInfo { rate, delay }: &LinkInfo,
    limit: u32,
    marks: Option<Duration>,
    access: Rate,
    cross_delay: Duration,
) -> Network {
    let local = |name, from, to, delay| LinkConfig::new(name, (from, to), access, delay, None);
    let bottleneck = (GATEWAY, RECEIVER);
    let links = vec![
        LinkConfig {
            queue: marks.and_then(|after| marking(after, limit)),
            ..LinkConfig::new("bottleneck", bottleneck, rate, delay, Some(limit))
        },
        LinkConfig::new("back", (RECEIVER, GATEWAY), rate, delay, None),
        local("access", SENDER, GATEWAY, Duration::ZERO),
        local("access-back", GATEWAY, SENDER, Duration::ZERO),
        local("cross", CROSS, GATEWAY, cross_delay),
        local("cross-back", GATEWAY, CROSS, cross_delay),
    ];
    let routes = [
        (SENDER, RECEIVER, 2),
        (CROSS, RECEIVER, 4),
        (GATEWAY, RECEIVER, 0),
        (RECEIVER, SENDER, 1),
        (RECEIVER, CROSS, 1),
        (GATEWAY, SENDER, 3),
        (GATEWAY, CROSS, 5),
    ];
    let place = Place {
        name: "bottleneck".into(),
        links: [link_id(0), link_id(3)].into(),
        watched_only: true,
        access: [link_id(0), link_id(1)],
    };
    Network {
        nodes: NODES,
        links,
        routes: routes
            .map(|(node, to, link)| (node, to, link_id(link)))
            .to_vec(),
        alternatives: Vec::new(),
        hooks: Vec::new(),
        places: vec![place],
    }
}
