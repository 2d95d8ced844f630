//! An end of a flow: an endpoint of the stack with one connection, and an application that sends data over
//! it, or takes them.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::net::{IpAddr, SocketAddr, SocketAddrV4};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Instant as StdInstant, SystemTime};

use bytes::{Bytes, BytesMut};
use midflight_control::Notice;
use midflight_sim::{Carries, End, Outgoing, Report, Stack, TransportEvent};
use midflight_tcp::{Author, SenderEvent};
use midflight_units::Instant;

use super::control::Listened;
use super::proto::{
    self, ClientConfig, Connection, ConnectionHandle, ConnectionId, ConnectionIdGenerator,
    DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig, Event, IdleTimeout, QlogConfig,
    ServerConfig, StreamEvent, StreamId, TimeSource, TransportConfig, VarInt, WriteError,
};
use super::session::{ListenedClient, ListenedServer, Null, SeededKey};
use crate::flow::Flow;
use crate::hearing::{listen, Heard, HeardFrame, Message, WindowChange};
use crate::ip::{decode, encode};
use crate::ledger::Ledger;

/// Bytes of a datagram of QUIC as long as no larger one is known to pass.
const DATAGRAM_BYTES: f64 = 1200.0;
/// What the application writes at a time.
static DATA: [u8; 1 << 16] = [0; 1 << 16];
/// Name of the server in the handshake.
const SERVER_NAME: &str = "midflight.invalid";

/// Where the stack's clock stands at the start of every run. Only differences count.
fn base() -> StdInstant {
    static BASE: OnceLock<StdInstant> = OnceLock::new();
    #[allow(
        clippy::disallowed_methods,
        reason = "an instant has no other origin; nothing depends on when this is"
    )]
    *BASE.get_or_init(StdInstant::now)
}

/// Instants of the simulator as those of the stack.
fn to_std(at: Instant) -> StdInstant {
    base() + std::time::Duration::from_nanos(at.as_nanos())
}

/// The first instant of the simulator that is not before one of the stack.
fn from_std(at: StdInstant) -> Instant {
    Instant::from_nanos(at.saturating_duration_since(base()).as_nanos() as u64)
}

/// Bytes for a purpose, from a seed.
fn derive(seed: &[u8; 32], purpose: &str) -> [u8; 32] {
    *blake3::keyed_hash(seed, purpose.as_bytes()).as_bytes()
}

/// Connection identifiers from a seed.
struct SeededIds {
    seed: [u8; 32],
    made: u64,
}

impl ConnectionIdGenerator for SeededIds {
    fn generate_cid(&mut self) -> ConnectionId {
        self.made += 1;
        let hash = blake3::keyed_hash(&self.seed, &self.made.to_le_bytes());
        ConnectionId::new(&hash.as_bytes()[..self.cid_len()])
    }

