//! The layer, and the service that it makes of another.

use std::future::Future;
use std::sync::Arc;

use ::http::request::Parts;
use ::http::{HeaderName, Method, Request, Response};
use bytes::Bytes;
use tower_layer::Layer;
use tower_service::Service;
use tracing::Instrument as _;

use super::body::{Body, BoxError};
use super::builder::{LayerBuilder, NoScope};
use super::call::{self, Origin, Reply, Served, Unserved};
use super::future::ResponseFuture;
use super::problem::Problem;
use super::receive::{Received, receive};
use super::serve::Serving;
use super::settings::{Admission, GuardedAlready, Refusal, Settings};
use super::stored::StoredResponse;
use crate::error::Error;
use crate::guard::Guard;
use crate::idempotency::{Idempotency, Outliving};
use crate::key::Key;
use crate::outcome::{Outcome, with_outcome};

/// A [`tower`](https://docs.rs/tower) layer that runs a request once per `Idempotency-Key`, and gives every retry the
/// first one's response. See the [module](crate::http).
#[derive(Clone, Debug)]
pub struct IdempotencyLayer {
    settings: Arc<Settings>,
}

impl IdempotencyLayer {
    /// Starts with default settings. A scope has to be named before the layer can be built.
    pub fn builder(idempotency: &Idempotency) -> LayerBuilder<NoScope> {
        LayerBuilder::new(idempotency.clone())
    }

    pub(super) fn from_settings(settings: Settings) -> Self {
        Self { settings: Arc::new(settings) }
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The headers that a browser must be allowed to send, for CORS (`Access-Control-Allow-Headers`).
    #[must_use]
    pub fn request_headers(&self) -> [HeaderName; 1] {
        [self.settings.header.clone()]
    }

    /// The headers that a browser must be allowed to see, for CORS (`Access-Control-Expose-Headers`).
    ///
    /// ```
    /// use idempotent_runtime::Idempotency;
    /// use idempotent_runtime::http::IdempotencyLayer;
    ///
    /// # fn main() -> Result<(), idempotent_runtime::Error> {
    /// let layer = IdempotencyLayer::builder(&Idempotency::memory()).unscoped().build()?;
    /// // CorsLayer::new().allow_headers(layer.request_headers()).expose_headers(layer.response_headers())
    /// assert_eq!(layer.request_headers().map(|name| name.to_string()), ["idempotency-key"]);
    /// assert!(layer.response_headers().iter().any(|name| name == "idempotent-replayed"));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn response_headers(&self) -> [HeaderName; 3] {
        [self.settings.marker.clone(), ::http::header::RETRY_AFTER, ::http::header::LINK]
    }

    /// The key of the record that such a request has: to look at it, and to resolve it. `route` is the route as the router
    /// names it (`/payments/{id}`), or the path where no router has left a name.
    ///
    /// ```
    /// use axum::http::Method;
    /// use idempotent_runtime::Idempotency;
    /// use idempotent_runtime::http::IdempotencyLayer;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), idempotent_runtime::Error> {
    /// let idempotency = Idempotency::memory();
    /// let layer = IdempotencyLayer::builder(&idempotency).scope(|_| Some("ada".into())).build()?;
    /// let key = layer.record_key(&Method::POST, "/payments", Some("ada"), "8e03978e")?;
    /// assert!(key.as_str().starts_with("http:POST:/payments:"), "scope and key are a digest");
    /// assert!(idempotency.inspect(&key).await?.is_none(), "no such request has come");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// `Configuration` where the keys are hidden and the handle has no secret.
    pub fn record_key(&self, method: &Method, route: &str, scope: Option<&str>, key: &str) -> Result<Key, Error> {
        self.settings.record_key(method, route, scope, key)
    }

    /// What this layer would have recorded of a response: to [resolve](crate::Idempotency::resolve) a request that stopped
    /// half way with the response that it should have had. Headers that are never replayed are left out.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use axum::http::{Method, Response};
    /// use idempotent_runtime::Idempotency;
    /// use idempotent_runtime::admin::Decision;
    /// use idempotent_runtime::http::IdempotencyLayer;
    ///
    /// # async fn resolve(idempotency: Idempotency, layer: IdempotencyLayer) -> Result<(), Box<dyn std::error::Error>> {
    /// let key = layer.record_key(&Method::POST, "/payments", Some("ada"), "8e03978e")?;
    /// if let Some(seen) = idempotency.inspect(&key).await? {
    ///     let response = Response::builder().status(201).header("content-type", "application/json");
    ///     let response = layer.recorded(response.body(r#"{"id":7}"#)?);
    ///     let decision = Decision { who: "grace", why: "the bank has it, as number 7" };
    ///     idempotency.resolve(&key, &seen, &response, Duration::from_hours(24), decision).await?;
    /// }
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn recorded(&self, response: Response<impl Into<Bytes>>) -> StoredResponse {
        let (head, body) = response.into_parts();
        let body = body.into();
        let headers = self.settings.replayed.of(&head.headers, head.status, body.len());
        StoredResponse::new(head.status, headers, body)
    }
}

impl<S> Layer<S> for IdempotencyLayer {
    type Service = IdempotencyService<S>;

    fn layer(&self, inner: S) -> IdempotencyService<S> {
        IdempotencyService { inner, settings: Arc::clone(&self.settings) }
    }
}

