//! The settings of a store.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::RedisConnectionInfo;

use super::RedisStore;
use super::address::How;
use super::cluster::Cluster;
use super::connection::{Connections, Place, Timeouts};
use super::findings::Finding;
use super::link::Link;
use super::replicas::Replicas;
use super::sentinel::Sentinel;
#[cfg(feature = "tls")]
use super::tls::{Certificates, Tls, Trust};
use super::url::{Deployment, Named};
use crate::admin::Severity;
use crate::store::StoreError;

/// What is made of a server that evicts records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Eviction {
    Refused,
    Accepted,
}

/// Settings of a [`RedisStore`].
#[derive(Clone)]
#[must_use]
pub struct RedisStoreBuilder {
    timeouts: Timeouts,
    sentinel_login: RedisConnectionInfo,
    eviction: Eviction,
    replicas: Option<Replicas>,
    #[cfg(feature = "tls")]
    certificates: Certificates,
}

impl fmt::Debug for RedisStoreBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStoreBuilder").field("timeouts", &self.timeouts).finish_non_exhaustive()
    }
}

impl RedisStoreBuilder {
    pub(super) fn new() -> Self {
        Self {
            timeouts: Timeouts { response: Duration::from_millis(500), connect: Duration::from_secs(1) },
            sentinel_login: RedisConnectionInfo::default(),
            eviction: Eviction::Refused,
            replicas: None,
            #[cfg(feature = "tls")]
            certificates: Certificates::default(),
        }
    }

