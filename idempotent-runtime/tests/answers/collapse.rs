//! One call of a process asks for all that are in flight under its key.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use idempotent_runtime::testing::{Fault, Gate, Operation};
use idempotent_runtime::{
    Builder, ErrorKind, Idempotency, MemoryStore, OnBusy, OnCrash, OnOutage, OutcomeKind, Replies, with_outcome,
};
use tokio::task::JoinHandle;
use tokio::time::{Instant, advance};

use crate::support::{Ended, Failure, LEASE, PATIENCE, Process, executed, is_refused, is_replay};

fn collapsed() -> Builder {
    Idempotency::builder().collapse()
}

fn process() -> Process {
    Process::new(collapsed(), &MemoryStore::new())
}

/// How a body ends that waits at a gate.
#[derive(Clone, Copy)]
enum End {
    Value(u32),
    Error,
    Panic,
}

/// A call whose body waits at the gate.
fn leader(process: &Process, gate: &Gate, end: End) -> impl Future<Output = Ended> + Send + use<> {
    leader_of(process.call(1), process, gate, end)
}

fn leader_of(
    call: idempotent_runtime::CallBuilder,
    process: &Process,
    gate: &Gate,
    end: End,
) -> impl Future<Output = Ended> + Send + use<> {
    let (runs, gate) = (Arc::clone(&process.runs), gate.clone());
    with_outcome(call.run(async move {
        runs.fetch_add(1, Ordering::SeqCst);
        gate.pass().await;
        match end {
            End::Value(value) => Ok(value),
            End::Error => Err(Failure::Burnt),
            End::Panic => panic!("the body panics, as it should"),
        }
    }))
}

fn waiter(process: &Process, value: u32) -> JoinHandle<Ended> {
    tokio::spawn(with_outcome(process.call(1).on_busy(PATIENCE).run(process.value(value))))
}

