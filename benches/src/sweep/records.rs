//! Many records in the store's own table, in one statement.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use idempotent_runtime::store::PostgresStore;
use idempotent_runtime::{Error, Idempotency};
use sqlx::PgConnection;
use tokio::runtime::{self, Runtime};

/// How long after its expiry the sweeper looks at a record.
pub(super) const SLACK: Duration = Duration::from_mins(1);

/// Makes one record, and so many others like it, that are due one after the other: the first at `from`, an SQL interval
/// from now, each of the others so long after the one before.
pub(super) async fn fill(
    database: &mut PgConnection,
    url: &str,
    count: u64,
    from: &str,
    apart: Duration,
) -> anyhow::Result<()> {
    let idempotency = Idempotency::with_store(PostgresStore::builder().sweep_every(None).connect(url).await?);
    let call = idempotency.call("order:dispatch").key(1).fingerprint(&1200).ttl(Duration::from_hours(24));
    call.run(async { Ok::<_, Error>(1_000_000_001_u64) }).await?;
    let fill = "WITH first AS (DELETE FROM idempotency_records RETURNING *) \
                INSERT INTO idempotency_records (digest, fence, revision, format, key, state, token, attempt, owner, \
                fingerprint, lease, retention, held, live_until, found, before, error, result_kind, result, expires_at, due) \
                SELECT sha256(convert_to(key || n, 'UTF8')), nextval('idempotency_records_fence'), revision, format, \
                key || n, state, token, attempt, owner, fingerprint, lease, retention, held, live_until, found, before, \
                error, result_kind, result, times.due - $4, times.due FROM first, generate_series(1, $1) n, \
                LATERAL (SELECT (extract(epoch FROM now() + $2::text::interval) * 1000000)::bigint + n * $3 AS due) times";
    let filled = sqlx::query(fill)
        .bind(i64::try_from(count)?)
        .bind(from)
        .bind(i64::try_from(apart.as_micros())?)
        .bind(i64::try_from(SLACK.as_micros())?)
        .execute(&mut *database)
        .await
        .context("the table could not be filled")?;
    ensure!(filled.rows_affected() == count, "{} rows", filled.rows_affected());
    sqlx::raw_sql("VACUUM ANALYZE idempotency_records").execute(&mut *database).await?;
    sqlx::raw_sql("CHECKPOINT").execute(database).await?;
    Ok(())
}

/// A store that sweeps in the background, in a thread of its own as it would in a process of its own.
pub(super) struct Sweeper {
    _store: PostgresStore,
    _runtime: Runtime,
}

impl Sweeper {
    pub(super) fn start(url: &str, every: Duration) -> anyhow::Result<Self> {
        let runtime = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let builder = PostgresStore::builder().sweep_every(Some(every)).timeout(Duration::from_secs(30));
        let store = runtime.block_on(builder.connect(url))?;
        Ok(Self { _store: store, _runtime: runtime })
    }
}
