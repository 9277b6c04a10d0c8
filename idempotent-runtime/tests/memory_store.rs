//! The memory store keeps the contract.

#![cfg(feature = "conformance")]

use idempotent_runtime::MemoryStore;
use idempotent_runtime::conformance::TokioClock;

async fn memory() -> TokioClock {
    TokioClock::pause(MemoryStore::new())
}

idempotent_runtime::conformance_suite!(memory);
