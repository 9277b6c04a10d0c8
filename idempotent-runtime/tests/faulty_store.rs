//! The store that fails on demand: sound without a fault, and each fault is what it says.

#![cfg(all(feature = "conformance", feature = "testing"))]

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use idempotent_runtime::conformance::TokioClock;
use idempotent_runtime::store::{
    Acquired, Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, OnLapse, Retention, Store, StoreErrorKind,
};
use idempotent_runtime::testing::{Answered, End, Fault, FaultyStore, Gate, Operation};
use idempotent_runtime::{Error, ErrorKind, Idempotency, Key, MemoryStore, NoResult, Recorded, Token};

mod without_a_fault {
    use super::*;

    async fn faulty() -> TokioClock {
        TokioClock::pause(FaultyStore::new(MemoryStore::new()))
    }

    idempotent_runtime::conformance_suite!(faulty);
}

const TOKEN: Token = Token::from_u128(1);
const HOUR: Retention = Retention::For(Duration::from_hours(1));

fn request() -> ClaimRequest<'static> {
    ClaimRequest {
        token: TOKEN,
        owner: "worker",
        fingerprint: None,
        lease: Duration::from_secs(30),
        retention: HOUR,
        held: HOUR,
        on_lapse: OnLapse::TakeOver,
        max_attempts: None,
        supersede: None,
        begun: true,
        fenced: false,
    }
}

fn store() -> (FaultyStore, MemoryStore, Key) {
    let memory = MemoryStore::new();
    (FaultyStore::new(memory.clone()), memory, Key::from_text("p:1"))
}

fn poll<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Poll<T> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

async fn claim(store: &impl Store, key: &Key) -> Result<ClaimAnswer, StoreErrorKind> {
    store.claim(key, &request()).await.map_err(|error| error.kind())
}

