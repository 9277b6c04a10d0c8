//! A SQLite file, which all processes open by themselves.

use std::path::PathBuf;

use idempotent_runtime::store::SqliteStore;
use sqlx::{Connection as _, SqliteConnection};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::Database;
use crate::patience::PATIENCE;
use crate::scenario::Scenario;

pub(crate) struct Lite {
    folder: TempDir,
    runtime: Runtime,
}

impl Lite {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let folder = TempDir::with_prefix("idempotent-storm-")?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let started = Self { folder, runtime };
        started.runtime.block_on(async {
            SqliteStore::builder().timeout(PATIENCE).connect(&started.url()).await?;
            let mut connection = SqliteConnection::connect(&started.url()).await?;
            let table = "CREATE TABLE effects (key text NOT NULL, run bigint NOT NULL, ballast blob NOT NULL)";
            sqlx::raw_sql(table).execute(&mut connection).await?;
            anyhow::Ok(connection.close().await?)
        })?;
        Ok(started)
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("shop.db")
    }
}

impl Database for Lite {
    fn scenarios(&self) -> [Scenario; 5] {
        use Scenario::{Commits, DiesAfterCommit, DiesBeforeCommit, DiesInTransaction, RollsBack};
        [Commits, RollsBack, DiesBeforeCommit, DiesAfterCommit, DiesInTransaction]
    }

    fn url(&self) -> String {
        format!("sqlite:{}", self.file().display())
    }

    fn prepare(&mut self, _: Scenario) -> anyhow::Result<()> {
        Ok(())
    }

    /// There is no server, and nothing to harm but the processes.
    fn harm(&self, _: Scenario) -> anyhow::Result<()> {
        Ok(())
    }

    fn count(&self, sql: &'static str, key: &str) -> anyhow::Result<i64> {
        self.runtime.block_on(async {
            let mut connection = SqliteConnection::connect(&self.url()).await?;
            let number = sqlx::query_scalar(sql).bind(key).fetch_one(&mut connection).await?;
            connection.close().await?;
            Ok(number)
        })
    }
}
