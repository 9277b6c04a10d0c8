//! What a handler can learn of its own claim.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::admin::State;
use crate::context;
use crate::error::{Error, ErrorKind};
use crate::key::Key;
use crate::lease::Lease;
use crate::read::Reader;
use crate::record::Recorded;
use crate::text64;

/// The claim of the innermost guarded call that is running on this task, or `None` outside one.
///
/// A task that the handler spawns is outside: pass the claim, or what was derived from it.
///
/// ```
/// use std::time::Duration;
/// use idempotent_runtime::{Error, Idempotency, current};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
/// let idempotency = Idempotency::memory();
/// let attempt = idempotency
///     .call("order:consume")
///     .key(1001)
///     .ttl(Duration::from_secs(60))
///     .run(async { Ok::<_, Error>(current().map(|claim| claim.attempt())) })
///     .await?;
/// assert_eq!(attempt, Some(1));
/// assert!(current().is_none(), "outside");
/// # Ok(()) }
/// ```
#[must_use]
pub fn current() -> Option<Claim> {
    context::claim().map(Claim)
}

/// The right to run the handler for a key, as the running handler sees it.
#[derive(Clone)]
pub struct Claim(Arc<Lease>);

impl Claim {
    /// The key that is claimed.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.0.key
    }

    /// Which run of this record it is, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.0.attempt
    }

    /// A number that is larger for every later claim of this key, for guarding writes elsewhere
    /// (`… where fence < $1`); `None` where the store gives none unless asked.
    #[must_use]
    pub fn fence(&self) -> Option<u64> {
        self.0.fence
    }

    /// How long the claim is known to stand, unless renewed; zero when it is in doubt or lost.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.0.remaining()
    }

    /// What another step of this entity recorded; `None` while it is not completed.
    ///
    /// The value is read as it is now. It stays what it is for as long as its record is kept, so give the steps of an
    /// entity the same `ttl`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use idempotent_runtime::{Error, Idempotency, current};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
    /// let idempotency = Idempotency::memory();
    /// let init = |step| idempotency.call("order:init").key(1001).step(step).ttl(Duration::from_secs(60));
    ///
    /// init("init_token").run(async { Ok::<_, Error>("t-1".to_owned()) }).await?;
    /// let status = init("payment_status").run(async {
    ///     let token = current().unwrap().step::<String>("init_token").await?;
    ///     Ok::<_, Error>(format!("open, token {}", token.unwrap_or_default()))
    /// });
    /// assert_eq!(status.await?, "open, token t-1");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// `Configuration` where the call has no step, or the store cannot show its records; `Failed` where the other step
    /// ended in a failure that was recorded, `ResultUnavailable` where its result was not; `Unreadable`, also where it is
    /// no `T`; `StoreUnavailable`.
    pub async fn step<T: DeserializeOwned>(&self, step: &str) -> Result<Option<T>, Error> {
        let Lease { key, core, .. } = &*self.0;
        if key.step().is_none() {
            return Err(Error::configuration("a call without a step has no other steps").key(key.as_str()));
        }
        let key = key.with_step(step)?;
        let core = core.upgrade().ok_or_else(|| {
            Error::new(ErrorKind::StoreUnavailable).key(key.as_str()).detail(
                "the claim stands in a transaction of its caller's, or its handle is gone: steps cannot be read",
            )
        })?;
        let Some(record) = core.inspect(&key).await? else { return Ok(None) };
        let State::Completed(recorded) = record.state else { return Ok(None) };
        let value = match recorded {
            Recorded::Value(encoded) => {
                let mut value = None;
                let mut read = |from: Reader<'_, '_>| Some(T::deserialize(from).map(|read| value = Some(read)));
                core.decode(&encoded, &mut read).map(|()| value)
            }
            Recorded::Nothing(why) => Err(Error::without_result(why)),
            Recorded::Rejected(summary) => Err(Error::new(ErrorKind::Failed).detail(summary.to_string())),
            Recorded::Error(_) => Err(Error::new(ErrorKind::Failed).detail("with an error of its handler")),
        };
        value.map_err(|error| error.key(key.as_str()))
    }

    /// A key for the next system down: the same for every attempt of this action, different for every other action
    /// and every other `name`. 22 characters of `A-Z a-z 0-9 - _` (128 bits of BLAKE3).
    ///
    /// Give it to a payment provider as its idempotency key: if this run dies after the charge, the next one sends the
    /// same key and is not charged twice.
    ///
    /// ```
    /// use std::time::Duration;
    /// use idempotent_runtime::{Error, Idempotency, current};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
    /// let idempotency = Idempotency::memory();
    /// let charge = idempotency
    ///     .call("order:pay")
    ///     .key(1001)
    ///     .ttl(Duration::from_secs(60))
    ///     .run(async { Ok::<_, Error>(current().unwrap().derive("charge")) })
    ///     .await?;
    /// assert_eq!(charge.len(), 22);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn derive(&self, name: &str) -> String {
        let mut hasher = blake3::Hasher::new_derive_key("idempotent 2026-11 key for a downstream system");
        hasher.update(self.0.key.as_str().as_bytes());
        // A key holds no NUL (control characters are escaped), so key and name cannot run into each other.
        hasher.update(b"\0");
        hasher.update(name.as_bytes());
        let mut first = [0; 16];
        first.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        text64::as_str(&text64::encode_u128(u128::from_be_bytes(first))).to_owned()
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim")
            .field("key", self.key())
            .field("attempt", &self.attempt())
            .field("fence", &self.fence())
            .finish_non_exhaustive()
    }
}
