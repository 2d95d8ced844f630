//! Observed cryptography, and a null cryptography.

use std::any::Any;
use std::sync::Arc;

use bytes::BytesMut;

use super::dialect;
use super::proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, HmacKey, KeyPair, Keys,
    PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use super::proto::transport_parameters::TransportParameters;
use super::proto::{ConnectError, Side, TransportError};
use crate::observation::observe_packet;

/// Bytes of the tag of AES-GCM.
const TAG: usize = 16;

/// A session whose packets behind the handshake are observed.
struct ObservedSession {
    inner: Box<dyn Session>,
    /// Keys made so far: those of the handshake, then those of the data.
    keys: u8,
}

struct ObservedKey {
    inner: Box<dyn PacketKey>,
}

impl ObservedKey {
    fn seal(&self, path: dialect::PathId, packet: u64, buf: &mut [u8], header_len: usize) {
        let end = buf.len() - self.inner.tag_len();
        observe_packet(true, dialect::number(path), packet, &buf[header_len..end]);
        dialect::encrypt(&*self.inner, path, packet, buf, header_len);
    }

    fn open(
        &self,
        path: dialect::PathId,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        dialect::decrypt(&*self.inner, path, packet, header, payload)?;
        observe_packet(false, dialect::number(path), packet, payload);
        Ok(())
    }
}

impl PacketKey for ObservedKey {
    dialect::packet_key!();

    fn tag_len(&self) -> usize {
        self.inner.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.inner.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.inner.integrity_limit()
    }
}

fn observed(keys: KeyPair<Box<dyn PacketKey>>) -> KeyPair<Box<dyn PacketKey>> {
    KeyPair {
        local: Box::new(ObservedKey { inner: keys.local }),
        remote: Box::new(ObservedKey { inner: keys.remote }),
    }
}

impl Session for ObservedSession {
    fn initial_keys(&self, dst_cid: dialect::Id<'_>, side: Side) -> Keys {
        self.inner.initial_keys(dst_cid, side)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.inner.read_handshake(buf)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let keys = self.inner.write_handshake(buf)?;
        self.keys += 1;
        Some(match self.keys {
            1 => keys,
            _ => Keys {
                header: keys.header,
                packet: observed(keys.packet),
            },
        })
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.inner.next_1rtt_keys().map(observed)
    }

    fn is_valid_retry(&self, orig_dst_cid: dialect::Id<'_>, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(orig_dst_cid, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}

/// Sessions of a client that are observed.
pub(super) struct ObservedClient(pub(super) Arc<dyn ClientConfig>);

impl ClientConfig for ObservedClient {
    fn start_session(
        self: dialect::Maker<'_, Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let inner = Arc::clone(&self.0).start_session(version, server_name, params)?;
        Ok(Box::new(ObservedSession { inner, keys: 0 }))
    }
}

/// Sessions of a server that are observed.
pub(super) struct ObservedServer(pub(super) Arc<dyn ServerConfig>);

impl ServerConfig for ObservedServer {
    fn initial_keys(
        &self,
        version: u32,
        dst_cid: dialect::Id<'_>,
    ) -> Result<Keys, UnsupportedVersion> {
        self.0.initial_keys(version, dst_cid)
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: dialect::Id<'_>, packet: &[u8]) -> [u8; 16] {
        self.0.retry_tag(version, orig_dst_cid, packet)
    }

    fn start_session(
        self: dialect::Maker<'_, Self>,
        version: u32,
        params: &TransportParameters,
    ) -> Box<dyn Session> {
        let inner = Arc::clone(&self.0).start_session(version, params);
        Box::new(ObservedSession { inner, keys: 0 })
    }
}

/// Keys without encryption. Packets have the same size as with AES-GCM, with a tag of zeros.
struct NullKey;

#[allow(clippy::unused_self, reason = "called on every key")]
impl NullKey {
    fn seal(&self, _path: dialect::PathId, _packet: u64, buf: &mut [u8], _header_len: usize) {
        let end = buf.len() - TAG;
        buf[end..].fill(0);
    }

    fn open(
        &self,
        _path: dialect::PathId,
        _packet: u64,
        _header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        let end = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        payload.truncate(end);
        Ok(())
    }
}

impl PacketKey for NullKey {
    dialect::packet_key!();

    fn tag_len(&self) -> usize {
        TAG
    }

    // With AES-GCM keys are updated after 2^23 packets (RFC 9001 section 6.6).
    fn confidentiality_limit(&self) -> u64 {
        1 << 23
    }

    fn integrity_limit(&self) -> u64 {
        1 << 52
    }
}

impl HeaderKey for NullKey {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        TAG
    }
}

fn null_keys() -> Keys {
    Keys {
        header: KeyPair {
            local: Box::new(NullKey),
            remote: Box::new(NullKey),
        },
        packet: KeyPair {
            local: Box::new(NullKey),
            remote: Box::new(NullKey),
        },
    }
}

/// Types of handshake messages (RFC 8446 section 4).
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const FINISHED: u8 = 20;
/// Bytes of messages, about as long as those of TLS 1.3 with X25519 and a certificate of Ed25519.
const HELLO_BYTES: usize = 250;
const SERVER_HELLO_BYTES: usize = 90;
const SERVER_REST_BYTES: usize = 600;
const FINISHED_BYTES: usize = 36;

/// What comes next of a handshake that only exchanges transport parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    ClientHello,
    AwaitServerHello,
    AwaitServer,
    ClientFinished,
    AwaitClientHello,
    ServerHello,
    ServerRest,
    AwaitFinished,
    Nothing,
}

