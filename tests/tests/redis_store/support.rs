//! A server, a store on it, and one call.

use std::time::{Duration, Instant};

use idempotent_runtime::store::{
    Acquired, Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, Found, OnLapse, RedisStore, RedisStoreBuilder,
    Retention, StoreError, StoreErrorKind,
};
use idempotent_runtime::{CodecTag, Encoded, Fingerprint, Key, Recorded, Store, Token};
use servers::{Redis, RedisBinary};

pub(crate) const LEASE: Duration = Duration::from_secs(30);
pub(crate) const KEPT: Retention = Retention::For(Duration::from_hours(24));

/// The response time-out of the stores in these tests: long for a machine that is busy, short for a person.
pub(crate) const PATIENCE: Duration = Duration::from_millis(400);

/// What every operation must be answered within, one way or the other: a time-out in quarters, one attempt to connect,
/// and room for a busy machine.
pub(crate) const BOUND: Duration = Duration::from_millis(2500);

pub(crate) fn redis() -> Option<Redis> {
    servers::needed(Redis::start(RedisBinary::System))
}

pub(crate) fn builder() -> RedisStoreBuilder {
    RedisStore::builder().response_timeout(PATIENCE).connect_timeout(2 * PATIENCE)
}

pub(crate) async fn store(url: &str) -> RedisStore {
    builder().connect(url).await.expect("the server was started for this")
}

pub(crate) fn key() -> Key {
    Key::from_text(&format!("shop:order:{}", Token::random()))
}

pub(crate) fn request(token: Token) -> ClaimRequest<'static> {
    ClaimRequest {
        token,
        owner: "kitchen-1:71",
        fingerprint: Some(Fingerprint::from_u128(7)),
        lease: LEASE,
        retention: KEPT,
        held: KEPT,
        on_lapse: OnLapse::TakeOver,
        max_attempts: None,
        supersede: None,
        begun: true,
        fenced: false,
    }
}

pub(crate) fn result(json: &str) -> Recorded {
    Recorded::Value(Encoded { codec: CodecTag::JSON, bytes: json.as_bytes().into() })
}

pub(crate) const FIRST: ClaimAnswer = ClaimAnswer::Acquired(Acquired { attempt: 1, found: Found::Absent, fence: None });

pub(crate) async fn claim(store: &RedisStore, key: &Key, token: Token) -> Result<ClaimAnswer, StoreError> {
    within_bound(store.claim(key, &request(token))).await
}

pub(crate) async fn complete(store: &RedisStore, key: &Key, token: Token) -> Result<CompleteAnswer, StoreError> {
    within_bound(store.complete(key, token, &result("{\"receipt\":7}"), KEPT)).await
}

pub(crate) async fn renew(store: &RedisStore, key: &Key, token: Token) -> Result<Answer, StoreError> {
    within_bound(store.renew(key, token)).await
}

pub(crate) async fn within_bound<T>(answer: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, answer).await.expect("an answer, one way or the other, within the bound")
}

#[track_caller]
pub(crate) fn unavailable<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> StoreError {
    let error = answer.expect_err("the store cannot answer");
    assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{error}");
    error
}

#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> StoreError {
    let error = answer.expect_err("the store refuses");
    assert_eq!(error.kind(), StoreErrorKind::Refused, "{error}");
    error
}

/// What the guard does: repeats an operation until the store answers, for ten seconds at the most.
pub(crate) async fn at_last<T>(mut operation: impl AsyncFnMut() -> Result<T, StoreError>) -> T {
    let started = Instant::now();
    loop {
        match operation().await {
            Ok(answer) => return answer,
            Err(error) => assert!(started.elapsed() < Duration::from_secs(10), "still no answer: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Polls until `done`, for ten seconds at the most.
pub(crate) async fn until(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < Duration::from_secs(10), "{what}: not within ten seconds");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) fn text(server: &Redis, key: &Key) -> Option<String> {
    server.cli(&["GET", key.as_str()]).expect("the server answers").text().map(str::to_owned)
}

/// Connections of clients, without the one that asks.
pub(crate) fn clients(server: &Redis) -> usize {
    let clients = server.cli(&["CLIENT", "LIST", "TYPE", "normal"]).expect("the server answers");
    clients.text().unwrap_or_default().lines().count() - 1
}
