//! Two stores as one: a quick one in front, and one that is the truth.
//!
//! The parts, from the outside in:
//!
//! - `claim`, `settle`, `admin`: the operations, each told to both
//! - `front`: what is asked of the store in front, and what it is believed
//! - `health`: whether the front is asked at all
//! - `debts`: what the front could not be told
//! - `copy`: a record of the truth, as the front keeps it

mod admin;
mod claim;
mod copy;
mod debts;
mod front;
mod health;
mod settle;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use self::front::Front;
use super::{Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, Home, Release, Reply, Retention, Store, Watch};
use crate::admin::Admin;
use crate::key::Key;
use crate::record::{Completed, Recorded};
use crate::token::Token;

/// A quick store in front of one that is the truth: Redis in front of SQL.
///
/// A duplicate of a completed call is answered by the front alone, in one round trip; one of a run in progress by the
/// front too, in two. A first call claims in the front, and then in the truth, and only the truth's word lets it run. A
/// result goes to the truth first, and then to the front.
///
/// So what the front loses (a restart, an eviction, a failover) costs time, and never a second run: who does not find a
/// record there is told by the truth, and leaves a copy for the next. Where the front does not answer, the truth is asked
/// alone, which is logged, and counted as `idempotent_front_unavailable_total`. Where the truth does not answer, first
/// calls fail as they do on any store (`on_outage`); duplicates that the front knows are still answered.
///
/// Attempts, fences, and who may run after a crash are the truth's. Its clock judges leases; a handler's `ttl` is for how
/// long it keeps a record. The front keeps a copy for [`front_ttl`](TieredStoreBuilder::front_ttl) at the most, and never
/// for longer than the truth does.
///
/// Administration is of the truth, and takes the record out of the front. What is done to the truth's records beside this
/// store (with SQL by hand, or by a call `within` a transaction) the front hears nothing of: it may show what was there
/// before, for as long as it keeps a copy. The same is so where the front was not there to be told.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// # #[cfg(all(feature = "redis", feature = "postgres"))] {
/// use idempotent_runtime::Idempotency;
/// use idempotent_runtime::store::{PostgresStore, RedisStore, TieredStore};
///
/// let front = RedisStore::connect("redis://cache.example/").await?;
/// let truth = PostgresStore::connect("postgres://shop@db.example/shop").await?;
/// let store = TieredStore::builder(front, truth).front_ttl(Duration::from_mins(10)).build();
/// let idempotency = Idempotency::with_store(store);
/// # }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct TieredStore(Arc<Tiers>);

struct Tiers {
    front: Arc<Front>,
    truth: Arc<dyn Store>,
    /// Completions that the truth was asked for, since when: the answer may have been lost.
    asked: Mutex<HashMap<Token, Instant>>,
}

/// Settings of a [`TieredStore`].
#[derive(Clone)]
#[must_use]
pub struct TieredStoreBuilder {
    front: Arc<dyn Store>,
    truth: Arc<dyn Store>,
    ttl: Duration,
    timeout: Duration,
}

impl TieredStore {
    /// Puts `front` in front of `truth`. Any two stores will do; what the truth loses is lost.
    ///
    /// ```
    /// use std::time::Duration;
    /// use idempotent_runtime::store::TieredStore;
    /// use idempotent_runtime::{Error, Idempotency, MemoryStore};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
    /// let store = TieredStore::builder(MemoryStore::new(), MemoryStore::new()).build();
    /// let idempotency = Idempotency::with_store(store);
    /// let call = || idempotency.call("order:consume").key(1001).ttl(Duration::from_secs(60));
    /// assert_eq!(call().run(async { Ok::<_, Error>(12) }).await?, 12);
    /// assert_eq!(call().run(async { Ok::<_, Error>(13) }).await?, 12);
    /// # Ok(()) }
    /// ```
    pub fn builder(front: impl Store, truth: impl Store) -> TieredStoreBuilder {
        TieredStoreBuilder {
            front: Arc::new(front),
            truth: Arc::new(truth),
            ttl: Duration::from_mins(5),
            timeout: Duration::from_millis(250),
        }
    }

    /// The store that is the truth.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(super) fn truth(&self) -> &dyn Store {
        &*self.0.truth
    }
}

impl TieredStoreBuilder {
    /// How long the front keeps a copy at the most: five minutes by default, at least a second.
    ///
    /// Longer spares the truth more, and takes more of the front's memory.
    pub fn front_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl.max(Duration::from_secs(1));
        self
    }

    /// How long one answer of the front is waited for before the truth is asked alone: 250 ms by default.
    ///
    /// What the front and the truth may take together has to fit into the `store_timeout` of the handle.
    pub fn front_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The store.
    #[must_use]
    pub fn build(self) -> TieredStore {
        let front = Arc::new(Front::new(self.front, self.ttl, self.timeout));
        TieredStore(Arc::new(Tiers { front, truth: self.truth, asked: Mutex::default() }))
    }
}

impl fmt::Debug for TieredStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tiers { front, truth, .. } = &*self.0;
        f.debug_struct("TieredStore").field("front", front).field("truth", truth).finish()
    }
}

impl fmt::Debug for TieredStoreBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { front, truth, ttl, timeout } = self;
        let mut shown = f.debug_struct("TieredStoreBuilder");
        shown.field("front", front).field("truth", truth).field("ttl", ttl).field("timeout", timeout).finish()
    }
}

impl Store for TieredStore {
    fn claim<'a>(&'a self, key: &'a Key, request: &'a ClaimRequest<'a>) -> Reply<'a, ClaimAnswer> {
        Box::pin(self.0.claim(key, request))
    }

    fn begin<'a>(&'a self, key: &'a Key, token: Token) -> Reply<'a, Answer> {
        Box::pin(self.0.begin(key, token))
    }

    fn renew<'a>(&'a self, key: &'a Key, token: Token) -> Reply<'a, Answer> {
        Box::pin(self.0.renew(key, token))
    }

    fn complete<'a>(
        &'a self,
        key: &'a Key,
        token: Token,
        result: &'a Recorded,
        retention: Retention,
    ) -> Reply<'a, CompleteAnswer> {
        Box::pin(self.0.complete(key, token, result, retention))
    }

    fn release<'a>(&'a self, key: &'a Key, token: Token, release: Release<'a>, lease: Duration) -> Reply<'a, Answer> {
        Box::pin(self.0.release(key, token, release, lease))
    }

    fn put_back<'a>(
        &'a self,
        key: &'a Key,
        token: Token,
        lease: Duration,
        superseded: Option<(&'a Completed, Retention)>,
    ) -> Reply<'a, Answer> {
        Box::pin(self.0.put_back(key, token, lease, superseded))
    }

    /// The front's watch, or the truth's where the front wakes nobody. Never a sure one: a run whose claim the front has
    /// lost may end without a word there.
    fn watch(&self, key: &Key) -> Watch {
        let watch = self.0.front.watch(key);
        let watch = if watch.wakes() { watch } else { self.0.truth.watch(key) };
        watch.unsure()
    }

    fn admin(&self) -> Option<&dyn Admin> {
        self.0.truth.admin().map(|_| self as &dyn Admin)
    }

    fn home(&self) -> Home {
        let both = [self.0.front.home(), self.0.truth.home()];
        if both.contains(&Home::Thread) { Home::Thread } else { Home::Caller }
    }

    fn name(&self) -> &'static str {
        "tiered"
    }
}
