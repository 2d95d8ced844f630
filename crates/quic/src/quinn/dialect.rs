//! What is quinn-proto's own among the stacks of its family.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use midflight_sim::TransportEvent;

pub(super) use super::proto::congestion::BbrConfig as Bbr;
use super::proto::crypto::{AeadKey, CryptoError, HandshakeTokenKey, PacketKey};
use super::proto::{
    Connection, ConnectionId, ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint,
    EndpointConfig, Event, QlogConfig, SendStream, ServerConfig, TransportConfig, TransportError,
    TransportErrorCode, WriteError,
};
use super::session::{Open, SeededKey};
use crate::machine::base;

/// One datagram at a time.
pub(super) const ONE: usize = 1;
/// Connections have one path at a time.
pub(super) type PathId = ();
/// How a connection identifier is handed over.
pub(super) type Id<'a> = &'a ConnectionId;
/// How a configuration makes a session.
pub(super) type Maker<'a, T> = Arc<T>;

pub(super) fn endpoint(config: EndpointConfig, server: Option<Arc<ServerConfig>>) -> Endpoint {
    Endpoint::new(Arc::new(config), server, false, None)
}

pub(super) fn identifiers(
    config: &mut EndpointConfig,
    make: impl Fn() -> Box<dyn ConnectionIdGenerator> + Send + Sync + 'static,
) {
    config.cid_generator(make);
}

pub(super) fn log(transport: &mut TransportConfig, writer: Box<dyn Write + Send + Sync>) {
    let mut log = QlogConfig::default();
    log.writer(writer).start_time(base());
    transport.qlog_stream(log.into_stream());
}

pub(super) fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    (from, to): (SocketAddr, IpAddr),
    ecn: Option<EcnCodepoint>,
    bytes: BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, from, Some(to), ecn, bytes, answer)
}

/// The number of a path.
pub(super) fn number((): PathId) -> u64 {
    0
}

/// Several paths of a connection: this stack has not got them, and a flow that asks for them is refused.
#[derive(Default)]
pub(super) struct Paths {}

impl Paths {
    pub(super) fn allow(_config: &mut TransportConfig) {}

    #[allow(clippy::unused_self, reason = "others have a state")]
    pub(super) fn open(
        &mut self,
        _connection: &mut Connection,
        _now: Instant,
        _ends: (SocketAddr, SocketAddr),
    ) -> bool {
        false
    }

    #[allow(clippy::unused_self, reason = "others have a state")]
    pub(super) fn settle(
        &mut self,
        _connection: &mut Connection,
        _now: Instant,
        _local: SocketAddr,
        _events: &mut Vec<TransportEvent>,
    ) {
    }

    #[allow(clippy::unused_self, reason = "others have a state")]
    pub(super) fn on_event(&mut self, _event: &Event) {}
}

pub(super) fn window(_connection: &Connection, _path: u64) -> Option<u64> {
    None
}

pub(super) fn migrate(connection: &mut Connection, _now: Instant) {
    connection.local_address_changed();
}

#[allow(
    clippy::unnecessary_wraps,
    reason = "others have paths that are closed"
)]
pub(super) fn peer(connection: &Connection) -> Option<SocketAddr> {
    Some(connection.remote_address())
}

pub(super) fn lost(connection: &mut Connection) -> u64 {
    connection.stats().path.lost_packets
}

/// Writes what there is room for, and says how much.
pub(super) fn write(stream: &mut SendStream<'_>, bytes: Bytes) -> Result<usize, WriteError> {
    Ok(stream.write_chunks(&mut [bytes])?.bytes)
}

pub(super) fn violation(reason: &str) -> TransportError {
    TransportError {
        code: TransportErrorCode::PROTOCOL_VIOLATION,
        frame: None,
        reason: reason.into(),
    }
}

pub(super) fn encrypt(
    key: &dyn PacketKey,
    (): PathId,
    packet: u64,
    buf: &mut [u8],
    header_len: usize,
) {
    key.encrypt(packet, buf, header_len);
}

pub(super) fn decrypt(
    key: &dyn PacketKey,
    (): PathId,
    packet: u64,
    header: &[u8],
    payload: &mut BytesMut,
) -> Result<(), CryptoError> {
    key.decrypt(packet, header, payload)
}

/// The methods of a key of packets that have a path elsewhere.
macro_rules! packet_key {
    () => {
        fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
            self.seal((), packet, buf, header_len);
        }

        fn decrypt(
            &self,
            packet: u64,
            header: &[u8],
            payload: &mut BytesMut,
        ) -> Result<(), CryptoError> {
            self.open((), packet, header, payload)
        }
    };
}
pub(super) use packet_key;

/// The methods of a controller that have other arguments elsewhere.
macro_rules! controller {
    () => {
        fn on_ack(
            &mut self,
            now: Instant,
            sent: Instant,
            bytes: u64,
            app_limited: bool,
            rtt: &RttEstimator,
        ) {
            self.inner.on_ack(now, sent, bytes, app_limited, rtt);
        }

        fn on_congestion_event(
            &mut self,
            now: Instant,
            sent: Instant,
            persistent: bool,
            lost_bytes: u64,
        ) {
            observe_loss(sent, persistent);
            self.inner
                .on_congestion_event(now, sent, persistent, lost_bytes);
            self.tell(WindowChange::Lost);
        }
    };
}
pub(super) use controller;

impl HandshakeTokenKey for SeededKey {
    fn aead_from_hkdf(&self, _random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Open)
    }
}

impl AeadKey for Open {
    fn seal(&self, data: &mut Vec<u8>, _additional_data: &[u8]) -> Result<(), CryptoError> {
        Open::seal(data);
        Ok(())
    }

    fn open<'a>(
        &self,
        data: &'a mut [u8],
        _additional_data: &[u8],
    ) -> Result<&'a mut [u8], CryptoError> {
        let end = Open::end(data)?;
        Ok(&mut data[..end])
    }
}
