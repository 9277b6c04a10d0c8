//! The client's half: one key an operation, kept across its retries.
//!
//! The key is made when the operation begins, not when a request is sent, and kept where a retry finds it: in a
//! variable for a loop, in the database for a job that may be started again.
//!
//! ```
//! use idempotent_runtime::http::client::{Advice, IdempotencyKey};
//!
//! // For any client: put the key into every attempt, and ask what to make of each answer.
//! let key = IdempotencyKey::new();
//! let (name, value) = key.header();
//! assert_eq!(name, "idempotency-key");
//! # drop(value);
//! assert_eq!(Advice::of(http::StatusCode::UNPROCESSABLE_ENTITY, &http::HeaderMap::new()), Advice::Done);
//! ```
//!
//! With the feature `reqwest`, `Resend` does the sending.

mod advice;
mod key;
#[cfg(feature = "reqwest")]
mod resend;

pub use advice::Advice;
pub use key::IdempotencyKey;
#[cfg(feature = "reqwest")]
pub use resend::Resend;
