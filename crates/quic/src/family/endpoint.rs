//! An endpoint of the stack with one connection, and an application that sends data over it, or takes them.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::SystemTime;

use bytes::{Bytes, BytesMut};
use midflight_sim::{End, TransportEvent};
use midflight_units::Instant;

use super::control::ObservedControllers;
use super::dialect;
use super::proto::{
    self, ClientConfig, Connection, ConnectionHandle, ConnectionId, ConnectionIdGenerator,
    DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig, Event, IdleTimeout, ServerConfig,
    StreamEvent, StreamId, TimeSource, TransportConfig, VarInt, WriteError,
};
use super::session::{Null, ObservedClient, ObservedServer, SeededKey};
use crate::driver::Driver;
use crate::flow::Flow;
use crate::foreign::SERVER_NAME;
use crate::machine::{derive, from_std, shares, to_std, Machine, Outcome, Transmit};

/// What the application writes at a time.
static DATA: [u8; 1 << 16] = [0; 1 << 16];

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
pub(crate) struct StackEnd {
    endpoint: Endpoint,
    /// Of the client.
    to_connect: Option<(ClientConfig, SocketAddr)>,
    connection: Option<(ConnectionHandle, Connection)>,
    /// Its address, and the server's.
    local: SocketAddr,
    server: SocketAddr,
    /// Its connection may have several paths.
    is_multipath: bool,
    paths: dialect::Paths,
    sends: bool,
    /// See [`ObservedControllers`].
    notice: Arc<AtomicU64>,
    is_connected: bool,
    /// Bytes of the streams that are not open yet, in their order; of one without end more than can be sent.
    to_open: VecDeque<u64>,
    /// Streams that are written to, with what is left to write.
    writing: Vec<(StreamId, u64)>,
    outcome: Outcome,
}

impl StackEnd {
    /// Passes events between connection and endpoint, and runs the application.
    fn serve(&mut self, now: Instant) {
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
                Event::Connected => {
                    if self.sends {
                        self.outcome.events.push(TransportEvent::Established);
                    }
                    self.is_connected = true;
                    self.open(&mut connection);
                }
                Event::Stream(StreamEvent::Available { .. }) => self.open(&mut connection),
                Event::Stream(StreamEvent::Writable { id }) => self.write(&mut connection, id),
                Event::Stream(StreamEvent::Opened { dir }) => {
                    while let Some(id) = connection.streams().accept(dir) {
                        self.read(&mut connection, id);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) => self.read(&mut connection, id),
                Event::ConnectionLost { reason } => {
                    let reason = reason.to_string();
                    self.outcome
                        .events
                        .push(TransportEvent::Closed(reason.into()));
                }
                event => self.paths.on_event(&event),
            }
        }
        if self.is_multipath {
            let events = &mut self.outcome.events;
            let now = to_std(now);
            self.paths.settle(&mut connection, now, self.local, events);
        }
        self.connection = Some((handle, connection));
    }

    /// Opens the streams that the other end allows.
    fn open(&mut self, connection: &mut Connection) {
        while let Some(&bytes) = self.to_open.front() {
            let Some(id) = connection.streams().open(Dir::Uni) else {
                return;
            };
            self.to_open.pop_front();
            self.writing.push((id, bytes));
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
            match dialect::write(&mut stream, Bytes::from_static(&DATA[..length])) {
                Ok(written) => *left -= written as u64,
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
    fn read(&mut self, connection: &mut Connection, id: StreamId) {
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else {
            return;
        };
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(_)) => {}
                Ok(None) => {
                    self.outcome.read.push(id.index());
                    break;
                }
                Err(_) => break,
            }
        }
        // The connection decides itself when to send its credit.
        let _ = chunks.finalize();
    }
}

impl Machine for StackEnd {
    fn connect(&mut self, now: Instant) -> Result<(), String> {
        if let Some((config, server)) = self.to_connect.take() {
            let now = to_std(now);
            let begun = self.endpoint.connect(now, config, server, SERVER_NAME);
            self.connection = Some(begun.map_err(|e| e.to_string())?);
        }
        Ok(())
    }

