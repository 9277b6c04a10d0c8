//! What two requests with one key must have in common.

use std::fmt;

use ::http::header::CONTENT_TYPE;
use ::http::request::Parts;
use serde_json::value::RawValue;

use super::identity;
use super::json;
use crate::fingerprint::Fingerprint;

/// What is compared of two requests with one key: where it differs, the second one is refused.
///
/// Method, path and query, and the content type are always part of it. Headers that differ between a request and its
/// retry (trace ids, dates, credentials) never are. To change what is compared means that retries of requests from
/// before the change are refused.
///
/// ```
/// use idempotent_runtime::http::FingerprintBy;
///
/// // A client that adds the time of sending to its body, which is no part of what it asks for.
/// let compared = FingerprintBy::fields(["/amount_minor", "/currency"]);
/// # drop(compared);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FingerprintBy(Compared);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Compared {
    #[default]
    Bytes,
    Json,
    Fields(Vec<String>),
}

impl FingerprintBy {
    /// The body byte by byte: the default.
    #[must_use]
    pub fn bytes() -> Self {
        Self::default()
    }

    /// The body as a JSON value: spaces and the order of an object's members do not matter. A body that is no JSON is
    /// compared byte by byte; so is one that readers of JSON may take for the same as another: with a member that stands
    /// twice, or a number of more digits than floating point holds.
    #[must_use]
    pub fn json() -> Self {
        Self(Compared::Json)
    }

    /// Only some values of a JSON body, each named by its JSON Pointer (RFC 6901), such as `/amount/currency`. A value
    /// that is absent is different from one that is there. A body that is no JSON, or in which these values may be taken
    /// for others as above, is compared byte by byte.
    #[must_use]
    pub fn fields<P: Into<String>>(pointers: impl IntoIterator<Item = P>) -> Self {
        Self(Compared::Fields(pointers.into_iter().map(Into::into).collect()))
    }

    /// The pointers that lead nowhere: one is empty or starts with `/`.
    pub(super) fn wrong_pointer(&self) -> Option<&str> {
        let Compared::Fields(pointers) = &self.0 else { return None };
        pointers.iter().map(String::as_str).find(|pointer| !pointer.is_empty() && !pointer.starts_with('/'))
    }

    pub(super) fn of(&self, parts: &Parts, body: &[u8]) -> Fingerprint {
        let (tag, compared) = match self.canonical(body) {
            Some(values) => (b'j', blake3::hash(&values)),
            None => (b'b', blake3::hash(body)),
        };
        let mut all = Vec::with_capacity(256);
        all.extend_from_slice(b"idempotent 2026-11 fingerprint of an HTTP request\0");
        for part in [
            parts.method.as_str().as_bytes(),
            identity::as_sent(&parts.extensions, &parts.uri)
                .path_and_query()
                .map_or("/", |path| path.as_str())
                .as_bytes(),
            parts.headers.get(CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes()),
        ] {
            // With its length in front, so that parts cannot run into each other.
            all.extend_from_slice(&(part.len() as u64).to_le_bytes());
            all.extend_from_slice(part);
        }
        all.push(tag);
        all.extend_from_slice(compared.as_bytes());
        Fingerprint::of_bytes(&all)
    }

    /// The canonical form of what is compared of a JSON body; `None` where the bytes are to be compared.
    fn canonical(&self, body: &[u8]) -> Option<Vec<u8>> {
        let mut canonical = Vec::new();
        match &self.0 {
            Compared::Bytes => return None,
            Compared::Json => json::digest_into(serde_json::from_slice(body).ok()?, &mut canonical)?,
            Compared::Fields(pointers) => {
                let value: &RawValue = serde_json::from_slice(body).ok()?;
                for pointer in pointers {
                    match json::at(value, pointer).ok()? {
                        Some(value) => {
                            canonical.push(1);
                            json::digest_into(value, &mut canonical)?;
                        }
                        None => canonical.push(0),
                    }
                }
            }
        }
        Some(canonical)
    }
}

