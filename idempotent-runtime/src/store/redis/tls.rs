//! TLS: which certificates are trusted, and which one is shown.

use std::fmt;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{self, CryptoProvider};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::store::StoreError;

/// Which servers are trusted.
#[derive(Clone, Default)]
pub(super) enum Trust {
    /// Those whose certificate the system's roots vouch for.
    #[default]
    Platform,
    /// Those whose certificate one of these roots (PEM) vouches for.
    Roots(Vec<u8>),
    /// All: the user's client says so.
    Anybody,
}

/// The settings, as the user gave them.
#[derive(Clone, Default)]
pub(super) struct Certificates {
    pub(super) trust: Trust,
    /// The chain and the key (PEM) that the client shows.
    pub(super) shown: Option<(Vec<u8>, Vec<u8>)>,
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trust = match &self.trust {
            Trust::Platform => "platform",
            Trust::Roots(_) => "roots",
            Trust::Anybody => "anybody",
        };
        f.debug_struct("Certificates").field("trust", &trust).field("shown", &self.shown.is_some()).finish()
    }
}

/// What it takes to speak TLS with a server.
#[derive(Clone)]
pub(super) struct Tls(Arc<ClientConfig>);

impl Tls {
    pub(super) fn new(certificates: &Certificates) -> Result<Self, StoreError> {
        let installed = CryptoProvider::get_default().cloned();
        let provider = installed.unwrap_or_else(|| Arc::new(crypto::ring::default_provider()));
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(StoreError::refused)?;
        let builder = match &certificates.trust {
            Trust::Platform => builder.with_root_certificates(platform()?),
            Trust::Roots(pem) => builder.with_root_certificates(roots(pem)?),
            Trust::Anybody => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(Arc::clone(&provider))))
            }
        };
        let config = match &certificates.shown {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let chain = read(chain, "the client's certificate")?;
                let key = PrivateKeyDer::from_pem_slice(key)
                    .map_err(|error| StoreError::refused(format!("the client's key cannot be read: {error}")))?;
                builder.with_client_auth_cert(chain, key).map_err(StoreError::refused)?
            }
        };
        Ok(Self(Arc::new(config)))
    }

    /// Speaks TLS with the server on the other end, which must be `host`.
    pub(super) async fn wrap(&self, host: &str, stream: TcpStream) -> Result<TlsStream<TcpStream>, StoreError> {
        let name = ServerName::try_from(host.to_owned()).map_err(StoreError::refused)?;
        TlsConnector::from(Arc::clone(&self.0)).connect(name, stream).await.map_err(|error| {
            // A certificate that is not trusted today will not be in a second; all else passes.
            match error.get_ref().and_then(|inner| inner.downcast_ref()) {
                Some(Error::InvalidCertificate(_)) => StoreError::refused(error),
                _ => StoreError::unavailable(error),
            }
        })
    }
}

fn platform() -> Result<RootCertStore, StoreError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added > 0 {
        return Ok(roots);
    }
    let why = found.errors.first().map(|error| format!(": {error}")).unwrap_or_default();
    Err(StoreError::refused(format!("this system has no root certificates{why}; give the builder root_certificates")))
}

fn roots(pem: &[u8]) -> Result<RootCertStore, StoreError> {
    let mut roots = RootCertStore::empty();
    for certificate in read(pem, "the root certificates")? {
        roots.add(certificate).map_err(StoreError::refused)?;
    }
    Ok(roots)
}

/// The certificates in a PEM text, at least one.
fn read(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, StoreError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(StoreError::refused(format!("{what} cannot be read: there is no certificate in the PEM text"))),
        Err(error) => Err(StoreError::refused(format!("{what} cannot be read: {error}"))),
    }
}

/// Trusts any certificate, and still checks that the server has its key.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        crypto::verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        crypto::verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
