//! Administration: what a person needs when a record needs a decision, or when they want to know what is there.
//!
//! Looking changes nothing. Every change is a compare-and-set on what was looked at, so a decision taken on an old view
//! changes nothing either, and leaves one log line (target `idempotent::audit`) that says who made it and why.
//!
//! | to | see |
//! |---|---|
//! | look at one record | [`Idempotency::inspect`](crate::Idempotency::inspect) |
//! | settle one | [`resolve`](crate::Idempotency::resolve), [`release`](crate::Idempotency::release), [`allow_one_more`](crate::Idempotency::allow_one_more), [`remove`](crate::Idempotency::remove) |
//! | look at many | [`list`](crate::Idempotency::list) and [`scan`](crate::Idempotency::scan) with a [`Query`], [`stats`](crate::Idempotency::stats) |
//! | remove many | [`purge`](crate::Idempotency::purge), [`sweep`](crate::Idempotency::sweep) |
//! | take over what was done before there were records | [`import`](crate::Idempotency::import) |
//! | learn what is dangerous to them | [`check`](crate::Idempotency::check) |
//! | reach a store as an administrator | [`Access`] |
//!
//! A store does the little that only it can do, as [`Admin`]; all else is built on that, for every store alike.

mod access;
mod change;
mod concern;
mod import;
mod look;
mod purge;
mod query;
mod record;
mod scan;
mod stats;

use std::fmt;

use crate::key::Key;
use crate::store::Reply;

pub use access::Access;
pub use change::{Change, Changed, Decision, Leases};
pub use concern::{Concern, Severity, Swept};
pub use import::Imported;
pub use purge::{Purge, Purged};
pub use query::{Cursor, Query};
pub use record::{Inspected, Listed, Marks, Page, Seen, Standing, State, Summary};
pub use scan::Scan;
pub use stats::{Counts, Stats};

/// What a store does for administration.
///
/// Reached through [`Store::admin`](crate::Store::admin). The [conformance suite](crate::conformance) tries every rule.
#[cfg_attr(not(feature = "conformance"), allow(rustdoc::broken_intra_doc_links))]
pub trait Admin: fmt::Debug + Send + Sync {
    /// Looks at the record of `key`; `None` when there is none (absent or expired). Changes nothing.
    fn inspect<'a>(&'a self, key: &'a Key) -> Reply<'a, Option<Inspected>>;

    /// Changes the record of `key`, if it still is as `seen`: its state, token, attempt, and begun and given-up marks
    /// are the same, and a claim that had lapsed has not been renewed since. `Moved` otherwise, unchanged.
    ///
    /// | change | record afterwards |
    /// |---|---|
    /// | [`Change::Resolve`] | completed with the given result, of the seen token, attempt and fingerprint, for the given retention |
    /// | [`Change::Release`] | failed, of a token that no call has, with the attempts that had begun (the seen one, unless it is in progress and has not begun) and the reason as last error; kept for the seen record's retention |
    /// | [`Change::AllowOneMore`] | as `Release`, with one attempt less (0 at the least) |
    ///
    /// A store does not judge whether a change is wise: the handle does.
    fn change<'a>(&'a self, key: &'a Key, seen: &'a Inspected, change: &'a Change) -> Reply<'a, Changed>;

    /// Gives one page of the records that `query` [selects](Query::selects), and changes nothing.
    ///
    /// - Whoever follows [`Page::next`] to its end is shown every record that stands all the while, at least once. One
    ///   that comes, goes or changes meanwhile may be shown or not; one may be shown twice.
    /// - A page has about [`Query::page_size`] records: fewer, or none, where the store has looked at so many and few
    ///   were selected; more, where they cannot be divided. Only a page without a `next` is the last.
    /// - The beginning of keys ([`Query::key_beginning`]) is text: no character in it has a meaning.
    /// - The order is the store's own. No list, lock or snapshot of all records is made: a page costs the server little,
    ///   however many records there are, and other calls go on between two pages.
    /// - A record that has expired is not shown. One that cannot be read is, with the reason. Where the store is shared
    ///   with others, what does not look like a record may be left out.
    /// - Results are not read: a record can be a megabyte.
    ///
    /// A cursor that is not of this store, or whose place is gone (the server has been replaced), is
    /// [refused](crate::StoreError::refused): whoever lists begins again.
    fn list<'a>(&'a self, query: &'a Query) -> Reply<'a, Page>;

    /// Removes the record of `key`, if it still is as `seen`: its state, token, attempt, and begun and given-up marks are
    /// the same. Under [`Leases::Respected`] a live claim is never removed. `Moved` otherwise, unchanged, and where there
    /// is no record.
    ///
    /// The key is absent afterwards: the next call runs, and an owner that was removed learns `Lost` or `Absent`. Whoever
    /// watches the key is woken.
    fn remove<'a>(&'a self, key: &'a Key, seen: Seen, leases: Leases) -> Reply<'a, Changed>;

    /// Removes up to `batch` records that have expired and still take up room; never one that has not.
    /// [`Swept::ByItself`] where the store forgets what has expired without being told.
    fn sweep(&self, batch: u32) -> Reply<'_, Swept>;

    /// Looks at the servers, or whatever keeps the records, for what these may suffer from.
    fn check(&self) -> Reply<'_, Vec<Concern>>;
}
