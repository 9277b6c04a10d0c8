//! Removing what has expired.
//!
//! A row says when the sweeper should look at it, which is not before it expires as it was first written. What was
//! renewed since is put off, what is kept for ever is not looked at again, and what has expired goes.

use std::error::Error as StdError;
use std::sync::Weak;
use std::time::Duration;

use super::connection::Value;
use super::error::Failure;
use super::records::{Inner, Records};
use super::row;
use crate::admin::Inspected;
use crate::store::StoreError;

/// How many rows the background sweeper removes in one statement.
const BATCH: u32 = 500;

/// How long an expired record that was handed on stays with the sweeper that took it, in microseconds.
const TAKEN: i64 = 60_000_000;

/// An expired record, on its way out.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Expired {
    /// The key's text.
    pub key: String,
    /// The record as it stood; `None` where it cannot be read.
    pub record: Option<Inspected>,
}

impl Records {
    /// Removes up to `batch` expired records; how many it removed.
    pub(super) async fn sweep(&self, batch: u32) -> Result<u64, StoreError> {
        self.put_off(batch).await?;
        let removed = self.rows(&self.statements().sweep, vec![Value::Int(Some(batch.into()))]).await;
        removed.map(|rows| rows.len() as u64).map_err(Failure::into_error)
    }

    /// Hands up to `batch` expired records to `hand_on`, and removes them if it succeeds.
    pub(super) async fn sweep_with<F>(&self, batch: u32, hand_on: F) -> Result<u64, StoreError>
    where
        F: AsyncFnOnce(&[Expired]) -> Result<(), Box<dyn StdError + Send + Sync>>,
    {
        self.put_off(batch).await?;
        let values = vec![Value::Int(Some(batch.into())), Value::Int(Some(TAKEN))];
        let rows = self.rows(&self.statements().take, values).await.map_err(Failure::into_error)?;
        if rows.is_empty() {
            return Ok(0);
        }
        let taken: Vec<_> = rows.iter().map(row::taken).collect::<Result<_, _>>()?;
        let (places, expired): (Vec<_>, Vec<_>) = taken.into_iter().unzip();
        hand_on(&expired).await.map_err(StoreError::refused)?;
        let mut removed = 0;
        for (digest, place) in places {
            let values =
                vec![Value::Bytes(Some(digest)), Value::Int(Some(place.fence)), Value::Int(Some(place.revision))];
            let rows = self.rows(&self.statements().remove, values).await.map_err(Failure::into_error)?;
            removed += rows.len() as u64;
        }
        Ok(removed)
    }

    async fn put_off(&self, batch: u32) -> Result<(), StoreError> {
        let put_off = self.rows(&self.statements().put_off, vec![Value::Int(Some(batch.into()))]).await;
        put_off.map(drop).map_err(Failure::into_error)
    }

    /// Sweeps every so often, as a task of the current runtime, for as long as there is a store.
    pub(super) fn sweep_in_background(&self, every: Duration) {
        tokio::spawn(sweep_for_ever(self.downgrade(), every));
    }
}

async fn sweep_for_ever(records: Weak<Inner>, every: Duration) {
    loop {
        // Those who started together do not sweep together.
        tokio::time::sleep(every.mul_f64(rand::random_range(0.5..1.5))).await;
        let Some(records) = Records::upgrade(&records) else { return };
        // As long as there is more.
        while let Some(removed) = removed(&records).await
            && removed == u64::from(BATCH)
        {}
    }
}

async fn removed(records: &Records) -> Option<u64> {
    let removed = records.sweep(BATCH).await;
    removed.inspect_err(|error| tracing::debug!(target: "idempotent", %error, "expired records were not removed")).ok()
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use sqlx::{AssertSqlSafe, Connection as _, SqlStr, SqliteConnection};

    use super::super::Dialect;
    use super::super::migrations;
    use super::super::statements::Statements;
    use super::super::table::Table;

    const BATCH: i64 = 100;

    /// Later than all that these tests write.
    const NOW: i64 = 1_000_000_000_000;

    /// How many instructions of SQLite's machine a batch takes, and how many rows it is about. There are so many rows that
    /// have expired, and behind them some that live.
    async fn of_a_batch(statement: impl Fn(&Statements) -> &SqlStr, expired: i64) -> (u64, usize) {
        let table = Table::new(None, "records").expect("a name");
        let mut database = SqliteConnection::connect("sqlite::memory:").await.expect("there is memory");
        let made = AssertSqlSafe(migrations::printed(Dialect::Sqlite, &table));
        sqlx::raw_sql(made).execute(&mut database).await.expect("the table is made");
        // Due long ago, and a moment ago.
        for (key, count, expires_at, due) in [("expired", expired, NOW, 0), ("living", 10, NOW * 2, NOW - 100)] {
            let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) \
                        INSERT INTO records (digest, revision, format, key, state, token, attempt, owner, expires_at, due) \
                        SELECT CAST($2 || i AS blob), 1, 1, $2 || i, 'completed', 'token', 1, 'kitchen', $3, $4 + i FROM n";
            let fill = sqlx::query(fill).bind(count).bind(key).bind(expires_at).bind(due);
            fill.execute(&mut database).await.expect("the rows are written");
        }
        let instructions = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&instructions);
        database.lock_handle().await.expect("a handle").set_progress_handler(1, move || {
            seen.fetch_add(1, Ordering::Relaxed);
            true
        });
        let statements = Statements::new(Dialect::Sqlite, &table);
        let batch = sqlx::query(statement(&statements).clone()).bind(BATCH).bind(NOW).fetch_all(&mut database);
        let rows = batch.await.expect("it is carried out");
        (instructions.load(Ordering::Relaxed), rows.len())
    }

    #[tokio::test]
    async fn what_a_batch_takes_does_not_grow_with_the_backlog() {
        for (name, statement) in
            [("sweep", (|all| &all.sweep) as fn(&Statements) -> &SqlStr), ("put_off", |all| &all.put_off)]
        {
            let (few, of_few) = of_a_batch(statement, 1_000).await;
            let (many, of_many) = of_a_batch(statement, 30_000).await;
            assert_eq!(of_few, of_many, "{name}");
            assert!(
                few > 100 && many < few * 2,
                "{name}: {few} instructions, and {many} with thirty times as many rows"
            );
        }
    }

    #[tokio::test]
    async fn what_lives_is_put_off_as_soon_as_it_is_among_the_first() {
        let (_, rows) = of_a_batch(|all| &all.put_off, BATCH - 10).await;
        assert_eq!(rows, 10);
    }
}
