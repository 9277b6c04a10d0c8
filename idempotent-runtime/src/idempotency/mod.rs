//! The handle: one store, one keeper, one set of settings.

mod ambient;
mod builder;
mod call;
mod checked;
mod connect;
#[cfg(feature = "http")]
mod detached;
mod place;
mod replies;

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

pub use ambient::{Ambient, Via, installed};
pub use builder::Builder;
use builder::InFlight;
pub use call::CallBuilder;
pub use checked::{Existing, Question, Unasked, Verify};
#[cfg(feature = "http")]
pub(crate) use detached::Outliving;
pub(crate) use place::Place;
pub use replies::Replies;

use crate::clock::Clock;
use crate::codec::{Codec, Json, ResultSlot};
use crate::error::{Error, ErrorKind};
use crate::guard::flight::Flights;
#[cfg(feature = "cache")]
use crate::guard::recent::Recent;
use crate::keeper::Keeper;
use crate::key::Secret;
use crate::read::Reader;
use crate::record::{CodecTag, Encoded};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
use crate::store::Tables;
use crate::store::{MemoryStore, Store};

/// A handle to the runtime: where records live, and how calls are guarded.
///
/// Cloning it copies a pointer; all clones share one store and one keeper. It must be used inside a tokio runtime.
///
/// ```
/// use std::time::Duration;
/// use idempotent_runtime::{Error, Idempotency};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
/// let idempotency = Idempotency::memory();
/// for _ in 0..2 {
///     let receipt = idempotency
///         .call("order:consume")
///         .key(1001)
///         .ttl(Duration::from_secs(24 * 60 * 60))
///         .run(async { Ok::<_, Error>("prepared once".to_owned()) })
///         .await?;
///     assert_eq!(receipt, "prepared once");
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Idempotency {
    core: Arc<Core>,
}

/// What all clones of a handle share.
pub(crate) struct Core {
    pub(crate) mode: Mode,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) keeper: Keeper,
    pub(crate) clock: Clock,
    pub(crate) owner: Arc<str>,
    pub(crate) namespace: Option<Box<str>>,
    secret: Option<Secret>,
    pub(crate) settings: Settings,
    codec: Arc<dyn Codec>,
    readers: Vec<Arc<dyn Codec>>,
    /// Completed records that were seen lately, where they are kept.
    #[cfg(feature = "cache")]
    pub(crate) recent: Option<Recent>,
    /// Calls in flight, where they are collapsed.
    pub(crate) flights: Option<Arc<Flights>>,
    /// What calls came to, once a page shows it.
    #[cfg(feature = "dashboard")]
    pub(crate) tally: std::sync::OnceLock<crate::dashboard::Tally>,
    /// Where calls in a caller's transaction keep their records.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) tables: Tables,
}

/// Whether calls are guarded at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Guarded,
    /// Claims and records, and every handler runs.
    Shadow,
    Disabled,
}

/// The settings that the guard reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) store_timeout: Duration,
    pub(crate) settle_timeout: Duration,
    pub(crate) max_result_bytes: usize,
}

impl Core {
    /// What the key and the fingerprint of a handler are hidden with, if it asks for that.
    pub(crate) fn secret(&self, hidden: bool) -> Result<Option<&Secret>, Error> {
        match &self.secret {
            _ if !hidden => Ok(None),
            Some(secret) => Ok(Some(secret)),
            None => {
                Err(Error::configuration("`hidden` needs a secret; give one with `Idempotency::builder().secret(…)`"))
            }
        }
    }

    /// The codec that writes.
    pub(crate) fn codec(&self) -> &dyn Codec {
        &*self.codec
    }

    /// Whether the codec that writes is the built-in one: then a value may write its own bytes. One of the application's may
    /// encrypt, and is not passed by.
    pub(crate) fn has_built_in_codec(&self) -> bool {
        self.codec.tag() == CodecTag::JSON
    }

    /// Reads what a codec wrote, which may be another than the one that writes. `read` gives `None` where nobody can want
    /// such a result: a handler's options have changed since.
    pub(crate) fn decode(&self, encoded: &Encoded, read: &mut Read<'_>) -> Result<(), Error> {
        let unreadable = |cause: Box<dyn StdError + Send + Sync>| Error::new(ErrorKind::Unreadable).because(cause);
        let codec = std::iter::once(&self.codec)
            .chain(&self.readers)
            .find(|codec| codec.tag() == encoded.codec)
            .ok_or_else(|| unreadable(format!("no codec reads `{}` here", encoded.codec).into()))?;
        let mut is_read = false;
        let mut fill = |from: Reader<'_, '_>| {
            is_read = read(from).transpose()?.is_some();
            Ok(())
        };
        codec.decode(&encoded.bytes, ResultSlot::new(&mut fill)).map_err(unreadable)?;
        if is_read { Ok(()) } else { Err(unreadable("this handler records no result of this kind".into())) }
    }
}

/// Reads a result into its place, if it has one.
type Read<'a> = dyn FnMut(Reader<'_, '_>) -> Option<Result<(), erased_serde::Error>> + 'a;

impl Idempotency {
    /// A handle whose records live in the memory of this process, and end with it.
    ///
    /// For tests, and for work whose duplicates only come from this process.
    #[must_use]
    pub fn memory() -> Self {
        Self::with_store(MemoryStore::new())
    }

    /// A handle on a given store, with default settings.
    pub fn with_store(store: impl Store) -> Self {
        Self::from_parts(Builder::new(), Arc::new(store), Mode::Guarded)
    }

