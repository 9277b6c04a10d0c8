//! What this process has seen of single keys: the last calls, and what was decided by hand.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::admin::Decision;
use crate::key::Key;

/// So many events of all keys are kept: under a megabyte.
const KEPT: usize = 4096;

/// So much of what people write is kept of each event.
const LONGEST_TEXT: usize = 200;

#[derive(Debug, Default)]
pub(super) struct History(Mutex<VecDeque<Event>>);

#[derive(Clone, Debug)]
struct Event {
    key: Key,
    at: Instant,
    what: What,
}

/// What has happened to a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A call has ended so; with the attempt that it was, or was answered by.
    Ended(&'static str, Option<u32>),
    /// Somebody has decided.
    Decided { change: &'static str, who: String, why: String },
}

impl What {
    pub(super) fn decided(change: &'static str, Decision { who, why }: Decision<'_>) -> Self {
        let short = |text: &str| text.chars().take(LONGEST_TEXT).collect();
        Self::Decided { change, who: short(who), why: short(why) }
    }
}

impl History {
    pub(super) fn add(&self, key: &Key, what: What) {
        let mut events = self.events();
        if events.len() == KEPT {
            events.pop_front();
        }
        events.push_back(Event { key: key.clone(), at: Instant::now(), what });
    }

    /// What is remembered of a key, the last first, and how long ago it was.
    pub(super) fn of(&self, key: &Key) -> Vec<(Duration, What)> {
        let of_key = |event: &Event| (event.key == *key).then(|| (event.at.elapsed(), event.what.clone()));
        self.events().iter().rev().filter_map(of_key).collect()
    }

    fn events(&self) -> MutexGuard<'_, VecDeque<Event>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_events_are_forgotten_first() {
        let (history, key) = (History::default(), Key::from_text("a:1"));
        for attempt in 1..=3 {
            history.add(&key, What::Ended("failed", Some(attempt)));
        }
        for other in 0..KEPT - 2 {
            history.add(&Key::from_text(&format!("b:{other}")), What::Ended("executed", Some(1)));
        }
        let of_key: Vec<_> = history.of(&key).into_iter().map(|(_, what)| what).collect();
        assert_eq!(of_key, [What::Ended("failed", Some(3)), What::Ended("failed", Some(2))], "the last first");
    }

    #[test]
    fn what_people_write_is_cut() {
        let long = "ä".repeat(LONGEST_TEXT + 1);
        let What::Decided { why, .. } = What::decided("release", Decision { who: "ada", why: &long }) else { panic!() };
        assert_eq!(why.chars().count(), LONGEST_TEXT);
    }
}
