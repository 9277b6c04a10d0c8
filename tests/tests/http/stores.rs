//! The layer on the stores that a service has: bytes that are no text, a key that is busy, one that is held, and a response
//! that is not stored.

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::{AppendHeaders, IntoResponse as _, Response};
use bytes::Bytes;
use http_body::Frame;
use http_body_util::StreamBody;
use idempotent_runtime::Idempotency;
use idempotent_runtime::http::ServerErrors;
use idempotent_runtime::testing::Gate;
use servers::{Postgres, Redis, RedisBinary, needed};

use crate::support::{Ask, Runs, Via, answering, gated, scoped};

#[tokio::test]
async fn it_runs_on_redis() {
    let Some(redis) = needed(Redis::start(RedisBinary::System)) else { return };
    on_the_store_at(&redis.url()).await;
}

#[tokio::test]
async fn it_runs_on_postgresql() {
    let Some(postgres) = needed(Postgres::start()) else { return };
    on_the_store_at(&postgres.url()).await;
}

#[tokio::test]
async fn it_runs_on_sqlite() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    on_the_store_at(&format!("sqlite:{}", folder.path().join("records.db").display())).await;
}

async fn on_the_store_at(url: &str) {
    let idempotency = Idempotency::connect(url).await.expect("the store answers");
    // Two processes, as far as the store knows.
    let other = Idempotency::connect(url).await.expect("the store answers");
    bytes_come_back(&idempotency, &other).await;
    a_key_is_busy(&idempotency, &other).await;
    a_key_is_held(&idempotency, &other).await;
    a_response_is_not_stored(&idempotency, &other).await;
}

async fn bytes_come_back(idempotency: &Idempotency, other: &Idempotency) {
    let respond = |run: u32| {
        let headers = AppendHeaders([("warning", "a"), ("warning", "b"), ("content-type", "application/octet-stream")]);
        (StatusCode::CREATED, headers, [&run.to_be_bytes()[..], b"\xff\xfe\0\r\n{}"].concat())
    };
    let runs = Runs::default();
    let mut answers = Vec::new();
    for idempotency in [idempotency, other, idempotency] {
        let shop = Via::Socket.shop(answering(&runs, respond).layer(scoped(idempotency).build().unwrap())).await;
        answers.push(Ask::pay("bytes").to(&shop).await);
    }
    assert_eq!(answers[0].bytes, &b"\0\0\0\x01\xff\xfe\0\r\n{}"[..]);
    for replay in &answers[1..] {
        assert!(replay.is_replay());
        assert_eq!((replay.status, &replay.bytes), (201, &answers[0].bytes));
        assert_eq!(replay.headers.get_all("warning").iter().collect::<Vec<_>>(), ["a", "b"]);
    }
    assert_eq!(runs.count(), 1);
}

async fn a_key_is_busy(idempotency: &Idempotency, other: &Idempotency) {
    let (runs, gate) = (Runs::default(), Gate::new("paying"));
    let first = Via::Socket.shop(gated(&runs, &gate, scoped(idempotency).build().unwrap())).await;
    let second = Via::Socket.shop(gated(&runs, &gate, scoped(other).build().unwrap())).await;
    let running = Ask::pay("busy").send(&first);
    gate.reached().await;
    let busy = Ask::pay("busy").to(&second).await;
    assert_eq!((busy.status, &*busy.problem(), busy.header("retry-after")), (409, "in-flight", Some("1")));
    let reused = Ask::pay("busy").body("other").to(&second).await;
    assert_eq!((reused.status, &*reused.problem()), (422, "key-reused"));
    gate.open();
    assert_eq!(running.await.unwrap().status, 201);
    assert!(Ask::pay("busy").to(&second).await.is_replay());
    assert_eq!(runs.count(), 1);
}

async fn a_key_is_held(idempotency: &Idempotency, other: &Idempotency) {
    let runs = Runs::default();
    for (idempotency, status, body) in
        [(idempotency, 502, "?"), (other, 500, "outcome-unknown"), (other, 500, "outcome-unknown")]
    {
        let layer = scoped(idempotency).server_errors(ServerErrors::Hold).build().unwrap();
        let shop = Via::Socket.shop(answering(&runs, |_| (StatusCode::BAD_GATEWAY, "?")).layer(layer)).await;
        let answer = Ask::pay("held").to(&shop).await;
        assert!(answer.status == status && answer.body.contains(body), "{answer:?}");
    }
    assert_eq!(runs.count(), 1);
}

async fn a_response_is_not_stored(idempotency: &Idempotency, other: &Idempotency) {
    let streamed = |_| {
        let chunk = Ok::<_, std::convert::Infallible>(Frame::data(Bytes::from_static(b"paid")));
        Response::new(Body::new(StreamBody::new(futures_util::stream::iter([chunk])))).into_response()
    };
    let runs = Runs::default();
    for (idempotency, status, body) in [(idempotency, 200, "paid"), (other, 410, "response-not-stored")] {
        let shop = Via::Socket.shop(answering(&runs, streamed).layer(scoped(idempotency).build().unwrap())).await;
        let answer = Ask::pay("streamed").to(&shop).await;
        assert!(answer.status == status && answer.body.contains(body), "{answer:?}");
    }
    assert_eq!(runs.count(), 1);
}
