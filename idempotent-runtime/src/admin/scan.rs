//! Going through many records, page by page.

use super::look::unanswered;
use super::{Page, Query};
use crate::error::Error;
use crate::idempotency::Idempotency;

impl Idempotency {
    /// One page of the records that `query` selects, within the handle's namespace, and where the others are. Changes
    /// nothing.
    ///
    /// A page can be shorter than was asked for, or empty, and there are more all the same: only a page without `next`
    /// is the last. A record that is written meanwhile may be missing, or come twice.
    ///
    /// ```
    /// use std::time::Duration;
    /// use idempotent_runtime::admin::{Query, Standing};
    /// use idempotent_runtime::{Error, Idempotency};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
    /// let idempotency = Idempotency::memory();
    /// for order in [1001, 1002] {
    ///     let call = idempotency.call("order:consume").key(order).ttl(Duration::from_secs(60));
    ///     call.run(async { Ok::<_, Error>(12) }).await?;
    /// }
    /// let page = idempotency.list(&Query::new().prefix("order:consume").standing(Standing::Completed)).await?;
    /// assert_eq!((page.records.len(), page.next), (2, None));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// `StoreUnavailable`, also for a cursor whose place is gone; `Configuration` when the store has no administration.
    pub async fn list(&self, query: &Query) -> Result<Page, Error> {
        let core = self.core();
        let query = query.clone().within(core.namespace.as_deref());
        core.admin()?.list(&query).await.map_err(|error| unanswered(None, error))
    }

    /// All pages of [`list`](Self::list), one after the other.
    ///
    /// ```
    /// use idempotent_runtime::admin::Query;
    /// use idempotent_runtime::{Error, Idempotency};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
    /// let idempotency = Idempotency::memory();
    /// let mut scan = idempotency.scan(&Query::new());
    /// while let Some(page) = scan.next().await? {
    ///     for listed in page.records {
    ///         println!("{} {}", listed.key, listed.standing());
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    pub fn scan(&self, query: &Query) -> Scan<'_> {
        Scan { of: self, query: Some(query.clone()) }
    }
}

/// Pages of records, one after the other: at most one of them is in memory.
#[derive(Debug)]
pub struct Scan<'a> {
    of: &'a Idempotency,
    /// The next page; `None` after the last.
    query: Option<Query>,
}

impl Scan<'_> {
    /// The next page, which may be empty; `None` after the last.
    ///
    /// # Errors
    ///
    /// As [`Idempotency::list`]. The same page can be asked for again.
    pub async fn next(&mut self) -> Result<Option<Page>, Error> {
        let Some(query) = &self.query else { return Ok(None) };
        let page = self.of.list(query).await?;
        self.query = self.query.take().zip(page.next.clone()).map(|(query, next)| query.after(next));
        Ok(Some(page))
    }
}