impl fmt::Display for FingerprintBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("method, path and query, content type, ")?;
        match &self.0 {
            Compared::Bytes => f.write_str("body"),
            Compared::Json => f.write_str("body as JSON"),
            Compared::Fields(pointers) => write!(f, "{} of the JSON body", pointers.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use ::http::Request;

    use super::*;

    fn of(by: &FingerprintBy, body: &str) -> Fingerprint {
        let request = Request::post("/payments?dry=1").header(CONTENT_TYPE, "application/json").body(()).unwrap();
        by.of(&request.into_parts().0, body.as_bytes())
    }

    #[test]
    fn the_digest_never_changes_between_releases() {
        // A record written by an older binary must match. If this fails, retries across a deploy are refused.
        assert_eq!(of(&FingerprintBy::bytes(), "{}").to_string(), "1.Du5GcqX204j1RZE5n8qoHI");
        assert_eq!(of(&FingerprintBy::json(), r#"{"b":1,"a":2}"#).to_string(), "1.A1xukM4HtpGMmBZH6AZq1K");
    }

    #[test]
    fn as_json_the_order_of_members_does_not_matter() {
        let json = FingerprintBy::json();
        assert_eq!(of(&json, r#"{"a":1,"b":[1,2]}"#), of(&json, r#"{ "b": [1, 2], "a": 1 }"#));
        assert_ne!(of(&json, r#"{"a":1,"b":[1,2]}"#), of(&json, r#"{"a":1,"b":[2,1]}"#));
        let bytes = FingerprintBy::bytes();
        assert_ne!(of(&bytes, r#"{"a":1,"b":2}"#), of(&bytes, r#"{"b":2,"a":1}"#));
    }

    #[test]
    fn what_readers_may_take_for_the_same_stays_apart() {
        let json = FingerprintBy::json();
        let fields = FingerprintBy::fields(["/a"]);
        for (one, other) in [
            ("100000000000000000001", "100000000000000000002"),
            ("9007199254740993.0", "9007199254740992.0"),
            ("9007199254740993", "9007199254740992"),
            ("0.1234567890123456789", "0.1234567890123456788"),
            ("1e-400", "0.0"),
            (r#"1,"a":2"#, "2"),
            (r#"2,"a":1"#, r#"1,"a":2"#),
            (r#"[{"b":1,"b":2}]"#, r#"[{"b":2}]"#),
        ] {
            let [one, other] = [one, other].map(|value| format!(r#"{{"a":{value}}}"#));
            assert_ne!(of(&json, &one), of(&json, &other), "{one}");
            assert_ne!(of(&fields, &one), of(&fields, &other), "{one}");
            assert_eq!(of(&json, &one), of(&json, &one));
        }
        assert_eq!(of(&json, "[1.50]"), of(&json, "[1.5]"));
        // What is not compared may be as it likes.
        let sent_at = |digit| format!(r#"{{"a":1,"sent_at":1764550000.123456789{digit},"x":1,"x":{digit}}}"#);
        assert_eq!(of(&fields, &sent_at(1)), of(&fields, &sent_at(2)));
    }

    #[test]
    fn chosen_fields_are_all_that_is_compared() {
        let fields = FingerprintBy::fields(["/amount", "/card/number"]);
        let one = of(&fields, r#"{"amount":1,"card":{"number":"4"},"sent_at":"12:00"}"#);
        assert_eq!(one, of(&fields, r#"{"sent_at":"12:01","card":{"number":"4"},"amount":1}"#));
        assert_ne!(one, of(&fields, r#"{"amount":2,"card":{"number":"4"}}"#));
        assert_ne!(of(&fields, r#"{"amount":null}"#), of(&fields, "{}"), "absent is not null");
        assert_ne!(of(&fields, "no json"), of(&fields, "no jsom"));
        assert_eq!(FingerprintBy::fields(["amount"]).wrong_pointer(), Some("amount"));
        assert_eq!(fields.wrong_pointer(), None);
    }
}
