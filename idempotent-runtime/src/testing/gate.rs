//! Gates: a handler waits at a named point until the test lets it go on.

use std::fmt;
use std::sync::Arc;

use tokio::sync::{Semaphore, watch};

/// A point that a handler does not pass before the test opens it.
///
/// Clones are the same gate. See the [module](crate::testing) for an example.
#[derive(Clone)]
pub struct Gate(Arc<Inner>);

struct Inner {
    name: String,
    /// Those let through one by one have a permit; an open gate is a closed semaphore.
    permits: Semaphore,
    arrived: watch::Sender<usize>,
}

impl Gate {
    /// A closed gate.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(Arc::new(Inner { name: name.to_owned(), permits: Semaphore::new(0), arrived: watch::Sender::new(0) }))
    }

    /// Arrives at the gate, and waits until it is open.
    pub async fn pass(&self) {
        self.0.arrived.send_modify(|arrived| *arrived += 1);
        if let Ok(permit) = self.0.permits.acquire().await {
            permit.forget();
        }
    }

    /// Waits until somebody has arrived.
    pub async fn reached(&self) {
        self.reached_by(1).await;
    }

    /// Waits until so many have arrived in all, those included that went through or away.
    pub async fn reached_by(&self, arrivals: usize) {
        let mut arrived = self.0.arrived.subscribe();
        // The sender lives as long as the gate, so the wait ends only as wanted.
        let _ = arrived.wait_for(|&arrived| arrived >= arrivals).await;
    }

    /// How many have arrived in all.
    #[must_use]
    pub fn arrivals(&self) -> usize {
        *self.0.arrived.borrow()
    }

    /// Lets one through: the first that waits, or the next to come.
    pub fn admit_one(&self) {
        self.0.permits.add_permits(1);
    }

    /// Lets all through, from now on.
    pub fn open(&self) {
        self.0.permits.close();
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.0.permits.is_closed() { "open" } else { "closed" };
        write!(f, "Gate({:?}, {state}, {} arrived)", self.0.name, self.arrivals())
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;

    fn is_ready(waiting: std::pin::Pin<&mut impl Future<Output = ()>>) -> bool {
        waiting.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn a_gate_lets_through_one_by_one_or_all() {
        let gate = Gate::new("here");
        let (mut reached, mut both) = (Box::pin(gate.reached()), Box::pin(gate.reached_by(2)));
        assert!(!is_ready(reached.as_mut()));

        let (mut first, mut second) = (Box::pin(gate.pass()), Box::pin(gate.pass()));
        assert!(!is_ready(first.as_mut()));
        assert!(is_ready(reached.as_mut()) && !is_ready(both.as_mut()));
        assert!(!is_ready(second.as_mut()));
        assert!(is_ready(both.as_mut()));

        gate.admit_one();
        assert!(is_ready(first.as_mut()) && !is_ready(second.as_mut()));
        assert_eq!(format!("{gate:?}"), "Gate(\"here\", closed, 2 arrived)");
        gate.open();
        assert!(is_ready(second.as_mut()));
        assert!(is_ready(Box::pin(gate.pass()).as_mut()), "it stays open");
    }
}
