//! The connections: some for each runtime that calls.
//!
//! A connection's socket belongs to the runtime that opened it: shared across runtimes, it would die with the one that
//! happened to open it, and stand still with the one whose thread a handler blocks. So each runtime has its own, the
//! keeper's too. The client's pool is not used: it asks the server twice whether it is still there for every statement
//! that it carries, and takes connections back whose statement was abandoned. Here whatever is abandoned is closed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

#[cfg(feature = "postgres")]
use sqlx::postgres::PgConnectOptions;
#[cfg(feature = "sqlite")]
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, SqlStr};
use tokio::runtime::{Handle, Id};
use tokio::sync::{Semaphore, watch};

use super::connection::{Connection, Prepared, Row, Value};
use super::error::{After, Failure};
use crate::store::StoreError;

/// How a connection is made.
#[derive(Clone, Debug)]
pub(super) enum Options {
    #[cfg(feature = "postgres")]
    Postgres(Box<PgConnectOptions>),
    #[cfg(feature = "sqlite")]
    Sqlite(Box<SqliteConnectOptions>),
}

/// What connections may cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// How many there are for each runtime.
    pub(super) connections: usize,
    /// What becomes of its prepared statements.
    pub(super) prepared: Prepared,
    /// How long one operation may take: a place, a connection, and its statement.
    pub(super) timeout: Duration,
}

/// Every runtime's connections.
pub(super) struct Connections {
    options: Options,
    limits: Limits,
    runtimes: Mutex<Vec<(Id, Arc<Lane>)>>,
    /// Tells the tasks that watch over runtimes that the store is gone.
    open: watch::Sender<()>,
}

/// One runtime's connections.
struct Lane {
    places: Semaphore,
    idle: Mutex<Vec<Connection>>,
}

impl Connections {
    pub(super) fn new(options: Options, limits: Limits) -> Arc<Self> {
        Arc::new(Self { options, limits, runtimes: Mutex::default(), open: watch::channel(()).0 })
    }

    /// Carries out one statement. What is dropped before its end, or takes too long, closes its connection; the server
    /// may have carried it out all the same.
    pub(super) async fn rows(self: &Arc<Self>, sql: &SqlStr, values: &[Value]) -> Result<Vec<Row>, Failure> {
        let lane = self.lane()?;
        let work = async {
            let _place = lane.places.acquire().await.map_err(StoreError::unavailable)?;
            let idle = lane.idle().pop();
            let mut connection = match idle {
                Some(connection) => connection,
                None => self.open().await?,
            };
            let prepared = self.limits.prepared;
            let answer = connection.rows(sql, values, prepared).await.map_err(Failure::of);
            match answer.as_ref().map_err(Failure::connection) {
                // Its transaction is still open.
                Err(After::Usable) if prepared == Prepared::Once => drop(connection),
                Ok(_) | Err(After::Usable) => lane.idle().push(connection),
                // What made this one useless has hardly left the others alone.
                Err(After::Broken) => lane.idle().clear(),
            }
            answer
        };
        let timeout = self.limits.timeout;
        match tokio::time::timeout(timeout, work).await {
            Ok(answer) => answer,
            Err(_) => Err(StoreError::unavailable(format!("no answer within {timeout:?}")).into()),
        }
    }

    /// A connection for the caller alone, which is closed when it is dropped.
    pub(super) async fn open(&self) -> Result<Connection, Failure> {
        match &self.options {
            #[cfg(feature = "postgres")]
            Options::Postgres(options) => options.connect().await.map(Connection::Postgres),
            #[cfg(feature = "sqlite")]
            Options::Sqlite(options) => options.connect().await.map(Connection::Sqlite),
        }
        .map_err(Failure::of)
    }

    pub(super) fn prepared(&self) -> Prepared {
        self.limits.prepared
    }

    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    fn lane(self: &Arc<Self>) -> Result<Arc<Lane>, StoreError> {
        let runtime = Handle::try_current().map_err(StoreError::refused)?;
        let id = runtime.id();
        let mut runtimes = self.runtimes();
        if let Some((_, lane)) = runtimes.iter().find(|(of, _)| *of == id) {
            return Ok(Arc::clone(lane));
        }
        let lane = Arc::new(Lane { places: Semaphore::new(self.limits.connections), idle: Mutex::default() });
        runtimes.push((id, Arc::clone(&lane)));
        drop(runtimes);
        let ended = RuntimeEnded { connections: Arc::downgrade(self), runtime: id };
        let mut open = self.open.subscribe();
        runtime.spawn(async move {
            let _ended = ended;
            // Never sent to: it ends with the store, or is dropped with the runtime.
            _ = open.changed().await;
        });
        Ok(lane)
    }

    fn runtimes(&self) -> MutexGuard<'_, Vec<(Id, Arc<Lane>)>> {
        self.runtimes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lane {
    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes a runtime's connections when it ends.
struct RuntimeEnded {
    connections: Weak<Connections>,
    runtime: Id,
}

impl Drop for RuntimeEnded {
    fn drop(&mut self) {
        if let Some(connections) = self.connections.upgrade() {
            connections.runtimes().retain(|(id, _)| *id != self.runtime);
        }
    }
}
