//! Going through many records, page by page.

use std::time::Duration;

use tokio::time::Instant;

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
        Scan { of: self, query: Some(query.clone()), haste: Haste::AtOnce }
    }
}

/// Between two pages, an unhurried scan leaves the store to others for so many times as long as the page took.
const REST: u32 = 3;

/// … but for no longer than this: a store that answers late is not waited for on top of that.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// Shorter than this no timer is.
const SHORTEST_REST: Duration = Duration::from_micros(100);

/// Pages of records, one after the other: at most one of them is in memory.
#[derive(Debug)]
pub struct Scan<'a> {
    of: &'a Idempotency,
    /// The next page; `None` after the last.
    query: Option<Query>,
    haste: Haste,
}

/// When the next page is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Haste {
    AtOnce,
    /// After this; at first there is nothing to rest from.
    Rested(Duration),
}

impl Scan<'_> {
    /// Rests between two pages, three times as long as the first of them took, up to a second: however many records there
    /// are, the store is left to others for three quarters of the time, and the busier it is, the longer at a stretch. With
    /// pages of 100 records a call hardly notices.
    ///
    /// ```
    /// use idempotent_runtime::admin::Query;
    /// use idempotent_runtime::{Error, Idempotency};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
    /// let idempotency = Idempotency::memory();
    /// let mut scan = idempotency.scan(&Query::new()).unhurried();
    /// let mut records = 0;
    /// while let Some(page) = scan.next().await? {
    ///     records += page.records.len();
    /// }
    /// assert_eq!(records, 0);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn unhurried(mut self) -> Self {
        self.haste = Haste::Rested(Duration::ZERO);
        self
    }

    /// The next page, which may be empty; `None` after the last.
    ///
    /// # Errors
    ///
    /// As [`Idempotency::list`]. The same page can be asked for again.
    pub async fn next(&mut self) -> Result<Option<Page>, Error> {
        let Some(query) = &self.query else { return Ok(None) };
        if let Haste::Rested(rest) = self.haste
            && rest >= SHORTEST_REST
        {
            tokio::time::sleep(rest).await;
        }
        let asked = Instant::now();
        let page = self.of.list(query).await?;
        if let Haste::Rested(rest) = &mut self.haste {
            *rest = (asked.elapsed() * REST).min(LONGEST_REST);
        }
        self.query = self.query.take().zip(page.next.clone()).map(|(query, next)| query.after(next));
        Ok(Some(page))
    }
}
