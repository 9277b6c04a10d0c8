//! What the conformance suite cannot see: waking, sweeping, and when an operation takes effect.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::MemoryStore;
use crate::record::{NoResult, Recorded};
use crate::store::{
    Acquired, Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, Found, OnLapse, Release, Retention, Store,
};
use crate::{Key, Token};

const LEASE: Duration = Duration::from_secs(30);
const HOUR: Retention = Retention::For(Duration::from_hours(1));
const A: Token = Token::from_u128(1);
const B: Token = Token::from_u128(2);

fn record(store: &MemoryStore, key: &Key) -> String {
    let (part, key) = store.hashed(key);
    part.lock().debug_record(key)
}

fn request(token: Token) -> ClaimRequest<'static> {
    ClaimRequest {
        token,
        owner: "worker",
        fingerprint: None,
        lease: LEASE,
        retention: HOUR,
        held: HOUR,
        on_lapse: OnLapse::TakeOver,
        max_attempts: None,
        supersede: None,
        begun: true,
        fenced: false,
    }
}

fn result() -> Recorded {
    Recorded::Nothing(NoResult::NotWanted)
}

type End = fn(&MemoryStore, &Key);

/// Every operation of this store answers at its first poll.
fn now<T>(answer: impl Future<Output = T>) -> T {
    match pin!(answer).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("the answer was not there at the first poll"),
    }
}

fn claim(store: &MemoryStore, key: &Key, token: Token) -> ClaimAnswer {
    now(store.claim(key, &request(token))).expect("memory answers")
}

fn complete(store: &MemoryStore, key: &Key, token: Token) -> CompleteAnswer {
    now(store.complete(key, token, &result(), HOUR)).expect("memory answers")
}

