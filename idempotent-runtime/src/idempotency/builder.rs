//! Settings, each with its default and its bounds.

use std::sync::Arc;
use std::time::Duration;

use super::{Idempotency, Mode, Place, Settings, connect};
use crate::codec::Codec;
use crate::error::Error;
#[cfg(feature = "cache")]
use crate::guard::recent::Cache;
use crate::key::{Secret, check_name};
use crate::store::Store;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
use crate::store::Table;

/// Settings of a handle.
///
/// ```
/// use std::time::Duration;
/// use idempotent_runtime::{Error, Idempotency};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
/// let idempotency = Idempotency::builder()
///     .namespace("shop")
///     .owner("consumer-3")
///     .store_timeout(Duration::from_secs(1))
///     .connect("memory:")
///     .await?;
/// assert_eq!(idempotency.owner(), "consumer-3");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is connected or built"]
pub struct Builder {
    pub(super) owner: Option<Arc<str>>,
    pub(super) namespace: Option<Box<str>>,
    pub(super) secret: Option<Secret>,
    pub(super) codec: Option<Arc<dyn Codec>>,
    pub(super) readers: Vec<Arc<dyn Codec>>,
    pub(super) settings: Settings,
    #[cfg(feature = "cache")]
    pub(super) cache: Option<Cache>,
    pub(super) in_flight: InFlight,
    mode: Mode,
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(super) table: Option<Table>,
}

/// What is made of calls in flight under one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InFlight {
    /// Each asks the store.
    Apart,
    /// One asks for all.
    Collapsed,
}

/// The longest owner label, in bytes: it stands in every record.
const LONGEST_OWNER: usize = 64;

impl Builder {
    pub(super) fn new() -> Self {
        Self {
            owner: None,
            namespace: None,
            secret: None,
            codec: None,
            readers: Vec::new(),
            settings: Settings {
                store_timeout: Duration::from_secs(2),
                settle_timeout: Duration::from_secs(5),
                max_result_bytes: 1024 * 1024,
            },
            #[cfg(feature = "cache")]
            cache: None,
            in_flight: InFlight::Apart,
            mode: Mode::Guarded,
            #[cfg(any(feature = "postgres", feature = "sqlite"))]
            table: None,
        }
    }

    /// Who claims, as records and spans show it: at most 64 bytes of printable ASCII without spaces. By default host
    /// and process, `host:4711`.
    pub fn owner(mut self, owner: &str) -> Self {
        self.owner = Some(owner.into());
        self
    }

    /// Stands in front of every key, so that applications or stages can share a store: letters, digits and
    /// `_ . : / -`. None by default.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// What the keys of handlers with the option `hidden` are digested with: 16 random bytes or more, the same in every
    /// process that shares the store. Under another secret their records are not found any more. None by default.
    pub fn secret(mut self, secret: impl AsRef<[u8]>) -> Self {
        self.secret = Some(Secret::new(secret.as_ref()));
        self
    }

    /// Writes results with `codec`, and reads what it wrote. JSON by default.
    pub fn codec(mut self, codec: impl Codec) -> Self {
        self.codec = Some(Arc::new(codec));
        self
    }

    /// Reads results of a further codec, without writing with it: for the time in which old records are around.
    pub fn also_reads(mut self, codec: impl Codec) -> Self {
        self.readers.push(Arc::new(codec));
        self
    }

    /// How long a call may wait for the store before it runs, repeats included. Two seconds by default.
    pub fn store_timeout(mut self, timeout: Duration) -> Self {
        self.settings.store_timeout = timeout;
        self
    }

    /// How long a caller waits for its result to be recorded, repeats included, before the keeper goes on in the
    /// background. Five seconds by default.
    pub fn settle_timeout(mut self, timeout: Duration) -> Self {
        self.settings.settle_timeout = timeout;
        self
    }

    /// The largest result that is recorded, in bytes. A larger one is completed without a result. 1 MiB by default.
    pub fn max_result_bytes(mut self, bytes: usize) -> Self {
        self.settings.max_result_bytes = bytes;
        self
    }

