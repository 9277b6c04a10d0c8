//! Completed records that this process has seen lately: their duplicates are answered without asking the store.
//!
//! Only what is completed is kept, since it does not change by itself: for as long as its record is kept, and for the
//! [longest time](Cache::max_age) at the most. What somebody else removes or resolves in that time is seen late. What this
//! process itself replaces (`verify`) is forgotten at once.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use moka::sync::Cache as Records;

use crate::admin::State;
use crate::clock::{Clock, Moment};
use crate::fingerprint::Fingerprint;
use crate::idempotency::Core;
use crate::key::Key;
use crate::record::{Completed, Recorded};
use crate::store::Retention;

/// How many completed records a process keeps to answer duplicates by itself, and for how long: see
/// [`Builder::cache`](crate::Builder::cache). Feature `cache`.
///
/// ```
/// use std::time::Duration;
/// use idempotent_runtime::{Cache, Idempotency, store::MemoryStore};
///
/// # fn main() -> Result<(), idempotent_runtime::Error> {
/// let cache = Cache::new().entries(50_000).bytes(64 << 20).max_age(Duration::from_secs(10));
/// let idempotency = Idempotency::builder().cache(cache).build(MemoryStore::new())?;
/// # drop(idempotency);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Cache {
    entries: u64,
    bytes: u64,
    pub(crate) max_age: Duration,
}

impl Cache {
    /// Ten thousand records of 16 MiB together, for a minute.
    pub const fn new() -> Self {
        Self { entries: 10_000, bytes: 16 << 20, max_age: Duration::from_mins(1) }
    }

    /// At most so many records. The one that was least used goes first.
    pub const fn entries(mut self, entries: u64) -> Self {
        self.entries = entries;
        self
    }

    /// At most so many bytes of records, counted as their keys, their results, and 256 bytes each.
    pub const fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = bytes;
        self
    }

    /// A record is answered from for so long at the most, and never for longer than the store keeps it. It is how late a
    /// change by somebody else is seen at the latest: a record that was removed, so that its action may run again, or
    /// that another process replaced because its `verify` refuted it.
    pub const fn max_age(mut self, age: Duration) -> Self {
        self.max_age = age;
        self
    }

    /// What an entry weighs at least, so that the bound of bytes is one of entries too.
    fn share(self) -> u64 {
        self.bytes / self.entries.max(1)
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self::new()
    }
}

/// The records themselves.
pub(crate) struct Recent {
    records: Records<Key, Arc<Entry>>,
    max_age: Duration,
    clock: Clock,
    /// Grows whenever a record was forgotten: what was read of the store before that may be outdated.
    forgotten: AtomicU64,
    /// Keys whose records are being asked for.
    learning: Mutex<HashSet<Key>>,
}

struct Entry {
    completed: Completed,
    until: Moment,
}

/// Bytes of an entry besides its key and its result.
const OVERHEAD: usize = 256;

/// When the store was asked for what is to be kept.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    at: Moment,
    forgotten: u64,
}

impl Recent {
    pub(crate) fn new(cache: Cache, clock: Clock) -> Self {
        let share = cache.share();
        let records = Records::builder()
            .weigher(move |key: &Key, entry: &Arc<Entry>| {
                let weight = OVERHEAD + key.as_str().len() + length(&entry.completed.result);
                u32::try_from(share.max(weight as u64)).unwrap_or(u32::MAX)
            })
            .max_capacity(cache.bytes)
            .time_to_live(cache.max_age)
            .build();
        Self { records, max_age: cache.max_age, clock, forgotten: AtomicU64::new(0), learning: Mutex::default() }
    }

    /// The record of a key for a call with this fingerprint. One that does not match is the store's to judge.
    pub(crate) fn get(&self, key: &Key, fingerprint: Option<Fingerprint>) -> Option<Box<Completed>> {
        let entry = self.records.get(key)?;
        if self.clock.now() >= entry.until {
            self.records.invalidate(key);
            return None;
        }
        let Entry { completed, .. } = &*entry;
        let matches = fingerprint.zip(completed.fingerprint).is_none_or(|(ours, its)| ours.matches(its) == Some(true));
        matches.then(|| Box::new(completed.clone()))
    }

    /// To be said before the store is asked.
    pub(crate) fn asking(&self) -> Asked {
        Asked { at: self.clock.now(), forgotten: self.forgotten.load(Ordering::Acquire) }
    }

    /// Keeps a record that the store had when it was asked, and would keep for so long from then on.
    pub(crate) fn keep(&self, key: &Key, completed: Completed, kept: Retention, asked: Asked) {
        let age = match kept {
            Retention::For(time) => time.min(self.max_age),
            Retention::Forever => self.max_age,
        };
        let until = asked.at.after(age);
        if self.forgotten.load(Ordering::Acquire) == asked.forgotten {
            self.records.insert(key.clone(), Arc::new(Entry { completed, until }));
        }
        // Somebody may have forgotten it in between, and before it was there.
        if self.forgotten.load(Ordering::Acquire) != asked.forgotten {
            self.records.invalidate(key);
        }
    }

    /// Forgets a record that this process has replaced.
    pub(crate) fn forget(&self, key: &Key) {
        self.forgotten.fetch_add(1, Ordering::AcqRel);
        self.records.invalidate(key);
    }

    /// Asks the store in the background for how long a record is kept that another process completed, once for all.
    pub(crate) fn learn(core: &Arc<Core>, key: &Key) {
        let Some(recent) = &core.recent else { return };
        if core.store.admin().is_none() || !recent.learning().insert(key.clone()) {
            return;
        }
        let learning = Learning { core: Arc::clone(core), key: key.clone() };
        tokio::spawn(async move {
            let Learning { core, key } = &learning;
            let (Some(recent), Some(admin)) = (&core.recent, core.store.admin()) else { return };
            let asked = recent.asking();
            // Without an answer nothing is kept, and the next duplicate tries again.
            let Ok(Some(seen)) = admin.inspect(key).await else { return };
            if let State::Completed(result) = seen.state {
                let completed =
                    Completed { token: seen.token, attempt: seen.attempt, fingerprint: seen.fingerprint, result };
                recent.keep(key, completed, seen.expires_in, asked);
            }
        });
    }

    fn learning(&self) -> MutexGuard<'_, HashSet<Key>> {
        self.learning.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets the next one ask, also when the runtime of this one ends first.
struct Learning {
    core: Arc<Core>,
    key: Key,
}

impl Drop for Learning {
    fn drop(&mut self) {
        if let Some(recent) = &self.core.recent {
            recent.learning().remove(&self.key);
        }
    }
}

fn length(result: &Recorded) -> usize {
    match result {
        Recorded::Value(encoded) | Recorded::Error(encoded) => encoded.bytes.len(),
        Recorded::Rejected(summary) => summary.len(),
        Recorded::Nothing(_) => 0,
    }
}

impl fmt::Debug for Recent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recent").field("entries", &self.records.entry_count()).finish_non_exhaustive()
    }
}
