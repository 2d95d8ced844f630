//! TLS 1.3 by rustls with *ring*, of which every random byte comes from a seed.
//!
//! What is random in a handshake are the hellos, the key shares and what is in tickets. A provider's source of
//! random bytes is replaced, and so is the key exchange, since that of *ring* draws for itself. The certificate
//! is of Ed25519, whose signatures are not random and always as long. It is in the repository, with
//! its key: it protects nothing.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::Resumption;
use rustls::crypto::{
    ring, verify_tls13_signature, ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom,
    SharedSecret, SupportedKxGroup, WebPkiSupportedAlgorithms,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, KeyLog, NamedGroup,
    PeerMisbehaved, ServerConfig, SignatureScheme,
};
use x25519_dalek::{PublicKey, StaticSecret};

use crate::foreign::{CERTIFICATE, KEY, PROTOCOL};
use crate::observation::{observe, random, Observation};

/// The day of every run: 2026-01-01.
const TODAY: Duration = Duration::from_secs(1_767_225_600);

/// Random bytes of the run.
#[derive(Debug)]
struct Seeded;

impl SecureRandom for Seeded {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        random(bytes);
        Ok(())
    }
}

/// Key exchange over X25519 (RFC 7748).
#[derive(Debug)]
struct X25519;

struct KeyShare {
    secret: StaticSecret,
    public: PublicKey,
}

impl SupportedKxGroup for X25519 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut bytes = [0; 32];
        random(&mut bytes);
        let secret = StaticSecret::from(bytes);
        let public = PublicKey::from(&secret);
        Ok(Box::new(KeyShare { secret, public }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

impl ActiveKeyExchange for KeyShare {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let invalid = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);
        let Ok(peer) = <[u8; 32]>::try_from(peer) else {
            return Err(invalid);
        };
        let shared = self.secret.diffie_hellman(&PublicKey::from(peer));
        if !shared.was_contributory() {
            return Err(invalid);
        }
        Ok(SharedSecret::from(&shared.as_bytes()[..]))
    }

    fn pub_key(&self) -> &[u8] {
        self.public.as_bytes()
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

/// Knows the one certificate there is.
#[derive(Debug)]
struct Known(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for Known {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if end_entity.as_ref() == CERTIFICATE {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::UnknownIssuer.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("QUIC has TLS 1.3".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

/// A calendar that does not advance.
#[derive(Debug)]
struct NoCalendar;

impl TimeProvider for NoCalendar {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(TODAY))
    }
}

/// Tells the secrets, for captures.
#[derive(Debug)]
struct SecretLog;

impl KeyLog for SecretLog {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let mut line = label.to_string();
        for bytes in [client_random, secret] {
            line.push(' ');
            for byte in bytes {
                let _ = write!(line, "{byte:02x}");
            }
        }
        observe(Observation::Secret(line));
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        kx_groups: vec![&X25519],
        secure_random: &Seeded,
        ..ring::default_provider()
    })
}

/// The configurations of client and server.
///
/// # Errors
/// None that a run could cause: certificate and key are there.
pub(crate) fn configs() -> Result<(ClientConfig, ServerConfig), Error> {
    let (provider, today) = (provider(), Arc::new(NoCalendar));
    let known = Known(provider.signature_verification_algorithms);
    let client = ClientConfig::builder_with_details(Arc::clone(&provider), today.clone());
    let mut client = client
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(known))
        .with_no_client_auth();
    client.alpn_protocols = vec![PROTOCOL.into()];
    client.resumption = Resumption::disabled();
    client.key_log = Arc::new(SecretLog);
    let server = ServerConfig::builder_with_details(provider, today);
    let certificate = CertificateDer::from(CERTIFICATE);
    let key = PrivatePkcs8KeyDer::from(KEY);
    let mut server = server
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())?;
    server.alpn_protocols = vec![PROTOCOL.into()];
    Ok((client, server))
}
