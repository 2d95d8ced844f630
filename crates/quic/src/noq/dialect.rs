//! What is noq-proto's own among the stacks of its family.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::{Bytes, BytesMut};

pub(super) use super::paths::{number, Paths};
pub(super) use super::proto::congestion::Bbr3Config as Bbr;
use super::proto::crypto::{CryptoError, HandshakeTokenKey, PacketKey};
pub(super) use super::proto::PathId;
use super::proto::{
    Connection, ConnectionId, ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint,
    EndpointConfig, FourTuple, QlogConfig, QlogFactory, SendStream, ServerConfig, Side,
    TransportConfig, TransportError, TransportErrorCode, WriteError,
};
use super::session::{Open, SeededKey};
use crate::machine::base;

/// One datagram at a time.
pub(super) const ONE: NonZeroUsize = NonZeroUsize::MIN;
/// How a connection identifier is handed over.
pub(super) type Id<'a> = ConnectionId;
/// How a configuration makes a session.
pub(super) type Maker<'a, T> = &'a T;

pub(super) fn endpoint(config: EndpointConfig, server: Option<Arc<ServerConfig>>) -> Endpoint {
    Endpoint::new(Arc::new(config), server, false)
}

pub(super) fn identifiers(
    config: &mut EndpointConfig,
    make: impl Fn() -> Box<dyn ConnectionIdGenerator> + Send + Sync + 'static,
) {
    config.cid_generator(Arc::new(make));
}

/// The log of an endpoint's only connection.
struct OneLog(Mutex<Option<Box<dyn Write + Send + Sync>>>);

impl QlogFactory for OneLog {
    fn for_connection(
        &self,
        _side: Side,
        _remote: SocketAddr,
        _initial_dst_cid: ConnectionId,
        _now: Instant,
    ) -> Option<QlogConfig> {
        let writer = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut log = QlogConfig::new(writer?);
        log.start_time(base());
        Some(log)
    }
}

pub(super) fn log(transport: &mut TransportConfig, writer: Box<dyn Write + Send + Sync>) {
    transport.qlog_factory(Arc::new(OneLog(Mutex::new(Some(writer)))));
}

pub(super) fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    (from, to): (SocketAddr, IpAddr),
    ecn: Option<EcnCodepoint>,
    bytes: BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, FourTuple::new(from, Some(to)), ecn, bytes, answer)
}

pub(super) fn migrate(connection: &mut Connection, now: Instant) {
    connection.handle_network_change(None, now);
}

pub(super) fn peer(connection: &Connection) -> Option<SocketAddr> {
    let path = connection.network_path(*connection.paths().last()?).ok()?;
    Some(path.remote())
}

pub(super) fn window(connection: &Connection, path: u64) -> Option<u64> {
    let is_it = |id: &PathId| number(*id) == path;
    let id = connection.paths().into_iter().find(is_it)?;
    Some(connection.congestion_state(id)?.window())
}

pub(super) fn lost(connection: &mut Connection) -> u64 {
    connection.stats().lost_packets
}

/// Writes what there is room for, and says how much.
pub(super) fn write(stream: &mut SendStream<'_>, bytes: Bytes) -> Result<usize, WriteError> {
    stream.write_chunks(&mut &mut [bytes][..])
}

pub(super) fn violation(reason: &str) -> TransportError {
    TransportError::new(TransportErrorCode::PROTOCOL_VIOLATION, reason.into())
}

pub(super) fn encrypt(
    key: &dyn PacketKey,
    path: PathId,
    packet: u64,
    buf: &mut [u8],
    header_len: usize,
) {
    key.encrypt(path, packet, buf, header_len);
}

pub(super) fn decrypt(
    key: &dyn PacketKey,
    path: PathId,
    packet: u64,
    header: &[u8],
    payload: &mut BytesMut,
) -> Result<(), CryptoError> {
    key.decrypt(path, packet, header, payload)
}

/// The methods of a key of packets that have a path.
macro_rules! packet_key {
    () => {
        fn encrypt(&self, path: dialect::PathId, packet: u64, buf: &mut [u8], header_len: usize) {
            self.seal(path, packet, buf, header_len);
        }

        fn decrypt(
            &self,
            path: dialect::PathId,
            packet: u64,
            header: &[u8],
            payload: &mut BytesMut,
        ) -> Result<(), CryptoError> {
            self.open(path, packet, header, payload)
        }
    };
}
pub(super) use packet_key;

/// The methods of a controller that quinn-proto has not, or with other arguments.
macro_rules! controller {
    () => {
        fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
            self.inner.on_packet_sent(now, bytes, pn);
        }

        fn on_cwnd_limited(&mut self) {
            self.inner.on_cwnd_limited();
        }

        fn on_ack(
            &mut self,
            now: Instant,
            sent: Instant,
            bytes: u64,
            pn: u64,
            app_limited: bool,
            rtt: &RttEstimator,
        ) {
            self.inner.on_ack(now, sent, bytes, pn, app_limited, rtt);
        }

        fn on_congestion_event(
            &mut self,
            now: Instant,
            sent: Instant,
            persistent: bool,
            is_ecn: bool,
            lost_bytes: u64,
            largest_lost_pn: u64,
        ) {
            observe_loss(sent, persistent);
            self.inner.on_congestion_event(
                now,
                sent,
                persistent,
                is_ecn,
                lost_bytes,
                largest_lost_pn,
            );
            self.tell(WindowChange::Lost);
        }

        fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
            self.inner.on_packet_lost(lost_bytes, pn, now);
        }

        fn on_spurious_congestion_event(&mut self) {
            self.inner.on_spurious_congestion_event();
            self.tell(WindowChange::Acked);
        }

        fn on_ack_frequency_update(
            &mut self,
            ack_eliciting_threshold: u64,
            requested_max_ack_delay: std::time::Duration,
        ) {
            self.inner
                .on_ack_frequency_update(ack_eliciting_threshold, requested_max_ack_delay);
        }
    };
}
pub(super) use controller;

impl HandshakeTokenKey for SeededKey {
    fn seal(&self, _token_nonce: u128, data: &mut Vec<u8>) -> Result<(), CryptoError> {
        Open::seal(data);
        Ok(())
    }

    fn open<'a>(&self, _token_nonce: u128, data: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
        let end = Open::end(data)?;
        Ok(&data[..end])
    }
}
