//! Random sequences of operations and clock steps, on a store and on a plain reference: they agree on every answer,
//! and on the record after every step.

#![cfg(feature = "conformance")]

mod reference;
mod sequence;

use idempotent_runtime::MemoryStore;
use idempotent_runtime::conformance::TokioClock;
use proptest::prelude::*;

use sequence::{Clock, Sequence, agrees};

fn on_memory(clock: Clock, sequence: &Sequence) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a tokio runtime starts");
    runtime.block_on(async { agrees(&TokioClock::pause(MemoryStore::new()), clock, sequence).await })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, max_shrink_iters: 10_000, ..ProptestConfig::default() })]

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
