//! A claim in its caller's transaction: what is said on that one connection, and in which order.
//!
//! ```text
//! open      SAVEPOINT, and how long to wait for a lock
//! claim     INSERT … ON CONFLICT DO NOTHING; where no row came back, a SELECT of its own
//! protect   a second SAVEPOINT, where an error may be recorded
//!           … the body …
//! complete  UPDATE (after ROLLBACK TO the second savepoint, for an error), RELEASE
//! undo      ROLLBACK TO the first savepoint, RELEASE: the transaction is as it was before the call
//! ```
//!
//! An insertion waits for another one of the same key to commit or roll back. It is told afterwards that there is a row,
//! but its snapshot is older than that row: only the *next* statement sees it.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};

use super::Dialect;
use super::connection::{Borrowed, Prepared, Row, Value};
use super::error::Trouble;
use super::row::{self, Malformed, Place, Read};
use super::statements::Statements;
use super::table::{DEFAULT, Table};
use crate::key::Key;
use crate::record::Recorded;
use crate::store::machine::state::{Moment, State};
use crate::store::machine::steps;
use crate::store::{Acquired, ClaimAnswer, ClaimRequest, Retention};
use crate::token::Token;

/// What is behind a [`TransactionConnection`](super::TransactionConnection).
pub(crate) struct Session<'c>(pub(super) Borrowed<'c>);

/// The tables in which a handle's calls keep their records when they are in a caller's transaction.
#[derive(Debug)]
pub(crate) struct Tables {
    table: Table,
    prepared: Prepared,
    #[cfg(feature = "postgres")]
    postgres: OnceLock<Arc<Statements>>,
    #[cfg(feature = "sqlite")]
    sqlite: OnceLock<Arc<Statements>>,
}

impl Tables {
    /// Those of the handle's own store, where that is one with tables; else of the usual name.
    pub(crate) fn of(store: &dyn crate::store::Store) -> Self {
        let (table, prepared) = super::place_of(store).unwrap_or_else(|| (Table::usual(DEFAULT), Prepared::Kept));
        Self { prepared, ..Self::new(table) }
    }

    pub(crate) fn new(table: Table) -> Self {
        Self {
            table,
            prepared: Prepared::Kept,
            #[cfg(feature = "postgres")]
            postgres: OnceLock::new(),
            #[cfg(feature = "sqlite")]
            sqlite: OnceLock::new(),
        }
    }

    fn statements(&self, dialect: Dialect) -> Arc<Statements> {
        let cell = match dialect {
            #[cfg(feature = "postgres")]
            Dialect::Postgres => &self.postgres,
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => &self.sqlite,
        };
        Arc::clone(cell.get_or_init(|| Arc::new(Statements::new(dialect, &self.table))))
    }
}

/// Why a step in a caller's transaction failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) trouble: Trouble,
    pub(crate) error: Box<dyn std::error::Error + Send + Sync>,
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self { trouble: Trouble::of(&error), error: error.into() }
    }
}

impl Failure {
    fn new(trouble: Trouble, error: &str) -> Self {
        Self { trouble, error: error.into() }
    }
}

/// How a caller's transaction was found, so that it can be left so.
#[derive(Debug)]
pub(crate) struct Opened {
    statements: Arc<Statements>,
    prepared: Prepared,
    lock_timeout: String,
}

/// How often a claim looks for the record that stopped its insertion. Somebody removed it each time.
const TRIES: usize = 100;

/// A fence that the database is to give.
const NEW_FENCE: u64 = 0;

