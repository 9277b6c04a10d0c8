//! The Redis store answers as the table does, on real servers: leases are short, and really lapse.
//!
//! On a server that really waits not every move can be looked at in a test: one in seven on the oldest server, fewer on
//! the others. What follows each of them by chance is the same in every run.

use std::time::Duration;

use idempotent_runtime::store::RedisStore;
use model::drive::{Plan, drive};
use model::reach::Cast;
use servers::{Redis, RedisBinary};

fn plan(cast: Cast, every: usize) -> Plan {
    Plan {
        cast,
        lease: Duration::from_millis(400),
        tail: 4,
        every,
        walks: 100,
        steps: 20,
        at_once: 500,
        seed: 1,
        prefix: "model:drive",
    }
}

async fn agrees(binary: RedisBinary, plan: &Plan) {
    let Some(server) = servers::needed(Redis::start(binary)) else { return };
    let store = RedisStore::connect(&server.url()).await.expect("the server was started for this");
    let driven = drive(&store, plan).await.unwrap_or_else(|difference| panic!("{difference}"));
    println!("{driven:?}");
    assert!(driven.too_slow * 10 <= driven.moves, "the machine is too slow for much of it: {driven:?}");
}

fn three_calls(every: usize) -> Plan {
    plan(Cast::new(3, 2, [0; 4]), every)
}

#[tokio::test]
async fn three_calls_on_redis_7_0() {
    agrees(RedisBinary::System, &three_calls(7)).await;
}

#[tokio::test]
async fn three_calls_on_redis_8_2() {
    agrees(RedisBinary::Redis8_2, &three_calls(29)).await;
}

#[tokio::test]
async fn three_calls_on_valkey_9_1() {
    agrees(RedisBinary::Valkey9_1, &three_calls(31)).await;
}

#[tokio::test]
async fn two_calls_that_differ_in_their_arguments_on_redis_7_0() {
    agrees(RedisBinary::System, &plan(Cast::new(2, 3, [0, 1, 0, 0]), 3)).await;
}