    /// Connects to a store by its URL, with default settings.
    ///
    /// | URL | store |
    /// |---|---|
    /// | `memory:` | [`MemoryStore`] |
    /// | `redis://[user:password@]host[:port][/database]` | `RedisStore` (feature `redis`) |
    /// | `postgres://[user[:password]@]host[:port]/database` | `PostgresStore` (feature `postgres`) |
    /// | `sqlite:path/to/file.db` | `SqliteStore` (feature `sqlite`): a file for the processes of one machine |
    /// | `rediss://…`, `redis+unix:///path` | the same over TLS (feature `tls`), or a Unix socket |
    /// | `redis+sentinel://host:port,host:port/primary` | the primary that these Sentinels know by this name |
    /// | `redis+cluster://host:port,host:port` | the Cluster of which these are some nodes |
    ///
    /// ```
    /// use idempotent_runtime::{Error, Idempotency};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
    /// let idempotency = Idempotency::connect("memory:").await?;
    /// # drop(idempotency);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// `Configuration` for a URL that cannot be used, `StoreUnavailable` when the store cannot be reached or refuses.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        Builder::new().connect(url).await
    }

    /// Starts with default settings, to change some.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// Starts with settings under which every handler runs, as if there were no guard, and the guard is tried beside it:
    /// the same as [`builder`](Self::builder)`().`[`shadow`](Builder::shadow)`()`.
    pub fn shadow() -> Builder {
        Builder::new().shadow()
    }

    /// A handle that runs every handler unguarded: for unit tests of business code. It says so in the log.
    ///
    /// Keys and fingerprints are still computed, so a missing key part is found here too.
    #[must_use]
    pub fn disabled() -> Self {
        tracing::warn!("idempotency is disabled: handlers run unguarded, duplicates run again");
        // It keeps nothing, so it needs no secret that is one.
        let settings = Builder::new().secret("");
        Self::from_parts(settings, Arc::new(MemoryStore::new()), Mode::Disabled)
    }

    /// Installs the handle for the whole process: annotated handlers use it unless they name one with `via`, or run in
    /// a [`scope`](Self::scope).
    ///
    /// # Errors
    ///
    /// `AlreadyInstalled` when one was installed before.
    pub fn install(&self) -> Result<(), Error> {
        ambient::install(self.clone())
    }

    /// Runs `future` with this handle as the ambient one: for tests, and for servers with a store per tenant.
    ///
    /// It reaches everything that `future` awaits, but no task that it spawns.
    ///
    /// ```
    /// use std::time::Duration;
    /// use idempotent_runtime::{Error, Idempotency, installed};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let idempotency = Idempotency::memory();
    /// assert!(installed().is_none());
    /// assert!(idempotency.scope(async { installed().is_some() }).await);
    /// # }
    /// ```
    pub async fn scope<F: Future>(&self, future: F) -> F::Output {
        ambient::scope(self.clone(), future).await
    }

    /// Guards a call without the attribute. `prefix` names the action: letters, digits and `_ . : / -`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use idempotent_runtime::{Error, Idempotency};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
    /// let idempotency = Idempotency::memory();
    /// let total = idempotency
    ///     .call("cart:checkout")
    ///     .key("customer-7")
    ///     .key(1001)
    ///     .ttl(Duration::from_secs(60))
    ///     .run(async { Ok::<_, Error>(1200) })
    ///     .await?;
    /// assert_eq!(total, 1200);
    /// # Ok(()) }
    /// ```
    pub fn call(&self, prefix: &str) -> CallBuilder {
        CallBuilder::new(Arc::clone(&self.core), prefix)
    }

    /// Waits until no claim is live and nothing is left to finish in the background, at most for `timeout`.
    ///
    /// Stop taking messages first. `Ok` when everything is settled.
    ///
    /// # Errors
    ///
    /// The number of calls that are still open. Their leases lapse by themselves, and the next delivery takes over.
    pub async fn shutdown(&self, timeout: Duration) -> Result<(), usize> {
        match self.core.keeper.drained(timeout).await {
            0 => Ok(()),
            left => Err(left),
        }
    }

    /// Who this handle claims for, as records and spans show it.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.core.owner
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.core.store
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    fn from_parts(settings: Builder, store: Arc<dyn Store>, mode: Mode) -> Self {
        #[cfg(feature = "registry")]
        crate::registry::warn();
        let clock = Clock::of(store.home());
        #[cfg(feature = "cache")]
        let recent = settings.cache.map(|cache| Recent::new(cache, clock));
        let flights = (settings.in_flight == InFlight::Collapsed).then(Arc::default);
        #[cfg(any(feature = "postgres", feature = "sqlite"))]
        let table = settings.table.clone();
        let Builder { owner, namespace, secret, codec, readers, settings, .. } = settings;
        let keeper = Keeper::new(Arc::clone(&store), clock, settings.store_timeout);
        let codec = codec.unwrap_or_else(|| Arc::new(Json));
        let owner = owner.unwrap_or_else(builder::default_owner);
        #[cfg(any(feature = "postgres", feature = "sqlite"))]
        let tables = table.map_or_else(|| Tables::of(&*store), Tables::new);
        Self {
            core: Arc::new(Core {
                mode,
                store,
                keeper,
                clock,
                owner,
                namespace,
                secret,
                settings,
                codec,
                readers,
                #[cfg(feature = "cache")]
                recent,
                flights,
                #[cfg(feature = "dashboard")]
                tally: std::sync::OnceLock::new(),
                #[cfg(any(feature = "postgres", feature = "sqlite"))]
                tables,
            }),
        }
    }
}

impl fmt::Debug for Idempotency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Idempotency")
            .field("store", &self.core.store.name())
            .field("owner", &self.core.owner)
            .field("namespace", &self.core.namespace)
            .finish_non_exhaustive()
    }
}
