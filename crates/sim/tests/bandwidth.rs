//! The bandwidth that a congestion controller estimates equals that of the link.

#![allow(clippy::panic, reason = "a failed test panics")]

use midflight_control::congestion::{AnyCongestion, CONGESTION_CONTROLLERS};
use midflight_sim::{Action, Clock, FlowConfig, LinkConfig, NodeId, World, WorldConfig};
use midflight_tcp::{AckRules, Profile, ReceiverConfig, SenderParts, PROFILES};
use midflight_units::{Duration, Instant, Rate};

/// Segments per second that a link carries, and the sender's estimate after three minutes with a
/// window that keeps a queue without losses.
fn estimate(congestion: &AnyCongestion, profile: &Profile, kbps: u64, ms: u64) -> (f64, f64) {
    let rate = Rate::from_bps(kbps * 1000).unwrap_or_else(|| unreachable!());
    let link = |name, from, to| {
        let ends = (NodeId(from), NodeId(to));
        LinkConfig::new(name, ends, rate, Duration::from_millis(ms), None)
    };
    let mut sender = profile.sender;
    let carried = rate.as_bps() as f64 / f64::from(8 * sender.segment_bytes);
    sender.receiver_window = (1.5 * carried * ms as f64 * 2e-3) as u64 + 8;
    let parts = SenderParts {
        congestion: *congestion,
        ..profile.parts
    };
    // The setting above limits the flow, not an advertised window.
    let receiver = ReceiverConfig {
        acks: match profile.receiver.acks {
            // A QUIC sender requires these ACKs.
            acks @ AckRules::Quic { .. } => acks,
            _ => AckRules::Rfc,
        },
        ..profile.receiver
    };
    let flow = FlowConfig {
        from: NodeId(0),
        to: NodeId(1),
        sender: &sender,
        parts: &parts,
        receiver: &receiver,
        policies: Vec::new(),
        addresses: Vec::new(),
        migrates: false,
    };
    let links = vec![link("there", 0, 1), link("back", 1, 0)];
    let link_id = World::<()>::link_id;
    let routes = [
        (NodeId(0), NodeId(1), link_id(0)),
        (NodeId(1), NodeId(0), link_id(1)),
    ];
    let id = World::<()>::flow_id(0);
    let end = Instant::ZERO + Duration::from_secs(180);
    let mut world = World::new(
        WorldConfig {
            clock: Clock::Seconds,
            nodes: 2,
            links: &links,
            routes: &routes,
            flows: vec![flow],
            ..WorldConfig::default()
        },
        (),
    )
    .and_then(|mut world| {
        world.schedule(Instant::ZERO, Action::Open(id))?;
        Ok(world)
    })
    .unwrap_or_else(|e| panic!("{e}"));
    world.run_before(end).unwrap_or_else(|e| panic!("{e}"));
    let view = world.sender(id).view();
    (carried, view.bandwidth.unwrap_or_default())
}

#[test]
fn a_steady_flow_estimates_the_rate_of_its_bottleneck() {
    let mut estimated = 0;
    for info in CONGESTION_CONTROLLERS {
        let controller = AnyCongestion::named(info.name).unwrap_or_else(|| unreachable!());
        if controller.bandwidth(Instant::ZERO).is_none() {
            continue;
        }
        estimated += 1;
        for profile in PROFILES {
            for (kbps, ms) in [(200, 300), (800, 30), (6400, 9), (54_000, 20)] {
                let (carried, found) = estimate(&controller, profile, kbps, ms);
                let error = (found / carried - 1.0).abs();
                assert!(
                    error < 0.03,
                    "{} with {}, {kbps} kbit/s and {ms} ms: {found} for {carried} segments/s",
                    info.name,
                    profile.name
                );
            }
        }
    }
    assert_eq!(estimated, 2);
}
