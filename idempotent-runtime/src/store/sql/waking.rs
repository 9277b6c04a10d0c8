//! Waking those who wait for the end of a run, on PostgreSQL: `LISTEN` over one connection of the store's own, and
//! `NOTIFY` where somebody waits.
//!
//! A waiter leaves a mark in the row (`awaited`, until when). The statement that ends a run notifies where it finds a
//! mark: it is the row's own, so whoever marked it before that statement took effect is told. A row without a mark costs a
//! look at a column that was read anyway; a `NOTIFY` serialises commits, and is sent for nobody else.
//!
//! A task sees to the connection, on the runtime of whoever came first, and ends a while after the last waiter has gone.
//! When it ends too early, because the connection is lost or its runtime is gone, everybody is woken: each looks again,
//! and watches again, which starts another task. Who has no task polls, and so does who has one, if more seldom.

use std::collections::HashMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::str::FromStr as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use sqlx::ConnectOptions as _;
use sqlx::pool::PoolOptions;
use sqlx::postgres::{PgConnectOptions, PgListener};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::connection::Value;
use super::records::Records;
use super::row;
use super::table::Table;
use crate::key::Key;
use crate::store::{StoreError, Watch};

/// After a connection that could not be made, or was lost, none is tried for as long: waiters poll.
const PAUSE: Duration = Duration::from_secs(1);

/// How long the connection is kept when nobody waits any more.
const LINGER: Duration = Duration::from_secs(10);

/// Who waits, in this process.
pub(super) struct Waking {
    options: PgConnectOptions,
    channel: String,
    timeout: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The watched records, by their digests as the notification says them.
    records: HashMap<String, Record>,
    /// How far the task is; `None` where there is none.
    line: Option<watch::Sender<Line>>,
    not_before: Option<Instant>,
    /// That it does not work was logged.
    is_told: bool,
}

struct Record {
    ends: watch::Sender<u64>,
    watchers: usize,
}

/// The listening connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Connecting,
    Listening,
    Over,
}

impl Waking {
    pub(super) fn new(url: &str, table: &Table, timeout: Duration) -> Result<Self, StoreError> {
        let options = PgConnectOptions::from_str(url).map_err(StoreError::refused)?.disable_statement_logging();
        Ok(Self { options, channel: table.channel(), timeout, state: Mutex::default() })
    }

    /// Watches the record of `key`, which a look after `ready` shows as it then is.
    pub(super) fn watch(self: &Arc<Self>, records: Records, key: &Key) -> Watch {
        let Ok(runtime) = Handle::try_current() else { return Watch::never() };
        let digest = row::digest(key);
        let name = hex(&digest);
        let mut state = self.lock();
        if state.not_before.is_some_and(|moment| Instant::now() < moment) {
            return Watch::never();
        }
        let record = state.records.entry(name.clone()).or_insert_with(Record::new);
        record.watchers += 1;
        let place = Place { waking: Arc::clone(self), name, ends: record.ends.clone() };
        let mut ended = record.ends.subscribe();
        let seen = *ended.borrow();
        let line = state.line.get_or_insert_with(|| {
            let line = watch::Sender::new(Line::Connecting);
            // Whatever becomes of the task, also if it is never polled, its end wakes the watchers.
            let listening = Listening { waking: Arc::clone(self), line: line.clone() };
            runtime.spawn(listening.until_nobody_waits());
            line
        });
        let mut line = line.subscribe();
        drop(state);
        Watch::usually(
            async move {
                let listens = line.wait_for(|line| *line != Line::Connecting).await;
                listens.is_ok_and(|line| *line == Line::Listening) && records.mark(digest).await.is_ok()
            },
            async move {
                let _place = place;
                let _ = ended.wait_for(|ends| *ends != seen).await;
            },
        )
    }

    fn ended(&self, name: &str) {
        if let Some(record) = self.lock().records.get(name) {
            record.ends.send_modify(|ends| *ends += 1);
        }
    }

    fn is_watched(&self) -> bool {
        !self.lock().records.is_empty()
    }

    /// Ends the task's time, unless somebody has come.
    fn end_idle(&self) -> bool {
        let mut state = self.lock();
        let is_idle = state.records.is_empty();
        if is_idle {
            state.line = None;
        }
        is_idle
    }

