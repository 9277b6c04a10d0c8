//! Several processes on one server: they meet, die, stand still.

use std::time::{Duration, Instant};

use idempotent_runtime::{CallBuilder, Error, ErrorKind, Idempotency, OnCrash, with_outcome};
use servers::{Redis, RedisBinary};

use super::until;
use super::worker::Worker;

fn call(idempotency: &Idempotency, key: &str) -> CallBuilder {
    idempotency.call("work").key(key).ttl(Duration::from_mins(10)).lease(Duration::from_secs(1))
}

/// What a call from this process comes to, and which run it was.
async fn try_call(call: CallBuilder) -> (Result<u32, ErrorKind>, Option<u32>) {
    let (result, outcome) = with_outcome(call.run(async { Ok::<u32, Error>(0) })).await;
    (result.map_err(|error| error.kind()), outcome.attempt())
}

#[tokio::test]
async fn of_two_hundred_calls_in_four_processes_one_runs() {
    let Some(redis) = servers::needed(Redis::start(RedisBinary::System)) else { return };
    let url = redis.url();
    let workers: Vec<_> = (0..4).map(|_| Worker::start(&[&url, "crowd", "5000", "300", "calls=50"])).collect();
    let said: Vec<String> = workers.into_iter().flat_map(Worker::rest).collect();
    let count = |word: &str| said.iter().filter(|line| line.starts_with(word)).count();
    assert_eq!(count("ready"), 4);
    assert_eq!(count("start"), 1, "{said:?}");
    assert_eq!(count("value") + count("refused busy"), 200, "{said:?}");
}

#[tokio::test]
async fn a_killed_owner_blocks_its_key_for_a_lease_and_not_for_the_ttl() {
    let Some(redis) = servers::needed(Redis::start(RedisBinary::System)) else { return };
    let idempotency = Idempotency::connect(&redis.url()).await.unwrap();
    let mut worker = Worker::start(&[&redis.url(), "killed", "1000", "60000"]);
    worker.until("start");
    worker.kill();
    let killed = Instant::now();
    assert_eq!(try_call(call(&idempotency, "killed")).await.0, Err(ErrorKind::Busy));
    let mut taken = None;
    until("the takeover", async || {
        taken = Some(try_call(call(&idempotency, "killed")).await).filter(|(result, _)| result.is_ok());
        taken.is_some()
    })
    .await;
    assert_eq!(taken, Some((Ok(0), Some(2))));
    assert!(killed.elapsed() < Duration::from_secs(5), "{:?}", killed.elapsed());
}

#[tokio::test]
async fn a_killed_owner_under_hold_leaves_it_to_a_person() {
    let Some(redis) = servers::needed(Redis::start(RedisBinary::System)) else { return };
    let idempotency = Idempotency::connect(&redis.url()).await.unwrap();
    let mut worker = Worker::start(&[&redis.url(), "held", "500", "60000", "hold"]);
    worker.until("start");
    worker.kill();
    let held = || call(&idempotency, "held").on_crash(OnCrash::Hold);
    until("the lapse", async || try_call(held()).await.0 == Err(ErrorKind::Indeterminate)).await;
    assert_eq!(try_call(held()).await.0, Err(ErrorKind::Indeterminate), "and again");
}

#[tokio::test]
async fn a_worker_that_stood_still_finds_its_claim_lost_and_runs_no_further() {
    let Some(redis) = servers::needed(Redis::start(RedisBinary::System)) else { return };
    let idempotency = Idempotency::connect(&redis.url()).await.unwrap();
    let mut worker = Worker::start(&[&redis.url(), "stopped", "500", "1000"]);
    worker.until("start");
    worker.signal("STOP");
    until("the takeover", async || try_call(call(&idempotency, "stopped")).await.0 == Ok(0)).await;
    worker.signal("CONT");
    assert_eq!(worker.until("refused"), "claim_lost");
    assert_eq!(try_call(call(&idempotency, "stopped")).await.0, Ok(0), "the other's record stands");
}

#[tokio::test]
async fn a_worker_that_stood_still_and_was_not_overtaken_goes_on() {
    let Some(redis) = servers::needed(Redis::start(RedisBinary::System)) else { return };
    let mut worker = Worker::start(&[&redis.url(), "resumed", "300", "1000"]);
    worker.until("start");
    worker.signal("STOP");
    // Longer than its lease.
    tokio::time::sleep(Duration::from_millis(700)).await;
    worker.signal("CONT");
    let id = worker.id();
    assert_eq!(worker.until("value"), format!("{id} executed"));
}

#[tokio::test]
async fn a_worker_that_blocks_its_threads_keeps_its_lease() {
    let Some(redis) = servers::needed(Redis::start(RedisBinary::System)) else { return };
    let idempotency = Idempotency::connect(&redis.url()).await.unwrap();
    // Both threads of its runtime are blocked for four leases.
    let url = redis.url();
    let mut worker = Worker::start(&[&url, "blocked", "500", "2000", "block"]);
    worker.until("start");
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(1800) {
        assert_eq!(try_call(call(&idempotency, "blocked")).await.0, Err(ErrorKind::Busy));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let id = worker.id();
    assert_eq!(worker.until("value"), format!("{id} executed"));
}

#[tokio::test]
async fn fences_grow_from_process_to_process() {
    let Some(redis) = servers::needed(Redis::start(RedisBinary::System)) else { return };
    let mut last = 0;
    for attempt in 1..=3 {
        let mut worker = Worker::start(&[&redis.url(), "fenced", "200", "60000", "fenced"]);
        let said = loop {
            match worker.next().expect("a line") {
                line if line.starts_with("start") => break line,
                line if line.starts_with("refused") => {
                    worker = Worker::start(&[&redis.url(), "fenced", "200", "60000", "fenced"]);
                }
                _ => {}
            }
        };
        let words: Vec<u64> = said.split(' ').skip(1).map(|word| word.parse().expect("a number")).collect();
        assert_eq!(words[0], attempt);
        assert!(words[1] > last, "{words:?} after {last}");
        last = words[1];
        worker.kill();
    }
}
