//! Servers, two stores as one on them, and the harness around these.

use std::sync::Arc;
use std::time::{Duration, Instant};

use idempotent_runtime::conformance::{Harness, When};
use idempotent_runtime::store::{PostgresStore, RedisStore, SqliteStore, TieredStore};
use idempotent_runtime::{Key, Store, StoreError};
use servers::Postgres;
use sqlx::{Connection as _, PgConnection, SqliteConnection};
use tempfile::TempDir;

/// Long against the leases of the suite, so that what is left of one is the same in both.
const FRONT_TTL: Duration = Duration::from_hours(1);

/// Long for a machine that is busy: nothing here is about a front that is slow.
const FRONT_TIMEOUT: Duration = Duration::from_secs(1);

/// The truth's database.
pub(crate) enum Truth {
    Postgres(Postgres),
    Sqlite(TempDir),
}

impl Truth {
    pub(crate) fn postgres() -> Option<Self> {
        servers::needed(Postgres::start()).map(Self::Postgres)
    }

    /// In a file of its own: nobody else waits for its one writer.
    pub(crate) fn sqlite() -> Self {
        Self::Sqlite(TempDir::with_prefix("idempotent-tiered-").expect("a temporary folder"))
    }

    fn url(&self) -> String {
        match self {
            Self::Postgres(server) => server.url(),
            Self::Sqlite(folder) => format!("sqlite:{}", folder.path().join("idempotency.db").display()),
        }
    }

    /// A store on it, behind a front at `front`; as another process would have it.
    pub(crate) async fn behind(&self, front: &str) -> TieredStore {
        let timeout = Duration::from_secs(10);
        // The front may be away just now.
        let front = at_last(async || RedisStore::connect(front).await).await;
        let tiers = match self {
            Self::Postgres(_) => {
                let truth =
                    at_last(async || PostgresStore::builder().timeout(timeout).connect(&self.url()).await).await;
                TieredStore::builder(front, truth)
            }
            Self::Sqlite(_) => {
                let truth = at_last(async || SqliteStore::builder().timeout(timeout).connect(&self.url()).await).await;
                TieredStore::builder(front, truth)
            }
        };
        tiers.front_ttl(FRONT_TTL).front_timeout(FRONT_TIMEOUT).build()
    }

    async fn spoil(&self, key: &Key) {
        let sql = "UPDATE idempotency_records SET state = 'somebody else''s' WHERE key = $1";
        let done = match self {
            Self::Postgres(server) => {
                let mut connection = PgConnection::connect(&server.url()).await.expect("the server is there");
                let done = sqlx::query(sql).bind(key.as_str()).execute(&mut connection).await;
                done.expect("it is carried out").rows_affected()
            }
            Self::Sqlite(_) => {
                let mut connection = SqliteConnection::connect(&self.url()).await.expect("the file is there");
                let done = sqlx::query(sql).bind(key.as_str()).execute(&mut connection).await;
                done.expect("it is carried out").rows_affected()
            }
        };
        assert_eq!(done, 1);
    }
}

/// A front that a test can write to beside the store.
pub(crate) trait Front: Sync {
    fn url(&self) -> String;

    /// Gives one command to the server that is in charge; it may be away.
    fn tell(&self, command: &[&str]);
}

/// Two stores as one, with the servers that they are on.
pub(crate) struct Tiers<'a> {
    store: Arc<TieredStore>,
    front: &'a dyn Front,
    truth: Arc<Truth>,
    tick: Duration,
}

impl<'a> Tiers<'a> {
    pub(crate) async fn new(front: &'a dyn Front, truth: Arc<Truth>, tick: Duration) -> Self {
        Self { store: Arc::new(truth.behind(&front.url()).await), front, truth, tick }
    }
}

impl Harness for Tiers<'_> {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store) as Arc<dyn Store>
    }

    fn tick(&self) -> Duration {
        self.tick
    }

    fn pass(&self, time: Duration) -> When<'_, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    /// In both: what the front cannot read, it does not know.
    fn spoil<'a>(&'a self, key: &'a Key) -> When<'a, bool> {
        Box::pin(async move {
            self.truth.spoil(key).await;
            match key.step() {
                None => self.front.tell(&["SET", key.as_str(), "somebody else's", "PX", "60000"]),
                Some(step) => self.front.tell(&["HSET", key.entity(), step, "somebody else's"]),
            }
            true
        })
    }
}

/// Repeats an operation until it is answered, for a minute at the most.
pub(crate) async fn at_last<T>(mut operation: impl AsyncFnMut() -> Result<T, StoreError>) -> T {
    let started = Instant::now();
    loop {
        match operation().await {
            Ok(answer) => return answer,
            Err(error) => assert!(started.elapsed() < Duration::from_mins(1), "still no answer: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
