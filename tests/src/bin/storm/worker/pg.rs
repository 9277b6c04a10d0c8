//! Payments in PostgreSQL.

use std::time::Duration;

use anyhow::Context as _;
use idempotent_runtime::store::{Migrate, PostgresStore};
use idempotent_runtime::{Error, Idempotency, idempotent};
use sqlx::pool::PoolOptions;
use sqlx::{Pool, Postgres, Transaction};

use super::{CONNECTIONS, PATIENCE, Shop};

pub(super) struct Pg {
    pool: Pool<Postgres>,
    idempotency: Idempotency,
}

impl Pg {
    pub(super) async fn open(url: &str) -> anyhow::Result<Self> {
        let store = PostgresStore::builder().migrate(Migrate::ByHand).sweep_every(None).timeout(PATIENCE);
        let idempotency = Idempotency::with_store(store.connect(url).await?);
        let pool = PoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(Duration::from_mins(1));
        Ok(Self { pool: pool.connect_lazy(url).context("the URL")?, idempotency })
    }
}

impl Shop for Pg {
    type Db = Postgres;

    async fn begin(&self) -> sqlx::Result<Transaction<'static, Postgres>> {
        self.pool.begin().await
    }

    async fn pay(&self, tx: &mut Transaction<'static, Postgres>, key: &str) -> anyhow::Result<i64> {
        pay(&self.idempotency, tx, key).await
    }
}

/// One business effect; which run it is, counted outside of all transactions.
#[idempotent(
    prefix = "storm", keys = [key], ttl = 1h, on_busy = wait(30s), within = tx, via = idempotency,
    map_err = |error: Error| anyhow::Error::new(error),
)]
async fn pay(idempotency: &Idempotency, tx: &mut Transaction<'static, Postgres>, key: &str) -> anyhow::Result<i64> {
    let run: i64 = sqlx::query_scalar("SELECT nextval('runs')").fetch_one(&mut **tx).await?;
    sqlx::query("INSERT INTO effects (key, run) VALUES ($1, $2)").bind(key).bind(run).execute(&mut **tx).await?;
    Ok(run)
}
