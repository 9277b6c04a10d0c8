//! Redis and Valkey: one string a key, one round trip an operation. The steps of an entity are the fields of one Hash.
//!
//! The common claim is a plain `SET … NX PX … GET`; every other write is a script that compares the token first.
//! The parts, from the outside in:
//!
//! - `commands`, `admin`: what each operation sends, and what it makes of the answer
//! - `value`: the text of a record
//! - `scripts`: the Lua files
//! - `heads`: what this process wrote of its own live claims
//! - `connection`, `handshake`: one connection for each runtime, made anew when it is of no more use
//! - `wire`, `driver`, `reading`: a connection: the commands of many callers in one write, the answers handed out
//! - `error`, `url`: what the client's errors mean, which server a URL names

mod admin;
mod commands;
mod connection;
mod driver;
mod error;
mod handshake;
mod heads;
mod reading;
mod scripts;
mod url;
mod value;
mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use self::connection::{Connections, Timeouts};
use self::heads::Heads;
use super::{
    Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, Home, Release, Reply, Retention, Store, StoreError, Watch,
};
use crate::admin::Admin;
use crate::key::Key;
use crate::record::{Completed, Recorded};
use crate::token::Token;

/// A store on one Redis or Valkey server.
///
/// Each key is one string, one line that a person can read in `redis-cli`. Needs Redis 7.0 or Valkey 7.2, and the
/// permission to run `HELLO`, `SELECT`, `SET`, `GET`, `GETRANGE`, `PEXPIRE`, `PTTL`, `TIME`, `EVALSHA` and `SCRIPT LOAD`.
///
/// The keys of an entity's [steps](Key::step) are the fields of one Hash, which `HGETALL` shows, and which may be the
/// application's own: fields of other names are left alone, and what stands in a field and is no record is unreadable.
/// A field says itself until when it is kept. The expiry of the Hash is set when a step makes the Hash, and after that
/// only made later; a Hash that the application made without an expiry gets none. Where fields can expire (Redis 7.4,
/// Valkey 9) they do; elsewhere a field past its time counts as absent, and stays until it is claimed again or the Hash
/// goes. Needs `HGET`, `HSET`, `PERSIST` and, where it exists, `HPEXPIRE` too.
///
/// Every runtime that calls gets a connection of its own. A connection that is lost, that ended up at a replica, or
/// whose server has been silent for the [response time-out](RedisStoreBuilder::response_timeout) is given up: all who
/// wait for an answer get an error of kind [`Unavailable`](super::StoreErrorKind::Unavailable), and the next operation
/// connects anew. What was sent may still be applied: repeat it with the same token.
///
/// A record in progress that is kept for ever ([`Retention::Forever`]) has an expiry of 100 years all the same, since
/// the store reads off it when the lease was last renewed. Durations are kept in whole milliseconds.
///
/// Cloning a store is cheap, and the clones share their connections.
///
/// ```no_run
/// # async fn example() -> Result<(), idempotent_runtime::StoreError> {
/// use idempotent_runtime::store::RedisStore;
///
/// let store = RedisStore::connect("redis://127.0.0.1/").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RedisStore {
    connections: Arc<Connections>,
    heads: Arc<Heads>,
}

impl RedisStore {
    /// Connects to `redis://[user[:password]@]host[:port][/database]` with the defaults.
    ///
    /// # Errors
    ///
    /// [`Refused`](super::StoreErrorKind::Refused) when the URL cannot be read, the login is refused, or the server is
    /// too old; [`Unavailable`](super::StoreErrorKind::Unavailable) when the server cannot be reached.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::builder().connect(url).await
    }

    /// Connects with settings of your own.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), idempotent_runtime::StoreError> {
    /// use std::time::Duration;
    /// use idempotent_runtime::store::RedisStore;
    ///
    /// let store = RedisStore::builder()
    ///     .response_timeout(Duration::from_millis(200))
    ///     .connect("redis://shop:secret@cache.example/2")
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder() -> RedisStoreBuilder {
        RedisStoreBuilder {
            timeouts: Timeouts { response: Duration::from_millis(500), connect: Duration::from_secs(1) },
        }
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.connections.client.get_connection_info();
        f.debug_struct("RedisStore")
            .field("address", &format_args!("{}", info.addr()))
            .field("database", &info.redis_settings().db())
            .finish_non_exhaustive()
    }
}

/// Settings of a [`RedisStore`].
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct RedisStoreBuilder {
    timeouts: Timeouts,
}

impl RedisStoreBuilder {
    /// How long the server may stay silent while an answer is owed, before its connection is given up: 500 ms by
    /// default. Measured in quarters, so it can take a quarter more.
    pub fn response_timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.response = timeout;
        self
    }

    /// How long a new connection may take, all tries together: 1 s by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.connect = timeout;
        self
    }

    /// Connects to the server that `url` names.
    ///
    /// # Errors
    ///
    /// As [`RedisStore::connect`].
    pub async fn connect(self, url: &str) -> Result<RedisStore, StoreError> {
        self.connect_with(url::client(url)?).await
    }

    /// Connects to the server of a client of your own: its address, login and database are used, and nothing else.
    ///
    /// # Errors
    ///
    /// As [`RedisStore::connect`].
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use idempotent_runtime::store::RedisStore;
    ///
    /// let client = redis::Client::open(("cache.example", 6379))?;
    /// let store = RedisStore::builder().connect_with(client).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connect_with(self, client: redis::Client) -> Result<RedisStore, StoreError> {
        url::tcp(&client)?;
        let connections = Arc::new(Connections::new(client, self.timeouts));
        connections.connection().await?;
        Ok(RedisStore { connections, heads: Arc::default() })
    }
}

impl Store for RedisStore {
    fn claim<'a>(&'a self, key: &'a Key, request: &'a ClaimRequest<'a>) -> Reply<'a, ClaimAnswer> {
        Box::pin(self.claim_record(key, request))
    }

    fn begin<'a>(&'a self, key: &'a Key, token: Token) -> Reply<'a, Answer> {
        Box::pin(self.begin_record(key, token))
    }

    fn renew<'a>(&'a self, key: &'a Key, token: Token) -> Reply<'a, Answer> {
        Box::pin(self.renew_record(key, token))
    }

    fn complete<'a>(
        &'a self,
        key: &'a Key,
        token: Token,
        result: &'a Recorded,
        retention: Retention,
    ) -> Reply<'a, CompleteAnswer> {
        Box::pin(self.complete_record(key, token, result, retention))
    }

    fn release<'a>(&'a self, key: &'a Key, token: Token, release: Release<'a>, lease: Duration) -> Reply<'a, Answer> {
        Box::pin(self.release_record(key, token, release, lease))
    }

    fn put_back<'a>(
        &'a self,
        key: &'a Key,
        token: Token,
        lease: Duration,
        superseded: Option<(&'a Completed, Retention)>,
    ) -> Reply<'a, Answer> {
        Box::pin(self.put_record_back(key, token, lease, superseded))
    }

    fn watch(&self, _: &Key) -> Watch {
        Watch::never()
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }

    fn home(&self) -> Home {
        Home::Thread
    }

    fn name(&self) -> &'static str {
        "redis"
    }
}
