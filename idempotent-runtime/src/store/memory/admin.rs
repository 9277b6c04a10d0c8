//! Administration of the records in memory.

use super::{MemoryStore, reply};
use crate::admin::{Admin, Change, Changed, Inspected};
use crate::key::Key;
use crate::store::Reply;
use crate::store::machine::decisions;

impl Admin for MemoryStore {
    fn inspect<'a>(&'a self, key: &'a Key) -> Reply<'a, Option<Inspected>> {
        reply(move || self.apply(key, decisions::inspect))
    }

    fn change<'a>(&'a self, key: &'a Key, seen: &'a Inspected, change: &'a Change) -> Reply<'a, Changed> {
        reply(move || {
            let changed = self.apply(key, |state, now| decisions::change(state, now, seen, change));
            if changed == Changed::Done {
                self.part(key).watchers.wake(key);
            }
            changed
        })
    }
}
