//! What the handlers of this process do, counted since the page was made.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::history::{History, What};
use crate::admin::Decision;
use crate::key::Key;
use crate::outcome::Outcome;

/// The last minute is kept in so many parts.
const SLOTS: usize = 12;
const SLOT: Duration = Duration::from_secs(5);

/// Prefixes that are counted apart: those of handlers, so there are few.
const PREFIXES: usize = 1000;

/// Latencies are kept by the power of two of their microseconds.
const POWERS: usize = 32;

/// The counts of one handle.
#[derive(Debug)]
pub(crate) struct Tally {
    since: Instant,
    handlers: Mutex<BTreeMap<Arc<str>, Handler>>,
    pub(super) history: History,
}

/// The calls with one prefix.
#[derive(Clone, Debug, Default)]
pub(super) struct Handler {
    pub(super) outcomes: BTreeMap<&'static str, Count>,
    /// What the guard has added to calls: from the call to its claim's answer.
    pub(super) claims: Latencies,
}

/// How often something has happened.
#[derive(Clone, Debug, Default)]
pub(super) struct Count {
    pub(super) total: u64,
    recent: [u32; SLOTS],
    /// The slot of the last one.
    last: u64,
}

/// How long something took.
#[derive(Clone, Debug)]
pub(super) struct Latencies([u64; POWERS]);

impl Default for Tally {
    fn default() -> Self {
        Self { since: Instant::now(), handlers: Mutex::default(), history: History::default() }
    }
}

impl Default for Latencies {
    fn default() -> Self {
        Self([0; POWERS])
    }
}

impl Tally {
    /// A call has ended so.
    pub(crate) fn ended(&self, key: &Key, outcome: &Outcome) {
        let (slot, name) = (self.slot(), outcome.as_str());
        self.with(key.prefix(), |handler| handler.outcomes.entry(name).or_default().count(slot));
        self.history.add(key, What::Ended(name, outcome.attempt()));
    }

    /// Somebody has changed a record.
    pub(crate) fn decided(&self, key: &Key, change: &'static str, decision: Decision<'_>) {
        self.history.add(key, What::decided(change, decision));
    }

    /// The guard has decided about a call, after so long.
    pub(crate) fn claimed(&self, prefix: &str, took: Duration) {
        self.with(prefix, |handler| handler.claims.count(took));
    }

    /// All of it, and the slot for [`Count::a_minute`].
    pub(super) fn read(&self) -> (BTreeMap<Arc<str>, Handler>, u64) {
        (self.handlers().clone(), self.slot())
    }

    fn with(&self, prefix: &str, change: impl FnOnce(&mut Handler)) {
        let mut handlers = self.handlers();
        let room = handlers.len() < PREFIXES;
        match handlers.get_mut(prefix) {
            Some(handler) => change(handler),
            None if room => change(handlers.entry(prefix.into()).or_default()),
            None => {}
        }
    }

    fn slot(&self) -> u64 {
        self.since.elapsed().as_secs() / SLOT.as_secs()
    }

    fn handlers(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Handler>> {
        self.handlers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Count {
    fn count(&mut self, slot: u64) {
        self.turn(slot);
        self.total += 1;
        self.recent[place(slot)] += 1;
    }

    /// Empties the slots that have passed.
    fn turn(&mut self, slot: u64) {
        for passed in (self.last + 1..=slot).take(SLOTS) {
            self.recent[place(passed)] = 0;
        }
        self.last = self.last.max(slot);
    }

    /// How often in the last minute, or in the part of it that has passed.
    pub(super) fn a_minute(&self, slot: u64) -> u32 {
        let mut now = self.clone();
        now.turn(slot);
        now.recent.iter().sum()
    }
}

fn place(slot: u64) -> usize {
    usize::try_from(slot % SLOTS as u64).unwrap_or(0)
}

impl Latencies {
    fn count(&mut self, took: Duration) {
        let power = (u128::BITS - took.as_micros().leading_zeros()) as usize;
        self.0[power.min(POWERS - 1)] += 1;
    }

    /// So many in a hundred took no longer than this; `None` where nothing was counted.
    pub(super) fn percentile(&self, percent: u64) -> Option<Duration> {
        let all: u64 = self.0.iter().sum();
        let wanted = (all * percent).div_ceil(100);
        let mut seen = 0;
        let power = self.0.iter().position(|count| {
            seen += count;
            *count > 0 && seen >= wanted
        })?;
        Some(Duration::from_micros(1 << power))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_passes() {
        let mut count = Count::default();
        for slot in [0, 0, 3] {
            count.count(slot);
        }
        assert_eq!([0, 3, 11, 12, 14, 15, 900].map(|slot| count.a_minute(slot.max(3))), [3, 3, 3, 1, 1, 0, 0]);
        assert_eq!(count.total, 3);
    }

    #[test]
    fn percentiles_are_bounds() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.percentile(50), None);
        for micros in [0, 90, 100, 110, 5_000] {
            latencies.count(Duration::from_micros(micros));
        }
        assert_eq!(latencies.percentile(50), Some(Duration::from_micros(128)));
        assert_eq!(latencies.percentile(99), Some(Duration::from_micros(8192)));
    }
}
