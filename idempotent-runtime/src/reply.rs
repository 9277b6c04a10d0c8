//! What the attribute asks of a handler's return type: the one place where its bounds are checked.
//!
//! Expanded code calls [`value`], [`skipped`] or [`unrecorded`], and [`error`] or [`error_with`], at the spans of the
//! user's own types. Each of these functions checks its bounds once, so that a type that does not fit is reported once
//! and under the right word, and hands over function pointers in a struct without bounds. Everything after that, the
//! call and the guard, is free of bounds.

use erased_serde::{Deserializer, Serialize};
use serde::de::DeserializeOwned;

use crate::Error;
use crate::policy::OnError;

/// A return type of two sides: a value or an error. Every `Result<T, E>` is one, under whatever alias.
#[diagnostic::on_unimplemented(
    message = "an idempotent function must return a `Result`, not `{Self}`",
    label = "not a `Result`",
    note = "an error is how a duplicate learns that it is one; write `Result<{Self}, YourError>`"
)]
pub trait Reply: Sized {
    /// `T` of `Result<T, E>`.
    type Value;
    /// `E` of `Result<T, E>`.
    type Error;

    /// The two sides by reference.
    fn as_result(&self) -> Result<&Self::Value, &Self::Error>;
    /// `Ok(value)`.
    fn from_value(value: Self::Value) -> Self;
    /// `Err(error)`.
    fn from_error(error: Self::Error) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T, E> Reply for Result<T, E> {
    type Value = T;
    type Error = E;

    fn as_result(&self) -> Result<&T, &E> {
        self.as_ref()
    }

    fn from_value(value: T) -> Self {
        Ok(value)
    }

    fn from_error(error: E) -> Self {
        Err(error)
    }
}

/// A value that can be recorded and given to duplicates: `Serialize + DeserializeOwned`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be recorded, so a duplicate cannot be given it",
    label = "cannot be recorded",
    note = "derive `serde::Serialize` and `serde::Deserialize` for it, or choose `on_duplicate = skip` or `on_duplicate = reject`"
)]
pub trait Stored: serde::Serialize + DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: serde::Serialize + DeserializeOwned> Stored for T {}

/// A value that `on_duplicate = skip` can give to a duplicate: `Default`.
#[diagnostic::on_unimplemented(
    message = "`on_duplicate = skip` gives duplicates a default value, and `{Self}` has none",
    label = "no default value",
    note = "implement `Default` for it, or choose `on_duplicate = replay` or `on_duplicate = reject`"
)]
pub trait Skippable: Default {}

#[diagnostic::do_not_recommend]
impl<T: Default> Skippable for T {}

/// An error that can carry what the runtime has to say: `From<idempotent_runtime::Error>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no `From<idempotent_runtime::Error>`",
    label = "cannot carry the runtime's own errors",
    note = "implement `From<idempotent_runtime::Error>` for it, or name a function that converts: `map_err = my_function`"
)]
pub trait CarriesError: From<Error> {}

#[diagnostic::do_not_recommend]
impl<E: From<Error>> CarriesError for E {}

/// One side of a reply, written to a record and read back.
struct Recorded<R> {
    encode: for<'a> fn(&'a R) -> Option<&'a dyn Serialize>,
    decode: fn(&mut dyn Deserializer<'_>) -> Result<R, erased_serde::Error>,
}

impl<R> Clone for Recorded<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Recorded<R> {}

/// What the guard may do with the value of a reply. Without bounds: [`value`], [`skipped`] and [`unrecorded`] have
/// checked them.
pub struct ValueOps<R> {
    is_ok: fn(&R) -> bool,
    recorded: Option<Recorded<R>>,
    skip: Option<fn() -> R>,
}

impl<R> ValueOps<R> {
    /// Whether the handler has succeeded.
    #[must_use]
    pub fn is_ok(&self, reply: &R) -> bool {
        (self.is_ok)(reply)
    }

    /// The value to be recorded: `None` for an error, and for a handler whose values are not recorded.
    #[must_use]
    pub fn encode<'a>(&self, reply: &'a R) -> Option<&'a dyn Serialize> {
        (self.recorded.as_ref()?.encode)(reply)
    }

    /// `Ok(value)` from a recorded value: `None` for a handler whose values are not recorded.
    pub fn decode(&self, from: &mut dyn Deserializer<'_>) -> Option<Result<R, erased_serde::Error>> {
        Some((self.recorded.as_ref()?.decode)(from))
    }

    /// `Ok(T::default())`: `None` unless `on_duplicate = skip`.
    #[must_use]
    pub fn skip(&self) -> Option<R> {
        self.skip.map(|skip| skip())
    }
}

impl<R> Clone for ValueOps<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for ValueOps<R> {}

/// How the guard turns the runtime's errors into the handler's. Without bounds: [`error`] and [`error_with`] have
/// checked them.
pub struct ErrorOps<R> {
    from: fn(Error) -> R,
    settled: Settled<R>,
}

