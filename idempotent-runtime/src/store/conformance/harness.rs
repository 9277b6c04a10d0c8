//! What the suite asks of the surroundings of a store.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::key::Key;
use crate::store::Store;

/// Something that will have been done.
pub type When<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A store with its surroundings: how time passes for it, and what only it can show.
///
/// A harness for a real server really waits, so its [`tick`](Self::tick) should be short:
///
/// ```
/// # use std::sync::Arc;
/// # use std::time::Duration;
/// # use idempotent_runtime::conformance::{Harness, When};
/// # use idempotent_runtime::{Key, Store};
/// struct OnAServer(Arc<dyn Store>);
///
/// impl Harness for OnAServer {
///     fn store(&self) -> Arc<dyn Store> {
///         Arc::clone(&self.0)
///     }
///     fn tick(&self) -> Duration {
///         Duration::from_millis(40)
///     }
///     fn pass(&self, time: Duration) -> When<'_, ()> {
///         Box::pin(tokio::time::sleep(time))
///     }
///     fn spoil<'a>(&'a self, _key: &'a Key) -> When<'a, bool> {
///         // Its columns have types: there is nothing to write there that is no record.
///         Box::pin(async { false })
///     }
/// }
/// ```
pub trait Harness: Send + Sync {
    /// The store: each time the same one.
    fn store(&self) -> Arc<dyn Store>;

    /// A short time that the store's clock can tell for certain, and within which a few operations are done: the
    /// suite's short leases are two of these, its short retentions a few more.
    fn tick(&self) -> Duration;

    /// Lets at least `time` pass on the store's clock. The suite asks for no more than a few ticks at once.
    fn pass(&self, time: Duration) -> When<'_, ()>;

    /// Overwrites the record under `key` with something that is no record; `false` where the store cannot hold such a
    /// thing, and the cases about unreadable records have nothing to try.
    fn spoil<'a>(&'a self, key: &'a Key) -> When<'a, bool>;
}

/// The harness for a store on tokio's clock, such as a [`MemoryStore`](crate::MemoryStore), bare or in a wrapper: with
/// the clock paused.
pub struct TokioClock(Arc<dyn Store>);

impl TokioClock {
    /// Pauses the clock of the current runtime, and puts `store` on it.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime of the current-thread kind, and when its clock is paused already.
    pub fn pause(store: impl Store) -> Self {
        tokio::time::pause();
        Self(Arc::new(store))
    }
}

impl Harness for TokioClock {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.0)
    }

    fn tick(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn pass(&self, time: Duration) -> When<'_, ()> {
        Box::pin(tokio::time::advance(time))
    }

    fn spoil<'a>(&'a self, _key: &'a Key) -> When<'a, bool> {
        Box::pin(async { false })
    }
}

impl fmt::Debug for TokioClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TokioClock").field(&self.0).finish()
    }
}