    // The stack's own default.
    fn cid_len(&self) -> usize {
        8
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

/// A calendar that does not advance: only tokens have dates, and they are never used.
struct NoCalendar;

impl TimeSource for NoCalendar {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

/// The stack, and the streams of its application.
struct Inner {
    endpoint: Endpoint,
    /// Of the client.
    to_connect: Option<(ClientConfig, SocketAddr)>,
    connection: Option<(ConnectionHandle, Connection)>,
    local_ip: IpAddr,
    sends: bool,
    streams: u64,
    /// Bytes that no stream has been opened for; none for no end.
    total: Option<u64>,
    opened: u64,
    /// Streams that are written to, with what is left to write.
    writing: Vec<(StreamId, u64)>,
    /// What the endpoint itself answers: where to, and what.
    answers: VecDeque<(SocketAddr, Vec<u8>)>,
    events: Vec<TransportEvent>,
}

impl Inner {
    fn connect(&mut self, now: StdInstant) -> Result<(), String> {
        if let Some((config, server)) = self.to_connect.take() {
            let begun = self.endpoint.connect(now, config, server, SERVER_NAME);
            self.connection = Some(begun.map_err(|e| e.to_string())?);
        }
        Ok(())
    }

    fn take(
        &mut self,
        now: StdInstant,
        from: SocketAddr,
        ecn: u8,
        payload: &[u8],
    ) -> Result<(), String> {
        let (ecn, mut answer) = (EcnCodepoint::from_bits(ecn), Vec::new());
        let (bytes, to) = (BytesMut::from(payload), Some(self.local_ip));
        let event = self.endpoint.handle(now, from, to, ecn, bytes, &mut answer);
        match event {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut answer, None);
                self.connection = Some(accepted.map_err(|e| e.cause.to_string())?);
            }
            Some(DatagramEvent::Response(transmit)) => {
                answer.truncate(transmit.size);
                self.answers.push_back((transmit.destination, answer));
            }
            None => {}
        }
        self.serve();
        Ok(())
    }

    /// Passes events between connection and endpoint, and runs the application.
    fn serve(&mut self) {
        let Some((handle, mut connection)) = self.connection.take() else {
            return;
        };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected if self.sends => {
                    self.events.push(TransportEvent::Established);
                    self.open(&mut connection);
                }
                Event::Stream(StreamEvent::Available { .. }) => self.open(&mut connection),
                Event::Stream(StreamEvent::Writable { id }) => self.write(&mut connection, id),
                Event::Stream(StreamEvent::Opened { dir }) => {
                    while let Some(id) = connection.streams().accept(dir) {
                        Self::read(&mut connection, id);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) => Self::read(&mut connection, id),
                Event::ConnectionLost { reason } => {
                    let reason = reason.to_string();
                    self.events.push(TransportEvent::Closed(reason.into()));
                }
                _ => {}
            }
        }
        self.connection = Some((handle, connection));
    }

    /// Opens the streams that the other end allows.
    fn open(&mut self, connection: &mut Connection) {
        while self.sends && self.opened < self.streams {
            let Some(id) = connection.streams().open(Dir::Uni) else {
                return;
            };
            // Equal shares; what is left over goes to the first ones.
            let share = self
                .total
                .map(|total| total / self.streams + u64::from(self.opened < total % self.streams));
            self.opened += 1;
            self.writing.push((id, share.unwrap_or(u64::MAX)));
            self.write(connection, id);
        }
    }

    fn write(&mut self, connection: &mut Connection, id: StreamId) {
        let Some((_, left)) = self.writing.iter_mut().find(|(one, _)| *one == id) else {
            return;
        };
        let mut stream = connection.send_stream(id);
        while *left > 0 {
            let length = (*left).min(DATA.len() as u64) as usize;
            match stream.write_chunks(&mut [Bytes::from_static(&DATA[..length])]) {
                Ok(written) => *left -= written.bytes as u64,
                Err(WriteError::Blocked | WriteError::Stopped(_) | WriteError::ClosedStream) => {
                    return
                }
            }
        }
        // It may be over already where the connection is.
        let _ = stream.finish();
        self.writing.retain(|(one, _)| *one != id);
    }

    /// The application takes all that has come.
    fn read(connection: &mut Connection, id: StreamId) {
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else {
            return;
        };
        while let Ok(Some(_)) = chunks.next(usize::MAX) {}
        // The connection decides itself when to send its credit.
        let _ = chunks.finalize();
    }

    fn transmit(&mut self, now: StdInstant, buf: &mut Vec<u8>) -> Option<(SocketAddr, u8)> {
        let (_, connection) = self.connection.as_mut()?;
        let transmit = connection.poll_transmit(now, 1, buf)?;
        Some((
            transmit.destination,
            transmit.ecn.map_or(0, |ecn| ecn as u8),
        ))
    }
}

