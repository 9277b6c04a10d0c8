//! Administration of the records in memory.

use super::{MemoryStore, SHARDS, reply};
use crate::admin::{
    Admin, Change, Changed, Concern, Cursor, Inspected, Leases, Listed, Page, Query, Seen, Severity, Swept,
};
use crate::key::Key;
use crate::store::machine::decisions;
use crate::store::{Reply, StoreError};

impl Admin for MemoryStore {
    fn inspect<'a>(&'a self, key: &'a Key) -> Reply<'a, Option<Inspected>> {
        reply(move || self.apply(key, decisions::inspect))
    }

    fn change<'a>(&'a self, key: &'a Key, seen: &'a Inspected, change: &'a Change) -> Reply<'a, Changed> {
        reply(move || self.end(key, &Changed::Done, |state, now| decisions::change(state, now, seen, change)))
    }

    fn list<'a>(&'a self, query: &'a Query) -> Reply<'a, Page> {
        Box::pin(async move { self.page(query) })
    }

    fn remove<'a>(&'a self, key: &'a Key, seen: Seen, leases: Leases) -> Reply<'a, Changed> {
        reply(move || self.end(key, &Changed::Done, |state, now| decisions::remove(state, now, seen, leases)))
    }

    fn sweep(&self, _: u32) -> Reply<'_, Swept> {
        reply(|| Swept::ByItself)
    }

    fn check(&self) -> Reply<'_, Vec<Concern>> {
        let end = Concern::new(Severity::Notice, "records end with this process", "use a server or a file");
        reply(move || vec![end])
    }
}

impl MemoryStore {
    /// Goes through the shards, and through each in the order of its hashes.
    fn page(&self, query: &Query) -> Result<Page, StoreError> {
        let (first, mut from) = query.cursor().map_or(Ok((0, 0)), place)?;
        let mut page = Page::default();
        for at in first..SHARDS {
            let shard = self.0.shards[at].lock();
            let now = self.now();
            let (records, next) = shard.page(from, query.page_size() - page.records.len());
            let standing = records.into_iter().filter(|(_, state)| !state.has_expired(now));
            let listed = standing.filter_map(|(key, state)| {
                let record = Ok(decisions::summarised(state, now)?);
                Some(Listed { key: key.clone(), record })
            });
            page.records.extend(listed.filter(|listed| query.selects(listed)));
            page.next = match next {
                Some(hash) => Some(cursor(at, hash)),
                None if at + 1 < SHARDS => Some(cursor(at + 1, 0)),
                None => None,
            };
            if next.is_some() || page.records.len() >= query.page_size() {
                break;
            }
            from = 0;
        }
        Ok(page)
    }
}

fn cursor(shard: usize, hash: u64) -> Cursor {
    Cursor::new(&format!("{shard}.{hash:x}"))
}

fn place(cursor: &Cursor) -> Result<(usize, u64), StoreError> {
    let parts = cursor.as_str().split_once('.');
    parts
        .and_then(|(shard, hash)| Some((shard.parse().ok()?, u64::from_str_radix(hash, 16).ok()?)))
        .filter(|(shard, _)| *shard < SHARDS)
        .ok_or_else(|| StoreError::refused(format!("{cursor:?} is no place in this store: list from the start")))
}
