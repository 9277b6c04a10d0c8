//! What counts as a transaction of the caller.

#[cfg(feature = "postgres")]
use sqlx::postgres::{PgConnection, Postgres};
#[cfg(feature = "sqlite")]
use sqlx::sqlite::{Sqlite, SqliteConnection};

use super::connection::Borrowed;
use super::within::Session;

/// A transaction that a call can take part in: what the option `within` names.
///
/// The client's transactions and connections are such. A wrapper of one's own gives its connection:
///
/// ```
/// # #[cfg(feature = "postgres")]
/// # mod example {
/// use idempotent_runtime::{InTransaction, TransactionConnection};
/// use sqlx::{PgConnection, Postgres, Transaction};
///
/// struct UnitOfWork<'p> {
///     transaction: Transaction<'p, Postgres>,
/// }
///
/// impl InTransaction for UnitOfWork<'_> {
///     fn connection(&mut self) -> TransactionConnection<'_> {
///         TransactionConnection::postgres(&mut self.transaction)
///     }
/// }
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no transaction that a call can take part in",
    label = "not a transaction",
    note = "take `&mut sqlx::Transaction<'_, Postgres>` or `&mut sqlx::Transaction<'_, Sqlite>` (features `postgres` and `sqlite` of idempotent-runtime), or implement `InTransaction` for it"
)]
pub trait InTransaction: Send {
    /// The transaction's connection.
    fn connection(&mut self) -> TransactionConnection<'_>;
}

/// The connection of a caller's transaction.
pub struct TransactionConnection<'c>(pub(crate) Session<'c>);

impl<'c> TransactionConnection<'c> {
    /// A connection to PostgreSQL.
    #[cfg(feature = "postgres")]
    pub fn postgres(connection: &'c mut PgConnection) -> Self {
        Self(Session(Borrowed::Postgres(connection)))
    }

    /// A connection to SQLite.
    #[cfg(feature = "sqlite")]
    pub fn sqlite(connection: &'c mut SqliteConnection) -> Self {
        Self(Session(Borrowed::Sqlite(connection)))
    }
}

impl std::fmt::Debug for TransactionConnection<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TransactionConnection").field(&self.0.0.dialect()).finish()
    }
}

macro_rules! in_transaction {
    ($feature:literal, $constructor:ident, $($type:ty),*) => {$(
        #[cfg(feature = $feature)]
        #[diagnostic::do_not_recommend]
        impl InTransaction for $type {
            fn connection(&mut self) -> TransactionConnection<'_> {
                TransactionConnection::$constructor(self)
            }
        }
    )*};
}

in_transaction!(
    "postgres",
    postgres,
    sqlx::Transaction<'_, Postgres>,
    PgConnection,
    sqlx::pool::PoolConnection<Postgres>
);
in_transaction!("sqlite", sqlite, sqlx::Transaction<'_, Sqlite>, SqliteConnection, sqlx::pool::PoolConnection<Sqlite>);
