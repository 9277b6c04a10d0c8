//! What is recorded of a reply, in the functional form.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::policy::{OnDuplicate, OnError};
use crate::reply::{self, Errors, ValueOps};

/// What a call records of its reply, and what its duplicates get: the options `on_duplicate` and `on_error` of the
/// functional form.
///
/// ```
/// use std::time::Duration;
/// use idempotent_runtime::{Error, ErrorKind, Idempotency, OnError, Replies};
///
/// #[derive(Debug)]
/// enum Payment {
///     Declined,
///     Idempotency(Error),
/// }
/// impl From<Error> for Payment {
///     fn from(error: Error) -> Self {
///         Self::Idempotency(error)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let idempotency = Idempotency::memory();
/// let replies = Replies::<u32, Payment>::recorded().errors_judged(|reply| match reply {
///     Err(Payment::Declined) => OnError::Reject("the card was declined".into()),
///     _ => OnError::Release,
/// });
/// let pay = || idempotency.call("pay").key(1001).ttl(Duration::from_secs(60));
/// assert!(matches!(pay().run_with(replies, async { Err(Payment::Declined) }).await, Err(Payment::Declined)));
///
/// // A declined payment is final: a duplicate is told so, and nothing runs.
/// let duplicate = pay().run_with(replies, async { Ok(12) }).await;
/// assert!(matches!(duplicate, Err(Payment::Idempotency(error)) if error.kind() == ErrorKind::Failed));
/// # }
/// ```
#[must_use]
pub struct Replies<T, E> {
    pub(super) on_duplicate: OnDuplicate,
    pub(super) value: ValueOps<Result<T, E>>,
    pub(super) errors: Errors<Result<T, E>>,
}

impl<T, E> Clone for Replies<T, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, E> Copy for Replies<T, E> {}

impl<T, E: From<Error>> Replies<T, E> {
    /// The value is recorded, and given to duplicates.
    pub fn recorded() -> Self
    where
        T: Serialize + DeserializeOwned,
    {
        Self { on_duplicate: OnDuplicate::Replay, value: reply::value(), errors: Errors::by_from() }
    }

    /// Nothing is recorded; duplicates get `T::default()`.
    pub fn skipped() -> Self
    where
        T: Default,
    {
        Self { on_duplicate: OnDuplicate::Skip, value: reply::skipped(), errors: Errors::by_from() }
    }

    /// Nothing is recorded; duplicates get an error of kind `Duplicate`.
    pub fn rejected() -> Self {
        Self { on_duplicate: OnDuplicate::Reject, value: reply::unrecorded(), errors: Errors::by_from() }
    }

    /// An error of the body is its result: recorded, and given to duplicates. By default the claim is released.
    pub fn errors_recorded(mut self) -> Self
    where
        E: Serialize + DeserializeOwned,
    {
        self.errors = reply::recorded(self.errors);
        self
    }

    /// The record of a released error shows its text: the first 200 characters, to people who inspect it.
    pub fn errors_shown(mut self) -> Self
    where
        E: fmt::Display,
    {
        self.errors = self.errors.with_text();
        self
    }

    /// Each error of the body is judged: released, or final with a summary. `judge` is only given errors.
    pub fn errors_judged(mut self, judge: fn(&Result<T, E>) -> OnError) -> Self {
        self.errors = self.errors.judged(judge);
        self
    }
}

impl<T, E> fmt::Debug for Replies<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replies").field("on_duplicate", &self.on_duplicate).finish_non_exhaustive()
    }
}
