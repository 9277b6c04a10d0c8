//! What the store takes from outside: its locks, its clock and its hashes. Under loom (`--cfg idempotent_loom`, in tests)
//! the locks are loom's, the clock is moved by hand, and a key always has the same hash, so that every order of the
//! threads' steps can be tried.

#[cfg(all(test, idempotent_loom))]
use std::hash::{BuildHasherDefault, DefaultHasher};

#[cfg(not(all(test, idempotent_loom)))]
pub(super) use std::sync::{Mutex, MutexGuard};

#[cfg(all(test, idempotent_loom))]
pub(super) use loom::sync::{Mutex, MutexGuard};

use std::sync::PoisonError;
#[cfg(all(test, idempotent_loom))]
use std::time::Duration;

use super::state::Moment;

/// Locks; what is behind is never left half changed, so poison means nothing.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The hashes of keys.
#[cfg(not(all(test, idempotent_loom)))]
pub(super) type Hashes = std::collections::hash_map::RandomState;

#[cfg(all(test, idempotent_loom))]
pub(super) type Hashes = BuildHasherDefault<DefaultHasher>;

/// Tokio's clock, from the moment at which the store was made.
#[cfg(not(all(test, idempotent_loom)))]
pub(super) struct Clock(tokio::time::Instant);

#[cfg(not(all(test, idempotent_loom)))]
impl Clock {
    pub(super) fn start() -> Self {
        Self(tokio::time::Instant::now())
    }

    pub(super) fn now(&self) -> Moment {
        tokio::time::Instant::now().saturating_duration_since(self.0)
    }
}

#[cfg(all(test, idempotent_loom))]
pub(super) struct Clock(loom::sync::atomic::AtomicU64);

#[cfg(all(test, idempotent_loom))]
impl Clock {
    pub(super) fn start() -> Self {
        Self(loom::sync::atomic::AtomicU64::new(0))
    }

    pub(super) fn now(&self) -> Moment {
        Duration::from_secs(self.0.load(loom::sync::atomic::Ordering::SeqCst))
    }

    pub(super) fn pass(&self, seconds: u64) {
        self.0.fetch_add(seconds, loom::sync::atomic::Ordering::SeqCst);
    }
}
