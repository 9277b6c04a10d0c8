//! PostgreSQL, with a network in front of it.

use idempotent_runtime::store::PostgresStore;
use servers::{Postgres, Proxy};
use sqlx::{Connection as _, PgConnection};
use tokio::runtime::Runtime;

use super::Database;
use crate::patience::{PATIENCE, until};
use crate::scenario::Scenario;

pub(crate) struct Pg {
    proxy: Proxy,
    server: Postgres,
    runtime: Runtime,
    /// How many answers the network had lost before this round.
    lost: usize,
}

impl Pg {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let server = Postgres::start()?;
        let proxy = Proxy::start(server.port())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let started = Self { proxy, server, runtime, lost: 0 };
        started.runtime.block_on(PostgresStore::builder().timeout(PATIENCE).connect(&started.server.url()))?;
        started.execute("CREATE TABLE effects (key text NOT NULL, run bigint NOT NULL); CREATE SEQUENCE runs")?;
        Ok(started)
    }

    fn execute(&self, sql: &'static str) -> anyhow::Result<()> {
        self.runtime.block_on(async {
            let mut connection = PgConnection::connect(&self.server.url()).await?;
            sqlx::raw_sql(sql).execute(&mut connection).await?;
            Ok(connection.close().await?)
        })
    }
}

impl Database for Pg {
    fn scenarios(&self) -> [Scenario; 5] {
        use Scenario::{Commits, DiesAfterCommit, DiesBeforeCommit, RollsBack, ServerDies};
        [Commits, RollsBack, DiesBeforeCommit, DiesAfterCommit, ServerDies]
    }

    fn url(&self) -> String {
        self.proxy.url(&self.server.url())
    }

    fn prepare(&mut self, scenario: Scenario) -> anyhow::Result<()> {
        self.lost = self.proxy.answers_lost();
        if scenario == Scenario::ServerDies {
            // The others wait for the winner, so the first to commit is the winner.
            self.proxy.lose_answers_to(1, "COMMIT");
        }
        self.execute("SELECT setval('runs', 1, false)")
    }

    fn harm(&self, scenario: Scenario) -> anyhow::Result<()> {
        if scenario == Scenario::ServerDies {
            until("the winner's commit", || self.proxy.answers_lost() > self.lost)?;
            self.server.kill()?;
            self.server.restart()?;
        }
        Ok(())
    }

    fn count(&self, sql: &'static str, key: &str) -> anyhow::Result<i64> {
        self.runtime.block_on(async {
            let mut connection = PgConnection::connect(&self.server.url()).await?;
            let number = sqlx::query_scalar(sql).bind(key).fetch_one(&mut connection).await?;
            connection.close().await?;
            Ok(number)
        })
    }
}
