//! A small service behind the layer, and the two ways to send it a request: to the router itself, and by a client through a
//! socket. A case that takes a [`Via`] runs both ways, by [`both!`].

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use axum::middleware::{self, Next};
use axum::response::IntoResponse;
use axum::routing::any;
use axum::{Json, Router};
use bytes::Bytes;
use http_body::Frame;
use http_body_util::{BodyExt as _, Collected, StreamBody};
use idempotent_runtime::Idempotency;
use idempotent_runtime::admin::Inspected;
use idempotent_runtime::http::{IdempotencyLayer, LayerBuilder, Scoped};
use idempotent_runtime::testing::Gate;
use reqwest::redirect::Policy;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tower::ServiceExt as _;

/// Makes each case two tests, `case::by_oneshot` and `case::by_socket`.
macro_rules! both {
    ($($case:ident),+ $(,)?) => { $(
        mod $case {
            #[tokio::test]
            async fn by_oneshot() {
                super::$case(crate::support::Via::Oneshot).await;
            }

            #[tokio::test]
            async fn by_socket() {
                super::$case(crate::support::Via::Socket).await;
            }
        }
    )+ };
}
pub(crate) use both;

/// How requests reach a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    /// As a call of the service.
    Oneshot,
    /// From a client (`reqwest`) through a socket to a server, each on a connection of its own.
    Socket,
}

impl Via {
    /// A shop that is reached so.
    pub(crate) async fn shop(self, router: Router) -> Shop {
        match self {
            Self::Oneshot => Shop::Router(router),
            Self::Socket => {
                let client = reqwest::Client::builder().pool_max_idle_per_host(0).redirect(Policy::none());
                Shop::Server(serve(router).await, client.build().expect("a client"))
            }
        }
    }
}

/// Where requests go.
#[derive(Clone, Debug)]
pub(crate) enum Shop {
    Router(Router),
    Server(SocketAddr, reqwest::Client),
}

impl From<&Router> for Shop {
    fn from(router: &Router) -> Self {
        Self::Router(router.clone())
    }
}

impl From<&Self> for Shop {
    fn from(shop: &Self) -> Self {
        shop.clone()
    }
}

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

/// The same, behind `layer`, with a handler that waits at a gate.
pub(crate) fn gated(runs: &Runs, gate: &Gate, layer: IdempotencyLayer) -> Router {
    let (runs, gate) = (runs.clone(), gate.clone());
    let pay = move || async move {
        let run = runs.run();
        gate.pass().await;
        (StatusCode::CREATED, Json(json!({ "run": run })))
    };
    Router::new().route("/payments", any(pay)).layer(layer)
}

/// What a server has done with its requests so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ends {
    /// Answered, or dropped.
    pub(crate) ended: u32,
    /// Dropped before they were answered: the server has seen that the client is gone.
    pub(crate) dropped: u32,
}

/// A router, and what becomes of its requests.
pub(crate) fn watched(router: Router) -> (Router, watch::Receiver<Ends>) {
    let (ends, seen) = watch::channel(Ends::default());
    let watch = move |request: axum::extract::Request, next: Next| {
        let mut open = Open { ends: ends.clone(), dropped: 1 };
        async move {
            let response = next.run(request).await;
            // With all of it, so that it is still open where this future is dropped.
            let open = &mut open;
            open.dropped = 0;
            response
        }
    };
    (router.layer(middleware::from_fn(watch)), seen)
}

struct Open {
    ends: watch::Sender<Ends>,
    dropped: u32,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.ends.send_modify(|Ends { ended, dropped }| (*ended, *dropped) = (*ended + 1, *dropped + self.dropped));
    }
}

/// Waits until a server has come so far.
pub(crate) async fn seen(ends: &watch::Receiver<Ends>, so_far: impl Fn(&Ends) -> bool) {
    let mut ends = ends.clone();
    let seen = timeout(Duration::from_mins(1), ends.wait_for(so_far)).await;
    drop(seen.expect("in time").expect("the router lives"));
}

/// Time goes by, in which nothing happens: for the store's clock, and not for sockets.
pub(crate) async fn later(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// A request as a client sends it that is Ada.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Vec<u8>,
    length: Length,
}

/// Whether a body's length is announced.
#[derive(Clone, Copy, Debug)]
enum Length {
    Announced,
    Unknown,
}

impl Ask {
    pub(crate) fn new(method: Method, path: &str) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer ada"));
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        Self {
            method,
            path: path.to_owned(),
            headers,
            body: br#"{"amount_minor":1200}"#.to_vec(),
            length: Length::Announced,
        }
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