    /// Keeps completed records in this process too, and answers their duplicates without asking the store. Off by
    /// default. Feature `cache`.
    ///
    /// A record comes in when this process completes it, or has seen that it is completed; never while a run is in
    /// progress or has failed. It is answered from as long as the store keeps it, and for [`Cache::max_age`] at the most:
    /// so late is seen what another process does about it (removes it, resolves it, or replaces it after its `verify`).
    /// Fingerprints are compared, and `verify` is asked, as ever.
    ///
    /// ```
    /// use std::time::Duration;
    /// use idempotent_runtime::{Cache, Error, Idempotency};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
    /// let cache = Cache::new().max_age(Duration::from_secs(10));
    /// let idempotency = Idempotency::builder().cache(cache).connect("memory:").await?;
    /// for _ in 0..2 {
    ///     let call = idempotency.call("order:consume").key(1001).ttl(Duration::from_secs(60));
    ///     // The second is answered by the process itself.
    ///     assert_eq!(call.run(async { Ok::<_, Error>(7) }).await?, 7);
    /// }
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "cache")]
    pub fn cache(mut self, cache: Cache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Lets one call of this process ask the store for all that are in flight under its key, with the same fingerprint.
    /// Off by default.
    ///
    /// The others claim nothing. While the one asks, they wait for its answer; while it runs, they are `Busy`, or wait as
    /// their `on_busy` says, without a word to the store; when it completes, they get its result. When it ends in any
    /// other way (an error that is released, a panic, a dropped future, a lost lease), one of those who wait asks in its
    /// place. It is worth its while where the same message reaches one process many times at once.
    ///
    /// ```
    /// use std::time::Duration;
    /// use idempotent_runtime::{Error, Idempotency, OnBusy};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
    /// let idempotency = Idempotency::builder().collapse().connect("memory:").await?;
    /// let call = || {
    ///     let wait = OnBusy::Wait(Duration::from_secs(5));
    ///     let call = idempotency.call("order:consume").key(1001).ttl(Duration::from_secs(60)).on_busy(wait);
    ///     call.run(async { Ok::<_, Error>(7) })
    /// };
    /// let (first, second) = tokio::join!(call(), call());
    /// assert_eq!((first?, second?), (7, 7));
    /// # Ok(()) }
    /// ```
    pub fn collapse(mut self) -> Self {
        self.in_flight = InFlight::Collapsed;
        self
    }

    /// Runs every handler, as if there were no guard, and tries the guard beside it: for live traffic, before it decides
    /// anything. Off by default.
    ///
    /// Calls claim and record as ever, so what is seen is what would be. A call that would have been answered from a record,
    /// refused, or told to come back runs all the same, unguarded, and is counted:
    /// `idempotent_shadow_total{prefix,would}`, where `would` is `replayed`, `refused` or `held`; a log line at debug says
    /// which key, and why. Nothing waits for another run (`on_busy`), no run is stopped (`timeout`, `on_lost`), an outage
    /// stops nobody (`on_outage`), and `verify` is not asked. What a call needs for that is one claim and one completion.
    ///
    /// Three things are as they would be: `existing` is the handler's own question, and its answer is returned; a handle or
    /// a setting that is missing or wrong is an error; and calls in a caller's transaction (`within`) do not claim at all,
    /// since a claim there would hold up others. The HTTP layer lets pass what it would refuse by its head (no key, a wrong
    /// one, no scope, a body announced too long); a body that turns out too long, or breaks off, while it is read is refused
    /// here too.
    ///
    /// In a deploy, all processes are in shadow, or none: one that is guards nobody, so another's duplicate can run beside
    /// it. Records written in shadow are real: leave it only when each ttl was passed, or the numbers are as they should be.
    ///
    /// ```
    /// use std::time::Duration;
    /// use idempotent_runtime::{Error, Idempotency};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
    /// let idempotency = Idempotency::builder().shadow().connect("memory:").await?;
    /// for run in [1, 2] {
    ///     let call = idempotency.call("order:consume").key(1001).ttl(Duration::from_secs(60));
    ///     // The second is counted as one that would have been replayed.
    ///     assert_eq!(call.run(async { Ok::<_, Error>(run) }).await?, run);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn shadow(mut self) -> Self {
        self.mode = Mode::Shadow;
        self
    }

    /// The table in which calls in a caller's transaction (`within`) keep their records, with its schema if it is to be
    /// named. By default the table of the handle's own store, where that is a `PostgresStore` or a `SqliteStore`; else
    /// `idempotency_records`.
    ///
    /// # Errors
    ///
    /// `Configuration` for a name that is none.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub fn within_table(mut self, schema: Option<&str>, table: &str) -> Result<Self, Error> {
        let table = Table::new(schema, table).map_err(|why| Error::configuration(why.to_string()))?;
        self.table = Some(table);
        Ok(self)
    }

    /// Connects to a store by its URL; see [`Idempotency::connect`].
    ///
    /// # Errors
    ///
    /// `Configuration` for a setting or URL that cannot be used, `StoreUnavailable` when the store cannot be reached.
    pub async fn connect(self, url: &str) -> Result<Idempotency, Error> {
        self.check()?;
        let store = connect::store(url, self.settings.store_timeout).await?;
        let mode = self.mode;
        Ok(Idempotency::from_parts(self, store, mode))
    }

    /// Uses a store that is connected already.
    ///
    /// # Errors
    ///
    /// `Configuration` for a setting that cannot be used.
    pub fn build(self, store: impl Store) -> Result<Idempotency, Error> {
        self.check()?;
        let mode = self.mode;
        Ok(Idempotency::from_parts(self, Arc::new(store), mode))
    }

    /// Connects as an administrator.
    pub(crate) async fn administer(self, url: &str, place: &Place) -> Result<Idempotency, Error> {
        self.check()?;
        let store = place.store(url).await?;
        Ok(Idempotency::from_parts(self, store, Mode::Guarded))
    }

    fn check(&self) -> Result<(), Error> {
        if let Some(namespace) = &self.namespace {
            check_name(namespace).map_err(|why| Error::configuration(format!("the namespace {namespace:?}: {why}")))?;
        }
        if let Some(secret) = &self.secret {
            secret.check().map_err(Error::configuration)?;
        }
        if let Some(owner) = &self.owner
            && (owner.is_empty() || owner.len() > LONGEST_OWNER || !owner.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            return Err(Error::configuration(format!(
                "the owner {owner:?}: use 1 to {LONGEST_OWNER} printable ASCII characters without spaces"
            )));
        }
        for (name, value) in
            [("store_timeout", self.settings.store_timeout), ("settle_timeout", self.settings.settle_timeout)]
        {
            if value.is_zero() {
                return Err(Error::configuration(format!("`{name}` is zero")));
            }
        }
        Ok(())
    }
}

/// Host and process, as far as they can be known.
pub(super) fn default_owner() -> Arc<str> {
    let host = host_name();
    let host: String = host.chars().filter(char::is_ascii_graphic).take(LONGEST_OWNER - 11).collect();
    format!("{host}:{}", std::process::id()).into()
}

#[cfg(unix)]
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}
