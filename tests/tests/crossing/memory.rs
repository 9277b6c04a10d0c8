//! The table on memory, with a paused clock: but for a runtime that ends, which another runtime's clock cannot wait for.

use std::sync::Arc;
use std::time::Duration;

use idempotent_runtime::{Builder, Cache, Idempotency, MemoryStore};

use crate::play::{messages, play};
use crate::table::{Happens, cases};
use crate::world::{Trouble, World};

const LEASE: Duration = Duration::from_secs(30);

/// Whose call comes next.
#[derive(Clone, Copy)]
enum Next {
    OfAnother,
    OfTheSame,
}

fn play_all(settings: &dyn Fn() -> Builder, next: Next) {
    for case in cases() {
        for &message in messages(case) {
            let paused = case.happens != Happens::RuntimeShutDown;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(paused).build();
            runtime.expect("a runtime starts").block_on(async {
                let store = MemoryStore::new();
                let way = Arc::new(store.clone());
                let world = World::new(settings, way, store, Trouble::Wrapper, LEASE, format!("{case:?}"));
                let world = match next {
                    Next::OfAnother => world,
                    Next::OfTheSame => world.alone(),
                };
                play(&world, case, message).await;
            });
        }
    }
}

#[test]
fn every_case_goes_as_the_table_says() {
    play_all(&Idempotency::builder, Next::OfAnother);
}

#[test]
fn every_case_does_within_one_process() {
    play_all(&Idempotency::builder, Next::OfTheSame);
}

#[test]
fn every_case_does_where_calls_in_flight_are_collapsed() {
    let settings = || Idempotency::builder().collapse();
    play_all(&settings, Next::OfAnother);
    play_all(&settings, Next::OfTheSame);
}

#[test]
fn every_case_does_where_completed_records_are_cached() {
    let settings = || Idempotency::builder().cache(Cache::new());
    play_all(&settings, Next::OfAnother);
    play_all(&settings, Next::OfTheSame);
}

#[test]
fn every_case_does_with_both() {
    let settings = || Idempotency::builder().collapse().cache(Cache::new());
    play_all(&settings, Next::OfTheSame);
}