/// How an error of the handler is settled.
enum Settled<R> {
    Released,
    Recorded(Recorded<R>),
    Judged(fn(&R) -> OnError),
}

/// What is to be done about one error of a handler.
pub enum Judgement<'a> {
    /// The claim is released.
    Release,
    /// The error is the result.
    Record(&'a dyn Serialize),
    /// The failure is final; with its summary.
    Reject(String),
}

impl<R> ErrorOps<R> {
    /// What is to be done about the error in `reply`.
    pub fn judge<'a>(&self, reply: &'a R) -> Judgement<'a> {
        match &self.settled {
            Settled::Released => Judgement::Release,
            Settled::Recorded(recorded) => (recorded.encode)(reply).map_or(Judgement::Release, Judgement::Record),
            Settled::Judged(judge) => match judge(reply) {
                OnError::Release => Judgement::Release,
                OnError::Reject(summary) => Judgement::Reject(summary),
            },
        }
    }

    /// `Err(error)` from a recorded error: `None` for a handler whose errors are not recorded.
    pub fn decode(&self, from: &mut dyn Deserializer<'_>) -> Option<Result<R, erased_serde::Error>> {
        match &self.settled {
            Settled::Recorded(recorded) => Some((recorded.decode)(from)),
            Settled::Released | Settled::Judged(_) => None,
        }
    }

    /// `on_error = record`: errors are recorded as results are.
    #[must_use]
    pub fn recorded(mut self) -> Self
    where
        R: Reply,
        R::Error: Stored,
    {
        self.settled = Settled::Recorded(Recorded {
            encode: |reply| reply.as_result().err().map(|error| error as &dyn Serialize),
            decode: |from| erased_serde::deserialize(from).map(R::from_error),
        });
        self
    }

    /// `on_error = path`: each error is judged. Expanded code gives `|reply| judge(reply, path)`.
    #[must_use]
    pub fn judged(mut self, judge: fn(&R) -> OnError) -> Self {
        self.settled = Settled::Judged(judge);
        self
    }

    /// `Err(error)`, in the handler's own error type.
    #[must_use]
    pub fn from(&self, error: Error) -> R {
        (self.from)(error)
    }
}

impl<R> Clone for ErrorOps<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for ErrorOps<R> {}

impl<R> Clone for Settled<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Settled<R> {}

/// `on_duplicate = replay`: the value is recorded, and read back for duplicates.
#[must_use]
pub fn value<R: Reply>() -> ValueOps<R>
where
    R::Value: Stored,
{
    ValueOps {
        is_ok: is_ok::<R>,
        recorded: Some(Recorded {
            encode: |reply| reply.as_result().ok().map(|value| value as &dyn Serialize),
            decode: |from| erased_serde::deserialize(from).map(R::from_value),
        }),
        skip: None,
    }
}

/// `on_duplicate = skip`: the value is not recorded, duplicates get the default.
#[must_use]
pub fn skipped<R: Reply>() -> ValueOps<R>
where
    R::Value: Skippable,
{
    ValueOps { is_ok: is_ok::<R>, recorded: None, skip: Some(|| R::from_value(R::Value::default())) }
}

/// `on_duplicate = reject`: the value is not recorded, duplicates get an error.
#[must_use]
pub fn unrecorded<R: Reply>() -> ValueOps<R> {
    ValueOps { is_ok: is_ok::<R>, recorded: None, skip: None }
}

fn is_ok<R: Reply>(reply: &R) -> bool {
    reply.as_result().is_ok()
}

/// The handler's error type converts the runtime's errors with `From`.
#[must_use]
pub fn error<R: Reply>() -> ErrorOps<R>
where
    R::Error: CarriesError,
{
    ErrorOps { from: |error| R::from_error(error.into()), settled: Settled::Released }
}

/// `map_err = path`: expanded code gives `|error| map_err(error, path)`.
#[must_use]
pub fn error_with<R>(from: fn(Error) -> R) -> ErrorOps<R> {
    ErrorOps { from, settled: Settled::Released }
}

/// The error of a handler with `map_err = map`. A function of its own, so that a `map` of another signature is reported
/// as two function types under the user's path.
pub fn map_err<T, E>(error: Error, map: fn(Error) -> E) -> Result<T, E> {
    Err(map(error))
}

/// The judgement of a handler with `on_error = judge`. A function of its own, as [`map_err`] is.
pub fn judge<T, E>(reply: &Result<T, E>, judge: fn(&E) -> OnError) -> OnError {
    match reply {
        Ok(_) => OnError::Release,
        Err(error) => judge(error),
    }
}

/// Never called: `if false { return never::<R>(); }` gives the guarded block its type, so that `?` and `return` convert
/// in it as in the plain function.
pub fn never<R>() -> R {
    unreachable!("only ever named behind `if false`")
}
