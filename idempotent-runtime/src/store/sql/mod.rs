//! PostgreSQL and SQLite: one row a key.
//!
//! A row is read, the [state machine](super::machine) says what becomes of it, and one statement writes that if the row
//! is still as it was read (its `fence` and `revision`): a compare-and-set, so no transaction stands open while the
//! client thinks, and nothing can be cancelled between a `BEGIN` and its end. The two steps of nearly every call, the
//! claim of a free key and the completion, are one statement each on PostgreSQL.
//!
//! The parts, from the outside in:
//!
//! - `postgres`, `sqlite`: the two stores and their settings
//! - `records`: the operations
//! - `row`: a record as columns
//! - `statements`, `table`, `migrations`: the SQL, its names, and how the table comes to be
//! - `sweep`: removing what has expired
//! - `listing`, `findings`: many records, and what is dangerous to them
//! - `connections`, `connection`: connections for each runtime, and what is said on one
//! - `within`, `in_transaction`: a claim in its caller's own transaction, and what counts as one
//! - `error`: what the client's errors mean

/// The contract on a type around [`Records`](records::Records), and what the two stores have alike besides.
macro_rules! store {
    ($store:ident, $name:literal) => {
        impl $crate::store::Store for $store {
            fn claim<'a>(&'a self, key: &'a Key, request: &'a ClaimRequest<'a>) -> Reply<'a, ClaimAnswer> {
                Box::pin(self.0.claim(key, request))
            }

            fn begin<'a>(&'a self, key: &'a Key, token: Token) -> Reply<'a, Answer> {
                Box::pin(self.0.begin(key, token))
            }

            fn renew<'a>(&'a self, key: &'a Key, token: Token) -> Reply<'a, Answer> {
                Box::pin(self.0.renew(key, token))
            }

            fn complete<'a>(
                &'a self,
                key: &'a Key,
                token: Token,
                result: &'a Recorded,
                retention: Retention,
            ) -> Reply<'a, CompleteAnswer> {
                Box::pin(self.0.complete(key, token, result, retention))
            }

            fn release<'a>(
                &'a self,
                key: &'a Key,
                token: Token,
                release: Release<'a>,
                lease: Duration,
            ) -> Reply<'a, Answer> {
                Box::pin(self.0.release(key, token, release, lease))
            }

            fn put_back<'a>(
                &'a self,
                key: &'a Key,
                token: Token,
                lease: Duration,
                superseded: Option<(&'a Completed, Retention)>,
            ) -> Reply<'a, Answer> {
                Box::pin(self.0.put_back(key, token, lease, superseded))
            }

            fn watch(&self, _: &Key) -> Watch {
                Watch::never()
            }

            fn admin(&self) -> Option<&dyn Admin> {
                Some(self)
            }

            fn home(&self) -> Home {
                Home::Thread
            }

            fn name(&self) -> &'static str {
                $name
            }
        }

        impl Admin for $store {
            fn inspect<'a>(&'a self, key: &'a Key) -> Reply<'a, Option<Inspected>> {
                Box::pin(self.0.inspect(key))
            }

            fn change<'a>(&'a self, key: &'a Key, seen: &'a Inspected, change: &'a Change) -> Reply<'a, Changed> {
                Box::pin(self.0.change(key, seen, change))
            }

            fn list<'a>(&'a self, query: &'a Query) -> Reply<'a, Page> {
                Box::pin(self.0.page(query))
            }

            fn remove<'a>(&'a self, key: &'a Key, seen: Seen, leases: Leases) -> Reply<'a, Changed> {
                Box::pin(self.0.remove(key, seen, leases))
            }

            fn sweep(&self, batch: u32) -> Reply<'_, Swept> {
                Box::pin(async move { self.0.sweep(batch).await.map(Swept::Removed) })
            }

            fn check(&self) -> Reply<'_, Vec<Concern>> {
                Box::pin(self.0.check())
            }
        }

        impl $store {
            pub(super) fn place(&self) -> (super::table::Table, super::connection::Prepared) {
                (self.0.table().clone(), self.0.connections().prepared())
            }

            /// Takes over what was processed before there were records: each key becomes a completed record with this
            /// result, kept for so long. A key that has a record already is left alone. How many were taken over.
            ///
            /// [`Recorded::Nothing`] says that it is done, and duplicates are told that there is no result to give.
            ///
            /// # Errors
            ///
            /// As for every operation: the database did not answer, or refused. What was taken over until then stands, and
            /// the import can be repeated.
            pub async fn import<'a>(
                &self,
                done: impl IntoIterator<Item = (&'a Key, &'a Recorded, Retention)>,
            ) -> Result<u64, StoreError> {
                let mut imported = 0;
                for (key, result, retention) in done {
                    imported += u64::from(self.0.import(key, result, retention).await?);
                }
                Ok(imported)
            }

            /// Removes up to `batch` records that have expired, oldest first; how many it removed. Never a live claim,
            /// nor a record that is held or kept for ever. The store does this by itself, unless that was turned off.
            ///
            /// # Errors
            ///
            /// As for every operation: the database did not answer, or refused.
            pub async fn sweep(&self, batch: u32) -> Result<u64, StoreError> {
                self.0.sweep(batch).await
            }

            /// Hands up to `batch` expired records to `hand_on` (to archive them), and removes them when it has succeeded.
            ///
            /// For a minute they are left alone by other sweepers that hand on; a record whose sweeper died is handed on
            /// again after it. Turn the store's own sweeping off: it hands on nothing.
            ///
            /// # Errors
            ///
            /// The error of `hand_on`, as the source of a refusal, with nothing removed; else as for
            /// [`sweep`](Self::sweep).
            pub async fn sweep_with<F>(&self, batch: u32, hand_on: F) -> Result<u64, StoreError>
            where
                F: AsyncFnOnce(&[Expired]) -> Result<(), Box<dyn std::error::Error + Send + Sync>>,
            {
                self.0.sweep_with(batch, hand_on).await
            }
        }
    };
}

