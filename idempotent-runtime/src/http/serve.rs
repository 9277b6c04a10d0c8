//! The service inside, run for one request: from the request to its response, and to what of that is recorded.
//!
//! A future by hand rather than an `async fn`: that one would keep the room of the request, which the service has taken,
//! beside all that comes after it, and every request allocates this future.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ::http::response::Parts;
use ::http::{HeaderMap, Request, Response, StatusCode};
use bytes::Bytes;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::body::{Body, BoxError};
use super::budget::Held;
use super::call::{Claim, Origin, Reply, Served, Unserved};
use super::gathered::Gathered;
use super::keep::{Afterwards, afterwards};
use super::settings::Settings;
use super::stored::{self, Recording, StoredResponse};
use crate::policy::OnCrash;

pin_project! {
    /// Runs the service, and takes of its response what is to be recorded. A response of unknown length, or a long one, is
    /// recorded as done before a byte of it is sent.
    ///
    /// Dropped before it is polled, the service has seen nothing of the request.
    pub(super) struct Serving<S, F, Q, B> {
        settings: Arc<Settings>,
        #[pin]
        stage: Stage<S, F, Q, B>,
    }
}

pin_project! {
    #[project = Projected]
    #[project_replace = Replaced]
    enum Stage<S, F, Q, B> {
        Ready { service: S, request: Request<Q>, held: Held },
        Called { #[pin] future: F, held: Held },
        Collecting { #[pin] body: B, parts: Parts, ttl: Option<Duration>, collected: Collected },
        Ended,
    }
}

/// What has come of a response's body.
struct Collected {
    bytes: Gathered,
    trailers: Option<HeaderMap>,
    held: Held,
}

impl<S: Service<Request<Q>>, Q, B> Serving<S, S::Future, Q, B> {
    /// `held` counts the request's body until the service has answered.
    pub(super) fn new(settings: Arc<Settings>, service: S, request: Request<Q>, held: Held) -> Self {
        Self { settings, stage: Stage::Ready { service, request, held } }
    }
}

impl<S, Q, B> Future for Serving<S, S::Future, Q, B>
where
    S: Service<Request<Q>, Response = Response<B>>,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>>,
{
    type Output = Reply<B, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.stage.as_mut().project() {
                Projected::Ready { .. } => {
                    let Replaced::Ready { mut service, request, held } =
                        this.stage.as_mut().project_replace(Stage::Ended)
                    else {
                        unreachable!("looked at just now")
                    };
                    this.stage.set(Stage::Called { future: service.call(request), held });
                }
                Projected::Called { future, .. } => {
                    let answered = ready!(future.poll(cx));
                    this.stage.set(Stage::Ended);
                    let (parts, body) = match answered {
                        Ok(response) => response.into_parts(),
                        Err(error) => {
                            let claim = claim(this.settings.policy.on_crash == OnCrash::Hold);
                            return Poll::Ready(Err(Unserved::Service(error, claim)));
                        }
                    };
                    let ttl = match afterwards(&parts, this.settings.server_errors) {
                        Afterwards::Store(ttl) => ttl,
                        other => {
                            let response = Response::from_parts(parts, Body::new(body));
                            let claim = claim(other == Afterwards::Hold);
                            return Poll::Ready(Err(Unserved::Response(Box::new(response), claim)));
                        }
                    };
                    let Some(held) = room(this.settings, &parts, &body) else {
                        return Poll::Ready(Ok(served(parts, Body::new(body), None, ttl)));
                    };
                    let collected = Collected { bytes: Gathered::default(), trailers: None, held };
                    this.stage.set(Stage::Collecting { body, parts, ttl, collected });
                }
                Projected::Collecting { body, collected, .. } => {
                    let whole = ready!(collected.poll(body, this.settings.response_limit, cx));
                    let Replaced::Collecting { parts, ttl, collected, .. } =
                        this.stage.as_mut().project_replace(Stage::Ended)
                    else {
                        unreachable!("looked at just now")
                    };
                    return Poll::Ready(Ok(match whole {
                        Ok(()) => collected.served(this.settings, parts, ttl),
                        Err(error) => served(parts, Body::broken(error), None, ttl),
                    }));
                }
                Projected::Ended => panic!("`Serving` was polled after it had returned"),
            }
        }
    }
}

impl Collected {
    /// Reads `body` to its end, or to `limit` bytes: one that is longer than it said is no body that can be kept.
    fn poll<B>(&mut self, mut body: Pin<&mut B>, limit: usize, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>>
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>>,
    {
        while let Some(frame) = ready!(body.as_mut().poll_frame(cx)) {
            match frame.map_err(Into::into)?.into_data() {
                Ok(data) => {
                    let length = self.bytes.len() + data.len();
                    if length > limit || !self.held.grow(length.saturating_sub(self.held.bytes())) {
                        return Poll::Ready(Err("the body is longer than it said".into()));
                    }
                    self.bytes.push(data);
                }
                Err(frame) => match (frame.into_trailers(), &mut self.trailers) {
                    (Ok(more), Some(trailers)) => trailers.extend(more),
                    (Ok(trailers), none) => *none = Some(trailers),
                    (Err(_), _) => {}
                },
            }
        }
        Poll::Ready(Ok(()))
    }

    /// The response as it is sent on, and what of it is recorded: all but one with trailers.
    fn served<B>(self, settings: &Settings, parts: Parts, ttl: Option<Duration>) -> Served<B> {
        let Self { bytes, trailers, held } = self;
        let bytes = bytes.into_bytes();
        if trailers.is_some() {
            return served(parts, Body::with_trailers(held.keep(bytes), trailers), None, ttl);
        }
        let headers = settings.replayed.of(&parts.headers, parts.status, bytes.len());
        if !settings.idempotency.core().has_built_in_codec() {
            let stored = StoredResponse::new(parts.status, headers, bytes.clone());
            return served(parts, Body::whole(held.keep(bytes)), Some(Recording::Value(stored)), ttl);
        }
        match stored::bytes_of(parts.status, headers, &bytes) {
            // What is sent is what is recorded: the body is in memory once.
            Some(recorded) => {
                let body = held.keep(Arc::clone(&recorded)).slice(recorded.len() - bytes.len()..);
                served(parts, Body::whole(body), Some(Recording::Bytes(recorded)), ttl)
            }
            None => served(parts, Body::whole(held.keep(bytes)), None, ttl),
        }
    }
}

fn served<B>(parts: Parts, body: Body<B>, recording: Option<Recording>, ttl: Option<Duration>) -> Served<B> {
    Served { response: Response::from_parts(parts, body), origin: Origin::Service(recording, ttl) }
}

fn claim(held: bool) -> Claim {
    if held { Claim::Held } else { Claim::Released }
}

/// Room for a body whose exact length is known and within the limit.
fn room(settings: &Settings, parts: &Parts, body: &impl http_body::Body) -> Option<Held> {
    if parts.status == StatusCode::SWITCHING_PROTOCOLS {
        return None;
    }
    let length = usize::try_from(body.size_hint().exact()?).ok()?;
    if length > settings.response_limit {
        return None;
    }
    let held = settings.budget.hold(length);
    if held.is_none() {
        tracing::warn!(length, "too many bodies are in memory; this response cannot be given again");
    }
    held
}
