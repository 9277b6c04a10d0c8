//! The same call on two stores: Redis in front of a SQLite file.

use std::path::Path;

use benches::{Receipt, dispatch};
use idempotent_runtime::Idempotency;
use idempotent_runtime::store::{RedisStore, SqliteStore, TieredStore};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};

use super::turns::Caller;

pub(super) struct Tiered {
    idempotency: Idempotency,
    truth: Truth,
}

/// The store behind Redis.
#[derive(Clone)]
pub(super) struct Truth(SqlitePool);

impl Tiered {
    pub(super) async fn connect(url: &str, folder: &Path) -> anyhow::Result<Self> {
        let file = folder.join("idempotency.db");
        let truth = SqliteStore::connect(&format!("sqlite:{}", file.display())).await?;
        let store = TieredStore::builder(RedisStore::connect(url).await?, truth).build();
        let pool = SqlitePool::connect_with(SqliteConnectOptions::new().filename(&file)).await?;
        // The keys of whoever is measured beside it are others.
        let idempotency = Idempotency::builder().namespace("tiered").build(store)?;
        Ok(Self { idempotency, truth: Truth(pool) })
    }

    pub(super) fn truth(&self) -> Truth {
        self.truth.clone()
    }
}

impl Truth {
    /// Redis is emptied too: the orders that come are new to both.
    pub(super) async fn empty(self) -> anyhow::Result<()> {
        sqlx::query("DELETE FROM idempotency_records").execute(&self.0).await?;
        Ok(())
    }
}

impl Caller for Tiered {
    async fn call(&self, order: u64) -> anyhow::Result<Receipt> {
        Ok(dispatch(&self.idempotency, order).await?)
    }
}
