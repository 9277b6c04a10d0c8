//! Administration: what a person needs when a record needs a decision.
//!
//! Looking changes nothing. Every change is a compare-and-set on what was looked at, so a decision taken on an old view
//! changes nothing either, and leaves one log line that says who made it and why.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::codec::ResultRef;
use crate::error::{Error, ErrorKind};
use crate::fingerprint::Fingerprint;
use crate::idempotency::{Core, Idempotency};
use crate::key::Key;
use crate::record::{Encoded, Recorded};
use crate::store::{Reply, Retention, StoreError, StoreErrorKind};
use crate::token::Token;

/// What a store does for administration.
///
/// Reached through [`Store::admin`](crate::Store::admin).
pub trait Admin: fmt::Debug + Send + Sync {
    /// Looks at the record of `key`; `None` when there is none (absent or expired). Changes nothing.
    fn inspect<'a>(&'a self, key: &'a Key) -> Reply<'a, Option<Inspected>>;

    /// Changes the record of `key`, if it still is as `seen`: its state, token, attempt, and begun and given-up marks
    /// are the same, and a claim that had lapsed has not been renewed since. `Moved` otherwise, unchanged.
    ///
    /// | change | record afterwards |
    /// |---|---|
    /// | [`Change::Resolve`] | completed with the given result, of the seen token, attempt and fingerprint, for the given retention |
    /// | [`Change::Release`] | failed, of a token that no call has, with the attempts that had begun (the seen one, unless it is in progress and has not begun) and the reason as last error; kept for the seen record's retention |
    /// | [`Change::AllowOneMore`] | as `Release`, with one attempt less (0 at the least) |
    ///
    /// A store does not judge whether a change is wise: the handle does.
    fn change<'a>(&'a self, key: &'a Key, seen: &'a Inspected, change: &'a Change) -> Reply<'a, Changed>;
}

/// A record, as a person sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspected {
    /// The token of the claim that wrote the record last.
    pub token: Token,
    /// How many runs have started, this one included: a claim in progress counts even before it has begun.
    pub attempt: u32,
    /// Who claimed it last; empty where the record does not say.
    pub owner: Arc<str>,
    /// The fingerprint of the call that claimed, if it had one.
    pub fingerprint: Option<Fingerprint>,
    /// What state it is in.
    pub state: State,
    /// For how long the record is still kept, unless it is renewed.
    pub expires_in: Retention,
}

/// The state of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// A run has it.
    InProgress {
        /// What is left of its lease; zero when it has lapsed or was given up.
        remaining: Duration,
        /// Its lease.
        lease: Duration,
        /// Whether its body had begun.
        begun: bool,
        /// Whether it was given up.
        given_up: bool,
    },
    /// Released after a failure: the next call runs.
    Failed {
        /// What was recorded of the failure.
        last_error: Arc<str>,
    },
    /// Completed.
    Completed(Recorded),
}

impl Inspected {
    /// How many runs have begun.
    pub(crate) fn runs(&self) -> u32 {
        let begun = !matches!(self.state, State::InProgress { begun: false, .. });
        if begun { self.attempt } else { self.attempt.saturating_sub(1) }
    }

    /// Whether a live run has the record.
    #[must_use]
    pub fn is_live(&self) -> bool {
        matches!(&self.state, State::InProgress { remaining, .. } if !remaining.is_zero())
    }
}

impl Inspected {
    /// Whether a record that was seen as `self` may be changed when it is found as `now`: nobody has claimed, renewed,
    /// settled or changed it since.
    #[must_use]
    pub fn is_still(&self, now: &Self) -> bool {
        let standing = |record: &Self| match record.state {
            State::InProgress { begun, given_up, .. } => (0, begun, given_up),
            State::Failed { .. } => (1, false, false),
            State::Completed(_) => (2, false, false),
        };
        self.token == now.token && self.attempt == now.attempt && standing(self) == standing(now) && !now.is_live()
    }
}

/// A change to a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Completes it.
    Resolve {
        /// The result that duplicates get.
        result: Recorded,
        /// How long the completed record is kept.
        retention: Retention,
    },
    /// Makes it claimable at once.
    Release {
        /// What stands as its last error.
        reason: Arc<str>,
    },
    /// Makes it claimable at once, with one attempt less.
    AllowOneMore {
        /// What stands as its last error.
        reason: Arc<str>,
    },
}

