//! First calls on the memory store: what the guard costs by itself.

use std::hint::black_box;

use idempotent_runtime::{Idempotency, MemoryStore};
use tokio::runtime::Runtime;

use crate::handlers::{FIRST_ORDER, NAMESPACE, dispatch};

/// First calls, one after the other, on one thread.
#[derive(Debug)]
pub struct MemoryCalls {
    runtime: Runtime,
    idempotency: Idempotency,
    next: u64,
}

impl MemoryCalls {
    /// An empty store.
    ///
    /// # Errors
    ///
    /// Where the system gives no runtime.
    pub fn new() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let idempotency =
            runtime.block_on(async { Idempotency::builder().namespace(NAMESPACE).build(MemoryStore::new()) })?;
        Ok(Self { runtime, idempotency, next: FIRST_ORDER })
    }

    /// Makes `calls` calls, each for an order of its own.
    ///
    /// # Errors
    ///
    /// The handler's, which is a bug.
    pub fn run(&mut self, calls: u64) -> anyhow::Result<()> {
        let (first, idempotency) = (self.next, &self.idempotency);
        self.next += calls;
        self.runtime.block_on(async {
            for order in first..first + calls {
                black_box(dispatch(idempotency, black_box(order)).await?);
            }
            Ok(())
        })
    }
}
