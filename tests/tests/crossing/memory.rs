//! The table on memory, with a paused clock: but for a runtime that ends, which another runtime's clock cannot wait for.

use std::sync::Arc;
use std::time::Duration;

use idempotent_runtime::{Idempotency, MemoryStore};

use crate::play::{messages, play};
use crate::table::{Happens, cases};
use crate::world::{Trouble, World};

const LEASE: Duration = Duration::from_secs(30);

#[test]
fn every_case_goes_as_the_table_says() {
    for case in cases() {
        for &message in messages(case) {
            let paused = case.happens != Happens::RuntimeShutDown;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(paused).build();
            runtime.expect("a runtime starts").block_on(async {
                let store = MemoryStore::new();
                let settings = Idempotency::builder;
                let way = Arc::new(store.clone());
                let world = World::new(&settings, way, store, Trouble::Wrapper, LEASE, format!("{case:?}"));
                play(&world, case, message).await;
            });
        }
    }
}
