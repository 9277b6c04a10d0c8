//! The side of a reply that is a value: whether it is recorded, and what duplicates get.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use erased_serde::Serialize;
use serde::Deserialize as _;

use super::{Recorded, Reply, Skippable, Stored};
use crate::read::Reader;
use crate::record::CodecTag;

/// What the guard may do with the value of a reply. Without bounds: [`value`], [`skipped`] and [`unrecorded`] have
/// checked them.
pub struct ValueOps<R> {
    is_ok: fn(&R) -> bool,
    recorded: Option<Recorded<R>>,
    skip: Option<fn() -> R>,
    ttl: Option<fn(&R) -> Option<Duration>>,
    plain: Option<Plain<R>>,
}

/// Reads a value back from its own bytes.
type ReadPlain<R> = fn(&Arc<[u8]>) -> Result<R, Box<dyn StdError + Send + Sync>>;

/// A value that writes and reads its own bytes, where the runtime has no codec but the built-in one.
pub(crate) struct Plain<R> {
    pub(crate) tag: CodecTag,
    pub(crate) write: fn(&R) -> Option<Arc<[u8]>>,
    pub(crate) read: ReadPlain<R>,
}

impl<R> Clone for Plain<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Plain<R> {}

impl<R> ValueOps<R> {
    /// Each value may say for how long it is kept.
    #[cfg(feature = "http")]
    pub(crate) fn with_ttl(self, ttl: fn(&R) -> Option<Duration>) -> Self {
        Self { ttl: Some(ttl), ..self }
    }

    /// Where the runtime's codec is the built-in one, values write their own bytes.
    #[cfg(feature = "http")]
    pub(crate) fn with_plain(self, plain: Plain<R>) -> Self {
        Self { plain: Some(plain), ..self }
    }

    /// How values write their own bytes, if they do.
    pub(crate) fn plain(&self) -> Option<Plain<R>> {
        self.plain
    }

    /// For how long this reply is kept, where it says so itself.
    pub(crate) fn ttl(&self, reply: &R) -> Option<Duration> {
        match self.ttl {
            Some(ttl) => ttl(reply),
            None => None,
        }
    }

    /// Whether the handler has succeeded.
    #[must_use]
    pub fn is_ok(&self, reply: &R) -> bool {
        (self.is_ok)(reply)
    }

    /// The value to be recorded: `None` for an error, and for a handler whose values are not recorded.
    #[must_use]
    pub fn encode<'a>(&self, reply: &'a R) -> Option<&'a dyn Serialize> {
        match &self.recorded {
            Some(recorded) => (recorded.encode)(reply),
            None => None,
        }
    }

    /// `Ok(value)` from a recorded value: `None` for a handler whose values are not recorded.
    #[expect(clippy::manual_map, reason = "a closure would be compiled for every type once more")]
    pub(crate) fn decode(&self, from: Reader<'_, '_>) -> Option<Result<R, erased_serde::Error>> {
        match &self.recorded {
            Some(recorded) => Some((recorded.decode)(from)),
            None => None,
        }
    }

    /// `Ok(T::default())`: `None` unless `on_duplicate = skip`.
    #[must_use]
    #[expect(clippy::manual_map, reason = "a closure would be compiled for every type once more")]
    pub fn skip(&self) -> Option<R> {
        match self.skip {
            Some(skip) => Some(skip()),
            None => None,
        }
    }
}

impl<R> Clone for ValueOps<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for ValueOps<R> {}

/// `on_duplicate = replay`: the value is recorded, and read back for duplicates.
#[must_use]
pub fn value<R: Reply>() -> ValueOps<R>
where
    R::Value: Stored,
{
    let recorded = Recorded { encode: encode::<R>, decode: decode::<R> };
    ValueOps { is_ok: is_ok::<R>, recorded: Some(recorded), skip: None, ttl: None, plain: None }
}

/// A value that is recorded only in part, or not at all: `encode` gives what there is of it.
#[cfg(feature = "http")]
pub(crate) fn in_part<R: Reply>(
    encode: fn(&R) -> Option<&dyn Serialize>,
    decode: fn(Reader<'_, '_>) -> Result<R, erased_serde::Error>,
) -> ValueOps<R> {
    ValueOps { is_ok: is_ok::<R>, recorded: Some(Recorded { encode, decode }), skip: None, ttl: None, plain: None }
}

/// `on_duplicate = skip`: the value is not recorded, duplicates get the default.
#[must_use]
pub fn skipped<R: Reply>() -> ValueOps<R>
where
    R::Value: Skippable,
{
    ValueOps { is_ok: is_ok::<R>, recorded: None, skip: Some(skip::<R>), ttl: None, plain: None }
}

/// `on_duplicate = reject`: the value is not recorded, duplicates get an error.
#[must_use]
pub fn unrecorded<R: Reply>() -> ValueOps<R> {
    ValueOps { is_ok: is_ok::<R>, recorded: None, skip: None, ttl: None, plain: None }
}

fn is_ok<R: Reply>(reply: &R) -> bool {
    reply.as_result().is_ok()
}

// Functions with names: a closure, or a method of `Result` with one, is compiled for every handler's types once more.

fn encode<R: Reply>(reply: &R) -> Option<&dyn Serialize>
where
    R::Value: Stored,
{
    match reply.as_result() {
        Ok(value) => Some(value),
        Err(_) => None,
    }
}

fn decode<R: Reply>(from: Reader<'_, '_>) -> Result<R, erased_serde::Error>
where
    R::Value: Stored,
{
    match R::Value::deserialize(from) {
        Ok(value) => Ok(R::from_value(value)),
        Err(unreadable) => Err(unreadable),
    }
}

fn skip<R: Reply>() -> R
where
    R::Value: Skippable,
{
    R::from_value(R::Value::default())
}
