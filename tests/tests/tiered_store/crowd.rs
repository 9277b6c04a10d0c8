//! A crowd of calls on two handles, as two processes have them, that counts the runs of each key.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use idempotent_runtime::{Error, ErrorKind, Idempotency, OnBusy};

use crate::support::Truth;

/// Callers of each handle.
const CALLERS: u64 = 4;

/// How often each key is called on each handle.
const REPEATS: u64 = 4;

#[derive(Default)]
struct Seen {
    runs: Mutex<HashMap<u64, u32>>,
    answered: AtomicU64,
    refused: AtomicU64,
}

/// What a crowd has seen.
pub(crate) struct Report {
    pub(crate) keys: usize,
    pub(crate) answered: u64,
    pub(crate) refused: u64,
    pub(crate) ran_twice: Vec<u64>,
}

/// Calls until `stop`; all callers of both handles work through the same keys.
pub(crate) async fn call(front: &str, truth: &Truth, stop: Arc<AtomicBool>) -> Report {
    let seen = Arc::new(Seen::default());
    let mut callers = Vec::new();
    for owner in ["one", "two"] {
        let store = truth.behind(front).await;
        let idempotency = Idempotency::builder().owner(owner).store_timeout(Duration::from_secs(5)).build(store);
        let idempotency = idempotency.expect("the settings are fine");
        for caller in 0..CALLERS {
            let (seen, stop, idempotency) = (Arc::clone(&seen), Arc::clone(&stop), idempotency.clone());
            callers.push(tokio::spawn(async move {
                let mut round = 0;
                while !stop.load(Ordering::Relaxed) {
                    // Three callers of each handle at one key, each some times, now and a little later.
                    let key = (round / REPEATS) * 2 + caller % 2;
                    one(&idempotency, key, &seen).await;
                    round += 1;
                    // The suite beside it needs a turn too.
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }));
        }
    }
    for caller in callers {
        caller.await.expect("a caller does not panic");
    }
    let runs = seen.runs.lock().unwrap_or_else(PoisonError::into_inner);
    let ran_twice = runs.iter().filter(|(_, runs)| **runs > 1).map(|(key, _)| *key).collect();
    let (answered, refused) = (seen.answered.load(Ordering::Relaxed), seen.refused.load(Ordering::Relaxed));
    Report { keys: runs.len(), answered, refused, ran_twice }
}

async fn one(idempotency: &Idempotency, key: u64, seen: &Arc<Seen>) {
    let of_body = Arc::clone(seen);
    let call = idempotency.call("order").key(key).ttl(Duration::from_mins(30));
    let run = call.on_busy(OnBusy::Wait(Duration::from_secs(20))).run(async move {
        *of_body.runs.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default() += 1;
        tokio::time::sleep(Duration::from_millis(5)).await;
        Ok::<u64, Error>(key)
    });
    match run.await {
        Ok(value) => {
            assert_eq!(value, key, "each gets the answer of its own key");
            seen.answered.fetch_add(1, Ordering::Relaxed);
        }
        // An outage of the front is none of the store; on a machine that stands still for seconds it may look so.
        Err(error) if matches!(error.kind(), ErrorKind::StoreUnavailable | ErrorKind::Busy) => {
            seen.refused.fetch_add(1, Ordering::Relaxed);
        }
        Err(error) => panic!("{key}: {error}"),
    }
}
