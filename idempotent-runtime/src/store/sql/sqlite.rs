//! The store on SQLite.

use std::fmt;
use std::str::FromStr as _;
use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};

use super::Dialect;
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

/// A store in a SQLite file: durable, with nothing else to install, for the processes of one machine.
///
/// The file is made where there is none, and put into WAL mode; every claim and result is on the disk
/// (`synchronous = FULL`) before it is answered. Keep it apart from the application's own database: a renewal would
/// otherwise wait behind a long write. Not for a network's file system, where SQLite's locks do not hold.
///
/// Its clock is the machine's. One that is set back by more than a claim's lease makes that claim stand for so much
/// longer; one that is set forward lets it lapse early.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use idempotent_runtime::store::SqliteStore;
///
/// # let folder = std::env::temp_dir().join(format!("idempotent-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let file = folder.join("idempotency.db");
/// let store = SqliteStore::connect(&format!("sqlite:{}", file.display())).await?;
/// # drop(store);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(())
/// # }
/// ```
///
/// Durations are kept in whole microseconds. Cloning a store is cheap, and the clones share their connections.
#[derive(Clone)]
pub struct SqliteStore(Records);

store!(SqliteStore, "sqlite");

impl SqliteStore {
    /// Opens the file of `sqlite:path/to/file.db` with the defaults.
    ///
    /// # Errors
    ///
    /// [`Refused`](crate::store::StoreErrorKind::Refused) when the URL cannot be read, or the file is no database or cannot
    /// be made; [`Unavailable`](crate::store::StoreErrorKind::Unavailable) when others hold it for too long.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::builder().connect(url).await
    }

    /// Opens a file with settings of your own.
    pub fn builder() -> SqliteStoreBuilder {
        SqliteStoreBuilder { settings: Settings::new(1, Duration::from_secs(2)) }
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("SqliteStore");
        #[allow(irrefutable_let_patterns)]
        if let Options::Sqlite(options) = self.0.connections().options() {
            shown.field("file", &options.get_filename());
        }
        shown.field("table", &self.0.table().with("")).finish_non_exhaustive()
    }
}

/// Settings of a [`SqliteStore`].
#[derive(Clone, Debug)]
#[must_use]
pub struct SqliteStoreBuilder {
    settings: Settings,
}

impl SqliteStoreBuilder {
    settings!();

    /// The SQL that makes the table, for a person to run. It may be run again.
    ///
    /// ```
    /// use idempotent_runtime::store::SqliteStore;
    ///
    /// let sql = SqliteStore::builder().table("kitchen").migrations()?;
    /// assert!(sql.contains(r#"CREATE TABLE IF NOT EXISTS "kitchen""#));
    /// # Ok::<(), idempotent_runtime::StoreError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A refusal of a name that is none.
    pub fn migrations(&self) -> Result<String, StoreError> {
        Ok(migrations::printed(Dialect::Sqlite, &self.settings.table()?))
    }

    /// Opens the file that `url` names.
    ///
    /// # Errors
    ///
    /// As [`SqliteStore::connect`].
    pub async fn connect(self, url: &str) -> Result<SqliteStore, StoreError> {
        if url.contains(":memory:") || url.contains("mode=memory") {
            return Err(StoreError::refused(
                "each connection would have an in-memory database of its own: use the memory store (`memory:`), or a file",
            ));
        }
        let options = SqliteConnectOptions::from_str(url).map_err(StoreError::refused)?;
        let options = options
            // Whoever makes the table by hand makes the file with it.
            .create_if_missing(self.settings.migrate == Migrate::AtStart)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(self.settings.limits.timeout)
            .disable_statement_logging();
        self.settings.connect(Dialect::Sqlite, Options::Sqlite(Box::new(options))).await.map(SqliteStore)
    }
}

#[cfg(test)]
mod tests {
    use super::super::connection::Connection;
    use super::*;

    #[tokio::test]
    async fn every_connection_writes_to_the_disk_and_waits_for_others() {
        let folder = std::env::temp_dir().join(format!("idempotent-pragmas-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let store = SqliteStore::connect(&format!("sqlite:{}", folder.join("idempotency.db").display())).await;
        let store = store.expect("the file can be made");
        let opened = store.0.connections().open().await;
        #[allow(irrefutable_let_patterns, reason = "there may be another kind")]
        let Ok(Connection::Sqlite(mut connection)) = opened else { panic!("it is SQLite") };
        let mut told = Vec::new();
        for pragma in ["PRAGMA synchronous", "PRAGMA busy_timeout"] {
            let value: i64 = sqlx::query_scalar(pragma).fetch_one(&mut connection).await.expect("it is told");
            told.push(value);
        }
        assert_eq!(told, [2, 2_000], "FULL, and the store's time-out in milliseconds");
        drop((store, connection));
        std::fs::remove_dir_all(folder).expect("it is removed");
    }
}
