//! What is seen of a store in front of another: nothing while it is well, a warning and a count when it is not.

use std::time::Duration;

use idempotent_runtime::store::TieredStore;
use idempotent_runtime::testing::{Fault, FaultyStore, Operation};
use idempotent_runtime::{Error, Idempotency, MemoryStore};
use tokio::time::{Instant, advance};
use tracing::Level;

use crate::kept::Kept;

/// How long one answer of the front is waited for.
const PATIENCE: Duration = Duration::from_millis(250);

/// What the log says.
const AWAY: &str = "the store in front does not answer; the truth is asked alone";
const BACK: &str = "the store in front answers again";

/// Two stores as one, with the one in front in the test's hands.
pub(crate) fn tiers() -> (FaultyStore, Idempotency) {
    let front = FaultyStore::new(MemoryStore::new());
    let store = TieredStore::builder(front.clone(), MemoryStore::new()).front_timeout(PATIENCE).build();
    (front, Idempotency::with_store(store))
}

/// From now on it answers nothing.
pub(crate) fn falls_silent(front: &FaultyStore) {
    for operation in Operation::ALL {
        front.always(operation, Fault::NeverAnswers);
    }
}

/// Calls once: what it was answered, and how long that took.
pub(crate) async fn call(idempotency: &Idempotency, order: u32) -> (u32, Duration) {
    let started = Instant::now();
    let call = idempotency.call("order:consume").key(order).ttl(Duration::from_mins(10));
    let answer = call.run(async move { Ok::<_, Error>(order) }).await.expect("the truth is there");
    (answer, started.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_front_that_is_well_is_not_spoken_of() {
    let (kept, _guard) = Kept::start();
    let (_front, idempotency) = tiers();
    for order in [1, 1, 2, 2] {
        assert_eq!(call(&idempotency, order).await, (order, Duration::ZERO));
    }
    assert_eq!((kept.levels(AWAY), kept.levels(BACK)), (vec![], vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_front_that_fails_is_a_warning_once_and_its_return_is_told() {
    let (kept, _guard) = Kept::start();
    let (front, idempotency) = tiers();
    front.go_down();
    for order in [1, 2, 3] {
        assert_eq!(call(&idempotency, order).await, (order, Duration::ZERO), "the truth is asked alone");
    }
    assert_eq!(kept.levels(AWAY), [Level::WARN], "not once for each call");
    assert_eq!(kept.fields(AWAY, "error"), ["the store did not answer: a fault of the test: failed"]);
    assert!(kept.levels(BACK).is_empty());
    front.heal();
    advance(PATIENCE).await;
    assert_eq!(call(&idempotency, 4).await.0, 4);
    assert_eq!((kept.levels(AWAY).len(), kept.levels(BACK)), (1, vec![Level::INFO]));
}

#[tokio::test(start_paused = true)]
async fn a_front_that_is_silent_holds_one_call_for_its_time_out_and_no_other() {
    let (kept, _guard) = Kept::start();
    let (front, idempotency) = tiers();
    falls_silent(&front);
    assert_eq!(call(&idempotency, 1).await, (1, PATIENCE));
    assert_eq!(call(&idempotency, 2).await, (2, Duration::ZERO), "it is left alone now");
    assert_eq!(kept.levels(AWAY), [Level::WARN]);
    assert_eq!(kept.fields(AWAY, "error"), ["the store did not answer: no answer within 250ms"]);
}
