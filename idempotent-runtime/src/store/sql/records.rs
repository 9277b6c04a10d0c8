//! The operations: a row is read, the state machine decides, and one statement writes if the row still is as it was.

use std::sync::{Arc, Weak};
use std::time::Duration;
#[cfg(feature = "sqlite")]
use std::time::{SystemTime, UNIX_EPOCH};

use sqlx::SqlStr;

use super::Dialect;
use super::connection::{Row, Value};
use super::connections::Connections;
use super::error::Failure;
use super::row::{self, Malformed, Place, Read};
use super::statements::Statements;
use super::table::Table;
use crate::admin::{Change, Changed, Inspected};
use crate::key::Key;
use crate::record::{Completed, Recorded};
use crate::store::machine::state::{Moment, State};
use crate::store::machine::{decisions, steps};
use crate::store::{Acquired, Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, Release, Retention, StoreError};
use crate::token::Token;

/// How often one operation may find that its record has changed while it was deciding. Somebody has got on each time.
const TRIES: usize = 100;

/// A fence that the database is to give.
const NEW_FENCE: u64 = 0;

/// The records of one table.
#[derive(Clone)]
pub(super) struct Records(Arc<Inner>);

pub(super) struct Inner {
    dialect: Dialect,
    table: Table,
    statements: Statements,
    connections: Arc<Connections>,
}

/// What a step came to.
enum Applied<A> {
    /// An answer, and the fence of what was written.
    Answered(A, Option<i64>),
    Unreadable(Malformed),
}

impl Records {
    pub(super) fn new(dialect: Dialect, table: Table, connections: Arc<Connections>) -> Self {
        let statements = Statements::new(dialect, &table);
        Self(Arc::new(Inner { dialect, table, statements, connections }))
    }

    pub(super) fn downgrade(&self) -> Weak<Inner> {
        Arc::downgrade(&self.0)
    }

    pub(super) fn upgrade(records: &Weak<Inner>) -> Option<Self> {
        records.upgrade().map(Self)
    }

    pub(super) fn connections(&self) -> &Arc<Connections> {
        &self.0.connections
    }

    pub(super) fn statements(&self) -> &Statements {
        &self.0.statements
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.0.dialect
    }

    pub(super) fn table(&self) -> &Table {
        &self.0.table
    }

    pub(super) async fn claim(&self, key: &Key, request: &ClaimRequest<'_>) -> Result<ClaimAnswer, StoreError> {
        let owner = request.owner.into();
        let claim = steps::Claim { request, owner: &owner, fence: NEW_FENCE };
        if self.0.dialect.inserts_first()
            && let Some(answer) = self.claim_of_absent(key, &claim).await?
        {
            return Ok(answer);
        }
        match self.apply(key, |state, now| steps::claim(state, now, &claim)).await? {
            Applied::Answered(answer, fence) => Ok(fenced(answer, fence)),
            Applied::Unreadable(Malformed(why)) => Ok(ClaimAnswer::Unreadable(why.into())),
        }
    }

    /// Claims in one statement where there is no row: what the machine makes of an absent record at time zero, moved by
    /// the server to its own time.
    async fn claim_of_absent(&self, key: &Key, claim: &steps::Claim<'_>) -> Result<Option<ClaimAnswer>, StoreError> {
        let (answer, state) = steps::claim(State::Absent, Moment::ZERO, claim);
        let place = Place { fence: 0, revision: 1 };
        let values = row::written(key, place, &state);
        match self.write(&self.0.statements.insert_from_now, values).await {
            Ok(Some(fence)) => Ok(Some(fenced(answer, Some(fence)))),
            Ok(None) | Err(Failure::Conflict(_)) => Ok(None),
            Err(failure) => Err(failure.into_error()),
        }
    }

    /// A completed record where there is none; whether there was none.
    pub(super) async fn import(&self, key: &Key, result: &Recorded, retention: Retention) -> Result<bool, StoreError> {
        let record = Completed { token: Token::random(), attempt: 1, fingerprint: None, result: result.clone() };
        let state = State::Completed { record, expires: retention.end(Moment::ZERO) };
        let values = row::written(key, Place { fence: 0, revision: 1 }, &state);
        for _ in 0..TRIES {
            match self.write(&self.0.statements.insert_from_now, values.clone()).await {
                Ok(fence) => return Ok(fence.is_some()),
                Err(Failure::Conflict(_)) => {}
                Err(failure) => return Err(failure.into_error()),
            }
        }
        Err(StoreError::unavailable(format!("the record of {key} could not be written for {TRIES} conflicts")))
    }

    pub(super) async fn begin(&self, key: &Key, token: Token) -> Result<Answer, StoreError> {
        self.answer(key, |state, now| steps::begin(state, now, token)).await
    }

    pub(super) async fn renew(&self, key: &Key, token: Token) -> Result<Answer, StoreError> {
        self.answer(key, |state, now| steps::renew(state, now, token)).await
    }

    pub(super) async fn complete(
        &self,
        key: &Key,
        token: Token,
        result: &Recorded,
        retention: Retention,
    ) -> Result<CompleteAnswer, StoreError> {
        let (kind, bytes) = row::result(result);
        let values = vec![
            Value::Bytes(Some(row::digest(key))),
            Value::Text(Some(token.to_string())),
            Value::Text(Some(kind)),
            Value::Bytes(Some(bytes)),
            Value::Int(row::retention(retention)),
        ];
        match self.write(&self.0.statements.complete, values).await {
            Ok(Some(_)) => return Ok(CompleteAnswer::Held),
            // It is not an owner's first completion: the machine says what it is.
            Ok(None) | Err(Failure::Conflict(_)) => {}
            Err(failure) => return Err(failure.into_error()),
        }
        match self.apply(key, |state, now| steps::complete(state, now, token, result, retention)).await? {
            Applied::Answered(answer, _) => Ok(answer),
            Applied::Unreadable(_) => Ok(CompleteAnswer::Lost(None)),
        }
    }

