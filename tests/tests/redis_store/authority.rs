//! A certificate authority of the tests' own.

use std::fs;
use std::path::{Path, PathBuf};

use idempotent_runtime::Token;
use rcgen::{BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use servers::Tls;

/// A certificate authority.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: Certificate,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        // Not the name of what it issues: a server would take that for its own issuer.
        params.distinguished_name.push(DnType::CommonName, "the shop's authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).expect("a certificate");
        Self { issuer: Issuer::new(params, key), certificate }
    }

    /// Its own certificate, in PEM.
    pub(crate) fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// A chain and its key, in PEM, for a name or an address.
    pub(crate) fn issue(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }
}

/// The files of a server, in a folder that goes with them.
pub(crate) struct Files {
    folder: PathBuf,
    pub(crate) tls: Tls,
}

impl Files {
    /// For a server that is reached by this name.
    pub(crate) fn issued_by(authority: &Authority, name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("idempotent-tls-{}", Token::random()));
        fs::create_dir(&folder).expect("a folder is made");
        let (chain, key) = authority.issue(name);
        let tls = Tls {
            chain: write(&folder, "chain.pem", &chain),
            key: write(&folder, "key.pem", &key),
            authority: write(&folder, "ca.pem", &authority.pem()),
        };
        Self { folder, tls }
    }
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).expect("a file is written");
    path
}

impl Drop for Files {
    fn drop(&mut self) {
        // Fails only where somebody was faster.
        _ = fs::remove_dir_all(&self.folder);
    }
}
