//! Idempotent handlers.

pub mod admin;
pub mod store;

mod claim;
mod clock;
mod codec;
mod context;
mod error;
mod fingerprint;
mod guard;
mod idempotency;
mod keeper;
mod key;
mod lease;
mod observe;
mod outcome;
mod policy;
mod record;
mod reply;
mod run;
mod text64;
mod token;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use claim::{Claim, current};
pub use codec::{Codec, Json, ResultRef, ResultSlot};
pub use error::{Error, ErrorKind};
pub use fingerprint::Fingerprint;
pub use idempotency::{
    Builder, CallBuilder, Existing, Idempotency, Question, Replies, Unasked, Verify, Via, installed,
};
pub use idempotent_macros::idempotent;
pub use key::{Key, KeyPart, KeyParts, MissingPart};
pub use outcome::{Disposition, Outcome, OutcomeKind, WithOutcome, with_outcome};
pub use policy::{OnBusy, OnCrash, OnDuplicate, OnError, OnLost, OnOutage};
pub use record::{CodecTag, Completed, Encoded, NoResult, Recorded};
#[cfg(feature = "conformance")]
pub use store::conformance;
pub use store::{MemoryStore, Store, StoreError};
pub use token::{Token, TokenText};
