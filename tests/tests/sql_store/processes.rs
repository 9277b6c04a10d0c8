//! Several processes on one SQLite file, and on one PostgreSQL: they meet and die.

use std::time::{Duration, Instant};

use idempotent_runtime::{CallBuilder, Error, ErrorKind, Idempotency, OnCrash, with_outcome};

use crate::support::{File, postgres};
use crate::worker::Worker;

fn call(idempotency: &Idempotency, key: &str) -> CallBuilder {
    idempotency.call("work").key(key).ttl(Duration::from_mins(10)).lease(Duration::from_secs(1))
}

/// What a call from this process comes to, and which run it was.
async fn try_call(call: CallBuilder) -> (Result<u32, ErrorKind>, Option<u32>) {
    let (result, outcome) = with_outcome(call.run(async { Ok::<u32, Error>(0) })).await;
    (result.map_err(|error| error.kind()), outcome.attempt())
}

async fn until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !done().await {
        assert!(started.elapsed() < Duration::from_secs(10), "{what}: not within ten seconds");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn of_many_calls_in_four_processes_one_runs(url: &str) {
    // A body that outlasts the crowd on a busy machine: whoever comes in that time is told so.
    let calls = |_| Worker::start(&[url, "crowd", "10000", "1500", "calls=50"]);
    let workers: Vec<_> = (0..4).map(calls).collect();
    let said: Vec<String> = workers.into_iter().flat_map(Worker::rest).collect();
    let count = |word: &str| said.iter().filter(|line| line.starts_with(word)).count();
    assert_eq!(count("ready"), 4);
    assert_eq!(count("start"), 1, "{said:?}");
    let out_of_time = count("refused store_unavailable");
    assert_eq!(count("value") + count("refused busy") + out_of_time, 200, "{said:?}");
    assert!(out_of_time < 20, "{out_of_time} had no answer in time");
}

async fn a_killed_owner_blocks_its_key_for_a_lease(url: &str) {
    let idempotency = Idempotency::connect(url).await.unwrap();
    let mut worker = Worker::start(&[url, "killed", "1000", "60000"]);
    worker.until("start");
    worker.kill();
    assert_eq!(try_call(call(&idempotency, "killed")).await.0, Err(ErrorKind::Busy));
    let mut taken = None;
    until("the takeover", async || {
        taken = Some(try_call(call(&idempotency, "killed")).await).filter(|(result, _)| result.is_ok());
        taken.is_some()
    })
    .await;
    assert_eq!(taken, Some((Ok(0), Some(2))));
}

async fn a_killed_owner_under_hold_is_left_to_a_person(url: &str) {
    let idempotency = Idempotency::connect(url).await.unwrap();
    let mut worker = Worker::start(&[url, "held", "500", "60000", "hold"]);
    worker.until("start");
    worker.kill();
    let held = || call(&idempotency, "held").on_crash(OnCrash::Hold);
    until("the lapse", async || try_call(held()).await.0 == Err(ErrorKind::Indeterminate)).await;
    let key = idempotency.key("work", &[&"held"]).unwrap();
    let seen = idempotency.inspect(&key).await.unwrap().expect("it is held");
    let decision = idempotent_runtime::admin::Decision { who: "ada", why: "it had been cooked" };
    idempotency.resolve(&key, &seen, &7_u32, Duration::from_mins(10), decision).await.unwrap();
    assert_eq!(try_call(held()).await.0, Ok(7));
}

macro_rules! on_both {
    ($($name:ident)+) => {
        mod in_postgres {
            $(#[tokio::test]
            async fn $name() {
                let Some(server) = super::postgres() else { return };
                super::$name(&server.url()).await;
            })+
        }

        mod in_sqlite {
            $(#[tokio::test]
            async fn $name() {
                let file = super::File::new();
                super::$name(&file.url()).await;
            })+
        }
    };
}

on_both! {
    of_many_calls_in_four_processes_one_runs
    a_killed_owner_blocks_its_key_for_a_lease
    a_killed_owner_under_hold_is_left_to_a_person
}
