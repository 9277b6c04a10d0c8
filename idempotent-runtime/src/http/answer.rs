//! Problems as clients get them: problem details (RFC 9457), of a stable type each.

use std::time::Duration;

use ::http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_TYPE, LINK, RETRY_AFTER,
};
use ::http::{HeaderMap, HeaderValue, Response, StatusCode};
use bytes::Bytes;
use serde::Serialize;

use super::problem::Problem;

/// Where the problems are described, unless the application says otherwise.
const DOCUMENTATION: &str = "https://docs.rs/idempotent-runtime/latest/idempotent_runtime/guide/http/index.html";

/// Stands in the extensions of what a layer or an error of the runtime has answered: a layer further out does not store
/// it.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnAnswer;

/// Stands beside it in what an error of the runtime has answered, which knows nothing of the layer that it is inside of: that
/// one tells it anew, as it tells its own.
#[cfg_attr(not(feature = "axum"), expect(dead_code, reason = "made from errors alone"))]
#[derive(Clone, Copy, Debug)]
pub(super) struct ToldByError {
    pub(super) problem: Problem,
    pub(super) detail: Option<&'static str>,
    pub(super) after: Option<Duration>,
}

/// How problems are told.
#[derive(Clone, Debug)]
pub(super) struct Problems {
    pub(super) documentation: Box<str>,
    pub(super) statuses: Vec<(Problem, StatusCode)>,
}

impl Default for Problems {
    fn default() -> Self {
        Self { documentation: DOCUMENTATION.into(), statuses: Vec::new() }
    }
}

#[derive(Serialize)]
struct Details<'a> {
    r#type: &'a str,
    title: &'a str,
    status: u16,
    detail: &'a str,
}

impl Problems {
    pub(super) fn type_of(&self, problem: Problem) -> String {
        format!("{}#{}", self.documentation, problem.name())
    }

    pub(super) fn status_of(&self, problem: Problem) -> StatusCode {
        let chosen = self.statuses.iter().rev().find(|(of, _)| *of == problem);
        chosen.map_or_else(|| problem.status(), |(_, status)| *status)
    }

    /// What a client gets. `detail` in place of the problem's own; `after` says when to come back, where that is known.
    pub(super) fn answer<B: From<Bytes>>(
        &self,
        problem: Problem,
        detail: Option<&str>,
        after: Option<Duration>,
    ) -> Response<B> {
        let (kind, status) = (self.type_of(problem), self.status_of(problem));
        let detail = detail.unwrap_or_else(|| problem.detail());
        let details = Details { r#type: &kind, title: problem.title(), status: status.as_u16(), detail };
        // Four texts and a number: nothing in them can fail.
        let body = serde_json::to_vec(&details).unwrap_or_default();
        let mut response = Response::new(B::from(Bytes::from(body)));
        *response.status_mut() = status;
        *response.headers_mut() = headers(problem, &kind, after);
        response.extensions_mut().insert(OwnAnswer);
        response.extensions_mut().insert(problem);
        response
    }

    /// What an error of the runtime has answered, told as this layer tells its problems. Headers that were added on the way
    /// stay; what was made something else on the way stays that.
    pub(super) fn told_anew<B: From<Bytes>>(&self, response: Response<B>) -> Response<B> {
        let Some(ToldByError { problem, detail, after }) = response.extensions().get().copied() else {
            return response;
        };
        let headers = response.headers();
        let is_problem = headers.get(CONTENT_TYPE).is_some_and(|kind| kind == PROBLEM);
        if !is_problem || response.status() != problem.status() || headers.contains_key(CONTENT_ENCODING) {
            return response;
        }
        let (mut parts, _) = response.into_parts();
        let (anew, body) = self.answer::<B>(problem, detail, after).into_parts();
        parts.status = anew.status;
        parts.headers.remove(CONTENT_LENGTH);
        for (name, value) in &anew.headers {
            parts.headers.insert(name.clone(), value.clone());
        }
        parts.extensions.remove::<ToldByError>();
        Response::from_parts(parts, body)
    }
}

const PROBLEM: &str = "application/problem+json";

fn headers(problem: Problem, kind: &str, after: Option<Duration>) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(5);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM));
    headers.insert(CONTENT_LANGUAGE, HeaderValue::from_static("en"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // The builder has checked what the application gave.
    if let Ok(link) = format!("<{kind}>; rel=\"describedby\"").parse() {
        headers.insert(LINK, link);
    }
    if problem.is_passing() {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds(after.unwrap_or_default())));
    }
    headers
}

/// Whole seconds, at least one, and not less than asked for.
fn seconds(after: Duration) -> u64 {
    (after.as_secs() + u64::from(after.subsec_nanos() > 0)).max(1)
}
