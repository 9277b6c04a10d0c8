//! Administration: of the truth. Whatever changes there is taken out of the front.

use super::TieredStore;
use crate::admin::{Admin, Change, Changed, Concern, Inspected, Leases, Page, Query, Seen, Severity, Swept};
use crate::key::Key;
use crate::store::{Answer, Reply, StoreError};
use crate::token::Token;

impl Admin for TieredStore {
    fn inspect<'a>(&'a self, key: &'a Key) -> Reply<'a, Option<Inspected>> {
        Box::pin(async move { self.of_truth()?.inspect(key).await })
    }

    fn change<'a>(&'a self, key: &'a Key, seen: &'a Inspected, change: &'a Change) -> Reply<'a, Changed> {
        Box::pin(async move {
            let changed = self.of_truth()?.change(key, seen, change).await;
            // Whatever the answer, it may have been done.
            if !matches!(changed, Ok(Changed::Moved)) {
                self.take_out(key, seen.token).await;
            }
            changed
        })
    }

    fn list<'a>(&'a self, query: &'a Query) -> Reply<'a, Page> {
        Box::pin(async move { self.of_truth()?.list(query).await })
    }

    fn remove<'a>(&'a self, key: &'a Key, seen: Seen, leases: Leases) -> Reply<'a, Changed> {
        Box::pin(async move {
            let changed = self.of_truth()?.remove(key, seen, leases).await;
            // Whatever the answer, it may have been done.
            if !matches!(changed, Ok(Changed::Moved)) {
                self.take_out(key, seen.token).await;
            }
            changed
        })
    }

    fn sweep(&self, batch: u32) -> Reply<'_, Swept> {
        Box::pin(async move { self.of_truth()?.sweep(batch).await })
    }

    /// Of both. A front that cannot be looked at, or has no administration, is none of the truth's trouble.
    fn check(&self) -> Reply<'_, Vec<Concern>> {
        Box::pin(async move {
            let mut concerns = self.of_truth()?.check().await?;
            if let Some(front) = self.0.front.admin() {
                match front.check().await {
                    Ok(of_front) => concerns.extend(of_front),
                    Err(error) => {
                        let advice = "calls cost more until it is back, and nothing runs twice";
                        concerns.push(Concern::new(Severity::Notice, format!("the store in front: {error}"), advice));
                    }
                }
            }
            Ok(concerns)
        })
    }
}

impl TieredStore {
    fn of_truth(&self) -> Result<&dyn Admin, StoreError> {
        self.0.truth.admin().ok_or_else(|| StoreError::refused("the store that is the truth has no administration"))
    }

    /// The truth has changed: the front is to show nothing of what was there.
    async fn take_out(&self, key: &Key, seen: Token) {
        if self.0.front.forget(key, seen).await == Answer::Lost {
            let (ttl, name) = (self.0.front.ttl(), "the store in front");
            tracing::warn!(%key, ?ttl, "{name} does not answer: for as long it may show the record as it was before the change");
        }
    }
}
