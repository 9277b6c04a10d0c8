//! One guarded request: from the service's response to what is recorded, and from a record to a response.

use std::sync::Arc;
use std::time::Duration;

use ::http::response::Parts;
use ::http::{Request, Response, StatusCode};
use bytes::Bytes;
use erased_serde::Serialize;
use http_body_util::BodyExt as _;
use serde::Deserialize as _;
use tower_service::Service;

use super::body::{Body, BoxError};
use super::budget::Held;
use super::keep::{Afterwards, afterwards};
use super::settings::Settings;
use super::stored;
use super::stored::{Recording, StoredResponse};
use crate::error::Error;
use crate::guard::Guard;
use crate::policy::OnCrash;
use crate::read::Reader;
use crate::reply::{ErrorOps, Plain, ValueOps, in_part};
use crate::run::Wired;

/// What a run of the service, or a record, comes to.
pub(super) type Reply<B, E> = Result<Served<B>, Unserved<B, E>>;

/// A request that is done: its record is completed.
pub(super) struct Served<B> {
    pub(super) response: Response<Body<B>>,
    pub(super) origin: Origin,
}

/// Where the response of a request comes from.
pub(super) enum Origin {
    /// From the service. What is recorded of it, and for how long where it says so itself.
    Service(Option<Recording>, Option<Duration>),
    /// From the record.
    Record,
}

/// A request that is not done.
pub(super) enum Unserved<B, E> {
    /// The service has answered so that nothing is stored.
    Response(Box<Response<Body<B>>>, Claim),
    /// The service has failed.
    Service(E, Claim),
    /// The guard has refused, or cannot answer.
    NotRun(Error),
}

/// What becomes of the claim of a request that is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    Released,
    Held,
}

impl<B, E> From<Error> for Unserved<B, E> {
    fn from(error: Error) -> Self {
        Self::NotRun(error)
    }
}

/// A call of the guard whose result is a response.
pub(super) fn guarded<B, E>(guard: Result<Guard, Error>) -> Wired<Reply<B, E>> {
    let values: ValueOps<Reply<B, E>> = in_part(recorded, replay);
    let plain = Plain { tag: StoredResponse::TAG, write, read };
    Wired::new(
        guard.map(Box::new),
        values.with_ttl(ttl).with_plain(plain),
        ErrorOps::held(|error| Err(error.into()), text, is_held),
    )
}

/// Runs the service, and takes of its response what is to be recorded. A response of unknown length, or a long one, is
/// recorded as done before a byte of it is sent.
pub(super) async fn serve<S, Q, B>(
    settings: Arc<Settings>,
    mut service: S,
    request: Request<Q>,
    held: Held,
) -> Reply<B, S::Error>
where
    S: Service<Request<Q>, Response = Response<B>>,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>>,
{
    let answered = service.call(request).await;
    drop(held);
    let claim = |held: bool| if held { Claim::Held } else { Claim::Released };
    let (parts, body) = match answered {
        Ok(response) => response.into_parts(),
        Err(error) => return Err(Unserved::Service(error, claim(settings.policy.on_crash == OnCrash::Hold))),
    };
    match afterwards(&parts, settings.server_errors) {
        Afterwards::Store(ttl) => {
            let (response, stored) = record(&settings, parts, body).await;
            Ok(Served { response, origin: Origin::Service(stored, ttl) })
        }
        other => {
            let response = Response::from_parts(parts, Body::new(body));
            Err(Unserved::Response(Box::new(response), claim(other == Afterwards::Hold)))
        }
    }
}

/// The response as it is sent on, and what of it is recorded.
async fn record<B>(settings: &Settings, parts: Parts, body: B) -> (Response<Body<B>>, Option<Recording>)
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>>,
{
    let Some(mut held) = room(settings, &parts, &body) else {
        return (Response::from_parts(parts, Body::new(body)), None);
    };
    let (bytes, trailers) = match body.collect().await {
        Ok(collected) => {
            let trailers = collected.trailers().cloned();
            (collected.to_bytes(), trailers)
        }
        Err(error) => return (Response::from_parts(parts, Body::broken(error.into())), None),
    };
    // A body that is longer than it said is sent on all the same.
    held.grow(bytes.len().saturating_sub(held.bytes()));
    if trailers.is_some() {
        return (Response::from_parts(parts, Body::with_trailers(bytes, trailers, held)), None);
    }
    let headers = settings.replayed.of(&parts.headers, parts.status, bytes.len());
    let recording = if settings.idempotency.core().has_built_in_codec() {
        stored::bytes_of(parts.status, headers, &bytes).map(Recording::Bytes)
    } else {
        Some(Recording::Value(StoredResponse::new(parts.status, headers, bytes.clone())))
    };
    (Response::from_parts(parts, Body::whole(bytes, Some(held))), recording)
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

fn recorded<B, E>(reply: &Reply<B, E>) -> Option<&dyn Serialize> {
    match reply {
        Ok(Served { origin: Origin::Service(Some(Recording::Value(stored)), _), .. }) => Some(stored),
        _ => None,
    }
}

fn write<B, E>(reply: &Reply<B, E>) -> Option<Arc<[u8]>> {
    match reply {
        Ok(Served { origin: Origin::Service(Some(Recording::Bytes(bytes)), _), .. }) => Some(Arc::clone(bytes)),
        _ => None,
    }
}

fn read<B, E>(bytes: &[u8]) -> Result<Reply<B, E>, Box<dyn std::error::Error + Send + Sync>> {
    let stored = StoredResponse::from_bytes(bytes)?;
    Ok(Ok(Served { response: stored.into_response(), origin: Origin::Record }))
}

fn replay<B, E>(from: Reader<'_, '_>) -> Result<Reply<B, E>, erased_serde::Error> {
    let stored = StoredResponse::deserialize(from)?;
    Ok(Ok(Served { response: stored.into_response(), origin: Origin::Record }))
}

fn ttl<B, E>(reply: &Reply<B, E>) -> Option<Duration> {
    match reply {
        Ok(Served { origin: Origin::Service(_, ttl), .. }) => *ttl,
        _ => None,
    }
}

/// What people see in the record of a request that is not done.
fn text<B, E>(reply: &Reply<B, E>) -> String {
    match reply {
        Err(Unserved::Response(response, _)) => format!("answered {}", response.status()),
        _ => "the service failed".into(),
    }
}

fn is_held<B, E>(reply: &Reply<B, E>) -> bool {
    matches!(reply, Err(Unserved::Response(_, Claim::Held) | Unserved::Service(_, Claim::Held)))
}
