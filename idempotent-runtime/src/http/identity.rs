//! Whose request it is, and which record it has.

use std::fmt;
use std::sync::Arc;

use ::http::request::Parts;
use ::http::{Extensions, Method, Uri};

use crate::error::{Error, ErrorKind};
use crate::idempotency::Idempotency;
use crate::key::{self, Key};

/// Reads the scope of a request.
pub(super) type ScopeOf = Arc<dyn Fn(&Parts) -> Option<String> + Send + Sync>;

/// Within what a client's keys are unique.
#[derive(Clone)]
pub(super) enum Scope {
    /// Among all requests: said out loud.
    Unscoped,
    /// Among the requests of one tenant or principal.
    Of(ScopeOf),
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unscoped => "Unscoped",
            Self::Of(_) => "Of(..)",
        })
    }
}

/// The route that a request has matched, as the router names it, so that one key means one record under all its paths:
/// the same key on another path is then a key used for something else. The path, where no router has left a name.
pub(super) fn route<'a>(extensions: &'a Extensions, uri: &'a Uri) -> &'a str {
    #[cfg(feature = "axum")]
    if let Some(matched) = extensions.get::<axum::extract::MatchedPath>() {
        return matched.as_str();
    }
    as_sent(extensions, uri).path()
}

/// The URI as the client has sent it: a router takes its prefix off the one that services nested in it are shown.
pub(super) fn as_sent<'a>(extensions: &'a Extensions, uri: &'a Uri) -> &'a Uri {
    #[cfg(feature = "axum")]
    if let Some(axum::extract::OriginalUri(sent)) = extensions.get() {
        return sent;
    }
    let _ = extensions;
    uri
}

/// The key of a record: method and route in the clear, for people; the client's key and its scope as a digest, since
/// both may be secret, and the record's key stands in logs.
pub(super) fn record_key(
    idempotency: &Idempotency,
    prefix: &str,
    hidden: bool,
    scope: Option<&str>,
    (method, route): (&Method, &str),
    key: &str,
) -> Result<Key, Error> {
    let core = idempotency.core();
    let secret = core.secret(hidden)?;
    let digest = digest(scope, key);
    key::encode(core.namespace.as_deref(), prefix, &[&method.as_str(), &route, &digest.to_hex().as_str()], None, secret)
        .map_err(|_| Error::new(ErrorKind::MissingKeyPart).detail("the request has no path"))
}

/// A digest that is different for every other scope and every other key.
fn digest(scope: Option<&str>, key: &str) -> blake3::Hash {
    let mut all = Vec::with_capacity(128);
    all.extend_from_slice(b"idempotent 2026-11 scope and key of an HTTP request\0");
    match scope {
        None => all.push(0),
        Some(scope) => {
            all.push(1);
            // With its length in front, so that scope and key cannot run into each other.
            all.extend_from_slice(&(scope.len() as u64).to_le_bytes());
            all.extend_from_slice(scope.as_bytes());
        }
    }
    all.extend_from_slice(key.as_bytes());
    blake3::hash(&all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scope_and_key_do_not_run_into_each_other() {
        let all = [
            digest(None, "ab"),
            digest(Some(""), "ab"),
            digest(Some("a"), "b"),
            digest(Some("ab"), ""),
            digest(Some("A"), "b"),
            digest(None, "\u{1}ab"),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{at}");
        }
    }

    #[test]
    fn method_route_scope_and_key_each_make_another_record() {
        let idempotency = Idempotency::memory();
        let key = |method: &Method, route: &str, scope: Option<&str>, key: &str| {
            record_key(&idempotency, "http", false, scope, (method, route), key).unwrap().as_str().to_owned()
        };
        let one = key(&Method::POST, "/payments/{id}", Some("ada"), "k");
        assert!(one.starts_with("http:POST:/payments/%7Bid%7D:"), "{one}");
        for other in [
            key(&Method::PATCH, "/payments/{id}", Some("ada"), "k"),
            key(&Method::POST, "/payments", Some("ada"), "k"),
            key(&Method::POST, "/payments/{id}", Some("bob"), "k"),
            key(&Method::POST, "/payments/{id}", None, "k"),
            key(&Method::POST, "/payments/{id}", Some("ada"), "K"),
        ] {
            assert_ne!(one, other);
        }
    }
}
