//! The connections: one for each runtime that calls.
//!
//! A connection's driver is a task, and a task lives on a runtime: shared across runtimes, the connection would die
//! with the one that happened to make it, and stand still with the one whose thread a handler blocks. So each runtime
//! that calls has a connection of its own. A connection that is of no more use is forgotten; the next caller makes
//! another, once for all who wait.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use redis::{Cmd, Value};
use tokio::runtime::{Handle, Id};
use tokio::sync::watch;

use super::address::{Address, How};
use super::error::{Ended, Failure, NoAnswer, NotConnected};
use super::handshake;
use super::sentinel::Sentinel;
use super::wire::Wire;
use crate::store::{StoreError, StoreErrorKind};

/// The pauses before each try of one attempt to connect.
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_millis(25), Duration::from_millis(75)];

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeouts {
    /// For an answer.
    pub(super) response: Duration,
    /// For a connection, all tries together.
    pub(super) connect: Duration,
}

/// Where the server is that connections lead to.
#[derive(Debug)]
pub(super) enum Place {
    /// Always at the same place.
    Fixed(Address),
    /// Where the Sentinels say.
    Sentinel(Sentinel),
}

impl Place {
    pub(super) async fn address(&self) -> Result<Address, StoreError> {
        match self {
            Self::Fixed(address) => Ok(address.clone()),
            Self::Sentinel(sentinel) => sentinel.primary().await,
        }
    }

    /// Whether it is always there.
    pub(super) fn is(&self, address: &Address) -> bool {
        matches!(self, Self::Fixed(fixed) if fixed == address)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(address) => address.fmt(f),
            Self::Sentinel(sentinel) => sentinel.fmt(f),
        }
    }
}

/// One connection, on one runtime. It ends with its last user.
#[derive(Debug)]
pub(super) struct Connection(pub(super) Arc<Wire>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.end(Ended::LetGo);
    }
}

/// What an attempt to connect came to, for all who wait for it.
type Attempt = Result<Arc<Connection>, NotConnected>;

/// The table of live connections, and of attempts to make one.
pub(super) struct Connections {
    pub(super) place: Place,
    pub(super) how: Arc<How>,
    live: RwLock<Vec<(Id, Arc<Connection>)>>,
    attempts: Mutex<Vec<(Id, watch::Receiver<Option<Attempt>>)>>,
}

impl Connections {
    pub(super) fn new(place: Place, how: Arc<How>) -> Self {
        Self { place, how, live: RwLock::default(), attempts: Mutex::default() }
    }

    /// Sends one command on this runtime's connection, which is made if there is none.
    pub(super) async fn send(self: &Arc<Self>, command: &Cmd) -> Result<Value, Failure> {
        let connection = self.connection().await?;
        let answer = connection.0.send(command).await;
        self.judge(&connection, answer)
    }

    /// Sends one command behind another that prepares the server for it.
    pub(super) async fn send_behind(self: &Arc<Self>, first: &Cmd, command: &Cmd) -> Result<Value, Failure> {
        let connection = self.connection().await?;
        let answer = connection.0.send_both(first, command).await;
        self.judge(&connection, answer)
    }

    /// Forgets a connection whose answer says that it is of no more use.
    fn judge(&self, connection: &Connection, answer: Result<Value, Failure>) -> Result<Value, Failure> {
        if let Err(Failure::Store { reconnect: true, .. }) = answer {
            self.forget(&connection.0);
        }
        answer
    }

    /// This runtime's connection.
    pub(super) async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, StoreError> {
        let attempt = {
            let runtime = Handle::try_current().map_err(StoreError::refused)?;
            match self.live(runtime.id()) {
                Some(connection) => return Ok(connection),
                None => self.attempt(&runtime),
            }
        };
        Box::pin(self.outcome(attempt)).await
    }

    fn live(&self, runtime: Id) -> Option<Arc<Connection>> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        live.iter().find(|(id, _)| *id == runtime).map(|(_, connection)| Arc::clone(connection))
    }

    /// Takes a connection off the table. Who still waits for an answer on it gets one, if one comes.
    pub(super) fn forget(&self, wire: &Arc<Wire>) {
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        live.retain(|(_, connection)| !Arc::ptr_eq(&connection.0, wire));
    }

    /// The running attempt of this runtime, or a new one. It is a task of its own: it goes on for the others when a
    /// caller goes away.
    fn attempt(self: &Arc<Self>, runtime: &Handle) -> watch::Receiver<Option<Attempt>> {
        let id = runtime.id();
        let mut attempts = self.attempts();
        if let Some((_, attempt)) = attempts.iter().find(|(of, _)| *of == id) {
            return attempt.clone();
        }
        let (tell, told) = watch::channel(None);
        attempts.push((id, told.clone()));
        let ended = AttemptEnded { connections: Arc::clone(self), runtime: id };
        runtime.spawn(async move {
            let outcome = ended.connections.connect(id).await;
            drop(ended);
            tell.send_replace(Some(outcome));
        });
        told
    }

    async fn outcome(&self, mut attempt: watch::Receiver<Option<Attempt>>) -> Result<Arc<Connection>, StoreError> {
        match attempt.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(Ok(connection))) => Ok(Arc::clone(connection)),
            Ok(Some(Err(error))) => Err(error.clone().into_error()),
            Ok(None) | Err(_) => Err(StoreError::unavailable("the runtime that was connecting has ended")),
        }
    }

    async fn connect(self: &Arc<Self>, runtime: Id) -> Attempt {
        // Another attempt may have ended between this caller's look at the table and its own attempt.
        if let Some(connection) = self.live(runtime) {
            return Ok(connection);
        }
        let connected = tokio::time::timeout(self.how.timeouts.connect, self.try_connect()).await;
        let connection = connected
            .unwrap_or_else(|_| Err(StoreError::unavailable(NoAnswer { within: self.how.timeouts.connect })))
            .map_err(|error| NotConnected::new(self.place.to_string().into(), error))?;
        let connection = Arc::new(connection);
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        live.retain(|(id, _)| *id != runtime);
        // The driver says that it has ended before it looks for its entry: so none is left behind.
        if !connection.0.has_ended() {
            live.push((runtime, Arc::clone(&connection)));
        }
        Ok(connection)
    }

    async fn try_connect(self: &Arc<Self>) -> Result<Connection, StoreError> {
        let mut last = None;
        for pause in PAUSES {
            tokio::time::sleep(pause).await;
            match handshake::open(self).await {
                Err(error) if error.kind() == StoreErrorKind::Unavailable => last = Some(error),
                settled => return settled,
            }
        }
        Err(last.unwrap_or_else(|| StoreError::unavailable("no try was made")))
    }

    fn attempts(&self) -> MutexGuard<'_, Vec<(Id, watch::Receiver<Option<Attempt>>)>> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends an attempt, also when its runtime ends first.
struct AttemptEnded {
    connections: Arc<Connections>,
    runtime: Id,
}

impl Drop for AttemptEnded {
    fn drop(&mut self) {
        self.connections.attempts().retain(|(id, _)| *id != self.runtime);
    }
}
