//! Keys: `prefix` plus the key parts, so that different parts never give the same key.

#[cfg(any(feature = "time", feature = "chrono", feature = "jiff"))]
mod calendar;
mod encode;
#[cfg(any(feature = "time", feature = "chrono", feature = "jiff", feature = "uuid", feature = "rust_decimal"))]
mod foreign;
#[cfg(all(feature = "http", any(test, fuzzing)))]
mod fuzzed;
mod part;
mod secret;

use std::fmt;
use std::sync::Arc;

pub(crate) use encode::{KeyBuilder, check_name, encode};
pub use encode::{KeyParts, MissingPart};
#[cfg(all(feature = "http", any(test, fuzzing)))]
pub use fuzzed::key as fuzzed_key;
pub use part::KeyPart;
pub(crate) use secret::Secret;

/// The name of one business action: what a record is kept under.
///
/// Its text is `prefix:part:part`, with the runtime's namespace in front where there is one. Parts are
/// percent-escaped, so no part can be mistaken for structure; where they are longer than 200 bytes together, or hidden, a
/// BLAKE3 digest (256 bits) stands in their place, as `prefix:%~…`, which no escaped part can spell. The digest of hidden
/// parts is made with the runtime's secret.
///
/// Cloning a key copies a pointer.
#[derive(Clone)]
pub struct Key {
    text: Arc<str>,
    prefix: (u32, u32),
}

impl Key {
    /// The whole text, as a store keeps it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The handler's prefix, without the namespace.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.text[self.prefix.0 as usize..self.prefix.1 as usize]
    }

    /// A key of a given text, for stores' tests and for administration: `prefix` is taken to be all before the last
    /// part.
    ///
    /// ```
    /// use idempotent_runtime::Key;
    ///
    /// let key = Key::from_text("order:consume:1001");
    /// assert_eq!(key.prefix(), "order:consume");
    /// ```
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let end = text.rfind(':').unwrap_or(text.len());
        Self::new(text, 0, end)
    }

    /// The text, shared.
    pub(crate) fn shared(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    pub(crate) fn new(text: &str, prefix_start: usize, prefix_end: usize) -> Self {
        let position = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { text: Arc::from(text), prefix: (position(prefix_start), position(prefix_end)) }
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Key {}

impl std::hash::Hash for Key {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({:?})", &*self.text)
    }
}