/// Lets all tasks come to where they wait.
async fn all_wait() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_in_flight_are_one_claim_and_one_run() {
    let (process, gate) = (process(), Gate::new("the body"));
    let first = tokio::spawn(leader(&process, &gate, End::Value(7)));
    gate.reached().await;
    let waiters: Vec<_> = (0..1000).map(|_| waiter(&process, 8)).collect();
    all_wait().await;
    gate.open();
    assert!(executed(&first.await.expect("no panic")));
    for ended in join_all(waiters).await {
        let ended = ended.expect("no panic");
        is_replay(&ended, 7);
        assert_eq!(ended.1.attempt(), Some(1));
    }
    assert_eq!((process.claims(), process.ran()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn without_it_each_asks() {
    let (process, gate) = (Process::new(Idempotency::builder(), &MemoryStore::new()), Gate::new("the body"));
    let first = tokio::spawn(leader(&process, &gate, End::Value(7)));
    gate.reached().await;
    let waiters: Vec<_> = (0..10).map(|_| waiter(&process, 8)).collect();
    all_wait().await;
    gate.open();
    assert_eq!(first.await.expect("no panic").0, Ok(7));
    for ended in join_all(waiters).await {
        is_replay(&ended.expect("no panic"), 7);
    }
    assert!(process.claims() > 20, "{}", process.claims());
}

#[tokio::test(start_paused = true)]
async fn duplicates_of_a_completed_record_share_one_answer() {
    let process = process();
    assert!(executed(&process.run(1, 7).await));
    let gate = Gate::new("the answer");
    process.store.next(Operation::Claim, Fault::WaitsAfter(gate.clone()));
    let calls: Vec<_> = (0..100).map(|_| tokio::spawn(process.run(1, 8))).collect();
    gate.reached().await;
    all_wait().await;
    gate.open();
    for ended in join_all(calls).await {
        is_replay(&ended.expect("no panic"), 7);
    }
    assert_eq!(process.claims(), 2);
    // What comes after the answer asks anew.
    is_replay(&process.run(1, 8).await, 7);
    assert_eq!(process.claims(), 3);
}

#[tokio::test(start_paused = true)]
async fn who_does_not_wait_is_busy_at_once() {
    let (process, gate) = (process(), Gate::new("the body"));
    let first = tokio::spawn(leader(&process, &gate, End::Value(7)));
    gate.reached().await;
    let refused = process.run(1, 8).await;
    is_refused(&refused, ErrorKind::Busy);
    let Err(Failure::Refused(says)) = refused.0 else { panic!("it is refused") };
    assert!(says.contains("attempt 1 by") && says.contains("order:1"), "{says}");
    assert_eq!(process.claims(), 1);
    gate.open();
    assert!(executed(&first.await.expect("no panic")));
}

#[tokio::test(start_paused = true)]
async fn patience_has_an_end() {
    let (process, gate) = (process(), Gate::new("the body"));
    let _first = tokio::spawn(leader(&process, &gate, End::Value(7)));
    gate.reached().await;
    let began = Instant::now();
    let patience = Duration::from_secs(100);
    let call = process.call(1).on_busy(OnBusy::Wait(patience)).run(process.value(8));
    is_refused(&with_outcome(call).await, ErrorKind::Busy);
    // Longer than the lease, which was renewed meanwhile.
    let took = began.elapsed();
    assert!(took >= patience && took < patience + LEASE / 10, "{took:?}");
    assert_eq!(process.claims(), 1);
}

#[tokio::test(start_paused = true)]
async fn other_arguments_are_the_stores_to_judge() {
    let (process, gate) = (process(), Gate::new("the body"));
    let first = tokio::spawn(leader_of(process.call(1).fingerprint(&100), &process, &gate, End::Value(7)));
    gate.reached().await;
    let call = |amount: u32| with_outcome(process.call(1).fingerprint(&amount).run(process.value(8)));
    is_refused(&call(200).await, ErrorKind::Mismatch);
    is_refused(&call(100).await, ErrorKind::Busy);
    assert_eq!(process.claims(), 2);
    gate.open();
    assert_eq!(first.await.expect("no panic").0, Ok(7));
    is_refused(&call(200).await, ErrorKind::Mismatch);
}

/// Three wait for a leader that ends as `how` says; what they came to, and how many claims were made.
async fn handed_over(process: &Process, how: impl AsyncFnOnce(JoinHandle<Ended>, &Gate), end: End) -> Vec<Ended> {
    let gate = Gate::new("the body");
    let first = tokio::spawn(leader(process, &gate, end));
    gate.reached().await;
    let waiters: Vec<_> = (0..3).map(|_| waiter(process, 8)).collect();
    all_wait().await;
    assert_eq!(process.claims(), 1);
    how(first, &gate).await;
    join_all(waiters).await.into_iter().map(|ended| ended.expect("no panic")).collect()
}

#[track_caller]
fn one_ran(process: &Process, ended: &[Ended]) {
    assert!(ended.iter().all(|(result, _)| *result == Ok(8)), "{ended:?}");
    let runs: Vec<_> = ended.iter().filter(|ended| executed(ended)).map(|(_, outcome)| outcome.attempt()).collect();
    assert_eq!(runs, [Some(2)]);
    assert_eq!(process.ran(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_fails_hands_over() {
    let process = process();
    let how = async |first: JoinHandle<Ended>, gate: &Gate| {
        gate.open();
        assert_eq!(first.await.expect("no panic").0, Err(Failure::Burnt));
    };
    let ended = handed_over(&process, how, End::Error).await;
    one_ran(&process, &ended);
}

#[tokio::test(start_paused = true)]
async fn those_who_come_back_follow_the_one_of_them_that_leads() {
    let (process, first_gate, gate) = (process(), Gate::new("the first body"), Gate::new("the second"));
    let first = tokio::spawn(leader(&process, &first_gate, End::Error));
    first_gate.reached().await;
    let waits = || leader_of(process.call(1).on_busy(PATIENCE), &process, &gate, End::Value(8));
    let waiters: Vec<_> = (0..100).map(|_| tokio::spawn(waits())).collect();
    all_wait().await;
    first_gate.open();
    assert_eq!(first.await.expect("no panic").0, Err(Failure::Burnt));
    gate.reached().await;
    all_wait().await;
    gate.open();
    for ended in join_all(waiters).await {
        assert_eq!(ended.expect("no panic").0, Ok(8));
    }
    assert_eq!((process.claims(), process.ran()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_panics_hands_over() {
    let process = process();
    let how = async |first: JoinHandle<Ended>, gate: &Gate| {
        gate.open();
        assert!(first.await.expect_err("it panics").is_panic());
    };
    let ended = handed_over(&process, how, End::Panic).await;
    one_ran(&process, &ended);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_dropped_hands_over() {
    let process = process();
    let how = async |first: JoinHandle<Ended>, _: &Gate| first.abort();
    let ended = handed_over(&process, how, End::Value(7)).await;
    one_ran(&process, &ended);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_dropped_while_it_asks_hands_over() {
    let (process, gate) = (process(), Gate::new("the answer"));
    process.store.next(Operation::Claim, Fault::WaitsAfter(gate.clone()));
    let first = tokio::spawn(process.run(1, 7));
    gate.reached().await;
    let second = waiter(&process, 8);
    all_wait().await;
    assert_eq!(process.claims(), 1);
    first.abort();
    let ended = second.await.expect("no panic");
    assert!(executed(&ended) && ended.0 == Ok(8), "{ended:?}");
    assert_eq!(process.ran(), 1);
}

#[tokio::test(start_paused = true)]
async fn under_hold_nobody_takes_over() {
    let (process, gate) = (process(), Gate::new("the body"));
    let hold = || process.call(1).on_crash(OnCrash::Hold);
    let first = tokio::spawn(leader_of(hold(), &process, &gate, End::Value(7)));
    gate.reached().await;
    let waiters: Vec<_> =
        (0..3).map(|_| tokio::spawn(with_outcome(hold().on_busy(PATIENCE).run(process.value(8))))).collect();
    all_wait().await;
    first.abort();
    for ended in join_all(waiters).await {
        is_refused(&ended.expect("no panic"), ErrorKind::Indeterminate);
    }
    assert_eq!(process.ran(), 1);
}

#[tokio::test(start_paused = true)]
async fn attempts_are_counted() {
    let (process, gate) = (process(), Gate::new("the body"));
    let once = || process.call(1).max_attempts(1);
    let first = tokio::spawn(leader_of(once(), &process, &gate, End::Error));
    gate.reached().await;
    let waiting = tokio::spawn(with_outcome(once().on_busy(PATIENCE).run(process.value(8))));
    all_wait().await;
    gate.open();
    assert_eq!(first.await.expect("no panic").0, Err(Failure::Burnt));
    is_refused(&waiting.await.expect("no panic"), ErrorKind::Exhausted);
    assert_eq!(process.ran(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_was_too_large_is_so_for_all() {
    let process = Process::new(collapsed().max_result_bytes(4), &MemoryStore::new());
    let gate = Gate::new("the body");
    let first = tokio::spawn(leader(&process, &gate, End::Value(123_456)));
    gate.reached().await;
    let second = waiter(&process, 8);
    all_wait().await;
    gate.open();
    assert_eq!(first.await.expect("no panic").0, Ok(123_456));
    is_refused(&second.await.expect("no panic"), ErrorKind::ResultUnavailable);
    assert_eq!(process.claims(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_error_that_is_recorded_is_everybodys() {
    let (process, gate) = (process(), Gate::new("the body"));
    let errors = Replies::<u32, Failure>::recorded().errors_recorded();
    let body = {
        let gate = gate.clone();
        async move {
            gate.pass().await;
            Err(Failure::Burnt)
        }
    };
    let first = tokio::spawn(process.call(1).run_with(errors, body));
    gate.reached().await;
    let second = tokio::spawn(with_outcome(process.call(1).on_busy(PATIENCE).run_with(errors, process.value(8))));
    all_wait().await;
    gate.open();
    assert_eq!(first.await.expect("no panic"), Err(Failure::Burnt));
    let ended = second.await.expect("no panic");
    assert_eq!((ended.0, ended.1.kind()), (Err(Failure::Burnt), OutcomeKind::FailedForGood));
    assert_eq!(process.claims(), 1);
}

#[tokio::test(start_paused = true)]
async fn each_follower_verifies_for_itself() {
    let process = process();
    assert!(executed(&process.run(1, 7).await));
    let gate = Gate::new("the answer");
    process.store.next(Operation::Claim, Fault::WaitsAfter(gate.clone()));
    let verifying = |stands: bool| {
        let call = process.call(1).on_busy(PATIENCE).verify(async move { Ok::<_, Failure>(stands) });
        tokio::spawn(with_outcome(call.run(process.value(8))))
    };
    let (stands, refuted) = (verifying(true), verifying(false));
    gate.reached().await;
    all_wait().await;
    gate.open();
    is_replay(&stands.await.expect("no panic"), 7);
    let refuted = refuted.await.expect("no panic");
    assert!(executed(&refuted) && refuted.0 == Ok(8), "{refuted:?}");
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_everybodys_and_each_has_its_policy() {
    let process = Process::new(collapsed().store_timeout(Duration::from_secs(4)), &MemoryStore::new());
    process.store.always(Operation::Claim, Fault::NeverAnswers);
    let first = tokio::spawn(process.run(1, 7));
    process.store.called(Operation::Claim, 1).await;
    advance(Duration::from_secs(3)).await;
    let began = Instant::now();
    let follows = process.run(1, 8);
    let runs = with_outcome(process.call(1).on_outage(OnOutage::Run).run(process.value(8)));
    let (follows, runs) = tokio::join!(follows, runs);
    assert_eq!(began.elapsed(), Duration::from_secs(1), "as late as the leader, and no later");
    is_refused(&follows, ErrorKind::StoreUnavailable);
    assert_eq!((runs.0, runs.1.kind()), (Ok(8), OutcomeKind::Unguarded { ok: true }));
    is_refused(&first.await.expect("no panic"), ErrorKind::StoreUnavailable);
    assert_eq!(process.claims(), 1);
}

#[tokio::test(start_paused = true)]
async fn in_an_outage_nobody_waits_for_longer_than_without_a_leader() {
    let process = Process::new(collapsed().store_timeout(Duration::from_secs(4)), &MemoryStore::new());
    process.store.always(Operation::Claim, Fault::NeverAnswers);
    let first = tokio::spawn(process.run(1, 7));
    process.store.called(Operation::Claim, 1).await;
    let began = Instant::now();
    is_refused(&process.run(1, 8).await, ErrorKind::StoreUnavailable);
    assert_eq!(began.elapsed(), Duration::from_secs(4));
    is_refused(&first.await.expect("no panic"), ErrorKind::StoreUnavailable);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_not_polled_holds_nobody_up() {
    let process = Process::new(collapsed().store_timeout(Duration::from_secs(4)), &MemoryStore::new());
    let gate = Gate::new("the answer");
    process.store.next(Operation::Claim, Fault::WaitsBefore(gate.clone()));
    let mut stalled = Box::pin(process.run(1, 7));
    assert!((&mut stalled).now_or_never().is_none());
    let began = Instant::now();
    let ended = process.run(1, 8).await;
    assert!(executed(&ended) && ended.0 == Ok(8), "{ended:?}");
    assert_eq!(began.elapsed(), Duration::from_secs(2));
    gate.open();
    is_replay(&stalled.await, 8);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_lease_in_doubt_asks_the_store() {
    let memory = MemoryStore::new();
    let (process, other) = (Process::new(collapsed(), &memory), Process::new(Idempotency::builder(), &memory));
    let gate = Gate::new("the body");
    // The process cannot renew, and stands still for longer than its lease.
    process.store.always(Operation::Renew, Fault::NeverAnswers);
    let _first = tokio::spawn(leader(&process, &gate, End::Value(7)));
    gate.reached().await;
    let patience = OnBusy::Wait(4 * LEASE);
    let waiting = tokio::spawn(with_outcome(process.call(1).on_busy(patience).run(process.value(9))));
    all_wait().await;
    assert_eq!(process.claims(), 1);
    let took_over = with_outcome(other.call(1).on_busy(patience).run(other.value(8))).await;
    assert!(took_over.0.is_ok(), "{took_over:?}");
    let ended = waiting.await.expect("no panic");
    assert_eq!(ended.0, took_over.0);
    assert!(process.claims() > 1, "it did not ask");
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_calls_itself_is_busy_and_does_not_hang() {
    let process = process();
    let inner = process.run(1, 8);
    let outer = process.call(1).run(async move {
        is_refused(&inner.await, ErrorKind::Busy);
        Ok::<_, Failure>(7)
    });
    assert_eq!(outer.await, Ok(7));
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_another_process_is_woken_by_it() {
    let memory = MemoryStore::new();
    let (process, other) = (Process::new(collapsed(), &memory), Process::new(Idempotency::builder(), &memory));
    let gate = Gate::new("the body");
    let first = tokio::spawn(leader(&other, &gate, End::Value(7)));
    gate.reached().await;
    let waiters: Vec<_> = (0..100).map(|_| waiter(&process, 8)).collect();
    all_wait().await;
    gate.open();
    assert_eq!(first.await.expect("no panic").0, Ok(7));
    for ended in join_all(waiters).await {
        is_replay(&ended.expect("no panic"), 7);
    }
    assert_eq!(process.ran(), 0);
}
