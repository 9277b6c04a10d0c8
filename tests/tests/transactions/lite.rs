//! A shop in a SQLite file.

use std::time::Duration;

use idempotent_runtime::Idempotency;
use idempotent_runtime::store::SqliteStore;
use sqlx::pool::PoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{Pool, Transaction};
use tempfile::TempDir;

pub(crate) type Db = sqlx::Sqlite;

/// What a commit says that is refused for a call that has not completed.
pub(crate) const SAYS: &str = "FOREIGN KEY constraint failed";

/// A file with the table of the records beside one of the business.
pub(crate) struct Shop {
    pub(crate) pool: Pool<Db>,
    pub(crate) idempotency: Idempotency,
    folder: TempDir,
}

impl Shop {
    #[allow(clippy::unnecessary_wraps)] // as on PostgreSQL, which may not be installed
    pub(crate) async fn open() -> Option<Self> {
        let folder = TempDir::with_prefix("idempotent-within-").expect("a temporary folder");
        let url = format!("sqlite:{}", folder.path().join("shop.db").display());
        let store = SqliteStore::builder().timeout(Duration::from_secs(10)).connect(&url).await;
        let idempotency = Idempotency::with_store(store.expect("the file can be made"));
        let shop = Self { pool: pool(&folder, true).await, idempotency, folder };
        sqlx::query("CREATE TABLE effects (name text NOT NULL)").execute(&shop.pool).await.expect("it is made");
        Some(shop)
    }

    /// Another pool on the same file, which does or does not look at foreign keys.
    pub(crate) async fn another_pool(&self, foreign_keys: bool) -> Pool<Db> {
        pool(&self.folder, foreign_keys).await
    }

    pub(crate) async fn begin(&self) -> Transaction<'static, Db> {
        self.pool.begin_with("BEGIN IMMEDIATE").await.expect("it begins")
    }

    /// How often an effect is there.
    pub(crate) async fn effects(&self, name: &str) -> i64 {
        let counted = sqlx::query_scalar("SELECT count(*) FROM effects WHERE name = $1").bind(name);
        counted.fetch_one(&self.pool).await.expect("it is counted")
    }
}

async fn pool(folder: &TempDir, foreign_keys: bool) -> Pool<Db> {
    let options = SqliteConnectOptions::new()
        .filename(folder.path().join("shop.db"))
        .journal_mode(SqliteJournalMode::Wal)
        .busy_timeout(Duration::from_secs(10))
        .foreign_keys(foreign_keys);
    PoolOptions::new().max_connections(5).connect_with(options).await.expect("the file is there")
}