    fn fail(&self, error: &sqlx::Error) {
        let mut state = self.lock();
        state.not_before = Some(Instant::now() + PAUSE);
        let tell = !std::mem::replace(&mut state.is_told, true);
        drop(state);
        if tell {
            tracing::warn!(%error, "calls that wait for another's run are not woken, and poll, until there is a connection");
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Records {
    /// Says in the row that somebody waits for the end of its run. A row that is not there has ended.
    async fn mark(&self, digest: Vec<u8>) -> Result<(), StoreError> {
        let marked = self.rows(&self.statements().await_end, vec![Value::Bytes(Some(digest))]).await;
        marked.map(drop).map_err(super::error::Failure::into_error)
    }
}

impl Record {
    fn new() -> Self {
        Self { ends: watch::Sender::new(0), watchers: 0 }
    }
}

/// The task: over when it is dropped.
struct Listening {
    waking: Arc<Waking>,
    line: watch::Sender<Line>,
}

impl Listening {
    async fn until_nobody_waits(self) {
        let connected = timeout(self.waking.timeout, self.connect()).await;
        let mut listener = match connected.unwrap_or(Err(sqlx::Error::PoolTimedOut)) {
            Ok(listener) => listener,
            Err(error) => return self.waking.fail(&error),
        };
        {
            let mut state = self.waking.lock();
            (state.not_before, state.is_told) = (None, false);
        }
        self.line.send_replace(Line::Listening);
        loop {
            match next(&mut listener, &self.waking).await {
                Next::Ended(name) => self.waking.ended(&name),
                Next::Idle => {
                    if self.waking.end_idle() {
                        return;
                    }
                }
                Next::Lost(error) => return self.waking.fail(&error),
            }
        }
    }

    async fn connect(&self) -> Result<PgListener, sqlx::Error> {
        let pool = PoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
        let pool = pool.connect_with(self.waking.options.clone()).await?;
        let mut listener = PgListener::connect_with(&pool).await?;
        // What is missed in between, nobody would hear of: so everybody is to look again.
        listener.eager_reconnect(false);
        listener.listen(&self.waking.channel).await?;
        Ok(listener)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut state = self.waking.lock();
        self.line.send_replace(Line::Over);
        // After it had ended for want of watchers, another may have begun.
        if state.line.as_ref().is_none_or(|line| !line.same_channel(&self.line)) {
            return;
        }
        state.line = None;
        let woken = std::mem::take(&mut state.records);
        drop(state);
        for record in woken.into_values() {
            record.ends.send_modify(|ends| *ends += 1);
        }
    }
}

enum Next {
    Ended(String),
    Idle,
    Lost(sqlx::Error),
}

/// Waits for a notification, which is never abandoned half way, or for nobody to have waited for a while.
async fn next(listener: &mut PgListener, waking: &Waking) -> Next {
    let mut said = pin!(listener.try_recv());
    loop {
        let mut pause = pin!(sleep(LINGER));
        let said = poll_fn(|cx| match said.as_mut().poll(cx) {
            Poll::Ready(said) => Poll::Ready(Some(said)),
            Poll::Pending => pause.as_mut().poll(cx).map(|()| None),
        });
        match said.await {
            Some(Ok(Some(notification))) => return Next::Ended(notification.payload().to_owned()),
            Some(Ok(None)) => return Next::Lost(sqlx::Error::Io(std::io::ErrorKind::ConnectionAborted.into())),
            Some(Err(error)) => return Next::Lost(error),
            None if waking.is_watched() => {}
            None => return Next::Idle,
        }
    }
}

/// A watcher's place: given up when the watch is dropped.
struct Place {
    waking: Arc<Waking>,
    name: String,
    ends: watch::Sender<u64>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.waking.lock();
        let Some(record) = state.records.get_mut(&self.name) else { return };
        // After the end of the task, another of the same name may stand there.
        if !record.ends.same_channel(&self.ends) {
            return;
        }
        record.watchers -= 1;
        if record.watchers == 0 {
            state.records.remove(&self.name);
        }
    }
}

/// As PostgreSQL's `encode(digest, 'hex')`.
fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

impl fmt::Debug for Waking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waking").field("channel", &self.channel).finish_non_exhaustive()
    }
}