/// An end.
pub(crate) struct Driver {
    side: End,
    inner: Inner,
    local: SocketAddrV4,
    migrates: bool,
    /// See [`Listened`]; none if it uses no notice.
    notice: Option<Arc<AtomicU64>>,
    /// Where the client is, as the server has it.
    peer: Option<SocketAddr>,
    ledger: Ledger,
    /// See [`listen`].
    random: (u64, [u8; 32]),
    heard: Vec<Heard>,
    reports: VecDeque<Report>,
    buf: Vec<u8>,
    due: Option<Instant>,
    /// The window reported last.
    has_window: bool,
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

fn transport(flow: &Flow, side: End, notice: &Arc<AtomicU64>) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(Listened::new(flow.congestion, notice)));
    // Links of the simulator have no largest packet to find.
    transport.mtu_discovery_config(None);
    if let Some(writer) = flow.log.writer().filter(|_| side == flow.sender) {
        let mut log = QlogConfig::default();
        log.writer(writer).start_time(base());
        transport.qlog_stream(log.into_stream());
    }
    if let Some(idle) = flow.idle {
        let millis = idle.as_nanos().div_ceil(1_000_000);
        let idle = VarInt::from_u64(millis).unwrap_or(VarInt::MAX);
        transport.max_idle_timeout(Some(IdleTimeout::from(idle)));
    }
    transport
}

impl Driver {
    /// An end of a flow.
    ///
    /// # Errors
    /// None that a flow could cause: what TLS says of its configuration.
    pub(crate) fn new(flow: &Flow, side: End) -> Result<Self, String> {
        let name = match side {
            End::Client => "client",
            End::Server => "server",
        };
        let seed = derive(&flow.seed, name);
        let notice = Arc::new(AtomicU64::new(0));
        let transport = Arc::new(transport(flow, side, &notice));
        let mut config = EndpointConfig::new(Arc::new(SeededKey(derive(&seed, "resets"))));
        let ids = derive(&seed, "connection identifiers");
        config.cid_generator(move || Box::new(SeededIds { seed: ids, made: 0 }));
        config.rng_seed(Some(derive(&seed, "endpoint")));
        let (client_crypto, server_crypto) = crypto(flow)?;
        let server = (side == End::Server).then(|| {
            let key = Arc::new(SeededKey(derive(&seed, "tokens")));
            let mut server = ServerConfig::new(Arc::new(ListenedServer(server_crypto)), key);
            server.transport_config(Arc::clone(&transport));
            server.time_source(Arc::new(NoCalendar));
            Arc::new(server)
        });
        let to_connect = (side == End::Client).then(|| {
            let mut client = ClientConfig::new(Arc::new(ListenedClient(client_crypto)));
            client.transport_config(transport);
            let first = derive(&seed, "first connection identifier");
            client.initial_dst_cid_provider(Arc::new(move || ConnectionId::new(&first[..20])));
            (client, SocketAddr::V4(flow.server))
        });
        let local = match side {
            End::Client => flow.client,
            End::Server => flow.server,
        };
        Ok(Self {
            side,
            inner: Inner {
                endpoint: Endpoint::new(Arc::new(config), server, false, None),
                to_connect,
                connection: None,
                local_ip: IpAddr::V4(*local.ip()),
                sends: side == flow.sender,
                streams: flow.streams,
                total: flow.total,
                opened: 0,
                writing: Vec::new(),
                answers: VecDeque::new(),
                events: Vec::new(),
            },
            local,
            migrates: flow.migrates,
            notice: flow.resumes.then_some(notice),
            peer: None,
            ledger: Ledger::default(),
            random: (0, derive(&seed, "cryptography")),
            heard: Vec::new(),
            reports: VecDeque::new(),
            buf: Vec::new(),
            due: None,
            has_window: false,
            recovery: None,
            recovered: None,
            lost: 0,
            is_limited: false,
            has_failed: false,
        })
    }

