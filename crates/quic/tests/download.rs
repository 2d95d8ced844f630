//! A download over a link of the simulator.
#![allow(clippy::panic, reason = "a failed test panics")]

use std::net::{Ipv4Addr, SocketAddrV4};

use midflight_quic::{Congestion, Flow, Log, QuicStack, PORT, SEGMENT_BYTES};
use midflight_sim::{
    Action, Digest, End, Event, FlowId, LinkConfig, NodeId, Observer, StackConfig, TransportEvent,
    World, WorldConfig,
};
use midflight_tcp::SenderEvent;
use midflight_units::{Duration, Instant, Rate};

const SERVER: NodeId = NodeId(0);
const CLIENT: NodeId = NodeId(1);
const BYTES: u64 = 3_000_000;
/// The stacks that are part of the build; aioquic needs Python (tests/python/test_quic.py).
const BUILT_IN: [QuicStack; 2] = [QuicStack::Quinn, QuicStack::Noq];

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

#[derive(Clone, Debug, Default)]
struct Seen {
    sent: u64,
    rexmits: u64,
    dropped: u64,
    acked: u64,
    finished: Option<Instant>,
    timeouts: u64,
    cwnd: f64,
    rtt: Option<Duration>,
    events: Vec<(u64, &'static str)>,
    bytes: blake3::Hasher,
}

impl Observer for Seen {
    fn record(&mut self, now: Instant, _flow: FlowId, event: &Event<'_>) {
        match event {
            Event::Sent(segment) => {
                self.sent += 1;
                self.rexmits += u64::from(segment.retransmission);
            }
            Event::AckArrived(ack) if ack.ack > self.acked => {
                self.acked = ack.ack;
                if ack.ack > BYTES.div_ceil(SEGMENT_BYTES.into()) {
                    self.finished.get_or_insert(now);
                }
            }
            Event::Dropped { .. } => self.dropped += 1,
            Event::DatagramSent(datagram) => {
                self.bytes.update(&datagram.bytes);
            }
            Event::Sender(SenderEvent::Timeout(_)) => self.timeouts += 1,
            Event::Sender(SenderEvent::Cwnd { to, .. }) => self.cwnd = *to,
            Event::Sender(SenderEvent::RttSample(rtt)) => {
                self.rtt.get_or_insert(*rtt);
            }
            Event::Transport(event) if !matches!(event, TransportEvent::Lost { .. }) => {
                self.events.push((now.as_nanos() / 1_000_000, event.name()));
            }
            _ => {}
        }
    }
}

fn flow(stack: QuicStack, congestion: Congestion) -> Flow {
    Flow {
        stack,
        congestion,
        tls: false,
        idle: None,
        streams: 1,
        migrates: true,
        multipath: false,
        resumes: false,
        sender: End::Server,
        total: Some(BYTES),
        seed: [7; 32],
        client: SocketAddrV4::new(Ipv4Addr::new(10, 1, 0, 1), 50_000),
        server: SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), PORT),
        log: Log::default(),
    }
}

/// A run; `gap` is a time without the link from 1 s on, after which the client has another address.
fn run(flow: &Flow, gap: Option<u64>) -> (Digest, Seen) {
    let link = |name: &'static str, ends, limit| {
        let mut link = LinkConfig::new(
            name,
            ends,
            Rate::from_mbps(6),
            Duration::from_millis(20),
            Some(limit),
        );
        (link.may_break, link.may_return) = (true, true);
        link
    };
    let links = vec![
        link("down", (SERVER, CLIENT), 60),
        link("up", (CLIENT, SERVER), 60),
    ];
    let [down, up] = [0, 1].map(World::<()>::link_id);
    let routes = [(SERVER, CLIENT, down), (CLIENT, SERVER, up)];
    let other = SocketAddrV4::new(Ipv4Addr::new(10, 2, 0, 1), 50_000);
    let config = WorldConfig {
        nodes: 2,
        links: &links,
        routes: &routes,
        stacks: vec![StackConfig {
            nodes: [CLIENT, SERVER],
            ends: flow.ends().unwrap_or_else(|e| panic!("{e}")),
            addresses: vec![(flow.client, CLIENT), (other, CLIENT)],
            exits: Vec::new(),
            data: Some(flow.data()),
        }],
        ..WorldConfig::default()
    };
    let observer = (Digest::default(), Seen::default());
    let mut world = World::new(config, observer).unwrap_or_else(|e| panic!("{e}"));
    let id = world.stack_id(0);
    let mut plan = vec![(at(10), Action::Open(id))];
    if let Some(gap) = gap {
        let (begins, ends) = (at(1000), at(1000 + gap));
        plan.extend([down, up].map(|link| (begins, Action::Down(link))));
        plan.extend([down, up].map(|link| (ends, Action::Up(link))));
        plan.push((ends, Action::Address(id, 1)));
    }
    for (at, action) in plan {
        world.schedule(at, action).unwrap_or_else(|e| panic!("{e}"));
    }
    let ran = world.run_before(at(40_000));
    ran.unwrap_or_else(|e| panic!("{e}"));
    world.into_observer()
}