impl Session<'_> {
    /// Whether others can end what they are at while this transaction stands open. On SQLite it keeps the file to itself.
    pub(crate) fn can_wait(&self) -> bool {
        self.0.dialect().inserts_first()
    }

    /// Marks where the transaction stands, and bounds how long its statements wait for a lock.
    pub(crate) async fn open(&mut self, tables: &Tables, patience: Duration) -> Result<Opened, Failure> {
        let dialect = self.0.dialect();
        let statements = tables.statements(dialect);
        match dialect {
            #[cfg(feature = "postgres")]
            Dialect::Postgres => {
                // Inside the savepoint, so that going back to it also takes the bound away. Zero would be for ever.
                let millis = patience.as_millis().clamp(1, i32::MAX as u128);
                let rows = self.script(format!(
                    "SAVEPOINT idempotent_call; \
                     SELECT current_setting('lock_timeout'), set_config('lock_timeout', '{millis}', true)"
                ));
                let rows = rows.await?;
                let found = rows.first().map_or(Ok(None), |row| row.text(0))?;
                Ok(Opened {
                    statements,
                    prepared: tables.prepared,
                    lock_timeout: found.unwrap_or_else(|| "0".to_owned()),
                })
            }
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => {
                let _ = patience;
                if !self.0.is_in_transaction() {
                    return Err(Failure::new(Trouble::NoTransaction, "the client has begun none on this connection"));
                }
                self.script("SAVEPOINT idempotent_call".to_owned()).await?;
                Ok(Opened { statements, prepared: tables.prepared, lock_timeout: String::new() })
            }
        }
    }

    /// Claims the key in this transaction, or says what stands in the way.
    pub(crate) async fn claim(
        &mut self,
        opened: &Opened,
        key: &Key,
        request: &ClaimRequest<'_>,
    ) -> Result<ClaimAnswer, Failure> {
        let owner = request.owner.into();
        let claim = steps::Claim { request, owner: &owner, fence: NEW_FENCE };
        let within = &opened.statements.within;
        // On SQLite the file is ours since the transaction began, if it began so: look first.
        let mut insert = self.0.dialect().inserts_first();
        for _ in 0..TRIES {
            if insert && let Some(answer) = self.insert(opened, key, &claim).await? {
                return Ok(answer);
            }
            let rows = self.rows(opened, &within.read, vec![Value::Bytes(Some(row::digest(key)))]).await?;
            let read = rows.first().ok_or_else(|| Failure::new(Trouble::Refused, "a SELECT of one row gave none"))?;
            self.check_constraints(read)?;
            let Read { now, place, state } =
                row::read(read).map_err(|error| Failure { trouble: Trouble::Refused, error: error.into() })?;
            let state = match state {
                Ok(state) => state,
                Err(Malformed(why)) => return Ok(ClaimAnswer::Unreadable(why.into())),
            };
            let Some(place) = place else {
                insert = true;
                continue;
            };
            let (answer, next) = steps::claim(state.clone(), now, &claim);
            if next == state {
                return Ok(answer);
            }
            let mut values = row::written(key, place, &next);
            values.push(Value::Int(Some(place.fence)));
            let rows = self.rows(opened, &within.replace, values).await?;
            if let Some(row) = rows.first() {
                let fence = row.int(0)?;
                self.restore(opened).await?;
                return Ok(fenced(answer, fence));
            }
            // Somebody else changed it first.
            insert = false;
        }
        Err(Failure::new(Trouble::Away, "the record came and went while it was being claimed"))
    }

    /// Claims where there is no row: what the machine makes of an absent record at time zero, moved by the server to its
    /// own time.
    async fn insert(
        &mut self,
        opened: &Opened,
        key: &Key,
        claim: &steps::Claim<'_>,
    ) -> Result<Option<ClaimAnswer>, Failure> {
        let (answer, state) = steps::claim(State::Absent, Moment::ZERO, claim);
        let mut values = row::written(key, Place { fence: 0, revision: 1 }, &state);
        if self.0.dialect().inserts_first() {
            values.push(Value::Text(Some(opened.lock_timeout.clone())));
        }
        let rows = self.rows(opened, &opened.statements.within.insert, values).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(Some(fenced(answer, row.int(0)?)))
    }

    /// Waits for locks as the transaction did before, while it is the caller's turn.
    async fn restore(&mut self, opened: &Opened) -> Result<(), Failure> {
        if opened.lock_timeout.is_empty() {
            return Ok(());
        }
        // The server's own words, a number and a unit.
        let found: String = opened.lock_timeout.chars().filter(char::is_ascii_alphanumeric).collect();
        self.script(format!("SELECT set_config('lock_timeout', '{found}', true)")).await.map(drop)
    }

    /// Marks where the body starts, so that an error can be recorded without what it wrote.
    pub(crate) async fn protect(&mut self) -> Result<(), Failure> {
        self.script("SAVEPOINT idempotent_body".to_owned()).await.map(drop)
    }

    /// Undoes what the body wrote, and keeps the claim.
    pub(crate) async fn undo_body(&mut self) -> Result<(), Failure> {
        self.script("ROLLBACK TO SAVEPOINT idempotent_body".to_owned()).await.map(drop)
    }

    /// Completes the claim, and ends the call's part of the transaction.
    pub(crate) async fn complete(
        &mut self,
        opened: &Opened,
        key: &Key,
        token: Token,
        result: &Recorded,
        retention: Retention,
    ) -> Result<(), Failure> {
        let (kind, bytes) = row::result(result);
        let values = vec![
            Value::Bytes(Some(row::digest(key))),
            Value::Text(Some(token.to_string())),
            Value::Text(Some(kind)),
            Value::Bytes(Some(bytes)),
            Value::Int(row::retention(retention)),
        ];
        if self.rows(opened, &opened.statements.within.complete, values).await?.is_empty() {
            return Err(Failure::new(Trouble::Refused, "the claim's row is gone from the transaction"));
        }
        self.script("RELEASE SAVEPOINT idempotent_call".to_owned()).await.map(drop)
    }

    /// Undoes all that the call did, its claim too: the transaction stands where it stood.
    pub(crate) async fn undo(&mut self) -> Result<(), Failure> {
        let undo = "ROLLBACK TO SAVEPOINT idempotent_call; RELEASE SAVEPOINT idempotent_call";
        self.script(undo.to_owned()).await.map(drop)
    }

    /// On SQLite, that a commit with an open claim would fail.
    fn check_constraints(&self, read: &Row) -> Result<(), Failure> {
        if self.0.dialect().inserts_first() || read.int(19)? == Some(1) {
            return Ok(());
        }
        Err(Failure::new(
            Trouble::Refused,
            "the connection does not check foreign keys, so a call that was dropped half way could be committed; \
             open it with `foreign_keys(true)`",
        ))
    }

    async fn script(&mut self, text: String) -> Result<Vec<Row>, Failure> {
        let sql = AssertSqlSafe(Arc::<str>::from(text)).into_sql_str();
        Ok(self.0.script(sql).await?)
    }

    async fn rows(&mut self, opened: &Opened, sql: &SqlStr, mut values: Vec<Value>) -> Result<Vec<Row>, Failure> {
        if !self.0.dialect().inserts_first() {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            values.push(Value::Int(Some(row::micros(now))));
        }
        Ok(self.0.rows(sql, &values, opened.prepared).await?)
    }
}

/// Gives an acquired claim the fence that the database gave it.
fn fenced(answer: ClaimAnswer, fence: Option<i64>) -> ClaimAnswer {
    match answer {
        ClaimAnswer::Acquired(acquired) => {
            ClaimAnswer::Acquired(Acquired { fence: fence.and_then(|fence| u64::try_from(fence).ok()), ..acquired })
        }
        other => other,
    }
}