    /// The body is sent in chunks, and its length not announced.
    pub(crate) fn chunked(mut self) -> Self {
        self.length = Length::Unknown;
        self
    }

    pub(crate) fn request(&self) -> Request<Body> {
        let mut request = Request::new(match self.length {
            Length::Announced => Body::from(self.body.clone()),
            Length::Unknown => Body::new(self.chunks()),
        });
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.path.parse().expect("a path");
        *request.headers_mut() = self.headers.clone();
        request
    }

    fn chunks(&self) -> impl http_body::Body<Data = Bytes, Error = Infallible> + Send + Sync + use<> {
        let chunks: Vec<_> = self.body.chunks(4).map(|chunk| Ok(Frame::data(Bytes::copy_from_slice(chunk)))).collect();
        StreamBody::new(futures_util::stream::iter(chunks))
    }

    /// Sends it, and waits for the head of the answer; `None` where there comes none.
    async fn try_open(&self, shop: impl Into<Shop>) -> Option<Opened> {
        match shop.into() {
            Shop::Router(router) => {
                // On a task of its own, as a server does it: a panic is its end, and not that of the test.
                let response = Abort(tokio::spawn(router.oneshot(self.request()))).await.ok()?;
                let Ok(response) = response;
                Some(Opened::Here(response))
            }
            Shop::Server(address, client) => {
                let request = client.request(self.method.clone(), format!("http://{address}{}", self.path));
                let request = request.headers(self.headers.clone()).body(match self.length {
                    Length::Announced => self.body.clone().into(),
                    Length::Unknown => reqwest::Body::wrap(self.chunks()),
                });
                request.send().await.ok().map(Opened::There)
            }
        }
    }

    /// Sends it, and waits for the head of the answer.
    pub(crate) async fn open(&self, shop: impl Into<Shop>) -> Opened {
        self.try_open(shop).await.expect("an answer")
    }

    /// Sends it, and reads the body of the answer, unless that breaks off. Where it is not known whether a head comes first,
    /// that is the same.
    pub(crate) async fn whole(&self, shop: impl Into<Shop>) -> Option<Bytes> {
        self.try_open(shop).await?.body().await
    }

    /// Sends it, and gets no answer.
    pub(crate) async fn breaks_off(&self, shop: impl Into<Shop>) {
        let answer = self.try_open(shop).await;
        assert!(answer.is_none(), "{answer:?}");
    }

    /// Sends it, and reads the answer.
    pub(crate) async fn to(&self, shop: impl Into<Shop>) -> Answer {
        self.open(shop).await.answer().await
    }

    /// Sends it from a task of its own: a client that goes away when the task is aborted.
    pub(crate) fn send(&self, shop: impl Into<Shop>) -> JoinHandle<Answer> {
        let (ask, shop) = (self.clone(), shop.into());
        tokio::spawn(async move { ask.to(&shop).await })
    }
}

/// A task that ends with who waits for it.
struct Abort<T>(JoinHandle<T>);

impl<T> Future for Abort<T> {
    type Output = Result<T, tokio::task::JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl<T> Drop for Abort<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A response whose head is here.
#[derive(Debug)]
pub(crate) enum Opened {
    Here(Response<Body>),
    There(reqwest::Response),
}

impl Opened {
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Here(response) => response.status().as_u16(),
            Self::There(response) => response.status().as_u16(),
        }
    }

    /// Its body, unless that breaks off.
    pub(crate) async fn body(self) -> Option<Bytes> {
        match self {
            Self::Here(response) => response.into_body().collect().await.ok().map(Collected::to_bytes),
            Self::There(response) => response.bytes().await.ok(),
        }
    }

    async fn answer(self) -> Answer {
        match self {
            Self::Here(response) => Answer::of(response).await,
            Self::There(response) => Answer::of_reqwest(response).await,
        }
    }
}

/// A response that was read to its end. Its body is text, or has `bytes` that are none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    pub(crate) bytes: Bytes,
}

impl Answer {
    pub(crate) async fn of<B>(response: Response<B>) -> Self
    where
        B: http_body::Body<Error: std::fmt::Debug>,
    {
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("the body can be read").to_bytes();
        Self::new(parts.status, parts.headers, body)
    }

    pub(crate) async fn of_reqwest(response: reqwest::Response) -> Self {
        let (status, headers) = (response.status(), response.headers().clone());
        Self::new(status, headers, response.bytes().await.expect("the body can be read"))
    }

    pub(crate) fn new(status: StatusCode, headers: HeaderMap, bytes: Bytes) -> Self {
        let body = String::from_utf8_lossy(&bytes).into_owned();
        Self { status: status.as_u16(), headers, body, bytes }
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