/// Every stack with every controller.
fn all() -> impl Iterator<Item = Flow> {
    let with = |stack: QuicStack| stack.congestion().iter().map(move |one| flow(stack, *one));
    BUILT_IN.into_iter().flat_map(with)
}

#[test]
fn a_download_takes_what_the_link_takes() {
    for flow in all() {
        let (_, seen) = run(&flow, None);
        let finished = seen.finished.unwrap_or_else(|| panic!("{seen:?}"));
        let seconds = finished.as_nanos() as f64 / 1e9;
        // 3 MB at 6 Mbit/s with headers.
        assert!((4.0..6.0).contains(&seconds), "{flow:?} {seconds}");
        assert_eq!(seen.acked, 1 + BYTES.div_ceil(SEGMENT_BYTES.into()));
        let least = BYTES / 1180;
        assert!(
            seen.sent - seen.rexmits >= least && seen.sent < 2 * least,
            "{seen:?}"
        );
        let rtt = seen.rtt.unwrap_or_else(|| panic!("{seen:?}"));
        assert!(rtt >= Duration::from_millis(40) && rtt < Duration::from_millis(80));
        // BBRv3 does not fill this queue.
        let is_bbr3 = flow.stack == QuicStack::Noq && flow.congestion == Congestion::Bbr;
        assert_eq!(seen.dropped > 0, !is_bbr3, "{seen:?}");
        assert_eq!(seen.rexmits > 0, !is_bbr3, "{seen:?}");
        assert_eq!(seen.events[0].1, "established");
    }
}

#[test]
fn two_runs_are_equal_to_the_byte_and_another_seed_is_another_run() {
    for flow in all() {
        let of = |flow: &Flow| {
            let (digest, seen) = run(flow, Some(500));
            (digest, seen.bytes.finalize())
        };
        for tls in [false, true] {
            let flow = Flow {
                tls,
                ..flow.clone()
            };
            let first = of(&flow);
            assert_eq!(first, of(&flow), "{flow:?}");
            let seed = [8; 32];
            assert_ne!(first.1, of(&Flow { seed, ..flow }).1);
        }
    }
}

#[test]
fn a_client_migrates_and_its_path_is_validated() {
    for stack in BUILT_IN {
        migrates(stack);
    }
}

fn migrates(stack: QuicStack) {
    let (_, seen) = run(&flow(stack, Congestion::Cubic), Some(500));
    let names: Vec<&str> = seen.events.iter().map(|(_, name)| *name).collect();
    let expected = ["established", "migrates", "migrated", "path_challenge"];
    assert!(names.starts_with(&expected), "{:?}", seen.events);
    assert!(names.contains(&"path_validated"), "{:?}", seen.events);
    assert!(seen.timeouts > 0 && seen.finished.is_some(), "{seen:?}");
    // The client sends at once, and its packet arrives after the one-way delay.
    assert_eq!(seen.events[1].0, 1500);
    assert!(
        (1520..1530).contains(&seen.events[2].0),
        "{:?}",
        seen.events
    );
}

#[test]
fn what_a_stack_writes_of_itself_is_the_same_twice_and_changes_nothing() {
    for flow in all() {
        let (digest, _) = run(&flow, Some(500));
        let written = || {
            let flow = Flow {
                log: Log::kept(),
                ..flow.clone()
            };
            assert_eq!(run(&flow, Some(500)).0, digest);
            flow.log.take()
        };
        let first = written();
        assert_eq!(first, written());
        let text = String::from_utf8_lossy(&first);
        assert!(text.contains("packet_lost") && text.contains("metrics_updated"));
    }
}
