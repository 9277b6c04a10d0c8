//! Payments in a SQLite file.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::time::Duration;

use anyhow::ensure;
use idempotent_runtime::store::{Migrate, SqliteStore};
use idempotent_runtime::{Error, Idempotency, idempotent};
use sqlx::pool::PoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{Pool, Sqlite, Transaction};

use super::{CONNECTIONS, PATIENCE, Shop, die};
use crate::role::Role;

/// Bytes that a run which is to die half way writes besides. More than a connection may keep in memory, so that they stand
/// in the file's log when it dies.
const BALLAST: u32 = 1_000_000;

/// Pages that a connection keeps in memory.
const CACHE: &str = "10";

pub(super) struct Lite {
    pool: Pool<Sqlite>,
    idempotency: Idempotency,
    file: PathBuf,
    role: Role,
}

impl Lite {
    pub(super) async fn open(url: &str, role: Role) -> anyhow::Result<Self> {
        let store = SqliteStore::builder().migrate(Migrate::ByHand).sweep_every(None).timeout(PATIENCE);
        let idempotency = Idempotency::with_store(store.connect(url).await?);
        let options = SqliteConnectOptions::from_str(url)?
            .journal_mode(SqliteJournalMode::Wal)
            .busy_timeout(PATIENCE)
            .pragma("cache_size", CACHE);
        let file = options.get_filename().to_owned();
        let pool = PoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(Duration::from_mins(1));
        Ok(Self { pool: pool.connect_lazy_with(options), idempotency, file, role })
    }

    fn beside(&self, what: &str) -> PathBuf {
        let mut path = self.file.clone().into_os_string();
        path.push(what);
        path.into()
    }
}

impl Shop for Lite {
    type Db = Sqlite;

    async fn begin(&self) -> sqlx::Result<Transaction<'static, Sqlite>> {
        self.pool.begin_with("BEGIN IMMEDIATE").await
    }

    async fn pay(&self, tx: &mut Transaction<'static, Sqlite>, key: &str) -> anyhow::Result<i64> {
        pay(&self.idempotency, tx, key, self).await
    }
}

/// One business effect; which run it is, counted outside of all transactions.
#[idempotent(
    prefix = "storm", keys = [key], ttl = 1h, on_busy = wait(30s), within = tx, via = idempotency,
    map_err = |error: Error| anyhow::Error::new(error),
)]
async fn pay(
    idempotency: &Idempotency,
    tx: &mut Transaction<'static, Sqlite>,
    key: &str,
    shop: &Lite,
) -> anyhow::Result<i64> {
    // The file is this transaction's, so nobody counts at the same time.
    let run = counted(&shop.beside(&format!("-runs-{key}")))?;
    let dies = shop.role == Role::DieWithin && run == 1;
    let effect = "INSERT INTO effects (key, run, ballast) VALUES ($1, $2, zeroblob($3))";
    let ballast = if dies { BALLAST } else { 0 };
    sqlx::query(effect).bind(key).bind(run).bind(ballast).execute(&mut **tx).await?;
    if dies {
        let log = fs::metadata(shop.beside("-wal"))?.len();
        ensure!(log > u64::from(BALLAST) / 2, "{log} bytes are in the log, and this run is to leave much of its work");
        die();
    }
    Ok(run)
}

/// Counts one more in a file of its own.
fn counted(file: &Path) -> anyhow::Result<i64> {
    let mut file = File::options().create(true).append(true).open(file)?;
    file.write_all(b".")?;
    Ok(file.metadata()?.len().try_into()?)
}
