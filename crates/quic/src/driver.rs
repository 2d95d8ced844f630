//! An end of a flow: a machine with its application, and what is observed of it.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::net::{IpAddr, SocketAddr, SocketAddrV4};
use std::panic::{catch_unwind, AssertUnwindSafe};

use midflight_control::Notice;
use midflight_sim::{Carries, End, Outgoing, Report, Stack, TransportEvent};
use midflight_tcp::{Author, SenderEvent};
use midflight_units::Instant;

use crate::flow::Flow;
use crate::ip::{decode, encode};
use crate::ledger::Ledger;
use crate::machine::{derive, Machine};
use crate::observation::{observing, Message, Observation, ObservedFrame, WindowChange};

/// Bytes of a datagram of QUIC as long as no larger one is known to pass.
const DATAGRAM_BYTES: f64 = 1200.0;

/// An end.
pub(crate) struct Driver {
    side: End,
    sends: bool,
    machine: Box<dyn Machine>,
    /// The address of its node, and those that it has had.
    local: SocketAddrV4,
    others: Vec<SocketAddrV4>,
    /// Its connection may have several paths. The one over which data was sent last.
    is_multipath: bool,
    in_use: u64,
    migrates: bool,
    /// Whether it uses a notice.
    resumes: bool,
    /// Where the client is, as the server has it.
    peer: Option<SocketAddr>,
    ledger: Ledger,
    /// See [`observing`].
    random: (u64, [u8; 32]),
    observed: Vec<Observation>,
    reports: VecDeque<Report>,
    buf: Vec<u8>,
    due: Option<Instant>,
    /// The window reported last.
    window: Option<u64>,
    /// When the last recovery began, until something is acknowledged that was sent since.
    recovery: Option<Instant>,
    /// Losses of what was sent up to then belong to a recovery that has begun.
    recovered: Option<Instant>,
    lost: u64,
    /// More cannot be sent over a path that is not validated.
    is_limited: bool,
    has_failed: bool,
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("side", &self.side)
            .finish_non_exhaustive()
    }
}

impl Driver {
    /// An end of a flow that runs a machine.
    pub(crate) fn new(flow: &Flow, side: End, seed: &[u8; 32], machine: Box<dyn Machine>) -> Self {
        Self {
            side,
            sends: side == flow.sender,
            machine,
            local: flow.address(side),
            others: Vec::new(),
            is_multipath: flow.multipath,
            in_use: 0,
            migrates: flow.migrates,
            resumes: flow.resumes,
            peer: None,
            ledger: Ledger::default(),
            random: (0, derive(seed, "cryptography")),
            observed: Vec::new(),
            reports: VecDeque::new(),
            buf: Vec::new(),
            due: None,
            window: None,
            recovery: None,
            recovered: None,
            lost: 0,
            is_limited: false,
            has_failed: false,
        }
    }

    /// Calls the stack. If it panics, its message is reported and it is not called again.
    fn call<T>(&mut self, call: impl FnOnce(&mut dyn Machine) -> Result<T, String>) -> Option<T> {
        if self.has_failed {
            return None;
        }
        let machine = self.machine.as_mut();
        let guarded = AssertUnwindSafe(|| call(machine));
        let done = observing(&mut self.random, &mut self.observed, || {
            catch_unwind(guarded)
        });
        let done = done.unwrap_or_else(|panic| Err(message(&*panic)));
        match done {
            Ok(done) => Some(done),
            Err(message) => {
                self.has_failed = true;
                self.due = None;
                self.reports.push_back(Report::Failed(message));
                None
            }
        }
    }

    fn wake(&mut self) {
        if self.has_failed {
            return;
        }
        self.due = self.machine.next_timeout();
    }

    fn sender(&mut self, event: SenderEvent<'static>) {
        if self.sends {
            self.reports.push_back(Report::Sender(event));
        }
    }

    fn transport(&mut self, event: TransportEvent) {
        self.reports.push_back(Report::Transport(event));
    }

