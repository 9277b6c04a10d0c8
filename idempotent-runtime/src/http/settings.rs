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
use crate::idempotency::Idempotency;
use crate::key::Key;
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
    /// It is answered with a problem, with a detail of its own where it has one.
    Refuse(Problem, Option<String>),
}

impl Settings {
    /// Judges a request by its head.
    pub(super) fn admit<B>(&self, request: &mut Request<B>) -> Admission {
        if !self.methods.contains(request.method()) || request.extensions().get::<GuardedAlready>().is_some() {
            return Admission::Pass;
        }
        let key = match self.keys.read(request.headers(), &self.header) {
            Ok(Some(key)) => key,
            Ok(None) if self.need == Need::Optional => return Admission::Pass,
            Ok(None) => return Admission::Refuse(Problem::KeyMissing, None),
            Err(error) => return invalid(&error),
        };
        let scope = match &self.scope {
            Scope::Unscoped => None,
            Scope::Of(scope) => match of_head(request, |parts| scope(parts)).filter(|scope| !scope.is_empty()) {
                Some(scope) => Some(scope),
                None => return Admission::Refuse(Problem::ScopeMissing, None),
            },
        };
        let route = identity::route(request.extensions(), request.uri());
        match self.record_key(request.method(), route, scope.as_deref(), &key) {
            Ok(key) => Admission::Guard(key),
            Err(error) => {
                tracing::error!(%error, "a request cannot be guarded");
                Admission::Refuse(Problem::of(&error), None)
            }
        }
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

fn invalid(error: &KeyError) -> Admission {
    Admission::Refuse(Problem::KeyInvalid, Some(error.to_string()))
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
