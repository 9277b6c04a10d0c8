//! Messages that wait, are about, or are settled.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::{COPIES, Done, OF_A_KEY};

#[derive(Debug, Default)]
pub(super) struct Messages {
    keys: u64,
    /// By the moment from which they can be taken.
    waiting: BTreeSet<(Instant, u64)>,
    /// Not settled yet, by their keys.
    unsettled: BTreeMap<u64, BTreeSet<u64>>,
}

impl Messages {
    pub(super) fn keys(&self) -> u64 {
        self.keys
    }

    pub(super) fn unsettled_keys(&self) -> usize {
        self.unsettled.len()
    }

    pub(super) fn first_unsettled(&self) -> u64 {
        self.unsettled.keys().next().copied().unwrap_or(self.keys)
    }

    /// Publishes the messages of one more key; how many keys there are then.
    pub(super) fn publish(&mut self, delays: [Duration; COPIES]) -> u64 {
        for (copy, delay) in (0..).zip(delays) {
            self.send(self.keys * OF_A_KEY + copy, delay);
        }
        self.keys += 1;
        self.keys
    }

    pub(super) fn send_all_again(&mut self) {
        for key in 0..self.keys {
            self.send(key * OF_A_KEY + OF_A_KEY - 1, Duration::ZERO);
        }
    }

    fn send(&mut self, message: u64, delay: Duration) {
        self.waiting.insert((Instant::now() + delay, message));
        self.unsettled.entry(message / OF_A_KEY).or_default().insert(message);
    }

    /// The message that has waited longest, and its key.
    pub(super) fn take(&mut self) -> Option<(u64, u64)> {
        let first = self.waiting.first().copied().filter(|(from, _)| *from <= Instant::now())?;
        self.waiting.remove(&first);
        Some((first.1, first.1 / OF_A_KEY))
    }

    pub(super) fn done(&mut self, message: u64, done: Done) {
        match done {
            Done::Again { after_ms } => {
                self.waiting.insert((Instant::now() + Duration::from_millis(after_ms), message));
            }
            Done::Settled => {
                let key = message / OF_A_KEY;
                if let Some(messages) = self.unsettled.get_mut(&key) {
                    messages.remove(&message);
                    if messages.is_empty() {
                        self.unsettled.remove(&key);
                    }
                }
            }
        }
    }
}
