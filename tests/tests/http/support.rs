//! A small service behind the layer, and ways to send it a request: to the router itself, or through a socket.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::body::Body;
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use axum::response::IntoResponse;
use axum::routing::any;
use axum::{Json, Router};
use http_body_util::BodyExt as _;
use idempotent_runtime::Idempotency;
use idempotent_runtime::admin::Inspected;
use idempotent_runtime::http::{IdempotencyLayer, LayerBuilder, Scoped};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tower::ServiceExt as _;

/// How often a handler has run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs(Arc<AtomicU32>);

impl Runs {
    pub(crate) fn count(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    /// One more; which one it is.
    pub(crate) fn run(&self) -> u32 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }
}

/// A layer whose scope is the `Authorization` header.
pub(crate) fn scoped(idempotency: &Idempotency) -> LayerBuilder<Scoped> {
    IdempotencyLayer::builder(idempotency).scope(|request| {
        let value = request.headers.get(AUTHORIZATION)?;
        Some(value.to_str().ok()?.to_owned())
    })
}

/// A layer with defaults, in memory.
pub(crate) fn layer() -> IdempotencyLayer {
    scoped(&Idempotency::memory()).build().expect("the settings can be used")
}

/// `/payments` and `/payments/{id}`: each run answers 201 with its number.
pub(crate) fn payments(runs: &Runs) -> Router {
    let runs = runs.clone();
    let pay = any(move || async move {
        let run = runs.run();
        (StatusCode::CREATED, [("location", format!("/payments/{run}"))], Json(json!({ "run": run })))
    });
    Router::new().route("/payments", pay.clone()).route("/payments/{id}", pay)
}

/// A router of one POST route, `/payments`, that answers as `respond` does with the number of the run.
pub(crate) fn answering<R: IntoResponse + 'static>(
    runs: &Runs,
    respond: impl Fn(u32) -> R + Clone + Send + Sync + 'static,
) -> Router {
    let runs = runs.clone();
    Router::new().route("/payments", any(move || async move { respond(runs.run()).into_response() }))
}

/// A request as a client sends it that is Ada.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Ask {
    pub(crate) fn new(method: Method, path: &str) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer ada"));
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        Self { method, path: path.to_owned(), headers, body: br#"{"amount_minor":1200}"#.to_vec() }
    }

    /// A payment with a key, written as a Structured Field String.
    pub(crate) fn pay(key: &str) -> Self {
        Self::new(Method::POST, "/payments").key(&format!("{key:?}"))
    }

    /// The key's field as it stands on the wire.
    pub(crate) fn key(self, field: &str) -> Self {
        self.header("idempotency-key", field)
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.insert(name, HeaderValue::from_bytes(value.as_bytes()).expect("a header's value"));
        self
    }

    pub(crate) fn another(mut self, name: &'static str, value: &str) -> Self {
        self.headers.append(name, HeaderValue::from_str(value).expect("a header's value"));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    pub(crate) fn of(self, name: &str) -> Self {
        self.header("authorization", &format!("Bearer {name}"))
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn request(&self) -> Request<Body> {
        let mut request = Request::new(Body::from(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.path.parse().expect("a path");
        *request.headers_mut() = self.headers.clone();
        request
    }

    /// Sends it to the router itself.
    pub(crate) async fn to(&self, router: &Router) -> Answer {
        let Ok(response) = router.clone().oneshot(self.request()).await;
        Answer::of(response).await
    }
}

/// A response that was read to its end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) async fn of<B>(response: Response<B>) -> Self
    where
        B: http_body::Body<Error: std::fmt::Debug>,
    {
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("the body can be read").to_bytes();
        let body = String::from_utf8_lossy(&body).into_owned();
        Self { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    pub(crate) async fn of_reqwest(response: reqwest::Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Self { status, headers, body: response.text().await.expect("the body can be read") }
    }

    pub(crate) fn is_replay(&self) -> bool {
        self.headers.get("idempotent-replayed").is_some_and(|value| value == "true")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The name at the end of the problem's type; checks that it is a problem as RFC 9457 has it.
    pub(crate) fn problem(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem: Value = serde_json::from_str(&self.body).expect("JSON");
        assert_eq!(problem["status"], self.status, "{self:?}");
        assert!(problem["title"].is_string() && problem["detail"].is_string(), "{self:?}");
        let kind = problem["type"].as_str().expect("a type");
        assert_eq!(self.header("link"), Some(&*format!("<{kind}>; rel=\"describedby\"")), "{self:?}");
        kind.split_once('#').expect("a fragment").1.to_owned()
    }
}

/// The record of Ada's payment under `key`, if there is one.
pub(crate) async fn record(idempotency: &Idempotency, layer: &IdempotencyLayer, key: &str) -> Option<Inspected> {
    let key = layer.record_key(&Method::POST, "/payments", Some("Bearer ada"), key).expect("a key");
    idempotency.inspect(&key).await.expect("the store can be asked")
}

/// Serves a router on a port of its own, for as long as the test's runtime lives.
pub(crate) async fn serve(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}