fn wakes(mut watch: crate::store::Watch) -> bool {
    pin!(watch.ended()).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[tokio::test(start_paused = true)]
async fn a_claim_lapses_on_tokios_clock_and_is_taken_over() {
    let (store, key) = (MemoryStore::new(), Key::from_text("p:1"));
    assert!(matches!(claim(&store, &key, A), ClaimAnswer::Acquired(Acquired { attempt: 1, .. })));
    tokio::time::advance(Duration::from_nanos(29_999_999_999)).await;
    assert!(matches!(claim(&store, &key, B), ClaimAnswer::InProgress { .. }));
    tokio::time::advance(Duration::from_nanos(1)).await;
    let answer = claim(&store, &key, B);
    assert!(
        matches!(answer, ClaimAnswer::Acquired(Acquired { attempt: 2, found: Found::Lapsed { begun: true }, .. })),
        "{answer:?}"
    );
    assert_eq!(complete(&store, &key, A), CompleteAnswer::Lost(None));
    assert_eq!(complete(&store, &key, B), CompleteAnswer::Held);
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_is_never_polled_changes_nothing() {
    let (store, key) = (MemoryStore::new(), Key::from_text("p:1"));
    drop(store.claim(&key, &request(A)));
    assert!(store.is_empty());
}

#[tokio::test(start_paused = true)]
async fn every_end_of_a_run_wakes_a_watch_that_was_made_before() {
    let store = MemoryStore::new();
    let ends: [(&str, End); 4] = [
        ("complete", |store, key| assert_eq!(complete(store, key, A), CompleteAnswer::Held)),
        ("release", |store, key| {
            let released = now(store.release(key, A, Release::Failed("burnt"), LEASE));
            assert_eq!(released.expect("memory answers"), Answer::Held);
        }),
        ("given up", |store, key| {
            let released = now(store.release(key, A, Release::GivenUp, LEASE));
            assert_eq!(released.expect("memory answers"), Answer::Held);
        }),
        ("put back", |store, key| {
            assert_eq!(now(store.put_back(key, A, LEASE, None)).expect("memory answers"), Answer::Held);
        }),
    ];
    for (name, end) in ends {
        let key = Key::from_text(name);
        claim(&store, &key, A);
        let (first, second) = (store.watch(&key), store.watch(&key));
        let mut polled = store.watch(&key);
        let mut waiting = pin!(polled.ended());
        assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        end(&store, &key);
        assert!(wakes(first) && wakes(second), "{name}, not polled before");
        assert!(waiting.poll(&mut Context::from_waker(Waker::noop())).is_ready(), "{name}, polled before");
        assert!(!wakes(store.watch(&key)), "{name}: a later watch waits for the next end");
    }
}

#[tokio::test(start_paused = true)]
async fn other_keys_and_refused_operations_wake_nobody() {
    let (store, key) = (MemoryStore::new(), Key::from_text("p:1"));
    claim(&store, &key, A);
    let watch = store.watch(&key);
    let other = Key::from_text("p:2");
    claim(&store, &other, B);
    complete(&store, &other, B);
    complete(&store, &key, B);
    assert!(!wakes(watch));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_watch_leaves_nothing_behind() {
    let (store, key) = (MemoryStore::new(), Key::from_text("p:1"));
    let (first, second) = (store.watch(&key), store.watch(&key));
    drop(first);
    assert_eq!(store.part(&key).watchers.len(), 1);
    drop(second);
    assert_eq!(store.part(&key).watchers.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn unique_keys_do_not_pile_up() {
    let store = MemoryStore::new();
    let short = Retention::For(2 * LEASE);
    for round in 0..20 {
        for at in 0..1000 {
            let key = Key::from_text(&format!("p:{round}-{at}"));
            now(store.claim(&key, &request(A))).expect("memory answers");
            now(store.complete(&key, A, &result(), short)).expect("memory answers");
        }
        tokio::time::advance(2 * LEASE).await;
    }
    // What remains are the last keys, and what the sweep has not come to yet.
    assert!(store.len() <= 2000, "{} records", store.len());
}

#[tokio::test(start_paused = true)]
async fn a_record_in_the_place_of_another_is_swept_at_its_own_time() {
    let store = MemoryStore::new();
    let keys = |name: &str| (0..500).map(|at| Key::from_text(&format!("{name}:{at}"))).collect::<Vec<_>>();
    // Completed for a second, so that the claims' entries, a minute ahead, outlive their records.
    let (brief, twice) = (Retention::For(Duration::from_secs(1)), Retention::For(2 * LEASE));
    for key in &keys("first") {
        now(store.claim(key, &ClaimRequest { retention: twice, held: twice, ..request(A) })).expect("memory answers");
        now(store.complete(key, A, &result(), brief)).expect("memory answers");
    }
    tokio::time::advance(Duration::from_secs(2)).await;
    let second = keys("second");
    for key in &second {
        claim(&store, key, A);
        complete(&store, key, A);
    }
    tokio::time::advance(3 * LEASE).await;
    for key in &keys("third") {
        claim(&store, key, A);
    }
    for key in &second {
        assert!(matches!(claim(&store, key, B), ClaimAnswer::Completed(_)), "{key}");
    }
    for round in 0..4 {
        // So many that they reach every part of the store.
        tokio::time::advance(Duration::from_hours(1)).await;
        for at in 0..2000 {
            claim(&store, &Key::from_text(&format!("fourth:{round}-{at}")), A);
        }
    }
    assert!(second.iter().all(|key| record(&store, key) == "None"), "{} records", store.len());
}

#[tokio::test(start_paused = true)]
async fn a_renewed_record_is_not_swept_away() {
    let (store, key) = (MemoryStore::new(), Key::from_text("p:1"));
    let twice = Retention::For(2 * LEASE);
    let short = ClaimRequest { retention: twice, held: twice, ..request(A) };
    now(store.claim(&key, &short)).expect("memory answers");
    for _ in 0..10 {
        tokio::time::advance(LEASE).await;
        assert_eq!(now(store.renew(&key, A)).expect("memory answers"), Answer::Held);
    }
    assert!(matches!(claim(&store, &key, B), ClaimAnswer::InProgress { .. }));
    tokio::time::advance(2 * LEASE).await;
    assert!(matches!(claim(&store, &key, B), ClaimAnswer::Acquired(Acquired { attempt: 1, .. })));
}

#[tokio::test(start_paused = true)]
async fn a_renewed_record_is_swept_away_in_the_end() {
    let (store, key) = (MemoryStore::new(), Key::from_text("p:1"));
    let twice = Retention::For(2 * LEASE);
    let short = ClaimRequest { retention: twice, held: twice, ..request(A) };
    now(store.claim(&key, &short)).expect("memory answers");
    tokio::time::advance(LEASE).await;
    assert_eq!(now(store.renew(&key, A)).expect("memory answers"), Answer::Held);
    for at in 0..1000 {
        // Writes to other keys: first while the record's first retention is over, then its second.
        tokio::time::advance(Duration::from_secs(1)).await;
        claim(&store, &Key::from_text(&format!("p:other-{at}")), B);
    }
    assert_eq!(record(&store, &key), "None");
}

#[tokio::test(start_paused = true)]
async fn a_poison_message_does_not_make_its_record_grow() {
    let (store, key) = (MemoryStore::new(), Key::from_text("p:1"));
    for token in 1..1000 {
        claim(&store, &key, Token::from_u128(token));
        tokio::time::advance(LEASE).await;
    }
    assert!(record(&store, &key).len() < 2000);
}
