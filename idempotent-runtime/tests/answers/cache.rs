//! Completed records that are kept in the process.

use std::time::Duration;

use idempotent_runtime::admin::Decision;
use idempotent_runtime::testing::{Fault, Gate, Operation};
use idempotent_runtime::{Builder, Cache, ErrorKind, Idempotency, MemoryStore, OutcomeKind, Replies, with_outcome};
use tokio::time::advance;

use crate::support::{Failure, PATIENCE, Process, TTL, executed, is_refused, is_replay};

const AGE: Duration = Duration::from_secs(10);

fn cached() -> Builder {
    Idempotency::builder().cache(Cache::new().max_age(AGE))
}

/// Lets what was spawned in the background run.
async fn background() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_of_what_was_completed_here_asks_nobody() {
    let process = Process::new(cached(), &MemoryStore::new());
    assert!(executed(&process.run(1, 7).await));
    for _ in 0..10 {
        is_replay(&process.run(1, 8).await, 7);
    }
    assert_eq!((process.claims(), process.ran()), (1, 1));
    // Another key is another matter.
    assert!(executed(&process.run(2, 8).await));
}

#[tokio::test(start_paused = true)]
async fn without_a_cache_every_duplicate_asks() {
    let process = Process::new(Idempotency::builder(), &MemoryStore::new());
    for _ in 0..3 {
        assert_eq!(process.run(1, 7).await.0, Ok(7));
    }
    assert_eq!(process.claims(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_another_process_completed_is_asked_for_once() {
    let memory = MemoryStore::new();
    let (other, process) = (Process::new(cached(), &memory), Process::new(cached(), &memory));
    assert!(executed(&other.run(1, 7).await));
    for _ in 0..10 {
        is_replay(&process.run(1, 8).await, 7);
        background().await;
    }
    assert_eq!(process.claims(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_record_is_not_answered_from_for_longer_than_it_is_kept() {
    let memory = MemoryStore::new();
    let (other, process) = (Process::new(cached(), &memory), Process::new(cached(), &memory));
    let short = |process: &Process, value| with_outcome(process.call(1).ttl(AGE / 2).run(process.value(value)));
    assert!(executed(&short(&process, 7).await));
    advance((AGE / 2).saturating_sub(Duration::from_millis(1))).await;
    is_replay(&short(&process, 8).await, 7);
    // The other process hears of it late, and for how long it is still kept.
    is_replay(&short(&other, 8).await, 7);
    background().await;
    is_replay(&short(&other, 8).await, 7);
    assert_eq!(other.claims(), 1);
    advance(Duration::from_millis(1)).await;
    assert!(executed(&short(&other, 9).await));
    is_replay(&short(&process, 8).await, 9);
}

#[tokio::test(start_paused = true)]
async fn a_record_that_was_removed_elsewhere_is_seen_after_the_longest_age() {
    let memory = MemoryStore::new();
    let (other, process) = (Process::new(Idempotency::builder(), &memory), Process::new(cached(), &memory));
    assert!(executed(&process.run(1, 7).await));
    release(&other).await;
    advance(AGE.saturating_sub(Duration::from_millis(1))).await;
    is_replay(&process.run(1, 8).await, 7);
    advance(Duration::from_millis(1)).await;
    assert!(executed(&process.run(1, 8).await));
}

#[tokio::test(start_paused = true)]
async fn a_record_that_was_removed_here_is_forgotten_at_once() {
    let process = Process::new(cached(), &MemoryStore::new());
    assert!(executed(&process.run(1, 7).await));
    release(&process).await;
    assert!(executed(&process.run(1, 8).await));
    is_replay(&process.run(1, 9).await, 8);
}

async fn release(process: &Process) {
    let key = process.idempotency.key("order", &[&1]).expect("a whole key");
    let seen = process.idempotency.inspect(&key).await.expect("an answer").expect("a record");
    let decision = Decision { who: "a person", why: "once more" };
    process.idempotency.release(&key, &seen, decision).await.expect("it is released");
}

#[tokio::test(start_paused = true)]
async fn a_fingerprint_is_compared() {
    let process = Process::new(cached(), &MemoryStore::new());
    let call = |amount: u32| with_outcome(process.call(1).fingerprint(&amount).run(process.value(7)));
    assert!(executed(&call(100).await));
    is_refused(&call(200).await, ErrorKind::Mismatch);
    is_replay(&call(100).await, 7);
    // A call without one has nothing to compare.
    is_replay(&process.run(1, 8).await, 7);
    assert_eq!(process.ran(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_may_be_repeated_is_not_kept() {
    let process = Process::new(cached(), &MemoryStore::new());
    let failed = with_outcome(process.call(1).run(async { Err::<u32, _>(Failure::Burnt) })).await;
    assert_eq!(failed.0, Err(Failure::Burnt));
    assert!(executed(&process.run(1, 7).await));
    is_replay(&process.run(1, 8).await, 7);
}

#[tokio::test(start_paused = true)]
async fn a_run_in_progress_is_never_kept() {
    let memory = MemoryStore::new();
    let (other, process) = (Process::new(cached(), &memory), Process::new(cached(), &memory));
    let gate = Gate::new("the body");
    let body = {
        let gate = gate.clone();
        async move {
            gate.pass().await;
            Ok::<_, Failure>(7)
        }
    };
    let run = tokio::spawn(other.call(1).run(body));
    gate.reached().await;
    is_refused(&process.run(1, 8).await, ErrorKind::Busy);
    background().await;
    is_refused(&process.run(1, 8).await, ErrorKind::Busy);
    assert_eq!(process.claims(), 2);
    gate.open();
    assert_eq!(run.await.expect("no panic"), Ok(7));
    is_replay(&process.run(1, 8).await, 7);
}

#[tokio::test(start_paused = true)]
async fn every_way_of_answering_a_duplicate_is_as_without_a_cache() {
    let process = Process::new(cached(), &MemoryStore::new());
    let recorded = Replies::<u32, Failure>::recorded().errors_recorded();
    let failing = |key| with_outcome(process.call(key).run_with(recorded, async { Err(Failure::Burnt) }));
    assert_eq!(failing(1).await.0, Err(Failure::Burnt));
    let replay = failing(1).await;
    assert_eq!((replay.0, replay.1.kind()), (Err(Failure::Burnt), OutcomeKind::FailedForGood));

    let skipping = |key| with_outcome(process.call(key).run_with(Replies::skipped(), process.value(7)));
    assert!(executed(&skipping(2).await));
    let skipped = skipping(2).await;
    assert_eq!((skipped.0, skipped.1.kind()), (Ok(0), OutcomeKind::Skipped));

    let rejecting = |key| with_outcome(process.call(key).run_with(Replies::rejected(), process.value(7)));
    assert!(executed(&rejecting(3).await));
    is_refused(&rejecting(3).await, ErrorKind::Duplicate);
    // One handler records no results, and another wants one.
    is_refused(&process.run(3, 8).await, ErrorKind::ResultUnavailable);
    assert_eq!(process.claims(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_verify_refutes_is_forgotten() {
    let process = Process::new(cached(), &MemoryStore::new());
    let call = |stands: bool, value| {
        with_outcome(process.call(1).verify(async move { Ok::<_, Failure>(stands) }).run(process.value(value)))
    };
    assert!(executed(&call(true, 7).await));
    is_replay(&call(true, 8).await, 7);
    assert_eq!(process.claims(), 1);
    assert!(executed(&call(false, 8).await));
    is_replay(&call(true, 9).await, 8);
    is_replay(&process.run(1, 9).await, 8);
    assert_eq!(process.claims(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_completion_that_nobody_confirmed_is_not_kept() {
    let process = Process::new(cached().settle_timeout(Duration::from_secs(1)), &MemoryStore::new());
    process.store.always(Operation::Complete, Fault::Fails);
    assert!(executed(&process.run(1, 7).await));
    is_refused(&process.run(1, 8).await, ErrorKind::Busy);
    process.store.heal();
    let waited = with_outcome(process.call(1).on_busy(PATIENCE).run(process.value(8))).await;
    is_replay(&waited, 7);
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_an_outage_is_none() {
    let process = Process::new(cached().store_timeout(Duration::from_secs(1)), &MemoryStore::new());
    assert!(executed(&process.run(1, 7).await));
    process.store.go_down();
    is_replay(&process.run(1, 8).await, 7);
    is_refused(&process.run(2, 8).await, ErrorKind::StoreUnavailable);
    advance(TTL).await;
    is_refused(&process.run(1, 8).await, ErrorKind::StoreUnavailable);
}

#[tokio::test(start_paused = true)]
async fn it_holds_as_many_records_and_bytes_as_it_may() {
    let bounds = [Cache::new().entries(10), Cache::new().bytes(10 * 300)];
    for cache in bounds {
        let process = Process::new(Idempotency::builder().cache(cache), &MemoryStore::new());
        for key in 0..1000 {
            assert!(executed(&process.run(key, key).await));
        }
        for key in 0..1000 {
            is_replay(&process.run(key, 0).await, key);
        }
        // What is evicted goes in batches, a little late.
        let asked = process.claims() - 1000;
        assert!(asked > 800, "{cache:?}: {asked} of 1000 asked the store");
    }
    let process = Process::new(Idempotency::builder().cache(Cache::new()), &MemoryStore::new());
    for key in 0..2000 {
        assert_eq!(process.run(key % 1000, key).await.0, Ok(key % 1000));
    }
    assert_eq!(process.claims(), 1000, "the control has room for all");
}
