//! Random sequences of operations and clock steps, on a store and on a plain reference: they agree on every answer,
//! and on the record after every step.

#![cfg(feature = "conformance")]

mod reference;
mod sequence;

use std::sync::Arc;
use std::time::Duration;

use idempotent_runtime::conformance::{Harness, TokioClock, When};
use idempotent_runtime::{Key, MemoryStore, Store};
use proptest::prelude::*;

use sequence::{Chance, Clock, Sequence, agrees, all_agree};

/// A store on a clock that cannot be paused: the way in which a server is tried.
struct Running(Arc<dyn Store>);

impl Harness for Running {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.0)
    }

    fn tick(&self) -> Duration {
        Duration::from_millis(200)
    }

    fn pass(&self, time: Duration) -> When<'_, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn spoil<'a>(&'a self, _key: &'a Key) -> When<'a, bool> {
        Box::pin(async { false })
    }
}

#[tokio::test]
async fn memory_agrees_on_a_running_clock() {
    let running = Running(Arc::new(MemoryStore::new()));
    for chance in [Chance::Same, Chance::New] {
        all_agree(&running, Clock::Rough, chance, 40, 12).await;
        all_agree(&running, Clock::Still, chance, 40, 40).await;
    }
}

fn on_memory(clock: Clock, sequence: &Sequence) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a tokio runtime starts");
    runtime.block_on(async { agrees(&TokioClock::pause(MemoryStore::new()), clock, sequence).await.map(drop) })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, max_shrink_iters: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn memory_agrees_with_the_reference(sequence in Clock::Exact.sequence(60)) {
        on_memory(Clock::Exact, &sequence)?;
    }

    #[test]
    fn memory_agrees_between_the_ticks(sequence in Clock::Rough.sequence(60)) {
        on_memory(Clock::Rough, &sequence)?;
    }

    #[test]
    fn memory_agrees_while_time_stands_still(sequence in Clock::Still.sequence(60)) {
        on_memory(Clock::Still, &sequence)?;
    }
}