    fn take(
        &mut self,
        at: Instant,
        (from, to): (SocketAddr, SocketAddr),
        ecn: u8,
        payload: &[u8],
    ) -> Result<(), String> {
        let now = to_std(at);
        let (ecn, mut answer) = (EcnCodepoint::from_bits(ecn), Vec::new());
        let to = if self.is_multipath { to } else { self.local };
        let (bytes, path) = (BytesMut::from(payload), (from, to.ip()));
        let event = dialect::handle(&mut self.endpoint, now, path, ecn, bytes, &mut answer);
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
                self.outcome
                    .answers
                    .push_back((transmit.destination, answer));
            }
            None => {}
        }
        self.serve(at);
        Ok(())
    }

    fn transmit(&mut self, now: Instant, buf: &mut Vec<u8>) -> Result<Option<Transmit>, String> {
        let connection = self.connection.as_mut();
        let transmit = connection
            .and_then(|(_, connection)| connection.poll_transmit(to_std(now), dialect::ONE, buf));
        Ok(transmit.map(|one| Transmit {
            to: one.destination,
            from: one.src_ip.filter(|_| self.is_multipath),
            ecn: one.ecn.map_or(0, |ecn| ecn as u8),
        }))
    }

    fn on_timeout(&mut self, now: Instant) -> Result<(), String> {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(to_std(now));
        }
        self.serve(now);
        Ok(())
    }

    fn next_timeout(&mut self) -> Option<Instant> {
        let (_, connection) = self.connection.as_mut()?;
        connection.poll_timeout().map(from_std)
    }

    fn send(&mut self, _now: Instant, bytes: u64) -> Result<(), String> {
        self.to_open.push_back(bytes);
        let connection = self.connection.take_if(|_| self.is_connected);
        if let Some((handle, mut connection)) = connection {
            self.open(&mut connection);
            self.connection = Some((handle, connection));
        }
        Ok(())
    }

    fn on_address(
        &mut self,
        now: Instant,
        address: SocketAddr,
        migrates: bool,
    ) -> Result<(), String> {
        self.local = address;
        if let Some((_, connection)) = self.connection.as_mut().filter(|_| migrates) {
            dialect::migrate(connection, to_std(now));
        }
        if self.is_multipath {
            self.serve(now);
        }
        Ok(())
    }

    fn on_second_address(&mut self, now: Instant, address: SocketAddr) -> Result<bool, String> {
        let ends = (address, self.server);
        let connection = self.connection.as_mut().filter(|_| self.is_multipath);
        let is_open = connection
            .is_some_and(|(_, connection)| self.paths.open(connection, to_std(now), ends));
        if is_open {
            self.local = address;
            let opened = TransportEvent::PathOpened(address.to_string().into());
            self.outcome.events.push(opened);
            return Ok(true);
        }
        if self.has_connection() {
            self.outcome.events.push(TransportEvent::Migrates);
        }
        self.on_address(now, address, true)?;
        Ok(false)
    }

    fn window(&self, path: u64) -> Option<u64> {
        let (_, connection) = self.connection.as_ref().filter(|_| self.is_multipath)?;
        dialect::window(connection, path)
    }

    fn resume(&mut self, bytes: u64) {
        self.notice.store(bytes, Ordering::Relaxed);
    }

    fn has_connection(&self) -> bool {
        self.connection.is_some()
    }

    fn peer(&self) -> Option<SocketAddr> {
        let (_, connection) = self.connection.as_ref()?;
        dialect::peer(connection)
    }

    fn lost(&mut self) -> u64 {
        let connection = self.connection.as_mut();
        connection.map_or(0, |(_, connection)| dialect::lost(connection))
    }

    fn outcome(&mut self) -> &mut Outcome {
        &mut self.outcome
    }
}

fn transport(flow: &Flow, side: End, controllers: ObservedControllers) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(controllers));
    // Links of the simulator have no largest packet to find.
    transport.mtu_discovery_config(None);
    if let Some(writer) = flow.log.writer().filter(|_| side == flow.sender) {
        dialect::log(&mut transport, writer);
    }
    if flow.multipath {
        dialect::Paths::allow(&mut transport);
    }
    if let Some(idle) = flow.idle {
        let millis = idle.as_nanos().div_ceil(1_000_000);
        let idle = VarInt::from_u64(millis).unwrap_or(VarInt::MAX);
        transport.max_idle_timeout(Some(IdleTimeout::from(idle)));
    }
    transport
}

/// An end of a flow.
///
/// # Errors
/// None that a flow could cause: what TLS says of its configuration.
pub(crate) fn end(flow: &Flow, side: End) -> Result<Driver, String> {
    let name = match side {
        End::Client => "client",
        End::Server => "server",
    };
    let seed = derive(&flow.seed, name);
    let notice = Arc::new(AtomicU64::new(0));
    let controllers = ObservedControllers::new(flow.congestion, &notice);
    let transport = Arc::new(transport(flow, side, controllers));
    let mut config = EndpointConfig::new(Arc::new(SeededKey(derive(&seed, "resets"))));
    let ids = derive(&seed, "connection identifiers");
    dialect::identifiers(&mut config, move || {
        Box::new(SeededIds { seed: ids, made: 0 })
    });
    config.rng_seed(Some(derive(&seed, "endpoint")));
    let (client_crypto, server_crypto) = crypto(flow)?;
    let server = (side == End::Server).then(|| {
        let key = Arc::new(SeededKey(derive(&seed, "tokens")));
        let mut server = ServerConfig::new(Arc::new(ObservedServer(server_crypto)), key);
        server.transport_config(Arc::clone(&transport));
        server.time_source(Arc::new(NoCalendar));
        Arc::new(server)
    });
    let to_connect = (side == End::Client).then(|| {
        let mut client = ClientConfig::new(Arc::new(ObservedClient(client_crypto)));
        client.transport_config(transport);
        let first = derive(&seed, "first connection identifier");
        client.initial_dst_cid_provider(Arc::new(move || ConnectionId::new(&first[..20])));
        (client, SocketAddr::V4(flow.server))
    });
    let sends = side == flow.sender;
    let machine = StackEnd {
        endpoint: dialect::endpoint(config, server),
        to_connect,
        connection: None,
        local: SocketAddr::V4(flow.address(side)),
        server: SocketAddr::V4(flow.server),
        is_multipath: flow.multipath,
        paths: dialect::Paths::default(),
        sends,
        notice,
        is_connected: false,
        to_open: if sends {
            shares(flow.total, flow.streams)
        } else {
            VecDeque::new()
        },
        writing: Vec::new(),
        outcome: Outcome::default(),
    };
    Ok(Driver::new(flow, side, &seed, Box::new(machine)))
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
        use proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
        let (client, server) = crate::tls::configs().map_err(|e| e.to_string())?;
        let client = QuicClientConfig::try_from(client).map_err(|e| e.to_string())?;
        let server = QuicServerConfig::try_from(server).map_err(|e| e.to_string())?;
        return Ok((Arc::new(client), Arc::new(server)));
    }
    let _ = flow;
    Ok((Arc::new(Null), Arc::new(Null)))
}
