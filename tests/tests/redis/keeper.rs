//! The keeper on a real server: many leases, two runtimes, tasks that go away.

use std::sync::Arc;
use std::time::Duration;

use idempotent_runtime::testing::Gate;
use idempotent_runtime::{Error, ErrorKind, Idempotency};
use servers::{Redis, RedisBinary};

use super::until;

async fn kind_of_a_duplicate(idempotency: &Idempotency, key: u32) -> Result<u32, ErrorKind> {
    let call = idempotency.call("kept").key(key).ttl(Duration::from_mins(10)).lease(Duration::from_secs(3));
    call.run(async { Ok::<u32, Error>(0) }).await.map_err(|error| error.kind())
}

/// Holds `key` until the gate opens.
async fn hold(idempotency: Idempotency, key: u32, lease: Duration, gate: Gate) -> Result<u32, Error> {
    let call = idempotency.call("kept").key(key).ttl(Duration::from_mins(10)).lease(lease);
    call.run(async {
        gate.pass().await;
        Ok(key)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_handlers_keep_their_leases() {
    const HANDLERS: u32 = 10_000;
    let Some(redis) = servers::needed(Redis::start(RedisBinary::System)) else { return };
    let idempotency = Idempotency::connect(&redis.url()).await.unwrap();
    let gate = Gate::new("all of them");
    let lease = Duration::from_secs(3);
    let handlers: Vec<_> =
        (0..HANDLERS).map(|key| tokio::spawn(hold(idempotency.clone(), key, lease, gate.clone()))).collect();
    gate.reached_by(HANDLERS as usize).await;
    tokio::time::sleep(Duration::from_secs(20)).await;

    // Another process would see each of them held.
    let other = Idempotency::connect(&redis.url()).await.unwrap();
    for key in (0..HANDLERS).step_by(97) {
        assert_eq!(kind_of_a_duplicate(&other, key).await, Err(ErrorKind::Busy), "key {key}");
    }
    gate.open();
    for (key, handler) in (0..HANDLERS).zip(handlers) {
        assert_eq!(handler.await.unwrap().unwrap(), key);
    }
    assert_eq!(idempotency.shutdown(Duration::from_secs(5)).await, Ok(()));
}

#[test]
fn a_runtime_that_ends_takes_only_its_own_calls_along() {
    let Some(redis) = servers::needed(Redis::start(RedisBinary::System)) else { return };
    let runtime = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (doomed, lasting) = (runtime(), runtime());
    let idempotency = doomed.block_on(Idempotency::connect(&redis.url())).unwrap();
    let lease = Duration::from_millis(600);
    let (first, second) = (Gate::new("first"), Gate::new("second"));
    doomed.spawn(hold(idempotency.clone(), 1, lease, first.clone()));
    let handler = lasting.spawn(hold(idempotency.clone(), 2, lease, second.clone()));
    lasting.block_on(async {
        first.reached().await;
        second.reached().await;
    });
    doomed.shutdown_timeout(Duration::from_secs(5));
    lasting.block_on(async {
        // The doomed call was dropped, and its claim is given back though its runtime is gone.
        until("the release", async || kind_of_a_duplicate(&idempotency, 1).await == Ok(0)).await;
        tokio::time::sleep(3 * lease).await;
        assert_eq!(kind_of_a_duplicate(&idempotency, 2).await, Err(ErrorKind::Busy));
        second.open();
        assert_eq!(handler.await.unwrap().unwrap(), 2);
    });
}

#[tokio::test]
async fn a_task_that_was_aborted_is_renewed_no_more() {
    let Some(redis) = servers::needed(Redis::start(RedisBinary::System)) else { return };
    let idempotency = Idempotency::connect(&redis.url()).await.unwrap();
    let gate = Gate::new("body");
    let lease = Duration::from_millis(300);
    let handler = tokio::spawn(hold(idempotency.clone(), 1, lease, gate.clone()));
    gate.reached().await;
    handler.abort();
    assert!(handler.await.unwrap_err().is_cancelled());
    assert_eq!(idempotency.shutdown(Duration::from_secs(5)).await, Ok(()), "released, and nothing is left to keep");
    assert_eq!(kind_of_a_duplicate(&idempotency, 1).await, Ok(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_every_thread_is_still_held() {
    let Some(redis) = servers::needed(Redis::start(RedisBinary::System)) else { return };
    let idempotency = Idempotency::connect(&redis.url()).await.unwrap();
    let lease = Duration::from_millis(600);
    let gate = Arc::new(tokio::sync::Barrier::new(2));
    let handlers: Vec<_> = (0..2)
        .map(|key| {
            let (idempotency, gate) = (idempotency.clone(), Arc::clone(&gate));
            tokio::spawn(async move {
                let call = idempotency.call("kept").key(key).ttl(Duration::from_mins(10)).lease(lease);
                call.run(async {
                    gate.wait().await;
                    std::thread::sleep(3 * lease);
                    Ok::<u32, Error>(key)
                })
                .await
            })
        })
        .collect();
    for (key, handler) in (0..2).zip(handlers) {
        assert_eq!(handler.await.unwrap().unwrap(), key, "completed by its own claim");
    }
}