    /// Reports what was observed; what the last packet sent carries, and its path.
    fn tell(&mut self, now: Instant) -> (Carries, u64) {
        let (mut carries, mut on) = (Carries::Unknown, 0);
        let mut observed = std::mem::take(&mut self.observed);
        for what in observed.drain(..) {
            match what {
                Observation::Packet {
                    sent: true,
                    path,
                    number,
                    frames,
                } => {
                    on = path;
                    if frames.contains(&ObservedFrame::PathChallenge) {
                        self.transport(TransportEvent::Challenge);
                    }
                    if self.sends {
                        carries = self.ledger.sent((path, number), &frames, now);
                    } else if frames
                        .iter()
                        .any(|f| matches!(f, ObservedFrame::Ack { .. }))
                    {
                        carries = Carries::Ack;
                    }
                }
                Observation::Packet { frames, .. } if self.sends => {
                    for frame in &frames {
                        if let ObservedFrame::Ack { path, ranges } = frame {
                            self.acked(now, *path, ranges);
                        }
                    }
                }
                Observation::Packet { .. } => {}
                Observation::Lost { sent, persistent } => self.lost(now, sent, persistent),
                Observation::Window { bytes, by } => {
                    let by = match by {
                        WindowChange::Acked => Author::Controller,
                        WindowChange::Lost => Author::Recovery,
                        WindowChange::New if self.window.is_some() => Author::Path,
                        WindowChange::New => Author::Handshake,
                    };
                    // Each path has a window.
                    let here = self.machine.window(self.in_use);
                    if here.is_none() || here != self.window {
                        self.window(here.unwrap_or(bytes), by);
                    }
                }
                Observation::Said(message) => self.said(message),
                Observation::Secret(line) => self.transport(TransportEvent::Secret(line.into())),
            }
        }
        self.observed = observed;
        let outcome = self.machine.outcome();
        let events = outcome.events.drain(..).map(Report::Transport);
        let read = outcome.read.drain(..).map(Report::Read);
        self.reports.extend(events.chain(read));
        (carries, on)
    }

    fn window(&mut self, bytes: u64, by: Author) {
        self.window = Some(bytes);
        let to = bytes as f64 / DATAGRAM_BYTES;
        self.sender(SenderEvent::Cwnd { to, by });
    }

    /// Data is sent over a path, on which the client has this address.
    fn uses(&mut self, path: u64, client: SocketAddrV4) {
        if std::mem::replace(&mut self.in_use, path) == path {
            return;
        }
        self.transport(TransportEvent::PathUsed(client.to_string().into()));
        if let Some(bytes) = self.machine.window(path) {
            self.window(bytes, Author::Path);
        }
    }

    fn acked(&mut self, now: Instant, path: u64, ranges: &[(u64, u64)]) {
        let Some(acked) = self.ledger.on_ack(path, ranges) else {
            return;
        };
        self.reports.push_back(Report::Acked {
            below: acked.below,
            sent: acked.cause,
        });
        if acked.spurious > 0 {
            let packets = acked.spurious.into();
            self.transport(TransportEvent::Needless { packets });
        }
        if let Some(from) = acked.rtt_from {
            self.sender(SenderEvent::RttSample(now.since(from)));
        }
        if self.recovery.is_some_and(|begun| acked.cause > begun) {
            self.recovery = None;
            self.sender(SenderEvent::RecoveryExit);
        }
    }

    /// Losses were reported to the controller; the newest of the lost packets was sent then. A recovery begins with the loss of
    /// what was sent after the beginning of the last one (RFC 9002 section 7.3.2).
    fn lost(&mut self, now: Instant, sent: Instant, persistent: bool) {
        if !self.sends {
            return;
        }
        let lost = self.machine.lost();
        let packets = lost.saturating_sub(self.lost);
        self.lost = lost;
        if packets > 0 {
            self.transport(TransportEvent::Lost { packets });
        }
        if self.recovered.is_none_or(|begun| sent > begun) {
            (self.recovery, self.recovered) = (Some(now), Some(now));
            let below = self.ledger.below();
            self.reports.push_back(Report::Recovery(below));
        }
        if persistent {
            self.transport(TransportEvent::PersistentCongestion);
        }
    }

