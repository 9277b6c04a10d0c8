//! A shop on PostgreSQL.

use std::time::Duration;

use idempotent_runtime::Idempotency;
use idempotent_runtime::store::PostgresStore;
use servers::Postgres;
use sqlx::pool::PoolOptions;
use sqlx::{Pool, Transaction};

pub(crate) type Db = sqlx::Postgres;

/// What a commit says that is refused for a call that has not completed.
pub(crate) const SAYS: &str = "an_idempotent_call_in_this_transaction_has_not_completed";

/// A database with the table of the records beside one of the business.
pub(crate) struct Shop {
    pub(crate) pool: Pool<Db>,
    pub(crate) idempotency: Idempotency,
    _server: Postgres,
}

impl Shop {
    /// `None` where no server is installed.
    pub(crate) async fn open() -> Option<Self> {
        Self::with(8).await
    }

    /// With as many connections.
    pub(crate) async fn with(connections: u32) -> Option<Self> {
        let server = servers::needed(Postgres::start())?;
        let store = PostgresStore::builder().timeout(Duration::from_secs(10)).connect(&server.url()).await;
        let idempotency = Idempotency::with_store(store.expect("the server was started for this"));
        let pool = PoolOptions::new().max_connections(connections).acquire_timeout(Duration::from_mins(1));
        let pool = pool.connect(&server.url()).await.expect("the server was started for this");
        sqlx::query("CREATE TABLE effects (name text NOT NULL)").execute(&pool).await.expect("it is made");
        Some(Self { pool, idempotency, _server: server })
    }

    pub(crate) async fn begin(&self) -> Transaction<'static, Db> {
        self.pool.begin().await.expect("it begins")
    }

    /// How often an effect is there.
    pub(crate) async fn effects(&self, name: &str) -> i64 {
        let counted = sqlx::query_scalar("SELECT count(*) FROM effects WHERE name = $1").bind(name);
        counted.fetch_one(&self.pool).await.expect("it is counted")
    }

    /// Waits until somebody waits for a lock.
    pub(crate) async fn until_somebody_waits(&self) {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        for _ in 0..1000 {
            if sqlx::query_scalar::<_, i64>(waiting).fetch_one(&self.pool).await.expect("it is counted") > 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("nobody waits within ten seconds");
    }
}
