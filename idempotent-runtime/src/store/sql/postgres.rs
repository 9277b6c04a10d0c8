//! The store on PostgreSQL.

use std::fmt;
use std::str::FromStr as _;
use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;

use super::Dialect;
use super::connection::Prepared;
use super::connections::Options;
use super::migrations::{self, Migrate};
use super::records::Records;
use super::settings::{Settings, settings};
use super::sweep::Expired;
use crate::admin::{Admin, Change, Changed, Concern, Inspected, Leases, Page, Query, Seen, Swept};
use crate::key::Key;
use crate::record::{Completed, Recorded};
use crate::store::{
    Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, Home, Release, Reply, Retention, StoreError, Watch,
};
use crate::token::Token;

/// A store in one table of a PostgreSQL database: for handlers with effects elsewhere, whose records must survive.
///
/// Needs PostgreSQL 14 or later, its primary, and the right to read and write the table and to use its sequence (to make
/// them too, under [`Migrate::AtStart`]). Every operation is one statement, or a few that the last one decides: none
/// leaves a transaction open. Behind a pooler in transaction mode that does not know prepared statements
/// (PgBouncer before 1.21), say so: [`behind_pooler`](PostgresStoreBuilder::behind_pooler).
///
/// Durations are kept in whole microseconds. Cloning a store is cheap, and the clones share their connections.
///
/// ```no_run
/// # async fn example() -> Result<(), idempotent_runtime::StoreError> {
/// use idempotent_runtime::store::PostgresStore;
///
/// let store = PostgresStore::connect("postgres://shop@db.example/shop").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PostgresStore(Records);

store!(PostgresStore, "postgres");

impl PostgresStore {
    /// Connects to `postgres://[user[:password]@]host[:port]/database` with the defaults.
    ///
    /// # Errors
    ///
    /// [`Refused`](crate::store::StoreErrorKind::Refused) when the URL cannot be read, the login is refused, or the table
    /// cannot be made; [`Unavailable`](crate::store::StoreErrorKind::Unavailable) when the server cannot be reached.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::builder().connect(url).await
    }

    /// Connects with settings of your own.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), idempotent_runtime::StoreError> {
    /// use idempotent_runtime::store::{Migrate, PostgresStore};
    ///
    /// let store = PostgresStore::builder()
    ///     .schema("shop")
    ///     .max_connections(4)
    ///     .migrate(Migrate::ByHand)
    ///     .connect("postgres://shop@db.example/shop")
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder() -> PostgresStoreBuilder {
        PostgresStoreBuilder { settings: Settings::new(10, Duration::from_secs(1)) }
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("PostgresStore");
        #[allow(irrefutable_let_patterns)]
        if let Options::Postgres(options) = self.0.connections().options() {
            shown.field("host", &options.get_host()).field("port", &options.get_port());
            shown.field("database", &options.get_database());
        }
        shown.field("table", &self.0.table().with("")).finish_non_exhaustive()
    }
}

/// Settings of a [`PostgresStore`].
#[derive(Clone, Debug)]
#[must_use]
pub struct PostgresStoreBuilder {
    settings: Settings,
}

impl PostgresStoreBuilder {
    settings!();

    /// The schema of the table: by default the one in which the user's `search_path` finds or makes it.
    pub fn schema(mut self, schema: &str) -> Self {
        self.settings.schema = Some(schema.to_owned());
        self
    }

    /// How many connections each runtime that calls may open, the keeper's too: 10 by default, at least one.
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.settings.limits.connections = connections.max(1);
        self
    }

    /// The URL is that of a pooler in transaction mode that does not know prepared statements, as PgBouncer before 1.21, or
    /// without `max_prepared_statements`. Each statement is then prepared, carried out and forgotten in a transaction of
    /// its own, which costs two round trips more. The calls of this handle that are in a transaction of their caller
    /// (`within`) prepare nothing for later either.
    ///
    /// PgBouncer has to let `extra_float_digits` pass (`ignore_startup_parameters`).
    pub fn behind_pooler(mut self) -> Self {
        self.settings.limits.prepared = Prepared::Once;
        self
    }

    /// The SQL that makes the table, for a person to run. It may be run again.
    ///
    /// ```
    /// use idempotent_runtime::store::PostgresStore;
    ///
    /// let sql = PostgresStore::builder().schema("shop").migrations()?;
    /// assert!(sql.contains(r#"CREATE TABLE IF NOT EXISTS "shop"."idempotency_records""#));
    /// # Ok::<(), idempotent_runtime::StoreError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A refusal of a name that is none.
    pub fn migrations(&self) -> Result<String, StoreError> {
        Ok(migrations::printed(Dialect::Postgres, &self.settings.table()?))
    }

    /// Connects to the database that `url` names.
    ///
    /// # Errors
    ///
    /// As [`PostgresStore::connect`].
    pub async fn connect(self, url: &str) -> Result<PostgresStore, StoreError> {
        self.connect_with(PgConnectOptions::from_str(url).map_err(StoreError::refused)?).await
    }

    /// Connects with options of the client's own: for certificates, and whatever has no place in a URL.
    ///
    /// # Errors
    ///
    /// As [`PostgresStore::connect`].
    pub async fn connect_with(self, options: PgConnectOptions) -> Result<PostgresStore, StoreError> {
        let options = Options::Postgres(Box::new(options.disable_statement_logging()));
        self.settings.connect(Dialect::Postgres, options).await.map(PostgresStore)
    }
}
