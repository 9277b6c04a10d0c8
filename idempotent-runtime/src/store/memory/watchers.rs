//! Who waits for the end of a run.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::Notify;

use super::sync::{self, Mutex, MutexGuard};
use crate::key::Key;
use crate::store::Watch;

/// The watched keys of one shard. Behind a lock of its own, because a watch outlives the calls that look at records.
#[derive(Debug, Default)]
pub(super) struct Watchers(Mutex<HashMap<Key, Watched>>);

#[derive(Debug)]
struct Watched {
    ended: Arc<Notify>,
    watchers: usize,
}

impl Watchers {
    /// Watches from now on: what ends after this call wakes the watch, polled or not.
    pub(super) fn watch(self: &Arc<Self>, key: &Key) -> Watch {
        let mut all = self.lock();
        let watched = all.entry(key.clone()).or_insert_with(|| Watched { ended: Arc::new(Notify::new()), watchers: 0 });
        watched.watchers += 1;
        let place = Place { of: Arc::clone(self), key: key.clone(), ended: Arc::clone(&watched.ended) };
        // `Notify` counts a wake-up for every future that was made before it, also for those not polled yet.
        let ended = Arc::clone(&watched.ended).notified_owned();
        drop(all);
        Watch::on(async move {
            let _place = place;
            ended.await;
        })
    }

    /// Wakes all who watch `key`.
    pub(super) fn wake(&self, key: &Key) {
        let mut all = self.lock();
        // The usual case, and it spares the hash.
        if all.is_empty() {
            return;
        }
        let watched = all.remove(key);
        drop(all);
        if let Some(watched) = watched {
            watched.ended.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Watched>> {
        sync::lock(&self.0)
    }
}

/// A watcher's place: given up when the watch is dropped, so that keys nobody watches take no memory.
#[derive(Debug)]
struct Place {
    of: Arc<Watchers>,
    key: Key,
    ended: Arc<Notify>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut all = self.of.lock();
        let Some(watched) = all.get_mut(&self.key) else { return };
        if !Arc::ptr_eq(&watched.ended, &self.ended) {
            return;
        }
        watched.watchers -= 1;
        if watched.watchers == 0 {
            all.remove(&self.key);
        }
    }
}

#[cfg(test)]
impl Watchers {
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }
}
