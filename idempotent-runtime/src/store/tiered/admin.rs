//! Administration: of the truth. Whatever changes there is taken out of the front.

use super::TieredStore;
use crate::admin::{Admin, Change, Changed, Inspected};
use crate::key::Key;
use crate::store::{Answer, Reply, StoreError};

impl Admin for TieredStore {
    fn inspect<'a>(&'a self, key: &'a Key) -> Reply<'a, Option<Inspected>> {
        Box::pin(async move { self.of_truth()?.inspect(key).await })
    }

    fn change<'a>(&'a self, key: &'a Key, seen: &'a Inspected, change: &'a Change) -> Reply<'a, Changed> {
        Box::pin(async move {
            let changed = self.of_truth()?.change(key, seen, change).await;
            // Whatever the answer, it may have been done.
            if !matches!(changed, Ok(Changed::Moved)) {
                self.take_out(key, seen).await;
            }
            changed
        })
    }
}

impl TieredStore {
    fn of_truth(&self) -> Result<&dyn Admin, StoreError> {
        self.0.truth.admin().ok_or_else(|| StoreError::refused("the store that is the truth has no administration"))
    }

    /// The truth has changed: the front is to show nothing of what was there.
    async fn take_out(&self, key: &Key, seen: &Inspected) {
        if self.0.front.forget(key, seen.token).await == Answer::Lost {
            let (ttl, name) = (self.0.front.ttl(), "the store in front");
            tracing::warn!(%key, ?ttl, "{name} does not answer: for as long it may show the record as it was before the change");
        }
    }
}
