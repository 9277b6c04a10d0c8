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

use crate::error::Error;

/// The name of one business action: what a record is kept under.
///
/// Its text is `prefix:part:part`, with the runtime's namespace in front where there is one. Parts are
/// percent-escaped, so no part can be mistaken for structure; where they are longer than 200 bytes together, or hidden, a
/// BLAKE3 digest (256 bits) stands in their place, as `prefix:%~…`, which no escaped part can spell. The digest of hidden
/// parts is made with the runtime's secret.
///
/// A key can name one step of its entity, as `prefix:part:part[step]`; no part can spell the brackets. Each step has a
/// record of its own: to a store that does not care, it is a key like any other. A store that can keep several records
/// under one name keeps the steps of an [entity](Self::entity) together.
///
/// Cloning a key copies a pointer.
#[derive(Clone)]
pub struct Key {
    text: Arc<str>,
    prefix: (u32, u32),
    /// Where the entity's text ends, and the step's begins, if there is one.
    entity: u32,
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

    /// What the key names without its step: the whole text, where it has none.
    #[must_use]
    pub fn entity(&self) -> &str {
        &self.text[..self.entity as usize]
    }

    /// The step of the entity, where the key names one.
    #[must_use]
    pub fn step(&self) -> Option<&str> {
        self.text[self.entity as usize..].strip_prefix('[')?.strip_suffix(']')
    }

    /// The key of another step of the same entity.
    ///
    /// ```
    /// use idempotent_runtime::{Error, Idempotency};
    ///
    /// # fn main() -> Result<(), Error> {
    /// let idempotency = Idempotency::memory();
    /// let order = idempotency.key("order:init", &[&1001])?;
    /// let token = order.with_step("init_token")?;
    /// assert_eq!(token.as_str(), "order:init:1001[init_token]");
    /// assert_eq!((token.entity(), token.step()), (order.as_str(), Some("init_token")));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// `Configuration` when `step` is empty, or made of other characters than letters, digits and `_ . : / -`.
    pub fn with_step(&self, step: &str) -> Result<Self, Error> {
        check_step(step)?;
        let (start, end) = self.prefix;
        let text = format!("{}[{step}]", self.entity());
        Ok(Self { text: text.into(), prefix: (start, end), entity: self.entity })
    }

    /// A key of a given text, for stores' tests and for administration: `prefix` is taken to be all before the last
    /// part, and a name in brackets at the end to be the step.
    ///
    /// ```
    /// use idempotent_runtime::Key;
    ///
    /// let key = Key::from_text("order:consume:1001");
    /// assert_eq!((key.prefix(), key.step()), ("order:consume", None));
    /// let key = Key::from_text("order:init:1001[init_token]");
    /// assert_eq!((key.prefix(), key.step()), ("order:init", Some("init_token")));
    /// ```
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let step = text.strip_suffix(']').and_then(|text| text.rsplit_once('['));
        let entity = match step {
            Some((entity, step)) if check_name(step).is_ok() => entity,
            _ => text,
        };
        Self::new(text, (0, entity.rfind(':').unwrap_or(entity.len())), entity.len())
    }

    /// The text, shared.
    pub(crate) fn shared(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    fn new(text: &str, (start, end): (usize, usize), entity: usize) -> Self {
        let position = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { text: Arc::from(text), prefix: (position(start), position(end)), entity: position(entity) }
    }
}

/// Checks the name of a step.
pub(crate) fn check_step(step: &str) -> Result<(), Error> {
    check_name(step).map_err(|why| Error::configuration(format!("the step {step:?}: {why}")))
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