    /// Calls the stack. If it panics, its message is reported and it is not called again.
    fn call<T>(
        &mut self,
        now: Instant,
        call: impl FnOnce(&mut Inner, StdInstant) -> Result<T, String>,
    ) -> Option<T> {
        if self.has_failed {
            return None;
        }
        let inner = &mut self.inner;
        let guarded = AssertUnwindSafe(|| call(inner, to_std(now)));
        let done = listen(&mut self.random, &mut self.heard, || catch_unwind(guarded));
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
        let connection = self.inner.connection.as_mut();
        let timeout = connection.and_then(|(_, connection)| connection.poll_timeout());
        self.due = timeout.map(from_std);
    }

    fn sender(&mut self, event: SenderEvent<'static>) {
        if self.inner.sends {
            self.reports.push_back(Report::Sender(event));
        }
    }

    fn transport(&mut self, event: TransportEvent) {
        self.reports.push_back(Report::Transport(event));
    }

    /// Reports what was heard; what the last packet sent carries.
    fn tell(&mut self, now: Instant) -> Carries {
        let mut carries = Carries::Unknown;
        let mut heard = std::mem::take(&mut self.heard);
        for what in heard.drain(..) {
            match what {
                Heard::Packet {
                    sent: true,
                    number,
                    frames,
                } => {
                    if frames.contains(&HeardFrame::PathChallenge) {
                        self.transport(TransportEvent::Challenge);
                    }
                    if self.inner.sends {
                        carries = self.ledger.sent(number, &frames, now);
                    } else if frames.iter().any(|f| matches!(f, HeardFrame::Ack(_))) {
                        carries = Carries::Ack;
                    }
                }
                Heard::Packet { frames, .. } if self.inner.sends => {
                    for frame in &frames {
                        if let HeardFrame::Ack(ranges) = frame {
                            self.acked(now, ranges);
                        }
                    }
                }
                Heard::Packet { .. } => {}
                Heard::Lost { sent, persistent } => self.lost(now, sent, persistent),
                Heard::Window { bytes, by } => {
                    let by = match by {
                        WindowChange::Acked => Author::Controller,
                        WindowChange::Lost => Author::Recovery,
                        WindowChange::New if self.has_window => Author::Path,
                        WindowChange::New => Author::Handshake,
                    };
                    self.has_window = true;
                    let to = bytes as f64 / DATAGRAM_BYTES;
                    self.sender(SenderEvent::Cwnd { to, by });
                }
                Heard::Said(message) => self.said(message),
                Heard::Secret(line) => self.transport(TransportEvent::Secret(line.into())),
            }
        }
        self.heard = heard;
        for event in std::mem::take(&mut self.inner.events) {
            self.transport(event);
        }
        carries
    }

