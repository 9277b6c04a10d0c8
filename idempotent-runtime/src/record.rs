//! What a store keeps of a run that has ended: the completed record and what stands in it.

use std::fmt;
use std::sync::Arc;

use crate::fingerprint::Fingerprint;
use crate::token::Token;

/// A completed record, as a store hands it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completed {
    /// The token of the claim that completed.
    pub token: Token,
    /// How many runs had started for the record, this one included.
    pub attempt: u32,
    /// The fingerprint of the call that claimed, if it had one.
    pub fingerprint: Option<Fingerprint>,
    /// What every duplicate is answered with.
    pub result: Recorded,
}

/// The result in a completed record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The handler's value, written by a codec.
    Value(Encoded),
    /// The handler's error, recorded as the result (`on_error = record`), written by a codec.
    Error(Encoded),
    /// The handler's error was judged final; duplicates get this summary of it.
    Rejected(Arc<str>),
    /// Completed without a result, and why.
    Nothing(NoResult),
}

/// Bytes of a result, with the tag of the codec that wrote them.
#[derive(Clone, PartialEq, Eq)]
pub struct Encoded {
    /// Which codec wrote the bytes.
    pub codec: CodecTag,
    /// The bytes. An empty result is a result.
    pub bytes: Arc<[u8]>,
}

impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.codec, self.bytes.escape_ascii())
    }
}

/// Why a completed record holds no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoResult {
    /// The handler's option (`on_duplicate = skip` or `reject`) needs none.
    NotWanted,
    /// The result was larger than the runtime's bound.
    TooLarge,
    /// The result could not be written by the codec.
    NotSerialisable,
}

/// A codec's name in a record: one to eight of `a-z 0-9`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CodecTag([u8; 8]);

impl CodecTag {
    /// The tag of the built-in codec.
    pub const JSON: Self = Self::new("json");

    /// A tag, checked at compile time in a `const`.
    ///
    /// # Panics
    ///
    /// When `tag` is not one to eight of `a-z 0-9`. Use [`parse`](Self::parse) for a text that is not your own.
    #[must_use]
    pub const fn new(tag: &str) -> Self {
        match Self::parse(tag) {
            Some(tag) => tag,
            None => panic!("a codec's tag is one to eight of a-z and 0-9"),
        }
    }

    /// Reads a tag; `None` when it is not one to eight of `a-z 0-9`.
    #[must_use]
    pub const fn parse(tag: &str) -> Option<Self> {
        let text = tag.as_bytes();
        if text.is_empty() || text.len() > 8 {
            return None;
        }
        let mut bytes = [0; 8];
        let mut at = 0;
        while at < text.len() {
            if !(text[at].is_ascii_lowercase() || text[at].is_ascii_digit()) {
                return None;
            }
            bytes[at] = text[at];
            at += 1;
        }
        Some(Self(bytes))
    }

    /// The tag's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(self.0.len());
        std::str::from_utf8(&self.0[..end]).unwrap_or_default()
    }
}

impl fmt::Display for CodecTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for CodecTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CodecTag({})", self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_short_and_plain() {
        assert_eq!(CodecTag::parse("json"), Some(CodecTag::JSON));
        assert_eq!(CodecTag::JSON.as_str(), "json");
        for wrong in ["", "JSON", "a b", "ninechars"] {
            assert_eq!(CodecTag::parse(wrong), None, "{wrong:?}");
        }
        assert_eq!(CodecTag::parse("eightchr").expect("eight are allowed").as_str(), "eightchr");
    }
}
