//! Taking over what was processed before there were records.

use std::time::Duration;

use super::Decision;
use super::look::unanswered;
use crate::error::Error;
use crate::guard::import::import;
use crate::idempotency::Idempotency;
use crate::key::Key;
use crate::record::{NoResult, Recorded};
use crate::store::Retention;

/// What became of a key that was to be taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Imported {
    /// It has a completed record now.
    TakenOver,
    /// It had a record, in whatever state, and that stands.
    Known,
}

impl Idempotency {
    /// Takes over what was processed before there were records: the key becomes a completed record with this result, kept
    /// for `ttl`, and its duplicates get it. A key that has a record already is left alone, so an import can be repeated,
    /// and can go on beside calls.
    ///
    /// ```
    /// use std::time::Duration;
    /// use idempotent_runtime::admin::{Decision, Imported};
    /// use idempotent_runtime::{Error, Idempotency};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
    /// let idempotency = Idempotency::memory();
    /// let day = Duration::from_secs(24 * 60 * 60);
    /// let decision = Decision { who: "ada", why: "done by the old consumer" };
    /// let key = idempotency.key("order:consume", &[&1001])?;
    /// assert_eq!(idempotency.import(&key, &"receipt 7", day, decision).await?, Imported::TakenOver);
    ///
    /// let call = idempotency.call("order:consume").key(1001).ttl(day);
    /// let receipt: String = call.run(async { Err::<String, Error>(unreachable!("it is done")) }).await?;
    /// assert_eq!(receipt, "receipt 7");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// `StoreUnavailable`: the key may have been taken over. `Configuration` when the result cannot be written.
    pub async fn import<T: serde::Serialize>(
        &self,
        key: &Key,
        result: &T,
        ttl: Duration,
        decision: Decision<'_>,
    ) -> Result<Imported, Error> {
        self.take_over(key, &self.core().recorded(result)?, ttl, decision).await
    }

    /// As [`import`](Self::import), where nobody knows the result any more: duplicates run nothing, and are told that there is
    /// none to give (`ResultUnavailable`), unless their handlers need none (`on_duplicate = skip` or `reject`).
    ///
    /// # Errors
    ///
    /// As [`import`](Self::import).
    pub async fn import_without_result(
        &self,
        key: &Key,
        ttl: Duration,
        decision: Decision<'_>,
    ) -> Result<Imported, Error> {
        self.take_over(key, &Recorded::Nothing(NoResult::NotWanted), ttl, decision).await
    }

    async fn take_over(
        &self,
        key: &Key,
        result: &Recorded,
        ttl: Duration,
        Decision { who, why }: Decision<'_>,
    ) -> Result<Imported, Error> {
        let imported = import(self.core(), key, result, Retention::For(ttl)).await;
        if !imported.map_err(|error| unanswered(Some(key), error))? {
            return Ok(Imported::Known);
        }
        tracing::warn!(target: "idempotent::audit", %key, change = "import", who, why, "a record was made by hand");
        Ok(Imported::TakenOver)
    }
}
