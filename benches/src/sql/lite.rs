//! In a SQLite file, in WAL mode and with every commit on the disk. It has one writer, so one call comes after the other.

use std::time::Duration;

use idempotent_runtime::store::SqliteStore;
use idempotent_runtime::{Error, Idempotency};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use tokio::runtime::Runtime;

use super::{Caller, Length, Sql};

const DAY: Duration = Duration::from_hours(24);

pub(super) fn measure(runtime: &Runtime, length: Length, sql: &mut Sql) -> anyhow::Result<()> {
    let folder = tempfile::TempDir::with_prefix("idempotent-bench-")?;
    let file = folder.path().join("shop.db");
    let (pool, idempotency) = runtime.block_on(async {
        let store = SqliteStore::connect(&format!("sqlite:{}", file.display())).await?;
        let options = SqliteConnectOptions::new()
            .filename(&file)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full);
        let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await?;
        let tables = "CREATE TABLE effects (number integer NOT NULL); \
                      CREATE TABLE by_hand (key text PRIMARY KEY, owner text, fingerprint text, state text NOT NULL, \
                      result blob, expires_at integer); CREATE INDEX by_hand_expiry ON by_hand (expires_at)";
        sqlx::raw_sql(tables).execute(&pool).await?;
        anyhow::Ok((pool, Idempotency::with_store(store)))
    })?;
    let by_hand = TransactionByHand(pool.clone());
    let guarded = TransactionGuarded(pool.clone(), idempotency.clone());
    sql.compare("sqlite_transactional", runtime, length, 1, (&by_hand, &guarded))?;
    let (by_hand, guarded) = (LeaseByHand(pool), LeaseGuarded(idempotency));
    sql.compare("sqlite_lease", runtime, length, 1, (&by_hand, &guarded))
}

const CLAIM: &str = "INSERT INTO by_hand (key, owner, fingerprint, state, expires_at) \
                     VALUES ($1, $2, $3, 'begun', unixepoch() + 86400) ON CONFLICT DO NOTHING";
const COMPLETE: &str = "UPDATE by_hand SET state = 'completed', result = $2, expires_at = unixepoch() + 86400 \
                        WHERE key = $1 AND state = 'begun'";

struct TransactionByHand(SqlitePool);

impl Caller for TransactionByHand {
    async fn call(&self, number: u64) -> anyhow::Result<()> {
        let key = format!("order:create:{number}");
        let mut tx = self.0.begin_with("BEGIN IMMEDIATE").await?;
        sqlx::raw_sql("SAVEPOINT call").execute(&mut *tx).await?;
        let claimed = sqlx::query(CLAIM).bind(&key).bind("bench:1").bind("4711").execute(&mut *tx).await?;
        anyhow::ensure!(claimed.rows_affected() == 1, "somebody else has it");
        sqlx::query("INSERT INTO effects VALUES ($1)").bind(number.cast_signed()).execute(&mut *tx).await?;
        sqlx::query(COMPLETE).bind(&key).bind(number.to_string().into_bytes()).execute(&mut *tx).await?;
        sqlx::raw_sql("RELEASE SAVEPOINT call").execute(&mut *tx).await?;
        Ok(tx.commit().await?)
    }
}

struct TransactionGuarded(SqlitePool, Idempotency);

impl Caller for TransactionGuarded {
    async fn call(&self, number: u64) -> anyhow::Result<()> {
        let mut tx = self.0.begin_with("BEGIN IMMEDIATE").await?;
        let call = self.1.call("order:create").key(number).fingerprint(&4711).ttl(DAY);
        call.within(&mut tx, async |mut tx| {
            sqlx::query("INSERT INTO effects VALUES ($1)").bind(number.cast_signed()).execute(&mut **tx).await?;
            anyhow::Ok(number)
        })
        .await?;
        Ok(tx.commit().await?)
    }
}

struct LeaseByHand(SqlitePool);

impl Caller for LeaseByHand {
    async fn call(&self, number: u64) -> anyhow::Result<()> {
        let key = format!("order:consume:{number}");
        let claimed = sqlx::query(CLAIM).bind(&key).bind("bench:1").bind("4711").execute(&self.0).await?;
        anyhow::ensure!(claimed.rows_affected() == 1, "somebody else has it");
        let completed = sqlx::query(COMPLETE).bind(&key).bind(number.to_string().into_bytes()).execute(&self.0).await?;
        anyhow::ensure!(completed.rows_affected() == 1, "somebody else has it");
        Ok(())
    }
}

struct LeaseGuarded(Idempotency);

impl Caller for LeaseGuarded {
    async fn call(&self, number: u64) -> anyhow::Result<()> {
        let call = self.0.call("order:consume").key(number).fingerprint(&4711).ttl(DAY);
        call.run(async { Ok::<_, Error>(number) }).await?;
        Ok(())
    }
}