    pub(super) async fn release(
        &self,
        key: &Key,
        token: Token,
        release: Release<'_>,
        lease: Duration,
    ) -> Result<Answer, StoreError> {
        self.answer(key, |state, now| steps::release(state, now, token, release, lease)).await
    }

    pub(super) async fn put_back(
        &self,
        key: &Key,
        token: Token,
        lease: Duration,
        superseded: Option<(&Completed, Retention)>,
    ) -> Result<Answer, StoreError> {
        self.answer(key, |state, now| steps::put_back(state, now, token, lease, superseded)).await
    }

    pub(super) async fn inspect(&self, key: &Key) -> Result<Option<Inspected>, StoreError> {
        match self.apply(key, decisions::inspect).await? {
            Applied::Answered(answer, _) => Ok(answer),
            Applied::Unreadable(Malformed(why)) => {
                Err(StoreError::refused(format!("the record of {key} cannot be read: {why}")))
            }
        }
    }

    pub(super) async fn change(&self, key: &Key, seen: &Inspected, change: &Change) -> Result<Changed, StoreError> {
        match self.apply(key, |state, now| decisions::change(state, now, seen, change)).await? {
            Applied::Answered(answer, _) => Ok(answer),
            Applied::Unreadable(_) => Ok(Changed::Moved),
        }
    }

    async fn answer(&self, key: &Key, step: impl Fn(State, Moment) -> (Answer, State)) -> Result<Answer, StoreError> {
        match self.apply(key, step).await? {
            Applied::Answered(answer, _) => Ok(answer),
            Applied::Unreadable(_) => Ok(Answer::Lost),
        }
    }

    /// Takes one step. An answer that changes nothing was true when the row was read; a change is written only over
    /// what was read, so it takes effect as if it had all been done at that moment.
    async fn apply<A>(&self, key: &Key, step: impl Fn(State, Moment) -> (A, State)) -> Result<Applied<A>, StoreError> {
        for _ in 0..TRIES {
            let Read { now, place, state } = self.read(key).await?;
            let state = match state {
                Ok(state) => state,
                Err(malformed) => return Ok(Applied::Unreadable(malformed)),
            };
            let (answer, next) = step(state.clone(), now);
            if next == state || next == State::Absent {
                return Ok(Applied::Answered(answer, None));
            }
            match self.put(key, place, &next).await {
                Ok(Some(fence)) => return Ok(Applied::Answered(answer, Some(fence))),
                Ok(None) | Err(Failure::Conflict(_)) => {}
                Err(failure) => return Err(failure.into_error()),
            }
        }
        Err(StoreError::unavailable(format!("the record of {key} changed {TRIES} times while it was being decided")))
    }

    pub(super) async fn read(&self, key: &Key) -> Result<Read, StoreError> {
        for _ in 0..TRIES {
            match self.rows(&self.0.statements.read, vec![Value::Bytes(Some(row::digest(key)))]).await {
                Ok(rows) => {
                    let row = rows.first().ok_or_else(|| StoreError::refused("a SELECT of one row gave none"))?;
                    return row::read(row);
                }
                Err(Failure::Conflict(_)) => {}
                Err(failure) => return Err(failure.into_error()),
            }
        }
        Err(StoreError::unavailable(format!("the record of {key} could not be read for {TRIES} conflicts")))
    }

    /// Writes a record in the place of what was read; the fence that it has, or nothing where that has changed.
    async fn put(&self, key: &Key, place: Option<Place>, state: &State) -> Result<Option<i64>, Failure> {
        let Some(place) = place else {
            let values = row::written(key, Place { fence: 0, revision: 1 }, state);
            return self.write(&self.0.statements.insert, values).await;
        };
        let is_claim = matches!(state, State::InProgress(own) if own.fence == NEW_FENCE);
        let statements = &self.0.statements;
        let statement = if is_claim { &statements.replace_with_fence } else { &statements.replace };
        let mut values = row::written(key, place, state);
        values.push(Value::Int(Some(place.fence)));
        self.write(statement, values).await
    }

    /// Carries out a statement that gives back the fence of the row that it wrote, if it wrote one.
    async fn write(&self, sql: &SqlStr, values: Vec<Value>) -> Result<Option<i64>, Failure> {
        let rows = self.rows(sql, values).await?;
        rows.first().map_or(Ok(None), |row| row.int(0)).map_err(Failure::of)
    }

    #[cfg_attr(not(feature = "sqlite"), allow(unused_mut))]
    pub(super) async fn rows(&self, sql: &SqlStr, mut values: Vec<Value>) -> Result<Vec<Row>, Failure> {
        match self.0.dialect {
            #[cfg(feature = "postgres")]
            Dialect::Postgres => {}
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                values.push(Value::Int(Some(row::micros(now))));
            }
        }
        self.0.connections.rows(sql, &values).await
    }
}

/// Gives an acquired claim the fence that the database gave it.
fn fenced(answer: ClaimAnswer, fence: Option<i64>) -> ClaimAnswer {
    match answer {
        ClaimAnswer::Acquired(acquired) if acquired.fence == Some(NEW_FENCE) => {
            ClaimAnswer::Acquired(Acquired { fence: fence.and_then(|fence| u64::try_from(fence).ok()), ..acquired })
        }
        other => other,
    }
}
