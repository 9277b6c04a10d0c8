//! The settings of a layer, and what they decide about a request before its body is read.

use ::http::request::Parts;
use ::http::{HeaderName, Method, Request};

use super::answer::Problems;
use super::budget::Budget;
use super::fingerprint::FingerprintBy;
use super::identity::{self, Scope};
use super::keep::ServerErrors;
use super::key::{KeyError, KeyRules};
use super::problem::Problem;
use super::replayed::Replayed;
use crate::error::Error;
use crate::idempotency::{Idempotency, Mode};
use crate::key::Key;
use crate::observe::{self, Would};
use crate::policy::Policy;

/// What a layer and all its services share.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) idempotency: Idempotency,
    pub(super) prefix: Box<str>,
    pub(super) policy: Policy,
    pub(super) scope: Scope,
    pub(super) methods: Vec<Method>,
    pub(super) need: Need,
    pub(super) header: HeaderName,
    pub(super) marker: HeaderName,
    pub(super) keys: KeyRules,
    pub(super) fingerprint: FingerprintBy,
    pub(super) server_errors: ServerErrors,
    pub(super) replayed: Replayed,
    pub(super) request_limit: usize,
    pub(super) response_limit: usize,
    pub(super) budget: Budget,
    pub(super) problems: Problems,
}

/// Whether a request must have a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Required,
    Optional,
}

/// Stands in the extensions of a request that a layer guards: another layer further in leaves it alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct GuardedAlready;

/// What is to be done with a request.
pub(super) enum Admission {
    /// It is none of the layer's business.
    Pass,
    /// It is guarded under this key.
    Guard(Key),
    /// It is answered with a problem.
    Refuse(Refusal),
}

/// A problem, with a detail of its own where it has one.
pub(super) struct Refusal {
    pub(super) problem: Problem,
    pub(super) detail: Option<String>,
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self { problem, detail: None }
    }
}

impl Settings {
    /// Judges a request by its head. In shadow, one that would be refused passes, and is counted.
    pub(super) fn admit<B: http_body::Body>(&self, request: &mut Request<B>) -> Admission {
        if !self.methods.contains(request.method()) || request.extensions().get::<GuardedAlready>().is_some() {
            return Admission::Pass;
        }
        match self.key_of(request) {
            Ok(Some(key)) => Admission::Guard(key),
            Ok(None) => Admission::Pass,
            Err(Refusal { problem, .. }) if self.is_shadow() && problem != Problem::Misconfigured => {
                observe::shadow(&Key::from_text(&format!("{}:?", self.prefix)), Would::Refused, &problem.name());
                Admission::Pass
            }
            Err(refusal) => Admission::Refuse(refusal),
        }
    }

    /// The key of the request's record; `None` where it has none and needs none.
    fn key_of<B: http_body::Body>(&self, request: &mut Request<B>) -> Result<Option<Key>, Refusal> {
        let key = match self.keys.read(request.headers(), &self.header) {
            Ok(Some(key)) => key,
            Ok(None) if self.need == Need::Optional => return Ok(None),
            Ok(None) => return Err(Problem::KeyMissing.into()),
            Err(error) => return Err(invalid(&error)),
        };
        let scope = match &self.scope {
            Scope::Unscoped => None,
            Scope::Of(scope) => match of_head(request, |parts| scope(parts)).filter(|scope| !scope.is_empty()) {
                Some(scope) => Some(scope),
                None => return Err(Problem::ScopeMissing.into()),
            },
        };
        // Refused before the client sends it.
        if request.body().size_hint().lower() > self.request_limit as u64 {
            return Err(Problem::BodyTooLarge.into());
        }
        let route = identity::route(request.extensions(), request.uri());
        self.record_key(request.method(), route, scope.as_deref(), &key).map(Some).map_err(|error| {
            tracing::error!(%error, "a request cannot be guarded");
            Problem::of(&error).into()
        })
    }

    fn is_shadow(&self) -> bool {
        self.idempotency.core().mode == Mode::Shadow
    }

    pub(super) fn record_key(
        &self,
        method: &Method,
        route: &str,
        scope: Option<&str>,
        key: &str,
    ) -> Result<Key, Error> {
        let hidden = self.policy.hidden;
        identity::record_key(&self.idempotency, &self.prefix, hidden, scope, (method, route), key)
    }
}

fn invalid(error: &KeyError) -> Refusal {
    Refusal { problem: Problem::KeyInvalid, detail: Some(error.to_string()) }
}

/// Shows the head of a request to a closure that takes no body.
fn of_head<B, T>(request: &mut Request<B>, read: impl FnOnce(&Parts) -> T) -> T {
    let (mut parts, ()) = Request::new(()).into_parts();
    swap(&mut parts, request);
    let answer = read(&parts);
    swap(&mut parts, request);
    answer
}

fn swap<B>(parts: &mut Parts, request: &mut Request<B>) {
    std::mem::swap(&mut parts.method, request.method_mut());
    std::mem::swap(&mut parts.uri, request.uri_mut());
    std::mem::swap(&mut parts.version, request.version_mut());
    std::mem::swap(&mut parts.headers, request.headers_mut());
    std::mem::swap(&mut parts.extensions, request.extensions_mut());
}
