//! A part of the store's records, behind one lock: the records themselves and the order in which they expire.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashTable;
use slab::Slab;

use crate::key::Key;
use crate::store::machine::state::{Moment, State};

/// How many due entries one write looks at. More than the one that it may add, so the backlog shrinks.
const SWEPT_PER_WRITE: usize = 4;

/// Records have places, and the place that was left last is taken first: what is written next goes where the sweep has
/// just been, which the processor still has at hand. The table and the order of expiry know places only, so they stay
/// small, and a table that grows moves no records.
#[derive(Debug)]
pub(super) struct Shard {
    records: Slab<Kept>,
    places: HashTable<usize>,
    /// The earliest moment at which a record may have to go, and its place, soonest first: one entry a record at the most,
    /// which leaves with it. A record that is to be kept for longer stays where it is, and is entered again when its turn
    /// comes.
    due: BTreeSet<(Moment, usize)>,
    /// The last owner, to be shared: a process claims under one name.
    owner: Arc<str>,
    fence: u64,
}

#[derive(Debug)]
struct Kept {
    hash: u64,
    key: Key,
    state: State,
    /// When this record's entry in `due` comes up; `None` where it has none.
    due: Option<Moment>,
}

/// A key and its hash, which is made once a call: it chooses the shard, and the place in the shard's table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hashed<'a> {
    pub(super) hash: u64,
    pub(super) key: &'a Key,
}

impl Shard {
    pub(super) fn new(first_fence: u64) -> Self {
        let (records, places, due) = (Slab::new(), HashTable::new(), BTreeSet::new());
        Self { records, places, due, owner: Arc::from(""), fence: first_fence }
    }

    /// Applies one transition to the record of `key`.
    pub(super) fn apply<A>(&mut self, now: Moment, key: Hashed<'_>, step: impl FnOnce(State) -> (A, State)) -> A {
        self.sweep(now);
        let Some(place) = self.place_of(key) else {
            let (answer, state) = step(State::Absent);
            self.insert(key, state);
            return answer;
        };
        let kept = &mut self.records[place];
        let (answer, state) = step(std::mem::take(&mut kept.state));
        if matches!(state, State::Absent) {
            self.remove(place);
            return answer;
        }
        let due = match (state.expires(), kept.due) {
            (Some(expires), Some(due)) => Some(due.min(expires)),
            (expires, None) => expires,
            (None, due) => due,
        };
        kept.state = state;
        if due != kept.due {
            let before = std::mem::replace(&mut kept.due, due);
            self.enter(place, before, due);
        }
        answer
    }

    /// The records from a hash on, in the order of their hashes: `most` of them, or a few more that have one hash. `None`
    /// instead of the next hash when there are no more. Keys keep their hashes, so what comes and goes moves nothing.
    pub(super) fn page(&self, from: u64, most: usize) -> (Vec<(&Key, &State)>, Option<u64>) {
        let mut hashes: Vec<u64> =
            self.records.iter().map(|(_, kept)| kept.hash).filter(|hash| *hash >= from).collect();
        let next = (hashes.len() > most).then(|| *hashes.select_nth_unstable(most).1);
        // All that have the hash of the last one go with it.
        let next = next.map(|next| if next == from { next.saturating_add(1) } else { next });
        let on_page = |hash: u64| hash >= from && next.is_none_or(|next| hash < next);
        let records = self.records.iter().filter(|(_, kept)| on_page(kept.hash));
        (records.map(|(_, kept)| (&kept.key, &kept.state)).collect(), next)
    }

    fn place_of(&self, Hashed { hash, key }: Hashed<'_>) -> Option<usize> {
        self.places.find(hash, |&place| self.records[place].hash == hash && self.records[place].key == *key).copied()
    }

    fn insert(&mut self, Hashed { hash, key }: Hashed<'_>, state: State) {
        if matches!(state, State::Absent) {
            return;
        }
        let due = state.expires();
        let place = self.records.insert(Kept { hash, key: key.clone(), state, due });
        let records = &self.records;
        self.places.insert_unique(hash, place, |&place| records[place].hash);
        self.enter(place, None, due);
    }

    fn remove(&mut self, place: usize) {
        let kept = self.records.remove(place);
        if let Ok(entry) = self.places.find_entry(kept.hash, |&other| other == place) {
            entry.remove();
        }
        self.enter(place, kept.due, None);
    }

    /// Moves the entry of a record in the order of expiry.
    fn enter(&mut self, place: usize, from: Option<Moment>, to: Option<Moment>) {
        if let Some(at) = from {
            self.due.remove(&(at, place));
        }
        if let Some(at) = to {
            self.due.insert((at, place));
        }
    }

    /// Removes some of what has expired.
    fn sweep(&mut self, now: Moment) {
        for _ in 0..SWEPT_PER_WRITE {
            let Some(&(at, place)) = self.due.first().filter(|(at, _)| *at <= now) else { return };
            let kept = &mut self.records[place];
            if kept.state.has_expired(now) {
                self.remove(place);
            } else {
                let later = kept.state.expires();
                kept.due = later;
                self.enter(place, Some(at), later);
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

#[cfg(all(test, not(idempotent_loom)))]
impl Shard {
    pub(super) fn debug_record(&self, key: Hashed<'_>) -> String {
        format!("{:?}", self.place_of(key).map(|place| &self.records[place]))
    }
}
