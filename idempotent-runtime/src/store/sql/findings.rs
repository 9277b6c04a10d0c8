//! What about a database is dangerous to its records.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sqlx::{AssertSqlSafe, SqlSafeStr as _};

use super::Dialect;
use super::error::Failure;
use super::records::Records;
use super::row;
use crate::admin::{Concern, Severity};
use crate::store::StoreError;

/// A round trip that is worth a word.
const SLOW: Duration = Duration::from_millis(50);

/// Clocks that are kept in step differ by less.
const BLUR: Duration = Duration::from_secs(1);

/// So much expired and still there is more than a sweeper leaves.
const OVERDUE: i64 = 10_000;

impl Records {
    pub(super) async fn check(&self) -> Result<Vec<Concern>, StoreError> {
        let mut concerns = Vec::new();
        match self.dialect() {
            #[cfg(feature = "postgres")]
            Dialect::Postgres => self.check_postgres(&mut concerns).await?,
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => self.check_sqlite(&mut concerns).await?,
        }
        let overdue = self.number(self.statements().overdue.clone()).await?;
        if overdue >= OVERDUE {
            concerns.push(notice(
                format_args!("at least {overdue} records have expired and are still there"),
                "let one process sweep (the stores do by themselves), or run `idempotent sweep`",
            ));
        }
        Ok(concerns)
    }

    #[cfg(feature = "postgres")]
    async fn check_postgres(&self, concerns: &mut Vec<Concern>) -> Result<(), StoreError> {
        for (setting, what, advice) in [
            ("fsync", "the server may lose everything when it crashes (fsync off)", "set fsync to on"),
            (
                "synchronous_commit",
                "the server may forget its last commits when it crashes (synchronous_commit off)",
                "set synchronous_commit to on for the user of the records",
            ),
            (
                "full_page_writes",
                "the server may not survive a crash of its machine (full_page_writes off)",
                "set full_page_writes to on",
            ),
        ] {
            if self.text(&format!("SELECT current_setting('{setting}')")).await?.as_deref() == Some("off") {
                concerns.push(Concern::new(Severity::Serious, what, advice));
            }
        }
        if self.text("SELECT pg_is_in_recovery()::text").await?.as_deref() == Some("true") {
            let advice =
                "connect to the primary (target_session_attrs=read-write), since records are only written there";
            concerns.push(Concern::new(Severity::Serious, "the server is a standby", advice));
        }
        let asked = Instant::now();
        let told = self.number(sql("SELECT (extract(epoch FROM statement_timestamp()) * 1000000)::bigint")).await?;
        let round_trip = asked.elapsed();
        let here = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let by = row::moment(told).abs_diff(here);
        if by > BLUR + round_trip {
            let what = format_args!("the server has a clock that is {by:?} off from this machine's").to_string();
            concerns.push(notice(what, "keep all clocks in step (NTP)"));
        }
        if round_trip > SLOW {
            let what = format_args!("the server took {round_trip:?} to answer").to_string();
            concerns.push(notice(what, "bring the server nearer, or see what keeps it busy"));
        }
        Ok(())
    }

    #[cfg(feature = "sqlite")]
    async fn check_sqlite(&self, concerns: &mut Vec<Concern>) -> Result<(), StoreError> {
        let journal = self.text("SELECT journal_mode FROM pragma_journal_mode").await?.unwrap_or_default();
        if journal != "wal" {
            concerns.push(Concern::new(
                Severity::Serious,
                format_args!("the file is not in WAL mode ({journal}): readers and writers wait for each other"),
                "let nothing else change the file's mode; it is on a file system that cannot do it, perhaps",
            ));
        }
        let damage = self.text("SELECT quick_check FROM pragma_quick_check(1)").await?.unwrap_or_default();
        if damage != "ok" {
            let advice = "restore it from a backup, or begin anew: its duplicates run again";
            concerns.push(Concern::new(Severity::Serious, format_args!("the file is damaged: {damage}"), advice));
        }
        Ok(())
    }

    async fn number(&self, statement: sqlx::SqlStr) -> Result<i64, StoreError> {
        let rows = self.rows(&statement, Vec::new()).await.map_err(Failure::into_error)?;
        let number = rows.first().map_or(Ok(None), |row| row.int(0));
        Ok(number.map_err(StoreError::refused)?.unwrap_or_default())
    }

    async fn text(&self, statement: &str) -> Result<Option<String>, StoreError> {
        let rows = self.rows(&sql(statement), Vec::new()).await.map_err(Failure::into_error)?;
        rows.first().map_or(Ok(None), |row| row.text(0)).map_err(StoreError::refused)
    }
}

fn notice(what: impl fmt::Display, advice: &str) -> Concern {
    Concern::new(Severity::Notice, what, advice)
}

/// A question without anything of a user's in it.
fn sql(text: &str) -> sqlx::SqlStr {
    AssertSqlSafe(Arc::<str>::from(text)).into_sql_str()
}
