//! Writes that count only when replicas have them.
//!
//! `WAIT` speaks only for the connection that it is sent on, and blocks it. So a write and its `WAIT` leave together, on a
//! connection that nobody else uses meanwhile, from a small pool.

use std::error::Error as StdError;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::{Cmd, Value};
use tokio::runtime::{Handle, Id};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::address::How;
use super::connection::{Connection, Connections, Timeouts};
use super::error::{Failure, NoAnswer};
use super::handshake;
use crate::store::StoreError;

/// Connections to one server at the most, besides those of the usual commands.
const MOST: usize = 8;

/// How many replicas must have a write, and within which time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Replicas {
    pub(super) number: usize,
    pub(super) within: Duration,
}

/// Whether as many replicas as were asked for have a write.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(super) enum Copied {
    /// They have, or none was asked for.
    Enough,
    TooFew(TooFew),
}

impl Replicas {
    fn judge(self, had: i64) -> Copied {
        let had = usize::try_from(had).unwrap_or(0);
        if had >= self.number { Copied::Enough } else { Copied::TooFew(TooFew { had, asked: self }) }
    }
}

impl Copied {
    /// An error where there are too few: the write was applied, and does not count.
    pub(super) fn enough(self) -> Result<(), StoreError> {
        match self {
            Self::Enough => Ok(()),
            Self::TooFew(too_few) => Err(StoreError::unavailable(too_few)),
        }
    }
}

/// Fewer replicas than were asked for have a write.
#[derive(Clone, Copy, Debug)]
pub(super) struct TooFew {
    had: usize,
    asked: Replicas,
}

impl fmt::Display for TooFew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { had, asked: Replicas { number, within } } = self;
        write!(
            f,
            "{had} of {number} replicas had the write within {within:?}: see that they are up and in step with their \
             primary, or ask the builder for fewer (replicas)"
        )
    }
}

impl StdError for TooFew {}

/// Connections of one server that nobody uses just now.
pub(super) struct Pool {
    idle: Mutex<Vec<(Id, Arc<Connection>)>>,
    room: Semaphore,
}

impl Default for Pool {
    fn default() -> Self {
        Self { idle: Mutex::default(), room: Semaphore::new(MOST) }
    }
}

impl Pool {
    fn take(&self, runtime: Id) -> Option<Arc<Connection>> {
        let mut idle = self.idle();
        idle.retain(|(_, connection)| !connection.0.has_ended());
        let at = idle.iter().position(|(of, _)| *of == runtime)?;
        Some(idle.swap_remove(at).1)
    }

    fn put(&self, runtime: Id, connection: Arc<Connection>) {
        self.idle().push((runtime, connection));
    }

    /// The server is of no more use.
    fn clear(&self) {
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(Id, Arc<Connection>)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connections {
    /// Sends a write, behind `first` where there is one, and waits until the replicas have it.
    pub(super) async fn send_copied(
        self: &Arc<Self>,
        first: Option<&Cmd>,
        command: &Cmd,
        replicas: Replicas,
    ) -> Result<(Value, Copied), Failure> {
        let runtime = Handle::try_current().map_err(StoreError::refused)?.id();
        let _room = self.pool.room.acquire().await.map_err(StoreError::unavailable)?;
        let connection = match self.pool.take(runtime) {
            Some(connection) => connection,
            None => self.another(replicas).await?,
        };
        // Until it is put back, a caller that goes away closes it: its `WAIT` would hold up the next one.
        let wire = &connection.0;
        let first = first.map(|first| wire.send(first));
        let (answer, had) = (wire.send(command), wire.send(&wait(replicas)));
        drop(first);
        let (answer, had) = (answer.await, had.await);
        match (&answer, &had) {
            (Err(Failure::Store { reconnect: true, .. }), _) | (_, Err(Failure::Store { reconnect: true, .. })) => {
                self.pool.clear();
                self.lose();
            }
            _ => self.pool.put(runtime, connection),
        }
        let answer = answer?;
        match had? {
            Value::Int(had) => Ok((answer, replicas.judge(had))),
            other => Err(StoreError::refused(format!("the server answered WAIT with {other:?}")).into()),
        }
    }

    /// One more connection, whose server may be silent for as long as it waits for its replicas.
    async fn another(self: &Arc<Self>, replicas: Replicas) -> Result<Arc<Connection>, StoreError> {
        let Timeouts { response, connect: within } = self.how.timeouts;
        let timeouts = Timeouts { response: response.saturating_add(replicas.within), connect: within };
        let how = How { timeouts, ..How::clone(&self.how) };
        let connection = timeout(within, handshake::open(self, &how)).await;
        connection.unwrap_or_else(|_| Err(StoreError::unavailable(NoAnswer { within }))).map(Arc::new)
    }
}

/// `WAIT number milliseconds`; for it, no time at all means for ever.
fn wait(replicas: Replicas) -> Cmd {
    let millis = u64::try_from(replicas.within.as_millis()).unwrap_or(u64::MAX).max(1);
    let mut wait = redis::cmd("WAIT");
    wait.arg(replicas.number).arg(millis);
    wait
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_say_how_many_there_were() {
        let replicas = Replicas { number: 2, within: Duration::from_millis(500) };
        assert!(replicas.judge(2).enough().is_ok() && replicas.judge(3).enough().is_ok());
        for had in [1, 0, -1] {
            let error = replicas.judge(had).enough().expect_err("too few");
            assert_eq!(error.kind(), crate::store::StoreErrorKind::Unavailable);
            let says = format!("{} of 2 replicas had the write within 500ms", had.max(0));
            assert!(error.to_string().contains(&says), "{error}");
        }
    }
}
