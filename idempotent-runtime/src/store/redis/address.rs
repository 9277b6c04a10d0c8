//! Where a server is, and how to reach it.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use redis::{ConnectionAddr, RedisConnectionInfo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::connection::{Connection, Connections, Timeouts};
use super::driver::Driver;
#[cfg(feature = "tls")]
use super::tls::Tls;
use super::wire::Wire;
use crate::store::StoreError;

/// Where one server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    Tcp { host: String, port: u16 },
    Tls { host: String, port: u16 },
    Unix(PathBuf),
}

/// What every connection of a store has in common. It holds a password.
#[derive(Clone)]
pub(super) struct How {
    pub(super) login: RedisConnectionInfo,
    pub(super) timeouts: Timeouts,
    /// There for a store whose servers speak TLS.
    #[cfg(feature = "tls")]
    pub(super) tls: Option<Tls>,
}

impl fmt::Debug for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("How").field("timeouts", &self.timeouts).finish_non_exhaustive()
    }
}

impl Address {
    /// The address of a client; whether it asks to trust any certificate is not part of it.
    pub(super) fn of(address: &ConnectionAddr) -> Result<Self, StoreError> {
        match address {
            ConnectionAddr::Tcp(host, port) => Ok(Self::Tcp { host: host.clone(), port: *port }),
            ConnectionAddr::TcpTls { host, port, tls_params: None, .. } => {
                Self::Tls { host: host.clone(), port: *port }.supported()
            }
            ConnectionAddr::TcpTls { .. } => Err(StoreError::refused(
                "the certificates of a client cannot be read: give them to the builder of the store",
            )),
            ConnectionAddr::Unix(path) => Self::Unix(path.clone()).supported(),
            other => Err(StoreError::refused(format!("a connection to {other} is not supported"))),
        }
    }

    /// Another server that this one names; one that names no host means its own.
    pub(super) fn beside(&self, host: String, port: u16) -> Self {
        let or_own = |own: &String| if host.is_empty() { own.clone() } else { host.clone() };
        match self {
            Self::Tls { host: own, .. } => Self::Tls { host: or_own(own), port },
            Self::Tcp { host: own, .. } => Self::Tcp { host: or_own(own), port },
            Self::Unix(_) => Self::Tcp { host, port },
        }
    }

    /// As it is, if this build can reach it.
    pub(super) fn supported(self) -> Result<Self, StoreError> {
        match self {
            Self::Tls { .. } if cfg!(not(feature = "tls")) => {
                Err(StoreError::refused("TLS needs the feature `tls` of idempotent-runtime"))
            }
            Self::Unix(_) if cfg!(not(unix)) => Err(StoreError::refused("this system has no Unix sockets")),
            address => Ok(address),
        }
    }

    /// Connects, and starts the driver on the current runtime.
    pub(super) async fn open(&self, how: &How, table: Weak<Connections>) -> Result<Connection, StoreError> {
        match self {
            Self::Tcp { host, port } => Ok(drive(tcp(host, *port).await?, how, table)),
            #[cfg(feature = "tls")]
            Self::Tls { host, port } => {
                let tls = how.tls.as_ref().ok_or_else(|| StoreError::refused("the store has no TLS settings"))?;
                Ok(drive(tls.wrap(host, tcp(host, *port).await?).await?, how, table))
            }
            #[cfg(unix)]
            Self::Unix(path) => {
                let stream = tokio::net::UnixStream::connect(path).await.map_err(StoreError::unavailable)?;
                Ok(drive(stream, how, table))
            }
            #[cfg(not(all(unix, feature = "tls")))]
            other => other.clone().supported().and(Err(StoreError::refused("this address cannot be reached"))),
        }
    }
}

async fn tcp(host: &str, port: u16) -> Result<TcpStream, StoreError> {
    let stream = TcpStream::connect((host, port)).await.map_err(StoreError::unavailable)?;
    stream.set_nodelay(true).map_err(StoreError::unavailable)?;
    Ok(stream)
}

fn drive<S>(stream: S, how: &How, table: Weak<Connections>) -> Connection
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connection = Connection(Arc::new(Wire::default()));
    tokio::spawn(Driver::new(stream, Arc::clone(&connection.0), how.timeouts.response, table));
    connection
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } | Self::Tls { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } | Self::Tls { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}