mod connection;
mod connections;
mod error;
mod findings;
mod in_transaction;
mod listing;
mod migrations;
#[cfg(feature = "postgres")]
mod postgres;
mod records;
mod row;
mod settings;
#[cfg(feature = "sqlite")]
mod sqlite;
mod statements;
mod sweep;
mod table;
mod within;

pub(crate) use self::error::Trouble;
pub use self::in_transaction::{InTransaction, TransactionConnection};
pub use self::migrations::Migrate;
#[cfg(feature = "postgres")]
pub use self::postgres::{PostgresStore, PostgresStoreBuilder};
#[cfg(feature = "sqlite")]
pub use self::sqlite::{SqliteStore, SqliteStoreBuilder};
pub use self::sweep::Expired;
pub(crate) use self::table::Table;
pub(crate) use self::within::{Failure, Opened, Session, Tables};

/// Which of the two it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    #[cfg(feature = "postgres")]
    Postgres,
    #[cfg(feature = "sqlite")]
    Sqlite,
}

impl Dialect {
    /// Whether a claim tries to insert before it looks. Over a network that saves nearly every claim a round trip; in
    /// the process there is none to save, and a duplicate that only reads does not wait for the file's one writer.
    fn inserts_first(self) -> bool {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres => true,
            #[cfg(feature = "sqlite")]
            Self::Sqlite => false,
        }
    }
}

/// The table of a store, where it is one with a table, and how it prepares statements.
fn place_of(store: &dyn super::Store) -> Option<(table::Table, connection::Prepared)> {
    let store: &dyn std::any::Any = store;
    #[cfg(feature = "postgres")]
    if let Some(store) = store.downcast_ref::<PostgresStore>() {
        return Some(store.place());
    }
    #[cfg(feature = "sqlite")]
    if let Some(store) = store.downcast_ref::<SqliteStore>() {
        return Some(store.place());
    }
    None
}