async fn renew(store: &impl Store, key: &Key) -> Result<Answer, StoreErrorKind> {
    store.renew(key, TOKEN).await.map_err(|error| error.kind())
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_is_not_applied() {
    let (faulty, memory, key) = store();
    faulty.next(Operation::Claim, Fault::Fails);
    assert_eq!(claim(&faulty, &key).await, Err(StoreErrorKind::Unavailable));
    assert!(memory.is_empty());
    faulty.next(Operation::Claim, Fault::Refuses);
    assert_eq!(claim(&faulty, &key).await, Err(StoreErrorKind::Refused));
    assert!(memory.is_empty());
    assert!(matches!(claim(&faulty, &key).await, Ok(ClaimAnswer::Acquired(Acquired { attempt: 1, .. }))));
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_answer_is_lost_is_applied() {
    let (faulty, memory, key) = store();
    faulty.next(Operation::Claim, Fault::LosesAnswer);
    assert_eq!(claim(&faulty, &key).await, Err(StoreErrorKind::Unavailable));
    assert_eq!(renew(&memory, &key).await, Ok(Answer::Held));
    let end = faulty.history().remove(0).end;
    let End::Failed(StoreErrorKind::Unavailable, Some(Answered::Claim(ClaimAnswer::Acquired(_)))) = end else {
        panic!("{end:?}");
    };
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_at_its_gate_before_or_after_it_is_applied() {
    let (faulty, memory, key) = store();
    let before = Gate::new("before");
    faulty.next(Operation::Claim, Fault::WaitsBefore(before.clone()));
    let mut waiting = pin!(claim(&faulty, &key));
    assert!(poll(waiting.as_mut()).is_pending());
    before.reached().await;
    assert!(memory.is_empty());
    before.open();
    assert!(matches!(waiting.await, Ok(ClaimAnswer::Acquired(_))));

    let after = Gate::new("after");
    let done = Recorded::Nothing(NoResult::NotWanted);
    faulty.next(Operation::Complete, Fault::WaitsAfter(after.clone()));
    let mut waiting = pin!(faulty.complete(&key, TOKEN, &done, HOUR));
    assert!(poll(waiting.as_mut()).is_pending());
    assert!(matches!(claim(&memory, &key).await, Ok(ClaimAnswer::Completed(_))));
    after.open();
    assert_eq!(waiting.await.unwrap(), CompleteAnswer::Held);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_never_answered_is_seen_to_be_dropped() {
    let (faulty, memory, key) = store();
    faulty.next(Operation::Claim, Fault::NeverAnswers);
    let second = Duration::from_secs(1);
    assert!(tokio::time::timeout(second, claim(&faulty, &key)).await.is_err());
    assert!(memory.is_empty());
    assert_eq!(faulty.history()[0].end, End::Dropped);
    faulty.quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_late_message_is_applied_when_it_is_delivered() {
    let (faulty, memory, key) = store();
    faulty.next(Operation::Claim, Fault::ArrivesLate);
    assert!(tokio::time::timeout(Duration::from_secs(1), claim(&faulty, &key)).await.is_err());
    assert!(memory.is_empty());

    // The caller has given up and puts back what it may have claimed: the claim, arriving now, stays dead.
    assert_eq!(faulty.put_back(&key, TOKEN, request().lease, None).await.unwrap(), Answer::Held);
    let late = Answered::Claim(ClaimAnswer::Lost);
    assert_eq!(faulty.deliver_late().await.unwrap(), std::slice::from_ref(&late));
    assert_eq!(faulty.history()[0].end, End::Late(late));
    assert_eq!(faulty.deliver_late().await.unwrap(), [], "once");
}

#[tokio::test(start_paused = true)]
async fn every_operation_arrives_late_as_it_was_sent() {
    let (faulty, _, key) = store();
    for operation in Operation::ALL {
        faulty.next(operation, Fault::ArrivesLate);
    }
    let done = Recorded::Nothing(NoResult::NotWanted);
    let lease = request().lease;
    assert!(poll(pin!(claim(&faulty, &key))).is_pending());
    assert!(poll(pin!(faulty.begin(&key, TOKEN))).is_pending());
    assert!(poll(pin!(renew(&faulty, &key))).is_pending());
    assert!(poll(pin!(faulty.complete(&key, TOKEN, &done, HOUR))).is_pending());
    let failed = idempotent_runtime::store::Release::Failed("burnt");
    assert!(poll(pin!(faulty.release(&key, TOKEN, failed, lease))).is_pending());
    assert!(poll(pin!(faulty.put_back(&key, TOKEN, lease, None))).is_pending());
    let answers = faulty.deliver_late().await.unwrap();
    assert!(matches!(answers[0], Answered::Claim(ClaimAnswer::Acquired(_))));
    let (held, lost) = (Answered::Plain(Answer::Held), Answered::Plain(Answer::Lost));
    assert_eq!(answers[1..], [held.clone(), held, Answered::Complete(CompleteAnswer::Held), lost.clone(), lost]);
}

#[tokio::test(start_paused = true)]
async fn the_nth_call_from_now_fails_and_no_other() {
    let (faulty, _, key) = store();
    claim(&faulty, &key).await.unwrap();
    renew(&faulty, &key).await.unwrap();
    faulty.nth(Operation::Renew, 2, Fault::Fails);
    faulty.nth(Operation::Renew, 4, Fault::Refuses);
    let mut failed = Vec::new();
    for nth in 1..=5 {
        if let Err(kind) = renew(&faulty, &key).await {
            failed.push((nth, kind));
        }
    }
    assert_eq!(failed, [(2, StoreErrorKind::Unavailable), (4, StoreErrorKind::Refused)]);
}

#[tokio::test(start_paused = true)]
async fn a_store_goes_down_and_heals() {
    let (faulty, _, key) = store();
    faulty.go_down();
    for _ in 0..3 {
        assert_eq!(claim(&faulty, &key).await, Err(StoreErrorKind::Unavailable));
        assert_eq!(renew(&faulty, &key).await, Err(StoreErrorKind::Unavailable));
    }
    faulty.heal();
    assert!(matches!(claim(&faulty, &key).await, Ok(ClaimAnswer::Acquired(_))));
    assert_eq!(faulty.calls(Operation::Claim), 4);
}

#[tokio::test(start_paused = true)]
async fn a_test_waits_for_the_nth_call() {
    let (faulty, _, key) = store();
    let mut second = pin!(faulty.called(Operation::Renew, 2));
    assert!(poll(second.as_mut()).is_pending());
    renew(&faulty, &key).await.unwrap();
    assert!(poll(second.as_mut()).is_pending());
    renew(&faulty, &key).await.unwrap();
    second.await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_is_tested_against_an_outage_at_its_completion() {
    // Scenario 23: the effect has happened, and cannot be recorded. A duplicate is busy, never a second run.
    let (faulty, _, _) = store();
    let idempotency = Idempotency::with_store(faulty.clone());
    let pay = || idempotency.call("pay").key(1001).ttl(Duration::from_hours(1));
    faulty.always(Operation::Complete, Fault::Fails);
    assert_eq!(pay().run(async { Ok::<_, Error>(12) }).await.unwrap(), 12);
    assert_eq!(pay().run(async { Ok::<_, Error>(13) }).await.unwrap_err().kind(), ErrorKind::Busy);
    faulty.heal();
    assert_eq!(idempotency.shutdown(Duration::from_mins(1)).await, Ok(()));
    assert_eq!(pay().run(async { Ok::<_, Error>(13) }).await.unwrap(), 12);
}
