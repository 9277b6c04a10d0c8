//! On PostgreSQL, which writes every commit to the disk.

use std::time::Duration;

use idempotent_runtime::store::PostgresStore;
use idempotent_runtime::{Error, Idempotency, OnBusy};
use servers::Postgres;
use sqlx::postgres::{PgPool, PgPoolOptions};
use tokio::runtime::Runtime;

use super::{Caller, Length, Sql};

const IN_FLIGHT: u64 = 8;
const DAY: Duration = Duration::from_hours(24);

pub(super) fn measure(runtime: &Runtime, length: Length, sql: &mut Sql) -> anyhow::Result<()> {
    let server = Postgres::builder().durable().start()?;
    let connect = async || {
        let pool = PgPoolOptions::new().min_connections(8).max_connections(8).connect(&server.url()).await?;
        let store = PostgresStore::builder().max_connections(8).connect(&server.url()).await?;
        anyhow::Ok((pool, Idempotency::with_store(store)))
    };
    let (pool, idempotency) = runtime.block_on(async {
        let (pool, idempotency) = connect().await?;
        let tables = "CREATE TABLE effects (number bigint NOT NULL); \
                      CREATE TABLE by_hand (key text PRIMARY KEY, token uuid NOT NULL DEFAULT gen_random_uuid(), \
                      owner text, fingerprint text, state text NOT NULL, result bytea, expires_at timestamptz) \
                      WITH (fillfactor = 60); CREATE INDEX ON by_hand (expires_at)";
        sqlx::raw_sql(tables).execute(&pool).await?;
        anyhow::Ok((pool, idempotency))
    })?;
    let by_hand = TransactionByHand(pool.clone());
    let guarded = TransactionGuarded(pool.clone(), idempotency.clone());
    sql.compare("postgres_transactional", runtime, length, IN_FLIGHT, (&by_hand, &guarded))?;
    let (by_hand, guarded) = (LeaseByHand(pool.clone()), LeaseGuarded(idempotency));
    sql.compare("postgres_lease", runtime, length, IN_FLIGHT, (&by_hand, &guarded))?;

    let statements = runtime.block_on(async {
        sqlx::raw_sql("ALTER ROLE postgres SET log_statement = 'all'").execute(&pool).await?;
        let (pool, idempotency) = connect().await?;
        anyhow::Ok([
            ("transactional_by_hand", statements(&server, &TransactionByHand(pool.clone())).await?),
            (
                "transactional_guarded",
                statements(&server, &TransactionGuarded(pool.clone(), idempotency.clone())).await?,
            ),
            ("lease_by_hand", statements(&server, &LeaseByHand(pool)).await?),
            ("lease_guarded", statements(&server, &LeaseGuarded(idempotency)).await?),
        ])
    })?;
    sql.statements.extend(statements);
    Ok(())
}

/// How many messages to the server one call is, by the server's own log.
async fn statements(server: &Postgres, caller: &impl Caller) -> anyhow::Result<usize> {
    let logged = || {
        let log = std::fs::read_to_string(server.folder().join("log"))?;
        anyhow::Ok(
            log.lines().filter(|line| line.contains("LOG:  statement:") || line.contains("LOG:  execute")).count(),
        )
    };
    let before = logged()?;
    caller.call(u64::from(u32::MAX)).await?;
    Ok(logged()? - before)
}

struct TransactionByHand(PgPool);

impl Caller for TransactionByHand {
    async fn call(&self, number: u64) -> anyhow::Result<()> {
        let key = format!("order:create:{number}");
        let mut tx = self.0.begin().await?;
        sqlx::raw_sql("SAVEPOINT call; SELECT set_config('lock_timeout', '5000', true)").execute(&mut *tx).await?;
        let claimed = sqlx::query(
            "INSERT INTO by_hand (key, owner, fingerprint, state, expires_at) \
             VALUES ($1, $2, $3, 'begun', clock_timestamp() + interval '1 day') \
             ON CONFLICT DO NOTHING RETURNING token, set_config('lock_timeout', '0', true)",
        );
        let claimed = claimed.bind(&key).bind("bench:1").bind("4711").fetch_optional(&mut *tx).await?;
        anyhow::ensure!(claimed.is_some(), "somebody else has it");
        sqlx::query("INSERT INTO effects VALUES ($1)").bind(number.cast_signed()).execute(&mut *tx).await?;
        let completed = "UPDATE by_hand SET state = 'completed', result = $2, \
                         expires_at = clock_timestamp() + interval '1 day' WHERE key = $1";
        sqlx::query(completed).bind(&key).bind(number.to_string().into_bytes()).execute(&mut *tx).await?;
        sqlx::raw_sql("RELEASE SAVEPOINT call").execute(&mut *tx).await?;
        Ok(tx.commit().await?)
    }
}

struct TransactionGuarded(PgPool, Idempotency);

impl Caller for TransactionGuarded {
    async fn call(&self, number: u64) -> anyhow::Result<()> {
        let mut tx = self.0.begin().await?;
        let call = self.1.call("order:create").key(number).fingerprint(&4711).ttl(DAY);
        let call = call.on_busy(OnBusy::Wait(Duration::from_secs(5)));
        call.within(&mut tx, async |mut tx| {
            sqlx::query("INSERT INTO effects VALUES ($1)").bind(number.cast_signed()).execute(&mut **tx).await?;
            anyhow::Ok(number)
        })
        .await?;
        Ok(tx.commit().await?)
    }
}

struct LeaseByHand(PgPool);

impl Caller for LeaseByHand {
    async fn call(&self, number: u64) -> anyhow::Result<()> {
        let key = format!("order:consume:{number}");
        let claimed = sqlx::query_scalar::<_, i64>(
            "INSERT INTO by_hand (key, owner, fingerprint, state, expires_at) \
             VALUES ($1, $2, $3, 'begun', clock_timestamp() + interval '1 day') ON CONFLICT DO NOTHING RETURNING 1::bigint",
        );
        let claimed = claimed.bind(&key).bind("bench:1").bind("4711").fetch_optional(&self.0).await?;
        anyhow::ensure!(claimed.is_some(), "somebody else has it");
        let completed = "UPDATE by_hand SET state = 'completed', result = $2, \
                         expires_at = clock_timestamp() + interval '1 day' WHERE key = $1 AND state = 'begun'";
        let bytes = number.to_string().into_bytes();
        let completed = sqlx::query(completed).bind(&key).bind(bytes).execute(&self.0).await?;
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
