//! A server, a base station and a mobile node, with a wired link and a radio link in each
//! direction.
#![allow(dead_code, reason = "each test uses a part of it")]

use midflight_sim::{LinkConfig, LinkId, NodeId, World};
use midflight_units::{Duration, Instant, Rate};

pub(crate) const SERVER: NodeId = NodeId(0);
pub(crate) const STATION: NodeId = NodeId(1);
pub(crate) const MOBILE: NodeId = NodeId(2);

/// Links to the station, the mobile node, the station and the server.
pub(crate) const DOWN: u16 = 1;
pub(crate) const UP: u16 = 2;

pub(crate) fn link(index: u16) -> LinkId {
    World::<()>::link_id(index)
}

pub(crate) fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

pub(crate) fn links() -> Vec<LinkConfig> {
    let new = |name, ends, mbps, ms, limit| {
        let delay = Duration::from_millis(ms);
        LinkConfig::new(name, ends, Rate::from_mbps(mbps), delay, Some(limit))
    };
    let radio = |name, ends| LinkConfig {
        may_break: true,
        may_return: true,
        ..new(name, ends, 6, 20, 30)
    };
    vec![
        new("wire", (SERVER, STATION), 100, 5, 100),
        radio("radio", (STATION, MOBILE)),
        radio("radio-up", (MOBILE, STATION)),
        new("wire-up", (STATION, SERVER), 100, 5, 100),
    ]
}

pub(crate) fn routes() -> [(NodeId, NodeId, LinkId); 4] {
    [
        (SERVER, MOBILE, link(0)),
        (STATION, MOBILE, link(1)),
        (MOBILE, SERVER, link(2)),
        (STATION, SERVER, link(3)),
    ]
}
