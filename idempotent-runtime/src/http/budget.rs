//! The bound on all bodies that are held in memory at one time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many bytes may be held in all. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Budget(Arc<AtomicUsize>);

/// Bytes that are held; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    budget: Budget,
    bytes: usize,
}

impl Budget {
    pub(super) fn new(bytes: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(bytes)))
    }

    /// Holds so many bytes, if there is room for them.
    pub(super) fn hold(&self, bytes: usize) -> Option<Held> {
        let mut held = Held { budget: self.clone(), bytes: 0 };
        held.grow(bytes).then_some(held)
    }
}

impl Held {
    /// How many bytes are held.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Holds more; whether there is room.
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        let taken =
            self.budget.0.try_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(bytes)).is_ok();
        if taken {
            self.bytes += bytes;
        }
        taken
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.0.fetch_add(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_given_back() {
        let budget = Budget::new(10);
        let mut first = budget.hold(6).unwrap();
        assert!(budget.hold(5).is_none());
        assert!(first.grow(4) && !first.grow(1));
        drop(first);
        assert!(budget.hold(10).is_some());
    }
}
