//! The server is killed, stopped and restarted in the middle of calls.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use idempotent_runtime::{Error, ErrorKind, Idempotency};
use servers::{Redis, RedisBinary};

/// What the callers have seen.
#[derive(Default)]
struct Seen {
    runs: Mutex<HashMap<u32, u32>>,
    answered: AtomicU32,
    refused: AtomicU32,
    longest: Mutex<Duration>,
    stop: AtomicBool,
}

/// Calls again and again under ever new keys, each key three times.
async fn caller(idempotency: Idempotency, seen: Arc<Seen>, first: u32, step: u32) {
    let mut key = first;
    while !seen.stop.load(Ordering::Relaxed) {
        for _ in 0..3 {
            let started = Instant::now();
            let call = idempotency.call("order").key(key).ttl(Duration::from_mins(10)).lease(Duration::from_secs(10));
            let body = async {
                *seen.runs.lock().unwrap().entry(key).or_default() += 1;
                Ok::<_, Error>(key)
            };
            match call.run(body).await {
                Ok(value) => {
                    assert_eq!(value, key);
                    seen.answered.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => {
                    let expected = matches!(error.kind(), ErrorKind::StoreUnavailable | ErrorKind::Busy);
                    assert!(expected, "{error}");
                    seen.refused.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
            let mut longest = seen.longest.lock().unwrap();
            *longest = (*longest).max(started.elapsed());
        }
        key += step;
    }
}

/// Waits for a call that is answered, and says how long it took.
async fn recovery(seen: &Seen) -> Duration {
    let (before, started) = (seen.answered.load(Ordering::Relaxed), Instant::now());
    while seen.answered.load(Ordering::Relaxed) == before {
        assert!(started.elapsed() < Duration::from_secs(10), "no call succeeds again");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    started.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_ends_in_time_none_runs_twice_and_calls_succeed_again() {
    let started = Redis::builder(RedisBinary::System).persistent().start();
    let Some(redis) = servers::needed(started) else { return };
    let idempotency = Idempotency::connect(&redis.url()).await.unwrap();
    let seen = Arc::new(Seen::default());
    let callers: Vec<_> =
        (0..50).map(|n| tokio::spawn(caller(idempotency.clone(), Arc::clone(&seen), n, 50))).collect();

    for round in 0..3 {
        recovery(&seen).await;
        redis.stop().unwrap();
        tokio::time::sleep(Duration::from_secs(3)).await;
        redis.cont().unwrap();
        let stopped = recovery(&seen).await;

        redis.kill().unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        redis.restart().unwrap();
        let restarted = recovery(&seen).await;
        let bound = Duration::from_secs(2);
        assert!(stopped < bound && restarted < bound, "round {round}: {stopped:?} {restarted:?}");
    }
    seen.stop.store(true, Ordering::Relaxed);
    for caller in callers {
        caller.await.unwrap();
    }
    let runs = seen.runs.lock().unwrap();
    let twice: Vec<_> = runs.iter().filter(|(_, runs)| **runs > 1).collect();
    assert!(twice.is_empty(), "ran twice: {twice:?}");
    // The claim waits two seconds for the store, a result five; and the machine is busy.
    let longest = *seen.longest.lock().unwrap();
    assert!(longest < Duration::from_secs(8), "{longest:?}");
    assert!(seen.refused.load(Ordering::Relaxed) > 0, "the faults were felt");
}
