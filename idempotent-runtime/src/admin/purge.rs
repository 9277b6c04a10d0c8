//! Removing many records.

use super::{Changed, Decision, Leases, Listed, Page, Query};
use crate::error::Error;
use crate::idempotency::Idempotency;
use crate::together::together;

/// How many removals are under way at once.
const AT_ONCE: usize = 64;

/// Whether records are removed, or only counted.
#[derive(Clone, Copy, Debug)]
pub enum Purge<'a> {
    /// Counts what would be removed, and changes nothing.
    DryRun,
    /// Removes.
    Remove(Decision<'a>),
}

/// What became of the records that were selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// How many were removed; in a dry run, how many would have been.
    pub removed: u64,
    /// How many had changed since they were listed, and stayed.
    pub moved: u64,
    /// How many a live run has, and stayed.
    pub live: u64,
    /// How many cannot be read, and stayed: nobody can say what they are.
    pub unreadable: u64,
}

impl Idempotency {
    /// Removes the records that `query` selects, page by page and [unhurried](super::Scan::unhurried). Each removal is a compare-and-delete on what was listed, so
    /// a record that moves meanwhile stays; each leaves its audit line.
    ///
    /// ```
    /// use std::time::Duration;
    /// use idempotent_runtime::admin::{Decision, Leases, Purge, Query, Standing};
    /// use idempotent_runtime::{Error, Idempotency};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
    /// let idempotency = Idempotency::memory();
    /// let call = idempotency.call("import:2025").key(1).ttl(Duration::from_secs(60));
    /// call.run(async { Ok::<_, Error>(12) }).await?;
    ///
    /// let query = Query::new().prefix("import:2025").standing(Standing::Completed);
    /// let would = idempotency.purge(&query, Leases::Respected, Purge::DryRun).await?;
    /// assert_eq!(would.removed, 1);
    /// let decision = Purge::Remove(Decision { who: "ada", why: "the import is over" });
    /// assert_eq!(idempotency.purge(&query, Leases::Respected, decision).await?, would);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list). What was removed until then stays removed, and a purge can be repeated.
    pub async fn purge(&self, query: &Query, leases: Leases, purge: Purge<'_>) -> Result<Purged, Error> {
        let mut purged = Purged::default();
        let mut scan = self.scan(query).unhurried();
        while let Some(page) = scan.next().await? {
            self.purge_page(&page, leases, purge, &mut purged).await?;
        }
        Ok(purged)
    }

    /// Removes the records of one page, and adds what became of them to `purged`: for those who go through the
    /// [pages](Self::scan) themselves.
    ///
    /// # Errors
    ///
    /// `StoreUnavailable`: some of the page may have been removed.
    pub async fn purge_page(
        &self,
        page: &Page,
        leases: Leases,
        purge: Purge<'_>,
        purged: &mut Purged,
    ) -> Result<(), Error> {
        for some in page.records.chunks(AT_ONCE) {
            for fate in together(some.iter().map(|listed| self.purge_one(listed, leases, purge))).await {
                match fate? {
                    Fate::Removed => purged.removed += 1,
                    Fate::Moved => purged.moved += 1,
                    Fate::Live => purged.live += 1,
                    Fate::Unreadable => purged.unreadable += 1,
                }
            }
        }
        Ok(())
    }

    async fn purge_one(&self, listed: &Listed, leases: Leases, purge: Purge<'_>) -> Result<Fate, Error> {
        let Ok(record) = &listed.record else { return Ok(Fate::Unreadable) };
        if record.is_live() && leases == Leases::Respected {
            return Ok(Fate::Live);
        }
        match purge {
            Purge::DryRun => Ok(Fate::Removed),
            Purge::Remove(decision) => match self.core().remove(&listed.key, record.seen(), leases, decision).await? {
                Changed::Done => Ok(Fate::Removed),
                Changed::Moved => Ok(Fate::Moved),
            },
        }
    }
}

enum Fate {
    Removed,
    Moved,
    Live,
    Unreadable,
}