/// A service behind an [`IdempotencyLayer`].
#[derive(Clone, Debug)]
pub struct IdempotencyService<S> {
    inner: S,
    settings: Arc<Settings>,
}

impl<S, Q, B> Service<Request<Q>> for IdempotencyService<S>
where
    S: Service<Request<Q>, Response = Response<B>, Error: Send, Future: Send> + Clone + Send + 'static,
    Q: http_body::Body<Data = Bytes, Error: Into<BoxError>> + From<Bytes> + Send + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    S::Error: 'static,
{
    type Response = Response<Body<B>>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, B, S::Error>;

    fn poll_ready(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Q>) -> Self::Future {
        match self.settings.admit(&mut request) {
            Admission::Pass => ResponseFuture::passed(self.inner.call(request), Arc::clone(&self.settings)),
            Admission::Refuse(refusal) => ResponseFuture::answered(refused(&self.settings, &refusal)),
            Admission::Guard(key) => {
                // The service that is ready is the one to be called; its clone waits for the next request.
                let clone = self.inner.clone();
                let ready = std::mem::replace(&mut self.inner, clone);
                let guarded = guarded(Arc::clone(&self.settings), ready, request, key);
                ResponseFuture::guarded(Box::pin(guarded.in_current_span()))
            }
        }
    }
}

/// Reads the request, and runs it under the guard. Dropped while it reads, nothing was claimed; dropped after that, the run
/// goes on, on a task of its own, and is recorded.
async fn guarded<S, Q, B>(
    settings: Arc<Settings>,
    service: S,
    request: Request<Q>,
    key: Key,
) -> Result<Response<Body<B>>, S::Error>
where
    S: Service<Request<Q>, Response = Response<B>, Error: Send, Future: Send> + Send + 'static,
    Q: http_body::Body<Data = Bytes, Error: Into<BoxError>> + From<Bytes> + Send + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    S::Error: 'static,
{
    let (parts, body) = request.into_parts();
    let received = match receive(body, settings.request_limit, &settings.budget).await {
        Ok(received) => received,
        Err(problem) => return Ok(refused(&settings, &problem.into())),
    };
    let (reply, outcome) = outliving(&settings, service, parts, received, key).await;
    respond(&settings, reply, outcome)
}

/// The run of a request that has been read. No part of the async function above: all that is moved on its way here would have
/// room in that one's future.
fn outliving<S, Q, B>(
    settings: &Arc<Settings>,
    service: S,
    mut parts: Parts,
    received: Received,
    key: Key,
) -> Outliving<impl Future<Output = (Reply<B, S::Error>, Outcome)> + Send + 'static + use<S, Q, B>>
where
    S: Service<Request<Q>, Response = Response<B>, Error: Send, Future: Send> + Send + 'static,
    Q: From<Bytes> + Send + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    S::Error: 'static,
{
    let fingerprint = settings.fingerprint.of(&parts, &received.bytes).hidden_by(
        // Without its secret the request has been refused already.
        settings.idempotency.core().secret(settings.policy.hidden).ok().flatten(),
    );
    parts.extensions.insert(GuardedAlready);
    let request = Request::from_parts(parts, Q::from(received.bytes));
    let core = Arc::clone(settings.idempotency.core());
    let guard = Guard::new(core, key, Some(fingerprint), settings.policy);
    let body = Serving::new(Arc::clone(settings), service, request, received.held);
    Outliving::new(&settings.idempotency, with_outcome(call::guarded(guard).run(body)))
}

/// The answer to a request that does not get as far as the guard.
fn refused<B: From<Bytes>>(settings: &Settings, refusal: &Refusal) -> Response<B> {
    let Refusal { problem, detail } = refusal;
    tracing::debug!(problem = problem.name(), "a request was refused before it was guarded");
    settings.problems.answer(*problem, detail.as_deref(), None)
}

/// The response that the client gets, with what it came to in its extensions.
fn respond<B, E>(settings: &Settings, reply: Reply<B, E>, outcome: Outcome) -> Result<Response<Body<B>>, E> {
    let mut response = match reply {
        Ok(Served { response, origin: Origin::Service(..) }) => response,
        Err(Unserved::Response(response, _)) => settings.problems.told_anew(*response),
        Ok(Served { response, origin: Origin::Record }) => replayed(settings, response),
        Err(Unserved::Service(error, _)) => return Err(error),
        Err(Unserved::NotRun(error)) => {
            let problem = Problem::of(&error);
            if !problem.is_passing() && problem != Problem::KeyReused {
                tracing::warn!(%error, "a request was not run, or cannot be answered");
            }
            settings.problems.answer(problem, None, error.retry_after())
        }
    };
    response.extensions_mut().insert(outcome);
    Ok(response)
}

const NO_ROOM_FOR_A_REPLAY: &str = "the request was processed, and nothing was run again; its response cannot be sent now, for too many bodies are in memory";

/// A response from the record, marked as such.
fn replayed<B>(settings: &Settings, response: Response<Body<B>>) -> Response<Body<B>> {
    let Some(held) = settings.budget.hold(response.body().in_memory()) else {
        return settings.problems.answer(Problem::Overloaded, Some(NO_ROOM_FOR_A_REPLAY), None);
    };
    let mut response = response.map(|body| body.holding(held));
    response.headers_mut().insert(settings.marker.clone(), ::http::HeaderValue::from_static("true"));
    response
}
