//! Idempotent handlers.

pub mod store;

mod codec;
mod error;
mod fingerprint;
mod key;
mod policy;
mod record;
mod text64;
mod token;

pub use codec::{Codec, Json, ResultRef, ResultSlot};
pub use error::{Error, ErrorKind};
pub use fingerprint::Fingerprint;
pub use key::{Key, KeyPart, KeyParts, MissingPart};
pub use policy::{OnBusy, OnCrash, OnDuplicate, OnError, OnLost, OnOutage};
pub use record::{CodecTag, Completed, Encoded, NoResult, Recorded};
pub use store::{MemoryStore, Store, StoreError};
pub use token::{Token, TokenText};
