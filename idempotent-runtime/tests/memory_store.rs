//! The memory store keeps the contract.

#![cfg(feature = "conformance")]

use idempotent_runtime::MemoryStore;
use idempotent_runtime::conformance::{Steps, TokioClock};

async fn memory() -> TokioClock {
    TokioClock::pause(MemoryStore::new())
}

async fn memory_step_by_step() -> Steps<TokioClock> {
    Steps(memory().await)
}

mod whole_keys {
    idempotent_runtime::conformance_suite!(super::memory);
}

mod steps {
    idempotent_runtime::conformance_suite!(super::memory_step_by_step);
}
