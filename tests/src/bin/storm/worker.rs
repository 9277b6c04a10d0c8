//! One of the processes: many duplicates of one call, each repeated in a new transaction until it is answered.
//!
//! It says `answer RUN` for each, where the run is that which made the effect.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use idempotent_runtime::store::{Migrate, PostgresStore};
use idempotent_runtime::{Error, Idempotency, OutcomeKind, idempotent, with_outcome};
use rustix::process::{Signal, getpid, kill_process};
use sqlx::pool::PoolOptions;
use sqlx::{Pool, Postgres, Transaction};

/// How many duplicates of a process are in the database at once.
const CONNECTIONS: u32 = 10;

/// Between two tries of one duplicate.
const PAUSE: Duration = Duration::from_millis(20);

struct Shop {
    pool: Pool<Postgres>,
    idempotency: Idempotency,
    role: String,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
pub(crate) async fn run(arguments: &[String]) -> anyhow::Result<()> {
    let [url, key, calls, role] = arguments else { bail!("storm worker URL KEY CALLS ROLE") };
    let store = PostgresStore::builder().migrate(Migrate::ByHand).sweep_every(None).timeout(Duration::from_secs(30));
    let idempotency = Idempotency::with_store(store.connect(url).await?);
    let pool = PoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(Duration::from_mins(1));
    let pool = pool.connect_lazy(url).context("the URL")?;
    let shop = Arc::new(Shop { pool, idempotency, role: role.clone() });
    let duplicates: Vec<_> = (0..calls.parse()?)
        .map(|_: u32| {
            let (shop, key) = (Arc::clone(&shop), key.clone());
            tokio::spawn(async move {
                loop {
                    match shop.once(&key).await {
                        Ok(run) => return run,
                        Err(_) => tokio::time::sleep(PAUSE).await,
                    }
                }
            })
        })
        .collect();
    for duplicate in duplicates {
        let run = duplicate.await?;
        writeln!(std::io::stdout(), "answer {run}")?;
    }
    Ok(())
}

impl Shop {
    /// One duplicate in a transaction of its own: the run that made the effect.
    async fn once(&self, key: &str) -> anyhow::Result<i64> {
        let mut tx = self.pool.begin().await?;
        let (run, outcome) = with_outcome(pay(&self.idempotency, &mut tx, key)).await;
        let run = run?;
        let is_first = outcome.kind() == OutcomeKind::Executed && run == 1;
        match self.role.as_str() {
            "roll-back" if is_first => {
                tx.rollback().await?;
                bail!("rolled back, as it was told");
            }
            "die-before" if is_first => die(),
            _ => tx.commit().await?,
        }
        if is_first && self.role == "die-after" {
            die();
        }
        Ok(run)
    }
}

/// SIGKILL: nothing of this process is cleaned up.
fn die() {
    kill_process(getpid(), Signal::KILL).expect("a process may kill itself");
    loop {
        std::thread::park();
    }
}

/// One business effect; which run it is, counted outside of all transactions.
#[idempotent(
    prefix = "storm", keys = [key], ttl = 1h, on_busy = wait(30s), within = tx, via = idempotency,
    map_err = |error: Error| anyhow::Error::new(error),
)]
async fn pay(idempotency: &Idempotency, tx: &mut Transaction<'_, Postgres>, key: &str) -> anyhow::Result<i64> {
    let run: i64 = sqlx::query_scalar("SELECT nextval('runs')").fetch_one(&mut **tx).await?;
    sqlx::query("INSERT INTO effects (key, run) VALUES ($1, $2)").bind(key).bind(run).execute(&mut **tx).await?;
    Ok(run)
}
