//! Looking at one record, and at the store.

use super::{Admin, Concern, Inspected, Swept};
use crate::error::{Error, ErrorKind};
use crate::idempotency::{Core, Idempotency};
use crate::key::Key;
use crate::store::{StoreError, StoreErrorKind};

impl Idempotency {
    /// The key that a call with `prefix` and `parts` has on this handle; that of one step of it is
    /// [`with_step`](Key::with_step).
    ///
    /// # Errors
    ///
    /// `MissingKeyPart` when a part is missing or empty; `Configuration` when `prefix` is empty, or made of other characters
    /// than letters, digits and `_ . : / -`.
    pub fn key(&self, prefix: &str, parts: &[&dyn crate::KeyPart]) -> Result<Key, Error> {
        self.encode(prefix, parts, false)
    }

    /// The key of a call whose handler has the option `hidden`.
    ///
    /// ```
    /// use idempotent_runtime::{Error, Idempotency, MemoryStore};
    ///
    /// # fn main() -> Result<(), Error> {
    /// let idempotency = Idempotency::builder().secret(b"32 random bytes from your vault.").build(MemoryStore::new())?;
    /// let key = idempotency.hidden_key("welcome", &[&"ada@example.org"])?;
    /// assert!(key.as_str().starts_with("welcome:%~"));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`key`](Self::key); `Configuration` where the handle has no secret.
    pub fn hidden_key(&self, prefix: &str, parts: &[&dyn crate::KeyPart]) -> Result<Key, Error> {
        self.encode(prefix, parts, true)
    }

    fn encode(&self, prefix: &str, parts: &[&dyn crate::KeyPart], hidden: bool) -> Result<Key, Error> {
        crate::key::check_name(prefix).map_err(|why| Error::configuration(format!("the prefix {prefix:?}: {why}")))?;
        let secret = self.core().secret(hidden)?;
        crate::key::encode(self.core().namespace.as_deref(), prefix, parts, None, secret).map_err(|position| {
            Error::new(ErrorKind::MissingKeyPart).detail(format!("key part {} of `{prefix}`", position + 1))
        })
    }

    /// Looks at a record; `None` when there is none. Changes nothing.
    ///
    /// ```
    /// use std::time::Duration;
    /// use idempotent_runtime::{Error, Idempotency, admin::State};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
    /// let idempotency = Idempotency::memory();
    /// let call = idempotency.call("order:consume").key(1001).ttl(Duration::from_secs(60));
    /// call.run(async { Ok::<_, Error>(12) }).await?;
    ///
    /// let key = idempotency.key("order:consume", &[&1001])?;
    /// let record = idempotency.inspect(&key).await?.expect("a record");
    /// assert_eq!(record.attempt, 1);
    /// assert!(matches!(record.state, State::Completed(_)));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// `StoreUnavailable`; `Unreadable`; `Configuration` when the store has no administration.
    pub async fn inspect(&self, key: &Key) -> Result<Option<Inspected>, Error> {
        self.core().inspect(key).await
    }

    /// Looks at the servers, or whatever keeps the records, for what these may suffer from; with the feature `registry`, at
    /// the handlers of this program too.
    ///
    /// ```
    /// use idempotent_runtime::{Error, Idempotency};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
    /// let concerns = Idempotency::memory().check().await?;
    /// assert_eq!(concerns[0].to_string(), "records end with this process: use a server or a file");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// `StoreUnavailable`; `Configuration` when the store has no administration.
    pub async fn check(&self) -> Result<Vec<Concern>, Error> {
        let concerns = self.core().admin()?.check().await.map_err(|error| unanswered(None, error))?;
        #[cfg(feature = "registry")]
        let concerns = concerns.into_iter().chain(crate::registry::check()).collect();
        Ok(concerns)
    }

    /// Removes up to `batch` records that have expired and still take up room.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub async fn sweep(&self, batch: u32) -> Result<Swept, Error> {
        self.core().admin()?.sweep(batch).await.map_err(|error| unanswered(None, error))
    }
}

impl Core {
    pub(crate) async fn inspect(&self, key: &Key) -> Result<Option<Inspected>, Error> {
        self.admin()?.inspect(key).await.map_err(|error| unanswered(Some(key), error))
    }

    pub(super) fn admin(&self) -> Result<&dyn Admin, Error> {
        self.store
            .admin()
            .ok_or_else(|| Error::configuration(format!("the store `{}` has no administration", self.store.name())))
    }
}

/// An operation on a key, or on all of them, that the store did not answer.
pub(super) fn unanswered(key: Option<&Key>, error: StoreError) -> Error {
    let kind = match error.kind() {
        StoreErrorKind::Unreadable => ErrorKind::Unreadable,
        StoreErrorKind::Unavailable | StoreErrorKind::Refused => ErrorKind::StoreUnavailable,
    };
    let unanswered = Error::new(kind);
    match key {
        Some(key) => unanswered.key(key.as_str()),
        None => unanswered,
    }
    .because(error)
}
