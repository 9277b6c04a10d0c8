//! Redis and Valkey: one string a key, one round trip an operation. The steps of an entity are the fields of one Hash.
//!
//! The common claim is a plain `SET … NX PX … GET`; every other write is a script that compares the token first.
//! The parts, from the outside in:
//!
//! - `commands`, `admin`: what each operation sends, and what it makes of the answer
//! - `listing`: many records, a page at a time
//! - `value`: the text of a record
//! - `scripts`: the Lua files
//! - `fields`: first calls of steps
//! - `heads`: what this process wrote of its own live claims
//! - `connection`, `handshake`: one connection for each runtime, made anew when it is of no more use
//! - `link`, `cluster`: which server a command goes to
//! - `sentinel`, `inquiry`: where the primary is, in the words of others
//! - `wire`, `driver`, `reading`: a connection: the commands of many callers in one write, the answers handed out
//! - `waking`, `listener`, `channel`: who waits for the end of a run, and how they are woken
//! - `replicas`: writes that count only when replicas have them
//! - `address`, `tls`, `url`: where servers are and how to reach them
//! - `findings`: what is dangerous to the records
//! - `error`: what the client's errors mean

mod address;
mod admin;
mod builder;
mod channel;
mod cluster;
mod commands;
mod connection;
mod driver;
mod error;
mod fields;
mod findings;
mod handshake;
mod heads;
mod inquiry;
mod link;
mod listener;
mod listing;
mod reading;
mod replicas;
mod scripts;
mod sentinel;
#[cfg(feature = "tls")]
mod tls;
mod url;
mod value;
mod waking;
mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use self::builder::RedisStoreBuilder;
pub use self::findings::Finding;
use self::heads::Heads;
use self::link::Link;
use self::replicas::Replicas;
use super::{
    Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, Home, Release, Reply, Retention, Store, StoreError, Watch,
};
use crate::admin::Admin;
use crate::key::Key;
use crate::record::{Completed, Recorded};
use crate::token::Token;

/// A store on Redis or Valkey: one server, a primary behind Sentinels, or a Cluster.
///
/// Each key is one string, one line that a person can read in `redis-cli`. Needs Redis 7.0 or Valkey 7.2, and the
/// permissions that the [guide](crate::guide::redis) names.
///
/// Waiters are [woken](Store::watch) where the user may `PUBLISH` and `SUBSCRIBE` (in a Cluster `SPUBLISH` and
/// `SSUBSCRIBE`) on the channels `idempotent:ended:*`; elsewhere they poll.
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
    connections: Link,
    heads: Arc<Heads>,
    /// Who must have a write before it counts.
    replicas: Option<Replicas>,
}

impl RedisStore {
    /// Connects to the server that `url` names, with the defaults.
    ///
    /// | URL | |
    /// |---|---|
    /// | `redis://[user[:password]@]host[:port][/database]` | over TCP |
    /// | `rediss://…` | the same over TLS (feature `tls`): the certificate is always checked |
    /// | `redis+unix:///path[?db=database][&user=user][&pass=password]` | over a Unix socket |
    /// | `redis+sentinel://[user[:password]@]host[:port][,host[:port]…]/primary[/database]` | to the primary that these Sentinels know by this name; `rediss+sentinel` over TLS |
    /// | `redis+cluster://[user[:password]@]host[:port][,host[:port]…]` | to the Cluster of which these are some nodes; `rediss+cluster` over TLS |
    ///
    /// What the client `redis` accepts besides is accepted too: `valkey://`, `valkeys://`, `valkey+unix://`, `unix:`.
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
        RedisStoreBuilder::new()
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("address", &format_args!("{}", self.connections))
            .field("database", &self.connections.database())
            .finish_non_exhaustive()
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

    fn watch(&self, key: &Key) -> Watch {
        self.connections.watch(key)
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
