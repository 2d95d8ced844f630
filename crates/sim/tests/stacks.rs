//! Flows of datagrams: TCP endpoints with real bytes over simulated links.
#![allow(clippy::panic, reason = "a failed test panics")]

use crate::common::{at, link, links, routes, DOWN, MOBILE, SERVER, UP};
use midflight_control::{Notice, PathUpdate};
use midflight_endpoint::{Config, Endpoint, Settings};
use midflight_sim::{
    Action, Clock, Digest, DropCause, End, Event, FlowId, Observer, Outgoing, Payload, Stack,
    StackConfig, World, WorldConfig, WorldError,
};
use midflight_tcp::scheme::Scheme;
use midflight_units::Instant;

const BYTES: usize = 2_000_000;

/// A TCP endpoint with an application: the server sends the data that the client requests by
/// connecting.
#[derive(Clone, Debug)]
struct Tcp {
    config: Config,
    remote: std::net::SocketAddrV4,
    end: Option<Endpoint>,
    /// Data to send, and data read.
    to_send: Vec<u8>,
    written: usize,
    read: Vec<u8>,
    notices: usize,
    can_be_copied: bool,
}

fn data() -> Vec<u8> {
    (0..BYTES).map(|i| (i % 251) as u8).collect()
}

impl Tcp {
    fn new(local: &str, remote: &str, to_send: Vec<u8>) -> Self {
        let address = |text: &str| text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
        let scheme = Scheme::named("sack").unwrap_or_else(|e| panic!("{e}"));
        let built = scheme.build("rfc", &[]).unwrap_or_else(|e| panic!("{e}"));
        Self {
            config: Config::new(address(local), Settings::new(built)),
            remote: address(remote),
            end: None,
            to_send,
            written: 0,
            read: Vec::new(),
            notices: 0,
            can_be_copied: true,
        }
    }

    fn end(&mut self) -> &mut Endpoint {
        let listen = || Endpoint::listen(self.config.clone()).unwrap_or_else(|e| panic!("{e}"));
        self.end.get_or_insert_with(listen)
    }

    fn application(&mut self, now: Instant) {
        let (data, written) = (std::mem::take(&mut self.to_send), self.written);
        let more = self.end().write(now, &data[written..]);
        self.written += more;
        if self.written == data.len() && self.end().is_established() {
            self.end().close(now);
        }
        self.to_send = data;
        let mut some = [0; 4096];
        loop {
            let length = self.end().read(now, &mut some);
            if length == 0 {
                break;
            }
            self.read.extend(&some[..length]);
        }
    }
}

impl Stack for Tcp {
    fn open(&mut self, now: Instant) {
        let end = Endpoint::connect(self.config.clone(), self.remote, now);
        self.end = Some(end.unwrap_or_else(|e| panic!("{e}")));
    }

    fn on_datagram(&mut self, now: Instant, datagram: &[u8]) {
        let taken = self.end().on_datagram(now, datagram);
        taken.unwrap_or_else(|e| panic!("{e}"));
        self.application(now);
    }

    fn poll_datagram(&mut self, now: Instant) -> Option<Outgoing> {
        let bytes: Box<[u8]> = self.end().poll_datagram(now)?.into();
        Some(bytes.into())
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.end.as_ref()?.next_timeout()
    }

    fn on_timeout(&mut self, now: Instant) {
        self.end().on_timeout(now);
        self.application(now);
    }

    fn on_notice(&mut self, now: Instant, notice: &Notice) {
        self.notices += 1;
        self.end().on_path_update(now, &PathUpdate::Notice(*notice));
    }

    fn copy(&self) -> Option<Box<dyn Stack>> {
        self.can_be_copied
            .then(|| Box::new(self.clone()) as Box<dyn Stack>)
    }
}

/// Datagrams sent by client and server, arrived, and lost.
#[derive(Clone, Debug, Default)]
struct Counts {
    sent: [u64; 2],
    arrived: u64,
    lost: u64,
    last: Instant,
}

