//! How the servers of a deployment are reached: by clients that are told where they are, and by each other.

use std::path::PathBuf;

use crate::{Error, Proxy, Redis, RedisBuilder, port, redis};

/// How clients, and the servers themselves, reach a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reached {
    /// At its own port.
    #[default]
    Directly,
    /// Through a [`Proxy`] of its own, whose port is announced instead.
    ThroughProxies,
    /// At a port of its own for TLS; whoever knows of none, such as `cli`, still finds the plain one.
    OverTls(Tls),
}

/// The files of a server that speaks TLS, all in PEM. They must stay for as long as it may be restarted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The server's certificate, for the name or address by which it is reached: `127.0.0.1`.
    pub chain: PathBuf,
    /// The key of that certificate.
    pub key: PathBuf,
    /// The certificate of the authority.
    pub authority: PathBuf,
}

/// A server, what stands in front of it, and the port that clients are told.
pub(crate) struct Started {
    pub(crate) server: Redis,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) told: u16,
}

impl Reached {
    /// Starts a server. `announce` is its setting for the port that others are told.
    pub(crate) fn start(&self, settings: &RedisBuilder, announce: &str) -> Result<Started, Error> {
        let mut tries = 1..redis::TRIES;
        loop {
            match self.try_to_start(settings, announce) {
                Err(error) if redis::is_port_taken(&error) && tries.next().is_some() => {}
                settled => return settled,
            }
        }
    }

    fn try_to_start(&self, settings: &RedisBuilder, announce: &str) -> Result<Started, Error> {
        let free = || port::free().map_err(Error::while_doing("find a free port"));
        let settings = settings.clone();
        match self {
            Self::Directly => {
                let server = settings.start()?;
                let told = server.port();
                Ok(Started { server, proxy: None, told })
            }
            Self::ThroughProxies => {
                let port = free()?;
                let proxy = Proxy::start(port)?;
                let told = proxy.port();
                let server = settings.port(port).args([announce, &told.to_string()]).start()?;
                Ok(Started { server, proxy: Some(proxy), told })
            }
            Self::OverTls(tls) => {
                let told = free()?;
                let server = settings.args(tls.settings(told, "--")).start()?;
                Ok(Started { server, proxy: None, told })
            }
        }
    }

    /// Settings of a Sentinel, for its file.
    pub(crate) fn of_sentinel(&self, port: u16) -> String {
        match self {
            Self::OverTls(tls) => tls.settings(port, "").chunks_exact(2).map(|pair| pair.join(" ") + "\n").collect(),
            Self::Directly | Self::ThroughProxies => String::new(),
        }
    }
}

impl Tls {
    fn settings(&self, port: u16, dashes: &str) -> Vec<String> {
        let file = |path: &PathBuf| path.display().to_string();
        let settings = [
            ("tls-port", port.to_string()),
            ("tls-cert-file", file(&self.chain)),
            ("tls-key-file", file(&self.key)),
            ("tls-ca-cert-file", file(&self.authority)),
            ("tls-auth-clients", "no".to_owned()),
            ("tls-replication", "yes".to_owned()),
        ];
        settings.into_iter().flat_map(|(name, value)| [format!("{dashes}{name}"), value]).collect()
    }
}
