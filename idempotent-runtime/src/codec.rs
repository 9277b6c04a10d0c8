//! Codecs: how a result becomes bytes in a record, and a value again.

use std::error::Error as StdError;
use std::fmt;

use serde::{Deserializer, Serialize, Serializer};

use crate::read::{self, Reader};
use crate::record::CodecTag;

/// Turns results into bytes and back.
///
/// JSON is the default, so that people can read a record. Another codec may pack or encrypt; its tag stands in every
/// record that it wrote, and a record with a tag that no codec of the runtime has is `Unreadable`, never run again.
///
/// ```
/// use std::error::Error;
/// use idempotent_runtime::{Codec, CodecTag, ResultRef, ResultSlot};
///
/// /// JSON with every byte inverted: stands for a cipher.
/// #[derive(Debug)]
/// struct Inverted;
///
/// impl Codec for Inverted {
///     fn tag(&self) -> CodecTag {
///         const { CodecTag::new("inverted") }
///     }
///     fn encode(&self, result: ResultRef<'_>) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
///         Ok(serde_json::to_vec(&result)?.into_iter().map(|byte| !byte).collect())
///     }
///     fn decode(&self, bytes: &[u8], slot: ResultSlot<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
///         let bytes: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
///         Ok(slot.fill(&mut serde_json::Deserializer::from_slice(&bytes))?)
///     }
/// }
/// ```
pub trait Codec: fmt::Debug + Send + Sync + 'static {
    /// The codec's name in records. It must never mean another format.
    fn tag(&self) -> CodecTag;

    /// Writes a result.
    ///
    /// # Errors
    ///
    /// When the result cannot be written: the call is then completed without a result.
    fn encode(&self, result: ResultRef<'_>) -> Result<Vec<u8>, Box<dyn StdError + Send + Sync>>;

    /// Reads a result back, into `slot`.
    ///
    /// # Errors
    ///
    /// When `bytes` are not what this codec writes, or hold no value of the slot's type: the duplicate is then
    /// answered `Unreadable`.
    fn decode(&self, bytes: &[u8], slot: ResultSlot<'_>) -> Result<(), Box<dyn StdError + Send + Sync>>;
}

/// A handler's result of any type, to be serialised.
#[derive(Clone, Copy)]
pub struct ResultRef<'a>(&'a dyn erased_serde::Serialize);

impl<'a> ResultRef<'a> {
    /// Wraps a value.
    pub fn new<T: Serialize>(value: &'a T) -> Self {
        Self(value)
    }

    pub(crate) fn erased(value: &'a dyn erased_serde::Serialize) -> Self {
        Self(value)
    }
}

impl Serialize for ResultRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl fmt::Debug for ResultRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResultRef(..)")
    }
}

/// The place for a result that is read from a record.
pub struct ResultSlot<'a>(&'a mut Fill<'a>);

/// Reads a value of the type that only the caller knows.
pub(crate) type Fill<'a> = dyn FnMut(Reader<'_, '_>) -> Result<(), erased_serde::Error> + 'a;

impl<'a> ResultSlot<'a> {
    pub(crate) fn new(fill: &'a mut Fill<'a>) -> Self {
        Self(fill)
    }

    /// Fills the slot from a deserializer.
    ///
    /// # Errors
    ///
    /// The deserializer's own, with the type's complaint in it.
    pub fn fill<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        read::from_format(deserializer, self.0)
    }
}

impl fmt::Debug for ResultSlot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResultSlot(..)")
    }
}

/// The built-in codec: JSON, as `serde_json` writes it.
///
/// It knows no `NaN` and no `Some(None)`: they come back as an error and as `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Json;

impl Codec for Json {
    fn tag(&self) -> CodecTag {
        CodecTag::JSON
    }

    fn encode(&self, result: ResultRef<'_>) -> Result<Vec<u8>, Box<dyn StdError + Send + Sync>> {
        Ok(serde_json::to_vec(&result)?)
    }

    fn decode(&self, bytes: &[u8], slot: ResultSlot<'_>) -> Result<(), Box<dyn StdError + Send + Sync>> {
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        slot.fill(&mut reader)?;
        Ok(reader.end()?)
    }
}