impl Observer for Counts {
    fn record(&mut self, now: Instant, _flow: FlowId, event: &Event<'_>) {
        match event {
            Event::DatagramSent(datagram) => {
                self.sent[usize::from(datagram.from == End::Server)] += 1;
                assert_eq!(datagram.sent, now);
                assert_eq!(datagram.number + 1, self.sent.iter().sum::<u64>());
            }
            Event::DatagramArrived { datagram, .. } => {
                self.arrived += 1;
                self.last = now;
                assert!(now > datagram.sent);
            }
            Event::Dropped { payload, cause, .. } => {
                assert!(matches!(payload, Payload::Datagram(_)));
                assert_ne!(*cause, DropCause::Node);
                self.lost += 1;
            }
            _ => {}
        }
    }
}

type Watched = World<(Digest, Counts)>;

/// The client is at the mobile node; the radio breaks for half a second.
fn world(can_be_copied: bool) -> (Watched, FlowId) {
    let client = Tcp {
        can_be_copied,
        ..Tcp::new("10.0.0.2:49152", "10.0.0.1:80", Vec::new())
    };
    let server = Tcp::new("10.0.0.1:80", "10.0.0.2:49152", data());
    let stack = StackConfig {
        nodes: [MOBILE, SERVER],
        ends: [Box::new(client), Box::new(server)],
        addresses: Vec::new(),
        exits: Vec::new(),
        data: None,
    };
    let config = WorldConfig {
        clock: Clock::Seconds,
        nodes: 3,
        links: &links(),
        routes: &routes(),
        stacks: vec![stack],
        ..WorldConfig::default()
    };
    let mut world = World::new(config, Default::default()).unwrap_or_else(|e| panic!("{e}"));
    let flow = world.stack_id(0);
    for (ms, action) in [
        (10, Action::Open(flow)),
        (1000, Action::Down(link(DOWN))),
        (1000, Action::Down(link(UP))),
        (1500, Action::Up(link(DOWN))),
        (1500, Action::Up(link(UP))),
    ] {
        let planned = world.schedule(at(ms), action);
        planned.unwrap_or_else(|e| panic!("{e}"));
    }
    (world, flow)
}