    fn said(&mut self, message: Message) {
        match message {
            Message::ProbeTimeout if self.sends => self.reports.push_back(Report::Timeout),
            Message::ProbeTimeout => {}
            // It says so whenever it has something to send.
            Message::AmplificationLimit => {
                if !std::mem::replace(&mut self.is_limited, true) {
                    self.transport(TransportEvent::AmplificationLimit);
                }
            }
            // The server learns of a path by its first packet.
            Message::PathAdded => {
                let found = self.machine.peer().filter(|_| self.side == End::Server);
                if let Some(address) = found {
                    self.is_limited = false;
                    self.transport(TransportEvent::PathFound(address.to_string().into()));
                }
            }
            Message::Migration => {
                self.is_limited = false;
                let now = self.machine.peer();
                let ip = |address: Option<SocketAddr>| address.map(|address| address.ip());
                let port_only = ip(now) == ip(self.peer);
                self.peer = now;
                self.transport(TransportEvent::Migrated { port_only });
            }
            Message::Validated => {
                self.is_limited = false;
                self.transport(TransportEvent::Validated);
            }
            Message::ValidationFailed => {
                self.peer = self.machine.peer();
                self.transport(TransportEvent::ValidationFailed);
            }
        }
    }
}

/// The message of a panic.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it panicked without a message".into())
}

impl Stack for Driver {
    fn open(&mut self, now: Instant) {
        self.call(|machine| machine.connect(now));
        self.tell(now);
    }

    fn send(&mut self, now: Instant, bytes: u64) {
        self.call(|machine| machine.send(now, bytes));
        self.tell(now);
    }

    fn on_datagram(&mut self, now: Instant, datagram: &[u8]) {
        let Some(received) = decode(datagram) else {
            return;
        };
        let from = SocketAddr::V4(received.from);
        let ends = (from, SocketAddr::V4(received.to));
        self.call(|machine| machine.take(now, ends, received.ecn, received.payload));
        if self.side == End::Server && self.peer.is_none() {
            self.peer = Some(from);
        }
        self.tell(now);
    }

    fn poll_datagram(&mut self, now: Instant) -> Option<Outgoing> {
        if let Some((SocketAddr::V4(to), answer)) = self.machine.outcome().answers.pop_front() {
            let bytes = encode(self.local, to, 0, &answer);
            return Some(bytes.into());
        }
        let mut buf = std::mem::take(&mut self.buf);
        buf.clear();
        let sent = self.call(|machine| machine.transmit(now, &mut buf));
        let (carries, path) = self.tell(now);
        let mut datagram = None;
        if let Some((SocketAddr::V4(to), one)) = sent.flatten().map(|one| (one.to, one)) {
            let is_it = |other: &&SocketAddrV4| Some(IpAddr::V4(*other.ip())) == one.from;
            let from = self.others.iter().find(is_it).copied();
            let from = from.unwrap_or(self.local);
            if matches!(carries, Carries::Data { .. }) {
                self.uses(path, if self.side == End::Client { from } else { to });
            }
            let bytes = encode(from, to, one.ecn, &buf);
            datagram = Some(Outgoing { bytes, carries });
        } else {
            self.wake();
        }
        self.buf = buf;
        datagram
    }

    fn poll_report(&mut self) -> Option<Report> {
        self.reports.pop_front()
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.due
    }

    fn on_timeout(&mut self, now: Instant) {
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        self.call(|machine| machine.on_timeout(now));
        self.tell(now);
    }

    fn on_second_address(&mut self, now: Instant, address: SocketAddrV4) {
        if !self.is_multipath {
            return self.on_address(now, address);
        }
        let opened = self.call(|machine| machine.on_second_address(now, SocketAddr::V4(address)));
        if opened == Some(true) {
            self.others.push(self.local);
        }
        self.local = address;
        self.tell(now);
    }

    fn on_address(&mut self, now: Instant, address: SocketAddrV4) {
        self.local = address;
        let migrates = self.migrates && self.machine.has_connection();
        self.call(|machine| machine.on_address(now, SocketAddr::V4(address), migrates));
        if migrates {
            self.transport(TransportEvent::Migrates);
        }
        self.tell(now);
    }

    fn on_notice(&mut self, _now: Instant, notice: &Notice) {
        if self.resumes {
            let share = notice.new.rate.bits_in(notice.new.round_trip()) / 8;
            let half = share / 2 / u64::from(notice.flows.max(1));
            self.machine.resume(half);
        }
    }

    // Connections of the stack cannot be copied.
    fn copy(&self) -> Option<Box<dyn Stack>> {
        None
    }
}

#[cfg(all(test, feature = "quinn"))]
#[allow(clippy::panic, reason = "a failed test panics, and a stack may")]
mod tests {
    use std::net::Ipv4Addr;