    /// How long the server may stay silent while an answer is owed, before its connection is given up: 500 ms by
    /// default. Measured in quarters, so it can take a quarter more.
    pub fn response_timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.response = timeout;
        self
    }

    /// How long a new connection may take, all tries together: 1 s by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.connect = timeout;
        self
    }

    /// Accepts a server that throws records away when its memory is full ([`Finding::Evicts`]): their duplicates run
    /// again. By default it is refused when the store connects.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), idempotent_runtime::StoreError> {
    /// use idempotent_runtime::store::RedisStore;
    ///
    /// let store = RedisStore::builder().accept_eviction().connect("redis://cache.example/").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn accept_eviction(mut self) -> Self {
        self.eviction = Eviction::Accepted;
        self
    }

    /// A claim, a renewal and a completion count only when `number` replicas have them, within this time. By default, and
    /// for 0, the primary's word is enough.
    ///
    /// With fewer the call is `StoreUnavailable`, which says how many there were, and its claim is given back. A result
    /// that fewer have is written again until they are enough, in the background if need be. The write and its `WAIT` go on
    /// a connection of their own, of eight at the most to a server. Choose a time that fits into the `store_timeout` of
    /// the handle a few times.
    ///
    /// It narrows the window in which a failover loses a claim or a result, and does not close it: a replica that lacks the
    /// write can be elected, unless all have it. So ask for all of them; with one of two, a second run is still possible.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), idempotent_runtime::StoreError> {
    /// use std::time::Duration;
    /// use idempotent_runtime::store::RedisStore;
    ///
    /// let store = RedisStore::builder()
    ///     .replicas(2, Duration::from_millis(300))
    ///     .connect("redis+sentinel://one,two,three/orders")
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn replicas(mut self, number: usize, within: Duration) -> Self {
        self.replicas = (number > 0).then_some(Replicas { number, within });
        self
    }

    /// The password of the Sentinels, where they have one: it is not that of the servers, which the URL holds.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), idempotent_runtime::StoreError> {
    /// use idempotent_runtime::store::RedisStore;
    ///
    /// let url = "redis+sentinel://shop:secret@one,two,three/orders";
    /// let store = RedisStore::builder().sentinel_password("another").connect(url).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn sentinel_password(mut self, password: &str) -> Self {
        self.sentinel_login = self.sentinel_login.set_password(password);
        self
    }

    /// Trusts servers whose certificate one of these roots vouches for (PEM, one or more), and no others: for a CA of
    /// one's own. By default the system's roots are trusted. Feature `tls`.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use idempotent_runtime::store::RedisStore;
    ///
    /// let roots = std::fs::read("/etc/shop/ca.pem")?;
    /// let store = RedisStore::builder().root_certificates(roots).connect("rediss://cache.example/").await?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "tls")]
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.certificates.trust = Trust::Roots(pem.into());
        self
    }

    /// Shows a certificate to the server (the chain and its key, PEM): servers ask for one unless they run with
    /// `tls-auth-clients no`. Feature `tls`.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use idempotent_runtime::store::RedisStore;
    ///
    /// let (chain, key) = (std::fs::read("/etc/shop/client.pem")?, std::fs::read("/etc/shop/client.key")?);
    /// let store = RedisStore::builder().client_certificate(chain, key).connect("rediss://cache.example/").await?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "tls")]
    pub fn client_certificate(mut self, chain: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        self.certificates.shown = Some((chain.into(), key.into()));
        self
    }

    /// Connects to the server, or the servers, that `url` names.
    ///
    /// # Errors
    ///
    /// As [`RedisStore::connect`].
    pub async fn connect(self, url: &str) -> Result<RedisStore, StoreError> {
        self.reach(Named::read(url)?).await
    }

    /// Connects to the server of a client of your own: its address, login and database are used, and nothing else. A
    /// client that asks for TLS without a check of the certificate gets that.
    ///
    /// # Errors
    ///
    /// As [`RedisStore::connect`].
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use idempotent_runtime::store::RedisStore;
    ///
    /// let client = redis::Client::open(("cache.example", 6379))?;
    /// let store = RedisStore::builder().connect_with(client).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connect_with(self, client: redis::Client) -> Result<RedisStore, StoreError> {
        self.reach(Named::client(&client)?).await
    }

    async fn reach(self, named: Named) -> Result<RedisStore, StoreError> {
        let (sentinel_login, eviction, replicas) = (self.sentinel_login.clone(), self.eviction, self.replicas);
        let how = Arc::new(self.how(&named)?);
        let place = match named.deployment {
            Deployment::Server(address) => Place::Fixed(address),
            Deployment::Sentinel { sentinels, primary } => {
                let how = Arc::new(How { login: sentinel_login, ..How::clone(&how) });
                Place::Sentinel(Sentinel { sentinels, primary, how })
            }
            Deployment::Cluster { seeds } => {
                return accept(Link::Cluster(Cluster::connect(seeds, how).await?), eviction, replicas).await;
            }
        };
        let connections = Arc::new(Connections::new(place, how));
        connections.connection().await?;
        accept(Link::One(connections), eviction, replicas).await
    }

    #[cfg(feature = "tls")]
    fn how(self, named: &Named) -> Result<How, StoreError> {
        use super::url::Trusts;

        let Self { timeouts, mut certificates, .. } = self;
        if named.trusts == Trusts::Anybody {
            certificates.trust = Trust::Anybody;
        }
        let tls = named.deployment.speaks_tls().then(|| Tls::new(&certificates)).transpose()?;
        Ok(How { login: named.login.clone(), timeouts, tls })
    }

    #[cfg(not(feature = "tls"))]
    #[expect(clippy::unnecessary_wraps, reason = "with TLS it can fail")]
    fn how(self, named: &Named) -> Result<How, StoreError> {
        Ok(How { login: named.login.clone(), timeouts: self.timeouts })
    }
}

/// Logs what is serious about the servers, and refuses those that evict records.
async fn accept(connections: Link, eviction: Eviction, replicas: Option<Replicas>) -> Result<RedisStore, StoreError> {
    let store = RedisStore { connections, heads: Arc::default(), replicas };
    let findings = match store.check().await {
        Ok(findings) => findings,
        Err(error) => {
            tracing::warn!(%error, "the servers were not checked for what is dangerous to records");
            return Ok(store);
        }
    };
    for finding in findings.iter().filter(|finding| finding.severity() == Severity::Serious) {
        let advice = finding.advice();
        if matches!(finding, Finding::Evicts { .. }) && eviction == Eviction::Refused {
            return Err(StoreError::refused(format!("{finding}: {advice}, or accept_eviction in the builder")));
        }
        tracing::warn!(advice, "{finding}");
    }
    Ok(store)
}