/// A session without cryptography: its handshake has the messages of TLS 1.3, of which all but the transport
/// parameters is filling.
struct NullSession {
    side: Side,
    own: TransportParameters,
    peers: Option<TransportParameters>,
    next: Next,
    /// The client has the keys of the handshake, not yet those of the data.
    owes_keys: bool,
    read: Vec<u8>,
}

impl NullSession {
    fn new(side: Side, own: &TransportParameters) -> Self {
        Self {
            side,
            own: *own,
            peers: None,
            next: match side {
                Side::Client => Next::ClientHello,
                Side::Server => Next::AwaitClientHello,
            },
            owes_keys: false,
            read: Vec::new(),
        }
    }

    /// A message with the transport parameters, if `length` has room for them, and filling.
    fn write(&self, buf: &mut Vec<u8>, kind: u8, length: usize, with_parameters: bool) {
        let mut body = Vec::new();
        if with_parameters {
            self.own.write(&mut body);
        }
        let parameters = body.len();
        body.resize(body.len().max(length), 0);
        buf.push(kind);
        buf.extend(&(body.len() as u32 + 2).to_be_bytes()[1..]);
        buf.extend((parameters as u16).to_be_bytes());
        buf.extend(body);
    }

    /// A message has come.
    fn message(&mut self, kind: u8, body: &[u8]) -> Result<bool, TransportError> {
        self.next = match (self.next, kind) {
            (Next::AwaitClientHello, CLIENT_HELLO) => Next::ServerHello,
            (Next::AwaitServerHello, SERVER_HELLO) => {
                self.owes_keys = true;
                Next::AwaitServer
            }
            (Next::AwaitServer, FINISHED) => Next::ClientFinished,
            (Next::AwaitFinished, FINISHED) => Next::Nothing,
            _ => return Err(dialect::violation("a message out of turn")),
        };
        let length = body
            .get(..2)
            .map(|two| u16::from_be_bytes([two[0], two[1]]));
        let parameters = length.and_then(|length| body.get(2..2 + usize::from(length)));
        match parameters {
            Some([]) => Ok(false),
            Some(mut parameters) => {
                let read = TransportParameters::read(self.side, &mut parameters)?;
                self.peers = Some(read);
                Ok(true)
            }
            None => Err(dialect::violation("a message too short")),
        }
    }
}

impl Session for NullSession {
    fn initial_keys(&self, _dst_cid: dialect::Id<'_>, _side: Side) -> Keys {
        null_keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.peers.is_some().then(|| Box::new(()) as Box<dyn Any>)
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        self.next != Next::Nothing
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.read.extend(buf);
        let mut has_data = false;
        while let Some(&[kind, a, b, c]) = self.read.first_chunk::<4>() {
            let end = 4 + u32::from_be_bytes([0, a, b, c]) as usize;
            if self.read.len() < end {
                break;
            }
            let message: Vec<u8> = self.read.drain(..end).collect();
            has_data |= self.message(kind, &message[4..])?;
        }
        Ok(has_data)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peers)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        match self.next {
            Next::ClientHello => {
                self.write(buf, CLIENT_HELLO, HELLO_BYTES, true);
                self.next = Next::AwaitServerHello;
                None
            }
            Next::ServerHello => {
                self.write(buf, SERVER_HELLO, SERVER_HELLO_BYTES, false);
                self.next = Next::ServerRest;
                Some(null_keys())
            }
            Next::ServerRest => {
                self.write(buf, FINISHED, SERVER_REST_BYTES, true);
                self.next = Next::AwaitFinished;
                Some(null_keys())
            }
            _ if std::mem::take(&mut self.owes_keys) => Some(null_keys()),
            Next::ClientFinished => {
                self.write(buf, FINISHED, FINISHED_BYTES, false);
                self.next = Next::Nothing;
                Some(null_keys())
            }
            _ => None,
        }
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(null_keys().packet)
    }

    fn is_valid_retry(&self, _orig: dialect::Id<'_>, _header: &[u8], _payload: &[u8]) -> bool {
        true
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        output.fill(0);
        Ok(())
    }
}

/// Makes sessions without cryptography.
pub(super) struct Null;

impl ClientConfig for Null {
    fn start_session(
        self: dialect::Maker<'_, Self>,
        _version: u32,
        _server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(NullSession::new(Side::Client, params)))
    }
}

impl ServerConfig for Null {
    fn initial_keys(
        &self,
        _version: u32,
        _dst_cid: dialect::Id<'_>,
    ) -> Result<Keys, UnsupportedVersion> {
        Ok(null_keys())
    }

    fn retry_tag(&self, _version: u32, _orig: dialect::Id<'_>, _packet: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(
        self: dialect::Maker<'_, Self>,
        _version: u32,
        params: &TransportParameters,
    ) -> Box<dyn Session> {
        Box::new(NullSession::new(Side::Server, params))
    }
}

/// Keys of tokens and resets, from a seed. They only have to be the same in two runs.
pub(super) struct SeededKey(pub(super) [u8; 32]);

impl HmacKey for SeededKey {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        let mut signature = blake3::Hasher::new_keyed(&self.0);
        signature.update(data);
        signature.finalize_xof().fill(signature_out);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut own = [0; 32];
        self.sign(data, &mut own);
        if own == signature {
            Ok(())
        } else {
            Err(CryptoError)
        }
    }
}

/// Tokens are sent openly: no client here makes up one.
pub(super) struct Open;

impl Open {
    pub(super) fn seal(data: &mut Vec<u8>) {
        data.extend([0; TAG]);
    }

    /// Where a sealed message ends.
    pub(super) fn end(data: &[u8]) -> Result<usize, CryptoError> {
        data.len().checked_sub(TAG).ok_or(CryptoError)
    }
}