    use midflight_sim::{Action, LinkConfig, NodeId, StackConfig, World, WorldConfig, WorldError};
    use midflight_units::{Duration, Rate};

    use super::*;
    use crate::flow::{Congestion, Log, QuicStack, PORT};

    fn flow() -> Flow {
        let address = |last, port| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, last), port);
        Flow {
            stack: QuicStack::Quinn,
            congestion: Congestion::Cubic,
            tls: false,
            idle: None,
            streams: 1,
            migrates: true,
            multipath: false,
            resumes: false,
            sender: End::Server,
            total: None,
            seed: [0; 32],
            client: address(2, 50_000),
            server: address(1, PORT),
            log: Log::default(),
        }
    }

    fn driver(side: End) -> Driver {
        crate::quinn::end(&flow(), side).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn a_panic_in_a_stack_is_reported_and_ends_it() {
        let mut end = driver(End::Client);
        let now = Instant::ZERO + Duration::from_millis(1);
        end.open(now);
        assert!(end.poll_datagram(now).is_some());
        let called = end.call(|_| -> Result<(), String> { panic!("no such path") });
        assert_eq!(called, None);
        assert_eq!(
            end.poll_report(),
            Some(Report::Failed("no such path".into()))
        );
        assert!(end.poll_datagram(now).is_none() && end.next_timeout().is_none());
    }

    /// An end whose stack panics at some instant.
    #[derive(Debug)]
    struct Faulty(Driver, Instant);

    impl Stack for Faulty {
        fn open(&mut self, now: Instant) {
            self.0.open(now);
        }

        fn on_datagram(&mut self, now: Instant, datagram: &[u8]) {
            if now >= self.1 {
                self.0
                    .call(|_| -> Result<(), String> { panic!("no such path") });
            }
            self.0.on_datagram(now, datagram);
        }

        fn poll_datagram(&mut self, now: Instant) -> Option<Outgoing> {
            self.0.poll_datagram(now)
        }

        fn poll_report(&mut self) -> Option<Report> {
            self.0.poll_report()
        }

        fn next_timeout(&self) -> Option<Instant> {
            self.0.next_timeout()
        }

        fn on_timeout(&mut self, now: Instant) {
            self.0.on_timeout(now);
        }

        fn on_address(&mut self, now: Instant, address: SocketAddrV4) {
            self.0.on_address(now, address);
        }

        fn on_notice(&mut self, now: Instant, notice: &Notice) {
            self.0.on_notice(now, notice);
        }

        fn copy(&self) -> Option<Box<dyn Stack>> {
            None
        }
    }

    /// A download until 2 s whose client panics at some instant.
    fn run(panics: Instant) -> Result<(), WorldError> {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let [server, client] = [NodeId(0), NodeId(1)];
        let link = |name, ends| {
            let (rate, delay) = (Rate::from_mbps(6), Duration::from_millis(20));
            LinkConfig::new(name, ends, rate, delay, Some(60))
        };
        let links = [link("down", (server, client)), link("up", (client, server))];
        let [down, up] = [0, 1].map(World::<()>::link_id);
        let faulty = Faulty(driver(End::Client), panics);
        let config = WorldConfig {
            nodes: 2,
            links: &links,
            routes: &[(server, client, down), (client, server, up)],
            stacks: vec![StackConfig {
                nodes: [client, server],
                ends: [Box::new(faulty), Box::new(driver(End::Server))],
                addresses: vec![(flow().client, client)],
                exits: Vec::new(),
                data: Some(flow().data()),
            }],
            ..WorldConfig::default()
        };
        let mut world = World::new(config, ())?;
        world.schedule(at(10), Action::Open(world.stack_id(0)))?;
        world.run_before(at(2000))
    }

    /// The run ends there with the message; another in the same process goes on to its end.
    #[test]
    fn a_panic_ends_its_run_and_not_the_process() {
        let panics = Instant::ZERO + Duration::from_millis(700);
        let ended = run(panics);
        let Err(WorldError::Stack { at, message, .. }) = ended else {
            panic!("{ended:?}");
        };
        assert!(
            at >= panics && at < panics + Duration::from_millis(50),
            "{at}"
        );
        assert_eq!(message, "no such path");
        assert_eq!(run(Instant::NEVER), Ok(()));
    }
}