/// Whether a change was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// It was.
    Done,
    /// The record is no longer as it was seen; nothing was changed.
    Moved,
}

/// Who decides, and why: one log line for each change.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    /// Who decides.
    pub who: &'a str,
    /// Why.
    pub why: &'a str,
}

impl Idempotency {
    /// The key that a call with `prefix` and `parts` has on this handle; that of one step of it is
    /// [`with_step`](Key::with_step).
    ///
    /// # Errors
    ///
    /// `MissingKeyPart` when a part is missing or empty.
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

    /// Completes a record that nobody can run any more (`Indeterminate`, `Exhausted`) with the result that its effect
    /// had, to be kept for `ttl`. Duplicates get it from now on.
    ///
    /// # Errors
    ///
    /// `Busy` when a live run has the record, `Mismatch` when it is no longer as it was `seen`, `StoreUnavailable`;
    /// `Configuration` when the result cannot be written.
    pub async fn resolve<T: serde::Serialize>(
        &self,
        key: &Key,
        seen: &Inspected,
        result: &T,
        ttl: Duration,
        decision: Decision<'_>,
    ) -> Result<(), Error> {
        let codec = self.core().codec();
        let bytes = codec
            .encode(ResultRef::new(result))
            .map_err(|why| Error::configuration("the result cannot be written").because(why))?;
        let result = Recorded::Value(Encoded { codec: codec.tag(), bytes: bytes.into() });
        self.change(key, seen, Change::Resolve { result, retention: Retention::For(ttl) }, decision).await
    }

    /// Makes a record claimable at once: the next call runs. For a run that is known to have had no effect, and for a
    /// deliberate second run of a completed action.
    ///
    /// # Errors
    ///
    /// `Busy` when a live run has the record, `Mismatch` when it is no longer as it was `seen`, `StoreUnavailable`.
    pub async fn release(&self, key: &Key, seen: &Inspected, decision: Decision<'_>) -> Result<(), Error> {
        self.change(key, seen, Change::Release { reason: decision.why.into() }, decision).await
    }

    /// Makes a record claimable at once, and lets one more run start than `max_attempts` would.
    ///
    /// # Errors
    ///
    /// As [`release`](Self::release).
    pub async fn allow_one_more(&self, key: &Key, seen: &Inspected, decision: Decision<'_>) -> Result<(), Error> {
        self.change(key, seen, Change::AllowOneMore { reason: decision.why.into() }, decision).await
    }

    async fn change(
        &self,
        key: &Key,
        seen: &Inspected,
        change: Change,
        Decision { who, why }: Decision<'_>,
    ) -> Result<(), Error> {
        if seen.is_live() {
            return Err(Error::new(ErrorKind::Busy).key(key.as_str()).detail("a live run has the record"));
        }
        let name = match change {
            Change::Resolve { .. } => "resolve",
            Change::Release { .. } => "release",
            Change::AllowOneMore { .. } => "allow_one_more",
        };
        let changed = self.core().admin()?.change(key, seen, &change).await;
        // Whatever the answer, it may have been done.
        #[cfg(feature = "cache")]
        if let Some(recent) = &self.core().recent {
            recent.forget(key);
        }
        match changed {
            Ok(Changed::Done) => {
                tracing::warn!(target: "idempotent::audit", %key, change = name, who, why, attempt = seen.attempt, "a record was changed by hand");
                Ok(())
            }
            Ok(Changed::Moved) => Err(Error::new(ErrorKind::Mismatch)
                .key(key.as_str())
                .detail("the record has changed since it was looked at; look again")),
            Err(error) => Err(unanswered(key, error)),
        }
    }
}

impl Core {
    pub(crate) async fn inspect(&self, key: &Key) -> Result<Option<Inspected>, Error> {
        self.admin()?.inspect(key).await.map_err(|error| unanswered(key, error))
    }

    fn admin(&self) -> Result<&dyn Admin, Error> {
        self.store
            .admin()
            .ok_or_else(|| Error::configuration(format!("the store `{}` has no administration", self.store.name())))
    }
}

fn unanswered(key: &Key, error: StoreError) -> Error {
    let kind = match error.kind() {
        StoreErrorKind::Unreadable => ErrorKind::Unreadable,
        StoreErrorKind::Unavailable | StoreErrorKind::Refused => ErrorKind::StoreUnavailable,
    };
    Error::new(kind).key(key.as_str()).because(error)
}
