//! The store inside the process.

mod admin;
#[cfg(all(test, idempotent_loom))]
mod loom;
mod shard;
mod sync;
#[cfg(all(test, not(idempotent_loom)))]
mod tests;
mod watchers;

use std::fmt;
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use self::shard::{Hashed, Shard};
use self::sync::{Clock, Hashes, Mutex, MutexGuard};
use self::watchers::Watchers;
use super::machine::state::{Moment, State};
use super::machine::steps;
use super::{
    Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, Home, Release, Reply, Retention, Store, StoreError, Watch,
};
use crate::admin::Admin;
use crate::key::Key;
use crate::record::{Completed, Recorded};
use crate::token::Token;

/// A power of two, and more than the threads that a machine usually runs.
const SHARDS: usize = if cfg!(all(test, idempotent_loom)) { 2 } else { 64 };

/// A store inside the process: for tests, for tools, and for duplicates that only one process can meet.
///
/// It keeps the whole contract of [`Store`], and forgets everything with the process. Its clock is tokio's, so in a
/// test with a paused clock leases lapse and records expire as the clock is moved. Expired records are removed by
/// the writes that follow, some at a time, so the store does not grow with the number of keys it has ever seen.
///
/// ```
/// use std::time::Duration;
///
/// use idempotent_runtime::store::{ClaimAnswer, ClaimRequest, OnLapse, Retention, Store};
/// use idempotent_runtime::{Key, MemoryStore, Token};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let store = MemoryStore::new();
/// let key = Key::from_text("order:consume:1001");
/// let request = ClaimRequest {
///     token: Token::random(),
///     owner: "worker-1",
///     fingerprint: None,
///     lease: Duration::from_secs(30),
///     retention: Retention::For(Duration::from_secs(3600)),
///     held: Retention::For(Duration::from_secs(3600)),
///     on_lapse: OnLapse::TakeOver,
///     max_attempts: None,
///     supersede: None,
///     begun: true,
///     fenced: false,
/// };
/// assert!(matches!(store.claim(&key, &request).await.unwrap(), ClaimAnswer::Acquired(_)));
///
/// let another = ClaimRequest { token: Token::random(), owner: "worker-2", ..request };
/// assert!(matches!(store.claim(&key, &another).await.unwrap(), ClaimAnswer::InProgress { .. }));
/// # });
/// ```
///
/// Cloning a store gives another handle to the same records.
#[derive(Clone)]
pub struct MemoryStore(Arc<Inner>);

struct Inner {
    clock: Clock,
    /// Withstands chosen keys.
    hashes: Hashes,
    shards: Box<[Part]>,
}

struct Part {
    records: Mutex<Shard>,
    watchers: Arc<Watchers>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        // Fences guard writes that outlive this process, so they must grow across restarts too.
        let micros = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
        let first_fence = u64::try_from(micros).unwrap_or_default();
        let part = || Part { records: Mutex::new(Shard::new(first_fence)), watchers: Arc::default() };
        Self(Arc::new(Inner {
            clock: Clock::start(),
            hashes: Hashes::default(),
            shards: (0..SHARDS).map(|_| part()).collect(),
        }))
    }

    /// How many records it keeps, those included that have expired and were not removed yet.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.shards.iter().map(|part| part.lock().len()).sum()
    }

    /// Whether it keeps no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn hashed<'a>(&self, key: &'a Key) -> (&Part, Hashed<'a>) {
        let hash = self.0.hashes.hash_one(key.as_str());
        // The table in the shard takes its seven uppermost bits and its lowest ones.
        let at = usize::try_from(hash >> 32).unwrap_or_default() % SHARDS;
        (&self.0.shards[at], Hashed { hash, key })
    }

    fn part(&self, key: &Key) -> &Part {
        self.hashed(key).0
    }

    fn now(&self) -> Moment {
        self.0.clock.now()
    }

    /// Applies one transition under the shard's lock. `now` is read under it too: time never runs backwards for a key.
    fn apply<A>(&self, key: &Key, step: impl FnOnce(State, Moment) -> (A, State)) -> A {
        let (part, key) = self.hashed(key);
        self.apply_in(part, key, step)
    }

    fn apply_in<A>(&self, part: &Part, key: Hashed<'_>, step: impl FnOnce(State, Moment) -> (A, State)) -> A {
        let mut shard = part.lock();
        let now = self.now();
        shard.apply(now, key, |state| step(state, now))
    }

    /// As [`apply`](Self::apply), for a transition that ends a run where the answer is `held`: who watches is woken, once the
    /// shard is free again.
    fn end<A: PartialEq>(&self, key: &Key, held: &A, step: impl FnOnce(State, Moment) -> (A, State)) -> A {
        let (part, hashed) = self.hashed(key);
        let answer = self.apply_in(part, hashed, step);
        if answer == *held {
            part.watchers.wake(key);
        }
        answer
    }
}

impl Part {
    fn lock(&self) -> MutexGuard<'_, Shard> {
        // Never left half changed: transitions do not panic, and what they return is moved in whole.
        sync::lock(&self.records)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("records", &self.len()).finish()
    }
}

impl Store for MemoryStore {
    fn claim<'a>(&'a self, key: &'a Key, request: &'a ClaimRequest<'a>) -> Reply<'a, ClaimAnswer> {
        reply(move || {
            let (part, key) = self.hashed(key);
            let mut shard = part.lock();
            let now = self.now();
            let (owner, fence) = (shard.share_owner(request.owner), shard.next_fence());
            let claim = steps::Claim { request, owner: &owner, fence };
            shard.apply(now, key, |state| steps::claim(state, now, &claim))
        })
    }

    fn begin<'a>(&'a self, key: &'a Key, token: Token) -> Reply<'a, Answer> {
        reply(move || self.apply(key, |state, now| steps::begin(state, now, token)))
    }

    fn renew<'a>(&'a self, key: &'a Key, token: Token) -> Reply<'a, Answer> {
        reply(move || self.apply(key, |state, now| steps::renew(state, now, token)))
    }

    fn complete<'a>(
        &'a self,
        key: &'a Key,
        token: Token,
        result: &'a Recorded,
        retention: Retention,
    ) -> Reply<'a, CompleteAnswer> {
        reply(move || {
            self.end(key, &CompleteAnswer::Held, |state, now| steps::complete(state, now, token, result, retention))
        })
    }

    fn release<'a>(&'a self, key: &'a Key, token: Token, release: Release<'a>, lease: Duration) -> Reply<'a, Answer> {
        reply(move || self.end(key, &Answer::Held, |state, now| steps::release(state, now, token, release, lease)))
    }

    fn put_back<'a>(
        &'a self,
        key: &'a Key,
        token: Token,
        lease: Duration,
        superseded: Option<(&'a Completed, Retention)>,
    ) -> Reply<'a, Answer> {
        reply(move || self.end(key, &Answer::Held, |state, now| steps::put_back(state, now, token, lease, superseded)))
    }

    fn watch(&self, key: &Key) -> Watch {
        self.part(key).watchers.watch(key)
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }

    fn home(&self) -> Home {
        Home::Caller
    }

    fn name(&self) -> &'static str {
        "memory"
    }
}

/// A reply that does its work when it is first polled, and is then ready.
fn reply<'a, T>(work: impl FnOnce() -> T + Send + 'a) -> Reply<'a, T> {
    Box::pin(async move { Ok::<T, StoreError>(work()) })
}
