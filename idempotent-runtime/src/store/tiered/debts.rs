//! What the front could not be told: it is told again in the background, and until then the truth is asked alone for
//! that key, by this process.
//!
//! Not everything is told in the end: with its runtime, or where there is too much of it, a debt is forgotten. Then a
//! claim stands in the front until its lease is over.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use super::front::Front;
use crate::guard::backoff::Backoff;
use crate::key::Key;
use crate::token::Token;

/// More are not kept.
const MOST: usize = 4096;

/// The longest pause between two tries.
const PAUSE: Duration = Duration::from_secs(1);

/// Something to be told.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owed {
    /// The claim of this token is over.
    PutBack(Token, Duration),
    /// What has completed is to go, and the claim of this token with it.
    Forget(Token),
}

#[derive(Debug, Default)]
pub(super) struct Debts {
    /// Whether there are any, without the lock: every call asks.
    any: AtomicBool,
    keys: Mutex<HashMap<Key, usize>>,
}

impl Debts {
    /// Whether the front says something about this key that is not so.
    pub(super) fn has(&self, key: &Key) -> bool {
        self.any.load(Ordering::Acquire) && self.lock().contains_key(key)
    }

    pub(super) fn owe(&self, front: &Arc<Front>, key: &Key, owed: Owed) {
        let Ok(runtime) = Handle::try_current() else { return };
        {
            let mut keys = self.lock();
            if keys.len() >= MOST && !keys.contains_key(key) {
                return;
            }
            *keys.entry(key.clone()).or_default() += 1;
            self.any.store(true, Ordering::Release);
        }
        let debt = Debt { front: Arc::clone(front), key: key.clone() };
        runtime.spawn(async move { debt.pay(owed).await });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, usize>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One debt: gone when it is dropped.
struct Debt {
    front: Arc<Front>,
    key: Key,
}

impl Debt {
    /// Nothing stands in the front for longer than its ttl, so nothing has to be told after that.
    async fn pay(&self, owed: Owed) {
        let (started, mut backoff) = (Instant::now(), Backoff::new());
        while started.elapsed() < self.front.ttl() {
            sleep(backoff.step_up_to(PAUSE)).await;
            if !self.front.is_left_alone() && self.front.pay(&self.key, owed).await {
                return;
            }
        }
    }
}

impl Drop for Debt {
    fn drop(&mut self) {
        let debts = self.front.debts();
        let mut keys = debts.lock();
        if let Some(left) = keys.get_mut(&self.key) {
            *left -= 1;
            if *left == 0 {
                keys.remove(&self.key);
            }
        }
        debts.any.store(!keys.is_empty(), Ordering::Release);
    }
}