fn run(world: &mut Watched, ms: u64) {
    world.run_before(at(ms)).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn every_byte_arrives_over_a_break() {
    let (mut world, flow) = world(true);
    run(&mut world, 60_000);
    let (_, counts) = world.observer();
    // 2 MB at 6 Mbit/s, and the break with its consequences.
    let seconds = counts.last.as_nanos() as f64 / 1e9;
    assert!((2.7 + 0.5..10.0).contains(&seconds), "{seconds}");
    assert!(counts.lost > 0);
    assert_eq!(
        counts.sent.iter().sum::<u64>(),
        counts.arrived + counts.lost
    );
    let text = |end| format!("{:?}", world.stack(flow, end).map(Stack::copy));
    assert!(text(End::Client).contains(&format!("read: {:?}", data())));
}

#[test]
fn a_copy_continues_as_the_original() {
    let (mut whole, _) = world(true);
    run(&mut whole, 60_000);
    let (mut past, _) = world(true);
    for ms in [0, 35, 700, 1200, 1501, 3000] {
        run(&mut past, ms);
        let mut copy = past.clone();
        run(&mut copy, 60_000);
        assert_eq!(copy.observer().0, whole.observer().0, "from {ms} ms on");
    }
}

#[test]
fn an_uncopyable_stack_fails_when_a_copy_is_needed() {
    let (mut past, flow) = world(false);
    run(&mut past, 700);
    let mut copy = past.clone();
    let gone = copy.run_before(at(60_000));
    let flow = flow.index() as u32;
    assert_eq!(gone, Err(WorldError::Uncopied { flow }));
    run(&mut past, 60_000);
}

/// Sends datagrams that were passed in from outside, and never sets a timer.
#[derive(Debug)]
struct Outside(std::sync::Arc<std::sync::Mutex<Vec<Box<[u8]>>>>);

impl Stack for Outside {
    fn open(&mut self, _now: Instant) {}

    fn on_datagram(&mut self, _now: Instant, _datagram: &[u8]) {}

    fn poll_datagram(&mut self, _now: Instant) -> Option<Outgoing> {
        self.0.lock().ok()?.pop().map(Into::into)
    }

    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    fn on_timeout(&mut self, _now: Instant) {}

    fn copy(&self) -> Option<Box<dyn Stack>> {
        None
    }
}

#[test]
fn an_end_is_woken_from_outside_once() {
    let inbox = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let ends = [Outside(inbox.clone()), Outside(std::sync::Arc::default())];
    let stack = StackConfig {
        nodes: [MOBILE, SERVER],
        ends: ends.map(|end| Box::new(end) as Box<dyn Stack>),
        addresses: Vec::new(),
        exits: Vec::new(),
        data: None,
    };
    let config = WorldConfig {
        clock: Clock::Seconds,
        nodes: 3,
        links: &links(),
        routes: &routes(),
        stacks: vec![stack],
        ..WorldConfig::default()
    };
    let mut world: Watched =
        World::new(config, Default::default()).unwrap_or_else(|e| panic!("{e}"));
    let flow = world.stack_id(0);
    run(&mut world, 5);
    inbox
        .lock()
        .unwrap_or_else(|e| panic!("{e}"))
        .push(vec![0; 40].into());
    world.wake(flow, End::Client, at(7));
    // It would run endlessly if the end kept its timer.
    run(&mut world, 1000);
    let (_, counts) = world.observer();
    assert_eq!((counts.sent, counts.arrived), ([1, 0], 1));
    assert!(counts.last > at(7));
    assert_eq!(world.next_event().at(), Instant::NEVER);
}

/// Sends a datagram of this many bytes at each of some instants, and nothing else.
#[derive(Clone, Debug)]
struct Few(Vec<(Instant, usize)>);

impl Stack for Few {
    fn open(&mut self, _now: Instant) {}

    fn on_datagram(&mut self, _now: Instant, _datagram: &[u8]) {}

    fn poll_datagram(&mut self, now: Instant) -> Option<Outgoing> {
        let (due, bytes) = *self.0.first()?;
        (due <= now).then(|| {
            self.0.remove(0);
            Box::<[u8]>::from(vec![0; bytes]).into()
        })
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.0.first().map(|&(due, _)| due)
    }

    fn on_timeout(&mut self, _now: Instant) {}

    fn copy(&self) -> Option<Box<dyn Stack>> {
        Some(Box::new(self.clone()))
    }
}

#[test]
fn a_stack_may_want_no_other_timeout() {
    let few = [(20, 1500), (20, 40), (30, 1500)];
    let client = few.map(|(ms, bytes)| (at(ms), bytes)).to_vec();
    let config = WorldConfig {
        clock: Clock::Seconds,
        nodes: 3,
        links: &links(),
        routes: &routes(),
        stacks: vec![StackConfig {
            nodes: [MOBILE, SERVER],
            ends: [Box::new(Few(client)), Box::new(Few(Vec::new()))],
            addresses: Vec::new(),
            exits: Vec::new(),
            data: None,
        }],
        ..WorldConfig::default()
    };
    let mut world: Watched =
        World::new(config, Default::default()).unwrap_or_else(|e| panic!("{e}"));
    let open = world.schedule(at(10), Action::Open(world.stack_id(0)));
    open.unwrap_or_else(|e| panic!("{e}"));
    run(&mut world, 60_000);
    let (_, counts) = world.observer();
    assert_eq!((counts.sent, counts.arrived), ([3, 0], 3));
}
