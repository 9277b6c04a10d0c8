//! Random sequences of operations and clock steps, on each server and on the plain reference: they agree on every answer,
//! and on the record after every step. As in `idempotent-runtime/tests/reference`, where more of them run on memory.

use std::time::Duration;

use idempotent_runtime::conformance::{Harness, Steps};
use idempotent_runtime::store::RedisStore;
use servers::{Redis, RedisBinary};

use crate::conformance::OnRedis;
use crate::sequence::{Chance, Clock, all_agree};

/// Its quarters, in which the sequences count, are whole milliseconds, as the store's times are.
const TICK: Duration = Duration::from_millis(400);

async fn agree(binary: RedisBinary) {
    let Some(server) = servers::needed(Redis::start(binary)) else { return };
    let store = RedisStore::connect(&server.url()).await.expect("the server was started for this");
    let harness = OnRedis::new(store, &server, TICK);
    agree_on(&harness).await;
    agree_on(&Steps(harness)).await;
}

/// Some that are the same in every run, and some that are new.
async fn agree_on(harness: &dyn Harness) {
    for chance in [Chance::Same, Chance::New] {
        // Nothing lapses of itself, but what is given up has: long sequences, at no cost in time.
        all_agree(harness, Clock::Still, chance, 60, 60).await;
        // Leases really lapse, and records expire.
        all_agree(harness, Clock::Rough, chance, 60, 14).await;
    }
}

#[tokio::test]
async fn redis_7_0_agrees_with_the_reference() {
    agree(RedisBinary::System).await;
}

#[tokio::test]
async fn redis_8_2_agrees_with_the_reference() {
    agree(RedisBinary::Redis8_2).await;
}

#[tokio::test]
async fn valkey_9_1_agrees_with_the_reference() {
    agree(RedisBinary::Valkey9_1).await;
}
