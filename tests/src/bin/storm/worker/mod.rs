//! One of the processes: many duplicates of one call, each repeated in a new transaction until it is answered.
//!
//! It says `answer RUN` for each, where the run is that which made the effect.

mod lite;
mod pg;

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use idempotent_runtime::{OutcomeKind, with_outcome};
use rustix::process::{Signal, getpid, kill_process};
use sqlx::{Database, Transaction};

use self::lite::Lite;
use self::pg::Pg;
use crate::role::Role;

/// How many duplicates of a process are in the database at once.
const CONNECTIONS: u32 = 10;

/// How long one of them waits for the others.
const PATIENCE: Duration = Duration::from_secs(30);

/// Between two tries of one duplicate.
const PAUSE: Duration = Duration::from_millis(20);

/// Where payments are made.
trait Shop: Send + Sync + 'static {
    type Db: Database;

    fn begin(&self) -> impl Future<Output = sqlx::Result<Transaction<'static, Self::Db>>> + Send;

    /// Pays once, in this transaction: the run that made the effect.
    fn pay(
        &self,
        tx: &mut Transaction<'static, Self::Db>,
        key: &str,
    ) -> impl Future<Output = anyhow::Result<i64>> + Send;
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
pub(crate) async fn run(arguments: &[String]) -> anyhow::Result<()> {
    let [url, key, calls, role] = arguments else { bail!("storm worker URL KEY CALLS ROLE") };
    let (calls, role) = (calls.parse()?, role.parse()?);
    if url.starts_with("sqlite:") {
        make(Lite::open(url, role).await?, key, calls, role).await
    } else {
        make(Pg::open(url).await?, key, calls, role).await
    }
}

/// Makes so many duplicates, all at once.
async fn make(shop: impl Shop, key: &str, calls: u32, role: Role) -> anyhow::Result<()> {
    let shop = Arc::new(shop);
    let duplicates: Vec<_> = (0..calls)
        .map(|_| {
            let (shop, key) = (Arc::clone(&shop), key.to_owned());
            tokio::spawn(async move {
                loop {
                    match once(&*shop, &key, role).await {
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

/// One duplicate in a transaction of its own: the run that made the effect.
async fn once<S: Shop>(shop: &S, key: &str, role: Role) -> anyhow::Result<i64> {
    let mut tx = shop.begin().await?;
    let (run, outcome) = with_outcome(shop.pay(&mut tx, key)).await;
    let run = run?;
    let is_first = outcome.kind() == OutcomeKind::Executed && run == 1;
    match role {
        Role::RollBack if is_first => {
            tx.rollback().await?;
            bail!("rolled back, as it was told");
        }
        Role::DieBefore if is_first => die(),
        _ => tx.commit().await?,
    }
    if is_first && role == Role::DieAfter {
        die();
    }
    Ok(run)
}

/// SIGKILL: nothing of this process is cleaned up.
fn die() -> ! {
    kill_process(getpid(), Signal::KILL).expect("a process may kill itself");
    loop {
        std::thread::park();
    }
}
