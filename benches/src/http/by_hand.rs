//! What people write by hand around such a handler: the key claimed in a map, the response kept there for a while. It has no
//! lease and no outcome, checks no syntax, and its run ends with its client; it is here for what the work itself costs.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;

use super::server::BODY;

/// Records in parts, so that requests seldom wait for each other.
pub(super) type Records = Arc<[Mutex<Part>; PARTS]>;

const PARTS: usize = 64;

#[derive(Default)]
pub(super) struct Part {
    records: HashMap<String, Record>,
    /// When each has to go, soonest first.
    due: VecDeque<(Instant, String)>,
}

/// A fingerprint, and the response once there is one.
type Record = (blake3::Hash, Option<Arc<[u8]>>);

pub(super) fn records() -> Records {
    Arc::new(std::array::from_fn(|_| Mutex::default()))
}

pub(super) async fn once(
    State((records, kept)): State<(Records, Duration)>,
    request: Request,
    next: Next,
) -> Result<Response, StatusCode> {
    let (parts, body) = request.into_parts();
    let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok()).ok_or(StatusCode::BAD_REQUEST);
    let key = format!("payments:{}:{}", header("authorization")?, header("idempotency-key")?);
    let body = to_bytes(body, 16 * BODY).await.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)?;
    let fingerprint = blake3::hash(&body);
    let at = usize::from(blake3::hash(key.as_bytes()).as_bytes()[0]) % PARTS;
    let lock = || records[at].lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    {
        let mut part = lock();
        while part.due.front().is_some_and(|(at, _)| *at <= now) {
            let gone = part.due.pop_front();
            gone.and_then(|(_, key)| part.records.remove(&key));
        }
        if part.records.contains_key(&key) {
            return Err(StatusCode::CONFLICT);
        }
        part.records.insert(key.clone(), (fingerprint, None));
    }
    let (head, body) = next.run(Request::from_parts(parts, Body::from(body))).await.into_parts();
    let body = to_bytes(body, 16 * BODY).await.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    let mut response = Vec::with_capacity(body.len() + 128);
    for (name, value) in &head.headers {
        response.extend_from_slice(name.as_str().as_bytes());
        response.extend_from_slice(value.as_bytes());
    }
    response.extend_from_slice(&body);
    let mut part = lock();
    part.records.insert(key.clone(), (fingerprint, Some(response.into())));
    part.due.push_back((now + kept, key));
    drop(part);
    Ok(Response::from_parts(head, Body::from(body)))
}
