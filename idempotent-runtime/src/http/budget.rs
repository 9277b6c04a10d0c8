//! The bound on all bodies that are held in memory at one time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

/// How many bytes may be held in all. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    left: Arc<AtomicUsize>,
    spare: usize,
}

/// Bytes that are held; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    budget: Arc<AtomicUsize>,
    bytes: usize,
    /// What others may hold, and this may not.
    spare: usize,
}

/// The part of a budget that is left for responses, as a divisor: a request that finds no room is refused and can come again,
/// but a response that finds none has been earned and cannot be given again.
const SPARED: usize = 4;

impl Budget {
    pub(super) fn new(bytes: usize) -> Self {
        Self { left: Arc::new(AtomicUsize::new(bytes)), spare: bytes / SPARED }
    }

    /// How many of so many bytes the body of a request may take.
    pub(super) const fn of_requests(bytes: usize) -> usize {
        bytes - bytes / SPARED
    }

    /// Holds so many bytes of a response, if there is room for them.
    pub(super) fn hold(&self, bytes: usize) -> Option<Held> {
        let mut held = Held { budget: Arc::clone(&self.left), bytes: 0, spare: 0 };
        held.grow(bytes).then_some(held)
    }

    /// Holds what comes of a request, nothing so far.
    pub(super) fn request(&self) -> Held {
        Held { budget: Arc::clone(&self.left), bytes: 0, spare: self.spare }
    }
}

impl Held {
    /// How many bytes are held.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Holds more; whether there is room.
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        let take = |left: usize| left.checked_sub(bytes).filter(|left| *left >= self.spare || bytes == 0);
        let taken = self.budget.try_update(Ordering::AcqRel, Ordering::Acquire, take).is_ok();
        if taken {
            self.bytes += bytes;
        }
        taken
    }

    /// Counts `bytes` as held until nobody has them any more. A server takes a body long before its client has read it.
    pub(super) fn keep(self, bytes: impl AsRef<[u8]> + Send + 'static) -> Bytes {
        Bytes::from_owner(Kept { bytes, _held: self })
    }
}

struct Kept<T> {
    bytes: T,
    _held: Held,
}

impl<T: AsRef<[u8]>> AsRef<[u8]> for Kept<T> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.fetch_add(self.bytes, Ordering::AcqRel);
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

    #[test]
    fn bytes_are_held_until_the_last_of_them_is_gone() {
        let budget = Budget::new(10);
        let bytes = budget.hold(6).unwrap().keep(vec![0; 6]);
        let half = bytes.slice(3..);
        drop(bytes);
        assert!(budget.hold(5).is_none());
        drop(half);
        assert!(budget.hold(10).is_some());
    }

    #[test]
    fn requests_leave_a_quarter_for_responses() {
        let budget = Budget::new(8);
        let mut request = budget.request();
        assert!(request.grow(6) && !request.grow(1) && request.grow(0));
        assert!(budget.hold(2).is_some());
        drop(request);
        assert!(budget.request().grow(6));
    }
}
