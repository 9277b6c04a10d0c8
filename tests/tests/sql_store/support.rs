//! Databases, stores on them, and harnesses around these.

use std::sync::Arc;
use std::time::Duration;

use idempotent_runtime::conformance::{Harness, When};
use idempotent_runtime::store::{PostgresStore, SqliteStore};
use idempotent_runtime::{Key, Store, StoreError};
use servers::Postgres;
use sqlx::{Connection as _, PgConnection, SqliteConnection};
use tempfile::TempDir;

/// A PostgreSQL server of this test.
pub(crate) fn postgres() -> Option<Postgres> {
    servers::needed(Postgres::start())
}

/// A SQLite file of this test.
pub(crate) struct File(TempDir);

impl File {
    pub(crate) fn new() -> Self {
        Self(TempDir::with_prefix("idempotent-sqlite-").expect("a temporary folder"))
    }

    pub(crate) fn url(&self) -> String {
        format!("sqlite:{}", self.0.path().join("idempotency.db").display())
    }
}

/// A store with the database that it is on.
pub(crate) struct On<S> {
    store: Arc<S>,
    url: String,
    tick: Duration,
    _file: Option<File>,
}

/// What these tests do to a database behind the store's back.
pub(crate) async fn execute(url: &str, sql: &'static str, key: &Key) -> u64 {
    if url.starts_with("sqlite:") {
        let mut connection = SqliteConnection::connect(url).await.expect("the file is there");
        let done = sqlx::query(sql).bind(key.as_str()).execute(&mut connection).await.expect("it is carried out");
        done.rows_affected()
    } else {
        let mut connection = PgConnection::connect(url).await.expect("the server was started for this");
        let done = sqlx::query(sql).bind(key.as_str()).execute(&mut connection).await.expect("it is carried out");
        done.rows_affected()
    }
}

impl On<PostgresStore> {
    pub(crate) async fn postgres(server: &Postgres, tick: Duration) -> Self {
        let store = PostgresStore::builder().timeout(Duration::from_secs(10)).connect(&server.url()).await;
        Self::these(store, server, tick)
    }

    /// A store that reaches this server by a way of its own.
    pub(crate) fn these(store: Result<PostgresStore, StoreError>, server: &Postgres, tick: Duration) -> Self {
        Self { store: Arc::new(store.expect("the server was started for this")), url: server.url(), tick, _file: None }
    }
}

impl On<SqliteStore> {
    /// In a file of its own: nobody else waits for its one writer.
    pub(crate) async fn sqlite(tick: Duration) -> Self {
        let file = File::new();
        let store = SqliteStore::builder().timeout(Duration::from_secs(10)).connect(&file.url()).await;
        Self { store: Arc::new(store.expect("the file can be made")), url: file.url(), tick, _file: Some(file) }
    }
}

impl<S: Store> Harness for On<S> {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store) as Arc<dyn Store>
    }

    fn tick(&self) -> Duration {
        self.tick
    }

    fn pass(&self, time: Duration) -> When<'_, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn spoil<'a>(&'a self, key: &'a Key) -> When<'a, bool> {
        Box::pin(async {
            let spoilt =
                execute(&self.url, "UPDATE idempotency_records SET state = 'somebody else''s' WHERE key = $1", key)
                    .await;
            assert_eq!(spoilt, 1);
            true
        })
    }
}
