//! Point 42: the client's half.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use idempotent_runtime::Idempotency;
use idempotent_runtime::http::client::{IdempotencyKey, Resend};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::support::{Answer, Runs, scoped, serve};

/// A server without the layer that answers each request as `respond` does, and remembers the keys.
async fn server(respond: impl Fn(u32) -> Response + Clone + Send + Sync + 'static) -> (String, Arc<Keys>) {
    let keys = Arc::<Keys>::default();
    let (seen, runs) = (Arc::clone(&keys), Runs::default());
    let pay = move |headers: HeaderMap| async move {
        let all = headers.get_all("idempotency-key").iter().map(|value| value.to_str().unwrap().to_owned());
        seen.0.lock().unwrap().extend(all);
        respond(runs.run())
    };
    let router = axum::Router::new().route("/payments", axum::routing::post(pay));
    (format!("http://{}/payments", serve(router).await), keys)
}

#[derive(Debug, Default)]
struct Keys(std::sync::Mutex<Vec<String>>);

impl Keys {
    fn sent(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

fn quick() -> Resend {
    Resend::default().first_pause(Duration::from_millis(1))
}

#[tokio::test]
async fn point_42_one_key_is_kept_across_the_retries_of_an_operation() {
    let (url, keys) =
        server(|run| if run < 3 { StatusCode::BAD_GATEWAY } else { StatusCode::CREATED }.into_response()).await;
    let key = IdempotencyKey::new();
    let response = quick().send(reqwest::Client::new().post(&url).body("x"), &key).await.unwrap();
    assert_eq!(response.status(), 201);
    assert_eq!(keys.sent(), vec![format!("\"{key}\""); 3]);
}

#[tokio::test]
async fn point_42_a_mismatch_is_an_answer_and_is_not_sent_again() {
    for status in [StatusCode::UNPROCESSABLE_ENTITY, StatusCode::BAD_REQUEST, StatusCode::CONFLICT, StatusCode::GONE] {
        let (url, keys) = server(move |_| status.into_response()).await;
        let response = quick().send(reqwest::Client::new().post(&url), &IdempotencyKey::new()).await.unwrap();
        assert_eq!((response.status(), keys.sent().len()), (status, 1));
    }
}

#[tokio::test]
async fn point_42_a_busy_key_waits_as_long_as_the_server_says() {
    let (url, keys) = server(|run| match run {
        1 => (StatusCode::CONFLICT, [("retry-after", "1")]).into_response(),
        _ => StatusCode::CREATED.into_response(),
    })
    .await;
    let before = std::time::Instant::now();
    let response = quick().send(reqwest::Client::new().post(&url), &IdempotencyKey::new()).await.unwrap();
    assert_eq!((response.status().as_u16(), keys.sent().len()), (201, 2));
    assert!(before.elapsed() >= Duration::from_secs(1), "{:?}", before.elapsed());
    // A wait that would not end within the patience is not begun.
    let (url, keys) = server(|_| (StatusCode::CONFLICT, [("retry-after", "60")]).into_response()).await;
    let hasty = quick().patience(Duration::from_secs(2));
    let response = hasty.send(reqwest::Client::new().post(&url), &IdempotencyKey::new()).await.unwrap();
    assert_eq!((response.status().as_u16(), keys.sent().len()), (409, 1));
}

#[tokio::test]
async fn point_42_a_busy_key_is_no_attempt() {
    for busy in [StatusCode::CONFLICT, StatusCode::LOCKED] {
        let (url, keys) = server(move |run| match run {
            ..=20 => (busy, [("retry-after", "0")]).into_response(),
            _ => StatusCode::CREATED.into_response(),
        })
        .await;
        let response = quick().send(reqwest::Client::new().post(&url), &IdempotencyKey::new()).await.unwrap();
        assert_eq!((response.status().as_u16(), keys.sent().len()), (201, 21), "{busy}");
    }
}

#[tokio::test]
async fn point_42_no_wish_of_a_server_is_too_long_and_no_patience() {
    for (status, patience) in [(503, Duration::from_mins(1)), (409, Duration::MAX), (429, Duration::MAX)] {
        let answer =
            move |_| (StatusCode::from_u16(status).unwrap(), [("retry-after", "18446744073709551614")]).into_response();
        let (url, keys) = server(answer).await;
        let request = reqwest::Client::new().post(&url);
        let (resend, key) = (quick().patience(patience), IdempotencyKey::new());
        let sent = resend.send(request, &key);
        if patience == Duration::MAX {
            // It waits, for longer than anybody lives.
            assert!(tokio::time::timeout(Duration::from_millis(300), sent).await.is_err());
        } else {
            assert_eq!(sent.await.unwrap().status(), status);
        }
        assert_eq!(keys.sent().len(), 1);
    }
}

#[tokio::test]
async fn point_42_a_key_that_the_request_has_is_replaced() {
    let (url, keys) = server(|_| StatusCode::CREATED.into_response()).await;
    let request = reqwest::Client::new().post(&url).header("idempotency-key", "\"another\"");
    let key = IdempotencyKey::new();
    assert_eq!(quick().send(request, &key).await.unwrap().status(), 201);
    assert_eq!(keys.sent(), [format!("\"{key}\"")], "and there is one field");
}

#[tokio::test]
async fn point_42_a_body_that_cannot_be_sent_twice_is_sent_once() {
    let (url, keys) = server(|_| StatusCode::BAD_GATEWAY.into_response()).await;
    let chunks = futures_util::stream::iter([Ok::<_, std::io::Error>(http_body::Frame::data(bytes::Bytes::from("x")))]);
    let body = reqwest::Body::wrap(http_body_util::StreamBody::new(chunks));
    let request = reqwest::Client::new().post(&url).body(body);
    assert_eq!(quick().send(request, &IdempotencyKey::new()).await.unwrap().status(), 502);
    assert_eq!(keys.sent().len(), 1);
}

#[tokio::test]
async fn point_42_attempts_are_bounded() {
    let (url, keys) = server(|_| StatusCode::SERVICE_UNAVAILABLE.into_response()).await;
    let three = quick().attempts(NonZeroU32::new(3).unwrap());
    let response = three.send(reqwest::Client::new().post(&url), &IdempotencyKey::new()).await.unwrap();
    assert_eq!((response.status().as_u16(), keys.sent().len()), (503, 3));
}

#[tokio::test]
async fn point_42_an_answer_that_was_lost_is_fetched_again() {
    // The server runs the request; the connection breaks before the answer. With the layer, nothing runs twice.
    let runs = Runs::default();
    let layer = scoped(&Idempotency::memory()).build().unwrap();
    let address = serve(crate::support::payments(&runs).layer(layer)).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/payments", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut lost = 0;
        while let Ok((mut client, _)) = listener.accept().await {
            let mut server = tokio::net::TcpStream::connect(address).await.unwrap();
            if lost < 2 {
                lost += 1;
                let mut buffer = [0; 4096];
                let n = client.read(&mut buffer).await.unwrap();
                server.write_all(&buffer[..n]).await.unwrap();
                // Wait for the answer, and keep it.
                let _ = server.read(&mut buffer).await;
                continue;
            }
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut server).await });
        }
    });
    let request = reqwest::Client::new().post(&url).header("authorization", "Bearer ada").body("{}");
    let answer = Answer::of_reqwest(quick().send(request, &IdempotencyKey::new()).await.unwrap()).await;
    assert_eq!((answer.status, answer.is_replay(), runs.count()), (201, true, 1));
    assert_eq!(answer.body, r#"{"run":1}"#);
}
