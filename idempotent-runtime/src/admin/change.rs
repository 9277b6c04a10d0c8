//! Deciding about one record.

use std::sync::Arc;
use std::time::Duration;

use super::{Inspected, Seen};
use crate::codec::ResultRef;
use crate::error::{Error, ErrorKind};
use crate::idempotency::{Core, Idempotency};
use crate::key::Key;
use crate::observe;
use crate::record::{Encoded, Recorded};
use crate::store::{Retention, StoreError};

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

/// What is made of the leases of live runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leases {
    /// A record that a live run has is left alone.
    Respected,
    /// It is removed too: its run may go on to its end, and another may start beside it.
    Broken,
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
        let result = self.core().recorded(result)?;
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

    /// Removes a record: to forget a person's data, or to let an action run again as if it never had.
    ///
    /// ```
    /// use std::time::Duration;
    /// use idempotent_runtime::admin::{Decision, Leases};
    /// use idempotent_runtime::{Error, Idempotency};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
    /// let idempotency = Idempotency::memory();
    /// let call = idempotency.call("welcome").key("ada").ttl(Duration::from_secs(60));
    /// call.run(async { Ok::<_, Error>(()) }).await?;
    ///
    /// let key = idempotency.key("welcome", &[&"ada"])?;
    /// let seen = idempotency.inspect(&key).await?.expect("a record");
    /// let decision = Decision { who: "grace", why: "asked to be forgotten" };
    /// idempotency.remove(&key, seen.seen(), Leases::Respected, decision).await?;
    /// assert!(idempotency.inspect(&key).await?.is_none());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// `Mismatch` when the record is no longer as it was `seen`, or when a live run has it and leases are
    /// [respected](Leases::Respected); `StoreUnavailable`.
    pub async fn remove(&self, key: &Key, seen: Seen, leases: Leases, decision: Decision<'_>) -> Result<(), Error> {
        match self.core().remove(key, seen, leases, decision).await? {
            Changed::Done => Ok(()),
            Changed::Moved => Err(moved(key)),
        }
    }

    async fn change(&self, key: &Key, seen: &Inspected, change: Change, decision: Decision<'_>) -> Result<(), Error> {
        if seen.is_live() {
            return Err(Error::new(ErrorKind::Busy).key(key.as_str()).detail("a live run has the record"));
        }
        let name = match change {
            Change::Resolve { .. } => "resolve",
            Change::Release { .. } => "release",
            Change::AllowOneMore { .. } => "allow_one_more",
        };
        let changed = self.core().admin()?.change(key, seen, &change).await;
        match self.core().changed(key, changed)? {
            Changed::Done => {
                observe::changed_by_hand(self.core(), key, name, decision, seen.attempt);
                Ok(())
            }
            Changed::Moved => Err(moved(key)),
        }
    }
}

impl Core {
    /// A result as a handler's own would be recorded.
    pub(super) fn recorded<T: serde::Serialize>(&self, result: &T) -> Result<Recorded, Error> {
        let codec = self.codec();
        let bytes = codec
            .encode(ResultRef::new(result))
            .map_err(|why| Error::configuration("the result cannot be written").because(why))?;
        Ok(Recorded::Value(Encoded { codec: codec.tag(), bytes: bytes.into() }))
    }

    pub(super) async fn remove(
        &self,
        key: &Key,
        seen: Seen,
        leases: Leases,
        decision: Decision<'_>,
    ) -> Result<Changed, Error> {
        let changed = self.admin()?.remove(key, seen, leases).await;
        let changed = self.changed(key, changed)?;
        if changed == Changed::Done {
            observe::changed_by_hand(self, key, "remove", decision, seen.attempt);
        }
        Ok(changed)
    }

    /// What a change came to. Whatever the answer, it may have been done.
    #[cfg_attr(not(feature = "cache"), expect(clippy::unused_self, reason = "with the feature `cache` it forgets"))]
    fn changed(&self, key: &Key, changed: Result<Changed, StoreError>) -> Result<Changed, Error> {
        #[cfg(feature = "cache")]
        if let Some(recent) = &self.recent {
            recent.forget(key);
        }
        changed.map_err(|error| super::look::unanswered(Some(key), error))
    }
}

fn moved(key: &Key) -> Error {
    Error::new(ErrorKind::Mismatch)
        .key(key.as_str())
        .detail("the record has changed since it was looked at; look again")
}
