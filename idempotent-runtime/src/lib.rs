//! One annotation that makes an async handler run once per business key, and gives every duplicate the first one's
//! answer.
//!
//! Queues deliver at least once, clients retry after time-outs, jobs get picked up twice. Annotate the handler; its body
//! stays free of idempotency checks:
//!
//! ```
//! use idempotent_runtime::{Error, Idempotency, idempotent};
//!
//! struct OrderMessage {
//!     order_id: u64,
//!     activity_id: String,
//! }
//!
//! #[idempotent(prefix = "order:consume", keys = [message.order_id, message.activity_id], ttl = 24h)]
//! async fn consume(message: OrderMessage) -> Result<String, Error> {
//!     Ok(format!("order {} prepared", message.order_id))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
//! Idempotency::connect("memory:").await?.install()?;
//! for _ in 0..2 {
//!     let message = OrderMessage { order_id: 1001, activity_id: "spring".into() };
//!     assert_eq!(consume(message).await?, "order 1001 prepared"); // the second time from the record
//! }
//! # Ok(()) }
//! ```
//!
//! | to | see |
//! |---|---|
//! | annotate a handler | [`idempotent`](macro@idempotent) |
//! | choose and connect a store | [`Idempotency::connect`], [`Idempotency::builder`] |
//! | tell the broker | [`with_outcome`], [`Disposition`] |
//! | know the claim inside a handler | [`current`], [`Claim::derive`] |
//! | guard a call without the attribute | [`Idempotency::call`] |
//! | guard HTTP requests by their `Idempotency-Key` | `http` (features `http`, `axum`, `reqwest`) |
//! | look at records, and decide | [`Idempotency::inspect`], [`Idempotency::list`], [`admin`], the program `idempotent` |
//! | try it on live traffic | [`Idempotency::shadow`] |
//! | see what waits for somebody | `dashboard` (feature `dashboard`), the guide's page on operating it |
//! | list the handlers of a program, and find two under one prefix | `registry` (feature `registry`) |
//! | write a store of your own | [`Store`], and the conformance suite (feature `conformance`) |
//!
//! It needs a tokio runtime with time enabled. Features: `redis`, `tls`, `postgres`, `sqlite`, `http`, `axum`, `reqwest`,
//! `dashboard`, `metrics`, `registry`, `cache`, `conformance`, `testing`; `uuid`, `time`,
//! `chrono`, `jiff` and `rust_decimal` for key parts of these crates' types.

pub mod admin;
#[cfg(feature = "dashboard")]
pub mod dashboard;
#[cfg(all(feature = "http", any(test, fuzzing)))]
#[doc(hidden)]
pub mod fuzzed;
#[cfg(any(doc, doctest))]
pub mod guide;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "registry")]
pub mod registry;
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;

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
mod patience;
mod policy;
mod read;
mod record;
mod registration;
mod reply;
mod run;
mod text64;
mod together;
mod token;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use claim::{Claim, current};
pub use codec::{Codec, Json, ResultRef, ResultSlot};
pub use error::{Error, ErrorKind};
pub use fingerprint::Fingerprint;
#[cfg(feature = "cache")]
pub use guard::recent::Cache;
pub use idempotency::{
    Builder, CallBuilder, Existing, Idempotency, Question, Replies, Unasked, Verify, Via, installed,
};
pub use idempotent_macros::{KeyPart, idempotent};
pub use key::{Key, KeyPart, KeyParts, MissingPart};
pub use outcome::{Disposition, Outcome, OutcomeKind, WithOutcome, with_outcome};
pub use policy::{OnBusy, OnCrash, OnDuplicate, OnError, OnLost, OnOutage};
pub use record::{CodecTag, Completed, Encoded, NoResult, Recorded};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use run::lent::Lent;
#[cfg(feature = "conformance")]
pub use store::conformance;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use store::{InTransaction, TransactionConnection};
pub use store::{MemoryStore, Store, StoreError};
pub use token::{Token, TokenText};