    fn acked(&mut self, now: Instant, ranges: &[(u64, u64)]) {
        let Some(acked) = self.ledger.on_ack(ranges) else {
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

    /// The controller was told of losses, the newest of which was sent then. A recovery begins with the loss of
    /// what was sent after the beginning of the last one (RFC 9002 section 7.3.2).
    fn lost(&mut self, now: Instant, sent: StdInstant, persistent: bool) {
        if !self.inner.sends {
            return;
        }
        let connection = self.inner.connection.as_ref();
        let lost = connection.map_or(0, |(_, one)| one.stats().path.lost_packets);
        let packets = lost.saturating_sub(self.lost);
        self.lost = lost;
        if packets > 0 {
            self.transport(TransportEvent::Lost { packets });
        }
        if self.recovered.is_none_or(|begun| from_std(sent) > begun) {
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
            Message::ProbeTimeout if self.inner.sends => self.reports.push_back(Report::Timeout),
            Message::ProbeTimeout => {}
            // It says so whenever it has something to send.
            Message::AmplificationLimit => {
                if !std::mem::replace(&mut self.is_limited, true) {
                    self.transport(TransportEvent::AmplificationLimit);
                }
            }
            Message::Migration => {
                self.is_limited = false;
                let connection = self.inner.connection.as_ref();
                let now = connection.map(|(_, connection)| connection.remote_address());
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
                let connection = self.inner.connection.as_ref();
                self.peer = connection.map(|(_, connection)| connection.remote_address());
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

type Crypto = (
    Arc<dyn proto::crypto::ClientConfig>,
    Arc<dyn proto::crypto::ServerConfig>,
);

/// The cryptography of both ends.
#[cfg_attr(
    not(feature = "tls"),
    allow(clippy::unnecessary_wraps, reason = "only TLS can fail")
)]
fn crypto(flow: &Flow) -> Result<Crypto, String> {
    #[cfg(feature = "tls")]
    if flow.tls {
        use super::proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
        let (client, server) = crate::tls::configs().map_err(|e| e.to_string())?;
        let client = QuicClientConfig::try_from(client).map_err(|e| e.to_string())?;
        let server = QuicServerConfig::try_from(server).map_err(|e| e.to_string())?;
        return Ok((Arc::new(client), Arc::new(server)));
    }
    let _ = flow;
    Ok((Arc::new(Null), Arc::new(Null)))
}

impl Stack for Driver {
    fn open(&mut self, now: Instant) {
        self.call(now, Inner::connect);
        self.tell(now);
    }

    fn on_datagram(&mut self, now: Instant, datagram: &[u8]) {
        let Some(received) = decode(datagram) else {
            return;
        };
        let from = SocketAddr::V4(received.from);
        self.call(now, |inner, now| {
            inner.take(now, from, received.ecn, received.payload)
        });
        if self.side == End::Server && self.peer.is_none() {
            self.peer = Some(from);
        }
        self.tell(now);
    }

    fn poll_datagram(&mut self, now: Instant) -> Option<Outgoing> {
        if let Some((SocketAddr::V4(to), answer)) = self.inner.answers.pop_front() {
            let bytes = encode(self.local, to, 0, &answer);
            return Some(bytes.into());
        }
        let mut buf = std::mem::take(&mut self.buf);
        buf.clear();
        let sent = self.call(now, |inner, now| Ok(inner.transmit(now, &mut buf)));
        let carries = self.tell(now);
        let datagram = if let Some((SocketAddr::V4(to), ecn)) = sent.flatten() {
            let bytes = encode(self.local, to, ecn, &buf);
            Some(Outgoing { bytes, carries })
        } else {
            self.wake();
            None
        };
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
        self.call(now, |inner, now| {
            if let Some((_, connection)) = &mut inner.connection {
                connection.handle_timeout(now);
            }
            inner.serve();
            Ok(())
        });
        self.tell(now);
    }

    fn on_address(&mut self, now: Instant, address: SocketAddrV4) {
        self.local = address;
        self.inner.local_ip = IpAddr::V4(*address.ip());
        if !self.migrates || self.inner.connection.is_none() {
            return;
        }
        self.call(now, |inner, _| {
            if let Some((_, connection)) = &mut inner.connection {
                connection.local_address_changed();
            }
            Ok(())
        });
        self.transport(TransportEvent::Migrates);
        self.tell(now);
    }

    fn on_notice(&mut self, _now: Instant, notice: &Notice) {
        if let Some(told) = &self.notice {
            let share = notice.new.rate.bits_in(notice.new.round_trip()) / 8;
            let half = share / 2 / u64::from(notice.flows.max(1));
            told.store(half, Ordering::Relaxed);
        }
    }

    // Connections of the stack cannot be copied.
    fn copy(&self) -> Option<Box<dyn Stack>> {
        None
    }
}

#[cfg(test)]
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
        Driver::new(&flow(), side).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn a_panic_in_a_stack_is_told_and_ends_it() {
        let mut end = driver(End::Client);
        let now = Instant::ZERO + Duration::from_millis(1);
        end.open(now);
        assert!(end.poll_datagram(now).is_some());
        let called = end.call(now, |_, _| -> Result<(), String> { panic!("no such path") });
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
                    .call(now, |_, _| -> Result<(), String> { panic!("no such path") });
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
