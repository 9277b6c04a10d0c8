//! A key, on the client's side.

use std::fmt;

use ::http::{HeaderName, HeaderValue};

use crate::http::IDEMPOTENCY_KEY;

/// The key of one operation: made once, and sent with every attempt.
///
/// ```
/// use idempotent_runtime::http::client::IdempotencyKey;
///
/// let key = IdempotencyKey::new();
/// assert_ne!(key, IdempotencyKey::new(), "another operation has another key");
///
/// // Kept with the operation, and read back by whoever tries again.
/// let kept = key.to_string();
/// assert_eq!(IdempotencyKey::from_text(&kept), Some(key));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// A new key: a random UUID (version 4).
    #[must_use]
    #[expect(clippy::new_without_default, reason = "two defaults would be two different keys")]
    pub fn new() -> Self {
        let random: u128 = rand::random();
        let bits = (random & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
        let hex = format!("{bits:032x}");
        Self([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
    }

    /// A key that was kept, or one of your own making: printable ASCII, not empty; `None` for anything else.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let printable = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
        (printable && !text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The key's text, without the quotes of the header.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The header for a request: the key as a Structured Field String. The value is marked as sensitive, so that clients do
    /// not log it and HTTP/2 does not keep it.
    #[must_use]
    pub fn header(&self) -> (HeaderName, HeaderValue) {
        let quoted = format!("\"{}\"", self.0.replace('\\', "\\\\").replace('"', "\\\""));
        match HeaderValue::from_str(&quoted) {
            Ok(mut value) => {
                value.set_sensitive(true);
                (IDEMPOTENCY_KEY, value)
            }
            Err(_) => unreachable!("a key is printable ASCII"),
        }
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_is_a_random_uuid() {
        let key = IdempotencyKey::new();
        let text = key.as_str().as_bytes();
        assert_eq!(text.len(), 36);
        for at in [8, 13, 18, 23] {
            assert_eq!(text[at], b'-');
        }
        assert_eq!(text[14], b'4', "{key}");
        assert!(matches!(text[19], b'8' | b'9' | b'a' | b'b'), "{key}");
    }

    #[test]
    fn what_is_in_quotes_is_escaped() {
        let (_, value) = IdempotencyKey::from_text(r#"a"b\c"#).unwrap().header();
        assert_eq!(value, r#""a\"b\\c""#);
        assert_eq!(format!("{value:?}"), "Sensitive", "logs of headers do not show it");
        for wrong in ["", "é", "a\nb"] {
            assert_eq!(IdempotencyKey::from_text(wrong), None, "{wrong:?}");
        }
    }
}
