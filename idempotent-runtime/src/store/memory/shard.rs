//! A part of the store's records, behind one lock: the records themselves and the order in which they expire.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::Arc;

use crate::key::Key;
use crate::store::machine::state::{Moment, State};

/// How many due entries one write looks at. More than the one that it may add, so the backlog shrinks.
const SWEPT_PER_WRITE: usize = 4;

#[derive(Debug)]
pub(super) struct Shard {
    records: HashMap<Hashed, Kept, BuildHasherDefault<AsItIs>>,
    /// The earliest moment at which a record may have to go, soonest first. A record that is renewed keeps its place
    /// and is entered again when its turn comes.
    due: BinaryHeap<Due>,
    /// The last owner, to be shared: a process claims under one name.
    owner: Arc<str>,
    fence: u64,
}

#[derive(Debug)]
struct Kept {
    state: State,
    /// When this record's entry in `due` comes up; `None` where it has none.
    due: Option<Moment>,
}

#[derive(Debug)]
struct Due {
    at: Moment,
    key: Hashed,
}

/// A key and its hash, which is made once a call: it chooses the shard, and the place in the shard's table, which hashes
/// all its keys again whenever it grows.
#[derive(Clone, Debug)]
pub(super) struct Hashed {
    hash: u64,
    key: Key,
}

impl Hashed {
    pub(super) fn new(hash: u64, key: &Key) -> Self {
        Self { hash, key: key.clone() }
    }
}

impl PartialEq for Hashed {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.key == other.key
    }
}

impl Eq for Hashed {}

impl Hash for Hashed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// The hasher of what is a hash already.
#[derive(Debug, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only `Hashed` is hashed here, as one number")
    }
}

impl Shard {
    pub(super) fn new(first_fence: u64) -> Self {
        Self { records: HashMap::default(), due: BinaryHeap::new(), owner: Arc::from(""), fence: first_fence }
    }

    /// Applies one transition to the record of `key`.
    pub(super) fn apply<A>(&mut self, now: Moment, key: Hashed, step: impl FnOnce(State) -> (A, State)) -> A {
        self.sweep(now);
        let Some(kept) = self.records.get_mut(&key) else {
            let (answer, state) = step(State::Absent);
            self.insert(key, state);
            return answer;
        };
        let (answer, state) = step(std::mem::take(&mut kept.state));
        let sooner = match (state.expires(), kept.due) {
            (Some(expires), Some(due)) => (expires < due).then_some(expires),
            (expires, None) => expires,
            (None, Some(_)) => None,
        };
        if let Some(at) = sooner {
            kept.due = Some(at);
            self.due.push(Due { at, key: key.clone() });
        }
        kept.state = state;
        if matches!(kept.state, State::Absent) {
            self.records.remove(&key);
        }
        answer
    }

    /// The records from a hash on, in the order of their hashes: `most` of them, or a few more that have one hash. `None`
    /// instead of the next hash when there are no more. Keys keep their hashes, so what comes and goes moves nothing.
    pub(super) fn page(&self, from: u64, most: usize) -> (Vec<(&Key, &State)>, Option<u64>) {
        let mut hashes: Vec<u64> = self.records.keys().map(|key| key.hash).filter(|hash| *hash >= from).collect();
        let next = (hashes.len() > most).then(|| *hashes.select_nth_unstable(most).1);
        // All that have the hash of the last one go with it.
        let next = next.map(|next| if next == from { next.saturating_add(1) } else { next });
        let on_page = |hash: u64| hash >= from && next.is_none_or(|next| hash < next);
        let records = self.records.iter().filter(|(key, _)| on_page(key.hash));
        (records.map(|(key, kept)| (&key.key, &kept.state)).collect(), next)
    }

    fn insert(&mut self, key: Hashed, state: State) {
        if matches!(state, State::Absent) {
            return;
        }
        let due = state.expires();
        if let Some(at) = due {
            self.due.push(Due { at, key: key.clone() });
        }
        self.records.insert(key, Kept { state, due });
    }

    /// Removes some of what has expired.
    fn sweep(&mut self, now: Moment) {
        for _ in 0..SWEPT_PER_WRITE {
            let Some(due) = self.due.peek_mut().filter(|due| due.at <= now) else { return };
            let Due { at, key } = std::collections::binary_heap::PeekMut::pop(due);
            let Some(kept) = self.records.get_mut(&key) else { continue };
            if kept.state.has_expired(now) {
                self.records.remove(&key);
            } else if kept.due == Some(at) {
                kept.due = kept.state.expires();
                if let Some(at) = kept.due {
                    self.due.push(Due { at, key });
                }
            }
        }
    }

    pub(super) fn share_owner(&mut self, owner: &str) -> Arc<str> {
        if *self.owner != *owner {
            self.owner = Arc::from(owner);
        }
        Arc::clone(&self.owner)
    }

    pub(super) fn next_fence(&mut self) -> u64 {
        self.fence += 1;
        self.fence
    }

    /// How many records are kept, expired ones that were not swept yet included.
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.cmp(&self.at)
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Due {}

#[cfg(all(test, not(idempotent_loom)))]
impl Shard {
    pub(super) fn debug_record(&self, key: &Hashed) -> String {
        format!("{:?}", self.records.get(key))
    }
}
