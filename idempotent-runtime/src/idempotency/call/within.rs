//! The functional form in the caller's transaction.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{CallBuilder, guard};
use crate::error::Error;
use crate::idempotency::Replies;
use crate::run::lent::Lent;
use crate::run::within::{self, Within};
use crate::store::InTransaction;

impl CallBuilder {
    /// Runs `body` in the caller's `transaction` unless its action is done already: the claim, what the body writes there
    /// and the result are committed together, or vanish together. The option `within` of the attribute.
    ///
    /// The body gets the transaction, and uses it as a `&mut` of it. If it returns an error, what it wrote is undone, and the transaction can go on;
    /// what is recorded of the error (if `replies` say so) takes effect when the transaction is committed, as a value does.
    /// Nobody may be told that it is done before that commit has succeeded.
    ///
    /// ```
    /// # #[cfg(not(feature = "sqlite"))] fn main() {}
    /// # #[cfg(feature = "sqlite")]
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    /// use idempotent_runtime::{Idempotency, store::SqliteStore};
    /// use sqlx::{ConnectOptions as _, Connection as _, sqlite::SqliteConnectOptions};
    ///
    /// # #[derive(Debug)] enum Failed { Sql(sqlx::Error), Idempotency(idempotent_runtime::Error) }
    /// # impl From<sqlx::Error> for Failed { fn from(error: sqlx::Error) -> Self { Self::Sql(error) } }
    /// # impl From<idempotent_runtime::Error> for Failed { fn from(error: idempotent_runtime::Error) -> Self { Self::Idempotency(error) } }
    /// # impl std::fmt::Display for Failed { fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { write!(f, "{self:?}") } }
    /// # impl std::error::Error for Failed {}
    /// # let folder = std::env::temp_dir().join(format!("idempotent-doc-within-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// # let file = folder.join("shop.db");
    /// // In the business database, the table of the records beside the business tables.
    /// let store = SqliteStore::connect(&format!("sqlite:{}", file.display())).await?;
    /// let idempotency = Idempotency::with_store(store);
    /// let mut connection = SqliteConnectOptions::new().filename(&file).connect().await?;
    /// sqlx::query("CREATE TABLE orders (id integer PRIMARY KEY)").execute(&mut connection).await?;
    ///
    /// for _ in 0..2 {
    ///     let mut tx = connection.begin_with("BEGIN IMMEDIATE").await?;
    ///     let order = idempotency
    ///         .call("order:create")
    ///         .key("cart-7")
    ///         .ttl(Duration::from_hours(24))
    ///         .within(&mut tx, async |mut tx| {
    ///             let made = sqlx::query("INSERT INTO orders DEFAULT VALUES").execute(&mut **tx).await?;
    ///             Ok::<_, Failed>(made.last_insert_rowid())
    ///         })
    ///         .await?;
    ///     tx.commit().await?;
    ///     assert_eq!(order, 1, "made once");
    /// }
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// The body's own, unchanged; or an [`Error`], by `From`, when the body was not run or its answer cannot be given. Of
    /// kind `TransactionConflict`, the whole transaction has to be repeated.
    pub async fn within<'t, C, F, B, T, E>(self, transaction: &'t mut C, body: F) -> Result<T, E>
    where
        C: InTransaction + ?Sized,
        F: FnOnce(Lent<'t, C>) -> B,
        B: Future<Output = Result<T, E>>,
        T: Serialize + DeserializeOwned,
        E: From<Error>,
    {
        self.within_with(Replies::recorded(), transaction, body).await
    }

    /// As [`within`](Self::within), with `replies` saying what is recorded and what duplicates get.
    ///
    /// # Errors
    ///
    /// As [`within`](Self::within).
    pub async fn within_with<'t, C, F, B, T, E>(
        mut self,
        replies: Replies<T, E>,
        transaction: &'t mut C,
        body: F,
    ) -> Result<T, E>
    where
        C: InTransaction + ?Sized,
        F: FnOnce(Lent<'t, C>) -> B,
        B: Future<Output = Result<T, E>>,
    {
        let Replies { on_duplicate, value, errors } = replies;
        self.policy.on_duplicate = on_duplicate;
        let Self { core, key, step, fingerprint, policy, error, .. } = self;
        let guard = guard(core, (key, step.as_deref()), fingerprint.as_deref(), policy, error);
        let mut call = Within::claim(guard, value, errors.into_ops(), within::transaction(transaction)).await;
        if let Some((scope, transaction)) = call.lend() {
            let reply = scope.run(body(transaction)).await;
            call.returned(reply).await;
        }
        call.end()
    }
}
